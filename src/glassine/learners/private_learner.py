"""The one way of a private fit: read and plan, refuse; charge; draw; keep what is released and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from glassine.errors import InvalidParameterError
from glassine.learners.base import keep
from glassine.learners.budget import SEEDED, vouched_for
from glassine.learners.persons import Persons, take_persons, unit_of
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import Price, spend

__all__ = ["UNPAID", "Prepared", "PrivateLearner"]


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
    alone and is handed to the draw when the charge is on disk. A fit without a ledger is counted in its place, by the
    name of its data set and for this process alone; the certificate of each fit after the first has a caveat.

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
    records_per_person: Any
    person_weights: Any

    def fit(self, X: Any, y: Any, *, persons: Any = None, **unsupported: Any) -> Self:
        """Learn a model; each fit spends again.

        Parameters
        ----------
        X : data frame, array-like of shape (n, d), or CountTable
            Training records, the attributes of the domain. Values outside it are clipped, or count as missing. A
            regressor takes no table.
        y : array-like of shape (n,), or str
            Classes, of a regressor numbers, or the name of the column of ``X`` that holds them.
        persons : array-like of shape (n,), series, or str, optional
            Whose record each is: identifiers, or the name of the column of ``X`` that holds them, which is then no
            attribute. With it, and ``records_per_person``, epsilon and delta cover all records of one person. Records
            without an identifier are left out. Numbers of equal value are one identifier, and texts of the same
            characters; a missing value, an empty text, a truth value and a date are none. A lazy frame is brought
            into memory.
        **unsupported
            Nothing is accepted; ``sample_weight`` gets an error of its own.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range, missing, or without effect; if ``persons`` comes without
            ``records_per_person``, or the other way round.
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
        unit = unit_of(self.records_per_person, persons)
        whose: Persons | None = None
        if unit.is_person:
            domain = getattr(self, "domain", None)
            X, whose = take_persons(X, persons, unit, self.person_weights, y=y, domain=domain)
        prepared = self._prepare(X, y, whose)
        _check_progress(self.progress)
        randomness = Randomness.of(self.random_state)
        caveats = (*prepared.caveats, *([SEEDED] if randomness.seeded else []))
        self._rehearse(prepared, caveats)
        receipt = None
        if prepared.price is not None:
            paid = spend(prepared.price, ledger=self.ledger, dataset=self.dataset, seeded=randomness.seeded)
            caveats, receipt = (*caveats, *paid.caveats), paid.receipt
        released = dict(self._draw(prepared, caveats, randomness))
        if randomness.vouched:
            released["certificate_"] = vouched_for(released["certificate_"])
        if receipt is not None:
            released["certificate_"] = replace(released["certificate_"], receipt=receipt)
        keep(self, released)
        return self

    @abstractmethod
    def _prepare(self, X: Any, y: Any, persons: Persons | None = None) -> P:
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
            "Leave it out. Where persons have several records, pass persons and records_per_person."
        )
    for name in unsupported:
        if name != "sample_weight":
            raise TypeError(f"fit() got an unexpected argument {name!r}.")


def _check_progress(progress: object) -> None:
    """Raise InvalidParameterError if progress cannot be called."""
    if progress is not None and not callable(progress):
        raise InvalidParameterError(f"progress must be callable or None, got {type(progress).__name__}.")
