"""What the page on regressions and ensembles says is what the stored rows say, and meets what was asked of it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks import ensembles, regressions
from benchmarks.kept_rows import filled
from glassine import Policy


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def rates(table: str, kind: str, rule: str) -> tuple[float, float]:
    """Return sensitivity and specificity of a line of a table of rules."""
    cells = next(line.split(" | ") for line in table.splitlines() if line.startswith(f"| {kind}: ") and rule in line)
    return float(cells[3].split()[0]), float(cells[4].split()[0])


@pytest.mark.parametrize("module", [regressions, ensembles])
def test_the_page_has_the_tables_of_the_rows(module: object) -> None:
    tables = regressions.tables() if module is regressions else ensembles.tables()
    assert all(page.read_text() == text for page, text in filled(tables).items())


def test_each_kind_reaches_what_was_asked_for() -> None:
    linear, trees = regressions.tables()["regressions"], ensembles.tables()["ensembles"]
    for table, kind in ((linear, "logistic"), (linear, "linear"), (trees, "all"), (trees, "without Adult")):
        for rule in ("parameters / n",) if table is linear else ("q v", "the file alone"):
            found = rates(table, kind, rule)
            assert found[0] >= 0.90, (kind, rule)
            assert found[1] >= 0.80, (kind, rule)
    # At least 100 regressions, and 150 ensembles.
    assert len(rows(regressions.OUT)) >= 100
    assert len(rows(ensembles.OUT)) >= 150


def test_no_bound_by_errors_exceeds_a_count() -> None:
    found = rows(regressions.OUT)
    totals = {name: sum(int(row[name] or 0) for row in found) for name in regressions.COUNTED}
    assert totals["indicators"] >= 1_000
    assert totals["violations"] == totals["rounded"] == 0
    # Robust errors would break the bound, so that they are refused.
    assert totals["robust"] > 100


def test_no_forest_that_shadow_models_break_is_within_policy() -> None:
    found = rows(ensembles.AUDITS)
    broken = [row for row in found if "leaves of 20" in row["learner"] and float(row["shadow_advantage"]) >= 0.095]
    assert len(broken) == 6
    assert all(row["verdict"] != "within policy" for row in broken)


def test_boosted_thresholds_fail_where_there_is_somebody_to_name() -> None:
    limit = Policy().named_by_thresholds
    assert limit is not None
    boosted = [row for row in rows(ensembles.AUDITS) if row["nameable"]]
    for row in boosted:
        assert int(row["accused"]) <= int(row["nameable"])
        if row["named_by_thresholds"] == "fail":
            assert int(row["nameable"]) > limit
        if int(row["nameable"]) <= limit:
            assert row["named_by_thresholds"] == "pass"
    assert {row["dataset"] for row in boosted if row["named_by_thresholds"] == "fail"} == {"california"}
