"""The budget of one additive fit: mu, of which the squares add up, and what follows for the certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from glassine.errors import InvalidParameterError, parameter
from glassine.learners.budget import certificate_of, check_number, guarantee_of
from glassine.models import AdditiveModel, Guarantee
from glassine.privacy.accounting import DiscreteGaussianNoise, Event
from glassine.privacy.certificate import Certificate
from glassine.privacy.conversions import mu_from_epsilon
from glassine.privacy.exact import decimal
from glassine.privacy.fine_gaussian import UNITS, FineNoise, slack_of, tail_per_value
from glassine.privacy.loss_distributions import GaussianFilter
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import Paid
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.records.arrays import Array, Ints
from glassine.sealed.accounts import Account

RESERVED = 1e-6
"""Share of epsilon that is kept for the slack of discrete noise, which grows with the number of values released.

:meth:`GaussianBudget.check_values` refuses a fit that may need more; one millionth costs no accuracy."""

LEAST_RESERVED = 1e-7
"""Epsilon that is kept for it at least, as the slack does not shrink with epsilon."""

LEAST_MU = 4e-5
"""Least mu for one record of a person: about that of the smallest epsilon and delta for one record."""

RELEASES = (
    "what is released next, and at which mu, may depend on what was released before; the squares of mu of all releases "
    "stay within a total that was fixed beforehand"
)


def usable(epsilon: float) -> float:
    """Return what is left of an epsilon for noise, after what is kept for the slack."""
    return epsilon - max(RESERVED * epsilon, LEAST_RESERVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianBudget:
    """Epsilon and delta of one fit, and the mu that they allow."""

    # epsilon, delta: what the fit claims.
    epsilon: Fraction
    delta: Fraction
    mu: float  # Gaussian differential privacy that all releases together may have for one record
    unit: PrivacyUnit = RECORD  # Whose data the claim covers: one record, or one person with so many records

    @classmethod
    def of(cls, epsilon: object, delta: object, unit: PrivacyUnit = RECORD) -> GaussianBudget:
        """Return the budget for epsilon in [0.001, 1000] and delta in [1e-100, 0.1]."""
        # The mu of m records of one person is m times that of one of them: noise has a standard deviation m times as
        # large (Dong, Roth and Su 2022, Theorem 2.14).
        total = check_number(epsilon, "epsilon", low=1e-3, high=1e3)
        failure = check_number(delta, "delta", low=1e-100, high=0.1)
        mu = mu_from_epsilon(usable(total), failure * (1 - RESERVED)) / unit.most_records
        if unit.is_person and not mu >= LEAST_MU:
            raise InvalidParameterError(
                f"{parameter('epsilon=')}{total:g} at {parameter('delta=')}{failure:g} leaves too little for each of "
                f"{unit.most_records} records per "
                "person.",
                remedy=f"Raise epsilon, or lower {parameter('records_per_person')}.",
            )
        if not 0 < mu < math.inf:
            raise InvalidParameterError(
                f"{parameter('epsilon=')}{total:g} at {parameter('delta=')}{failure:g} leaves nothing.",
                remedy="Raise one of them.",
            )
        return cls(epsilon=decimal(total, "epsilon"), delta=decimal(failure, "delta"), mu=mu, unit=unit)

    def check_values(self, releases: int, values: int) -> None:
        """Raise InvalidParameterError if noise on values in so many releases may cost more than is kept for its slack.

        Half of what is kept is for the slack; the rest is for rounding, that of the filter among it.
        """
        kept = min(float(self.epsilon) - usable(float(self.epsilon)), RESERVED)
        if not (
            slack_of(values, UNITS, releases) <= kept / 2
            and values * tail_per_value() <= float(self.delta) * RESERVED / 2
        ):
            raise InvalidParameterError(
                f"a fit that may release {values:,} values needs more than "
                f"{parameter('epsilon=')}{float(self.epsilon):g} and "
                f"{parameter('delta=')}{float(self.delta):g} keep for discrete noise.",
                remedy="Raise them, or give fewer bins or attributes.",
            )

    def claim(self, caveats: Sequence[str], count_scale: float | None) -> Guarantee:
        """Return what the published model states of its guarantee."""
        return guarantee_of(self.epsilon, self.delta, unit=self.unit, count_scale=count_scale, caveats=caveats)

    def certify(
        self, events: Sequence[Event], model: AdditiveModel | str, *, paid: Paid, public: Mapping[str, Any]
    ) -> Certificate:
        """Return the certificate of a fit, or of what has a SHA-256; its constructor adds up the events."""
        return certificate_of(
            events,
            model,
            account=Account(total=self.epsilon, delta=self.delta, unit=self.unit),
            paid=paid,
            public=public,
            assumptions=(RELEASES,),
        )


# How sums of the records become public. A fit is written once, for any mechanism: a private one adds noise and states
# an event, from which the certificate follows; the exact one has neither, so that nothing can be certified.


EventT = TypeVar("EventT", covariant=True)


class Sums(Protocol[EventT]):
    """How some sums are released."""

    @property
    def units(self) -> int:
        """How many units make one: sums are whole numbers of them."""
        ...

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, in ones."""
        ...

    @property
    def precision(self) -> float:
        """One over the variance of the noise."""
        ...

    def release(self, sums: Ints) -> Array:
        """Return sums of units as multiples of one, with noise if there is any."""
        ...

    def draw(self, shape: tuple[int, ...]) -> Ints:
        """Return noise in units, to be added to sums that are not yet known."""
        ...

    def event(self, name: str, values: int, *, proof: str, count: int = 1) -> EventT:
        """Return what the certificate has to state of the release of so many values, so many times."""
        ...


class Mechanism(Protocol[EventT]):
    """What releases may draw on."""

    def sums(self, squared_sensitivity: float, times: int = 1) -> Sums[EventT]:
        """Return how sums are released, to which one record adds a vector of that squared length, so many times."""
        ...

    def parts(self) -> Parts[EventT]:
        """Return what it gives to the releases within it."""
        ...


class Parts(Protocol[EventT]):
    """What a mechanism gives to several releases, which may depend on each other."""

    def share(self, part: float) -> Mechanism[EventT]:
        """Return the mechanism of a release that may cost a share of the squared mu."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """What one release may cost, and where its noise comes from."""

    mu: float  # Gaussian differential privacy of the release
    share: float  # Its share of the budget, for the certificate
    randomness: Randomness  # Source of the noise

    def sums(self, squared_sensitivity: float, times: int = 1) -> NoisySums:
        """Return sums with noise that together, so many times, cost ``mu``: squares of mu add up."""
        noise = FineNoise.of(self.mu / math.sqrt(times), squared_sensitivity)
        return NoisySums(noise=noise, randomness=self.randomness, share=self.share)

    def parts(self) -> Portions:
        """Return a filter that keeps releases within ``mu``."""
        return Portions(spending=GaussianFilter(self.mu), whole=self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Portions:
    """Releases that a filter keeps within a portion."""

    spending: GaussianFilter
    whole: Portion

    def share(self, part: float) -> Portion:
        """Return the portion of a release that may cost a share of the squared mu."""
        return self._granted(self.spending.share(part), part)

    def spend(self, mu: float, part: float) -> Portion:
        """Return the portion of a release that may cost a mu, stated as a share of the whole."""
        return self._granted(self.spending.spend(mu), part)

    def _granted(self, mu: float, part: float) -> Portion:
        return Portion(mu=mu, share=self.whole.share * part, randomness=self.whole.randomness)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySums:
    """Sums with discrete Gaussian noise."""

    noise: FineNoise  # Its scale and the units
    randomness: Randomness  # Its source
    share: float  # Share of the budget, for the certificate

    @property
    def units(self) -> int:
        """How many units make one."""
        return self.noise.units

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, in ones."""
        return self.noise.deviation

    @property
    def precision(self) -> float:
        """One over the variance of the noise."""
        return float(self.noise.deviation**-2)

    def release(self, sums: Ints) -> Array:
        """Return sums of units with noise, as multiples of one."""
        return self.noise.release(sums, self.randomness)

    def draw(self, shape: tuple[int, ...]) -> Ints:
        """Return noise in units."""
        return self.noise.draw(shape, self.randomness)

    def event(self, name: str, values: int, *, proof: str, count: int = 1) -> DiscreteGaussianNoise:
        """Return the event of so many values, released with the noise so many times."""
        return DiscreteGaussianNoise(
            name=name,
            l2_sensitivity=self.noise.l2_sensitivity,
            sigma=self.noise.sigma,
            units=self.noise.units,
            values=values,
            count=count,
            share=self.share,
            proof=proof,
        )


@dataclass(frozen=True, slots=True)
class Exact:
    """Sums as they are, for ordinary models: no noise, no event, no randomness.

    Guarantee
    ---------
    none, and none is certified: there are no events, without which :func:`certificate_of` refuses.

    Examples
    --------
    >>> exact = Exact().share(0.1).sums(3)
    >>> exact.release(np.array([exact.units, 5 * exact.units])).tolist(), exact.deviation
    ([1.0, 5.0], 0.0)
    """

    units: ClassVar[int] = UNITS
    """Sums of residuals of up to 2^33 records do not wrap around."""
    deviation: ClassVar[float] = 0.0
    precision: ClassVar[float] = math.inf

    def sums(self, squared_sensitivity: float, times: int = 1) -> Exact:
        """Return itself, for any number of releases."""
        return self

    def parts(self) -> Exact:
        """Return itself: nothing is spent."""
        return self

    def share(self, part: float) -> Exact:
        """Return itself: nothing is spent."""
        return self

    def release(self, sums: Ints) -> Array:
        """Return sums of units as multiples of one."""
        return np.asarray(sums, dtype=np.int64) / self.units

    def draw(self, shape: tuple[int, ...]) -> Ints:
        """Return zeros."""
        return np.zeros(shape, dtype=np.int64)

    def event(self, name: str, values: int, *, proof: str, count: int = 1) -> None:
        """State nothing."""
