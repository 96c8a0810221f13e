"""Conversions between privacy definitions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from glassine.errors import GlassineError
from glassine.privacy.conversions import (
    delta_from_mu,
    delta_from_rho,
    epsilon_from_mu,
    epsilon_from_rho,
    gaussian_sigma,
    mu_from_epsilon,
    mu_from_pure,
)

DELTAS = st.sampled_from([1e-2, 1e-6, 1e-12])


@given(st.floats(1e-4, 30), DELTAS)
def test_mu_and_epsilon_are_inverse(mu: float, delta: float) -> None:
    epsilon = epsilon_from_mu(mu, delta)
    assert delta_from_mu(mu, epsilon) <= delta
    if epsilon > 1e-6:
        assert mu_from_epsilon(epsilon, delta) == pytest.approx(mu, rel=1e-6)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.floats(1e-6, 100), DELTAS)
def test_rho_and_epsilon_are_inverse(rho: float, delta: float) -> None:
    epsilon = epsilon_from_rho(rho, delta)
    if epsilon > 1e-6:
        assert delta_from_rho(rho, epsilon) == pytest.approx(delta, rel=1e-3)


@given(st.floats(1e-3, 10), DELTAS)
def test_gdp_is_never_worse_than_its_zcdp(mu: float, delta: float) -> None:
    assert epsilon_from_mu(mu, delta) <= epsilon_from_rho(mu**2 / 2, delta) + 1e-9


@given(st.floats(1e-8, 600))
@example(1 - 1e-12)
@example(1.0)
def test_a_pure_mechanisms_trade_off_lies_above_the_gaussian(epsilon: float) -> None:
    mu = mu_from_pure(epsilon)
    level = 1 / (1 + math.exp(epsilon))
    # Both trade-off functions pass through the same point of the diagonal.
    if epsilon < 30:
        assert stats.norm.cdf(stats.norm.ppf(1 - level) - mu) == pytest.approx(level, rel=1e-8)
    errors = np.linspace(1e-6, 1 - 1e-6, 50)
    pure = np.maximum(0, np.maximum(1 - math.exp(epsilon) * errors, math.exp(-epsilon) * (1 - errors)))
    assert (stats.norm.cdf(stats.norm.ppf(1 - errors) - mu) <= pure + 1e-9).all()


def test_gaussian_sigma_is_the_least_that_holds() -> None:
    sigma = gaussian_sigma(0.7, 1e-5, 2.0)
    assert delta_from_mu(2 / sigma, 0.7) <= 1e-5 < delta_from_mu(2 / (0.999 * sigma), 0.7)


def test_edges() -> None:
    assert epsilon_from_mu(0, 0) == epsilon_from_rho(0, 0) == mu_from_pure(0) == 0
    assert math.isinf(epsilon_from_mu(1, 0))
    assert math.isinf(epsilon_from_rho(1, 0))
    assert math.isinf(epsilon_from_mu(math.inf, 0.1))
    assert math.isinf(epsilon_from_rho(math.inf, 0.1))
    assert delta_from_mu(math.inf, 1) == delta_from_rho(math.inf, 1) == 1
    assert delta_from_mu(0, 0) == delta_from_rho(0, 0) == 0
    assert epsilon_from_mu(0.01, 0.5) == 0


def test_impossible_parameters_are_refused() -> None:
    calls: list[Callable[[], object]] = [
        lambda: delta_from_mu(math.nan, 1),
        lambda: delta_from_mu(1, -1),
        lambda: delta_from_rho(-1, 1),
        lambda: epsilon_from_mu(1, 1),
        lambda: epsilon_from_rho(1, math.nan),
        lambda: mu_from_epsilon(1, 0),
        lambda: mu_from_pure(math.nan),
        lambda: gaussian_sigma(1, 0.1, 0),
    ]
    for call in calls:
        with pytest.raises(GlassineError):
            call()
