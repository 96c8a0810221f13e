"""Evidence as one page of HTML."""

from __future__ import annotations

from glassine.privacy.certificate import Certificate
from glassine.report import wording
from glassine.report.blocks import Definitions, Paragraph, Points
from glassine.report.evidence.basis import EvidenceFigure
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
        headline=_answered(document),
        sentence=document.about,
        sections=tuple(sections),
        terms=(),
        notice=wording.NOTICES[document.audience],
        version=document.version,
    )


def _answered(document: EvidenceDocument) -> str:
    """Return how many items figures answer; what only a person can state is counted apart."""
    asked = [line for line in document.lines if not line.item.remark]
    figures = sum(any(isinstance(answer, EvidenceFigure) for answer in line.answers) for line in asked)
    persons = sum(bool(line.person) for line in asked)
    said = f"Figures answer {figures} of {wording.plural(len(asked), 'item')}"
    return f"{said}; {persons} need a statement of a person" if persons else said


def _certificate(certificate: Certificate) -> Section:
    """Return the text of a certificate: its lists under their headings, and its sentences as paragraphs."""
    lines = tuple(wording.clean(line.strip()) for line in certificate.text().splitlines() if line.strip())
    blocks: list[Paragraph | Points] = []
    title, items = "", list[str]()
    for line in (*lines, ""):
        if line.startswith("- "):
            items.append(line.removeprefix("- "))
            continue
        if items:
            blocks.append(Points(title=title, items=tuple(items)))
        title, items = line.removesuffix(":") if line.endswith(":") else "", []
        if line and not title:
            blocks.append(Paragraph(text=line))
    return section("certificate", "The certificate", *blocks, link="Certificate", text=lines)
