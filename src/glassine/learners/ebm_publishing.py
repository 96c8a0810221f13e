"""Fitted scores as a published additive model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import isotonic_regression

from glassine.domain import Domain, Integer, Real
from glassine.errors import InvalidParameterError
from glassine.learners.binning import Axis
from glassine.learners.binning_merging import counted_once
from glassine.learners.ebm_targets import Target
from glassine.models import AdditiveModel, Guarantee, Term

__all__ = ["Frame", "Shapes", "check_monotone", "in_order", "publish"]

DIRECTIONS = ("increasing", "decreasing")

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """Fitted scores.

    Attributes
    ----------
    scores, errors : tuple of ndarray, one of shape (bins, outputs) for each term
        Scores, and the standard deviation of the noise in them.
    intercept : ndarray, shape (outputs,)
        The intercept.
    """

    scores: tuple[Array, ...]
    errors: tuple[Array, ...]
    intercept: Array


def check_monotone(monotone: Any, domain: Domain, target: Target) -> dict[str, bool]:
    """Return for each constrained number whether its scores must increase.

    Raises
    ------
    InvalidParameterError
        If an attribute is unknown or no number, a direction is unknown, or there are more than two classes.
    """
    if monotone is None:
        return {}
    if not isinstance(monotone, Mapping):
        raise InvalidParameterError(
            f"monotone must map numbers to 'increasing' or 'decreasing', got {type(monotone).__name__}."
        )
    if monotone and target.n_outputs > 1:
        raise InvalidParameterError(
            "monotone terms need a number or two classes as target: scores of several classes mean something only in "
            "relation to each other. Leave monotone out."
        )
    for name, direction in monotone.items():
        if name not in domain or not isinstance(domain[name], Integer | Real):
            raise InvalidParameterError(f"monotone names {name!r}, which is not a number of the domain.")
        if direction not in DIRECTIONS:
            raise InvalidParameterError(f"monotone[{name!r}] must be 'increasing' or 'decreasing', got {direction!r}.")
    return {str(name): direction == "increasing" for name, direction in monotone.items()}


def in_order(scores: Array, counts: Array, axis: Axis, increasing: bool) -> Array:
    """Return the nearest scores in order, weighted by the noisy counts; the bin for missing values is left alone."""
    ordered = axis.n_ordered
    out = scores.copy()
    out[:ordered] = isotonic_regression(
        scores[:ordered], sample_weight=np.maximum(counts[:ordered], 1.0), increasing=increasing
    )
    return out


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Frame:
    """What is published beside the scores.

    Attributes
    ----------
    domain : Domain
        The public domain of the attributes.
    target : Target
        Classes or range, without the records' values.
    guarantee : Guarantee
        The claim.
    source : str
        Where the model comes from.
    """

    domain: Domain
    target: Target
    guarantee: Guarantee
    source: str


def publish(axes: Sequence[Axis], shapes: Shapes, frame: Frame, pairs: Sequence[Term] = ()) -> AdditiveModel:
    """Return the model, in units of the target.

    Parameters
    ----------
    axes : sequence of Axis
        The bins of each term.
    shapes : Shapes
        Scores of each term, their standard deviations, and the intercept.
    frame : Frame
        What is published beside them.
    pairs : sequence of Term
        Terms of two attributes, which follow those of one.
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
                scores=np.where(there[:, None], score[index], 0.0) * factor,
                errors=np.where(there[:, None], error[index], 0.0) * factor,
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
        target_bounds=target.bounds,
        source=frame.source,
        guarantee=frame.guarantee,
    )
