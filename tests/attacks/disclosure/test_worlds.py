"""What a world is, and the posterior by enumeration against its definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import DecisionTree, GlassineError
from glassine.attacks import Failed, Measured
from glassine.attacks.disclosure import Adversary, Disclosure, infer_sensitive
from glassine.attacks.disclosure.worlds import NoWorldError
from glassine.domain import OneOf
from glassine.errors import CountingLimitError, InvalidParameterError
from glassine.learners.greedy.impurity import Criterion
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import Branch, Evidence, Node
from tests.attacks.disclosure.brute import posterior as by_definition
from tests.attacks.disclosure.instances import categories, disguised, parity
from tests.attacks.disclosure.naive import broken
from tests.attacks.disclosure.whole_worlds import ENUMERATION, POSTERIOR, infer_posterior, measure_posterior
from tests.oracles.disclosure import is_world, true_world

CRITERIA: tuple[Criterion, ...] = ("gini", "entropy", "gain_ratio", "misclassification")


def example(criterion: Criterion = "gini") -> tuple[Disclosure, list[str]]:
    frame, salary, _ = disguised()
    tree = MultiwayTreeClassifier(criterion=criterion, min_samples_split=3).fit(frame, salary).model_
    return infer_sensitive(tree, frame, adversary=Adversary(criterion=criterion)), salary


def small(seed: int, criterion: Criterion, n: int = 10) -> tuple[Disclosure, pl.DataFrame, list[str], DecisionTree]:
    frame, y, tree = parity(seed, criterion=criterion, n=n, values=2, n_classes=2, split=4)
    adversary = Adversary(criterion=criterion, min_samples_leaf=1)
    return infer_sensitive(tree, frame, adversary=adversary), frame, y, tree


def keeps(tree: DecisionTree, frame: pl.DataFrame, criterion: Criterion) -> Callable[[list[Any]], bool]:
    return lambda labels: not broken(tree, frame, labels, criterion, multiway=True)


@pytest.mark.parametrize("method", ["enumeration", "chain"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio"])
def test_example_1_is_disclosed_wholly(criterion: Criterion, method: str) -> None:
    disclosure, salary = example(criterion)
    posterior = infer_posterior(disclosure, method=method)
    truth = np.array([[s == c for c in disclosure.classes] for s in salary], dtype=float)
    assert posterior.probabilities.tolist() == truth.tolist()
    assert posterior.total_variation()[2:4] == pytest.approx([0.5, 0.5])
    assert posterior.differing().tolist() == [2, 3]
    assert "differ by a total variation of 0.05 or more about 2 of the 6 people, by 0.5" in posterior.comparison()


def test_a_posterior_that_ignores_the_constraint_of_example_1_knows_no_more_than_the_leaves() -> None:
    """A planted fault: without internal constraints both salaries are as likely for either person."""
    frame, salary, _ = disguised()
    tree = MultiwayTreeClassifier(min_samples_split=3).fit(frame, salary).model_
    ignorant = infer_posterior(infer_sensitive(tree, frame, adversary=Adversary(internal_nodes=False)))
    assert ignorant.n_worlds == 2
    assert ignorant.probabilities[2:4].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert "agree" in ignorant.comparison()


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
def test_enumeration_is_the_definition(criterion: Criterion) -> None:
    shaped = 0
    for seed in range(12):
        disclosure, frame, y, tree = small(seed, criterion)
        expected, n = by_definition(disclosure, keeps(tree, frame, criterion))
        found = infer_posterior(disclosure, method="enumeration")
        assert found.probabilities == pytest.approx(expected, abs=1e-9)
        assert found.log_assignments == pytest.approx(math.log(n), abs=1e-9)
        truth = [disclosure.classes.index(label) for label in y]
        assert (found.probabilities[np.arange(len(y)), truth] > 0).all()
        assert is_world(disclosure, true_world(disclosure, y))
        shaped += bool(np.abs(found.quasi_probabilities - disclosure.leaf_probabilities).max() > 0.05)
    assert shaped >= 3


def test_a_weight_without_the_multinomial_factor_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: tables instead of assignments as equally likely."""
    monkeypatch.setattr(ENUMERATION, "log_weights", lambda tables, sizes: np.zeros(len(tables)))
    apart = 0.0
    for seed in range(12):
        disclosure, frame, _, tree = small(seed, "gini")
        expected, _ = by_definition(disclosure, keeps(tree, frame, "gini"))
        apart = max(apart, float(np.abs(infer_posterior(disclosure).probabilities - expected).max()))
    assert apart > 0.05


def test_people_with_the_same_quasi_identifiers_weigh_what_they_should() -> None:
    assert np.exp(ENUMERATION.log_weights(np.array([[2, 1], [0, 4]]), np.array([3, 4]))) == pytest.approx(3)
    frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "u"]})
    leaf = DecisionTree((Node(evidence=Evidence(counts=(1, 2))),), ("a",), ("no", "yes"))
    found = infer_posterior(infer_sensitive(leaf, frame))
    assert found.n_worlds == 2
    assert found.log_assignments == pytest.approx(math.log(3))
    assert found.probabilities == pytest.approx(np.tile([1 / 3, 2 / 3], (3, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["error_rates", "labels_only"])
def test_readers_without_counts_have_the_truth_among_their_worlds(leaves: Any) -> None:
    for seed in range(8):
        frame, y, tree = parity(seed, n=9, values=2, split=4)
        disclosure = infer_sensitive(tree, frame, adversary=Adversary(leaves, min_samples_leaf=1))
        outcome = measure_posterior(disclosure, method="enumeration", most_worlds=1_000_000)
        assert isinstance(outcome, Measured)
        found = outcome.value
        truth = [disclosure.classes.index(label) for label in y]
        assert (found.probabilities[np.arange(len(y)), truth] > 0).all()
        assert is_world(disclosure, true_world(disclosure, y))
        assert found.probabilities.sum(axis=1) == pytest.approx(1)


@pytest.mark.slow
def test_the_mean_of_the_worlds_is_one_of_the_tables_that_the_relaxation_allows() -> None:
    """The constraints are convex where counts are known: the posterior keeps them, and leaves no more entropy."""
    for seed in range(12):
        disclosure, _, _, _ = small(seed, "entropy", n=16)
        found = infer_posterior(disclosure)
        assert disclosure.constraints.satisfied(found.quasi_probabilities * disclosure.people.sizes[:, None])
        assert found.entropy <= disclosure.bound + 1e-9


def test_what_is_no_world() -> None:
    disclosure, salary = example()
    world = true_world(disclosure, salary)
    assert is_world(disclosure, world)
    turned = world.copy()
    turned[1], turned[2] = world[2], world[1]
    assert not is_world(disclosure, turned), "the internal constraint"
    assert not is_world(disclosure, world[:, ::-1]), "the leaves"
    assert not is_world(disclosure, world * 0.5)
    assert not is_world(disclosure, world * np.nan)
    assert not is_world(disclosure, world[:3])


@pytest.mark.parametrize("method", ["enumeration", "chain"])
def test_whole_people_can_contradict_what_fractions_satisfy(method: str) -> None:
    frame = pl.DataFrame({"a": ["s", "s", "s", "t"], "b": ["u", "v", "w", "u"]})
    by_a = (Branch(OneOf("a", ("s",)), 1), Branch(OneOf("a", ("t",)), 2))
    nodes = (Node(branches=by_a), Node(evidence=Evidence(counts=(1, 2))), Node(evidence=Evidence(counts=(0, 1))))
    tree = DecisionTree(nodes, ("a", "b"), ("no", "yes"))
    disclosure = infer_sensitive(tree, frame, adversary=Adversary(min_samples_leaf=1, splits="multiway"))
    outcome = measure_posterior(disclosure, method=method)
    assert isinstance(outcome, Failed)
    assert "node 0 against a split by b" in outcome.reason
    if method == "enumeration":
        with pytest.raises(NoWorldError) as raised:
            ENUMERATION.enumerate_worlds(disclosure)
        assert [clash.node for clash in raised.value.clashes] == [0]


def test_too_many_worlds_are_refused_or_sampled() -> None:
    frame, _, tree = categories(1, n=60)
    disclosure = infer_sensitive(tree, frame, adversary=Adversary())
    with pytest.raises(CountingLimitError, match=r"more than most_worlds=10\. Raise the limit"):
        infer_posterior(disclosure, method="enumeration", most_worlds=10)
    assert isinstance(measure_posterior(disclosure, method="enumeration", most_worlds=10), Failed)
    assert infer_posterior(disclosure, most_worlds=10, draws=100).method == "chain"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "method must be one of"),
        ({"method": None}, "method must be one of"),
        ({"n_chains": 1}, "n_chains must be a whole number of at least 2"),
        ({"draws": 99}, "draws must be a whole number of at least 100"),
        ({"draws": 110}, "multiple of 20"),
        ({"burn_in": -1}, "burn_in"),
        ({"thin": 0.5}, "thin"),
        ({"thin": float("nan")}, "thin"),
        ({"most_worlds": 0}, "most_worlds"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        infer_posterior(example()[0], **options)


def with_totals(seed: int, leaves: Any) -> tuple[Disclosure, np.ndarray[Any, Any], int]:
    """Return a reader of class totals without class counts, P(class | person) by definition, and its assignments."""
    frame, y, tree = parity(seed, n=8, values=2, n_classes=3, split=4)
    classes = ("c0", "c1", "c2")
    totals = tuple(y.count(c) for c in classes)
    disclosure = infer_sensitive(tree, frame, adversary=Adversary(leaves, marginals=totals, min_samples_leaf=1))
    people = disclosure.people
    nodes = np.array(people.leaf_nodes)[people.leaf[people.person]]
    mean, n = np.zeros((8, 3)), 0
    for codes in product(range(3), repeat=8):
        if tuple(codes.count(c) for c in range(3)) != totals:
            continue
        agrees = True
        for node in set(nodes.tolist()):
            counts = np.bincount(np.array(codes)[nodes == node], minlength=3)
            evidence = tree.nodes[node].evidence
            own = counts[evidence.prediction]
            agrees &= own == counts.max()
            agrees &= leaves == "labels_only" or own == (evidence.counts or ())[evidence.prediction or 0]
        if agrees and not broken(tree, frame, [classes[c] for c in codes], "gini", multiway=True):
            n += 1
            mean[np.arange(8), list(codes)] += 1
    return disclosure, mean / n, n


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["error_rates", pytest.param("labels_only", marks=pytest.mark.slow)])
def test_class_totals_without_counts_are_enumerated_by_their_definition(leaves: Any) -> None:
    for seed in range(2):
        disclosure, expected, n = with_totals(seed, leaves)
        found = infer_posterior(disclosure, method="enumeration")
        assert found.probabilities == pytest.approx(expected, abs=1e-12)
        assert found.log_assignments == pytest.approx(math.log(n))
        sampled = infer_posterior(disclosure, method="chain", draws=500)
        assert np.abs(sampled.probabilities - expected).max() < 0.06 + 4 * sampled.standard_errors.max()
    known = Adversary("labels_only", marginals=[0, 8, 0], min_samples_leaf=1)
    frame, _, tree = parity(1, n=8, values=2, n_classes=3, split=4)
    with pytest.raises(GlassineError):
        infer_posterior(infer_sensitive(tree, frame, adversary=known))


def test_totals_that_no_whole_people_have_are_found_out() -> None:
    disclosure, _, _ = with_totals(0, "labels_only")
    assert disclosure.class_totals is not None
    shifted = replace(disclosure, class_totals=np.array([8.0, 0.0, 0.0]))
    for method in ("enumeration", "chain"):
        with pytest.raises(NoWorldError, match="class totals"):
            infer_posterior(shifted, method=method)


def test_the_value_names_itself() -> None:
    posterior = infer_posterior(example()[0])
    assert isinstance(posterior, POSTERIOR.Posterior)
    assert repr(posterior) == "<Posterior of 6 people by enumeration: 1 worlds>"
    assert posterior.standard_errors.tolist() == np.zeros((6, 2)).tolist()
