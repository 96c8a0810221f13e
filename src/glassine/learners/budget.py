"""The budget of one private fit: its parts, the charge to the ledger, the certificate."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from glassine.errors import InvalidParameterError
from glassine.models import DecisionTree, Guarantee, RuleList
from glassine.models.formats import fingerprint
from glassine.privacy.accounting import Event, Selection
from glassine.privacy.certificate import Certificate
from glassine.privacy.exact import decimal, float_above
from glassine.privacy.ledger import Ledger

__all__ = ["SEEDED", "Budget", "certify", "charge", "check_number", "check_progress", "claim", "selection_event"]

SEEDED = "seeded: not private"
LARGEST_EPSILON = 1e6
LARGEST_SCALE = 10**12
"""Largest scale of noise on counts, in records."""

REFUSALS = "every record has a declared class and no forbidden gap; that a fit is refused tells about the records"
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


def check_progress(progress: object) -> None:
    """Raise InvalidParameterError if progress cannot be called."""
    if progress is not None and not callable(progress):
        raise InvalidParameterError(f"progress must be callable or None, got {type(progress).__name__}.")


def charge(ledger: object, dataset: object, epsilon: Fraction, note: str, *, delta: Fraction = Fraction(0)) -> None:
    """Charge a fit to a ledger before anything is released.

    Raises
    ------
    BudgetExceededError
        If the data set's budget does not allow it; nothing is charged then.
    InvalidParameterError
        If there is a ledger without a data set, or the other way round.
    """
    if ledger is None and dataset is None:
        return
    if ledger is None or not isinstance(dataset, str) or not dataset:
        raise InvalidParameterError(
            f"ledger and dataset go together, got ledger={ledger!r} and dataset={dataset!r}. Name the data set."
        )
    book = Ledger(ledger) if isinstance(ledger, str | os.PathLike) else ledger
    if not isinstance(book, Ledger):
        raise InvalidParameterError(f"ledger must be a Ledger or a path, got {type(book).__name__}.")
    book.charge(dataset, epsilon, delta, note=note)


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
    """Return the certificate of a fit; its constructor adds up the events."""
    return Certificate(
        epsilon=float(budget.total),
        events=tuple(events),
        assumptions=(PERSONS, REFUSALS, TIMING, ONE_FIT),
        caveats=tuple(caveats),
        public=public,
        model=fingerprint(model),
    )
