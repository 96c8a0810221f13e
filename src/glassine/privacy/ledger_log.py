"""The log of a ledger: budgets and charges in order, chained by a hash and checked at each reading; payments by it."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from glassine.errors import DamagedLedgerError, InvalidParameterError, LedgerError
from glassine.privacy.chained_log import ChainedLog, LogForm
from glassine.privacy.exact import decimal_above
from glassine.privacy.receipt import Receipt
from glassine.privacy.unit import PrivacyUnit

LARGEST = 10**300
FINEST = 10**400

SET_ACCOUNT = "INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

NO_LEDGER = "Call budget to create it."
"""What to do, as errors say it in Python."""

FORM = LogForm(
    noun="ledger",
    application=0x474C_5333,  # GLS3
    tables={
        "log": "CREATE TABLE log (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, dataset TEXT NOT NULL, epsilon TEXT"
        " NOT NULL, delta TEXT NOT NULL, unit TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT NULL, nonce BLOB NOT NULL,"
        " hash BLOB NOT NULL)",
        "accounts": "CREATE TABLE accounts (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, epsilon TEXT NOT NULL,"
        " delta TEXT NOT NULL, unit TEXT NOT NULL, charges INTEGER NOT NULL, spent_epsilon TEXT NOT NULL,"
        " spent_delta TEXT NOT NULL)",
        "head": "CREATE TABLE head (number INTEGER PRIMARY KEY, identity BLOB NOT NULL, entries INTEGER NOT NULL,"
        " charges INTEGER NOT NULL, hash BLOB NOT NULL)",
    },
    row=(int, str, str, str, str, str, str, str, bytes, bytes),
    tallies=("charges",),
    entries="charges",
    renew="Make a new ledger, and charge to it what the old one holds.",
    restore="Restore it from a copy, and charge what was released since.",
    absent=NO_LEDGER,
    error=LedgerError,
    damage=DamagedLedgerError,
)

BUDGET, CHARGE = "budget", "charge"

# Digits of the largest numerator and denominator. Without this limit a text such as 1e999999999 would fill the memory.
AMOUNT = re.compile(r"(0|[1-9][0-9]{0,700})(/[1-9][0-9]{0,400})?")
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


class Log(ChainedLog[LedgerRow]):
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

    form = FORM

    def __init__(self, connection: sqlite3.Connection, path: Path, *, journal: str = "delete") -> None:
        self.accounts: dict[str, Account] = {}  # By dataset, in the order of their first budgets
        self.n_charges = 0  # How many rows are charges
        self._budgets: dict[str, LedgerRow] = {}
        self._counts: dict[str, Counter[tuple[str, str]]] = {}
        self._amounts: set[tuple[str, str]] = set()
        super().__init__(connection, path, journal=journal)

    def append(self, kind: str, account: Account, amounts: tuple[Fraction, Fraction], note: str, at: str) -> LedgerRow:
        """Write an entry with what it makes of its account; the caller has checked that it is allowed."""
        epsilon, delta = map(str, amounts)
        row = self._chained((kind, account.dataset, epsilon, delta, str(account.unit), note, at), LedgerRow._make)
        self.accounts[account.dataset] = account
        self._write(row)
        return row

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

    def _make(self, values: tuple[Any, ...]) -> LedgerRow:
        return LedgerRow._make(values)

    def _tallies(self) -> tuple[int, ...]:
        return (self.n_charges,)

    def _took(self, row: LedgerRow) -> None:
        place = list(self.accounts).index(row.dataset) + 1
        self._connection.execute(SET_ACCOUNT, (place, *self.accounts[row.dataset]._columns()))
        self.n_charges += row.kind == CHARGE

    def _take(self, row: LedgerRow) -> None:
        """Check an entry's amounts, and that it fits the budget of its dataset; count it."""
        _, kind, dataset, epsilon, delta, unit, *_ = row
        amounts = (epsilon, delta)
        if amounts not in self._amounts:
            if not _possible(epsilon, delta):
                raise self._damage(f"{self._named(row)} has an impossible epsilon or delta")
            self._amounts.add(amounts)
        if kind == BUDGET:
            if unit != self._budgets.setdefault(dataset, row).unit:
                raise self._damage(f"{self._named(row)} changes the unit of a budget")
            self._budgets[dataset] = row
        elif kind != CHARGE or dataset not in self._budgets or unit != self._budgets[dataset].unit:
            raise self._damage(f"{self._named(row)} does not fit the budget of its dataset")
        else:
            self.n_charges += 1
            self._counts.setdefault(dataset, Counter())[amounts] += 1

    def _named(self, row: LedgerRow) -> str:
        return f"entry {row.number}{f' (charge {self.n_charges + 1})' if row.kind == CHARGE else ''}"

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

    def _read_rows(self) -> None:
        """Read the entries, and add up the accounts."""
        super()._read_rows()
        self.accounts = {
            name: self._account(row, self._counts.get(name, Counter())) for name, row in self._budgets.items()
        }

    def _check_rest(self) -> None:
        expected = [(place, *account._columns()) for place, account in enumerate(self.accounts.values(), start=1)]
        stored = self._connection.execute("SELECT * FROM accounts ORDER BY number").fetchall()
        # Text and numbers that compare equal are different damage: 1 and '1' are not, 1 and 1.0 are.
        if repr(stored) != repr(expected):
            raise self._damage("its totals are not those of its entries")


def _possible(epsilon: str, delta: str) -> bool:
    """Return whether two texts are amounts of a budget or a charge, in lowest terms."""
    if not (AMOUNT.fullmatch(epsilon) and AMOUNT.fullmatch(delta)):
        return False
    amounts = Fraction(epsilon), Fraction(delta)
    return tuple(map(str, amounts)) == (epsilon, delta) and 0 < amounts[0] < LARGEST and 0 <= amounts[1] < 1
