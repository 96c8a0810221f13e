"""The ledger: a file that holds each dataset's privacy budget, charged before a release."""

from __future__ import annotations

import math
import os
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from glassine.errors import BudgetExceededError, GlassineError, InvalidBudgetError, LedgerError, parameter
from glassine.exports import Displayed
from glassine.privacy.chained_file import ChainedFile
from glassine.privacy.exact import Number, decimal, decimal_above, decimal_below
from glassine.privacy.ledger_log import (
    BUDGET,
    CHARGE,
    FINEST,
    LARGEST,
    NO_LEDGER,
    Account,
    Entry,
    LedgerRow,
    Log,
    Payment,
    payment_of,
)
from glassine.privacy.receipt import Receipt
from glassine.privacy.unit import RECORD, PrivacyUnit

if TYPE_CHECKING:
    from glassine.privacy.certificate import Certificate

__all__ = ["NO_LEDGER", "RAISE_IT", "Account", "BudgetChange", "Entry", "Ledger", "Payment", "Verification"]

RAISE_IT = "Ask for less, or raise the budget."
"""What to do, as errors say it in Python."""
LONGEST_NAME = 1_000
LONGEST_NOTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetChange:
    """One change of a dataset's budget: from what to what, and when (UTC, ISO 8601); the first is from None."""

    dataset: str
    old_epsilon: Fraction | None
    old_delta: Fraction | None
    epsilon: Fraction
    delta: Fraction
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Displayed):
    """A ledger that was checked whole, and what it says of certificates.

    Attributes
    ----------
    ledger : str
        Identity of the ledger, as receipts have it.
    entries : tuple of Entry
        All charges, in order.
    payments : tuple of Payment
        One for each certificate, in order.
    """

    ledger: str
    entries: tuple[Entry, ...]
    payments: tuple[Payment, ...]

    @property
    def holds(self) -> bool:
        """Whether every certificate was paid for by a charge of this ledger."""
        return all(payment.status == "paid" for payment in self.payments)


class Ledger(Displayed):
    """Privacy budgets of datasets in one SQLite file.

    Guarantee
    ---------
    The charges that were acknowledged never exceed the budget, whichever processes charge at once and
    whenever one is killed; a charge that was acknowledged is recorded; one that was not may be. Epsilons and deltas
    are added exactly; a float counts as the decimal that it prints as. Every call checks the whole file, so that a
    charge that was changed, removed or moved is an error and not a smaller sum. See ``ledger.md``.

    Assumptions
    -----------
    Charges are composed by adding epsilons and deltas; the file system honours locks and flushes; every
    release charges first. No one puts back an older copy of the whole file: only :meth:`verify` with certificates
    finds that.

    Nothing is opened between calls, so a ledger can be shared by threads, forked and pickled (it is its path). A call
    takes time in proportion to the number of entries.

    The name of a dataset is taken in Unicode's composed form (NFC), without spaces around it and with single spaces
    inside. A new name that differs from an old one by case, spaces, composition or invisible characters alone is
    refused.

    Parameters
    ----------
    path : str or path-like
        The file. :meth:`budget` creates it, readable by its owner only; the constructor does not touch it.
    timeout : float, default=30
        Seconds to wait for other processes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/budget.sqlite")
    ...     ledger.budget("patients", 1)
    ...     entry = ledger.charge("patients", 0.1, note="a tree")
    ...     ledger.remaining("patients")
    0.9
    """

    __slots__ = ("path", "timeout")

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        if not 0 <= timeout < math.inf:
            raise LedgerError(
                f"{parameter('timeout')} must be a number of seconds of at least 0, got {timeout!r}.", path=path
            )
        self.path = Path(path).absolute()
        self.timeout = timeout

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: nothing is open between calls."""

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (str(self.path), self.timeout))

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def budget(self, dataset: str, epsilon: Number, delta: Number = 0.0, *, unit: PrivacyUnit | None = None) -> None:
        """Set the total budget of a dataset, creating the file when there is none; the change is recorded.

        Parameters
        ----------
        dataset : str
            Its name.
        epsilon, delta : number
            The total, what was spent included.
        unit : PrivacyUnit, optional
            What epsilon and delta bound. None: as before, and one record for a new dataset. It never changes.

        Raises
        ------
        InvalidBudgetError
            If ``epsilon`` is not positive and finite, ``delta`` is not in [0, 1), less than was spent is set, the unit
            is another one than before, or the name is too like an old one.
        LedgerError
            If the file cannot be used.
        """
        dataset = _name(dataset)
        total = _amount(epsilon, "epsilon", positive=True)
        total_delta = _amount(delta, "delta")
        if unit is not None:
            _check_unit(unit)
        if not os.path.lexists(self.path):
            self._file.create()
        with self._file.transaction(write=True) as log:
            account = log.accounts.get(dataset)
            if account is None:
                alike = _alike(dataset, log)
                if alike:
                    raise InvalidBudgetError(
                        f"the name of a new dataset must differ from {alike!r}, which has a budget, by more than case, "
                        f"spaces or composition; got {dataset!r}.",
                        remedy=f"Use {alike!r} if it is the same dataset.",
                    )
                account = Account(
                    dataset=dataset,
                    epsilon=total,
                    delta=total_delta,
                    unit=unit or RECORD,
                    charges=0,
                    spent_epsilon=Fraction(0),
                    spent_delta=Fraction(0),
                )
            elif unit not in (None, account.unit):
                raise InvalidBudgetError(
                    f"the budget of {dataset!r} counts in the unit '{account.unit}', and a budget keeps its unit; got "
                    f"'{unit}'.",
                    remedy=f"Leave the unit out and give epsilon in '{account.unit}': another budget for the same "
                    "records would not know what this one spent.",
                )
            elif (account.epsilon, account.delta) == (total, total_delta):
                return
            if total < account.spent_epsilon or total_delta < account.spent_delta:
                raise InvalidBudgetError(
                    f"the budget of {dataset!r} must not fall below what was spent, epsilon "
                    f"{decimal_above(account.spent_epsilon)} and delta {decimal_above(account.spent_delta)}; got "
                    f"epsilon {decimal_above(total)} and delta {decimal_above(total_delta)}.",
                    remedy="Give at least what was spent: then nothing is left.",
                )
            account = replace(account, epsilon=total, delta=total_delta)
            log.append(BUDGET, account, (total, total_delta), "", _now())

    def charge(
        self, dataset: str, epsilon: Number, delta: Number = 0.0, *, note: str = "", unit: PrivacyUnit = RECORD
    ) -> Entry:
        """Charge a dataset's budget, before a release; when this returns, the charge is on disk.

        Parameters
        ----------
        dataset : str
            Its name in the ledger.
        epsilon, delta : number
            What the release guarantees.
        note : str
            What is released; public, at most 1,000,000 characters.
        unit : PrivacyUnit
            What epsilon and delta bound; that of the budget.

        Raises
        ------
        BudgetExceededError
            If the charge does not fit; nothing is recorded.
        InvalidBudgetError
            If ``epsilon`` is not positive and finite, ``delta`` is not in [0, 1), or the unit is not that of the
            budget.
        LedgerError
            If the dataset has no budget or the file cannot be used.
        """
        dataset = _name(dataset)
        _check_text(note, "note", LONGEST_NOTE)
        asked, asked_delta = _asked(epsilon, delta, unit)
        with self._file.transaction(write=True) as log:
            account = self._account(log, dataset)
            _check_left(account, dataset, asked, asked_delta, unit)
            account = replace(
                account,
                charges=account.charges + 1,
                spent_epsilon=account.spent_epsilon + asked,
                spent_delta=account.spent_delta + asked_delta,
            )
            row = log.append(CHARGE, account, (asked, asked_delta), note, _now())
            receipt = Receipt(
                ledger=log.identity,
                charge=log.n_charges,
                hash=row.hash.hex(),
                spent_epsilon=decimal_above(account.spent_epsilon),
                spent_delta=decimal_above(account.spent_delta),
            )
        return _entry(log, log.n_charges, row, receipt)

    def check(self, dataset: str, epsilon: Number, delta: Number = 0.0, *, unit: PrivacyUnit = RECORD) -> None:
        """Raise what :meth:`charge` would raise now; nothing is charged, and a later charge may still be refused."""
        asked, asked_delta = _asked(epsilon, delta, unit)
        _check_left(self.account(dataset), _name(dataset), asked, asked_delta, unit)

    def spent(self, dataset: str) -> float:
        """Return the epsilon charged so far, rounded up to a float.

        Raises
        ------
        LedgerError
            If the dataset has no budget or the file cannot be used.
        """
        return decimal_above(self.account(dataset).spent_epsilon)

    def remaining(self, dataset: str) -> float:
        """Return the epsilon left, rounded down to a float that can be charged; errors as :meth:`spent`."""
        return decimal_below(self.account(dataset).remaining_epsilon)

    def account(self, dataset: str) -> Account:
        """Return a dataset's budget and charges, exact; errors as :meth:`spent`."""
        dataset = _name(dataset)
        with self._file.transaction(write=False) as log:
            return self._account(log, dataset)

    def entries(self, dataset: str) -> tuple[Entry, ...]:
        """Return the charges of a dataset, in order; errors as :meth:`spent`."""
        dataset = _name(dataset)
        with self._file.transaction(write=False) as log:
            self._account(log, dataset)
            return tuple(entry for entry in _entries(log) if entry.dataset == dataset)

    def changes(self, dataset: str) -> tuple[BudgetChange, ...]:
        """Return how the budget of a dataset was set and changed, in order; errors as :meth:`spent`."""
        dataset = _name(dataset)
        with self._file.transaction(write=False) as log:
            self._account(log, dataset)
        changes: list[BudgetChange] = []
        for row in log.rows:
            if (row.kind, row.dataset) == (BUDGET, dataset):
                changes.append(
                    BudgetChange(
                        dataset=dataset,
                        old_epsilon=changes[-1].epsilon if changes else None,
                        old_delta=changes[-1].delta if changes else None,
                        epsilon=Fraction(row.epsilon),
                        delta=Fraction(row.delta),
                        at=row.at,
                    )
                )
        return tuple(changes)

    def datasets(self) -> tuple[str, ...]:
        """Return the names of the datasets that have a budget, sorted; errors as :meth:`spent`."""
        with self._file.transaction(write=False) as log:
            return tuple(sorted(log.accounts))

    def verify(self, certificates: Iterable[Certificate] = ()) -> Verification:
        """Check the whole file, and that each certificate was paid for by a charge of it.

        An older copy of a ledger is whole. Only a certificate of a later charge distinguishes them.

        Parameters
        ----------
        certificates : iterable of Certificate
            Of releases that were charged to this ledger.

        Raises
        ------
        DamagedLedgerError
            If the file is not as it was written; the message names the entry, where one can be named.
        LedgerError
            If the file cannot be used.
        """
        with self._file.transaction(write=False) as log:
            entries = tuple(_entries(log))
        payments: list[Payment] = []
        paid: dict[int, Certificate] = {}
        for certificate in certificates:
            payment = payment_of(certificate, log.identity, entries)
            if payment.entry is not None:
                first = paid.setdefault(payment.entry.number, certificate)
                if first != certificate:
                    number = payment.entry.number
                    payment = Payment(status="fault", reason=f"Charge {number} paid for another certificate.")
            payments.append(payment)
        return Verification(ledger=log.identity, entries=entries, payments=tuple(payments))

    @property
    def _file(self) -> ChainedFile[Log]:
        return ChainedFile(self.path, self.timeout, Log)

    def _account(self, log: Log, dataset: str) -> Account:
        account = log.accounts.get(dataset)
        if account is None:
            alike = _alike(dataset, log)
            raise LedgerError(
                f"{self.path} must hold a budget for {dataset!r} before it is used, and holds "
                f"{f'one for {alike!r}' if alike else 'none'}.",
                remedy="Check its spelling." if alike else f"Set it: {parameter('budget')}.",
                path=self.path,
            )
        return account


def _restored(path: str, timeout: float) -> Ledger:
    return Ledger(path, timeout=timeout)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _entries(log: Log) -> Iterator[Entry]:
    for (number, row), receipt in zip(log.charges(), log.receipts(), strict=True):
        yield _entry(log, number, row, receipt)


def _entry(log: Log, number: int, row: LedgerRow, receipt: Receipt) -> Entry:
    return Entry(
        number=number,
        dataset=row.dataset,
        epsilon=Fraction(row.epsilon),
        delta=Fraction(row.delta),
        unit=log.accounts[row.dataset].unit,
        note=row.note,
        at=row.at,
        receipt=receipt,
    )


def _asked(epsilon: Number, delta: Number, unit: PrivacyUnit) -> tuple[Fraction, Fraction]:
    _check_unit(unit)
    return _amount(epsilon, "epsilon", positive=True), _amount(delta, "delta")


def _check_left(account: Account, dataset: str, asked: Fraction, asked_delta: Fraction, unit: PrivacyUnit) -> None:
    """Raise InvalidBudgetError or BudgetExceededError if an account does not allow a charge."""
    if unit != account.unit:
        raise InvalidBudgetError(
            f"a charge to {dataset!r} must be in the unit of its budget, '{account.unit}', got '{unit}'. "
            f"Nothing was charged. {_conversion(asked, asked_delta, unit, account.unit)}"
        )
    if asked <= account.remaining_epsilon and asked_delta <= account.remaining_delta:
        return
    left, left_delta = decimal_below(account.remaining_epsilon), decimal_below(account.remaining_delta)
    lacking = {
        "epsilon": (account.remaining_epsilon, asked, left),
        "delta": (account.remaining_delta, asked_delta, left_delta),
    }
    short = [
        f"{name} {left} is left, and {decimal_above(needed)} is needed"
        for name, (remaining, needed, left) in lacking.items()
        if needed > remaining
    ]
    raise BudgetExceededError(
        f"not enough budget for {dataset!r}: {'; '.join(short)}. Nothing was charged.",
        remedy=RAISE_IT,
        dataset=dataset,
        requested=decimal_above(asked),
        remaining=left,
        requested_delta=decimal_above(asked_delta),
        remaining_delta=left_delta,
    )


def _conversion(epsilon: Fraction, delta: Fraction, unit: PrivacyUnit, budget: PrivacyUnit) -> str:
    """Return what to charge instead in the unit of the budget, in words."""
    most = budget.records_per_person
    if most is None:
        # A person with one record less is that person removed, then added again.
        factor, why = 2, "a guarantee for persons bounds one record by 2 x epsilon"
    elif unit.is_person:
        factor, why = 1, "both bound all records of one person"
    else:
        factor, why = most, f"for a person with at most {most} records in the data it is {most} x epsilon"
    if delta and factor > 1:
        return (
            f"Make the release in '{budget}'. Where delta is 0, {why}; with a delta, the guarantee in '{budget}' needs "
            "its own proof."
        )
    return (
        f"Make the release in '{budget}', or charge it without the fit, with epsilon {decimal_above(factor * epsilon)} "
        f"in '{budget}': {why}."
    )


def _amount(value: Number, name: str, *, positive: bool = False) -> Fraction:
    rule = "positive and finite" if name == "epsilon" else "in [0, 1)"
    try:
        amount = decimal(value, name)
    except GlassineError:
        raise InvalidBudgetError(f"{parameter(name)} must be {rule}, got {value!r}.") from None
    if not (amount > 0 or (amount == 0 and not positive)) or not amount < (1 if name == "delta" else LARGEST):
        raise InvalidBudgetError(f"{parameter(name)} must be {rule}, got {value!r}.")
    if not amount.denominator <= FINEST:
        raise InvalidBudgetError(
            f"{parameter(name)} must be a fraction of whole numbers up to 1e400.", remedy="Round it up."
        )
    return amount


def _name(dataset: object) -> str:
    """Return a dataset's name as the ledger writes it."""
    name = " ".join(unicodedata.normalize("NFC", _check_text(dataset, "dataset", LONGEST_NAME)).split())
    if not name:
        raise InvalidBudgetError(f"{parameter('dataset')} must be a non-empty name, got {dataset!r}.")
    return name


def _alike(name: str, log: Log) -> str | None:
    """Return the dataset of a ledger whose name differs by case, spaces, composition or invisible characters alone."""
    return next((other for other in log.accounts if _letters(other) == _letters(name)), None)


def _letters(name: str) -> str:
    """Return what two names have in common that look the same; NFKC case folding, as Unicode's annex 15 has it."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", name).casefold())
    return "".join(letter for letter in plain if not letter.isspace() and unicodedata.category(letter) != "Cf")


def _check_text(text: object, name: str, longest: int) -> str:
    # Lone surrogates are no text that a file can hold.
    if not isinstance(text, str) or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidBudgetError(f"{parameter(name)} must be text, got {text!r}.")
    if len(text) > longest:
        raise InvalidBudgetError(
            f"{parameter(name)} must have at most {longest:,} characters, got {len(text):,}.", remedy="Shorten it."
        )
    return text


def _check_unit(unit: object) -> None:
    if not isinstance(unit, PrivacyUnit):
        raise InvalidBudgetError(f"{parameter('unit')} must be a PrivacyUnit, got {unit!r}.")
