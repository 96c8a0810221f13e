"""Trees whose leaves of too few, or too similar, records are merged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from glassine.models.evidence import Evidence
from glassine.models.moving import renumbered
from glassine.models.tree import DecisionTree, Node

__all__ = ["merge_leaves"]


def merge_leaves(
    tree: DecisionTree, sizes: Mapping[int, int], below: int, *, purity: float = 1.0, exact: bool = True
) -> DecisionTree:
    """Return a tree without the splits that have a leaf that fails, the deepest undone first.

    A leaf without records does not fail: nobody is in it. A merged leaf publishes what its split published, completed
    by the sums of its leaves.

    Parameters
    ----------
    tree : DecisionTree
        The tree.
    sizes : mapping of int to int
        Records of each leaf, by the index of its node.
    below : int
        Leaves of fewer records fail.
    purity : float, default=1.0
        Leaves of which one class has a larger share fail; 1 allows all. It needs class counts at every leaf.
    exact : bool, default=True
        Whether the sizes are those of the records. If not, a leaf of size 0 may hold records, and fails.
    """
    order, stack = [], [0]
    while stack:
        index = stack.pop()
        order.append(index)
        stack += [branch.child for branch in tree.nodes[index].branches]
    nodes, held = dict(enumerate(tree.nodes)), dict(sizes)

    def fails(index: int) -> bool:
        node, size = nodes[index], held[index]
        if node.branches or (exact and not size):
            return False
        return size < below or max(node.evidence.counts or (0,)) > purity * size

    for index in reversed(order):
        children = [branch.child for branch in nodes[index].branches]
        if not children:
            continue
        held[index] = sum(held[child] for child in children)
        if any(fails(child) for child in children):
            # What is below was merged before: its leaves are the children, and splits that stayed.
            parts = [(nodes[i].evidence, held[i]) for i in _leaves(nodes, index)]
            nodes[index] = Node(evidence=_joined(parts, nodes[index].evidence))
    return replace(tree, nodes=renumbered(nodes, 0))


def _leaves(nodes: Mapping[int, Node], root: int) -> list[int]:
    out, stack = [], [root]
    while stack:
        index = stack.pop()
        if not nodes[index].branches:
            out.append(index)
        stack += [branch.child for branch in nodes[index].branches]
    return out


def _joined(parts: list[tuple[Evidence, int]], own: Evidence) -> Evidence:
    """Return the evidence of merged leaves and their sizes: what the split published, completed by their sums."""
    known = [(evidence.counts, evidence.size) for evidence, _ in parts]
    counts: tuple[int, ...] | None = None
    if all(c is not None for c, _ in known):
        counts = tuple(map(sum, zip(*(c or () for c, _ in known), strict=True)))
    total = sum(size or 0 for _, size in known) if all(size is not None for _, size in known) else None
    weight = sum(size for _, size in parts)
    value = own.value
    if value is None and weight and all(evidence.value is not None for evidence, _ in parts):
        value = math.fsum(size * (evidence.value or 0.0) for evidence, size in parts) / weight
    if counts is not None:
        return Evidence(counts=counts, label=counts.index(max(counts)))
    votes: dict[int, int] = {}
    for evidence, size in parts:
        if evidence.label is not None:
            votes[evidence.label] = votes.get(evidence.label, 0) + size
    label = max(sorted(votes), key=votes.__getitem__) if votes else own.label
    return Evidence(total=total, label=label, value=value)
