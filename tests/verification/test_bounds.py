"""Bounds from error rates: exact values, coverage with a known truth, tightness."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from glassine.errors import InvalidParameterError
from glassine.records.arrays import Array
from glassine.verification.bounds import (
    EpsilonBound,
    GaussianBound,
    TradeOffBound,
    clopper_pearson_lower,
    clopper_pearson_upper,
    delta_lower_bound,
    trade_off_band,
)

REPETITIONS = 4000


def most_failures(alpha: float, repetitions: int = REPETITIONS) -> int:
    """Failures that an error probability of alpha exceeds once in a million."""
    return int(stats.binom.isf(1e-6, repetitions, alpha))


@pytest.mark.parametrize("alpha", [0.2, 0.025, 1e-4, 1e-12])
def test_clopper_pearson_limits_solve_their_equation(alpha: float) -> None:
    n = 50
    k = np.arange(n)
    upper = clopper_pearson_upper(k, n, alpha)
    assert stats.binom.cdf(k, n, upper) == pytest.approx(alpha, rel=1e-6)
    lower = clopper_pearson_lower(k + 1, n, alpha)
    assert stats.binom.sf(k, n, lower) == pytest.approx(alpha, rel=1e-6)
    assert clopper_pearson_upper(n, n, alpha) == 1.0
    assert clopper_pearson_lower(0, n, alpha) == 0.0
    assert clopper_pearson_upper(0, 0, alpha) == 1.0


@pytest.mark.parametrize("n", [1, 7, 40, 1000])
@pytest.mark.parametrize("p", [0.001, 0.3, 0.97])
def test_clopper_pearson_covers_exactly(n: int, p: float) -> None:
    # The whole law, no simulation: the probability of all outcomes whose limit misses.
    k = np.arange(n + 1)
    mass = stats.binom.pmf(k, n, p)
    assert mass[clopper_pearson_upper(k, n, 0.05) < p].sum() <= 0.05
    assert mass[clopper_pearson_lower(k, n, 0.05) > p].sum() <= 0.05


def limits(rng: np.random.Generator, a: float, b: float, n: int, confidence: float) -> tuple[Array, Array]:
    alpha = (1 - confidence) / 2
    return (
        clopper_pearson_upper(rng.binomial(n, a, REPETITIONS), n, alpha),
        clopper_pearson_upper(rng.binomial(n, b, REPETITIONS), n, alpha),
    )


@pytest.mark.parametrize("n", [20, 500])
def test_epsilon_of_randomised_response_is_covered_and_met(n: int) -> None:
    # The likelihood ratio of the one event is exp(1) on both sides.
    wrong = 1 / (1 + math.e)
    a, b = limits(np.random.default_rng(n), wrong, wrong, n, 0.9)
    found = EpsilonBound().values(a, b)
    assert (found > 1).sum() <= most_failures(0.1)
    if n == 500:
        assert np.median(found) > 0.75


def test_epsilon_with_delta_is_covered_and_met() -> None:
    # With probability delta the bit itself is told, else randomised response: (1, 0.1) exactly.
    delta, wrong = 0.1, 0.9 / (1 + math.e)
    a, b = limits(np.random.default_rng(1), wrong, wrong, 2000, 0.9)
    found = EpsilonBound(delta=delta).values(a, b)
    assert (found > 1).sum() <= most_failures(0.1)
    assert np.median(found) > 0.85
    # Without the delta the same counts refute epsilon = 1.
    assert np.median(EpsilonBound().values(a, b)) > 1.0
    deltas = np.array([delta_lower_bound(x, y, 1.0) for x, y in zip(a.tolist(), b.tolist(), strict=True)])
    assert (deltas > delta).sum() <= most_failures(0.1)
    assert np.median(deltas) > 0.03


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_mu_of_gaussian_noise_is_covered_and_met(mu: float) -> None:
    for cut in (mu / 2, 0.0, mu + 1):
        a, b = float(stats.norm.sf(cut)), float(stats.norm.cdf(cut - mu))
        found = GaussianBound().values(*limits(np.random.default_rng(2), a, b, 1000, 0.9))
        assert (found > mu).sum() <= most_failures(0.1)
        if cut == mu / 2:
            assert np.median(found) > mu - 0.25


def laplace_curve(theta: Array, rate: Array) -> Array:
    """Trade-off curve of Laplace noise of scale 1 / theta on a count."""
    middle = np.exp(-theta) / (4 * np.maximum(rate, 1e-300))
    ends = np.where(rate < np.exp(-theta) / 2, 1 - np.exp(theta) * rate, np.exp(-theta) * (1 - rate))
    inside = (rate >= np.exp(-theta) / 2) & (rate <= 0.5)
    return np.asarray(np.where(inside, middle, ends))


def test_a_family_of_curves_gives_what_its_closed_form_gives() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.001, 0.6, 200), rng.uniform(0.001, 0.6, 200)
    gaussian = TradeOffBound(curve=lambda mu, x: stats.norm.cdf(stats.norm.isf(x) - mu), parameter="mu")
    assert gaussian.values(a, b) == pytest.approx(GaussianBound().values(a, b), abs=1e-9)

    def pure(epsilon: Array, x: Array) -> Array:
        return np.asarray(np.maximum(np.maximum(0, 1 - np.exp(epsilon) * x), np.exp(-epsilon) * (1 - x)))

    assert TradeOffBound(curve=pure).values(a, b) == pytest.approx(EpsilonBound().values(a, b), abs=1e-9)


def test_the_curve_of_laplace_noise_is_sharper_than_epsilon_and_still_covered() -> None:
    theta, cut = 1.0, 0.5
    a, b = math.exp(-theta * cut) / 2, math.exp(-theta * (1 - cut)) / 2
    both = limits(np.random.default_rng(3), a, b, 1000, 0.9)
    found = TradeOffBound(curve=laplace_curve, parameter="theta").values(*both)
    assert (found > theta).sum() <= most_failures(0.1)
    assert np.median(found) > np.median(EpsilonBound().values(*both)) + 0.1


def test_bounds_at_the_ends_are_what_they_must_be() -> None:
    one, zero = np.array([1.0]), np.array([0.0])
    for bound in (EpsilonBound(), EpsilonBound(delta=0.1), GaussianBound()):
        assert bound.values(one, one) == 0
        assert bound.values(one, zero) == 0
        assert bound.values(zero, one) == 0
        assert bound.values(zero, zero) == np.inf
    assert delta_lower_bound(1.0, 1.0, 0.0) == 0
    assert delta_lower_bound(0.0, 0.0, 1000.0) == 1


def test_the_band_covers_all_thresholds_at_once() -> None:
    rng = np.random.default_rng(4)
    misses, epsilons = 0, []
    for _ in range(400):
        band = trade_off_band(rng.laplace(0, 1, 300).tolist(), rng.laplace(1, 1, 300).tolist(), confidence=0.8)
        cuts = band.thresholds
        misses += bool(
            (stats.laplace.sf(cuts) > band.false_positive_rates).any()
            or (stats.laplace.cdf(cuts - 1) > band.false_negative_rates).any()
        )
        epsilons.append(band.epsilon())
        assert band.mu() >= 0
    assert misses <= most_failures(0.2, 400)
    # Bands are not loose either: an error probability of a fifth is spent to a good part.
    assert misses > 20
    assert max(epsilons) < 1.0
    assert np.median(epsilons) > 0.4


def test_the_band_rejects_a_claimed_curve_and_not_the_true_one() -> None:
    rng = np.random.default_rng(5)
    band = trade_off_band(rng.normal(0, 1, 3000).tolist(), rng.normal(2, 1, 3000).tolist())
    assert band.rejects(lambda x: np.asarray(stats.norm.cdf(stats.norm.isf(x) - 1)))
    assert not band.rejects(lambda x: np.asarray(stats.norm.cdf(stats.norm.isf(x) - 2)))
    assert 1.5 < band.mu() <= 2


@pytest.mark.parametrize("value", [math.nan, -0.1, 1.0, 2.0])
def test_probabilities_out_of_range_are_refused(value: float) -> None:
    with pytest.raises(InvalidParameterError, match="delta must lie in"):
        EpsilonBound(delta=value)
    with pytest.raises(InvalidParameterError, match="confidence must lie in"):
        trade_off_band([0.0], [1.0], confidence=value)
    with pytest.raises(InvalidParameterError, match="alpha must lie in"):
        clopper_pearson_upper(1, 2, value)


def test_impossible_counts_and_rates_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="successes"):
        clopper_pearson_upper(3, 2, 0.1)
    with pytest.raises(InvalidParameterError, match="successes"):
        clopper_pearson_lower(math.nan, 2, 0.1)
    with pytest.raises(InvalidParameterError, match="error rates"):
        EpsilonBound().values(np.array([math.nan]), np.array([0.1]))
    for scores in ([], [math.nan]):
        with pytest.raises(InvalidParameterError, match="scores must be numbers"):
            trade_off_band(scores, [1.0])
    for epsilon in (math.nan, -1.0, math.inf):
        with pytest.raises(InvalidParameterError, match="epsilon must be"):
            delta_lower_bound(0.1, 0.1, epsilon)
