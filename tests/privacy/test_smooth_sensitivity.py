"""Theorem IV.1: the closed form is the maximum, the paper's is not everywhere, and removals need another bound."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from glassine.errors import InvalidMechanismError
from glassine.privacy.sensitivity import gini_impurity, local_gini, published_smooth_gini, smooth_gini


def brute(n: int, support: int, beta: float) -> float:
    """Return the maximum over k of Lemma III.1."""
    return max(math.exp(-beta * k) * local_gini(max(support, n - k)) for k in range(n + 2))


def cases(number: int) -> list[tuple[int, int, float]]:
    source = random.Random(0)
    sizes = [0, 1, 2, 3, 4, 5, 7, 10, 30, 100, 300]
    supports = [1, 2, 3, 4, 10, 50, 400]
    return [(source.choice(sizes), source.choice(supports), 10 ** source.uniform(-5, 1.5)) for _ in range(number)]


def test_the_closed_form_is_the_maximum() -> None:
    kinds = set()
    for n, support, beta in cases(5000):
        assert published_smooth_gini(n, support, beta) == pytest.approx(brute(n, support, beta), rel=1e-12)
        kinds.add((n <= support, (1 - beta) ** 2 < 4 * beta, beta > 3 + 2 * math.sqrt(2)))
    # Supports that are not reached, roots that are not real, and roots that are negative all occur.
    assert len(kinds) == 6


# At 0.168 the largest term is that of two records, next to the root, and none of those at the ends.
@pytest.mark.parametrize("beta", [3 - 2 * math.sqrt(2), 3 + 2 * math.sqrt(2), 1.0, 1e-9, 0.168, 0.17, 0.172])
def test_the_closed_form_holds_where_the_roots_meet(beta: float) -> None:
    for n, support in product(range(12), range(1, 6)):
        assert published_smooth_gini(n, support, beta) == pytest.approx(brute(n, support, beta), rel=1e-12)


def printed(n: int, support: int, beta: float, *, clamped: bool) -> float:
    """Return the form as the paper prints it: in the theorem with the support in every term, in Appendix B not."""
    square = (1 - beta) ** 2 - 4 * beta
    t = n - (1 - beta - math.sqrt(square)) / (2 * beta) if square >= 0 else 0.0

    def xi(k: int, least: int) -> float:
        size = max(least, n - k)
        return math.exp(-beta * k) * local_gini(size)

    inner = support if clamped else 1
    return max(xi(0, support), xi(math.floor(t), inner), xi(math.ceil(t), inner), xi(n - support, support))


def test_the_theorem_as_printed_is_right_where_its_terms_are_in_range() -> None:
    for n, support, beta in product(range(5, 60, 5), (1, 2, 5), (1e-3, 0.01, 0.1, 0.17)):
        assert printed(n, support, beta, clamped=True) == pytest.approx(brute(n, support, beta), rel=1e-9)


def test_the_theorem_as_printed_is_too_large_below_the_support() -> None:
    # n - support is negative, and its exponential above 1.
    assert printed(10, 50, 0.1, clamped=True) > 50 * brute(10, 50, 0.1)


def test_without_the_support_in_the_inner_terms_it_is_too_large() -> None:
    # A small beta, and a support beyond the smaller root.
    assert printed(100, 50, 0.001, clamped=False) > 10 * brute(100, 50, 0.001)
    assert printed(100, 1, 0.001, clamped=False) == pytest.approx(brute(100, 1, 0.001), rel=1e-9)


def impurity(cells: tuple[tuple[int, ...], ...]) -> Fraction:
    n = sum(map(sum, cells))
    if not n:
        return Fraction(0)
    counted = [sum(c) - Fraction(sum(x * x for x in c), sum(c)) for c in cells if sum(c)]
    return sum(counted, start=Fraction(0)) / n


def local_sensitivity(n: int, *, removals: bool) -> Fraction:
    """Return the most that one record changes the weighted impurity of any split of n records."""
    worst = Fraction(0)
    for counts in product(range(n + 1), repeat=4):
        if sum(counts) != n:
            continue
        before = impurity((counts[:2], counts[2:]))
        for at in range(4):
            after = [count + (i == at) * (-1 if removals else 1) for i, count in enumerate(counts)]
            if min(after) >= 0:
                worst = max(worst, abs(impurity(((after[0], after[1]), (after[2], after[3]))) - before))
    return worst


@pytest.mark.parametrize("n", range(2, 10))
def test_the_published_local_sensitivity_covers_additions_and_not_removals(n: int) -> None:
    assert local_sensitivity(n, removals=False) == gini_impurity(n)
    assert local_sensitivity(n, removals=True) == (gini_impurity(n - 1) if n > 1 else 0)
    # The published bound for a large beta is its local sensitivity, below what a removal does for n > 2.
    if n > 2:
        assert published_smooth_gini(n, 1, 20.0) < float(local_sensitivity(n, removals=True))
    either = max(local_sensitivity(n, removals=removals) for removals in (False, True))
    assert smooth_gini(n, 20.0) >= float(either)


@pytest.mark.parametrize("beta", [1e-4, 0.01, 0.3, 3.0])
def test_the_bound_that_covers_both_is_smooth(beta: float) -> None:
    values = [smooth_gini(n, beta) for n in range(400)]
    ratios = [abs(math.log(values[n + 1] / values[n])) for n in range(399)]
    assert max(ratios) <= beta * (1 + 1e-9)
    for n in range(1, 60):
        wanted = max(math.exp(-beta * k) * local_gini(max(1, n - 1 - k)) for k in range(n + 2))
        assert wanted <= values[n] <= wanted * (1 + 1e-12)


def test_impossible_parameters_are_refused() -> None:
    calls: list[Callable[[], float]] = [
        lambda: published_smooth_gini(-1, 1, 0.1),
        lambda: published_smooth_gini(5, 0, 0.1),
        lambda: published_smooth_gini(5, 1, 0.0),
        lambda: published_smooth_gini(5, 1, math.nan),
        lambda: smooth_gini(5, math.inf),
    ]
    for call in calls:
        with pytest.raises(InvalidMechanismError):
            call()
