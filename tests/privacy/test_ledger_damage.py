"""Damaged files of a ledger: refused, or read as at least what was spent."""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import pytest

from glassine.errors import BudgetExceededError, DamagedLedgerError, LedgerError
from glassine.privacy.chained_log import next_hash
from glassine.privacy.ledger import Account, Ledger
from glassine.privacy.ledger_log import LedgerRow
from glassine.privacy.unit import PrivacyUnit
from tests.privacy.journals import PAGE, journal_of


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A ledger that was used, and its bytes after every entry."""

    path: Path
    states: tuple[bytes, ...]
    accounts: dict[str, Account]

    @property
    def last(self) -> bytes:
        return self.states[-1]


def accounts_of(path: Path) -> dict[str, Account]:
    book = Ledger(path, timeout=0)
    return {name: book.account(name) for name in book.datasets()}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Return a ledger whose charges fill several pages: 12 of 12, 3 of 10, and none of 1 spent."""
    path = tmp_path_factory.mktemp("history") / "budget.sqlite"
    ledger = Ledger(path)
    states = []

    def keep() -> None:
        states.append(path.read_bytes())

    for name, epsilon, unit in (
        ("patients", 2, None),
        ("visits", 10, PrivacyUnit.person(3)),
        ("untouched", 1, None),
    ):
        ledger.budget(name, epsilon, Fraction(1, 1000), unit=unit)
        keep()
    for number in range(12):
        if number == 2:
            ledger.budget("patients", 12, Fraction(1, 1000))
            keep()
        ledger.charge(
            "patients", 1, Fraction(1, 10**6), note=f"a tree {number} " + "of the study " * (20 * (number % 4))
        )
        keep()
        if number % 4 == 0:
            ledger.charge("visits", 1, note="a table " * 90, unit=PrivacyUnit.person(3))
            keep()
    return History(path=path, states=tuple(states), accounts=accounts_of(path))


Damage: TypeAlias = Callable[[random.Random, History], bytes | None]
"""Returns the bytes of a damaged copy, or None where it would be a whole older copy."""


def pages(data: bytes) -> list[bytes]:
    return [data[start : start + PAGE] for start in range(0, len(data), PAGE)]


def flipped(generator: random.Random, history: History) -> bytes:
    data = bytearray(history.last)
    # Half of them where something stands; most of a page is empty.
    used = [place for place, value in enumerate(data) if value] if generator.random() < 0.5 else range(len(data))
    for place in generator.choices(used, k=generator.choice((1, 1, 1, 2, 4, 16))):
        data[place] = generator.choice((data[place] ^ (1 << generator.randrange(8)), generator.randrange(256), 0, 255))
    return bytes(data)


def zeroed(generator: random.Random, history: History) -> bytes:
    size = generator.choice((1, 8, 64, 512, PAGE))
    place = generator.randrange(len(history.last) // size) * size
    filling = generator.choice((bytes(size), b"\xff" * size, generator.randbytes(size)))
    return history.last[:place] + filling + history.last[place + size :]


def partly_old(generator: random.Random, history: History) -> bytes | None:
    """Put back some blocks of an older state, never all of them."""
    old = generator.choice(history.states[:-1])
    size = generator.choice((512, PAGE))
    differing = [
        place for place in range(0, len(old), size) if old[place : place + size] != history.last[place : place + size]
    ]
    back = generator.sample(differing, generator.randint(1, len(differing)))
    if len(back) == len(differing):
        back.remove(generator.choice(back))
    data = bytearray(history.last)
    for place in back:
        data[place : place + size] = old[place : place + size]
    # All blocks but one where nothing is written make a whole older copy, which only certificates find.
    whole = all(
        logical(data[place : place + PAGE], place) == logical(old[place : place + PAGE], place)
        for place in range(0, len(old), PAGE)
    )
    return None if whole else bytes(data)


def logical(page: bytes | bytearray, place: int) -> bytes:
    """Return what a page says: without change counters, and without the room in it that is not used."""
    out = bytearray(page)
    start = 0
    if place == 0:
        out[24:32] = out[92:100] = bytes(8)
        start = 100
    if out[start] in (0x05, 0x0D):
        cells = int.from_bytes(out[start + 3 : start + 5])
        content = int.from_bytes(out[start + 5 : start + 7])
        used = start + (12 if out[start] == 0x05 else 8) + 2 * cells
        out[used:content] = bytes(max(0, content - used))
        block = int.from_bytes(out[start + 1 : start + 3])
        while block:
            following, size = int.from_bytes(out[block : block + 2]), int.from_bytes(out[block + 2 : block + 4])
            out[block : block + size] = bytes(size)
            block = following if following > block else 0
    return bytes(out)


def leftover(generator: random.Random, history: History) -> tuple[str, bytes]:
    """Return the ending and the bytes of a file that lies beside a whole ledger."""
    # The journal of the very last charge cannot be told from that of a commit that was cut short.
    old = generator.choice(history.states[:-2])
    journal = bytearray(journal_of(old, first=generator.choice((1, 1, 2, 5))))
    for _ in range(generator.choice((0, 0, 1, 4))):
        journal[generator.randrange(len(journal))] = generator.randrange(256)
    if generator.random() < 0.3:
        del journal[generator.randrange(len(journal)) :]
    return generator.choice(("-journal", "-journal", "-journal", "-wal", "-shm")), bytes(journal)


def cut_or_lengthened(generator: random.Random, history: History) -> bytes:
    size = generator.choice((0, 1, 99, 100, PAGE, generator.randrange(len(history.last)), len(history.last) - 1))
    if generator.random() < 0.2:
        return history.last + generator.randbytes(generator.choice((1, 100, PAGE, 3 * PAGE)))
    if generator.random() < 0.5:
        size -= size % PAGE
    return history.last[:size]


def moved(generator: random.Random, history: History) -> bytes:
    """Swap two pages, or put one in the place of another; pages of other states among them."""
    parts = pages(history.last)
    first, second = generator.sample(range(len(parts)), 2)
    if generator.random() < 0.5:
        parts[first], parts[second] = parts[second], parts[first]
    else:
        parts[first] = generator.choice((parts[second], generator.choice(pages(generator.choice(history.states)))))
    return b"".join(parts)


DAMAGES: dict[str, Damage] = {
    "flipped bytes": flipped,
    "zeroed blocks": zeroed,
    "old blocks": partly_old,
    "another length": cut_or_lengthened,
    "moved pages": moved,
}


LEFTOVERS = "leftover files"


def undercounts(path: Path, history: History, *, charge: bool) -> str | None:
    """Return what a damaged copy shows less of than was spent; "refused" if it cannot be used at all."""
    book = Ledger(path, timeout=0)
    try:
        # One reading of all accounts, as each call of the ledger begins with.
        with book._file.transaction(write=False) as log:
            accounts = log.accounts
    except LedgerError:
        return "refused"
    for name, truth in history.accounts.items():
        if name not in accounts:
            return f"{name} is missing"
        account = accounts[name]
        if not (
            account.spent_epsilon >= truth.spent_epsilon
            and account.spent_delta >= truth.spent_delta
            and account.remaining_epsilon <= truth.remaining_epsilon
            and account.remaining_delta <= truth.remaining_delta
            and account.unit == truth.unit
        ):
            return f"{name} shows {account}"
    return charges(book) if charge else None


def charges(book: Ledger) -> str | None:
    """Return what is wrong with charging a damaged copy: a charge too many, or one that is lost."""
    try:
        book.charge("patients", Fraction(1, 10**9))
        return "more was charged than the budget"
    except (BudgetExceededError, LedgerError):
        pass
    try:
        book.charge("untouched", 1)
        remaining = book.account("untouched").remaining_epsilon
    except LedgerError:
        return None
    return "an acknowledged charge was lost" if remaining else None


def inject(kind: str, history: History, folder: Path, seed: int, copies: int) -> Counter[str]:
    """Damage copies in one way, and return how many were refused, and how many opened and showed enough."""
    generator = random.Random(f"{kind} {seed}")
    path = folder / "budget.sqlite"
    seen: Counter[str] = Counter()
    while seen.total() < copies:
        beside = dict([leftover(generator, history)]) if kind == LEFTOVERS else {}
        data = history.last if kind == LEFTOVERS else DAMAGES[kind](generator, history)
        if data is None or (data == history.last and not beside):
            continue
        for end in ("-journal", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        path.write_bytes(data)
        for end, content in beside.items():
            path.with_name(path.name + end).write_bytes(content)
        fault = undercounts(path, history, charge=seen.total() % 100 == 0)
        assert fault in (None, "refused"), f"{kind}, seed {seed}, copy {seen.total()}: {fault}"
        seen[fault or "opened"] += 1
    return seen


KINDS = (*DAMAGES, LEFTOVERS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_damaged_copy_shows_less_than_was_spent(kind: str, history: History, tmp_path: Path) -> None:
    seen = inject(kind, history, tmp_path, seed=1, copies=2_000)
    assert seen["refused"] > 200


STATEMENTS: dict[str, tuple[str, ...]] = {
    "a charge removed": ("DELETE FROM log WHERE number = 9",),
    "the last charge removed": ("DELETE FROM log WHERE number = (SELECT max(number) FROM log)",),
    "all charges removed": ("DELETE FROM log WHERE kind = 'charge'",),
    "everything removed": ("DELETE FROM log", "DELETE FROM accounts", "DELETE FROM head"),
    "a charge moved to the end": ("UPDATE log SET number = 99 WHERE number = 9",),
    "two charges swapped": (
        "UPDATE log SET number = -1 WHERE number = 9",
        "UPDATE log SET number = 9 WHERE number = 10",
        "UPDATE log SET number = 10 WHERE number = -1",
    ),
    "a smaller charge": ("UPDATE log SET epsilon = '1/2' WHERE number = 9",),
    "a negative charge": ("UPDATE log SET epsilon = '-1' WHERE number = 9",),
    "an infinite charge": ("UPDATE log SET epsilon = 'inf' WHERE number = 9",),
    "a charge of another dataset": ("UPDATE log SET dataset = 'visits' WHERE number = 9",),
    "a charge in another unit": ("UPDATE log SET unit = 'person, at most 1 record each' WHERE number = 9",),
    "another note": ("UPDATE log SET note = 'nothing' WHERE number = 9",),
    "another time": ("UPDATE log SET at = '2000-01-01T00:00:00+00:00' WHERE number = 9",),
    "a larger budget": ("UPDATE log SET epsilon = '1000' WHERE kind = 'budget'",),
    "a larger budget among the totals": ("UPDATE accounts SET epsilon = '1000'",),
    "smaller totals": ("UPDATE accounts SET spent_epsilon = '0/1'",),
    "no totals": ("DELETE FROM accounts",),
    "totals twice": (
        "INSERT INTO accounts SELECT 99, dataset, epsilon, delta, unit, charges, '0/1', '0/1' FROM accounts LIMIT 1",
    ),
    "no head": ("DELETE FROM head",),
    "two heads": ("INSERT INTO head SELECT 2, identity, 0, 0, hash FROM head",),
    "another head": ("UPDATE head SET entries = 4, charges = 1, hash = (SELECT hash FROM log WHERE number = 4)",),
    "another identity": ("UPDATE head SET identity = zeroblob(32)",),
    "another nonce": ("UPDATE log SET nonce = zeroblob(32) WHERE number = 9",),
    "a longer nonce": ("UPDATE log SET nonce = zeroblob(33) WHERE number = 9",),
    "another count on the first page": ("PRAGMA user_version = 4",),
    "text for a blob": ("UPDATE log SET hash = 'text' WHERE number = 9",),
    "a blob for text": ("UPDATE log SET note = x'ff00' WHERE number = 9",),
    "a number for text": ("UPDATE log SET epsilon = 1.0 WHERE number = 9",),
    "text that is not UTF-8": ("UPDATE log SET note = CAST(x'ff' AS TEXT) WHERE number = 9",),
    "a name that is not UTF-8": ("UPDATE accounts SET dataset = CAST(x'ff' AS TEXT)",),
    "NUL in a name": ("UPDATE log SET dataset = 'patients' || char(0) WHERE number = 9",),
    "huge text": ("UPDATE log SET note = hex(zeroblob(4500000)) WHERE number = 9",),
    "an amount that is huge": ("UPDATE log SET epsilon = '1e999999999' WHERE number = 9",),
    "a trigger": ("CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; END",),
    "a view": ("ALTER TABLE log RENAME TO other", "CREATE VIEW log AS SELECT * FROM other LIMIT 4"),
    "a table more": ("CREATE TABLE more (x)",),
    "an index more": ("CREATE INDEX more ON log (dataset)",),
    "a column more": ("ALTER TABLE log ADD COLUMN more",),
    "a table less": ("DROP TABLE accounts",),
    "statistics": ("ANALYZE",),
    "a constraint": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'note TEXT NOT NULL', 'note TEXT CHECK (0)')",
    ),
    "two tables on one page": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET rootpage = 2",
    ),
    "a schema that is not SQL": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = CAST(x'ff20ff' AS TEXT), name = CAST(x'ff' AS TEXT) WHERE name = 'log'",
    ),
    "another journal mode": ("PRAGMA journal_mode = WAL",),
    "another application": ("PRAGMA application_id = 7",),
    "another encoding": (
        "PRAGMA writable_schema = ON",
        "DELETE FROM sqlite_master",
        "PRAGMA encoding = 'UTF-16'",
    ),
}


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_file_that_another_program_changed_is_refused(kind: str, history: History, tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    path.write_bytes(history.last)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in STATEMENTS[kind]:
            connection.execute(statement)
    book = Ledger(path, timeout=0)
    for call in (book.datasets, lambda: book.charge("untouched", 1), lambda: book.budget("new", 1), book.verify):
        with pytest.raises(LedgerError, match=r"Release nothing|not a ledger"):
            call()


def chained_anew(path: Path, changes: str, *values: str) -> None:
    """Change rows of the log, then write hashes, totals and head as if the ledger had written the rows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(changes, values)
        ((previous,),) = connection.execute("SELECT identity FROM head").fetchall()
        for row in map(LedgerRow._make, connection.execute("SELECT * FROM log ORDER BY number").fetchall()):
            previous = next_hash(previous, row)
            connection.execute("UPDATE log SET hash = ? WHERE number = ?", (previous, row.number))
        connection.execute("UPDATE head SET hash = ?", (previous,))


SETTING = {
    "epsilon": "UPDATE log SET epsilon = ? WHERE number = 9",
    "delta": "UPDATE log SET delta = ? WHERE number = 9",
    "unit": "UPDATE log SET unit = ? WHERE number = 9",
    "kind": "UPDATE log SET kind = ? WHERE number = 9",
    "dataset": "UPDATE log SET dataset = ? WHERE number = 9",
}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("epsilon", "-1"),
        ("epsilon", "0"),
        ("epsilon", "nan"),
        ("epsilon", "inf"),
        ("epsilon", "1/0"),
        ("epsilon", "2/2"),
        ("epsilon", "1e999999999"),
        ("epsilon", "1" + "0" * 300),
        ("epsilon", "\u0663"),
        ("epsilon", ""),
        ("delta", "-1/2"),
        ("delta", "1"),
        ("delta", "nan"),
        ("unit", "family"),
        ("unit", "person, at most 9 records each"),
        ("kind", "refund"),
        ("dataset", "others"),
    ],
)
def test_an_impossible_row_is_damage_even_with_the_right_hash(
    column: str, value: str, history: History, tmp_path: Path
) -> None:
    path = tmp_path / "budget.sqlite"
    path.write_bytes(history.last)
    chained_anew(path, "SELECT 1")
    assert accounts_of(path) == history.accounts
    chained_anew(path, SETTING[column], value)
    with pytest.raises(DamagedLedgerError, match="entry 9"):
        Ledger(path).account("patients")


def test_a_charge_beyond_the_budget_is_damage_even_with_the_right_hash(history: History, tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    path.write_bytes(history.last)
    chained_anew(path, "UPDATE log SET epsilon = '2' WHERE number = 9")
    with pytest.raises(DamagedLedgerError, match="exceed its budget"):
        Ledger(path).account("visits")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE log SET epsilon = '1/2' WHERE number = 9", r"entry 9 \(charge 5\) was changed, moved or put"),
        ("DELETE FROM log WHERE number = 9", "entry 9 is missing"),
        ("DELETE FROM log WHERE number > 17", "entries 18 to 19 are missing"),
        ("UPDATE head SET hash = zeroblob(32)", "entry 19 is not the one that its head names"),
        ("UPDATE accounts SET charges = 0", "its totals are not those of its entries"),
    ],
)
def test_what_is_damaged_is_named(statement: str, name: str, history: History, tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    path.write_bytes(history.last)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
    with pytest.raises(DamagedLedgerError, match=name):
        Ledger(path).spent("patients")


def test_entries_totals_and_head_never_share_a_page(history: History, tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    path.write_bytes(history.last)
    with closing(sqlite3.connect(path)) as connection:
        try:
            rows = connection.execute("SELECT name, pageno FROM dbstat").fetchall()
        except sqlite3.OperationalError:
            pytest.skip("SQLite was built without dbstat")
    of = {
        name: {page for table, page in rows if table == name} for name in ("log", "accounts", "head", "sqlite_schema")
    }
    assert sum(map(len, of.values())) == len(set.union(*of.values())) == len(history.last) // PAGE
    assert len(of["log"]) > 2
    assert of["sqlite_schema"] == {1}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("kind", ["pipe", "link", "dangling link", "folder"])
def test_a_journal_that_is_no_file_is_refused_and_not_waited_for(kind: str, history: History, tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    path.write_bytes(history.last)
    journal = path.with_name("budget.sqlite-journal")
    if kind == "pipe":
        os.mkfifo(journal)
    elif kind == "folder":
        journal.mkdir()
    else:
        journal.symlink_to(path if kind == "link" else tmp_path / "nothing")
    with pytest.raises(DamagedLedgerError, match="a link, a pipe or a folder"):
        Ledger(path, timeout=0).account(next(iter(history.accounts)))
    assert path.read_bytes() == history.last
