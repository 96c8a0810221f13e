"""Merging small and pure leaves: one way, whoever asks for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassine import Category, DecisionTree, Domain, scrub
from glassine.attacks.disclosure.remedies import Remedies, measure_remedies
from glassine.domain import OneOf
from glassine.learners import MultiwayTreeClassifier
from glassine.models import Branch, Evidence, Node
from glassine.models.transform import merge_leaves

NAMES = ("a", "b", "c")


def records(seed: int, n: int) -> tuple[pl.DataFrame, list[str], DecisionTree, Domain]:
    """Return records of categories, of which some combinations are absent, and a tree with leaves for those too."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (n, 3))
    frame = pl.DataFrame({name: [f"v{code}" for code in codes[:, i]] for i, name in enumerate(NAMES)})
    y = [f"c{code}" for code in (codes.sum(axis=1) + (rng.random(n) < 0.3)) % 3]
    domain = Domain({name: Category(tuple(f"v{i}" for i in range(5))) for name in NAMES})
    learner = MultiwayTreeClassifier(min_samples_split=6, domain=domain, classes=("c0", "c1", "c2"))
    return frame, y, learner.fit(frame, y).model_, domain


def sizes_of(tree: DecisionTree) -> dict[int, int]:
    return {cell.node: cell.evidence.size or 0 for cell in tree.cells}


def naively(tree: DecisionTree, below: int, purity: float) -> list[tuple[str, tuple[int, ...]]]:
    """Return conditions and class counts of the leaves, splits undone one by one until no leaf fails."""

    def fails(counts: tuple[int, ...]) -> bool:
        return sum(counts) > 0 and (sum(counts) < below or max(counts) > purity * sum(counts))

    leaves = {cell.node: cell.evidence.counts or () for cell in tree.cells}
    parents = {branch.child: i for i, node in enumerate(tree.nodes) for branch in node.branches}
    depth = {0: 0}
    for i, node in enumerate(tree.nodes):
        depth |= {branch.child: depth[i] + 1 for branch in node.branches}
    while failing := [i for i in leaves if fails(leaves[i]) and i != 0]:
        parent = parents[max(failing, key=depth.__getitem__)]
        inside = [i for i in leaves if parent in ancestors(i, parents)]
        leaves[parent] = tuple(map(sum, zip(*(leaves.pop(i) for i in inside), strict=True)))
    return sorted((path(tree, i, parents), counts) for i, counts in leaves.items())


def ancestors(index: int, parents: dict[int, int]) -> list[int]:
    out = []
    while index in parents:
        index = parents[index]
        out.append(index)
    return out


def path(tree: DecisionTree, index: int, parents: dict[int, int]) -> str:
    out = []
    while index in parents:
        out.append(next(str(b.literal) for b in tree.nodes[parents[index]].branches if b.child == index))
        index = parents[index]
    return " / ".join(reversed(out))


def written(tree: DecisionTree) -> list[tuple[str, tuple[int, ...]]]:
    parents = {branch.child: i for i, node in enumerate(tree.nodes) for branch in node.branches}
    return sorted((path(tree, cell.node, parents), cell.evidence.counts or ()) for cell in tree.cells)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 120),
    below=st.integers(0, 40),
    purity=st.sampled_from((1.0, 0.95, 0.8, 0.5)),
)
@settings(max_examples=60, deadline=None)
@example(seed=0, n=60, below=5, purity=1.0)
@example(seed=1, n=60, below=0, purity=0.8)
def test_every_split_with_a_failing_leaf_is_undone_and_no_other(seed: int, n: int, below: int, purity: float) -> None:
    *_, tree, _ = records(seed, n)
    merged = merge_leaves(tree, sizes_of(tree), below, purity=purity)
    assert written(merged) == naively(tree, below, purity)
    assert merged.n_records == n


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), n=st.integers(20, 90), below=st.integers(2, 12))
@settings(max_examples=10, deadline=None)
@example(seed=0, n=60, below=3)
def test_scrubbing_and_the_remedies_merge_alike(seed: int, n: int, below: int) -> None:
    frame, y, tree, domain = records(seed, n)
    expected = merge_leaves(tree, sizes_of(tree), below)
    for data in (None, frame):
        scrubbed = scrub(tree, domain, counts="keep", smallest_leaf=below, data=data).model
        assert written(scrubbed) == written(expected)
    table = measure_remedies(
        tree, frame, y, remedies=Remedies(merge_below=[below], purities=[], round_to=[], epsilons=[])
    )
    row = next(row for row in table.rows if row.kind == "merge")
    assert row.reason is None
    assert row.n_leaves == sum(cell.evidence.size != 0 for cell in expected.cells)


def test_a_leaf_that_nobody_is_in_is_not_merged() -> None:
    *_, tree, domain = records(0, 200)
    assert any(cell.evidence.size == 0 for cell in tree.cells)
    smallest = min(cell.evidence.size for cell in tree.cells if cell.evidence.size)
    assert scrub(tree, domain, counts="keep", smallest_leaf=smallest).n_merged == 0


@pytest.mark.parametrize("exact", [True, False])
def test_a_rounded_size_of_zero_may_hold_records(exact: bool) -> None:
    nodes = (
        Node(branches=(Branch(OneOf("a", ("v0",)), 1), Branch(OneOf("a", ("v0",), negated=True), 2))),
        Node(evidence=Evidence(counts=(0, 0), label=0)),
        Node(evidence=Evidence(counts=(30, 20))),
    )
    domain = Domain({"a": Category(("v0", "v1"))})
    tree = replace(DecisionTree(nodes, ("a",), (0, 1)), approximate=not exact)
    assert len(scrub(tree, domain, counts="keep", smallest_leaf=10).model.cells) == (2 if exact else 1)
