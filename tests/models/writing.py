"""Models with every kind of outcome, and records for them, for tests of the writers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from glassine.domain import Between, Category, Domain, Integer, OneOf, Real
from glassine.models import Branch, DecisionTree, Evidence, Node, RuleList
from tests.oracles.strategies import domains, literals, rule_lists, trees

HOSTILE = [
    "it's",
    'say "hi"',
    "'; DROP TABLE records; --",
    '"; DROP TABLE records; --',
    "'''\nimport os\n'''",
    '"""\nboom()\n"""',
    "{boom()}",
    "back\\",
    "\\'",
    "line\nfeed",
    "carriage\rreturn",
    "weiß",
    "\u2028\u202e",
    "--",
    "/* */",
    "%s",
    "?",
    ":name",
    "lambda",
    "None",
    "record",
    "predict",
    "_number",
    "float",
    "a b",
    "A b",
]
CLASSES: list[tuple[Any, ...] | None] = [
    (0, 1),
    (False, True),
    ("no", "yes"),
    ("it's", 'a "b"', "line\nfeed"),
    (2.5, -1, 1e300),
    None,
]


@st.composite
def evidence(draw: st.DrawFn, n_classes: int | None, *, predicts: bool) -> Evidence:
    """Draw what a leaf may publish; a prediction always if ``predicts``."""
    if n_classes is None:
        value = st.sampled_from([0.0, -2.5, 0.1 + 0.2, 1e-7, 3.0, 1e17])
        return Evidence(value=draw(value if predicts else st.none() | value))
    label = st.integers(0, n_classes - 1)
    counts = st.tuples(*[st.integers(0, 4)] * n_classes)
    kind = draw(st.integers(0, 3))
    if kind == 0 and not predicts:
        return Evidence()
    if kind == 1:
        return Evidence(label=draw(label), error_rate=draw(st.sampled_from([None, 0.0, 0.25, 1.0])))
    return Evidence(counts=draw(counts), label=draw(label) if kind == 2 else None)


@st.composite
def models(
    draw: st.DrawFn, *, predicts: bool = False, lists: bool = True, multiway: bool = True
) -> tuple[DecisionTree | RuleList, Domain]:
    """Trees and rule lists of any outcomes, and their domains."""
    domain = draw(domains(ties=False))
    classes = draw(st.sampled_from(CLASSES))
    width = None if classes is None else len(classes)
    made = draw(st.one_of(trees(domain), rule_lists(domain)) if lists else trees(domain))
    if isinstance(made, RuleList):
        rules = tuple(replace(r, evidence=draw(evidence(width, predicts=predicts))) for r in made.rules)
        return RuleList(rules, made.attributes, classes), domain
    nodes = [n if n.branches else replace(n, evidence=draw(evidence(width, predicts=predicts))) for n in made.nodes]
    for i, node in enumerate(made.nodes):
        # A third branch before the last, on any attribute: it may overlap with the others.
        if multiway and node.branches and draw(st.booleans()):
            nodes[i] = Node(branches=(node.branches[0], Branch(draw(literals(domain)), len(nodes)), node.branches[1]))
            nodes.append(Node(evidence=draw(evidence(width, predicts=predicts))))
    return DecisionTree(tuple(nodes), made.attributes, classes), domain


def records(draw: st.DrawFn, domain: Domain, n: int) -> dict[str, npt.NDArray[Any]]:
    """Draw records of a domain, missing values among them where they may be."""
    out: dict[str, npt.NDArray[Any]] = {}
    for name in domain:
        attribute = domain[name]
        values: list[Any]
        if isinstance(attribute, Integer):
            values = [float(v) for v in range(attribute.lo, attribute.hi + 1)]
        elif isinstance(attribute, Real):
            values = [round(attribute.lo + 0.1 * k, 1) for k in range(int(attribute.measure(-math.inf, math.inf)))]
        elif isinstance(attribute, Category):
            values = list(attribute.values)
        else:
            values = [0.0, 1.0]
        words = isinstance(attribute, Category)
        gap = [None if words else math.nan] if attribute.missing else []
        drawn = draw(st.lists(st.sampled_from([*values, *gap]), min_size=n, max_size=n))
        out[name] = np.array(drawn, dtype=object if words else float)
    return out


@st.composite
def cases(draw: st.DrawFn, /, **options: bool) -> tuple[DecisionTree | RuleList, Domain, dict[str, npt.NDArray[Any]]]:
    """Draw a model, its domain and 12 records."""
    model, domain = draw(models(**options))
    return model, domain, records(draw, domain, 12)


def stump(name: str, value: str, classes: tuple[Any, ...]) -> DecisionTree:
    """Make a tree that asks whether an attribute has a value."""
    test = OneOf(name, (value,), missing=False)
    nodes = (
        Node(branches=(Branch(test, 1), Branch(test.negate(), 2))),
        Node(evidence=Evidence(counts=(3, 1))),
        Node(evidence=Evidence(counts=(1, 5))),
    )
    return DecisionTree(nodes, (name,), classes, source=value)


def chain(depth: int) -> DecisionTree:
    """Make a tree as deep as asked: x is compared with one number after the other."""
    nodes: list[Node] = []
    for i in range(depth):
        low, high = Between("x", hi=float(i)), Between("x", lo=float(i), missing=True)
        nodes.append(Node(branches=(Branch(low, 2 * i + 1), Branch(high, 2 * i + 2))))
        nodes.append(Node(evidence=Evidence(label=i % 2)))
    return DecisionTree((*nodes, Node(evidence=Evidence(label=depth % 2))), ("x",), ("even", "odd"))
