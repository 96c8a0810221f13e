"""Strict greedy forms: whole fits over all small datasets and their neighbors, and what bugs look like there."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest

from glassine.domain import Domain
from glassine.learners.antecedents import both_signs, declared
from glassine.learners.greedy.growth import GreedyPool
from glassine.learners.greedy.private_lists import PrivateGreedyRuleListClassifier
from glassine.learners.intake import read_training
from glassine.privacy import accounting
from glassine.privacy.accounting import CountBound
from glassine.privacy.sensitivity import COUNTED_LOSS, gini_spread
from glassine.sealed import rule_choices
from glassine.sealed.gini import GRID, impurity_levels
from glassine.sealed.remaining import Remaining
from glassine.sealed.rule_choices import list_losses
from glassine.verification import verify_exhaustively
from tests.learners.greedy_law import law_of_fit, permute_and_flip_law

FLOATS = 1e-9
Row: TypeAlias = tuple[tuple[int, ...], int]
Mechanism: TypeAlias = Callable[[tuple[Row, ...]], dict[Hashable, float]]

ONE, TWO = Domain.binary(["a"]), Domain.binary(["a", "b"])
ROWS_1: list[Row] = list(product(product((0, 1)), (0, 1)))
ROWS_2: list[Row] = list(product(product((0, 1), (0, 1)), (0, 1)))


def mechanism(
    domain: Domain, length: int, background: tuple[Row, ...] = (), *, with_counts: bool, **more: Any
) -> Mechanism:
    """Return the law of a fit on a dataset beside fixed records."""

    def law(dataset: tuple[Row, ...]) -> dict[Hashable, float]:
        rows = (*background, *dataset)
        X, y = np.array([row for row, _ in rows]), np.array([label for _, label in rows])
        learner = PrivateGreedyRuleListClassifier(length, domain=domain, classes=(0, 1), random_state=0, **more)
        return law_of_fit(lambda: learner.fit(X, y), with_counts=with_counts)

    return law


SEPARATED: tuple[Row, ...] = (((0, 0), 0),) * 12 + (((1, 0), 1),) * 12 + (((0, 1), 0),) * 12 + (((1, 1), 1),) * 12
"""The first attribute tells the class, so that a record against it speaks for all other rules."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counted-gini", "global-exponential", "global-laplace"])
@pytest.mark.parametrize("epsilon", [0.5, 6.0])
def test_a_whole_fit_keeps_epsilon(name: str, epsilon: float) -> None:
    law = mechanism(ONE, 1, with_counts=True, mechanism=name, epsilon=epsilon, leaf_counts_share=0.5)
    result = verify_exhaustively(law, ROWS_1, min_records=1, max_records=2, epsilon=epsilon, slack=FLOATS)
    assert result.holds, str(result)
    assert result.tightness > 0.45


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counted-gini", "global-exponential", "global-laplace"])
def test_several_choices_keep_their_part(name: str) -> None:
    # Three quarters of epsilon 8 for two choices. Two records, and three, are compared where there is one attribute.
    law = mechanism(TWO, 2, with_counts=False, mechanism=name, epsilon=8.0)
    result = verify_exhaustively(law, ROWS_2, min_records=1, max_records=1, epsilon=6.0, slack=FLOATS)
    assert result.holds, str(result)
    assert result.tightness > 0.2


@pytest.mark.slow
def test_counted_gini_comes_near_to_its_part_beside_many_records() -> None:
    law = mechanism(TWO, 1, SEPARATED, with_counts=False, mechanism="counted-gini", epsilon=4.0)
    result = verify_exhaustively(law, ROWS_2, max_records=1, epsilon=3.0, slack=FLOATS)
    assert result.holds, str(result)
    assert result.tightness > 0.8


@pytest.mark.slow
def test_a_sensitivity_that_is_too_small_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: errors plus counted impurity taken for errors alone.
    monkeypatch.setattr(rule_choices, "COUNTED_LOSS", 1)
    law = mechanism(TWO, 1, SEPARATED, with_counts=False, mechanism="counted-gini", epsilon=4.0)
    result = verify_exhaustively(law, ROWS_2, max_records=1, epsilon=3.0, slack=FLOATS)
    assert not result.holds


@pytest.mark.slow
def test_a_spread_that_is_too_small_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: the sensitivity for a thousand records, used for a few.
    honest = mechanism(TWO, 1, with_counts=False, mechanism="global-laplace", epsilon=4.0)
    assert verify_exhaustively(honest, ROWS_2, min_records=1, max_records=1, epsilon=3.0, slack=FLOATS).holds
    monkeypatch.setattr(rule_choices, "_half", lambda state: gini_spread(1000, 2))
    result = verify_exhaustively(honest, ROWS_2, min_records=1, max_records=1, epsilon=3.0, slack=FLOATS)
    assert not result.holds


@pytest.mark.slow
def test_counts_that_are_paid_once_and_released_twice_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    law = mechanism(ONE, 1, with_counts=True, mechanism="counted-gini", epsilon=2.0, leaf_counts_share=0.9)
    assert verify_exhaustively(law, ROWS_1, min_records=1, max_records=1, epsilon=2.0, slack=FLOATS).holds
    release = rule_choices._Growing.release_counts

    def twice(state: Any, counts: Any) -> None:
        release(state, counts)
        release(state, counts)
        state.noisy.pop()

    monkeypatch.setattr(rule_choices._Growing, "release_counts", twice)
    small = ROWS_1[:2]
    result = verify_exhaustively(law, small, min_records=1, max_records=1, epsilon=2.0, slack=FLOATS)
    assert not result.holds


def growth(rows: tuple[Row, ...], domain: Domain) -> Remaining:
    X, y = np.array([row for row, _ in rows]).reshape(len(rows), len(domain)), np.array([label for _, label in rows])
    intake = read_training(
        PrivateGreedyRuleListClassifier(domain=domain), X, y, domain=domain, classes=(0, 1), private=False
    )
    return Remaining.of(intake, pool_of(domain).antecedents)


def pool_of(domain: Domain) -> GreedyPool:
    return GreedyPool.of(domain, both_signs(domain, declared(domain, domain.names)))


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [False, True])
def test_losses_are_monotone_and_move_by_at_most_three(ahead: bool) -> None:
    rng = np.random.default_rng(4)
    rules = range(4)
    worst = 0
    for _ in range(50):
        rows = tuple(ROWS_2[i] for i in rng.integers(0, 8, rng.integers(1, 14)))
        before = list_losses(growth(rows, TWO), rules, 1, ahead=ahead)
        for extra in ROWS_2:
            after = list_losses(growth((*rows, extra), TWO), rules, 1, ahead=ahead)
            moved = [later - earlier for earlier, later in zip(before, after, strict=True)]
            assert min(moved) >= 0
            worst = max(worst, *moved)
    assert 0.6 < worst / (100 * 2**20 * COUNTED_LOSS) <= 1


@pytest.mark.slow
def test_smooth_laplace_given_a_bound_keeps_its_part_from_that_size_on() -> None:
    epsilon, pool = Fraction(2), pool_of(TWO)
    worst = 0.0
    for least in (1, 2):
        reach = rule_choices._reach(gini_spread(least, 2), GRID)

        def law(dataset: tuple[Row, ...], reach: int = reach) -> dict[Hashable, float]:
            remaining = growth(dataset, TWO)
            captured = rule_choices._with_none(remaining.counts(range(len(pool.antecedents))))
            scores = [-level for level in impurity_levels(captured, remaining.totals())]
            found = permute_and_flip_law(scores, epsilon, reach, True)
            return {str(i): log for i, log in found.items()}

        result = verify_exhaustively(law, ROWS_2, min_records=least, max_records=least, epsilon=2.0, slack=FLOATS)
        assert result.holds, str(result)
        worst = max(worst, result.tightness)
        if least > 1:
            smaller = verify_exhaustively(law, ROWS_2, min_records=1, max_records=1, epsilon=2.0, slack=FLOATS)
            assert smaller.worst > result.worst
    assert worst > 0.5


def test_the_bound_of_smooth_laplace_fails_no_more_often_than_delta_pays_for() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (400, 2)), rng.integers(0, 2, 400)
    learner = PrivateGreedyRuleListClassifier(
        3,
        epsilon=1.0,
        domain=TWO,
        mechanism="smooth-laplace",
        delta=1e-5,
        min_support=0.0,
        classes=(0, 1),
        random_state=0,
    ).fit(X, y)
    bounds = [event for event in learner.certificate_.events if isinstance(event, CountBound)]
    lost = [accounting.cost(event).delta for event in bounds]
    assert len(bounds) == 3
    assert all(0.2e-5 / 3 < one <= 1e-5 / 3 for one in lost)
    assert [event.others for event in bounds] == [0, 2, 4]
    assert math.fsum(lost) <= learner.certificate_.delta == 1e-5
