"""What an attack returns: a measured value, or the reason why there is none. Unknown is never safe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from glassine.errors import Text

__all__ = ["About", "Below", "Failed", "Hidden", "Measured", "NotApplicable", "Outcome", "ShownCount"]

T = TypeVar("T")


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


Outcome: TypeAlias = Measured[T] | NotApplicable | Failed
