"""Losses that rank: their grid and costs, the probabilities that follow, and optima against brute force."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss, roc_auc_score

from glassine import Domain
from glassine.errors import InvalidDataError, InvalidModelError, InvalidParameterError
from glassine.formats import load_model, write_model
from glassine.learners import (
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
)
from glassine.models import Evidence
from glassine.privacy.accounting import DiscreteLaplaceNoise, Selection
from glassine.sealed import gibbs
from glassine.sealed.losses import (
    UNITS,
    LeafCosts,
    base_rates,
    log_odds_grid,
    released_probabilities,
)
from glassine.sealed.tree_sums import refuse_inexact
from glassine.sealed.weighting import LARGEST_JUMP, LEAST_RATE, Weighting
from tests.learners import engine
from tests.learners.test_gibbs import ideal_law, worst_error
from tests.oracles import model_classes as oracle


def ranking(rates: Sequence[float], strength: float = 2000.0, share: float = 0.3, **more: Any) -> LeafCosts:
    return LeafCosts.ranking(np.array(rates), strength, share, **more)


@pytest.mark.parametrize(
    ("strength", "width"),
    [
        (1.0, 1.0),
        (150.0, 1.0),
        (math.sqrt(150.0 * 3000.0), math.sqrt(2.0)),
        (2000.0, 2.0 ** (math.log(2000 / 150) / math.log(3000 / 150))),
    ],
)
@pytest.mark.parametrize("rate", [0.02, 0.24, 0.5, 0.8])
def test_the_values_of_two_classes_are_log_odds_about_the_base_rate(strength: float, width: float, rate: float) -> None:
    grid = log_odds_grid(np.array([1 - rate, rate]), strength)
    odds = np.sort(np.log(grid[:, 1] / grid[:, 0]))
    center = round(4 * math.log(rate / (1 - rate))) / 4
    assert odds[0] == pytest.approx(min(center - width, -1.0))
    assert odds[-1] == pytest.approx(max(center + width, 1.0))
    assert np.isclose(odds, center).any()
    assert np.diff(odds).min() > 0.3
    assert np.diff(odds).max() < 0.8


@pytest.mark.parametrize(
    ("strength", "rate", "most"), [(2000.0, 0.27, 1.0), (4500.0, 0.27, 2.0), (4500.0, 0.18, 1.5), (4500.0, 0.05, 1.0)]
)
def test_with_many_records_a_class_that_is_not_too_rare_reaches_further(
    strength: float, rate: float, most: float
) -> None:
    for rates in ([1 - rate, rate], [rate, 1 - rate]):
        grid = log_odds_grid(np.array(rates), strength)
        odds = np.log(grid[:, rates.index(rate)] / grid[:, rates.index(1 - rate)])
        assert odds.max() == pytest.approx(most)
        width = 2.0 if strength > 3000 else 2.0 ** (math.log(strength / 150) / math.log(3000 / 150))
        assert odds.min() == pytest.approx(odds[0] - width)


@pytest.mark.parametrize("rates", [(0.6, 0.3, 0.1), (0.25,) * 4, (0.9, 0.05, 0.03, 0.01, 0.01)])
def test_of_several_classes_each_is_the_label_of_a_value_and_the_others_keep_their_proportions(
    rates: tuple[float, ...],
) -> None:
    loss = ranking(rates)
    assert loss.probabilities is not None
    assert set(loss.labels) == set(range(len(rates)))
    assert loss.n_values <= LeafCosts.widest(len(rates)).n_values
    base = loss.probabilities[0]
    for value in loss.probabilities[1:]:
        raised = int((value / base).argmax())
        others = np.delete(value / base, raised)
        assert np.allclose(others, others[0])


@given(
    st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=6),
    st.sampled_from([1.0, 500.0, 1e6, math.inf]),
    st.sampled_from([0.0, 0.3, 0.9]),
    st.integers(1, 8),
)
@settings(max_examples=60, deadline=None)
def test_one_record_costs_between_nothing_and_all(
    rates: list[float], strength: float, share: float, steps: int
) -> None:
    shares = np.array(rates) / sum(rates)
    loss = LeafCosts.ranking(shares, strength, share, steps=steps)
    assert loss.costs.min(axis=0).tolist() == [0] * len(rates)
    assert loss.costs.max() == loss.unit == UNITS
    assert loss.n_values <= LeafCosts.widest(len(rates), steps).n_values


def test_a_loss_with_a_cost_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        LeafCosts(costs=np.array([[0, -1]]), labels=(0,))


def test_a_share_of_errors_raises_the_cost_of_the_wrong_class() -> None:
    plain, mixed = ranking([0.8, 0.2], share=0.0), ranking([0.8, 0.2], share=0.9)
    wrong = np.arange(2) != np.array(plain.labels)[:, None]
    assert (mixed.costs[wrong] >= plain.costs[wrong]).all()
    assert (mixed.costs[~wrong] <= plain.costs[~wrong]).all()


@pytest.mark.parametrize(
    ("epsilon", "unit"),
    [
        *(
            (epsilon, UNITS)
            for epsilon in (Fraction(1, 10**6), Fraction(1, 10), Fraction(1), Fraction(100), Fraction(10**5))
        ),
        *((epsilon, 1) for epsilon in (LEAST_RATE, Fraction(1, 10**6), Fraction(1, 94))),
    ],
)
def test_powers_of_two_tables_are_right_to_42_bits(epsilon: Fraction, unit: int) -> None:
    from glassine.sealed.tree_sums import power

    weighting = Weighting.private(epsilon, 1.0, unit)
    rate = weighting.exact_epsilon
    assert (len(weighting.jumps) > 1) == (rate <= LARGEST_JUMP)
    assert epsilon / unit - Fraction(1, 2**40) < rate <= epsilon / unit
    most = max(5000 * unit, int(800 / rate))
    with engine.precise():
        for cost in sorted({0, 1, 4095, 4096, 4097, 123_456, most, *(int(x / rate) for x in (1, 50, 679, 800))}):
            if cost > most:
                continue
            found = power(cost, weighting.powers, weighting.jumps, weighting.shift)
            exponent = rate * cost
            exact = (-Decimal(exponent.numerator) / exponent.denominator).exp()
            if exponent > 700:
                assert found < 1e-295
            elif exponent < 680:
                assert abs(Decimal(found) / exact - 1) < Decimal(2) ** -42


def some_class(kind: str, loss: LeafCosts) -> tuple[Any, list[oracle.World], list[Any]]:
    domain, literals = engine.binary_domain(2)
    if kind == "trees":
        models, worlds = engine.trees_of(domain, literals, 2, loss)
        return models, worlds, list(oracle.trees(worlds, range(loss.n_values), 2))
    lists, worlds = engine.lists_of(domain, engine.singles(literals), 2, loss)
    return lists, worlds, list(oracle.rule_lists(worlds, range(loss.n_values), 2))


def costs_of(listed: Sequence[Any], loss: LeafCosts, truth: Any, labels: Any, times: Any) -> list[int]:
    rows = list(zip(truth.tolist(), labels.tolist(), times.tolist(), strict=True))
    return [sum(n * int(loss.costs[oracle.predict(model, row), y]) for row, y, n in rows) for model in listed]


@pytest.mark.parametrize("kind", ["trees", "lists"])
@pytest.mark.parametrize("rates", [(0.8, 0.2), (0.5, 0.3, 0.2)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3), Fraction(100)])
def test_models_are_drawn_by_their_cost_within_the_stated_rounding(
    kind: str, rates: tuple[float, ...], epsilon: Fraction
) -> None:
    loss = ranking(rates, steps=1)
    models, worlds, listed = some_class(kind, loss)
    truth, labels = engine.some_data(5, worlds, 12, len(rates))
    times = np.random.default_rng(5).integers(1, 400, size=12)
    weighting = engine.weighting_of(epsilon, int(times.sum()), 0.7, loss.unit)
    found = engine.drawn_law(engine.sums_of(models, truth, labels, weighting, times))
    costs = costs_of(listed, loss, truth, labels, times)
    expected = ideal_law(listed, costs, weighting.exact_epsilon, 0.7)
    assert worst_error(found, expected) < models.rounding() / 2


@pytest.mark.parametrize("kind", [OptimalTreeClassifier, OptimalRuleListClassifier])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_optimum_under_a_loss_is_that_of_brute_force(kind: Any, share: float, n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    X = rng.integers(0, 2, (60, 2))
    y = (X.sum(axis=1) + (rng.random(60) < 0.3)) % n_classes
    domain, literals = engine.binary_domain(2)
    more: dict[str, Any] = {} if kind is OptimalTreeClassifier else {"pool": engine.singles(literals)}
    learner = kind(2, domain=domain, classes=tuple(range(n_classes)), accuracy_share=share, **more).fit(X, y)
    loss = LeafCosts.ranking(base_rates(np.bincount(y, minlength=n_classes)), math.inf, share)
    worlds = oracle.independent(2)
    # The values of a structure's parts are chosen one by one: only structures are listed.
    least = math.inf
    structures = oracle.trees(worlds, [0], 2) if kind is OptimalTreeClassifier else oracle.rule_lists(worlds, [0], 2)
    for structure in structures:
        parts: dict[Any, Any] = {}
        for row, label in zip(X.astype(bool).tolist(), y.tolist(), strict=True):
            parts.setdefault(part_of(structure, row), np.zeros(n_classes, dtype=int))[label] += 1
        least = min(least, sum(int((loss.costs @ counts).min()) for counts in parts.values()))
    assert learner.objective_ == pytest.approx(least / UNITS / 60)


def part_of(model: Any, row: Sequence[bool]) -> Any:
    """Return the leaf or rule that captures a record."""
    if model[0] == "leaf":
        return ()
    if model[0] == "split":
        return (model[1], row[model[1]], part_of(model[2] if row[model[1]] else model[3], row))
    return next((rule for rule, _ in model[0] if row[rule]), None)


def test_values_of_leaves_are_chosen_by_the_loss() -> None:
    loss = ranking([0.5, 0.5])
    found = gibbs.values(np.array([3, 40]), loss, Weighting.optimal(0.0))
    assert [choice.cost for choice in found] == (loss.costs @ np.array([3, 40])).tolist()


def rare(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Return records, a rare class, and its probability, which three of six attributes raise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 6))
    chance = 1 / (1 + np.exp(4.0 - X[:, 0] - X[:, 1] - 0.8 * X[:, 2]))
    return X, (rng.random(n) < chance).astype(int), chance


RARE: dict[str, Any] = {"domain": Domain.binary([f"x{i}" for i in range(6)]), "classes": (0, 1)}


@pytest.mark.parametrize("kind", [PrivateTreeClassifier, PrivateRuleListClassifier])
def test_a_rare_outcome_is_ranked_where_errors_alone_see_nothing(kind: Any) -> None:
    X, y, _ = rare(20_000, 0)
    other, truth, _ = rare(20_000, 1)
    areas: dict[float, float] = {}
    for share in (1.0, 0.3):
        scores = [
            kind(3, epsilon=1.0, accuracy_share=share, random_state=seed, **RARE).fit(X, y).predict_proba(other)[:, 1]
            for seed in range(4)
        ]
        areas[share] = float(np.mean([roc_auc_score(truth, score) for score in scores]))
    # The best that three splits allow is about 0.70.
    assert areas[0.3] > 0.66
    assert areas[0.3] > areas[1.0] + 0.05


def test_released_probabilities_are_calibrated() -> None:
    X, y, _ = rare(20_000, 2)
    other, truth, _ = rare(20_000, 3)
    for epsilon in (0.2, 2.0):
        proba = PrivateTreeClassifier(3, epsilon=epsilon, random_state=1, **RARE).fit(X, y).predict_proba(other)[:, 1]
        edges = np.quantile(proba, [0, 0.25, 0.5, 0.75, 1])
        for low, high in pairwise(np.unique(edges)):
            own = (proba >= low) & (proba <= high)
            assert truth[own].mean() == pytest.approx(proba[own].mean(), abs=0.02)
        assert log_loss(truth, proba) < log_loss(truth, [y.mean()] * len(truth))


def test_with_much_noise_probabilities_are_near_the_base_rates_and_with_none_they_are_the_shares() -> None:
    loss, rates = ranking([0.9, 0.1]), np.array([0.9, 0.1])
    counts = np.array([[6000, 4000], [5000, 5]])
    values = (loss.costs @ counts.T).argmin(axis=0)
    noisy = np.array(released_probabilities(counts, values, loss, rates, (1e-6, 1e-6)))
    exact = np.array(released_probabilities(counts, values, loss, rates, (1e6, 1e6)))
    assert noisy[:, 1] == pytest.approx([0.1, 0.1], abs=0.02)
    # The drawn value has half of the weight then: it is the nearest one of the grid.
    assert exact[:, 1] == pytest.approx([0.4, 0.001], abs=0.03)
    assert noisy[0, 1] < exact[0, 1]


@given(st.integers(2, 5), st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_the_class_of_the_drawn_value_stays_a_most_probable_one(n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rates = rng.dirichlet(np.ones(n_classes)) * 0.9 + 0.1 / n_classes
    loss = LeafCosts.ranking(rates, 500.0, 0.3)
    values = rng.integers(0, loss.n_values, 6)
    counts = rng.integers(-5, 200, (6, n_classes))
    found = released_probabilities(counts, values, loss, rates, (0.9, 0.1))
    for shares, value in zip(found, values, strict=True):
        assert math.fsum(shares) == pytest.approx(1)
        assert min(shares) > 0
        assert int(np.argmax(shares)) == loss.labels[value]
        assert sorted(shares)[-1] > sorted(shares)[-2]


def test_labels_alone_have_no_probabilities() -> None:
    with pytest.raises(ValueError, match="labels alone"):
        released_probabilities(None, np.array([0]), LeafCosts.errors(2), np.array([0.5, 0.5]), (1.0, 1.0))


@pytest.mark.parametrize("kind", [PrivateTreeClassifier, PrivateRuleListClassifier])
def test_probabilities_are_in_the_published_model_and_its_file(kind: Any, tmp_path: Any) -> None:
    X, y, _ = rare(2000, 4)
    learner = kind(2, epsilon=1.0, random_state=0, **RARE).fit(X, y)
    for cell in learner.model_.cells:
        assert cell.evidence.probabilities == cell.evidence.shares(2)
        assert cell.evidence.probabilities is not None
        assert cell.evidence.probabilities[cell.evidence.prediction or 0] >= 0.5
    path = tmp_path / "model.json"
    write_model(learner.model_, path, overwrite=True)
    assert (
        "probabilities"
        in json.loads(path.read_text())[{"t": "nodes", "r": "rules"}["t" if "Tree" in str(kind) else "r"]][-1]
    )
    assert load_model(path) == learner.model_
    assert np.allclose(learner.model_.predict_proba(X), learner.predict_proba(X))


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.5, -0.5), (math.nan, 1.0)])
def test_probabilities_that_are_none_are_refused(shares: tuple[float, float]) -> None:
    with pytest.raises(InvalidModelError, match="probabilities must lie in"):
        Evidence(probabilities=shares)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"accuracy_share": 1.5}, "accuracy_share must be a number in"),
        ({"accuracy_share": math.nan}, "accuracy_share must be a number in"),
        ({"base_rate_share": 0.0}, "base_rate_share must be a number in"),
        ({"base_rate_share": 0.95, "leaf_counts_share": 0.05}, "must leave some for the model"),
    ],
)
def test_shares_out_of_their_range_are_refused(more: dict[str, Any], message: str) -> None:
    X, y, _ = rare(50, 0)
    with pytest.raises(InvalidParameterError, match=message):
        PrivateTreeClassifier(1, epsilon=1.0, **RARE, **more).fit(X, y)


def test_very_deep_trees_get_fewer_values_rather_than_a_refusal() -> None:
    domain = Domain.binary([f"x{i}" for i in range(24)])
    values = [PrivateTreeClassifier(depth, epsilon=1.0)._widest(domain, 2).loss.n_values for depth in (4, 6, 7)]
    assert values == [17, 17, 5]


def test_persons_pay_for_the_base_rates_too() -> None:
    X, y, _ = rare(300, 5)
    learner = PrivateTreeClassifier(1, epsilon=1.0, records_per_person=3, **RARE)
    learner.fit(X, y, persons=np.arange(300) // 3)
    rates, selection, counts = learner.certificate_.events
    assert isinstance(rates, DiscreteLaplaceNoise)
    assert isinstance(counts, DiscreteLaplaceNoise)
    assert isinstance(selection, Selection)
    assert [rates.scale, counts.scale] == pytest.approx([60.0, 3 / 0.095])
    assert learner.certificate_.epsilon == 1.0
    assert selection.share == pytest.approx(0.855)


@pytest.mark.parametrize("kind", [PrivateTreeClassifier, PrivateRuleListClassifier])
def test_a_certificate_says_the_same_whatever_the_base_rates_are(kind: Any) -> None:
    X, y, _ = rare(3000, 6)
    texts = set()
    for labels in (y, 1 - y, X[:, 0]):
        stated = kind(2, epsilon=1.0, random_state=0, **RARE).fit(X, labels).certificate_.to_dict()
        stated.pop("model")
        texts.add(json.dumps(stated))
    assert len(texts) == 1


@pytest.mark.parametrize(
    "loss", [LeafCosts.errors(2), LeafCosts.ranking(np.array([0.5, 0.5]), 1e3, 0.3), LeafCosts.squares(8)]
)
def test_records_whose_costs_are_not_exact_are_refused(loss: LeafCosts) -> None:
    most = (2**53 - 1) // loss.unit
    refuse_inexact(loss, np.array([most - 1, 1]))
    with pytest.raises(InvalidDataError, match="costs are exact for at most"):
        refuse_inexact(loss, np.array([most, 1]))


@pytest.mark.parametrize("kind", [OptimalTreeClassifier, OptimalRuleListClassifier])
def test_weights_beyond_exact_costs_are_refused_by_fits(kind: Any) -> None:
    domain = Domain.binary(["a", "b"])
    rows, y = np.array([[0, 0], [0, 1], [1, 1]]), np.array([0, 1, 1])
    fitted = kind(2, domain=domain, classes=(0, 1), accuracy_share=0.3).fit(rows, y, sample_weight=np.full(3, 2**40))
    assert sum(sum(cell.evidence.counts) for cell in fitted.model_.cells) == 3 * 2**40
    with pytest.raises(InvalidDataError, match="costs are exact for at most"):
        kind(2, domain=domain, classes=(0, 1), accuracy_share=0.3).fit(rows, y, sample_weight=np.full(3, 2**43))
    with pytest.raises(InvalidDataError, match="must add up to less than 2"):
        kind(2, domain=domain, classes=(0, 1)).fit(rows, y, sample_weight=np.full(3, 2**52))
