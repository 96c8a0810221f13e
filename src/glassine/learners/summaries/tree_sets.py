"""All trees of a few splits on fixed literals: the best, those near it, and what depends on an attribute among them.

A tree's errors add up over its leaves, and so do its errors once an attribute is drawn independently of all else: both
follow from the counts of regions of at most three literals. Dynamic programming over regions therefore searches all
trees at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from glassine.compiling import AnyArray, compiled
from glassine.domain import Literal
from glassine.learners.summaries.junction_tree import JunctionTree
from glassine.learners.summaries.splitting import Growth, Node, Region

__all__ = [
    "MOST_COUNTS",
    "RegionCounts",
    "Regions",
    "Splits",
    "TreeSet",
    "errors_of",
    "n_counts",
    "tree_of_lowest_errors",
]

MOST_COUNTS = 15_000_000
"""Most counts of a search: about half a gigabyte with what is computed from them; 150 literals at depth 3."""

GRID = 200
"""Steps of the slack in which sampling counts trees. Coarser ones reject more samples; none makes them wrong."""

CHUNK = 4_096
"""Regions whose tables are computed at once."""

TINY = 1e-9
"""Errors, in records, below which two trees are equally good: rounding of sums is far smaller."""

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Splits:
    """The literals that trees may test.

    Attributes
    ----------
    sizes : tuple of int
        Bins of each attribute.
    attributes : ndarray of int, shape (literals,)
        Attribute of each literal.
    bins : tuple of ndarray of bool
        Bins of the attribute that satisfy each literal.
    literals : tuple of Literal
        The literals.
    """

    sizes: tuple[int, ...]
    attributes: Ints
    bins: tuple[Bools, ...]
    literals: tuple[Literal, ...]

    @classmethod
    def of(cls, growth: Growth) -> Splits:
        """Return the literals that may split all records."""
        listed = tuple(growth.candidates())
        return cls(
            sizes=tuple(axis.n_bins for axis in growth.axes),
            attributes=np.array([one[0] for one in listed], dtype=np.int64),
            bins=tuple(one[1] for one in listed),
            literals=tuple(one[2] for one in listed),
        )

    @property
    def number(self) -> int:
        """Number of literals."""
        return len(self.literals)

    def holds(self, codes: Ints) -> Bools:
        """Return which literals hold for records, given by their bins of shape (attributes, n): (n, literals)."""
        return np.stack([bins[codes[k]] for k, bins in zip(self.attributes, self.bins, strict=True)], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regions:
    """Regions of at most so many literals: first that of all records, then those of one literal, then of two.

    A signed literal has the number 2 j where literal j holds and 2 j + 1 where it does not; 2 L stands for none.

    Attributes
    ----------
    pairs : ndarray of int, shape (regions, 2)
        The signed literals of each region.
    at : ndarray of int, shape (2 L + 1, 2 L + 1)
        The region of two signed literals, in either order; -1 where none was made.
    starts : tuple of int
        The first region of no literal, of one, of two; and their number.
    """

    pairs: Ints
    at: Ints
    starts: tuple[int, ...]

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
    """Expected records of regions and of their parts by class, and the distribution of each attribute.

    Attributes
    ----------
    whole : ndarray, shape (regions, classes)
        Records of each region.
    inside : ndarray, shape (regions, literals, classes)
        Records of each region that satisfy each literal.
    margins : tuple of ndarray, shape (bins,)
        Share of all records in each bin of each attribute.
    """

    whole: Array
    inside: Array
    margins: tuple[Array, ...]

    @classmethod
    def of(cls, tree: JunctionTree, splits: Splits, regions: Regions) -> RegionCounts:
        """Return the exact counts of a junction tree's distribution."""
        n_regions, n_classes = len(regions.pairs), len(tree.totals)
        inside = np.empty((n_regions, splits.number, n_classes))
        whole = np.empty((n_regions, n_classes))
        masks = [_masks(splits, k) for k in range(len(splits.sizes))]
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


def _masks(splits: Splits, attribute: int) -> Array:
    """Return what each signed literal leaves of an attribute's bins, shape (2 literals + 1, bins)."""
    out = np.ones((2 * splits.number + 1, splits.sizes[attribute]))
    for j in np.flatnonzero(splits.attributes == attribute):
        out[2 * j], out[2 * j + 1] = splits.bins[j], ~splits.bins[j]
    return out


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
    bound : float
        Most expected errors of a near-optimal tree, in records.
    """

    def __init__(self, splits: Splits, counts: RegionCounts, *, depth: int, slack: float, least: float) -> None:
        self.splits, self.depth = splits, depth
        self._counts = counts
        self._regions = Regions.of(splits.number, depth)
        whole, inside = counts.whole, counts.inside
        # Both sides of each literal: axis 2 is 0 where it holds.
        sides = np.stack([inside, whole[:, None] - inside], axis=2)
        self._labels, self._side_labels = whole.argmax(axis=1), sides.argmax(axis=3)
        self._wrong = whole.sum(axis=1) - whole.max(axis=1)
        self._side_wrong = sides.sum(axis=3) - sides.max(axis=3)
        self._divides = sides.sum(axis=3).min(axis=2) >= least
        self.n_records = float(whole[0].sum())
        self._stumps = np.where(self._divides[self._last], self._side_wrong[self._last].sum(axis=2), np.inf)
        self._best = self._lowest(np.ones(splits.number, dtype=np.bool_))
        self.lowest = float(self._best[0])
        self.slack = slack * self.n_records + TINY
        self.bound = self.lowest + self.slack
        self._reach = self._reached()

    # The lowest errors of each region's subtrees.

    @property
    def _last(self) -> slice:
        """The regions whose splits have only leaves below."""
        return slice(self._regions.starts[self.depth - 1], self._regions.starts[self.depth])

    def _sides(self, region: int) -> tuple[Ints, Ints]:
        """Return the regions on both sides of each literal, from one of at most one literal; shape (literals,)."""
        own = self._regions.pairs[region, 0]
        signed = np.arange(0, 2 * self.splits.number, 2)
        return self._regions.at[own, signed], self._regions.at[own, signed + 1]

    def _costs(self, best: Array, region: int) -> Array:
        """Return the lowest errors below each split of a region that is none of the last, shape (literals,)."""
        true, false = self._sides(region)
        return np.asarray(np.where(self._divides[region], best[true] + best[false], np.inf))

    def _lowest(self, allowed: Bools) -> Array:
        """Return the lowest errors of the subtrees of each region that test allowed literals alone."""
        best: Array = self._wrong.copy()
        if not allowed.any():
            return best
        stumps = self._stumps[:, allowed].min(axis=1)
        best[self._last] = np.minimum(best[self._last], stumps)
        for region in reversed(range(self._regions.starts[self.depth - 1])):
            best[region] = min(best[region], self._costs(best, region)[allowed].min())
        return best

    def lowest_without(self, attribute: int) -> float:
        """Return the lowest errors of the trees that never test an attribute."""
        return float(self._lowest(self.splits.attributes != attribute)[0])

    # Reliance: how many more records a tree gets wrong once an attribute is drawn independently of all else.

    def reliance(self, attribute: int) -> tuple[float, float]:
        """Return the least and the greatest reliance of a near-optimal tree on an attribute, in records.

        Reliance is the number of errors once the attribute is drawn from its own distribution, independently of class
        and other attributes, less the tree's errors (Fisher, Rudin and Dominici 2019).
        """
        if not (self.splits.attributes == attribute).any():
            return 0.0, 0.0
        leaf, stump = self._gains(attribute)
        return -self._greatest(-leaf, -stump), self._greatest(leaf, stump)

    def _gains(self, attribute: int) -> tuple[Array, Array]:
        """Return by how much errors grow once an attribute is drawn again: of leaves, and of splits of last regions."""
        regions, last = self._regions, self._last
        whole, inside, splits = self._counts.whole, self._counts.inside, self.splits
        none = 2 * splits.number
        mask, margin = _masks(splits, attribute), self._counts.margins[attribute]
        own = np.flatnonzero(splits.attributes == attribute)
        # The region without its conditions on the attribute, and the share of records that meet these.
        signed = regions.pairs
        on_it = np.append(np.repeat(splits.attributes == attribute, 2), [False])
        stripped = regions.at[tuple(np.where(on_it[signed], none, signed).T)]
        meets = mask[signed[:, 0]] * mask[signed[:, 1]]
        share = meets @ margin
        leaf = share * _missed(whole[stripped], self._labels) - self._wrong
        stump = np.zeros((last.stop - last.start, splits.number))
        # Splits on another attribute move only where the region has a condition on this one.
        rows = last.start + np.flatnonzero(on_it[signed[last]].any(axis=1))
        bases = stripped[rows]
        for side in (0, 1):
            part = inside[bases] if side == 0 else whole[bases][:, None] - inside[bases]
            errors = share[rows][:, None] * _missed(part, self._side_labels[rows, :, side])
            stump[rows - last.start] += errors - self._side_wrong[rows, :, side]
        # Splits on this attribute leave the region's other conditions alone.
        stump[:, own] = 0.0
        for side in (0, 1):
            shares = (meets[last] * margin) @ mask[2 * own + side].T
            part = np.broadcast_to(whole[stripped[last]][:, None], (len(stump), len(own), whole.shape[1]))
            errors = shares * _missed(part, self._side_labels[last, own, side])
            stump[:, own] += errors - self._side_wrong[last, own, side]
        return leaf, stump

    def _greatest(self, leaf: Array, stump: Array) -> float:
        """Return the greatest sum of gains over the leaves of a near-optimal tree; fronts of errors against gains."""
        last, best = self._last, self._best
        costs, order = self._sorted
        gains = np.take_along_axis(np.concatenate([leaf[last, None], stump], axis=1), order, axis=1)
        fronts = Fronts(*_last_fronts(costs, gains, best[last] + self._reach[last]))
        for first in reversed(range(self.depth - 1)):
            # Regions of the level above: their fronts join those of both sides of each split.
            level = range(self._regions.starts[first], self._regions.starts[first + 1])
            below = self._regions.starts[first + 1]
            parts: list[tuple[Array, Array]] = []
            for region in level:
                true, false = self._sides(region)
                limit = float(best[region] + self._reach[region])
                usable = np.flatnonzero(self._costs(best, region) <= limit)
                leaf_of = float(self._wrong[region]), float(leaf[region])
                sides = true[usable] - below, false[usable] - below
                near, gain = _near_front(leaf_of, sides, fronts, float(best[region]), limit)
                order = np.argsort(near, kind="stable")
                near, gain = near[order], gain[order]
                on_it = np.diff(np.maximum.accumulate(gain), prepend=-np.inf) > 0
                parts.append((near[on_it], gain[on_it]))
            starts = np.cumsum([0, *(len(own) for own, _ in parts)])
            fronts = Fronts(starts, *(np.concatenate([part[i] for part in parts]) for i in (0, 1)))
        return float(fronts.gains[-1])

    @cached_property
    def _sorted(self) -> tuple[Array, Ints]:
        """Leaf and splits of each of the last regions by their errors, and which they are."""
        costs = np.concatenate([self._wrong[self._last, None], self._stumps], axis=1)
        order = np.argsort(costs, axis=1, kind="stable")
        return np.take_along_axis(costs, order, axis=1), order

    def _reached(self) -> Array:
        """Return by how much the errors of each region's subtree may exceed its lowest in a near-optimal tree.

        Negative where no near-optimal tree has the region.
        """
        reach = np.full(len(self._best), -np.inf)
        reach[0] = self.slack
        for region in range(self._regions.starts[self.depth - 1]):
            left = reach[region] - (self._costs(self._best, region) - self._best[region])
            for side in self._sides(region):
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
        n_classes = self._counts.whole.shape[1]
        out = np.zeros((len(different), n_classes), dtype=np.bool_)
        for row, holds in zip(out, different, strict=True):
            for label in range(n_classes):
                row[label] = self._lowest_with(holds, label) <= self.bound
        return np.asarray(out[where.ravel()])

    def _lowest_with(self, holds: Bools, label: int) -> float:
        """Return the lowest errors of the trees that predict a class for a record."""
        side = np.where(holds, 0, 1)
        signed = 2 * np.arange(self.splits.number) + side
        regions = self._regions
        own = {1: [0], 2: [0, *regions.at[signed, -1]]}.get(self.depth)
        if own is None:
            pairs = regions.at[np.ix_(signed, signed)][np.triu_indices(len(signed), 1)]
            own = [0, *regions.at[signed, -1], *pairs]
        chain = np.array(own, dtype=np.int64)
        lowest = np.full(len(self._best), np.inf)
        lowest[chain] = np.where(self._labels[chain] == label, self._wrong[chain], np.inf)
        final = chain[chain >= self._last.start]
        right = self._side_labels[final[:, None], np.arange(len(side)), side] == label
        stumps = np.where(right, self._stumps[final - self._last.start], np.inf)
        lowest[final] = np.minimum(lowest[final], stumps.min(axis=1, initial=np.inf))
        for region in chain[chain < self._last.start][::-1]:
            both = np.stack(self._sides(int(region)))
            places = np.arange(len(side))
            costs = lowest[both[side, places]] + self._best[both[1 - side, places]]
            lowest[region] = min(lowest[region], np.where(self._divides[region], costs, np.inf).min(initial=np.inf))
        return float(lowest[0])

    # Single trees: the best one, and samples.

    def best(self) -> Node:
        """Return a tree of the lowest errors, the one with fewer splits where two are equally good."""
        return self._best_below(0)

    def _best_below(self, region: int) -> Node:
        if self._wrong[region] <= self._best[region] + TINY:
            return self._leaf(region)
        if region >= self._last.start:
            return self._stump(region, int(self._stumps[region - self._last.start].argmin()))
        literal = int(self._costs(self._best, region).argmin())
        true, false = (int(side[literal]) for side in self._sides(region))
        return self._divided(region, literal, self._best_below(true), self._best_below(false))

    def _leaf(self, region: int) -> Node:
        return Node(counts=self._counts.whole[region])

    def _stump(self, region: int, literal: int) -> Node:
        inside = self._counts.inside[region, literal]
        rest = self._counts.whole[region] - inside
        return self._divided(region, literal, Node(counts=inside), Node(counts=rest))

    def _divided(self, region: int, literal: int, true: Node, false: Node) -> Node:
        counts = self._counts.whole[region]
        return Node(counts=counts, literal=self.splits.literals[literal], true=true, false=false)

    def sample(self, number: int, rng: np.random.Generator) -> tuple[list[Node], float]:
        """Return near-optimal trees, each equally likely and independent, and about how many there are.

        Trees are counted by their errors in steps rounded down, so that none is missed; a tree whose exact errors
        exceed the bound is drawn again.
        """
        counter = _Counter(self)
        out: list[Node] = []
        drawn = 0
        while len(out) < number:
            tree = counter.draw(rng)
            drawn += 1
            if errors_of(tree) <= self.bound:
                out.append(tree)
        return out, counter.total * len(out) / drawn


class _Counter:
    """Numbers of subtrees of each region by their errors beyond its lowest, in steps of the slack rounded down."""

    def __init__(self, trees: TreeSet) -> None:
        self._trees = trees
        last, best = trees._last, trees._best
        self._step = trees.slack / GRID
        usable = trees._reach >= 0
        # One more place for all that is beyond the slack.
        self._leaves = np.where(usable, self._steps(trees._wrong - best), GRID + 1)
        stumps = self._steps(trees._stumps - best[last, None])
        labels = trees._side_labels[last]
        self._stumps = np.where(usable[last, None] & (labels[..., 0] != labels[..., 1]), stumps, GRID + 1)
        self._numbers = np.zeros((len(best), GRID + 2))
        self._numbers[np.arange(len(best)), self._leaves] = 1.0
        rows = np.repeat(np.arange(last.start, last.stop), self._stumps.shape[1])
        np.add.at(self._numbers, (rows, self._stumps.ravel()), 1.0)
        self._numbers[:, -1] = 0.0
        for region in np.flatnonzero(usable[: last.start])[::-1]:
            for offset, true, false, twice in self._divisions(int(region)):
                both = np.convolve(self._numbers[true, :-1], self._numbers[false, :-1])[: GRID + 1 - offset]
                self._numbers[region, offset : offset + len(both)] += both
                if twice <= GRID:
                    self._numbers[region, twice] -= 1.0
        self.total = float(self._numbers[0].sum())

    def _steps(self, excess: Array) -> Ints:
        return np.asarray(np.minimum(np.maximum(excess, 0.0) / self._step, GRID + 1), dtype=np.int64)

    def _divisions(self, region: int) -> list[tuple[int, int, int, int]]:
        """Return the splits of a region within the slack: steps that they lose, both sides, and a place to take out.

        That place is of the two leaves of one class; beyond the grid if there is no such pair.
        """
        trees = self._trees
        lost = self._steps(trees._costs(trees._best, region) - trees._best[region])
        out = []
        for offset, true, false in zip(lost, *trees._sides(region), strict=True):
            same = offset <= GRID and trees._labels[true] == trees._labels[false]
            twice = offset + self._leaves[true] + self._leaves[false] if same else GRID + 1
            within = max(self._leaves[true], self._leaves[false]) <= GRID
            out.append((int(offset), int(true), int(false), int(twice) if within else GRID + 1))
        return out

    def draw(self, rng: np.random.Generator) -> Node:
        """Return one of all counted trees, each equally likely."""
        return self._drawn(0, _pick(self._numbers[0], rng), rng)

    def _drawn(self, region: int, steps: int, rng: np.random.Generator) -> Node:
        trees = self._trees
        is_leaf = float(self._leaves[region] == steps)
        if region >= trees._last.start:
            which = _pick(np.append(self._stumps[region - trees._last.start] == steps, is_leaf), rng)
            return trees._leaf(region) if which == trees.splits.number else trees._stump(region, which)
        divisions = self._divisions(region)
        numbers = [self._ways(steps, *division) for division in divisions]
        ways = [float(own.sum()) - (division[3] == steps) for own, division in zip(numbers, divisions, strict=True)]
        which = _pick(np.append(ways, is_leaf), rng)
        if which == len(divisions):
            return trees._leaf(region)
        offset, true, false, _ = divisions[which]
        while True:
            left = _pick(numbers[which], rng)
            parts = self._drawn(true, left, rng), self._drawn(false, steps - offset - left, rng)
            leaves = all(part.true is None for part in parts)
            if not (leaves and parts[0].counts.argmax() == parts[1].counts.argmax()):
                return trees._divided(region, which, *parts)

    def _ways(self, steps: int, offset: int, true: int, false: int, _: int) -> Array:
        """Return the numbers of pairs of subtrees that lose so many steps together, by those of the first."""
        left = steps - offset
        if left < 0:
            return np.zeros(1)
        return np.asarray(self._numbers[true, : left + 1] * self._numbers[false, left::-1])


def n_counts(n_literals: int, n_classes: int, depth: int) -> int:
    """Return how many counts a search of all trees of a depth needs."""
    signed = 2 * n_literals
    n_regions = 1 + signed * (depth > 1) + signed * (signed - 1) // 2 * (depth > 2)
    return n_regions * n_literals * n_classes


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


def _pick(weights: Array, rng: np.random.Generator) -> int:
    """Return a place with a probability proportional to its weight."""
    sums = np.cumsum(weights, dtype=np.float64)
    return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))


def _missed(counts: Array, labels: Ints) -> Array:
    """Return the records that are not of the class that is predicted; classes stand along the last axis."""
    hit = np.take_along_axis(counts, labels[..., None], axis=-1)[..., 0]
    return np.asarray(counts.sum(axis=-1) - hit)


class Fronts(NamedTuple):
    """Of each region the subtrees of which none has both fewer errors and a greater gain, by ascending errors.

    Fronts are exact: what they leave out is in no tree of the greatest gain.

    Attributes
    ----------
    starts : ndarray of int, shape (regions + 1,)
        Where the front of each region starts.
    errors, gains : ndarray
        Of the subtrees, region by region.
    """

    starts: AnyArray
    errors: AnyArray
    gains: AnyArray


@compiled
def _last_fronts(costs: AnyArray, gains: AnyArray, limits: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the fronts of rows whose costs ascend: their starts, errors and gains."""
    n_rows, width = costs.shape
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    errors, values = np.empty(costs.size), np.empty(costs.size)
    end = 0
    for row in range(n_rows):
        top = -np.inf
        for place in range(width):
            if not costs[row, place] <= limits[row]:
                break
            if gains[row, place] > top:
                top = gains[row, place]
                errors[end], values[end] = costs[row, place], top
                end += 1
        starts[row + 1] = end
    return starts, errors[:end].copy(), values[:end].copy()


@compiled
def _near_front(
    leaf: tuple[float, float], sides: tuple[AnyArray, AnyArray], fronts: Fronts, lowest: float, limit: float
) -> tuple[AnyArray, AnyArray]:
    """Return what may be on the front of a region: as a leaf, or divided into two regions with fronts of their own."""
    (true, false), (starts, errors, values) = sides, fronts
    if not lowest <= limit:
        return np.empty(0), np.empty(0)
    # The greatest gain in each interval of errors: what does not exceed that of the intervals before is on no front.
    n_intervals = 512
    width = max((limit - lowest) / n_intervals, 1e-12)
    tops = np.full(n_intervals + 1, -np.inf)
    n_kept = 0
    kept_errors, kept_gains = np.empty(0), np.empty(0)
    for sweep in range(3):
        # Sums are looked at three times, to find the tops, to count what is kept, and to keep it.
        if sweep == 1:
            before = -np.inf
            for k in range(n_intervals + 1):
                top = tops[k]
                tops[k] = before
                before = max(before, top)
        elif sweep == 2:
            kept_errors, kept_gains = np.empty(n_kept), np.empty(n_kept)
            n_kept = 0
        for j in range(-1, len(true)):
            first = starts[true[j]] if j >= 0 else 0
            for a in range(first, starts[true[j] + 1] if j >= 0 else 1):
                second = starts[false[j]] if j >= 0 else 0
                for b in range(second, starts[false[j] + 1] if j >= 0 else 1):
                    cost = errors[a] + errors[b] if j >= 0 else leaf[0]
                    if not cost <= limit:
                        break
                    gain = values[a] + values[b] if j >= 0 else leaf[1]
                    k = min(max(int((cost - lowest) / width), 0), n_intervals)
                    if sweep == 0:
                        tops[k] = max(tops[k], gain)
                    elif gain > tops[k]:
                        if sweep == 2:
                            kept_errors[n_kept], kept_gains[n_kept] = cost, gain
                        n_kept += 1
    return kept_errors, kept_gains
