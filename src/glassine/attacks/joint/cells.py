"""The cells of several models: non-empty intersections of one leaf or rule of each, with their exact sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.joint.published import Published
from glassine.attacks.rows.boxes import WORD, Boxes, Packing, TooManyBoxesError, Words, refine
from glassine.counting import Box, Measure, Region, RegionCounter, Space
from glassine.domain import Domain
from glassine.errors import CountingLimitError

__all__ = ["Cells", "intersect"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """The parts of the domain that hold records as far as each model tells.

    Attributes
    ----------
    packing : Packing
        The space, with every literal of the models.
    boxes : ndarray of uint64, shape (cells, words)
        The packed box of each cell; what rule lists leave out of it is in ``outside``.
    leaves : ndarray of int32, shape (cells, models)
        The leaf or rule of each model.
    outside : tuple of (tuple of Box)
        For each cell the boxes that do not belong to it.
    measures : tuple of int or Fraction
        Exact number of possible records of each cell, or its volume; none is zero.
    closed : Cells or None
        These cells and those without a volume, such as single points of a continuum, which can hold records all the
        same; their measures are zero. None where there are none.
    """

    packing: Packing
    boxes: Words
    leaves: npt.NDArray[np.int32]
    outside: tuple[tuple[Box, ...], ...]
    measures: tuple[Measure, ...]
    closed: Cells | None = None

    def __len__(self) -> int:
        return len(self.measures)

    @property
    def total(self) -> Measure:
        """Measure of the whole domain."""
        return self.packing.space.total

    def region(self, cell: int) -> Region:
        """Return a cell as a region of the space."""
        space = self.packing.space
        inside = {}
        for factor in range(len(space.factors)):
            mask = self.packing.mask(self.boxes[cell], factor)
            if mask != space.full(factor):
                inside[factor] = mask
        return Region(inside, self.outside[cell])


def intersect(
    told: Sequence[Published], domain: Domain, *, domain_aware: bool, max_cells: int, max_steps: int
) -> Cells:
    """Return the cells of models.

    Raises
    ------
    CountingLimitError
        If there are more than ``max_cells``, or the cells of rule lists take more than ``max_steps`` steps to count.
    """
    literals = dict.fromkeys(literal for t in told for literal in t.model.literals)
    space = Space(domain, literals, domain_aware=domain_aware)
    packing = Packing(space)
    inside = [
        [{f: packing.words(f, mask) for f, mask in space.box(cell.inside).items()} for cell in t.model.cells]
        for t in told
    ]
    try:
        found = refine(packing, inside, [(t.sizes > 0).tolist() for t in told], max_boxes=max_cells, deadline=math.inf)
    except TooManyBoxesError:
        raise CountingLimitError(
            f"the models together tell more than {max_cells:,} parts of the domain apart. Take fewer or "
            "smaller models, declare the domain's groups, or raise max_cells.",
            max_steps=max_cells,
        ) from None
    outside = _outside(told, space, found)
    boxes = _box_measures(packing, found.rows)
    measures = _measures(packing, found.rows, boxes, outside, max_steps)
    everything = Cells(
        packing=packing, boxes=found.rows, leaves=found.leaves, outside=tuple(outside), measures=tuple(measures)
    )
    kept = [i for i, measure in enumerate(measures) if measure]
    # In a finite domain a part without measure is empty.
    points = len(kept) < len(measures) and domain.size() is None
    return Cells(
        packing=packing,
        boxes=found.rows[kept],
        leaves=found.leaves[kept],
        outside=tuple(outside[i] for i in kept),
        measures=tuple(measures[i] for i in kept),
        closed=everything if points else None,
    )


def _outside(told: Sequence[Published], space: Space, found: Boxes) -> list[tuple[Box, ...]]:
    """Return for each cell the boxes that its rules leave to earlier rules."""
    per_model = [[tuple(space.box(c) for c in cell.outside) for cell in t.model.cells] for t in told]
    if not any(boxes for cells in per_model for boxes in cells):
        return [()] * len(found)
    return [
        tuple(box for cells, leaf in zip(per_model, row, strict=True) for box in cells[leaf])
        for row in found.leaves.tolist()
    ]


def _measures(
    packing: Packing, rows: Words, boxes: Sequence[Measure], outside: Sequence[tuple[Box, ...]], max_steps: int
) -> list[Measure]:
    """Return the exact measure of each cell: of its box, less what belongs to earlier rules."""
    space = packing.space
    counter = RegionCounter(space, max_steps=max_steps)
    out: list[Measure] = []
    for place, (measure, left_out) in enumerate(zip(boxes, outside, strict=True)):
        if measure and left_out:
            masks = {f: packing.mask(rows[place], f) for f in range(len(space.factors))}
            inside = {f: mask for f, mask in masks.items() if mask != space.full(f)}
            measure = counter.measure(Region(inside, left_out))
        out.append(measure)
    return out


def _box_measures(packing: Packing, rows: Words) -> list[Measure]:
    """Return the exact measure of each packed box, factor by factor over the patterns that occur."""
    out: npt.NDArray[Any] = np.full(len(rows), 1, dtype=object)
    for factor, span in enumerate(packing.spans):
        patterns, where = np.unique(rows[:, span], axis=0, return_inverse=True)
        weights = np.empty(len(patterns), dtype=object)
        for i, pattern in enumerate(patterns):
            mask = sum(int(word) << (WORD * j) for j, word in enumerate(pattern))
            weights[i] = packing.space.weight(factor, mask)
        out = out * (weights[0] if len(weights) == 1 else weights[where.ravel()])
    return list(out)
