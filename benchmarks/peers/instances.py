"""Seeded tasks for the comparison with other optimal learners: ``python benchmarks/peers/instances.py FILE.npz``.

Fifty datasets for trees and fifty for rule lists, of 60 to 5,000 records and 6 to 24 columns, with labels that a tree
or a rule list gives, and noise. Where the datasets of the project are found, samples of COMPAS and Adult follow.
Each is a task with a penalty and a task without.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
from protocol import Task, write

ROOT = Path(__file__).resolve().parents[2]
N_EACH = 50
REAL = {"compas": Path("compas/compas.csv"), "adult": Path("adult/adult_binarised.csv")}


def columns(rng: np.random.Generator, n: int, p: int) -> Any:
    """Return a 0/1 matrix of independent columns, ordered thresholds of a number and categories of an attribute."""
    parts: list[Any] = []
    width = 0
    while width < p:
        most = min(int(rng.integers(2, 6)), p - width)
        kind = rng.integers(3)
        if kind == 0:
            part = rng.random((n, most)) < rng.uniform(0.1, 0.9, most)
        elif kind == 1:
            part = rng.normal(size=(n, 1)) > np.sort(rng.normal(size=most))
        else:
            part = rng.integers(most, size=(n, 1)) == np.arange(most)
        parts.append(part)
        width += most
    return np.concatenate(parts, axis=1)[:, rng.permutation(p)].astype(np.uint8)


def grown_labels(rng: np.random.Generator, X: Any, depth: int, n_labels: int) -> Any:
    """Return the labels that a random tree gives."""
    if depth == 0 or rng.random() < 0.1:
        return np.full(len(X), rng.integers(n_labels))
    holds = X[:, rng.integers(X.shape[1])] == 1
    sides = [grown_labels(rng, X, depth - 1, n_labels) for _ in range(2)]
    return np.where(holds, *sides)


def listed_labels(rng: np.random.Generator, X: Any, n_rules: int) -> Any:
    """Return the labels that a random rule list gives, of rules that hold or that do not."""
    y = np.zeros(len(X), dtype=np.int64)
    for k, i in enumerate(rng.permutation(X.shape[1])[:n_rules]):
        y[X[:, i] == rng.integers(2)] = 1 if k == 0 else rng.integers(2)
    return y


def noisy(rng: np.random.Generator, y: Any, n_labels: int) -> Any:
    """Return the labels with up to a quarter of them drawn anew, coded 0, 1, ..., at least two of them."""
    y = np.where(rng.random(len(y)) < rng.uniform(0.0, 0.25), rng.integers(n_labels, size=len(y)), y)
    y[:2] = [0, 1]
    return np.unique(y, return_inverse=True)[1].astype(np.int64)


def priced(name: str, kind: str, X: Any, y: Any, room: int, share: float) -> list[Task]:
    """Return a task without a penalty, and one whose penalty is this share of the records."""
    penalties = (0, max(1, round(share * len(y))))
    return [Task(name=name, kind=kind, X=X, y=y, room=room, penalty=penalty) for penalty in penalties]


def synthetic(kind: str, seed: int) -> list[Task]:
    """Return the tasks of one seed."""
    rng = np.random.default_rng([seed, 0 if kind == "tree" else 1])
    n = round(float(np.exp(rng.uniform(np.log(60), np.log(5001)))))
    X = columns(rng, n, int(rng.integers(6, 25)))
    if kind == "tree":
        room, n_labels = 2 + seed % 3, 3 if seed % 5 == 4 else 2
        y = noisy(rng, grown_labels(rng, X, room + 1, n_labels), n_labels)
        return priced(f"tree-{seed:02d}", kind, X, y, room, float(rng.uniform(0.002, 0.02)))
    room = 2 + seed % 4
    y = noisy(rng, listed_labels(rng, X, room), 2)
    return priced(f"list-{seed:02d}", kind, X, y, room, float(rng.uniform(0.003, 0.02)))


def data_dir() -> Path | None:
    """Return the folder of the datasets, if there is one; GLASSINE_DATA names it."""
    folder = Path(os.environ.get("GLASSINE_DATA", ROOT.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


def real(folder: Path) -> list[Task]:
    """Return the tasks of samples of the real datasets."""
    tasks: list[Task] = []
    for name, path in REAL.items():
        with (folder / path).open(newline="") as stream:
            table = np.array(list(csv.reader(stream))[1:], dtype=np.uint8)
        for i, n in enumerate((500, 2000, 5000, 7214)):
            rows = table[np.random.default_rng([i, len(table)]).choice(len(table), n, replace=False)]
            X, y = rows[:, :-1], rows[:, -1].astype(np.int64)
            tasks += priced(f"{name}-{n}", "tree", X, y, min(2 + i, 4), 0.005)
            tasks += priced(f"{name}-{n}", "list", X, y, min(3 + i, 5), 0.003 if n > 5000 else 0.005)
    return tasks


def instances() -> list[Task]:
    """Return every task."""
    folder = data_dir()
    made = [task for kind in ("tree", "list") for seed in range(N_EACH) for task in synthetic(kind, seed)]
    return made + (real(folder) if folder else [])


def main() -> None:
    """Write every task to a file and say how many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    tasks = instances()
    write(arguments.file, tasks)
    counts = {kind: sum(task.kind == kind for task in tasks) for kind in ("tree", "list")}
    print(f"{counts['tree']} tasks for trees, {counts['list']} for rule lists")  # noqa: T201 - what was asked for


if __name__ == "__main__":
    main()
