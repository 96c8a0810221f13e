"""The records of one fit as its queries ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassine.data.bits import BitSets
from glassine.domain import Literal
from glassine.records.arrays import Array, Ints


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
