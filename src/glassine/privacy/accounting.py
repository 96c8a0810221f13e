"""Accounting: the (epsilon, delta) that a list of events has spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from glassine.errors import InvalidMechanismError
from glassine.privacy.conversions import (
    delta_from_mu,
    delta_from_rho,
    epsilon_from_mu,
    epsilon_from_rho,
    mu_from_pure,
)
from glassine.privacy.events import (
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
    Release,
    Selection,
    SmoothCauchyMax,
    SmoothCauchyNoise,
    Stated,
    refuse,
)
from glassine.privacy.fine_gaussian import LARGEST_EPSILON, slack_per_value, tail_per_value
from glassine.privacy.tails import discrete_laplace_tail

__all__ = [
    "CauchyNoise",
    "Cost",
    "CountBound",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "Event",
    "GaussianMax",
    "GaussianNoise",
    "LaplaceNoise",
    "NoisyMax",
    "Parallel",
    "Selection",
    "SmoothCauchyMax",
    "SmoothCauchyNoise",
    "Stated",
    "cost",
    "delta",
    "epsilon",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one event costs, in every measure at once; infinite where the measure does not apply.

    Attributes
    ----------
    pure : float
        Epsilon of pure differential privacy, once ``delta`` is set aside.
    rho : float
        zCDP.
    mu_squared : float
        Square of mu of Gaussian differential privacy.
    delta : float
        Probability that the event states as lost.
    slack : float
        Epsilon that arithmetic may add.
    valid : float
        Largest epsilon at which the accounting by mu holds.
    """

    pure: float
    rho: float
    mu_squared: float
    delta: float = 0.0
    slack: float = 0.0
    valid: float = math.inf


def _pure(value: float, *, bounded_range: bool = False, delta: float = 0.0) -> Cost:
    # Products of huge numbers are infinite, where powers of them raise an error.
    square, mu = value * value, mu_from_pure(value)
    return Cost(pure=value, rho=square / (8 if bounded_range else 2), mu_squared=mu * mu, delta=delta)


def _selection(event: Selection | NoisyMax) -> Cost:
    value = event.inverse_temperature * event.sensitivity * (1 if event.monotone else 2)
    return _pure(value, bounded_range=isinstance(event, Selection))


def _laplace(event: LaplaceNoise | DiscreteLaplaceNoise) -> Cost:
    return _pure(event.l1_sensitivity / event.scale)


def _gaussian(event: GaussianNoise | DiscreteGaussianNoise) -> Cost:
    ratio = event.l2_sensitivity / event.sigma
    square = ratio * ratio
    if square == 0:
        return Cost(pure=0.0, rho=0.0, mu_squared=0.0)
    if isinstance(event, GaussianNoise):
        return Cost(pure=math.inf, rho=square / 2, mu_squared=square)
    if not event.values:
        return Cost(pure=math.inf, rho=square / 2, mu_squared=math.inf)
    return Cost(
        pure=math.inf,
        rho=square / 2,
        mu_squared=square,
        delta=event.values * tail_per_value(),
        slack=event.values * slack_per_value(event.sigma),
        valid=LARGEST_EPSILON,
    )


def _gaussian_max(event: GaussianMax) -> Cost:
    lost = event.candidates * delta_from_mu(event.spread / event.sigma, event.epsilon)
    return _pure(event.epsilon, delta=min(1.0, lost))


def _count_bound(event: CountBound) -> Cost:
    return _pure(
        0.0, delta=discrete_laplace_tail(event.threshold, ((event.scale, 1), (event.other_scale, event.others)))
    )


_RULES: dict[type[Release], Callable[[Any], Cost]] = {
    Selection: _selection,
    NoisyMax: _selection,
    LaplaceNoise: _laplace,
    DiscreteLaplaceNoise: _laplace,
    GaussianNoise: _gaussian,
    DiscreteGaussianNoise: _gaussian,
    CauchyNoise: lambda event: _pure(2 * math.asinh(event.sensitivity / (2 * event.scale))),
    SmoothCauchyNoise: lambda event: _pure(2 * math.asinh(1 / (2 * event.ratio)) + event.smoothness),
    SmoothCauchyMax: lambda event: _pure(
        event.records * (2 * math.asinh(1 / event.ratio) + event.candidates * event.smoothness)
    ),
    GaussianMax: _gaussian_max,
    CountBound: _count_bound,
    Stated: lambda event: _pure(event.epsilon, delta=event.delta),
}


def cost(event: Event) -> Cost:
    """Return what an event costs, its self-composition included.

    Raises
    ------
    UnknownEventError
        If there is no rule for its exact type; subclasses of known events are unknown.
    """
    if type(event) is Parallel:
        branches = [_sum([cost(inner) for inner in branch]) for branch in event.branches]
        return Cost(
            pure=max((branch.pure for branch in branches), default=0.0),
            rho=max((branch.rho for branch in branches), default=0.0),
            mu_squared=max((branch.mu_squared for branch in branches), default=0.0),
            delta=max((branch.delta for branch in branches), default=0.0),
            slack=max((branch.slack for branch in branches), default=0.0),
            valid=min((branch.valid for branch in branches), default=math.inf),
        )
    if isinstance(event, Parallel) or type(event) not in _RULES:
        raise refuse(event)
    once = _RULES[type(event)](event)
    return Cost(
        pure=event.count * once.pure,
        rho=event.count * once.rho,
        mu_squared=event.count * once.mu_squared,
        delta=event.count * once.delta,
        slack=event.count * (once.slack + event.slack),
        valid=once.valid,
    )


def _sum(costs: Iterable[Cost]) -> Cost:
    listed = list(costs)
    return Cost(
        pure=math.fsum(one.pure for one in listed),
        rho=math.fsum(one.rho for one in listed),
        mu_squared=math.fsum(one.mu_squared for one in listed),
        delta=math.fsum(one.delta for one in listed),
        slack=math.fsum(one.slack for one in listed),
        valid=min((one.valid for one in listed), default=math.inf),
    )


def _totals(events: Iterable[Event]) -> tuple[Cost, float, Cost]:
    """Return the total; the pure epsilon of the events that have one; and the total of the others."""
    costs = [cost(event) for event in events]
    finite = [one for one in costs if math.isfinite(one.pure)]
    rest = [one for one in costs if not math.isfinite(one.pure)]
    return _sum(costs), math.fsum(one.pure for one in finite), _sum(rest)


def epsilon(events: Iterable[Event], delta: float = 0.0) -> float:
    """Return an epsilon for which the events together are (epsilon, delta)-differentially private.

    Guarantee
    ---------
    An upper bound, whichever the order of the events and however each was chosen from the results of those
    before it, as long as the list of events and their parameters is fixed in public; see ``accounting.md``. It is the
    least of four sound figures: the sum of the pure epsilons, the zCDP total, the GDP total, and the pure epsilons
    plus the zCDP or GDP total of the rest. Equal to the tight figure for pure events at ``delta=0`` and for
    continuous Gaussian noise.

    Parameters
    ----------
    events : iterable of Event
        Everything that was released.
    delta : float, default=0
        In [0, 1).

    Returns
    -------
    float
        Infinite when no epsilon holds at this delta.

    Raises
    ------
    InvalidMechanismError
        If ``delta`` is not in [0, 1).
    UnknownEventError
        If there is no rule for an event; the message names it.

    Examples
    --------
    >>> epsilon([LaplaceNoise(name="counts", l1_sensitivity=1, scale=4, count=2)])
    0.5
    >>> round(epsilon([GaussianNoise(name="sums", l2_sensitivity=1, sigma=1)], delta=1e-6), 4)
    4.8866
    """
    if not 0 <= delta < 1:
        raise InvalidMechanismError(f"delta must lie in [0, 1), got {delta}.")
    total, pure, rest = _totals(events)
    left = delta * math.exp(-total.slack / 2) - total.delta
    if left < 0:
        return math.inf
    found = min(
        total.pure,
        _epsilon_of(total, left),
        pure + _epsilon_of(rest, left),
    )
    return found + total.slack


def delta(events: Iterable[Event], epsilon: float) -> float:
    """Return a delta for which the events together are (epsilon, delta)-differentially private.

    Guarantee and errors are those of :func:`epsilon`.

    Examples
    --------
    >>> round(delta([GaussianNoise(name="sums", l2_sensitivity=1, sigma=1)], 1.0), 6)
    0.126937
    """
    if not epsilon >= 0:
        raise InvalidMechanismError(f"epsilon must be at least 0, got {epsilon}.")
    total, pure, rest = _totals(events)
    left = epsilon - total.slack
    if left < 0:
        return 1.0
    # Outputs whose probability is off by exp(slack / 2) may hold that much more of delta.
    factor = math.exp(min(700.0, total.slack / 2))
    if total.pure <= left:
        return min(1.0, total.delta * factor)
    found = _delta_of(total, left)
    if pure <= left:
        found = min(found, _delta_of(rest, left - pure))
    return min(1.0, (found + total.delta) * factor)


def _epsilon_of(spent: Cost, delta: float) -> float:
    by_mu = epsilon_from_mu(math.sqrt(spent.mu_squared), delta)
    return min(epsilon_from_rho(spent.rho, delta), by_mu if by_mu <= spent.valid else math.inf)


def _delta_of(spent: Cost, epsilon: float) -> float:
    by_mu = delta_from_mu(math.sqrt(spent.mu_squared), epsilon) if epsilon <= spent.valid else 1.0
    return min(delta_from_rho(spent.rho, epsilon), by_mu)
