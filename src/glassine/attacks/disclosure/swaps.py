"""The inner loop of the Markov chain: moves, the constraints that they touch, and what is kept of the draws.

Functions take the board and the state as they are. Their arrays are counted by reference, and each count costs as much
as a move's step: the compiler leaves the counts out where a function binds no array to a name, changes no array in a
branch, and cannot divide by zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from glassine.compiling import compiled
from glassine.records.arrays import AnyArray

if TYPE_CHECKING:
    import numpy as np

    from glassine.attacks.disclosure.board import Board, State

# Kinds of families, as in slacks and board: compiled functions see constants of their own module alone.
MULTIWAY, THRESHOLD, ONE_VALUE, OWN = 0, 1, 2, 3

MOST_PARTS = 4
"""Parts of a move, at most: two to four swaps or changes at once."""


@compiled
def _largest(counts: AnyArray, cell: int) -> int:
    """Return the largest class count of a cell."""
    largest = 0
    for c in range(counts.shape[1]):
        largest = max(largest, int(counts[cell, c]))
    return largest


@compiled
def _shift(board: Board, state: State, cell: int, a: int, b: int) -> int:
    """Move a person of a cell from class a to b; return by how much its purity rises."""
    before: int = state.purity[cell]
    m, k = state.counts[cell, a], state.counts[cell, b]
    state.counts[cell, a] = m - 1
    state.counts[cell, b] = k + 1
    if board.criterion == 0:
        now = state.squares[cell] + 2 * (k - m) + 2
        state.squares[cell] = now
        after = int(now * board.cells[cell]["step"])
    elif board.criterion == 1:
        after = before + board.table[m - 1] - board.table[m] + board.table[k + 1] - board.table[k]
    else:
        after = _largest(state.counts, cell) * board.scale
    state.purity[cell] = after
    return after - before


@compiled
def _swap(board: Board, state: State, q: int, r: int, a: int, b: int) -> None:
    """Swap classes a and b between people of two quasi-identifiers in one leaf."""
    leaf, at_q, at_r = board.quasi[q]["leaf"], board.quasi[q]["groups"], board.quasi[r]["groups"]
    start = board.leaves[leaf]["path"]
    for k in range(board.leaves[leaf + 1]["path"] - start):
        g1, g2 = board.groups[at_q + k], board.groups[at_r + k]
        if g1 == g2:
            continue
        f = board.path[start + k]
        first, kind = board.families[f]["first"], board.families[f]["kind"]
        if kind in (MULTIWAY, OWN):
            state.values[f] += _shift(board, state, first + g1, a, b)
            state.values[f] += _shift(board, state, first + g2, b, a)
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
            if board.cells[cell]["open"]:
                _shift(board, state, cell, gone, come)
                _shift(board, state, cell + 1, come, gone)


@compiled
def _change(board: Board, state: State, q: int, a: int, b: int) -> None:
    """Move a person of a quasi-identifier from class a to b."""
    leaf, at_q = board.quasi[q]["leaf"], board.quasi[q]["groups"]
    start = board.leaves[leaf]["path"]
    for k in range(board.leaves[leaf + 1]["path"] - start):
        g, f = board.groups[at_q + k], board.path[start + k]
        first, kind, n_groups = board.families[f]["first"], board.families[f]["kind"], board.families[f]["groups"]
        if kind in (MULTIWAY, OWN):
            state.values[f] += _shift(board, state, first + g, a, b)
            continue
        for j in range(n_groups - 1 if kind == THRESHOLD else n_groups):
            if board.cells[first + 2 * j]["open"]:
                inside = g <= j if kind == THRESHOLD else g == j
                _shift(board, state, first + 2 * j + (0 if inside else 1), a, b)


@compiled
def _excess(board: Board, state: State, f: int, cell: int) -> float:
    """Return by how much a candidate of a family is better than it may be, in people."""
    purity = state.values[f]
    if board.families[f]["kind"] != MULTIWAY:
        purity = state.purity[cell] + state.purity[cell + 1]
    v = board.families[f]["split"]
    target, whole = state.values[board.splits[v]["own"]], state.values[board.splits[v]["whole"]]
    slack: float = (target - purity) * board.step
    if board.divides:
        slack = (whole - purity) * board.step + board.cells[cell]["ratio"] * ((target - whole) * board.step)
    return float(max(0.0, -slack - board.splits[v]["allowance"]))


@compiled
def _span_excess(board: Board, state: State, f: int, low: int, high: int) -> float:
    """Return the excess of some candidates of a family, added up."""
    total = 0.0
    for j in range(low, high):
        cell = board.families[f]["first"] + 2 * j
        if board.cells[cell]["open"]:
            total += _excess(board, state, f, cell)
    return total


@compiled
def _n_candidates(families: AnyArray, f: int) -> int:
    """Return how many candidates a family has; the chosen split is none."""
    n_groups: int = families[f]["groups"]
    if families[f]["kind"] == ONE_VALUE:
        return n_groups
    if families[f]["kind"] == THRESHOLD:
        return n_groups - 1
    return 1 if families[f]["kind"] == MULTIWAY else 0


@compiled
def penalty(board: Board, state: State) -> float:
    """Return the excess of all candidates, in people: 0 in a world."""
    total = 0.0
    for f in range(len(board.families)):
        total += _span_excess(board, state, f, 0, _n_candidates(board.families, f))
    return total


@compiled
def _touched(board: Board, state: State, q: int, r: int) -> float:
    """Return the excess of the candidates that a swap can change or, where r is negative, a change of class."""
    leaf, at_q, at_r = board.quasi[q]["leaf"], board.quasi[q]["groups"], board.quasi[r]["groups"]
    start = board.leaves[leaf]["path"]
    total = 0.0
    for k in range(board.leaves[leaf + 1]["path"] - start):
        f = board.path[start + k]
        low, high = 0, _n_candidates(board.families, f)
        if r >= 0:
            g1, g2 = board.groups[at_q + k], board.groups[at_r + k]
            if g1 == g2:
                continue
            if board.families[f]["kind"] == ONE_VALUE:
                total += _span_excess(board, state, f, g1, g1 + 1) + _span_excess(board, state, f, g2, g2 + 1)
                continue
            if board.families[f]["kind"] == THRESHOLD:
                low, high = min(g1, g2), max(g1, g2)
        total += _span_excess(board, state, f, low, high)
    return total


@compiled
def _leaf_agrees(board: Board, state: State, leaf: int) -> bool:
    """Return whether the class counts of a leaf are what it states."""
    largest = 0
    for c in range(state.leaf_counts.shape[1]):
        n = state.leaf_counts[leaf, c]
        if n < board.low[leaf, c] or n > board.high[leaf, c]:
            return False
        largest = max(largest, n)
    label, correct = board.leaves[leaf]["label"], board.leaves[leaf]["correct"]
    if label < 0:
        return True
    own = state.leaf_counts[leaf, label]
    return bool(own == largest and correct in (-1, own))


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
    if j >= 0:
        r, b = board.person[j], state.classes[j]
        _swap(board, state, q, r, a, b)
        state.classes[j] = a
        state.x[r, b] -= 1
        state.x[r, a] += 1
    else:
        leaf = board.quasi[q]["leaf"]
        _change(board, state, q, a, b)
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
        j = parts[p, 1]
        total += _touched(board, state, board.person[parts[p, 0]], board.person[j] if j >= 0 else -1)
    return total


@compiled
def _draw(board: Board, n_classes: int, low: int, high: int, rng: np.random.Generator, part: AnyArray) -> None:
    """Draw one part of a move: a person of a range, and a partner of its leaf or a new class."""
    i = low + int(rng.random() * (high - low))
    part[0], part[1], part[2], part[3] = i, -1, -1, -1
    if board.free and rng.random() < 0.5:
        part[2] = int(rng.random() * n_classes)
        return
    leaf = board.quasi[board.person[i]]["leaf"]
    first = board.leaves[leaf]["person"]
    part[1] = first + int(rng.random() * (board.leaves[leaf + 1]["person"] - first))


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
            fine &= _leaf_agrees(board, state, board.quasi[board.person[parts[p, 0]]]["leaf"])
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
