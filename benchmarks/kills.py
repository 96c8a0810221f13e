"""Processes that charge one ledger while some are killed: ``python benchmarks/kills.py [--page]``.

A row of ``kills.csv`` is a budget that several processes use up together, each of which notes what was acknowledged to
it; some are killed at moments drawn by the seed. Lost is an acknowledged charge that the ledger lacks, doubled one that
it has twice, and granted beyond what the budget does not hold.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from glassine import Ledger  # noqa: E402
from glassine.errors import BudgetExceededError  # noqa: E402
from papers.common.results import Row  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

CHARGES, PROCESSES, KILLS = 120, 4, 3
KEYS = [{"seed": str(seed)} for seed in range(25)]
LONGEST = 900
"""Seconds that the processes may take: each charge reads the whole ledger."""


def charge_until_told(path: str, name: str, amount: str, log: str) -> None:
    """Charge over and over, noting each acknowledgement in a file, until the budget is used up."""
    mine, number = Ledger(path), 0
    with open(log, "a", buffering=1) as stream:
        while True:
            try:
                entry = mine.charge("patients", Fraction(amount), note=f"{name}/{number}")
            except BudgetExceededError:
                return
            os.write(stream.fileno(), f"{entry.note}\n".encode())
            number += 1


@contextmanager
def workers(count: int, path: Path, amount: str, start: int = 0) -> Iterator[list[Any]]:
    """Run processes that charge, and kill those that still run at the end."""
    context = multiprocessing.get_context("spawn")
    started = []
    for number in range(start, start + count):
        log = path.with_name(f"log{number}")
        process = context.Process(target=charge_until_told, args=(str(path), f"w{number}", amount, str(log)))
        process.start()
        started.append(process)
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.join()


def killed(ledger: Ledger, charges: int, count: int, kills: int, seed: int) -> dict[str, int]:
    """Let processes use up a budget of so many equal charges while some are killed, and compare the books."""
    generator = random.Random(seed)  # noqa: S311 - when to kill is no secret
    ledger.budget("patients", 1)
    with workers(count, ledger.path, f"1/{charges}") as running:
        deadline = time.monotonic() + LONGEST
        for kill in range(kills):
            # Somewhere between this many charges and the next share of them.
            goal = (kill + generator.random()) * charges / (kills + 1)
            while ledger.account("patients").charges < goal and time.monotonic() < deadline:
                # Each reading checks the whole ledger, and keeps the others from committing.
                time.sleep(0.02)
            time.sleep(generator.random() * 0.01)
            running[kill].kill()
            running[kill].join()
        for process in running[kills:]:
            process.join(max(0.0, deadline - time.monotonic()))
        if time.monotonic() >= deadline:
            raise TimeoutError(f"the processes still charge after {LONGEST} s")
    notes = [entry.note for entry in ledger.entries("patients")]
    # A kill may cut the last line of a log.
    logs = ledger.path.parent.glob("log*")
    acknowledged = [line for log in logs for line in log.read_text().split("\n")[:-1]]
    return {
        "processes": count,
        "kills": kills,
        "charges": len(notes),
        "acknowledged": len(acknowledged),
        "lost": len(set(acknowledged) - set(notes)),
        "doubled": len(notes) - len(set(notes)),
        "granted beyond": max(0, len(notes) - charges),
        "left": charges - len(notes),
    }


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return what became of one budget."""
    with tempfile.TemporaryDirectory() as folder:
        return {**killed(Ledger(Path(folder) / "budget.sqlite"), CHARGES, PROCESSES, KILLS, int(key["seed"]))}


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    names = ("kills", "charges", "acknowledged", "lost", "doubled", "granted beyond")
    sums = [f"{sum(int(row[name]) for row in rows):,}" for name in names]
    return {"kills": markdown([*names[:-1], "granted beyond the budget"], [sums])}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
