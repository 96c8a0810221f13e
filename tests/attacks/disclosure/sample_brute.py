"""Samples by their definition: every way to pick the sample and to give everybody a class, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from glassine.models import DecisionTree
from tests.attacks.disclosure.naive import broken

Floats = npt.NDArray[np.float64]


def keeps(
    tree: DecisionTree, frame: pl.DataFrame, criterion: Any, **more: Any
) -> Callable[[list[int], list[Any]], bool]:
    """Return whether some people with their classes would have had every split of a tree."""

    def holds(rows: list[int], labels: list[Any]) -> bool:
        return not broken(tree, frame[rows], labels, criterion, multiway=True, **more)

    return holds


def leaf_of(tree: DecisionTree, frame: pl.DataFrame) -> list[int]:
    """Return the node of everybody's leaf."""
    columns = {name: np.array(frame[name].to_list(), dtype=object) for name in frame.columns}
    cells = tree.apply(columns)
    return [tree.cells[i].node for i in cells]


def by_definition(
    tree: DecisionTree,
    frame: pl.DataFrame,
    agrees: Callable[[dict[int, npt.NDArray[np.int64]]], bool],
    holds: Callable[[list[int], list[Any]], bool],
    sizes: list[int],
) -> tuple[Floats, Floats, int]:
    """Return P(in the sample) and P(class) of each person, and how many worlds there are.

    A world is a sample of one of the sizes and a class for everybody; all are equally likely. The classes of those
    outside are free: they are not listed, but counted.
    """
    classes = tree.classes or ()
    n, k = len(frame), len(classes)
    leaves = leaf_of(tree, frame)
    member, by_class = np.zeros(n), np.zeros((n, k))
    total = 0
    for size in sizes:
        for rows in combinations(range(n), size):
            for labels in product(range(k), repeat=size):
                counts: dict[int, npt.NDArray[np.int64]] = {}
                for row, label in zip(rows, labels, strict=True):
                    counts.setdefault(leaves[row], np.zeros(k, dtype=np.int64))[label] += 1
                if not agrees(counts) or not holds(list(rows), [classes[c] for c in labels]):
                    continue
                weight = k ** (n - size)
                total += weight
                member[list(rows)] += weight
                by_class[list(rows), list(labels)] += weight
                outside = [i for i in range(n) if i not in rows]
                by_class[outside] += weight / k
    return member / total, by_class / total, total
