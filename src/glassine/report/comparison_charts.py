"""The charts of a comparison, as inline SVG: a measure against epsilon, and against what leaks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from markupsafe import Markup

from glassine.report import wording
from glassine.report.axes import round_steps, ticks

__all__ = ["Line", "Mark", "Point", "Reference", "draw_budget", "draw_frontier"]

Scale: TypeAlias = Callable[[float], float]
Box: TypeAlias = tuple[float, float, float, float]

LEFT, TOP, WIDE, HIGH = 62, 18, 620, 340
"""Ticks of an axis, about."""

NAMES = 190
"""Room to the right of the axes for names."""

APART = 15
"""Least distance of two names."""

LETTER = 8
"""Width of a letter at most."""

GAP = 5
"""Least distance of two numbers side by side."""

REACH = (15.0, 24.0, 34.0, 46.0, 60.0, 76.0, 96.0, 120.0)
"""Distances from a point at which its number may stand, the nearest first."""

TURNS = tuple(math.pi * eighths / 4 for eighths in (1, 7, 3, 5, 0, 4, 2, 6))
"""Directions in which it may stand, at each distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A mean at an epsilon, with its standard error if it has one."""

    epsilon: float
    value: float
    error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A private learner over the epsilons; ``style`` is its number among the colours."""

    name: str
    style: int
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A level that does not depend on epsilon."""

    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A numbered model: what leaks, and what it achieves."""

    number: int
    leak: float
    value: float
    private: bool
    chosen: bool = False


def draw_budget(lines: Sequence[Line], references: Sequence[Reference], *, title: str, ident: str) -> Markup:
    """Return a measure against epsilon on a logarithmic axis, one line a learner; empty without points."""
    points = [point for line in lines for point in line.points]
    if not points:
        return Markup("")
    low, high = _range(
        [point.value + sign * (point.error or 0.0) for point in points for sign in (-1, 1)]
        + [reference.value for reference in references]
    )
    epsilons = sorted({point.epsilon for point in points})
    first, last = math.log(epsilons[0]), math.log(epsilons[-1])

    def x(epsilon: float) -> float:
        return LEFT + WIDE * ((math.log(epsilon) - first) / (last - first) * 0.9 + 0.05 if last > first else 0.5)

    def y(value: float) -> float:
        return TOP + HIGH - (value - low) / (high - low) * HIGH

    pieces = _levels(low, high, y)
    for at in _spread(epsilons, x):
        pieces.append(
            Markup('<text class="tick mid" x="{0:.1f}" y="{1}">{2:g}</text>').format(x(at), TOP + HIGH + 20, at)
        )
    names: list[tuple[float, str, str]] = []
    for reference in references:
        pieces.append(
            Markup('<line class="guess" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>').format(
                LEFT, LEFT + WIDE, y(reference.value)
            )
        )
        names.append((y(reference.value), reference.name, "tick"))
    for line in lines:
        if line.points:
            pieces.append(_line(line, x, y))
            names.append((y(line.points[-1].value), line.name, f"name k{line.style}"))
    pieces += _names(names)
    pieces.append(_below("epsilon"))
    pieces.append(_beside(title))
    told = f"{title} against epsilon for {wording.plural(len(lines), 'private learner')}. The table has the figures."
    return _framed(pieces, f"{title} against epsilon", told, ident, NAMES)


def draw_frontier(marks: Sequence[Mark], *, title: str, leak: str, nothing: float, ident: str) -> Markup:
    """Return a measure against what leaks, one numbered point a model, and the line that no model is above.

    Left is less leaked, up is better; of the points on the line no other is better in both. The axis of what leaks
    begins at ``nothing`` and is stretched there, as a square root is, where it is not 0. Empty without points.
    """
    if not marks:
        return Markup("")
    low, high = _range([mark.value for mark in marks])
    most = max(mark.leak for mark in marks)
    most += max(0.05 * (most - nothing), 1e-3)

    def x(value: float) -> float:
        share = max(value - nothing, 0.0) / (most - nothing)
        return LEFT + (math.sqrt(share) if nothing else share) * WIDE

    def y(value: float) -> float:
        return TOP + HIGH - (value - low) / (high - low) * HIGH

    pieces = _levels(low, high, y)
    last = -math.inf
    for at in _stretched(nothing, most) if nothing else ticks(nothing, most):
        if x(at) - last >= 44:
            last = x(at)
            pieces.append(
                Markup('<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>').format(
                    x(at), TOP + HIGH, TOP + HIGH + 5
                )
                + Markup('<text class="tick mid" x="{0:.1f}" y="{1}">{2:.6g}</text>').format(x(at), TOP + HIGH + 20, at)
            )
    corners = _frontier(marks)
    steps = [f"M{x(corners[0].leak):.1f} {y(corners[0].value):.1f}"]
    steps += [f"H{x(mark.leak):.1f}V{y(mark.value):.1f}" for mark in corners[1:]]
    pieces.append(Markup('<path class="frontier" d="{0}H{1}"/>').format("".join(steps), LEFT + WIDE))
    pieces += [_spot(mark, x(mark.leak), y(mark.value)) for mark in marks]
    pieces += _numbers(marks, x, y, _stairs(corners, x, y))
    pieces += [_below(f"{leak}, square-root scale" if nothing else leak), _beside(title)]
    told = (
        f"{wording.plural(len(marks), 'model')} as numbered points. On the line, from the left: "
        f"{', '.join(str(mark.number) for mark in corners)}. The table has the figures."
    )
    return _framed(pieces, f"{title} against {leak}", told, ident, 40)


def _frontier(marks: Sequence[Mark]) -> list[Mark]:
    """Return the models that none with as little leaked exceeds, from the least leaked on."""
    out: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.leak, -mark.value, mark.number)):
        if not out or mark.value > out[-1].value:
            out.append(mark)
    return out


def _spot(mark: Mark, across: float, down: float) -> Markup:
    ring = Markup('<circle class="chosen" cx="{0:.1f}" cy="{1:.1f}" r="10"/>').format(across, down)
    shape = (
        Markup('<circle class="spot" cx="{0:.1f}" cy="{1:.1f}" r="5"/>').format(across, down)
        if mark.private
        else Markup('<rect class="open" x="{0:.1f}" y="{1:.1f}" width="9" height="9"/>').format(
            across - 4.5, down - 4.5
        )
    )
    return (ring if mark.chosen else Markup("")) + shape


def _stairs(corners: Sequence[Mark], x: Scale, y: Scale) -> list[Box]:
    """Return thin boxes around the steps of the frontier, for what must not be struck through."""
    ends = [x(mark.leak) for mark in corners[1:]] + [LEFT + WIDE]
    flat = [(x(mark.leak), y(mark.value) - 1, end, y(mark.value) + 1) for mark, end in zip(corners, ends, strict=True)]
    steep = [(x(right.leak) - 1, y(right.value), x(right.leak) + 1, y(left.value)) for left, right in pairwise(corners)]
    return [*flat, *steep]


def _numbers(marks: Sequence[Mark], x: Scale, y: Scale, stairs: Sequence[Box]) -> list[Markup]:
    """Return the numbers, each as near to its point as others leave room, with a line where it is not beside it.

    None covers a point, another number or the steps of the frontier, or is so near to a number that both read as one.
    """
    taken = [(x(mark.leak) - 6, y(mark.value) - 6, x(mark.leak) + 6, y(mark.value) + 6) for mark in marks]
    taken += stairs
    out = []
    for mark in marks:
        across, down = x(mark.leak), y(mark.value)
        wide = LETTER * len(str(mark.number))
        u, v, far = _place(across, down, wide, taken)
        taken.append((u - wide / 2 - GAP, v - 7, u + wide / 2 + GAP, v + 7))
        if far > REACH[0]:
            out.append(Markup('<path class="lead" d="M{0:.1f} {1:.1f}L{2:.1f} {3:.1f}"/>').format(across, down, u, v))
        out.append(Markup('<text class="name mid" x="{0:.1f}" y="{1:.1f}" dy="4">{2}</text>').format(u, v, mark.number))
    return out


def _place(across: float, down: float, wide: float, taken: Sequence[Box]) -> tuple[float, float, float]:
    """Return the middle of a free place for a number of a width around a point, and how far off it is."""
    for far in REACH:
        for angle in TURNS:
            u = across + (far + wide / 2 - LETTER / 2) * math.cos(angle)
            v = down - far * math.sin(angle)
            box = (u - wide / 2, v - 7, u + wide / 2, v + 7)
            inside = box[0] > LEFT - 4 and box[2] < LEFT + WIDE + 34 and box[1] > 0 and box[3] < TOP + HIGH
            if inside and not any(_meet(box, other) for other in taken):
                return u, v, far
    return across + REACH[0], down - REACH[0], REACH[0]


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _line(line: Line, x: Scale, y: Scale) -> Markup:
    out = Markup("")
    for point in line.points:
        if point.error:
            out += Markup('<line class="bar" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
                x(point.epsilon), y(point.value - point.error), y(point.value + point.error)
            )
        out += Markup('<circle cx="{0:.1f}" cy="{1:.1f}" r="4"/>').format(x(point.epsilon), y(point.value))
    path = "L".join(f"{x(point.epsilon):.1f} {y(point.value):.1f}" for point in line.points)
    return Markup('<g class="series k{0}"><path d="M{1}"/>{2}</g>').format(line.style, path, out)


def _names(names: Sequence[tuple[float, str, str]]) -> list[Markup]:
    """Return the names at the right of the axes, moved down until none covers another, then up into the drawing."""
    ordered = sorted(names)
    places: list[float] = []
    for at, _, _ in ordered:
        places.append(max(at, places[-1] + APART if places else TOP))
    limit = float(TOP + HIGH)
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - APART
    return [
        Markup(
            '<path class="lead" d="M{0} {1:.1f}L{2} {3:.1f}"/><text class="{4}" x="{5}" y="{3:.1f}" dy="4">{6}</text>'
        ).format(LEFT + WIDE, at, LEFT + WIDE + 12, place, style, LEFT + WIDE + 16, wording.shorten(name, 27))
        for (at, name, style), place in zip(ordered, places, strict=True)
    ]


def _levels(low: float, high: float, y: Scale) -> list[Markup]:
    out = []
    for at in ticks(low, high):
        out += [
            Markup('<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>').format(LEFT, LEFT + WIDE, y(at)),
            Markup('<text class="tick end" x="{0}" y="{1:.1f}" dy="4">{2:.6g}</text>').format(LEFT - 8, y(at), at),
        ]
    return out


def _stretched(low: float, high: float) -> list[float]:
    """Return round numbers between two ends, denser near the lower one, for a stretched axis."""
    wide = high - low
    return sorted({low} | {round(low + part, 6) for k in range(-5, 1) for part in round_steps(10.0**k) if part <= wide})


def _spread(epsilons: Sequence[float], x: Scale) -> list[float]:
    """Return the epsilons whose labels do not cover one another."""
    out: list[float] = []
    for epsilon in epsilons:
        if not out or x(epsilon) - x(out[-1]) >= 44:
            out.append(epsilon)
    return out


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return an interval around some shares, at least a hundredth wide."""
    low, high = min(values), max(values)
    room = max(0.06 * (high - low), 0.005)
    return low - room, high + room


def _below(text: str) -> Markup:
    return Markup('<text class="tick mid" x="{0}" y="{1}">{2}</text>').format(LEFT + WIDE / 2, TOP + HIGH + 42, text)


def _beside(text: str) -> Markup:
    return Markup('<text class="tick mid" transform="translate(13 {0}) rotate(-90)">{1}</text>').format(
        TOP + HIGH / 2, text
    )


def _framed(pieces: Sequence[Markup], title: str, told: str, ident: str, right: int) -> Markup:
    head = Markup(
        '<svg class="chart versus" style="max-width:{0}px" viewBox="0 0 {0} {1}" role="img" '
        'aria-labelledby="{4}-title {4}-desc">'
        '<title id="{4}-title">{2}</title><desc id="{4}-desc">{3}</desc>'
    ).format(LEFT + WIDE + right, TOP + HIGH + 52, title, told, ident)
    return head + Markup("").join(pieces) + Markup("</svg>")
