"""The arithmetic of edits against definitions and scikit-learn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from glassine.models.terms import FLOOR, isotonic, smoothed, weighted_mean

SCORES = st.lists(st.floats(-100, 100) | st.integers(-3, 3).map(float), min_size=1, max_size=30)
WEIGHTS = st.floats(-50, 2000) | st.sampled_from([0.0, -0.0, 1.0, 1e-9])


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    """Draw scores and noisy counts, zero and negative ones among them."""
    scores = draw(SCORES)
    return scores, draw(st.lists(WEIGHTS, min_size=len(scores), max_size=len(scores)))


@pytest.mark.slow
@given(rows())
@example(([3.0, 2.0, 1.0], [0.0, -5.0, 0.0]))
@example(([1.0, 1.0, 0.0], [1.0, 1e9, 1.0]))
def test_isotonic_is_that_of_scikit_learn(row: tuple[list[float], list[float]]) -> None:
    scores, weights = row
    found = isotonic(scores, weights)
    floored = np.maximum(weights, FLOOR)
    expected = IsotonicRegression().fit_transform(np.arange(len(scores)), scores, sample_weight=floored)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert all(a <= b for a, b in itertools.pairwise(found))


@given(SCORES)
def test_what_is_in_order_stays_to_the_last_digit(scores: list[float]) -> None:
    ordered = sorted(scores)
    assert isotonic(ordered, [7.0] * len(ordered)) == ordered


@pytest.mark.slow
@given(rows())
def test_isotonic_twice_is_once_and_keeps_the_weighted_mean(row: tuple[list[float], list[float]]) -> None:
    scores, weights = row
    once = isotonic(scores, weights)
    assert isotonic(once, weights) == once
    assert weighted_mean(once, weights) == pytest.approx(weighted_mean(scores, weights), abs=1e-9)


def test_a_planted_mistake_in_the_weights_would_show() -> None:
    # Weights that are ignored, or not floored, give another answer.
    assert isotonic([2.0, 1.0], [3.0, 1.0]) == [1.75, 1.75]
    assert isotonic([2.0, 1.0], [3.0, -1.0]) == [1.75, 1.75]
    assert isotonic([2.0, 1.0], [0.0, 0.0]) == [1.5, 1.5]


def test_smoothing_by_hand() -> None:
    assert smoothed([0.0, 3.0, 0.0], [1, 1, 1], 1.0) == [1.5, 1.0, 1.5]
    assert smoothed([0.0, 4.0], [3, 1], 0.5) == [0.5, 2.5]
    assert smoothed([0.0, 4.0], [3, -9], 0.5) == [0.5, 2.5]
    assert smoothed([5.0], [0.0], 1.0) == [5.0]


@given(rows(), st.floats(0.01, 1))
def test_smoothing_stays_within_the_neighbours(row: tuple[list[float], list[float]], strength: float) -> None:
    scores, weights = row
    for i, value in enumerate(smoothed(scores, weights, strength)):
        near = scores[max(i - 1, 0) : i + 2]
        assert min(near) - 1e-9 <= value <= max(near) + 1e-9


def test_thousands_of_bins_are_quick_to_put_in_order() -> None:
    falling = [float(-k) for k in range(20_000)]
    assert isotonic(falling, [1.0] * 20_000) == pytest.approx([-9999.5] * 20_000)
