"""Rows drawn from the distribution of a summary; nothing here reads a record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassine.domain import Domain, Integer, Real
from glassine.domain.attributes import exact
from glassine.learners.additive.grids import Axis, coded_cells
from glassine.learners.additive.targets import Target
from glassine.learners.summaries.junction_tree import JunctionTree, junction_tree
from glassine.learners.summaries.released import ReleasedSummary
from glassine.records.arrays import AnyArray, Array, Ints

MOST_ROWS = 10**7
"""Most rows of one sample: more do not fit in memory beside their bins."""

TARGET = "target"
"""Name of the target's column where the summary knows none."""


def rows_of(
    released: ReleasedSummary, domain: Domain, target: Target, n: int, rng: np.random.Generator
) -> dict[str, list[Any]]:
    """Return n rows by column, the target last; missing values are None.

    A class is drawn by the released totals, the bins along the tree given the class and the bin above; within a merged
    bin a fine one by its released count, and within a cell of the domain any value with equal chances.

    Guarantee
    ---------
    The summary's: a function of what was released and of bits that are independent of the records; see ``sampling.md``.
    """
    tree = junction_tree(released)
    labels = rng.choice(len(tree.totals), size=n, p=np.maximum(tree.totals, 0.0) / np.maximum(tree.totals, 0.0).sum())
    codes = _bins(tree, labels, rng)
    out: dict[str, list[Any]] = {}
    for axis, groups, own in zip(released.axes, released.groups, codes, strict=True):
        cells = _cells(axis, groups, own, rng)
        out[axis.grid.attribute] = _values(axis, domain, cells, rng)
    name = target.name or TARGET
    out[name if name not in out else f"{name} of the summary"] = _targets(labels, target, len(tree.totals), rng)
    return out


def _bins(tree: JunctionTree, labels: Ints, rng: np.random.Generator) -> Ints:
    """Return the merged bin of each row in each attribute, shape (attributes, n)."""
    out = np.zeros((len(tree.parents), len(labels)), dtype=np.int64)
    for j in tree.order:
        below = np.cumsum(tree.conditionals[j], axis=2)
        rows = below[labels, out[tree.parents[j]] if tree.parents[j] >= 0 else 0]
        drawn = rng.random(len(labels))[:, None] * rows[:, -1:]
        out[j] = np.minimum((rows <= drawn).sum(axis=1), below.shape[2] - 1)
    return out


def _cells(axis: Axis, groups: Ints, bins: Ints, rng: np.random.Generator) -> Ints:
    """Return the public cell of each row: within a merged bin as the fine bins are spread, and evenly within these."""
    sizes = np.bincount(axis.bin_of, minlength=axis.n_bins)
    mass = (np.maximum(axis.counts, 0.0)[axis.bin_of] + 1e-9) / np.maximum(sizes, 1)[axis.bin_of]
    # Of a number the last cell is that of missing values; of a category no value of the domain is in it.
    if axis.grid.cuts is None or not axis.grid.missing:
        mass[-1] = 0.0
    out = np.zeros(len(bins), dtype=np.int64)
    for number in np.unique(bins).tolist():
        rows = np.flatnonzero(bins == number)
        members = np.flatnonzero((groups[axis.bin_of] == number) & (mass > 0))
        if not len(members):
            members = np.flatnonzero(mass > 0)
        out[rows] = rng.choice(members, size=len(rows), p=mass[members] / mass[members].sum())
    return out


def _values(axis: Axis, domain: Domain, cells: Ints, rng: np.random.Generator) -> list[Any]:
    """Return a value of the domain in each row's cell."""
    attribute, grid = domain[axis.grid.attribute], axis.grid
    if not isinstance(attribute, Integer | Real) or grid.cuts is None:
        listed = [list(group) for group in grid.groups or ()]
        drawn = rng.random(len(cells)).tolist()
        return [listed[cell][int(u * len(listed[cell]))] for cell, u in zip(cells.tolist(), drawn, strict=True)]
    coded = dict(zip(coded_cells(grid), grid.codes, strict=True))
    out: list[Any] = [None] * len(cells)
    edges = [-math.inf, *grid.cuts.tolist(), math.inf]
    for cell in np.unique(cells).tolist():
        rows = np.flatnonzero(cells == cell)
        if cell == grid.n_cells:
            continue
        if cell in coded:
            numbers: list[Any] = [coded[cell]] * len(rows)
        else:
            numbers = _numbers(attribute, edges[cell], edges[cell + 1], rng.random(len(rows)))
        for row, number in zip(rows.tolist(), numbers, strict=True):
            out[row] = number
    return out


def _numbers(attribute: Integer | Real, low: float, high: float, uniform: Array) -> list[Any]:
    """Return values v with ``low < v <= high`` and within the bounds at uniform numbers of [0, 1)."""
    if isinstance(attribute, Integer) or attribute.resolution is not None:
        step = exact(1 if isinstance(attribute, Integer) else attribute.resolution or 1)
        lo, hi = exact(attribute.lo), exact(attribute.hi)
        first = 0 if low < attribute.lo else math.floor((exact(low) - lo) / step) + 1
        last = math.floor(((hi if high >= attribute.hi else exact(high)) - lo) / step)
        places = [first + min(int(u * (last - first + 1)), last - first) for u in uniform.tolist()]
        made = [lo + step * place for place in places]
        return [int(v) for v in made] if isinstance(attribute, Integer) else [float(v) for v in made]
    left, right = max(float(attribute.lo), low), min(float(attribute.hi), high)
    # From the right end, which the interval includes.
    numbers: list[Any] = (right - uniform * (right - left)).tolist()
    return numbers


def _targets(labels: Ints, target: Target, n_levels: int, rng: np.random.Generator) -> list[Any]:
    """Return the target of each row: its class, or a number around its level."""
    if target.bounds is None:
        classes: Sequence[Any] = target.classes or ()
        return [classes[label] for label in labels.tolist()]
    low, high = target.bounds
    step = (high - low) / (n_levels - 1)
    # A number counts for the two levels next to it, by how near it is: the other way round a triangle around a level.
    jitter: AnyArray = rng.triangular(-1.0, 0.0, 1.0, len(labels))
    numbers: list[Any] = np.clip(low + step * (labels + jitter), low, high).tolist()
    return numbers
