"""Disclosure against accuracy, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from glassine.report.axes import ticks

__all__ = ["Mark", "draw_trade_off"]

LEFT, TOP, WIDE, HIGH = 66, 16, 460, 290
WIDTH, MARGIN = 8, 36
"""Width of a letter at most, and what is free to the right of the axes."""

NEAR = 14
"""Points that are closer share a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A numbered way to publish, its accuracy and its D_overall."""

    number: int
    accuracy: float
    d_overall: float


def draw_trade_off(marks: Sequence[Mark], *, held_out: bool = False) -> Markup:
    """Return numbered points, accuracy to the right and D_overall upwards; empty without points.

    Up is less disclosed, right is more accurate. Points that lie together share a label. The axis says whether the
    accuracy is that on held-out records.
    """
    if not marks:
        return Markup("")
    bottom = TOP + HIGH
    low, high = _range([mark.accuracy for mark in marks])
    top = max(mark.d_overall for mark in marks) * 1.08 or 1.0

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * WIDE

    def y(value: float) -> float:
        return bottom - value / top * HIGH

    pieces = []
    for distance in ticks(0.0, top):
        pieces += [
            Markup('<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>').format(
                LEFT, LEFT + WIDE, y(distance)
            ),
            Markup('<text class="tick end" x="{0}" y="{1:.1f}" dy="4">{2}</text>').format(
                LEFT - 8, y(distance), f"{distance:g}"
            ),
        ]
    for accuracy in ticks(low, high):
        pieces.append(
            Markup('<text class="tick mid" x="{0:.1f}" y="{1}">{2}</text>').format(
                x(accuracy), bottom + 24, f"{100 * accuracy:.6g}%"
            )
        )
    placed: list[tuple[float, float, list[int]]] = []
    for mark in marks:
        across, down = x(mark.accuracy), y(mark.d_overall)
        pieces.append(Markup('<circle class="spot" cx="{0:.1f}" cy="{1:.1f}" r="5"/>').format(across, down))
        near = [numbers for u, v, numbers in placed if abs(u - across) < NEAR and abs(v - down) < NEAR]
        if near:
            near[0].append(mark.number)
        else:
            placed.append((across, down, [mark.number]))
    for across, down, numbers in placed:
        told = ", ".join(map(str, numbers))
        # A label that would leave the drawing stands on the other side of its point.
        left = across + 9 + WIDTH * len(told) > LEFT + WIDE + MARGIN
        pieces.append(
            Markup('<text class="name" x="{0:.1f}" y="{1:.1f}" text-anchor="{2}">{3}</text>').format(
                across - 9 if left else across + 9, down - 6, "end" if left else "start", told
            )
        )
    pieces.append(
        Markup('<text class="tick mid" x="{0}" y="{1}">accuracy on {2}</text>').format(
            LEFT + WIDE / 2, bottom + 44, "held-out records" if held_out else "the training records"
        )
    )
    pieces.append(
        Markup('<text class="tick mid" transform="translate(14 {0}) rotate(-90)">D_overall, nats</text>').format(
            TOP + HIGH / 2
        )
    )
    head = Markup(
        '<svg class="chart roc trade" viewBox="0 0 {0} {1}" role="img" aria-labelledby="trade-title trade-desc">'
        '<title id="trade-title">Disclosure against accuracy</title><desc id="trade-desc">{2}</desc>'
    ).format(
        LEFT + WIDE + 40,
        bottom + 54,
        f"{len(marks)} ways to publish the tree as numbered points. The table above has the figures.",
    )
    return head + Markup("").join(pieces) + Markup("</svg>")


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return an interval around some shares, at least a hundredth wide."""
    low, high = min(values), max(values)
    room = max(0.05 * (high - low), 0.005)
    return max(0.0, low - room), min(1.0, high + room)
