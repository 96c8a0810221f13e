"""The plan of a greedy fit: mechanism, accounting and the parts of the budget, fixed before the records are read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from glassine.errors import InvalidParameterError, check_choice, parameter
from glassine.learners.budget import LARGEST_EPSILON, LARGEST_SCALE, check_number
from glassine.privacy.exact import decimal
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.sealed.accounts import FitAccount

MECHANISMS = (
    "smooth-laplace",
    "smooth-cauchy",
    "global-laplace",
    "global-gaussian",
    "global-exponential",
    "noisy-counts",
    "counted-gini",
)
"""How a rule can be chosen privately."""

ACCOUNTINGS = ("strict", "published")

WITH_DELTA = ("smooth-laplace", "global-gaussian")
"""Mechanisms that are private only up to a delta."""

SUPPORT_CHECKED = ("smooth-laplace", "smooth-cauchy")
"""Mechanisms whose published form checks the support at each rule."""

TOTAL_SHARE = Fraction(1, 20)
"""Share of epsilon for the noisy number of records, where a mechanism needs it: its noise is that of one count."""

COUNTS_SHARE = Fraction(1, 4)
"""Share for the class counts, where none is asked for, of what the thresholds leave of epsilon.

Chosen on Adult and COMPAS (docs/explanation/benchmarks.md); public and fixed: no guarantee rests on it."""

LEAST_LEFT = Fraction(1, 1000)
"""Least share of epsilon for the choices of the rules: with less they are drawn by chance."""

SMALLEST = Fraction(1, 10**6)
"""Least epsilon for one record, far below any use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyWish:
    """The parameters of a greedy estimator that its plan follows from, as they were passed; the length is checked."""

    mechanism: object
    accounting: object
    epsilon: object
    delta: object
    max_rules: int
    min_support: object
    confidence: object
    leaf_counts_share: object
    quantile_share: object


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyPlan:
    """What a fit does and what each part of it may spend."""

    mechanism: str  # One of :data:`MECHANISMS`
    published: bool  # Whether the accounting is the paper's
    length: int  # Largest number of rules besides the default rule, K
    support: Fraction  # Minimum support as a share of the records
    confidence: float  # The paper's C, with which its support check holds
    total: Fraction  # Epsilon of the fit, divided by the most records of the unit. Its parts are for one record.
    delta: Fraction | None  # Delta of the fit; None where the published default 1 / n^2 is to be taken
    # literals, counts, records: parts of epsilon for private thresholds, for the class counts of the rules, and for the
    # number of records.
    literals: Fraction
    counts: Fraction
    records: Fraction
    steps: tuple[Fraction, ...]  # Part of epsilon for the choice of each rule, one per rule
    unit: PrivacyUnit = RECORD  # Whose data epsilon and delta cover: one record, or one person with so many records

    @classmethod
    def of(cls, wish: GreedyWish, *, with_literals: bool, unit: PrivacyUnit = RECORD) -> GreedyPlan:
        """Return the plan that the parameters of an estimator ask for."""
        name = _mechanism(wish.mechanism, wish.accounting)
        support = decimal(check_number(wish.min_support, "min_support", low=0.0, high=0.5), "min_support")
        # With certainty the threshold of the paper would be infinite.
        sure = check_number(wish.confidence, "confidence", low=0.5, high=1 - 1e-12)
        share = decimal(check_number(wish.quantile_share, "quantile_share", low=0.0, high=1.0, low_open=True), "share")
        published = wish.accounting == "published"
        if unit.is_person and published:
            raise InvalidParameterError(
                f"{parameter('records_per_person=')}{unit.most_records} needs {parameter('accounting', 'strict')}: "
                "the published forms have no "
                "guarantee for persons."
            )
        total = _epsilon(wish.epsilon, unit.most_records)
        lost = _delta(wish.delta, name, published)
        literals = total * share if with_literals else Fraction(0)
        counts = total * _counts_share(wish.leaf_counts_share, published, float(share) if with_literals else 0.0)
        records = total * TOTAL_SHARE if name == "smooth-laplace" and not published else Fraction(0)
        left = total - literals - counts - records
        _check_parts(total, left, literals, None if published else counts)
        return cls(
            mechanism=name,
            published=published,
            length=wish.max_rules,
            support=support,
            confidence=sure,
            total=total,
            delta=lost,
            literals=literals,
            counts=counts,
            records=records,
            steps=() if published else (left / wish.max_rules,) * wish.max_rules,
            unit=unit,
        )

    @property
    def epsilon(self) -> Fraction:
        """Epsilon that the fit claims."""
        return self.total * self.unit.most_records

    @property
    def account(self) -> FitAccount:
        """What the fit may spend."""
        return FitAccount(total=self.epsilon, delta=self.delta or Fraction(0), unit=self.unit)

    @property
    def rules_share(self) -> Fraction:
        """The share of epsilon for the rules and their counts: what the thresholds leave."""
        return 1 - self.literals / self.total

    @property
    def needs_delta(self) -> bool:
        """Whether the mechanism is private only up to a delta."""
        return self.mechanism in WITH_DELTA

    @property
    def checks_support(self) -> bool:
        """Whether the published form of the mechanism checks the support at each rule."""
        return self.mechanism in SUPPORT_CHECKED


def _mechanism(mechanism: object, accounting: object) -> str:
    """Return the mechanism, if the accounting applies to it."""
    chosen = check_choice(mechanism, "mechanism", MECHANISMS, remedy="Without privacy use GreedyRuleListClassifier.")
    check_choice(accounting, "accounting", ACCOUNTINGS)
    if mechanism == "counted-gini" and accounting == "published":
        raise InvalidParameterError(
            f"{parameter('accounting', 'published')} does not apply to {parameter('mechanism', 'counted-gini')}, "
            "which the paper does not have.",
            remedy=f"Use {parameter('accounting', 'strict')}.",
        )
    return chosen


def _epsilon(epsilon: object, records: int) -> Fraction:
    total = decimal(check_number(epsilon, "epsilon", low=0.0, high=LARGEST_EPSILON, low_open=True), "epsilon")
    if not total >= SMALLEST * records:
        raise InvalidParameterError(
            f"{parameter('epsilon=')}{float(total):g} is too small to be drawn at.",
            remedy=f"Use at least {1e-6 * records:g}.",
        )
    return total / records


def _delta(delta: object, mechanism: str, published: bool) -> Fraction | None:
    if mechanism not in WITH_DELTA:
        if delta is not None:
            raise InvalidParameterError(
                f"{parameter('delta=')}{delta!r} has no effect: {parameter('mechanism=')}{mechanism!r} is private "
                "without a delta.",
                remedy="Leave it out.",
            )
        return Fraction(0)
    if delta is None:
        if published:
            return None
        raise InvalidParameterError(
            f"{parameter('mechanism=')}{mechanism!r} needs {parameter('delta')}, a probability far below one over the "
            "number of records, such as "
            "1e-6; it must not be taken from the data. Or use 'counted-gini', which needs none."
        )
    return decimal(check_number(delta, "delta", low=1e-100, high=0.5), "delta")


def _counts_share(counts_share: object, published: bool, literals_share: float) -> Fraction:
    if published:
        if counts_share is not None:
            raise InvalidParameterError(
                f"{parameter('leaf_counts_share=')}{counts_share!r} has no effect: "
                f"{parameter('accounting', 'published')} splits epsilon as the paper "
                "does.",
                remedy="Leave it out.",
            )
        return Fraction(0)
    if counts_share is None:
        return COUNTS_SHARE * (1 - decimal(literals_share, "share"))
    share = decimal(check_number(counts_share, "leaf_counts_share", low=0.0, high=1.0, low_open=True), "share")
    if not share + decimal(literals_share, "share") < 1 - TOTAL_SHARE:
        raise InvalidParameterError(
            f"the shares of epsilon for thresholds ({literals_share:g}), for counts ({float(share):g}) and for the "
            f"number of records ({float(TOTAL_SHARE):g}) must leave some for the rules.",
            remedy="Lower one of them.",
        )
    return share


def _check_parts(total: Fraction, left: Fraction, literals: Fraction, counts: Fraction | None) -> None:
    """Refuse parts of epsilon with which a fit would end after it is paid for."""
    if not left >= total * LEAST_LEFT:
        raise InvalidParameterError(
            f"the shares of {parameter('epsilon=')}{float(total):g} for thresholds, counts and the number of records "
            "must leave at "
            f"least {float(LEAST_LEFT):g} of it for the rules.",
            remedy=f"Lower {parameter('quantile_share')} or {parameter('leaf_counts_share')}.",
        )
    for name, part in (("quantile_share", literals or None), ("leaf_counts_share", counts)):
        if part is not None and not part * LARGEST_SCALE >= 1:
            raise InvalidParameterError(
                f"{name} leaves epsilon {float(part):g}, which means noise beyond any count.",
                remedy="Give a larger share.",
            )
