"""What was odd about cells, and what a purpose makes of it: refuse, settle, count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from glassine.domain.attributes import Attribute, Integer, Real
from glassine.records.arrays import AnyArray, Bools, Ints
from glassine.records.cells import Flag, FlagArray
from glassine.records.columns import UNDECLARED, ConformedColumns, columns_of


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


# What lies outside an attribute: for audits, `domain check` and refusals, in one set of words.


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
