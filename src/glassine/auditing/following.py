"""Outcomes of single records that a regression publishes or that follow from it: by its file, or by its records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glassine.domain import Domain, Integer, Real
from glassine.models.effects import Effect
from glassine.models.indicators import indicator_bounds
from glassine.models.regression import FitStatistics, RegressionModel
from glassine.records.arrays import Array, Bools

PERFECT = 1 - 1e-12
"""R squared from which a fit is exact, up to the printed digits."""
WHOLE = 1 - 1e-9
"""Leverage from which a record's outcome alone makes its fitted value, up to rounding."""
NO_SPREAD = 1e-6
"""Variance of an outcome at its fitted value below which it is certain."""
UNLESS_SHRUNK = (
    "Outcomes of records that are alone in a column follow, unless a penalty was used, which the file does not say."
)
LIKELIEST = -math.log(2)
"""Log-likelihood above which each outcome has a fitted probability of more than one half."""
MAY_FOLLOW = (
    "By its standard error, the column {name} may hold {who}. Whether it does is not known without the training "
    "records."
)
OF_A_CATEGORY = (
    "The column {name} is a product, which may be 0 for all records but one. Whether it is so is not known without the "
    "training records, or a domain that declares both as numbers."
)
NOT_CONVERGED = (
    "The fit did not converge, as happens where a column gives the outcome of all its records. Whether one does is not "
    "known without the training records."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A regression beside its training records: those without a gap."""

    design: Array  # The columns, the intercept first (0 where none was fitted), shape (n, 1 + columns)
    weights: Array | None  # Variance of each outcome at its fitted value, shape (n,); None of an unknown link
    complete: Bools  # Which of all records have no gap

    @cached_property
    def leverage(self) -> Array | None:
        """How much of each record's fitted value its outcome makes, shape (n,)."""
        if self.weights is None:
            return None
        scaled = self.design * np.sqrt(self.weights)[:, None]
        base = np.linalg.svd(scaled, full_matrices=False)
        kept = base.S.max(initial=0.0) * len(scaled) * np.finfo(float).eps < base.S
        return np.asarray((base.U[:, kept] ** 2).sum(axis=1))


def is_number(effect: Effect, domain: Domain | None) -> bool:
    """Return whether a domain declares all attributes of a product as numbers that are not of 0/1.

    A number times a category is 0 for all records but those of the category, however few they are.
    """
    declared = [domain[name] if domain is not None and name in domain else None for name in effect.attributes]
    return all(isinstance(attribute, Integer | Real) for attribute in declared)


def is_exact(fit: FitStatistics) -> bool:
    """Return whether fitted values are the outcomes: there are as many parameters as records, or no residual."""
    exact = fit.df_residual is not None and fit.df_residual <= 0
    return exact or (fit.r_squared is not None and fit.r_squared >= PERFECT)


def is_likeliest(fit: FitStatistics) -> bool:
    """Return whether each outcome has a fitted probability of more than one half, by the likelihood."""
    likely = fit.log_likelihood if fit.family in ("binomial", "multinomial") else None
    return likely is not None and likely > LIKELIEST and not fit.special


def single_values(fit: FitStatistics) -> tuple[int, tuple[str, ...]]:
    """Return how many values of single records a table alone publishes or determines, and why, each in a sentence."""
    reasons, number = list[str](), 0
    if fit.n_residuals:
        number += fit.n_residuals
        reasons.append(f"The summary prints {fit.n_residuals:,} residuals of single records.")
    if "design matrix" in fit.published:
        number += fit.n_records or 1
        reasons.append("The file holds the design matrix, which is every training record.")
    if is_exact(fit):
        number += fit.n_records or 1
        reasons.append("The model has as many parameters as records, so that every outcome follows from it.")
    if is_likeliest(fit):
        number += fit.n_records or 1
        reasons.append("By the likelihood, the model predicts each outcome rightly, so that every one follows from it.")
    elif fit.separated:
        number += 1
        reasons.append("Fitted probabilities are 0 or 1, so that outcomes of records are certain.")
    return number, tuple(reasons)


def certain_outcomes(model: RegressionModel, fitted: Fitted | None) -> int:
    """Return of how many training records the outcome follows: it alone makes the fitted value, or has no spread."""
    if (
        fitted is None
        or fitted.weights is None
        or fitted.leverage is None
        or (model.link == "log" and model.fit.family != "poisson")
    ):
        return 0
    if model.link == "identity":
        return 0 if model.fit.penalized else int((fitted.leverage > WHOLE).sum())
    return int((fitted.weights < NO_SPREAD).sum())


def may_follow(model: RegressionModel, domain: Domain | None) -> str:
    """Return why outcomes may follow from a file alone: a column may hold one record, or records of one outcome."""
    if model.fit.converged is False:
        return NOT_CONVERGED
    # Of a linear regression, the value of a record that is alone follows; of others, an outcome that all have.
    least, who = (2, "one record") if model.fit.family == "gaussian" else (1, "records of one outcome alone")
    for effect, bound in zip(model.effects, indicator_bounds(model, domain, every=True), strict=True):
        if is_number(effect, domain):
            continue
        if len(effect.factors) > 1 and not effect.is_indicator(domain):
            return OF_A_CATEGORY.format(name=effect.name)
        if bound is not None and bound < least:
            return MAY_FOLLOW.format(name=effect.name, who=who)
    return ""
