"""What a black box answers: names of classes, or numbers in a public range; trees and measures work on their places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from glassine.data.person_counts import Persons
from glassine.domain.attributes import Scalar, exact, is_scalar
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.models import Evidence
from glassine.records.arrays import AnyArray, Array, Bools, Ints
from glassine.records.columns import ConformedColumns

FEWEST_BEHIND_MEANS = 3
"""Fewest records of a group or a leaf with a mean: of two, each gives the other's answer."""

MOST_STEPS = 10**9
"""Most steps of a range: places are whole numbers that a double holds exactly, and so are their sums."""

TOLERANCE = 20
"""Into how many parts of its range a tolerance that is not stated divides it."""

Goal: TypeAlias = Literal["met", "within reach", "out of reach"]
REACHED: dict[Goal | None, str] = {
    "met": ". The mean is as sought already",
    "out of reach": ". No allowed change was found to lead to the mean that is sought",
}
"""What an explanation says of a number that is sought, besides its contrasts."""

Places = Ints
"""Where answers stand, shape (n,): the index of a class, or the number of steps above a lower bound; -1 for neither."""


@dataclass(frozen=True, slots=True)
class Names:
    """Answers that are classes: the place of one is its index, and -1 stands for none of them."""

    classes: tuple[Scalar, ...]

    @property
    def tree_classes(self) -> tuple[Scalar, ...] | None:
        """The classes."""
        return self.classes

    def places(self, answered: AnyArray) -> Places:
        """Return the index of each label among the classes, -1 for another one."""
        where = {value: i for i, value in enumerate(self.classes)}
        return np.fromiter((where.get(value, -1) for value in answered.tolist()), dtype=np.int64, count=len(answered))

    def value(self, place: int) -> Scalar:
        """Return a class."""
        return self.classes[place]

    def given_by(self, evidence: Evidence) -> int | None:
        """Return the class that a leaf predicts."""
        return evidence.prediction

    def agree(self, one: AnyArray, other: AnyArray) -> Bools:
        """Return whether classes are the same."""
        return np.asarray((one == other) & (one >= 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericAnswer:
    """The public range and step of a black box that answers with numbers.

    All of it is published: take it from what is known of the black box, not from its answers.

    Attributes
    ----------
    lo, hi : float
        Smallest and largest answer, in the unit of the answers. An answer outside is refused.
    step : float
        Means are rounded to ``lo`` plus a whole number of steps. With m records behind a mean, an attacker who knows
        the other answers learns the last one up to about ``m * step / 2`` in either direction; with persons, a record
        that many of them have up to half a step over its share of the people.
    tolerance : float, optional
        A mean agrees with an answer that is certainly at most so far away, rounding to a step counted in; by
        default a twentieth of the range, or half a step if that is more.

    Raises
    ------
    InvalidParameterError
        If ``lo >= hi``, the step does not divide the range into 2 to a billion equal parts, or the tolerance is not in
        ``[step / 2, hi - lo)``.

    Examples
    --------
    >>> price = NumericAnswer(lo=0, hi=500_000, step=5_000)
    >>> price.places(np.array([12_400, 600_000], dtype=object)).tolist(), price.value(2), price.tolerance
    ([2, -1], 10000, 25000.0)
    """

    lo: float
    hi: float
    step: float
    tolerance: float | None = None

    def __post_init__(self) -> None:
        for name in ("lo", "hi", "step"):
            value: object = getattr(self, name)
            value = value.item() if isinstance(value, np.generic) else value
            if not _is_number(value):
                raise InvalidParameterError(f"{parameter(name)} of an answer must be a finite number, got {value!r}.")
            object.__setattr__(self, name, value)
        width = exact(self.hi) - exact(self.lo)
        if not width > 0:
            raise InvalidParameterError(
                f"an answer needs lo < hi, got {parameter('lo=')}{self.lo} and {parameter('hi=')}{self.hi}.",
                remedy="Swap or widen the bounds.",
            )
        step = exact(self.step)
        if not 0 < 2 * step <= width or width / step > MOST_STEPS or width % step:
            raise InvalidParameterError(
                f"{parameter('step')} must divide the range of {float(width):g} into 2 to {MOST_STEPS:,} equal parts, "
                f"got {self.step}.",
                remedy="Give the precision in which a mean may be published.",
            )
        tolerance: Any = float(max(width / TOLERANCE, step / 2)) if self.tolerance is None else self.tolerance
        if not _is_number(tolerance) or not step / 2 <= exact(tolerance) < width:
            raise InvalidParameterError(
                f"{parameter('tolerance')} must lie in [{float(step / 2):g}, {float(width):g}), half a step and the "
                f"range, got {self.tolerance!r}."
            )
        object.__setattr__(self, "tolerance", float(tolerance))

    @property
    def n_steps(self) -> int:
        """Number of steps in the range."""
        return int((exact(self.hi) - exact(self.lo)) / exact(self.step))

    @property
    def slack(self) -> int:
        """Number of steps between a mean and a rounded answer that the tolerance certainly covers."""
        return math.floor(exact(self.tolerance or 0.0) / exact(self.step) - Fraction(1, 2))

    @property
    def tree_classes(self) -> tuple[Scalar, ...] | None:
        """None: the trees are regressions."""
        return None

    def places(self, answered: AnyArray) -> Places:
        """Return the number of steps nearest to each answer, -1 for one that is not a number in the range."""
        numbers = np.array([value if _is_number(value) else np.nan for value in answered.tolist()], dtype=float)
        steps = np.rint((numbers - float(self.lo)) / float(self.step))
        inside = (numbers >= self.lo) & (numbers <= self.hi)
        return np.where(inside, np.minimum(np.where(inside, steps, 0), self.n_steps), -1).astype(np.int64)

    def parts(self, places: Places, number: int) -> Places:
        """Return how many of so many equal parts of the range each answer lies above its lower end; -1 stays."""
        return np.where(places < 0, -1, np.rint(places * (number / self.n_steps))).astype(np.int64)

    def drawn(self, share: float) -> Evidence:
        """Return what a leaf holds whose value was drawn as a share of the range: the nearest step."""
        return Evidence(value=float(self.value(round(share * self.n_steps))))

    def value(self, place: int) -> Scalar:
        """Return the answer that is so many steps above the lower bound."""
        value = float(exact(self.lo) + place * exact(self.step))
        return int(value) if value.is_integer() else value

    def given_by(self, evidence: Evidence) -> int | None:
        """Return the steps of a leaf's mean; None where it publishes none, or one between two steps."""
        if evidence.value is None:
            return None
        place = round((exact(evidence.value) - exact(self.lo)) / exact(self.step))
        return place if 0 <= place <= self.n_steps and self.value(place) == evidence.value else None

    def agree(self, one: AnyArray, other: AnyArray) -> Bools:
        """Return whether a mean and an answer are certainly at most the tolerance apart, given the places of both."""
        return np.asarray((np.abs(one - other) <= self.slack) & (one >= 0) & (other >= 0))

    def mean(self, places: Places, whose: Persons) -> Scalar:
        """Return the mean over the people, or distinct records, of the mean of each one's answers, on a step."""
        return self.value(int(np.rint(whose.mean(places.astype(float)).mean())))


Answers: TypeAlias = Names | NumericAnswer
"""What a black box may answer, as whole numbers."""


def numbers_of(answered: AnyArray) -> Array:
    """Return answers as numbers, shape (n,)."""
    values: Sequence[Any] = answered.tolist()
    odd = sum(not _is_number(value) for value in values)
    if odd:
        raise InvalidDataError(
            f"{odd:,} of {len(values):,} answers are not finite numbers, and a numeric answer is declared.",
            remedy="Answer with numbers, or declare classes.",
        )
    return np.array(values, dtype=float)


def plain_label(value: Any) -> Scalar | None:
    """Return a label as a plain scalar, whole floats as integers; None for what is no label."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    return plain if is_scalar(plain) else None


def _is_number(value: object) -> bool:
    return not isinstance(value, bool | str) and is_scalar(value)


def distinct_records(columns: ConformedColumns) -> Persons:
    """Return the records as persons of whom equal ones are the same: so that distinct records are counted."""
    rows = np.column_stack([np.asarray(columns.array(name), dtype=float) + 0.0 for name in columns.names])
    rows = np.ascontiguousarray(np.where(np.isnan(rows), np.nan, rows))
    return Persons(keys=tuple(row.tobytes() for row in rows))


def index_of(labels: AnyArray, answers: Answers, what: str) -> Ints:
    """Return the place of each label among the classes, or in the range."""
    out = answers.places(labels)
    odd = int((out < 0).sum())
    if odd and isinstance(answers, NumericAnswer):
        raise InvalidDataError(
            f"{odd:,} of {len(out):,} answers of {what} are not numbers in the declared range, [{answers.lo}, "
            f"{answers.hi}].",
            remedy="Declare a wider public range, or clip the answers.",
        )
    if odd:
        raise InvalidDataError(
            f"{odd} labels of {what} are not declared as classes, in the same words.",
            remedy="Declare or translate them, or leave classes out.",
        )
    return out


def formatted(answer: Scalar) -> str:
    """Return an answer as sentences show it: a number with separators of thousands."""
    return f"{answer:,.6g}" if isinstance(answer, float) else f"{answer:,}" if type(answer) is int else str(answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerErrors:
    """How far numeric answers of explanations are from the black box's, in the unit of the answers.

    Attributes
    ----------
    rmse, rmse_guided : float
        Root mean squared error of the mean that the returned tree holds, by Protocol 1 and Protocol 2.
    rmse_null : float
        The same as ``rmse_guided`` with as many groups taken at random instead of the closest.
    rmse_baseline : float
        That of the mean of the answers on these records, which is what no explanation gives.
    r2, r2_guided : float or None
        One less the squared ratio of ``rmse`` or ``rmse_guided`` to the baseline; None where all answers are equal.
    """

    rmse: float
    rmse_guided: float
    rmse_null: float
    rmse_baseline: float
    r2: float | None
    r2_guided: float | None
