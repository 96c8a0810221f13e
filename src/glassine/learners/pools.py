"""Public pools of rules: the antecedents from which rule lists are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glassine.domain import Domain, Literal
from glassine.domain.literals import complement
from glassine.errors import InvalidParameterError
from glassine.learners.literals import LiteralPlan, check_literals

__all__ = ["Antecedent", "PoolPlan", "both_signs", "pairs"]

Antecedent = tuple[Literal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """How the pool of a fit is made of its literals, fixed before the data are looked at.

    Attributes
    ----------
    literals : LiteralPlan
        Where the literals come from.
    kind : str
        "literals", "pairs" or "given".
    given : tuple of tuple of Literal
        The antecedents that the user listed.
    """

    literals: LiteralPlan
    kind: str
    given: tuple[Antecedent, ...]

    @classmethod
    def of(cls, domain: Domain, pool: object, literals: object, n_quantiles: object) -> PoolPlan:
        """Return the plan that the parameters ``pool`` and ``literals`` ask for."""
        if isinstance(pool, str):
            if pool not in ("literals", "pairs"):
                raise InvalidParameterError(
                    f"pool must be 'literals', 'pairs' or a sequence of antecedents, got {pool!r}."
                )
            return cls(literals=LiteralPlan.of(domain, literals, n_quantiles), kind=pool, given=())
        if not isinstance(pool, Sequence) or not all(isinstance(antecedent, Sequence) for antecedent in pool):
            raise InvalidParameterError(
                "pool must be a sequence of antecedents, each a sequence of literals. Put a single literal in a tuple."
            )
        given = tuple(check_literals(antecedent) for antecedent in pool)
        if not all(given):
            raise InvalidParameterError("an antecedent needs at least one literal. Leave the empty one out.")
        return cls(literals=LiteralPlan.of(domain, (), n_quantiles), kind="given", given=given)

    def pool(self, literals: Sequence[Literal]) -> list[Antecedent]:
        """Return the antecedents over some literals."""
        if self.kind == "given":
            return list(self.given)
        make = both_signs if self.kind == "literals" else pairs
        return make(self.literals.domain, literals)

    def text(self) -> str:
        """Return what the pool is, in words."""
        if self.kind == "given":
            return f"{len(self.given)} antecedents given"
        return "each literal and its negation" + (", and all pairs of them" if self.kind == "pairs" else "")


def both_signs(domain: Domain, literals: Sequence[Literal]) -> list[Antecedent]:
    """Return each literal and its complement in the domain, as antecedents of one literal."""
    out: list[Antecedent] = []
    for literal in literals:
        out += [(literal,), (complement(literal, missing=domain[literal.attribute].missing),)]
    return out


def pairs(domain: Domain, literals: Sequence[Literal]) -> list[Antecedent]:
    """Return all antecedents of one or two literals, of either sign, on different attributes."""
    single = both_signs(domain, literals)
    return single + [
        (first, second)
        for i, (first,) in enumerate(single)
        for (second,) in single[i + 1 :]
        if first.attribute != second.attribute
    ]
