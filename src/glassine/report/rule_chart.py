"""A rule list as a drawing: one row a rule, from the first that is tried down to the default."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from glassine.models.svg import Chart, element, short
from glassine.report import wording
from glassine.report.blocks import PartRow
from glassine.report.tree_chart import CLASS_COLORS, LETTER

WIDTH, ROW, GAP = 860.0, 26.0, 4.0
LEAD, SIZES, CLASSES = 62.0, 96.0, 96.0
"""Room for ``else if``, for sizes and for bars of classes."""
MOST_RULES = 60


def draw_rules(rows: Sequence[PartRow], *, caught: int | None = None) -> Markup:
    """Return the first rules; of a record the number of the rule that captures it, which stands out."""
    drawn = rows[:MOST_RULES]
    sized, mixed = any(row.count for row in drawn), any(row.mix for row in drawn)
    right = WIDTH - (SIZES if sized else 0.0) - (CLASSES if mixed else 0.0)
    room = int((right - LEAD - 20) / LETTER)
    pieces = []
    for place, row in enumerate(drawn):
        y = place * ROW
        way = "" if caught is None else "on-path" if row.number == caught else "off-path"
        says = f" → {row.prediction}" if row.prediction else ""
        condition = row.condition or "every other record"
        label = f"{short(condition, max(room - len(says), 12))}{short(says, room)}"
        full = "; ".join(filter(None, (f"{condition}{says}", row.size, row.classes, *row.flags)))
        parts = [
            element("title", wording.shorten(full, 400)),
            element("rect", x=LEAD, y=y + GAP / 2, width=right - LEAD, height=ROW - GAP, rx=2),
            element("text", row.lead, class_="tick end", x=LEAD - 8, y=y + ROW / 2, dy=4),
            element("text", label, x=LEAD + 9, y=y + ROW / 2, dy=4),
        ]
        if sized and row.count:
            parts.append(element("text", row.count, class_="tick end beside", x=right + SIZES - 8, y=y + ROW / 2, dy=4))
        left = WIDTH - CLASSES
        for number, share in enumerate(row.mix, start=1):
            bar = {"x": left, "y": y + ROW / 2 - 7, "width": share * CLASSES, "height": 14.0}
            if share > 0:
                parts.append(element("rect", class_=f"mix k{min(number, CLASS_COLORS + 1)}", **bar))
            left += share * CLASSES
        kind = "inner" if not row.flags else "wrong-1"
        pieces.append(element("g", *parts, class_=f"{kind} {way}".rstrip()))
    more = len(rows) - len(drawn)
    return Chart(
        kind="tree rules",
        ident="rules",
        width=WIDTH,
        height=max(len(drawn), 1) * ROW,
        title="The rules, and the one that captures a record" if caught is not None else "The rules, in their order",
        description=f"{wording.plural(len(rows), 'rule')}{f'; {more:,} are not drawn' if more else ''}.",
    ).draw(*pieces)
