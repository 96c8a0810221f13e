"""Growing a rule list as the rule-list paper prints it: Algorithms 1 to 3 and their variants, for comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from glassine.compiling.slices import Progress
from glassine.learners.greedy.greedy_plan import GreedyPlan
from glassine.learners.greedy.growth import GreedyPool, ListGrowth
from glassine.learners.intake import Intake
from glassine.privacy.accounting import Event, Stated
from glassine.privacy.events import UNPROVED
from glassine.privacy.exact import float_above
from glassine.privacy.mechanisms import cauchy, discrete_laplace, gaussian, laplace
from glassine.privacy.randomness import Randomness
from glassine.privacy.sensitivity import published_smooth_gini
from glassine.records.arrays import Array, Ints
from glassine.sealed.gini import weighted_impurities
from glassine.sealed.list_family import DrawnList
from glassine.sealed.noisy_choice import draw
from glassine.sealed.remaining import Remaining

AS_PUBLISHED = "as published; see errata: the guarantee does not hold as stated"

GAMMA = 2.0
"""The exponent of the paper's Cauchy noise."""

GLOBAL = 0.5
"""The paper's global sensitivity of the Gini impurity."""

GRANULARITY = 2.0**-60
"""Grid of the Cauchy noise: finer than the rounding of an impurity, a double in [0, 1]."""


ADDITIONS_ONLY = "the local sensitivity covers additions only: removing a record moves the impurity by up to g(n - 1)"
CONFIDENCE = "the minimum support holds with the stated confidence only, and the rest is not in delta"
DILATION = "a noisy choice under smooth sensitivity is charged as one query, without a proof for the noise of all rules"
OVERRUN = "the loop can add K rules, which is more releases than epsilon / (3 K - 1) pays for"
SIZE = "the minimum support and the default delta are taken from the number of records"
MAX_GAUSSIAN = (
    "the noisy choice under Gaussian noise is charged as one query, calibrated by a formula for epsilon below 1"
)
DELTA_OVERRUN = "the loop can choose K rules, each with delta / (K - 1)"
GLOBAL_OVERRUN = "the loop can add K rules, which is more releases than epsilon / (2 K - 1) pays for"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleGrant:
    """What the paper grants one rule, from the whole budget and K."""

    # epsilon, delta: budget of one operation.
    epsilon: float
    delta: float
    beta: float  # Smoothness of the smooth sensitivity, where there is one
    least: int  # Minimum support Lambda, in records
    threshold: int  # The confidence threshold, which is added to it

    @classmethod
    def of(cls, plan: GreedyPlan, n_records: int) -> RuleGrant:
        """Return the split of a published plan: 3 K - 1 operations with a support check, 2 K - 1 without."""
        operations = (3 if plan.checks_support else 2) * plan.length - 1
        epsilon = float((plan.total - plan.literals) / operations)
        delta = _share(whole_delta(plan, n_records), max(1, plan.length - 1))
        smooth_laplace = plan.mechanism == "smooth-laplace"
        return cls(
            epsilon=epsilon,
            delta=delta,
            beta=epsilon / (2 * math.log(2 / delta)) if smooth_laplace else epsilon / (2 * (GAMMA + 1)),
            least=int(plan.support * n_records),
            threshold=confidence_threshold(plan.confidence, epsilon),
        )


def whole_delta(plan: GreedyPlan, n_records: int) -> float:
    """Return the delta of a published fit; its default is 1 / n^2."""
    if not plan.needs_delta:
        return 0.0
    return float(plan.delta) if plan.delta is not None else 1 / max(2, n_records) ** 2


def _share(whole: float, parts: int) -> float:
    """Return an equal part of a delta, rounded down so that all parts together are not above it."""
    part = whole / parts
    while Fraction(part) * parts > Fraction(whole) or part * parts > whole:
        part = math.nextafter(part, 0.0)
    return part


def confidence_threshold(confidence: float, epsilon: float) -> int:
    """Return the paper's Algorithm 3: floor(-(ln 2 + ln(1 - C)) / epsilon) + 1.

    The running text has -ln 2 + ln(1 - C), which is negative, and the example 6.733 for epsilon 0.1 and C = 0.98,
    which follows from neither.

    Examples
    --------
    >>> confidence_threshold(0.98, 0.1)
    33
    """
    return math.floor(-(math.log(2) + math.log1p(-confidence)) / epsilon) + 1


def defects(plan: GreedyPlan, *, default_delta: bool) -> tuple[str, ...]:
    """Return what is wrong with the published guarantee of a mechanism."""
    names: list[str] = []
    if plan.checks_support:
        names += [ADDITIONS_ONLY, CONFIDENCE, DILATION, OVERRUN, SIZE]
    else:
        names += [GLOBAL_OVERRUN]
        if plan.mechanism == "global-gaussian":
            names += [MAX_GAUSSIAN, *([SIZE] if default_delta else [])]
    if plan.needs_delta:
        names.append(DELTA_OVERRUN)
    return tuple(names)


def grow_as_published(
    plan: GreedyPlan, pool: GreedyPool, intake: Intake, randomness: Randomness, progress: Progress | None = None
) -> tuple[ListGrowth, float, tuple[Event, ...]]:
    """Grow a list by Algorithm 1 and its variants; return it, the scale of its noise, and what it states.

    The variants under global sensitivity have no support check, and epsilon / (2 K - 1) for each of their two
    operations a rule: the paper says that the budget of that step is saved, and not how. Counts of records, in the
    support check and of the rules, carry discrete Laplace noise, as they are whole numbers; the paper's is continuous.

    Guarantee
    ---------
    none: see :func:`defects`.
    """
    remaining = Remaining.of(intake, pool.antecedents)
    n = int(remaining.totals().sum())
    node = RuleGrant.of(plan, n)
    scale = float_above(Fraction(1) / Fraction(node.epsilon))
    chosen: list[int] = []
    noisy: list[Ints] = []
    while len(chosen) < plan.length:
        totals = remaining.totals()
        if plan.checks_support:
            size = discrete_laplace(totals.sum()[None], scale, randomness)[0]
            if size < node.least + node.threshold:
                break
        rules = [i for i in range(len(pool.antecedents)) if i not in set(chosen)]
        if not rules:
            break
        rule = _choose(plan, node, remaining.counts(rules), totals, randomness)
        if progress is not None:
            progress(len(chosen) + 1, plan.length)
        if rule < 0:
            break
        chosen.append(rules[rule])
        noisy.append(discrete_laplace(remaining.take(rules[rule]), scale, randomness))
    noisy.append(discrete_laplace(remaining.totals(), scale, randomness))
    # Algorithm 2: of equal counts the last class is predicted.
    labels = [len(row) - 1 - int(np.argmax(row[::-1])) for row in noisy]
    drawn = DrawnList(tuple(zip(chosen, labels, strict=False)), labels[-1])
    return ListGrowth(drawn=drawn, counts=np.maximum(np.array(noisy), 0)), scale, stated_events(plan, node)


def _choose(plan: GreedyPlan, node: RuleGrant, captured: Ints, totals: Ints, randomness: Randomness) -> int:
    """Return the rule of least noisy impurity, or -1 where no rule at all has less."""
    if plan.mechanism == "noisy-counts":
        scale = 2 * len(captured) / node.epsilon
        return _noisy_counts(captured, totals, scale, randomness)
    # The bound of Line 7 is the impurity without a rule, with noise of its own.
    none = np.zeros((1, captured.shape[1]), dtype=np.int64)
    scores = weighted_impurities(np.concatenate([none, captured]), totals)
    if plan.mechanism == "global-exponential":
        return draw([Fraction(-score * node.epsilon / (2 * GLOBAL)) for score in scores], randomness) - 1
    return int(np.argmin(_noisy(plan, node, scores, int(totals.sum()), randomness))) - 1


def _noisy(plan: GreedyPlan, node: RuleGrant, scores: Array, n: int, randomness: Randomness) -> Array:
    if plan.mechanism == "global-laplace":
        return laplace(scores, GLOBAL / node.epsilon, randomness)
    if plan.mechanism == "global-gaussian":
        factor = math.sqrt(2 * math.log(1.25 / node.delta))
        return gaussian(scores, factor * GLOBAL / node.epsilon, randomness)
    smooth = published_smooth_gini(n, max(1, node.least), node.beta)
    if plan.mechanism == "smooth-laplace":
        return laplace(scores, 2 * smooth / node.epsilon, randomness)
    return cauchy(scores, 2 * (GAMMA + 1) * smooth / node.epsilon, randomness, granularity=GRANULARITY)


def _noisy_counts(captured: Ints, totals: Ints, scale: float, randomness: Randomness) -> int:
    """Return the rule of least impurity by noisy class counts of what each rule captures and leaves."""
    parts = [
        np.maximum(laplace(part.astype(np.float64), scale, randomness), 0.0)
        for part in (captured, totals[None, :] - captured)
    ]
    scores = _impurity(parts[0], parts[1])
    bound = _impurity(np.maximum(laplace(totals[None, :].astype(np.float64), scale, randomness), 0.0), parts[0][:1] * 0)
    best = int(np.argmin(scores))
    return best if scores[best] < bound[0] else -1


def _impurity(captured: Array, left: Array) -> Array:
    sizes = [part.sum(axis=1) for part in (captured, left)]
    counted = [
        size - (part * part).sum(axis=1) / np.where(size > 0, size, 1.0)
        for part, size in zip((captured, left), sizes, strict=True)
    ]
    whole = sizes[0] + sizes[1]
    return np.asarray((counted[0] + counted[1]) / np.where(whole > 0, whole, 1.0), dtype=np.float64)


def stated_events(plan: GreedyPlan, node: RuleGrant) -> tuple[Event, ...]:
    """Return the operations as the paper counts them; none of them rests on a proof."""
    # K nodes, the default rule's without a choice; one choice where K is 1, as otherwise there would be none.
    choices = max(1, plan.length - 1)
    paid = [("noisy choices of a rule, as the paper counts them", choices, node.epsilon, node.delta)]
    checks = plan.length if plan.checks_support else 0
    counts = (3 if plan.checks_support else 2) * plan.length - 1 - choices - checks
    if checks:
        paid.append(("support checks, as the paper counts them", checks, node.epsilon, 0.0))
    if counts:
        paid.append(("noisy counts, as the paper counts them", counts, node.epsilon, 0.0))
    return tuple(
        Stated(name=name, epsilon=epsilon, delta=delta, count=count, proof=UNPROVED)
        for name, count, epsilon, delta in paid
    )
