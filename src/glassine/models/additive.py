"""Additive models, as plain values: an intercept and the scores of binned attributes, added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from glassine.domain.attributes import Scalar, is_name, is_scalar
from glassine.errors import InvalidModelError, first_of, parameter
from glassine.exports import Displayed
from glassine.models.additive_scores import ScoringModel
from glassine.models.bins import checked_range
from glassine.models.evidence import SizeOrigin, are_exact, check_classes, check_guarantee
from glassine.models.guarantee import Guarantee
from glassine.models.regression import RegressionModel, ScoreEquations
from glassine.models.rounding import rounded
from glassine.models.scorecard import Scorecard, card_items, check_card
from glassine.models.shapes import COVERAGE, ShapeFunction, bands, term_importance
from glassine.models.terms import Edit, Term, finite_array
from glassine.models.to_linear import linear

LINKS = ("identity", "log", "logit", "softmax")
"""How a score becomes a prediction: unchanged, as the logarithm of a mean, as the log-odds of the second class, or one
score for each class."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdditiveModel(Displayed, ScoringModel):
    """A published additive model: for each record, the intercept plus one score per term.

    Parameters
    ----------
    attributes : tuple of str
        The attributes that the model was given, in order.
    terms : tuple of Term
        The terms, each with one score per output. Terms on one attribute must read it in the same way, as a number or
        as a category.
    intercept : tuple of float
        Score of each output before any term: one, or with ``"softmax"`` one per class.
    link : {"identity", "log", "logit", "softmax"}
        What the score is: the prediction of a regression, the logarithm of a mean, the log-odds of the second of two
        classes, or the log-probability of each class up to a constant.
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
    scorecard : Scorecard, optional
        What a point is worth, and the risk at each total, of a model whose scores are whole points.
    sizes : {"stored", "derived", "stated"}, default="stored"
        Where numbers of records in bins come from; derived ones are sums of weights.
    joint : bool, default=False
        Whether all scores were fitted together, as the coefficients of a regression are, and not term after term.
    equations : ScoreEquations, optional
        What an estimator in memory states of sums over its records, of the columns of :meth:`to_linear`. Files hold
        none.

    Raises
    ------
    InvalidModelError
        If a part does not fit another, the edits do not lead to the scores, or those of a scorecard are not whole
        points.

    Examples
    --------
    >>> from glassine.models.bins import NumericBins
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
    scorecard: Scorecard | None = None
    sizes: SizeOrigin = "stored"
    joint: bool = False
    equations: ScoreEquations | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("attributes", "terms", "intercept", "edits", *(("classes",) if self.classes is not None else ())):
            members: object = getattr(self, name)
            if isinstance(members, str) or not isinstance(members, Iterable):
                raise InvalidModelError(f"the {name} of an additive model must be a list, got {members!r}.")
            object.__setattr__(self, name, tuple(members))
        for name in ("target", "source"):
            if not isinstance(getattr(self, name), str):
                raise InvalidModelError(f"a model's {name} must be a text, got {getattr(self, name)!r}.")
        check_guarantee(self.guarantee)
        self._check_outputs()
        self._check_terms()
        _check_edits(self)
        if self.scorecard is not None:
            check_card(self.scorecard, released_terms(self), self.terms, self.intercept[0], self.link)

    def _check_outputs(self) -> None:
        if self.link not in LINKS:
            raise InvalidModelError(f"a link must be one of {', '.join(LINKS)}, got {self.link!r}.")
        number = self.link in ("identity", "log")
        if (self.classes is None) != number:
            raise InvalidModelError(f"the link {self.link!r} needs {'no ' * number}classes.")
        check_classes(self.classes, (), "additive model")
        if self.classes is not None and not all(is_scalar(label) for label in self.classes):
            raise InvalidModelError("the classes of an additive model must be strings, finite numbers or Booleans.")
        if self.link == "logit" and len(self.classes or ()) != 2:
            raise InvalidModelError(
                f"the link 'logit' needs two classes, got {len(self.classes or ())}.", remedy="Use softmax."
            )
        intercept = finite_array(self.intercept, "the intercept")
        outputs = len(self.classes or ()) if self.link == "softmax" else 1
        if intercept.shape != (outputs,):
            raise InvalidModelError(f"the intercept must have {outputs} values, one per output, got {intercept.shape}.")
        object.__setattr__(self, "intercept", tuple(intercept.tolist()))
        if self.target_bounds is not None:
            if self.classes is not None:
                raise InvalidModelError(
                    f"{parameter('target_bounds')} are those of a regression's target.",
                    remedy="Leave them out for classes.",
                )
            object.__setattr__(self, "target_bounds", checked_range(self.target_bounds, "target_bounds"))

    def _check_terms(self) -> None:
        attributes = set(self.attributes)
        if not all(is_name(name) for name in self.attributes) or len(attributes) < len(self.attributes):
            raise InvalidModelError("the attributes of an additive model must be non-empty strings, each named once.")
        kinds: dict[str, type] = {}
        names: set[str] = set()
        for term in self.terms:
            if not isinstance(term, Term):
                raise InvalidModelError(f"the terms of an additive model must be Term, got {type(term).__name__}.")
            if term.name in names:
                raise InvalidModelError(f"two terms are named {term.name!r}.", remedy="Give each its own name.")
            names.add(term.name)
            if term.n_outputs != self.n_outputs:
                raise InvalidModelError(
                    f"term {term.name!r} has {term.n_outputs} scores per bin, but the model {self.n_outputs} outputs."
                )
            for bins in term.bins:
                if bins.attribute not in attributes:
                    raise InvalidModelError(f"term {term.name!r} reads {bins.attribute!r}, not one of the attributes.")
                if kinds.setdefault(bins.attribute, type(bins)) is not type(bins):
                    raise InvalidModelError(
                        f"terms read {bins.attribute!r} as a number and as a category.", remedy="Choose one."
                    )

    @property
    def counts_are_exact(self) -> bool:
        """Whether weights, where published, are the counts of the records, without noise."""
        return are_exact(self.sizes == "derived", self.guarantee)

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
        raise InvalidModelError(
            f"the model has no term {name!r}.", remedy=f"It has {first_of((t.name for t in self.terms), 5)}."
        )

    def with_term(self, term: Term, edits: tuple[Edit, ...]) -> AdditiveModel:
        """Return the model with a term of the same name exchanged, and another log of edits."""
        terms = tuple(term if old.name == term.name else old for old in self.terms)
        return replace(self, terms=terms, edits=edits, equations=None)

    def to_scorecard(self, *, max_items: int = 10, max_points: int = 5) -> AdditiveModel:
        """Return a scorecard: at most so many items, each worth a whole number of points.

        Guarantee
        ---------
        That of the model: the card follows from the published scores and counts alone; see ``models/rounding.md``.

        Parameters
        ----------
        max_items : int, default=10
            Most items, in [1, 100].
        max_points : int, default=5
            Most points of an item, in [1, 100].

        Raises
        ------
        InvalidModelError
            If the model is of more than two classes, or a term is of two attributes.
        InvalidParameterError
            If a number is out of its range.

        Examples
        --------
        >>> from glassine.models.bins import NumericBins
        >>> age = Term(bins=(NumericBins("age", (40,)),), scores=[-0.5, 0.5, 0.0], weights=[60, 40, 0])
        >>> model = AdditiveModel(
        ...     attributes=("age",), terms=(age,), intercept=(0,), link="logit", classes=("no", "yes")
        ... )
        >>> model.to_scorecard(max_points=1)
        <scorecard of 1 item on 1 attribute>
        """
        if self.link not in ("logit", "identity"):
            raise InvalidModelError(
                "a scorecard is of two classes or of a number.", remedy="Train one on such, or keep the additive model."
            )
        terms, intercept, card = rounded(
            self.terms,
            self.intercept[0],
            max_items=max_items,
            max_points=max_points,
            classes=self.link == "logit",
            bounds=self.target_bounds,
        )
        return replace(self, terms=terms, intercept=(intercept,), edits=(), scorecard=card, equations=None)

    def to_linear(self) -> RegressionModel:
        """Return a regression: a line through the scores of each number, and a coefficient for each category.

        Guarantee
        ---------
        That of the model: the lines follow from the published scores, counts and ranges alone; see
        ``models/to_linear.md``.

        Raises
        ------
        InvalidModelError
            If a term is of two attributes, or the model is a scorecard.

        Examples
        --------
        >>> from glassine.models.bins import NumericBins
        >>> age = Term(bins=(NumericBins("age", (30, 50), bounds=(10, 70)),), scores=[-1.0, 0.0, 1.0, 0.0])
        >>> model = AdditiveModel(
        ...     attributes=("age",), terms=(age,), intercept=(0.5,), link="logit", classes=("no", "yes")
        ... )
        >>> line = model.to_linear()
        >>> line.effects[0].coefficients, line.intercept
        ((0.05,), (-1.5,))
        """
        if self.scorecard is not None:
            raise InvalidModelError("a scorecard has points, not scores.", remedy="Take the additive model before it.")
        out = linear(self)
        fit = replace(out.fit, equations=self.equations)
        return replace(out, fit=fit, target=self.target, source=self.source, guarantee=self.guarantee)

    def to_frame(self, *, audience: str = "checker", suppress_below: int = 10, backend: object = "polars") -> Any:
        """Return the model as a data frame, one row for each bin; see :func:`glassine.models.table.to_frame`."""
        table: Any = import_module("glassine.models.table")  # It knows every kind of model
        return table.to_frame(self, audience=audience, suppress_below=suppress_below, backend=backend)

    def __str__(self) -> str:
        if self.scorecard is not None:
            items, names = len(card_items(self)), len(self.attributes)
            edited = f", {len(self.edits)} edit{'s' * (len(self.edits) > 1)}" if self.edits else ""
            return f"scorecard of {items} item{'s' * (items != 1)} on {names} attribute{'s' * (names != 1)}{edited}"
        terms, names = len(self.terms), len(self.attributes)
        edited = f", {len(self.edits)} edit{'s' * (len(self.edits) > 1)}" if self.edits else ""
        return f"additive model of {terms} term{'s' * (terms != 1)} on {names} attribute{'s' * (names != 1)}{edited}"

    def __repr__(self) -> str:
        return f"<{self}>"


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
        member: object = edit
        if not isinstance(member, Edit) or member.number != number:
            raise InvalidModelError(
                f"{parameter('edits')} must be numbered 1, 2, 3 and so on, in order, without a gap."
            )
        if edit.term not in scores:
            raise InvalidModelError(f"edit {number} changes term {edit.term!r}, which the model lacks.")
        if edit.cells and not edit.cells[-1] < len(scores[edit.term]):
            raise InvalidModelError(f"edit {number} changes score {edit.cells[-1]} of {edit.term!r}: out of range.")
    for edit in reversed(model.edits):
        cells = list(edit.cells)
        if scores[edit.term][cells].tolist() != list(edit.after):
            raise InvalidModelError(
                f"edit {edit.number} of term {edit.term!r} does not lead to the scores that follow it.",
                remedy="Take the file from where the model was edited, or drop the log.",
            )
        scores[edit.term][cells] = edit.before


def summarize_model(model: AdditiveModel, coverage: float = COVERAGE) -> tuple[ShapeFunction, ...]:
    """Return the shape functions of a model, the most important first.

    Nothing is spent: it follows from the published model.

    Parameters
    ----------
    model : AdditiveModel
        The model.
    coverage : float, default=0.9
        Share of the noise in a term's sums that each noise interval holds, in (0, 1).

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


def score_meaning(model: AdditiveModel) -> str:
    """Return in words what the scores of a model are."""
    of = model.target or "the target"
    if model.link == "log":
        return f"a score is the logarithm of the mean {model.target or 'count'}"
    if model.classes is None:
        return f"a score is the predicted {model.target or 'value'}"
    if model.scorecard is not None and model.classes is not None:
        points = f"this scorecard has {len(card_items(model))} items, and a point is worth {model.scorecard.unit:.3g}"
        return f"a score is the log-odds that {of} is {model.classes[1]}; {points}"
    if model.link == "logit":
        return f"a score is the log-odds that {of} is {model.classes[1]}"
    return f"each class has a score, its log-probability as {of} up to a constant"


TYPED = ("set", "shift")
"""Edits whose values are typed in; all others compute scores from those of the model."""


def typed_scores(model: AdditiveModel, n_edits: int | None = None) -> int:
    """Return how many scores stand as the last edits typed them, or computed from what was typed; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine.models import NumericBins
    >>> from glassine.models.editing import set_score, zero
    >>> age = Term(bins=(NumericBins("age", (30, 50)),), scores=np.array([-0.5, 0.7, 0.4, 0.0]))
    >>> model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0.0,), link="identity")
    >>> typed_scores(set_score(model, "age", (0, 1), 2.0)), typed_scores(zero(model, "age"))
    (2, 0)
    """
    edits = model.edits if n_edits is None else model.edits[len(model.edits) - n_edits :]
    typed: set[tuple[str, int]] = set()
    for edit in edits:
        cells = {(edit.term, cell) for cell in edit.cells}
        if edit.action in TYPED or (edit.action != "zero" and typed & cells):
            typed |= cells
        else:
            typed -= cells
    return len(typed)
