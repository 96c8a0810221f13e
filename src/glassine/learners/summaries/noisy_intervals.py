"""What noisy counts of records say: intervals of figures, and how a published model ranks two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import special

from glassine.records.arrays import Array, Ints
from glassine.sealed.scoring import PARTS

CONFIDENCE = 0.95
"""Probability with which each interval holds."""

OF_NOISE, OF_CHANCE = 0.01, 0.02
"""Probability with which noise may reach beyond an interval, and the chance of the draw beyond each of its ends."""

Interval: TypeAlias = tuple[float, float]

MOST_CELLS = 32
"""Cells of a score: on Adult, rounding to so many changes the AUROC of additive models by less than 0.001."""

OF_TERMS = 0.0015
"""Probability with which each side of the two linear parts of the noise may reach beyond its bound."""

OF_PRODUCTS, OF_SIZES = 0.002, 0.001
"""The same of the part that is a product of noises, and of the number of each class; all together make 0.01."""

STEP = 1 / 2048
"""Step at which values of the area are tried; each end of an interval is moved outwards by it."""


def lower_limit(hits: int, others: int, risk: float) -> float:
    """Return the lower limit of a share by hits among trials, at a one-sided risk (Clopper and Pearson 1934)."""
    return float(special.betaincinv(hits, others + 1, risk)) if hits > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedCells:
    """Released counts, and what they say of shares."""

    released: tuple[int, ...]  # Noisy counts, cut at zero
    whole: int  # What each record, or each person, adds to all of them together
    reach: int  # Size that the noise of none of them exceeds, but with probability 0.01

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


def cuts_of(scores: Array, weights: Array) -> Array:
    """Return where cells of a score begin, the first aside: at its values if there are few, else at its quantiles."""
    values = np.unique(scores)
    if len(values) <= MOST_CELLS:
        return values[1:]
    order = np.argsort(scores, kind="stable")
    below = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(below, np.arange(1, MOST_CELLS) / MOST_CELLS)
    return np.unique(scores[order][np.minimum(places, len(scores) - 1)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """Released counts by class and cell, and what they say of the area under the ROC curve."""

    released: Ints  # Noisy counts, of the negatives first, not cut at zero, shape (2, cells)
    scale: float  # Scale of the discrete Laplace noise in each

    @property
    def area(self) -> float:
        """The area, records in one cell counting half; NaN if the noisy number of a class is not positive."""
        sizes = self.released.sum(axis=1)
        if not sizes.min() > 0:
            return math.nan
        return float(np.clip(self._excess(0.0) / float(sizes.prod()), 0.0, 1.0))

    def _kernel(self, theta: float) -> Array:
        """Return how a positive in a cell ranks to a negative in one, less theta, shape (cells, cells)."""
        cells = np.arange(self.released.shape[1])
        return np.asarray((np.sign(cells[:, None] - cells) + 1) / 2 - theta)

    def _excess(self, theta: float) -> float:
        negatives, positives = self.released.astype(np.float64)
        return float(positives @ self._kernel(theta) @ negatives)

    def bounds(self) -> Interval:
        """Return the areas that noise allows of these records, with probability 0.99 less that of the sizes."""
        if math.isnan(self.area):
            return 0.0, 1.0
        negatives, positives = self.released.astype(np.float64)
        q = math.exp(-1 / self.scale)
        variance = 2 * q / (1 - q) ** 2
        # With the estimate, at which the excess is zero: of little noise no step may be near it.
        areas, kernel = np.append(np.arange(0.0, 1.0 + STEP, STEP), self.area)[:, None], self._kernel(0.0)
        of_positives = kernel @ negatives - areas * negatives.sum()
        of_negatives = positives @ kernel - areas * positives.sum()
        # The product of both noises has this variance, and Chebyshev's inequality bounds it.
        squares = ((kernel.ravel() - areas) ** 2).sum(axis=1)
        reach = self._reach(of_positives) + self._reach(of_negatives) + variance * np.sqrt(squares / OF_PRODUCTS)
        kept = areas[np.abs(of_positives @ positives) <= reach]
        # Noise as likely as this allows an area; without one, nothing is known.
        if not len(kept):
            return 0.0, 1.0
        return max(float(kept.min()) - STEP, 0.0), min(float(kept.max()) + STEP, 1.0)

    def _reach(self, weights: Array, risk: float = OF_TERMS) -> Array:
        """Return what sums of weighted noise exceed on either side with no more than a probability (Chernoff)."""
        q = math.exp(-1 / self.scale)
        # Moments are finite below 1 / scale; without any weight there is no noise.
        slopes = 1 / (np.maximum(np.abs(weights).max(axis=1), 1e-300) * self.scale)
        best = np.full(len(weights), math.inf)
        for part in np.linspace(0.04, 0.96, 12):
            tilted = part * slopes[:, None] * weights
            # Powers of the tilt times q, together: alone they leave the range of floats.
            logs = 2 * math.log1p(-q) - sum(np.log1p(-np.exp(side - 1 / self.scale)) for side in (tilted, -tilted))
            best = np.minimum(best, (logs.sum(axis=1) - math.log(risk)) / (part * slopes))
        return best

    def interval(self) -> Interval:
        """Return the interval of the area for noise and chance together (Hoeffding 1963, Bentkus 2004)."""
        reach = float(self._reach(np.ones((1, self.released.shape[1])), OF_SIZES)[0])
        pairs = math.floor(float(self.released.sum(axis=1).min()) - reach)
        if pairs < 1:
            return 0.0, 1.0
        low, high = self.bounds()

        def limit(share: float) -> float:
            hits = math.floor(pairs * share)
            return lower_limit(hits, pairs - hits, OF_CHANCE / math.e)

        return limit(low), 1 - limit(1 - high)
