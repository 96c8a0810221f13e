"""Runs Glassine's own optimal learners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from protocol import Answer, Task, agree, main, stopwatch

import glassine
from glassine import Domain


def learner(task: Task, domain: Domain) -> Any:
    """Return the unfitted learner of optimal trees or rule lists; its penalty is a share of the records."""
    penalty = task.penalty / len(task.y)
    if task.kind == "tree":
        return glassine.learners.OptimalTreeClassifier(max_depth=task.room, penalty=penalty, domain=domain)
    return glassine.learners.OptimalRuleListClassifier(max_rules=task.room, penalty=penalty, domain=domain)


def solve(task: Task, limit: float) -> Answer:
    """Return the learnt model's errors and size; a limit is not needed."""
    frame = pd.DataFrame(task.X.astype(np.int64), columns=[f"x{i}" for i in range(task.X.shape[1])])
    ours = learner(task, Domain.binary(list(frame)))
    with stopwatch() as seconds:
        ours.fit(frame, task.y)
    errors = int((ours.predict(frame) != task.y).sum())
    size = len(ours.model_.cells) - 1
    agree(round(ours.objective_ * len(task.y), 6), errors + task.penalty * size)
    return Answer(errors=errors, size=size, seconds=seconds[0], processor=seconds[1], proved=True)


if __name__ == "__main__":
    # The first fit of a process compiles or loads the kernels.
    main("glassine", glassine.__version__, solve, warm_up=True)
