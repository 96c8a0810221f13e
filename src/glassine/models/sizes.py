"""Models with the numbers of records that are counted in data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glassine.models.evidence import Evidence
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

__all__ = ["with_sizes"]


def with_sizes(model: DecisionTree | RuleList, sizes: Sequence[int]) -> DecisionTree | RuleList:
    """Return a model that publishes these numbers of records in its leaves or rules, as exact ones, and no others."""
    size_of = dict(zip((cell.node for cell in model.cells), map(int, sizes), strict=True))
    claim = None if model.guarantee is None else replace(model.guarantee, count_scale=None)

    def resized(index: int, evidence: Evidence) -> Evidence:
        return replace(evidence, counts=None, total=size_of.get(index), label=evidence.prediction, error_rate=None)

    if isinstance(model, DecisionTree):
        nodes = tuple(replace(node, evidence=resized(i, node.evidence)) for i, node in enumerate(model.nodes))
        return replace(model, nodes=nodes, approximate=False, guarantee=claim)
    rules = tuple(replace(rule, evidence=resized(i, rule.evidence)) for i, rule in enumerate(model.rules))
    return replace(model, rules=rules, approximate=False, guarantee=claim)
