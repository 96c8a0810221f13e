"""Columns that nothing declares, read from a CSV file."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
import pytest

from glassine.data.delimited import CsvDialect
from glassine.data.sources import read_table

KINDS: dict[str, tuple[tuple[str, ...], list[Any]]] = {
    "whole": (("1", "", "-20"), [1, None, -20]),
    "codes": (("01", "12", "7"), ["01", "12", "7"]),
    "real": (("1.5", "?", " 1e3 "), [1.5, None, 1000.0]),
    "huge": (("1", "123456789012345678901", "5"), ["1", "123456789012345678901", "5"]),
    "truths": (("true", "NA", "False"), [True, None, False]),
    "truth and number": (("true", "1", "0"), ["true", "1", "0"]),
    "words": (("1.5", "a", ""), ["1.5", "a", None]),
    "infinity": (("inf", "1.5", "-Infinity"), [float("inf"), 1.5, float("-inf")]),
    "nothing": (("", "NA", "?"), [None, None, None]),
    "^whole$": (("a", "b", "c"), ["a", "b", "c"]),
    "comma": (("1,5", "2", "1.234,5"), [1.5, 2.0, 1234.5]),
    "point": (("1.5", "1.234", "1,5"), ["1.5", "1.234", "1,5"]),
    "thousands": (("1.234", "2", "3"), [1234, 2, 3]),
}
WITH_COMMAS = ("comma", "point", "thousands")


def written(path: Path, names: list[str]) -> Path:
    """Write a file of some of the columns."""
    rows = zip(*(KINDS[name][0] for name in names), strict=True)
    path.write_text("\n".join([";".join(names), *(";".join(row) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize("comma", [False, True])
def test_each_column_is_read_as_if_it_stood_alone(comma: bool, tmp_path: Path) -> None:
    dialect = CsvDialect(separator=";", header=True, decimal_comma=comma)
    names = [name for name in KINDS if comma or name not in WITH_COMMAS]
    whole = read_table(written(tmp_path / "all.csv", names), dialect=dialect).frame.to_native()
    assert whole.columns == names
    for name in names:
        assert whole[name].to_list() == KINDS[name][1], name
        alone = whole
        if name != "nothing":
            alone = read_table(written(tmp_path / "one.csv", [name]), dialect=dialect).frame.to_native()
        assert alone[name].equals(whole[name], check_dtypes=True, null_equal=True), name


def test_thousands_of_columns_take_no_more_queries_than_a_few(tmp_path: Path) -> None:
    queries = [0]

    def look(_frame: FrameType, event: str, function: Any) -> None:
        queries[0] += event == "c_call" and function.__name__ == "collect"

    taken = []
    for times in (1, 30):
        path = tmp_path / f"{times}.csv"
        names = [f"{name}{i}" for i in range(times) for name in ("a", "b", "c", "d")]
        rows = (("1", "0.5", "true", "word"), ("2", "", "false", "another"))
        path.write_text("\n".join([",".join(names), *(",".join(row * times) for row in rows)]) + "\n")
        queries[0] = 0
        sys.setprofile(look)
        try:
            frame = read_table(path).frame.to_native()
        finally:
            sys.setprofile(None)
        taken.append(queries[0])
        assert frame.dtypes == [pl.Int64, pl.Float64, pl.Boolean, pl.String] * times
    assert taken[0] == taken[1] > 0
