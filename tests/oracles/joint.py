"""Naive oracle of several models: every dataset of a toy domain, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from glassine.domain import Domain
from glassine.models import DecisionTree, RuleList
from tests.oracles.worlds import captured, records

__all__ = ["data_sets", "places"]


def places(models: Sequence[DecisionTree | RuleList], domain: Domain) -> list[tuple[int, ...]]:
    """Return for every possible record its part of each model."""
    everything = list(records(domain, domain_aware=True))
    return [
        tuple(next(i for i, cell in enumerate(model.cells) if captured(record, cell)) for model in models)
        for record in everything
    ]


def data_sets(
    models: Sequence[DecisionTree | RuleList], domain: Domain, labels: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return every dataset with these labels that has the counts of all models, as numbers of possible records.

    Class counts count where a model publishes them for all of its parts.
    """
    where = np.array(places(models, domain))
    every = np.array(list(product(range(len(where)), repeat=len(labels))))
    meets = np.ones(len(every), dtype=bool)
    for i, model in enumerate(models):
        counts = [cell.evidence.counts for cell in model.cells]
        told = all(entry is not None for entry in counts)
        parts = where[every, i]
        for part, cell in enumerate(model.cells):
            if not told:
                meets &= (parts == part).sum(axis=1) == cell.evidence.size
                continue
            for label, count in enumerate(cell.evidence.counts or ()):
                mine = np.array(labels) == label
                meets &= (parts[:, mine] == part).sum(axis=1) == count
    return [tuple(rows) for rows in every[meets].tolist()]
