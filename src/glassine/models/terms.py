"""Terms of additive models, as plain values: the scores of the bins of one attribute, or of two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidModelError
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.edits import LARGEST_SCORE

__all__ = ["Term", "finite_array", "frozen"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Term:
    """A shape function: the score that each bin of one attribute, or each cell of two, adds.

    Parameters
    ----------
    bins : tuple of one or two NumericBins or CategoryBins
        The bins of the one attribute, or of the two.
    scores : array-like, shape (bins, outputs) or (bins, bins of the second, outputs)
        What is added; the last axis may be left out where there is one output. Finite.
    errors : array-like of the same shape, optional
        Standard deviation of the noise that the released score carries. Bands are drawn from it. An edit leaves it
        alone: it belongs to the score as released.
    weights : array-like, shape (bins,) or (bins, bins of the second), optional
        Number of training records in each bin, as published. With noise it may be negative.
    name : str, optional
        By default the attribute, or both joined by an ampersand.

    Attributes
    ----------
    n_outputs : int
        Scores per bin.

    Raises
    ------
    InvalidModelError
        If the shapes do not fit the bins, or a number is not finite.

    Examples
    --------
    >>> term = Term(bins=(NumericBins("age", (40,)),), scores=[-0.5, 0.5, 0.0], weights=[60, 40, 0])
    >>> term, term.scores.shape
    (<term age of 3 bins>, (3, 1))
    """

    bins: tuple[Bins, ...]
    scores: Array
    errors: Array | None = None
    weights: Array | None = None
    name: str = ""

    def __post_init__(self) -> None:
        listed: object = self.bins
        bins = tuple(listed) if isinstance(listed, Iterable) else ()
        if len(bins) not in (1, 2) or not all(isinstance(entry, NumericBins | CategoryBins) for entry in bins):
            raise InvalidModelError(f"a term needs the bins of one attribute or of two, got {listed!r}.")
        object.__setattr__(self, "bins", bins)
        if len({entry.attribute for entry in bins}) < len(bins):
            raise InvalidModelError(f"a term needs two different attributes, got {bins[0].attribute!r} twice.")
        if not isinstance(self.name, str):
            raise InvalidModelError(f"a term's name must be a text, got {self.name!r}.")
        object.__setattr__(self, "name", self.name or " & ".join(entry.attribute for entry in bins))
        shape = self.shape
        scores = finite_array(self.scores, f"the scores of term {self.name!r}")
        scores = scores[..., None] if scores.ndim == len(shape) else scores
        if scores.shape[:-1] != shape or not scores.shape[-1]:
            raise InvalidModelError(
                f"the scores of term {self.name!r} must have shape {shape} for one output, or {(*shape, 'outputs')}, "
                f"got {np.shape(self.scores)}; the last bin is for missing values."
            )
        object.__setattr__(self, "scores", frozen(scores))
        if self.errors is not None:
            errors = finite_array(self.errors, f"the errors of term {self.name!r}")
            errors = errors[..., None] if errors.ndim == len(shape) else errors
            if errors.shape != scores.shape or not (errors >= 0).all():
                raise InvalidModelError(
                    f"the errors of term {self.name!r} must be at least 0 and have the shape of its scores, "
                    f"{scores.shape}, got {errors.shape}."
                )
            object.__setattr__(self, "errors", frozen(errors))
        if self.weights is not None:
            weights = finite_array(self.weights, f"the weights of term {self.name!r}")
            if weights.shape != shape:
                raise InvalidModelError(
                    f"the weights of term {self.name!r} must have shape {shape}, got {weights.shape}."
                )
            object.__setattr__(self, "weights", frozen(weights))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The one attribute, or the two."""
        return tuple(entry.attribute for entry in self.bins)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of bins of each attribute."""
        return tuple(entry.n_bins for entry in self.bins)

    @property
    def labels(self) -> tuple[str, ...]:
        """Text for each bin, or for each cell of a pair in row-major order."""
        if len(self.bins) == 1:
            return self.bins[0].labels
        return tuple(f"{left} & {right}" for left in self.bins[0].labels for right in self.bins[1].labels)

    @property
    def n_outputs(self) -> int:
        """Scores per bin."""
        return int(self.scores.shape[-1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Term):
            return NotImplemented
        return (self.bins, self.name) == (other.bins, other.name) and all(
            _same(getattr(self, name), getattr(other, name)) for name in ("scores", "errors", "weights")
        )

    def __hash__(self) -> int:
        return hash((self.bins, self.name, self.scores.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that a copy is checked and its arrays are read-only again.
        return _rebuilt, (Term, {field.name: getattr(self, field.name) for field in fields(self)})

    def __repr__(self) -> str:
        size = " x ".join(str(count) for count in self.shape)
        return f"<term {self.name} of {size} {'bins' if len(self.bins) == 1 else 'cells'}>"


def _rebuilt(kind: type[Term], parts: dict[str, Any]) -> Term:
    return kind(**parts)


def _same(left: Array | None, right: Array | None) -> bool:
    return left is right if left is None or right is None else np.array_equal(left, right)


def finite_array(values: Any, what: str) -> Array:
    """Return numbers as a new array of doubles without -0.0, or raise InvalidModelError."""
    try:
        array = np.array(values)
        if array.dtype.kind not in "fiu":
            raise TypeError
        array = array.astype(np.float64) + 0.0
    except (TypeError, ValueError, OverflowError):
        raise InvalidModelError(f"{what} must be numbers in lists of one length.") from None
    if not (np.abs(array) <= LARGEST_SCORE).all():
        raise InvalidModelError(f"{what} must be finite numbers of at most 1e300 in size. NaN and infinity are none.")
    return array


def frozen(array: Array) -> Array:
    """Return an array that cannot be made writable again: it holds its own bytes."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.float64).reshape(array.shape)
