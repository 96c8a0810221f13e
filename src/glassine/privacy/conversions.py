"""Conversions between (epsilon, delta), Gaussian differential privacy (mu) and zero-concentrated privacy (rho)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy

from glassine.errors import InvalidMechanismError, parameter

# Tails of sums of discrete Laplace noise: how likely a noisy count exceeds the true one by so much.


ROUNDING = 1 + 1e-9
"""Covers the rounding of a few logarithms."""

STEPS = 80
"""Bisections of the exponent; every exponent gives a sound bound."""

Terms = Sequence[tuple[float, int]]


def discrete_laplace_tail(threshold: int, terms: Terms) -> float:
    """Return a bound on the probability that a sum of discrete Laplace variables is at least a threshold.

    One variable of scale b is at least t with probability ``q**t / (1 + q)``, q = exp(-1 / b), which is returned. For
    several the bound is Chernoff's, with the best exponent.

    Parameters
    ----------
    threshold : int
        At least 1.
    terms : sequence of (float, int)
        Scales, and how many variables have each; the signs of symmetric variables do not matter.

    Raises
    ------
    InvalidMechanismError
        If the threshold is below 1, a scale is not positive, or there is no variable.

    Examples
    --------
    >>> round(discrete_laplace_tail(10, [(2.0, 1)]), 6)
    0.004194
    """
    kept = [(float(scale), int(number)) for scale, number in terms if number > 0]
    if not threshold >= 1 or not kept or not all(0 < scale < math.inf for scale, _ in kept):
        raise InvalidMechanismError(
            f"a tail needs a threshold of at least 1 and positive scales, got {threshold} and {kept}.",
            remedy="Add some noise.",
        )
    if sum(number for _, number in kept) == 1:
        # Of one variable the tail is known exactly: exp(-t / scale) / (1 + exp(-1 / scale)).
        rate = 1 / kept[0][0]
        return min(1.0, math.exp(-rate * threshold) / (1 + math.exp(-rate)) * ROUNDING)
    # The moment generating function is finite below the smallest rate; at it the logarithm is not.
    low, high = 0.0, min(1 / scale for scale, _ in kept) * (1 - 1e-12)
    for _ in range(STEPS):
        middle = low + (high - low) / 2
        low, high = (middle, high) if _slope(middle, threshold, kept) < 0 else (low, middle)
    return min(1.0, math.exp(_exponent(low + (high - low) / 2, threshold, kept)) * ROUNDING)


def least_threshold(probability: float, terms: Terms) -> int:
    """Return the least threshold that the sum reaches with at most a probability, by the bound.

    Raises
    ------
    InvalidMechanismError
        If the probability is not in (0, 1), or as :func:`discrete_laplace_tail`.

    Examples
    --------
    >>> least_threshold(1e-6, [(2.0, 1)]), least_threshold(1e-6, [(2.0, 4)])
    (27, 45)
    """
    if not 0 < probability < 1:
        raise InvalidMechanismError(
            f"a probability must lie in (0, 1), got {probability}.", remedy="Give a share of delta."
        )
    high = 1
    # The bound falls as the threshold grows: doubling finds an upper end, bisection the least one.
    while discrete_laplace_tail(high, terms) > probability:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if discrete_laplace_tail(middle, terms) <= probability else (middle, high)
    return high


def _exponent(rate: float, threshold: int, terms: Terms) -> float:
    """Return the logarithm of Chernoff's bound at one exponent: that of exp(-rate t) E exp(rate Z)."""
    total = -rate * threshold
    for scale, number in terms:
        own = 1 / scale
        total += number * (
            2 * math.log(-math.expm1(-own)) - math.log(-math.expm1(rate - own)) - math.log(-math.expm1(-rate - own))
        )
    return total


def _slope(rate: float, threshold: int, terms: Terms) -> float:
    total = -float(threshold)
    for scale, number in terms:
        own = 1 / scale
        total += number * (_odds(own - rate) - _odds(own + rate))
    return total


def _odds(rate: float) -> float:
    """Return 1 / (exp(rate) - 1), without overflow."""
    return math.exp(-rate) / -math.expm1(-rate)


def _check(value: float, name: str) -> None:
    if not value >= 0:
        raise InvalidMechanismError(f"{parameter(name)} must be at least 0, got {value}.")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InvalidMechanismError(f"{parameter('delta')} must lie in (0, 1) for this conversion, got {delta}.")


def delta_from_mu(mu: float, epsilon: float) -> float:
    """Return the least delta for which mu-GDP gives (epsilon, delta).

    References
    ----------
    Dong, Roth and Su (2022), Gaussian differential privacy; Balle and Wang (2018), Theorem 8.

    Examples
    --------
    >>> round(delta_from_mu(1.0, 1.0), 6)
    0.126937
    """
    _check(mu, "mu")
    _check(epsilon, "epsilon")
    if mu == 0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    # In logarithms: exp(epsilon) alone may overflow, and the two parts may be nearly equal.
    first = float(scipy.special.log_ndtr(mu / 2 - epsilon / mu))
    second = float(scipy.special.log_ndtr(-mu / 2 - epsilon / mu)) + epsilon
    return math.exp(first) * -math.expm1(min(0.0, second - first))


def epsilon_from_mu(mu: float, delta: float) -> float:
    """Return the least epsilon for which mu-GDP gives (epsilon, delta); infinite where delta is 0 and mu is not.

    Examples
    --------
    >>> round(epsilon_from_mu(1.0, 1e-6), 4)
    4.8866
    """
    _check(mu, "mu")
    if mu == 0:
        return 0.0
    if math.isinf(mu) or delta == 0:
        return math.inf
    _check_delta(delta)
    return _least(lambda epsilon: delta_from_mu(mu, epsilon) <= delta)


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-GDP gives (epsilon, delta)."""
    _check(epsilon, "epsilon")
    _check_delta(delta)
    return _largest(lambda mu: delta_from_mu(mu, epsilon) <= delta)


def mu_from_pure(epsilon: float) -> float:
    """Return the least mu for which every epsilon-differentially private mechanism is mu-GDP.

    References
    ----------
    Liu, Sun, Jiang and Kong (2022), Identification, amplification and measurement: a bridge to Gaussian differential
    privacy; proved in ``accounting.md``.

    Examples
    --------
    >>> round(mu_from_pure(1.0), 4)
    1.232
    """
    _check(epsilon, "epsilon")
    # Two forms of -2 quantile(1 / (1 + exp(epsilon))): each is accurate on its side.
    if epsilon < 1:
        return 2 * math.sqrt(2) * float(scipy.special.erfinv(math.tanh(epsilon / 2)))
    return -2 * float(scipy.special.ndtri_exp(-float(np.logaddexp(0.0, epsilon))))


def gaussian_sigma(epsilon: float, delta: float, l2_sensitivity: float) -> float:
    """Return the least standard deviation of Gaussian noise that gives (epsilon, delta).

    Examples
    --------
    >>> round(gaussian_sigma(1.0, 1e-6, 1.0), 4)
    4.2247
    """
    if not l2_sensitivity > 0:
        raise InvalidMechanismError(f"{parameter('l2_sensitivity')} must be positive, got {l2_sensitivity}.")
    return l2_sensitivity / mu_from_epsilon(epsilon, delta)


# The order alpha on a logarithmic grid: every order gives a sound bound, a finer grid a tighter one.
_LOG_ORDERS = np.linspace(-25.0, 25.0, 4001)


def _log_delta(log_orders: np.ndarray, rho: float, epsilon: float) -> np.ndarray:
    """Natural logarithm of delta at each order ``alpha = 1 + exp(log_orders)``."""
    excess, log_order = np.exp(log_orders), np.logaddexp(0.0, log_orders)
    exponent: np.ndarray = excess * ((1 + excess) * rho - epsilon) + excess * (log_orders - log_order) - log_order
    return exponent


def _least_over_orders(bounds: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the least of the bounds at all orders, on a grid that is twice made finer around the best."""
    # Every order is sound: a finer grid only tightens the bound.
    grid = _LOG_ORDERS
    for _ in range(2):
        best, step = int(np.argmin(bounds(grid))), grid[1] - grid[0]
        grid = np.linspace(grid[best] - step, grid[best] + step, 401)
    return float(bounds(grid).min())


def delta_from_rho(rho: float, epsilon: float) -> float:
    """Return a delta for which rho-zCDP gives (epsilon, delta).

    References
    ----------
    Canonne, Kamath and Steinke (2020), Corollary 13.
    """
    _check(rho, "rho")
    _check(epsilon, "epsilon")
    if rho == 0:
        return 0.0
    if math.isinf(rho):
        return 1.0
    return math.exp(min(0.0, _least_over_orders(lambda log_orders: _log_delta(log_orders, rho, epsilon))))


def epsilon_from_rho(rho: float, delta: float) -> float:
    """Return an epsilon for which rho-zCDP gives (epsilon, delta); infinite where delta is 0 and rho is not.

    Examples
    --------
    >>> round(epsilon_from_rho(0.5, 1e-6), 4)
    5.2215
    """
    _check(rho, "rho")
    if rho == 0:
        return 0.0
    if math.isinf(rho) or delta == 0:
        return math.inf
    _check_delta(delta)
    # The bound is linear in epsilon at each order, so that it can be solved for epsilon.
    return max(
        0.0,
        _least_over_orders(
            lambda log_orders: (_log_delta(log_orders, rho, 0.0) - math.log(delta)) / np.exp(log_orders)
        ),
    )


def _least(holds: Callable[[float], bool]) -> float:
    """Return the least x >= 0 from which a property holds, rounded up by about an ulp."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    return _bisect(holds, low, high)[1]


def least_between(holds: Callable[[float], bool], high: float) -> float:
    """Return the least x in [0, high] from which on a property holds, which it does at ``high``, erring upwards."""
    return 0.0 if holds(0.0) else _bisect(holds, 0.0, high)[1]


def _largest(holds: Callable[[float], bool]) -> float:
    """Return the largest x > 0 with a property up to x, rounded down by about an ulp."""
    low, high = 1.0, 2.0
    while holds(high):
        low, high = high, 2 * high
    while not holds(low):
        low, high = low / 2, low
        if not low > 0:
            return 0.0
    return _bisect(lambda x: not holds(x), low, high)[0]


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Narrow an interval at whose upper end alone a property holds, to neighboring floats."""
    # Ends where no float lies between the two: no tolerance is to be chosen.
    while low < (middle := low + (high - low) / 2) < high:
        if holds(middle):
            high = middle
        else:
            low = middle
    return low, high
