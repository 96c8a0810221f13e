"""How sums become public, and what a release of some costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from glassine.privacy.fine_gaussian import UNITS, FineNoise
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Array, Ints
from glassine.sealed import draws


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """What one release may cost. Public."""

    mu: float  # Gaussian differential privacy of the release
    share: float  # Its share of the budget, for the certificate

    def part(self, share: float) -> Portion:
        """Return the portion of a release within it, at a share of the squared mu."""
        return Portion(mu=self.mu * math.sqrt(share), share=self.share * share)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumsRelease:
    """What the certificate states of sums that are released together. Public, or released."""

    name: str
    squared: float  # Square of the l2 norm of what one record adds to all sums of one time, in ones
    values: int  # Most sums of one time
    proof: str  # The note that proves the square
    times: int = 1  # How often: squares of mu add up


class Noise(Protocol):
    """How sums become public."""

    @property
    def units(self) -> int:
        """How many units make one: sums are whole numbers of them."""
        ...

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, in ones."""
        ...

    def release(self, sums: Ints) -> Array:
        """Return sums of units, known modulo 2^64, with noise if there is any, as multiples of one."""
        ...

    def draw(self, shape: tuple[int, ...]) -> Ints:
        """Return noise in units, to be added to sums that are not yet known."""
        ...


@dataclass(frozen=True, slots=True)
class NoisySums:
    """Sums with discrete Gaussian noise."""

    noise: FineNoise  # Its scale and the units
    randomness: Randomness  # Its source

    @property
    def units(self) -> int:
        """How many units make one."""
        return self.noise.units

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, in ones."""
        return self.noise.deviation

    def release(self, sums: Ints) -> Array:
        """Return sums of units with noise, as multiples of one."""
        return draws.gaussian(sums, self.noise, self.randomness)

    def draw(self, shape: tuple[int, ...]) -> Ints:
        """Return noise in units."""
        return draws.gaussian_noise(shape, self.noise, self.randomness)


class ExactSums:
    """Sums as they are, for ordinary models.

    Examples
    --------
    >>> exact = ExactSums()
    >>> exact.release(np.array([exact.units, 5 * exact.units])).tolist(), exact.deviation
    ([1.0, 5.0], 0.0)
    """

    # Sums of residuals of up to 2^33 records do not wrap around.
    units = UNITS
    deviation = 0.0

    def release(self, sums: Ints) -> Array:
        """Return sums of units as multiples of one."""
        return np.asarray(sums, dtype=np.int64) / self.units

    def draw(self, shape: tuple[int, ...]) -> Ints:
        """Return zeros."""
        return np.zeros(shape, dtype=np.int64)
