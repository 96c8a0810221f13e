"""Records that take more memory than allowed are refused by their header or footer, before an engine reads them."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from glassine.data.record_table import RecordTable
from glassine.data.sources import read_table
from glassine.errors import CostLimitError, CountingLimitError, GlassineError, InvalidParameterError, plural
from glassine.records.headers import RecordsFile
from glassine.records.parquet_pages import unpacked
from glassine.records.purpose import Purpose
from glassine.resources import Budget, current

PRIVATE = Purpose.PRIVATE


def long_file(folder: Path) -> Path:
    """Write a file of few kilobytes whose rows are many, as all are equal."""
    path = folder / "long.parquet"
    part = folder / "part.parquet"
    pl.select(pl.repeat(0, 1_000_000, dtype=pl.Int64).alias("a")).write_parquet(part)
    pl.concat([pl.scan_parquet(part)] * 2).sink_parquet(path, row_group_size=2_000_000)
    return path


def test_a_parquet_file_of_few_bytes_and_many_rows_is_refused_with_the_figure(tmp_path: Path) -> None:
    path = long_file(tmp_path)
    assert path.stat().st_size < 100_000
    with (
        Budget(memory=16e6).applied(),
        pytest.raises(CostLimitError, match=r"^the 2,000,000 records with 1 column of .* take 64 MB in memory, more "),
    ):
        read_table(RecordsFile(path=path), Purpose.ORDINARY)
    with Budget(memory=80e6).applied():
        assert len(read_table(RecordsFile(path=path), Purpose.ORDINARY)) == 2_000_000


def test_a_private_fit_is_refused_without_the_number_of_its_records(tmp_path: Path) -> None:
    with Budget(memory=1e6).applied(), pytest.raises(CostLimitError) as caught:
        read_table(RecordsFile(path=long_file(tmp_path)), Purpose.PRIVATE)
    assert "2,000,000" not in str(caught.value)
    assert "64" not in str(caught.value).replace(str(tmp_path), "")


def dictionary(folder: Path, texts: list[str], rows: int, **options: Any) -> Path:
    """Write a file of few kilobytes whose rows refer to a dictionary of texts."""
    path, words = folder / "words.parquet", pa.array(texts)
    places = pa.array(np.arange(rows, dtype=np.int32) % len(texts))
    table = pa.table({"word": pa.DictionaryArray.from_arrays(places, words), "n": pa.array(np.arange(rows) % 7)})
    parquet.write_table(table, path, compression="zstd", dictionary_pagesize_limit=2**31 - 1, **options)
    return path


def read(path: Path, purpose: Purpose = Purpose.ORDINARY) -> RecordTable:
    return read_table(RecordsFile(path=path), purpose)


def test_a_long_text_is_refused_before_a_page_of_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dictionary(tmp_path, ["x" * 30_000_000], 2, write_statistics=False)
    assert path.stat().st_size < 10_000
    assert unpacked(path.read_bytes(), path)[0] == 2
    with Budget(memory=40e6).applied():
        assert len(read(dictionary(tmp_path, ["x" * 3_000_000], 2))) == 2
    path = dictionary(tmp_path, ["x" * 30_000_000], 2, write_statistics=False)
    with monkeypatch.context() as patch, Budget(memory=20e6).applied():
        patch.setattr(pl, "read_parquet", None)
        with pytest.raises(
            CostLimitError, match=r"^the 2 records with 2 columns of .* take 30 MB in memory, more than"
        ):
            read(path)
        with pytest.raises(CostLimitError, match=r"^the records of .* take more memory than"):
            read(path, PRIVATE)


def test_the_texts_of_a_dictionary_count_where_they_stand(tmp_path: Path) -> None:
    path = dictionary(tmp_path, [f"{i}{'x' * 100_000}" for i in range(20)], 2_000)
    assert path.stat().st_size < 10_000
    # Each text once takes 2 MB, and at each record 200 MB.
    assert 2_000_000 < unpacked(path.read_bytes(), path)[1] < 2_100_000
    with Budget(memory=100e6).applied():
        with pytest.raises(
            CostLimitError, match=r"^the 2,000 records with 2 columns of .* take 200 MB in memory, more "
        ):
            read(path)
        with pytest.raises(CostLimitError, match="take more memory than"):
            read(path, PRIVATE)
    with Budget(memory=300e6).applied():
        assert len(read(path)) == 2_000


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "snappy", "data_page_version": "2.0", "row_group_size": 300},
        {"compression": "gzip", "use_dictionary": False, "write_statistics": False},
        {"compression": "none", "column_encoding": {"i": "DELTA_BINARY_PACKED"}, "use_dictionary": False},
        {"write_page_index": True, "write_page_checksum": True, "data_page_size": 500, "store_schema": True},
        {"sorting_columns": [parquet.SortingColumn(0)], "version": "1.0"},
    ],
)
def test_the_footers_of_other_programs_are_read(options: dict[str, Any], tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "a.parquet"
    words = [None if i % 9 == 0 else f"word {i % 50}" for i in range(1_000)]
    nested = {"list": [[1, 2], None] * 500, "map": pa.array([[("a", 1)], []] * 500, pa.map_(pa.string(), pa.int8()))}
    columns = {"i": rng.integers(-99, 99, 1_000), "x": rng.normal(size=1_000), "flag": rng.random(1_000) < 0.5}
    parquet.write_table(pa.table({**columns, "word": words, **nested}), path, **options)
    footer = parquet.read_metadata(path)
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(footer.num_columns)]
    flat = sum(chunk.total_uncompressed_size for chunk in chunks if "." not in chunk.path_in_schema)
    rows, pages = unpacked(path.read_bytes(), path)
    # The footer counts the headers of pages as well.
    assert rows == 1_000
    assert flat * 0.5 < pages < flat
    assert read(path).names == ("i", "x", "flag", "word")


def test_a_damaged_footer_is_an_error_and_never_a_loop(tmp_path: Path) -> None:
    path = dictionary(tmp_path, ["red", "blue"], 50, write_page_index=True)
    rng, data = np.random.default_rng(0), path.read_bytes()
    ends = Counter[str]()
    for _ in range(400):
        changed = bytearray(data)
        for at in rng.integers(4, len(data), rng.integers(1, 4)):
            changed[at] = rng.integers(256)
        path.write_bytes(changed)
        with Budget(memory=1e6).applied():
            try:
                ends[str(len(read(path)))] += 1
            except GlassineError as error:
                ends[type(error).__name__] += 1
    assert ends["UnreadableFileError"] > 50
    assert ends["50"] > 10


@pytest.mark.parametrize(("rows", "columns"), [(1, 30_000), (30_000, 1)])
def test_a_csv_file_is_refused_by_its_rows_and_columns(tmp_path: Path, rows: int, columns: int) -> None:
    path = tmp_path / "wide.csv"
    line = ",".join(["1"] * columns)
    path.write_text("\n".join([",".join(f"c{j}" for j in range(columns)), *[line] * rows]) + "\n")
    with Budget(memory=300_000).applied(), pytest.raises(CostLimitError, match=f"with {plural(columns, 'column')} of"):
        read_table(RecordsFile(path=path), Purpose.ORDINARY)
    table = read_table(RecordsFile(path=path), Purpose.ORDINARY)
    assert (len(table), len(table.names)) == (rows, columns)


@pytest.mark.parametrize("purpose", [Purpose.ORDINARY, Purpose.AUDIT])
def test_no_more_bytes_are_read_than_memory_allows(tmp_path: Path, purpose: Purpose) -> None:
    sparse = tmp_path / "sparse.csv"
    with sparse.open("wb") as stream:
        stream.truncate(10**12)  # far more than this machine has
    with pytest.raises(CostLimitError, match=r"^the bytes of .*sparse.csv take 1 TB in memory, more than"):
        read_table(RecordsFile(path=sparse), purpose)
    # What has no end says no size, either.
    with Budget(memory=40e6).applied(), pytest.raises(CostLimitError, match=r"read of /dev/zero so far take 50 MB"):
        read_table(RecordsFile(path=Path("/dev/zero")), purpose)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        written = pool.submit(pipe.write_bytes, b"a,b\n1,2\n")
        assert len(read_table(RecordsFile(path=pipe), purpose)) == 1
        assert written.result() == 8


def test_a_budget_checks_its_limits_and_ends(tmp_path: Path) -> None:
    for limits in ({"seconds": 0}, {"memory": float("nan")}, {"memory": -1}):
        with pytest.raises(InvalidParameterError, match="must be above 0"):
            Budget(**limits)
    before = current()
    with Budget(seconds=1e-9).applied():
        sum(range(100_000))
        with pytest.raises(CostLimitError, match=r"^the audit takes more than cpu_limit=1e-09 s of processor time"):
            current().ask_time("the audit")
    assert current() is before
    current().ask_time("anything")
    assert issubclass(CountingLimitError, CostLimitError)
