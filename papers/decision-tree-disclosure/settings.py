"""The paper's records, and trees of about its sizes, pre-pruned in several ways."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import disclosure as benchmark
from public_data import ADULT_COLUMNS, DATA, _adult_rows

from glassine import as_model
from glassine.learners.greedy.impurity import impurity
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import DecisionTree, Evidence, Node

Criterion = Literal["gini", "entropy"]
Labels = list[str]
Counts = npt.NDArray[np.int64]

QUASI = benchmark.QUASI
SENSITIVE = "education"
PUBLISHED = {"gini": (518, 7_770, 1_097), "entropy": (2_983, 44_745, 3_307)}
"""Rate, label and internal constraints as printed."""


@cache
def records() -> tuple[pl.DataFrame, Labels]:
    """Return the quasi-identifiers and the education of the 30,162 records without missing values."""
    if not DATA.is_dir():
        raise SystemExit(f"the datasets are not in {DATA}; GLASSINE_DATA names their folder")
    rows = [row for row in _adult_rows() if "?" not in row.values()]
    return pl.DataFrame({name: [row[name] for row in rows] for name in QUASI}), [row[SENSITIVE] for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What pre-pruning can look at in a node of a multiway tree.

    Attributes
    ----------
    size, errors : int
        Records, and those that are not of the most frequent class.
    second : int
        Records of the second largest branch.
    depth : int
        Splits above it.
    share : float
        Share of the most frequent class.
    gain, relative, weighted : float
        Decrease of the mean impurity by the split: per record of the node, in relation to the node's impurity, and per
        record of the whole set.
    """

    size: int
    errors: int
    second: int
    depth: int
    share: float
    gain: float
    relative: float
    weighted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """A tree that was grown until no split gains anything, with the class counts of every node."""

    tree: DecisionTree
    criterion: Criterion
    counts: dict[int, Counts]
    facts: dict[int, Facts]

    def cut(self, keep: Callable[[Facts], bool]) -> DecisionTree:
        """Return the tree that pre-pruning by a rule gives: splits depend on nothing below them."""
        nodes: list[Node] = []

        def visit(index: int) -> int:
            at, node = len(nodes), self.tree.nodes[index]
            nodes.append(Node())
            held = self.counts[index]
            label = int(held.argmax()) if held.any() else node.evidence.prediction
            branches = node.branches if node.branches and keep(self.facts[index]) else ()
            moved = tuple(replace(branch, child=visit(branch.child)) for branch in branches)
            nodes[at] = Node(branches=moved, evidence=Evidence(counts=tuple(held.tolist()), label=label))
            return at

        visit(0)
        return replace(self.tree, nodes=tuple(nodes))


@cache
def grown(criterion: Criterion) -> Grown:
    """Return the whole tree of a criterion."""
    frame, labels = records()
    tree = MultiwayTreeClassifier(criterion=criterion).fit(frame, labels).model_
    counts: dict[int, Counts] = {}
    facts: dict[int, Facts] = {}

    def visit(index: int, depth: int) -> Counts:
        node = tree.nodes[index]
        if not node.branches:
            counts[index] = np.array(node.evidence.counts, dtype=np.int64)
            return counts[index]
        below = np.stack([visit(branch.child, depth + 1) for branch in node.branches])
        held = counts[index] = below.sum(axis=0)
        whole, rest = float(impurity(held, criterion)), float(impurity(below, criterion).sum())
        n = int(held.sum())
        facts[index] = Facts(
            size=n,
            errors=n - int(held.max()),
            second=int(np.sort(below.sum(axis=1))[-2]),
            depth=depth,
            share=float(held.max()) / n,
            gain=(whole - rest) / n,
            relative=(whole - rest) / whole,
            weighted=(whole - rest) / len(labels),
        )
        return held

    visit(0, 0)
    return Grown(tree=tree, criterion=criterion, counts=counts, facts=facts)


def by_size(criterion: Criterion, smallest: int) -> DecisionTree:
    """Return the tree of which nodes of fewer records are not split."""
    return grown(criterion).cut(lambda facts: facts.size >= smallest)


def by_gain(criterion: Criterion, least: float, deepest: int = 8) -> DecisionTree:
    """Return the tree of which no split gains less than an impurity per record of its node."""
    return grown(criterion).cut(lambda facts: facts.gain > least and facts.depth < deepest)


def by_weighted_gain(criterion: Criterion, least: float) -> DecisionTree:
    """Return the tree of which no split gains less than an impurity per record of the whole set."""
    return grown(criterion).cut(lambda facts: facts.weighted > least)


def binary(criterion: Criterion, leaves: int) -> DecisionTree:
    """Return a CART on dummies of the quasi-identifiers."""
    frame, labels = records()
    learner = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=leaves, random_state=0)
    model = as_model(
        make_pipeline(make_column_transformer((OneHotEncoder(), list(QUASI))), learner).fit(frame.to_pandas(), labels)
    )
    if not isinstance(model, DecisionTree):
        raise TypeError("a CART is a decision tree")
    return model


def income() -> tuple[DecisionTree, pl.DataFrame, Labels]:
    """Return a CART of 500 leaves for the income of all 32,561 people, and these; without their sampling weights."""
    rows = _adult_rows()
    numbers = [name for name in benchmark.NUMBERS if name != "fnlwgt"]
    others = [name for name in ADULT_COLUMNS if name not in (*benchmark.NUMBERS, "income")]
    frame = pl.DataFrame(
        {name: [int(row[name]) for row in rows] for name in numbers}
        | {name: [row[name] for row in rows] for name in others}
    )
    labels = [row["income"] for row in rows]
    encoder = make_column_transformer((OneHotEncoder(), others), remainder="passthrough")
    learner = make_pipeline(encoder, DecisionTreeClassifier(max_leaf_nodes=500, random_state=0))
    model = as_model(learner.fit(frame.to_pandas(), labels))
    if not isinstance(model, DecisionTree):
        raise TypeError("a CART is a decision tree")
    return model, frame, labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A tree of the experiments.

    Attributes
    ----------
    criterion : {"gini", "entropy"}
        How its splits were selected.
    title : str
        What it is.
    make : callable
        Returns the tree.
    splits : {"auto", "binary"}
        What the reader knows of the candidates: a CART on dummies does not state how it split categories.
    """

    criterion: Criterion
    title: str
    make: Callable[[], DecisionTree]
    splits: Literal["auto", "binary"] = "auto"


TREES: dict[str, Setting] = {
    "gini": Setting(
        criterion="gini", title="Gini, nodes of 740 records or more split", make=lambda: by_size("gini", 740)
    ),
    "gini-gain": Setting(
        criterion="gini",
        title="Gini, every split gains 0.0274 or more in its node, depth 5",
        make=lambda: by_gain("gini", 0.0274, 5),
    ),
    "gini-binary": Setting(
        criterion="gini",
        title="Gini, CART on dummies",
        make=lambda: binary("gini", PUBLISHED["gini"][0]),
        splits="binary",
    ),
    "gini-large": Setting(
        criterion="gini", title="Gini, nodes of 8 records or more split", make=lambda: by_size("gini", 8)
    ),
    "entropy": Setting(
        criterion="entropy",
        title="information gain, nodes of 8 records or more split",
        make=lambda: by_size("entropy", 8),
    ),
    "entropy-gain": Setting(
        criterion="entropy",
        title="information gain, every split gains 7.75e-5 nats or more of all records",
        make=lambda: by_weighted_gain("entropy", 7.75e-5),
    ),
    "entropy-small": Setting(
        criterion="entropy",
        title="information gain, nodes of 700 records or more split",
        make=lambda: by_size("entropy", 700),
    ),
}
"""The first of each criterion is the one that the figures show; the large and the small one have each other's size."""


def distinct() -> int:
    """Return the number of distinct quasi-identifiers."""
    return records()[0].n_unique()


def codes() -> dict[str, npt.NDArray[Any]]:
    """Return the quasi-identifiers as numbers, attribute by attribute."""
    frame, _ = records()
    return {name: np.unique(frame[name].to_numpy(), return_inverse=True)[1] for name in QUASI}


__all__ = [
    "PUBLISHED",
    "QUASI",
    "SENSITIVE",
    "TREES",
    "Criterion",
    "Facts",
    "Grown",
    "Labels",
    "Setting",
    "binary",
    "by_gain",
    "by_size",
    "by_weighted_gain",
    "codes",
    "distinct",
    "grown",
    "income",
    "records",
]  # fmt: skip
