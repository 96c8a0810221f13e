"""Records of small nodes of a large tree: followed together, they reach the leaves that they reach node by node."""

from __future__ import annotations

import numpy as np
import pytest

from glassine.domain import Between, Literal, OneOf
from glassine.errors import InvalidDataError
from glassine.models import Branch, DecisionTree, Evidence, Node
from glassine.models.flat_tree import FEW
from glassine.models.records import counted_records, implied, read_records
from glassine.records.arrays import AnyArray


def random_tree(rng: np.random.Generator, n_splits: int) -> DecisionTree:
    """Return a binary tree over two numbers and two categories, with missing values on either side."""
    nodes, leaves = [Node(evidence=Evidence(counts=(0, 0)))], [0]
    for _ in range(n_splits):
        at = leaves.pop(int(rng.integers(len(leaves))))
        name, gaps = "abcd"[int(rng.integers(4))], bool(rng.random() < 0.5)
        literal: Literal
        if name in "ab":
            literal = Between(name, hi=float(rng.normal()), missing=gaps)
        else:
            literal = OneOf(name, tuple(rng.choice(["u", "v", "w", "x"], 2, replace=False).tolist()), missing=gaps)
        nodes += [Node(evidence=Evidence(counts=(0, 0)))] * 2
        leaves += [len(nodes) - 2, len(nodes) - 1]
        nodes[at] = Node(branches=(Branch(literal, len(nodes) - 2), Branch(literal.negate(), len(nodes) - 1)))
    return DecisionTree(tuple(nodes), attributes=("a", "b", "c", "d"), classes=("no", "yes"))


def columns(rng: np.random.Generator, n: int) -> dict[str, AnyArray]:
    """Return records with missing values, and with a value that no literal names."""
    numbers = {name: np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)) for name in "ab"}
    texts = {name: rng.choice(np.array(["u", "v", "w", "y", None], dtype=object), n) for name in "cd"}
    return {**numbers, **texts}


@pytest.mark.parametrize("seed", range(5))
def test_records_that_are_followed_together_reach_the_leaves_they_reach_node_by_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, data = random_tree(rng, 150), columns(rng, 2000)
    for records in (
        read_records(data, tree.attributes, tree.literals),
        counted_records(data, implied(tree.literals)),
    ):
        for unmatched in ("last branch", "left out"):
            one_by_one = np.full(records.n_records, -1)
            where = {cell.node: i for i, cell in enumerate(tree.cells)}
            for visit in tree.walk(records.n_records, records.holds, unmatched):
                if visit.node in where:
                    one_by_one[visit.rows] = where[visit.node]
            assert tree.cells_of(records, unmatched).tolist() == one_by_one.tolist()


def test_most_of_the_records_take_the_way_that_is_tested() -> None:
    rng = np.random.default_rng(0)
    tree, data = random_tree(rng, 150), columns(rng, 2000)
    records = read_records(data, tree.attributes, tree.literals)
    stopped = [v for v in tree.walk(2000, records.holds, "last branch", least=FEW) if not v.parts]
    flat = tree._flat
    assert flat is not None
    assert flat.suits(records)
    assert sum(len(visit.rows) for visit in stopped) == 2000
    assert len(stopped) < len(tree.cells)


def test_a_value_that_satisfies_no_branch_of_a_small_node_is_an_error() -> None:
    rng = np.random.default_rng(0)
    nodes = list(random_tree(rng, 150).nodes)
    first = next(i for i, node in enumerate(nodes) if node.branches and node.branches[0].literal.attribute == "a")
    children = [branch.child for branch in nodes[first].branches]
    # Neither side takes a missing value.
    nodes[first] = Node(branches=(Branch(Between("a", hi=0.0), children[0]), Branch(Between("a", lo=0.0), children[1])))
    tree = DecisionTree(tuple(nodes), attributes=("a", "b", "c", "d"), classes=("no", "yes"))
    with pytest.raises(InvalidDataError, match="'a'"):
        tree.apply(columns(rng, 300))


def test_a_split_into_three_is_followed_node_by_node() -> None:
    literals = OneOf("c", ("u",)), OneOf("c", ("v",)), OneOf("c", ("u", "v"), negated=True, missing=True)
    branches = tuple(Branch(literal, i + 1) for i, literal in enumerate(literals))
    tree = DecisionTree((Node(branches=branches), Node(), Node(), Node()), attributes=("c",))
    assert tree._flat is None
