"""The budget of one private fit: its parts, its claim and its certificate with what it has to caution against."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from glassine.data.identifiers import identifying
from glassine.domain import Domain
from glassine.errors import (
    InvalidCertificateError,
    InvalidParameterError,
    PrivacyLeakWarning,
    parameter,
    quoted,
    warn_caller,
)
from glassine.formats import fingerprint
from glassine.models import AdditiveModel, DecisionTree, Guarantee, RuleList
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.privacy.accounting import Event
from glassine.privacy.certificate import ONE_PERSON, ONE_RECORD, Certificate
from glassine.privacy.exact import decimal, float_above
from glassine.privacy.release import EXACT_DRAWS, Paid
from glassine.privacy.unit import RECORD, PrivacyUnit, of_groups
from glassine.sealed.accounts import FitAccount
from glassine.sealed.weighting import LEAST_RATE

CLASSES_FROM_DATA = "classes taken from the data: the guarantee does not cover their names"
RANGE_FROM_DATA = "range of the target taken from the data: the guarantee does not cover it"

REMEDIES = {
    DOMAIN_FROM_DATA: "pass domain=, read from public knowledge",
    CLASSES_FROM_DATA: "pass classes=, or declare the target in the domain",
    RANGE_FROM_DATA: "pass target_range=, or declare the target in the domain",
}


def identifiers_remark(domain: Domain) -> str:
    """Return what to say of attributes that are named like identifiers; nothing of the records enters it."""
    names = ", ".join(map(repr, identifying(domain)[:3]))
    return names and (
        f"attributes named like an identifier: {names}. If a person can have several records, the guarantee for one "
        "record does not cover the person. Pass the column as persons, with records_per_person; or leave it out"
    )


def warn_of(caveats: Sequence[str], domain: Domain) -> None:
    """Warn of each caveat, and of attributes named like identifiers, at the line that called the learner."""
    said = [f"{caveat}; {REMEDIES[caveat]}" for caveat in caveats]
    said += filter(None, [identifiers_remark(domain)])
    for text in said:
        warn_caller(f"{text}.", PrivacyLeakWarning)


LARGEST_EPSILON = 1e6
"""Largest epsilon of a fit: nothing is protected long before."""

LARGEST_SCALE = 10**12
"""Largest scale of noise on counts, in records: more than any dataset has, and far below what 64 bits hold."""

LEAST_PER_RECORD = Fraction(1, 2**30)
"""Least epsilon for one record at which a model is drawn: epsilon is rounded to 2^-40, a thousandth of it."""

REFUSALS = (
    "no fit is refused because of the records: a refusal would reveal that one of the next six assumptions fails",
    "there is at least one record, and all rows have one length; the step from no record to one is not covered",
    "records, targets and identifiers are as many, their indexes are in one order",
    "the quotes of a CSV file are closed within each record",
    "every declared column is there in a type that can hold its values",
    "a lazy frame is collected without an error and gives the same records each time",
    "neither memory nor a limit on the number of records is exceeded",
)
"""What must hold of the records so that no fit is refused, one assumption each."""
OUTCOMES = (
    "before the charge nothing is refused because of a value: the names and declared types of columns are public, and "
    "records, targets and identifiers are as many, with indexes in one order; what fails after the charge is one "
    "constant error, which reveals that it failed, as where a lazy frame is not collected or memory does not suffice"
)
UNSEALED = (
    "code of the learner itself holds the records until the last draw: that it keeps the order is tested, not enforced"
)
RECORDS = "the unit is one record; for k records together epsilon is k times as large, and a delta grows faster"
WHOLE_PERSONS = (
    "all records of one person have the same identifier, and no record of another person has it",
    "records without an identifier are left out",
)
TIMING = "running time and memory use are not observed"
ONE_FIT = "one fit; each further fit on the same records spends again"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitBudget:
    """Epsilon of one fit and its parts, exact fractions that add up."""

    total: Fraction  # Epsilon of the fit
    # literals, counts: for private thresholds, and for the histogram of class counts; 0 where there is none.
    literals: Fraction
    counts: Fraction
    # For the class counts of all records, about which leaf values lie; 0 where errors alone count.
    base_rate: Fraction = Fraction(0)
    unit: PrivacyUnit = RECORD  # Whose data they cover: one record, or all records of one person

    @classmethod
    def split(
        cls,
        epsilon: object,
        *,
        literals_share: object,
        counts_share: object,
        with_literals: bool,
        base_rate_share: object = 0.0,
        unit: PrivacyUnit = RECORD,
    ) -> FitBudget:
        """Split epsilon by shares; what is left goes to the choice of the model."""
        total = decimal(check_number(epsilon, "epsilon", low=0.0, high=LARGEST_EPSILON, low_open=True), "epsilon")
        if not total / unit.most_records > LEAST_PER_RECORD:
            raise InvalidParameterError(
                f"{parameter('epsilon=')}{float(total):g} is too small to be drawn at{_spread_over(unit)}.",
                remedy=f"Use at least 1e-6{' per record' if unit.is_person else ''}.",
            )
        counts = decimal(check_number(counts_share, "leaf_counts_share", low=0.0, high=1.0), "leaf_counts_share")
        share = decimal(check_number(literals_share, "quantile_share", low=0.0, high=1.0, low_open=True), "share")
        literals = share if with_literals else Fraction(0)
        base_rate = decimal(check_number(base_rate_share, "base_rate_share", low=0.0, high=1.0), "base_rate_share")
        if not literals + base_rate + counts < 1:
            rate = f", the base rate ({float(base_rate):g})" if base_rate else ""
            raise InvalidParameterError(
                f"the shares of epsilon for thresholds ({float(literals):g}){rate} and counts ({float(counts):g}) must "
                "leave some for the model.",
                remedy="Lower one of them.",
            )
        for name, part, remedy in (
            ("leaf_counts_share", counts, "Give the counts a larger share, or 0 to publish none."),
            ("base_rate_share", base_rate, "Give the base rate a larger share."),
        ):
            if part and not total * part * LARGEST_SCALE >= unit.most_records:
                raise InvalidParameterError(
                    f"{parameter(name + '=')}{float(part):g} of {parameter('epsilon=')}{float(total):g} means noise "
                    "beyond any count.",
                    remedy=remedy,
                )
        return cls(
            total=total, literals=total * literals, counts=total * counts, base_rate=total * base_rate, unit=unit
        )

    @property
    def model(self) -> Fraction:
        """What is left for the choice of the model."""
        return self.total - self.literals - self.base_rate - self.counts

    @property
    def account(self) -> FitAccount:
        """What the fit may spend."""
        return FitAccount(total=self.total, unit=self.unit)

    def per_record(self, epsilon: Fraction) -> Fraction:
        """Return what a part of epsilon leaves for each record that a neighbor may have more."""
        return epsilon / self.unit.most_records

    def selection(self, slack: float) -> Fraction:
        """Return the epsilon at which the model is drawn: what the other parts and the rounding leave."""
        left = self.model - Fraction(slack)
        # What rounding can cost must be small beside what is drawn with.
        if not left > self.total * Fraction(1, 1000) or not self.per_record(left) > LEAST_PER_RECORD:
            raise InvalidParameterError(
                f"{parameter('epsilon=')}{float(self.total):g} is too small: rounding alone may cost {slack:.1e}.",
                remedy="Use at least 1e-6.",
            )
        return left


def _spread_over(unit: PrivacyUnit) -> str:
    return f" for {unit.most_records} records per person" if unit.is_person else ""


def check_number(value: object, name: str, *, low: float, high: float = float("inf"), low_open: bool = False) -> float:
    """Return a parameter that must be a finite number in a range, or raise InvalidParameterError."""
    number = float("nan")
    if not isinstance(value, bool) and isinstance(value, numbers.Real):
        with contextlib.suppress(OverflowError):
            number = float(value)
    if not (low < number if low_open else low <= number) or not number <= high or number == float("inf"):
        bracket = "(" if low_open else "["
        end = f"{high:,.15g}]" if high != float("inf") else "infinity)"
        raise InvalidParameterError(
            f"{parameter(name)} must be a number in {bracket}{low:g}, {end}, got {quoted(value)}.",
            remedy="Typical values are 0.1 to 1." if name == "epsilon" else None,
        )
    return number


def check_stated(epsilon: object) -> None:
    """Raise InvalidParameterError if no epsilon is stated: what a fit spends is its caller's decision."""
    if epsilon is None:
        raise InvalidParameterError(
            f"{parameter('epsilon')} must be stated, the privacy budget that the fit spends, got None.",
            remedy=f"Pass {parameter('epsilon=')}, such as 0.1 or 1.",
        )


def claim(budget: FitBudget, caveats: Sequence[str], spread: float = 1.0) -> Guarantee:
    """Return the guarantee that a published model states.

    Published counts have noise of scale m / epsilon. ``spread`` is the scale in units of that, where a count is a sum
    of several noisy ones.
    """
    scale = spread * float_above(1 / budget.per_record(budget.counts)) if budget.counts else None
    return guarantee_of(budget.total, Fraction(0), unit=budget.unit, count_scale=scale, caveats=caveats)


def guarantee_of(
    epsilon: Fraction | float,
    delta: Fraction | float,
    *,
    unit: PrivacyUnit,
    count_scale: float | None,
    caveats: Sequence[str],
) -> Guarantee:
    """Return what a published model states of its guarantee."""
    return Guarantee(
        epsilon=float(epsilon),
        delta=float(delta),
        neighboring=relation_of(unit),
        records_per_person=unit.records_per_person,
        count_scale=count_scale,
        caveats=tuple(caveats),
    )


def relation_of(unit: PrivacyUnit) -> str:
    """Return the neighboring relation of private fits with a unit."""
    return ONE_PERSON if unit.is_person else ONE_RECORD


def certify(
    budget: FitBudget,
    events: Sequence[Event],
    model: DecisionTree | RuleList,
    *,
    paid: Paid,
    public: Mapping[str, Any],
    error_bound: int | None,
) -> Certificate:
    """Return the certificate of a fit without a delta."""
    certificate = certificate_of(events, model, account=budget.account, paid=paid, public=public)
    return replace(certificate, error_bound=error_bound)


def certificate_of(
    events: Sequence[Event],
    model: DecisionTree | RuleList | AdditiveModel | str,
    *,
    account: FitAccount,
    paid: Paid,
    public: Mapping[str, Any],
    assumptions: Sequence[str] = (),
    sealed: bool = True,
) -> Certificate:
    """Return the certificate of a fit, with the assumptions of all of them; its constructor adds up the events."""
    # What was released may be given by its SHA-256, if it is no model. The events are those of neighbors that differ by
    # one record; of a person they are stated for all of their records.
    if not events:
        raise InvalidCertificateError(
            "a fit without events cannot be certified: nothing states what its releases cost.",
            remedy="Fit with a budget, or write a certificate that says not private.",
        )
    unit = account.unit
    of_unit = WHOLE_PERSONS if unit.is_person else (RECORDS,)
    more = assumptions if sealed else (*assumptions, UNSEALED)
    return Certificate(
        epsilon=float(account.total),
        delta=float(account.delta),
        events=of_groups(events, unit.most_records),
        neighboring=relation_of(unit),
        unit=unit,
        assumptions=(*of_unit, OUTCOMES, TIMING, ONE_FIT, *more, *paid.assumptions),
        caveats=paid.caveats,
        public=public,
        randomness=paid.origin,
        arithmetic=EXACT_DRAWS,
        model=model if isinstance(model, str) else fingerprint(model),
        receipt=paid.receipt,
    )


def refuse_small_rate(budget: FitBudget, slack: float, units: int) -> None:
    """Raise if epsilon is too small to be drawn at, where one record can cost so many units."""
    rate = budget.per_record(budget.selection(slack)) / units
    if rate < LEAST_RATE:
        raise InvalidParameterError(
            f"{parameter('epsilon=')}{float(budget.total):g} is too small: one record can cost {units:,} units.",
            remedy=f"Use at least {float(budget.total * LEAST_RATE / rate):.1g}.",
        )
