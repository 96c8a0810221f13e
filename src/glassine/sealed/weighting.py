"""How models are weighed, by public sizes alone: powers of exp(-epsilon), and a bound on what their rounding adds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from glassine.records.arrays import Array

EPSILON_BITS = 40
"""Epsilon is a multiple of 2^-40, so that its product with a whole cost is exact."""

LOG_RANGE = 600.0
"""Largest range of the logarithms of sums of weights: doubles end at exp(709), and a product of sums needs room."""

UNDERFLOW = 700.0
"""Powers beyond exp(-700) are taken as zero in sums; a choice is never given probability zero.

Above exp(-708) doubles are normal, with all of their digits; see ``gibbs.md`` for what is left out."""

NO_JUMPS = 62
"""Shift at which every cost is below the first jump: costs are below 2^53, where doubles are whole."""

JUMP_BITS = 12
"""Fewest low bits of a cost that have a table of their own: 32 kB, so that it stays in the first-level cache."""

LARGEST_JUMP = 20
"""Largest exponent of a jump, so that powers are taken as zero below exp(-680) alone."""

LONGEST_ALONE = 2**16
"""Powers of which one table holds all: half a megabyte."""

BLOCK_RANGE = 100
"""Largest exponent by which a sum falls below its least cost while that is not known."""

LEAST_RATE = Fraction(100, 2**EPSILON_BITS)
"""Least epsilon for one unit of cost: it is rounded to a multiple of 2^-40, at most a hundredth of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighting:
    """How models are weighed."""

    # What a unit of cost costs, a multiple of 2^-40; None for the limit in which only models of least cost count.
    epsilon: Fraction | None
    part_weight: float  # Prior weight of each split or rule of a model
    penalty: float  # Cost of each split or rule, in units; zero unless epsilon is None
    # exp(-epsilon j) for j = 0, ..., k - 2, up to exp(-700), and 0 for all larger j; with jumps, for all j below
    # 2^shift; shape (k,).
    powers: Array
    # exp(-epsilon j 2^shift) for j = 0, ..., m - 2, and 0 for all larger j; one alone where there are no jumps; shape
    # (m,).
    jumps: Array = field(default_factory=lambda: np.ones(1))
    shift: int = NO_JUMPS  # The power of a cost j is that of its low ``shift`` bits times the jump of the others
    # Fewest counts of a leaf or rule, of all classes together; zero unless epsilon is None, as a private draw must not
    # depend on how many records a leaf holds.
    fewest: int = 0

    @classmethod
    def private(cls, epsilon: Fraction, part_weight: float, unit: int = 1) -> Weighting:
        """Return the weighting of the exponential mechanism; its tables are as long for any number of records."""
        # epsilon: of the draw, for one record; divided by unit it is rounded down to a multiple of 2^-40.
        # part_weight: prior weight of each split or rule.
        # unit: the most that one record can cost.
        rounded = exact_rate(epsilon / unit)
        low, jumps, shift = _lengths(rounded, unit)
        if not jumps:
            return cls(epsilon=rounded, part_weight=part_weight, penalty=0.0, powers=_powers_to_zero(rounded, low))
        return cls(
            epsilon=rounded,
            part_weight=part_weight,
            penalty=0.0,
            powers=_powers_to_zero(rounded, low)[:-1],
            jumps=_powers_to_zero(rounded * 2**shift, jumps),
            shift=shift,
        )

    @classmethod
    def count(cls, n_values: int = 1) -> Weighting:
        """Return the weighting under which every split or rule counts so many times, and all else one."""
        return cls(epsilon=Fraction(0), part_weight=float(n_values), penalty=0.0, powers=np.array([1.0, 0.0]))

    @property
    def block(self) -> int:
        """The most bits b for which exp(-epsilon 2^b) is at least exp(-100) and the tables hold all smaller costs."""
        # It is 0 in the limit of large epsilon.
        if self.epsilon is None:
            return 0
        reach = len(self.powers) - 1 if len(self.jumps) == 1 else (len(self.jumps) - 1) << self.shift
        block = 0
        while 2 ** (block + 1) <= reach and self.epsilon * 2 ** (block + 1) <= BLOCK_RANGE:
            block += 1
        return block

    @property
    def exact_epsilon(self) -> Fraction:
        """The epsilon of one unit of cost at which models are drawn."""
        if self.epsilon is None:
            raise ValueError("the limit of large epsilon has none")
        return self.epsilon

    @classmethod
    def optimal(cls, penalty: float, fewest: int = 0) -> Weighting:
        """Return the limit of large epsilon: the cost alone counts, and weights number the models of least cost."""
        # Models with a leaf or rule of fewer counts than fewest are left out.
        return cls(epsilon=None, part_weight=1.0, penalty=penalty, powers=np.array([1.0, 0.0]), fewest=fewest)


def exact_rate(epsilon: Fraction) -> Fraction:
    """Return the epsilon at which models are drawn: rounded down to a multiple of 2^-40."""
    return Fraction(math.floor(epsilon * 2**EPSILON_BITS), 2**EPSILON_BITS)


def _lengths(rate: Fraction, unit: int) -> tuple[int, int, int]:
    """Return the lengths of the tables of powers and of jumps, without the zeros at their ends, and the shift."""
    # A short table of powers is alone. Two tables take the place of a long one, about as long as each other. Where even
    # the jump of one unit is too long, there is nothing to divide.
    reach = int(UNDERFLOW / rate)
    if rate > LARGEST_JUMP or (unit == 1 and reach < LONGEST_ALONE):
        return reach + 1, 0, NO_JUMPS
    shift = max(JUMP_BITS, reach.bit_length() // 2)
    while shift and rate * 2**shift > LARGEST_JUMP:
        shift -= 1
    # A jump is kept where all costs from it to the next one have powers above exp(-700).
    return 2**shift, max(1, int(UNDERFLOW / (rate * 2**shift))), shift


def _powers_to_zero(rate: Fraction, length: int) -> Array:
    """Return exp(-rate j) for j = 0, ..., length - 1, and 0 behind them."""
    # Extended precision where the platform has it; the slack allows for plain doubles.
    exponents = np.arange(length, dtype=np.longdouble) * np.longdouble(float(rate))
    return np.append(np.exp(-exponents).astype(np.float64), 0.0)


def powers_bytes(epsilon: Fraction, unit: int = 1) -> int:
    """Return the bytes that the tables of powers take, which are as many for any number of records."""
    low, jumps, _ = _lengths(exact_rate(epsilon / unit), unit)
    return 8 * (low + jumps)


def rounding(levels: int, fan_out: int, n_terms: int) -> float:
    """Return a bound on the log-ratio between the drawn and the ideal distribution, for two datasets together.

    Notes
    -----
    See ``gibbs.md``. A sum at a node has the relative error of its terms plus (n_terms + 16) 2^-53 for additions and
    products, and 2^-40 for the powers and for those below exp(-700); a product of ``fan_out`` sums adds their errors.
    Each choice is drawn with logarithms off by that error and 2^-43. Level j of L levels has at most fan_out^j choices,
    and each enters the ratio of two datasets four times.
    """
    step = (n_terms + 16) * 2.0**-53 + 2.0**-40
    error, total = step, 0.0
    for level in range(levels):
        total += fan_out ** (levels - 1 - level) * (error + 2.0**-43)
        error = fan_out * error + step
    return 4 * total
