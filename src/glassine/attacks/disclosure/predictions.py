"""What a tree predicts: whether it is known to be the sensitive attribute, and how often the tree is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from glassine.data.record_table import columns as read_columns
from glassine.domain import Category, Domain
from glassine.domain.attributes import Scalar
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.models import DecisionTree
from glassine.models.evidence import cell_shares
from glassine.models.quality import Quality
from glassine.models.records import read_records
from glassine.records.arrays import AnyArray, Indices

OTHER_CLASSES = "the data are not the training records: their classes are not those that the leaves count."

Codes = Indices


def not_predicted(
    tree: DecisionTree,
    sensitive: str,
    *,
    target: str | None = None,
    domain: Domain | None = None,
    columns: Mapping[str, AnyArray] | None = None,
    truth: AnyArray | None = None,
) -> str:
    """Return why a tree is not known to predict an attribute; empty if it is."""
    # It is known where the caller names the target; where the classes of the training records in each leaf are those
    # that the tree counts; or where the classes are texts that are values of the attribute.
    # Shapes: columns (n,), optional; truth (n,), optional.
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
    tree: DecisionTree, columns: Mapping[str, AnyArray], truth: AnyArray, published: list[tuple[int, ...] | None]
) -> bool:
    """Return whether the classes of the records in each leaf are those that it counts."""
    place = {name: i for i, name in enumerate(tree.classes or ())}
    table = np.zeros((len(published), len(place)), dtype=np.int64)
    codes = np.array([place[value] for value in truth.tolist()], dtype=np.intp)
    np.add.at(table, (tree.apply(dict(columns)), codes), 1)
    return all(counts is None or tuple(row) == counts for counts, row in zip(published, table.tolist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdout:
    """Records that the tree was not trained on."""

    columns: Mapping[str, AnyArray]  # The records; shape (m,)
    # Index of each one's class, -1 where it is none of the tree's: no prediction is right then; shape (m,).
    codes: Codes

    def quality(self, tree: DecisionTree, published: DecisionTree | None = None) -> Quality:
        """Return how well a tree predicts the records."""
        return quality(tree, self.columns, self.codes, published)


def read_holdout(evaluation: object, tree: DecisionTree) -> Holdout:
    """Return held-out records."""
    # Shapes: evaluation (m,).
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


def predictions(tree: DecisionTree, columns: Mapping[str, AnyArray]) -> Codes:
    """Return the index of the class that a tree predicts for each record, -2 where it has none."""
    # A record that satisfies no branch of a split, as with a category that the tree does not know, has none.
    # Shapes: columns (m,).
    labels = [cell.evidence.prediction for cell in tree.cells]
    # The last entry is that of a record that is left out.
    return np.array([*(-2 if label is None else label for label in labels), -2], dtype=np.intp)[_cells(tree, columns)]


def quality(
    tree: DecisionTree, columns: Mapping[str, AnyArray], codes: Codes, published: DecisionTree | None = None
) -> Quality:
    """Return how well a tree predicts records of which the classes are known, by the probabilities that it publishes.

    ``shown`` is the published tree where that says less about its leaves. Shapes: ``columns`` (m,);
    ``codes`` (m,).
    """
    none = np.full((1, len(tree.classes or ())), np.nan)
    foretold = np.concatenate([cell_shares(published or tree), none])[_cells(tree, columns)]
    return Quality.measured(predictions(tree, columns), codes, foretold)


def _cells(tree: DecisionTree, columns: Mapping[str, AnyArray]) -> Codes:
    """Return the leaf of each record, shape (m,); that after the last for one that is left out."""
    records = read_records(columns, tree.attributes, tree.literals)
    return tree.cells_of(records, "left out")
