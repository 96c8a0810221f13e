"""Private explainable boosting as published: cyclic boosting of random splits, in a form whose bound holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting.compiling import compiled
from glassine.counting.slices import Progress
from glassine.learners.binning import Axis
from glassine.learners.ebm_budget import RESERVED, GaussianBudget, usable
from glassine.learners.ebm_publishing import Shapes
from glassine.learners.ebm_sums import (
    binary_units,
    class_units,
    exponential_table,
    logistic_table,
    number_units,
    start_scores,
)
from glassine.privacy.accounting import DiscreteGaussianNoise
from glassine.privacy.conversions import mu_from_epsilon
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.randomness import Randomness

__all__ = ["ACCOUNTINGS", "BIN_SHARE", "Boosting", "boost", "stage_mu"]

ACCOUNTINGS = ("gdp", "classic")

BIN_SHARE = 0.1
"""Share of the budget for the bins."""

PROOF = "learners/ebm_boosting.md"

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosting:
    """Public choices of boosting; the defaults are those of the paper.

    Attributes
    ----------
    epochs, leaves, bins : int
        Rounds over all terms, leaves of each tree, bins of a number.
    rate : float
        Learning rate.
    clip : float
        Largest size of a residual, the target being in [-1, 1]: half its range.
    """

    epochs: int = 300
    leaves: int = 3
    bins: int = 32
    rate: float = 0.01
    clip: float = 1.0


def stage_mu(budget: GaussianBudget, accounting: str, share: float) -> float:
    """Return the mu, for one record, of all releases of a stage that may cost a share of the budget.

    Guarantee
    ---------
    none by itself. As published, a stage gets its share of epsilon and half of delta. With ``"gdp"`` it may have the mu
    that these allow; with ``"classic"`` each of its k releases has the noise of Kairouz, Oh and Viswanath (2017),
    Theorem 4.3, whose k cancels in the mu of all of them. See ``ebm_boosting.md``.
    """
    epsilon, delta = usable(float(budget.epsilon)) * share, float(budget.delta) / 2 * (1 - RESERVED)
    mu = mu_from_epsilon(epsilon, delta)
    if accounting == "classic":
        mu = min(mu, epsilon / math.sqrt(8 * math.log(math.e + epsilon / delta)))
    return mu / budget.unit.most_records


@compiled
def _epoch(
    codes: Any,
    scores: Any,
    target: Any,
    leaf_of: Any,
    noise: Any,
    sizes: Any,
    factor: float,
    clip: float,
    units: int,
    table: Any,
    total: Any,
) -> None:
    """Visit each term once: sum the residuals of its leaves, add noise, and move scores; no table for numbers."""
    outputs, n = scores.shape
    room = np.zeros((outputs, n), dtype=np.int64)
    sums = np.zeros((noise.shape[1], outputs), dtype=np.int64)
    step = np.zeros((leaf_of.shape[1], outputs))
    for k in range(codes.shape[0]):
        if outputs > 1:
            class_units(scores, target, clip, units, table, room)
        elif len(table):
            binary_units(scores, target, clip, units, table, room)
        else:
            number_units(scores, target, clip, units, room)
        sums[:] = 0
        for c in range(outputs):
            for i in range(n):
                sums[leaf_of[k, codes[k, i]], c] += room[c, i]
        for b in range(leaf_of.shape[1]):
            leaf = leaf_of[k, b]
            for c in range(outputs):
                step[b, c] = factor * (sums[leaf, c] + noise[k, leaf, c]) / max(sizes[k, leaf], 1.0)
                total[k, b, c] += step[b, c]
        for c in range(outputs):
            for i in range(n):
                scores[c, i] += step[codes[k, i], c]


def boost(
    codes: npt.NDArray[Any],
    target: npt.NDArray[Any],
    axes: Sequence[Axis],
    *,
    n_classes: int,
    boosting: Boosting,
    mu: float,
    share: float,
    randomness: Randomness,
    progress: Progress | None,
) -> tuple[Shapes, DiscreteGaussianNoise]:
    """Fit the scores of all terms by the paper's Algorithm 2; several classes have a score each.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: in each step one record is in one leaf, to
    whose sums it adds a residual, or a vector of residuals, no longer than the clip; see ``ebm_boosting.md``.

    Parameters
    ----------
    codes : ndarray, shape (terms, n)
        Bins of the records.
    target : ndarray, shape (n,)
        Targets in [-1, 1], or indices of classes.
    axes : sequence of Axis
        The released bins of each term.
    n_classes : int
        Number of classes, 0 for numbers.
    boosting : Boosting
        Public choices.
    mu, share : float
        Budget, and its share of the whole.
    randomness : Randomness
        Source of the noise and of the splits.
    progress : callable or None
        Called with the epochs done and in all.
    """
    terms, widest = len(axes), max(axis.n_bins for axis in axes)
    steps = boosting.epochs * terms
    noise = FineNoise.of(mu / math.sqrt(steps), 1)
    clip = 1.0 if n_classes else boosting.clip
    outputs = n_classes if n_classes > 2 else 1
    counts = np.zeros((terms, widest))
    for k, axis in enumerate(axes):
        counts[k, : axis.n_bins] = np.maximum(axis.counts, 0.0)
    scores, total = start_scores(codes.shape[1], np.zeros(outputs)), np.zeros((terms, widest, outputs))
    table = exponential_table() if outputs > 1 else logistic_table() if n_classes else np.zeros(0)
    square = np.zeros((terms, widest))
    for epoch in range(boosting.epochs):
        leaf_of = np.stack([_random_leaves(axis.n_bins, boosting.leaves, widest, randomness) for axis in axes])
        # Noise does not depend on the sums, so that it can be drawn before them.
        drawn = noise.draw((terms, boosting.leaves, outputs), randomness)
        sizes = np.zeros((terms, boosting.leaves))
        np.add.at(sizes, (np.arange(terms)[:, None], leaf_of), counts)
        factor = boosting.rate * clip / noise.units
        _epoch(codes, scores, target, leaf_of, drawn, sizes, factor, clip, noise.units, table, total)
        spread = boosting.rate * clip * noise.deviation / np.maximum(sizes, 1.0)
        square += np.take_along_axis(spread, leaf_of, axis=1) ** 2
        if progress is not None:
            progress(epoch + 1, boosting.epochs)
    event = DiscreteGaussianNoise(
        name="sums of residuals in leaves",
        l2_sensitivity=noise.l2_sensitivity,
        sigma=noise.sigma,
        units=noise.units,
        values=boosting.leaves * outputs,
        count=steps,
        share=share,
        proof=PROOF,
    )
    found, errors, intercept = [], [], np.zeros(outputs)
    for k, axis in enumerate(axes):
        weights = np.maximum(axis.counts, 1.0)
        score = total[k, : axis.n_bins]
        middle = weights @ score / weights.sum()
        found.append(score - middle)
        errors.append(np.repeat(np.sqrt(square[k, : axis.n_bins])[:, None], outputs, axis=1))
        intercept += middle
    return Shapes(scores=tuple(found), errors=tuple(errors), intercept=intercept), event


def _random_leaves(bins: int, leaves: int, widest: int, randomness: Randomness) -> npt.NDArray[np.int64]:
    """Return the leaf of each bin of a tree with random different splits."""
    cuts: set[int] = set()
    while len(cuts) < min(leaves - 1, bins - 1):
        cuts.add(1 + randomness.below(bins - 1))
    out = np.zeros(widest, dtype=np.int64)
    for cut in cuts:
        out[cut:] += 1
    return out
