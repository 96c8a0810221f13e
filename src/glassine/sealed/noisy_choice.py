"""Private selection in exact integer arithmetic: exponential mechanism, permute-and-flip, report-noisy-max."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from glassine.errors import InvalidMechanismError, parameter
from glassine.privacy.conversions import gaussian_sigma
from glassine.privacy.exact import Number, common_denominator, float_above, positive, rational
from glassine.privacy.mechanisms import discrete_gaussian
from glassine.privacy.randomness import Randomness
from glassine.privacy.samplers import draw_discrete_cauchy

# Choices under noise that is not exponential: Cauchy noise of data-dependent scale, and Gaussian noise.


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
        raise InvalidMechanismError(
            f"{parameter('epsilon=')}{epsilon!r} is too small for {candidates} candidates.", remedy="Give more."
        )
    # A hair more noise, so that the cost, computed back from the ratio, stays within epsilon.
    return DILATION_SHARE * left / candidates, (1 + 1e-12) / math.sinh((1 - DILATION_SHARE) * left / 2)


def smooth_cauchy_min(scores: Sequence[int], bound: float, ratio: float, grid: int, randomness: Randomness) -> int:
    """Return the index of the least score under Cauchy noise of ``ratio`` times a smooth bound.

    Scores are in steps of 1 / grid, rounded down; the bound is in units of 1. Ratio and grid are public.

    Guarantee
    ---------
    (2 asinh(1 / ratio) + candidates * beta)-differentially private, if ``bound`` is a beta-smooth upper bound of the
    change of each score; for unseeded ``randomness``. See ``privacy/noisy_choice.md``.

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
            f"{parameter('epsilon=')}{epsilon:g} and {parameter('delta=')}{delta:g} need noise of {sigma:.2g}, beyond "
            "any use.",
            remedy="Give a larger epsilon.",
        )
    return sigma, grid, reach


def spent_on_gaussian(epsilon: float) -> float:
    """Return the part of epsilon at which Gaussian noise is calibrated; the rest is slack."""
    return max(epsilon - GAUSSIAN_SLACK, epsilon / 2)


def gaussian_min(scores: Sequence[int], sigma: float, grid: int, randomness: Randomness) -> int:
    """Return the index of the least score under discrete Gaussian noise.

    Scores are in steps of 1 / grid, which is public, rounded down; sigma is in units of 1, at least 2^38 steps.

    Guarantee
    ---------
    (epsilon, candidates * delta)-differentially private for every epsilon, delta being that of Gaussian noise of
    ``sigma`` under a shift by the length of an interval that holds the changes of all scores; up to
    ``GAUSSIAN_SLACK``, for unseeded ``randomness``. See ``privacy/noisy_choice.md``.

    Examples
    --------
    >>> gaussian_min([2**60, 0, 2**60], 1.0, 2**40, Randomness.of(0))
    1
    """
    steps = float_above(Fraction(sigma) * grid)
    return int(np.argmin(discrete_gaussian(np.array(scores, dtype=np.int64), steps, randomness)))


def draw_scaled(numerators: Sequence[int], denominator: int, randomness: Randomness) -> int:
    """Draw an index with probability proportional to ``exp(numerators[i] / denominator)``.

    The expected number of proposals is at most the number of candidates.

    Guarantee
    ---------
    The probability is exact; what it protects is stated by the caller.

    Raises
    ------
    InvalidMechanismError
        If there is no candidate or the denominator is not positive.

    Examples
    --------
    >>> draw_scaled([0, -10_000], 4, Randomness.of(0))
    0
    """
    if not len(numerators) > 0:
        raise InvalidMechanismError(
            "a selection needs at least one candidate, got none.", remedy="Make the class non-empty."
        )
    if not denominator > 0:
        raise InvalidMechanismError(
            f"{parameter('denominator')} must be positive, got {denominator}.", remedy="Give a whole number above 0."
        )
    size = len(numerators)
    # Rejection: a uniform candidate is kept with exp(log-weight less the best). No sum is formed, so that nothing is
    # rounded.
    best = max(numerators)
    while True:
        index = randomness.below(size)
        if randomness.bernoulli_exp_ratio(best - numerators[index], denominator):
            return index


def draw(log_weights: Sequence[Fraction], randomness: Randomness) -> int:
    """Draw an index with probability proportional to ``exp(log_weights[i])``."""
    # As draw_scaled, for log-weights that are ints, Fractions, or floats taken at their exact binary value.
    numerators, denominator = common_denominator(rational(value, "a log-weight") for value in log_weights)
    return draw_scaled(numerators, denominator, randomness)


def exponential_log_weights(
    scores: Sequence[Number], epsilon: Number, sensitivity: Number, *, monotone: bool = False
) -> tuple[list[int], int]:
    """Return the exponential mechanism's log-weights as integers over one denominator."""
    # They are epsilon * score / (sensitivity * (1 if monotone else 2)), without rounding.
    return _log_weights(_exact_scores(scores), _rate(epsilon, sensitivity, monotone))


def exponential_mechanism(
    scores: Sequence[Number], epsilon: Number, sensitivity: Number, monotone: bool = False, *, randomness: Randomness
) -> int:
    """Select a candidate of high score by the exponential mechanism.

    Guarantee
    ---------
    epsilon-differentially private under the neighboring relation in which ``sensitivity`` bounds the
    change of every score; exact.

    Assumptions
    -----------
    Candidates, epsilon and sensitivity are public; the running time is not observed.

    Parameters
    ----------
    scores : sequence of int, Fraction or float
        The higher the better. A float counts as its exact binary value, and the sensitivity must bound the change of
        the floats themselves; scores with rounding errors are better quantised to integers first.
    epsilon : int, float or Fraction
        Positive; a float is the decimal that it prints as.
    sensitivity : int, float or Fraction
        Positive; most that one record changes any score.
    monotone : bool, default=False
        Whether adding a record moves all scores in one direction, whichever the record.
    randomness : Randomness
        The stream to draw from.

    Returns
    -------
    int
        Index of the candidate.

    Raises
    ------
    InvalidMechanismError
        If there is no candidate, a score is not finite, or a parameter is not positive.

    References
    ----------
    McSherry and Talwar (2007), Mechanism design via differential privacy, Theorem 6.

    Examples
    --------
    >>> exponential_mechanism([0, 500, 1], 1, 1, randomness=Randomness.of(0))
    1
    """
    numerators, denominator = exponential_log_weights(scores, epsilon, sensitivity, monotone=monotone)
    return draw_scaled(numerators, denominator, randomness)


def permute_and_flip(
    scores: Sequence[Number], epsilon: Number, sensitivity: Number, monotone: bool = False, *, randomness: Randomness
) -> int:
    """Select a candidate of high score by permute-and-flip.

    Guarantee
    ---------
    epsilon-differentially private, as :func:`exponential_mechanism`; never a lower expected score than
    it. It is report-noisy-max with exponential noise; it is not of bounded range, so its event is ``NoisyMax``.

    Parameters, errors and assumptions are those of :func:`exponential_mechanism`.

    References
    ----------
    McKenna and Sheldon (2020), Permute-and-flip; Ding et al. (2021), The permute-and-flip mechanism is identical to
    report-noisy-max with exponential noise.

    Examples
    --------
    >>> permute_and_flip([0, 500, 1], 1, 1, randomness=Randomness.of(0))
    1
    """
    numerators, denominator = exponential_log_weights(scores, epsilon, sensitivity, monotone=monotone)
    best = max(numerators)
    order = list(range(len(numerators)))
    while True:
        last = len(order) - 1
        place = randomness.below(last + 1)
        index = order[place]
        if randomness.bernoulli_exp_ratio(best - numerators[index], denominator):
            return index
        # A candidate whose coin fell against it is out; the last one takes its place, so that the rest stay equally
        # likely.
        order[place] = order[last]
        order.pop()


def report_noisy_max(
    scores: Sequence[Number],
    epsilon: Number,
    sensitivity: Number,
    monotone: bool = False,
    *,
    granularity: Number = 1,
    randomness: Randomness,
) -> int:
    """Select the candidate whose score plus one-sided geometric noise is largest.

    Guarantee
    ---------
    epsilon-differentially private, as :func:`exponential_mechanism`. Ties go to the lowest index.

    Parameters
    ----------
    scores, epsilon, sensitivity, monotone, randomness
        As in :func:`exponential_mechanism`.
    granularity : int, float or Fraction, default=1
        Positive and public. Scores are rounded down to its multiples, and the sensitivity up.

    Returns
    -------
    int
        Index of the candidate.

    Raises
    ------
    InvalidMechanismError
        As :func:`exponential_mechanism`, and if ``granularity`` is not positive.

    Examples
    --------
    >>> report_noisy_max([0, 500, 1], 1, 1, randomness=Randomness.of(0))
    1
    """
    step = positive(granularity, "granularity")
    # On a public grid noise of whole steps is exact. Scores within the sensitivity of each other lie within so many
    # steps, rounded up.
    levels = [math.floor(score / step) for score in _exact_scores(scores)]
    reach = math.ceil(positive(sensitivity, "sensitivity") / step)
    rate = _rate(epsilon, reach, monotone)
    noisy = [level + randomness.geometric(rate.numerator, rate.denominator) for level in levels]
    return noisy.index(max(noisy))


def _exact_scores(scores: Sequence[Number]) -> list[Fraction]:
    exact = [rational(score, "a score") for score in scores]
    if not exact:
        raise InvalidMechanismError(
            "a selection needs at least one candidate, got none.", remedy="Make the class non-empty."
        )
    return exact


def _rate(epsilon: Number, sensitivity: Number, monotone: bool) -> Fraction:
    """Return the inverse temperature: epsilon over the sensitivity, halved unless the scores are monotone."""
    return positive(epsilon, "epsilon") / (positive(sensitivity, "sensitivity") * (1 if monotone else 2))


def _log_weights(scores: Sequence[Fraction], rate: Fraction) -> tuple[list[int], int]:
    numerators, denominator = common_denominator(scores)
    numerators = [value * rate.numerator for value in numerators]
    denominator *= rate.denominator
    # Only differences matter; small integers are faster.
    best = max(numerators)
    common = math.gcd(denominator, *(best - value for value in numerators))
    return [-((best - value) // common) for value in numerators], denominator // common
