"""Sums over all trees of a depth, by one backward pass over the conjunctions of public literals.

A node of a tree is a set of m literals with signs; below it stand trees of depth d - m at most. Its sum is kept as
``weight * exp(-epsilon * cost)``, where ``cost`` is the least cost of the trees below the node, a whole number, and
``weight`` a float of moderate size: nothing overflows, and the powers of exp(-epsilon) come from a table.
See ``private.md`` for the recursion and the bound on rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from glassine.compiling import compiled
from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.data.arrays import AnyArray
from glassine.data.conjunctions import ConjunctionCounts, binomials, combinations
from glassine.data.slices import Progress, cuts, run
from glassine.learners.exhaustive.gibbs import Weighting
from glassine.learners.exhaustive.losses import Loss

__all__: list[str] = []

SLICES = 40
"""Pieces in which a level is summed, so that progress can be shown and a run interrupted."""


class Counts(NamedTuple):
    """Class counts of conjunctions: rows of ``table``, (sets, c), by size from ``offsets`` and by rank from ``binom``.

    ``binom`` is Pascal's triangle: the rank of an increasing set x_1 < x_2 < ... is the sum of binom[x_i, i].
    """

    table: AnyArray
    offsets: AnyArray
    binom: AnyArray

    @classmethod
    def of(cls, counts: ConjunctionCounts, p: int, size: int) -> Counts:
        """Return the counts of conjunctions of up to ``size`` of p conditions, for the kernels."""
        # Ranks are also formed of members one place further: one row and two columns more than the sets have.
        return cls(counts.table, counts.offsets, binomials(p + 1, size + 2))


class Atoms(NamedTuple):
    """The conditions as sets of atoms of their block of dependent attributes; conditions are sorted by block.

    ``blocks`` (p,) is the block of each condition, ``starts`` (blocks + 1,) the first condition of each block,
    ``masks`` (p, w) the atoms of each condition as bits, ``full`` (blocks, w) all atoms of each block.
    """

    blocks: AnyArray
    starts: AnyArray
    masks: AnyArray
    full: AnyArray

    @classmethod
    def of(cls, logic: LiteralLogic | RuleLogic) -> Atoms:
        """Return the atoms of a logic, for the kernels."""
        return cls(logic.blocks, logic.starts, logic.masks, logic.full)


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
    def of(cls, weighting: Weighting, loss: Loss) -> Costs:
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


class Room(NamedTuple):
    """Room for the leaves of each split: ``costs`` (v + 1, 2, p) by value, the least one last; ``weights`` (2, p)."""

    costs: AnyArray
    weights: AnyArray


class Weighed(NamedTuple):
    """Costs and weights, one of each for a choice or for a node: a sum is weight * exp(-epsilon * cost)."""

    costs: AnyArray
    weights: AnyArray


def backward(
    kernel: Callable[..., None],
    tables: tuple[object, ...],
    p: int,
    levels: int,
    signs: int,
    progress: Progress | None,
    last: Weighed | None = None,
) -> list[Weighed]:
    """Return the sums of every level m < ``levels``, from the sets with one condition left to the empty set."""
    out: list[Weighed] = [] if last is None else [last]
    for m in reversed(range(levels - len(out))):
        sets = combinations(p, m)
        shape = (len(sets), signs**m)[:signs]
        level = Weighed(np.empty(shape), np.empty(shape))
        children = out[0] if out else Weighed(np.zeros(shape)[:0], np.zeros(shape)[:0])

        # Bound now: the slices run after the loop has moved on, on several threads, each on rows of its own.
        def work(
            start: int, stop: int, sets: AnyArray = sets, children: Weighed = children, level: Weighed = level
        ) -> None:
            kernel(sets[start:stop], start, *tables, children, level)

        run(cuts(len(sets), SLICES), work, None if out else progress)
        out.insert(0, level)
    return out


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
def signed_counts(
    chosen: AnyArray, counts: Counts, inside: AnyArray, beside: AnyArray
) -> None:  # pragma: no cover - compiled
    """Fill the class counts of a set of m literals under all signs, alone and with each further literal."""
    # Bit i of a sign pattern s says that literal i of the set is true. inside[s] becomes the counts of the pattern,
    # shape (c,), beside[s, :, l] those of the pattern with literal l true.
    table, offsets, binom = counts
    m, n_classes, p = len(chosen), beside.shape[1], beside.shape[2]
    signed_insides(chosen, counts, inside)
    for subset in range(1 << m):
        size = 0
        for i in range(m):
            size += subset >> i & 1
        # The rank of subset + {l}: members below l keep their place, those above move up by one.
        below = offsets[size + 1]
        place = 0
        for i in range(m):
            if subset >> i & 1:
                place += 1
                below += binom[chosen[i], place + 1]
        place = 0
        start = 0
        for i in range(m + 1):
            stop = chosen[i] if i < m else p
            for literal in range(start, stop):
                row = below + binom[literal, place + 1]
                for c in range(n_classes):
                    beside[subset, c, literal] = table[row, c]
            if i < m:
                for c in range(n_classes):
                    beside[subset, c, stop] = 0
                if subset >> i & 1:
                    place += 1
                    below += binom[chosen[i], place] - binom[chosen[i], place + 1]
            start = stop + 1
    # Until here a pattern's counts are those of its true literals alone, the others free. One literal at a time, what
    # has it true is subtracted from what leaves it free: after step i the patterns of literals 0 to i are exact.
    for i in range(m):
        for subset in range(1 << m):
            if not subset >> i & 1:
                fewer = beside[subset]
                more = beside[subset | 1 << i]
                for c in range(n_classes):
                    for literal in range(p):
                        fewer[c, literal] -= more[c, literal]


@compiled
def admissible(
    chosen: AnyArray, signs: int, atoms: Atoms, mask: AnyArray, out: AnyArray
) -> bool:  # pragma: no cover - compiled
    """Mark the literals that cut a node into two parts, neither empty by the domain's logic."""
    # Returns whether the node itself is possible.
    # chosen: (m,), increasing; mask: room of shape (w,); out: (p,). Literals are sorted by block, so that one pass
    # forms what the node leaves of each block. Literals of other blocks are possible with any of these: they stay.
    blocks, starts, masks, full = atoms
    out[:] = True
    m, width = len(chosen), masks.shape[1]
    i = 0
    while i < m:
        block = blocks[chosen[i]]
        # Word by word: Numba takes seconds to compile an assignment of one array to another, with all it may raise.
        for w in range(width):
            mask[w] = full[block, w]
        while i < m and blocks[chosen[i]] == block:
            for w in range(width):
                mask[w] &= masks[chosen[i], w] if signs >> i & 1 else ~masks[chosen[i], w]
            i += 1
        some = np.uint64(0)
        for w in range(width):
            some |= mask[w]
        if some == 0:
            return False
        for literal in range(starts[block], starts[block + 1]):
            true = np.uint64(0)
            false = np.uint64(0)
            for w in range(width):
                true |= mask[w] & masks[literal, w]
                false |= mask[w] & ~masks[literal, w]
            out[literal] = true != 0 and false != 0
    return True


@compiled
def last_choices(
    inside: AnyArray, beside: AnyArray, allowed: AnyArray, costs: Costs, room: Room, out: Weighed
) -> None:  # pragma: no cover - compiled
    """Fill cost and weight of every choice at a node below which one more split is allowed."""
    # Entry l is a split on literal l with two leaves, entry p a leaf. inside are the node's class counts, shape (c,),
    # beside[:, l] those of its part in which l is true. Costs are infinite where a split is not admissible; a weight is
    # relative to exp(-epsilon cost). Loops run over literals for the sake of vector instructions.
    penalty, split_weight, values, powers, jumps, shift, _, _ = costs
    least_costs, weights = out
    by_value, leaves = room
    n_classes, p = beside.shape
    n_values = len(values)
    least = by_value[n_values]
    for v in range(n_values):
        true, false = by_value[v, 0], by_value[v, 1]
        whole = np.int64(0)
        for c in range(n_classes):
            cost = values[v, c]
            whole += cost * inside[c]
            for literal in range(p):
                true[literal] = cost * beside[c, literal] + (true[literal] if c else 0)
        for literal in range(p):
            false[literal] = whole - true[literal]
        for side in range(2):
            for literal in range(p):
                own = by_value[v, side, literal]
                least[side, literal] = min(least[side, literal], own) if v else own
    leaves[:] = 0.0
    for v in range(n_values):
        for side in range(2):
            for literal in range(p):
                gap = by_value[v, side, literal] - least[side, literal]
                leaves[side, literal] += power(gap, powers, jumps, shift)
    for literal in range(p):
        if allowed[literal]:
            least_costs[literal] = penalty + (least[0, literal] + least[1, literal])
            weights[literal] = split_weight * leaves[0, literal] * leaves[1, literal]
        else:
            least_costs[literal] = np.inf
            weights[literal] = 0.0
    least_costs[p], weights[p] = leaf(inside, costs)


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
def sum_level(
    sets: AnyArray, first: int, counts: Counts, atoms: Atoms, costs: Costs, children: Weighed, out: Weighed
) -> None:  # pragma: no cover - compiled
    """Sum over the trees below every node of m literals; ``sets`` are rows ``first`` onward."""
    # children are the sums below the nodes of m + 1 literals.
    # sets: (slice, m); children: (binom(p, m + 1), 2^(m + 1)); out: (binom(p, m), 2^m). Room is allotted once for a
    # slice, which one thread works on. Counts of all 2^m patterns are formed together, since each needs the others'.
    table = counts.table
    m, p = sets.shape[1], len(atoms.blocks)
    inside = np.empty((1 << m, table.shape[1]), dtype=table.dtype)
    allowed = np.empty(p, dtype=np.bool_)
    mask = np.empty(atoms.masks.shape[1], dtype=np.uint64)
    options = Weighed(np.empty(p + 1, dtype=np.float64), np.empty(p + 1, dtype=np.float64))
    for i in range(len(sets)):
        chosen = sets[i]
        signed_insides(chosen, counts, inside)
        for signs in range(1 << m):
            if not admissible(chosen, signs, atoms, mask, allowed):
                out.costs[first + i, signs] = np.inf
                out.weights[first + i, signs] = 0.0
                continue
            inner_choices(chosen, signs, inside[signs], allowed, costs, counts.binom, children, options)
            cost, weight = total(options, costs)
            out.costs[first + i, signs] = cost
            out.weights[first + i, signs] = weight


@compiled
def signed_insides(chosen: AnyArray, counts: Counts, inside: AnyArray) -> None:  # pragma: no cover - compiled
    """Fill the class counts of a set of m literals under all signs, as :func:`signed_counts` does."""
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
