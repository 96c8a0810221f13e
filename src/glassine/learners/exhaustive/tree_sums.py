"""Sums over all trees of a depth, by one backward pass over the conjunctions of public literals.

A node of a tree is a set of m literals with signs; below it stand trees of depth d - m at most. Its sum is kept as
``weight * exp(-epsilon * errors)``, where ``errors`` is the least number of errors below the node, a whole number, and
``weight`` a float of moderate size: nothing overflows, and the powers of exp(-epsilon) come from a table.
See ``private.md`` for the recursion and the bound on rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glassine.compiling import compiled

__all__: list[str] = []


@compiled
def leaf_errors(counts: Any) -> Any:  # pragma: no cover - compiled
    """Return the least number of errors of one label, given class counts."""
    # counts: (c,), whole numbers, so that what is returned is exact.
    total = 0
    most = counts[0]
    for c in range(len(counts)):
        total += counts[c]
        most = max(most, counts[c])
    return total - most


@compiled
def leaf_weight(counts: Any, powers: Any) -> float:  # pragma: no cover - compiled
    """Return the sum over labels of exp(-epsilon (errors - least errors))."""
    most = counts[0]
    for c in range(len(counts)):
        most = max(most, counts[c])
    # Beyond the table of powers stands its last entry, 0: what it leaves out is below exp(-700) of the sum.
    weight = 0.0
    for c in range(len(counts)):
        weight += powers[min(most - counts[c], len(powers) - 1)]
    return weight


@compiled
def _rank_of(chosen: Any, subset: int, m: int, binom: Any) -> int:  # pragma: no cover - compiled
    """Return the rank of the members of a set that a bit mask picks."""
    # The rank of an increasing set x_1 < x_2 < ... in the combinatorial number system: the sum of binom(x_i, i).
    out = 0
    place = 0
    for i in range(m):
        if subset >> i & 1:
            place += 1
            out += binom[chosen[i], place]
    return out


@compiled
def signed_counts(
    chosen: Any, m: int, binom: Any, table: Any, offsets: Any, inside: Any, beside: Any
) -> None:  # pragma: no cover - compiled
    """Fill the class counts of a set of m literals under all signs, alone and with each further literal.

    ``table`` and ``offsets`` are those of :class:`~glassine.data.conjunctions.ConjunctionCounts`. Bit i of a
    sign pattern s says that literal i of the set is true. ``inside[s]`` becomes the counts of the pattern, shape (c,),
    ``beside[s, :, l]`` those of the pattern with literal l true.
    """
    n_classes = beside.shape[1]
    p = beside.shape[2]
    signed_insides(chosen, m, binom, table, offsets, inside)
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
    chosen: Any, m: int, signs: int, blocks: Any, starts: Any, masks: Any, full: Any, mask: Any, out: Any
) -> bool:  # pragma: no cover - compiled
    """Mark the literals that cut a node into two parts, neither empty by the domain's logic.

    Returns whether the node itself is possible.
    """
    # blocks: (p,), the block of dependent attributes of each literal; masks: (p, w), its atoms in that block, as bits;
    # full: (blocks, w); starts: (blocks + 1,). Literals are sorted by block, so that one pass forms each block's atoms.
    # Other blocks' literals are possible with any of these: they stay marked.
    out[:] = True
    width = masks.shape[1]
    i = 0
    while i < m:
        block = blocks[chosen[i]]
        mask[:] = full[block]
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
    inside: Any,
    beside: Any,
    allowed: Any,
    penalty: float,
    powers: Any,
    split_weight: float,
    most: Any,
    costs: Any,
    weights: Any,
) -> None:  # pragma: no cover - compiled
    """Fill cost and weight of every choice at a node below which one more split is allowed.

    Entry l is a split on literal l with two leaves, entry p a leaf. ``inside`` are the node's class counts, shape (c,),
    ``beside[:, l]`` those of its part in which l is true; ``most`` is room of shape (2, p). Costs are infinite where a
    split is not admissible; a weight is relative to exp(-epsilon cost). Loops run over literals for the sake of vector
    instructions.
    """
    n_classes, p = beside.shape
    size = 0
    for c in range(n_classes):
        size += inside[c]
    for literal in range(p):
        most[0, literal] = beside[0, literal]
        most[1, literal] = inside[0] - beside[0, literal]
    for c in range(1, n_classes):
        for literal in range(p):
            most[0, literal] = max(most[0, literal], beside[c, literal])
            most[1, literal] = max(most[1, literal], inside[c] - beside[c, literal])
    last = len(powers) - 1
    for literal in range(p):
        costs[literal] = penalty + (size - most[0, literal] - most[1, literal])
    if n_classes == 2:
        # The larger of two classes has the weight one.
        for literal in range(p):
            true = 1.0 + powers[np.uintp(min(abs(beside[0, literal] - beside[1, literal]), last))]
            gap = abs(inside[0] - beside[0, literal] - inside[1] + beside[1, literal])
            weights[literal] = split_weight * true * (1.0 + powers[np.uintp(min(gap, last))])
    else:
        for literal in range(p):
            true = 0.0
            false = 0.0
            for c in range(n_classes):
                true += powers[np.uintp(min(most[0, literal] - beside[c, literal], last))]
                false += powers[np.uintp(min(most[1, literal] - inside[c] + beside[c, literal], last))]
            weights[literal] = split_weight * true * false
    for literal in range(p):
        if not allowed[literal]:
            costs[literal] = np.inf
            weights[literal] = 0.0
    costs[p] = leaf_errors(inside)
    weights[p] = leaf_weight(inside, powers)


@compiled
def inner_choices(
    chosen: Any,
    m: int,
    signs: int,
    inside: Any,
    allowed: Any,
    penalty: float,
    powers: Any,
    split_weight: float,
    binom: Any,
    below_costs: Any,
    below_weights: Any,
    costs: Any,
    weights: Any,
) -> None:  # pragma: no cover - compiled
    """As :func:`last_choices`, for a node whose children's sums are known; rows of the tables are ranks."""
    # below_costs, below_weights: (binom(p, m + 1), 2^(m + 1)), the sums of the children; entry l of costs and weights,
    # (p + 1,), is the split on literal l. Invariant: ``below`` is the rank of the members before the literal, ``above``
    # that of those behind it, each one place further, so that the child's row is found without sorting.
    p = len(allowed)
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
            costs[literal] = np.inf
            weights[literal] = 0.0
            continue
        row = below + binom[literal, at + 1] + above
        low = signs & (1 << at) - 1
        false = low | (signs >> at) << (at + 1)
        true = false | 1 << at
        costs[literal] = penalty + below_costs[row, true] + below_costs[row, false]
        weights[literal] = split_weight * below_weights[row, true] * below_weights[row, false]
    costs[p] = leaf_errors(inside)
    weights[p] = leaf_weight(inside, powers)


@compiled
def total(costs: Any, weights: Any, powers: Any) -> tuple[float, float]:  # pragma: no cover - compiled
    """Return the least cost, and the sum of the weights relative to it."""
    # Two passes: relative to the least cost every weight is at most its own size, and nothing overflows.
    least = np.inf
    for i in range(len(costs)):
        least = min(least, costs[i])
    last = len(powers) - 1
    out = 0.0
    for i in range(len(costs)):
        gap = costs[i] - least
        if gap < last:
            out += weights[i] * powers[np.uintp(gap)]
    return least, out


@compiled
def sum_last(
    sets: Any,
    first: int,
    table: Any,
    offsets: Any,
    blocks: Any,
    starts: Any,
    masks: Any,
    full: Any,
    binom: Any,
    penalty: float,
    powers: Any,
    split_weight: float,
    out_costs: Any,
    out_weights: Any,
) -> None:  # pragma: no cover - compiled
    """Sum over the trees of depth one below every node of m literals; ``sets`` are rows ``first`` onward."""
    # sets: (slice, m); table: (conjunctions, c). Room is allotted once for a slice, which one thread works on; counts
    # of all 2^m patterns are formed together, since each needs those of the others.
    m = sets.shape[1]
    p = len(blocks)
    n_classes = table.shape[1]
    inside = np.empty((1 << m, n_classes), dtype=table.dtype)
    beside = np.empty((1 << m, n_classes, p), dtype=table.dtype)
    most = np.empty((2, p), dtype=table.dtype)
    allowed = np.empty(p, dtype=np.bool_)
    mask = np.empty(masks.shape[1], dtype=np.uint64)
    costs = np.empty(p + 1, dtype=np.float64)
    weights = np.empty(p + 1, dtype=np.float64)
    for i in range(len(sets)):
        chosen = sets[i]
        signed_counts(chosen, m, binom, table, offsets, inside, beside)
        for signs in range(1 << m):
            if not admissible(chosen, m, signs, blocks, starts, masks, full, mask, allowed):
                out_costs[first + i, signs] = np.inf
                out_weights[first + i, signs] = 0.0
                continue
            last_choices(inside[signs], beside[signs], allowed, penalty, powers, split_weight, most, costs, weights)
            cost, weight = total(costs, weights, powers)
            out_costs[first + i, signs] = cost
            out_weights[first + i, signs] = weight


@compiled
def sum_inner(
    sets: Any,
    first: int,
    table: Any,
    offsets: Any,
    blocks: Any,
    starts: Any,
    masks: Any,
    full: Any,
    binom: Any,
    penalty: float,
    powers: Any,
    split_weight: float,
    below_costs: Any,
    below_weights: Any,
    out_costs: Any,
    out_weights: Any,
) -> None:  # pragma: no cover - compiled
    """Sum over the trees below every node of m literals, from the sums below those of m + 1 literals."""
    m = sets.shape[1]
    p = len(blocks)
    n_classes = table.shape[1]
    inside = np.empty((1 << m, n_classes), dtype=table.dtype)
    allowed = np.empty(p, dtype=np.bool_)
    mask = np.empty(masks.shape[1], dtype=np.uint64)
    costs = np.empty(p + 1, dtype=np.float64)
    weights = np.empty(p + 1, dtype=np.float64)
    for i in range(len(sets)):
        chosen = sets[i]
        signed_insides(chosen, m, binom, table, offsets, inside)
        for signs in range(1 << m):
            if not admissible(chosen, m, signs, blocks, starts, masks, full, mask, allowed):
                out_costs[first + i, signs] = np.inf
                out_weights[first + i, signs] = 0.0
                continue
            inner_choices(
                chosen,
                m,
                signs,
                inside[signs],
                allowed,
                penalty,
                powers,
                split_weight,
                binom,
                below_costs,
                below_weights,
                costs,
                weights,
            )
            cost, weight = total(costs, weights, powers)
            out_costs[first + i, signs] = cost
            out_weights[first + i, signs] = weight


@compiled
def signed_insides(
    chosen: Any, m: int, binom: Any, table: Any, offsets: Any, inside: Any
) -> None:  # pragma: no cover - compiled
    """Fill the class counts of a set of m literals under all signs, as :func:`signed_counts` does."""
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
