"""Cut points that follow from the public domain alone."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.grid import log_grid, on_grid, public_grid, with_cuts
from glassine.domain.groups import ExactlyOne


@settings(max_examples=30)
@given(st.integers(0, 10**18), st.integers(1, 10**18), st.booleans(), st.booleans())
@example(0, 1, True, False)
@example(0, 10**18, True, False)
@example(5, 10**6, False, True)
def test_a_log_grid_has_points_in_equal_ratios_between_the_bounds(lo: int, span: int, whole: bool, down: bool) -> None:
    low, high = (-lo - span, -lo) if down else (lo, lo + span)
    attribute = Integer(low, high) if whole else Real(float(low), float(high)) if float(low) < float(high) else None
    if attribute is None:
        return
    points = log_grid(attribute)
    assert list(points) == sorted(set(points))
    assert len(points) <= 145
    assert all(attribute.lo <= point <= attribute.hi for point in points)
    if whole:
        # Adjacent whole numbers have nothing between them; beyond 2^53 no double tells them apart.
        assert all(point % 1 == 0.5 for point in points if abs(point) < 2**50)
        points = tuple(point + 0.5 for point in points if abs(point) < 2**50)
    sizes = sorted(abs(point) for point in points if point)
    assert all(b <= 1.25 * a or (whole and b - a <= 1) for a, b in pairwise(sizes))


def test_a_log_grid_tells_amounts_apart_that_a_linear_one_does_not() -> None:
    income = Integer(0, 10_000_000)
    small = [[point for point in grid(income) if point < 20_000] for grid in (public_grid, log_grid)]
    assert len(small[0]) == 0
    assert len(small[1]) > 60


@pytest.mark.parametrize(
    "attribute",
    [Real(-5.0, 5.0), Integer(-1, 100), Real(0.0, 1e-321), Integer(3, 3), Binary(), Category(("a", "b"))],
)
def test_no_log_grid_around_zero_nor_of_what_is_no_amount(attribute: object) -> None:
    assert log_grid(attribute) == ()


def test_declared_thresholds_are_the_only_cut_points() -> None:
    attribute = Integer(0, 1000, thresholds=(3, 40))
    assert log_grid(attribute) == public_grid(attribute) == (3, 40)


def test_a_domain_declares_the_cut_points_that_it_is_given() -> None:
    domain = Domain(
        {"a": Integer(0, 10**70), "b": Real(0.0, 3.0, 0.5, missing=True), "c": Binary(), "d": Binary()},
        groups=ExactlyOne(("c", "d")),
    )
    cut = with_cuts(domain, lambda attribute: (*public_grid(attribute), float(attribute.hi)))  # type: ignore[union-attr]
    assert cut.groups == domain.groups
    assert cut["c"] == domain["c"]
    for name in ("a", "b"):
        attribute = cut[name]
        assert isinstance(attribute, Integer | Real)
        assert attribute.thresholds == tuple(p for p in public_grid(domain[name]) if p < attribute.hi)
        assert all(on_grid(attribute, point) for point in attribute.thresholds)
        assert not on_grid(attribute, math.nextafter(attribute.thresholds[0], math.inf)) or name == "a"
