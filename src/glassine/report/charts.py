"""Charts as inline SVG: the exposure curve, and a tree as a partition diagram. Every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from glassine.auditing.findings import TreeNode
from glassine.report import wording
from glassine.report.axes import ticks
from glassine.report.outline import children_of, leaves_below
from glassine.report.parts import PartRow, Scale

__all__ = ["draw_curve", "draw_tree"]

MOST_BOXES = 240
TREE_WIDTH = 1000
ROW = 26
SHORTEST, TALLEST = 150, 900
LAST_COLUMN = 1.8  # width of the last column, where leaves stand, against the others
EVEN = 0.55  # share of the height that all leaves divide evenly, so that small ones stay visible
LETTER = 7.2  # width of a letter at the size used in the boxes, in a wide typeface
FLAG = "\u25b2"


def draw_curve(points: Sequence[tuple[float, float]], scale: Scale) -> Markup:
    """Return the exposure curve as a step chart; empty without points.

    Parameters
    ----------
    points : sequence of (float, float)
        Share of the records up to which a step goes, the most exposed first, and its bits.
    scale : Scale
        Gives the policy's limit and the height of the chart.
    """
    if not points:
        return Markup("")
    left, top, width, height = 56, 14, 590, 220
    bottom = top + height

    def x(share: float) -> str:
        return f"{left + share * width:.1f}"

    def y(bits: float) -> str:
        return f"{bottom - min(bits / scale.top, 1.0) * height:.1f}"

    path, start = [f"M{x(0)} {bottom}"], 0.0
    for share, bits in points:
        path.append(f"L{x(start)} {y(bits)}L{x(share)} {y(bits)}")
        start = share
    outline = Markup("").join(path)
    pieces = [Markup('<path class="area" d="{0}L{1} {2}Z"/>').format(outline, x(start), bottom)]
    for tick in ticks(0.0, float(scale.top)):
        pieces.append(
            Markup('<line class="grid" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>').format(left, left + width, y(tick))
        )
        pieces.append(
            Markup('<text class="tick end" x="{0}" y="{1}" dy="4">{2:g}</text>').format(left - 8, y(tick), tick)
        )
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        pieces.append(
            Markup('<text class="tick mid" x="{0}" y="{1}">{2:.0f}%</text>').format(x(share), bottom + 22, share * 100)
        )
    pieces.append(Markup('<path class="line" d="{0}"/>').format(outline))
    if scale.limit is not None:
        pieces.append(
            Markup('<line class="limit" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>').format(
                left, left + width, y(scale.limit)
            )
        )
        pieces.append(
            Markup('<text class="tick end strong" x="{0}" y="{1}" dy="{2}">limit: {3:g} bits</text>').format(
                left + width - 4, y(scale.limit), 15 if scale.limit > scale.top * 0.9 else -6, scale.limit
            )
        )
    pieces.append(
        Markup('<text class="tick mid" x="{0}" y="{1}">share of the records, the most exposed first</text>').format(
            left + width / 2, bottom + 50
        )
    )
    pieces.append(
        Markup('<text class="tick mid" transform="translate(12 {0}) rotate(-90)">bits learned</text>').format(
            top + height / 2
        )
    )
    head = Markup(
        '<svg class="chart curve" viewBox="0 0 676 296" role="img" aria-labelledby="curve-title curve-desc">'
        '<title id="curve-title">Exposure curve</title><desc id="curve-desc">{0}</desc>'
    ).format(
        f"Bits learned about a record, from {wording.bits(points[0][1])} at the left, where the most exposed stand, "
        f"to {wording.bits(points[-1][1])} at the right. The table below has the figures."
    )
    return head + Markup("").join(pieces) + Markup("</svg>")


@dataclass(frozen=True, slots=True)
class _Box:
    index: int
    depth: int
    y: float
    height: float


def draw_tree(tree: Sequence[TreeNode], rows: Sequence[PartRow]) -> tuple[Markup, str]:
    """Return the tree as a partition diagram, root at the left, and a sentence on how to read it.

    Leaves are taller the more records they hold where every size is published, those of suppressed size all alike;
    otherwise all leaves are equally tall. Only as many levels are drawn as fit.

    Parameters
    ----------
    tree : sequence of TreeNode
        The nodes, parents before children.
    rows : sequence of PartRow
        The leaves; number i stands at i - 1.
    """
    if len(tree) < 2:
        return Markup(""), ""
    children, count = children_of(tree), leaves_below(tree)
    depth, weight, levels = _measure(tree, rows)
    deepest = _levels_that_fit(depth)
    shown_leaves = sum(1 for i, d in enumerate(depth) if d == deepest or (d < deepest and tree[i].part is not None))
    height = min(max(shown_leaves * ROW, SHORTEST), TALLEST)
    boxes = _place(children, weight, depth, deepest, height)
    column = TREE_WIDTH / (deepest + LAST_COLUMN - 1)
    pieces = [_draw(box, tree, rows, count, levels, column, deepest) for box in boxes]
    by_records = all(row.weight is not None for row in rows)
    told = (
        "Taller boxes hold more records, not in proportion; leaves of suppressed size are all drawn alike."
        if by_records
        else "All leaves are drawn equally tall, as the model does not publish how many records they hold."
    )
    if deepest < max(depth):
        told += f" Only the first {deepest} levels are drawn: a box that ends in … holds several leaves."
    desc = f"{wording.plural(count[0], 'leaf')} in {wording.plural(max(depth), 'level')}. The list below says the same."
    head = Markup(
        '<svg class="chart tree" viewBox="0 0 {0} {1:.0f}" role="img" aria-labelledby="tree-title tree-desc">'
        '<title id="tree-title">The tree, coloured by bits learned</title><desc id="tree-desc">{2}</desc>'
        '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect class="ground" width="7" height="7"/><rect class="stripe" width="2.5" height="7"/></pattern></defs>'
    ).format(TREE_WIDTH, height, desc)
    return head + Markup("").join(pieces) + Markup("</svg>"), told


def _measure(tree: Sequence[TreeNode], rows: Sequence[PartRow]) -> tuple[list[int], list[float], list[int | None]]:
    """Depth, drawn weight and highest known level of every node."""
    by_records = all(row.weight is not None for row in rows)
    total = math.fsum(row.weight or 0.0 for row in rows) if by_records else 0.0
    depth, weight, level = [0] * len(tree), [0.0] * len(tree), [-1] * len(tree)
    for i, node in enumerate(tree):
        if node.parent is not None:
            depth[i] = depth[node.parent] + 1
        if node.part is not None:
            row = rows[node.part - 1]
            weight[i] = EVEN / len(rows) + (1 - EVEN) * (row.weight or 0.0) / total if total else 1.0
            level[i] = -1 if row.level is None else row.level
    for i in range(len(tree) - 1, 0, -1):
        parent = tree[i].parent
        if parent is not None:
            weight[parent] += weight[i]
            level[parent] = max(level[parent], level[i])
    return depth, weight, [None if value < 0 else value for value in level]


def _levels_that_fit(depth: Sequence[int]) -> int:
    at = [0] * (max(depth) + 1)
    for d in depth:
        at[d] += 1
    total, fits = 0, 1
    for level in range(1, min(len(at), 9)):
        total += at[level]
        if total > MOST_BOXES and level > 1:
            break
        fits = level
    return fits


def _place(
    children: Sequence[Sequence[int]], weight: Sequence[float], depth: Sequence[int], deepest: int, height: float
) -> list[_Box]:
    boxes: list[_Box] = []
    stack = [_Box(0, 0, 0.0, height)]
    while stack:
        here = stack.pop()
        if here.index:
            boxes.append(here)
        if depth[here.index] >= deepest or len(boxes) > 2 * MOST_BOXES:
            continue
        y, inside = here.y, []
        for child in children[here.index]:
            tall = here.height * weight[child] / weight[here.index]
            inside.append(_Box(child, depth[child], y, tall))
            y += tall
        stack += reversed(inside)
    return boxes


def _draw(
    box: _Box,
    tree: Sequence[TreeNode],
    rows: Sequence[PartRow],
    count: Sequence[int],
    levels: Sequence[int | None],
    column: float,
    deepest: int,
) -> Markup:
    node = tree[box.index]
    condition = wording.clean(node.condition)
    x, width = (box.depth - 1) * column, column if box.depth < deepest else column * LAST_COLUMN
    room = max(int((width - 16) / LETTER), 8)
    mark, label, full = "", condition, condition
    if node.part is not None:
        row = rows[node.part - 1]
        kind = "unknown" if row.level is None else f"level-{row.level}"
        width = TREE_WIDTH - x  # a leaf reaches to the right edge
        room = max(int((width - 16) / LETTER), 8)
        mark = f"{FLAG} " if row.flags else ""
        says = [row.prediction, row.size, *row.flags]
        full = "; ".join([condition, *(s for s in says if s), f"bits learned: {row.bits}"])
        after = f" → {wording.shorten(row.prediction, room // 2)}" if row.prediction else ""
        label = f"{mark}{wording.shorten_condition(condition, max(room - len(mark) - len(after), 3))}{after}"
    elif box.depth >= deepest:
        level = levels[box.index]
        kind = "unknown" if level is None else f"level-{level}"
        full = f"{condition}; {wording.plural(count[box.index], 'leaf')}, coloured by the most exposed"
        label = f"{wording.shorten_condition(condition, room - 2)} …"
    else:
        kind, label = "inner", wording.shorten_condition(condition, room)
    gap = 1.0 if box.height > 4 else 0.2
    rectangle = Markup(
        '<g class="{0}"><title>{1}</title><rect x="{2:.1f}" y="{3:.1f}" width="{4:.1f}" height="{5:.1f}" rx="2"/>'
    ).format(kind, wording.shorten(full, 240), x + 1, box.y + gap, width - 2, max(box.height - 2 * gap, 0.6))
    if box.height < 13:
        return rectangle + Markup("</g>")
    text = wording.shorten(label, room)
    return rectangle + Markup('<text x="{0:.1f}" y="{1:.1f}" dy="4">{2}</text></g>').format(
        x + 9, box.y + box.height / 2, text
    )
