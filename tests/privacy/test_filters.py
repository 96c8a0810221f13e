"""Filters: releases chosen from earlier releases stay within a total fixed beforehand, and the theorem on small cases.

The theorem is checked on laws that are enumerated or integrated, with opponents that choose each step from the results
so far; a twin that settles what is left only after it has seen a result breaks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import permutations, product

import numpy as np
import pytest

from glassine.errors import InvalidMechanismError
from glassine.privacy.conversions import delta_from_mu
from glassine.privacy.loss_distributions import GaussianFilter

History = tuple[int, ...]


def test_shares_that_add_up_to_one_are_granted_and_no_more() -> None:
    for parts in ([1.0], [0.01, 0.2, 0.79], [0.1] * 10, [1 / 3, 1 / 3, 1 / 3], [1 / 7] * 7):
        spending = GaussianFilter(0.37)
        granted = [spending.share(part) for part in parts]
        assert math.hypot(*granted) == pytest.approx(0.37, rel=1e-9)
        with pytest.raises(InvalidMechanismError, match="exceeds what is left"):
            spending.share(1e-6)


def test_a_release_that_is_refused_spends_nothing() -> None:
    spending = GaussianFilter(1.0)
    spending.spend(0.6)
    with pytest.raises(InvalidMechanismError, match="exceeds what is left"):
        spending.spend(0.81)
    assert spending.spend(0.8) == 0.8


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan])
def test_a_release_costs_a_positive_mu_and_so_does_the_total(mu: float) -> None:
    with pytest.raises(InvalidMechanismError, match="positive"):
        GaussianFilter(1.0).spend(mu)
    with pytest.raises(InvalidMechanismError, match="positive"):
        GaussianFilter(mu)


# ---- a list of pairs, used in an order that the results decide ----

EPSILONS = (0.2, 0.5, 1.1)


def response(epsilon: float, truth: int) -> tuple[float, float]:
    """Return the law of randomized response, of its results 0 and 1."""
    high = 1 / (1 + math.exp(-epsilon))
    return (1 - high, high) if truth else (high, 1 - high)


def laws(choose: Callable[[History], int | None], most: int) -> tuple[dict[History, float], dict[History, float]]:
    """Return the laws of all results under both datasets; ``choose`` names the pair that is used next, or none."""
    found: tuple[dict[History, float], dict[History, float]] = ({}, {})

    def go(history: History, p: float, q: float, used: int) -> None:
        at = choose(history) if used < most else None
        if at is None:
            found[0][history], found[1][history] = p, q
            return
        first, second = response(EPSILONS[at], 0), response(EPSILONS[at], 1)
        for result in (0, 1):
            go((*history, result), p * first[result], q * second[result], used + 1)

    go((), 1.0, 1.0, 0)
    return found


def stick(p: dict[History, float], q: dict[History, float], a: float) -> float:
    return math.fsum(max(0.0, p[h] - a * q[h]) for h in p)


def strategies() -> list[Callable[[History], int | None]]:
    """Return every way to use the three pairs in an order that the results so far decide, or to stop."""

    def tree(left: frozenset[int]) -> list[object]:
        found: list[object] = [None]
        for at in left:
            inner = tree(left - {at})
            found += [(at, low, high) for low, high in product(inner, inner)]
        return found

    def walk(node: object) -> Callable[[History], int | None]:
        def choose(history: History) -> int | None:
            here = node
            for result in history:
                here = here[1 + result]  # type: ignore[index]  # a choice that was made
            return None if here is None else here[0]  # type: ignore[index]  # as above

        return choose

    every = tree(frozenset(range(3)))
    return [walk(node) for node in every]


def test_whatever_order_the_results_decide_the_product_of_the_list_dominates() -> None:
    whole = laws(lambda history: len(history), 3)
    ratios = [math.exp(e) for e in np.linspace(-2, 2, 41)]
    bounds = [stick(*whole, a) for a in ratios]
    every = strategies()
    assert len(every) > 100
    for choose in every:
        p, q = laws(choose, 3)
        for a, bound in zip(ratios, bounds, strict=True):
            assert stick(p, q, a) <= bound + 1e-12
            assert stick(q, p, a) <= bound + 1e-12


def test_orders_fixed_beforehand_reach_the_product() -> None:
    whole = laws(lambda history: len(history), 3)
    for order in permutations(range(3)):
        p, q = laws(lambda history, order=order: order[len(history)], 3)  # type: ignore[misc]  # bound at once
        assert stick(p, q, 1.5) == pytest.approx(stick(*whole, 1.5))


def test_a_pair_that_is_used_twice_is_found() -> None:
    whole = laws(lambda history: len(history), 3)
    p, q = laws(lambda history: 2, 3)
    assert stick(p, q, 1.5) > stick(*whole, 1.5) + 0.05


# ---- Gaussian releases whose budgets the results decide ----

GRID = np.linspace(-14, 14, 280_001)


def two_steps(first: float, second: Callable[[np.ndarray], np.ndarray], epsilon: float) -> float:
    """Return the delta at epsilon of a release of mu ``first`` and one whose mu the result decides."""
    width = GRID[1] - GRID[0]
    density = np.exp(-((GRID - first) ** 2) / 2) / math.sqrt(2 * math.pi)
    loss = first * GRID - first**2 / 2
    rest = second(GRID)
    return float(
        width
        * math.fsum(
            d * hockey(m, epsilon - s) for d, m, s in zip(density[::200], rest[::200], loss[::200], strict=True)
        )
        * 200
    )


def hockey(mu: float, epsilon: float) -> float:
    """Return the hockey-stick divergence of a Gaussian pair, for epsilons of any sign."""
    if epsilon >= 0:
        return delta_from_mu(mu, epsilon)
    return 1 - math.exp(epsilon) * (1 - delta_from_mu(mu, -epsilon))


RULES: Sequence[Callable[[np.ndarray], np.ndarray]] = (
    lambda y: np.where(y > 0.5, 0.8, 0.0),
    lambda y: np.where(y < 0.0, 0.8, 0.3),
    lambda y: 0.8 * np.abs(np.sin(y)),
    lambda y: np.full_like(y, 0.8),
)


@pytest.mark.parametrize("rule", range(len(RULES)))
def test_budgets_that_results_decide_stay_within_the_total(rule: int) -> None:
    for epsilon in (0.0, 0.5, 1.5, 3.0):
        found = two_steps(0.6, RULES[rule], epsilon)
        assert found <= delta_from_mu(1.0, epsilon) + 1e-7
        if rule == len(RULES) - 1:
            assert found == pytest.approx(delta_from_mu(1.0, epsilon), abs=1e-6)


def test_what_was_spent_is_no_guarantee() -> None:
    """Stopping where the result is telling spends 0.6 there, and reveals more than 0.6 allows."""

    def stops(y: np.ndarray) -> np.ndarray:
        return np.where(y > 1.5, 0.0, 0.8)

    whole = two_steps(0.6, stops, 1.2)
    assert whole > 1.5 * delta_from_mu(0.6, 1.2)
