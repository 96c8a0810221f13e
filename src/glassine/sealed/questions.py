"""What a question of a fit is: a value with its price, which follows from public and released values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from glassine.compiling.slices import Progress
from glassine.domain import Literal
from glassine.privacy.accounting import Event
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Array, Ints
from glassine.records.bits import BitSets
from glassine.sealed.accounts import Allowance

A = TypeVar("A")


class SealedRecords(Protocol):
    """What a query may ask of the records; no method of it is called outside this room."""

    @property
    def n_records(self) -> int:
        """Number of records, multiplicities counted."""
        ...

    def numbers(self, name: str, cuts: Sequence[float] | None = None) -> tuple[Array, Ints | None]:
        """Return the values of a number that are not missing, and how many records have each; None for one each."""
        ...

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the records, or their parts, as bit sets of conjunctions."""
        ...


class Query(ABC, Generic[A]):
    """A question with its price: events follow from public and released values alone."""

    __slots__ = ()

    @abstractmethod
    def events(self, part: Allowance) -> tuple[Event, ...]:
        """Return what the answer costs, for neighbors that differ by one record."""

    @abstractmethod
    def draw(self, records: Any, part: Allowance, randomness: Randomness, progress: Progress | None) -> A:
        """Return the answer, with the noise that the events state."""

    @abstractmethod
    def exact(self, records: Any) -> Any:
        """Return the answer without noise, or what is chosen by."""

    def load(self) -> None:
        """Load or compile the kernels that the answer needs."""


class Key(Protocol):
    """A cell for each record, or for each of its parts: cells are disjoint."""

    @property
    def parts(self) -> int:
        """In how many parts a record counts."""
        ...

    def count(self, records: Any) -> Ints:
        """Return the exact number of records, or parts, in each cell and of each class."""
        ...
