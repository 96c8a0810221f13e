"""Time of one charge on ledgers with many entries, each of which is read and checked: the figures of the docs.

``python benchmarks/ledger.py``.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from glassine import Ledger
from glassine.privacy.ledger_log import CHARGE

SIZES = (10, 1_000, 10_000, 100_000)
CHARGES = 5


def filled(path: Path, entries: int) -> Ledger:
    """Return a ledger with so many charges of one amount, made in one transaction."""
    ledger = Ledger(path)
    ledger.budget("patients", 10 * entries)
    with ledger._file.transaction(write=True) as log:
        account = log.accounts["patients"]
        for number in range(1, entries + 1):
            account = dataclasses.replace(account, charges=number, spent_epsilon=Fraction(number, 10))
            note, at = "a private tree of depth 3", "2026-01-01T00:00:00+00:00"
            log.append(CHARGE, account, (Fraction(1, 10), Fraction(0)), note, at)
    return ledger


def main() -> None:
    """Print a table of seconds of one core per charge, the least and the most of five."""
    sys.stdout.write("| entries | file | CPU seconds per charge |\n|---|---|---|\n")
    for entries in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            ledger = filled(Path(folder) / "budget.sqlite", entries)
            seconds = []
            for _ in range(CHARGES):
                start = time.process_time()
                ledger.charge("patients", 0.1)
                seconds.append(time.process_time() - start)
            size = ledger.path.stat().st_size
        sys.stdout.write(f"| {entries:,} | {size / 1e6:.2f} MB | {min(seconds):.3f} to {max(seconds):.3f} |\n")


if __name__ == "__main__":
    main()
