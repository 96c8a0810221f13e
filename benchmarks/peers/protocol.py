"""What every runner shares: tasks in from an .npz file, answers out as JSON.

Only NumPy and the standard library, and Python 3.10 or later: a runner lives in the environment of its peer.

A task is a 0/1 matrix X (n, p), labels y coded 0, 1, ..., a room (greatest depth, or greatest number of rules) and a
penalty: a whole number of errors that a split or a rule must save. Its objective is errors + penalty * size, where size
is the number of splits, or of rules without the default. The errors are counted here, from the peer's own predictions.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Task:
    """One optimisation problem."""

    name: str
    kind: str
    X: Any
    y: Any
    room: int
    penalty: int


@dataclass(frozen=True)
class Answer:
    """What a peer found: its errors and size, the seconds of its fit, and whether it proved them optimal.

    ``processor`` are the seconds that processors worked on the fit, on all cores together.
    """

    errors: int
    size: int
    seconds: float
    proved: bool
    processor: float


class Unsupported(Exception):
    """The peer has no such problem."""


class TimeLimit(Exception):
    """The peer was stopped."""


Solver = Callable[[Task, float], Answer]


def write(path: Path, tasks: list[Task]) -> None:
    """Write tasks to one .npz file."""
    heads = [{"name": t.name, "kind": t.kind, "room": t.room, "penalty": t.penalty} for t in tasks]
    columns = {f"{part}{i}": getattr(task, part) for i, task in enumerate(tasks) for part in ("X", "y")}
    np.savez_compressed(path, heads=np.array(json.dumps(heads)), **columns)


def read(path: Path) -> list[Task]:
    """Read the tasks of an .npz file."""
    with np.load(path, allow_pickle=False) as stored:
        heads = json.loads(str(stored["heads"]))
        return [Task(X=stored[f"X{i}"], y=stored[f"y{i}"], **head) for i, head in enumerate(heads)]


@contextmanager
def stopwatch(limit: float | None = None) -> Iterator[list[float]]:
    """Give a list that holds the seconds of the block, on the clock and of all cores; raise TimeLimit after a limit."""

    def stop(number: int, frame: object) -> None:
        raise TimeLimit

    seconds: list[float] = []
    previous = signal.signal(signal.SIGALRM, stop)
    started, worked = time.perf_counter(), time.process_time()
    try:
        if limit is not None:
            signal.setitimer(signal.ITIMER_REAL, limit)
        yield seconds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        seconds += [time.perf_counter() - started, time.process_time() - worked]


def agree(claimed: float, counted: float) -> None:
    """Raise if a peer claims another figure than its own predictions give."""
    if not abs(claimed - counted) < 1e-6:
        raise ValueError(f"claims {claimed} and has {counted}")


def answer(solve: Solver, task: Task, limit: float, repeats: int) -> dict[str, Any]:
    """Solve one task; its time is the least of several runs, unless one takes over a second."""
    head = {"name": task.name, "kind": task.kind, "room": task.room, "penalty": task.penalty}
    try:
        found = solve(task, limit)
        times = [found.seconds]
        while len(times) < repeats and times[-1] < 1.0:
            times.append(solve(task, limit).seconds)
    except Unsupported as reason:
        return {**head, "unsupported": str(reason)}
    except TimeLimit:
        return {**head, "failed": f"nothing found in {limit:g} s"}
    except Exception as reason:  # a peer's failure is a result, whatever it raises
        return {**head, "failed": f"{type(reason).__name__}: {reason}"}
    objective = found.errors + task.penalty * found.size
    return {**head, **asdict(found), "seconds": min(times), "objective": objective}


def main(peer: str, version: str, solve: Solver, warm_up: bool = False) -> None:
    """Solve every task of a file and print the answers as JSON; whatever the peer prints goes to standard error."""
    parser = argparse.ArgumentParser(description=f"Run {peer} on the tasks of an .npz file.")
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds a task")
    parser.add_argument("--repeats", type=int, default=3, help="runs of a task that takes less than a second")
    arguments = parser.parse_args()
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    tasks = read(arguments.tasks)
    if warm_up:
        for kind in {task.kind for task in tasks}:
            answer(solve, next(task for task in tasks if task.kind == kind), arguments.time_limit, 1)
    answers = [answer(solve, task, arguments.time_limit, arguments.repeats) for task in tasks]
    report = {"peer": peer, "version": version, "python": platform.python_version(), "answers": answers}
    with os.fdopen(output, "w") as stream:
        json.dump(report, stream)
