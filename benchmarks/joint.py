"""Time and width of joint reconstruction: ``python benchmarks/joint.py [--quick] [--json FILE]``.

Trees of the public datasets in the folder GLASSINE_DATA, grown with random features so that they differ. The width is
that of the proved interval of bits per record; seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

from benchmarks.public_data import Benchmark, adult, adult_binarised, compas  # noqa: E402
from glassine import Category, Domain, as_model  # noqa: E402
from glassine.attacks.reconstruction.joint import reconstruct_jointly  # noqa: E402
from glassine.models import DecisionTree  # noqa: E402

QUICK = [("compas", 5771, 20, 2), ("compas", 5771, 60, 2), ("adult", 32_561, 500, 2)]
WHOLE = [
    ("compas", 1000, 60, 2),
    ("compas", 2500, 60, 2),
    ("compas", 5771, 10, 2),
    ("compas", 5771, 30, 2),
    ("compas", 5771, 60, 2),
    ("compas", 5771, 120, 2),
    ("compas", 5771, 20, 3),
    ("compas", 5771, 20, 5),
    ("compas", 5771, 60, 3),
    ("adult_binarised", 48_842, 60, 2),
    ("adult_binarised", 48_842, 500, 2),
    ("adult", 32_561, 60, 2),
    ("adult", 32_561, 500, 2),
    ("adult", 32_561, 60, 3),
]
LOADERS = {"compas": compas, "adult": adult, "adult_binarised": adult_binarised}


def numeric(data: Benchmark) -> tuple[Any, Domain]:
    """Return the columns that scikit-learn takes as they are, with their domain."""
    names = [name for name in data.domain if not isinstance(data.domain[name], Category)]
    if len(names) == len(data.domain):
        return data.frame.to_pandas(), data.domain
    return data.frame.select(names).to_pandas(), Domain({name: data.domain[name] for name in names})


def trees(data: Benchmark, n: int, leaves: int, models: int) -> tuple[list[DecisionTree], Domain, Any]:
    """Return trees of the same sampled records, their domain, and the records."""
    frame, domain = numeric(data)
    rows = np.random.default_rng(0).permutation(len(frame))[:n]
    frame, labels = frame.iloc[rows], data.labels[rows]
    grown = [
        DecisionTreeClassifier(
            max_leaf_nodes=leaves, max_features="sqrt", criterion=("gini", "entropy")[seed % 2], random_state=seed
        ).fit(frame, labels)
        for seed in range(models)
    ]
    return [as_model(tree, domain) for tree in grown], domain, frame


def measure(name: str, n: int, leaves: int, models: int) -> dict[str, Any]:
    """Return the figures of one setting."""
    grown, domain, frame = trees(LOADERS[name](), n, leaves, models)
    # Nearly all of it runs in one thread: the processor's time is that of a machine with nothing else to do.
    started = time.process_time()
    known = reconstruct_jointly(grown, domain)
    seconds = time.process_time() - started
    bits = known.bits_per_record
    aligned = reconstruct_jointly(grown, domain, data=frame).bits_aligned
    return {
        "data": name,
        "records": n,
        "leaves": leaves,
        "models": models,
        "cells": 0 if known.cells is None else len(known.cells),
        "seconds": round(seconds, 2),
        "alone": round(max(known.bits_alone), 3),
        "lower": round(bits.lower, 4),
        "upper": round(bits.upper, 4),
        "width": round(bits.width, 4),
        "independent": round(known.bits_if_independent, 3),
        "aligned": None if aligned is None else round(aligned, 3),
        "small groups": len(known.small_groups),
    }


def main() -> None:
    """Print a table, a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three settings alone")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    measure("compas", 500, 5, 2)  # compiles what is compiled at its first use
    rows: list[dict[str, Any]] = []
    for setting in QUICK if arguments.quick else WHOLE:
        rows.append(measure(*setting))
        if len(rows) == 1:
            print("| " + " | ".join(rows[0]) + " |")  # noqa: T201 - the table is the result
            print("|" + "---|" + "---:|" * (len(rows[0]) - 1))  # noqa: T201
        print("| " + " | ".join(str(value) for value in rows[-1].values()) + " |", flush=True)  # noqa: T201
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
