"""Comparisons by person: splits, membership and the guarantees of private models."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from glassine.comparison import Task, compare
from glassine.comparison.comparison_runs import RECORDS_COVERED
from glassine.comparison.seeded_splits import split
from glassine.data.person_counts import Persons
from glassine.domain import Category, Domain, Integer
from glassine.errors import InvalidDataError, InvalidParameterError

DOMAIN = Domain({"age": Integer(0, 9999, thresholds=(3999.5, 5999.5)), "ill": Category(("no", "yes"))})


def visits(people: int = 120) -> pl.DataFrame:
    """Patients who come one to four times, each with one class."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(people), rng.integers(1, 5, people))
    age, ill = rng.integers(0, 9999, people), rng.random(people) < 0.5
    return pl.DataFrame({"who": who, "age": age[who], "ill": np.where(ill[who], "yes", "no")})


def test_all_records_of_a_person_are_on_one_side() -> None:
    frame = visits()
    persons = Persons.of(frame["who"])
    labels = (frame["ill"] == "yes").to_numpy().astype(np.int64)
    train, test = split(labels, 0, test_share=0.3, seed=0, persons=persons)
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(frame.height))
    sides = [set(persons.codes[rows].tolist()) for rows in (train, test)]
    assert not sides[0] & sides[1]
    assert len(sides[1]) == pytest.approx(0.3 * 120, abs=1)


def test_one_record_a_person_is_split_as_records_are() -> None:
    labels = np.random.default_rng(0).integers(0, 3, 90)
    plain = split(labels, 1, test_share=0.3, seed=2)
    by_person = split(labels, 1, test_share=0.3, seed=2, persons=Persons.of(list(range(90))))
    assert [side.tolist() for side in by_person] == [side.tolist() for side in plain]


def test_a_gap_that_shared_patients_hide_is_seen_by_person() -> None:
    task = Task(models=("deep-cart",), n_splits=2)
    frame = visits()
    by_row = compare(frame.drop("who"), "ill", domain=DOMAIN, task=task).rows[0]
    by_person = compare(frame, "ill", domain=DOMAIN, task=task, persons="who")
    assert by_person.n_people == 120
    assert by_row.gap is not None
    assert by_person.rows[0].gap is not None
    assert by_person.rows[0].gap.value > by_row.gap.value + 0.1


def test_private_models_cover_people_where_their_records_are_bounded() -> None:
    frame = visits()
    models = ("tree", "constant")
    plain = compare(frame, "ill", domain=DOMAIN, task=Task(epsilons=(1.0,), models=models, n_splits=1), persons="who")
    task = Task(epsilons=(1.0,), models=models, n_splits=1, records_per_person=2)
    bounded = compare(frame, "ill", domain=DOMAIN, task=task, persons="who")
    assert RECORDS_COVERED in plain.caveats
    assert RECORDS_COVERED not in bounded.caveats
    assert [row.status for row in bounded.rows] == ["measured", "measured"]
    with pytest.raises(InvalidParameterError, match="needs persons"):
        compare(frame.drop("who"), "ill", domain=DOMAIN, task=task)


def test_records_of_nobody_are_refused() -> None:
    frame = visits().with_columns(who=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("who")))
    with pytest.raises(InvalidDataError, match=r"1 of .* have no identifier"):
        compare(frame, "ill", domain=DOMAIN, persons="who")
