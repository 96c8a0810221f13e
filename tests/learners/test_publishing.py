"""Drawn models as published ones: the same predictions, counts that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.domain import Domain
from glassine.learners.publishing import decision_path, evidence_of
from glassine.privacy.randomness import Randomness
from glassine.records.undeclared import read_checked
from glassine.sealed.list_family import list_model
from glassine.sealed.tree_family import Leaf, Split, tree_model
from glassine.sealed.trees import leaf_nodes
from tests.learners import engine
from tests.oracles import model_classes as oracle

DOMAIN, LITERALS = engine.binary_domain(3)
WORLDS = oracle.independent(3)
RECORDS = read_checked({name: np.array([int(w[i]) for w in WORLDS]) for i, name in enumerate(DOMAIN)}, DOMAIN)


def drawn(seed: int, kind: str) -> Any:
    models, worlds = (
        engine.trees_of(DOMAIN, LITERALS, 3, 3)
        if kind == "tree"
        else engine.lists_of(DOMAIN, engine.singles(LITERALS), 3, 3)
    )
    truth, labels = engine.some_data(seed, worlds, 0, 3)
    return engine.sums_of(models, truth, labels, engine.weighting_of(1, 0)).draw(Randomness.of(seed))


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_a_tree_predicts_as_it_was_drawn(seed: int) -> None:
    tree = drawn(seed, "tree")
    leaves = leaf_nodes(tree)
    counts = np.arange(3 * len(leaves)).reshape(-1, 3)
    model = tree_model(
        tree, LITERALS, evidence_of(values_of(tree), counts), domain=DOMAIN, classes=("x", "y", "z"), source="test"
    )
    cells = model.apply(RECORDS)
    predictions = [model.cells[cell].evidence.prediction for cell in cells]
    assert predictions == [oracle.predict(engine.named(tree), world) for world in WORLDS]
    assert [cell.evidence.counts for cell in model.cells] == [tuple(row) for row in counts.tolist()]
    assert model.nodes[0].evidence.counts == tuple(counts.sum(axis=0).tolist())
    path = decision_path(model, RECORDS)
    assert path.shape == (len(WORLDS), len(model.nodes))
    assert (path.sum(axis=1) >= 1).all()


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_a_list_predicts_as_it_was_drawn(seed: int) -> None:
    rules = drawn(seed, "list")
    counts = np.arange(3 * (len(rules.rules) + 1)).reshape(-1, 3)
    model = list_model(
        rules,
        engine.singles(LITERALS),
        evidence_of([*(label for _, label in rules.rules), rules.default], counts),
        domain=DOMAIN,
        classes=(0, 1, 2),
        source="test",
    )
    cells = model.apply(RECORDS)
    predictions = [model.cells[cell].evidence.prediction for cell in cells]
    assert predictions == [oracle.predict(engine.named(rules), world) for world in WORLDS]
    assert [rule.evidence.counts for rule in model.rules] == [tuple(row) for row in counts.tolist()]
    tested = np.asarray(decision_path(model, RECORDS).sum(axis=1)).ravel()
    assert tested.tolist() == (cells + 1).tolist()


@pytest.mark.parametrize("tree", [Leaf(1), Split(0, Leaf(0), Split(2, Leaf(1), Leaf(0)))])
def test_without_counts_a_tree_has_labels_alone(tree: Any) -> None:
    model = tree_model(tree, LITERALS, evidence_of(values_of(tree), None), domain=DOMAIN, classes=(0, 1), source="test")
    assert all(node.evidence.counts is None for node in model.nodes)
    assert [cell.evidence.prediction for cell in model.cells] == [leaf[1] for leaf in leaves_of(engine.named(tree))]


def values_of(tree: Any) -> list[int]:
    return [leaf[1] for leaf in leaves_of(engine.named(tree))]


def leaves_of(tree: Any) -> list[Any]:
    return [tree] if tree[0] == "leaf" else leaves_of(tree[2]) + leaves_of(tree[3])


def test_a_single_leaf_takes_everything() -> None:
    model = tree_model(
        Leaf(0), [], evidence_of([0], np.array([[3, 1]])), domain=Domain.binary(["b"]), classes=(0, 1), source="t"
    )
    records = read_checked({"b": np.array([0, 1, 1])}, Domain.binary(["b"]))
    assert model.apply(records).tolist() == [0, 0, 0]
    assert len(model.nodes) == 1
