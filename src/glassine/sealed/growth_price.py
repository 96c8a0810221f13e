"""What a greedy rule list costs: noise, thresholds and events, from what is public alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from glassine.domain import Domain
from glassine.privacy.accounting import (
    CountBound,
    DiscreteLaplaceNoise,
    Event,
    GaussianMax,
    NoisyMax,
    Selection,
    SmoothCauchyMax,
)
from glassine.privacy.conversions import least_threshold
from glassine.privacy.exact import float_above
from glassine.privacy.sensitivity import COUNTED_LOSS, gini_spread
from glassine.sealed.accounts import Allowance
from glassine.sealed.noisy_choice import (
    GAUSSIAN_SLACK,
    SMOOTH_SLACK,
    cauchy_calibration,
    gaussian_calibration,
    spent_on_gaussian,
)
from glassine.sealed.satisfied import Antecedent, most_satisfied

PROOF = "learners/greedy/private_lists.md"


class Pool(Protocol):
    """Public rules."""

    @property
    def domain(self) -> Domain:
        """The public domain of the attributes."""
        ...

    @property
    def antecedents(self) -> tuple[Antecedent, ...]:
        """The rules in order."""
        ...

    def admissible(self, chosen: Sequence[int]) -> list[int]:
        """Return the rules that may follow some others, from what is public."""
        ...


def counts_sensitivity(pool: Pool) -> int:
    """Return the l1 sensitivity of the class counts of all rules of a pool, and of all records."""
    # It counts what any record can satisfy, also one that the domain's groups exclude.
    return most_satisfied(pool.domain, pool.antecedents) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPlan:
    """The rules that may be chosen, how, and the parts of epsilon that each step costs. Public, or released."""

    mechanism: str  # How a rule is chosen
    pool: Pool  # Public or released rules
    n_classes: int
    support: Fraction  # Least share of the records that remain, of smooth-laplace
    # records, steps, counts: parts of epsilon for one record: for the number of records, the choice of each rule, and
    # the class counts.
    records: Fraction
    steps: tuple[Fraction, ...]
    counts: Fraction
    candidates: int | None = None  # Number of choices of each rule, where the pool is not the largest that may come

    @property
    def length(self) -> int:
        """Largest number of rules besides the default rule."""
        return len(self.steps)

    @property
    def scale(self) -> float:
        """Scale of the noise on the class counts, in records."""
        return float_above(1 / self.counts)

    @property
    def l1(self) -> int:
        """Sensitivity of the class counts of all rules of the pool, and of all records."""
        return counts_sensitivity(self.pool)


class GrowthPrice:
    """What the steps of a growth cost: the events are the same for all records and outcomes."""

    def __init__(self, plan: GrowthPlan, part: Allowance) -> None:
        self.plan = plan
        self.part = part
        self.pool = plan.pool
        self.n_classes = plan.n_classes
        self.records = part.unit.most_records
        self.candidates = plan.candidates or len(plan.pool.antecedents) + 1
        self.scale = plan.scale
        self.l1 = plan.l1 if plan.mechanism == "noisy-counts" else 0

    @property
    def lost(self) -> float:
        """The delta of one choice, a little below its part, so that rounding and slack fit in."""
        # A millionth is far more than doubles lose, and no loss of accuracy.
        return float(self.part.delta / self.plan.length) * (1 - 1e-6)

    def share(self, epsilon: Fraction) -> float:
        """Return the share of the fit's epsilon that a part for one record is."""
        return float(epsilon * self.records / self.part.total)

    def threshold(self, step: int) -> int:
        """Return what is subtracted from the noisy number of remaining records after so many rules."""
        return least_threshold(self.lost, self._terms(step))

    def _terms(self, step: int) -> tuple[tuple[float, int], tuple[float, int]]:
        return (float_above(1 / self.plan.records), 1), (self.scale, step * self.n_classes)

    def gaussian(self, epsilon: Fraction) -> tuple[float, int, float]:
        """Return noise, grid and spread for all records of the unit at once.

        Delta grows faster than their number.
        The sum of the epsilons and the spread of their scores are those of one record times their number.
        """
        together = float(epsilon * self.records)
        return gaussian_calibration(together, self.lost, self.candidates, gini_spread(1, self.n_classes) * self.records)

    def events(self) -> tuple[Event, ...]:
        """Return what every fit spends."""
        plan = self.plan
        events: list[Event] = []
        if plan.records:
            events.append(
                DiscreteLaplaceNoise(
                    name="number of records",
                    l1_sensitivity=1.0,
                    scale=float_above(1 / plan.records),
                    share=self.share(plan.records),
                    proof=PROOF,
                )
            )
        if len(self.pool.antecedents):
            for epsilon in dict.fromkeys(plan.steps):
                events.append(self._choice_event(epsilon, plan.steps.count(epsilon)))
            if plan.mechanism == "smooth-laplace":
                events += [self._bound_event(step) for step in range(plan.length)]
        events.append(
            DiscreteLaplaceNoise(
                name="class counts of the rules",
                l1_sensitivity=1.0,
                scale=self.scale,
                share=self.share(plan.counts),
                proof="learners/publishing.md",
            )
        )
        return tuple(events)

    def _bound_event(self, step: int) -> Event:
        (scale, _), (other, others) = self._terms(step)
        return CountBound(
            name=f"records that remain before rule {step + 1}",
            scale=scale,
            other_scale=other,
            others=others,
            threshold=self.threshold(step),
            proof=PROOF,
        )

    def _choice_event(self, epsilon: Fraction, number: int) -> Event:
        plan = self.plan
        below = float(epsilon)
        said: dict[str, Any] = {
            "name": f"choice of {number} rules" if number > 1 else "choice of a rule",
            "count": number,
            "share": self.share(epsilon * number),
            "proof": PROOF,
        }
        if plan.mechanism == "global-exponential":
            return Selection(inverse_temperature=2 * below, sensitivity=0.5, monotone=True, **said)
        if plan.mechanism == "noisy-counts":
            return DiscreteLaplaceNoise(
                l1_sensitivity=float(self.l1),
                scale=float_above(self.l1 / epsilon),
                **said | {"name": "class counts of all rules of the pool, for each rule of the list"},
            )
        if plan.mechanism == "smooth-cauchy":
            smoothness, ratio = cauchy_calibration(below, self.candidates)
            return SmoothCauchyMax(
                candidates=self.candidates,
                smoothness=smoothness,
                ratio=ratio,
                slack=self.candidates * SMOOTH_SLACK,
                **said,
            )
        if plan.mechanism == "global-gaussian":
            sigma, _, reach = self.gaussian(epsilon)
            together = below * self.records
            return GaussianMax(
                epsilon=spent_on_gaussian(together),
                candidates=self.candidates,
                spread=reach / self.records,
                sigma=sigma,
                slack=min(GAUSSIAN_SLACK, together / 2),
                **said,
            )
        # In units in which the changes of the scores lie within an interval of length 1.
        sensitivity = float(COUNTED_LOSS) if plan.mechanism == "counted-gini" else 1.0
        return NoisyMax(inverse_temperature=below / sensitivity, sensitivity=sensitivity, monotone=True, **said)
