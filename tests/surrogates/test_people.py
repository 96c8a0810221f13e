"""Explanations by person: groups and leaves hold so many people, and their audit counts people."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from glassine import AuditSettings, audit
from glassine.domain import Domain, Real
from glassine.errors import BlackBoxError, InvalidDataError, InvalidParameterError
from glassine.surrogates import SurrogateExplainer, SurrogateRelease
from glassine.surrogates.release_statements import reveals

DOMAIN = Domain({"a": Real(-6, 6), "b": Real(-6, 6)})


def visits(people: int = 150, most: int = 6, seed: int = 0) -> pl.DataFrame:
    """Patients who come one to a few times, each time with nearly the same values."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.integers(1, most + 1, people))
    X = np.clip(rng.normal(size=(people, 2)), -5, 5)[who] + rng.normal(scale=0.01, size=(len(who), 2))
    return pl.DataFrame({"who": who + 1000 * seed, "a": X[:, 0], "b": X[:, 1]})


def box(X: Any) -> npt.NDArray[Any]:
    a, b = (np.asarray(X[name]) for name in ("a", "b"))
    return np.where(a + b > 0, "high", "low")


def fitted(frame: pl.DataFrame, persons: Any = None, **given: Any) -> SurrogateExplainer:
    return SurrogateExplainer(box, domain=DOMAIN, random_state=0, goal=None, **given).fit(frame, persons=persons)


def people_of(who: list[Any], groups: npt.NDArray[Any]) -> list[int]:
    return [len({who[i] for i in np.flatnonzero(groups == group)}) for group in np.unique(groups)]


@pytest.mark.parametrize("form", ["restricted", "paper"])
def test_groups_hold_at_least_k_people(form: str) -> None:
    frame = visits()
    who, given = frame["who"].to_list(), {"k": 20, "form": form, "labels": "black-box"}
    by_record, by_person = fitted(frame, **given), fitted(frame, "who", **given)
    assert min(people_of(who, by_record.training_.groups)) < 20
    assert min(people_of(who, by_person.training_.groups)) >= 20
    assert by_person.release_.n_groups == len(np.unique(by_person.training_.groups))
    assert by_person.release_.provenance.counted == "people"
    assert by_record.release_.provenance.counted == "records"


def test_leaves_hold_enough_people() -> None:
    frame = visits()
    explainer = fitted(frame, "who", k=40, min_samples_leaf=10)
    who, groups = frame["who"].to_list(), explainer.training_.groups
    columns = {name: frame[name].to_numpy() for name in ("a", "b")}
    for index, tree in enumerate(explainer.release_.trees):
        rows = np.flatnonzero(groups == index)
        cells = tree.apply({name: values[rows] for name, values in columns.items()})
        assert min(people_of([who[i] for i in rows], cells)) >= 10


def test_a_release_says_what_it_counts_in_its_file_and_in_words() -> None:
    frame = visits()
    for persons, word in ((None, "records"), ("who", "people")):
        release = fitted(frame if persons else frame.drop("who"), persons, k=30).release_
        assert SurrogateRelease.from_dict(release.to_dict()).provenance.counted == word
        assert ("30 people" in " ".join(reveals(release))) == (word == "people")
        assert "30 " in " ".join(reveals(release))


def test_the_audit_of_an_explainer_counts_the_people_of_its_fit() -> None:
    frame = visits()
    explainer = fitted(frame, "who", k=30)
    findings = audit(explainer, settings=AuditSettings(show_small_counts=True))
    held = people_of(frame["who"].to_list(), explainer.training_.groups)
    groups = findings.value("groups")
    assert findings.counted == "people"
    assert (groups.number, groups.smallest, groups.largest) == (150, min(held), max(held))
    check = next(check for check in findings.checks if check.rule == "smallest_group")
    assert (check.status, check.measured) == ("pass", min(held))


def test_a_release_is_audited_by_person_with_the_records_given() -> None:
    frame, others = visits(), visits(seed=1)
    release = fitted(frame, "who", k=30).release_
    findings = audit(release, data=frame, holdout=others, persons="who", settings=AuditSettings(show_small_counts=True))
    assert findings.counted == "people"
    assert findings.value("groups").number == 150
    with pytest.raises(InvalidDataError, match="people of the holdout have records in the data"):
        audit(release, data=frame, holdout=frame, persons="who")


def test_groups_of_records_that_hold_too_few_people_fail() -> None:
    frame = visits(most=8)
    release = fitted(frame.drop("who"), k=10).release_
    by_record, by_person = audit(release, data=frame.drop("who")), audit(release, data=frame, persons="who")
    status = [
        next(check.status for check in found.checks if check.rule == "smallest_group")
        for found in (by_record, by_person)
    ]
    assert status == ["pass", "fail"]


def test_a_class_name_is_shared_by_people_not_by_records() -> None:
    frame = pl.concat([visits(), pl.DataFrame({"who": [7777] * 12, "a": [5.5] * 12, "b": [5.5] * 12})])

    def named(X: Any) -> npt.NDArray[Any]:
        return np.where(np.asarray(X["a"]) > 5.2, "rare", box(X))

    SurrogateExplainer(named, k=20, domain=DOMAIN).fit(frame.drop("who"))
    with pytest.raises(BlackBoxError, match="fewer than 10"):
        SurrogateExplainer(named, k=20, domain=DOMAIN).fit(frame, persons="who")


def test_what_persons_cannot_do_is_refused() -> None:
    frame = visits()
    with pytest.raises(InvalidParameterError, match="number of people, 150"):
        fitted(frame, "who", k=151)
    with pytest.raises(InvalidParameterError, match="private trees"):
        fitted(frame, "who", k=20, epsilon=1.0, classes=("high", "low"))
    with pytest.raises(InvalidDataError, match="have no identifier"):
        fitted(frame, [None] * frame.height, k=20)
