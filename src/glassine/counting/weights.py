"""Weights of rows: how many records each row of a data set stands for."""

from __future__ import annotations

from typing import Any

from glassine.domain import Real
from glassine.errors import InvalidDataError

__all__ = ["MAX_WEIGHT", "WEIGHT", "check_weights", "valid"]

MAX_WEIGHT = 2**32
"""Largest multiplicity that one row may state, so that sums over two billion rows stay within 64 bits."""

WEIGHT = Real(-1.0, float(MAX_WEIGHT + 1), missing=True)
"""What a weight is read as: bounds that no valid weight reaches, so that the others can be told."""


def valid(weight: Any) -> Any:
    """Return where a weight, an array or an expression that is never NaN, is a whole number in the allowed range."""
    return (weight >= 0) & (weight <= MAX_WEIGHT) & (weight == weight // 1)


def check_weights(n_invalid: int, name: str) -> None:
    """Raise InvalidDataError if any weight of a column was not valid."""
    if n_invalid:
        raise InvalidDataError(
            f"weights must be whole numbers in [0, {MAX_WEIGHT}], but {name!r} holds others. "
            "Give the number of records that each row stands for."
        )
