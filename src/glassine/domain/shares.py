"""Public shares: how often each value of an attribute occurs in the population, by a named source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from glassine.domain.attributes import Attribute, Category, Integer, Real, exact
from glassine.errors import InvalidDomainError, parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How often values of one attribute occur in the population, by a public source.

    Parameters
    ----------
    weights : tuple of float
        Of a category, the share of each value in the domain's order; of a binary attribute, of 0 and 1; of a number, of
        each bin. A missing value comes last, where the attribute may miss one. Counts do as well: only ratios matter.
    edges : tuple of float
        Of a number, the ends of the bins, strictly increasing, from the domain's ``lo`` to its ``hi``: bin i holds the
        values v with ``edges[i] < v <= edges[i + 1]``, the first one ``lo`` as well. Within a bin values are uniform.
    source : str
        Where the shares come from, such as a census and its year.
    from_training_data : bool, default=False
        Whether they were taken from the training data: then they are not public, and settle nothing.

    Raises
    ------
    InvalidDomainError
        If a weight is not above 0, edges do not increase, or no source is named.

    Examples
    --------
    >>> Shares(weights=(30, 70), source="census 2021").fractions
    (Fraction(3, 10), Fraction(7, 10))
    """

    weights: tuple[float, ...]
    source: str
    edges: tuple[float, ...] = ()
    from_training_data: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(self.weights))
        object.__setattr__(self, "edges", tuple(self.edges))
        weights: tuple[object, ...] = self.weights
        for weight in weights:
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
                raise InvalidDomainError(
                    f"{parameter('weights')} must be numbers above 0, got {weight!r}.",
                    remedy="Leave an impossible value out of the domain.",
                )
        if any(not a < b for a, b in pairwise(self.edges)):
            raise InvalidDomainError(f"{parameter('edges')} must increase strictly, got {self.edges!r}.")
        source: object = self.source
        if not isinstance(source, str) or not source:
            raise InvalidDomainError(f"{parameter('source')} must name where shares come from.", remedy="Name it.")

    @property
    def fractions(self) -> tuple[Fraction, ...]:
        """The shares, which add up to 1."""
        weights = [exact(weight) for weight in self.weights]
        return tuple(weight / sum(weights) for weight in weights)

    def check(self, name: str, attribute: Attribute) -> None:
        """Raise InvalidDomainError unless these can be the shares of an attribute."""
        if isinstance(attribute, Integer | Real):
            n = len(self.edges) - 1
            if not self.edges or (self.edges[0], self.edges[-1]) != attribute.ends:
                raise InvalidDomainError(
                    f"the {parameter('edges')} of {name!r} must run from {attribute.ends[0]} to {attribute.ends[1]}.",
                    remedy="Widen the first and the last bin.",
                )
        else:
            n = len(attribute.values) if isinstance(attribute, Category) else 2
            if self.edges:
                raise InvalidDomainError(
                    f"{name!r} is no number, so its shares have no {parameter('edges')}.", remedy="Leave them out."
                )
        if len(self.weights) != n + attribute.missing:
            raise InvalidDomainError(
                f"{name!r} needs {n + attribute.missing} {parameter('weights')}, got {len(self.weights)}.",
                remedy="State one for each value or bin, and one for a missing value.",
            )
        if isinstance(attribute, Integer | Real) and any(not attribute.measure(lo, hi) for lo, hi in self.bins):
            raise InvalidDomainError(f"a bin of {name!r} holds no value of the domain.", remedy="Widen it.")

    @property
    def bins(self) -> tuple[tuple[float, float], ...]:
        """The bins of a number, each as ``lo < v <= hi``, the first open to the left."""
        pairs = list(pairwise(self.edges))
        return tuple((-math.inf if i == 0 else lo, hi) for i, (lo, hi) in enumerate(pairs))

    def between(self, attribute: Integer | Real, lo: float | Fraction, hi: float | Fraction) -> Fraction:
        """Return the share of the values v of a number with ``lo < v <= hi``."""
        total = Fraction(0)
        for (left, right), share in zip(self.bins, self.fractions, strict=False):
            inside = attribute.measure(max(lo, left), min(hi, right)) if max(lo, left) < min(hi, right) else 0
            total += share * Fraction(inside) / Fraction(attribute.measure(left, right))
        return total
