"""Input/output errors at each read of a ledger, and what is said of them: ``python benchmarks/failing_disk.py``.

Each read of the file fails in a run of its own, once or from then on, without and with a journal that a killed charge
left; so does each write. ``-o failing_disk.csv`` stores the rows. The errors are injected by a small library between
SQLite and the system, which needs a C compiler and Linux.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from glassine import Ledger

__all__ = ["COLUMNS", "compiler", "end", "kind_of", "make_ledger", "make_library"]

COLUMNS = ("task", "call", "failing", "journal", "end", "runs")
CHARGES = 150
"""As many fill 17 pages, so that most reads are of entries."""

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/types.h>
static int failing(const char *call, int fd) {
    static long seen = 0;
    const char *file = getenv("FAIL_FILE"), *when = getenv("FAIL_AT"), *which = getenv("FAIL_CALL");
    char link[64], path[4096];
    if (!file || !when || !which || strcmp(call, which)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    if (!strstr(path, file)) return 0;
    long at = atol(when);
    seen++;
    if (at < 0 ? seen < -at : seen != at) return 0;
    errno = EIO;
    return 1;
}
#define CALL(name, which, result, arguments, values) \
    result name arguments { \
        static result (*own) arguments; \
        if (!own) own = dlsym(RTLD_NEXT, #name); \
        return failing(which, fd) ? -1 : own values; \
    }
CALL(read, "read", ssize_t, (int fd, void *to, size_t n), (fd, to, n))
CALL(pread, "read", ssize_t, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
CALL(pread64, "read", ssize_t, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
CALL(pwrite, "write", ssize_t, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
CALL(pwrite64, "write", ssize_t, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at))
CALL(write, "write", ssize_t, (int fd, const void *from, size_t n), (fd, from, n))
CALL(fsync, "write", int, (int fd), (fd))
CALL(fdatasync, "write", int, (int fd), (fd))
"""

RUN = """
import os, sys
from pathlib import Path
from glassine import Ledger

folder = Path(sys.argv[1])
book = Ledger(folder / "budget.sqlite")
try:
    if sys.argv[2] == "charge":
        book.charge("patients", 1, note="one more")
    else:
        book.account("patients")
except Exception as error:
    sys.stdout.write(f"{type(error).__name__}: {error}")
else:
    sys.stdout.write("done")
"""


def compiler() -> str | None:
    """Return the C compiler of the machine, None if there is none or the machine does not run Linux."""
    return shutil.which("cc") if sys.platform == "linux" else None


def make_library(folder: Path) -> Path:
    """Compile what injects the errors."""
    source, library = folder / "failing.c", folder / "failing.so"
    source.write_text(LIBRARY)
    subprocess.run([str(compiler()), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)  # noqa: S603
    return library


def make_ledger(folder: Path, *, journal: bool) -> Path:
    """Make a ledger, with the journal of a charge that was killed before its commit was whole, or without."""
    ledger = Ledger(folder / "budget.sqlite")
    ledger.budget("patients", 10 * CHARGES)
    for number in range(CHARGES):
        ledger.charge("patients", 1, note=f"a tree of the study, number {number}, " + "of many " * 20)
    if journal:
        # The rollback journal appears with the first page that is written, before the commit.
        child = (
            "import os, sqlite3, sys\nfrom glassine.privacy.chained_file import ChainedFile\n"
            "from glassine.privacy.ledger_log import Log\nfrom pathlib import Path\n"
            "with ChainedFile(Path(sys.argv[1]), 5.0, Log).transaction(write=True) as log:\n"
            "    log._connection.execute('PRAGMA cache_size = 1')\n"
            "    log._connection.execute('PRAGMA cache_spill = 1')\n"
            "    account = log.accounts['patients']\n    from fractions import Fraction\n"
            "    import dataclasses\n    number = account.charges + 1\n"
            "    account = dataclasses.replace(account, charges=number, spent_epsilon=Fraction(number))\n"
            "    log.append('charge', account, (Fraction(1), Fraction(0)), 'killed', '2026-01-01T00:00:00+00:00')\n"
            "    os._exit(9)\n"
        )
        subprocess.run([sys.executable, "-c", child, ledger.path], check=False)  # noqa: S603
        if not Path(f"{ledger.path}-journal").exists():
            raise RuntimeError("the killed charge left no journal")
    return ledger.path


def end(whole: Path, library: Path, task: str, call: str, at: int) -> str:
    """Return what a run says in which one read or write fails, or, of a negative number, all from it on."""
    run = whole.parent / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(whole, run)
    injected = {"LD_PRELOAD": str(library), "FAIL_FILE": "budget.sqlite", "FAIL_CALL": call, "FAIL_AT": str(at)}
    done = subprocess.run(  # noqa: S603 - this script's own child
        [sys.executable, "-c", RUN, run, task],
        env={**os.environ, **injected},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def kind_of(text: str) -> str:
    """Return in few words how a run ended."""
    if text == "done":
        return "done"
    if "input/output error" in text or "Input/output error" in text:
        return "an input/output error"
    return "damage" if text.startswith("Damaged") or "damaged" in text else "another error"


def main() -> None:
    """Print how many runs ended in which way, and store it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="a CSV file for the rows")
    output = parser.parse_args().output
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = make_library(folder)
        ledgers = {"none": folder / "whole", "left": folder / "cut"}
        for journal, whole in ledgers.items():
            whole.mkdir()
            make_ledger(whole, journal=journal == "left")
        for task, call in (("account", "read"), ("charge", "read"), ("charge", "write")):
            for journal, whole in ledgers.items():
                most = 1_000
                for sign, failing in ((-1, "from then on"), (1, "once")):
                    kinds: Counter[str] = Counter()
                    for number in range(1, most + 1):
                        kind = kind_of(end(whole, library, task, call, sign * number))
                        kinds[kind] += 1
                        if kind == "done" and sign < 0:
                            # There are no more calls. One of them that fails once can do no harm.
                            most = number
                            break
                    for kind, runs in sorted(kinds.items()):
                        rows.append((task, call, failing, journal, kind, runs))
                        sys.stdout.write(", ".join(map(str, rows[-1])) + "\n")
    if output is not None:
        with output.open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)


if __name__ == "__main__":
    main()
