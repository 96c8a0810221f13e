"""Scores of additive models centered without sizes: what a learner centers by size is an equation in the sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glassine.domain import Binary, Domain, Integer, Real
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.terms import Term
from glassine.records.arrays import Array, Bools


def centered(
    terms: Sequence[Term], hidden: Sequence[tuple[int, ...] | None], domain: Domain, *, whole: bool, exact: bool
) -> tuple[list[Term], Array]:
    """Return terms centered by plain means where their sizes are hidden, but points, and what the intercept gains.

    Learners center scores by size, those of a pair often row by row, and those of several classes one by one. Each such
    mean is an equation in the sizes; plain means reveal nothing. Nor may a bin keep the score 0 of a learner that no
    record led there: its distance from the others would be that of the mean by size.
    """
    scores = [term.scores.copy() for term in terms]
    gained = np.zeros(scores[0].shape[-1] if scores else 1)
    homes = {
        term.bins[0].attribute: i
        for i, (term, lent) in enumerate(zip(terms, hidden, strict=True))
        if lent is not None and len(term.bins) == 1
    }
    for term, lent, score in zip(terms, hidden, scores, strict=True):
        if lent is None or len(term.bins) < 2 or whole:
            continue
        sides = (score[:, :-1].mean(axis=1), score[:-1].mean(axis=0))
        middle = score[:-1, :-1].mean(axis=(0, 1))
        for axis, (bins, side) in enumerate(zip(term.bins, sides, strict=True)):
            home = homes.get(bins.attribute)
            if home is not None:
                score -= np.expand_dims(side - middle, 1 - axis)
                scores[home] += _carried(side - middle, bins, terms[home].bins[0], domain)
    out = []
    for term, lent, score in zip(terms, hidden, scores, strict=True):
        if lent is not None:
            idle, inner = _idle(term, lent, exact=exact), np.zeros(term.shape, dtype=bool)
            inner[(slice(-1),) * len(term.shape)] = True
            among = inner & ~idle if (inner & ~idle).any() else inner
            middle = np.zeros_like(gained) if whole else score[among].mean(axis=0)
            gained += middle
            score -= middle
            score[idle] = 0.0
            # What all classes share decides nothing, but a learner may center it too.
            score -= score.mean(axis=-1, keepdims=True) if term.n_outputs > 1 else 0.0
        out.append(replace(term, scores=score))
    return out, gained


def lent_axes(term: Term, domain: Domain, *, whole: bool) -> tuple[int, ...]:
    """Return the axes along which the last bin holds no value of the domain, and has the score of another bin."""
    # A learner puts such a bin with another, which it chooses by size, and may have moved the points of one of them.
    # Joined bins have the mean of their scores, so that the term is compared before.
    out = []
    for axis, bins in enumerate(term.bins):
        *others, last = np.moveaxis(term.scores, axis, 0)
        own = isinstance(bins, CategoryBins) and bins.missing < bins.n_bins - 1
        lent = whole or any(np.array_equal(last, other) for other in others)
        if lent and (own or not domain[bins.attribute].missing):
            out.append(axis)
    return tuple(out)


def _idle(term: Term, lent: Sequence[int], *, exact: bool) -> Bools:
    """Return which bins score 0 as no record is in them, or by the domain can be; without sizes, those for gaps."""
    place = np.indices(term.shape)
    edges = [place[axis] == n - 1 for axis, n in enumerate(term.shape)]
    last = np.logical_or.reduce(edges)
    empty = last if term.weights is None else term.weights <= 0
    idle = (term.scores == 0).all(axis=-1) & empty
    if term.weights is None:
        return np.asarray(idle)
    for axis in lent:
        idle |= empty & edges[axis]
    if exact and not empty.all():
        # A fit leaves such a bin at the mean by size of the others or near it, so within their range; but one that
        # shares the score of another was put with it.
        occupied = term.scores[~empty]
        shared = {tuple(map(_digits, row)) for row in occupied.tolist()}
        amid = empty & ((occupied.min(axis=0) <= term.scores) & (term.scores <= occupied.max(axis=0))).all(axis=-1)
        for cell in map(tuple, np.argwhere(amid).tolist()):
            amid[cell] = tuple(map(_digits, term.scores[cell].tolist())) not in shared
        if len(term.bins) == 1:
            # So are categories without a record, and ranges that score as missing values do.
            last |= isinstance(term.bins[0], CategoryBins) | (term.scores == term.scores[-1]).all(axis=-1)
        idle |= amid & last
    return np.asarray(idle)


def _digits(value: float) -> float:
    """Return a score without the digits in which the mean of equal scores may differ from them."""
    return float(f"{value:.9g}")


def _carried(effect: Array, source: Bins, target: Bins, domain: Domain) -> Array:
    """Return the mean, in each bin of a target, of an effect on the bins of a source; each value counts once."""
    attribute = domain[source.attribute]
    out, mass = np.zeros((target.n_bins, effect.shape[-1])), np.zeros(target.n_bins)
    if isinstance(source, CategoryBins) and isinstance(target, CategoryBins):
        values = [value for group in target.groups for value in group]
        places, onto, widths = source.find(values), target.find(values), np.ones(len(values))
    elif isinstance(source, NumericBins) and isinstance(target, NumericBins):
        if isinstance(attribute, Integer | Real):
            half = 0.5 if isinstance(attribute, Integer) else 0.0
            low, high = attribute.ends
            edges = np.unique([low - half, *source.cuts, *target.cuts, high + half])
            points = edges[:-1] / 2 + edges[1:] / 2
            # An inferred range is the extremes of the records.
            widths = np.ones(len(points)) if attribute.inferred else np.diff(edges)
        else:
            codes = (0, 1) if isinstance(attribute, Binary) else attribute.values
            points = np.array([float(value) for value in codes if isinstance(value, int | float)])
            widths = np.ones(len(points))
        places, onto = source.index(points), target.index(points)
    else:
        return out
    np.add.at(out, onto, effect[places] * widths[:, None])
    np.add.at(mass, onto, widths)
    out /= np.where(mass > 0, mass, 1.0)[:, None]
    out[-1] = effect[-1]
    return out
