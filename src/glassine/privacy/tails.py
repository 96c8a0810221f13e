"""Tails of sums of discrete Laplace noise: how likely a noisy count exceeds the true one by so much."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glassine.errors import InvalidMechanismError

__all__ = ["discrete_laplace_tail", "least_threshold"]

ROUNDING = 1 + 1e-9
"""Covers the rounding of a few logarithms."""

STEPS = 80
"""Bisections of the exponent; every exponent gives a sound bound."""

Terms = Sequence[tuple[float, int]]


def discrete_laplace_tail(threshold: int, terms: Terms) -> float:
    """Return a bound on the probability that a sum of discrete Laplace variables is at least a threshold.

    One variable of scale b is at least t with probability ``q**t / (1 + q)``, q = exp(-1 / b), which is returned. For
    several the bound is Chernoff's, with the best exponent.

    Parameters
    ----------
    threshold : int
        At least 1.
    terms : sequence of (float, int)
        Scales, and how many variables have each; the signs of symmetric variables do not matter.

    Raises
    ------
    InvalidMechanismError
        If the threshold is below 1, a scale is not positive, or there is no variable.

    Examples
    --------
    >>> round(discrete_laplace_tail(10, [(2.0, 1)]), 6)
    0.004194
    """
    kept = [(float(scale), int(number)) for scale, number in terms if number > 0]
    if not threshold >= 1 or not kept or not all(0 < scale < math.inf for scale, _ in kept):
        raise InvalidMechanismError(
            f"a tail needs a threshold of at least 1 and positive scales, got {threshold} and {kept}. Add some noise."
        )
    if sum(number for _, number in kept) == 1:
        rate = 1 / kept[0][0]
        return min(1.0, math.exp(-rate * threshold) / (1 + math.exp(-rate)) * ROUNDING)
    low, high = 0.0, min(1 / scale for scale, _ in kept) * (1 - 1e-12)
    for _ in range(STEPS):
        middle = low + (high - low) / 2
        low, high = (middle, high) if _slope(middle, threshold, kept) < 0 else (low, middle)
    return min(1.0, math.exp(_exponent(low + (high - low) / 2, threshold, kept)) * ROUNDING)


def least_threshold(probability: float, terms: Terms) -> int:
    """Return the least threshold that the sum reaches with at most a probability, by the bound.

    Raises
    ------
    InvalidMechanismError
        If the probability is not in (0, 1), or as :func:`discrete_laplace_tail`.

    Examples
    --------
    >>> least_threshold(1e-6, [(2.0, 1)]), least_threshold(1e-6, [(2.0, 4)])
    (27, 45)
    """
    if not 0 < probability < 1:
        raise InvalidMechanismError(f"a probability must lie in (0, 1), got {probability}. Give a share of delta.")
    high = 1
    while discrete_laplace_tail(high, terms) > probability:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if discrete_laplace_tail(middle, terms) <= probability else (middle, high)
    return high


def _exponent(rate: float, threshold: int, terms: Terms) -> float:
    """Return the logarithm of Chernoff's bound at one exponent: that of exp(-rate t) E exp(rate Z)."""
    total = -rate * threshold
    for scale, number in terms:
        own = 1 / scale
        total += number * (
            2 * math.log(-math.expm1(-own)) - math.log(-math.expm1(rate - own)) - math.log(-math.expm1(-rate - own))
        )
    return total


def _slope(rate: float, threshold: int, terms: Terms) -> float:
    total = -float(threshold)
    for scale, number in terms:
        own = 1 / scale
        total += number * (_odds(own - rate) - _odds(own + rate))
    return total


def _odds(rate: float) -> float:
    """Return 1 / (exp(rate) - 1), without overflow."""
    return math.exp(-rate) / -math.expm1(-rate)
