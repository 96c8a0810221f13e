"""Optimal trees against another solver that proves optimality, optimal lists against branch and bound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from glassine import OptimalRuleListClassifier, OptimalTreeClassifier
from tests.oracles.optimal import optimal_rule_list, optimal_tree, with_negations


def instance(seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return 0/1 records whose class follows two or three columns, with noise."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(60, 400)), int(rng.integers(4, 10))
    X = (rng.random((n, p)) < rng.uniform(0.2, 0.8, p)).astype(np.int64)
    y = (X[:, 0] & X[:, 1]) | X[:, 2] if seed % 2 else X[:, 0] ^ X[:, 3]
    flip = rng.random(n) < rng.uniform(0, 0.3)
    return X, np.where(flip, 1 - y, y)


@pytest.mark.parametrize("seed", range(50))
def test_trees_cost_what_streed_proves(seed: int) -> None:
    pystreed = pytest.importorskip("pystreed")
    X, y = instance(seed)
    depth = 2 + seed % 3
    penalty = seed % 4 / len(y)
    ours = OptimalTreeClassifier(depth, penalty=penalty).fit(X, y)
    peer = pystreed.STreeDClassifier(
        optimization_task="cost-complex-accuracy", max_depth=depth, cost_complexity=penalty, min_leaf_node_size=1
    )
    peer.fit(X, y)
    theirs = int((peer.predict(X) != y).sum()) / len(y) + penalty * int(peer.fit_result.tree_nodes())
    assert ours.objective_ == pytest.approx(theirs, abs=1e-9)
    assert (ours.predict(X) != y).mean() + penalty * (len(ours.model_.cells) - 1) == pytest.approx(ours.objective_)


@pytest.mark.parametrize(("seed", "depth", "fewest", "best", "streed"), [(108, 2, 20, 26, 27), (118, 3, 20, 55, 57)])
def test_trees_of_a_least_leaf_are_optimal_where_streed_misses_the_optimum(
    seed: int, depth: int, fewest: int, best: int, streed: int
) -> None:
    X, y = instance(seed)
    ours = OptimalTreeClassifier(depth, min_samples_leaf=fewest).fit(X, y)
    assert int((ours.predict(X) != y).sum()) == best == optimal_tree(X, y, depth, 0, fewest)[0]
    assert np.bincount(ours.apply(X)).min() >= fewest
    pystreed = pytest.importorskip("pystreed")
    peer = pystreed.STreeDClassifier(max_depth=depth, min_leaf_node_size=fewest).fit(X, y)
    assert best <= int((peer.predict(X) != y).sum()) <= streed


@pytest.mark.parametrize("seed", range(50))
def test_lists_cost_what_branch_and_bound_proves(seed: int) -> None:
    X, y = instance(seed)
    length = 1 + seed % 3
    errors = seed % 4
    ours = OptimalRuleListClassifier(length, penalty=errors / len(y)).fit(X, y)
    best, _ = optimal_rule_list(with_negations(X.astype(bool)), y, length, errors)
    assert ours.objective_ * len(y) == pytest.approx(best)
