"""What a comparison holds: the figures of one fit, their means over the splits, and all of them together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from glassine.exports import DisplayedToCheckers

Status: TypeAlias = Literal["measured", "not applicable", "failed"]
Kind: TypeAlias = Literal["classes", "number"]
Measure: TypeAlias = Literal["accuracy", "auroc", "log_loss", "rmse", "mae", "r2"]
CLASS_MEASURES: tuple[Measure, ...] = ("accuracy", "auroc", "log_loss")
NUMBER_MEASURES: tuple[Measure, ...] = ("rmse", "mae", "r2")
"""How well a model predicts classes, and a number; the first has a value for every model that was measured."""
LESS_IS_BETTER: tuple[Measure, ...] = ("log_loss", "rmse", "mae")
NO_PARTS = "bits are defined for trees and rule lists."
"""Why a model without leaves and rules has no bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured of one fitted model; None where a figure has no value.

    Attributes
    ----------
    accuracy : float or None
        Share of the test records that it classifies correctly; None of a model of numbers, as AUROC and log-loss.
    auroc : float or None
        Area under the ROC curve on the test records; of more than two classes the mean of one against the others.
    log_loss : float or None
        Mean of -ln of the probability given to the true class of a test record.
    rmse, mae : float or None
        Root mean squared and mean absolute error on the test records, in units of the target; None of classes.
    r2 : float or None
        1 less the squared errors as a share of those of the test records' own mean; None of classes.
    bits : float or None
        Bits that an attacker learns about a training record, on average.
    bits_unknown : str
        Why there are none, if there are none.
    vulnerability, control : float or None
        V of the training records against the test records, and its mean where membership is shuffled.
    over : str
        What V distinguishes records by: leaves, rules or predictions.
    gap : float or None
        Advantage of the gap attack: training accuracy less test accuracy. Of a model of numbers, of a threshold on its
        absolute error.
    n_parts : int or None
        Leaves or rules of the model.
    seconds : float or None
        CPU seconds of the fit, on one thread; not compared when figures are.
    """

    accuracy: float | None = None
    auroc: float | None = None
    log_loss: float | None = None
    rmse: float | None = None
    mae: float | None = None
    r2: float | None = None
    bits: float | None = None
    bits_unknown: str = ""
    vulnerability: float | None = None
    control: float | None = None
    over: str = ""
    gap: float | None = None
    n_parts: int | None = None
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One learner, at one epsilon, on one split.

    Attributes
    ----------
    model : str
        Name of the learner.
    epsilon : float or None
        Privacy budget; None for what is not private.
    split : int
        Number of the split, from 0.
    status : {"measured", "not applicable", "failed"}
        Whether there are figures.
    reason : str
        Why there are none.
    figures : Figures or None
        What was measured.
    """

    model: str
    epsilon: float | None
    split: int
    status: Status
    reason: str = ""
    figures: Figures | None = None

    @property
    def key(self) -> tuple[str, float | None, int]:
        """What distinguishes results."""
        return self.model, self.epsilon, self.split


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """Mean of a figure over splits.

    Attributes
    ----------
    value : float
        The mean.
    error : float or None
        Its standard error over the splits; None for a single split.
    values : tuple of float
        The figure of each split, in order.
    """

    value: float
    error: float | None
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Mean | None:
        """Return the mean of figures; None if there is none, or one of them is missing or not finite.

        Examples
        --------
        >>> mean = Mean.of([0.7, 0.8, 0.9])
        >>> round(mean.value, 6), round(mean.error, 6)
        (0.8, 0.057735)
        """
        listed = tuple(values)
        if not listed or any(value is None or not math.isfinite(value) for value in listed):
            return None
        figures = tuple(float(value) for value in listed if value is not None)
        mean = math.fsum(figures) / len(figures)
        if len(figures) == 1:
            return cls(value=mean, error=None, values=figures)
        # The root of the squares without them: those of large figures would overflow, of small ones vanish.
        spread = math.hypot(*(value - mean for value in figures))
        return cls(value=mean, error=spread / math.sqrt((len(figures) - 1) * len(figures)), values=figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A learner at one epsilon, its figures as means over all splits.

    Attributes
    ----------
    model : str
        Name of the learner.
    epsilon : float or None
        Privacy budget; None for what is not private.
    accuracy, auroc, log_loss, rmse, mae, r2, bits, vulnerability, control, gap, n_parts, seconds : Mean or None
        The figures; None unless every split has one.
    over : str
        What V distinguishes records by.
    reason : str
        Why nothing was measured, or else why there are no bits.
    status : {"measured", "not applicable", "failed"}
        Measured if every split was.
    """

    model: str
    epsilon: float | None
    status: Status
    accuracy: Mean | None = None
    auroc: Mean | None = None
    log_loss: Mean | None = None
    rmse: Mean | None = None
    mae: Mean | None = None
    r2: Mean | None = None
    bits: Mean | None = None
    vulnerability: Mean | None = None
    control: Mean | None = None
    gap: Mean | None = None
    n_parts: Mean | None = None
    seconds: Mean | None = field(default=None, compare=False)
    over: str = ""
    reason: str = ""

    @classmethod
    def of(cls, results: Sequence[Result]) -> Row:
        """Return the means of the results of one learner at one epsilon."""
        first = results[0]
        lacking = [result for result in results if result.figures is None]
        if lacking:
            failed = [result for result in lacking if result.status == "failed"]
            example = (failed or lacking)[0]
            reason = example.reason
            if len(lacking) < len(results):
                reason = f"On {len(lacking)} of {len(results)} splits: {reason}"
            return cls(model=first.model, epsilon=first.epsilon, status=example.status, reason=reason)
        figures = [result.figures for result in results if result.figures is not None]
        names = (name for name in Figures.__slots__ if name not in ("bits_unknown", "over"))
        means = {name: Mean.of(getattr(figure, name) for figure in figures) for name in names}
        leading = "rmse" if figures[0].rmse is not None else "accuracy"
        measured = means[leading] is not None
        unknown = next((figure.bits_unknown for figure in figures if figure.bits_unknown), "")
        return cls(
            model=first.model,
            epsilon=first.epsilon,
            status="measured" if measured else "failed",
            over=figures[0].over,
            reason=unknown if measured else f"its {leading} is not a finite number.",
            **means,
        )

    @property
    def private(self) -> bool:
        """Whether it was trained with a privacy budget."""
        return self.epsilon is not None

    def measured(self, measure: Measure) -> Mean | None:
        """Return one of its figures on held-out records."""
        mean: Mean | None = getattr(self, measure)
        return mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(DisplayedToCheckers):
    """Learners on the same splits of the same records.

    Attributes
    ----------
    target : str
        What is predicted.
    classes : tuple of str
        Its classes; none where it is a number.
    n_records, n_attributes : int
        Records, and the attributes of the domain.
    largest_class : float or None
        Share of the records that have the commonest class; None where the target is a number.
    n_splits : int
        Splits into training and test records.
    test_share : float
        Share of the records that test.
    seed : int
        Of splits, learners and permutations.
    delta : float
        Delta of the additive models.
    max_depth, max_rules : int
        Splits on a path of a tree, and rules of a list, at most.
    caveats : tuple of str
        What was taken from the data although it should be public.
    rows : tuple of Row
        The learners, in the order of :data:`~glassine.comparison.CANDIDATES`, by epsilon.
    version : str
        Of Glassine.
    n_people : int or None
        People, where persons were stated: records were split by person, and membership is that of people.
    target_range : (float, float) or None
        The range of a target of numbers; None where it is classes.
    """

    target: str
    classes: tuple[str, ...]
    n_records: int
    n_attributes: int
    largest_class: float | None
    n_splits: int
    test_share: float
    seed: int
    delta: float
    max_depth: int
    max_rules: int
    caveats: tuple[str, ...]
    rows: tuple[Row, ...]
    version: str
    n_people: int | None = None
    target_range: tuple[float, float] | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How well models predict such a target; every model that was measured has the first."""
        return CLASS_MEASURES if self.target_range is None else NUMBER_MEASURES

    def row(self, model: str, epsilon: float | None = None) -> Row | None:
        """Return a learner at an epsilon, if it was compared."""
        return next((row for row in self.rows if (row.model, row.epsilon) == (model, epsilon)), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.rows)} models on {self.n_splits} splits of {self.n_records} records>"
