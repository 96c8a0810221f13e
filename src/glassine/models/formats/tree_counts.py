"""Class counts of the nodes of a weighted tree: what the masses and the sizes of its nodes tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["class_counts"]

Matrix: TypeAlias = npt.NDArray[np.float64]
Whole: TypeAlias = npt.NDArray[np.int64]

TOLERANCE = 1e-6


def _whole(counts: Matrix, sizes: Whole) -> Whole | None:
    """Return counts as whole numbers if every row is whole, not negative and adds up to its node's size."""
    if not np.all(np.isfinite(counts)):
        return None
    rounded = np.round(counts)
    near = np.abs(counts - rounded) <= TOLERANCE * np.maximum(1, np.abs(counts) * 1e-3)
    if not near.all() or (rounded < 0).any() or not np.array_equal(rounded.sum(axis=1), sizes):
        return None
    return rounded.astype(np.int64)


def _divided(masses: Matrix, weights: Matrix) -> Matrix:
    """Return the counts that masses mean under class weights; a class without mass has none."""
    return np.divide(masses, weights, out=np.zeros_like(masses), where=masses > 0)


def _solved(masses: Matrix, sizes: Whole, leaves: npt.NDArray[np.bool_], spare: int) -> Whole | None:
    """Return counts for class weights that the leaves' sizes determine, with equations to spare as evidence."""
    used = masses.any(axis=0)
    system = masses[leaves][:, used]
    if len(np.unique(system, axis=0)) < system.shape[1] + spare or np.linalg.matrix_rank(system) < system.shape[1]:
        return None
    inverse = np.linalg.lstsq(system, sizes[leaves].astype(float), rcond=None)[0]
    if not (inverse > 0).all():
        return None
    counts = np.zeros_like(masses)
    counts[:, used] = masses[:, used] * inverse
    return _whole(counts, sizes)


def _balanced(masses: Matrix, sizes: Whole, leaves: npt.NDArray[np.bool_]) -> Whole | None:
    """Return counts if they are those of weights inverse to the class frequencies, which put equal mass on each."""
    counts = _solved(masses, sizes, leaves, 0)
    if counts is None or not counts[0].all():
        return None
    weights = sizes[0] / (masses.shape[1] * counts[0])
    return _whole(_divided(masses, weights), sizes)


def class_counts(
    masses: Matrix,
    sizes: Whole,
    total_weights: Matrix,
    leaves: npt.NDArray[np.bool_],
    class_weight: str | Mapping[Any, float] | None,
    classes: list[Any],
) -> list[tuple[int, ...] | None]:
    """Return the class counts of each node where the published figures determine them, else None.

    A node publishes its size, and the mass of each class: the sum of the weights of the records. Without weights the
    masses are the counts. Class weights do not hide counts: at every leaf the masses divided by the weights add up to
    the size, which is linear in the inverse weights. What is found is accepted only if every node's counts are whole,
    add up to its size, and are the sum of its children's. A node with the mass of one class only holds just that class,
    whatever the weights.

    Parameters
    ----------
    masses : ndarray of float, shape (nodes, classes)
        Weight of the records of each class.
    sizes : ndarray of int, shape (nodes,)
        Number of records.
    total_weights : ndarray of float, shape (nodes,)
        Weight of all records.
    leaves : ndarray of bool, shape (nodes,)
        Which nodes are leaves.
    class_weight : str, dict or None
        The parameter of the estimator.
    classes : list
        The classes, as the keys of ``class_weight``.

    Returns
    -------
    list of (tuple of int or None)
    """
    counts: Whole | None = None
    unweighted = np.allclose(total_weights, sizes, rtol=1e-9, atol=1e-9)
    if unweighted and class_weight is None:
        counts = _whole(masses, sizes)
    elif isinstance(class_weight, Mapping):
        weights = np.array([float(class_weight.get(name, 1.0)) for name in classes])
        counts = _whole(_divided(masses, weights), sizes) if (weights > 0).all() else None
    elif class_weight == "balanced":
        counts = _balanced(masses, sizes, leaves)
    else:
        counts = _solved(masses, sizes, leaves, 2)
    if counts is not None:
        return [tuple(int(c) for c in row) for row in counts]
    pure = (masses > 0).sum(axis=1) == 1
    return [
        tuple(int(size) if mass > 0 else 0 for mass in row) if alone else None
        for row, size, alone in zip(masses, sizes, pure, strict=True)
    ]
