"""Accounting: the (epsilon, delta) that a list of events has spent."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from glassine.errors import InvalidMechanismError, parameter
from glassine.privacy.conversions import (
    delta_from_mu,
    delta_from_rho,
    discrete_laplace_tail,
    epsilon_from_mu,
    epsilon_from_rho,
    least_between,
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
    RepeatedSelection,
    Selection,
    SmoothCauchyMax,
    SmoothCauchyNoise,
    Stated,
    refuse,
)
from glassine.privacy.fine_gaussian import LARGEST_EPSILON, slack_of, tail_per_value
from glassine.privacy.loss_distributions import LARGEST_SIGMA, DominatingPair, Kind, composed
from glassine.privacy.private_selection import mean_runs

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
    "RepeatedSelection",
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
    """What one event costs, in every measure at once; infinite where the measure does not apply."""

    pure: float  # Epsilon of pure differential privacy, once ``delta`` is set aside
    rho: float  # zCDP
    # Returns the square of mu of Gaussian differential privacy. It takes functions that are slow to import, and few
    # events without a delta need it.
    square: Callable[[], float]
    delta: float = 0.0  # Probability that the event states as lost
    slack: float = 0.0  # Epsilon that arithmetic may add
    valid: float = math.inf  # Largest epsilon at which the accounting by mu holds

    @property
    def mu_squared(self) -> float:
        """Square of mu of Gaussian differential privacy."""
        return self.square()


def _pure(value: float, *, bounded_range: bool = False, delta: float = 0.0) -> Cost:
    @cache
    def square_of_mu() -> float:
        mu = mu_from_pure(value)
        return mu * mu

    # Products of huge numbers are infinite, where powers of them raise an error.
    square = value * value
    # Bounded range gives epsilon^2 / 8 in zCDP (Cesar and Rogers 2021), any pure epsilon epsilon^2 / 2 (Bun and
    # Steinke 2016).
    return Cost(pure=value, rho=square / (8 if bounded_range else 2), square=square_of_mu, delta=delta)


def _selection(event: Selection | NoisyMax) -> Cost:
    # Monotone scores all move in one direction, and so does the normalizing sum: half the cost.
    value = event.inverse_temperature * event.sensitivity * (1 if event.monotone else 2)
    return _pure(value, bounded_range=isinstance(event, Selection))


def _laplace(event: LaplaceNoise | DiscreteLaplaceNoise) -> Cost:
    return _pure(event.l1_sensitivity / event.scale)


def _gaussian(event: GaussianNoise | DiscreteGaussianNoise) -> Cost:
    ratio = event.l2_sensitivity / event.sigma
    square = ratio * ratio
    if square == 0:
        return Cost(pure=0.0, rho=0.0, square=lambda: 0.0)
    if isinstance(event, GaussianNoise):
        return Cost(pure=math.inf, rho=square / 2, square=lambda: square)
    # Discrete noise is exact in zCDP. Its mu needs a tail for each value, which cannot be set aside without their
    # number.
    if not event.values:
        return Cost(pure=math.inf, rho=square / 2, square=lambda: math.inf)
    return Cost(
        pure=math.inf,
        rho=square / 2,
        square=lambda: square,
        delta=event.values * tail_per_value(),
        slack=slack_of(event.values, event.sigma),
        valid=LARGEST_EPSILON,
    )


def _gaussian_max(event: GaussianMax) -> Cost:
    lost = event.candidates * delta_from_mu(event.spread / event.sigma, event.epsilon)
    return _pure(event.epsilon, delta=min(1.0, lost))


def _count_bound(event: CountBound) -> Cost:
    return _pure(
        0.0, delta=discrete_laplace_tail(event.threshold, ((event.scale, 1), (event.other_scale, event.others)))
    )


def _repeated_selection(event: RepeatedSelection) -> Cost:
    lost = mean_runs(event.shape, event.stop) * event.delta
    return _pure((2 + event.shape) * event.epsilon, delta=min(1.0, lost))


_RULES: dict[type[Release], Callable[[Any], Cost]] = {
    Selection: _selection,
    NoisyMax: _selection,
    LaplaceNoise: _laplace,
    DiscreteLaplaceNoise: _laplace,
    GaussianNoise: _gaussian,
    DiscreteGaussianNoise: _gaussian,
    # Densities of Cauchy noise that are s apart differ in logarithm by at most 2 asinh(s / (2 scale)).
    CauchyNoise: lambda event: _pure(2 * math.asinh(event.sensitivity / (2 * event.scale))),
    SmoothCauchyNoise: lambda event: _pure(2 * math.asinh(1 / (2 * event.ratio)) + event.smoothness),
    SmoothCauchyMax: lambda event: _pure(
        event.records * (2 * math.asinh(1 / event.ratio) + event.candidates * event.smoothness)
    ),
    GaussianMax: _gaussian_max,
    RepeatedSelection: _repeated_selection,
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
        # A record is in one branch alone: the worst of them counts, not their sum.
        branches = [_sum([cost(inner) for inner in branch]) for branch in event.branches]
        return Cost(
            pure=max((branch.pure for branch in branches), default=0.0),
            rho=max((branch.rho for branch in branches), default=0.0),
            square=cache(lambda: max((branch.mu_squared for branch in branches), default=0.0)),
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
        square=cache(lambda: event.count * once.mu_squared),
        delta=event.count * once.delta,
        slack=event.count * (once.slack + event.slack),
        valid=once.valid,
    )


def _sum(costs: Iterable[Cost]) -> Cost:
    listed = list(costs)
    return Cost(
        # Correctly rounded sums: what is spent does not depend on the order of the events.
        pure=math.fsum(one.pure for one in listed),
        rho=math.fsum(one.rho for one in listed),
        square=cache(lambda: math.fsum(one.mu_squared for one in listed)),
        delta=math.fsum(one.delta for one in listed),
        slack=math.fsum(one.slack for one in listed),
        valid=min((one.valid for one in listed), default=math.inf),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Totals:
    """What a list of events costs: all of it; its events with a pure epsilon; the others; and its pairs."""

    # all, pure, rest: totals.
    all: Cost
    pure: Cost
    rest: Cost
    # Pairs that dominate the events, and how often; None where an event has none, or where Gaussian noise is all.
    pairs: tuple[tuple[DominatingPair, int], ...] | None

    @classmethod
    def of(cls, events: Iterable[Event]) -> _Totals:
        listed = list(events)
        costs = [cost(event) for event in listed]
        return cls(
            all=_sum(costs),
            pure=_sum(one for one in costs if math.isfinite(one.pure)),
            rest=_sum(one for one in costs if not math.isfinite(one.pure)),
            pairs=_listed(listed),
        )

    def curve(self, delta: float) -> Callable[[float], float] | None:
        """Return the delta at each epsilon by the distribution of the losses, where it is about the one named or more.

        One curve serves for all usual deltas, so that epsilon and delta are inverse to each other.
        """
        if not self.pairs or not 0 < delta < 1:
            return None
        # Few deltas, so that the curves can be kept: the largest that is not above the one asked for.
        return composed(self.pairs, next((least for least in _DELTAS if least <= delta), _DELTAS[-1]))


_DELTAS = (1e-10, 1e-20, 1e-40, 1e-80, 1e-160, 1e-280)
"""Deltas for which tails of the losses are cut off."""


def _listed(events: Iterable[Event]) -> tuple[tuple[DominatingPair, int], ...] | None:
    """Return the pairs of events, Gaussian ones as a single pair; None where one has none, or there is no other."""
    pairs = _pairs(events)
    if pairs is None or all(pair.kind == "gaussian" for pair in pairs):
        return None
    # Gaussian releases compose into one, exactly. Sorted, so that equal lists of events are one entry of the cache.
    mu = math.sqrt(math.fsum(count * pair.size**2 for pair, count in pairs.items() if pair.kind == "gaussian"))
    others = [(pair, count) for pair, count in pairs.items() if pair.kind != "gaussian"]
    whole = [(DominatingPair(kind="gaussian", size=mu), 1)] if mu else []
    return (*whole, *sorted(others, key=lambda item: (item[0].kind, item[0].size)))


def _pairs(events: Iterable[Event]) -> Counter[DominatingPair] | None:
    """Return how often each pair dominates a release of some events, or None where one has no pair."""
    total: Counter[DominatingPair] = Counter()
    for event in events:
        pairs = _pairs_of_branches(event) if isinstance(event, Parallel) else _pairs_of(event)
        if pairs is None:
            return None
        total += pairs
    return total


def _pairs_of(event: Release) -> Counter[DominatingPair] | None:
    once = _RULES[type(event)](event)
    if isinstance(event, DiscreteGaussianNoise) and not event.values:
        # Whole numbers whose squares add up to at most 3 are, but for signs, ones in as many places.
        square = event.l2_sensitivity * event.l2_sensitivity
        ones = next((whole for whole in (1, 2, 3) if abs(square - whole) <= 1e-9), None)
        if ones is None or not event.sigma <= LARGEST_SIGMA:
            return None
        return Counter({DominatingPair(kind="discrete gaussian", size=event.sigma): ones * event.count})
    if isinstance(event, GaussianNoise | DiscreteGaussianNoise):
        return Counter({DominatingPair(kind="gaussian", size=math.sqrt(once.mu_squared)): event.count})
    kinds: dict[type[Release], Kind] = {LaplaceNoise: "laplace", Selection: "selection"}
    return Counter({DominatingPair(kind=kinds.get(type(event), "pure"), size=once.pure): event.count})


def _pairs_of_branches(event: Parallel) -> Counter[DominatingPair] | None:
    """Return the pairs of the branches if equal, else one that dominates all of them."""
    branches = [_pairs(branch) for branch in event.branches]
    if not branches:
        return Counter()
    if branches[0] is not None and all(branch == branches[0] for branch in branches):
        return branches[0]
    once = cost(event)
    if math.isfinite(once.pure):
        return Counter({DominatingPair(kind="pure", size=once.pure): 1})
    if math.isfinite(once.mu_squared):
        return Counter({DominatingPair(kind="gaussian", size=math.sqrt(once.mu_squared)): 1})
    return None


def epsilon(events: Iterable[Event], delta: float = 0.0) -> float:
    """Return an epsilon for which the events together are (epsilon, delta)-differentially private.

    Guarantee
    ---------
    An upper bound, whichever the order of the events and however each was chosen from the results of those
    before it, as long as the list of events and their parameters is fixed in public; see ``accounting.md``. It is the
    least of five sound figures: the sum of the pure epsilons, the zCDP total, the GDP total, the pure epsilons
    plus the zCDP or GDP total of the rest, and the distribution of the losses, where all events have one. Equal to the
    tight figure for pure events at ``delta=0`` and for continuous Gaussian noise; within a hundredth of it for Laplace
    noise, randomized response and discrete Gaussian noise on counts.

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
        raise InvalidMechanismError(f"{parameter('delta')} must lie in [0, 1), got {delta}.")
    totals = _Totals.of(events)
    total = totals.all
    # The inverse of what :func:`delta` does: slack makes outputs more probable, tails of discrete noise take their
    # part.
    left = delta * math.exp(-total.slack / 2) - total.delta
    if left < 0:
        return math.inf
    # Three sound bounds: plain sums; all by one conversion; what is pure as a sum, and the rest by a conversion.
    bound = min(total.pure, _epsilon_of(total, left), totals.pure.pure + _epsilon_of(totals.rest, left))
    curve = totals.curve(left)
    if curve is not None and math.isfinite(bound) and curve(bound) <= left:
        by_losses = least_between(lambda epsilon: curve(epsilon) <= left, bound)
        # Beyond ``valid`` the tails of discrete noise are not bounded.
        bound = by_losses if by_losses <= total.valid else bound
    return bound + total.slack


def delta(events: Iterable[Event], epsilon: float) -> float:
    """Return a delta for which the events together are (epsilon, delta)-differentially private.

    Guarantee and errors are those of :func:`epsilon`.

    Examples
    --------
    >>> round(delta([GaussianNoise(name="sums", l2_sensitivity=1, sigma=1)], 1.0), 6)
    0.126937
    """
    if not epsilon >= 0:
        raise InvalidMechanismError(f"{parameter('epsilon')} must be at least 0, got {epsilon}.")
    totals = _Totals.of(events)
    total = totals.all
    left = epsilon - total.slack
    if left < 0:
        return 1.0
    # Outputs whose probability is off by exp(slack / 2) may hold that much more of delta.
    factor = math.exp(min(700.0, total.slack / 2))
    if total.pure <= left:
        return min(1.0, total.delta * factor)
    bound = _delta_of(total, left)
    if totals.pure.pure <= left:
        bound = min(bound, _delta_of(totals.rest, left - totals.pure.pure))
    # From coarse to fine: a curve whose tails are cut off at a delta says nothing below it.
    for least in _DELTAS:
        curve = totals.curve(least) if left <= total.valid else None
        bound = bound if curve is None else min(bound, curve(left))
        if bound >= least:
            break
    return min(1.0, (bound + total.delta) * factor)


def _epsilon_of(spent: Cost, delta: float) -> float:
    by_rho = epsilon_from_rho(spent.rho, delta)
    if delta == 0 and spent.rho > 0:
        # Infinite by mu as well, which need not be formed.
        return by_rho
    by_mu = epsilon_from_mu(math.sqrt(spent.mu_squared), delta)
    return min(by_rho, by_mu if by_mu <= spent.valid else math.inf)


def _delta_of(spent: Cost, epsilon: float) -> float:
    by_mu = delta_from_mu(math.sqrt(spent.mu_squared), epsilon) if epsilon <= spent.valid else 1.0
    return min(delta_from_rho(spent.rho, epsilon), by_mu)
