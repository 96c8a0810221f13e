"""Rows drawn from the regions in which a solution puts the records, and what is known of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.alignment import Records
from glassine.attacks.worlds import Worlds
from glassine.counting import Region, Space
from glassine.domain import Domain

__all__ = ["draw_rows", "known_in_box", "known_in_region", "worlds_in_box"]

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
                fixed = domain[name].size is not None and space.weight(factor, mask) == 1
            if fixed:
                single.add(name)
    return [name in single for name in domain]


def worlds_in_box(space: Space, domain: Domain, masks: Masks) -> int | None:
    """Return the number of possible records of a box; None over a continuum."""
    if domain.size() is None:
        return None
    out = 1
    for factor, mask in masks.items():
        out *= int(space.weight(factor, mask))
    return out


def draw_rows(space: Space, domain: Domain, boxes: Sequence[Masks], rng: np.random.Generator) -> Records:
    """Draw one record from each box."""
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
    bounds: npt.NDArray[np.float64] = np.cumsum([float(weights[atom] / total) for atom in atoms])
    return atoms[int(np.searchsorted(bounds / bounds[-1], rng.random(), side="right"))]
