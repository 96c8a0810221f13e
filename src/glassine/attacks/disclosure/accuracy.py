"""How often a published tree is right, on its training records or on others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.data.inference import columns as read_columns
from glassine.domain.attributes import Scalar
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.models import DecisionTree

__all__ = ["Holdout", "predictions", "read_holdout"]

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdout:
    """Records that the tree was not learnt from.

    Attributes
    ----------
    columns : mapping of str to ndarray, shape (m,)
        The records.
    codes : ndarray of intp, shape (m,)
        Index of each one's class, -1 where it is none of the tree's: no prediction is right then.
    """

    columns: Mapping[str, npt.NDArray[Any]]
    codes: Codes

    def accuracy(self, tree: DecisionTree) -> float:
        """Return the share of the records whose class a tree predicts."""
        return float((predictions(tree, self.columns) == self.codes).mean())


def read_holdout(evaluation: object, tree: DecisionTree) -> Holdout:
    """Return held-out records.

    Parameters
    ----------
    evaluation : tuple of (data frame, array-like of shape (m,))
        The records, and the class of each.
    tree : DecisionTree
        The tree that they are for.

    Raises
    ------
    InvalidParameterError
        If it is no pair of a frame and its classes.
    InvalidDataError
        If a tested attribute is absent, a class is missing, or there are no records.
    """
    if not isinstance(evaluation, tuple) or len(evaluation) != 2:
        raise InvalidParameterError(
            f"{parameter('evaluation')} must be a pair of a data frame and its classes.", remedy="Give (frame, truth)."
        )
    columns = dict(read_columns(evaluation[0]))
    values = np.asarray(evaluation[1])
    n = len(next(iter(columns.values()))) if columns else 0
    if values.shape != (n,) or not n:
        raise InvalidDataError(
            f"{parameter('evaluation')} must hold one class for each of its records, got {n} records and classes of "
            "the shape "
            f"{values.shape}.",
            remedy="Give both in the same order.",
        )
    absent = sorted({literal.attribute for literal in tree.literals} - set(columns))
    if absent:
        raise InvalidDataError(
            f"the held-out records lack the column {absent[0]!r}, which the tree tests.", remedy="Add it."
        )
    if is_missing(values).any():
        raise InvalidDataError("the held-out classes hold a missing value.", remedy="Give the class of every record.")
    place: dict[Scalar, int] = {name: i for i, name in enumerate(tree.classes or ())}
    codes = np.fromiter((place.get(value, -1) for value in values.tolist()), dtype=np.intp, count=n)
    if (codes < 0).all():
        raise InvalidDataError("no held-out record has a class of the tree.", remedy="Recode the classes.")
    return Holdout(columns=columns, codes=codes)


def predictions(tree: DecisionTree, columns: Mapping[str, npt.NDArray[Any]]) -> Codes:
    """Return the index of the class that a tree predicts for each record, -2 where it has none.

    A record that satisfies no branch of a split, as with a category that the tree does not know, has none.

    Parameters
    ----------
    tree : DecisionTree
        The tree.
    columns : mapping of str to ndarray, shape (m,)
        The records, with every attribute that the tree tests.
    """
    labels = [cell.evidence.prediction for cell in tree.cells]
    cells = tree.cells_of(
        len(next(iter(columns.values()))),
        lambda literal, rows: literal.holds(columns[literal.attribute][rows]),
        "left out",
    )
    # The last entry is that of a record that is left out.
    return np.array([*(-2 if label is None else label for label in labels), -2], dtype=np.intp)[cells]
