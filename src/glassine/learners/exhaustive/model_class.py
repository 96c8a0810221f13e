"""A class of models that is small enough to be summed whole: what trees and rule lists have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from glassine.data.bits import BitSets
from glassine.data.slices import Progress
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import ClassTooLargeError
from glassine.learners.exhaustive.gibbs import LOG_RANGE, Weighting
from glassine.learners.exhaustive.losses import Loss
from glassine.learners.limits import check_size
from glassine.models import DecisionTree, Evidence, Guarantee, RuleList
from glassine.privacy.randomness import Randomness

__all__ = ["ModelClass", "Sums"]

M = TypeVar("M")


class Sums(Protocol[M]):
    """Sums over a class of models on some records, from which a member is drawn or the best one taken."""

    def draw(self, randomness: Randomness) -> M:
        """Draw a member with probability proportional to its prior weight times exp(-epsilon cost), exactly."""
        ...

    def best(self) -> M:
        """Return a member of least cost, the first in a public order among equals."""
        ...

    def class_counts(self, drawn: M) -> npt.NDArray[np.int64]:
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

    loss: Loss

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
        """Return a bound on the log-ratio that rounding adds to a draw, for two data sets; see ``gibbs.md``."""

    @abstractmethod
    def sums(self, bitsets: BitSets, weighting: Weighting, progress: Progress | None = None) -> Sums[M]:
        """Return the sums over the class on some records, given as the bit sets of the conditions."""

    @abstractmethod
    def values(self, drawn: M) -> tuple[int, ...]:
        """Return the values of a member's leaves or rules, in order, as numbers in the grid of the loss."""

    @abstractmethod
    def publish(
        self,
        drawn: M,
        cells: Sequence[Evidence],
        *,
        domain: Domain,
        classes: tuple[Scalar, ...] | None,
        source: str,
        guarantee: Guarantee | None = None,
    ) -> DecisionTree | RuleList:
        """Return a member as a published model, with what is published of its leaves or rules, in order."""

    @abstractmethod
    def with_loss(self, loss: Loss) -> Self:
        """Return the class of the same structures under another loss."""

    def log_count(self) -> float:
        """Return the natural logarithm of the number of models, values distinguished.

        Raises
        ------
        ClassTooLargeError
            If the number can exceed exp(600).
        """
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
        structures = self.with_loss(Loss.errors(1)).sums(empty, Weighting.count(self.loss.n_values))
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
        """Raise ClassTooLargeError if summing the class so many times may exceed the limits.

        Parameters
        ----------
        memory_limit, time_limit : float
            Most bytes, and most seconds.
        more_bytes : int, default=0
            Bytes of tables besides those of the class.
        part_weight : float, optional
            Prior weight of each split or rule of a private draw, whose weights must be summed in floating point; the
            best member needs none.
        times : int, default=1
            How often the class is summed.
        """
        check_size(
            self.text() + (f", {times} times" if times > 1 else ""),
            self.ways_out,
            table_bytes=self.table_bytes() + more_bytes,
            steps=self.steps() * times,
            memory_limit=memory_limit,
            time_limit=time_limit,
            log_range=0.0 if part_weight is None else self.log_range(part_weight),
        )
