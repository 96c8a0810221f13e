"""What the domain alone says of a greedy list's pool: which rules differ, and which can still take something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glassine.counting.space import Box, Space
from glassine.domain import Domain
from glassine.learners.pools import Antecedent

__all__ = ["GreedyPool"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GreedyPool:
    """A public pool of rules. Nothing of it is read from data.

    The domain's logic prunes the pool and no more: records need not obey it, so no guarantee rests on it.

    Attributes
    ----------
    domain : Domain
        What is publicly known about the attributes.
    space : Space
        The domain as a product of factors.
    antecedents : tuple of tuple of Literal
        The rules in order; those that the domain makes always true, always false or equal to an earlier one are left
        out.
    boxes : tuple of dict
        Of each rule the factors that it constrains, with the atoms that it allows.
    """

    domain: Domain
    space: Space
    antecedents: tuple[Antecedent, ...]
    boxes: tuple[Box, ...]

    @classmethod
    def of(cls, domain: Domain, antecedents: Sequence[Antecedent]) -> GreedyPool:
        """Return the pool of some antecedents.

        Raises
        ------
        InvalidModelError
            If a literal names an attribute or a value that the domain does not have.
        """
        space = Space(domain, [literal for rule in antecedents for literal in rule], domain_aware=True)
        found: dict[tuple[tuple[int, int], ...], tuple[Antecedent, Box]] = {}
        for rule in antecedents:
            box = {factor: mask & space.factors[factor].possible for factor, mask in space.box(rule).items()}
            box = {factor: mask for factor, mask in box.items() if mask != space.factors[factor].possible}
            if box and 0 not in box.values():
                found.setdefault(tuple(sorted(box.items())), (rule, box))
        return cls(
            domain=domain,
            space=space,
            antecedents=tuple(rule for rule, _ in found.values()),
            boxes=tuple(box for _, box in found.values()),
        )

    def __repr__(self) -> str:
        return f"<GreedyPool of {len(self.antecedents)} rules>"

    def admissible(self, chosen: Sequence[int]) -> list[int]:
        """Return the rules that, by the domain's logic, can take some and leave some of what the chosen rules leave.

        Rules on one factor are taken together exactly; of rules on several factors, one at a time is considered.
        """
        left: dict[int, int] = {}
        wide: list[Box] = []
        for i in chosen:
            box = self.boxes[i]
            if len(box) > 1:
                wide.append(box)
                continue
            for factor, mask in box.items():
                left[factor] = left.get(factor, self.space.factors[factor].possible) & ~mask
        if 0 in left.values():
            return []
        taken = set(chosen)
        return [j for j in range(len(self.boxes)) if j not in taken and self._open(self.boxes[j], left, wide)]

    def _open(self, box: Box, left: dict[int, int], wide: Sequence[Box]) -> bool:
        rest = {factor: mask & left.get(factor, mask) for factor, mask in box.items()}
        if 0 in rest.values():
            return False
        if all(not left.get(factor, self.space.factors[factor].possible) & ~mask for factor, mask in box.items()):
            return False

        def allowed(factor: int) -> int:
            return rest.get(factor, left.get(factor, self.space.factors[factor].possible))

        return not any(all(not allowed(factor) & ~mask for factor, mask in earlier.items()) for earlier in wide)
