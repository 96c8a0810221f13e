"""Scrubbing an additive model: a copy without the training values and exact counts that it need not show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from glassine.data.record_table import RecordTable
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.attributes import code_cuts, code_ends
from glassine.domain.domain import check_domain
from glassine.domain.grid import public_grid
from glassine.errors import InvalidModelError, check_whole, parameter
from glassine.exports import Displayed
from glassine.formats.loading import as_model
from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.models.additive_scores import bin_indices
from glassine.models.bins import Bins
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.models.scorecard import card_of, repointed
from glassine.records.arrays import Array
from glassine.scrubbing.centering import centered, lent_axes

Joined: TypeAlias = list[list[int]]
"""For each new bin the old ones that it joins; the last is for missing values."""

MERGED = "bins were joined by their counts in the training data, which the guarantee does not cover"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveScrub(Displayed):
    """A scrubbed additive model and what was done.

    Attributes
    ----------
    model : AdditiveModel
        The copy.
    n_moved : int
        Distinct cuts that were moved to a public cut point or dropped.
    n_merged : int
        Bins that joined a neighbour, because their cut fell away or they were too small.
    n_renamed : int
        Categories that the domain does not declare, now read as missing.
    """

    model: AdditiveModel
    n_moved: int
    n_merged: int
    n_renamed: int


def scrub_additive(
    model: object, domain: Domain, *, smallest_bin: int = 0, keep_sizes: bool = False, data: object = None
) -> AdditiveScrub:
    """Return a copy of an additive model on public cuts, without small bins, counts, deviations and exact ranges.

    Each cut moves to the nearest cut point of :func:`glassine.domain.grid.public_grid`; a new bin scores the mean of
    the old ones that it holds, weighted by their sizes. Then bins of fewer than ``smallest_bin`` records join their
    smaller neighbour; small groups of categories join each other, then the smallest other group. Standard deviations
    and the log of edits are dropped. Ranges, that of a target too, become those of the domain, or are dropped where it
    was inferred. Categories that the domain does not declare are dropped. Scores are kept to three significant digits.
    Where sizes are removed, scores are centered by plain means, those of a pair along both attributes, and a bin that
    has no record and the score 0, such as that of missing values, keeps 0.

    Guarantee
    ---------
    None. The copy reveals less, and the audit measures how much less. A guarantee that the model claims is kept, since
    the copy is made of the model and what is public; bins joined by their counts in the data, and attributes whose
    domain was inferred from data, add a caveat to it.

    Parameters
    ----------
    model : AdditiveModel, fitted estimator or explainable boosting machine
        The model.
    domain : Domain
        The public domain; it must hold every attribute that terms read.
    smallest_bin : int, default=0
        Fewest records of a bin, or of a cell of a pair. Needs published sizes or data.
    keep_sizes : bool, default=False
        Whether sizes of bins stay, where they are still true: those of terms of which no cut moved, and with the data
        all, counted again. They cannot be rounded, since an additive model has no way to say that they are.
    data : data frame, optional
        The training records; bins are then counted in them.

    Returns
    -------
    AdditiveScrub

    Raises
    ------
    InvalidModelError
        If the domain lacks an attribute, an option is out of its range, or sizes are needed but neither published nor
        given.
    InvalidDomainError
        If the domain is none.

    Notes
    -----
    The sides of a pair are joined until every cell holds enough records or none. A pair of which nothing is left to
    distinguish is dropped.

    Without published sizes and data, a bin for values that no record has looks like any other. Its 0 is the mean by
    size, one equation in the sizes to an attacker who knows that the bin is empty: give the data.

    The means of a pair move to the terms of its attributes. Predictions change where a bin of such a term holds several
    of the pair; a pair whose attribute has no term keeps its means. Predictions themselves still reveal sizes to an
    attacker who knows their mean, such as that of two bins from the base rate.

    Examples
    --------
    >>> from glassine.domain import Integer
    >>> age = Term(bins=(NumericBins("age", (31.5, 48.5)),), scores=[0.1, 0.2, 0.6, 0], weights=[1, 20, 20, 0])
    >>> model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0,), link="identity")
    >>> small = scrub_additive(model, Domain({"age": Integer(0, 100)}), smallest_bin=10)
    >>> small.model.terms[0].bins[0].labels, small.n_moved, small.n_merged
    (('<= 47.5', '> 47.5', 'missing'), 1, 1)
    """
    check_domain(domain)
    read = as_model(model, domain)
    if not isinstance(read, AdditiveModel):
        raise InvalidModelError(f"scrub_additive scrubs additive models, got a {read}.", remedy="Use glassine.scrub.")
    check_whole(smallest_bin, "smallest_bin", 0, plain=True, kind=InvalidModelError)
    for name in read.tested:
        if name not in domain:
            raise InvalidModelError(
                f"the model reads {name!r}, which the domain lacks.", remedy="Add it to the domain."
            )
    return _scrub(read, domain, smallest_bin, keep_sizes, data)


def _scrub(model: AdditiveModel, domain: Domain, smallest_bin: int, keep_sizes: bool, data: Any) -> AdditiveScrub:
    moved: set[tuple[str, float]] = set()
    renamed: set[tuple[str, object]] = set()
    terms: list[Term] = []
    # Of each term whose sizes are hidden, the axes along which its last bin has the score of another.
    hidden: list[tuple[int, ...] | None] = []
    whole = model.scorecard is not None
    n_before, n_after, intercept = 0, 0, np.array(model.intercept, dtype=np.float64)
    for term in model.terms:
        n_before += math.prod(term.shape)
        n_moved = len(moved)
        new = _on_grid(term, domain, moved, renamed)
        kept = keep_sizes and term.weights is not None and (len(moved) == n_moved or data is not None)
        # A bin that scores 0 because it is empty is known as such by its size alone.
        if new is not None and (kept or term.weights is None) and data is not None and model.guarantee is None:
            new = _counted(model, new, data)
        if new is not None and smallest_bin:
            counted = _counted(model, new, data)
            new = _without_small(counted, smallest_bin)
            if _knows_persons(data):
                # A person in two bins is one in both together: what was joined is counted again.
                while new is not None and _has_small(again := _counted(model, new, data), smallest_bin):
                    new = _without_small(again, smallest_bin)
                if new is not None and kept:
                    counted = new = _counted(model, new, RecordTable(data.frame))
            # Sizes of which one was hidden are not true any more.
            kept = kept and new is not None and _total(new) == _total(counted)
        if new is not None and model.guarantee is not None:
            # Joined noisy counts carry more noise than is claimed, and the guarantee does not cover those of the data.
            kept = (
                kept and new.shape == term.shape and len(moved) == n_moved and not (smallest_bin and data is not None)
            )
        if new is not None:
            n_after += math.prod(new.shape)
            terms.append(new)
            hidden.append(None if kept else lent_axes(term, domain, whole=whole))
    terms, middle = centered(terms, hidden, domain, whole=whole, exact=model.guarantee is None)
    intercept += middle
    terms = [_cleaned(term, lent is None) for term, lent in zip(terms, hidden, strict=True)]
    guarantee = model.guarantee
    if guarantee is not None:
        inferred = any(domain[name].inferred for name in model.tested)
        guarantee = guarantee.void(*[MERGED] * bool(smallest_bin and data is not None), *[DOMAIN_FROM_DATA] * inferred)
        published = any(term.weights is not None for term in terms)
        guarantee = replace(guarantee, count_scale=guarantee.count_scale if published else None)
    intercepts, card = tuple(_short(value) for value in intercept.tolist()), model.scorecard
    if card is not None:
        # What was merged lies between points: it gets the nearest, and the risks are those of the scores.
        terms = list(repointed(terms, card.unit, card.unit))
        card = card_of(terms, intercepts[0], card.unit)
    clean = replace(
        model, terms=tuple(terms), intercept=intercepts, edits=(), guarantee=guarantee, scorecard=card,
        target_bounds=_public_range(model, domain), equations=None,
    )  # fmt: skip
    return AdditiveScrub(model=clean, n_moved=len(moved), n_merged=n_before - n_after, n_renamed=len(renamed))


def _public_range(model: AdditiveModel, domain: Domain) -> tuple[float, float] | None:
    """Return the range of the target that is public; without a guarantee, the model's can be two records' values."""
    claim = model.guarantee
    if model.target_bounds is None or (claim is not None and not claim.caveats):
        return model.target_bounds
    declared = domain[model.target] if model.target in domain.names else None
    if not isinstance(declared, Integer | Real) or declared.inferred:
        return None
    return float(declared.lo), float(declared.hi)


def _on_grid(
    term: Term, domain: Domain, moved: set[tuple[str, float]], renamed: set[tuple[str, object]]
) -> Term | None:
    """Return a term with public cuts, ranges and categories; None where no category of an attribute is public."""
    bins: list[Bins] = []
    joins: list[Joined] = []
    for old in term.bins:
        if isinstance(old, NumericBins):
            cut_bins, joined = _public_cuts(old, domain)
            attribute = domain[old.attribute]
            public = {_side(cut, "right", attribute) for cut in cut_bins.cuts}
            if isinstance(attribute, Integer | Real):
                moved |= {(old.attribute, cut) for cut in old.cuts if _side(cut, old.closed, attribute) not in public}
            bins.append(cut_bins)
        else:
            result = _public_groups(old, domain)
            if result is None:
                return None
            groups, joined = result
            renamed |= {(old.attribute, value) for value in set(old.values) - set(groups.values)}
            bins.append(groups)
        joins.append(joined)
    return _joined(term, bins, joins)


def _side(cut: float, closed: str, attribute: object) -> float:
    """Return one name for cuts that part the values of an attribute in the same way."""
    if isinstance(attribute, Integer):
        return math.ceil(cut) - 0.5 if closed == "left" else math.floor(cut) + 0.5
    return cut


def _public_cuts(old: NumericBins, domain: Domain) -> tuple[NumericBins, Joined]:
    attribute = domain[old.attribute]
    if not isinstance(attribute, Integer | Real):
        return _between_codes(old, (0, 1) if isinstance(attribute, Binary) else attribute.values)
    grid = np.array(sorted({*public_grid(attribute), *code_cuts(attribute)}))
    near = {_nearest(grid, _side(cut, old.closed, attribute)) for cut in old.cuts} if len(grid) else set()
    cuts = sorted(near)
    ends = attribute.ends
    middles = [low / 2 + high / 2 for low, high in pairwise([ends[0], *old.cuts, ends[1]])]
    while True:
        # An old bin belongs where its middle falls; a cut next to which no middle falls parts nothing.
        joined: Joined = [[] for _ in range(len(cuts) + 1)]
        for i, middle in enumerate(middles):
            joined[int(np.searchsorted(cuts, middle))].append(i)
        empty = next((at for at, group in enumerate(joined) if not group), None)
        if empty is None:
            # An inferred range is the extremes of the records.
            ranged = None if attribute.inferred else (float(attribute.lo), float(attribute.hi))
            bins = NumericBins(old.attribute, tuple(cuts), "right", ranged)
            left = {-math.inf, math.inf, *cuts}
            alone = {code: label for code, label in attribute.codes.items() if {*code_ends(attribute, code)} <= left}
            return replace(bins, codes=alone), [*joined, [old.n_bins - 1]]
        del cuts[min(empty, len(cuts) - 1)]


def _nearest(grid: Array, cut: float) -> float:
    """Return the grid point nearest to a cut, the lower one of two."""
    return float(grid[int(np.argmin(np.abs(grid - cut)))])


def _between_codes(old: NumericBins, values: Sequence[object]) -> tuple[NumericBins, Joined]:
    """Return bins with cuts half way between declared values that score apart: they are public."""
    codes = np.array(sorted({float(value) for value in values if isinstance(value, int | float)}))
    where = old.index(codes).tolist() if len(codes) else [0]
    kept = [i for i in range(1, len(where)) if where[i] != where[i - 1]]
    cuts = tuple(float(codes[i - 1] / 2 + codes[i] / 2) for i in kept)
    return NumericBins(old.attribute, cuts, "right"), [*([where[i]] for i in (0, *kept)), [old.n_bins - 1]]


def _public_groups(old: CategoryBins, domain: Domain) -> tuple[CategoryBins, Joined] | None:
    attribute = domain[old.attribute]
    public = set(attribute.values) if isinstance(attribute, Category) else set(old.values)
    kept = [(i, tuple(v for v in group if v is None or v in public)) for i, group in enumerate(old.groups)]
    kept = [(i, group) for i, group in kept if group]
    if all(value is None for _, group in kept for value in group):
        return None
    gone = [i for i in range(len(old.groups)) if i not in {index for index, _ in kept}]
    return CategoryBins(old.attribute, tuple(group for _, group in kept)), [
        *([i] for i, _ in kept),
        [old.n_bins - 1, *gone],
    ]


def _joined(term: Term, bins: Sequence[Bins], joins: Sequence[Joined]) -> Term:
    """Return a term on joined bins, scores as means weighted by size; where sizes are unknown or 0, plain means."""
    shape = term.shape
    weights = np.ones(shape) if term.weights is None else np.maximum(term.weights, 0.0)
    # Bins without records count a little, so that a bin made of them alone has the mean of their scores.
    heavy = (weights + 1e-9)[..., None]
    total, mass, sizes = term.scores * heavy, heavy, term.weights
    for axis, joined in enumerate(joins):
        total = np.stack([np.take(total, group, axis=axis).sum(axis=axis) for group in joined], axis=axis)
        mass = np.stack([np.take(mass, group, axis=axis).sum(axis=axis) for group in joined], axis=axis)
        if sizes is not None:
            sizes = np.stack([np.take(sizes, group, axis=axis).sum(axis=axis) for group in joined], axis=axis)
    return Term(bins=tuple(bins), scores=total / mass, weights=sizes, name=term.name)


def _counted(model: AdditiveModel, term: Term, data: Any) -> Term:
    """Return a term with the sizes that joining goes by: counted in the data, else as published."""
    if data is not None:
        alone = AdditiveModel(
            attributes=model.attributes,
            terms=(replace(term, scores=term.scores[..., :1]),),
            intercept=(0.0,),
            link="identity",
        )
        cells, n_cells = bin_indices(alone, data, lenient=True)[0], math.prod(term.shape)
        totals = data.counts(cells, n_cells) if _knows_persons(data) else np.bincount(cells, minlength=n_cells)
        sizes = totals.astype(np.float64)
        return replace(term, weights=sizes.reshape(term.shape))
    if term.weights is None:
        raise InvalidModelError(
            "small bins cannot be joined in a model that publishes no sizes.",
            remedy=f"Give the data, or drop {parameter('smallest_bin')}.",
        )
    return term


def _without_small(term: Term, least: int) -> Term | None:
    """Return a term whose bins hold no record or at least ``least``; None where no two bins are left."""
    if len(term.bins) == 1:
        return _hide_missing(_merge_axis(term, 0, least), least)
    margin = least
    while True:
        for axis in range(2):
            term = _merge_axis(term, axis, margin)
        sizes = np.zeros(term.shape) if term.weights is None else term.weights
        if not ((sizes > 0) & (sizes < least)).any():
            return term
        if max(term.shape) <= 2:
            return None
        margin *= 2


def _knows_persons(data: object) -> bool:
    return isinstance(data, RecordTable) and data.persons is not None


def _has_small(term: Term, least: int) -> bool:
    """Return whether a bin holds some records, but too few; the missing values of a one-attribute term are hidden."""
    sizes = np.zeros(term.shape) if term.weights is None else term.weights
    occupied = sizes[:-1] if len(term.bins) == 1 else sizes
    # One bin alone cannot be joined with another.
    return bool(((occupied > 0) & (occupied < least)).any()) and occupied.size > 1


def _total(term: Term) -> float:
    return 0.0 if term.weights is None else float(term.weights.sum())


def _hide_missing(term: Term, least: int) -> Term:
    """Give the bin for missing values the mean score of the others where few records are in it."""
    if term.weights is None or not 0 < term.weights[-1] < least:
        return term
    weights, scores_ = term.weights.copy(), term.scores.copy()
    # The mean by size would reveal sizes.
    scores_[-1], weights[-1] = scores_[:-1].mean(axis=0), 0.0
    return replace(term, scores=scores_, weights=weights)


def _merge_axis(term: Term, axis: int, least: int) -> Term:
    """Join bins along an axis until each holds at least ``least`` records of the margin."""
    while True:
        bins = term.bins[axis]
        sizes = np.zeros(term.shape) if term.weights is None else term.weights
        margin = sizes.sum(axis=tuple(i for i in range(sizes.ndim) if i != axis))[:-1]
        if len(margin) < 2 or margin.min() >= least:
            return term
        at = int(margin.argmin())
        if isinstance(bins, NumericBins):
            around = [i for i in (at - 1, at + 1) if 0 <= i < len(margin)]
        else:
            around = [i for i in range(len(margin)) if i != at]
        with_ = min(around, key=lambda i: float(margin[i]))
        low, high = sorted((at, with_))
        joined: Joined = [[i] for i in range(bins.n_bins) if i != high]
        joined[low] = [low, high]
        joins: list[Joined] = [[[i] for i in range(entry.n_bins)] for entry in term.bins]
        joins[axis] = joined
        changed: list[Bins] = list(term.bins)
        changed[axis] = _join_two(bins, low, high)
        term = _joined(term, changed, joins)


def _join_two(bins: Bins, low: int, high: int) -> Bins:
    """Return bins with two of them joined."""
    if isinstance(bins, NumericBins):
        return bins.recut(bins.cuts[:low] + bins.cuts[low + 1 :])
    groups = list(bins.groups)
    groups[low] = (*groups[low], *groups[high])
    del groups[high]
    return replace(bins, groups=tuple(groups))


def _cleaned(term: Term, keep_sizes: bool) -> Term:
    rounded = np.array([_short(value) for value in term.scores.reshape(-1).tolist()]).reshape(term.scores.shape)
    return Term(bins=term.bins, scores=rounded, weights=term.weights if keep_sizes else None, name=term.name)


def _short(value: float) -> float:
    """Return a score to three significant digits."""
    return float(f"{value:.3g}")
