"""The report on a comparison of learners: a page, and text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from markupsafe import Markup

from glassine.auditing.findings import InputFile
from glassine.comparison import CANDIDATES, Comparison, Mean, Recommendation, Row
from glassine.comparison.candidates import CONSTANT
from glassine.comparison.comparison_results import LESS_IS_BETTER, NO_PARTS, Measure
from glassine.report import wording
from glassine.report.advice import TITLES, Advice, advice_of, figure, mean_of, name_of
from glassine.report.blocks import (
    Command,
    Definitions,
    Fact,
    Figure,
    Heading,
    Legend,
    Paragraph,
    Table,
    blocks_of,
    fold,
    heads,
)
from glassine.report.blocks import Row as TableLine
from glassine.report.charts import Line, Mark, Point, Reference, draw_budget, draw_frontier, draw_key, draw_level_key
from glassine.report.section import Page, Section, clean_inputs, section

MEANS = (
    "Means over the splits, ± their standard errors. The splits share records, so that the errors are somewhat too "
    "small."
)
DRAWN: tuple[Measure, ...] = ("accuracy", "auroc", "r2")
"""Measures that are drawn: shares, of which more is better."""

CHANCE = "V (by chance)"
ADVANTAGE = "Advantage"
BUDGET = "Means on held-out records, bars one standard error over the splits. Dashed: models without privacy."
REBUILD = "What an attacker can reconstruct"
BITS = (
    "Bits learned about a training record, on average, from the leaves or rules and their counts. No model lies above "
    "the dashed line. Leaves of a private model weigh by the training records in them, not by its noisy counts; its "
    "guarantee applies as well."
)
SEEN = (
    "Vulnerability: how often the part a record falls into reveals whether it trained the model; 0.5 is guessing. More "
    "parts give more by chance alone, see the table; models that show no parts are judged by their predictions, which "
    "hides more."
)


def comparison_page(
    comparison: Comparison,
    *,
    title: str | None = None,
    measure: Measure | None = None,
    command: str = "",
    inputs: Sequence[InputFile] = (),
) -> Page:
    """Return the report on a comparison of learners.

    Parameters
    ----------
    comparison : Comparison
        The figures.
    title : str, optional
        Title of the page.
    measure : {"accuracy", "auroc", "log_loss", "rmse", "mae", "r2"}, optional
        What models are ranked by; see :func:`glassine.comparison.recommend`.
    command : str, optional
        The command that fits the recommended model.
    inputs : sequence of InputFile
        The files that were read.
    """
    worded = advice_of(comparison, measure)
    advice = worded.recommendation
    command = wording.clean(command) if advice.chosen is not None else ""
    fitted = "The command fits it on all records, with fresh noise that no seed fixes. Add a ledger to charge a budget."
    return Page(
        kind="comparison",
        title=wording.clean(title or "Comparison of learners"),
        described=_settings(comparison),
        tone="recommended" if advice.chosen else "inconclusive",
        headline=worded.headline,
        sentence=f"{worded.ranked_by} {worded.why}",
        details=tuple(blocks_of((Command(command), Paragraph(text=fitted, tone="caveat")) if command else None)),
        notes=worded.notes,
        notes_title="Before anyone else sees this",
        figures=_facts(comparison, advice),
        sections=(
            *_charts(comparison, advice.chosen),
            _figures_section(comparison, worded),
        ),
        terms=_terms(comparison),
        inputs=clean_inputs(inputs),
        notice=wording.CHECKER_ONLY,
        version=wording.clean(comparison.version),
    )


def _figures_section(comparison: Comparison, worded: Advice) -> Section:
    """Return all figures, what has none, and the rule of the recommendation."""
    advice = worded.recommendation
    numbers = _numbers(comparison)
    measured = [row for row in comparison.rows if id(row) in numbers]
    table = [_cells(comparison, row) for row in measured]
    rows = tuple(
        TableLine(
            name=f"{numbers[id(row)]}. {CANDIDATES[row.model].title}",
            note="recommended" if row is advice.chosen else "",
            cells=tuple(cells.values()),
            picked=row is advice.chosen,
        )
        for row, cells in zip(measured, table, strict=True)
    )
    missing = _missing(comparison)
    # The rest stands on the page alone, as do errors of what does not rank: a terminal is 88 characters wide.
    brief = ("Epsilon", "Accuracy", "AUROC", "Log-loss", "RMSE", "R²", "Bits", CHANCE, "Gap", ADVANTAGE)
    brief_heads = [name for name in (table[0] if table else ()) if name in brief]
    briefly = [name.partition(" (")[0] for name in brief_heads]
    # An abbreviation keeps its capitals.
    lines = [("model", *(name if len(name) < 3 or name[1].isupper() else name.lower() for name in briefly))]
    for row, cells in zip(rows, table, strict=True):
        name = f"{'* ' if row.picked else ''}{row.name.partition(' ')[2]}"
        ranking = TITLES[advice.measure]
        lines.append((name, *(cells[head].partition(" (" if head == ranking else " ")[0] for head in brief_heads)))
    return section(
        "table",
        "All figures",
        Table(caption=MEANS, columns=heads("Model", figures=table[0]), rows=rows, style="wide") if rows else None,
        (Heading("Without figures"), Definitions(tuple((name, (reason,)) for name, reason in missing)))
        if missing
        else None,
        fold("The rule", worded.rule),
        text=(*(lines if rows else ()), *(f"{name}: {reason}" for name, reason in missing), f"The rule: {worded.rule}"),
        text_title="Means over the splits, ± their standard errors",
    )


def _no_bits(comparison: Comparison, chosen: Row | None) -> str:
    """Return which models have no bits, and how the recommended one is drawn then; empty where all have."""
    numbers = _numbers(comparison)
    lacking = [number for row in comparison.rows if row.bits is None and (number := numbers.get(id(row)))]
    said = f"Not drawn, as their bits are not known: {', '.join(map(str, lacking))}." if lacking else ""
    level = chosen is not None and chosen.bits is None and id(chosen) in numbers
    return f"{said} The dotted level is the recommended model." if level else said


def _numbers(comparison: Comparison) -> dict[int, int]:
    """Return the numbers of the rows that were measured, from 1."""
    measured = [row for row in comparison.rows if row.status == "measured"]
    return {id(row): number for number, row in enumerate(measured, start=1)}


def _facts(comparison: Comparison, advice: Recommendation) -> tuple[Fact, ...]:
    measure = advice.measure
    title = TITLES[measure]
    out: list[Fact] = []
    if advice.chosen is not None and (mean := advice.chosen.measured(measure)) is not None:
        meaning = name_of(advice.chosen)
        out.append(Fact(f"{title} of the recommended model", mean_of(mean, measure), meaning))
        out += _cheaper(comparison, advice.chosen, measure)
    plain = [(row, mean) for row in comparison.rows if not row.private and (mean := row.measured(measure)) is not None]
    readable = [pair for pair in plain if CANDIDATES[pair[0].model].readable and pair[0].model != CONSTANT]
    for head, rows in (
        ("Best readable model without privacy", readable),
        ("Black box", [pair for pair in plain if not CANDIDATES[pair[0].model].readable]),
        ("Baseline", [pair for pair in plain if pair[0].model == CONSTANT]),
    ):
        if rows:
            row, mean = _best(rows, measure)
            out.append(Fact(head, mean_of(mean, measure), name_of(row)))
    return tuple(out)


def _best(rows: Sequence[tuple[Row, Mean]], measure: Measure) -> tuple[Row, Mean]:
    sign = -1 if measure in LESS_IS_BETTER else 1
    return max(rows, key=lambda pair: sign * pair[1].value)


def _cheaper(comparison: Comparison, chosen: Row, measure: Measure) -> list[Fact]:
    """Return the best model at the smallest epsilon, where that is below the recommended one."""
    private = [(row, mean) for row in comparison.rows if row.private and (mean := row.measured(measure)) is not None]
    least = min(row.epsilon or 0.0 for row, _ in private)
    if least >= (chosen.epsilon or 0.0):
        return []
    row, mean = _best([pair for pair in private if pair[0].epsilon == least], measure)
    return [Fact(f"Best at epsilon {least:g}", mean_of(mean, measure), CANDIDATES[row.model].title)]


def _cells(comparison: Comparison, row: Row) -> dict[str, str]:
    """Return the cells of a row of the table, by the heads of their columns."""
    measures = {
        TITLES[name]: "" if (mean := row.measured(name)) is None else _short(mean, name) for name in comparison.measures
    }
    seen = "" if row.vulnerability is None else f"{row.vulnerability.value:.3f}"
    if row.control is not None:
        seen += f" ({row.control.value:.3f})"
    gap = "" if row.gap is None else f"{row.gap.value:.3f}".replace("-0.000", "0.000")
    over = row.over or "parts"
    parts = row.over if row.n_parts is None or over == "predictions" else f"{row.n_parts.value:,.0f} {over}"
    return {
        "Epsilon": "" if row.epsilon is None else f"{row.epsilon:g}",
        **measures,
        "Bits": "" if row.bits is None else f"{row.bits.value:.2f}",
        **({CHANCE: seen, "Gap": gap} if comparison.target_range is None else {ADVANTAGE: gap}),
        **(
            {"Parts compared": parts}
            if comparison.target_range is None
            else {"Leaves": "" if row.n_parts is None else f"{row.n_parts.value:,.0f}"}
        ),
        "CPU s": "" if row.seconds is None else f"{row.seconds.value:.2g}",
    }


def _short(mean: Mean, measure: Measure) -> str:
    """Return the mean of a measure; a log-loss without its error, for which the table is too narrow."""
    return figure(mean.value, measure) if measure == "log_loss" else mean_of(mean, measure)


def _terms(comparison: Comparison) -> tuple[str, ...]:
    if comparison.target_range is None:
        return ("epsilon", "accuracy", "bits compared", "vulnerability", "gap", "parts compared")
    return ("epsilon", "errors compared", "bits compared", "advantage")


def _missing(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return what has no figures, or no bits though it has parts; learners of the same reason at every epsilon once."""
    reasons: dict[tuple[str, str], list[Row]] = {}
    for row in comparison.rows:
        if row.status != "measured":
            state = "failed" if row.status == "failed" else "not applicable"
        elif row.bits is None and row.reason not in ("", NO_PARTS):
            state = "no bits"
        else:
            continue
        reasons.setdefault((row.model, f"{state}: {wording.clean(row.reason)}"), []).append(row)
    out = []
    for (model, reason), rows in reasons.items():
        epsilons = ", ".join(f"{row.epsilon:g}" for row in rows if row.epsilon is not None)
        out.append((CANDIDATES[model].title + (f" at epsilon {epsilons}" if epsilons else ""), reason))
    return tuple(out)


def _target(comparison: Comparison) -> str:
    """Return what is predicted, and what a constant prediction is."""
    name = wording.clean(comparison.target)
    if comparison.target_range is None:
        return f"{len(comparison.classes)} classes of {name}; the constant prediction is the most frequent one."
    low, high = comparison.target_range
    return f"{name} from {low:,g} to {high:,g}; the constant prediction is the mean of the training records."


def _settings(comparison: Comparison) -> str:
    by = "class by class, " if comparison.target_range is None else ""
    return (
        f"{comparison.n_records:,} records, {wording.plural(comparison.n_attributes, 'attribute')}, "
        f"{_target(comparison)} "
        f"{wording.plural(comparison.n_splits, 'random split')} into {1 - comparison.test_share:.0%} training and "
        f"{comparison.test_share:.0%} test records, {by}seed {comparison.seed}. Trees of at most "
        f"{comparison.max_depth} splits on a path, lists of at most {wording.plural(comparison.max_rules, 'rule')}; "
        f"additive models have delta {comparison.delta:g}, the other private models delta 0."
    )


def _charts(comparison: Comparison, chosen: Row | None) -> Iterator[Section]:
    """Yield what is drawn: each measure against the budget, against bits, and against vulnerability."""
    numbers = _numbers(comparison)
    rows = [row for row in comparison.rows if id(row) in numbers]
    drawn = [measure for measure in DRAWN if measure in comparison.measures]
    budget = [
        partial(
            draw_budget, _lines(rows, measure), _references(rows, measure), title=TITLES[measure], ident=f"e-{measure}"
        )
        for measure in drawn
    ]
    yield from _drawn("budget", "What a budget buys", BUDGET, budget)
    styles = _styles(rows)
    for name, title, caption, leak, axis, nothing in (
        (
            "bits",
            REBUILD,
            f"{BITS} {_no_bits(comparison, chosen)}".strip(),
            "bits",
            "bits learned per record",
            0.0,
        ),
        ("membership", "Membership inference", SEEN, "vulnerability", "vulnerability", 0.5),
    ):
        charts = []
        for measure in drawn:
            marks = [
                Mark(
                    number=numbers[id(row)],
                    x=leaked.value,
                    y=mean.value,
                    filled=row.private,
                    chosen=row is chosen,
                    name=_short_name(row),
                    style=styles.get(CANDIDATES[row.model].title, 0),
                )
                for row in rows
                if (mean := row.measured(measure)) is not None and (leaked := getattr(row, leak)) is not None
            ]
            ident = f"{leak}-{measure}"
            drawing = partial(draw_frontier, marks, title=TITLES[measure], leak=axis, nothing=nothing, ident=ident)
            charts.append(partial(drawing, unknown=_undrawn(chosen, numbers, leak, measure)))
        for one in _drawn(name, title, caption, charts, _legend(rows, styles, leak, chosen)):
            yield replace(one, blocks=(*one.blocks, _points(rows, numbers, leak, chosen, drawn)))


def _legend(rows: Sequence[Row], styles: dict[str, int], leak: str, chosen: Row | None) -> Legend:
    """Return what the points of a drawing stand for: of what is drawn alone."""
    drawn = {CANDIDATES[row.model].title for row in rows if getattr(row, leak) is not None}
    keys = [
        (draw_key(Mark(number=0, x=0, y=0, style=style)), title) for title, style in styles.items() if title in drawn
    ]
    keys.append((draw_key(Mark(number=0, x=0, y=0, filled=False)), "not private"))
    if chosen is not None:
        level = getattr(chosen, leak) is None
        keys.append((draw_level_key() if level else draw_key(Mark(number=0, x=0, y=0, chosen=True)), "recommended"))
    return Legend((*keys, ("", "numbers: see the table")))


def _undrawn(chosen: Row | None, numbers: dict[int, int], leak: str, measure: Measure) -> Reference | None:
    """Return the recommended model as a level where what it leaks is not known; None where it is a point."""
    mean = None if chosen is None else chosen.measured(measure)
    if chosen is None or mean is None or getattr(chosen, leak) is not None:
        return None
    return Reference(name=f"{numbers[id(chosen)]} recommended", value=mean.value)


def _points(
    rows: Sequence[Row], numbers: dict[int, int], leak: str, chosen: Row | None, measures: Sequence[Measure]
) -> Table:
    """Return the points of the drawings as a table, those that reveal least first; then the level of the drawings."""
    drawn = [(leaked.value, row) for row in rows if (leaked := getattr(row, leak)) is not None]
    drawn.sort(key=lambda pair: pair[0])
    if chosen is not None and getattr(chosen, leak) is None and chosen in rows:
        drawn.append((math.nan, chosen))
    digits = 2 if leak == "bits" else 3
    return Table(
        caption="The points as a table, the least revealing first",
        columns=heads("Model", figures=(leak.capitalize(), *(TITLES[measure] for measure in measures))),
        rows=tuple(
            TableLine(
                name=f"{numbers[id(row)]}. {name_of(row)}",
                note="recommended" if row is chosen else "",
                cells=(
                    "not known" if math.isnan(value) else f"{value:.{digits}f}",
                    *(_mean(row, measure) for measure in measures),
                ),
                picked=row is chosen,
            )
            for value, row in drawn
        ),
    )


def _mean(row: Row, measure: Measure) -> str:
    """Return a measure with its error; empty where it has none."""
    return "" if (mean := row.measured(measure)) is None else mean_of(mean, measure)


def _short_name(row: Row) -> str:
    """Return a model in as few words as a point has room for: that it is private is drawn."""
    title = CANDIDATES[row.model].title.removeprefix("private ").removeprefix("the ")
    return title if row.epsilon is None else f"{title} {row.epsilon:g}"


def _styles(rows: Sequence[Row]) -> dict[str, int]:
    """Return the color of each private kind of model that was measured."""
    private = [name for name, candidate in CANDIDATES.items() if candidate.private]
    measured = {row.model for row in rows}
    return {CANDIDATES[name].title: style for style, name in enumerate(private, start=1) if name in measured}


def _drawn(
    name: str, title: str, caption: str, charts: Sequence[Callable[..., Markup]], legend: Legend | None = None
) -> Iterator[Section]:
    """Yield a section of charts, drawn for a wide and a narrow page; none where nothing could be drawn."""
    drawings = tuple(filter(None, (chart() for chart in charts)))
    if drawings:
        narrow = tuple(filter(None, (chart(narrow=True) for chart in charts)))
        figure = Figure(drawings=drawings, caption=caption, legend=legend, narrow=narrow)
        yield section(name, title, figure)


def _lines(rows: Sequence[Row], measure: Measure) -> list[Line]:
    private = [name for name, candidate in CANDIDATES.items() if candidate.private]
    out = []
    for style, name in enumerate(private, start=1):
        points = tuple(
            Point(epsilon=row.epsilon, value=mean.value, error=mean.error)
            for row in rows
            if row.model == name and row.epsilon is not None and (mean := row.measured(measure)) is not None
        )
        if points:
            out.append(Line(name=CANDIDATES[name].title, style=style, points=points))
    return out


def _references(rows: Sequence[Row], measure: Measure) -> list[Reference]:
    """Return the levels to compare with; the constant prediction's AUROC is 0.5 by definition and left out."""
    plain = [(row, mean) for row in rows if not row.private and (mean := row.measured(measure)) is not None]
    out = []
    readable = [pair for pair in plain if CANDIDATES[pair[0].model].readable and pair[0].model != CONSTANT]
    if readable:
        row, mean = max(readable, key=lambda pair: pair[1].value)
        out.append(Reference(name=name_of(row), value=mean.value))
    for row, mean in plain:
        if not CANDIDATES[row.model].readable or (row.model == CONSTANT and measure == "accuracy"):
            out.append(Reference(name=name_of(row), value=mean.value))
    return out
