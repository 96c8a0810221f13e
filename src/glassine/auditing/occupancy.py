"""Who is in the leaves or rules of a model: as it publishes them, and as the training records show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from glassine.attacks.label_disclosure import Occupants
from glassine.auditing.inputs import AuditInputs
from glassine.data.labels import class_places
from glassine.data.record_table import RecordTable
from glassine.domain import Domain
from glassine.domain.attributes import Attribute
from glassine.errors import InvalidParameterError, parameter
from glassine.models import DecisionTree, RuleList
from glassine.models.records import counted_records, of_columns
from glassine.records.arrays import Indices, Ints
from glassine.records.cuts import cuts_of
from glassine.records.engines import LazyTable
from glassine.records.undeclared import wide


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Occupancy:
    """Who is in each leaf or rule: as published, and as the training records show, read or only counted."""

    # Records of each part as published exactly: noisy or rounded counts say nothing certain, a 0 may be 4.
    published: tuple[int | None, ...]
    in_data: tuple[int, ...]  # Records of the data in each part; 0 without data
    table: RecordTable | None = None  # The training records; None where there are none, or they are only counted
    rows: Indices | None = None  # The leaf or rule of each record, shape (n,)
    # Records outside the domain, by attribute and reason, of a lazy frame, which an engine counts; None of others.
    outside: dict[str, dict[str, int]] | None = None
    # Records of each class, and last of none, in each part, shape (parts, classes + 1); None without outcomes.
    outcomes: Ints | None = None
    # The people in each part, by class as far as the target is known; None where records are counted.
    people: Occupants | None = None

    @classmethod
    def of(
        cls,
        model: DecisionTree | RuleList,
        inputs: AuditInputs,
        declared: Domain | None,
        table: RecordTable | None,
        recipe: Mapping[str, Attribute],
    ) -> Occupancy:
        """Return who is in each part; of a lazy frame, in a declared domain, there is no table, and it is counted."""
        # recipe is what the model's literals imply about the attributes that they test.
        published, n_parts, target = _published(model), len(model.cells), inputs.target
        if table is None and declared is not None and inputs.data is not None:
            return count_data(model, inputs.data, declared, target)
        if table is None:
            return cls(published=published, in_data=(0,) * n_parts)
        own = {} if declared is None else {name: declared[name] for name in declared}
        recipe = {name: own.get(name, attribute) for name, attribute in recipe.items()}
        rows, classes, outcomes, people = model.apply(counted_records(table, recipe)), model.classes or (), None, None
        labels = None
        if target is not None and target in table.names and classes:
            labels = class_places(table.arrays[target], classes)
            outcomes = np.zeros((n_parts, len(classes) + 1), dtype=np.int64)
            np.add.at(outcomes, (rows, labels), 1)
        if table.persons is not None:
            of_each = np.full(len(rows), -1) if labels is None else labels
            people = Occupants.counted(table, rows, of_each, (n_parts, max(1, len(classes))))
        in_data = tuple(np.bincount(rows, minlength=n_parts).tolist())
        return cls(published=published, in_data=in_data, table=table, rows=rows, outcomes=outcomes, people=people)

    @property
    def has_records(self) -> bool:
        """Whether there are training records, read or counted."""
        return self.rows is not None or self.outside is not None

    @property
    def classes(self) -> Ints | None:
        """Records of each class in each part, shape (parts, classes); None where a class is not known."""
        return None if self.outcomes is None or self.outcomes[:, -1].any() else self.outcomes[:, :-1]

    def differing(self, model: DecisionTree | RuleList) -> tuple[int, int]:
        """Return of how many parts the model publishes other sizes than the data, and else other numbers of classes."""
        if not self.has_records:
            return 0, 0
        sizes = zip(self.published, self.in_data, strict=True)
        n_differing = sum(size is not None and size != counted for size, counted in sizes)
        if n_differing or self.outcomes is None or not model.counts_are_exact:
            return n_differing, 0
        # A record of no class, which the model cannot have counted, is a contradiction as well.
        pairs = zip((cell.evidence.counts for cell in model.cells), self.outcomes.tolist(), strict=True)
        return 0, sum(counts is not None and [*counts, 0] != own for counts, own in pairs)


def count_data(model: DecisionTree | RuleList, frame: Any, domain: Domain, target: str | None = None) -> Occupancy:
    """Count the records of a lazy frame in each part of a model, by their outcomes, and those outside the domain."""
    # An engine groups the records by the values that the model's literals distinguish, and reads every other attribute
    # of the domain separately. None is refused.
    tested = [name for name in domain if name in model.tested]
    present = list(nw.from_native(frame).collect_schema().names())
    classed = target is not None and target in present and bool(model.classes)
    table = LazyTable(frame=frame, strict=False, typed=False, keep_undeclared=True, keep=target if classed else None)
    groups = table.group({name: wide(domain[name]) for name in tested}, cuts=cuts_of(model.literals, domain))
    parts = np.zeros(len(groups.counts), dtype=np.intp)
    if groups.columns.attributes:
        parts = model.apply(of_columns(groups.columns, lenient=True))
    classes = class_places(groups.kept, model.classes or ()) if classed else np.zeros(len(parts), dtype=np.intp)
    counts = np.zeros((len(model.cells), len(model.classes or ()) + 1), dtype=np.int64)
    np.add.at(counts, (parts, classes), groups.counts)
    return Occupancy(
        published=_published(model),
        in_data=tuple(counts.sum(axis=1).tolist()),
        outside=table.outside({name: domain[name] for name in domain if name in tested or name in present}),
        outcomes=counts if classed else None,
    )


def _published(model: DecisionTree | RuleList) -> tuple[int | None, ...]:
    """Return the number of records of each part where it is published exactly, else None."""
    exact = model.counts_are_exact
    return tuple([cell.evidence.size if exact else None for cell in model.cells])


def rounded(model: DecisionTree | RuleList, step: int | None) -> DecisionTree | RuleList:
    """Return a model whose counts the publisher states to be rounded to a step; the same without a step."""
    if step is None:
        return model
    counts = [count for cell in model.cells for count in cell.evidence.counts or (cell.evidence.size or 0,)]
    if model.counts_are_exact and any(count % step for count in counts):
        raise InvalidParameterError(
            f"{parameter('rounded_to', step)} contradicts the model: it publishes counts that are not multiples of it.",
            remedy="Ask the publisher to which step counts were rounded.",
        )
    return replace(model, approximate=True)
