"""Intervals as bars below their names, one below the other, on one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from glassine.models.svg import Axes, Chart, element, ticks
from glassine.report import wording

__all__ = ["Interval", "draw_intervals", "outward"]

WIDTH, SIDE = 640.0, 84.0
"""Width of the chart, and room beside the axis for the number at an end of a bar, in letters of a phone."""

STEP, BAR = 60.0, 14.0
"""Height of a name with its bar, and of the bar."""

LETTERS = 40
"""Most letters of a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A named interval; ``strong`` where it stands out."""

    name: str
    low: float
    high: float
    strong: bool = False


def draw_intervals(intervals: Sequence[Interval], *, title: str, unit: str, ident: str) -> Markup:
    """Return intervals as bars with both ends in numbers, in percent of ``unit``, and a line at 0; empty without any.

    Parameters
    ----------
    intervals : sequence of Interval
        From top to bottom.
    title, unit : str
        Title of the chart, and name of its axis.
    ident : str
        A name that is unique on the page.
    """
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
        *(element("line", class_="grid", x1=axes.x(at), x2=axes.x(at), y1=axes.top, y2=axes.bottom) for at in places),
        element("line", class_="zero", x1=axes.x(0.0), x2=axes.x(0.0), y1=axes.top, y2=axes.bottom),
        axes.marks(places, "{:.6g}%", 100),
        element("text", unit, class_="tick mid", x=WIDTH / 2, y=axes.bottom + 44),
    ]
    for row, one in enumerate(intervals):
        left, right, middle = axes.x(one.low), axes.x(one.high), axes.y(row) + STEP - 16
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
