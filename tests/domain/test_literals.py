"""Which values satisfy a condition, as Python compares them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glassine import parse_rules
from glassine.domain import Between, OneOf, Prefix
from glassine.domain.attributes import Scalar
from glassine.domain.literals import is_missing
from glassine.formats import to_python

BIG = 2**53


@pytest.mark.parametrize(
    "column",
    [
        np.array(["a", "b", "E1*", "1", ""]),
        np.array(["a", "b", None, 1, 1.0, True, "1", float("nan")], dtype=object),
        np.array(["a", 0.5, 2], dtype=object),
        np.array([0, 1, 2, -1, BIG, BIG + 1]),
        np.array([0, 1, 2], dtype=np.uint64),
        np.array([0, 1, BIG + 1], dtype=np.uint64),
        np.array([True, False]),
        np.array([0.0, -0.0, 0.1, 1.0, float("nan"), float(BIG), float("inf")]),
        np.array([0.1, 0.5], dtype=np.float32),
        np.array([], dtype=float),
        np.array([], dtype=str),
    ],
)
@pytest.mark.parametrize(
    "listed",
    [
        (),
        ("a", "1"),
        (1,),
        (0, 0.5),
        (0.1,),
        (True,),
        ("b", 2, False),
        (BIG + 1,),
        (float(BIG),),
        (10**30, float("inf")),
    ],
)
def test_a_value_is_listed_if_it_equals_one_that_is(column: npt.NDArray[Any], listed: tuple[Scalar, ...]) -> None:
    gaps = is_missing(column)
    inside = [any(value == one for one in listed) for value in column.tolist()]
    for literal in (OneOf("x", listed), OneOf("x", listed).negate(), OneOf("x", listed, missing=True)):
        wanted = [literal.missing if gap else held != literal.negated for held, gap in zip(inside, gaps, strict=True)]
        assert literal.holds(column).tolist() == wanted


def test_a_prefix_is_not_the_text_that_writes_it() -> None:
    listed = OneOf("code", (Prefix("E1"), "B"))
    assert listed.holds(np.array(["E1*", "E15", "B", "E2"])).tolist() == [True, True, True, False]
    rest = OneOf("code", (Prefix("E1", but=("E1*",)),))
    assert rest.holds(np.array(["E1*", "E15"])).tolist() == [False, True]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([None, "a"], [True, False]),
        (["a", "b"], [False, False]),
        ([None, float("nan"), "a"], [True, True, False]),
        ([1, np.float64("nan"), None], [False, True, True]),
    ],
)
def test_none_and_nan_are_missing(values: list[Any], wanted: list[bool]) -> None:
    assert is_missing(np.array(values, dtype=object)).tolist() == wanted


def test_a_condition_without_a_bound_holds_for_the_infinity_on_that_side() -> None:
    ends = np.array([-np.inf, 0.0, np.inf, np.nan])
    below, above = Between("a", hi=0.0), Between("a", lo=0.0)
    assert below.holds(ends).tolist() == [True, True, False, False]
    assert above.holds(ends).tolist() == [False, False, True, False]
    for one in (below, above, Between("a", -1.0, 1.0)):
        assert (one.holds(ends) ^ one.negate().holds(ends)).all()
    space: dict[str, Any] = {}
    exec(to_python(parse_rules("if [a <= 0] then [x] (3 examples)\nelse [y] (5 examples)")), space)  # noqa: S102 - it is what the package writes
    assert [space["predict"]({"a": end}) for end in ends.tolist()] == ["x", "x", "y", "y"]
