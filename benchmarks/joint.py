"""Time and width of joint reconstruction: ``python benchmarks/joint.py [--page]``.

Trees of the public datasets in the folder GLASSINE_DATA, grown with random features so that they differ. The width is
that of the proved interval of bits per record; seconds are those of the processor. A row of ``joint.csv`` is one
setting; rows that are stored are not measured again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

from benchmarks.kept_rows import kept  # noqa: E402
from benchmarks.public_data import Benchmark, adult, adult_binarised, compas  # noqa: E402
from glassine import Category, Domain, as_model  # noqa: E402
from glassine.attacks.reconstruction.joint_rows import reconstruct_jointly  # noqa: E402
from glassine.models import DecisionTree  # noqa: E402
from papers.common.results import Row, one  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

SHOWN = {"COMPAS, 5,771 records": ("compas", 5771, 60, 2), "Adult, 5 numbers": ("adult", 32_561, 500, 2)}
"""The settings of the page's table."""
SETTINGS = [
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


def key_of(setting: tuple[str, int, int, int]) -> dict[str, str]:
    """Return what names the row of a setting."""
    return dict(zip(("data", "records", "leaves", "models"), map(str, setting), strict=True))


@cache
def warm() -> None:
    """Compile what is compiled at its first use."""
    grown, domain, _ = trees(compas(), 500, 5, 2)
    reconstruct_jointly(grown, domain)


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the figures of one setting."""
    warm()
    grown, domain, frame = trees(LOADERS[key["data"]](), *(int(key[name]) for name in ("records", "leaves", "models")))
    # Nearly all of it runs in one thread: the processor's time is that of a machine with nothing else to do.
    started = time.process_time()
    known = reconstruct_jointly(grown, domain)
    seconds = time.process_time() - started
    bits = known.bits_per_record
    return {
        "cells": 0 if known.cells is None else len(known.cells),
        "seconds": f"{seconds:.2g}",
        "alone": max(known.bits_alone),
        "lower": bits.lower,
        "upper": bits.upper,
        "width": bits.width,
        "independent": known.bits_if_independent,
        "aligned": reconstruct_jointly(grown, domain, data=frame).bits_aligned,
        "small groups": len(known.small_groups),
    }


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = []
    for name, setting in SHOWN.items():
        row = one(rows, **key_of(setting))
        alone, lower, upper, independent = (float(row[key]) for key in ("alone", "lower", "upper", "independent"))
        bits = (f"{alone:.2f}", f"{lower:.3f} to {upper:.3f}", f"{independent:.2f}")
        lines.append([name, row["leaves"], *bits, row["small groups"]])
    header = ["data", "leaves", "best alone", "together", "if independent", "small groups"]
    return {"several models": markdown(header, lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, [key_of(setting) for setting in SETTINGS], measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
