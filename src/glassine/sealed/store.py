"""The records of one fit as its queries ask for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.records.arrays import Array, Bools, Ints
from glassine.records.bits import BitSets, truths
from glassine.records.columns import ConformedColumns
from glassine.sealed.losses import PARTS
from glassine.sealed.persons import CountedPersons


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HeldIntake:
    """Records and classes in memory."""

    columns: ConformedColumns  # Rows that conform to the domain; shape (m, d)
    labels: Ints  # Index of each row's class; shape (m,)
    # How many records each row stands for, in parts of one, shape (m,); None for one each.
    multiplicities: Ints | None
    domain: Domain  # The public domain of the attributes, without the target
    classes: tuple[Scalar, ...]  # The public classes
    caveats: tuple[str, ...]  # What was taken from the data although it should be public
    persons: CountedPersons | None = None  # Whose records they are, if that matters
    values: Array | None = None  # Numbers brought to [-1, 1], where the target is one; shape (m,)
    per_record: int = 1  # Parts of one record: more where rows weigh fractions of it

    @property
    def n_records(self) -> int:
        """Number of records, multiplicities counted, in parts of one."""
        return len(self.labels) if self.multiplicities is None else int(self.multiplicities.sum())

    @property
    def unit(self) -> PrivacyUnit:
        """Whose data a private fit covers."""
        return RECORD if self.persons is None else self.persons.unit

    @property
    def weights(self) -> Mapping[str, str]:
        """What a certificate says of the weights of persons."""
        return {} if self.persons is None else self.persons.weights

    def take(self, rows: Bools) -> HeldIntake:
        """Return some of the rows, perhaps none: domain and classes are those of all."""
        return replace(
            self,
            columns=self.columns.take(rows),
            labels=self.labels[rows],
            multiplicities=None if self.multiplicities is None else self.multiplicities[rows],
            persons=None if self.persons is None else self.persons.take(rows),
            values=None if self.values is None else self.values[rows],
        )

    def numbers(self, name: str, cuts: Sequence[float] | None = None) -> tuple[Array, Ints | None]:
        """Return the values of a number that are not missing, and how many records have each."""
        values = self.columns.numbers[name]
        present = ~np.isnan(values)
        return values[present], None if self.multiplicities is None else self.multiplicities[present]

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the records as bit sets of conjunctions; of a number its parts."""
        if self.values is not None:
            return self._pack_parts(upper_parts(self.values), antecedents)
        return BitSets.pack(truths(self.columns, antecedents), self.labels, len(self.classes), self.multiplicities)

    def _pack_parts(self, upper: Ints, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        parts = np.column_stack([PARTS - upper, upper])
        if self.multiplicities is not None:
            parts *= self.multiplicities[:, None]
        return BitSets.pack_counts(truths(self.columns, antecedents), parts)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NumericIntake(HeldIntake):
    """Records and numbers in memory; ``labels`` are the parts of the upper class, and there are no classes."""

    target_range: tuple[float, float]  # The public range of the target
    targets: Array  # The targets, clipped to it; shape (m,)

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the parts of the records as bit sets of conjunctions."""
        return self._pack_parts(self.labels, antecedents)


def upper_parts(values: Array) -> Ints:
    """Return how many parts of each record are of the upper class, by its own number alone; shape (n,)."""
    return np.rint((values + 1) / 2 * PARTS).astype(np.int64)


class Store:
    """Records that are read, and the bit sets of the conditions that were asked for last."""

    __slots__ = ("_conditions", "_packed", "_records")

    def __init__(self, records: Any) -> None:
        self._records = records
        self._conditions: tuple[tuple[Literal, ...], ...] | None = None
        self._packed: BitSets | None = None

    def __repr__(self) -> str:
        return "<Store>"

    @property
    def records(self) -> Any:
        """The records, for queries that take parts of them."""
        return self._records

    @property
    def n_records(self) -> int:
        """Number of records, multiplicities counted."""
        return int(self._records.n_records)

    def numbers(self, name: str, cuts: Sequence[float] | None = None) -> tuple[Array, Ints | None]:
        """Return the values of a number that are not missing, and how many records have each; None for one each."""
        values, times = self._records.numbers(name, cuts)
        return values, times

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the records, or their parts, as bit sets of conjunctions."""
        conditions = tuple(antecedents)
        if self._packed is None or conditions != self._conditions:
            self._packed, self._conditions = self._records.pack(conditions), conditions
        return self._packed
