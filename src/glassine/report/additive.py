"""An additive model in the report: its shape functions, how much each term matters, and what the bins tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from glassine.auditing.findings import AdditiveFinding, BinsFinding, Findings, ShapeFinding, TermFinding
from glassine.models import CategoryBins, NumericBins, Term
from glassine.models.bins import MISSING, Bins
from glassine.models.shapes import ShapeFunction, draw_shape
from glassine.report import wording
from glassine.report.statements import Fact

__all__ = ["AdditiveView", "Figure", "TermRow", "additive_figures", "additive_view", "draw_figures"]

MOST_FIGURES = 24
MOST_ROWS = 100
LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TermRow:
    """A term in a table: name, importance, number of bins, and what is known of their sizes."""

    name: str
    importance: str
    share: float
    bins: str
    sizes: str
    small: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawn shape function.

    Attributes
    ----------
    name, output, note : str
        The term, the class if there are several, and its importance.
    finding : TermFinding
        What is drawn.
    index : int
        Which output.
    """

    name: str
    output: str
    note: str
    finding: TermFinding
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveView:
    """What the report says about an additive model.

    Attributes
    ----------
    lead, reading, sentence : str
        What a score is, how to read the drawings, and what the bins tell in one sentence.
    terms : tuple of TermRow
        The terms, the most important first.
    n_terms_omitted : int
        Those that are not listed.
    figures : tuple of Figure
        The shape functions that are drawn.
    told : tuple of (str, tuple of str)
        What the bins of each attribute tell, in sentences.
    beside : tuple of str
        What is published beside the model.
    """

    lead: str
    reading: str
    sentence: str
    terms: tuple[TermRow, ...]
    n_terms_omitted: int
    figures: tuple[Figure, ...]
    told: tuple[tuple[str, tuple[str, ...]], ...]
    beside: tuple[str, ...]


def additive_view(findings: Findings) -> AdditiveView | None:
    """Return what the report says about an additive model; None for a model of another kind."""
    found = findings.additive
    if found is None:
        return None
    most = max((term.importance for term in found.terms), default=0.0) or 1.0
    told = ((_name(entry.attribute), tuple(_told(entry))) for entry in found.attributes)
    return AdditiveView(
        lead=_lead(found),
        reading=_reading(found),
        sentence=_sentence(found),
        terms=tuple(_row(term, most) for term in found.terms[:MOST_ROWS]),
        n_terms_omitted=max(len(found.terms) - MOST_ROWS, 0),
        figures=tuple(_figures(found))[:MOST_FIGURES],
        told=tuple((name, sentences) for name, sentences in told if sentences),
        beside=tuple(wording.clean(text) for text in found.beside),
    )


def additive_figures(findings: Findings) -> tuple[Fact, ...]:
    """Return the figures that matter most for an additive model; none for a model of another kind."""
    found = findings.additive
    if found is None:
        return ()
    small, known = _small(found)
    rebuilt = sum(entry.n_rebuilt for entry in found.attributes)
    midpoints = [entry.n_midpoints for entry in found.attributes]
    unknown = Fact(name="Cuts that betray two values", value="not known", meaning="It needs the data.")
    limit = findings.policy.smallest_leaf
    return (
        Fact(
            name="Small bins",
            value=f"{small:,} of {found.n_bins:,}" if known else "not known",
            meaning="" if limit is None else f"made from fewer than {wording.plural(limit, 'record')}",
        ),
        Fact(
            name="Values that follow by arithmetic",
            value=f"{rebuilt:,}" if rebuilt else "none found",
            meaning="exact training values, from cuts and ranges alone",
        ),
        unknown
        if any(count is None for count in midpoints)
        else Fact(
            name=unknown.name,
            value=f"{sum(count or 0 for count in midpoints):,} of {sum(e.n_cuts for e in found.attributes):,}",
            meaning="half way between two training values, bit for bit",
        ),
    )


def draw_figures(view: AdditiveView | None) -> tuple[tuple[Figure, Markup], ...]:
    """Return the shape functions as SVG."""
    if view is None:
        return ()
    return tuple((figure, draw_shape(_shape(figure.finding), output=figure.index)) for figure in view.figures)


def _figures(found: AdditiveFinding) -> Iterator[Figure]:
    for term in found.terms:
        if term.shape is None:
            continue
        for index, output in enumerate(term.shape.outputs):
            edited = ", edited" if term.edited else ""
            yield Figure(
                name=_name(term.name),
                output=_name(output),
                note=f"importance {term.importance:.3g}{edited}",
                finding=term,
                index=index,
            )


def _shape(term: TermFinding) -> ShapeFunction:
    """Return what is drawn of a term as a shape function of its own."""
    found = term.shape or ShapeFinding(axes=(), outputs=(), scores=(), low=None, high=None)
    bins: list[Bins] = []
    for axis in found.axes:
        if axis.cuts is not None:
            bins.append(NumericBins(axis.attribute, axis.cuts))
        else:
            names = _apart(axis.groups or ("",))
            # Missing values that have a group are not in the last bin.
            plain = len(names) == 1
            bins.append(
                CategoryBins(axis.attribute, tuple((name if plain or name != MISSING else None,) for name in names))
            )
    shape = tuple(entry.n_bins for entry in bins)

    def array(rows: tuple[tuple[float, ...], ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.stack([np.array(row).reshape(shape) for row in rows], axis=-1)

    drawn = Term(bins=tuple(bins), scores=array(found.scores), name=term.name)
    return ShapeFunction(
        term=drawn,
        released=drawn.scores,
        low=None if found.low is None else array(found.low),
        high=None if found.high is None else array(found.high),
        coverage=0.0,
        importance=term.importance,
    )


def _apart(names: tuple[str, ...]) -> list[str]:
    """Return names that differ: two long ones may have been cut to the same."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def _name(text: str) -> str:
    return wording.shorten(wording.clean(text), LONGEST)


def _lead(found: AdditiveFinding) -> str:
    of = "of each class " if len(found.intercept) > 1 else ""
    intercept = ", ".join(f"{value:.3g}" for value in found.intercept[:8])
    text = (
        f"{found.meaning[:1].upper()}{found.meaning[1:]}. It is the intercept {of}({intercept}) plus one score a term."
    )
    if found.n_edits:
        text += f" People changed it {wording.plural(found.n_edits, 'time')} after it was released."
    return wording.clean(text)


def _reading(found: AdditiveFinding) -> str:
    text = (
        "Bins are drawn equally wide, numbers to four digits; neighbouring bins are joined where there are many, or "
        "where few people are in one. The mark at the right is for missing values."
    )
    if any(term.shape is not None and term.shape.low is not None for term in found.terms):
        text += (
            f" Shaded: where the score without noise lies in {wording.percent(found.coverage)} of the cases, each bin "
            "by itself."
        )
    return text


def _row(term: TermFinding, most: float) -> TermRow:
    sizes = "not known"
    if term.smallest is not None:
        sizes = f"smallest {term.smallest}"
        sizes += f", {term.n_small:,} too small" if term.n_small else ""
    elif term.origin is not None:
        sizes = "nobody"
    sizes += f" ({term.origin})" if term.origin else ""
    return TermRow(
        name=_name(term.name),
        importance=f"{term.importance:.3g}",
        share=min(max(term.importance / most, 0.0), 1.0),
        bins=f"{term.n_bins:,}",
        sizes=sizes,
        small=bool(term.n_small),
    )


def _told(entry: BinsFinding) -> Iterator[str]:
    """Yield what the bins of an attribute tell, each in a sentence."""
    if entry.n_own_bins:
        yield f"{entry.n_own_bins:,} of {entry.n_values or 0:,} different training values have a bin of their own."
    if entry.n_rebuilt:
        yield f"{entry.n_rebuilt:,} training values follow from the cuts and the range by arithmetic."
    if entry.n_midpoints:
        at = "is" if entry.n_midpoints == 1 else "are"
        yield (
            f"{entry.n_midpoints:,} of {wording.plural(entry.n_cuts, 'cut')} {at} half way between two training "
            "values, bit for bit."
        )
    private = entry.n_private_bounds != 0
    if entry.exact_bounds and private:
        ends = " and the ".join(entry.exact_bounds)
        yield f"The published range ends at the {ends} training value: the value of a person."
    elif entry.n_bounds and private and entry.exact_bounds is None:
        yield "A range of values is published; whether it ends at training values needs the data."
    if entry.n_off_grid:
        known = "is no public cut point" if entry.n_off_grid == 1 else "are no public cut points"
        yield f"{entry.n_off_grid:,} of {wording.plural(entry.n_cuts, 'cut')} {known}."
    if entry.n_undeclared:
        yield f"{wording.plural(entry.n_undeclared, 'named value')} not declared by the domain."
    if entry.n_lone_categories:
        yield f"{wording.plural(entry.n_lone_categories, 'named value')} that one record has."


def _small(found: AdditiveFinding) -> tuple[int, bool]:
    known = all(term.n_small is not None for term in found.terms)
    return sum(term.n_small or 0 for term in found.terms), known


def _sentence(found: AdditiveFinding) -> str:
    rebuilt = sum(entry.n_rebuilt for entry in found.attributes)
    if rebuilt:
        names = sum(bool(entry.n_rebuilt) for entry in found.attributes)
        return (
            f"{rebuilt:,} training values of {wording.plural(names, 'attribute')} can be computed from the published "
            "cuts and ranges."
        )
    own = sum(entry.n_own_bins or 0 for entry in found.attributes)
    if own:
        return f"{own:,} training values have a bin of their own."
    return ""
