"""One model from records that several processes hold: Dask workers, Spark executors; and from Parquet files."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from glassine import OptimalTreeClassifier
from glassine.counting import CountTable, bin_histograms, conjunction_counts
from glassine.errors import InvalidDataError
from tests.counting.test_records import content
from tests.learners.fitting_everywhere import DOMAIN, GIVEN, fitted, learners, sample

pytestmark = [
    pytest.mark.slow,
    # Spark says so of each pandas that is newer than itself; no pandas is used here.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

PARTS = 5
N = 500
CUTS = {"age": (20.5, 30.0, 118.0), "dose": (0.25,), "weight": tuple(np.linspace(41.0, 150.0, 20))}


def same_counts(frame: Any, records: pl.DataFrame) -> None:
    """Check tables, histograms and conjunctions of a frame against those of records in memory."""
    for cuts in (None, CUTS):
        table = CountTable.from_frame(frame, DOMAIN, cuts=cuts)
        assert content(table) == content(CountTable.from_frame(records, DOMAIN, cuts=cuts))
    found, expected = bin_histograms(frame, DOMAIN, CUTS), bin_histograms(records, DOMAIN, CUTS)
    assert {name: counts.tolist() for name, counts in found.items()} == {k: v.tolist() for k, v in expected.items()}
    joint = conjunction_counts(frame, DOMAIN, GIVEN, 3, target="sick")
    assert joint.table.tolist() == conjunction_counts(records, DOMAIN, GIVEN, 3, target="sick").table.tolist()


def same_models(frame: Any, records: pl.DataFrame) -> None:
    """Check what every learner makes of a frame against what it makes of records in memory."""
    for name, make in learners().items():
        assert fitted(make, frame) == fitted(make, records), name


def same_refusals(make: Any) -> None:
    """Check that gaps, unknown classes and what would have to be collected are refused, by ``make``'s engine."""
    gap = sample(N).with_columns(pl.when(pl.col("dose") > 1.2).then(None).otherwise(pl.col("dose")).alias("dose"))
    unknown = sample(N).with_columns(pl.when(pl.col("age") > 100).then(pl.lit("?")).otherwise("sick").alias("sick"))
    for records, said in ((gap, "column 'dose' holds a missing value"), (unknown, "not one of the declared")):
        with pytest.raises(InvalidDataError, match=said):
            OptimalTreeClassifier(1, domain=DOMAIN).fit(make(records), "sick")
    with pytest.raises(InvalidDataError, match="is not collected"):
        OptimalTreeClassifier(1).fit(make(sample(N)), "sick")
    with pytest.raises(InvalidDataError, match="is not collected"):
        OptimalTreeClassifier(1, domain=DOMAIN).fit(make(sample(N).drop("sick")), sample(N)["sick"].to_numpy())


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Return a client of two worker processes."""
    distributed: Any = import_module("dask.distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        assert len(client.run(os.getpid)) == 2
        assert os.getpid() not in client.run(os.getpid).values()
        yield client


@pytest.mark.parametrize("nullable", [False, True])
def test_two_dask_processes_give_the_same_counts_and_models(cluster: Any, nullable: bool) -> None:
    dd: Any = import_module("dask.dataframe")
    records = sample(N)
    plain = records.to_pandas().convert_dtypes() if nullable else records.to_pandas()
    frame = dd.from_pandas(plain, npartitions=PARTS)
    same_counts(frame, records)
    same_models(frame, records)


def test_dask_refuses_what_is_refused_in_memory(cluster: Any) -> None:
    dd: Any = import_module("dask.dataframe")
    same_refusals(lambda records: dd.from_pandas(records.to_pandas(), npartitions=PARTS))


def test_parquet_files_are_read_by_every_engine(cluster: Any, tmp_path: Path) -> None:
    dd: Any = import_module("dask.dataframe")
    records = sample(N)
    for i in range(PARTS):
        records[i * 100 : (i + 1) * 100].write_parquet(tmp_path / f"{i}.parquet")
    pattern = str(tmp_path / "*.parquet")
    for frame in (pl.scan_parquet(pattern), duckdb.connect().read_parquet(pattern), dd.read_parquet(pattern)):
        same_counts(frame, records)
        same_models(frame, records)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Return a Spark session of two local executors."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = sql.SparkSession.builder.master("local[2]").appName("glassine")
    session = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def test_spark_gives_the_same_counts_and_models(spark: Any, tmp_path: Path) -> None:
    records = sample(N)
    records.write_parquet(tmp_path / "records.parquet")
    frame = spark.read.parquet(str(tmp_path / "records.parquet")).repartition(PARTS)
    same_counts(frame, records)
    same_models(frame, records)
    assert frame.rdd.getNumPartitions() == PARTS


def test_spark_refuses_what_is_refused_in_memory(spark: Any, tmp_path: Path) -> None:
    made: list[Path] = []

    def distributed(records: pl.DataFrame) -> Any:
        made.append(tmp_path / f"{len(made)}.parquet")
        records.write_parquet(made[-1])
        return spark.read.parquet(str(made[-1]))

    same_refusals(distributed)
