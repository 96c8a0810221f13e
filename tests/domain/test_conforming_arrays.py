"""Columns of plain numbers conform as expressions make them conform, without an expression."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.data import conform_values as fast
from glassine.data.conform import Outside, conform
from glassine.domain import Attribute, Binary, Category, Domain, Integer, Real
from glassine.errors import InvalidDataError

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool")
ATTRIBUTES: tuple[Attribute, ...] = (
    Integer(-2, 3),
    Integer(-2, 3, missing=True),
    Real(-0.5, 100.0),
    Real(-0.5, 100.0, missing=True),
    Binary(),
    Binary(missing=True),
    Category((3, True, "1", -1, 300)),
    Category((0.5, 2**63, 0, -(2**63)), missing=True),
    Category((1, 2**53 + 1), missing=True),
    Category(tuple(range(40)), missing=True),
)
VALUES = (-(2**63), -129, -2, -1, 0, 1, 2, 3, 127, 300, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1)
FLOATS = (-0.0, 0.5, 1.5, -0.75, math.nan, math.inf, -math.inf, 1e300)


def held(kind: str) -> Any:
    """Return every value that a type holds."""
    if kind.startswith("float"):
        with np.errstate(over="ignore"):
            return np.array([*map(float, VALUES), *FLOATS]).astype(kind)
    if kind == "bool":
        return np.array([False, True, True])
    bounds = np.iinfo(kind)
    return np.array([value for value in VALUES if bounds.min <= value <= bounds.max], dtype=kind)


def read(data: Any, attribute: Attribute, outside: Outside) -> Any:
    """Return the conforming column, or that it is refused."""
    try:
        return conform(data, Domain({"x": attribute}), outside=outside).array("x")
    except InvalidDataError as error:
        return str(error)


def same(one: Any, other: Any) -> bool:
    """Return whether two columns, or two refusals, are the same."""
    if isinstance(one, str) or isinstance(other, str):
        return bool(np.array_equal(one, other))
    return one.dtype == other.dtype and bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=str)
@pytest.mark.parametrize("outside", [Outside.REFUSE, Outside.REFUSE | Outside.KEEP_UNDECLARED])
def test_arrays_conform_as_lazy_frames_do(kind: str, attribute: Attribute, outside: Outside) -> None:
    array = held(kind)
    expected = read(pl.DataFrame({"x": array}).lazy(), attribute, outside)
    for data in (
        {"x": array},
        array[:, None],
        pl.DataFrame({"x": array}),
        pd.DataFrame({"x": array}),
        pd.DataFrame({"x": array}, index=np.zeros(len(array))),
    ):
        assert same(read(data, attribute, outside), expected), type(data)


@pytest.mark.slow
@given(
    values=st.lists(st.floats(-3, 5) | st.sampled_from(FLOATS), min_size=1, max_size=20),
    attribute=st.sampled_from(ATTRIBUTES),
)
def test_numbers_conform_one_by_one(values: list[float], attribute: Attribute) -> None:
    array = np.array(values)
    whole = read({"x": array}, attribute, Outside.REFUSE)
    one_by_one = [read({"x": array[i : i + 1]}, attribute, Outside.REFUSE) for i in range(len(array))]
    refusals = [found for found in one_by_one if isinstance(found, str)]
    assert same(whole, refusals[0] if refusals else np.concatenate(one_by_one))


def test_the_records_themselves_are_not_changed() -> None:
    array = np.array([-5.0, 0.0, 7.0])
    read({"x": array}, Real(0.0, 1.0), Outside.REFUSE)
    assert array.tolist() == [-5.0, 0.0, 7.0]


def test_which_columns_are_plain() -> None:
    attributes = dict.fromkeys("abcd", Binary())
    frame = pl.DataFrame({"a": [1, 0], "b": [1, None], "c": ["1", "0"], "d": [True, False]})
    assert set(fast.plain_arrays(nw.from_native(frame), attributes)) == {"a", "d"}
    assert set(fast.plain_arrays(nw.from_native(frame.to_pandas()), attributes)) == {"a", "b", "d"}
    assert not fast.plain_arrays(nw.from_native(frame.to_arrow()), attributes)
