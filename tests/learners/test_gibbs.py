"""Gibbs draws: the drawn distribution to 50 digits against the ideal one, and draws against both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from glassine.compiling.interpretation import interpreted
from glassine.privacy.randomness import Randomness
from glassine.records.subsets import binomials
from glassine.sealed import gibbs
from glassine.sealed.gibbs import Choice
from glassine.sealed.last_splits import SignedLeaves, settle, spread
from glassine.sealed.lists import ListClass, ListSums
from glassine.sealed.losses import LeafCosts
from glassine.sealed.tree_sums import Costs, Weighed, power
from glassine.sealed.trees import TreeClass, TreeSums
from glassine.sealed.weighting import LEAST_RATE, LOG_RANGE, Weighting, exact_rate, powers_bytes, rounding
from tests.learners import engine
from tests.oracles import model_classes as oracle
from tests.oracles.laws import log_probabilities

# With these numbers of draws, an epsilon that is off by a tenth has a non-centrality of some 300 in every test
# below, so that it passes with probability below 1e-6; the right one fails with probability 1e-9.
THRESHOLD = 1e-9
MISSED = 1e-6


def test_epsilon_is_rounded_down_to_40_bits() -> None:
    weighting = Weighting.private(Fraction(1, 3), 1.0)
    assert weighting.exact_epsilon == Fraction(2**40 // 3, 2**40)
    assert Fraction(1, 3) - Fraction(1, 2**40) < weighting.exact_epsilon <= Fraction(1, 3)
    assert Weighting.private(Fraction(5, 4), 1.0).exact_epsilon == Fraction(5, 4)


@pytest.mark.parametrize("epsilon", [Fraction(1, 90), Fraction(1, 10), Fraction(1), Fraction(50), Fraction(1000)])
def test_powers_are_right_to_42_bits(epsilon: Fraction) -> None:
    weighting = Weighting.private(epsilon, 1.0)
    *powers, last = weighting.powers.tolist()
    assert len(powers) == int(700 / weighting.exact_epsilon) + 1
    assert last == 0.0
    with engine.precise():
        for j in {0, min(1, len(powers) - 1), len(powers) // 2, len(powers) - 1}:
            exponent = weighting.exact_epsilon * j
            exact = (-Decimal(exponent.numerator) / exponent.denominator).exp()
            assert abs(Decimal(powers[j]) / exact - 1) < Decimal(2) ** -42


@pytest.mark.parametrize("unit", [1, 2, 7, 1000, 10**6])
@pytest.mark.parametrize("epsilon", [2 * LEAST_RATE, Fraction(1, 10**6), Fraction(1, 10), Fraction(3), Fraction(500)])
def test_a_power_is_right_to_41_bits_and_zero_below_exp_680_alone(epsilon: Fraction, unit: int) -> None:
    """Also at the seam of two tables, behind their ends, and where one unit costs more than a jump may."""
    weighting = Weighting.private(epsilon * unit, 1.0, unit)
    rate, low = weighting.exact_epsilon, min(2**weighting.shift, 2**50)
    reach = int(700 / rate)
    with engine.precise():
        for j in {0, 1, 2, low - 1, low, low + 1, reach // 2, reach - 1, reach, reach + 1, 2 * reach + 5}:
            exponent = Decimal(rate.numerator) / rate.denominator * j
            drawn = power(j, weighting.powers, weighting.jumps, weighting.shift) if j >= 0 else 0.0
            if 0 <= exponent <= 680:
                assert abs(Decimal(drawn) / (-exponent).exp() - 1) < Decimal(2) ** -41
            else:
                assert 0 <= drawn < math.exp(-679)


def test_the_limit_of_large_epsilon_has_no_epsilon() -> None:
    with pytest.raises(ValueError, match="has none"):
        _ = Weighting.optimal(0.5).exact_epsilon


def test_choices_leave_out_what_is_impossible_and_nothing_else() -> None:
    weighting = Weighting.private(Fraction(50), 1.0)
    costs, weights = np.array([3.0, np.inf, 10.0**6, 0.0]), np.array([1e-200, 0.0, 2.0, 1.0])
    found = gibbs.choices([7, 8, 9, 4], costs, weights, weighting)
    assert [(choice.number, choice.cost) for choice in found] == [(7, 3.0), (9, 1e6), (4, 0.0)]
    expected = [math.log(1e-200) - 150, math.log(2) - 5e7, 0]
    for choice, log in zip(found, expected, strict=True):
        assert math.ldexp(choice.scaled, -48) == pytest.approx(log, abs=1e-12 * max(1.0, abs(log)))
    assert gibbs.least(found) == 4


def test_labels_cost_the_records_of_the_others() -> None:
    weighting = Weighting.private(Fraction(1, 2), 1.0)
    found = gibbs.values(np.array([2, 0, 5]), LeafCosts.errors(3), weighting)
    assert [choice.cost for choice in found] == [5.0, 7.0, 2.0]
    assert [choice.scaled for choice in found] == [-3 * 2**47, -5 * 2**47, 0]


@given(st.lists(st.integers(-(2**56), 2**50), min_size=1, max_size=6))
@example([0, -(2**62)])
def test_log_probabilities_are_those_of_the_draw(scaled: list[int]) -> None:
    options = [Choice(i, 0.0, value) for i, value in enumerate(scaled)]
    logs = log_probabilities(options)
    assert math.fsum(math.exp(log) for log in logs) == pytest.approx(1, abs=1e-12)
    for i, log in enumerate(logs):
        assert log - logs[0] == pytest.approx(math.ldexp(scaled[i] - scaled[0], -48), rel=1e-12, abs=1e-9)


def test_a_choice_is_drawn_by_the_exponential_of_what_is_stored() -> None:
    """A hundred thousandth of an epsilon more or less would pass here; a wrong base or unit does not."""
    options = [Choice(7, 0.0, 0), Choice(5, 0.0, -round(math.log(3) * 2**48)), Choice(1, 0.0, -(20 * 2**48))]
    randomness = Randomness.of(5)
    counts = Counter(gibbs.draw(options, randomness) for _ in range(3000))
    assert set(counts) == {5, 7}
    assert stats.binomtest(counts[7], 3000, 0.75).pvalue > THRESHOLD
    assert stats.binomtest(3000 - round(0.75 * 3000 * 0.9), 3000, 0.75).pvalue < THRESHOLD


def test_the_least_epsilon_is_off_by_a_hundredth_at_most() -> None:
    """Rounded down to 40 bits, the least that is not refused loses at most one of a hundred steps."""
    least = LEAST_RATE
    assert least * 2**40 == 100
    assert exact_rate(least * Fraction(10**9 - 1, 10**9)) == Fraction(99, 2**40)


def test_equal_costs_go_to_the_first() -> None:
    assert gibbs.least([Choice(5, 2.0, 0), Choice(3, 1.0, -9), Choice(8, 1.0, 4)]) == 3


@pytest.mark.parametrize(("levels", "fan_out"), [(1, 1), (2, 2), (4, 2), (9, 2), (26, 1)])
def test_rounding_adds_up_all_choices_of_a_model(levels: int, fan_out: int) -> None:
    step = (100 + 16) * 2.0**-53 + 2.0**-40
    errors = [step]
    for _ in range(levels):
        errors.append(fan_out * errors[-1] + step)
    expected = 4 * sum(fan_out ** (levels - 1 - i) * (errors[i] + 2.0**-43) for i in range(levels))
    assert rounding(levels, fan_out, 100) == pytest.approx(expected, rel=1e-12)
    assert rounding(levels, fan_out, 100) < 1e-6


@pytest.mark.parametrize(("epsilon", "unit"), [(Fraction(1, 10), 1), (Fraction(1, 100), 1000), (Fraction(1), 10**6)])
def test_tables_of_powers_take_the_stated_bytes(epsilon: Fraction, unit: int) -> None:
    weighting = Weighting.private(epsilon, 1.0, unit)
    # Ones and zeros at the ends of the tables are not counted.
    taken = weighting.powers.nbytes + weighting.jumps.nbytes
    assert powers_bytes(epsilon, unit) == pytest.approx(taken, rel=1e-3, abs=32)


def test_a_total_is_the_sum_over_the_choices() -> None:
    options = [Choice(0, 3.0, 5 * 2**48), Choice(1, 4.0, 2**48)]
    total = gibbs.log_total(options, Weighting.private(Fraction(1, 2), 1.0))
    assert total == pytest.approx(math.log(math.exp(5) + math.exp(1)) - 1.5, rel=1e-12)


def ideal_law(listed: Sequence[Any], costs: Sequence[int], epsilon: Fraction, part_weight: float) -> dict[Any, Decimal]:
    """Return the Gibbs distribution to 50 digits, given the errors of each model."""
    with engine.precise():
        rate = Decimal(epsilon.numerator) / epsilon.denominator
        prior = Decimal(part_weight)
        weights = [
            prior ** oracle.size(model) * (-rate * (cost - min(costs))).exp()
            for model, cost in zip(listed, costs, strict=True)
        ]
        total = sum(weights)
        return {model: weight / total for model, weight in zip(listed, weights, strict=True)}


def errors_of(listed: Sequence[Any], truth: engine.Truth, labels: engine.Labels, times: engine.Labels) -> list[int]:
    """Return the errors of each model on records with multiplicities."""
    rows = list(zip(truth.tolist(), labels.tolist(), times.tolist(), strict=True))
    return [sum(n for row, y, n in rows if oracle.predict(model, row) != y) for model in listed]


def worst_error(found: dict[Any, Decimal], expected: dict[Any, Decimal]) -> float:
    """Return the largest log-ratio of drawn and ideal probabilities."""
    assert found.keys() == expected.keys()
    with engine.precise():
        return max(float(abs((found[model] / expected[model]).ln())) for model in expected)


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 50), Fraction(3, 4), Fraction(60)])
@pytest.mark.parametrize("unit", [1, 1024])
@pytest.mark.parametrize("order", ["falling", "far falling", "rising", "mixed"])
def test_sums_are_right_though_the_least_cost_comes_last(epsilon: Fraction, unit: int, order: str) -> None:
    # A root with one split on each of many literals: terms of one sum, in the order of the literals.
    n = 60
    rng = np.random.default_rng(5)
    step = 1 + int(Fraction(unit * (300 if order == "far falling" else 20)) / epsilon)
    sides = np.arange(n)[:, None] * step + rng.integers(0, step, (n, 2))
    if order == "mixed":
        rng.shuffle(sides)
    sides = sides[::-1] if "falling" in order else sides
    weighting = Weighting.private(epsilon, 0.25, unit)
    costs = Costs.of(weighting, LeafCosts.errors(2))
    leaves = SignedLeaves(sides.astype(float), rng.uniform(1, 9, (n, 2)), np.ones((n, 2), dtype=np.uint8))
    least = float(sides.sum(axis=1).min() + step // 3)
    alone = SignedLeaves(np.array([[least]]), np.array([[2.5]]), np.zeros((1, 1), dtype=np.uint8))
    out = Weighed(np.full((1, 1), np.inf), np.zeros((1, 1)))
    with interpreted(1):
        spread(np.array([0]), binomials(n + 1, 3), leaves, costs, out)
        settle(0, alone, costs, out)
    assert out.costs[0, 0] == min(sides.sum(axis=1).min(), alone.costs[0, 0])
    with engine.precise():
        rate = Decimal(weighting.exact_epsilon.numerator) / weighting.exact_epsilon.denominator
        exact = Decimal("2.5") * (-rate * int(alone.costs[0, 0] - out.costs[0, 0])).exp()
        for pair, weights in zip(sides.tolist(), leaves.weights.tolist(), strict=True):
            power = (-rate * int(sum(pair) - out.costs[0, 0])).exp()
            exact += Decimal("0.25") * Decimal(weights[0]) * Decimal(weights[1]) * power
        assert abs(Decimal(out.weights[0, 0]) / exact - 1) < (n + 16) * Decimal(2) ** -53 + Decimal(2) ** -40


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**20), Fraction(1, 3), Fraction(50), Fraction(51), Fraction(10**4)])
def test_a_block_is_the_largest_whose_powers_are_held_and_not_below_exp_100(epsilon: Fraction) -> None:
    for unit in (1, 1024):
        weighting = Weighting.private(epsilon, 1.0, unit)
        block, rate = weighting.block, weighting.exact_epsilon
        assert rate * 2**block > 50
        assert rate * 2**block <= 100 or block == 0
        # What a sum is divided by is in the tables.
        assert power(2**block - 1, weighting.powers, weighting.jumps, weighting.shift) > 0
    assert Weighting.optimal(0.5).block == 0


def some_class(kind: str, n_classes: int) -> tuple[TreeClass | ListClass, list[oracle.World], list[Any], float]:
    """Return a class, its worlds, its models and the rounding that its learner states."""
    domain, literals = engine.binary_domain(3)
    if kind == "trees":
        trees, worlds = engine.trees_of(domain, literals, 2, n_classes)
        slack = rounding(3, 2, 3 + n_classes)
        return trees, worlds, list(oracle.trees(worlds, range(n_classes), 2)), slack
    lists, worlds = engine.lists_of(domain, engine.singles(literals), 3, n_classes)
    slack = rounding(8, 1, 3 + n_classes)
    return lists, worlds, list(oracle.rule_lists(worlds, range(n_classes), 3)), slack


EPSILONS = [Fraction(1, 10**6), Fraction(1, 10), Fraction(1), Fraction(37, 5), Fraction(50)]


@pytest.mark.parametrize("kind", ["trees", "lists"])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("most", [1, pytest.param(1000, marks=pytest.mark.slow), 10**6])
def test_rounding_is_below_the_stated_bound(kind: str, epsilon: Fraction, most: int) -> None:
    # The bound is for two datasets, so each may use half of it.
    models, worlds, listed, bound = some_class(kind, 2)
    for seed, part_weight in enumerate([1.0, 1e-6, 1e6, 0.3]):
        truth, labels = engine.some_data(seed, worlds, 10, 2)
        times = np.random.default_rng(seed).integers(1, most + 1, size=10)
        weighting = engine.weighting_of(epsilon, int(times.sum()), part_weight)
        found = engine.drawn_law(engine.sums_of(models, truth, labels, weighting, times))
        costs = errors_of(listed, truth, labels, times)
        expected = ideal_law(listed, costs, weighting.exact_epsilon, part_weight)
        assert worst_error(found, expected) < bound / 2


@pytest.mark.parametrize("kind", ["trees", "lists"])
def test_a_coarser_arithmetic_would_exceed_the_bound(kind: str) -> None:
    # Planted: powers in single precision.
    models, worlds, listed, bound = some_class(kind, 2)
    truth, labels = engine.some_data(0, worlds, 10, 2)
    times = np.full(10, 7)
    weighting = engine.weighting_of(Fraction(1, 10), 70)
    coarse = Weighting(
        epsilon=weighting.epsilon,
        part_weight=1.0,
        penalty=0.0,
        powers=weighting.powers.astype(np.float32).astype(np.float64),
    )
    expected = ideal_law(listed, errors_of(listed, truth, labels, times), weighting.exact_epsilon, 1.0)
    assert worst_error(engine.drawn_law(engine.sums_of(models, truth, labels, coarse, times)), expected) > bound / 2


@pytest.mark.parametrize("kind", ["trees", "lists"])
@pytest.mark.parametrize(
    "n",
    [
        pytest.param(2**31 - 10, marks=pytest.mark.slow),
        2**31 - 1,
        pytest.param(2**31, marks=pytest.mark.slow),
        pytest.param(10**10, marks=pytest.mark.slow),
    ],
)
def test_billions_of_records(kind: str, n: int) -> None:
    # Counts have 64 bits for any number of records: their type must not show how many there are.
    models, worlds, listed, bound = some_class(kind, 3)
    truth, labels = engine.some_data(3, worlds, 6, 3)
    times = np.array([n - 15, 1, 2, 3, 4, 5])
    weighting = engine.weighting_of(Fraction(1, 100), n)
    sums = engine.sums_of(models, truth, labels, weighting, times)
    assert sums.counts.table.dtype == np.int64
    expected = ideal_law(listed, errors_of(listed, truth, labels, times), weighting.exact_epsilon, 1.0)
    assert worst_error(engine.drawn_law(sums), expected) < bound / 2


@pytest.mark.parametrize("part_weight", [1e-6, 0.5, 1.0, 1e6])
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_the_range_of_logarithms_bounds_every_sum(part_weight: float, n_classes: int) -> None:
    domain, literals = engine.binary_domain(5)
    trees, worlds = engine.trees_of(domain, literals, 3, n_classes)
    lists, _ = engine.lists_of(domain, engine.singles(literals), 4, n_classes)
    truth, labels = engine.some_data(0, worlds, 200, n_classes)
    for epsilon in (Fraction(0), Fraction(1), Fraction(300)):
        for models in (trees, lists):
            sums = engine.sums_of(models, truth, labels, engine.weighting_of(epsilon, 200, part_weight))
            logs = [abs(math.log(weight)) for table in sums.weights for weight in table.ravel() if weight > 0]
            assert max(logs) <= models.log_range(part_weight) + 1e-12
            assert models.log_range(part_weight) < LOG_RANGE


def remember(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the choices of each node, so that many draws take little time."""
    for kind in (TreeSums, ListSums):
        for name in ("_options", "_values"):
            known: dict[Any, Any] = {}
            method = getattr(kind, name)

            def kept(self: Any, *node: Any, known: Any = known, method: Any = method) -> Any:
                if node not in known:
                    known[node] = method(self, *node)
                return known[node]

            monkeypatch.setattr(kind, name, kept)


def p_value(counts: Counter[Any], law: dict[Any, Fraction]) -> float:
    """Return the p-value of draws under a law; models of fewer than ten expected draws share a cell."""
    observed, expected = cells(counts, law, counts.total())
    return float(stats.chisquare(observed, expected).pvalue)


def cells(counts: Counter[Any], law: dict[Any, Fraction], n: int) -> tuple[list[float], list[float]]:
    rare = {model for model, share in law.items() if share * n < 10}
    kept = [model for model in law if model not in rare]
    observed = [float(counts[model]) for model in kept] + [float(sum(counts[model] for model in rare))]
    expected = [float(law[model] * n) for model in kept] + [float(sum(law[model] for model in rare) * n)]
    return observed, expected


def missed(true: dict[Any, Fraction], other: dict[Any, Fraction], n: int) -> float:
    """Return the probability that draws from one law pass as those of another."""
    scaled = Counter({model: float(share * n) for model, share in true.items()})
    at_true, expected = cells(scaled, other, n)
    distance = sum((a - b) ** 2 / b for a, b in zip(at_true, expected, strict=True))
    freedom = len(expected) - 1
    return float(stats.ncx2.cdf(stats.chi2.isf(THRESHOLD, freedom), freedom, distance))


# Records of each world and label, in the oracle's order, for which errors vary much at epsilon 1.
DRAWS: dict[str, tuple[int, list[int], int]] = {
    "trees of depth 2": (2, [4, 0, 0, 3, 0, 3, 2, 0], 12_000),
    "lists of 2 rules": (2, [3, 1, 0, 4, 0, 0, 4, 1], 12_000),
    "lists of 3 rules": (3, [0, 3, 0, 0, 0, 0, 0, 0, 4, 0, 0, 4, 0, 0, 3, 0], 8_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_the_stated_epsilon_and_no_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(monkeypatch)
    p, times, n = DRAWS[name]
    domain, literals = engine.binary_domain(p)
    listed: list[Any]
    models: TreeClass | ListClass
    if name.startswith("trees"):
        models, worlds = engine.trees_of(domain, literals, 2, 2)
        listed = list(oracle.trees(worlds, [0, 1], 2))
    else:
        models, worlds = engine.lists_of(domain, engine.singles(literals), p, 2)
        listed = list(oracle.rule_lists(worlds, [0, 1], p))
    truth, labels = oracle.arrays(tuple(oracle.universe(oracle.independent(p), [0, 1])), p)
    truth, labels = np.repeat(truth, times, axis=0), np.repeat(labels, times)
    sums = engine.sums_of(models, truth, labels, engine.weighting_of(1, len(labels)))
    randomness = Randomness.of(11)
    counts = Counter(engine.named(sums.draw(randomness)) for _ in range(n))
    laws = {
        factor: oracle.distribution(listed, truth, labels, oracle.decay(Fraction(factor)))
        for factor in ("1", "0.9", "1.1")
    }
    assert p_value(counts, laws["1"]) > THRESHOLD
    for factor in ("0.9", "1.1"):
        assert missed(laws["1"], laws[factor], n) < MISSED
        assert p_value(counts, laws[factor]) < THRESHOLD


@pytest.mark.parametrize("kind", ["trees", "lists"])
def test_a_seed_repeats_the_draw(kind: str) -> None:
    models, worlds, _, _ = some_class(kind, 2)
    truth, labels = engine.some_data(0, worlds, 10, 2)
    sums = engine.sums_of(models, truth, labels, engine.weighting_of(Fraction(1, 100), 10))
    first = [sums.draw(Randomness.of(seed)) for seed in range(20)]
    assert first == [sums.draw(Randomness.of(seed)) for seed in range(20)]
    assert len(set(first)) > 10
