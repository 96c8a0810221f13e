"""Regions of at most two literals, and the exact counts of a distribution in them: all that a search of trees needs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from glassine.domain import Literal
from glassine.learners.summaries.junction_tree import Distribution
from glassine.learners.summaries.splitting import Growth
from glassine.records.arrays import Array, Bools, Ints

MOST_COUNTS = 15_000_000
"""Most counts of a search: about half a gigabyte with what is computed from them; 150 literals at depth 3."""

CHUNK = 4_096
"""Regions whose tables are computed at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Splits:
    """The literals that trees may test."""

    sizes: tuple[int, ...]  # Bins of each attribute
    attributes: Ints  # Attribute of each literal, shape (literals,)
    bins: tuple[Bools, ...]  # Bins of the attribute that satisfy each literal
    literals: tuple[Literal, ...]  # The literals
    present: tuple[Bools, ...]  # Bins of each attribute that have other than missing values, shape (bins,)

    @classmethod
    def of(cls, growth: Growth) -> Splits:
        """Return the literals that may split all records."""
        listed = tuple(growth.candidates())
        return cls(
            sizes=tuple(axis.n_bins for axis in growth.axes),
            attributes=np.array([one[0] for one in listed], dtype=np.int64),
            bins=tuple(one[1] for one in listed),
            literals=tuple(one[2] for one in listed),
            present=tuple(growth.present(k) for k in range(len(growth.axes))),
        )

    @property
    def number(self) -> int:
        """Number of literals."""
        return len(self.literals)

    def divide(self, regions: Regions) -> Bools:
        """Return whether each literal leaves either side of each region other than missing values of its attribute."""
        out = np.ones((len(regions.pairs), self.number), dtype=np.bool_)
        for k, present in enumerate(self.present):
            own = np.flatnonzero(self.attributes == k)
            if not present.all() and len(own):
                masks = masks_of(self, k)
                left = masks[regions.pairs].prod(axis=1) * present
                out[:, own] = (left @ masks[2 * own].T > 0) & (left @ masks[2 * own + 1].T > 0)
        return out

    def holds(self, codes: Ints) -> Bools:
        """Return which literals hold for records, given by their bins of shape (attributes, n): (n, literals)."""
        return np.stack([bins[codes[k]] for k, bins in zip(self.attributes, self.bins, strict=True)], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regions:
    """Regions of at most so many literals: first that of all records, then those of one literal, then of two.

    A signed literal has the number 2 j where literal j holds and 2 j + 1 where it does not; 2 L stands for none.
    """

    pairs: Ints  # The signed literals of each region, shape (regions, 2)
    at: Ints  # The region of two signed literals, in either order; -1 where none was made, shape (2 L + 1, 2 L + 1)
    starts: tuple[int, ...]  # The first region of no literal, of one, of two; and their number

    @classmethod
    def of(cls, n_literals: int, depth: int) -> Regions:
        """Return the regions in which trees of a depth, in [1, 3], have their last splits."""
        none = 2 * n_literals
        listed = [(none, none)]
        starts = [0, 1]
        if depth > 1:
            listed += [(s, none) for s in range(none)]
            starts.append(len(listed))
        if depth > 2:
            listed += combinations(range(none), 2)
            starts.append(len(listed))
        pairs = np.array(listed, dtype=np.int64)
        at = np.full((none + 1, none + 1), -1, dtype=np.int64)
        rows = np.arange(len(pairs))
        at[pairs[:, 0], pairs[:, 1]] = rows
        at[pairs[:, 1], pairs[:, 0]] = rows
        if depth > 1:
            at[np.arange(none), np.arange(none)] = np.arange(1, none + 1)
        return cls(pairs=pairs, at=at, starts=tuple(starts))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionCounts:
    """Expected records of regions and of their parts by class, and the distribution of each attribute."""

    whole: Array  # Records of each region, shape (regions, classes)
    inside: Array  # Records of each region that satisfy each literal, shape (regions, literals, classes)
    margins: tuple[Array, ...]  # Share of all records in each bin of each attribute, shape (bins,)

    @classmethod
    def of(cls, tree: Distribution, splits: Splits, regions: Regions) -> RegionCounts:
        """Return the counts of a distribution, exact of a junction tree."""
        n_regions, n_classes = len(regions.pairs), len(tree.totals)
        inside = np.empty((n_regions, splits.number, n_classes))
        whole = np.empty((n_regions, n_classes))
        masks = [masks_of(splits, k) for k in range(len(splits.sizes))]
        for start in range(0, n_regions, CHUNK):
            rows = slice(start, min(start + CHUNK, n_regions))
            first, second = regions.pairs[rows].T
            tables = tree.tables([(mask[first] * mask[second])[None] for mask in masks])
            whole[rows] = tables[0].sum(axis=2).T
            for k, table in enumerate(tables):
                own = np.flatnonzero(splits.attributes == k)
                if len(own):
                    inside[rows, own[0] : own[-1] + 1] = np.moveaxis(table @ masks[k][2 * own].T, 0, 2)
        tables = tree.tables([None] * len(masks))
        margins = tuple(np.asarray(table[:, 0].sum(axis=0) / tree.totals.sum()) for table in tables)
        return cls(whole=np.maximum(whole, 0.0), inside=np.clip(inside, 0.0, whole[:, None]), margins=margins)


def masks_of(splits: Splits, attribute: int) -> Array:
    """Return what each signed literal leaves of an attribute's bins, shape (2 literals + 1, bins)."""
    out = np.ones((2 * splits.number + 1, splits.sizes[attribute]))
    for j in np.flatnonzero(splits.attributes == attribute):
        out[2 * j], out[2 * j + 1] = splits.bins[j], ~splits.bins[j]
    return out


def n_counts(n_literals: int, n_classes: int, depth: int) -> int:
    """Return how many counts a search of all trees of a depth needs."""
    signed = 2 * n_literals
    n_regions = 1 + signed * (depth > 1) + signed * (signed - 1) // 2 * (depth > 2)
    return n_regions * n_literals * n_classes
