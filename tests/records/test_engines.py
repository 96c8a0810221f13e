"""Histograms of thousands of bins: by engines against a search in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.data.count_table import bin_histograms
from glassine.domain import Domain, Integer, Real
from glassine.errors import InvalidDataError
from glassine.records.engines import LazyTable

Array = npt.NDArray[np.float64]

ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame.lazy(),
    "duckdb": lambda frame: duckdb.connect().from_arrow(frame.to_arrow()),
}
N = 3000
RNG = np.random.default_rng(3)
EVEN = np.linspace(0, 1, 4097)[1:-1]
CASES: dict[str, tuple[Integer | Real, Array, Array]] = {
    "even": (Real(0, 1), RNG.random(N), EVEN),
    "on cut points": (Real(0, 1), RNG.integers(0, 4097, N) / 4096, EVEN),
    "beyond the bounds": (Real(-3.3, 7.7), RNG.uniform(-9, 14, N), -3.3 + 11 * EVEN),
    "few of a kind": (Real(0, 100), np.round(RNG.uniform(0, 100, N)), 100 * EVEN),
    "uneven": (Real(0, 1), RNG.random(N), np.unique(RNG.random(300) ** 3)),
    "all in one bin": (Real(0, 1), np.full(N, 0.5), EVEN),
    "whole": (Integer(0, 99), RNG.integers(-5, 120, N).astype(float), np.arange(0.5, 99.0)),
    "wide whole": (Integer(0, 100_000), RNG.integers(0, 100_001, N).astype(float), np.floor(1e5 * EVEN) + 0.5),
    "fractions of whole": (Integer(0, 9), RNG.uniform(0, 9, N), np.arange(0.5, 9.0)),
    "no cut point": (Real(0, 1), RNG.random(N), np.zeros(0)),
    "one cut point": (Real(0, 1), RNG.random(N), np.array([0.3])),
    "cut points beyond the bounds": (Real(0, 1), RNG.random(N), np.array([-2.0, 0.0, 0.5, 1.0, 7.0])),
    "one possible number": (Integer(4, 4), RNG.random(N), np.array([3.0, 5.0])),
}


def searched(attribute: Integer | Real, values: Array, cuts: Array) -> list[int]:
    """Count by a search for each number."""
    places = np.searchsorted(cuts, np.clip(values, attribute.lo, attribute.hi), side="left")
    return [*np.bincount(places, minlength=len(cuts) + 1).tolist(), 0]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_an_engine_counts_what_a_search_counts(engine: str, case: str) -> None:
    attribute, values, cuts = CASES[case]
    frame = ENGINES[engine](pl.DataFrame({"x": values}))
    assert LazyTable(frame=frame).bins("x", attribute, cuts).tolist() == searched(attribute, values, cuts)


@pytest.mark.slow
@given(st.lists(st.floats(-2, 2), max_size=30), st.lists(st.floats(-1.5, 1.5), max_size=12, unique=True))
def test_any_numbers_and_cut_points(values: list[float], cuts: list[float]) -> None:
    points = np.unique(np.array(cuts, dtype=np.float64))
    numbers = np.array(values, dtype=np.float64)
    frame = pl.LazyFrame({"x": numbers})
    assert LazyTable(frame=frame).bins("x", Real(-1, 1), points).tolist() == searched(Real(-1, 1), numbers, points)


@pytest.mark.parametrize("engine", ENGINES)
def test_missing_values_are_counted_or_refused(engine: str) -> None:
    frame = ENGINES[engine](pl.DataFrame({"x": [0.1, None, float("nan"), 0.9]}))
    assert LazyTable(frame=frame).bins("x", Real(0, 1, missing=True), EVEN)[-1] == 2
    with pytest.raises(InvalidDataError, match="column 'x' holds a missing value"):
        LazyTable(frame=frame).bins("x", Real(0, 1), EVEN)
    with pytest.raises(InvalidDataError, match="must hold numbers"):
        LazyTable(frame=ENGINES[engine](pl.DataFrame({"x": ["a"]}))).bins("x", Real(0, 1), EVEN)


@pytest.mark.parametrize("engine", ENGINES)
def test_histograms_of_many_bins_are_those_of_a_frame_in_memory(engine: str) -> None:
    domain = Domain({"x": Real(0, 1, missing=True)})
    frame = pl.DataFrame({"x": [*RNG.uniform(-0.1, 1.1, N).tolist(), None]})
    found = bin_histograms(ENGINES[engine](frame), domain, {"x": EVEN.tolist()})["x"]
    assert found.tolist() == bin_histograms(frame, domain, {"x": EVEN.tolist()})["x"].tolist()
