"""Thresholds for numbers that have no public ones: private quantiles, or those of the data, without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain, Integer, Real
from glassine.domain.grid import public_grid
from glassine.learners.intake import Intake
from glassine.privacy.accounting import Event
from glassine.privacy.quantiles import private_quantiles_of_attributes
from glassine.privacy.randomness import Randomness

__all__ = ["CANDIDATES", "candidates", "data_quantiles", "private_quantile_cuts"]

CANDIDATES = 256
"""Most public cut points among which a private quantile of a number is chosen."""


def candidates(domain: Domain, name: str) -> tuple[float, ...]:
    """Return the public cut points of a number, from its bounds alone."""
    attribute = domain[name]
    if not isinstance(attribute, Integer | Real):
        return ()
    return public_grid(attribute, size=CANDIDATES)


def private_quantile_cuts(
    intake: Intake, names: Sequence[str], number: int, epsilon: Fraction, randomness: Randomness
) -> tuple[dict[str, tuple[float, ...]], list[Event]]:
    """Release quantiles of some numbers.

    Guarantee
    ---------
    epsilon-DP together: each attribute gets an equal part, by composition; see ``privacy/quantiles.md``. A missing
    value counts for no quantile.

    Parameters
    ----------
    intake : Intake
        The records.
    names : sequence of str
        Numeric attributes.
    number : int
        Quantiles of each.
    epsilon : Fraction
        Budget for all.
    randomness : Randomness
        Source of the draws.

    Returns
    -------
    dict of str to tuple of float
        Increasing cut points of each attribute, among :func:`candidates`.
    list of Event
        What was spent.
    """
    points = {name: candidates(intake.domain, name) for name in names}
    present = {name: intake.numbers(name, points[name]) for name in names}
    columns = {name: values for name, (values, _) in present.items()}
    counts = {name: times for name, (_, times) in present.items() if times is not None}
    cuts, events = private_quantiles_of_attributes(columns, points, number, epsilon, randomness, multiplicities=counts)
    return cuts, list(events)


def data_quantiles(intake: Intake, names: Sequence[str], number: int) -> dict[str, tuple[float, ...]]:
    """Return quantiles of some numbers, taken from the data without protection.

    A cut lies midway between two neighbouring values; at most ``number`` per attribute, all if there are fewer.
    """
    cuts: dict[str, tuple[float, ...]] = {}
    for name in names:
        values, times = intake.numbers(name)
        distinct, place = np.unique(values, return_inverse=True)
        counts = np.bincount(place, minlength=len(distinct)) if times is None else _added(place, times, len(distinct))
        distinct, counts = distinct[counts > 0], counts[counts > 0]
        middles = (distinct[:-1] + distinct[1:]) / 2
        if len(middles) > number:
            at = _quantiles(distinct, counts, np.arange(1, number + 1) / (number + 1))
            middles = np.unique(middles[np.minimum(np.searchsorted(middles, at), len(middles) - 1)])
        cuts[name] = tuple(float(value) for value in middles)
    return cuts


def _added(place: npt.NDArray[np.intp], times: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    out = np.zeros(size, dtype=np.int64)
    np.add.at(out, place, times)
    return out


def _quantiles(
    values: npt.NDArray[np.float64], counts: npt.NDArray[np.integer], shares: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return quantiles of increasing values that occur often, as ``np.quantile`` does of one entry per record."""
    ends = np.cumsum(counts)
    at = shares * (ends[-1] - 1)
    below = np.floor(at)
    part = at - below
    low = values[np.searchsorted(ends, below, side="right")]
    high = values[np.searchsorted(ends, np.minimum(below + 1, ends[-1] - 1), side="right")]
    # From the nearer end, so that rounding is the same.
    return np.asarray(np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part)))
