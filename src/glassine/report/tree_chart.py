"""A tree as a partition diagram: each column is one more condition, the leaves stand at the right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from glassine.auditing.findings import TreeNode
from glassine.models.svg import Chart, element
from glassine.report import wording
from glassine.report.blocks import PartRow

MOST_BOXES = 240
MOST_COLUMNS = 7
"""As many columns as conditions can be read in."""
TREE_WIDTH = 1000
SIZES, CLASSES = 104.0, 96.0
"""Width of the columns for sizes and for classes, right of the leaves."""
HEAD = 18.0
"""Height of the names of these columns."""
ROW = 26
SHORTEST, TALLEST = 150, 1040  # forty leaves are drawn with their labels
TALLEST_ZOOMED = 900
ZOOMED_FROM = 41
"""Leaves from which a script draws any part of the tree larger."""
LAST_COLUMN = 1.8  # width of the last column, where leaves stand, against the others
EVEN = 0.55  # share of the height that all leaves divide evenly, so that small ones stay visible
LEGIBLE = 13.0
"""Least height of a box with text."""
LEVEL, LINE, LINES = 76.0, 17.0, 4
"""Height of a row of a drawing from the top down, of a line of text in it, and the lines that it holds."""
FEWEST = 4
"""Fewest letters that say something in such a box."""
LETTER = 7.2  # width of a letter at the size used in the boxes, in a wide typeface
FLAG = "\u25b2"
COLORS = 3
SEVERAL = "wrong-several"
"""Color of leaves with several flags, and of what is beyond three kinds of them."""
CLASS_COLORS = 4


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


def zooms(tree: Sequence[TreeNode]) -> bool:
    """Return whether a drawing has parts that can be read only where they are drawn larger."""
    return len(tree) > 1 and (leaves_below(tree)[0] >= ZOOMED_FROM or max(_depths(tree)) >= MOST_COLUMNS)


def _depths(tree: Sequence[TreeNode]) -> list[int]:
    depth = [0] * len(tree)
    for i, node in enumerate(tree):
        if node.parent is not None:
            depth[i] = depth[node.parent] + 1
    return depth


def flag_colors(rows: Sequence[PartRow]) -> dict[str, str]:
    """Return the color of each flag that a leaf has, the most frequent first."""
    kinds = Counter(flag for row in rows for flag in row.flags)
    return {
        flag: f"wrong-{i}" if i <= COLORS else SEVERAL
        for i, flag in enumerate(sorted(kinds, key=lambda flag: (-kinds[flag], flag)), start=1)
    }


@dataclass(frozen=True, slots=True)
class _Box:
    index: int
    depth: int
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Diagram:
    """What every box is drawn by."""

    # tree, rows: the nodes and the leaves.
    tree: Sequence[TreeNode]
    rows: Sequence[PartRow]
    names: tuple[str, ...]  # The attributes, which a label that is cut must still distinguish
    colors: Mapping[str, str]  # The color of each flag
    flagged: Sequence[set[str]]  # Flags at or below each node
    count: Sequence[int]  # Leaves at or below each node
    # column, right: width of a column, and where the boxes end.
    column: float
    right: float
    # sized, mixed: whether some leaf has a size, and shares of classes.
    sized: bool
    mixed: bool
    deepest: int  # The last column
    zoomed: bool  # Whether a script may draw a part larger: then every box has its label
    path: Collection[int]  # Nodes that one record passes, its leaf the last; empty without one


def path_to(tree: Sequence[TreeNode], part: int) -> frozenset[int]:
    """Return the nodes from the root to a leaf."""
    here: int | None = next(i for i, node in enumerate(tree) if node.part == part)
    out = set[int]()
    while here is not None:
        out.add(here)
        here = tree[here].parent
    return frozenset(out)


def draw_tree(
    tree: Sequence[TreeNode],
    rows: Sequence[PartRow],
    *,
    path: Collection[int] = (),
    levels: int = MOST_COLUMNS - 1,
    static: bool = False,
) -> tuple[Markup, str]:
    """Return the tree as a partition diagram, root at the left, and a sentence on how to read it.

    The boxes of a ``path`` stand out. At most so many ``levels`` are in view; a ``static`` drawing holds nothing else.
    """
    # Leaves are taller the more records they hold if every size is published, those of suppressed size equally tall;
    # otherwise all leaves are equally tall. Beside each stand its size and its classes. Colors say which limits a leaf
    # breaks, see flag_colors. Only as many levels are in view as can be read; a script that zooms shows the others.
    if len(tree) < 2:
        return Markup(""), ""
    depth, weight = _measure(tree, rows)
    drawn = _levels_that_fit(depth)
    deepest = min(drawn, MOST_COLUMNS - 1, levels)
    zoomed = zooms(tree) and not static
    in_view = sum(1 for i, d in enumerate(depth) if d == deepest or (d < deepest and tree[i].part is not None))
    height = min(max(in_view * ROW, SHORTEST), TALLEST_ZOOMED if zoomed else TALLEST)
    sized, mixed = any(row.weight is not None for row in rows), any(row.mix for row in rows)
    right = TREE_WIDTH - (SIZES if sized else 0.0) - (CLASSES if mixed else 0.0)
    drawing = _Diagram(
        **_of_boxes(tree, rows),
        column=right / (deepest + LAST_COLUMN - 1),
        right=right,
        sized=sized,
        mixed=mixed,
        deepest=deepest,
        zoomed=zoomed,
        path=path,
    )
    boxes = _place(weight, depth, drawn if zoomed else deepest, height, tree)
    caption = (
        "Taller boxes hold more records, not in proportion; leaves of suppressed size are drawn equally tall."
        if all(row.weight is not None for row in rows)
        else "All leaves are drawn equally tall, as the model does not publish how many records they hold."
    )
    if deepest < max(depth):
        caption += f" Only the first {deepest} levels are in view: a box that ends in … holds several leaves."
    heads = [element("text", wording.units(), class_="tick end", x=right + SIZES - 8, y=12)] if sized else []
    heads += [element("text", "classes", class_="tick", x=TREE_WIDTH - CLASSES, y=12)] if mixed else []
    shape = f"{drawing.column:.2f} {right:.0f} {deepest} {height:.0f} {HEAD:.0f}"
    inside = element("g", *(_draw(box, drawing) for box in boxes), class_="boxes", data_shape=shape if zoomed else None)
    return _chart(drawing, max(depth), height + HEAD).draw(_hatch(), *heads, inside), caption


def draw_tree_down(
    tree: Sequence[TreeNode],
    rows: Sequence[PartRow],
    *,
    path: Collection[int] = (),
    levels: int = MOST_COLUMNS - 1,
) -> Markup:
    """Return the tree from the top down, each row one more condition, with the first so many ``levels`` alone.

    The boxes of a ``path`` stand out. A box that is too narrow for its texts has them in its title.
    """
    depth, weight = _measure(tree, rows)
    deepest = min(_levels_that_fit(depth), levels)
    drawing = _Diagram(
        **_of_boxes(tree, rows),
        column=0.0,
        right=0.0,
        sized=False,
        mixed=False,
        deepest=deepest,
        zoomed=False,
        path=path,
    )
    boxes = _place(weight, depth, deepest, TREE_WIDTH, tree)
    inside = element("g", *(_draw_down(box, drawing) for box in boxes), class_="boxes")
    return _chart(drawing, max(depth), deepest * LEVEL).draw(_hatch(), inside)


def _of_boxes(tree: Sequence[TreeNode], rows: Sequence[PartRow]) -> dict[str, Any]:
    """Return what the boxes of a tree are drawn by in either direction, as fields of a diagram."""
    flagged = [set(rows[node.part - 1].flags) if node.part is not None else set[str]() for node in tree]
    for i in range(len(tree) - 1, 0, -1):
        flagged[tree[i].parent or 0] |= flagged[i]
    return {
        "tree": tree,
        "rows": rows,
        "names": tuple({wording.attribute_of(wording.clean(node.condition)): None for node in tree if node.condition}),
        "colors": flag_colors(rows),
        "flagged": flagged,
        "count": leaves_below(tree),
    }


def _chart(drawing: _Diagram, n_levels: int, height: float) -> Chart:
    about = "and the path of one record" if drawing.path else "colored by the limits that its leaves break"
    n_leaves = wording.plural(drawing.count[0], "leaf")
    return Chart(
        kind="tree",
        ident="tree",
        width=TREE_WIDTH,
        height=height,
        title=f"The tree, {about}",
        description=f"{n_leaves} in {wording.plural(n_levels, 'level')}. The list below says the same.",
    )


def _hatch() -> Markup:
    """Return the pattern of leaves whose size is not known."""
    pattern = element(
        "pattern",
        element("rect", class_="ground", width=7, height=7),
        element("rect", class_="stripe", width=2.5, height=7),
        id="hatch",
        width=7,
        height=7,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )
    return element("defs", pattern)


def _measure(tree: Sequence[TreeNode], rows: Sequence[PartRow]) -> tuple[list[int], list[float]]:
    """Return depth and drawn weight of every node."""
    by_records = all(row.weight is not None for row in rows)
    total = math.fsum(row.weight or 0.0 for row in rows) if by_records else 0.0
    depth, weight = _depths(tree), [0.0] * len(tree)
    for i, node in enumerate(tree):
        if node.part is not None:
            row = rows[node.part - 1]
            weight[i] = EVEN / len(rows) + (1 - EVEN) * (row.weight or 0.0) / total if total else 1.0
    for i in range(len(tree) - 1, 0, -1):
        parent = tree[i].parent
        if parent is not None:
            weight[parent] += weight[i]
    return depth, weight


def _levels_that_fit(depth: Sequence[int]) -> int:
    """Return how many levels have no more boxes than can be drawn."""
    at = [0] * (max(depth) + 1)
    for d in depth:
        at[d] += 1
    total, fits = 0, 1
    for level in range(1, len(at)):
        total += at[level]
        if total > MOST_BOXES and level > 1:
            break
        fits = level
    return fits


def _place(
    weight: Sequence[float], depth: Sequence[int], deepest: int, height: float, tree: Sequence[TreeNode]
) -> list[_Box]:
    boxes, children = list[_Box](), children_of(tree)
    stack = [_Box(0, 0, HEAD, height)]
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


def _draw_down(box: _Box, drawing: _Diagram) -> Markup:
    """Return a box of a drawing from the top down, whose height is its width here."""
    node = drawing.tree[box.index]
    row = drawing.rows[node.part - 1] if node.part is not None else None
    x, y, room = box.y - HEAD, (box.depth - 1) * LEVEL, int((box.height - 8) / LETTER)
    above, below = wording.condition_lines(wording.clean(node.condition))
    ends = row is not None or box.depth >= drawing.deepest
    kind = _color(drawing, box.index, row) if ends else "inner"
    mark = f"{FLAG} " if row is not None and row.flags else ""
    said = _said_of(row) if row is not None else [wording.plural(drawing.count[box.index], "leaf")] if ends else []
    gap = 1.0 if box.height > 4 else 0.2
    title = "; ".join([wording.clean(node.condition), *said])
    pieces = [
        element("title", wording.shorten(title, 240)),
        element("rect", x=x + gap, y=y + 1, width=max(box.height - 2 * gap, 0.6), height=LEVEL - 2, rx=2),
    ]
    if room >= FEWEST:
        says = [f"→ {row.prediction}", row.size] if row is not None and row.prediction else said
        # The mark is wider than a letter.
        lines = [mark + wording.shorten_name(above, room - 2 * len(mark), drawing.names), below, *says]
        pieces += [
            element("text", wording.shorten(line, room), x=x + 5, y=y + LINE * number)
            for number, line in enumerate([line for line in lines if line][:LINES], start=1)
        ]
    if drawing.path:
        kind = f"{kind} {'on' if box.index in drawing.path else 'off'}-path"
    return element("g", *pieces, class_=kind)


def _said_of(row: PartRow) -> list[str]:
    """Return what a leaf says: prediction, size, classes, flags and the bits that are learned."""
    learned = [f"bits learned: {row.bits}"] if row.bits else []
    return [one for one in (row.prediction, row.size, row.classes, *row.flags, *learned) if one]


def _draw(box: _Box, drawing: _Diagram) -> Markup:
    node, column = drawing.tree[box.index], drawing.column
    condition = wording.clean(node.condition)
    row = drawing.rows[node.part - 1] if node.part is not None else None
    ends = row is not None or box.depth >= drawing.deepest
    x = (box.depth - 1) * column
    # A box beyond the last column is out of view until a script brings it nearer, at most to the last column.
    width = (drawing.right - min(x, (drawing.deepest - 1) * column)) if ends else column
    # What a script may bring into the middle of the drawing has the room that it has there.
    room = max(int(((column if drawing.zoomed and row is None else width) - 16) / LETTER), 8)
    kind, after, mark, full = "inner", "", "", condition
    if row is not None:
        kind, mark = _color(drawing, box.index, row), f"{FLAG} " if row.flags else ""
        full = "; ".join([condition, *_said_of(row)])
        after = f" → {wording.shorten(row.prediction, room // 2)}" if row.prediction else ""
    elif ends:
        kind, after = _color(drawing, box.index, None), " …"
        full = f"{condition}; {wording.plural(drawing.count[box.index], 'leaf')}"
    label = f"{mark}{wording.shorten_condition(condition, room - len(mark) - len(after), drawing.names)}{after}"
    if row is not None and not label.startswith(f"{mark}{condition}"):
        # The condition first: its value distinguishes a leaf from its neighbors, and classes stand beside it.
        label = f"{mark}{wording.shorten_condition(condition, room - len(mark), drawing.names)}"
    gap = 1.0 if box.height > 4 else 0.2
    legible, middle = box.height >= LEGIBLE, box.y + box.height / 2
    pieces = [
        element("title", wording.shorten(full, 240)),
        element("rect", x=x + 1, y=box.y + gap, width=width - 2, height=max(box.height - 2 * gap, 0.6), rx=2),
    ]
    hidden = None if legible else "none"
    above, below = wording.condition_lines(condition)
    if below and condition not in label and box.height >= 2 * LEGIBLE and not drawing.zoomed:
        # What has room for two lines is not cut, or less.
        lines = (
            mark + wording.shorten_name(above, room - len(mark), drawing.names),
            wording.shorten(below + after, room),
        )
        pieces += [
            element("text", line, x=x + 9, y=middle + shift, dy=4) for line, shift in zip(lines, (-7, 7), strict=True)
        ]
    elif legible or drawing.zoomed:
        pieces.append(element("text", wording.shorten(label, room), x=x + 9, y=middle, dy=4, display=hidden))
    if row is not None:
        pieces += _size_and_bar(row, drawing, box)
    elif ends and (legible or drawing.zoomed) and drawing.sized:
        text = wording.plural(drawing.count[box.index], "leaf")
        pieces.append(_size(text, drawing, middle, hidden))
    at = f"{box.depth} {box.y:.2f} {box.height:.2f} {int(row is not None)}" if drawing.zoomed else None
    beyond = "none" if box.depth > drawing.deepest else None
    if drawing.path:
        kind = f"{kind} {'on' if box.index in drawing.path else 'off'}-path"
    return element("g", *pieces, class_=kind, data_at=at, display=beyond)


def _color(drawing: _Diagram, index: int, row: PartRow | None) -> str:
    """Return the color of a leaf, or of all leaves below a box."""
    flags = drawing.flagged[index]
    if len(flags) > 1:
        return SEVERAL
    if flags:
        return drawing.colors[next(iter(flags))]
    unknown = row is not None and row.weight is None and row.level is None
    return "unknown" if unknown else "wrong-none"


def _size(text: str, drawing: _Diagram, middle: float, hidden: str | None) -> Markup:
    return element("text", text, class_="tick end beside", x=drawing.right + SIZES - 8, y=middle, dy=4, display=hidden)


def _size_and_bar(row: PartRow, drawing: _Diagram, box: _Box) -> list[Markup]:
    """Return the size of a leaf, and a bar of its classes."""
    out, middle = [], box.y + box.height / 2
    legible = box.height >= LEGIBLE
    if drawing.sized and (legible or drawing.zoomed):
        out.append(_size(row.count, drawing, middle, None if legible else "none"))
    left = TREE_WIDTH - CLASSES
    tall = min(max(box.height - 2, 0.6), 14.0)
    for number, share in enumerate(row.mix, start=1):
        if share > 0:
            bar = {"x": left, "y": middle - tall / 2, "width": share * CLASSES, "height": tall}
            out.append(element("rect", class_=f"mix k{min(number, CLASS_COLORS + 1)}", **bar))
            left += share * CLASSES
    return out
