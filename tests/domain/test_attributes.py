"""Attributes: sizes, measures and refused values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.domain import Binary, Category, Integer, Prefix, Real
from glassine.errors import InvalidDomainError

BOUNDS = st.one_of(st.floats(-20, 20), st.integers(-20, 20).map(float), st.sampled_from([-math.inf, math.inf]))


@given(st.integers(-10, 10), st.integers(0, 15), BOUNDS, BOUNDS)
def test_integer_measure_counts_values(lo: int, span: int, left: float, right: float) -> None:
    attribute = Integer(lo, lo + span)
    assert attribute.measure(left, right) == sum(left < v <= right for v in range(lo, lo + span + 1))


@given(st.integers(0, 12), st.integers(-1, 14), st.integers(-1, 14))
def test_real_measure_counts_grid_values_in_decimals(steps: int, left: int, right: int) -> None:
    """Grid values and bounds such as 0.3 are decimals, not their binary neighbours."""
    attribute = Real(0.0, (steps + 1) / 10, 0.1)
    counted = sum(left < i <= right for i in range(steps + 2))
    assert attribute.measure(left / 10, right / 10) == counted


def test_real_without_resolution_has_a_length() -> None:
    attribute = Real(-1.0, 3.0)
    assert attribute.size is None
    assert attribute.measure(-math.inf, 0.5) == 1.5
    assert attribute.measure(5, math.inf) == 0


def test_a_missing_value_is_one_more() -> None:
    sizes = [Integer(0, 1, missing=True).size, Category(("a",), missing=True).size, Binary(missing=True).size]
    assert sizes == [3, 2, 3]
    assert Real(0.0, 1.0, 0.5, missing=True).size == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Integer(3, 2), "lo <= hi"),
        (lambda: Integer(True, 2), "whole numbers"),
        (lambda: Integer(cast(Any, 0.5), 2), "whole numbers"),
        (lambda: Real(math.nan, 1.0), "finite"),
        (lambda: Real(0.0, math.inf), "finite"),
        (lambda: Real(1.0, 1.0), "lo < hi"),
        (lambda: Real(0.0, 1.0, 0.0), "resolution"),
        (lambda: Real(0.0, 1.0, math.nan), "finite"),
        (lambda: Real(0.0, 1.0, 2.0), "resolution"),
        (lambda: Integer(0, 9, thresholds=(2.0, 1.0)), "increase strictly"),
        (lambda: Integer(0, 9, thresholds=(math.nan,)), "finite"),
        (lambda: Category(()), "at least one value"),
        (lambda: Category(cast(Any, "abc")), "must be a list"),
        (lambda: Category(("a", "a")), "must differ"),
        (lambda: Category((math.nan,)), "string, number or Boolean"),
        (lambda: Category(cast(Any, (None,))), "string, number or Boolean"),
    ],
)
def test_impossible_attributes_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidDomainError, match=message):
        make()


def test_numpy_scalars_are_numbers() -> None:
    whole: Any = np.int64(3)
    single: Any = np.float32(0.5)
    assert Integer(0, whole) == Integer(0, 3)
    assert type(Integer(0, whole).hi) is int
    assert Real(0.0, 1.0, single) == Real(0.0, 1.0, 0.5)
    assert type(Real(0.0, 1.0, single).resolution) is float


def test_groups_of_a_hierarchy_keep_the_order_of_the_values_and_name_prefixes_by_their_start() -> None:
    colors = Category(("red", "green", "blue"), hierarchy=cast(Any, [["blue", "red"]]))
    assert colors.hierarchy == (("red", "blue"),)
    icd = Category(("E10", Prefix("E"), Prefix("F")), hierarchy=((Prefix("E"), "E10"),))
    assert icd.hierarchy == ((icd.values[0], icd.values[1]),)
    assert hash(icd) == hash(Category(icd.values, hierarchy=icd.hierarchy))


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        ("ab", "list of lists"),
        (("ab",), "list of lists"),
        ((("a", "x"),), "'x', which is not one of its values"),
        ((("a", None),), "None, which is not one of its values"),
        ((("a", ["b"]),), "which is not one of its values"),
        ((("a",),), "two values or more"),
        (((),), "two values or more"),
        ((("a", "b", "c", "d"),), "but not all"),
        ((("a", "b"), ("b", "a")), "share none with another group"),
        ((("a", "b"), ("b", "c")), "share none with another group"),
    ],
)
def test_a_hierarchy_that_is_none_is_refused(hierarchy: Any, message: str) -> None:
    with pytest.raises(InvalidDomainError, match=message):
        Category(("a", "b", "c", "d"), hierarchy=hierarchy)
