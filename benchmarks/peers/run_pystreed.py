"""Runs pystreed (STreeD): optimal trees of a depth, with or without a cost for each split.

Its ``cost_complexity`` is a share of n a split; a leaf must hold one record at least, which costs no optimum.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from protocol import Answer, Task, Unsupported, agree, main, stopwatch
from pystreed import STreeDClassifier


def solve(task: Task, limit: float) -> Answer:
    """Return an optimal tree's errors and splits."""
    if task.kind != "tree":
        raise Unsupported("learns trees only")
    options: dict[str, Any] = {"max_depth": task.room, "time_limit": limit}
    if task.penalty:
        options |= {"optimization_task": "cost-complex-accuracy", "cost_complexity": task.penalty / len(task.y)}
    tree = STreeDClassifier(**options)
    with stopwatch() as seconds:
        tree.fit(task.X, task.y)
    errors = int((tree.predict(task.X) != task.y).sum())
    size = int(tree.fit_result.tree_nodes())
    # The score is the accuracy alone, also where splits have a cost.
    agree(len(task.y) * tree.fit_result.score(), len(task.y) - errors)
    return Answer(
        errors=errors, size=size, seconds=seconds[0], processor=seconds[1], proved=bool(tree.fit_result.is_optimal())
    )


if __name__ == "__main__":
    main("pystreed", version("pystreed"), solve)
