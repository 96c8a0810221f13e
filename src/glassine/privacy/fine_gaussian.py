"""Discrete Gaussian noise on sums of small units: integers that count as Gaussian in every accounting."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidMechanismError
from glassine.privacy.mechanisms import discrete_gaussian
from glassine.privacy.randomness import Randomness

__all__ = ["FINE_SIGMA", "LARGEST_EPSILON", "FineNoise", "slack_of", "tail_per_value", "wrapped"]

FINE_SIGMA = 1024.0
"""Least standard deviation, in units, for which the slack is stated."""

LARGEST_EPSILON = 7000.0
"""Largest epsilon at which the tail bound holds."""

UNITS = 2**30
"""Standard deviations that learners use are at least so many units."""

REACH = 128.0
"""Standard deviations within which each noise lies but for a negligible tail."""


def slack_of(values: int, sigma: float, releases: int = 1) -> float:
    """Return the epsilon that so many integers with discrete Gaussian noise may cost beyond the continuous one.

    With several releases, the values are those of all of them together.

    Guarantee
    ---------
    none by itself: a bound for the accountant, proved in ``fine_gaussian.md``.

    Examples
    --------
    >>> slack_of(1, 2.0**30) < 2e-15, slack_of(10**9, 2.0**30) < 3e-10
    (True, True)
    """
    if not sigma >= FINE_SIGMA:
        raise InvalidMechanismError(f"sigma must be at least {FINE_SIGMA} units, got {sigma}. Use a finer unit.")
    return min((REACH**2 / 8 + 1) * values, 4096 * releases + values / 4) / sigma**2


def tail_per_value() -> float:
    """Return the delta that one value sets aside, for epsilons up to ``LARGEST_EPSILON``."""
    return 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class FineNoise:
    """The unit and the noise of a release of sums.

    Attributes
    ----------
    units : int
        How many units make one: a contribution of 1 is this integer.
    sigma : float
        Standard deviation of the noise, in units.
    mu : float
        What one release costs in Gaussian differential privacy.
    l2_sensitivity : float
        Of all sums together, in units.
    """

    units: int
    sigma: float
    mu: float
    l2_sensitivity: float

    @classmethod
    def of(cls, mu: float, squared_sensitivity: float) -> FineNoise:
        """Return the noise with which sums cost a given mu.

        Parameters
        ----------
        mu : float
            Positive.
        squared_sensitivity : float
            Square of the l2 norm of what one record adds, in ones: the number of sums that one record enters, if it
            adds at most 1 in size to each.

        Examples
        --------
        >>> noise = FineNoise.of(0.5, 4)
        >>> noise.l2_sensitivity / noise.sigma <= 0.5, round(noise.deviation, 6)
        (True, 4.0)
        """
        if not 0 < mu < math.inf or not squared_sensitivity >= 1:
            raise InvalidMechanismError(
                f"mu must be positive and finite and squared_sensitivity at least 1, got {mu}, {squared_sensitivity}."
            )
        ones = math.sqrt(squared_sensitivity) / mu
        units = 2 ** min(40, max(10, math.ceil(math.log2(UNITS / ones))))
        l2 = units * math.sqrt(squared_sensitivity) * (1 + 1e-12)
        sigma = max(l2 / mu * (1 + 1e-12), FINE_SIGMA)
        return cls(units=units, sigma=sigma, mu=mu, l2_sensitivity=l2)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, in ones."""
        return self.sigma / self.units

    def release(self, sums: npt.NDArray[np.int64], randomness: Randomness) -> npt.NDArray[np.float64]:
        """Return sums of units with noise, as multiples of one.

        Guarantee
        ---------
        ``mu``-Gaussian differential privacy but for :func:`slack_of`, if one record moves the sums by at most
        ``l2_sensitivity`` units; see ``fine_gaussian.md``. The sums may be known modulo 2^64 alone: sums and noise are
        added modulo 2^64, which is post-processing of the exact sum with its noise, however many records there are.
        """
        return (np.asarray(sums, dtype=np.int64) + self.draw(np.shape(sums), randomness)) / self.units

    def draw(self, shape: tuple[int, ...], randomness: Randomness) -> npt.NDArray[np.int64]:
        """Return the noise alone, in units, to be added modulo 2^64 to sums of units that are known later.

        Guarantee
        ---------
        That of :meth:`release` for the sums to which it is added: additive noise does not depend on them.
        """
        # The compiler takes half a second to import.
        from glassine.privacy.fine_gaussian_draws import LARGEST_SIGMA, add_discrete_gaussian

        nothing = np.zeros(shape, dtype=np.int64)
        if randomness.seeded or not self.sigma < LARGEST_SIGMA:
            return discrete_gaussian(nothing, self.sigma, randomness)
        return add_discrete_gaussian(nothing, self.sigma, randomness)


def wrapped(values: Iterable[int]) -> npt.NDArray[np.int64]:
    """Return whole numbers of any size modulo 2^64, as 64-bit integers.

    Examples
    --------
    >>> wrapped([3, 2**63, -(2**64) - 1]).tolist()
    [3, -9223372036854775808, -1]
    """
    return np.array([(value + 2**63) % 2**64 - 2**63 for value in values], dtype=np.int64)
