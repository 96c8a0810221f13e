"""Pairs of values whose midpoint is a threshold, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.splits import Split

__all__ = ["Match", "ValuePair", "pairs_at", "placed_between"]

ALIKE = np.float32(1e-7)
"""scikit-learn places no threshold between two values that are no further apart."""

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
ValuePair: TypeAlias = tuple[float, float]


def pairs_at(values: Floats, threshold: float) -> list[ValuePair]:
    """Return the pairs of values between which scikit-learn would place just this threshold.

    Parameters
    ----------
    values : ndarray of float64, shape (k,), increasing
        Different values of single precision.
    threshold : float
        The threshold.

    Examples
    --------
    >>> pairs_at(np.array([1.0, 2.0, 3.0, 4.0]), 2.5)
    [(1.0, 4.0), (2.0, 3.0)]
    """
    below, above = values[values <= threshold], values[values > threshold]
    if not len(below) or not len(above):
        return []
    found: set[ValuePair] = set()
    # From both sides: where one value is tiny beside the other, several have the same midpoint.
    for own, other, turned in ((below, above, False), (above, below, True)):
        near = np.searchsorted(other, 2 * threshold - own)
        for step in (-1, 0, 1):
            match = other[np.clip(near + step, 0, len(other) - 1)]
            low, high = (match, own) if turned else (own, match)
            hit = placed_between(low, high) == threshold
            found.update(zip(low[hit].tolist(), high[hit].tolist(), strict=True))
    return sorted(pair for pair in found if np.float32(pair[1]) > np.float32(pair[0]) + ALIKE)


def placed_between(low: Floats, high: Floats) -> Floats:
    """Return where scikit-learn places a threshold: halfway, or at the lower value where that rounds to the upper."""
    middle = low / 2.0 + high / 2.0
    return np.where((middle == high) | np.isinf(middle), low, middle)


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A split, and the pairs of values that explain its threshold.

    Attributes
    ----------
    split : Split
        The split.
    pairs : list of (float, float)
        Pairs of values among the candidates at the node, lower value first.
    """

    split: Split
    pairs: list[ValuePair]

    @classmethod
    def of(cls, split: Split) -> Match:
        """Return a split with every pair that explains it."""
        return cls(split, pairs_at(np.unique(split.values), split.threshold))

    def holders(self, value: float) -> Rows:
        """Return the candidates at the node that hold a value."""
        return np.asarray(self.split.rows[self.split.values == value])

    def between(self, pair: ValuePair) -> Rows:
        """Return the candidates at the node strictly between two values."""
        return np.asarray(self.split.rows[(self.split.values > pair[0]) & (self.split.values < pair[1])])
