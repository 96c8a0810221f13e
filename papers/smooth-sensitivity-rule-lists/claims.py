"""Each statement of the paper, and those about our own two lines, judged: ``claims.csv`` and ``evidence.csv``.

``statements.csv`` names the judge of each statement. Figures are means over 100 splits, of the exponential form
over 20, with their standard errors. Two
methods' errors are added as if independent, although they share the splits, which widens the intervals. A statement
about all other methods is compared with each of them: the best as measured would be one that chance favors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from drawing import OURS
from figure_4 import GLOBAL, GRID, SMOOTH
from figure_6 import METHODS as ATTACKED_METHODS
from figure_6 import SETTINGS as ATTACKED
from future_work import adaptive, any_length, best_length, counted_against_inverse, exact_lists, exact_trees, inverse
from stored import NAMES, Evidence, evidence, figure, less
from study import FOLDER, Row, options, published
from varied import forest_figures, forest_loses_more, support_check, wider

from papers.common.judging import (
    AT_LEAST,
    DERIVED,
    EVERY,
    FIGURE,
    MEAN,
    Comparison,
    Judgement,
    estimated,
    exact,
    within,
    write_judged,
)

HIGH = tuple(f"{epsilon:g}" for epsilon in GRID if epsilon >= 0.1)
ALL = tuple(f"{epsilon:g}" for epsilon in GRID)
SPLITS = 100

GUESSING = 0.01
"""The most that the balanced accuracy of an attack may differ from one half, to be taken for guessing: an advantage of
0.02."""

LARGE = 0.005
"""The least difference of accuracy that the paper calls significant: it contrasts less than 0.5 points with 1.0."""

NORMAL = 1.96
LOG_ERROR = math.sqrt(1 / (SPLITS - 1))
"""Standard error of the logarithm of a ratio of two standard errors, each of 100 normal values."""


def _order(
    found: Evidence, first: str, others: Sequence[str], grid: Sequence[str], margin: float = 0.0
) -> tuple[Comparison, ...]:
    """Compare a method with each of several others over the budgets, setting by setting."""
    comparisons = []
    splits = _splits([row for row in found.accuracies if row["method"] in (first, *others)])
    for setting, name in NAMES.items():
        for other in others:
            cases = [
                less(*(figure(found.accuracies, setting, method, epsilon) for method in (first, other)), margin)
                for epsilon in grid
            ]
            comparisons.append(estimated(f"{name}: {first} against {other}", cases, splits))
    return tuple(comparisons)


def noisy_gini(found: Evidence) -> Judgement:
    """Judge whether noisy impurities beat noisy counts for epsilon from 0.1 to 20."""
    comparisons = []
    for setting in ("compas", "german", "adult"):
        cases = [
            less(
                figure(found.counts, setting, "gl-Laplace", epsilon, "train"),
                figure(found.counts, setting, "noisy counts", epsilon, "train"),
            )
            for epsilon in ("0.1", "0.316", "1", "3.16", "10")
        ]
        comparisons.append(estimated(NAMES[setting], cases, SPLITS))
    return Judgement(rule=MEAN, seen="training accuracy, impurities less counts", comparisons=tuple(comparisons))


def converge(found: Evidence) -> Judgement:
    """Judge whether both forms reach GreedyRL at epsilon 10,000, to half a point of accuracy."""
    comparisons = []
    for setting in ("compas", "german", "adult"):
        aim = figure(found.counts, setting, "GreedyRL", "", "train")[0]
        cases = [
            (
                LARGE - abs(figure(found.counts, setting, method, "10000", "train")[0] - aim),
                figure(found.counts, setting, method, "10000", "train")[1],
            )
            for method in ("gl-Laplace", "noisy counts")
        ]
        comparisons.append(estimated(NAMES[setting], cases, SPLITS))
    return Judgement(rule=EVERY, seen="half a point less the distance", comparisons=tuple(comparisons))


def smooth_match(found: Evidence) -> Judgement:
    """Judge whether smooth forms match or outperform each global one at every epsilon from 0.1."""
    comparisons = [each for smooth in SMOOTH for each in _order(found, smooth, GLOBAL, HIGH)]
    return Judgement(rule=AT_LEAST, seen="accuracy less that of each global form", comparisons=tuple(comparisons))


def consistently(found: Evidence) -> Judgement:
    """Judge whether sm-Laplace beats all other forms at every epsilon from 0.1."""
    return Judgement(
        rule=EVERY,
        seen="accuracy less that of each other form",
        comparisons=_order(found, "sm-Laplace", ("sm-Cauchy", *GLOBAL), HIGH),
    )


def largely(found: Evidence) -> Judgement:
    """Judge whether it does so by what the paper calls significant."""
    return Judgement(
        rule=MEAN,
        seen="the same, beyond 0.5 points",
        comparisons=_order(found, "sm-Laplace", ("sm-Cauchy", *GLOBAL), HIGH, LARGE),
    )


def cauchy(found: Evidence) -> Judgement:
    """Judge whether sm-Cauchy beats the other pure forms at every epsilon from 0.1."""
    return Judgement(
        rule=EVERY,
        seen="accuracy less that of each other pure form",
        comparisons=_order(found, "sm-Cauchy", ("gl-Laplace", "gl-Exponential"), HIGH),
    )


def slower(found: Evidence) -> Judgement:
    """Judge whether sm-Cauchy converges more slowly than sm-Laplace on the two datasets that the paper names."""
    comparisons = [each for each in _order(found, "sm-Laplace", ("sm-Cauchy",), HIGH) if "German" not in each.name]
    return Judgement(rule=MEAN, seen="accuracy, sm-Laplace less sm-Cauchy", comparisons=tuple(comparisons))


def half_a_point(found: Evidence) -> Judgement:
    """Judge the loss of sm-Laplace at epsilon 1 on Adult, on both readings of the rules."""
    comparisons = []
    for setting in ("adult", "adult-pairs"):
        gap = less(
            figure(found.accuracies, setting, "sm-Laplace", "1"), figure(found.accuracies, setting, "GreedyRL", "")
        )
        comparisons.append(estimated(NAMES[setting], [(LARGE + gap[0], gap[1])], SPLITS))
    return Judgement(rule=EVERY, seen="0.5 points less the loss", comparisons=tuple(comparisons))


def standard_errors(found: Evidence) -> Judgement:
    """Judge whether sm-Laplace's standard errors are equal to or below gl-Laplace's from epsilon 1 on."""
    by = {(row["setting"], row["method"], row["epsilon"]): float(row["standard error"]) for row in found.errors}
    comparisons = [
        estimated(
            NAMES[setting],
            [
                (-math.log(by[setting, "sm-Laplace", epsilon] / by[setting, "gl-Laplace", epsilon]), LOG_ERROR)
                for epsilon in ("1", "10", "100")
            ],
            SPLITS,
        )
        for setting in ("german", "compas", "adult")
    ]
    return Judgement(
        rule=AT_LEAST, seen="logarithm of gl-Laplace's error over sm-Laplace's", comparisons=tuple(comparisons)
    )


def table_1(found: Evidence) -> Judgement:
    """Judge the 45 printed standard errors: a ratio within chance of one, over all 45."""
    band = 3.26 * LOG_ERROR
    ratios = [
        math.log(float(row["standard error"]) / float(row["published"])) for row in found.errors if row["published"]
    ]
    return Judgement(
        rule=FIGURE,
        seen=f"ratios to the printed ones {math.exp(min(ratios)):.2f} to {math.exp(max(ratios)):.2f}",
        comparisons=(within("45 errors", [(ratio, -band, band) for ratio in ratios]),),
    )


def accuracies(found: Evidence) -> Judgement:
    """Judge the six accuracies of Table II, within 1.96 errors of both; the printed plus or minus is a variance."""
    spread = published("plus or minus of the accuracy")
    figures, seen = [], []
    for (setting, method, epsilon), value in published("test accuracy").items():
        if (setting, method, epsilon) not in spread:
            continue
        here, error = figure(found.accuracies, setting, method, epsilon)
        band = NORMAL * math.hypot(error, math.sqrt(float(spread[setting, method, epsilon]) / SPLITS)) + LARGE / 10
        figures.append((here, float(value) - band, float(value) + band))
        seen.append(f"{NAMES[setting]} {here:.3f} for {float(value):.3f}")
    return Judgement(rule=FIGURE, seen="; ".join(seen), comparisons=(within("six accuracies", figures),))


def text_accuracies(found: Evidence) -> Judgement:
    """Judge the two accuracies that the text gives for Adult, on the conjunctions."""
    figures = []
    for method, epsilon, printed in (("GreedyRL", "", 0.791), ("sm-Laplace", "1", 0.787)):
        here, error = figure(found.accuracies, "adult-pairs", method, epsilon)
        figures.append(
            (
                here,
                printed - NORMAL * math.hypot(error, error) - LARGE / 10,
                printed + NORMAL * math.hypot(error, error) + LARGE / 10,
            )
        )
    return Judgement(
        rule=FIGURE,
        seen=" and ".join(f"{here:.3f}" for here, _, _ in figures),
        comparisons=(within("two accuracies", figures),),
    )


def vulnerable(found: Evidence) -> Judgement:
    """Judge whether the model without privacy is more vulnerable than sm-Laplace, on every dataset."""
    comparisons = []
    for setting, name in NAMES.items():
        gap = less(
            figure(found.vulnerability, setting, "GreedyRL", "", "vulnerability"),
            figure(found.vulnerability, setting, "sm-Laplace", "10", "vulnerability"),
        )
        comparisons.append(estimated(name, [gap], SPLITS))
    return Judgement(rule=EVERY, seen="vulnerability, GreedyRL less sm-Laplace", comparisons=tuple(comparisons))


def chance(found: Evidence) -> Judgement:
    """Judge whether vulnerability is more than permuted membership gives."""
    comparisons = []
    for setting, name in NAMES.items():
        rows = [row for row in found.vulnerability if row["setting"] == setting and row["method"] not in OURS]
        cases = [
            (float(row["vulnerability"]) - float(row["control"]), float(row["vulnerability_error"])) for row in rows
        ]
        comparisons.append(estimated(name, cases, SPLITS))
    return Judgement(rule=MEAN, seen="vulnerability less its control", comparisons=tuple(comparisons))


def preserved(found: Evidence) -> Judgement:
    """Judge whether sm-Laplace keeps more of the important attributes than gl-Laplace."""
    comparisons = []
    for setting in ("adult", "adult-pairs"):
        cases = [
            less(
                figure(found.importance, setting, "sm-Laplace", epsilon, "value"),
                figure(found.importance, setting, "gl-Laplace", epsilon, "value"),
            )
            for epsilon in ("1", "10")
        ]
        comparisons.append(estimated(NAMES[setting], cases, SPLITS))
    return Judgement(rule=EVERY, seen="I_7, ties at random, sm-Laplace less gl-Laplace", comparisons=tuple(comparisons))


def increasing(found: Evidence) -> Judgement:
    """Judge whether I_7 rises with epsilon, for both methods; the paper's own gl-Laplace falls from 0.316 to 0.308."""
    comparisons = []
    for method in ("sm-Laplace", "gl-Laplace"):
        cases = [
            less(
                figure(found.importance, setting, method, "10", "value"),
                figure(found.importance, setting, method, "1", "value"),
            )
            for setting in ("adult", "adult-pairs")
        ]
        comparisons.append(estimated(method, cases, SPLITS))
    return Judgement(rule=MEAN, seen="I_7 at epsilon 10 less at 1", comparisons=tuple(comparisons))


def table_3(found: Evidence) -> Judgement:
    """Judge the four printed figures of Table III, with the printed deviations."""
    figures = []
    for (setting, method, epsilon), printed in published("feature intersection").items():
        here, error = figure(found.importance, setting, method, epsilon, "value")
        band = NORMAL * math.hypot(error, 0.04 if method == "gl-Laplace" else 0.03)
        figures.append((here, float(printed) - band, float(printed) + band))
    return Judgement(
        rule=FIGURE,
        seen=", ".join(f"{here:.3f}" for here, _, _ in figures),
        comparisons=(within("four figures", figures),),
    )


def _attack(found: Evidence, setting: str, method: str, attack: str, name: str) -> tuple[float, float]:
    rows = [row for row in found.attacks if row["attack"] == attack]
    return figure(rows, setting, method, "" if method == "GreedyRL" else "10", name)


def resilient(found: Evidence) -> Judgement:
    """Judge whether the attack is as good as guessing: its balanced accuracy lies within a margin of one half."""
    comparisons, reached = [], []
    for setting in ATTACKED:
        for method in ATTACKED_METHODS:
            balanced, error = _attack(found, setting, method, "black-box", "balanced")
            reached.append(balanced)
            name = f"{NAMES[setting]}, {method}"
            comparisons.append(estimated(name, [(GUESSING - abs(balanced - 0.5), error)], _splits(found.attacks)))
    return Judgement(
        rule=MEAN,
        seen=f"{GUESSING} less distance to 0.5: {min(reached):.3f} to {max(reached):.3f}",
        comparisons=tuple(comparisons),
    )


def smallest_leaks_more(found: Evidence) -> Judgement:
    """Judge whether the black-box attack finds more members of German than of COMPAS where false alarms are rare.

    What it finds is counted above its control, which has as many records: the fewer non-members, the higher both are.
    """
    cases = []
    for method in ATTACKED_METHODS:
        for rate in ("0.01", "0.03"):
            above = [
                less(
                    *(_attack(found, setting, method, attack, f"tpr at {rate}") for attack in ("black-box", "control"))
                )
                for setting in ATTACKED
            ]
            cases.append(less(*above))
    return Judgement(
        rule=MEAN,
        seen="true positive rate at 1 % and 3 % false positives above its control, German less COMPAS",
        comparisons=(estimated("both lists", cases, _splits(found.attacks)),),
    )


def sub_par(found: Evidence) -> Judgement:
    """Judge whether the label-only attack, with random changes or exact distances, is below the black-box attack."""
    comparisons = []
    for setting in ATTACKED:
        for attack in ("label-only", "boundary"):
            cases = [
                less(*(_attack(found, setting, method, name, "balanced") for name in ("black-box", attack)))
                for method in ATTACKED_METHODS
            ]
            comparisons.append(estimated(f"{NAMES[setting]}: {attack}", cases, _splits(found.attacks)))
    seen = "balanced accuracy, black-box less label-only on single dummies, and less exact distance"
    return Judgement(rule=MEAN, seen=seen, comparisons=tuple(comparisons))


def truncated(found: Evidence) -> Judgement:
    """Judge whether changed dummies that hold no category, or several, make the label-only attack weaker."""
    comparisons = []
    for setting in ATTACKED:
        cases = [
            less(
                _attack(found, setting, method, "label-only, categories together", "auc"),
                _attack(found, setting, method, "label-only", "auc"),
            )
            for method in ATTACKED_METHODS
        ]
        comparisons.append(estimated(NAMES[setting], cases, _splits(found.attacks)))
    return Judgement(
        rule=MEAN,
        seen="area under the curve, categories changed together less one by one",
        comparisons=tuple(comparisons),
    )


def _splits(rows: Sequence[Row]) -> int:
    return min(int(row["seeds"]) for row in rows)


def theorem(found: Evidence) -> Judgement:
    """Judge whether the closed form of Theorem IV.1 is the smooth sensitivity, by its definition and by the paper's g.

    By the definition, neighbors have one record more or less; the largest of all datasets of a size is enumerated.
    """

    def agreeing(name: str, column: str) -> Comparison:
        rows = [(float(row["smooth"]), float(row[column])) for row in found.noise if row[column]]
        return within(name, [(smooth, other * (1 - 1e-5), other * (1 + 1e-5)) for smooth, other in rows])

    by_g = agreeing("maximum over k of the paper's local sensitivity", "brute_force")
    every = agreeing("all datasets of a size, records added and removed", "enumerated")
    more = [float(row["enumerated"]) / float(row["smooth"]) - 1 for row in found.noise if row["enumerated"]]
    seen = f"{by_g.better} of {by_g.cases} sizes by the paper's local sensitivity; by the definition "
    seen += f"up to {max(more):.1%} more, at {every.worse} of {every.cases}"
    return Judgement(rule=DERIVED, seen=seen, comparisons=(by_g, every))


def less_noise(found: Evidence) -> Judgement:
    """Judge whether smooth sensitivity needs less noise than global sensitivity at the sizes of Figure 1."""
    first = min(int(row["remaining"]) for row in found.noise if float(row["smooth"]) < float(row["global"]))
    gaps = [math.log(float(row["global"]) / float(row["smooth"])) for row in found.noise]
    return Judgement(
        rule=MEAN,
        seen=f"from {first} records on; logarithm of the ratio",
        comparisons=(exact("scale of the noise", gaps),),
    )


def counted_gini(found: Evidence) -> Judgement:
    """Judge our counted-gini, strict, against each published form, at every epsilon."""
    return Judgement(
        rule=AT_LEAST,
        seen="accuracy less that of each published form",
        comparisons=_order(found, OURS[0], (*SMOOTH, *GLOBAL), ALL),
    )


def exponential(found: Evidence) -> Judgement:
    """Judge our exponential rule list against counted-gini, strict, at every epsilon."""
    return Judgement(
        rule=AT_LEAST,
        seen="accuracy less that of counted-gini, strict",
        comparisons=_order(found, OURS[1], OURS[:1], ALL),
    )


JUDGES: tuple[Callable[[Evidence], Judgement], ...] = (
    theorem,
    less_noise,
    noisy_gini,
    converge,
    smooth_match,
    consistently,
    largely,
    cauchy,
    slower,
    half_a_point,
    standard_errors,
    table_1,
    accuracies,
    text_accuracies,
    vulnerable,
    chance,
    preserved,
    increasing,
    table_3,
    resilient,
    smallest_leaks_more,
    sub_par,
    truncated,
    forest_loses_more,
    forest_figures,
    support_check,
    wider,
    best_length,
    any_length,
    adaptive,
    counted_gini,
    exponential,
    exact_trees,
    inverse,
    exact_lists,
    counted_against_inverse,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge."""
    given = options(__doc__, arguments)
    write_judged(FOLDER / "statements.csv", JUDGES, evidence(given.results), given.results)


__all__ = ["JUDGES", "Evidence", "evidence", "main"]

if __name__ == "__main__":
    main()
