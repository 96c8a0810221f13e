"""Columns that nothing declares, read from a CSV file."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from glassine import Domain, Integer
from glassine.data.identifiers import repeats
from glassine.data.record_table import RecordTable
from glassine.data.sources import _in_blocks, read_table
from glassine.errors import InvalidDataError, UnreadableFileError
from glassine.records.headers import PLAIN, CsvDialect, RecordsFile, columns_of_file
from glassine.records.lines import DelimitedText
from glassine.records.purpose import Purpose

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


def read(path: Path, dialect: CsvDialect = PLAIN) -> RecordTable:
    return read_table(RecordsFile(path=path, dialect=dialect), Purpose.ORDINARY)


def written(path: Path, names: list[str]) -> Path:
    """Write a file of some of the columns."""
    rows = zip(*(KINDS[name][0] for name in names), strict=True)
    path.write_text("\n".join([";".join(names), *(";".join(row) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize("comma", [False, True])
def test_each_column_is_read_as_if_it_stood_alone(comma: bool, tmp_path: Path) -> None:
    dialect = CsvDialect(separator=";", header=True, decimal_comma=comma)
    names = [name for name in KINDS if comma or name not in WITH_COMMAS]
    whole = read(written(tmp_path / "all.csv", names), dialect).frame.to_native()
    assert whole.columns == names
    for name in names:
        assert whole[name].to_list() == KINDS[name][1], name
        alone = whole
        if name != "nothing":
            alone = read(written(tmp_path / "one.csv", [name]), dialect).frame.to_native()
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
            frame = read(path).frame.to_native()
        finally:
            sys.setprofile(None)
        taken.append(queries[0])
        assert frame.dtypes == [pl.Int64, pl.Float64, pl.Boolean, pl.String] * times
    assert taken[0] == taken[1] > 0


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.xlsx", b"PK\x03\x04" + b"\0\x01\n" * 40, "a ZIP archive or an Excel workbook"),
        ("a.xls", b"\xd0\xcf\x11\xe0\n\n", "an Excel workbook"),
        ("a.csv.gz", b"\x1f\x8b\x08\0\0", "a gzip file"),
        ("a.arrow", b"ARROW1\0\0\n,", "an Arrow file"),
        ("a.db", b"SQLite format 3\0\n", "a SQLite database"),
        ("a.duckdb", b"\xf7\xab\xcf\x11%#\xd7\xf6DUCK\x40" + b"\0" * 7, "a DuckDB database"),
        ("a.arrows", b"\xff\xff\xff\xff\xa8\0\0\0", "an Arrow stream"),
        ("a.json", b' [{"x": 1}]', "JSON"),
        ("named.csv", b'{"x": 1}\n{"x": 2}\n', "JSON of a line for each record"),
        ("a.jsonl", b'{"x": 1}\n{"x": 2}\n', "JSON"),
        ("a.sas7bdat", b"\0" * 32 + b"x\n", "holds bytes that are no text"),
    ],
)
def test_files_that_are_no_table_of_text_are_named_for_what_they_are(
    name: str, data: bytes, why: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UnreadableFileError, match=why) as caught:
        read_table(RecordsFile(path=tmp_path / name), Purpose.PRIVATE)
    assert "CSV file with a header" in str(caught.value.remedy)


@pytest.mark.parametrize("names", [("PK", "ARROW1"), ("ARROW1", "x"), ("persons", "DUCKS"), ("{x}", "y"), ("[", "]")])
def test_a_column_may_be_named_like_a_mark_of_a_file(names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes((",".join(names) + "\n1,2\n").encode())
    assert read(tmp_path / "a.csv").names == names


def written_by_sqlite(frame: pl.DataFrame, path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE records (age INTEGER, word TEXT)")
        connection.executemany("INSERT INTO records VALUES (?, ?)", frame.rows())


def written_by_duckdb(frame: pl.DataFrame, path: Path) -> None:
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE records AS SELECT * FROM frame")


WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "it's.arrow": pl.DataFrame.write_ipc,
    "a.arrows": pl.DataFrame.write_ipc_stream,
    "a.json": pl.DataFrame.write_json,
    "a b.jsonl": pl.DataFrame.write_ndjson,
    "a.sqlite": written_by_sqlite,
    "a.duckdb": written_by_duckdb,
}


@pytest.mark.parametrize("name", WRITERS)
def test_how_another_form_is_converted_runs(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [41, 52, 38], "word": ["red", "blue", "red"]})
    WRITERS[name](frame, tmp_path / name)
    with pytest.raises(UnreadableFileError) as caught:
        read_table(RecordsFile(path=tmp_path / name), Purpose.ORDINARY)
    code = re.search("in Python: `(.*)`", str(caught.value.remedy))
    assert code is not None
    eval(code[1], {"polars": pl, "sqlite3": sqlite3, "duckdb": duckdb})  # noqa: S307 - what a remedy says
    assert read(tmp_path / (Path(name).stem + ".parquet")).frame.to_native().equals(frame)


def test_the_types_of_a_long_file_are_those_of_all_its_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n = np.random.default_rng(0), 6_000
    late = np.arange(n) > n - 50  # what differs stands in the last block alone
    columns = {
        "whole": rng.integers(-9, 99, n).astype(str),
        "fraction": np.where(late, "1.5", "7"),
        "gap": np.where(rng.random(n) < 0.1, "", "3"),
        "no value": np.full(n, "NA"),
        "word": np.where(late, "late", "12"),
        "padded": np.where(late, "007", "8"),
        "truth": np.where(rng.random(n) < 0.5, "true", "False"),
        "not quite": np.where(late, "1", "true"),
        "long": np.where(late, "12345678901234567890", "5"),
        "texts": rng.choice(["a", "b ", "1e"], n),
        "exponent": np.where(late, "2", "1e3"),
    }
    path = tmp_path / "long.csv"
    path.write_text("\n".join([",".join(columns), *map(",".join, zip(*columns.values(), strict=True))]) + "\n")
    file = RecordsFile(path=path)
    whole = read_table(file, Purpose.ORDINARY).frame.to_native()
    calls: list[bool] = []

    def in_blocks(text: DelimitedText, dialect: CsvDialect) -> dict[str, list[pl.Series]] | None:
        parts = _in_blocks(text, dialect)
        calls.append(parts is not None)
        return parts

    monkeypatch.setattr("glassine.data.sources._in_blocks", in_blocks)
    for block in (1 << 12, 1 << 16):
        monkeypatch.setattr("glassine.data.sources.BLOCK", block)
        monkeypatch.setattr("glassine.records.lines.BLOCK", block)
        assert read_table(file, Purpose.ORDINARY).frame.to_native().equals(whole)
    assert calls == [True, True]
    assert dict(zip(whole.columns, map(str, whole.dtypes), strict=True)) == {
        **{"whole": "Int64", "fraction": "Float64", "gap": "Int64", "no value": "String", "word": "String"},
        **{"padded": "String", "truth": "Boolean", "not quite": "String", "long": "String", "texts": "String"},
        "exponent": "Float64",
    }
    # A quoted line break makes other records of the lines: the file is read as a whole.
    path.write_text("a,b\n" + "1,2\n" * 5_000 + '"3\n4",5\n')
    monkeypatch.setattr("glassine.data.sources.BLOCK", 1 << 12)
    assert len(read_table(file, Purpose.ORDINARY).frame) == 5_001
    assert calls[2:] == [False]


def test_a_long_header_alone_has_no_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("glassine.data.sources.BLOCK", 40)
    (tmp_path / "f.csv").write_text("x" * 300 + "\n")
    assert len(read(tmp_path / "f.csv")) == 0


def test_lists_and_structures_of_a_file_are_not_read(tmp_path: Path) -> None:
    # The footer says how many records there are, and not how many values a record has: a small file may hold millions.
    nested: pl.Series = pl.Series("nested", [1, 2])
    for _ in range(300):
        nested = pl.DataFrame({"inner": nested}).to_struct("nested")
    lists = pl.Series("lists", [[0] * 1_000_000, [0]])
    path = tmp_path / "records.parquet"
    pl.DataFrame([pl.Series("age", [40, 50]), nested, lists]).write_parquet(path)
    assert path.stat().st_size < 100_000
    table = read_table(RecordsFile(path=path), Purpose.ORDINARY)
    assert table.names == ("age",)
    assert table.source is not None
    assert table.source.nested == ("nested", "lists")
    with pytest.raises(InvalidDataError, match=r"column .lists. of .* holds lists or structures"):
        read_table(RecordsFile(path=path), Purpose.ORDINARY, Domain({"lists": Integer(0, 1)}))
    assert columns_of_file(RecordsFile(path=path))[0] == ("age",)
    # None is left: not the same as a file without records.
    pl.DataFrame([lists]).write_parquet(path)
    with pytest.raises(InvalidDataError, match=r"column .lists. of .* holds lists or structures.*Write each part"):
        read_table(RecordsFile(path=path), Purpose.ORDINARY)


def test_lists_of_a_frame_identify_no_one() -> None:
    frame = pl.DataFrame({"id": [1, 1, 2], "visits": [[1], [1, 2], []]})
    assert [one.column for one in repeats(frame)] == ["id"]


@pytest.mark.parametrize("purpose", [Purpose.ORDINARY, Purpose.AUDIT])
def test_a_field_of_any_length_is_read_beside_quoted_line_breaks(purpose: Purpose, tmp_path: Path) -> None:
    path, long = tmp_path / "records.csv", "w" * 200_000
    path.write_text(f'age, note\n34, "two\nlines"\n35, {long}\n36, x\n')
    table = read_table(RecordsFile(path=path), purpose)
    assert table.lines is None
    assert table.frame.rows() == [(34, "two\nlines"), (35, long), (36, "x")]
