"""The budget of one private fit: its parts, its claim and its certificate."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from glassine.errors import InvalidParameterError
from glassine.models import AdditiveModel, DecisionTree, Guarantee, RuleList
from glassine.models.formats import fingerprint
from glassine.privacy.accounting import Event, Selection
from glassine.privacy.certificate import Certificate
from glassine.privacy.exact import decimal, float_above

__all__ = ["SEEDED", "Budget", "certificate_of", "certify", "check_number", "claim", "selection_event", "vouched_for"]

SEEDED = "seeded: not private"
VOUCHED = "the random bits come from a source that the caller vouches for: independent, fair and secret"
LARGEST_EPSILON = 1e6
LARGEST_SCALE = 10**12
"""Largest scale of noise on counts, in records."""

REFUSALS = (
    "no fit is refused because of the records: there is at least one, all rows have one length and every declared "
    "column, every record has a declared class and no forbidden gap, and neither memory nor a limit on the number of "
    "records is exceeded; a refusal reveals that one of these fails, so the step from no record to one is not covered"
)
PERSONS = "one person has one record; a weight or repeated records of one person multiply epsilon"
TIMING = "running time and memory use are not observed"
ONE_FIT = "one fit; each further fit on the same records spends again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Epsilon of one fit and its parts, exact fractions that add up.

    Attributes
    ----------
    total : Fraction
        Epsilon of the fit.
    literals, counts : Fraction
        For private thresholds, and for the histogram of class counts; 0 where there is none.
    """

    total: Fraction
    literals: Fraction
    counts: Fraction

    @classmethod
    def split(cls, epsilon: object, *, literals_share: object, counts_share: object, with_literals: bool) -> Budget:
        """Split epsilon by shares; what is left goes to the choice of the model."""
        total = decimal(check_number(epsilon, "epsilon", low=0.0, high=LARGEST_EPSILON, low_open=True), "epsilon")
        if not total > Fraction(1, 2**30):
            raise InvalidParameterError(f"epsilon={float(total):g} is too small to be drawn at. Use at least 1e-6.")
        counts = decimal(check_number(counts_share, "leaf_counts_share", low=0.0, high=1.0), "leaf_counts_share")
        share = decimal(check_number(literals_share, "quantile_share", low=0.0, high=1.0, low_open=True), "share")
        literals = share if with_literals else Fraction(0)
        if not literals + counts < 1:
            raise InvalidParameterError(
                f"the shares of epsilon for thresholds ({float(literals):g}) and counts ({float(counts):g}) must leave "
                "some for the model. Lower one of them."
            )
        if counts and not total * counts * LARGEST_SCALE >= 1:
            raise InvalidParameterError(
                f"leaf_counts_share={float(counts):g} of epsilon={float(total):g} means noise beyond any count. "
                "Give the counts a larger share, or 0 to publish none."
            )
        return cls(total=total, literals=total * literals, counts=total * counts)

    def selection(self, slack: float) -> Fraction:
        """Return the epsilon at which the model is drawn: what the other parts and the rounding leave.

        Raises
        ------
        InvalidParameterError
            If nothing is left.
        """
        left = self.total - self.literals - self.counts - Fraction(slack)
        # What rounding can cost must be small beside what is drawn with.
        if not left > self.total * Fraction(1, 1000) or not left > Fraction(1, 2**30):
            raise InvalidParameterError(
                f"epsilon={float(self.total):g} is too small: rounding alone may cost {slack:.1e}. Use at least 1e-6."
            )
        return left


def check_number(value: object, name: str, *, low: float, high: float = float("inf"), low_open: bool = False) -> float:
    """Return a parameter that must be a finite number in a range, or raise InvalidParameterError."""
    number = float("nan")
    if not isinstance(value, bool) and isinstance(value, numbers.Real):
        number = float(value)
    if not (low < number if low_open else low <= number) or not number <= high or number == float("inf"):
        bracket = "(" if low_open else "["
        end = f"{high:g}]" if high != float("inf") else "infinity)"
        raise InvalidParameterError(f"{name} must be a number in {bracket}{low:g}, {end}, got {value!r}.")
    return number


def selection_event(name: str, epsilon: Fraction, slack: float, budget: Budget, proof: str) -> Selection:
    """Return the event of drawing a model with errors as cost."""
    return Selection(
        name=name,
        inverse_temperature=float(epsilon),
        sensitivity=1.0,
        monotone=True,
        slack=slack,
        share=float((budget.total - budget.literals - budget.counts) / budget.total),
        proof=proof,
    )


def claim(budget: Budget, caveats: Sequence[str]) -> Guarantee:
    """Return what a published model states of its guarantee; its counts, if any, carry noise of scale 1 / epsilon."""
    scale = float_above(1 / budget.counts) if budget.counts else None
    return Guarantee(epsilon=float(budget.total), count_scale=scale, caveats=tuple(caveats))


def certify(
    budget: Budget,
    events: Sequence[Event],
    model: DecisionTree | RuleList,
    *,
    caveats: Sequence[str],
    public: Mapping[str, Any],
) -> Certificate:
    """Return the certificate of a fit without a delta."""
    return certificate_of(events, model, epsilon=budget.total, caveats=caveats, public=public)


def certificate_of(
    events: Sequence[Event],
    model: DecisionTree | RuleList | AdditiveModel,
    *,
    epsilon: Fraction,
    delta: Fraction | float = 0.0,
    caveats: Sequence[str],
    public: Mapping[str, Any],
    assumptions: Sequence[str] = (),
) -> Certificate:
    """Return the certificate of a fit, with the assumptions of all of them; its constructor adds up the events."""
    return Certificate(
        epsilon=float(epsilon),
        delta=float(delta),
        events=tuple(events),
        assumptions=(PERSONS, REFUSALS, TIMING, ONE_FIT, *assumptions),
        caveats=tuple(caveats),
        public=public,
        model=fingerprint(model),
    )


def vouched_for(certificate: Certificate) -> Certificate:
    """Return a certificate with the assumption on random bits that are not the operating system's."""
    return replace(certificate, assumptions=(*certificate.assumptions, VOUCHED))
