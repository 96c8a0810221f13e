"""Sums over the last splits of all trees of a depth: each leaf is summed once, and spread to all of its parents.

A leaf of d literals has d parents, the nodes that lack one of them. Summed from the parents it would be summed d times,
which is most of the work of deep trees. So the leaves of all sets of d literals are summed set by set, a chunk of sets
at a time, and each is added to its parents, whose least costs are found on the way: see ``gibbs.md`` for the rounding.

Leaves that only nodes have in which one literal follows from another are not formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import NamedTuple

import numpy as np

from glassine.compiling import compiled
from glassine.compiling.slices import Progress, cuts, run
from glassine.records.arrays import AnyArray
from glassine.records.subsets import advance, combination
from glassine.sealed.atoms import Atoms, n_splits, possible_signs
from glassine.sealed.tree_sums import (
    PIECES,
    Costs,
    Implied,
    SetCounts,
    Weighed,
    completed,
    empty_level,
    keep_apart,
    leaf,
    power,
    rows,
)

__all__: list[str] = []

CHUNK = 2**19
"""Leaves of a chunk: 9 MB, which stay in the last cache between the two steps, and are many enough for threads."""

MANY = 2**22
"""Leaves beyond which models are counted without a sum over each leaf."""

REMEMBERED = 2**12
"""Most leaves of few records that are summed once: 64 kB, so that they stay in the second-level cache."""


MOST_OF_A_BYTE = 8
"""Most literals of which a byte has a bit each."""


class SignedLeaves(NamedTuple):
    """The leaves of some sets of k literals under all signs, each (sets, 2^k).

    A leaf weighs ``weights`` exp(-epsilon ``costs``), where bit i of ``wanted`` is set: it is possible, and without
    literal i a node in which no literal is implied by another. Otherwise it is not formed.
    """

    costs: AnyArray
    weights: AnyArray
    wanted: AnyArray


def last_level(
    counts: SetCounts, atoms: Atoms, implied: Implied, costs: Costs, size: int, progress: Progress | None
) -> list[Weighed]:
    """Return the sums below every node of m < ``size`` literals after which one split may come, (binom(p, m), 2^m)."""
    p = len(atoms.blocks)
    nodes = [empty_level(p, m) for m in range(size)]
    if many_leaves(p, size) and not counts.table[0].any() and not costs.penalty and not costs.fewest:
        # All leaves weigh the same, as where models are counted: a node's splits are counted, not their leaves.
        _, weight = leaf(counts.table[0], costs)
        for m, level in enumerate(nodes):

            def count(start: int, stop: int, m: int = m, level: Weighed = level) -> None:
                sum_empty(combination(start, m), atoms, implied, weight, costs, rows(level, start, stop))

            run(cuts(len(level.costs), PIECES), count)
        return completed(nodes, counts, implied)
    side = int(max(1, min(REMEMBERED, comb(p, size) << size >> 4)) ** (1 / counts.table.shape[1]))
    few = Weighed(*np.empty((2, side ** counts.table.shape[1])))
    remember(side, counts.table[0].copy(), costs, few)
    for k in range(size, -1, -1):
        for start, leaves in _leaves((counts, atoms, implied, costs, side, few), k, progress if k == size else None):
            if k < size:
                settle(start, leaves, costs, nodes[k])
            if k:
                spread(combination(start, k), counts.binom, leaves, costs, nodes[k - 1])
    return completed(nodes, counts, implied)


def many_leaves(p: int, size: int) -> bool:
    """Return whether models are counted by a kernel of their own: it takes seconds to compile, and less to run."""
    return sum(comb(p, k) << k for k in range(size + 1)) > MANY


def _leaves(
    tables: tuple[SetCounts, Atoms, Implied, Costs, int, Weighed], size: int, progress: Progress | None
) -> Iterator[tuple[int, SignedLeaves]]:
    """Yield the leaves of all sets of literals of a size, a chunk of sets at a time, with the number of its first."""
    n_sets = comb(len(tables[1].blocks), size)
    each = max(1, CHUNK >> size)
    shape = (min(each, n_sets), 2**size)
    room = SignedLeaves(
        np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.uint8 if size <= MOST_OF_A_BYTE else np.uint32)
    )
    for start in range(0, n_sets, each):
        number = min(each, n_sets - start)

        # Bound now, as the slices run on several threads.
        def work(first: int, last: int, start: int = start) -> None:
            into = SignedLeaves(room.costs[first:last], room.weights[first:last], room.wanted[first:last])
            sum_leaves(combination(start + first, size), *tables, into)

        run(cuts(number, PIECES), work)
        if progress is not None:
            progress(start + number, n_sets)
        yield start, SignedLeaves(room.costs[:number], room.weights[:number], room.wanted[:number])


@compiled
def remember(side: int, counts: AnyArray, costs: Costs, few: Weighed) -> None:  # pragma: no cover - compiled
    """Sum the leaves with fewer than ``side`` records of each class: digits of their place in base ``side``."""
    # counts: (c,), room.
    for place in range(len(few.costs)):
        rest = place
        for c in range(len(counts) - 1, -1, -1):
            counts[c] = rest % side
            rest //= side
        few.costs[place], few.weights[place] = leaf(counts, costs)


@compiled
def sum_leaves(
    first: AnyArray,
    counts: SetCounts,
    atoms: Atoms,
    implied: Implied,
    costs: Costs,
    side: int,
    weighed: Weighed,
    into: SignedLeaves,
) -> None:  # pragma: no cover - compiled
    """Sum the wanted leaves of consecutive sets of k literals; costs are infinite where one is not allowed."""
    # Bit i of a sign pattern says that literal i of the set is true. into (sets, 2^k) gets the least cost of a value
    # and the sum over values of exp(-epsilon (cost - least cost)); known has those of few records.
    # Consecutive sets differ in their first literal alone until it meets the second: all but the first are the tail,
    # whose patterns and counts are formed once. Rows of sets that differ in the first literal are consecutive too, so
    # that the loops over literals take vector instructions.
    table, offsets, binom = counts
    values, powers, jumps, shift = costs.values, costs.powers, costs.jumps, costs.shift
    blocks, _, masks, full = atoms
    k, n_classes, n_values, p = len(first), table.shape[1], len(values), len(blocks)
    if k == 0:
        into.costs[0, 0], into.weights[0, 0] = leaf(table[0], costs)
        into.wanted[0, 0] = 0
        return
    n, width = 1 << (k - 1), masks.shape[1]
    chosen = first.copy()
    tail = chosen[1:]
    # Numbers of records as doubles, in which costs are exact below 2^53.
    prices = np.empty((n_classes, n_values), dtype=np.float64)
    for c in range(n_classes):
        for v in range(n_values):
            prices[c, v] = values[v, c]
    own = np.empty(n_values, dtype=np.float64)
    numbers = np.empty(n_classes, dtype=np.float64)
    whole = np.empty((n, n_classes), dtype=table.dtype)
    others = np.empty((n, n_classes, p), dtype=table.dtype)
    possible = np.empty(n, dtype=np.bool_)
    regions = np.empty((n, width), dtype=np.uint64)
    nodes = np.empty(n, dtype=np.uint32)
    here = np.empty(2 * n, dtype=np.uint32)
    row = 0
    while row < len(into.costs):
        start = chosen[0]
        stop = min(chosen[1] if k > 1 else p, start + len(into.costs) - row)
        some_literals = stop - start
        for subset in range(n):
            alone, with_first, size = 0, 0, 0
            for i in range(k - 1):
                if subset >> i & 1:
                    size += 1
                    alone += binom[tail[i], size]
                    with_first += binom[tail[i], size + 1]
            at = offsets[size] + alone
            for c in range(n_classes):
                whole[subset, c] = table[at, c]
            at = offsets[size + 1] + with_first + start
            for c in range(n_classes):
                for j in range(some_literals):
                    others[subset, c, j] = table[at + j, c]
        # Until here the literals outside a subset are free: what has one true is subtracted from what leaves it free.
        for i in range(k - 1):
            for subset in range(n):
                if not subset >> i & 1:
                    for c in range(n_classes):
                        whole[subset, c] -= whole[subset | 1 << i, c]
                        fewer, more = others[subset, c], others[subset | 1 << i, c]
                        for j in range(some_literals):
                            fewer[j] -= more[j]
        n_first = possible_signs(tail, atoms, regions, possible)
        # Pairs of the tail, in which literal i of the set is literal i - 1.
        nodes[:] = n - 1
        keep_apart(tail, implied, nodes)
        for j in range(some_literals):
            literal = start + j
            chosen[0] = literal
            joined = k > 1 and blocks[literal] == blocks[tail[0]]
            n_here = n_first if joined else 1
            # What the first literal adds is the same for all patterns with one part in its block.
            for subset in range(n_here):
                for sign in range(2):
                    mark = np.uint64(0)
                    for w in range(width):
                        region = regions[subset, w] if joined else full[blocks[literal], w]
                        mark |= region & (masks[literal, w] if sign else ~masks[literal, w])
                    here[2 * subset + sign] = 0 if mark == 0 else (1 << k) - 1
            b = 1
            while 1 << b < 2 * n_here:
                bits = implied.pairs[literal, chosen[b]]
                if bits:
                    for q in range(2 * n_here):
                        if bits >> ((q & 1) + 2 * (q >> b & 1)) & 1:
                            here[q] &= np.uint32(1 | 1 << b)
                b += 1
            least, weights, wanted = into.costs[row], into.weights[row], into.wanted[row]
            for subset in range(n):
                reach = np.uint32(0)
                if possible[subset]:
                    reach = np.uint32(nodes[subset] << 1 | (nodes[subset] == n - 1))
                for sign in range(2):
                    q = 2 * subset + sign
                    wanted[q] = reach & here[q & (2 * n_here - 1)]
                    if wanted[q] == 0:
                        continue
                    place, few, some = np.int64(0), True, np.int64(0)
                    for c in range(n_classes):
                        true = others[subset, c, j]
                        number = np.int64(true if sign else whole[subset, c] - true)
                        if number >= side:
                            few = False
                        place = place * side + number
                        numbers[c] = number
                        some += number
                    if few:
                        least[q], weights[q] = weighed.costs[place], weighed.weights[place]
                    elif some < costs.fewest:
                        least[q], weights[q] = np.inf, 0.0
                    else:
                        for v in range(n_values):
                            own[v] = prices[0, v] * numbers[0]
                        for c in range(1, n_classes):
                            for v in range(n_values):
                                own[v] += prices[c, v] * numbers[c]
                        lowest = own[0]
                        for v in range(1, n_values):
                            lowest = min(lowest, own[v])
                        least[q] = lowest
                        weight = 0.0
                        for v in range(n_values):
                            weight += power(int(own[v] - lowest), powers, jumps, shift)
                        weights[q] = weight
            row += 1
        chosen[0] = stop - 1
        advance(chosen)


@compiled
def sum_empty(
    first: AnyArray, atoms: Atoms, implied: Implied, weight: float, costs: Costs, into: Weighed
) -> None:  # pragma: no cover - compiled
    """Sum below consecutive nodes without any record, whose leaves have one weight; see :func:`inherit` for others."""
    # Literals of other blocks are possible with any of the tail's and cut what they leave: their numbers add up.
    m, p, blocks = len(first), len(atoms.blocks), atoms.blocks
    chosen, allowed = first.copy(), np.empty(p, dtype=np.bool_)
    tail, mask = chosen[1:], np.empty(atoms.masks.shape[1], dtype=np.uint64)
    alone, others = np.empty((p, 2), dtype=np.int64), np.empty(1 << m, dtype=np.int64)
    for literal in range(p):
        for sign in range(2):
            alone[literal, sign] = n_splits(np.array([literal]), sign, atoms, mask, allowed)
    wanted = np.empty(1 << m, dtype=np.uint32)
    split, before = costs.part_weight * weight * weight, -1
    for row in range(len(into.costs)):
        if m and (row == 0 or chosen[0] <= before):
            for signs in range(1 << (m - 1)):
                others[signs] = n_splits(tail, signs, atoms, mask, allowed)
        unrelated = m == 1 or (m > 1 and blocks[chosen[0]] != blocks[chosen[1]])
        wanted[:] = (1 << m) - 1
        keep_apart(chosen, implied, wanted)
        for signs in range(1 << m):
            if wanted[signs] != (1 << m) - 1:
                continue
            if unrelated:
                number = alone[chosen[0], signs & 1] + others[signs >> 1] - p
            else:
                number = n_splits(chosen, signs, atoms, mask, allowed)
            if number >= 0:
                into.costs[row, signs], into.weights[row, signs] = 0.0, weight + number * split
        before = chosen[0] if m else 0
        advance(chosen)


@compiled
def spread(
    first: AnyArray, binom: AnyArray, leaves: SignedLeaves, costs: Costs, out: Weighed
) -> None:  # pragma: no cover - compiled
    """Add the splits into two leaves of consecutive sets of literals to their nodes, without the splits' prior."""
    # A split is admissible where both of its leaves are allowed. The costs of a node are the least so far; its weight
    # is relative to that cost with its low block bits cleared, so that it is seldom multiplied by another power.
    penalty, powers, jumps, shift, block = costs.penalty, costs.powers, costs.jumps, costs.shift, costs.block
    chosen = first.copy()
    k = len(chosen)
    for row in range(len(leaves.costs)):
        least, weights, wanted = leaves.costs[row], leaves.weights[row], leaves.wanted[row]
        # Without literal i those before it keep their places, and those behind it move down by one: the node's rank.
        below, above = 0, 0
        for j in range(1, k):
            above += binom[chosen[j], j]
        for i in range(k):
            node_costs, node_weights = out.costs[below + above], out.weights[below + above]
            half = 1 << i
            for s in range(1 << (k - 1)):
                false = (s >> i) << (i + 1) | s & (half - 1)
                true = false | half
                if not (wanted[true] & wanted[false]) >> i & 1:
                    continue
                cost = penalty + (least[true] + least[false])
                if cost < np.inf:
                    before = node_costs[s]
                    weight = weights[true] * weights[false]
                    if cost >= before:
                        gap = int(cost) - (int(before) >> block << block)
                        node_weights[s] += weight * power(gap, powers, jumps, shift)
                    else:
                        reference = int(cost) >> block << block
                        if before < np.inf:
                            gap = (int(before) >> block << block) - reference
                            if gap > 0:
                                node_weights[s] *= power(gap, powers, jumps, shift)
                        node_weights[s] += weight * power(int(cost) - reference, powers, jumps, shift)
                        node_costs[s] = cost
            below += binom[chosen[i], i + 1]
            if i + 1 < k:
                above -= binom[chosen[i + 1], i + 1]
        advance(chosen)


@compiled
def settle(start: int, leaves: SignedLeaves, costs: Costs, out: Weighed) -> None:  # pragma: no cover - compiled
    """Add to the splits of consecutive nodes what they are as leaves, relative to the least cost of both."""
    # A node in which a literal is implied is not looked at: see :func:`inherit`.
    powers, jumps, shift, block = costs.powers, costs.jumps, costs.shift, costs.block
    n = leaves.costs.shape[1]
    for i in range(len(leaves.costs)):
        for s in range(n):
            if leaves.wanted[i, s] != n - 1:
                continue
            cost, split = leaves.costs[i, s], out.costs[start + i, s]
            least = min(cost, split)
            weight = 0.0
            if cost < np.inf:
                weight += leaves.weights[i, s] * power(int(cost - least), powers, jumps, shift)
            if split < np.inf:
                rest = int(split) - (int(split) >> block << block)
                own = out.weights[start + i, s] / power(rest, powers, jumps, shift)
                weight += costs.part_weight * own * power(int(split - least), powers, jumps, shift)
            out.costs[start + i, s], out.weights[start + i, s] = least, weight
