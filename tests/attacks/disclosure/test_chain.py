"""The Markov chain against enumeration, and its bookkeeping against sums made anew."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm, rankdata
from sklearn.tree import DecisionTreeClassifier

from glassine.attacks.disclosure import Adversary, Disclosure, SearchError, infer_sensitive
from glassine.attacks.disclosure.board import Board, lay_out, set_up
from glassine.attacks.disclosure.first_world import first_world
from glassine.attacks.disclosure.swaps import MOST_PARTS, penalty, run
from glassine.compiling import interpretation
from glassine.learners.greedy.impurity import Criterion
from tests.attacks.disclosure.instances import mixed, parity
from tests.attacks.disclosure.whole_worlds import CHAINS, infer_posterior
from tests.oracles.disclosure import is_world

batch_means, split_r_hat = CHAINS.batch_means, CHAINS.split_r_hat
CRITERIA: tuple[Criterion, ...] = ("gini", "entropy", "gain_ratio", "misclassification")


def multiway(seed: int, criterion: Criterion = "gini", n: int = 20, leaves: Any = "leaf_counts") -> Disclosure:
    frame, _, tree = parity(seed, criterion=criterion, n=n, values=2)
    return infer_sensitive(tree, frame, adversary=Adversary(leaves, criterion=criterion, min_samples_leaf=1))


def cart(seed: int, criterion: Any = "gini", n: int = 18) -> Disclosure:
    frame, y = mixed(seed, n=n, n_classes=2)
    data = frame.select("age", "hours").to_pandas()
    tree = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=4, random_state=0).fit(data, y)
    return infer_sensitive(tree, data, adversary=Adversary(criterion=criterion, min_samples_leaf=1))


def scores(disclosure: Disclosure, sampled: Any) -> tuple[list[float], bool]:
    """Return the deviations of a chain from enumeration in standard errors, one a person, and whether it mixes well.

    One cell of a quasi-identifier is taken, the others being tied to it. The estimated standard error is only as
    good as the number of batches that are independent, so that instances of few effective draws are left to the bounds.
    """
    exact = infer_posterior(disclosure, method="enumeration")
    apart = sampled.quasi_probabilities - exact.quasi_probabilities
    assert sampled.diagnostics is not None
    assert np.abs(apart).max() < 0.2
    cells = np.argmax(sampled.quasi_errors, axis=1)
    rows = np.arange(len(cells))
    held = sampled.quasi_errors[rows, cells] > 0
    assert np.abs(apart[sampled.quasi_errors == 0]).max(initial=0.0) < 1e-12
    return (apart[rows, cells][held] / sampled.quasi_errors[rows, cells][held]).tolist(), (
        sampled.diagnostics.converged and sampled.diagnostics.effective_size > 300
    )


def agreement(disclosures: list[Disclosure], draws: int) -> tuple[float, float, int]:
    """Return the largest mean square of the scores, the largest score, and the number of instances that mix well."""
    mean_squares, largest, n = [], 0.0, 0
    for i, disclosure in enumerate(disclosures):
        found, mixes = scores(disclosure, infer_posterior(disclosure, method="chain", draws=draws, random_state=i))
        if found and mixes:
            n += 1
            mean_squares.append(float(np.mean(np.square(found))))
            largest = max(largest, float(np.abs(found).max()))
    return float(np.mean(mean_squares)), largest, n


@pytest.mark.slow
def test_chains_agree_with_enumeration_on_50_instances() -> None:
    """Scores have mean square one: 1.3 is more than five standard deviations above it at some 38 instances."""
    many = [multiway(seed, CRITERIA[seed % 4]) for seed in range(35)]
    many += [cart(seed, ("gini", "entropy")[seed % 2]) for seed in range(15)]
    mean_square, largest, n = agreement(many, 1000)
    assert n >= 30
    assert largest < 5.5
    assert mean_square < 1.4


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["error_rates", "labels_only"])
def test_chains_of_readers_without_counts_agree_with_enumeration(leaves: Any) -> None:
    some = [multiway(seed, n=11, leaves=leaves) for seed in range(8)]
    mean_square, largest, n = agreement(some, 1000)
    assert n >= 3
    assert largest < 5.5
    assert mean_square < 2


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("leaves", ["leaf_counts", "error_rates", "labels_only"])
@pytest.mark.parametrize("which", ["multiway", "binary"])
def test_the_bookkeeping_is_what_a_new_board_says(criterion: Criterion, leaves: Any, which: str) -> None:
    if which == "multiway":
        disclosure = multiway(3, criterion, n=26, leaves=leaves)
    else:
        frame, _, tree = parity(4, criterion=criterion, n=26, values=2)
        adversary = Adversary(leaves, criterion=criterion, splits="binary", min_samples_leaf=1, tolerance=0.05)
        try:
            disclosure = infer_sensitive(tree, frame, adversary=adversary)
        except SearchError:
            pytest.skip("the search finds no estimate here")
    board, rng = lay_out(disclosure), np.random.default_rng(0)
    state, _ = first_world(disclosure, board, rng, from_estimate=False)
    assert penalty(board, state) == 0
    parts, tally = np.zeros((MOST_PARTS, 4), dtype=np.int64), np.zeros(4, dtype=np.int64)
    for temperature in (-1.0, 10.0, -1.0):
        run(board, state, 3000, 0.4, temperature, rng, parts, tally)
        anew = set_up(board, disclosure.constraints, state.classes, len(disclosure.classes))
        for name in state._fields:
            if name != "squares" or board.criterion == 0:
                assert np.array_equal(getattr(state, name), getattr(anew, name)), name
        slack = disclosure.constraints.worst(state.x.astype(float)).slack
        assert (penalty(board, state) == 0) == bool((slack >= -disclosure.constraints.allowance()).all())
        if temperature == -1.0 and tally[1] and penalty(board, state) == 0:
            assert is_world(disclosure, state.x)
        if temperature > 0:
            state, _ = first_world(disclosure, board, rng, from_estimate=True)
    assert tally[0] > 0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_an_interpreted_chain_moves_as_a_compiled_one(criterion: Criterion, monkeypatch: pytest.MonkeyPatch) -> None:
    # A purity in steps of a person takes up to 61 bits, where counts have 32.
    disclosure = multiway(3, criterion, n=26)
    board, states = lay_out(disclosure), []
    assert board.scale > 2**32
    for left in (10**9, 0):
        monkeypatch.setattr(interpretation, "LEFT", [left])
        rng = np.random.default_rng(0)
        state, _ = first_world(disclosure, board, rng, from_estimate=False)
        parts, tally = np.zeros((MOST_PARTS, 4), dtype=np.int64), np.zeros(4, dtype=np.int64)
        with interpretation.interpreted(1):
            assert interpretation.interpreting() == bool(left)
            run(board, state, 300, 0.4, 10.0, rng, parts, tally)
        states.append([array.tolist() for array in (*state, parts, tally)])
    assert states[0] == states[1]
    assert sum(states[0][-1]) > 0


def test_numbers_and_thresholds_are_kept_too() -> None:
    disclosure = cart(1, n=60)
    board, rng = lay_out(disclosure), np.random.default_rng(0)
    state, _ = first_world(disclosure, board, rng, from_estimate=True)
    parts, tally = np.zeros((MOST_PARTS, 4), dtype=np.int64), np.zeros(4, dtype=np.int64)
    run(board, state, 5000, 0.4, -1.0, rng, parts, tally)
    assert tally[1] > 0
    anew = set_up(board, disclosure.constraints, state.classes, 2)
    assert all(np.array_equal(getattr(state, name), getattr(anew, name)) for name in state._fields)
    assert is_world(disclosure, state.x)


@pytest.mark.slow
def test_a_chain_that_ignores_the_constraints_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: a board that allows every excess accepts every swap."""

    def blind(disclosure: Disclosure) -> Board:
        board = lay_out(disclosure)
        board.splits["allowance"] += 1e9
        return board

    monkeypatch.setattr(CHAINS, "lay_out", blind)
    apart = 0.0
    for seed in range(6):
        disclosure = multiway(seed)
        exact, sampled = infer_posterior(disclosure), infer_posterior(disclosure, method="chain", draws=200)
        apart = max(apart, float(np.abs(exact.probabilities - sampled.probabilities).max()))
    assert apart > 0.2


def test_the_same_seed_gives_the_same_posterior_and_another_does_not() -> None:
    disclosure = multiway(5)
    one, same, other = (infer_posterior(disclosure, method="chain", draws=100, random_state=s) for s in (1, 1, 2))
    assert np.array_equal(one.probabilities, same.probabilities)
    assert not np.array_equal(one.probabilities, other.probabilities)


def test_diagnostics_say_what_was_run() -> None:
    disclosure = multiway(5)
    found = infer_posterior(disclosure, method="chain", draws=100, burn_in=7, thin=3, n_chains=3)
    diagnostics = found.diagnostics
    assert diagnostics is not None
    assert (diagnostics.n_chains, diagnostics.draws, diagnostics.burn_in, diagnostics.thin) == (3, 100, 7, 3)
    assert 0 < diagnostics.accepted <= 1
    assert 0 < diagnostics.effective_size <= diagnostics.median_effective_size <= 300
    assert "need not reach every world" in found.notes[0]
    assert found.probabilities.sum(axis=1) == pytest.approx(1)
    assert "R-hat" in repr(found)


def test_d_overall_of_chains_is_finite() -> None:
    frame, y, tree = parity(2, n=60, values=3)
    disclosure = infer_sensitive(tree, frame, adversary=Adversary(min_samples_leaf=1))
    found = infer_posterior(disclosure, method="chain", draws=100)
    assert math.isfinite(found.d_overall(y))
    assert found.d_individual(y).shape == (60,)


def by_ranks(draws: npt.NDArray[np.float64]) -> float:
    """Return the rank-normalised R-hat of half chains, shape (m, n), from the draws themselves."""
    n = draws.shape[1]
    z = norm.ppf((rankdata(draws).reshape(draws.shape) - 3 / 8) / (draws.size + 1 / 4))
    within, between = z.var(axis=1, ddof=1).mean(), n * z.mean(axis=1).var(ddof=1)
    return float(np.sqrt(((n - 1) / n * within + between / n) / within))


def test_r_hat_of_equal_and_of_separate_chains() -> None:
    rng = np.random.default_rng(0)
    draws = rng.binomial(4, 0.3, (8, 1000))
    histograms = np.stack([np.bincount(row, minlength=5) for row in draws])
    assert split_r_hat(histograms) < 1.01
    draws[0] = rng.binomial(4, 0.6, 1000)
    histograms[0] = np.bincount(draws[0], minlength=5)
    assert split_r_hat(histograms) > 1.05
    plain, folded = (by_ranks(np.asarray(d, dtype=float)) for d in (draws, np.abs(draws - np.median(draws))))
    assert split_r_hat(histograms) == pytest.approx(max(plain, folded), abs=1e-9)
    never = np.zeros((8, 5), dtype=int)
    never[:, 2] = 100
    assert split_r_hat(never) == 1
    never[0] = [100, 0, 0, 0, 0]
    assert split_r_hat(never) == np.inf


def test_r_hat_sees_chains_that_differ_in_spread_alone() -> None:
    narrow, wide = [0, 20, 60, 20, 0], [20, 20, 20, 20, 20]
    assert split_r_hat(np.array([narrow, narrow, wide, wide])) > 1.05


def test_batch_means_know_that_draws_depend_on_each_other() -> None:
    """Of a first-order chain with correlation 0.9, the variance of the mean is 19 times that of independent draws."""
    rng = np.random.default_rng(1)
    kept = rng.random((200, 2000)) < 0.9
    fresh = rng.integers(0, 2, (200, 2000))
    values = np.zeros((200, 2000), dtype=int)
    values[:, 0] = fresh[:, 0]
    for t in range(1, 2000):
        values[:, t] = np.where(kept[:, t], values[:, t - 1], fresh[:, t])
    _, error = batch_means(values.reshape(200, 10, 200).sum(axis=2).reshape(2000), 200)
    expected = math.sqrt(0.25 * 19 / values.size)
    assert 0.85 * expected < error < 1.1 * expected
