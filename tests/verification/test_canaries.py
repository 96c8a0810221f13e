"""Auditing in one run: coverage with a known truth, tightness, planted bugs, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.privacy.mechanisms import discrete_laplace
from glassine.privacy.randomness import Randomness
from glassine.verification import Claim
from glassine.verification.canaries import audit_one_run, one_run_bound, one_run_p_value

CANARIES = [(i,) for i in range(600)]


def most_failures(alpha: float, repetitions: int) -> int:
    return int(stats.binom.isf(1e-6, repetitions, alpha))


def coins(rng: np.random.Generator, m: int, right: float) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int_]]:
    included = rng.random(m) < 0.5
    truth = rng.random(m) < right
    return included, np.where(included == truth, 1, -1)


@pytest.mark.slow
@pytest.mark.parametrize("m", [10, 1000])
def test_randomised_response_is_covered_and_met(m: int) -> None:
    rng = np.random.default_rng(m)
    found = np.array(
        [one_run_bound(*coins(rng, m, 1 / (1 + math.exp(-1))), confidence=0.9).epsilon for _ in range(200)]
    )
    assert (found > 1).sum() <= most_failures(0.1, 200)
    if m == 1000:
        assert np.median(found) > 0.8


@pytest.mark.slow
def test_delta_is_covered() -> None:
    # With probability delta each bit is told as it is: the right share is that of (1, delta) at its worst.
    delta, m = 1e-3, 500
    rng = np.random.default_rng(2)
    share = delta + (1 - delta) / (1 + math.exp(-1))
    found = np.array([one_run_bound(*coins(rng, m, share), delta=delta, confidence=0.9).epsilon for _ in range(100)])
    assert (found > 1).sum() <= most_failures(0.1, 100)
    assert np.median(found) > 0.5
    # Once in a hundred runs every bit is told: delta 0.01 allows it, delta 0 does not.
    included, _ = coins(rng, m, 1.0)
    assert one_run_bound(included, np.where(included, 1, -1), delta=0.01, confidence=0.99).epsilon == 0
    assert one_run_bound(included, np.where(included, 1, -1), confidence=0.99).epsilon > 4


def naive_p_value(v: int, r: int, m: int, epsilon: float, delta: float) -> float:
    share = math.exp(epsilon) / (1 + math.exp(epsilon))
    pmf = [math.comb(r, k) * share**k * (1 - share) ** (r - k) for k in range(r + 1)]
    worst = max((sum(pmf[v - i : v]) / i for i in range(1, v + 1)), default=0.0)
    return min(1.0, sum(pmf[v:]) + 2 * m * delta * worst)


@pytest.mark.parametrize(("r", "m"), [(1, 1), (5, 9), (20, 20)])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2])
def test_p_values_are_those_of_the_formula(r: int, m: int, delta: float) -> None:
    for v in range(r + 1):
        for epsilon in (0.0, 0.5, 3.0):
            expected = naive_p_value(v, r, m, epsilon, delta)
            assert one_run_p_value(v, r, m, epsilon, delta) == pytest.approx(expected, rel=1e-9)


def histogram(scale: float) -> Any:
    """Return a mechanism that counts each canary with Laplace noise."""

    def mechanism(records: list[tuple[int]], seed: int | None) -> Any:
        counts = np.bincount([i for (i,) in records], minlength=len(CANARIES))
        return discrete_laplace(counts, scale, Randomness.of(seed))

    return mechanism


def test_half_the_noise_is_found_in_one_run_and_its_honest_twin_is_not() -> None:
    for seed in range(5):
        options: dict[str, Any] = {"guesses": 200, "claim": Claim(epsilon=2.0, confidence=0.99), "seed": seed}
        planted = audit_one_run(histogram(0.25), [], CANARIES, lambda output, _: output, **options)
        honest = audit_one_run(histogram(0.5), [], CANARIES, lambda output, _: output, **options)
        assert planted.violated
        assert "violated" in planted.verdict
        assert not honest.violated
        assert honest.epsilon > 0.9
        assert "no evidence of safety" in str(honest)


def test_a_learner_is_audited_with_tables_of_canaries() -> None:
    X, y = np.zeros((20, 1)), np.zeros(20)
    canaries = np.arange(1.0, 101.0).reshape(-1, 1), np.ones(100)

    class Memory:
        """Keeps every record: nothing is private."""

        def fit(self, X: Any, y: Any) -> Memory:
            self.seen = set(X[:, 0].tolist())
            self.labels = len(y)
            return self

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {}

        def __sklearn_clone__(self) -> Memory:
            return Memory()

    found = audit_one_run(
        Memory(),
        (X, y),
        canaries,
        lambda output, records: [v in output.seen for v in records[0][:, 0]],
        Claim(epsilon=1.0),
    )
    assert found.violated
    assert found.correct == found.guesses == 20
    assert found.canaries == 100


def test_a_score_that_knows_nothing_finds_nothing() -> None:
    # Ties everywhere: guesses are coins.
    found = [
        audit_one_run(histogram(1.0), [], CANARIES, lambda output, _: np.zeros(600), Claim(epsilon=1.0), seed=seed)
        for seed in range(20)
    ]
    assert max(bound.epsilon for bound in found) < 0.5
    assert len({bound.correct for bound in found}) > 3


@pytest.mark.parametrize(
    ("included", "guessed"),
    [([], []), ([1], [1, 1]), ([2], [1]), ([1], [2]), ([math.nan], [1]), ([[1]], [[1]])],
)
def test_what_is_no_coin_or_guess_is_refused(included: Any, guessed: Any) -> None:
    with pytest.raises(InvalidDataError):
        one_run_bound(included, guessed)


def test_parameters_out_of_range_are_refused() -> None:
    for epsilon in (math.nan, -1.0, math.inf):
        with pytest.raises(InvalidParameterError, match="epsilon"):
            one_run_bound([True], [1], epsilon=epsilon)
        with pytest.raises(InvalidParameterError, match="epsilon"):
            one_run_p_value(1, 1, 1, epsilon)
    with pytest.raises(InvalidParameterError, match="must increase"):
        one_run_p_value(3, 2, 5, 1.0)
    with pytest.raises(InvalidParameterError, match="delta"):
        one_run_bound([True], [1], delta=math.nan)
    with pytest.raises(InvalidParameterError, match="guesses must be"):
        audit_one_run(histogram(1.0), [], CANARIES, lambda output, _: output, guesses=601)
    with pytest.raises(InvalidParameterError, match="seed must be"):
        audit_one_run(histogram(1.0), [], CANARIES, lambda output, _: output, seed=-1)
    with pytest.raises(InvalidDataError, match="one number for each"):
        audit_one_run(histogram(1.0), [], CANARIES, lambda output, _: [1.0])
    with pytest.raises(InvalidDataError, match="at least one canary"):
        audit_one_run(histogram(1.0), [], [], lambda output, _: [])


def test_no_guess_gives_no_bound() -> None:
    found = one_run_bound([True, False], [0, 0], epsilon=0.0)
    assert (found.guesses, found.correct, found.epsilon, found.violated) == (0, 0, 0.0, False)


@pytest.mark.parametrize("claim", [Claim(mu=1.0), Claim(epsilon=1.0, value=2.0)], ids=["mu", "value"])
def test_a_claim_of_anything_but_epsilon_is_refused_before_the_run(claim: Claim) -> None:
    runs: list[Any] = []

    def learner(records: Any, seed: int | None) -> Any:
        runs.append(records)
        return records

    with pytest.raises(InvalidParameterError, match="epsilon"):
        audit_one_run(learner, [], list(range(40)), lambda output, canaries: np.zeros(40), claim)
    assert not runs
