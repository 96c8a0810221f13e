"""A fitted forest as the subject of membership attacks, which ask it as a whole."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from glassine.attacks.outcome import Outcome
from glassine.auditing.findings import GuaranteeFinding, ModelSummary
from glassine.auditing.identifiers import people_hint
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.subject import OpenedModel, Raw, Subject
from glassine.auditing.trees import MEMBERSHIP, attacked
from glassine.errors import InvalidDataError
from glassine.formats.loading import is_estimator

if TYPE_CHECKING:
    from glassine.attacks.membership.suite import MembershipAttacks


@dataclass(frozen=True, kw_only=True)
class ForestSubject(Subject):
    """A fitted forest of scikit-learn, alone or at the end of a pipeline or search."""

    forest: Any

    @classmethod
    def opens(cls, artefact: Any) -> OpenedModel:
        """Return a forest."""
        return OpenedModel(kind=cls, artefact=artefact, estimator=is_estimator(artefact))

    @classmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return a forest with what is given beside it."""
        return cls(kind="tree", inputs=inputs, people=inputs.counts_people, forest=opened.artefact)

    @classmethod
    def check(cls, opened: OpenedModel, inputs: AuditInputs, names: Container[str] | None) -> None:
        """Raise InvalidDataError if the target is an attribute of the forest."""
        if inputs.target is not None and inputs.target in attributes_of(opened.artefact):
            raise InvalidDataError(
                f"the target {inputs.target!r} is an attribute of the model.",
                remedy="Name the column that it predicts.",
            )

    def summary(self) -> ModelSummary:
        """Return the forest in brief."""
        classes, trees = getattr(self.forest, "classes_", None), getattr(self.forest, "estimators_", ())
        return ModelSummary(
            kind="forest",
            source=type(self.forest).__name__,
            n_parts=len(trees),
            depth=max((tree.get_depth() for tree in trees), default=0),
            n_records=None,
            classes=None if classes is None else tuple(map(str, classes)),
            attributes=attributes_of(self.forest),
            approximate=False,
            parameters=None if self.inputs.parameters is None else self.inputs.parameters.values,
        )

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield that nothing else was measured."""
        yield "Of a forest, an audit measures membership alone. Its trees can be audited one by one."
        yield from people_hint(self.inputs)


def attributes_of(forest: Any) -> tuple[str, ...]:
    """Return the columns that a forest was fitted on; none if it kept no names."""
    return tuple(getattr(forest, "feature_names_in_", ()))


def _membership(subject: ForestSubject) -> Outcome[MembershipAttacks]:
    from sklearn.base import clone

    inputs, forest = subject.inputs, subject.forest
    known = () if inputs.table is None else inputs.table.names
    names = attributes_of(forest) or tuple(name for name in known if name != inputs.target)
    return attacked(forest, inputs, names, lambda _members: clone(forest))


ForestSubject.measurements = (MEMBERSHIP(_membership),)
