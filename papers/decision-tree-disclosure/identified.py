"""Identified disclosure: what every table that agrees with a tree says of each quasi-identifier; ``identified.csv``.

The estimate of maximum entropy is one table of many. A row has the people of whom some value has at least a probability
in every table, by the leaves alone and by all bounds that were found in time, and how many of these are exact.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from settings import TREES, records
from study import options, resume

from glassine.attacks.disclosure import Adversary, Identified, identified_disclosure, infer_sensitive
from glassine.attacks.disclosure.dual import TimeLimit

RUNS = (("gini", "leaf_counts"),)
"""A tree of 514 leaves, with class counts and internal nodes."""

SECONDS = 150
LEVELS = (0.99, 0.9, 0.5)


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the figures of a tree."""
    frame, _ = records()
    setting = TREES[key["tree"]]
    adversary = Adversary(key["leaves"], criterion=setting.criterion, splits=setting.splits)  # type: ignore[arg-type]
    disclosure = infer_sensitive(setting.make(), frame, adversary=adversary)
    sizes = disclosure.people.sizes
    used = time.process_time()
    leaves = identified_disclosure(disclosure, search=False)
    bounds = identified_disclosure(disclosure, limit=TimeLimit(SECONDS))
    used = time.process_time() - used
    row: dict[str, object] = {
        "quasi-identifiers": len(sizes),
        "bounds": bounds.exact.size,
        "exact": int(bounds.exact.sum()),
        "narrower than by the leaves": int((np.abs(bounds.low - leaves.low) > 1e-6).sum()
                                          + (np.abs(bounds.high - leaves.high) > 1e-6).sum()),
        "mean width": float((bounds.high - bounds.low).mean()),
        "seconds": round(used, 1),
    }  # fmt: skip

    def people(found: Identified, level: float) -> int:
        return int(sizes[found.certain_of(level)].sum())

    for level in LEVELS:
        row[f"at least {level:g}"] = people(bounds, level)
        row[f"at least {level:g} by the leaves"] = people(leaves, level)
    estimate = disclosure.quasi_probabilities.max(axis=1)
    row["at least 0.99 by maximum entropy"] = int(sizes[estimate >= LEVELS[0]].sum())
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the trees that are not in the results yet."""
    given = options(__doc__, arguments)
    keys = [{"tree": tree, "leaves": leaves} for tree, leaves in RUNS]
    resume(given.results / "identified.csv", [] if given.quick else keys, measure)


__all__ = ["LEVELS", "RUNS", "main", "measure"]

if __name__ == "__main__":
    main()
