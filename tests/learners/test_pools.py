"""Pools of rules: which antecedents there are, against all conjunctions of the literals."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from glassine.counting.logic import RuleLogic
from glassine.domain import Between, Binary, Category, Domain, ExactlyOne, Integer, Literal, OneOf, Real
from glassine.errors import InvalidParameterError
from glassine.learners import PrivateRuleListClassifier
from glassine.learners.antecedents import PoolPlan, both_signs, candidates, declared, pairs
from tests.oracles import worlds as possible

DOMAIN = Domain(
    {
        "n": Integer(0, 9, thresholds=(2.5, 5.5), missing=True),
        "k": Category(("u", "v", "w")),
        "a": Binary(),
        "b": Binary(),
    },
    groups=[ExactlyOne(("a", "b"))],
)


def truth(rule: tuple[Literal, ...]) -> tuple[bool, ...]:
    return tuple(possible.satisfies(record, rule) for record in possible.records(DOMAIN, domain_aware=True))


def test_both_signs_are_complements() -> None:
    literals = declared(DOMAIN, DOMAIN.names)
    found = both_signs(DOMAIN, literals)
    assert len(found) == 2 * len(literals) == 2 * 9
    for literal, rule, other in zip(literals, found[::2], found[1::2], strict=True):
        assert rule == (literal,)
        assert truth(other) == tuple(not value for value in truth(rule))


@pytest.mark.slow
def test_pairs_are_all_conjunctions_of_two_attributes() -> None:
    literals = declared(DOMAIN, DOMAIN.names)
    single = both_signs(DOMAIN, literals)
    expected = set(single) | {
        (one, other) for (one,), (other,) in combinations(single, 2) if one.attribute != other.attribute
    }
    found = pairs(DOMAIN, literals)
    assert len(found) == len(set(found))
    assert set(found) == expected
    # Of the rules that the domain tells apart, the logic keeps each once.
    kept = RuleLogic.of(DOMAIN, found).antecedents
    assert {truth(rule) for rule in kept} == {truth(rule) for rule in found if len(set(truth(rule))) == 2}
    assert len({truth(rule) for rule in kept}) == len(kept)


def test_plans_make_the_pool_of_their_kind() -> None:
    literals = declared(DOMAIN, DOMAIN.names)
    for kind, make in (("literals", both_signs), ("pairs", pairs)):
        plan = PoolPlan.of(DOMAIN, kind, "thresholds", 3)
        assert plan.pool(literals) == make(DOMAIN, literals)
        assert ("pairs" in plan.text()) is (kind == "pairs")


def test_a_given_pool_is_used_as_it_is() -> None:
    pool: list[list[Literal]] = [[OneOf("a", (1,)), Between("n", hi=2.5)], [OneOf("k", ("u",))]]
    plan = PoolPlan.of(DOMAIN, pool, "auto", 3)
    assert plan.pool([]) == [tuple(rule) for rule in pool]
    assert plan.literals.quantiled == ()
    assert plan.text() == "2 antecedents given"


@pytest.mark.parametrize(
    "pool",
    ["triples", 3, [OneOf("a", (1,))], [[]], [["a"]], [[OneOf("a", (1,))], []]],
)
def test_what_is_no_pool_is_refused(pool: Any) -> None:
    with pytest.raises(InvalidParameterError):
        PoolPlan.of(DOMAIN, pool, "auto", 3)


@pytest.mark.parametrize("resolution", [None, 0.01, 0.25, 0.7])
@pytest.mark.parametrize("pool", ["literals", "pairs"])
def test_no_quantiles_lead_to_more_conditions_than_the_widest_pool_has(pool: str, resolution: float | None) -> None:
    """Cut points of a number with few values are often one condition: the bound on rounding must not count on that."""
    domain = Domain({"dose": Real(0.0, 2.0, resolution=resolution), "age": Integer(0, 9), "sex": Category(("f", "m"))})
    plan = PoolPlan.of(domain, pool, "auto", 7)
    most = len(RuleLogic.of(domain, plan.widest()).antecedents)
    rng = np.random.default_rng(0)
    for _ in range(20):
        cuts = {name: sorted(rng.choice(candidates(domain, name), 7, replace=False)) for name in plan.quantiled}
        assert len(RuleLogic.of(domain, plan.with_cuts(cuts)).antecedents) <= most
    learner = PrivateRuleListClassifier(2, epsilon=5.0, domain=domain, classes=[0, 1], random_state=0)
    records = {"dose": rng.integers(0, 2, 60), "age": rng.integers(0, 10, 60), "sex": rng.choice(["f", "m"], 60)}
    if resolution != 0.7:
        assert learner.fit(records, rng.integers(0, 2, 60)).model_
