"""Records that stay in an engine during a fit: each question is a query, and only counts come into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.data.bits import BitSets
from glassine.data.cells import Cuts, cell_cuts, cuts_of
from glassine.data.conform import Columns
from glassine.data.frames import fine_counts, truths
from glassine.data.labels import index_of
from glassine.data.lazy import Groups, LazyTable
from glassine.domain import Domain, Integer, Literal, Real
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidDataError
from glassine.privacy.unit import RECORD, PrivacyUnit

__all__ = ["EngineIntake", "Weighed"]

Weighed: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64] | None]
"""Values, and how many records have each; None for one each."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EngineIntake:
    """Records and classes of a lazy frame, counted by its engine.

    A fit asks for what its literals can tell, so that what comes into memory does not grow with the records. A learner
    that asks for :attr:`columns` gets all distinct records.

    Attributes
    ----------
    table : LazyTable
        The records, which keep the column of the classes.
    n_records : int
        Number of records.
    domain, classes, caveats
        As of :class:`~glassine.learners.intake.Intake`.
    distinct : list of Groups
        The distinct records once they were asked for.
    """

    table: LazyTable
    n_records: int
    domain: Domain
    classes: tuple[Scalar, ...]
    caveats: tuple[str, ...]
    distinct: list[Groups] = field(default_factory=list)

    @property
    def unit(self) -> PrivacyUnit:
        """Whose data a private fit covers: an engine counts records."""
        return RECORD

    @property
    def weights(self) -> dict[str, str]:
        """Nothing: an engine knows no persons."""
        return {}

    @property
    def columns(self) -> Columns:
        """The distinct records, in no order."""
        return self._records().columns

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """Index of each distinct record's class."""
        return self._labels(self._records())

    @property
    def multiplicities(self) -> npt.NDArray[np.int64]:
        """How many records each distinct one stands for."""
        return self._records().counts

    def numbers(self, name: str, cuts: Sequence[float] | None = None) -> Weighed:
        """Return the distinct values of a number, or of its cells, that are not missing, and how many records each."""
        attribute = self.domain[name]
        if cuts is not None and isinstance(attribute, Integer | Real):
            ends = cell_cuts(attribute, cuts)
            counts = fine_counts(self.table.frame, name, attribute, ends[:-1], outside=self.table.outside)
            self.check_number(int(counts.sum()))
            filled = counts[:-1] > 0
            return ends[filled], counts[:-1][filled]
        groups = replace(self.table, keep=None).group({name: attribute})
        values = groups.columns.numbers[name]
        present = ~np.isnan(values)
        return values[present], groups.counts[present]

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the records as bit sets of conjunctions; equal records are one."""
        cuts = cuts_of([literal for antecedent in antecedents for literal in antecedent], self.domain)
        groups, labels = self.grouped([name for name in self.domain if name in cuts], cuts)
        return BitSets.pack(truths(groups.columns, antecedents), labels, len(self.classes), groups.counts)

    def grouped(self, names: Sequence[str], cuts: Cuts | None) -> tuple[Groups, npt.NDArray[np.int64]]:
        """Return the records as some attributes tell them apart, numbers by their cells, and their labels."""
        groups = self._group(names, cuts)
        return groups, self._labels(groups)

    def grouped_in_parts(
        self, names: Sequence[str], cuts: Cuts, queries: int = 1
    ) -> Iterator[tuple[Columns, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Yield distinct records, the index of each one's class, and how many there are of each, a part at a time."""
        attributes = {name: self.domain[name] for name in names}
        counted = 0
        for part in self.table.parts(attributes, cuts=cuts, queries=queries):
            counted += int(part.counts.sum())
            yield part.columns, self._labels(part), part.counts
        self.check_number(counted)

    def check_number(self, counted: int) -> None:
        """Raise InvalidDataError if a query counted another number of records than the first did."""
        if counted != self.n_records:
            raise InvalidDataError(
                "the lazy frame gave another number of records when it was read again.",
                remedy="Persist or collect it before.",
            )

    def _records(self) -> Groups:
        if not self.distinct:
            self.distinct.append(self._group(self.domain.names, None))
        return self.distinct[0]

    def _group(self, names: Sequence[str], cuts: Cuts | None) -> Groups:
        attributes = {name: self.domain[name] for name in names}
        groups = self.table.group(attributes, cuts=cuts)
        self.check_number(int(groups.counts.sum()))
        return groups

    def _labels(self, groups: Groups) -> npt.NDArray[np.int64]:
        return index_of(groups.kept, self.classes)
