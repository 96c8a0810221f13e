"""The logic of rules against the enumeration of all records of a domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.domain import Between, Binary, Domain, Implies, Integer, Literal, OneOf
from glassine.errors import InvalidModelError
from tests.oracles import strategies as small
from tests.oracles import worlds as possible

Rule = tuple[Literal, ...]


def truths(domain: Domain, rules: list[Rule], asked: list[Rule] | None = None) -> list[tuple[bool, ...]]:
    """Return the truth of each rule on every possible record, or on those that are complete for the rules given."""
    literals = [literal for rule in asked or [] for literal in rule]
    every = possible.records(domain, domain_aware=True)
    records = list(every) if asked is None else possible.complete_records(domain, literals)
    return [tuple(possible.satisfies(record, rule) for record in records) for rule in rules]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Domain, list[Rule]]:
    domain = draw(small.domains())
    rule = st.lists(small.literals(domain), min_size=1, max_size=3).map(tuple)
    return domain, draw(st.lists(rule, min_size=draw(st.sampled_from([5, 0])), max_size=8))


@pytest.mark.slow
@given(cases())
@settings(max_examples=80)
def test_rules_are_kept_that_say_something_new(case: tuple[Domain, list[Rule]]) -> None:
    domain, rules = case
    logic = RuleLogic.of(domain, rules)
    kept = truths(domain, list(logic.antecedents))
    assert len(set(kept)) == len(kept)
    pairs = zip(truths(domain, rules), truths(domain, rules, rules), strict=True)
    assert set(kept) == {truth for truth, complete in pairs if len(set(complete)) == 2}
    assert set(logic.antecedents) <= set(rules)
    # Of equal rules one of a single literal is preferred, then the first.
    for rule, truth in zip(logic.antecedents, kept, strict=True):
        equals = [other for other, same in zip(rules, truths(domain, rules), strict=True) if same == truth]
        assert rule == min(equals, key=lambda other: (len(other) > 1, rules.index(other)))
    narrow = [len(rule) == 1 for rule in logic.antecedents]
    assert narrow == sorted(narrow, reverse=True)
    assert [bool(block >= 0) for block in logic.blocks] == narrow


@pytest.mark.slow
@given(cases())
@settings(max_examples=60)
def test_covers_says_which_rules_take_or_leave_nothing(case: tuple[Domain, list[Rule]]) -> None:
    domain, rules = case
    assert_covers(domain, RuleLogic.of(domain, rules), rules)


def test_covers_of_pairs_on_tied_and_ordered_attributes() -> None:
    domain = Domain(
        {"n": Integer(0, 3, missing=True), "a": Binary(), "b": Binary(), "c": Binary()}, groups=[Implies(("a", "b"))]
    )
    literals: list[Literal] = [Between("n", hi=0.5), Between("n", hi=1.5), Between("n", lo=0.5, hi=2.5)]
    literals += [OneOf(name, (value,)) for name in "abc" for value in (0, 1)]
    rules: list[Rule] = [(literal,) for literal in literals]
    rules += [(one, other) for i, one in enumerate(literals) for other in literals[i + 1 :]]
    logic = RuleLogic.of(domain, rules)
    assert len(logic.antecedents) > 30
    assert_covers(domain, logic, rules)
    # A rule on one attribute can leave nothing after another one, a rule on several cannot.
    assert 30 < logic.covers.sum() < logic.covers.size / 3


def assert_covers(domain: Domain, logic: RuleLogic, rules: list[Rule]) -> None:
    if all(len(rule) == 1 for rule in logic.antecedents):
        assert logic.covers.shape == (0, 0)
        return
    holds = np.array(truths(domain, list(logic.antecedents), rules), dtype=bool)
    for i, first in enumerate(holds):
        for j, then in enumerate(holds):
            takes_nothing = not (then & ~first).any()
            leaves_nothing = not (~then & ~first).any()
            assert logic.covers[i, j] == (takes_nothing or leaves_nothing), (i, j)


def test_rules_of_one_literal_are_those_of_the_literals() -> None:
    domain = Domain({"n": Integer(0, 5), "b": Binary()})
    literals: list[Any] = [OneOf("b", (1,)), Between("n", hi=2.5), OneOf("b", (0,)), Between("n", lo=2.5)]
    rules, logic = (
        RuleLogic.of(domain, [(literal,) for literal in literals]),
        LiteralLogic.of(domain, literals, up_to_negation=False),
    )
    assert rules.antecedents == tuple((literal,) for literal in logic.literals)
    for name in ("blocks", "starts", "masks", "full"):
        assert np.array_equal(getattr(rules, name), getattr(logic, name))
    assert repr(rules) == "<RuleLogic of 4 rules>"


def test_a_wide_rule_that_says_what_one_literal_does_is_left_out() -> None:
    domain = Domain.binary(["a", "b"], groups=[Implies(("a", "b"))])
    rules: list[Rule] = [
        (OneOf("a", (1,)), OneOf("b", (1,))),
        (OneOf("a", (1,)),),
        (OneOf("b", (1,)), OneOf("a", (0,))),
    ]
    assert RuleLogic.of(domain, rules).antecedents == (rules[1], rules[2])


def test_an_empty_pool() -> None:
    logic = RuleLogic.of(Domain.binary(["a"]), [])
    assert logic.antecedents == ()
    assert logic.covers.shape == (0, 0)


def test_rules_of_another_domain_are_refused() -> None:
    with pytest.raises(InvalidModelError):
        RuleLogic.of(Domain.binary(["a"]), [(OneOf("a", (1,)), OneOf("z", (1,)))])
