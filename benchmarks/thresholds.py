"""Members that thresholds identify, by the share among the candidates: ``python benchmarks/thresholds.py [--page]``.

Trees of 8,000 members grow to the end. The midpoint attack gets some of the members and 4,000 others as candidates. A
row of ``thresholds.csv`` is a model and a share of the members. GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from benchmarks.public_data import adult, california  # noqa: E402
from glassine.attacks import Measured, midpoint_attack  # noqa: E402
from papers.common.results import Row, one  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

MEMBERS, OTHERS = 8_000, 4_000
FOREST, TREE = "forest of 10, California", "tree, six numbers of Adult"
SHARES = {"1": "all members are candidates", "0.9": "nine of ten", "0.5": "half", "0": "none"}
KEYS = [{"model": model, "share": share} for model in (FOREST, TREE) for share in SHARES]


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return how many candidates are flagged, and which share of them are members."""
    data = california() if key["model"] == FOREST else adult()
    numbers = data.frame.select(pl.selectors.numeric())
    order = np.random.default_rng(0).permutation(len(numbers))[: MEMBERS + OTHERS]
    X, y = numbers[order].to_numpy().astype(np.float64), data.labels[order]
    if key["model"] == FOREST:
        forest = RandomForestClassifier(10, random_state=0)
        model = forest.fit(X[:MEMBERS], y[:MEMBERS] > np.median(y))
    else:
        model = DecisionTreeClassifier(random_state=0).fit(X[:MEMBERS], y[:MEMBERS])
    rows = np.r_[: round(float(key["share"]) * MEMBERS), MEMBERS : MEMBERS + OTHERS]
    found = midpoint_attack(model, X[rows], truth=rows < MEMBERS, random_state=0)
    if not isinstance(found, Measured):
        raise TypeError(f"the attack did not run: {found}")
    precision = found.value.precision
    return {"flagged": len(found.value.accused), "precision": None if precision is None else precision.value}


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""

    def cell(row: Row) -> str:
        flagged, precision = f"{int(row['flagged']):,}", row["precision"]
        return f"{float(precision):.2f} of {flagged}" if precision else f"{flagged} flagged"

    lines = [[model, *(cell(one(rows, model=model, share=share)) for share in SHARES)] for model in (FOREST, TREE)]
    return {"thresholds": markdown(["model", *SHARES.values()], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
