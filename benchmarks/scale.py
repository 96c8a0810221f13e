"""Fits and an audit on records that are larger than memory: ``python benchmarks/scale.py [records] [--engine ...]``.

Records are written once to a Parquet file, a million at a time. Each task then runs in a process of its own, whose peak
memory and time are printed. ``--engine polars,duckdb`` names the engines, ``--folder`` where the file is kept.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


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
    import polars as pl

    return pl.scan_parquet(path)


def tasks(path: Path, engine: str) -> dict[str, Callable[[], str]]:
    """Return what is measured, each returning what came out."""
    import numpy as np

    from glassine import (
        OptimalTreeClassifier,
        PrivateEBMClassifier,
        PrivateRuleListClassifier,
        PrivateSummary,
        PrivateTreeClassifier,
        PrivateTreeRegressor,
        audit,
    )
    from glassine.data.frames import bin_histograms
    from glassine.data.lazy import LazyTable

    frame, public = opened(path, engine), domain()
    private: dict[str, Any] = {"epsilon": 0.1, "random_state": 0}

    def fit(estimator: Any, target: str = "high") -> str:
        estimator.fit(frame, target)
        model = estimator.certificate_.model if estimator.certificate_.events else str(estimator.objective_)
        published = estimator.additive() if isinstance(estimator, PrivateSummary) else estimator.model_
        additive = isinstance(estimator, PrivateEBMClassifier | PrivateSummary)
        parts = published.terms if additive else published.cells
        return f"{len(parts)} parts, {model[:16]}"

    def audited() -> str:
        small = PrivateTreeClassifier(3, domain=public, **private).fit(frame, "high")
        return audit(
            small.model_, domain=public.restrict([name for name in public if name != "high"]), data=frame
        ).verdict

    def measured() -> str:
        # A summary of few records: what it took is small beside the measurement.
        few = PrivateSummary(domain=public, **private).fit(chunk(10_000, 0), "high")
        return few.measure(few.additive(), frame, "high", epsilon=1.0, dataset="all").certificate.model[:16]

    return {
        "totals": lambda: str(
            LazyTable(frame=frame, keep="high").totals({name: public[name] for name in public})[1].tolist()
        ),
        "tree": lambda: fit(PrivateTreeClassifier(3, domain=public, **private)),
        "tree with quantiles": lambda: fit(PrivateTreeClassifier(3, domain=domain(thresholds=False), **private)),
        "rule list": lambda: fit(PrivateRuleListClassifier(3, domain=public, **private)),
        "optimal tree": lambda: fit(OptimalTreeClassifier(3, domain=public)),
        "histograms": lambda: str(len(bin_histograms(frame, public, {"age": (30.5, 50.5), "bmi": (25.0,)}))),
        "fine histograms": lambda: str(len(bin_histograms(frame, public, {"bmi": np.linspace(10, 60, 4095)[1:-1]}))),
        "audit": audited,
        "additive model": lambda: fit(PrivateEBMClassifier(domain=public, **private)),
        "private summary": lambda: fit(PrivateSummary(domain=public, **private)),
        "private summary of a number": lambda: fit(PrivateSummary(domain=public, **private), "bmi"),
        "tree of a number": lambda: fit(PrivateTreeRegressor(3, domain=public, **private), "bmi"),
        "measurement": measured,
    }


def run(path: Path, engine: str, task: str) -> None:
    """Run one task in this process, and print what it took."""
    work = tasks(path, engine)[task]
    start = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "seconds": round(seconds, 1),
        "processor seconds": round(used.ru_utime + used.ru_stime, 1),
        "GB": round(used.ru_maxrss / 2**20, 2),
    }
    say(json.dumps({"engine": engine, "task": task, **figures, "out": found}))


def main() -> None:
    """Write the records and measure every task with every engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--engine", default=",".join(ENGINES))
    parser.add_argument("--task", default=",".join(TASKS))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"records-{given.records}.parquet"
        write(path, given.records)
        for engine in given.engine.split(","):
            for task in given.task.split(","):
                if given.here:
                    run(path, engine, task)
                    continue
                command = [sys.executable, __file__, str(given.records), "--folder", str(folder), "--here"]
                subprocess.run([*command, "--engine", engine, "--task", task], check=True)  # noqa: S603 - own script


if __name__ == "__main__":
    main()
