"""Drawn or optimal trees and lists as published models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.domain.literals import complement
from glassine.learners.leaf_counts import evidence
from glassine.learners.list_class import DrawnList
from glassine.learners.tree_class import Leaf, Tree, children
from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node, Rule, RuleList

__all__ = ["leaf_nodes", "list_model", "tree_model"]


def leaf_nodes(tree: Tree) -> list[tuple[tuple[int, ...], int]]:
    """Return the leaves of a tree, depth first, true before false, each as its literals and their signs."""
    out: list[tuple[tuple[int, ...], int]] = []
    stack: list[tuple[Tree, tuple[int, ...], int]] = [(tree, (), 0)]
    while stack:
        node, chosen, signs = stack.pop()
        if isinstance(node, Leaf):
            out.append((chosen, signs))
            continue
        true, false = children(chosen, signs, node.literal)
        stack += [(node.false, *false), (node.true, *true)]
    return out


def tree_model(
    tree: Tree,
    literals: Sequence[Literal],
    *,
    counts: npt.NDArray[np.int64] | None,
    domain: Domain,
    classes: tuple[Scalar, ...],
    source: str,
    guarantee: Guarantee | None = None,
) -> DecisionTree:
    """Return a tree as a published model.

    Parameters
    ----------
    tree : Leaf or Split
        The tree, by index of literals and labels.
    literals : sequence of Literal
        The public literals.
    counts : ndarray of int64, shape (k, c), or None
        Published class counts of the leaves, in the order of :func:`leaf_nodes`; inner nodes get their sums.
    domain : Domain
        The domain of the attributes.
    classes, source, guarantee
        As in :class:`~glassine.models.DecisionTree`.
    """
    nodes: list[Node] = []
    rows = iter(counts if counts is not None else ())

    def build(part: Tree) -> tuple[int, npt.NDArray[np.int64] | None]:
        index = len(nodes)
        if isinstance(part, Leaf):
            own = next(rows, None)
            nodes.append(Node(evidence=evidence(part.label, own)))
            return index, own
        nodes.append(Node())
        literal = literals[part.literal]
        true, true_counts = build(part.true)
        false, false_counts = build(part.false)
        total = None if true_counts is None or false_counts is None else true_counts.astype(object) + false_counts
        nodes[index] = Node(
            branches=(Branch(literal, true), Branch(_other(literal, domain), false)),
            evidence=Evidence() if total is None else Evidence(counts=tuple(int(count) for count in total)),
        )
        return index, total

    build(tree)
    return DecisionTree(tuple(nodes), attributes=domain.names, classes=classes, source=source, guarantee=guarantee)


def _other(literal: Literal, domain: Domain) -> Literal:
    return complement(literal, missing=domain[literal.attribute].missing)


def list_model(
    drawn: DrawnList,
    antecedents: Sequence[tuple[Literal, ...]],
    *,
    counts: npt.NDArray[np.int64] | None,
    attributes: tuple[str, ...],
    classes: tuple[Scalar, ...],
    source: str,
    guarantee: Guarantee | None = None,
) -> RuleList:
    """Return a rule list as a published model; ``counts`` are those of its rules in order, the default rule last."""
    parts = [(antecedents[rule], label) for rule, label in drawn.rules] + [((), drawn.default)]
    rules = tuple(
        Rule(antecedent=antecedent, evidence=evidence(label, None if counts is None else counts[i]))
        for i, (antecedent, label) in enumerate(parts)
    )
    return RuleList(rules, attributes=attributes, classes=classes, source=source, guarantee=guarantee)
