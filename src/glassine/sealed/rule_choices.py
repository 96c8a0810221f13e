"""Greedy rule lists: each rule chosen by one of seven private mechanisms; see ``learners/greedy/private_lists.md``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np

from glassine.data.slices import Progress
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
from glassine.privacy.randomness import Randomness
from glassine.privacy.sensitivity import COUNTED_LOSS, gini_spread, smooth_gini
from glassine.records.arrays import Ints
from glassine.records.bits import BitSets
from glassine.sealed import draws
from glassine.sealed.accounts import Allowance
from glassine.sealed.gini import COUNTED_GRID, GRID, counted_levels, impurity_levels, loss_levels
from glassine.sealed.lists import DrawnList
from glassine.sealed.noisy_choice import (
    GAUSSIAN_SLACK,
    SMOOTH_SLACK,
    cauchy_calibration,
    gaussian_calibration,
    spent_on_gaussian,
)
from glassine.sealed.queries import Query
from glassine.sealed.remaining import Remaining
from glassine.sealed.satisfied import Antecedent, most_satisfied

LOOKAHEAD = 256
"""Largest pool of which counted-gini looks one rule ahead; the time grows with the square of the pool."""

WHOLE, DISCOUNT, LEAST_WEIGHT = 100, 3, 85
"""Weight of what is settled; what that of the rest is lowered by for each further rule; the least it can be.

Chosen on Adult and COMPAS (docs/explanation/benchmarks.md). The sensitivity holds for weights up to ``WHOLE``."""

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


class Grown(NamedTuple):
    """A drawn list with the noisy class counts of its rules, the default rule last; shape (k + 1, c)."""

    drawn: DrawnList
    counts: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChoices(Query[Grown]):
    """A rule list, chosen rule by rule, and the class counts of what each rule captures.

    The events state as many choices as there are parts of epsilon for them, however early a released answer ends the
    list.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy for adding or removing one record, with the sum of the parts and ``delta``;
    delta is 0 for all mechanisms but smooth-laplace and global-gaussian. See ``learners/greedy/private_lists.md``.
    """

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

    def events(self, part: Allowance) -> tuple[Event, ...]:
        """Return what every fit spends, for all records and outcomes."""
        if not self.records + sum(self.steps) + self.counts <= part.per_record:
            raise RuntimeError("the rules ask for more than their part")
        return _events(_Growing(self, part, _nothing(self.n_classes), None))

    def draw(self, records: Any, part: Allowance, randomness: Randomness, progress: Progress | None) -> Grown:
        """Choose the rules in turn, each given what was released before it."""
        remaining = Remaining.of(records, self.pool.antecedents)
        return _grow(_Growing(self, part, remaining, randomness), progress)

    def exact(self, records: Any) -> Ints:
        """Return the class counts of all rules, and of all records, shape (p + 1, c): what each choice follows from."""
        remaining = Remaining.of(records, self.pool.antecedents)
        return np.concatenate([remaining.counts(range(len(self.pool.antecedents))), remaining.totals()[None, :]])

    def load(self) -> None:
        """Load the kernels of counting."""
        Remaining.load(self.n_classes)


def _nothing(n_classes: int) -> Remaining:
    """Return no records and no rules, for the events."""
    none = np.zeros(0, dtype=np.int64)
    bitsets = BitSets.pack([], none, n_classes)
    return Remaining(bitsets=bitsets, rows=none, starts=np.zeros(1, dtype=np.int64), words=bitsets.valid)


class _Growing:
    """The state of one private growth: what was released so far, and nothing of the records but through releases."""

    def __init__(self, plan: RuleChoices, part: Allowance, remaining: Remaining, randomness: Randomness | None) -> None:
        self.plan = plan
        self.part = part
        self.pool = plan.pool
        self.remaining = remaining
        self.stream = randomness
        self.n_classes = plan.n_classes
        self.records = part.unit.most_records
        self.candidates = plan.candidates or len(plan.pool.antecedents) + 1
        self.scale = plan.scale
        self.l1 = plan.l1 if plan.mechanism == "noisy-counts" else 0
        self.chosen: list[int] = []
        self.noisy: list[Ints] = []
        self.size = 0
        self.least = Fraction(0)

    @property
    def randomness(self) -> Randomness:
        """The stream of a draw; there is none for the events."""
        if self.stream is None:
            raise RuntimeError("nothing is drawn for the events")
        return self.stream

    @property
    def lost(self) -> float:
        """The delta of one choice, a little below its part, so that rounding and slack fit in."""
        # A millionth is far more than doubles lose, and no loss of accuracy.
        return float(self.part.delta / self.plan.length) * (1 - 1e-6)

    def share(self, epsilon: Fraction) -> float:
        """Return the share of the fit's epsilon that a part for one record is."""
        return float(epsilon * self.records / self.part.total)

    def release_counts(self, counts: Ints) -> None:
        """Release the class counts of what the latest rule captured; all rules together are one histogram."""
        self.noisy.append(draws.laplace(counts, 1 / self.plan.counts, self.randomness))
        self.size -= int(self.noisy[-1].sum())

    def release_size(self) -> None:
        """Release the number of records, from which the minimum support follows."""
        self.size = int(draws.laplace(self.remaining.totals().sum()[None], 1 / self.plan.records, self.randomness)[0])
        self.least = self.plan.support * max(self.size, 0)

    def bound(self) -> int:
        """Return a number that the remaining records reach, on either neighbor, unless the noise passes a threshold."""
        step = len(self.chosen)
        # Below the threshold the noise leaves one record between the bound and the number: a person may have m.
        return max(1, self.size - self.threshold(step) - (self.records - 1))

    def threshold(self, step: int) -> int:
        """Return what is subtracted from the noisy number of remaining records after so many rules."""
        return least_threshold(self.lost, self._terms(step))

    def _terms(self, step: int) -> tuple[tuple[float, int], tuple[float, int]]:
        return (float_above(1 / self.plan.records), 1), (self.scale, step * self.n_classes)


Choose = Callable[[_Growing, Sequence[int], Fraction], int | None]
"""From the state, the rules that may follow, and epsilon, to one of these by its place; None or -1 end the list."""


def _with_none(captured: Ints) -> Ints:
    """Put the split that captures nothing before all others: no rule."""
    return np.concatenate([np.zeros((1, captured.shape[1]), dtype=np.int64), captured])


def _impurities(state: _Growing, rules: Sequence[int], grid: int = GRID) -> list[int]:
    """Return the weighted impurities without a rule and with each."""
    return impurity_levels(_with_none(state.remaining.counts(rules)), state.remaining.totals(), grid)


def _reach(spread: Fraction, grid: int) -> int:
    """Return how far apart the changes of scores rounded down to a grid can lie, in its steps."""
    return math.ceil(spread * grid) + 1


def _counted(state: _Growing, rules: Sequence[int], epsilon: Fraction) -> int | None:
    to_come = state.plan.length - len(state.chosen) - 1
    ahead = to_come > 0 and len(state.pool.antecedents) <= LOOKAHEAD
    scores = [-score for score in list_losses(state.remaining, rules, to_come, ahead=ahead)]
    most = COUNTED_LOSS * COUNTED_GRID * WHOLE
    return draws.permute_and_flip(scores, epsilon, most, True, randomness=state.randomness)


def list_losses(remaining: Remaining, rules: Sequence[int], to_come: int, *, ahead: bool) -> list[int]:
    """Return for each rule the least loss of the remaining records after it, in steps of 1 / (100 * 2^20)."""
    # The loss of a part of the records is its errors plus its counted impurity. With ahead the least is over all second
    # rules; otherwise there is none. What is left at last counts a little less for each further rule to come, which
    # will divide it: of a rule and its negation, which split the records in the same way, that one is then preferred
    # that settles its records.
    totals, captured = remaining.totals(), remaining.counts(rules)
    own, left = WHOLE * loss_levels(captured), totals - captured
    weight = max(LEAST_WEIGHT, WHOLE - DISCOUNT * (to_come - ahead))
    if not ahead:
        return [int(loss) for loss in own + weight * loss_levels(left)]
    second = captured[None, :, :] - remaining.joint_counts(rules)
    after = WHOLE * loss_levels(second) + weight * loss_levels(left[:, None, :] - second)
    return [int(loss) for loss in own + after.min(axis=1)]


def _smooth_laplace(state: _Growing, rules: Sequence[int], epsilon: Fraction) -> int | None:
    if state.size < state.least:
        return None
    scores = [-level for level in _impurities(state, rules)]
    reach = _reach(gini_spread(state.bound(), state.n_classes), GRID)
    return draws.permute_and_flip(scores, epsilon, reach, True, randomness=state.randomness) - 1


def _smooth_cauchy(state: _Growing, rules: Sequence[int], epsilon: Fraction) -> int | None:
    levels = _impurities(state, rules)
    smoothness, ratio = cauchy_calibration(float(epsilon), state.candidates)
    bound = smooth_gini(int(state.remaining.totals().sum()), smoothness)
    return draws.smooth_cauchy_min(levels, bound, ratio, GRID, state.randomness) - 1


def _half(state: _Growing) -> Fraction:
    """Return the spread of the scores over all datasets: 1/2."""
    return gini_spread(1, state.n_classes)


def _global_pure(how: str, state: _Growing, rules: Sequence[int], epsilon: Fraction) -> int | None:
    scores = [-level for level in _impurities(state, rules)]
    reach = _reach(_half(state), GRID)
    select = draws.permute_and_flip if how == "permute-and-flip" else draws.exponential_mechanism
    return select(scores, epsilon, reach, True, randomness=state.randomness) - 1


def _global_gaussian(state: _Growing, rules: Sequence[int], epsilon: Fraction) -> int | None:
    sigma, grid, _ = _gaussian(state, epsilon)
    return draws.gaussian_min(_impurities(state, rules, grid), sigma, grid, state.randomness) - 1


def _gaussian(state: _Growing, epsilon: Fraction) -> tuple[float, int, float]:
    """Return noise, grid and spread for all records of the unit at once, as its delta grows faster than their number.

    The sum of the epsilons and the spread of their scores are those of one record times their number.
    """
    together = float(epsilon * state.records)
    return gaussian_calibration(together, state.lost, state.candidates, _half(state) * state.records)


def _noisy_counts(state: _Growing, rules: Sequence[int], epsilon: Fraction) -> int | None:
    scale = state.l1 / epsilon
    noisy = np.maximum(draws.laplace(state.remaining.counts(rules), scale, state.randomness), 0)
    whole = np.maximum(draws.laplace(state.remaining.totals(), scale, state.randomness), 0)
    noisy = np.minimum(_with_none(noisy), whole)
    levels = counted_levels(noisy, whole)
    return levels.index(min(levels)) - 1


_CHOICES: dict[str, Choose] = {
    "counted-gini": _counted,
    "smooth-laplace": _smooth_laplace,
    "smooth-cauchy": _smooth_cauchy,
    "global-laplace": lambda *choice: _global_pure("permute-and-flip", *choice),
    "global-gaussian": _global_gaussian,
    "global-exponential": lambda *choice: _global_pure("exponential mechanism", *choice),
    "noisy-counts": _noisy_counts,
}


def _grow(state: _Growing, progress: Progress | None) -> Grown:
    plan, remaining = state.plan, state.remaining
    choose = _CHOICES[plan.mechanism]
    if plan.records:
        state.release_size()
    for epsilon in plan.steps:
        rules = plan.pool.admissible(state.chosen)
        if not rules:
            break
        rule = choose(state, rules, epsilon)
        if progress is not None:
            progress(len(state.chosen) + 1, plan.length)
        if rule is None or rule < 0:
            break
        state.chosen.append(rules[rule])
        state.release_counts(remaining.take(rules[rule]))
    state.release_counts(remaining.totals())
    # All that is published of the rules follows from the noisy counts.
    labels = [int(np.argmax(row)) for row in state.noisy]
    drawn = DrawnList(tuple(zip(state.chosen, labels, strict=False)), labels[-1])
    return Grown(drawn, np.maximum(np.array(state.noisy), 0))


def _events(state: _Growing) -> tuple[Event, ...]:
    plan = state.plan
    events: list[Event] = []
    if plan.records:
        events.append(
            DiscreteLaplaceNoise(
                name="number of records",
                l1_sensitivity=1.0,
                scale=float_above(1 / plan.records),
                share=state.share(plan.records),
                proof=PROOF,
            )
        )
    if len(state.pool.antecedents):
        for epsilon in dict.fromkeys(plan.steps):
            events.append(_choice_event(state, epsilon, plan.steps.count(epsilon)))
        if plan.mechanism == "smooth-laplace":
            events += [_bound_event(state, step) for step in range(plan.length)]
    events.append(
        DiscreteLaplaceNoise(
            name="class counts of the rules",
            l1_sensitivity=1.0,
            scale=state.scale,
            share=state.share(plan.counts),
            proof="learners/publishing.md",
        )
    )
    return tuple(events)


def _bound_event(state: _Growing, step: int) -> Event:
    (scale, _), (other, others) = state._terms(step)
    return CountBound(
        name=f"records that remain before rule {step + 1}",
        scale=scale,
        other_scale=other,
        others=others,
        threshold=state.threshold(step),
        proof=PROOF,
    )


def _choice_event(state: _Growing, epsilon: Fraction, number: int) -> Event:
    plan = state.plan
    below = float(epsilon)
    said: dict[str, Any] = {
        "name": f"choice of {number} rules" if number > 1 else "choice of a rule",
        "count": number,
        "share": state.share(epsilon * number),
        "proof": PROOF,
    }
    if plan.mechanism == "global-exponential":
        return Selection(inverse_temperature=2 * below, sensitivity=0.5, monotone=True, **said)
    if plan.mechanism == "noisy-counts":
        return DiscreteLaplaceNoise(
            l1_sensitivity=float(state.l1),
            scale=float_above(state.l1 / epsilon),
            **said | {"name": "class counts of all rules of the pool, for each rule of the list"},
        )
    if plan.mechanism == "smooth-cauchy":
        smoothness, ratio = cauchy_calibration(below, state.candidates)
        return SmoothCauchyMax(
            candidates=state.candidates,
            smoothness=smoothness,
            ratio=ratio,
            slack=state.candidates * SMOOTH_SLACK,
            **said,
        )
    if plan.mechanism == "global-gaussian":
        sigma, _, reach = _gaussian(state, epsilon)
        together = below * state.records
        return GaussianMax(
            epsilon=spent_on_gaussian(together),
            candidates=state.candidates,
            spread=reach / state.records,
            sigma=sigma,
            slack=min(GAUSSIAN_SLACK, together / 2),
            **said,
        )
    # In units in which the changes of the scores lie within an interval of length 1.
    sensitivity = float(COUNTED_LOSS) if plan.mechanism == "counted-gini" else 1.0
    return NoisyMax(inverse_temperature=below / sensitivity, sensitivity=sensitivity, monotone=True, **said)
