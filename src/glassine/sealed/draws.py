"""The one door of draws: all that is random in a private fit is added to exact counts, or chosen by them, here.

Nothing else in ``sealed`` or ``learners`` calls a sampler on counts of records, so that a test that records these
functions on one dataset and forces their results on a neighboring one sees everything that a fit can reveal.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.mechanisms import discrete_laplace
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Array, Bools, Ints
from glassine.sealed import noisy_choice
from glassine.sealed.noisy_choice import exponential_mechanism, gaussian_min, permute_and_flip, smooth_cauchy_min

__all__ = [
    "coins",
    "exponential_mechanism",
    "gaussian",
    "gaussian_min",
    "gaussian_noise",
    "laplace",
    "permute_and_flip",
    "select",
    "smooth_cauchy_min",
]


def laplace(exact: Ints, scale: Fraction, randomness: Randomness) -> Ints:
    """Return whole numbers with discrete Laplace noise."""
    # The sampler sees zeros: no exact count leaves the room.
    return exact + discrete_laplace(np.zeros(exact.shape, dtype=np.int64), scale, randomness)


def gaussian(exact: Ints, noise: FineNoise, randomness: Randomness) -> Array:
    """Return sums of units, known modulo 2^64, with discrete Gaussian noise, as multiples of one."""
    return (exact + noise.draw(exact.shape, randomness)) / noise.units


def gaussian_noise(shape: tuple[int, ...], noise: FineNoise, randomness: Randomness) -> Ints:
    """Return discrete Gaussian noise alone, in units, to be added to sums that follow from noise before it."""
    return noise.draw(shape, randomness)


def coins(number: int, fraction: Fraction, randomness: Randomness) -> Bools:
    """Draw as many coins, true with a probability; shape (number,)."""
    sides = (randomness.bernoulli(fraction.numerator, fraction.denominator) for _ in range(number))
    return np.fromiter(sides, dtype=bool, count=number)


def select(numerators: Sequence[int], denominator: int, randomness: Randomness) -> int:
    """Draw an index with probability proportional to ``exp(numerators[i] / denominator)``."""
    return noisy_choice.draw_scaled(numerators, denominator, randomness)
