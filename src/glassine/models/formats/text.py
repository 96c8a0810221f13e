"""Models as plain text to read."""

from __future__ import annotations

import re
from dataclasses import replace

from glassine.domain import Domain
from glassine.domain.literals import number
from glassine.models.additive import AdditiveModel
from glassine.models.evidence import Evidence
from glassine.models.formats.additive_text import additive_text, one_line
from glassine.models.formats.paths import check_model
from glassine.models.formats.rule_text import format_rules
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

__all__ = ["to_text"]


def to_text(model: DecisionTree | RuleList | AdditiveModel, domain: Domain | None = None) -> str:
    r"""Return a model as text: a tree like ``sklearn.tree.export_text`` prints it, a rule list in the rule notation.

    An additive model becomes the list of its scores, bin by bin, and the log of its edits.

    Parameters
    ----------
    model : DecisionTree, RuleList or AdditiveModel
        The model.
    domain : Domain, optional
        The public domain, which tells binary attributes of a rule list; as for
        :func:`glassine.models.formats.format_rules`.

    Returns
    -------
    str
        Thresholds and counts are in full. A tree that has only bounds on numbers reads back with
        :func:`glassine.load_model`. Neither text tells a guarantee.

    Raises
    ------
    UnsupportedModelError
        If it is not a model.

    Examples
    --------
    >>> from glassine.models import Branch, Node
    >>> from glassine.domain import Between
    >>> tree = DecisionTree(
    ...     nodes=(
    ...         Node(branches=(Branch(Between("age", hi=40.5), 1), Branch(Between("age", lo=40.5), 2))),
    ...         Node(evidence=Evidence(counts=(3, 0))),
    ...         Node(evidence=Evidence(counts=(1, 5))),
    ...     ),
    ...     attributes=("age",),
    ...     classes=("ill", "well"),
    ... )
    >>> print(to_text(tree), end="")
    |--- age <= 40.5
    |   |--- weights: [3, 0] class: ill
    |--- age >  40.5
    |   |--- weights: [1, 5] class: well
    """
    if isinstance(model, AdditiveModel):
        return additive_text(model)
    check_model(model)
    if isinstance(model, RuleList):
        rules = tuple(replace(r, evidence=replace(r.evidence, label=r.evidence.prediction)) for r in model.rules)
        return format_rules(replace(model, rules=rules), domain)
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        index, depth, condition = stack.pop()
        node, margin = model.nodes[index], "|   " * depth
        if condition:
            lines.append(f"{'|   ' * (depth - 1)}|--- {condition}")
        if not node.branches:
            lines.append(f"{margin}|--- {_leaf(model, node.evidence)}")
        stack += [(b.child, depth + 1, one_line(_aligned(str(b.literal)))) for b in reversed(node.branches)]
    return "\n".join(lines) + "\n"


def _aligned(text: str) -> str:
    """Return a condition with the two blanks that ``export_text`` puts behind ``>``."""
    return re.sub(r" > (?=[-+0-9.e]+( or missing)?$)", " >  ", text)


def _leaf(model: DecisionTree, evidence: Evidence) -> str:
    if model.classes is None:
        return "value: [?]" if evidence.value is None else f"value: [{number(evidence.value)}]"
    label = evidence.prediction
    weights = "" if evidence.counts is None else f"weights: [{', '.join(map(str, evidence.counts))}] "
    return f"{weights}class: {'?' if label is None else one_line(str(model.classes[label]))}"
