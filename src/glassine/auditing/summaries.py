"""A private summary as the subject of an audit: what it released, and what its guarantee covers."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from glassine.attacks.outcome import Measured, Measurement, NotApplicable
from glassine.auditing.additive import AdditiveSubject
from glassine.auditing.describe import describe_guarantee
from glassine.auditing.facts import Fact
from glassine.auditing.findings import GuaranteeFinding, ModelSummary, NoisyNumbers, SummaryFinding
from glassine.auditing.inputs import AuditInputs, check_sensitive
from glassine.auditing.policy import Policy
from glassine.auditing.subject import OpenedModel, Raw
from glassine.errors import InvalidParameterError, parameter
from glassine.privacy import accounting
from glassine.privacy.events import DiscreteGaussianNoise

if TYPE_CHECKING:
    from glassine.learners.summaries.private_summary import PrivateSummary

OF_ALL_MODELS = (
    "The guarantee covers the summary and every model that is fitted to it, together. Every number is noisy, so that "
    "the guarantee alone limits what the summary reveals. Bins are shown as its additive model has them; the summary "
    "holds noisy counts by finer ones."
)
NOISY = NotApplicable("every number of a private summary is noisy, so that its guarantee alone limits what it reveals.")


@dataclass(frozen=True, kw_only=True)
class SummarySubject(AdditiveSubject):
    """A private summary; its bins are shown as those of its additive model."""

    released: SummaryFinding  # What the summary holds, and whether its certificate is of it

    @classmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return a summary as a subject; its domain is its own."""
        summary = opened.value
        return cls.of_bins(
            summary.additive(),
            replace(inputs, domain=summary.domain_),
            kind="private summary",
            guarantee=claim,
            released=_released(summary),
        )

    @classmethod
    def claim(cls, opened: OpenedModel, policy: Policy) -> GuaranteeFinding | None:
        """Return the differential privacy that is claimed, if the certificate is of this summary."""
        claimed = describe_guarantee(opened.value.additive(), policy)
        if claimed is None:
            return None
        claimed = replace(claimed, claimed_by="the summary's certificate")
        certified = opened.value.certificate_.model == opened.value.digest_
        return claimed if certified else claimed.void("the certificate is of another summary")

    @classmethod
    def check(cls, opened: OpenedModel, inputs: AuditInputs, names: Container[str] | None) -> None:
        """Raise InvalidParameterError if anything is given beside the summary."""
        arguments = {"domain=": inputs.domain, "data=": names or inputs.data, "holdout=": inputs.holdout}
        if named := [parameter(name) for name, value in arguments.items() if value is not None]:
            raise InvalidParameterError("a summary is audited alone.", remedy=f"Leave {' and '.join(named)} out.")
        name = inputs.settings.sensitive
        if name is not None and name not in opened.value.additive().attributes:
            check_sensitive(name, opened.value.domain_, None)

    def summary(self) -> ModelSummary:
        """Return the summary in brief."""
        return replace(super().summary(), kind="private summary")

    def facts_of(self, raw: Raw) -> dict[str, Fact[Any]]:
        """Return that nothing but the guarantee limits what noisy numbers reveal."""
        read = {"released": ("sizes", "implied"), "values": ("thresholds", "named")}
        return {fact: NOISY for name, facts in read.items() if name in raw for fact in facts}

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield what the guarantee covers, and what is odd."""
        yield OF_ALL_MODELS
        yield from super().notes(raw)


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
    "released",
    "What the summary released",
    "What does the summary hold, and is its certificate of it?",
    SummaryFinding,
    run=lambda subject: Measured(subject.released),
    listed=False,
)

SummarySubject.measurements = (
    RELEASED,
    # Of each question the answer is the same; a note states it once.
    *(
        m if m.name == "terms" else replace(m, run=lambda subject: NOISY, listed=False)
        for m in AdditiveSubject.measurements
    ),
)
