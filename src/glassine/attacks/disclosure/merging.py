"""Merging the leaves of a tree that are too small or too pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glassine.models import DecisionTree, Evidence, Node

__all__ = ["merge_leaves"]


def merge_leaves(
    tree: DecisionTree, leaf_counts: dict[int, npt.NDArray[np.int64]], below: int, purity: float
) -> DecisionTree:
    """Return a tree without the splits that have a leaf that is too small or too pure, the deepest undone first.

    Parameters
    ----------
    tree : DecisionTree
        A tree with classes.
    leaf_counts : dict of int to ndarray of int, shape (c,)
        People of each class at each leaf, by the index of its node; empty leaves may be absent.
    below : int
        Leaves of fewer people are too small. Empty leaves are not: nobody is in them.
    purity : float
        Leaves of which one class has a larger share are too pure; 1 allows all.
    """
    order, stack = [], [0]
    while stack:
        index = stack.pop()
        order.append(index)
        stack += [branch.child for branch in reversed(tree.nodes[index].branches)]
    none = np.zeros(len(tree.classes or ()), dtype=np.int64)
    held: dict[int, npt.NDArray[np.int64]] = {}
    branches = {index: tree.nodes[index].branches for index in order}

    def fails(index: int) -> bool:
        size = int(held[index].sum())
        return not branches[index] and size > 0 and (size < below or int(held[index].max()) > purity * size)

    for index in reversed(order):
        children = [branch.child for branch in branches[index]]
        held[index] = sum((held[child] for child in children), none) if children else leaf_counts.get(index, none)
        if any(fails(child) for child in children):
            branches[index] = ()
    kept, stack = [], [0]
    while stack:
        index = stack.pop()
        kept.append(index)
        stack += [branch.child for branch in reversed(branches[index])]
    place = {index: i for i, index in enumerate(kept)}
    nodes = []
    for index in kept:
        counts = held[index]
        # An empty leaf keeps the label that its learner gave it.
        label = int(counts.argmax()) if counts.any() else tree.nodes[index].evidence.prediction
        own = Evidence(counts=tuple(counts.tolist()), label=label)
        moved = tuple(replace(branch, child=place[branch.child]) for branch in branches[index])
        nodes.append(Node(branches=moved, evidence=own))
    return replace(tree, nodes=tuple(nodes), approximate=False)
