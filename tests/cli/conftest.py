"""Fixtures of the command line's tests."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassine import Domain, Ledger
from glassine.cli import entry, main
from glassine.privacy.release import fresh_count
from tests.cli.running import Done, Run, attributes, people


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Run commands in this process, which is quick."""
    # What main() sets for the life of a process must not outlive the test.
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setenv("COLUMNS", "200")
    # Whether a run compiles depends on what this machine has kept.
    monkeypatch.setattr(entry, "announce_compilation", lambda: None)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def call(*arguments: str, cwd: Path) -> Done:
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["glassine", *arguments])
        capsys.readouterr()
        # Each command is a process of its own, as far as fits without a ledger are counted.
        with fresh_count(), pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Done(status=int(ended.value.code or 0), out=printed.out, err=printed.err)

    yield call
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of records as CSV and Parquet, their domain, and a ledger that allows epsilon 1."""
    people().write_csv(tmp_path / "people.csv")
    people().write_parquet(tmp_path / "people.parquet")
    Domain(attributes()).to_json(tmp_path / "domain.json")
    Ledger(tmp_path / "budget.sqlite").budget("people", 1)
    return tmp_path
