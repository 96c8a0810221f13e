"""Several models of the same records as the subject of an audit: what they reveal together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from glassine.attacks.outcome import Failed, Measured, Measurement, NotApplicable, Outcome, RecordNote
from glassine.attacks.reconstruction.joint import reconstruct_jointly
from glassine.attacks.reconstruction.joint_published import read_models
from glassine.attacks.reconstruction.joint_result import JointReconstruction
from glassine.attacks.reconstruction.systems import Search
from glassine.auditing.describe import describe_domain
from glassine.auditing.evidence import Evidence
from glassine.auditing.findings import DomainSummary, GuaranteeFinding, JointFinding, LeftOutModel, SeveralSummary
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.model_facts import evidence_of_models
from glassine.auditing.policy import Policy
from glassine.auditing.reconstruction import Rows, compared, rows_measured
from glassine.auditing.subject import Raw, Subject
from glassine.auditing.suppression import Suppression
from glassine.errors import CountingLimitError, InvalidDomainError, UndefinedMeasureError, parameter
from glassine.formats import ModelFile
from glassine.formats.canonical import FileForm
from glassine.formats.loading import is_estimator

LISTED = 5
"""Largest number of records of a group that is sought, where the policy sets no limit."""
ALONE = "The checks judge what the models reveal together. Also audit each model separately."


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralModels:
    """Several models of the same records, and how to put them together."""

    # Trees, rule lists, forests or fitted estimators, or files read by :func:`glassine.formats.load_file`, which are
    # judged for everything in them; tuple.
    models: tuple[Any, ...]
    names: tuple[str, ...] | None = None  # Their names; "model 1" and so on by default
    # counts, same_labels, smallest_group, time_limit: as for :func:`glassine.attacks.reconstruct_jointly`. Groups of
    # fewer records than the policy's ``smallest_leaf`` are sought by default.
    counts: str = "published"
    same_labels: bool = True
    smallest_group: int | None = None
    time_limit: float = 30.0


@dataclass(frozen=True, kw_only=True)
class SeveralSubject(Subject):
    """Several models of the same records. No guarantee covers them together: their claims are judged as a sum."""

    published: SeveralModels

    @cached_property
    def joint(self) -> JointReconstruction:
        """What was reconstructed; raises what :func:`glassine.attacks.reconstruct_jointly` raises."""
        published, inputs, domain = self.published, self.inputs, self.inputs.domain
        if domain is None:
            raise InvalidDomainError(
                "several models are judged in a domain, and none was given.",
                remedy=f"Pass {parameter('domain=, the public bounds and categories')}.",
            )
        size = published.smallest_group
        if size is None:
            size = max(1, LISTED if self.policy.smallest_leaf is None else self.policy.smallest_leaf - 1)
        return reconstruct_jointly(
            published.models,
            domain,
            data=inputs.data,
            counts=published.counts,
            names=published.names,
            same_labels=published.same_labels,
            smallest_group=size,
            search=Search(
                max_steps=inputs.settings.max_steps, time_limit=published.time_limit, progress=inputs.progress
            ),
        )

    def check(self, inputs: AuditInputs) -> None:
        """Nothing is named but models: what they lack is found when they are read."""

    def summary(self) -> SeveralSummary:
        """Return the models in brief."""
        names = self.published.names or tuple(f"model {i + 1}" for i in range(len(self.published.models)))
        return SeveralSummary(models=names)

    def domain_summary(self) -> DomainSummary | None:
        """Return the domain in brief."""
        return describe_domain(self.inputs.domain)

    def evidence(self, raw: Raw, suppression: Suppression) -> Evidence:
        """Return what was measured as criteria read it, and the claims of the models added up."""
        outcome = raw.get("joint")
        if isinstance(outcome, Measured):
            known = evidence_of_models(outcome.value, self.policy, self._weighed)
        else:
            known = Evidence(kind="several models", sizes=outcome, bits=outcome)
        return replace(known, has_data=self.inputs.data is not None, countable=self._countable)

    @property
    def _weighed(self) -> list[str]:
        """The models whose sizes may be sums of weights: nobody states otherwise, and no counts of records are used."""
        published, domain = self.published, self.inputs.domain
        if domain is None or self.inputs.statements.unweighted or published.counts == "data":
            return []
        read = read_models(published.models, domain, published.names)
        return [entry.name for entry in read.exact if entry.model.sizes == "derived"]

    @cached_property
    def _countable(self) -> bool:
        published, domain = self.published, self.inputs.domain
        if domain is None or published.counts == "data":
            return False
        return any(entry.can_be_counted for entry in read_models(published.models, domain, published.names).left)

    def notes(self, raw: Raw, guarantee: GuaranteeFinding | None, suppression: Suppression) -> Sequence[str]:
        """Return which models were left out or counted, and what contradicts what."""
        outcome = raw.get("joint")
        if not isinstance(outcome, Measured):
            return [ALONE]
        joint = outcome.value
        notes = [f"Left out: {entry.name} {entry.reason}" for entry in joint.left_out]
        if joint.filled:
            notes.append(RecordNote(f"Counted in the data, without classes: {', '.join(joint.filled)}."))
        if joint.contradiction is not None:
            notes.append(f"No dataset meets the counts of all models: {joint.contradiction}")
        elif joint.silence is None and not joint.proved_consistent:
            notes.append("No dataset that meets all counts was found in time; the bounds hold if there is one.")
        return [*notes, ALONE]


def opened(models: SeveralModels | Sequence[Any]) -> tuple[SeveralModels, tuple[FileForm, ...], bool]:
    """Return several models, the files among them, and whether any is a fitted estimator."""
    published = models if isinstance(models, SeveralModels) else SeveralModels(models=tuple(models))
    names = published.names or [f"model {i + 1}" for i in range(len(published.models))]
    pairs = list(zip(names, published.models, strict=False))
    files = tuple(replace(model.form, name=name) for name, model in pairs if isinstance(model, ModelFile))
    plain = tuple(model.model if isinstance(model, ModelFile) else model for model in published.models)
    return replace(published, models=plain), files, any(map(is_estimator, published.models))


def several_subject(models: SeveralModels | Sequence[Any], inputs: AuditInputs, policy: Policy) -> SeveralSubject:
    """Return several models of the same records with the inputs of their audit."""
    published, _, _ = opened(models)
    return SeveralSubject(inputs=inputs, policy=policy, published=published)


def _joint(subject: SeveralSubject) -> Outcome[JointReconstruction]:
    try:
        return Measured(subject.joint)
    except UndefinedMeasureError as error:
        return NotApplicable(error.text)
    except CountingLimitError as error:
        return Failed(error.text)


def _hide_joint(joint: JointReconstruction, suppression: Suppression) -> JointFinding:
    exposed, bits = joint.bits_most_exposed, None
    if joint.status in ("consistent", "open"):
        bits = (joint.bits_per_record.lower, joint.bits_per_record.upper)
    return JointFinding(
        status=joint.status,
        contradiction=joint.contradiction,
        models=joint.models,
        left_out=tuple(LeftOutModel(name=entry.name, reason=entry.reason) for entry in joint.left_out),
        counted=joint.filled,
        n_records=suppression.count(joint.n_records),
        domain_bits=joint.domain_bits,
        by_shares=joint.by_shares,
        bits_alone=joint.bits_alone,
        bits=bits,
        bits_most_exposed=None
        if exposed is None
        else (exposed.lower, exposed.upper if math.isfinite(exposed.upper) else None),
        bits_aligned=joint.bits_aligned,
        fewest_in_common=None if joint.fewest_in_common is None else suppression.count(joint.fewest_in_common),
        n_small_groups=len(joint.small_groups),
        n_certain_groups=len(joint.certain_labels),
    )


def _rows(subject: SeveralSubject) -> Outcome[Rows]:
    from glassine.attacks.reconstruction.records import reconstruct_records

    published, inputs = subject.published, subject.inputs
    if inputs.domain is None:
        return NotApplicable("rows are rebuilt in a domain, and none was given.")
    rebuild = partial(
        reconstruct_records,
        published.models,
        inputs.domain,
        data=inputs.data,
        counts=published.counts,
        same_labels=published.same_labels,
        random_state=inputs.settings.random_state,
        search=Search(progress=inputs.progress),
    )
    return compared(rebuild(), inputs.data, inputs.settings.random_state)


SeveralSubject.measurements = (
    Measurement[SeveralSubject, JointReconstruction](
        name="joint",
        title="Joint reconstruction",
        question="What do the models reveal together?",
        finding=JointFinding,
        run=_joint,
        hide=_hide_joint,
    ),
    rows_measured(_rows),
)
