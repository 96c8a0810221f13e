"""A private summary as the subject of an audit: what it released, and what its guarantee covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from glassine.attacks.outcome import Measured, Measurement, NotApplicable
from glassine.auditing.additive import AdditiveSubject, additive_subject
from glassine.auditing.describe import describe_guarantee
from glassine.auditing.evidence import Evidence
from glassine.auditing.findings import GuaranteeFinding, ModelSummary, NoisyNumbers, SummaryFinding
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.policy import Policy
from glassine.auditing.subject import Raw
from glassine.auditing.suppression import Suppression
from glassine.errors import InvalidParameterError, parameter
from glassine.privacy import accounting
from glassine.privacy.events import DiscreteGaussianNoise

if TYPE_CHECKING:
    from glassine.learners.summaries.estimator import PrivateSummary

OF_ALL_MODELS = (
    "The guarantee covers the summary and every model that is fitted to it, together. Every number is noisy, so that "
    "the guarantee alone limits what the summary reveals. Bins are shown as its additive model has them; the summary "
    "holds noisy counts by finer ones."
)
NOISY = NotApplicable("every number of a private summary is noisy, so that its guarantee alone limits what it reveals.")


@dataclass(frozen=True, kw_only=True)
class SummarySubject(AdditiveSubject):
    """A private summary; its bins are shown as those of its additive model."""

    published: PrivateSummary

    @cached_property
    def released(self) -> SummaryFinding:
        """What the summary holds, and whether its certificate is of it."""
        return _released(self.published)

    @cached_property
    def guarantee(self) -> GuaranteeFinding | None:
        """The differential privacy that is claimed, if the certificate is of this summary."""
        claimed = describe_guarantee(self.model, self.policy)
        if claimed is None:
            return None
        claimed = replace(claimed, claimed_by="the summary's certificate")
        if self.released.certified:
            return claimed
        caveats = (*claimed.caveats, "the certificate is of another summary")
        return replace(claimed, caveats=caveats, standing="does not hold", bits_per_record=None, bounds=())

    def check(self, inputs: AuditInputs) -> None:
        """Raise InvalidParameterError if anything is given beside the summary."""
        if inputs.domain is not None or inputs.has_records:
            given = {"domain=": inputs.domain, "data=": inputs.data, "holdout=": inputs.holdout}
            named = [parameter(name) for name, value in given.items() if value is not None]
            raise InvalidParameterError("a summary is audited alone.", remedy=f"Leave {' and '.join(named)} out.")
        super().check(self.inputs)

    def beside(self, inputs: AuditInputs) -> SummarySubject:
        """Return the same: there is nothing beside a summary."""
        return self

    def summary(self) -> ModelSummary:
        """Return the summary in brief."""
        return replace(super().summary(), kind="private summary")

    def evidence(self, raw: Raw, suppression: Suppression) -> Evidence:
        """Return that nothing but the guarantee limits what noisy numbers reveal."""
        return Evidence(
            kind="private summary",
            guarantee=self.guarantee,
            sizes=NOISY if "released" in raw else None,
            thresholds=NOISY if "values" in raw else None,
            named=NOISY if "values" in raw else None,
            domain_inferred=bool(self.inferred),
        )

    def notes(self, raw: Raw, guarantee: GuaranteeFinding | None, suppression: Suppression) -> Sequence[str]:
        """Return what the guarantee covers, and what is odd."""
        return [OF_ALL_MODELS, *super().notes(raw, guarantee, suppression)]


def summary_subject(published: PrivateSummary, inputs: AuditInputs, policy: Policy) -> SummarySubject:
    """Return a summary as a subject; its domain is its own."""
    own = replace(inputs, domain=published.domain_, estimator=False)
    subject = additive_subject(published.additive(), own, policy)
    return SummarySubject(inputs=own, policy=policy, model=subject.model, extras=subject.extras, published=published)


def _released(published: PrivateSummary) -> SummaryFinding:
    from glassine.learners.summaries.derived import MEASURED, RESERVED

    certificate, released = published.certificate_, published.released_
    releases = tuple(
        NoisyNumbers(name=event.name, n_values=event.values * event.count, deviation=event.sigma / event.units)
        for event in certificate.events
        if isinstance(event, DiscreteGaussianNoise)
    )
    digest = published.digest_
    kept, model = (certificate.public.get(name) for name in (RESERVED, MEASURED))
    return SummaryFinding(
        releases=releases,
        n_values=sum(one.n_values for one in releases),
        n_attributes=len(published.domain_),
        n_used=len(released.useful),
        n_pairs=len(released.edges),
        target=published.target_,
        digest=digest,
        certified=certificate.model == digest,
        spent=accounting.epsilon(certificate.events, certificate.delta),
        measured="" if not kept else f"{model}, at epsilon {kept:g}",
        receipt="" if certificate.receipt is None else f"{certificate.receipt.ledger}, {certificate.receipt.charge}",
    )


RELEASED = Measurement[SummarySubject, SummaryFinding](
    name="released",
    title="What the summary released",
    question="What does the summary hold, and is its certificate of it?",
    finding=SummaryFinding,
    run=lambda subject: Measured(subject.released),
    listed=False,
)

SummarySubject.measurements = (
    RELEASED,
    # Of each question the answer is the same; a note states it once.
    *(m if m.name == "terms" else replace(m.absent(NOISY), listed=False) for m in AdditiveSubject.measurements),
)
