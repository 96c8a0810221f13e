"""Trees that were read one by one from a file, put together as an ensemble."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassine.domain import Between
from glassine.models.ensemble import Scoring, TreeEnsemble
from glassine.models.implied import RULE_OF_THREE
from glassine.models.tree import DecisionTree, Forest
from glassine.records.arrays import Array, Ints


def thresholds_of_trees(trees: Sequence[DecisionTree]) -> dict[str, Array]:
    """Return the distinct thresholds on each attribute, increasing."""
    found: dict[str, set[float]] = {}
    for literal in dict.fromkeys(literal for tree in trees for literal in tree.literals):
        if isinstance(literal, Between):
            bounds = {bound for bound in (literal.lo, literal.hi) if math.isfinite(bound)}
            found.setdefault(literal.attribute, set()).update(bounds)
    return {name: np.array(sorted(bounds)) for name, bounds in found.items() if bounds}


def together(forest: Forest, scoring: Scoring | None, **facts: Any) -> TreeEnsemble:
    """Return the trees of a file as an ensemble; ``facts`` are fields of :class:`TreeEnsemble`."""
    trees = forest.trees
    sizes = [cell.evidence.size for tree in trees for cell in tree.cells]
    given: dict[str, Any] = {
        "attributes": forest.attributes,
        "classes": forest.classes,
        "leaves": np.array([len(tree.cells) for tree in trees]),
        "thresholds": thresholds_of_trees(trees),
        "sizes": None if None in sizes else np.array(sizes, dtype=np.int64),
        "certain": _certain(trees),
        "n_records": forest.n_records,
        "source": forest.source,
        "scoring": scoring,
    }
    return TreeEnsemble(**{**given, **facts})


def _certain(trees: Sequence[DecisionTree]) -> tuple[int, int] | None:
    """Return the figures of the tree whose pure leaves make most outcomes certain; None without counts of classes."""
    worst: tuple[int, int] | None = None
    for tree in trees:
        counts = [cell.evidence.counts for cell in tree.cells]
        if None in counts or tree.classes is None:
            return None
        table: Ints = np.array(counts)
        sizes = table.sum(axis=1)
        pure = (table > 0).sum(axis=1) == 1
        own = int(np.minimum(sizes[pure], RULE_OF_THREE).sum()), int(sizes.sum())
        if worst is None or own[0] * worst[1] > worst[0] * own[1]:
            worst = own
    return worst
