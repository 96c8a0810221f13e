"""Confidence intervals of rates, of their differences, and of areas under ROC curves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from glassine.errors import InvalidParameterError, parameter
from glassine.records.arrays import Array, Indices


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A measured figure with a two-sided confidence interval.

    Attributes
    ----------
    value : float
        The figure.
    low, high : float
        Bounds of the interval.
    confidence : float
        Its confidence, in (0, 1).
    method : str
        How the interval was computed.
    """

    value: float
    low: float
    high: float
    confidence: float
    method: str

    def scaled(self, factor: float, offset: float) -> Estimate:
        """Return the estimate of ``factor * figure + offset``, for a positive factor."""
        return replace(
            self, value=factor * self.value + offset, low=factor * self.low + offset, high=factor * self.high + offset
        )

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.confidence:.0%} interval {self.low:.3f} to {self.high:.3f}, {self.method})"


def check_confidence(confidence: object) -> float:
    """Return the confidence as a float after checking that it lies in (0, 1)."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise InvalidParameterError(
            f"{parameter('confidence')} must lie strictly between 0 and 1, got {confidence!r}.", remedy="Use 0.95."
        )
    return float(confidence)


def clopper_pearson(hits: float, n: int, confidence: float) -> Estimate:
    """Return a rate with the exact interval of Clopper and Pearson.

    Examples
    --------
    >>> bounds = clopper_pearson(0, 20, 0.95)
    >>> bounds.low, round(bounds.high, 4)
    (0.0, 0.1684)
    """
    tail = (1 - confidence) / 2
    below, above = math.floor(hits), math.ceil(hits)
    return Estimate(
        value=hits / n,
        low=float(beta.ppf(tail, below, n - below + 1)) if below > 0 else 0.0,
        high=float(beta.ppf(1 - tail, above + 1, n - above)) if above < n else 1.0,
        confidence=confidence,
        method="Clopper-Pearson",
    )


def _wilson(hits: float, n: int, z: float) -> tuple[float, float]:
    rate = hits / n
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def newcombe(hits: float, n: int, other_hits: float, other_n: int, confidence: float) -> Estimate:
    """Return the difference of two independent rates with Newcombe's hybrid score interval.

    References
    ----------
    Newcombe: Interval estimation for the difference between independent proportions, 1998, method 10.

    Examples
    --------
    >>> difference = newcombe(56, 70, 48, 80, 0.95)
    >>> round(difference.value, 4), round(difference.low, 4), round(difference.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    z = normal_quantile(confidence)
    rate, other = hits / n, other_hits / other_n
    (low, high), (other_low, other_high) = _wilson(hits, n, z), _wilson(other_hits, other_n, z)
    difference = rate - other
    return Estimate(
        value=difference,
        low=max(-1.0, difference - math.hypot(rate - low, other_high - other)),
        high=min(1.0, difference + math.hypot(high - rate, other - other_low)),
        confidence=confidence,
        method="Newcombe's hybrid score",
    )


class ScoreCounts(NamedTuple):
    """How many members and non-members have each score: curves, areas and thresholds need no more.

    Shapes: ``scores`` (k,), increasing; ``members`` and ``nonmembers`` (k,).
    """

    scores: Array
    members: Indices
    nonmembers: Indices

    @classmethod
    def of(cls, members: Array, nonmembers: Array) -> ScoreCounts:
        """Return the counts of two arrays of scores."""
        scores = np.unique(np.concatenate([np.unique(members), np.unique(nonmembers)]))
        sides = (np.bincount(np.searchsorted(scores, side), minlength=len(scores)) for side in (members, nonmembers))
        return cls(scores, *sides)


def area_of_counts(counts: ScoreCounts, confidence: float) -> Estimate:
    """Return the chance that a member scores above a non-member, ties counting one half.

    The interval is DeLong's on the logit scale; where its variance vanishes (complete separation, or one score for
    all) it is Newcombe's score interval, which stays wide for few records.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson, 1988; Newcombe: Confidence intervals for an effect size measure based on the
    Mann-Whitney statistic, part 2, 2006, method 5.
    """
    _, inside, outside = counts
    m, n = int(inside.sum()), int(outside.sum())
    above = (np.cumsum(outside) - outside / 2) / n
    below = 1 - (np.cumsum(inside) - inside / 2) / m
    area = float(inside @ above) / m
    z = normal_quantile(confidence)
    variance = _variance(above, inside) / m + _variance(below, outside) / n if min(m, n) > 1 else 0.0
    if variance > 0 and 0 < area < 1:
        half = z * math.sqrt(variance) / (area * (1 - area))
        middle = math.log(area / (1 - area))
        low, high = (1 / (1 + math.exp(-min(max(middle + side, -700), 700))) for side in (-half, half))
        return Estimate(value=area, low=low, high=high, confidence=confidence, method="DeLong on the logit scale")
    low, high = _score_bounds(area, m, n, z)
    return Estimate(value=area, low=low, high=high, confidence=confidence, method="Newcombe's score interval")


def _variance(values: Array, times: Indices) -> float:
    """Return the variance of values, each so many times, with one degree of freedom less."""
    n = int(times.sum())
    return float(times @ (values - float(times @ values) / n) ** 2) / (n - 1)


def _score_bounds(area: float, m: int, n: int, z: float) -> tuple[float, float]:
    """Return the areas that lie z standard errors, as they would be there, from the one measured."""
    larger = (m + n) / 2 - 1

    def off(theta: float) -> float:
        spread = 1 + larger * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return (theta - area) ** 2 - z * z * theta * (1 - theta) * spread / (m * n)

    bounds = []
    for end in (0.0, 1.0):
        inside, outside = area, end
        for _ in range(80):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if off(middle) <= 0 else (inside, middle)
        bounds.append(outside)
    return bounds[0], bounds[1]


def root_mean_square(errors: Array, confidence: float) -> Estimate:
    """Return the root mean square of errors, shape (n,), with the normal interval of the mean square.

    Examples
    --------
    >>> estimate = root_mean_square(np.array([1.0, -1.0, 7.0, -7.0] * 100), 0.95)
    >>> round(estimate.value, 2), round(estimate.low, 2), round(estimate.high, 2)
    (5.0, 4.76, 5.23)
    """
    unit = float(np.abs(errors).max()) or 1.0
    squares = (errors / unit) ** 2
    mean, off = float(squares.mean()), normal_quantile(confidence) * _deviation(squares)
    low, high = (unit * math.sqrt(max(bound, 0.0)) for bound in (mean - off, mean + off))
    return Estimate(
        value=unit * math.sqrt(mean), low=low, high=high, confidence=confidence, method="normal, of the mean square"
    )


def root_mean_square_added(errors: Array, others: Array, confidence: float) -> Estimate:
    """Return by how much one root mean square exceeds another on the same records, both of shape (n,).

    The interval is that of the delta method, in which the errors on a record stay together.

    Examples
    --------
    >>> errors = np.array([1.0, -1.0, 7.0, -7.0] * 100)
    >>> estimate = root_mean_square_added(2 * errors, errors, 0.95)
    >>> round(estimate.value, 2), round(estimate.low, 2), round(estimate.high, 2)
    (5.0, 4.76, 5.24)
    """
    unit = max(float(np.abs(errors).max()), float(np.abs(others).max())) or 1.0
    squares = [(side / unit) ** 2 for side in (errors, others)]
    roots = [math.sqrt(float(square.mean())) for square in squares]
    # How much each record moves a root: half its square over the root.
    moved = [square / (2 * root) if root else square for square, root in zip(squares, roots, strict=True)]
    value, off = roots[0] - roots[1], normal_quantile(confidence) * _deviation(moved[0] - moved[1])
    return Estimate(
        value=unit * value,
        low=unit * (value - off),
        high=unit * (value + off),
        confidence=confidence,
        method="delta method, paired",
    )


def _deviation(values: Array) -> float:
    """Return the standard deviation of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def normal_quantile(confidence: float) -> float:
    """Return how many standard deviations hold a share of the normal law on both sides of its mean."""
    return NormalDist().inv_cdf((1 + confidence) / 2)
