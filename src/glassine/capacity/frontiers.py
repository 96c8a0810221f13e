"""Mean advantage against any attack, from bits per person: fresh records, a design, and strata of a design."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from glassine.capacity.divergences import LN2, SLACK, entropy, information_of_shift, kl_of_shift, log_odds
from glassine.errors import InvalidParameterError, check_whole, parameter, quoted

Curve = Callable[[float], tuple[float, float]]
"""Bits that an advantage needs, and their slope; convex and increasing from 0."""

_STEPS = 200
"""Most steps of a bisection: doubles have 53 bits, and exponents down to -1,074."""


def fresh_advantage(bits_per_person: float) -> float:
    """Return the largest mean advantage of an attack that separates training records from fresh ones.

    Guarantee
    ---------
    If the records are independent and sum_i I(X_i; M) is at most n times the bits, then no attack has a mean advantage
    (true less false positive rate) above the result. See ``frontiers.md``.

    Parameters
    ----------
    bits_per_person : float
        Bits of the release per person, at least 0.

    Returns
    -------
    float
        In [0, 1], rounded up.

    Examples
    --------
    >>> round(fresh_advantage(0.01), 4), round(fresh_advantage(1), 4)
    (0.0588, 0.5648)
    """
    bits = check_bits(bits_per_person, "bits_per_person")
    # Bretagnolle and Huber's bound is above the frontier, and it is below 1.
    return _largest(fresh_curve, bits, math.sqrt(-math.expm1(-bits * LN2)))


def design_advantage(bits_per_person: float, rate: float = 0.5) -> float:
    """Return the largest mean advantage of an attack on membership in a sample from a known frame.

    Guarantee
    ---------
    If each person of the frame is a member with probability ``rate``, and sum_i I(U_i; M) is at most N times the bits,
    then no attack has a mean advantage above the result. See ``frontiers.md``.

    Parameters
    ----------
    bits_per_person : float
        Bits per person of the frame, at least 0.
    rate : float, default=0.5
        The one sampling rate of everyone, in (0, 1). For several rates see :func:`strata_advantage`.

    Returns
    -------
    float
        In [0, 1], rounded up.

    Examples
    --------
    >>> round(design_advantage(0.01), 4)
    0.1176
    """
    bits, rate = check_bits(bits_per_person, "bits_per_person"), check_rate(rate)
    if bits >= entropy(rate):
        return 1.0
    start = min(1.0, math.sqrt(LN2 * bits / (2 * rate * (1 - rate))))
    return _largest(lambda t: design_curve(t, rate), bits, start)


def strata_advantage(bits: float, sizes: Sequence[int], rates: Sequence[float]) -> float:
    """Return the largest mean advantage over the persons of a frame that was sampled at several rates.

    Guarantee
    ---------
    As for :func:`design_advantage`, with the rate of each stratum. The bits are those of the whole frame. See
    ``frontiers.md``.

    Parameters
    ----------
    bits : float
        Bound on sum_i I(U_i; M) over all persons.
    sizes : sequence of int
        Persons of each stratum.
    rates : sequence of float
        Sampling rate of each stratum, in (0, 1).

    Returns
    -------
    float
        In [0, 1], rounded up.

    Examples
    --------
    One rate for all, n / N, would be wrong: it allows 0.1025 for a model that gives away the second stratum.

    >>> strata_advantage(0.5 * 1000 * entropy(0.001), [500, 500], [0.5, 0.001]) >= 0.5
    True
    """
    bits = check_bits(bits, "bits")
    if not sizes or len(sizes) != len(rates):
        raise InvalidParameterError(
            f"{parameter('sizes')} and {parameter('rates')} must have one entry per stratum, got {len(sizes)} and "
            f"{len(rates)}."
        )
    persons = [check_whole(size, "sizes", 1, 10**12) for size in sizes]
    strata = list(zip(persons, map(check_rate, rates), strict=True))
    total = sum(persons)
    if bits >= sum(size * entropy(rate) for size, rate in strata):
        return 1.0
    # Weak duality: for every price of a bit, the sum of t_i is at most price * bits + sum max_t (t - price * F(t)).
    bound, slopes = float(total), (1e-6, math.inf)
    slope = 1.0
    for _ in range(_STEPS):
        at = [_at_slope(slope, rate) for _, rate in strata]
        spent = [design_curve(t, rate)[0] for t, (_, rate) in zip(at, strata, strict=True)]
        gain = sum(size * (t - used / slope) for (size, _), t, used in zip(strata, at, spent, strict=True))
        bound = min(bound, bits / slope + gain)
        over = sum(size * used for (size, _), used in zip(strata, spent, strict=True)) > bits
        slopes = (slopes[0], slope) if over else (slope, slopes[1])
        slope = slope * 2 if math.isinf(slopes[1]) else math.sqrt(slopes[0] * slopes[1])
        if (
            slopes[1] < math.inf and slopes[1] - slopes[0] <= 1e-7 * slopes[1]
        ):  # The bound is flat there: its error is the square of this
            break
    return min(1.0, bound / total * (1 + SLACK))


def ball_advantage(persons: int, log_models: float) -> float:
    """Return the largest mean advantage for a number of models and fair, independent membership bits.

    Guarantee
    ---------
    As for :func:`design_advantage` at the rate 1/2 with independent coins, for at most ``2 ** log_models`` models. It
    is never above it for the same bits. See ``frontiers.md``.

    Parameters
    ----------
    persons : int
        Persons of the frame, in [1, 1,000,000].
    log_models : float
        Binary logarithm of the number of models, at least 0.

    Examples
    --------
    The majority of 11 among 12 attains it.

    >>> round(ball_advantage(12, 1), 4)
    0.2256
    """
    persons, log_models = check_whole(persons, "persons", 1, 10**6), check_bits(log_models, "log_models")
    # The best guess for a model is one word; its samples are at best the nearest ones to that word.
    left, errors, log_share = 1.0, 0.0, log_models - persons
    for distance in range(persons + 1):
        share = min(left, 2.0 ** min(log_share, 1.0))
        errors, left = errors + share * distance, left - share
        if left <= 0:
            break
        log_share += math.log2((persons - distance) / (distance + 1)) if distance < persons else 0.0
    return min(1.0, max(0.0, 1 - 2 * errors / persons) + 1e-9)  # The logarithms of up to 1e6 sums are off by less


def fresh_curve(advantage: float) -> tuple[float, float]:
    """Return the fewest bits of a fresh advantage, min_a kl(a + t || a), and their slope in t."""
    t = advantage
    if t <= 0:
        return 0.0, 0.0
    if t >= 1:
        return math.inf, math.inf

    def rises(a: float) -> bool:
        return 1 - a <= t or math.log1p(t / a) - math.log1p(-t / (1 - a)) > t / (a * (1 - a))

    a = _turn(rises, 1 - t)
    return kl_of_shift(t, a), (log_odds(a + t) - log_odds(a)) / LN2


def design_curve(advantage: float, rate: float) -> tuple[float, float]:
    """Return the fewest bits of an advantage about membership, and their slope in it."""
    t = advantage
    if t <= 0:
        return 0.0, 0.0
    if t >= 1:
        return entropy(rate), math.inf

    def rises(a: float) -> bool:
        return rate * log_odds(a + t) + (1 - rate) * log_odds(a) > log_odds(a + rate * t)

    a = (1 - t) / 2 if rate == 0.5 else _turn(rises, 1 - t)
    slope = rate * (log_odds(a + t) - log_odds(a + rate * t)) / LN2
    return information_of_shift(t, a, rate), slope


def _turn(rises: Callable[[float], bool], top: float) -> float:
    """Return where a convex function of (0, top) turns from falling to rising."""
    low, high = 0.0, top
    for _ in range(60):
        middle = (low + high) / 2
        if not 0 < middle < top:
            break
        low, high = (low, middle) if rises(middle) else (middle, high)
    return (low + high) / 2


def _largest(curve: Curve, bits: float, start: float) -> float:
    """Return the largest t with at most so many bits, from above: ``curve(start)`` is at least ``bits``."""
    low, high = 0.0, start
    if bits <= 0:
        return 0.0
    for _ in range(_STEPS):
        used, slope = curve(high)
        # A tangent of a convex curve lies below it, so that Newton's step from above stays above.
        tangent = high - max(used - bits, 0.0) / slope if math.isfinite(used) and 0 < slope < math.inf else high
        middle = (low + tangent) / 2
        if high - tangent <= 1e-15 * high and used - bits <= 1e-13 * bits:
            break
        if curve(middle)[0] < bits:
            low, high = middle, tangent
        else:
            high = middle
        if not low < (low + high) / 2 < high:
            break
    return min(1.0, high * (1 + SLACK))


def _at_slope(slope: float, rate: float) -> float:
    """Return the advantage at which the bits of a design rise with a slope, per unit of advantage."""
    # The log-odds of the mean lie alpha below those of a member's answer and beta above those of a non-member's, by
    # which the odds z of the mean follow from the rate in closed form.
    alpha = min(slope * LN2 / rate, 300.0)
    x, y = math.expm1(alpha), math.expm1(-alpha * rate / (1 - rate))
    above = rate * x + (1 - rate) * y
    z = above / -(above + x * y)
    return z * (x - y) / ((1 + z * (1 + x)) * (1 + z * (1 + y)))


def check_bits(value: object, name: str) -> float:
    """Return a number of bits, or raise InvalidParameterError; infinity is a number of bits."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InvalidParameterError(f"{parameter(name)} must be a number of at least 0, got {quoted(value)}.")
    return float(value)


def check_share(value: object, name: str, *, above: float = 0.0, remedy: str | None = None) -> float:
    """Return a share above a number and at most 1, or raise InvalidParameterError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not above < value <= 1:
        raise InvalidParameterError(
            f"{parameter(name)} must be a number above {above:g} and at most 1, got {quoted(value)}.", remedy=remedy
        )
    return float(value)


def check_rate(value: object, name: str = "rate") -> float:
    """Return a probability strictly between 0 and 1, or raise InvalidParameterError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InvalidParameterError(
            f"{parameter(name)} must be a number above 0 and below 1, got {quoted(value)}.",
            remedy="If everyone is a member, membership is no secret.",
        )
    return float(value)
