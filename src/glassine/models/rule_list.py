"""Rule lists, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from glassine.domain import Literal
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError
from glassine.exports import Displayed
from glassine.models.evidence import Cell, Evidence, Model, SizeOrigin, check_classes, check_guarantee
from glassine.models.guarantee import Guarantee
from glassine.models.records import read_records
from glassine.records.arrays import Indices

MAX_RULES = 5_000
"""Most rules of a list: what a rule captures depends on all before it, so that work and memory grow as their square."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """If the antecedent holds, and that of no earlier rule, then the consequent.

    Attributes
    ----------
    antecedent : tuple of Literal
        The conjunction; empty for the default rule.
    evidence : Evidence
        The consequent (its label) and what is published about the captured training records.
    """

    antecedent: tuple[Literal, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True, repr=False)
class RuleList(Displayed, Model):
    """A published rule list.

    Parameters
    ----------
    rules : tuple of Rule
        The rules in order; the last one, and only it, has an empty antecedent: the default rule.
    attributes : tuple of str
        The attributes that the list was given, in order.
    classes : tuple of scalars, optional
        Names of the classes; None for a regression.
    source : str, optional
        Where the list came from.
    approximate : bool, default=False
        Whether counts were rounded before publication.
    guarantee : Guarantee, optional
        The differential privacy that the publisher claims. With a ``count_scale``, counts are noisy.
    sizes : {"stored", "derived", "stated"}, default="stored"
        Where numbers of records and class counts come from.

    Raises
    ------
    InvalidModelError
        If there is no default rule, there are more than 5,000 rules, one names an unknown attribute, or evidence does
        not fit the classes.
    """

    rules: tuple[Rule, ...]
    attributes: tuple[str, ...]
    classes: tuple[Scalar, ...] | None = None
    source: str = ""
    approximate: bool = False
    guarantee: Guarantee | None = None
    sizes: SizeOrigin = "stored"

    def __post_init__(self) -> None:
        for name in ("rules", "attributes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
        if not self.rules or self.rules[-1].antecedent:
            raise InvalidModelError(
                "a rule list must end with a default rule, one without conditions.", remedy="Add an else."
            )
        if len(self.rules) > MAX_RULES:
            raise InvalidModelError(f"a rule list has at most {MAX_RULES:,} rules, got {len(self.rules):,}.")
        names = set(self.attributes)
        if len(names) < len(self.attributes):
            raise InvalidModelError("a rule list names an attribute twice.", remedy="Name each once.")
        for i, rule in enumerate(self.rules[:-1], start=1):
            if not rule.antecedent:
                raise InvalidModelError(
                    f"rule {i} has no condition, so no later rule captures anything.", remedy="Put it last."
                )
            for literal in rule.antecedent:
                if literal.attribute not in names:
                    raise InvalidModelError(f"rule {i} tests {literal.attribute!r}, not an attribute of the list.")
        check_classes(self.classes, [rule.evidence for rule in self.rules], "rule list")
        check_guarantee(self.guarantee)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The rules, in order, the default rule last."""
        antecedents = [rule.antecedent for rule in self.rules]
        return tuple(
            Cell(rule.antecedent, tuple(antecedents[:i]), rule.evidence, i) for i, rule in enumerate(self.rules)
        )

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """Every literal of the list, each once."""
        return tuple(dict.fromkeys(literal for rule in self.rules for literal in rule.antecedent))

    @property
    def n_records(self) -> int | None:
        """Number of training records, if published; a sum of noisy counts where they are noisy."""
        sizes = [rule.evidence.size for rule in self.rules]
        return None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)

    def apply(self, data: object) -> Indices:
        """Return for each record the index of the rule that captures it, shape (n,)."""
        records = read_records(data, self.attributes, self.literals)
        out = np.full(records.n_records, len(self.rules) - 1, dtype=np.intp)
        rows = np.arange(records.n_records)
        for i, rule in enumerate(self.rules[:-1]):
            captured = np.ones(len(rows), dtype=bool)
            for literal in rule.antecedent:
                captured &= records.holds(literal, rows)
            out[rows[captured]] = i
            rows = rows[~captured]
        return out

    def __str__(self) -> str:
        return f"rule list with {len(self.rules) - 1} rules and a default"
