"""``glassine ledger``: budgets of datasets, and what was charged to them."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassine.cli.naming import in_options, nearest
from glassine.cli.options import JsonOption, LedgerArgument, LedgerDeltaOption, RecordsPerPersonOption, argument, option
from glassine.cli.process import STANDING, uninterrupted
from glassine.cli.writing import print_value
from glassine.errors import BudgetExceededError, DamagedLedgerError, LedgerError, UnreadableFileError, marked
from glassine.files import read_json

if TYPE_CHECKING:
    from glassine.privacy.ledger import Entry, Ledger, Verification
    from glassine.privacy.unit import PrivacyUnit

ENDING = ".certificate.json"
PERSONS = "--records-per-person"

DatasetArgument = Annotated[str, argument("DATASET", "Name of the dataset.")]


def show_command(
    ledger: LedgerArgument,
    dataset: Annotated[str | None, option("NAME", "Name of the dataset in the ledger.", shown_default="all")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the budgets of a ledger, how they were changed, and their charges.

    Exit status: 0 when they were shown, 2 if not.
    """
    book = _open(ledger)
    with suggesting(book, dataset):
        names = book.datasets() if dataset is None else (dataset,)
    accounts = [
        {
            **account_of(book, name),
            "changes": _changes(book, name),
            "charges": [_charge_of(entry) for entry in book.entries(name)],
        }
        for name in names
    ]
    if as_json:
        print_value({"ledger": str(ledger), "datasets": accounts}, True)
        return
    lines = []
    for account in accounts:
        lines.append(sentence(account))
        lines += [_change_line(change) for change in account["changes"] if change["from"] is not None]
        lines += [_line(charge) for charge in account["charges"]]
    print_value("\n".join(lines) or f"{ledger} holds no budget. Set one with: glassine ledger budget", False)


def budget_command(
    ledger: LedgerArgument,
    dataset: DatasetArgument,
    epsilon: Annotated[float, argument("EPSILON", "Total epsilon, more than was spent.")],
    delta: LedgerDeltaOption = 0.0,
    records_per_person: RecordsPerPersonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set the total budget of a dataset; makes the ledger if there is none. The unit of a budget never changes.

    Exit status: 0 when it was set, 2 if not.
    """
    book = _open(ledger)
    # A signal between the two would leave it unsaid.
    with uninterrupted():
        book.budget(dataset, epsilon, delta, unit=_unit(records_per_person))
        STANDING.append(f"the budget of {dataset} in {ledger} is set: epsilon {epsilon:g}.")
    account = account_of(book, dataset)
    print_value(account if as_json else sentence(account), as_json)


def charge_command(
    ledger: LedgerArgument,
    dataset: DatasetArgument,
    epsilon: Annotated[float, argument("EPSILON", "Epsilon of the release.")],
    note: Annotated[str, option("TEXT", "What is released.")],
    delta: LedgerDeltaOption = 0.0,
    records_per_person: RecordsPerPersonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Charge a release that other software makes, before it is made. glassine fit charges its own.

    Exit status: 0 when it was charged, 2 if not: release nothing then. It is 2 as well where the answer could not be
    written, and standard error says what stays charged.
    """
    from glassine.privacy.unit import RECORD

    book = _open(ledger)
    with uninterrupted(), suggesting(book, dataset), raising(book, dataset):
        entry = book.charge(dataset, epsilon, delta, note=note, unit=_unit(records_per_person) or RECORD)
        STANDING.append(stays_charged(entry, ledger))
    account = account_of(book, dataset)
    print_value({**account, "charge": entry.number} if as_json else sentence(account), as_json)


def verify_command(
    ledger: LedgerArgument,
    certificates: Annotated[
        list[Path] | None, option("PATH...", f"Certificates, or folders with files that end in {ENDING}.")
    ] = None,
    more: Annotated[list[Path] | None, typer.Argument(hidden=True)] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a ledger whole, and that its charges paid for the releases of certificates.

    An older copy of a ledger is whole: only the certificate of a later release finds it.

    Exit status: 0 when the ledger is whole and every certificate paid for, 1 when the ledger is damaged or did not pay
    for a certificate, 2 when it could not be checked, 3 when a certificate has no receipt of a charge.
    """
    from glassine.privacy.certificate import Certificate
    from glassine.report.wording import clean

    if more and not certificates:
        raise UnreadableFileError(
            f"{more[0]} is one file too many.", remedy="Put --certificates before it.", path=more[0]
        )
    files = _certificate_files([*(certificates or []), *(more or [])])
    book = _open(ledger)
    with suggesting(book, None):
        try:
            verification = book.verify([Certificate.from_dict(read_json(path)) for path in files])
        except DamagedLedgerError as error:
            damage = {"ledger": str(ledger), "whole": False, "damage": str(error)}
            print_value(damage if as_json else clean(str(error)), as_json)
            raise typer.Exit(1) from None
    result = _verification_of(ledger, verification, files)
    print_value(result if as_json else "\n".join(_verification_lines(result)), as_json)
    status = {payment.status for payment in verification.payments}
    raise typer.Exit(1 if "fault" in status else 3 if "unknown" in status else 0)


def _certificate_files(paths: list[Path]) -> list[Path]:
    """Return the files that are named, and those of the folders that are."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.glob(f"*{ENDING}")) if path.is_dir() else [path]
        if not inside:
            raise UnreadableFileError(
                f"{path} holds no file that ends in {ENDING}.", remedy="Name another folder.", path=path
            )
        files += inside
    return files


def _verification_of(ledger: Path, verification: Verification, files: list[Path]) -> dict[str, Any]:
    """Return what was checked, as plain values."""
    named = [(str(path), payment) for path, payment in zip(files, verification.payments, strict=True)]
    paid = [(payment.entry.number, name) for name, payment in named if payment.entry is not None]
    return {
        "ledger": str(ledger),
        "identity": verification.ledger,
        "whole": True,
        "charges": [
            {
                **_charge_of(entry),
                "dataset": entry.dataset,
                "unit": str(entry.unit),
                "certificates": [name for number, name in paid if number == entry.number],
            }
            for entry in verification.entries
        ],
        "certificates": [
            {
                "file": name,
                "status": payment.status,
                "charge": payment.entry and payment.entry.number,
                "reason": payment.reason,
            }
            for name, payment in named
        ],
    }


def _verification_lines(result: dict[str, Any]) -> list[str]:
    from glassine.report.wording import clean, plural

    charges = result["charges"]
    lines = [f"{result['ledger']} is whole: {plural(len(charges), 'charge')}."]
    for charge in charges:
        lines.append(f"{_line(charge)}  ({charge['dataset']})")
        lines += [f"      paid for {file}" for file in charge["certificates"]]
    for certificate in result["certificates"]:
        if certificate["status"] != "paid":
            lines.append(f"{certificate['status'].upper()}  {certificate['file']}: {certificate['reason']}")
    return [clean(line) for line in lines]


def stays_charged(entry: Entry, ledger: Path) -> str:
    """Return in words that a charge stands, though the command ended early."""
    return f"entry {entry.number} of {ledger} stays charged: epsilon {float(entry.epsilon):g} is spent."


def _unit(records_per_person: int | None) -> PrivacyUnit | None:
    from glassine.privacy.unit import PrivacyUnit

    with in_options({"records_per_person": PERSONS}):
        return None if records_per_person is None else PrivacyUnit.person(records_per_person)


def _open(path: Path) -> Ledger:
    from glassine.privacy.ledger import Ledger

    return Ledger(path)


@contextlib.contextmanager
def suggesting(book: Ledger, dataset: str | None, records_per_person: int | None = None) -> Iterator[None]:
    """Name the dataset that was probably meant where the ledger has none of a name, and how a ledger is made."""
    from glassine.privacy.ledger import NO_LEDGER

    try:
        yield
    except LedgerError as error:
        if error.remedy == NO_LEDGER:
            named = "NAME" if dataset is None else shlex.quote(dataset)
            command = f"glassine ledger budget {shlex.quote(_relative(book))} {named} EPSILON"
            unit = "" if records_per_person is None else f" {PERSONS} {records_per_person}"
            extent = f"{unit}, with --delta D if releases have a delta, as those of additive models"
            extent += "" if unit else f", and {PERSONS} M if it counts persons"
            error.advise(f"Make it: {command}{extent}")
        elif dataset is not None:
            with contextlib.suppress(LedgerError):
                names = book.datasets()
                if dataset not in names and error.remedy is not None:
                    command = f"glassine ledger budget {shlex.quote(_relative(book))} {shlex.quote(dataset)} EPSILON"
                    error.word({"budget": command})
                    error.advise(f"{marked(error.remedy or '')}{nearest(dataset, names)}".strip())
        raise


@contextlib.contextmanager
def raising(book: Ledger, dataset: str) -> Iterator[None]:
    """Name the command that raises a budget where a charge does not fit it."""
    from glassine.privacy.exact import decimal

    try:
        yield
    except BudgetExceededError as error:
        account = book.account(dataset)
        epsilon = max(account.epsilon, account.spent_epsilon + decimal(error.requested, "epsilon"))
        delta = max(account.delta, account.spent_delta + decimal(error.requested_delta, "delta"))
        command = f"glassine ledger budget {shlex.quote(_relative(book))} {shlex.quote(dataset)} {_enough(epsilon)}"
        command += f" --delta {_enough(delta)}" if delta else ""
        error.advise(f"Ask for less, or raise the budget: {command}")
        raise


def _relative(book: Ledger) -> str:
    """Return the path of a ledger, relative if it is below the working folder."""
    here = Path.cwd()
    return str(book.path.relative_to(here) if book.path.is_relative_to(here) else book.path)


def _enough(amount: Fraction) -> str:
    """Return a number that is not below an amount, as one types it."""
    from glassine.privacy.exact import decimal

    number = float(amount)
    while decimal(number, "amount") < amount:
        number = math.nextafter(number, math.inf)
    return f"{int(number)}" if number.is_integer() and number < 1e15 else repr(number)


def account_of(book: Ledger, dataset: str) -> dict[str, Any]:
    """Return a dataset's budget and what is left of it, as plain values."""
    with suggesting(book, dataset):
        account = book.account(dataset)
    amounts = [f"{part}{name}" for part in ("", "spent_", "remaining_") for name in ("epsilon", "delta")]
    figures = {name: float(getattr(account, name)) for name in amounts}
    return {"dataset": account.dataset, "unit": str(account.unit), **figures}


def sentence(account: dict[str, Any]) -> str:
    """Return an account as a person reads it."""
    from glassine.report.wording import clean

    parts = [
        f"{name} {account[f'spent_{name}']:.12g} of {account[name]:.12g} spent, "
        f"{account[f'remaining_{name}']:.12g} left"
        for name in ("epsilon", "delta")
        if name == "epsilon" or account[name]
    ]
    return f"{clean(account['dataset'])}: {'; '.join(parts)}. Unit: {account['unit']}."


def _charge_of(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "at": entry.at,
        "epsilon": float(entry.epsilon),
        "delta": float(entry.delta),
        "note": entry.note,
    }


def _changes(book: Ledger, dataset: str) -> list[dict[str, Any]]:
    def amounts(epsilon: Fraction, delta: Fraction | None) -> dict[str, float]:
        return {"epsilon": float(epsilon), "delta": float(delta or 0)}

    return [
        {
            "at": change.at,
            "from": None if change.old_epsilon is None else amounts(change.old_epsilon, change.old_delta),
            "to": amounts(change.epsilon, change.delta),
        }
        for change in book.changes(dataset)
    ]


def _change_line(change: dict[str, Any]) -> str:
    old, new = change["from"], change["to"]
    parts = [f"{name} {old[name]:.12g} to {new[name]:.12g}" for name in ("epsilon", "delta") if old[name] != new[name]]
    # Amounts that differ beyond a float's digits print alike.
    return f"  budget  {change['at']}  {', '.join(parts) or 'in digits beyond those shown'}"


def _line(charge: dict[str, Any]) -> str:
    from glassine.report.wording import clean

    delta = f", delta {charge['delta']:.12g}" if charge["delta"] else ""
    return f"  {charge['number']}  {charge['at']}  epsilon {charge['epsilon']:.12g}{delta}  {clean(charge['note'])}"
