"""Shape functions of an additive model: what each term adds, how far noise blurs it, how much it matters."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidParameterError
from glassine.models.additive import AdditiveModel, Term, released_terms
from glassine.models.scoring import cell_labels

__all__ = ["COVERAGE", "ShapeFunction", "bands", "explain_global", "term_importance"]

COVERAGE = 0.9
"""Share of the bands that cover the score without noise, unless told."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ShapeFunction:
    """One term of an additive model, ready to be read.

    Attributes
    ----------
    term : Term
        The term.
    released : ndarray, shape of the term's scores
        The scores before any edit.
    low, high : ndarray of the same shape, or None
        The band around the released scores; None where the model tells no errors.
    coverage : float
        Coverage of each band.
    importance : float
        Mean absolute centred score, see :func:`term_importance`.
    """

    term: Term
    released: Array
    low: Array | None
    high: Array | None
    coverage: float
    importance: float

    @property
    def name(self) -> str:
        """Name of the term."""
        return self.term.name

    @property
    def labels(self) -> tuple[str, ...]:
        """Text for each bin or cell, in row-major order."""
        return cell_labels(self.term)

    @property
    def edited(self) -> bool:
        """Whether some score differs from the released one."""
        return not np.array_equal(self.released, self.term.scores)

    def __repr__(self) -> str:
        return f"<shape function of {self.term.name}, importance {self.importance:.4g}>"

    def _repr_html_(self) -> str:
        from glassine.models.drawing import draw_shape

        return "".join(draw_shape(self, output=output) for output in range(self.term.n_outputs))


def bands(term: Term, coverage: float = COVERAGE) -> tuple[Array, Array] | None:
    """Return the lower and upper end of each score's noise band; None where the term tells no errors.

    The noise of a released score is normal with standard deviation ``errors``, or nearly so. Each band by itself covers
    the score that the same computation without noise would have given with probability ``coverage``; all bands
    together do so less often. They say nothing of the error of sampling: other people would have given other scores.

    Parameters
    ----------
    term : Term
        The term, with the scores as released.
    coverage : float, default=0.9
        In (0, 1).

    Returns
    -------
    tuple of ndarray, shape of the term's scores

    Raises
    ------
    InvalidParameterError
        If the coverage is out of range.

    Examples
    --------
    >>> from glassine.models.bins import NumericBins
    >>> term = Term(bins=(NumericBins("age"),), scores=np.array([1.0, 0.0]), errors=np.array([0.5, 0.0]))
    >>> low, high = bands(term, 0.95)
    >>> round(float(low[0, 0]), 3), round(float(high[0, 0]), 3)
    (0.02, 1.98)
    """
    if not 0 < coverage < 1:
        raise InvalidParameterError(f"coverage must lie in (0, 1), got {coverage!r}. Use 0.9 for bands of 90 %.")
    if term.errors is None:
        return None
    half = NormalDist().inv_cdf((1 + coverage) / 2) * term.errors
    return term.scores - half, term.scores + half


def bin_weights(term: Term) -> Array:
    """Return a weight of at least 0 for each bin: its count, or equal ones where no count is known to be positive."""
    if term.weights is not None:
        weights = np.maximum(term.weights, 0.0)
        if weights.any():
            # Divided by the largest, so that no sum of them overflows.
            return np.asarray(weights / weights.max())
    equal = np.ones(term.shape)
    for axis in range(len(term.shape)):
        # The bin for missing values is nobody's, as far as is known.
        np.moveaxis(equal, axis, 0)[-1] = 0.0
    return equal


def term_importance(term: Term) -> float:
    """Return the mean over the records of how far the term's score lies from its own mean.

    Bins are weighted by their noisy counts, negative ones as 0; equally, but for missing values, where no counts are
    published. Of several outputs the mean is taken.

    Examples
    --------
    >>> from glassine.models.bins import NumericBins
    >>> bins = (NumericBins("age", (40,)),)
    >>> term_importance(Term(bins=bins, scores=np.array([-1.0, 3.0, 0.0]), weights=np.array([3, 1, 0])))
    1.5
    """
    weights = bin_weights(term)
    shares = (weights / weights.sum()).reshape(-1, 1)
    scores = term.scores.reshape(-1, term.n_outputs)
    centre = (shares * scores).sum(axis=0)
    return float((shares * np.abs(scores - centre)).sum(axis=0).mean())


def explain_global(model: AdditiveModel, coverage: float = COVERAGE) -> tuple[ShapeFunction, ...]:
    """Return the shape functions of a model, the most important first.

    Nothing is spent: it follows from the published model.

    Parameters
    ----------
    model : AdditiveModel
        The model.
    coverage : float, default=0.9
        Coverage of each noise band, in (0, 1).

    Raises
    ------
    InvalidParameterError
        If the coverage is out of range.
    """
    out = []
    for term, released in zip(model.terms, released_terms(model), strict=True):
        low, high = bands(released, coverage) or (None, None)
        out.append(
            ShapeFunction(
                term=term,
                released=released.scores,
                low=low,
                high=high,
                coverage=coverage,
                importance=term_importance(term),
            )
        )
    return tuple(sorted(out, key=lambda shape: -shape.importance))
