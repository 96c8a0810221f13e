"""The accountant: never below Google's tight figures, and equal to them where equality is due."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting  # type: ignore[import-untyped]  # ships no types
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution  # type: ignore[import-untyped]  # ships no types
from dp_accounting.pld.common import DifferentialPrivacyParameters  # type: ignore[import-untyped]  # ships no types
from dp_accounting.rdp import RdpAccountant  # type: ignore[import-untyped]  # ships no types
from hypothesis import given
from hypothesis import strategies as st

from glassine.errors import InvalidMechanismError, UnknownEventError
from glassine.privacy.accounting import (
    CauchyNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    NoisyMax,
    Parallel,
    Selection,
    SmoothCauchyNoise,
    Stated,
    cost,
    delta,
    epsilon,
)
from glassine.privacy.certificate import event_to_dict
from glassine.privacy.conversions import epsilon_from_rho
from glassine.privacy.mechanisms import CAUCHY_SLACK
from tests.privacy.event_values import event_from_dict

# PLD rounds losses up to a grid, so its figures lie above the tight ones by about this.
PLD_GRID = 1e-4
DELTA = 1e-6


def normal(mu: float, count: int = 1) -> GaussianNoise:
    return GaussianNoise(name="sums", l2_sensitivity=mu, sigma=1, count=count)


def laplacian(value: float, count: int = 1) -> LaplaceNoise:
    return LaplaceNoise(name="counts", l1_sensitivity=value, scale=1, count=count)


def stated(value: float, count: int = 1, lost: float = 0.0) -> Stated:
    return Stated(name="other", epsilon=value, delta=lost, proof="nowhere", count=count)


def pld_epsilon(events: Sequence[tuple[dp_accounting.DpEvent, int]], at: float) -> float:
    accountant = PLDAccountant()
    for event, count in events:
        accountant.compose(event, count)
    return float(accountant.get_epsilon(at))


def google_normal(mu: float) -> dp_accounting.DpEvent:
    return dp_accounting.GaussianDpEvent(1 / mu)


def google_laplacian(value: float) -> dp_accounting.DpEvent:
    return dp_accounting.LaplaceDpEvent(1 / value)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "count"), [(0.1, 1), (1, 1), (0.3, 20), (3, 1)])
@pytest.mark.parametrize("at", [1e-3, 1e-9])
def test_gaussian_noise_is_accounted_exactly(mu: float, count: int, at: float) -> None:
    assert epsilon([normal(mu, count)], at) == pytest.approx(pld_epsilon([(google_normal(mu), count)], at), rel=1e-6)


@pytest.mark.parametrize(("value", "count"), [(0.1, 10), (1, 3)])
def test_pure_composition_is_exact(value: float, count: int) -> None:
    ours = epsilon([laplacian(value, count)])
    assert ours == pytest.approx(value * count, abs=1e-15)
    responses = privacy_loss_distribution.from_privacy_parameters(DifferentialPrivacyParameters(value, 0))
    composed = responses.self_compose(count)
    assert composed.get_delta_for_epsilon(ours + PLD_GRID * count) < 1e-12
    assert composed.get_delta_for_epsilon(ours - 0.01) > 1e-6


@pytest.mark.parametrize(("value", "count"), [(0.05, 200), (0.5, 20), (2, 3)])
@pytest.mark.parametrize("at", [1e-3, 1e-9])
def test_pure_events_are_never_under_counted(value: float, count: int, at: float) -> None:
    responses = privacy_loss_distribution.from_privacy_parameters(DifferentialPrivacyParameters(value, 0))
    tight = float(responses.self_compose(count).get_epsilon_for_delta(at))
    ours = epsilon([stated(value, count)], at)
    assert tight - PLD_GRID * count <= ours <= min(value * count, tight * 1.001 + PLD_GRID) + 1e-12
    assert epsilon([laplacian(value, count)], at) <= ours * (1 + 1e-3)


def test_many_pure_events_cost_less_than_their_sum_at_a_delta() -> None:
    assert epsilon([laplacian(0.05, 200)], DELTA) < 0.5 * 10


@pytest.mark.parametrize(("mu", "value", "count"), [(1, 0.5, 1), (0.5, 0.1, 20), (0.2, 1, 1)])
def test_mixtures_are_never_under_counted(mu: float, value: float, count: int) -> None:
    tight = pld_epsilon([(google_normal(mu), 1), (google_laplacian(value), count)], DELTA)
    ours = epsilon([normal(mu), laplacian(value, count)], DELTA)
    assert tight - PLD_GRID * (count + 1) <= ours <= epsilon([normal(mu)], DELTA) + value * count + 1e-9


def test_mixtures_are_never_worse_than_renyi_accounting_by_much() -> None:
    accountant = RdpAccountant()
    accountant.compose(google_normal(0.5)).compose(google_laplacian(0.1), 20)
    assert epsilon([normal(0.5), laplacian(0.1, 20)], DELTA) <= float(accountant.get_epsilon(DELTA)) * 1.05


@pytest.mark.parametrize("rho", [0.01, 0.5, 8])
def test_zcdp_conversion_agrees_with_googles(rho: float) -> None:
    accountant = RdpAccountant(orders=1 + np.exp(np.linspace(-4, 8, 3000)))
    accountant.compose(dp_accounting.dp_event.ZCDpEvent(rho))
    assert epsilon_from_rho(rho, DELTA) == pytest.approx(float(accountant.get_epsilon(DELTA)), rel=1e-4)
    # Of a squared sensitivity that is no whole number nothing but rho is known.
    noise = DiscreteGaussianNoise(name="x", l2_sensitivity=1.5, sigma=1.5 / math.sqrt(2 * rho))
    assert epsilon([noise], DELTA) == pytest.approx(epsilon_from_rho(rho, DELTA))


@pytest.mark.parametrize("monotone", [False, True])
def test_selections_are_never_under_counted(monotone: bool) -> None:
    generator = np.random.default_rng(51)
    rate, count = 0.3, 12
    event = Selection(name="x", inverse_temperature=rate, sensitivity=1, monotone=monotone, count=count)
    worst = 0.0
    for _ in range(6):
        scores = generator.integers(0, 6, 4)
        moved = scores + (generator.integers(0, 2, 4) if monotone else generator.choice([-1, 1], 4))
        pair = [rate * values - np.log(np.exp(rate * values).sum()) for values in (scores, moved)]
        lower, upper = (dict(enumerate(values.tolist())) for values in pair)
        tight = privacy_loss_distribution.from_two_probability_mass_functions(lower, upper).self_compose(count)
        worst = max(worst, float(tight.get_epsilon_for_delta(1e-3)))
    assert worst - PLD_GRID * count <= epsilon([event], 1e-3)
    assert epsilon([event], 1e-3) < epsilon([stated(cost(event).pure / count, count)], 1e-3)


@dataclass(frozen=True)
class Made:
    """Stands in for an event of another library."""

    name: str = "a mystery"


class Subclass(LaplaceNoise):
    """A known event's subclass may mean something else."""

    __slots__ = ()


class OtherParallel(Parallel):
    """Likewise."""

    __slots__ = ()


@pytest.mark.parametrize(
    "event",
    [
        Made(),
        Subclass(name="a mystery", l1_sensitivity=1, scale=1),
        OtherParallel(name="a mystery", branches=()),
        Parallel(name="outer", branches=((Made(),),)),  # type: ignore[arg-type]  # the mistake is the test
        None,
    ],
)
def test_unknown_events_are_refused_by_name(event: Any) -> None:
    named = "'a mystery'" if isinstance(event, Made | Subclass | Parallel) else "NoneType"
    with pytest.raises(UnknownEventError, match=named) as caught:
        epsilon([laplacian(1), event])
    assert type(caught.value.event) not in {LaplaceNoise, Parallel}
    with pytest.raises(UnknownEventError, match=named):
        delta([event], 1)


def test_parallel_costs_its_most_costly_branch_in_each_measure() -> None:
    both = Parallel(name="x", branches=((laplacian(0.5), laplacian(0.2)), (laplacian(0.6),)))
    assert epsilon([both]) == pytest.approx(0.7)
    assert epsilon([both, laplacian(0.1)]) == pytest.approx(0.8)
    assert epsilon([Parallel(name="x", branches=())]) == 0
    mixed = Parallel(name="x", branches=((normal(1),), (laplacian(2),)))
    assert epsilon([mixed], DELTA) >= max(epsilon([normal(1)], DELTA), 2) - 1e-12
    assert math.isinf(epsilon([mixed]))


def test_costs_follow_their_formulas() -> None:
    selection = Selection(name="x", inverse_temperature=0.5, sensitivity=2)
    assert cost(selection).pure == 2
    assert cost(selection).rho == 0.5
    monotone = Selection(name="x", inverse_temperature=0.5, sensitivity=2, monotone=True)
    assert cost(monotone).pure == 1
    assert cost(NoisyMax(name="x", inverse_temperature=0.5, sensitivity=2)).rho == 2
    assert cost(DiscreteLaplaceNoise(name="x", l1_sensitivity=3, scale=6)).pure == 0.5
    noise = CauchyNoise(name="x", sensitivity=2, scale=1)
    assert cost(noise).pure == pytest.approx(2 * math.asinh(1))
    # The largest log-ratio of two Cauchy densities, by search.
    x = np.linspace(-10, 10, 200_001)
    assert cost(noise).pure == pytest.approx(np.log((1 + (x + 2) ** 2) / (1 + x**2)).max(), abs=1e-8)
    assert epsilon([noise]) == pytest.approx(cost(noise).pure + CAUCHY_SLACK, abs=1e-15)
    assert cost(SmoothCauchyNoise(name="x", smoothness=0.25, ratio=0.5)).pure == pytest.approx(2 * math.asinh(1) + 0.25)


def test_smooth_cauchy_noise_covers_every_shift_and_dilation() -> None:
    event = SmoothCauchyNoise(name="x", smoothness=0.2, ratio=1.5)
    x = np.linspace(-60, 60, 120_001)
    worst = 0.0
    for factor in np.exp([-0.2, -0.1, 0, 0.1, 0.2]):
        # The smaller of the two bounds limits the shift.
        shift = min(1.0, factor)
        here = -np.log(1.5) - np.log1p((x / 1.5) ** 2)
        there = -np.log(1.5 * factor) - np.log1p(((x - shift) / (1.5 * factor)) ** 2)
        worst = max(worst, float(np.abs(here - there).max()))
    assert 0.7 * cost(event).pure < worst <= cost(event).pure


def test_stated_deltas_and_slacks_add_up() -> None:
    events: list[Event] = [
        stated(1, 2, lost=1e-7),
        LaplaceNoise(name="x", l1_sensitivity=1, scale=1, slack=1e-3, count=3),
    ]
    assert math.isinf(epsilon(events))
    assert math.isinf(epsilon(events, 1e-7))
    assert epsilon(events, 3e-7) == pytest.approx(5.003)
    assert delta(events, 5.01) == pytest.approx(2e-7, rel=0.01)
    assert delta(events, 0.002) == 1
    slack = [GaussianNoise(name="x", l2_sensitivity=1, sigma=1, slack=0.5)]
    assert epsilon(slack, DELTA) > epsilon([normal(1)], DELTA) + 0.5


@pytest.mark.slow
@given(
    st.lists(
        st.one_of(
            st.builds(normal, st.floats(0.01, 2), st.integers(1, 5)),
            st.builds(laplacian, st.floats(0.001, 1), st.integers(1, 50)),
            st.builds(stated, st.floats(0, 1), st.integers(1, 5), st.sampled_from([0.0, 1e-9])),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([1e-3, 1e-6]),
)
def test_epsilon_and_delta_are_inverse_and_monotone(events: list[Event], at: float) -> None:
    found = epsilon(events, at)
    assert delta(events, found * (1 + 1e-9) + 1e-9) <= at * (1 + 1e-6)
    assert epsilon([*events, laplacian(0.1)], at) >= found
    assert epsilon(events, at / 10) >= found


def test_nothing_costs_nothing() -> None:
    assert epsilon([]) == epsilon([], DELTA) == delta([], 0) == 0
    assert epsilon([laplacian(0), normal(0)]) == 0


@pytest.mark.parametrize("at", [-1e-9, 1, math.nan])
def test_impossible_deltas_are_refused(at: float) -> None:
    with pytest.raises(InvalidMechanismError, match="delta must lie in"):
        epsilon([], at)


def test_impossible_epsilons_are_refused() -> None:
    for value in (-1, math.nan):
        with pytest.raises(InvalidMechanismError, match="epsilon must be"):
            delta([], value)


@pytest.mark.parametrize(
    "fields",
    [
        {"l1_sensitivity": -1, "scale": 1},
        {"l1_sensitivity": math.nan, "scale": 1},
        {"l1_sensitivity": 1, "scale": 0},
        {"l1_sensitivity": 1, "scale": math.inf},
        {"l1_sensitivity": 1, "scale": 1, "count": 0},
        {"l1_sensitivity": 1, "scale": 1, "count": 1.5},
        {"l1_sensitivity": 1, "scale": 1, "count": True},
        {"l1_sensitivity": 1, "scale": 1, "share": 1.5},
        {"l1_sensitivity": 1, "scale": 1, "slack": -1},
        {"l1_sensitivity": 1, "scale": 1, "name": ""},
        {"l1_sensitivity": 10**400, "scale": 1},
    ],
)
def test_impossible_events_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidMechanismError):
        LaplaceNoise(**{"name": "x", **fields})  # type: ignore[arg-type]  # the mistake is the test


def test_stated_guarantees_need_a_proof_and_a_delta_up_to_one() -> None:
    with pytest.raises(InvalidMechanismError, match="needs a proof"):
        Stated(name="x", epsilon=1)
    with pytest.raises(InvalidMechanismError, match="delta must lie in"):
        stated(1, lost=1.5)


EVENTS: list[Event] = [
    Selection(name="a tree", inverse_temperature=0.5, sensitivity=1, monotone=True, share=0.9, proof="p"),
    NoisyMax(name="a rule", inverse_temperature=0.5, sensitivity=1),
    laplacian(0.3, 2),
    DiscreteLaplaceNoise(name="x", l1_sensitivity=1, scale=3, slack=1e-9),
    normal(1),
    DiscreteGaussianNoise(name="x", l2_sensitivity=1, sigma=3),
    CauchyNoise(name="x", sensitivity=1, scale=3),
    SmoothCauchyNoise(name="x", smoothness=0.1, ratio=3),
    stated(1, lost=1e-9),
    Parallel(name="x", branches=((laplacian(1), normal(1)), ())),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_survive_plain_values(event: Event) -> None:
    assert event_from_dict(event_to_dict(event)) == event


def test_plain_values_are_read_strictly() -> None:
    good = event_to_dict(laplacian(1))
    for wrong in (
        3,
        {**good, "event": "Mystery"},
        {**good, "extra": 1},
        {key: value for key, value in good.items() if key != "scale"},
        {**good, "scale": "1"},
        {**good, "scale": True},
        {**good, "scale": 0},
        {**good, "count": 1.0},
        {**good, "name": 3},
        {**event_to_dict(EVENTS[0]), "monotone": 1},
        {**event_to_dict(EVENTS[-1]), "branches": [3]},
    ):
        with pytest.raises((InvalidMechanismError, UnknownEventError)):
            event_from_dict(wrong)
    with pytest.raises(UnknownEventError):
        event_to_dict(Made())  # type: ignore[arg-type]  # the mistake is the test
