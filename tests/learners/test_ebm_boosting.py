"""Boosting as published: steps against a naive oracle, one record's share of them, several classes, planted twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import special

from glassine import Category, Domain, Integer
from glassine.learners import PrivateEBMClassifier
from glassine.learners.additive.boosting import Boosting, RandomSplits, boost
from glassine.learners.additive.grids import Axis, public_grids
from glassine.privacy.accounting import DiscreteGaussianNoise
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.randomness import Randomness
from glassine.sealed.noisy_sums import Portion
from glassine.sealed.released_bins import Terms
from glassine.sealed.sums import Leaves, Loss, visit
from glassine.verification import Claim, Runs, lower_bound

from .binning import bin_axes
from .sums import Given, oracle_of

UNITS = 1 << 20
CLASSES = ("low", "middle", "high")


def axes_of(n_terms: int) -> list[Axis]:
    """Return terms of four bins that were released with next to no noise, a hundred records in each."""
    domain = Domain({f"x{k}": Integer(0, 3) for k in range(n_terms)})
    grids = public_grids(domain, {f"x{k}": [0, 1, 2] for k in range(n_terms)})
    codes = np.tile(np.arange(400, dtype=np.uint16) % 4, (n_terms, 1))
    return bin_axes(codes, grids, 1e3)[0]


def problem(n_classes: int, n: int = 400, seed: int = 0) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the bins of records in two terms, and their targets."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (2, n)).astype(np.uint8)
    target = rng.integers(0, n_classes, n) if n_classes else rng.uniform(-1, 1, n)
    return codes, np.asarray(target if n_classes > 2 else target.astype(np.float64))


def residuals(scores: npt.NDArray[Any], target: npt.NDArray[Any], n_classes: int) -> npt.NDArray[Any]:
    """Return the clipped residuals, shape (outputs, n)."""
    if not n_classes:
        return np.asarray(np.clip(target - scores, -1, 1))
    if n_classes == 2:
        return np.asarray(target - special.expit(scores))
    found = (target == np.arange(n_classes)[:, None]) - special.softmax(scores, axis=0)
    return np.asarray(found / np.maximum(1.0, np.linalg.norm(found, axis=0)))


@pytest.mark.parametrize("n_classes", [0, 2, 3, 5])
def test_steps_agree_with_a_naive_oracle(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise, and with a leaf for every bin, boosting is gradient descent, term by term."""
    monkeypatch.setattr(FineNoise, "draw", lambda self, shape, randomness: np.zeros(shape, dtype=np.int64))
    codes, target = problem(n_classes)
    axes = axes_of(2)
    oracle = oracle_of(Given(codes=codes, values=target))
    shapes = boost(
        oracle,
        Portion(mu=1.0, share=0.9),
        Terms(grids=(), axes=tuple(axes)),
        n_classes=n_classes,
        boosting=Boosting(epochs=30, leaves=4, rate=0.5),
        splits=RandomSplits(randomness=Randomness.of(0)),
        progress=None,
    )
    outputs = n_classes if n_classes > 2 else 1
    (event,) = oracle.events
    assert isinstance(event, DiscreteGaussianNoise)
    assert (event.values, event.count) == (4 * outputs, 60)
    total = np.zeros((2, 4, outputs))
    for _ in range(30):
        for k in range(2):
            scores = sum(total[j][codes[j]].T for j in range(2))
            found = residuals(np.asarray(scores), target, n_classes)
            for b in range(4):
                total[k, b] += 0.5 * found[:, codes[k] == b].sum(axis=1) / axes[k].counts[b]
    for k in range(2):
        both = shapes.scores[k] - shapes.scores[k][:1]
        assert np.abs(both - (total[k] - total[k][:1])).max() < 2e-3
    middle = sum(total[k].T @ axes[k].counts / axes[k].counts.sum() for k in range(2))
    assert np.abs(shapes.intercept - middle).max() < 2e-3


def step_sums(codes: Any, scores: Any, target: Any) -> npt.NDArray[np.float64]:
    """Return the sums of one step of one term, four leaves, in units."""
    outputs = len(scores)
    none = np.zeros((1, 4, outputs), dtype=np.int64)
    leaves, sums = Leaves(of_bin=np.arange(4)[None], sizes=np.ones((1, 4)), noise=none), np.empty_like(none)
    visit(codes[:1], scores.copy(), target, leaves, 1.0, Loss.of(outputs, 1.0, UNITS, classes=outputs > 1), sums)
    return np.asarray(sums[0], dtype=np.float64)


def test_one_record_moves_the_sums_of_one_leaf_by_no_more_than_the_clip() -> None:
    """Scores are extreme: some records are wrong for certain, which is where a bound for each class alone fails."""
    longest = 0.0
    for seed in range(10):
        codes, target = problem(3, 41, seed)
        scores = np.random.default_rng(seed).normal(0, 8, (3, 41))
        full = step_sums(codes, scores, target)
        for dropped in range(41):
            rows = np.delete(np.arange(41), dropped)
            less = step_sums(np.ascontiguousarray(codes[:, rows]), scores[:, rows], target[rows])
            change = full - less
            assert np.count_nonzero(change.any(axis=1)) <= 1
            assert (change**2).sum() <= UNITS**2
            longest = max(longest, float((change**2).sum()) / UNITS**2)
    assert longest > 0.999, "the bound is reached"
    wrong = special.softmax(np.array([20.0, 0.0, 0.0]))
    assert np.linalg.norm(np.array([0.0, 1.0, 0.0]) - wrong) > 1.41, "each class alone is bounded by 1, all are not"


def neighbors() -> tuple[Any, Any]:
    codes, target = problem(3, 60)
    codes[0, -1], target[-1] = 3, 2
    return (codes[0, :-1, None], target[:-1]), (codes[0, :, None], target)


def boosted(dataset: Any, seed: int | None) -> npt.NDArray[np.float64]:
    """Return the scores of a few epochs that cost mu = 0.5."""
    codes, target = dataset
    randomness = Randomness.of(seed)
    oracle = oracle_of(Given(codes=np.ascontiguousarray(codes.T), values=target), 0.5, randomness)
    shapes = boost(
        oracle,
        oracle.whole,
        Terms(grids=(), axes=tuple(axes_of(1))),
        n_classes=3,
        boosting=Boosting(epochs=2, leaves=4),
        splits=RandomSplits(randomness=randomness),
        progress=None,
    )
    return np.asarray(shapes.scores[0])


def lead(scores: npt.NDArray[np.float64]) -> float:
    """Return how far the added record's class leads in its bin, less the same in another bin."""
    return float((scores[3, 2] - scores[3, 0]) - (scores[0, 2] - scores[0, 0]))


@pytest.mark.slow
def test_several_classes_keep_their_claim_and_shared_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    d0, d1 = neighbors()
    assert not lower_bound(boosted, d0, d1, Claim(mu=0.5), score=lead, runs=Runs(400, seed=1)).violated
    original = FineNoise.draw

    def shared(self: FineNoise, shape: tuple[int, ...], randomness: Randomness) -> npt.NDArray[np.int64]:
        """Draw one value for all classes of a leaf: it falls out of their differences."""
        return np.repeat(original(self, (*shape[:-1], 1), randomness), shape[-1], axis=-1)

    monkeypatch.setattr(FineNoise, "draw", shared)
    assert lower_bound(boosted, d0, d1, Claim(mu=0.5), score=lead, runs=Runs(400, seed=1)).violated


@pytest.mark.slow
def test_several_classes_are_learnt() -> None:
    """The best rule is right in about 86 % of the cases, the most frequent class in about 45 %."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.integers(0, 60, 5000), "job": rng.choice(["a", "b"], 5000), "z": rng.random(5000)})
    level = frame["x"].to_numpy() // 20 + (frame["job"] == "b").to_numpy() * (rng.random(5000) < 0.4)
    y = np.array(CLASSES)[np.minimum(level, 2)]
    domain = Domain({"x": Integer(0, 59), "job": Category(("a", "b")), "z": Integer(0, 1)})
    for accounting in ("gdp", "classic"):
        model = PrivateEBMClassifier(
            epsilon=2.0,
            delta=1e-6,
            domain=domain,
            algorithm="boosting",
            accounting=accounting,
            classes=CLASSES,
            random_state=0,
        ).fit(frame[:3000], y[:3000])
        assert model.model_.link == "softmax"
        assert model.score(frame[3000:], y[3000:]) > 0.78
        assert np.abs(model.predict_proba(frame[3000:]).sum(axis=1) - 1).max() < 1e-12
        event = model.certificate_.events[-1]
        assert isinstance(event, DiscreteGaussianNoise)
        assert event.values == 9
        errors = model.model_.terms[0].errors
        assert errors is not None
        assert errors.shape == model.model_.terms[0].scores.shape
