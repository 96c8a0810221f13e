"""Class counts of leaves and rules as one noisy release, and predictions from a published model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from scipy import sparse

from glassine.models import AdditiveModel, DecisionTree, Evidence, RuleList, cell_probabilities
from glassine.models.records import read_records
from glassine.models.transform import rewritten
from glassine.records.arrays import Array, Ints
from glassine.records.columns import ConformedColumns

M = TypeVar("M", DecisionTree, RuleList, AdditiveModel, DecisionTree | RuleList | AdditiveModel)

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


def by_weight(model: M, per_record: int) -> M:
    """Return a model whose counts are parts of records with counts of whole records, and shares by weight.

    With one part a record nothing changes. Otherwise numbers of records are rounded sums of weights, and the model says
    that they are. The scores and weights of an additive model stay as they are.
    """
    if per_record == 1:
        return model
    if isinstance(model, AdditiveModel):
        return replace(model, sizes="derived")
    # Of rounded counts that of a node need not be the sum of those below it.
    inner = {place for place, node in enumerate(getattr(model, "nodes", ())) if node.branches}

    def of_records(place: int, own: Evidence) -> Evidence:
        if place in inner:
            return Evidence()
        if own.counts is None:
            return replace(own, total=None if own.total is None else round(own.total / per_record))
        size = sum(own.counts)
        shares = tuple(count / size for count in own.counts) if size else None
        counts = tuple(round(count / per_record) for count in own.counts)
        return replace(own, counts=counts, probabilities=shares, weighted=True)

    return rewritten(replace(model, approximate=True, sizes="derived"), evidence=of_records)


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
