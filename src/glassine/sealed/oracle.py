"""The oracle: all that a fit can learn of its records; each answer is paid for and stated before it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from glassine.compiling.slices import Progress
from glassine.privacy.accounting import Event
from glassine.privacy.release import Paid
from glassine.sealed.accounts import Allowance, FitAccount
from glassine.sealed.questions import Query
from glassine.sealed.store import Store

A = TypeVar("A")
R = TypeVar("R")


class Oracle:
    """The records of one private fit, behind a budget.

    What is public is readable: the account, the payment and the events. The records are not, and no answer leaves
    before its price is off the account and its event is kept.
    """

    __slots__ = ("__events", "__left", "__lost", "__progress", "__records", "account", "paid")

    def __init__(self, records: Any, account: FitAccount, paid: Paid, progress: Progress | None = None) -> None:
        self.__records = records
        self.__left = account.total
        self.__lost = account.delta
        self.__events: list[Event] = []
        self.__progress = progress
        self.account = account
        self.paid = paid

    def __repr__(self) -> str:
        return "<Oracle>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an oracle is not kept")

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the guarantee does not cover: it is known with the payment."""
        return self.paid.caveats

    @property
    def events(self) -> tuple[Event, ...]:
        """What was asked so far, in order."""
        return tuple(self.__events)

    def part(self, share: Fraction) -> Allowance:
        """Return what a share of the account is, in public."""
        return self.account.part(share)

    def ask(self, query: Query[A], share: Fraction, delta: Fraction = Fraction(0)) -> A:
        """Return the answer to a query, which costs a share of the account's epsilon, and a delta if it needs one."""
        part = self.__pay(share, delta)
        # The event is kept first: whatever happens in the draw, it is stated.
        self.__events += query.events(part)
        return query.draw(self.__records, part, self.paid.randomness, self.__progress)

    def __pay(self, share: Fraction, delta: Fraction) -> Allowance:
        part = self.account.part(share, delta)
        if not 0 < part.epsilon <= self.__left or not 0 <= delta <= self.__lost:
            raise RuntimeError("the plan asks for more than was charged")
        self.__left -= part.epsilon
        self.__lost -= delta
        return part

    def close(self) -> None:
        """Forget the records."""
        self.__records = None


class ExactOracle:
    """The same questions answered without noise, for ordinary learners: no events, and nothing to certify.

    Guarantee
    ---------
    none: answers are those of the records.
    """

    __slots__ = ("__records",)

    def __init__(self, records: Any) -> None:
        self.__records = records

    def __repr__(self) -> str:
        return "<ExactOracle>"

    def ask(self, query: Query[Any]) -> Any:
        """Return the exact answer to a query."""
        return query.exact(self.__records)


def asking(
    learn: Callable[[Oracle], R],
    account: FitAccount,
    progress: Progress | None,
    hold: Callable[[Any], Any] = Store,
) -> Callable[[Any, Paid], R]:
    """Return how a plan learns: by an oracle over the opened records, which forgets them afterwards."""

    def learned(records: Any, paid: Paid) -> R:
        oracle = Oracle(hold(records), account, paid, progress)
        try:
            return learn(oracle)
        finally:
            oracle.close()

    return learned
