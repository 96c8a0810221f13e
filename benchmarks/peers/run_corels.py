"""Runs CORELS: optimal rule lists of any length, errors / n + c for each rule, c = penalty / n.

Its pool of single literals is every column and its negation. It has no greatest number of rules, and does not end
without a penalty. It is stopped by the clock alone: its own limit on nodes ends the search without a word.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from corels import CorelsClassifier
from protocol import Answer, Task, TimeLimit, Unsupported, main, stopwatch

NO_LIMIT = 2**62


def predict(rules: list[dict[str, Any]], X: Any) -> Any:
    """Return the labels that the rules give; CORELS' own predict is wrong for a list of a default rule alone."""
    given = np.full(len(X), rules[-1]["prediction"], dtype=int)
    for rule in reversed(rules[:-1]):
        holds = np.all([X[:, abs(i) - 1] == (i > 0) for i in rule["antecedents"]], axis=0)
        given[holds] = rule["prediction"]
    return given


def solve(task: Task, limit: float) -> Answer:
    """Return an optimal rule list's errors and rules, whatever their number."""
    if task.kind != "list":
        raise Unsupported("learns rule lists only")
    if not task.penalty:
        raise Unsupported("does not end without a penalty")
    if not set(np.unique(task.y)) <= {0, 1}:
        raise Unsupported("has two labels")
    learner = CorelsClassifier(c=task.penalty / len(task.y), n_iter=NO_LIMIT, max_card=1, min_support=0.0, verbosity=[])
    proved = True
    try:
        with stopwatch(limit) as seconds:
            learner.fit(task.X, task.y)
    except TimeLimit:
        proved = False
    rules = learner.rl_.rules
    errors = int((predict(rules, task.X) != task.y).sum())
    return Answer(errors=errors, size=len(rules) - 1, seconds=seconds[0], processor=seconds[1], proved=proved)


if __name__ == "__main__":
    main("corels", version("corels"), solve)
