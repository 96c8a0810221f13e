"""The public side of a penalised fit: from noisy sums to the next scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.learners.additive.publishing import Shapes
from glassine.learners.additive.smoothing import Cells, Smoother
from glassine.learners.additive.targets import Base

__all__ = ["Descent", "Rounds"]

RECENT = 5
"""Rounds over which the noisy curvature is averaged."""

SLOPES = (0.2, 1.2)
"""Least and largest curvature that is believed, relative to that before the first round."""

STEPS = 30
"""Steps of the curvature in [0, 1]."""

TURNING = -0.7
"""Two steps whose product, relative to the square of the first, is less point against each other: they overshoot."""

SLOWER, SLOWEST = 0.7, 0.03
"""Factor of the rate after an overshoot, and the least rate."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Public choices of a penalised fit.

    Attributes
    ----------
    number : int
        Rounds.
    rate : float
        Share of each round's sums in their running mean, in (0, 1].
    clip : float
        Largest size of a residual.
    caution : float
        Variance of the noise that the penalty is set for, relative to that of all rounds together.
    early : float
        Share of the squared mu for the first half of the rounds.
    """

    number: int
    rate: float
    clip: float
    caution: float = 1.5
    early: float = 0.5


class Descent:
    """Scores that follow noisy sums of residuals, round by round.

    Each round's sums, and what the scores already explain of them, enter a running mean; the scores are what a
    :class:`~glassine.learners.additive.smoothing.Smoother` makes of it. The scores that are published are the mean of
    those of the second half of the rounds. Where steps turn back, because attributes say the same, the rate is lowered.

    Guarantee
    ---------
    none of its own: everything is a function of what was released.

    Parameters
    ----------
    terms : sequence of Cells
        The released bins of each term, or the cells of a pair.
    base : Base
        What was released of the target.
    rounds : Rounds
        Public choices.
    variance : float
        Variance of the noise in one round's sums.
    before : Descent, optional
        Rounds with other noise that went before, on the first of the terms: these go on from their scores.
    """

    def __init__(
        self, terms: Sequence[Cells], base: Base, rounds: Rounds, variance: float, before: Descent | None = None
    ) -> None:
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
        known, widest = before.there.shape
        for mine, old in ((self._now, before._now), (self._mean, before._mean), (self._step, before._step)):
            mine[:known, :widest] = old
        self._intercept, self._slopes = before._intercept, list(before._slopes)
        if len(self.terms) == known:
            self._rate = before._rate
        for row, old_row in zip(self._smoothers, before._smoothers, strict=False):
            for smoother, old_smoother in zip(row, old_row, strict=True):
                smoother.follow(old_smoother)
        # In units of this noise.
        self._shares = np.append(before._shares * np.sqrt(before.variance / self.variance), self._shares)
        self._first = len(before._shares)
        self._all_shares = np.zeros(len(self._shares))

    @property
    def now(self) -> tuple[Array, ...]:
        """The scores so far, one array of shape (bins, outputs) for each term."""
        return tuple(score[: cells.n_bins] for score, cells in zip(self._now, self.terms, strict=True))

    def _smoothers_of(self, cells: Cells) -> list[Smoother]:
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
        """Take one round's noisy sums; return what is added to the scores and to the intercept.

        Parameters
        ----------
        sums : ndarray, shape (terms, bins, outputs)
            Noisy sums of residuals.
        curvature : float
            Noisy sum of the records' curvatures, in the units of the weights.
        """
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
