"""The one private release: refuse, charge, draw; for learners and explainers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from glassine.errors import InvalidParameterError, PrivacyLeakWarning, parameter, warn_caller
from glassine.privacy.certificate import Origin
from glassine.privacy.ledger import Ledger
from glassine.privacy.randomness import Randomness, RandomState
from glassine.privacy.receipt import Receipt
from glassine.privacy.unit import RECORD, PrivacyUnit

SEEDED = "seeded: not private"
"""Caveat of a release whose random bits can be repeated."""

VOUCHED = "the random bits come from a source that the caller vouches for: independent, fair and secret"
"""Assumption of a release whose random bits are not the operating system's."""

EXACT_DRAWS = (
    "Every draw is made from random bits by arithmetic on whole numbers, without rounding. What rounding of weights "
    "or of a scale can add is bounded, and stated as the slack of its event."
)
"""What a certificate says of arithmetic: see ``randomness.md``, ``samplers.md`` and ``mechanisms.md``."""

R = TypeVar("R")


def _no_bits(size: int) -> bytes:
    raise RuntimeError("nothing is drawn before a fit is paid for.")


UNPAID = Randomness(_no_bits, seeded=False)
"""Stands for the randomness of a release that is not paid for, and gives none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a fit spends: what a ledger is charged, or what is counted without one."""

    # epsilon, delta: what its certificate claims.
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    note: str  # What is fitted, in words; public, as the ledger is read by others
    unit: PrivacyUnit = RECORD  # Whose data it covers


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """A release that is paid for: what it may draw with, and what its certificate says of the payment."""

    randomness: Randomness  # The stream to draw from; there is none before the charge
    # What the guarantee does not cover: what the plan says, a seed, and what the count of fits voids.
    caveats: tuple[str, ...] = ()
    receipt: Receipt | None = None  # The receipt of the ledger, if there is one

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the certificate takes for granted of the random bits, beside what every one does."""
        return (VOUCHED,) if self.randomness.vouched else ()

    @property
    def origin(self) -> Origin:
        """Where the certificate says that the random bits came from."""
        if self.randomness.seeded:
            return "seeded"
        return "vouched for by the caller" if self.randomness.vouched else "operating system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(Generic[R]):
    """A private release that is planned whole: what can be refused was refused, and nothing is drawn yet.

    What is not private has no price, and is never planned so.
    """

    price: Price  # What it costs
    caveats: tuple[str, ...]  # What its guarantee does not cover, but for a seed and for what the payment voids
    # Called without arguments before the charge: raises what stating the guarantee would raise.
    check: Callable[[], object]
    draw: Callable[[Paid], R]  # From the payment, which holds the randomness, to what is released


@dataclass(frozen=True, slots=True)
class _Spent:
    """What the fits without a ledger spent on one dataset: their number, and their sums."""

    fits: int = 0
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, price: Price) -> _Spent:
        return _Spent(self.fits + 1, self.epsilon + price.epsilon, self.delta + price.delta)

    def __str__(self) -> str:
        return f"epsilon {float(self.epsilon):.10g} and delta {float(self.delta):.10g}"


class _Count(dict[str | None, _Spent]):
    """The fits without a ledger by the name of their dataset; None is the unnamed one."""


_OF_PROCESS = _Count()
_COUNT: ContextVar[_Count | None] = ContextVar("count of fits", default=None)
_LOCK = threading.RLock()


def release(planned: Planned[R], *, ledger: object, dataset: object, random_state: RandomState) -> R:
    """Refuse, charge, draw: all refusals precede the charge, which precedes the draw.

    A refused release costs nothing; one that fails or is killed while it draws stays charged. Without a ledger it is
    counted instead: the first on a dataset has no caveat, each further one has, since its claim is of this release
    alone, and the second warns.

    Guarantee
    ---------
    none on its own: it is that of the draw.

    Parameters
    ----------
    planned : Planned
        The release.
    ledger : Ledger, path or None
        The ledger. It adds up fits of all processes and days; the count sees those of this process alone.
    dataset : str or None
        Name of the dataset. A ledger needs it; a fit without both is on the unnamed dataset.
    random_state : None, int, Generator, RandomState or Randomness
        None for a private release. A seeded one is not private: it is charged, but not counted.

    Raises
    ------
    BudgetExceededError
        If the dataset's budget does not allow it; nothing is charged then.
    InvalidParameterError
        If there is a ledger without a dataset, or either is of the wrong type.
    InvalidMechanismError
        If ``random_state`` is no source of randomness.
    """
    # The order is the guarantee. A seed that cannot be used and whatever the plan refuses come first: they cost
    # nothing.
    randomness = Randomness.of(random_state)
    planned.check()
    # Paid before anything is drawn: a crash in between over-counts, and nothing is released that is not charged.
    receipt, counted = _pay(planned.price, ledger, dataset, seeded=randomness.seeded)
    caveats = (*planned.caveats, *((SEEDED,) if randomness.seeded else ()), *counted)
    return planned.draw(Paid(randomness=randomness, caveats=caveats, receipt=receipt))


def _pay(price: Price, ledger: object, dataset: object, *, seeded: bool) -> tuple[Receipt | None, tuple[str, ...]]:
    """Charge a release to its ledger, or count it where there is none; return the receipt, or the count's caveats."""
    book = _book(ledger, dataset)
    if book is None:
        return None, () if seeded else _counted(price, None if dataset is None else str(dataset))
    return book.charge(str(dataset), price.epsilon, price.delta, note=price.note, unit=price.unit).receipt, ()


def check_payable(price: Price, *, ledger: object, dataset: object) -> None:
    """Raise what the charge of a release would raise now; nothing is charged or counted."""
    # For what is done before the charge, and costs something else, such as queries of a black box.
    book = _book(ledger, dataset)
    if book is not None:
        book.check(str(dataset), price.epsilon, price.delta, unit=price.unit)


def _book(ledger: object, dataset: object) -> Ledger | None:
    """Return the ledger that a release is charged to, None where it is counted."""
    if dataset is not None and (not isinstance(dataset, str) or not dataset):
        raise InvalidParameterError(
            f"{parameter('dataset')} must be a name or None, got {dataset!r}.", remedy="Name the dataset."
        )
    if ledger is None:
        return None
    if dataset is None:
        raise InvalidParameterError(
            f"a ledger needs a dataset, got {parameter('ledger=')}{ledger!r} alone.",
            remedy=f"Pass {parameter('dataset=')}.",
        )
    book = Ledger(ledger) if isinstance(ledger, str | os.PathLike) else ledger
    if not isinstance(book, Ledger):
        raise InvalidParameterError(f"{parameter('ledger')} must be a Ledger or a path, got {type(book).__name__}.")
    return book


def _counted(price: Price, dataset: str | None) -> tuple[str, ...]:
    # The lock also holds while the warning is shown: a filter may turn it into an error, and then nothing is counted.
    with _LOCK:
        own = _COUNT.get()
        count = _OF_PROCESS if own is None else own
        spent = count.get(dataset, _Spent()) + price
        where = "the unnamed dataset" if dataset is None else f"the dataset {dataset!r}"
        if spent.fits == 2:
            warn_caller(
                f"this is the second private fit on {where} in this process without a ledger: 2 fits spend {spent} "
                "together, as plain sums. Its certificate does not hold, nor does that of any later one; this warning "
                "is not repeated. Pass ledger= and dataset=, which also adds up other processes and days, or dataset= "
                "alone where the records are others.",
                PrivacyLeakWarning,
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
    """Count the fits inside by themselves, as if the process began and ended with them."""
    # It is for fits on records that are no persons', such as those of a verification.
    # A context variable: threads and tasks beside this one go on counting in their own.
    token = _COUNT.set(_Count())
    try:
        yield
    finally:
        _COUNT.reset(token)
