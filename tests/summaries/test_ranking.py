"""Areas under ROC curves from noisy counts: their cells, their intervals, and what each record adds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from glassine.learners.summaries.noisy_intervals import MOST_CELLS, Ranking, cuts_of
from glassine.sealed.scoring import counts_by_score


def drawn(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Return normal scores, those of positives 1.5 higher, and who is positive."""
    positive = rng.random(n) < 0.3
    return rng.normal(1.5 * positive), positive


def cuts() -> Any:
    """Return cells of equal width, which are public."""
    return np.linspace(-3, 4.5, 15)


def rounded_truth() -> float:
    """Return the area of scores rounded to the cells, of all that records are drawn from."""
    edges = np.array([-np.inf, *cuts(), np.inf])
    below, above = (np.diff(stats.norm.cdf(edges - mean)) for mean in (0.0, 1.5))
    return float(above @ (np.cumsum(below) - below / 2))


def test_few_values_have_a_cell_each_and_many_their_quantiles() -> None:
    assert cuts_of(np.array([0.2, 0.7, 0.2, 0.9]), np.ones(4)).tolist() == [0.7, 0.9]
    rng = np.random.default_rng(0)
    scores, positive = drawn(rng, 20000)
    found = cuts_of(scores, np.ones(len(scores)))
    assert len(found) == MOST_CELLS - 1
    counts = counts_by_score(scores, positive, found)
    assert counts.sum(axis=0).min() > 0.9 * len(scores) / MOST_CELLS
    area = roc_auc_score(positive, scores)
    assert Ranking(released=counts, scale=1e-2).area == pytest.approx(area, abs=1e-3)


def test_each_record_adds_one_and_one_without_a_score_is_ranked_wrong() -> None:
    scores, positive = np.array([0.1, math.nan, math.nan, 9.0]), np.array([True, True, False, False])
    counts = counts_by_score(scores, positive, np.array([1.0, 2.0]))
    assert counts.tolist() == [[0, 0, 2], [2, 0, 0]]
    for row in range(4):
        one = counts_by_score(scores[[row]], positive[[row]], np.array([1.0, 2.0]))
        assert one.sum() == 1


def test_ties_count_half() -> None:
    counts = np.array([[30, 20, 0], [10, 20, 40]])
    scores, labels = np.repeat([0, 1, 2, 0, 1, 2], counts.ravel()), np.repeat([0, 1], counts.sum(axis=1))
    found = Ranking(released=counts, scale=1e-2)
    assert found.area == pytest.approx(roc_auc_score(labels, scores))
    low, high = found.bounds()
    assert low <= found.area <= high
    assert high - low < 0.003, "there is hardly any noise"


def intervals(number: int, scale: float, stated: float | None = None) -> tuple[int, int, float]:
    """Return how often the area of the records, and the expected one, are missed, and the mean width of the latter."""
    rng, truth = np.random.default_rng(3), rounded_truth()
    of_records = expected = 0
    widths = []
    for _ in range(number):
        exact = counts_by_score(*drawn(rng, 1500), cuts())
        noise = stats.dlaplace(1 / scale).rvs(exact.shape, random_state=rng)
        found = Ranking(released=exact + noise, scale=scale if stated is None else stated)
        low, high = found.bounds()
        own = Ranking(released=exact, scale=scale).area
        of_records += not low <= own <= high
        low, high = found.interval()
        expected += not low <= truth <= high
        widths.append(high - low)
    return of_records, expected, float(np.mean(widths))


@pytest.mark.slow
def test_intervals_contain_both_areas_often_enough() -> None:
    """Of 100, noise may miss 1 %, and noise and chance 5 %: 6 and 14 have probabilities below 0.001."""
    of_records, expected, width = intervals(100, 2.0)
    assert of_records <= 5
    assert expected <= 13
    assert width < 0.25


@pytest.mark.slow
def test_intervals_for_less_noise_than_there_is_are_found() -> None:
    of_records, _, _ = intervals(40, 8.0, stated=0.5)
    assert of_records > 10


def test_almost_no_noise_and_almost_nothing_but_noise_have_intervals() -> None:
    counts = counts_by_score(*drawn(np.random.default_rng(1), 3000), cuts())
    for scale in (1e-3, 1e5):
        low, high = Ranking(released=counts, scale=scale).interval()
        assert 0 <= low < high <= 1
        assert (high - low < 0.2) == (scale < 1)


def test_without_a_class_nothing_is_known() -> None:
    found = Ranking(released=np.array([[5, 3], [-1, 0]]), scale=2.0)
    assert math.isnan(found.area)
    assert found.interval() == (0.0, 1.0)
