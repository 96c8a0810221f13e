"""The estimate against a general solver, and what is certified about it."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from glassine.attacks.disclosure import Adversary, Disclosure, infer_sensitive
from glassine.attacks.disclosure.dual import DualProblem, _Dual
from glassine.attacks.disclosure.lagrangian import Starts
from glassine.attacks.disclosure.leaf_constraints import Rows
from glassine.learners.greedy.impurity import Criterion
from glassine.models import DecisionTree, Evidence, Node
from tests.attacks.disclosure.instances import categories, mixed, parity
from tests.attacks.disclosure.naive import Problem

Floats = npt.NDArray[np.float64]
SMOOTH: list[Criterion] = ["gini", "entropy", "gain_ratio"]


def problem(disclosure: Disclosure) -> Problem:
    """Return the problem that a disclosure solves, its linear rows written anew."""
    people, leaves = disclosure.people, disclosure.leaves
    q, c = disclosure.quasi_probabilities.shape
    equal: list[tuple[Floats, float]] = []
    at_least: list[tuple[Floats, float]] = []
    for leaf in range(len(leaves.sizes)):
        inside = (people.leaf == leaf).astype(float)[:, None]
        unit = np.eye(c)
        if leaves.counts is not None:
            equal += [(inside * unit[j], float(leaves.counts[leaf, j])) for j in range(c - 1)]
            continue
        assert leaves.labels is not None
        label = int(leaves.labels[leaf])
        if leaves.correct is not None:
            equal.append((inside * unit[label], float(leaves.correct[leaf])))
        at_least += [(inside * (unit[label] - unit[j]), 0.0) for j in range(c) if j != label]
    if disclosure.class_totals is not None:
        equal += [(np.ones((q, 1)) * np.eye(c)[j], float(disclosure.class_totals[j])) for j in range(c - 1)]
    return Problem(
        sizes=people.sizes.astype(float),
        equal=equal,
        at_least=at_least,
        slack=lambda x: disclosure.constraints.worst(np.maximum(x, 0)).slack,
    )


def without_inner_evidence(tree: DecisionTree) -> DecisionTree:
    return DecisionTree(
        tuple(Node(branches=n.branches, evidence=Evidence() if n.branches else n.evidence) for n in tree.nodes),
        tree.attributes,
        tree.classes,
    )


def reshaped(disclosure: Disclosure) -> bool:
    return bool(np.abs(disclosure.quasi_probabilities - disclosure.leaf_probabilities).max() > 1e-3)


def searched(criterion: Criterion, *, n_wanted: int, leaves: Any = "leaf_counts", **more: Any) -> list[Disclosure]:
    """Return disclosures of random trees in which the internal nodes tell something."""
    found: list[Disclosure] = []
    for seed in range(100):
        frame, _, tree = parity(seed, criterion=criterion, n=26, values=2, **more)
        adversary = Adversary(leaves, criterion=criterion, min_samples_leaf=1)
        disclosure = infer_sensitive(tree, frame, adversary=adversary, starts=Starts(2))
        if reshaped(disclosure):
            found.append(disclosure)
            if len(found) == n_wanted:
                return found
    raise AssertionError("no such instance")


@pytest.mark.parametrize("seed", range(6))
def test_a_newton_step_solves_the_whole_system_though_forms_touch_few_leaves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaf = np.sort(np.concatenate([np.arange(5), rng.integers(0, 5, 6)]))
    rows = Rows(
        forms=rng.normal(size=(5, 2, 3)), bounds=np.zeros((5, 2)), exists=rng.random((5, 2)) < 0.8,
        bounded=np.zeros((5, 2), dtype=bool), possible=np.ones((5, 3), dtype=bool),
    )  # fmt: skip
    # The first form touches all leaves, the second two of them, the third one; leaf 4 is touched by the first alone.
    touches = np.stack([leaf >= 0, leaf < 2, leaf == 3], axis=1)
    forms = rng.normal(size=(len(leaf), 3, 3)) * touches[:, None, :]
    posed = DualProblem(
        mass=rng.integers(1, 9, len(leaf)).astype(float), leaf=leaf, rows=rows,
        forms=sparse.csr_matrix(forms.reshape(-1, 3)), bounds=np.zeros(3), bounded=np.ones(3, dtype=bool),
        offset=np.zeros(3),
    )  # fmt: skip
    dual = _Dual(posed)
    theta, right, diagonal = rng.normal(size=13) * dual.exists, rng.normal(size=13), rng.random(13) + 0.1

    def gradient(point: Floats) -> Floats:
        return dual.gradient(dual.table(point)[0])

    steps = 1e-5 * np.eye(13)
    hessian = np.stack([(gradient(theta + d) - gradient(theta - d)) / 2e-5 for d in steps], axis=1)
    there = dual.exists
    expected = np.linalg.solve((hessian + np.diag(diagonal))[np.ix_(there, there)], right[there])
    np.testing.assert_allclose(dual.direction(dual.table(theta)[0], right, diagonal)[there], expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", SMOOTH)
def test_with_counts_the_estimate_is_that_of_a_general_solver(criterion: Criterion) -> None:
    for disclosure in searched(criterion, n_wanted=3):
        n = disclosure.people.n_people
        start = disclosure.leaf_probabilities * disclosure.people.sizes[:, None]
        best = problem(disclosure).maximise(start)
        assert disclosure.status == "optimal"
        assert disclosure.gap < 1e-7
        assert disclosure.entropy * n == pytest.approx(best, abs=2e-4 * n)
        assert best <= disclosure.bound * n + 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "misclassification"])
def test_the_estimate_keeps_what_is_known_and_the_bound_holds_for_the_truth(criterion: Criterion) -> None:
    n_shaped = 0
    for seed in range(25):
        frame, y, tree = parity(seed, criterion=criterion)
        disclosure = infer_sensitive(tree, frame, adversary=Adversary(criterion=criterion, min_samples_leaf=1))
        table = disclosure.quasi_probabilities * disclosure.people.sizes[:, None]
        assert disclosure.constraints.satisfied(table)
        counts = np.zeros_like(disclosure.leaves.shares())
        np.add.at(counts, disclosure.people.leaf, table)
        assert counts == pytest.approx(disclosure.leaves.counts, abs=1e-6)
        assert disclosure.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert disclosure.probabilities.min() >= 0
        true = disclosure.true_probabilities(y)
        entropy = -float(disclosure.people.sizes @ (true * np.log(np.where(true > 0, true, 1))).sum(axis=1)) / len(y)
        assert entropy <= disclosure.bound + 1e-9
        assert math.isfinite(disclosure.d_overall(y))
        # The truth keeps all constraints, so that it is no further from the estimate than from the leaves alone.
        assert disclosure.d_overall(y) <= disclosure.compare(y)[1].d_overall + 1e-7  # type: ignore[operator]
        assert disclosure.gap < 1e-6
        n_shaped += reshaped(disclosure)
    assert n_shaped > 1


@pytest.mark.slow
@pytest.mark.parametrize("criterion", [pytest.param("gini", marks=pytest.mark.slow), "entropy"])
def test_error_rates_of_three_classes_reach_what_a_general_solver_reaches(criterion: Criterion) -> None:
    for disclosure in searched(criterion, n_wanted=2, leaves="error_rates"):
        n = disclosure.people.n_people
        table = disclosure.quasi_probabilities * disclosure.people.sizes[:, None]
        assert disclosure.status == "local"
        assert disclosure.constraints.satisfied(table)
        assert any("not convex" in note for note in disclosure.notes)
        best = problem(disclosure).maximise(disclosure.leaf_probabilities * disclosure.people.sizes[:, None])
        assert disclosure.entropy * n >= best - 1e-3 * n
        assert best <= disclosure.bound * n + 1e-6


def test_error_rates_of_two_classes_are_counts() -> None:
    frame, y = mixed(2, n=150)
    tree = DecisionTreeClassifier(max_leaf_nodes=10, random_state=0).fit(frame.select("age", "hours").to_pandas(), y)
    counts = infer_sensitive(tree, frame, adversary=Adversary())
    rates = infer_sensitive(tree, frame, adversary=Adversary("error_rates"))
    assert rates.status == "optimal"
    assert rates.probabilities == pytest.approx(counts.probabilities, abs=1e-9)


@pytest.mark.slow
def test_labels_alone_tell_nothing_unless_class_totals_are_known() -> None:
    frame, y, tree = categories(4, n=60, n_classes=3)
    labels = infer_sensitive(tree, frame, adversary=Adversary("labels_only"))
    assert labels.probabilities == pytest.approx(np.full((60, 3), 1 / 3))
    assert labels.status == "optimal"
    totals = {c: y.count(c) for c in ("c0", "c1", "c2")}
    known = infer_sensitive(tree, frame, adversary=Adversary("labels_only", marginals=totals))
    assert known.probabilities.sum(axis=0) == pytest.approx([y.count(c) for c in ("c0", "c1", "c2")], abs=1e-6)
    leaf = np.zeros((len(known.leaves.sizes), 3))
    np.add.at(leaf, known.people.leaf, known.quasi_probabilities * known.people.sizes[:, None])
    assert known.leaves.labels is not None
    at = np.arange(len(leaf))
    assert (leaf[at, known.leaves.labels] >= leaf.max(axis=1) - 1e-6).all()
    assert known.entropy < labels.entropy


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["error_rates", pytest.param("labels_only", marks=pytest.mark.slow)])
def test_class_totals_without_internal_nodes_are_the_global_optimum(leaves: Any) -> None:
    for seed in range(3):
        frame, y, tree = categories(seed, n=30, min_samples_split=8)
        totals = [y.count(c) for c in ("c0", "c1", "c2")]
        adversary = Adversary(leaves, internal_nodes=False, marginals=totals)
        disclosure = infer_sensitive(tree, frame, adversary=adversary)
        n = disclosure.people.n_people
        assert disclosure.gap < 1e-6
        best = problem(disclosure).maximise(disclosure.quasi_probabilities * disclosure.people.sizes[:, None])
        assert disclosure.entropy * n == pytest.approx(best, abs=1e-4 * n)


@pytest.mark.slow
def test_more_knowledge_leaves_less_entropy() -> None:
    frame, _, tree = categories(11, n=80, n_classes=3, attributes=4)
    left = []
    for leaves in ("labels_only", "error_rates", "leaf_counts"):
        for inner in (False, True):
            adversary = Adversary(leaves, internal_nodes=inner)
            left.append(infer_sensitive(tree, frame, adversary=adversary).entropy)
    assert all(left[i + 1] <= left[i] + 1e-9 for i in (0, 2, 4))
    assert left[0] >= left[2] >= left[4]


def test_the_order_of_people_and_the_names_of_classes_do_not_matter() -> None:
    frame, _, tree = categories(7, n=50, attributes=4)
    order = np.random.default_rng(0).permutation(50)
    plain = infer_sensitive(tree, frame, adversary=Adversary())
    moved = infer_sensitive(tree, frame[order], adversary=Adversary())
    assert moved.probabilities == pytest.approx(plain.probabilities[order], abs=1e-9)
    swapped = DecisionTree(
        tuple(
            Node(
                branches=n.branches,
                evidence=Evidence(counts=None if n.evidence.counts is None else n.evidence.counts[::-1]),
            )
            for n in tree.nodes
        ),
        tree.attributes,
        (tree.classes or ())[::-1],
    )
    assert infer_sensitive(swapped, frame, adversary=Adversary()).probabilities[:, ::-1] == pytest.approx(
        plain.probabilities, abs=1e-6
    )


def test_counts_of_inner_nodes_are_not_needed() -> None:
    frame, _, tree = categories(5, n=50)
    bare = infer_sensitive(without_inner_evidence(tree), frame, adversary=Adversary())
    assert bare.probabilities == pytest.approx(infer_sensitive(tree, frame, adversary=Adversary()).probabilities)


@pytest.mark.slow
def test_the_gap_is_not_certified_by_a_solver_that_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: without rounds of outer approximation the estimate breaks constraints, and the notes say so."""
    infer: Any = import_module("glassine.attacks.disclosure.infer")
    original = infer.outer_approximation
    frame, _, tree = next(
        t for seed in range(100) if reshaped(infer_sensitive((t := parity(seed))[2], t[0], adversary=Adversary()))
    )
    monkeypatch.setattr(infer, "outer_approximation", lambda *a, **k: original(*a, **(k | {"most_rounds": 0})))
    hasty = infer_sensitive(tree, frame, adversary=Adversary())
    assert any("stopped after 0 rounds" in note for note in hasty.notes)
    assert not hasty.constraints.satisfied(hasty.quasi_probabilities * hasty.people.sizes[:, None])
