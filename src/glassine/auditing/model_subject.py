"""One model beside its training records: what additive models, regressions and ensembles have in common."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from typing import Any

from glassine.auditing.describe import describe_guarantee
from glassine.auditing.findings import GuaranteeFinding
from glassine.auditing.identifiers import identifiers_of
from glassine.auditing.inputs import AuditInputs, DataComparison, check_sensitive, compare_records
from glassine.auditing.policy import Policy
from glassine.auditing.subject import OpenedModel, Subject
from glassine.data.record_table import RecordTable
from glassine.domain.attributes import Attribute
from glassine.errors import InvalidDataError


@dataclass(frozen=True, kw_only=True)
class ModelSubject(Subject):
    """One model beside its training records."""

    table: RecordTable | None  # The training records; None where there are none
    comparison: DataComparison  # How the training records that were given differ from what the domain and the model say
    # The tested attributes that identify people, and those that look so by name or values alone.
    identifiers: tuple[tuple[str, ...], tuple[str, ...]]

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
            "identifiers": identifiers_of(inputs, tested),
            "people": inputs.people,
            "has_data": table is not None,
            "has_domain": inputs.domain is not None,
            "mismatch": comparison.unread,
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
