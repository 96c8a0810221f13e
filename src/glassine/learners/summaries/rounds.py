"""Rounds: what the records lack under an additive model of the summary so far, bin by bin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glassine.learners.additive.budget import Portion
from glassine.learners.additive.grids import Grid
from glassine.learners.additive.records import AdditiveRecords, Binned
from glassine.learners.additive.sums import Loss, residuals
from glassine.learners.summaries.additive import fitted_scores, variance_of
from glassine.learners.summaries.denoising import junction_tree
from glassine.learners.summaries.junction_tree import JunctionTree
from glassine.learners.summaries.released import Released, Round
from glassine.privacy.accounting import DiscreteGaussianNoise

ROUNDS = 2
"""Rounds: the second corrects what the first, under a worse model, left. A third gained nothing on Adult."""

CLIP = 1.0
"""Largest residual of a number, in standard deviations of the target: of the noise less is added as of all of it."""

CHUNK = 2**16
"""Records that are worked on at once, to save memory."""

RESIDUALS = "sums of residuals in bins"
"""Name of the release, by which a certificate states it."""

PROOF = "learners/summaries/release.md"

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def release_rounds(
    records: AdditiveRecords, grids: Sequence[Grid], released: Released, portion: Portion
) -> tuple[Released, DiscreteGaussianNoise]:
    """Release sums of residuals under the additive model of all that was released before, a few times.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise; see ``release.md``.
    """
    coarse, ends = released.coarse, released.ends
    binned, times = records.distinct(grids, [coarse[k] for k in released.useful])
    tree, numbers = junction_tree(released), released.squares is not None
    clip = clip_of(released, tree)
    noise = portion.sums(len(released.useful), times=ROUNDS)
    deviation = clip * noise.deviation
    for _ in range(ROUNDS):
        scores, _ = fitted_scores(released, tree)
        exact = _residual_sums(binned, times, scores, ends, clip, noise.units, numbers=numbers)
        sums = noise.release(exact) * clip
        released = replace(released, rounds=(*released.rounds, Round(scores=scores, sums=sums, deviation=deviation)))
    values = released.rounds[-1].sums.size
    return released, noise.event(RESIDUALS, values, proof=PROOF, count=ROUNDS)


def clip_of(released: Released, tree: JunctionTree | None = None) -> float:
    """Return the largest size of a residual, a function of what was released before the rounds."""
    if released.levels is None:
        # The residuals of several classes are a vector of at most sqrt(2) in length: nothing is clipped.
        return 1.0 if released.n_classes == 2 else math.sqrt(2.0)
    return min(CLIP * math.sqrt(variance_of(released, tree or junction_tree(released))), 2.0)


def _residual_sums(
    binned: Binned,
    times: Ints | None,
    scores: Array,
    ends: Ints,
    clip: float,
    units: int,
    *,
    numbers: bool = False,
) -> Ints:
    """Return the sums of residuals in the bins, shape (bins, outputs), in whole units of ``clip / units``.

    A record's residual depends on its own bins and class alone; sums are exact modulo 2^64.
    """
    outputs = scores.shape[1]
    loss = Loss.of(outputs, clip, units, classes=not numbers)
    out = np.zeros((int(ends[-1]), outputs), dtype=np.int64)
    for first in range(0, binned.codes.shape[1], CHUNK):
        part = binned.part(slice(first, first + CHUNK))
        places = part.codes + ends[:-1, None]
        score = np.repeat(scores[-1][:, None], places.shape[1], axis=1)
        for row in places:
            score += scores[row].T
        lacking = np.empty(score.shape, dtype=np.int64)
        residuals(score, part.values, loss, lacking)
        if times is not None:
            lacking *= times[first : first + CHUNK]
        for c in range(outputs):
            for row in places:
                np.add.at(out[:, c], row, lacking[c])
    return out
