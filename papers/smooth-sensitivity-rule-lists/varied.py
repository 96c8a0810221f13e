"""Judges of what the paper says of wider rules (V-D), the support check and a private forest (V-C)."""

from __future__ import annotations

from stored import NAMES, Evidence, figure, less
from variations import (
    CHECKED,
    EXACT_FOREST,
    FOREST,
    FOREST_DATA,
    FOREST_EPSILON,
    LOW,
    SHARES,
    WIDE,
    WIDE_EPSILONS,
    WIDE_METHODS,
    WIDTHS,
)

from papers.common.judging import FIGURE, MEAN, Judgement, estimated, within

AS_PRINTED, *MORE = SHARES
LOWEST = 0.1
"""Budgets up to this one are low: V-C calls its results good from 0.1 on."""

POINT = 0.005
"""Half a percentage point: the paper prints whole ones."""


def _of_forest(found: Evidence) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the accuracy of the forest with privacy and without."""
    private = figure(found.variations, FOREST_DATA, FOREST, f"{FOREST_EPSILON:g}")
    return private, figure(found.variations, FOREST_DATA, EXACT_FOREST, "")


def _splits(found: Evidence, *methods: str) -> int:
    """Return the fewest splits behind the rows of methods whose names start so."""
    return min(int(row["seeds"]) for row in found.variations if row["method"].startswith(methods))


def forest_loses_more(found: Evidence) -> Judgement:
    """Judge whether the forest loses more accuracy at epsilon 1 than sm-Laplace, each to its own without privacy."""
    private, exact = _of_forest(found)
    forest = less(exact, private)
    ours = less(*(figure(found.accuracies, FOREST_DATA, *key) for key in (("GreedyRL", ""), ("sm-Laplace", "1"))))
    return Judgement(
        rule=MEAN,
        seen=f"the forest loses {100 * forest[0]:.1f} points, sm-Laplace {100 * ours[0]:+.1f}",
        comparisons=(estimated(NAMES[FOREST_DATA], [less(forest, ours)], _splits(found, FOREST, EXACT_FOREST)),),
    )


def forest_figures(found: Evidence) -> Judgement:
    """Judge the two accuracies that the paper prints of the forest: 82 % and about 83 %."""
    figures = [
        (here, printed - POINT, printed + POINT)
        for (here, _), printed in zip(_of_forest(found), (0.82, 0.83), strict=True)
    ]
    return Judgement(
        rule=FIGURE,
        seen=f"{figures[0][0]:.3f} and {figures[1][0]:.3f}",
        comparisons=(within("two accuracies of the forest", figures),),
    )


def wider(found: Evidence) -> Judgement:
    """Judge whether conjunctions make lists more accurate."""
    comparisons = []
    for setting in WIDE:
        for method in WIDE_METHODS:
            budgets = [""] if method == "GreedyRL" else [f"{epsilon:g}" for epsilon in WIDE_EPSILONS]
            for width in WIDTHS[1:]:
                cases = [
                    less(*(figure(found.variations, setting, f"{method}, up to {w}", e) for w in (width, WIDTHS[0])))
                    for e in budgets
                ]
                name = f"{NAMES[setting]}: {method}, up to {width}"
                comparisons.append(estimated(name, cases, _splits(found, *WIDE_METHODS)))
    seen = "accuracy of up to two and three conditions less that of one"
    return Judgement(rule=MEAN, seen=seen, comparisons=tuple(comparisons))


def support_check(found: Evidence) -> Judgement:
    """Judge whether a larger share of the budget for the support check helps where epsilon is low."""
    comparisons = []
    for setting in CHECKED:
        for share in MORE:
            cases = [
                less(*(figure(found.variations, setting, f"support check, {s}", f"{e:g}") for s in (share, AS_PRINTED)))
                for e in LOW
                if e <= LOWEST
            ]
            comparisons.append(estimated(f"{NAMES[setting]}: {share}", cases, _splits(found, "support check")))
    seen = f"accuracy up to epsilon {LOWEST:g}, {MORE[0]} to {MORE[-1]} for the check less {AS_PRINTED} as printed"
    return Judgement(rule=MEAN, seen=seen, comparisons=tuple(comparisons))


__all__ = ["forest_figures", "forest_loses_more", "support_check", "wider"]
