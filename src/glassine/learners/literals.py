"""Public literals: the conditions from which private models are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

from glassine.domain import Between, Binary, Category, Domain, Integer, Literal, OneOf, Real
from glassine.errors import InvalidParameterError
from glassine.learners import thresholds
from glassine.learners.intake import Intake
from glassine.privacy.accounting import Event
from glassine.privacy.randomness import Randomness

__all__ = ["LiteralPlan", "check_literals", "check_whole", "declared", "of_thresholds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralPlan:
    """Where the literals of a fit come from, fixed before the data are looked at.

    Attributes
    ----------
    domain : Domain
        The public domain of the attributes.
    public : tuple of Literal
        Literals known beforehand.
    quantiled : tuple of str
        Numbers whose thresholds are to be quantiles.
    n_quantiles : int
        Quantiles of each.
    given : bool
        Whether the user listed the literals.
    """

    domain: Domain
    public: tuple[Literal, ...]
    quantiled: tuple[str, ...]
    n_quantiles: int
    given: bool

    @classmethod
    def of(cls, domain: Domain, literals: object, n_quantiles: object) -> LiteralPlan:
        """Return the plan that the parameter ``literals`` asks for."""
        names = domain.names
        number = check_whole(n_quantiles, "n_quantiles", 1, 255)
        if isinstance(literals, str):
            if literals not in ("auto", "thresholds", "quantiles"):
                raise InvalidParameterError(
                    f"literals must be 'auto', 'thresholds', 'quantiles' or a sequence of literals, got {literals!r}."
                )
            quantiled: list[str] = []
            if literals != "thresholds":
                quantiled = [name for name in names if _is_number(domain[name], without=literals == "auto")]
            public = [literal for literal in declared(domain, names) if not _replaced(literal, quantiled)]
            return cls(
                domain=domain,
                public=tuple(public),
                quantiled=tuple(quantiled),
                n_quantiles=number,
                given=False,
            )
        if not isinstance(literals, Sequence):
            raise InvalidParameterError(f"literals must be a sequence of literals, got {type(literals).__name__}.")
        return cls(domain=domain, public=check_literals(literals), quantiled=(), n_quantiles=number, given=True)

    def widest(self) -> list[Literal]:
        """Return literals that stand for the largest class that the plan can lead to."""
        out = list(self.public)
        for name in self.quantiled:
            out += of_thresholds(name, thresholds.candidates(self.domain, name)[: self.n_quantiles])
        return out

    def release(self, intake: Intake, epsilon: Fraction, randomness: Randomness) -> tuple[list[Literal], list[Event]]:
        """Return the literals, private quantiles released with the given budget, and the events."""
        if not self.quantiled:
            return list(self.public), []
        cuts, events = thresholds.private_quantile_cuts(intake, self.quantiled, self.n_quantiles, epsilon, randomness)
        return [*self.public, *(lit for name in self.quantiled for lit in of_thresholds(name, cuts[name]))], events

    def from_data(self, intake: Intake) -> list[Literal]:
        """Return the literals, quantiles taken from the data without protection."""
        cuts = thresholds.data_quantiles(intake, self.quantiled, self.n_quantiles)
        return [*self.public, *(lit for name in self.quantiled for lit in of_thresholds(name, cuts[name]))]

    def text(self) -> str:
        """Return where the literals come from, in words."""
        if self.given:
            return f"{len(self.public)} literals given"
        text = f"{len(self.public)} literals of the domain"
        if self.quantiled:
            text += f", and {self.n_quantiles} quantiles of each of {len(self.quantiled)} numbers"
        return text


def _is_number(attribute: object, *, without: bool) -> bool:
    if not isinstance(attribute, Integer | Real) or attribute.size == 1:
        return False
    return not (without and attribute.thresholds)


def _replaced(literal: Literal, quantiled: Sequence[str]) -> bool:
    return literal.attribute in quantiled and isinstance(literal, Between) and not literal.missing


def declared(domain: Domain, names: Sequence[str]) -> list[Literal]:
    """Return the literals that a domain declares for some attributes, in order.

    A number gives one literal ``x <= t`` per threshold, a binary attribute ``x = 1``, a category one literal per value,
    and an attribute that may be missing also "x is missing". Nothing is read from data.
    """
    out: list[Literal] = []
    for name in names:
        attribute = domain[name]
        if isinstance(attribute, Integer | Real):
            out += of_thresholds(name, attribute.thresholds)
        elif isinstance(attribute, Binary):
            out.append(OneOf(name, (1,)))
        else:
            out += [OneOf(name, (value,)) for value in attribute.values]
        if attribute.missing:
            out.append(OneOf(name, (), missing=True) if isinstance(attribute, Binary | Category) else _gap(name))
    return out


def _gap(name: str) -> Between:
    return Between(name, negated=True, missing=True)


def of_thresholds(name: str, thresholds: Sequence[float]) -> list[Literal]:
    """Return one literal ``name <= t`` per threshold."""
    return [Between(name, hi=float(threshold)) for threshold in thresholds]


def check_literals(literals: Sequence[object]) -> tuple[Literal, ...]:
    """Return literals given by the user, after checking that they are literals."""
    out: list[Literal] = []
    for literal in literals:
        if not isinstance(literal, Between | OneOf):
            raise InvalidParameterError(
                f"literals must hold Between and OneOf literals, got {type(literal).__name__}. "
                "Build them, or pass 'thresholds' to take those of the domain."
            )
        out.append(literal)
    return tuple(out)


def check_whole(value: object, name: str, low: int, high: int) -> int:
    """Return a parameter that must be a whole number in a range, or raise InvalidParameterError."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise InvalidParameterError(f"{name} must be a whole number in [{low}, {high}], got {value!r}.")
    return int(value)
