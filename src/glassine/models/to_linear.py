"""A regression that follows from a published additive model: each number becomes a line through its scores."""

from __future__ import annotations

import numpy as np

from glassine.errors import InvalidModelError
from glassine.models.additive_scores import ScoringModel
from glassine.models.bins import CategoryBins, NumericBins
from glassine.models.effects import Effect, Equal, Power
from glassine.models.regression import FitStatistics, RegressionModel
from glassine.models.terms import Term
from glassine.records.arrays import Array

FAMILIES = {"identity": "gaussian", "log": "poisson", "logit": "binomial", "softmax": "multinomial"}
FARTHEST = 1e3
"""Ranges of an attribute within which a value may stand for a missing one."""


def linear(model: ScoringModel) -> RegressionModel:
    """Return a regression of a model of scores, by what it publishes alone: scores, counts and ranges.

    Of each number, the line is that of least squares through the scores of its bins, at their middles, weighted by the
    published counts where there are any. Categories keep their scores.

    Guarantee
    ---------
    That of the model: what follows from a release alone reveals no more than the release (post-processing).

    Raises
    ------
    InvalidModelError
        If a term is of two attributes, or a number has special codes.
    """
    pairs = [term.name for term in model.terms if len(term.bins) > 1]
    if pairs:
        raise InvalidModelError(
            f"the term {pairs[0]!r:.60} is of two attributes, and a line is of one.", remedy="Train one without pairs."
        )
    effects: dict[str, Effect] = {}
    intercept = np.array(model.intercept, dtype=float)
    for term in model.terms:
        start, own = _number(term) if isinstance(term.bins[0], NumericBins) else _categories(term)
        intercept = intercept + start
        for effect in own:
            before = effects.get(effect.name)
            effects[effect.name] = effect if before is None else _added(before, effect)
    return RegressionModel(
        attributes=model.attributes,
        effects=tuple(effects.values()),
        intercept=tuple(intercept.tolist()),
        link=model.link,
        classes=model.classes,
        fit=FitStatistics(family=FAMILIES[model.link]),
    )


def _added(first: Effect, second: Effect) -> Effect:
    """Return one effect of two terms on the same attribute."""
    sums = tuple(a + b for a, b in zip(first.coefficients, second.coefficients, strict=True))
    return Effect(name=first.name, factors=first.factors, coefficients=sums)


def _weights(term: Term, n: int) -> Array:
    """Return the published counts of the first n bins, noisy ones held at zero; ones where there are none."""
    counts = np.ones(n) if term.weights is None else np.maximum(np.asarray(term.weights, dtype=float)[:n], 0)
    return counts if counts.sum() > 0 else np.ones(n)


def _scores(term: Term) -> Array:
    """Return the scores of the bins of a term on one attribute, shape (bins, outputs)."""
    scores = np.asarray(term.scores, dtype=float)
    return scores[:, None] if scores.ndim == 1 else scores


def _number(term: Term) -> tuple[Array, list[Effect]]:
    """Return what a term on a number adds to the intercept, and its line."""
    bins = term.bins[0]
    if not isinstance(bins, NumericBins):
        raise InvalidModelError(f"the term {term.name!r:.60} is not of a number.")
    if bins.codes:
        raise InvalidModelError(f"{bins.attribute!r:.60} has special codes, which have no place on a line.")
    scores, cuts = _scores(term), np.array(bins.cuts)
    if not len(cuts):
        return scores[0], []
    step = (cuts[-1] - cuts[0]) / max(1, len(cuts) - 1) or 1.0
    low, high = bins.bounds or (cuts[0] - step, cuts[-1] + step)
    ends = np.concatenate([[min(low, cuts[0])], cuts, [max(high, cuts[-1])]])
    middles = (ends[:-1] + ends[1:]) / 2
    weights = _weights(term, len(middles))
    center = float(weights @ middles / weights.sum())
    mean = weights @ scores[:-1] / weights.sum()
    spread = float(weights @ (middles - center) ** 2)
    slopes = ((weights * (middles - center)) @ scores[:-1]) / spread if spread > 0 else np.zeros(scores.shape[1])
    # A missing value stands where the line has its score, if that is near the range; else in the middle.
    missing = center
    if len(slopes) == 1 and abs(slopes[0]) > 0:
        own = center + float((scores[-1, 0] - mean[0]) / slopes[0])
        missing = own if abs(own - center) <= FARTHEST * (ends[-1] - ends[0]) else center
    factor = Power(attribute=bins.attribute, missing=missing)
    line = Effect(name=bins.attribute, factors=(factor,), coefficients=tuple(slopes.tolist()))
    return mean - slopes * center, [line]


def _categories(term: Term) -> tuple[Array, list[Effect]]:
    """Return what a term on a category adds to the intercept, and a column for each declared value."""
    bins = term.bins[0]
    if not isinstance(bins, CategoryBins):
        raise InvalidModelError(f"the term {term.name!r:.60} is not of a category.")
    scores = _scores(term)
    # Values that are not declared are the last bin, from which the others differ.
    effects = [
        Effect(
            name=f"{bins.attribute}={'missing' if value is None else value}",
            factors=(Equal(attribute=bins.attribute, value=value),),
            coefficients=tuple((scores[place] - scores[-1]).tolist()),
        )
        for place, group in enumerate(bins.groups)
        for value in group
    ]
    return scores[-1], effects
