"""Domains of many attributes: what drafting one, and auditing a tree in it, takes in processor time and memory.

Run ``python benchmarks/wide.py``; it prints a table of times and memory. ``--columns 1000,8000`` takes others.
Each command runs in a process of its own, started from nothing: imports of a second or two are part of the figures.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

N_RECORDS = 20
TESTED = 10

CHILD = """
import sys
from glassine.cli.entry import main
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


def main() -> None:
    """Measure every number of columns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", default="1000,8000,30000,100000")
    columns = [int(text) for text in parser.parse_args().columns.split(",")]
    sys.stdout.write(
        "| attributes | `domain infer` | peak memory | `audit --domain` | peak memory |\n|---|---|---|---|---|\n"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = tree(folder)
        for count in columns:
            records, domain = make(folder, count), folder / f"domain-{count}.json"
            drafted = run("domain", "infer", records, "-o", domain)
            audited = run("audit", model, "--domain", domain, "-o", folder / "page.html")
            if drafted[2] or audited[2] not in (0, 1):
                raise SystemExit(f"a command failed at {count} columns: {drafted[2]}, {audited[2]}")
            cells = [f"{seconds:.1f} s | {memory:.2f} GB" for seconds, memory, _ in (drafted, audited)]
            sys.stdout.write(f"| {count:,} | {' | '.join(cells)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
