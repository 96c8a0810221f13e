"""Fitted linear models of scikit-learn, alone or at the end of a pipeline."""

from __future__ import annotations

import math
from typing import Any

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
from glassine.models.regression import FitStatistics, RegressionModel
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
    for own, column in zip(coefficients.T, columns, strict=True):
        _add(builder, column, own)
    scalers = _scalers(estimator)
    free = len(intercept) - (link == "softmax")
    fit = FitStatistics(
        family=FAMILY.get(kind, {"identity": "gaussian", "softmax": "multinomial"}.get(link, "binomial")),
        n_records=max(scalers, default=None),
        n_parameters=free * (_rank(columns) + bool(getattr(end, "fit_intercept", True))),
        dispersion="fixed" if link in ("logit", "softmax") else "",
        penalized=_penalized(end, kind),
        converged=_converged(end),
        published=("scaler",) if scalers else (),
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


def _add(builder: RegressionBuilder, column: Column, weights: Array) -> None:
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
        _plus(builder, Power(attribute=column.attribute, missing=missing), weights * slope, weights * shift)
        return
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
    for value, code in (*column.codes, *gaps):
        if code != base:
            _plus(builder, Equal(attribute=column.attribute, value=value), weights * (code - base), weights * 0)


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
