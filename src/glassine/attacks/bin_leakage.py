"""Leakage of bins: what the bins of an additive model reveal about the training records.

A model that is not private publishes how many records each bin holds, the smallest and the largest value of each
attribute, and cuts that are exactly the midpoints of two neighboring training values. Where every value has its own
bin, all values follow by arithmetic: from the smallest value v and the first cut c the next is 2 c - v, and
so on up to the largest, which confirms them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal

import numpy as np

from glassine.attacks.outcome import for_checker
from glassine.attacks.value_leakage import nameable_sides
from glassine.data.person_counts import Persons
from glassine.domain import Category, Domain, Integer, Real
from glassine.domain.attributes import Attribute
from glassine.domain.grid import are_adjacent, is_candidate, on_grid
from glassine.errors import InvalidModelError
from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.models.additive_scores import bin_indices, read_records
from glassine.records.arrays import Array
from glassine.records.columns import ConformedColumns

CLOSE = 1e-9
"""Distance at which a rebuilt value counts as the value, relative to the largest end of the range."""
DUST = 1e-6
"""Distance at which a published count is a whole number: less than any noise, more than sums of fractions leave."""

Origin = Literal["published", "counted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TermBins:
    """How many records the bins of a term hold.

    Attributes
    ----------
    name : str
        The term.
    n_bins : int
        Its bins, or its cells for a pair, those for missing values included.
    sizes : tuple of int or None
        Records in each, row by row for a pair; None where neither the model nor the data reveal exactly.
    origin : {"published", "counted"} or None
        Whether the sizes are in the model or were counted in the data.
    people : tuple of int or None
        People with a record in each, where persons are stated.

    Examples
    --------
    >>> found = TermBins(name="age", n_bins=4, sizes=(1, 12, 3, 0), origin="published")
    >>> found.smallest, found.below(2), found.below(10)
    (1, 1, 2)
    """

    name: str
    n_bins: int
    sizes: tuple[int, ...] | None = None
    origin: Origin | None = None
    people: tuple[int, ...] | None = None

    @property
    def counts(self) -> tuple[int, ...] | None:
        """Who is in each bin: people where persons are stated, else records."""
        return self.sizes if self.people is None else self.people

    @property
    def smallest(self) -> int | None:
        """Fewest records, or people, of a bin that holds any."""
        return None if self.counts is None else min((size for size in self.counts if size), default=None)

    def below(self, limit: int) -> int | None:
        """Return how many bins hold records, or people, but fewer than a limit."""
        return None if self.counts is None else sum(0 < size < limit for size in self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinsFinding:
    """What the bins of one attribute reveal over all terms together.

    A figure is None where the data or the domain that it needs is not given.
    """

    attribute: str
    n_cuts: int = 0  # Distinct cuts
    n_off_grid: int | None = None  # Those that are not public cut points; needs a domain
    # Those, public cut points aside, that are bit for bit half way between two neighboring training values, or one of
    # them, where the domain has values between the two; needs the data.
    n_midpoints: int | None = field(default=None, metadata=for_checker())
    n_bounds: int = 0  # Ends of the range of values that the model publishes: 0 or 2
    n_private_bounds: int | None = None  # Those that are not the domain's; needs a domain
    # Which ends are the smallest and the largest training value: ``smallest``, ``largest``; needs the data.
    exact_bounds: tuple[str, ...] | None = field(default=None, metadata=for_checker())
    n_values: int | None = field(default=None, metadata=for_checker())  # Different training values; needs the data
    # Those that have their own bin: an attacker who has the model knows them to about the width of a bin; needs the
    # data.
    n_own_bins: int | None = field(default=None, metadata=for_checker())
    # Values that follow from cuts and range by arithmetic, see :func:`rebuild_values`; with the data, those of them
    # that are training values. 0 where the range is public, or a guarantee is claimed.
    n_rebuilt: int = 0
    n_undeclared: int | None = None  # Categories that the model names and the domain does not declare; needs a domain
    # Categories that the model names and one training record, or one person, has: from the data, else from exact
    # published sizes.
    n_lone_categories: int | None = field(default=None, metadata=for_checker())


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeBins(BinsFinding):
    """The figures of :class:`~glassine.attacks.bin_leakage.BinsFinding`, and how many records cuts may name.

    Attributes
    ----------
    n_nameable : int or None
        People expected to be alone at the value beside a cut that is not a public cut point; with the records beside
        those cuts alone that lie where training values place them. Needs a domain.
    """

    n_nameable: int | None = None

    def finding(self) -> BinsFinding:
        """Return what findings say of it."""
        return BinsFinding(**{one.name: getattr(self, one.name) for one in fields(BinsFinding)})


@dataclass(frozen=True, slots=True, kw_only=True)
class BinLeakage:
    """What the bins of an additive model reveal.

    Attributes
    ----------
    terms : tuple of TermBins
        Term by term.
    attributes : tuple of AttributeBins
        Attribute by attribute, those that some term reads.
    differing : tuple of str or None
        Terms whose published sizes are not those of the data: then one of the two is not of the training; needs both.
    """

    terms: tuple[TermBins, ...]
    attributes: tuple[AttributeBins, ...]
    differing: tuple[str, ...] | None

    def total(self, name: str) -> int | None:
        """Return the sum over the attributes of one of their numbers; None where it is not known for all."""
        values = [getattr(entry, name) for entry in self.attributes]
        return None if any(value is None for value in values) else sum(values)


def leak_bins(
    model: AdditiveModel, domain: Domain | None = None, data: object = None, persons: Persons | None = None
) -> BinLeakage:
    """Return what the bins of an additive model reveal about the training records.

    Parameters
    ----------
    model : AdditiveModel
        The published model.
    domain : Domain, optional
        The public domain, which states what needs no data: cut points, ranges, categories.
    data : data frame, mapping of str to ndarray, or ndarray, optional
        The training records, as for ``AdditiveModel.scores``.
    persons : Persons, optional
        Whose they are: people are then counted beside records.

    Returns
    -------
    BinLeakage

    Raises
    ------
    InvalidModelError
        If the model reads an attribute that the domain lacks.
    InvalidDataError
        If a column is absent. No record is refused: what is no number counts as missing.

    Examples
    --------
    >>> age = Term(bins=(NumericBins("age", (30.5, 40.5)),), scores=[0.1, 0.2, 0.3, 0], weights=[1, 2, 1, 0])
    >>> model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0,), link="identity")
    >>> found = leak_bins(model, data={"age": np.array([30, 31, 40, 41])})
    >>> found.terms[0].below(2), found.attributes[0].n_midpoints, found.attributes[0].n_own_bins
    (2, 2, 2)
    """
    if domain is not None:
        for name in model.tested:
            if name not in domain:
                raise InvalidModelError(
                    f"the model reads {name!r}, which the domain lacks.", remedy="Add it to the domain."
                )
    columns = None if data is None else read_records(model, data, lenient=True)
    counted = people = None
    if columns is not None:
        cells = list(zip(model.terms, bin_indices(model, columns), strict=True))
        counted = [np.bincount(result, minlength=math.prod(term.shape)) for term, result in cells]
        if persons is not None:
            people = [tuple(persons.counts(codes, math.prod(term.shape)).tolist()) for term, codes in cells]
    terms, differing = [], []
    for i, term in enumerate(model.terms):
        published = _published(model, term)
        seen = None if counted is None else tuple(counted[i].tolist())
        if published is not None and seen is not None and published != seen:
            differing.append(term.name)
        origin: Origin | None = "published" if published is not None else "counted" if seen is not None else None
        of_people = None if people is None else people[i]
        n_bins = math.prod(term.shape)
        terms.append(TermBins(name=term.name, n_bins=n_bins, sizes=published or seen, origin=origin, people=of_people))
    sizes = {result.name: result.sizes for result in terms if result.origin == "published"}
    compared = counted is not None and any(result.origin == "published" for result in terms)
    return BinLeakage(
        terms=tuple(terms),
        attributes=tuple(_attribute(model, name, domain, columns, sizes, persons) for name in model.tested),
        differing=tuple(differing) if compared else None,
    )


def _published(model: AdditiveModel, term: Term) -> tuple[int, ...] | None:
    """Return the sizes that a model publishes, if they are counts of records: whole, not negative and without noise."""
    weights = term.weights
    if weights is None or not model.counts_are_exact:
        return None
    whole = np.rint(weights)
    if not ((whole >= 0) & (whole < 2**53) & (np.abs(weights - whole) <= DUST)).all():
        return None
    return tuple(int(size) for size in whole.reshape(-1))


def _n_records(sizes: dict[str, tuple[int, ...] | None]) -> int | None:
    """Return the number of records: each is in one bin of every term; None where no sizes are published."""
    return next((sum(counts) for counts in sizes.values() if counts is not None), None)


def _attribute(
    model: AdditiveModel,
    name: str,
    domain: Domain | None,
    columns: ConformedColumns | None,
    sizes: dict[str, tuple[int, ...] | None],
    persons: Persons | None,
) -> AttributeBins:
    result = [bins for term in model.terms for bins in term.bins if bins.attribute == name]
    numeric = [bins for bins in result if isinstance(bins, NumericBins)]
    if numeric:
        values = None if columns is None else columns.numbers[name]
        return _numbers(name, numeric, domain, values, noisy=model.guarantee is not None, n_records=_n_records(sizes))
    groups = [bins for bins in result if isinstance(bins, CategoryBins)]
    named = tuple(dict.fromkeys(value for bins in groups for value in bins.values))
    declared = None if domain is None else domain[name]
    undeclared = None
    if declared is not None:
        public = declared.values if isinstance(declared, Category) else named
        undeclared = sum(value not in public for value in named)
    lone = None
    if columns is not None:
        codes = columns.codes[name]
        sizes_of_values = np.bincount(codes[codes >= 0], minlength=len(named))
        if persons is not None:
            sizes_of_values = persons.counts(codes, max(len(named), int(codes.max()) + 1))
        lone = int((sizes_of_values == 1).sum())
    elif sizes:
        lone = _lone_groups(model, name, sizes)
    return AttributeBins(
        attribute=name,
        n_off_grid=None if domain is None else 0,
        n_nameable=None if domain is None else 0,
        n_midpoints=None if columns is None else 0,
        n_private_bounds=None if domain is None else 0,
        n_undeclared=undeclared,
        n_lone_categories=lone,
    )


def _lone_groups(model: AdditiveModel, name: str, sizes: dict[str, tuple[int, ...] | None]) -> int | None:
    """Return how many bins of one category hold one record, as published; None where no such term is."""
    for term in model.terms:
        group_sizes, bins = sizes.get(term.name), term.bins[0]
        if (
            group_sizes is not None
            and len(term.bins) == 1
            and isinstance(bins, CategoryBins)
            and bins.attribute == name
        ):
            sized = zip(bins.groups, group_sizes, strict=False)
            return sum(len(group) == 1 and group[0] is not None and size == 1 for group, size in sized)
    return None


def _numbers(
    name: str,
    own_bins: Sequence[NumericBins],
    domain: Domain | None,
    values: Array | None,
    *,
    noisy: bool,
    n_records: int | None,
) -> AttributeBins:
    cuts = list(dict.fromkeys((cut, bins.closed) for bins in own_bins for cut in bins.cuts))
    attribute = None if domain is None else domain[name]
    secret = [(cut, closed) for cut, closed in cuts if domain is None or not is_public(domain, name, cut, closed)]
    inferred = attribute is not None and attribute.inferred
    domain_ends = (float(attribute.lo), float(attribute.hi)) if isinstance(attribute, Integer | Real) else (0.0, 1.0)

    def n_private(ends: tuple[float, float]) -> int:
        return 0 if attribute is None else sum(end not in domain_ends for end in ends)

    # Of several ranges the one that reveals most.
    ranges = [bins.bounds for bins in own_bins if bins.bounds is not None]
    bounds = max(ranges, key=lambda ends: (n_private(ends), ends[0] - ends[1]), default=None)
    private = None if attribute is None else 0 if bounds is None else n_private(bounds)
    # A chain that starts at a public end reveals no record.
    told_bounds = attribute is None or inferred or bool(private)
    rebuilt = rebuild_values(max(own_bins, key=lambda bins: len(bins.cuts))) or () if told_bounds and not noisy else ()
    out = AttributeBins(
        attribute=name,
        n_rebuilt=len(rebuilt),
        n_cuts=len(cuts),
        n_off_grid=None if domain is None else len(secret),
        n_nameable=None if domain is None else nameable_sides(domain, {(name, cut) for cut, _ in secret}, n_records),
        n_bounds=0 if bounds is None else 2,
        n_private_bounds=private,
        n_undeclared=None if domain is None else 0,
        n_lone_categories=0,
    )
    if values is None:
        return out
    different = np.unique(values[~np.isnan(values)])
    ends = () if bounds is None or not len(different) else zip(bounds, different[[0, -1]].tolist(), strict=True)
    reached = (which for which, (end, value) in zip(("smallest", "largest"), ends, strict=False) if end == value)
    # The grid of an inferred attribute follows from the data, so its cut points are no excuse.
    candidates = cuts if inferred else secret
    own = max((_own_bins(bins, different) for bins in own_bins), default=0)
    midpoints = {(cut, closed) for cut, closed in candidates if _is_midpoint(cut, closed, different, attribute)}
    placed, n = {(name, cut) for cut, _ in midpoints}, len(values) if n_records is None else n_records
    return replace(
        out,
        n_midpoints=len(midpoints),
        # A claim that is not accepted is judged without what the records show.
        n_nameable=out.n_nameable if domain is None or noisy else nameable_sides(domain, placed, n),
        exact_bounds=tuple(reached),
        n_values=len(different),
        n_own_bins=own,
        n_rebuilt=_matches(rebuilt, different),
    )


def is_public(
    domain: Domain, name: str, cut: float, closed: str, rule: Callable[[Attribute, float], bool] = on_grid
) -> bool:
    """Return whether a cut is a public cut point, or is one by another rule, whichever side of it is closed."""
    # Of whole numbers, x < 40 and x <= 39.5 are one cut.
    attribute = domain[name]
    if isinstance(attribute, Integer) and closed == "left":
        cut = math.ceil(cut) - 0.5
    return rule(attribute, cut)


def are_candidates(model: AdditiveModel, domain: Domain) -> bool:
    """Return whether private fits can choose every cut of a model, by a domain that was not inferred from records."""
    numeric = [bins for term in model.terms for bins in term.bins if isinstance(bins, NumericBins)]
    return not any(domain[bins.attribute].inferred for bins in numeric) and all(
        is_public(domain, bins.attribute, cut, bins.closed, is_candidate) for bins in numeric for cut in bins.cuts
    )


def _own_bins(bins: NumericBins, different: Array) -> int:
    """Return how many of the different values are alone in their bin."""
    return int((np.bincount(bins.index(different), minlength=1) == 1).sum()) if len(different) else 0


def rebuild_values(bins: NumericBins) -> tuple[float, ...] | None:
    """Return the one value of each bin, if cuts half way between neighbours and the ends of the range imply them.

    The first value is the smallest of the range, and each cut mirrors a value into the next one. None unless every
    value so found lies inside its bin and the last one is the largest of the range, up to rounding. Fewer than three
    cuts, and evenly spaced ones, may be those of a public grid: they imply nothing.

    Parameters
    ----------
    bins : NumericBins
        The bins of one attribute, with the range that is published.

    Examples
    --------
    >>> rebuild_values(NumericBins("age", (30.5, 35.5, 41), "left", (30, 42)))
    (30.0, 31.0, 40.0, 42.0)
    >>> rebuild_values(NumericBins("age", (30.5, 35.5, 42), "left", (30, 42))) is None
    True
    """
    if bins.bounds is None or len(bins.cuts) < 3:
        return None
    slack = CLOSE * max(abs(bins.bounds[0]), abs(bins.bounds[1]))
    gaps = np.diff(bins.cuts)
    if not gaps.max() - gaps.min() > slack:
        return None
    values = [bins.bounds[0]]
    for below, cut in zip((-math.inf, *bins.cuts), bins.cuts, strict=False):
        if not below < values[-1] < cut:
            return None
        values.append(2 * cut - values[-1])
    return tuple(values) if abs(values[-1] - bins.bounds[1]) <= slack else None


def _matches(rebuilt: Sequence[float], different: Array) -> int:
    """Return how many rebuilt values are training values, up to rounding."""
    if not rebuilt or not len(different):
        return 0
    near = np.clip(np.searchsorted(different, rebuilt), 1, max(len(different) - 1, 1))
    candidates = different[np.clip(np.stack([near - 1, near]), 0, len(different) - 1)]
    slack = CLOSE * float(np.abs(different).max())
    return int((np.abs(candidates - np.array(rebuilt)).min(axis=0) <= slack).sum())


def _is_midpoint(cut: float, closed: str, different: Array, attribute: Attribute | None) -> bool:
    """Return whether a cut is half way between its neighbors among the training values, or one of them."""
    # Between adjacent values of the domain there is only one cut, and its place says nothing. The three ways to compute
    # the middle differ in the last bit.
    at = int(np.searchsorted(different, cut, side="left" if closed == "left" else "right"))
    inside = 0 < at < len(different)
    low, high = (float(different[at - 1]), float(different[at])) if inside else (math.nan, math.nan)
    if inside and attribute is not None and are_adjacent(attribute, low, high):
        return False
    if cut in different:
        return True
    return cut in (low / 2 + high / 2, (low + high) / 2, low + (high - low) / 2)
