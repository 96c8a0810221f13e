"""Optimal trees against another solver that proves optimality, optimal lists against branch and bound."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.peers.environments import EVERY_PEER, Missing, python_of
from glassine.learners import OptimalRuleListClassifier, OptimalTreeClassifier
from tests.conftest import ROOT
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


PYDL85 = next(peer for peer in EVERY_PEER if peer.name == "pydl8.5")


def errors_of(tree: Any, X: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> int:
    """Return the errors of a tree of nested lists: attribute, the part where it is 1, and the other."""
    if isinstance(tree, int):
        return int((y != tree).sum())
    column, true, false = tree
    holds = X[:, column] == 1
    return errors_of(true, X[holds], y[holds]) + errors_of(false, X[~holds], y[~holds])


Ints = npt.NDArray[np.int64]

MISSED = [
    ("000101111010 001010100001 100000011000 010001010100", "011000001101", 2, 3, 2, 3),
    ("010111001101 100011110110 010101110101 111011010010", "010010101101", 3, 2, 1, 3),
    # It finds no split here.
    ("000001110111 011101001100 010010001110 001101000010 111010101011", "010001110110", 2, 5, 2, 6),
]
"""Columns, labels, depth, fewest records of a leaf, least errors, and the errors of pydl8.5 0.1.8."""


def twelve(columns: str, labels: str) -> tuple[Ints, Ints]:
    """Return twelve records and their labels."""
    return np.array([list(map(int, column)) for column in columns.split()]).T, np.array(list(map(int, labels)))


@pytest.mark.parametrize(("columns", "labels", "depth", "fewest", "best", "theirs"), MISSED)
def test_trees_of_a_least_leaf_are_optimal_where_pydl85_misses_the_optimum(
    columns: str, labels: str, depth: int, fewest: int, best: int, theirs: int
) -> None:
    X, y = twelve(columns, labels)
    ours = OptimalTreeClassifier(depth, min_samples_leaf=fewest).fit(X, y)
    assert int((ours.predict(X) != y).sum()) == best == optimal_tree(X, y, depth, 0, fewest)[0] < theirs
    assert np.bincount(ours.apply(X)).min() >= fewest
    assert PYDL85.requirements == ("pydl8.5==0.1.8",), "whose errors these are"


@pytest.mark.parametrize(("columns", "labels", "depth", "fewest", "best", "theirs"), MISSED)
def test_pydl85_still_misses_the_optimum(
    columns: str, labels: str, depth: int, fewest: int, best: int, theirs: int, tmp_path: Path
) -> None:
    try:
        python = python_of(PYDL85)
    except Missing as reason:
        pytest.skip(str(reason))
    X, y = twelve(columns, labels)
    np.savez(tmp_path / "records.npz", X=X.astype(np.uint8), y=y)
    task = json.dumps([{"depth": depth, "least": fewest, "limit": 60, "at once": True}])
    script = ROOT / "papers" / "reconstruction" / "peer_pydl85.py"
    command = [str(python), str(script), str(tmp_path / "records.npz"), task]
    (found,) = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert (found["finished"], errors_of(found["tree"], X, y)) == (True, theirs)


@pytest.mark.parametrize("seed", range(50))
def test_lists_cost_what_branch_and_bound_proves(seed: int) -> None:
    X, y = instance(seed)
    length = 1 + seed % 3
    errors = seed % 4
    ours = OptimalRuleListClassifier(length, penalty=errors / len(y)).fit(X, y)
    best, _ = optimal_rule_list(with_negations(X.astype(bool)), y, length, errors)
    assert ours.objective_ * len(y) == pytest.approx(best)
