"""From bits to a mean advantage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from glassine.capacity import (
    ball_advantage,
    design_advantage,
    fresh_advantage,
    strata_advantage,
    strata_bits,
    tree_bits,
)
from glassine.capacity.frontiers import design_curve
from glassine.errors import InvalidParameterError
from tests.oracles.attacks_by_enumeration import Design, Fresh, deterministic, entropy_of, h, halves, kl

BITS = [1e-6, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]


def js(b: float, a: float, q: float) -> float:
    return float(h(q * b + (1 - q) * a) - q * h(b) - (1 - q) * h(a))


def frontier(cost, bits: float) -> float:  # type: ignore[no-untyped-def]
    """Largest t whose cheapest a costs at most so many bits, by scipy's minimizer and root finder."""

    def least(t: float) -> float:
        inside = {"bounds": (1e-13, 1 - t - 1e-13), "method": "bounded", "options": {"xatol": 1e-13}}
        return float(minimize_scalar(lambda a: cost(a + t, a), **inside).fun)

    return float(brentq(lambda t: least(t) - bits, 1e-9, 1 - 1e-9, xtol=1e-14))


@pytest.mark.parametrize("bits", BITS)
def test_the_fresh_frontier_is_that_of_an_independent_optimization(bits: float) -> None:
    expected = frontier(lambda b, a: float(kl(b, a)), bits)
    assert 0 <= fresh_advantage(bits) - expected + 1e-9 < 2e-9
    assert fresh_advantage(bits) <= math.sqrt(math.log(2) * bits / 2) * (1 + 1e-11)  # Pinsker


@pytest.mark.parametrize("rate", [0.5, 0.3, 0.1, 0.01])
def test_the_design_frontier_is_that_of_an_independent_optimization(rate: float) -> None:
    for bits in [bits for bits in BITS if bits < float(h(rate)) * 0.98]:
        expected = frontier(lambda b, a: js(b, a, rate), bits)
        # js() cancels: at 1e-6 bits its own error moves the root by 1e-9.
        assert abs(design_advantage(bits, rate) - expected) < (1e-9 if bits > 1e-5 else 3e-8)


def test_at_one_half_the_design_frontier_has_a_closed_form() -> None:
    for bits in [1e-4, 0.01, 0.3, 0.9]:
        p = brentq(lambda p, bits=bits: float(h(p)) - (1 - bits), 1e-12, 0.5 - 1e-12, xtol=1e-15)
        assert design_advantage(bits) == pytest.approx(1 - 2 * p, abs=1e-9)
    assert design_advantage(1.0) == design_advantage(7.0) == 1.0


def test_results_are_rounded_up_and_rise() -> None:
    grid = np.geomspace(1e-9, 30, 200)
    for bound in (fresh_advantage, design_advantage, lambda x: design_advantage(x, 0.2)):
        values = np.array([bound(float(x)) for x in grid])
        assert (np.diff(values) >= 0).all()
        assert (values <= 1).all()
    assert fresh_advantage(0.0) == design_advantage(0.0) == 0.0
    # What exactly t takes is never below t: at 1/2 the bits of t are 1 - h((1 - t) / 2).
    for t in (0.01, 0.1, 0.5, 0.99):
        assert design_advantage(1 - float(h((1 - t) / 2))) >= t - 1e-15


def test_the_fresh_frontier_is_attained() -> None:
    # X is uniform on a circle of 200, M has the density ratio (a + t) / a on an arc.
    m, a, t = 200, 0.1, 0.2
    arc = int(a * m)
    row = np.full(m, (1 - a - t) / (m - arc))
    row[:arc] = (a + t) / arc
    information = math.log2(m) - entropy_of(row.tolist())
    assert information == pytest.approx(float(kl(a + t, a)))
    assert t <= fresh_advantage(information)


def test_no_learner_of_a_small_frame_beats_the_frontier() -> None:
    rng, tightest = np.random.default_rng(0), 0.0
    for persons in (4, 6, 8):
        samples = halves(persons)
        for mode in range(40):
            k = int(rng.integers(1, 30))
            words = rng.integers(0, 2, (k, persons))
            kernel = (
                rng.dirichlet(np.full(k, 0.1), len(samples))
                if mode % 2
                else np.eye(k)[np.argmin((samples[:, None] != words[None]).sum(axis=2), axis=1)]
            )
            seen = Design.of(samples, kernel)
            assert seen.information.sum() <= seen.entropy + 1e-9
            bound = design_advantage(seen.information.mean())
            assert seen.advantages.mean() <= bound
            assert seen.advantages.mean() <= ball_advantage(persons, math.log2(k)) + 1e-12
            tightest = max(tightest, seen.advantages.mean() / max(bound, 1e-12))
    assert tightest > 0.9


def test_the_majority_attains_the_ball() -> None:
    samples = halves(12)
    seen = Design.of(samples, deterministic((samples[:, :11].sum(axis=1) > 5).tolist()))
    assert seen.advantages.mean() == pytest.approx(ball_advantage(12, 1), abs=1e-6)
    assert ball_advantage(1001, 10) < design_advantage(10 / 1001)


def test_no_learner_of_a_small_universe_beats_the_fresh_frontier() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        law = rng.dirichlet(np.full(4, rng.choice([0.3, 1, 5]))).tolist()
        k, n = int(rng.integers(1, 9)), int(rng.choice([2, 4, 6]))
        answers: dict[tuple[int, ...], int] = {}

        def drawn(counts: tuple[int, ...], answers: dict[tuple[int, ...], int] = answers, k: int = k) -> int:
            return answers.setdefault(counts, int(rng.integers(k)))

        seen = Fresh.of(n, law, drawn)
        assert seen.information <= entropy_of(seen.masses.values()) + 1e-9
        assert seen.advantage <= fresh_advantage(max(seen.information, 0.0) / n) + 1e-9


# Strata


@pytest.mark.parametrize(
    ("bits", "sizes", "rates"),
    [(5.0, (300, 700), (0.5, 0.1)), (40.0, (50, 300), (0.5, 0.02)), (0.01, (10, 10), (0.3, 0.6))],
)
def test_strata_are_those_of_an_independent_optimization(
    bits: float, sizes: tuple[int, int], rates: tuple[float, float]
) -> None:
    """What is left by the first stratum's advantage buys the second's; the best division is found by scipy."""

    def mean(first: float) -> float:
        left = (bits - sizes[0] * design_curve(first, rates[0])[0]) / sizes[1]
        if left <= 0:
            return sizes[0] * first / sum(sizes)
        second = (
            1.0
            if left >= float(h(rates[1]))
            else brentq(lambda t: design_curve(t, rates[1])[0] - left, 0, 1, xtol=1e-15)
        )
        return (sizes[0] * first + sizes[1] * second) / sum(sizes)

    top = design_advantage(bits / sizes[0], rates[0])
    best = minimize_scalar(lambda t: -mean(t), bounds=(0, top), method="bounded", options={"xatol": 1e-12})
    assert 0 <= strata_advantage(bits, sizes, rates) + best.fun + 1e-12 < 1e-9


def test_equal_strata_are_one() -> None:
    for bits in (0.1, 20.0, 300.0):
        assert strata_advantage(bits, [300, 700], [0.2, 0.2]) == pytest.approx(
            design_advantage(bits / 1000, 0.2), abs=1e-9
        )
    assert strata_advantage(2000.0, [300, 700], [0.2, 0.5]) == 1.0


def test_one_rate_for_unequal_strata_is_caught() -> None:
    # Independent coins, rates 1/2 and 1/1000, all bits of the second stratum published.
    for first, second in ((0.5, 0.001), (0.3, 0.02)):
        bits, truth = 1000 * float(h(second)) / 2, 0.5
        planted = design_advantage(bits / 1000, (first + second) / 2)
        assert planted < truth <= strata_advantage(bits, [500, 500], [first, second])


def test_strata_without_replacement_hold_by_enumeration() -> None:
    a, b = halves(4, 2), halves(6, 1)
    samples = np.array([[*x, *y] for x in a for y in b])
    for shown in (slice(0, 4), slice(4, 10), slice(2, 6), slice(0, 1)):
        seen = Design.of(samples, deterministic([tuple(row[shown]) for row in samples]))
        bits = strata_bits(seen.entropy, [4, 6], [2, 1])
        assert seen.information.sum() <= bits
        assert seen.advantages.mean() <= strata_advantage(bits, [4, 6], [0.5, 1 / 6])


# Planted: a class that was chosen on the data


def test_a_class_that_was_tuned_on_the_data_is_caught() -> None:
    # A stump at the median of three records of seven values, counted as one model, and counted as seven.
    values, n = 7, 3

    def median(counts: tuple[int, ...]) -> int:
        return int(np.searchsorted(np.cumsum(counts), 2))

    seen = Fresh.of(n, [1 / values] * values, median)
    assert seen.advantage > 0.3 > fresh_advantage(tree_bits(0, 0) / n)
    assert seen.advantage <= fresh_advantage(math.log2(values) / n)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fresh_advantage(-1.0),
        lambda: fresh_advantage(math.nan),
        lambda: design_advantage(0.1, 1.0),
        lambda: design_advantage(0.1, math.nan),
        lambda: strata_advantage(1.0, [], []),
        lambda: strata_advantage(1.0, [10], [0.5, 0.5]),
        lambda: ball_advantage(0, 1.0),
    ],
)
def test_bad_input_is_an_error_of_ours(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameterError):
        wrong()
