"""A tree as a partition diagram: each column is one more condition, the leaves stand at the right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from glassine.auditing.findings import TreeNode
from glassine.models.svg import Chart, element
from glassine.report import wording
from glassine.report.blocks import PartRow

__all__ = ["children_of", "draw_tree", "leaves_below"]

MOST_BOXES = 240
TREE_WIDTH = 1000
ROW = 26
SHORTEST, TALLEST = 150, 900
LAST_COLUMN = 1.8  # width of the last column, where leaves stand, against the others
EVEN = 0.55  # share of the height that all leaves divide evenly, so that small ones stay visible
LETTER = 7.2  # width of a letter at the size used in the boxes, in a wide typeface
FLAG = "\u25b2"


def children_of(tree: Sequence[TreeNode]) -> list[list[int]]:
    """Return the children of each node, in order."""
    out: list[list[int]] = [[] for _ in tree]
    for index, node in enumerate(tree):
        if node.parent is not None:
            out[node.parent].append(index)
    return out


def leaves_below(tree: Sequence[TreeNode], wanted: set[int] | None = None) -> list[int]:
    """Return for each node the number of leaves at or below it, of those with a wanted number if given."""
    out = [int(node.part is not None and (wanted is None or node.part in wanted)) for node in tree]
    for index in range(len(tree) - 1, 0, -1):
        parent = tree[index].parent
        if parent is not None:
            out[parent] += out[index]
    return out


@dataclass(frozen=True, slots=True)
class _Box:
    index: int
    depth: int
    y: float
    height: float


def draw_tree(tree: Sequence[TreeNode], rows: Sequence[PartRow]) -> tuple[Markup, str]:
    """Return the tree as a partition diagram, root at the left, and a sentence on how to read it.

    Leaves are taller the more records they hold if every size is published, those of suppressed size equally tall;
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
    caption = (
        "Taller boxes hold more records, not in proportion; leaves of suppressed size are drawn equally tall."
        if by_records
        else "All leaves are drawn equally tall, as the model does not publish how many records they hold."
    )
    if deepest < max(depth):
        caption += f" Only the first {deepest} levels are drawn: a box that ends in … holds several leaves."
    hatch = element(
        "pattern",
        element("rect", class_="ground", width=7, height=7),
        element("rect", class_="stripe", width=2.5, height=7),
        id="hatch",
        width=7,
        height=7,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )
    chart = Chart(
        kind="tree",
        ident="tree",
        width=TREE_WIDTH,
        height=height,
        title="The tree, coloured by bits learned",
        description=f"{wording.plural(count[0], 'leaf')} in {wording.plural(max(depth), 'level')}. The list below says "
        "the same.",
    )
    return chart.draw(element("defs", hatch), *pieces), caption


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
    # Nine columns are as narrow as a condition can be read in.
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
    shape = element("title", wording.shorten(full, 240)) + element(
        "rect", x=x + 1, y=box.y + gap, width=width - 2, height=max(box.height - 2 * gap, 0.6), rx=2
    )
    if box.height >= 13:
        shape += element("text", wording.shorten(label, room), x=x + 9, y=box.y + box.height / 2, dy=4)
    return element("g", shape, class_=kind)
