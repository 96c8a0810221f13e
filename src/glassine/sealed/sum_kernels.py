"""The kernels of an additive fit, by public sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassine.privacy.fine_gaussian import load_noise
from glassine.sealed.sums import (
    ONCE,
    Leaves,
    Loss,
    Moves,
    _advance,
    _apply,
    _cells,
    _counts,
    _gather,
    _join,
    _spread,
    cross,
    start_scores,
    visit,
)


def load(outputs: int, *, classes: bool, bins: int, boosting: bool, pairs: bool) -> None:
    """Load or compile the kernels of a fit whose attributes have at most so many bins, by the types of public sizes."""
    numbers, whole, once = np.zeros(1), np.zeros(1, dtype=np.int64), ONCE
    table, sums = np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1, outputs), dtype=np.int64)
    scores, target = start_scores(1, np.zeros(outputs)), whole if outputs > 1 else numbers
    moves, loss = Moves(np.zeros(sums.shape), np.zeros(outputs)), Loss.of(outputs, 1.0, 1, classes=classes)
    cells = np.zeros((1, 1), dtype=np.uint16)
    _cells.load(numbers, numbers, cells[0])
    _counts.load(cells, table)
    # Bins of one byte where they are few, by what is released; cells of several terms together have two.
    few, many = cells.astype(np.uint8), cells
    for codes in (few, many) if bins > 256 else (few,):
        _apply.load(cells[0], codes[0], codes[0])
        if boosting:
            visit.load(codes, scores, target, Leaves(table, np.zeros((1, 1)), sums), 1.0, loss, sums)
            continue
        _join.load(codes, table, cells)
        if pairs:
            cross.load(codes[0], codes[0], whole, whole, 1, cells[0])
    if boosting:
        return
    if pairs:
        _join.load(many, table, cells)
    _spread.load(moves.step, table, moves.step)
    _gather.load(sums, table, sums)
    for codes in (few, many):
        _advance.load(codes, scores, target, once, moves, loss, sums)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """The kernels of all questions of a fit, by public sizes."""

    outputs: int
    classes: bool
    bins: int  # Most bins of an attribute
    boosting: bool = False
    pairs: bool = False

    def load(self) -> None:
        """Load or compile them, and those that draw."""
        load_noise()
        load(self.outputs, classes=self.classes, bins=self.bins, boosting=self.boosting, pairs=self.pairs)
