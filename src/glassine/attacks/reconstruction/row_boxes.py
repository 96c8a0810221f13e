"""The finest parts into which a forest cuts the domain: one leaf of each tree, intersected."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.reconstruction.possible import Worlds
from glassine.attacks.record_matching import Records
from glassine.counting import Measure, Region, Space
from glassine.counting.space import Factor
from glassine.domain import Domain
from glassine.models import DecisionTree
from glassine.records.arrays import Array

# Rows drawn from the regions in which a solution puts the records, and what is known of each.


Masks: TypeAlias = dict[int, int]
"""A box: the bit mask of the allowed atoms of every factor."""


def known_in_region(worlds: Worlds, region: Region) -> list[bool]:
    """Return for each attribute whether all records of a region, not empty, have the same value."""
    masks = {}
    for factor in worlds.touched(region):
        marginal = worlds.counter.marginal(region, factor)
        masks[factor] = sum(1 << atom for atom, measure in enumerate(marginal) if measure)
    return known_in_box(worlds.space, worlds.domain, masks)


def known_in_box(space: Space, domain: Domain, masks: Masks) -> list[bool]:
    """Return for each attribute whether the allowed atoms leave it one value; factors without a mask are free."""
    single = set()
    for factor, part in enumerate(space.factors):
        mask = masks.get(factor, part.possible)
        for name in part.attributes:
            if len(part.attributes) > 1:
                ones = {share for atom, share in enumerate(part.holds_one(name)) if mask >> atom & 1}
                fixed = ones in ({0}, {1})
            else:
                fixed = domain[name].size is not None and _size(part, mask) == 1
            if fixed:
                single.add(name)
    return [name in single for name in domain]


def worlds_in_box(space: Space, domain: Domain, masks: Masks) -> int | None:
    """Return the number of possible records of a box; None over a continuum."""
    if domain.size() is None:
        return None
    out = 1
    for factor, mask in masks.items():
        out *= int(_size(space.factors[factor], mask))
    return out


def _size(part: Factor, mask: int) -> Measure:
    """Return the number of values, or the length, of a set of atoms: shares weigh them, and do not count them."""
    return sum((size for atom, size in enumerate(part.sizes) if mask >> atom & 1), start=0)


def draw_rows(space: Space, domain: Domain, boxes: Sequence[Masks], rng: np.random.Generator) -> Records:
    """Draw one record from each box, by the weights of the space."""
    rows: Records = {}
    for factor, part in enumerate(space.factors):
        atoms = np.array([_atom(part.weights, masks[factor], rng) for masks in boxes], dtype=np.intp)
        rows |= part.draw(atoms, rng)
    return {name: rows[name] for name in domain}


def _atom(weights: Sequence[Any], mask: int, rng: np.random.Generator) -> int:
    atoms = [atom for atom in range(len(weights)) if mask >> atom & 1]
    total = sum((weights[atom] for atom in atoms), start=0)
    if not total:  # single points of a continuum
        return atoms[0]
    bounds: Array = np.cumsum([float(weights[atom] / total) for atom in atoms])
    return atoms[int(np.searchsorted(bounds / bounds[-1], rng.random(), side="right"))]


Words: TypeAlias = npt.NDArray[np.uint64]

WORD = 64
ONES = (1 << WORD) - 1
NO_MEASURE_BITS = -64.0
"""What a part without measure, such as a single point of a continuum, counts for in bits."""


class TimeOutError(Exception):
    """The deadline has passed."""


class TooManyBoxesError(Exception):
    """The forest cuts the domain into more parts than allowed."""


class Packing:
    """Boxes of a space as rows of machine words: the allowed atoms of each factor, in words of their own."""

    def __init__(self, space: Space) -> None:
        self.space = space
        lengths = [-(-len(factor.weights) // WORD) for factor in space.factors]
        ends = np.cumsum([0, *lengths]).tolist()
        self.spans = [slice(lo, hi) for lo, hi in pairwise(ends)]
        self.everything = np.concatenate([self.words(i, factor.possible) for i, factor in enumerate(space.factors)])

    def words(self, factor: int, mask: int) -> Words:
        """Return the mask of a factor as words, lowest first."""
        length = self.spans[factor].stop - self.spans[factor].start
        return np.array([mask >> (WORD * i) & ONES for i in range(length)], dtype=np.uint64)

    def mask(self, row: Words, factor: int) -> int:
        """Return the mask of a factor of one packed box."""
        return sum(int(word) << (WORD * i) for i, word in enumerate(row[self.spans[factor]]))

    def log_sizes(self, rows: Words) -> Array:
        """Return log2 of the measure of each packed box."""
        out = np.zeros(len(rows))
        for factor, span in enumerate(self.spans):
            patterns, where = np.unique(rows[:, span], axis=0, return_inverse=True)
            bits = []
            for pattern in patterns:
                weight = self.space.weight(factor, sum(int(word) << (WORD * i) for i, word in enumerate(pattern)))
                whole = weight.as_integer_ratio()
                bits.append(math.log2(whole[0]) - math.log2(whole[1]) if weight else NO_MEASURE_BITS)
            out += np.array(bits)[where.ravel()]
        return out


@dataclass(frozen=True, slots=True)
class Boxes:
    """Packed boxes, and for each the index of its leaf in each tree; -1 in trees that were left out."""

    rows: Words
    leaves: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.rows)


def leaf_boxes(trees: Sequence[DecisionTree], packing: Packing) -> list[list[dict[int, Words]]]:
    """Return for each tree and leaf the words of the factors that the leaf's path constrains."""
    return [
        [
            {factor: packing.words(factor, mask) for factor, mask in packing.space.box(cell.inside).items()}
            for cell in tree.cells
        ]
        for tree in trees
    ]


def refine(
    packing: Packing,
    boxes: Sequence[Sequence[dict[int, Words]]],
    allowed: Sequence[Sequence[bool] | None],
    *,
    max_boxes: int,
    deadline: float,
) -> Boxes:
    """Return every non-empty intersection of one allowed leaf of each tree."""
    rows = packing.everything[None, :]
    leaves = np.full((1, len(boxes)), -1, dtype=np.int32)
    # Trees with few allowed leaves first: they keep the intermediate number of boxes small.
    order = sorted((sum(mask), tree) for tree, mask in enumerate(allowed) if mask is not None)
    for _, tree in order:
        parts, tags, size = [], [], 0
        for leaf, (box, use) in enumerate(zip(boxes[tree], allowed[tree] or (), strict=True)):
            if not use:
                continue
            if time.monotonic() > deadline:
                raise TimeOutError
            kept = np.arange(len(rows))
            for factor, words in box.items():
                kept = kept[(rows[kept, packing.spans[factor]] & words).any(axis=1)]
            size += len(kept)
            if size > max_boxes:
                raise TooManyBoxesError
            part, tag = rows[kept], leaves[kept]
            for factor, words in box.items():
                part[:, packing.spans[factor]] &= words
            tag[:, tree] = leaf
            parts.append(part)
            tags.append(tag)
        rows = np.concatenate(parts) if parts else rows[:0]
        leaves = np.concatenate(tags) if tags else leaves[:0]
    return Boxes(rows, leaves)
