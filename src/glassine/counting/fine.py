"""Histograms of thousands of bins, counted by the engine that holds the records.

An engine that compares each number with each of 4,096 cut points is slow, and one that looks it up in a table needs the
column in memory. Instead it groups numbers by a place that it reckons, and says of each group the least and the largest
number. Where both lie between the same two cut points, so does the whole group, however the place was rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from glassine.domain import Integer, Real
from glassine.domain.conforming import checked_columns, collect, expressions, open_frame

__all__ = ["fine_counts"]

COMPARED = 256
"""Most cut points with which numbers are compared in one query."""

GAP = -1
"""Place of the missing values."""

ONE = nw.lit(1).cast(nw.Int64).alias("n")

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]


def fine_counts(frame: Any, name: str, attribute: Integer | Real, cuts: Array, *, strict: bool = True) -> Ints:
    """Return how many records of a lazy frame lie in each bin of a number, and how many have none.

    Two queries, or one where no group of reckoned places is cut; more where hundreds are.

    Parameters
    ----------
    frame : lazy frame
        The records.
    name : str
        Their column.
    attribute : Integer or Real
        Its public domain, to which values are clipped.
    cuts : ndarray, shape (k,)
        Cut points, increasing strictly: bin i holds the numbers above cut i - 1 up to cut i. Any will do; those at
        equal distances take the fewest queries.
    strict : bool, default=True
        As for :func:`glassine.domain.conforming.conform`.

    Returns
    -------
    ndarray of int64, shape (k + 2,)
        Counts of the k + 1 bins, and of missing values.

    Raises
    ------
    InvalidDataError
        If a value is missing where the attribute allows none, or the column is of a type that holds no numbers.

    Examples
    --------
    >>> import polars as pl
    >>> lazy = pl.LazyFrame({"age": [20, 41, 42, None]})
    >>> fine_counts(lazy, "age", Integer(0, 99, missing=True), np.array([20.0, 41.0])).tolist()
    [1, 1, 1, 1]
    """
    out = np.zeros(len(cuts) + 2, dtype=np.int64)
    lazy, _ = open_frame(frame, {name: attribute})
    number = lazy.select(*expressions(lazy, {name: attribute}, strict=strict)).with_columns(ONE)
    placed = number.with_columns(_place(attribute, cuts))
    groups = _grouped(placed, ["place"])
    places, bins, ends = _bins(groups, cuts)
    whole = bins == ends
    np.add.at(out, bins[whole], groups["n"].to_numpy().astype(np.int64)[whole])
    for some, between in _parts(places[~whole], bins[~whole], ends[~whole]):
        # Those that lie on both sides of a cut point are told apart by comparing.
        split = placed.filter(nw.col("place").is_in(some))
        above = [(nw.col("k0") > float(cuts[i])).cast(nw.Int64) for i in between]
        found = _grouped(split.with_columns(_sum(above).alias("side")), ["place", "side"])
        _, bins, _ = _bins(found, cuts)
        np.add.at(out, bins, found["n"].to_numpy().astype(np.int64))
    if out[-1] and not attribute.missing:
        checked_columns({name: attribute}, {name: np.array([np.nan])})
    return out


def _place(attribute: Integer | Real, cuts: Array) -> nw.Expr:
    """Return about which bin a number is in: exactly at best, and never relied upon."""
    lo, hi = float(attribute.lo), float(attribute.hi)
    steps = np.diff(cuts)
    if not len(cuts) or not hi > lo:
        first, width = lo, 1.0
    elif len(steps) and steps.max() <= steps.min() * (1 + 1e-6):
        first, width = float(cuts[0]), float(cuts[-1] - cuts[0]) / len(steps)
    else:
        # Cut points of whole numbers are halves: as many of them as these, at equal distances, have the same bins.
        width = (hi - lo) / (len(cuts) + 1)
        first = lo + width
    number = nw.col("k0")
    place = ((number - first) / width).ceil().clip(0.0, float(len(cuts)))
    return nw.when(~number.is_null()).then(place).otherwise(nw.lit(float(GAP))).cast(nw.Int64).alias("place")


def _grouped(lazy: Any, by: list[str]) -> nw.DataFrame[Any]:
    number = nw.col("k0")
    return collect(lazy.group_by(by).agg(nw.col("n").sum(), number.min().alias("least"), number.max().alias("most")))


def _bins(groups: nw.DataFrame[Any], cuts: Array) -> tuple[Ints, Ints, Ints]:
    """Return the place of each group, and the bins of its least and of its largest number."""
    places = groups["place"].to_numpy().astype(np.int64)
    gap = places == GAP
    least, most = (
        np.where(gap, len(cuts) + 1, np.searchsorted(cuts, groups[side].to_numpy().astype(np.float64), side="left"))
        for side in ("least", "most")
    )
    return places, least.astype(np.int64), most.astype(np.int64)


def _parts(places: Ints, first: Ints, last: Ints) -> Iterator[tuple[list[int], list[int]]]:
    """Yield groups, and the cut points that lie in them, few enough for a query."""
    some: list[int] = []
    between: set[int] = set()
    for place, low, high in zip(places.tolist(), first.tolist(), last.tolist(), strict=True):
        if some and len(between) + high - low > COMPARED:
            yield some, sorted(between)
            some, between = [], set()
        some.append(place)
        between |= set(range(low, high))
    if some:
        yield some, sorted(between)


def _sum(terms: Sequence[nw.Expr]) -> nw.Expr:
    half = len(terms) // 2
    return terms[0] if len(terms) == 1 else _sum(terms[:half]) + _sum(terms[half:])
