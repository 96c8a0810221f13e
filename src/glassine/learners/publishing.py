"""Class counts of leaves and rules as one noisy release, and predictions from a published model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from glassine.models import DecisionTree, Evidence, RuleList, cell_probabilities
from glassine.models.records import read_records
from glassine.records.arrays import Array, Ints
from glassine.records.columns import ConformedColumns

# Class counts of leaves or rules as one noisy histogram, and the probabilities that follow from it.


def evidence_of(
    labels: Sequence[int], counts: Ints | None, probabilities: Sequence[tuple[float, ...]] | None = None
) -> tuple[Evidence, ...]:
    """Return what is published of leaves or rules: labels and, if they were released, counts and probabilities."""
    whole = None if counts is None else [tuple(row) for row in counts.tolist()]
    return tuple(
        Evidence(
            label=label,
            counts=None if whole is None else whole[i],
            probabilities=None if probabilities is None else probabilities[i],
        )
        for i, label in enumerate(labels)
    )


def probabilities(model: DecisionTree | RuleList) -> Array:
    """Return the class probabilities of each cell of a published model, shape (k, c); labels alone count as certain."""
    n_classes = len(model.classes or ())
    rows = []
    for cell, shares in zip(model.cells, cell_probabilities(model), strict=True):
        certain = tuple(float(i == cell.evidence.prediction) for i in range(n_classes))
        rows.append(shares or certain)
    return np.array(rows)


def decision_path(model: DecisionTree | RuleList, records: ConformedColumns) -> sparse.csr_matrix:
    """Return which nodes or rules test each record, shape (n, nodes or rules)."""
    if isinstance(model, RuleList):
        tested = np.arange(len(model.rules))[None, :] <= model.apply(records)[:, None]
        return sparse.csr_matrix(tested.astype(np.int64))
    asked = read_records(records, model.attributes, model.literals)
    visits = list(model.walk(asked.n_records, asked.holds, "last branch"))
    columns = np.concatenate([np.full(len(visit.rows), visit.node) for visit in visits])
    rows = np.concatenate([visit.rows for visit in visits])
    shape = (records.n_records, len(model.nodes))
    return sparse.csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)
