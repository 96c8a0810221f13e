"""The cells of several models: non-empty intersections of one leaf or rule of each, with their exact sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from glassine.attacks.reconstruction.joint_published import ClashError, CountedModel
from glassine.attacks.reconstruction.row_boxes import WORD, Boxes, Packing, TooManyBoxesError, Words, refine
from glassine.counting import Box, Measure, Region, RegionCounter, Space
from glassine.domain import Domain
from glassine.errors import CountingLimitError, parameter
from glassine.records.arrays import AnyArray, Indices, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointCells:
    """The parts of the domain that hold records as far as each model reveals."""

    packing: Packing  # The space, with every literal of the models, weighed by the domain's public shares
    boxes: Words  # The packed box of each cell; what rule lists leave out of it is in ``outside``; shape (cells, words)
    leaves: npt.NDArray[np.int32]  # The leaf or rule of each model; shape (cells, models)
    outside: tuple[tuple[Box, ...], ...]  # For each cell the boxes that do not belong to it
    measures: tuple[Measure, ...]  # Exact number of possible records of each cell, or its volume; none is zero
    # What each cell weighs before the models are read: its chance by the domain's public shares, times the measure of
    # the whole domain. Without shares these are the measures.
    weights: tuple[Measure, ...]
    total: Measure  # Measure of the whole domain, which is also its weight
    # These cells and those without a volume, such as single points of a continuum, which can hold records all the same;
    # their measures are zero. None where there are none.
    closed: JointCells | None = None

    def __len__(self) -> int:
        return len(self.measures)

    def region(self, cell: int) -> Region:
        """Return a cell as a region of the space."""
        space = self.packing.space
        inside = {}
        for factor in range(len(space.factors)):
            mask = self.packing.mask(self.boxes[cell], factor)
            if mask != space.full[factor]:
                inside[factor] = mask
        return Region(inside, self.outside[cell])


def intersect(published: Sequence[CountedModel], domain: Domain, *, max_parts: int, max_steps: int) -> JointCells:
    """Return the cells of models."""
    packing, result, outside, weights = _measured(published, domain, max_parts, max_steps, by_shares=True)
    total = packing.space.total
    measures = weights
    if domain.shares:
        # Shares cut the space into more atoms, and into no more cells: their order is that of the leaves.
        plain, _, _, measures = _measured(published, domain, max_parts, max_steps, by_shares=False)
        scale = Fraction(plain.space.total) / Fraction(total)
        total, weights = plain.space.total, [weight * scale for weight in weights]
    everything = JointCells(
        packing=packing,
        boxes=result.rows,
        leaves=result.leaves,
        outside=tuple(outside),
        measures=tuple(measures),
        weights=tuple(weights),
        total=total,
    )
    kept = [i for i, measure in enumerate(measures) if measure]
    # In a finite domain a part without measure is empty.
    points = len(kept) < len(measures) and domain.size() is None
    return JointCells(
        packing=packing,
        boxes=result.rows[kept],
        leaves=result.leaves[kept],
        outside=tuple(outside[i] for i in kept),
        measures=tuple(measures[i] for i in kept),
        weights=tuple(weights[i] for i in kept),
        total=total,
        closed=everything if points else None,
    )


def _measured(
    published: Sequence[CountedModel], domain: Domain, max_parts: int, max_steps: int, *, by_shares: bool
) -> tuple[Packing, Boxes, list[tuple[Box, ...]], list[Measure]]:
    """Return the space, the boxes of the cells, what does not belong to them, and how much each cell measures."""
    literals = dict.fromkeys(literal for t in published for literal in t.model.literals)
    space = Space(domain, literals, domain_aware=True, by_shares=by_shares)
    packing = Packing(space)
    inside = [
        [{f: packing.words(f, mask) for f, mask in space.box(cell.inside).items()} for cell in t.model.cells]
        for t in published
    ]
    try:
        result = refine(
            packing, inside, [(t.sizes > 0).tolist() for t in published], max_boxes=max_parts, deadline=math.inf
        )
    except TooManyBoxesError:
        raise CountingLimitError(
            f"the models together divide the domain into more than {max_parts:,} regions.",
            remedy=f"Take fewer or smaller models, declare the domain's groups, or raise {parameter('max_parts')}.",
            max_steps=max_parts,
        ) from None
    outside = _outside(published, space, result)
    boxes = _box_measures(packing, result.rows)
    return packing, result, outside, _measures(packing, result.rows, boxes, outside, max_steps)


def _outside(published: Sequence[CountedModel], space: Space, inside: Boxes) -> list[tuple[Box, ...]]:
    """Return for each cell the boxes that its rules leave to earlier rules."""
    per_model = [[tuple(space.box(c) for c in cell.outside) for cell in t.model.cells] for t in published]
    if not any(boxes for cells in per_model for boxes in cells):
        return [()] * len(inside)
    return [
        tuple(box for cells, leaf in zip(per_model, row, strict=True) for box in cells[leaf])
        for row in inside.leaves.tolist()
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
            inside = {f: mask for f, mask in masks.items() if mask != space.full[f]}
            measure = counter.measure(Region(inside, left_out))
        out.append(measure)
    return out


def _box_measures(packing: Packing, rows: Words) -> list[Measure]:
    """Return the exact measure of each packed box, factor by factor over the patterns that occur."""
    out: AnyArray = np.full(len(rows), 1, dtype=object)
    for factor, span in enumerate(packing.spans):
        patterns, where = np.unique(rows[:, span], axis=0, return_inverse=True)
        weights = np.empty(len(patterns), dtype=object)
        for i, pattern in enumerate(patterns):
            mask = sum(int(word) << (WORD * j) for j, word in enumerate(pattern))
            weights[i] = packing.space.weight(factor, mask)
        out = out * (weights[0] if len(weights) == 1 else weights[where.ravel()])
    return list(out)


# The counts of several models as a system: whole numbers of records of options, whose sums over parts are known.
#
# An option is a cell, or a cell and a class where some model reveals classes. A part of a model is a leaf, or a leaf
# and a class where that model reveals classes. Each option lies in one part of each model.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class System:
    """Options, and the parts whose counts are known."""

    # cells, classes: cell of each option, and its class; -1 where classes do not count; shape (options,).
    cells: Indices
    classes: Indices
    parts: Indices  # Part of each model in which the option lies; shape (options, models)
    counts: tuple[Ints, ...]  # For each model the number of records of its parts
    fixed: Ints  # Number of records of the options that is known; -1 where it is not; shape (options,)

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def free(self) -> Indices:
        """The options whose number is not known yet."""
        return np.flatnonzero(self.fixed < 0)

    def left(self, model: int) -> Ints:
        """Return the records of each part of a model that are not in known options."""
        fixed = self.fixed >= 0
        gone = np.bincount(self.parts[fixed, model], self.fixed[fixed], minlength=len(self.counts[model]))
        return self.counts[model] - gone.astype(np.int64)


def system_of(published: Sequence[CountedModel], cells: JointCells, n_classes: int | None) -> System:
    """Return the system of models; ``n_classes`` is None where no class counts, as for the cells alone."""
    width = 1 if n_classes is None else n_classes
    n = len(cells)
    cell = np.repeat(np.arange(n), width)
    klass = np.tile(np.arange(width), n)
    parts = np.empty((n * width, len(published)), dtype=np.intp)
    counts = []
    for i, t in enumerate(published):
        by_class = n_classes is not None and t.classes is not None
        table = t.counts if by_class else t.sizes[:, None]
        leaf = cells.leaves[cell, i].astype(np.intp)
        parts[:, i] = leaf * table.shape[1] + (klass if by_class else 0)
        counts.append(table.ravel())
    keep = np.ones(n * width, dtype=bool)
    for i, count in enumerate(counts):
        keep &= count[parts[:, i]] > 0
    klass = klass[keep] if n_classes is not None else np.full(int(keep.sum()), -1)
    system = System(
        cells=cell[keep],
        classes=klass,
        parts=parts[keep],
        counts=tuple(counts),
        fixed=np.full(int(keep.sum()), -1, dtype=np.int64),
    )
    _check_reached(published, system)
    return system


def _check_reached(published: Sequence[CountedModel], system: System) -> None:
    for i, t in enumerate(published):
        reached = np.bincount(system.parts[:, i], minlength=len(system.counts[i])) > 0
        lost = np.flatnonzero((system.counts[i] > 0) & ~reached)
        if len(lost):
            width = len(system.counts[i]) // len(t.counts)
            count = int(system.counts[i][lost[0]])
            raise ClashError(
                f"part {lost[0] // width + 1} of {t.name} holds {count:,} record{'s' * (count != 1)}, "
                "but the other models and the domain allow none there."
            )


def peel(system: System, names: Sequence[str]) -> System:
    """Return the system with the number of every single free option of a part derived."""
    fixed = system.fixed.copy()
    left = [system.left(i).copy() for i in range(len(system.counts))]
    while True:
        free = np.flatnonzero(fixed < 0)
        published: dict[int, tuple[int, str]] = {}
        for i, count in enumerate(left):
            sizes = np.bincount(system.parts[free, i], minlength=len(count))
            if (count < 0).any() or (count[sizes == 0] > 0).any():
                raise ClashError(f"{names[i]} counts more or fewer records of some part than the other models do.")
            lone = (sizes[system.parts[free, i]] == 1) | (count[system.parts[free, i]] == 0)
            for option in free[lone].tolist():
                value = int(count[system.parts[option, i]])
                before, by = published.setdefault(option, (value, names[i]))
                if before != value:
                    raise ClashError(f"{by} counts {before:,} records where {names[i]} counts {value:,}.")
        if not published:
            return replace(system, fixed=fixed)
        options = np.fromiter(published, dtype=np.intp)
        numbers = np.array([value for value, _ in published.values()], dtype=np.int64)
        fixed[options] = numbers
        for i, count in enumerate(left):
            np.subtract.at(count, system.parts[options, i], numbers)
