"""Exact samplers of integer noise: discrete Laplace, discrete Gaussian, discrete Cauchy."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from glassine.errors import InvalidMechanismError, parameter
from glassine.privacy.randomness import Randomness


def _checked(value: Fraction, name: str) -> Fraction:
    if not value > 0:
        raise InvalidMechanismError(
            f"{parameter(name)} must be positive, got {value}.", remedy="Give the scale of the noise."
        )
    return value


def draw_discrete_laplace(scale: Fraction, randomness: Randomness) -> int:
    """Draw k with probability proportional to ``exp(-abs(k) / scale)``.

    Guarantee
    ---------
    Exact.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Algorithm 2.
    """
    numerator, denominator = _checked(scale, "scale").denominator, scale.numerator
    while True:
        magnitude = randomness.geometric(numerator, denominator)
        negative = randomness.bits(1)
        # Zero has one sign, or it would be drawn twice as often.
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def draw_discrete_gaussian(variance: Fraction, randomness: Randomness) -> int:
    """Draw k with probability proportional to ``exp(-k**2 / (2 * variance))``.

    Guarantee
    ---------
    Exact.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Algorithm 3.
    """
    n, d = _checked(variance, "variance").numerator, variance.denominator
    # Any scale of the proposal is exact; one next to sigma is accepted most often.
    scale = isqrt(n // d) + 1
    proposal = Fraction(scale)
    while True:
        k = draw_discrete_laplace(proposal, randomness)
        # (|k| - variance / scale)**2 / (2 variance) over one denominator.
        excess = abs(k) * scale * d - n
        if randomness.bernoulli_exp_ratio(excess * excess, 2 * n * d * scale * scale):
            return k


def draw_discrete_cauchy(scale: Fraction, randomness: Randomness) -> int:
    """Draw k with probability proportional to ``1 / (1 + (k / scale)**2)``.

    Guarantee
    ---------
    Exact; rejection from rings that double in width, see ``samplers.md``.
    """
    square = _checked(scale, "scale") ** 2
    n, d = square.numerator, square.denominator
    # The proposal is flat on rings that double in width and halve in probability: its tail is as heavy as Cauchy's.
    width = -(-scale.numerator // scale.denominator)
    while True:
        ring = 0
        while randomness.bits(1):
            ring += 1
        if ring:
            inner = width << (ring - 1)
            magnitude = inner + randomness.below(inner)
        else:
            magnitude = randomness.below(width)
        # Target over proposal, at most one: a ring's magnitudes are at least half of its end.
        accept, out_of = n << (2 * ring), 4 * (n + d * magnitude * magnitude)
        if not ring:
            accept *= 2
        negative = randomness.bits(1)
        if (magnitude or not negative) and randomness.bernoulli(accept, out_of):
            return -magnitude if negative else magnitude
