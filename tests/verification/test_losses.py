"""Draws under a loss that ranks, over all small datasets and neighbors; and the faults that this must find."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from glassine.domain import Binary, Domain
from glassine.errors import InvalidCertificateError
from glassine.learners.budget import FitBudget
from glassine.learners.exhaustive import families
from glassine.sealed import door
from glassine.sealed.losses import UNITS, LeafCosts
from glassine.sealed.oracle import Oracle
from glassine.sealed.queries import Label
from glassine.sealed.tree_family import Leaf
from glassine.sealed.weighting import Weighting
from glassine.verification import ExhaustiveResult, verify_exhaustively
from tests.learners import engine
from tests.oracles import model_classes as oracle
from tests.oracles.laws import log_distribution
from tests.verification import exploring
from tests.verification.test_classes import Law, Mechanism, Models, slack_of, width_of
from tests.verification.test_releases import fits, rows, rule_list, tree

private: Any = importlib.import_module("glassine.learners.exhaustive.private")
EPSILON = 3.0


def ranking(rates: Sequence[float], strength: float = 100.0, share: float = 0.3, steps: int = 2) -> LeafCosts:
    return LeafCosts.ranking(np.array(rates), strength, share, steps=steps)


def trees(p: int, depth: int, loss: LeafCosts) -> Models:
    return engine.trees_of(*engine.binary_domain(p), depth, loss)


def lists(p: int, length: int, loss: LeafCosts) -> Models:
    domain, literals = engine.binary_domain(p)
    return engine.lists_of(domain, engine.singles(literals), length, loss)


CLASSES: dict[str, tuple[Callable[[], Models], int]] = {
    "trees of even classes": (lambda: trees(2, 1, ranking([0.5, 0.5])), 2),
    "trees of a rare class": (lambda: trees(2, 1, ranking([0.95, 0.05], 2000.0)), 2),
    "trees by log loss alone": (lambda: trees(2, 1, ranking([0.8, 0.2], share=0.0)), 2),
    "trees of depth 2": (lambda: trees(2, 2, ranking([0.7, 0.3], steps=1)), 1),
    "trees of three classes": (lambda: trees(2, 1, ranking([0.6, 0.3, 0.1])), 1),
    "lists of one rule": (lambda: lists(2, 1, ranking([0.7, 0.3])), 2),
    "lists of three classes": (lambda: lists(2, 1, ranking([0.6, 0.3, 0.1], steps=1)), 1),
    "lists of two rules": (lambda: lists(2, 2, ranking([0.9, 0.1], steps=1)), 1),
}


def law_of(models: Models, weighting: Callable[[int], Weighting], dataset: Any, background: Any = ()) -> Law:
    """Return the law of a draw on a dataset beside a fixed background of repeated records."""
    repeated = [*((record, 1) for record in dataset), *background]
    truth, labels = oracle.arrays(tuple(record for record, _ in repeated), width_of(models[0]))
    times = np.array([n for _, n in repeated], dtype=np.int64)
    law: Law = log_distribution(engine.sums_of(models[0], truth, labels, weighting(int(times.sum())), times))
    return law


def honest(models: Models, epsilon: float = EPSILON, background: Any = ()) -> Mechanism:
    unit = models[0].loss.unit
    return lambda dataset: law_of(
        models, lambda n: engine.weighting_of(Fraction(epsilon), n, unit=unit), dataset, background
    )


def verify(models: Models, mechanism: Mechanism, epsilon: float, most: int) -> ExhaustiveResult[oracle.Record]:
    records = oracle.universe(models[1], range(models[0].n_classes))
    return verify_exhaustively(mechanism, records, max_records=most, epsilon=epsilon, slack=slack_of(models[0]))


@pytest.mark.parametrize("name", CLASSES)
def test_draws_keep_epsilon_under_a_loss_that_ranks(name: str) -> None:
    make, most = CLASSES[name]
    models = make()
    result = verify(models, honest(models), EPSILON, most)
    assert result.holds, str(result)
    assert result.tightness > 0.4


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_epsilon_is_reached_by_the_record_that_costs_most(name: str, epsilon: float) -> None:
    # Beside many records of the class that a wrong value costs less, its value is drawn for sure.
    models = CLASSES[name][0]()
    worst = int(np.argmax(models[0].loss.costs.max(axis=0)))
    common = (worst + 1) % models[0].n_classes
    background = [((world, common), int(200 / epsilon)) for world in models[1]]
    result = verify(models, honest(models, epsilon, background), epsilon, 0)
    assert result.holds, str(result)
    assert result.tightness > 0.9


# Faults, each beside the mechanism that it was made from.


def range_forgotten(models: Models) -> Mechanism:
    """Draw by log loss in nats: its range is not one."""
    loss = models[0].loss
    nats = UNITS / loss.log_loss_range
    return lambda dataset: law_of(models, lambda n: engine.weighting_of(Fraction(EPSILON), n, unit=int(nats)), dataset)


def minimum_over_the_data(models: Models) -> Mechanism:
    """Take the least and the largest cost of a value on the records at hand, instead of those for any record."""
    costs = models[0].loss.costs

    def mechanism(dataset: tuple[oracle.Record, ...]) -> Law:
        counts = np.bincount([y for _, y in dataset], minlength=models[0].n_classes)
        means = costs @ counts / max(1, len(dataset))
        unit = max(1, int(means.max() - means.min()))
        return law_of(models, lambda n: engine.weighting_of(Fraction(EPSILON), n, unit=unit), dataset)

    return mechanism


def range_over_the_data(models: Models) -> Mechanism:
    """Divide by the largest cost of a class that occurs."""

    def mechanism(dataset: tuple[oracle.Record, ...]) -> Law:
        seen = sorted({y for _, y in dataset}) or [0]
        unit = int(models[0].loss.costs[:, seen].max())
        return law_of(models, lambda n: engine.weighting_of(Fraction(EPSILON), n, unit=unit), dataset)

    return mechanism


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trees of a rare class", "trees by log loss alone"])
@pytest.mark.parametrize("fault", [range_forgotten, minimum_over_the_data, range_over_the_data])
def test_a_planted_fault_of_the_cost_is_found(name: str, fault: Callable[[Models], Mechanism]) -> None:
    models = CLASSES[name][0]()
    assert verify(models, honest(models), EPSILON, 2).holds
    found = verify(models, fault(models), EPSILON, 2)
    assert not found.holds
    assert found.worst > 1.01 * EPSILON


def test_leaves_of_a_drawn_tree_have_the_values_of_the_grid() -> None:
    models = CLASSES["trees of even classes"][0]()
    law = honest(models)(())
    values = {model.value for model in law if isinstance(model, Leaf)}
    assert values == set(range(models[0].loss.n_values))


# Whole fits: the base rates are released first, and the grid, the draw and the probabilities follow.

ALONE = Domain({"b": Binary()})
RANKS: dict[str, Any] = {"accuracy_share": 0.3, "base_rate_share": 0.3}
FITS: dict[str, tuple[Callable[[], Any], int, float]] = {
    "tree": (tree(ALONE, epsilon=4.0, leaf_counts_share=0.0, **RANKS), 1, 0.6),
    "rule list": (rule_list(ALONE, epsilon=4.0, leaf_counts_share=0.0, **RANKS), 1, 0.6),
    "leaf": (tree(ALONE, epsilon=4.0, leaf_counts_share=0.0, literals=[], **RANKS), 1, 0.6),
    "leaf and counts": (tree(ALONE, epsilon=4.0, leaf_counts_share=0.3, literals=[], **RANKS), 1, 0.6),
}


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave one value on each ray, and three noisy counts, so that all ways of a fit can be followed."""
    monkeypatch.setattr(families, "MOST_STEPS", 1)
    monkeypatch.setattr(exploring, "CUT", 2)


@pytest.mark.slow
@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("name", FITS)
def test_a_whole_fit_keeps_epsilon_with_its_base_rates(name: str) -> None:
    make, most, tightness = FITS[name]
    certificates: set[str] = set()
    result = verify_exhaustively(
        fits(make, certificates), rows((0, 1)), min_records=1, max_records=most, epsilon=4.0, slack=1e-9
    )
    assert result.holds, str(result)
    assert result.tightness > tightness
    assert len(certificates) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("coarse")
def test_base_rates_that_are_not_paid_for_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: what the base rates spend is left to the draw besides.
    make = FITS["leaf"][0]
    monkeypatch.setattr(FitBudget, "model", property(lambda budget: budget.total - budget.literals - budget.counts))
    # What the door would hide of the failure is looked at.
    monkeypatch.setattr(door, "behind", lambda work: work())
    with pytest.raises(RuntimeError, match="more than was charged"):
        make().fit(np.array([[0], [1]]), np.array([0, 1]))
    # Planted besides: an oracle that does not count what it is paid.
    monkeypatch.setattr(Oracle, "_Oracle__pay", lambda oracle, share, delta: oracle.account.part(share, delta))
    with pytest.raises(InvalidCertificateError, match=r"come to epsilon=5\.(2|1999)"):
        make().fit(np.array([[0], [1]]), np.array([0, 1]))
    certify = private.certify

    def careless(budget: FitBudget, events: Any, *rest: Any, **more: Any) -> Any:
        return certify(budget, [event for event in events if "base rates" not in event.name], *rest, **more)

    monkeypatch.setattr(private, "certify", careless)
    result = verify_exhaustively(fits(make), rows((0, 1)), min_records=1, max_records=1, epsilon=4.0, slack=1e-9)
    assert not result.holds, str(result)


@pytest.mark.slow
@pytest.mark.usefixtures("coarse")
def test_base_rates_without_noise_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: the grid lies about the shares of the records themselves.
    make = FITS["leaf"][0]
    release = private._Exponential._base_rates

    def exact(learner: Any, oracle: Any, budget: FitBudget) -> Any:
        counts = Label().count(oracle._Oracle__records)
        return release(learner, oracle, budget)._replace(shares=private.base_rates(counts[0]))

    monkeypatch.setattr(private._Exponential, "_base_rates", exact)
    result = verify_exhaustively(fits(make), rows((0, 1)), min_records=1, max_records=1, epsilon=4.0, slack=1e-9)
    assert not result.holds, str(result)
    assert result.worst == math.inf
