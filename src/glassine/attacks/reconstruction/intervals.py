"""Intervals in which a figure lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Interval", "ReconstructionEstimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number between two bounds, which are proved or hold at a stated confidence.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructionEstimate:
    """Intervals of what depends on the true counts of a model.

    Attributes
    ----------
    confidence : float
        Probability, over the noise in the counts, that all intervals hold together; 1 for rounded and exact counts.
    supports : tuple of Interval
        Number of training records of each leaf or rule, in order.
    n_records : Interval
        Number of training records.
    bits_per_record : Interval
        Mean number of bits learned about a training record.
    dist : Interval or None
        Dist; None over a continuum, or where the domain allows one record only.
    dist_g : Interval or None
        Dist_G; None as for ``dist``.
    """

    confidence: float
    supports: tuple[Interval, ...]
    n_records: Interval
    bits_per_record: Interval
    dist: Interval | None
    dist_g: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values of the schema ``glassine.reconstruction-estimate/1``, lower bounds first."""
        return {
            "schema": "glassine.reconstruction-estimate/1",
            "confidence": self.confidence,
            "supports": [interval.to_list() for interval in self.supports],
            "n_records": self.n_records.to_list(),
            "bits_per_record": self.bits_per_record.to_list(),
            "dist": None if self.dist is None else self.dist.to_list(),
            "dist_g": None if self.dist_g is None else self.dist_g.to_list(),
        }
