"""Records made to conform to a domain: numbers clipped, unknown categories set apart, one record at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Flag, auto
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from glassine.data.table import Frame, collect, open_native
from glassine.domain.attributes import GAP_TEXTS, Attribute, Binary, Category, Integer, Prefix, Real
from glassine.domain.domain import Domain
from glassine.errors import InvalidDataError, first_of
from glassine.records.arrays import AnyArray
from glassine.records.cells import declared_numbers
from glassine.records.columns import GAP, UNDECLARED, Columns, code_type, is_column, values_of
from glassine.records.containers import are_rows, check_width
from glassine.records.reading import read_checked, read_settled

__all__ = [
    "Outside",
    "are_rows",
    "as_columns",
    "check_width",
    "collect",
    "conform",
    "expressions",
    "number",
    "rows_as_objects",
    "unmasked",
]

MOST_COMPARED = 64
"""Most values with which a category of a lazy Polars frame is compared one by one: to look values up, Polars takes the
whole column into memory."""


class Outside(Flag):
    """What becomes of a value that lies outside its attribute. A number beyond its bounds is clipped in any case.

    Attributes
    ----------
    CLIP
        Nothing is refused because of a value. What no number can be read from becomes missing, and a missing number
        that the attribute does not allow its lower bound. A category that is not declared becomes missing.
    REFUSE
        A value that is missing or no number, where the attribute asks for one, is an error.
    KEEP_UNDECLARED
        As the others, and a category that is not declared has its own code, -2. May be joined: ``REFUSE |
        KEEP_UNDECLARED``.
    """

    CLIP = 0
    REFUSE = auto()
    KEEP_UNDECLARED = auto()

    @property
    def refuses(self) -> bool:
        """Whether a value can be refused."""
        return Outside.REFUSE in self

    def codes(self, attribute: Category | Binary) -> tuple[int, int]:
        """Return the codes of a value that is not declared, and of a missing one."""
        undeclared = UNDECLARED if Outside.KEEP_UNDECLARED in self else -1
        return undeclared, -1 if attribute.missing else GAP if self.refuses else undeclared


def conform(
    data: object, domain: Domain, names: Iterable[str] | None = None, *, outside: Outside = Outside.REFUSE
) -> Columns:
    """Return the attributes of a domain as columns, values outside the domain brought into it record by record."""
    take = read_checked if outside.refuses else read_settled
    return take(data, domain, names, keep_undeclared=Outside.KEEP_UNDECLARED in outside)


def lazy_frame(data: object, names: Iterable[str]) -> Frame:
    """Return a frame that has some columns."""
    frame = open_native(data)
    schema = frame.collect_schema()
    for name in names:
        is_column(name, schema)
    return frame


def as_columns(X: object, names: Iterable[str] | None) -> Any:
    """Return a list of mappings or a structured array as a frame of these columns."""
    # Anything else is returned unchanged.
    #
    # Values stay the objects that they are. Without names all keys are columns. A record without a key has a missing
    # value there.
    import polars as pl

    if isinstance(X, np.ndarray) and isinstance(X, np.ma.MaskedArray):
        return unmasked(X)
    if isinstance(X, np.ndarray) and X.dtype.names is not None and X.ndim == 1:
        return pl.DataFrame([_series(name, X[name]) for name in X.dtype.names])
    if not isinstance(X, list | tuple) or not X or not all(isinstance(row, Mapping) for row in X):
        return X
    keys = dict.fromkeys(key for row in X for key in row)
    names = keys if names is None else names
    for name in names:
        if name not in keys:
            raise InvalidDataError(f"no record has a value for {name!r}.", remedy="Add it, or drop the attribute.")
    return pl.DataFrame({name: pl.Series([row.get(name) for row in X], dtype=pl.Object) for name in names})


def unmasked(values: np.ma.MaskedArray[Any, Any]) -> npt.NDArray[np.object_]:
    """Return the values of a masked array as objects, None where they are masked."""
    out = np.asarray(np.ma.getdata(values)).astype(object)
    out[np.ma.getmaskarray(values)] = None
    return out


def _series(name: str, column: AnyArray) -> Any:
    import polars as pl

    if column.dtype.kind == "O":
        return pl.Series(name, column.tolist(), dtype=pl.Object)
    return pl.Series(name, column)


def _is_row(row: object) -> bool:
    return isinstance(row, Iterable) and not isinstance(row, str | bytes | Mapping)


def rows_as_objects(rows: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Return rows as an array of their own values: NumPy would seek a type that all of them have in common."""
    cells = [list(row) if _is_row(row) else [] for row in rows]
    width = len(cells[0])
    if any(len(row) != width for row in cells):
        raise InvalidDataError("the rows of X must have one length.", remedy="Fill in None where a value is missing.")
    out = np.empty((len(cells), width), dtype=object)
    for i, row in enumerate(cells):
        for j, value in enumerate(row):
            out[i, j] = value
    return out


def expressions(
    frame: Frame, attributes: Mapping[str, Attribute], *, outside: Outside = Outside.REFUSE
) -> list[nw.Expr]:
    """Return the conforming of each attribute as an expression, named ``k0``, ``k1`` and so on."""
    # Numbers are doubles, null where they are missing; categories are codes with GAP for a forbidden gap.
    schema = frame.collect_schema()
    streamed = isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars()
    out = []
    for i, (name, attribute) in enumerate(attributes.items()):
        if isinstance(attribute, Integer | Real):
            value = _clipped(name, attribute, schema[name], refuse=outside.refuses)
        else:
            unknown, gap = outside.codes(attribute)
            # The types of pandas' columns follow from the records: where no value is refused, no type is.
            public = outside.refuses or not frame.implementation.is_pandas_like()
            codes = _known_codes(name, attribute, schema[name], refuse=public)
            value = _coded(name, attribute, schema[name], codes, (unknown, gap), compared=streamed)
        out.append(value.alias(f"k{i}"))
    return out


def number(name: str, kind: nw.dtypes.DType) -> nw.Expr:
    """Return a column as double, or refuse it when its type does not hold numbers."""
    if not (kind.is_numeric() or kind == nw.Boolean):
        raise InvalidDataError(
            f"column {name!r} must hold numbers, got the type {kind}.", remedy="Convert it to a numeric type."
        )
    return nw.col(name).cast(nw.Float64)


def _clipped(name: str, attribute: Integer | Real, kind: nw.dtypes.DType, *, refuse: bool) -> nw.Expr:
    value = number(name, kind)
    # Some engines take NaN for the largest number: it must be set apart before anything is compared.
    usable = value.is_finite() if refuse and not attribute.missing else ~value.is_nan()
    clipped = nw.when(usable).then(value.clip(float(attribute.lo), float(attribute.hi)))
    # Without a value to compare, some engines find neither: a null is no NaN for them.
    return clipped if refuse or attribute.missing else clipped.otherwise(None).fill_null(float(attribute.lo))


def _is_wide(kind: nw.dtypes.DType) -> bool:
    """Return whether a column has whole numbers that may not fit into 64 bits with a sign."""
    return kind in (nw.UInt64, nw.Int128, nw.UInt128)


def _known_codes(name: str, attribute: Category | Binary, kind: nw.dtypes.DType, *, refuse: bool) -> dict[Any, int]:
    """Return the codes of the values that a column of a type can hold, by the values as it holds them."""
    values = values_of(attribute)
    codes: dict[Any, int] = {}
    if kind in (nw.String, nw.Categorical, nw.Enum):
        # A lazy frame's engine reads no numbers from texts: they would have to be among the declared values.
        texts = {value: code for code, value in enumerate(values) if isinstance(value, str)}
        matching = len(texts) == len(values)
        codes = {value: code for value, code in texts.items() if not isinstance(value, Prefix)}
        if attribute.missing:
            codes = dict.fromkeys(GAP_TEXTS, -1) | codes
    elif kind.is_integer() or kind == nw.Boolean:
        numbers = declared_numbers(values)
        matching = bool(numbers)
        for value, code in numbers.items():
            if value == int(value):
                whole = int(value)
                if _is_wide(kind):
                    codes[str(whole)] = code
                elif -(2**63) <= whole < 2**63:
                    codes[whole] = code
    elif kind.is_numeric():
        numbers = declared_numbers(values)
        matching = bool(numbers)
        codes = {float(value): code for value, code in numbers.items() if float(value) == value}
    else:
        matching = False
    if not matching and refuse:
        raise InvalidDataError(
            f"column {name!r} has the type {kind}, which cannot hold the values of its attribute: "
            f"{first_of([repr(str(value)) for value in values], 8)}.",
            remedy="Convert the column, or declare its values as they are.",
        )
    return codes


def _coded(
    name: str,
    attribute: Category | Binary,
    kind: nw.dtypes.DType,
    codes_of: Mapping[Any, int],
    absent: tuple[int, int],
    *,
    compared: bool,
) -> nw.Expr:
    unknown, gap = absent
    column = nw.col(name)
    usable = ~column.is_null()
    if kind in (nw.String, nw.Categorical, nw.Enum):
        column = column.cast(nw.String)
    elif kind.is_integer() or kind == nw.Boolean:
        # Dask turns no gap into a whole number; which values are gaps is known already.
        whole_or_false = column.fill_null(False) if kind == nw.Boolean else column.fill_null(0)
        column = whole_or_false.cast(nw.String if _is_wide(kind) else nw.Int64)
    else:
        column = column.cast(nw.Float64)
        # Infinity is undeclared, unless gaps are to be refused with it.
        usable = column.is_finite() if gap == GAP else ~column.is_nan()
        # Arrow looks values up by their bits, in which -0.0 differs from 0.0.
        column = nw.when(column == 0).then(nw.lit(0.0)).otherwise(column)
    size = {np.int8: nw.Int8, np.int16: nw.Int16, np.int32: nw.Int32}[code_type(attribute)]
    coded = _looked_up(column, codes_of, unknown, compared=compared)
    if isinstance(attribute, Category) and kind in (nw.String, nw.Categorical, nw.Enum):
        # From the shortest start to the longest, and last what is listed, so that each goes before those that it begins
        # with.
        asked: list[tuple[nw.Expr, Mapping[Any, int]]] = [
            (column.str.slice(0, length), starts) for length, starts in reversed(attribute.places)
        ]
        if asked:
            coded = nw.lit(unknown)
            asked.append((column, dict.fromkeys(GAP_TEXTS, unknown) | dict(codes_of)))
        for texts, codes in asked:
            begun = _looked_up(texts, codes, NO_PLACE, compared=compared)
            coded = nw.when(begun != NO_PLACE).then(begun).otherwise(coded)
    usual: nw.Expr = nw.when(usable).then(coded).otherwise(nw.lit(gap))
    return usual.cast(size)


NO_PLACE = -4
"""Stands for the code of a text that is not looked up; below every code."""


def _looked_up(column: nw.Expr, codes: Mapping[Any, int], absent: int, *, compared: bool) -> nw.Expr:
    """Return the codes of the values of a column, and one for all others."""
    if not codes:
        return nw.lit(absent)
    if not compared or len(codes) > MOST_COMPARED:
        return column.replace_strict(list(codes), list(codes.values()), default=nw.lit(absent), return_dtype=nw.Int64)
    coded: nw.Expr = nw.lit(absent)
    for value, code in codes.items():
        coded = coded + (column == nw.lit(value)).fill_null(False).cast(nw.Int64) * (code - absent)
    return coded
