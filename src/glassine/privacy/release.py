"""What a private fit does before it draws: it charges its ledger, or is counted among the fits of the process."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction

from glassine.errors import InvalidParameterError, PrivacyLeakWarning
from glassine.privacy.ledger import Ledger
from glassine.privacy.receipt import Receipt
from glassine.privacy.unit import RECORD, PrivacyUnit

__all__ = ["Paid", "Price", "fresh_count", "spend"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a fit spends: what a ledger is charged, or what is counted without one.

    Attributes
    ----------
    epsilon, delta : Fraction
        What its certificate claims.
    note : str
        What is fitted, in words; public, as the ledger is read by others.
    unit : PrivacyUnit
        Whose data it covers.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    note: str
    unit: PrivacyUnit = RECORD


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """What a certificate says of the payment.

    Attributes
    ----------
    caveats : tuple of str
        What the count of fits voids; empty where a ledger was charged.
    receipt : Receipt or None
        The receipt of the ledger, if there is one.
    """

    caveats: tuple[str, ...] = ()
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class _Spent:
    """What the fits without a ledger spent on one data set: their number, and their sums."""

    fits: int = 0
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, price: Price) -> _Spent:
        return _Spent(self.fits + 1, self.epsilon + price.epsilon, self.delta + price.delta)

    def __str__(self) -> str:
        return f"epsilon {float(self.epsilon):.10g} and delta {float(self.delta):.10g}"


class _Count(dict[str | None, _Spent]):
    """The fits without a ledger by the name of their data set; None is the unnamed one."""


_OF_PROCESS = _Count()
_COUNT: ContextVar[_Count | None] = ContextVar("count of fits", default=None)
_LOCK = threading.RLock()


def spend(price: Price, *, ledger: object, dataset: object, seeded: bool) -> Paid:
    """Charge a fit to its ledger, or count it where there is none.

    The first fit on a data set has no caveat. Each further fit has one, since its claim is of this fit alone. The
    second warns.

    Parameters
    ----------
    price : Price
        What the fit spends.
    ledger : Ledger, path or None
        The ledger. It adds up fits of all processes and days; the count sees those of this process alone.
    dataset : str or None
        Name of the data set. A ledger needs it; a fit without both is on the unnamed data set.
    seeded : bool
        Whether the fit is seeded. Such a fit is not private, and is charged but not counted.

    Raises
    ------
    BudgetExceededError
        If the data set's budget does not allow it; nothing is charged then.
    InvalidParameterError
        If there is a ledger without a data set, or either is of the wrong type.
    """
    if dataset is not None and (not isinstance(dataset, str) or not dataset):
        raise InvalidParameterError(f"dataset must be a name or None, got {dataset!r}. Name the data set.")
    if ledger is None:
        return Paid(caveats=() if seeded else _counted(price, dataset))
    if dataset is None:
        raise InvalidParameterError(f"a ledger needs a data set, got ledger={ledger!r} alone. Pass dataset=.")
    book = Ledger(ledger) if isinstance(ledger, str | os.PathLike) else ledger
    if not isinstance(book, Ledger):
        raise InvalidParameterError(f"ledger must be a Ledger or a path, got {type(book).__name__}.")
    entry = book.charge(dataset, price.epsilon, price.delta, note=price.note, unit=price.unit)
    return Paid(receipt=entry.receipt)


def _counted(price: Price, dataset: str | None) -> tuple[str, ...]:
    # The lock also holds while the warning is shown: a filter may turn it into an error, and then nothing is counted.
    with _LOCK:
        own = _COUNT.get()
        count = _OF_PROCESS if own is None else own
        spent = count.get(dataset, _Spent()) + price
        where = "the unnamed data set" if dataset is None else f"the data set {dataset!r}"
        if spent.fits == 2:
            warnings.warn(
                f"this is the second private fit on {where} in this process without a ledger: 2 fits spend {spent} "
                "together, as plain sums. Its certificate does not hold, nor does that of any later one; this warning "
                "is not repeated. Pass ledger= and dataset=, which also adds up other processes and days, or dataset= "
                "alone where the records are others.",
                PrivacyLeakWarning,
                stacklevel=4,
            )
        count[dataset] = spent
    if spent.fits == 1:
        return ()
    return (
        f"private fit number {spent.fits} on {where} in this process without a ledger: all {spent.fits} spend {spent} "
        "together, as plain sums",
    )


@contextmanager
def fresh_count() -> Iterator[None]:
    """Count the fits inside by themselves, as if the process began and ended with them.

    It is for fits on records that are no persons', such as those of a verification.
    """
    token = _COUNT.set(_Count())
    try:
        yield
    finally:
        _COUNT.reset(token)
