"""Runs pydl8.5 (DL8.5): optimal trees of a depth, by errors alone.

It has no cost for a split, and needs labels coded 0, 1, ...: others give errors of 0 and wrong predictions, silently.
"""

from __future__ import annotations

from importlib.metadata import version
from math import ceil
from typing import Any

from protocol import Answer, Task, Unsupported, agree, main, stopwatch
from pydl85 import DL85Classifier


def splits(node: dict[str, Any]) -> int:
    """Return the number of splits below and at a node."""
    return 1 + splits(node["left"]) + splits(node["right"]) if "feat" in node else 0


def solve(task: Task, limit: float) -> Answer:
    """Return an optimal tree's errors and splits."""
    if task.kind != "tree":
        raise Unsupported("learns trees only")
    if task.penalty:
        raise Unsupported("has no cost for a split")
    tree = DL85Classifier(max_depth=task.room, min_sup=1, time_limit=ceil(limit))
    with stopwatch() as seconds:
        tree.fit(task.X, task.y)
    errors = int((tree.predict(task.X) != task.y).sum())
    agree(tree.error_, errors)
    return Answer(
        errors=errors, size=splits(tree.tree_), seconds=seconds[0], processor=seconds[1], proved=not tree.timeout_
    )


if __name__ == "__main__":
    main("pydl8.5", version("pydl8.5"), solve)
