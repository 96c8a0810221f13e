"""The values of cells, for what needs more than numbers and codes: as they are, or as an attribute reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from glassine.domain.attributes import Attribute, Integer, Real, Scalar
from glassine.domain.literals import EXACT
from glassine.domain.prefixes import prefixes
from glassine.records.arrays import AnyArray
from glassine.records.cells import Flag, FlagArray
from glassine.records.columns import read_only, values_of
from glassine.records.containers import plain_column
from glassine.records.reading import read
from glassine.records.scalars import FOREIGN, double, is_gap, number_of, value_of
from glassine.records.undeclared import wide

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl


def as_declared(container: object, name: str, attribute: Attribute, values: AnyArray) -> AnyArray:
    """Return the values of a column as an attribute reads them; ``values`` are the same as they are, shape (n,)."""
    if isinstance(attribute, Integer | Real):
        if values.dtype.kind in "if":
            return values
        listed: tuple[Scalar, ...] = ()
    else:
        listed = values_of(attribute)
        texts = any(isinstance(value, str) for value in listed)
        # Whole numbers beside gaps may have been rounded.
        if not texts and (values.dtype.kind == "i" or _stores_doubles(container, name)):
            # Numbers equal those that are declared; an infinite one is none of them, and has no distance to others.
            return values if np.isfinite(values).all() else read_only(np.where(np.isinf(values), np.nan, values))
    columns, flags = read(container, {name: wide(attribute)})
    return _declared(columns.array(name), flags.arrays[name], values, listed)


def _stores_doubles(container: Any, name: str) -> bool:
    return bool(container.frame[name].dtype.is_float())


def as_they_are(series: nw.Series[Any]) -> AnyArray:
    """Return a column of a frame, shape (n,): numbers, with NaN for gaps, or objects, with None."""
    # To ask for a type, and to compare it, takes longer than to convert a short column.
    dtype = series.dtype
    kind = type(dtype)
    if kind is nw.Object:
        # A library asks each object whether it is missing, and some raise an error.
        cells = series.to_list()
        return read_only(np.fromiter((None if is_gap(cell) else cell for cell in cells), object, len(cells)))
    if kind is nw.Unknown and isinstance(plain := plain_column(series.to_native()), np.ndarray):
        # A sparse column of pandas holds numbers or truth values in few bytes.
        series = nw.new_series(series.name, plain, backend="pandas")
        dtype, kind = series.dtype, type(series.dtype)
    gaps = series.null_count() > 0
    # NumPy has no whole numbers of 128 bits, and unsigned ones of 64 may be too large for its signed type.
    large = kind is nw.Int128 or kind is nw.UInt128 or (kind is nw.UInt64 and bool((series > 2**62).any()))
    if dtype.is_numeric() and not large:
        stored: Any = float if gaps or not dtype.is_integer() else np.int64
        out = np.asarray(series.to_numpy(), dtype=stored)
    elif kind is nw.Boolean and not gaps:
        out = np.asarray(series.to_numpy(), dtype=np.int64)
    else:
        shared = _shared_texts(series) if kind is nw.String else None
        out = np.fromiter(series.to_list(), dtype=object, count=len(series)) if shared is None else shared
        if gaps:
            out[series.is_null().to_numpy()] = None
    return read_only(out)


FEWER = 4
"""Texts of a column are one object each if they are fewer than the records by this factor: it saves their memory."""


def _shared_texts(series: nw.Series[Any]) -> AnyArray | None:
    """Return texts of which equal ones are one object, None where few are equal or the library is another."""
    native = series.to_native()
    if not isinstance(native, pl.Series):
        return None
    texts = native.unique(maintain_order=True)
    if not len(native) or len(texts) * FEWER > len(native):
        return None
    places = native.replace_strict(texts, pl.int_range(len(texts), eager=True), return_dtype=pl.UInt32)
    objects: AnyArray = np.fromiter(texts.to_list(), dtype=object, count=len(texts))
    return np.take(objects, places.to_numpy())


def _declared(codes: AnyArray, flags: FlagArray, values: AnyArray, listed: Sequence[Scalar]) -> AnyArray:
    """Return what was read of a column as values; of a number, that lists none, it is what was read."""
    if not listed:
        return read_only(np.where(flags == Flag.INFINITE, np.copysign(np.inf, codes), codes))
    if prefixes(listed):
        # A text that a prefix stands for is the value.
        return read_only(_objects([_plain(cell, numbers=False) for cell in values.tolist()]))
    texts = any(isinstance(value, str) for value in listed)
    decoded = np.array([*listed, None], dtype=object)[codes]
    undeclared = (flags == Flag.UNDECLARED) | (flags == Flag.INFINITE)
    if undeclared.any():
        # Beside numbers a text that writes one is that number, as in a column of numbers.
        cells = np.asarray(values, dtype=object)[undeclared].tolist()
        decoded[undeclared] = _objects([_plain(cell, numbers=not texts) for cell in cells])
    if texts:
        return read_only(decoded)
    seen = set(decoded.tolist())
    kinds = set(map(type, seen))
    # A double would round a large whole number to another declared one.
    large = any(type(value) is int and abs(value) >= EXACT for value in seen)
    if str in kinds or (large and kinds != {int}):
        return read_only(decoded)
    whole = kinds <= {int} and all(abs(value) < 2**63 for value in seen)
    return read_only(decoded.astype(np.int64 if whole else np.float64))


def _plain(cell: object, *, numbers: bool) -> str | int | float | None:
    """Return a cell that is not declared as a text or a finite number; None for others, which may have no equals."""
    value = value_of(cell)
    if isinstance(value, float) and math.isinf(value):
        return None
    if isinstance(value, str):
        written = number_of(value) if numbers else None
        return value if written is None else written
    return None if value is FOREIGN or value is None else value if type(value) is int else double(value)


def _objects(values: list[Any]) -> AnyArray:
    return np.fromiter(values, dtype=object, count=len(values))
