"""Records that take more memory than allowed are refused by their header or footer, before an engine reads them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from glassine.data.sources import read_table
from glassine.errors import CostLimitError, CountingLimitError, InvalidParameterError
from glassine.records.headers import RecordsFile
from glassine.records.purpose import Purpose
from glassine.resources import Budget, current


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
        pytest.raises(CostLimitError, match=r"^the 2,000,000 records with 1 columns of .* take 64 MB in memory, more "),
    ):
        read_table(RecordsFile(path=path), Purpose.ORDINARY)
    with Budget(memory=80e6).applied():
        assert len(read_table(RecordsFile(path=path), Purpose.ORDINARY)) == 2_000_000


def test_a_private_fit_is_refused_without_the_number_of_its_records(tmp_path: Path) -> None:
    with Budget(memory=1e6).applied(), pytest.raises(CostLimitError) as caught:
        read_table(RecordsFile(path=long_file(tmp_path)), Purpose.PRIVATE)
    assert "2,000,000" not in str(caught.value)
    assert "64" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(("rows", "columns"), [(1, 30_000), (30_000, 1)])
def test_a_csv_file_is_refused_by_its_rows_and_columns(tmp_path: Path, rows: int, columns: int) -> None:
    path = tmp_path / "wide.csv"
    line = ",".join(["1"] * columns)
    path.write_text("\n".join([",".join(f"c{j}" for j in range(columns)), *[line] * rows]) + "\n")
    with Budget(memory=300_000).applied(), pytest.raises(CostLimitError, match=f"with {columns:,} columns of"):
        read_table(RecordsFile(path=path), Purpose.ORDINARY)
    table = read_table(RecordsFile(path=path), Purpose.ORDINARY)
    assert (len(table), len(table.names)) == (rows, columns)


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
