"""Attributes: what is publicly known about each column of the records."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from glassine.errors import InvalidDomainError, parameter

__all__ = ["Attribute", "Binary", "Category", "Integer", "Real", "Scalar"]

Scalar: TypeAlias = str | int | float | bool

LARGEST = 10**300
"""Largest size of a number: beyond it, conversions to floating point fail."""


def exact(value: float) -> Fraction:
    """Return a number as the fraction that its shortest decimal form denotes, so that 0.1 is 1/10."""
    return Fraction(value) if isinstance(value, int) else Fraction(repr(float(value)))


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_name(value: object) -> bool:
    """Return whether a value can name an attribute: a string that is not empty."""
    return isinstance(value, str) and bool(value)


def is_scalar(value: object) -> bool:
    """Return whether a value can be a category: a string, a finite number or a Boolean."""
    return isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= LARGEST)


def _finite(value: object, what: str) -> float:
    """Return a number as int or float; NumPy's are converted."""
    number: float = math.nan
    if isinstance(value, bool):
        number = math.nan
    elif isinstance(value, numbers.Integral):
        number = int(value)
    elif isinstance(value, numbers.Real):
        number = float(value)
    if not abs(number) <= LARGEST:
        quoted = repr(value) if not isinstance(value, int) else "one beyond 1e300"
        raise InvalidDomainError(f"{what} must be a finite number, got {quoted}.", remedy="Give the public bound.")
    return number


def _checked_thresholds(thresholds: Iterable[float], lo: float, hi: float) -> tuple[float, ...]:
    values = tuple(_finite(value, "a threshold") for value in thresholds)
    if any(a >= b for a, b in pairwise(values)):
        raise InvalidDomainError(
            f"{parameter('thresholds')} must increase strictly, got {values!r}.", remedy="Sort them and drop repeats."
        )
    for value in values:
        if not lo <= value < hi:
            raise InvalidDomainError(
                f"a threshold must lie in [{parameter('lo=')}{lo}, {parameter('hi=')}{hi}), got {value}. It separates "
                "nothing."
            )
    return values


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number between two public bounds, both included.

    Parameters
    ----------
    lo, hi : int
        Smallest and largest possible value.
    thresholds : tuple of float, optional
        Public cut points, strictly increasing, from ``lo`` to below ``hi``.
    missing : bool, default=False
        Whether a value may be missing; a missing value counts as one more value.
    inferred : bool, default=False
        Whether the bounds were taken from data.

    Raises
    ------
    InvalidDomainError
        If a bound is not a whole number or ``lo > hi``.

    Examples
    --------
    >>> Integer(17, 90).size
    74
    """

    lo: int
    hi: int
    thresholds: tuple[float, ...] = field(default=(), kw_only=True)
    missing: bool = field(default=False, kw_only=True)
    inferred: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("lo", "hi"):
            bound = getattr(self, name)
            if not is_whole(bound):
                raise InvalidDomainError(
                    f"Integer bounds must be whole numbers, got {bound!r}.", remedy="Use Real for others."
                )
            if not abs(bound) <= LARGEST:
                raise InvalidDomainError("Integer bounds must lie within 1e300.", remedy="Use narrower bounds.")
            object.__setattr__(self, name, int(bound))
        if not self.lo <= self.hi:
            raise InvalidDomainError(
                f"Integer needs lo <= hi, got {parameter('lo=')}{self.lo} and {parameter('hi=')}{self.hi}.",
                remedy="Swap the bounds.",
            )
        object.__setattr__(self, "thresholds", _checked_thresholds(self.thresholds, self.lo, self.hi))

    @property
    def size(self) -> int:
        """Number of possible values, a missing one included."""
        return self.hi - self.lo + 1 + self.missing

    def measure(self, lo: float, hi: float) -> int:
        """Return the number of values v with ``lo < v <= hi``."""
        if lo == math.inf or hi == -math.inf:
            return 0
        first = self.lo if lo == -math.inf else max(self.lo, math.floor(lo) + 1)
        last = self.hi if hi == math.inf else min(self.hi, math.floor(hi))
        return max(0, last - first + 1)


@dataclass(frozen=True, slots=True)
class Real:
    """A real number between two public bounds, both included.

    Parameters
    ----------
    lo, hi : float
        Smallest and largest possible value.
    resolution : float, optional
        Step of the grid ``lo, lo + resolution, ...`` on which values lie. Without it the values are a continuum:
        bits learned about them are defined, the number of possible values is not.
    thresholds, missing, inferred
        As in :class:`Integer`.

    Raises
    ------
    InvalidDomainError
        If a bound is not finite, ``lo >= hi`` or the resolution is not in ``(0, hi - lo]``.

    Examples
    --------
    >>> Real(0.0, 1.0, resolution=0.1).size
    11
    >>> Real(0.0, 1.0).size is None
    True
    """

    lo: float
    hi: float
    resolution: float | None = None
    thresholds: tuple[float, ...] = field(default=(), kw_only=True)
    missing: bool = field(default=False, kw_only=True)
    inferred: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lo", _finite(self.lo, "lo"))
        object.__setattr__(self, "hi", _finite(self.hi, "hi"))
        if not self.lo < self.hi:
            raise InvalidDomainError(
                f"Real needs lo < hi, got {parameter('lo=')}{self.lo} and {parameter('hi=')}{self.hi}.",
                remedy="Swap or widen the bounds.",
            )
        if self.resolution is not None:
            object.__setattr__(self, "resolution", _finite(self.resolution, "resolution"))
            if not 0 < exact(self.resolution) <= exact(self.hi) - exact(self.lo):
                raise InvalidDomainError(
                    f"{parameter('resolution')} must lie in (0, hi - {parameter('lo=')}{self.hi - self.lo}], got "
                    f"{self.resolution}.",
                    remedy="Give the step in which the values are recorded.",
                )
        object.__setattr__(self, "thresholds", _checked_thresholds(self.thresholds, self.lo, self.hi))

    @property
    def size(self) -> int | None:
        """Number of possible values, a missing one included; None without a resolution."""
        if self.resolution is None:
            return None
        return self._grid_index(exact(self.hi), self.resolution) + 1 + self.missing

    def _grid_index(self, value: Fraction, resolution: float) -> int:
        """Return the index of the last grid value at or below ``value``."""
        return math.floor((value - exact(self.lo)) / exact(resolution))

    def measure(self, lo: float, hi: float) -> int | Fraction:
        """Return the number of grid values v with ``lo < v <= hi``, or the length of that interval."""
        if lo == math.inf or hi == -math.inf:
            return 0
        bottom, top = exact(self.lo), exact(self.hi)
        right = top if hi == math.inf else min(top, exact(hi))
        if self.resolution is None:
            left = bottom if lo == -math.inf else max(bottom, exact(lo))
            return max(Fraction(0), right - left)
        first = 0 if lo == -math.inf else max(0, self._grid_index(exact(lo), self.resolution) + 1)
        return max(0, self._grid_index(right, self.resolution) - first + 1)


@dataclass(frozen=True, slots=True)
class Category:
    """One of a public list of values.

    Parameters
    ----------
    values : tuple of str, int, float or bool
        The possible values, in the order in which they are reported.
    missing, inferred
        As in :class:`Integer`.

    Raises
    ------
    InvalidDomainError
        If the list is empty, repeats a value or holds one that is not a plain scalar.

    Examples
    --------
    >>> Category(("red", "green")).size
    2
    """

    values: tuple[Scalar, ...]
    missing: bool = field(default=False, kw_only=True)
    inferred: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        listed: object = self.values
        if isinstance(listed, str):
            raise InvalidDomainError(
                f"{parameter('values')} must be a list, got the string {listed!r}.", remedy="Put it in a tuple."
            )
        values = tuple(self.values)
        if not values:
            raise InvalidDomainError("Category needs at least one value, got none.", remedy="List the public values.")
        for value in values:
            if not is_scalar(value):
                raise InvalidDomainError(
                    f"a category value must be a string, number or Boolean, got {value!r}.",
                    remedy=f"Use {parameter('missing', True)} for gaps.",
                )
        if len(set(values)) < len(values):
            twice = next(v for i, v in enumerate(values) if v in values[:i])
            raise InvalidDomainError(f"category values must differ, got {twice!r} twice.", remedy="Drop the repeat.")
        object.__setattr__(self, "values", values)

    @property
    def size(self) -> int:
        """Number of possible values, a missing one included."""
        return len(self.values) + self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """A value that is 0 or 1.

    Parameters
    ----------
    missing, inferred
        As in :class:`Integer`.

    Examples
    --------
    >>> Binary().size
    2
    """

    missing: bool = False
    inferred: bool = False

    @property
    def size(self) -> int:
        """Number of possible values, a missing one included."""
        return 2 + self.missing


Attribute: TypeAlias = Integer | Real | Category | Binary
