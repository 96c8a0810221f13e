"""Sets of values of one attribute, and the literals that say them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from glassine.domain import Attribute, Between, Binary, Category, Integer, Literal, OneOf, Real
from glassine.domain.attributes import Scalar
from glassine.formats.conditions import binary

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Region:
    """A set of values: numbers in some intervals, and listed texts, or all but those.

    Attributes
    ----------
    numbers : tuple of (float, float)
        Intervals ``lo < value <= hi`` in order, which neither meet nor touch. A number alone is the interval from the
        double below it.
    texts : frozenset of str
        The listed texts.
    others : bool
        Whether all other texts are in the set, and the listed ones are not.

    Examples
    --------
    >>> some = Region.of([3, "a"]) | Region(((5, 9),))
    >>> (some & Region(((2, 6),))).numbers[1], (~some).others
    ((5, 6), True)
    """

    numbers: tuple[Interval, ...] = ()
    texts: frozenset[str] = frozenset()
    others: bool = False

    @classmethod
    def of(cls, values: Iterable[Scalar]) -> Region:
        """Return the set of some values."""
        listed = list(values)
        points = sorted({float(value) for value in listed if not isinstance(value, str)})
        pairs = ((math.nextafter(point, -math.inf), point) for point in points)
        return cls(tuple(_joined(pairs)), frozenset(value for value in listed if isinstance(value, str)))

    def __invert__(self) -> Region:
        starts = [-math.inf, *(hi for _, hi in self.numbers)]
        ends = [*(lo for lo, _ in self.numbers), math.inf]
        gaps = tuple((lo, hi) for lo, hi in zip(starts, ends, strict=True) if lo < hi)
        return Region(gaps, self.texts, not self.others)

    def __or__(self, other: Region) -> Region:
        numbers = tuple(_joined(sorted((*self.numbers, *other.numbers))))
        if self.others or other.others:
            left = [~self if self.others else self, ~other if other.others else other]
            both = self.others and other.others
            texts = (
                left[0].texts & left[1].texts
                if both
                else (left[0].texts ^ left[1].texts) & (left[0].texts if self.others else left[1].texts)
            )
            return Region(numbers, texts, True)
        return Region(numbers, self.texts | other.texts)

    def __and__(self, other: Region) -> Region:
        return ~(~self | ~other)

    def __sub__(self, other: Region) -> Region:
        return self & ~other

    @property
    def empty(self) -> bool:
        """Whether no value is in it."""
        return not (self.numbers or self.texts or self.others)

    def union(self, others: Iterable[Region]) -> Region:
        """Return the set of all values in it or in others."""
        out = self
        for other in others:
            out = out | other
        return out

    def pieces(self) -> list[Region]:
        """Return parts of which a literal says each."""
        parts = [Region((interval,)) for interval in self.numbers]
        return parts + ([Region(texts=self.texts, others=self.others)] if self.texts or self.others else [])

    def without_fractions(self) -> Region:
        """Return the set of whole numbers in it, as intervals between them."""
        pairs = [
            (math.floor(lo) if lo > -math.inf else lo, math.floor(hi) if hi < math.inf else hi)
            for lo, hi in self.numbers
        ]
        return Region(tuple(_joined((float(lo), float(hi)) for lo, hi in pairs if lo < hi)), self.texts, self.others)


def _joined(pairs: Iterable[Interval]) -> Iterator[Interval]:
    """Yield intervals, given in order, those that touch as one."""
    last: Interval | None = None
    for lo, hi in pairs:
        if last is not None and lo <= last[1]:
            last = last[0], max(last[1], hi)
            continue
        if last is not None:
            yield last
        last = lo, hi
    if last is not None:
        yield last


NUMBERS = Region(((-math.inf, math.inf),))
TEXTS = Region(others=True)
NOTHING = Region()


def region_of(literal: Literal) -> Region:
    """Return the present values that satisfy a literal."""
    inside = Region(((literal.lo, literal.hi),)) if isinstance(literal, Between) else Region.of(literal.values)
    return ~inside if literal.negated else inside


def declared(attribute: Attribute) -> Region:
    """Return the values that a domain declares."""
    if isinstance(attribute, Category):
        return Region.of(attribute.values)
    if isinstance(attribute, Binary):
        return Region.of((0, 1))
    least, most = attribute.ends
    low = least - 1.0 if isinstance(attribute, Integer) else math.nextafter(least, -math.inf)
    return Region(((low, float(most)),))


def within(region: Region, universe: Region, attribute: Attribute | None) -> Region:
    """Return the part of a set that an attribute can have."""
    part = region & universe
    return part.without_fractions() if isinstance(attribute, Integer) else part


def literal_of_region(
    name: str, region: Region, universe: Region, attribute: Attribute | None, order: Sequence[Scalar] = ()
) -> Literal | None:
    """Return the literal of present values that says a set within a universe; None where no single one does."""
    texts = region.texts or universe.texts or not universe.numbers
    numeric = isinstance(attribute, Integer | Real) or not texts
    inside, outside = within(region, universe, attribute), within(~region, universe, attribute)
    if outside.empty:
        return Between(name) if numeric else OneOf(name, (), negated=True)
    if inside.empty:
        return OneOf(name, ())
    if isinstance(attribute, Binary):
        return binary(name, (inside & Region.of((1,))).numbers != ())
    # What no record has may be in the set or not: the set is first taken as it is, then as far as records go.
    for part, rest in ((region, ~region), (inside, outside)):
        if numeric or not (part.texts or part.others):
            for one, negated in ((part, False), (rest, True)):
                if one.texts or (one.others and not numeric):
                    continue
                points = [hi for lo, hi in one.numbers if lo == math.nextafter(hi, -math.inf)]
                if len(points) == len(one.numbers):
                    return OneOf(name, tuple(map(_plain, points)), negated=negated)
                if len(one.numbers) == 1:
                    (ends,) = one.numbers
                    return Between(name, *ends, negated=negated)
        elif not (universe.numbers and part.numbers):
            listed = {text: None for text in (*order, *sorted(part.texts)) if text in part.texts}
            return OneOf(name, tuple(listed), negated=part.others)
    return None


def _plain(value: float) -> Scalar:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
