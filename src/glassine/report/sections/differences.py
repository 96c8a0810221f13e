"""Several regressions of one data set in the report: their samples side by side, and what follows by subtraction."""

from __future__ import annotations

from collections.abc import Iterator

from glassine.auditing.findings import Findings
from glassine.auditing.findings.differences import DifferencesFinding
from glassine.report import wording
from glassine.report.blocks import Paragraph, Piece, Row, Table, heads
from glassine.report.figures import facts, table
from glassine.report.section import Body, shows

MOST_ROWS = 100
FIGURES = table("""
Parameters per record | {parameters_per_record:.3g} | Of all tables together; they imply a membership advantage of \
{implied}. | It needs the number of records of each table.
[counted] Outcomes that follow from all tables | {n_together} | For an attacker who knows the columns of everyone. \
{digits} | {unknown}
[counted] Outcomes that follow from one table alone | {n_alone} | Such as of a person who is alone in a column. | \
{unknown}
""")


@shows("differences", "differences", "What the tables reveal together", "Together")
def DIFFERENCES(finding: DifferencesFinding, findings: Findings) -> Body:
    """Show the tables, by how many records their samples differ, and which outcomes follow."""
    implied = "at most " + f"{finding.advantage:.2g}" if finding.advantage is not None else "unknown size"
    digits = "" if finding.n_recovered is None else f"The published digits give {finding.n_recovered} of them."
    figures = facts(
        FIGURES,
        finding,
        findings,
        implied=implied,
        digits=digits,
        counted=finding.counted,
        unknown=wording.clean(finding.unknown) or "It was not counted.",
    )
    covariances = sum(one.covariance for one in finding.tables)
    shared = (
        "Two tables or more publish covariance matrices. Where their samples differ in one person, all columns of that "
        "person follow."
    )
    basis = "counted in the data" if finding.counted else "by the numbers of records that the tables state"
    note = wording.clean(finding.unknown) if finding.unknown and not finding.counted else ""
    pieces: list[Piece] = [
        figures,
        _tables(finding),
        *([_differences(finding, basis)] if finding.differences else []),
        *([Paragraph(text=shared, tone="note")] if covariances > 1 else []),
        *([Paragraph(text=note, tone="note")] if note else []),
    ]
    return pieces, tuple(_text(finding, basis))


def _tables(finding: DifferencesFinding) -> Table:
    rows = tuple(
        Row(
            name=wording.clean(one.name),
            cells=(wording.clean(one.target), _number(one.n_records), _number(one.n_parameters)),
        )
        for one in finding.tables[:MOST_ROWS]
    )
    return Table(caption="Tables", columns=heads("Table", "Outcome", figures=("Records", "Parameters")), rows=rows)


def _differences(finding: DifferencesFinding, basis: str) -> Table:
    rows = tuple(
        Row(name=wording.clean(one.larger), cells=(wording.clean(" and ".join(one.smaller)), str(one.n)))
        for one in finding.differences[:MOST_ROWS]
    )
    omitted = len(finding.differences) - MOST_ROWS
    more = f"; {wording.plural(omitted, 'more difference')}" if omitted > 0 else ""
    columns = heads("In the sample of", "Not in that of", figures=("Records",))
    return Table(caption=f"Differences between samples, {basis}{more}", columns=columns, rows=rows)


def _text(finding: DifferencesFinding, basis: str) -> Iterator[str | tuple[str, ...]]:
    for one in finding.tables[:MOST_ROWS]:
        yield (wording.clean(one.name), wording.clean(one.target), _number(one.n_records), "")
    for gap in finding.differences[:MOST_ROWS]:
        than = wording.clean(" and ".join(gap.smaller))
        yield f"In the sample of {wording.clean(gap.larger)} and not in that of {than}: {gap.n} ({basis})"
    if finding.counted:
        yield f"Outcomes that follow from all tables together: {finding.n_together}; from one alone: {finding.n_alone}"
    if finding.unknown:
        yield wording.clean(finding.unknown)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
