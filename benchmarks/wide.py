"""Domains of many attributes, drafted and used in an audit: ``python benchmarks/wide.py [--page]``.

A row of ``wide.csv`` is a number of attributes, with processor seconds and peak memory. Each command runs in a process
of its own, started from nothing: imports of a second or two are part of the figures.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from papers.common.results import Row, one  # noqa: E402

KEYS = [{"attributes": str(n)} for n in (1000, 8000, 30_000, 100_000)]
N_RECORDS = 20
TESTED = 10

CHILD = """
import sys
from glassine.cli.entry import main  # noqa: E402
sys.stdout = open("/dev/null", "w")
main()
"""


def make(folder: Path, columns: int) -> Path:
    """Write records of so many whole numbers."""
    values = np.random.default_rng(columns).integers(0, 100, (N_RECORDS, columns))
    path = folder / f"records-{columns}.csv"
    with path.open("w") as stream:
        stream.write(",".join(f"c{i}" for i in range(columns)) + "\n")
        for row in values.tolist():
            stream.write(",".join(map(str, row)) + "\n")
    return path


def tree(folder: Path) -> Path:
    """Write a tree that tests a few of the columns."""
    rules = [f"if [c{i} <= {10 * i + 5}.5] then [1] ([{10 + i} ; {30 + i}] examples)" for i in range(TESTED)]
    path = folder / "rules.txt"
    path.write_text("\nelse ".join([*rules, "[0] ([200 ; 100] examples)"]) + "\n")
    return path


def run(*words: str | Path) -> tuple[float, float, int]:
    """Run a command; return its processor seconds, its peak memory in GB, and its exit status."""
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", CHILD, *map(str, words)], os.environ)
    _, status, used = os.wait4(child, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6, os.waitstatus_to_exitcode(status)


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return what both commands take with so many attributes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, records, domain = tree(folder), make(folder, int(key["attributes"])), folder / "domain.json"
        drafted = run("domain", "infer", records, "-o", domain)
        audited = run("audit", model, "--domain", domain, "-o", folder / "page.html")
    if drafted[2] or audited[2] not in (0, 1, 3):
        raise SystemExit(f"a command failed at {key['attributes']} attributes: {drafted[2]}, {audited[2]}")
    return {
        "draft seconds": drafted[0],
        "draft GB": drafted[1],
        "audit seconds": audited[0],
        "audit GB": audited[1],
    }


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the sentence of the page."""
    most = one(rows, **KEYS[-1])
    n, seconds = int(most["attributes"]), float(most["audit seconds"])
    return {"wide": f"An audit with {n:,} attributes takes {seconds:.1f} s (`wide.py`)."}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
