"""Greedy rule lists: each rule chosen by one of seven private mechanisms; see ``learners/greedy/private_lists.md``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from glassine.compiling.slices import Progress
from glassine.privacy.accounting import Event
from glassine.privacy.randomness import Randomness
from glassine.privacy.sensitivity import COUNTED_LOSS, gini_spread, smooth_gini
from glassine.records.arrays import Ints
from glassine.sealed import draws
from glassine.sealed.accounts import Allowance
from glassine.sealed.gini import COUNTED_GRID, GRID, counted_levels, impurity_levels, loss_levels
from glassine.sealed.growth_price import GrowthPlan, GrowthPrice
from glassine.sealed.list_family import DrawnList
from glassine.sealed.noisy_choice import cauchy_calibration
from glassine.sealed.questions import Query
from glassine.sealed.remaining import Remaining

LOOKAHEAD = 256
"""Largest pool of which counted-gini looks one rule ahead; the time grows with the square of the pool."""

WHOLE, DISCOUNT, LEAST_WEIGHT = 100, 3, 85
"""Weight of what is settled; what that of the rest is lowered by for each further rule; the least it can be.

Chosen on Adult and COMPAS (docs/explanation/benchmarks.md). The sensitivity holds for weights up to ``WHOLE``."""


class Grown(NamedTuple):
    """A drawn list with the noisy class counts of its rules, the default rule last; shape (k + 1, c)."""

    drawn: DrawnList
    counts: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChoices(GrowthPlan, Query[Grown]):
    """A rule list, chosen rule by rule, and the class counts of what each rule captures.

    The events state as many choices as there are parts of epsilon for them, however early a released answer ends the
    list.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy for adding or removing one record, with the sum of the parts and ``delta``;
    delta is 0 for all mechanisms but smooth-laplace and global-gaussian. See ``learners/greedy/private_lists.md``.
    """

    def events(self, part: Allowance) -> tuple[Event, ...]:
        """Return what every fit spends, for all records and outcomes."""
        if not self.records + sum(self.steps) + self.counts <= part.per_record:
            raise RuntimeError("the rules ask for more than their part")
        return GrowthPrice(self, part).events()

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


class _Growing(GrowthPrice):
    """The state of one private growth: what was released so far, and nothing of the records but through releases."""

    def __init__(self, plan: GrowthPlan, part: Allowance, remaining: Remaining, randomness: Randomness) -> None:
        super().__init__(plan, part)
        self.remaining = remaining
        self.randomness = randomness
        self.chosen: list[int] = []
        self.noisy: list[Ints] = []
        self.size = 0
        self.least = Fraction(0)

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


def _half(n_classes: int) -> Fraction:
    """Return the spread of the scores over all datasets: 1/2."""
    return gini_spread(1, n_classes)


def _global_pure(how: str, state: _Growing, rules: Sequence[int], epsilon: Fraction) -> int | None:
    scores = [-level for level in _impurities(state, rules)]
    reach = _reach(_half(state.n_classes), GRID)
    select = draws.permute_and_flip if how == "permute-and-flip" else draws.exponential_mechanism
    return select(scores, epsilon, reach, True, randomness=state.randomness) - 1


def _global_gaussian(state: _Growing, rules: Sequence[int], epsilon: Fraction) -> int | None:
    sigma, grid, _ = state.gaussian(epsilon)
    return draws.gaussian_min(_impurities(state, rules, grid), sigma, grid, state.randomness) - 1


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
