"""MDAV in a kd-tree: for many small groups.

A box's least and largest distance are computed operation by operation as the distances of records are. Rounding is
monotone, so neither is beyond the computed distance of any record in the box, and what is passed over could not have
been chosen. The bound by norms rounds differently and is widened by more than it can be off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glassine.counting.compiling import compiled
from glassine.microaggregation.heap import push, replace_top
from glassine.microaggregation.kd_tree import distances_in, take_out
from glassine.microaggregation.sums import means

__all__ = ["advance"]

DEEPEST = 128
"""More nodes than a search ever has to come back to: one a level, and a tree of 64 levels cannot be stored."""


@compiled
def _least(tree: Any, node: int, point: Any) -> float:
    """Return a bound from below of the squared distances in a node; infinite for an empty one."""
    total = 0.0
    if tree.first[node] == len(tree.labels):
        return np.inf
    for j in range(len(point)):
        # At most one of the two is positive.
        difference = max(max(tree.low[node, j] - point[j], point[j] - tree.high[node, j]), 0.0)
        total += difference * difference
    return float(total)


@compiled
def _largest(tree: Any, node: int, point: Any, norm: float) -> float:
    """Return a bound from above of the squared distances in a node; -1 for an empty one.

    Either the far corner of the box, or |x|² + |c|² - 2xc with the largest norm and the least product on their own.
    """
    corner, product, p = 0.0, 0.0, len(point)
    if tree.first[node] == len(tree.labels):
        return -1.0
    for j in range(p):
        at, low, high = point[j], tree.low[node, j], tree.high[node, j]
        below, above = low - at, high - at
        corner += max(below * below, above * above)
        product += min(low * at, high * at)
    reach = tree.reach[node]
    # Nor is a product ever below that of the two lengths.
    product = max(product, -np.sqrt(reach * norm))
    slack = 4e-15 * (p + 1.0) ** 1.5 * (reach + norm) + 1e-300
    return float(min(corner, reach + norm - 2.0 * product + slack))


@compiled
def _farthest(tree: Any, point: Any, stack: Any, bounds: Any, found: Any) -> int:
    """Return the place of the remaining record that is farthest from a point, the lowest of equal ones."""
    inner, slots = len(tree.filled) - 1, tree.numbers.shape[1]
    most, number, place = -1.0, np.int64(-1), np.int64(-1)
    norm = 0.0
    for j in range(len(point)):
        norm += point[j] * point[j]
    stack[0], bounds[0], top = 0, np.inf, 1
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] < most or (bounds[top] == most and tree.first[node] > number):
            continue
        if node >= inner:
            leaf = node - inner
            distances_in(tree, leaf, point, found)
            for t in range(tree.filled[leaf]):
                if found[t] >= most and (found[t] > most or tree.numbers[leaf, t] < number):
                    most, number, place = found[t], tree.numbers[leaf, t], leaf * slots + t
            continue
        a, b = 2 * node + 1, 2 * node + 2
        of_a, of_b = _largest(tree, a, point, norm), _largest(tree, b, point, norm)
        if of_a > of_b:
            a, b, of_a, of_b = b, a, of_b, of_a
        # The more promising child is put on top, to be searched first.
        if of_a >= 0 and of_a >= most:
            stack[top], bounds[top], top = a, of_a, top + 1
        if of_b >= 0 and of_b >= most:
            stack[top], bounds[top], top = b, of_b, top + 1
    return int(place)


@compiled
def _nearest(tree: Any, point: Any, count: int, stack: Any, bounds: Any, found: Any) -> Any:
    """Return the places of the remaining records that are nearest to a point, in increasing order."""
    inner, slots = len(tree.filled) - 1, tree.numbers.shape[1]
    heap, numbers, places = np.empty(count), np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    size, worst = 0, np.inf
    stack[0], bounds[0], top = 0, 0.0, 1
    if count == 0:
        return places
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] > worst or (size == count and bounds[top] == worst and tree.first[node] > numbers[0]):
            continue
        if node >= inner:
            leaf = node - inner
            distances_in(tree, leaf, point, found)
            for t in range(tree.filled[leaf]):
                number = tree.numbers[leaf, t]
                if size < count:
                    push(heap, numbers, places, size, found[t], number, leaf * slots + t)
                    size += 1
                elif found[t] <= heap[0] and (found[t] < heap[0] or number < numbers[0]):
                    replace_top(heap, numbers, places, count, found[t], number, leaf * slots + t)
            worst = heap[0] if size == count else np.inf
            continue
        a, b = 2 * node + 1, 2 * node + 2
        of_a, of_b = _least(tree, a, point), _least(tree, b, point)
        if of_a < of_b:
            a, b, of_a, of_b = b, a, of_b, of_a
        if of_a < np.inf and of_a <= worst:
            stack[top], bounds[top], top = a, of_a, top + 1
        if of_b < np.inf and of_b <= worst:
            stack[top], bounds[top], top = b, of_b, top + 1
    places.sort()
    return places


@compiled
def advance(tree: Any, k: int, steps: int, stop: int) -> bool:
    """Form two groups a step; return False once fewer than 3k records, or no more than ``stop``, remain."""
    slots = tree.numbers.shape[1]
    stack, bounds, found = np.empty(DEEPEST, dtype=np.int64), np.empty(DEEPEST), np.empty(slots)
    point, seed = np.empty(tree.low.shape[1]), np.empty(1, dtype=np.int64)
    for _ in range(steps):
        if tree.cursor[0] < 3 * k or tree.cursor[0] <= stop:
            return False
        means(tree.sums[0], tree.sums[1], tree.factors, tree.bits, tree.cursor[0], point)
        for _ in range(2):
            seed[0] = _farthest(tree, point, stack, bounds, found)
            point[:] = tree.blocks[seed[0] // slots, :, seed[0] % slots]
            take_out(tree, seed, tree.cursor[1])
            take_out(tree, _nearest(tree, point, k - 1, stack, bounds, found), tree.cursor[1])
            tree.cursor[1] += 1
    return True
