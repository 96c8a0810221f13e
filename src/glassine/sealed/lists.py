"""The class of all rule lists over a public pool: its sums, its optimum, exact draws from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from glassine.compiling import compiled
from glassine.compiling.interpretation import interpreted
from glassine.compiling.slices import Progress, cuts, run
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import AnyArray, Array, Ints
from glassine.records.bits import BitSets
from glassine.records.conjunctions import ConjunctionCounts, count_conjunctions, count_steps, load_counting
from glassine.records.subsets import combinations, index_type
from glassine.sealed import gibbs
from glassine.sealed.atoms import Atoms
from glassine.sealed.atoms import admissible as divides
from glassine.sealed.gibbs import Choice
from glassine.sealed.list_family import DrawnList, ListFamily
from glassine.sealed.tree_kernels import of_public
from glassine.sealed.tree_sums import Costs, SetCounts, Weighed, leaf, refuse_inexact, total
from glassine.sealed.weighting import Weighting

SLICES = 40
"""Pieces in which a level is summed, so that progress can be shown and a run interrupted."""

# Sums over all rule lists, by one backward pass over the sets of public rules.
#
# What remains after some rules depends on their set, not on their order. The sum over the lists that continue a set S
# of m rules is kept as ``weight * exp(-epsilon * cost)``, as in :mod:`glassine.sealed.tree_sums`. The cost
# is that of the loss, summed over the records that each rule captures.


@compiled
def admissible(
    chosen: AnyArray, atoms: Atoms, covers: AnyArray, mask: AnyArray, out: AnyArray
) -> bool:  # pragma: no cover - compiled
    """Mark the rules that take a part of what the set leaves, and leave a part, by the domain's logic."""
    # Rules of one literal are judged by the atoms of their block, exactly. Other rules (block -1) are left out when one
    # earlier rule alone takes all that they would, or one earlier rule and they take everything: covers. Returns
    # whether the set leaves anything.
    # chosen: (m,), increasing; covers: (p, p) or empty; mask: room of shape (w,); out: (p,).
    # What a rule leaves is a node of a tree on its false side.
    if not divides(chosen, 0, atoms, mask, out):
        return False
    # Rules of several literals are beyond the atoms of one block: one earlier rule is compared at a time. More may be
    # admitted than is possible, never less.
    if len(covers):
        for i in range(len(chosen)):
            for rule in range(len(out)):
                out[rule] &= not covers[chosen[i], rule]
    for i in range(len(chosen)):
        out[chosen[i]] = False
    return True


@compiled
def choices(
    chosen: AnyArray,
    counts: SetCounts,
    allowed: AnyArray,
    costs: Costs,
    children: Weighed,
    captured: AnyArray,
    out: Weighed,
) -> None:  # pragma: no cover - compiled
    """Fill cost and weight of each next rule and, last, of the default rule."""
    # counts are those of what each set of rules leaves, children the sums below the sets of m + 1 rules. Without any,
    # only the default rule follows.
    # children: (binom(p, m + 1),) or empty; captured: room of shape (c,); out: (p + 1,). Invariant: ``below`` and
    # ``above`` are the ranks of the chosen rules before and behind the next one, the latter one place further, so that
    # the row of the wider set is found without sorting.
    table, offsets, binom = counts
    penalty, part_weight = costs.penalty, costs.part_weight
    child_costs, child_weights = children
    least_costs, weights = out
    m, p, n_classes = len(chosen), len(allowed), table.shape[1]
    last = len(child_costs) == 0
    own = offsets[m]
    for i in range(m):
        own += binom[chosen[i], i + 1]
    at = 0
    below = 0
    above = 0
    for i in range(m):
        above += binom[chosen[i], i + 2]
    for rule in range(p):
        while at < m and chosen[at] < rule:
            below += binom[chosen[at], at + 1]
            above -= binom[chosen[at], at + 2]
            at += 1
        if not allowed[rule]:
            least_costs[rule] = np.inf
            weights[rule] = 0.0
            continue
        row = below + binom[rule, at + 1] + above
        rest = table[offsets[m + 1] + row]
        for c in range(n_classes):
            captured[c] = table[own, c] - rest[c]
        cost, weight = leaf(captured, costs)
        if last:
            rest_cost, rest_weight = leaf(rest, costs)
        else:
            rest_cost, rest_weight = child_costs[row], child_weights[row]
        least_costs[rule] = penalty + cost + rest_cost
        weights[rule] = part_weight * weight * rest_weight
    least_costs[p], weights[p] = leaf(table[own], costs)


@compiled
def sum_level(
    sets: AnyArray,
    first: int,
    counts: SetCounts,
    atoms: Atoms,
    covers: AnyArray,
    costs: Costs,
    children: Weighed,
    out: Weighed,
) -> None:  # pragma: no cover - compiled
    """Sum over the lists that continue every set of m rules; ``sets`` are rows ``first`` onward."""
    # sets: (slice, m); out: (binom(p, m),). A set is summed whatever order its rules came in: what remains is the same.
    # Room is allotted once for a slice, which one thread works on.
    p = len(atoms.blocks)
    allowed = np.empty(p, dtype=np.bool_)
    mask = np.empty(atoms.masks.shape[1], dtype=np.uint64)
    captured = np.empty(counts.table.shape[1], dtype=np.int64)
    options = Weighed(np.empty(p + 1, dtype=np.float64), np.empty(p + 1, dtype=np.float64))
    for i in range(len(sets)):
        chosen = sets[i]
        if not admissible(chosen, atoms, covers, mask, allowed):
            out.costs[first + i] = np.inf
            out.weights[first + i] = 0.0
            continue
        choices(chosen, counts, allowed, costs, children, captured, options)
        cost, weight = total(options, costs)
        out.costs[first + i] = cost
        out.weights[first + i] = weight


DEFAULT = -1
"""Number of the choice that ends a list with its default rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListClass(ListFamily):
    """All rule lists of at most some number of rules, and their sums on records."""

    def sums(self, bitsets: BitSets, weighting: Weighting, progress: Progress | None = None) -> ListSums:
        """Return the sums over the class on some records, given as the bit sets of the rules."""
        # What a set of rules leaves is the conjunction of their negations: one table for trees and lists.
        with interpreted(self.steps() + count_steps(bitsets, self.levels)):
            counts = count_conjunctions(bitsets.complement(), self.levels, progress)
            return ListSums.of(self, counts, weighting, progress)

    def cell_counts(self, bitsets: BitSets, drawn: DrawnList) -> Ints:
        """Return the class counts of what each rule of a list captures, the default rule last, shape (k + 1, c)."""
        left, rows = bitsets.valid, []
        for rule, _ in drawn.rules:
            rows.append(bitsets.count(left & bitsets.words[rule]))
            left = left & ~bitsets.words[rule]
        return np.array([*rows, bitsets.count(left)])

    def load(self) -> None:
        """Load or compile the kernels of the sums, of signatures that follow from public types."""
        load_counting(self.n_classes)
        counts, atoms, _, costs = of_public(self.logic, self.loss)
        covers, weighed = self.logic.covers, Weighed(np.zeros(1), np.zeros(1))
        sets = np.zeros((1, 0), dtype=index_type(len(self.logic.antecedents)))
        sum_level.load(sets, 0, counts, atoms, covers, costs, weighed, weighed)
        mask, allowed = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.bool_)
        admissible.load(sets[0], atoms, covers, mask, allowed)
        captured = np.zeros(1, dtype=np.int64)
        choices.load(sets[0], counts, allowed, costs, weighed, captured, weighed)
        leaf.load(captured, costs)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ListSums:
    """Costs and weights of the lists that continue every set of rules."""

    lists: ListClass  # The class
    counts: ConjunctionCounts  # Class counts of what every set of up to K rules leaves: conjunctions of negated rules
    weighting: Weighting  # Epsilon, prior and penalty
    # costs, weights: as in :class:`~glassine.sealed.trees.TreeSums`, by the rank of the set.
    costs: tuple[Array, ...]
    weights: tuple[Array, ...]

    @classmethod
    def of(
        cls, lists: ListClass, counts: ConjunctionCounts, weighting: Weighting, progress: Progress | None = None
    ) -> ListSums:
        """Sum backwards, from the sets with one rule left to the empty set."""
        refuse_inexact(lists.loss, counts.table[0])
        logic, p = lists.logic, len(lists.logic.antecedents)
        tables = (SetCounts.of(counts, p, lists.length), Atoms.of(logic), logic.covers, Costs.of(weighting, lists.loss))
        levels: list[Weighed] = []
        for m in reversed(range(lists.levels)):
            sets = combinations(p, m)
            level = Weighed(*np.empty((2, len(sets))))
            children = levels[0] if levels else Weighed(*np.empty((2, 0)))

            # Bound now: the slices run on several threads, each on rows of its own.
            def work(
                start: int, stop: int, sets: AnyArray = sets, children: Weighed = children, level: Weighed = level
            ) -> None:
                sum_level(sets[start:stop], start, *tables, children, level)

            run(cuts(len(sets), SLICES), work, None if levels else progress)
            levels.insert(0, level)
        costs, weights = tuple(level.costs for level in levels), tuple(level.weights for level in levels)
        return cls(lists=lists, counts=counts, weighting=weighting, costs=costs, weights=weights)

    def __repr__(self) -> str:
        return f"<ListSums of up to {self.lists.length} of {len(self.lists.logic.antecedents)} rules>"

    def left(self, chosen: tuple[int, ...]) -> Ints:
        """Return the class counts, shape (c,), of the records that a set of rules leaves."""
        return self.counts.of(chosen)

    def class_counts(self, drawn: DrawnList) -> Ints:
        """Return the class counts of what each rule of a list captures, the default rule last, shape (k + 1, c)."""
        chosen: tuple[int, ...] = ()
        left = [self.left(chosen)]
        for rule, _ in drawn.rules:
            chosen = tuple(sorted((*chosen, rule)))
            left.append(self.left(chosen))
        return np.array([before - after for before, after in pairwise(left)] + [left[-1]])

    def choices(self, chosen: tuple[int, ...]) -> tuple[Array, Array]:
        """Return cost and weight of each next rule and, last, of the default rule; infinite where inadmissible."""
        with interpreted((len(self.lists.antecedents) + 1) * (self.lists.loss.n_values + len(chosen))):
            return self._choices(chosen)

    def _choices(self, chosen: tuple[int, ...]) -> tuple[Array, Array]:
        logic = self.lists.logic
        p, m = len(logic.antecedents), len(chosen)
        costs, weights = np.full(p + 1, np.inf), np.zeros(p + 1)
        if m == self.lists.levels:
            here = self.left(chosen)
            costs[p], weights[p] = leaf(here, Costs.of(self.weighting, self.lists.loss))
            return costs, weights
        rules = np.array(chosen, dtype=index_type(p))
        allowed = np.empty(p, dtype=np.bool_)
        mask = np.empty(logic.masks.shape[1], dtype=np.uint64)
        admissible(rules, Atoms.of(logic), logic.covers, mask, allowed)
        # The sums behind the last rule are not kept: only the default rule follows it.
        last = m == self.lists.levels - 1
        children = Weighed(*((np.zeros(0),) * 2 if last else (self.costs[m + 1], self.weights[m + 1])))
        counts, prices = SetCounts.of(self.counts, p, self.lists.length), Costs.of(self.weighting, self.lists.loss)
        captured = np.empty(self.lists.n_classes, dtype=np.int64)
        choices(rules, counts, allowed, prices, children, captured, Weighed(costs, weights))
        return costs, weights

    def log_size(self) -> float:
        """Return the natural logarithm of the sum of exp(-epsilon cost), times the prior, over all lists."""
        return gibbs.log_total(self._options(()), self.weighting)

    def draw(self, randomness: Randomness) -> DrawnList:
        """Draw a rule list, by exact draws of one choice after the other."""
        return self._grow(lambda options: gibbs.draw(options, randomness))

    def best(self) -> DrawnList:
        """Return a list of least cost; among equals the default rule before another, and the first rule or value."""
        return self._grow(gibbs.least)

    def _grow(self, pick: Callable[[Sequence[Choice]], int]) -> DrawnList:
        rules: list[tuple[int, int]] = []
        chosen: tuple[int, ...] = ()
        while (rule := pick(self._options(chosen))) != DEFAULT:
            rules.append((rule, pick(self._values(chosen, rule))))
            chosen = tuple(sorted((*chosen, rule)))
        return DrawnList(tuple(rules), pick(self._values(chosen, DEFAULT)))

    def _options(self, chosen: tuple[int, ...]) -> list[Choice]:
        costs, weights = self.choices(chosen)
        order = np.roll(np.arange(len(costs)), 1)
        return gibbs.choices([DEFAULT, *range(len(costs) - 1)], costs[order], weights[order], self.weighting)

    def _values(self, chosen: tuple[int, ...], rule: int) -> list[Choice]:
        counts = self.left(chosen)
        if rule != DEFAULT:
            counts = counts - self.left(tuple(sorted((*chosen, rule))))
        return gibbs.values(counts, self.lists.loss, self.weighting)
