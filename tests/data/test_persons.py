"""Tables that know whose their records are: people are counted in place of records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.data.person_counts import Persons, refuse_shared
from glassine.data.record_table import as_table, with_persons
from glassine.errors import InvalidDataError

FRAME = pl.DataFrame({"patient": ["a", "b", "a", "c", "a"], "age": [30, 40, 31, 50, 30]})


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 3)), min_size=1, max_size=40))
def test_a_part_counts_each_person_with_a_record_in_it_once(rows: list[tuple[int, int]]) -> None:
    whose, parts = zip(*rows, strict=True)
    persons = Persons.of(list(whose))
    naive = [len({who for who, part in rows if part == i}) for i in range(4)]
    assert persons.counts(np.array(parts), 4).tolist() == naive


@pytest.mark.slow
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_all_records_of_a_person_weigh_as_much_as_one_person(whose: list[int]) -> None:
    persons = Persons.of(whose)
    assert persons.weights.sum() == pytest.approx(len(set(whose)))
    assert persons.number == len(set(whose))


def test_a_table_counts_people_where_persons_are_stated_and_records_otherwise() -> None:
    rows = np.array([0, 0, 0, 1, 1])
    assert as_table(FRAME).counts(rows, 2).tolist() == [3, 2]
    table = with_persons(FRAME, "patient")
    assert table.counts(rows, 2).tolist() == [2, 2]
    assert (table.number, len(table), as_table(FRAME).number) == (3, 5, 5)


def test_a_number_that_one_file_writes_with_a_point_is_the_same_person() -> None:
    whole, pointed = ["1000001", "1000002", "7"], ["1000001.0", "1000002.00", "7.5"]
    assert Persons.of([*whole, *pointed]).number == 4
    with pytest.raises(InvalidDataError, match=r"2 of 3 people of the holdout have records in the data too"):
        refuse_shared(Persons.of(whole), Persons.of(pointed))
    assert Persons.of(["1.0", "01.0", "1.0.0", "1."]).number == 4


def test_the_column_of_identifiers_is_no_attribute() -> None:
    table = with_persons(FRAME, "patient")
    assert table.names == ("age",)
    assert table.restrict(["age"]).persons is table.persons


def test_a_column_an_array_and_a_series_state_the_same_persons() -> None:
    by_column = with_persons(FRAME, "patient").whose.tolist()
    for given_ in (FRAME["patient"], FRAME["patient"].to_list(), FRAME["patient"].to_numpy()):
        assert with_persons(FRAME, given_).whose.tolist() == by_column
    assert with_persons(pd.DataFrame(FRAME.to_dict(as_series=False)), "patient").whose.tolist() == by_column


def test_some_records_keep_their_persons() -> None:
    table = with_persons(FRAME, "patient").take(np.array([True, False, True, False, True]))
    assert (table.number, len(table)) == (1, 3)


def test_the_rows_of_a_person_are_averaged_before_people_are() -> None:
    values = np.array([1.0, 0.0, 2.0, 0.0, 3.0])
    table = with_persons(FRAME, "patient")
    assert table.mean(values, np.arange(5)) == pytest.approx(2 / 3)
    assert table.largest(values).tolist() == [3.0, 0.0, 0.0]
    assert table.first_of_each(np.array([4, 1, 0, 3])).tolist() == [4, 1, 3]


@pytest.mark.parametrize("gap", [None, "", float("nan")])
def test_records_without_an_identifier_are_listed(gap: Any) -> None:
    with pytest.raises(InvalidDataError, match=r"2 of 4 records of the data have no identifier.* rows 1, 3 "):
        with_persons(pl.DataFrame({"x": [1, 2, 3, 4]}), ["a", gap, "b", gap])


def test_identifiers_must_be_as_many_as_the_records() -> None:
    with pytest.raises(InvalidDataError, match="one identifier for each of the 5 records"):
        with_persons(FRAME, [1, 2])


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="which the holdout lack"):
        with_persons(FRAME, "who", "holdout")


def test_people_on_both_sides_are_refused_with_their_number() -> None:
    data, holdout = Persons.of(FRAME["patient"]), Persons.of(["a", "a", "d", "c"])
    with pytest.raises(InvalidDataError, match=r"2 of 3 people of the holdout .* 3 of the holdout's 4 records"):
        refuse_shared(data, holdout)
    refuse_shared(data, Persons.of(["d"]))
