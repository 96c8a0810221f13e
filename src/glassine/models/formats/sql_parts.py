"""Names, values and numbers as standard SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.formats.paths import readable

__all__ = ["ALIAS", "number", "one_type", "quoted", "scalar", "selected"]

ALIAS = "r"
EXACT_DIGITS = 15
"""Decimals of so many digits read as the same double in every engine; longer ones are written with an exponent."""
LONGEST_WHOLE = 10**15


def quoted(given: str) -> str:
    """Return a name in double quotes."""
    readable([given], "the name")
    if not given:
        raise InvalidModelError("a column or table needs a name of at least one character, got ''.")
    doubled = given.replace('"', '""')
    return f'"{doubled}"'


def scalar(value: Scalar | None) -> str:
    """Return a value as SQL, None as NULL."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        readable([value], "the value")
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return number(value)


def selected(value: Scalar | None) -> str:
    """Return a value to select: floats in a form that has the type of a double in every engine."""
    text = scalar(value)
    return f"{text}e0" if isinstance(value, float) and "e" not in text else text


def number(value: float) -> str:
    """Return a finite number such that every engine reads the same double."""
    if not math.isfinite(value):
        raise InvalidModelError(f"SQL has no literal for the number {value!r}. Use finite values.")
    if value == int(value) and abs(value) < LONGEST_WHOLE:
        return str(int(value))
    text = repr(float(value))
    digits = sum(char.isdigit() for char in text.lstrip("-0.").split("e")[0])
    return text if "e" in text or digits <= EXACT_DIGITS else f"{text}e0"


def one_type(values: Sequence[Scalar], what: str) -> None:
    """Raise UnsupportedModelError if values are not of one kind, as those of a column are."""
    kinds = {"text" if isinstance(v, str) else "Boolean" if isinstance(v, bool) else "number" for v in values}
    if len(kinds) > 1:
        raise UnsupportedModelError(
            f"{what} are of kinds {' and '.join(sorted(kinds))}; a column of SQL holds one. Recode them."
        )
