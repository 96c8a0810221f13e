"""The kernels of trees and lists, by public types."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.records.subsets import binomials
from glassine.sealed.atoms import Atoms, admissible
from glassine.sealed.last_splits import (
    MOST_OF_A_BYTE,
    SignedLeaves,
    many_leaves,
    remember,
    settle,
    spread,
    sum_empty,
    sum_leaves,
)
from glassine.sealed.losses import LeafCosts
from glassine.sealed.tree_sums import (
    Costs,
    Implied,
    SetCounts,
    Weighed,
    empty_level,
    inherit,
    inner_choices,
    last_choices,
    leaf,
    sum_level,
)
from glassine.sealed.weighting import Weighting


def of_public(logic: LiteralLogic | RuleLogic, loss: LeafCosts) -> tuple[SetCounts, Atoms, Implied, Costs]:
    """Return tables of no record, whose types are those of any records."""
    table = np.zeros((1, loss.n_classes), dtype=np.int64)
    counts = SetCounts(table, np.zeros(1, dtype=np.int64), binomials(1, 1))
    implied = Implied(*np.zeros((2, 1, 1), dtype=np.uint8))
    return counts, Atoms.of(logic), implied, Costs.of(Weighting.private(Fraction(1), 1.0, loss.unit), loss)


def load_levels(counts: SetCounts, atoms: Atoms, implied: Implied, costs: Costs) -> None:
    """Load or compile the kernels of the nodes and of the choices below them."""
    chosen, whole = np.zeros(1, dtype=np.int64), counts.table[0]
    level, options = empty_level(1, 1), Weighed(np.zeros(1), np.zeros(1))
    mask, allowed = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.bool_)
    sum_level.load(chosen, counts, atoms, implied, costs, level, level)
    inherit.load(chosen, counts.binom, implied, level, level)
    admissible.load(chosen, 0, atoms, mask, allowed)
    last_choices.load(chosen, 0, allowed, counts, costs, options)
    inner_choices.load(chosen, 0, whole, allowed, costs, counts.binom, level, options)
    leaf.load(whole, costs)


def load_last_level(counts: SetCounts, atoms: Atoms, implied: Implied, costs: Costs, size: int) -> None:
    """Load or compile the kernels of the last splits."""
    chosen, level = np.zeros(1, dtype=np.int64), empty_level(1, 1)
    few = Weighed(np.zeros(1), np.zeros(1))
    wide = np.zeros((1, 1))
    remember.load(1, chosen, costs, few)
    if many_leaves(len(atoms.blocks), size):
        sum_empty.load(chosen, atoms, implied, 1.0, costs, level)
    for kind in (np.uint8, np.uint32) if size > MOST_OF_A_BYTE else (np.uint8,):
        leaves = SignedLeaves(wide, wide, np.zeros((1, 1), dtype=kind))
        sum_leaves.load(chosen, counts, atoms, implied, costs, 1, few, leaves)
        spread.load(chosen, counts.binom, leaves, costs, level)
        settle.load(1, leaves, costs, level)
