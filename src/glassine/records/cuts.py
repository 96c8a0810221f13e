"""Cut points of numbers: what literals, bins and histograms distinguish."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from glassine.domain import Between, Domain, Integer, Literal, Real
from glassine.domain.attributes import LARGEST
from glassine.records.arrays import Array
from glassine.records.columns import ConformedColumns

Cuts: TypeAlias = Mapping[str, Sequence[float]]
"""Cut points by attribute; a cut t parts ``x <= t`` from ``x > t``."""


def cuts_of(literals: Iterable[Literal], domain: Domain) -> dict[str, tuple[float, ...]]:
    """Return the points at which literals distinguish numbers, by tested attribute.

    No literal distinguishes two numbers between neighboring points. A value that a literal names has its own cell. An
    attribute that is not a number has no points.

    Examples
    --------
    >>> from glassine.domain import Binary
    >>> domain = Domain({"age": Integer(0, 99), "smoker": Binary()})
    >>> cuts_of([Between("age", hi=40.5), Between("age", lo=20.5, hi=40.5)], domain)
    {'age': (20.5, 40.5)}
    """
    cuts: dict[str, set[float]] = {}
    for literal in literals:
        own = cuts.setdefault(literal.attribute, set())
        if not isinstance(domain[literal.attribute], Integer | Real):
            continue
        if isinstance(literal, Between):
            own |= {float(point) for point in (literal.lo, literal.hi) if math.isfinite(point)}
            continue
        for value in literal.values:
            # As where literals are decided: a whole number that no double equals is the value of no record.
            if not isinstance(value, str) and abs(value) <= LARGEST and float(value) == value:
                own |= {math.nextafter(float(value), -math.inf), float(value)}
    return {name: tuple(sorted(points)) for name, points in cuts.items()}


def cell_ends(attribute: Integer | Real, cuts: Sequence[float]) -> Array:
    """Return the largest number of each cell of a numeric attribute, increasing: the cuts inside it, and its bound."""
    # Cell i holds the numbers above entry i - 1 up to entry i. Every literal whose points are among the cuts holds for
    # all numbers of a cell or for none, so that the entry stands for them.
    lo, hi = map(float, attribute.ends)
    inside = sorted({float(cut) for cut in cuts if lo <= cut < hi})
    # Adding zero turns -0.0 into 0.0, as in records that are read.
    return np.array([*inside, hi], dtype=np.float64) + 0.0


def coarse(columns: ConformedColumns, cuts: Cuts) -> ConformedColumns:
    """Return records in which a number that has cuts is the largest one of its cell; missing ones stay missing."""
    numbers = dict(columns.numbers)
    for name, attribute in columns.attributes.items():
        if name in cuts and isinstance(attribute, Integer | Real):
            ends = np.append(cell_ends(attribute, cuts[name]), np.nan)
            # NaN is sorted last, beyond the upper bound.
            numbers[name] = ends[np.searchsorted(ends[:-1], numbers[name], side="left")]
    return ConformedColumns(attributes=columns.attributes, numbers=numbers, codes=columns.codes)
