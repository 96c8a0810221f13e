"""What is learned about the records of each part, and what a reader learns who knows which record is which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import xlogy

from glassine.attacks.joint.cells import Cells
from glassine.attacks.joint.intervals import Estimate, log_of
from glassine.attacks.joint.published import Published
from glassine.attacks.joint.result import PartExposure
from glassine.attacks.joint.system import System
from glassine.domain.inference import columns as read_columns
from glassine.errors import InvalidDataError, UndefinedMeasureError

__all__ = ["aligned_bits", "exposures"]


def aligned_bits(told: Sequence[Published], cells: Cells, data: Any) -> float:
    """Return the mean of log2 of domain over cell, over the training records.

    Raises
    ------
    InvalidDataError
        If the data lack a tested attribute, do not have a model's counts, or hold a record that the domain excludes.
    """
    columns = read_columns(data)
    leaves = np.stack([t.model.apply(columns) for t in told], axis=1)
    for i, t in enumerate(told):
        held = np.bincount(leaves[:, i], minlength=len(t.counts))
        wrong = np.flatnonzero(held != t.sizes)
        if len(wrong):
            part = int(wrong[0])
            raise InvalidDataError(
                f"the data hold {held[part]:,} records in part {part + 1} of {t.name}, which tells of "
                f"{t.sizes[part]:,}. Give the records from which all models were learnt."
            )
    places = {tuple(row): i for i, row in enumerate(cells.leaves.tolist())}
    kinds, number = np.unique(leaves, axis=0, return_counts=True)
    whole = log_of(cells.total)
    bits = []
    for row, count in zip(kinds.tolist(), number.tolist(), strict=True):
        place = places.get(tuple(row))
        if place is None and cells.closed is not None:
            raise UndefinedMeasureError(
                "a record of the data lies on a single point of a continuum, which has no volume. Declare a resolution."
            )
        if place is None:
            raise InvalidDataError("a record of the data lies where the domain allows none. Widen the domain.")
        bits.append(count * (whole - log_of(cells.measures[place])))
    return math.fsum(bits) / (len(leaves) * math.log(2))


def exposures(
    told: Sequence[Published],
    cells: Cells,
    system: System,
    estimate: Estimate,
    domain_bits: float,
    learned: Sequence[Sequence[float]],
) -> tuple[PartExposure, ...]:
    """Return for each part the bits learned about one of its records, alone (given) and, estimated, jointly."""
    logs = np.array([log_of(measure) for measure in cells.measures])
    whole = domain_bits * math.log(2)
    out = []
    for i, t in enumerate(told):
        width = len(system.counts[i]) // len(t.counts)
        # Options of one part and cell that differ in class alone are one place for a record.
        key, place = np.unique(system.parts[:, i] * len(cells) + system.cells, return_inverse=True)
        held = np.bincount(place.ravel(), estimate.expected)
        part, cell = key // len(cells), key % len(cells)
        share = held / system.counts[i][part]
        left = np.bincount(part // width, held * logs[cell] - system.counts[i][part] * xlogy(share, share),
                           minlength=len(t.counts))  # fmt: skip
        for leaf, size in enumerate(t.sizes.tolist()):
            if size:
                jointly = (whole - left[leaf] / size) / math.log(2)
                alone = learned[i][leaf]
                out.append(PartExposure(
                    model=t.name, part=leaf, size=size, bits_alone=alone, bits_jointly=max(jointly, alone)
                ))  # fmt: skip
    return tuple(out)
