"""A domain as a drawing: the range of each number with its cut points, the values of each category."""

from __future__ import annotations

from markupsafe import Markup

from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.grid import public_grid
from glassine.models.svg import Chart, element, short

WIDTH, NAMES, ROW, END = 760.0, 190.0, 30.0, 70.0
MOST = 60
"""Attributes that are drawn."""
UNSHOWN = "seen in the records: not shown"


def range_of(domain: Domain, name: str) -> str:
    """Return the values of an attribute in words; those that were seen in records are not shown."""
    attribute = domain[name]
    missing = " or missing" if attribute.missing else ""
    if attribute.inferred:
        return UNSHOWN
    if isinstance(attribute, Binary):
        return f"yes or no{missing}"
    if isinstance(attribute, Category):
        return f"{', '.join(str(value) for value in attribute.values)}{missing}"
    return f"{attribute.lo:,g} to {attribute.hi:,g}{missing}"


def draw_domain(domain: Domain) -> Markup:
    """Return the attributes one below the other; cut points are ticks, and lie to scale."""
    names = list(domain)[:MOST]
    pieces = []
    for place, name in enumerate(names):
        attribute, middle = domain[name], place * ROW + ROW / 2
        pieces.append(
            element("text", element("title", name), short(name, 26), class_="end", x=NAMES - 12, y=middle, dy=4)
        )
        if attribute.inferred or not isinstance(attribute, Integer | Real):
            text = short(range_of(domain, name), 78)
            pieces.append(element("text", text, class_="tick", x=NAMES, y=middle, dy=4))
            continue
        left, right = NAMES + END, WIDTH - END
        span = float(attribute.hi - attribute.lo) or 1.0
        pieces += [
            element("text", f"{attribute.lo:,g}", class_="tick end", x=left - 8, y=middle, dy=4),
            element("text", f"{attribute.hi:,g}", class_="tick", x=right + 8, y=middle, dy=4),
            element("line", class_="zero", x1=left, x2=right, y1=middle, y2=middle),
        ]
        ticks = "".join(
            f"M{left + (cut - attribute.lo) / span * (right - left):.1f} {middle - 6:.1f}v12"
            for cut in public_grid(attribute)
        )
        pieces.append(element("path", class_="cuts", d=ticks) if ticks else Markup(""))
    more = len(domain) - len(names)
    undrawn = f"; {more} are not drawn" if more else ""
    return Chart(
        kind="domain",
        ident="domain",
        width=WIDTH,
        height=max(len(names), 1) * ROW,
        title="What is public of each attribute",
        description=f"{len(domain)} attributes{undrawn}; ticks are public cut points.",
    ).draw(*pieces)
