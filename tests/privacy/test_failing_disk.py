"""An input/output error of a ledger is called that, and not damage: who restores a copy loses charges."""

from __future__ import annotations

import importlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from glassine import Ledger
from glassine.errors import DamagedLedgerError, LedgerError
from glassine.privacy.ledger_log import Log

disk: Any = importlib.import_module("benchmarks.failing_disk")

ADVICE = "Release nothing. Try again; if it persists, check the disk."


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if disk.compiler() is None:
        pytest.skip("needs a C compiler on Linux, to inject errors")
    disk.CHARGES = 40
    made: Path = disk.make_library(tmp_path_factory.mktemp("library"))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("journal", [False, True])
def test_an_error_of_a_read_is_no_damage(tmp_path: Path, library: Path, journal: bool) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    disk.make_ledger(whole, journal=journal)
    # Reads of the header, of the first page, of entries, and of the journal.
    for at in (-1, -3, -4, -8) if journal else (1, 3, 4, -8):
        said = disk.end(whole, library, "account", "read", at)
        assert said.startswith("LedgerError: cannot use the ledger"), (at, said)
        assert "the disk reported an input/output error" in said, (at, said)
        assert ADVICE in said, (at, said)
        assert "estore" not in said, (at, said)


@pytest.mark.slow
def test_an_error_of_a_write_is_no_damage(tmp_path: Path, library: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    disk.make_ledger(whole, journal=False)
    for at in (1, 9):
        said = disk.end(whole, library, "charge", "write", at)
        assert said.startswith("LedgerError: ")
        assert ADVICE in said
        assert Ledger(tmp_path / "run" / "budget.sqlite").account("patients").charges == disk.CHARGES


def test_what_is_read_whole_afterwards_was_an_error_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.budget("patients", 1)
    read, failing = Log.__init__, [True]

    def log(new: Log, connection: sqlite3.Connection, path: Path, **more: Any) -> None:
        if failing:
            failing.pop()
            raise DamagedLedgerError("its pages contradict each other", path=path)
        read(new, connection, path, **more)

    monkeypatch.setattr(Log, "__init__", log)
    with pytest.raises(LedgerError, match="reported an input/output error") as caught:
        ledger.account("patients")
    assert type(caught.value) is LedgerError
    assert ADVICE in str(caught.value)
    assert ledger.account("patients").charges == 0


def test_damage_that_is_read_is_damage(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.budget("patients", 1)
    data = bytearray(ledger.path.read_bytes())
    at = data.rindex(b"patients")
    data[at] ^= 1
    ledger.path.write_bytes(data)
    with pytest.raises(DamagedLedgerError, match="Restore"):
        ledger.account("patients")
