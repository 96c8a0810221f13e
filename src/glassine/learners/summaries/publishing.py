"""Trees and rule lists of a summary as published models: classes and probabilities, or numbers, and no counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain, Literal
from glassine.learners.additive.targets import Target
from glassine.learners.exhaustive.lists import DrawnList, list_model
from glassine.learners.exhaustive.trees import Leaf, Split, Tree, tree_model
from glassine.learners.summaries.splitting import Node, shares_of
from glassine.models import DecisionTree, Evidence, Guarantee, RuleList

Array = npt.NDArray[np.float64]


def mean_of_levels(counts: Array, bounds: tuple[float, float]) -> float:
    """Return the mean of a number whose levels, evenly spaced from one bound to the other, count so often."""
    weights = np.maximum(counts, 1e-12)
    return float(np.linspace(*bounds, len(counts)) @ (weights / weights.sum()))


def published_tree(root: Node, domain: Domain, target: Target, *, source: str, guarantee: Guarantee) -> DecisionTree:
    """Return a grown tree as a model."""
    literals: list[Literal] = []
    cells: list[Evidence] = []

    def convert(node: Node) -> Tree:
        if node.literal is None or node.true is None or node.false is None:
            cells.append(_evidence(node.counts, target))
            return Leaf(int(np.argmax(node.counts)))
        literals.append(node.literal)
        number = len(literals) - 1
        return Split(number, convert(node.true), convert(node.false))

    return tree_model(
        convert(root), literals, cells, domain=domain, classes=target.classes, source=source, guarantee=guarantee
    )


def published_rules(
    rules: Sequence[tuple[Literal, Array]],
    rest: Array,
    domain: Domain,
    target: Target,
    *,
    source: str,
    guarantee: Guarantee,
) -> RuleList:
    """Return grown rules as a model: conditions with the class counts where they decide, and those of the rest."""
    labels = [int(np.argmax(counts)) for _, counts in rules]
    return list_model(
        DrawnList(tuple(enumerate(labels)), int(np.argmax(rest))),
        [(literal,) for literal, _ in rules],
        [_evidence(counts, target) for counts in (*(counts for _, counts in rules), rest)],
        attributes=domain.names,
        classes=target.classes,
        source=source,
        guarantee=guarantee,
    )


def _evidence(counts: Array, target: Target) -> Evidence:
    if target.bounds is not None:
        return Evidence(value=mean_of_levels(counts, target.bounds))
    return Evidence(label=int(np.argmax(counts)), probabilities=shares_of(counts))
