"""One model beside its training records: what additive models, regressions and ensembles have in common."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from glassine.attacks.outcome import RecordNote
from glassine.auditing.describe import describe_guarantee
from glassine.auditing.findings import GuaranteeFinding
from glassine.auditing.inputs import MOST_HINTS, AuditInputs, DataComparison, check_sensitive, compare_records
from glassine.auditing.policy import Policy
from glassine.auditing.subject import OpenedModel, Subject
from glassine.data.identifiers import identifies, is_identifier_name, repeats
from glassine.data.record_table import RecordTable
from glassine.domain.attributes import Attribute
from glassine.errors import InvalidDataError, first_of, parameter
from glassine.records.containers import is_lazy


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifiers:
    """Columns that identify people: tested ones, and those by which people could be counted."""

    tested: tuple[str, ...]  # The tested attributes that identify people
    # looks, recurring: notes on tested attributes that look so by name or values alone, and on columns by which people
    # could be counted, where records are.
    looks: tuple[RecordNote, ...] = ()
    recurring: tuple[RecordNote, ...] = ()

    @classmethod
    def of(cls, inputs: AuditInputs, tested: Collection[str]) -> Self:
        """Return the columns that identify people, of the records and of the attributes that a model tests."""
        table = None if inputs.data is None or is_lazy(inputs.data) else inputs.table
        surely, undeclared, recur = list[str](), list[str](), set[str]()
        perhaps = list(filter(is_identifier_name, tested))
        if table is not None:
            arrays, domain = table.arrays, inputs.domain
            surely = [n for n in tested if n == inputs.person or (n in arrays and identifies(n, arrays[n]))]
            # A public declaration says what a column is; the name of an identifier says more.
            public = () if domain is None else [name for name in domain if not domain[name].inferred]
            if not inputs.counts_people:
                undeclared = [name for name in table.names if name not in public or is_identifier_name(name)]
            if asked := {*undeclared, *tested} & set(arrays):
                recur = {one.column for one in repeats(table.restrict(asked))}
            perhaps = [name for name in tested if name in recur and name not in surely]
        recurring = [name for name in undeclared if name in recur]
        notes = list[str]()
        if perhaps:
            look = "looks like an identifier" if len(perhaps) == 1 else "look like identifiers"
            notes.append(f"The model tests {first_of(perhaps, MOST_HINTS)}, which {look}. Retrain without, if so.")
        hints = list[str]()
        if recurring:
            look = "looks like an identifier, and its" if len(recurring) == 1 else "look like identifiers, and their"
            hints.append(
                f"{first_of(recurring, MOST_HINTS)} {look} values recur: one person may have several records. Records "
                f"are counted here. Pass `{parameter('persons', recurring[0])}` to count people."
            )
        return cls(tested=tuple(surely), looks=tuple(map(RecordNote, notes)), recurring=tuple(map(RecordNote, hints)))


@dataclass(frozen=True, kw_only=True)
class ModelSubject(Subject):
    """One model beside its training records."""

    table: RecordTable | None  # The training records; None where there are none
    comparison: DataComparison  # How the training records that were given differ from what the domain and the model say
    identifiers: Identifiers  # The columns that identify people

    @staticmethod
    def given_with(inputs: AuditInputs, tested: Collection[str], recipe: Mapping[str, Attribute]) -> dict[str, Any]:
        """Return the fields that follow from what was given beside a model that tests some attributes."""
        table, comparison = inputs.table, DataComparison()
        if table is not None and not len(table):
            raise InvalidDataError("data hold no record.", remedy="Give the training records, or leave them out.")
        if table is not None:
            comparison = compare_records(table, inputs.domain, recipe, tested, inputs.suppression.below)
        return {
            "inputs": inputs,
            "domain": inputs.domain,
            "table": table,
            "comparison": comparison,
            "identifiers": Identifiers.of(inputs, tested),
            "people": inputs.people,
            "has_data": table is not None,
            "has_domain": inputs.domain is not None,
            "mismatch": comparison.undeclared,
            "odd": comparison.tested,
        }

    @classmethod
    def claim(cls, opened: OpenedModel, policy: Policy) -> GuaranteeFinding | None:
        """Return the differential privacy that is claimed for the model."""
        return describe_guarantee(opened.value, policy)

    @classmethod
    def check(cls, opened: OpenedModel, inputs: AuditInputs, names: Container[str] | None) -> None:
        """Raise InvalidDataError if the sensitive attribute is unknown to the model, the domain and the data."""
        name = inputs.settings.sensitive
        if name is not None and name not in opened.value.attributes:
            check_sensitive(name, inputs.domain, names)

    def record_notes(self) -> Iterator[RecordNote]:
        """Yield what is odd about the records: columns like identifiers, and what they hold otherwise than expected."""
        yield from (*self.identifiers.recurring, *self.identifiers.looks)
        yield from self.comparison.notes(self.inputs.suppression)
