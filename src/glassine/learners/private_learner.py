"""The one way of a private fit: read and plan, refuse; charge; draw; keep what is released and nothing else."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from glassine.errors import InvalidParameterError
from glassine.learners.base import keep
from glassine.learners.budget import SEEDED, vouched_for
from glassine.privacy.ledger import Ledger
from glassine.privacy.randomness import Randomness
from glassine.privacy.receipt import Receipt

__all__ = ["UNPAID", "Prepared", "Price", "PrivateLearner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a fit writes into the ledger.

    Attributes
    ----------
    epsilon, delta : Fraction
        What its certificate claims.
    note : str
        What is fitted, in words; public, as the ledger is read by others.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    note: str


class Prepared(Protocol):
    """A fit that is planned whole: what can be refused was refused, and nothing is drawn yet."""

    @property
    def price(self) -> Price | None:
        """What the fit costs; None where it is not private."""
        ...

    @property
    def caveats(self) -> tuple[str, ...]:
        """What its guarantee does not cover, but for a seed."""
        ...


P = TypeVar("P", bound=Prepared)


class PrivateLearner(ABC, Generic[P]):
    """An estimator whose fit spends privacy budget; each kind of model prepares and draws in its own way.

    The budget is charged after everything that can be refused was refused, and before anything is drawn: a refused fit
    costs nothing, and one that fails or is killed later stays charged. The source of randomness exists in :meth:`fit`
    alone and is handed to the draw when the charge is on disk.

    Notes
    -----
    Guarantee: none of its own: it is that of each draw.
    """

    released: ClassVar[frozenset[str]]
    """The fitted attributes; nothing else is kept or pickled."""

    ledger: Any
    dataset: Any
    progress: Any
    random_state: Any

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Self:
        """Learn a model; each fit spends again.

        Parameters
        ----------
        X : data frame, array-like of shape (n, d), or CountTable
            Training records, the attributes of the domain. Values outside it are clipped, or count as missing. A
            regressor takes no table.
        y : array-like of shape (n,), or str
            Classes, of a regressor numbers, or the name of the column of ``X`` that holds them.
        **unsupported
            Nothing is accepted; ``sample_weight`` gets an error of its own.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range, missing, or without effect.
        InvalidDataError
            If the data do not fit the domain.
        ClassTooLargeError
            If what has to be summed or tabulated may exceed the limits. Nothing is spent.
        BudgetExceededError
            If the ledger does not allow the fit. Nothing is released.
        GlassineError
            If literals or a pool do not fit the domain, or a choice cannot be calibrated. Nothing is spent.
        """
        _refuse_unsupported(unsupported)
        prepared = self._prepare(X, y)
        _check_progress(self.progress)
        randomness = Randomness.of(self.random_state)
        caveats = (*prepared.caveats, *([SEEDED] if randomness.seeded else []))
        self._rehearse(prepared, caveats)
        receipt = None if prepared.price is None else _charge(self.ledger, self.dataset, prepared.price)
        released = dict(self._draw(prepared, caveats, randomness))
        if randomness.vouched:
            released["certificate_"] = vouched_for(released["certificate_"])
        if receipt is not None:
            released["certificate_"] = replace(released["certificate_"], receipt=receipt)
        keep(self, released)
        return self

    @abstractmethod
    def _prepare(self, X: Any, y: Any) -> P:
        """Read the records and plan the fit, or refuse it; nothing is drawn."""

    def _rehearse(self, prepared: P, caveats: tuple[str, ...]) -> None:
        """Raise what stating the guarantee would raise, before it is paid for."""

    @abstractmethod
    def _draw(self, prepared: P, caveats: tuple[str, ...], randomness: Randomness) -> Mapping[str, Any]:
        """Return the fitted attributes by name, drawn with the randomness; the fit is paid for."""


def _no_bits(size: int) -> bytes:
    raise RuntimeError("nothing is drawn before a fit is paid for.")


UNPAID = Randomness(_no_bits)
"""Stands for the randomness of a fit that is not paid for, and gives none."""


def _refuse_unsupported(unsupported: Mapping[str, Any]) -> None:
    """Raise TypeError for any further argument of a private fit."""
    if unsupported.get("sample_weight") is not None:
        raise TypeError(
            "a private fit takes no sample_weight: a weight changes how much one record can do, and so the guarantee. "
            "Leave it out, or repeat records and account for groups."
        )
    for name in unsupported:
        if name != "sample_weight":
            raise TypeError(f"fit() got an unexpected argument {name!r}.")


def _check_progress(progress: object) -> None:
    """Raise InvalidParameterError if progress cannot be called."""
    if progress is not None and not callable(progress):
        raise InvalidParameterError(f"progress must be callable or None, got {type(progress).__name__}.")


def _charge(ledger: object, dataset: object, price: Price) -> Receipt | None:
    """Charge a fit to a ledger, and return the receipt for its certificate; None where there is no ledger.

    Raises
    ------
    BudgetExceededError
        If the data set's budget does not allow it; nothing is charged then.
    InvalidParameterError
        If there is a ledger without a data set, or the other way round.
    """
    if ledger is None and dataset is None:
        return None
    if ledger is None or not isinstance(dataset, str) or not dataset:
        raise InvalidParameterError(
            f"ledger and dataset go together, got ledger={ledger!r} and dataset={dataset!r}. Name the data set."
        )
    book = Ledger(ledger) if isinstance(ledger, str | os.PathLike) else ledger
    if not isinstance(book, Ledger):
        raise InvalidParameterError(f"ledger must be a Ledger or a path, got {type(book).__name__}.")
    return book.charge(dataset, price.epsilon, price.delta, note=price.note).receipt
