"""A process that has loaded its libraries and does one piece of work whenever it is asked: ``python warm.py MODULE``.

Only NumPy and the standard library, and Python 3.10 or later: it runs in the environment of its peer. MODULE stands in
this folder and has either ``WORKS``, makers by name, or ``solve``, as protocol.py has it. Requests and replies are
lines of JSON. ``{"work": name, "data": file.npz, "settings": {...}}`` makes a work ready, ``{"seed": s}`` does it once.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from protocol import Task, TimeLimit, Unsupported

# A run of a seed: the seconds of the work alone, on the clock and of all cores, and what came of it.
Done = tuple[list[float], dict[str, Any]]
Work = Callable[[int], Done]
Maker = Callable[[dict[str, Any], dict[str, Any]], Work]


def split(n: int, seed: int, share: float = 0.8) -> tuple[Any, Any]:
    """Return the rows of a seeded training and test set, the same in every environment."""
    order = np.random.default_rng(seed).permutation(n)
    cut = int(share * n)
    return order[:cut], order[cut:]


def task_of(arrays: dict[str, Any], settings: dict[str, Any]) -> Task:
    """Return the optimisation problem of some arrays and settings."""
    head = {key: settings[key] for key in ("name", "kind", "room", "penalty")}
    return Task(X=arrays["X"], y=arrays["y"], **head)


def solving(solve: Any) -> Maker:
    """Return the maker of a solver of protocol.py; each run solves the training records of its split."""

    def make(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
        whole = task_of(arrays, settings)

        def work(seed: int) -> Done:
            train, _ = split(len(whole.y), seed)
            task = replace(whole, X=whole.X[train], y=whole.y[train])
            found = solve(task, settings["limit"])
            return [found.seconds, found.processor], {
                **asdict(found),
                "quality": found.errors + task.penalty * found.size,
            }

        return work

    return make


def makers(module: Any) -> dict[str, Maker]:
    """Return the works of a module by name."""
    found: dict[str, Maker] = dict(getattr(module, "WORKS", {}))
    if hasattr(module, "solve"):
        found["solve"] = solving(module.solve)
    return found


def reply_to(request: dict[str, Any], known: dict[str, Maker], ready: list[Work]) -> dict[str, Any]:
    """Do what is asked and return the reply; a failure is a reply, too."""
    try:
        if "work" in request:
            with np.load(request["data"], allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            ready[:] = [known[request["work"]](arrays, request["settings"])]
            return {"ready": True}
        seconds, figures = ready[0](request["seed"])
        return {"seconds": seconds[0], "processor": seconds[1], "figures": figures}
    except Unsupported as reason:
        return {"failed": str(reason)}
    except TimeLimit:
        return {"failed": "was stopped at its limit of time"}
    except Exception as reason:  # a peer's failure is a result, whatever it raises
        return {"failed": f"{type(reason).__name__}: {reason}"}


def main() -> None:
    """Answer requests until the input ends; whatever the libraries print goes to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w") as output:
        os.dup2(2, 1)
        known = makers(importlib.import_module(sys.argv[1]))
        ready: list[Work] = []
        output.write(json.dumps({"works": sorted(known)}) + "\n")
        output.flush()
        for line in sys.stdin:
            output.write(json.dumps(reply_to(json.loads(line), known, ready), default=float) + "\n")
            output.flush()


if __name__ == "__main__":
    main()
