"""A regression in the report: its table of coefficients as people know it, and a forest plot."""

from __future__ import annotations

from collections.abc import Iterator

from glassine.auditing.findings import Findings
from glassine.auditing.findings.regression import ColumnFinding, RegressionFinding
from glassine.report import wording
from glassine.report.blocks import Figure, Paragraph, Piece, Row, Table, heads
from glassine.report.figures import facts, table
from glassine.report.forest_plot import MOST, Coefficient, draw_forest
from glassine.report.section import MODEL, Body, shows

MOST_ROWS = 300
LONGEST = 60
FIGURES = table("""
Records per parameter | {each:.3g} | They imply a membership advantage of {implied}. | It needs both numbers.
[measured] Effective parameters | {effective:.4g} | By the data; {n_parameters:count} were fitted. |
[measured] Largest leverage | {largest_leverage:.2f} | An outcome makes most of its fitted value for {half}. |
""")


@shows("columns", "model", "The coefficients, and what each column reveals", "Coefficients", rank=MODEL)
def REGRESSION(finding: RegressionFinding, findings: Findings) -> Body:
    """Show the figures, the forest plot and the table of coefficients."""
    parameters = finding.effective if finding.effective is not None else finding.n_parameters
    each = None if not parameters or finding.n_records is None else finding.n_records / parameters
    implied = "an unknown size" if finding.advantage is None else f"about {finding.advantage:.2g}"
    half = "" if finding.n_leverage is None else f"{finding.n_leverage} {wording.units()}"
    measured = finding.largest_leverage is not None and finding.effective is not None
    figures = facts(FIGURES, finding, findings, each=each, measured=measured, implied=implied, half=half)
    drawn = [
        Coefficient(
            name=_name(column.name),
            value=column.coefficients[-1],
            error=None if column.errors is None else column.errors[-1],
        )
        for column in finding.columns
    ]
    of = f" of {finding.outputs[-1]}" if finding.outputs[-1] else ""
    title = f"Coefficients{of} with intervals of 95 %"
    charts = tuple(draw_forest(drawn, title, narrow=narrow) for narrow in (False, True)) if drawn else ()
    more = f" The first {MOST} are drawn." if len(drawn) > MOST else ""
    note = (
        f"At least: by its standard error, a column of 0/1 holds so many {wording.units()}, or as many of its rarer "
        f"outcome. {finding.unbounded}{more}"
    )
    pieces: list[Piece] = [
        Paragraph(text=wording.clean(finding.meaning), tone="lead"),
        figures,
        *([Figure(drawings=charts[:1], narrow=charts[1:], caption=f"{title}.")] if charts else []),
        _table(finding),
        Paragraph(text=note.strip(), tone="note"),
    ]
    return pieces, tuple(_text(finding))


def _table(finding: RegressionFinding) -> Table:
    """Return the table of coefficients: an intercept, then a row per column and output."""
    counted = any(column.size is not None for column in finding.columns)
    bounded = any(column.bound is not None for column in finding.columns)
    head = ["Estimate", "Std. error", *(["At least"] if bounded else []), *(["Counted"] if counted else [])]
    rows: list[Row] = []
    # A Cox regression has none.
    for place, output in enumerate(finding.outputs if finding.link != "cox" else ()):
        errors = finding.intercept_errors
        cells = (_number(finding.intercept[place]), _number(None if errors is None else errors[place]))
        rows.append(Row(name="(Intercept)", note=wording.clean(output), cells=(*cells, *[""] * (len(head) - 2))))
    for column in finding.columns[:MOST_ROWS]:
        for place, output in enumerate(finding.outputs):
            rows.append(_row(column, place, output, bounded=bounded, counted=counted))
    omitted = len(finding.columns) - MOST_ROWS
    caption = "Coefficients as published" + (f"; {wording.plural(omitted, 'more column')}" if omitted > 0 else "")
    return Table(caption=caption, columns=heads("Column", figures=head), rows=tuple(rows))


def _row(column: ColumnFinding, place: int, output: str, *, bounded: bool, counted: bool) -> Row:
    errors = column.errors
    cells = [_number(column.coefficients[place]), _number(None if errors is None else errors[place])]
    cells += ["" if column.bound is None else f"{column.bound:,}"] if bounded else []
    cells += ["" if column.size is None else str(column.size)] if counted else []
    return Row(name=_name(column.name), note=wording.clean(output), cells=tuple(cells))


def _text(finding: RegressionFinding) -> Iterator[str | tuple[str, ...]]:
    yield wording.clean(finding.meaning)
    errors = finding.intercept_errors
    if finding.link != "cox":
        yield ("(Intercept)", _number(finding.intercept[-1]), _number(None if errors is None else errors[-1]), "")
    for column in finding.columns[:MOST_ROWS]:
        least = column.size if column.size is not None else column.bound
        sentence = "" if least is None else f"{'holds' if column.size is not None else 'holds at least'} {least}"
        error = None if column.errors is None else column.errors[-1]
        yield (_name(column.name), _number(column.coefficients[-1]), _number(error), sentence)


def _name(text: str) -> str:
    return wording.shorten(wording.clean(text), LONGEST)


def _number(value: float | None) -> str:
    """Return a figure to six digits; nothing where there is none."""
    return "" if value is None else f"{value:.6g}"
