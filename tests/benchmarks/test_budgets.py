"""Losses over budgets: no larger budget of the stored rows is worse, and a planted rise is found."""

from __future__ import annotations

import importlib
from typing import Any

from papers.common.results import Row, read
from tests.conftest import ROOT

budgets: Any = importlib.import_module("benchmarks.budgets")
ROWS = read(ROOT / "benchmarks" / "budgets.csv")


def test_no_larger_budget_is_worse() -> None:
    assert budgets.worse(ROWS) == []


def test_a_rise_that_each_dataset_hides_is_found_over_all() -> None:
    def planted(row: Row) -> Row:
        if (row["model"], row["epsilon"]) != ("additive", "8"):
            return row
        own = budgets.losses(ROWS, row["data"], "additive").mean()
        return {**row, "losses": " ".join(f"{float(value) + 0.015 * own:.5f}" for value in row["losses"].split())}

    assert budgets.worse([planted(row) for row in ROWS]) == [("all", "additive", "5", "8")]


def test_a_planted_rise_is_found() -> None:
    def planted(row: Row) -> Row:
        if (row["data"], row["model"], row["epsilon"]) != ("adult", "additive", "2"):
            return row
        return {**row, "losses": " ".join(f"{float(value) + 0.02:.5f}" for value in row["losses"].split())}

    rises = budgets.worse([planted(row) for row in ROWS])
    assert ("adult", "additive", "1.5", "2") in rises
    assert {(data, model, larger) for data, model, _, larger in rises if data != "all"} == {("adult", "additive", "2")}
