"""From noisy sums to scores: penalties that follow from the noise, and the descent that follows the rounds.

Everything here is public: a function of what was released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from glassine.compiling import compiled
from glassine.learners.additive.grids import Axis
from glassine.learners.additive.published_scores import LEAST_VARIANCE, Shapes
from glassine.learners.additive.targets import Base
from glassine.records.arrays import AnyArray, Array

ROUGHNESS = (0.01, 0.1, 0.5, 0.95)
"""Shares of the prior variance of neighbouring bins that are their own; the rest varies smoothly along a number.

From a smooth curve to bins that know nothing of each other; four, since each costs a decomposition of all bins."""

SCALES = np.geomspace(1e-4, 30.0, 14)
"""Prior variances of a score that are compared: standard deviations from 0.01 to 5.5, 1.6 times apart."""

LEAST_SIGNAL = 0.4
"""Least ratio of the prior variance to that of the noise for which errors are published. Noise intervals must not
shrink to nothing for a term without signal. ``tests/learners/test_ebm_bands.py`` measures them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TermCells:
    """What the fit knows of a term: its bins, or the cells of its two attributes."""

    counts: Array  # Released number of records in each cell, at least 1; shape (cells,)
    # Prior covariances of unit mean variance that are compared; None stands for independent scores.
    covariances: tuple[Array | None, ...]

    @property
    def n_bins(self) -> int:
        """Number of bins or cells."""
        return len(self.counts)


def cells_of(axis: Axis) -> TermCells:
    """Return what the fit knows of the term of one attribute."""
    counts: Array = np.maximum(axis.counts, 1.0)
    return TermCells(counts=counts, covariances=tuple(_covariances(axis, counts)))


@dataclass(frozen=True, slots=True, eq=False)
class _Prior:
    """A prior covariance of the scores and of the sums; None for independent scores.

    The eigenvalues and -vectors are those of the covariance of the sums in units of their noise.
    """

    covariance: Array | None
    curved: Array | None
    values: Array
    vectors: Array | None


class Smoother:
    """The scores of one term and output as a function of its noisy sums.

    The sums are taken as ``curvature * score`` plus noise. The scores have a Gaussian prior, whose variance and
    roughness maximise the likelihood of the sums: neighbouring bins of a number are as similar as the sums imply.

    Guarantee
    ---------
    none: everything is a function of what was released.
    """

    def __init__(
        self, cells: TermCells, *, weight: float, noise: float | Array, final: float | Array, spread: float
    ) -> None:
        # weight: curvature of the loss for one record. noise: variance of the noise in the sums that the prior is
        # judged by; final: of the noise that the scores will have in the end; spread: of one record's residual, which
        # its own scatter adds to the sums. Shapes: noise, final (cells,), or one number.
        counts = cells.counts
        self.counts = counts
        self.curvature = weight * counts
        self.final = final + spread * counts
        self._whitening = 1.0 / np.sqrt(noise + spread * counts)
        self._priors = [self._prior(covariance) for covariance in cells.covariances]
        self._chosen = (float(SCALES[0]), self._priors[0], 1.0)
        self._values = np.stack([prior.values for prior in self._priors])
        bases = [prior.vectors.T for prior in self._priors if prior.vectors is not None]
        self._bases = np.concatenate(bases) if bases else None

    def _prior(self, covariance: Array | None) -> _Prior:
        if covariance is None:
            return _Prior(None, None, (self._whitening * self.curvature) ** 2, None)
        curved = self.curvature[:, None] * covariance * self.curvature
        values, vectors = np.linalg.eigh(self._whitening[:, None] * curved * self._whitening)
        return _Prior(covariance, curved, np.maximum(values, 0.0), vectors)

    def follow(self, before: Smoother) -> None:
        """Start from the prior that another smoother of the same cells has chosen."""
        scale, prior, slope = before._chosen
        at = next(i for i, other in enumerate(before._priors) if other is prior)
        self._chosen = (scale, self._priors[at], slope)

    def scores(self, sums: Array, slope: float) -> Array:
        """Return the scores for sums ``slope * curvature * score + noise``, centred by the counts; keeps the prior."""
        scale, prior = self._choose(sums, slope)
        self._chosen = (scale, prior, slope)
        if prior.curved is None or prior.covariance is None:
            fitted = self._gain(scale, prior, slope) * sums
        else:
            _, solved, failed = dposv(self._inner(scale, prior.curved, slope), sums)
            if failed:
                raise np.linalg.LinAlgError("the covariance of the sums is not positive definite")
            fitted = scale * slope * (prior.covariance @ (self.curvature * solved))
        return np.asarray(fitted - self.counts @ fitted / self.counts.sum())

    def _inner(self, scale: float, curved: Array, slope: float) -> Array:
        """Return the covariance of the sums."""
        inner = (scale * slope**2) * curved
        inner.reshape(-1)[:: len(inner) + 1] += self.final
        return np.asarray(inner)

    def _gain(self, scale: float, prior: _Prior, slope: float) -> Array:
        """Return what the sums are multiplied by: a number for each bin, or a matrix."""
        curvature = slope * self.curvature
        if prior.curved is None or prior.covariance is None:
            return np.asarray(scale * curvature / (scale * curvature**2 + self.final))
        right = scale * curvature[:, None] * prior.covariance
        return np.asarray(np.linalg.solve(self._inner(scale, prior.curved, slope), right).T)

    def deviations(self) -> Array:
        """Return the standard deviation of each score for noise of variance 1 in the sums, the prior held fixed."""
        # The prior is taken to be at least so wide that it does not hide what noise may have hidden.
        scale, prior, slope = self._chosen
        least = LEAST_SIGNAL * float(np.median(self.final / (slope * self.curvature) ** 2))
        gain = self._gain(max(scale, least), prior, slope)
        shares = self.counts / self.counts.sum()
        if gain.ndim == 1:
            square = gain**2
            return np.asarray(np.sqrt(np.maximum(square * (1 - 2 * shares) + shares**2 @ square, 0.0)))
        return np.asarray(np.sqrt(((gain - shares @ gain) ** 2).sum(axis=1)))

    def _choose(self, sums: Array, slope: float) -> tuple[float, _Prior]:
        white = self._whitening * sums
        squares = (white if self._bases is None else self._bases @ white) ** 2
        at, scale = _likeliest(self._values, squares.reshape(self._values.shape), slope**2 * SCALES)
        return float(SCALES[scale]), self._priors[at]


@compiled
def _likeliest(values: AnyArray, squares: AnyArray, scales: AnyArray) -> tuple[int, int]:
    """Return the prior and the scale for which the squares, of variance ``scale * value + 1``, are the likeliest."""
    # values, squares: (priors, bins); scales: (s,). The first of equal pairs is taken, so that ties are repeatable.
    least, prior, chosen = np.inf, 0, 0
    for i in range(len(values)):
        for j in range(len(scales)):
            misfit, product = 0.0, 1.0
            for k in range(values.shape[1]):
                spread = scales[j] * values[i, k] + 1.0
                misfit += squares[i, k] / spread
                product *= spread
                # A logarithm takes longer than many products; a factor is far below 1e200, so that none overflows.
                if product > 1e100:
                    misfit += np.log(product)
                    product = 1.0
            misfit += np.log(product)
            if misfit < least:
                least, prior, chosen = misfit, i, j
    return prior, chosen


class LoadedSmoothing:
    """The kernel of smoothing, for a plan that loads all of its kernels."""

    @staticmethod
    def load() -> None:
        """Load or compile it."""
        _likeliest.load(np.zeros((1, 1)), np.zeros((1, 1)), SCALES)


def _covariances(axis: Axis, counts: Array) -> list[Array | None]:
    """Return prior covariances of unit mean variance: random walks along a number, plus independent parts."""
    # None stands for independent scores.
    ordered = axis.n_ordered
    if not axis.ordered or ordered < 3:
        return [None]
    smooth = random_walk(counts, ordered)
    return [share * np.eye(len(counts)) + (1 - share) * smooth for share in ROUGHNESS]


def random_walk(counts: Array, ordered: int) -> Array:
    """Return the covariance of a centred random walk along the first bins, of unit mean variance; others are apart."""
    steps = np.arange(ordered)
    shares = counts[:ordered] / counts[:ordered].sum()
    centring = np.eye(ordered) - np.outer(np.ones(ordered), shares)
    walk = centring @ np.minimum.outer(steps, steps) @ centring.T
    smooth = np.eye(len(counts))
    smooth[:ordered, :ordered] = walk * (ordered / np.trace(walk))
    return smooth


# Scores that follow noisy sums, round by round.


# The constants of the descent were set on Adult, California and Pol, TURNING and SLOWER after a look at Elevators:
# docs/papers/dp-ebm.md. They are public and fixed; no guarantee rests on them.

RECENT = 5
"""Rounds over which the noisy curvature is averaged: it falls slowly, and one round's is noisy."""

SLOPES = (0.2, 1.2)
"""Least and largest curvature that is believed, relative to that before the first round."""

STEPS = 30
"""Steps of the curvature in [0, 1]: finer ones would only make the smoother compute again."""

TURNING = -0.7
"""Two steps whose product, relative to the square of the first, is less point against each other: they overshoot."""

SLOWER, SLOWEST = 0.7, 0.03
"""Factor of the rate after an overshoot, and the least rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Public choices of a penalised fit."""

    number: int  # Rounds
    rate: float  # Share of each round's sums in their running mean, in (0, 1]
    clip: float  # Largest size of a residual
    caution: float = 1.5  # Variance of the noise that the penalty is set for, relative to that of all rounds together
    early: float = 0.5  # Share of the squared mu for the first half of the rounds


class Descent:
    """Scores that follow noisy sums of residuals, round by round.

    Each round's sums, and what the scores already explain of them, enter a running mean; the scores are what a
    :class:`Smoother` makes of it. The scores that are published are the mean of
    those of the second half of the rounds. Where steps turn back, because attributes say the same, the rate is lowered.

    Guarantee
    ---------
    none: everything is a function of what was released.
    """

    def __init__(
        self, terms: Sequence[TermCells], base: Base, rounds: Rounds, variance: float, before: Descent | None = None
    ) -> None:
        # variance: of the noise in one round's sums. before: rounds with other noise on the first of the terms, from
        # whose scores these go on.
        self.terms, self.base, self.rounds, self.variance = terms, base, rounds, variance
        widest, outputs = max(cells.n_bins for cells in terms), len(base.start)
        self.there = np.array([np.arange(widest) < cells.n_bins for cells in terms])
        shape = (len(terms), widest, outputs)
        self._now, self._mean, self._step, self._total = (np.zeros(shape) for _ in range(4))
        self._curvature = np.zeros(shape)
        self._smoothers = [self._smoothers_of(cells) for cells in terms]
        self._portions = np.zeros(shape)
        for k, row in enumerate(self._smoothers):
            for c, smoother in enumerate(row):
                self._curvature[k, : terms[k].n_bins, c] = smoother.curvature
                self._portions[k, : terms[k].n_bins, c] = smoother.counts / smoother.counts.sum()
        self._intercept, self._tail = np.array(base.start, dtype=np.float64), np.zeros(outputs)
        self._slopes: list[float] = []
        self._rate, self._done, self._kept = rounds.rate, 0, 0
        # Share of each round's noise in the running mean, and the sum of these over the kept rounds.
        self._shares, self._all_shares = np.zeros(rounds.number), np.zeros(rounds.number)
        self._first = 0
        if before is not None:
            self._follow(before)

    def _follow(self, before: Descent) -> None:
        """Go on from the scores, running means and noise of earlier rounds."""
        rows, widest = before.there.shape
        for mine, old in ((self._now, before._now), (self._mean, before._mean), (self._step, before._step)):
            mine[:rows, :widest] = old
        self._intercept, self._slopes = before._intercept, list(before._slopes)
        if len(self.terms) == rows:
            self._rate = before._rate
        for row, old_row in zip(self._smoothers, before._smoothers, strict=False):
            for smoother, old_smoother in zip(row, old_row, strict=True):
                smoother.follow(old_smoother)
        # In units of this noise.
        # Rounds without noise all count alike.
        scale = np.sqrt(max(before.variance, LEAST_VARIANCE) / max(self.variance, LEAST_VARIANCE))
        self._shares = np.append(before._shares * scale, self._shares)
        self._first = len(before._shares)
        self._all_shares = np.zeros(len(self._shares))

    @property
    def now(self) -> tuple[Array, ...]:
        """The scores so far, one array of shape (bins, outputs) for each term."""
        return tuple(score[: cells.n_bins] for score, cells in zip(self._now, self.terms, strict=True))

    def _smoothers_of(self, cells: TermCells) -> list[Smoother]:
        # A running mean of rate a has a / (2 - a) of the variance of one round.
        running = self.variance * self.rounds.rate / (2 - self.rounds.rate)
        final = self.rounds.caution * self.variance / self.rounds.number
        return [
            Smoother(cells, weight=float(weight), noise=running, final=final, spread=float(spread))
            for weight, spread in zip(self.base.weights, self.base.spreads, strict=True)
        ]

    @property
    def size(self) -> int:
        """Number of sums in a round."""
        return int(self.there.sum()) * len(self.base.start)

    def take(self, sums: Array, curvature: float) -> tuple[Array, Array]:
        """Take one round's noisy sums; return what is added to the scores and to the intercept."""
        # Shapes: sums (terms, bins, outputs).
        n = self.base.n_records
        self._slopes.append(curvature / (n * float(self.base.weights.sum())))
        # Rounded, so that what follows from it need not be worked out anew in each round.
        slope = round(STEPS * float(np.clip(np.mean(self._slopes[-RECENT:]), *SLOPES))) / STEPS
        shift = (self._rate / (n * slope)) * self._drift(sums) / self.base.weights
        new = np.zeros_like(self._now)
        own = sums - sums.sum(axis=1, keepdims=True) * self._portions
        self._mean += self._rate * (own + slope * self._curvature * self._now - self._mean)
        for k, row in enumerate(self._smoothers):
            for c, smoother in enumerate(row):
                at = (k, slice(0, self.terms[k].n_bins), c)
                new[at] = smoother.scores(self._mean[at], slope)
        self._shares *= 1 - self._rate
        self._shares[self._first + self._done] += self._rate
        step = new - self._now
        self._slow_down(step)
        self._now, self._step, self._intercept = new, step, self._intercept + shift
        if 2 * self._done >= self.rounds.number:
            self._kept += 1
            self._total += new
            self._tail += self._intercept
            self._all_shares += self._shares
        self._done += 1
        return step, shift

    def _slow_down(self, step: Array) -> None:
        """Lower the rate where this step takes back much of the last one."""
        before = float((self._curvature * self._step**2).sum())
        if float((self._curvature * self._step * step).sum()) < TURNING * before:
            self._rate = max(SLOWER * self._rate, SLOWEST)

    def _drift(self, sums: Array) -> Array:
        """Return the sum of all residuals, from the terms' own totals weighted by precision, shape (outputs,)."""
        precision = 1.0 / self.there.sum(axis=1)
        return np.asarray((precision @ sums.sum(axis=1)) / precision.sum())

    def shapes(self) -> Shapes:
        """Return the mean of the scores of the second half of the rounds, and its errors."""
        deviation = float(np.sqrt(self.variance * ((self._all_shares / self._kept) ** 2).sum()))
        return Shapes(
            scores=tuple(self._total[k, : cells.n_bins] / self._kept for k, cells in enumerate(self.terms)),
            errors=tuple(
                np.stack([smoother.deviations() * deviation for smoother in row], axis=1) for row in self._smoothers
            ),
            intercept=self._tail / self._kept,
        )
