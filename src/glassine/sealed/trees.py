"""The class of all decision trees of a depth over public literals: its sums, its optimum, exact draws from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.compiling.interpretation import interpreted
from glassine.compiling.slices import Progress
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Array, Ints
from glassine.records.bits import BitSets
from glassine.records.conjunctions import ConjunctionCounts, count_conjunctions, count_steps, load_counting
from glassine.sealed import gibbs, tree_sums
from glassine.sealed.atoms import Atoms, admissible
from glassine.sealed.gibbs import Choice
from glassine.sealed.last_splits import last_level
from glassine.sealed.tree_family import Leaf, Split, Tree, TreeFamily
from glassine.sealed.tree_kernels import load_last_level, load_levels, of_public
from glassine.sealed.tree_sums import Costs, Implied, SetCounts, Weighed, level_above
from glassine.sealed.weighting import Weighting

LEAF = -1
"""Number of the choice that makes a node a leaf."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeClass(TreeFamily):
    """All trees of at most some depth, and their sums on records."""

    def sums(self, bitsets: BitSets, weighting: Weighting, progress: Progress | None = None) -> TreeSums:
        """Return the sums over the class on some records, given as the bit sets of the literals."""
        with interpreted(count_steps(bitsets, self.levels)):
            counts = count_conjunctions(bitsets, self.levels, progress)
        return TreeSums.of(self, counts, weighting, progress)

    def cell_counts(self, bitsets: BitSets, drawn: Tree) -> Ints:
        """Return the class counts of a tree's leaves, in the order of :func:`leaf_nodes`, shape (k, c)."""
        rows: list[Ints] = []

        def walk(node: Tree, words: npt.NDArray[np.uint64]) -> None:
            if isinstance(node, Leaf):
                rows.append(bitsets.count(words))
                return
            holds = bitsets.words[node.literal]
            walk(node.true, words & holds)
            walk(node.false, words & ~holds)

        walk(drawn, bitsets.valid)
        return np.array(rows)

    def load(self) -> None:
        """Load or compile the kernels of the sums, of signatures that follow from public types."""
        load_counting(self.n_classes)
        counts, atoms, implied, costs = of_public(self.logic, self.loss)
        load_last_level(counts, atoms, implied, costs, self.levels)
        load_levels(counts, atoms, implied, costs)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TreeSums:
    """Costs and weights of the trees below every node, where a node is a set of literals with signs."""

    trees: TreeClass  # The class
    counts: ConjunctionCounts  # Class counts of conjunctions of up to d literals
    weighting: Weighting  # Epsilon, prior and penalty
    # costs, weights: the sum over the trees below the node of rank r with sign pattern s is ``weights[m][r, s] *
    # exp(-epsilon * costs[m][r, s])``; the cost is the least one. Infinite where the node is impossible, or where every
    # tree has a leaf of too few records.
    costs: tuple[Array, ...]
    weights: tuple[Array, ...]

    @classmethod
    def of(
        cls, trees: TreeClass, counts: ConjunctionCounts, weighting: Weighting, progress: Progress | None = None
    ) -> TreeSums:
        """Sum backwards, from the nodes with one split left to the root."""
        tree_sums.refuse_inexact(trees.loss, counts.table[0])
        p = len(trees.logic.literals)
        atoms, sizes = Atoms.of(trees.logic), SetCounts.of(counts, p, trees.depth)
        tables = (sizes, atoms, Implied.of(sizes, atoms), Costs.of(weighting, trees.loss))
        # A leaf takes about two steps besides those of its values; a choice above has two nodes below it.
        with interpreted(trees.leaves() * (trees.loss.n_values + 2)):
            nodes = last_level(*tables, trees.levels, progress)
        levels = nodes[-1:]
        with interpreted(2 * trees.choices_above()):
            while len(nodes) > 1:
                nodes = level_above(nodes, *tables)
                levels.insert(0, nodes[-1])
        costs, weights = tuple(level.costs for level in levels), tuple(level.weights for level in levels)
        return cls(trees=trees, counts=counts, weighting=weighting, costs=costs, weights=weights)

    def __repr__(self) -> str:
        return f"<TreeSums of depth {self.trees.depth} over {len(self.trees.logic.literals)} literals>"

    def class_counts(self, drawn: Tree) -> Ints:
        """Return the class counts of a tree's leaves, in the order of :func:`leaf_nodes`, shape (k, c)."""
        return np.array([self.node_counts(*leaf) for leaf in leaf_nodes(drawn)])

    def node_counts(self, chosen: tuple[int, ...], signs: int) -> Ints:
        """Return the class counts, shape (c,), of a node; bit i of ``signs`` is the sign of its i-th literal."""
        return self.counts.signed(chosen, tuple(bool(signs >> i & 1) for i in range(len(chosen))))

    def choices(self, chosen: tuple[int, ...], signs: int) -> tuple[Array, Array]:
        """Return cost and weight of a split on each literal and, last, of a leaf; infinite cost where inadmissible."""
        loss = self.trees.loss
        with interpreted(
            (len(self.trees.logic.literals) + 1) * (loss.n_values + loss.n_classes * 2 ** (len(chosen) + 1))
        ):
            return self._choices(chosen, signs)

    def _choices(self, chosen: tuple[int, ...], signs: int) -> tuple[Array, Array]:
        logic = self.trees.logic
        p, m = len(logic.literals), len(chosen)
        costs, weights = np.full(p + 1, np.inf), np.zeros(p + 1)
        prices = Costs.of(self.weighting, self.trees.loss)
        # Of the type of the tables, for which the sums of the levels above compiled the same kernels.
        here = self.node_counts(chosen, signs).astype(self.counts.table.dtype)
        if m == self.trees.levels:
            costs[p], weights[p] = tree_sums.leaf(here, prices)
            return costs, weights
        literals = np.array(chosen, dtype=np.int64)
        allowed, out = np.empty(p, dtype=np.bool_), Weighed(costs, weights)
        mask = np.empty(logic.masks.shape[1], dtype=np.uint64)
        admissible(literals, signs, Atoms.of(logic), mask, allowed)
        allowed[list(chosen)] = False
        counts = SetCounts.of(self.counts, p, self.trees.depth)
        if m == self.trees.levels - 1:
            tree_sums.last_choices(literals, signs, allowed, counts, prices, out)
        else:
            children = Weighed(self.costs[m + 1], self.weights[m + 1])
            tree_sums.inner_choices(literals, signs, here, allowed, prices, counts.binom, children, out)
        return costs, weights

    def log_size(self) -> float:
        """Return the natural logarithm of the sum of exp(-epsilon cost), times the prior, over all trees."""
        return gibbs.log_total(self._options((), 0), self.weighting)

    def draw(self, randomness: Randomness) -> Tree:
        """Draw a tree, by exact draws of one choice after the other."""
        return self._grow((), 0, lambda options: gibbs.draw(options, randomness))

    def best(self) -> Tree:
        """Return a tree of least cost; among equals a leaf before a split, and the first literal or value."""
        return self._grow((), 0, gibbs.least)

    def _grow(self, chosen: tuple[int, ...], signs: int, pick: Callable[[Sequence[Choice]], int]) -> Tree:
        number = pick(self._options(chosen, signs))
        if number == LEAF:
            return Leaf(pick(self._values(chosen, signs)))
        # The true side first, in every walk: the draws of a seed stand in this order.
        true, false = children(chosen, signs, number)
        return Split(number, self._grow(*true, pick), self._grow(*false, pick))

    def _options(self, chosen: tuple[int, ...], signs: int) -> list[Choice]:
        costs, weights = self.choices(chosen, signs)
        # The leaf comes first, so that it is taken where a split gains nothing.
        order = np.roll(np.arange(len(costs)), 1)
        return gibbs.choices([LEAF, *range(len(costs) - 1)], costs[order], weights[order], self.weighting)

    def _values(self, chosen: tuple[int, ...], signs: int) -> list[Choice]:
        return gibbs.values(self.node_counts(chosen, signs), self.trees.loss, self.weighting)


def children(chosen: tuple[int, ...], signs: int, literal: int) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return the two nodes, set and signs, into which a split on a literal divides a node: where true, where false."""
    # The sign of the new literal goes between those of the smaller and of the larger ones.
    at = sum(other < literal for other in chosen)
    wider = (*chosen[:at], literal, *chosen[at:])
    low, high = signs & (1 << at) - 1, (signs >> at) << (at + 1)
    return (wider, low | high | 1 << at), (wider, low | high)


def leaf_nodes(tree: Tree) -> list[tuple[tuple[int, ...], int]]:
    """Return the leaves of a tree, depth first, true before false, each as its literals and their signs."""
    out: list[tuple[tuple[int, ...], int]] = []
    stack: list[tuple[Tree, tuple[int, ...], int]] = [(tree, (), 0)]
    while stack:
        node, chosen, signs = stack.pop()
        if isinstance(node, Leaf):
            out.append((chosen, signs))
            continue
        true, false = children(chosen, signs, node.literal)
        # The last one in comes out first: true before false.
        stack += [(node.false, *false), (node.true, *true)]
    return out
