"""Chains over whole-number worlds on each tree: R-hat, effective sample sizes, and how far the relaxation is off.

``posterior.csv`` has a row for each tree; the reader knows class counts and uses the internal nodes. The tree
``income`` is another one: a CART of 500 leaves for the income of all 32,561 people of ``adult.data``, with 13
attributes. With the 14th, the sampling weight, there are 300,000 candidates, and a sweep of the chain takes too
long.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from settings import TREES, Criterion, Labels, income, records
from study import options, resume
from whole_worlds import Posterior, infer_posterior

from glassine.attacks.disclosure import Adversary, Disclosure, infer_sensitive

RUNS = (("gini", 500), ("entropy", 500), ("gini-binary", 500), ("entropy-gain", 500), ("income", 200))
"""Tree, and draws of each of four chains."""

QUICK = 100


def relaxation(tree: str) -> tuple[Disclosure, Labels]:
    """Return the estimate of maximum entropy, and the truth."""
    if tree == "income":
        model, frame, labels = income()
        return infer_sensitive(model, frame, adversary=Adversary(criterion="gini")), labels
    frame, labels = records()
    criterion: Criterion = TREES[tree].criterion
    return infer_sensitive(TREES[tree].make(), frame, adversary=Adversary(criterion=criterion)), labels


def measure(tree: str, draws: int) -> dict[str, object]:
    """Return how far the chains converge, and how relaxation and posterior differ."""
    found, labels = relaxation(tree)
    used = time.process_time()
    posterior: Posterior = infer_posterior(found, method="chain", n_chains=4, draws=draws, burn_in=100)
    used = time.process_time() - used
    told = posterior.diagnostics
    if told is None:
        raise TypeError("chains have diagnostics")
    distances = posterior.total_variation()
    rows = posterior.differing()
    first = found.people.first
    return {
        "number of leaves": len(found.leaves.sizes),
        "people": found.people.n_people,
        "quasi-identifiers": len(found.people.sizes),
        "internal": found.counts.internal,
        "R-hat": told.r_hat,
        "smallest effective size": told.effective_size,
        "median effective size": told.median_effective_size,
        "accepted": told.accepted,
        "accepted larger": told.accepted_larger,
        "never changed": told.never_changed,
        "largest standard error": float(posterior.quasi_errors.max()),
        "seconds": round(used, 1),
        "d_overall relaxation": found.d_overall(labels),
        "d_overall posterior": posterior.d_overall(labels),
        "entropy relaxation": found.entropy,
        "entropy posterior": posterior.entropy,
        "mean total variation": float(distances.mean()),
        "people who differ": len(rows),
        "quasi-identifiers that differ": len(np.intersect1d(rows, first)),
        "largest difference": float(distances[rows].max(initial=0.0)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chains that are not in the results yet."""
    given = options(__doc__, arguments)
    runs = [("gini", QUICK)] if given.quick else RUNS
    keys = [{"tree": tree, "draws": str(draws)} for tree, draws in runs]
    resume(given.results / "posterior.csv", keys, lambda key: measure(key["tree"], int(key["draws"])))


__all__ = ["RUNS", "main", "measure", "relaxation"]

if __name__ == "__main__":
    main()
