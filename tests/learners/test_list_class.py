"""Sums over rule lists against the list of all rule lists, one by one, with exact weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.domain import Between, Binary, Category, Domain, Implies, Integer, OneOf
from glassine.learners.antecedents import both_signs, pairs
from glassine.privacy.randomness import Randomness
from glassine.sealed.list_family import DrawnList
from glassine.sealed.lists import ListClass
from glassine.sealed.weighting import Weighting
from tests.learners import engine
from tests.oracles import model_classes as oracle
from tests.oracles.optimal import optimal_rule_list

CLOSE = 1e-10
"""For the logarithms as floats; the draws themselves are measured in test_gibbs.py."""

MAKERS: list[engine.Maker] = [
    engine.binary_domain,
    engine.threshold_domain,
    engine.one_hot_domain,
    engine.gapped_domain,
]


def assert_law(
    lists: ListClass,
    listed: Sequence[oracle.RuleList],
    truth: engine.Truth,
    labels: engine.Labels,
    epsilon: Fraction,
    part_weight: Fraction = Fraction(1),
) -> None:
    """Every list has the probability that the list of all lists gives it."""
    expected = oracle.distribution(listed, truth, labels, oracle.decay(epsilon), oracle.by_size(part_weight))
    found = engine.law_of(lists, truth, labels, epsilon, part_weight=float(part_weight))
    assert found.keys() == expected.keys()
    for model, log in found.items():
        assert log == pytest.approx(float(oracle.log(expected[model])), abs=CLOSE)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("p", "length"), [(2, 1), (3, 1), (2, 2), (3, 2), (3, 3), (4, 3)])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_every_list_has_its_probability(make: engine.Maker, p: int, length: int, n_classes: int) -> None:
    domain, literals = make(p)
    lists, worlds = engine.lists_of(domain, engine.singles(literals), length, n_classes)
    truth, labels = engine.some_data(p + 10 * length, worlds, 9, n_classes)
    listed = oracle.rule_lists(worlds, range(n_classes), length)
    assert_law(lists, listed, truth, labels, Fraction(7, 10), Fraction(1, 2))


def test_four_classes() -> None:
    lists, worlds = engine.lists_of(*with_negations(engine.binary_domain, 2), 2, 4)
    truth, labels = engine.some_data(4, worlds, 12, 4)
    assert_law(lists, oracle.rule_lists(worlds, range(4), 2), truth, labels, Fraction(1, 3))


def with_negations(make: engine.Maker, p: int) -> tuple[Domain, list[tuple[Any, ...]]]:
    """Return a domain, and its literals and their negations as a pool."""
    domain, literals = make(p)
    return domain, list(both_signs(domain, literals))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_pools_with_negations(make: engine.Maker, length: int) -> None:
    # A literal and its negation leave nothing: the list ends before the second.
    lists, worlds = engine.lists_of(*with_negations(make, 3), length, 2)
    truth, labels = engine.some_data(length, worlds, 10, 2)
    assert_law(lists, oracle.rule_lists(worlds, range(2), length), truth, labels, Fraction(1))


@pytest.mark.slow
@given(
    engine.list_cases(), st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(9, 2)]), st.sampled_from([1, 8, 16])
)
@settings(max_examples=40)
def test_probabilities_in_any_domain(case: Any, epsilon: Fraction, divisor: int) -> None:
    lists, worlds, truth, labels = case
    listed = oracle.rule_lists(worlds, range(lists.n_classes), lists.length)
    assert_law(lists, listed, truth, labels, epsilon, Fraction(1, divisor))


@pytest.mark.slow
@given(engine.list_cases())
@settings(max_examples=25)
def test_without_epsilon_the_sum_is_the_number_of_lists(case: Any) -> None:
    lists, worlds, truth, labels = case
    sums = engine.sums_of(lists, truth, labels, engine.weighting_of(0, len(labels)))
    number = oracle.count_rule_lists(worlds, lists.n_classes, lists.length)
    assert math.exp(sums.log_size()) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "p", "length", "n_classes"),
    [
        (engine.binary_domain, 7, 5, 2),
        (engine.binary_domain, 3, 12, 2),
        (engine.threshold_domain, 6, 4, 3),
        (engine.threshold_domain, 70, 2, 2),
        (engine.category_domain, 66, 2, 2),
        (engine.category_domain, 5, 12, 2),
    ],
)
def test_long_and_wide_classes_have_the_right_size(make: engine.Maker, p: int, length: int, n_classes: int) -> None:
    # Beyond 64 thresholds or categories a block has several words of atoms.
    domain, literals = make(p)
    lists, worlds = engine.lists_of(domain, engine.singles(literals), length, n_classes)
    truth, labels = engine.some_data(p, worlds, 12, n_classes)
    number = oracle.count_rule_lists(worlds, n_classes, length)
    found = engine.sums_of(lists, truth, labels, engine.weighting_of(0, 12))
    assert found.log_size() == pytest.approx(math.log(number), rel=1e-13)
    assert lists.log_count() == pytest.approx(math.log(number), rel=1e-13)


def naive_lists(
    worlds: Sequence[oracle.World], widths: Sequence[int], labels: Sequence[int], length: int
) -> list[oracle.RuleList]:
    """List the rule lists of a pool with wide rules, as documented.

    Rules of one literal are judged together and exactly; any other pair of rules by itself.
    """

    def possible(holds: Sequence[int], fails: Sequence[int]) -> bool:
        return any(all(w[i] for i in holds) and not any(w[i] for i in fails) for w in worlds)

    def follows(chosen: tuple[int, ...], rule: int) -> bool:
        if not all(possible([rule], [i]) and possible([], [i, rule]) for i in chosen):
            return False
        narrow = [i for i in chosen if widths[i] == 1]
        return widths[rule] > 1 or (possible([rule], narrow) and possible([], [*narrow, rule]))

    def extend(chosen: tuple[int, ...]) -> list[oracle.RuleList]:
        found: list[oracle.RuleList] = [((), y) for y in labels]
        if len(chosen) < length:
            for rule in range(len(widths)):
                if rule not in chosen and follows(chosen, rule):
                    for rules, default in extend((*chosen, rule)):
                        found += [(((rule, y), *rules), default) for y in labels]
        return found

    return extend(())


WIDE: dict[str, tuple[Domain, list[tuple[Any, ...]]]] = {
    "binary": (domain := Domain.binary(["a", "b"]), pairs(domain, [OneOf("a", (1,)), OneOf("b", (1,))])),
    "thresholds": (
        Domain({"n": Integer(0, 3), "b": Binary()}),
        [
            (Between("n", hi=1.5),),
            (Between("n", hi=0.5),),
            (Between("n", lo=0.5, hi=2.5), OneOf("b", (1,))),
            (Between("n", hi=0.5), OneOf("b", (0,))),
            (Between("n", lo=1.5), Between("n", hi=2.5)),
            (Between("n", lo=1.5), Between("n", lo=0.5)),
            (OneOf("b", (1,)),),
        ],
    ),
    "ties": (
        Domain({"k": Category(("u", "v"), missing=True), "x": Binary(), "y": Binary()}, groups=[Implies(("x", "y"))]),
        [
            (OneOf("k", ("u",)),),
            (OneOf("x", (1,)),),
            (OneOf("y", (1,)),),
            (OneOf("x", (1,)), OneOf("y", (0,))),
            (OneOf("k", ("u", "v")), OneOf("y", (0,))),
            (OneOf("k", ("u", "v"), negated=True, missing=True), OneOf("x", (0,))),
            (OneOf("y", (1,)), OneOf("x", (0,))),
        ],
    ),
}


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_pools_with_rules_of_two_literals(name: str, length: int) -> None:
    lists, worlds = engine.lists_of(*WIDE[name], length, 2)
    widths = [1 if block >= 0 else 2 for block in lists.logic.blocks]
    assert 2 in widths
    listed = naive_lists(worlds, widths, [0, 1], length)
    truth, labels = engine.some_data(length, worlds, 8, 2)
    sums = engine.sums_of(lists, truth, labels, engine.weighting_of(0, 8))
    assert math.exp(sums.log_size()) == pytest.approx(len(listed), rel=1e-12)
    if len(listed) < 5000:
        assert_law(lists, listed, truth, labels, Fraction(1, 2), Fraction(1, 4))


@pytest.mark.slow
@given(engine.list_cases(), st.data())
@settings(max_examples=25)
def test_multiplicities_stand_for_repeated_records(case: Any, data: st.DataObject) -> None:
    lists, _, truth, labels = case
    times = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(labels), max_size=len(labels))), dtype=np.int64)
    weighed = engine.law_of(lists, truth, labels, Fraction(1, 2), multiplicities=times)
    repeated = engine.law_of(lists, np.repeat(truth, times, axis=0), np.repeat(labels, times), Fraction(1, 2))
    assert weighed == repeated


@pytest.mark.slow
@given(engine.list_cases(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_the_order_of_records_and_the_names_of_classes_do_not_matter(case: Any, random: Any) -> None:
    lists, _, truth, labels = case
    law = engine.law_of(lists, truth, labels, Fraction(1))
    order = list(range(len(labels)))
    random.shuffle(order)
    assert engine.law_of(lists, truth[order], labels[order], Fraction(1)) == law
    names = list(range(lists.n_classes))
    random.shuffle(names)
    renamed = engine.law_of(lists, truth, np.array(names, dtype=np.int64)[labels], Fraction(1))
    expected = {
        (tuple((rule, names[y]) for rule, y in rules), names[default]): log for (rules, default), log in law.items()
    }
    assert renamed == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_rules_does_not_matter(seed: int) -> None:
    domain, literals = engine.binary_domain(4)
    order = np.random.default_rng(seed).permutation(4)
    lists, worlds = engine.lists_of(domain, engine.singles(literals), 3, 2)
    moved_domain = Domain.binary([f"b{i}" for i in order])
    moved, _ = engine.lists_of(moved_domain, engine.singles([literals[i] for i in order]), 3, 2)
    truth, labels = engine.some_data(seed, worlds, 15, 2)
    law = engine.law_of(lists, truth, labels, Fraction(1))
    at = {int(old): new for new, old in enumerate(order)}
    expected = {(tuple((at[rule], y) for rule, y in rules), default): log for (rules, default), log in law.items()}
    assert engine.law_of(moved, truth[:, order], labels, Fraction(1)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("length", [0, 1, 12])
def test_without_rules_a_list_is_its_default(length: int) -> None:
    lists, worlds = engine.lists_of(Domain.binary(["b0"]), [], length, 2)
    law = engine.law_of(lists, np.zeros((3, 0), dtype=bool), np.array([0, 1, 1], dtype=np.int64), Fraction(1))
    assert worlds == [()]
    assert len(law) == 2
    assert law[(), 1] - law[(), 0] == pytest.approx(1)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_without_records_all_lists_are_alike(n_classes: int) -> None:
    domain, literals = engine.binary_domain(2)
    lists, worlds = engine.lists_of(domain, engine.singles(literals), 2, n_classes)
    truth, labels = engine.some_data(0, worlds, 0, n_classes)
    law = engine.law_of(lists, truth, labels, Fraction(1))
    assert len(law) == oracle.count_rule_lists(worlds, n_classes, 2)
    assert all(log == pytest.approx(-math.log(len(law)), abs=1e-12) for log in law.values())


@pytest.mark.slow
@given(engine.list_cases(), st.integers(0, 1000))
@settings(max_examples=25)
def test_class_counts_of_drawn_rules_are_those_of_the_records(case: Any, seed: int) -> None:
    lists, _, truth, labels = case
    sums = engine.sums_of(lists, truth, labels, engine.weighting_of(Fraction(1, 10), len(labels)))
    drawn = sums.draw(Randomness.of(seed))
    free = np.ones(len(labels), dtype=bool)
    expected = []
    for rule, _ in drawn.rules:
        expected.append(np.bincount(labels[free & truth[:, rule]], minlength=lists.n_classes).tolist())
        free &= ~truth[:, rule]
    expected.append(np.bincount(labels[free], minlength=lists.n_classes).tolist())
    assert sums.class_counts(drawn).tolist() == expected


def naive_best(
    region: list[oracle.World], cells: list[tuple[oracle.World, int]], length: int, n_classes: int, penalty: Fraction
) -> tuple[Fraction, oracle.RuleList]:
    """Return the least cost, and of its lists the one that prefers to end, then the first rule and label."""

    def leaf(part: list[tuple[oracle.World, int]]) -> tuple[Fraction, int]:
        errors = [Fraction(sum(label != y for _, label in part)) for y in range(n_classes)]
        return min(errors), errors.index(min(errors))

    cost, default = leaf(cells)
    best: tuple[Fraction, oracle.RuleList] = (cost, ((), default))
    for rule, _, rest in oracle.admissible(region) if length else ():
        wrong, y = leaf([cell for cell in cells if cell[0][rule]])
        after, (rules, last) = naive_best(
            rest, [cell for cell in cells if not cell[0][rule]], length - 1, n_classes, penalty
        )
        if penalty + wrong + after < best[0]:
            best = penalty + wrong + after, (((rule, y), *rules), last)
    return best


@pytest.mark.slow
@given(engine.list_cases(), st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(5, 4)]))
@settings(max_examples=40)
def test_the_best_list_is_optimal_and_the_first_of_equals(case: Any, penalty: Fraction) -> None:
    lists, worlds, truth, labels = case
    best = engine.named(engine.sums_of(lists, truth, labels, Weighting.optimal(float(penalty))).best())
    cells = [(tuple(row), int(y)) for row, y in zip(truth.tolist(), labels, strict=True)]
    least, expected = naive_best(worlds, cells, lists.length, lists.n_classes, penalty)
    listed = oracle.rule_lists(worlds, range(lists.n_classes), lists.length)
    assert least == oracle.optimum(listed, truth, labels, penalty)[0]
    assert oracle.errors(best, truth, labels) + penalty * oracle.size(best) == least
    assert best == expected


@pytest.mark.parametrize("penalty", [0, 1, 4])
@pytest.mark.parametrize("length", [1, 3, 4])
def test_the_best_of_many_lists_is_that_of_a_search(length: int, penalty: int) -> None:
    lists, worlds = engine.lists_of(*with_negations(engine.binary_domain, 5), length, 3)
    truth, labels = engine.some_data(length, worlds, 150, 3)
    sums = engine.sums_of(lists, truth, labels, Weighting.optimal(float(penalty)))
    best = engine.named(sums.best())
    least, _ = optimal_rule_list(truth, labels, length, penalty)
    assert oracle.errors(best, truth, labels) + penalty * oracle.size(best) == least == sums.costs[0].item()


def test_a_drawn_list_is_a_value() -> None:
    assert DrawnList(((0, 1),), 0) == DrawnList(((0, 1),), 0)
    assert len({DrawnList(((0, 1),), 0), DrawnList(((0, 1),), 1)}) == 2
