"""Counts of any dataset, in memory or where an engine holds it: bin histograms and conjunctions of literals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from glassine.data.bits import BitSets
from glassine.data.conjunctions import ConjunctionCounts, count_conjunctions
from glassine.data.lazy import (
    Cuts,
    LazyTable,
    Outside,
    balanced_sum,
    coarse,
    cuts_of,
    expressions,
    is_lazy,
    lazy_frame,
    ones,
)
from glassine.data.table import collect
from glassine.domain import Binary, Category, Domain, Integer, Literal, Real
from glassine.domain.attributes import Attribute
from glassine.errors import InvalidDataError, parameter
from glassine.records.arrays import Array, Bools, Ints
from glassine.records.columns import Columns, checked_columns
from glassine.records.reading import read_checked

# Histograms of thousands of bins, counted by the engine that holds the records.
#
# An engine that compares each number with each of 4,096 cut points is slow, and one that looks it up in a table needs
# the column in memory. Instead it groups numbers by a place that it reckons, and says of each group the least and the
# largest number. Where both lie between the same two cut points, so does the whole group, however the place was
# rounded.


COMPARED = 256
"""Most cut points with which numbers are compared in one query."""

GAP = -1
"""Place of the missing values."""


def fine_counts(
    frame: object, name: str, attribute: Integer | Real, cuts: Array, *, outside: Outside = Outside.REFUSE
) -> Ints:
    """Return how many records of a lazy frame lie in each bin of a number, and how many have none.

    Two queries, or one where no group of reckoned places is cut; more where hundreds are.

    Shapes: ``cuts`` (k,); the result (k + 2,).

    Examples
    --------
    >>> import polars as pl
    >>> lazy = pl.LazyFrame({"age": [20, 41, 42, None]})
    >>> fine_counts(lazy, "age", Integer(0, 99, missing=True), np.array([20.0, 41.0])).tolist()
    [1, 1, 1, 1]
    """
    out = np.zeros(len(cuts) + 2, dtype=np.int64)
    lazy = lazy_frame(frame, {name: attribute})
    number = lazy.select(*expressions(lazy, {name: attribute}, outside=outside)).with_columns(ones())
    placed = number.with_columns(_place(attribute, cuts))
    groups = _grouped(placed, ["place"])
    places, bins, ends = _bins(groups, cuts)
    whole = bins == ends
    np.add.at(out, bins[whole], groups["n"].to_numpy().astype(np.int64)[whole])
    for some, between in _parts(places[~whole], bins[~whole], ends[~whole]):
        # Those that lie on both sides of a cut point are distinguished by comparing.
        split = placed.filter(nw.col("place").is_in(some))
        above = [(nw.col("k0") > float(cuts[i])).cast(nw.Int64) for i in between]
        grouped = _grouped(split.with_columns(balanced_sum(above).alias("side")), ["place", "side"])
        _, bins, _ = _bins(grouped, cuts)
        np.add.at(out, bins, grouped["n"].to_numpy().astype(np.int64))
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


def _grouped(lazy: nw.DataFrame[Any] | nw.LazyFrame[Any], by: list[str]) -> nw.DataFrame[Any]:
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


FEW = 32
"""Most cut points for which an engine compares each number with each of them."""


def bin_histograms(frame: object, domain: Domain, cuts: Cuts | None = None) -> dict[str, Ints]:
    """Return how many records lie in each bin of each attribute.

    An engine is asked one attribute at a time, so that of a columnar file each column is read once.

    Parameters
    ----------
    frame : data frame of any kind
        The records, as for :meth:`CountTable.from_frame`; a lazy frame is counted by its engine.
    domain : Domain
        The public domain.
    cuts : mapping of str to sequence of float, optional
        Cut points of numbers: bin i holds the numbers above cut i - 1 up to cut i. A number without cuts is left out.

    Returns
    -------
    dict of str to ndarray of int64
        For a number with k cuts the counts of its k + 1 bins and of missing values, shape (k + 2,); for an attribute
        of v values their counts and that of missing and undeclared ones, shape (v + 1,).

    Raises
    ------
    InvalidDataError
        As for :meth:`CountTable.from_frame`; if cuts do not increase.

    Examples
    --------
    >>> domain = Domain({"age": Integer(0, 99), "smoker": Binary(missing=True)})
    >>> data = {"age": np.array([20, 41, 120]), "smoker": np.array([1.0, np.nan, 1.0])}
    >>> {name: counts.tolist() for name, counts in bin_histograms(data, domain, {"age": (40,)}).items()}
    {'age': [1, 2, 0], 'smoker': [0, 2, 1]}
    """
    cuts = cuts or {}
    out: dict[str, Ints] = {}
    for name in domain:
        attribute = domain[name]
        if not isinstance(attribute, Integer | Real):
            out[name] = _counts_of_values(frame, name, attribute)
        elif name in cuts:
            out[name] = _counts_of_bins(frame, name, attribute, np.array(cuts[name], dtype=np.float64))
    return out


def _counts_of_values(frame: object, name: str, attribute: Attribute) -> Ints:
    columns, counts = _counted(frame, {name: attribute}, {})
    size = len(attribute.values) if isinstance(attribute, Category) else 2
    out = np.zeros(size + 1, dtype=np.int64)
    np.add.at(out, np.where(columns.codes[name] < 0, size, columns.codes[name]), counts)
    return out


def _counts_of_bins(frame: object, name: str, attribute: Integer | Real, cuts: Array) -> Ints:
    if not (np.diff(cuts) > 0).all():
        raise InvalidDataError(f"the cuts of {name!r} must increase strictly.", remedy="Sort them and drop repeats.")
    if len(cuts) > FEW and is_lazy(frame):
        return fine_counts(frame, name, attribute, cuts)
    columns, counts = _counted(frame, {name: attribute}, {name: cuts.tolist()})
    place = np.searchsorted(cuts, columns.numbers[name], side="left")
    out = np.zeros(len(cuts) + 2, dtype=np.int64)
    np.add.at(out, np.where(np.isnan(columns.numbers[name]), len(cuts) + 1, place), counts)
    return out


def conjunction_counts(
    frame: object, domain: Domain, literals: Sequence[Literal], d: int, *, target: str | None = None
) -> ConjunctionCounts:
    """Count the records in every conjunction of up to d public literals.

    Records are first grouped by what the literals can distinguish.

    Parameters
    ----------
    frame : data frame of any kind
        The records, as for :meth:`CountTable.from_frame`; a lazy frame is grouped by its engine.
    domain : Domain
        The public domain of the literals' attributes and of the target.
    literals : sequence of Literal
        The literals, by whose places conjunctions are named.
    d : int
        Largest number of literals in a conjunction.
    target : str, optional
        A :class:`Category` or :class:`Binary` attribute whose classes are distinguished; missing and undeclared ones
        are a last class. Without it all records are of one class.

    Raises
    ------
    InvalidDataError
        As for :meth:`CountTable.from_frame`; if the target is a number, or there is no literal.

    Examples
    --------
    >>> from glassine.domain import Between, OneOf
    >>> domain = Domain({"age": Integer(0, 99), "smoker": Binary(), "sick": Binary()})
    >>> data = {"age": np.array([20, 41, 60]), "smoker": np.array([1, 0, 1]), "sick": np.array([0, 0, 1])}
    >>> literals = [Between("age", lo=40), OneOf("smoker", (1,))]
    >>> conjunction_counts(data, domain, literals, 2, target="sick").of((0, 1)).tolist()
    [0, 1, 0]
    """
    if not literals:
        raise InvalidDataError(
            f"{parameter('literals')} must hold at least one literal, got none.", remedy="Give those to be counted."
        )
    cuts = cuts_of(literals, domain)
    attributes = {name: domain[name] for name in domain if name in cuts or name == target}
    columns, counts = _counted(frame, attributes, cuts)
    labels, n_classes = np.zeros(len(counts), dtype=np.int64), 1
    if target is not None:
        attribute = domain[target]
        if not isinstance(attribute, Category | Binary):
            raise InvalidDataError(f"a target must be a category or binary attribute, but {target!r} is a number.")
        n_classes = (len(attribute.values) if isinstance(attribute, Category) else 2) + 1
        labels = np.where(columns.codes[target] < 0, n_classes - 1, columns.codes[target]).astype(np.int64)
    bitsets = BitSets.pack(truths(columns, [(literal,) for literal in literals]), labels, n_classes, counts)
    return count_conjunctions(bitsets, d)


def truths(columns: Columns, antecedents: Sequence[Sequence[Literal]]) -> Iterator[Bools]:
    """Return where records satisfy each of some conjunctions, one at a time."""
    for antecedent in antecedents:
        truth = columns.holds(antecedent[0])
        for literal in antecedent[1:]:
            truth &= columns.holds(literal)
        yield truth


def _counted(frame: object, attributes: dict[str, Attribute], cuts: Cuts) -> tuple[Columns, Ints]:
    """Return conformed records of some attributes, distinct if the frame is lazy, and how often each occurs."""
    if is_lazy(frame):
        groups = LazyTable(frame=frame).group(attributes, cuts=cuts)
        return groups.columns, groups.counts
    columns = coarse(read_checked(frame, Domain(attributes)), cuts)
    return columns, np.ones(columns.n_records, dtype=np.int64)
