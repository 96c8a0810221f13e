"""Uncertain training sets: the reader knows more people than the tree was learnt from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from glassine import DecisionTree, GlassineError
from glassine.attacks.disclosure import Adversary, Disclosure, infer_sensitive, measure_disclosure
from glassine.attacks.disclosure import uncertain_membership as sample_module
from glassine.attacks.disclosure.lagrangian import Starts
from glassine.attacks.outcome import NotApplicable
from glassine.errors import CountingLimitError, InvalidDataError, InvalidParameterError, UndefinedMeasureError
from glassine.learners.greedy.impurity import Criterion
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import Evidence, Node
from tests.attacks.disclosure.instances import categories, disguised, parity
from tests.attacks.disclosure.naive import Problem
from tests.attacks.disclosure.sample_brute import by_definition, keeps, leaf_of
from tests.attacks.disclosure.whole_worlds import infer_posterior, measure_posterior
from tests.oracles.disclosure import is_world

Floats = npt.NDArray[np.float64]
CRITERIA: tuple[Criterion, ...] = ("gini", "entropy", "gain_ratio", "misclassification")


def example(rows: list[int], **adversary: Any) -> Disclosure:
    """Return the reader of the tree of Example 1 who knows some people."""
    frame, salary, quasi = disguised()
    criterion = adversary.get("criterion", "gini")
    tree = MultiwayTreeClassifier(criterion=criterion, min_samples_split=3).fit(frame, salary).model_
    return infer_sensitive(tree, quasi[rows], adversary=Adversary(training="sample", **adversary))


TWO_MORE = [0, 0, 1, 2, 3, 3, 1, 3]
"""The six people of Example 1, one more like the third, and one more like the last two."""


def grown(seed: int, criterion: Criterion = "gini", n: int = 26, more: int = 8, **options: Any) -> Any:
    """Return a tree, all people, the classes of those in the sample, and the rows that are in it."""
    frame, y, tree = parity(seed, n=n, values=2, criterion=criterion, **options)
    rng = np.random.default_rng(seed)
    everybody = pl.concat([frame, frame[rng.integers(0, n, more)]])
    order = rng.permutation(n + more)
    place = np.argsort(order)
    return tree, everybody[order], y, place[:n]


def world(disclosure: Disclosure, y: list[str], rows: Any) -> Floats:
    """Return the true table, with its column of those outside."""
    table = np.zeros((len(disclosure.people.sizes), len(disclosure.classes) + 1))
    columns = np.full(disclosure.people.n_people, len(disclosure.classes))
    columns[rows] = [disclosure.classes.index(label) for label in y]
    np.add.at(table, (disclosure.people.person, columns), 1.0)
    return table


def test_example_1_with_two_extra_people_from_the_leaves() -> None:
    """The middle leaf holds two records and three people, the last one two records and three people."""
    found = example(TWO_MORE, internal_nodes=False)
    assert found.membership == pytest.approx([1, 1, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3])
    assert found.given_member[:, 0] == pytest.approx([1, 1, 0.5, 0.5, 0, 0, 0.5, 0])
    # One third outside, of whose class nothing is known.
    assert found.probabilities[:, 0] == pytest.approx([1, 1, 0.5, 0.5, 1 / 6, 1 / 6, 0.5, 1 / 6])
    assert found.probabilities.sum(axis=1) == pytest.approx(1)
    h = -(1 / 3) * math.log(1 / 3) - (2 / 3) * math.log(2 / 3)
    joint = 6 * h + 2 * math.log(2) + 2 * math.log(2)
    assert found.sample is not None
    assert found.sample.entropy == pytest.approx(joint / 8)
    assert found.gap < 1e-9
    assert "of a sample of fraction unknown" in repr(found)


def test_example_1_with_two_extra_people_world_by_world() -> None:
    """The tree tells that the phd of the middle leaf, if counted, earns much: 48 of 72 worlds are left."""
    found = example(TWO_MORE, min_samples_leaf=1)
    posterior = infer_posterior(found)
    assert posterior.log_assignments == pytest.approx(math.log(48))
    assert posterior.membership == pytest.approx([1, 1, 3 / 4, 1 / 2, 2 / 3, 2 / 3, 3 / 4, 2 / 3])
    assert posterior.sample is not None
    given = posterior.sample.given_member[found.people.person]
    assert given[3].tolist() == [0.0, 1.0]
    assert given[2] == pytest.approx([2 / 3, 1 / 3])
    alone = infer_posterior(example(TWO_MORE, internal_nodes=False))
    assert alone.log_assignments == pytest.approx(math.log(72))
    assert alone.membership == pytest.approx(example(TWO_MORE, internal_nodes=False).membership)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_superset_that_is_the_training_set_gives_the_known_results(criterion: Criterion) -> None:
    shaped = 0
    for seed in range(6):
        frame, _, tree = parity(seed, n=22, values=2, criterion=criterion)
        one, other = (
            infer_sensitive(tree, frame, adversary=Adversary(criterion=criterion, training=t, min_samples_leaf=1))
            for t in ("known", "sample")
        )
        assert other.probabilities == pytest.approx(one.probabilities, abs=1e-5)
        assert other.given_member == pytest.approx(one.probabilities, abs=1e-5)
        assert other.membership == pytest.approx(1)
        assert other.entropy == pytest.approx(one.entropy, abs=1e-7)
        assert other.gap < 1e-6
        shaped += bool(one.counts.active)
        if seed < 3:
            listed = [infer_posterior(found, method="enumeration", most_worlds=10**6) for found in (one, other)]
            assert listed[1].probabilities == pytest.approx(listed[0].probabilities, abs=1e-12)
            assert listed[1].n_worlds == listed[0].n_worlds
    assert shaped


def enumerated(seed: int, criterion: Criterion) -> tuple[Any, Any, Any, int]:
    """Return the posterior by enumeration of a small instance, and what its definition gives."""
    frame, _, tree = parity(seed, n=5, values=2, n_classes=2, criterion=criterion, split=3)
    rng = np.random.default_rng(seed)
    everybody = pl.concat([frame, frame[rng.integers(0, 5, 1 + seed % 2)]])
    smallest = 1 + seed % 2
    adversary = Adversary(criterion=criterion, training="sample", min_samples_leaf=smallest)
    found = infer_sensitive(tree, everybody, adversary=adversary)
    told = {cell.node: np.array(cell.evidence.counts) for cell in tree.cells if cell.evidence.size}
    member, by_class, n = by_definition(
        tree,
        everybody,
        lambda counts: counts.keys() == told.keys() and all((counts[node] == told[node]).all() for node in told),
        keeps(tree, everybody, criterion, smallest=smallest),
        [5],
    )
    return infer_posterior(found, method="enumeration"), member, by_class, n


@pytest.mark.parametrize("criterion", CRITERIA)
def test_enumeration_is_the_definition(criterion: Criterion) -> None:
    for seed in range(6):
        posterior, member, by_class, n = enumerated(seed, criterion)
        assert posterior.membership == pytest.approx(member, abs=1e-9)
        assert posterior.probabilities == pytest.approx(by_class, abs=1e-9)
        assert posterior.log_assignments == pytest.approx(math.log(n), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
def test_enumeration_is_the_definition_on_a_hundred_instances(criterion: Criterion) -> None:
    for seed in range(6, 31):
        posterior, member, by_class, n = enumerated(seed, criterion)
        assert posterior.membership == pytest.approx(member, abs=1e-9)
        assert posterior.probabilities == pytest.approx(by_class, abs=1e-9)
        assert posterior.log_assignments == pytest.approx(math.log(n), abs=1e-9)


@pytest.mark.parametrize("fraction", [None, 5 / 6])
def test_labels_alone_are_enumerated_by_their_definition(fraction: float | None) -> None:
    frame, salary, quasi = disguised()
    tree = MultiwayTreeClassifier(min_samples_split=3).fit(frame, salary).model_
    adversary = Adversary("labels_only", training="sample", sampling_fraction=fraction, min_samples_leaf=1)
    found = infer_sensitive(tree, quasi[TWO_MORE[:6]], adversary=adversary)
    labels = {cell.node: cell.evidence.prediction for cell in tree.cells}
    member, by_class, n = by_definition(
        tree,
        quasi[TWO_MORE[:6]],
        lambda counts: all(own[labels[node]] == own.max() for node, own in counts.items()),
        keeps(tree, quasi[TWO_MORE[:6]], "gini"),
        [5] if fraction else list(range(7)),
    )
    posterior = infer_posterior(found)
    assert posterior.membership == pytest.approx(member, abs=1e-9)
    assert posterior.probabilities == pytest.approx(by_class, abs=1e-9)
    assert posterior.log_assignments == pytest.approx(math.log(n))
    assert found.membership == pytest.approx(fraction or 0.5)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_truth_is_allowed_and_the_bound_holds_for_it(criterion: Criterion) -> None:
    for seed in range(4):
        tree, everybody, y, rows = grown(seed, criterion)
        for smallest in (None, 1):
            adversary = Adversary(criterion=criterion, training="sample", min_samples_leaf=smallest)
            found = infer_sensitive(tree, everybody, adversary=adversary)
            table = world(found, y, rows)
            assert is_world(found, table)
            assert found.constraints.satisfied(table)
            assert found.gap < 1e-6
            assert found.sample is not None
            estimate = np.hstack([found.sample.given_member * found.sample.membership[:, None],
                                  1 - found.sample.membership[:, None]]) * found.people.sizes[:, None]  # fmt: skip
            assert found.constraints.satisfied(estimate)
            counts = np.zeros_like(found.leaves.sizes[:, None] * np.zeros(4))
            np.add.at(counts, found.people.leaf, estimate)
            assert counts == pytest.approx(found.leaves.counts, abs=1e-5)


def slack_of(found: Disclosure) -> Callable[[Floats], Floats]:
    """Return the slack of every family as a function of the table."""
    return lambda x: found.constraints.worst(np.maximum(x, 0)).slack


@pytest.mark.slow
def test_where_constraints_shape_it_the_estimate_is_that_of_a_general_solver() -> None:
    compared = 0
    for seed in range(60):
        criterion: Criterion = ("gini", "entropy", "gain_ratio")[seed % 3]
        tree, everybody, _, _ = grown(seed, criterion, n=24, more=3)
        adversary = Adversary(criterion=criterion, training="sample", min_samples_leaf=1)
        found = infer_sensitive(tree, everybody, adversary=adversary)
        if not found.counts.active or compared == 2:
            continue
        compared += 1
        assert found.sample is not None
        assert found.leaf_sample is not None
        people, leaves = found.people, found.leaves
        inside = [(people.leaf == leaf).astype(float)[:, None] for leaf in range(len(leaves.sizes))]
        unit = np.eye(leaves.n_classes)
        assert leaves.counts is not None
        problem = Problem(
            sizes=people.sizes.astype(float),
            equal=[(held * unit[j], float(leaves.counts[i, j])) for i, held in enumerate(inside) for j in range(3)],
            at_least=[],
            slack=slack_of(found),
        )
        first = found.leaf_sample
        start = np.hstack([first.given_member * first.membership[:, None], 1 - first.membership[:, None]])
        best = problem.maximise(start * people.sizes[:, None])
        n = people.n_people
        # The classes of those outside add the same to both.
        outside = math.log(3) * 3
        assert found.sample.entropy * n == pytest.approx(best + outside, abs=3e-4 * n)
        assert best + outside <= found.bound * n + 1e-5
    assert compared == 2


@pytest.mark.slow
def test_error_rates_of_a_sample() -> None:
    for seed in range(3):
        tree, everybody, y, rows = grown(seed, n=20, more=5)
        adversary = Adversary("error_rates", training="sample", min_samples_leaf=1)
        found = infer_sensitive(tree, everybody, adversary=adversary, starts=Starts(1))
        assert found.constraints.satisfied(world(found, y, rows))
        assert is_world(found, world(found, y, rows))
        counts = infer_sensitive(tree, everybody, adversary=Adversary(training="sample", internal_nodes=False))
        assert found.membership.sum() == pytest.approx(20, abs=1e-5)
        assert math.isnan(found.gap) if found.status == "local" else found.gap >= 0
        alone = infer_sensitive(
            tree, everybody, adversary=Adversary("error_rates", training="sample", internal_nodes=False)
        )
        assert alone.gap < 1e-9
        assert alone.membership == pytest.approx(counts.membership)
        assert found.sample is not None
        assert alone.sample is not None
        assert found.sample.entropy <= alone.sample.entropy + 1e-9


def bare(tree: DecisionTree, evidence: Any) -> DecisionTree:
    """Return a tree whose leaves publish something else."""
    nodes = [
        Node(branches=node.branches, evidence=Evidence() if node.branches else evidence(node.evidence))
        for node in tree.nodes
    ]
    return DecisionTree(tuple(nodes), tree.attributes, tree.classes)


@pytest.mark.parametrize("fraction", [None, 0.8])
def test_rates_without_sizes_keep_their_shares(fraction: float | None) -> None:
    frame, _, tree = categories(2, n=40, min_samples_split=15)
    rates = bare(tree, lambda e: Evidence(label=e.prediction, error_rate=1 - max(e.counts) / sum(e.counts)))
    everybody = pl.concat([frame, frame[:10]])
    adversary = Adversary(
        "error_rates", training="sample", sampling_fraction=fraction, internal_nodes=False
    )  # fmt: skip
    found = infer_sensitive(rates, everybody, adversary=adversary)
    assert found.gap < 1e-6
    if fraction is not None:
        assert found.membership.sum() == pytest.approx(40, abs=1e-4)
    else:
        assert any("membership is as open" in note for note in found.notes)
    for leaf, node in enumerate(found.people.leaf_nodes):
        evidence = tree.nodes[node].evidence
        held = found.people.leaf[found.people.person] == leaf
        right = max(evidence.counts or ()) / (evidence.size or 1)
        assert found.given_member[held, evidence.prediction] == pytest.approx(right, abs=1e-6)


def test_a_planted_fault_in_the_weight_of_those_outside_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is outside may have any class: with a weight of one, labels alone would tell who was in the sample."""
    honest = example(TWO_MORE, leaves="labels_only").membership
    wrong = property(lambda self: np.zeros(self.n_classes))
    monkeypatch.setattr(sample_module.SampledLeaves, "offset", wrong)
    frame, salary, quasi = disguised()
    tree = MultiwayTreeClassifier(min_samples_split=3).fit(frame, salary).model_
    adversary = Adversary("labels_only", training="sample", min_samples_leaf=1)
    found = infer_posterior(infer_sensitive(tree, quasi[TWO_MORE[:6]], adversary=adversary))
    assert honest == pytest.approx(0.5)
    monkeypatch.undo()
    right = infer_posterior(infer_sensitive(tree, quasi[TWO_MORE[:6]], adversary=adversary))
    assert np.abs(found.membership - right.membership).max() > 0.05


def test_class_totals_of_a_sample() -> None:
    frame, y, tree = categories(4, n=30, n_classes=3)
    everybody = pl.concat([frame, frame[:6]])
    totals = {c: y.count(c) for c in ("c0", "c1", "c2")}
    adversary = Adversary("labels_only", internal_nodes=False, marginals=totals, training="sample")
    found = infer_sensitive(tree, everybody, adversary=adversary)
    assert found.membership.sum() == pytest.approx(30, abs=1e-5)
    inside = found.given_member * found.membership[:, None]
    assert inside.sum(axis=0) == pytest.approx(list(totals.values()), abs=1e-5)
    counts = infer_sensitive(tree, everybody, adversary=Adversary(marginals=totals, training="sample"))
    assert counts.marginal.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("rows", "adversary", "error", "said"),
    [
        ([0, 0, 1, 2, 3], {}, InvalidDataError, r"node \d is published with 2 records, but only 1 of the people"),
        ([0, 0, 1, 2], {}, InvalidDataError, r"node \d is published with 2 records, but no one reaches it"),
        (TWO_MORE, {"sampling_fraction": 0.01}, InvalidDataError, "no sample of the fraction 0.01"),
        (TWO_MORE, {"sampling_fraction": 1.0}, InvalidDataError, "sampling_fraction=0.75"),
        (TWO_MORE, {"sampling_fraction": 0.0}, InvalidParameterError, r"\(0, 1\]"),
        (TWO_MORE, {"sampling_fraction": 1.5}, InvalidParameterError, r"\(0, 1\]"),
        (TWO_MORE, {"sampling_fraction": math.nan}, InvalidParameterError, r"\(0, 1\]"),
        (TWO_MORE, {"sampling_fraction": "half"}, InvalidParameterError, r"\(0, 1\]"),
        (TWO_MORE, {"sampling_fraction": True}, InvalidParameterError, r"\(0, 1\]"),
        (TWO_MORE, {"marginals": [4, 4]}, InvalidDataError, "the sample holds 6 records"),
        (TWO_MORE, {"marginals": [4, 2]}, InvalidDataError, "not the sums"),
        (TWO_MORE, {"leaves": "labels_only", "marginals": [9, 9]}, InvalidDataError, "at most 8 records"),
    ],
)
def test_bad_supersets_have_a_clear_message(
    rows: list[int], adversary: dict[str, Any], error: type[GlassineError], said: str
) -> None:
    with pytest.raises(error, match=said):
        example(rows, **adversary)


def test_other_bad_input() -> None:
    with pytest.raises(InvalidParameterError, match="training='sample'"):
        Adversary(sampling_fraction=0.5)
    with pytest.raises(InvalidParameterError, match="training must be one of"):
        Adversary(training="some")  # type: ignore[arg-type]
    frame, salary, _ = disguised()
    tree = MultiwayTreeClassifier(min_samples_split=3).fit(frame, salary).model_
    stranger = pl.DataFrame({"education": ["msc"], "age": ["ancient"]})
    with pytest.raises(InvalidDataError, match=r"row 6 .* was not in the sample"):
        infer_sensitive(tree, pl.concat([frame, stranger]), adversary=Adversary(training="sample"))
    many, y, wide = parity(0, n=30, values=2)
    ratio = Adversary("error_rates", criterion="gain_ratio", training="sample")
    outcome = measure_disclosure(wide, many, adversary=ratio)
    assert isinstance(outcome, NotApplicable)
    assert "gain ratio" in outcome.reason
    labels = bare(tree, lambda e: Evidence(label=e.prediction))
    with pytest.raises(UndefinedMeasureError, match="class counts"):
        infer_sensitive(labels, frame, adversary=Adversary(training="sample"))
    found = infer_sensitive(wide, pl.concat([many, many]), adversary=Adversary(training="sample"))
    with pytest.raises(CountingLimitError):
        infer_posterior(found, method="enumeration", most_worlds=10)
    assert isinstance(measure_posterior(found, method="chain"), NotApplicable)
    assert found.d_overall([*y, *y]) > 0
    assert leaf_of(tree, frame)[0] == leaf_of(tree, frame)[1]


def test_truth_of_a_superset_is_that_of_everybody() -> None:
    found = example(TWO_MORE)
    truth = ["<=50K", "<=50K", "<=50K", ">50K", ">50K", ">50K", "<=50K", ">50K"]
    readers = found.compare(truth)
    assert [reader.d_overall for reader in readers[1:]] == pytest.approx([found.d_overall(truth)] * 2)
    # In the middle one half, in the last leaf one sixth is left for the wrong class.
    assert found.d_overall(truth) == pytest.approx((3 * math.log(2) - 3 * math.log(5 / 6)) / 8)
    assert len(found.most_exposed(3)) == 3
    assert found.by_subgroup(pl.DataFrame({"a": ["x"] * 8}), "a")[0].size == 8
