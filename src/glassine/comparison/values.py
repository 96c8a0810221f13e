"""What a comparison holds: the figures of one fit, their means over the splits, and all of them together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["MEASURES", "NO_PARTS", "Comparison", "Figures", "Mean", "Measure", "Result", "Row", "Status"]

Status: TypeAlias = Literal["measured", "not applicable", "failed"]
Measure: TypeAlias = Literal["accuracy", "auroc", "log_loss"]
MEASURES: tuple[Measure, ...] = ("accuracy", "auroc", "log_loss")
NO_PARTS = "bits are defined for trees and rule lists."
"""Why a model without leaves and rules has no bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured of one fitted model; None where a figure has no value.

    Attributes
    ----------
    accuracy : float
        Share of the test records that it classifies correctly.
    auroc : float or None
        Area under the ROC curve on the test records; of more than two classes the mean of one against the others.
    log_loss : float or None
        Mean of -ln of the probability given to the true class of a test record.
    bits : float or None
        Bits that an attacker learns about a training record, on average.
    bits_unknown : str
        Why there are none, if there are none.
    vulnerability, control : float or None
        V of the training records against the test records, and its mean where membership is shuffled.
    over : str
        What V distinguishes records by: leaves, rules or predictions.
    gap : float or None
        Advantage of the gap attack: training accuracy less test accuracy.
    n_parts : int or None
        Leaves or rules of the model.
    """

    accuracy: float
    auroc: float | None = None
    log_loss: float | None = None
    bits: float | None = None
    bits_unknown: str = ""
    vulnerability: float | None = None
    control: float | None = None
    over: str = ""
    gap: float | None = None
    n_parts: int | None = None


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
        spread = math.fsum((value - mean) ** 2 for value in figures) / (len(figures) - 1)
        return cls(value=mean, error=math.sqrt(spread / len(figures)), values=figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A learner at one epsilon, its figures as means over all splits.

    Attributes
    ----------
    model : str
        Name of the learner.
    epsilon : float or None
        Privacy budget; None for what is not private.
    accuracy, auroc, log_loss, bits, vulnerability, control, gap, n_parts : Mean or None
        The figures; None unless every split has one.
    over : str
        What V distinguishes records by.
    reason : str
        Why there is no accuracy, or else no bits.
    status : {"measured", "not applicable", "failed"}
        Measured if every split was.
    """

    model: str
    epsilon: float | None
    status: Status
    accuracy: Mean | None = None
    auroc: Mean | None = None
    log_loss: Mean | None = None
    bits: Mean | None = None
    vulnerability: Mean | None = None
    control: Mean | None = None
    gap: Mean | None = None
    n_parts: Mean | None = None
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
        names = ("accuracy", "auroc", "log_loss", "bits", "vulnerability", "control", "gap", "n_parts")
        means = {name: Mean.of(getattr(figure, name) for figure in figures) for name in names}
        measured = means["accuracy"] is not None
        unknown = next((figure.bits_unknown for figure in figures if figure.bits_unknown), "")
        return cls(
            model=first.model,
            epsilon=first.epsilon,
            status="measured" if measured else "failed",
            over=figures[0].over,
            reason=unknown if measured else "its accuracy is not a finite number.",
            **means,
        )

    @property
    def private(self) -> bool:
        """Whether it was trained with a privacy budget."""
        return self.epsilon is not None

    def measured(self, measure: Measure) -> Mean | None:
        """Return its accuracy, AUROC or log-loss."""
        return {"accuracy": self.accuracy, "auroc": self.auroc, "log_loss": self.log_loss}[measure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Learners on the same splits of the same records.

    Attributes
    ----------
    target : str
        What is predicted.
    classes : tuple of str
        Its classes.
    n_records, n_attributes : int
        Records, and the attributes of the domain.
    largest_class : float
        Share of the records that have the commonest class.
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
    """

    target: str
    classes: tuple[str, ...]
    n_records: int
    n_attributes: int
    largest_class: float
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

    def row(self, model: str, epsilon: float | None = None) -> Row | None:
        """Return a learner at an epsilon, if it was compared."""
        return next((row for row in self.rows if (row.model, row.epsilon) == (model, epsilon)), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.rows)} models on {self.n_splits} splits of {self.n_records} records>"
