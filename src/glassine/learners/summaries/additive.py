"""Additive models from a junction tree: penalized likelihood over representative records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from glassine.learners.additive.grids import Axis
from glassine.learners.additive.publishing import Frame, Shapes, in_order, publish
from glassine.learners.summaries.junction_tree import JunctionTree
from glassine.models import AdditiveModel

__all__ = ["DRAWS", "Representatives", "additive_model", "representatives"]

DRAWS = 40_000
"""Representative records: their sampling adds less to a score than noise at epsilon 4 on thirty thousand records."""

RIDGE = (3.0, 0.6)
"""Penalty of a squared score, in records: a constant, and a factor of the noise of a count. Set on Adult."""

STEPS = 80
"""Most steps of L-BFGS."""

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Fixed: TypeAlias = Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Representatives:
    """Records that stand for those of a summary, with the probabilities of their classes.

    Attributes
    ----------
    codes : ndarray of int, shape (attributes, n)
        Merged bin of each attribute.
    classes : ndarray, shape (n, classes)
        Expected number of records of each class that each stands for.
    """

    codes: Ints
    classes: Array


@lru_cache(maxsize=4)
def representatives(tree: JunctionTree) -> Representatives:
    """Return the records that stand for a tree's; classes by their exact probabilities rather than drawn."""
    codes = tree.draws(DRAWS)
    return Representatives(codes=codes, classes=tree.posteriors(codes) * (float(tree.totals.sum()) / DRAWS))


def additive_model(
    tree: JunctionTree,
    axes: Sequence[Axis],
    frame: Frame,
    *,
    deviation: float,
    shrinkage: float,
    monotone: Fixed,
) -> AdditiveModel:
    """Return the additive model of a tree's distribution.

    Parameters
    ----------
    tree : JunctionTree
        The distribution.
    axes : sequence of Axis
        The bins of each attribute.
    frame : Frame
        What is published beside the scores.
    deviation : float
        Standard deviation of the noise in a count by attribute and class.
    shrinkage : float
        Factor of the penalty.
    monotone : mapping of str to bool
        Numbers whose scores must be in order, and whether upwards.
    """
    used = [k for k, axis in enumerate(axes) if axis.n_bins > 1]
    base = np.log(np.maximum(tree.totals, 0.5) / tree.totals.sum())
    intercept: Array = base[1:] - base[0] if len(base) == 2 else base
    if not used:
        return publish([], Shapes(scores=(), errors=(), intercept=intercept), frame)
    records = representatives(tree)
    ends = np.cumsum([0, *(axes[k].n_bins for k in used)])
    codes = records.codes[used] + ends[:-1, None]
    penalty = shrinkage * (RIDGE[0] + RIDGE[1] * deviation)
    intercept, flat = _fitted(codes, records.classes, int(ends[-1]), intercept, penalty)
    errors = _errors(codes, records.classes, intercept, flat, penalty, deviation)
    scores, deviations = [], []
    for i, k in enumerate(used):
        own, part = axes[k], slice(ends[i], ends[i + 1])
        weights = np.bincount(records.codes[k], minlength=own.n_bins) / DRAWS
        centered = flat[part] - weights @ flat[part]
        intercept = intercept + weights @ flat[part]
        up = monotone.get(own.grid.attribute)
        scores.append(centered if up is None else in_order(centered[:, 0], own.counts, own, up)[:, None])
        deviations.append(errors[part])
    shapes = Shapes(scores=tuple(scores), errors=tuple(deviations), intercept=intercept)
    return publish([axes[k] for k in used], shapes, frame)


def _probabilities(codes: Ints, intercept: Array, flat: Array) -> Array:
    """Return the probabilities of outputs, shape (n, outputs): of two classes that of the second."""
    score = np.tile(intercept, (codes.shape[1], 1))
    for row in codes:
        score += flat[row]
    if score.shape[1] == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(score, -30.0, 30.0))))
    odds = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _fitted(codes: Ints, classes: Array, size: int, start: Array, penalty: float) -> tuple[Array, Array]:
    """Return intercept, shape (outputs,), and scores, shape (bins, outputs), of most penalized likelihood."""
    outputs = len(start)
    wanted = classes[:, 1:] if outputs == 1 else classes
    totals = classes.sum(axis=1, keepdims=True)
    scale = float(totals.sum())

    def loss(values: Array) -> tuple[float, Array]:
        intercept, flat = values[:outputs], values[outputs:].reshape(size, outputs)
        chances = np.clip(_probabilities(codes, intercept, flat), 1e-12, 1 - 1e-12)
        of_others = (totals - wanted) * np.log1p(-chances) if outputs == 1 else 0.0
        misfit = -float((wanted * np.log(chances) + of_others).sum())
        residual = totals * chances - wanted
        slope = np.zeros((size, outputs))
        for c in range(outputs):
            for row in codes:
                slope[:, c] += np.bincount(row, weights=residual[:, c], minlength=size)
        gradient = np.concatenate([residual.sum(axis=0), (slope + penalty * flat).ravel()])
        return (misfit + penalty / 2 * float((flat**2).sum())) / scale, gradient / scale

    found = minimize(
        loss,
        np.concatenate([start, np.zeros(size * outputs)]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS, "ftol": 1e-9, "gtol": 1e-6},
    )
    return np.asarray(found.x[:outputs]), np.asarray(found.x[outputs:]).reshape(size, outputs)


def _errors(codes: Ints, classes: Array, intercept: Array, flat: Array, penalty: float, deviation: float) -> Array:
    """Return the standard deviation of the noise in each score, shape (bins, outputs), by a linear expansion.

    The noise in a bin's sum of residuals is that of its counts by class; the fit divides by its curvature.
    """
    chances = _probabilities(codes, intercept, flat)
    totals = classes.sum(axis=1, keepdims=True)
    size, n_classes = flat.shape[0], classes.shape[1]
    out = np.zeros(flat.shape)
    for c in range(flat.shape[1]):
        curvature = (totals * chances * (1 - chances))[:, c]
        inner = np.zeros((size, size))
        sums = np.bincount(codes[0], minlength=size) * 0.0
        for row in codes:
            sums += np.bincount(row, weights=(totals[:, 0] * chances[:, c]), minlength=size)
            for other in codes:
                inner += np.bincount(row * size + other, weights=curvature, minlength=size * size).reshape(size, size)
        counts = np.maximum(sum(np.bincount(row, weights=totals[:, 0], minlength=size) for row in codes), 1e-9)
        rates = sums / counts
        noise = deviation**2 * ((1 - rates) ** 2 + (n_classes - 1) * rates**2)
        inverse = np.linalg.inv(inner + penalty * np.eye(size))
        out[:, c] = np.sqrt((inverse**2) @ noise)
    return out
