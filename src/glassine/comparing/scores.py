"""How well probabilities foretell classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["auroc", "full_probabilities", "log_loss"]

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

LEAST = 1e-6
"""Probability below which a class counts as having it, so that one sure mistake does not cost infinitely much."""


def full_probabilities(model: Any, probabilities: Floats, n_classes: int) -> Floats:
    """Return one column for each class; those that the model has not seen have probability 0."""
    out = np.zeros((len(probabilities), n_classes))
    out[:, np.asarray(model.classes_, dtype=np.intp)] = probabilities
    return out


def auroc(truth: Labels, probabilities: Floats) -> float | None:
    """Return the area under the ROC curve; of several classes the mean of each against the others, None if one lacks.

    Examples
    --------
    >>> auroc(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    0.75
    """
    if not np.isfinite(probabilities).all():
        return None
    classes = (1,) if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    areas = [_area(truth == k, probabilities[:, k]) for k in classes]
    known = [area for area in areas if area is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(areas) else None


def _area(positive: npt.NDArray[np.bool_], score: Floats) -> float | None:
    """Return the chance that a positive's score exceeds a negative's, ties counting half."""
    from scipy.stats import rankdata

    m = int(positive.sum())
    n = len(positive) - m
    if not (m and n):
        return None
    ranks = rankdata(score)
    return float((ranks[positive].sum() - m * (m + 1) / 2) / (m * n))


def log_loss(truth: Labels, probabilities: Floats) -> float | None:
    """Return the mean of -ln of the probability of the true class, probabilities below a millionth taken as that.

    Examples
    --------
    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]])), 4)
    7.2543
    """
    given = probabilities[np.arange(len(truth)), truth]
    if not np.isfinite(given).all():
        return None
    return float(-np.log(np.clip(given, LEAST, 1.0)).mean())
