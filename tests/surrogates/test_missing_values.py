"""Records with missing values, from the file that is read to the release that is written."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from glassine import AuditSettings, audit
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.errors import GlassineError, InvalidDataError
from glassine.microaggregation import SemanticDistance
from glassine.records.undeclared import read_checked
from glassine.surrogates import ContrastConstraints, SurrogateExplainer, SurrogateRelease
from glassine.surrogates.building import public_metric
from glassine.surrogates.release_statements import reveals

DOMAIN = Domain(
    {
        "age": Integer(0, 90, missing=True),
        "pay": Real(0.0, 30.0, missing=True),
        "job": Category(("clerk", "joiner", "mason"), missing=True),
        "member": Binary(missing=True),
    }
)
NUMBERS = DOMAIN.restrict(["age", "pay", "member"])
JOBS = SemanticDistance({"job": {"any": {"manual": ["joiner", "mason"], "office": ["clerk"]}}})
ANSWERS = ("high", "low", "unstated")


@cache
def people(n: int = 360, seed: int = 0) -> Any:
    """Return records of which many lack values; who is old lacks the pay more often."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 91, n).astype(float)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "pay": np.where(rng.random(n) < 0.05 + 0.7 * (age > 60), np.nan, rng.lognormal(1, 0.7, n).round(3)),
            "job": rng.choice(np.array(["clerk", "joiner", "mason", None], dtype=object), n, p=[0.3, 0.2, 0.2, 0.3]),
            "member": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 2, n)),
        }
    )
    frame["pay"] = frame["pay"].clip(upper=30.0)
    return frame


def box(frame: Any) -> npt.NDArray[Any]:
    pay = np.asarray(frame["pay"], dtype=float)
    return np.where(np.isnan(pay), "unstated", np.where(pay > 3, "high", "low"))


def explained(frame: Any, domain: Domain | None, persons: Any = None, **given: Any) -> SurrogateExplainer:
    given = {"k": 20, "labels": "black-box", "distance": "gower", "random_state": 0, **given}
    if domain is NUMBERS:
        frame = frame[list(NUMBERS)]
    return SurrogateExplainer(box, domain=domain, **given).fit(frame, persons=persons)


def check_representatives(explainer: SurrogateExplainer, frame: Any, whose: npt.NDArray[Any]) -> None:
    """Check each published value against the records of its group, counted by person."""
    release, groups = explainer.release_, explainer.training_.groups
    for group, point in enumerate(release.representatives):
        own = groups == group
        assert len(set(whose[own])) >= explainer.k
        for name, value in zip(release.domain, point, strict=True):
            column = frame[name][own]
            present = column.notna().to_numpy()
            behind = len(set(whose[own][present]))
            moded = isinstance(release.domain[name], Category) or (
                isinstance(release.domain[name], Binary) and release.metric.distance != "euclidean"
            )
            if moded:
                counts = column.value_counts(dropna=True)
                most = int(counts.max()) if len(counts) else 0
                assert (value is None) == (own.sum() - present.sum() > most)
                assert value is None or counts[value] == most
            elif 2 * present.sum() < own.sum():
                assert value is None
            else:
                # Groups with fewer were joined.
                assert behind >= explainer.k
                assert value == pytest.approx(column[present].mean(), abs=2.0)


@pytest.mark.parametrize("form", ["restricted", "paper"])
@pytest.mark.parametrize(
    ("domain", "distance"), [(DOMAIN, "gower"), (None, "gower"), (DOMAIN, JOBS), (NUMBERS, "euclidean")]
)
def test_what_is_published_of_a_group_is_of_at_least_k_records(form: str, domain: Any, distance: Any) -> None:
    frame = people()
    explainer = explained(frame, domain, form=form, distance=distance)
    check_representatives(explainer, frame, np.arange(len(frame)))
    points = [value for point in explainer.release_.representatives for value in point]
    assert None in points
    assert any(value is not None for value in points)


def test_by_person_a_mean_is_of_at_least_k_people() -> None:
    whose = np.random.default_rng(3).integers(0, 150, 360)
    frame = people()
    for domain, distance in ((DOMAIN, "gower"), (NUMBERS, "euclidean")):
        explainer = explained(frame, domain, persons=whose, distance=distance)
        check_representatives(explainer, frame, whose)
        assert "at least 20 people" in " ".join(reveals(explainer.release_))


def test_no_exact_value_of_one_record_is_a_representative() -> None:
    """Of two records of which one lacks a value, half have one, and their mean would be that of the other."""
    frame = pd.DataFrame({"pay": [1.0, np.nan, 9.0, np.nan, 17.0, np.nan, 25.0, np.nan], "age": np.arange(8.0) * 10})
    domain = DOMAIN.restrict(["pay", "age"])
    given: Any = {"domain": domain, "classes": ANSWERS, "form": "paper", "labels": "black-box"}
    explainer = SurrogateExplainer(box, 2, **given).fit(frame)
    stated = {point[0] for point in explainer.release_.representatives} - {None}
    assert stated.isdisjoint(frame["pay"])
    few = frame.assign(pay=[7.25, 10.25] + [np.nan] * 6)
    lone = SurrogateExplainer(box, 3, **given).fit(few)
    assert {point[0] for point in lone.release_.representatives} == {None}
    assert lone.release_.metric.scales[0] == 1.0
    most = SurrogateExplainer(box, 6, **given).fit(frame.assign(pay=[7.25, 10.25, 4.5, 3.0, 2.0] + [np.nan] * 3))
    assert [point[0] for point in most.release_.representatives] == [None]


@pytest.mark.parametrize("form", ["restricted", "paper"])
def test_leaves_with_missing_values_hold_enough_records(form: str) -> None:
    frame = people()
    explainer = explained(frame, DOMAIN, k=60, form=form, min_samples_leaf=8)
    tests_gaps = 0
    for group, tree in enumerate(explainer.release_.trees):
        own = explainer.training_.columns.take(np.flatnonzero(explainer.training_.groups == group))
        assert np.bincount(tree.apply(own), minlength=len(tree.cells)).min() >= 8
        tests_gaps += any("missing" in str(literal) for literal in tree.literals)
    assert tests_gaps
    assert explainer.fidelity(frame) > 0.9


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"form": "paper"},
        {"distance": JOBS, "gamma": 0.2},
        {"partition": "public", "n_cells": 8},
        {"epsilon": 2.0, "classes": ANSWERS, "max_depth": 1},
        {"epsilon": 2.0, "classes": ANSWERS, "max_depth": 1, "partition": "public", "n_cells": 8},
    ],
)
def test_a_release_of_records_with_missing_values_is_read_as_it_was_written(given: Any) -> None:
    release = explained(people(), DOMAIN, **given).release_
    assert SurrogateRelease.from_dict(json.loads(json.dumps(release.to_dict(), allow_nan=False))) == release


def test_a_query_with_a_missing_value_is_explained_and_contrasted() -> None:
    explainer = explained(people(), NUMBERS, distance="euclidean", k=60)
    query = {"age": 70, "pay": None, "member": None}
    answer = explainer.explain(query, check=True)
    assert (answer.decision, answer.agrees) == ("unstated", True)
    json.loads(answer.to_json())
    assert all(contrast.changes[0].attribute == "pay" for contrast in answer.contrasts)
    kept = explainer.explain(query, constraints=ContrastConstraints(fixed=("pay",)))
    assert all(change.attribute != "pay" for contrast in kept.contrasts for change in contrast.changes)
    measured = explainer.measures(people()[list(NUMBERS)])
    assert measured.fidelity_guided >= measured.fidelity > 0.9
    assert measured.stability_path is not None


def test_missing_values_that_are_not_declared_are_refused_as_before() -> None:
    whole = Domain({"age": Integer(0, 90, missing=True), "pay": Real(0.0, 30.0), "member": Binary(missing=True)})
    with pytest.raises(InvalidDataError, match="pay"):
        SurrogateExplainer(box, 20, domain=whole).fit(people()[list(whole)])
    for frame in (people(), people().dropna()):
        with pytest.raises(GlassineError, match="no unit"):
            explained(frame, NUMBERS, distance="euclidean", scaling="none")


def test_a_public_cell_follows_from_its_record_alone() -> None:
    frame = people()[list(NUMBERS)]
    metric = public_metric(NUMBERS, "euclidean")
    points = metric.embed(read_checked(people(seed=1)[list(NUMBERS)].dropna(), NUMBERS))
    embedded = metric.embed(read_checked(frame, NUMBERS))
    together = metric.between(embedded, points, NUMBERS)
    for i, row in enumerate(embedded):
        assert (metric.between(row[None, :], points, NUMBERS)[0] == together[i]).all()
    public = explained(people(), NUMBERS, distance="euclidean", partition="public", n_cells=8)
    assert public.fidelity(frame) > 0.9


def test_a_release_says_what_missing_means_where_values_may_be() -> None:
    declared, inferred = explained(people(), DOMAIN).release_, explained(people(), None).release_
    for release in (declared, inferred):
        assert "those of at least 20 records" in " ".join(reveals(release))
    assert not any("may be missing" in note for note in declared.provenance.notes)
    assert any("may be missing was taken from the records" in note for note in inferred.provenance.notes)
    assert "can follow from one record" in " ".join(reveals(inferred))
    assert "can follow from one record" not in " ".join(reveals(declared))
    whole = SurrogateExplainer(box, 20, distance="gower").fit(people().dropna())
    assert "missing" not in " ".join([*reveals(whole.release_), *whole.release_.provenance.notes])


@pytest.mark.parametrize("domain", [DOMAIN, None])
def test_an_audit_finds_the_groups_of_records_with_missing_values(domain: Any) -> None:
    frame = people()
    explainer = explained(frame, domain)
    findings = audit(explainer.release_, data=frame, settings=AuditSettings(show_small_counts=True))
    sizes = np.bincount(explainer.training_.groups)
    groups = findings.value("groups")
    assert (groups.smallest, groups.largest) == (sizes.min(), sizes.max())


def test_an_audit_counts_a_missing_value_that_a_group_shares() -> None:
    for given, shared in (([np.nan] * 20, 1), ([np.nan] * 19 + [5.0], 0), ([np.nan] + [5.0] * 19, 0), ([5.0] * 20, 1)):
        frame = pd.DataFrame({"pay": given, "age": np.arange(20.0)})
        domain = DOMAIN.restrict(["pay", "age"])
        explainer = SurrogateExplainer(lambda X: np.full(len(X), "same"), 20, domain=domain).fit(frame)
        found = audit(explainer, settings=AuditSettings(show_small_counts=True)).value("representatives")
        assert found.n_uniform == shared
