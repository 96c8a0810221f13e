"""Scrubbing where values are missing: a copy never singles out those whose value is missing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine import AdditiveModel, DecisionTree, Domain, Integer, Real, RuleList, reconstruct, scrub
from glassine.domain import Between, Binary, Category, ExactlyOne, Literal, OneOf
from glassine.models import Branch, Evidence, Node, NumericBins, Rule, Term
from glassine.models import transform as moving
from tests.oracles.worlds import captured, records

INCOME = Domain({"income": Real(0, 60_000, resolution=0.01, thresholds=(10_000, 20_000, 30_000), missing=True)})
WHOLE = Integer(0, 11, thresholds=(2.5, 5.5, 8.5), missing=True)
"""Cells of three values each, so that a threshold moves past half of a cell at most, or to the first one."""


def met() -> DecisionTree:
    """Two thresholds that meet at 30000, missing values between them."""
    nodes = (
        Node(
            branches=(Branch(Between("income", hi=36_025.1, missing=True), 1), Branch(Between("income", 36_025.1), 2))
        ),
        Node(
            branches=(Branch(Between("income", hi=28_716.9), 3), Branch(Between("income", 28_716.9, missing=True), 4))
        ),
        Node(evidence=Evidence(counts=(50, 60))),
        Node(evidence=Evidence(counts=(90, 20))),
        Node(evidence=Evidence(counts=(12, 30))),
    )
    return DecisionTree(nodes, ("income",), ("no", "yes"))


def test_a_leaf_of_missing_values_alone_falls_away() -> None:
    result = scrub(met(), INCOME, counts="keep")
    assert [str(cell) for cell in result.model.cells] == ["income <= 30000 or missing", "income > 30000"]
    assert [cell.evidence.counts for cell in result.model.cells] == [(90, 20), (50, 60)]
    assert (result.n_rounded, result.n_dropped) == (2, 1)
    before, after = (max(reconstruct(model, INCOME).bits_learned()) for model in (met(), result.model))
    assert after < before < 5
    assert result.model.apply({"income": np.array([np.nan, 1.0, 40_000.0])}).tolist() == [0, 0, 1]


def test_missing_values_that_move_find_a_branch_further_down() -> None:
    middle = Between("x", 6, 6.4, missing=True)
    nodes = (
        Node(branches=(Branch(Between("x", hi=6), 1), Branch(middle, 2), Branch(Between("x", 6.4), 5))),
        Node(branches=(Branch(Between("x", hi=3), 3), Branch(Between("x", 3), 4)), evidence=Evidence(counts=(11, 2))),
        *(Node(evidence=Evidence(counts=(size, 1))) for size in (4, 3, 8, 2)),
    )
    domain = Domain({"x": Real(0, 9, thresholds=(3.0, 6.0), missing=True)})
    result = scrub(DecisionTree(nodes, ("x",), (0, 1)), domain, counts="keep")
    # The first branch holds most records, and below it the second leaf.
    assert [str(cell) for cell in result.model.cells] == [
        "(x <= 6 or missing) and x <= 3",
        "(x <= 6 or missing) and (x > 3 or missing)",
        "x > 6",
    ]
    assert result.model.apply({"x": np.array([np.nan, 5.0, 2.0, 9.0])}).tolist() == [1, 1, 0, 2]


def test_a_leaf_that_was_of_missing_values_before_stays() -> None:
    nodes = (
        Node(branches=(Branch(OneOf("income", (), missing=True), 1), Branch(OneOf("income", (), negated=True), 2))),
        Node(evidence=Evidence(counts=(3, 0))),
        Node(branches=(Branch(Between("income", hi=29_000), 3), Branch(Between("income", 29_000), 4))),
        Node(evidence=Evidence(counts=(3, 1))),
        Node(evidence=Evidence(counts=(3, 2))),
    )
    result = scrub(DecisionTree(nodes, ("income",), (0, 1)), INCOME, counts="keep")
    assert str(result.model.cells[0]) == "income is missing"
    assert result.n_dropped == 0


def worlds(model: Any, domain: Domain) -> list[list[tuple[Any, ...]]]:
    """Return the records of each cell."""
    everyone = list(records(domain, domain_aware=True))
    return [[tuple(sorted(r.items())) for r in everyone if captured(r, cell)] for cell in model.cells]


@st.composite
def gappy_trees(draw: st.DrawFn, domain: Domain) -> DecisionTree:
    """Trees whose leaves are told apart by their counts, missing values on either side of a split."""
    nodes: list[Node] = [Node()]
    leaves = [0]
    for _ in range(draw(st.integers(1, 6))):
        index = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        name = draw(st.sampled_from(domain.names))
        first: Literal
        if domain[name] == WHOLE:
            first = Between(name, hi=draw(st.integers(0, 10)) + 0.5, missing=draw(st.booleans()))
            second: Literal = Between(name, first.hi, missing=not first.missing)
        else:
            first = OneOf(name, ("a",) if name == "c" else (1,), missing=draw(st.booleans()) and name == "c")
            second = first.negate()
        here = len(nodes)
        nodes[index] = Node(branches=(Branch(first, here), Branch(second, here + 1)))
        nodes += [Node(), Node()]
        leaves += [here, here + 1]
    for i, index in enumerate(leaves):
        nodes[index] = Node(evidence=Evidence(counts=(i + 1, 0)))
    return DecisionTree(tuple(nodes), domain.names, (False, True))


GAPPY = Domain(
    {"x": WHOLE, "z": WHOLE, "c": Category(("a", "b"), missing=True), "p": Binary(), "q": Binary()},
    groups=(ExactlyOne(("p", "q")),),
)


def numbers_of(captured: list[tuple[Any, ...]], name: str) -> set[Any]:
    return {value for record in captured for key, value in record if key == name}


@pytest.mark.slow
@settings(max_examples=75, deadline=None)
@given(gappy_trees(GAPPY))
def test_no_leaf_of_a_copy_holds_far_fewer_worlds(tree: DecisionTree) -> None:
    copy = scrub(tree, GAPPY, counts="keep").model
    originals = worlds(tree, GAPPY)
    before = {cell.evidence.counts: held for cell, held in zip(tree.cells, originals, strict=True)}
    after = worlds(copy, GAPPY)
    assert Counter(r for held in after for r in held) == Counter(r for held in originals for r in held)
    for cell, held in zip(copy.cells, after, strict=True):
        old = before[cell.evidence.counts]
        assert held or not old
        for name in ("x", "z"):
            # Numbers are in whole cells of the grid, and nobody is told to have none who was not before.
            values, was = numbers_of(held, name), numbers_of(old, name)
            assert values != {None} or was == {None}
            assert len(values - {None}) % 3 == 0
        assert 4 * len(held) >= len(old)


def test_the_fault_that_the_property_is_for_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "_stays", lambda old, new, gap: bool(new))
    cells = scrub(met(), INCOME, counts="keep").model.cells
    assert [c.evidence.counts for c in cells] == [(90, 20), (12, 30), (50, 60)]
    assert Between("income", hi=30_000.0, missing=True) in cells[1].inside


def listed(*antecedents: tuple[Literal, ...]) -> RuleList:
    rules = [Rule(antecedent=one, evidence=Evidence(counts=(i, 1))) for i, one in enumerate(antecedents)]
    return RuleList(tuple(rules), ("x", "c"), (False, True))


LISTS = Domain({"x": WHOLE, "c": Category(("a", "b"), missing=True)})


def texts(rules: RuleList) -> list[tuple[str, int]]:
    return [(" and ".join(map(str, rule.antecedent)), (rule.evidence.counts or (-1,))[0]) for rule in rules.rules]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        # One range that closes up.
        (listed((Between("x", 2.6, 3.5, missing=True),), (Between("x", 5.5),), ()), [("x > 5.5", 1), ("", 2)]),
        # Two bounds of one rule.
        (
            listed((Between("x", hi=3.5, missing=True), Between("x", 1.5, missing=True)), ()),
            [("", 1)],
        ),
        # An earlier rule takes the numbers.
        (
            listed((Between("x", hi=2.5),), (Between("x", hi=3.5, missing=True),), ()),
            [("x <= 2.5", 0), ("", 2)],
        ),
        # Earlier rules that hold more than the numbers of the rule, or only some of them.
        (
            listed(
                (Between("x", hi=2.5),),
                (Between("x", hi=3.5, missing=True), OneOf("c", ("a",))),
                (Between("x", 7.0),),
                (),
            ),
            [("x <= 2.5", 0), ("x > 5.5", 2), ("", 3)],
        ),
        (
            listed((Between("x", hi=2.5), OneOf("c", ("a",))), (Between("x", hi=3.5, missing=True),), ()),
            [("x <= 2.5 and c = a", 0), ("x <= 2.5 or missing", 1), ("", 2)],
        ),
        # The default is what is left.
        (listed((Between("x", hi=2.5),), (Between("x", 3.5),), ()), [("x <= 2.5", 0), ("", 1)]),
        # As it was before.
        (
            listed((Between("x", hi=2.5),), (Between("x", 2.5),), ()),
            [("x <= 2.5", 0), ("x > 2.5", 1), ("", 2)],
        ),
    ],
)
def test_rules_of_missing_values_alone_fall_away(rules: RuleList, expected: list[tuple[str, int]]) -> None:
    assert texts(scrub(rules, LISTS, counts="keep").model) == expected


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_rule_of_a_copy_is_left_to_missing_values(data: st.DataObject) -> None:
    bound = st.integers(0, 10).map(lambda k: k + 0.5)
    names = st.sampled_from(["<=", ">", "between"])

    def literal(kind: str, lo: float, hi: float, missing: bool) -> Literal:
        if kind == "between" and lo < hi:
            return Between("x", lo, hi, missing=missing)
        return Between("x", hi=hi, missing=missing) if kind == "<=" else Between("x", lo, missing=missing)

    some = st.builds(literal, names, bound, bound, st.booleans())
    drawn = data.draw(st.lists(st.lists(some, min_size=1, max_size=2).map(tuple), max_size=5))
    rules, domain = listed(*drawn, ()), Domain({"x": WHOLE, "c": Binary()})
    copy = scrub(rules, domain, counts="keep").model
    before = {cell.evidence.counts: held for cell, held in zip(rules.cells, worlds(rules, domain), strict=True)}
    for cell, held in zip(copy.cells, worlds(copy, domain), strict=True):
        alone = numbers_of(held, "x") == {None}
        assert not alone or numbers_of(before[cell.evidence.counts], "x") == {None}


def test_missing_values_keep_their_bin_in_an_additive_model() -> None:
    scores, sizes = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([4.0, 1.0, 4.0, 4.0, 2.0])
    term = Term(bins=(NumericBins("x", (2.6, 3.4, 7.5)),), scores=scores, weights=sizes)
    model = AdditiveModel(attributes=("x",), terms=(term,), intercept=(0.0,), link="identity")
    copy = scrub(model, LISTS).model.terms[0]
    assert copy.bins[0].labels == ("<= 2.5", "2.5 to 8.5", "> 8.5", "missing")
    # 1, 2.8, 4 and 5, less the mean of all but the last.
    assert copy.scores[:, 0].tolist() == [-1.6, 0.2, 1.4, 2.4]
