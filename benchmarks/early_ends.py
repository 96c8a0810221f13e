"""Ctrl-C at each moment of a command, and what is said and written then: ``python benchmarks/early_ends.py``.

A private fit with a ledger and a report is interrupted after so many milliseconds, from the start of its process to its
end. A traceback, a file that is not named, and a charge that is not named are counted. ``-o early_ends.csv`` stores the
rows. While Python itself starts there is no handler of ours: its tracebacks are a column of their own, and a program of
one line, whose first statement is a handler, is interrupted in the same way.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import glassine
from glassine import Binary, Category, Domain, Integer, Ledger

COLUMNS = (
    "program",
    "milliseconds",
    "runs",
    "interrupted",
    "done",
    "killed",
    "tracebacks",
    "at Python's start",
    "unnamed files",
    "unnamed charges",
)
PACKAGE = str(Path(glassine.__file__).parent)
SCRIPT, MODULE, BARE = "glassine", "python -m glassine", "python -c"
SPANS = (
    *((program, 0, 50) for program in (SCRIPT, MODULE, BARE)),
    *((SCRIPT, *span) for span in ((50, 250), (250, 1_000), (1_000, 4_000))),
)
EACH = 25
"""Interrupts in each span; twice as many in the first one."""
FIT = "fit tree people.csv --target ill --domain domain.json --epsilon 0.01 --max-depth 1 --ledger budget.sqlite"
OUTPUTS = "--dataset people -o m.json --report r.html --overwrite"


def prepare(folder: Path) -> None:
    """Write records, their domain and a ledger."""
    lines = [f"{18 + number * 7 % 70},{number % 2},{'yes' if number % 3 else 'no'}" for number in range(2_000)]
    (folder / "people.csv").write_text("\n".join(["age,smoker,ill", *lines]) + "\n")
    Domain({"age": Integer(18, 90), "smoker": Binary(), "ill": Category(("no", "yes"))}).to_json(folder / "domain.json")
    Ledger(folder / "budget.sqlite").budget("people", 1_000)


def command_of(program: str) -> list[str]:
    """Return the words of a program: of a fit, or of one line."""
    if program == BARE:
        return [sys.executable, "-c", "import _signal; _signal.signal(2, _signal.SIG_DFL); import time; time.sleep(1)"]
    start = (
        [str(Path(sys.executable).with_name("glassine"))] if program == SCRIPT else [sys.executable, "-m", "glassine"]
    )
    return [*start, *FIT.split(), *OUTPUTS.split()]


def interrupted(folder: Path, program: str, after: float) -> Counter[str]:
    """Interrupt a program after some seconds, and return what became of it."""
    for name in ("m.json", "m.certificate.json", "r.html"):
        (folder / name).unlink(missing_ok=True)
    for left in folder.glob("m.certificate.entry-*"):
        left.unlink()
    book = Ledger(folder / "budget.sqlite")
    charges = book.account("people").charges
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and files
        command_of(program), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    status = process.returncode
    if "Traceback" in said:
        sys.stderr.write(said)
    new = {path.name for path in folder.iterdir()} & {"m.json", "m.certificate.json", "r.html"}
    unnamed = sum(name not in said for name in new) if status else 0
    charged = book.account("people").charges > charges and "stays charged" not in said and status != 0
    return Counter(
        {
            "runs": 1,
            "interrupted": status == 128 + signal.SIGINT,
            "done": status == 0,
            "killed": status < 0,
            "tracebacks": "Traceback" in said and PACKAGE in said,
            "at Python's start": "Traceback" in said and PACKAGE not in said,
            "unnamed files": unnamed,
            "unnamed charges": charged,
        }
    )


def main() -> None:
    """Print a row for each span of time, and store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="a CSV file for the rows")
    output = parser.parse_args().output
    rows = []
    # A process of a shell that ignores Ctrl-C, as it does in the background, would ignore it too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        interrupted(folder, SCRIPT, 30)  # compiles
        for program, start, end in SPANS:
            counts: Counter[str] = Counter()
            each = EACH * (1 if start else 2)
            for number in range(each):
                counts.update(interrupted(folder, program, (start + (end - start) * number / each) / 1000))
            rows.append((program, f"{start} to {end}", *(counts[column] for column in COLUMNS[2:])))
            sys.stdout.write(", ".join(map(str, rows[-1])) + "\n")
    if output is not None:
        with output.open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)


if __name__ == "__main__":
    main()
