"""Thresholds that were rounded in print: the midpoint of two values is known to half a digit."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TypeAlias

import numpy as np

from glassine.domain.single import nominal
from glassine.records.arrays import Array, Bools

MOST_DECIMALS = 6
"""Decimals of a print; more are those of a number itself."""
NEAR = 1e-6
"""By how much of itself a value in single precision may miss a decimal."""

ValuePair: TypeAlias = tuple[float, float]


def decimals_of(thresholds: Iterable[float]) -> int | None:
    """Return with how many decimals thresholds were printed; None where one has more than a print.

    Examples
    --------
    >>> decimals_of([37.42, 0.5]), decimals_of([37.418301])
    (2, 6)
    >>> decimals_of([1 / 3]) is None
    True
    """
    most = 0
    for threshold in thresholds:
        exponent = Decimal(repr(float(nominal(threshold)))).normalize().as_tuple().exponent
        most = max(most, -exponent if isinstance(exponent, int) else MOST_DECIMALS + 1)
        if most > MOST_DECIMALS:
            return None
    return most


def half_step(decimals: int | None, values: Array) -> float:
    """Return half the last digit of thresholds where midpoints of values have more digits, else 0.

    Examples
    --------
    >>> half_step(2, np.array([37.4183, 37.4201])), half_step(2, np.array([37.4, 37.5]))
    (0.005, 0.0)
    """
    if decimals is None:
        return 0.0
    # The midpoint of two values of one decimal less has all of its digits in print.
    scaled = values[np.isfinite(values)] * 10.0 ** (decimals - 1)
    fits: Bools = np.abs(scaled - np.rint(scaled)) <= NEAR * np.maximum(1, np.abs(scaled))
    return 0.0 if fits.all() else 0.5 * 10.0**-decimals


def pairs_within(values: Array, threshold: float, half: float, most: int | None = None) -> list[ValuePair]:
    """Return the pairs of different values whose midpoint is a threshold to half a step; with ``most``, the first.

    Shapes: ``values`` (k,), increasing.

    Examples
    --------
    >>> pairs_within(np.array([1.0, 1.301, 1.402, 2.0]), 1.35, 0.005)
    [(1.301, 1.402)]
    """
    slack = half * (1 + NEAR)
    first = np.searchsorted(values, 2 * (threshold - slack) - values)
    stop = np.searchsorted(values, 2 * (threshold + slack) - values, side="right")
    # Each pair once, by its lower value.
    first = np.maximum(first, np.arange(1, len(values) + 1))
    pairs: list[ValuePair] = []
    for low in np.flatnonzero(stop > first).tolist():
        pairs += [(float(values[low]), float(high)) for high in values[first[low] : stop[low]]]
        if most is not None and len(pairs) >= most:
            return pairs[:most]
    return pairs
