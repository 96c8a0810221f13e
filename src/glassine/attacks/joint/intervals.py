"""The number of data sets that meet all counts, between a lower and an upper bound."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from glassine.attacks.joint.bounds import ROUNDING, counted, log_lower, log_upper
from glassine.attacks.joint.dual import Block, Fit, maximise_entropy
from glassine.attacks.joint.programs import least_weight, whole_table
from glassine.attacks.joint.published import Whole
from glassine.attacks.joint.settling import Settled, blocks, settle
from glassine.attacks.joint.system import System
from glassine.counting import Measure

__all__ = ["Estimate", "log_of", "log_sum"]

Floats = npt.NDArray[np.float64]

SOME_REFERENCES = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """Bounds of the logarithm of the sum over all tables, and the expected table.

    Attributes
    ----------
    lower, upper : float
        The bounds, in nats.
    expected : ndarray, shape (options,)
        The table of maximum entropy.
    table : ndarray of int64, shape (options,), or None
        A table of whole numbers; None if none was found, so that it is open whether there is one.
    """

    lower: float
    upper: float
    expected: Floats
    table: Whole | None


def log_of(measure: Measure) -> float:
    """Return the natural logarithm of an exact measure of any size."""
    top, bottom = measure.as_integer_ratio()
    return math.log(top) - math.log(bottom)


def log_sum(
    settled: Settled, measures: Sequence[Measure], names: Sequence[str], *, seconds: float, lower_only: bool = False
) -> Estimate:
    """Return bounds of the logarithm of the sum over all tables of the product of w^T / T! over the options.

    The upper one is infinite if it is not asked for.

    Raises
    ------
    ClashError
        If it turns out that there is no table.
    """
    system = settled.system
    deadline = time.monotonic() + seconds
    log_sizes = np.array([log_of(measures[cell]) for cell in system.cells.tolist()])
    expected = np.where(system.fixed >= 0, system.fixed, 0).astype(float)
    table = None if settled.table is None else settled.table.copy()
    found = np.maximum(system.fixed, 0)
    lower, upper = _known(system, log_sizes)
    magnitude = 1.0 + abs(lower)
    for block in blocks(system, log_sizes):
        fit = maximise_entropy(block)
        expected[block.options] = fit.table
        if table is None:
            left = max(deadline - time.monotonic(), 0.1)
            numbers = whole_table(block.parts, block.counts, fit.table, seconds=left)
        else:
            numbers = table[block.options]
        found[block.options] = -1 if numbers is None else numbers
        sizes = [measures[cell] for cell in system.cells[block.options].tolist()]
        low, high = _of_block(block, fit, sizes, numbers, names, lower_only)
        lower, upper = lower + low, upper + high
        magnitude += abs(low) + (0.0 if lower_only else abs(high))
    slack = ROUNDING * magnitude
    return Estimate(
        lower=lower - slack, upper=upper + slack, expected=expected, table=None if (found < 0).any() else found
    )


def _known(system: System, log_sizes: Floats) -> tuple[float, float]:
    """Return what the options of known numbers contribute, moved downwards and upwards."""
    known = np.flatnonzero(system.fixed > 0)
    numbers = system.fixed[known].astype(float)
    terms = [numbers * log_sizes[known], -gammaln(numbers + 1)]
    value = math.fsum(np.concatenate(terms).tolist())
    slack = ROUNDING * float(sum(np.abs(each).sum() for each in terms))
    return value - slack, value + slack


def _of_block(
    block: Block, fit: Fit, sizes: Sequence[Measure], numbers: Whole | None, names: Sequence[str], lower_only: bool
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


def _least(block: Block) -> float:
    """Return a lower bound that holds if there is any table: of its term, the least that each factor can be."""
    reference = max(range(len(block.counts)), key=lambda i: len(block.counts[i]))
    orders = float(gammaln(block.counts[reference] + 1.0).sum())
    return least_weight(block.parts, block.counts, block.log_sizes) - orders * (1 + ROUNDING)


def _merged(block: Block, numbers: Whole, last: int, sizes: Sequence[Measure], names: Sequence[str]) -> float:
    """Return a lower bound: the sum over those tables alone that have the sums of one table over all models but one."""
    others = [i for i in range(len(block.counts)) if i != last]
    _, part = np.unique(block.parts[:, others], axis=0, return_inverse=True)
    part = part.ravel()
    held = np.bincount(part, numbers, minlength=int(part.max()) + 1).astype(np.int64)
    keep = held[part] > 0
    two = System(
        cells=np.flatnonzero(keep),
        classes=np.full(int(keep.sum()), -1),
        parts=np.stack([part[keep], block.parts[keep, last]], axis=1),
        counts=(held, block.counts[last]),
        fixed=np.full(int(keep.sum()), -1, dtype=np.int64),
    )
    settled = settle(two, ["the others", names[last]])
    return log_sum(settled, sizes, ["the others", names[last]], seconds=1.0, lower_only=True).lower
