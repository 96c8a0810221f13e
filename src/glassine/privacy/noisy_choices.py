"""Choices under noise that is not exponential: Cauchy noise of data-dependent scale, and Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from glassine.errors import InvalidMechanismError
from glassine.privacy.conversions import gaussian_sigma
from glassine.privacy.exact import float_above
from glassine.privacy.mechanisms import discrete_gaussian
from glassine.privacy.randomness import Randomness
from glassine.privacy.samplers import draw_discrete_cauchy

__all__ = [
    "CAUCHY_STEPS",
    "GAUSSIAN_SLACK",
    "SMOOTH_SLACK",
    "cauchy_calibration",
    "gaussian_calibration",
    "gaussian_min",
    "smooth_cauchy_min",
    "spent_on_gaussian",
]

CAUCHY_STEPS = 2**10
"""Cauchy noise is at least so many steps of the grid, so that its normalization is that of the integral."""

GAUSSIAN_STEPS = 2**38
"""Gaussian noise is at least so many steps of the grid."""

GAUSSIAN_SLACK = 2.0**-30
"""Epsilon that covers the difference between discrete and continuous Gaussian noise."""

SMOOTH_SLACK = 2.0**-40
"""Epsilon per candidate that covers the rounding of a smooth bound."""

DILATION_SHARE = 0.5
"""Share of epsilon that pays for the dilation of the noise."""

LARGEST_EPSILON = 64.0
"""Epsilon of one choice beyond which its noise is not lowered further."""


def cauchy_calibration(epsilon: float, candidates: int) -> tuple[float, float]:
    """Return smoothness and ratio of noise to bound with which a choice costs epsilon, ``SMOOTH_SLACK`` included.

    Raises
    ------
    InvalidMechanismError
        If epsilon is not larger than the slack of the candidates.

    Examples
    --------
    >>> smoothness, ratio = cauchy_calibration(1.0, 50)
    >>> round(smoothness, 6), round(ratio, 4)
    (0.01, 3.9586)
    """
    left = min(epsilon, LARGEST_EPSILON) - 2 * candidates * SMOOTH_SLACK
    if not left > 0:
        raise InvalidMechanismError(f"epsilon={epsilon!r} is too small for {candidates} candidates. Give more.")
    # A hair more noise, so that the cost, computed back from the ratio, stays within epsilon.
    return DILATION_SHARE * left / candidates, (1 + 1e-12) / math.sinh((1 - DILATION_SHARE) * left / 2)


def smooth_cauchy_min(scores: Sequence[int], bound: float, ratio: float, grid: int, randomness: Randomness) -> int:
    """Return the index of the least score under Cauchy noise of ``ratio`` times a smooth bound.

    Guarantee
    ---------
    (2 asinh(1 / ratio) + candidates * beta)-differentially private, if ``bound`` is a beta-smooth upper bound of the
    change of each score; for unseeded ``randomness``. See ``noisy_choices.md``.

    Parameters
    ----------
    scores : sequence of int
        In steps of 1 / grid, rounded down.
    bound : float
        In units of 1.
    ratio : float
        Positive and public.
    grid : int
        Public.
    randomness : Randomness
        The stream to draw from.

    Examples
    --------
    >>> smooth_cauchy_min([2**40, 0, 2**40], 1e-6, 1.0, 2**40, Randomness.of(0))
    1
    """
    # Rounding down moves a score by less than one step more; sum and maximum with constants keep a bound smooth.
    scale = max(Fraction(ratio) * (Fraction(bound) * grid + 1), Fraction(CAUCHY_STEPS))
    noisy = [score + draw_discrete_cauchy(scale, randomness) for score in scores]
    return noisy.index(min(noisy))


def gaussian_calibration(epsilon: float, delta: float, candidates: int, spread: Fraction) -> tuple[float, int, float]:
    """Return the standard deviation, the grid of the scores, and the spread with rounding, in units of 1.

    Raises
    ------
    InvalidMechanismError
        If the noise is too large for the grid.

    Examples
    --------
    >>> sigma, grid, reach = gaussian_calibration(1.0, 1e-6, 50, Fraction(1, 2))
    >>> round(sigma, 3), round(reach, 3)
    (2.488, 0.5)
    """
    reach = float(spread) * (1 + 2.0**-14)
    sigma = gaussian_sigma(spent_on_gaussian(epsilon), delta / candidates, reach) * (1 + 1e-12)
    grid: int = 2 ** max(0, math.ceil(math.log2(GAUSSIAN_STEPS / sigma)))
    if not math.ceil(spread * grid) + 1 <= reach * grid:
        raise InvalidMechanismError(
            f"epsilon={epsilon:g} and delta={delta:g} need noise of {sigma:.2g}, beyond any use. Give a larger epsilon."
        )
    return sigma, grid, reach


def spent_on_gaussian(epsilon: float) -> float:
    """Return the part of epsilon at which Gaussian noise is calibrated; the rest is slack."""
    return max(epsilon - GAUSSIAN_SLACK, epsilon / 2)


def gaussian_min(scores: Sequence[int], sigma: float, grid: int, randomness: Randomness) -> int:
    """Return the index of the least score under discrete Gaussian noise.

    Guarantee
    ---------
    (epsilon, candidates * delta)-differentially private for every epsilon, delta being that of Gaussian noise of
    ``sigma`` under a shift by the length of an interval that holds the changes of all scores; up to
    ``GAUSSIAN_SLACK``, for unseeded ``randomness``. See ``noisy_choices.md``.

    Parameters
    ----------
    scores : sequence of int
        In steps of 1 / grid, rounded down.
    sigma : float
        In units of 1; at least 2^38 steps.
    grid : int
        Public.
    randomness : Randomness
        The stream to draw from.

    Examples
    --------
    >>> gaussian_min([2**60, 0, 2**60], 1.0, 2**40, Randomness.of(0))
    1
    """
    steps = float_above(Fraction(sigma) * grid)
    return int(np.argmin(discrete_gaussian(np.array(scores, dtype=np.int64), steps, randomness)))
