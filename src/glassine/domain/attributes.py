"""Attributes: what is publicly known about each column of the records."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Context
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from glassine.domain.prefixes import GAP_TEXTS, Prefix, prefixes
from glassine.domain.special_codes import NO_CODES, Labels, SpecialCodes
from glassine.errors import InvalidDomainError, parameter

Scalar: TypeAlias = str | int | float | bool

LARGEST = 10**300
"""Largest size of a number: beyond it, conversions to floating point fail."""


def exact(value: float | Fraction) -> Fraction:
    """Return a number as the fraction that its shortest decimal form denotes, so that 0.1 is 1/10."""
    return Fraction(value) if isinstance(value, int | Fraction) else _decimal(float(value))


@lru_cache(maxsize=65536)
def _decimal(value: float) -> Fraction:
    return Fraction(repr(value))


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; True and False are not."""
    # Asking an abstract class takes ten times as long, and most values are plain integers.
    return type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))


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
    codes : mapping of int to str, optional
        Special codes and their labels, such as ``{-9: "refused"}``, within or outside the bounds. Each is a separate
        value without a place in the order of the others: learners ask for it, or give it a separate bin.

    Attributes
    ----------
    ends : (float, float)
        The smallest and the largest of all values, special codes included.

    Raises
    ------
    InvalidDomainError
        If a bound or a code is not a whole number, ``lo > hi``, or codes leave no other value.

    Examples
    --------
    >>> Integer(17, 90).size
    74
    >>> income = Integer(0, 100, codes={-9: "refused", 99: "unknown"})
    >>> income.size, income.ends
    (102, (-9, 100))
    """

    lo: int
    hi: int
    thresholds: tuple[float, ...] = field(default=(), kw_only=True)
    missing: bool = field(default=False, kw_only=True)
    inferred: bool = field(default=False, kw_only=True)
    codes: Labels = field(default=NO_CODES, kw_only=True)

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
        codes = _checked_codes(self.codes, 1.0, whole=True)
        object.__setattr__(self, "codes", codes)
        if len(codes) - len(codes.beyond(self.lo, self.hi)) > self.hi - self.lo:
            raise InvalidDomainError(f"every value from {self.lo} to {self.hi} is a special code.", remedy=AS_CATEGORY)

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest possible value, special codes included."""
        return int(min(self.lo, *self.codes, self.lo)), int(max(self.hi, *self.codes, self.hi))

    @property
    def size(self) -> int:
        """Number of possible values, a missing one included."""
        return self.measure(-math.inf, math.inf) + self.missing

    def measure(self, lo: float | Fraction, hi: float | Fraction) -> int:
        """Return the number of values v with ``lo < v <= hi``."""
        if lo == math.inf or hi == -math.inf:
            return 0
        first = self.lo if lo == -math.inf else max(self.lo, math.floor(lo) + 1)
        last = self.hi if hi == math.inf else min(self.hi, math.floor(hi))
        return max(0, last - first + 1) + _n_codes_beyond(self, lo, hi)


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
    codes : mapping of float to str, optional
        As in :class:`Integer`; each is at least a resolution away from every other value, or one of the grid.

    Attributes
    ----------
    ends : (float, float)
        As in :class:`Integer`.

    Raises
    ------
    InvalidDomainError
        If a bound is not finite, ``lo >= hi`` or the resolution is not in ``(0, hi - lo]``; if there are codes without
        a resolution, or one lies between two values.

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
    codes: Labels = field(default=NO_CODES, kw_only=True)

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
        codes = _checked_codes(self.codes, self.resolution)
        object.__setattr__(self, "codes", codes)
        step, first = exact(self.resolution or 1), exact(self.lo)
        last = first + step * self._grid_index(exact(self.hi), self.resolution or 1)
        for code in map(exact, codes):
            if not (code <= first - step or code >= last + step or (code - first) % step == 0):
                raise InvalidDomainError(
                    f"the special code {float(code):g} lies between two values of the domain.",
                    remedy=f"A code is a multiple of {parameter('resolution')} above {parameter('lo')}, or at least "
                    "one outside the bounds.",
                )

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest possible value, special codes included."""
        return min(self.lo, *self.codes, self.lo), max(self.hi, *self.codes, self.hi)

    @property
    def size(self) -> int | None:
        """Number of possible values, a missing one included; None without a resolution."""
        if self.resolution is None:
            return None
        return int(self.measure(-math.inf, math.inf)) + self.missing

    def _grid_index(self, value: Fraction, resolution: float) -> int:
        """Return the index of the last grid value at or below ``value``."""
        return math.floor((value - exact(self.lo)) / exact(resolution))

    def n_up_to(self, value: float | Fraction) -> int:
        """Return how many grid values are at or below a value."""
        if not isinstance(value, float) or not -FLOAT_WHOLE <= self.lo <= self.hi <= FLOAT_WHOLE:
            return max(0, self._grid_index(min(exact(value), exact(self.hi)), self.resolution or 1) + 1)
        if value < self.lo:
            return 0
        value, step = float(min(value, self.hi)), self.resolution or 1.0
        steps = (value - self.lo) / step
        # Rounding moves the quotient by less than 2^-12, so that it lies between the right two whole numbers.
        if abs(value) + abs(self.lo) < FEW_STEPS * step and NEAR < steps % 1 < 1 - NEAR:
            return math.floor(steps) + 1
        return _whole_steps(value, self.lo, step) + 1

    def measure(self, lo: float | Fraction, hi: float | Fraction) -> int | Fraction:
        """Return the number of grid values v with ``lo < v <= hi``, or the length of that interval."""
        if lo == math.inf or hi == -math.inf:
            return 0
        if self.resolution is None:
            bottom, top = exact(self.lo), exact(self.hi)
            right = top if hi == math.inf else min(top, exact(hi))
            left = bottom if lo == -math.inf else max(bottom, exact(lo))
            return max(Fraction(0), right - left)
        below = 0 if lo == -math.inf else self.n_up_to(lo)
        return max(0, self.n_up_to(self.hi if hi == math.inf else hi) - below) + _n_codes_beyond(self, lo, hi)


@lru_cache(maxsize=4_096)
def _whole_steps(value: float, lo: float, step: float) -> int:
    """Return how many whole steps lie between two numbers: thresholds of trees are asked for again and again."""
    # Decimals are as exact as fractions, and several times as fast.
    within = _DECIMALS.subtract(_DECIMALS.create_decimal(repr(value)), _DECIMALS.create_decimal(repr(lo)))
    return int(_DECIMALS.divide_int(within, _DECIMALS.create_decimal(repr(step))))


FEW_STEPS, NEAR = 2.0**39, 2.0**-10
"""Steps of a number from zero up to which a double says between which two values it lies, if it is so far from both."""
FLOAT_WHOLE = 2**53
"""Up to here the decimal of a double that is a whole number is that number."""
_DECIMALS = Context(prec=700)
"""Digits of the most steps of the smallest size between bounds."""
AS_CATEGORY = "Declare a category."


def _checked_codes(codes: Labels, step: float | None, *, whole: bool = False) -> SpecialCodes:
    """Return special codes, or raise InvalidDomainError; the step is that in which other values are recorded."""
    stated: Any = codes
    pairs = (stated if isinstance(stated, Mapping) else SpecialCodes(stated)).items()
    made = SpecialCodes([(_finite(code, "a special code"), label) for code, label in pairs])
    if len(made) and step is None:
        raise InvalidDomainError(
            f"a Real with special {parameter('codes')} needs a {parameter('resolution')}, by which values are counted.",
            remedy="Give the step in which the values are recorded, or use Integer.",
        )
    odd = next((code for code in made if not is_whole(code)), None)
    if whole and odd is not None:
        raise InvalidDomainError(
            f"the special {parameter('codes')} of an Integer must be whole numbers, got {odd!r}.",
            remedy="Use Real with a resolution for others.",
        )
    return made


def _n_codes_beyond(attribute: Integer | Real, lo: float | Fraction, hi: float | Fraction) -> int:
    """Return how many special codes c outside the bounds have ``lo < c <= hi``; the others are counted as values."""
    return sum(not attribute.lo <= code <= attribute.hi for code in attribute.codes if lo < code <= hi)


def code_cuts(attribute: Integer | Real) -> tuple[float, ...]:
    """Return the points between special codes and neighboring values, increasing; a value on a point is below it.

    Examples
    --------
    >>> code_cuts(Integer(0, 99, codes={-9: "refused", -8: "unknown", 98: "other"}))
    (-8.5, -7.5, 97.5, 98.5)
    """
    ends = {point for code in attribute.codes for point in code_ends(attribute, code)}
    return tuple(sorted(ends - {-math.inf, math.inf}))


def code_ends(attribute: Integer | Real, code: float) -> tuple[float, float]:
    """Return the ends of the interval of a special code, the first of them left open; infinite beyond all values."""
    half = exact(1 if isinstance(attribute, Integer) else attribute.resolution or 1) / 2
    low, high = attribute.ends
    ends = -math.inf if code == low else exact(code) - half, math.inf if code == high else exact(code) + half
    return float(ends[0]), float(ends[1])


@dataclass(frozen=True, slots=True)
class Category:
    """One of a public list of values.

    Parameters
    ----------
    values : tuple of str, int, float, bool or Prefix
        The possible values, in the order in which they are reported. A :class:`Prefix` stands for all texts that begin
        with it, other than the texts listed and those that begin with a longer prefix; its exceptions are set so.
    missing, inferred
        As in :class:`Integer`.
    hierarchy : tuple of tuple of str, int, float, bool or Prefix
        Groups of values that belong together, such as the countries of a continent. Two groups share no value, or one
        holds the other. Learners with coarse conditions ask for groups.

    Raises
    ------
    InvalidDomainError
        If the list is empty, repeats a value or holds one that is not a plain scalar; if there is a prefix, and a
        number or a text that is written as a prefix is; or if the hierarchy is none.

    Examples
    --------
    >>> Category(("red", "green")).size
    2
    >>> Category(("E10", Prefix("E"))).values
    ('E10', Prefix('E', but=('E10',)))
    """

    values: tuple[Scalar, ...]
    missing: bool = field(default=False, kw_only=True)
    inferred: bool = field(default=False, kw_only=True)
    hierarchy: tuple[tuple[Scalar, ...], ...] = field(default=(), kw_only=True)

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
        values = _parted(values) if prefixes(values) else values
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "hierarchy", _nested(self.hierarchy, values))

    @property
    def size(self) -> int:
        """Number of possible values, a missing one included; a prefix is one."""
        return len(self.values) + self.missing

    def place(self, text: str) -> int | None:
        """Return the index of the longest prefix that covers a text which is not listed; None where none does.

        Examples
        --------
        >>> Category((Prefix("E"), Prefix("E1"))).place("E11")
        1
        """
        if text in GAP_TEXTS:
            return None
        return next((codes[text[:n]] for n, codes in self.places if len(text) >= n and text[:n] in codes), None)

    @property
    def places(self) -> tuple[tuple[int, dict[str, int]], ...]:
        """The index of each prefix by its start, by the length of the start, the longest first."""
        return _places(self.values)


@lru_cache(maxsize=1024)
def _places(values: tuple[Scalar, ...]) -> tuple[tuple[int, dict[str, int]], ...]:
    starts = {value.start: place for place, value in enumerate(values) if isinstance(value, Prefix)}
    lengths = sorted(set(map(len, starts)), reverse=True)
    return tuple((n, {start: place for start, place in starts.items() if len(start) == n}) for n in lengths)


def _parted(values: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """Return values of which no text belongs to two: each prefix leaves out what is listed or has a longer prefix."""
    starts = {value.start for value in prefixes(values)}
    if len(starts) < len(prefixes(values)):
        raise InvalidDomainError("the prefixes of a category must differ, got one twice.", remedy="Drop the repeat.")
    but: dict[str, list[str]] = {start: [] for start in starts}
    lengths = sorted(set(map(len, starts)), reverse=True)
    for value in values:
        if not isinstance(value, str):
            raise InvalidDomainError(
                f"a category with prefixes must list texts alone, got {value!r}: numbers begin with nothing.",
                remedy="Write it as a text.",
            )
        if not isinstance(value, Prefix) and value.endswith("*") and value[:-1] in starts:
            raise InvalidDomainError(
                f"the text {value!r} is written as a prefix of the same category is.", remedy="Drop one of them."
            )
        text = value.start if isinstance(value, Prefix) else value
        # A prefix is no exception to itself.
        most = len(text) - isinstance(value, Prefix)
        above = next((text[:n] for n in lengths if n <= most and text[:n] in starts), None)
        if above is not None:
            but[above].append(value)
    return tuple(Prefix(value.start, but[value.start]) if isinstance(value, Prefix) else value for value in values)


def _nested(hierarchy: object, values: tuple[Scalar, ...]) -> tuple[tuple[Scalar, ...], ...]:
    """Return groups of values, each in the order of the values; raise where two overlap and neither holds the other."""
    if not isinstance(hierarchy, list | tuple) or not all(isinstance(group, list | tuple) for group in hierarchy):
        raise InvalidDomainError("the hierarchy of a category must be a list of lists of its values.")

    # A prefix is named by its start: its exceptions follow from the values.
    def name(value: object) -> tuple[bool, object]:
        return isinstance(value, Prefix), str(value) if isinstance(value, Prefix) else value

    place = {name(value): i for i, value in enumerate(values)}
    for value in (value for group in hierarchy for value in group):
        if not is_scalar(value) or name(value) not in place:
            raise InvalidDomainError(
                f"the hierarchy of a category names {value!r:.80}, which is not one of its values.",
                remedy="List it as a value, or drop it from the hierarchy.",
            )
    groups = [frozenset(place[name(value)] for value in group) for group in hierarchy]
    largest: dict[int, frozenset[int]] = {}
    for group in sorted(groups, key=len):
        inner = {largest[i] for i in group if i in largest}
        if not 1 < len(group) < len(values) or group in inner or not all(one <= group for one in inner):
            raise InvalidDomainError(
                "a group of a hierarchy must hold two values or more, but not all, and share none with another group, "
                f"but where one holds the other, got {[values[i] for i in sorted(group)]!r:.200}.",
                remedy="Drop it or change its values. A value in no group stands alone.",
            )
        largest |= dict.fromkeys(group, group)
    return tuple(tuple(values[i] for i in sorted(group)) for group in groups)


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
