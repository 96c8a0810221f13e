"""What a model of numbers answers on records, and how far off it is: the loss by which attacks tell members."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.outputs import Records, UnansweredError, as_fitted, asking, published
from glassine.errors import InvalidDataError, UnsupportedModelError
from glassine.models import AdditiveModel


def predicts_number(model: Any) -> bool:
    """Return whether a published model, or a fitted estimator, predicts numbers.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    >>> predicts_number(DecisionTreeRegressor()), predicts_number(DecisionTreeClassifier())
    (True, False)
    """
    if isinstance(model, AdditiveModel):
        return model.classes is None
    if (kind := _kind(model)) is not None:
        return kind == "regressor"
    try:
        plain = published(model)
    except UnsupportedModelError:
        return False
    return plain is not None and plain.classes is None


def _kind(model: Any) -> str | None:
    from sklearn.base import is_classifier, is_regressor

    try:
        return "regressor" if is_regressor(model) else "classifier" if is_classifier(model) else None
    except (AttributeError, TypeError):  # scikit-learn asks for tags that other objects lack
        return None


def errors_of(model: Any, records: Records) -> npt.NDArray[np.float64]:
    """Return a model's absolute error on each record, the mean over those of a person, shape (number,)."""
    try:
        truth = records.target.astype(float)
    except (TypeError, ValueError):
        raise InvalidDataError(
            "the model predicts a number, and the target of the records holds none.", remedy="Give their numbers."
        ) from None
    answered = _answers(model, records)
    if answered.size != len(truth) or not np.isfinite(answered).all():
        raise UnansweredError(f"{type(model).__name__} does not answer with one finite number for each record.")
    return records.mean(np.abs(answered.reshape(-1) - truth))


def _answers(model: Any, records: Records) -> npt.NDArray[np.float64]:
    """Return the numbers that a model predicts."""
    plain = model if isinstance(model, AdditiveModel) else None if _kind(model) == "regressor" else published(model)
    given = as_fitted(model, records.native) if plain is None else records.columns(tuple(plain.attributes))
    with asking(type(model).__name__):
        return np.asarray((model if plain is None else plain).predict(given), dtype=float)
