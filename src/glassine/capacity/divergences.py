"""Entropies and divergences of one bit, in bits, accurate where their arguments are close."""

from __future__ import annotations

import math

LN2 = math.log(2)

SLACK = 1e-12
"""By what share every bound is raised: sums of floats here are off by less than a tenth of it."""

_SERIES = 0.01
"""Up to this size of u the series of (1 + u) ln(1 + u) - u is used; 10 terms leave an error below 1e-24."""


def entropy(p: float) -> float:
    """Return the entropy of a bit with probability p, in bits.

    Examples
    --------
    >>> entropy(0.5), entropy(0.0)
    (1.0, 0.0)
    """
    if not 0 < p < 1:
        return 0.0
    return -(p * math.log(p) + (1 - p) * math.log1p(-p)) / LN2


def _excess(u: float) -> float:
    """Return (1 + u) ln(1 + u) - u, at least 0, without cancellation near 0; u is at least -1."""
    if abs(u) < _SERIES:
        return sum((-u) ** k / (k * (k - 1)) for k in range(11, 1, -1))
    return (1 + u) * math.log1p(u) - u if u > -1 else 1.0


def kl_of_shift(shift: float, p: float) -> float:
    """Return the divergence of a bit with probability p + shift from one with probability p, in bits.

    Parameters
    ----------
    shift : float
        In [-p, 1 - p].
    p : float
        In [0, 1]; infinite is returned where the shift leaves 0 or 1.
    """
    if not shift:
        return 0.0
    if (shift > 0 and p <= 0) or (shift < 0 and p >= 1):
        return math.inf
    ones = p * _excess(max(shift / p, -1.0)) if p > 0 else 0.0
    zeros = (1 - p) * _excess(max(-shift / (1 - p), -1.0)) if p < 1 else 0.0
    return (ones + zeros) / LN2


def information_of_shift(shift: float, p: float, rate: float) -> float:
    """Return what an answer reveals about membership, in bits.

    A member is answered with one with probability p + shift, a non-member with probability p, and a share ``rate`` are
    members.
    """
    mean = p + rate * shift
    return rate * kl_of_shift((1 - rate) * shift, mean) + (1 - rate) * kl_of_shift(-rate * shift, mean)


def log_odds(p: float) -> float:
    """Return ln(p / (1 - p)); infinite at 0 and 1."""
    if p <= 0:
        return -math.inf
    return math.inf if p >= 1 else math.log(p) - math.log1p(-p)
