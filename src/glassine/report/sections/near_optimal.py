"""Near-optimal trees of a private summary: what they rely on, and where they decide differently."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from glassine import __version__
from glassine.auditing.findings import InputFile
from glassine.models.svg import Axes, Chart, element, ticks
from glassine.report import wording
from glassine.report.blocks import Fact, Figure, Legend, Piece, Points, RowNumbers, fold, paragraph
from glassine.report.figures import facts, grid, table
from glassine.report.section import Page, Section, clean_inputs, section

if TYPE_CHECKING:
    from glassine.domain.attributes import Scalar
    from glassine.learners.summaries.multiplicity import LeafAmbiguity, Multiplicity, Reliance

WIDTH, SIDE = 640.0, 84.0
"""Width of the chart, and room beside the axis for the number at an end of a bar, in letters of a phone."""

STEP, BAR = 60.0, 14.0
"""Height of a name with its bar, and of the bar."""

LETTERS = 40
"""Most letters of a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInterval:
    """A named interval; ``strong`` where it stands out."""

    name: str
    low: float
    high: float
    strong: bool = False


def draw_intervals(intervals: Sequence[NamedInterval], *, title: str, unit: str, ident: str) -> Markup:
    """Return intervals as bars, both ends in numbers, in percent of ``unit``, and a line at 0; empty without any."""
    if not intervals:
        return Markup("")
    low, high = min(0.0, *(one.low for one in intervals)), max(0.0, *(one.high for one in intervals))
    # Intervals at 0 alone still need an axis.
    high = max(high, low + 0.01)
    axes = Axes(
        left=SIDE,
        top=4.0,
        width=WIDTH - 2 * SIDE,
        height=STEP * len(intervals) + 4,
        across=lambda value: (value - low) / (high - low),
        up=lambda row: 1 - row / len(intervals),
    )
    places = ticks(low, high, 5)
    names = [one.name for one in intervals]
    pieces = [
        axes.marks(places, "{:.6g}%", 100),
        element("text", unit, class_="tick mid", x=WIDTH / 2, y=axes.bottom + 44),
    ]
    for row, one in enumerate(intervals):
        left, right, middle = axes.x(one.low), axes.x(one.high), axes.y(row) + STEP - 16
        # Beside the bar only: a line through the whole chart would strike out the names.
        ends = {"y1": middle - BAR / 2 - 2, "y2": middle + BAR / 2 + 2}
        pieces += [element("line", class_="grid", x1=axes.x(at), x2=axes.x(at), **ends) for at in places]
        pieces.append(element("line", class_="zero", x1=axes.x(0.0), x2=axes.x(0.0), **ends))
        # The thinnest bar is still seen.
        wide = max(right - left, 3.0)
        kind = "interval strong" if one.strong else "interval"
        texts = outward(one.low, one.high)
        pieces += [
            element("text", wording.shorten_name(one.name, LETTERS, names), class_="name", x=2, y=middle - BAR - 6),
            element("rect", class_=kind, x=left, y=middle - BAR / 2, width=wide, height=BAR),
            element("text", texts[0], class_="end", x=left - 6, y=middle, dy=5),
            element("text", texts[1], x=left + wide + 6, y=middle, dy=5),
        ]
    span = " to ".join(outward(low, high))
    return Chart(
        kind="intervals",
        ident=ident,
        width=WIDTH,
        height=axes.bottom + 54,
        title=title,
        description=f"{wording.plural(len(intervals), 'interval')} on one scale, from {span}. The table below "
        "has the figures.",
    ).draw(*pieces)


def outward(low: float, high: float) -> tuple[str, str]:
    """Return both ends in percent, rounded outward: rounded inward they would bound less.

    Examples
    --------
    >>> outward(-0.00021, 0.12341)
    ('-0.1%', '12.4%')
    """
    # An end that stands on a step but for the last bits of a float stays there; adding 0 makes a negative zero plain.
    ends = math.floor(1000 * low + 1e-9) / 10 + 0.0, math.ceil(1000 * high - 1e-9) / 10 + 0.0
    return f"{ends[0]:.1f}%", f"{ends[1]:.1f}%"


ALL = 0.9995
"""A share that rounds to 100.0%: representative records do not distinguish it from all."""

MOST_DRAWN = 30
"""Attributes that are drawn; the table has the others."""

MOST_ROWS = 500
"""Disputed records that are listed."""

NAMED, ROOM = 3, 24
"""Attributes that a figure names, and letters of each."""

PUBLIC = "For everyone who may see the summary: its guarantee covers this page."
VOID = "Do not publish it: the guarantee of the summary does not hold."
ASKED = "Do not publish it."
MEASURED = {False: ("Adult, Telco and COMPAS", "79 of 96"), True: ("California", "31 of 32")}
"""On which data intervals were compared with those of the records, of classes and of a number."""

OWN_ESTIMATE = "Errors are the summary's own estimates, and the lowest is too low. Do not publish them as accuracy."
RELIED = (
    "Reliance is the rise in a tree's {errors} once the attribute is drawn independently of everything else, as a "
    "share of {whole}. A bar reaches from the least to the greatest reliance of a near-optimal tree."
)
COVERAGE = (
    "The ends also cover {n} summaries that are released again from this one, and are rounded outward. They can still "
    "miss the true ends: on {measured} at epsilon 1, {hits} such intervals contained both."
)
DIFFERENTLY = (
    "The leaves of the best tree, with the share of their expected records for which another near-optimal tree "
    "predicts another class. Shares are known to about 2.5 points, from 400 representative records of the summary. "
    "Bounds also cover the summaries that are released again, and can miss: of 118 on four datasets, 76 held the share "
    "of the records."
)
APART = (
    "The leaves of the best tree, with the mean difference of the greatest and the least prediction of near-optimal "
    "trees. It is of up to 400 representative records of the summary. Bounds also cover the summaries that are "
    "released again, and can miss the mean of the records."
)


def near_optimal_page(result: Multiplicity, *, title: str | None = None, inputs: Sequence[InputFile] = ()) -> Page:
    """Return the report on the near-optimal trees of a summary."""
    guarantee = result.guarantee
    trees = "One tree is" if round(result.n_trees) == 1 else f"About {_number(result.n_trees)} trees are"
    lowest = wording.percent(result.lowest_errors, digits=1)
    slack = f"{100 * result.slack:g} {'point' if result.slack == 0.01 else 'points'}"
    unit = "record" if guarantee.records_per_person is None else "person"
    covered = (
        f"This is post-processing of the summary: its guarantee of epsilon {guarantee.epsilon:g} and delta "
        f"{guarantee.delta:g} for each {unit} covers it, and nothing further is spent."
    )
    caveats = tuple(f"The guarantee does not hold: {wording.clean(text)}." for text in guarantee.caveats)
    notice = ASKED if result.n_asked is not None else VOID if caveats else PUBLIC
    errors, whole = _errors(result)
    lowest = f"{lowest} of {whole}" if result.target else lowest
    between = _between(result.ambiguous_between, number=bool(result.target), joined=" and ")
    return Page(
        kind="near-optimal trees",
        title=wording.clean(title or "Near-optimal trees of a private summary"),
        described=f"Trees of at most {wording.plural(result.max_depth, 'condition')} on a path, within {slack} of the "
        f"lowest expected {errors}; a summary at epsilon {guarantee.epsilon:g}, delta {guarantee.delta:g}.",
        tone="finding",
        headline=f"{trees} near-optimal",
        sentence=f"Their expected {errors} exceed the lowest, {lowest}, by at most {slack}. "
        + (
            f"Their predictions for a record are {result.ambiguous:.4g} apart on average (between {between})."
            if result.target
            else f"They decide {_decided(result.ambiguous)} of the expected records differently (between {between})."
        ),
        caveat=OWN_ESTIMATE,
        notes=(covered, *caveats),
        notes_title="What covers this page",
        figures=_figures(result),
        sections=(
            _reliance_section(result),
            _indispensable_section(result),
            _leaves_section(result),
            *(() if result.n_asked is None else (_records_section(result, result.n_asked),)),
        ),
        terms=("near-optimal", "reliance", "leaf", "epsilon", "delta", "post-processing"),
        inputs=clean_inputs(inputs),
        notice=notice,
        version=wording.clean(__version__),
    )


def _indispensable(multiplicity: Multiplicity) -> list[str]:
    return [one.attribute for one in multiplicity.reliances if one.indispensable]


def _errors(multiplicity: Multiplicity) -> tuple[str, str]:
    """Return what errors are, and of what they are a share."""
    return ("squared errors", "the variance") if multiplicity.target else ("errors", "all records")


def _decided(share: float) -> str:
    """Return a share of what is decided differently: an estimate that rounds to everything is everything."""
    return wording.percent(1.0 if share >= ALL else share, digits=1)


def _between(ends: tuple[float, float], *, number: bool, joined: str = " to ") -> str:
    """Return both bounds of what is decided differently, rounded outward."""
    return joined.join(f"{end:.4g}" for end in ends) if number else joined.join(outward(*ends))


def _number(n_trees: float) -> str:
    # Three digits: the number is an estimate.
    return f"{float(f'{n_trees:.3g}'):,.0f}"


FIGURES = table("""
Near-optimal trees | {trees} | estimated from random samples
[target] Predictions apart | {ambiguous:.4g} | on average, in units of {target:clean}
[decides] Decided differently | {decides} | of the expected records
Indispensable attributes | {n_names:,} | {names}
Attributes that no tree can test | {untested:,} | all their values are in one bin of the summary
""")


def _figures(multiplicity: Multiplicity) -> tuple[Fact, ...]:
    names = _indispensable(multiplicity)
    return facts(
        FIGURES,
        multiplicity,
        trees=_number(multiplicity.n_trees),
        decides="" if multiplicity.target else _decided(multiplicity.ambiguous),
        n_names=len(names),
        names=wording.listing(names, most=NAMED, room=ROOM) if names else "every attribute has a substitute",
        untested=len(multiplicity.reliances) - len(multiplicity.tested),
    )


def _reliance_section(multiplicity: Multiplicity) -> Section:
    """Return the importance intervals: drawn, and as a table with the errors that each attribute saves."""
    reliances = sorted(
        (one for one in multiplicity.reliances if one.attribute in multiplicity.tested),
        key=lambda one: (-one.high, -one.low),
    )
    untested = [one.attribute for one in multiplicity.reliances if one.attribute not in multiplicity.tested]
    errors, whole = _errors(multiplicity)
    relied = RELIED.format(errors=errors, whole=whole)
    measured, hits = MEASURED[bool(multiplicity.target)]
    coverage = COVERAGE.format(n=multiplicity.n_replicates, measured=measured, hits=hits)
    rest = f"No tree can test {wording.listing(untested, most=MOST_DRAWN, room=ROOM)}." if untested else ""
    return section(
        "reliance",
        "How far they rely on each attribute",
        relied,
        _drawn(reliances, coverage, f"rise in {errors}, of {whole}") if reliances else None,
        paragraph(rest, "note"),
        link="Reliance",
        text=(
            relied,
            *((wording.shorten(wording.clean(one.attribute), ROOM), *outward(one.low, one.high)) for one in reliances),
            coverage if reliances else "",
            rest,
        ),
    )


RELIANCE = """
Attribute | {attribute:clean}
Least | {least}
Greatest | {greatest}
Lost without it | {lost:permille}
Indispensable in | {agreement:percent}
"""


def _drawn(reliances: Sequence[Reliance], coverage: str, unit: str) -> Piece:
    """Return the importance intervals as a drawing, and as a table that is folded away."""
    intervals = [
        NamedInterval(name=wording.clean(one.attribute), low=one.low, high=one.high, strong=one.indispensable)
        for one in reliances[:MOST_DRAWN]
    ]
    drawing = draw_intervals(intervals, title="Reliance by attribute", unit=unit, ident="ranges")
    legend = Legend((("interval strong", "indispensable"), ("interval", "has a substitute")))

    def words(one: Reliance) -> dict[str, object]:
        least, greatest = outward(one.low, one.high)
        return {"least": least, "greatest": greatest, "lost": max(one.loss_without, 0.0)}

    caption = (
        "Reliance by attribute; what the best tree without it loses at least; and in how many summaries that exceeds "
        "the slack"
    )
    table = grid(RELIANCE, reliances, caption=caption, words=words)
    summary = f"{wording.plural(len(reliances), 'attribute')}, each with its figures"
    return (Figure(drawings=(drawing,), caption=coverage, legend=legend), fold(summary, table))


def _indispensable_section(multiplicity: Multiplicity) -> Section:
    """Return the attributes that every near-optimal tree tests, and those that most summaries have so."""
    certain = [wording.clean(name) for name in _indispensable(multiplicity)]
    likely = [
        f"{wording.clean(one.attribute)}: in {wording.percent(one.agreement)} of them"
        for one in multiplicity.reliances
        if not one.indispensable and one.agreement > 0.5
    ]
    summaries = f"the summary and all {multiplicity.n_replicates} replicates"
    lead = (
        f"Every near-optimal tree tests these, under {summaries}."
        if certain
        else f"No attribute is indispensable under {summaries}."
    )
    more = "Under most of them, but not all:"
    return section(
        "indispensable",
        "Indispensable attributes",
        paragraph(lead, "lead"),
        Points(items=tuple(certain)) if certain else None,
        Points(items=tuple(likely), title=more) if likely else None,
        text=(lead, *certain, *((more, *likely) if likely else ())),
    )


LEAVES = """
Leaf of the best tree | {name}
Records | {share:permille}
{differ} | {differing}
Bounds | {between}
"""


def _leaves_section(multiplicity: Multiplicity) -> Section:
    """Return where in the domain near-optimal trees decide differently."""
    number = bool(multiplicity.target)

    def words(leaf: LeafAmbiguity) -> dict[str, object]:
        name = " and ".join(wording.clean(str(literal)) for literal in leaf.literals) or "all records"
        differing = f"{leaf.ambiguous:.4g}" if number else _decided(leaf.ambiguous)
        return {"name": name, "differing": differing, "between": _between((leaf.low, leaf.high), number=number)}

    differ, caption = ("Apart", APART) if number else ("Decided differently", DIFFERENTLY)
    leaves = sorted(multiplicity.leaves, key=lambda leaf: -leaf.share * leaf.ambiguous)
    table = grid(LEAVES, leaves, caption=caption, words=words, differ=differ)
    said = "{0}: {2} apart; {1} of all records" if number else "{0}: {2} of its {1} of all records"
    text = (f"{said}; bounds {{3}}".format(row.name, *row.cells) for row in table.rows)
    title = "Where their predictions differ" if number else "Where they decide differently"
    return section("differently", title, table, link="Differences", text=(caption, *text))


def _predictions(multiplicity: Multiplicity, values: Sequence[Scalar]) -> str:
    if multiplicity.target:
        return " to ".join(f"{float(value):.6g}" for value in values)
    return " or ".join(wording.clean(str(name)) for name in values)


def _records_section(multiplicity: Multiplicity, n_asked: int) -> Section:
    """Return which of the records that were passed near-optimal trees decide differently, by row and class."""
    n_disputed = len(multiplicity.disputed)
    lead = f"Near-optimal trees decide {n_disputed:,} of your {wording.plural(n_asked, 'record')} differently."
    rows = [
        f"{wording.row_name(row)}: {_predictions(multiplicity, values)}"
        for row, values in multiplicity.disputed.items()
    ]
    predicted = "least and greatest number" if multiplicity.target else "classes"
    about = f"Rows with the {predicted} that such trees predict, numbered {wording.ROWS}." if rows else ""
    more = f"{len(rows) - MOST_ROWS:,} more rows are left out." if len(rows) > MOST_ROWS else ""
    return section(
        "records",
        "Your records",
        paragraph(lead, "lead"),
        about,
        RowNumbers(tuple(rows[:MOST_ROWS])) if rows else None,
        paragraph(more, "note"),
        text=(lead, about, *rows[:MOST_DRAWN]),
        audience="checker",
    )
