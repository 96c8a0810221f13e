"""Message passing gives the sums of the joint table that it never makes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from glassine.learners.summaries.junction_tree import JunctionTree

RNG = np.random.default_rng(5)
SIZES = (2, 3, 2, 4)
EDGES = ((0, 1), (1, 3))
"""The attribute 2 stands alone."""


def planted() -> tuple[JunctionTree, np.ndarray]:
    """Return a tree and its joint table by class, made by hand from its conditionals."""
    joint = RNG.random((2, 2, 3, 4)) * 100
    third = RNG.random((2, 2)) * 10
    totals = joint.sum(axis=(1, 2, 3))
    third = third / third.sum(axis=1, keepdims=True) * totals[:, None]
    # Margins along the tree, by class.
    margins = [joint.sum(axis=(2, 3)).T, joint.sum(axis=(1, 3)).T, third.T, joint.sum(axis=(1, 2)).T]
    edges = {(0, 1): np.moveaxis(joint.sum(axis=3), 0, 2), (1, 3): np.moveaxis(joint.sum(axis=1), 0, 2)}
    tree = JunctionTree.of(totals, margins, dict(edges))
    table = np.zeros((2, *SIZES))
    for c, a, b, k, d in itertools.product(range(2), *map(range, SIZES)):
        table[c, a, b, k, d] = edges[0, 1][a, b, c] * edges[1, 3][b, d, c] / margins[1][b, c] * third[c, k] / totals[c]
    return tree, table


def test_regions_are_summed_exactly() -> None:
    tree, table = planted()
    second, third, fourth = RNG.random((1, 5, 3)), RNG.random((2, 5, 2)), RNG.integers(0, 2, (1, 5, 4)).astype(float)
    weights = [None, second, third, fourth]
    for region in range(5):
        weighed = table * second[:, region][:, None, :, None, None]
        weighed = weighed * third[:, region][:, None, None, :, None]
        weighed = weighed * fourth[:, region][:, None, None, None, :]
        assert tree.masses(weights)[region] == pytest.approx(weighed.sum(axis=(1, 2, 3, 4)), rel=1e-6)
        for k, counts in enumerate(tree.tables(weights)):
            others = tuple(1 + other for other in range(4) if other != k)
            assert counts[:, region] == pytest.approx(weighed.sum(axis=others), rel=1e-6)


def test_posteriors_are_those_of_the_joint_table() -> None:
    tree, table = planted()
    codes = np.array(list(itertools.product(*map(range, SIZES)))).T
    cells = table[(slice(None), *codes)].T
    assert tree.posteriors(codes) == pytest.approx(cells / cells.sum(axis=1, keepdims=True), rel=1e-5)


def test_draws_stand_for_the_joint_table_and_are_the_same_each_time() -> None:
    tree, table = planted()
    codes = tree.draws(20_000)
    shares = np.zeros(SIZES)
    np.add.at(shares, tuple(codes), 1 / 20_000)
    assert np.abs(shares - table.sum(axis=0) / table.sum()).max() < 0.01
    assert (tree.draws(20_000) == codes).all()
