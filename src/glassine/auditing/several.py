"""Several models of the same records as the subject of an audit: what they reveal together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

from glassine.attacks.outcome import Failed, Measured, Measurement, NotApplicable, Outcome, RecordNote
from glassine.attacks.reconstruction.joint_published import (
    OtherRecordsError,
    ReadModels,
    attributes_tested,
    read_models,
)
from glassine.attacks.reconstruction.joint_result import JointReconstruction
from glassine.attacks.reconstruction.joint_rows import reconstruct_jointly
from glassine.attacks.reconstruction.record_reconstruction import reconstruct_records
from glassine.attacks.reconstruction.systems import Search
from glassine.auditing.facts import Bits, Fact, Sizes
from glassine.auditing.findings import GuaranteeFinding, JointFinding, LeftOutModel, SeveralSummary, Standing
from glassine.auditing.inputs import AuditInputs, DataComparison, compare_records
from glassine.auditing.policy import Policy
from glassine.auditing.reconstruction import Rows, compared, rows_measured
from glassine.auditing.several_models import SeveralModels
from glassine.auditing.subject import ALONE, WEIGHED, OpenedModel, Raw, Subject
from glassine.auditing.suppression import Suppression
from glassine.data.record_table import as_table
from glassine.errors import (
    CostLimitError,
    GlassineError,
    InvalidDomainError,
    InvalidParameterError,
    Text,
    UndefinedMeasureError,
    UnsupportedModelError,
    marked,
    parameter,
)
from glassine.formats import ModelFile, as_model
from glassine.formats.canonical import FileForm
from glassine.formats.loading import is_estimator
from glassine.models import RegressionModel

LISTED = 5
"""Largest number of records of a group that is sought, where the policy sets no limit."""
ROUNDING = 1e-9
"""What is taken for the rounding of proved bits: a thousandth of the last digit that is shown, and less."""


@dataclass(frozen=True, kw_only=True)
class SeveralSubject(Subject):
    """Several models of the same records. No guarantee covers them together: their claims are judged as a sum."""

    published: SeveralModels

    counts_records = True

    @classmethod
    def opens(cls, artefact: Any) -> OpenedModel:
        """Return several models, the files among them, and whether any is a fitted estimator."""
        published = artefact if isinstance(artefact, SeveralModels) else SeveralModels(models=tuple(artefact))
        models = published.models
        names = published.names or [f"model {i + 1}" for i in range(len(models))]
        files = tuple(
            replace(model.form, name=name)
            for name, model in zip(names, models, strict=False)
            if isinstance(model, ModelFile)
        )
        plain = tuple(model.model if isinstance(model, ModelFile) else model for model in models)
        value, estimator = replace(published, models=plain), any(map(is_estimator, models))
        tables = [_as_regression(one) for one in plain]
        if any(table is not None for table in tables):
            return _of_regressions(value, tables, artefact, files, estimator)
        for name, stated in (("samples", published.samples is not None), ("same_records", published.same_records)):
            if stated:
                raise InvalidParameterError(
                    f"{parameter(name)} is of regressions; these models are judged by their counts.",
                    remedy="Leave it out.",
                )
        return OpenedModel(kind=cls, artefact=artefact, value=value, files=files, estimator=estimator)

    @classmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return several models of the same records with the inputs of their audit."""
        if inputs.target is not None:
            raise InvalidParameterError(
                f"several models are judged by their counts, and a {parameter('target')} has no meaning.",
                remedy="Leave it out.",
            )
        return cls.of_models(opened.value, inputs)

    @classmethod
    def of_models(cls, published: SeveralModels, inputs: AuditInputs) -> Self:
        """Return several models of the same records."""
        return cls(
            kind="several models",
            inputs=inputs,
            domain=inputs.domain,
            has_data=inputs.data is not None,
            published=published,
        )

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
            size = max(
                1, LISTED if self.inputs.policy.smallest_group is None else self.inputs.policy.smallest_group - 1
            )
        return reconstruct_jointly(
            published.models,
            domain,
            data=None if self.records_problem else inputs.data,
            counts=published.counts,
            names=published.names,
            same_labels=published.same_labels,
            smallest_group=size,
            search=Search(
                max_steps=inputs.settings.max_steps, time_limit=published.time_limit, progress=inputs.progress
            ),
        )

    @cached_property
    def comparison(self) -> DataComparison:
        """Which records hold something else in what the models test than the domain declares."""
        if self.domain is None or self.inputs.data is None:
            return DataComparison()
        try:
            tested = attributes_tested(self.published.models, self.domain)
        except UndefinedMeasureError:
            return DataComparison()
        return compare_records(as_table(self.inputs.data), self.domain, {}, tested, self.inputs.suppression.below)

    @property
    def records_problem(self) -> str:
        """Why the records cannot be put beside the models; empty where they can."""
        return "" if self.comparison.off_step else self.comparison.undeclared

    def summary(self) -> SeveralSummary:
        """Return the models in brief."""
        names = self.published.names or tuple(f"model {i + 1}" for i in range(len(self.published.models)))
        return SeveralSummary(models=names)

    @cached_property
    def read(self) -> ReadModels:
        """The models as they are read together; nothing without a domain, or where they are counted in the data."""
        published = self.published
        if self.domain is None or published.counts == "data":
            return ReadModels(exact=[], left=[])
        return read_models(published.models, self.domain, published.names)

    @property
    def reads(self) -> tuple[str, ...]:
        """What can be stated of several models."""
        return ("unweighted",)

    @property
    def weighed(self) -> list[str]:
        """The models whose sizes may be sums of weights: no statement and no counts of records say otherwise."""
        if self.inputs.statements.unweighted:
            return []
        return [entry.name for entry in self.read.exact if entry.model.sizes == "derived"]

    def settled(self, raw: Raw) -> Self:
        """Return the models with their claims added up, what contradicts them, and whether data can count more."""
        outcome = raw.get("joint")
        countable = any(entry.can_be_counted for entry in self.read.left)
        if self.records_problem:
            self = replace(self, mismatch=self.records_problem, odd=self.comparison.tested)
        if not isinstance(outcome, Measured):
            return replace(self, countable=countable)
        joint = outcome.value
        if joint.contradiction is not None:
            return replace(self, countable=countable, mismatch=joint.contradiction)
        return replace(self, countable=countable, guarantee=_composed(joint, self.inputs.policy))

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield which models were left out or counted, and what contradicts what."""
        outcome = raw.get("joint")
        if isinstance(outcome, Measured):
            joint = outcome.value
            yield from (f"Left out: {entry.name} {entry.reason}" for entry in joint.left_out)
            if joint.filled:
                yield RecordNote(f"Counted in the data, without classes: {', '.join(joint.filled)}.")
            if joint.contradiction is not None:
                yield f"No dataset meets the counts of all models: {joint.contradiction}"
            elif joint.silence is None and not joint.proved_consistent:
                yield "No dataset that meets all counts was found in time; the bounds hold if there is one."
        yield from self.comparison.notes(self.inputs.suppression)
        yield ALONE


def _as_regression(model: object) -> RegressionModel | None:
    """Return a model, or a fitted estimator, as a regression; None where it is none."""
    if not is_estimator(model):
        return model if isinstance(model, RegressionModel) else None
    try:
        value = as_model(model)
    except GlassineError:
        return None  # An ensemble of trees
    return value if isinstance(value, RegressionModel) else None


def _of_regressions(
    value: SeveralModels,
    tables: Sequence[RegressionModel | None],
    artefact: Any,
    files: tuple[FileForm, ...],
    estimator: bool,
) -> OpenedModel:
    """Return several regressions as they were opened; raise where other models stand among them."""
    from glassine.auditing.several_regressions import SeveralRegressionsSubject

    regressions = tuple(table for table in tables if table is not None)
    if len(regressions) < len(tables):
        raise UnsupportedModelError(
            "regressions are judged together with regressions alone.",
            remedy="Audit the other models together, or each alone.",
        )
    plain = replace(value, models=regressions)
    return OpenedModel(kind=SeveralRegressionsSubject, artefact=artefact, value=plain, files=files, estimator=estimator)


def _facts(several: SeveralSubject, outcome: Outcome[JointReconstruction], raw: Raw) -> dict[str, Fact[Any]]:
    """Return what several models of the same records reveal together.

    Nothing passes by bounds that do not prove it, nor past a model that was left out and that no claim covers. Counts
    that contradict one another are evidence of nothing.
    """
    if not isinstance(outcome, Measured):
        return {"intersections": outcome, "bits": outcome}
    joint, policy = outcome.value, several.inputs.policy
    if joint.contradiction is not None:
        # No check passes because nothing was judged.
        return dict.fromkeys(("intersections", "bits"), NotApplicable("no dataset meets the counts of all models."))
    composed = joint.composition
    by_claims = policy.max_epsilon is not None and (
        policy.max_delta is not None or composed is None or not composed.delta
    )
    unseen = [
        entry.name for entry in joint.left_out if entry.counts != "zero" and (entry.guarantee is None or not by_claims)
    ]
    doubt = f"What {', '.join(unseen)} adds was not measured." if unseen else ""
    doubt = " ".join(filter(None, [doubt, WEIGHED.format(whose=", ".join(several.weighed)) if several.weighed else ""]))
    bits: Fact[Bits] = None
    if not joint.models and doubt:
        bits = NotApplicable(f"no model publishes exact counts. {doubt}")
    elif joint.models and joint.bits_most_exposed is not None:
        between = joint.bits_most_exposed
        bits = Measured(
            Bits(lower=between.lower, upper=between.upper, unsettled=doubt, tolerance=ROUNDING, inferred=joint.inferred)
        )
    return {"intersections": _sizes_of_models(joint, policy.smallest_group, doubt), "bits": bits}


def _sizes_of_models(joint: JointReconstruction, limit: int | None, doubt: str) -> Fact[Sizes]:
    """Return the groups that certainly hold records: leaves, and intersections of leaves by their upper bounds."""
    if limit is not None and not joint.models and doubt:
        return NotApplicable(f"no model publishes exact counts. {doubt}")
    if not joint.models or joint.cells is None or limit is None:
        return None
    ranges = zip(joint.cells.low.tolist(), joint.cells.high.tolist(), strict=True)
    within = [high for low, high in ranges if 1 <= low <= high]
    within += [group.high for group in joint.small_groups if group.kind == "difference"]
    alone = {("leaf or rule", "leaves and rules"): tuple(entry.size for entry in joint.exposures if entry.size)}
    if len(joint.models) > 1:
        parts = {("intersection of the models", "intersections of the models"): tuple(within), **alone}
    else:
        parts = {**alone, ("group", "groups"): tuple(within)}
    fewest = joint.fewest_in_common
    unsettled = doubt
    if limit > 1 and (fewest is None or fewest < limit):
        unsettled = Text(
            f"No group is known to hold fewer than {limit} records, but that does not prove that none does."
            + (
                f" {parameter('smallest_group', limit - 1)} looks for more of them."
                if joint.smallest_group < limit - 1
                else ""
            )
            + (
                f" {parameter('data=')} may prove it."
                if fewest is None
                else f" The smallest intersection holds {fewest}."
            )
            + f" {marked(doubt)}".rstrip()
        )
    return Measured(Sizes(parts=parts, unsettled=unsettled, fewest=fewest))


def _composed(joint: JointReconstruction, policy: Policy) -> GuaranteeFinding | None:
    """Return the claims of the models, added up; they hold if each of them does."""
    composed = joint.composition
    if composed is None:
        return None
    standing: Standing = (
        "does not hold" if composed.caveats else "accepted" if policy.accept_guarantee else "not accepted"
    )
    return GuaranteeFinding(
        claimed_by="the models, added up",
        epsilon=composed.epsilon,
        delta=composed.delta,
        neighboring=composed.neighboring,
        count_scale=None,
        caveats=composed.caveats,
        standing=standing,
        bits_per_record=None,
        bounds=(),
    )


def _joint(subject: SeveralSubject) -> Outcome[JointReconstruction]:
    if subject.records_problem and subject.published.counts == "data":
        return NotApplicable(subject.records_problem)
    try:
        return Measured(subject.joint)
    except (UndefinedMeasureError, OtherRecordsError) as error:
        return NotApplicable(error.text)
    except CostLimitError as error:
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
    published, inputs = subject.published, subject.inputs
    if inputs.domain is None:
        return NotApplicable("rows are rebuilt in a domain, and none was given.")
    if subject.records_problem and published.counts == "data":
        return NotApplicable(subject.records_problem)
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
    try:
        return compared(rebuild(), inputs.data, inputs.settings.random_state)
    except OtherRecordsError as error:
        return NotApplicable(error.text)


SeveralSubject.measurements = (
    Measurement[SeveralSubject, JointReconstruction](
        "joint",
        "Joint reconstruction",
        "What do the models reveal together?",
        JointFinding,
        run=_joint,
        hide=_hide_joint,
        facts=_facts,
    ),
    rows_measured(_rows),
)
