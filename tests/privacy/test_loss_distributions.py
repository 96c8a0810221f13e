"""Distributions of losses: never below what is exact, near it, and every pair dominates what it stands for.

The exact figures are those of randomized response, which are binomial sums, and of small cases that are enumerated.
Google's optimistic and pessimistic figures bound the others from both sides; their Fourier transforms are good to about
1e-11, so that smaller deltas are compared with exact figures alone.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as google  # type: ignore[import-untyped]  # ships no types
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassine.privacy import loss_distributions
from glassine.privacy.accounting import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    NoisyMax,
    Parallel,
    Selection,
    cost,
    delta,
    epsilon,
)
from glassine.privacy.conversions import delta_from_mu, epsilon_from_rho
from glassine.privacy.loss_distributions import DominatingPair, Losses, composed

RELATIVE = 1.003
"""How far our figures may lie above Google's pessimistic ones."""


def laplacian(value: float, count: int = 1) -> LaplaceNoise:
    return LaplaceNoise(name="counts", l1_sensitivity=value, scale=1, count=count)


def pure(value: float, count: int = 1) -> NoisyMax:
    return NoisyMax(name="choice", inverse_temperature=value, sensitivity=1, monotone=True, count=count)


def normal(mu: float, count: int = 1) -> GaussianNoise:
    return GaussianNoise(name="sums", l2_sensitivity=mu, sigma=1, count=count)


def coarse(sigma: float, count: int = 1, square: float = 1.0) -> DiscreteGaussianNoise:
    return DiscreteGaussianNoise(name="sums", l2_sensitivity=math.sqrt(square), sigma=sigma, count=count)


# ---- against exact figures ----


def exact_responses(value: float, count: int, at: float) -> float:
    """Return the delta of so many randomized responses: a binomial sum, in logarithms."""
    terms = []
    for k in range(count + 1):
        loss = (2 * k - count) * value
        if loss > at:
            log = math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
            log -= k * math.log1p(math.exp(-value)) + (count - k) * math.log1p(math.exp(value))
            terms.append(math.exp(log) * -math.expm1(at - loss))
    return math.fsum(terms)


@pytest.mark.parametrize(("value", "count"), [(0.1, 50), (0.5, 20), (0.01, 1000), (0.003, 3000), (2.0, 3)])
@pytest.mark.parametrize("at", [1e-3, 1e-6, 1e-12, 1e-40, 1e-90])
def test_randomized_responses_have_their_exact_figure(value: float, count: int, at: float) -> None:
    ours = epsilon([pure(value, count)], at)
    total = value * count
    if ours < total * (1 - 1e-9):
        assert exact_responses(value, count, ours) <= at * (1 + 1e-9)
        # The lower bound says that no smaller epsilon holds.
        assert exact_responses(value, count, ours * (1 - 2e-4)) > at
    else:
        assert exact_responses(value, count, total * (1 - 1e-4)) > 0.9 * at


def test_the_example_of_many_small_releases() -> None:
    assert 3.1206 <= epsilon([laplacian(0.1, 50)], 1e-6) < 3.1215
    assert 1.4549 <= epsilon([coarse(3)], 1e-6) < 1.4552


# ---- against Google's, from both sides ----


def google_figures(events: Sequence[Any], at: float) -> tuple[float, float]:
    """Return Google's optimistic and pessimistic epsilon."""
    logging.disable(logging.WARNING)
    makers: dict[type, Callable[..., Any]] = {
        LaplaceNoise: lambda event, **how: google.from_laplace_mechanism(1 / event.l1_sensitivity, **how),
        GaussianNoise: lambda event, **how: google.from_gaussian_mechanism(1 / event.l2_sensitivity, **how),
        DiscreteGaussianNoise: lambda event, **how: google.from_discrete_gaussian_mechanism(event.sigma, 1, **how),
    }
    found = []
    for pessimistic in (False, True):
        total: Any = None
        for event in events:
            # Of k ones in k places the loss is that of k integers that move by one.
            times = event.count * (round(event.l2_sensitivity**2) if isinstance(event, DiscreteGaussianNoise) else 1)
            one = makers[type(event)](event, pessimistic_estimate=pessimistic).self_compose(times)
            total = one if total is None else total.compose(one)
        found.append(float(total.get_epsilon_for_delta(at)))
    logging.disable(logging.NOTSET)
    return found[0], found[1]


LISTS: dict[str, list[Event]] = {
    "small Laplace": [laplacian(0.1, 50)],
    "smaller Laplace": [laplacian(0.01, 1000)],
    "few Laplace": [laplacian(1.0, 3)],
    "two sizes": [laplacian(0.3, 7), laplacian(0.05, 40)],
    "coarse": [coarse(3)],
    "very coarse": [coarse(0.5)],
    "many coarse": [coarse(20, 100)],
    "three places": [coarse(4, 2, square=3)],
    "two sigmas": [coarse(5, 4), coarse(9, 2)],
    "Gaussian and Laplace": [normal(1.0), laplacian(0.5)],
    "many of both": [normal(0.3, 4), laplacian(0.1, 20)],
    "all three": [normal(0.5), laplacian(0.2, 5), coarse(6, 3)],
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "at", [pytest.param(1e-3, marks=pytest.mark.slow), 1e-6, pytest.param(1e-9, marks=pytest.mark.slow)]
)
def test_lists_lie_between_googles_optimistic_figure_and_a_little_above_the_pessimistic_one(
    name: str, at: float
) -> None:
    low, high = google_figures(LISTS[name], at)
    ours = epsilon(LISTS[name], at)
    assert low * (1 - 1e-9) <= ours <= high * RELATIVE
    assert delta(LISTS[name], ours * (1 + 1e-9) + 1e-12) <= at * (1 + 1e-9)


SIZES = st.lists(
    st.one_of(
        st.builds(laplacian, st.floats(0.02, 1.5), st.integers(1, 30)),
        st.builds(normal, st.floats(0.05, 1.5), st.integers(1, 3)),
        st.builds(coarse, st.floats(1.0, 12.0), st.integers(1, 10)),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.slow
@settings(max_examples=12)
@given(SIZES, st.sampled_from([1e-3, 1e-6]))
@example([laplacian(1.5, 1), coarse(1.0, 1)], 1e-3)
def test_any_list_is_never_under_counted_and_seldom_over_counted(events: list[Event], at: float) -> None:
    low, high = google_figures(events, at)
    assert low * (1 - 1e-9) <= epsilon(events, at) <= high * RELATIVE + 1e-4


# ---- each pair dominates what it stands for ----


def response_delta(parts: list[tuple[np.ndarray, np.ndarray]], at: float) -> float:
    """Return the exact delta of independent releases with few results each."""
    total = 0.0
    for results in product(*(range(len(p)) for p, _ in parts)):
        p = math.prod(float(parts[i][0][k]) for i, k in enumerate(results))
        q = math.prod(float(parts[i][1][k]) for i, k in enumerate(results))
        total += max(0.0, p - math.exp(at) * q)
    return total


def test_selections_are_dominated_by_their_pair_alone_and_together() -> None:
    rng = np.random.default_rng(3)
    size = 0.9
    one, three = (composed([(DominatingPair(kind="selection", size=size), count)], 1e-6) for count in (1, 3))
    for _ in range(60):
        parts = []
        for _ in range(3):
            scores = rng.uniform(0, 3, 4)
            moved = scores + rng.choice([0.0, size], 4)
            p, q = (np.exp(values) / np.exp(values).sum() for values in (scores, moved))
            parts.append((p, q) if rng.random() < 0.5 else (q, p))
        for at in (0.0, 0.1, 0.3, 0.6, 0.85, 1.5, 2.4):
            assert response_delta(parts[:1], at) <= one(at) + 1e-15
            assert response_delta(parts, at) <= three(at) + 1e-15


def test_the_pair_of_a_selection_has_the_largest_delta_of_two_results() -> None:
    size = 1.3
    curve = composed([(DominatingPair(kind="selection", size=size), 1)], 1e-6)
    for at in (0.01, 0.2, 0.7, 1.2):
        tops = np.linspace(1e-6, size, 20_001)
        found = -np.expm1(tops - size) * -np.expm1(np.minimum(at - tops, 0.0)) / -math.expm1(-size)
        assert found.max() <= curve(at)
        assert curve(at) == pytest.approx((1 - math.exp((at - size) / 2)) ** 2 / -math.expm1(-size), rel=0.02)


@pytest.mark.slow
def test_laplace_noise_on_several_numbers_is_dominated_by_that_on_one() -> None:
    rng = np.random.default_rng(4)
    logging.disable(logging.WARNING)
    for _ in range(15):
        shares = rng.dirichlet(np.ones(int(rng.integers(2, 5)))) * rng.uniform(0.2, 3.0)
        parts = [google.from_laplace_mechanism(1 / max(d, 1e-3), pessimistic_estimate=False) for d in shares]
        joint = parts[0]
        for part in parts[1:]:
            joint = joint.compose(part)
        whole = float(np.maximum(shares, 1e-3).sum())
        for at in np.linspace(0, whole, 7)[:-1]:
            assert joint.get_delta_for_epsilon(at) <= -math.expm1((at - whole) / 2) + 1e-9
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("places", [1, 2, 3])
def test_discrete_gaussian_noise_in_a_few_places_is_dominated(places: int) -> None:
    sigma, k = 1.7, np.arange(-25, 26)
    weights = np.exp(-(k**2) / (2 * sigma**2))
    p = weights / weights.sum()
    q = np.exp(-((k - 1) ** 2) / (2 * sigma**2)) / weights.sum()
    laws = [(p, q)] * places
    joint = [np.prod(np.array(np.meshgrid(*(law[i] for law in laws))), axis=0).ravel() for i in (0, 1)]
    for at in (0.0, 0.4, 1.0, 2.5):
        exact = float(np.maximum(joint[0] - math.exp(at) * joint[1], 0).sum())
        ours = delta([coarse(sigma, square=places)], at)
        assert exact * (1 - 1e-9) <= ours <= exact * 1.01


def test_gaussian_pairs_are_those_of_gaussian_privacy() -> None:
    for mu in (0.05, 0.7, 2.0, 6.0):
        curve = composed([(DominatingPair(kind="gaussian", size=mu), 1)], 1e-10)
        for at in (0.1 * mu, mu, mu * mu / 2 + 3 * mu):
            assert delta_from_mu(mu, at) * (1 - 1e-9) <= curve(at) <= delta_from_mu(mu, at) * 1.01 + 1e-9


@pytest.mark.parametrize("square", [0.5, 1.5, 4.0, 9.0])
def test_where_no_pair_is_proved_rho_alone_counts(square: float) -> None:
    event = coarse(8, square=square)
    assert epsilon([event], 1e-6) == epsilon_from_rho(cost(event).rho, 1e-6)
    assert epsilon([coarse(2e4)], 1e-6) == epsilon_from_rho(cost(coarse(2e4)).rho, 1e-6)


# ---- the arithmetic on grids ----


def losses(seed: int, most: int = 40) -> Losses:
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.ones(int(rng.integers(2, most))))
    return Losses(first=float(rng.uniform(-2, 0)), step=float(rng.uniform(0.01, 0.3)), masses=masses)


def exact_delta(parts: list[Losses], at: float) -> float:
    """Return the delta of independent losses by enumeration."""
    points, masses = np.zeros(1), np.ones(1)
    for part in parts:
        own = part.first + part.step * np.arange(len(part.masses))
        points, masses = np.add.outer(points, own).ravel(), np.multiply.outer(masses, part.masses).ravel()
    return float((masses * np.maximum(0.0, -np.expm1(np.minimum(at - points, 0.0)))).sum())


@pytest.mark.parametrize("seed", range(25))
def test_no_step_on_the_grid_lowers_delta(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = losses(seed), losses(seed + 1000)
    monkeypatch.setattr(loss_distributions, "MOST", 60)
    for at in (-1.0, 0.0, 0.3, 1.1, 3.0):
        alone = exact_delta([first], at)
        for step in (0.5 * first.step, 1.7 * first.step, 2 * first.step, 0.4):
            moved = first.on(step)
            assert moved.delta(at) >= alone - 1e-14
            assert moved.masses.sum() == pytest.approx(1)
            points = moved.first + step * np.arange(len(moved.masses))
            own = first.first + first.step * np.arange(len(first.masses))
            assert (moved.masses * np.exp(-points)).sum() == pytest.approx((first.masses * np.exp(-own)).sum())
        assert first.trimmed(0.05).delta(at) >= alone - 1e-14
        assert first.after(second, 1e-4).delta(at) >= exact_delta([first, second], at) - 1e-14
        assert first.repeated(3, 1e-4).delta(at) >= exact_delta([first] * 3, at) - 1e-14


@pytest.mark.parametrize("seed", range(5))
def test_repeating_is_composing_one_by_one(seed: int) -> None:
    one = losses(seed, 5)
    for count in (1, 2, 3, 5, 8):
        found = one.repeated(count, 0.0)
        for at in (-0.5, 0.4, 2.0):
            assert found.delta(at) == pytest.approx(exact_delta([one] * count, at), rel=1e-9, abs=1e-14)


def test_masses_of_every_pair_add_up_to_one_under_both_distributions() -> None:
    for kind, size in product(("pure", "laplace", "selection", "gaussian", "discrete gaussian"), (0.9, 1.0)):
        found = loss_distributions._losses(DominatingPair(kind=kind, size=size), 1e-12)  # type: ignore[arg-type]  # kinds
        points = found.first + found.step * np.arange(len(found.masses))
        assert found.masses.sum() == pytest.approx(1, abs=1e-9)
        # Tails that are raised weigh more under the other distribution.
        under_the_other = (found.masses * np.exp(-points)).sum()
        assert under_the_other == pytest.approx(1, abs=1e-9 if kind in ("pure", "laplace", "selection") else 2e-5)


# ---- lists of events ----


def test_alike_branches_count_as_one_and_others_as_the_largest() -> None:
    branch = (laplacian(0.1),)
    alike: list[Event] = [Parallel(name=f"level {k}", branches=(branch, branch)) for k in range(50)]
    assert epsilon(alike, 1e-6) == epsilon([laplacian(0.1, 50)], 1e-6)
    mixed: list[Event] = [Parallel(name="both", branches=((laplacian(0.3),), (pure(0.2),)))] * 20
    assert epsilon(mixed, 1e-6) == epsilon([pure(0.3, 20)], 1e-6)
    noisy: list[Event] = [Parallel(name="both", branches=((normal(0.3),), (pure(0.01),))), laplacian(0.1)]
    assert epsilon([normal(0.3), laplacian(0.1)], 1e-6) <= epsilon(noisy, 1e-6) < 2


def test_counts_with_discrete_laplace_noise_are_randomized_responses() -> None:
    counts = DiscreteLaplaceNoise(name="counts", l1_sensitivity=1, scale=10, count=50)
    assert epsilon([counts], 1e-6) == epsilon([pure(0.1, 50)], 1e-6)


def test_gaussian_noise_alone_takes_no_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(loss_distributions, "_product", never)
    fine = DiscreteGaussianNoise(name="sums", l2_sensitivity=2.0**28, sigma=2.0**30, values=1000, count=90)
    assert epsilon([fine, normal(0.1)], 1e-6) > 0
    with pytest.raises(AssertionError):
        epsilon([fine, laplacian(0.123)], 1e-6)


def test_fine_noise_beside_pure_events_is_normal_up_to_its_slack() -> None:
    fine = DiscreteGaussianNoise(name="sums", l2_sensitivity=2.0**29, sigma=2.0**30, values=1000)
    ideal = epsilon([normal(0.5), laplacian(0.1, 20)], 1e-6)
    assert ideal <= epsilon([fine, laplacian(0.1, 20)], 1e-6) <= ideal * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("value", [1e-9, 1e-4, 39.0, 41.0, 1e5, 1e300])
def test_extreme_sizes_stay_finite_and_sound(value: float) -> None:
    for event in (laplacian(value, 3), pure(value, 3), Selection(name="x", inverse_temperature=value, sensitivity=1)):
        found = epsilon([event, normal(0.2)], 1e-6)
        assert epsilon([normal(0.2)], 1e-6) * (1 - 1e-3) <= found
        assert found <= cost(event).pure + epsilon([normal(0.2)], 1e-6) + 1e-9
        assert 0 <= delta([event, normal(0.2)], 1.0) <= 1


def test_deltas_far_below_what_fourier_transforms_resolve_are_exact() -> None:
    for exponent in (20, 60, 150, 250):
        at = Fraction(1, 10**exponent)
        ours = epsilon([pure(0.05, 2000)], float(at))
        assert exact_responses(0.05, 2000, ours) <= float(at) * (1 + 1e-8)
        assert exact_responses(0.05, 2000, ours * (1 - 1e-3)) > float(at)
