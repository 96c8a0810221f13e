"""Near-optimal trees: dynamic programming against all trees one by one, and what is said of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassine.domain import Between, Literal
from glassine.learners.summaries.junction_tree import JunctionTree
from glassine.learners.summaries.tree_sets import RegionCounts, Regions, Splits, TreeSet

SIZES = (3, 2, 3)
LEAST = 5.0


def planted(seed: int, classes: int = 2) -> tuple[JunctionTree, np.ndarray, Splits]:
    """Return a distribution, its joint table of shape (classes, *bins), and five literals on three attributes."""
    rng = np.random.default_rng(seed)
    pair = rng.gamma(0.5, 60.0, (classes, 3, 2))
    third = rng.gamma(0.5, 1.0, (classes, 3, 3))
    third /= third.sum(axis=2, keepdims=True)
    joint = pair[..., None] * third[:, :, None]
    totals = joint.sum(axis=(1, 2, 3))
    margins = [joint.sum(axis=(2, 3)).T, joint.sum(axis=(1, 3)).T, joint.sum(axis=(1, 2)).T]
    edges = {(0, 1): np.moveaxis(pair, 0, 2), (0, 2): np.moveaxis(joint.sum(axis=2), 0, 2)}
    where = [(0, 1), (0, 2), (1, 1), (2, 1), (2, 2)]
    splits = Splits(
        sizes=SIZES,
        attributes=np.array([k for k, _ in where]),
        bins=tuple(np.arange(SIZES[k]) < cut for k, cut in where),
        literals=tuple(Between(f"x{k}", hi=cut) for k, cut in where),
    )
    return JunctionTree.of(totals, margins, edges), joint, splits


# All trees, one by one: a leaf is a class, a split (literal, tree, tree).
Plain = Any


@dataclass
class Brute:
    joint: np.ndarray
    splits: Splits

    def mask(self, literal: int) -> np.ndarray:
        shape = [1, 1, 1, 1]
        shape[1 + self.splits.attributes[literal]] = -1
        return self.splits.bins[literal].reshape(shape)

    def trees(self, depth: int, table: np.ndarray) -> Iterator[tuple[Plain, float]]:
        counts = table.sum(axis=(1, 2, 3))
        yield int(counts.argmax()), float(counts.sum() - counts.max())
        for literal in range(self.splits.number) if depth else ():
            true, false = table * self.mask(literal), table * ~self.mask(literal)
            if min(true.sum(), false.sum()) < LEAST:
                continue
            others = list(self.trees(depth - 1, false))
            for (left, a), (right, b) in itertools.product(self.trees(depth - 1, true), others):
                if not (isinstance(left, int) and left == right):
                    yield (literal, left, right), a + b

    def predicted(self, tree: Plain) -> np.ndarray:
        """Return the class of each cell, shape of the joint table without classes."""
        if isinstance(tree, int):
            return np.full(SIZES, tree)
        literal, true, false = tree
        return np.where(self.mask(literal)[0], self.predicted(true), self.predicted(false))

    def errors(self, predicted: np.ndarray, table: np.ndarray) -> float:
        return float(sum(part[predicted != label].sum() for label, part in enumerate(table)))

    def without(self, attribute: int) -> np.ndarray:
        """Return the table in which an attribute is independent of all else."""
        margin = self.joint.sum(axis=tuple(a for a in range(4) if a != 1 + attribute), keepdims=True)
        return self.joint.sum(axis=1 + attribute, keepdims=True) * margin / self.joint.sum()


def attributes_of(tree: Plain, splits: Splits) -> set[int]:
    if isinstance(tree, int):
        return set()
    return {int(splits.attributes[tree[0]])} | attributes_of(tree[1], splits) | attributes_of(tree[2], splits)


@pytest.mark.parametrize(("seed", "depth", "slack", "classes"), [(0, 3, 0.02, 2), (1, 2, 0.1, 3), (2, 1, 0.2, 2), (3, 3, 0.0, 2), (4, 2, 0.05, 2)])
def test_dynamic_programming_gives_what_all_trees_one_by_one_give(seed: int, depth: int, slack: float, classes: int) -> None:
    distribution, joint, splits = planted(seed, classes)
    counts = RegionCounts.of(distribution, splits, Regions.of(splits.number, depth))
    trees = TreeSet(splits, counts, depth=depth, slack=slack, least=LEAST)
    brute = Brute(joint, splits)
    every = list(brute.trees(depth, joint))
    lowest = min(errors for _, errors in every)
    near = [(tree, errors) for tree, errors in every if errors <= lowest + slack * joint.sum() + 1e-6]
    assert trees.lowest == pytest.approx(lowest, rel=1e-6)
    predicted = [brute.predicted(tree) for tree, _ in near]
    for attribute in range(3):
        anew = brute.without(attribute)
        gains = [brute.errors(own, anew) - errors for own, (_, errors) in zip(predicted, near, strict=True)]
        assert trees.reliance(attribute) == pytest.approx((min(gains), max(gains)), abs=1e-4)
        lean = min(errors for tree, errors in every if attribute not in attributes_of(tree, splits))
        assert trees.lowest_without(attribute) == pytest.approx(lean, rel=1e-6)
    cells = np.array(list(itertools.product(*map(range, SIZES)))).T
    decisions = trees.decisions(cells)
    for cell, row in zip(cells.T, decisions, strict=True):
        assert set(np.flatnonzero(row)) == {int(own[tuple(cell)]) for own in predicted}
    print(len(every), len(near), trees.sample(300, np.random.default_rng(0))[1])
