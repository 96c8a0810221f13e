"""The inner loop of the Markov chain: moves, the constraints that they touch, and what is kept of the draws.

Functions below the outer two take the arrays that they use one by one: handing all of them along at every call costs
more than what the calls do, and tuples of those that each uses made chains a fifth to a third slower.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from glassine.compiling import compiled
from glassine.data.arrays import AnyArray

if TYPE_CHECKING:
    import numpy as np

    from glassine.attacks.disclosure.board import Board, State

# Kinds of families, as in slacks and board: compiled functions see constants of their own module alone.
MULTIWAY, THRESHOLD, ONE_VALUE, OWN = 0, 1, 2, 3

MOST_PARTS = 4
"""Parts of a move, at most: two to four swaps or changes at once."""


@compiled
def _shift(
    counts: AnyArray,
    squares: AnyArray,
    purity: AnyArray,
    steps: AnyArray,
    table: AnyArray,
    criterion: int,
    scale: int,
    cell: int,
    a: int,
    b: int,
) -> int:
    """Move a person of a cell from class a to b; return by how much its purity rises."""
    before: int = purity[cell]
    after = before
    if criterion == 0:
        now = squares[cell] + 2 * (counts[cell, b] - counts[cell, a]) + 2
        squares[cell] = now
        after = int(now * steps[cell])
    elif criterion == 1:
        m, k = counts[cell, a], counts[cell, b]
        after = before + table[m - 1] - table[m] + table[k + 1] - table[k]
    counts[cell, a] -= 1
    counts[cell, b] += 1
    if criterion == 2:
        largest = 0
        for c in range(counts.shape[1]):
            largest = max(largest, counts[cell, c])
        after = largest * scale
    purity[cell] = after
    return after - before


@compiled
def _swap(
    path: AnyArray, start: int, n: int, groups: AnyArray, at_q: int, at_r: int, kinds: AnyArray,
    first_cells: AnyArray, allowed: AnyArray, counts: AnyArray, squares: AnyArray, purity: AnyArray, values: AnyArray,
    steps: AnyArray, table: AnyArray, criterion: int, scale: int, a: int, b: int,
) -> None:  # fmt: skip
    """Swap classes a and b between people of two quasi-identifiers in one leaf."""
    for k in range(n):
        g1, g2 = groups[at_q + k], groups[at_r + k]
        if g1 == g2:
            continue
        f = path[start + k]
        first, kind = first_cells[f], kinds[f]
        if kind in (MULTIWAY, OWN):
            values[f] += _shift(counts, squares, purity, steps, table, criterion, scale, first + g1, a, b)
            values[f] += _shift(counts, squares, purity, steps, table, criterion, scale, first + g2, b, a)
            continue
        gone, come = a, b
        low, high, stride = g1, g2, 1
        if kind == ONE_VALUE:
            # Candidates g1 and g2 alone, in either order.
            low, high, stride = min(g1, g2), max(g1, g2) + 1, abs(g1 - g2)
        elif g1 > g2:
            low, high = g2, g1
        if g1 > g2:
            gone, come = b, a
        for j in range(low, high, stride):
            cell = first + 2 * j
            if kind == ONE_VALUE and j > low:
                gone, come = come, gone
            if allowed[cell]:
                _shift(counts, squares, purity, steps, table, criterion, scale, cell, gone, come)
                _shift(counts, squares, purity, steps, table, criterion, scale, cell + 1, come, gone)


@compiled
def _change(
    path: AnyArray, start: int, n: int, groups: AnyArray, at_q: int, kinds: AnyArray, first_cells: AnyArray,
    n_groups: AnyArray, allowed: AnyArray, counts: AnyArray, squares: AnyArray, purity: AnyArray, values: AnyArray,
    steps: AnyArray, table: AnyArray, criterion: int, scale: int, a: int, b: int,
) -> None:  # fmt: skip
    """Move a person of a quasi-identifier from class a to b."""
    for k in range(n):
        g, f = groups[at_q + k], path[start + k]
        first, kind = first_cells[f], kinds[f]
        if kind in (MULTIWAY, OWN):
            values[f] += _shift(counts, squares, purity, steps, table, criterion, scale, first + g, a, b)
            continue
        for j in range(n_groups[f] - 1 if kind == THRESHOLD else n_groups[f]):
            if allowed[first + 2 * j]:
                inside = g <= j if kind == THRESHOLD else g == j
                cell = first + 2 * j + (0 if inside else 1)
                _shift(counts, squares, purity, steps, table, criterion, scale, cell, a, b)


@compiled
def _excess(purity: int, target: int, whole: int, ratio: float, allowance: float, scale: int, divides: bool) -> float:
    """Return by how much a candidate of a given purity is better than it may be, in people."""
    slack: float = (target - purity) / scale
    if divides:
        slack = (whole - purity) / scale + ratio * ((target - whole) / scale)
    return float(max(0.0, -slack - allowance))


@compiled
def _span_excess(
    f: int, low: int, high: int, stride: int, kinds: AnyArray, nodes: AnyArray, own: AnyArray, whole: AnyArray,
    first_cells: AnyArray, allowed: AnyArray, ratios: AnyArray, allowances: AnyArray, purity: AnyArray,
    values: AnyArray, scale: int, divides: bool,
) -> float:  # fmt: skip
    """Return the excess of some candidates of a family, added up."""
    first, kind, v = first_cells[f], kinds[f], nodes[f]
    if kind == OWN:
        return 0.0
    target, all_ = values[own[v]], values[whole[v]]
    total = 0.0
    if kind == MULTIWAY:
        return float(_excess(values[f], target, all_, ratios[first], allowances[v], scale, divides))
    for j in range(low, high, stride):
        cell = first + 2 * j
        if allowed[cell]:
            both = purity[cell] + purity[cell + 1]
            total += _excess(both, target, all_, ratios[cell], allowances[v], scale, divides)
    return total


@compiled
def penalty(board: Board, state: State) -> float:
    """Return the excess of all candidates, in people: 0 in a world."""
    total = 0.0
    for f in range(len(board.kinds)):
        high = board.n_groups[f] - 1 if board.kinds[f] == THRESHOLD else board.n_groups[f]
        total += _span_excess(
            f, 0, high, 1, board.kinds, board.nodes, board.own, board.whole, board.first, board.open, board.ratios,
            board.allowances, state.purity, state.values, board.scale, board.divides,
        )  # fmt: skip
    return total


@compiled
def _touched(
    path: AnyArray, start: int, n: int, groups: AnyArray, at_q: int, at_r: int, kinds: AnyArray, nodes: AnyArray,
    own: AnyArray, whole: AnyArray, first_cells: AnyArray, n_groups: AnyArray, allowed: AnyArray, ratios: AnyArray,
    allowances: AnyArray, purity: AnyArray, values: AnyArray, scale: int, divides: bool,
) -> float:  # fmt: skip
    """Return the excess of the candidates that a swap can change or, where ``at_r`` is negative, a change of class."""
    total = 0.0
    for k in range(n):
        f = path[start + k]
        low, high, stride = 0, n_groups[f] - 1 if kinds[f] == THRESHOLD else n_groups[f], 1
        if at_r >= 0:
            g1, g2 = groups[at_q + k], groups[at_r + k]
            if g1 == g2:
                continue
            low, high = min(g1, g2), max(g1, g2)
            if kinds[f] == ONE_VALUE:
                high, stride = high + 1, high - low
        total += _span_excess(
            f, low, high, stride, kinds, nodes, own, whole, first_cells, allowed, ratios, allowances, purity, values,
            scale, divides,
        )  # fmt: skip
    return total


@compiled
def _leaf_agrees(
    labels: AnyArray, correct: AnyArray, low: AnyArray, high: AnyArray, leaf_counts: AnyArray, leaf: int
) -> bool:
    for c in range(leaf_counts.shape[1]):
        if leaf_counts[leaf, c] < low[leaf, c] or leaf_counts[leaf, c] > high[leaf, c]:
            return False
    label = labels[leaf]
    if label < 0:
        return True
    own = leaf_counts[leaf, label]
    if correct[leaf] >= 0 and own != correct[leaf]:
        return False
    return bool(leaf_counts[leaf].max() <= own)


@compiled
def _idle(person: AnyArray, classes: AnyArray, i: int, j: int, b: int) -> bool:
    """Return whether a move changes nothing."""
    if j < 0:
        return bool(classes[i] == b)
    return bool(classes[i] == classes[j] or person[i] == person[j])


@compiled
def _apply(board: Board, state: State, i: int, j: int, b: int) -> None:
    """Swap the classes of persons i and j of a leaf or, where j is negative, give i the class b."""
    if _idle(board.person, state.classes, i, j, b):
        return
    q, a = board.person[i], state.classes[i]
    leaf = board.leaf[q]
    start = board.path_starts[leaf]
    n = board.path_starts[leaf + 1] - start
    if j >= 0:
        r, b = board.person[j], state.classes[j]
        _swap(
            board.path, start, n, board.groups, board.group_starts[q], board.group_starts[r], board.kinds, board.first,
            board.open, state.counts, state.squares, state.purity, state.values, board.steps, board.table,
            board.criterion, board.scale, a, b,
        )  # fmt: skip
        state.classes[j] = a
        state.x[r, b] -= 1
        state.x[r, a] += 1
    else:
        _change(
            board.path, start, n, board.groups, board.group_starts[q], board.kinds, board.first, board.n_groups,
            board.open, state.counts, state.squares, state.purity, state.values, board.steps, board.table,
            board.criterion, board.scale, a, b,
        )  # fmt: skip
        state.leaf_counts[leaf, a] -= 1
        state.leaf_counts[leaf, b] += 1
    state.classes[i] = b
    state.x[q, a] -= 1
    state.x[q, b] += 1


@compiled
def _parts_excess(board: Board, state: State, parts: AnyArray, size: int) -> float:
    """Return the excess of the candidates that the parts of a move can change."""
    total = 0.0
    for p in range(size):
        q = board.person[parts[p, 0]]
        at_r = board.group_starts[board.person[parts[p, 1]]] if parts[p, 1] >= 0 else -1
        start = board.path_starts[board.leaf[q]]
        n = board.path_starts[board.leaf[q] + 1] - start
        total += _touched(
            board.path, start, n, board.groups, board.group_starts[q], at_r, board.kinds, board.nodes, board.own,
            board.whole, board.first, board.n_groups, board.open, board.ratios, board.allowances, state.purity,
            state.values, board.scale, board.divides,
        )  # fmt: skip
    return total


@compiled
def _draw(board: Board, n_classes: int, low: int, high: int, rng: np.random.Generator, part: AnyArray) -> None:
    """Draw one part of a move: a person of a range, and a partner of its leaf or a new class."""
    i = low + int(rng.random() * (high - low))
    part[0], part[1], part[2], part[3] = i, -1, -1, -1
    if board.free and rng.random() < 0.5:
        part[2] = int(rng.random() * n_classes)
        return
    leaf = board.leaf[board.person[i]]
    first = board.leaf_starts[leaf]
    part[1] = first + int(rng.random() * (board.leaf_starts[leaf + 1] - first))


@compiled
def _draw_swaps(classes: AnyArray, low: int, high: int, rng: np.random.Generator, parts: AnyArray, size: int) -> bool:
    """Draw pairs of people who give each other their classes; return whether all are different people."""
    for p in range(0, size, 2):
        i, j = low + int(rng.random() * (high - low)), low + int(rng.random() * (high - low))
        parts[p, 0], parts[p, 1], parts[p, 2], parts[p, 3] = i, -1, classes[j], -1
        parts[p + 1, 0], parts[p + 1, 1], parts[p + 1, 2], parts[p + 1, 3] = j, -1, classes[i], -1
    for p in range(size):
        for r in range(p):
            if parts[p, 0] == parts[r, 0]:
                return False
    return True


@compiled
def run(
    board: Board,
    state: State,
    moves: int,
    larger: float,
    temperature: float,
    rng: np.random.Generator,
    parts: AnyArray,
    tally: AnyArray,
) -> None:
    """Make moves, and reject those that contradict what a leaf states."""
    # At a negative temperature the state is a world, and moves to what is none are rejected: the chain proper. Else it
    # is a search for one, in which the excess may rise as the temperature allows. tally adds up the moves that would
    # change the table and those that did, single moves first, larger ones next.
    n_classes, n_spans, n_people = state.x.shape[1], len(board.spans), len(state.classes)
    for _ in range(moves):
        size, low, high = 1, 0, n_people
        single = not rng.random() < larger
        if not single:
            size = 2 + int(rng.random() * (MOST_PARTS - 1))
            v = int(rng.random() * n_spans)
            low, high = board.spans[v, 0], board.spans[v, 1]
        if board.tied:
            size = 2 if single else MOST_PARTS
            if not _draw_swaps(state.classes, low, high, rng, parts, size):
                continue
        for p in range(0 if board.tied else size):
            _draw(board, n_classes, low, high, rng, parts[p])
        if size == 1 and _idle(board.person, state.classes, parts[0, 0], parts[0, 1], parts[0, 2]):
            continue
        before = _parts_excess(board, state, parts, size) if temperature >= 0 else 0.0
        changed = False
        for p in range(size):
            i, j, b = parts[p, 0], parts[p, 1], parts[p, 2]
            parts[p, 3] = state.classes[i]
            changed |= not _idle(board.person, state.classes, i, j, b)
            _apply(board, state, i, j, b)
        if not changed:
            continue
        fine = True
        for p in range(size if board.free else 0):
            leaf = board.leaf[board.person[parts[p, 0]]]
            fine &= _leaf_agrees(board.labels, board.correct, board.low, board.high, state.leaf_counts, leaf)
        if fine:
            after = _parts_excess(board, state, parts, size)
            fine = after <= before
            if not fine and temperature > 0:
                fine = after - before < -temperature * math.log(max(rng.random(), 1e-300))
        tally[0 if single else 2] += 1
        if fine:
            tally[1 if single else 3] += 1
            continue
        for p in range(size - 1, -1, -1):
            # The swap of two classes undoes itself; a change of class goes back to the one before.
            _apply(board, state, parts[p, 0], parts[p, 1], parts[p, 3])


@compiled
def _record(x: AnyArray, offsets: AnyArray, histogram: AnyArray, batch: AnyArray) -> None:
    """Add a draw to the histogram of each cell's values, shape (rows, c), and to the sums of a batch."""
    for q in range(x.shape[0]):
        for c in range(x.shape[1]):
            histogram[offsets[q] + x[q, c], c] += 1
            batch[q, c] += x[q, c]


class Kept(NamedTuple):
    """What is kept of the draws of a chain.

    ``offsets``, shape (q + 1,), say where the values of a quasi-identifier begin in ``histograms``, shape (2, v, c),
    one for each half of the chain; ``batches``, shape (b, q, c), are sums.
    """

    offsets: AnyArray
    histograms: AnyArray
    batches: AnyArray
    draws: int


@compiled
def sample(
    board: Board,
    state: State,
    moves: int,
    larger: float,
    rng: np.random.Generator,
    parts: AnyArray,
    tally: AnyArray,
    kept: Kept,
) -> None:
    """Draw worlds, some moves apart, into two histograms, one for each half of the chain, and sums of batches."""
    draws = kept.draws
    for draw in range(draws):
        run(board, state, moves, larger, -1.0, rng, parts, tally)
        batch = kept.batches[draw * len(kept.batches) // draws]
        _record(state.x, kept.offsets, kept.histograms[2 * draw // draws], batch)
