"""Additive models, as plain values: an intercept and the scores of binned attributes, added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain.attributes import Scalar, is_name, is_scalar
from glassine.errors import InvalidModelError
from glassine.models.bins import Bins, CategoryBins, NumericBins, checked_range
from glassine.models.edits import LARGEST_SCORE, Edit
from glassine.models.evidence import are_exact, check_classes, check_guarantee
from glassine.models.guarantee import Guarantee

__all__ = ["LINKS", "AdditiveModel", "Term", "released_terms"]

LINKS = ("identity", "logit", "softmax")
"""How a score becomes a prediction: as it is, as the log-odds of the second class, one score for each class."""

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
        given: object = self.bins
        bins = tuple(given) if isinstance(given, Iterable) else ()
        if len(bins) not in (1, 2) or not all(isinstance(entry, NumericBins | CategoryBins) for entry in bins):
            raise InvalidModelError(f"a term needs the bins of one attribute or of two, got {given!r}.")
        object.__setattr__(self, "bins", bins)
        if len({entry.attribute for entry in bins}) < len(bins):
            raise InvalidModelError(f"a term needs two different attributes, got {bins[0].attribute!r} twice.")
        if not isinstance(self.name, str):
            raise InvalidModelError(f"a term's name must be a text, got {self.name!r}.")
        object.__setattr__(self, "name", self.name or " & ".join(entry.attribute for entry in bins))
        shape = self.shape
        scores = _array(self.scores, f"the scores of term {self.name!r}")
        scores = scores[..., None] if scores.ndim == len(shape) else scores
        if scores.shape[:-1] != shape or not scores.shape[-1]:
            raise InvalidModelError(
                f"the scores of term {self.name!r} must have shape {shape} for one output, or {(*shape, 'outputs')}, "
                f"got {np.shape(self.scores)}; the last bin is for missing values."
            )
        object.__setattr__(self, "scores", _frozen(scores))
        if self.errors is not None:
            errors = _array(self.errors, f"the errors of term {self.name!r}")
            errors = errors[..., None] if errors.ndim == len(shape) else errors
            if errors.shape != scores.shape or not (errors >= 0).all():
                raise InvalidModelError(
                    f"the errors of term {self.name!r} must be at least 0 and have the shape of its scores, "
                    f"{scores.shape}, got {errors.shape}."
                )
            object.__setattr__(self, "errors", _frozen(errors))
        if self.weights is not None:
            weights = _array(self.weights, f"the weights of term {self.name!r}")
            if weights.shape != shape:
                raise InvalidModelError(
                    f"the weights of term {self.name!r} must have shape {shape}, got {weights.shape}."
                )
            object.__setattr__(self, "weights", _frozen(weights))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The one attribute, or the two."""
        return tuple(entry.attribute for entry in self.bins)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of bins of each attribute."""
        return tuple(entry.n_bins for entry in self.bins)

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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdditiveModel:
    """A published additive model: for each record, the intercept plus one score per term.

    Parameters
    ----------
    attributes : tuple of str
        The attributes that the model was given, in order.
    terms : tuple of Term
        The terms, each with one score per output. Terms on one attribute must read it alike, as a number or as a
        category.
    intercept : tuple of float
        Score of each output before any term: one, or with ``"softmax"`` one per class.
    link : {"identity", "logit", "softmax"}
        What the score is: the prediction of a regression, the log-odds of the second of two classes, or the
        log-probability of each class up to a constant.
    classes : tuple of scalars, optional
        Names of the classes; None for a regression.
    target : str, default=""
        Name of what is predicted.
    target_bounds : (float, float), optional
        Published range of a regression's target. Predictions are clipped to it; scores are not.
    source : str, default=""
        Where the model came from.
    guarantee : Guarantee, optional
        The differential privacy that the publisher claims. With a ``count_scale``, weights are noisy counts.
    edits : tuple of Edit
        The log of what people changed since the model was released, in order; taking them back gives the scores as
        released.

    Raises
    ------
    InvalidModelError
        If a part does not fit another, or the edits do not lead to the scores.

    Examples
    --------
    >>> age = Term(bins=(NumericBins("age", (40,)),), scores=[-0.5, 0.5, 0.0])
    >>> AdditiveModel(attributes=("age",), terms=(age,), intercept=(0.1,), link="logit", classes=("no", "yes"))
    <additive model of 1 term on 1 attribute>
    """

    attributes: tuple[str, ...]
    terms: tuple[Term, ...]
    intercept: tuple[float, ...]
    link: str
    classes: tuple[Scalar, ...] | None = None
    target: str = ""
    target_bounds: tuple[float, float] | None = None
    source: str = ""
    guarantee: Guarantee | None = None
    edits: tuple[Edit, ...] = ()

    def __post_init__(self) -> None:
        for name in ("attributes", "terms", "intercept", "edits", *(("classes",) if self.classes is not None else ())):
            given: object = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise InvalidModelError(f"the {name} of an additive model must be a list, got {given!r}.")
            object.__setattr__(self, name, tuple(given))
        for name in ("target", "source"):
            if not isinstance(getattr(self, name), str):
                raise InvalidModelError(f"a model's {name} must be a text, got {getattr(self, name)!r}.")
        check_guarantee(self.guarantee)
        self._check_outputs()
        self._check_terms()
        _check_edits(self)

    def _check_outputs(self) -> None:
        if self.link not in LINKS:
            raise InvalidModelError(f"a link must be one of {', '.join(LINKS)}, got {self.link!r}.")
        if (self.classes is None) != (self.link == "identity"):
            raise InvalidModelError(f"the link {self.link!r} needs {'no ' * (self.link == 'identity')}classes.")
        check_classes(self.classes, (), "additive model")
        if self.classes is not None and not all(is_scalar(label) for label in self.classes):
            raise InvalidModelError("the classes of an additive model must be strings, finite numbers or Booleans.")
        if self.link == "logit" and len(self.classes or ()) != 2:
            raise InvalidModelError(f"the link 'logit' needs two classes, got {len(self.classes or ())}. Use softmax.")
        intercept = _array(self.intercept, "the intercept")
        outputs = len(self.classes or ()) if self.link == "softmax" else 1
        if intercept.shape != (outputs,):
            raise InvalidModelError(f"the intercept must have {outputs} values, one per output, got {intercept.shape}.")
        object.__setattr__(self, "intercept", tuple(intercept.tolist()))
        if self.target_bounds is not None:
            if self.classes is not None:
                raise InvalidModelError("target_bounds are those of a regression's target. Leave them out for classes.")
            object.__setattr__(self, "target_bounds", checked_range(self.target_bounds, "target_bounds"))

    def _check_terms(self) -> None:
        known = set(self.attributes)
        if not all(is_name(name) for name in self.attributes) or len(known) < len(self.attributes):
            raise InvalidModelError("the attributes of an additive model must be non-empty strings, each named once.")
        kinds: dict[str, type] = {}
        names: set[str] = set()
        for term in self.terms:
            if not isinstance(term, Term):
                raise InvalidModelError(f"the terms of an additive model must be Term, got {type(term).__name__}.")
            if term.name in names:
                raise InvalidModelError(f"two terms are named {term.name!r}. Give each a name of its own.")
            names.add(term.name)
            if term.n_outputs != self.n_outputs:
                raise InvalidModelError(
                    f"term {term.name!r} has {term.n_outputs} scores per bin, but the model {self.n_outputs} outputs."
                )
            for bins in term.bins:
                if bins.attribute not in known:
                    raise InvalidModelError(f"term {term.name!r} reads {bins.attribute!r}, not one of the attributes.")
                if kinds.setdefault(bins.attribute, type(bins)) is not type(bins):
                    raise InvalidModelError(f"terms read {bins.attribute!r} as a number and as a category. Choose one.")

    @property
    def n_outputs(self) -> int:
        """Scores per record: one, or with ``"softmax"`` one per class."""
        return len(self.intercept)

    @property
    def counts_are_exact(self) -> bool:
        """Whether weights, where published, are the counts of the records, without noise."""
        return are_exact(False, self.guarantee)

    @property
    def tested(self) -> tuple[str, ...]:
        """The attributes that some term reads, in order of the model's attributes."""
        read = {name for term in self.terms for name in term.attributes}
        return tuple(name for name in self.attributes if name in read)

    def term(self, name: str) -> Term:
        """Return the term of a name.

        Raises
        ------
        InvalidModelError
            If there is none.
        """
        for term in self.terms:
            if term.name == name:
                return term
        raise InvalidModelError(f"the model has no term {name!r}. It has {', '.join(t.name for t in self.terms)}.")

    def with_term(self, term: Term, edits: tuple[Edit, ...]) -> AdditiveModel:
        """Return the model with a term of the same name exchanged, and another log of edits."""
        terms = tuple(term if old.name == term.name else old for old in self.terms)
        return replace(self, terms=terms, edits=edits)

    def __str__(self) -> str:
        terms, names = len(self.terms), len(self.attributes)
        edited = f", {len(self.edits)} edit{'s' * (len(self.edits) > 1)}" if self.edits else ""
        return f"additive model of {terms} term{'s' * (terms != 1)} on {names} attribute{'s' * (names != 1)}{edited}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        from glassine.models.drawing import model_html

        return model_html(self)


def released_terms(model: AdditiveModel, keep: int = 0) -> tuple[Term, ...]:
    """Return the terms as they were after the first ``keep`` edits; by default, as released."""
    scores = {term.name: term.scores.copy() for term in model.terms}
    for edit in reversed(model.edits[keep:]):
        scores[edit.term].reshape(-1)[list(edit.cells)] = edit.before
    changed = {edit.term for edit in model.edits[keep:]}
    return tuple(replace(t, scores=scores[t.name]) if t.name in changed else t for t in model.terms)


def _check_edits(model: AdditiveModel) -> None:
    """Raise InvalidModelError unless each edit leads from the scores before it to those after it."""
    scores = {term.name: term.scores.copy().reshape(-1) for term in model.terms}
    for number, edit in enumerate(model.edits, start=1):
        given: object = edit
        if not isinstance(given, Edit) or given.number != number:
            raise InvalidModelError("edits must be numbered 1, 2, 3 and so on, in order, without a gap.")
        if edit.term not in scores:
            raise InvalidModelError(f"edit {number} changes term {edit.term!r}, which the model lacks.")
        if edit.cells and not edit.cells[-1] < len(scores[edit.term]):
            raise InvalidModelError(f"edit {number} changes score {edit.cells[-1]} of {edit.term!r}: out of range.")
    for edit in reversed(model.edits):
        cells = list(edit.cells)
        if scores[edit.term][cells].tolist() != list(edit.after):
            raise InvalidModelError(
                f"edit {edit.number} of term {edit.term!r} does not lead to the scores that follow it. "
                "Take the file from where the model was edited, or drop the log."
            )
        scores[edit.term][cells] = edit.before


def _rebuilt(kind: type[Term], parts: dict[str, Any]) -> Term:
    return kind(**parts)


def _same(left: Array | None, right: Array | None) -> bool:
    return left is right if left is None or right is None else np.array_equal(left, right)


def _array(given: Any, what: str) -> Array:
    """Return numbers as a new array of doubles without -0.0, or raise InvalidModelError."""
    try:
        array = np.array(given)
        if array.dtype.kind not in "fiu":
            raise TypeError
        array = array.astype(np.float64) + 0.0
    except (TypeError, ValueError, OverflowError):
        raise InvalidModelError(f"{what} must be numbers in lists of one length.") from None
    if not (np.abs(array) <= LARGEST_SCORE).all():
        raise InvalidModelError(f"{what} must be finite numbers of at most 1e300 in size. NaN and infinity are none.")
    return array


def _frozen(array: Array) -> Array:
    """Return an array that cannot be made writable again: it holds its own bytes."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.float64).reshape(array.shape)
