"""The decision trees of a depth over public literals: what a class holds, how large it is, and its models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import ClassVar, Self, TypeAlias, Unpack

import numpy as np

from glassine.counting.logic import LiteralLogic
from glassine.domain import Domain, Literal
from glassine.domain.literals import complement
from glassine.errors import parameter
from glassine.models import Branch, DecisionTree, Evidence, Node
from glassine.sealed.losses import LeafCosts
from glassine.sealed.model_class import ModelClass, Statement
from glassine.sealed.weighting import rounding


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf with the number of its value in the grid of the loss: of errors alone, the class that it predicts."""

    value: int


@dataclass(frozen=True, slots=True)
class Split:
    """A split on a literal, by index, with the subtrees where it is true and false."""

    literal: int
    true: Tree
    false: Tree


Tree: TypeAlias = Leaf | Split


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFamily(ModelClass[Tree]):
    """All trees of at most some depth whose splits are admissible by the domain's logic.

    A split is admissible at a node if both of its parts are possible in the domain; whether the data have records there
    does not matter.
    """

    logic: LiteralLogic  # The p public literals
    depth: int  # Largest number of splits on a path
    loss: LeafCosts  # What records cost, by the value of a leaf

    ways_out: ClassVar[str] = (
        f"Lower {parameter('max_depth')}, declare fewer thresholds or literals, or raise the limits."
    )

    @property
    def antecedents(self) -> tuple[tuple[Literal, ...], ...]:
        """The literals, each as one antecedent."""
        return tuple((literal,) for literal in self.logic.literals)

    def text(self) -> str:
        """Return what the class is, in words."""
        return f"trees of depth {self.depth} over {len(self.logic.literals)} literals"

    @property
    def levels(self) -> int:
        """Depth that can be reached: at most one split per literal on a path."""
        return min(self.depth, len(self.logic.literals))

    def table_bytes(self) -> int:
        """Return the bytes of the tables that a fit holds at once, besides the bit sets of the records."""
        # Counts are of 64 bits a class; a cost and a weight take 16 bytes; sets of literals two bytes a member.
        p, d = len(self.logic.literals), self.levels
        counts = sum(comb(p, k) for k in range(d + 1)) * self.n_classes * 8
        sums = sum(comb(p, k) * 2**k * 16 for k in range(d))
        return int(counts + sums + (comb(p, d - 1) * 2 * d if d else 0))

    def steps(self) -> int:
        """Return the number of choices that a fit weighs: nodes times literals, and leaves, times values."""
        return (self.choices_above() + self.leaves()) * self.loss.n_values

    def choices_above(self) -> int:
        """Return the number of choices above the last splits: nodes times literals."""
        p = len(self.logic.literals)
        return sum(comb(p, k) * 2**k * (p - k + 1) for k in range(self.levels - 1))

    def leaves(self) -> int:
        """Return the number of leaves of the last splits, each summed once, and of the level before for its nodes."""
        p, d = len(self.logic.literals), self.levels
        return sum(comb(p, k) * 2**k for k in range(max(0, d - 1), d + 1))

    def log_range(self, part_weight: float) -> float:
        """Return a bound on the range of the logarithms of sums of weights over the class, largest less least."""
        p, leaf = len(self.logic.literals), math.log(self.loss.n_values)
        upper = leaf
        for m in reversed(range(self.levels)):
            # A leaf weighs at most the number of values; one of the splits that are left the product of its subtrees.
            upper = float(np.logaddexp(leaf, math.log(part_weight * (p - m)) + 2 * upper))
        # A choice weighs at least its prior: of a full tree the product over its splits, where that is below one.
        return upper - float(2**self.levels - 1) * min(0.0, math.log(part_weight))

    def rounding(self) -> float:
        """Return a bound on the log-ratio that rounding adds to a draw: a split divides a node into two."""
        return rounding(self.depth + 1, 2, len(self.logic.literals) + self.loss.n_values)

    def with_loss(self, loss: LeafCosts) -> Self:
        """Return the class of the same structures under another loss."""
        return replace(self, loss=loss)

    def values(self, drawn: Tree) -> tuple[int, ...]:
        """Return the values of a tree's leaves, in the order of :func:`leaf_nodes`, as numbers in the loss's grid."""
        if isinstance(drawn, Leaf):
            return (drawn.value,)
        return (*self.values(drawn.true), *self.values(drawn.false))

    def publish(self, drawn: Tree, cells: Sequence[Evidence], **stated: Unpack[Statement]) -> DecisionTree:
        """Return a tree as a published model."""
        return tree_model(drawn, self.logic.literals, cells, **stated)


def tree_model(
    tree: Tree, literals: Sequence[Literal], cells: Sequence[Evidence], **stated: Unpack[Statement]
) -> DecisionTree:
    """Return a tree as a published model."""
    domain, classes, source, guarantee = stated["domain"], stated["classes"], stated["source"], stated.get("guarantee")
    nodes: list[Node] = []
    leaves = iter(cells)

    def build(part: Tree) -> tuple[int, tuple[int, ...] | None]:
        index = len(nodes)
        if isinstance(part, Leaf):
            own = next(leaves)
            nodes.append(Node(evidence=own))
            return index, own.counts
        nodes.append(Node())
        literal = literals[part.literal]
        true, true_counts = build(part.true)
        false, false_counts = build(part.false)
        total = None
        if true_counts is not None and false_counts is not None:
            total = tuple(a + b for a, b in zip(true_counts, false_counts, strict=True))
        nodes[index] = Node(
            branches=(Branch(literal, true), Branch(_other(literal, domain), false)), evidence=Evidence(counts=total)
        )
        return index, total

    build(tree)
    return DecisionTree(tuple(nodes), attributes=domain.names, classes=classes, source=source, guarantee=guarantee)


def _other(literal: Literal, domain: Domain) -> Literal:
    return complement(literal, missing=domain[literal.attribute].missing)
