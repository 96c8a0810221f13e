"""Drawings as SVG: elements that escape every attribute and text in one place, round numbers for axes, one frame.

All charts of the package are made of these. Coordinates are pixels of the view box, x to the right and y downwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

# Characters that neither HTML nor XML may hold, or that end a line unexpectedly.
CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
TINIEST = 1e-300
"""Values closer together are one: a span next to the smallest float cannot be divided."""


def plain(text: object) -> str:
    """Return a text escaped for HTML and SVG; characters that neither may hold become a replacement mark."""
    return escape(CONTROL.sub("\ufffd", str(text)))


def short(text: str, room: int) -> str:
    """Return a text of at most ``room`` characters."""
    return text if len(text) <= room else text[: max(room - 1, 1)] + "\u2026"


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """Return an element; children that are no markup, and every attribute, are escaped.

    In names of attributes ``_`` stands for ``-``, but ``class_`` is the class; None leaves an attribute out. Floats
    are rounded to a hundredth, as coordinates are pixels.

    Examples
    --------
    >>> element("text", "<b>", class_="tick mid", x=1.005, text_anchor=None)
    Markup('<text class="tick mid" x="1">&lt;b&gt;</text>')
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{plain(_number(value) if isinstance(value, float) else value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(child if isinstance(child, Markup) else plain(child) for child in children)
    # All that is not markup already was escaped above.
    return Markup(f"<{tag}{named}>{inside}</{tag}>" if inside else f"<{tag}{named}/>")  # noqa: S704


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.9g}"


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return at most ``most`` round numbers from ``low`` to ``high``, zero among them if it lies between.

    Steps are 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> ticks(-0.3, 1.0, 5)
    [0.0, 0.5, 1.0]
    """
    span = high - low
    if not TINIEST < span < math.inf:
        return [low] if math.isfinite(low) else []
    power = 10.0 ** math.floor(math.log10(span / most))
    for factor in (1, 2, 5, 10, 20, 50):
        # An end that is a round number but for rounding errors belongs to them.
        step = power * factor
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [float(f"{k * step:.12g}") for k in range(first, last + 1)]
    return [low, high]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """The plane of a chart."""

    # left, top, width, height: where it lies.
    left: float
    top: float
    width: float
    height: float
    # across, up: place of a value on each axis, as a share of its length from the origin at the lower left.
    across: Callable[[float], float]
    up: Callable[[float], float]

    @property
    def right(self) -> float:
        """Right end."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Lower end."""
        return self.top + self.height

    def x(self, value: float) -> float:
        """Return where a value lies from the left."""
        return self.left + self.across(value) * self.width

    def y(self, value: float) -> float:
        """Return where a value lies from the top."""
        return self.bottom - self.up(value) * self.height

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """Return straight lines from point to point, as data of a path."""
        return "M" + "L".join(f"{_number(self.x(x))} {_number(self.y(y))}" for x, y in points)

    def level(self, value: float, kind: str = "grid") -> Markup:
        """Return a line across at a value of the upright axis."""
        return element("line", class_=kind, x1=self.left, x2=self.right, y1=self.y(value), y2=self.y(value))

    def levels(self, values: Iterable[float], label: str = "{:,.6g}", factor: float = 1.0) -> Markup:
        """Return a line and a label at each value of the upright axis."""
        return Markup("").join(
            self.level(value)
            + element("text", label.format(value * factor), class_="tick end", x=self.left - 8, y=self.y(value), dy=4)
            for value in values
        )

    def marks(self, values: Iterable[float], label: str = "{:.6g}", factor: float = 1.0) -> Markup:
        """Return a label below each value of the axis to the right."""
        return Markup("").join(
            element("text", label.format(value * factor), class_="tick mid", x=self.x(value), y=self.bottom + 20)
            for value in values
        )

    def names(self, below: str, left: str) -> Markup:
        """Return the names of both axes."""
        # Far enough in for the larger letters of a phone.
        turned = f"translate(18 {_number(self.top + self.height / 2)}) rotate(-90)"
        return element("text", below, class_="tick mid", x=self.left + self.width / 2, y=self.bottom + 44) + element(
            "text", left, class_="tick mid", transform=turned
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What every chart of a page has: a size, and a title and a description that are read aloud in its place."""

    kind: str  # Classes that the style sheet colours it by
    ident: str  # A name for its title and description, unique on the page
    # width, height: size.
    width: float
    height: float
    # title, description: what it shows, and where the same stands as text.
    title: str
    description: str

    def draw(self, *pieces: Markup) -> Markup:
        """Return the chart."""
        title, description = f"{self.ident}-title", f"{self.ident}-desc"
        return element(
            "svg",
            element("title", self.title, id=title),
            element("desc", self.description, id=description),
            *pieces,
            class_=f"chart {self.kind}",
            style=f"max-width:{self.width:.0f}px" if "versus" in self.kind else None,
            viewBox=f"0 0 {self.width:.0f} {self.height:.0f}",
            role="img",
            aria_labelledby=f"{title} {description}",
        )
