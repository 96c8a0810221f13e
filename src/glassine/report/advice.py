"""Which private model a comparison recommends, in words: the headline, why, and by which rule."""

from __future__ import annotations

import math
from dataclasses import dataclass

from glassine.comparison import CANDIDATES, Comparison, Mean, Recommendation, Row, recommend
from glassine.comparison.comparison_results import LESS_IS_BETTER, Measure
from glassine.comparison.recommending import Criterion, second_measure
from glassine.models.quality import LOPSIDED
from glassine.report import wording

TITLES: dict[Measure, str] = {
    "accuracy": "Accuracy",
    "auroc": "AUROC",
    "log_loss": "Log-loss",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
}
AS_THEY_ARE: tuple[Measure, ...] = ("auroc", "rmse", "mae", "r2")
"""Measures whose titles are abbreviations."""

RULE = (
    "Of the private models measured on every split, keep those within one standard error of the best {measure} that "
    "beat the constant prediction by more than the standard error of the difference. Drop each that another one beats "
    "or equals in everything compared. Then take the smallest epsilon, {second} within one standard error of the best, "
    "the fewest bits (unknown bits last),{then_seen} the better {measure}, in this order."
)

DECIDED: dict[Criterion, str] = {
    "accuracy": "an accuracy within the standard error of the best",
    "auroc": "an AUROC within the standard error of the best",
    "log_loss": "a log-loss within the standard error of the best",
    "mae": "an MAE within the standard error of the best",
    "rmse": "an RMSE within the standard error of the best",
    "bits": "the fewest bits learned",
    "vulnerability": "the lowest vulnerability",
}
"""What a criterion of the rule says of the model that it leaves."""
NOT_PRIVATE = (
    "This page is not private. Its figures are exact, from many fits on the same records, and no ledger was charged. "
    "Keep it where the records are; publish the model that is fitted afterwards, not the page. The guarantee does not "
    "cover the choice of model, which used the same records."
)


def name_of(row: Row) -> str:
    """Return a model in words, such as ``private tree at epsilon 0.1``."""
    title = CANDIDATES[row.model].title
    return title if row.epsilon is None else f"{title} at epsilon {row.epsilon:g}"


SMALLEST, LARGEST = 1e-6, 1e15
"""Between them errors in units of the target are written without powers of ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A recommendation in words: what to fit, what models are ranked by, why, by which rule, and what must be known."""

    recommendation: Recommendation
    headline: str
    ranked_by: str
    why: str
    rule: str
    notes: tuple[str, ...]


def advice_of(comparison: Comparison, measure: Measure | None = None) -> Advice:
    """Return the recommendation that follows from a comparison, in words."""
    advice = recommend(comparison, measure)
    headline, why = _advice(advice, comparison.n_splits)
    classes = comparison.target_range is None
    return Advice(
        recommendation=advice,
        headline=headline,
        ranked_by=_ranked_by(comparison, advice.measure, asked=measure is not None),
        why=why,
        rule=RULE.format(
            measure=_word(advice.measure),
            second=_word(second_measure(advice.measure)),
            then_seen=" the lowest vulnerability," if classes else "",
        ),
        notes=(NOT_PRIVATE, *comparison.caveats),
    )


def figure(value: float, measure: Measure) -> str:
    """Return a figure: errors in units of the target have four significant digits, and no point beyond a thousand.

    Examples
    --------
    >>> figure(0.85, "accuracy"), figure(78602.4, "rmse"), figure(0.052341, "mae"), figure(1.46961e199, "rmse")
    ('0.850', '78,602', '0.05234', '1.470e+199')
    """
    return _written(value, value, measure)


def mean_of(mean: Mean, measure: Measure) -> str:
    """Return the mean of a measure and its standard error, with as many places."""
    text = figure(mean.value, measure)
    if mean.error is None:
        return text
    error = _written(mean.error, mean.value, measure)
    # An error of no digit says that all splits agree, as those of a baseline do.
    return f"{text} ± {error}" if any(digit in error for digit in "123456789") else text


def _written(value: float, limit: float, measure: Measure) -> str:
    """Return a figure with as many places as one beside it needs; powers of ten where that would be a row of zeros."""
    if measure not in ("rmse", "mae") or limit == 0:
        return f"{value:,.3f}"
    if not SMALLEST <= abs(limit) < LARGEST:
        return f"{value:.3e}"
    return f"{value:,.{max(3 - math.floor(math.log10(abs(limit))), 0)}f}"


def _advice(advice: Recommendation, n_splits: int) -> tuple[str, str]:
    word = _word(advice.measure)
    best, chosen = advice.best, advice.chosen
    top = None if best is None else best.measured(advice.measure)
    if best is None or top is None or advice.floor is None:
        return "No private model was measured", "No private model was measured on every split; the reasons are below."
    single = n_splits == 1
    beaten = "" if single else " within its standard error"
    constant = None if advice.constant is None else advice.constant.measured(advice.measure)
    if chosen is None:
        base = "" if constant is None else f" of {figure(constant.value, advice.measure)}"
        return (
            "No private model is worth fitting",
            f"The best private model, the {name_of(best)}, has a mean {word} of {mean_of(top, advice.measure)} on "
            f"held-out records. Neither it nor any other{beaten or ' as good'} beats the constant prediction{base} by "
            "more than the standard error of the difference. More records, a larger epsilon or other attributes may "
            "help.",
        )
    mean = chosen.measured(advice.measure) or top
    low = advice.measure in LESS_IS_BETTER
    text = f"Its mean {word} on held-out records is {mean_of(mean, advice.measure)}, "
    text += (
        f"the {'lowest' if low else 'highest'} of the private models. "
        if chosen is best
        else f"where the best private model, the {name_of(best)}, has {mean_of(top, advice.measure)}. "
    )
    edge = "as the best does" if single else f"the best {'plus' if low else 'less'} its standard error"
    floor, alone = f"{figure(advice.floor, advice.measure)} or {'less' if low else 'more'}", advice.n_close == 1
    if alone:
        text += f"No other private model is {'as good' if single else f'within its standard error ({floor})'}"
    else:
        text += f"{advice.n_close} private models have {floor}, {edge}"
    if constant is None:
        text += "; the constant prediction was not measured, so whether they beat it is not known. "
    else:
        of_them = "all of them" if len(advice.useful) == advice.n_close else f"{len(advice.useful)} of them"
        text += ". It beats" if alone else f", and {of_them} beat"
        text += " the constant prediction, "
        text += f"{figure(constant.value, advice.measure)}. "
    dominated = len(advice.useful) - len(advice.undominated)
    if dominated:
        one = dominated == 1
        text += f"{'One' if one else dominated} of these {'is' if one else 'are'} dominated: another is at least as "
        text += "good in every figure, and better in one. "
    text += "It is the only one." if len(advice.undominated) == 1 and advice.n_close > 1 else ""
    text += _decided(advice, single) if len(advice.undominated) > 1 else ""
    return f"Fit the {name_of(chosen)}", text.strip()


def _decided(advice: Recommendation, single: bool) -> str:
    """Return what sets the chosen model apart from the others that the rule leaves."""
    text = "Of these it has the smallest epsilon"
    for criterion in advice.decided_by:
        if criterion == "order":
            return f"{text}, and stands first in the table."
        if criterion != "epsilon":
            words = f"the best {_word(advice.measure)}" if criterion == "mean" else DECIDED[criterion]
            words = words.replace("within the standard error of", "as good as") if single else words
            text += f", and of those {'also ' if ', and' in text else 'with that epsilon '}{words}"
    return f"{text}."


def _ranked_by(comparison: Comparison, measure: Measure, *, asked: bool) -> str:
    """Return what models are ranked by, and why."""
    if comparison.largest_class is None:
        return f"Ranked by {_word(measure)}{', as asked' if asked else ', the default for numbers'}."
    share = wording.percent(comparison.largest_class)
    word = _word(measure)
    lopsided = comparison.largest_class >= LOPSIDED
    classes = f"the largest class has {share} of the records"
    if asked:
        doubt = f" But {classes}: AUROC says more." if lopsided and measure == "accuracy" else ""
        return f"Ranked by {word}, as asked.{doubt}"
    if not lopsided:
        return f"Ranked by {word}: {classes}, which is less than {LOPSIDED:.0%}."
    instead = "" if measure == "auroc" else " AUROC is not defined on every split."
    return f"Ranked by {word}: {classes}, and always predicting that class is already {share} accurate.{instead}"


def _word(measure: Measure) -> str:
    return TITLES[measure] if measure in AS_THEY_ARE else TITLES[measure].lower()
