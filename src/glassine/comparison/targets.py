"""What is predicted, classes or a number, and how well a model does so on held-out records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from glassine.comparison.values import CLASS_MEASURES, NUMBER_MEASURES, Kind, Measure
from glassine.data.arrays import AnyArray, Array
from glassine.domain.attributes import Scalar
from glassine.models.quality import Quality


def full_probabilities(model: Any, probabilities: Array, n_classes: int) -> Array:
    """Return one column for each class; those that the model has not seen have probability 0."""
    out = np.zeros((len(probabilities), n_classes))
    out[:, np.asarray(model.classes_, dtype=np.intp)] = probabilities
    return out


Scores: TypeAlias = dict[Measure, float | None]


@dataclass(frozen=True, slots=True)
class Classes:
    """A target of classes; learners get them as 0, 1, ...

    Attributes
    ----------
    names : tuple of scalars
        The classes.
    """

    kind: ClassVar[Kind] = "classes"
    measures: ClassVar[tuple[Measure, ...]] = CLASS_MEASURES
    names: tuple[Scalar, ...]

    @property
    def parameters(self) -> dict[str, Any]:
        """What is public of it, as parameters of a learner of the package."""
        return {"classes": tuple(range(len(self.names)))}

    def scores(self, model: Any, records: Any, truth: AnyArray) -> Scores:
        """Return accuracy, AUROC and log-loss of a model on records and their classes, shape (n,)."""
        foretold = full_probabilities(model, model.predict_proba(records), len(self.names))
        found = Quality.measured(np.asarray(model.predict(records)), truth, foretold)
        return {"accuracy": found.accuracy, "auroc": found.auroc, "log_loss": found.log_loss}


@dataclass(frozen=True, slots=True)
class Number:
    """A target of numbers.

    Attributes
    ----------
    low, high : float
        Its range, low below high.
    """

    kind: ClassVar[Kind] = "number"
    measures: ClassVar[tuple[Measure, ...]] = NUMBER_MEASURES
    low: float
    high: float

    @property
    def parameters(self) -> dict[str, Any]:
        """What is public of it, as parameters of a learner of the package."""
        return {"target_range": (self.low, self.high)}

    def scores(self, model: Any, records: Any, truth: AnyArray) -> Scores:
        """Return root mean squared error, mean absolute error and R² on records and their numbers, shape (n,).

        R² is 1 less the squared errors as a share of those of the records' own mean; None where all have one number.

        Examples
        --------
        >>> from sklearn.dummy import DummyRegressor
        >>> truth = np.array([0.0, 2.0, 4.0])
        >>> mean = DummyRegressor().fit(np.zeros((3, 1)), truth)
        >>> scores = Number(0.0, 4.0).scores(mean, np.zeros((3, 1)), truth)
        >>> {name: round(value, 3) for name, value in scores.items()}
        {'rmse': 1.633, 'mae': 1.333, 'r2': 0.0}
        """
        # In units of the range: squares of numbers near the largest that a float holds would overflow.
        unit = self.high - self.low
        errors = np.asarray(model.predict(records), dtype=float) / unit - truth / unit
        around = truth / unit - float((truth / unit).mean())
        total, squares = float((around**2).sum()), float((errors**2).sum())
        return {
            "rmse": unit * math.sqrt(squares / len(truth)),
            "mae": unit * float(np.abs(errors).mean()),
            "r2": 1 - squares / total if np.ptp(truth) > 0 else None,
        }


Target: TypeAlias = Classes | Number
