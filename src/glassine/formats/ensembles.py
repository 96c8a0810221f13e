"""Trees that were read one by one from a file, put together as an ensemble."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from glassine.domain import Between
from glassine.models.ensemble import Placement, Scoring, TreeEnsemble
from glassine.models.implied import unseen
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree, Forest
from glassine.records.arrays import Array, Bools, Ints

PURE = 1 - 1e-6
"""Shares in single precision, multiplied by the number of trees, may miss 1."""


MULTIPLES = "its sizes are multiples of {:,}, as of records with weights"


def thresholds_of_trees(trees: Sequence[DecisionTree]) -> dict[str, Array]:
    """Return the distinct thresholds on each attribute, increasing."""
    thresholds: dict[str, set[float]] = {}
    for literal in dict.fromkeys(literal for tree in trees for literal in tree.literals):
        if isinstance(literal, Between):
            bounds = {bound for bound in (literal.lo, literal.hi) if math.isfinite(bound)}
            thresholds.setdefault(literal.attribute, set()).update(bounds)
    return {name: np.array(sorted(bounds)) for name, bounds in thresholds.items() if bounds}


def sizes_of_leaves(trees: Iterable[DecisionTree | RuleList]) -> list[list[int]]:
    """Return the records of the leaves of each tree that says them."""
    by_tree = ([cell.evidence.size for cell in tree.cells] for tree in trees)
    return [[size for size in own if size is not None] for own in by_tree if None not in own]


CHANCE = 1e-3
"""Chance below which counts of records do not have a factor in common."""


def common_weight(trees: Iterable[Sequence[int]]) -> int:
    """Return the number of which all sizes of leaves are multiples, as where each record weighs as much; else 1.

    Sizes that other trees have as well, and the last one of a tree, which follows from the total, are no evidence.

    Examples
    --------
    >>> common_weight([[15, 40, 95, 20, 30, 100]]), common_weight([[15, 40]])
    (5, 1)
    """
    seen, free = {0}, 0
    for sizes in trees:
        free += max(0, sum(1 for size in sizes if size not in seen) - 1)
        seen |= set(sizes)
    common = math.gcd(*seen)
    return common if common > 1 and common**-free < CHANCE else 1


def together(forest: Forest, scoring: Scoring | None, *, placed: Placement, **facts: Any) -> TreeEnsemble:
    """Return the trees of a file as an ensemble; ``placed`` and ``facts`` are fields of :class:`TreeEnsemble`."""
    trees = forest.trees
    thresholds = thresholds_of_trees(trees)
    if placed == "midpoints":
        # Files hold the double behind the middle of two values.
        thresholds = {name: np.nextafter(own, -np.inf) for name, own in thresholds.items()}
    sizes = [cell.evidence.size for tree in trees for cell in tree.cells]
    derived = any(tree.sizes == "derived" for tree in trees)
    common = common_weight(sizes_of_leaves(trees)) if derived else 1
    arguments: dict[str, Any] = {
        "attributes": forest.attributes,
        "classes": forest.classes,
        "leaves": np.array([len(tree.cells) for tree in trees]),
        "thresholds": thresholds,
        "placed": placed,
        "sizes": None if None in sizes else np.array(sizes, dtype=np.int64),
        "certain": _certain(trees, forest.n_records),
        "n_records": forest.n_records,
        "derived": derived,
        "source": forest.source,
        "scoring": scoring,
    }
    if common > 1 and not facts.get("weights"):
        facts["weights"] = MULTIPLES.format(common)
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
