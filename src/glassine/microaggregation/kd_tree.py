"""A kd-tree over records, out of which records are taken; boxes shrink to what remains."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from glassine.compiling import compiled
from glassine.microaggregation.scan import add, means, push, replace_top
from glassine.records.arrays import AnyArray, Array, Ints

LEAF = 128
"""Most records of a leaf: distances to them are computed column by column, several at a time."""


class Tree(NamedTuple):
    """A complete binary tree: node i has the children 2i + 1 and 2i + 2, and the last level holds the leaves.

    ``blocks`` (leaf, p, slot) and ``numbers`` (leaf, slot) hold the records of each leaf, the first ``filled`` of them
    remaining. Of each node: its box ``low`` and ``high`` (node, p), the largest squared norm ``reach``, and the lowest
    remaining record ``first``, n if there is none. ``sums`` (3, p) are the sums of what remains; ``cursor`` counts the
    remaining records and the groups.
    """

    blocks: Array
    numbers: Ints
    filled: Ints
    low: Array
    high: Array
    reach: Array
    first: Ints
    labels: Ints
    factors: Array
    bits: int
    sums: Ints
    cursor: Ints


def build(rows: Array, factors: Array, bits: int) -> Tree:
    """Return the tree of records of shape (n, p), cut at the median of the widest attribute again and again."""
    # None of them has a missing value: how far it lies from a value follows from no box.
    n, p = rows.shape
    depth = 0
    while (n >> depth) > LEAF:
        depth += 1
    leaves = 1 << depth
    slots = -(-n // leaves)
    tree = Tree(
        blocks=np.empty((leaves, p, slots)),
        numbers=np.empty((leaves, slots), dtype=np.int64),
        filled=np.zeros(leaves, dtype=np.int64),
        low=np.empty((2 * leaves - 1, p)),
        high=np.empty((2 * leaves - 1, p)),
        reach=np.empty(2 * leaves - 1),
        first=np.full(2 * leaves - 1, -1, dtype=np.int64),
        labels=np.full(n, -1, dtype=np.int64),
        factors=factors,
        bits=bits,
        sums=np.zeros((3, p), dtype=np.int64),
        cursor=np.array([n, 0], dtype=np.int64),
    )
    _grow(tree, np.ascontiguousarray(rows))
    return tree


@compiled
def _grow(tree: Tree, rows: AnyArray) -> None:
    """Cut the records into leaves, level by level, and bound all nodes."""
    n, p = rows.shape
    leaves = len(tree.filled)
    order, keys = np.arange(n), np.empty(n)
    starts, ends = np.zeros(2 * leaves - 1, dtype=np.int64), np.zeros(2 * leaves - 1, dtype=np.int64)
    ends[0] = n
    for i in range(n):
        add(tree.sums, rows[i], tree.factors, tree.bits, 1)
    for node in range(leaves - 1):
        start, end = starts[node], ends[node]
        middle = (start + end) // 2
        widest = _widest(rows, order, start, end)
        for i in range(start, end):
            keys[i] = rows[order[i], widest]
        _split(keys, order, start, end - 1, middle)
        starts[2 * node + 1], ends[2 * node + 1] = start, middle
        starts[2 * node + 2], ends[2 * node + 2] = middle, end
    for leaf in range(leaves):
        start, end = starts[leaves - 1 + leaf], ends[leaves - 1 + leaf]
        for t in range(end - start):
            tree.numbers[leaf, t] = order[start + t]
            for j in range(p):
                tree.blocks[leaf, j, t] = rows[order[start + t], j]
        tree.filled[leaf] = end - start
        _bound_leaf(tree, leaf)
    for node in range(leaves - 2, -1, -1):
        _bound_node(tree, node)


@compiled
def _widest(rows: AnyArray, order: AnyArray, start: int, end: int) -> int:
    """Return the attribute in which some records reach furthest."""
    p = rows.shape[1]
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    for i in range(start, end):
        row = rows[order[i]]
        for j in range(p):
            low[j], high[j] = min(low[j], row[j]), max(high[j], row[j])
    return int(np.argmax(high - low))


@compiled
def _split(keys: AnyArray, order: AnyArray, start: int, last: int, middle: int) -> None:
    """Order keys so that none before the middle is larger than it, and none after it smaller."""
    while start < last:
        a, b, c = keys[start], keys[(start + last) // 2], keys[last]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = start, last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            start = i
        else:
            return


@compiled
def _bound_leaf(tree: Tree, leaf: int) -> bool:
    """Shrink a leaf to what remains in it; return whether anything changed."""
    node, size, p = len(tree.filled) - 1 + leaf, tree.filled[leaf], tree.low.shape[1]
    first, reach = len(tree.labels), 0.0
    for t in range(size):
        first = min(first, tree.numbers[leaf, t])
        norm = 0.0
        for j in range(p):
            norm += tree.blocks[leaf, j, t] * tree.blocks[leaf, j, t]
        reach = max(reach, norm)
    changed = tree.first[node] != first or tree.reach[node] != reach
    tree.first[node], tree.reach[node] = first, reach
    for j in range(p):
        low, high = np.inf, -np.inf
        for t in range(size):
            low, high = min(low, tree.blocks[leaf, j, t]), max(high, tree.blocks[leaf, j, t])
        if low != tree.low[node, j] or high != tree.high[node, j]:
            changed = True
            tree.low[node, j], tree.high[node, j] = low, high
    return bool(changed)


@compiled
def _bound_node(tree: Tree, node: int) -> bool:
    """Shrink a node to its children; return whether anything changed."""
    left, right = 2 * node + 1, 2 * node + 2
    first, reach = min(tree.first[left], tree.first[right]), max(tree.reach[left], tree.reach[right])
    changed = tree.first[node] != first or tree.reach[node] != reach
    tree.first[node], tree.reach[node] = first, reach
    for j in range(tree.low.shape[1]):
        low = min(tree.low[left, j], tree.low[right, j])
        high = max(tree.high[left, j], tree.high[right, j])
        if low != tree.low[node, j] or high != tree.high[node, j]:
            changed = True
            tree.low[node, j], tree.high[node, j] = low, high
    return bool(changed)


@compiled
def distances_in(tree: Tree, leaf: int, point: AnyArray, out: AnyArray) -> None:
    """Write the squared distances of a leaf's records to a point, attribute by attribute, as the scan does."""
    size = tree.filled[leaf]
    for t in range(size):
        out[t] = 0.0
    for j in range(len(point)):
        at, column = point[j], tree.blocks[leaf, j]
        for t in range(size):
            difference = column[t] - at
            out[t] += difference * difference


@compiled
def take_out(tree: Tree, places: AnyArray, group: int) -> None:
    """Put the records of some places, in increasing order, into a group, and shrink the boxes that held them."""
    slots, inner = tree.numbers.shape[1], len(tree.filled) - 1
    i = len(places) - 1
    while i >= 0:
        leaf = places[i] // slots
        while i >= 0 and places[i] // slots == leaf:
            t, last = places[i] - leaf * slots, tree.filled[leaf] - 1
            add(tree.sums, tree.blocks[leaf, :, t], tree.factors, tree.bits, -1)
            tree.labels[tree.numbers[leaf, t]] = group
            tree.numbers[leaf, t] = tree.numbers[leaf, last]
            for j in range(tree.blocks.shape[1]):
                tree.blocks[leaf, j, t] = tree.blocks[leaf, j, last]
            tree.filled[leaf] = last
            i -= 1
        node, changed = inner + leaf, _bound_leaf(tree, leaf)
        while changed and node > 0:
            node = (node - 1) // 2
            changed = _bound_node(tree, node)
    tree.cursor[0] -= len(places)


# MDAV in a kd-tree: for many small groups.
#
# A box's least and largest distance are computed operation by operation as the distances of records are. Rounding is
# monotone, so neither is beyond the computed distance of any record in the box, and what is passed over could not
# have been chosen. The bound by norms rounds differently and is widened by more than it can be off.


DEEPEST = 128
"""More nodes than a search ever has to come back to: one a level, and a tree of 64 levels cannot be stored."""


@compiled
def _least(tree: Tree, node: int, point: AnyArray) -> float:
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
def _largest(tree: Tree, node: int, point: AnyArray, norm: float) -> float:
    """Return a bound from above of the squared distances in a node; -1 for an empty one."""
    # Either the far corner of the box, or |x|² + |c|² - 2xc with the largest norm and the least product on their own.
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
def _farthest(tree: Tree, point: AnyArray, stack: AnyArray, bounds: AnyArray, distances: AnyArray) -> int:
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
            distances_in(tree, leaf, point, distances)
            for t in range(tree.filled[leaf]):
                if distances[t] >= most and (distances[t] > most or tree.numbers[leaf, t] < number):
                    most, number, place = distances[t], tree.numbers[leaf, t], leaf * slots + t
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
def _nearest(tree: Tree, point: AnyArray, count: int, stack: AnyArray, bounds: AnyArray, distances: AnyArray) -> Any:
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
            distances_in(tree, leaf, point, distances)
            for t in range(tree.filled[leaf]):
                number = tree.numbers[leaf, t]
                if size < count:
                    push(heap, numbers, places, size, distances[t], number, leaf * slots + t)
                    size += 1
                elif distances[t] <= heap[0] and (distances[t] < heap[0] or number < numbers[0]):
                    replace_top(heap, numbers, places, count, distances[t], number, leaf * slots + t)
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
def advance(tree: Tree, k: int, steps: int, stop: int) -> bool:
    """Form two groups a step; return False once fewer than 3k records, or no more than ``stop``, remain."""
    slots = tree.numbers.shape[1]
    stack, bounds, distances = np.empty(DEEPEST, dtype=np.int64), np.empty(DEEPEST), np.empty(slots)
    point, seed = np.empty(tree.low.shape[1]), np.empty(1, dtype=np.int64)
    for _ in range(steps):
        if tree.cursor[0] < 3 * k or tree.cursor[0] <= stop:
            return False
        means(tree.sums, tree.factors, tree.bits, tree.cursor[0], point)
        for _ in range(2):
            seed[0] = _farthest(tree, point, stack, bounds, distances)
            point[:] = tree.blocks[seed[0] // slots, :, seed[0] % slots]
            take_out(tree, seed, tree.cursor[1])
            take_out(tree, _nearest(tree, point, k - 1, stack, bounds, distances), tree.cursor[1])
            tree.cursor[1] += 1
    return True
