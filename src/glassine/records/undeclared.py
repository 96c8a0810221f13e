"""Cells that hold no value of their attribute: for audits, `domain check`, and what ordinary fits refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import IntEnum
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.domain.attributes import Attribute, Integer, Real
from glassine.errors import InvalidDataError, parameter
from glassine.records.arrays import AnyArray, Bools
from glassine.records.cells import NUMBER, Coded, Flag, FlagArray, Plain
from glassine.records.columns import ConformedColumns
from glassine.records.containers import batches, schema
from glassine.records.flags import Flags, settled
from glassine.records.reading import Recipe, read
from glassine.records.scalars import FOREIGN, number_of, value_of
from glassine.records.schemas import check_types, declared, is_number

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl


class Kind(IntEnum):
    """What a cell holds that is no value of its attribute; a text that writes a number is one, as in a file."""

    TEXT = 0
    NUMBER = 1
    OTHER = 2  # Neither, such as a date or a list


def kinds_of(column: Plain, rows: Bools) -> FlagArray:
    """Return the :class:`Kind` of each cell of some rows of a column, shape (rows.sum(),).

    Examples
    --------
    >>> kinds_of(["Yes", "7", 7, [7], None], np.array([True, True, True, True, False])).tolist()
    [0, 1, 1, 2]
    """
    values = _values_at(column, rows)
    texts: dict[object, Kind] = {
        text: Kind.TEXT if number_of(text) is None else Kind.NUMBER
        for text in {v for v in values if isinstance(v, str)}
    }
    kinds = (texts[v] if isinstance(v, str) else Kind.OTHER if v is FOREIGN else Kind.NUMBER for v in values)
    return np.fromiter(kinds, np.uint8, len(values))


def texts_of(column: Plain, rows: Bools) -> list[str]:
    """Return the texts of some rows of a column that write no number."""
    texts = [value for value in _values_at(column, rows) if isinstance(value, str)]
    words = {text for text in set(texts) if number_of(text) is None}
    return [text for text in texts if text in words]


def _values_at(column: Plain, rows: Bools) -> list[object]:
    if isinstance(column, pl.Series):
        cells = column.filter(pl.Series(rows)).to_list()
    elif isinstance(column, Coded):
        cells = [column.values[place] for place in column.places[rows].tolist()]
    elif isinstance(column, np.ndarray):
        cells = list(np.ma.getdata(column)[rows])
    else:
        cells = list(compress(column, rows.tolist()))
    return list(map(value_of, cells))


MISSING = "missing"
"""The reason of a gap that an attribute does not allow."""


MOST_LETTERS = 20
"""Letters of a text that a sentence names."""


NEAR = 1e-5
"""A number at most so far from a step of its grid, in steps, lies on it."""


def wide(attribute: Attribute) -> Attribute:
    """Return what cells are read by where none is refused: beyond a bound, a number lies where a model sends it."""
    return NUMBER if is_number(attribute) else replace(attribute, missing=True)


def reasons(attribute: Attribute) -> tuple[str, ...]:
    """Return why a cell can lie outside an attribute, in words, in the order of what :func:`outside` returns.

    Examples
    --------
    >>> reasons(Integer(18, 99))[3:]
    ('below 18', 'above 99', 'no whole number')
    """
    if not isinstance(attribute, Integer | Real):
        return (MISSING, *(f"{kind} that are not declared" for kind in ("texts", "numbers", "other values")))
    step = "no whole number"
    if isinstance(attribute, Real):
        step = f"no multiple of {attribute.resolution} above {attribute.lo}"
    return (MISSING, "texts that are no number", "values that are no number", *_beyond(attribute), step)


def _beyond(attribute: Integer | Real) -> tuple[str, str]:
    return f"below {attribute.lo}", f"above {attribute.hi}"


def outside(attribute: Attribute, values: AnyArray, flags: FlagArray, column: Callable[[], Plain]) -> FlagArray:
    """Return why each cell of a column lies outside its attribute, shape (n,): the place of its reason from 1, or 0.

    Parameters
    ----------
    attribute : Attribute
        The public attribute.
    values, flags : ndarray, shape (n,)
        What :func:`wide` of the attribute makes of the cells.
    column : callable
        Returns the cells; they are looked at only if some are not declared, for what kind of value they hold.
    """
    out = np.zeros(len(values), dtype=np.uint8)
    if flags.any():
        if not attribute.missing:
            out[flags == Flag.MISSING] = 1
        unknown = flags == Flag.UNDECLARED
        if not is_number(attribute):
            unknown |= flags == Flag.INFINITE
        if unknown.any():
            kinds = kinds_of(column(), unknown)
            out[unknown] = np.minimum(kinds, 1) + 2 if is_number(attribute) else kinds + 2
    if isinstance(attribute, Integer | Real):
        lo, hi = float(attribute.lo), float(attribute.hi)
        with np.errstate(invalid="ignore"):
            out[values < lo], out[values > hi] = 4, 5
        if attribute.codes:
            out[np.isin(values, tuple(attribute.codes))] = 0
        step = 1.0 if isinstance(attribute, Integer) else attribute.resolution
        if step is not None:
            inside = np.flatnonzero((out == 0) & (values == values))
            steps = (values[inside] - lo) / step
            out[inside[np.abs(steps - np.round(steps)) > NEAR]] = 6
    return out


def frequent(column: Plain, rows: Bools, least: int) -> tuple[str, ...]:
    """Return up to two texts that are no numbers, which at least so many of some rows of a column hold.

    Examples
    --------
    >>> frequent(["Yes", "Yes", "No", 7, "No", "my name"], np.ones(6, dtype=bool), 2)
    ('No', 'Yes')
    """
    counts = Counter(texts_of(column, rows))
    often = sorted((-n, text) for text, n in counts.items() if n >= least and len(text) <= MOST_LETTERS)
    return tuple(text for _, text in often[:2])


def refuse(columns: ConformedColumns, flags: Flags) -> None:
    """Raise InvalidDataError if a value is none of its attribute: an ordinary fit must not guess what was meant.

    A number refuses what cannot be read as one. Every attribute refuses gaps and infinite numbers, unless it allows
    missing values. A category that is not declared is no error. The message names a column, and no record or value.
    """
    for name, attribute in columns.attributes.items():
        own = flags.arrays[name]
        if not own.any():
            continue
        if is_number(attribute) and (own == Flag.UNDECLARED).any():
            raise InvalidDataError(
                f"column {name!r} must hold numbers, got something else among its values; its attribute declares "
                f"{declared(attribute)}.",
                remedy="Convert it to a numeric type.",
            )
        if not attribute.missing and flags.where(name, Flag.MISSING, Flag.INFINITE).any():
            raise InvalidDataError(
                f"column {name!r} holds a missing value, NaN or infinity, which its attribute does not allow.",
                remedy=f"Declare the attribute with {parameter('missing', True)}, or replace these values.",
            )


def refuse_foreign(columns: ConformedColumns, flags: Flags) -> None:
    """Raise InvalidDataError if no record has a declared value of a category: the column is another one."""
    for name, attribute in columns.attributes.items():
        own = flags.arrays[name]
        if not is_number(attribute) and len(own) and (own == Flag.UNDECLARED).all():
            raise InvalidDataError(
                f"column {name!r} holds no value that its attribute declares: {declared(attribute)}.",
                remedy="Convert the column, or declare its values as they are.",
            )


def rows_outside(container: object, recipe: Recipe, names: Iterable[str] | None = None) -> dict[str, FlagArray]:
    """Return why cells lie outside their attributes, as :func:`~glassine.records.undeclared.outside`, by name.

    Raises
    ------
    InvalidDataError
        As for :func:`read`.
    """
    attributes = {name: recipe[name] for name in (recipe if names is None else names)}
    columns, flags = read(container, {name: wide(attribute) for name, attribute in attributes.items()})
    return {
        name: outside(attribute, columns.array(name), flags.arrays[name], partial(_cells, container, name))
        for name, attribute in attributes.items()
    }


def frequent_texts(container: object, recipe: Recipe, names: Iterable[str], least: int) -> dict[str, tuple[str, ...]]:
    """Return up to two texts that at least so many records hold where nothing declares them, by name, at least one."""
    attributes = {name: wide(recipe[name]) for name in names}
    _, flags = read(container, attributes)
    return {name: frequent(_cells(container, name), flags.where(name, Flag.UNDECLARED), least) for name in attributes}


def _cells(container: object, name: str) -> Plain:
    parts: list[Any] = [batch[name] for batch in batches(container, (name,))]
    return parts[0] if len(parts) == 1 else [cell for part in parts for cell in part]


def read_checked(
    container: object,
    recipe: Recipe,
    names: Iterable[str] | None = None,
    *,
    keep_undeclared: bool = False,
    training: bool = False,
) -> ConformedColumns:
    """Return columns of which every value is one of its attribute, as ordinary fits and predictions take them.

    Parameters
    ----------
    container, recipe, names
        As for :func:`read`.
    keep_undeclared : bool, default=False
        Whether a category that is not declared has the code -2, and is no missing value.
    training : bool, default=False
        Whether a category is refused of which no record has a declared value.

    Raises
    ------
    InvalidDataError
        As for :func:`read`; if the declared type of a column cannot hold values of its attribute; if a value is
        refused (``refuse``).
    """
    attributes = {name: recipe[name] for name in (recipe if names is None else names)}
    columns, flags = read(container, attributes)
    check_types(schema(container), attributes)
    refuse(columns, flags)
    if training:
        refuse_foreign(columns, flags)
    return settled(columns, flags, keep_undeclared=keep_undeclared)
