"""The ledger: a file that holds each data set's privacy budget, charged before a release."""

from __future__ import annotations

import math
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType

from glassine.errors import BudgetExceededError, GlassineError, InvalidBudgetError, LedgerError
from glassine.privacy.exact import Number, decimal

__all__ = ["Account", "BudgetChange", "Entry", "Ledger"]

APPLICATION_ID = 0x474C_5353
SCHEMA_VERSION = 2
OLDEST_VERSION = 1
"""Of the schema without changes of budgets; setting a budget brings such a file to the present one."""
LARGEST = 10**300
FINEST = 10**400
NO_LEDGER = "Call budget to create it."
RAISE_IT = "or raise the budget."
"""What to do, as errors say it in Python."""
CHANGES = (
    "CREATE TABLE changes (number INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL, old_epsilon TEXT,"
    " old_delta TEXT, epsilon TEXT NOT NULL, delta TEXT NOT NULL, at TEXT NOT NULL)",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
TABLES = (
    "CREATE TABLE budgets (dataset TEXT PRIMARY KEY NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL)",
    "CREATE TABLE charges (number INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL REFERENCES budgets,"
    " epsilon TEXT NOT NULL, delta TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT NULL)",
    "CREATE INDEX charges_of_a_dataset ON charges (dataset, epsilon, delta)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    *CHANGES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One charge: its number in the ledger, the data set, what it took, what for, and when (UTC, ISO 8601)."""

    number: int
    dataset: str
    epsilon: Fraction
    delta: Fraction
    note: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetChange:
    """One change of a data set's budget: from what to what, and when (UTC, ISO 8601); the first is from None."""

    dataset: str
    old_epsilon: Fraction | None
    old_delta: Fraction | None
    epsilon: Fraction
    delta: Fraction
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A data set's budget and what was charged to it, exact."""

    dataset: str
    epsilon: Fraction
    delta: Fraction
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


class Ledger:
    """Privacy budgets of data sets in one SQLite file.

    Guarantee
    ---------
    The charges that were acknowledged never exceed the budget, whichever processes charge at once and
    wherever one is killed; a charge that was acknowledged is recorded; one that was not may be. Epsilons and deltas
    are added exactly; a float counts as the decimal that it prints as. See ``ledger.md``.

    Assumptions
    -----------
    Charges are composed by adding epsilons and deltas; the file system honours locks and flushes; every
    release charges first.

    Nothing is opened between calls, so a ledger can be shared by threads, forked and pickled (it is its path).

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
            raise LedgerError(f"timeout must be a number of seconds of at least 0, got {timeout!r}.", path=path)
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

    def budget(self, dataset: str, epsilon: Number, delta: Number = 0.0) -> None:
        """Set the total budget of a data set, creating the file when there is none; the change is recorded.

        Raises
        ------
        InvalidBudgetError
            If ``epsilon`` is not positive and finite, ``delta`` is not in [0, 1), or less than was spent is set.
        LedgerError
            If the file cannot be used.
        """
        _check_name(dataset)
        total = _amount(epsilon, "epsilon", positive=True)
        total_delta = _amount(delta, "delta")
        if not os.path.lexists(self.path):
            self._create()
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction() as connection:
            spent, spent_delta = _spent(connection, dataset)
            if total < spent or total_delta < spent_delta:
                raise InvalidBudgetError(
                    f"the budget of {dataset!r} must not fall below what was spent, epsilon {_above(spent)} and delta "
                    f"{_above(spent_delta)}; got epsilon {_above(total)} and delta {_above(total_delta)}."
                )
            _record_change(connection, dataset, total, total_delta, at)
            connection.execute(
                "INSERT INTO budgets VALUES (?, ?, ?) ON CONFLICT (dataset) DO UPDATE SET"
                " epsilon = excluded.epsilon, delta = excluded.delta",
                (dataset, str(total), str(total_delta)),
            )

    def charge(self, dataset: str, epsilon: Number, delta: Number = 0.0, note: str = "") -> Entry:
        """Charge a data set's budget, before a release; when this returns, the charge is on disk.

        Raises
        ------
        BudgetExceededError
            If the charge does not fit; nothing is recorded.
        InvalidBudgetError
            If ``epsilon`` is not positive and finite or ``delta`` is not in [0, 1).
        LedgerError
            If the data set has no budget or the file cannot be used.
        """
        _check_name(dataset)
        _check_text(note, "note")
        asked = _amount(epsilon, "epsilon", positive=True)
        asked_delta = _amount(delta, "delta")
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction() as connection:
            account = self._account(connection, dataset)
            if asked > account.remaining_epsilon or asked_delta > account.remaining_delta:
                left, left_delta = _below(account.remaining_epsilon), _below(account.remaining_delta)
                raise BudgetExceededError(
                    f"a charge must fit the budget of {dataset!r}: epsilon {left} and delta {left_delta} are left, "
                    f"epsilon {_above(asked)} and delta {_above(asked_delta)} were asked for. "
                    f"Nothing was charged; ask for less, {RAISE_IT}",
                    dataset=dataset,
                    requested=_above(asked),
                    remaining=left,
                    requested_delta=_above(asked_delta),
                    remaining_delta=left_delta,
                )
            cursor = connection.execute(
                "INSERT INTO charges (dataset, epsilon, delta, note, at) VALUES (?, ?, ?, ?, ?)",
                (dataset, str(asked), str(asked_delta), note, at),
            )
            number = cursor.lastrowid or 0
        return Entry(number=number, dataset=dataset, epsilon=asked, delta=asked_delta, note=note, at=at)

    def spent(self, dataset: str) -> float:
        """Return the epsilon charged so far, rounded up to a float.

        Raises
        ------
        LedgerError
            If the data set has no budget or the file cannot be used.
        """
        return _above(self.account(dataset).spent_epsilon)

    def remaining(self, dataset: str) -> float:
        """Return the epsilon left, rounded down to a float that can be charged; errors as :meth:`spent`."""
        return _below(self.account(dataset).remaining_epsilon)

    def account(self, dataset: str) -> Account:
        """Return a data set's budget and charges, exact; errors as :meth:`spent`."""
        _check_name(dataset)
        with self._transaction(write=False) as connection:
            return self._account(connection, dataset)

    def entries(self, dataset: str) -> tuple[Entry, ...]:
        """Return the charges of a data set, in order; errors as :meth:`spent`."""
        _check_name(dataset)
        with self._transaction(write=False) as connection:
            self._account(connection, dataset)
            rows = connection.execute(
                "SELECT number, epsilon, delta, note, at FROM charges WHERE dataset = ? ORDER BY number", (dataset,)
            ).fetchall()
            return tuple(
                Entry(number=number, dataset=dataset, epsilon=_stored(epsilon), delta=_stored(delta), note=note, at=at)
                for number, epsilon, delta, note, at in rows
            )

    def changes(self, dataset: str) -> tuple[BudgetChange, ...]:
        """Return how the budget of a data set was set and changed, in order; errors as :meth:`spent`.

        A ledger of an earlier version recorded none: what was set before is told by the first change.
        """
        _check_name(dataset)
        with self._transaction(write=False) as connection:
            self._account(connection, dataset)
            rows = [] if _version(connection) < SCHEMA_VERSION else _changes(connection, dataset)
        return tuple(
            BudgetChange(
                dataset=dataset,
                old_epsilon=None if old is None else _stored(old),
                old_delta=None if old_delta is None else _stored(old_delta),
                epsilon=_stored(epsilon),
                delta=_stored(delta),
                at=at,
            )
            for old, old_delta, epsilon, delta, at in rows
        )

    def datasets(self) -> tuple[str, ...]:
        """Return the names of the data sets that have a budget, sorted; errors as :meth:`spent`."""
        with self._transaction(write=False) as connection:
            rows = connection.execute("SELECT dataset FROM budgets ORDER BY dataset").fetchall()
        return tuple(dataset for (dataset,) in rows)

    def _account(self, connection: sqlite3.Connection, dataset: str) -> Account:
        row = connection.execute("SELECT epsilon, delta FROM budgets WHERE dataset = ?", (dataset,)).fetchone()
        if row is None:
            raise LedgerError(
                f"{self.path} must hold a budget for {dataset!r} before it is used, and holds none. "
                "Set it: Ledger.budget, or 'glassine ledger budget'.",
                path=self.path,
            )
        spent, spent_delta = _spent(connection, dataset)
        return Account(
            dataset=dataset,
            epsilon=_stored(row[0]),
            delta=_stored(row[1]),
            spent_epsilon=spent,
            spent_delta=spent_delta,
        )

    @contextmanager
    def _transaction(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        """Open the file, and commit what is done inside or, on any error, nothing of it."""
        try:
            self._check_file()
            # Without mode=rw a ledger that was moved away would start anew, its charges forgotten.
            uri = f"{self.path.as_uri()}?mode=rw"
            with closing(sqlite3.connect(uri, uri=True, timeout=self.timeout, isolation_level=None)) as connection:
                # EXTRA also flushes the folder, so that a power cut does not undo an acknowledged charge.
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    self._check_schema(connection)
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    # A failed COMMIT may have ended the transaction.
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise
        except (sqlite3.Error, OSError) as error:
            raise self._explained(error) from error

    def _check_file(self) -> None:
        # Never by opening the file: closing it would drop the locks that SQLite holds on it in other threads.
        try:
            mode = os.lstat(self.path).st_mode
        except FileNotFoundError:
            raise LedgerError(f"there is no ledger at {self.path}. {NO_LEDGER}", path=self.path) from None
        if stat.S_ISLNK(mode):
            raise LedgerError(
                f"a ledger must not be a symbolic link, and {self.path} is one. Give the file that it points to.",
                path=self.path,
            )
        if not stat.S_ISREG(mode):
            raise LedgerError(f"a ledger must be a file, and {self.path} is none. Give another path.", path=self.path)

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        version = _version(connection)
        if application != APPLICATION_ID:
            raise LedgerError(f"{self.path} is a database, but not a ledger. Give another path.", path=self.path)
        if not OLDEST_VERSION <= version <= SCHEMA_VERSION:
            raise LedgerError(
                f"{self.path} must have the ledger's schema version {SCHEMA_VERSION} or less, got {version}. "
                "Use the version of Glassine that wrote it.",
                path=self.path,
            )

    def _create(self) -> None:
        """Make an empty ledger beside the path and link it there whole, unless another process was first."""
        try:
            handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
            os.close(handle)
            try:
                with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                    connection.execute("PRAGMA synchronous = EXTRA")
                    connection.execute("BEGIN IMMEDIATE")
                    for statement in TABLES:
                        connection.execute(statement)
                    connection.execute("COMMIT")
                with suppress(FileExistsError):
                    os.link(temporary, self.path)
            finally:
                os.unlink(temporary)
            _flush_folder(self.path.parent)
        except (sqlite3.Error, OSError) as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> LedgerError:
        """Return the error that says what to do about one of SQLite or the operating system."""
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if isinstance(error, OSError):
            reason = f"{error.strerror or error}"
        elif primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            reason = f"another process held it for more than {self.timeout} s. Try again, or raise the timeout"
        elif primary == sqlite3.SQLITE_NOTADB:
            reason = "it is not a database. Give another path"
        elif primary == sqlite3.SQLITE_CORRUPT:
            reason = "it is damaged. Restore it from a copy, and count what was released since"
        elif primary == sqlite3.SQLITE_FULL:
            reason = "the disk is full. Make room"
        elif primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            reason = "it is read-only. Make it and its folder writable"
        else:
            reason = str(error)
        return LedgerError(f"cannot use the ledger {self.path}: {reason}. Release nothing.", path=self.path)


def _restored(path: str, timeout: float) -> Ledger:
    return Ledger(path, timeout=timeout)


def _spent(connection: sqlite3.Connection, dataset: str) -> tuple[Fraction, Fraction]:
    """Return the exact sums of a data set's charges."""
    rows = connection.execute(
        "SELECT epsilon, delta, count(*) FROM charges WHERE dataset = ? GROUP BY epsilon, delta", (dataset,)
    ).fetchall()
    spent = sum((_stored(epsilon) * count for epsilon, _, count in rows), Fraction(0))
    return spent, sum((_stored(delta) * count for _, delta, count in rows), Fraction(0))


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _changes(connection: sqlite3.Connection, dataset: str) -> list[tuple[str | None, str | None, str, str, str]]:
    return connection.execute(
        "SELECT old_epsilon, old_delta, epsilon, delta, at FROM changes WHERE dataset = ? ORDER BY number", (dataset,)
    ).fetchall()


def _record_change(connection: sqlite3.Connection, dataset: str, epsilon: Fraction, delta: Fraction, at: str) -> None:
    """Record a budget that is about to be set, unless it is the one that was; make the table for it if need be."""
    if _version(connection) < SCHEMA_VERSION:
        for statement in CHANGES:
            connection.execute(statement)
    old = connection.execute("SELECT epsilon, delta FROM budgets WHERE dataset = ?", (dataset,)).fetchone()
    before = (None, None) if old is None else (_stored(old[0]), _stored(old[1]))
    if before != (epsilon, delta):
        connection.execute(
            "INSERT INTO changes (dataset, old_epsilon, old_delta, epsilon, delta, at) VALUES (?, ?, ?, ?, ?, ?)",
            (dataset, *(old or (None, None)), str(epsilon), str(delta), at),
        )


def _amount(value: Number, name: str, *, positive: bool = False) -> Fraction:
    rule = "positive and finite" if name == "epsilon" else "in [0, 1)"
    try:
        amount = decimal(value, name)
    except GlassineError:
        raise InvalidBudgetError(f"{name} must be {rule}, got {value!r}.") from None
    if not (amount > 0 or (amount == 0 and not positive)) or not amount < (1 if name == "delta" else LARGEST):
        raise InvalidBudgetError(f"{name} must be {rule}, got {value!r}.")
    if not amount.denominator <= FINEST:
        raise InvalidBudgetError(f"{name} must be a fraction of whole numbers up to 1e400. Round it up.")
    return amount


def _check_name(dataset: object) -> None:
    _check_text(dataset, "dataset")
    if not dataset:
        raise InvalidBudgetError("dataset must be a non-empty name, got ''.")


def _check_text(text: object, name: str) -> None:
    # Lone surrogates are no text that a file can hold.
    if not isinstance(text, str) or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidBudgetError(f"{name} must be text, got {text!r}.")


def _stored(text: object) -> Fraction:
    """Return an amount that was read back; what is none is an error of the database."""
    try:
        return Fraction(str(text))
    except (ValueError, ZeroDivisionError):
        raise sqlite3.DatabaseError(f"it holds the amount {text!r}, which is no number") from None


def _above(amount: Fraction) -> float:
    """Return a float whose decimal is not below an amount."""
    number = float(amount)
    while decimal(number, "amount") < amount:
        number = math.nextafter(number, math.inf)
    return number


def _below(amount: Fraction) -> float:
    """Return a float whose decimal is not above an amount."""
    number = float(amount)
    while decimal(number, "amount") > amount:
        number = math.nextafter(number, -math.inf)
    return number


def _flush_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
