"""What was odd about cells, and what a purpose makes of it: refuse, settle, count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import narwhals as nw
import numpy as np

from glassine.domain.attributes import LARGEST, Attribute, Integer, Real
from glassine.errors import InvalidDataError, first_of, parameter
from glassine.records.arrays import AnyArray, Bools, Ints
from glassine.records.cells import NUMBER, Flag, FlagArray, Plain, kinds_of, texts_of
from glassine.records.columns import UNDECLARED, ConformedColumns, columns_of, values_of
from glassine.records.containers import Schema
from glassine.records.scalars import declared_numbers

MISSING = "missing"
"""The reason of a gap that an attribute does not allow."""

MOST_TOLD = 5
"""Declared values that a sentence names."""

MOST_LETTERS = 20
"""Letters of a text that a sentence names."""

NEAR = 1e-5
"""A number at most so far from a step of its grid, in steps, lies on it."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Flags:
    """What was odd about each cell of some columns.

    Attributes
    ----------
    attributes : mapping of str to Attribute
        The public attribute of each column, in order.
    arrays : mapping of str to ndarray of uint8, shape (n,)
        The :class:`~glassine.records.cells.Flag` of each cell.
    """

    attributes: Mapping[str, Attribute]
    arrays: Mapping[str, FlagArray]

    def __repr__(self) -> str:
        return f"<Flags of {len(self.arrays)} attributes>"

    def counts(self) -> dict[str, Ints]:
        """Return how many cells of each column have each flag, shape (5,)."""
        return {name: np.bincount(flags, minlength=len(Flag)) for name, flags in self.arrays.items()}

    def where(self, name: str, *flags: Flag) -> Bools:
        """Return where the cells of a column have one of some flags, shape (n,)."""
        array = self.arrays[name]
        out = np.zeros(len(array), dtype=bool)
        for flag in flags:
            out |= array == flag
        return out

    def restrict(self, names: Iterable[str]) -> Flags:
        """Return the flags of some columns, in the given order."""
        arrays = {name: self.arrays[name] for name in names}
        return Flags(attributes={name: self.attributes[name] for name in arrays}, arrays=arrays)

    def take(self, rows: AnyArray) -> Flags:
        """Return the flags of some records, by index or as a Boolean selection."""
        return Flags(attributes=self.attributes, arrays={name: array[rows] for name, array in self.arrays.items()})


def is_number(attribute: Attribute) -> bool:
    """Return whether an attribute is a number, and no category."""
    return isinstance(attribute, Integer | Real)


def wide(attribute: Attribute) -> Attribute:
    """Return what cells are read by where none is refused: beyond a bound, a number lies where a model sends it."""
    return NUMBER if is_number(attribute) else replace(attribute, missing=True)


# What lies outside an attribute: for audits, `domain check` and refusals, in one set of words.


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


def declared(attribute: Attribute) -> str:
    """Return up to five values of an attribute, or its bounds, as a sentence names them.

    Examples
    --------
    >>> from glassine.domain import Category
    >>> declared(Integer(18, 99)), declared(Category(("clerk", "baker", 3)))
    ('18 to 99', "'clerk', 'baker', 3")
    """
    if isinstance(attribute, Integer | Real):
        codes = "".join(f", {code} ({label})" for code, label in attribute.codes.items())
        return "numbers" if attribute.hi == LARGEST else f"{attribute.lo} to {attribute.hi}{codes}"
    values = [repr(str(value)) if isinstance(value, str) else str(value) for value in values_of(attribute)]
    return first_of(values, MOST_TOLD)


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


def settled(columns: ConformedColumns, flags: Flags, *, keep_undeclared: bool = False) -> ConformedColumns:
    """Return columns in which nothing is refused: what no attribute has is brought into it.

    A number that is missing or cannot be read is the lower bound where its attribute allows no gap, else missing. A
    category that is not declared, or missing where no gap is allowed, is missing, or has the code -2 if
    ``keep_undeclared``.

    Guarantee
    ---------
    What a record becomes follows from that record and the attributes alone.
    """
    arrays = {name: columns.array(name) for name in columns.attributes}
    for name, attribute in columns.attributes.items():
        own = flags.arrays[name]
        if not own.any():
            continue
        if isinstance(attribute, Integer | Real):
            if not attribute.missing:
                arrays[name] = np.where(np.isnan(arrays[name]), float(attribute.lo), arrays[name])
        elif keep_undeclared:
            undeclared = flags.where(name, Flag.UNDECLARED, Flag.INFINITE)
            if not attribute.missing:
                undeclared |= own == Flag.MISSING
            arrays[name] = np.where(undeclared, arrays[name].dtype.type(UNDECLARED), arrays[name])
    return columns_of(columns.attributes, arrays)


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


def check_types(schema: Schema, attributes: Mapping[str, Attribute]) -> None:
    """Raise InvalidDataError if the declared type of a column cannot hold values of its attribute.

    Nothing follows from records: a container whose types do has no declared ones.
    """
    kinds = schema.kinds or {}
    for name, attribute in attributes.items():
        kind = kinds.get(name)
        if kind is None or kind in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown):
            continue
        if kind.is_numeric() or kind == nw.Boolean:
            if is_number(attribute) or declared_numbers(values_of(attribute)):
                continue
        elif is_number(attribute):
            raise InvalidDataError(
                f"column {name!r} must hold numbers, got the type {kind}.", remedy="Convert it to a numeric type."
            )
        raise InvalidDataError(
            f"column {name!r} has the type {kind}, which cannot hold the values of its attribute: "
            f"{declared(attribute)}.",
            remedy="Convert the column, or declare its values as they are.",
        )
