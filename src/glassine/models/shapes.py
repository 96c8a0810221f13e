"""Shape functions of an additive model: what each term adds, how far noise blurs it, how much it matters, as SVG.

The drawing needs nothing else, so that reports and notebooks can hold it. Its shapes carry classes, so that a page's
style sheet can colour them anew, and attributes for where there is none. Every text of the model is escaped.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from html import escape
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from glassine.domain.literals import number
from glassine.errors import InvalidParameterError
from glassine.models.bins import MISSING, OTHER, CategoryBins, NumericBins
from glassine.models.terms import Term

__all__ = ["COLD", "COVERAGE", "LINE", "ShapeFunction", "bands", "draw_shape", "plain", "short", "term_importance"]

COVERAGE = 0.9
"""Share of the bands that cover the score without noise, unless told."""

TINIEST = 1e-300
"""Scores closer together are drawn as equal."""
LEFT, RIGHT, TOP, BOTTOM = 48.0, 8.0, 10.0, 34.0
GAP = 10.0
"""Room before the bin for missing values."""
HISTOGRAM = 0.16
"""Share of the height for the bars of the weights."""
LETTER = 5.9
LINE, COLD = "#a8552e", "#17566e"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029]")

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
        The band around the released scores; None where the model tells no errors.
    coverage : float
        Coverage of each band.
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
    """Return the lower and upper end of each score's noise band; None where the term tells no errors.

    The noise of a released score is normal with standard deviation ``errors``, or nearly so. Each band by itself covers
    the score that the same computation without noise would have given with probability ``coverage``; all bands
    together do so less often. They say nothing of the error of sampling: other people would have given other scores.

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
        raise InvalidParameterError(f"coverage must lie in (0, 1), got {coverage!r}. Use 0.9 for bands of 90 %.")
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


def plain(text: object) -> str:
    """Return a text escaped for HTML and SVG; characters that neither may hold become a replacement mark."""
    return escape(CONTROL.sub("\ufffd", str(text)))


def short(text: str, room: int) -> str:
    """Return a text of at most ``room`` characters."""
    return text if len(text) <= room else text[: max(room - 1, 1)] + "\u2026"


def draw_shape(shape: ShapeFunction, *, output: int = 0, width: int = 420, height: int = 190) -> str:
    """Return a shape function as SVG: scores, noise band, bin weights and, where edited, the released scores.

    Bins are drawn equally wide, whatever their range; that for missing values stands apart at the right. A pair of
    attributes is drawn as a heat map.

    Parameters
    ----------
    shape : ShapeFunction
        From :func:`glassine.explain_global`.
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
        raise InvalidParameterError(f"output must lie in [0, {shape.term.n_outputs - 1}], got {output!r}.")
    body = (
        _heat_map(shape, output, width, height) if len(shape.term.bins) == 2 else _steps(shape, output, width, height)
    )
    told = f"{shape.name}, importance {shape.importance:.3g}"
    return (
        f'<svg class="shape" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{plain(told)}" font-family="system-ui, sans-serif" font-size="11" '
        f'fill="currentColor"><title>{plain(told)}</title>{body}</svg>'
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return at most ``most`` round numbers from ``low`` to ``high``, zero among them if it lies between."""
    span = high - low
    # A span next to the smallest float has no fifth.
    if not TINIEST < span < math.inf:
        return [low] if math.isfinite(low) else []
    step = 10.0 ** math.floor(math.log10(span / most))
    for factor in (1, 2, 5, 10, 20, 50):
        first, last = math.ceil(low / (step * factor)), math.floor(high / (step * factor))
        if last - first < most:
            return [k * step * factor for k in range(first, last + 1)]
    return [low, high]


def _steps(shape: ShapeFunction, output: int, width: int, height: int) -> str:
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
    pieces = []
    for tick in ticks(bottom_value, bottom_value + span):
        pieces.append(
            f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" '
            f'stroke="currentColor" stroke-opacity="{0.4 if tick == 0 else 0.12}"/>'
            f'<text class="tick" x="{LEFT - 6}" y="{y(tick):.1f}" dy="4" text-anchor="end" opacity=".75">{tick:g}'
            "</text>"
        )
    if term.weights is not None:
        pieces.append(_histogram(np.maximum(term.weights, 0.0), edges, height))
    if low is not None and high is not None:
        bars = "".join(
            f"M{a:.1f} {y(lo):.1f}H{b:.1f}V{y(hi):.1f}H{a:.1f}Z"
            for (a, b), lo, hi in zip(edges, low, high, strict=True)
        )
        pieces.append(f'<path class="band" d="{bars}" fill="{LINE}" fill-opacity=".2"/>')
    joined = isinstance(term.bins[0], NumericBins)
    if shape.edited:
        path = _path([y(v) for v in released], edges, joined)
        pieces.append(
            f'<path class="released" d="{path}" fill="none" stroke="currentColor" stroke-opacity=".6" '
            f'stroke-dasharray="3 3"/>'
        )
    path = _path([y(v) for v in scores], edges, joined)
    pieces.append(f'<path class="line" d="{path}" fill="none" stroke="{LINE}" stroke-width="2"/>')
    pieces.append(_bin_titles(shape, output, edges, height))
    pieces.append(_axis(term.bins[0], edges, height))
    return "".join(pieces)


def _edges(n_bins: int, width: int) -> list[tuple[float, float]]:
    """Return left and right end of each bin, the last one apart."""
    each = (width - LEFT - RIGHT - GAP) / n_bins
    edges = [(LEFT + i * each, LEFT + (i + 1) * each) for i in range(n_bins - 1)]
    return [*edges, (width - RIGHT - each, width - RIGHT)]


def _path(heights: list[float], edges: list[tuple[float, float]], joined: bool) -> str:
    """Return the steps as a path; groups of categories, and the bin for missing values, are not joined."""
    out = []
    for i, ((a, b), here) in enumerate(zip(edges, heights, strict=True)):
        pen = "V" if joined and 0 < i < len(edges) - 1 else "M"
        out.append(f"V{here:.1f}H{b:.1f}" if pen == "V" else f"M{a:.1f} {here:.1f}H{b:.1f}")
    return "".join(out)


def _histogram(weights: Array, edges: list[tuple[float, float]], height: int) -> str:
    tall = (height - TOP - BOTTOM) * HISTOGRAM - 4
    most = float(weights.max()) or 1.0
    floor = height - BOTTOM
    bars = "".join(
        f"M{a:.1f} {floor}H{b:.1f}V{floor - weight / most * tall:.1f}H{a:.1f}Z"
        for (a, b), weight in zip(edges, weights, strict=True)
    )
    return f'<path class="weights" d="{bars}" fill="currentColor" fill-opacity=".18"/>'


def _bin_titles(shape: ShapeFunction, output: int, edges: list[tuple[float, float]], height: int) -> str:
    if len(edges) > 200:
        return ""
    out = []
    for (a, b), label, score in zip(edges, shape.labels, shape.term.scores[:, output], strict=True):
        out.append(
            f'<rect x="{a:.1f}" y="{TOP}" width="{b - a:.1f}" height="{height - TOP - BOTTOM}" fill="none" '
            f'pointer-events="all"><title>{plain(short(label, 80))}: {score:+.4g}</title></rect>'
        )
    return "".join(out)


def _axis(bins: object, edges: list[tuple[float, float]], height: int) -> str:
    """Return the texts below the bins: cuts between numbers, names of groups, as many as there is room for."""
    if isinstance(bins, NumericBins):
        marks = [(edges[i][1], number(cut, 6)) for i, cut in enumerate(bins.cuts)]
    else:
        labels = getattr(bins, "labels", ())[:-1]
        marks = [((a + b) / 2, label) for (a, b), label in zip(edges[:-1], labels, strict=True)]
    apart = isinstance(bins, CategoryBins) and bins.missing < len(bins.groups)
    marks.append(((edges[-1][0] + edges[-1][1]) / 2, OTHER if apart else MISSING))
    out, free = [], -math.inf
    # The last mark is drawn in any case; the others give way to it and to those at their left.
    last = min(marks[-1][0], edges[-1][1] - 4 * LETTER)
    for k, (x, text) in enumerate(marks):
        final = k == len(marks) - 1
        x = last if final else x
        shown = short(text, 14)
        half = len(shown) * LETTER / 2
        if final or (x - half >= free and x + half <= last - 5 * LETTER):
            out.append(
                f'<text class="tick" x="{x:.1f}" y="{height - BOTTOM + 15}" text-anchor="middle" '
                f'opacity=".75">{plain(shown)}</text>'
            )
            free = x + half + 9
    name = short(getattr(bins, "attribute", ""), 60)
    middle = (edges[0][0] + edges[-1][1]) / 2
    out.append(f'<text class="name" x="{middle:.1f}" y="{height - 4}" text-anchor="middle">{plain(name)}</text>')
    return "".join(out)


def _heat_map(shape: ShapeFunction, output: int, width: int, height: int) -> str:
    scores = shape.term.scores[..., output]
    most = float(np.abs(scores).max()) or 1.0
    rows, columns = scores.shape
    left = 14 * LETTER
    tall, wide = (height - TOP - BOTTOM) / rows, (width - left - RIGHT) / columns
    labels = [bins.labels for bins in shape.term.bins]
    titled = rows * columns <= 1000
    pieces = []
    for i in range(rows):
        for j in range(columns):
            score = float(scores[i, j])
            colour, depth = (LINE if score > 0 else COLD), abs(score) / most
            title = f"{short(labels[0][i], 60)} & {short(labels[1][j], 60)}: {score:+.4g}"
            inside = f"<title>{plain(title)}</title>" if titled else ""
            pieces.append(
                f'<rect class="cell" x="{left + j * wide:.1f}" y="{TOP + i * tall:.1f}" width="{wide:.2f}" '
                f'height="{tall:.2f}" fill="{colour}" fill-opacity="{depth:.3f}">{inside}</rect>'
            )
    pieces += [
        f'<text class="tick" x="{left - 5}" y="{TOP + (i + 0.5) * tall:.1f}" dy="4" text-anchor="end" opacity=".75">'
        f"{plain(short(label, 12))}</text>"
        for i, label in enumerate(labels[0] if tall >= 12 else ())
    ]
    pieces += [
        f'<text class="tick" x="{left + (j + 0.5) * wide:.1f}" y="{height - BOTTOM + 15}" text-anchor="middle" '
        f'opacity=".75">{plain(short(label, int(wide / LETTER)))}</text>'
        for j, label in enumerate(labels[1] if wide >= 4 * LETTER else ())
    ]
    down, across = shape.term.attributes
    frame = (
        f'<rect x="{left}" y="{TOP}" width="{width - left - RIGHT}" height="{height - TOP - BOTTOM}" fill="none" '
        f'stroke="currentColor" stroke-opacity=".3"/>'
        f'<text class="name" x="{width / 2:.0f}" y="{height - 4}" text-anchor="middle">'
        f"{plain(short(down, 24))} (rows) and {plain(short(across, 24))} (columns)</text>"
    )
    return "".join(pieces) + frame
