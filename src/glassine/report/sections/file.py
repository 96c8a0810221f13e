"""Everything in the file that was audited: the model, and what else there is."""

from __future__ import annotations

from glassine.auditing.findings import Findings, SeveralSummary
from glassine.report import wording
from glassine.report.blocks import Block, Column, Paragraph, Row, Table
from glassine.report.section import Section

__all__ = ["file_sections", "holds_more", "listed_beside"]

NOTHING = "The file holds the model and nothing else. It may leave if the verdict allows it."
KEEP = "This is not the file that may leave: a clean copy is, which holds the model and nothing else. Audit the copy."
EACH_NOTHING = "The files hold the models and nothing else. They may leave if the verdicts allow it."
EACH_COPY = "A file that holds more than its model may not leave; a clean copy of it may. Audit the copy."

RUNS = "A pickle runs code when it is loaded: publish a copy as JSON or skops, or ask the publisher for one."
PICKLES = (".pkl", ".pickle", ".joblib")
MOST_NAMED = 3


def holds_more(findings: Findings) -> bool:
    """Return whether the audited file holds more than the model, so that a clean copy may leave in its place."""
    contents = findings.contents
    private = contents is not None and any(e.n_private is None or e.n_private for e in contents.fitted)
    return contents is not None and (bool(contents.others) or private)


def listed_beside(findings: Findings) -> tuple[str, ...]:
    """Return in a few sentences what the file holds beside the model."""
    contents = findings.contents
    if contents is None:
        return ()
    said = [f"{wording.clean(o.kind)}, {o.n_bytes:,} bytes, in {wording.clean(o.where)}." for o in contents.others]
    said += [f"{e.statistic} of {wording.clean(e.attribute)}, in {wording.clean(e.part)}." for e in contents.fitted]
    more = len(said) - MOST_NAMED
    return (*said[:MOST_NAMED], *((f"{more:,} more, listed below.",) if more > 0 else ()))


def file_sections(findings: Findings) -> tuple[Section, ...]:
    """Return the section on the audited file; none where no file was audited."""
    contents = findings.contents
    if contents is None:
        return ()
    name = next((file.name for file in findings.inputs if file.role == "model"), "")
    what = f"{wording.clean(name)}: {contents.form}" if name else contents.form
    blocks: list[Block] = [Paragraph(text=f"{what}, {contents.n_bytes:,} bytes.")]
    text: list[str | tuple[str, ...]] = [f"{what}, {contents.n_bytes:,} bytes."]
    if contents.others:
        blocks.append(
            Table(
                caption="What the file holds beside the model",
                columns=(Column("Place"), Column("Kind"), Column("Bytes", numeric=True)),
                rows=tuple(
                    Row(name=wording.clean(other.where), cells=(wording.clean(other.kind), f"{other.n_bytes:,}"))
                    for other in contents.others
                ),
            )
        )
        text += [
            (wording.clean(other.where), wording.clean(other.kind), f"{other.n_bytes:,} bytes")
            for other in contents.others
        ]
    if contents.fitted:
        blocks.append(
            Table(
                caption="Values of the training data in parts of the pipeline",
                columns=(Column("Part"), Column("Column"), Column("Values"), Column("Number", numeric=True)),
                rows=tuple(
                    Row(
                        name=wording.clean(entry.part),
                        cells=(wording.clean(entry.attribute), entry.statistic, f"{entry.n_values:,}"),
                    )
                    for entry in contents.fitted
                ),
            )
        )
        text += [
            f"{wording.clean(entry.part)}: {entry.statistic} of {wording.clean(entry.attribute)} ({entry.n_values:,})"
            for entry in contents.fitted
        ]
    several = isinstance(findings.subject, SeveralSummary)
    closing = (EACH_COPY if several else KEEP) if holds_more(findings) else (EACH_NOTHING if several else NOTHING)
    if name.lower().endswith(PICKLES):
        closing = f"{closing} {RUNS}"
    return (
        Section(
            id="file",
            title="What the file holds",
            link="File",
            blocks=(*blocks, Paragraph(text=closing)),
            text=(*text, closing),
        ),
    )
