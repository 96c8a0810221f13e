"""Sizes of classes, by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import pytest

from glassine.capacity import (
    additive_bits,
    rule_list_bits,
    scorecard_bits,
    scorecard_class,
    tree_bits,
    tree_leaves,
    tree_length,
)
from glassine.errors import InvalidParameterError


def trees(questions: tuple[int, ...], depth: int, leaves: tuple[object, ...]) -> Iterator[object]:
    yield from leaves
    if depth:
        for asked in questions:
            rest = tuple(q for q in questions if q != asked)
            sides = list(trees(rest, depth - 1, leaves))
            yield from ((asked, a, b) for a in sides for b in sides)


def n_leaves(tree: object) -> int:
    return n_leaves(tree[1]) + n_leaves(tree[2]) if isinstance(tree, tuple) else 1


@pytest.mark.parametrize(("questions", "depth"), [(0, 2), (2, 3), (3, 1), (3, 2), (4, 2), (4, 0)])
@pytest.mark.parametrize("values", [1, 2, 3])
def test_trees(questions: int, depth: int, values: int) -> None:
    every = set(trees(tuple(range(questions)), depth, tuple(f"leaf {i}" for i in range(values))))
    assert 2 ** tree_bits(questions, depth, values) == pytest.approx(len(every))
    assert max(map(n_leaves, every)) == tree_leaves(questions, depth)
    # The lengths of single trees meet Kraft's inequality.
    lengths = [tree_length(n_leaves(tree), questions, values) for tree in every if n_leaves(tree) == 1 or questions]
    assert sum(2.0**-length for length in lengths) <= 1


@pytest.mark.parametrize(("pool", "rules", "values"), [(4, 2, 2), (3, 5, 2), (4, 3, 1), (0, 2, 3), (5, 0, 2)])
def test_rule_lists(pool: int, rules: int, values: int) -> None:
    every = sum(
        values ** (r + 1) for r in range(rules + 1) for _ in itertools.permutations(range(pool), r) if r <= pool
    )
    assert 2 ** rule_list_bits(pool, rules, values) == pytest.approx(every)


@pytest.mark.parametrize(("items", "most", "points"), [(4, 2, 2), (3, 5, 1), (0, 2, 2)])
def test_scorecards(items: int, most: int, points: int) -> None:
    worth = [p for p in range(-points, points + 1) if p]
    every = {
        tuple(zip(chosen, given, strict=True))
        for r in range(most + 1)
        for chosen in itertools.combinations(range(items), r)
        for given in itertools.product(worth, repeat=r)
    }
    assert 2 ** scorecard_bits(items, most, points, 5) == pytest.approx(5 * len(every))


def test_a_card_counts_its_intercept_and_the_worth_of_a_point() -> None:
    plain = scorecard_class(4, 2, 2, intercepts=1, units=1)
    assert plain.structure_bits == pytest.approx(scorecard_bits(4, 2, 2))
    counted = scorecard_class(4, 2, 2, intercepts=11, units=4)
    assert counted.structure_bits == pytest.approx(scorecard_bits(4, 2, 2, 11) + 2)
    # Numbers with all their digits, unless it is stated that they are not.
    assert scorecard_class(4, 2, 2).structure_bits == pytest.approx(scorecard_bits(4, 2, 2) + 128)
    assert scorecard_class(4, 2, 2).labelled_bits > scorecard_class(4, 2, 2).structure_bits
    with pytest.raises(InvalidParameterError, match="units"):
        scorecard_class(4, 2, 2, units=0)


def test_additive_models() -> None:
    assert 2 ** additive_bits(3, 4, 5) == pytest.approx(len(list(itertools.product(range(4), repeat=3))) * 5)
    assert additive_bits(0, 61) == 0.0


def test_published_figures() -> None:
    assert tree_bits(24, 3, 2) == pytest.approx(39.6, abs=0.05)
    assert tree_bits(24, 3) == pytest.approx(31.7, abs=0.05)
    assert rule_list_bits(100, 5, 2) == pytest.approx(39, abs=0.2)


def test_large_classes_do_not_overflow() -> None:
    assert math.isfinite(tree_bits(10**6, 40, 10))
    assert tree_bits(10**6, 10, 2) > 10_000
    assert tree_length(10**6, 1000, 2) > 2e6


def test_bad_input_is_an_error_of_ours() -> None:
    wrongs: list[Callable[[], float]] = [
        lambda: tree_bits(-1, 2),
        lambda: tree_bits(3, 2, 0),
        lambda: rule_list_bits(3, -1),
    ]
    for wrong in wrongs:
        with pytest.raises(InvalidParameterError):
            wrong()
