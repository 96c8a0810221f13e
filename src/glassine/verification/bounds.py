"""Lower bounds on privacy parameters from the error rates of a test, valid in finite samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from glassine.errors import InvalidParameterError, parameter
from glassine.records.arrays import Array, Bools

__all__ = [
    "EpsilonBound",
    "GaussianBound",
    "TradeOffBand",
    "TradeOffBound",
    "check_probability",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "delta_lower_bound",
    "odds_bound",
    "trade_off_band",
]

HALVINGS = 60
"""Steps of a bisection: from any interval to far below the width of a confidence interval."""


def clopper_pearson_upper(successes: npt.ArrayLike, trials: npt.ArrayLike, alpha: float) -> Array:
    """Return upper confidence limits of probabilities, one-sided, elementwise.

    Guarantee
    ---------
    Each limit lies below its probability with probability at most ``alpha``, for independent trials and any
    number of them; see ``bounds.md``.

    Examples
    --------
    >>> round(float(clopper_pearson_upper(0, 1000, 0.025)), 5)
    0.00368
    """
    k, n = _counts(successes, trials)
    check_probability(alpha, "alpha")
    with np.errstate(invalid="ignore"):
        limit = special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - alpha)
        # 1 - alpha loses what is small of alpha: the mirror image keeps it.
        limit = np.where(alpha < 1e-3, 1 - special.betaincinv(np.maximum(n - k, 1), k + 1, alpha), limit)
    return np.asarray(np.where(k >= n, 1.0, limit), dtype=np.float64)


def clopper_pearson_lower(successes: npt.ArrayLike, trials: npt.ArrayLike, alpha: float) -> Array:
    """Return lower confidence limits of probabilities, one-sided, elementwise.

    Guarantee
    ---------
    Each limit lies above its probability with probability at most ``alpha``; see ``bounds.md``.

    Examples
    --------
    >>> round(float(clopper_pearson_lower(1000, 1000, 0.025)), 5)
    0.99632
    """
    k, n = _counts(successes, trials)
    check_probability(alpha, "alpha")
    limit = special.betaincinv(np.maximum(k, 1), n - k + 1, alpha)
    return np.asarray(np.where(k <= 0, 0.0, limit), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonBound:
    """Lower bound on epsilon at a delta.

    With (epsilon, delta) every test satisfies ``false_positive_rate * exp(epsilon) + false_negative_rate >= 1 - delta``
    and the same with the two rates exchanged (Kairouz, Oh and Viswanath 2015, Theorem 2.1).

    Examples
    --------
    >>> EpsilonBound().values(np.array([0.1]), np.array([0.2])).round(4)
    array([2.0794])
    """

    delta: float = 0.0  # In [0, 1)

    def __post_init__(self) -> None:
        check_probability(self.delta, "delta", zero=True)

    @property
    def parameter(self) -> str:
        """Epsilon."""
        return "epsilon"

    @property
    def method(self) -> str:
        """How the bound follows."""
        return f"ratio of probabilities at delta = {self.delta:g}"

    def values(self, false_positive_rate: Array, false_negative_rate: Array) -> Array:
        """Return the least epsilon, elementwise."""
        a, b = _rates(false_positive_rate, false_negative_rate)
        mass = 1 - self.delta
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.where(mass - b > 0, np.log(np.maximum(mass - b, 0)) - np.log(a), 0.0)
            other = np.where(mass - a > 0, np.log(np.maximum(mass - a, 0)) - np.log(b), 0.0)
        return np.asarray(np.maximum(0.0, np.maximum(one, other)), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianBound:
    """Lower bound on mu of Gaussian differential privacy (Dong, Roth and Su 2022, Definition 2.6).

    A claim of mu-GDP is tested without any assumption. What it says of epsilon supposes that the mechanism's trade-off
    curve is that of a Gaussian.

    Examples
    --------
    >>> GaussianBound().values(np.array([0.158655]), np.array([0.158655])).round(4)
    array([2.])
    """

    @property
    def parameter(self) -> str:
        """Mu."""
        return "mu"

    @property
    def method(self) -> str:
        """How the bound follows."""
        return "trade-off curve of the Gaussian mechanism"

    def values(self, false_positive_rate: Array, false_negative_rate: Array) -> Array:
        """Return the least mu, elementwise."""
        a, b = _rates(false_positive_rate, false_negative_rate)
        with np.errstate(invalid="ignore"):
            mu = -special.ndtri(a) - special.ndtri(b)
        # Not a number where one rate is 0 and the other 1: the trivial test.
        return np.asarray(np.where(mu > 0, mu, 0.0), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOffBound:
    """Lower bound on the parameter of any family of trade-off curves.

    Examples
    --------
    Laplace noise of scale ``1 / theta`` on a count:

    >>> def laplace(theta, rate):
    ...     small = 1 - np.exp(theta) * rate
    ...     middle = np.exp(-theta) / (4 * np.maximum(rate, 1e-300))
    ...     large = np.exp(-theta) * (1 - rate)
    ...     return np.where(rate < np.exp(-theta) / 2, small, np.where(rate <= 0.5, middle, large))
    >>> TradeOffBound(curve=laplace, parameter="theta").values(np.array([0.1]), np.array([0.1])).round(4)
    array([3.2189])
    """

    # From arrays of parameters and of false positive rates to least false negative rates. It must fall in both.
    curve: Callable[[Array, Array], Array]
    parameter: str = "theta"  # Name of the parameter
    highest: float = 50.0  # Largest parameter that is looked at; the bound stops there

    @property
    def method(self) -> str:
        """How the bound follows."""
        return f"family of trade-off curves with the parameter {self.parameter}"

    def values(self, false_positive_rate: Array, false_negative_rate: Array) -> Array:
        """Return the largest parameter that is still rejected, elementwise; 0 where none is."""
        a, b = _rates(false_positive_rate, false_negative_rate)
        low, high = np.zeros(a.shape), np.full(a.shape, float(self.highest))
        low = np.where(self._rejected(high, a, b), high, low)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            rejected = self._rejected(middle, a, b)
            low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
        return np.asarray(low, dtype=np.float64)

    def _rejected(self, parameter: Array, a: Array, b: Array) -> Bools:
        # The guarantee holds for both orders of the two datasets.
        return np.asarray((b < self.curve(parameter, a)) | (a < self.curve(parameter, b)), dtype=np.bool_)


def delta_lower_bound(false_positive_rate: float, false_negative_rate: float, epsilon: float) -> float:
    """Return the least delta with which a test of at most these error rates can exist at an epsilon.

    Examples
    --------
    >>> round(delta_lower_bound(0.01, 0.6, 1.0), 4)
    0.3728
    """
    if not 0 <= epsilon < math.inf:
        raise InvalidParameterError(f"{parameter('epsilon')} must be a finite number of at least 0, got {epsilon!r}.")
    a, b = (float(rate) for rate in _rates(np.array(false_positive_rate), np.array(false_negative_rate)))
    grown = math.exp(min(epsilon, 700.0))
    return max(0.0, 1 - b - grown * a, 1 - a - grown * b)


def odds_bound(right: npt.ArrayLike, wrong: npt.ArrayLike, alpha: float) -> Array:
    """Return lower bounds on epsilon from guesses of fair coins, elementwise.

    Guarantee
    ---------
    Each bound lies above the true epsilon with probability at most ``alpha``, if each run's dataset was chosen by a
    fair coin and the guesses follow from the outputs; see ``bounds.md``.

    Examples
    --------
    >>> round(float(odds_bound(270, 75, 0.05)), 3)
    1.061
    """
    correct, errors = np.asarray(right, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    share = clopper_pearson_lower(correct, correct + errors, alpha)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(0.0, special.logit(share)), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOffBand:
    """Upper limits of the error rates of all tests "score at least t" at once.

    Guarantee
    ---------
    With probability at least ``confidence`` no error rate of any threshold lies above its limit; see ``bounds.md``.
    """

    # false_positive_rates, false_negative_rates: limits at each threshold.
    false_positive_rates: Array
    false_negative_rates: Array
    thresholds: Array  # The observed scores, and infinity
    confidence: float  # Of all limits together
    method: str = "one-sided DKW bands of both distribution functions"  # How they were found

    def epsilon(self, delta: float = 0.0) -> float:
        """Return a lower bound on epsilon at a delta, over all thresholds."""
        bound = EpsilonBound(delta=delta)
        return float(bound.values(self.false_positive_rates, self.false_negative_rates).max())

    def mu(self) -> float:
        """Return a lower bound on mu, over all thresholds."""
        return float(GaussianBound().values(self.false_positive_rates, self.false_negative_rates).max())

    def rejects(self, curve: Callable[[Array], Array]) -> bool:
        """Whether a claimed trade-off curve, non-increasing, lies above the limits anywhere, in either order."""
        a, b = self.false_positive_rates, self.false_negative_rates
        return bool(((b < curve(a)) | (a < curve(b))).any())


def trade_off_band(scores0: npt.ArrayLike, scores1: npt.ArrayLike, *, confidence: float = 0.95) -> TradeOffBand:
    """Return a band of the trade-off curve of a score that was fixed before the runs.

    References
    ----------
    Massart (1990), The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality.

    Examples
    --------
    >>> band = trade_off_band([0.0] * 1000, [1.0] * 1000)
    >>> round(band.epsilon(), 2)
    3.1
    """
    check_probability(confidence, "confidence")
    first, second = (np.sort(np.asarray(scores, dtype=np.float64), axis=None) for scores in (scores0, scores1))
    if not (first.size and second.size) or np.isnan(first).any() or np.isnan(second).any():
        raise InvalidParameterError(
            f"{parameter('scores')} must be numbers, at least one for each dataset.", remedy="Drop or replace NaN."
        )
    # Half of the error probability for each side, a level at which Massart's constant holds.
    log = math.log(2 / (1 - confidence))
    thresholds = np.append(np.unique(np.concatenate([first, second])), np.inf)
    positives = 1 - np.searchsorted(first, thresholds, side="left") / first.size
    negatives = np.searchsorted(second, thresholds, side="left") / second.size
    return TradeOffBand(
        false_positive_rates=np.minimum(1.0, positives + math.sqrt(log / (2 * first.size))),
        false_negative_rates=np.minimum(1.0, negatives + math.sqrt(log / (2 * second.size))),
        thresholds=thresholds,
        confidence=confidence,
    )


def check_probability(value: float, name: str, *, zero: bool = False) -> None:
    """Raise unless a value lies in (0, 1), or [0, 1)."""
    if not (0 < value < 1 or (zero and value == 0)):
        interval = "[0, 1)" if zero else "(0, 1)"
        raise InvalidParameterError(f"{parameter(name)} must lie in {interval}, got {value!r}.")


def _rates(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Array, Array]:
    rates = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    for rate in rates:
        if not ((rate >= 0) & (rate <= 1)).all():
            raise InvalidParameterError("error rates must lie in [0, 1], got one that does not.")
    return rates


def _counts(successes: npt.ArrayLike, trials: npt.ArrayLike) -> tuple[Array, Array]:
    k, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    if not ((k >= 0) & (k <= n)).all():
        raise InvalidParameterError(
            f"{parameter('successes')} must be between 0 and the number of trials, got one that is not."
        )
    return k, n
