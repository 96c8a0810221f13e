"""CPU seconds and peak memory of reading a CSV file for a private fit, against an earlier commit in one run.

Run: python benchmarks/records_files.py DATA OLD, where DATA is the folder with adult/adult.data and OLD a checkout of
commit 6963efab. It writes benchmarks/records_files.csv: for plain and fully quoted files of a million rows of Adult,
drawn with replacement, the smallest CPU time of three and the peak resident size of the process.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

N_ROWS = 1_000_000
NAMES = [
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
]
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
HERE = Path(__file__).parent

NEW = """
from glassine.data.sources import read_table
from glassine.records import read
from glassine.records.headers import RecordsFile
from glassine.records.purpose import Purpose
table = lambda: read_table(RecordsFile(path=path), Purpose.PRIVATE, domain)
columns = lambda: read(table(), domain)
"""
BEFORE = """
from glassine.data.conform import Outside, conform
from glassine.data.sources import read_table
table = lambda: read_table(path, domain, lenient=True)
columns = lambda: conform(table(), domain, outside=Outside.CLIP | Outside.KEEP_UNDECLARED)
"""
MEASURE = """
import resource, sys, time
from pathlib import Path
from glassine import Domain
# Until the one reader, it was called from_json.
path, domain = Path(sys.argv[1]), getattr(Domain, "read", None) or Domain.from_json
domain = domain(sys.argv[2])
{reader}
times = []
for one in (columns, columns, columns, table, table, table):
    start = time.process_time()
    one()
    times.append(time.process_time() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(min(times[:3]), min(times[3:]), peak)
"""


def measured(source: Path, reader: str, *files: Path) -> list[float]:
    """Return the CPU seconds to columns and to a table, and the peak in megabytes, of a process of its own."""
    script = MEASURE.format(reader=reader)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, *map(str, files)],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(number) for number in done.stdout.split()]


def main(data: Path, old: Path) -> None:
    """Make the files, measure both sources, and write the rows."""
    import numpy as np
    import polars as pl

    from glassine import Category, Domain, Integer

    raw = pl.read_csv(data / "adult" / "adult.data", has_header=False, new_columns=NAMES, infer_schema=False)
    raw = raw.with_columns(pl.all().str.strip_chars()).drop_nulls()
    raw = raw[np.random.default_rng(0).integers(0, len(raw), N_ROWS).tolist()]
    numbers = raw.select(pl.col(name).cast(pl.Int64) for name in NUMBERS)
    domain = Domain(
        {
            name: Integer(int(numbers[name].min()), int(numbers[name].max()))
            if name in NUMBERS
            else Category(tuple(sorted(set(raw[name].unique()) - {"?"})), missing=True)
            for name in NAMES
        }
    )
    with tempfile.TemporaryDirectory() as folder, (HERE / "records_files.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["file", "what", "before", "now", "ratio"])
        domain.to_json(Path(folder) / "domain.json")
        for kind in ("necessary", "always"):
            path = Path(folder) / f"{kind}.csv"
            raw.write_csv(path, quote_style=kind)
            before = measured(old / "src", BEFORE, path, Path(folder) / "domain.json")
            now = measured(HERE.parent / "src", NEW, path, Path(folder) / "domain.json")
            for what, one, other in zip(("columns, CPU s", "table, CPU s", "peak, MB"), before, now, strict=True):
                table.writerow([f"quotes {kind}", what, f"{one:.3g}", f"{other:.3g}", f"{other / one:.2f}"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
