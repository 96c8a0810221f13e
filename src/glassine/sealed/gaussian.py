"""Sums with Gaussian noise: an oracle whose account is a total of mu, of which the squares of all releases stay within.

A release states its event once, at its price, and may then ask several questions, each of which may follow from the
answers before it: the squares of their sensitivities stay within what was paid.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn, Protocol, Self, TypeVar

from glassine.privacy.accounting import DiscreteGaussianNoise, Event
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.loss_distributions import GaussianFilter
from glassine.privacy.release import Paid
from glassine.records.arrays import Array, Ints
from glassine.sealed.accounts import FitAccount
from glassine.sealed.binned import AdditiveStore
from glassine.sealed.noisy_sums import ExactSums, Noise, NoisySums, Portion, SumsRelease
from glassine.sealed.oracle import Oracle, asking
from glassine.sealed.released_bins import Events

R = TypeVar("R")

ROUNDING = 1e-9
"""Relative slack of sums of squared sensitivities, which are doubles."""


class SumsQuery(ABC):
    """Sums over the records, with what one record moves them by: it follows from public and released values alone."""

    __slots__ = ()

    @property
    @abstractmethod
    def squared(self) -> float:
        """Square of the l2 norm of what one record adds, in ones."""

    @abstractmethod
    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the sums in whole units, modulo 2^64."""

    def draw(self, records: AdditiveStore, noise: Noise) -> Array:
        """Return the sums with noise, as multiples of one; of the shape of the sums."""
        return noise.release(self.exact(records, noise.units))


class Drawing:
    """A release that is paid for and stated: what may still be asked of it.

    Attributes
    ----------
    units : int
        How many whole units make one.
    deviation : float
        Standard deviation of the noise in each sum, in ones; 0 of an ordinary fit.
    parts : int
        Parts of one record that sums without noise are multiples of: more than one where rows weigh fractions of it.
    """

    __slots__ = ("__left", "__noise", "__stores", "deviation", "parts", "units")

    def __init__(self, stores: list[AdditiveStore], noise: Noise, squared: float) -> None:
        self.__stores, self.__noise, self.__left = stores, noise, squared * (1 + ROUNDING)
        self.units, self.deviation, self.parts = noise.units, noise.deviation, 1

    def __repr__(self) -> str:
        return "<Drawing>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a drawing is not kept")

    @property
    def precision(self) -> float:
        """One over the variance of the noise; infinite without."""
        return self.deviation**-2 if self.deviation else math.inf

    def ask(self, query: SumsQuery) -> Array:
        """Return the answer to a question, if the squares of all of them are within what was paid."""
        if not 0 <= query.squared <= self.__left:
            raise RuntimeError("a release asks for more than was paid for")
        self.__left -= query.squared
        (records,) = self.__stores
        return query.draw(records, self.__noise)


class SumsOracle(Protocol):
    """What an additive learner may ask: a private fit with noise, an ordinary one without."""

    @property
    def whole(self) -> Portion:
        """All that may be spent."""
        ...

    def release(self, release: SumsRelease, portion: Portion) -> Drawing:
        """Return a release that costs a portion, after its event is kept."""
        ...


class GaussianOracle:
    """The records of one private fit, behind a total of mu.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy of all answers together, but for the slack of discrete noise, for every
    outcome: a filter grants each release its mu before anything of it is drawn, and the squares of the sensitivities
    of the questions within one stay within that of its event. See ``learners/additive/additive_fit.md`` and
    ``privacy/loss_distributions.md``.
    """

    __slots__ = ("__events", "__spending", "__stores", "paid", "whole")

    def __init__(self, records: AdditiveStore, mu: float, paid: Paid) -> None:
        self.__stores = [records]
        self.__spending = GaussianFilter(mu)
        self.__events: list[Event] = []
        self.whole = Portion(mu=mu, share=1.0)
        self.paid = paid

    def __repr__(self) -> str:
        return "<GaussianOracle>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an oracle is not kept")

    @property
    def events(self) -> tuple[Event, ...]:
        """What was released so far, in order."""
        return tuple(self.__events)

    def release(self, release: SumsRelease, portion: Portion) -> Drawing:
        """Return a release that costs a portion: what is left of the total, and its event, are kept first."""
        mu = self.__spending.spend(portion.mu)
        noise = FineNoise.of(mu / math.sqrt(release.times), release.squared)
        event = DiscreteGaussianNoise(
            name=release.name,
            l2_sensitivity=noise.l2_sensitivity,
            sigma=noise.sigma,
            units=noise.units,
            values=release.values,
            count=release.times,
            share=portion.share,
            proof=release.proof,
        )
        self.__events.append(event)
        return Drawing(self.__stores, NoisySums(noise, self.paid.randomness), release.squared * release.times)

    def close(self) -> None:
        """Forget the records."""
        self.__stores.clear()


class ExactSumsOracle:
    """The same questions answered without noise, for ordinary learners: no events, and nothing to certify.

    Guarantee
    ---------
    none: answers are those of the records.
    """

    __slots__ = ("__stores",)

    whole = Portion(mu=math.inf, share=1.0)

    def __init__(self, records: AdditiveStore) -> None:
        self.__stores = [records]

    def __repr__(self) -> str:
        return "<ExactSumsOracle>"

    @classmethod
    def of(cls, records: Any, events: Events | None = None) -> Self:
        """Return the oracle of records that are read; ``events`` if their target counts some."""
        return cls(AdditiveStore(records, events))

    def release(self, release: SumsRelease, portion: Portion) -> Drawing:
        """Return a release without noise."""
        return Drawing(self.__stores, ExactSums(), math.inf)


def asking_counts(learn: Callable[[Oracle], R], account: FitAccount) -> Callable[[Any, Paid], R]:
    """Return how a plan learns that counts records in bins, or by what a model says of them."""
    return asking(learn, account, None, AdditiveStore)


def asking_sums(
    learn: Callable[..., R], mu: float, kept: FitAccount | None = None, events: Events | None = None
) -> Callable[[Any, Paid], R]:
    """Return how a plan learns: by an oracle of sums over the opened records, which forgets them afterwards.

    Of a second account, a second oracle over the same records answers other questions; it is passed as well.
    ``events`` is what is public of a target that counts some.
    """

    def learned(records: Any, paid: Paid) -> R:
        store = AdditiveStore(records, events)
        oracle = GaussianOracle(store, mu, paid)
        others = () if kept is None else (Oracle(store, kept, paid),)
        try:
            return learn(oracle, *others)
        finally:
            for one in (oracle, *others):
                one.close()

    return learned
