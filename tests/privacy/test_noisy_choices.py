"""Choices under Cauchy and Gaussian noise: calibration, cost by an independent path, and the noise that is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting.dp_event import GaussianDpEvent  # type: ignore[import-untyped]  # ships no types
from dp_accounting.pld import PLDAccountant  # type: ignore[import-untyped]  # ships no types
from scipy import stats

from glassine.errors import GlassineError, InvalidMechanismError
from glassine.privacy.accounting import CountBound, Event, GaussianMax, SmoothCauchyMax, cost, delta, epsilon
from glassine.privacy.certificate import Certificate, event_to_dict
from glassine.privacy.randomness import Randomness
from glassine.sealed.noisy_choice import (
    GAUSSIAN_SLACK,
    SMOOTH_SLACK,
    cauchy_calibration,
    gaussian_calibration,
    gaussian_min,
    smooth_cauchy_min,
    spent_on_gaussian,
)
from tests.privacy.event_values import event_from_dict

HALF = Fraction(1, 2)


@pytest.mark.parametrize("candidates", [1, 2, 50, 10_001])
@pytest.mark.parametrize("spend", [1e-3, 0.1, 1.0, 8.0, 500.0])
def test_a_cauchy_choice_costs_what_it_was_calibrated_for(spend: float, candidates: int) -> None:
    smoothness, ratio = cauchy_calibration(spend, candidates)
    event = SmoothCauchyMax(
        name="rule", candidates=candidates, smoothness=smoothness, ratio=ratio, slack=candidates * SMOOTH_SLACK
    )
    assert epsilon([event]) <= spend
    assert epsilon([event]) >= min(spend, 64.0) * (1 - 1e-4)
    assert cost(event).pure == pytest.approx(2 * math.asinh(1 / ratio) + candidates * smoothness)


@pytest.mark.parametrize(("spend", "lost", "candidates"), [(1.0, 1e-6, 1), (0.1, 1e-6, 50), (5.0, 1e-3, 200)])
def test_a_gaussian_choice_costs_what_it_was_calibrated_for(spend: float, lost: float, candidates: int) -> None:
    sigma, grid, reach = gaussian_calibration(spend, lost, candidates, HALF)
    event = GaussianMax(
        name="rule",
        epsilon=spent_on_gaussian(spend),
        candidates=candidates,
        spread=reach,
        sigma=sigma,
        slack=GAUSSIAN_SLACK,
    )
    assert lost * (1 - 1e-5) <= cost(event).delta <= lost
    assert epsilon([event], lost * (1 + 1e-8)) <= spend * (1 + 1e-12)
    assert sigma * grid >= 2**38
    assert math.ceil(HALF * grid) + 1 <= reach * grid
    accountant = PLDAccountant()
    accountant.compose(GaussianDpEvent(sigma / reach))
    google = candidates * float(accountant.get_delta(event.epsilon))
    assert cost(event).delta == pytest.approx(google, rel=2e-2)


def test_one_querys_price_is_too_small_for_a_gaussian_choice() -> None:
    event = GaussianMax(name="rule", epsilon=1.0, candidates=40, spread=0.5, sigma=2.1124)
    assert cost(event).delta == pytest.approx(40 * 1e-6, rel=0.01)
    assert epsilon([event], 1e-6) == math.inf


def test_stated_deltas_of_bounds_and_choices_add_up() -> None:
    bound = CountBound(name="records", scale=2.0, other_scale=2.0, others=0, threshold=30)
    choice = GaussianMax(name="rule", epsilon=1.0, candidates=4, spread=0.5, sigma=2.5)
    total = cost(bound).delta + cost(choice).delta
    assert delta([bound, choice], 1.0) == pytest.approx(total)
    assert epsilon([bound, choice], 1.01 * total) == pytest.approx(1.0)
    assert epsilon([bound, choice], 0.99 * total) == math.inf


EVENTS: list[Event] = [
    SmoothCauchyMax(name="rule", candidates=9, smoothness=0.01, ratio=3.0, count=2),
    GaussianMax(name="rule", epsilon=0.5, candidates=9, spread=0.5, sigma=4.0),
    CountBound(name="records", scale=3.0, other_scale=2.0, others=4, threshold=90),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_are_written_and_read(event: Event) -> None:
    assert event_from_dict(event_to_dict(event)) == event
    values = event_to_dict(event)
    for field in ("candidates", "others", "threshold"):
        if field in values:
            with pytest.raises(InvalidMechanismError):
                event_from_dict({**values, field: 1.5})
            with pytest.raises(InvalidMechanismError):
                event_from_dict({**values, field: -1})
    certificate = Certificate(epsilon=10.0, delta=0.5, events=(event,))
    assert Certificate.from_json(certificate.to_json()) == certificate
    words = {"SmoothCauchyMax": "of 9, Cauchy", "GaussianMax": "of 9, Gaussian", "CountBound": "less 90"}
    assert words[type(event).__name__] in certificate.text()


def wins(draws: list[int]) -> float:
    return draws.count(1) / len(draws)


@pytest.mark.slow
def test_the_noise_of_a_cauchy_choice_has_its_scale() -> None:
    # Two scores: the difference of two Cauchy variables of scale s is one of scale 2 s.
    grid, bound, ratio, gap = 2**20, 0.25, 2.0, 0.8
    stream = Randomness.of(3)
    draws = [smooth_cauchy_min([0, int(gap * grid)], bound, ratio, grid, stream) for _ in range(40_000)]
    for factor, right in ((1.0, True), (0.9, False), (1.1, False)):
        share = stats.cauchy(scale=2 * factor * ratio * bound).cdf(-gap)
        spread = math.sqrt(share * (1 - share) / len(draws))
        assert bool(abs(wins(draws) - share) < 4.5 * spread) is right


@pytest.mark.slow
def test_the_noise_of_a_gaussian_choice_has_its_scale() -> None:
    grid, sigma, gap = 2**40, 1.5, 2.0
    stream = Randomness.of(4)
    draws = [gaussian_min([0, int(gap * grid)], sigma, grid, stream) for _ in range(16_000)]
    for factor, right in ((1.0, True), (0.9, False), (1.1, False)):
        share = stats.norm(scale=factor * sigma * math.sqrt(2)).cdf(-gap)
        spread = math.sqrt(share * (1 - share) / len(draws))
        assert bool(abs(wins(draws) - share) < 4 * spread) is right


def test_impossible_parameters_are_refused() -> None:
    calls: list[Any] = [
        lambda: cauchy_calibration(1e-12, 10_000),
        lambda: gaussian_calibration(1e-9, 1e-9, 5, HALF),
        lambda: GaussianMax(name="rule", epsilon=1.0, candidates=0, spread=0.5, sigma=1.0),
        lambda: SmoothCauchyMax(name="rule", candidates=True, smoothness=0.1, ratio=1.0),
        lambda: CountBound(name="records", scale=1.0, other_scale=1.0, others=0, threshold=0),
        lambda: CountBound(name="records", scale=np.nan, other_scale=1.0, others=0, threshold=1),
    ]
    for call in calls:
        with pytest.raises(GlassineError):
            call()
