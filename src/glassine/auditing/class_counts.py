"""Classes counted in the records that fall into leaves or rules, and counts that their publisher rounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glassine.data.labels import class_places
from glassine.errors import InvalidParameterError, parameter
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import AnyArray, Indices, Ints


def count_classes(
    model: DecisionTree | RuleList, rows: Indices, columns: Mapping[str, AnyArray] | None, target: str | None
) -> Ints | None:
    """Return how many records of each class, and last of none, are in each part; None where no outcome was passed."""
    if columns is None or target is None or target not in columns or not model.classes:
        return None
    counts = np.zeros((len(model.cells), len(model.classes) + 1), dtype=np.int64)
    np.add.at(counts, (rows, class_places(columns[target], model.classes)), 1)
    return counts


def rounded(model: DecisionTree | RuleList, step: int | None) -> DecisionTree | RuleList:
    """Return a model whose counts the publisher states to be rounded to a step; the same without a step."""
    if step is None:
        return model
    counts = [count for cell in model.cells for count in cell.evidence.counts or (cell.evidence.size or 0,)]
    if model.counts_are_exact and any(count % step for count in counts):
        raise InvalidParameterError(
            f"{parameter('rounded_to', step)} contradicts the model: it publishes counts that are not multiples of it.",
            remedy="Ask the publisher to which step counts were rounded.",
        )
    return replace(model, approximate=True)
