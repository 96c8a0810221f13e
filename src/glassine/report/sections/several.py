"""Several models of the same records: what each reveals, and what they reveal together."""

from __future__ import annotations

import math
from dataclasses import replace

from glassine.attacks.outcome import ShownCount
from glassine.auditing.findings import Findings, JointFinding, RowsFinding, SeveralSummary
from glassine.auditing.findings.differences import DifferencesFinding
from glassine.report import wording
from glassine.report.blocks import Fact, Points, Row, Table, heads, paragraph
from glassine.report.charts import draw_bar
from glassine.report.figures import UNKNOWN, facts, table
from glassine.report.section import Page, Section, figures_section, section, sections_of, sentence
from glassine.report.sections.policy import judged_page, measure_rows

STATUS = {
    "inconsistent": "No dataset in the domain meets the counts of all models, so nothing was judged: they contradict "
    "one another, or the domain leaves out some of their records.",
    "unmeasured": "No model publishes exact counts, so what they reveal together was not measured.",
}
BITS = (
    "Bits learned about a record, on average. Each bit halves the possible records. What all models reveal together "
    "lies between two proved bounds."
)


def several_page(findings: Findings, *, title: str | None = None) -> Page:
    """Return the report on several models of the same records."""
    joint: JointFinding | None = findings.value("joint")
    rows: RowsFinding | None = findings.value("rows")
    page = judged_page(
        findings, findings.subject.kind, measure_rows(findings), title=title or f"Privacy of {findings.subject}"
    )
    on_records = joint is not None and bool(joint.counted or joint.bits_aligned is not None)
    differences: DifferencesFinding | None = findings.value("differences")
    on_records = on_records or (differences is not None and differences.counted)
    return replace(
        page,
        kind="privacy of several models",
        described=_described(findings, joint),
        sentence=STATUS.get("" if joint is None else joint.status, page.sentence),
        figures=() if joint is None else _figures(joint),
        sections=(
            *page.sections,
            *(() if joint is None else (_joint_section(joint),)),
            *((_groups_section(joint),) if joint is not None and joint.bits is not None else ()),
            *(() if rows is None else (_rows_section(rows),)),
            *sections_of(findings),
        ),
        terms=("bit", "leaf", "domain", "suppressed") if differences is None else ("suppressed",),
        notice=wording.CHECKER_ONLY if on_records or (rows is not None and rows.error is not None) else page.notice,
    )


def _described(findings: Findings, joint: JointFinding | None) -> str:
    names = findings.subject.models if isinstance(findings.subject, SeveralSummary) else ()
    size = "" if joint is None else f"; {_records(joint.n_records)}"
    return f"{sentence(str(findings.subject))}: {wording.listing(names, most=8, room=60)}{size}."


def _records(count: ShownCount) -> str:
    return wording.plural(count, "record") if isinstance(count, int) else f"{count} records"


def _between(bounds: tuple[float, float | None] | None) -> str:
    """Return proved bounds, as one number if they are equal at one decimal."""
    if bounds is None:
        return UNKNOWN
    low, high = bounds
    if high is None:
        return f"at least {wording.bits(low)} bits"
    ends = dict.fromkeys((wording.bits(low), wording.bits(high)))
    return f"{' to '.join(ends)} bits"


def _outward(bounds: tuple[float, float]) -> tuple[str, str]:
    """Return proved bounds to three digits, rounded so that they stay bounds; equal ones stay equal."""
    low, high = bounds
    if low == high:
        return f"{low:.3f}", f"{high:.3f}"
    return f"{math.floor(low * 1000) / 1000:.3f}", f"{math.ceil(high * 1000) / 1000:.3f}"


FIGURES = table("""
Learned from all models together | {average} | about the average record
Learned from one model alone | {alone} | about the average record, by the model that reveals most
Learned about the most exposed | {most} | from all models together
""")


def _figures(joint: JointFinding) -> tuple[Fact, ...]:
    alone = f"{wording.bits(max(joint.bits_alone))} bits" if joint.bits_alone else None
    return facts(FIGURES, joint, average=_between(joint.bits), alone=alone, most=_between(joint.bits_most_exposed))


def _joint_section(joint: JointFinding) -> Section:
    """Return what each model reveals about the average record, and what all of them do."""
    names = tuple(wording.clean(name) for name in joint.models)
    bounds = [(bits, bits) for bits in joint.bits_alone]
    if joint.bits is not None and len(names) > 1:
        names, bounds = (*names, "All together"), [*bounds, joint.bits]
    top = max((high for _, high in bounds), default=0.0)
    rows = tuple(
        Row(name=name, cells=(draw_bar(*(value / top if top else 0.0 for value in ends)), *_outward(ends)))
        for name, ends in zip(names, bounds, strict=True)
    )
    left_out = tuple(f"{wording.clean(entry.name)} {wording.clean(entry.reason)}" for entry in joint.left_out)
    prior = f"One unknown record of the domain has {wording.amount(joint.domain_bits)} bits."
    if joint.by_shares:
        prior = "Bits are those of an attacker who knows how common each value is, by the public shares of the domain."
    columns = heads("Model", "Bits", figures=("At least", "At most"))
    contradiction = joint.contradiction and f"No dataset meets all counts: {wording.clean(joint.contradiction)}"
    return section(
        "joint",
        "What the models reveal together",
        paragraph(contradiction or "", "missing"),
        (Table(caption=BITS, columns=columns, rows=rows, style="bars"), prior) if rows else None,
        Points(items=left_out, title="Left out", style="missing") if left_out else None,
        link="Together",
        text=(f"{row.name}: {' to '.join(dict.fromkeys(map(str, row.cells[1:])))} bits" for row in rows),
        text_title="Bits learned about a record, on average",
    )


GROUPS = table("""
Small groups revealed only together | {n_small_groups:number} | Groups that certainly hold a record, but few, and \
that no model sets apart alone.
Groups of one class revealed only together | {n_certain_groups:number} | Their records certainly have one class, and \
every model alone shows several.
Smallest intersection | {fewest} | Of those that hold a record. One is what a leaf or rule of each model have in \
common. | Neither the counts nor the data settle it.
""")
ROWS = table("""
Rows rebuilt | {rebuilt} | {meaning}
Values that are certain | {certain} | Of all values of all rows.
[error] Distance from the real records | {error.error:.3f} | On a scale from 0 (equal) to 1; that of random records \
is {error.baseline:.3f}.
""")


def _groups_section(joint: JointFinding) -> Section:
    """Return how many groups only the models together single out; where they lie would name the people in them."""
    fewest = None if joint.fewest_in_common is None else _records(joint.fewest_in_common)
    title = "Groups that only all models single out"
    return figures_section("groups", title, "Groups", facts(GROUPS, joint, fewest=fewest), title)


def _rows_section(rows: RowsFinding) -> Section:
    """Return how certain rebuilt rows are, never the rows."""
    certain = "not proved" if rows.share_certain is None else wording.percent(rows.share_certain)
    figures = facts(ROWS, rows, rebuilt=_records(rows.n_records), certain=certain)
    return figures_section("rows", "Rows that meet every count", "Rows", figures, "Rows that meet every count")
