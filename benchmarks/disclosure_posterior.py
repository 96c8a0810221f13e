"""The posterior over whole-number worlds on real records: ``python benchmarks/disclosure_posterior.py [gini|entropy]``.

The setting of the paper, as in ``benchmarks/disclosure.py``: 30,162 records of ``adult.data`` without missing values,
eight quasi-identifiers, education as the sensitive attribute, a reader of class counts and internal nodes.
GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.disclosure import paper  # noqa: E402 - after the path is set
from benchmarks.public_data import DATA  # noqa: E402
from glassine.attacks.disclosure import Adversary, infer_sensitive  # noqa: E402
from glassine.attacks.disclosure.posterior import infer_posterior  # noqa: E402


def main() -> None:
    """Print how far the chains converge, what they take, and how far the relaxation is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("criterion", nargs="?", choices=("gini", "entropy"), default="gini")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--burn-in", type=int, default=100)
    parser.add_argument("--thin", type=int, default=1)
    given = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"the datasets are not in {DATA}; GLASSINE_DATA names their folder")
    model, frame, labels = paper(given.criterion)
    disclosure = infer_sensitive(model, frame, adversary=Adversary(criterion=given.criterion))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    used = time.process_time()
    posterior = infer_posterior(
        disclosure, method="chain", n_chains=given.chains, draws=given.draws, burn_in=given.burn_in, thin=given.thin
    )
    used = time.process_time() - used
    assert posterior.diagnostics is not None  # noqa: S101 - chains have diagnostics
    figures = {
        "tree": f"{given.criterion}, {len(disclosure.leaves.sizes)} leaves, {disclosure.counts.internal} candidates",
        "diagnostics": posterior.diagnostics,
        "processor seconds": round(used, 1),
        "peak MB, before and after": (before // 1000, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000),
        "largest standard error": float(posterior.quasi_errors.max()),
        "mean total variation from the relaxation": float(np.mean(posterior.total_variation())),
        "people who differ": len(posterior.differing()),
        "d_overall, relaxation and posterior": (disclosure.d_overall(labels), posterior.d_overall(labels)),
        "entropy, relaxation and posterior": (disclosure.entropy, posterior.entropy),
        "comparison": posterior.comparison(),
    }
    for name, value in figures.items():
        print(f"{name}: {value}", flush=True)  # noqa: T201 - a benchmark prints


if __name__ == "__main__":
    main()
