"""What every way of growing a rule list works on: the records that remain, the public pool, and the grown list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glassine.counting.logic import complete_atoms, constrained
from glassine.counting.space import Box, Space
from glassine.domain import Domain
from glassine.learners.antecedents import Antecedent
from glassine.learners.intake import Intake
from glassine.learners.memory import record_bytes
from glassine.learners.publishing import evidence_of
from glassine.models import Guarantee, RuleList
from glassine.records.arrays import Ints
from glassine.sealed.list_family import DrawnList, list_model
from glassine.sealed.plan import Metadata


def bit_set_bytes(antecedents: Sequence[Antecedent], n_records: int) -> int:
    """Return about how many bytes the bit sets of a pool's distinct literals take."""
    return len({literal for antecedent in antecedents for literal in antecedent}) * (n_records // 8 + 8)


def pool_bytes(n_records: object, domain: Domain, antecedents: Sequence[Antecedent]) -> int:
    """Return about how many bytes so many records take, with the bit sets of a pool's distinct literals."""
    literals = {literal for antecedent in antecedents for literal in antecedent}
    return record_bytes(n_records, domain, n_conditions=len(literals))


def count_bytes(n_rules: int, n_classes: int, *, ahead: bool = False) -> int:
    """Return the bytes of a pool's class counts; ``ahead``: also those of all pairs."""
    # Eight bytes a number: the counts, their sums over classes, and the impurities; of pairs the counts of both, of
    # the first alone and of what is left, and the terms of the losses, which are summed over classes.
    tables, sums = 3, 8
    return 8 * ((n_classes + 2) * n_rules + (tables * n_classes + sums) * n_rules**2 * ahead)


# What the domain alone says of a greedy list's pool: which rules differ, and which can still take something.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GreedyPool:
    """A public pool of rules. Nothing of it is read from data.

    The domain's logic prunes the pool and no more: records need not obey it, so no guarantee rests on it.
    """

    domain: Domain  # What is publicly known about the attributes
    # The rules in order; those that are always true or always false for complete records, or equal to an earlier one,
    # are left out.
    antecedents: tuple[Antecedent, ...]
    # The atoms of complete records of each factor, as in :class:`~glassine.counting.logic.LiteralLogic`.
    full: tuple[int, ...]
    boxes: tuple[Box, ...]  # Of each rule the factors that it constrains, with what it allows of these atoms

    @classmethod
    def of(cls, domain: Domain, antecedents: Sequence[Antecedent]) -> GreedyPool:
        """Return the pool of some antecedents."""
        literals = [literal for rule in antecedents for literal in rule]
        space = Space(domain, literals, domain_aware=True)
        full = complete_atoms(space, literals)
        possible = [factor.possible for factor in space.factors]
        distinct: dict[tuple[tuple[int, int], ...], tuple[Antecedent, Box]] = {}
        for rule in antecedents:
            box = constrained(space.box(rule), full)
            if box and 0 not in box.values():
                # Rules that allow the same are equal, missing values included: the first one stays.
                allowed = constrained(space.box(rule), possible)
                distinct.setdefault(tuple(sorted(allowed.items())), (rule, box))
        return cls(
            domain=domain,
            antecedents=tuple(rule for rule, _ in distinct.values()),
            full=tuple(full),
            boxes=tuple(box for _, box in distinct.values()),
        )

    def __repr__(self) -> str:
        return f"<GreedyPool of {len(self.antecedents)} rules>"

    def admissible(self, chosen: Sequence[int]) -> list[int]:
        """Return the rules that, by the domain's logic, can take some and leave some of what the chosen rules leave."""
        # Rules on one factor are taken together exactly; of rules on several factors, one at a time is considered.
        left: dict[int, int] = {}
        wide: list[Box] = []
        for i in chosen:
            box = self.boxes[i]
            if len(box) > 1:
                wide.append(box)
                continue
            for factor, mask in box.items():
                left[factor] = left.get(factor, self.full[factor]) & ~mask
        if 0 in left.values():
            return []
        taken = set(chosen)
        return [j for j in range(len(self.boxes)) if j not in taken and self._open(self.boxes[j], left, wide)]

    def _open(self, box: Box, left: dict[int, int], wide: Sequence[Box]) -> bool:
        rest = {factor: mask & left.get(factor, mask) for factor, mask in box.items()}
        if 0 in rest.values():
            return False
        if all(not left.get(factor, self.full[factor]) & ~mask for factor, mask in box.items()):
            return False

        def allowed(factor: int) -> int:
            return rest.get(factor, left.get(factor, self.full[factor]))

        return not any(all(not allowed(factor) & ~mask for factor, mask in earlier.items()) for earlier in wide)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGrowth:
    """A grown list."""

    drawn: DrawnList  # Rules and labels by index
    # Class counts of the rules in order, the default rule last; noisy but in a fit without privacy; shape (k + 1, c).
    counts: Ints

    def model(
        self, pool: GreedyPool, metadata: Metadata | Intake, *, source: str, guarantee: Guarantee | None = None
    ) -> RuleList:
        """Return the list as a published model."""
        labels = [*(label for _, label in self.drawn.rules), self.drawn.default]
        return list_model(
            self.drawn,
            pool.antecedents,
            evidence_of(labels, self.counts),
            domain=metadata.domain,
            classes=metadata.classes,
            source=source,
            guarantee=guarantee,
        )
