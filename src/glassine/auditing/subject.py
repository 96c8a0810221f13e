"""What is audited, what can be measured of it, and the few steps of an audit: measure, judge, suppress."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

from glassine import __version__
from glassine.attacks.outcome import Measured, Measurement, NotApplicable, Outcome, OutOfBudget, RecordNote
from glassine.auditing.describe import LONGEST
from glassine.auditing.facts import Case, Fact
from glassine.auditing.findings import DomainSummary, Findings, GuaranteeFinding, Outcomes, SubjectSummary
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.judging import advise, contradicted, decide, judge, judge_named, request
from glassine.auditing.membership_criteria import NO_CLASS
from glassine.auditing.output_criteria import CLEAN_COPIES, CLEAN_COPY, SEVERAL
from glassine.auditing.policy import Policy
from glassine.auditing.statements import Statements
from glassine.domain import Domain
from glassine.errors import CostLimitError, CountingLimitError, InvalidDataError, InvalidParameterError, Text, parameter
from glassine.formats.canonical import FileForm, LongText, bounded, long_texts
from glassine.formats.format import PublishedModel
from glassine.formats.sklearn.parameters import StatedParameters

MOST_NOTES = 20
JUDGED_AS_WRITTEN = (
    "The estimator is judged as the model that `write_model` writes of it. A saved estimator holds more: release the "
    "written model."
)
SAMPLED = (
    "The data hold people who were not used for training: only the disclosure of the sensitive attribute is measured "
    "on them."
)
WEIGHED = (
    "The sizes in {whose} are sums of weights, which are numbers of records only if no weights were used in training. "
    "Pass the training data, or have the publisher state it."
)
ALONE = "The checks judge what the models reveal together. Also audit each model separately."
UNREAD = "{name} was not used: nothing of the kind is asked of this subject ({kind})."
NOT_COUNTED = "the models of this kind are not counted."
OF_PERSONS = (
    "The model's guarantee is for people, who may have several records each, but records were counted. Name the "
    "column of persons, or have the publisher state that everyone has one record."
)

Raw: TypeAlias = Mapping[str, Outcome[Any]]
"""What was measured, by the name of the measurement, before suppression."""


@dataclass(frozen=True, kw_only=True)
class OpenedModel:
    """What is published, opened once, and its kind, which is decided when it is opened and nowhere else."""

    kind: type[Subject]
    artefact: Any  # What was passed: a fitted estimator states more than its model
    value: Any = None  # The same as a value: the model, the release, the summary, the models
    files: tuple[FileForm, ...] = ()  # The files that it was read from; none where it was given in memory
    estimator: bool = False  # Whether it is a fitted estimator, of which the model is judged
    # The hyperparameters that a fitted estimator states; None of a model alone.
    parameters: StatedParameters | None = None


@dataclass(frozen=True, kw_only=True)
class Subject(Case, ABC):
    """A published thing, with what was given beside it; what judges ask of it is settled in it."""

    inputs: AuditInputs  # What was given beside it, and the policy
    notes_read: tuple[str, ...] = field(default=(), repr=False)  # What was noted while it was read
    model: PublishedModel | None = None  # The model as a value; None of what is no model
    domain: Domain | None = None  # In what domain it is audited; None of what has its own
    weights: str = ""  # Why published sizes may be sums of weights; empty where they are not

    measurements: ClassVar[tuple[Measurement[Any, Any], ...]]
    by_array: ClassVar[bool] = False  # Whether classes are an array beside the records, not a column of them
    counts_records: ClassVar[bool] = False  # Whether records are counted, and never people

    @classmethod
    def opens(cls, artefact: Any) -> OpenedModel:
        """Return what is published as it was opened, of a kind that is not read as one model."""
        return OpenedModel(kind=cls, artefact=artefact, value=artefact)

    @classmethod
    @abstractmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return what was opened as a subject; of a public one no record is looked at."""

    @classmethod
    def claim(cls, opened: OpenedModel, policy: Policy) -> GuaranteeFinding | None:
        """Return the differential privacy that is claimed, without a record; by default none is."""
        return None

    @classmethod
    def check(cls, opened: OpenedModel, inputs: AuditInputs, names: Container[str] | None) -> None:
        """Raise InvalidDataError or InvalidParameterError where an argument names what does not exist.

        ``names`` are the columns of the records, None where there are none.
        """
        return

    @classmethod
    def has_records(cls, opened: OpenedModel, inputs: AuditInputs) -> bool:
        """Return whether there are records to measure on."""
        return inputs.has_records

    @property
    def reads(self) -> tuple[str, ...]:
        """Which statements on the training data, and columns of events, are read of this kind; by default none."""
        return ()

    @property
    def counts_people(self) -> bool:
        """Whether persons are stated, so that people are counted; else records are."""
        return self.inputs.counts_people

    @cached_property
    def doubt(self) -> str:
        """Why counts may not be those that limits are about: others than in training, for people, or of weights."""
        claim = self.guarantee
        for_people = claim is not None and not claim.accepted and claim.subject == "person" and not self.people
        return self.mismatch or self.unconfirmed or (OF_PERSONS if for_people else "") or self.weights

    @abstractmethod
    def summary(self) -> SubjectSummary:
        """Return the subject in brief."""

    @cached_property
    def domain_summary(self) -> DomainSummary | None:
        """The domain in brief, where one was given or inferred."""
        domain = self.domain
        if domain is None:
            return None
        sizes = [domain.size(domain_aware=aware) for aware in (False, True)]
        bits = [None if size is None else math.log2(size) for size in sizes]
        return DomainSummary(
            n_attributes=len(domain),
            n_groups=len(domain.groups),
            inferred=tuple(name for name in domain if domain[name].inferred),
            bits_independent=bits[0],
            bits_domain_aware=bits[1],
        )

    def settled(self, raw: Raw) -> Self:
        """Return it with what measurements settled of itself, such as claims that are added up."""
        return self

    def facts_of(self, raw: Raw) -> dict[str, Fact[Any]]:
        """Return what measurements found, as criteria read it."""
        made = [m for m in self.measurements if m.name in raw]
        return {name: fact for m in made for name, fact in m.facts(self, raw[m.name], raw).items()}

    @abstractmethod
    def notes(self, raw: Raw) -> Iterable[str]:
        """Return what is odd."""


def examine(subject: Subject, names: Collection[str] | None = None) -> Findings:
    """Measure a subject, judge it, and suppress what may not be shown."""
    also, suppression, settings = _also_asked(subject), subject.inputs.suppression, subject.inputs.settings
    asked = _asked(subject, names, also)
    raw = {m.name: _run(m, subject) for m in asked}
    measured = dict(raw)
    for measurement in asked:
        if isinstance(outcome := raw[measurement.name], Measured):
            measured[measurement.name] = Measured(measurement.hide(outcome.value, suppression))
    subject = subject.settled(raw)
    if void := contradicted(subject.guarantee, measured.get("membership"), people=subject.counts_people):
        subject = replace(subject, guarantee=void)
    facts = subject.facts_of(raw)
    ended = {m.title: outcome.reason for m in asked if isinstance(outcome := raw[m.name], OutOfBudget)}
    if ended:
        facts["unfinished"] = Measured((next(iter(ended.values())), tuple(ended)))
    if "membership" in facts:
        # Attacks are judged by their rounded figures; where none could be made, one of their criteria asks nothing.
        if facts["membership"] is raw["membership"]:
            facts["membership"] = measured["membership"]
        facts["attacks"] = None if isinstance(facts["membership"], NotApplicable) else facts["membership"]
    if subject.guarantee is not None:
        facts["claim"] = Measured(subject.guarantee)
    files, policy = subject.inputs.files, subject.inputs.policy
    # An audit that was asked for one measurement covers that alone.
    if names is None:
        facts |= {"texts": facts.get("texts", _texts(subject)), "files": Measured(files) if files else None}
        # Named policies are judged by the same facts: where it was not asked, it is unknown and not missing.
        counted = any(measurement.name == "capacity" for measurement in subject.measurements)
        facts.setdefault("capacity", NotApplicable(NO_CLASS if counted else NOT_COUNTED))
    if settings.require_clean_copy:
        policy = replace(policy, require_clean_copy=True)
    case = replace(subject, facts=facts, retrainable=settings.retrainable)
    checks, listed = judge(policy, case, suppression), names or also
    advice, verdict = advise(policy, case, checks), decide(checks)
    unwritten = (f for f in files if not (f.canonical or f.uncopied or (f.clean_copy and f.clean_copy.name)))
    if verdict == "within policy" and next(unwritten, None) is not None:
        advice = (*advice, CLEAN_COPIES if case.kind in SEVERAL else CLEAN_COPY)
    return Findings(
        subject=subject.summary(),
        verdict=verdict,
        checks=checks,
        measured=Outcomes(
            measured,
            [m.words for m in subject.measurements if m.listed or m.name in listed],
            [m.name for m in subject.measurements if m.audience == "checker"],
        ),
        policy=replace(subject.inputs.policy, suppress_below=suppression.below),
        notes=_shortened(
            [
                *subject.notes_read,
                *_meaningless_statements(subject),
                *subject.notes(raw),
                *([] if subject.inputs.population is None else [RecordNote(SAMPLED)]),
                *([JUDGED_AS_WRITTEN] if subject.inputs.estimator else []),
            ]
        ),
        advice=advice,
        policies=() if names is not None else judge_named(case, suppression, policy, checks),
        requests=request(policy, case, checks),
        policy_source=subject.inputs.policy.source,
        version=__version__,
        domain=subject.domain_summary,
        guarantee=subject.guarantee,
        sensitive=settings.sensitive,
        files=files,
        counted="people" if subject.people else "records",
    )


def fails_by_parts(subject: Subject) -> bool:
    """Return whether a check fails by what the leaves or rules publish: measuring more then passes none of it.

    Nothing is put into words. Of a model with a claim, and of one without leaves, it is not asked.
    """
    parts = next((m for m in subject.measurements if m.name == "parts"), None)
    if parts is None or subject.guarantee is not None:
        return False
    case = replace(subject, facts=subject.facts_of({"parts": _run(parts, subject)}))
    checks = judge(subject.inputs.policy, case, subject.inputs.suppression)
    return any(check.status == "fail" for check in checks)


def _meaningless_statements(subject: Subject) -> list[str]:
    """Return a note on each statement, and on a column of events, that has no meaning for this kind."""
    settings = subject.inputs.settings
    stated = {one.name: getattr(settings.statements, one.name) for one in fields(Statements)}
    stated["event"] = settings.membership.event
    # Who has one record is asked of every kind, and who states it is no statement.
    own = {*subject.reads, "one_record_per_person", "by"}
    names = [name for name, value in stated.items() if name not in own and value not in (None, False)]
    return [Text(UNREAD.format(name=parameter(name), kind=subject.kind)) for name in names]


def _run(measurement: Measurement[Any, Any], subject: Subject) -> Outcome[Any]:
    """Make a measurement; one that cannot read what records hold where the domain declares other values is unknown.

    What the budget ends is :class:`OutOfBudget`; parts, which are as they were published, are shown all the same.
    """
    try:
        stage, progress = measurement.title.lower(), subject.inputs.settings.progress
        if measurement.listed:
            subject.inputs.progress(stage)
        elif progress is not None:
            progress(stage)
        return measurement.run(subject)
    except InvalidDataError:
        if not subject.odd:
            raise
        return NotApplicable(subject.mismatch)
    except CountingLimitError:
        raise
    except CostLimitError as error:
        return OutOfBudget(error.text)


def _texts(subject: Subject) -> Fact[tuple[LongText, ...]]:
    """Return the texts beyond what a model needs, of a file's model without those that its clean copy leaves out."""
    model, inputs = subject.model, subject.inputs
    if model is None:
        return None
    return Measured(long_texts(bounded(model, inputs.domain) if inputs.files else model, inputs.domain))


def _also_asked(subject: Subject) -> list[str]:
    """Return names of measurements that are made because something is stated or limited."""
    settings = subject.inputs.settings
    limited = settings.statements.stated_class is not None or subject.inputs.policy.largest_mean_advantage is not None
    return [*(["capacity"] if limited else []), *(["stability"] if settings.stability is not None else [])]


def _asked(subject: Subject, names: Collection[str] | None, also: Collection[str]) -> list[Measurement[Any, Any]]:
    if names is None:
        return [m for m in subject.measurements if m.asked or m.name in also]
    offered, wanted = [m.name for m in subject.measurements], {names} if isinstance(names, str) else set(names)
    for name in sorted(wanted.difference(offered)):
        near = get_close_matches(name, offered, 1)
        raise InvalidParameterError(
            f"{parameter('measurements')} names {name!r}, which is not measured of {subject.summary()}.",
            remedy=f"Did you mean {near[0]!r}?" if near else f"Choose from {', '.join(offered)}.",
        )
    return [m for m in subject.measurements if m.name in wanted]


def _shortened(notes: Sequence[str]) -> tuple[str, ...]:
    """Return the notes, of many the first, shortened."""
    # A note on records stays one.
    short = [note if len(note) <= LONGEST else type(note)(f"{note[:LONGEST]}...") for note in notes]
    if len(short) > MOST_NOTES:
        short = [*short[:MOST_NOTES], f"{len(short) - MOST_NOTES} more notes of this kind are left out."]
    return tuple(short)
