"""Inference of a domain from data: every attribute follows from records, and is marked so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from glassine.data.record_table import columns
from glassine.domain.attributes import Attribute, Binary, Category, Integer, Real
from glassine.domain.domain import Domain
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError
from glassine.records.arrays import AnyArray, Array

__all__ = ["draft", "extremes", "infer_domain"]

MAX_DECIMALS = 9

CALENDARS = tuple(
    {name: place for place, name in enumerate(names.split())}
    for names in (
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "january february march april may june july august september october november december",
        "mon tue wed thu fri sat sun",
        "monday tuesday wednesday thursday friday saturday sunday",
    )
)
"""Names whose order everyone knows, by their places."""

SHORT = 64
"""Values up to which Python finds the ends of a column faster than NumPy starts to look."""


def extremes(values: AnyArray) -> tuple[Any, Any]:
    """Return the least and the largest of numbers, shape (n,), n at least 1, as Python's."""
    if len(values) > SHORT and values.dtype.kind != "O":
        return values.min().item(), values.max().item()
    listed = values.tolist()
    return min(listed), max(listed)


def _in_order(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return categories in order: months and days as the calendar has them, others by their letters.

    Examples
    --------
    >>> _in_order({"mar", "jan", "feb"}), _in_order({"may", "joan"})
    (('jan', 'feb', 'mar'), ('joan', 'may'))
    """
    texts = sorted(values)
    names = [str(text).strip().lower() for text in texts]
    calendar = next((one for one in CALENDARS if one.keys() >= set(names)), None)
    if calendar is None or len(set(names)) < len(names):
        return tuple(texts)
    return tuple(text for _, text in sorted(zip(map(calendar.__getitem__, names), texts, strict=True)))


def _decimals(values: Array) -> int | None:
    """Return the smallest number of decimals in which all values are written, or None beyond nine."""
    for decimals in range(MAX_DECIMALS + 1):
        if np.array_equal(np.round(values, decimals), values):
            return decimals
    return None


def _infer_column(name: str, column: AnyArray) -> Attribute:
    present, missing = column, False
    if column.dtype.kind not in "iub":
        gaps = is_missing(column)
        present, missing = column[~gaps], bool(gaps.any())
    if len(present) == 0:
        raise InvalidDataError(
            f"column {name!r} has no value at all.", remedy="Drop it, or declare its attribute by hand."
        )
    # Types are few, and asked for once: most of the time of a long column would go into asking each value.
    kinds = set(map(type, present.tolist())) if column.dtype.kind == "O" else set()
    whole = column.dtype.kind == "i" or (bool(kinds) and all(issubclass(k, int) and k is not bool for k in kinds))
    if whole:
        least, most = map(int, extremes(present))
        if least >= 0 and most <= 1:
            return Binary(missing=missing, inferred=True)
        return Integer(least, most, missing=missing, inferred=True)
    if column.dtype.kind == "f":
        numbers = present
        if not np.isfinite(numbers).all():
            raise InvalidDataError(f"column {name!r} holds an infinite value.", remedy="Clip it to its public bounds.")
        if ((numbers == 0) | (numbers == 1)).all():
            return Binary(missing=missing, inferred=True)
        decimals = _decimals(numbers)
        lo, hi = map(float, extremes(numbers))
        if decimals == 0:
            return Integer(int(lo), int(hi), missing=missing, inferred=True)
        if lo == hi:
            return Category((lo,), missing=missing, inferred=True)
        resolution = None if decimals is None else 10.0**-decimals
        return Real(lo, hi, resolution, missing=missing, inferred=True)
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return Binary(missing=missing, inferred=True)
    if all(issubclass(kind, str) for kind in kinds):
        return Category(_in_order(set(present.tolist())), missing=missing, inferred=True)
    odd = next(v for v in present if not isinstance(v, str))
    raise InvalidDataError(
        f"column {name!r} holds values of type {type(odd).__name__}, which are neither numbers, Booleans nor texts.",
        remedy="Convert or drop it.",
    )


def infer_domain(data: object) -> Domain:
    """Return a domain read off a data frame, every attribute marked ``inferred``.

    Numbers become ``Binary`` (only 0 and 1), ``Integer`` (whole) or ``Real`` with the decimal step in which the data
    are written, if nine decimals are enough. Strings become ``Category``. Columns with gaps allow missing values.
    Bounds, categories and resolutions are those of the data: they are not public knowledge, and a measure taken in
    an inferred domain understates what an attacker learns.

    Parameters
    ----------
    data : data frame
        Any eager frame that narwhals reads, shape (n, d), n at least 1.
    """
    return Domain({name: _infer_column(name, column) for name, column in columns(data).items()})


def draft(data: object, codes: Mapping[str, Mapping[float, str]] | None = None) -> tuple[Domain, dict[str, str]]:
    """Return the inferred domain of the columns that can be declared, and why the others cannot.

    ``codes`` are special codes of some columns, with labels: bounds are those of the other numbers.
    """
    attributes: dict[str, Attribute] = {}
    undeclared: dict[str, str] = {}
    for name, column in columns(data).items():
        try:
            attributes[name] = _infer_column(name, column) if name not in (codes or {}) else _coded(name, column, codes)
        except InvalidDataError as error:
            undeclared[name] = str(error)
    if not attributes:
        raise InvalidDataError("no column can be declared.", remedy="Convert one to numbers, Booleans or texts.")
    return Domain(attributes), undeclared


def _coded(name: str, column: AnyArray, codes: Mapping[str, Mapping[float, str]] | None) -> Attribute:
    """Return the attribute of a column with special codes; what is missing keeps its place."""
    own = (codes or {})[name]
    attribute = _infer_column(name, column[~np.isin(column, [*own])])
    if isinstance(attribute, Binary):
        attribute = Integer(0, 1, missing=attribute.missing, inferred=True)
    if isinstance(attribute, Category):
        raise InvalidDataError(f"column {name!r} has special codes, but is no number.", remedy="Leave them out.")
    return replace(attribute, codes=own)
