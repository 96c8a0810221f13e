"""Fitted linear models of scikit-learn, alone or at the end of a pipeline."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import class_names, not_fitted
from glassine.formats.format import BY_START, of_object
from glassine.formats.regressions import RegressionBuilder, as_binned
from glassine.formats.sklearn.encodings import Coded, Column, Number
from glassine.formats.sklearn.pipelines import end_of, sklearn_names
from glassine.formats.sklearn.tree import best_of, own_names, piped
from glassine.models.additive import AdditiveModel
from glassine.models.effects import Equal, Factor, Power
from glassine.models.regression import FitStatistics, RegressionModel, ScoreEquations
from glassine.records.arrays import Array

MODELS = {
    "LogisticRegression": "logit",
    "LogisticRegressionCV": "logit",
    "LinearRegression": "identity",
    "Ridge": "identity",
    "RidgeCV": "identity",
    "ElasticNet": "identity",
    "ElasticNetCV": "identity",
    "LassoCV": "identity",
    "PoissonRegressor": "log",
    "GammaRegressor": "log",
}
"""The models that are read, and the link of each; Lasso is an ElasticNet."""
FOLLOWS = 1e-12
"""Singular value, as a share of the largest, below which a direction is that of a column that follows from others."""
DIRECT = ("svd", "cholesky")
"""Solvers of Ridge that take no rounds."""
FittedColumn: TypeAlias = tuple[float, dict[tuple[Factor, ...], float]]
"""A column that was fitted, as a constant and multiples of columns of the model."""
FAMILY = {"PoissonRegressor": "poisson", "GammaRegressor": "gamma"}


def _kind(obj: object) -> str:
    """Return which of the linear models stands at the end of an object; empty if none does."""
    return next((name for name in sklearn_names(end_of(obj)) if name in MODELS), "")


def regression_from_sklearn(estimator: object, domain: Domain | None = None) -> RegressionModel | AdditiveModel:
    """Return a fitted linear model of scikit-learn as a plain value.

    Parameters
    ----------
    estimator : LogisticRegression, LinearRegression, Ridge, Lasso, ElasticNet, PoissonRegressor, GammaRegressor, or
        a pipeline or a search that ends with one. Scales, one-hot codes and imputed values are mapped back to the
        original attributes.
    domain : Domain, optional
        The public domain; it must hold every attribute that the model was given.

    Returns
    -------
    RegressionModel or AdditiveModel
        It has no standard errors, and a number of records only as a scaler holds it. One of categories alone, without
        that number, is an additive model.

    Raises
    ------
    UnsupportedModelError
        If it has several outputs, or the pipeline holds a step that is no scaling, coding or filling of one attribute.
    InvalidModelError
        If it is not fitted, or does not fit the domain.
    """
    if "BaseSearchCV" in sklearn_names(estimator):
        return regression_from_sklearn(best_of(estimator), domain)
    end, kind = end_of(estimator), _kind(estimator)
    if not hasattr(end, "coef_"):
        raise not_fitted(end, "'coef_'")
    if "Pipeline" in sklearn_names(estimator):
        names, columns = piped(estimator, domain)
    else:
        names = own_names(end, int(end.n_features_in_), domain)
        columns = [Number(name) for name in names]
    link = MODELS[kind]
    classes = class_names(end) if link == "logit" else None
    coefficients, intercept = _coefficients(end, classes, len(columns))
    link = "softmax" if len(intercept) > 1 else link
    builder = RegressionBuilder(f"the {kind}", domain, len(intercept))
    builder.intercept = list(intercept)
    fitted = [_add(builder, column, own) for own, column in zip(coefficients.T, columns, strict=True)]
    scalers = _scalers(estimator)
    free = len(intercept) - (link == "softmax")
    fit = FitStatistics(
        family=FAMILY.get(kind, {"identity": "gaussian", "softmax": "multinomial"}.get(link, "binomial")),
        n_records=max(scalers, default=None),
        n_parameters=free * (_rank(columns) + bool(getattr(end, "fit_intercept", True))),
        dispersion="fixed" if link in ("logit", "softmax") else "",
        penalized=_penalized(end, kind),
        converged=_converged(end),
        special=() if getattr(end, "class_weight", None) is None else ("weights",),
        published=("scaler",) if scalers else (),
        equations=_equations(end, kind, coefficients, fitted, [effect.factors for effect in builder.effects]),
    )
    read = builder.model(link, fit, source=f"scikit-learn {type(estimator).__name__}", classes=classes, names=names)
    return as_binned(read)


def _coefficients(end: Any, classes: tuple[Scalar, ...] | None, n: int) -> tuple[Array, list[float]]:
    """Return the coefficients, shape (outputs, columns), and the intercepts."""
    coefficients = np.atleast_2d(np.asarray(end.coef_, dtype=float))
    intercept = np.ravel(np.asarray(end.intercept_, dtype=float))
    outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    if len(intercept) == 1 and len(coefficients) > 1:
        intercept = np.repeat(intercept, len(coefficients))
    if coefficients.shape[0] != outputs or len(intercept) != outputs:
        raise UnsupportedModelError(f"the model predicts {len(coefficients)} outputs at once; one is supported.")
    if coefficients.shape[1] != n or not np.isfinite(coefficients).all() or not np.isfinite(intercept).all():
        raise InvalidModelError(f"the model needs a finite coefficient for each of its {n} columns.")
    return coefficients, intercept.tolist()


def _add(builder: RegressionBuilder, column: Column, weights: Array) -> FittedColumn:
    """Add a column of the pipeline, mapped back to its attribute, with a coefficient per output."""
    if isinstance(column, Number):
        slope, shift = 1.0, 0.0
        for name, constant in column.steps:
            if name in ("add", "sub"):
                shift += constant if name == "add" else -constant
            elif name in ("mul", "div"):
                factor = constant if name == "mul" else 1 / constant
                slope, shift = slope * factor, shift * factor
            else:
                raise UnsupportedModelError(f"the column {column.attribute!r:.60} is clipped, which is not read.")
        missing = None
        if column.fill is not None:
            missing = (float(column.fill) - shift) / slope if slope else 0.0
        power = Power(attribute=column.attribute, missing=missing)
        _plus(builder, power, weights * slope, weights * shift)
        return shift, {(power,): slope}
    if not isinstance(column, Coded):
        raise UnsupportedModelError(
            f"the column {column.attribute!r:.60} is cut into intervals, which is not read.",
            remedy="Train a GAM or a scorecard, which Glassine reads, or give the model of the columns themselves.",
        )
    if column.also_missing:
        raise UnsupportedModelError(f"{column.attribute!r:.60} distinguishes None from NaN, which are both missing.")
    base = column.other or 0.0
    builder.intercept = [a + b for a, b in zip(builder.intercept, (weights * base).tolist(), strict=True)]
    gaps = [] if column.missing is None or math.isnan(column.missing) else [(None, column.missing)]
    parts = {Equal(attribute=column.attribute, value=v): code - base for v, code in (*column.codes, *gaps)}
    for equal, code in parts.items():
        if code:
            _plus(builder, equal, weights * code, weights * 0)
    return base, {(factor,): code for factor, code in parts.items() if code}


def _equations(
    end: Any, kind: str, coefficients: Array, fitted: list[FittedColumn], effects: list[tuple[Factor, ...]]
) -> ScoreEquations | None:
    """Return what a fit states of sums over its records; None with weights of classes."""
    if getattr(end, "class_weight", None) is not None or not getattr(end, "refit", True):
        return None
    of_logit = kind.startswith("LogisticRegression")
    penalty = _penalty(end, kind)
    if penalty is None:
        return None
    strength, absolute = penalty
    columns = np.zeros((1 + len(fitted), 1 + len(effects)))
    columns[0, 0] = float(bool(getattr(end, "fit_intercept", True)))
    for row, (shift, parts) in zip(columns[1:], fitted, strict=True):
        row[0] = shift
        for factors, part in parts.items():
            row[1 + effects.index(factors)] += part
    # Where a penalty of absolute values, or a bound at 0, made a coefficient 0, the sum lies in an interval.
    open_ = (coefficients == 0) & (absolute > 0 or bool(getattr(end, "positive", False)))
    pull = strength * ((1 - absolute) * coefficients + absolute * np.sign(coefficients))
    sums = np.vstack([np.zeros(len(coefficients)), np.where(open_, np.nan, pull).T])
    if of_logit and getattr(end, "solver", "") == "liblinear":
        # It takes the intercept for the coefficient of a column of this value.
        value = float(end.intercept_scaling)
        own = np.ravel(end.intercept_) / value
        sums[0] = strength / value * ((1 - absolute) * own + absolute * np.where(own == 0, np.nan, np.sign(own)))
    of_sum = of_logit or kind.startswith("Ridge") or kind == "LinearRegression"
    return ScoreEquations(
        columns=columns,
        totals=sums if of_sum else sums * 0,
        means=sums * 0 if of_sum else sums,
        tolerance=_tolerance(end, kind),
    )


def _penalty(end: Any, kind: str) -> tuple[float, float] | None:
    """Return the strength of a penalty and its share of absolute values; None where it was not the same for all."""
    if kind == "LinearRegression":
        return 0.0, 0.0
    if not kind.startswith("LogisticRegression"):
        alpha = np.unique(np.asarray(getattr(end, "alpha_", getattr(end, "alpha", 1.0)), dtype=float))
        share = {"LassoCV": 1.0}.get(kind, getattr(end, "l1_ratio_", getattr(end, "l1_ratio", 0.0)))
        return (float(alpha[0]), float(share or 0.0)) if len(alpha) == 1 else None
    if not _penalized(end, kind):
        return 0.0, 0.0
    inverse = np.unique(np.asarray(getattr(end, "C_", getattr(end, "C", 1.0)), dtype=float))
    named = {"l1": 1.0, "l2": 0.0}.get(str(getattr(end, "penalty", "")))
    share = named if named is not None else getattr(end, "l1_ratio_", getattr(end, "l1_ratio", 0.0))
    shares = np.unique([0.0 if one is None else float(one) for one in np.ravel(np.asarray(share, dtype=object))])
    if len(inverse) != 1 or len(shares) != 1 or not inverse[0] > 0:
        return None
    return 1 / float(inverse[0]), float(shares[0])


def _tolerance(end: Any, kind: str) -> float | None:
    """Return how far sums per record may be from what the fit states; None where the solver does not bound it."""
    if np.asarray(end.coef_).dtype != np.float64 or getattr(end, "positive", False) or kind.endswith("CV"):
        return None
    if kind == "LinearRegression":
        # It drops directions in which columns are small, which are none where columns follow from others. Of a sparse
        # matrix it is solved step by step, and keeps no sizes.
        sizes = np.asarray(getattr(end, "singular_", [np.nan]), dtype=float)
        largest = sizes.max(initial=0.0)
        small = sizes <= max(getattr(end, "tol", 0.0), FOLLOWS) * largest
        return 0.0 if np.isfinite(sizes).all() and (sizes[small] <= FOLLOWS * largest).all() else None
    if kind == "Ridge" and getattr(end, "solver_", "") in DIRECT:
        return 0.0
    by_gradient = ("lbfgs", "newton-cg", "newton-cholesky")
    ends_by_it = kind in ("LogisticRegression", "PoissonRegressor", "GammaRegressor") and end.solver in by_gradient
    return float(end.tol) if ends_by_it else None


def _rank(columns: list[Column]) -> int:
    """Return the columns that do not follow from others of one attribute: all codes of a category have the sum 1."""
    coded: dict[str, list[Coded]] = {}
    for column in columns:
        if isinstance(column, Coded):
            coded.setdefault(column.attribute, []).append(column)
    out = len(columns) - sum(map(len, coded.values()))
    for own in coded.values():
        values = list(dict.fromkeys(value for column in own for value, _ in column.codes))
        table = np.array([[dict(column.codes).get(value, 0.0) for column in own] for value in values])
        out += int(np.linalg.matrix_rank(table - table.mean(axis=0))) if len(values) else 0
    return out


def _plus(builder: RegressionBuilder, factor: Factor, weights: Array, shift: Array) -> None:
    """Add a factor with its coefficients; columns of one factor are one effect."""
    builder.intercept = [a + b for a, b in zip(builder.intercept, shift.tolist(), strict=True)]
    place = next((i for i, effect in enumerate(builder.effects) if effect.factors == (factor,)), None)
    if place is None:
        builder.add(factor.label, (factor,), weights.tolist())
        return
    old = builder.effects.pop(place)
    builder.add(old.name, old.factors, (np.array(old.coefficients) + weights).tolist())


def _penalized(end: Any, kind: str) -> bool:
    """Return whether coefficients were shrunk."""
    if kind == "LinearRegression":
        return False
    if kind.startswith("LogisticRegression"):
        return getattr(end, "penalty", "l2") not in (None, "none") and not math.isinf(getattr(end, "C", 1.0) or 1.0)
    alpha = getattr(end, "alpha_", getattr(end, "alpha", 1.0))
    return not (isinstance(alpha, int | float | np.number) and alpha == 0)


def _converged(end: Any) -> bool | None:
    """Return whether the solver stopped before its last iteration."""
    rounds, most = getattr(end, "n_iter_", None), getattr(end, "max_iter", None)
    if getattr(end, "solver_", "") in DIRECT:
        return True
    if rounds is None or most is None:
        return True if not hasattr(end, "max_iter") else None
    return bool(np.max(rounds) < most)


def _scalers(obj: object) -> list[int]:
    """Return the numbers of records that scalers hold."""
    out: list[int] = []
    parts = [part for _, part in getattr(obj, "steps", ())]
    parts += [entry[1] for entry in getattr(obj, "transformers_", ())]
    parts += [part for _, part in getattr(obj, "transformer_list", ())]
    for part in parts:
        out += _scalers(part)
    if "StandardScaler" in sklearn_names(obj):
        seen = np.max(getattr(obj, "n_samples_seen_", 0))
        out += [int(seen)] if seen > 0 else []
    return out


FORMAT = of_object(
    name="scikit-learn linear model",
    reads="fitted logistic, linear, ridge, lasso, Poisson or gamma regression of scikit-learn, or a pipeline or search "
    "that ends with one",
    reveals="coefficients; a StandardScaler holds the number of records, means and variances",
    leaves_out="standard errors; without a scaler, the number of records",
    sniff=lambda obj: not isinstance(obj, type) and _kind(obj) != "",
    rank=BY_START,
    read=regression_from_sklearn,
)
