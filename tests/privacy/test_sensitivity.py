"""Sensitivities: no neighbor exceeds them, and some neighbor comes near."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from glassine.errors import GlassineError
from glassine.privacy.sensitivity import (
    COUNTED_GINI,
    clipped_sum,
    gini_impurity,
    histograms_l1,
    histograms_l2,
    quantile_score,
)


def gini(counts: tuple[int, ...]) -> Fraction:
    n = sum(counts)
    return 1 - Fraction(sum(count**2 for count in counts), n**2)


def additions(most: int, classes: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every data set of up to ``most`` records, at least one, with each addition of a record."""
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


@pytest.mark.parametrize("number", [1, 2, 3, 10, 999_999])
def test_histograms_are_rounded_up(number: int) -> None:
    assert histograms_l1(number) == number
    assert number <= Fraction(histograms_l2(number)) ** 2 < number * (1 + 1e-15)


def test_clipped_sum_is_the_larger_bound() -> None:
    assert clipped_sum(-3, 2) == 3
    assert clipped_sum(1, 2) == 2


def test_impossible_parameters_are_refused() -> None:
    for call in (
        lambda: histograms_l1(0),
        lambda: histograms_l2(-1),
        lambda: gini_impurity(0),
        lambda: quantile_score(Fraction(0)),
        lambda: quantile_score(Fraction(1)),
        lambda: clipped_sum(2, 1),
        lambda: clipped_sum(math.nan, 1),
        lambda: clipped_sum(0, math.inf),
    ):
        with pytest.raises(GlassineError):
            call()
