"""Optimal trees and rule lists, as estimators, against a search over sets of records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from glassine.domain import Category, Domain, Integer, OneOf
from glassine.learners.exhaustive.optimal import OptimalRuleListClassifier, OptimalTreeClassifier
from tests.oracles import model_classes as oracle
from tests.oracles.optimal import optimal_rule_list, optimal_tree, with_negations


def data(seed: int, n: int, p: int, n_classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p))
    return X, (X[:, 0] * (1 + X[:, 1]) + (rng.random(n) < 0.2)) % n_classes


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("penalty", [0, 2, 5])
def test_trees_attain_the_optimum(depth: int, penalty: int) -> None:
    X, y = data(depth, 120, 6, 3)
    tree = OptimalTreeClassifier(depth, penalty=penalty / 120).fit(X, y)
    least, _ = optimal_tree(X, y, depth, penalty)
    assert tree.objective_ * 120 == pytest.approx(least, abs=1e-9)
    leaves = len(tree.model_.cells)
    assert int((tree.predict(X) != y).sum()) + penalty * (leaves - 1) == least


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("penalty", [0, 2, 5])
def test_lists_attain_the_optimum(length: int, penalty: int) -> None:
    X, y = data(length, 120, 5, 2)
    rules = OptimalRuleListClassifier(length, penalty=penalty / 120).fit(X, y)
    least, _ = optimal_rule_list(with_negations(X), y, length, penalty)
    assert rules.objective_ * 120 == pytest.approx(least, abs=1e-9)
    assert int((rules.predict(X) != y).sum()) + penalty * (len(rules.model_.rules) - 1) == least


def test_lists_of_pairs_attain_the_optimum() -> None:
    X, _ = data(0, 200, 4, 2)
    y = ((X[:, 0] & X[:, 1]) | (X[:, 2] & ~X[:, 3] & 1)).astype(int)
    single = with_negations(X)
    columns = [*single.T] + [
        one & other for i, one in enumerate(single.T) for j, other in enumerate(single.T) if i < j and i % 4 != j % 4
    ]
    pool = np.array(columns).T
    costs = []
    for length in (1, 2):
        rules = OptimalRuleListClassifier(length, pool="pairs").fit(X, y)
        costs.append(optimal_rule_list(pool, y, length)[0])
        assert rules.objective_ * 200 == pytest.approx(costs[-1])
    assert costs[0] > costs[1] == 0


def test_published_counts_are_those_of_the_records() -> None:
    X, y = data(7, 90, 4, 3)
    for learner in (OptimalTreeClassifier(2), OptimalRuleListClassifier(2)):
        fitted = learner.fit(X, y)
        cells = fitted.apply(X)
        for i, cell in enumerate(fitted.model_.cells):
            counts = np.bincount(y[cells == i], minlength=3)
            assert cell.evidence.counts == tuple(counts.tolist())
            assert cell.evidence.prediction == int(np.argmax(counts))


def test_thresholds_and_categories_of_a_domain() -> None:
    domain = Domain({"n": Integer(0, 9, thresholds=(2.5, 6.5)), "k": Category(("u", "v", "w"))})
    rng = np.random.default_rng(1)
    numbers, kinds = rng.integers(0, 10, 150), rng.integers(0, 3, 150)
    y = ((numbers > 2.5) ^ (kinds == 1) ^ (rng.random(150) < 0.1)).astype(int)
    frame = pd.DataFrame({"n": numbers, "k": np.array(["u", "v", "w"])[kinds]})
    truth = np.stack([numbers <= 2.5, numbers <= 6.5, kinds == 0, kinds == 1, kinds == 2], axis=1)
    for depth in (1, 2, 3):
        tree = OptimalTreeClassifier(depth, domain=domain, literals="thresholds").fit(frame, y)
        assert int((tree.predict(frame) != y).sum()) == optimal_tree(truth, y, depth)[0]


def test_a_tie_goes_to_the_smaller_model() -> None:
    X, y = np.array([[0, 0], [1, 0], [0, 1], [1, 1]]), np.array([0, 0, 0, 0])
    assert len(OptimalTreeClassifier(3).fit(X, y).model_.cells) == 1
    assert len(OptimalRuleListClassifier(3).fit(X, y).model_.rules) == 1
    # One split saves two errors of four: worth a penalty of up to a half.
    y = X[:, 0]
    for penalty, leaves in ((0.49, 2), (0.5, 1)):
        assert len(OptimalTreeClassifier(1, penalty=penalty).fit(X, y).model_.cells) == leaves


def test_given_literals_and_one_class() -> None:
    X, y = data(3, 60, 4, 2)
    domain = Domain.binary([f"b{i}" for i in range(4)])
    tree = OptimalTreeClassifier(2, domain=domain, literals=[OneOf("b2", (1,)), OneOf("b3", (1,))]).fit(X, y)
    assert {literal.attribute for literal in tree.model_.literals} <= {"b2", "b3"}
    least = optimal_tree(X[:, 2:], y, 2)[0]
    assert int((tree.predict(X) != y).sum()) == least
    alone = OptimalTreeClassifier(2, domain=domain, classes=("only",)).fit(X, np.full(60, "only"))
    assert alone.objective_ == 0.0
    assert set(alone.predict(X)) == {"only"}


def test_the_search_and_the_list_of_all_trees_agree_with_the_estimator() -> None:
    X, y = data(11, 40, 3, 2)
    worlds = oracle.independent(3)
    least, _ = oracle.optimum(oracle.trees(worlds, [0, 1], 2), X.astype(bool), y)
    assert OptimalTreeClassifier(2).fit(X, y).objective_ * 40 == pytest.approx(float(least))
