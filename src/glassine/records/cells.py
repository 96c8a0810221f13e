"""What an attribute makes of a cell: a number or a code, and a flag that says what was odd about the cell.

:meth:`Reader.cell` is the specification. It is total: it raises nothing, looks at no other cell and calls no method of
a foreign type. :meth:`Reader.column` gives the same answers faster. It goes by the type of each cell, never by what the
cells of a column have in common, so that no record changes how another is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain.attributes import LARGEST, Attribute, Category, Integer, Real
from glassine.domain.prefixes import GAP_TEXTS, Prefix, prefixes
from glassine.records.arrays import AnyArray, Array, Bools
from glassine.records.columns import code_type, values_of
from glassine.records.scalars import (
    BLANKS,
    FOREIGN,
    NUMERAL,
    declared_numbers,
    double,
    is_gap_type,
    number_of,
    value_of,
)

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl

FlagArray: TypeAlias = npt.NDArray[np.uint8]


class Flag(IntEnum):
    """What was odd about a cell, in one byte."""

    OK = 0  # Nothing
    CLIPPED = 1  # A number beyond the bounds of its attribute
    MISSING = 2  # A gap, or a text that stands for one
    UNDECLARED = 3  # No value of the attribute: a category that is not declared, or no number
    INFINITE = 4  # An infinite number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coded:
    """A column that stores each of its values once."""

    values: Sequence[Any]  # The values that occur, of any type; shape (v,)
    places: npt.NDArray[np.signedinteger[Any]]  # The place of each cell's value, negative for a gap; shape (n,)

    def __len__(self) -> int:
        return len(self.places)


Plain: TypeAlias = "AnyArray | pl.Series | Sequence[Any] | Coded"
"""A column in one of the forms that :meth:`Reader.column` reads; containers of every kind give these."""

PIECE = 2**16
"""Objects of a column that are read at once: what is made of them on the way takes as much memory as they do."""

SHORT = 16
"""Most cells of a column that are read one by one at once: the faster ways begin slowly."""

MOST_COMPARED = 32
"""Most declared numbers with which a column is compared one by one; more are looked up by bisection."""


class Reader:
    """What one attribute makes of cells; made once from the public domain, before records are opened.

    - A number that is no special code is clipped to the attribute's bounds. It is neither rounded to a whole number nor
      to the resolution: every literal is decided by the number itself, and rounding would let the choice of a direction
      decide instead. A text is the number that it writes.
    - A category is declared if Python finds it equal to a listed value: 1, 1.0 and True are one value. A text is looked
      up as written, and then as the number that it writes ("1", "1.0", "01", "true"). A number is looked up among
      the listed numbers, then by its own spelling among the listed texts, and then as the number that a listed text
      writes, the first of them.
    - In a category with prefixes, a text that is not listed is the longest prefix that it begins with. A number begins
      with none.
    - None, NaN, pandas' NA and NaT, NumPy's masked, and the texts of ``GAP_TEXTS`` that the attribute
      does not list are missing. What is no text, number or gap is undeclared.

    Guarantee
    ---------
    The answer for a cell follows from that cell and the attribute alone, in every container.

    Parameters
    ----------
    attribute : Attribute
        The public attribute.

    Examples
    --------
    >>> from glassine.domain import Category, Integer
    >>> age = Reader(Integer(18, 99))
    >>> age.cell("40"), age.cell(120.0), age.cell("?")
    ((40.0, <Flag.OK: 0>), (99.0, <Flag.CLIPPED: 1>), (nan, <Flag.MISSING: 2>))
    >>> Reader(Category(("01", "1"))).cell(1)
    (1, <Flag.OK: 0>)
    """

    __slots__ = ("_codes", "_gap", "_grouped", "_hi", "_lo", "_numbers", "_texts", "attribute", "dtype", "is_number")

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.is_number = isinstance(attribute, Integer | Real)
        self.dtype: type[Any] = np.float64
        self._gap: float | int = math.nan
        self._lo = self._hi = math.nan
        self._codes: tuple[float, ...] = ()
        self._texts: dict[str, int] = {}
        self._numbers: dict[Any, int] = {}
        self._grouped: Category | None = None
        if isinstance(attribute, Integer | Real):
            self._lo, self._hi = float(attribute.lo), float(attribute.hi)
            self._codes = tuple(map(float, attribute.codes))
            return
        self.dtype, self._gap = code_type(attribute), -1
        values = values_of(attribute)
        listed = {value: code for code, value in enumerate(values) if isinstance(value, str)}
        self._texts = {str(value): code for value, code in listed.items() if not isinstance(value, Prefix)}
        if isinstance(attribute, Category) and prefixes(values):
            self._grouped = attribute
        self._numbers = declared_numbers(values)

    def cell(self, cell: object) -> tuple[float | int, Flag]:
        """Return the number, NaN without one, or the code, -1 without one, of a cell; and what was odd about it."""
        value = value_of(cell)
        return self._number(value) if self.is_number else self._code(value)

    def _number(self, value: Any) -> tuple[float, Flag]:
        if isinstance(value, str):
            written = number_of(value)
            if written is None:
                return math.nan, Flag.MISSING if value.strip(BLANKS) in GAP_TEXTS else Flag.UNDECLARED
            value = written
        if value is None:
            return math.nan, Flag.MISSING
        if value is FOREIGN:
            return math.nan, Flag.UNDECLARED
        number = double(value)
        if number != number:
            return math.nan, Flag.MISSING
        # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bytes.
        inside = (number if number in self._codes else min(max(number, self._lo), self._hi)) + 0.0
        return inside, Flag.INFINITE if math.isinf(number) else Flag.OK if inside == number else Flag.CLIPPED

    def _code(self, value: Any) -> tuple[int, Flag]:
        if value is None or value != value:
            return -1, Flag.MISSING
        if value is FOREIGN:
            return -1, Flag.UNDECLARED
        if not isinstance(value, str):
            code = self._numbers.get(value)
            infinite = isinstance(value, float) and math.isinf(value)
            return (code, Flag.OK) if code is not None else (-1, Flag.INFINITE if infinite else Flag.UNDECLARED)
        code = self._texts.get(value)
        if code is None:
            if self._grouped is not None:
                code = self._grouped.place(value)
            else:
                number = number_of(value)
                code = None if number is None else self._numbers.get(number)
        if code is not None:
            return code, Flag.OK
        return -1, Flag.MISSING if value.strip(BLANKS) in GAP_TEXTS else Flag.UNDECLARED

    def column(self, values: Plain) -> tuple[AnyArray, FlagArray]:
        """Return what :meth:`cell` answers for each cell of a column, shape (n,) each.

        The array is of doubles, or of the smallest whole numbers that hold the codes. The flags may be a view of one
        zero, which nothing can be written to.
        """
        if isinstance(values, pl.Series):
            return self._of_series(values) if len(values) > SHORT else self._one_by_one(values.to_list())
        if isinstance(values, Coded):
            read, flags = self._of_objects([*values.values, None])
            places = np.where(values.places < 0, len(values.values), values.places)
            return read[places], flags[places]
        objects = not isinstance(values, np.ndarray) or values.dtype.kind == "O"
        if objects and len(values) > PIECE:
            return self._in_pieces(values)
        if isinstance(values, np.ndarray):
            return self._of_array(values)
        return self._of_objects(values if isinstance(values, list) else list(values))

    def _in_pieces(self, values: AnyArray | Sequence[Any]) -> tuple[AnyArray, FlagArray]:
        read, flags = np.empty(len(values), dtype=self.dtype), np.empty(len(values), dtype=np.uint8)
        for start in range(0, len(values), PIECE):
            piece = slice(start, start + PIECE)
            read[piece], flags[piece] = self.column(values[piece])
        return read, flags if flags.any() else _all_ok(len(values))

    def _of_array(self, values: AnyArray) -> tuple[AnyArray, FlagArray]:
        valid: Bools | None = None
        if isinstance(values, np.ma.MaskedArray):
            valid, values = ~np.ma.getmaskarray(values), np.asarray(np.ma.getdata(values))
        if values.dtype.kind in "biu" or (values.dtype.kind == "f" and values.dtype.itemsize <= 8):
            return self._of_numbers(values, valid)
        # Dates as NumPy holds them would be taken for whole numbers, their gaps for None.
        cells = list(values) if values.dtype.kind in "mMgGcV" else values.tolist()
        return self._of_objects(
            cells if valid is None else [c if v else None for c, v in zip(cells, valid, strict=True)]
        )

    def _of_numbers(self, values: AnyArray, valid: Bools | None) -> tuple[AnyArray, FlagArray]:
        """Read plain numbers, of which some may be gaps."""
        read, flags = self._clipped(values) if self.is_number else self._coded(values)
        if valid is not None and not valid.all():
            flags = np.where(valid, flags, np.uint8(Flag.MISSING))
            read[~valid] = self._gap
        return read, flags

    def _clipped(self, values: AnyArray) -> tuple[Array, FlagArray]:
        # A copy, of -0.0 as 0.0: a column of a table lies in steps, which each look at it would walk again.
        numbers = np.add(values, 0.0, dtype=np.float64)
        # NaN makes both comparisons fail.
        if not len(values) or (numbers.min() >= self._lo and numbers.max() <= self._hi):
            return numbers, _all_ok(len(values))
        inside = np.clip(numbers, self._lo, self._hi)
        if self._codes:
            inside = np.where(np.isin(numbers, self._codes), numbers, inside)
        inside += 0.0
        flags = (inside != numbers).view(np.uint8)  # Flag.CLIPPED is 1, as True is
        if values.dtype.kind == "f":
            flags[np.isinf(numbers)] = Flag.INFINITE
            flags[np.isnan(numbers)] = Flag.MISSING
        return inside, flags

    def _coded(self, values: AnyArray) -> tuple[AnyArray, FlagArray]:
        if values.dtype.kind == "f":
            # Of two declared fractions that are near, both would equal one in single precision.
            values = values.astype(np.float64, copy=False)
            keys = [(float(key), code) for key, code in self._numbers.items() if float(key) == key]
        else:
            # Booleans are compared as whole numbers, which alone are safe from numbers beyond 64 bits.
            values = values.view(np.int8) if values.dtype.kind == "b" else values
            bounds = np.iinfo(values.dtype)
            keys = [
                (int(key), code)
                for key, code in self._numbers.items()
                if key == int(key) and bounds.min <= key <= bounds.max
            ]
        if len(keys) <= MOST_COMPARED:
            ahead = np.zeros(len(values), dtype=self.dtype)
            for key, code in keys:
                ahead += (values == key) * self.dtype(code + 1)
            codes = ahead - self.dtype(1)
        else:
            keys.sort()
            keys_in_order = np.array([key for key, _ in keys], dtype=values.dtype.newbyteorder("="))
            places = np.minimum(np.searchsorted(keys_in_order, values), len(keys_in_order) - 1)
            codes = np.array([code for _, code in keys], dtype=self.dtype)[places]
            codes[keys_in_order[places] != values] = -1
        unknown = codes < 0
        if not unknown.any():
            return codes, _all_ok(len(codes))
        flags = unknown * np.uint8(Flag.UNDECLARED)
        if values.dtype.kind == "f":
            flags[np.isinf(values)] = Flag.INFINITE
            flags[np.isnan(values)] = Flag.MISSING
        return codes, flags

    def _of_series(self, series: pl.Series) -> tuple[AnyArray, FlagArray]:
        kind = series.dtype
        if kind == pl.String:
            return self._of_texts(series)
        if kind in (pl.Categorical, pl.Enum):
            return self._of_texts(series.cast(pl.String))
        if kind.is_numeric() and not kind.is_decimal() and kind not in (pl.Int128, pl.UInt128):
            gaps = series.null_count()
            return self._of_numbers((series.fill_null(0) if gaps else series).to_numpy(), _present(series, gaps))
        if kind == pl.Boolean:
            gaps = series.null_count()
            whole = (series.fill_null(False) if gaps else series).cast(pl.Int8)
            return self._of_numbers(whole.to_numpy(), _present(series, gaps))
        if kind.is_numeric() or kind in (pl.Object, pl.Null):
            return self._of_objects(series.to_list())
        flags = np.full(len(series), Flag.UNDECLARED, dtype=np.uint8)
        flags[series.is_null().to_numpy()] = Flag.MISSING
        return np.full(len(series), self._gap, dtype=self.dtype), flags

    def _of_texts(self, texts: pl.Series) -> tuple[AnyArray, FlagArray]:
        """Read texts and gaps: numerals all at once, other texts each once."""
        if not self.is_number:
            seen = texts.unique().drop_nulls()
            read, flags = self._one_by_one([*seen.to_list(), None])
            if not len(texts) or not len(seen):
                return np.repeat(read, len(texts)), np.repeat(flags, len(texts))
            places = texts.cast(pl.Enum(seen)).to_physical()
            codes = places.fill_null(len(seen)).to_numpy() if texts.null_count() else places.to_numpy()
            return read[codes], flags[codes] if flags[:-1].any() or texts.null_count() else _all_ok(len(texts))
        words = texts.str.strip_chars(BLANKS)
        numbers = words.cast(pl.Float64, strict=False)
        # The cast may read more than numerals. It leaves out truth values, and makes what is beyond it infinite.
        odd = ~(words.str.contains(NUMERAL) & numbers.is_finite()).fill_null(False)
        plain = numbers.fill_null(0.0) if numbers.null_count() else numbers
        read, flags = self._clipped(plain.to_numpy())
        if odd.any():
            rows = odd.arg_true()
            seen = texts.gather(rows)
            table = dict(zip(unique := seen.unique().to_list(), map(self.cell, unique), strict=True))
            answers = [table[text] for text in seen.to_list()]
            flags = flags.copy()
            read[rows.to_numpy()] = [number for number, _ in answers]
            flags[rows.to_numpy()] = [flag for _, flag in answers]
        return read, flags

    def _of_objects(self, cells: list[Any]) -> tuple[AnyArray, FlagArray]:
        """Read objects, each in the way of its type; the ways give the same answers."""
        if len(cells) <= SHORT:
            return self._one_by_one(cells)
        kinds = set(map(type, cells))
        gaps = set(filter(is_gap_type, kinds))
        if kinds - {type(None)} == {str}:
            return self._of_python_texts(cells)
        if kinds and kinds <= {int, float, bool}:
            return self._of_python_numbers(cells)
        read = np.full(len(cells), self._gap, dtype=self.dtype)
        flags = np.full(len(cells), Flag.MISSING, dtype=np.uint8)
        way = {
            kind: 0 if kind in gaps else 1 if kind is str else 2 if kind in (int, float, bool) else 3 for kind in kinds
        }
        ways = np.fromiter(map(way.__getitem__, map(type, cells)), np.int8, len(cells))
        for number, take in ((1, self._of_python_texts), (2, self._of_python_numbers), (3, self._one_by_one)):
            here = ways == number
            if here.any():
                read[here], flags[here] = take(list(compress(cells, here)))
        return read, flags

    def _of_python_texts(self, texts: list[Any]) -> tuple[AnyArray, FlagArray]:
        try:
            return self._of_texts(pl.Series(texts, dtype=pl.String))
        except UnicodeEncodeError:
            # Half a surrogate pair, which a broken export leaves, has no bytes in UTF-8.
            return self._each_once(texts)

    def _of_python_numbers(self, numbers: list[Any]) -> tuple[AnyArray, FlagArray]:
        if not self.is_number:
            return self._each_once(numbers)
        try:
            return self._clipped(np.fromiter(numbers, np.float64, len(numbers)))
        except OverflowError:
            return self._one_by_one(numbers)

    def _each_once(self, values: list[Any]) -> tuple[AnyArray, FlagArray]:
        """Read texts or numbers of Python's own types, equal ones once: 1, 1.0 and True are one value."""
        seen = list(dict.fromkeys(values))
        place = dict(zip(seen, range(len(seen)), strict=True))
        read, flags = self._one_by_one(seen)
        places = np.fromiter(map(place.__getitem__, values), np.intp, len(values))
        return read[places], flags[places]

    def _one_by_one(self, cells: list[Any]) -> tuple[AnyArray, FlagArray]:
        answers = list(map(self.cell, cells))
        return (
            np.array([value for value, _ in answers], dtype=self.dtype),
            np.array([flag for _, flag in answers], dtype=np.uint8),
        )


# An attribute that has every number, and gaps; and what reads it.
NUMBER = Real(-LARGEST, LARGEST, missing=True)
ANY_NUMBER = Reader(NUMBER)


def _all_ok(n: int) -> FlagArray:
    return np.broadcast_to(np.uint8(Flag.OK), n)


def _present(series: pl.Series, gaps: int) -> Bools | None:
    return series.is_not_null().to_numpy() if gaps else None


def numbers_of_texts(texts: pl.Series | Sequence[str]) -> Array:
    """Return :func:`number_of` of each text as a double, NaN where it writes none.

    Examples
    --------
    >>> numbers_of_texts(["1e3", "true", "x"]).tolist()
    [1000.0, 1.0, nan]
    """
    numbers, flags = ANY_NUMBER.column(texts)
    return np.where(flags == Flag.INFINITE, np.copysign(math.inf, numbers), numbers)
