"""Runs pydl8.5 in an environment of its own: ``python peer_pydl85.py RECORDS.npz TASKS``, the trees as JSON.

Tasks are JSON, each with depth, least records of a leaf, seconds, and whether the last two levels are searched at once.
With a least support that search passes over trees, and what comes out is not always optimal.
"""

from __future__ import annotations

import json
import os
import sys
import time
from math import ceil
from typing import Any

import numpy as np
from pydl85 import DL85Classifier


def tree(node: dict[str, Any]) -> Any:
    """Return a tree as nested lists of attribute, the part where it is 1, and the other; a leaf is its label."""
    if "feat" not in node:
        return int(node["value"])
    return [int(node["feat"]), tree(node["left"]), tree(node["right"])]


def fit(task: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    """Return one tree."""
    learner = DL85Classifier(
        max_depth=task["depth"],
        min_sup=task["least"],
        time_limit=ceil(task["limit"]),
        depth_two_special_algo=task["at once"],
    )
    started = time.process_time()
    learner.fit(X, y)
    return {"seconds": time.process_time() - started, "finished": not learner.timeout_, "tree": tree(learner.tree_)}


def main() -> None:
    """Fit the trees; whatever the library prints goes to standard error."""
    output = os.dup(1)
    os.dup2(2, 1)
    with np.load(sys.argv[1], allow_pickle=False) as stored:
        found = [fit(task, stored["X"], stored["y"]) for task in json.loads(sys.argv[2])]
    with os.fdopen(output, "w") as stream:
        json.dump(found, stream)


if __name__ == "__main__":
    main()
