"""The results that statements are judged by, and differences of their figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from study import Row, read

NAMES = {"german": "German", "compas": "COMPAS", "adult": "Adult", "adult-pairs": "Adult, conjunctions"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The results that statements are judged by, the rows of the files of these names."""

    counts: Sequence[Row]
    accuracies: Sequence[Row]
    vulnerability: Sequence[Row]
    importance: Sequence[Row]
    noise: Sequence[Row]
    errors: Sequence[Row]
    attacks: Sequence[Row]
    trees: Sequence[Row]
    lists: Sequence[Row]
    lengths: Sequence[Row]
    pools: Sequence[Row]
    variations: Sequence[Row]


def figure(rows: Sequence[Row], setting: str, method: str, epsilon: str, name: str = "test") -> tuple[float, float]:
    """Return the mean of a figure, and its standard error."""
    for row in rows:
        if (row["setting"], row["method"], row["epsilon"]) == (setting, method, epsilon):
            return float(row[name]), float(row[f"{name}_error"])
    raise LookupError(f"no {name} of {method} on {setting} at epsilon {epsilon or 'none'}. Run figure_4.py.")


def less(one: tuple[float, float], other: tuple[float, float], margin: float = 0.0) -> tuple[float, float]:
    """Return the difference of two means less a margin, and its standard error."""
    return one[0] - other[0] - margin, math.hypot(one[1], other[1])


def evidence(results: Path) -> Evidence:
    """Return the results of a folder."""
    return Evidence(
        counts=[*read(results / "figure_2.csv"), *read(results / "figure_3.csv")],
        accuracies=read(results / "figure_4.csv"),
        vulnerability=read(results / "table_2_measured.csv"),
        importance=read(results / "table_3_measured.csv"),
        noise=read(results / "figure_1.csv"),
        errors=read(results / "table_1.csv"),
        attacks=read(results / "figure_6.csv"),
        trees=read(results / "trees.csv"),
        lists=read(results / "lists.csv"),
        lengths=read(results / "lengths.csv"),
        pools=read(results / "pools.csv"),
        variations=read(results / "variations.csv"),
    )
