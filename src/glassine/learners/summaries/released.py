"""What a summary released: noisy numbers, of which all else is a function.

Released fine bins are merged where the released class rates do not differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from glassine.learners.additive.grids import Axis
from glassine.records.arrays import Array, Ints

# All constants were set on Adult; no guarantee rests on them.

MOST_GROUPS, MOST_OF_NUMBERS = 12, 30
"""Most merged bins of an attribute, for classes and for a number: the tables of pairs have the square of it.

For a number 30 were better than 12 on California."""

DIFFERENT = 1.5
"""Neighbors merge whose class rates differ by fewer standard deviations, of noise and sampling together.

With 1.2, California's additive model had 1.1% less error over eight splits, and its trees of depth 4 had 0.5% more."""


def merged_groups(axis: Axis, table: Array, deviation: float, most: int = MOST_GROUPS, sites: int = 1) -> Ints:
    """Return the merged bin of each fine bin: neighbors of a number, of a category those with similar class rates.

    Where tables of so many ``sites`` will be added, bins stay apart whose rates differ enough for all together.
    """
    # The bins of special codes and of missing numbers stay alone.
    # Shapes: table, noisy counts by fine bin, (bins, classes).
    ordered = axis.n_ordered if axis.ordered else axis.n_bins
    order = np.arange(ordered) if axis.ordered else np.argsort(_direction(table, deviation), kind="stable")
    runs = _runs(table[order], deviation, most, DIFFERENT**2 / sites)
    groups = np.zeros(axis.n_bins, dtype=np.int64)
    groups[order] = runs
    groups[ordered:] = runs.max() + 1 + np.arange(axis.n_bins - ordered)
    return groups


def _direction(table: Array, deviation: float) -> Array:
    """Return one number for each bin along which class rates differ most; of two classes, the rate of the second."""
    rates, _ = _rates(table, np.ones(len(table)), deviation)
    if table.shape[1] == 2:
        return np.asarray(rates[:, 1])
    weights = np.maximum(table.sum(axis=1), 0.0)
    centered = rates - weights @ rates / max(float(weights.sum()), 1.0)
    return np.asarray(centered @ np.linalg.svd(centered * np.sqrt(weights)[:, None], full_matrices=False)[2][0])


def _rates(table: Array, sizes: Array, deviation: float) -> tuple[Array, Array]:
    """Return class rates of bins that join so many fine ones, and their variances, each of shape (bins, classes)."""
    n_classes = table.shape[1]
    noise = deviation**2 * sizes
    # A total that may be noise alone would make rates look certain.
    totals = np.maximum(table.sum(axis=1), np.sqrt(noise * n_classes) + 1.0)
    rates = np.clip(table / totals[:, None], 0.0, 1.0)
    inner_rates = np.clip(rates, 1.0 / (totals[:, None] + 2.0), 1.0 - 1.0 / (totals[:, None] + 2.0))
    of_noise = noise[:, None] * ((1 - rates) ** 2 + (n_classes - 1) * rates**2) / totals[:, None] ** 2
    return rates, inner_rates * (1 - inner_rates) / totals[:, None] + of_noise


def _runs(table: Array, deviation: float, most: int, different: float) -> Ints:
    """Return the run of each row: the neighboring runs that differ least are joined, as long as they may."""
    rows, sizes = table.copy(), np.ones(len(table))
    starts = list(range(len(table)))
    while len(rows) > 1:
        rates, variances = _rates(rows, sizes, deviation)
        squares = (np.diff(rates, axis=0) ** 2 / (variances[1:] + variances[:-1])).mean(axis=1)
        least = int(np.argmin(squares))
        if squares[least] >= different and len(rows) <= most:
            break
        rows[least] += rows[least + 1]
        sizes[least] += sizes[least + 1]
        rows, sizes = np.delete(rows, least + 1, axis=0), np.delete(sizes, least + 1)
        del starts[least + 1]
    out = np.zeros(len(table), dtype=np.int64)
    out[starts[1:]] = 1
    return np.cumsum(out)


def coarse_axis(axis: Axis, groups: Ints) -> Axis:
    """Return the axis of the merged bins."""
    n_groups = int(groups.max()) + 1
    return Axis(
        grid=axis.grid,
        bin_of=groups[axis.bin_of],
        counts=np.bincount(groups, weights=axis.counts, minlength=n_groups).astype(np.float64),
        variances=np.bincount(groups, weights=axis.variances, minlength=n_groups).astype(np.float64),
    )


def margins(tables: Sequence[Array], groups: Sequence[Ints], deviation: float) -> tuple[Array, tuple[Array, ...]]:
    """Return class totals, shape (classes,), and the counts of merged bins by class, which add up to them."""
    # Class rates of bins are shrunk towards those of all records by as much as noise explains them (empirical Bayes).
    n_classes = tables[0].shape[1]
    # The totals of a table of few bins carry less noise, and weigh more.
    precision = np.array([1.0 / len(table) for table in tables])
    totals = np.maximum(sum(p * table.sum(axis=0) for p, table in zip(precision, tables, strict=True)), 0.0)
    totals = np.maximum(totals / precision.sum(), 1.0)
    out = []
    for table, group in zip(tables, groups, strict=True):
        sizes = np.bincount(group).astype(np.float64)
        rows = np.zeros((len(sizes), n_classes))
        np.add.at(rows, group, table)
        noise = deviation * np.sqrt(sizes * n_classes)
        counts = rows.sum(axis=1)
        # What noise alone could have left counts less, down to a quarter.
        counts = np.maximum(counts, 0.0) * (0.25 + 0.75 * np.clip(counts / np.maximum(noise, 1e-12), 0.0, 1.0)) + 0.01
        rates, variances = _rates(rows, sizes, deviation)
        center = totals / totals.sum()
        spread = (counts[:, None] * ((rates - center) ** 2 - variances)).sum() / counts.sum() / n_classes
        weight = max(float(spread), 1e-9) / (max(float(spread), 1e-9) + variances)
        shrunk = np.maximum(center + weight * (rates - center), 1e-6)
        out.append(fitted(counts[:, None] * shrunk / shrunk.sum(axis=1, keepdims=True), totals))
    return np.asarray(totals), tuple(out)


def fitted(table: Array, totals: Array) -> Array:
    """Return a table of non-negative counts, shape (bins, classes), scaled to class totals."""
    return np.asarray(table * (totals / np.maximum(table.sum(axis=0), 1e-12)))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Round:
    """What the records added to an additive model that followed from earlier releases."""

    # The model: scores of the merged bins of the useful attributes, one after another, and the intercept. A function of
    # earlier releases, kept so that a file is read as it was written, shape (bins + 1, outputs).
    scores: Array
    sums: Array  # Noisy sums of the records' residuals under that model, in each bin, shape (bins, outputs)
    deviation: float  # Standard deviation of the noise in each sum


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ReleasedSummary:
    """What a summary released, as it was drawn. All else follows from it."""

    axes: tuple[Axis, ...]  # The fine bins of each attribute, and their noisy counts
    tables: tuple[Array, ...]  # Noisy counts by fine bin and class, shape (bins, classes)
    # The merged bin of each fine bin: a function of the tables, kept so that a file is read as it was written, shape
    # (bins,).
    groups: tuple[Ints, ...]
    # Noisy dependence of pairs of attributes, in records: the L1 distance of their table by class from independence.
    scores: Mapping[tuple[int, int], float]
    # Noisy counts of the merged bins of the pairs along the spanning tree, by class, shape (bins, bins, classes).
    edges: Mapping[tuple[int, int], Array]
    # Standard deviation of the noise in each count of the tables, in each score, and in each count of the edges.
    deviations: tuple[float, float, float]
    # Noisy sums of residuals, round by round; none where no attribute has two merged bins.
    rounds: tuple[Round, ...] = ()
    # Of a target that is a number, brought to [-1, 1]: noisy sum of its squares over all records, and the standard
    # deviation of the noise. None of classes. In the tables, levels of the number stand for classes.
    squares: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        self._freeze()

    def __setstate__(self, state: list[Any]) -> None:
        for one, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, one.name, value)
        self._freeze()

    def _freeze(self) -> None:
        """Make the arrays read-only: models of one summary share what was computed from them."""
        of_axes = (part for axis in self.axes for part in (axis.bin_of, axis.counts, axis.variances))
        of_rounds = (part for one in self.rounds for part in (one.scores, one.sums))
        for array in (*of_axes, *self.tables, *self.groups, *self.edges.values(), *of_rounds):
            array.flags.writeable = False

    @property
    def levels(self) -> Array | None:
        """The levels of a target that is a number, in [-1, 1]; None of classes."""
        return None if self.squares is None else np.linspace(-1.0, 1.0, self.n_classes)

    @property
    def n_classes(self) -> int:
        """Number of classes, or of levels."""
        return int(self.tables[0].shape[1])

    @property
    def coarse(self) -> tuple[Axis, ...]:
        """The merged bins of each attribute."""
        return tuple(coarse_axis(axis, groups) for axis, groups in zip(self.axes, self.groups, strict=True))

    @property
    def useful(self) -> tuple[int, ...]:
        """Places of the attributes that have two merged bins or more: models use no others."""
        return tuple(k for k, groups in enumerate(self.groups) if groups.max() > 0)

    @property
    def ends(self) -> Ints:
        """Where the merged bins of each useful attribute begin, one after another, and where the last ends."""
        return np.cumsum([0, *(int(self.groups[k].max()) + 1 for k in self.useful)])
