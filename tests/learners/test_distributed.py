"""One model from records that worker processes of Dask hold, and from Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from glassine.learners import PrivateSummary
from tests.learners.fitting_everywhere import DOMAIN, NUMBER, WAYS, fitted, learners, regressors, sample
from tests.learners.same_everywhere import N, same_audits, same_counts, same_reading, same_refusals

pytestmark = pytest.mark.slow

PARTS = 2
SOME = ("private tree", "private summary")


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


@pytest.fixture
def one_process() -> Iterator[None]:
    """Let Dask compute in this process: how a query is made of records is the same, and workers cost time."""
    with import_module("dask").config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def frame(cluster: Any) -> Any:
    """Return the records in several partitions."""
    return import_module("dask.dataframe").from_pandas(sample(N).to_pandas(), npartitions=PARTS)


def test_two_dask_processes_give_the_same_counts(frame: Any) -> None:
    same_counts(frame, sample(N))


@pytest.mark.parametrize("learner", WAYS)
def test_two_dask_processes_give_the_same_model(frame: Any, learner: str) -> None:
    make = learners()[learner]
    assert fitted(make, frame) == fitted(make, sample(N))


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("learner", regressors())
def test_dask_gives_the_same_model_of_a_number(learner: str) -> None:
    frame = import_module("dask.dataframe").from_pandas(sample(N).to_pandas(), npartitions=PARTS)
    make = regressors()[learner]
    assert fitted(make, frame, NUMBER) == fitted(make, sample(N), NUMBER)


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("target", ["sick", NUMBER])
def test_dask_measures_a_model_alike(target: str) -> None:
    frame = import_module("dask.dataframe").from_pandas(sample(N).to_pandas(), npartitions=PARTS)
    summary = PrivateSummary(domain=DOMAIN, epsilon=2.0, random_state=7).fit(sample(N), target)
    for model in (summary.tree(2), summary.additive()):
        found, expected = (
            summary.measure(model, one, target, epsilon=1.0, dataset="aside") for one in (frame, sample(N))
        )
        assert found.to_dict()["counts"] == expected.to_dict()["counts"]


def test_two_dask_processes_give_the_same_audit(frame: Any) -> None:
    same_audits(frame, sample(N))


@pytest.mark.usefixtures("one_process")
def test_dask_reads_nullable_columns() -> None:
    dd: Any = import_module("dask.dataframe")
    frame = dd.from_pandas(sample(N).to_pandas().convert_dtypes(), npartitions=PARTS)
    same_counts(frame, sample(N))
    for learner in SOME:
        assert fitted(learners()[learner], frame) == fitted(learners()[learner], sample(N)), learner


@pytest.mark.usefixtures("one_process")
def test_dask_refuses_what_is_refused_in_memory() -> None:
    dd: Any = import_module("dask.dataframe")
    same_refusals(lambda records: dd.from_pandas(records.to_pandas(), npartitions=PARTS))
    same_reading(lambda records: dd.from_pandas(records.to_pandas(), npartitions=PARTS))


# Dask says so of its own use of pandas, which its workers keep to themselves.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.usefixtures("one_process")
def test_parquet_files_are_read_by_every_engine(tmp_path: Path) -> None:
    dd: Any = import_module("dask.dataframe")
    records = sample(N)
    size = -(-N // PARTS)
    for i in range(PARTS):
        records[i * size : (i + 1) * size].write_parquet(tmp_path / f"{i}.parquet")
    pattern = str(tmp_path / "*.parquet")
    for frame in (pl.scan_parquet(pattern), duckdb.connect().read_parquet(pattern), dd.read_parquet(pattern)):
        same_counts(frame, records)
        for learner in SOME:
            assert fitted(learners()[learner], frame) == fitted(learners()[learner], records), learner
