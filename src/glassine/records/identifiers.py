"""Identifiers of persons: what stands for one, in any column."""

from __future__ import annotations

import numbers
import re
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from glassine.records.scalars import value_of

WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,999})(?:\.0{1,20})?")
"""A whole number as Python writes it, as one of any type and of as many digits as it surely reads."""


def identifier(value: object) -> bytes | None:
    """Return what stands for an identifier: equal bytes for one person, None where it is none.

    Numbers are equal if their values are, for any types; texts if every character is. A text that is a whole
    number as usually written, "1" or "1.0" but not "01", is that number: of one column, libraries may read or write
    either. Truth values, dates and everything else identify no one.

    Examples
    --------
    >>> identifier(1) == identifier(1.0), identifier("1.0") == identifier("1"), identifier("01") == identifier("1")
    (True, True, False)
    >>> [identifier(value) for value in (None, float("nan"), "", " ", True, [1])]
    [None, None, None, None, None, None]
    """
    if isinstance(value, str):
        if whole := WHOLE.fullmatch(value):
            return f"n{int(whole[1]):x}/1".encode()
        return b"t" + value.encode("utf-8", "surrogatepass") if value.strip() else None
    if isinstance(value, bytes):
        return b"b" + value if value else None
    if isinstance(value, UUID):
        return b"u" + value.bytes
    value = value_of(value) if isinstance(value, complex | np.complexfloating) else value
    # NumPy's durations are whole numbers by type.
    if isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(value, numbers.Real | Decimal):
        return None
    try:
        top, bottom = (int(value), 1) if isinstance(value, numbers.Integral) else _ratio(value)
    except (ValueError, OverflowError, AttributeError):
        return None  # not a number, or infinite
    return f"n{top:x}/{bottom:x}".encode()


def _ratio(value: Any) -> tuple[int, int]:
    top, bottom = value.as_integer_ratio()
    return int(top), int(bottom)
