"""What the papers' scripts share: rows of CSV files that are resumed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from papers.common.results import one, read, resume, text, write


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
