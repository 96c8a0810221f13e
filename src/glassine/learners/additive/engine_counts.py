"""Records of an additive fit that an engine counts: exact counts, and distinct records in bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from glassine.domain import Integer, Real
from glassine.learners.training_data import EngineIntake, records_at
from glassine.records.arrays import AnyArray, Ints
from glassine.records.columns import ConformedColumns
from glassine.records.cuts import Cuts
from glassine.sealed.binned import Binned, Cells, Tables, parts_of, read_cells, tables_of
from glassine.sealed.ingest import scaled
from glassine.sealed.released_bins import Bins, Grid, Places
from glassine.sealed.sums import apply_bins

MOST_GROUPS = 2**20
"""Most groups of records, as far as the released bins allow, that are asked for at once where tables are enough."""

MOST_AT_ONCE = 2**24
"""Most distinct records that an engine is asked to group in one query."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CountedRecords:
    """Records and classes that an engine counts.

    Cells are counted attribute by attribute, and tables for a few attributes at a time. For passes over the records
    they are grouped by their released bins, and each group is then written out as often as it occurs: a byte or two for
    each term and record.

    Guarantee: none. All counts are exact and whole, and the passes do not distinguish records of one group and class.
    Therefore what is released has the law that it has for records in memory. See ``engine_counts.md``.
    """

    intake: EngineIntake  # The records, and the domain that distinguishes undeclared categories from missing ones

    @property
    def values(self) -> AnyArray:
        """The class of each record, shape (n,), class by class."""
        groups, labels = self.intake.grouped([], {})
        n_classes = len(self.intake.classes)
        small = np.arange(n_classes, dtype=np.min_scalar_type(n_classes))
        return np.repeat(small, records_at(labels, groups.counts, n_classes))

    def cell_counts(self, grids: Sequence[Grid]) -> list[Ints]:
        """Return the exact number of records in each public cell of each attribute."""
        counted: dict[str, Ints] = {}
        coded = [grid for grid in grids if grid.cuts is None]
        for block in blocks_of([grid.n_cells + 2 for grid in coded], [(k, k) for k in range(len(coded))], MOST_GROUPS):
            some = [coded[k] for k in block]
            groups, _ = self.intake.grouped([grid.attribute for grid in some], {})
            for grid, cells in zip(some, read_cells(groups.columns, some), strict=True):
                counted[grid.attribute] = records_at(cells, groups.counts, grid.n_cells + 1)
        for grid in grids:
            attribute = self.intake.domain[grid.attribute]
            if grid.cuts is not None and isinstance(attribute, Integer | Real):
                counts = self.intake.table.bins(grid.attribute, attribute, grid.cuts)
                self.intake.check_number(int(counts.sum()))
                counted[grid.attribute] = counts
        return [counted[grid.attribute] for grid in grids]

    def distinct(self, grids: Sequence[Grid], axes: Sequence[Bins]) -> tuple[Binned, Ints]:
        """Return the distinct records in bins, and how often each occurs."""
        codes, labels, counts = _in_bins(self.intake, axes)
        return Binned(codes=codes, values=labels), counts

    def tables(self, grids: Sequence[Grid], axes: Sequence[Bins], places: Sequence[Places], n_classes: int) -> Tables:
        """Return the exact number of records of each class in each cell of one or two terms each."""
        out: dict[Places, Ints] = {}
        ends = [(place[0], place[-1]) for place in places]
        for block in blocks_of([axis.n_bins for axis in axes], ends, MOST_GROUPS // n_classes):
            codes, labels, counts = _in_bins(self.intake, [axes[k] for k in block])
            for place in places:
                if place not in out and set(place) <= set(block):
                    out[place] = np.zeros((*(axes[k].n_bins for k in place), n_classes), dtype=np.int64)
                    np.add.at(out[place], (*(codes[block.index(k)] for k in place), labels), counts)
        return out

    def in_cells(self, cuts: Cuts) -> Cells:
        """Yield the distinct records of each class, as far as cuts distinguish them."""
        yield from _in_cells(self.intake, cuts)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CountedNumbers:
    """Records whose target is a number, that an engine counts.

    Cells are counted as in :class:`CountedRecords`. For all else records are grouped by their bins and their number,
    once as long as bins only merge: a byte or two for each term, and sixteen, for each distinct record.

    Guarantee: none, as of :class:`CountedRecords`.
    """

    intake: EngineIntake  # The records, without classes; its domain declares the target
    target: str  # The column of the number
    bounds: tuple[float, float]  # Its public range
    # The distinct records in bins and how often each occurs, once they were asked for.
    grouped: list[tuple[Sequence[Bins], Binned, Ints]] = field(default_factory=list)

    @property
    def values(self) -> AnyArray:
        """The number of each record, shape (n,), brought to [-1, 1]."""
        if not self.grouped:
            _, numbers, counts = _in_bins(self.intake, (), self.target)
            return np.repeat(scaled(numbers, self.bounds), counts)
        _, binned, counts = self.grouped[0]
        return np.repeat(binned.values, counts)

    def cell_counts(self, grids: Sequence[Grid]) -> list[Ints]:
        """Return the exact number of records in each public cell of each attribute."""
        return CountedRecords(intake=self.intake).cell_counts(grids)

    def distinct(self, grids: Sequence[Grid], axes: Sequence[Bins]) -> tuple[Binned, Ints]:
        """Return the distinct records in bins, some perhaps in several parts, and how often each occurs."""
        distinct = self._grouped(axes)
        self.grouped.clear()
        return distinct

    def tables(self, grids: Sequence[Grid], axes: Sequence[Bins], places: Sequence[Places], n_classes: int) -> Tables:
        """Return the exact parts of records at each level in each cell of one or two terms each."""
        binned, counts = self._grouped(axes)
        parts = [(level, part * counts) for level, part in parts_of(binned.values, n_classes) if part is not None]
        return tables_of(binned.codes, parts, axes, places, n_classes)

    def in_cells(self, cuts: Cuts) -> Cells:
        """Yield the distinct records with the same number, as far as cuts distinguish them."""
        for columns, _, counts in _in_cells(self.intake, cuts, (self.target,)):
            yield columns, scaled(columns.numbers[self.target], self.bounds), counts

    def _grouped(self, axes: Sequence[Bins]) -> tuple[Binned, Ints]:
        """Return the records in bins, from those in finer ones if there are any, and how often each occurs."""
        for finer, binned, counts in self.grouped:
            merged = _merged(binned.codes, finer, axes)
            if merged is not None:
                return Binned(codes=merged, values=binned.values), counts
        codes, numbers, counts = _in_bins(self.intake, axes, self.target)
        binned_and_counts = Binned(codes=codes, values=scaled(numbers, self.bounds)), counts
        self.grouped[:] = [(axes, *binned_and_counts)]
        return binned_and_counts


def _in_cells(
    intake: EngineIntake, cuts: Cuts, more: tuple[str, ...] = ()
) -> Iterator[tuple[ConformedColumns, Ints, Ints]]:
    """Yield the distinct records, class and number of each; as far as cuts distinguish them."""
    # Columns of more are distinguished exactly. There is always one attribute: records need a column.
    names = [name for name in intake.domain if name in cuts] or list(intake.domain)[:1]
    cells = {name: cuts.get(name, ()) for name in names}
    return intake.grouped_in_parts([*names, *more], cells, -(-max(intake.n_records, 1) // MOST_AT_ONCE))


def _in_bins(intake: EngineIntake, axes: Sequence[Bins], target: str | None = None) -> tuple[AnyArray, AnyArray, Ints]:
    """Return the bins of the distinct records, shape (terms, m), class or number of each, and how many there are."""
    cuts = {}
    for axis in axes:
        if axis.grid.cuts is not None:
            borders = np.flatnonzero(np.diff(axis.bin_of[:-1]))
            cuts[axis.grid.attribute] = tuple(float(cut) for cut in axis.grid.cuts[borders])
    cells = int(np.prod([axis.n_bins for axis in axes], dtype=object)) * len(intake.classes)
    # There may be as many numbers as records.
    most = min(cells, intake.n_records) if target is None else intake.n_records
    parts = []
    small = np.min_scalar_type(len(intake.classes))
    names = [*(axis.grid.attribute for axis in axes), *([] if target is None else [target])]
    for columns, labels, counts in intake.grouped_in_parts(names, cuts, -(-max(most, 1) // MOST_AT_ONCE)):
        # The number that stands for a bin is the largest of its cells, which is in that bin.
        places = read_cells(columns, [axis.grid for axis in axes])
        codes = apply_bins(places, range(len(axes)), [axis.bin_of for axis in axes])
        parts.append((codes, labels.astype(small) if target is None else columns.numbers[target], counts))
    every = list(zip(*parts, strict=True))
    return np.concatenate(every[0], axis=1), np.concatenate(every[1]), np.concatenate(every[2])


def _merged(codes: AnyArray, finer: Sequence[Bins], axes: Sequence[Bins]) -> AnyArray | None:
    """Return bins of records from finer ones, shape (terms, n); None where some are not finer, or are not there."""
    row_of = {axis.grid.attribute: k for k, axis in enumerate(finer)}
    widest = max((axis.n_bins for axis in axes), default=0)
    out = np.empty((len(axes), codes.shape[1]), dtype=np.uint8 if widest <= 256 else np.uint16)
    for row, axis in zip(out, axes, strict=True):
        k = row_of.get(axis.grid.attribute)
        lookup = None if k is None else _coarser(finer[k], axis)
        if k is None or lookup is None:
            return None
        row[:] = lookup[codes[k]]
    return out


def _coarser(finer: Bins, axis: Bins) -> Ints | None:
    """Return the bin of an axis that each finer bin is in, shape (bins,); None if some bin is in several."""
    out = np.zeros(finer.n_bins, dtype=np.int64)
    out[finer.bin_of] = axis.bin_of
    return out if np.array_equal(out[finer.bin_of], axis.bin_of) else None


def blocks_of(sizes: Sequence[int], pairs: Sequence[tuple[int, int]], most: int) -> list[list[int]]:
    """Return few blocks of places such that each pair is within one, and that a block has few cells.

    Examples
    --------
    >>> blocks_of([10, 10, 10, 10], [(0, 1), (0, 2), (1, 2), (2, 3)], 1000)
    [[0, 1, 2], [2, 3]]
    """
    left = dict.fromkeys(pairs)
    out = []
    while left:
        block = set(next(iter(left)))
        cells = int(np.prod([sizes[k] for k in block], dtype=object))
        while True:
            gains = {
                k: sum(1 for pair in left if k in pair and set(pair) <= block | {k})
                for k in range(len(sizes))
                if k not in block and cells * sizes[k] <= most
            }
            best = max(gains, key=lambda k: gains[k], default=None)
            if best is None or not gains[best]:
                break
            block.add(best)
            cells *= sizes[best]
        left = {pair: None for pair in left if not set(pair) <= block}
        out.append(sorted(block))
    return out
