"""The leaf-outcome attack: what it finds where leaves are small, that chance gives it nothing, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import DecisionTree, as_model
from glassine.attacks import leaf_outcome_attack
from glassine.attacks.outcome import Measured, NotApplicable
from glassine.data import Sample
from glassine.models import Evidence

N = 3000


def records(seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * N, 4)).round(3)
    return pl.DataFrame(X, schema=list("abcd")), X[:, 0] + rng.normal(size=2 * N)


def advantage(model: object, X: pl.DataFrame, y: np.ndarray, **more: object) -> float:
    found = leaf_outcome_attack(model, Sample(X[:N], y[:N]), Sample(X[N:], y[N:]), random_state=0, **more)  # type: ignore[arg-type]
    assert isinstance(found, Measured)
    return float(found.value.advantage.value)


@pytest.mark.parametrize(("leaf", "low", "high"), [(5, 0.2, 0.5), (300, -0.04, 0.06)])
def test_small_leaves_reveal_members_and_large_ones_do_not(leaf: int, low: float, high: float) -> None:
    X, y = records()
    classes = (y > 0).astype(int)
    tree = as_model(DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0).fit(X[:N].to_pandas(), classes[:N]))
    assert low < advantage(tree, X, classes) < high


def test_of_numbers_bins_of_the_outcome_are_looked_at() -> None:
    X, y = records()
    small, large = (
        as_model(DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0).fit(X[:N].to_pandas(), y[:N]))
        for leaf in (10, 300)
    )
    assert advantage(small, X, y) > 0.05 > advantage(large, X, y)


def test_the_counts_of_other_records_reveal_nothing() -> None:
    X, y = records()
    classes = (y > 0).astype(int)
    strangers, theirs = records(1)
    grown = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    tree = as_model(grown.fit(strangers[:N].to_pandas(), (theirs[:N] > 0).astype(int)))
    assert abs(advantage(tree, X, classes)) < 0.05


def test_without_published_counts_it_does_not_apply() -> None:
    X, y = records()
    classes = (y > 0).astype(int)
    tree = as_model(DecisionTreeClassifier(max_depth=2).fit(X[:N].to_pandas(), classes[:N]))
    assert isinstance(tree, DecisionTree)
    nodes = tuple(replace(node, evidence=Evidence(label=node.evidence.prediction)) for node in tree.nodes)
    found = leaf_outcome_attack(replace(tree, nodes=nodes), Sample(X[:N], classes[:N]), Sample(X[N:], classes[N:]))
    assert isinstance(found, NotApplicable)
    assert "does not publish who is in its leaves" in found.reason


def test_what_only_answers_has_no_leaves_and_no_name_of_a_class_is_told() -> None:
    class Answers:
        def predict(self, X: pl.DataFrame) -> np.ndarray:
            return np.zeros(len(X), dtype=int)

    X, y = records()
    classes = (y > 0).astype(int)
    found = leaf_outcome_attack(Answers(), Sample(X[:N], classes[:N]), Sample(X[N:], classes[N:]))
    assert found == NotApplicable("the attack is made on the leaves of one tree or rule list.")
