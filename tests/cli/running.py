"""Runs of the command line, and the records that they are given."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
import pytest

from glassine import Binary, Category, Integer
from glassine.cli import entry, main
from glassine.privacy.release import fresh_count

THRESHOLDS = (30, 50, 70)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a run printed, and its exit status."""

    status: int
    out: str
    err: str


Run: TypeAlias = Callable[..., Done]


@contextmanager
def one_after_another() -> Iterator[Callable[..., int]]:
    """Give what runs a command in this process, which is quick, and returns its exit status."""
    rarely = gc.get_threshold()
    with pytest.MonkeyPatch.context() as patch:
        # What main() sets for the life of a process must not outlive the test.
        patch.setattr(warnings, "showwarning", warnings.showwarning)
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(sys, "unraisablehook", sys.unraisablehook)
        patch.setenv("COLUMNS", "200")
        # Whether a run compiles depends on what this machine has kept.
        patch.setattr(entry, "announce_compilation", lambda: None)

        def call(*arguments: str, cwd: Path) -> int:
            patch.chdir(cwd)
            patch.setattr(sys, "argv", ["glassine", *arguments])
            # A module of the folder, such as a black box, is not that of another folder.
            for module in cwd.glob("*.py"):
                patch.delitem(sys.modules, module.stem, raising=False)
            # Each command is a process of its own, as far as fits without a ledger are counted.
            handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                with fresh_count(), pytest.raises(SystemExit) as ended:
                    main()
            finally:
                for number, handler in handlers.items():
                    signal.signal(number, handler)
            gc.enable()
            gc.set_threshold(*rarely)
            return int(ended.value.code or 0)

        yield call


def process(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run some code, then a command, in a process of its own."""
    lines = (
        f"{code}\nimport sys\nsys.argv = ['glassine', *{list(arguments)!r}]\nimport glassine.cli.entry\n"
        # Whether a run compiles depends on what this machine has kept.
        "glassine.cli.entry.announce_compilation = lambda: None\nglassine.cli.main()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", lines],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error", "COLUMNS": "200"},
    )


def people(n: int = 300) -> pl.DataFrame:
    """Return records of which the old smokers are ill."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"id": np.arange(n), "age": rng.integers(18, 90, n), "smoker": rng.integers(0, 2, n)})
    ill = (pl.col("age") > 50) & (pl.col("smoker") == 1)
    return frame.with_columns(ill=pl.when(ill).then(pl.lit("yes")).otherwise(pl.lit("no")))


def attributes() -> dict[str, Integer | Binary | Category]:
    """Return the public attributes of the records, without their number."""
    return {"age": Integer(18, 90, thresholds=THRESHOLDS), "smoker": Binary(), "ill": Category(("no", "yes"))}


def listing(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder with its content."""
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
