"""What an edit does to a row of scores: plain arithmetic, in an order that every implementation can follow.

The editor page repeats these functions step by step, so that it comes to the same doubles.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["FLOOR", "isotonic", "smoothed", "weighted_mean"]

FLOOR = 1.0
"""Weight in records that a bin has at least. Noisy counts may be zero or negative, which no weight can be."""


def floored(weights: Sequence[float]) -> list[float]:
    """Return weights of at least :data:`FLOOR`."""
    return [weight if weight > FLOOR else FLOOR for weight in weights]


def weighted_mean(scores: Sequence[float], weights: Sequence[float]) -> float:
    """Return the mean of scores, weights floored."""
    total = mass = 0.0
    for score, weight in zip(scores, floored(weights), strict=True):
        total += weight * score
        mass += weight
    return total / mass


def smoothed(scores: Sequence[float], weights: Sequence[float], strength: float) -> list[float]:
    """Return each score moved by ``strength`` of the way to the weighted mean of itself and its neighbours.

    Parameters
    ----------
    scores, weights : sequence of float, shape (n,)
        Scores and counts of neighbouring bins; weights are floored.
    strength : float
        In (0, 1].

    Examples
    --------
    >>> smoothed([0.0, 3.0, 0.0], [1, 1, 1], 1.0)
    [1.5, 1.0, 1.5]
    """
    mass = floored(weights)
    out = []
    for i, score in enumerate(scores):
        near = slice(max(i - 1, 0), i + 2)
        mean = weighted_mean(scores[near], mass[near])
        out.append(score + strength * (mean - score))
    return out


def isotonic(scores: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the nondecreasing scores that are nearest in weighted squares (pool adjacent violators).

    Parameters
    ----------
    scores, weights : sequence of float, shape (n,)
        Scores and counts of neighbouring bins; weights are floored.

    Returns
    -------
    list of float
        Scores that are in order already come back as they are, to the last digit.

    References
    ----------
    Barlow, Bartholomew, Bremner and Brunk, Statistical Inference under Order Restrictions, 1972, chapter 1.

    Examples
    --------
    >>> isotonic([1.0, 4.0, 2.0, 6.0], [1, 1, 3, 1])
    [1.0, 2.5, 2.5, 6.0]
    """
    blocks: list[tuple[float, float, int]] = []
    for score, weight in zip(scores, floored(weights), strict=True):
        mean, mass, size = score, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, share, count = blocks.pop()
            mean = (share * before + mass * mean) / (share + mass)
            mass, size = share + mass, count + size
        blocks.append((mean, mass, size))
    return [mean for mean, _, size in blocks for _ in range(size)]
