"""Sums over trees against the list of all trees, one by one, with exact weights."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.compiling import interpretation
from glassine.domain import Between, Binary, Category, Domain, Implies, Integer, Intervals, Literal, OneOf
from glassine.privacy.randomness import Randomness
from glassine.sealed.atoms import Atoms
from glassine.sealed.tree_family import Leaf
from glassine.sealed.tree_sums import Implied, SetCounts
from glassine.sealed.trees import TreeClass, children, leaf_nodes
from glassine.sealed.weighting import Weighting
from tests.learners import engine
from tests.oracles import model_classes as oracle
from tests.oracles.optimal import optimal_tree

CLOSE = 1e-10
"""For the logarithms as floats; the draws themselves are measured in test_gibbs.py."""

MAKERS: list[engine.Maker] = [
    engine.binary_domain,
    engine.threshold_domain,
    engine.one_hot_domain,
    engine.gapped_domain,
]


def assert_law(
    models: TreeClass,
    worlds: list[oracle.World],
    truth: engine.Truth,
    labels: engine.Labels,
    epsilon: Fraction,
    part_weight: Fraction = Fraction(1),
) -> None:
    """Every tree has the probability that the list of all trees gives it."""
    listed = oracle.trees(worlds, range(models.n_classes), models.depth)
    expected = oracle.distribution(listed, truth, labels, oracle.decay(epsilon), oracle.by_size(part_weight))
    found = engine.law_of(models, truth, labels, epsilon, part_weight=float(part_weight))
    assert found.keys() == expected.keys()
    for tree, log in found.items():
        assert log == pytest.approx(float(oracle.log(expected[tree])), abs=CLOSE)


def partition(
    region: list[oracle.World], cells: list[tuple[oracle.World, int]], depth: int, n_classes: int, decay: Fraction
) -> Fraction:
    """Return the sum over all trees by recursion over sets of records, exact; for classes too large to list."""
    errors = [sum(label != y for _, label in cells) for y in range(n_classes)]
    total = sum((decay**error for error in errors), Fraction(0))
    if depth:
        for literal, true, false in oracle.admissible(region):
            sides = [[cell for cell in cells if cell[0][literal] is side] for side in (True, False)]
            total += math.prod(
                partition(part, side, depth - 1, n_classes, decay)
                for part, side in zip((true, false), sides, strict=True)
            )
    return total


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("p", "depth"), [(2, 1), (3, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 4])
def test_every_tree_has_its_probability(make: engine.Maker, p: int, depth: int, n_classes: int) -> None:
    models, worlds = engine.trees_of(*make(p), depth, n_classes)
    truth, labels = engine.some_data(p + 10 * depth, worlds, 9, n_classes)
    assert_law(models, worlds, truth, labels, Fraction(7, 10), Fraction(1, 2))


@pytest.mark.slow
@given(
    engine.tree_cases(),
    st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(9, 2)]),
    st.sampled_from([1, Fraction(1, 8)]),
)
@settings(max_examples=40)
def test_probabilities_in_any_domain(case: Any, epsilon: Fraction, divisor: int) -> None:
    models, worlds, truth, labels = case
    assert_law(models, worlds, truth, labels, epsilon, Fraction(1, divisor))


@pytest.mark.slow
@given(engine.tree_cases())
@settings(max_examples=25)
def test_without_epsilon_the_sum_is_the_number_of_trees(case: Any) -> None:
    models, worlds, truth, labels = case
    sums = engine.sums_of(models, truth, labels, engine.weighting_of(0, len(labels)))
    number = oracle.count_trees(worlds, models.n_classes, models.depth)
    assert math.exp(sums.log_size()) == pytest.approx(number, rel=1e-12)
    assert math.exp(models.log_count()) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "p", "depth", "n_classes"),
    [
        (engine.binary_domain, 5, 3, 2),
        (engine.binary_domain, 4, 4, 3),
        (engine.binary_domain, 3, 8, 2),
        (engine.threshold_domain, 6, 5, 2),
        (engine.threshold_domain, 70, 2, 2),
        (engine.one_hot_domain, 6, 4, 3),
        (engine.category_domain, 66, 2, 2),
    ],
)
def test_deep_and_wide_classes_have_the_right_sum(make: engine.Maker, p: int, depth: int, n_classes: int) -> None:
    # Beyond 64 thresholds or categories a block has several words of atoms.
    models, worlds = engine.trees_of(*make(p), depth, n_classes)
    truth, labels = engine.some_data(p, worlds, 12, n_classes)
    cells = [(tuple(row), int(y)) for row, y in zip(truth.tolist(), labels, strict=True)]
    number = oracle.count_trees(worlds, n_classes, depth)
    expected = partition(worlds, cells, depth, n_classes, oracle.decay(Fraction(1, 3)))
    found = engine.sums_of(models, truth, labels, engine.weighting_of(Fraction(1, 3), 12))
    # epsilon is rounded down to 40 bits, so that twelve errors shift the sum by about 1e-11.
    assert found.log_size() == pytest.approx(float(oracle.log(expected)), abs=1e-10)
    counted = engine.sums_of(models, truth, labels, engine.weighting_of(0, 12))
    assert counted.log_size() == pytest.approx(math.log(number), rel=1e-13)
    assert models.log_count() == pytest.approx(math.log(number), rel=1e-13)


CONTRADICTED: list[tuple[engine.Maker, int, int]] = [
    (engine.one_hot_domain, 4, 4),
    (engine.category_domain, 4, 4),
    (engine.gapped_domain, 6, 4),
]
"""Domains in which records may contradict the logic: two of a group hold, or none; a value is not declared."""


def contradicted_sum(make: engine.Maker, p: int, depth: int, number: int) -> tuple[float, float]:
    """Return the logarithm of the sum over all trees, and the exact one, where some records contradict the logic."""
    models, worlds = engine.trees_of(*make(p), depth, 2)
    truth, labels = engine.some_data(p, worlds, 16, 2)
    rng = np.random.default_rng(number)
    truth[:number] = rng.random((number, truth.shape[1])) < 0.5
    cells = [(tuple(row), int(y)) for row, y in zip(truth.tolist(), labels, strict=True)]
    found = engine.sums_of(models, truth, labels, engine.weighting_of(Fraction(1, 3), 16))
    return found.log_size(), float(oracle.log(partition(worlds, cells, depth, 2, oracle.decay(Fraction(1, 3)))))


@pytest.mark.parametrize("number", [0, 1, 2, 5])
@pytest.mark.parametrize(("make", "p", "depth"), CONTRADICTED)
def test_records_that_contradict_the_logic_are_counted_where_they_are(
    make: engine.Maker, p: int, depth: int, number: int
) -> None:
    found, expected = contradicted_sum(make, p, depth, number)
    assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("interpret", [True, False])
def test_a_literal_that_follows_by_logic_but_not_in_the_records_is_not_left_out(
    interpret: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault takes what the logic says of two literals for what the records hold."""
    honest = Implied.of

    def by_logic(counts: SetCounts, atoms: Atoms) -> Implied:
        return honest(counts._replace(table=np.zeros_like(counts.table)), atoms)

    monkeypatch.setattr(interpretation, "LEFT", [10**9 if interpret else 0])
    for fault in (False, True):
        if fault:
            monkeypatch.setattr(Implied, "of", by_logic)
        agree = []
        for number in (0, 5):
            found, expected = contradicted_sum(engine.one_hot_domain, 4, 4, number)
            agree.append(found == pytest.approx(expected, abs=1e-10))
        assert agree == [True, not fault]


def test_pairs_are_implied_by_logic_and_records_together() -> None:
    models, worlds = engine.trees_of(*engine.threshold_domain(4), 3, 2)
    truth, labels = engine.some_data(0, worlds, 12, 2)
    sums = engine.sums_of(models, truth, labels, engine.weighting_of(Fraction(1, 3), 12))
    found = Implied.of(SetCounts.of(sums.counts, 4, 3), Atoms.of(models.logic))
    above = np.triu(np.ones((4, 4), dtype=bool), 1)
    # Below a threshold is below a higher one, which is left out; above one is above a lower one.
    assert (found.pairs[above] == 0b1001).all()
    assert (found.later[above] == 0b1000).all()
    assert not found.pairs[~above].any()


@pytest.mark.slow
def test_mixed_domains_keep_impossible_splits_out() -> None:
    domain = Domain(
        {
            "age": Integer(18, 30, missing=True),
            "kind": Category(("a", "b", "c"), missing=True),
            "young": Binary(),
            "younger": Binary(),
            "free": Binary(),
        },
        groups=[Implies(("younger", "young"))],
    )
    literals: list[Literal] = [
        Between("age", hi=20),
        Between("age", hi=25),
        Between("age", negated=True, missing=True),
        OneOf("kind", ("a",)),
        OneOf("kind", ("b",)),
        OneOf("young", (1,)),
        OneOf("younger", (1,)),
        OneOf("free", (1,)),
    ]
    models, worlds = engine.trees_of(domain, literals, 2, 2)
    assert len(models.logic.literals) == len(literals)
    truth, labels = engine.some_data(1, worlds, 20, 2)
    assert_law(models, worlds, truth, labels, Fraction(1, 4))
    # A missing age satisfies neither threshold: below it no other split on age is left.
    at = models.logic.literals.index(literals[2])
    law = engine.law_of(models, truth, labels, Fraction(1, 4))
    below = {tree[2][1] for tree in law if tree[0] == "split" and tree[1] == at and tree[2][0] == "split"}
    assert below == set(range(8)) - {models.logic.literals.index(literal) for literal in literals[:3]}


def test_intervals_of_one_hidden_number() -> None:
    group = Intervals(0, 9, {"low": (None, 3), "mid": (2, 6), "high": (5, None), "top": (8, None)})
    domain = Domain.binary(["low", "mid", "high", "top"], groups=[group])
    models, worlds = engine.trees_of(domain, [OneOf(name, (1,)) for name in domain], 2, 3)
    assert len(worlds) == 6
    truth, labels = engine.some_data(2, worlds, 10, 3)
    assert_law(models, worlds, truth, labels, Fraction(2))


@pytest.mark.slow
@given(engine.tree_cases(), st.data())
@settings(max_examples=25)
def test_multiplicities_stand_for_repeated_records(case: Any, data: st.DataObject) -> None:
    models, _, truth, labels = case
    times = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(labels), max_size=len(labels))), dtype=np.int64)
    weighed = engine.law_of(models, truth, labels, Fraction(1, 2), multiplicities=times)
    repeated = engine.law_of(models, np.repeat(truth, times, axis=0), np.repeat(labels, times), Fraction(1, 2))
    assert weighed == repeated


@pytest.mark.slow
@given(engine.tree_cases(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_the_order_of_records_and_the_names_of_classes_do_not_matter(case: Any, random: Any) -> None:
    models, _, truth, labels = case
    law = engine.law_of(models, truth, labels, Fraction(1))
    order = list(range(len(labels)))
    random.shuffle(order)
    assert engine.law_of(models, truth[order], labels[order], Fraction(1)) == law
    names = list(range(models.n_classes))
    random.shuffle(names)
    renamed = engine.law_of(models, truth, np.array(names, dtype=np.int64)[labels], Fraction(1))

    def rename(tree: Any) -> Any:
        if tree[0] == "leaf":
            return ("leaf", names[tree[1]])
        return ("split", tree[1], rename(tree[2]), rename(tree[3]))

    assert renamed.keys() == law.keys()
    assert all(renamed[rename(tree)] == pytest.approx(log, abs=1e-12) for tree, log in law.items())


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_literals_does_not_matter(seed: int) -> None:
    domain, literals = engine.binary_domain(4)
    order = np.random.default_rng(seed).permutation(4)
    models, worlds = engine.trees_of(domain, literals, 2, 2)
    # The columns move with their attributes: each attribute is a block of its own, kept in the domain's order.
    moved, _ = engine.trees_of(Domain.binary([f"b{i}" for i in order]), [literals[i] for i in order], 2, 2)
    truth, labels = engine.some_data(seed, worlds, 15, 2)
    law = engine.law_of(models, truth, labels, Fraction(1))
    other = engine.law_of(moved, truth[:, order], labels, Fraction(1))
    at = {int(old): new for new, old in enumerate(order)}

    def move(tree: Any) -> Any:
        return tree if tree[0] == "leaf" else ("split", at[tree[1]], move(tree[2]), move(tree[3]))

    assert other.keys() == {move(tree) for tree in law}
    assert all(other[move(tree)] == pytest.approx(log, abs=1e-12) for tree, log in law.items())


def test_a_class_without_records_keeps_its_label() -> None:
    models, worlds = engine.trees_of(*engine.binary_domain(2), 1, 3)
    truth, labels = engine.some_data(0, worlds, 6, 2)
    law = engine.law_of(models, truth, labels, Fraction(1))
    assert ("leaf", 2) in law
    assert law["leaf", 2] == pytest.approx(law["leaf", 0] - 6 + int((labels == 1).sum()), abs=1e-10)


@pytest.mark.parametrize("depth", [0, 1, 8])
def test_without_literals_or_depth_a_tree_is_a_leaf(depth: int) -> None:
    models, worlds = engine.trees_of(Domain.binary(["b0"]), [], depth, 2)
    labels = np.array([0, 1, 1], dtype=np.int64)
    law = engine.law_of(models, np.zeros((3, 0), dtype=bool), labels, Fraction(1))
    assert worlds == [()]
    assert law["leaf", 1] - law["leaf", 0] == pytest.approx(1)
    assert len(law) == 2
    assert models.levels == 0


@pytest.mark.parametrize("n_classes", [1, 3])
def test_without_records_all_trees_are_alike(n_classes: int) -> None:
    models, worlds = engine.trees_of(*engine.binary_domain(2), 2, n_classes)
    truth, labels = engine.some_data(0, worlds, 0, n_classes)
    law = engine.law_of(models, truth, labels, Fraction(1))
    assert len(law) == oracle.count_trees(worlds, n_classes, 2)
    assert all(log == pytest.approx(-math.log(len(law)), abs=1e-12) for log in law.values())


def nodes_of(tree: Any, chosen: tuple[int, ...] = (), signs: int = 0) -> list[tuple[tuple[int, ...], int]]:
    if isinstance(tree, Leaf):
        return [(chosen, signs)]
    true, false = children(chosen, signs, tree.literal)
    return nodes_of(tree.true, *true) + nodes_of(tree.false, *false)


@pytest.mark.slow
@given(engine.tree_cases(), st.integers(0, 1000))
@settings(max_examples=25)
def test_class_counts_of_drawn_leaves_are_those_of_the_records(case: Any, seed: int) -> None:
    models, _, truth, labels = case
    sums = engine.sums_of(models, truth, labels, engine.weighting_of(Fraction(1, 10), len(labels)))
    tree = sums.draw(Randomness.of(seed))
    assert leaf_nodes(tree) == nodes_of(tree)
    for chosen, signs in leaf_nodes(tree):
        rows = np.ones(len(labels), dtype=bool)
        for i, literal in enumerate(chosen):
            rows &= truth[:, literal] == bool(signs >> i & 1)
        expected = np.bincount(labels[rows], minlength=models.n_classes)
        assert sums.node_counts(chosen, signs).tolist() == expected.tolist()


def naive_best(
    region: list[oracle.World], cells: list[tuple[oracle.World, int]], depth: int, n_classes: int, penalty: Fraction
) -> tuple[Fraction, Any]:
    """Return the least cost, and of its trees the one that prefers leaves, then the first literal and label."""
    errors = [Fraction(sum(label != y for _, label in cells)) for y in range(n_classes)]
    best: tuple[Fraction, Any] = (min(errors), ("leaf", errors.index(min(errors))))
    for literal, true, false in oracle.admissible(region) if depth else ():
        sides = [[cell for cell in cells if cell[0][literal] is side] for side in (True, False)]
        left = naive_best(true, sides[0], depth - 1, n_classes, penalty)
        right = naive_best(false, sides[1], depth - 1, n_classes, penalty)
        if penalty + left[0] + right[0] < best[0]:
            best = penalty + left[0] + right[0], ("split", literal, left[1], right[1])
    return best


@pytest.mark.slow
@given(engine.tree_cases(), st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(5, 4)]))
@settings(max_examples=40)
def test_the_best_tree_is_optimal_and_the_first_of_equals(case: Any, penalty: Fraction) -> None:
    models, worlds, truth, labels = case
    best = engine.named(engine.sums_of(models, truth, labels, Weighting.optimal(float(penalty))).best())
    cells = [(tuple(row), int(y)) for row, y in zip(truth.tolist(), labels, strict=True)]
    least, expected = naive_best(worlds, cells, models.depth, models.n_classes, penalty)
    listed = oracle.trees(worlds, range(models.n_classes), models.depth)
    assert least == oracle.optimum(listed, truth, labels, penalty)[0]
    assert oracle.errors(best, truth, labels) + penalty * oracle.size(best) == least
    assert best == expected


@pytest.mark.parametrize("penalty", [0, 1, 4])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_best_of_many_trees_is_that_of_a_search(depth: int, penalty: int) -> None:
    models, worlds = engine.trees_of(*engine.binary_domain(7), depth, 3)
    truth, labels = engine.some_data(depth, worlds, 150, 3)
    sums = engine.sums_of(models, truth, labels, Weighting.optimal(float(penalty)))
    best = engine.named(sums.best())
    least, _ = optimal_tree(truth, labels, depth, penalty)
    assert oracle.errors(best, truth, labels) + penalty * oracle.size(best) == least == sums.costs[0].item()


def test_optimal_weights_count_the_optimal_trees() -> None:
    models, worlds = engine.trees_of(*engine.binary_domain(3), 2, 2)
    listed = oracle.trees(worlds, [0, 1], 2)
    for seed in range(5):
        truth, labels = engine.some_data(seed, worlds, 7, 2)
        for penalty in (0, 1, 2):
            sums = engine.sums_of(models, truth, labels, Weighting.optimal(float(penalty)))
            assert sums.weights[0].item() == len(oracle.optimum(listed, truth, labels, Fraction(penalty))[1])


@pytest.mark.parametrize("make", MAKERS)
def test_models_are_counted_alike_with_and_without_records(make: engine.Maker) -> None:
    models, worlds = engine.trees_of(*make(5), 3, 1)
    truth, labels = engine.some_data(3, worlds, 20, 1)
    found = []
    for n in (0, 20):
        sums = engine.sums_of(models, truth[:n], labels[:n], Weighting.count(3))
        found.append([table.tobytes() for table in (*sums.costs, *sums.weights)])
    assert found[0] == found[1]
