"""The log of a ledger: budgets and charges in order, chained by a hash and checked at each reading; payments by it."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from glassine.errors import DamagedLedgerError, InvalidParameterError, LedgerError
from glassine.privacy.exact import decimal_above
from glassine.privacy.receipt import Receipt
from glassine.privacy.unit import PrivacyUnit

APPLICATION_ID = 0x474C_5333
"""``GLS3``; its last byte is the format of the tables."""
NAME_BITS = 8

LARGEST = 10**300
FINEST = 10**400

# The tables have root pages of their own and no index, so that entries, accounts and head never share a page.
# The number of entries is also ``user_version``, on the first page of the file.
TABLES = {
    "log": "CREATE TABLE log (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, dataset TEXT NOT NULL, epsilon TEXT"
    " NOT NULL, delta TEXT NOT NULL, unit TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT NULL, nonce BLOB NOT NULL,"
    " hash BLOB NOT NULL)",
    "accounts": "CREATE TABLE accounts (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, epsilon TEXT NOT NULL,"
    " delta TEXT NOT NULL, unit TEXT NOT NULL, charges INTEGER NOT NULL, spent_epsilon TEXT NOT NULL,"
    " spent_delta TEXT NOT NULL)",
    "head": "CREATE TABLE head (number INTEGER PRIMARY KEY, identity BLOB NOT NULL, entries INTEGER NOT NULL,"
    " charges INTEGER NOT NULL, hash BLOB NOT NULL)",
}

INSERT_ROW = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SELECT_ROWS = "SELECT number, kind, dataset, epsilon, delta, unit, note, at, nonce, hash FROM log ORDER BY number"
SET_ACCOUNT = "INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
SET_HEAD = "UPDATE head SET entries = ?, charges = ?, hash = ?"

BUDGET, CHARGE = "budget", "charge"

encode = json.JSONEncoder().encode

# Digits of the largest numerator and denominator. Without this limit a text such as 1e999999999 would fill the memory.
AMOUNT = re.compile(r"(0|[1-9][0-9]{0,700})(/[1-9][0-9]{0,400})?")
# Of an identity, a nonce and a hash.
BYTES = 32
if TYPE_CHECKING:
    from glassine.privacy.certificate import Certificate

NO_RECEIPT = (
    "The certificate has no receipt of a charge: its release was made without a ledger, or charged by hand. See that a "
    "charge covers it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One charge: its number, the dataset, what it took and in which unit, what for, and when (UTC, ISO 8601).

    The receipt goes into the certificate of the release that the charge pays for.
    """

    number: int
    dataset: str
    epsilon: Fraction
    delta: Fraction
    unit: PrivacyUnit
    note: str
    at: str
    receipt: Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """What a ledger says of one certificate.

    Attributes
    ----------
    status : {"paid", "fault", "unknown"}
        Unknown if the certificate has no receipt: nothing says which charge paid for it.
    entry : Entry or None
        The charge that paid for it.
    reason : str
        What is wrong or not known, a sentence; empty if it is paid.
    """

    status: Literal["paid", "fault", "unknown"]
    entry: Entry | None = None
    reason: str = ""


def payment_of(certificate: Certificate, ledger: str, entries: tuple[Entry, ...]) -> Payment:
    """Return what the charges of a ledger say of one certificate."""
    receipt = certificate.receipt
    if receipt is None:
        return Payment(status="unknown", reason=NO_RECEIPT)
    number = receipt.charge
    if receipt.ledger != ledger:
        return Payment(status="fault", reason=f"It was paid for by charge {number} of another ledger.")
    if number > len(entries):
        return Payment(
            status="fault",
            reason=f"It was paid for by charge {number}, and this ledger ends with charge {len(entries)}: it is an "
            "older copy. Restore the newer one, or charge what is missing.",
        )
    entry = entries[number - 1]
    if receipt != entry.receipt:
        return Payment(
            status="fault",
            reason=f"It was paid for by another charge {number}: this ledger is an older copy that was charged again. "
            "Add the charges of both copies.",
        )
    if not (certificate.epsilon <= decimal_above(entry.epsilon) and certificate.delta <= decimal_above(entry.delta)):
        return Payment(
            status="fault",
            reason=f"It claims epsilon {certificate.epsilon:g} and delta {certificate.delta:g}, and charge {number} "
            f"is of epsilon {decimal_above(entry.epsilon):g} and delta {decimal_above(entry.delta):g}.",
        )
    if certificate.unit != entry.unit:
        return Payment(
            status="fault",
            reason=f"Its privacy unit is {str(certificate.unit)!r}, and charge {number} is for {str(entry.unit)!r}.",
        )
    return Payment(status="paid", entry=entry)


class LedgerRow(NamedTuple):
    """One entry as the table holds it; amounts are fractions as text."""

    number: int
    kind: str
    dataset: str
    epsilon: str
    delta: str
    unit: str
    note: str
    at: str
    nonce: bytes
    hash: bytes


ROW_TYPES = (int, str, str, str, str, str, str, str, bytes, bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A dataset's budget, the unit it counts in, and what was charged to it, exact."""

    dataset: str
    epsilon: Fraction
    delta: Fraction
    unit: PrivacyUnit
    charges: int
    spent_epsilon: Fraction
    spent_delta: Fraction

    @property
    def remaining_epsilon(self) -> Fraction:
        """Epsilon left."""
        return self.epsilon - self.spent_epsilon

    @property
    def remaining_delta(self) -> Fraction:
        """Delta left."""
        return self.delta - self.spent_delta

    def _columns(self) -> tuple[str | int, ...]:
        spent = (self.spent_epsilon, self.spent_delta)
        # Sums may have more decimal digits than Python converts.
        sums = (f"{amount.numerator:x}/{amount.denominator:x}" for amount in spent)
        return (self.dataset, str(self.epsilon), str(self.delta), str(self.unit), self.charges, *sums)


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty ledger, inside a transaction."""
    identity = secrets.token_bytes(BYTES)
    for statement in TABLES.values():
        connection.execute(statement)
    connection.execute("INSERT INTO head VALUES (1, ?, 0, 0, ?)", (identity, identity))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


class Log:
    """The entries of a ledger, read in one transaction and checked whole.

    Guarantee
    ---------
    No entry that was appended is missing, changed or moved unless the change is consistent over the entries, the
    accounts, the head and the first page of the file. See ``ledger_log.md``.

    Assumptions
    -----------
    The connection holds a transaction until the log is used no more.

    Raises
    ------
    DamagedLedgerError
        If anything in the file is not as it was written.
    LedgerError
        If the file is another database, or the ledger of another version of Glassine.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, journal: str = "delete") -> None:
        # journal: the journal mode that the file must have; a copy in memory has another.
        self._connection, self.path, self._journal = connection, path, journal
        self._check_file()
        self._identity, entries, charges, self._hash = self._read_head()
        self.rows: list[LedgerRow] = []
        self.accounts: dict[str, Account] = {}  # By dataset, in the order of their first budgets
        self.n_charges = 0  # How many rows are charges
        self._read_rows()
        last = self.rows[-1].hash if self.rows else self._identity
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        if not len(self.rows) == entries == version:
            most = max(entries, version)
            raise self._damage(
                f"entries {len(self.rows) + 1} to {most} are missing"
                if most > len(self.rows)
                else f"it holds {len(self.rows)} entries where its head says {entries} and its first page {version}"
            )
        if (self.n_charges, last) != (charges, self._hash):
            raise self._damage(f"entry {entries} is not the one that its head names")
        self._check_accounts()

    def append(self, kind: str, account: Account, amounts: tuple[Fraction, Fraction], note: str, at: str) -> LedgerRow:
        """Write an entry with what it makes of its account; the caller has checked that it is allowed."""
        number = len(self.rows) + 1
        epsilon, delta = map(str, amounts)
        # Without it, an older copy that is charged the same in the same second would end with the same hash, and who
        # has the hash could try out what was charged.
        nonce = secrets.token_bytes(BYTES)
        unsigned = LedgerRow(number, kind, account.dataset, epsilon, delta, str(account.unit), note, at, nonce, b"")
        row = unsigned._replace(hash=_next_hash(self._hash, unsigned))
        # First, so that the first page is the first of the rollback journal: see ledger_file.
        self._connection.execute(f"PRAGMA user_version = {number}")
        self._connection.execute(INSERT_ROW, row)
        place = [*self.accounts, account.dataset].index(account.dataset) + 1
        self._connection.execute(SET_ACCOUNT, (place, *account._columns()))
        self.n_charges += kind == CHARGE
        self._connection.execute(SET_HEAD, (number, self.n_charges, row.hash))
        self._hash = row.hash
        self.rows.append(row)
        self.accounts[account.dataset] = account
        return row

    @property
    def identity(self) -> str:
        """64 hexadecimal digits that no other ledger has."""
        return self._identity.hex()

    def charges(self) -> Iterator[tuple[int, LedgerRow]]:
        """Yield the charges in order, numbered from 1."""
        return enumerate((row for row in self.rows if row.kind == CHARGE), start=1)

    def receipts(self) -> Iterator[Receipt]:
        """Yield the receipt of each charge in order; its sums are of the charges to the same dataset up to it."""
        spent: dict[str, tuple[Fraction, Fraction]] = {}
        for number, row in self.charges():
            epsilon, delta = spent.get(row.dataset, (Fraction(0), Fraction(0)))
            spent[row.dataset] = epsilon + Fraction(row.epsilon), delta + Fraction(row.delta)
            total, total_delta = map(decimal_above, spent[row.dataset])
            yield Receipt(
                ledger=self.identity, charge=number, hash=row.hash.hex(), spent_epsilon=total, spent_delta=total_delta
            )

    def _damage(self, what: str) -> DamagedLedgerError:
        return DamagedLedgerError(
            f"the ledger {self.path} is damaged: {what}.",
            remedy="Release nothing. Restore it from a copy, and charge what was released since.",
            path=self.path,
        )

    def _check_file(self) -> None:
        """Check what SQLite can check: that this is a ledger, its tables and nothing else, and its pages."""
        ((application,),) = self._connection.execute("PRAGMA application_id").fetchall()
        if application >> NAME_BITS != APPLICATION_ID >> NAME_BITS:
            raise LedgerError(
                f"{self.path} is a database, but not a ledger.", remedy="Give another path.", path=self.path
            )
        if application != APPLICATION_ID:
            raise LedgerError(
                f"another version of Glassine wrote the ledger {self.path}.",
                remedy="Make a new ledger, and charge to it what the old one holds.",
                path=self.path,
            )
        ((mode,),) = self._connection.execute("PRAGMA journal_mode").fetchall()
        if mode != self._journal:
            raise self._damage(f"its journal mode is {mode!r}")
        # Before anything is read from a table: a view or a trigger is code.
        expected = {("table", name, name, statement) for name, statement in TABLES.items()}
        if set(self._connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")) != expected:
            raise self._damage("its tables are not those of a ledger")
        if self._connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
            raise self._damage("its pages contradict each other")

    def _read_head(self) -> tuple[bytes, int, int, bytes]:
        rows = self._connection.execute("SELECT number, identity, entries, charges, hash FROM head").fetchall()
        if len(rows) == 1:
            number, identity, entries, charges, last = rows[0]
            if [type(value) for value in rows[0]] == [int, bytes, int, int, bytes] and (
                number == 1 and len(identity) == len(last) == BYTES
            ):
                return identity, entries, charges, last
        raise self._damage("its head is unreadable")

    def _read_rows(self) -> None:
        """Read the entries, each checked against the one before it, and add up the accounts."""
        previous = self._identity
        budgets: dict[str, LedgerRow] = {}
        counts: dict[str, Counter[tuple[str, str]]] = {}
        possible: set[tuple[str, str]] = set()
        # This loop is most of the time of a charge.
        for place, row in enumerate(map(LedgerRow._make, self._connection.execute(SELECT_ROWS)), start=1):
            number, kind, dataset, epsilon, delta, unit, _, _, nonce, digest = row
            if number != place:
                raise self._damage(f"entry {place} is missing")
            if kind == CHARGE:
                self.n_charges += 1
            if tuple(map(type, row)) != ROW_TYPES or len(nonce) != BYTES or digest != _next_hash(previous, row):
                raise self._damage(f"{self._named(row)} was changed, moved or put in the place of another")
            amounts = (epsilon, delta)
            if amounts not in possible:
                if not _possible(epsilon, delta):
                    raise self._damage(f"{self._named(row)} has an impossible epsilon or delta")
                possible.add(amounts)
            if kind == BUDGET:
                if unit != budgets.setdefault(dataset, row).unit:
                    raise self._damage(f"{self._named(row)} changes the unit of a budget")
                budgets[dataset] = row
            elif kind != CHARGE or dataset not in budgets or unit != budgets[dataset].unit:
                raise self._damage(f"{self._named(row)} does not fit the budget of its dataset")
            else:
                counts.setdefault(dataset, Counter())[amounts] += 1
            previous = digest
            self.rows.append(row)
        self.accounts = {name: self._account(row, counts.get(name, Counter())) for name, row in budgets.items()}

    def _named(self, row: LedgerRow) -> str:
        return f"entry {row.number}{f' (charge {self.n_charges})' if row.kind == CHARGE else ''}"

    def _account(self, budget: LedgerRow, counts: Counter[tuple[str, str]]) -> Account:
        try:
            unit = PrivacyUnit.parse(budget.unit)
        except InvalidParameterError:
            raise self._damage(f"entry {budget.number} counts in no privacy unit") from None
        account = Account(
            dataset=budget.dataset,
            epsilon=Fraction(budget.epsilon),
            delta=Fraction(budget.delta),
            unit=unit,
            charges=counts.total(),
            spent_epsilon=sum((Fraction(epsilon) * n for (epsilon, _), n in counts.items()), Fraction(0)),
            spent_delta=sum((Fraction(delta) * n for (_, delta), n in counts.items()), Fraction(0)),
        )
        if not (account.remaining_epsilon >= 0 and account.remaining_delta >= 0):
            raise self._damage(f"the charges to {budget.dataset!r} exceed its budget")
        return account

    def _check_accounts(self) -> None:
        expected = [(place, *account._columns()) for place, account in enumerate(self.accounts.values(), start=1)]
        stored = self._connection.execute("SELECT * FROM accounts ORDER BY number").fetchall()
        # Text and numbers that compare equal are different damage: 1 and '1' are not, 1 and 1.0 are.
        if repr(stored) != repr(expected):
            raise self._damage("its totals are not those of its entries")


def _next_hash(previous: bytes, row: LedgerRow) -> bytes:
    """Return the hash of an entry, which covers the hash before it and all columns but the hash itself."""
    # All before the text is of a fixed length, so that no two entries are hashed as the same bytes.
    return hashlib.blake2b(previous + row.nonce + encode(row[:-2]).encode(), digest_size=BYTES).digest()


def _possible(epsilon: str, delta: str) -> bool:
    """Return whether two texts are amounts of a budget or a charge, in lowest terms."""
    if not (AMOUNT.fullmatch(epsilon) and AMOUNT.fullmatch(delta)):
        return False
    amounts = Fraction(epsilon), Fraction(delta)
    return tuple(map(str, amounts)) == (epsilon, delta) and 0 < amounts[0] < LARGEST and 0 <= amounts[1] < 1
