"""The number of datasets that meet all counts, between a lower and an upper bound."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import gammaln, xlogy

from glassine.attacks.reconstruction.joint_bounds import (
    ROUNDING,
    OptionBlock,
    Potentials,
    counted,
    log_lower,
    log_upper,
    maximise_entropy,
)
from glassine.attacks.reconstruction.joint_cells import JointCells, System
from glassine.attacks.reconstruction.joint_programs import Settled, blocks, least_weight, settle, whole_table
from glassine.attacks.reconstruction.joint_published import CountedModel, OtherRecordsError, parts_of
from glassine.attacks.reconstruction.joint_result import CellRanges, PartExposure, SharedGroup
from glassine.attacks.reconstruction.leakage import Interval
from glassine.counting import Measure
from glassine.domain import Domain
from glassine.errors import UndefinedMeasureError
from glassine.records.arrays import Array, Ints

SOME_REFERENCES = 4
"""Models whose parts a bound is taken by, those of most parts first: each gives a valid bound, the least is kept."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumBounds:
    """Bounds of the logarithm of the sum over all tables, and the expected table."""

    # lower, upper: the bounds, in nats.
    lower: float
    upper: float
    expected: Array  # The table of maximum entropy, shape (options,)
    # A table of whole numbers; None if none was found, so that it is open whether there is one, shape (options,).
    table: Ints | None


def log_of(measure: Measure) -> float:
    """Return the natural logarithm of an exact measure of any size."""
    top, bottom = measure.as_integer_ratio()
    return math.log(top) - math.log(bottom)


def log_sum(
    settled: Settled, measures: Sequence[Measure], names: Sequence[str], *, seconds: float, lower_only: bool = False
) -> SumBounds:
    """Return bounds of the logarithm of the sum over all tables of the product of w^T / T! over the options."""
    # The upper one is infinite if it is not asked for.
    system = settled.system
    deadline = time.monotonic() + seconds
    log_sizes = np.array([log_of(measures[cell]) for cell in system.cells.tolist()])
    expected = np.where(system.fixed >= 0, system.fixed, 0).astype(float)
    table = None if settled.table is None else settled.table.copy()
    result = np.maximum(system.fixed, 0)
    lower, upper = _fixed_terms(system, log_sizes)
    magnitude = 1.0 + abs(lower)
    for block in blocks(system, log_sizes):
        fit = maximise_entropy(block)
        expected[block.options] = fit.table
        if table is None:
            left = max(deadline - time.monotonic(), 0.1)
            numbers = whole_table(block.parts, block.counts, fit.table, seconds=left)
        else:
            numbers = table[block.options]
        result[block.options] = -1 if numbers is None else numbers
        sizes = [measures[cell] for cell in system.cells[block.options].tolist()]
        low, high = _of_block(block, fit, sizes, numbers, names, lower_only)
        lower, upper = lower + low, upper + high
        magnitude += abs(low) + (0.0 if lower_only else abs(high))
    slack = ROUNDING * magnitude
    return SumBounds(
        lower=lower - slack, upper=upper + slack, expected=expected, table=None if (result < 0).any() else result
    )


def _fixed_terms(system: System, log_sizes: Array) -> tuple[float, float]:
    """Return what the options of known numbers contribute, moved downwards and upwards."""
    fixed = np.flatnonzero(system.fixed > 0)
    numbers = system.fixed[fixed].astype(float)
    terms = [numbers * log_sizes[fixed], -gammaln(numbers + 1)]
    value = math.fsum(np.concatenate(terms).tolist())
    slack = ROUNDING * float(sum(np.abs(each).sum() for each in terms))
    return value - slack, value + slack


def _of_block(
    block: OptionBlock,
    fit: Potentials,
    sizes: Sequence[Measure],
    numbers: Ints | None,
    names: Sequence[str],
    lower_only: bool,
) -> tuple[float, float]:
    exact = counted(block, sizes)
    if exact is not None:
        return exact
    m = len(block.counts)
    references = sorted(range(m), key=lambda i: -len(block.counts[i]))[:SOME_REFERENCES]
    high = math.inf if lower_only else min(log_upper(block, fit, i) for i in references)
    if numbers is None:
        return min(_least(block), high), high
    terms = numbers * block.log_sizes, -gammaln(numbers + 1.0)
    one = float(sum(each.sum() for each in terms) - ROUNDING * (1 + sum(np.abs(each).sum() for each in terms)))
    if m == 2:
        low = max(log_lower(block, fit, i, numbers) for i in references)
    else:
        low = max(_merged(block, numbers, i, sizes, names) for i in references)
    return min(max(one, low), high), high


def _least(block: OptionBlock) -> float:
    """Return a lower bound that holds if there is any table: of its term, the least that each factor can be."""
    reference = max(range(len(block.counts)), key=lambda i: len(block.counts[i]))
    orders = float(gammaln(block.counts[reference] + 1.0).sum())
    return least_weight(block.parts, block.counts, block.log_sizes) - orders * (1 + ROUNDING)


def _merged(block: OptionBlock, numbers: Ints, last: int, sizes: Sequence[Measure], names: Sequence[str]) -> float:
    """Return a lower bound: the sum over those tables alone that have the sums of one table over all models but one."""
    others = [i for i in range(len(block.counts)) if i != last]
    _, part = np.unique(block.parts[:, others], axis=0, return_inverse=True)
    part = part.ravel()
    sums = np.bincount(part, numbers, minlength=int(part.max()) + 1).astype(np.int64)
    keep = sums[part] > 0
    two = System(
        cells=np.flatnonzero(keep),
        classes=np.full(int(keep.sum()), -1),
        parts=np.stack([part[keep], block.parts[keep, last]], axis=1),
        counts=(sums, block.counts[last]),
        fixed=np.full(int(keep.sum()), -1, dtype=np.int64),
    )
    settled = settle(two, ["the others", names[last]])
    return log_sum(settled, sizes, ["the others", names[last]], seconds=1.0, lower_only=True).lower


# What is learned about the records of each part, and what an attacker learns who knows which record is which.


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """What an attacker learns who also knows which record of one model's leaf is which of another's."""

    # mean, largest: bits about a record on average, and about the most exposed one.
    mean: float
    largest: float
    fewest: int  # Records of the smallest common part that holds one


def aligned(published: Sequence[CountedModel], cells: JointCells, domain: Domain, data: object) -> Aligned:
    """Return the bits, log2 of the domain's weight over that of the cell, of the training records."""
    leaves = np.stack([parts_of(t.model, domain, data) for t in published], axis=1)
    for i, t in enumerate(published):
        n_in = np.bincount(leaves[:, i], minlength=len(t.counts))
        wrong = np.flatnonzero(n_in != t.sizes)
        if len(wrong):
            part = int(wrong[0])
            raise OtherRecordsError(
                f"the data hold {n_in[part]:,} records in part {part + 1} of {t.name}, which counts {t.sizes[part]:,}.",
                remedy="Give the records on which all models were trained.",
            )
    places = {tuple(row): i for i, row in enumerate(cells.leaves.tolist())}
    kinds, number = np.unique(leaves, axis=0, return_counts=True)
    whole = log_of(cells.total)
    bits = []
    for row in kinds.tolist():
        place = places.get(tuple(row))
        if place is None and cells.closed is not None:
            raise UndefinedMeasureError(
                "a record of the data lies on a single point of a continuum, which has no volume.",
                remedy="Declare a resolution.",
            )
        if place is None:
            raise OtherRecordsError(
                "a record of the data lies where the domain allows none.", remedy="Widen the domain."
            )
        bits.append((whole - log_of(cells.weights[place])) / math.log(2))
    mean = math.fsum(b * count for b, count in zip(bits, number.tolist(), strict=True)) / len(leaves)
    return Aligned(mean=mean, largest=max(bits), fewest=int(number.min()))


def most_exposed(
    cells: JointCells,
    ranges: CellRanges,
    groups: Sequence[SharedGroup],
    learned: Sequence[float],
    records: Aligned | None,
) -> Interval:
    """Return bounds of the bits about the most exposed record: log2 of domain over the records that still fit it."""
    # Both weigh by the domain's public shares, where it declares some. From below, some record certainly lies in each
    # leaf, cell or group that certainly holds one; learned holds the bits of the leaves that do. From above, no record
    # is known better than by its cell: the worst of those that hold the data, where they are given (known), else the
    # worst of those that can hold a record.
    weights = (cells if cells.closed is None else cells.closed).weights
    whole = log_of(cells.total)
    least, most = max(learned), 0.0
    for weight, low, high in zip(weights, ranges.low.tolist(), ranges.high.tolist(), strict=True):
        if high >= 1:
            bits = (whole - log_of(weight)) / math.log(2) if weight else math.inf
            most = max(most, bits)
            least = max(least, bits) if low >= 1 and weight else least
    for group in groups:
        if group.worlds:
            weight = sum((weights[cell] for cell in group.cells), start=Fraction(0))
            least = max(least, (whole - log_of(weight)) / math.log(2))
    if records is not None:
        most = records.largest
    return Interval(lower=least, upper=max(least, most))


def fewest_held(ranges: CellRanges) -> int | None:
    """Return the records of the smallest cell that holds one, where the counts alone settle all cells; else None."""
    if not (ranges.low == ranges.high).all():
        return None
    return int(ranges.low[ranges.low > 0].min())


def exposures(
    published: Sequence[CountedModel],
    cells: JointCells,
    system: System,
    estimate: SumBounds,
    domain_bits: float,
    learned: Sequence[Sequence[float]],
) -> tuple[PartExposure, ...]:
    """Return for each part the bits learned about one of its records, alone (given) and, estimated, jointly."""
    logs = np.array([log_of(weight) for weight in cells.weights])
    whole = domain_bits * math.log(2)
    out = []
    for i, t in enumerate(published):
        width = len(system.counts[i]) // len(t.counts)
        # Options of one part and cell that differ in class alone are one place for a record.
        key, place = np.unique(system.parts[:, i] * len(cells) + system.cells, return_inverse=True)
        expected = np.bincount(place.ravel(), estimate.expected)
        part, cell = key // len(cells), key % len(cells)
        share = expected / system.counts[i][part]
        left = np.bincount(part // width, expected * logs[cell] - system.counts[i][part] * xlogy(share, share),
                           minlength=len(t.counts))  # fmt: skip
        for leaf, size in enumerate(t.sizes.tolist()):
            if size:
                jointly = (whole - left[leaf] / size) / math.log(2)
                alone = learned[i][leaf]
                out.append(PartExposure(
                    model=t.name, part=leaf, size=size, bits_alone=alone, bits_jointly=max(jointly, alone)
                ))  # fmt: skip
    return tuple(out)
