"""Intervals in which a figure lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Interval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number between two bounds; whoever returns it says whether they are proved or hold at a confidence.

    Attributes
    ----------
    lower, upper : float
        The bounds, both included.
    """

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """Distance of the bounds."""
        return self.upper - self.lower

    @property
    def middle(self) -> float:
        """Number half-way between the bounds."""
        return (self.lower + self.upper) / 2

    def to_list(self) -> list[float | None]:
        """Return both bounds as plain values; None for one that is infinite."""
        return [bound if math.isfinite(bound) else None for bound in (self.lower, self.upper)]

    def __str__(self) -> str:
        return f"{self.lower:.4f} to {self.upper:.4f}"
