"""Intervals and ROC curves: published values, naive oracles, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare, multivariate_hypergeom, norm

from glassine.attacks.membership.confidence_intervals import (
    ScoreCounts,
    area_of_counts,
    check_confidence,
    clopper_pearson,
    newcombe,
)
from glassine.attacks.membership.result import roc_curve
from glassine.attacks.membership.score_thresholds import (
    FEW,
    N_FOLDS,
    _crossfit_together,
    best_threshold,
    crossfit,
    dealt,
    dealt_together,
)
from glassine.errors import InvalidParameterError

SCORES = st.lists(st.integers(0, 4), min_size=1, max_size=8)


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 30), (7, 30), (30, 30)])
def test_clopper_pearson_equals_scipy(hits: int, n: int) -> None:
    ours = clopper_pearson(hits, n, 0.9)
    theirs = binomtest(hits, n).proportion_ci(0.9, method="exact")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_a_fraction_of_a_success_widens_both_sides() -> None:
    estimate = clopper_pearson(2.5, 10, 0.95)
    assert estimate.low == clopper_pearson(2, 10, 0.95).low
    assert estimate.high == clopper_pearson(3, 10, 0.95).high


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    # Newcombe 1998, table II, method 10.
    [((56, 70, 48, 80), 0.0524, 0.3339), ((9, 10, 3, 10), 0.1705, 0.8090), ((10, 10, 0, 20), 0.6791, 1.0)],
)
def test_newcombe_equals_the_published_examples(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    estimate = newcombe(*counts, 0.95)
    assert (round(estimate.low, 4), round(estimate.high, 4)) == (low, high)


def test_scaling_moves_all_three_figures() -> None:
    estimate = newcombe(8, 10, 5, 10, 0.95).scaled(0.5, 0.5)
    assert estimate.value == pytest.approx(0.65)
    assert estimate.low < 0.65 < estimate.high
    assert "0.650 (95% interval" in str(estimate)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.1, float("nan"), "0.95", None, True])
def test_impossible_confidence_is_refused(confidence: object) -> None:
    with pytest.raises(InvalidParameterError, match="strictly between 0 and 1"):
        check_confidence(confidence)


@given(SCORES, SCORES)
def test_the_area_is_the_share_of_pairs_in_order(members: list[int], nonmembers: list[int]) -> None:
    pairs = [(a > b) + 0.5 * (a == b) for a in members for b in nonmembers]
    a, b = np.array(members, float), np.array(nonmembers, float)
    estimate = area_of_counts(ScoreCounts.of(a, b), 0.95)
    assert estimate.value == pytest.approx(np.mean(pairs))
    assert roc_curve(a, b).area == pytest.approx(np.mean(pairs))
    assert 0 <= estimate.low <= estimate.value + 1e-12
    assert estimate.value - 1e-12 <= estimate.high <= 1


@given(SCORES, SCORES)
def test_every_corner_of_the_curve_is_a_threshold(members: list[int], nonmembers: list[int]) -> None:
    a, b = np.array(members, float), np.array(nonmembers, float)
    curve = roc_curve(a, b)
    for x, y, threshold in zip(curve.fpr, curve.tpr, curve.thresholds, strict=True):
        assert (x, y) == ((b >= threshold).mean(), (a >= threshold).mean())
    for threshold in np.unique(np.concatenate([a, b])):
        # Between corners the curve is straight, so a threshold that is no corner lies on it.
        x, y = (b >= threshold).mean(), (a >= threshold).mean()
        assert min(curve.tpr_at(x), 1) >= y - 1e-12


def test_ties_are_diagonal_and_never_optimistic() -> None:
    same = roc_curve(np.zeros(50), np.zeros(50))
    assert (same.fpr, same.tpr) == ((0.0, 1.0), (0.0, 1.0))
    assert same.tpr_at(0.01) == pytest.approx(0.01)
    mixed = roc_curve(np.array([1.0] * 80 + [0.0] * 20), np.array([1.0] * 40 + [0.0] * 60))
    assert mixed.tpr_at(0.01) == pytest.approx(0.01 * 0.8 / 0.4)
    assert mixed.tpr_at(0.0) == 0.0


def test_low_rates_say_what_is_not_resolved() -> None:
    curve = roc_curve(np.arange(100.0) + 50.5, np.arange(100.0))
    percent, permille = curve.low_rate(0.01, 0.95), curve.low_rate(0.001, 0.95)
    assert (percent.resolved, permille.resolved) == (True, False)
    # 51 members lie above all non-members, one more above all but one.
    assert (percent.tpr.value, permille.tpr.value) == (0.52, 0.51)


def test_log_log_points_start_where_the_data_do() -> None:
    curve = roc_curve(np.array([1.0] * 80 + [0.0] * 20), np.array([1.0] * 40 + [0.0] * 60))
    points = curve.log_points()
    assert points[0] == pytest.approx((0.01, 0.02))
    assert points[-1] == (1.0, 1.0)
    assert all(x > 0 and y > 0 for x, y in points)
    assert [x for x, _ in points] == sorted({x for x, _ in points})


def test_log_log_points_lie_on_the_curve_and_are_few() -> None:
    rng = np.random.default_rng(0)
    for size, levels in ((40, 5), (300, 100_000), (20_000, 1_000_000)):
        scores = rng.integers(0, levels, (2, size)).astype(float)
        curve = roc_curve(scores[0] * 1.1, scores[1])
        points = curve.log_points()
        assert len(points) <= 700
        assert points[-1] == (1.0, 1.0)
        for x, y in points[:: max(1, len(points) // 50)]:
            assert y == pytest.approx(curve.tpr_at(x), abs=1e-9)
        if size == 40:
            assert {x for x in curve.fpr if x > 1 / size} <= {x for x, _ in points}


@given(SCORES, SCORES)
def test_the_best_threshold_is_the_best_of_all(members: list[int], nonmembers: list[int]) -> None:
    a, b = np.array(members, float), np.array(nonmembers, float)
    best = best_threshold(ScoreCounts.of(a, b))
    gains = [(a >= t).mean() - (b >= t).mean() for t in [*range(-1, 6), np.inf]]
    assert best.advantage == pytest.approx(max(gains))
    assert (a >= best.threshold).mean() - (b >= best.threshold).mean() == pytest.approx(best.advantage)


def covers(hits: int, n: int, claimed: float) -> bool:
    """Whether a coverage seen in a simulation fits the claimed one: it fails once in 10,000 by chance."""
    return bool(binomtest(hits, n, claimed, alternative="less").pvalue > 1e-4)


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_claim() -> None:
    rng = np.random.default_rng(0)
    runs, shift = 1500, 0.5
    truth = float(norm.cdf(shift / np.sqrt(2)))
    hits = {"newcombe": 0, "area": 0, "few": 0}
    for _ in range(runs):
        members, nonmembers = rng.normal(shift, 1, 60), rng.normal(0, 1, 40)
        area = area_of_counts(ScoreCounts.of(members, nonmembers), 0.9)
        hits["area"] += area.low <= truth <= area.high
        few = area_of_counts(ScoreCounts.of(members[:15], nonmembers[:15]), 0.9)
        hits["few"] += few.low <= truth <= few.high
        rate = newcombe(int((members > 0).sum()), 60, int((nonmembers > 0).sum()), 40, 0.9)
        hits["newcombe"] += rate.low <= norm.cdf(shift) - 0.5 <= rate.high
    assert covers(hits["newcombe"], runs, 0.89), hits
    assert covers(hits["area"], runs, 0.89), hits
    assert covers(hits["few"], runs, 0.87), hits
    # Tight, too: an interval of all numbers would cover always.
    assert max(hits.values()) < 0.94 * runs, hits


def test_the_interval_of_a_cross_fitted_threshold_covers_where_the_best_in_hindsight_does_not() -> None:
    rng = np.random.default_rng(1)
    runs, m, n = 400, 60, 60
    honest = hindsight = 0
    for _ in range(runs):
        members, nonmembers = rng.normal(0, 1, m), rng.normal(0, 1, n)
        calls = crossfit(*ScoreCounts.of(members, nonmembers)[1:], rng)
        estimate = newcombe(calls[0], m, calls[1], n, 0.9)
        # Whatever the thresholds, members and non-members are alike: the true advantage is 0.
        honest += estimate.low <= 0 <= estimate.high
        best = best_threshold(ScoreCounts.of(members, nonmembers)).threshold
        naive = newcombe(int((members >= best).sum()), m, int((nonmembers >= best).sum()), n, 0.9)
        hindsight += naive.low <= 0 <= naive.high
    assert covers(honest, runs, 0.88), honest
    assert not covers(hindsight, runs, 0.88), hindsight


def test_no_record_chooses_its_own_threshold() -> None:
    # A record of a unique score is called by the other folds' thresholds: with one member per fold and no overlap of
    # values, a threshold chosen on all would find every member.
    members = np.arange(N_FOLDS, dtype=float)
    nonmembers = np.full(N_FOLDS, -1.0)
    found, wrong = crossfit(*ScoreCounts.of(members, nonmembers)[1:], np.random.default_rng(0))
    assert best_threshold(ScoreCounts.of(members, nonmembers)).advantage == 1.0
    assert (found, wrong) == (N_FOLDS - 1, 0)


@pytest.mark.parametrize("few", [1, FEW], ids=["by score", "by record"])
def test_hands_have_the_hypergeometric_law(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.attacks.membership.score_thresholds.FEW", few)
    counts, sizes, draws = np.array([5, 3, 2]), [4, 6], 4000
    rng = np.random.default_rng(0)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(draws):
        hands = dealt(counts, sizes, rng)
        assert hands.sum(axis=0).tolist() == counts.tolist()
        assert hands.sum(axis=1).tolist() == sizes
        seen[tuple(hands[0].tolist())] = seen.get(tuple(hands[0].tolist()), 0) + 1
    every = [(a, b, 4 - a - b) for a in range(5) for b in range(5 - a)]
    law = {hand: multivariate_hypergeom.pmf(hand, counts, 4) for hand in every}
    law = {hand: chance for hand, chance in law.items() if chance > 0}
    assert set(seen) <= set(law)
    assert chisquare([seen.get(hand, 0) for hand in law], [draws * chance for chance in law.values()]).pvalue > 0.001


def test_hands_that_are_dealt_together_have_the_same_law() -> None:
    counts, draws = np.array([5, 3, 2]), 4000
    hands = dealt_together(np.tile(counts, (draws, 1)), 4, np.random.default_rng(0))
    assert (hands <= counts).all()
    assert (hands.sum(axis=1) == 4).all()
    seen, times = np.unique(hands, axis=0, return_counts=True)
    chances = multivariate_hypergeom.pmf(seen, counts, 4)
    assert chances.sum() == pytest.approx(1.0)
    assert chisquare(times, draws * chances).pvalue > 0.001


def test_thresholds_that_are_crossfitted_together_have_the_law_of_one_after_the_other() -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, 60).astype(float), rng.integers(0, 3, 40).astype(float)
    counts = ScoreCounts.of(*scores)
    tables = np.tile(counts.members, (3000, 1)), np.tile(counts.nonmembers, (3000, 1))
    together = _crossfit_together(tables, rng)
    alone = np.array([crossfit(*ScoreCounts.of(*scores)[1:], rng) for _ in range(3000)])
    assert together.mean(axis=0) == pytest.approx(alone.mean(axis=0), abs=4 * float(alone.std()) / 3000**0.5)
    assert together.std(axis=0) == pytest.approx(alone.std(axis=0), rel=0.15)
