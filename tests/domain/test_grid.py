"""Cut points that follow from the public domain alone."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.grid import few_cuts, log_grid, on_grid, public_grid, with_cuts
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


@settings(max_examples=60)
@given(st.integers(0, 10**18), st.integers(1, 10**18), st.integers(1, 12), st.booleans(), st.booleans())
@example(0, 1_000, 1, True, False)
@example(0, 10**18, 9, True, True)
@example(1, 10**6, 2, False, False)
def test_few_cuts_are_few_and_on_the_grid_of_the_attribute_alone(
    lo: int, span: int, size: int, whole: bool, down: bool
) -> None:
    low, high = (-lo - span, -lo) if down else (lo, lo + span)
    attribute = Integer(low, high) if whole else Real(float(low), float(high)) if float(low) < float(high) else None
    if attribute is None:
        return
    cuts = few_cuts(attribute, size=size)
    assert list(cuts) == sorted(set(cuts))
    assert len(cuts) <= size
    assert all(attribute.lo <= cut <= attribute.hi for cut in cuts)
    if high - low < 2**50:
        assert all(on_grid(attribute, cut) or cut in public_grid(attribute, size=size) for cut in cuts)
    mirrored = Integer(-high, -low) if whole else Real(-float(high), -float(low))
    # The mirrored amounts have mirrored points, up to the half by which whole numbers are cut below.
    if few_cuts(attribute, size=size) != public_grid(attribute, size=size) and not whole:
        assert tuple(sorted(-cut for cut in cuts)) == few_cuts(mirrored, size=size)


@pytest.mark.parametrize("hi", [1_000, 4_356, 99_999, 5_000_000, 10**7, 10**12])
def test_few_cuts_of_amounts_reach_the_middle_of_their_magnitudes(hi: int) -> None:
    for attribute in (Integer(0, hi), Real(0.0, float(hi)), Real(1.0, float(hi))):
        for size in (7, 9):
            cuts = few_cuts(attribute, size=size)
            least = max(1, hi / 10**6)
            assert sum(cut <= math.sqrt(least * hi) for cut in cuts) >= (2 if attribute.lo == 0 else 1)
            assert all(b <= 10.5 * a for a, b in pairwise(cuts[1:]))
            # As many as asked for, but where decades are enough.
            assert len(cuts) >= 5


@pytest.mark.parametrize(
    "attribute",
    [
        Integer(0, 999),
        Integer(17, 90),
        Integer(-1, 10**6),
        Real(0.0, 16.0, 0.0001),
        Real(0.0, 1.0),
        Real(0.0, 5_000.0, 10.0),
        Integer(1900, 99_999),
    ],
)
def test_other_ranges_have_few_even_cuts(attribute: Integer | Real) -> None:
    assert few_cuts(attribute, size=9) == public_grid(attribute, size=9)


def test_few_cuts_of_declared_thresholds_are_these_and_of_no_number_none() -> None:
    assert few_cuts(Integer(0, 10**6, thresholds=(3, 40)), size=1) == (3, 40)
    assert few_cuts(Binary(), size=9) == few_cuts(Category(("a", "b")), size=9) == ()


def test_round_amounts_are_public_and_others_are_not() -> None:
    gain = Integer(0, 99_999)
    assert all(on_grid(gain, cut) for cut in (0.5, 4_999.5, 4_999.25, 29_999.5))
    assert not any(on_grid(gain, cut) for cut in (7_073.5, 4_998.5, 5_000.5))
    assert not on_grid(Integer(0, 99_999, thresholds=(10,)), 4_999.5)
