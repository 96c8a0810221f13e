"""Runs the naive search of the tests: optimal trees and optimal rule lists of a greatest number of rules."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from protocol import Answer, Task, Unsupported, agree, main, stopwatch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.oracles.model_classes import errors as errors_of
from tests.oracles.model_classes import size as size_of
from tests.oracles.optimal import optimal_rule_list, optimal_tree, with_negations

# Beyond this many trees a level, plain search takes minutes.
MOST_NODES = 3_000_000


def solve(task: Task, limit: float) -> Answer:
    """Return an optimal model's errors and size."""
    truth = task.X.astype(bool) if task.kind == "tree" else with_negations(task.X)
    search = optimal_tree if task.kind == "tree" else optimal_rule_list
    if task.kind == "tree" and (2 * truth.shape[1]) ** task.room > MOST_NODES:
        raise Unsupported("plain search would take minutes")
    with stopwatch(limit) as seconds:
        objective, model = search(truth, task.y, task.room, task.penalty)
    errors = errors_of(model, truth, task.y.astype(np.int64))
    agree(objective, errors + task.penalty * size_of(model))
    return Answer(errors=errors, size=size_of(model), seconds=seconds[0], processor=seconds[1], proved=True)


if __name__ == "__main__":
    main("oracle", "of the tests", solve)
