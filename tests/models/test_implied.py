"""The advantage that counts imply: against enumeration, within its bounds, and with faults planted in it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from glassine.models.implied import (
    Bounds,
    OutcomeCounts,
    advantage_of_parameters,
    effective_parameters,
    implied_advantage,
    made_certain,
    unseen,
)
from tests.oracles.implied import compositions, de_moivre, enumerated, normal


def exact(*rows: tuple[float, ...]) -> OutcomeCounts:
    counts = np.array(rows, dtype=float)
    return OutcomeCounts(lower=counts, upper=counts, n_outcomes=counts.shape[1])


def between(lower: npt.ArrayLike, upper: npt.ArrayLike, n_outcomes: int = 2) -> OutcomeCounts:
    return OutcomeCounts(lower=np.array(lower, float), upper=np.array(upper, float), n_outcomes=n_outcomes)


@pytest.mark.parametrize(
    ("n", "q"),
    [(1, (0.5, 0.5)), (7, (0.2, 0.3, 0.5)), (12, (0.05, 0.15, 0.3, 0.5)), (30, (0.4, 0.6)), (9, (1 / 3,) * 3)],
)
def test_de_moivre_is_the_expected_total_variation_of_every_sample(n: int, q: tuple[float, ...]) -> None:
    assert de_moivre(n, q) == pytest.approx(enumerated(n, q), rel=1e-12)


@pytest.mark.parametrize("n", [30, 200, 3000])
def test_the_normal_approximation_is_within_two_per_cent_where_cells_expect_ten_records(n: int) -> None:
    for k in (2, 3, n // 30 or 2, n // 10):
        q = tuple(np.full(k, 1 / k))
        assert normal(n, q) == pytest.approx(de_moivre(n, q), rel=0.02)


def test_the_best_attack_on_the_cell_has_the_total_variation_as_its_advantage() -> None:
    p, q = (0.1, 0.5, 0.4), (0.3, 0.3, 0.4)
    best = max(
        sum(a * (b - c) for a, b, c in zip(rule, p, q, strict=True)) for rule in itertools.product((0, 1), repeat=3)
    )
    assert best == pytest.approx(sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2)


@pytest.mark.parametrize(("n", "k"), [(500, 8), (2000, 60), (3000, 200)])
def test_an_attack_on_fixed_cells_reaches_the_implied_advantage_on_average(n: int, k: int) -> None:
    rng = np.random.default_rng(k)
    q = rng.dirichlet(np.full(k, 2.0))
    samples = rng.multinomial(n, q, size=2000)
    reached = np.abs(samples / n - q).sum(axis=1) / 2
    implied_by_counts = np.array(
        [implied_advantage(exact(*map(tuple, s.reshape(-1, 2).tolist()))).upper for s in samples]
    )
    # The total variation has a standard deviation of at most a quarter of its mean: 2 % are over three errors.
    assert implied_by_counts.mean() == pytest.approx(reached.mean(), rel=0.02)


@pytest.mark.parametrize("factor", [0.9, 1.1, math.sqrt(2), 1 / math.sqrt(2), math.sqrt(math.pi / 2)])
def test_a_wrong_constant_would_be_noticed(factor: float) -> None:
    n, q = 2000, tuple(np.full(40, 1 / 40))
    assert normal(n, q) * factor != pytest.approx(de_moivre(n, q), rel=0.03)
    assert normal(n, q) == pytest.approx(de_moivre(n, q), rel=0.03)


def test_equal_leaves_at_even_odds_need_about_65_records_each() -> None:
    for n_leaves in (4, 40, 400):
        assert implied_advantage(exact(*[(32.5, 32.5)] * n_leaves)).upper == pytest.approx(0.07, abs=0.005)


def test_counts_within_rounding_never_imply_more_than_the_bound_nor_less() -> None:
    lower, upper = np.array([[3, 0], [5, 2]]), np.array([[6, 3], [8, 5]])
    bounds = implied_advantage(between(lower, upper))
    reached = [
        implied_advantage(exact(cells[:2], cells[2:])).upper
        for cells in itertools.product(*(range(a, b + 1) for a, b in zip(lower.flat, upper.flat, strict=True)))
    ]
    assert bounds.lower <= min(reached) <= max(reached) <= bounds.upper
    assert not bounds.exact


def test_the_bound_of_rounded_counts_is_tight_where_counts_are_large() -> None:
    counts = np.array([[120.0, 300.0], [90.0, 210.0], [400.0, 60.0]])
    bounds = implied_advantage(between(counts - 2.5, counts + 2.5))
    assert bounds.upper < 1.03 * implied_advantage(exact(*map(tuple, counts.tolist()))).upper


def test_sizes_alone_bound_what_any_outcomes_imply() -> None:
    sizes = (7, 9)
    bounds = implied_advantage(between([[7], [9]], [[7], [9]], n_outcomes=3))
    reached = [
        implied_advantage(exact(one, other)).upper
        for one in compositions(sizes[0], 3)
        for other in compositions(sizes[1], 3)
    ]
    assert bounds.lower == pytest.approx(min(reached))
    assert max(reached) <= bounds.upper <= 1.02 * max(reached)
    assert bounds.upper <= math.sqrt(6 / (2 * math.pi * 16))


def test_one_leaf_of_one_outcome_implies_nothing() -> None:
    assert implied_advantage(exact((50.0, 0.0))) == Bounds(0.0, 0.0)


def test_no_record_at_all_leaves_everything_open() -> None:
    assert implied_advantage(between([[0, 0]], [[4, 4]])) == Bounds(0.0, 1.0)


def test_leaves_of_one_outcome_make_few_records_each_certain() -> None:
    assert made_certain(exact((1, 0), (0, 2), (3, 0), (0, 400), (5, 5))) == Bounds(*[6.0 + unseen(5)] * 2)
    assert made_certain(exact((0, 0, 30), (10, 10, 0))) == Bounds(unseen(2), unseen(2))
    assert made_certain(exact((0, 0, 30), (0, 0, 0))) == Bounds(unseen(1), unseen(1))


def test_rounded_counts_leave_open_which_leaves_have_one_outcome() -> None:
    assert made_certain(between([[8, 0]], [[12, 2]])) == Bounds(0.0, unseen(1))
    assert made_certain(between([[8, 1]], [[12, 5]])) == Bounds(0.0, 0.0)
    assert made_certain(between([[8, 0]], [[12, 0]])) == Bounds(unseen(1), unseen(1))
    assert made_certain(between([[1, 0]], [[2, 9]])) == Bounds(0.0, 2.0)


def test_a_pure_leaf_of_a_rare_population_is_missed_at_most_once_in_twenty() -> None:
    for size in (3, 10, 100, 1000):
        assert (1 - unseen(1) / size) ** size <= 0.05
    assert round(unseen(1), 2) == 3


def test_the_purest_of_many_leaves_is_missed_at_most_once_in_twenty() -> None:
    """The learner chooses which leaves are pure: among 20 of 50 records each, one is by chance far more often."""
    rng = np.random.default_rng(0)
    share, size, n_leaves = unseen(20) / 50, 50, 20
    pure = (rng.binomial(size, share, (20_000, n_leaves)) == 0).any(axis=1).mean()
    assert pure <= 0.05
    assert (rng.binomial(size, 3 / size, (20_000, n_leaves)) == 0).any(axis=1).mean() > 0.4


def test_an_attacker_who_knows_the_population_has_the_laws_advantage_on_a_linear_regression() -> None:
    # The best test of N(f + h e, h) against N(f, h), by records of 300 fits of n = 400 on p = 20 columns of signs.
    rng = np.random.default_rng(5)
    n, p = 400, 20
    x = rng.choice([-1.0, 1.0], (n, p))
    hat = x @ np.linalg.solve(x.T @ x, x.T)
    h = np.diag(hat)
    right = []
    for _ in range(300):
        e, other = rng.normal(size=n), rng.normal(size=n)
        value = hat @ e  # what the model says beyond f, at the records of members and at others of the same x
        for own, member in ((e, True), (other, False)):
            middle = h * own / 2
            says = np.where(own > 0, value > middle, value < middle)
            right.append(float(np.mean(says == member)))
    measured = 2 * float(np.mean(right)) - 1
    law = math.sqrt(2 / math.pi) * math.sqrt(p / n / (2 * math.pi))
    assert measured == pytest.approx(law, rel=0.1)
    # What was calibrated, for an attacker with a reference model, is below that and above the half of its signal.
    assert law * math.sqrt(0.5) < advantage_of_parameters(p / n, "regression") < law


def test_a_penalty_leaves_fewer_effective_parameters() -> None:
    x = np.random.default_rng(0).normal(size=(50, 4))
    weights = np.full(50, 0.25)
    shrunk = [effective_parameters(x, weights, np.full(4, penalty)) for penalty in (0.0, 1.0, 100.0)]
    assert shrunk[0] == pytest.approx(4)
    assert 4 > shrunk[1] > shrunk[2] > 0
