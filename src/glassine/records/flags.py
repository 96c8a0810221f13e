"""What was odd about cells, and what a purpose makes of it: refuse, settle, count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import narwhals as nw
import numpy as np

from glassine.domain.attributes import Attribute, Integer, Real
from glassine.errors import InvalidDataError, first_of, parameter
from glassine.records.arrays import AnyArray, Bools, Ints
from glassine.records.cells import Flag, FlagArray, declared_numbers
from glassine.records.columns import UNDECLARED, Columns, columns_of, values_of
from glassine.records.containers import Schema


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


def n_outside(attribute: Attribute, counts: Ints) -> int:
    """Return how many cells hold a value outside their attribute, given how many have each flag, shape (5,)."""
    gaps = 0 if attribute.missing else int(counts[Flag.MISSING])
    return gaps + int(counts[[Flag.CLIPPED, Flag.UNDECLARED, Flag.INFINITE]].sum())


def settled(columns: Columns, flags: Flags, *, keep_undeclared: bool = False) -> Columns:
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
        if is_number(attribute):
            if not attribute.missing:
                arrays[name] = np.where(np.isnan(arrays[name]), float(attribute.lo), arrays[name])  # type: ignore[union-attr]
        elif keep_undeclared:
            undeclared = flags.where(name, Flag.UNDECLARED, Flag.INFINITE)
            if not attribute.missing:
                undeclared |= own == Flag.MISSING
            arrays[name] = np.where(undeclared, arrays[name].dtype.type(UNDECLARED), arrays[name])
    return columns_of(columns.attributes, arrays)


def refuse(columns: Columns, flags: Flags) -> None:
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
                f"column {name!r} must hold numbers, got something else among its values.",
                remedy="Convert it to a numeric type.",
            )
        if not attribute.missing and flags.where(name, Flag.MISSING, Flag.INFINITE).any():
            raise InvalidDataError(
                f"column {name!r} holds a missing value, NaN or infinity, which its attribute does not allow.",
                remedy=f"Declare the attribute with {parameter('missing', True)}, or replace these values.",
            )


def refuse_foreign(columns: Columns, flags: Flags) -> None:
    """Raise InvalidDataError if no record has a declared value of a category: the column is another one."""
    for name, attribute in columns.attributes.items():
        own = flags.arrays[name]
        if not is_number(attribute) and len(own) and (own == Flag.UNDECLARED).all():
            raise InvalidDataError(
                f"column {name!r} holds no value that its attribute declares: "
                f"{first_of([repr(str(value)) for value in values_of(attribute)], 8)}.",
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
            f"{first_of([repr(str(value)) for value in values_of(attribute)], 8)}.",
            remedy="Convert the column, or declare its values as they are.",
        )
