"""Outcomes that pure leaves of forests make certain only for members: ``python benchmarks/pure_leaves.py [--page]``.

A row is a forest of two classes. ``worst`` is what the check ``certain_by_membership`` judges: of the tree that makes
most outcomes certain, the share of records by the rule of three. ``gain`` is measured: how much more often the pure
leaves of all trees, where they agree, give the outcome of members than that of others; ``right`` is by how much the
forest is right more often for members, ``covered`` the share of members in a pure leaf of some tree whose others agree.
A setting is the mean of two draws; the limit 0.04 was chosen before, on single trees. GLASSINE_DATA names the folder of
the datasets.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.ensembles import loaded  # noqa: E402 - after the path is set
from benchmarks.kept_rows import kept  # noqa: E402
from benchmarks.regressions import auc, interval  # noqa: E402
from glassine.formats.judged import as_ensemble  # noqa: E402
from papers.common.results import Row  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

LIMIT, MOST_OTHERS = 0.04, 3_000
DATASETS = ("compas", "telco", "wine", "elevators", "adult", "california")
LEARNERS = ("random forest", "extra trees")
KEYS = [
    {"dataset": data, "draw": str(draw), "n": n, "learner": learner, "leaf": leaf, "trees": trees}
    for data, draw, n, learner, leaf, trees in product(
        DATASETS, range(2), ("1000", "3000"), LEARNERS, ("1", "5", "20", "50", "100"), ("10", "50")
    )
]
records = lru_cache(maxsize=1)(loaded)


def measured(key: Mapping[str, str]) -> Row:
    """Return the row of one forest."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    warnings.simplefilter("ignore")
    x, y, _ = records(key["dataset"])
    n, draw = int(key["n"]), int(key["draw"])
    order = np.random.default_rng([draw, n, *key["dataset"].encode()]).permutation(len(x))
    inside, outside = order[:n], order[n : n + MOST_OTHERS]
    kind = RandomForestClassifier if key["learner"] == "random forest" else ExtraTreesClassifier
    model = kind(int(key["trees"]), min_samples_leaf=int(key["leaf"]), random_state=draw).fit(x[inside], y[inside])
    certain, n_records = as_ensemble(model).certain or (0, 1)
    sides = [by_pure_leaves(model, x[part], y[part]) for part in (inside, outside)]
    right = [float(np.mean(model.predict(x[part]) == y[part])) for part in (inside, outside)]
    return {
        "worst": f"{certain / n_records:.4f}",
        "gain": f"{sides[0][1] - sides[1][1]:.4f}",
        "right": f"{right[0] - right[1]:.4f}",
        "covered": f"{sides[0][0]:.3f}",
    }


def by_pure_leaves(model: Any, x: Any, y: Any) -> tuple[float, float]:
    """Return for how many records the pure leaves of all trees agree, and give their outcome."""
    cells = model.apply(x)
    votes = np.zeros((len(x), 2), dtype=bool)
    for place, member in enumerate(model.estimators_):
        shares = member.tree_.value[:, 0, :][cells[:, place]]
        votes |= shares / shares.sum(axis=1, keepdims=True) > 1 - 1e-9
    agreed = votes.sum(axis=1) == 1
    return float(agreed.mean()), float(np.mean(agreed & (votes.argmax(axis=1) == y)))


def settings(rows: Sequence[Row]) -> list[dict[str, float]]:
    """Return the mean figures of each setting over its draws."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in ("dataset", "n", "learner", "leaf", "trees")), []).append(row)
    names = ("worst", "gain", "right")
    return [{name: float(np.mean([float(row[name]) for row in own])) for name in names} for own in found.values()]


def tables(rows: Sequence[Row]) -> Mapping[str, str]:
    """Return the table of the page."""
    found = settings(rows)
    worst = np.array([one["worst"] for one in found])
    lines = []
    for what, harm in (
        ("outcomes by pure leaves, 4 points more often", [one["gain"] >= LIMIT for one in found]),
        ("outcomes by the forest, 5 points more often", [one["right"] >= 0.05 for one in found]),
    ):
        bad, flagged = np.array(harm), worst > LIMIT
        caught, spared = int((flagged & bad).sum()), int((~flagged & ~bad).sum())
        lines.append(
            (
                what,
                f"{len(bad)} ({int(bad.sum())})",
                f"{auc(worst, bad):.3f}",
                interval(caught, int(bad.sum())),
                interval(spared, int((~bad).sum())),
            )
        )
    return {
        "pure leaves": markdown(("members right", "settings (harmful)", "AUC", "sensitivity", "specificity"), lines)
    }


if __name__ == "__main__":
    kept(__file__, __doc__, KEYS, measured, tables)
