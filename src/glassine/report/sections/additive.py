"""An additive model in the report: its shape functions, how much each term matters, and what the bins reveal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from markupsafe import Markup

from glassine.auditing.findings import AdditiveFinding, BinsFinding, ShapeFinding, TermFinding
from glassine.models import CategoryBins, NumericBins, Term
from glassine.models.bins import MISSING, Bins
from glassine.models.shapes import ShapeFunction, common_scale, draw_shape
from glassine.report import wording
from glassine.report.blocks import Definitions, Fact, Gallery, Heading, Piece, fold, paragraph
from glassine.report.charts import draw_bar
from glassine.report.figures import facts, grid, table
from glassine.report.section import LEARNED, Section, section

MOST_FIGURES = 24
IN_VIEW = 8
"""Terms, the most important ones, that are not folded away."""
MOST_ROWS = 100
LONGEST = 60
NO_TERMS = "The model has no terms: it predicts the same for everyone."


def additive_section(finding: AdditiveFinding) -> Section:
    """Return the shape functions, how much each term matters, and what the bins reveal."""
    lead, summary = _lead(finding), _sentence(finding)
    charts = tuple(islice(_charts(finding), MOST_FIGURES))
    undrawn = sum(term.shape is None for term in finding.terms) or max(len(finding.terms) - MOST_FIGURES, 0)
    missing = f"; {undrawn:,} are not drawn" if undrawn else ""
    less = f"{wording.plural(len(charts[IN_VIEW:]), 'more drawing')}, of less importance{missing}"
    more = len(finding.terms) - MOST_ROWS
    listed = Definitions(tuple((_name(one.attribute), said) for one in finding.attributes if (said := _said(one))))
    each = f"{wording.plural(len(listed.items), 'attribute')}, each with its bins"
    drawn = (
        paragraph(_reading(finding), "note"),
        Gallery(charts[:IN_VIEW]),
        fold(less, Gallery(charts[IN_VIEW:]) if charts[IN_VIEW:] else None),
        fold("The scores of each bin as text", Definitions(tuple(islice(_scores(finding), MOST_FIGURES)))),
    )
    return section(
        "model",
        "The shape functions, and what the bins reveal",
        paragraph(f"{lead} {summary}".strip(), "lead"),
        drawn if charts else None,
        _terms(finding, named=bool(charts)) if finding.terms else NO_TERMS,
        paragraph(f"{wording.plural(more, 'more term')}: see the JSON findings." if more > 0 else "", "note"),
        Heading("What the bins reveal"),
        (fold(each, listed) if len(listed.items) > IN_VIEW else listed)
        if listed.items
        else "No training value was found in the bins.",
        link="Shape functions and bins",
        text=(summary,),
        text_title=LEARNED,
    )


FIGURES = table("""
Small bins | {small} | {few}
Values that follow by arithmetic | {rebuilt} | exact training values, from cuts and ranges alone
Cuts that reveal two values | {midpoints} | exactly the midpoint of two training values | It needs the data.
""")


def additive_figures(finding: AdditiveFinding, limit: int | None) -> tuple[Fact, ...]:
    """Return the figures that matter most; ``limit`` is the policy's smallest number of records."""
    small, counted = _small(finding)
    rebuilt = sum(entry.n_rebuilt for entry in finding.attributes)
    midpoints, cuts = [entry.n_midpoints for entry in finding.attributes], sum(e.n_cuts for e in finding.attributes)
    return facts(
        FIGURES,
        finding,
        small=f"{small:,} of {finding.n_bins:,}" if counted else "not known",
        few="" if limit is None else f"of all bins; made from fewer than {wording.plural(limit, 'record')}",
        rebuilt=f"{rebuilt:,}" if rebuilt else "none found",
        midpoints=None if None in midpoints else f"{sum(count or 0 for count in midpoints):,} of {cuts:,}",
    )


def _charts(finding: AdditiveFinding) -> Iterator[tuple[str, str, Markup]]:
    drawn = [(term, shape_of(term)) for term in finding.terms if term.shape is not None]
    scale = common_scale(shape for _, shape in drawn[:MOST_FIGURES])
    for term, shape in drawn:
        for index, output in enumerate(term.shape.outputs if term.shape else ()):
            note = f"{_name(output)} importance {_amount(term.importance)}{', edited' if term.edited else ''}".strip()
            yield _name(term.name), note, draw_shape(shape, output=index, scale=scale)


def _scores(finding: AdditiveFinding) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name of each drawing with what it shows, as text."""
    for term in finding.terms:
        if term.shape is None:
            continue
        labels = shape_of(term).labels
        for output, scores in zip(term.shape.outputs, term.shape.scores, strict=True):
            said = (
                f"{wording.clean(label)}: {_amount(score, sign='+')}"
                for label, score in zip(labels, scores, strict=True)
            )
            yield f"{_name(term.name)} {_name(output)}".strip(), ("; ".join(said),)


def shape_of(term: TermFinding) -> ShapeFunction:
    """Return what is drawn of a term as a separate shape function."""
    finding = term.shape or ShapeFinding(axes=(), outputs=(), scores=(), low=None, high=None, density=None)
    bins: list[Bins] = []
    for axis in finding.axes:
        if axis.cuts is not None:
            bins.append(NumericBins(axis.attribute, axis.cuts, bounds=axis.bounds))
        else:
            names = _distinct_names(axis.groups or ("",))
            # Missing values that have a group are not in the last bin.
            plain = len(names) == 1
            bins.append(
                CategoryBins(axis.attribute, tuple((name if plain or name != MISSING else None,) for name in names))
            )
    shape = tuple(entry.n_bins for entry in bins)

    def array(rows: tuple[tuple[float, ...], ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.stack([np.array(row).reshape(shape) for row in rows], axis=-1)

    density = None if finding.density is None else np.array(finding.density)
    drawn = Term(bins=tuple(bins), scores=array(finding.scores), weights=density, name=term.name)
    return ShapeFunction(
        term=drawn,
        released=drawn.scores,
        low=None if finding.low is None else array(finding.low),
        high=None if finding.high is None else array(finding.high),
        coverage=0.0,
        importance=term.importance,
    )


def _distinct_names(names: tuple[str, ...]) -> list[str]:
    """Return names that differ: two long ones may have been cut to the same."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def _amount(value: float, sign: str = "") -> str:
    """Return a score to three digits, as a whole number from a thousand on."""
    return f"{value:{sign},.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"


def _name(text: str) -> str:
    return wording.shorten(wording.clean(text), LONGEST)


def _lead(finding: AdditiveFinding) -> str:
    of = "of each class " if len(finding.intercept) > 1 else ""
    intercept = ", ".join(map(_amount, finding.intercept[:8]))
    text = (
        f"{finding.meaning[:1].upper()}{finding.meaning[1:]}. The score of a record is the intercept {of}({intercept}) "
    )
    text += "plus one score per term."
    if finding.n_edits:
        text += f" It was edited {wording.plural(finding.n_edits, 'time')} after it was released."
    return wording.clean(text)


def _reading(finding: AdditiveFinding) -> str:
    text = (
        "All drawings have one scale of scores. Bins of a number lie to scale; neighboring bins are joined where there "
        f"are many, or where few {wording.units()} are in one. Missing values are drawn at the right where they change "
        "the score."
    )
    if any(term.shape is not None and term.shape.density is not None for term in finding.terms):
        text += f" Gray: where the {wording.units()} are, by the counts that the model publishes."
    if any(term.shape is not None and term.shape.low is not None for term in finding.terms):
        text += (
            f" Shaded: {wording.percent(finding.coverage)} of the noise of each term's own sums. The score without "
            "noise can lie outside, as attributes depend on each other."
        )
    return text


TERMS = """
Term | {name}
~Importance, drawn | {bar}
Importance | {amount}
Bins | {n_bins:,}
~Records in a bin | {sizes}
"""


def _terms(finding: AdditiveFinding, *, named: bool) -> Piece:
    """Return each term in a row; of many folded away where drawings name the most important ones already."""
    most = max((term.importance for term in finding.terms), default=0.0) or 1.0
    caption = f"How much each term moves the score on average, and how many {wording.units()} its bins hold"
    listed = finding.terms[:MOST_ROWS]
    table = grid(TERMS, listed, caption=caption, words=lambda term: _words(term, most), style="stack bars")
    summary = f"Importance and bins of {wording.plural(len(listed), 'term')}"
    return fold(summary, table) if named and len(listed) > IN_VIEW else table


def _words(term: TermFinding, most: float) -> dict[str, object]:
    """Return a term in words, its importance drawn; ``most`` is the largest of any."""
    sizes = "not known"
    if term.smallest is not None:
        sizes = f"smallest {term.smallest}"
        sizes += f", {term.n_small:,} too small" if term.n_small else ""
    elif term.origin is not None:
        sizes = wording.none()
    sizes += f" ({term.origin})" if term.origin else ""
    return {
        "name": _name(term.name),
        "bar": draw_bar(min(max(term.importance / most, 0.0), 1.0)),
        "amount": _amount(term.importance),
        "sizes": sizes,
        "flag": "few records" if term.n_small else "",
    }


SAID = table("""
[n_own_bins] own | {n_own_bins:,} of {different:,} different training values have a bin of their own. |
[n_rebuilt] rebuilt | {n_rebuilt:,} training values follow from the cuts and the range by arithmetic. |
[n_midpoints] midpoints | {n_midpoints:,} of {n_cuts:many cut} {at} exactly the midpoint of two training values. |
[ends] ends | The published range ends at the {ends} training value: the value of a {unit}. |
[open] open | A range of values is published; whether it ends at training values needs the data. |
[n_off_grid] grid | {n_off_grid:,} of {n_cuts:many cut} {place}. |
[n_undeclared] names | {n_undeclared:many named value} not declared by the domain. |
[n_lone_categories] lone | {n_lone_categories:many named value} that one record has. |
""")


def _said(entry: BinsFinding) -> tuple[str, ...]:
    """Return what the bins of an attribute reveal, each in a sentence."""
    private = entry.n_private_bounds != 0
    figures = facts(
        SAID,
        entry,
        different=entry.n_values or 0,
        at="is" if entry.n_midpoints == 1 else "are",
        ends=" and the ".join(entry.exact_bounds) if entry.exact_bounds and private else "",
        open=entry.n_bounds and private and entry.exact_bounds is None,
        place="is not a public cut point" if entry.n_off_grid == 1 else "are not public cut points",
    )
    return tuple(figure.value for figure in figures)


def _small(finding: AdditiveFinding) -> tuple[int, bool]:
    counted = all(term.n_small is not None for term in finding.terms)
    return sum(term.n_small or 0 for term in finding.terms), counted


def _sentence(finding: AdditiveFinding) -> str:
    rebuilt = sum(entry.n_rebuilt for entry in finding.attributes)
    if rebuilt:
        names = sum(bool(entry.n_rebuilt) for entry in finding.attributes)
        return (
            f"{rebuilt:,} training values of {wording.plural(names, 'attribute')} can be computed from the published "
            "cuts and ranges."
        )
    own = sum(entry.n_own_bins or 0 for entry in finding.attributes)
    if own:
        return f"{own:,} training values have a bin of their own."
    return ""
