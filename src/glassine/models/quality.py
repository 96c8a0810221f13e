"""How well classes are predicted: accuracy, AUROC and log loss, and what a prediction without any attribute has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.records.arrays import Array, Bools

Codes = npt.NDArray[np.signedinteger]

LEAST = 1e-6
"""Probability below which a class counts as having it, so that one sure mistake does not cost infinitely much."""


LOPSIDED = 0.8
"""Share of the largest class from which accuracy says little: a constant prediction has as much."""


def auroc(truth: Codes, probabilities: Array) -> float | None:
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
    defined = [area for area in areas if area is not None]
    return math.fsum(defined) / len(defined) if defined and len(defined) == len(areas) else None


def _area(positive: Bools, score: Array) -> float | None:
    """Return the chance that a positive's score exceeds a negative's, ties counting half."""
    from scipy.stats import rankdata

    m = int(positive.sum())
    n = len(positive) - m
    if not (m and n):
        return None
    ranks = rankdata(score)
    return float((ranks[positive].sum() - m * (m + 1) / 2) / (m * n))


def log_loss(truth: Codes, probabilities: Array) -> float | None:
    """Return the mean of -ln of the probability of the true class, probabilities below a millionth taken as that.

    Examples
    --------
    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]])), 4)
    7.2543
    """
    assigned = probabilities[np.arange(len(truth)), truth]
    if not np.isfinite(assigned).all():
        return None
    return float(-np.log(np.clip(assigned, LEAST, 1.0)).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How well a model predicts the classes of some records.

    Attributes
    ----------
    accuracy : float
        Share of the records whose class is predicted.
    auroc, log_loss : float or None
        By the probabilities of the classes; None where some record has none, or a class that the model does not know.
    """

    accuracy: float
    auroc: float | None = None
    log_loss: float | None = None

    @classmethod
    def measured(cls, predicted: npt.NDArray[np.generic], truth: Codes, probabilities: Array | None) -> Quality:
        """Return the quality on records.

        Parameters
        ----------
        predicted : array, shape (n,)
            Index of the predicted class.
        truth : array, shape (n,)
            Index of the class, -1 for one that the model does not know.
        probabilities : array, shape (n, classes), optional
            Probability of each class, NaN where the model publishes none.

        Examples
        --------
        >>> Quality.measured(np.array([0, 1]), np.array([0, 1]), None)
        Quality(accuracy=1.0, auroc=None, log_loss=None)
        """
        accuracy = float((predicted == truth).mean())
        if probabilities is None or (truth < 0).any():
            return cls(accuracy=accuracy)
        return cls(accuracy=accuracy, auroc=auroc(truth, probabilities), log_loss=log_loss(truth, probabilities))

    @classmethod
    def baseline(cls, truth: Codes, n_classes: int) -> Quality:
        """Return the quality of a prediction without any attribute: the largest class, chance, and the base rates.

        Shapes: ``truth`` (n,).

        Examples
        --------
        >>> Quality.baseline(np.array([0, 0, 1, 0]), 2)
        Quality(accuracy=0.75, auroc=0.5, log_loss=0.5623351446188083)
        """
        shares = np.bincount(truth[truth >= 0], minlength=n_classes) / len(truth)
        accuracy = float(shares.max())
        if (truth < 0).any():
            return cls(accuracy=accuracy, auroc=0.5)
        return cls(accuracy=accuracy, auroc=0.5, log_loss=log_loss(truth, np.tile(shares, (len(truth), 1))))

    @classmethod
    def mean(cls, several: Sequence[Quality]) -> Quality:
        """Return the means of several models; None where one of them has none."""

        def over(values: Sequence[float | None]) -> float | None:
            measured = [value for value in values if value is not None]
            return math.fsum(measured) / len(measured) if measured and len(measured) == len(values) else None

        return cls(
            accuracy=math.fsum(one.accuracy for one in several) / len(several),
            auroc=over([one.auroc for one in several]),
            log_loss=over([one.log_loss for one in several]),
        )
