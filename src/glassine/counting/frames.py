"""Counts of any data set, in memory or where an engine holds it: bin histograms and conjunctions of literals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting.bitsets import BitSets
from glassine.counting.cells import Cuts, coarse, cuts_of
from glassine.counting.conjunctions import ConjunctionCounts, count_conjunctions
from glassine.counting.engines import group, is_lazy
from glassine.counting.fine import fine_counts
from glassine.domain import Binary, Category, Domain, Integer, Literal, Real
from glassine.domain.attributes import Attribute
from glassine.domain.conforming import Columns, conform
from glassine.errors import InvalidDataError

__all__ = ["bin_histograms", "conjunction_counts", "truths"]

FEW = 32
"""Most cut points for which an engine compares each number with each of them."""


def bin_histograms(frame: Any, domain: Domain, cuts: Cuts | None = None) -> dict[str, npt.NDArray[np.int64]]:
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
    out: dict[str, npt.NDArray[np.int64]] = {}
    for name in domain:
        attribute = domain[name]
        if not isinstance(attribute, Integer | Real):
            out[name] = _counts_of_values(frame, name, attribute)
        elif name in cuts:
            out[name] = _counts_of_bins(frame, name, attribute, np.array(cuts[name], dtype=np.float64))
    return out


def _counts_of_values(frame: Any, name: str, attribute: Attribute) -> npt.NDArray[np.int64]:
    columns, counts = _counted(frame, {name: attribute}, {})
    size = len(attribute.values) if isinstance(attribute, Category) else 2
    out = np.zeros(size + 1, dtype=np.int64)
    np.add.at(out, np.where(columns.codes[name] < 0, size, columns.codes[name]), counts)
    return out


def _counts_of_bins(
    frame: Any, name: str, attribute: Integer | Real, cuts: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    if not (np.diff(cuts) > 0).all():
        raise InvalidDataError(f"the cuts of {name!r} must increase strictly. Sort them and drop repeats.")
    if len(cuts) > FEW and is_lazy(frame):
        return fine_counts(frame, name, attribute, cuts)
    columns, counts = _counted(frame, {name: attribute}, {name: cuts.tolist()})
    place = np.searchsorted(cuts, columns.numbers[name], side="left")
    out = np.zeros(len(cuts) + 2, dtype=np.int64)
    np.add.at(out, np.where(np.isnan(columns.numbers[name]), len(cuts) + 1, place), counts)
    return out


def conjunction_counts(
    frame: Any, domain: Domain, literals: Sequence[Literal], d: int, *, target: str | None = None
) -> ConjunctionCounts:
    """Count the records in every conjunction of up to d public literals.

    Records are first grouped by what the literals can tell of them.

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
        A :class:`Category` or :class:`Binary` attribute whose classes are told apart; missing and undeclared ones are a
        last class. Without it all records are of one class.

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
        raise InvalidDataError("literals must hold at least one literal, got none. Give those to be counted.")
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


def truths(columns: Columns, antecedents: Sequence[Sequence[Literal]]) -> Iterator[npt.NDArray[np.bool_]]:
    """Return where records satisfy each of some conjunctions, one at a time."""
    for antecedent in antecedents:
        truth = columns.holds(antecedent[0])
        for literal in antecedent[1:]:
            truth &= columns.holds(literal)
        yield truth


def _counted(frame: Any, attributes: dict[str, Attribute], cuts: Cuts) -> tuple[Columns, npt.NDArray[np.int64]]:
    """Return conformed records of some attributes, distinct if the frame is lazy, and how often each occurs."""
    if is_lazy(frame):
        groups = group(frame, attributes, cuts=cuts)
        return groups.columns, groups.counts
    columns = coarse(conform(frame, Domain(attributes)), cuts)
    return columns, np.ones(columns.n_records, dtype=np.int64)
