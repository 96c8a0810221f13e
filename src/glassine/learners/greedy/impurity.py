"""Impurity of class counts, in records: the size of a node times what the field calls its impurity."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidParameterError, parameter
from glassine.records.arrays import Array

Criterion: TypeAlias = Literal["gini", "entropy", "gain_ratio", "misclassification"]

CRITERIA: tuple[Criterion, ...] = ("gini", "entropy", "gain_ratio", "misclassification")
"""Measures by which a split is selected. The gain ratio divides the entropy gained by that of the branch sizes."""


def check_criterion(value: object) -> Criterion:
    """Return a criterion, or raise InvalidParameterError."""
    for criterion in CRITERIA:
        if isinstance(value, str) and value == criterion:
            return criterion
    raise InvalidParameterError(
        f"{parameter('criterion')} must be one of {', '.join(CRITERIA)}, got {value!r}.", remedy="Name one of them."
    )


def impurity(counts: npt.ArrayLike, criterion: Criterion) -> Array:
    """Return n times the impurity of n records, shape (...), from their class counts, shape (..., c).

    Of shares p: n (1 - sum p^2) for Gini, n (1 - max p) for misclassification, and -n sum p log p, in nats, for entropy
    and gain ratio. All are concave in the counts, and zero for one class.

    Examples
    --------
    >>> impurity([[2, 2], [4, 0]], "gini").tolist()
    [2.0, 0.0]
    """
    m = np.asarray(counts, dtype=np.float64)
    n = m.sum(axis=-1)
    whole = np.where(n > 0, n, 1.0)
    if criterion == "gini":
        return np.asarray(n - (m * m).sum(axis=-1) / whole)
    if criterion == "misclassification":
        return np.asarray(n - m.max(axis=-1))
    shares = m / whole[..., None]
    return np.asarray(-(m * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=-1))


def split_information(sizes: npt.ArrayLike) -> Array:
    """Return the entropy, in nats, of the branch that a record takes, shape (...): the divisor of the gain ratio.

    Shapes: ``sizes`` (..., b).

    Examples
    --------
    >>> round(float(split_information([2, 2])), 4)
    0.6931
    """
    n = np.asarray(sizes, dtype=np.float64)
    return np.asarray(impurity(n, "entropy") / n.sum(axis=-1))
