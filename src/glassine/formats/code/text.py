"""Models as plain text to read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace

from glassine.domain import Between, Domain, Literal
from glassine.domain.literals import number
from glassine.formats.code.additive_text import additive_text
from glassine.formats.conditions import PRECISION, check_model, conformed, in_single_precision, written
from glassine.formats.format import Format
from glassine.formats.json import commented
from glassine.formats.printed.export_text import is_of_sklearn
from glassine.formats.printed.rules import classes_line, condition_text, format_rules, label_text
from glassine.models.additive import AdditiveModel
from glassine.models.evidence import Evidence
from glassine.models.rule_list import RuleList
from glassine.models.transform import rewritten
from glassine.models.tree import DecisionTree

BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def to_text(model: DecisionTree | RuleList | AdditiveModel, domain: Domain | None = None) -> str:
    r"""Return a model as text: a tree like ``sklearn.tree.export_text`` prints it, a rule list in the rule notation.

    An additive model becomes the list of its scores, bin by bin, and the log of its edits; a scorecard also that of its
    items and risks.

    Parameters
    ----------
    model : DecisionTree, RuleList or AdditiveModel
        The model.
    domain : Domain, optional
        The public domain, which names the binary attributes of a rule list; as for
        :func:`glassine.formats.format_rules`.

    Returns
    -------
    str
        Thresholds and counts are in full; a line before states that thresholds are in single precision, where all are.
        It reads back with :func:`glassine.load_model`. A comment before it states a guarantee.

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
    model = conformed(model, domain)
    if isinstance(model, RuleList):
        labelled = rewritten(model, evidence=lambda place, own: replace(own, label=own.prediction))
        return format_rules(labelled, domain)
    single = in_single_precision(model)
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        index, depth, condition = stack.pop()
        node, margin = model.nodes[index], "|   " * depth
        if condition:
            lines.append(f"{'|   ' * (depth - 1)}|--- {condition}")
        if not node.branches:
            lines.append(f"{margin}|--- {_leaf(model, node.evidence)}")
        texts = _conditions([branch.literal for branch in node.branches], single)
        below = zip(node.branches, texts, strict=True)
        stack += [(branch.child, depth + 1, text) for branch, text in reversed(list(below))]
    text = "\n".join(lines) + "\n"
    precision = f"# {PRECISION}\n" if single else "# precision: double\n" if is_of_sklearn(text) else ""
    listed = model.classes is not None and not _name_all(model)
    classes = f"{classes_line(model.classes or ())}\n" if listed else ""
    return f"{commented(model)}{precision}{classes}{text}"


def _name_all(model: DecisionTree) -> bool:
    """Return whether the leaves show the order of all classes: each is that of the largest count in some leaf."""
    leaves = [cell.evidence for cell in model.cells]
    named = {leaf.prediction for leaf in leaves if leaf.counts is not None}
    firsts = [leaf.counts.index(max(leaf.counts)) == leaf.prediction for leaf in leaves if leaf.counts is not None]
    return len(firsts) == len(leaves) and all(firsts) and len(named) == len(model.classes or ())


def _conditions(literals: Sequence[Literal], single: bool) -> list[str]:
    """Return the conditions of a split: two sides of a number as ``export_text`` prints them, others as in rules."""
    if len(literals) == 2 and all(isinstance(literal, Between) and not literal.negated for literal in literals):
        name, (low, high) = literals[0].attribute, literals
        below = Between(name, hi=getattr(low, "hi", 0.0), missing=low.missing)
        above = Between(name, lo=below.hi, missing=high.missing) if math.isfinite(below.hi) else None
        if (low, high) == (below, above) and not (low.missing and high.missing):
            odd = BREAKS.search(name) or name.startswith('"') or name != name.strip()
            spelled = json.dumps(name) if odd else name
            return [_aligned(written(replace(side, attribute=spelled), single=single)) for side in (low, high)]
    return [condition_text(literal, single=single) for literal in literals]


def _aligned(text: str) -> str:
    """Return a condition with the two blanks that ``export_text`` puts behind ``>``."""
    return re.sub(r" > (?=[-+0-9.e]+( or missing)?$)", " >  ", text)


def _leaf(model: DecisionTree, evidence: Evidence) -> str:
    if model.classes is None:
        return "value: [?]" if evidence.value is None else f"value: [{number(evidence.value)}]"
    label = evidence.prediction
    weights = "" if evidence.counts is None else f"weights: [{', '.join(map(str, evidence.counts))}] "
    return f"{weights}class: {'?' if label is None else label_text(model.classes[label])}"


FORMAT = Format(
    name="text", leaves_out_of_additive="errors, weights and ranges", extensions=(".txt",), to="text", write=to_text
)
