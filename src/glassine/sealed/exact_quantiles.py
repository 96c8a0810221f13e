"""Quantiles of numbers without noise, and the distribution of private ones on small inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from glassine.privacy.exact import Number
from glassine.records.arrays import Array
from glassine.sealed.quantile_levels import middle_of
from glassine.sealed.quantiles import Thresholds, Times, prepared, quantile_choices


def quantile_distribution(
    values: npt.ArrayLike, candidates: Sequence[float], number: int, epsilon: Number
) -> dict[Thresholds, float]:
    """Return the probability of every result of :func:`private_quantiles`, for small inputs.

    Examples
    --------
    >>> shares = quantile_distribution([1, 1, 2], [1, 2], 1, 1)
    >>> round(shares[(1.0,)] / shares[(2.0,)], 4)
    2.7183
    """
    column, _, cuts, part = prepared(values, candidates, number, epsilon)
    return _distribution(column, cuts, part, number)


def _distribution(column: Array, cuts: Array, part: Fraction, number: int) -> dict[Thresholds, float]:
    if number == 0 or cuts.size <= number:
        return {tuple(cuts.tolist()) if number else (): 1.0}
    first, weights, denominator = quantile_choices(column, cuts, number, part)
    best = max(weights)
    shares = [math.exp(Fraction(weight - best, denominator)) for weight in weights]
    total = math.fsum(shares)
    out: dict[Thresholds, float] = {}
    for at, share in enumerate(shares, start=first):
        below = int(np.searchsorted(column, cuts[at], side="right"))
        lefts = _distribution(column[:below], cuts[:at], part, middle_of(number) - 1)
        rights = _distribution(column[below:], cuts[at + 1 :], part, number - middle_of(number))
        for left, p in lefts.items():
            for right, q in rights.items():
                out[(*left, float(cuts[at]), *right)] = share / total * p * q
    return out


def quantiles_of_data(values: Array, times: Times, number: int) -> Thresholds:
    """Return quantiles of some numbers, taken from the data without protection."""
    # A cut lies midway between two neighbouring values; at most number of them, all if there are fewer.
    distinct, place = np.unique(values, return_inverse=True)
    counts = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(counts, place, 1 if times is None else times)
    distinct, counts = distinct[counts > 0], counts[counts > 0]
    middles = (distinct[:-1] + distinct[1:]) / 2
    if len(middles) > number:
        at = _of_shares(distinct, counts, np.arange(1, number + 1) / (number + 1))
        middles = np.unique(middles[np.minimum(np.searchsorted(middles, at), len(middles) - 1)])
    return tuple(float(value) for value in middles)


def _of_shares(values: Array, counts: npt.NDArray[np.integer], shares: Array) -> Array:
    """Return quantiles of increasing values that occur often, as ``np.quantile`` does of one entry per record."""
    ends = np.cumsum(counts)
    at = shares * (ends[-1] - 1)
    below = np.floor(at)
    part = at - below
    low = values[np.searchsorted(ends, below, side="right")]
    high = values[np.searchsorted(ends, np.minimum(below + 1, ends[-1] - 1), side="right")]
    # From the nearer end, so that rounding is the same.
    return np.asarray(np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part)))
