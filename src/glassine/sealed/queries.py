"""The questions that a fit may ask of its records, each with what it costs.

A query is a frozen dataclass of public or released values. It derives its sensitivity from them, and states its
events; its draw adds noise of that sensitivity to exact counts, or chooses by them. To add one: derive from
:class:`Query`, state ``events`` by the same ``sensitivity`` that ``draw`` uses, and let all randomness pass
:mod:`glassine.sealed.draws`. ``exact`` is the answer without noise, for ordinary learners and for the tests of the
sensitivity, which compare it on all small datasets and their neighbors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

from glassine.compiling.slices import Progress
from glassine.privacy.accounting import DiscreteLaplaceNoise, Event, Selection
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Array, Ints
from glassine.sealed import draws
from glassine.sealed.accounts import Allowance
from glassine.sealed.exact_quantiles import quantiles_of_data
from glassine.sealed.model_class import ModelClass
from glassine.sealed.quantile_levels import quantile_events
from glassine.sealed.quantiles import private_quantiles
from glassine.sealed.questions import Key, Query, SealedRecords
from glassine.sealed.weighting import Weighting, exact_rate

M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles(Query[dict[str, tuple[float, ...]]]):
    """Quantiles of some numbers among public candidates, each number with an equal part of epsilon."""

    points: Mapping[str, tuple[float, ...]]  # Public cut points of each number, increasing
    number: int  # Quantiles of each
    # Of each number the intervals (a, b] of its special codes: a record with one of them has no number.
    special: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)

    def _each(self, part: Allowance) -> Fraction:
        # Public: where there are no more candidates than quantiles, all are taken and nothing is spent.
        spending = sum(len(candidates) > self.number for candidates in self.points.values())
        return part.per_record / max(1, spending)

    def events(self, part: Allowance) -> tuple[Event, ...]:
        """Return the levels of each number."""
        each = self._each(part)
        return tuple(
            event
            for name, candidates in self.points.items()
            for event in quantile_events(len(candidates), self.number, each, name=f"quantiles of {name}")
        )

    def draw(
        self, records: SealedRecords, part: Allowance, randomness: Randomness, progress: Progress | None
    ) -> dict[str, tuple[float, ...]]:
        """Select the quantiles of each number in turn; a missing value counts for none, and neither does a code."""
        each, out = self._each(part), {}
        for name, candidates in self.points.items():
            values, times = self._numbers(records, name, candidates)
            out[name] = private_quantiles(values, candidates, self.number, each, randomness, multiplicities=times)[0]
        return out

    def exact(self, records: SealedRecords) -> dict[str, tuple[float, ...]]:
        """Return quantiles of the values themselves, midway between two of them."""
        return {name: quantiles_of_data(*self._numbers(records, name), self.number) for name in self.points}

    def _numbers(
        self, records: SealedRecords, name: str, candidates: Sequence[float] | None = None
    ) -> tuple[Array, Ints | None]:
        """Return the values of a number that are neither missing nor special codes, and how often each occurs."""
        special = self.special.get(name, ())
        cuts = candidates
        if candidates is not None and special:
            # An engine distinguishes no more than these.
            cuts = sorted({*candidates, *(end for ends in special for end in ends if math.isfinite(end))})
        values, times = records.numbers(name, cuts)
        kept = np.ones(len(values), dtype=np.bool_)
        for low, high in special:
            kept &= ~((values > low) & (values <= high))
        return values[kept], None if times is None else times[kept]


@dataclass(frozen=True, slots=True)
class Label:
    """One cell for all records: their classes are counted."""

    parts = 1

    def count(self, records: SealedRecords) -> Ints:
        """Return the number of records of each class, shape (1, c)."""
        return records.pack(()).totals()[None, :]


@dataclass(frozen=True, slots=True)
class Cells(Generic[M]):
    """The leaves of a released tree, or the rules of a released list, by class."""

    members: ModelClass[M]  # The class of models, with its conditions and its loss
    member: M  # One of it, released

    @property
    def parts(self) -> int:
        """In how many parts a record counts: one, or those of a number."""
        return self.members.loss.parts

    def count(self, records: SealedRecords) -> Ints:
        """Return the number of records of each class in each leaf or rule, shape (k, c)."""
        return self.members.cell_counts(records.pack(self.members.antecedents), self.member)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts(Query[Ints]):
    """Numbers of records in disjoint cells, by class, below zero cut to zero by default."""

    key: Key
    name: str = "class counts of the leaves or rules"
    cut: bool = True  # Whether counts below zero are cut to zero, which is post-processing

    @property
    def sensitivity(self) -> int:
        """The most by which the counts move together: a record, with all its parts, is in one cell of each."""
        return self.key.parts

    def _scale(self, part: Allowance) -> Fraction:
        return self.sensitivity / part.per_record

    def events(self, part: Allowance) -> tuple[Event, ...]:
        """Return one release of discrete Laplace noise."""
        event = DiscreteLaplaceNoise(
            name=self.name,
            l1_sensitivity=float(self.sensitivity),
            scale=float(self._scale(part)),
            share=part.share,
            proof="learners/publishing.md",
        )
        return (event,)

    def draw(self, records: Any, part: Allowance, randomness: Randomness, progress: Progress | None) -> Ints:
        """Return the noisy counts."""
        noisy = draws.laplace(self.exact(records), self._scale(part), randomness)
        return (np.maximum(noisy, 0) if self.cut else noisy).astype(np.int64)

    def exact(self, records: Any) -> Ints:
        """Return the counts."""
        return self.key.count(records)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gibbs(Query[M]):
    """A member of a class of models, drawn with probability proportional to its prior times exp(-epsilon cost)."""

    members: ModelClass[M]  # The class: public, or released, conditions and costs
    prior: float  # Prior weight of each split or rule
    slack: float  # What rounding may add to the draw: of the largest class that the plan can lead to
    name: str

    def __post_init__(self) -> None:
        if not self.slack >= self.members.rounding():
            raise ValueError("the slack must cover the rounding of the class that is drawn from")

    def rate(self, part: Allowance) -> Fraction:
        """Return the epsilon of a part of a record: what rounding may add is taken off beforehand."""
        return (part.epsilon - Fraction(self.slack)) / part.unit.most_records / self.members.loss.parts

    def spent(self, part: Allowance) -> Fraction:
        """Return the epsilon of the draw for one record, which costs the loss's unit in each of its parts at most."""
        loss = self.members.loss
        return exact_rate(self.rate(part) / loss.unit) * loss.unit * loss.parts

    def events(self, part: Allowance) -> tuple[Event, ...]:
        """Return one selection: one more record makes no model cheaper."""
        event = Selection(
            name=self.name,
            inverse_temperature=float(self.spent(part)),
            sensitivity=1.0,
            monotone=True,
            slack=self.slack,
            share=part.share,
            proof="learners/exhaustive/private.md",
        )
        return (event,)

    def draw(self, records: SealedRecords, part: Allowance, randomness: Randomness, progress: Progress | None) -> M:
        """Draw a member exactly."""
        bitsets = records.pack(self.members.antecedents)
        weighting = Weighting.private(self.rate(part), self.prior, self.members.loss.unit)
        return self.members.sums(bitsets, weighting, progress).draw(randomness)

    def exact(self, records: SealedRecords) -> M:
        """Return a member of least cost."""
        bitsets = records.pack(self.members.antecedents)
        return self.members.sums(bitsets, Weighting.optimal(0.0)).best()

    def load(self) -> None:
        """Load the kernels of the class."""
        self.members.load()
