"""Which private model to fit, by a rule that its figures alone decide."""

from __future__ import annotations

import math
from dataclasses import dataclass

from glassine.comparing.candidates import CONSTANT
from glassine.comparing.values import Comparison, Mean, Measure, Row
from glassine.errors import InvalidParameterError

__all__ = ["Recommendation", "beats", "recommend"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The private model that a comparison speaks for.

    Attributes
    ----------
    measure : {"accuracy", "auroc"}
        What models are compared by.
    chosen : Row or None
        The model to fit; None if there is none to recommend.
    best : Row or None
        The private model of the highest mean; None if none was measured.
    floor : float or None
        Mean of the best, less its standard error.
    constant : Row or None
        The constant prediction; None if it was not measured.
    n_close : int
        Private models that reach the floor.
    useful : tuple of Row
        Those of them that beat the constant prediction.
    """

    measure: Measure
    chosen: Row | None
    best: Row | None
    floor: float | None
    constant: Row | None
    n_close: int
    useful: tuple[Row, ...]


def recommend(comparison: Comparison, measure: Measure = "accuracy") -> Recommendation:
    """Return the private model to fit: of those as good as the best within its standard error, the most private.

    Only private models count that every split has measured. Of those whose mean is at least that of the best less its
    standard error over the splits, the ones stay that beat the constant prediction: their mean difference over the
    splits exceeds its standard error. Of these the smallest epsilon is taken; then the fewest bits learned, where none
    count as most; then the lowest vulnerability; then the higher mean; then the order of the rows.

    Parameters
    ----------
    comparison : Comparison
        The figures.
    measure : {"accuracy", "auroc"}, default="accuracy"
        What models are compared by.

    Raises
    ------
    InvalidParameterError
        If the measure is another.
    """
    if measure not in ("accuracy", "auroc"):
        raise InvalidParameterError(f"measure must be accuracy or auroc, got {measure!r}.")
    found = [(row, mean) for row in comparison.rows if row.private and (mean := row.measured(measure)) is not None]
    constant = comparison.row(CONSTANT)
    base = None if constant is None else constant.measured(measure)
    kept = constant if base is not None else None
    if not found:
        return Recommendation(measure=measure, chosen=None, best=None, floor=None, constant=kept, n_close=0, useful=())
    best, top = max(found, key=lambda pair: pair[1].value)
    floor = top.value - (top.error or 0.0)
    close = [(row, mean) for row, mean in found if mean.value >= floor]
    useful = [(row, mean) for row, mean in close if base is None or beats(mean, base)]
    chosen = min(useful, key=lambda pair: _cost(*pair), default=None)
    return Recommendation(
        measure=measure,
        chosen=None if chosen is None else chosen[0],
        best=best,
        floor=floor,
        constant=kept,
        n_close=len(close),
        useful=tuple(row for row, _ in useful),
    )


def beats(mean: Mean, other: Mean) -> bool:
    """Return whether a figure exceeds another's on the same splits by more than the standard error of the difference.

    Examples
    --------
    >>> beats(Mean.of([0.80, 0.81]), Mean.of([0.70, 0.72])), beats(Mean.of([0.80, 0.60]), Mean.of([0.70, 0.69]))
    (True, False)
    """
    if len(mean.values) != len(other.values):
        return False
    apart = Mean.of(a - b for a, b in zip(mean.values, other.values, strict=True))
    return apart is not None and apart.value > max(apart.error or 0.0, 1e-12)


def _cost(row: Row, mean: Mean) -> tuple[float, float, float, float]:
    bits = math.inf if row.bits is None else row.bits.value
    seen = math.inf if row.vulnerability is None else row.vulnerability.value
    return row.epsilon or 0.0, bits, seen, -mean.value
