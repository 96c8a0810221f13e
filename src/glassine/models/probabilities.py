"""Predictions and probabilities of classes, as they follow from what a model publishes of its cells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidModelError
from glassine.models.evidence import Evidence, Model, class_array

__all__ = ["SMOOTHING", "CellModel", "cell_probabilities", "with_mode"]

SMOOTHING = 1.0
"""Records of each class that are added to noisy counts, so that noise alone makes no class impossible."""


def cell_probabilities(model: Model) -> tuple[tuple[float, ...] | None, ...]:
    """Return each class probability in each cell of a model; None if not revealed.

    Probabilities that are published themselves are taken as they are. Exact counts give their shares. Noisy counts get
    one record of each class more. Where another class has a larger count than the published label, as noise can make
    it, the nearest counts are taken, in squares, of which none exceeds that of the label: the label is always a most
    probable class, and the first of them.

    Raises
    ------
    InvalidModelError
        If the model is a regression.
    """
    if model.classes is None:
        raise InvalidModelError("a regression has no probabilities of classes.", remedy="Use its predictions.")
    smoothing = SMOOTHING if _is_noisy(model) else 0.0
    return tuple(_probabilities(cell.evidence, len(model.classes), smoothing) for cell in model.cells)


class CellModel:
    """What predicts by the cell that captures a record: a tree or a rule list.

    Methods take the records as :func:`glassine.models.records.read_records` does: a data frame, arrays by name, an
    array of shape (n, d), a table.
    """

    def predict(self: Model, data: object) -> npt.NDArray[Any]:
        """Return the predicted class or value of each record, shape (n,); None where its cell publishes neither.

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            The records; columns that the model does not test are ignored.

        Raises
        ------
        InvalidDataError
            As for ``apply``.
        """
        told = [cell.evidence for cell in self.cells]
        if self.classes is None:
            values = [entry.value for entry in told]
            table = np.array(values, dtype=object if None in values else np.float64)
        else:
            labels = [entry.prediction for entry in told]
            names = class_array(self.classes)
            if None in labels:
                names = np.array([*self.classes, None], dtype=object)
            table = names[[-1 if label is None else label for label in labels]]
        return np.asarray(table[self.apply(data)])

    def predict_proba(self: Model, data: object) -> npt.NDArray[np.float64]:
        """Return the probability of each class for each record, shape (n, classes); NaN where it is not published.

        It follows from the published counts; see :func:`cell_probabilities`.

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            As for :meth:`predict`.

        Raises
        ------
        InvalidModelError
            If the model is a regression.
        InvalidDataError
            As for ``apply``.
        """
        rows = [known or (math.nan,) * len(self.classes or ()) for known in cell_probabilities(self)]
        return np.asarray(np.array(rows)[self.apply(data)])


def _is_noisy(model: Model) -> bool:
    guarantee = getattr(model, "guarantee", None)
    return guarantee is not None and guarantee.count_scale is not None


def _probabilities(published: Evidence, n_classes: int, smoothing: float) -> tuple[float, ...] | None:
    if published.counts is None or published.probabilities is not None:
        return published.shares(n_classes)
    counts = np.array(published.counts, dtype=float) + smoothing
    if not counts.any():
        return None
    if published.label is not None and int(counts.argmax()) != published.label:
        counts = with_mode(counts, published.label)
    total = math.fsum(counts)
    return tuple(float(count) / total for count in counts)


def with_mode(counts: npt.NDArray[np.float64], mode: int) -> npt.NDArray[np.float64]:
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
