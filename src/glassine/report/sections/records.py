"""What records add beside a subject whose guarantee is accepted: for the checker only, and covered by no guarantee."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glassine.attacks.outcome import UNCOVERED, RecordNote
from glassine.auditing.findings import Findings
from glassine.report import wording
from glassine.report.blocks import Block, Paragraph, Points
from glassine.report.measured import sections_of
from glassine.report.section import Section
from glassine.report.sections.policy import policy_section

SAME = "The records change none of the checks."


def record_sections(findings: Findings, kind: str) -> Iterator[Section]:
    """Yield what the records add, for a kind of subject; nothing where none were measured apart from it.

    What follows from the subject alone is shown in its own sections, and not again.
    """
    records = findings.holder
    if records is None:
        return
    # Checks that the records leave as they are stand in the policy's own section.
    changed = [check for check in records.checks if check not in findings.checks]
    judged = policy_section(changed, records.policy, kind)
    verdict = f"Judged with the records: {records.verdict}. {records.decision}"
    notes = tuple(wording.clean(note) for note in records.notes if isinstance(note, RecordNote) and note != UNCOVERED)
    again, sections = list[Block](), list[Section]()
    for section in sections_of(records):
        own = next((other for other in sections_of(findings) if other.id == section.id), None)
        if own is None:
            sections.append(section)
        elif own != section:
            # Drawings of the same name stand on the page once.
            again += [Paragraph(text=text, title=f"{section.title}:") for text in section.text if isinstance(text, str)]
    yield Section(
        id="data",
        title="What the records add",
        link="Records",
        blocks=(
            Paragraph(text=UNCOVERED, tone="lead"),
            Paragraph(text=verdict),
            *((Points(items=notes),) if notes else ()),
            *again,
            *(judged.blocks if changed else (Paragraph(text=SAME),)),
        ),
        text=(UNCOVERED, verdict, *notes, *(judged.text if changed else (SAME,))),
        audience="checker",
    )
    for section in sections:
        yield replace(section, audience="checker")
