"""Attacks on membership in a random half, by attackers who know the frame; averages over draws with an interval.

Attackers also know other halves and the models that they gave: shadow models of the very same people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from models import Trained, cells_of
from questions import Frame
from scipy import stats

Flags = npt.NDArray[np.bool_]
Run = tuple[Trained, Flags]


def advantage(marked: Flags, drawn: Flags) -> float:
    """Return true less false positive rate of an attack that marks people as members."""
    return float(marked[drawn].mean() - marked[~drawn].mean())


def loss_threshold(frame: Frame, runs: Sequence[Run]) -> list[float]:
    """Mark whom the model predicts correctly."""
    return [advantage(model.labels[model.parts] == frame.classes, drawn) for model, drawn in runs]


def cell_likelihood(frame: Frame, runs: Sequence[Run]) -> list[float]:
    """Mark the cells of which more than half of the frame are counted; the best attack for a fixed structure."""
    out = []
    for model, drawn in runs:
        cell, held, known = cells_of(model, frame, drawn)
        out.append(advantage((2 * held > known)[cell], drawn))
    return out


def likelihood_ratio(frame: Frame, runs: Sequence[Run], *, counts: bool) -> list[float]:
    """Mark whose outcome the model fits better than models without them do, against models with them (LiRA).

    All sums are over whole numbers, and leave the attacked model out before they are summed. Where it was subtracted
    from a sum of floats instead, the rounding of the sum told members apart.
    """
    # Confidence in thousandths: whole numbers.
    fits = np.array([_fit(frame, model, drawn, counts=counts) for model, drawn in runs])
    members = np.array([drawn for _, drawn in runs])
    out = []
    for t, (_, drawn) in enumerate(runs):
        rest = np.arange(len(runs)) != t
        inside, scores = members[rest], fits[rest]
        n_in = inside.sum(axis=0)
        n_out = len(scores) - n_in
        known = (n_in > 0) & (n_out > 0)
        with_them = (scores * inside).sum(axis=0) / np.maximum(n_in, 1)
        without = (scores * ~inside).sum(axis=0) / np.maximum(n_out, 1)
        nearer = np.abs(fits[t] - with_them) < np.abs(fits[t] - without)
        out.append(advantage(nearer & known, drawn))
    return out


def _fit(frame: Frame, model: Trained, drawn: Flags, *, counts: bool) -> npt.NDArray[np.int64]:
    """Return how well a model fits each person, in whole thousandths: its share of their class, or being right."""
    if not counts:
        return np.asarray(1000 * (model.labels[model.parts] == frame.classes), dtype=np.int64)
    cell, held, _ = cells_of(model, frame, drawn)
    sizes = np.maximum(held.reshape(-1, 2).sum(axis=1), 1)
    return np.asarray((1000 * held // np.repeat(sizes, 2))[cell], dtype=np.int64)


def lower_bound(values: Sequence[float], tests: int, level: float = 0.95) -> float:
    """Return a one-sided lower confidence bound of the mean, corrected for the number of tests by Bonferroni."""
    spread = float(np.std(values, ddof=1))
    if not spread:
        return float(np.mean(values))
    quantile = float(stats.t.ppf(1 - (1 - level) / tests, len(values) - 1))
    return float(np.mean(values)) - quantile * spread / math.sqrt(len(values))
