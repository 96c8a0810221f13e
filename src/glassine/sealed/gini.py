"""The Gini impurity of a split of records into what a rule captures and what it leaves, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from glassine.records.arrays import AnyArray, Array, Bools, Ints

# The weighted Gini impurity of a split, equations 1 and 2 of the rule-list paper, in exact arithmetic.
#
# A split divides m records into what a rule captures and what it leaves. With class counts n_k of a part of n
# records, its counted Gini impurity is ``n - sum(n_k**2) / n``, and 0 for no records. The weighted impurity of the
# split is the sum of both parts' over m.


GRID = 2**40
"""Steps into which an impurity of 1 is divided where impurities are compared privately.

One record among n moves an impurity by about 1 / n: with 2^40 steps rounding adds little for up to 10^9 records."""

COUNTED_GRID = 2**20
"""Steps into which a counted impurity of one record is divided: with up to 2^31 records, levels fit 64 bits."""

LARGEST = 2**31
"""Numbers of records below it keep the squares of counts within 64 bits."""


def _parts(captured: Ints, totals: Ints) -> tuple[Ints, Ints]:
    return captured, totals[None, :] - captured


def counted_levels(captured: Ints, totals: Ints) -> list[int]:
    """Return the counted impurity of each split, both parts rounded down to multiples of 1 / 2^20, in these steps.

    Shapes: ``captured`` (p, c); ``totals`` (c,).

    Examples
    --------
    >>> [level / 2**20 for level in counted_levels(np.array([[2, 0], [1, 1]]), np.array([2, 2]))]
    [0.0, 2.0]
    """
    levels = sum(_counted(part) for part in _parts(captured, totals))
    return [int(level) for level in np.asarray(levels)]


def _counted(part: Ints) -> AnyArray:
    """Return the counted impurity of parts with class counts along the last axis, in steps of 1 / 2^20."""
    counts = part if not part.size or part.sum(axis=-1).max() < LARGEST else part.astype(object)
    n = counts.sum(axis=-1)
    numerator = n * n - (counts * counts).sum(axis=-1)
    size = np.maximum(n, 1)
    return np.asarray(numerator // size * COUNTED_GRID + numerator % size * COUNTED_GRID // size)


def loss_levels(part: Ints) -> AnyArray:
    """Return errors plus counted impurity of parts with class counts along the last axis, in steps of 1 / 2^20.

    The errors are those of predicting the most frequent class.

    Examples
    --------
    >>> (loss_levels(np.array([[2, 0], [1, 1], [3, 1]])) / 2**20).tolist()
    [0.0, 2.0, 2.5]
    """
    errors = part.sum(axis=-1) - part.max(axis=-1)
    return np.asarray(errors * COUNTED_GRID + _counted(part))


def impurity_levels(captured: Ints, totals: Ints, grid: int = GRID) -> list[int]:
    """Return the weighted impurity of each split, rounded down to a multiple of 1 / grid, in these steps; exact.

    Examples
    --------
    >>> [level / 2**40 for level in impurity_levels(np.array([[2, 0], [1, 1]]), np.array([2, 2]))]
    [0.0, 0.5]
    """
    numerators, denominators = _fractions(captured, totals)
    return [a * grid // b for a, b in zip(numerators, denominators, strict=True)]


def weighted_impurities(captured: Ints, totals: Ints) -> Array:
    """Return the weighted impurity of each split as floats."""
    numerators, denominators = _fractions(captured, totals)
    return np.array([a / b for a, b in zip(numerators, denominators, strict=True)], dtype=np.float64)


def _fractions(captured: Ints, totals: Ints) -> tuple[list[int], list[int]]:
    """Return numerators and denominators of the weighted impurities, as integers of any size."""
    m = max(1, int(totals.sum()))
    tops: list[tuple[list[int], list[int]]] = []
    for part in _parts(captured, totals):
        counts = part.astype(object)
        n = counts.sum(axis=1)
        tops.append((list(n * n - (counts * counts).sum(axis=1)), [max(1, size) for size in n]))
    (a, b), (c, d) = tops
    numerators = [x * z + w * y for x, y, w, z in zip(a, b, c, d, strict=True)]
    return numerators, [m * y * z for y, z in zip(b, d, strict=True)]


def best_split(captured: Ints, totals: Ints, allowed: Sequence[bool] | Bools) -> int | None:
    """Return the first split of least weighted impurity among those allowed, if it is below that without a split."""
    rows = np.flatnonzero(allowed)
    if not len(rows):
        return None
    floats = _floats(captured[rows], totals)
    # Floats leave a few rows; among these the comparison is exact. A sum of c quotients is off by some c 2^-53, far
    # below the margin.
    near = rows[floats <= floats.min() * (1 + 1e-9) + 1e-12]
    numerators, denominators = _fractions(captured[near], totals)
    exact = [Fraction(a, b) for a, b in zip(numerators, denominators, strict=True)]
    least = min(exact)
    tops, bottoms = _fractions(np.zeros((1, len(totals)), dtype=np.int64), totals)
    return int(near[exact.index(least)]) if least < Fraction(tops[0], bottoms[0]) else None


def _floats(captured: Ints, totals: Ints) -> Array:
    total = np.zeros(len(captured))
    for part in _parts(captured, totals):
        counts = part.astype(np.float64)
        n = counts.sum(axis=1)
        total += n - (counts * counts).sum(axis=1) / np.maximum(n, 1)
    return np.asarray(total / max(1, int(totals.sum())), dtype=np.float64)
