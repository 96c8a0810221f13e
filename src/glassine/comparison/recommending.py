"""Which private model to fit, by a rule that its figures alone decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from glassine.comparison.candidates import CONSTANT
from glassine.comparison.comparison_results import (
    CLASS_MEASURES,
    LESS_IS_BETTER,
    NUMBER_MEASURES,
    Comparison,
    Mean,
    Measure,
    Row,
)
from glassine.errors import InvalidParameterError, parameter
from glassine.exports import DisplayedToCheckers
from glassine.models.quality import LOPSIDED

Criterion: TypeAlias = Literal["epsilon", "bits", "vulnerability", "mean", "order"] | Measure
"""What sets one model apart from others that are as good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(DisplayedToCheckers):
    """The private model that a comparison speaks for.

    Attributes
    ----------
    measure : str
        What models are ranked by, one of the comparison's measures.
    chosen : Row or None
        The model to fit; None if there is none to recommend.
    best : Row or None
        The private model of the best mean; None if none was measured.
    floor : float or None
        Mean of the best, worse by its standard error.
    constant : Row or None
        The constant prediction; None if it was not measured.
    n_close : int
        Private models that reach the floor.
    useful : tuple of Row
        Those of them that beat the constant prediction.
    undominated : tuple of Row
        Those of them that no other of them dominates.
    decided_by : tuple of str
        The criteria that led from these to the chosen one, in order.
    """

    measure: Measure
    chosen: Row | None
    best: Row | None
    floor: float | None
    constant: Row | None
    n_close: int
    useful: tuple[Row, ...]
    undominated: tuple[Row, ...]
    decided_by: tuple[Criterion, ...]


def default_measure(comparison: Comparison) -> Measure:
    """Return what models are ranked by unless it is said: accuracy, or AUROC where one class has most records."""
    # AUROC is taken where the largest class has 80 % of the records or more. Where no private model has one, because a
    # class of one record cannot be tested, it is log-loss. Of numbers it is the root mean squared error.
    if comparison.largest_class is None:
        return "rmse"
    if comparison.largest_class < LOPSIDED:
        return "accuracy"
    private = [row for row in comparison.rows if row.private and row.accuracy is not None]
    return "log_loss" if private and all(row.auroc is None for row in private) else "auroc"


def recommend(comparison: Comparison, measure: Measure | None = None) -> Recommendation:
    """Return the private model to fit: of those as good as the best within its standard error, the most private.

    Only private models count that every split has measured. Of those whose mean is at most a standard error worse than
    the best, the ones stay that beat the constant prediction: their mean difference over the splits exceeds its
    standard error. One that another of these dominates drops out. Of the rest the smallest epsilon is taken; then those
    whose AUROC (accuracy, where AUROC ranks; log loss, where none has one; of numbers the mean absolute error) is
    within a standard error of the best of them; then the fewest bits learned, where none count as most; then the lowest
    vulnerability; then the better mean; then the order of the rows.

    Parameters
    ----------
    comparison : Comparison
        The figures.
    measure : {"accuracy", "auroc", "log_loss", "rmse", "mae", "r2"}, optional
        What models are ranked by, one of the comparison's ``measures``; see :func:`default_measure`.

    Raises
    ------
    InvalidParameterError
        If the measure is another.
    """
    if measure is None:
        measure = default_measure(comparison)
    if measure not in comparison.measures:
        what = "classes" if comparison.target_range is None else "numbers"
        raise InvalidParameterError(
            f"{parameter('measure')} must be one of {', '.join(comparison.measures)} for {what}, got {measure!r}."
        )
    candidates = [(row, mean) for row in comparison.rows if row.private and (mean := _gain(row, measure)) is not None]
    constant = comparison.row(CONSTANT)
    base = None if constant is None else _gain(constant, measure)
    kept = constant if base is not None else None
    if not candidates:
        return Recommendation(
            measure=measure,
            chosen=None,
            best=None,
            floor=None,
            constant=kept,
            n_close=0,
            useful=(),
            undominated=(),
            decided_by=(),
        )
    best, top = max(candidates, key=lambda pair: pair[1].value)
    floor = top.value - (top.error or 0.0)
    close = [(row, mean) for row, mean in candidates if mean.value >= floor]
    useful = [row for row, mean in close if base is None or beats(mean, base)]
    undominated = [row for row in useful if not any(dominates(other, row) for other in useful)]
    chosen, decided_by = _choose(undominated, measure)
    return Recommendation(
        measure=measure,
        chosen=chosen,
        best=best,
        floor=-floor if measure in LESS_IS_BETTER else floor,
        constant=kept,
        n_close=len(close),
        useful=tuple(useful),
        undominated=tuple(undominated),
        decided_by=decided_by,
    )


def dominates(row: Row, other: Row) -> bool:
    """Return whether a model is at least as good as another in every figure, and better in one."""
    # The figures are epsilon, how well it predicts, bits learned and vulnerability. One that a model lacks is as bad as
    # can be.
    own, theirs = _figures(row), _figures(other)
    return own != theirs and all(a >= b for a, b in zip(own, theirs, strict=True))


def beats(mean: Mean, other: Mean) -> bool:
    """Return whether a figure exceeds another's on the same splits by more than the standard error of the difference.

    Examples
    --------
    >>> beats(Mean.of([0.80, 0.81]), Mean.of([0.70, 0.72])), beats(Mean.of([0.80, 0.60]), Mean.of([0.70, 0.69]))
    (True, False)
    """
    if len(mean.values) != len(other.values):
        return False
    difference = Mean.of(a - b for a, b in zip(mean.values, other.values, strict=True))
    return difference is not None and difference.value > max(difference.error or 0.0, 1e-12)


def _gain(row: Row, measure: Measure) -> Mean | None:
    """Return a figure of which more is better: a loss or an error with its sign turned."""
    mean = row.measured(measure)
    if mean is None or measure not in LESS_IS_BETTER:
        return mean
    return replace(mean, value=-mean.value, values=tuple(-value for value in mean.values))


def _figures(row: Row) -> list[float]:
    """Return what speaks for a model, more being better."""
    gains = [_value(row, measure) for measure in (*CLASS_MEASURES, *NUMBER_MEASURES)]
    return [-(row.epsilon or 0.0), *gains, -_leak(row.bits), -_leak(row.vulnerability)]


def _leak(mean: Mean | None) -> float:
    return math.inf if mean is None else mean.value


def second_measure(measure: Measure) -> Measure:
    """Return what sets models apart that the first measure does not.

    Examples
    --------
    >>> second_measure("accuracy"), second_measure("log_loss"), second_measure("rmse"), second_measure("r2")
    ('auroc', 'accuracy', 'mae', 'rmse')
    """
    pair: tuple[Measure, Measure] = ("rmse", "mae") if measure in NUMBER_MEASURES else ("accuracy", "auroc")
    return pair[1] if measure == pair[0] else pair[0]


def _choose(rows: Sequence[Row], measure: Measure) -> tuple[Row | None, tuple[Criterion, ...]]:
    """Return the one of some models that the criteria leave, one after the other, and which of them left fewer."""
    second = second_measure(measure)
    if second == "auroc" and all(row.auroc is None for row in rows):
        second = "log_loss"
    criteria: tuple[tuple[Criterion, Callable[[Sequence[Row]], list[Row]]], ...] = (
        ("epsilon", lambda left: _least(left, lambda row: row.epsilon or 0.0)),
        (second, lambda left: _as_good(left, second)),
        ("bits", lambda left: _least(left, lambda row: _leak(row.bits))),
        ("vulnerability", lambda left: _least(left, lambda row: _leak(row.vulnerability))),
        ("mean", lambda left: _least(left, lambda row: -_value(row, measure))),
        ("order", lambda left: list(left[:1])),
    )
    decided: list[Criterion] = []
    left = list(rows)
    for name, reduce in criteria:
        fewer = reduce(left)
        if len(fewer) < len(left):
            decided.append(name)
        left = fewer
    return (left[0] if left else None), tuple(decided)


def _least(rows: Sequence[Row], cost: Callable[[Row], float]) -> list[Row]:
    least = min(map(cost, rows), default=0.0)
    return [row for row in rows if cost(row) == least]


def _as_good(rows: Sequence[Row], measure: Measure) -> list[Row]:
    """Return the models whose figure is at most a standard error worse than the best of them; all without any."""
    gains = [(row, gain) for row in rows if (gain := _gain(row, measure)) is not None]
    if not gains:
        return list(rows)
    top = max((gain for _, gain in gains), key=lambda gain: gain.value)
    return [row for row, gain in gains if gain.value >= top.value - (top.error or 0.0)]


def _value(row: Row, measure: Measure) -> float:
    gain = _gain(row, measure)
    return -math.inf if gain is None else gain.value
