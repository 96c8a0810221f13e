"""A private summary in the report: what it released, and whether its certificate is of it."""

from __future__ import annotations

from glassine.auditing.findings import Findings, SummaryFinding
from glassine.report import wording
from glassine.report.blocks import Column, Paragraph, Row, Table
from glassine.report.measured import MODEL, MeasuredSection
from glassine.report.section import Section


def _summary_section(finding: SummaryFinding, findings: Findings) -> Section:
    """Return each release with its numbers and noise, and the check of the certificate."""
    target = f" Target: {wording.clean(finding.target)}." if finding.target else ""
    lead = (
        f"{wording.plural(finding.n_values, 'noisy number')}, from which every model follows. Models use "
        f"{finding.n_used:,} of {wording.plural(finding.n_attributes, 'attribute')}; the summary holds counts of "
        f"{wording.plural(finding.n_pairs, 'pair')}.{target}"
    )
    checked = (*_certificate(finding),)
    table = Table(
        caption="Each release, how many numbers it holds, and the standard deviation of the noise in each",
        columns=(Column("Release"), Column("Numbers", numeric=True), Column("Noise", numeric=True)),
        rows=tuple(
            Row(name=wording.clean(one.name), cells=(f"{one.n_values:,}", f"{one.deviation:.3g}"))
            for one in finding.releases
        ),
    )
    rows = tuple(
        (wording.clean(one.name), wording.plural(one.n_values, "number"), f"noise {one.deviation:.3g}")
        for one in finding.releases
    )
    return Section(
        id="released",
        title="What the summary released",
        link="Releases",
        blocks=(Paragraph(text=lead, tone="lead"), *(Paragraph(text=text) for text in checked), table),
        text=(lead, *checked, *rows),
    )


def _certificate(finding: SummaryFinding) -> tuple[str, ...]:
    """Return what was checked of the certificate, in sentences."""
    if not finding.certified:
        return ("The certificate is of another summary: this one was changed after it was released.",)
    paid = "" if finding.receipt else " It names no ledger, so nothing shows what else was released of the records."
    return (
        f"The certificate is of this summary (SHA-256 {finding.digest[:12]}). Its releases, added up again, have "
        f"epsilon {finding.spent:.4g}.{paid}",
    )


SECTIONS = (MeasuredSection[SummaryFinding](measurement="released", section=_summary_section, rank=MODEL - 1),)
