"""One model from records that Spark holds: two executor threads of this machine, reading a Parquet file."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.contracts.test_odd_records import DOUBLES, check_audits
from tests.learners.fitting_everywhere import NUMBER, WAYS, fitted, learners, regressors, sample
from tests.learners.same_everywhere import N, same_audits, same_counts, same_reading, same_refusals
from tests.records.odd_cells import ATTRIBUTES, TEXTS

pytestmark = [
    pytest.mark.spark,
    # Spark says so of each pandas that is newer than itself; no pandas is used here.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

PARTS = 2
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # As many as threads: of so few records each further one takes time alone.
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a Spark session of two local threads."""
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # The workers read records with the package of this environment.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = import_module("pyspark.sql").SparkSession.builder.master("local[2]").appName("glassine")
    folder = tmp_path_factory.mktemp("spark")
    for name, value in {**SETTINGS, "spark.local.dir": folder, "spark.sql.warehouse.dir": folder}.items():
        builder = builder.config(name, str(value))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the records in several partitions."""
    path = tmp_path_factory.mktemp("records") / "records.parquet"
    sample(N).write_parquet(path)
    found = spark.read.parquet(str(path)).repartition(PARTS)
    assert found.rdd.getNumPartitions() == PARTS
    return found


def test_spark_gives_the_same_counts(frame: Any) -> None:
    same_counts(frame, sample(N))


@pytest.mark.parametrize("learner", [*WAYS, "private summary", "multiway tree"])
def test_spark_gives_the_same_model(frame: Any, learner: str) -> None:
    make = learners()[learner]
    assert fitted(make, frame) == fitted(make, sample(N))


@pytest.mark.parametrize("learner", ["summary of a number", "regressor with pairs"])
def test_spark_gives_the_same_model_of_a_number(frame: Any, learner: str) -> None:
    make = regressors()[learner]
    assert fitted(make, frame, NUMBER) == fitted(make, sample(N), NUMBER)


def test_spark_gives_the_same_audit(frame: Any) -> None:
    same_audits(frame, sample(N))


def test_spark_refuses_what_is_refused_in_memory(spark: Any, tmp_path: Path) -> None:
    made: list[Path] = []

    def distributed(records: pl.DataFrame) -> Any:
        made.append(tmp_path / f"{len(made)}.parquet")
        records.write_parquet(made[-1])
        return spark.read.parquet(str(made[-1]))

    same_refusals(distributed)
    same_reading(distributed)


@pytest.mark.parametrize("name", ["whole", "binary", "words", "codes as texts"])
def test_spark_counts_odd_cells_as_what_they_are(spark: Any, tmp_path: Path, name: str) -> None:
    for cells in ((*TEXTS, None), DOUBLES):
        kind = pl.String if isinstance(cells[0], str) else pl.Float64
        path = tmp_path / f"{kind}.parquet"
        pl.DataFrame({"x": cells}, schema={"x": kind}).write_parquet(path)
        check_audits(ATTRIBUTES[name], cells, spark.read.parquet(str(path)).repartition(PARTS))
