"""Intervals of what noisy counts of records say, for noise and the chance of the draw together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from scipy import special

CONFIDENCE = 0.95
"""Probability with which each interval holds."""

OF_NOISE, OF_CHANCE = 0.01, 0.02
"""Probability with which noise may reach beyond an interval, and the chance of the draw beyond each of its ends."""

PARTS = 2**24
"""Parts of a record whose figure is a number: rounding to them moves a mean by 2^-25 at most."""

Interval: TypeAlias = tuple[float, float]


def lower_limit(hits: int, others: int, risk: float) -> float:
    """Return the lower limit of a share by hits among trials, at a one-sided risk (Clopper and Pearson 1934)."""
    return float(special.betaincinv(hits, others + 1, risk)) if hits > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Released counts, and what they say of shares.

    Attributes
    ----------
    released : tuple of int
        Noisy counts, cut at zero.
    whole : int
        What each record, or each person, adds to all of them together.
    reach : int
        Size that the noise of none of them exceeds, but with probability 0.01.
    """

    released: tuple[int, ...]
    whole: int
    reach: int

    def share(self, first: int) -> float:
        """Return the share of the first cells; NaN if all are empty."""
        total = sum(self.released)
        return sum(self.released[:first]) / total if total else math.nan

    def bounds(self, first: int) -> Interval:
        """Return the least and greatest share of the first cells that noise within the reach allows, in [0, 1]."""
        hits, rest = sum(self.released[:first]), sum(self.released[first:])
        of_hits, of_rest = first * self.reach, (len(self.released) - first) * self.reach
        fewest, fewest_others = max(hits - of_hits, 0), max(rest - of_rest, 0)
        least = fewest / (fewest + rest + of_rest) if fewest else 0.0
        return least, (hits + of_hits) / (hits + of_hits + fewest_others) if fewest_others else 1.0

    def interval_of_share(self) -> Interval:
        """Return the interval of the share of the first cell (Clopper and Pearson 1934, Bentkus 2004)."""
        hits, rest = self.released[0], sum(self.released[1:])
        of_rest = (len(self.released) - 1) * self.reach
        return self._lower_limit(hits - self.reach, rest + of_rest), 1 - self._lower_limit(
            rest - of_rest, hits + self.reach
        )

    def _lower_limit(self, fewest: int, most: int) -> float:
        """Return the lower limit of a share, of the fewest that have it and the most others."""
        # What is not all or nothing pays Bentkus's factor, and half a part for rounding.
        risk, rounding = (OF_CHANCE, 0.0) if self.whole == 1 else (OF_CHANCE / math.e, 0.5 / PARTS)
        hits, others = max(fewest, 0) // self.whole, -(-most // self.whole)
        return max(lower_limit(hits, others, risk) - rounding, 0.0)

    def interval_of_errors(self) -> Interval:
        """Return the interval of the mean of what two cells sum up, the first its squares (Maurer and Pontil 2009)."""
        (low, high), (_, square) = self.bounds(2), self.bounds(1)
        n = (sum(self.released) - len(self.released) * self.reach) // self.whole
        if n < 2:
            return 0.0, 1.0
        # Each of these is off by half a part at most.
        rounding = 1 / PARTS
        variance = (max(square - low**2, 0.0) + 2 * rounding) * n / (n - 1)
        log = math.log(2 / OF_CHANCE)
        move = math.sqrt(2 * variance * log / n) + 7 * log / (3 * (n - 1)) + rounding
        return max(low - move, 0.0), min(high + move, 1.0)


def noise_reach(scale: float, cells: int) -> int:
    """Return what discrete Laplace noise in none of so many cells exceeds in size, but with probability 0.01.

    Examples
    --------
    >>> noise_reach(1.0, 2), noise_reach(0.01, 2)
    (5, 0)
    """
    ratio = math.exp(-1 / scale)
    # P(|noise| > t) = 2 ratio^(t + 1) / (1 + ratio), for each cell at most its share of the risk.
    return max(math.ceil(scale * math.log(2 * cells / (OF_NOISE * (1 + ratio)))) - 1, 0)
