"""The file of a ledger: one name, no foreign neighbors, locks that hold, and errors that say what to do."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from glassine.errors import DamagedLedgerError, InvalidBudgetError, LedgerError
from glassine.privacy.chained_file import ChainedFile
from glassine.privacy.ledger import Ledger
from glassine.privacy.ledger_log import Log
from tests.privacy.journals import journal_of

POSIX = pytest.mark.skipif(os.name != "posix", reason="links, signals and locks are POSIX")
PAGE = 4096


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "budget.sqlite", timeout=0.2)
    made.budget("patients", 10)
    return made


@POSIX
def test_a_file_with_a_second_name_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    ledger.charge("patients", 1)
    second = tmp_path / "second.sqlite"
    os.link(ledger.path, second)
    for path in (ledger.path, second):
        with pytest.raises(LedgerError, match=r"must have one name, .* with 2 \(hard links\)"):
            Ledger(path).charge("patients", 1)
        with pytest.raises(LedgerError, match="must have one name"):
            Ledger(path).spent("patients")
    second.unlink()
    assert ledger.spent("patients") == 1


@POSIX
def test_a_charge_under_a_second_name_cannot_be_lost_by_a_kill(ledger: Ledger, tmp_path: Path) -> None:
    """A killed commit leaves its journal under one name; under the other it would never be undone."""
    ledger.charge("patients", 1)
    second = tmp_path / "second.sqlite"
    os.link(ledger.path, second)
    code = """
import os, signal, sys
from glassine.privacy.ledger import Ledger
try:
    Ledger(sys.argv[1]).charge("patients", 1)
finally:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code, str(second)], check=False)
    with pytest.raises(LedgerError, match="must have one name"):
        ledger.charge("patients", 1)


@POSIX
@pytest.mark.parametrize("moment", ["before the lock", "before the commit"])
def test_a_second_name_that_comes_while_it_is_in_use_voids_the_charge(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def linking(original: object) -> object:
        def call(*arguments: object, **options: object) -> object:
            if not (tmp_path / "second").exists():
                os.link(ledger.path, tmp_path / "second")
            assert callable(original)
            return original(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        if moment == "before the lock":
            patch.setattr(Log, "__init__", linking(Log.__init__))
        else:
            patch.setattr(Log, "append", linking(Log.append))
        with pytest.raises(LedgerError, match="got a second name"):
            ledger.charge("patients", 1)
    (tmp_path / "second").unlink()
    # The charge may be recorded; it was not acknowledged.
    assert ledger.spent("patients") == (0 if moment == "before the lock" else 1)


@POSIX
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_ledger_that_is_replaced_while_it_is_charged_acknowledges_nothing(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    shutil.copy(ledger.path, tmp_path / "copy")
    append = Log.append

    def replacing(*arguments: Any) -> object:
        if moment == "before":
            os.replace(tmp_path / "copy", ledger.path)
        row = append(*arguments)
        if moment == "after":
            os.replace(tmp_path / "copy", ledger.path)
        return row

    monkeypatch.setattr(Log, "append", replacing)
    with pytest.raises(LedgerError, match=r"was moved.* Release nothing|was moved.* while it was in use"):
        ledger.charge("patients", 1)


@POSIX
@pytest.mark.parametrize("moment", ["link", "unlink"])
def test_a_kill_while_the_ledger_is_made_leaves_it_usable(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "budget.sqlite"
    code = f"""
import os, signal, sys
import glassine.privacy.ledger
from glassine.privacy.ledger import Ledger
os.{moment} = lambda *arguments, **options: os.kill(os.getpid(), signal.SIGKILL)
Ledger(sys.argv[1]).budget("patients", 1)
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.exists() == (moment == "unlink")
    ledger = Ledger(path)
    ledger.budget("patients", 1)
    ledger.charge("patients", 1)
    assert ledger.remaining("patients") == 0
    assert path.stat().st_nlink == 1


@POSIX
def test_only_names_that_a_killed_creation_left_are_removed(ledger: Ledger, tmp_path: Path) -> None:
    other = tmp_path / ".budget.sqlite.new-other"
    other.write_text("another file")
    mine = tmp_path / ".budget.sqlite.backup"
    os.link(ledger.path, mine)
    with pytest.raises(LedgerError, match="must have one name"):
        ledger.spent("patients")
    assert mine.exists()
    mine.rename(tmp_path / ".budget.sqlite.new-a1b2")
    assert ledger.spent("patients") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "budget.sqlite"]


def neighbor(ledger: Ledger, end: str) -> Path:
    return ledger.path.with_name(ledger.path.name + end)


def test_a_journal_of_an_older_charge_is_refused_and_not_played_back(ledger: Ledger) -> None:
    old = ledger.path.read_bytes()
    for _ in range(3):
        ledger.charge("patients", 1)
    last = ledger.path.read_bytes()
    for first in (1, 2):
        neighbor(ledger, "-journal").write_bytes(journal_of(old, first=first))
        for call in (lambda: ledger.charge("patients", 1), lambda: ledger.spent("patients")):
            with pytest.raises(DamagedLedgerError, match="older than the ledger, and would undo charges"):
                call()
        assert ledger.path.read_bytes() == last
    # SQLite itself plays it back.
    with closing(sqlite3.connect(ledger.path)) as connection:
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (1,)


def test_the_journal_of_a_commit_that_was_cut_short_is_played_back(ledger: Ledger) -> None:
    ledger.charge("patients", 1)
    old = ledger.path.read_bytes()
    ledger.charge("patients", 1)
    new = ledger.path.read_bytes()
    # The commit had written some pages when it was killed.
    for torn in (old, new[:PAGE] + old[PAGE:], old[:-PAGE] + new[-PAGE:]):
        ledger.path.write_bytes(torn)
        neighbor(ledger, "-journal").write_bytes(journal_of(old))
        assert ledger.spent("patients") == 1
        assert not neighbor(ledger, "-journal").exists()
        assert ledger.path.read_bytes() == old


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"no journal" * 500])
def test_a_journal_that_is_none_changes_nothing(ledger: Ledger, content: bytes) -> None:
    ledger.charge("patients", 1)
    neighbor(ledger, "-journal").write_bytes(content)
    assert ledger.spent("patients") == 1
    ledger.charge("patients", 2)
    assert ledger.spent("patients") == 3


def test_a_log_of_another_journal_mode_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    """A write-ahead log beside the file takes it back to the pages that it holds."""
    copy = tmp_path / "copy"
    shutil.copy(ledger.path, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE head SET charges = 0")
        shutil.copy(f"{copy}-wal", neighbor(ledger, "-wal"))
    with pytest.raises(DamagedLedgerError, match=r"never has a file budget\.sqlite-wal beside it"):
        ledger.charge("patients", 1)
    neighbor(ledger, "-wal").unlink()
    neighbor(ledger, "-shm").touch()
    with pytest.raises(DamagedLedgerError, match=r"budget\.sqlite-shm"):
        ledger.spent("patients")
    neighbor(ledger, "-shm").unlink()
    assert ledger.charge("patients", 1).number == 1


NO_LOCKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
static int refuse(int command) {
    return command == F_SETLK || command == F_SETLKW;
}
int fcntl(int file, int command, ...) {
    va_list rest; va_start(rest, command); void *argument = va_arg(rest, void *); va_end(rest);
    if (refuse(command)) { errno = ENOLCK; return -1; }
    return ((int (*)(int, int, void *)) dlsym(RTLD_NEXT, "fcntl"))(file, command, argument);
}
int fcntl64(int file, int command, ...) {
    va_list rest; va_start(rest, command); void *argument = va_arg(rest, void *); va_end(rest);
    if (refuse(command)) { errno = ENOLCK; return -1; }
    return ((int (*)(int, int, void *)) dlsym(RTLD_NEXT, "fcntl64"))(file, command, argument);
}
"""


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler")
def test_a_file_system_without_locks_is_named_as_such(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "none.c").write_text(NO_LOCKS)
    library = tmp_path / "none.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "none.c", "-ldl"], check=True)
    code = """
import sys
from glassine.errors import LedgerError
from glassine.privacy.ledger import Ledger
try:
    Ledger(sys.argv[1], timeout=0.1).charge("patients", 1)
except LedgerError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(ledger.path)],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "its file system cannot lock files. Move it to a local disk. Release nothing." in done.stdout, done.stderr
    assert ledger.spent("patients") == 0


@POSIX
def test_a_lock_of_another_process_is_not_taken_for_a_file_system_without_locks(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="another process held it"):
            ledger.charge("patients", 1)

        def refuse(*arguments: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(fcntl, "lockf", refuse)
        with pytest.raises(LedgerError, match="cannot lock files"):
            ledger.charge("patients", 1)
        connection.execute("ROLLBACK")


def test_a_ledger_of_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE budgets (dataset TEXT PRIMARY KEY, epsilon TEXT, delta TEXT)")
        connection.execute(f"PRAGMA application_id = {0x474C_5353}")
        connection.execute("PRAGMA user_version = 2")
    for call in (lambda: Ledger(path).budget("patients", 1), lambda: Ledger(path).spent("patients")):
        with pytest.raises(LedgerError, match=r"another version of Glassine wrote the ledger .* Make a new ledger"):
            call()


ALIKE = {
    "case": "PATIENTS of caf\u00e9",
    "spaces": "Patientsof caf\u00e9",
    "an invisible character": "Patients of\u200b caf\u00e9",
    "wide letters": "\uff30atients of caf\u00e9",
}
SAME = ("Patients of caf\u00e9", " Patients  of\tcaf\u00e9\n", "Patients of cafe\u0301", "\u2003Patients of caf\u00e9")


def test_spaces_and_composition_do_not_make_another_dataset(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.sqlite")
    for number, name in enumerate(SAME, start=1):
        ledger.budget(name, 10)
        assert ledger.charge(name, 1).dataset == SAME[0]
        assert ledger.spent(SAME[0]) == number
    assert ledger.datasets() == (SAME[0],)
    assert len(ledger.changes(SAME[2])) == 1


@pytest.mark.parametrize("kind", ALIKE)
def test_a_name_that_looks_like_an_old_one_is_refused(tmp_path: Path, kind: str) -> None:
    ledger = Ledger(tmp_path / "b.sqlite")
    ledger.budget(SAME[0], 1)
    with pytest.raises(InvalidBudgetError, match=f"must differ from '{SAME[0]}', which has a budget"):
        ledger.budget(ALIKE[kind], 1)
    with pytest.raises(LedgerError, match=f"and holds one for '{SAME[0]}'"):
        ledger.charge(ALIKE[kind], 1)
    assert ledger.datasets() == (SAME[0],)


def test_names_that_differ_by_letters_are_two_datasets(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.sqlite")
    names = (
        "Patients of caf\u00e9",
        "Patients of cafe",
        "Patients of cafes",
        "\u60a3\u8005",
        "patients 2",
        "patients 3",
    )
    for name in names:
        ledger.budget(name, 1)
    assert ledger.datasets() == tuple(sorted(names))


def test_the_bytes_of_a_ledger_are_those_of_earlier_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(100))
    monkeypatch.setattr(
        "glassine.privacy.chained_log.secrets.token_bytes",
        lambda n: hashlib.sha256(str(next(numbers)).encode()).digest()[:n],
    )
    monkeypatch.setattr("glassine.privacy.ledger._now", lambda: "2026-01-01T00:00:00+00:00")
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.budget("patients", 10)
    for number in range(20):
        ledger.charge("patients", 0.1, note="a tree " * 50 * number)
    with closing(sqlite3.connect(ledger.path)) as connection:
        statements = [statement for (statement,) in connection.execute("SELECT sql FROM sqlite_master ORDER BY rowid")]
        tables = ("SELECT * FROM log", "SELECT * FROM accounts", "SELECT * FROM head")
        rows = [connection.execute(table).fetchall() for table in tables]
    digest = hashlib.sha256(repr((statements, rows)).encode()).hexdigest()
    assert digest == "a7f81529842272e644e3e6811031b287bd0cb1db0fc3a2025e9090bb5f763d06"


@POSIX
def test_a_file_that_was_under_the_name_only_while_it_was_opened_is_refused(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Ledger(tmp_path / "other.sqlite")
    other.budget("patients", 10)
    connect = ChainedFile._connect

    def swapped(file: ChainedFile[Log], options: str) -> sqlite3.Connection:
        if "other" not in file.path.name:
            file.path.rename(tmp_path / "kept.sqlite")
            file.path.symlink_to(other.path)
            connection = connect(file, options)
            file.path.unlink()
            (tmp_path / "kept.sqlite").rename(file.path)
            return connection
        return connect(file, options)

    with monkeypatch.context() as patched:
        patched.setattr(ChainedFile, "_connect", swapped)
        with pytest.raises(LedgerError, match="was moved"):
            ledger.charge("patients", 1)
    assert (ledger.spent("patients"), other.spent("patients")) == (0, 0)
