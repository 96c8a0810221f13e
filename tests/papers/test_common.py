"""What the papers' scripts share: rows that are resumed, tables between marks, verdicts that follow from figures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from papers.common.judging import CONFIRMED, PARTLY, REFUTED, Judgement, judged, verdict
from papers.common.results import Row, one, read, resume, text, write
from papers.common.tables import digits, fill, markdown, percent, scientific, whole
from tests.conftest import ROOT


def test_a_row_is_measured_once_and_rows_stand_in_order(tmp_path: Path) -> None:
    path, asked = tmp_path / "rows.csv", []

    def measure(key: Mapping[str, str]) -> Mapping[str, object]:
        asked.append(key["k"])
        if len(asked) == 2:
            raise KeyboardInterrupt
        return {"figure": 1 / int(key["k"]), "note": None}

    keys = [{"k": k} for k in ("3", "7", "9")]
    with pytest.raises(KeyboardInterrupt):
        resume(path, keys, measure)
    assert [row["k"] for row in read(path)] == ["3"]
    rows = resume(path, keys[::-1], measure)
    assert asked == ["3", "7", "9", "7"]
    assert rows == [
        {"k": "9", "figure": "0.111111", "note": ""},
        {"k": "7", "figure": "0.142857", "note": ""},
        {"k": "3", "figure": "0.333333", "note": ""},
    ]
    assert not list(tmp_path.glob("*.new"))


def test_a_row_that_is_no_longer_asked_for_is_kept_last(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    write(path, [{"k": "old", "figure": 1}])
    rows = resume(path, [{"k": "new"}], lambda key: {"figure": 2.0})
    assert [row["k"] for row in rows] == ["new", "old"]


def test_significant_digits_are_those_that_are_asked_for(tmp_path: Path) -> None:
    assert (text(1 / 3), text(1 / 3, 7), text(None), text(5)) == ("0.333333", "0.3333333", "", "5")
    write(tmp_path / "a.csv", [{"x": 2 / 3}], 7)
    assert read(tmp_path / "a.csv") == [{"x": "0.6666667"}]
    assert read(tmp_path / "none.csv") == []


def test_one_row_is_one() -> None:
    rows = [{"a": "1", "b": "x"}, {"a": "1", "b": "y"}]
    assert one(rows, a="1", b="y") == rows[1]
    with pytest.raises(LookupError, match="2 rows"):
        one(rows, a="1")


def test_figures_are_printed_as_they_are_read() -> None:
    assert (digits("-0.0001"), digits("1234.5", 1), digits("")) == ("0.000", "1,234.5", "")
    assert (whole("1234.5"), whole("")) == ("1,234", "")
    assert (percent("-0.0"), percent("0.125")) == ("0.0 %", "12.5 %")
    assert (scientific("0.000123"), scientific("")) == ("0.00012", "")
    assert markdown(["a"], [["x|y"]]) == "| a |\n| --- |\n| x\\|y |"


def test_tables_stand_between_their_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = "before\n<!-- table: made -->\nold\n<!-- end -->\nafter \\1"
    tables = {"made": lambda results: f"new \\1 {results.name}"}
    filled = fill(page, tables, tmp_path)
    assert filled == f"before\n<!-- table: made -->\nnew \\1 {tmp_path.name}\n<!-- end -->\nafter \\1"
    assert fill(filled, tables, tmp_path) == filled
    for wrong in ("no mark", page + page):
        with pytest.raises(LookupError, match="made"):
            fill(wrong, tables, tmp_path)


def small(found: list[float]) -> Judgement:
    return verdict(max(found) < 1, but=min(found) < 0), f"up to {max(found)}"


@pytest.mark.parametrize(
    ("found", "told"), [([0.5], CONFIRMED), ([-1, 0.5], PARTLY), ([2], REFUTED), ([-1, 2], REFUTED)]
)
def test_a_verdict_follows_from_the_figures(tmp_path: Path, found: list[float], told: str) -> None:
    path = tmp_path / "statements.csv"
    write(path, [{"where": "1", "claim": "c", "judge": "small", "reason": "r"}])
    row: Row = {"where": "1", "claim": "c", "verdict": told, "here": f"up to {max(found)}", "reason": "r"}
    assert judged(path, (small,), found) == [row]


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["decision-tree-disclosure", "microaggregation-surrogates"])
def test_claims_are_judged_as_kept(tmp_path: Path, paper: str) -> None:
    """Run from anywhere, the script writes the kept verdicts byte for byte."""
    folder = ROOT / "papers" / paper
    for kept in (folder / "results").glob("*.csv"):
        if kept.name != "claims.csv":
            (tmp_path / kept.name).write_bytes(kept.read_bytes())
    command = [sys.executable, str(folder / "claims.py"), "--results", str(tmp_path), "--images", str(tmp_path)]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert (tmp_path / "claims.csv").read_bytes() == (folder / "results" / "claims.csv").read_bytes()
