"""Sensitivities: no neighbor exceeds them, and some neighbor comes near."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from glassine.errors import GlassineError
from glassine.privacy.sensitivity import (
    COUNTED_GINI,
    COUNTED_LOSS,
    gini_impurity,
    gini_spread,
    quantile_score,
)


def gini(counts: tuple[int, ...]) -> Fraction:
    n = sum(counts)
    return 1 - Fraction(sum(count**2 for count in counts), n**2)


def additions(most: int, classes: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every dataset of up to ``most`` records, at least one, with each addition of a record."""
    out = []
    for counts in product(range(most + 1), repeat=classes):
        if 1 <= sum(counts) <= most:
            for k in range(classes):
                out.append((counts, tuple(count + (j == k) for j, count in enumerate(counts))))
    return out


@pytest.mark.parametrize("classes", [2, 3])
def test_gini_impurity_is_bounded_and_attained(classes: int) -> None:
    worst: dict[int, Fraction] = {}
    for before, after in additions(12, classes):
        n = sum(before)
        worst[n] = max(worst.get(n, Fraction(0)), abs(gini(after) - gini(before)))
    assert worst == {n: gini_impurity(n) for n in worst}
    assert all(gini_impurity(n + 1) < gini_impurity(n) for n in range(1, 12))


def test_gini_impurity_of_n_does_not_cover_a_removal_from_n() -> None:
    assert abs(gini((2, 0)) - gini((2, 1))) == gini_impurity(2)
    assert abs(gini((3, 1)) - gini((3, 0))) == gini_impurity(3) > gini_impurity(4)


@pytest.mark.parametrize("classes", [2, 3])
def test_counted_gini_is_monotone_and_stays_below_two(classes: int) -> None:
    changes = [sum(after) * gini(after) - sum(before) * gini(before) for before, after in additions(12, classes)]
    assert min(changes) >= 0
    assert Fraction(18, 10) < max(changes) < COUNTED_GINI


@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(1, 5), Fraction(3, 4)])
def test_quantile_score_is_bounded_and_attained(quantile: Fraction) -> None:
    def score(left: int, right: int) -> Fraction:
        return -abs((1 - quantile) * left - quantile * right)

    changes = [
        abs(score(left + added, right + 1 - added) - score(left, right))
        for left, right, added in product(range(8), range(8), (0, 1))
    ]
    assert max(changes) == quantile_score(quantile)


def test_impossible_parameters_are_refused() -> None:
    calls: list[Callable[[], object]] = [
        lambda: gini_impurity(0),
        lambda: quantile_score(Fraction(0)),
        lambda: quantile_score(Fraction(1)),
    ]
    for call in calls:
        with pytest.raises(GlassineError):
            call()


def weighted(cells: list[tuple[int, ...]]) -> Fraction:
    n = sum(map(sum, cells))
    return sum((sum(cell) * gini(cell) for cell in cells if sum(cell)), start=Fraction(0)) / max(1, n)


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "most"), [(2, 6), (3, 4), (4, 3)])
def test_changes_of_two_splits_lie_within_the_spread(classes: int, most: int) -> None:
    # A record is in one of the four cells that two splits make together, and has a class.
    universe = list(product(range(4), range(classes)))
    worst: dict[int, Fraction] = {}

    def impurities(counts: tuple[int, ...]) -> list[Fraction]:
        table = [counts[cell * classes : (cell + 1) * classes] for cell in range(4)]

        def joined(cells: tuple[int, int]) -> tuple[int, ...]:
            return tuple(map(sum, zip(*(table[cell] for cell in cells), strict=True)))

        return [weighted([joined((0, 1)), joined((2, 3))]), weighted([joined((0, 2)), joined((1, 3))])]

    for n in range(1, most + 1):
        for records in combinations_with_replacement(range(len(universe)), n):
            counts = tuple(records.count(i) for i in range(len(universe)))
            before = impurities(counts)
            for added in range(len(universe)):
                after = impurities(tuple(count + (i == added) for i, count in enumerate(counts)))
                moved = [later - earlier for earlier, later in zip(before, after, strict=True)]
                worst[n] = max(worst.get(n, Fraction(0)), abs(moved[0] - moved[1]))
    assert all(worst[n] <= gini_spread(n, classes) for n in worst)
    assert worst[1] == gini_spread(1, classes) == Fraction(1, 2)
    assert all(gini_spread(n + 1, classes) <= gini_spread(n, classes) for n in range(1, 50))


def test_the_spread_is_approached_by_many_records() -> None:
    # One split separates a thousand records of either class; a record comes that this split and its class contradict,
    # while the other split has a small pure part for it.
    half = 1000
    before = [weighted([(half, 0), (0, half)]), weighted([(9, 0), (half - 9, half)])]
    after = [weighted([(half, 0), (1, half)]), weighted([(10, 0), (half - 9, half)])]
    moved = [later - earlier for earlier, later in zip(before, after, strict=True)]
    assert Fraction(99, 100) * gini_spread(2 * half, 2) < abs(moved[0] - moved[1]) <= gini_spread(2 * half, 2)


@pytest.mark.parametrize("classes", [2, 3])
def test_errors_plus_counted_gini_are_monotone_and_stay_below_three(classes: int) -> None:
    def loss(counts: tuple[int, ...]) -> Fraction:
        return sum(counts) - max(counts) + sum(counts) * gini(counts)

    changes = [loss(after) - loss(before) for before, after in additions(12, classes)]
    assert min(changes) >= 0
    assert Fraction(24, 10) < max(changes) < COUNTED_LOSS
