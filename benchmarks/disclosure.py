"""Disclosure of education by a tree of Adult's records, by remedy: ``python benchmarks/disclosure.py [--page]``.

The attacker knows the criterion, and uses the internal nodes. A row of ``disclosure.csv`` is a way to publish the
paper's tree. ``papers/decision-tree-disclosure/readers.py`` measures the readers of one tree, with their times.
GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from benchmarks.public_data import _adult_rows  # noqa: E402
from glassine.attacks.disclosure import Adversary  # noqa: E402
from glassine.attacks.disclosure.remedies import Remedies, measure_remedies  # noqa: E402
from glassine.attacks.remedy_table import DisclosureRemedy  # noqa: E402
from glassine.learners.multiway_tree import MultiwayTreeClassifier  # noqa: E402
from glassine.models import DecisionTree  # noqa: E402
from papers.common.results import Row  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

QUASI = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "income")
TREES = {"gini": 740, "entropy": 8}
"""Fewest records of a node that is split: about as many leaves as the published 518 and 2,983."""

TRIED = Remedies(merge_below=[5], purities=[], round_to=[20], epsilons=[], time_limit=600.0)
KEYS = [
    {"remedy": name}
    for name in (
        "class counts of the leaves",
        "error rates instead of counts",
        "labels alone",
        "leaves below 5 people merged",
        "counts rounded to 20",
    )
]


def paper(criterion: str) -> tuple[DecisionTree, pl.DataFrame, list[str]]:
    """Return the paper's records, and a multiway tree of about its size."""
    rows = [row for row in _adult_rows() if "?" not in row.values()]
    frame = pl.DataFrame({name: [row[name] for row in rows] for name in QUASI})
    labels = [row["education"] for row in rows]
    tree = MultiwayTreeClassifier(criterion=criterion, min_samples_split=TREES[criterion]).fit(frame, labels)
    return tree.model_, frame, labels


@cache
def remedies() -> dict[str, DisclosureRemedy]:
    """Return what was tried, by name."""
    adversary = Adversary(criterion="gini", internal_nodes=True)
    return {row.name: row for row in measure_remedies(*paper("gini"), adversary=adversary, remedies=TRIED).rows}


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the figures of one remedy."""
    found = remedies()[key["remedy"]]
    return {
        "leaves": found.n_leaves,
        "d_overall": found.d_overall,
        "accuracy": found.accuracy,
        "status": found.status,
        "reason": found.reason,
    }


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = [
        [
            row["remedy"] + (" (local optimum)" if row["status"] == "local" else ""),
            row["leaves"],
            f"{float(row['d_overall']):.3f}",
            f"{float(row['accuracy']):.1%}",
        ]
        for row in rows
    ]
    return {"remedies": markdown(["remedy", "leaves", "D_overall", "accuracy"], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
