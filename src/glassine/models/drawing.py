"""Shape functions and local explanations as SVG and HTML that need nothing else, for reports and notebooks.

Shapes carry classes, so that a page's style sheet can colour them anew, and attributes for where there is none. Every
text of the model is escaped.
"""

from __future__ import annotations

import math
import re
from html import escape

import numpy as np
import numpy.typing as npt

from glassine.domain.literals import number
from glassine.errors import InvalidParameterError
from glassine.models.additive import AdditiveModel
from glassine.models.bins import MISSING, OTHER, CategoryBins, NumericBins
from glassine.models.scoring import LocalExplanation
from glassine.models.shapes import COVERAGE, ShapeFunction, explain_global

__all__ = ["draw_shape", "local_html", "model_html"]

TINIEST = 1e-300
"""Scores closer together are drawn as equal."""

LEFT, RIGHT, TOP, BOTTOM = 48.0, 8.0, 10.0, 34.0
GAP = 10.0
"""Room before the bin for missing values."""
HISTOGRAM = 0.16
"""Share of the height for the bars of the weights."""
LETTER = 5.9
SHOWN_TERMS = 12
LINE, COLD = "#a8552e", "#17566e"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029]")

Array = npt.NDArray[np.float64]


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


def model_html(model: AdditiveModel, coverage: float = COVERAGE) -> str:
    """Return a model as a piece of HTML for a notebook: its shape functions, the most important first."""
    shapes = explain_global(model, coverage)
    figures = []
    for shape in shapes[:SHOWN_TERMS]:
        for output in range(min(shape.term.n_outputs, 3)):
            of = f", {model.classes[output]}" if model.classes is not None and model.n_outputs > 1 else ""
            figures.append(
                f'<figure style="margin:0"><figcaption><b>{plain(short(shape.name, 60))}</b>{plain(short(of, 40))} '
                f"<small>importance {shape.importance:.3g}</small></figcaption>{draw_shape(shape, output=output)}"
                "</figure>"
            )
    rest = len(shapes) - SHOWN_TERMS
    more = f"<p>{rest} less important term{'s' * (rest > 1)} not drawn.</p>" if rest > 0 else ""
    banded = any(shape.low is not None for shape in shapes)
    band = f" Shaded: the noise of the released scores, {coverage:.0%} each." if banded else ""
    intercept = ", ".join(f"{value:.4g}" for value in model.intercept[:8])
    return (
        f'<div class="glassine-model"><p><b>Glassine: {plain(model)}</b> &mdash; {plain(score_meaning(model))}. '
        f"Intercept {intercept}.{band} Bins are drawn equally wide.</p>"
        f'<div style="display:flex;flex-wrap:wrap;gap:14px 22px">{"".join(figures)}</div>{more}</div>'
    )


def score_meaning(model: AdditiveModel) -> str:
    """Return in words what the scores of a model are."""
    of = model.target or "the target"
    if model.classes is None:
        return f"a score is the predicted {model.target or 'value'}"
    if model.link == "logit":
        return f"a score is the log-odds that {of} is {model.classes[1]}"
    return f"each class has a score, its log-probability as {of} up to a constant"


def local_html(local: LocalExplanation, rows: int = 3, output: int = 0) -> str:
    """Return the first records of a local explanation as tables of HTML for a notebook."""
    out = []
    for row in range(min(rows, len(local))):
        parts = local.record(row, output)
        most = max((abs(value) for _, _, value in parts), default=0.0) or 1.0
        lines = "".join(
            f"<tr><td>{plain(short(name, 40))}</td><td>{plain(short(label, 40))}</td>"
            f'<td style="text-align:right">{value:+.4f}</td><td>{_bar(value / most)}</td></tr>'
            for name, label, value in parts
        )
        total = local.scores[row, output]
        out.append(
            f"<table><caption>Record {row}: intercept {local.intercept[output]:+.4f}, score {total:+.4f}</caption>"
            f"<thead><tr><th>term</th><th>bin</th><th>adds</th><th></th></tr></thead><tbody>{lines}</tbody></table>"
        )
    left = len(local) - rows
    return "".join(out) + (f"<p>{left} more records.</p>" if left > 0 else "")


def _bar(share: float) -> str:
    start = 50 if share > 0 else 50 + 50 * share
    return (
        f'<svg width="120" height="12" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect x="{start:.1f}" width="{abs(share) * 50:.1f}" height="10" fill="{LINE if share > 0 else COLD}"/>'
        f'<line x1="50" x2="50" y1="0" y2="10" stroke="currentColor" stroke-opacity=".5"/></svg>'
    )
