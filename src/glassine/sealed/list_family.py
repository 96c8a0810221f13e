"""The rule lists of a pool: what a class holds, how large it is, and its models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import ClassVar, Self, Unpack

import numpy as np

from glassine.counting.logic import RuleLogic
from glassine.domain import Literal
from glassine.errors import parameter
from glassine.models import Evidence, Rule, RuleList
from glassine.sealed.losses import LeafCosts
from glassine.sealed.model_class import ModelClass, Statement
from glassine.sealed.weighting import rounding


@dataclass(frozen=True, slots=True)
class DrawnList:
    """A rule list: rules and the values of what they capture, by index, and the value of the default rule."""

    rules: tuple[tuple[int, int], ...]
    default: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFamily(ModelClass[DrawnList]):
    """All rule lists of at most some number of rules from a pool, each rule taking and leaving something."""

    logic: RuleLogic  # The p public rules
    length: int  # Largest number of rules besides the default rule
    loss: LeafCosts  # What records cost, by the value of a rule

    ways_out: ClassVar[str] = f"Lower {parameter('max_rules')}, take a smaller pool, or raise the limits."

    @property
    def antecedents(self) -> tuple[tuple[Literal, ...], ...]:
        """The rules."""
        return self.logic.antecedents

    def text(self) -> str:
        """Return what the class is, in words."""
        return f"rule lists of up to {self.length} of {len(self.logic.antecedents)} rules"

    @property
    def levels(self) -> int:
        """Number of rules that can be reached."""
        return min(self.length, len(self.logic.antecedents))

    def table_bytes(self) -> int:
        """Return the bytes of the tables that a fit holds at once, besides the bit sets of the records."""
        p, k = len(self.logic.antecedents), self.levels
        counts = sum(comb(p, m) for m in range(k + 1)) * self.n_classes * 8
        sums = sum(comb(p, m) * 16 for m in range(k))
        return counts + sums + (comb(p, k - 1) * 2 * k if k else 0)

    def steps(self) -> int:
        """Return the number of choices that a fit weighs: sets times rules times values."""
        p, k = len(self.logic.antecedents), self.levels
        return sum(comb(p, m) * (p - m + 1) for m in range(k)) * self.loss.n_values

    def log_range(self, part_weight: float) -> float:
        """Return a bound on the range of the logarithms of sums of weights over the class, largest less least."""
        p, part = len(self.logic.antecedents), math.log(self.loss.n_values)
        upper = part
        for m in reversed(range(self.levels)):
            # The default rule weighs at most the number of values; one of the rules that are left that, times the list
            # that follows it.
            upper = float(np.logaddexp(part, math.log(part_weight * (p - m)) + part + upper))
        return upper - self.levels * min(0.0, math.log(part_weight))

    def rounding(self) -> float:
        """Return a bound on the log-ratio that rounding adds to a draw: of each part a rule and a value are drawn."""
        return rounding(2 * self.length + 2, 1, len(self.logic.antecedents) + self.loss.n_values)

    def with_loss(self, loss: LeafCosts) -> Self:
        """Return the class of the same structures under another loss."""
        return replace(self, loss=loss)

    def values(self, drawn: DrawnList) -> tuple[int, ...]:
        """Return the values of a list's rules, the default rule last, as numbers in the grid of the loss."""
        return (*(value for _, value in drawn.rules), drawn.default)

    def publish(self, drawn: DrawnList, cells: Sequence[Evidence], **stated: Unpack[Statement]) -> RuleList:
        """Return a rule list as a published model."""
        return list_model(drawn, self.antecedents, cells, **stated)


def list_model(
    drawn: DrawnList, antecedents: Sequence[tuple[Literal, ...]], cells: Sequence[Evidence], **stated: Unpack[Statement]
) -> RuleList:
    """Return a rule list as a published model; ``cells`` are its rules' evidence in order, the default rule last."""
    domain, classes, source, guarantee = stated["domain"], stated["classes"], stated["source"], stated.get("guarantee")
    conditions = [antecedents[rule] for rule, _ in drawn.rules] + [()]
    rules = tuple(
        Rule(antecedent=antecedent, evidence=cell) for antecedent, cell in zip(conditions, cells, strict=True)
    )
    return RuleList(rules, attributes=domain.names, classes=classes, source=source, guarantee=guarantee)
