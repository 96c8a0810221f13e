"""Evidence as one page of HTML."""

from __future__ import annotations

from glassine.privacy.certificate import Certificate
from glassine.report import wording
from glassine.report.blocks import Definitions, Paragraph, Points
from glassine.report.evidence.document import EMPTY, PERSON, EvidenceDocument
from glassine.report.section import Page, Section, section


def evidence_page(document: EvidenceDocument, certificate: Certificate | None = None) -> Page:
    """Return the answers to a list of items as a page, with the certificate that they rest on at its end.

    Parameters
    ----------
    document : EvidenceDocument
        The answers.
    certificate : Certificate, optional
        The certificate, whose text is shown whole.
    """
    sections = []
    for line in document.lines:
        item = line.item
        name = f"{item.id} {item.heading}".strip()
        person = tuple((f"{PERSON}: {field}", (wording.clean(text) or EMPTY,)) for field, text in line.person)
        said = document.said(line)
        sections.append(
            section(
                item.id.lower().replace(".", "-"),
                name,
                Paragraph(text=item.asked, tone="lead"),
                Points(items=said) if said else None,
                Definitions(person) if person else None,
                Paragraph(text=f"Source: {item.source or 'not confirmed'}.", tone="caveat"),
                link=item.id,
                text=(item.asked, *said),
            )
        )
    if certificate is not None:
        sections.append(_certificate(certificate))
    return Page(
        kind="evidence",
        title=document.title,
        described="",
        tone="finding",
        headline=document.title,
        sentence=document.about,
        sections=tuple(sections),
        terms=(),
        notice=wording.NOTICES[document.audience],
        version=document.version,
    )


def _certificate(certificate: Certificate) -> Section:
    lines = tuple(wording.clean(line.strip()) for line in certificate.text().splitlines() if line.strip())
    return section("certificate", "The certificate", Points(items=lines), link="Certificate", text=lines)
