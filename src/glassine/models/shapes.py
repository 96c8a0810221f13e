"""Shape functions of an additive model: what each term adds, how far noise blurs it, how much it matters, as SVG.

The drawing needs nothing else, so that reports and notebooks can hold it. Its shapes carry classes, so that a page's
style sheet can recolour them, and attributes for where there is none. Every text of the model is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from glassine.domain.literals import number
from glassine.errors import InvalidParameterError, parameter
from glassine.models.bins import MISSING, OTHER, Bins, CategoryBins, NumericBins
from glassine.models.svg import element, short, ticks
from glassine.models.terms import Term

__all__ = ["COLD", "COVERAGE", "LINE", "ShapeFunction", "bands", "draw_shape", "term_importance"]

COVERAGE = 0.9
"""Default share of the noise of a term's own sums that its noise intervals hold."""

LEFT, RIGHT, TOP, BOTTOM = 48.0, 8.0, 10.0, 34.0
GAP = 10.0
"""Room before the bin for missing values."""
HISTOGRAM = 0.16
"""Share of the height for the bars of the weights."""
LETTER = 5.9
LINE, COLD = "#a8552e", "#17566e"
MOST_TITLES, MOST_CELL_TITLES = 200, 1000
"""Bins and cells that show their label and score under the pointer: a title each makes large drawings huge."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ShapeFunction:
    """One term of an additive model, ready to be read.

    Attributes
    ----------
    term : Term
        The term.
    released : ndarray, shape of the term's scores
        The scores before any edit.
    low, high : ndarray of the same shape, or None
        The noise interval around the released scores, see :func:`bands`; None if the model states no errors.
    coverage : float
        Share of the noise that each holds.
    importance : float
        Mean absolute centred score, see :func:`term_importance`.
    """

    term: Term
    released: Array
    low: Array | None
    high: Array | None
    coverage: float
    importance: float

    @property
    def name(self) -> str:
        """Name of the term."""
        return self.term.name

    @property
    def labels(self) -> tuple[str, ...]:
        """Text for each bin or cell, in row-major order."""
        return self.term.labels

    @property
    def edited(self) -> bool:
        """Whether some score differs from the released one."""
        return not np.array_equal(self.released, self.term.scores)

    def __repr__(self) -> str:
        return f"<shape function of {self.term.name}, importance {self.importance:.4g}>"

    def _repr_html_(self) -> str:
        return "".join(draw_shape(self, output=output) for output in range(self.term.n_outputs))


def bands(term: Term, coverage: float = COVERAGE) -> tuple[Array, Array] | None:
    """Return the ends of each score's noise interval; None without stated errors.

    An interval holds a share ``coverage`` of what the noise in the term's own sums does to one score, the penalty and
    all other terms being as they were; that noise is normal with standard deviation ``errors``, or nearly so. It is
    no interval for the score that the same fit without noise would give: other terms pass their noise on, the more
    the more attributes depend on each other. ``benchmarks/bands.py`` measures how often it holds that score. It says
    nothing of the error of sampling: other people would have given other scores.

    Parameters
    ----------
    term : Term
        The term, with the scores as released.
    coverage : float, default=0.9
        In (0, 1).

    Returns
    -------
    tuple of ndarray, shape of the term's scores

    Raises
    ------
    InvalidParameterError
        If the coverage is out of range.

    Examples
    --------
    >>> from glassine.models.bins import NumericBins
    >>> term = Term(bins=(NumericBins("age"),), scores=np.array([1.0, 0.0]), errors=np.array([0.5, 0.0]))
    >>> low, high = bands(term, 0.95)
    >>> round(float(low[0, 0]), 3), round(float(high[0, 0]), 3)
    (0.02, 1.98)
    """
    if not 0 < coverage < 1:
        raise InvalidParameterError(
            f"{parameter('coverage')} must lie in (0, 1), got {coverage!r}.", remedy="Use 0.9 for bands of 90 %."
        )
    if term.errors is None:
        return None
    half = NormalDist().inv_cdf((1 + coverage) / 2) * term.errors
    return term.scores - half, term.scores + half


def bin_weights(term: Term) -> Array:
    """Return a weight of at least 0 for each bin: its count, or equal ones where no count is known to be positive."""
    if term.weights is not None:
        weights = np.maximum(term.weights, 0.0)
        if weights.any():
            # Divided by the largest, so that no sum of them overflows.
            return np.asarray(weights / weights.max())
    equal = np.ones(term.shape)
    for axis in range(len(term.shape)):
        # The bin for missing values is nobody's, as far as is known.
        np.moveaxis(equal, axis, 0)[-1] = 0.0
    return equal


def term_importance(term: Term) -> float:
    """Return the mean over the records of how far the term's score lies from its own mean.

    Bins are weighted by their noisy counts, negative ones as 0; equally, but for missing values, where no counts are
    published. Of several outputs the mean is taken.

    Examples
    --------
    >>> from glassine.models.bins import NumericBins
    >>> bins = (NumericBins("age", (40,)),)
    >>> term_importance(Term(bins=bins, scores=np.array([-1.0, 3.0, 0.0]), weights=np.array([3, 1, 0])))
    1.5
    """
    weights = bin_weights(term)
    shares = (weights / weights.sum()).reshape(-1, 1)
    scores = term.scores.reshape(-1, term.n_outputs)
    centre = (shares * scores).sum(axis=0)
    return float((shares * np.abs(scores - centre)).sum(axis=0).mean())


def draw_shape(shape: ShapeFunction, *, output: int = 0, width: int = 420, height: int = 190) -> Markup:
    """Return a shape function as SVG: scores, noise band, bin weights and, where edited, the released scores.

    Bins are drawn equally wide, independent of their range; that for missing values is separate, at the right. A pair
    of attributes is drawn as a heat map.

    Parameters
    ----------
    shape : ShapeFunction
        From :func:`glassine.summarize_model`.
    output : int, default=0
        The output, of several the index of the class.
    width, height : int
        Size in pixels.

    Raises
    ------
    InvalidParameterError
        If there is no such output.
    """
    if not 0 <= output < shape.term.n_outputs:
        raise InvalidParameterError(
            f"{parameter('output')} must lie in [0, {shape.term.n_outputs - 1}], got {output!r}."
        )
    draw = _heat_map if len(shape.term.bins) == 2 else _steps
    label = f"{shape.name}, importance {shape.importance:.3g}"
    return element(
        "svg",
        element("title", label),
        *draw(shape, output, width, height),
        class_="shape",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
        font_family="system-ui, sans-serif",
        font_size=11,
        fill="currentColor",
    )


def _tick(text: str, x: float, y: float, anchor: str, **more: float) -> Markup:
    return element("text", text, class_="tick", x=x, y=y, **more, text_anchor=anchor, opacity=".75")


def _name(text: str, x: float, y: float) -> Markup:
    return element("text", text, class_="name", x=x, y=y, text_anchor="middle")


def _steps(shape: ShapeFunction, output: int, width: int, height: int) -> Iterator[Markup]:
    term = shape.term
    scores, released = term.scores[:, output], shape.released[:, output]
    low = None if shape.low is None else shape.low[:, output]
    high = None if shape.high is None else shape.high[:, output]
    reach = np.concatenate([scores, released, [0.0], *([] if low is None or high is None else [low, high])])
    bottom_value, top_value = float(reach.min()), float(reach.max())
    span = (top_value - bottom_value) or 1.0
    bottom = height - BOTTOM - (height - TOP - BOTTOM) * HISTOGRAM

    def y(value: float) -> float:
        return bottom - (value - bottom_value) / span * (bottom - TOP)

    edges = _edges(term.shape[0], width)
    for tick in ticks(bottom_value, bottom_value + span, 5):
        yield element(
            "line",
            class_="grid",
            x1=LEFT,
            x2=width - RIGHT,
            y1=y(tick),
            y2=y(tick),
            stroke="currentColor",
            stroke_opacity=0.4 if tick == 0 else 0.12,
        )
        yield _tick(f"{tick:g}", LEFT - 6, y(tick), "end", dy=4)
    if term.weights is not None:
        weights = np.maximum(term.weights, 0.0)
        tall, floor = (height - TOP - BOTTOM) * HISTOGRAM - 4, height - BOTTOM
        tops = floor - weights / (float(weights.max()) or 1.0) * tall
        bars = _boxes(edges, [floor] * len(edges), tops)
        yield element("path", class_="weights", d=bars, fill="currentColor", fill_opacity=0.18)
    if low is not None and high is not None:
        band = _boxes(edges, [y(value) for value in low], [y(value) for value in high])
        yield element("path", class_="band", d=band, fill=LINE, fill_opacity=0.2)
    joined = isinstance(term.bins[0], NumericBins)
    if shape.edited:
        path = _path([y(value) for value in released], edges, joined)
        dashed = {"stroke": "currentColor", "stroke_opacity": 0.6, "stroke_dasharray": "3 3"}
        yield element("path", class_="released", d=path, fill="none", **dashed)
    path = _path([y(value) for value in scores], edges, joined)
    yield element("path", class_="line", d=path, fill="none", stroke=LINE, stroke_width=2)
    if len(edges) <= MOST_TITLES:
        for (a, b), label, score in zip(edges, shape.labels, scores, strict=True):
            title = element("title", f"{short(label, 80)}: {score:+.4g}")
            box = {"x": a, "y": TOP, "width": b - a, "height": height - TOP - BOTTOM}
            yield element("rect", title, **box, fill="none", pointer_events="all")
    yield from _axis(term.bins[0], edges, height)


def _edges(n_bins: int, width: int) -> list[tuple[float, float]]:
    """Return left and right end of each bin, the last one apart."""
    each = (width - LEFT - RIGHT - GAP) / n_bins
    edges = [(LEFT + i * each, LEFT + (i + 1) * each) for i in range(n_bins - 1)]
    return [*edges, (width - RIGHT - each, width - RIGHT)]


def _boxes(edges: list[tuple[float, float]], bottoms: Iterable[float], tops: Iterable[float]) -> str:
    """Return one box a bin as a path."""
    return "".join(
        f"M{a:.1f} {bottom:.1f}H{b:.1f}V{top:.1f}H{a:.1f}Z"
        for (a, b), bottom, top in zip(edges, bottoms, tops, strict=True)
    )


def _path(heights: list[float], edges: list[tuple[float, float]], joined: bool) -> str:
    """Return the steps as a path; groups of categories, and the bin for missing values, are not joined."""
    out = []
    for i, ((a, b), here) in enumerate(zip(edges, heights, strict=True)):
        start = f"V{here:.1f}" if joined and 0 < i < len(edges) - 1 else f"M{a:.1f} {here:.1f}"
        out.append(f"{start}H{b:.1f}")
    return "".join(out)


def _axis(bins: Bins, edges: list[tuple[float, float]], height: int) -> Iterator[Markup]:
    """Yield the texts below the bins: cuts between numbers, names of groups, as many as there is room for."""
    if isinstance(bins, NumericBins):
        marks = [(edges[i][1], number(cut, 6)) for i, cut in enumerate(bins.cuts)]
    else:
        marks = [((a + b) / 2, label) for (a, b), label in zip(edges[:-1], bins.labels[:-1], strict=True)]
    other = isinstance(bins, CategoryBins) and bins.missing < len(bins.groups)
    marks.append(((edges[-1][0] + edges[-1][1]) / 2, OTHER if other else MISSING))
    free = -math.inf
    # The last mark is drawn in any case; the others give way to it and to those at their left.
    last = min(marks[-1][0], edges[-1][1] - 4 * LETTER)
    for k, (x, text) in enumerate(marks):
        final = k == len(marks) - 1
        x = last if final else x
        caption = short(text, 14)
        half = len(caption) * LETTER / 2
        if final or (x - half >= free and x + half <= last - 5 * LETTER):
            yield _tick(caption, x, height - BOTTOM + 15, "middle")
            free = x + half + 9
    yield _name(short(bins.attribute, 60), (edges[0][0] + edges[-1][1]) / 2, height - 4)


def _heat_map(shape: ShapeFunction, output: int, width: int, height: int) -> Iterator[Markup]:
    scores = shape.term.scores[..., output]
    most = float(np.abs(scores).max()) or 1.0
    rows, columns = scores.shape
    left = 14 * LETTER
    plane = {"x": left, "y": TOP, "width": width - left - RIGHT, "height": height - TOP - BOTTOM}
    tall, wide = plane["height"] / rows, plane["width"] / columns
    labels = [bins.labels for bins in shape.term.bins]
    for i, j in np.ndindex(rows, columns):
        score = float(scores[i, j])
        title = f"{short(labels[0][i], 60)} & {short(labels[1][j], 60)}: {score:+.4g}"
        yield element(
            "rect",
            *([element("title", title)] if rows * columns <= MOST_CELL_TITLES else []),
            class_="cell",
            x=left + j * wide,
            y=TOP + i * tall,
            width=wide,
            height=tall,
            fill=LINE if score > 0 else COLD,
            fill_opacity=f"{abs(score) / most:.3f}",
        )
    for i, label in enumerate(labels[0] if tall >= 12 else ()):
        yield _tick(short(label, 12), left - 5, TOP + (i + 0.5) * tall, "end", dy=4)
    for j, label in enumerate(labels[1] if wide >= 4 * LETTER else ()):
        yield _tick(short(label, int(wide / LETTER)), left + (j + 0.5) * wide, height - BOTTOM + 15, "middle")
    yield element("rect", **plane, fill="none", stroke="currentColor", stroke_opacity=0.3)
    down, across = (short(name, 24) for name in shape.term.attributes)
    yield _name(f"{down} (rows) and {across} (columns)", width / 2, height - 4)
