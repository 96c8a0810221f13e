"""Uncertain training sets on the records of the paper: ``python benchmarks/disclosure_sample.py``.

A multiway tree is learnt from a sample of the records. One reader knows who was in it, another knows all records and
not the sample. GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.disclosure import paper  # noqa: E402 - after the path is set
from benchmarks.public_data import DATA  # noqa: E402
from glassine.attacks.disclosure import Adversary, Disclosure, infer_sensitive  # noqa: E402
from glassine.learners.multiway_tree import MultiwayTreeClassifier  # noqa: E402

FRACTIONS = (1 / 3, 2 / 3, 0.9, 1.0)
SPLIT = 740
"""Fewest records of a node that is split, of all records."""


def line(name: str, found: Disclosure, truth: list[str], seconds: float) -> str:
    """Return the figures of one reader."""
    members = found.membership
    return (
        f"{name}: D_overall {found.d_overall(truth):.4f}, entropy left {found.entropy:.4f}, membership "
        f"{members.min():.3f} to {members.max():.3f}, active {found.counts.active}, gap {found.gap:.1e}, "
        f"{seconds:.1f} s"
    )


def main() -> None:
    """Print the figures of both readers for each fraction."""
    if not DATA.is_dir():
        raise SystemExit(f"the datasets are not in {DATA}; GLASSINE_DATA names their folder")
    _, frame, labels = paper("gini")
    truth = np.array(labels, dtype=object)
    for fraction in FRACTIONS:
        rng = np.random.default_rng(0)
        rows = np.sort(rng.permutation(len(truth))[: round(fraction * len(truth))])
        # Everybody is to be in a leaf: a sample of a rare value's people may leave them without one.
        tree = MultiwayTreeClassifier(criterion="gini", min_samples_split=round(SPLIT * fraction)).fit(
            frame[rows], truth[rows]
        )
        outside = [
            i
            for name in frame.columns
            for i in np.flatnonzero(~np.isin(frame[name].to_numpy(), frame[name].to_numpy()[rows])).tolist()
        ]
        kept = np.setdiff1d(np.arange(len(truth)), outside)
        print(f"fraction {fraction:.3f}: {len(rows)} records, {len(tree.model_.cells)} leaves")  # noqa: T201
        started = time.perf_counter()
        known = infer_sensitive(tree, frame[rows])
        seconds = time.perf_counter() - started
        print("  " + line("known", known, truth[rows].tolist(), seconds))  # noqa: T201 - a benchmark prints
        for smallest in (None, 1):
            started = time.perf_counter()
            adversary = Adversary(training="sample", min_samples_leaf=smallest)
            found = infer_sensitive(tree, frame[kept], adversary=adversary)
            seconds = time.perf_counter() - started
            name = "all" if smallest is None else "all, min_samples_leaf=1"
            print("  " + line(name, found, truth[kept].tolist(), seconds), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
