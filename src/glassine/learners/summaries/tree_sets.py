"""All trees of a few splits on fixed literals: the lowest errors, the trees near them, and what these predict.

A tree's errors add up over its leaves, and follow from the counts of regions of at most three literals. Dynamic
programming over regions therefore searches all trees at once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glassine.learners.summaries.regions import MOST_COUNTS, RegionCounts, Regions, Splits, n_counts
from glassine.learners.summaries.splitting import Growth, Node, Region

TINY = 1e-9
"""Errors, in records, below which two trees are equally good: rounding of sums is far smaller."""

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class TreeSet:
    """The trees of at most some depth whose errors exceed the lowest by no more than a slack.

    Each leaf predicts its most frequent class; each side of a split holds at least some expected records; and no split
    has two leaves of the same class, which would be the same tree again.

    Parameters
    ----------
    splits : Splits
        The literals.
    counts : RegionCounts
        Expected records of ``Regions.of(splits.number, depth)``.
    depth : int
        Most splits on a path, in [1, 3].
    slack : float
        Most errors beyond the lowest, as a share of all records.
    least : float
        Least expected records of each side of a split, above 0.

    Attributes
    ----------
    n_records : float
        All expected records.
    lowest : float
        Lowest expected errors of a tree, in records.
    slack, bound : float
        Most errors beyond the lowest, and most expected errors, of a near-optimal tree, in records.
    regions : Regions
        The regions in which trees have their last splits, and those above.
    labels, wrong : ndarray, shape (regions,)
        Most frequent class of each region, and its errors as a leaf.
    side_labels, side_wrong : ndarray, shape (regions, literals, 2)
        The same of both sides of each split; the literal holds on the first.
    divides : ndarray of bool, shape (regions, literals)
        Whether both sides of each split hold enough records, and values that are not missing.
    stumps : ndarray, shape (last regions, literals)
        Errors of each of the last regions once it is divided; infinite where it may not be.
    lowest_below, reach : ndarray, shape (regions,)
        Lowest errors of a subtree of each region, and by how much those of a near-optimal tree may exceed them:
        negative where no near-optimal tree has the region.
    """

    def __init__(self, splits: Splits, counts: RegionCounts, *, depth: int, slack: float, least: float) -> None:
        self.splits, self.counts, self.depth = splits, counts, depth
        self.regions = Regions.of(splits.number, depth)
        whole, inside = counts.whole, counts.inside
        # Both sides of each literal: axis 2 is 0 where it holds.
        sides = np.stack([inside, whole[:, None] - inside], axis=2)
        self.labels, self.side_labels = whole.argmax(axis=1), sides.argmax(axis=3)
        self.wrong = whole.sum(axis=1) - whole.max(axis=1)
        self.side_wrong = sides.sum(axis=3) - sides.max(axis=3)
        self.divides = (sides.sum(axis=3).min(axis=2) >= least) & splits.divide(self.regions)
        self.n_records = float(whole[0].sum())
        self.stumps = np.where(self.divides[self.last], self.side_wrong[self.last].sum(axis=2), np.inf)
        self.lowest_below = self._lowest(np.ones(splits.number, dtype=np.bool_))
        self.lowest = float(self.lowest_below[0])
        self.slack = slack * self.n_records + TINY
        self.bound = self.lowest + self.slack
        self.reach = self._reached()

    # The lowest errors of each region's subtrees.

    @property
    def last(self) -> slice:
        """The regions whose splits have only leaves below."""
        return slice(self.regions.starts[self.depth - 1], self.regions.starts[self.depth])

    def sides(self, region: int) -> tuple[Ints, Ints]:
        """Return the regions on both sides of each literal, from one of at most one literal; shape (literals,)."""
        own = self.regions.pairs[region, 0]
        signed = np.arange(0, 2 * self.splits.number, 2)
        return self.regions.at[own, signed], self.regions.at[own, signed + 1]

    def costs(self, best: Array, region: int) -> Array:
        """Return the lowest errors below each split of a region that is none of the last, shape (literals,)."""
        true, false = self.sides(region)
        return np.asarray(np.where(self.divides[region], best[true] + best[false], np.inf))

    def _lowest(self, allowed: Bools) -> Array:
        """Return the lowest errors of the subtrees of each region that test allowed literals alone."""
        best: Array = self.wrong.copy()
        if not allowed.any():
            return best
        stumps = self.stumps[:, allowed].min(axis=1)
        best[self.last] = np.minimum(best[self.last], stumps)
        for region in reversed(range(self.regions.starts[self.depth - 1])):
            best[region] = min(best[region], self.costs(best, region)[allowed].min())
        return best

    def lowest_without(self, attribute: int) -> float:
        """Return the lowest errors of the trees that never test an attribute."""
        return float(self._lowest(self.splits.attributes != attribute)[0])

    def _reached(self) -> Array:
        reach = np.full(len(self.lowest_below), -np.inf)
        reach[0] = self.slack
        for region in range(self.regions.starts[self.depth - 1]):
            left = reach[region] - (self.costs(self.lowest_below, region) - self.lowest_below[region])
            for side in self.sides(region):
                inner = side >= 0
                np.maximum.at(reach, side[inner], left[inner])
        return np.where(reach >= 0, reach, -1.0)

    # Which classes near-optimal trees predict.

    def decisions(self, codes: Ints) -> Bools:
        """Return the classes that some near-optimal tree predicts for records, shape (n, classes).

        Parameters
        ----------
        codes : ndarray of int, shape (attributes, n)
            Bins of the records.
        """
        different, where = np.unique(self.splits.holds(codes), axis=0, return_inverse=True)
        n_classes = self.counts.whole.shape[1]
        out = np.zeros((len(different), n_classes), dtype=np.bool_)
        for row, holds in zip(out, different, strict=True):
            for label in range(n_classes):
                row[label] = self._lowest_with(holds, label) <= self.bound
        return np.asarray(out[where.ravel()])

    def _lowest_with(self, holds: Bools, label: int) -> float:
        """Return the lowest errors of the trees that predict a class for a record."""
        side = np.where(holds, 0, 1)
        signed = 2 * np.arange(self.splits.number) + side
        regions = self.regions
        own = {1: [0], 2: [0, *regions.at[signed, -1]]}.get(self.depth)
        if own is None:
            pairs = regions.at[np.ix_(signed, signed)][np.triu_indices(len(signed), 1)]
            own = [0, *regions.at[signed, -1], *pairs]
        chain = np.array(own, dtype=np.int64)
        lowest = np.full(len(self.lowest_below), np.inf)
        lowest[chain] = np.where(self.labels[chain] == label, self.wrong[chain], np.inf)
        final = chain[chain >= self.last.start]
        right = self.side_labels[final[:, None], np.arange(len(side)), side] == label
        stumps = np.where(right, self.stumps[final - self.last.start], np.inf)
        lowest[final] = np.minimum(lowest[final], stumps.min(axis=1, initial=np.inf))
        for region in chain[chain < self.last.start][::-1]:
            both = np.stack(self.sides(int(region)))
            places = np.arange(len(side))
            costs = lowest[both[side, places]] + self.lowest_below[both[1 - side, places]]
            lowest[region] = min(lowest[region], np.where(self.divides[region], costs, np.inf).min(initial=np.inf))
        return float(lowest[0])

    # Single trees.

    def best(self) -> Node:
        """Return a tree of the lowest errors, the one with fewer splits where two are equally good."""
        return self._best_below(0)

    def _best_below(self, region: int) -> Node:
        if self.wrong[region] <= self.lowest_below[region] + TINY:
            return self.leaf(region)
        if region >= self.last.start:
            return self.stump(region, int(self.stumps[region - self.last.start].argmin()))
        literal = int(self.costs(self.lowest_below, region).argmin())
        true, false = (int(side[literal]) for side in self.sides(region))
        return self.divided(region, literal, self._best_below(true), self._best_below(false))

    def leaf(self, region: int) -> Node:
        """Return a region as a leaf."""
        return Node(counts=self.counts.whole[region])

    def stump(self, region: int, literal: int) -> Node:
        """Return a region that one literal divides into leaves."""
        inside = self.counts.inside[region, literal]
        rest = self.counts.whole[region] - inside
        return self.divided(region, literal, Node(counts=inside), Node(counts=rest))

    def divided(self, region: int, literal: int, true: Node, false: Node) -> Node:
        """Return a region that a literal divides into two subtrees."""
        counts = self.counts.whole[region]
        return Node(counts=counts, literal=self.splits.literals[literal], true=true, false=false)


def tree_of_lowest_errors(growth: Growth, depth: int) -> Node:
    """Return a tree of the lowest errors; below the third split it is grown greedily, or earlier if bins are many.

    Greedy growth alone fails for errors: a split that pays only with the next one lowers none.
    """
    splits, n_classes = Splits.of(growth), len(growth.tree.totals)
    fitting = [own for own in range(1, min(depth, 3) + 1) if n_counts(splits.number, n_classes, own) <= MOST_COUNTS]
    if not fitting or not splits.number:
        return growth.grow(depth)
    counts = RegionCounts.of(growth.tree, splits, Regions.of(splits.number, fitting[-1]))
    top = TreeSet(splits, counts, depth=fitting[-1], slack=0.0, least=growth.least).best()
    return top if depth == fitting[-1] else _deepened(top, {}, growth, splits, depth)


def _deepened(node: Node, region: Region, growth: Growth, splits: Splits, depth: int) -> Node:
    """Return a tree whose leaves are divided as long as the depth allows."""
    if node.literal is None or node.true is None or node.false is None:
        return growth.grown(region, node.counts, depth)
    number = splits.literals.index(node.literal)
    inside, outside = growth.parts(region, int(splits.attributes[number]), splits.bins[number])
    return replace(
        node,
        true=_deepened(node.true, inside, growth, splits, depth - 1),
        false=_deepened(node.false, outside, growth, splits, depth - 1),
    )


def errors_of(tree: Node) -> float:
    """Return the expected errors of a tree, in records."""
    if tree.true is None or tree.false is None:
        return float(tree.counts.sum() - tree.counts.max())
    return errors_of(tree.true) + errors_of(tree.false)
