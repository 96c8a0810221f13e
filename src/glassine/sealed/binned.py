"""The records of an additive fit as its sums ask for them: public cells, released bins, and the scores so far."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain import Binary
from glassine.domain.attributes import Scalar
from glassine.records.arrays import AnyArray, Array, Ints
from glassine.records.columns import ConformedColumns
from glassine.records.cuts import Cuts
from glassine.sealed.released_bins import PARTS, Bins, Crossed, Events, Grid, Places, Terms
from glassine.sealed.store import HeldIntake
from glassine.sealed.sums import Packed, apply_bins, count_cells, cross, grid_cells, pack, start_scores

Codes = npt.NDArray[np.uint16]
Tables: TypeAlias = Mapping[Places, Ints]
Cells: TypeAlias = Iterator[tuple[ConformedColumns, AnyArray, Ints | int]]
"""Records, their targets, and how many each stands for, a part at a time; shapes (m,), and (m,) or one for all."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Binned:
    """The records in released bins."""

    codes: AnyArray  # Bin of each record in each term; shape (terms, n)
    # The target of each record: index of the class, or the number clipped to its range and brought to [-1, 1]; shape
    # (n,).
    values: AnyArray


class AdditiveRecords(Protocol):
    """Records of an additive fit, in memory or left in an engine: each kind answers the same questions exactly."""

    @property
    def values(self) -> AnyArray:
        """The target of each record, as in :class:`Binned`; shape (n,)."""
        ...

    def cell_counts(self, grids: Sequence[Grid]) -> list[Ints]:
        """Return the number of records in each public cell of each attribute, the last cell included."""
        ...

    def distinct(self, grids: Sequence[Grid], axes: Sequence[Bins]) -> tuple[Binned, Ints | None]:
        """Return records in the released bins of some attributes, and how often each occurs, (n,); None for once."""
        ...

    def tables(self, grids: Sequence[Grid], axes: Sequence[Bins], places: Sequence[Places], n_classes: int) -> Tables:
        """Return the number of records of each class in each cell of one or two terms each.

        If the target is a number, its levels stand for classes, and parts of records are counted (:func:`parts_of`).
        """
        ...

    def in_cells(self, cuts: Cuts) -> Cells:
        """Yield the records, numbers perhaps by the cells that some cuts distinguish."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HeldRecords:
    """Records in memory."""

    columns: ConformedColumns  # The records
    values: AnyArray  # Their targets, as in :class:`Binned`; shape (n,)
    # Their public cells, between counting and binning.
    cells: list[Codes] = field(default_factory=list)

    @classmethod
    def of(cls, intake: HeldIntake) -> HeldRecords:
        """Return the records of an intake, each as often as it counts."""
        values = intake.labels if intake.values is None else intake.values
        if intake.multiplicities is None:
            return cls(columns=intake.columns, values=values)
        rows = np.repeat(np.arange(len(values)), intake.multiplicities)
        return cls(columns=intake.columns.take(rows), values=values[rows])

    def cell_counts(self, grids: Sequence[Grid]) -> list[Ints]:
        """Return the exact number of records in each public cell of each attribute, the last cell included."""
        self.cells[:] = [read_cells(self.columns, grids)]
        return count_cells(self.cells[0], [grid.n_cells + 1 for grid in grids])

    def distinct(self, grids: Sequence[Grid], axes: Sequence[Bins]) -> tuple[Binned, Ints | None]:
        """Return all records in the released bins of some attributes; the last time, so that cells may be dropped."""
        binned = self._binned(grids, axes)
        self.cells.clear()
        return binned, None

    def _binned(self, grids: Sequence[Grid], axes: Sequence[Bins]) -> Binned:
        if not self.cells:
            self.cells.append(read_cells(self.columns, grids))
        place = {grid.attribute: k for k, grid in enumerate(grids)}
        kept = [place[axis.grid.attribute] for axis in axes]
        return Binned(codes=apply_bins(self.cells[0], kept, [axis.bin_of for axis in axes]), values=self.values)

    def tables(self, grids: Sequence[Grid], axes: Sequence[Bins], places: Sequence[Places], n_classes: int) -> Tables:
        """Return the exact number of records of each class in each cell of one or two terms each."""
        return tables_of(self._binned(grids, axes).codes, parts_of(self.values, n_classes), axes, places, n_classes)

    def in_cells(self, cuts: Cuts) -> Cells:
        """Yield all records as they are."""
        yield self.columns, self.values, 1


def read_cells(columns: ConformedColumns, grids: Sequence[Grid]) -> Codes:
    """Return the cell of each record in each attribute, shape (attributes, n)."""
    # Records that do not distinguish undeclared categories from missing ones have all in the cell for missing values.
    out = np.empty((len(grids), columns.n_records), dtype=np.uint16)
    for row, grid in zip(out, grids, strict=True):
        if grid.cuts is not None:
            grid_cells(columns.numbers[grid.attribute], grid.cuts, row)
            continue
        attribute = columns.attributes[grid.attribute]
        values: tuple[Scalar, ...] = (0, 1) if isinstance(attribute, Binary) else getattr(attribute, "values", ())
        where = {value: i for i, group in enumerate(grid.groups or ()) for value in group}
        # Undeclared values have the code -2 and missing ones -1: the last two entries.
        last = grid.n_cells, where.get(None, grid.n_cells)
        lookup = np.array([*(where[value] for value in values), *last], dtype=np.uint16)
        row[:] = lookup[columns.codes[grid.attribute]]
    return out


def tables_of(
    codes: AnyArray,
    parts: Sequence[tuple[Ints, Ints | None]],
    axes: Sequence[Bins],
    places: Sequence[Places],
    n_classes: int,
) -> Tables:
    """Return the sums of parts of records, by class or level, in each cell of one or two terms each."""
    out = {}
    for place in places:
        shape = (*(axes[k].n_bins for k in place), n_classes)
        out[place] = np.zeros(shape, dtype=np.int64)
        for labels, times in parts:
            flat = np.ravel_multi_index((*(codes[k] for k in place), labels), shape)
            # Sums of whole numbers below 2^53 are exact as doubles.
            out[place] += np.bincount(flat, times, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)
    return out


def parts_of(values: AnyArray, n_levels: int) -> list[tuple[Ints, Ints | None]]:
    """Return the classes of records; or the two levels of numbers next to each, with the parts of it that go there.

    Levels are evenly spaced from -1 to 1. The parts of a record add up to :data:`PARTS`, and the mean of its levels,
    weighted by them, is its number but for rounding.

    Examples
    --------
    >>> parts_of(np.array([0.25]), 3)
    [(array([1]), array([768])), (array([2]), array([256]))]
    """
    if values.dtype.kind != "f":
        return [(values, None)]
    places = np.rint((values + 1) / 2 * (n_levels - 1) * PARTS).astype(np.int64)
    lower = np.minimum(places // PARTS, n_levels - 2)
    upper = places - lower * PARTS
    return [(lower, PARTS - upper), (lower + 1, upper)]


class AdditiveStore:
    """Records that are read, with their bins, and the scores that released steps have given them so far."""

    __slots__ = (
        *("_axes", "_binned", "_counts", "_grids", "_packed", "_scores", "_tabled", "_tables", "_terms", "_times"),
        "events",
        "exposures",
        "offset",
        "records",
    )

    def __init__(self, records: Any, events: Events | None = None) -> None:
        self.records: AdditiveRecords = HeldRecords.of(records) if isinstance(records, HeldIntake) else records
        self.events = events
        # Shares of the largest exposure, in (0, 1], shape (n,), or 1; and their logarithms, which scores start from.
        self.exposures: Any = 1.0
        self.offset: Any = 0.0
        if events is not None and events.exposure is not None:
            if not isinstance(self.records, HeldRecords):
                raise TypeError("exposures are of records in memory")
            numbers = self.records.columns.numbers[events.exposure]
            within = np.clip(np.nan_to_num(numbers, nan=events.low), events.low, events.high)
            self.exposures = within / events.high
            # One by one: what NumPy's loops give in the last bit depends on its build.
            self.offset = np.fromiter(map(math.log, self.exposures), np.float64, len(within))
        self._grids: Sequence[Grid] | None = None
        self._axes: Sequence[Bins] | None = None
        self._terms: Terms | None = None
        self._scores: Array | None = None
        # The tables of the terms that were asked for last: distances and some of the tables follow one another.
        self._tabled: Terms | None = None
        self._tables: dict[Places, Ints] = {}

    def __repr__(self) -> str:
        return "<AdditiveStore>"

    @property
    def values(self) -> AnyArray:
        """The target of each record, shape (n,): as in :class:`Binned`, but of events in [0, 1]."""
        return self._of_events(self.records.values)

    def _of_events(self, values: AnyArray) -> AnyArray:
        # Their range begins at 0, so that -1 stands for none.
        return values if self.events is None else (values + 1.0) / 2.0

    def below(self, grids: Sequence[Grid]) -> list[Ints]:
        """Return how many records are below each cell of each attribute, so that any span is one difference."""
        if self._grids is not grids:
            self._counts = [np.append(0, np.cumsum(row)) for row in self.records.cell_counts(grids)]
            self._grids = grids
        return self._counts

    def tables(self, terms: Terms, places: Sequence[Places], n_classes: int) -> Tables:
        """Return the number of records of each class, or their parts at each level, in the cells of terms."""
        if self._tabled is not terms:
            self._tabled, self._tables = terms, {}
        wanted = [place for place in places if place not in self._tables]
        if wanted:
            self._tables |= self.records.tables(terms.grids, terms.axes, wanted, n_classes)
        return self._tables

    def binned(self, terms: Terms, outputs: int) -> tuple[Binned, Ints | None]:
        """Return the records in the bins of all attributes that have a term, and how often each occurs."""
        if self._axes is not terms.axes:
            self._binned, self._times = self.records.distinct(terms.grids, terms.axes)
            # A residual of two classes is a difference of numbers; of more, an index says which class is meant.
            kind = np.int64 if outputs > 1 else np.float64
            values = np.asarray(self._of_events(self._binned.values), dtype=kind)
            self._binned = Binned(codes=self._binned.codes, values=values)
            self._axes, self._terms, self._scores = terms.axes, None, None
        return self._binned, self._times

    def repeated(self, terms: Terms, outputs: int) -> Binned:
        """Return the records in bins, each as often as it occurs; from then on they are kept so."""
        binned, times = self.binned(terms, outputs)
        if times is not None and not (times == 1).all():
            binned = Binned(codes=np.repeat(binned.codes, times, axis=1), values=np.repeat(binned.values, times))
        self._binned, self._times = binned, None
        return binned

    def packed(self, terms: Terms, outputs: int) -> Packed:
        """Return the bins of the records in each term, those with few bins packed together."""
        binned, _ = self.binned(terms, outputs)
        if self._terms is not terms:
            codes = binned.codes
            if terms.pairs:
                codes = np.concatenate([codes.astype(np.uint16), codes_of(terms.pairs, codes)])
            self._packed, self._terms = pack(codes, terms.sizes, outputs), terms
        return self._packed

    def scores(self, terms: Terms, start: Array) -> Array:
        """Return the scores of the records so far, shape (outputs, n), which who asks moves in place."""
        binned = self.repeated(terms, len(start))
        if self._scores is None:
            self._scores = start_scores(len(binned.values), start) + self.offset
        return self._scores


def codes_of(pairs: Sequence[Crossed], codes: AnyArray) -> Codes:
    """Return the cell of each record in each pair, shape (pairs, n), from its bins in each term."""
    out = np.empty((len(pairs), codes.shape[1]), dtype=np.uint16)
    for row, pair in zip(out, pairs, strict=True):
        cross(codes[pair.first], codes[pair.second], *pair.groups, pair.shape[1], row)
    return out
