"""The oracle of model classes against closed forms, and the oracle of optima against the oracle of model classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, inf, perm

import numpy as np
import pytest

from tests.oracles import model_classes as oracle
from tests.oracles.model_classes import Labels, Model, RuleList, Tree, Truth, World
from tests.oracles.optimal import optimal_rule_list, optimal_tree, with_negations

HALF = Fraction(1, 2)
LEAVES: list[Tree] = [("leaf", 0), ("leaf", 1)]
XOR: Tree = ("split", 0, ("split", 1, ("leaf", 0), ("leaf", 1)), ("split", 1, ("leaf", 1), ("leaf", 0)))


def trees_of_independent_literals(n_literals: int, n_labels: int, max_depth: int) -> int:
    """A(p, d) = L + p A(p - 1, d - 1)^2: a literal divides no region that a path has divided by it."""
    if max_depth == 0:
        return n_labels
    return n_labels + n_literals * trees_of_independent_literals(n_literals - 1, n_labels, max_depth - 1) ** 2


@pytest.mark.parametrize("n_labels", [1, 2, 3])
@pytest.mark.parametrize(("n_literals", "max_depth"), [(1, 0), (1, 3), (2, 1), (2, 2), (3, 2), (4, 2), (5, 1)])
def test_trees_over_independent_literals_follow_the_recursion(n_literals: int, max_depth: int, n_labels: int) -> None:
    expected = trees_of_independent_literals(n_literals, n_labels, max_depth)
    worlds = oracle.independent(n_literals)
    assert oracle.count_trees(worlds, n_labels, max_depth) == expected
    listed = oracle.trees(worlds, range(n_labels), max_depth)
    assert len(listed) == len(set(listed)) == expected


@pytest.mark.parametrize("n_thresholds", range(1, 7))
def test_trees_over_ordered_thresholds_are_counted_by_catalan_numbers(n_thresholds: int) -> None:
    # Trees that use every threshold are the binary search trees on them; k of p thresholds: comb(p, k) choices.
    catalan = [comb(2 * k, k) // (k + 1) for k in range(n_thresholds + 1)]
    expected = sum(comb(n_thresholds, k) * catalan[k] * 2 ** (k + 1) for k in range(n_thresholds + 1))
    assert oracle.count_trees(oracle.chain(n_thresholds), 2, n_thresholds) == expected


@pytest.mark.parametrize("n_categories", range(2, 7))
def test_trees_over_categories_peel_one_category_at_a_split(n_categories: int) -> None:
    # The true side of a split is one world; k peels of p categories: perm(p, k), and the last peel of p - 1 splits two
    # worlds, where either literal is a split of its own.
    expected = sum(perm(n_categories, k) * 2 ** (k + 1) for k in range(n_categories))
    assert oracle.count_trees(oracle.one_hot(n_categories), 2, n_categories) == expected


@pytest.mark.parametrize("n_labels", [1, 2, 3])
@pytest.mark.parametrize(("n_literals", "max_rules"), [(1, 0), (1, 2), (3, 2), (3, 5), (4, 3)])
def test_rule_lists_are_counted_by_closed_forms(n_literals: int, max_rules: int, n_labels: int) -> None:
    lengths = range(min(max_rules, n_literals) + 1)
    independent = sum(perm(n_literals, k) * n_labels ** (k + 1) for k in lengths)
    # After a threshold only lower ones divide what is left: a list is a set of thresholds.
    chain = sum(comb(n_literals, k) * n_labels ** (k + 1) for k in lengths)
    # Once all categories but one have rules, the default rule has the last one.
    one_hot = sum(perm(n_literals, k) * n_labels ** (k + 1) for k in lengths if k < n_literals)
    for worlds, expected in (
        (oracle.independent(n_literals), independent),
        (oracle.chain(n_literals), chain),
        (oracle.one_hot(n_literals), one_hot),
    ):
        assert oracle.count_rule_lists(worlds, n_labels, max_rules) == expected
        listed = oracle.rule_lists(worlds, range(n_labels), max_rules)
        assert len(listed) == len(set(listed)) == expected


def test_a_literal_that_always_holds_divides_nothing() -> None:
    worlds = [(*world, True) for world in oracle.independent(2)]
    assert oracle.trees(worlds, [0, 1], 2) == oracle.trees(oracle.independent(2), [0, 1], 2)
    assert oracle.rule_lists(worlds, [0, 1], 3) == oracle.rule_lists(oracle.independent(2), [0, 1], 3)


def test_models_are_read_as_documented() -> None:
    rules: RuleList = (((1, 7), (0, 8)), 9)
    predictions = {world: oracle.predict(rules, world) for world in oracle.independent(2)}
    assert predictions == {(False, False): 9, (False, True): 7, (True, False): 8, (True, True): 7}
    stump: Tree = ("split", 1, ("leaf", 5), ("leaf", 6))
    assert [oracle.predict(stump, world) for world in oracle.independent(2)] == [6, 5, 6, 5]
    assert [oracle.size(model) for model in (rules, ((), 0), ("leaf", 0), stump, XOR)] == [2, 0, 0, 1, 3]


def test_errors_and_optimum_of_exclusive_or() -> None:
    truth, labels = oracle.arrays(tuple((world, int(world[0] != world[1])) for world in oracle.independent(2)), 2)
    listed = oracle.trees(oracle.independent(2), [0, 1], 2)
    assert oracle.errors(XOR, truth, labels) == 0
    assert oracle.errors(("leaf", 1), truth, labels) == 2
    least, best = oracle.optimum(listed, truth, labels)
    assert least == 0
    assert XOR in best
    assert len(best) == 2
    # Three splits save two errors: worth it below a penalty of two thirds.
    assert oracle.optimum(listed, truth, labels, Fraction(13, 20))[0] == Fraction(39, 20)
    assert oracle.optimum(listed, truth, labels, Fraction(7, 10)) == (Fraction(2), LEAVES)


def test_the_partition_sum_of_an_empty_data_set_is_the_prior_mass() -> None:
    truth, labels = oracle.arrays((), 3)
    assert truth.shape == (0, 3)
    weight = Fraction(1, 7)
    lists = oracle.rule_lists(oracle.independent(3), [0, 1], 3)
    expected = sum(perm(3, k) * 2 ** (k + 1) * weight**k for k in range(4))
    assert oracle.partition(lists, truth, labels, HALF, oracle.by_size(weight)) == expected
    assert oracle.partition(lists, truth, labels, HALF) == len(lists)


def test_the_distribution_over_leaves_is_the_textbook_one() -> None:
    records = (((True,), 1), ((False,), 1), ((False,), 0))
    truth, labels = oracle.arrays(records, 1)
    given = oracle.distribution(oracle.trees(oracle.independent(1), [0, 1], 0), truth, labels, HALF)
    assert given == {("leaf", 0): Fraction(1, 3), ("leaf", 1): Fraction(2, 3)}


@pytest.mark.parametrize("worlds", [oracle.independent(3), oracle.chain(4), oracle.one_hot(4)])
@pytest.mark.parametrize("max_depth", [0, 1, 2])
def test_the_probabilities_of_growing_trees_sum_to_one(worlds: list[World], max_depth: int) -> None:
    prior = oracle.growing_trees(worlds, 2, max_depth, Fraction(3, 5))
    listed = oracle.trees(worlds, [0, 1], max_depth)
    assert sum(prior(tree) for tree in listed) == 1
    assert min(prior(tree) for tree in listed) > 0


def test_decay_and_log_are_inverse() -> None:
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(10, 3)):
        assert abs(Fraction(oracle.log(oracle.decay(epsilon))) + epsilon) < Fraction(1, 10**55)
    # e**-1 to 50 digits, from tables.
    table = Fraction("0.36787944117144232159552377016146086744581113103177")
    assert abs(oracle.decay(Fraction(1)) - table) < Fraction(1, 10**49)


def test_datasets_are_multisets_and_neighbours_have_one_record_more() -> None:
    records = oracle.universe(oracle.independent(1), [0, 1])
    assert len(records) == 4
    listed = list(oracle.datasets(records, 3))
    assert len(listed) == len(set(listed)) == sum(comb(4 + n - 1, n) for n in range(4))
    pairs = list(oracle.neighbours(records, 2))
    assert len(pairs) == 4 * sum(comb(4 + n - 1, n) for n in range(3))
    assert all(len(more) == len(one) + 1 for one, more in pairs)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_worst_ratio_over_leaves_is_the_closed_form(n: int) -> None:
    # The other label, when n records of one label become n + 1; the ratio tends to exp(epsilon) from below.
    records = oracle.universe([(True,)], [0, 1])
    mechanism = oracle.exponential(LEAVES, records, HALF)
    expected = (1 + HALF ** (n + 1)) / (HALF + HALF ** (n + 1))
    assert oracle.worst_ratio(mechanism, records, n) == expected < 2


CLASSES: list[tuple[list[World], Sequence[Model]]] = [
    (oracle.independent(2), oracle.trees(oracle.independent(2), [0, 1], 2)),
    (oracle.chain(2), oracle.trees(oracle.chain(2), [0, 1, 2], 2)),
    (oracle.independent(2), oracle.rule_lists(oracle.independent(2), [0, 1], 2)),
    (oracle.one_hot(3), oracle.rule_lists(oracle.one_hot(3), [0, 1], 2)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("worlds", "models"), CLASSES)
@pytest.mark.parametrize("prior", [oracle.uniform, oracle.by_size(Fraction(1, 5))])
def test_drawing_by_errors_keeps_epsilon_exactly(
    worlds: list[World], models: Sequence[Model], prior: oracle.Prior
) -> None:
    labels = sorted({oracle.predict(model, worlds[0]) for model in models})
    records = oracle.universe(worlds, labels)
    worst = oracle.worst_ratio(oracle.exponential(models, records, HALF, prior), records, 3)
    assert 1 < worst <= 2
    # Planted: the scale forgets a factor of two.
    doubled = oracle.worst_ratio(oracle.exponential(models, records, HALF**2, prior), records, 3)
    assert doubled > 2


def test_merging_models_that_agree_changes_no_ratio() -> None:
    worlds, models = CLASSES[0]
    records = oracle.universe(worlds, [0, 1])
    epsilon = oracle.decay(Fraction(7, 10))
    merged = oracle.exponential(models, records, epsilon, oracle.by_size(HALF))

    def naive(truth: Truth, labels: Labels) -> dict[Model, Fraction]:
        return oracle.distribution(models, truth, labels, epsilon, oracle.by_size(HALF))

    assert oracle.worst_ratio(merged, records, 1) == oracle.worst_ratio(naive, records, 1) <= 1 / epsilon


def test_a_class_that_depends_on_the_records_is_found_out() -> None:
    # Planted: splits are admitted by the records instead of the worlds.
    records = oracle.universe(oracle.independent(1), [0, 1])

    def by_records(truth: Truth, labels: Labels) -> dict[Tree, Fraction]:
        seen = [tuple(row) for row in truth.tolist()] or [(True,)]
        return oracle.distribution(oracle.trees(seen, [0, 1], 1), truth, labels, HALF)

    assert oracle.worst_ratio(by_records, records, 1) == inf


def small_data(seed: int, worlds: list[World]) -> tuple[Truth, Labels]:
    """Return a few records of a domain, many of them alike."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(worlds), size=int(rng.integers(1, 30)))
    dataset = tuple((worlds[i], int(y)) for i, y in zip(chosen, rng.integers(3, size=len(chosen)), strict=True))
    return oracle.arrays(dataset, len(worlds[0]))


WORLDS = [oracle.independent(3), oracle.chain(5), oracle.one_hot(4)]


@pytest.mark.parametrize("worlds", WORLDS)
@pytest.mark.parametrize("penalty", [0, 1, 3])
def test_optimal_trees_are_optimal_among_all(worlds: list[World], penalty: int) -> None:
    for depth in (0, 1, 2):
        listed = oracle.trees(worlds, [0, 1, 2], depth)
        for seed in range(4):
            truth, labels = small_data(seed, worlds)
            least, tree = optimal_tree(truth, labels, depth, penalty)
            assert tree in listed
            assert least == oracle.errors(tree, truth, labels) + penalty * oracle.size(tree)
            assert least == oracle.optimum(listed, truth, labels, Fraction(penalty))[0]


@pytest.mark.parametrize("worlds", WORLDS)
@pytest.mark.parametrize("penalty", [0, 1, 3])
def test_optimal_rule_lists_are_optimal_among_all(worlds: list[World], penalty: int) -> None:
    for max_rules in (0, 1, 2, 3):
        listed = oracle.rule_lists(worlds, [0, 1, 2], max_rules)
        for seed in range(4):
            truth, labels = small_data(seed, worlds)
            least, rules = optimal_rule_list(truth, labels, max_rules, penalty)
            assert rules in listed
            assert least == oracle.errors(rules, truth, labels) + penalty * oracle.size(rules)
            assert least == oracle.optimum(listed, truth, labels, Fraction(penalty))[0]


def test_negations_widen_the_pool_of_rule_lists() -> None:
    # (x and not y) or nothing else: one rule list of two rules needs a negation first.
    truth, labels = oracle.arrays(tuple((world, int(world[0] and world[1])) for world in oracle.independent(2)), 2)
    assert optimal_rule_list(truth, labels, 1)[0] == 1
    assert optimal_rule_list(truth, labels, 2)[0] == 1
    least, rules = optimal_rule_list(with_negations(truth), labels, 2)
    assert least == 0
    assert {literal for literal, _ in rules[0]} & {2, 3}


Searcher = Callable[[Truth, Labels, int, int], tuple[int, Model]]


@pytest.mark.parametrize("search", [optimal_tree, optimal_rule_list])
def test_more_room_and_less_penalty_never_cost(search: Searcher) -> None:
    rng = np.random.default_rng(5)
    truth = rng.random((200, 6)) < 0.5
    labels = ((truth[:, 0] & truth[:, 1]) | (truth[:, 2] & ~truth[:, 3]) | (rng.random(200) < 0.1)).astype(np.int64)
    by_room = [search(truth, labels, room, 0)[0] for room in range(4)]
    assert by_room == sorted(by_room, reverse=True)
    assert by_room[0] > by_room[-1]
    by_penalty = [search(truth, labels, 3, penalty)[0] for penalty in (0, 2, 5, 200)]
    assert by_penalty == sorted(by_penalty)
    assert by_penalty[-1] == by_room[0]
