"""Randomness: the one door through which random bits come, and exact Bernoulli draws made of them."""

from __future__ import annotations

import math
import os
import random
import secrets
import struct
import weakref
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidMechanismError, parameter

WORDS = 512
"""Words of 64 bits that are fetched at once."""

WORD_LIMIT = 1 << 64

_UNPACK = struct.Struct(f"<{WORDS}Q").unpack

_REPEATABLE = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
"""Generators whose bytes follow from a seed or a state, but for ``random.SystemRandom``."""


def _from_the_system(source: object) -> bool:
    """Whether a source of bytes is one of Python's doors to the operating system's entropy."""
    if source is os.urandom or source is secrets.token_bytes:
        return True
    owner = getattr(source, "__self__", None)
    return type(owner) is random.SystemRandom and getattr(source, "__func__", None) is random.SystemRandom.randbytes


class Randomness:
    """A stream of independent fair bits, and exact draws from it.

    Guarantee
    ---------
    With the operating system's entropy and under the assumption that its bits are independent and fair,
    every draw has exactly the stated distribution; no floating point takes part. A seeded stream is repeatable and
    protects nothing.

    A word is removed from the buffer before it is used, so that threads never share one; a child process starts with
    an empty buffer; a pickle of an unseeded stream holds no bits.

    Parameters
    ----------
    source : callable, optional
        Returns that many random bytes; the operating system's entropy by default.
    seeded : bool, optional
        Whether the source can be repeated. By default every source counts as seeded but ``os.urandom``,
        ``secrets.token_bytes`` and ``random.SystemRandom().randbytes``. False vouches for another source, such as a
        hardware generator: its bits are independent, fair and secret. A certificate then names that assumption.

    Attributes
    ----------
    seeded : bool
        Whether the stream can be repeated by who knows the seed. Read-only; True for every subclass.
    vouched : bool
        Whether the source is another one than the operating system's entropy, and the caller vouches for it.

    Raises
    ------
    InvalidMechanismError
        If ``seeded`` is True without a source, or False for a method of a generator that has a seed.

    Examples
    --------
    >>> Randomness.of(7).seeded, Randomness.of(None).seeded
    (True, False)
    >>> Randomness(np.random.default_rng(7).bytes).seeded
    True
    >>> Randomness.of(7).below(10) == Randomness.of(7).below(10)
    True
    """

    __slots__ = ("__weakref__", "_seeded", "_source", "_words")

    def __init__(self, source: Callable[[int], bytes] | None = None, *, seeded: bool | None = None) -> None:
        if seeded and source is None:
            raise InvalidMechanismError("a seeded stream needs a source, got None.", remedy="Use Randomness.of(seed).")
        owner = getattr(source, "__self__", None)
        if seeded is False and isinstance(owner, _REPEATABLE) and not isinstance(owner, random.SystemRandom):
            raise InvalidMechanismError(
                f"{parameter('seeded', False)} vouches for secret bits, and "
                f"{getattr(source, '__qualname__', source)!r} draws from a "
                "generator with a seed.",
                remedy="Leave the source out for a private release.",
            )
        self._source = os.urandom if source is None else source
        self._words: list[int] = []
        self._seeded = not _from_the_system(self._source) if seeded is None else bool(seeded)
        _STREAMS.add(self)

    @property
    def seeded(self) -> bool:
        """Whether the stream can be repeated; what a subclass draws is not known."""
        return self._seeded or type(self) is not Randomness

    @property
    def vouched(self) -> bool:
        """Whether the caller vouches for a source that is not the operating system's."""
        return not self.seeded and not _from_the_system(self._source)

    @classmethod
    def of(cls, random_state: RandomState) -> Randomness:
        """Return the stream that a ``random_state`` stands for.

        Parameters
        ----------
        random_state : None, int, numpy.random.Generator, numpy.random.RandomState or Randomness
            None is the operating system's entropy. A seed or a generator gives a repeatable stream; a generator is
            read in blocks of 4096 bytes. A stream is returned unchanged.

        Raises
        ------
        InvalidMechanismError
            If it is anything else, or a negative seed.
        """
        source: object = random_state
        if isinstance(source, Randomness):
            return source
        if source is None:
            return cls()
        if isinstance(source, int | np.integer) and not isinstance(source, bool) and source >= 0:
            return cls(np.random.default_rng(int(source)).bytes, seeded=True)
        if isinstance(source, np.random.Generator | np.random.RandomState):
            return cls(source.bytes, seeded=True)
        raise InvalidMechanismError(
            f"{parameter('random_state')} must be None, a whole number of at least 0, a numpy Generator or a numpy "
            "RandomState, "
            f"got {source!r}.",
            remedy="Use None for a private release.",
        )

    def __reduce__(self) -> tuple[object, ...]:
        if not self.seeded:
            return (Randomness, ())  # no bits, and the operating system's entropy in place of a vouched source
        return (_restored, (self._source, tuple(self._words)))

    def __repr__(self) -> str:
        return f"Randomness({'seeded' if self.seeded else 'operating system'})"

    def _word(self) -> int:
        """Return 64 fair bits."""
        while True:
            try:
                return self._words.pop()
            except IndexError:
                self._words = list(_UNPACK(self._source(8 * WORDS)))

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """Return so many fresh words of 64 fair bits, past the buffer."""
        return np.frombuffer(self._source(8 * size), dtype="<u8").astype(np.uint64, copy=False)

    def bits(self, k: int) -> int:
        """Return a uniform integer of ``k`` bits, that is in [0, 2**k)."""
        if not k >= 0:
            raise InvalidMechanismError(
                f"{parameter('k')} must be at least 0, got {k}.", remedy="Ask for a number of bits."
            )
        value = 0
        while k >= 64:
            value = value << 64 | self._word()
            k -= 64
        return value << k | self._word() >> (64 - k) if k else value

    def below(self, limit: int) -> int:
        """Return a uniform integer in [0, limit).

        Raises
        ------
        InvalidMechanismError
            If ``limit`` is not positive.
        """
        if 0 < limit <= WORD_LIMIT:
            product = self._word() * limit
            low = product & (WORD_LIMIT - 1)
            # Each result owns as many products as every other once the first 2**64 mod limit are left out.
            if low < limit:
                surplus = WORD_LIMIT % limit
                while low < surplus:
                    product = self._word() * limit
                    low = product & (WORD_LIMIT - 1)
            return product >> 64
        if not limit > 0:
            raise InvalidMechanismError(
                f"{parameter('limit')} must be positive, got {limit}. There is nothing to draw from."
            )
        length = (limit - 1).bit_length()
        value = self.bits(length)
        while value >= limit:
            value = self.bits(length)
        return value

    def bernoulli(self, numerator: int, denominator: int) -> bool:
        """Return True with probability ``numerator / denominator``.

        Raises
        ------
        InvalidMechanismError
            If the ratio is not in [0, 1].
        """
        if not 0 <= numerator <= denominator:
            raise InvalidMechanismError(
                f"a probability must lie in [0, 1], got {numerator}/{denominator}.", remedy="Give two whole numbers."
            )
        return self.below(denominator) < numerator

    def bernoulli_exp(self, gamma: Fraction) -> bool:
        """Return True with probability ``exp(-gamma)``, for ``gamma >= 0``."""
        return self.bernoulli_exp_ratio(gamma.numerator, gamma.denominator)

    def bernoulli_exp_ratio(self, numerator: int, denominator: int) -> bool:
        """Return True with probability ``exp(-numerator / denominator)``.

        Raises
        ------
        InvalidMechanismError
            If the ratio is negative or the denominator is not positive.

        References
        ----------
        Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy, Algorithm 1.
        """
        if not (numerator >= 0 and denominator > 0):
            raise InvalidMechanismError(
                f"{parameter('gamma')} must be at least 0, got {numerator}/{denominator}.",
                remedy="Subtract from the largest log-weight.",
            )
        while numerator > denominator:
            if not self._exp_of_minus(1, 1):
                return False
            numerator -= denominator
        return self._exp_of_minus(numerator, denominator)

    def _exp_of_minus(self, numerator: int, denominator: int) -> bool:
        """Return True with probability ``exp(-numerator / denominator)``, the ratio at most 1."""
        below = self.below
        limit = denominator
        odd = True
        while below(limit) < numerator:
            limit += denominator
            odd = not odd
        return odd

    def geometric(self, numerator: int, denominator: int) -> int:
        """Return k = 0, 1, ... with probability proportional to ``exp(-k * numerator / denominator)``.

        Raises
        ------
        InvalidMechanismError
            If the ratio is not positive.

        References
        ----------
        Canonne, Kamath and Steinke (2020), Algorithm 2.
        """
        if not (numerator > 0 and denominator > 0):
            raise InvalidMechanismError(
                f"the rate must be positive, got {numerator}/{denominator}.", remedy="Give two positive whole numbers."
            )
        common = math.gcd(numerator, denominator)
        step, period = numerator // common, denominator // common
        offset = self.below(period)
        while not self._exp_of_minus(offset, period):
            offset = self.below(period)
        periods = 0
        while self._exp_of_minus(1, 1):
            periods += 1
        return (offset + period * periods) // step


RandomState: TypeAlias = int | np.integer | np.random.Generator | np.random.RandomState | Randomness | None


def _restored(source: Callable[[int], bytes], words: tuple[int, ...]) -> Randomness:
    stream = Randomness(source, seeded=True)
    stream._words = list(words)
    return stream


_STREAMS: weakref.WeakSet[Randomness] = weakref.WeakSet()


def _forget_buffers() -> None:
    """Empty the buffers, so that a child process does not repeat its parent's noise."""
    for stream in list(_STREAMS):
        if not stream.seeded:
            stream._words = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_buffers)
