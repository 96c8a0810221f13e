"""Numbers of records that a model does not publish, counted in the training records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidDataError, InvalidModelError
from glassine.models import DecisionTree, Evidence, RuleList

__all__ = ["with_sizes"]


def with_sizes(
    name: str, model: DecisionTree | RuleList, columns: Mapping[str, npt.NDArray[Any]]
) -> DecisionTree | RuleList:
    """Return a model that tells how many of the records each of its parts captures; rounded counts are replaced.

    Raises
    ------
    InvalidDataError
        If the data lack a tested attribute or do not have a number that the model publishes exactly.
    """
    sizes = np.bincount(model.apply(dict(columns)), minlength=len(model.cells)).tolist()
    exact = model.counts_are_exact
    told: dict[int, Evidence] = {}
    for part, (cell, size) in enumerate(zip(model.cells, sizes, strict=True), start=1):
        published = cell.evidence.size if exact else None
        if published not in (None, size):
            raise InvalidDataError(
                f"the data hold {size:,} records in part {part} of {name}, which tells of {published:,}. Give the "
                "records from which all models were learnt."
            )
        told[cell.node] = cell.evidence if published is not None else _of_size(cell.evidence, size)
    if isinstance(model, RuleList):
        rules = tuple(replace(rule, evidence=told[i]) for i, rule in enumerate(model.rules))
        return replace(model, rules=rules, approximate=False)
    nodes = tuple(
        replace(node, evidence=told.get(i, node.evidence if exact else _of_size(node.evidence, None)))
        for i, node in enumerate(model.nodes)
    )
    try:
        return replace(model, nodes=nodes, approximate=False)
    except InvalidModelError as error:
        raise InvalidDataError(
            f"the data do not have the counts of {name}: {error} Give the records from which all models were learnt."
        ) from None


def _of_size(evidence: Evidence, size: int | None) -> Evidence:
    return replace(evidence, counts=None, total=size, label=evidence.prediction)
