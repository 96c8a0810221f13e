"""What happens at a desk, as entries of a chained log: who did what, when, and with which bytes."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from glassine.desk.phrases import PHRASES
from glassine.errors import DamagedDeskError, DeskError, LogError
from glassine.privacy.chained_log import ChainedLog, LogForm

HAPPENED = PHRASES["events"]
"""Kinds of events, in the order in which they first happen to a file, as pages call them."""
KINDS = tuple(HAPPENED)

LONGEST = 2**20
"""Characters of the largest event."""

FORM = LogForm(
    noun="desk record",
    application=0x474C_4432,  # GLD2
    tables={
        "log": "CREATE TABLE log (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, at TEXT NOT NULL, account TEXT NOT"
        " NULL, name TEXT NOT NULL, role TEXT NOT NULL, body TEXT NOT NULL, nonce BLOB NOT NULL, hash BLOB NOT NULL)",
        "head": "CREATE TABLE head (number INTEGER PRIMARY KEY, identity BLOB NOT NULL, entries INTEGER NOT NULL,"
        " hash BLOB NOT NULL)",
    },
    triggers={
        f"no_{verb.lower()}": f"CREATE TRIGGER no_{verb.lower()} BEFORE {verb} ON log"
        " BEGIN SELECT RAISE(ABORT, 'events are never changed or deleted'); END"
        for verb in ("UPDATE", "DELETE")
    },
    row=(int, str, str, str, str, str, str, bytes, bytes),
    entries="decisions",
    renew="Open the folder with that version.",
    restore="Restore it from a copy, and decide again what was decided since.",
    absent="Open the folder with glassine desk to create it.",
    error=DeskError,
    damage=DamagedDeskError,
)

Role = Literal["checker", "analyst"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who acts at a desk.

    Attributes
    ----------
    account : str
        Account of the operating system, which the desk believes.
    name : str
        Name as stated by the person.
    role : {"checker", "analyst"}
        Role as stated by the person; the list of checkers in the settings limits who can be one.
    """

    account: str
    name: str
    role: Role


class EventRow(NamedTuple):
    """One event as the table holds it."""

    number: int
    kind: str
    at: str
    account: str
    name: str
    role: str
    body: str
    nonce: bytes
    hash: bytes


class DeskLog(ChainedLog[EventRow]):
    """The events of a desk, read in one transaction and checked whole.

    Raises
    ------
    DamagedDeskError
        If anything in the file is not as it was written.
    DeskError
        If the file is another database, or of another version of Glassine.
    """

    form = FORM

    def __init__(self, connection: sqlite3.Connection, path: Path, *, journal: str = "delete") -> None:
        self.events: list[DeskEvent] = []
        super().__init__(connection, path, journal=journal)

    def append(self, kind: str, person: Person, at: str, body: Mapping[str, Any]) -> DeskEvent:
        """Write an event; the caller has checked that it is allowed."""
        text = json.dumps(body, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))
        if kind not in KINDS or len(text) > LONGEST:
            raise DeskError(
                f"an event must be one of {len(KINDS)} kinds and shorter than {LONGEST:,} characters.", path=self.path
            )
        row = self._chained((kind, at, person.account, person.name, person.role, text), EventRow._make)
        self._write(row)
        self.events.append(DeskEvent.of(row))
        return self.events[-1]

    def unknown(self, number: int) -> LogError:
        """Return the error that an entry, though as it was written, is not what this desk writes in one of its kind."""
        # No damage of the file, for which a transaction would look at the disk.
        return DeskError(
            f"entry {number} of the desk record {self.path} is not what a desk of this version writes.",
            remedy=f"Open the folder with the version that wrote it, or {FORM.restore[0].lower()}{FORM.restore[1:]}",
            path=self.path,
        )

    def _make(self, values: tuple[Any, ...]) -> EventRow:
        return EventRow._make(values)

    def _take(self, row: EventRow) -> None:
        try:
            event = DeskEvent.of(row)
        except ValueError:
            raise self._damage(f"{self._named(row)} is unreadable") from None
        if row.kind not in KINDS or not isinstance(event.body, dict):
            raise self._damage(f"{self._named(row)} is of no known kind")
        self.events.append(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskEvent:
    """One event, read."""

    number: int
    kind: str
    at: str  # UTC, ISO 8601
    person: Person
    body: dict[str, Any]
    hash: str

    @classmethod
    def of(cls, row: EventRow) -> DeskEvent:
        """Return what a row says."""
        role: Role = "analyst" if row.role == "analyst" else "checker"
        person = Person(account=row.account, name=row.name, role=role)
        return cls(
            number=row.number, kind=row.kind, at=row.at, person=person, body=json.loads(row.body), hash=row.hash.hex()
        )


def alike(name: str, other: str) -> bool:
    """Return whether two names are the same but for case, spaces and the form of their characters."""
    one, two = ("".join(unicodedata.normalize("NFKC", text).casefold().split()) for text in (name, other))
    return one == two


def is_called(person: Person, name: str) -> bool:
    """Return whether a name is that of a person, or of the person's account."""
    return alike(name, person.name) or alike(name, person.account)


def account_of(number: int) -> str:
    """Return the name of an account of the operating system by its number."""
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return f"account {number}"
