"""What standard errors reveal of a column of 0/1, or of a known range: a number of records that it holds at least."""

from __future__ import annotations

import math

from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.models.effects import Effect, Equal, Factor
from glassine.models.regression import RegressionModel


def indicator_bounds(
    model: RegressionModel, domain: Domain | None = None, *, every: bool = False
) -> tuple[int | None, ...]:
    """Return for each column of 0/1 a number of records, or of its rarer outcome, that it holds at least.

    ``1 / se^2`` bounds from below the rarer outcome's count in the column of a logistic regression, its sum of outcomes
    in a Poisson regression, and its events in a Cox regression; ``s^2 / se^2`` the records of a linear one. Of a column
    of another range r, ``se r`` in place of ``se`` bounds the same of the records that are not at its least value, and
    of those that are not at its largest.

    **Guarantee**: exact for a fit that converged, by maximum likelihood with the canonical link, without weights or a
    penalty, whose errors follow from the model (`indicators.md`); None for every other column or fit.

    Parameters
    ----------
    model : RegressionModel
        The model, with what is stated of it.
    domain : Domain, optional
        The public domain, which says which attributes are of 0/1, and the range of numbers.
    every : bool, default=False
        Whether to return what holds of each other column of a known range as well.

    Examples
    --------
    >>> from glassine.models.regression import FitStatistics
    >>> from glassine.models.effects import Effect, Equal
    >>> male = Effect(name="male", factors=(Equal(attribute="sex", value="male"),), coefficients=(0.3,), errors=(0.25,))
    >>> fit = FitStatistics(family="binomial", dispersion="fixed", errors="model", penalized=False, converged=True)
    >>> model = RegressionModel(
    ...     attributes=("sex",), effects=(male,), intercept=(0,), link="logit", classes=(0, 1), fit=fit
    ... )
    >>> indicator_bounds(model)
    (16,)
    """
    if not_bounded(model):
        return (None,) * len(model.effects)
    fit = model.fit
    scale = 1.0
    if fit.family == "gaussian":
        scale = max(0.0, (fit.scale or 0.0) - fit.scale_rounding)
    out: list[int | None] = []
    for effect in model.effects:
        span = range_of(model, effect, domain) if every or effect.is_indicator(domain) else None
        if effect.errors is None or span is None:
            out.append(None)
            continue
        # Rounding moves an error by at most half of its last digit: the largest error gives the smallest bound.
        error = (max(effect.errors) + effect.rounding) * span
        bound = scale / error**2 if error > 0 else math.inf
        if not bound <= (fit.n_records or math.inf) * (1 + 1e-9):
            out.append(None)  # more than all records: an error of 0, or a table that is no maximum-likelihood fit
            continue
        # A count is whole, so that a bound may be rounded up.
        out.append(max(0, math.ceil(bound - SLACK - 1e-6 * bound)) if bound < math.inf else None)
    return tuple(out)


def range_of(model: RegressionModel, effect: Effect, domain: Domain | None) -> float | None:
    """Return how far values of a column can be from its least, or from zero without an intercept; None if not known."""
    ends = (1.0, 1.0)
    for factor in effect.factors:
        own = ends_of(factor, domain)
        if own is None:
            return None
        products = [a * b for a in ends for b in own]
        ends = (min(products), max(products))
    # An intercept, as a baseline hazard, takes up where a column starts.
    if model.link == "cox" or any(model.intercept) or model.intercept_errors is not None:
        return ends[1] - ends[0]
    # Without one, the score equation weighs outcomes by the column, which then bounds them with one sign alone.
    return max(map(abs, ends)) if model.link == "identity" or ends[0] >= 0 or ends[1] <= 0 else None


def ends_of(factor: Factor, domain: Domain | None) -> tuple[float, float] | None:
    """Return the least and the largest value of a factor; None if nothing says them."""
    if isinstance(factor, Equal):
        return 0.0, 1.0
    attribute = domain[factor.attribute] if domain is not None and factor.attribute in domain else None
    if isinstance(attribute, Binary):
        ends: tuple[float, ...] = (0.0, 1.0)
    elif isinstance(attribute, Integer | Real):
        ends = tuple(map(float, attribute.ends))
    elif isinstance(attribute, Category) and all(isinstance(value, int | float) for value in attribute.values):
        ends = tuple(float(value) for value in attribute.values)
    else:
        return None
    ends = ends if factor.missing is None else (*ends, factor.missing)
    if factor.exponent != 1 and min(ends) <= 0:
        # Zero may be the least or the largest power, or have none.
        if factor.exponent < 0 or not factor.exponent.is_integer():
            return None
        ends = (*ends, 0.0)
    try:
        powers = [end**factor.exponent for end in ends]
    except OverflowError:
        return None
    return min(powers), max(powers)


SLACK = 0.05
"""Records by which a bound may exceed a count, as a fit stops before its score is zero: `indicators.md`."""
CANONICAL = {"gaussian": "identity", "binomial": "logit", "poisson": "log", "cox": "cox"}
"""Families with the link for which the score equation of a column states its sum of outcomes."""


def not_bounded(model: RegressionModel) -> str:
    """Return why errors bound no count of a column; empty if they do."""
    fit = model.fit
    if fit.family not in CANONICAL or CANONICAL[fit.family] != model.link:
        return "The file does not say its family, or errors of its family bound no count."
    if fit.errors != "model":
        robust = "The standard errors are robust, which bound no count."
        return robust if fit.errors else "The file does not say of which kind its standard errors are."
    if fit.special:
        return f"The fit {fit.peculiar}, with which standard errors bound no count."
    if fit.penalized is not False:
        return "The coefficients are shrunk by a penalty, or the file does not say that they are not."
    if fit.converged is not True or fit.separated:
        return "The fit did not converge, or the file does not say that it did."
    if fit.family == "gaussian":
        return "" if fit.scale is not None else "The file does not publish the residual variance."
    return "" if fit.dispersion == "fixed" else "The dispersion was estimated, or the file does not say that it is 1."
