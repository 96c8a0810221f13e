"""Contributions behind a mean, by the rules of statistical offices, and how closely a number follows."""

from __future__ import annotations

import numpy as np
import pytest

from glassine.attacks.magnitudes import ContributionBounds, LargestContributions, NumberInference, contributions_behind


def test_the_three_rules_by_hand() -> None:
    found = LargestContributions.of(np.array([5.0, 80.0, 15.0]))
    assert found is not None
    assert (found.one, found.two) == pytest.approx((0.8, 0.95))
    # The second knows all but 5 of 100: the largest to within 5 of 80.
    assert found.rest == pytest.approx(5 / 80)
    assert LargestContributions.of(np.zeros(3)) is None


def test_the_records_of_a_person_are_one_contribution_and_gaps_are_none() -> None:
    cells, targets = np.array([0, 0, 0, 1]), np.array([-4.0, 3.0, 3.0, np.nan])
    (by_record,) = contributions_behind(cells, targets, None, 2)
    assert by_record.one == pytest.approx(0.4)
    (by_person,) = contributions_behind(cells, targets, np.array([0, 1, 1, 2]), 2)
    assert by_person.one == pytest.approx(0.6)


def test_a_range_that_a_mean_is_out_of_bounds_nothing() -> None:
    assert ContributionBounds.of_means([100, 100], [0.5, 1.0 + 1e-15], (0.0, 1.0)).most is not None
    for mean in (500.0, -0.1):
        assert ContributionBounds.of_means([100, 100], [0.5, mean], (0.0, 1.0)).most is None


def test_a_mean_that_is_rounded_to_zero_may_be_of_one() -> None:
    rounded = ContributionBounds.of_means([100, 100], [0.0, 12.5], (0.0, 200.0)).most
    exact = ContributionBounds.of_means([100, 100], [0.0, 100 / 3], (0.0, 200.0)).most
    assert rounded is not None
    assert exact is not None
    assert (rounded[0].one, exact[0].one) == (1.0, 0.0)


def test_how_closely_a_number_follows() -> None:
    found = NumberInference.of(np.array([100.0, 100.0, 100.0, 40.0]), np.array([95.0, 109.0, 120.0, 41.0]))
    assert found is not None
    assert (found.within_tenth, found.within_tenth_without) == (0.75, 0.5)
    assert found.half_width == pytest.approx(np.quantile([5, 9, 20, 1], 0.9))
