"""Private selection from private candidates: the best of a random number of runs (Papernot and Steinke 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from glassine.errors import InvalidMechanismError
from glassine.privacy.exact import Number, decimal
from glassine.privacy.randomness import Randomness

BISECTIONS = 200
"""Halvings of an interval of the logarithm of gamma, until it is a single float."""

LEAST_STOP = 1e-9
"""Least gamma: a billion runs, in the mean, are more than anyone waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCount:
    """How often candidates are run: a truncated negative binomial number, at least 1, that no record changes.

    Guarantee
    ---------
    none on its own; :func:`best_of_runs` rests on its law, and so on its being drawn exactly.

    Raises
    ------
    InvalidMechanismError
        If a parameter is out of its range.

    Examples
    --------
    >>> RunCount.of_mean(40).stop, RunCount.of_mean(40).mean
    (Fraction(1, 40), 40.0)
    >>> runs = RunCount.of_mean(40)
    >>> runs.for_each_run(Fraction(1), Fraction(0))
    (0.3333333333333333, 0.0)
    """

    shape: Fraction  # Eta, in (-1, 1]: 1 is the geometric distribution, 0 the logarithmic one
    stop: Fraction  # Gamma, in (0, 1)

    def __post_init__(self) -> None:
        if not -1 < self.shape <= 1:
            raise InvalidMechanismError(f"shape must lie in (-1, 1], got {float(self.shape):g}. Use 1, or 0.")
        if not LEAST_STOP <= self.stop < 1:
            raise InvalidMechanismError(f"stop must lie in [1e-9, 1), got {float(self.stop):g}. Ask for fewer runs.")

    @classmethod
    def of_mean(cls, mean: Number, shape: Number = 1) -> RunCount:
        """Return the distribution of a shape with so many runs in the mean, up to rounding unless ``shape`` is 1.

        Raises
        ------
        InvalidMechanismError
            If the mean is not above 1, or out of reach for the shape.
        """
        eta, wanted = decimal(shape, "shape"), decimal(mean, "mean")
        if not wanted > 1:
            raise InvalidMechanismError(f"the mean number of runs must be above 1, got {float(wanted):g}.")
        if eta == 1:
            return cls(shape=eta, stop=1 / wanted)
        # The mean falls in gamma, from infinity at 0 to 1 at 1.
        low, high = math.log(LEAST_STOP), 0.0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if mean_runs(float(eta), math.exp(middle)) > wanted else (low, middle)
        return cls(shape=eta, stop=Fraction(math.exp(low)))

    @property
    def mean(self) -> float:
        """The mean number of runs."""
        return mean_runs(float(self.shape), float(self.stop))

    def for_each_run(self, epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
        """Return the epsilon and delta of each run with which the best of all costs at most so much."""
        return _below(epsilon / (2 + self.shape)), _below(delta / decimal(self.mean, "mean"))

    def draw(self, randomness: Randomness) -> int:
        """Draw the number of runs, exactly."""
        # A geometric number k is kept with probability prod over l in 1..k-1 of (l + eta) / (l + 1).
        eta = self.shape
        while True:
            runs = 1
            while not randomness.bernoulli(self.stop.numerator, self.stop.denominator):
                runs += 1
            if eta == 1 or all(
                randomness.bernoulli(past * eta.denominator + eta.numerator, (past + 1) * eta.denominator)
                for past in range(1, runs)
            ):
                return runs


def mean_runs(shape: float, stop: float) -> float:
    """Return the mean of the truncated negative binomial distribution.

    Examples
    --------
    >>> mean_runs(1.0, 0.025), round(mean_runs(0.0, 0.01), 3)
    (40.0, 21.498)
    """
    if shape == 1:
        return 1 / stop
    # (1 - stop) eta / (stop (1 - stop**eta)), whose limit at eta = 0 has the logarithm.
    logarithm = math.log(stop)
    ratio = -1 / logarithm if shape == 0 else -shape / math.expm1(shape * logarithm)
    return (1 - stop) / stop * ratio


def _below(value: Fraction) -> float:
    """Return the largest float whose decimal form is at most a fraction, to within a few steps."""
    number = float(value)
    while number > 0 and decimal(number, "a part") > value:
        number = math.nextafter(number, 0.0)
    return number
