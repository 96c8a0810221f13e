"""Judges of section VI's future work: trees by smooth sensitivity, and trees and rule lists by inverse sensitivity."""

from __future__ import annotations

from collections.abc import Sequence

from choosing import CHOICES, COUNTED, INVERSE, SMOOTH_CAUCHY
from drawing import OURS
from stored import NAMES, Evidence, figure, less
from trees import EPSILONS, EXACT

from papers.common.judging import AT_LEAST, MEAN, Comparison, Judgement, estimated


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
