"""How many records each cell holds over all data sets that meet the counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.attacks.joint.cells import Cells
from glassine.attacks.joint.flows import Graph, improve_ranges
from glassine.attacks.joint.programs import real_range
from glassine.attacks.joint.published import Whole
from glassine.attacks.joint.result import CellRanges
from glassine.attacks.joint.settling import Settled, graph_of
from glassine.attacks.joint.system import System

__all__ = ["Possible", "cell_ranges", "edge_ranges"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

EVERY_EDGE = 30_000
"""Free options of two models up to which the range of each is computed; beyond, of those that may be small groups."""
MOST_PROGRAMS = 100
"""Cells of three models or more whose range is computed; two linear programs each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Possible:
    """Which cells and classes can hold records.

    Attributes
    ----------
    cells : ndarray of bool, shape (cells,)
        Whether a cell can.
    classes : ndarray of bool, shape (cells, classes)
        Whether a cell can hold records of a class; one column where classes are not told.
    """

    cells: Flags
    classes: Flags


def cell_ranges(
    cells: Cells,
    settled: Sequence[Settled],
    expected: Floats,
    table: Whole | None,
    *,
    finite: bool,
    at_most: int,
) -> tuple[CellRanges, Possible]:
    """Return the range of every cell's number of records, exact at least for small groups of two models.

    Where some model tells classes and another does not, ``settled`` holds the system of cells and classes and that of
    the cells alone. Class counts of one of two models do not bound the cells then: its parts' sizes do, and every table
    of the cells can be labelled. ``expected`` holds the expected records of each cell, ``table`` some table of the
    first system's options. Cells without a volume may turn out to be empty: then no range is called exact.
    """
    system = settled[0].system
    n = len(cells)
    if len(system.counts) <= 2:
        alone = settled[-1]
        low, high, exact = _of_cells(n, alone.system, *_two(alone, at_most))
    else:
        low, high, exact = _many(n, system, expected, table, at_most)
    if not all(cells.measures):
        exact = np.zeros(n, dtype=bool)
    width = max(1, int(system.classes.max(initial=-1)) + 1)
    classes = np.zeros((n, width), dtype=bool)
    able = system.fixed != 0
    classes[system.cells[able], np.maximum(system.classes[able], 0)] = True
    ranges = CellRanges(
        leaves=cells.leaves,
        worlds=tuple(int(m) if finite else None for m in cells.measures),
        low=low,
        high=high,
        exact=exact,
        expected=expected,
    )
    return ranges, Possible(cells=high > 0, classes=classes)


def _two(settled: Settled, at_most: int) -> tuple[Whole, Whole, Flags]:
    """Return the range of every option of one or two models."""
    system = settled.system
    low, high = _outer(system)
    exact = system.fixed >= 0
    free = system.free
    if len(free) and settled.table is not None:
        least, most, settles = edge_ranges(graph_of(system), settled.table[free], at_most)
        low[free[settles]], high[free[settles]] = least[settles], most[settles]
        exact[free[settles]] = True
    return low, high, exact


def edge_ranges(graph: Graph, table: Whole, at_most: int) -> tuple[Whole, Whole, Flags]:
    """Return the ranges of edges, and which are exact: all of a small graph, of a large one those of small groups."""
    if len(table) <= EVERY_EDGE:
        return improve_ranges(graph, table, np.arange(len(table)), at_most=None)
    return improve_ranges(graph, table, np.flatnonzero((table > 0) & (table <= at_most)), at_most=at_most)


def _outer(system: System) -> tuple[Whole, Whole]:
    """Return bounds from each part alone: its count, less the most that its other options can take."""
    high = system.fixed.copy()
    low = np.maximum(system.fixed, 0)
    free = system.free
    left = [system.left(i) for i in range(len(system.counts))]
    high[free] = np.min([count[system.parts[free, i]] for i, count in enumerate(left)], axis=0) if len(free) else 0
    for i, count in enumerate(left):
        most = np.bincount(system.parts[free, i], high[free], minlength=len(count)).astype(np.int64)
        low[free] = np.maximum(low[free], (count - most)[system.parts[free, i]] + high[free])
    return low, high


def _of_cells(n: int, system: System, low: Whole, high: Whole, exact: Flags) -> tuple[Whole, Whole, Flags]:
    """Add the ranges of a cell's classes, which do not constrain each other where all models tell classes."""
    below = np.bincount(system.cells, low, minlength=n).astype(np.int64)
    above = np.bincount(system.cells, high, minlength=n).astype(np.int64)
    open_ = np.bincount(system.cells, ~exact, minlength=n) > 0
    return below, above, ~open_


def _many(n: int, system: System, expected: Floats, table: Whole | None, at_most: int) -> tuple[Whole, Whole, Flags]:
    """Return the ranges of the cells of three models or more: by linear programs for those that may be small groups."""
    low, high, exact = _of_cells(n, system, *_outer(system), system.fixed >= 0)
    free = system.free
    if not len(free):
        return low, high, exact
    in_free = np.bincount(system.cells[free], minlength=n) > 0
    held = np.ones(n) if table is None else np.bincount(system.cells, table, minlength=n)
    wanted = np.flatnonzero(in_free & (held >= 1) & (held <= at_most))
    wanted = wanted[np.argsort(-expected[wanted])[:MOST_PROGRAMS]]
    left = tuple(system.left(i) for i in range(len(system.counts)))
    for cell in wanted.tolist():
        mine = np.flatnonzero(system.cells[free] == cell)
        known = int(np.maximum(system.fixed[system.cells == cell], 0).sum())
        least, most = real_range(system.parts[free], left, mine)
        low[cell], high[cell] = max(low[cell], known + least), min(high[cell], known + most)
    return low, high, exact
