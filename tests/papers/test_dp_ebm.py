"""The kept results of boosting reproduce the published tables, but for the rows that the page names."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[2] / "papers" / "dp-ebm"
NAMED = {("pol", "1"), ("pol", "2"), ("pol", "4")}
"""Rows of classic accounting that the page says are missed."""


def read(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(("table", "measure", "sign"), [(2, "auroc", -1), (3, "rmse", 1)])
@pytest.mark.parametrize(
    ("method", "printed"), [("boosting gdp", "DP-EBM GDP"), ("boosting classic", "DP-EBM classic")]
)
def test_boosting_is_within_two_published_deviations(
    table: int, measure: str, sign: int, method: str, printed: str
) -> None:
    published = {(row["dataset"], row["epsilon"], row["method"]): row for row in read(f"published_table_{table}.csv")}
    worse = set()
    found = [row for row in read(f"results/table_{table}.csv") if (row["method"], row["measure"]) == (method, measure)]
    assert len(found) == 5 * {2: 2, 3: 4}[table]
    for row in found:
        paper = published[row["dataset"], row["epsilon"], printed]
        # The paper prints Elevators with three digits and no deviation.
        rounding = 0.0005 if row["dataset"] == "elevators" else 0.0
        room = 2 * float(paper[f"{measure}_sd"]) + rounding
        if sign * (float(row["mean"]) - float(paper[f"{measure}_mean"])) > room:
            worse.add((row["dataset"], row["epsilon"]))
    assert worse == (NAMED if table == 3 and method == "boosting classic" else set())
