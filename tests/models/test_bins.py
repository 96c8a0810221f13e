"""Bins: where each value falls, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from glassine.errors import InvalidModelError
from glassine.models import CategoryBins, NumericBins


@pytest.mark.parametrize(("closed", "on_cut"), [("right", [0, 1]), ("left", [1, 2])])
def test_a_value_on_a_cut_falls_on_the_closed_side(closed: str, on_cut: list[int]) -> None:
    bins = NumericBins("x", (1.0, 2.0), closed)
    assert bins.index(np.array([1.0, 2.0])).tolist() == on_cut
    beside = [math.nextafter(1.0, 0), math.nextafter(1.0, 2), math.nextafter(2.0, 0), math.nextafter(2.0, 3)]
    assert bins.index(np.array(beside)).tolist() == [0, 1, 1, 2]
    assert bins.index(np.array([-math.inf, math.inf, math.nan, -1e308])).tolist() == [0, 2, 3, 0]


@given(
    st.lists(st.floats(-1e9, 1e9), unique=True, max_size=8),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=20),
    st.sampled_from(["right", "left"]),
)
@example([0.0], [0.0, -0.0], "right")
@example([], [math.nan, math.inf], "left")
def test_bins_are_counted_by_cuts_passed(cuts: list[float], values: list[float], closed: str) -> None:
    cuts = sorted({cut + 0.0 for cut in cuts})
    bins = NumericBins("x", tuple(cuts), closed)
    for value, found in zip(values, bins.index(np.array(values)).tolist(), strict=True):
        passed = sum(value > cut if closed == "right" else value >= cut for cut in cuts)
        assert found == (len(cuts) + 1 if math.isnan(value) else passed)
    assert len(bins.labels) == bins.n_bins == len(cuts) + 2
    assert len(set(bins.labels)) == bins.n_bins


def test_thousands_of_bins() -> None:
    bins = NumericBins("x", tuple(float(k) for k in range(5000)))
    assert bins.n_bins == 5002
    assert bins.index(np.array([-1.0, 0.0, 0.5, 4999.0, 4999.5])).tolist() == [0, 0, 1, 4999, 5000]


def test_labels_tell_the_closed_side() -> None:
    assert NumericBins("x", (1, 2.5)).labels == ("<= 1", "1 to 2.5", "> 2.5", "missing")
    assert NumericBins("x", (1, 2.5), "left").labels == ("< 1", "1 to 2.5", ">= 2.5", "missing")
    assert NumericBins("x").labels == ("any value", "missing")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"attribute": ""}, "non-empty string"),
        ({"attribute": 3}, "non-empty string"),
        ({"cuts": (2, 1)}, "increase strictly"),
        ({"cuts": (1, 1)}, "increase strictly"),
        ({"cuts": (0.0, -0.0)}, "increase strictly"),
        ({"cuts": (math.nan,)}, "finite number"),
        ({"cuts": (math.inf,)}, "finite number"),
        ({"cuts": (10**400,)}, "finite number"),
        ({"cuts": (1e300,)}, "below 1e300"),
        ({"cuts": (True,)}, "finite number"),
        ({"cuts": ("1",)}, "finite number"),
        ({"cuts": "12"}, "must be a list"),
        ({"cuts": 3}, "must be a list"),
        ({"closed": "both"}, "'right'"),
        ({"bounds": (2, 1)}, "in order"),
        ({"bounds": (1,)}, "lowest and a highest"),
        ({"bounds": (math.nan, 1)}, "finite number"),
        ({"bounds": 5}, "must be a list"),
    ],
)
def test_numeric_bins_refuse(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        NumericBins(**{"attribute": "x", **given})


def test_equal_values_are_one_category_and_texts_are_others() -> None:
    bins = CategoryBins("x", ((1, "1"), (0, "True"), (2.5,)))
    assert bins.find([True, 1, 1.0, "1", False, 0.0, "True", 2.5, "2.5", None, math.nan]).tolist() == [
        *[0, 0, 0, 0, 1, 1, 1, 2, 3, 3, 3]
    ]
    assert bins.labels == ("1, 1", "0, True", "2.5", "missing or other")


def test_missing_values_have_the_bin_of_their_group() -> None:
    merged = CategoryBins("x", (("a", None), ("b",)))
    assert merged.find(["a", None, "b", "z"]).tolist() == [0, 0, 1, 2]
    assert (merged.missing, merged.values, merged.labels) == (0, ("a", "b"), ("a, missing", "b", "other"))
    assert merged.lookup(("b", "a"))[[0, 1, -1, -2]].tolist() == [1, 0, 0, 2]
    apart = CategoryBins("x", (("a",), (None,)))
    assert apart.lookup(("a",))[[0, -1, -2]].tolist() == [0, 1, 2]
    together = CategoryBins("x", (("a",),))
    assert together.lookup(("a",))[[0, -1, -2]].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ((), "at least one group"),
        (((),), "each group a value"),
        ((("a",), ("a",)), "'a' twice"),
        (((1,), (True,)), "True twice"),
        (((1, 1.0),), "twice"),
        (((math.nan,),), "finite numbers"),
        (((None,),), "no value beside missing"),
        (((1, None), (None,)), "None twice"),
        ((([],),), "finite numbers"),
        (("ab",), "must be a list"),
        ("ab", "must be a list"),
        (3, "must be a list"),
    ],
)
def test_category_bins_refuse(groups: Any, message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        CategoryBins("x", groups)
