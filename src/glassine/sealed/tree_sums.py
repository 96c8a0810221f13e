"""Sums over all trees of a depth, by one backward pass over the conjunctions of public literals.

A node of a tree is a set of m literals with signs; below it stand trees of depth d - m at most. Its sum is kept as
``weight * exp(-epsilon * cost)``, where ``cost`` is the least cost of the trees below the node, a whole number, and
``weight`` a float of moderate size: nothing overflows, and the powers of exp(-epsilon) come from a table.
See ``private.md`` for the recursion and the bound on rounding.

Of literals on one attribute, often one follows from another. Then the node is a smaller one with the same records and
splits, whose sum it gets.
"""

from __future__ import annotations

from itertools import pairwise, product
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from glassine.compiling import compiled
from glassine.compiling.slices import cuts, run
from glassine.counting.logic import shared_atoms
from glassine.errors import InvalidDataError
from glassine.records.arrays import AnyArray
from glassine.records.conjunctions import ConjunctionCounts
from glassine.records.subsets import advance, binomials, combination
from glassine.sealed.atoms import Atoms, admissible
from glassine.sealed.losses import EXACT, LeafCosts
from glassine.sealed.weighting import Weighting

__all__: list[str] = []

PIECES = 8
"""Slices of what is summed at a time, which are summed on all cores."""
PAIRS = 2**16
"""Pairs of literals that are compared at a time."""


def refuse_inexact(loss: LeafCosts, counts: npt.NDArray[np.integer]) -> None:
    """Raise if a model could cost 2^53 units or more on so many records of each class, shape (c,)."""
    # Python's whole numbers: the product may exceed 64 bits.
    # A class that costs nothing in any leaf may have any number.
    total, most = sum(counts[loss.costs.any(axis=0)].tolist()), (EXACT - 1) // loss.unit
    if total > most:
        raise InvalidDataError(
            f"costs are exact for at most {most // loss.parts:,} records of this loss, "
            f"got {total // loss.parts:,}, weights counted.",
            remedy="Divide the weights by a common factor, or take fewer records.",
        )


class SetCounts(NamedTuple):
    """Class counts of conjunctions: rows of ``table``, (sets, c), by size from ``offsets`` and by rank from ``binom``.

    ``binom`` is Pascal's triangle: the rank of an increasing set x_1 < x_2 < ... is the sum of binom[x_i, i].
    """

    table: AnyArray
    offsets: AnyArray
    binom: AnyArray

    @classmethod
    def of(cls, counts: ConjunctionCounts, p: int, size: int) -> SetCounts:
        """Return the counts of conjunctions of up to ``size`` of p conditions, for the kernels."""
        # Ranks are also formed of members one place further: one row and two columns more than the sets have.
        return cls(counts.table, counts.offsets, binomials(p + 1, size + 2))


class Costs(NamedTuple):
    """What a part and a record cost, and the weight of a cost.

    ``penalty`` and ``part_weight`` are those of a split or rule; ``values`` (v, c) is the cost of a record of each
    class in a leaf of each value. exp(-epsilon j) is ``jumps[j >> shift]`` times ``powers`` of the bits below. A leaf
    of fewer than ``fewest`` counts is not allowed. Sums whose least cost is not known yet are relative to a multiple of
    2^``block``.
    """

    penalty: float
    part_weight: float
    values: AnyArray
    powers: AnyArray
    jumps: AnyArray
    shift: int
    fewest: int
    block: int

    @classmethod
    def of(cls, weighting: Weighting, loss: LeafCosts) -> Costs:
        """Return a weighting and a loss, for the kernels."""
        return cls(
            weighting.penalty,
            weighting.part_weight,
            loss.costs,
            weighting.powers,
            weighting.jumps,
            weighting.shift,
            weighting.fewest,
            weighting.block,
        )


class Weighed(NamedTuple):
    """Costs and weights, one of each for a choice or for a node: a sum is weight * exp(-epsilon * cost)."""

    costs: AnyArray
    weights: AnyArray


class Implied(NamedTuple):
    """Pairs of literals of which one says nothing beside the other, by the domain's logic and in the records.

    Bit a + 2 b of ``pairs[i, j]``, i < j, says so of literal i with sign a and j with sign b; that of ``later``, that j
    follows from i, else i from j.
    """

    pairs: AnyArray
    later: AnyArray

    @classmethod
    def of(cls, counts: SetCounts, atoms: Atoms) -> Implied:
        """Return the pairs that no record contradicts: one with an undeclared value, or against a group, may."""
        table, offsets, binom = counts
        blocks, starts, masks, full = atoms
        out = cls(*np.zeros((2, len(blocks), len(blocks)), dtype=np.uint8))
        if len(offsets) < 4:
            return out
        sizes = table[: offsets[3]].sum(axis=1, dtype=np.int64)
        possible = full[blocks]
        atoms_in = masks & possible
        n_in, whole = (np.bitwise_count(words).sum(axis=1, dtype=np.int64) for words in (atoms_in, possible))
        for start, end in pairwise(starts.tolist()):
            # In parts: all pairs of thousands of literals at once would fill gigabytes.
            rows = max(1, PAIRS // max(1, end - start))
            for low in range(start, end, rows):
                high = min(low + rows, end)
                i, j = np.arange(low, high)[:, None], np.arange(low + 1, end)
                # Where i is not the smaller, the pair is another one, and is not looked at.
                smaller, ordered = np.minimum(i, j - 1), i < j
                one, other = sizes[offsets[1] + i], sizes[offsets[1] + j]
                both = sizes[offsets[2] + binom[smaller, 1] + binom[j, 2]]
                shared = shared_atoms(atoms_in[start:end], possible[start], low - start, high - start)
                records = [[sizes[0] - one - other + both, other - both], [one - both, both]]
                places = [[whole[i] - n_in[i] - n_in[j] + shared, n_in[j] - shared], [n_in[i] - shared, shared]]
                empty = [[ordered & (records[a][b] == 0) & (places[a][b] == 0) for b in (0, 1)] for a in (0, 1)]
                part = (slice(low, high), slice(low + 1, end))
                for a, b in product((0, 1), (0, 1)):
                    out.later[part] |= empty[a][1 - b].astype(np.uint8) << (a + 2 * b)
                    out.pairs[part] |= (empty[a][1 - b] | empty[1 - a][b]).astype(np.uint8) << (a + 2 * b)
        return out


def empty_level(p: int, size: int) -> Weighed:
    """Return room for the sums of the nodes of a size, which are zero."""
    shape = (comb(p, size), 2**size)
    return Weighed(np.full(shape, np.inf), np.zeros(shape))


@compiled
def power(cost: int, powers: AnyArray, jumps: AnyArray, shift: int) -> Any:  # pragma: no cover - compiled
    """Return exp(-epsilon cost)."""
    # Beyond the tables stands their last entry, 0. No lookup needs a branch.
    jump = min(cost >> shift, len(jumps) - 1)
    return jumps[np.uintp(jump)] * powers[np.uintp(min(cost & (1 << shift) - 1, len(powers) - 1))]


@compiled
def leaf(counts: AnyArray, costs: Costs) -> tuple[float, float]:  # pragma: no cover - compiled
    """Return the least cost of a value, and the sum over values of exp(-epsilon (cost - least cost))."""
    # The cost is infinite, and the sum zero, where the leaf has too few counts.
    # counts: (c,), whole numbers, so that the cost is exact. It is formed twice rather than kept: no room is allotted.
    values, powers, jumps, shift = costs.values, costs.powers, costs.jumps, costs.shift
    if costs.fewest > 0:
        some = np.int64(0)
        for c in range(len(counts)):
            some += np.int64(counts[c])
        if some < costs.fewest:
            return np.inf, 0.0
    least = np.int64(0)
    for v in range(len(values)):
        cost = np.int64(0)
        for c in range(len(counts)):
            cost += values[v, c] * counts[c]
        least = cost if v == 0 else min(least, cost)
    weight = 0.0
    for v in range(len(values)):
        cost = np.int64(0)
        for c in range(len(counts)):
            cost += values[v, c] * counts[c]
        weight += power(cost - least, powers, jumps, shift)
    # Costs are below 2^53, where doubles are exact.
    return float(least), weight


@compiled
def _rank_of(chosen: AnyArray, subset: int, m: int, binom: AnyArray) -> int:  # pragma: no cover - compiled
    """Return the rank of the members of a set that a bit mask picks."""
    out = 0
    place = 0
    for i in range(m):
        if subset >> i & 1:
            place += 1
            out += binom[chosen[i], place]
    return out


@compiled
def last_choices(
    chosen: AnyArray, signs: int, allowed: AnyArray, counts: SetCounts, costs: Costs, out: Weighed
) -> None:  # pragma: no cover - compiled
    """Fill cost and weight of every choice at a node below which one more split is allowed.

    Entry l is a split on literal l with two leaves, entry p a leaf. Costs are infinite where a split is not allowed.
    """
    m, p = len(chosen), len(allowed)
    inside = np.empty((2 << m, counts.table.shape[1]), dtype=counts.table.dtype)
    wider = np.empty(m + 1, dtype=chosen.dtype)
    at = 0
    for literal in range(p):
        while at < m and chosen[at] < literal:
            at += 1
        out.costs[literal], out.weights[literal] = np.inf, 0.0
        if allowed[literal]:
            for i in range(m):
                wider[i + (i >= at)] = chosen[i]
            wider[at] = literal
            signed_insides(wider, counts, inside)
            false = signs & (1 << at) - 1 | (signs >> at) << (at + 1)
            cost, weight = leaf(inside[false | 1 << at], costs)
            other_cost, other_weight = leaf(inside[false], costs)
            out.costs[literal] = costs.penalty + (cost + other_cost)
            out.weights[literal] = costs.part_weight * weight * other_weight
    signed_insides(chosen, counts, inside)
    out.costs[p], out.weights[p] = leaf(inside[signs], costs)


@compiled
def inner_choices(
    chosen: AnyArray,
    signs: int,
    inside: AnyArray,
    allowed: AnyArray,
    costs: Costs,
    binom: AnyArray,
    children: Weighed,
    out: Weighed,
) -> None:  # pragma: no cover - compiled
    """As :func:`last_choices`, for a node whose children's sums are known; rows of the tables are ranks."""
    # children: (binom(p, m + 1), 2^(m + 1)); out: (p + 1,), entry l the split on literal l. Invariant: ``below`` is the
    # rank of the members before the literal, ``above`` that of those behind it, each one place further, so that the
    # child's row is found without sorting.
    penalty, split_weight = costs.penalty, costs.part_weight
    child_costs, child_weights = children
    least_costs, weights = out
    m, p = len(chosen), len(allowed)
    at = 0
    below = 0
    above = 0
    for i in range(m):
        above += binom[chosen[i], i + 2]
    for literal in range(p):
        while at < m and chosen[at] < literal:
            below += binom[chosen[at], at + 1]
            above -= binom[chosen[at], at + 2]
            at += 1
        if not allowed[literal]:
            least_costs[literal] = np.inf
            weights[literal] = 0.0
            continue
        row = below + binom[literal, at + 1] + above
        low = signs & (1 << at) - 1
        false = low | (signs >> at) << (at + 1)
        true = false | 1 << at
        least_costs[literal] = penalty + child_costs[row, true] + child_costs[row, false]
        weights[literal] = split_weight * child_weights[row, true] * child_weights[row, false]
    least_costs[p], weights[p] = leaf(inside, costs)


@compiled
def total(options: Weighed, costs: Costs) -> tuple[float, float]:  # pragma: no cover - compiled
    """Return the least cost, and the sum of the weights relative to it."""
    # Two passes: relative to the least cost every weight is at most its own size, and nothing overflows.
    powers, jumps, shift = costs.powers, costs.jumps, costs.shift
    least_costs, weights = options
    least = np.inf
    for i in range(len(least_costs)):
        least = min(least, least_costs[i])
    out = 0.0
    for i in range(len(least_costs)):
        # A cost that is infinite has no whole number.
        if weights[i] > 0.0:
            out += weights[i] * power(int(least_costs[i] - least), powers, jumps, shift)
    return least, out


@compiled
def signed_insides(chosen: AnyArray, counts: SetCounts, inside: AnyArray) -> None:  # pragma: no cover - compiled
    """Fill the class counts of a set of m literals under all signs: bit i of a pattern says that literal i is true."""
    # inside: (2^m, c). First what has the literals of a subset true and the others free; then, literal by literal, what
    # has it true is subtracted from what leaves it free. Whole numbers: exact in any order.
    table, offsets, binom = counts
    m = len(chosen)
    for subset in range(1 << m):
        size = 0
        for i in range(m):
            size += subset >> i & 1
        row = offsets[size] + _rank_of(chosen, subset, m, binom)
        for c in range(inside.shape[1]):
            inside[subset, c] = table[row, c]
    for i in range(m):
        for subset in range(1 << m):
            if not subset >> i & 1:
                for c in range(inside.shape[1]):
                    inside[subset, c] -= inside[subset | 1 << i, c]


@compiled
def keep_apart(chosen: AnyArray, implied: Implied, wanted: AnyArray) -> None:  # pragma: no cover - compiled
    """Clear bit i of each sign pattern of a set where, without literal i, a literal is still implied by another."""
    # A pair stays in the node that lacks one literal, unless that is of the pair.
    for b in range(1, len(chosen)):
        for a in range(b):
            bits = implied.pairs[chosen[a], chosen[b]]
            if bits:
                for q in range(len(wanted)):
                    if bits >> ((q >> a & 1) + 2 * (q >> b & 1)) & 1:
                        wanted[q] &= np.uint32(1 << a | 1 << b)


@compiled
def sum_level(
    first: AnyArray, counts: SetCounts, atoms: Atoms, implied: Implied, costs: Costs, children: Weighed, into: Weighed
) -> None:  # pragma: no cover - compiled
    """Sum over the trees below consecutive nodes of m literals; ``children`` are the sums below those of m + 1."""
    # Room is allotted once for a slice, which one thread works on. Counts of all 2^m patterns are formed together,
    # since each needs the others'. A node in which a literal is implied is not looked at: see :func:`inherit`.
    m, p = len(first), len(atoms.blocks)
    inside = np.empty((1 << m, counts.table.shape[1]), dtype=counts.table.dtype)
    chosen, allowed = first.copy(), np.empty(p, dtype=np.bool_)
    mask = np.empty(atoms.masks.shape[1], dtype=np.uint64)
    options = Weighed(np.empty(p + 1, dtype=np.float64), np.empty(p + 1, dtype=np.float64))
    wanted = np.empty(1 << m, dtype=np.uint32)
    for row in range(len(into.costs)):
        wanted[:] = (1 << m) - 1
        keep_apart(chosen, implied, wanted)
        signed_insides(chosen, counts, inside)
        for signs in range(1 << m):
            if wanted[signs] == (1 << m) - 1 and admissible(chosen, signs, atoms, mask, allowed):
                inner_choices(chosen, signs, inside[signs], allowed, costs, counts.binom, children, options)
                into.costs[row, signs], into.weights[row, signs] = total(options, costs)
        advance(chosen)


@compiled
def rank_without(chosen: AnyArray, out: int, binom: AnyArray) -> int:  # pragma: no cover - compiled
    """Return the rank of a set without one of its literals, by its place."""
    rank = 0
    for i in range(len(chosen)):
        if i != out:
            rank += binom[chosen[i], i + 1 if i < out else i]
    return rank


@compiled
def inherit(
    first: AnyArray, binom: AnyArray, implied: Implied, smaller: Weighed, into: Weighed
) -> None:  # pragma: no cover - compiled
    """Give consecutive nodes in which a literal is implied by another the sums of the node without it."""
    # smaller: of all nodes with one literal less. The two nodes have the same records and admissible splits.
    chosen = first.copy()
    m = len(chosen)
    for row in range(len(into.costs)):
        for b in range(1, m):
            for a in range(b):
                bits, later = implied.pairs[chosen[a], chosen[b]], implied.later[chosen[a], chosen[b]]
                if not bits:
                    continue
                without_a, without_b = rank_without(chosen, a, binom), rank_without(chosen, b, binom)
                for s in range(1 << m):
                    signs = (s >> a & 1) + 2 * (s >> b & 1)
                    if bits >> signs & 1:
                        out = b if later >> signs & 1 else a
                        remaining = s >> (out + 1) << out | s & ((1 << out) - 1)
                        rank = without_b if out == b else without_a
                        into.costs[row, s] = smaller.costs[rank, remaining]
                        into.weights[row, s] = smaller.weights[rank, remaining]
        advance(chosen)


def level_above(below: list[Weighed], counts: SetCounts, atoms: Atoms, implied: Implied, costs: Costs) -> list[Weighed]:
    """Return the sums below every node after which one split more may come than for those of ``below``."""
    nodes = [empty_level(len(atoms.blocks), m) for m in range(len(below) - 1)]
    for m, level in enumerate(nodes):

        def work(start: int, stop: int, m: int = m, level: Weighed = level) -> None:
            into = rows(level, start, stop)
            sum_level(combination(start, m), counts, atoms, implied, costs, below[m + 1], into)

        run(cuts(len(level.costs), PIECES), work)
    return completed(nodes, counts, implied)


def completed(nodes: list[Weighed], counts: SetCounts, implied: Implied) -> list[Weighed]:
    """Return the nodes, those in which a literal is implied with the sums of the node without it."""
    # From small nodes to large ones: those are complete.
    for m in range(2, len(nodes)):

        def work(start: int, stop: int, m: int = m) -> None:
            inherit(combination(start, m), counts.binom, implied, nodes[m - 1], rows(nodes[m], start, stop))

        run(cuts(len(nodes[m].costs), PIECES), work)
    return nodes


def rows(level: Weighed, start: int, stop: int) -> Weighed:
    """Return the sums of consecutive sets."""
    return Weighed(level.costs[start:stop], level.weights[start:stop])
