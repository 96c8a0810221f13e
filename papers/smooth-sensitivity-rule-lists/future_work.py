"""Judges of the length K, V-D, and of section VI's future work: composition, trees, and inverse sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence

from choosing import CHOICES, COUNTED, INVERSE, SMOOTH_CAUCHY
from drawing import OURS
from figure_4 import GLOBAL
from fitting import MAX_RULES, TRAINING_SHARE
from lengths import LENGTHS
from stored import NAMES, Evidence, figure, less
from study import Row
from trees import EPSILONS, EXACT

from papers.common.judging import AT_LEAST, EVERY, MEAN, Comparison, Judgement, estimated, exact

OPERATIONS = 3 * MAX_RULES - 1
"""Operations on the records for a list, as the paper counts them."""

NEGLIGIBLE = 0.01
"""Shares of epsilon below this are ties."""


def best_length(found: Evidence) -> Judgement:
    """Judge whether lists of up to five rules are the most accurate, over methods, datasets and budgets."""
    by_length = {length: [row for row in found.lengths if row["K"] == str(length)] for length in LENGTHS}
    comparisons = []
    for length in LENGTHS:
        if length != MAX_RULES:
            keys = [(row["setting"], row["method"], row["epsilon"]) for row in by_length[length]]
            cases = [less(figure(by_length[MAX_RULES], *key), figure(by_length[length], *key)) for key in keys]
            comparisons.append(estimated(f"K = {MAX_RULES} less K = {length}", cases, _splits(found.lengths)))
    return Judgement(rule=MEAN, seen="test accuracy", comparisons=tuple(comparisons))


def any_length(found: Evidence) -> Judgement:
    """Judge whether sm-Laplace beats each global form at every length."""
    comparisons = []
    budgets = dict.fromkeys(row["epsilon"] for row in found.lengths if row["epsilon"])
    by_length = [[row for row in found.lengths if row["K"] == str(length)] for length in LENGTHS]
    for setting in dict.fromkeys(row["setting"] for row in found.lengths):
        for other in GLOBAL:
            cases = [
                less(*(figure(rows, setting, method, epsilon) for method in ("sm-Laplace", other)))
                for rows in by_length
                for epsilon in budgets
            ]
            comparisons.append(estimated(f"{NAMES[setting]} against {other}", cases, _splits(found.lengths)))
    return Judgement(rule=EVERY, seen="test accuracy, sm-Laplace less each global form", comparisons=tuple(comparisons))


def composed(each: float, operations: int, delta: float) -> float:
    """Return the least epsilon that operations of pure privacy have together at a failure probability.

    The failure probability of k operations of epsilon e at a total epsilon t is the mean excess of the privacy loss of
    k randomized responses (Kairouz, Oh and Viswanath, 2015). No adaptive composition is below it.
    """
    true = 1 / (1 + math.exp(-each))

    def failure(total: float) -> float:
        return math.fsum(
            math.comb(operations, lies)
            * true ** (operations - lies)
            * (1 - true) ** lies
            * max(-math.expm1(total - each * (operations - 2 * lies)), 0.0)
            for lies in range(operations + 1)
        )

    low, high = 0.0, each * operations
    if failure(low) <= delta:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if failure(middle) > delta else (low, middle)
    return high


def adaptive(found: Evidence) -> Judgement:
    """Judge whether composition can save budget, if all of delta pays for it: nothing else saves more."""
    saved: dict[str, list[float]] = {}
    for row in found.pools:
        n = int(TRAINING_SHARE * int(row["records"]))
        saved[NAMES[row["setting"]]] = [
            1 - composed(epsilon / OPERATIONS, OPERATIONS, 1 / n**2) / epsilon for epsilon in (0.1, 1.0, 10.0)
        ]
    most = ", ".join(f"{max(each):.1%}" for each in zip(*saved.values(), strict=True))
    seen = f"share of epsilon saved, at most {most} at epsilon 0.1, 1, 10"
    comparisons = tuple(exact(name, shares, NEGLIGIBLE) for name, shares in saved.items())
    return Judgement(rule=MEAN, seen=seen, comparisons=comparisons)


def _splits(rows: Sequence[Row]) -> int:
    return min(int(row["seeds"]) for row in rows)


def exact_trees(found: Evidence) -> Judgement:
    """Judge trees drawn by exact sampling against each that is grown by noisy impurities."""
    comparisons = []
    for setting in dict.fromkeys(row["setting"] for row in found.trees):
        for method in CHOICES:
            both = [
                [figure(found.trees, setting, name, f"{epsilon:g}") for name in (EXACT, method)] for epsilon in EPSILONS
            ]
            splits = int(found.trees[0]["seeds"])
            comparisons.append(estimated(f"{NAMES[setting]}: {method}", [less(*pair) for pair in both], splits))
    return Judgement(rule=AT_LEAST, seen="accuracy less that of each other tree", comparisons=tuple(comparisons))


def inverse(found: Evidence) -> Judgement:
    """Judge the inverse-sensitivity mechanism, by smooth sensitivity, against Cauchy noise, at every epsilon."""
    return Judgement(
        rule=MEAN,
        seen="accuracy, inverse sensitivity less Cauchy noise",
        comparisons=_chosen(found, next(iter(INVERSE)), (SMOOTH_CAUCHY,)),
    )


def exact_lists(found: Evidence) -> Judgement:
    """Judge our exponential rule list against lists of inverse sensitivity."""
    comparisons = []
    for setting in dict.fromkeys(row["setting"] for row in found.lists):
        for method in INVERSE:
            cases = [
                less(
                    figure(found.accuracies, setting, OURS[1], f"{epsilon:g}"),
                    figure(found.lists, setting, method, f"{epsilon:g}"),
                )
                for epsilon in EPSILONS
            ]
            comparisons.append(estimated(f"{NAMES[setting]}: {method}", cases, int(found.lists[0]["seeds"])))
    return Judgement(rule=AT_LEAST, seen="accuracy less that of each other list", comparisons=tuple(comparisons))


def counted_against_inverse(found: Evidence) -> Judgement:
    """Judge the exponential mechanism on counted impurities against inverse sensitivity, on lists and trees."""
    return Judgement(
        rule=AT_LEAST,
        seen="accuracy less that of each inverse sensitivity",
        comparisons=_chosen(found, COUNTED, tuple(INVERSE)),
    )


def _chosen(found: Evidence, first: str, others: Sequence[str]) -> tuple[Comparison, ...]:
    """Compare a choice with others on lists and on trees, setting by setting."""
    comparisons = []
    for kind, rows in (("list", found.lists), ("tree", found.trees)):
        for setting in dict.fromkeys(row["setting"] for row in rows):
            for other in others:
                both = [
                    [figure(rows, setting, name, f"{epsilon:g}") for name in (first, other)] for epsilon in EPSILONS
                ]
                name = f"{NAMES[setting]}, {kind}: {other}"
                comparisons.append(estimated(name, [less(*pair) for pair in both], int(rows[0]["seeds"])))
    return tuple(comparisons)
