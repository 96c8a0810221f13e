"""Samples of near-optimal trees, each equally likely, and about how many such trees there are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glassine.learners.summaries.splitting import Node
from glassine.learners.summaries.tree_sets import TreeSet

GRID = 200
"""Steps of the slack in which sampling counts trees. Coarser ones reject more samples; none makes them wrong."""

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def sample_trees(trees: TreeSet, number: int, rng: np.random.Generator) -> tuple[list[Node], float]:
    """Return near-optimal trees, each equally likely and independent, and about how many there are.

    Trees are counted by their errors in steps rounded down, so that none is missed; a tree whose exact errors
    exceed the bound is drawn again.
    """
    counter = _Counter(trees)
    out: list[Node] = []
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
        """Return the splits of a region within the slack: steps that they lose, both sides, and a place to take out.

        That place is of the two leaves of one prediction; beyond the grid if there is no such pair.
        """
        trees = self._trees
        lost = self._steps(trees.costs(trees.lowest_below, region) - trees.lowest_below[region])
        out = []
        for offset, true, false in zip(lost, *trees.sides(region), strict=True):
            same = offset <= GRID and trees.labels[true] == trees.labels[false]
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
