"""A fitted forest as the subject of membership attacks, which ask it as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from glassine.attacks.outcome import Outcome
from glassine.auditing.describe_membership import described
from glassine.auditing.evidence import Evidence
from glassine.auditing.findings import GuaranteeFinding, ModelSummary
from glassine.auditing.inputs import AuditInputs, people_hint
from glassine.auditing.subject import Raw, Subject
from glassine.auditing.suppression import Suppression
from glassine.auditing.trees import MEMBERSHIP, attacked
from glassine.errors import InvalidDataError

if TYPE_CHECKING:
    from glassine.attacks.membership.suite import MembershipAttacks


@dataclass(frozen=True, kw_only=True)
class ForestSubject(Subject):
    """A fitted forest of scikit-learn, alone or at the end of a pipeline or search."""

    forest: Any

    def check(self, inputs: AuditInputs) -> None:
        """Raise InvalidDataError if the target is an attribute of the forest."""
        if inputs.target is not None and inputs.target in self.attributes:
            raise InvalidDataError(
                f"the target {inputs.target!r} is an attribute of the model.",
                remedy="Name the column that it predicts.",
            )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that it was fitted on; none if it kept no names."""
        return tuple(getattr(self.forest, "feature_names_in_", ()))

    def summary(self) -> ModelSummary:
        """Return the forest in brief."""
        classes = getattr(self.forest, "classes_", None)
        return ModelSummary(
            kind="forest",
            source=type(self.forest).__name__,
            n_parts=len(getattr(self.forest, "estimators_", ())),
            depth=max((tree.get_depth() for tree in getattr(self.forest, "estimators_", ())), default=0),
            n_records=None,
            classes=None if classes is None else tuple(map(str, classes)),
            attributes=self.attributes,
            approximate=False,
            parameters=None if self.inputs.parameters is None else self.inputs.parameters.values,
        )

    def evidence(self, raw: Raw, suppression: Suppression) -> Evidence:
        """Return the membership advantage as its criterion reads it."""
        membership = described(raw.get("membership"), suppression)
        return Evidence(kind="tree", membership=membership, people=self.inputs.counts_people)

    def notes(self, raw: Raw, guarantee: GuaranteeFinding | None, suppression: Suppression) -> Sequence[str]:
        """Return that nothing else was measured."""
        return (
            "Of a forest, an audit measures membership alone. Its trees can be audited one by one.",
            *people_hint(self.inputs),
        )


def _membership(subject: ForestSubject) -> Outcome[MembershipAttacks]:
    from sklearn.base import clone

    inputs, forest = subject.inputs, subject.forest
    known = () if inputs.table is None else inputs.table.names
    names = subject.attributes or tuple(name for name in known if name != inputs.target)
    return attacked(forest, inputs, getattr(forest, "classes_", None), names, lambda _members: clone(forest))


ForestSubject.measurements = (MEMBERSHIP.made_by(_membership),)
