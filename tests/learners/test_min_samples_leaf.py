"""Optimal trees and rule lists whose leaves hold some records at least, against a search over sets of records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glassine.errors import InvalidParameterError
from glassine.learners import OptimalRuleListClassifier, OptimalTreeClassifier, OptimalTreeRegressor
from glassine.sealed.losses import LeafCosts
from glassine.sealed.weighting import Weighting
from tests.learners import engine
from tests.oracles.optimal import bits, optimal_rule_list, optimal_tree, with_negations

Ints = npt.NDArray[np.int64]
Leaf = Callable[[npt.NDArray[np.bool_]], float]
LEARNERS = (OptimalTreeClassifier, OptimalRuleListClassifier, OptimalTreeRegressor)


def instance(seed: int) -> tuple[Ints, Ints, int, int]:
    """Return small 0/1 records, their classes, a least number of records, and a penalty in errors."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 60)), int(rng.integers(2, 6))
    X = (rng.random((n, p)) < rng.uniform(0.2, 0.8, p)).astype(np.int64)
    y = (X[:, 0] * (1 + X[:, 1]) + (rng.random(n) < 0.3)) % int(rng.integers(2, 4))
    return X, y, int(rng.integers(1, n // 2 + 1)), int(rng.integers(0, 3))


def declared(p: int) -> Any:
    """Return a domain in which every column can be 0 and 1, whatever the records have."""
    return engine.binary_domain(p)[0]


def tree_cost(truth: npt.NDArray[np.bool_], sizes: Ints, leaf: Leaf, depth: int, penalty: float, least: int) -> float:
    """Return the least cost of all trees whose leaves hold ``least`` records, each split tried at every node."""
    columns = truth.T

    def weighed(rows: npt.NDArray[np.bool_], depth: int) -> float:
        if sizes[rows].sum() < least:
            return math.inf
        splits = columns if depth else columns[:0]
        return min(
            leaf(rows),
            *(penalty + below(bits(rows & one), depth - 1) + below(bits(rows & ~one), depth - 1) for one in splits),
            math.inf,
        )

    @cache
    def below(region: int, depth: int) -> float:
        return weighed(np.array([bool(region >> i & 1) for i in range(len(truth))]), depth)

    return below(bits(np.ones(len(truth), dtype=bool)), depth)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_trees_are_the_best_of_those_with_leaves_large_enough(depth: int) -> None:
    bound = 0
    for seed in range(40):
        X, y, least, penalty = instance(1000 * depth + seed)
        tree = OptimalTreeClassifier(
            depth, domain=declared(X.shape[1]), penalty=penalty / len(y), min_samples_leaf=least
        )
        tree.fit(X, y)
        best, _ = optimal_tree(X, y, depth, penalty, least)
        sizes = np.bincount(tree.apply(X), minlength=len(tree.model_.cells))
        assert sizes.min() >= least
        assert int((tree.predict(X) != y).sum()) + penalty * (len(sizes) - 1) == best
        assert tree.objective_ * len(y) == pytest.approx(best, abs=1e-9)
        bound += best > optimal_tree(X, y, depth, penalty)[0]
    assert bound >= 5


@pytest.mark.parametrize("length", [1, 2, 3])
def test_lists_are_the_best_of_those_with_rules_large_enough(length: int) -> None:
    bound = 0
    for seed in range(40):
        X, y, least, penalty = instance(10_000 + 1000 * length + seed)
        rules = OptimalRuleListClassifier(
            length, domain=declared(X.shape[1]), penalty=penalty / len(y), min_samples_leaf=least
        )
        rules.fit(X, y)
        pool = with_negations(X)
        best, _ = optimal_rule_list(pool, y, length, penalty, least)
        sizes = np.bincount(rules.apply(X), minlength=len(rules.model_.cells))
        assert sizes.min() >= least
        assert int((rules.predict(X) != y).sum()) + penalty * (len(sizes) - 1) == best
        bound += best > optimal_rule_list(pool, y, length, penalty)[0]
    assert bound >= 5


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_regression_trees_are_the_best_of_those_with_leaves_large_enough(depth: int) -> None:
    values = np.arange(65) / 64 * 255
    for seed in range(15):
        X, y, least, penalty = instance(20_000 + 1000 * depth + seed)
        # Whole numbers of 0 to 255, which the parts of a record write exactly.
        target = 60 * y + np.random.default_rng(seed).integers(0, 60, len(y))
        cost = penalty / 100
        tree = OptimalTreeRegressor(
            depth, domain=declared(X.shape[1]), target_range=(0, 255), penalty=cost, min_samples_leaf=least
        ).fit(X, target)

        def leaf(rows: npt.NDArray[np.bool_], target: Ints = target) -> float:
            return float(((values[:, None] - target[rows]) ** 2).sum(axis=1).min()) / 255**2

        cells = tree.apply(X)
        n_leaves = len(tree.model_.cells)
        assert np.bincount(cells, minlength=n_leaves).min() >= least
        attained = sum(leaf(cells == i) for i in range(n_leaves)) + cost * len(y) * (n_leaves - 1)
        ones = np.ones(len(y), dtype=np.int64)
        assert attained == pytest.approx(tree_cost(X == 1, ones, leaf, depth, cost * len(y), least), abs=1e-7)


def test_dependent_conditions_and_log_loss_allow_the_same_leaves() -> None:
    loss = LeafCosts.ranking(np.array([0.6, 0.4]), math.inf, 0.3)
    makers = (engine.threshold_domain, engine.one_hot_domain, engine.category_domain)
    for seed in range(60):
        models, worlds = engine.trees_of(*makers[seed % 3](4), 1 + seed % 4, loss)
        truth, labels = engine.some_data(seed, worlds, 25, 2)
        least, penalty = 1 + seed % 9, seed % 2 * loss.unit
        sums = engine.sums_of(models, truth, labels, Weighting.optimal(float(penalty), least))

        def leaf(rows: npt.NDArray[np.bool_], labels: Ints = labels) -> float:
            return float((loss.costs @ np.bincount(labels[rows], minlength=2)).min())

        best = sums.best()
        ones = np.ones(25, dtype=np.int64)
        assert sums.costs[0].item() == tree_cost(truth, ones, leaf, models.depth, penalty, least)
        assert sums.class_counts(best).sum(axis=1).min() >= least


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_weight_counts_as_copies_of_its_row(learner: Any) -> None:
    for seed in range(10):
        X, y, least, _ = instance(seed)
        weights = np.random.default_rng(seed).integers(0, 4, len(y))
        weights[0] = 3
        copies = np.repeat(np.arange(len(y)), weights)
        options = {"target_range": (0, 2)} if learner is OptimalTreeRegressor else {"classes": (0, 1, 2)}
        pair = [
            learner(2, domain=declared(X.shape[1]), min_samples_leaf=min(least, len(copies)), **options)
            for _ in range(2)
        ]
        weighted = pair[0].fit(X, y, weights).model_
        assert replace(weighted, sizes="stored") == pair[1].fit(X[copies], y[copies]).model_


def test_a_share_is_that_of_the_records_rounded_up() -> None:
    X, y, _, _ = instance(3)
    X, y = np.resize(X, (100, X.shape[1])), np.resize(y, 100)
    # As a float, 0.07 * 100 lies above 7.
    for share, least in ((0.07, 7), (0.071, 8), (0.3, 30), (np.float64(0.25), 25)):
        pair = [OptimalTreeClassifier(3, min_samples_leaf=value).fit(X, y).model_ for value in (share, least)]
        assert pair[0] == pair[1]


def test_a_leaf_holds_a_record_by_default() -> None:
    # Only the empty branch of a first split on the constant column ties with the tree that leaves it out.
    X = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]])
    for learner, y in ((OptimalTreeClassifier, X[:, 1] ^ X[:, 2]), (OptimalRuleListClassifier, X[:, 1] | X[:, 2])):
        fitted = learner(3, domain=declared(3)).fit(X, y)
        assert min(sum(cell.evidence.counts) for cell in fitted.model_.cells) > 0
        assert fitted.objective_ == 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_fewer_records_than_a_leaf_must_hold_are_an_error(learner: Any) -> None:
    X, y = np.array([[0], [1], [1]]), np.array([0, 1, 1])
    assert len(learner(min_samples_leaf=3).fit(X, y).model_.cells) == 1
    with pytest.raises(InvalidParameterError, match=r"min_samples_leaf=4 allows no leaf: there are 3 training records"):
        learner(min_samples_leaf=4).fit(X, y)


@pytest.mark.parametrize("value", [0, -1, 0.0, 1.0, 2.5, float("nan"), True, "5", None])
def test_a_least_number_that_is_neither_whole_nor_a_share_is_refused(value: Any) -> None:
    X, y = np.array([[0], [1], [1]]), np.array([0, 1, 1])
    with pytest.raises(InvalidParameterError, match="must be a whole number of at least 1, or a share"):
        OptimalTreeClassifier(min_samples_leaf=value).fit(X, y)
