"""The protocol of an attack: what it measures of a published model, how an audit runs it, and what a report may show.

An attack is a module of this package: a value that holds what it measures, a function that measures it, and a
:class:`Measurement` that says how an audit asks for it. See "How to add an attack" in docs/contributing.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from glassine.attacks.audience import Audience
from glassine.attacks.outcome import Outcome, ShownCount
from glassine.domain import Domain
from glassine.models import DecisionTree, RuleList

__all__ = ["Hiding", "Measurement", "Published", "Question"]

S = TypeVar("S")
R = TypeVar("R")


class Published(Protocol):
    """A published tree or rule list with what was given beside it, as an attack reads it."""

    @property
    def model(self) -> DecisionTree | RuleList:
        """The model."""

    @property
    def domain(self) -> Domain | None:
        """The attributes of records; None where no domain was given or inferred."""

    @property
    def columns(self) -> Mapping[str, npt.NDArray[Any]] | None:
        """The training records, shape (n,) each; None where there are none, or they may not be read one by one."""

    @property
    def rows(self) -> npt.NDArray[np.intp] | None:
        """The leaf or rule of each training record, shape (n,)."""

    @property
    def noise(self) -> str | None:
        """Why the published counts measure nothing, if they are noisy."""


class Hiding(Protocol):
    """What may be shown of small counts; the suppression of an audit is one."""

    @property
    def below(self) -> int:
        """Counts from 1 to just below this are not shown; 0 shows everything."""

    def count(self, value: ShownCount) -> ShownCount:
        """Return a count as it may be shown."""

    def rough(self, value: ShownCount) -> ShownCount:
        """Return a count rounded so that neither it nor its complement can be had by subtraction."""

    def share(self, value: float) -> float:
        """Return a share of one class, rounded down to a twentieth."""

    def proportion(self, value: float, n: int) -> float:
        """Return a share of n records, too coarse to solve for a small count."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a measurement answers, in the words of every report.

    Attributes
    ----------
    name : str
        Its name in findings and in ``only``.
    title, question : str
        What it is called, and what it answers.
    short : str
        What it is about in a word or two; the title in small letters otherwise.
    """

    name: str
    title: str
    question: str
    short: str = ""


def _as_measured(value: Any, hiding: Any) -> Any:
    return value


@dataclass(frozen=True, kw_only=True)
class Measurement(Question, Generic[S, R]):
    """Something that can be measured of what is published: an attack, or a count of what is in it.

    Attributes
    ----------
    finding : type
        What findings hold of it: what ``hide`` returns. The JSON schema of findings follows from it.
    run : callable
        Measures it. What a measurement needs that others need too, such as leaf sizes, the subject computes once.
    hide : callable
        Returns what was measured as findings may hold it, small counts suppressed.
    asked : bool
        Whether an audit makes it without being asked: not if it takes minutes.
    listed : bool
        Whether a report lists it among the questions of the audit: not what is always there, such as the leaves.
    audience : str
        ``checker`` where it is measured on records, so that no public report holds it; else ``public``.
    """

    finding: Any
    run: Callable[[S], Outcome[R]]
    hide: Callable[[R, Any], Any] = _as_measured
    asked: bool = True
    listed: bool = True
    audience: Audience = "public"

    @property
    def words(self) -> Question:
        """The question alone, as findings keep it: they can be copied and pickled, functions cannot."""
        return Question(name=self.name, title=self.title, question=self.question, short=self.short)

    def made_by(self, run: Callable[[Any], Outcome[R]]) -> Measurement[Any, R]:
        """Return the measurement as made of another kind of subject."""
        return replace(self, run=run)

    def absent(self, reason: Outcome[Any]) -> Measurement[Any, Any]:
        """Return the measurement where it does not apply to a kind of subject, for a reason."""
        return replace(self, run=lambda subject: reason)
