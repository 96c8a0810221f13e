"""Fitted scores as a published additive model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.domain import Domain, Integer, Real
from glassine.errors import InvalidParameterError, parameter
from glassine.learners.additive.grids import Axis, counted_once
from glassine.learners.additive.targets import MOST_ODDS, Target
from glassine.models import AdditiveModel, Guarantee, NumericBins, Term
from glassine.models.terms import isotonic
from glassine.records.arrays import Array

MOST_COARSE = 20
"""Most coarse bins of one number: as many declared thresholds as a card or a fit of small budget can distinguish."""


def declared_bins(domain: Domain, bins: Any, most: int = MOST_COARSE) -> Mapping[str, Any]:
    """Return the user's bins; of each other number the declared thresholds, at most so many bins, evenly taken.

    Guarantee
    ---------
    none: nothing is read from data.

    Examples
    --------
    >>> domain = Domain({"age": Integer(0, 99, thresholds=(18, 65)), "size": Real(0, 1), "fee": Integer(0, 9)})
    >>> declared_bins(domain, {"fee": [4]})
    {'age': [18.0, 65.0], 'fee': [4]}
    """
    if bins is not None and not isinstance(bins, Mapping):
        refused: Mapping[str, Any] = bins  # what checks the parameters refuses it by its name
        return refused
    out: dict[str, Any] = {}
    for name in domain:
        attribute = domain[name]
        cuts = tuple(attribute.thresholds or ()) if isinstance(attribute, Integer | Real) else ()
        inside = sorted({float(cut) for cut in cuts if isinstance(attribute, Integer | Real) and cut < attribute.hi})
        if inside:
            places = np.unique(np.linspace(0, len(inside) - 1, min(len(inside), most - 1)).round().astype(int))
            out[name] = [inside[place] for place in places.tolist()]
    return {**out, **(bins or {})}


DIRECTIONS = ("increasing", "decreasing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """Fitted scores."""

    # scores, errors: scores, and the standard deviation of the noise in them; shape (bins, outputs) for each term.
    scores: tuple[Array, ...]
    errors: tuple[Array, ...]
    intercept: Array  # The intercept; shape (outputs,)


AUTO = "auto"
"""Directions that the data vote for."""


def check_monotone(monotone: object, domain: Domain, target: Target) -> dict[str, bool]:
    """Return for each constrained number whether its scores must increase."""
    if monotone is None:
        return {}
    if monotone == AUTO:
        raise InvalidParameterError(
            f"{parameter('monotone', AUTO)} reads directions off the records, which a private fit must not.",
            remedy="State the directions that are known beforehand.",
        )
    if not isinstance(monotone, Mapping):
        raise InvalidParameterError(
            f"{parameter('monotone')} must map numbers to 'increasing' or 'decreasing', got {type(monotone).__name__}."
        )
    if monotone and target.n_outputs > 1:
        raise InvalidParameterError(
            "monotone terms need a number or two classes as target: scores of several classes mean something only in "
            "relation to each other.",
            remedy="Leave monotone out.",
        )
    for name, direction in monotone.items():
        if name not in domain or not isinstance(domain[name], Integer | Real):
            raise InvalidParameterError(
                f"{parameter('monotone')} names {name!r}, which is not a number of the domain.",
                remedy="Name a number, or leave it out.",
            )
        if direction not in DIRECTIONS:
            raise InvalidParameterError(
                f"{parameter('monotone')}[{name!r}] must be 'increasing' or 'decreasing', got {direction!r}."
            )
    return {str(name): direction == "increasing" for name, direction in monotone.items()}


def voted(terms: Sequence[Term]) -> dict[str, str]:
    """Return a direction for each number: that in which its scores lie nearer to an order, weighted by the records.

    Guarantee
    ---------
    none: it follows from the scores of an ordinary fit.
    """
    out = {}
    for term in terms:
        bins = term.bins[0]
        if len(term.bins) > 1 or not isinstance(bins, NumericBins):
            continue
        plain = [place for place in range(bins.n_bins - 1) if place not in bins.coded]
        scores = term.scores[plain, 0]
        weights = np.ones(len(plain)) if term.weights is None else np.maximum(term.weights[plain], 1e-9)
        moved = [
            float(weights @ (np.array(isotonic(scores.tolist(), weights.tolist(), increasing=up)) - scores) ** 2)
            for up in (True, False)
        ]
        out[bins.attribute] = DIRECTIONS[int(moved[1] < moved[0])]
    return out


def in_order(scores: Array, counts: Array, axis: Axis, increasing: bool) -> Array:
    """Return the nearest scores in order, weighted by the noisy counts; the bin for missing values is left alone."""
    ordered = axis.n_ordered
    out = scores.copy()
    mass = np.maximum(counts[:ordered], 1.0)
    out[:ordered] = isotonic(scores[:ordered].tolist(), mass.tolist(), increasing=increasing)
    return out


def ordered(shapes: Shapes, axes: Sequence[Axis], monotone: Mapping[str, bool]) -> Shapes:
    """Return the shapes with the scores of monotone numbers in their order; terms beyond the axes stay."""
    scores = list(shapes.scores)
    for place, axis in enumerate(axes):
        up = monotone.get(axis.grid.attribute)
        if up is not None:
            scores[place] = in_order(scores[place][:, 0], axis.counts, axis, up)[:, None]
    return replace(shapes, scores=tuple(scores))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Frame:
    """What is published beside the scores."""

    domain: Domain  # The public domain of the attributes
    target: Target  # Classes or range, without the records' values
    guarantee: Guarantee | None  # The claim; None of a fit that makes none
    source: str  # Where the model comes from
    # Returns what is published of standard deviations of noise: None where there is no noise.
    errors: Callable[[Array], Array | None]


def publish(axes: Sequence[Axis], shapes: Shapes, frame: Frame, pairs: Sequence[Term] = ()) -> AdditiveModel:
    """Return the model, in units of the target.

    Noise in a bin of hardly a record may be any size: scores are limited to what the target's public range allows.
    """
    target = frame.target
    factor, offset = target.scale
    terms = []
    for axis, score, error in zip(axes, shapes.scores, shapes.errors, strict=True):
        bins, index = axis.published()
        there = index >= 0
        terms.append(
            Term(
                bins=(bins,),
                scores=np.where(there[:, None], within(score[index], target), 0.0) * factor,
                errors=frame.errors(np.where(there[:, None], error[index], 0.0) * factor),
                weights=np.where(counted_once(index), axis.counts[index], 0.0),
            )
        )
    return AdditiveModel(
        attributes=frame.domain.names,
        terms=(*terms, *pairs),
        intercept=tuple((shapes.intercept * factor + offset).tolist()),
        link=target.link,
        classes=target.classes,
        target=target.name,
        target_bounds=target.predicted_range,
        source=frame.source,
        guarantee=frame.guarantee,
    )


def within(scores: Array, target: Target) -> Array:
    """Return scores, in the unit of the fit, none of them larger than the target's public range allows."""
    return np.clip(scores, -target.largest_score, target.largest_score)


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
"""Gauss's points and weights for the mean over a normal variable."""

DEPENDENT = 0.05
"""Standard deviation of what a mean prediction errs by where attributes are taken as independent."""

MEANS = (0.005, 0.995)
"""Least and largest mean prediction that an intercept is set for."""

LEAST_VARIANCE = 1e-300
"""A smaller variance is that of no noise; ratios of two such count as 1."""

HALVINGS = 50
"""Halvings of an interval: its length falls far below what noise leaves open."""


def matched(model: AdditiveModel, *, share: float, error: float, lack: float, deviation: float) -> AdditiveModel:
    """Return a model of two classes whose mean prediction is the released share of the second.

    Clipped residuals of a rare class leave the intercept too low. What the mean prediction lacks is known twice: from
    the released mean of unclipped residuals; and from the released share, scores being taken as those of independent
    attributes, which is right where scores are small. Both are weighted by their precision.

    Guarantee
    ---------
    none: a function of what was released.
    """
    mean, spread = model.intercept[0], 0.0
    for term in model.terms:
        weights = np.zeros(term.shape) if term.weights is None else np.maximum(term.weights, 0.0)
        if weights.any():
            scores, shares = term.scores[..., 0], weights / weights.sum()
            center = float((shares * scores).sum())
            mean, spread = mean + center, spread + float((shares * (scores - center) ** 2).sum())

    def foretold(shift: float) -> float:
        # The logistic function by way of tanh, which no score overflows.
        return float(WEIGHTS @ (1 + np.tanh((mean + shift + math.sqrt(spread) * NODES) / 2)) / 2)

    now = foretold(0.0)
    # The larger the scores, the more can dependence do; without any, there is nothing to depend.
    doubt = error**2 + (DEPENDENT * min(1.0, spread)) ** 2
    # Both are nothing where there are neither terms nor noise: then the share is right.
    weight = doubt / max(doubt + deviation**2, LEAST_VARIANCE)
    wanted = float(np.clip(now + weight * lack + (1 - weight) * (share - now), *MEANS))
    below, above = -MOST_ODDS, MOST_ODDS
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        below, above = (middle, above) if foretold(middle) < wanted else (below, middle)
    return replace(model, intercept=(model.intercept[0] + (below + above) / 2,))


MOST_LEVEL = 5.0
"""Factor, or divisor, by which the level of predicted counts is moved at most."""


def leveled(model: AdditiveModel, *, total: float, lack: float) -> AdditiveModel:
    """Return a model of counts whose predictions add up to the released total: clipped residuals leave them too low.

    Guarantee
    ---------
    none: a function of what was released.
    """
    factor = total / max(total - lack, total / MOST_LEVEL)
    return replace(model, intercept=(model.intercept[0] + math.log(max(factor, 1 / MOST_LEVEL)),))
