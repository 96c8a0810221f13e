"""The graph of a tree that ``sklearn.tree.export_graphviz`` writes."""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import BY_ESTIMATOR, TreeBuilder, classes_by_largest, whole_counts
from glassine.formats.conditions import at_most, damaged
from glassine.formats.format import BY_START, of_text
from glassine.formats.printed.rule_conditions import NUMBER
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree

NODE = re.compile(
    r'^[ \t]*([0-9]{1,9}) \[label=(?:"((?:[^"\\]|\\.)*)"|<(.*?)>)(?:, [^\n]*)?\] ?;?[ \t]*\r?$', re.MULTILINE
)
EDGE = re.compile(r"^[ \t]*([0-9]{1,9}) -> ([0-9]{1,9})\b", re.MULTILINE)
TEST = re.compile(rf"(.*) (?:<=|≤) ({NUMBER})", re.DOTALL)
ERRORS = ("squared_error", "friedman_mse", "absolute_error", "poisson")


@dataclass(frozen=True, slots=True)
class _Node:
    """What the label of a node says."""

    test: tuple[str, float] | None
    samples: int | None
    values: tuple[float, ...]
    label: str | None
    regression: bool


def is_dot_text(text: str) -> bool:
    """Return whether a text starts as the graph of a tree."""
    return re.match(r"\s*digraph [A-Za-z_\"]+ \{", text) is not None


def tree_from_dot(text: str, domain: Domain | None = None) -> DecisionTree:
    """Read the graph that ``sklearn.tree.export_graphviz`` writes of one decision tree.

    Parameters
    ----------
    text : str
        The graph, in the language DOT.
    domain : Domain, optional
        The public domain.

    Returns
    -------
    DecisionTree
        Nodes have the number of their records, and class counts where the values of every node are whole and add up to
        it; with ``proportion=True`` or weights they do not. Thresholds are as printed, with three digits behind the
        point by default.
        Without the names of classes they are numbered.

    Raises
    ------
    UnsupportedModelError
        If the graph is another one, or a node has no label that is understood.
    InvalidModelError
        If a node has one branch or more than two, or an attribute can be missing.
    """
    nodes = {int(m[1]): _node(m[2], m[3], int(m[1])) for m in NODE.finditer(text)}
    if not nodes:
        raise UnsupportedModelError(
            "the graph holds no node of a tree of scikit-learn.", remedy="Give what export_graphviz wrote."
        )
    children: dict[int, list[int]] = {key: [] for key in nodes}
    for match in EDGE.finditer(text):
        start = int(match[1])
        if start not in children:
            raise InvalidModelError(f"the graph has an edge from node {start}, which it does not hold.")
        children[start].append(int(match[2]))
    regression = any(node.regression for node in nodes.values())
    rows = [(node.values, node.label) for node in nodes.values()]
    classes = None if regression else classes_by_largest(rows, "the graph")
    counted = classes is not None and all(_counts(node) is not None for node in nodes.values())
    builder: TreeBuilder[int] = TreeBuilder("the graph", domain, silent=True, remedy=BY_ESTIMATOR)
    for key, node in nodes.items():
        evidence = _evidence(node, classes, counted)
        below = children[key]
        if (len(below), node.test is None) not in ((0, True), (2, False)):
            raise damaged(f"node {key} of the graph has {len(below)} branches, and a test or none.")
        if node.test is None:
            builder.leaf(key, evidence)
            continue
        name, bound = node.test
        builder.split(key, at_most(builder.attribute(name), bound, domain, single=True), below, evidence)
    return builder.tree(next(iter(nodes)), classes, "export_graphviz")


def _node(quoted: str | None, marked: str | None, key: int) -> _Node:
    """Return what a label says: the test first, where there is one, then figures."""
    if marked is not None:
        if re.search(r"&#[xX]?[0-9a-fA-F]{8}", marked):
            raise damaged(f"the label of node {key} names no character after '&#'.")
        lines = [html.unescape(line).replace('\\"', '"') for line in re.split(r"<br ?/>", marked)]
    else:
        lines = [re.sub(r"\\(.)", r"\1", line) for line in re.split(r"\\n", quoted or "")]
    if lines and re.fullmatch(r"node #[0-9]+", lines[0]):
        del lines[0]
    match = TEST.fullmatch(lines[0]) if lines else None
    figures: dict[str, str] = {}
    for line in lines[1:] if match is not None else lines:
        name, equals, value = line.partition(" = ")
        if not equals or name in figures:
            raise UnsupportedModelError(
                f"the label of node {key} cannot be read: {line[:60]!r}.", remedy="Export the tree with label='all'."
            )
        figures[name] = value
    if "value" not in figures:
        raise UnsupportedModelError(f"the label of node {key} states no value.", remedy="Export it with label='all'.")
    numbers = re.findall(NUMBER, figures["value"])
    if not re.fullmatch(rf"\[?{NUMBER}(?:,\s*{NUMBER})*\]?", figures["value"].strip()):
        raise UnsupportedModelError(f"node {key} has the value {figures['value'][:40]!r}; one output is supported.")
    values = tuple(float(number) for number in numbers)
    samples = figures.get("samples", "")
    whole = int(samples) if re.fullmatch(r"[0-9]{1,15}", samples) else None
    bound = float(match[2]) if match is not None else 0.0
    if not all(math.isfinite(number) for number in (*values, bound)):
        raise damaged(f"node {key} of the graph holds a number that is not finite.")
    alone = len(values) == 1 and "class" not in figures and not {"gini", "entropy", "log_loss"} & set(figures)
    regression = alone or bool(set(ERRORS) & set(figures))
    return _Node(None if match is None else (match[1], bound), whole, values, figures.get("class"), regression)


def _counts(node: _Node) -> tuple[int, ...] | None:
    return None if node.samples is None else whole_counts(node.values, node.samples, lambda count: 0)


def _evidence(node: _Node, classes: tuple[Scalar, ...] | None, counted: bool) -> Evidence:
    if classes is None:
        return Evidence(total=node.samples, value=node.values[0])
    label = node.values.index(max(node.values)) if node.label is None else classes.index(node.label)
    if counted:
        return Evidence(counts=_counts(node), label=label)
    return Evidence(total=node.samples, label=label, weighted=True)


FORMAT = of_text(
    name="export_graphviz",
    again="sklearn.tree.export_graphviz(model, feature_names=..., class_names=...)",
    reads="graph of `sklearn.tree.export_graphviz`",
    reveals="conditions to three digits behind the point, and class counts",
    leaves_out="further digits of thresholds; where missing values go",
    extensions=(".dot",),
    sniff=is_dot_text,
    rank=BY_START,
    read=tree_from_dot,
)
