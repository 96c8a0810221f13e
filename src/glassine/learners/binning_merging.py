"""Noisy counts of cells, merged into the released bins of one attribute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.learners.binning_cells import Grid
from glassine.models import CategoryBins, NumericBins

__all__ = ["MERGE", "Axis", "CountTree", "counted_once"]

MERGE = 2.0
"""Neighbouring cells are merged until their noisy count exceeds so many standard deviations; twice that splits one."""

MOST_BINS = 128
"""Most bins of one number."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The released bins of one attribute.

    Attributes
    ----------
    grid : Grid
        The public cells.
    bin_of : ndarray of int, shape (cells + 1,)
        Bin of each cell, the last one behind the others.
    counts : ndarray, shape (bins,)
        Noisy number of records in each bin.
    variances : ndarray, shape (bins,)
        Variance of that noise.
    """

    grid: Grid
    bin_of: npt.NDArray[np.int64]
    counts: Array
    variances: Array

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.counts)

    @property
    def useful(self) -> bool:
        """Whether at least two bins seem to hold records."""
        return int((self.counts > MERGE * np.sqrt(self.variances)).sum()) > 1

    @property
    def ordered(self) -> bool:
        """Whether the bins are intervals of a number."""
        return self.grid.cuts is not None

    @property
    def n_ordered(self) -> int:
        """Number of bins in order; behind them may come that of the last cell."""
        return int(self.bin_of[:-1].max()) + 1

    def published(self) -> tuple[NumericBins | CategoryBins, npt.NDArray[np.int64]]:
        """Return the bins of a model, and for each the index of the bin here, or -1 where no record can be."""
        last = int(self.bin_of[-1]) if self.grid.missing else -1
        if self.grid.cuts is not None:
            borders = np.flatnonzero(np.diff(self.bin_of[:-1]))
            bins = NumericBins(
                self.grid.attribute, tuple(float(cut) for cut in self.grid.cuts[borders]), bounds=self.grid.bounds
            )
            return bins, np.append(np.arange(self.n_ordered), last)
        groups = self.grid.groups or ()
        listed = sorted(set(self.bin_of[:-1].tolist()))
        merged = tuple(
            tuple(value for group, to in zip(groups, self.bin_of, strict=False) if to == found for value in group)
            for found in listed
        )
        return CategoryBins(self.grid.attribute, merged), np.array([*listed, last])


def counted_once(index: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which published bins have a count of their own: the last may share that of another, or have none.

    ``index`` is the second of what :meth:`Axis.published` returns.
    """
    own = index >= 0
    own[-1] &= bool((index[:-1] != index[-1]).all())
    return own


class CountTree:
    """Noisy counts of the nodes of one attribute that were worth a look."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.spans: list[tuple[int, int]] = []
        self.counts: list[float] = []
        self.children: list[list[int]] = []
        self.active: list[int] = []
        self.pending: list[int] = []
        # Noisy count of the last cell: missing numbers, or undeclared categories.
        self.gap: float | None = None
        self.first = 0

    def open(self, level: int, enough: float) -> npt.NDArray[np.int64]:
        """Return the spans of cells whose counts are wanted next, shape (spans, 2)."""
        self.pending = []
        if level >= len(self.grid.sizes):
            return np.empty((0, 2), dtype=np.int64)
        size, end = self.grid.sizes[level], self.grid.n_cells
        parents: list[int | None] = [None]
        if level:
            parents = [node for node in self.active if self.counts[node] > enough]
        for parent in parents:
            first, last = (0, end) if parent is None else self.spans[parent]
            for start in range(first, last, size):
                self.pending.append(len(self.spans))
                if parent is not None:
                    self.children[parent].append(len(self.spans))
                self.spans.append((start, min(start + size, last)))
                self.children.append([])
        spans = [self.spans[node] for node in self.pending]
        if not level and self.grid.missing:
            spans.append((end, end + 1))
        return np.array(spans, dtype=np.int64).reshape(-1, 2)

    def take(self, noisy: Array, level: int) -> None:
        """Take the noisy counts of the spans that :meth:`open` wanted."""
        values = noisy.tolist()
        if not level and self.grid.missing:
            self.gap = values.pop()
        self.counts += values
        self.first = self.first if level else len(values)
        self.active = self.pending

    def axis(self, noise: float, target: float | None) -> Axis:
        """Return the bins: the leaves, merged from left to right until each has enough records."""
        spans, counts, variances = self._leaves()
        variances *= noise**2
        if target is not None:
            counts = np.maximum(counts, 0.0)
        if self.grid.fixed:
            bins = [[i] for i in range(len(spans))]
        elif self.grid.cuts is None:
            bins = _largest(counts, noise, absorb=False) if target is None else _largest(counts, target, absorb=True)
        else:
            least = MERGE * noise if target is None else target
            bins = _runs(counts, least)
            while len(bins) > MOST_BINS:
                least *= 1.25
                bins = _runs(counts, least)
        bin_of = np.zeros(self.grid.n_cells + 1, dtype=np.int64)
        for i, members in enumerate(bins):
            for leaf in members:
                bin_of[spans[leaf][0] : spans[leaf][1]] = i
        merged = [float(counts[members].sum()) for members in bins]
        spread = [float(variances[members].sum()) for members in bins]
        bin_of[-1] = len(merged) - 1
        if self.gap is not None and target is not None and self.gap < target and not self.grid.fixed:
            merged[-1] += max(self.gap, 0.0)
            spread[-1] += noise**2
        elif self.gap is not None:
            bin_of[-1] = len(merged)
            merged.append(self.gap)
            spread.append(noise**2)
        return Axis(grid=self.grid, bin_of=bin_of, counts=np.array(merged), variances=np.array(spread))

    def _leaves(self) -> tuple[list[tuple[int, int]], Array, Array]:
        """Return spans, counts and variances of the leaves, after least squares over the tree."""
        size = len(self.spans)
        # Lists, because most nodes have four children, for which arrays take longer.
        value, variance = list(self.counts), [1.0] * size
        for node in reversed(range(size)):
            below = self.children[node]
            if below:
                total, spread = sum(value[i] for i in below), sum(variance[i] for i in below)
                value[node] = (value[node] * spread + total * variance[node]) / (spread + variance[node])
                variance[node] = variance[node] * spread / (spread + variance[node])
        for node in range(size):
            below = self.children[node]
            if below:
                spread = sum(variance[i] for i in below)
                rest, excess = value[node] - sum(value[i] for i in below), spread - variance[node]
                for i in below:
                    share = variance[i] / spread
                    value[i] += share * rest
                    variance[i] -= share * excess * share
        leaves = sorted((self.spans[node], node) for node in range(size) if not self.children[node])
        at = [node for _, node in leaves]
        return [span for span, _ in leaves], np.array(value)[at], np.array(variance)[at]


def _largest(counts: Array, least: float, *, absorb: bool) -> list[list[int]]:
    """Return the cells with at least so many records, and one bin of all others, which may take in a small one."""
    bins = [[i] for i in range(len(counts)) if counts[i] >= least]
    rest = [i for i in range(len(counts)) if not counts[i] >= least]
    if absorb and rest and bins and counts[rest].sum() < least:
        smallest = min(bins, key=lambda own: float(counts[own[0]]))
        bins.remove(smallest)
        rest = sorted([*rest, *smallest])
    return [*bins, rest] if rest else bins


def _runs(counts: Array, least: float) -> list[list[int]]:
    """Return runs of neighbours, each with at least so many records but for a single one."""
    runs: list[list[int]] = []
    run: list[int] = []
    total = 0.0
    for i, count in enumerate(counts.tolist()):
        run.append(i)
        total += count
        if total >= least:
            runs.append(run)
            run, total = [], 0.0
    if run:
        runs.append(run)
    # What is left over at the end, perhaps negative, joins the last run.
    while len(runs) > 1 and not counts[runs[-1]].sum() >= least:
        rest = runs.pop()
        runs[-1] += rest
    return runs
