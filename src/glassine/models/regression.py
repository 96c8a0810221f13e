"""Regression models, as plain values: coefficients of columns, and the statistics of their fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast
from typing import Literal as OneOfTexts

import numpy as np

from glassine.domain import Category
from glassine.domain.attributes import Attribute, Scalar, is_name, is_scalar, is_whole
from glassine.errors import InvalidDataError, InvalidModelError, check_choice, parameter
from glassine.exports import Displayed
from glassine.models.effects import Effect, Equal, Factor, Power, numbers_of
from glassine.models.evidence import check_classes, check_guarantee, class_array
from glassine.models.guarantee import Guarantee
from glassine.models.records import n_records, named
from glassine.models.terms import LARGEST_SCORE
from glassine.records.arrays import AnyArray, Array
from glassine.records.cells import NUMBER
from glassine.records.columns import ConformedColumns, values_of
from glassine.records.containers import schema
from glassine.records.undeclared import read_checked

LINKS = ("identity", "log", "logit", "probit", "cloglog", "softmax", "cox")
"""How a score becomes a prediction: unchanged, as the log of a mean, as the log-odds, normal quantile or complementary
log-log of the second class, one score for each class, or as the log of a hazard ratio."""
FAMILIES = {
    "gaussian": "identity",
    "binomial": "logit",
    "poisson": "log",
    "cox": "cox",
    "multinomial": "softmax",
    "gamma": "log",
}
"""The families of outcomes, each with the link that is meant where none is named."""
OF_FAMILIES = "A logistic regression is binomial, a linear one gaussian."
OF_CLASSES = ("logit", "probit", "cloglog", "softmax")
ERRORS = ("model", "robust")
UNPRINTED = "unprinted weights, offsets or groups"
"""What a fit may have of which its summary would not say that it has it."""
SPECIAL = (
    *("weights", "offset", "strata", "grouped outcome", "records of intervals", "random effects", "smooth terms"),
    *("clusters of records", UNPRINTED),
)
"""What a fit may have that changes what its figures mean."""
PUBLISHED = ("residuals", "covariance matrix", "design matrix", "scaler")
"""What a file may hold of the training data beside coefficients, errors and statistics."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreEquations:
    """What a fitted estimator states of its records: the sum of each fitted column, times the residual of the score.

    Attributes
    ----------
    columns : ndarray of shape (equations, 1 + effects)
        Each fitted column as a sum of the column of ones and those of the effects.
    totals : ndarray of shape (equations, outputs)
        What the sum is, however many records there are; NaN where a penalty of absolute values leaves it open.
    means : ndarray of shape (equations, outputs)
        What it is beside that, per record.
    tolerance : float or None
        How far the sum per record may be from it where the solver stops; None where the solver does not bound it.
    """

    columns: Array
    totals: Array
    means: Array
    tolerance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FitStatistics:
    """What a file says of the fit; None or empty where it says nothing.

    Attributes
    ----------
    family : str
        Family of the outcome: gaussian, binomial, poisson, gamma, cox or multinomial.
    n_records, n_events : int or None
        Training records; of a Cox model, those with an event.
    n_parameters : int or None
        Coefficients that were fitted, the intercept among them.
    df_residual : float or None
        Residual degrees of freedom.
    dispersion : {"", "fixed", "estimated"}
        Whether the dispersion was fixed in advance or estimated, as of every linear regression.
    scale, scale_rounding : float or None, float
        Dispersion, of a linear regression the residual variance, and how far it may be from the computed one.
    r_squared, log_likelihood : float or None
        Goodness of fit.
    errors : {"", "model", "robust"}
        Of which kind the standard errors are.
    penalized : bool or None
        Whether coefficients were shrunk.
    converged : bool or None
        Whether the fit converged.
    separated : bool
        Whether fitted probabilities of 0 or 1 are reported.
    special : tuple of str
        What changes the meaning of figures, out of :data:`SPECIAL`.
    published : tuple of str
        What else the file holds of the training data, out of :data:`PUBLISHED`; no copy of the model holds it.
    n_residuals : int
        Residuals of single records that it prints: usually the smallest and the largest.
    baseline : tuple of (float, float)
        Times and cumulative hazards of a Cox model's baseline, one row per distinct time of an event.
    equations : ScoreEquations or None
        What a fitted estimator states of sums over its records, by its penalty; no copy of the model holds it.
    """

    family: str = ""
    n_records: int | None = None
    n_events: int | None = None
    n_parameters: int | None = None
    df_residual: float | None = None
    dispersion: OneOfTexts["", "fixed", "estimated"] = ""
    scale: float | None = None
    scale_rounding: float = 0.0
    r_squared: float | None = None
    log_likelihood: float | None = None
    errors: OneOfTexts["", "model", "robust"] = ""
    penalized: bool | None = None
    converged: bool | None = None
    separated: bool = False
    special: tuple[str, ...] = ()
    published: tuple[str, ...] = field(default=(), compare=False)
    n_residuals: int = field(default=0, compare=False)
    baseline: tuple[tuple[float, float], ...] = ()
    equations: ScoreEquations | None = field(default=None, compare=False)

    @property
    def peculiar(self) -> str:
        """What changes the meaning of figures, as the end of a sentence about the fit."""
        return f"{'may have' if self.special == (UNPRINTED,) else 'has'} {', '.join(self.special)}"

    def __post_init__(self) -> None:
        for name, choices in (
            ("family", ("", *FAMILIES)),
            ("dispersion", ("", "fixed", "estimated")),
            ("errors", ("", *ERRORS)),
        ):
            if getattr(self, name) not in choices:
                raise InvalidModelError(f"a fit's {name} must be one of {', '.join(choices[1:])}, or empty.")
        for name, listed in (("special", SPECIAL), ("published", PUBLISHED)):
            own = tuple(getattr(self, name))
            object.__setattr__(self, name, own)
            if len(set(own)) < len(own) or not set(own) <= set(listed):
                raise InvalidModelError(f"a fit's {name} lists some of {', '.join(listed)}, each once.")
        for name in ("n_records", "n_events", "n_parameters", "n_residuals"):
            value = getattr(self, name)
            if value is not None and (not is_whole(value) or not value >= 0):
                raise InvalidModelError(f"a fit's {name} must be a whole number of at least 0, got {value!r:.40}.")
        for name in ("df_residual", "scale", "scale_rounding", "r_squared", "log_likelihood"):
            value = getattr(self, name)
            if value is not None and not abs(value) <= LARGEST_SCORE:
                raise InvalidModelError(f"a fit's {name} must be a finite number, got {value!r:.40}.")
        if self.n_records is not None and self.n_events is not None and self.n_events > self.n_records:
            raise InvalidModelError(f"{self.n_events} events are more than {self.n_records} records.")
        rows = tuple((float(time), float(hazard)) for time, hazard in self.baseline)
        if not all(abs(number) <= LARGEST_SCORE for row in rows for number in row):
            raise InvalidModelError("the times and hazards of a baseline must be finite numbers.")
        hazards = [0.0, *(hazard for _, hazard in sorted(rows))]
        # Each stratum has a baseline, and rows do not say whose they are.
        repeated = len({time for time, _ in rows}) < len(rows) or hazards != sorted(hazards)
        if min(hazards) < 0 or (repeated and "strata" not in self.special):
            raise InvalidModelError(
                "the cumulative hazard of a baseline must be at least 0, with one row for each time, and cannot fall.",
                remedy="Export the baseline again.",
            )
        object.__setattr__(self, "baseline", rows)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RegressionModel(Displayed):
    """A published regression: for each record, the intercept plus a coefficient times each column.

    Parameters
    ----------
    attributes : tuple of str
        The attributes that the model was given, in order.
    effects : tuple of Effect
        The columns, the intercept aside, each with one coefficient per output.
    intercept : tuple of float
        Score of each output before any column: one, or with ``"softmax"`` one per class.
    link : {"identity", "log", "logit", "probit", "cloglog", "softmax", "cox", ""}
        What the score is; empty where the file does not say.
    classes : tuple of scalars, optional
        Names of the classes; None unless it predicts classes.
    target : str, default=""
        Name of what is predicted.
    fit : FitStatistics
        What the file says of the fit.
    intercept_errors : tuple of float, optional
        Standard error of each intercept.
    source : str, default=""
        Where the model came from.
    guarantee : Guarantee, optional
        The differential privacy that the publisher claims.

    Raises
    ------
    InvalidModelError
        If a part does not fit another.

    Examples
    --------
    >>> age = Effect(name="age", factors=(Power(attribute="age"),), coefficients=(0.5,), errors=(0.1,))
    >>> model = RegressionModel(attributes=("age",), effects=(age,), intercept=(1.0,), link="identity")
    >>> model.predict({"age": np.array([2.0, 4.0])}).tolist()
    [2.0, 3.0]
    """

    attributes: tuple[str, ...]
    effects: tuple[Effect, ...]
    intercept: tuple[float, ...]
    link: str
    classes: tuple[Scalar, ...] | None = None
    target: str = ""
    fit: FitStatistics = FitStatistics()
    intercept_errors: tuple[float, ...] | None = None
    source: str = ""
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        for name in ("attributes", "effects", *(("classes",) if self.classes is not None else ())):
            members: object = getattr(self, name)
            if isinstance(members, str) or not isinstance(members, Iterable):
                raise InvalidModelError(f"the {name} of a regression must be a list, got {members!r:.60}.")
            object.__setattr__(self, name, tuple(members))
        for name in ("target", "source"):
            if not isinstance(getattr(self, name), str):
                raise InvalidModelError(f"a model's {name} must be a text, got {getattr(self, name)!r:.60}.")
        check_guarantee(self.guarantee)
        self._check_outputs()
        self._check_effects()

    def _check_outputs(self) -> None:
        if self.link not in (*LINKS, ""):
            raise InvalidModelError(f"a link must be one of {', '.join(LINKS)}, got {self.link!r:.60}.")
        if self.link and (self.classes is None) != (self.link not in OF_CLASSES):
            raise InvalidModelError(f"the link {self.link!r} needs {'no ' * (self.classes is not None)}classes.")
        check_classes(self.classes, (), "regression")
        if self.classes is not None and not all(is_scalar(label) for label in self.classes):
            raise InvalidModelError("the classes of a regression must be strings, finite numbers or Booleans.")
        if self.link in OF_CLASSES and self.link != "softmax" and len(self.classes or ()) != 2:
            raise InvalidModelError(f"the link {self.link!r} needs two classes, got {len(self.classes or ())}.")
        outputs = len(self.classes or ()) if self.link == "softmax" else 1
        for name in ("intercept", "intercept_errors"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, numbers_of(value, f"the {name.replace('_', ' ')}"))
                if len(getattr(self, name)) != outputs:
                    raise InvalidModelError(f"the {name.replace('_', ' ')} must have {outputs} values, one per output.")

    def _check_effects(self) -> None:
        attributes = set(self.attributes)
        if not all(is_name(name) for name in self.attributes) or len(attributes) < len(self.attributes):
            raise InvalidModelError("the attributes of a regression must be non-empty strings, each named once.")
        kinds: dict[str, type] = {}
        for effect in self.effects:
            if not isinstance(effect, Effect):
                raise InvalidModelError(f"the columns of a regression must be Effect, got {type(effect).__name__}.")
            if len(effect.coefficients) != self.n_outputs:
                raise InvalidModelError(f"column {effect.name!r:.60} needs {self.n_outputs} coefficients.")
            for factor in effect.factors:
                if factor.attribute not in attributes:
                    raise InvalidModelError(f"column {effect.name!r:.60} reads {factor.attribute!r:.60}, no attribute.")
                if kinds.setdefault(factor.attribute, type(factor)) is not type(factor):
                    raise InvalidModelError(f"columns read {factor.attribute!r:.60} as a number and as a category.")

    @property
    def n_outputs(self) -> int:
        """Scores per record: one, or with ``"softmax"`` one per class."""
        return len(self.intercept)

    @property
    def has_intercept(self) -> bool:
        """Whether an intercept was fitted, as far as the file says it: one that is printed as 0 is one."""
        stated, own = self.fit.n_parameters, len(self.effects) * max(1, self.n_outputs - 1)
        return any(self.intercept) or self.intercept_errors is not None or stated is None or stated > own

    @property
    def tested(self) -> tuple[str, ...]:
        """The attributes that some column reads, in order of the model's attributes."""
        read = {name for effect in self.effects for name in effect.attributes}
        return tuple(name for name in self.attributes if name in read)

    @property
    def recipe(self) -> dict[str, Attribute]:
        """What the columns imply about the attributes that they read: any number, or one of the named values."""
        out: dict[str, Attribute] = {}
        for name in self.tested:
            own = [factor for effect in self.effects for factor in effect.factors if factor.attribute == name]
            values = dict.fromkeys(f.value for f in own if isinstance(f, Equal) and f.value is not None)
            numeric = any(isinstance(factor, Power) for factor in own)
            # A category of which only gaps are named has no value that a column singles out.
            category = Category(tuple(values) or (0,), missing=True)
            out[name] = NUMBER if numeric else category
        return out

    def design(self, data: object) -> Array:
        """Return the columns of records, shape (n, columns), the intercept aside; NaN where a number is missing.

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            The records; columns that no effect reads are ignored.

        Raises
        ------
        InvalidDataError
            If a column is absent, or its type cannot hold values of its attribute.
        """
        if not self.tested:
            return np.zeros((n_records(data), 0))
        columns = data if isinstance(data, ConformedColumns) else None
        if columns is None:
            records = named(data, self.attributes)
            columns_of = schema(records).names
            if absent := [name for name in self.tested if columns_of is not None and name not in columns_of]:
                raise InvalidDataError(
                    f"data lack the column {absent[0]!r:.60}, which the model reads.",
                    remedy="Add it. Where its name is made of an attribute and a value, as R writes them, pass a "
                    "domain that declares the attribute.",
                )
            columns = read_checked(records, self.recipe, keep_undeclared=True)
        out = np.ones((columns.n_records, len(self.effects)))
        for j, effect in enumerate(self.effects):
            for factor in effect.factors:
                out[:, j] *= _column(factor, columns)
        return out

    def scores(self, data: object) -> Array:
        """Return the score of each record, shape (n, outputs).

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            As for :meth:`design`.
        """
        design = self.design(data)
        out: Array = np.tile(np.array(self.intercept), (len(design), 1))
        for j, effect in enumerate(self.effects):
            out += design[:, j, None] * np.array(effect.coefficients)
        return out

    def predict(self, data: object) -> AnyArray:
        """Return the predicted class, mean or hazard ratio of each record, shape (n,).

        Of two classes the second is predicted where its probability is above one half; of more, the first of the
        largest scores.

        Raises
        ------
        InvalidModelError
            If the file does not say what the score is.
        """
        if not self.link:
            raise InvalidModelError(
                "the file does not say what the regression predicts.",
                remedy=f"State its {parameter('family')}.",
            )
        if self.classes is not None:
            return np.asarray(class_array(self.classes)[self.predict_proba(data).argmax(axis=1)])
        scores = self.scores(data)[:, 0]
        return scores if self.link == "identity" else np.exp(scores)

    def predict_proba(self, data: object) -> Array:
        """Return the probability of each class for each record, shape (n, classes)."""
        if self.classes is None:
            raise InvalidModelError("this regression has no probabilities of classes.", remedy="Use its predictions.")
        scores = self.scores(data)
        if self.link == "softmax":
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            return np.asarray(powers / powers.sum(axis=1, keepdims=True))
        second = _mean(self.link, scores[:, 0])
        return np.column_stack([1 - second, second])

    def stated(self, *, n: int | None = None, family: str | None = None, errors: str | None = None) -> RegressionModel:
        """Return the model with what its publisher states, where the file does not say it.

        Parameters
        ----------
        n : int, optional
            Number of training records, at least 1.
        family : {"gaussian", "binomial", "poisson", "cox", "multinomial", "gamma"}, optional
            Family of the outcome, which gives the link as well.
        errors : {"model", "robust"}, optional
            Of which kind the standard errors are. ``"model"`` states a fit by maximum likelihood that converged,
            without weights, a penalty or an estimated dispersion, where the file does not say so.

        Raises
        ------
        InvalidModelError
            If a statement contradicts the file.
        InvalidParameterError
            If a statement is none of these.
        """
        fit, link, classes = self.fit, self.link, self.classes
        if family is not None:
            check_choice(family, "family", tuple(FAMILIES), remedy=OF_FAMILIES)
            own = OF_CLASSES[:-1] if family == "binomial" else (FAMILIES[family],)
            if fit.family not in ("", family) or (link and not fit.family and link not in own):
                raise InvalidModelError(f"{parameter('family', family)} is stated of a {fit.family or link} model.")
            link = link or FAMILIES[family]
            if link in OF_CLASSES and classes is None:
                classes = tuple(range(2 if link != "softmax" else self.n_outputs))
            fixed = "estimated" if family in ("gaussian", "gamma") else fit.dispersion
            fit = replace(fit, family=family, dispersion=fixed)
        if errors is not None:
            check_choice(errors, "errors", ERRORS)
            if fit.errors not in ("", errors):
                raise InvalidModelError(f"{parameter('errors', errors)} are stated, but the file says {fit.errors}.")
            fit = replace(fit, errors=cast("Any", errors))
            if errors == "model":
                fit = replace(
                    fit,
                    special=tuple(one for one in fit.special if one != UNPRINTED),
                    penalized=bool(fit.penalized),
                    converged=fit.converged is not False,
                    dispersion=fit.dispersion or "fixed",
                )
        if n is not None:
            if fit.n_records not in (None, n):
                raise InvalidModelError(
                    f"{parameter('n_records', n)} is stated, but the file says {fit.n_records:,} records."
                )
            fit = replace(fit, n_records=n)
        return replace(self, fit=fit, link=link, classes=classes)

    def __str__(self) -> str:
        noun = {"identity": "linear", "log": "log-linear", "logit": "logistic", "cox": "Cox", "softmax": "multinomial"}
        columns = len(self.effects)
        return f"{noun.get(self.link, self.link)} regression of {columns} column{'s' * (columns != 1)}".lstrip()

    def __repr__(self) -> str:
        return f"<{self}>"


def _column(factor: Factor, columns: ConformedColumns) -> Array:
    """Return a factor of records, shape (n,)."""
    if isinstance(factor, Power):
        numbers = columns.numbers[factor.attribute]
        if factor.missing is not None:
            numbers = np.where(np.isnan(numbers), factor.missing, numbers)
        return numbers if factor.exponent == 1 else np.asarray(numbers**factor.exponent)
    codes = columns.codes[factor.attribute]
    values = values_of(columns.attributes[factor.attribute])
    code = -1 if factor.value is None else values.index(factor.value) if factor.value in values else None
    # A missing value equals none; one that is not declared, of code -2, neither.
    return np.zeros(len(codes)) if code is None else (codes == code).astype(float)


def _mean(link: str, scores: Array) -> Array:
    """Return the probability of the second class of scores, shape (n,)."""
    if link == "probit":
        from scipy.special import ndtr

        return np.asarray(ndtr(scores))
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(-np.exp(scores)) if link == "cloglog" else 1 / (1 + np.exp(-scores)))
