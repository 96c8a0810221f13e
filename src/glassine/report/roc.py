"""The ROC curve of a membership attack on logarithmic axes, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

__all__ = ["draw_roc"]

LEFT, TOP, SIDE = 62, 14, 300
DEEPEST = 6


def draw_roc(points: Sequence[tuple[float, float]], name: str) -> Markup:
    """Return a ROC curve on logarithmic axes, with the line of guessing; empty without points.

    Small false positive rates are what matters: an attacker who is seldom wrong names people.

    Parameters
    ----------
    points : sequence of (float, float)
        False and true positive rates, both above 0, false positive rates increasing.
    name : str
        The attack.
    """
    shown = [(x, y) for x, y in points if 0 < x <= 1 and 0 < y <= 1]
    if not shown:
        return Markup("")
    decades = min(max(1, math.ceil(-math.log10(min(min(x, y) for x, y in shown)) - 1e-9)), DEEPEST)
    bottom, right = TOP + SIDE, LEFT + SIDE

    def along(rate: float) -> float:
        return min(max(1 + math.log10(rate) / decades, 0.0), 1.0) * SIDE

    def x(rate: float) -> str:
        return f"{LEFT + along(rate):.1f}"

    def y(rate: float) -> str:
        return f"{bottom - along(rate):.1f}"

    pieces = []
    for power in range(decades + 1):
        rate = 10.0**-power
        label = f"{100 * rate:g}%"
        pieces += [
            Markup('<line class="grid" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>').format(LEFT, right, y(rate)),
            Markup('<line class="grid" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(x(rate), TOP, bottom),
            Markup('<text class="tick end" x="{0}" y="{1}" dy="4">{2}</text>').format(LEFT - 8, y(rate), label),
            Markup('<text class="tick mid" x="{0}" y="{1}">{2}</text>').format(x(rate), bottom + 20, label),
        ]
    pieces.append(Markup('<line class="guess" x1="{0}" y1="{1}" x2="{2}" y2="{3}"/>').format(LEFT, bottom, right, TOP))
    corners = Markup("L").join(Markup("{0} {1}").format(x(fpr), y(tpr)) for fpr, tpr in shown)
    pieces.append(Markup('<path class="line" d="M{0}"/>').format(corners))
    pieces.append(
        Markup('<text class="tick mid" x="{0}" y="{1}">share of other people accused</text>').format(
            LEFT + SIDE / 2, bottom + 44
        )
    )
    pieces.append(
        Markup('<text class="tick mid" transform="translate(14 {0}) rotate(-90)">share of members found</text>').format(
            TOP + SIDE / 2
        )
    )
    first = shown[0]
    described = (
        f"ROC curve of the {name} on logarithmic axes, from {100 * first[1]:.3g}% of the members found at "
        f"{100 * first[0]:.3g}% of others accused. The dashed line is guessing. The table above has the figures."
    )
    head = Markup(
        '<svg class="chart roc" viewBox="0 0 {0} {1}" role="img" aria-labelledby="roc-title roc-desc">'
        '<title id="roc-title">Members found against others accused</title><desc id="roc-desc">{2}</desc>'
    ).format(right + 24, bottom + 54, described)
    return head + Markup("").join(pieces) + Markup("</svg>")
