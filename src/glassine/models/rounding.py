"""Rounding of an additive model to a scorecard: which items, what they are worth, and the risk at each total."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from glassine.errors import InvalidModelError, check_whole
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.scorecard import Risk, Scorecard, binary, grained, interval, logistic
from glassine.models.shapes import bin_weights
from glassine.models.terms import Term
from glassine.records.arrays import Array, Ints

MOST_ITEMS, MOST_POINTS = 100, 100

RARE = 1e-12
"""Share of the records below which a total counts as one that no record has."""

UNITS = np.geomspace(0.1, 1.5, 40)
"""Units that are tried, relative to the one at which the widest term has the most points."""

FAR = 2.5
"""Log-odds from the mean beyond which a score counts as that far: more hardly moves a risk, but would make points
coarse for all other values. A number lies within its bounds, so that no score is farther than their width."""


# Rounding: each shape becomes few pieces worth whole points; which, follows from published scores and counts alone.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rounding:
    """A term in whole points: the points of each bin, the score at none, what is lost, and how many items it takes."""

    points: Ints
    start: float
    loss: float
    items: int


def check_limits(max_items: object, max_points: object) -> None:
    """Raise InvalidParameterError if one of the limits of a card is out of its range."""
    for name, value, most in (("max_items", max_items, MOST_ITEMS), ("max_points", max_points, MOST_POINTS)):
        check_whole(value, name, 1, most, plain=True)


def rounded(
    terms: Sequence[Term],
    intercept: float,
    *,
    max_items: int,
    max_points: int,
    classes: bool = True,
    bounds: tuple[float, float] | None = None,
) -> tuple[tuple[Term, ...], float, Scorecard]:
    """Return terms in whole points, the log-odds at none, and the card with its risks.

    Each term's bins are split into runs of least squared loss, weighted by the published counts; a knapsack allots the
    items to the terms; of a row of units the one with the least loss is taken. Then unit and intercept are set so that
    the risk at a total is the mean of those that the scores give, the attributes taken as independent; of a number,
    the mean of the scores themselves, and there are no risks.

    Guarantee
    ---------
    none: a function of the published model alone, so that the model's guarantee covers the card.
    """
    check_limits(max_items, max_points)
    pairs = [term.name for term in terms if len(term.bins) > 1]
    if pairs:
        raise InvalidModelError(
            f"a scorecard has items of one attribute; term {pairs[0]!r} is of two.",
            remedy="Fit the model without pairs.",
        )
    shapes = [_Shape.of(term, FAR if classes else math.inf) for term in terms]
    if bounds is not None:
        # Noise in bins that hold hardly a record is boundless: a unit that reached it would leave no other bin a point.
        shapes = [shape.within(bounds[1] - bounds[0]) for shape in shapes]
    chosen, unit = _choose(shapes, max_items, max_points)
    moments = _Moments.of(shapes, chosen, intercept)
    base, unit = moments.fitted(unit) if classes else moments.line(unit)
    out = tuple(_merged(term, one.points, unit) for term, one in zip(terms, chosen, strict=True) if one.points.any())
    return out, base, Scorecard(unit=unit, risks=moments.risks(base, unit) if classes else ())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shape:
    """The scores of a term, shape (bins,), its shares of the records, and the variances of its scores or None.

    Variances have shape (2, bins): of the noise, and one over the records, to be divided by the variance of a class.
    """

    scores: Array
    shares: Array
    variances: Array | None
    ordered: int
    near: Array
    coded: tuple[int, ...] = ()  # Bins of a number that have no place in its order

    @classmethod
    def of(cls, term: Term, far: float) -> _Shape:
        weights = bin_weights(term)
        scores = term.scores[:, 0]
        shares = weights / weights.sum()
        variances = np.zeros((2, len(scores)))
        if term.errors is not None:
            variances[0] = term.errors[:, 0] ** 2
        if term.weights is not None:
            variances[1] = 1 / np.maximum(term.weights, 1.0)
        unknown = term.errors is None and term.weights is None
        numeric = isinstance(term.bins[0], NumericBins)
        return cls(
            scores=scores,
            shares=shares,
            variances=None if unknown else variances,
            ordered=len(scores) - 1 if numeric else 0,
            near=np.clip(scores, shares @ scores - far, shares @ scores + far),
            coded=tuple(getattr(term.bins[0], "coded", ())),
        )

    def within(self, far: float) -> _Shape:
        """Return the shape with scores no farther from their median, which no score of few records moves."""
        order = np.argsort(self.scores, kind="stable")
        at = int(np.searchsorted(np.cumsum(self.shares[order]), 0.5))
        median = float(self.scores[order][min(at, len(order) - 1)])
        scores = np.clip(self.scores, median - far, median + far)
        return replace(self, scores=scores, near=scores)

    @property
    def order(self) -> Ints:
        """The bins in the order in which runs are formed: of a number as they stand, of a category by score."""
        if self.ordered:
            plain = [at for at in range(self.ordered) if at not in self.coded]
            return np.array([*plain, *sorted(self.coded, key=lambda at: float(self.scores[at]))], dtype=np.int64)
        return np.argsort(self.scores, kind="stable")

    def runs(self, most: int) -> list[Ints]:
        """Return for 1, 2, ... runs the run of each bin in order; each split has the least weighted squared loss."""
        order = self.order
        scores, shares = self.near[order], self.shares[order] + 1e-9
        size, most = len(order), min(most, len(order))
        w, s, q = (np.append(0.0, np.cumsum(part)) for part in (shares, shares * scores, shares * scores**2))
        # loss[i, j]: of one run of bins i to j - 1.
        weight = np.maximum(w[None, :] - w[:, None], 1e-300)
        loss = np.where(
            np.arange(size + 1)[:, None] < np.arange(size + 1),
            q[None, :] - q[:, None] - (s[None, :] - s[:, None]) ** 2 / weight,
            np.inf,
        )
        best, ends = loss[0].copy(), []
        for _ in range(1, most):
            through = best[:, None] + loss
            ends.append(through.argmin(axis=0))
            best = through.min(axis=0)
        out = [np.zeros(size, dtype=np.int64)]
        for k in range(1, most):
            run, end = np.zeros(size, dtype=np.int64), size
            for level in range(k, 0, -1):
                start = int(ends[level - 1][end])
                run[start:end] = level
                end = start
            out.append(run)
        return out

    def rounding(self, run: Ints, unit: float, most: int) -> _Rounding:
        """Return the term in points, of a split into runs."""
        order = self.order
        shares = self.shares[order] + 1e-9
        size = int(run.max()) + 1
        mass = np.bincount(run, weights=shares, minlength=size)
        means = np.bincount(run, weights=shares * self.near[order], minlength=size) / mass
        # Most records are worth nothing, so that points above and below are both few.
        rest = int(mass.argmax())
        start, worth = float(means[rest]), np.zeros(size, dtype=np.int64)
        # Points and the score at none in turn: a few times, for the points change rarely after the first.
        for _ in range(4):
            worth = np.rint((means - start) / unit).astype(np.int64)
            worth = np.clip(worth - worth[rest], -most, most)
            start = float((mass * (means - unit * worth)).sum() / mass.sum())
        points = np.zeros(len(self.scores), dtype=np.int64)
        points[order] = worth[run]
        if self.ordered and self.shares[-1] > 0:
            # Missing values of a number are worth what the nearest of the intervals is.
            points[-1] = worth[np.abs(unit * worth + start - self.near[-1]).argmin()]
        lost = float((self.shares * (self.near - start - unit * points) ** 2).sum())
        lines = len({int(value) for value in worth if value})
        if self.ordered:
            inner = len(order) - len(self.coded)
            lines = sum(1 for value, _ in groupby(points[order[:inner]].tolist()) if value)
            lines += len({value for value in points[order[inner:]].tolist() if value})
        return _Rounding(points=points, start=start, loss=lost, items=lines)


def _choose(shapes: Sequence[_Shape], max_items: int, max_points: int) -> tuple[list[_Rounding], float]:
    """Return each term in points, at most so many items, and the unit: those of the least loss."""
    splits = [shape.runs(1 + min(max_items, max_points + 1 + len(shape.coded))) for shape in shapes]
    widest = max((float(np.ptp(shape.near[shape.shares > 0])) for shape in shapes), default=0.0)
    best: tuple[float, list[_Rounding], float] | None = None
    for unit in UNITS * (widest / max_points) if widest > 0 else (1.0,):
        # knapsack[i]: least loss of the terms so far with at most i items, and their roundings.
        knapsack: list[tuple[float, list[_Rounding]]] = [(0.0, [])] * (max_items + 1)
        for shape, runs in zip(shapes, splits, strict=True):
            forms = [shape.rounding(run, float(unit), max_points) for run in runs]
            knapsack = [
                min(
                    ((knapsack[i - one.items][0] + one.loss, [*knapsack[i - one.items][1], one])
                     for one in forms if one.items <= i),
                    key=lambda pair: pair[0],
                )
                for i in range(max_items + 1)
            ]  # fmt: skip
        if best is None or knapsack[-1][0] < best[0]:
            best = (*knapsack[-1], float(unit))
    assert best is not None  # noqa: S101 - there is at least one unit
    return best[1], best[2]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moments:
    """Of each total: the share of records, mean and spread of the score that was rounded, and its variances or None."""

    lowest: int
    shares: Array
    means: Array
    spreads: Array
    errors: Array | None

    @property
    def totals(self) -> Ints:
        """The totals, in order."""
        return np.arange(self.lowest, self.lowest + len(self.shares))

    @classmethod
    def of(cls, shapes: Sequence[_Shape], chosen: Sequence[_Rounding], intercept: float) -> _Moments:
        """Add up the terms, their attributes taken as independent."""
        worths = [one.points - one.points.min() for one in chosen]
        parts = [
            np.array([np.bincount(worth, weights=shape.shares * shape.scores**k) for k in range(3)])
            for shape, worth in zip(shapes, worths, strict=True)
        ]
        whole = _sum(parts, intercept)
        share = np.maximum(whole[0], RARE)
        means = whole[1] / share
        errors = None
        variances = [shape.variances for shape in shapes if shape.variances is not None]
        if len(variances) == len(shapes):
            errors = np.zeros((2, len(share)))
            for k, (shape, points, of_bins) in enumerate(zip(shapes, worths, variances, strict=True)):
                rest = _sum(parts[:k] + parts[k + 1 :], intercept)[0]
                # Given the total, how likely each bin is; the noise of bins is taken as independent.
                for worth in range(parts[k].shape[1]):
                    chance = np.zeros(len(share))
                    chance[worth : worth + len(rest)] = rest / share[worth : worth + len(rest)]
                    own = points == worth
                    within = (of_bins[:, own] * shape.shares[own] ** 2).sum(axis=1)
                    errors += within[:, None] * np.minimum(chance, 1.0) ** 2
            # At totals that practically no record has, nothing is known that is better than the worst.
            errors[:, whole[0] < RARE] = errors.max(axis=1, keepdims=True)
        spreads = np.maximum(whole[2] / share - means**2, 0.0)
        lowest = sum(int(one.points.min()) for one in chosen)
        return cls(lowest=lowest, shares=whole[0], means=means, spreads=spreads, errors=errors)

    @property
    def expected(self) -> Array:
        """Mean risk at each total, the scores of its records taken as normal (MacKay 1992, equation 4.8)."""
        # Beyond 700 no risk is distinguished from 0 or 1, and the exponential of noisy scores would overflow.
        odds = np.clip(self.means / np.sqrt(1 + math.pi * self.spreads / 8), -700, 700)
        return np.asarray(1 / (1 + np.exp(-odds)))

    def fitted(self, unit: float) -> tuple[float, float]:
        """Return the log-odds at no points and of a point that fit the mean risks best."""
        risk = np.clip(self.expected, 1e-9, 1 - 1e-9)
        odds, weight = np.log(risk / (1 - risk)), np.maximum(self.shares * risk * (1 - risk), 1e-15)
        totals = self.totals
        middle, mean = np.average(totals, weights=weight), np.average(odds, weights=weight)
        spread = float((weight * (totals - middle) ** 2).sum())
        slope = float((weight * (totals - middle) * odds).sum()) / spread if spread > 1e-12 else unit
        worth = grained(slope if slope > 0 else unit)
        return float(mean - worth * middle), worth

    def line(self, unit: float) -> tuple[float, float]:
        """Return the number at no points and what a point adds that fit the mean scores best."""
        totals, weight = self.totals, np.maximum(self.shares, 1e-15)
        middle, mean = np.average(totals, weights=weight), np.average(self.means, weights=weight)
        spread = float((weight * (totals - middle) ** 2).sum())
        slope = float((weight * (totals - middle) * self.means).sum()) / spread if spread > 1e-12 else unit
        worth = binary(slope if slope > 0 else unit)
        return float(mean - worth * middle), worth

    def risks(self, base: float, unit: float) -> tuple[Risk, ...]:
        """Return the rows of the table."""
        out = []
        for place, total in enumerate(self.totals.tolist()):
            odds = base + unit * total
            risk = logistic(odds)
            if self.errors is None:
                out.append(Risk(points=total, risk=risk))
                continue
            noise, sampling = self.errors[:, place]
            low, high = interval(odds, math.sqrt(noise + sampling / max(risk * (1 - risk), 1e-9)))
            out.append(Risk(points=total, risk=risk, low=low, high=high))
        return tuple(out)


def _sum(parts: Sequence[Array], intercept: float) -> Array:
    """Return share, first and second moment by total of a sum of independent parts, each of shape (3, worths)."""
    total = np.array([[1.0], [intercept], [intercept**2]])
    for share, first, second in parts:
        total = np.array(
            [
                np.convolve(total[0], share),
                np.convolve(total[1], share) + np.convolve(total[0], first),
                np.convolve(total[2], share) + 2 * np.convolve(total[1], first) + np.convolve(total[0], second),
            ]
        )
    return total


def _merged(term: Term, points: Ints, unit: float) -> Term:
    """Return a term with one bin for neighbours of equal worth; the last bin, for missing values, stays alone."""
    bins = term.bins[0]
    inner = points[:-1]
    if isinstance(bins, NumericBins):
        # A special code stays alone, whatever it is worth.
        alone = np.isin(np.arange(len(inner)), [*bins.coded])
        separate = (inner[1:] != inner[:-1]) | alone[1:] | alone[:-1]
        group = np.append(0, np.cumsum(separate))
        merged: Bins = bins.recut(cut for cut, here in zip(bins.cuts, separate.tolist(), strict=True) if here)
    else:
        worths = sorted(set(inner.tolist()))
        group = np.array([worths.index(worth) for worth in inner.tolist()])
        merged = CategoryBins(
            bins.attribute,
            tuple(
                tuple(value for values, here in zip(bins.groups, group, strict=True) if here == k for value in values)
                for k in range(len(worths))
            ),
        )
    place = np.append(group, group.max() + 1)
    scores = np.zeros(len(merged.labels))
    scores[place] = points * unit
    weights: Array | None = None
    if term.weights is not None:
        weights = np.bincount(place, weights=term.weights).astype(np.float64)
    return Term(bins=(merged,), scores=scores, weights=weights, name=term.name)
