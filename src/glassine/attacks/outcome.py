"""The protocol of an attack: what it measures of a published model, what it returns, and for whom each figure is.

An attack is a module of this package: a value that holds what it measures, a function that measures it, and a
:class:`Measurement` that says how an audit asks for it. See "How to add an attack" in docs/contributing.md. It returns
a measured value, or the reason why there is none: unknown is never safe.

Each measurement, each field of a finding and each note states its own audience: the checker, who may see what was
measured on records, or the public. Before anything is written, :func:`for_public` leaves out what is for the checker
only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from glassine.domain import Domain
from glassine.errors import Text
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import AnyArray, Indices

T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Below:
    """A small count that is suppressed: from 1 to just below a limit.

    Attributes
    ----------
    below : int
        The limit.
    """

    below: int

    def __str__(self) -> str:
        return f"fewer than {self.below}"


@dataclass(frozen=True, slots=True)
class About:
    """A count that is rounded to a multiple of the suppression limit.

    Attributes
    ----------
    about : int
        The rounded count.
    """

    about: int

    def __str__(self) -> str:
        return f"about {self.about:,}"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A count that is suppressed because a small one follows from it by subtraction."""

    def __str__(self) -> str:
        return "hidden"


ShownCount: TypeAlias = int | Below | About | Hidden
"""A count of records as a report may show it. JSON: 12, ``{"below": 10}``, ``{"about": 30}``, null."""


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """A measured value.

    Attributes
    ----------
    value : object
        What was measured.
    """

    value: T


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """Nothing to measure, or too little given to measure it.

    Attributes
    ----------
    reason : str
        What is missing, and how to give it; parameters may be marked, see :class:`glassine.errors.Text`.
    """

    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", Text(self.reason))


@dataclass(frozen=True, slots=True)
class Failed:
    """The measurement was tried and did not succeed.

    Attributes
    ----------
    reason : str
        Why; parameters may be marked, see :class:`glassine.errors.Text`.
    """

    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", Text(self.reason))


class OutOfBudget(Failed):
    """The measurement was ended, or not begun, as the budget is spent: what it would have found is unknown."""

    __slots__ = ()


Outcome: TypeAlias = Measured[T] | NotApplicable | Failed


Audience: TypeAlias = Literal["checker", "public"]

PUBLIC = "public"
"""Key in the metadata of a field: what stands in its place in a public report."""


class RecordNote(Text):
    """A note on records: for the checker only."""

    __slots__ = ()


UNCOVERED = RecordNote("The guarantee covers what is published, not these figures: they were measured on the records.")
"""What every figure of records beside a claimed guarantee needs to be read with."""


@runtime_checkable
class Publishable(Protocol):
    """A finding that is for the checker under a condition, which it knows."""

    def public(self) -> object | None:
        """Return it as a public report may hold it; None where all of it is for the checker only."""


def for_checker(*, public: object = None) -> dict[str, object]:
    """Return the metadata of a field that is for the checker only, and what stands in its place for the public."""
    return {PUBLIC: public}


def for_public(value: object) -> Any:
    """Return a finding without the fields that are for the checker only; None where nothing is left."""
    if isinstance(value, Measured):
        inner = for_public(value.value)
        return None if inner is None and value.value is not None else Measured(inner)
    if isinstance(value, tuple):
        return tuple(for_public(item) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if isinstance(value, Publishable):
        return value.public()
    kept = {entry.name: entry.metadata.get(PUBLIC, for_public(getattr(value, entry.name))) for entry in fields(value)}
    return replace(value, **kept)


class AttackTarget(Protocol):
    """A published tree or rule list with what was given beside it, as an attack reads it."""

    @property
    def model(self) -> DecisionTree | RuleList:
        """The model."""

    @property
    def domain(self) -> Domain | None:
        """The attributes of records; None where no domain was given or inferred."""

    @property
    def columns(self) -> Mapping[str, AnyArray] | None:
        """The training records, shape (n,) each; None where there are none, or they may not be read one by one."""

    @property
    def rows(self) -> Indices | None:
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


@dataclass(frozen=True)
class Question:
    """What a measurement answers, in the words of every report.

    Attributes
    ----------
    name : str
        Its name in findings and in ``measurements``.
    title, question : str
        What it is called, and what it answers.
    short : str
        What it is about in a word or two; the title in small letters otherwise.
    """

    name: str
    title: str
    question: str
    short: str = field(kw_only=True, default="")


@dataclass(frozen=True)
class Measurement(Question, Generic[S, R]):
    """Something that can be measured of what is published: an attack, or a count of what is in it.

    As a decorator it returns itself as made by a function, which is the one of another kind of subject as well.

    Attributes
    ----------
    finding : type
        What findings hold of it: what ``hide`` returns. The JSON schema of findings follows from it.
    facts : callable
        Returns what criteria read of it, by name: of a subject, this outcome, and those of all measurements by name.
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

    finding: Any = None
    run: Callable[[S], Outcome[R]] = field(kw_only=True, default=lambda subject: NotApplicable("it was not measured."))
    hide: Callable[[R, Any], Any] = field(kw_only=True, default=lambda value, hiding: value)
    facts: Callable[[Any, Outcome[R], Mapping[str, Outcome[Any]]], Mapping[str, Any]] = field(
        kw_only=True, default=lambda subject, outcome, raw: {}
    )
    asked: bool = field(kw_only=True, default=True)
    listed: bool = field(kw_only=True, default=True)
    audience: Audience = field(kw_only=True, default="public")

    def __call__(self, run: Callable[[Any], Outcome[R]]) -> Measurement[Any, R]:
        """Return the measurement as made by a function."""
        return replace(self, run=run)

    @property
    def words(self) -> Question:
        """The question alone, as findings keep it: they can be copied and pickled, functions cannot."""
        return Question(self.name, self.title, self.question, short=self.short)
