"""What is audited, what can be measured of it, and the few steps of an audit: measure, judge, suppress."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar, TypeAlias

from glassine import __version__
from glassine.attacks.outcome import Measured, Measurement, Outcome
from glassine.auditing.describe import LONGEST
from glassine.auditing.evidence import Evidence, Fact
from glassine.auditing.findings import DomainSummary, Findings, GuaranteeFinding, Outcomes, SubjectSummary
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.judging import advise, decide, judge, request
from glassine.auditing.output_criteria import CLEAN_COPY
from glassine.auditing.policy import Policy
from glassine.auditing.suppression import Suppression
from glassine.errors import InvalidParameterError, parameter
from glassine.formats.canonical import LongText, bounded, long_texts
from glassine.formats.registry import PublishedModel

MOST_NOTES = 20
JUDGED_AS_WRITTEN = (
    "The estimator is judged as the model that `write_model` writes of it. A saved estimator holds more: release the "
    "written model."
)

Raw: TypeAlias = Mapping[str, Outcome[Any]]
"""What was measured, by the name of the measurement, before suppression."""


@dataclass(frozen=True, kw_only=True)
class Subject(ABC):
    """A published thing, with what was given beside it and the policy."""

    inputs: AuditInputs  # What was given beside it
    policy: Policy  # The limits; whether a claimed guarantee is accepted depends on them
    # Whether only what follows from the published thing is looked at, because its guarantee answers for the records.
    public: bool = False

    measurements: ClassVar[tuple[Measurement[Any, Any], ...]]

    @property
    def suppression(self) -> Suppression:
        """What may be shown of counts."""
        return Suppression(0 if self.inputs.settings.show_small_counts else self.policy.suppress_below)

    @property
    def guarantee(self) -> GuaranteeFinding | None:
        """The differential privacy that is claimed; by default none is."""
        return None

    @abstractmethod
    def check(self, inputs: AuditInputs) -> None:
        """Raise InvalidDataError or InvalidParameterError where an argument names what does not exist."""

    def has_records(self, inputs: AuditInputs) -> bool:
        """Return whether there are records to measure on."""
        return inputs.has_records

    def beside(self, inputs: AuditInputs) -> Subject:
        """Return the same subject with what else is given."""
        return replace(self, inputs=inputs)

    @abstractmethod
    def summary(self) -> SubjectSummary:
        """Return the subject in brief."""

    def domain_summary(self) -> DomainSummary | None:
        """Return the domain in brief, where one was given or inferred."""
        return None

    @abstractmethod
    def evidence(self, raw: Raw, suppression: Suppression) -> Evidence:
        """Return what was measured as criteria read it; the guarantee is doubted where an attack beats it."""

    def texts(self) -> Fact[tuple[LongText, ...]]:
        """Return the texts of the model beyond what it needs; None of what is no model."""
        return None

    @abstractmethod
    def notes(self, raw: Raw, guarantee: GuaranteeFinding | None, suppression: Suppression) -> Sequence[str]:
        """Return what is odd."""


def examine(subject: Subject, only: Collection[str] | None = None) -> Findings:
    """Measure a subject, judge it, and suppress what may not be shown."""
    asked, suppression = _asked(subject, only), subject.suppression
    raw: dict[str, Outcome[Any]] = {}
    for measurement in asked:
        subject.inputs.progress(measurement.title.lower())
        raw[measurement.name] = measurement.run(subject)
    evidence = replace(subject.evidence(raw, suppression), retrainable=subject.inputs.settings.retrainable)
    as_written = [JUDGED_AS_WRITTEN] if subject.inputs.estimator else []
    # An audit that was asked for one measurement covers that alone.
    inputs, policy = subject.inputs, subject.policy
    if inputs.settings.require_clean_copy:
        policy = replace(policy, require_clean_copy=True)
    if only is None:
        evidence = replace(evidence, texts=subject.texts(), files=Measured(inputs.files) if inputs.files else None)
    checks = judge(policy, evidence, suppression)
    advice, verdict = advise(policy, evidence, checks), decide(checks)
    unwritten = any(file.clean_copy is not None and not file.clean_copy.name for file in inputs.files)
    if verdict == "within policy" and unwritten:
        advice = (*advice, CLEAN_COPY)
    measured = {m.name: _hidden(m, raw[m.name], suppression) for m in asked}
    return Findings(
        subject=subject.summary(),
        verdict=verdict,
        checks=checks,
        measured=Outcomes(
            measured,
            [m.words for m in subject.measurements if m.listed or m.name in (only or ())],
            [m.name for m in subject.measurements if m.audience == "checker"],
        ),
        policy=replace(subject.policy, suppress_below=suppression.below),
        notes=_shortened([*subject.notes(raw, evidence.guarantee, suppression), *as_written]),
        advice=advice,
        requests=request(policy, evidence, checks),
        policy_source=subject.policy.source,
        version=__version__,
        domain=subject.domain_summary(),
        guarantee=evidence.guarantee,
        sensitive=subject.inputs.settings.sensitive,
        files=inputs.files,
        counted="people" if evidence.people else "records",
    )


def texts_of(model: PublishedModel, inputs: AuditInputs) -> Measured[tuple[LongText, ...]]:
    """Return the texts beyond what a model needs, of a file's model without those that its clean copy leaves out."""
    published = bounded(model, inputs.domain) if inputs.files else model
    return Measured(long_texts(published, inputs.domain))


def _asked(subject: Subject, only: Collection[str] | None) -> list[Measurement[Any, Any]]:
    if only is None:
        return [m for m in subject.measurements if m.asked]
    names, wanted = [m.name for m in subject.measurements], {only} if isinstance(only, str) else set(only)
    for name in sorted(wanted.difference(names)):
        raise InvalidParameterError(
            f"{parameter('only')} names {name!r}, which is not measured of {subject.summary()}.",
            remedy=f"Choose from {', '.join(get_close_matches(name, names, 1) or names)}.",
        )
    return [m for m in subject.measurements if m.name in wanted]


def _hidden(measurement: Measurement[Any, Any], outcome: Outcome[Any], suppression: Suppression) -> Outcome[Any]:
    if isinstance(outcome, Measured):
        return Measured(measurement.hide(outcome.value, suppression))
    return outcome


def _shortened(notes: Sequence[str]) -> tuple[str, ...]:
    """Return the notes, of many the first, shortened."""
    # A note on records stays one.
    short = [note if len(note) <= LONGEST else type(note)(f"{note[:LONGEST]}...") for note in notes]
    if len(short) > MOST_NOTES:
        short = [*short[:MOST_NOTES], f"{len(short) - MOST_NOTES} more notes of this kind are left out."]
    return tuple(short)
