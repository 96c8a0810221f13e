"""A world of whole people that keeps all constraints: classes are dealt out, and swapped until none is broken.

A swap of two people of a leaf keeps the class counts of the leaf. A share of the moves are larger ones: two to four
swaps at once among the people of one node, of which only the result is checked. Where class counts are unknown, half of
the moves give one person another class, and moves that contradict the label or error rate of a leaf are also rejected.
Where class totals are known as well, two people of any leaves swap their classes.
"""

from __future__ import annotations

import numpy as np

from glassine.attacks.disclosure.board import Board, State, set_up
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.swaps import MOST_PARTS, penalty, run
from glassine.attacks.disclosure.worlds import StartError, leaf_tables
from glassine.records.arrays import Ints

SHORTEST_SWEEP = 50
"""Moves of a sweep, at least; else one for each person."""

MANY_PEOPLE = 1000

LARGER, LARGER_OF_FEW = 0.1, 0.4
"""Share of the moves that are larger ones: more where a constraint can concern everyone, below 1,000 people."""

HOTTEST, COOLING, STEPS, REHEATS = 0.3, 0.7, 30, 3
"""Temperature of the search for a world in people of impurity; its factor a step; steps, and how often it restarts."""


def share_of_larger(board: Board) -> float:
    """Return the share of the moves that are larger ones."""
    return LARGER if len(board.person) >= MANY_PEOPLE else LARGER_OF_FEW


def first_world(
    disclosure: Disclosure, board: Board, rng: np.random.Generator, *, from_estimate: bool
) -> tuple[State, bool]:
    """Return a world to start from, and whether it had to be searched."""
    # Classes are dealt out within every leaf, evenly or as the maximum-entropy estimate says. If the table breaks a
    # constraint, simulated annealing lowers the sum of all excesses to zero.
    classes = _dealt(disclosure, board, rng, from_estimate)
    state = set_up(board, disclosure.constraints, classes, len(disclosure.classes))
    if not penalty(board, state) > 0:
        return state, False
    parts, tally = np.zeros((MOST_PARTS, 4), dtype=np.int64), np.zeros(4, dtype=np.int64)
    moves = max(len(classes), 10 * SHORTEST_SWEEP)
    for heat in range(REHEATS + 1):
        # The first search cools at once: mostly few constraints are broken, and by little.
        temperature = HOTTEST if heat else 0.0
        for _ in range(STEPS):
            run(board, state, moves, share_of_larger(board), temperature, rng, parts, tally)
            if not penalty(board, state) > 0:
                return state, True
            temperature = temperature * COOLING if temperature > 1e-4 else 0.0
    broken = disclosure.constraints.violations(state.x)
    named = f"the furthest off is {broken[0]}" if broken else "one is off by a rounding"
    raise StartError(
        f"no world was found to start from: after {(REHEATS + 1) * STEPS * moves:,} moves {len(broken)} constraints "
        f"are broken, {named}. There may be no table of whole people that keeps all constraints: the assumed "
        "criterion or candidates may be wrong.",
        clashes=broken,
    )


def _dealt(disclosure: Disclosure, board: Board, rng: np.random.Generator, from_estimate: bool) -> Ints:
    """Return a class for each person, in the order of the board, that agrees with the leaves."""
    out = np.empty(len(board.person), dtype=np.int64)
    tables = leaf_tables(disclosure, rng)
    for leaf in range(len(board.low)):
        first, last = board.leaves["person"][leaf : leaf + 2].tolist()
        counts = tables[leaf]
        hand = np.repeat(np.arange(len(counts)), counts)
        if not from_estimate or (counts > 0).sum() < 2:
            out[first:last] = rng.permutation(hand)
            continue
        shares = np.maximum(disclosure.quasi_probabilities[board.person[first:last]], 1e-6)
        # Of the people in turn, each takes a class by its share, among the classes that are left.
        left = counts.copy()
        for i in rng.permutation(last - first):
            weight = np.cumsum(shares[i] * left / np.maximum(counts, 1))
            c = int(np.searchsorted(weight, rng.random() * weight[-1], side="right"))
            out[first + i] = c
            left[c] -= 1
    return out
