"""A cell as a text or a number of Python, before an attribute makes a value of it.

Nothing here raises, looks at another cell or calls a method of a foreign type.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from glassine.domain.attributes import LARGEST
from glassine.domain.prefixes import Prefix, prefixes

BLANKS = " \t\r\n"
"""What may stand around a number in a text."""

NUMERAL = r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))$"
WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
"""Python reads at most 4,300 digits as a whole number; a longer one is beyond every double."""

TRUTHS = {"true": 1, "false": 0}

BEYOND = sys.float_info.max
"""Stands for every finite number beyond all doubles: it exceeds all bounds and equals no declared value."""

MOST_DIGITS = 400
"""A decimal number of a larger exponent is beyond all doubles, or smaller than all."""

FOREIGN: Final = object()
"""Stands for a cell that is no text, number or gap."""

_name_of_type = type.__dict__["__name__"].__get__


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
    if not re.match(NUMERAL, word):
        return TRUTHS.get(word.lower())
    number = float(word)
    # A numeral too large for a double is finite: infinity is written in letters.
    return math.copysign(BEYOND, number) if math.isinf(number) and word[-1].isdigit() else number


def value_of(cell: Any) -> object:
    """Return a cell as a text or a number of Python, None for a gap, or :data:`FOREIGN`; no foreign method is called.

    Examples
    --------
    >>> value_of(np.float32(0.5)), value_of(np.True_), value_of(Decimal("NaN")), value_of([1]) is FOREIGN
    (0.5, True, None, True)
    """
    kind = type(cell)
    if kind is str or kind is float or kind is int or kind is bool:
        return cell
    if is_gap_type(kind):
        return None
    if issubclass(kind, str):
        return str.__str__(cell)
    if issubclass(kind, np.generic):
        return _value_of_numpy(cell)
    if issubclass(kind, int):
        return int.__int__(cell)
    if issubclass(kind, float):
        return float.__float__(cell)
    if kind is complex:
        return cell.real if not cell.imag else FOREIGN
    if kind is Decimal:
        return _value_of_decimal(cell)
    return cell if kind is Fraction else FOREIGN


def is_gap_type(kind: type) -> bool:
    """Return whether objects of a type are missing values: None, those of pandas, or a masked cell of NumPy."""
    # Recognized by name, so that pandas need not be there.
    return kind is type(None) or _name_of_type(kind) in ("NAType", "NaTType", "MaskedConstant")


def is_gap(cell: object) -> bool:
    """Return whether a cell is missing: None, NaN, masked, or pandas' NA and NaT; texts are not looked at."""
    value = value_of(cell)
    return value is None or bool(value != value)


def _value_of_numpy(cell: Any) -> object:
    kind: Any = type(cell)
    if issubclass(kind, np.bool_):
        return bool(cell)
    # NumPy's durations are whole numbers by type.
    if issubclass(kind, np.integer):
        return FOREIGN if kind is np.timedelta64 else int(cell)
    if issubclass(kind, np.complexfloating):
        cell, kind = (cell.real, type(cell.real)) if not cell.imag else (cell, kind)
    if not issubclass(kind, np.floating):
        return FOREIGN
    with np.errstate(all="ignore"):
        number = float(cell)
    # Of more bits than a double, a number may be finite and beyond it.
    return math.copysign(BEYOND, number) if math.isinf(number) and np.isfinite(cell) else number


def _value_of_decimal(cell: Decimal) -> object:
    if cell.is_nan():
        return None
    sign = -1.0 if cell.is_signed() else 1.0
    if cell.is_infinite():
        return sign * math.inf
    if cell.is_zero():
        return 0
    if abs(cell.adjusted()) < MOST_DIGITS:
        return Fraction(cell)
    return sign * (BEYOND if cell.adjusted() > 0 else math.ulp(0.0))


def double(number: Any) -> float:
    """Return a number as a double; one beyond all doubles is the largest."""
    try:
        return float(number)
    except OverflowError:
        return BEYOND if number > 0 else -BEYOND


def written_twice(values: Sequence[Any]) -> list[tuple[str, ...]]:
    """Return the texts of each number that several declared texts write.

    Examples
    --------
    >>> written_twice(("01", "1", "1.0", "2", "a"))
    [('01', '1', '1.0')]
    """
    alike: dict[int | float, list[str]] = {}
    for value in values:
        number = number_of(value) if isinstance(value, str) and not isinstance(value, Prefix) else None
        if number is not None:
            alike.setdefault(number, []).append(value)
    return [tuple(texts) for texts in alike.values() if len(texts) > 1]


def declared_numbers(values: Sequence[Any]) -> dict[int | float, int]:
    """Return the codes of the numbers that are declared, or written in a text that is; its own spelling goes first.

    Examples
    --------
    >>> declared_numbers(("01", "1", 2.5, "a"))
    {2.5: 2, 1: 1}
    """
    # A category with prefixes declares none: its texts are compared as written.
    if prefixes(values):
        return {}
    codes: dict[int | float, int] = {value: code for code, value in enumerate(values) if not isinstance(value, str)}
    written = [
        (number, value, code)
        for code, value in enumerate(values)
        if isinstance(value, str) and (number := number_of(value)) is not None and abs(number) <= LARGEST
    ]
    for own in (True, False):
        for number, text, code in written:
            if (text == _spelling(number)) is own:
                codes.setdefault(number, code)
    return codes


def _spelling(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)
