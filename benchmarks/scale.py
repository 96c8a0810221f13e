"""Fits and an audit on records that are larger than memory: ``python benchmarks/scale.py [--page]``.

Records are written once to a Parquet file in GLASSINE_SCALE, or the folder of temporary files, a million at a time. A
row of ``scale.csv`` is one task with one engine, in a process of its own, with its times and peak memory: of Dask and
Spark those of the processes below it added up, Java and the workers included (Spark needs ``.spark/bin/python``).
Rows of an engine "before" are of the commit before the reader went to the engines; GLASSINE_BEFORE is a checkout of it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from papers.common.results import Row, one, say  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

RECORDS = 50_000_000
CHUNK = 1_000_000
SEED = 5
TASKS = (
    "totals",
    "tree",
    "tree with quantiles",
    "rule list",
    "optimal tree",
    "histograms",
    "fine histograms",
    "audit",
    "additive model",
    "private summary",
    "private summary of a number",
    "tree of a number",
    "measurement",
)
ENGINES = ("polars", "duckdb")
DISTRIBUTED = ("dask", "spark")
BEFORE = " before"
SHOWN = {"tree": "private tree of depth 3", "audit": "fit, and audit with data"}
KEYS = [
    {"records": str(records), "engine": engine, "task": task}
    for records, of_size in ((1_000_000, TASKS), (RECORDS, tuple(SHOWN)))
    for engine in ENGINES
    for task in of_size
]
# Before and now one after the other, so that both meet the same machine.
KEYS += [
    {"records": "1000000", "engine": engine + when, "task": task}
    for engine in DISTRIBUTED
    for task in SHOWN
    for when in (BEFORE, "")
]
KEYS += [
    {"records": records, "engine": engine, "task": task}
    for records in ("10000000", str(RECORDS))
    for engine in DISTRIBUTED
    for task in SHOWN
]


def domain(*, thresholds: bool = True) -> Any:
    """Return the public domain of the records: twelve attributes as a census has them, and the class."""
    from glassine import Binary, Category, Domain, Integer, Real

    ages, hours = ((20.5, 30.5, 40.5, 50.5, 60.5), (20.5, 35.5, 45.5)) if thresholds else ((), ())
    return Domain(
        {
            "age": Integer(17, 90, thresholds=ages),
            "hours": Integer(1, 99, thresholds=hours),
            "gain": Real(0.0, 100_000.0, thresholds=(0.0, 5_000.0)),
            "bmi": Real(10.0, 60.0, missing=True, thresholds=(25.0, 30.0)),
            "education": Category(tuple("abcdef")),
            "work": Category(tuple("pqrstu"), missing=True),
            "marital": Category(("single", "married", "widowed")),
            "sex": Binary(),
            "smoker": Binary(),
            "citizen": Binary(),
            "urban": Binary(),
            "diabetes": Binary(missing=True),
            "high": Binary(),
        }
    )


def chunk(n: int, number: int) -> Any:
    """Return some records; hours and pay hang together with the class."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng([SEED, number])
    age, hours = rng.integers(17, 91, n), np.clip(rng.normal(40, 12, n).round(), 1, 99).astype(np.int64)
    education, marital = rng.integers(0, 6, n), rng.integers(0, 3, n)
    gain = np.where(rng.random(n) < 0.1, rng.exponential(8_000, n), 0.0)
    odds = 0.04 * (age - 40) + 0.05 * (hours - 40) + 0.5 * (education - 3) + (marital == 1) + gain / 4_000 - 1.5
    return pl.DataFrame(
        {
            "age": age,
            "hours": hours,
            "gain": gain,
            "bmi": pl.Series(rng.normal(27, 5, n)).set(pl.Series(rng.random(n) < 0.05), None),
            "education": np.array(list("abcdef"))[education],
            "work": np.array(list("pqrstuz"))[rng.integers(0, 7, n)],
            "marital": np.array(["single", "married", "widowed"])[marital],
            "sex": rng.integers(0, 2, n),
            "smoker": (rng.random(n) < 0.2).astype(np.int64),
            "citizen": (rng.random(n) < 0.9).astype(np.int64),
            "urban": (rng.random(n) < 0.6).astype(np.int64),
            "diabetes": (rng.random(n) < 0.1 + 0.002 * (age - 17)).astype(np.int64),
            "high": (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64),
        }
    )


def write(path: Path, n: int) -> None:
    """Write the records chunk by chunk, unless they are there."""
    import pyarrow.parquet as pq

    if path.exists():
        return
    start, writer, part = time.perf_counter(), None, path.with_suffix(".part")
    for number in range(-(-n // CHUNK)):
        table = chunk(min(CHUNK, n - number * CHUNK), number).to_arrow()
        writer = writer or pq.ParquetWriter(part, table.schema)
        writer.write_table(table)
    if writer is None:
        raise SystemExit("there must be at least one record.")
    writer.close()
    part.rename(path)
    say(f"wrote {n:,} records, {path.stat().st_size / 1e9:.2f} GB, in {time.perf_counter() - start:.0f} s")


def opened(path: Path, engine: str) -> Any:
    """Return the file as a lazy frame of an engine."""
    if engine == "duckdb":
        import duckdb

        return duckdb.connect(config={"memory_limit": "2GB"}).read_parquet(str(path))
    if engine == "dask":
        import dask
        import dask.dataframe as dd

        # Each partition in a process, as on several machines.
        dask.config.set(scheduler="processes", num_workers=2)
        return dd.read_parquet(path, split_row_groups=True)
    if engine == "spark":
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        session: Any = import_module("pyspark.sql").SparkSession.builder.master("local[2]").appName("glassine")
        settings = {"spark.ui.enabled": "false", "spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "8"}
        for name, value in settings.items():
            session = session.config(name, value)
        return session.getOrCreate().read.parquet(str(path))
    import polars as pl

    return pl.scan_parquet(path)


def tasks(path: Path, engine: str) -> dict[str, Callable[[], str]]:
    """Return what is measured, each returning what came out."""
    import numpy as np

    from glassine import audit

    # By name, when they are used: the package of a checkout from before has only some of them.
    learners: Any = import_module("glassine.learners")
    frame, public = opened(path, engine.removesuffix(BEFORE)), domain()
    private: dict[str, Any] = {"epsilon": 0.1, "random_state": 0}

    private_tree = learners.PrivateTreeClassifier

    def fit(estimator: Any, target: str = "high") -> str:
        estimator.fit(frame, target)
        model = estimator.certificate_.model if estimator.certificate_.events else str(estimator.objective_)
        published: Any = estimator.additive() if hasattr(estimator, "additive") else estimator.model_
        parts = published.terms if hasattr(published, "terms") else published.cells
        return f"{len(parts)} parts, {model[:16]}"

    def audited() -> str:
        small = private_tree(3, domain=public, **private).fit(frame, "high")
        return audit(
            small.model_, domain=public.restrict([name for name in public if name != "high"]), data=frame
        ).verdict

    def measured() -> str:
        # A summary of few records: what it took is small beside the measurement.
        few = learners.PrivateSummary(domain=public, **private).fit(chunk(10_000, 0), "high")
        found = few.measure(few.additive(), frame, "high", epsilon=1.0, dataset="all").certificate
        return str(found.model)[:16]

    def totals() -> str:
        table: Any = import_module("glassine.records.engines").LazyTable(frame=frame, keep="high")
        return str(table.totals({name: public[name] for name in public})[1].tolist())

    def histograms(cuts: Mapping[str, Sequence[float]]) -> str:
        return str(len(import_module("glassine.data.count_table").bin_histograms(frame, public, cuts)))

    return {
        "totals": totals,
        "tree": lambda: fit(private_tree(3, domain=public, **private)),
        "tree with quantiles": lambda: fit(private_tree(3, domain=domain(thresholds=False), **private)),
        "rule list": lambda: fit(learners.PrivateRuleListClassifier(3, domain=public, **private)),
        "optimal tree": lambda: fit(learners.OptimalTreeClassifier(3, domain=public)),
        "histograms": lambda: histograms({"age": (30.5, 50.5), "bmi": (25.0,)}),
        "fine histograms": lambda: histograms({"bmi": np.linspace(10, 60, 4095)[1:-1].tolist()}),
        "audit": audited,
        "additive model": lambda: fit(learners.PrivateEBMClassifier(domain=public, **private)),
        "private summary": lambda: fit(learners.PrivateSummary(domain=public, **private)),
        "private summary of a number": lambda: fit(learners.PrivateSummary(domain=public, **private), "bmi"),
        "tree of a number": lambda: fit(learners.PrivateTreeRegressor(3, domain=public, **private), "bmi"),
        "measurement": measured,
    }


class Family:
    """Processor time and memory of this process and of those below it, looked at five times a second."""

    def __init__(self) -> None:
        psutil: Any = import_module("psutil")
        self._root = psutil.Process()
        self._seconds: dict[tuple[int, float], float] = {}
        self.bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _look(self) -> None:
        psutil: Any = import_module("psutil")
        total = 0
        for process in [self._root, *self._root.children(recursive=True)]:
            try:
                used = process.cpu_times()
                # A worker that has ended is in its parent's own sum no longer: the last look at it counts.
                self._seconds[process.pid, process.create_time()] = used.user + used.system
                memory = process.memory_info()
                total += memory.rss - (memory.shared if process != self._root else 0)
            except psutil.NoSuchProcess:
                continue
        self.bytes = max(self.bytes, total)

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self._look()

    def __enter__(self) -> Family:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._look()
        self._done.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """Processor seconds of all processes that were seen."""
        return sum(self._seconds.values())


def run(path: Path, engine: str, task: str) -> dict[str, object]:
    """Run one task in this process, and return what it took."""
    with Family() as family:
        work = tasks(path, engine)[task]
        start = time.perf_counter()
        found = work()
        seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    several = engine.removesuffix(BEFORE) in DISTRIBUTED
    return {
        "seconds": round(seconds, 1),
        "processor seconds": round(family.seconds if several else used.ru_utime + used.ru_stime, 1),
        "GB": round(family.bytes / 2**30 if several else used.ru_maxrss / 2**20, 2),
        "found": found,
    }


def measure(key: Mapping[str, str], folder: Path) -> dict[str, object]:
    """Write the records, unless they are there, and run one task in a process of its own."""
    path = folder / f"records-{key['records']}.parquet"
    write(path, int(key["records"]))
    command = [sys.executable, __file__, str(path), key["engine"], key["task"]]
    environment = dict(os.environ)
    if key["engine"].endswith(BEFORE):
        environment["PYTHONPATH"] = str(Path(os.environ["GLASSINE_BEFORE"], "src"))
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603 - own script
    figures: dict[str, object] = json.loads(done.stdout)
    return figures


def _cells(rows: Sequence[Row], records: str, engine: str, *tasks: str) -> list[str]:
    """Return processor seconds and peak memory of some tasks with an engine."""
    found = [one(rows, records=records, engine=engine, task=task) for task in tasks or SHOWN]
    return [text for row in found for text in (f"{float(row['processor seconds']):.0f}", f"{float(row['GB']):.1f} GB")]


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = [
        [name, *(cell for engine in ENGINES for cell in _cells(rows, str(RECORDS), engine, task))]
        for task, name in SHOWN.items()
    ]

    def summary(engine: str, task: str) -> float:
        return float(one(rows, records="1000000", engine=engine, task=task)["processor seconds"])

    summaries = ("private summary", "private summary of a number")
    polars, duckdb = ([f"{summary(engine, task):.0f}" for task in summaries] for engine in ENGINES)
    most = max(float(row["GB"]) for row in rows if row["task"] in summaries)

    def grown(engine: str, records: str) -> list[str]:
        cells = [cell.removesuffix(" GB") for cell in _cells(rows, records, engine)]
        if records == "1000000":
            before = _cells(rows, records, engine + BEFORE)
            cells[::2] = [f"{now} ({then})" for now, then in zip(cells[::2], before[::2], strict=True)]
        return [engine.title(), f"{int(records):,}", *cells]

    sizes = [(engine, records) for engine in DISTRIBUTED for records in ("1000000", str(RECORDS))]
    return {
        "distributed": markdown(
            ["engine", "records", "tree: CPU s (before)", "GB", "audit: CPU s (before)", "GB"],
            [grown(*size) for size in sizes],
        ),
        "summaries": f"A million records: Polars {polars[0]} CPU s, of a number {polars[1]}; DuckDB {duckdb[0]}, "
        f"{duckdb[1]}; {most:.1f} GB.",
        "scale": markdown(["task", "Polars: CPU s", "peak", "DuckDB: CPU s", "peak"], lines),
    }


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("GLASSINE_SCALE", temporary))
        return kept(__file__, __doc__, KEYS, partial(measure, folder=folder), tables, arguments)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        say(json.dumps(run(Path(sys.argv[1]), *sys.argv[2:])))
        sys.exit()
    sys.exit(main())
