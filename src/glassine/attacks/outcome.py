"""What an attack returns: a measured value, or the reason why there is none. Unknown is never safe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

__all__ = ["Count", "Failed", "Measured", "NotApplicable", "Outcome"]

T = TypeVar("T")

Count: TypeAlias = int | str
"""A number of records, or a text such as ``<10`` where it is suppressed."""


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
        What is missing, and how to give it.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The measurement was tried and did not succeed.

    Attributes
    ----------
    reason : str
        Why.
    """

    reason: str


Outcome: TypeAlias = Measured[T] | NotApplicable | Failed
