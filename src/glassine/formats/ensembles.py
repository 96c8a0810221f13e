"""Trees that were read one by one from a file, put together as an ensemble."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassine.domain import Between
from glassine.models.ensemble import Placement, Scoring, TreeEnsemble
from glassine.models.implied import unseen
from glassine.models.tree import DecisionTree, Forest
from glassine.records.arrays import Array, Bools, Ints

PURE = 1 - 1e-6
"""Shares in single precision, multiplied by the number of trees, may miss 1."""


def thresholds_of_trees(trees: Sequence[DecisionTree]) -> dict[str, Array]:
    """Return the distinct thresholds on each attribute, increasing."""
    thresholds: dict[str, set[float]] = {}
    for literal in dict.fromkeys(literal for tree in trees for literal in tree.literals):
        if isinstance(literal, Between):
            bounds = {bound for bound in (literal.lo, literal.hi) if math.isfinite(bound)}
            thresholds.setdefault(literal.attribute, set()).update(bounds)
    return {name: np.array(sorted(bounds)) for name, bounds in thresholds.items() if bounds}


def together(forest: Forest, scoring: Scoring | None, *, placed: Placement, **facts: Any) -> TreeEnsemble:
    """Return the trees of a file as an ensemble; ``placed`` and ``facts`` are fields of :class:`TreeEnsemble`."""
    trees = forest.trees
    thresholds = thresholds_of_trees(trees)
    if placed == "midpoints":
        # Files hold the double behind the middle of two values.
        thresholds = {name: np.nextafter(own, -np.inf) for name, own in thresholds.items()}
    sizes = [cell.evidence.size for tree in trees for cell in tree.cells]
    arguments: dict[str, Any] = {
        "attributes": forest.attributes,
        "classes": forest.classes,
        "leaves": np.array([len(tree.cells) for tree in trees]),
        "thresholds": thresholds,
        "placed": placed,
        "sizes": None if None in sizes else np.array(sizes, dtype=np.int64),
        "certain": _certain(trees, forest.n_records),
        "n_records": forest.n_records,
        "source": forest.source,
        "scoring": scoring,
    }
    return TreeEnsemble(**{**arguments, **facts})


def pure_leaves(tree: DecisionTree) -> Bools | None:
    """Return which leaves publish one outcome for all of their records, shape (leaves,); None where they do not say."""
    shares = [cell.evidence.shares(len(tree.classes or ())) for cell in tree.cells]
    largest = [max(own) for own in shares if own is not None]
    return np.array(largest) >= PURE if len(largest) == len(shares) else None


def _certain(trees: Sequence[DecisionTree], n_records: int | None) -> tuple[int, int] | None:
    """Return the figures of the tree whose pure leaves make most outcomes certain; None without counts of classes."""
    worst: tuple[int, int] | None = None
    for tree in trees:
        pure, counted = pure_leaves(tree), [cell.evidence.size for cell in tree.cells]
        if pure is None or None in counted:
            return None
        sizes: Ints = np.array(counted)
        # Which of all training records a bootstrap drew is another matter.
        total = int(sizes.sum()) if n_records is None else n_records
        own = int(np.minimum(sizes[pure], unseen(len(sizes))).sum()), total
        if worst is None or own[0] * worst[1] > worst[0] * own[1]:
            worst = own
    return worst
