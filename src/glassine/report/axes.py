"""Round numbers for the axes of the charts."""

from __future__ import annotations

import math

__all__ = ["round_steps", "ticks"]

MOST = 6


def ticks(low: float, high: float) -> list[float]:
    """Return about six round numbers between two ends, which are apart."""
    rough = (high - low) / MOST
    step = next(
        part for part in (*round_steps(10.0 ** math.floor(math.log10(rough))), math.inf) if part >= rough * 0.999
    )
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 9) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def round_steps(power: float) -> tuple[float, ...]:
    """Return the round numbers from a power of ten up to the next."""
    return (power, 2 * power, 5 * power, 10 * power)
