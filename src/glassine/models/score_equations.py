"""Score equations: what coefficients state of sums over the training records, and whether records meet them."""

from __future__ import annotations

import math
from typing import Literal as OneOfTexts

import numpy as np
from numpy.linalg import norm

from glassine.models.regression import RegressionModel
from glassine.records.arrays import AnyArray, Array, Bools

LUCK = 0.001
"""Chance that other records of the same population meet the equations as closely, below which records are confirmed."""
UNRESOLVED = 1e-8
"""Share of the deviance that fits leave where they stop: that of R's ``glm``, more than that of scikit-learn."""
BLOCK = 4_000_000
"""Figures of records that are held at once, beside the columns."""
STEP = 64 * float(np.finfo(float).eps)
"""Share of the objective below which scikit-learn's solvers take a step for none."""
POWER = {"poisson": 1, "gamma": 2}
"""By families with a log link, the power of the mean that the variance grows by."""


Agreement = OneOfTexts["met", "missed", "repeated", "open"]


def agreement(model: RegressionModel, design: Array, outcomes: Array) -> Agreement:
    """Return whether records meet the score equations of a fit, as its training records do.

    ``"missed"`` is certain of other records: an equation that the file fixes does not hold in them, within what the
    solver and the published digits leave. ``"met"`` is as likely as :data:`LUCK` for other records of the same
    population. ``"repeated"`` records meet them as well, but each stands there several times, which the equations of
    most fits do not show. Otherwise it is ``"open"``.

    Parameters
    ----------
    model : RegressionModel
        The fit. Without a known penalty, the equations are tried of none.
    design : ndarray of shape (n, 1 + effects)
        A column of ones, or of zeros without an intercept, and those of the effects.
    outcomes : ndarray of shape (n, outputs)
        The outcomes: numbers, 1 of the second of two classes, or 1 of each class of several.

    Notes
    -----
    Sums over n other records have a mean that is not 0 and the covariance S of single ones. Their distance from what
    is stated, ``g' S^-1 g / n``, is then at least that of normal ones of mean 0: a Beta variable of k / 2 and
    (n - k) / 2, of k independent equations.
    """
    from scipy.special import betainc

    residual = _residual(model, design, outcomes)
    if residual is None or not np.isfinite(residual).all():
        return "open"
    stated = model.fit.equations
    if stated is not None:
        design = np.column_stack([np.ones(len(design)), design[:, 1:]])
    columns = design if stated is None else design @ stated.columns.T
    n, n_equations = columns.shape
    shape = (n_equations, residual.shape[1])
    fixed = np.zeros(shape) if stated is None else stated.totals + n * stated.means
    sums = columns.T @ residual - fixed
    if (allowed := _allowed(model, design, columns, residual)) is not None and (np.abs(sums) > allowed).any():
        return "missed"
    asked = np.isfinite(fixed)
    triangle = _triangle(columns, residual, asked)
    size = norm(triangle, axis=0)
    if not size.any():
        return "open"
    base = np.linalg.svd(triangle[:, size > 0] / size[size > 0], full_matrices=False)
    kept = base.S.max() * n * np.finfo(float).eps < base.S
    k = int(kept.sum())
    if k >= n:
        return "open"
    left = sums[asked][size > 0] / size[size > 0]
    distance = float((((base.Vh @ left)[kept] / base.S[kept]) ** 2).sum())
    if not betainc(k / 2, (n - k) / 2, min(1.0, distance / n)) <= LUCK:
        return "open"
    return "repeated" if _times(np.column_stack([design, outcomes])) > 1 else "met"


def _triangle(columns: Array, residual: Array, asked: Bools) -> Array:
    """Return the triangular factor of what each record adds to the sums that are asked for, block by block."""
    triangle: Array = np.zeros((0, int(asked.sum())))
    rows = max(1, BLOCK // max(1, asked.size))
    for start in range(0, len(columns), rows):
        part = slice(start, start + rows)
        added = (columns[part, :, None] * residual[part, None, :])[:, asked]
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, added]), mode="r"))
    return triangle


def _coefficients(model: RegressionModel) -> Array:
    """Return the coefficients, shape (effects, outputs)."""
    return np.array([effect.coefficients for effect in model.effects]).reshape(-1, model.n_outputs)


def _scores(model: RegressionModel, design: Array) -> Array:
    """Return the scores of records, shape (n, outputs), within what an exponential holds unless they are the values."""
    scores = np.asarray(model.intercept) + design[:, 1:] @ _coefficients(model)
    return np.asarray(scores if model.link == "identity" else np.clip(scores, -700, 700))


def _residual(model: RegressionModel, design: Array, outcomes: Array) -> Array | None:
    """Return what a record adds to the score of a column of ones, shape (n, outputs); None of an unknown link."""
    scores = _scores(model, design)
    if model.link == "identity":
        return np.asarray(outcomes - scores)
    if model.link == "logit":
        return np.asarray(outcomes - 1 / (1 + np.exp(-scores)))
    if model.link == "softmax":
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(outcomes - shares / shares.sum(axis=1, keepdims=True))
    if model.link == "log" and model.fit.family in POWER:
        mean = np.exp(scores)
        return np.asarray((outcomes - mean) * mean ** (1.0 - POWER[model.fit.family]))
    return None


def _allowed(model: RegressionModel, design: Array, columns: Array, residual: Array) -> Array | None:
    """Return how far each sum may be from what is stated, shape (equations, outputs); None where nothing bounds it.

    A table fixes its equations if it says of its fit that it converged, without weights or a penalty.
    """
    fit, stated = model.fit, model.fit.equations
    tolerance = 0.0 if stated is None else stated.tolerance
    if fit.converged is not True or fit.special or tolerance is None:
        return None
    if stated is None and (fit.penalized is not False or any(effect.errors is None for effect in model.effects)):
        return None
    n = len(design)
    # By how much digits that were not printed may move the score of a record.
    moved = np.zeros(n) if stated is not None else np.abs(design) @ _steps(model)
    if model.link == "identity":
        # Least squares solves exactly for columns that differ from these by rounding, in the unit of the largest.
        of_columns = norm(design) * norm(_coefficients(model)) + norm(np.abs(model.intercept)) * math.sqrt(n)
        size = norm(columns) * (norm(residual) + of_columns)
        rounding = 10 * max(columns.shape) * np.finfo(float).eps * size
        return np.asarray((np.abs(columns).T @ moved)[:, None] + rounding)
    bend, variance = _slopes(model, residual, design)
    with np.errstate(over="ignore"):
        moved = moved if model.link in ("logit", "softmax") else np.expm1(np.minimum(moved, 700))
    # A distance d below the largest likelihood bounds each score by the root of 2 d times its information.
    left = UNRESOLVED * (n + float((residual**2 / variance).sum()))
    information = (columns**2).T @ variance
    if tolerance and tolerance**2 * n / (2 * float(information.sum())) < STEP * left / (UNRESOLVED * n):
        return None  # the objective hardly shows steps as small as the tolerance, so that the solver may stop before
    by_digits = np.abs(columns).T @ (bend * moved[:, None])
    return np.asarray(n * tolerance + by_digits + np.sqrt(2 * left * information))


def _slopes(model: RegressionModel, residual: Array, design: Array) -> tuple[Array, Array]:
    """Return by how much at most a residual falls as its score rises, and the information of a record in it."""
    scores = _scores(model, design)
    tiny = np.finfo(float).tiny
    if model.link == "log":
        gamma = model.fit.family == "gamma"
        mean = np.exp(scores)
        return (residual + 1 if gamma else mean), (np.ones_like(mean) if gamma else np.maximum(mean, tiny))
    top = scores.max(axis=1, keepdims=True)
    shares = np.exp(scores - top) / np.exp(scores - top).sum(axis=1, keepdims=True)
    if model.link == "logit":
        shares = 1 / (1 + np.exp(-scores))
    # The slope of a share is at most a quarter in its own score, and as much in those of others together.
    bend = np.full_like(shares, 0.25 if model.link == "logit" else 0.5)
    return bend, np.maximum(shares * (1 - shares), tiny)


def _steps(model: RegressionModel) -> Array:
    """Return how far the intercept and each coefficient may be from the computed one, shape (1 + effects,)."""
    rows = [(model.intercept, model.intercept_errors)]
    rows += [(effect.coefficients, effect.errors) for effect in model.effects]
    return np.array([max(_step(value, None if e is None else e[i]) for i, value in enumerate(v)) for v, e in rows])


def _step(value: float, error: float | None) -> float:
    """Return half of the last digit of a number, or a quarter of its error where a copy was rounded to half of it.

    Examples
    --------
    >>> _step(0.317, None), _step(0.55, 0.11)
    (0.0005, 0.0275)
    """
    half = (error or 0.0) / 2
    if half > 0 and abs(value - round(value / half) * half) <= UNRESOLVED * half:
        return half / 2
    mantissa, _, exponent = repr(float(value)).partition("e")
    decimals = mantissa.partition(".")[2]
    return 0.5 * 10.0 ** (int(exponent or 0) - (len(decimals) if decimals != "0" else 0))


def _times(rows: Array) -> int:
    """Return how often each row stands there, or a multiple of it: the greatest common divisor of their numbers."""
    # One number a row, by factors without a common multiple.
    factors = np.random.default_rng(0).random((rows.shape[1],))
    keys = np.zeros(len(rows))
    for column, factor in zip(rows.T, factors.tolist(), strict=True):
        keys += column * factor
    counts: AnyArray = np.unique(keys, return_counts=True)[1]
    return math.gcd(*counts.tolist())
