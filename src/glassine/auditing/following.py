"""Outcomes of single records that a regression publishes or that follow from it: by its file, or by its records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glassine.data.record_table import RecordTable
from glassine.domain import Domain, Integer, Real
from glassine.domain.literals import is_missing
from glassine.models.effects import Effect, Equal, has_two_values
from glassine.models.indicators import ends_of, indicator_bounds, not_bounded, range_of
from glassine.models.regression import OF_CLASSES, FitStatistics, RegressionModel
from glassine.records.arrays import AnyArray, Array, Bools

PERFECT = 1 - 1e-12
"""R squared from which a fit is exact, up to the printed digits."""
NEARLY = 0.99
"""Leverage from which a record's outcome makes its fitted value: the residual is at most a tenth of the usual one."""
WHOLE = 1 - 1e-9
"""Leverage from which a score equation states the sum of outcomes of one combination of columns, up to rounding."""
NO_SPREAD = 1e-6
"""Variance of an outcome at its fitted value below which it is certain."""
LIKELIEST = -math.log(2)
"""Log-likelihood above which each outcome has a fitted probability of more than one half."""
MAY_FOLLOW = (
    "By its standard error, the column {name} may hold {who}. Whether it does is not known without the training "
    "records."
)
TOGETHER = (
    "By the standard error of {name}, columns together may be those of one record, as where all others have one of "
    "several properties. Whether they are is not known without the training records."
)
SHRUNK = (
    "Columns whose coefficient a penalty made 0 hold records whose outcome follows for someone who knows the strength "
    "of the penalty, if it is as small as their score equations allow."
)
NOT_BOUNDED = "The column {name} may hold {who}, whose outcome follows then. {reason} Pass the training records{or_}."
OF_NO_ERROR = "The file has no standard error of it, which would bound their number."
OF_NO_RANGE = "How far its values reach is not known."
OF_NO_FIT = "Its standard error is none of a fit by maximum likelihood."
OR_DECLARE = ", or a domain that declares its values"
OR_STATE = ", or state that the errors follow from the model, if the publisher says so"
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
    persons: AnyArray | None = None  # Whose record each is, as codes of shape (n,); None where each is of another

    @cached_property
    def leverage(self) -> Array | None:
        """How much of each record's fitted value its outcome makes, shape (n,)."""
        if self.weights is None:
            return None
        return leverage_of(self.design * np.sqrt(self.weights)[:, None])


def on_records(model: RegressionModel, table: RecordTable, target: str | None) -> Fitted:
    """Return a regression beside its training records, without those that lack a number or the outcome."""
    columns = model.design(table.arrays)
    complete = np.asarray(~np.isnan(columns).any(axis=1))
    if target in table.arrays:
        complete = np.asarray(complete & ~is_missing(table.arrays[target]))
    first = np.full(int(complete.sum()), float(model.has_intercept))
    design = np.column_stack([first, columns[complete]])
    rows = {name: table.arrays[name][complete] for name in model.tested}
    weights: Array | None = None
    if model.link == "identity":
        weights = np.ones(len(design))
    elif model.link in ("logit", "probit", "cloglog") and rows:
        shares = model.predict_proba(rows)[:, 1]
        weights = shares * (1 - shares)
    elif model.link == "log" and rows:
        # The variance of a positive number grows as its mean squared, which cancels the slope of the link.
        power = {"gamma": 0, "gaussian": 2}.get(model.fit.family, 1)
        weights = np.exp(power * model.scores(rows)[:, 0])
    persons = None if table.persons is None else table.persons.codes
    if persons is not None:  # a record without an identifier is of a person of its own
        persons = np.where(persons < 0, len(persons) + np.arange(len(persons)), persons)[complete]
    return Fitted(design=design, weights=weights, complete=complete, persons=persons)


def number_in(rows: Bools, persons: AnyArray | None) -> int:
    """Return how many records some rows are, or whose they are, how many people."""
    return int(rows.sum()) if persons is None else len(np.unique(persons[rows]))


def fewer_in(values: Array, of_category: bool, persons: AnyArray | None) -> int | None:
    """Return how many records lack the most frequent value: of a category, two values, or one that most records have.

    A number that is 0 for all but a few is a column of those few. Where persons are stated, these are counted, and
    those of the most frequent value if they are fewer.
    """
    distinct, counts = np.unique(values, return_counts=True)
    most = int(counts.max(initial=0))
    if not (of_category or len(distinct) == 2 or 2 * most > len(values) or np.isin(distinct, (0.0, 1.0)).all()):
        return None
    most_rows = values == distinct[counts.argmax()] if len(distinct) else np.zeros(0, dtype=bool)
    return len(values) - most if persons is None else min(number_in(side, persons) for side in (most_rows, ~most_rows))


def leverage_of(design: Array) -> Array:
    """Return how much of each record's fitted value its outcome makes, shape (n,), for columns in any units."""
    return np.asarray((_base(design) ** 2).sum(axis=1))


def leverage_of_persons(design: Array, persons: AnyArray) -> Array:
    """Return for each record how much of a sum of its person's fitted values the outcomes of that person make at most.

    Of 1, a sum of the person's outcomes, each times a known number, follows. Shape (n,).
    """
    base, out = _base(design), np.zeros(len(design))
    alone = np.bincount(persons, (base**2).sum(axis=1))
    # The largest eigenvalue of the person's part is at most its trace.
    for person in np.flatnonzero(alone > NEARLY):
        own = persons == person
        out[own] = np.linalg.svd(base[own], compute_uv=False).max() ** 2
    return out


def _base(design: Array) -> Array:
    """Return orthogonal columns, shape (n, rank), that span those of a design."""
    largest = np.abs(design).max(axis=0, initial=0.0)
    units = design[:, largest > 0] / largest[largest > 0]
    # The space of the columns is the same in any units, and a small one is not lost beside a large one.
    base = np.linalg.svd(units / np.linalg.norm(units, axis=0), full_matrices=False)
    kept = base.S.max(initial=0.0) * len(units) * np.finfo(float).eps < base.S
    return np.asarray(base.U[:, kept])


def is_number(effect: Effect, domain: Domain | None) -> bool:
    """Return whether a domain declares all attributes of a product as numbers of more than two values.

    A number times a category is 0 for all records but those of the category, however few they are.
    """
    declared = [domain[name] if domain is not None and name in domain else None for name in effect.attributes]
    return all(isinstance(attribute, Integer | Real) and not has_two_values(attribute) for attribute in declared)


def is_of_everyone(effect: Effect, domain: Domain | None) -> bool:
    """Return whether a column is declared as numbers that everyone has: none of them can be zero."""
    if domain is None or not is_number(effect, domain):
        return False
    ends = [ends_of(factor, domain) for factor in effect.factors]
    return all(own is not None and (own[0] > 0 or own[1] < 0) for own in ends)


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
        reasons.append("The results hold a figure of every training record, such as a row of the design matrix.")
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


def certain_outcomes(model: RegressionModel, fitted: Fitted | None, outcomes: AnyArray | None) -> int:
    """Return of how many training records the outcome follows from the coefficients, for someone with their columns.

    It alone makes the fitted value, or has no spread: where columns together are those of one record, their score
    equations state its outcome, under any link, and under a penalty less what that adds. Or it follows from the
    equations of columns of two values, which state the sum of outcomes of each value, and of each combination that they
    distinguish: if all of them are one. Of a person with several records, a sum of their outcomes follows.

    Parameters
    ----------
    model : RegressionModel
        The model.
    fitted : Fitted or None
        The model beside its training records.
    outcomes : ndarray of shape (n,), optional
        Their outcomes; without them, only records that are alone in a column count.
    """
    if fitted is None:
        return 0
    follows = np.zeros(len(fitted.design), dtype=bool)
    if model.link != "identity" and fitted.weights is not None and not _has_no_variance(model):
        follows |= fitted.weights < NO_SPREAD
    if model.link:
        # Of a coefficient that a penalty made 0, the sum is known up to an interval; of a rounded one, that of numbers.
        every = model.link == "identity" and not model.fit.penalized
        stated = [True, *(every or any(effect.coefficients) for effect in model.effects)]
        equations = fitted.design[:, stated]
        weights = np.ones(len(equations)) if fitted.weights is None else fitted.weights
        weighted = equations * np.sqrt(weights)[:, None]
        own_part = leverage_of(weighted) if fitted.persons is None else leverage_of_persons(weighted, fitted.persons)
        follows |= own_part > NEARLY
        for own in (*_sides(model, fitted), *_combinations(equations)):
            if _of_one_person(own, fitted.persons) or _of_one_outcome(own, outcomes, model):
                follows |= own
    return int(follows.sum())


def _has_no_variance(model: RegressionModel) -> bool:
    """Return whether the weights are no variances of outcomes: those of positive numbers are known up to a factor."""
    return model.link == "log" and model.fit.family not in ("poisson", "")


def _sides(model: RegressionModel, fitted: Fitted) -> Iterator[Bools]:
    """Yield the records of each value of a column of two values, or of a category that none names, each of shape (n,).

    Without an intercept, no equation is of the records at zero.
    """
    rest: dict[str, Bools] = {}
    whole = model.link == "cox" or bool(fitted.design[:1, 0].any())
    for column, effect in zip(fitted.design[:, 1:].T, model.effects, strict=True):
        if len(effect.factors) == 1 and isinstance(effect.factors[0], Equal):
            name = effect.factors[0].attribute
            rest[name] = np.asarray(rest.get(name, True) & (column == 0))
        values = np.unique(column)
        if any(effect.coefficients) and len(values) == 2:
            yield from (column == value for value in values if whole or value != 0)
    yield from (left for left in rest.values() if whole)


def _combinations(equations: Array) -> Iterator[Bools]:
    """Yield the records of each combination of columns of two values that equations distinguish, each of shape (n,)."""
    columns = [column for column in equations.T if len(np.unique(column)) <= 2]
    rows, codes = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    for code in np.flatnonzero(leverage_of(rows) > WHOLE):
        yield codes.reshape(-1) == code


def _of_one_person(own: Bools, persons: AnyArray | None) -> bool:
    """Return whether some records are of one person, the sum of whose outcomes is known."""
    return persons is not None and number_in(own, persons) == 1


def _of_one_outcome(own: Bools, outcomes: AnyArray | None, model: RegressionModel) -> bool:
    """Return whether records whose outcomes have a known sum are one record, or share the outcome.

    Of numbers, a sum says each of them only if there is one; of counts, also if it is zero.
    """
    number = int(own.sum())
    # Of a Cox regression, the outcome is a time, and whether the event occurred stands elsewhere.
    if number < 2 or outcomes is None or model.link in ("identity", "cox"):
        return number == 1
    distinct = np.unique(outcomes[own])
    return len(distinct) == 1 and bool(model.link in OF_CLASSES or distinct[0] == 0)


def may_follow(model: RegressionModel, domain: Domain | None) -> tuple[str, bool]:
    """Return why outcomes may follow from a file alone, and whether values that a domain declares could settle it.

    They may where a column may hold one record, or records of one outcome. The reason is empty where none may.

    A column that nothing bounds may, whether errors are robust, of a penalty, or not published. Numbers that everyone
    has do not unless their errors say so: one person's would be that of no other only if all others shared theirs.
    """
    if model.fit.converged is False:
        return NOT_CONVERGED, False
    # Of a linear regression, the value of a record that is alone follows; of others, an outcome that all have.
    least, who = (2, "one record") if model.fit.family == "gaussian" else (1, "records of one outcome alone")
    for effect, bound in zip(model.effects, indicator_bounds(model, domain, every=True), strict=True):
        # A coefficient that was rounded to 0 says no outcome; one that a penalty made 0 may.
        rounded = model.fit.penalized is False and not any(effect.coefficients)
        if rounded or (bound is None and is_of_everyone(effect, domain)):
            continue
        if len(effect.factors) > 1 and not effect.is_indicator(domain) and not is_number(effect, domain):
            return OF_A_CATEGORY.format(name=effect.name), True
        if bound is None:
            reason, way = _unbounded(model, effect, domain)
            return NOT_BOUNDED.format(name=effect.name, who=who, reason=reason, or_=way), way == OR_DECLARE
        if bound < least:
            return MAY_FOLLOW.format(name=effect.name, who=who), False
        # Of other families, columns that are together those of one record have fitted values of 0 or 1, which shows.
        together = model.fit.family == "gaussian" and effect.is_indicator(domain)
        if together and bound <= widest([own for own in model.effects if own.is_indicator(domain)]) ** 2:
            return TOGETHER.format(name=effect.name), False
    return "", False


def widest(effects: Sequence[Effect]) -> int:
    """Return the largest value at one record of a sum of columns of 0/1, each times at most 1, that is 0 at all others.

    Of k columns it is k - 1, and 1 of two attributes. Two categories of one attribute can count twice: `indicators.md`.
    """
    columns = Counter(
        one.factors[0].attribute if [type(factor) for factor in one.factors] == [Equal] else one.name for one in effects
    )
    return 1 if len(columns) < 3 else sum(min(2, number) for number in columns.values()) - 1


def may_be_shrunk_away(model: RegressionModel, fitted: Fitted, outcomes: AnyArray | None) -> bool:
    """Return whether outcomes may follow from coefficients that a penalty made 0.

    Of such a column of 0/1, the sum of outcomes differs from that of the fitted probabilities by at most the strength
    of the penalty, which is at least that of any other such column. Where one more outcome, or one less, lies beyond
    it, the sum is known, and with it each outcome.
    """
    if model.link != "logit" or model.fit.penalized is False or outcomes is None or model.classes is None:
        return False
    from glassine.attacks.membership.outputs import class_text  # its readers take a second to import

    second = class_text(model.classes[1])
    ones = np.array([class_text(value) == second for value in outcomes.tolist()], dtype=float)
    design, coefficients = fitted.design[:, 1:], np.array([effect.coefficients[0] for effect in model.effects])
    scores = model.intercept[0] + (design * coefficients).sum(axis=1)
    residual = ones - 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
    columns = [column for column in design[:, coefficients == 0].T if np.isin(column, (0.0, 1.0)).all()]
    strength = max((abs(float(residual[column == 1].sum())) for column in columns), default=0.0)
    for own in (column == 1 for column in columns):
        # One outcome fewer where all are ones, one more where none is.
        step = -1.0 if ones[own].all() else 1.0
        if _of_one_outcome(own, outcomes, model) and abs(float(residual[own].sum()) + step) > strength:
            return True
    return False


def _unbounded(model: RegressionModel, effect: Effect, domain: Domain | None) -> tuple[str, str]:
    """Return why nothing bounds the records of a column, and what else than the records would."""
    if effect.errors is None:
        return OF_NO_ERROR, ""
    if reason := not_bounded(model):
        states = model.fit.errors != "robust" and not not_bounded(model.stated(errors="model"))
        return reason, OR_STATE if states else ""
    return (OF_NO_RANGE, OR_DECLARE) if range_of(model, effect, domain) is None else (OF_NO_FIT, "")
