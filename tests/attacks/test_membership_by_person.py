"""Membership by person: the unit of scores, intervals, permutations and splits is the person."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine.attacks import Shadows, gap_attack
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.attacks.membership.suite import attack_membership
from glassine.attacks.outcome import Measured
from glassine.data import Sample
from glassine.data.person_counts import Persons
from glassine.errors import InvalidDataError, InvalidParameterError


def patients(seed: int, people: int, most: int) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    """Rows of patients who come one to a few times, with nearly the same values and always the same random class."""
    rng = np.random.default_rng(seed)
    number = rng.integers(1, most + 1, people)
    who = np.repeat(np.arange(people), number)
    X = rng.normal(size=(people, 3))[who] + rng.normal(scale=1e-3, size=(len(who), 3))
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    noisy = (X[:, 0] > 0) ^ (rng.random(people) < 0.3)[who]
    return frame.with_columns(y=pl.Series(noisy.astype(int)), patient=pl.Series(who)), who


def grown(frame: pl.DataFrame) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0).fit(frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy())


def attacked(tree: Any, inside: pl.DataFrame, outside: pl.DataFrame, *, by_person: bool, **given: Any) -> Any:
    members, others = (
        Sample(
            side.select("a", "b", "c").to_numpy(), side["y"].to_numpy(), persons=side["patient"] if by_person else None
        )
        for side in (inside, outside)
    )
    return attack_membership(tree, members, holdout=others, random_state=0, **given)


@pytest.mark.slow
def test_a_holdout_by_row_hides_what_a_holdout_by_person_shows() -> None:
    frame, who = patients(0, 300, 5)
    rng = np.random.default_rng(1)
    by_row = rng.random(frame.height) < 0.7
    by_person = (rng.random(300) < 0.7)[who]
    advantages = []
    for members, persons in ((by_row, False), (by_person, True)):
        inside, outside = frame.filter(pl.Series(members)), frame.filter(pl.Series(~members))
        found = attacked(grown(inside), inside, outside, by_person=persons)
        assert isinstance(found.gap, Measured)
        advantages.append(found.gap.value.advantage)
    # Of a patient who stands on both sides the tree knows the class: no gap is left to be seen.
    assert advantages[0].value < 0.15
    assert advantages[1].low > 0.25


@pytest.mark.slow
def test_figures_and_intervals_count_people() -> None:
    frame, who = patients(2, 200, 4)
    member = np.arange(200)[who] < 120
    inside, outside = frame.filter(pl.Series(member)), frame.filter(pl.Series(~member))
    tree = grown(inside)
    found = attacked(tree, inside, outside, by_person=True)
    assert (found.n_members, found.n_nonmembers) == (120, 80)
    for result in found.results:
        assert result.n_members <= 120
        assert result.n_nonmembers <= 80
    right = tree.predict(outside.select("a", "b", "c").to_numpy()) == outside["y"].to_numpy()
    recognized = outside.with_columns(right=pl.Series(right)).group_by("patient").agg(pl.col("right").all())
    assert found.gap.value.fpr.value == pytest.approx(recognized["right"].mean())
    assert found.shift.value.n_members == 120


def test_the_score_of_a_person_is_the_mean_over_their_records() -> None:
    records = LabelledRecords(np.zeros((4, 1)), np.zeros(4), Persons.of(["a", "b", "a", "b"]))
    assert records.mean(np.array([1.0, 5.0, 3.0, 6.0])).tolist() == [2.0, 5.5]
    assert LabelledRecords(np.zeros((2, 1)), np.zeros(2)).mean(np.array([1.0, 5.0])).tolist() == [1.0, 5.0]


def test_a_model_that_never_saw_the_data_is_not_accused_by_person() -> None:
    """Rows of one person are alike: by row they count as so many independent ones, and chance looks like a finding."""
    detected = {"row": 0, "person": 0}
    for seed in range(20):
        frame, who = patients(seed, 60, 12)
        member = (np.random.default_rng(seed).permutation(60) < 30)[who]
        inside, outside = frame.filter(pl.Series(member)), frame.filter(pl.Series(~member))
        other, _ = patients(1000 + seed, 200, 1)
        tree = grown(other)
        sides = (inside.select("a", "b", "c").to_numpy(), inside["y"].to_numpy())
        others = (outside.select("a", "b", "c").to_numpy(), outside["y"].to_numpy())
        for unit in detected:
            told = []
            for (X, y), side in zip((sides, others), (inside, outside), strict=True):
                whose = Persons.of(side["patient"]) if unit == "person" else None
                told.append(LabelledRecords(X, y, whose))
            found = gap_attack(tree, *told)
            assert isinstance(found, Measured)
            detected[unit] += found.value.control.p_value <= 0.05
    # 5 % of 20 are one; of 20 independent tests more than four reject with a chance of 0.3 %.
    assert detected["person"] <= 4
    assert detected["row"] > detected["person"]


def test_splits_keep_the_records_of_a_person_together() -> None:
    from glassine.attacks.membership.attack_model import _split

    persons = Persons.of(np.repeat(np.arange(10), 3))
    records = LabelledRecords(np.zeros((30, 1)), np.zeros(30), persons)
    train, test = _split(records, 0.5, np.random.default_rng(0))
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(30))
    assert not set(persons.codes[train].tolist()) & set(persons.codes[test].tolist())


@pytest.mark.slow
def test_shadow_models_learn_all_records_of_a_person_or_none() -> None:
    frame, who = patients(5, 60, 3)
    member = np.arange(60)[who] < 30
    inside, outside = frame.filter(pl.Series(member)), frame.filter(pl.Series(~member))
    seen: list[set[float]] = []

    class Watching(DecisionTreeClassifier):  # type: ignore[misc]  # it ships no types
        def fit(self, X: Any, y: Any) -> Any:
            seen.append(set(np.asarray(X)[:, 0].tolist()))
            return super().fit(X, y)

    attacked(
        grown(inside),
        inside,
        outside,
        by_person=True,
        shadows=Shadows(Watching(), 4),
    )
    values = frame.group_by("patient").agg(pl.col("a"))["a"].to_list()
    assert seen
    for shadow in seen:
        assert all(set(own) <= shadow or not set(own) & shadow for own in values)


@pytest.mark.slow
def test_a_person_is_accused_by_a_record_that_is_theirs_alone() -> None:
    frame, who = patients(3, 80, 3)
    member = np.arange(80)[who] < 40
    inside, outside = frame.filter(pl.Series(member)), frame.filter(pl.Series(~member))
    found = attacked(grown(inside), inside, outside, by_person=True)
    assert isinstance(found.midpoint, Measured)
    accused = {frame["patient"].to_list()[row] for row in found.midpoint.value.accused}
    tpr = found.midpoint.value.tpr
    assert tpr is not None
    assert tpr.value == pytest.approx(len({who for who in accused if who < 40}) / 40)


def test_people_in_both_sets_and_half_of_the_identifiers_are_refused() -> None:
    frame, _ = patients(4, 40, 3)
    tree = grown(frame)
    with pytest.raises(InvalidDataError, match="40 of 40 people"):
        attacked(tree, frame, frame, by_person=True)
    X, y = frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy()
    with pytest.raises(InvalidParameterError, match="of neither"):
        attack_membership(tree, Sample(X, y, persons=frame["patient"]), holdout=Sample(X, y))
    with pytest.raises(InvalidParameterError, match="of neither"):
        gap_attack(tree, Sample(X, y, persons=frame["patient"]), Sample(X, y))
    with pytest.raises(InvalidParameterError, match="has its own"):
        attack_membership(tree, Sample(X, y), y, holdout=Sample(X, y))


@pytest.mark.slow
def test_vulnerability_of_one_record_a_person_is_that_of_records() -> None:
    frame, _ = patients(6, 200, 1)
    inside, outside = frame[:120], frame[120:]
    tree = grown(inside)
    plain = attacked(tree, inside, outside, by_person=False).vulnerability.value
    by_person = attacked(tree, inside, outside, by_person=True).vulnerability.value
    assert by_person.vulnerability.value == pytest.approx(plain.vulnerability.value)
    assert by_person.control == pytest.approx(plain.control, abs=0.03)
    assert by_person.vulnerability.low == pytest.approx(plain.vulnerability.low, abs=0.05)
