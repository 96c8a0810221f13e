"""From membership scores to a result: thresholds, intervals and the control."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import hypergeom

from glassine.attacks.membership.confidence_intervals import (
    Estimate,
    ScoreCounts,
    area_of_counts,
    clopper_pearson,
    newcombe,
)
from glassine.attacks.membership.result import BestThreshold, Control, MembershipResult, Shift, roc_of_counts
from glassine.records.arrays import Array, Bools, Indices

LOW_RATES = (0.01, 0.001)
N_FOLDS = 5
N_PERMUTATIONS = 199
CROSSFIT = (
    f"the threshold that is best on the other folds of {N_FOLDS}: no record takes part in choosing the threshold by "
    "which it is judged; the intervals are given these thresholds"
)

Scores = Array
Counts = Indices


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What every attack on the same records shares."""

    confidence: float  # Confidence of the intervals
    rng: np.random.Generator  # Source of splits and permutations
    shift: Shift | None  # Whether members and holdout differ without the model


def best_threshold(counts: ScoreCounts) -> BestThreshold:
    """Return the threshold of the largest balanced accuracy on these very scores; the highest of several.

    Examples
    --------
    >>> best = best_threshold(ScoreCounts.of(np.array([3.0, 2.0]), np.array([2.0, 1.0])))
    >>> best.threshold, best.balanced_accuracy
    (3.0, 0.75)
    """
    values = counts.scores[::-1]
    sides = counts.members, counts.nonmembers
    hit_rates, wrong = (1 - (np.cumsum(side) - side)[::-1] / side.sum() for side in sides)
    advantage = hit_rates - wrong
    top = int(advantage.argmax())
    # Calling no record a member has advantage 0.
    threshold = float(values[top]) if advantage[top] > 0 else math.inf
    gain = max(float(advantage[top]), 0.0)
    return BestThreshold(threshold=threshold, balanced_accuracy=(1 + gain) / 2, advantage=gain)


FEW = 16
"""Records for each score from which hands are drawn score by score, and not record by record."""


FEW_TOGETHER = 160
"""The same where all permutations are dealt at once, each score for all of them."""


def dealt(counts: Counts, sizes: Sequence[int], rng: np.random.Generator) -> Counts:
    """Deal all records into hands of given sizes at random, and return how many of each hand have each score.

    Shapes: ``counts`` (k,), whose sum is that of ``sizes`` (h,); the answer (h, k). Records with one score are equal,
    so that few scores need a hypergeometric number each, however many records there are.

    Examples
    --------
    >>> dealt(np.array([3, 0, 1]), [1, 3], np.random.default_rng(0)).sum(axis=0).tolist()
    [3, 0, 1]
    """
    hands = np.zeros((len(sizes), len(counts)), dtype=np.intp)
    if counts.sum() < FEW * len(counts):
        order = rng.permutation(np.repeat(np.arange(len(counts)), counts))
        for hand, part in zip(hands, np.split(order, np.cumsum(sizes)[:-1]), strict=True):
            hand += np.bincount(part, minlength=len(counts))
        return hands
    left = counts.copy()
    for hand, size in zip(hands[:-1], sizes, strict=False):
        hand += rng.multivariate_hypergeometric(left, size, method="marginals")
        left -= hand
    hands[-1] = left
    return hands


def crossfit(members: Counts, nonmembers: Counts, rng: np.random.Generator) -> tuple[float, float]:
    """Return the numbers of members and of non-members called members by cross-fitted thresholds."""
    sides = members, nonmembers
    totals = [int(side.sum()) for side in sides]
    folds = [
        dealt(side, [(n + i) // N_FOLDS for i in range(N_FOLDS)], rng) for side, n in zip(sides, totals, strict=True)
    ]
    calls = [0.0, 0.0]
    for fold in range(N_FOLDS):
        # Numbers of records of the other folds at or above each score.
        rest = [np.cumsum((side - hands[fold])[::-1])[::-1] for side, hands in zip(sides, folds, strict=True)]
        if not (rest[0][0] and rest[1][0]):
            continue
        advantage = rest[0] / rest[0][0] - rest[1] / rest[1][0]
        top = len(advantage) - 1 - int(advantage[::-1].argmax())
        if advantage[top] > 0:
            for i, hands in enumerate(folds):
                calls[i] += int(hands[fold, top:].sum())
    return calls[0], calls[1]


def judge_calls(
    attack: str,
    members: Bools,
    nonmembers: Bools,
    setting: Setting,
    *,
    decision: str,
    scores: tuple[Scores, Scores] | None = None,
    gap: Estimate | None = None,
) -> MembershipResult:
    """Return the result of an attack whose decisions were fixed before it saw these records' membership."""
    calls = int(members.sum()), int(nonmembers.sum())
    control = _exact_control(calls, len(members), len(nonmembers))
    counts = (
        ScoreCounts.of(members.astype(float), nonmembers.astype(float)) if scores is None else ScoreCounts.of(*scores)
    )
    result = _result(attack, counts, calls, setting, decision, control, gap)
    # Decisions without scores have no threshold that could be better in hindsight.
    return result if scores is not None else replace(result, best=None)


def judge_scores(
    attack: str,
    members: Scores,
    nonmembers: Scores,
    setting: Setting,
    *,
    gap: Estimate | None,
    notes: tuple[str, ...] = (),
) -> MembershipResult:
    """Return the result of an attack that scores each record without knowing its membership."""
    # The threshold is cross-fitted; the one that is best in hindsight is given beside it. The control repeats the
    # choice of thresholds on permuted membership.
    counts = ScoreCounts.of(members, nonmembers)
    calls = crossfit(counts.members, counts.nonmembers, setting.rng)
    advantage = calls[0] / len(members) - calls[1] / len(nonmembers)
    control = _permuted_control(advantage, counts, setting.rng)
    return _result(attack, counts, calls, setting, CROSSFIT, control, gap, notes)


def _result(
    attack: str,
    counts: ScoreCounts,
    calls: tuple[float, float],
    setting: Setting,
    decision: str,
    control: Control,
    gap: Estimate | None,
    notes: tuple[str, ...] = (),
) -> MembershipResult:
    m, n, confidence = int(counts.members.sum()), int(counts.nonmembers.sum()), setting.confidence
    advantage = newcombe(calls[0], m, calls[1], n, confidence)
    roc = roc_of_counts(counts)
    return MembershipResult(
        attack=attack,
        n_members=m,
        n_nonmembers=n,
        balanced_accuracy=advantage.scaled(0.5, 0.5),
        advantage=advantage,
        tpr=clopper_pearson(calls[0], m, confidence),
        fpr=clopper_pearson(calls[1], n, confidence),
        decision=decision,
        auc=area_of_counts(counts, confidence),
        roc=roc,
        low_rates=tuple(roc.low_rate(rate, confidence) for rate in LOW_RATES),
        best=best_threshold(counts),
        guess=0.5,
        gap=gap,
        control=control,
        shift=setting.shift,
        notes=notes,
    )


def _exact_control(calls: tuple[int, int], m: int, n: int) -> Control:
    """Return the control of fixed decisions: how many fall on members is hypergeometric under permutation."""
    total = sum(calls)
    law = hypergeom(m + n, total, m)
    high = int(law.ppf(0.95))
    return Control(
        advantage=0.0,
        advantage_high=high / m - (total - high) / n,
        p_value=float(min(1.0, law.sf(calls[0] - 1))),
        n_permutations=None,
        method="membership permuted, the decisions kept; counted exactly",
    )


def _permuted_control(advantage: float, counts: ScoreCounts, rng: np.random.Generator) -> Control:
    advantages = _permuted(counts, rng)
    reached = int((advantages >= advantage - 1e-12).sum())
    return Control(
        advantage=float(advantages.mean()),
        advantage_high=float(np.quantile(advantages, 0.95)),
        p_value=(1 + reached) / (1 + len(advantages)),
        n_permutations=len(advantages),
        method="membership permuted, the scores kept, the thresholds chosen again",
    )


def _permuted(counts: ScoreCounts, rng: np.random.Generator) -> Array:
    """Return the advantage under each of the permutations, shape (199,)."""
    both = counts.members + counts.nonmembers
    sizes = int(counts.members.sum()), int(counts.nonmembers.sum())
    if sum(sizes) < FEW_TOGETHER * len(both):
        mixed = (dealt(both, sizes, rng) for _ in range(N_PERMUTATIONS))
        calls = np.array([crossfit(hands[0], hands[1], rng) for hands in mixed])
    else:
        # Of few scores all permutations are dealt together.
        members = dealt_together(np.tile(both, (N_PERMUTATIONS, 1)), sizes[0], rng)
        calls = _crossfit_together((members, both - members), rng)
    return np.asarray(calls[:, 0] / sizes[0] - calls[:, 1] / sizes[1])


def dealt_together(counts: Counts, size: int, rng: np.random.Generator) -> Counts:
    """Draw so many records at random of each of several tables, and return how many have each score, both (r, k).

    Examples
    --------
    >>> dealt_together(np.array([[3, 0, 1], [0, 2, 2]]), 4, np.random.default_rng(0)).tolist()
    [[3, 0, 1], [0, 2, 2]]
    """
    hands, left = np.zeros_like(counts), np.full(len(counts), size)
    behind = counts.sum(axis=1)
    for j in range(counts.shape[1]):
        behind = behind - counts[:, j]
        hands[:, j] = rng.hypergeometric(counts[:, j], behind, left)
        left = left - hands[:, j]
    return hands


def _crossfit_together(sides: tuple[Counts, Counts], rng: np.random.Generator) -> Array:
    """Return the numbers of members and of non-members called members, as :func:`crossfit`, of each table, (r, 2)."""
    folds: list[list[Counts]] = []
    for side in sides:
        left, hands, n = side, list[Counts](), int(side[0].sum())
        for i in range(N_FOLDS - 1):
            hands.append(dealt_together(left, (n + i) // N_FOLDS, rng))
            left = left - hands[-1]
        folds.append([*hands, left])
    calls, every = np.zeros((len(sides[0]), 2)), np.arange(len(sides[0]))
    for fold in range(N_FOLDS):
        # Numbers of records of the other folds at or above each score.
        rest = [(side - hands[fold])[:, ::-1].cumsum(axis=1)[:, ::-1] for side, hands in zip(sides, folds, strict=True)]
        if not (rest[0][0, 0] and rest[1][0, 0]):
            continue
        advantage = rest[0] / rest[0][:, :1] - rest[1] / rest[1][:, :1]
        top = advantage.shape[1] - 1 - advantage[:, ::-1].argmax(axis=1)
        beaten = advantage[every, top] > 0
        for i, hands in enumerate(folds):
            called = hands[fold][:, ::-1].cumsum(axis=1)[:, ::-1][every, top]
            calls[:, i] += np.where(beaten, called, 0)
    return calls
