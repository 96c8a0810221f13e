"""Columns that are arrays of plain numbers already, made to conform without the expressions of a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from glassine.domain.attributes import LARGEST, Attribute, Integer, Real
from glassine.domain.columns import GAP, code_type
from glassine.domain.conforming_objects import clipped, declared_numbers

__all__: list[str] = []

PLAIN = (
    nw.Int8,
    nw.Int16,
    nw.Int32,
    nw.Int64,
    nw.UInt8,
    nw.UInt16,
    nw.UInt32,
    nw.UInt64,
    nw.Float32,
    nw.Float64,
    nw.Boolean,
)

MOST_COMPARED = 32
"""Most values with which a column is compared one by one; an expression looks more of them up at once."""


def plain_arrays(frame: nw.DataFrame[Any], attributes: Mapping[str, Attribute]) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a pandas or Polars frame that are whole numbers, doubles or Booleans, without gaps."""
    schema = frame.collect_schema()
    native = frame.to_native()
    found: dict[str, npt.NDArray[Any]] = {}
    for name in attributes:
        if schema[name] not in PLAIN:
            continue
        if frame.implementation.is_pandas():
            column = native[name]
            if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
                found[name] = column.to_numpy()
        elif frame.implementation.is_polars():
            column = native.get_column(name)
            if not column.null_count():
                found[name] = column.to_numpy()
    return found


def conformed(
    array: npt.NDArray[Any], attribute: Attribute, *, unknown: int, gap: int, strict: bool
) -> npt.NDArray[Any] | None:
    """Return numbers clipped, or the codes of values; None where an expression has to do it.

    Parameters
    ----------
    array : ndarray of whole numbers, doubles or Booleans, shape (n,)
        A column.
    attribute : Attribute
        What is declared of it.
    unknown, gap : int
        Codes of a value that is not declared, and of one that is missing.
    strict : bool
        As for :func:`glassine.domain.conforming.conform`.
    """
    if isinstance(attribute, Integer | Real):
        return clipped(np.ascontiguousarray(array, dtype=np.float64), attribute, strict=strict)
    known = declared_numbers(attribute)
    if not known or len(known) > MOST_COMPARED:
        return None
    # Booleans are compared as whole numbers, which alone are safe from numbers beyond 64 bits.
    # Fractions are compared as doubles: of two declared ones that are near, both equal one in single precision.
    compared: type[np.generic] = {"b": np.int8, "f": np.float64}.get(array.dtype.kind, array.dtype.type)
    array = np.ascontiguousarray(array.astype(compared, copy=False))
    codes = np.zeros(len(array), dtype=code_type(attribute))
    found = np.zeros(len(array), dtype=bool)
    for value, code in known.items():
        number = _as_held(value, array.dtype)
        if number is not None:
            here = array == number
            codes += here * codes.dtype.type(code)
            found |= here
    if not found.all():
        codes[~found] = unknown
        if array.dtype.kind == "f":
            codes[np.isnan(array)] = gap
            if gap == GAP:
                codes[np.isinf(array)] = GAP
    return codes


def _as_held(value: float, dtype: np.dtype[Any]) -> int | float | None:
    """Return a declared number as a column of this type can hold it, or None if it cannot."""
    if dtype.kind == "f":
        return float(value) if abs(value) <= LARGEST and float(value) == value else None
    return int(value) if value == int(value) else None
