"""Probabilities of classes, as they follow from what a model publishes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidModelError
from glassine.models.evidence import Evidence, Model

__all__ = ["SMOOTHING", "cell_probabilities", "predict_proba"]

SMOOTHING = 1.0
"""Records of each class that are added to noisy counts, so that noise alone makes no class impossible."""


def cell_probabilities(model: Model) -> tuple[tuple[float, ...] | None, ...]:
    """Return the probability of each class in each cell of a model; None where nothing tells it.

    Exact counts give their shares. Noisy counts get one record of each class more. Where another class has a larger
    count than the published label, as noise can make it, the nearest counts are taken, in squares, of which none
    exceeds that of the label: the label is always a most probable class, and the first of them.

    Raises
    ------
    InvalidModelError
        If the model is a regression.
    """
    if model.classes is None:
        raise InvalidModelError("a regression has no probabilities of classes. Use its predictions.")
    smoothing = SMOOTHING if _is_noisy(model) else 0.0
    return tuple(_probabilities(cell.evidence, len(model.classes), smoothing) for cell in model.cells)


def predict_proba(model: Model, columns: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Return the probability of each class for each record, shape (n, classes); NaN where it is not published.

    Raises
    ------
    InvalidModelError
        If the model is a regression.
    """
    rows = [known or (math.nan,) * len(model.classes or ()) for known in cell_probabilities(model)]
    return np.asarray(np.array(rows)[model.apply(columns)])


def _is_noisy(model: Model) -> bool:
    guarantee = getattr(model, "guarantee", None)
    return guarantee is not None and guarantee.count_scale is not None


def _probabilities(published: Evidence, n_classes: int, smoothing: float) -> tuple[float, ...] | None:
    if published.counts is None:
        return published.shares(n_classes)
    counts = np.array(published.counts, dtype=float) + smoothing
    if not counts.any():
        return None
    if published.label is not None and int(counts.argmax()) != published.label:
        counts = _with_mode(counts, published.label)
    total = math.fsum(counts)
    return tuple(float(count) / total for count in counts)


def _with_mode(counts: npt.NDArray[np.float64], mode: int) -> npt.NDArray[np.float64]:
    """Return the nearest counts, in squares, of which none exceeds that of the mode, which wins ties."""
    pool, level = [mode], float(counts[mode])
    for other in np.argsort(-counts, kind="stable"):
        if other != mode and counts[other] > level:
            pool.append(int(other))
            level = float(counts[pool].mean())
    out = counts.copy()
    out[pool] = level
    out[mode] = level * (1 + 1e-9)
    return out
