"""Labels of training records: which classes there are, and the class of each record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from glassine.domain import Binary, Category, Domain, Integer
from glassine.domain.attributes import Scalar, is_scalar
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, InvalidParameterError

__all__ = ["classes_of", "declared_classes", "index_of", "one_type", "refuse_gaps"]


def refuse_gaps(labels: npt.NDArray[Any]) -> None:
    """Raise InvalidDataError if a label is missing or no number that can be a class."""
    if is_missing(labels).any() or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise InvalidDataError("Input y contains NaN, infinity or a missing value. Drop or label these records.")


def declared_classes(
    domain: Domain | None, target: object, classes: Sequence[Scalar] | None, labels: npt.NDArray[Any]
) -> tuple[Scalar, ...] | None:
    """Return the classes that are declared: given, or those of the target in the domain; None if there are none."""
    if isinstance(classes, str):
        raise InvalidParameterError(f"classes must be a sequence of classes, got the string {classes!r}. List them.")
    if classes is not None:
        known = tuple(value.item() if isinstance(value, np.generic) else value for value in classes)
        if not known or len(set(known)) < len(known) or not all(is_scalar(value) for value in known):
            raise InvalidParameterError(f"classes must be different scalars, at least one, got {classes!r}.")
        return known
    if domain is not None and isinstance(target, str) and target in domain:
        attribute = domain[target]
        if isinstance(attribute, Category):
            return attribute.values
        if isinstance(attribute, Binary):
            return (0, 1)
        if isinstance(attribute, Integer) and attribute.hi - attribute.lo < 100:
            return tuple(range(attribute.lo, attribute.hi + 1))
        raise InvalidDataError(f"the target {target!r} is a number in the domain. Declare it as a Category.")
    if labels.dtype.kind == "b":
        return (False, True)
    return None


def one_type(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels of Python objects as an array of their type, if they have one and the same."""
    if labels.dtype.kind != "O":
        return labels
    kinds = {type(value) for value in labels.tolist()}
    return np.array(labels.tolist()) if len(kinds) == 1 and kinds <= {bool, int, str, float} else labels


def classes_of(labels: npt.NDArray[Any]) -> tuple[Scalar, ...]:
    """Return the classes that occur, in order."""
    try:
        check_classification_targets(labels)
        return tuple(np.unique(labels).tolist())
    except (ValueError, TypeError) as error:
        raise InvalidDataError(f"{error} Give one class per record, all of one type, or declare the classes.") from None


def index_of(labels: npt.NDArray[Any], classes: tuple[Scalar, ...]) -> npt.NDArray[np.int64]:
    """Return the place of each label among the classes, or refuse labels that are none of them."""
    at = {value: i for i, value in enumerate(classes)}
    if labels.dtype.kind == "O":
        values, inverse = labels, np.arange(len(labels))
    else:
        values, inverse = np.unique(labels, return_inverse=True)
    try:
        codes = np.array([at.get(value, -1) for value in values.tolist()])
    except TypeError:
        raise InvalidDataError("the classes must be numbers, Booleans or strings. Convert them.") from None
    if (codes < 0).any():
        raise InvalidDataError(
            f"the target holds a value that is not one of the declared classes {list(classes)}. Declare or drop it."
        )
    return codes[inverse].astype(np.int64)
