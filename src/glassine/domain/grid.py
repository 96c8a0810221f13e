"""The public grid of an attribute: cut points that reveal nothing about the data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from glassine.domain.attributes import Attribute, Integer, Real, code_cuts, exact
from glassine.domain.domain import Domain
from glassine.domain.single import bounds_of, nominal, single_sides

GRID_SIZE = 50
"""Largest number of cut points of a grid that is derived from bounds."""

PREFERRED = (10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91)
"""Numbers of two digits, each about a tenth above the one before: the series E24 of IEC 60063."""

DECADES = 6
"""How far below the larger bound the smallest of them lies: below millions, 10 and 20 still differ."""

SERIES = ((10, 20, 50), (10, 30), (10,))
"""Round numbers within a decade, the finest series first, for few cut points of a wide range."""

WIDE = 1_000
"""A range is wide, and its numbers are amounts, if its bound is so many times the smallest amount."""

CANDIDATES = 256
"""Most cut points of bounds among which a private quantile of a number is chosen.

The error in rank grows with the logarithm of their number alone, so that many cost little: 256 place a cut within 1/256
of the range."""

FINEST = 4096
"""Most cells of the finest grid of one number: 2^12, six levels of the tree from eight nodes down, in 16 bits."""

SMALLEST = 1e-300
"""Steps below it are not powers of ten that a double holds in full."""


def _nice_steps(span: Fraction, size: int) -> Iterator[Fraction]:
    """Yield steps of 1, 2 or 5 times a power of ten, increasing, the first too small for ``size`` cut points."""
    power = math.floor(math.log10(span / (size + 1))) - 1
    while True:
        for lead in (1, 2, 5):
            yield Fraction(10) ** power * lead
        power += 1


@lru_cache(maxsize=4096)
def public_grid(attribute: Attribute, *, size: int = GRID_SIZE) -> tuple[float, ...]:
    """Return cut points that follow from the public domain alone.

    Parameters
    ----------
    attribute : Attribute
        The attribute.
    size : int, default=50
        Largest number of cut points derived from bounds.

    Returns
    -------
    tuple of float
        The declared thresholds if there are any. Else, for an :class:`Integer` of at most ``size + 1`` values the
        points between neighbouring values; for other numbers the multiples of a step of 1, 2 or 5 times a power of
        ten that lie strictly between the bounds (less one half for an :class:`Integer`). Nothing for the others.

    Examples
    --------
    >>> public_grid(Integer(0, 3))
    (0.5, 1.5, 2.5)
    >>> public_grid(Real(0.0, 1.0), size=4)
    (0.2, 0.4, 0.6, 0.8)
    """
    if not isinstance(attribute, Integer | Real):
        return ()
    if attribute.thresholds:
        return attribute.thresholds
    lo, hi = exact(attribute.lo), exact(attribute.hi)
    if lo == hi:
        return ()
    whole = isinstance(attribute, Integer)
    shift = Fraction(1, 2) if whole else Fraction(0)
    for step in _nice_steps(hi - lo, size):
        if (whole and step.denominator > 1) or (hi - lo) / step > size + 2:
            continue
        multiples = range(math.floor(lo / step), math.ceil(hi / step) + 2)
        points = tuple(float(k * step - shift) for k in multiples if lo < k * step - shift < hi)
        if len(points) <= size:
            return points
    return ()


@lru_cache(maxsize=4096)
def log_grid(attribute: Attribute) -> tuple[float, ...]:
    """Return cut points in about equal ratios, for amounts most of which are far below their bound.

    They follow from the public domain alone, as those of :func:`public_grid` do.

    Parameters
    ----------
    attribute : Attribute
        The attribute.

    Returns
    -------
    tuple of float
        The declared thresholds if there are any. Else the preferred numbers of :data:`PREFERRED` times powers of ten
        that lie strictly between the bounds, in the upper :data:`DECADES` decades; less one half for an
        :class:`Integer`. At most 145. Nothing where the bounds have different signs, and for other attributes.

    Examples
    --------
    >>> log_grid(Integer(0, 100_000))[:4], len(log_grid(Integer(0, 100_000)))
    ((0.5, 1.5, 2.5, 3.5), 106)
    >>> log_grid(Real(10.0, 20.0))
    (11.0, 12.0, 13.0, 15.0, 16.0, 18.0)
    """
    if not isinstance(attribute, Integer | Real):
        return ()
    if attribute.thresholds:
        return attribute.thresholds
    lo, hi = exact(attribute.lo), exact(attribute.hi)
    largest = max(abs(lo), abs(hi))
    least = _least(attribute, largest, Fraction(isinstance(attribute, Integer)))
    # Around a zero in the middle of a range, values are no amounts, and fine cuts would distinguish single ones.
    return () if lo < 0 < hi else _in_ratios(attribute, PREFERRED, least, largest)


def _least(attribute: Integer | Real, largest: Fraction, unit: Fraction) -> Fraction:
    """Return the smallest amount that cut points distinguish, at least a unit."""
    least: Fraction = max(largest / 10**DECADES, unit)
    if isinstance(attribute, Real) and attribute.resolution is not None:
        least = max(least, exact(attribute.resolution))
    return least


def _in_ratios(
    attribute: Integer | Real, leads: Sequence[int], least: Fraction, largest: Fraction
) -> tuple[float, ...]:
    """Return the cut points at some numbers times powers of ten; the bounds have one sign."""
    if not least > SMALLEST:
        return ()
    lo, hi, whole = exact(attribute.lo), exact(attribute.hi), isinstance(attribute, Integer)
    power = math.floor(math.log10(least)) - 1
    sizes = (Fraction(10) ** (power + i) * lead for i in range(DECADES + 2) for lead in leads)
    values = [Fraction(0), *((size if lo >= 0 else -size) for size in sizes if least <= size <= largest)]
    if whole:
        # Between two whole numbers, where any threshold is the same cut.
        values = [round(value) - Fraction(1, 2) for value in values]
    return tuple(sorted({float(value) for value in values if lo < value < hi}))


@lru_cache(maxsize=4096)
def few_cuts(attribute: Attribute, *, size: int) -> tuple[float, ...]:
    """Return few cut points that follow from the public domain alone: round ones, or in ratios for amounts.

    Most amounts are far below their bound, and a few even steps of the bound hardly distinguish any. A range is one of
    amounts if its bounds have one sign and the larger is at least :data:`WIDE` times the smaller, which is 1 in place
    of 0, and times the resolution.

    Parameters
    ----------
    attribute : Attribute
        The attribute.
    size : int
        Largest number of cut points derived from bounds, at least 1.

    Returns
    -------
    tuple of float
        The declared thresholds if there are any. Else, for amounts, the largest points of the finest of
        :data:`SERIES` that reaches the geometric middle of the range (the last one if none does), and the smallest
        point where amounts begin at 0; less one half for an :class:`Integer`. For other numbers those of
        :func:`public_grid`. Nothing for other attributes.

    Examples
    --------
    >>> few_cuts(Integer(0, 99_999), size=9)
    (0.5, 199.5, 499.5, 999.5, 1999.5, 4999.5, 9999.5, 19999.5, 49999.5)
    >>> few_cuts(Integer(18, 69), size=9)
    (19.5, 29.5, 39.5, 49.5, 59.5)
    """
    every = _amounts(attribute)
    if not every:
        return public_grid(attribute, size=size)
    from_zero, middle, series = every
    kept: tuple[float, ...] = ()
    for points in series:
        top = max(len(points) - size + from_zero, 0)
        kept = (*points[: min(top, int(from_zero))], *points[top:])
        if abs(points[min(top, len(points) - 1)]) <= middle:
            break
    return tuple(sorted(kept))


@lru_cache(maxsize=4096)
def _amounts(attribute: Attribute) -> tuple[bool, float, tuple[tuple[float, ...], ...]] | None:
    """Return whether amounts begin at 0, the geometric middle, and each series by size; None for other ranges."""
    if not isinstance(attribute, Integer | Real) or attribute.thresholds:
        return None
    lo, hi = exact(attribute.lo), exact(attribute.hi)
    smallest, largest = sorted((abs(lo), abs(hi)))
    least = _least(attribute, largest, smallest or Fraction(1))
    if lo < 0 < hi or largest < WIDE * least:
        return None
    series = tuple(tuple(sorted(_in_ratios(attribute, leads, least, largest), key=abs)) for leads in SERIES)
    middle = math.sqrt(least) * math.sqrt(largest)
    return (smallest == 0, middle, series) if all(series) else None


def with_cuts(domain: Domain, cuts: Callable[[Attribute], tuple[float, ...]]) -> Domain:
    """Return a domain whose numbers declare as thresholds what a function returns of them."""

    def cut(attribute: Attribute) -> Attribute:
        if not isinstance(attribute, Integer | Real):
            return attribute
        # Rounding carries cut points of ranges beyond 2^53 onto the bounds, where they separate nothing.
        return replace(attribute, thresholds=tuple(c for c in cuts(attribute) if attribute.lo <= c < attribute.hi))

    return Domain({name: cut(domain[name]) for name in domain}, groups=domain.groups, shares=domain.shares)


def on_grid(attribute: Attribute, threshold: float) -> bool:
    """Return whether a threshold is a public cut point: of the grid, of round amounts, or beside a special code."""
    return grid_of(attribute)(threshold)


@lru_cache(maxsize=1024)
def grid_of(attribute: Attribute) -> Callable[[float], bool]:
    """Return :func:`on_grid` of one attribute, for its many thresholds."""
    return _one_of(attribute, _public_points)


def _one_of(attribute: Attribute, points: Callable[[Integer | Real], set[float]]) -> Callable[[float], bool]:
    """Return whether a threshold is one of some points of an attribute."""
    # A Binary or Category attribute has one way to be cut between two codes, so every threshold is.
    if not isinstance(attribute, Integer | Real):
        return lambda threshold: True
    if isinstance(attribute, Integer):
        # Between two whole numbers every threshold is the same cut.
        whole = frozenset(map(math.floor, points(attribute)))
        return lambda threshold: math.floor(threshold) in whole
    grid = frozenset(points(attribute))
    crossed = frozenset(itertools.chain.from_iterable(map(bounds_of, grid)))
    return lambda threshold: threshold in grid or (threshold in crossed and single_sides(threshold) is not None)


def _public_points(attribute: Integer | Real) -> set[float]:
    """Return the public cut points of a number."""
    amounts = _amounts(attribute)
    round_ones = itertools.chain.from_iterable(amounts[2] if amounts else ())
    return {*public_grid(attribute), *round_ones, *code_cuts(attribute)}


ROUND_DIGITS = 4
"""Most digits of a cut point that people choose, but for a last 5, as between two neighbours: 1987.5."""


def is_round(cut: float) -> bool:
    """Return whether a number has so few digits that people may have chosen it as a cut point.

    Of whole numbers the cut at 50,000 is 49,999.5 as well.

    Examples
    --------
    >>> is_round(50_000), is_round(49_999.5), is_round(1987.5), is_round(37.4183), is_round(189_233.5)
    (True, True, True, False, False)
    """

    def digits(number: float) -> tuple[int, ...]:
        # Twelve digits: two of a double are lost where a unit is changed and changed back.
        return Decimal(f"{abs(number):.12g}").normalize().as_tuple().digits

    own, cut = digits(nominal(cut)), nominal(cut)
    if len(own) <= ROUND_DIGITS or (len(own) == ROUND_DIGITS + 1 and own[-1] == 5):
        return True
    return (2 * cut) % 2 == 1 and any(len(digits(cut + side)) <= ROUND_DIGITS for side in (-0.5, 0.5))


def unround(cuts: Iterable[tuple[str, float]], domain: Domain | None) -> tuple[str, ...]:
    """Return the attributes with a cut of more digits than people choose that is no public cut point."""
    public = {} if domain is None else {name: grid_of(domain[name]) for name in domain if not domain[name].inferred}
    odd: dict[str, None] = {}
    for name, cut in cuts:
        # One cut of an attribute is enough: forests have a hundred thousand.
        if name not in odd and not is_round(cut) and not (name in public and public[name](cut)):
            odd[name] = None
    return tuple(odd)


def finest_cuts(attribute: Integer | Real, *, cells: int = FINEST) -> tuple[float, ...]:
    """Return the points between the finest cells: one per value where there are few, else of equal width.

    They follow from the bounds alone. Private fits choose among them by noisy counts. They are no public cut points:
    of a number with few values they include every cut, those taken from records as well.

    Parameters
    ----------
    attribute : Integer or Real
        The number.
    cells : int, default=4096
        Most cells.

    Examples
    --------
    >>> finest_cuts(Integer(0, 4)), finest_cuts(Real(0.0, 1.0), cells=4)
    ((0.5, 1.5, 2.5, 3.5), (0.25, 0.5, 0.75))
    """
    lo, hi = float(attribute.lo), float(attribute.hi)
    size = attribute.hi - attribute.lo + 1 if isinstance(attribute, Integer) else attribute.size
    if isinstance(attribute, Real) and size is not None:
        size -= attribute.missing + sum(not lo <= code <= hi for code in attribute.codes)
    if size is not None and size <= cells:
        step = 1.0 if isinstance(attribute, Integer) else float(attribute.resolution or 1.0)
        return tuple((lo + step * (np.arange(1, int(size)) - 0.5)).tolist())
    return _even_cuts(attribute, cells)


def _even_cuts(attribute: Integer | Real, cells: int) -> tuple[float, ...]:
    """Return the points between cells of equal width; of whole numbers, half way to the next one."""
    lo, hi = float(attribute.lo), float(attribute.hi)
    cuts = lo + (hi - lo) * (np.arange(1, cells) / cells)
    if isinstance(attribute, Integer):
        cuts = np.floor(cuts) + 0.5
    return tuple(np.unique(cuts).tolist())


def is_candidate(attribute: Attribute, threshold: float) -> bool:
    """Return whether private fits can choose a threshold: it follows from the domain alone.

    Candidates are the public cut points, up to 256 points for private quantiles, and :func:`finest_cuts`. An
    ordinary model, which takes thresholds from records, can have some of them by chance.

    Examples
    --------
    >>> age = Integer(18, 90, thresholds=(30, 60))
    >>> on_grid(age, 41.5), is_candidate(age, 41.5), is_candidate(Real(0.0, 1.0), 0.1234)
    (False, True, False)
    """
    return _candidate_of(attribute)(threshold)


@lru_cache(maxsize=1024)
def _candidate_of(attribute: Attribute) -> Callable[[float], bool]:
    return _one_of(attribute, _candidates)


def _candidates(attribute: Integer | Real) -> set[float]:
    """Return the public cut points of a number, and those among which private fits choose."""
    quantiles = public_grid(attribute, size=CANDIDATES)
    # Cells of equal width are cells of the finest grid taken together, which a resolution can place elsewhere.
    return {*_public_points(attribute), *quantiles, *finest_cuts(attribute), *_even_cuts(attribute, FINEST)}


def are_adjacent(attribute: Attribute, below: float, above: float) -> bool:
    """Return whether no possible value lies between two values, so that every threshold between them is the same cut.

    Neighboring whole numbers are; of other numbers, neighbors on a declared resolution. A resolution that was inferred
    from data says nothing of the values that are possible.

    Examples
    --------
    >>> are_adjacent(Integer(0, 9), 1, 2), are_adjacent(Integer(0, 9), 1, 3), are_adjacent(Real(0.0, 9.0), 1, 2)
    (True, False, False)
    """
    if isinstance(attribute, Real) and (attribute.inferred or attribute.resolution is None):
        return False
    return isinstance(attribute, Integer | Real) and attribute.measure(below, above) == 1


def measures(attribute: Integer | Real, edges: Sequence[float | Fraction]) -> list[int | Fraction]:
    """Return the measure between neighbors of increasing edges, of thousands without asking for each edge twice.

    Examples
    --------
    >>> measures(Integer(0, 9), (-math.inf, 2.5, 8, math.inf))
    [3, 6, 1]
    """
    lo, hi = attribute.lo, attribute.hi
    ups: list[int | Fraction]
    if attribute.codes:
        return [attribute.measure(left, right) for left, right in itertools.pairwise(edges)]
    if isinstance(attribute, Integer):
        ups = [int(lo) - 1 if edge < lo else int(hi) if edge >= hi else math.floor(edge) for edge in edges]
    elif attribute.resolution is None:
        bottom, top = exact(lo), exact(hi)
        ups = [bottom if edge <= lo else top if edge >= hi else exact(edge) for edge in edges]
    else:
        ups = [0 if edge < lo else attribute.n_up_to(min(edge, hi)) for edge in edges]
    return [right - left for left, right in itertools.pairwise(ups)]
