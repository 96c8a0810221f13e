"""Benchmarks of disclosure by decision trees: ``python benchmarks/disclosure.py [--json FILE]``.

The setting of the paper: 30,162 records of ``adult.data`` without missing values, eight quasi-identifiers, education as
the sensitive attribute. Each reader runs in a process of its own, so that its peak memory is its own. The published
number of constraints stands beside ours. GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
from public_data import ADULT_COLUMNS, DATA, _adult_rows
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from glassine import as_model
from glassine.attacks.disclosure import Adversary, infer_sensitive
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import DecisionTree

QUASI = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "income")
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
TREES = {"gini": 740, "entropy": 8}
"""Fewest records of a node that is split: about as many leaves as the published 518 and 2,983."""

PUBLISHED = {"gini": (518, 7770, 1097), "entropy": (2983, 44745, 3307)}
RUNS = (
    ("gini", "leaf_counts", True),
    ("gini", "leaf_counts", False),
    ("gini", "error_rates", True),
    ("gini", "labels_only", True),
    ("entropy", "leaf_counts", True),
    ("entropy", "leaf_counts", False),
    ("cart", "leaf_counts", True),
)


def paper(criterion: str) -> tuple[DecisionTree, pl.DataFrame, list[str]]:
    """Return the paper's records, and a multiway tree of about its size."""
    rows = [row for row in _adult_rows() if "?" not in row.values()]
    frame = pl.DataFrame({name: [row[name] for row in rows] for name in QUASI})
    labels = [row["education"] for row in rows]
    tree = MultiwayTreeClassifier(criterion, min_samples_split=TREES[criterion]).fit(frame, labels)
    return tree.model_, frame, labels


def cart() -> tuple[DecisionTree, pl.DataFrame, list[str]]:
    """Return all 32,561 records of ``adult.data``, and a CART of 500 leaves on numbers and dummies for income."""
    rows = _adult_rows()
    others = [name for name in ADULT_COLUMNS if name not in (*NUMBERS, "income")]
    frame = pl.DataFrame(
        {name: [int(row[name]) for row in rows] for name in NUMBERS}
        | {name: [row[name] for row in rows] for name in others}
    )
    labels = [row["income"] for row in rows]
    encoder = make_column_transformer((OneHotEncoder(), others), remainder="passthrough")
    tree = make_pipeline(encoder, DecisionTreeClassifier(max_leaf_nodes=500, random_state=0))
    model = as_model(tree.fit(frame.to_pandas(), labels))
    if not isinstance(model, DecisionTree):
        raise TypeError("a CART is a decision tree")
    return model, frame, labels


def run(which: str, leaves: Any, internal_nodes: bool) -> dict[str, Any]:
    """Return the figures of one reader."""
    model, frame, labels = cart() if which == "cart" else paper(which)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    criterion: Any = "gini" if which == "cart" else which
    adversary = Adversary(leaves, internal_nodes=internal_nodes, criterion=criterion)
    started, used = time.perf_counter(), time.process_time()
    disclosure = infer_sensitive(model, frame, adversary=adversary)
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    counts = disclosure.counts
    return {
        "tree": which,
        "reader": adversary.describe(),
        "leaves": len(disclosure.leaves.sizes),
        "constraints (rate, label, internal)": [counts.rate, counts.label, counts.internal],
        "published": list(PUBLISHED.get(which, ())),
        "internal nodes": len(disclosure.people.splits),
        "active": counts.active,
        "status": disclosure.status,
        "gap, nats a person": disclosure.gap,
        "entropy left": disclosure.entropy,
        "d_overall": disclosure.d_overall(labels),
        "d_overall, leaves alone": disclosure.compare(labels)[1].d_overall,
        "seconds": round(seconds, 2),
        "processor seconds": round(processor, 2),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000,
        "peak MB before": before // 1000,
        "notes": list(disclosure.notes),
    }


def main() -> None:
    """Run every reader in its own process and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", type=int)
    arguments = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"the datasets are not in {DATA}; GLASSINE_DATA names their folder")
    if arguments.one is not None:
        print(json.dumps(run(*RUNS[arguments.one])))  # noqa: T201 - a benchmark prints
        return
    figures = []
    for i in range(len(RUNS)):
        command = [sys.executable, __file__, "--one", str(i)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own file
        figures.append(json.loads(done.stdout.splitlines()[-1]))
        for name, value in figures[-1].items():
            print(f"{name}: {value}")  # noqa: T201
        print(flush=True)  # noqa: T201
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
