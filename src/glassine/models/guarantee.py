"""What a publisher claims about the privacy of a model, and what the claim implies."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from glassine.errors import InvalidModelError, parameter, quoted

NEIGHBORING = ("add-or-remove-one", "replace-one", "add-or-remove-one-person")
"""Neighboring relations that the bounds know."""

DOMAIN_FROM_DATA = "domain inferred from the data: the guarantee does not cover it"
"""Caveat of a model that was trained, or moved to public cut points, in a domain inferred from the records."""

LARGEST_EPSILON = 1e6
MOST_RECORDS = 10**6
"""Most records per person, as in the privacy unit of a certificate."""

LONGEST_SETTING = 200
"""Most characters of a setting: a few parameters with their values, and no room for records."""

LARGEST = 1e300


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """The differential privacy that a model's publisher claims for it.

    **Guarantee**: none. It is a claim, and nothing in a model can prove it. The methods compute what follows if
    it is true; the page "What a guarantee means" has the proofs.

    Parameters
    ----------
    epsilon : float
        At least 0, at most a million.
    delta : float, default=0.0
        In [0, 1).
    neighboring : {"add-or-remove-one", "replace-one", "add-or-remove-one-person"}
        Which datasets the guarantee makes hard to distinguish: those that differ by one record, or by all records of
        one person.
    records_per_person : int, optional
        The most records that the model uses of each person; with "add-or-remove-one-person", and only there.
    count_scale : float, optional
        Scale, in records, of the noise that each published count carries: of trees and rule lists discrete Laplace
        noise, P(z) proportional to exp(-abs(z) / scale). Such counts are evidence, not facts: they need not add up,
        and those that noise made negative are 0. None where no count is published.
    setting : str, optional
        The setting that a private search chose, such as ``max_depth=2``; epsilon and delta cover the choice. At most
        200 characters.
    caveats : tuple of str, default=()
        Reasons why the guarantee does not hold as stated, such as ``seeded: not private``.

    Raises
    ------
    InvalidModelError
        If a number is out of its range, the relation is unknown or contradicts ``records_per_person``, or a caveat is
        empty.

    Examples
    --------
    >>> claimed = Guarantee(epsilon=1.0, count_scale=2.0)
    >>> claimed.holds, round(claimed.membership_advantage, 4), round(claimed.success(0.01), 4)
    (True, 0.4621, 0.0272)
    """

    epsilon: float
    delta: float = 0.0
    neighboring: str = "add-or-remove-one"
    count_scale: float | None = None
    caveats: tuple[str, ...] = ()
    records_per_person: int | None = None
    setting: str | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "count_scale"):
            value: object = getattr(self, name)
            if value is None and name == "count_scale":
                continue
            object.__setattr__(self, name, _finite(value, name))
        if not 0 <= self.epsilon <= LARGEST_EPSILON:
            raise InvalidModelError(f"a guarantee's epsilon must lie in [0, {LARGEST_EPSILON:g}], got {self.epsilon}.")
        if not 0 <= self.delta < 1:
            raise InvalidModelError(f"a guarantee's delta must lie in [0, 1), got {self.delta}.")
        if self.count_scale is not None and not self.count_scale > 0:
            raise InvalidModelError(
                f"a guarantee's {parameter('count_scale')} must be positive, got {self.count_scale}.",
                remedy="Give None if no count is noisy.",
            )
        if self.neighboring not in NEIGHBORING:
            raise InvalidModelError(
                f"a guarantee's neighboring relation must be one of {', '.join(NEIGHBORING)}, got {self.neighboring!r}."
            )
        most: object = self.records_per_person
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_RECORDS):
            raise InvalidModelError(
                f"a guarantee's {parameter('records_per_person')} must be a whole number in [1, {MOST_RECORDS:,}], "
                f"got {quoted(most)}."
            )
        if (most is not None) != (self.neighboring == "add-or-remove-one-person"):
            raise InvalidModelError(
                f"a guarantee's {parameter('records_per_person')}, {most!r}, contradicts its neighboring relation, "
                f"{self.neighboring!r}. It goes with 'add-or-remove-one-person' alone."
            )
        setting: object = self.setting
        if setting is not None and not (isinstance(setting, str) and 0 < len(setting) <= LONGEST_SETTING):
            raise InvalidModelError(
                f"a guarantee's setting must be a text of at most {LONGEST_SETTING} characters, got {quoted(setting)}."
            )
        caveats: object = self.caveats
        if not isinstance(caveats, tuple | list) or not all(isinstance(text, str) and text for text in caveats):
            raise InvalidModelError(f"a guarantee's caveats must be a list of texts, got {self.caveats!r}.")
        object.__setattr__(self, "caveats", tuple(self.caveats))

    @property
    def holds(self) -> bool:
        """Whether nothing that is said of it stands against it."""
        return not self.caveats

    def void(self, *caveats: str) -> Guarantee:
        """Return it with reasons why it does not hold, each stated once; unchanged without any."""
        return replace(self, caveats=tuple(dict.fromkeys((*self.caveats, *caveats))))

    def success(self, chance: float) -> float:
        """Return the most often that a guess about one record can be right, ``chance`` being that without the record.

        For membership, ``chance`` is an attack's false positive rate and the result bounds its true positive rate
        (Kairouz, Oh and Viswanath 2015, Theorem 2.1). For attribute inference and reconstruction, ``chance`` is how
        often the guess would be right with a model learned from the other records alone.

        Parameters
        ----------
        chance : float
            In [0, 1].

        Raises
        ------
        InvalidModelError
            If it is not.
        """
        chance = _probability(chance)
        steep = _exp(self.epsilon) * chance + self.delta if chance else self.delta
        flat = 1 - math.exp(-self.epsilon) * max(1 - self.delta - chance, 0.0)
        return min(1.0, steep, flat)

    @property
    def membership_advantage(self) -> float:
        """Largest difference of true and false positive rate of any membership attack."""
        shrunk = math.exp(-self.epsilon)
        return min(1.0, math.tanh(self.epsilon / 2) + 2 * self.delta * shrunk / (1 + shrunk))

    @property
    def replacing(self) -> tuple[float, float]:
        """Epsilon and delta of putting one record in another's place: two steps of adding or removing."""
        if self.neighboring == "replace-one":
            return self.epsilon, self.delta
        return 2 * self.epsilon, 0.0 if not self.delta else min(1.0, (1 + _exp(self.epsilon)) * self.delta)

    @property
    def bits(self) -> float:
        """Most bits by which a reader's odds between two values of one record can move; for delta 0, always."""
        return self.replacing[0] / math.log(2)

    def posterior(self, prior: float) -> float | None:
        """Return the largest probability that a reader can hold of something about one record after reading the model.

        The reader may know every other record, and held ``prior`` before. None for a positive delta: then the bound can
        fail for some models, and only :meth:`success` is bounded.

        Parameters
        ----------
        prior : float
            In [0, 1].

        Raises
        ------
        InvalidModelError
            If it is not.
        """
        prior = _probability(prior)
        if self.delta:
            return None
        against = (1 - prior) * math.exp(-self.replacing[0])
        return prior / (prior + against) if prior else 0.0


def _finite(value: object, name: str) -> float:
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        if -LARGEST <= value <= LARGEST:
            return float(value)
        raise InvalidModelError(
            f"a guarantee's {name} must be a finite number, got {'NaN' if value != value else 'one beyond 1e300'}."
        )
    raise InvalidModelError(f"a guarantee's {name} must be a finite number, got {quoted(value)}.")


def _probability(value: float) -> float:
    if not 0 <= value <= 1:
        raise InvalidModelError(f"a probability must lie in [0, 1], got {value!r}.")
    return float(value)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
