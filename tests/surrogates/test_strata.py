"""Groups of an explainer within strata: no group mixes them, and a query is explained by its own stratum first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import audit
from glassine.auditing.release_inputs import STRANGERS
from glassine.domain import Binary, Category, Domain, ExactlyOne, Integer
from glassine.errors import InvalidDataError, InvalidModelError, InvalidParameterError
from glassine.surrogates import SurrogateExplainer, SurrogateRelease

WARDS = ("north", "south", "west")
DOMAIN = Domain({"age": Integer(18, 90), "pay": Integer(0, 10_000), "ward": Category(WARDS)})


def people(n: int = 600, **columns: Any) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    made = {
        "age": rng.integers(18, 90, n),
        "pay": rng.integers(0, 10_000, n),
        "ward": rng.choice(WARDS, n, p=[0.6, 0.3, 0.1]),
    }
    return pl.DataFrame(made | columns)


def box(frame: Any) -> Any:
    return np.where((frame["age"].to_numpy() > 50) ^ (frame["ward"].to_numpy() == "west"), "yes", "no")


def said_of(release: SurrogateRelease, records: pl.DataFrame) -> str:
    """Return what an audit with records says."""
    return json.dumps(audit(release, records, target=box(records)).to_dict(), ensure_ascii=False)


@pytest.fixture(scope="module")
def explainer() -> SurrogateExplainer:
    return SurrogateExplainer(box, 20, domain=DOMAIN, strata="ward").fit(people())


def test_all_records_of_a_group_share_the_stratum_and_the_representative_has_it(explainer: SurrogateExplainer) -> None:
    wards, groups = people()["ward"].to_numpy(), explainer.training_.groups
    for group, point in enumerate(explainer.release_.representatives):
        assert set(wards[groups == group]) == {point[2]}
        assert (groups == group).sum() >= 20
    without = SurrogateExplainer(box, 20, domain=DOMAIN).fit(people()).training_.groups
    assert any(len(set(wards[without == group])) > 1 for group in range(without.max() + 1))


def test_a_query_is_explained_by_its_own_stratum_and_by_the_closest_where_that_has_no_group(
    explainer: SurrogateExplainer,
) -> None:
    release = explainer.release_
    for ward in WARDS:
        for age in range(18, 90, 9):
            assert explainer.explain({"age": age, "pay": 5000, "ward": ward}).representative["ward"] == ward
    kept = [i for i, point in enumerate(release.representatives) if point[2] != "west"]
    fewer = replace(
        release,
        representatives=tuple(release.representatives[i] for i in kept),
        trees=tuple(release.trees[i] for i in kept),
    )
    assert fewer.explain({"age": 30, "pay": 5000, "ward": "west"}, "no").representative["ward"] != "west"


def test_many_records_are_explained_as_one_is(explainer: SurrogateExplainer) -> None:
    release, columns = explainer.release_, explainer.training_.columns
    closest = release.closest(columns, 3)
    rows = people().rows(named=True)
    for i in range(0, 600, 60):
        decision = str(box(people()[i])[0])
        assert release.explain(rows[i], decision, guided=False).group == closest[i, 0]


def test_the_release_states_its_strata_is_read_back_and_audited_with_its_records(
    explainer: SurrogateExplainer, tmp_path: Path
) -> None:
    release = explainer.release_
    release.to_json(tmp_path / "release.json")
    again = SurrogateRelease.from_json(tmp_path / "release.json")
    assert again == release
    assert again.provenance.strata == "ward"
    mixed = replace(release, provenance=replace(release.provenance, strata=""))
    # Groups are found again by the strata; without them, the records do not give these representatives.
    assert STRANGERS not in said_of(release, people())
    assert STRANGERS in said_of(mixed, people())


def test_a_goal_takes_no_size_that_a_stratum_is_too_small_for() -> None:
    made = SurrogateExplainer(lambda X: np.full(len(X), "one"), 20, domain=DOMAIN, strata="ward")
    chosen = made.fit(people()).choice_
    assert chosen is not None
    assert (chosen.k or 20) <= people().filter(pl.col("ward") == "west").height


def test_labels_alone_are_protected_within_strata() -> None:
    made = SurrogateExplainer(
        box, 20, domain=DOMAIN, strata="ward", epsilon=1.0, labels="true", classes=("no", "yes"), random_state=0
    )
    frame = people()
    release = made.fit(frame, box(frame)).release_
    assert release.provenance.strata == "ward"
    assert {point[2] for point in release.representatives} == set(frame["ward"])


@pytest.mark.parametrize(
    ("strata", "how", "message"),
    [
        ("age", {}, "'age' holds numbers"),
        ("job", {}, "'job', which is no attribute"),
        ("", {}, "must be the name of an attribute"),
        (3, {}, "must be the name of an attribute"),
        ("ward", {"k": 100}, "fewer than k, 100"),
        ("ward", {"partition": "public"}, "does not apply to public cells"),
    ],
)
def test_strata_that_cannot_be_kept_are_refused(strata: Any, how: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        SurrogateExplainer(box, **({"k": 20, "domain": DOMAIN, "strata": strata} | how)).fit(people())


def test_an_attribute_that_a_group_ties_to_others_is_no_stratum() -> None:
    frame = people().with_columns(old=(pl.col("age") > 60).cast(pl.Int64), young=(pl.col("age") <= 60).cast(pl.Int64))
    tied = Domain(
        {"old": Binary(), "young": Binary(), "pay": Integer(0, 10_000)}, groups=[ExactlyOne(("old", "young"))]
    )
    with pytest.raises(InvalidParameterError, match="no group of the domain ties to others, unlike 'old'"):
        SurrogateExplainer(lambda X: X["old"].to_numpy(), 20, domain=tied, strata="old").fit(frame.select(*tied))


def test_an_audit_with_other_records_says_that_they_are_others(explainer: SurrogateExplainer) -> None:
    few = people().filter(pl.col("ward") != "west").vstack(people().filter(pl.col("ward") == "west").head(5))
    assert STRANGERS in said_of(explainer.release_, few)


def test_a_stratum_without_values_for_a_mean_is_refused() -> None:
    frame = people()
    gaps = frame.with_columns(
        pay=pl.when((pl.col("ward") == "west") & (pl.int_range(pl.len()) % 3 == 0)).then(None).otherwise(pl.col("pay"))
    )
    with pytest.raises(InvalidDataError, match="a stratum of 'ward' has fewer than 45 people, or records"):
        SurrogateExplainer(box, 45, strata="ward").fit(gaps)


def test_strata_of_a_file_are_checked(explainer: SurrogateExplainer) -> None:
    plain = explainer.release_.to_dict()
    for name in ("age", "job"):
        with pytest.raises(InvalidModelError, match="must be an attribute with few values"):
            SurrogateRelease.from_dict(plain | {"provenance": plain["provenance"] | {"strata": name}})
