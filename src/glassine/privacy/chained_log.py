"""A log of entries in an SQLite file, chained by a hash: appended to, never changed, and checked at each reading."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from glassine.errors import LogError

NAME_BITS = 8

BYTES = 32
"""Of an identity, a nonce and a hash."""

encode = json.JSONEncoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class LogForm:
    """What the logs of one kind have in common: their tables, and the words of their errors."""

    noun: str  # What errors call the file, such as ``ledger``
    application: int  # SQLite's application id; its last byte is the format of the tables
    # Statements that create the tables, by name: ``log``, ``head`` and those of the kind. They have root pages of their
    # own and no index, so that two tables never share a page. The number of entries is also ``user_version``, on the
    # first page of the file.
    tables: Mapping[str, str]
    row: tuple[type, ...]  # Types of the columns of an entry: first its number, last its nonce and its hash
    tallies: tuple[str, ...] = ()  # Columns of the head between the number of entries and the hash
    # Statements that create triggers on the entries, by name. They stop slips; the chain shows what goes around them.
    triggers: Mapping[str, str] = field(default_factory=dict)
    entries: str  # What an undone journal would undo
    renew: str  # What to do about a file of another version
    restore: str  # What to do about a damaged file
    absent: str  # What to do if there is no file
    error: type[LogError]
    damage: type[LogError]  # A kind of ``error``


Row = TypeVar("Row", bound=tuple[Any, ...])


class ChainedLog(Generic[Row]):
    """The entries of a log, read in one transaction and checked whole.

    Guarantee
    ---------
    No entry that was appended is missing, changed or moved unless the change is consistent over the entries, the head,
    the tables of the kind and the first page of the file. See ``ledger_log.md``.

    Assumptions
    -----------
    The connection holds a transaction until the log is used no more.

    Raises
    ------
    LogError
        If anything in the file is not as it was written, or the file is another database, or of another version of
        Glassine; each kind of log has its own subclasses.
    """

    form: ClassVar[LogForm]

    def __init__(self, connection: sqlite3.Connection, path: Path, *, journal: str = "delete") -> None:
        # journal: the journal mode that the file must have; a copy in memory has another.
        self._connection, self.path, self._journal = connection, path, journal
        self._check_file()
        self._identity, entries, tallies, self._hash = self._read_head()
        self.rows: list[Row] = []
        self._read_rows()
        last = self.rows[-1][-1] if self.rows else self._identity
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        if not len(self.rows) == entries == version:
            most = max(entries, version)
            raise self._damage(
                f"entries {len(self.rows) + 1} to {most} are missing"
                if most > len(self.rows)
                else f"it holds {len(self.rows)} entries where its head says {entries} and its first page {version}"
            )
        if (self._tallies(), last) != (tallies, self._hash):
            raise self._damage(f"entry {entries} is not the one that its head names")
        self._check_rest()

    @classmethod
    def create(cls, connection: sqlite3.Connection) -> None:
        """Make the tables of an empty log, inside a transaction."""
        identity = secrets.token_bytes(BYTES)
        for statement in (*cls.form.tables.values(), *cls.form.triggers.values()):
            connection.execute(statement)
        zeros = ", 0" * len(cls.form.tallies)
        connection.execute(f"INSERT INTO head VALUES (1, ?, 0{zeros}, ?)", (identity, identity))  # noqa: S608, no input
        connection.execute(f"PRAGMA application_id = {cls.form.application}")

    @property
    def identity(self) -> str:
        """64 hexadecimal digits that no other log has."""
        return self._identity.hex()

    @property
    def head(self) -> str:
        """The hash of the last entry, 64 hexadecimal digits; it is compatible with one history only."""
        return self._hash.hex()

    def _chained(self, values: tuple[Any, ...], make: Any) -> Row:
        """Return the next entry of the chain, numbered, with its nonce and its hash."""
        # Without the nonce, an older copy to which the same is appended in the same second would end with the same
        # hash, and who has the hash could try out what was appended.
        row: Row = make((len(self.rows) + 1, *values, secrets.token_bytes(BYTES), b""))
        whole: Row = make((*row[:-1], next_hash(self._hash, row)))
        return whole

    def _write(self, row: Row) -> None:
        """Write an entry that :meth:`_chained` returned; ``_take`` is called before the head is written."""
        # First, so that the first page is the first of the rollback journal: see chained_file.
        self._connection.execute(f"PRAGMA user_version = {row[0]}")
        places = ", ".join("?" * len(row))
        self._connection.execute(f"INSERT INTO log VALUES ({places})", row)  # noqa: S608, no input
        self._took(row)
        tallies = "".join(f" {name} = ?," for name in self.form.tallies)
        self._connection.execute(
            f"UPDATE head SET entries = ?,{tallies} hash = ?",  # noqa: S608, no input
            (row[0], *self._tallies(), row[-1]),
        )
        self._hash = row[-1]
        self.rows.append(row)

    # What a kind of log adds to the chain.

    def _make(self, values: tuple[Any, ...]) -> Row:
        """Return the columns of a row as an entry."""
        raise NotImplementedError

    def _take(self, row: Row) -> None:
        """Check an entry that was read against those before it; the chain is checked."""

    def _took(self, row: Row) -> None:
        """Write what an appended entry changes in the tables of the kind."""

    def _tallies(self) -> tuple[int, ...]:
        """Return what the head counts beside the entries."""
        return ()

    def _check_rest(self) -> None:
        """Check the tables of the kind."""

    def _named(self, row: Row) -> str:
        """Return an entry in the words of an error."""
        return f"entry {row[0]}"

    def _damage(self, what: str) -> LogError:
        return self.form.damage(
            f"the {self.form.noun} {self.path} is damaged: {what}.",
            remedy=f"Release nothing. {self.form.restore}",
            path=self.path,
        )

    def _check_file(self) -> None:
        """Check what SQLite can check: that this is such a log, its tables and nothing else, and its pages."""
        form = self.form
        ((application,),) = self._connection.execute("PRAGMA application_id").fetchall()
        if application >> NAME_BITS != form.application >> NAME_BITS:
            raise form.error(
                f"{self.path} is a database, but not a {form.noun}.", remedy="Give another path.", path=self.path
            )
        if application != form.application:
            raise form.error(
                f"another version of Glassine wrote the {form.noun} {self.path}.", remedy=form.renew, path=self.path
            )
        ((mode,),) = self._connection.execute("PRAGMA journal_mode").fetchall()
        if mode != self._journal:
            raise self._damage(f"its journal mode is {mode!r}")
        # Before anything is read from a table: a view or another trigger is code.
        expected = {("table", name, name, statement) for name, statement in form.tables.items()}
        expected |= {("trigger", name, "log", statement) for name, statement in form.triggers.items()}
        if set(self._connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")) != expected:
            raise self._damage(f"its tables are not those of a {form.noun}")
        if self._connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
            raise self._damage("its pages contradict each other")

    def _read_head(self) -> tuple[bytes, int, tuple[int, ...], bytes]:
        rows = self._connection.execute("SELECT * FROM head").fetchall()
        if len(rows) == 1:
            number, identity, entries, *tallies, last = rows[0]
            kinds = [int, bytes, int, *(int for _ in self.form.tallies), bytes]
            if [type(value) for value in rows[0]] == kinds and number == 1 and len(identity) == len(last) == BYTES:
                return identity, entries, tuple(tallies), last
        raise self._damage("its head is unreadable")

    def _read_rows(self) -> None:
        """Read the entries, each checked against the one before it."""
        previous, types = self._identity, self.form.row
        # This loop is most of the time of a charge.
        for place, values in enumerate(self._connection.execute("SELECT * FROM log ORDER BY number"), start=1):
            row = self._make(values)
            if values[0] != place:
                raise self._damage(f"entry {place} is missing")
            if tuple(map(type, row)) != types or len(row[-2]) != BYTES or row[-1] != next_hash(previous, row):
                raise self._damage(f"{self._named(row)} was changed, moved or put in the place of another")
            self._take(row)
            previous = row[-1]
            self.rows.append(row)


def next_hash(previous: bytes, row: tuple[Any, ...]) -> bytes:
    """Return the hash of an entry, which covers the hash before it and all columns but the hash itself."""
    # All before the text is of a fixed length, so that no two entries are hashed as the same bytes.
    return hashlib.blake2b(previous + row[-2] + encode(row[:-2]).encode(), digest_size=BYTES).digest()
