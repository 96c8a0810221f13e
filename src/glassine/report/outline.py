"""A tree as a nested list, written as a flat sequence of steps, so that no depth overflows a stack or a browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from glassine.auditing.findings import TreeNode
from glassine.report import wording
from glassine.report.parts import PartRow

__all__ = ["Step", "children_of", "leaves_below", "outline"]

MOST_LEAVES = 200
SHORT_LIST = 50
DEEPEST = 12
OPEN_LEAVES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the list: a subtree begins or ends, a leaf stands, or leaves are left out.

    Attributes
    ----------
    kind : str
        ``begin``, ``end``, ``leaf`` or ``omitted``.
    condition : str
        The condition under which a record comes here from the parent.
    summary : str
        What the subtree holds, or how much is left out.
    open : bool
        Whether the subtree is shown unfolded at first.
    part : PartRow or None
        The leaf.
    """

    kind: Literal["begin", "end", "leaf", "omitted"]
    condition: str = ""
    summary: str = ""
    open: bool = False
    part: PartRow | None = None


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


def outline(tree: Sequence[TreeNode], rows: Sequence[PartRow], order: Sequence[int]) -> tuple[tuple[Step, ...], int]:
    """Return the steps, and the number of leaves left out.

    A tree of more than 200 leaves is cut to the 50 that come first in ``order``; below the twelfth level leaves stand
    side by side with their whole condition.

    Parameters
    ----------
    tree : sequence of TreeNode
        The nodes, parents before children.
    rows : sequence of PartRow
        The leaves; number i stands at i - 1.
    order : sequence of int
        Numbers of the leaves, those to look at first in front.
    """
    if not tree:
        return (), 0
    wanted = set(order if len(rows) <= MOST_LEAVES else order[:SHORT_LIST])
    everything, kept = leaves_below(tree), leaves_below(tree, wanted)
    flagged = leaves_below(tree, {row.number for row in rows if row.flags})
    children = children_of(tree)
    unfold = kept[0] <= OPEN_LEAVES
    steps: list[Step] = []
    stack: list[tuple[int, int, bool]] = [(0, 0, False)]
    while stack:
        index, depth, closing = stack.pop()
        node = tree[index]
        text = wording.clean(node.condition)
        if closing:
            steps.append(Step(kind="end"))
        elif kept[index] == 0:
            if everything[index]:
                left_out = wording.plural(everything[index], "leaf")
                steps.append(Step(kind="omitted", condition=text, summary=f"{left_out}, not shown here"))
        elif node.part is not None:
            row = rows[node.part - 1]
            deep = depth > DEEPEST
            steps.append(Step(kind="leaf", condition=row.condition if deep else text or row.condition, part=row))
        elif depth > DEEPEST:
            stack += [(child, depth, False) for child in reversed(children[index])]
        else:
            if index:
                inside = wording.plural(everything[index], "leaf")
                marked = f", {flagged[index]:,} flagged" if flagged[index] else ""
                is_open = unfold or depth <= 1
                steps.append(Step(kind="begin", condition=text, summary=inside + marked, open=is_open))
                stack.append((index, depth, True))
            stack += [(child, depth + 1, False) for child in reversed(children[index])]
    return tuple(steps), everything[0] - kept[0]
