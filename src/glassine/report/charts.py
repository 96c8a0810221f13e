"""The charts of a page: exposure curve, ROC curve, disclosure against accuracy, and those of a comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from markupsafe import Markup

from glassine.models.svg import Axes, Chart, element, ticks
from glassine.report import wording

Box: TypeAlias = tuple[float, float, float, float]

NAMES = 190
"""Room to the right of the axes for names."""

NARROW_NAMES, PHONE = 166, 330
"""The same where a page is as narrow as a phone, and the width of a chart there."""

APART = 15
"""Least distance of two names, and of two labels on top of each other."""

LETTER = 8
"""Width of a letter at most."""

GAP = 5
"""Least distance of two numbers side by side."""

NEAR = 14
"""Points of a trade-off that are closer share a label."""

NEXT = 44
"""Least distance of two labels below an axis."""

DEEPEST = 6
"""Most powers of ten on the axes of a ROC curve: rarer false positives need more records than there are."""

REACH = (15.0, 24.0, 34.0, 46.0, 60.0, 76.0, 96.0, 120.0)
"""Distances from a point at which its number may stand, the nearest first."""

NAMED = 4
"""Distances at which a name may stand: farther off, a number is easier to follow."""

NARROW = 7.2
"""Width of a letter of a name at most."""

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
    """A numbered point, such as a model or a remedy."""

    number: int  # Its number in the table
    # x, y: where it lies.
    x: float
    y: float
    # filled, chosen: whether it is private, and whether it is recommended.
    filled: bool = True
    chosen: bool = False
    name: str = ""  # What stands beside it where there is room; its number stands there otherwise
    style: int = 0  # Its number among the colors; 0 for none


def draw_bar(mean: float, largest: float | None = None) -> Markup:
    """Return a bar of a table: a mean, and the largest value as a thin one behind it, as shares of the longest."""
    bar = [element("rect", class_="track", y=6, width=200, height=2)]
    if largest is not None:
        bar.append(element("rect", class_="reach", y=5, width=f"{largest * 200:.0f}", height=4))
    bar.append(element("rect", class_="mean", y=1, width=f"{mean * 200:.0f}", height=12))
    return element("svg", *bar, viewBox="0 0 200 14", preserveAspectRatio="none", aria_hidden="true", focusable="false")


def draw_key(mark: Mark) -> Markup:
    """Return how a kind of points is drawn, for a legend."""
    axes = Axes(left=12, top=12, width=0, height=0, across=lambda value: 0.0, up=lambda value: 0.0)
    return element("svg", _spot(mark, axes), class_="versus-key", width=24, height=24, aria_hidden="true")


def draw_level_key() -> Markup:
    """Return how a level is drawn, for a legend."""
    line = element("line", class_="level", x1=2, x2=22, y1=12, y2=12)
    return element("svg", line, class_="versus-key", width=24, height=24, aria_hidden="true")


def draw_curve(points: Sequence[tuple[float, float]], *, top: float, limit: float | None) -> Markup:
    """Return the exposure curve as a step chart; empty without points."""
    if not points:
        return Markup("")
    axes = Axes(
        left=56, top=14, width=590, height=220, across=lambda share: share, up=lambda bits: min(bits / top, 1.0)
    )
    ends = [0.0, *(share for share, _ in points)]
    corners = [(0.0, 0.0)]
    for (start, end), (_, bits) in zip(pairwise(ends), points, strict=True):
        corners += [(start, bits), (end, bits)]
    pieces = [
        element("path", class_="area", d=f"{axes.path([*corners, (ends[-1], 0.0)])}Z"),
        axes.levels(ticks(0.0, top)),
        axes.marks((0.0, 0.25, 0.5, 0.75, 1.0), "{:.0f}%", 100),
        element("path", class_="line", d=axes.path(corners)),
    ]
    if limit is not None:
        pieces.append(axes.level(limit, "limit"))
        pieces.append(
            element(
                "text",
                f"limit: {limit:g} bits",
                class_="tick end strong",
                x=axes.right - 4,
                y=axes.y(limit),
                dy=15 if limit > top * 0.9 else -6,
            )
        )
    pieces.append(axes.names("share of the records, the most exposed first", "bits learned"))
    return Chart(
        kind="curve",
        ident="curve",
        width=676,
        height=296,
        title="Exposure curve",
        description=f"Bits learned about a record, from {wording.bits(points[0][1])} at the left, where the most "
        f"exposed stand, to {wording.bits(points[-1][1])} at the right. The table below has the figures.",
    ).draw(*pieces)


def draw_roc(points: Sequence[tuple[float, float]], name: str) -> Markup:
    """Return a ROC curve on logarithmic axes, with the line of guessing; empty without points."""
    # Small false positive rates are what matters: an attacker who is seldom wrong names people.
    drawn = [(x, y) for x, y in points if 0 < x <= 1 and 0 < y <= 1]
    if not drawn:
        return Markup("")
    # The smallest rate of either axis decides, so that both have one scale and guessing is the diagonal.
    decades = min(max(1, math.ceil(-math.log10(min(min(x, y) for x, y in drawn)) - 1e-9)), DEEPEST)

    def along(rate: float) -> float:
        return min(max(1 + math.log10(rate) / decades, 0.0), 1.0)

    axes = Axes(left=62, top=14, width=300, height=300, across=along, up=along)
    powers = [10.0**-power for power in range(decades + 1)]
    pieces = [
        axes.levels(powers, "{:g}%", 100),
        axes.marks(powers, "{:g}%", 100),
        *(element("line", class_="grid", x1=axes.x(p), x2=axes.x(p), y1=axes.top, y2=axes.bottom) for p in powers),
        element("line", class_="guess", x1=axes.left, y1=axes.bottom, x2=axes.right, y2=axes.top),
        element("path", class_="line", d=axes.path(drawn)),
        axes.names("false positive rate", "true positive rate"),
    ]
    first = drawn[0]
    return Chart(
        kind="roc",
        ident="roc",
        width=386,
        height=368,
        title="True positive rate against false positive rate",
        description=f"ROC curve of the {name} on logarithmic axes, from {100 * first[1]:.3g}% of members flagged at "
        f"{100 * first[0]:.3g}% of non-members flagged. The dashed line is guessing. The table above has the figures.",
    ).draw(*pieces)


def draw_trade_off(marks: Sequence[Mark], *, held_out: bool = False) -> Markup:
    """Return numbered points, accuracy to the right and D_overall upwards; empty without points."""
    # Up is less disclosed, right is more accurate. Points that lie together share a label. The axis says whether the
    # accuracy is that on held-out records.
    if not marks:
        return Markup("")
    low, high = _range([mark.x for mark in marks], 0.05)
    low, high = max(0.0, low), min(1.0, high)
    top = max(mark.y for mark in marks) * 1.08 or 1.0
    axes = Axes(
        left=66,
        top=16,
        width=460,
        height=290,
        across=lambda value: (value - low) / (high - low),
        up=lambda value: value / top,
    )
    return Chart(
        kind="trade",
        ident="trade",
        width=566,
        height=360,
        title="Disclosure against accuracy",
        description=f"{len(marks)} ways to publish the tree as numbered points. The table above has the figures.",
    ).draw(
        axes.levels(ticks(0.0, top)),
        axes.marks(ticks(low, high), "{:.6g}%", 100),
        *(_spot(mark, axes) for mark in marks),
        *_numbers(marks, axes, near=NEAR),
        axes.names(f"accuracy on {'held-out records' if held_out else 'the training records'}", "D_overall, bits"),
    )


def draw_budget(
    lines: Sequence[Line], references: Sequence[Reference], *, title: str, ident: str, narrow: bool = False
) -> Markup:
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

    def across(epsilon: float) -> float:
        # A twentieth of room at both ends keeps the first and last points off the axes.
        return (math.log(epsilon) - first) / (last - first) * 0.9 + 0.05 if last > first else 0.5

    room = NARROW_NAMES if narrow else NAMES
    axes = _compared(across, low, high, room if narrow else None)
    names = [(axes.y(reference.value), reference.name, "tick") for reference in references]
    names += [(axes.y(line.points[-1].value), line.name, f"name k{line.style}") for line in lines if line.points]
    return _framed(
        axes,
        f"{title} against epsilon",
        f"{title} against epsilon for {wording.plural(len(lines), 'private learner')}. The table has the figures.",
        f"{ident}-phone" if narrow else ident,
        room,
        axes.levels(ticks(low, high)),
        axes.marks(_spread(epsilons, axes), "{:g}"),
        *(axes.level(reference.value, "guess") for reference in references),
        *(_series(line, axes) for line in lines if line.points),
        *_names(names, axes),
        axes.names("epsilon", title),
    )


def draw_frontier(
    marks: Sequence[Mark],
    *,
    title: str,
    leak: str,
    nothing: float,
    ident: str,
    unknown: Reference | None = None,
    narrow: bool = False,
) -> Markup:
    """Return a measure against what leaks, one numbered point a model, and the line that no model is above.

    A model of which it is ``unknown`` what leaks is a level: how well it predicts.
    """
    # Left is less leaked, up is better; of the points on the line no other is better in both. The axis of what leaks
    # begins at nothing and is stretched there, as a square root is, where it is not 0. Empty without points.
    if not marks:
        return Markup("")
    low, high = _range([*(mark.y for mark in marks), *([unknown.value] if unknown else [])])
    most = max(mark.x for mark in marks)
    most += max(0.05 * (most - nothing), 1e-3)

    def across(value: float) -> float:
        share = max(value - nothing, 0.0) / (most - nothing)
        return math.sqrt(share) if nothing else share

    room = 34 if narrow else NAMES
    axes = _compared(across, low, high, room if narrow else None)
    if narrow:
        # Names have no room; their numbers stand in the table.
        marks = [replace(mark, name="") for mark in marks]
    places = _spread(_stretched(nothing, most) if nothing else ticks(nothing, most), axes)
    corners = _frontier(marks)
    level = [] if unknown is None else [(axes.y(unknown.value), unknown.name, "name")]
    taken = [(axes.left, at - 2, axes.right + room, at + 2) for at, _, _ in level]
    steps = [f"M{axes.x(corners[0].x):.1f} {axes.y(corners[0].y):.1f}"]
    steps += [f"H{axes.x(mark.x):.1f}V{axes.y(mark.y):.1f}" for mark in corners[1:]]
    return _framed(
        axes,
        f"{title} against {leak}",
        f"{wording.plural(len(marks), 'model')} as numbered points. On the line, from the left: "
        f"{', '.join(str(mark.number) for mark in corners)}. The table has the figures.",
        f"{ident}-phone" if narrow else ident,
        room,
        axes.levels(ticks(low, high)),
        axes.marks(places),
        *(
            element("line", class_="grid", x1=axes.x(at), x2=axes.x(at), y1=axes.bottom, y2=axes.bottom + 5)
            for at in places
        ),
        element("path", class_="frontier", d=f"{''.join(steps)}H{axes.right:.1f}"),
        *(axes.level(unknown.value, "level") for unknown in (unknown,) if unknown is not None),
        *_names(level, axes),
        *(_spot(mark, axes) for mark in marks),
        *_numbers(marks, axes, [*_stairs(corners, axes), *taken]),
        axes.names(f"{leak}, square-root scale" if nothing else leak, title),
    )


def _compared(across: Callable[[float], float], low: float, high: float, room: float | None) -> Axes:
    """Return the axes of a chart of a comparison; on a phone, with so much room at the right."""
    left, width, height = (80, 710, 340) if room is None else (56, PHONE - 56 - room, 280)
    return Axes(
        left=left, top=18, width=width, height=height, across=across, up=lambda value: (value - low) / (high - low)
    )


def _framed(axes: Axes, title: str, description: str, ident: str, room: float, *pieces: Markup) -> Markup:
    """Return a chart of a comparison, with room for names at the right."""
    size = {"width": axes.right + room, "height": axes.bottom + 52}
    return Chart(kind="versus", ident=ident, title=title, description=description, **size).draw(*pieces)


def _frontier(marks: Sequence[Mark]) -> list[Mark]:
    """Return the models that none with as little leaked exceeds, from the least leaked on."""
    out: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.x, -mark.y, mark.number)):
        if not out or mark.y > out[-1].y:
            out.append(mark)
    return out


def _spot(mark: Mark, axes: Axes) -> Markup:
    x, y = axes.x(mark.x), axes.y(mark.y)
    ring = element("circle", class_="chosen", cx=x, cy=y, r=10) if mark.chosen else Markup("")
    if mark.filled:
        return ring + element("circle", class_=_colored("spot", mark.style), cx=x, cy=y, r=5)
    return ring + element("rect", class_="open", x=x - 4.5, y=y - 4.5, width=9, height=9)


def _colored(kind: str, style: int) -> str:
    return f"{kind} k{style}" if style else kind


def _stairs(corners: Sequence[Mark], axes: Axes) -> list[Box]:
    """Return thin boxes around the steps of the frontier, for what must not be struck through."""
    places = [(axes.x(mark.x), axes.y(mark.y)) for mark in corners]
    ends = [x for x, _ in places[1:]] + [axes.right]
    flat = [(x, y - 1, end, y + 1) for (x, y), end in zip(places, ends, strict=True)]
    steep = [(right[0] - 1, right[1], right[0] + 1, left[1]) for left, right in pairwise(places)]
    return [*flat, *steep]


def _numbers(marks: Sequence[Mark], axes: Axes, taken: Sequence[Box] = (), near: float = 0.0) -> list[Markup]:
    """Return the numbers, each as near to its point as others leave room, with a line where it is not beside it."""
    # None covers a point, another number or what is taken, or is so near to a number that both read as one. Points that
    # are nearer than near share a label.
    places = [(axes.x(mark.x), axes.y(mark.y)) for mark in marks]
    # Points are drawn 5 wide to each side; one more keeps numbers from touching them.
    full = [*((x - 6, y - 6, x + 6, y + 6) for x, y in places), *taken]
    shared: list[tuple[float, float, list[Mark]]] = []
    for mark, (x, y) in zip(marks, places, strict=True):
        overlapping = [others for u, v, others in shared if abs(u - x) < near and abs(v - y) < near]
        if overlapping:
            overlapping[0].append(mark)
        else:
            shared.append((x, y, [mark]))
    out = []
    for x, y, together in shared:
        numbers = ", ".join(str(mark.number) for mark in together)
        name = together[0].name if len(together) == 1 else ""
        text, wide = name, NARROW * len(name)
        place = _place(x, y, wide, full, axes, REACH[:NAMED]) if name else None
        if place is None:
            text, wide = numbers, LETTER * len(numbers)
            place = _place(x, y, wide, full, axes, REACH) or (x + REACH[0], y - REACH[0], REACH[0])
        u, v, far = place
        full.append((u - wide / 2 - GAP, v - 7, u + wide / 2 + GAP, v + 7))
        if far > REACH[0]:
            out.append(element("path", class_="lead", d=f"M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}"))
        out.append(element("text", text, class_=_colored("name mid", together[0].style), x=u, y=v, dy=4))
    return out


def _place(
    x: float, y: float, wide: float, taken: Sequence[Box], axes: Axes, reach: Sequence[float]
) -> tuple[float, float, float] | None:
    """Return the middle of a free place for a text of a width around a point, and how far off it is; None if none."""
    for far in reach:
        for angle in TURNS:
            # A text begins or ends beside the point; above and below it, it stands in the middle.
            u = x + (far + wide / 2 - LETTER / 2) * math.cos(angle)
            v = y - far * math.sin(angle)
            box = (u - wide / 2, v - 7, u + wide / 2, v + 7)
            inside = (
                box[0] > axes.left - 4
                and box[2] < axes.right + (34 if len(reach) == len(REACH) else NAMES - 10)
                and box[1] > 0
                and box[3] < axes.bottom
            )
            if inside and not any(_meet(box, other) for other in taken):
                return u, v, far
    return None


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _series(line: Line, axes: Axes) -> Markup:
    marks = []
    for point in line.points:
        x = axes.x(point.epsilon)
        if point.error:
            ends = axes.y(point.value - point.error), axes.y(point.value + point.error)
            marks.append(element("line", class_="bar", x1=x, x2=x, y1=ends[0], y2=ends[1]))
        marks.append(element("circle", cx=x, cy=axes.y(point.value), r=4))
    path = element("path", d=axes.path((point.epsilon, point.value) for point in line.points))
    return element("g", path, *marks, class_=f"series k{line.style}")


def _names(names: Sequence[tuple[float, str, str]], axes: Axes) -> list[Markup]:
    """Return the names at the right of the axes, moved down until none covers another, then up into the drawing."""
    ordered = sorted(names)
    places: list[float] = []
    for at, _, _ in ordered:
        places.append(max(at, places[-1] + APART if places else axes.top))
    limit = axes.bottom
    # What was pushed beyond the bottom pushes the names above it back up.
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - APART
    right = axes.right
    return [
        element("path", class_="lead", d=f"M{right:.1f} {at:.1f}L{right + 12:.1f} {place:.1f}")
        + element("text", wording.shorten(name, 27), class_=style, x=right + 16, y=place, dy=4)
        for (at, name, style), place in zip(ordered, places, strict=True)
    ]


def _stretched(low: float, high: float) -> list[float]:
    """Return round numbers between two ends, denser near the lower one, for a stretched axis."""
    parts = {factor * 10.0**power for power in range(-5, 1) for factor in (1, 2, 5, 10)}
    return sorted({low} | {round(low + part, 6) for part in parts if part <= high - low})


def _spread(values: Sequence[float], axes: Axes) -> list[float]:
    """Return the values whose labels below the axes do not cover one another."""
    out: list[float] = []
    for value in values:
        if not out or axes.x(value) - axes.x(out[-1]) >= NEXT:
            out.append(value)
    return out


def _range(values: Sequence[float], room: float = 0.06) -> tuple[float, float]:
    """Return an interval around some shares, at least a hundredth wide."""
    low, high = min(values), max(values)
    # Shares that hardly differ are drawn as such: a narrower axis would blow up what is noise.
    room = max(room * (high - low), 0.005)
    return low - room, high + room
