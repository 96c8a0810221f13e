"""Copies of regressions whose coefficients say no more than their errors allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from glassine.data.record_table import as_table
from glassine.errors import InvalidModelError, InvalidParameterError, parameter
from glassine.exports import Displayed
from glassine.models.regression import RegressionModel
from glassine.records.arrays import Array

DIGITS = 2
"""Significant digits of errors in a copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionScrub(Displayed):
    """A scrubbed regression and what was done.

    Attributes
    ----------
    model : RegressionModel
        The copy.
    n_rounded : int
        Coefficients that were rounded to another value, intercepts among them.
    n_dropped : int
        Rows of a baseline hazard that were dropped.
    """

    model: RegressionModel
    n_rounded: int
    n_dropped: int


def scrub_regression(model: RegressionModel, *, data: object = None, times: Sequence[float] = ()) -> RegressionScrub:
    """Return a copy with each coefficient rounded to half its standard error, without residuals and baseline rows.

    Errors are rounded up to two digits, R squared to two, and the log-likelihood is dropped. A copy is Glassine's own
    JSON, which holds no covariance matrix, residuals, design or scaler.

    Guarantee
    ---------
    None. Measured, an attacker who knows all outcomes but one recovers that one from the copy no better than by its
    base rate; no theorem says so. People alone in a column stay so: join its category with another, and train again.

    Parameters
    ----------
    model : RegressionModel
        The model.
    data : data frame, optional
        The training records, from which the errors of a model follow that publishes none.
    times : sequence of float, optional
        Declared times, chosen without the records, at which the baseline hazard of a Cox regression is kept; by default
        none of it is.

    Raises
    ------
    InvalidModelError
        If the model publishes no errors and no records are given, or its family is not known.

    Examples
    --------
    >>> from glassine.models import Effect, Power
    >>> age = Effect(name="age", factors=(Power(attribute="age"),), coefficients=(0.5237,), errors=(0.1041,))
    >>> done = scrub_regression(RegressionModel(attributes=("age",), effects=(age,), intercept=(0.0,), link="identity"))
    >>> done.model.effects[0].coefficients, done.model.effects[0].errors
    ((0.55,), (0.11,))
    """
    errors = _errors(model, data)
    effects, n_rounded = [], 0
    for effect, own in zip(model.effects, errors[1:], strict=True):
        rounded = tuple(_up(error) for error in own)
        values = tuple(_to_half(value, error) for value, error in zip(effect.coefficients, rounded, strict=True))
        n_rounded += sum(a != b for a, b in zip(values, effect.coefficients, strict=True))
        kept = rounded if effect.errors is not None else None
        effects.append(replace(effect, coefficients=values, errors=kept, rounding=0.0))
    rounded = tuple(_up(error) for error in errors[0])
    intercept = tuple(_to_half(value, error) for value, error in zip(model.intercept, rounded, strict=True))
    n_rounded += sum(a != b for a, b in zip(intercept, model.intercept, strict=True))
    fit = model.fit
    grid = _on_grid(fit.baseline, times)
    scale = None if fit.scale is None else _up(fit.scale)
    copy = replace(
        model,
        effects=tuple(effects),
        intercept=intercept,
        intercept_errors=None if model.intercept_errors is None else rounded,
        fit=replace(
            fit,
            scale=scale,
            # It is at most a step of its digits, and what it was rounded by, above the computed one.
            scale_rounding=0.0 if scale is None or fit.dispersion == "fixed" else _step(scale) + fit.scale_rounding,
            r_squared=None if fit.r_squared is None else round(fit.r_squared, 2),
            log_likelihood=None,
            published=(),
            n_residuals=0,
            baseline=grid,
            equations=None,
        ),
    )
    return RegressionScrub(model=copy, n_rounded=n_rounded, n_dropped=len(fit.baseline) - len(grid))


def _on_grid(baseline: Sequence[tuple[float, float]], times: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return a cumulative hazard at declared times: at each that of the last row before it."""
    rows, declared = sorted(baseline), sorted(set(map(float, times)))
    if not all(math.isfinite(time) for time in declared):
        raise InvalidParameterError(f"{parameter('times')} must be finite numbers.", remedy="Leave the others out.")
    if len({time for time, _ in rows}) < len(rows) and declared:
        raise InvalidModelError("the baseline has several rows of one time.", remedy="Leave the times out.")
    if not rows:
        return ()
    at = np.searchsorted([time for time, _ in rows], declared, side="right")
    return tuple(
        (time, rows[place - 1][1] if place else 0.0) for time, place in zip(declared, at.tolist(), strict=True)
    )


def _up(value: float) -> float:
    """Return an error rounded up to two significant digits."""
    if not value > 0:
        return 0.0
    step = _step(value)
    return float(f"{math.ceil(value / step - 1e-9) * step:.{DIGITS}g}")


def _step(value: float) -> float:
    """Return the last of the digits that are kept."""
    return float(f"1e{math.floor(math.log10(value)) - DIGITS + 1}") if value > 0 else 0.0


def _to_half(value: float, error: float) -> float:
    """Return a coefficient rounded to a multiple of half its error."""
    half = error / 2
    return float(f"{round(value / half) * half:.12g}") if half > 0 else value


def _errors(model: RegressionModel, data: object) -> list[tuple[float, ...]]:
    """Return the errors of the intercept and of each column, one per output, as published or else from records."""
    published = [effect.errors for effect in model.effects]
    first = model.intercept_errors
    if None not in published:
        finite = [own for own in published if own is not None]
        # Where the intercept has no error, none of its digits is needed beyond the finest of the columns.
        least = tuple(min((own[i] for own in finite if own[i] > 0), default=0.0) for i in range(model.n_outputs))
        return [first if first is not None else least, *finite]
    if data is None:
        raise InvalidModelError(
            "the model publishes no standard errors, to which its coefficients are rounded.",
            remedy=f"Pass the training records as {parameter('data')}, from which they follow.",
        )
    return _from_records(model, data)


def _from_records(model: RegressionModel, data: object) -> list[tuple[float, ...]]:
    """Return the errors that follow from records by the information matrix at the fitted values."""
    table = as_table(data)
    if model.link not in ("identity", "log", "logit", "softmax"):
        raise InvalidModelError(f"errors of the link {model.link or 'that is not known'!r} do not follow from records.")
    design = model.design(table.arrays)
    complete = ~np.isnan(design).any(axis=1)
    columns = np.column_stack([np.ones(int(complete.sum())), design[complete]])
    rows = {name: values[complete] for name, values in table.arrays.items()}
    if model.classes is not None:
        shares = model.predict_proba(rows)[:, (0 if model.link == "softmax" else 1) :]
        weights = shares * (1 - shares)
    elif model.link == "log":
        weights = np.exp(model.scores(rows))
    else:
        weights = np.full((len(columns), 1), 1.0)
    scale = 1.0
    if model.link == "identity":
        outcome = table.arrays.get(model.target)
        if outcome is None:
            raise InvalidModelError(
                f"errors follow from the outcomes, and the records lack {model.target or 'the target'!r}.",
                remedy="Pass records with the column that the model predicts, by its name in the model.",
            )
        residuals = outcome[complete].astype(float) - model.predict(rows)
        scale = float(np.sum(residuals**2)) / max(1, len(columns) - columns.shape[1])
    errors = np.column_stack([_diagonal(columns, weights[:, k]) for k in range(weights.shape[1])]) * math.sqrt(scale)
    return [tuple(row) for row in errors.tolist()]


def _diagonal(columns: Array, weights: Array) -> Array:
    """Return the roots of the diagonal of the inverse information; columns that follow from others share it."""
    information = (columns * weights[:, None]).T @ columns
    return np.asarray(np.sqrt(np.clip(np.diag(np.linalg.pinv(information)), 0.0, None)))
