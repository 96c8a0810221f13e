"""A forest plot: each coefficient of a regression with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from glassine.models.svg import Axes, Chart, element, short, ticks

ROW, NAMES, WIDTH, MOST = 22.0, 200.0, 640.0, 40
PHONE, PHONE_NAMES = 330.0, 116.0
"""Width of the plot where a page is as narrow as a phone, and its room for names."""
QUANTILE = 1.96
"""Half the width of an interval of 95 %, in standard errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """A drawn coefficient; ``error`` is None where it has no interval."""

    name: str
    value: float
    error: float | None


def draw_forest(rows: Sequence[Coefficient], title: str, *, narrow: bool = False, stems: bool = False) -> Markup:
    """Return the forest plot of the first coefficients, one row each, on one scale; on a phone, with shorter names.

    With ``stems``, a line reaches from 0 to each value: of what is added up, in place of intervals.
    """
    names, width = (PHONE_NAMES, PHONE) if narrow else (NAMES, WIDTH)
    drawn = [row for row in rows[:MOST] if abs(row.value) < 1e12]
    reach = [(row.error or 0.0) * QUANTILE for row in drawn]
    ends = [row.value - half for row, half in zip(drawn, reach, strict=True)]
    ends += [row.value + half for row, half in zip(drawn, reach, strict=True)]
    # An interval far wider than the coefficients would hide them all: it is cut, with an arrow's mark.
    widest = 5 * max((abs(row.value) for row in drawn), default=1.0) or 1.0
    low, high = max(min([0.0, *ends]), -widest), min(max([0.0, *ends]), widest)
    span = (high - low) or 1.0
    height = ROW * len(drawn)
    axes = Axes(
        left=names,
        top=10.0,
        width=width - names - 20,
        height=height,
        across=lambda value: (min(max(value, low), high) - low) / span,
        up=lambda place: 1 - (place + 0.5) / max(len(drawn), 1),
    )
    pieces = [
        element("line", class_="grid", x1=axes.x(0.0), x2=axes.x(0.0), y1=axes.top, y2=axes.bottom),
        axes.marks(ticks(low, high, 3 if narrow else 6)),
    ]
    for place, (row, half) in enumerate(zip(drawn, reach, strict=True)):
        y = axes.y(place)
        pieces.append(
            element("text", short(row.name, 15 if narrow else 30), class_="tick end", x=axes.left - 8, y=y, dy=4)
        )
        if stems or row.error is not None:
            ends_of = (
                (axes.x(0.0), axes.x(row.value)) if stems else (axes.x(row.value - half), axes.x(row.value + half))
            )
            pieces.append(
                element("line", stroke="currentColor", stroke_width=1.5, x1=ends_of[0], x2=ends_of[1], y1=y, y2=y)
            )
        pieces.append(element("circle", fill="currentColor", cx=axes.x(row.value), cy=y, r=3.5))
    return Chart(
        kind="forest",
        ident="forest-plot-phone" if narrow else "forest-plot",
        width=width,
        height=height + 50,
        title=title,
        description="The table below has the same figures.",
    ).draw(*pieces)
