"""Shape functions of an additive model: what each term adds, how far noise blurs it, how much it matters, as SVG.

The drawing needs nothing else, so that reports and notebooks can hold it. Its shapes carry classes, so that a page's
style sheet can recolour them, and attributes for where there is none. Every text of the model is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from statistics import NormalDist

import numpy as np
from markupsafe import Markup

from glassine.errors import InvalidParameterError, parameter
from glassine.models.bins import MISSING, OTHER, Bins, CategoryBins, NumericBins
from glassine.models.svg import element, short, ticks
from glassine.models.terms import Term
from glassine.records.arrays import Array

COVERAGE = 0.9
"""Default share of the noise of a term's own sums that its noise intervals hold."""

LEFT, RIGHT, TOP, BOTTOM = 48.0, 8.0, 10.0, 34.0
GAP = 10.0
"""Room before the bin for missing values."""
SLOT = 34.0
"""Width of that bin beside a number."""
OPEN_END = 0.08
"""Width of an interval without an end, as a share of the span of the others."""
KEY = 62.0
"""Room for the legend of a heat map."""
SHADES = 10
"""Steps of that legend, half of them below 0."""
HISTOGRAM = 0.16
"""Share of the height for the bars of the weights."""
LETTER = 5.9
LINE, COLD = "#a8552e", "#17566e"
MOST_TITLES, MOST_CELL_TITLES = 200, 1000
"""Bins and cells that show their label and score under the pointer: a title each makes large drawings huge."""


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
        # The bin for missing values has no record, as far as is known.
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


def common_scale(shapes: Iterable[ShapeFunction]) -> tuple[float, float]:
    """Return the lowest and the highest score to draw, with 0 and the noise intervals among them.

    Shape functions that are drawn on one scale can be compared.

    Examples
    --------
    >>> from glassine.models.bins import NumericBins
    >>> term = Term(bins=(NumericBins("age", (40,)),), scores=np.array([-1.0, 3.0, 0.0]))
    >>> plain = {"low": None, "high": None, "coverage": 0.9, "importance": 1.0}
    >>> common_scale([ShapeFunction(term=term, released=term.scores, **plain)])
    (-1.0, 3.0)
    """
    drawn = [a for s in shapes for a in (s.term.scores, s.released, s.low, s.high) if a is not None]
    return min([0.0, *(float(array.min()) for array in drawn)]), max([0.0, *(float(array.max()) for array in drawn)])


def draw_shape(
    shape: ShapeFunction,
    *,
    output: int = 0,
    width: int = 420,
    height: int = 190,
    scale: tuple[float, float] | None = None,
) -> Markup:
    """Return a shape function as SVG: scores, noise band, bin weights and, where edited, the released scores.

    Bins of a number lie to scale between its bounds; groups are equally wide. The bin for missing values is separate,
    at the right, and left out where it adds nothing, or nothing but noise for no record. A pair of attributes is drawn
    as a heat map with its legend.

    Parameters
    ----------
    shape : ShapeFunction
        From :func:`~.summarize_model`.
    output : int, default=0
        The output, of several the index of the class.
    width, height : int
        Size in pixels.
    scale : (float, float), optional
        Ends of the axis of the scores, such as :func:`common_scale` of all that stand side by side; of a heat map the
        larger size is the strongest color. Those of the shape function otherwise.

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
        element("desc", _description(shape, output)),
        *draw(shape, output, (width, height), scale or common_scale((shape,))),
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


def _description(shape: ShapeFunction, output: int) -> str:
    """Return where the score is lowest and highest."""
    scores = shape.term.scores[..., output].reshape(-1)
    ends = [f"{short(shape.labels[at], 80)} ({scores[at]:+.3g})" for at in (int(scores.argmin()), int(scores.argmax()))]
    return f"Lowest score at {ends[0]}, highest at {ends[1]}."


def _tick(text: str, x: float, y: float, anchor: str, **more: float) -> Markup:
    return element("text", text, class_="tick", x=x, y=y, **more, text_anchor=anchor, opacity=".75")


def _name(text: str, x: float, y: float, **more: str) -> Markup:
    return element("text", text, class_="name", x=x, y=y, text_anchor="middle", **more)


def last_bin_is_drawn(shape: ShapeFunction, axis: int) -> bool:
    """Return whether the last bin of an axis has records or a score: of many models it has none, or noise alone."""

    def last(array: Array) -> Array:
        taken: Array = np.take(array, -1, axis=axis)
        return taken

    if shape.term.weights is not None and (last(shape.term.weights) > 0).any():
        return True
    scores, released = last(shape.term.scores), last(shape.released)
    if shape.low is None or shape.high is None or (scores != released).any():
        return bool(scores.any() or released.any())
    if shape.term.weights is None and (last(shape.high) != last(shape.low)).any():
        return True
    return bool(((last(shape.low) > 0) | (last(shape.high) < 0)).any())


def _steps(shape: ShapeFunction, output: int, size: tuple[int, int], scale: tuple[float, float]) -> Iterator[Markup]:
    term, (width, height) = shape.term, size
    bins, floor = term.bins[0], height - BOTTOM
    slot = last_bin_is_drawn(shape, 0)
    edges = [(LEFT + a, LEFT + b) for a, b in _spread(bins, width - LEFT - RIGHT, slot=slot)]
    n = len(edges)
    scores, released = term.scores[:n, output], shape.released[:n, output]
    bottom_value, top_value = scale
    span = (top_value - bottom_value) or 1.0
    bottom = floor - (floor - TOP) * HISTOGRAM

    def y(value: float) -> float:
        return bottom - (value - bottom_value) / span * (bottom - TOP)

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
        yield _tick(f"{tick:,g}", LEFT - 6, y(tick), "end", dy=4)
    if term.weights is not None:
        yield element(
            "path", class_="weights", d=_density(term.weights, edges, floor), fill="currentColor", fill_opacity=0.3
        )
    if shape.low is not None and shape.high is not None:
        low, high = shape.low[:n, output], shape.high[:n, output]
        band = _boxes(edges, [y(value) for value in low], [y(value) for value in high])
        yield element("path", class_="band", d=band, fill=LINE, fill_opacity=0.2)
    plain = _plain_places(bins) if isinstance(bins, NumericBins) else []
    joined = {after for before, after in pairwise(plain) if after == before + 1}
    if shape.edited:
        path = _path([y(value) for value in released], edges, joined)
        dashed = {"stroke": "currentColor", "stroke_opacity": 0.6, "stroke_dasharray": "3 3"}
        yield element("path", class_="released", d=path, fill="none", **dashed)
    path = _path([y(value) for value in scores], edges, joined)
    yield element("path", class_="line", d=path, fill="none", stroke=LINE, stroke_width=2)
    if n <= MOST_TITLES:
        for (a, b), label, score in zip(edges, shape.labels, scores, strict=False):
            title = element("title", f"{short(label, 80)}: {score:+.4g}")
            box = {"x": a, "y": TOP, "width": b - a, "height": floor - TOP}
            yield element("rect", title, **box, fill="none", pointer_events="all")
    yield from _captions(_marks(bins, width - LEFT - RIGHT, slot=slot), bins, LEFT, width, floor + 15)
    yield _name(short(bins.attribute, 60), LEFT + (width - LEFT - RIGHT) / 2, height - 4)


def _plain_places(bins: NumericBins) -> list[int]:
    """Return the intervals of a number that are not those of special codes."""
    return [place for place in range(bins.n_bins - 1) if place not in bins.coded]


def _range(bins: NumericBins) -> tuple[float, float]:
    """Return the ends of the axis: the bounds, a little beyond the cuts where there are none."""
    plain = set(_plain_places(bins))
    # Special codes stand apart, and so the points around them end no axis.
    cuts = [cut for at, cut in enumerate(bins.cuts) if {at, at + 1} <= plain]
    if not cuts:
        low, high = bins.bounds or ((0.0, 1.0) if not bins.cuts else (min(bins.cuts), max(bins.cuts)))
        return (low, high) if low < high else (low - max(abs(low), 1.0) / 2, high + max(abs(high), 1.0) / 2)
    first, last = cuts[0], cuts[-1]
    low, high = bins.bounds or (first, last)
    span = max(high, last) - min(low, first)
    margin = OPEN_END * span if span > 0 else max(abs(first), 1.0) / 2
    return low if low < first else first - margin, high if high > last else last + margin


def _spread(bins: Bins, length: float, *, slot: bool) -> list[tuple[float, float]]:
    """Return the ends of each bin that is drawn on an axis of a length: numbers to scale, groups equally wide."""
    # The last bin stands apart at the end, if it is drawn; before it those of special codes.
    if isinstance(bins, NumericBins):
        low, high = _range(bins)
        inner = _inner(bins, length, slot=slot)
        ends = [low, *(min(max(cut, low), high) for cut in bins.cuts), high]
        edges = [((a - low) / (high - low) * inner, (b - low) / (high - low) * inner) for a, b in pairwise(ends)]
        slots = _slots(bins, length, slot=slot)
        places = [*bins.coded, *([bins.n_bins - 1] if slot else [])]
        edges += [(0.0, 0.0)] * slot
        at = inner + GAP
        for place, wide in zip(places, slots, strict=True):
            edges[place], at = (at, at + wide), at + wide
        return edges
    n = bins.n_bins - 1
    last = (length - GAP) / (n + 1) if slot else 0.0
    inner = length - last - (GAP if slot else 0.0)
    edges = [(a / n * inner, b / n * inner) for a, b in pairwise(range(n + 1))]
    return [*edges, (length - last, length)] if slot else edges


def _slots(bins: NumericBins, length: float, *, slot: bool) -> list[float]:
    """Return the widths of what stands beside the numbers of an axis: special codes, and then missing values."""
    # As wide as their names, together at most half of the axis.
    wanted = [max(SLOT, len(short(text, 14)) * LETTER + 10) for text in bins.codes.values()] + [SLOT] * slot
    return [wide * min(1.0, length / 2 / sum(wanted)) for wide in wanted]


def _inner(bins: NumericBins, length: float, *, slot: bool) -> float:
    """Return how much of an axis the numbers get."""
    special = sum(_slots(bins, length, slot=slot))
    return length - special - GAP if special else length


def _marks(bins: Bins, length: float, *, slot: bool) -> list[tuple[float, str]]:
    """Return what stands at an axis and where: round numbers, or names of groups; then that of the last bin."""
    edges = _spread(bins, length, slot=slot)
    if isinstance(bins, NumericBins):
        low, high = _range(bins)
        inner = _inner(bins, length, slot=slot)
        ranged = bool(bins.cuts or bins.bounds)
        # Codes first: of marks without room for all, the first are shown.
        marks = [(sum(edges[at]) / 2, text) for at, text in zip(bins.coded, bins.codes.values(), strict=True)]
        marks += [((at - low) / (high - low) * inner, f"{at:,.6g}") for at in ticks(low, high, 7)] if ranged else []
    else:
        marks = [((a + b) / 2, label) for (a, b), label in zip(edges, bins.labels[:-1], strict=False)]
    if slot:
        other = isinstance(bins, CategoryBins) and bins.missing < len(bins.groups)
        marks.append((sum(edges[-1]) / 2, OTHER if other else MISSING))
    return marks


def _captions(marks: Sequence[tuple[float, str]], bins: Bins, left: float, width: float, y: float) -> Iterator[Markup]:
    """Yield as many marks below an axis as there is room for, those of codes first, and the last: perhaps of a gap."""
    placed: list[tuple[float, float, str]] = []
    n = len(bins.codes) if isinstance(bins, NumericBins) else 0
    for at, text in (*marks[:n], *marks[max(n, len(marks) - 1) :], *marks[n:-1]):
        caption = short(text, 14)
        half = len(caption) * LETTER / 2 + 2
        x = min(left + at, width - half)
        if all(x + half + 5 < end - wide or x - half - 5 > end + wide for end, wide, _ in placed):
            placed.append((x, half, caption))
    for x, _, caption in sorted(placed):
        yield _tick(caption, x, y, "middle")


def _density(weights: Array, edges: Sequence[tuple[float, float]], floor: float) -> str:
    """Return a strip of the records for a length of the axis, so that a wide bin is not tall for its width."""
    tall = (floor - TOP) * HISTOGRAM - 4
    wide = np.maximum([b - a for a, b in edges], 0.5)
    # Square roots: beside a value that many share, the other bins would not be seen.
    dense = np.sqrt(np.maximum(weights[: len(edges)], 0.0) / wide)
    tops = floor - dense / (float(dense.max()) or 1.0) * tall
    return _boxes(edges, [floor] * len(edges), tops.tolist())


def _boxes(edges: Sequence[tuple[float, float]], bottoms: Iterable[float], tops: Iterable[float]) -> str:
    """Return one box a bin as a path."""
    return "".join(
        f"M{a:.1f} {bottom:.1f}H{b:.1f}V{top:.1f}H{a:.1f}Z"
        for (a, b), bottom, top in zip(edges, bottoms, tops, strict=True)
    )


def _path(heights: list[float], edges: Sequence[tuple[float, float]], joined: Collection[int]) -> str:
    """Return the steps as a path, some joined to those before; groups, codes and missing values are not."""
    out = []
    for i, ((a, b), here) in enumerate(zip(edges, heights, strict=True)):
        start = f"V{here:.1f}" if i in joined else f"M{a:.1f} {here:.1f}"
        out.append(f"{start}H{b:.1f}")
    return "".join(out)


def _heat_map(shape: ShapeFunction, output: int, size: tuple[int, int], scale: tuple[float, float]) -> Iterator[Markup]:
    scores, (width, height) = shape.term.scores[..., output], size
    most = max(map(abs, scale)) or 1.0
    left, right, floor = 14 * LETTER, width - KEY, height - BOTTOM
    down, across = shape.term.bins
    slots = [last_bin_is_drawn(shape, axis) for axis in (0, 1)]
    columns = [(left + a, left + b) for a, b in _spread(across, right - left, slot=slots[1])]
    # Numbers grow upwards, groups stand in their order from the top.
    upwards = isinstance(down, NumericBins)

    def y(at: float) -> float:
        return floor - at if upwards else TOP + at

    rows = [tuple(sorted((y(a), y(b)))) for a, b in _spread(down, floor - TOP, slot=slots[0])]
    labels = down.labels, across.labels
    for (i, (top, base)), (j, (a, b)) in product(enumerate(rows), enumerate(columns)):
        score = float(scores[i, j])
        title = f"{short(labels[0][i], 60)} & {short(labels[1][j], 60)}: {score:+.4g}"
        yield element(
            "rect",
            *([element("title", title)] if len(rows) * len(columns) <= MOST_CELL_TITLES else []),
            class_="cell",
            x=a,
            y=top,
            width=b - a,
            height=base - top,
            fill=LINE if score > 0 else COLD,
            fill_opacity=f"{min(abs(score) / most, 1.0):.3f}",
        )
    free = -math.inf
    for place, text in sorted((y(at), text) for at, text in _marks(down, floor - TOP, slot=slots[0])):
        if place - free >= 12:
            yield _tick(short(text, 11), left - 5, place, "end", dy=4)
            free = place
    yield from _captions(_marks(across, right - left, slot=slots[1]), across, left, width, floor + 15)
    plane = {"x": left, "y": TOP, "width": right - left, "height": floor - TOP}
    yield element("rect", **plane, fill="none", stroke="currentColor", stroke_opacity=0.3)
    yield _name(short(across.attribute, 40), (left + right) / 2, height - 4)
    turned = f"translate(9 {(TOP + floor) / 2:.0f}) rotate(-90)"
    yield _name(short(down.attribute, int((floor - TOP) / LETTER)), 0.0, 0.0, transform=turned)
    yield from _key(right + 12, floor, most)


def _key(left: float, floor: float, most: float) -> Iterator[Markup]:
    """Yield the legend of a heat map: the colors of the scores from the largest, at the top, to its opposite."""
    each = (floor - TOP) / SHADES
    for i in range(SHADES):
        share = 1 - (2 * i + 1) / SHADES
        color = {"fill": LINE if share > 0 else COLD, "fill_opacity": f"{abs(share):.3f}"}
        yield element("rect", class_="key", x=left, y=TOP + i * each, width=10, height=each, **color)
    for at, value in ((TOP, most), ((TOP + floor) / 2, 0.0), (floor, -most)):
        yield _tick(f"{value:+.2g}" if value else "0", left + 14, at, "start", dy=4)
