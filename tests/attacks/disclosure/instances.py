"""Random small training sets and the trees that are grown on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import DecisionTree

Training = tuple[pl.DataFrame, list[str], DecisionTree]


def categories(
    seed: int,
    *,
    n: int = 40,
    n_classes: int = 3,
    criterion: str = "gini",
    values: int = 3,
    attributes: int = 3,
    **more: Any,
) -> Training:
    """Return people with categories alone, their classes, and a multiway tree."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {f"a{i}": [f"v{v}" for v in rng.integers(0, rng.integers(2, values + 1), n)] for i in range(attributes)}
    )
    first = np.array([int(v[1]) for v in frame["a0"].to_list()])
    labels = np.where(rng.random(n) < 0.4, first % n_classes, rng.integers(0, n_classes, n))
    y = [f"c{c}" for c in labels]
    options: dict[str, Any] = {"min_samples_split": 5, "classes": tuple(f"c{c}" for c in range(n_classes))} | more
    return frame, y, MultiwayTreeClassifier(criterion=criterion, **options).fit(frame, y).model_


def parity(
    seed: int, *, n: int = 40, n_classes: int = 3, criterion: str = "gini", values: int = 3, split: int = 6
) -> Training:
    """Return people whose class depends on sums of categories, and a multiway tree: its upper nodes tell something.

    A node whose branches are all leaves tells nothing that its leaves do not: an estimate that gives everybody in a
    leaf the same distribution mixes them in every candidate.
    """
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, values, (n, 4))
    frame = pl.DataFrame({f"a{i}": [f"v{v}" for v in codes[:, i]] for i in range(4)})
    sums = codes[:, 0] + codes[:, 1] + (codes[:, 2] == 1)
    labels = np.where(rng.random(n) < 0.1, rng.integers(0, n_classes, n), sums % n_classes)
    y = [f"c{c}" for c in labels]
    classes = tuple(f"c{c}" for c in range(n_classes))
    return (
        frame,
        y,
        MultiwayTreeClassifier(criterion=criterion, min_samples_split=split, classes=classes).fit(frame, y).model_,
    )


def mixed(seed: int, *, n: int = 60, n_classes: int = 2) -> tuple[pl.DataFrame, list[str]]:
    """Return people with numbers and categories, and their classes."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 30, n),
            "hours": rng.choice([0.5, 1.25, 7.75], n),
            "job": rng.choice(["clerk", "baker", "pilot"], n).tolist(),
        }
    )
    chance = (frame["age"].to_numpy() > 25) + (frame["job"].to_numpy() == "pilot")
    labels = (chance + rng.integers(0, n_classes, n)) % n_classes
    return frame, [f"c{c}" for c in labels]


def disguised() -> tuple[pl.DataFrame, list[str], pl.DataFrame]:
    """Return the six people of Example 1, their salaries, and the four quasi-identifiers."""
    quasi = pl.DataFrame({"education": ["phd", "msc", "phd", "msc"], "age": ["young", "mid", "mid", "old"]})
    rows = [0, 0, 1, 2, 3, 3]
    return quasi[rows], ["<=50K", "<=50K", "<=50K", ">50K", ">50K", ">50K"], quasi
