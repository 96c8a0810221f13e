"""The report on a comparison of learners: a page, and text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from glassine.auditing.findings import InputFile
from glassine.comparison import CANDIDATES, Comparison, Mean, Recommendation, Row, recommend
from glassine.comparison.candidates import CONSTANT
from glassine.comparison.recommending import LOPSIDED, Criterion
from glassine.comparison.values import NO_PARTS, Measure
from glassine.report import wording
from glassine.report.blocks import (
    Block,
    Column,
    Command,
    Definitions,
    Fact,
    Figure,
    Fold,
    Heading,
    Legend,
    Paragraph,
    Table,
)
from glassine.report.blocks import Row as TableLine
from glassine.report.charts import Line, Mark, Point, Reference, draw_budget, draw_frontier, draw_key
from glassine.report.section import Page, Section, clean_inputs

TITLES: dict[Measure, str] = {"accuracy": "Accuracy", "auroc": "AUROC", "log_loss": "Log-loss"}
DRAWN: tuple[Measure, ...] = ("accuracy", "auroc")

RULE = (
    "Of the private models that every split has measured, those count whose mean {measure} is at most a standard error "
    "over the splits worse than the best, and which beat the constant prediction: their mean difference on the same "
    "splits exceeds its standard error. A model drops out that another of these dominates: at least as good in "
    "epsilon, accuracy, AUROC, log-loss, vulnerability and bits, and better in one. Of the rest "
    "the smallest epsilon is taken; then those whose {second} is at most a standard error worse than the best of them; "
    "then the fewest bits learned, where none count as most; then the lowest vulnerability; then the better {measure}."
)

DECIDED: dict[Criterion, str] = {
    "accuracy": "an accuracy within the standard error of the best",
    "auroc": "an AUROC within the standard error of the best",
    "log_loss": "a log-loss within the standard error of the best",
    "bits": "the fewest bits learned",
    "vulnerability": "the lowest vulnerability",
}
"""What a criterion of the rule says of the model that it leaves."""
COLUMNS = ("Epsilon", "Accuracy", "AUROC", "Log-loss", "Bits", "V (by chance)", "Gap", "Parts compared")
BUDGET = "Means on held-out records, bars one standard error over the splits. Dashed: models without privacy."
REBUILD = "What an attacker can reconstruct"
BITS = (
    "Bits learned about a training record, on average, from the leaves or rules and their counts. No model lies above "
    "the dashed line. Leaves of a private model weigh by the training records in them, not by its noisy counts; its "
    "guarantee holds besides."
)
SEEN = (
    "Vulnerability: how often the part a record falls into reveals whether it trained the model; 0.5 is guessing. More "
    "parts give more by chance alone, see the table; models that show no parts are judged by their predictions, which "
    "hides more."
)
NOT_PRIVATE = (
    "This page is not private. Its figures are exact, from many fits on the same records, and no ledger was charged. "
    "Keep it where the records are; publish the model that is fitted afterwards, not the page. That a model was chosen "
    "by the records is covered by no guarantee either."
)


def name_of(row: Row) -> str:
    """Return a model in words, such as ``private tree at epsilon 0.1``."""
    title = CANDIDATES[row.model].title
    return title if row.epsilon is None else f"{title} at epsilon {row.epsilon:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A recommendation in words: what to fit, what models are ranked by, why, by which rule, and what must be known."""

    recommendation: Recommendation
    headline: str
    ranked_by: str
    why: str
    rule: str
    notes: tuple[str, ...]


def advice_of(comparison: Comparison, measure: Measure | None = None) -> Advice:
    """Return the recommendation that follows from a comparison, in words."""
    advice = recommend(comparison, measure)
    headline, why = _advice(advice, comparison.n_splits)
    second = "AUROC" if advice.measure == "accuracy" else "accuracy"
    return Advice(
        recommendation=advice,
        headline=headline,
        ranked_by=_ranked_by(comparison, advice.measure, asked=measure is not None),
        why=why,
        rule=RULE.format(measure=_word(advice.measure), second=second),
        notes=(NOT_PRIVATE, *comparison.caveats),
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
    measure : {"accuracy", "auroc", "log_loss"}, optional
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
    details: tuple[Block, ...] = (Fold("The rule", (Paragraph(text=worded.rule),)),)
    if command:
        details = (Command(command), Paragraph(text=fitted, tone="caveat"), *details)
    table = _figures_section(comparison, advice)
    return Page(
        kind="comparison",
        title=wording.clean(title or "Comparison of learners"),
        described=_settings(comparison),
        tone="recommended" if advice.chosen else "inconclusive",
        headline=worded.headline,
        sentence=f"{worded.ranked_by} {worded.why}",
        details=details,
        notes=worded.notes,
        notes_title="Before anyone else sees this",
        figures=_facts(comparison, advice),
        sections=(
            *_charts(comparison, advice.chosen),
            replace(table, text=(*table.text, f"Rule: {worded.rule}")),
        ),
        terms=("epsilon", "accuracy", "bits compared", "vulnerability", "gap", "parts compared"),
        inputs=clean_inputs(inputs),
        notice=wording.CHECKER_ONLY,
        version=wording.clean(comparison.version),
    )


def _figures_section(comparison: Comparison, advice: Recommendation) -> Section:
    """Return all figures, and what has none."""
    numbers = _numbers(comparison)
    measured = [row for row in comparison.rows if id(row) in numbers]
    rows = tuple(_table_row(row, numbers[id(row)], advice) for row in measured)
    columns = tuple(Column(name, numeric=True) for name in COLUMNS)
    missing = _missing(comparison)
    blocks: list[Block] = []
    if rows:
        caption = (
            "Means over the splits, ± their standard errors. The splits share records, so that the errors are somewhat "
            "too small."
        )
        blocks.append(Table(caption=caption, columns=(Column("Model"), *columns), rows=rows, style="wide"))
    if missing:
        blocks += [Heading("Without figures"), Definitions(tuple((name, (reason,)) for name, reason in missing))]
    # Log-loss, and what the control and the parts are, stand on the page alone: a terminal is 88 characters wide.
    lines = [("model", "epsilon", "accuracy", "AUROC", "bits", "V", "gap")] if rows else []
    for row in rows:
        epsilon, accuracy, auroc, _, bits, seen, gap, _ = map(str, row.cells)
        name = f"{'* ' if row.picked else ''}{row.name.partition(' ')[2]}"
        lines.append((name, epsilon, accuracy, auroc, bits, seen.partition(" ")[0], gap))
    return Section(
        id="table",
        title="All figures",
        blocks=tuple(blocks),
        text=(*lines, *(f"{name}: {reason}" for name, reason in missing)),
        text_title="Means over the splits, ± their standard errors",
    )


def _no_bits(comparison: Comparison) -> str:
    """Return which models have no bits; empty where all have."""
    lacking = [number for row in comparison.rows if row.bits is None and (number := _numbers(comparison).get(id(row)))]
    return f"Without bits, and so not drawn: {', '.join(map(str, lacking))}." if lacking else ""


def _numbers(comparison: Comparison) -> dict[int, int]:
    """Return the numbers of the rows that were measured, from 1."""
    measured = [row for row in comparison.rows if row.accuracy is not None]
    return {id(row): number for number, row in enumerate(measured, start=1)}


def _advice(advice: Recommendation, n_splits: int) -> tuple[str, str]:
    word = _word(advice.measure)
    best, chosen = advice.best, advice.chosen
    top = None if best is None else best.measured(advice.measure)
    if best is None or top is None or advice.floor is None:
        return "No private model was measured", "No private model was measured on every split; the reasons stand below."
    single = n_splits == 1
    beaten = "" if single else " within its standard error"
    constant = None if advice.constant is None else advice.constant.measured(advice.measure)
    if chosen is None:
        base = "" if constant is None else f" of {constant.value:.3f}"
        return (
            "No private model is worth fitting",
            f"The best private model, the {name_of(best)}, has a mean {word} of {_mean(top)} on held-out records. "
            f"Neither it nor any other{beaten or ' as good'} beats the constant prediction{base} by more than the "
            "standard error of the difference. More records, a larger epsilon or other attributes may help.",
        )
    mean = chosen.measured(advice.measure) or top
    low = advice.measure == "log_loss"
    text = f"Its mean {word} on held-out records is {_mean(mean)}, "
    text += (
        f"the {'lowest' if low else 'highest'} of the private models. "
        if chosen is best
        else f"where the best private model, the {name_of(best)}, has {_mean(top)}. "
    )
    edge = "as the best does" if single else f"the best {'plus' if low else 'less'} its standard error"
    text += f"{_many(advice.n_close, single)} {advice.floor:.3f} or {'less' if low else 'more'}, {edge}"
    if constant is None:
        text += "; the constant prediction was not measured, so whether they beat it is not known. "
    else:
        of_them = "all of them" if len(advice.useful) == advice.n_close else f"{len(advice.useful)} of them"
        of_them = "it" if advice.n_close == 1 else of_them
        text += f", and {of_them} beat{'s' if of_them == 'it' else ''} the constant prediction, {constant.value:.3f}. "
    dominated = len(advice.useful) - len(advice.undominated)
    if dominated:
        one = dominated == 1
        text += f"{'One' if one else dominated} of these {'is' if one else 'are'} dominated: another is at least as "
        text += "good in every figure, and better in one. "
    text += "It is the only one." if len(advice.undominated) == 1 and advice.n_close > 1 else ""
    text += _decided(advice, single) if len(advice.undominated) > 1 else ""
    return f"Fit the {name_of(chosen)}", text.strip()


def _decided(advice: Recommendation, single: bool) -> str:
    """Return what sets the chosen model apart from the others that the rule leaves."""
    text = "Of these it has the smallest epsilon"
    for criterion in advice.decided_by:
        if criterion == "order":
            return f"{text}, and stands first in the table."
        if criterion != "epsilon":
            words = f"the best {_word(advice.measure)}" if criterion == "mean" else DECIDED[criterion]
            words = words.replace("within the standard error of", "as good as") if single else words
            text += f", and of those {'also ' if ', and' in text else 'with that epsilon '}{words}"
    return f"{text}."


def _ranked_by(comparison: Comparison, measure: Measure, *, asked: bool) -> str:
    """Return what models are ranked by, and why."""
    share = wording.percent(comparison.largest_class)
    word = _word(measure)
    lopsided = comparison.largest_class >= LOPSIDED
    classes = f"the largest class has {share} of the records"
    if asked:
        doubt = f" But {classes}: AUROC says more." if lopsided and measure == "accuracy" else ""
        return f"Ranked by {word}, as asked.{doubt}"
    if not lopsided:
        return f"Ranked by {word}: {classes}, which is less than {LOPSIDED:.0%}."
    instead = "" if measure == "auroc" else " AUROC is not defined on every split."
    return f"Ranked by {word}: {classes}, so that to predict it for all is as accurate.{instead}"


def _word(measure: Measure) -> str:
    return TITLES[measure] if measure == "auroc" else TITLES[measure].lower()


def _many(count: int, single: bool) -> str:
    return "One private model has" if count == 1 else f"{count} private models have"


def _facts(comparison: Comparison, advice: Recommendation) -> tuple[Fact, ...]:
    measure = advice.measure
    title = TITLES[measure]
    out: list[Fact] = []
    if advice.chosen is not None and (mean := advice.chosen.measured(measure)) is not None:
        meaning = name_of(advice.chosen)
        out.append(Fact(f"{title} of the recommended model", _mean(mean), meaning))
        out += _cheaper(comparison, advice.chosen, measure)
    plain = [(row, mean) for row in comparison.rows if not row.private and (mean := row.measured(measure)) is not None]
    readable = [pair for pair in plain if CANDIDATES[pair[0].model].readable and pair[0].model != CONSTANT]
    for head, rows in (
        ("Best readable model without privacy", readable),
        ("Black box", [pair for pair in plain if not CANDIDATES[pair[0].model].readable]),
        ("Constant prediction", [pair for pair in plain if pair[0].model == CONSTANT]),
    ):
        if rows:
            row, mean = _best(rows, measure)
            out.append(Fact(head, _mean(mean), name_of(row)))
    return tuple(out)


def _best(rows: Sequence[tuple[Row, Mean]], measure: Measure) -> tuple[Row, Mean]:
    sign = -1 if measure == "log_loss" else 1
    return max(rows, key=lambda pair: sign * pair[1].value)


def _cheaper(comparison: Comparison, chosen: Row, measure: Measure) -> list[Fact]:
    """Return the best model at the smallest epsilon, where that is below the recommended one."""
    private = [(row, mean) for row in comparison.rows if row.private and (mean := row.measured(measure)) is not None]
    least = min(row.epsilon or 0.0 for row, _ in private)
    if least >= (chosen.epsilon or 0.0):
        return []
    row, mean = _best([pair for pair in private if pair[0].epsilon == least], measure)
    return [Fact(f"Best at epsilon {least:g}", _mean(mean), CANDIDATES[row.model].title)]


def _mean(mean: Mean) -> str:
    return f"{mean.value:.3f}" if mean.error is None else f"{mean.value:.3f} ± {mean.error:.3f}"


def _table_row(row: Row, number: int, advice: Recommendation) -> TableLine:
    seen = "" if row.vulnerability is None else f"{row.vulnerability.value:.3f}"
    if row.control is not None:
        seen += f" ({row.control.value:.3f})"
    return TableLine(
        name=f"{number}. {CANDIDATES[row.model].title}",
        note="recommended" if row is advice.chosen else "",
        cells=(
            "" if row.epsilon is None else f"{row.epsilon:g}",
            "" if row.accuracy is None else _mean(row.accuracy),
            "" if row.auroc is None else _mean(row.auroc),
            "" if row.log_loss is None else f"{row.log_loss.value:.3f}",
            "" if row.bits is None else f"{row.bits.value:.2f}",
            seen,
            "" if row.gap is None else f"{row.gap.value:.3f}".replace("-0.000", "0.000"),
            row.over if row.n_parts is None or row.over == "predictions" else f"{row.n_parts.value:,.0f} {row.over}",
        ),
        picked=row is advice.chosen,
    )


def _missing(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return what has no figures, or no bits though it has parts; learners of the same reason at every epsilon once."""
    reasons: dict[tuple[str, str], list[Row]] = {}
    for row in comparison.rows:
        if row.accuracy is None:
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


def _settings(comparison: Comparison) -> str:
    return (
        f"{comparison.n_records:,} records, {wording.plural(comparison.n_attributes, 'attribute')}, "
        f"{len(comparison.classes)} classes of {wording.clean(comparison.target)}. "
        f"{wording.plural(comparison.n_splits, 'random split')} into {1 - comparison.test_share:.0%} training and "
        f"{comparison.test_share:.0%} test records, class by class, seed {comparison.seed}. Trees of at most "
        f"{comparison.max_depth} splits on a path, lists of at most {wording.plural(comparison.max_rules, 'rule')}; "
        f"additive models have delta {comparison.delta:g}, the other private models delta 0."
    )


def _charts(comparison: Comparison, chosen: Row | None) -> Iterator[Section]:
    """Yield what is drawn: each measure against the budget, against bits, and against vulnerability."""
    numbers = _numbers(comparison)
    rows = [row for row in comparison.rows if id(row) in numbers]
    budget = tuple(
        draw_budget(_lines(rows, measure), _references(rows, measure), title=TITLES[measure], ident=f"e-{measure}")
        for measure in DRAWN
    )
    yield from _drawn("budget", "What a budget buys", BUDGET, budget)
    styles = _styles(rows)
    legend = Legend(
        (
            *((draw_key(Mark(number=0, x=0, y=0, style=style)), title) for title, style in styles.items()),
            (draw_key(Mark(number=0, x=0, y=0, filled=False)), "not private"),
            *(((draw_key(Mark(number=0, x=0, y=0, chosen=True)), "recommended"),) if chosen else ()),
            ("", "numbers: see the table"),
        )
    )
    for name, title, caption, leak, axis, nothing in (
        (
            "bits",
            REBUILD,
            f"{BITS} {_no_bits(comparison)}".strip(),
            "bits",
            "bits learned per record",
            0.0,
        ),
        ("membership", "Who was in the data", SEEN, "vulnerability", "vulnerability", 0.5),
    ):
        charts = []
        for measure in DRAWN:
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
            charts.append(draw_frontier(marks, title=TITLES[measure], leak=axis, nothing=nothing, ident=ident))
        for section in _drawn(name, title, caption, charts, legend):
            yield replace(section, blocks=(*section.blocks, _points(rows, numbers, leak, chosen)))


def _points(rows: Sequence[Row], numbers: dict[int, int], leak: str, chosen: Row | None) -> Table:
    """Return the points of the drawings as a table, those that reveal least first."""
    drawn = [(leaked.value, row) for row in rows if (leaked := getattr(row, leak)) is not None]
    drawn.sort(key=lambda pair: pair[0])
    digits = 2 if leak == "bits" else 3
    return Table(
        caption="The points as a table, the least revealing first",
        columns=(
            Column("Model"),
            *(Column(name, numeric=True) for name in (leak.capitalize(), *(TITLES[measure] for measure in DRAWN))),
        ),
        rows=tuple(
            TableLine(
                name=f"{numbers[id(row)]}. {name_of(row)}",
                note="recommended" if row is chosen else "",
                cells=(
                    f"{value:.{digits}f}",
                    *("" if (mean := row.measured(measure)) is None else _mean(mean) for measure in DRAWN),
                ),
                picked=row is chosen,
            )
            for value, row in drawn
        ),
    )


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
    name: str, title: str, caption: str, charts: Sequence[Markup], legend: Legend | None = None
) -> Iterator[Section]:
    """Yield a section of charts; none where nothing could be drawn."""
    drawings = tuple(filter(None, charts))
    if drawings:
        figure = Figure(drawings=drawings, caption=caption, legend=legend, scrolls=title)
        yield Section(id=name, title=title, blocks=(figure,))


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
