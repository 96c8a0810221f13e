"""Whether a tree is known to predict the attribute whose disclosure is measured: few models name what they predict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Category, Domain
from glassine.models import DecisionTree

__all__ = ["OTHER_CLASSES", "not_predicted"]

OTHER_CLASSES = "the data are not the training records: their classes are not those that the leaves count."


def not_predicted(
    tree: DecisionTree,
    sensitive: str,
    *,
    target: str | None = None,
    domain: Domain | None = None,
    columns: Mapping[str, npt.NDArray[Any]] | None = None,
    truth: npt.NDArray[Any] | None = None,
) -> str:
    """Return why a tree is not known to predict an attribute; empty if it is.

    It is known where the caller names the target; where the classes of the training records in each leaf are those
    that the tree counts; or where the classes are texts that are values of the attribute.

    Parameters
    ----------
    tree : DecisionTree
        A tree with classes.
    sensitive : str
        The attribute.
    target : str, optional
        What the tree is said to predict.
    domain : Domain, optional
        It may declare the values of the attribute.
    columns : mapping of str to ndarray, shape (n,), optional
        The training records, with every attribute that the tree tests; without it, no leaf is compared.
    truth : ndarray, shape (n,), optional
        The attribute of the records, in the type of the classes.

    Raises
    ------
    InvalidDataError
        If a record is in no leaf.
    """
    if target not in (None, sensitive):
        return f"the tree predicts {target}, not {sensitive}."
    classes = tree.classes or ()
    if truth is not None and not set(truth.tolist()) <= set(classes):
        return f"{sensitive} is not what the tree predicts: its column holds values that are no class of it."
    if truth is not None and columns is not None and tree.counts_are_exact:
        published = [cell.evidence.counts for cell in tree.cells]
        if any(counts is not None for counts in published):
            return "" if _agrees(tree, columns, truth, published) else OTHER_CLASSES
    texts = bool(classes) and all(isinstance(name, str) for name in classes)
    attribute = None if domain is None or sensitive not in domain else domain[sensitive]
    declared = isinstance(attribute, Category) and set(classes) <= set(attribute.values)
    if target is not None or (texts and (truth is not None or declared)):
        return ""
    return f"nothing says that the tree predicts {sensitive}, and its leaves cannot be compared with records."


def _agrees(
    tree: DecisionTree,
    columns: Mapping[str, npt.NDArray[Any]],
    truth: npt.NDArray[Any],
    published: list[tuple[int, ...] | None],
) -> bool:
    """Return whether the classes of the records in each leaf are those that it counts."""
    place = {name: i for i, name in enumerate(tree.classes or ())}
    table = np.zeros((len(published), len(place)), dtype=np.int64)
    codes = np.array([place[value] for value in truth.tolist()], dtype=np.intp)
    np.add.at(table, (tree.apply(dict(columns)), codes), 1)
    return all(counts is None or tuple(row) == counts for counts, row in zip(published, table.tolist(), strict=True))
