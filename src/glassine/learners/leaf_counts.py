"""Class counts of leaves or rules as one noisy histogram, and the probabilities that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from glassine.models.evidence import Evidence, Model
from glassine.privacy.accounting import DiscreteLaplaceNoise
from glassine.privacy.mechanisms import discrete_laplace
from glassine.privacy.randomness import Randomness

__all__ = ["SMOOTHING", "evidence", "noisy_histogram", "probabilities"]

SMOOTHING = 1.0
"""Records of each class that are added to a leaf before shares are taken."""


def noisy_histogram(
    counts: npt.NDArray[np.int64], epsilon: Fraction, total: Fraction, randomness: Randomness
) -> tuple[npt.NDArray[np.int64], DiscreteLaplaceNoise]:
    """Release the class counts of disjoint cells.

    Guarantee
    ---------
    epsilon-DP for adding or removing one record: it is in one cell and has one class, so that one count changes by one.

    Parameters
    ----------
    counts : ndarray of int64, shape (k, c)
        Records of each class in each cell; the cells are fixed and disjoint.
    epsilon : Fraction
        Budget of the release.
    total : Fraction
        Budget of the whole fit, of which the event states the share.
    randomness : Randomness
        Source of the noise.

    Returns
    -------
    ndarray of int64, shape (k, c)
        Counts with discrete Laplace noise of scale 1 / epsilon, cut at zero.
    DiscreteLaplaceNoise
        The event.
    """
    scale = 1 / epsilon
    noisy = discrete_laplace(counts.ravel(), scale, randomness).reshape(counts.shape)
    event = DiscreteLaplaceNoise(
        name="class counts of the leaves or rules",
        l1_sensitivity=1.0,
        scale=float(scale),
        share=float(epsilon / total),
        proof="learners/leaf_counts.md",
    )
    return np.maximum(noisy, 0).astype(np.int64), event


def evidence(label: int, counts: npt.NDArray[np.int64] | None) -> Evidence:
    """Return what is published of a leaf or rule: its label and, if they were released, its noisy counts."""
    return Evidence(label=label, counts=None if counts is None else tuple(int(count) for count in counts))


def probabilities(model: Model) -> npt.NDArray[np.float64]:
    """Return the class probabilities of each cell of a published model, shape (k, c).

    They follow from the published counts and label alone. Where another class has a larger count than the label, as
    noise can make it, both get their mean, so that the label stays a most probable class. Without counts the label
    gets probability one.
    """
    n_classes = len(model.classes or ())
    return np.array([_shares(cell.evidence, n_classes) for cell in model.cells]).reshape(-1, n_classes)


def _shares(published: Evidence, n_classes: int) -> Sequence[float]:
    label = published.prediction
    if published.counts is None:
        return [float(i == label) for i in range(n_classes)]
    counts = np.array(published.counts, dtype=float) + SMOOTHING
    if label is not None:
        counts = _with_mode(counts, label)
    return [float(share) for share in counts / counts.sum()]


def _with_mode(counts: npt.NDArray[np.float64], mode: int) -> npt.NDArray[np.float64]:
    """Return the nearest counts, in squares, of which none exceeds that of the mode."""
    pool = [mode]
    level = counts[mode]
    for other in np.argsort(-counts):
        if other != mode and counts[other] > level:
            pool.append(int(other))
            level = counts[pool].mean()
    out = counts.copy()
    out[pool] = level
    # Argmax takes the first of equal shares; the mode must win.
    out[mode] = np.nextafter(level * (1 + 1e-12), np.inf) if len(pool) > 1 or (out == level).sum() > 1 else level
    return out
