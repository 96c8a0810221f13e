"""Hypothesis strategies for small domains and models."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from glassine.domain import (
    AtMostOne,
    Between,
    Binary,
    Category,
    Combinations,
    Domain,
    ExactlyOne,
    Group,
    Implies,
    Integer,
    Literal,
    OneOf,
    Real,
)
from glassine.errors import InvalidDomainError
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule, RuleList


@st.composite
def attributes(draw: st.DrawFn) -> Integer | Real | Category | Binary:
    missing = draw(st.booleans())
    kind = draw(st.integers(0, 3))
    if kind == 0:
        lo = draw(st.integers(-3, 3))
        return Integer(lo, lo + draw(st.integers(0, 4)), missing=missing)
    if kind == 1:
        return Real(0.0, draw(st.sampled_from([0.2, 0.5, 1.0])), 0.1, missing=missing)
    if kind == 2:
        return Category(tuple("abcd"[: draw(st.integers(1, 4))]), missing=missing)
    return Binary(missing=missing)


@st.composite
def domains(draw: st.DrawFn, *, ties: bool = True) -> Domain:
    """Domains of at most a few thousand records, some with groups."""
    free = {f"x{i}": draw(attributes()) for i in range(draw(st.integers(1, 3)))}
    tied = [f"b{i}" for i in range(draw(st.integers(0, 4)) if ties else 0)]
    groups: list[Group] = []
    for _ in range(draw(st.integers(0, 2)) if len(tied) > 1 else 0):
        names = tuple(draw(st.lists(st.sampled_from(tied), min_size=2, max_size=3, unique=True)))
        kind = draw(st.sampled_from(["exactly", "at most", "implies", "rows"]))
        if kind == "rows":
            cells = st.tuples(*(st.integers(0, 1) for _ in names))
            rows = draw(st.lists(cells, min_size=1, max_size=4, unique=True))
            groups.append(Combinations(names, tuple(rows)))
        else:
            kinds = {"exactly": ExactlyOne, "at most": AtMostOne}
            groups.append(kinds[kind](names) if kind in kinds else Implies(names))
    members: dict[str, Any] = {**free, **{name: Binary() for name in tied}}
    try:
        return Domain(members, groups=groups)
    except InvalidDomainError:  # the groups contradict each other
        return Domain(members)


@st.composite
def literals(draw: st.DrawFn, domain: Domain) -> Literal:
    """Draw a literal on any attribute of a domain."""
    name = draw(st.sampled_from(domain.names))
    attribute = domain[name]
    negated, missing = draw(st.booleans()), draw(st.booleans()) and attribute.missing
    if isinstance(attribute, Integer | Real):
        cuts = st.sampled_from([-0.5, 0.0, 0.05, 0.1, 0.25, 0.3, 0.5, 1.0, 2.5])
        lo = draw(st.one_of(st.just(float("-inf")), cuts))
        hi = draw(st.one_of(st.just(float("inf")), cuts.filter(lambda cut: cut > lo)) if lo < 2.5 else st.just(9.0))
        return Between(name, lo, hi, negated=negated, missing=missing)
    values = (0, 1) if isinstance(attribute, Binary) else attribute.values
    chosen = draw(st.lists(st.sampled_from(values), unique=True, max_size=3))
    return OneOf(name, tuple(chosen), negated=negated, missing=missing)


@st.composite
def rule_lists(draw: st.DrawFn, domain: Domain, *, max_rules: int = 5) -> RuleList:
    """Rule lists of overlapping rules of any width."""
    rules = [
        Rule(
            antecedent=tuple(draw(st.lists(literals(domain), min_size=1, max_size=3))),
            evidence=Evidence(counts=(draw(st.integers(0, 3)), draw(st.integers(0, 3)))),
        )
        for _ in range(draw(st.integers(0, max_rules)))
    ]
    rules.append(Rule(evidence=Evidence(counts=(draw(st.integers(0, 3)), draw(st.integers(1, 3))))))
    return RuleList(tuple(rules), domain.names, (False, True))


@st.composite
def trees(draw: st.DrawFn, domain: Domain, *, max_splits: int = 4) -> DecisionTree:
    """Binary trees whose splits may repeat attributes."""
    nodes: list[Node] = [Node()]
    leaves = [0]
    for _ in range(draw(st.integers(0, max_splits))):
        index = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        literal = draw(literals(domain))
        here = len(nodes)
        nodes[index] = Node(branches=(Branch(literal, here), Branch(literal.negate(), here + 1)))
        nodes += [Node(), Node()]
        leaves += [here, here + 1]
    for index in leaves:
        nodes[index] = Node(evidence=Evidence(counts=(draw(st.integers(0, 3)), draw(st.integers(1, 3)))))
    return DecisionTree(tuple(nodes), domain.names, (0, 1))
