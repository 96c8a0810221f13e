"""Sums over all rule lists, by one backward pass over the sets of public rules.

What remains after some rules depends on their set, not on their order. The sum over the lists that continue a set S of
m rules is kept as ``weight * exp(-epsilon * errors)``, as in :mod:`glassine.learners.tree_sums`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glassine.counting.compiling import compiled
from glassine.learners.tree_sums import leaf_errors, leaf_weight, total

__all__: list[str] = []


@compiled
def admissible(
    chosen: Any, m: int, blocks: Any, starts: Any, masks: Any, full: Any, covers: Any, mask: Any, out: Any
) -> bool:  # pragma: no cover - compiled
    """Mark the rules that take a part of what the set leaves, and leave a part, by the domain's logic.

    Rules of one literal are judged by the atoms of their block, exactly. Other rules (block -1) are left out when
    one earlier rule alone takes all that they would, or one earlier rule and they take everything: ``covers``.
    Returns whether the set leaves anything.
    """
    out[:] = True
    width = masks.shape[1]
    i = 0
    while i < m:
        block = blocks[chosen[i]]
        if block < 0:
            i += 1
            continue
        mask[:] = full[block]
        while i < m and blocks[chosen[i]] == block:
            for w in range(width):
                mask[w] &= ~masks[chosen[i], w]
            i += 1
        some = np.uint64(0)
        for w in range(width):
            some |= mask[w]
        if some == 0:
            return False
        for rule in range(starts[block], starts[block + 1]):
            taken = np.uint64(0)
            left = np.uint64(0)
            for w in range(width):
                taken |= mask[w] & masks[rule, w]
                left |= mask[w] & ~masks[rule, w]
            out[rule] = taken != 0 and left != 0
    if len(covers):
        for i in range(m):
            for rule in range(len(out)):
                out[rule] &= not covers[chosen[i], rule]
    for i in range(m):
        out[chosen[i]] = False
    return True


@compiled
def choices(
    chosen: Any,
    m: int,
    table: Any,
    offsets: Any,
    allowed: Any,
    binom: Any,
    penalty: float,
    powers: Any,
    part_weight: float,
    last: bool,
    below_costs: Any,
    below_weights: Any,
    captured: Any,
    costs: Any,
    weights: Any,
) -> None:  # pragma: no cover - compiled
    """Fill cost and weight of each next rule and, last, of the default rule.

    ``table`` holds the class counts of what each set of rules leaves. The sums below sets of m + 1 rules are given,
    unless those are ``last``: then only the default rule follows.
    """
    p = len(allowed)
    n_classes = table.shape[1]
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
            costs[rule] = np.inf
            weights[rule] = 0.0
            continue
        row = below + binom[rule, at + 1] + above
        rest = table[offsets[m + 1] + row]
        for c in range(n_classes):
            captured[c] = table[own, c] - rest[c]
        cost = penalty + leaf_errors(captured)
        weight = part_weight * leaf_weight(captured, powers)
        if last:
            costs[rule] = cost + leaf_errors(rest)
            weights[rule] = weight * leaf_weight(rest, powers)
        else:
            costs[rule] = cost + below_costs[row]
            weights[rule] = weight * below_weights[row]
    costs[p] = leaf_errors(table[own])
    weights[p] = leaf_weight(table[own], powers)


@compiled
def sum_level(
    sets: Any,
    first: int,
    table: Any,
    offsets: Any,
    blocks: Any,
    starts: Any,
    masks: Any,
    full: Any,
    covers: Any,
    binom: Any,
    penalty: float,
    powers: Any,
    part_weight: float,
    last: bool,
    below_costs: Any,
    below_weights: Any,
    out_costs: Any,
    out_weights: Any,
) -> None:  # pragma: no cover - compiled
    """Sum over the lists that continue every set of m rules; ``sets`` are rows ``first`` onward."""
    m = sets.shape[1]
    p = len(blocks)
    allowed = np.empty(p, dtype=np.bool_)
    mask = np.empty(masks.shape[1], dtype=np.uint64)
    captured = np.empty(table.shape[1], dtype=np.int64)
    costs = np.empty(p + 1, dtype=np.float64)
    weights = np.empty(p + 1, dtype=np.float64)
    for i in range(len(sets)):
        chosen = sets[i]
        if not admissible(chosen, m, blocks, starts, masks, full, covers, mask, allowed):
            out_costs[first + i] = np.inf
            out_weights[first + i] = 0.0
            continue
        choices(
            chosen,
            m,
            table,
            offsets,
            allowed,
            binom,
            penalty,
            powers,
            part_weight,
            last,
            below_costs,
            below_weights,
            captured,
            costs,
            weights,
        )
        cost, weight = total(costs, weights, powers)
        out_costs[first + i] = cost
        out_weights[first + i] = weight
