"""``glassine ledger``: budgets of data sets, and what was charged to them."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassine.cli.naming import nearest
from glassine.cli.options import JsonOption, LedgerArgument, LedgerDeltaOption
from glassine.cli.writing import print_value
from glassine.errors import BudgetExceededError, LedgerError

if TYPE_CHECKING:
    from glassine.privacy.ledger import Ledger

__all__ = ["account_of", "budget_command", "charge_command", "raising", "sentence", "show_command", "suggesting"]

DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="Name of the data set.")]


def show_command(
    ledger: LedgerArgument,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="NAME", help="Name of the data set in the ledger.", show_default="all"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the budgets of a ledger, how they were changed, and their charges.

    Exit status: 0 when they were shown, 2 if not.
    """
    book = _open(ledger)
    with suggesting(book, dataset):
        names = book.datasets() if dataset is None else (dataset,)
    accounts = [
        {**account_of(book, name), "changes": _changes(book, name), "charges": _charges(book, name)} for name in names
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
    epsilon: Annotated[float, typer.Argument(metavar="EPSILON", help="Epsilon in all, more than was spent.")],
    delta: LedgerDeltaOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Set the total budget of a data set; makes the ledger if there is none.

    Exit status: 0 when it was set, 2 if not.
    """
    book = _open(ledger)
    book.budget(dataset, epsilon, delta)
    account = account_of(book, dataset)
    print_value(account if as_json else sentence(account), as_json)


def charge_command(
    ledger: LedgerArgument,
    dataset: DatasetArgument,
    epsilon: Annotated[float, typer.Argument(metavar="EPSILON", help="Epsilon of the release.")],
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What is released.")],
    delta: LedgerDeltaOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Charge a release that other software makes, before it is made. glassine fit charges its own.

    Exit status: 0 when it was charged, 2 if not: release nothing then.
    """
    book = _open(ledger)
    with suggesting(book, dataset), raising(book, dataset):
        entry = book.charge(dataset, epsilon, delta, note=note)
    account = account_of(book, dataset)
    print_value({**account, "charge": entry.number} if as_json else sentence(account), as_json)


def _open(path: Path) -> Ledger:
    from glassine.privacy.ledger import Ledger

    return Ledger(path)


@contextlib.contextmanager
def suggesting(book: Ledger, dataset: str | None) -> Iterator[None]:
    """Name the data set that was probably meant where the ledger has none of a name, and how a ledger is made."""
    from glassine.privacy.ledger import NO_LEDGER

    try:
        yield
    except LedgerError as error:
        message = str(error)
        if NO_LEDGER in message:
            command = f"glassine ledger budget {shlex.quote(_shown(book))} NAME EPSILON"
            error.args = (message.replace(NO_LEDGER, f"Make it: {command}"), *error.args[1:])
        elif dataset is not None:
            with contextlib.suppress(LedgerError):
                names = book.datasets()
                error.args = (message if dataset in names else f"{message}{nearest(dataset, names)}", *error.args[1:])
        raise


@contextlib.contextmanager
def raising(book: Ledger, dataset: str) -> Iterator[None]:
    """Name the command that raises a budget where a charge does not fit it."""
    from glassine.privacy.exact import decimal
    from glassine.privacy.ledger import RAISE_IT

    try:
        yield
    except BudgetExceededError as error:
        account = book.account(dataset)
        epsilon = max(account.epsilon, account.spent_epsilon + decimal(error.requested, "epsilon"))
        delta = max(account.delta, account.spent_delta + decimal(error.requested_delta, "delta"))
        command = f"glassine ledger budget {shlex.quote(_shown(book))} {shlex.quote(dataset)} {_enough(epsilon)}"
        command += f" --delta {_enough(delta)}" if delta else ""
        error.args = (str(error).replace(RAISE_IT, f"or raise the budget: {command}"), *error.args[1:])
        raise


def _shown(book: Ledger) -> str:
    """Return the path of a ledger as it is given in the folder that the command runs in."""
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
    """Return a data set's budget and what is left of it, as plain values."""
    with suggesting(book, dataset):
        account = book.account(dataset)
    return {
        "dataset": dataset,
        "epsilon": float(account.epsilon),
        "delta": float(account.delta),
        "spent_epsilon": float(account.spent_epsilon),
        "spent_delta": float(account.spent_delta),
        "remaining_epsilon": float(account.remaining_epsilon),
        "remaining_delta": float(account.remaining_delta),
    }


def sentence(account: dict[str, Any]) -> str:
    """Return an account as a person reads it."""
    from glassine.report.wording import clean

    parts = [
        f"{name} {account[f'spent_{name}']:.12g} of {account[name]:.12g} spent, "
        f"{account[f'remaining_{name}']:.12g} left"
        for name in ("epsilon", "delta")
        if name == "epsilon" or account[name]
    ]
    return f"{clean(account['dataset'])}: {'; '.join(parts)}."


def _charges(book: Ledger, dataset: str) -> list[dict[str, Any]]:
    return [
        {
            "number": entry.number,
            "at": entry.at,
            "epsilon": float(entry.epsilon),
            "delta": float(entry.delta),
            "note": entry.note,
        }
        for entry in book.entries(dataset)
    ]


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
