"""Readers of each tree: what their leaves tell, with and without internal nodes; figures 3, 4, 6, 7, 8 and 9.

Each reader runs in a process of its own, so that its peak memory is its own. ``readers.csv`` has a row for each;
``individuals.csv`` has, for readers of internal nodes, how much nearer to the truth these bring the estimate of single
quasi-identifiers.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from settings import TREES, records
from study import options, read, resume, say, write

from glassine.attacks.disclosure import Adversary, Disclosure, Starts, infer_sensitive

LEAVES = ("leaf_counts", "error_rates", "labels_only")
NAMES = ("tree", "leaves", "internal nodes")
SEARCH = ("error_rates", "yes")
STARTS = 2
"""Starts of each search: the best is kept, and D_overall has their range."""

INDIVIDUAL = ("tree", "leaves", "rank")
QUICK = (
    ("gini", "leaf_counts", "yes"),
    ("gini-binary", "leaf_counts", "yes"),
    ("gini", "error_rates", "no"),
    ("gini", "labels_only", "yes"),
)


def cells() -> list[dict[str, str]]:
    """Return the readers; the searches for local optima, which take minutes, come last."""
    out = [dict(zip(NAMES, each, strict=True)) for each in product(TREES, LEAVES, ("no", "yes"))]
    return sorted(out, key=lambda key: (key["leaves"], key["internal nodes"]) == SEARCH)


def changes(found: Disclosure, truth: Sequence[str]) -> list[dict[str, float]]:
    """Return by rank of the change how far quasi-identifiers are from the truth, without and with internal nodes.

    The change is D_individual without less that with. ``mean`` is the mean change of all up to the rank, ``opposite``
    the change of the quasi-identifier at that rank from the other end.
    """
    first = found.people.first
    with_ = found.d_individual(truth)[first]
    without = infer_leaves_only(found).d_individual(truth)[first]
    change = without - with_
    order = np.argsort(-change, kind="stable")
    means = np.cumsum(change[order]) / np.arange(1, len(order) + 1)
    ranks = sorted({*range(1, 11), *np.geomspace(10, len(order), 40).round().astype(int).tolist()})
    return [
        {
            "rank": rank,
            "people": float(found.people.sizes[order[rank - 1]]),
            "change": float(change[order[rank - 1]]),
            "with": float(with_[order[rank - 1]]),
            "without": float(without[order[rank - 1]]),
            "mean": float(means[rank - 1]),
            "opposite": float(change[order[-rank]]),
        }
        for rank in ranks
    ]


def infer_leaves_only(found: Disclosure) -> Disclosure:
    """Return the estimate of the reader who uses the leaves alone."""
    from dataclasses import replace

    return replace(found, quasi_probabilities=found.leaf_probabilities)


def measure(tree: str, leaves: Any, internal: str) -> dict[str, Any]:
    """Return the figures of one reader, and the changes of single quasi-identifiers."""
    frame, labels = records()
    setting = TREES[tree]
    model = setting.make()
    adversary = Adversary(leaves, internal_nodes=internal == "yes", criterion=setting.criterion, splits=setting.splits)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    used = time.process_time()
    found = infer_sensitive(model, frame, adversary=adversary, starts=Starts(number=STARTS))
    used = time.process_time() - used
    counts = found.counts
    distances: npt.NDArray[np.float64] = found.d_individual(labels)
    spread = found.d_overall_spread(labels)
    row = {
        "number of leaves": len(found.leaves.sizes),
        "rate": counts.rate,
        "label": counts.label,
        "internal": counts.internal,
        "active": counts.active,
        "status": found.status,
        "gap": found.gap if found.status == "optimal" else None,
        "entropy": found.entropy,
        "d_overall": float(distances.mean()),
        "least d_overall": spread[0],
        "most d_overall": spread[1],
        "largest d_individual": float(distances.max()),
        "certain": found.compare()[-1].certain,
        "seconds": round(used, 2),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000,
        "peak MB before": before // 1000,
        "note": " ".join(note for note in found.notes if "starts" in note),
    }
    return {"row": row, "changes": changes(found, labels) if internal == "yes" and counts.active else []}


def in_own_process(key: Mapping[str, str], path: Path) -> dict[str, object]:
    """Return the figures of a reader that is run in a process of its own; keep its changes of single people."""
    command = [sys.executable, __file__, "--one", *key.values()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own file
    if done.returncode:
        raise SystemExit(f"the reader {' '.join(key.values())} failed:\n{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    named = {name: key[name] for name in ("tree", "leaves")}
    rows = [row for row in read(path) if any(row[name] != value for name, value in named.items())]
    if found["changes"]:
        write(path, [*rows, *(named | row for row in found["changes"])])
    return dict(found["row"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the readers that are not in the results yet."""
    given = options(__doc__, arguments)
    wanted = [key for key in cells() if not given.quick or tuple(key.values()) in QUICK]
    individuals = given.results / "individuals.csv"
    resume(given.results / "readers.csv", wanted, lambda key: in_own_process(key, individuals))


__all__ = ["INDIVIDUAL", "LEAVES", "NAMES", "QUICK", "SEARCH", "cells", "changes", "main", "measure"]

if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        say(json.dumps(measure(*sys.argv[2:5])))
    else:
        main()
