"""Conditions as text: brackets, missing values, numbers without exponents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glassine.domain import Between, Literal, OneOf
from glassine.domain.literals import all_of, conjunction_text, conjunction_texts, number, without_closed
from glassine.errors import InvalidDataError

GAP = OneOf("x", (), missing=True)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (12808.5, 7, "12808.5"),
        (12808.5, 4, "12808"),
        (28716.8999, 7, "28716.9"),
        (12345678.25, 7, "12345678"),
        (0.30000001192092896, 7, "0.3"),
        (0.000012, 7, "0.000012"),
        (-1234567.75, 4, "-1234568"),
        (3e20, 7, "3e+20"),
        (1e-12, 7, "1e-12"),
        (99999.99999, 7, "100000"),
        (0.1 + 0.2, None, "0.30000000000000004"),
    ],
)
def test_numbers_are_plain(value: float, digits: int | None, text: str) -> None:
    assert number(value, digits) == text


@pytest.mark.parametrize(
    ("literals", "text"),
    [
        ([Between("x", hi=5, missing=True)], "x <= 5 or missing"),
        (
            [Between("x", hi=5, missing=True), OneOf("c", ("a",), missing=True)],
            "(x <= 5 or missing) and (c = a or missing)",
        ),
        ([Between("x", hi=5, missing=True), Between("x", 2, missing=True)], "2 < x <= 5 or missing"),
        ([Between("x", hi=5, missing=True), Between("x", 2)], "2 < x <= 5"),
        ([Between("x", hi=5, missing=True), Between("x", 5, missing=True)], "x is missing"),
        ([Between("x", hi=5, missing=True), Between("x", hi=5, negated=True, missing=True)], "x is missing"),
        ([Between("x", 5, missing=True), Between("x", 5, negated=True, missing=True)], "x is missing"),
        ([Between("x", hi=5, missing=True), GAP, OneOf("c", ("a",))], "x is missing and c = a"),
        ([OneOf("c", ("a",), missing=True), OneOf("c", ("b",), missing=True)], "c is missing"),
        (
            [OneOf("c", ("a", "b"), missing=True), OneOf("c", ("b",), missing=True)],
            "(c in {a, b} or missing) and (c = b or missing)",
        ),
        ([Between("x", hi=5), Between("x", 5)], "x <= 5 and x > 5"),
        ([OneOf("x", (), negated=True, missing=True)], "x is anything"),
        ([], ""),
    ],
)
def test_conjunctions(literals: list[Literal], text: str) -> None:
    assert conjunction_text(literals) == text


def test_conjunctions_that_share_their_first_literals_are_worded_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    young, old = Between("x", hi=5, missing=True), Between("x", 5)
    cook = OneOf("c", ("cook",))
    leaves = [(young, cook), (young, cook.negate(), Between("x", 2, missing=True)), (young, GAP), (old,), (old, cook)]
    # What is kept grows with the square of a conjunction, so that a long one is worded by itself.
    leaves.insert(2, (young, *(Between("x", n, missing=True) for n in range(-150, 3))))
    texts = [conjunction_text(leaf) for leaf in leaves]
    assert texts[2] == "2 < x <= 5 or missing"
    assert list(conjunction_texts(leaves)) == texts
    assert texts[1] == "(2 < x <= 5 or missing) and (c != cook or missing)"
    worded: list[object] = []

    def once(own: object, digits: object, ends: object) -> tuple[str, ...]:
        worded.append(own)
        return ("",)

    monkeypatch.setattr("glassine.domain.literals._texts_on_one", once)
    list(conjunction_texts([(young, cook)] * 5))
    assert worded == [(young,), (cook,)]


def test_cells_keep_their_conditions_apart() -> None:
    both: list[Literal] = [Between("x", hi=5, missing=True), Between("x", hi=3)]
    assert without_closed(both) == both
    assert all_of(map(str, both)) == "(x <= 5 or missing) and x <= 3"


@pytest.mark.parametrize("odd", [["old"], ["old", "older"], [10**400]])
def test_a_column_with_texts_is_refused_without_the_blame_on_a_number_or_the_name_of_a_value(odd: list[Any]) -> None:
    column = np.array(["87", 30, None, *odd], dtype=object)
    with pytest.raises(InvalidDataError) as caught:
        Between("age", hi=40).holds(column)
    number = "1 of 4 records has" if len(odd) == 1 else "2 of 5 records have"
    assert f"'age' is compared with a number, but {number} something else there" in str(caught.value)
    assert "87" not in str(caught.value)
    assert "old" not in str(caught.value)
