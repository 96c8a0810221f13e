"""Counting for greedy lists: against counting one by one; the domain's logic; impurities in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from glassine import Category, Domain, Integer
from glassine.data import CountTable
from glassine.domain import ExactlyOne, OneOf
from glassine.learners.antecedents import Antecedent, both_signs, declared, pairs
from glassine.learners.greedy import impurity as split_gini
from glassine.learners.greedy.growth import GreedyPool, bit_set_bytes
from glassine.learners.greedy.ordinary_lists import GreedyRuleListClassifier
from glassine.learners.intake import Intake, read_training
from glassine.sealed import gini
from glassine.sealed.gini import (
    best_split,
    counted_levels,
    impurity_levels,
    loss_levels,
    weighted_impurities,
)
from glassine.sealed.remaining import Remaining

DOMAIN = Domain({"n": Integer(0, 9, thresholds=(2, 5)), "c": Category(("x", "y", "z")), "b": Integer(0, 1)})


def intake(n: int, classes: int, seed: int = 0) -> Intake:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "n": rng.integers(0, 10, n),
            "c": rng.choice(np.array(["x", "y", "z"]), n).tolist(),
            "b": rng.integers(0, 2, n),
        }
    )
    estimator = GreedyRuleListClassifier(domain=DOMAIN)
    return read_training(
        estimator, frame, rng.integers(0, classes, n), domain=DOMAIN, classes=range(classes), private=False
    )


def rules() -> list[Antecedent]:
    literals = declared(DOMAIN, DOMAIN.names)
    return [
        *pairs(DOMAIN, literals),
        (literals[0], literals[2], literals[3]),
        (*literals[1:3], literals[4], literals[0]),
    ]


def truth(records: Intake, antecedent: Antecedent) -> npt.NDArray[np.bool_]:
    return np.asarray(np.all([records.columns.holds(literal) for literal in antecedent], axis=0), dtype=np.bool_)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("n", [1, 63, 64, 1000, 70_000])
def test_counts_are_those_of_counting_one_by_one(n: int, classes: int) -> None:
    records, pool = intake(n, classes), rules()
    remaining = Remaining.of(records, pool)
    left = np.ones(n, dtype=bool)
    some = list(range(0, len(pool), 7 if n > 1000 else 1))
    for taken in (None, 3, len(pool) - 1):
        if taken is not None:
            captured = left & truth(records, pool[taken])
            gone = np.bincount(records.labels[captured], minlength=classes)
            assert remaining.take(taken).tolist() == gone.tolist()
            left &= ~captured
        assert remaining.totals().tolist() == np.bincount(records.labels[left], minlength=classes).tolist()
        held = [left & truth(records, pool[i]) for i in some]
        wanted = [np.bincount(records.labels[rows], minlength=classes).tolist() for rows in held]
        assert remaining.counts(some).tolist() == wanted
        joint = remaining.joint_counts(some[:9])
        for (i, one), (j, other) in combinations(enumerate(held[:9]), 2):
            both = np.bincount(records.labels[one & other], minlength=classes).tolist()
            assert joint[i, j].tolist() == joint[j, i].tolist() == both


def test_multiplicities_count() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.integers(0, 2, 500), "y": rng.integers(0, 2, 500)})
    domain = Domain.binary(["a", "y"])
    table = CountTable.from_frame(frame, domain)
    records = read_training(GreedyRuleListClassifier(), table, "y", domain=None, classes=None, private=False)
    remaining = Remaining.of(records, [(OneOf("a", (1,)),)])
    ones = frame.filter(pl.col("a") == 1)["y"].to_numpy()
    assert remaining.counts([0]).tolist() == [np.bincount(ones, minlength=2).tolist()]
    assert remaining.totals().sum() == 500


def test_the_bit_sets_are_those_of_the_distinct_literals() -> None:
    records, pool = intake(1000, 2), rules()
    remaining = Remaining.of(records, pool)
    # Signs apart: two thresholds, three categories, and no literal for a number without thresholds.
    assert len(remaining.bitsets.words) == 10
    assert len(pool) > 30
    assert remaining.bitsets.words.nbytes <= 1.2 * bit_set_bytes(pool, 1000) + 2000


def test_rules_that_are_alike_or_constant_are_left_out() -> None:
    domain = Domain.binary(["a", "b"], groups=[ExactlyOne(("a", "b"))])
    pool = GreedyPool.of(domain, both_signs(domain, declared(domain, domain.names)))
    assert [str(rule[0].attribute) for rule in pool.antecedents] == ["a", "a"]
    never = (OneOf("a", (1,)), OneOf("b", (1,)))
    assert GreedyPool.of(domain, [never, (OneOf("a", (0, 1)),)]).antecedents == ()


def test_admissible_rules_can_take_and_leave_something() -> None:
    pool = GreedyPool.of(DOMAIN, rules())
    grid = list(product(range(10), ("x", "y", "z"), (0, 1)))
    frame = pl.DataFrame({"n": [g[0] for g in grid], "c": [g[1] for g in grid], "b": [g[2] for g in grid]})
    records = read_training(
        GreedyRuleListClassifier(domain=DOMAIN), frame, [0] * len(grid), domain=DOMAIN, classes=(0,), private=False
    )
    held = [truth(records, rule) for rule in pool.antecedents]
    for chosen in [(), *combinations(range(0, len(held), 3), 1), *combinations(range(0, 16), 2)]:
        left = np.ones(len(grid), dtype=bool)
        for i in chosen:
            left &= ~held[i]
        admissible = pool.admissible(chosen)
        for j in range(len(held)):
            useful = (left & held[j]).any() and (left & ~held[j]).any()
            assert j in admissible or not useful or j in chosen
            if all(len(pool.boxes[i]) == 1 for i in (*chosen, j)):
                assert (j in admissible) == (useful and j not in chosen)


def impurity(captured: npt.NDArray[np.int64], totals: npt.NDArray[np.int64]) -> Fraction:
    counted = Fraction(0)
    for part in (captured, totals - captured):
        n = int(part.sum())
        if n:
            counted += n - Fraction(sum(int(x) ** 2 for x in part), n)
    return counted / max(1, int(totals.sum()))


@pytest.mark.parametrize("scale", [3, 10**5, 10**10])
@pytest.mark.parametrize("classes", [2, 4])
def test_impurities_are_exact(scale: int, classes: int) -> None:
    rng = np.random.default_rng(0)
    totals = rng.integers(1, scale, classes)
    captured = rng.integers(0, totals + 1, (40, classes))
    exact = [impurity(row, totals) for row in captured]
    assert impurity_levels(captured, totals) == [int(value * 2**40 // 1) for value in exact]
    assert weighted_impurities(captured, totals) == pytest.approx([float(value) for value in exact])
    n = int(totals.sum())
    for level, value in zip(counted_levels(captured, totals), exact, strict=True):
        assert 0 <= value * n * 2**20 - level < 2
    errors = captured.sum(axis=1) - captured.max(axis=1)
    whole = loss_levels(captured) - errors * 2**20
    for level, row in zip(whole, captured, strict=True):
        assert 0 <= impurity(row, row) * int(row.sum()) * 2**20 - int(level) < 1
    best = best_split(captured, totals, np.ones(40, dtype=bool))
    assert best == (exact.index(min(exact)) if min(exact) < impurity(totals * 0, totals) else None)


@pytest.mark.parametrize("criterion", split_gini.CRITERIA)
def test_no_records_have_no_impurity(criterion: split_gini.Criterion) -> None:
    with np.errstate(all="raise"):
        assert split_gini.impurity([[0, 0], [1, 1]], criterion).tolist()[0] == 0


def test_the_best_split_is_the_first_of_equals_and_none_if_nothing_is_gained() -> None:
    totals = np.array([10, 10])
    alike = np.array([[5, 5], [10, 0], [0, 10], [10, 0]])
    assert best_split(alike, totals, [True] * 4) == 1
    assert best_split(alike, totals, [True, False, True, True]) == 2
    assert best_split(alike[:1], totals, [True]) is None
    assert best_split(alike, totals, [False] * 4) is None
    assert gini.GRID == 2**40
