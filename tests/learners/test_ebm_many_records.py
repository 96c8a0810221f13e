"""Sums beyond 64 bits: what is released is the exact sum with its noise modulo 2^64, and gains are exact.

Nobody holds 2^35 records here, so units are made so fine that a few records pass 2^63.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from glassine import Domain, Integer
from glassine.errors import InvalidMechanismError
from glassine.formats import fingerprint
from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor
from glassine.learners.additive.grids import public_grids, release_bins
from glassine.learners.additive.pairs import SCORE, release_gains
from glassine.learners.additive.targets import Target, release_base
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.mechanisms import discrete_gaussian
from glassine.privacy.randomness import Randomness
from glassine.sealed import draws, residuals
from glassine.sealed.gains import gain, gain_reach
from glassine.sealed.released_bins import Terms
from glassine.sealed.residuals import GainsOfPairs
from glassine.sealed.sums import Loss, Moves, advance

from .sums import Given, oracle_of, released, through

FINEST = 2**60
CIRCLE = 2**64


def fine() -> FineNoise:
    """Return noise of standard deviation 1 record, in units of which eight records pass 64 bits."""
    return FineNoise(units=FINEST, sigma=float(FINEST), mu=1.0, l2_sensitivity=float(FINEST))


def on_circle(values: Any) -> Any:
    return [int(value) % CIRCLE for value in values]


@pytest.mark.parametrize("exact", [2**63 - 2, 2**63 + 5, -(2**63) - 1, 3 * 2**64 + 7, 0])
def test_a_release_is_the_exact_sum_and_its_noise_modulo_two_to_the_64(exact: int) -> None:
    noise = FineNoise(units=1024, sigma=4096.0, mu=1.0, l2_sensitivity=1024.0)
    sums = np.array([(exact + 2**63) % CIRCLE - 2**63] * 50, dtype=np.int64)
    drawn = discrete_gaussian(np.zeros(50, dtype=np.int64), noise.sigma, Randomness.of(4))
    noisy = draws.gaussian(sums, noise, Randomness.of(4))
    expected = [((exact + int(k) + 2**63) % CIRCLE - 2**63) / 1024 for k in drawn]
    assert noisy.tolist() == expected
    unseeded = draws.gaussian(sums, noise, Randomness.of(None)) * 1024
    # Twelve standard deviations around the exact sum, on the circle.
    assert all(abs((int(value) - exact + 2**63) % CIRCLE - 2**63) < 12 * 4096 + 2048 for value in unseeded)


def sums_of(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Make all noise fine, and catch the sums to which it is added."""
    caught: list[Any] = []

    def spy(self: FineNoise, sums: Any, randomness: Any) -> Any:
        caught.append(np.array(sums))
        return released(self, sums, randomness)

    monkeypatch.setattr(FineNoise, "of", classmethod(lambda cls, mu, squared: fine()))
    through(monkeypatch, spy)
    return caught


def test_the_base_of_numbers_is_exact_on_the_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    caught = sums_of(monkeypatch)
    values = np.random.default_rng(0).choice([-1.0, -0.25, 0.5, 1.0], 83)
    oracle = oracle_of(Given(values=values))
    release_base(Target(classes=None, bounds=(-1, 1), name=""), oracle, oracle.whole)
    exact: list[Any] = [len(values), *(sum(Fraction(v) ** power for v in values) for power in (1, 2))]
    assert on_circle(caught[0]) == on_circle(part * FINEST for part in exact)
    assert max(abs(part) * FINEST for part in exact) > 2**63


def test_counts_are_exact_on_the_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    caught = sums_of(monkeypatch)
    labels = np.random.default_rng(0).integers(0, 2, 83)
    oracle = oracle_of(Given(values=labels))
    release_base(Target(classes=(0, 1), bounds=None, name=""), oracle, oracle.whole)
    assert on_circle(caught[0]) == on_circle(np.bincount(labels).astype(object) * FINEST)
    grids = public_grids(Domain({"x": Integer(0, 3)}), None)
    counts = np.array([5, 40, 0, 33, 5], dtype=np.int64)
    oracle = oracle_of(Given(counts=[counts]))
    release_bins(oracle, oracle.whole, grids)
    assert {value % CIRCLE for value in (counts.astype(object) * FINEST).tolist()} <= set(on_circle(caught[1]))


@pytest.mark.parametrize(("outputs", "classes"), [(1, False), (1, True), (3, True)])
def test_sums_of_residuals_are_exact_on_the_circle(outputs: int, classes: bool) -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (3, 120)).astype(np.uint8)
    scores = rng.normal(-3, 0.1, (outputs, 120))
    target = np.ones(120) if outputs == 1 else np.full(120, 2)
    step, shift = np.zeros((3, 2, outputs)), np.zeros(outputs)

    def sums(rows: Any) -> tuple[Any, int]:
        part = np.ascontiguousarray(codes[:, rows])
        loss = Loss.of(outputs, 0.3, FINEST, classes=classes)
        return advance(part, scores[:, rows].copy(), target[rows], Moves(step, shift), loss)

    total, curved = sums(slice(None))
    single = [sums([i]) for i in range(120)]
    exact = sum(part.astype(object) for part, _ in single)
    assert on_circle(total.ravel()) == on_circle(exact.ravel())
    assert curved % CIRCLE == sum(more for _, more in single) % CIRCLE
    assert max(abs(value) for value in exact.ravel()) > 2**63


@pytest.mark.parametrize("algorithm", ["penalized", "boosting"])
@pytest.mark.parametrize("kind", [PrivateEBMClassifier, PrivateEBMRegressor])
def test_a_fit_whose_sums_wrap_around_ends_as_any_other(
    kind: Any, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums_of(monkeypatch)
    public: dict[str, Any] = {"classes": (0, 1)} if kind is PrivateEBMClassifier else {"target_range": (0, 1)}
    domain = Domain({"x": Integer(0, 3), "z": Integer(0, 3)})
    X = np.random.default_rng(0).integers(0, 4, (90, 2))
    model = kind(epsilon=1000.0, delta=0.1, domain=domain, algorithm=algorithm, random_state=0, **public).fit(
        X, X[:, 0] // 2
    )
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("outputs", [1, 3])
def test_gains_of_more_records_than_64_bits_hold_are_exact(outputs: int) -> None:
    rng = np.random.default_rng(5)
    for size in (1, 10**6, 10**12, 10**19):
        counts = rng.integers(0, 50, (3, 4)).astype(object) * size
        parts = rng.integers(-(2**30), 2**30, (3, 4, outputs)).astype(object) * counts[..., None] // (4 * outputs)
        found = gain(parts, counts, 2**30, SCORE)
        again = [[float(part) / 2**30 for part in cell] for cell in parts.reshape(-1, outputs)]
        rough = naive(np.array(again).reshape(3, 4, outputs), counts.astype(float))
        assert float(found) == pytest.approx(rough, rel=1e-9, abs=1e-9)
        # One record more moves the gain by no more than the bound, however many there are.
        more, sums = counts.copy(), parts.copy()
        more[1, 2] += 1
        sums[1, 2, 0] += int(rng.choice([-1, 1])) * 2**30
        assert abs(gain(sums, more, 2**30, SCORE) - found) <= gain_reach(SCORE) + Fraction(1, 2**60)


def naive(sums: Any, counts: Any) -> float:
    def explained(parts: Any, sizes: Any) -> float:
        length, most = np.linalg.norm(parts, axis=-1), SCORE
        best = np.minimum(most, length / np.maximum(sizes, 1))
        return float((2 * length * best - sizes * best**2).sum())

    alone = max(explained(sums.sum(axis=axis), counts.sum(axis=axis)) for axis in (0, 1))
    return explained(sums, counts) - alone


def test_released_gains_of_neighbors_differ_by_a_unit_of_sensitivity_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    caught: list[int] = []

    def spy(self: FineNoise, sums: Any, randomness: Any) -> Any:
        caught.append(int(sums[0]))
        assert self.units >= caught[0] - caught[-1] >= -self.units
        return sums / self.units

    through(monkeypatch, spy)
    rng = np.random.default_rng(6)
    for size in (10**9, 10**12, 10**15):
        caught.clear()
        counts = rng.integers(1, 50, (2, 2)).astype(object) * size
        parts = (counts * 2**30)[..., None] // np.array([[[9], [-11]], [[-7], [13]]], dtype=object)
        for added in (0, 1, -1):
            more, sums = counts.copy(), parts.copy()
            more[0, 0] += abs(added)
            sums[0, 0, 0] += added * 2**30
            monkeypatch.setattr(GainsOfPairs, "_coarse", lambda *_, own=(sums, more): [own])
            oracle = oracle_of(Given())
            release_gains(oracle, oracle.whole, question_of(SCORE))


def question_of(score: float) -> GainsOfPairs:
    pair: Any = type("Named", (), {"first": 0, "second": 1})()
    terms = Terms(grids=(), axes=())
    return GainsOfPairs(terms=terms, start=np.zeros(1), pairs=(pair,), classes=False, clip=1.0, score=score)


@pytest.mark.slow
def test_residuals_for_the_choice_are_added_up_in_blocks_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = np.random.default_rng(0).integers(0, 6, (400, 3))
    y = frame[:, 0] * frame[:, 1] / 25.0
    domain = Domain({name: Integer(0, 5) for name in "abc"})
    whole, blocks = (fitted(monkeypatch, domain, frame, y, block) for block in (residuals.BLOCK, 37))
    assert whole == blocks
    assert residuals.BLOCK * residuals.PAIR_UNITS <= 2**62


def fitted(monkeypatch: pytest.MonkeyPatch, domain: Domain, X: Any, y: Any, block: int) -> str:
    monkeypatch.setattr(residuals, "BLOCK", block)
    found = PrivateEBMRegressor(
        epsilon=20.0, delta=1e-6, domain=domain, target_range=(0, 1), interactions=1, random_state=0
    ).fit(X, y)
    assert any(len(term.attributes) == 2 for term in found.model_.terms)
    return fingerprint(found.model_)


def most_moved(largest: float) -> float:
    """Return how far one record moves what a cell explains at most, by trying."""
    tried = np.linspace(0, largest, 801)

    def explained(s: float, n: int) -> float:
        return float((2 * abs(s) * tried - n * tried**2).max())

    changes = [
        explained(s + q, n + 1) - explained(s, n)
        for n in range(6)
        for s in np.linspace(-n, n, 41)
        for q in (-1.0, -0.5, 0.0, 0.5, 1.0)
    ]
    return max(changes) - min(changes)


@pytest.mark.parametrize("largest", [0.15, 0.5, 1.0])
def test_the_reach_of_a_gain_bounds_what_a_record_moves(largest: float) -> None:
    assert most_moved(largest) <= float(gain_reach(largest)) + 1e-6


@pytest.mark.parametrize("largest", [1.0000001, 1.5, 4.0, 0.0, -0.1])
def test_scores_for_which_the_reach_is_not_proved_are_refused(largest: float) -> None:
    with pytest.raises(InvalidMechanismError, match=r"must be in \(0, 1\]"):
        gain_reach(largest)


def test_a_release_of_gains_takes_no_larger_scores() -> None:
    oracle = oracle_of(Given())
    with pytest.raises(InvalidMechanismError, match="largest score of a cell"):
        release_gains(oracle, oracle.whole, question_of(1.25))
