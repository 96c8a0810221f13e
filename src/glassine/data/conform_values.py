"""Values of any Python type made to conform one by one: text, whole numbers of any size, gaps of any kind."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Flag, auto
from fractions import Fraction
from itertools import compress, repeat
from typing import Any

import narwhals as nw
import numpy as np

from glassine.domain.attributes import GAP_TEXTS, LARGEST, Attribute, Binary, Category, Integer, Real, prefixes
from glassine.errors import InvalidDataError, first_of
from glassine.records.arrays import AnyArray, Array
from glassine.records.columns import GAP, UNDECLARED, code_type, values_of

BLANKS = " \t\r\n"
"""What may stand around a number in a text."""

NUMERAL = r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))$"
WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
"""Python reads at most 4,300 digits as a whole number; a longer one is beyond every double."""

TRUTHS = {"true": 1, "false": 0}

NOT_EQUAL = -4
"""Stands for the code of a value that equals no declared one, until it is looked at; below every other code."""


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


def number_of(text: str) -> int | float | None:
    """Return the number that a text writes, None if it writes none.

    Examples
    --------
    >>> number_of("9007199254740993"), number_of(" 1e3 "), number_of("True"), number_of("12b")
    (9007199254740993, 1000.0, 1, None)
    """
    word = text.strip(BLANKS)
    if WHOLE.fullmatch(word):
        return int(word)
    return float(word) if re.match(NUMERAL, word) else TRUTHS.get(word.lower())


def numbers_of_texts(texts: Any) -> Array:
    """Return :func:`number_of` of each text as a double, NaN where it writes none."""
    # Shapes: texts (n,).
    import polars as pl

    try:
        words = pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        # Half a surrogate pair, which a broken export leaves, has no bytes in UTF-8, and is in no numeral.
        words = pl.Series([text.encode(errors="replace").decode() for text in texts], dtype=pl.String)
    words = words.str.strip_chars(BLANKS)
    numbers: Array = words.cast(pl.Float64, strict=False).to_numpy(writable=True)
    # The cast may read more than numerals, and leaves out the truth values.
    odd = (~words.str.contains(NUMERAL)).fill_null(True).to_numpy() | np.isnan(numbers)
    for i in np.flatnonzero(odd).tolist():
        number = None if words[i] is None else number_of(words[i])
        numbers[i] = math.nan if number is None else _double(number)
    return numbers


def declared_numbers(attribute: Category | Binary) -> dict[int | float, int]:
    """Return the codes of the numbers that an attribute declares, or writes in a text that it declares."""
    # A category with prefixes declares none: its texts are compared as written.
    values = values_of(attribute)
    if prefixes(values):
        return {}
    codes: dict[int | float, int] = {value: code for code, value in enumerate(values) if not isinstance(value, str)}
    for code, value in enumerate(values):
        number = number_of(value) if isinstance(value, str) else None
        if number is not None and abs(number) <= LARGEST:
            codes.setdefault(number, code)
    return codes


def from_objects(
    name: str, attribute: Attribute, values: Sequence[Any] | Array, index: AnyArray | None, *, outside: Outside
) -> AnyArray:
    """Return what :func:`expressions` would, of a column of Python objects."""
    array: AnyArray
    if isinstance(attribute, Integer | Real):
        array = values.copy() if isinstance(values, np.ndarray) else _floats(name, values, refuse=outside.refuses)
        array = clipped(array, attribute, refuse=outside.refuses)
    else:
        array = _codes(name, attribute, values, outside)
    return array if index is None else array[index]


def clipped(array: Array, attribute: Integer | Real, *, refuse: bool) -> Array:
    """Return numbers within the bounds of their attribute."""
    # NaN stays where the attribute may be missing. Elsewhere it becomes the lower bound, or stays, as infinite numbers
    # do, if that is to be refused.
    low, high = float(attribute.lo), float(attribute.hi)
    numbers = np.clip(array, low, high)
    if not attribute.missing:
        numbers[~np.isfinite(array) if refuse else np.isnan(array)] = math.nan if refuse else low
    return numbers


def _codes(name: str, attribute: Category | Binary, values: Sequence[Any] | AnyArray, outside: Outside) -> AnyArray:
    """Return the code of each value; look up each independently, by equality alone."""
    unknown, gap = outside.codes(attribute)
    codes: dict[Any, int] = {value: code for code, value in enumerate(values_of(attribute))}
    numbers: Mapping[Any, int] = declared_numbers(attribute)
    kind = code_type(attribute)
    grouped = attribute if isinstance(attribute, Category) and prefixes(attribute.values) else None
    try:
        out = np.fromiter(map(codes.get, values, repeat(NOT_EQUAL)), kind, len(values))
    except (TypeError, ValueError):
        if outside.refuses:
            raise InvalidDataError(
                f"column {name!r} must hold numbers, Booleans or strings, got nested values or durations.",
                remedy="Split it into columns.",
            ) from None
        out = np.fromiter((_looked_up(codes, value) for value in values), kind, len(values))
    for i in np.flatnonzero(out == NOT_EQUAL).tolist():
        value = real_number(values[i])
        if is_gap(value):
            out[i] = gap
        elif isinstance(value, str):
            if value not in codes:
                place = None if grouped is None else grouped.place(value)
                number = None if grouped is not None else number_of(value)
                absent = -1 if attribute.missing and value in GAP_TEXTS else unknown
                absent = absent if place is None else place
                codes[value] = absent if number is None else numbers.get(number, absent)
            out[i] = codes[value]
        elif _is_number_type(type(value)) or isinstance(value, Decimal | Fraction):
            # Infinity is no gap: as a text it is a value like any other that is not declared.
            infinite = GAP if outside.refuses and not attribute.missing and _is_infinite(value) else unknown
            out[i] = numbers.get(value, infinite)
        else:
            out[i] = unknown
    # Nothing but words where numbers are declared: the column is another one, or coded otherwise.
    texts = any(isinstance(value, str) for value in values_of(attribute))
    words = outside.refuses and len(values) > 0 and not texts and bool((out < 0).all())
    if words and all(isinstance(value, str) and value not in GAP_TEXTS for value in values):
        raise InvalidDataError(
            f"column {name!r} holds text alone, and its attribute declares numbers: "
            f"{first_of([repr(str(value)) for value in values_of(attribute)], 8)}.",
            remedy="Convert the column, or declare its values as they are.",
        )
    return out


def real_number(value: Any) -> Any:
    """Return a complex number without an imaginary part as a real one."""
    # One complex number makes complex ones of all numbers of a column of pandas.
    return value.real if isinstance(value, complex | np.complexfloating) and not value.imag else value


def is_gap(value: object) -> bool:
    """Return whether a value stands for a missing one: None, NaN, or pandas' NA and NaT."""
    # Those of pandas are recognised by name, so that pandas need not be there.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_infinite(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isinf(value))


def _looked_up(codes: Mapping[Any, int], value: object) -> int:
    """Return the code of a value; what cannot be hashed, such as a duration without a unit, equals no declared one."""
    try:
        return codes.get(value, NOT_EQUAL)
    except (TypeError, ValueError):
        return NOT_EQUAL


def _floats(name: str, values: Sequence[Any], *, refuse: bool) -> Array:
    """Return Python objects as doubles: NaN for a gap, and for what is no number unless that is refused."""
    kinds = {kind: _is_number_type(kind) for kind in set(map(type, values))}
    plain = np.fromiter((kinds[type(value)] for value in values), dtype=bool, count=len(values))
    numbers, others = list(compress(values, plain)), np.flatnonzero(~plain).tolist()
    out = np.full(len(values), math.nan)
    # What is beyond every double is infinite, and no warning says so.
    with np.errstate(all="ignore"):
        try:
            out[plain] = np.fromiter(numbers, dtype=np.float64, count=len(numbers))
        except OverflowError:
            out[plain] = list(map(_double, numbers))
        texts = [i for i in others if isinstance(values[i], str)]
        out[texts] = numbers_of_texts([str(values[i]) for i in texts])
        for i in others:
            value = real_number(values[i])
            if isinstance(value, str):
                odd = math.isnan(out[i]) and value.strip(BLANKS) not in GAP_TEXTS
            elif _is_number_type(type(value)) or isinstance(value, Decimal | Fraction):
                out[i], odd = _double(value), False
            else:
                odd = not is_gap(value)
            if odd and refuse:
                # The value must not be quoted: it is one record's.
                kind = "text" if isinstance(value, str) else type(value).__name__
                raise InvalidDataError(
                    f"column {name!r} must hold numbers, got {kind} among its values.",
                    remedy="Convert it to a numeric type.",
                )
    return out


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float(LARGEST if value > 0 else -LARGEST)
    except ValueError:  # a signaling NaN of decimals
        return math.nan


def _is_number_type(kind: type) -> bool:
    # NumPy's durations are whole numbers by type, and no complex number has an order.
    return issubclass(kind, int | float | np.integer | np.floating | np.bool_) and not issubclass(kind, np.timedelta64)


# Columns that are arrays of plain numbers already, made to conform without the expressions of a data frame.


MOST_COMPARED = 32
"""Most values with which a column is compared one by one; an expression looks more of them up at once."""


def plain_arrays(frame: nw.DataFrame[Any], attributes: Mapping[str, Attribute]) -> dict[str, AnyArray]:
    """Return the columns of a pandas or Polars frame that are whole numbers, doubles or Booleans, without gaps."""
    whole = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64)
    schema = frame.collect_schema()
    native = frame.to_native()
    arrays: dict[str, AnyArray] = {}
    for name in attributes:
        if schema[name] not in (*whole, nw.Float32, nw.Float64, nw.Boolean):
            continue
        if frame.implementation.is_pandas():
            column = native[name]
            if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
                arrays[name] = column.to_numpy()
        elif frame.implementation.is_polars():
            column = native.get_column(name)
            if not column.null_count():
                arrays[name] = column.to_numpy()
    return arrays


def conformed(array: AnyArray, attribute: Attribute, outside: Outside) -> AnyArray | None:
    """Return numbers clipped, or the codes of values; None where an expression has to do it."""
    # Shapes: array (n,).
    if isinstance(attribute, Integer | Real):
        return clipped(np.ascontiguousarray(array, dtype=np.float64), attribute, refuse=outside.refuses)
    unknown, gap = outside.codes(attribute)
    declared = declared_numbers(attribute)
    if not declared or len(declared) > MOST_COMPARED:
        return None
    # Booleans are compared as whole numbers, which alone are safe from numbers beyond 64 bits.
    # Fractions are compared as doubles: of two declared ones that are near, both equal one in single precision.
    compared: type[Any] = {"b": np.int8, "f": np.float64}.get(array.dtype.kind, array.dtype.type)
    array = np.ascontiguousarray(array.astype(compared, copy=False))
    codes = np.zeros(len(array), dtype=code_type(attribute))
    matched = np.zeros(len(array), dtype=bool)
    for value, code in declared.items():
        number = _as_held(value, array.dtype)
        if number is not None:
            here = array == number
            codes += here * codes.dtype.type(code)
            matched |= here
    if not matched.all():
        codes[~matched] = unknown
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
