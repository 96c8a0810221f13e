"""All trees of a few splits on fixed literals: the lowest errors, the trees near them, and what these predict.

A tree's errors, or squared errors, add up over its leaves, and follow from the counts of regions of at most three
literals. Dynamic programming over regions therefore searches all trees at once. Near-optimal trees are counted, and
sampled, each equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from glassine.compiling import compiled
from glassine.learners.summaries.additive_from_tables import variance_of
from glassine.learners.summaries.junction_tree import JunctionTree
from glassine.learners.summaries.pair_regions import MOST_COUNTS, RegionCounts, Regions, Splits, n_counts
from glassine.learners.summaries.released import ReleasedSummary
from glassine.learners.summaries.splitting import Growth, Region, SplitNode
from glassine.records.arrays import AnyArray, Array, Bools, Ints

TINY = 1e-9
"""Errors, in records, below which two trees are equally good: rounding of sums is far smaller."""

GRID = 200
"""Steps of the slack in which sampling counts trees. Coarser ones reject more samples; none makes them wrong."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeafLoss:
    """What leaves predict and lose: errors of their most frequent class, or squared errors of their mean."""

    # Of a number what stands for the classes. Sums of the target are exact in levels; those of its squares are not, but
    # add up to the same for all trees.
    levels: Array | None = None
    variance: float = 1.0  # That of a number; 1 of classes

    @classmethod
    def of(cls, released: ReleasedSummary, tree: JunctionTree) -> LeafLoss:
        """Return the loss of a summary's trees."""
        return cls(levels=released.levels, variance=variance_of(released, tree))

    def labels(self, counts: Array) -> AnyArray:
        """Return the class, or the mean, that each leaf predicts; classes or levels stand along the last axis."""
        if self.levels is None:
            return np.asarray(counts.argmax(axis=-1))
        return np.asarray(counts @ self.levels / np.maximum(counts.sum(axis=-1), TINY))

    def losses(self, counts: Array, labels: AnyArray) -> Array:
        """Return what is lost where these are predicted."""
        if self.levels is None:
            hit = np.take_along_axis(counts, labels[..., None], axis=-1)[..., 0]
            return np.asarray(counts.sum(axis=-1) - hit)
        squares, sums = counts @ self.levels**2, counts @ self.levels
        return np.asarray(squares - 2 * labels * sums + labels**2 * counts.sum(axis=-1))

    def of_tree(self, tree: SplitNode) -> float:
        """Return what a tree loses."""
        if tree.true is None or tree.false is None:
            return float(self.losses(tree.counts, self.labels(tree.counts)))
        return self.of_tree(tree.true) + self.of_tree(tree.false)


class TreeSet:
    """The trees of at most some depth whose errors exceed the lowest by no more than a slack.

    Each leaf predicts its most frequent class, or its mean; each side of a split holds at least some expected records;
    and no split has two leaves of the same prediction, which would be the same tree again. Errors of a number are
    squared ones.
    """

    def __init__(
        self,
        splits: Splits,
        counts: RegionCounts,
        *,
        depth: int,
        slack: float,
        least: float,
        loss: LeafLoss | None = None,
    ) -> None:
        # counts: expected records of Regions.of(splits.number, depth).
        # depth: most splits on a path, in [1, 3].
        # slack: most errors beyond the lowest, as a share of all records, or of the squared error of the mean.
        # least: least expected records of each side of a split, above 0.
        # total: all expected records; of a number the squared error of its mean.
        # lowest: lowest expected errors of a tree, in records; of a number but for a sum that all trees have in common.
        # slack, bound: most errors beyond the lowest, and most expected errors, of a near-optimal tree.
        # regions: the regions in which trees have their last splits, and those above.
        # labels, wrong: what each region predicts as a leaf, and its errors, shape (regions,).
        # side_labels, side_wrong: the same of both sides of each split; the literal holds on the first, shape (regions,
        # literals, 2).
        # divides: whether both sides of each split hold enough records, and values that are not missing, shape
        # (regions, literals).
        # stumps: errors of each of the last regions once it is divided; infinite where it may not be, shape (last
        # regions, literals).
        # lowest_below, reach: lowest errors of a subtree of each region, and by how much those of a near-optimal tree
        # may exceed them: negative where no near-optimal tree has the region, shape (regions,).
        self.splits, self.counts, self.depth = splits, counts, depth
        self.loss = loss or LeafLoss()
        self.regions = Regions.of(splits.number, depth)
        whole, inside = counts.whole, counts.inside
        # Both sides of each literal: axis 2 is 0 where it holds.
        sides = np.stack([inside, whole[:, None] - inside], axis=2)
        self.labels, self.side_labels = self.loss.labels(whole), self.loss.labels(sides)
        self.wrong = self.loss.losses(whole, self.labels)
        self.side_wrong = self.loss.losses(sides, self.side_labels)
        self.divides = (sides.sum(axis=3).min(axis=2) >= least) & splits.divide(self.regions)
        self.total = self.loss.variance * float(whole[0].sum())
        self.stumps = np.where(self.divides[self.last], self.side_wrong[self.last].sum(axis=2), np.inf)
        self.lowest_below = self._lowest(np.ones(splits.number, dtype=np.bool_))
        self.lowest = float(self.lowest_below[0])
        # Sums of more records are rounded more.
        self.slack = slack * self.total + TINY * max(1.0, self.total / 1000)
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

    @property
    def lowest_share(self) -> float:
        """Lowest errors as a share of all records, or lowest squared error as a share of that of the mean."""
        if self.loss.levels is None:
            return self.lowest / self.total
        return max(1.0 - (float(self.wrong[0]) - self.lowest) / self.total, 0.0)

    def _reached(self) -> Array:
        reach = np.full(len(self.lowest_below), -np.inf)
        reach[0] = self.slack
        for region in range(self.regions.starts[self.depth - 1]):
            left = reach[region] - (self.costs(self.lowest_below, region) - self.lowest_below[region])
            for side in self.sides(region):
                inner = side >= 0
                np.maximum.at(reach, side[inner], left[inner])
        return np.where(reach >= 0, reach, -1.0)

    # What near-optimal trees predict.

    def decisions(self, codes: Ints) -> AnyArray:
        """Return the classes that some near-optimal tree predicts for records, shape (n, classes)."""
        # Of a number the least and the greatest prediction, shape (n, 2).
        # Shapes: codes, the bins of the records, (attributes, n).
        different, where = np.unique(self.splits.holds(codes), axis=0, return_inverse=True)
        if self.loss.levels is None:
            out = np.zeros((len(different), self.counts.whole.shape[1]))
        else:
            out = np.tile([np.inf, -np.inf], (len(different), 1))
        _decide(
            different,
            out,
            self.regions.at,
            (self.labels.astype(np.float64), self.wrong, self.lowest_below),
            (self.side_labels.astype(np.float64), self.stumps, self.divides),
            (self.depth, self.last.start, self.bound, self.loss.levels is not None),
        )
        return np.asarray(out > 0 if self.loss.levels is None else out)[where.ravel()]

    # Single trees.

    def best(self) -> SplitNode:
        """Return a tree of the lowest errors, the one with fewer splits where two are equally good."""
        return self._best_below(0)

    def _best_below(self, region: int) -> SplitNode:
        if self.wrong[region] <= self.lowest_below[region] + TINY:
            return self.leaf(region)
        if region >= self.last.start:
            return self.stump(region, int(self.stumps[region - self.last.start].argmin()))
        literal = int(self.costs(self.lowest_below, region).argmin())
        true, false = (int(side[literal]) for side in self.sides(region))
        return self.divided(region, literal, self._best_below(true), self._best_below(false))

    def leaf(self, region: int) -> SplitNode:
        """Return a region as a leaf."""
        return SplitNode(counts=self.counts.whole[region])

    def stump(self, region: int, literal: int) -> SplitNode:
        """Return a region that one literal divides into leaves."""
        inside = self.counts.inside[region, literal]
        rest = self.counts.whole[region] - inside
        return self.divided(region, literal, SplitNode(counts=inside), SplitNode(counts=rest))

    def divided(self, region: int, literal: int, true: SplitNode, false: SplitNode) -> SplitNode:
        """Return a region that a literal divides into two subtrees."""
        counts = self.counts.whole[region]
        return SplitNode(counts=counts, literal=self.splits.literals[literal], true=true, false=false)


@compiled
def _decide(
    records: AnyArray,
    out: AnyArray,
    at: AnyArray,
    below: tuple[AnyArray, AnyArray, AnyArray],
    splits: tuple[AnyArray, AnyArray, AnyArray],
    limits: tuple[int, int, float, bool],
) -> None:
    """Write what the leaves predict in which a near-optimal tree may have each record, given by what holds for it."""
    # That is a one beside each class, or the least and the greatest number.
    (labels, wrong, lowest), (side_labels, stumps, divides), (depth, last, bound, number) = below, splits, limits
    n_literals = records.shape[1]
    chain = np.zeros(1 + n_literals + n_literals * (n_literals - 1) // 2, dtype=np.int64)
    for row in range(len(records)):
        side = np.where(records[row], 0, 1)
        # The regions that have the record: of no literal, of one, of two.
        length = 1
        if depth > 1:
            for i in range(n_literals):
                chain[length] = at[2 * i + side[i], 2 * n_literals]
                length += 1
        if depth > 2:
            for i in range(n_literals):
                for j in range(i + 1, n_literals):
                    chain[length] = at[2 * i + side[i], 2 * j + side[j]]
                    length += 1
        # The lowest errors of the rest of a tree that has the record in a region.
        rest = np.full(len(lowest), np.inf)
        rest[0] = 0.0
        for place in range(length):
            region = chain[place]
            if rest[region] + wrong[region] <= bound:
                _add(out[row], labels[region], number)
            if region < last:
                own = 2 * n_literals if region == 0 else 2 * (place - 1) + side[place - 1]
                for i in range(n_literals):
                    if divides[region, i]:
                        inner, outer = at[own, 2 * i + side[i]], at[own, 2 * i + 1 - side[i]]
                        rest[inner] = min(rest[inner], rest[region] + lowest[outer])
            elif rest[region] + lowest[region] <= bound:
                for i in range(n_literals):
                    if rest[region] + stumps[region - last, i] <= bound:
                        _add(out[row], side_labels[region, i, side[i]], number)


@compiled
def _add(decisions: AnyArray, label: float, number: bool) -> None:
    """Mark a class, or widen the least and the greatest number."""
    if number:
        decisions[0], decisions[1] = min(decisions[0], label), max(decisions[1], label)
    else:
        decisions[int(label)] = 1.0


def tree_of_lowest_errors(growth: Growth, depth: int) -> SplitNode:
    """Return a tree of the lowest errors; below the third split it is grown greedily, or earlier if bins are many."""
    # Greedy growth alone fails for errors: a split that pays only with the next one lowers none.
    splits, n_classes = Splits.of(growth), len(growth.tree.totals)
    fitting = [own for own in range(1, min(depth, 3) + 1) if n_counts(splits.number, n_classes, own) <= MOST_COUNTS]
    if not fitting or not splits.number:
        return growth.grow(depth)
    counts = RegionCounts.of(growth.tree, splits, Regions.of(splits.number, fitting[-1]))
    top = TreeSet(splits, counts, depth=fitting[-1], slack=0.0, least=growth.least).best()
    return top if depth == fitting[-1] else _deepened(top, {}, growth, splits, depth)


def _deepened(node: SplitNode, region: Region, growth: Growth, splits: Splits, depth: int) -> SplitNode:
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


def sample_trees(trees: TreeSet, number: int, rng: np.random.Generator) -> tuple[list[SplitNode], float]:
    """Return near-optimal trees, each equally likely and independent, and about how many there are."""
    # Trees are counted by their errors in steps rounded down, so that none is missed; a tree whose exact errors exceed
    # the bound is drawn again.
    counter = _Counter(trees)
    out: list[SplitNode] = []
    drawn = 0
    while len(out) < number:
        tree = counter.draw(rng)
        drawn += 1
        if trees.loss.of_tree(tree) <= trees.bound:
            out.append(tree)
    return out, counter.total * len(out) / drawn


class _Counter:
    """Numbers of subtrees of each region by their errors beyond its lowest, in steps of the slack rounded down."""

    def __init__(self, trees: TreeSet) -> None:
        self._trees = trees
        last, best = trees.last, trees.lowest_below
        self._step = trees.slack / GRID
        usable = trees.reach >= 0
        # One more place for all that is beyond the slack.
        self._leaves = np.where(usable, self._steps(trees.wrong - best), GRID + 1)
        stumps = self._steps(trees.stumps - best[last, None])
        labels = trees.side_labels[last]
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
        """Return the splits of a region within the slack: steps that they lose, both sides, and a place to take out."""
        # That place is of the two leaves of one prediction; beyond the grid if there is no such pair.
        trees = self._trees
        lost = self._steps(trees.costs(trees.lowest_below, region) - trees.lowest_below[region])
        out = []
        for offset, true, false in zip(lost, *trees.sides(region), strict=True):
            same = offset <= GRID and trees.labels[true] == trees.labels[false]
            twice = offset + self._leaves[true] + self._leaves[false] if same else GRID + 1
            within = max(self._leaves[true], self._leaves[false]) <= GRID
            out.append((int(offset), int(true), int(false), int(twice) if within else GRID + 1))
        return out

    def draw(self, rng: np.random.Generator) -> SplitNode:
        """Return one of all counted trees, each equally likely."""
        return self._drawn(0, _pick(self._numbers[0], rng), rng)

    def _drawn(self, region: int, steps: int, rng: np.random.Generator) -> SplitNode:
        trees = self._trees
        is_leaf = float(self._leaves[region] == steps)
        if region >= trees.last.start:
            which = _pick(np.append(self._stumps[region - trees.last.start] == steps, is_leaf), rng)
            return trees.leaf(region) if which == trees.splits.number else trees.stump(region, which)
        divisions = self._divisions(region)
        numbers = [self._ways(steps, *division) for division in divisions]
        ways = [float(own.sum()) - (division[3] == steps) for own, division in zip(numbers, divisions, strict=True)]
        which = _pick(np.append(ways, is_leaf), rng)
        if which == len(divisions):
            return trees.leaf(region)
        offset, true, false, _ = divisions[which]
        while True:
            left = _pick(numbers[which], rng)
            parts = self._drawn(true, left, rng), self._drawn(false, steps - offset - left, rng)
            leaves = all(part.true is None for part in parts)
            labels = [float(trees.loss.labels(part.counts)) for part in parts]
            if not (leaves and labels[0] == labels[1]):
                return trees.divided(region, which, *parts)

    def _ways(self, steps: int, offset: int, true: int, false: int, _: int) -> Array:
        """Return the numbers of pairs of subtrees that lose so many steps together, by those of the first."""
        left = steps - offset
        if left < 0:
            return np.zeros(1)
        return np.asarray(self._numbers[true, : left + 1] * self._numbers[false, left::-1])


def _pick(weights: Array, rng: np.random.Generator) -> int:
    """Return a place with a probability proportional to its weight."""
    sums = np.cumsum(weights, dtype=np.float64)
    return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
