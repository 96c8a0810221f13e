"""Penalised additive models: few rounds of noisy residual sums for all terms at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting.slices import Progress
from glassine.learners.binning import Axis
from glassine.learners.ebm_descent import Descent, Rounds
from glassine.learners.ebm_publishing import Shapes
from glassine.learners.ebm_sums import advance, start_scores
from glassine.learners.ebm_targets import Base
from glassine.privacy.accounting import DiscreteGaussianNoise
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.randomness import Randomness

__all__ = ["fit_rounds"]

CURVATURE = 0.5
"""How much of its curvature a record adds to their sum, beside 1 to each term."""

PROOF = "learners/ebm_penalized.md"


def fit_rounds(
    codes: npt.NDArray[Any],
    target: npt.NDArray[Any],
    axes: Sequence[Axis],
    *,
    base: Base,
    classes: bool,
    rounds: Rounds,
    mu: float,
    share: float,
    randomness: Randomness,
    progress: Progress | None,
) -> tuple[Shapes, DiscreteGaussianNoise]:
    """Fit the scores of all terms.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: in each round one record adds to one bin
    of each term, a vector no longer than the clip; see ``ebm_penalized.md``.

    Parameters
    ----------
    codes : ndarray, shape (terms, n)
        Bins of the records.
    target : ndarray, shape (n,)
        Targets in [-1, 1], or classes.
    axes : sequence of Axis
        The released bins of each term.
    base : Base
        What was released of the target.
    classes : bool
        Whether the target is a class.
    rounds : Rounds
        Public choices.
    mu, share : float
        Budget, and its share of the whole.
    randomness : Randomness
        Source of the noise.
    progress : callable or None
        Called with the rounds done and in all.
    """
    noise = FineNoise.of(mu / np.sqrt(rounds.number), len(axes) + CURVATURE**2)
    outputs = len(base.start)
    descent = Descent(axes, base, rounds, (rounds.clip * noise.deviation) ** 2)
    there = descent.there
    scores = start_scores(codes.shape[1], base.start)
    step, shift = np.zeros((*there.shape, outputs)), np.zeros(outputs)
    # A record's curvature is told relative to the largest that its loss can have.
    most_curved = 0.25 if classes and outputs == 1 else 1.0
    for number in range(rounds.number):
        exact, curvature = advance(
            codes, scores, target, step, shift, classes=classes, clip=rounds.clip, units=noise.units
        )
        released = noise.release(np.append(exact[there], curvature), randomness)
        sums = np.zeros_like(step)
        sums[there] = (released[:-1] * rounds.clip).reshape(-1, outputs)
        step, shift = descent.take(sums, float(released[-1]) / CURVATURE * most_curved)
        if progress is not None:
            progress(number + 1, rounds.number)
    event = DiscreteGaussianNoise(
        name="sums of residuals in bins",
        l2_sensitivity=noise.l2_sensitivity,
        sigma=noise.sigma,
        values=descent.size + 1,
        count=rounds.number,
        share=share,
        proof=PROOF,
    )
    return descent.shapes(), event
