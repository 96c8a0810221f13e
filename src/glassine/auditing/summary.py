"""A private summary as the subject of an audit: its bins, as the additive model that they give, and its guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from glassine.auditing.additive import AdditiveSubject, additive_subject
from glassine.auditing.findings import GuaranteeFinding
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.policy import Policy
from glassine.auditing.subject import Raw
from glassine.auditing.suppression import Suppression
from glassine.learners.summaries.estimator import PrivateSummary

__all__ = ["SummarySubject", "summary_subject"]

OF_ALL_MODELS = (
    "This is a private summary: its guarantee covers the tables and every model that is fitted to them, together. Bins "
    "are shown as the additive model of the summary has them; the tables hold noisy counts by finer ones."
)


@dataclass(frozen=True, kw_only=True)
class SummarySubject(AdditiveSubject):
    """A private summary, whose tables are an additive model's bins with their noisy counts by class."""

    def notes(self, raw: Raw, guarantee: GuaranteeFinding | None, suppression: Suppression) -> Sequence[str]:
        """Return what the guarantee covers, and what is odd."""
        return [OF_ALL_MODELS, *super().notes(raw, guarantee, suppression)]


def summary_subject(summary: PrivateSummary, inputs: AuditInputs, policy: Policy) -> SummarySubject:
    """Return a summary with what is given beside it; its domain is its own."""
    own = inputs if inputs.domain is not None else replace(inputs, domain=summary.domain_)
    subject = additive_subject(summary.additive(), own, policy)
    return SummarySubject(inputs=own, policy=policy, model=subject.model, extras=subject.extras)
