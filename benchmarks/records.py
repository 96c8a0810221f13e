"""What reading records costs: ``python benchmarks/records.py [--old CHECKOUT] [--page]``.

Adult, drawn with replacement to a million records of 15 columns, and one record, in each container; read with the
policy of a private fit. Each row of ``records.csv`` is one container: CPU seconds of reading, the least of three runs,
and the peak of memory above the records themselves, each in a process of its own. ``--old`` names a checkout of the
commit before the one reader, whose ``conform`` is timed in the same run.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "benchmarks" / "records.csv"
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)
CONTAINERS = (
    *("polars typed", "polars texts", "pandas typed", "pandas objects", "pandas mixed objects", "arrow typed"),
    *("array of objects", "array of numbers"),
)
SIZES = (1_000_000, 1)
RUNS = 3
COLUMNS = ("container", "records", "reader", "seconds", "peak_mb", "digest")


def adult(n: int) -> tuple[Any, Any]:
    """Return records of Adult, and the same with all values as texts."""
    import polars as pl

    path = Path(os.environ.get("GLASSINE_DATA", ROOT.parent / "shared" / "data")) / "adult" / "adult.data"
    texts = pl.read_csv(path, has_header=False, new_columns=list(NAMES), infer_schema=False)
    texts = texts.with_columns(pl.all().str.strip_chars()).drop_nulls()
    texts = texts[np.random.default_rng(0).integers(0, len(texts), n).tolist()]
    return texts.with_columns(pl.col(name).cast(pl.Int64) for name in NUMBERS), texts


def held(container: str, n: int) -> Any:
    """Return records in a container."""
    import pandas as pd

    typed, texts = adult(n)
    if container.startswith("polars"):
        return texts if container.endswith("texts") else typed
    if container == "arrow typed":
        return typed.to_arrow()
    if container == "array of numbers":
        return typed.select(NUMBERS).to_numpy().astype(float)
    if container == "array of objects":
        return np.array(typed.rows(), dtype=object)
    if container == "pandas typed":
        return typed.to_pandas()
    source = texts if container == "pandas objects" else typed
    return pd.DataFrame({name: pd.Series(source[name].to_list(), dtype=object) for name in NAMES})


def domain_of(container: str) -> Any:
    """Return the domain of Adult; of numbers alone where the container holds these."""
    import polars as pl

    from glassine.domain import Category, Domain, Integer

    typed, _ = adult(100_000)
    names = NUMBERS if container == "array of numbers" else NAMES
    return Domain(
        {
            name: Integer(int(typed[name].min()), int(typed[name].max()))
            if name in NUMBERS
            else Category(tuple(sorted(set(typed[name].cast(pl.String).to_list()) - {"?"})), missing=True)
            for name in names
        }
    )


def reading() -> tuple[str, Callable[[Any, Any], Any]]:
    """Return the reader of the package that is imported: the one before the door, or the door."""
    try:
        from glassine.data.conform import Outside, conform  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from glassine.records.reading import read_settled

        return "reader", lambda records, domain: read_settled(records, domain, keep_undeclared=True)
    return "conform", lambda records, domain: conform(records, domain, outside=Outside.CLIP | Outside.KEEP_UNDECLARED)


def peak() -> float:
    """Return the peak of memory of this process since it was last forgotten, in megabytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def forget_peak() -> float:
    """Start a new peak, and return the memory in use."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak()


def timed(container: str, n: int) -> dict[str, Any]:
    """Return the row of one container, as the package that is imported reads it."""
    name, read = reading()
    records, domain = held(container, n), domain_of(container)
    read(held(container, 10), domain)
    before = forget_peak()
    seconds, repeats = [], 1 if n > 1 else 200
    columns: Any = None
    for _ in range(RUNS if n > 1 else 7):
        start = time.process_time()
        columns = read(records, domain)
        for _ in range(repeats - 1):
            columns = read(records, domain)
        seconds.append((time.process_time() - start) / repeats)
    # Two readers give the same if their columns have one digest.
    digest = hex(hash(tuple(columns.array(one).tobytes() for one in columns.names)) & 0xFFFFFFFF)
    return {
        "container": container,
        "records": n,
        "reader": name,
        "seconds": round(min(seconds), 6),
        "peak_mb": round(peak() - before, 1),
        "digest": digest,
    }


def run(container: str, n: int, checkout: Path) -> dict[str, Any]:
    """Return the row of one container, in a process of its own that imports the package of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0"}
    command = [sys.executable, __file__, "--one", container, str(n)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - our own script
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def page() -> str:
    """Return the stored rows as a table: ratios of CPU time and memory where both readers were timed."""
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = ["| container | records | seconds | of the time before | MB | MB before |", "|---|---|---|---|---|---|"]
    for row in (row for row in rows if row["reader"] == "reader"):
        old = next((one for one in rows if one["reader"] == "conform" and key(one) == key(row)), None)
        ratio = f"{float(row['seconds']) / float(old['seconds']):.2f}" if old else "-"
        memory = old["peak_mb"] if old else "-"
        figures = f"{row['seconds']} | {ratio} | {row['peak_mb']} | {memory}"
        lines.append(f"| {row['container']} | {int(row['records']):,} | {figures} |")
    return "\n".join(lines)


def key(row: dict[str, Any]) -> tuple[str, str]:
    """Return what two rows share that time the same records."""
    return row["container"], str(row["records"])


def main() -> None:
    """Time every container, or print the stored rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--one", nargs=2)
    given = parser.parse_args()
    if given.one:
        sys.stdout.write(json.dumps(timed(given.one[0], int(given.one[1]))))
        return
    if not given.page:
        checkouts = [ROOT, *([given.old] if given.old else [])]
        rows = [run(container, n, checkout) for container in CONTAINERS for n in SIZES for checkout in checkouts]
        with FILE.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    sys.stdout.write(page() + "\n")


if __name__ == "__main__":
    main()
