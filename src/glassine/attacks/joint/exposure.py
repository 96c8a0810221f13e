"""What is learned about the records of each part, and what a reader learns who knows which record is which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from glassine.attacks.joint.cells import Cells
from glassine.attacks.joint.intervals import Estimate, log_of
from glassine.attacks.joint.published import Published
from glassine.attacks.joint.result import CellRanges, Interval, PartExposure, SharedGroup
from glassine.attacks.joint.system import System
from glassine.domain.inference import columns as read_columns
from glassine.errors import InvalidDataError, UndefinedMeasureError

__all__ = ["Aligned", "aligned", "exposures", "fewest_held", "most_exposed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """What a reader learns who also knows which record of one model's leaf is which of another's.

    Attributes
    ----------
    mean, largest : float
        Bits about a record on average, and about the most exposed one.
    fewest : int
        Records of the smallest common part that holds one.
    """

    mean: float
    largest: float
    fewest: int


def aligned(told: Sequence[Published], cells: Cells, data: Any) -> Aligned:
    """Return the bits, log2 of domain over cell, of the training records.

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
    for row in kinds.tolist():
        place = places.get(tuple(row))
        if place is None and cells.closed is not None:
            raise UndefinedMeasureError(
                "a record of the data lies on a single point of a continuum, which has no volume. Declare a resolution."
            )
        if place is None:
            raise InvalidDataError("a record of the data lies where the domain allows none. Widen the domain.")
        bits.append((whole - log_of(cells.measures[place])) / math.log(2))
    mean = math.fsum(b * count for b, count in zip(bits, number.tolist(), strict=True)) / len(leaves)
    return Aligned(mean=mean, largest=max(bits), fewest=int(number.min()))


def most_exposed(
    cells: Cells,
    ranges: CellRanges,
    groups: Sequence[SharedGroup],
    learned: Sequence[float],
    known: Aligned | None,
) -> Interval:
    """Return bounds of the bits about the most exposed record: log2 of domain over the records that still fit it.

    From below, some record certainly lies in each leaf, cell or group that certainly holds one; ``learned`` holds the
    bits of the leaves that do. From above, no record is known better than by its cell: the worst of those that hold the
    data, where they are given (``known``), else the worst of those that can hold a record.
    """
    measures = (cells if cells.closed is None else cells.closed).measures
    whole = log_of(cells.total)
    least, most = max(learned), 0.0
    for measure, low, high in zip(measures, ranges.low.tolist(), ranges.high.tolist(), strict=True):
        if high >= 1:
            bits = (whole - log_of(measure)) / math.log(2) if measure else math.inf
            most = max(most, bits)
            least = max(least, bits) if low >= 1 and measure else least
    for group in groups:
        if group.worlds:
            least = max(least, (whole - log_of(group.worlds)) / math.log(2))
    if known is not None:
        most = known.largest
    return Interval(lower=least, upper=max(least, most))


def fewest_held(ranges: CellRanges) -> int | None:
    """Return the records of the smallest cell that holds one, where the counts alone settle all cells; else None."""
    if not (ranges.low == ranges.high).all():
        return None
    return int(ranges.low[ranges.low > 0].min())


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
