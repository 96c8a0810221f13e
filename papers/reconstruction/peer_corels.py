"""Runs CORELS in an environment of its own: ``python peer_corels.py RECORDS.npz TASKS``, the rules as JSON.

Tasks are JSON, each with the errors that a rule must save, and seconds. CORELS has no largest number of rules, and its
least support is that of a rule alone, not of what earlier rules leave to it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

import numpy as np
from corels import CorelsClassifier


class TimeLimit(Exception):
    """The search was stopped."""


def stop(number: int, frame: object) -> None:
    """Stop the search."""
    raise TimeLimit


def fit(task: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    """Return one list, as numbers of attributes from 1, negative for a negation."""
    learner = CorelsClassifier(c=task["penalty"] / len(y), n_iter=2**62, max_card=1, min_support=0.0, verbosity=[])
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, task["limit"])
    started, finished = time.process_time(), True
    try:
        learner.fit(X, y)
    except TimeLimit:
        finished = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    rules = [int(rule["antecedents"][0]) for rule in learner.rl_.rules[:-1]] if finished else []
    return {"finished": finished, "seconds": time.process_time() - started, "rules": rules}


def main() -> None:
    """Fit the lists; whatever the library prints goes to standard error."""
    output = os.dup(1)
    os.dup2(2, 1)
    with np.load(sys.argv[1], allow_pickle=False) as stored:
        found = [fit(task, stored["X"], stored["y"]) for task in json.loads(sys.argv[2])]
    with os.fdopen(output, "w") as stream:
        json.dump(found, stream)


if __name__ == "__main__":
    main()
