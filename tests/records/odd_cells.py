"""Odd cells, and attributes of every kind to read them by."""

from __future__ import annotations

import datetime
import enum
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from glassine.domain import Attribute, Binary, Category, Integer, Real
from glassine.domain.prefixes import Prefix


class Text(str):
    """A text of a foreign type."""

    __slots__ = ()


class Whole(int):
    """A whole number of a foreign type."""


class Fractional(float):
    """A fraction of a foreign type."""


class Colour(enum.IntEnum):
    """A named number."""

    RED = 1


class Hostile:
    """What fails wherever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    def __hash__(self) -> int:
        raise AssertionError("hashed")

    def __bool__(self) -> bool:
        raise AssertionError("asked")

    def __float__(self) -> float:
        raise AssertionError("converted")


NUMBERS: tuple[Any, ...] = (
    *(0, 1, 2, -1, 5, 100, 101, True, False, 1.0, 0.0, -0.0, 0.5, 1.5, 1e308, -1e308, math.inf, -math.inf, math.nan),
    *(10**400, -(10**400), 2**53 + 1, 2**63, 2**64, None),
)

TEXTS: tuple[str, ...] = (
    *("", "?", "NA", "NaN", "nan", " ", " 1", "1 ", "\t1\n", "1", "01", "1.0", "1.", ".5", "+1", "-1", "1e0", "1E2"),
    *(
        "1e400",
        "-1e400",
        "1e-400",
        "inf",
        "-Infinity",
        "true",
        "True",
        "TRUE",
        "false",
        "1,5",
        "1_000",
        "0x1",
        "\uff11",
    ),
    *(
        "\u0663",
        "1" * 400,
        "1" * 5000,
        "a",
        "A",
        "b",
        "a ",
        "n",
        "p",
        "E1",
        "E11",
        "E",
        "e1",
        "\x00",
        "a\x00",
        "\u00e9",
    ),
    *("e\u0301", "null", "None", "N/A", "-", "9007199254740993", "0.1", "2.50"),
)

BROKEN_TEXTS: tuple[str, ...] = ("\ud800", "\ud8001")
"""Halves of surrogate pairs, which have no bytes in UTF-8."""

OF_NUMPY: tuple[Any, ...] = (
    *(np.int8(1), np.int64(2), np.uint64(2**63), np.float32(0.5), np.float32(0.1), np.float64(1.0), np.float16(1)),
    *(np.longdouble(1), np.longdouble("1e400"), np.bool_(True), np.str_("a"), np.str_("1"), np.float64("nan")),
    *(np.float32("inf"), np.complex128(2), np.complex64(1j), np.datetime64("2020-01-01"), np.datetime64("NaT")),
    *(np.timedelta64(1, "s"), np.timedelta64(1), np.timedelta64("NaT"), np.array(1), np.array([1]), np.bytes_(b"1")),
)

OTHERS: tuple[Any, ...] = (
    *(pd.NA, pd.NaT, pd.Timestamp("2020-01-01"), pd.Timedelta(1), pd.Interval(0, 1), pd.Series([1])),
    *(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1), datetime.time(1)),
    *(Decimal("1"), Decimal("0.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("-Infinity")),
    *(Decimal("1e500"), Decimal("1e-500"), Decimal("1e99999999"), Decimal("1e-99999999"), Decimal("-0")),
    *(Fraction(1, 2), Fraction(1), Fraction(10**500), complex(1, 0), complex(1, 1), complex(math.nan, 0)),
    *(b"a", b"1", [1], (1,), {1}, {}, object(), Text("a"), Text("1"), Whole(1), Fractional(0.5), Colour.RED, range(1)),
    *(type, len, Ellipsis, NotImplemented, Hostile()),
)

ODD_CELLS: tuple[Any, ...] = (*NUMBERS, *TEXTS, *BROKEN_TEXTS, *OF_NUMPY, *OTHERS)

ATTRIBUTES: dict[str, Attribute] = {
    "whole": Integer(0, 100),
    "whole or missing": Integer(0, 100, missing=True),
    "real": Real(-1.5, 1.5),
    "real or missing": Real(0.25, 0.75, missing=True),
    "binary": Binary(),
    "binary or missing": Binary(missing=True),
    "words": Category(("a", "b")),
    "words or missing": Category(("a", "b"), missing=True),
    "numbers": Category((0, 1, 2.5)),
    "numbers or missing": Category((0.5, 1), missing=True),
    "many numbers": Category(tuple(range(-3, 60))),
    "codes as texts": Category(("01", "1", "a")),
    "words and numbers": Category((1, "a", "2"), missing=True),
    "texts of gaps": Category(("?", "a", "NA")),
    "prefixes": Category((Prefix("E"), Prefix("E1"), "a"), missing=True),
    "any text": Category((Prefix(""), "a")),
    "fractions": Category((0.1, 0.5)),
    "large numbers": Category((2**53, 2**53 + 1, 10**25)),
}
