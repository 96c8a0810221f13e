"""Columns of Python objects, made to conform value by value: text, whole numbers of any size, gaps of any kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain.attributes import LARGEST, Attribute, Integer, Real
from glassine.domain.columns import GAP, UNDECLARED, code_type, values_of
from glassine.errors import InvalidDataError

__all__ = ["from_objects"]


def from_objects(
    name: str,
    attribute: Attribute,
    values: Sequence[Any] | npt.NDArray[np.float64],
    index: npt.NDArray[Any] | None,
    *,
    apart: bool,
) -> npt.NDArray[Any]:
    """Return what :func:`expressions` would, of a column of Python objects."""
    if isinstance(attribute, Integer | Real):
        array: npt.NDArray[Any] = values.copy() if isinstance(values, np.ndarray) else _floats(name, values)
        if not attribute.missing:
            array[np.isinf(array)] = np.nan
        array = np.clip(array, float(attribute.lo), float(attribute.hi))
    else:
        lookup = {value: code for code, value in enumerate(values_of(attribute))}
        unknown = UNDECLARED if apart else -1
        try:
            array = np.fromiter(map(lookup.get, values, repeat(unknown)), code_type(attribute), len(values))
        except TypeError:
            raise InvalidDataError(
                f"column {name!r} must hold numbers, Booleans or strings, got nested values. Split it into columns."
            ) from None
        if apart or not attribute.missing:
            gaps = [i for i in np.flatnonzero(array == unknown).tolist() if _is_gap(values[i])]
            array[gaps] = -1 if attribute.missing else GAP
    return array if index is None else array[index]


def _is_gap(value: object) -> bool:
    # pandas' NA and NaT are recognised by name, so that pandas need not be there.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and not math.isfinite(value)


def _floats(name: str, values: Sequence[Any]) -> npt.NDArray[np.float64]:
    """Return Python objects as doubles, NaN for a gap; text is not read as a number."""
    kinds = set(map(type, values))
    for kind in kinds:
        if not (issubclass(kind, int | float | np.number | np.bool_) or _is_gap_type(kind)):
            raise InvalidDataError(
                f"column {name!r} must hold numbers, got {kind.__name__} among its values. "
                "Convert it to a numeric type."
            )
    if any(map(_is_gap_type, kinds)):
        values = [math.nan if _is_gap_type(type(value)) else value for value in values]
    try:
        return np.fromiter(values, dtype=np.float64, count=len(values))
    except OverflowError:
        return np.array([float(min(max(v, -LARGEST), LARGEST)) if isinstance(v, int) else float(v) for v in values])


def _is_gap_type(kind: type) -> bool:
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")
