"""Discrete Gaussian noise on sums of small units: integers that count as Gaussian in every accounting."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from glassine.compiling import compiled
from glassine.errors import InvalidMechanismError, parameter
from glassine.privacy.mechanisms import discrete_gaussian
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import AnyArray, Ints

# Exact discrete Gaussian noise for many values at once, compiled, from a stream of fair bits.


SMALLEST_SIGMA = 1.0
LARGEST_SIGMA = 2.0**52
"""The kernel's integers stay within 64 bits for standard deviations from the one up to, not including, the other."""

MOST = 512
"""A draw that may lie so many standard deviations out is finished with Python's integers."""

WORDS = 8
"""Words of 64 bits for each value that are asked for at first."""

DECIDED, EXHAUSTED, FAR = 0, 1, 2

PAD = np.zeros(1, dtype=np.uint64)
"""Follows the stream, is read beside its last word and never used."""

LEAST, LARGEST = -(2**63), 2**63 - 1


def add_discrete_gaussian(
    values: Ints, sigma: float, randomness: Randomness, *, most: int = MOST, words: int = WORDS
) -> Ints:
    """Add noise k with probability proportional to ``exp(-k**2 / (2 * sigma**2))`` to integers.

    Guarantee
    ---------
    Exact, for fair bits: that of :func:`glassine.privacy.mechanisms.discrete_gaussian`; see
    ``fine_gaussian.md``. Results beyond 64 bits saturate, which is post-processing.

    Parameters
    ----------
    values : ndarray of int64
        Of any shape.
    sigma : float
        Standard deviation, in [1, 2**52).
    randomness : Randomness
        Source of the bits; they are fetched in bulk, and what is left over is thrown away.
    most : int, default=512
        Draws this many standard deviations out are finished with Python's integers, at most 512.
    words : int, default=8
        Words to fetch for each value at first. More are fetched as needed; results do not depend on it.

    Raises
    ------
    InvalidMechanismError
        If sigma is out of its range.

    References
    ----------
    Karney (2016), *Sampling exactly from the normal distribution*, Algorithm D, in its form for whole numbers.

    Examples
    --------
    >>> add_discrete_gaussian(np.zeros((2, 3), dtype=np.int64), 1e6, Randomness.of(0)).shape
    (2, 3)
    """
    if not SMALLEST_SIGMA <= sigma < LARGEST_SIGMA:
        raise InvalidMechanismError(
            f"{parameter('sigma')} must be in [1, 2**52), got {sigma}.", remedy="Use discrete_gaussian()."
        )
    scale, exact = _Scale.of(sigma), Fraction(sigma)
    noise = np.empty(values.size, dtype=np.int64)
    far: dict[int, int] = {}
    state, left = np.zeros(3, dtype=np.int64), np.empty(0, dtype=np.uint64)
    done, wanted = 0, words * values.size
    while done < values.size:
        # What is left of the stream comes first, so that no draw depends on where a block ends.
        left = np.concatenate([left[state[0] >> 6 : -1], randomness.words(max(wanted, 1)), PAD])
        state[0], state[1] = state[0] & 63, 64 * (len(left) - 1)
        done, status, multiples = _fill(left, state, scale, most, noise, done)
        # Less than exp(-most / 2) of the draws come here: Python's integers finish them with bits of their own.
        while status == FAR:
            value = _finish(multiples, exact, randomness)
            if value is not None:
                far[done] = value
                noise[done] = 0
                done += 1
            done, status, multiples = _fill(left, state, scale, most, noise, done)
        wanted = max(64, words * (values.size - done))
    return _added(values, noise, far)


class _Scale(NamedTuple):
    """A standard deviation as ``p / 2**q``, and the number of bits of what is drawn below p and the next integer."""

    p: int
    q: int
    width: int
    upper_width: int

    @classmethod
    def of(cls, sigma: float) -> _Scale:
        mantissa, exponent = math.frexp(sigma)
        # 53 bits, so that rejection from the next power of two takes at most two tries on average.
        p = int(mantissa * 2**53)
        return cls(p, 53 - exponent, p.bit_length(), (math.ceil(sigma) - 1).bit_length())


def _added(values: Ints, noise: Ints, far: dict[int, int]) -> Ints:
    """Return the sums, saturating at 64 bits."""
    flat = values.reshape(-1)
    sums = flat + noise
    # Where adding wrapped around, and only there, the sum has the sign of neither part.
    beyond = ((flat ^ sums) & (noise ^ sums)) < 0
    if beyond.any():
        sums[beyond] = np.where(flat[beyond] < 0, LEAST, LARGEST)
    for i, drawn in far.items():
        sums[i] = min(max(int(flat[i]) + drawn, LEAST), LARGEST)
    return sums.reshape(values.shape)


def _finish(multiples: int, sigma: Fraction, randomness: Randomness) -> int | None:
    """Go on with a draw whose number of standard deviations is at least so many; None if it is rejected."""
    k = multiples
    while randomness.bernoulli_exp_ratio(1, 2):
        k += 1
    if not randomness.bernoulli_exp_ratio(k * (k - 1), 2):
        return None
    negative = bool(randomness.bits(1))
    value = math.ceil(k * sigma) + randomness.below(math.ceil(sigma))
    x = value / sigma - k
    if not x < 1 or (value == 0 and negative) or not randomness.bernoulli_exp(x * (2 * k + x) / 2):
        return None
    return -value if negative else value


@compiled
def _take(words: AnyArray, state: AnyArray, width: int) -> Any:
    """Return the next bits of the stream, at most 53, as a number; -1 where fewer are left."""
    at = state[0]
    state[0] = at + width
    if at + width > state[1]:
        return -1
    if width == 0:
        return 0
    word, offset = at >> 6, np.uint64(at & 63)
    # The second word is shifted out where it is not needed, which takes less time than asking.
    value = words[word] >> offset | words[word + 1] << np.uint64(1) << (np.uint64(63) - offset)
    return np.int64(value & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))


@compiled
def _below(words: AnyArray, state: AnyArray, limit: int, width: int) -> Any:
    """Return a uniform number below a limit of so many bits; the limit itself where the stream ends."""
    value = _take(words, state, width)
    # The end of the stream, -1, is below every limit: the loop ends there too.
    while value >= limit:
        value = _take(words, state, width)
    return limit if value < 0 else value


@compiled
def _one_in(words: AnyArray, state: AnyArray, n: int) -> Any:
    """Return True with probability ``1 / n``; False where the stream ends."""
    width = 0
    # As many bits as the largest number below n has: rejection then takes two tries on average at most.
    while (n - 1) >> width:
        width += 1
    return _below(words, state, n, width) == 0


@compiled
def _root(words: AnyArray, state: AnyArray) -> bool:
    """Return True with probability ``exp(-1 / 2)``; False soon after the stream ends."""
    n = 1
    coin = _take(words, state, 1)
    # Round n goes on with probability 1 / (2 n): to end at an odd n has the alternating series of exp(-1 / 2).
    while coin == 0 and _one_in(words, state, n):
        n += 1
        coin = _take(words, state, 1)
    return coin >= 0 and n & 1 == 1


@compiled
def _part(words: AnyArray, state: AnyArray, a: int, p: int, width: int, k: int) -> bool:
    """Return True with probability ``exp(-x * (2 * k + x) / (2 * k + 2))`` for ``x = a / p``."""
    n = 1
    choices = 0
    while (2 * k + 1) >> choices:
        choices += 1
    while _one_in(words, state, n):
        # Of 2k + 2 equally likely cases 2k hold with probability x, one with its square, and one never.
        case = _below(words, state, 2 * k + 2, choices)
        if case > 2 * k or not _below(words, state, p, width) < a:
            break
        if case == 2 * k and not _below(words, state, p, width) < a:
            break
        n += 1
    return n & 1 == 1


@compiled
def _draw(words: AnyArray, state: AnyArray, scale: _Scale, most: int) -> Any:
    """Return one draw, or the number k of standard deviations at which Python goes on."""
    # state[2] states which of the two it is.
    # state: (3,), the bits that are read, the bits that there are, and how the draw ended.
    p, q, width, upper_width = scale
    while True:
        k = 0
        # Karney's steps: k with probability proportional to exp(-k^2 / 2), as exp(-k / 2) times exp(-k (k - 1) / 2).
        while k < most and _root(words, state):
            k += 1
        passed = True
        if k < most:
            for _ in range(k * (k - 1)):
                if not _root(words, state):
                    passed = False
                    break
        if state[0] > state[1]:
            state[2] = EXHAUSTED
            return 0
        if k == most:
            state[2] = FAR
            return k
        if not passed:
            continue
        negative = _take(words, state, 1)
        # ``first`` is k sigma rounded up, ``gap`` what rounding added, in units of 2**-q; the whole part and the rest
        # of sigma apart, so that no product leaves 64 bits.
        rest = k * (p & ((1 << q) - 1))
        first, gap = k * (p >> q) + (rest >> q), -rest & ((1 << q) - 1)
        if gap:
            first += 1
        upper = (p >> q) + (1 if p & ((1 << q) - 1) else 0)
        steps = _below(words, state, upper, upper_width)
        if state[0] > state[1]:
            state[2] = EXHAUSTED
            return 0
        a = (steps << q) + gap
        # Zero has one sign, or it would be drawn twice as often.
        if a >= p or (first + steps == 0 and negative):
            continue
        for _ in range(k + 1):
            if not _part(words, state, a, p, width, k):
                passed = False
                break
        if state[0] > state[1]:
            state[2] = EXHAUSTED
            return 0
        if passed:
            state[2] = DECIDED
            return -(first + steps) if negative else first + steps


@compiled
def _fill(
    words: AnyArray, state: AnyArray, scale: _Scale, most: int, out: AnyArray, first: int
) -> tuple[int, int, int]:
    """Write draws from an index on; return the first that is not decided, why, and its number of deviations."""
    for i in range(first, len(out)):
        start = state[0]
        value = _draw(words, state, scale, most)
        if state[2] == EXHAUSTED:
            # The whole draw is done again with the same bits and more.
            state[0] = start
            return i, EXHAUSTED, 0
        if state[2] == FAR:
            return i, FAR, value
        out[i] = value
    return len(out), DECIDED, 0


def load_noise() -> None:
    """Load or compile the kernel that draws the noise."""
    words, whole = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64)
    _fill.load(words, whole, _Scale.of(SMALLEST_SIGMA), MOST, whole, 0)


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
    none on its own: a bound for the accountant, proved in ``fine_gaussian.md``.

    Examples
    --------
    >>> slack_of(1, 2.0**30) < 2e-15, slack_of(10**9, 2.0**30) < 3e-10
    (True, True)
    """
    if not sigma >= FINE_SIGMA:
        raise InvalidMechanismError(
            f"{parameter('sigma')} must be at least {FINE_SIGMA} units, got {sigma}.", remedy="Use a finer unit."
        )
    return min((REACH**2 / 8 + 1) * values, 4096 * releases + values / 4) / sigma**2


def tail_per_value() -> float:
    """Return the delta that one value sets aside, for epsilons up to ``LARGEST_EPSILON``."""
    return 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class FineNoise:
    """The unit and the noise of a release of sums."""

    units: int  # How many units make one: a contribution of 1 is this integer
    sigma: float  # Standard deviation of the noise, in units
    mu: float  # What one release costs in Gaussian differential privacy
    l2_sensitivity: float  # Of all sums together, in units

    @classmethod
    def of(cls, mu: float, squared_sensitivity: float) -> FineNoise:
        """Return the noise with which sums cost a given mu.

        The square is that of the l2 norm of what one record adds, in ones: the number of sums that one record enters,
        if it adds at most 1 in size to each.

        Examples
        --------
        >>> noise = FineNoise.of(0.5, 4)
        >>> noise.l2_sensitivity / noise.sigma <= 0.5, round(noise.deviation, 6)
        (True, 4.0)
        """
        if not 0 < mu < math.inf or not squared_sensitivity >= 1:
            raise InvalidMechanismError(
                f"{parameter('mu')} must be positive and finite and {parameter('squared_sensitivity')} at least 1, "
                f"got {mu}, {squared_sensitivity}."
            )
        ones = math.sqrt(squared_sensitivity) / mu
        # A power of two: dividing by it loses nothing.
        units = 2 ** min(40, max(10, math.ceil(math.log2(UNITS / ones))))
        # Rounded upwards, here and for sigma: what is stated is never below what is.
        l2 = units * math.sqrt(squared_sensitivity) * (1 + 1e-12)
        sigma = max(l2 / mu * (1 + 1e-12), FINE_SIGMA)
        return cls(units=units, sigma=sigma, mu=mu, l2_sensitivity=l2)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, in ones."""
        return self.sigma / self.units

    def draw(self, shape: tuple[int, ...], randomness: Randomness) -> Ints:
        """Return the noise alone, in units, to be added modulo 2^64 to sums of units.

        Guarantee
        ---------
        ``mu``-Gaussian differential privacy but for :func:`slack_of`, of sums to which it is added and which one record
        moves by at most ``l2_sensitivity`` units; see ``fine_gaussian.md``. The sums may be known modulo 2^64 alone:
        what is added modulo 2^64 is post-processing of the exact sum with its noise, however many records there are.
        """
        nothing = np.zeros(shape, dtype=np.int64)
        if randomness.seeded or not self.sigma < LARGEST_SIGMA:
            return discrete_gaussian(nothing, self.sigma, randomness)
        return add_discrete_gaussian(nothing, self.sigma, randomness)


def wrapped(values: Iterable[int]) -> Ints:
    """Return whole numbers of any size modulo 2^64, as 64-bit integers.

    Examples
    --------
    >>> wrapped([3, 2**63, -(2**64) - 1]).tolist()
    [3, -9223372036854775808, -1]
    """
    return np.array([(value + 2**63) % 2**64 - 2**63 for value in values], dtype=np.int64)
