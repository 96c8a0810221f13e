"""Events for several records at once: the accountant comes to the price of a group."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.errors import InvalidMechanismError
from glassine.privacy import accounting
from glassine.privacy.accounting import (
    CauchyNoise,
    CountBound,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianMax,
    GaussianNoise,
    LaplaceNoise,
    NoisyMax,
    Parallel,
    Selection,
    SmoothCauchyMax,
    Stated,
)
from glassine.privacy.certificate import event_to_dict
from glassine.privacy.unit import of_group, of_groups
from tests.privacy.event_values import event_from_dict

SELECTION = Selection(name="tree", inverse_temperature=0.3, sensitivity=1, monotone=True, slack=1e-9)
PURE: list[Event] = [
    Selection(name="tree", inverse_temperature=0.3, sensitivity=1, monotone=True),
    NoisyMax(name="rule", inverse_temperature=0.1, sensitivity=3.0, monotone=False, count=2),
    LaplaceNoise(name="sums", l1_sensitivity=2, scale=7),
    DiscreteLaplaceNoise(name="counts", l1_sensitivity=1, scale=10, count=3),
    SmoothCauchyMax(name="rule", candidates=9, smoothness=0.01, ratio=3.0, count=2),
    Parallel(
        name="quantiles",
        branches=(
            (Selection(name="one", inverse_temperature=0.4, sensitivity=0.5),),
            (Selection(name="other", inverse_temperature=0.2, sensitivity=0.75),),
        ),
    ),
]
GAUSSIAN: list[Event] = [
    GaussianNoise(name="sums", l2_sensitivity=1.5, sigma=30),
    DiscreteGaussianNoise(name="counts", l2_sensitivity=2.0**20, sigma=2.0**25, values=12, units=2**20, count=4),
]


@pytest.mark.parametrize("event", PURE, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("records", [1, 2, 5])
def test_pure_epsilon_grows_with_the_records_and_rho_with_their_square(event: Event, records: int) -> None:
    one, many = accounting.cost(event), accounting.cost(of_group(event, records))
    assert many.pure == pytest.approx(records * one.pure)
    assert many.rho == pytest.approx(records**2 * one.rho)
    assert accounting.epsilon([of_group(event, records)]) == pytest.approx(records * accounting.epsilon([event]))


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(GAUSSIAN), st.integers(1, 20))
def test_the_mu_of_sums_grows_with_the_records_and_delta_is_not_multiplied(event: Event, records: int) -> None:
    one, many = accounting.cost(event), accounting.cost(of_group(event, records))
    assert math.sqrt(many.mu_squared) == pytest.approx(records * math.sqrt(one.mu_squared))
    assert (many.slack, many.delta) == (one.slack, one.delta)
    # Below what group privacy of (epsilon, delta) would ask for: records times epsilon, and delta times far more.
    epsilon, delta = accounting.epsilon([event], 1e-6), 1e-6
    grown = delta * sum(math.exp(step * epsilon) for step in range(records))
    assert accounting.delta([of_group(event, records)], records * epsilon) <= grown * (1 + 1e-9)


def test_a_spread_grows_with_the_records_and_a_tail_does_not() -> None:
    gaussian = GaussianMax(name="rule", epsilon=1.0, candidates=9, spread=0.5, sigma=6.0)
    assert of_group(gaussian, 3) == GaussianMax(name="rule", epsilon=1.0, candidates=9, spread=1.5, sigma=6.0)
    assert accounting.cost(of_group(gaussian, 3)).delta > accounting.cost(gaussian).delta
    bound = CountBound(name="records", scale=20.0, other_scale=4.0, others=2, threshold=90)
    assert of_group(bound, 3) == bound


def test_one_record_leaves_every_event_as_it_is() -> None:
    stated = Stated(name="anything", epsilon=1.0, proof="privacy/mechanisms.md")
    for event in (*PURE, *GAUSSIAN, stated):
        assert of_group(event, 1) is event
    assert of_groups(PURE, 1) == tuple(PURE)


REFUSED: dict[str, Callable[[], Event]] = {
    "stated": lambda: Stated(name="anything", epsilon=1.0, delta=1e-6, proof="privacy/mechanisms.md"),
    "cauchy": lambda: CauchyNoise(name="one", sensitivity=1.0, scale=3.0),
    "parts with slack": lambda: Parallel(name="parts", branches=((SELECTION,), (SELECTION,))),
    "parts with a delta": lambda: Parallel(name="parts", branches=((GAUSSIAN[1],),)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused(name: str) -> None:
    with pytest.raises(InvalidMechanismError, match="no rule for 2 records"):
        of_group(REFUSED[name](), 2)


def test_records_of_a_group_are_written_only_where_there_are_several() -> None:
    event = PURE[4]
    plain: dict[str, Any] = event_to_dict(event)
    assert "records" not in plain
    assert event_from_dict(plain) == event
    many = of_group(event, 4)
    assert event_to_dict(many)["records"] == 4
    assert event_from_dict(event_to_dict(many)) == many
