"""True counts, given counts that were published with noise or rounded: the likeliest, and bounds of means."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glassine.attacks.reconstruction.leakage import Interval
from glassine.errors import InvalidParameterError, UndefinedMeasureError, parameter
from glassine.models import DecisionTree, RuleList
from glassine.privacy.conversions import least_threshold
from glassine.records.arrays import Array, Bools, Ints

if TYPE_CHECKING:
    from glassine.attacks.disclosure.noise import CountNoise


EXPONENTS = np.linspace(0.001, 0.999, 999)
"""Exponents of Chernoff's bound, as shares of the largest one; every exponent gives a sound bound."""

ROUNDING = 1 + 1e-9
"""Covers the rounding of a few logarithms."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountBounds:
    """Bounds of the numbers of training records in the parts of a model, which hold all together."""

    # low, high: fewest and most records of each leaf or rule, whole numbers; shape (parts,).
    low: Array
    high: Array
    total: Interval  # Fewest and most records in total
    confidence: float  # Probability, over the noise, that all bounds hold; 1 where they hold for certain

    def excluding(self, empty: Bools) -> CountBounds:
        """Return the bounds where some parts can hold no record."""
        occupied = np.flatnonzero(empty & (self.low > 0))
        if len(occupied):
            raise UndefinedMeasureError(
                f"part {occupied[0] + 1} of the model holds records where the domain allows none.",
                remedy="Widen the domain's bounds, or mend its groups.",
            )
        return _together(self.low, np.where(empty, 0.0, self.high), self.total, self.confidence)

    def mean(self, values: Array) -> Interval:
        """Return the bounds of the mean over the records of a value of each part, shape (parts,)."""
        # For a given number of records, the mean is least where parts of small values are full; over the number it is
        # least at a corner of that piecewise linear sum, or at an end of the range.
        return Interval(lower=-self._most(-values, mean=True), upper=self._most(values, mean=True))

    def sum(self, values: Array) -> Interval:
        """Return the bounds of the sum over the records of a value of each part, shape (parts,)."""
        return Interval(lower=-self._most(-values, mean=False), upper=self._most(values, mean=False))

    def _most(self, values: Array, *, mean: bool) -> float:
        order = np.argsort(-values, kind="stable")
        room = (self.high - self.low)[order]
        numbers = self.low.sum() + np.concatenate([[0.0], np.cumsum(room)])
        sums = float(self.low @ values) + np.concatenate([[0.0], np.cumsum(room * values[order])])
        ends = np.array([self.total.lower, self.total.upper])
        within = (numbers >= ends[0]) & (numbers <= ends[1])
        number = np.concatenate([ends, numbers[within]])
        most = np.concatenate([np.interp(ends, numbers, sums), sums[within]])
        if not mean:
            return float(most.max())
        return float((most[number >= 1] / number[number >= 1]).max())


def exact_counts(sizes: Sequence[int]) -> CountBounds:
    """Return numbers of records that are known as bounds of themselves."""
    own = np.array(sizes, dtype=np.float64)
    return CountBounds(
        low=own, high=own, total=Interval(lower=float(own.sum()), upper=float(own.sum())), confidence=1.0
    )


def bound_counts(model: DecisionTree | RuleList, noise: CountNoise, confidence: float) -> CountBounds:
    """Return bounds of the numbers of records in the parts of a model whose counts are noisy or rounded.

    **Guarantee**: over the noise, all bounds hold together with at least the confidence; for rounded counts they hold
    for certain. Half of what the confidence leaves goes to the counts one by one, half to their sum, by the union
    bound. A count that noise made negative is published as 0, so that it bounds the true one from above alone.
    """
    value: object = confidence
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0 < confidence < 1:
        raise InvalidParameterError(
            f"{parameter('confidence')} must be a number in (0, 1), got {confidence!r}.", remedy="Use 0.99."
        )
    counts: list[tuple[int, ...]] = []
    for cell in model.cells:
        evidence = cell.evidence
        if evidence.counts is None and evidence.total is None:
            raise UndefinedMeasureError(
                "the model does not publish how many records each part captured.",
                remedy="Ask the publisher for the counts, or audit the model with its training records.",
            )
        counts.append(evidence.counts if evidence.counts is not None else (evidence.total or 0,))
    if noise.kind == "rounded":
        return _rounded(counts, noise)
    published = np.array([count for part in counts for count in part], dtype=np.float64)
    sizes = np.array([sum(part) for part in counts], dtype=np.float64)
    rest = 1 - float(confidence)
    reach = _reach(noise, rest / (4 * len(published)))
    low = np.array([sum(max(0.0, count - reach) for count in part) for part in counts])
    high = sizes + reach * np.array([len(part) for part in counts], dtype=np.float64)
    total = Interval(lower=0.0, upper=math.inf)
    if noise.kind == "geometric":
        above, below = _sum_reach(noise.scale, len(published), rest / 4)
        total = Interval(lower=max(0.0, float(sizes.sum()) - above), upper=float(sizes.sum()) + below)
    return _together(low, high, total, float(confidence))


def _together(low: Array, high: Array, total: Interval, confidence: float) -> CountBounds:
    """Return bounds of parts and of their sum, each as narrow as the other makes it."""
    least, most = max(total.lower, float(low.sum())), min(total.upper, float(high.sum()))
    if not least <= most:
        raise UndefinedMeasureError(
            "the published counts cannot come from the stated noise, or the domain contradicts the model.",
            remedy="Check both.",
        )
    if not most >= 1:
        raise UndefinedMeasureError(
            "the model's counts are all zero: it describes no record.",
            remedy="Pass a model that was trained on records.",
        )
    return CountBounds(low=low, high=high, total=Interval(lower=least, upper=most), confidence=confidence)


def _rounded(counts: Sequence[tuple[int, ...]], noise: CountNoise) -> CountBounds:
    step = int(noise.scale)
    if any(count % step for part in counts for count in part):
        raise UndefinedMeasureError(
            f"the published counts are no multiples of {step}, so they were not rounded to it.",
            remedy="State the right step.",
        )
    bounds = np.array([noise.bounds(part).sum(axis=0) for part in counts])
    return _together(bounds[:, 0], bounds[:, 1], Interval(lower=0.0, upper=math.inf), 1.0)


def _reach(noise: CountNoise, probability: float) -> float:
    """Return how far a count may lie above, and below, the true one, each but for a probability."""
    if noise.kind == "geometric":
        return float(least_threshold(probability, [(noise.scale, 1)]) - 1)
    # Noise of fractions was rounded to a whole number, which moves a count by less than one.
    if noise.kind == "laplace":
        tail = -math.log(2 * probability)
    else:
        # SciPy takes longer to import than an audit of a model without noise takes.
        from scipy.special import ndtri

        tail = -float(ndtri(probability))
    return math.ceil(noise.scale * tail * ROUNDING) + 1.0


def _sum_reach(scale: float, number: int, probability: float) -> tuple[float, float]:
    """Return how far the sum of published counts may lie above and below that of the true ones, by Chernoff's bound."""
    # It lies below by no more than the noise. Above it lies by the noise of the counts that are published above 0,
    # which is at most the positive part of all noise, because a true count is at least 0.
    below = least_threshold(probability, [(scale, number)]) - 1
    rate = EXPONENTS / scale
    q = math.exp(-1 / scale)
    # E exp(rate max(Z, 0)), with P(Z = z) = (1 - q) / (1 + q) q^|z|
    moment = (1 + -math.expm1(-1 / scale) * np.exp(rate - 1 / scale) / -np.expm1(rate - 1 / scale)) / (1 + q)
    above = float(((number * np.log(moment) - math.log(probability)) / rate).min()) * ROUNDING
    return float(math.floor(above)), float(below)


def likeliest_counts(published: Ints, noise: CountNoise, n_records: int | None, possible: Bools) -> Ints:
    """Return the whole counts under which what was published is likeliest."""
    # Noise is independent, and the logarithm of its likelihood is concave in each count. So without a known total each
    # count is its own best, and with one the counts are moved there unit by unit, each time where it costs least: no
    # other counts of that total are likelier. Among equal costs the count that moved least goes first.
    # Shapes: published (k,); possible (k,).
    contradiction = UndefinedMeasureError(
        "the published counts cannot come from the stated noise: records are counted where the domain allows none, or "
        "their number is out of reach.",
        remedy="Check the noise, the number of records and the domain.",
    )
    counts = np.where(possible, published, 0)
    zero = np.zeros(1, dtype=np.int64)
    if any(noise.log_likelihood(one, zero)[0] == -math.inf for one in published[~possible].tolist()):
        raise contradiction
    if n_records is None:
        return counts
    step = 1 if n_records > counts.sum() else -1
    moved = np.zeros(len(counts), dtype=np.int64)

    def move(place: int) -> tuple[float, int, int]:
        """Return what one unit more, or less, costs at a place, and what decides among equals."""
        here = counts[place]
        stays, moves = noise.log_likelihood(int(published[place]), np.array([here, here + step]))
        allowed = possible[place] and here + step >= 0
        return float(stays - moves) if allowed else math.inf, int(moved[place]), place

    queue = [move(place) for place in range(len(counts))]
    heapq.heapify(queue)
    for _ in range(abs(n_records - int(counts.sum()))):
        cost, _, place = queue[0]
        if not cost < math.inf:
            raise contradiction
        counts[place] += step
        moved[place] += 1
        heapq.heapreplace(queue, move(place))
    return counts
