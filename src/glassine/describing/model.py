"""A model, its parts and its domain as findings show them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glassine.attacks.outcome import Count
from glassine.domain import Domain
from glassine.domain.literals import attributes_of, conjunction_text, number
from glassine.findings import DomainSummary, ModelSummary, Part, TreeNode
from glassine.models import Cell, DecisionTree, RuleList
from glassine.policy import Policy
from glassine.suppression import Suppression

__all__ = [
    "LONGEST",
    "describe_domain",
    "describe_model",
    "describe_noisy_parts",
    "describe_parts",
    "tree_shape",
]

DIGITS = 7
LONGEST = 400
"""Most characters of a condition or a note."""


def describe_model(model: DecisionTree | RuleList) -> ModelSummary:
    """Return a model in brief."""
    kind = "rule list"
    if isinstance(model, DecisionTree):
        kind = "decision tree" if model.classes is not None else "regression tree"
    return ModelSummary(
        kind=kind,
        source=model.source,
        n_parts=len(model.cells),
        depth=max(len(cell.inside) for cell in model.cells),
        n_records=model.n_records,
        classes=None if model.classes is None else tuple(str(c) for c in model.classes),
        attributes=attributes_of(model.literals),
        approximate=model.approximate,
        count_scale=None if model.guarantee is None else model.guarantee.count_scale,
    )


def describe_domain(domain: Domain | None) -> DomainSummary | None:
    """Return a domain in brief."""
    if domain is None:
        return None
    sizes = [domain.size(domain_aware=aware) for aware in (False, True)]
    bits = [None if size is None else math.log2(size) for size in sizes]
    return DomainSummary(
        n_attributes=len(domain),
        n_groups=len(domain.groups),
        inferred=tuple(name for name in domain if domain[name].inferred),
        bits_independent=bits[0],
        bits_domain_aware=bits[1],
    )


def describe_parts(
    model: DecisionTree | RuleList,
    policy: Policy,
    shown: Suppression,
    learned: Sequence[float] | None,
    sizes: Sequence[int | None],
) -> tuple[Part, ...]:
    """Return the leaves or rules as they may be shown.

    Parameters
    ----------
    model : DecisionTree or RuleList
        The model.
    policy : Policy
        The limits that flags refer to.
    shown : Suppression
        What may be shown of counts.
    learned : sequence of float, optional
        Bits learned about each record of each part.
    sizes : sequence of int or None
        Number of records of each part.
    """
    hidden = shown.hidden(sizes)
    n_classes = None if model.classes is None else len(model.classes)
    parts = []
    for i, (cell, size) in enumerate(zip(model.cells, sizes, strict=True)):
        counts, bounds = cell.evidence.counts, cell.evidence.purity(n_classes)
        bits = None if learned is None else learned[i]
        show = counts is not None and not hidden[i] and all(c == 0 or c >= shown.below for c in counts)
        shown_size: Count | None = size
        if hidden[i]:
            shown_size = shown.count(size) if size and size < shown.below else "hidden"
        purity = None if bounds is None else bounds[0]
        if purity is not None and not show:
            purity = None if hidden[i] else shown.share(purity)
        parts.append(
            Part(
                number=i + 1,
                condition=_condition(cell),
                size=shown_size,
                counts=counts if show else None,
                prediction=_prediction(model, cell),
                purity=purity,
                bits_learned=None if bits is None or math.isinf(bits) else bits,
                flags=_flags(policy, shown, hidden[i], size, None if bounds is None else bounds[0], bits),
            )
        )
    return tuple(parts)


def describe_noisy_parts(
    model: DecisionTree | RuleList, shown: Suppression, learned: Sequence[float] | None
) -> tuple[Part, ...]:
    """Return the leaves or rules with their noisy counts, which say for certain neither a share nor a bit.

    Parameters
    ----------
    model : DecisionTree or RuleList
        The model.
    shown : Suppression
        What may be shown of counts: all, where an accepted guarantee covers them.
    learned : sequence of float, optional
        Bits that the region of each part would tell; infinite where it is empty.
    """
    sizes = [cell.evidence.size for cell in model.cells]
    hidden = shown.hidden(sizes)
    parts = []
    for i, (cell, size) in enumerate(zip(model.cells, sizes, strict=True)):
        counts = cell.evidence.counts
        show = counts is not None and not hidden[i] and all(c == 0 or c >= shown.below for c in counts)
        shown_size: Count | None = size
        if hidden[i]:
            shown_size = shown.count(size) if size and size < shown.below else "hidden"
        empty = learned is not None and math.isinf(learned[i])
        parts.append(
            Part(
                number=i + 1,
                condition=_condition(cell),
                size=shown_size,
                counts=counts if show else None,
                prediction=_prediction(model, cell),
                purity=None,
                bits_learned=None,
                flags=("empty",) if empty else (),
            )
        )
    return tuple(parts)


def _flags(
    policy: Policy, shown: Suppression, hidden: bool, size: int | None, purity: float | None, bits: float | None
) -> tuple[str, ...]:
    """Return which limits a part breaks, as far as that tells nothing of a hidden size."""
    flags = []
    smallest, most = policy.smallest_leaf, policy.largest_bits_per_record
    # A limit below what may be shown would tell more of a hidden size than that it is hidden.
    if size and smallest is not None and size < smallest and not (hidden and smallest < shown.below):
        flags.append("small")
    # Of fewer people than may be shown, a share above most limits can only be all: the flag would tell.
    if purity is not None and not hidden and purity > (policy.purest_leaf or 1):
        flags.append("pure")
    if bits is not None and math.isinf(bits):
        flags.append("empty")
    elif bits is not None and size != 0 and most is not None and bits > most:
        flags.append("exposed")
    return tuple(flags)


def _condition(cell: Cell) -> str:
    text = conjunction_text(cell.inside, DIGITS) or ("otherwise" if cell.outside else "every record")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _prediction(model: DecisionTree | RuleList, cell: Cell) -> str | None:
    if model.classes is None:
        return None if cell.evidence.value is None else number(cell.evidence.value, DIGITS)
    label = cell.evidence.prediction
    return None if label is None else str(model.classes[label])


def tree_shape(model: DecisionTree | RuleList) -> tuple[TreeNode, ...]:
    """Return the nodes of a tree, each after its parent; nothing for a rule list."""
    if not isinstance(model, DecisionTree):
        return ()
    part_of = {cell.node: i for i, cell in enumerate(model.cells, start=1)}
    out: list[TreeNode] = []
    stack: list[tuple[int, int | None, str]] = [(0, None, "")]
    while stack:
        index, parent, condition = stack.pop()
        out.append(TreeNode(parent=parent, condition=condition, part=part_of.get(index)))
        here = len(out) - 1
        for branch in reversed(model.nodes[index].branches):
            stack.append((branch.child, here, branch.literal.text(DIGITS)))
    return tuple(out)
