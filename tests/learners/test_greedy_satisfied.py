"""How many rules one record can satisfy: records against the domain's groups, undeclared values, fractions."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from glassine import Binary, Category, Domain, Integer, Real
from glassine.domain import AtMostOne, Between, ExactlyOne, Implies, OneOf
from glassine.errors import InvalidDataError, InvalidDomainError
from glassine.learners.antecedents import Antecedent, PoolPlan
from glassine.learners.greedy.growth import GreedyPool
from glassine.learners.greedy.private_lists import PrivateGreedyRuleListClassifier
from glassine.privacy.accounting import DiscreteLaplaceNoise
from glassine.records.undeclared import read_checked
from glassine.sealed import growth_price
from glassine.sealed.gini import counted_levels
from glassine.sealed.satisfied import most_satisfied

Counts: TypeAlias = npt.NDArray[np.int64]


def one_hot(width: int) -> Domain:
    names = tuple(f"c{i}" for i in range(width))
    return Domain(dict.fromkeys(names, Binary()), groups=(ExactlyOne(names),))


def pool_of(domain: Domain, kind: str) -> GreedyPool:
    plan = PoolPlan.of(domain, kind, "auto", 3)
    return GreedyPool.of(domain, plan.pool(plan.literals.widest()))


def satisfied(domain: Domain, rules: tuple[Antecedent, ...], records: list[tuple[Any, ...]]) -> Counts:
    """Return how many rules each record satisfies, as the learner reads it."""
    data = {
        name: np.array(column, dtype=object) for name, column in zip(domain, zip(*records, strict=True), strict=True)
    }
    columns = read_checked(data, domain)
    held = [np.logical_and.reduce([columns.holds(literal) for literal in rule]) for rule in rules]
    return np.asarray(np.sum(held, axis=0), dtype=np.int64)


def by_the_groups(domain: Domain, rules: tuple[Antecedent, ...]) -> int:
    """Return the planted figure: the most rules that a record satisfies which obeys an ``ExactlyOne`` group."""
    return int(satisfied(domain, rules, [tuple(row) for row in np.eye(len(domain), dtype=int).tolist()]).max())


@pytest.mark.parametrize(("width", "kind", "sensitivity"), [(10, "pairs", 56), (10, "literals", 11), (3, "pairs", 4)])
def test_records_against_a_group_count(width: int, kind: str, sensitivity: int) -> None:
    domain = one_hot(width)
    pool = pool_of(domain, kind)
    assert growth_price.counts_sensitivity(pool) == sensitivity
    against = satisfied(domain, pool.antecedents, [(0,) * width, (1,) * width])
    assert against.max() + 1 == sensitivity


def test_a_pool_of_positive_rules_under_a_group() -> None:
    domain = one_hot(8)
    pool = GreedyPool.of(domain, [(OneOf(name, (1,)),) for name in domain])
    assert by_the_groups(domain, pool.antecedents) == 1
    assert most_satisfied(domain, pool.antecedents) == 8


def test_numbers_between_whole_ones_and_beside_the_resolution_count() -> None:
    whole = Domain({"a": Integer(0, 10)})
    assert most_satisfied(whole, [(Between("a", hi=2.8),), (Between("a", lo=2.2),)]) == 2
    coarse = Domain({"a": Real(0, 10, resolution=1)})
    assert most_satisfied(coarse, [(Between("a", hi=2.8),), (Between("a", lo=2.2),)]) == 2
    assert most_satisfied(whole, [(Between("a", hi=2),), (Between("a", lo=2),)]) == 1
    assert most_satisfied(whole, [(Between("a", lo=2, hi=3),), (OneOf("a", (3,)),), (OneOf("a", (4,)),)]) == 2
    # Values are clipped to the bounds, so that nothing lies beyond them.
    assert most_satisfied(whole, [(Between("a", hi=-1),), (Between("a", lo=10),)]) == 0


def test_what_is_not_declared_counts() -> None:
    domain = Domain({"a": Category(("x", "y", "z"))})
    rules: list[Antecedent] = [(OneOf("a", (value,)).negate(),) for value in "xyz"]
    assert most_satisfied(domain, rules) == 3
    assert satisfied(domain, tuple(rules), [("pope",), ("x",)]).tolist() == [3, 2]


def test_rules_of_many_literals_and_wrong_ones() -> None:
    domain = Domain.binary(["a", "b", "c"])
    values = list(product((0, 1), repeat=3))
    triples: list[Antecedent] = [
        tuple(OneOf(name, (value,)) for name, value in zip(domain, row, strict=True)) for row in values
    ]
    assert most_satisfied(domain, triples) == 8
    assert most_satisfied(domain, []) == 0
    both: Antecedent = (OneOf("a", (1,)), OneOf("a", (0,)))
    assert most_satisfied(domain, [both, (OneOf("a", (1,)),)]) == 1
    with pytest.raises(InvalidDomainError):
        most_satisfied(domain, [(OneOf("z", (1,)),)])
    with pytest.raises(InvalidDataError):
        most_satisfied(Domain({"a": Category(("x", "y"))}), [(Between("a", hi=1),)])


MIXED = Domain(
    {
        "n": Integer(0, 6, missing=True, thresholds=(1, 3)),
        "r": Real(0, 1, thresholds=(0.25, 0.5), resolution=0.25),
        "k": Category(("u", "v")),
        "c": Binary(),
        "d": Binary(),
    },
    groups=(AtMostOne(("c", "d")), Implies(("d", "c"))),
)


@pytest.mark.parametrize("kind", ["literals", "pairs"])
def test_no_record_of_a_grid_satisfies_more(kind: str) -> None:
    pool = pool_of(MIXED, kind)
    grid = list(product([-1, 0.5, 1, 2.5, 3, 9, None], [0.1, 0.25, 0.3, 0.9], ["u", "v", "odd", None], [0, 1], [0, 1]))
    grid = [record for record in grid if record[2] is not None]
    assert satisfied(MIXED, pool.antecedents, grid).max() <= most_satisfied(MIXED, pool.antecedents)
    if kind == "literals":
        assert satisfied(MIXED, pool.antecedents, grid).max() == most_satisfied(MIXED, pool.antecedents)


# The law of one choice.

WIDTH, RECORDS, EPSILON = 8, 1000, 3.0


def law(values: int, scale: float, radius: int) -> tuple[Counts, npt.NDArray[np.float64]]:
    """Return a noisy count cut at 0 and its probabilities, up to the mass beyond a radius."""
    noise = np.arange(-radius, radius + 1)
    mass = math.tanh(0.5 / scale) * np.exp(-np.abs(noise) / scale)
    found, place = np.unique(np.maximum(values + noise, 0), return_inverse=True)
    return np.asarray(found, dtype=np.int64), np.bincount(place, weights=mass).astype(np.float64)


def chance_of_the_last(captured: list[tuple[int, int]], totals: tuple[int, int], scale: float, radius: int) -> float:
    """Return how likely the last rule has the least impurity, the others being alike; ties go to earlier rules."""
    laws = [law(count, scale, radius) for count in (*captured[0], *captured[-1], *totals)]
    grids = [np.array(list(product(laws[i][0], laws[i + 1][0]))) for i in (0, 2)]
    masses = [np.outer(laws[i][1], laws[i + 1][1]).ravel() for i in (0, 2)]
    total = 0.0
    for (a, p), (b, q) in product(zip(*laws[4], strict=True), zip(*laws[5], strict=True)):
        whole = np.array([a, b])
        none = counted_levels(np.zeros((1, 2), dtype=np.int64), whole)[0]
        levels = [np.array(counted_levels(np.minimum(grid, whole), whole)) for grid in grids]
        order = np.argsort(levels[0])
        above = np.concatenate([np.cumsum(masses[0][order][::-1])[::-1], [0.0]])
        alone = above[np.searchsorted(levels[0][order], levels[1], side="right")]
        wins = masses[1] * alone ** (len(captured) - 1) * (levels[1] < none)
        total += p * q * float(wins.sum())
    return total


def ratio(scale: float, radius: int) -> float:
    """Return the log-ratio of choosing the last rule when a record joins that satisfies all the others."""
    before = chance_of_the_last([(0, RECORDS)] * WIDTH, (0, RECORDS), scale, radius)
    joined = [(1, RECORDS)] * (WIDTH - 1) + [(0, RECORDS)]
    return math.log(chance_of_the_last(joined, (1, RECORDS), scale, radius) / before)


@pytest.mark.slow
def test_a_record_against_the_group_stays_within_epsilon() -> None:
    domain = one_hot(WIDTH)
    pool = GreedyPool.of(domain, [(OneOf(name, (1,)),) for name in domain])
    planted = by_the_groups(domain, pool.antecedents) + 1
    assert ratio(planted / EPSILON, 7) > 1.3 * EPSILON
    assert 0 < ratio(growth_price.counts_sensitivity(pool) / EPSILON, 14) <= EPSILON


def test_the_certificate_of_a_fit_states_the_noise() -> None:
    domain = one_hot(WIDTH)
    X = np.ones((50, WIDTH), dtype=int)
    fitted = PrivateGreedyRuleListClassifier(
        2, mechanism="noisy-counts", epsilon=EPSILON, domain=domain, classes=(0, 1), random_state=0
    ).fit(X, np.ones(50, dtype=int))
    (choices,) = [event for event in fitted.certificate_.events if event.name.startswith("class counts of all")]
    assert isinstance(choices, DiscreteLaplaceNoise)
    assert choices.l1_sensitivity == WIDTH + 1
    assert choices.scale == pytest.approx((WIDTH + 1) / (EPSILON * 0.75 / 2))
