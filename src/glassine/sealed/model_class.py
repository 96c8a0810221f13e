"""A class of models that is small enough to be summed whole, and the limits of what is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import log10
from typing import Any, ClassVar, Generic, NotRequired, Protocol, Self, TypedDict, TypeVar, Unpack

import numpy as np

from glassine.compiling.slices import Progress
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import ClassTooLargeError, InvalidParameterError, parameter, quoted
from glassine.models import DecisionTree, Evidence, Guarantee, RuleList
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Ints
from glassine.records.bits import BitSets
from glassine.resources import human_bytes
from glassine.sealed.losses import MOST_STEPS, LeafCosts
from glassine.sealed.weighting import LOG_RANGE, Weighting

SECONDS_PER_STEP = 7e-9
"""Time of one choice of one node and class on one core of a 2020s server; the estimate's only constant."""


def check_limit(limit: object, name: str) -> float:
    """Return a limit on memory or time, which may be infinite; or raise InvalidParameterError."""
    if isinstance(limit, bool) or not isinstance(limit, int | float | np.integer | np.floating) or not limit > 0:
        raise InvalidParameterError(
            f"{parameter(name)} must be a positive number, got {quoted(limit)}.", remedy="Leave it out for the default."
        )
    try:
        return float(limit)
    except OverflowError:  # a whole number beyond all floats
        return math.inf


def check_size(
    what: str,
    ways_out: str,
    *,
    table_bytes: int,
    steps: int,
    memory_limit: float,
    time_limit: float,
    log_range: float = 0.0,
) -> None:
    """Raise ClassTooLargeError if the tables, the steps or the weights of a class exceed the limits."""
    # Both follow from public quantities alone, so that the refusal reveals nothing about the records.
    memory_limit, time_limit = check_limit(memory_limit, "memory_limit"), check_limit(time_limit, "time_limit")
    seconds = steps * SECONDS_PER_STEP
    if not log_range <= LOG_RANGE:
        raise ClassTooLargeError(
            f"{what}: the sum of the weights of this class can reach e^{log_range:.0f} or its inverse, beyond what is "
            f"summed exactly (e^{LOG_RANGE:.0f}). {ways_out} A prior weight nearer to 1 also helps.",
            bytes_needed=table_bytes,
            seconds_needed=seconds,
        )
    if table_bytes <= memory_limit and seconds <= time_limit:
        return
    time = f"{seconds:.0f} s" if seconds < 1e6 else f"10^{log10(seconds):.0f} s"
    raise ClassTooLargeError(
        f"{what}: summing this class needs {human_bytes(table_bytes)} and about {time} on one core, the limits are "
        f"{parameter('memory_limit=')}{human_bytes(memory_limit)} and {parameter('time_limit=')}{time_limit:g} s. "
        f"{ways_out}",
        bytes_needed=table_bytes,
        seconds_needed=seconds,
    )


M = TypeVar("M")


class Statement(TypedDict):
    """What a published model states beside its leaves or rules."""

    domain: Domain
    classes: tuple[Scalar, ...] | None
    source: str
    guarantee: NotRequired[Guarantee | None]


class Sums(Protocol[M]):
    """Sums over a class of models on some records, from which a member is drawn or the best one taken."""

    def draw(self, randomness: Randomness) -> M:
        """Draw a member with probability proportional to its prior weight times exp(-epsilon cost), exactly."""
        ...

    def best(self) -> M:
        """Return a member of least cost, the first in a public order among equals."""
        ...

    def class_counts(self, drawn: M) -> Ints:
        """Return the exact class counts of a member's leaves or rules, shape (k, c)."""
        ...

    def log_size(self) -> float:
        """Return the natural logarithm of the sum of all weights."""
        ...


class ModelClass(ABC, Generic[M]):
    """All models of a kind and size over public conditions; nothing of it is read from data."""

    __slots__ = ()

    ways_out: ClassVar[str]
    """What to do where the class is too large."""

    loss: LeafCosts

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.loss.n_classes

    @property
    @abstractmethod
    def antecedents(self) -> Sequence[tuple[Literal, ...]]:
        """The p public conditions, each a conjunction: what the bit sets of the records hold, in this order."""

    @abstractmethod
    def text(self) -> str:
        """Return what the class is, in words."""

    @abstractmethod
    def table_bytes(self) -> int:
        """Return the bytes of the tables that a fit holds at once, besides the bit sets of the records."""

    @abstractmethod
    def steps(self) -> int:
        """Return the number of choices that a fit weighs."""

    @abstractmethod
    def log_range(self, part_weight: float) -> float:
        """Return a bound on the range of the logarithms of sums of weights over the class, largest less least."""

    def log_weight(self, part_weight: float) -> float:
        """Return the logarithm of the prior weight of the class over that of any member, or a bound above it."""
        if part_weight == 1 and self.log_range(1.0) <= LOG_RANGE:
            return self.log_count()
        return self.log_range(part_weight)

    @abstractmethod
    def rounding(self) -> float:
        """Return a bound on the log-ratio that rounding adds to a draw, for two datasets; see ``gibbs.md``."""

    @abstractmethod
    def sums(self, bitsets: BitSets, weighting: Weighting, progress: Progress | None = None) -> Sums[M]:
        """Return the sums over the class on some records, given as the bit sets of the conditions."""

    @abstractmethod
    def cell_counts(self, bitsets: BitSets, drawn: M) -> Ints:
        """Return the class counts of a member's leaves or rules, in order, shape (k, c)."""

    @abstractmethod
    def load(self) -> None:
        """Load or compile the kernels of the sums over the class; which ones follows from public sizes."""

    @abstractmethod
    def values(self, drawn: M) -> tuple[int, ...]:
        """Return the values of a member's leaves or rules, in order, as numbers in the grid of the loss."""

    @abstractmethod
    def publish(self, drawn: M, cells: Sequence[Evidence], **stated: Unpack[Statement]) -> DecisionTree | RuleList:
        """Return a member as a published model, with what is published of its leaves or rules, in order."""

    @abstractmethod
    def with_loss(self, loss: LeafCosts) -> Self:
        """Return the class of the same structures under another loss."""

    def log_count(self) -> float:
        """Return the natural logarithm of the number of models, values distinguished."""
        if not self.log_range(1.0) <= LOG_RANGE:
            raise ClassTooLargeError(
                f"the class has up to e^{self.log_range(1.0):.0f} models, more than are numbered (e^{LOG_RANGE:.0f}).",
                remedy="Take a smaller class.",
                bytes_needed=self.table_bytes(),
                seconds_needed=0.0,
            )
        # On no records every model has the weight one, so that their sum numbers the class. A model has one part more
        # than splits or rules: with one value alone, the values are a factor of each of these, and one more.
        nothing = np.zeros(0, dtype=np.int64)
        empty = BitSets.pack([nothing.astype(bool)] * len(self.antecedents), nothing, 1)
        structures = self.with_loss(LeafCosts.errors(1)).sums(empty, Weighting.count(self.loss.n_values))
        return math.log(self.loss.n_values) + structures.log_size()

    def refuse_too_large(
        self,
        *,
        memory_limit: float,
        time_limit: float,
        more_bytes: int = 0,
        part_weight: float | None = None,
        times: int = 1,
    ) -> None:
        """Raise ClassTooLargeError if summing the class so many times may exceed the limits."""
        check_size(
            self.text() + (f", {times} times" if times > 1 else ""),
            self.ways_out,
            table_bytes=self.table_bytes() + more_bytes,
            steps=self.steps() * times,
            memory_limit=memory_limit,
            time_limit=time_limit,
            log_range=0.0 if part_weight is None else self.log_range(part_weight),
        )


C = TypeVar("C", bound=ModelClass[Any])


def as_fine_as_summed(members: C, loss_of: Callable[[int], LeafCosts], part_weight: float = 1.0) -> C:
    """Return a class with a coarser grid of values where the weights of deep trees could not be summed otherwise."""
    steps = MOST_STEPS
    while steps > 1 and not members.loss.counts_errors and not members.log_range(part_weight) <= LOG_RANGE:
        steps -= 1
        members = members.with_loss(loss_of(steps))
    return members
