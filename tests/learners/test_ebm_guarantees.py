"""The additive learners keep what they claim: sensitivities, certificates, and planted twins that do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dp_accounting  # type: ignore[import-untyped]  # ships no types
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from dp_accounting.pld import PLDAccountant  # type: ignore[import-untyped]  # ships no types
from scipy import special

from glassine import Category, Domain, Integer, Real
from glassine.errors import PrivacyLeakWarning
from glassine.learners.additive import targets as ebm_targets
from glassine.learners.additive.boosting import ACCOUNTINGS
from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor
from glassine.learners.additive.grids import public_grids
from glassine.learners.additive.targets import Target, release_base
from glassine.privacy import accounting
from glassine.privacy.fine_gaussian import FINE_SIGMA, FineNoise, slack_of
from glassine.records.undeclared import read_checked
from glassine.sealed import residuals as sealed_residuals
from glassine.sealed import sums as ebm_sums
from glassine.sealed.binned import read_cells
from glassine.sealed.sums import Loss, Moves
from glassine.verification import Claim, Runs, lower_bound

from .binning import bin_axes
from .sums import Given, oracle_of, through
from .sums import released as honest

UNITS = 1 << 20


def naive_units(scores: Any, target: Any, clip: float, *, classes: bool) -> npt.NDArray[np.float64]:
    """Return the clipped residuals of records, shape (outputs, n), without tables and without units."""
    if not classes:
        residual = target[None, :] - scores
    elif len(scores) == 1:
        residual = target[None, :] - special.expit(scores)
    else:
        residual = (target[None, :] == np.arange(len(scores))[:, None]) - special.softmax(scores, axis=0)
        length = np.linalg.norm(residual, axis=0) + 1e-300
        return np.asarray(residual * np.minimum(1.0, clip / length))
    return np.asarray(np.clip(residual, -clip, clip))


def problem(outputs: int, *, classes: bool, n: int = 700, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return codes, scores and targets; some scores are extreme."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 5, (3, n)).astype(np.uint8)
    scores = rng.normal(0, 2, (outputs, n))
    scores[:, :4] *= 1000
    target = rng.integers(0, max(outputs, 2), n).astype(np.float64) if classes else rng.uniform(-1, 1, n)
    return codes, scores, target


@pytest.mark.parametrize(("outputs", "classes"), [(1, False), (1, True), (3, True)])
def test_sums_agree_with_a_naive_oracle(outputs: int, classes: bool) -> None:
    codes, scores, target = problem(outputs, classes=classes)
    step, shift = np.random.default_rng(1).normal(size=(3, 5, outputs)), np.full(outputs, 0.25)
    moved = scores + shift[:, None] + sum(step[k, codes[k]].T for k in range(3))
    given = scores.copy()
    loss = Loss.of(outputs, 0.5, UNITS, classes=classes)
    out, _ = ebm_sums.advance(codes, given, target, Moves(step, shift), loss)
    assert np.allclose(given, moved, rtol=1e-12)
    residual = naive_units(moved, target, 0.5, classes=classes)
    for k in range(3):
        for b in range(5):
            expected = residual[:, codes[k] == b].sum(axis=1)
            assert np.abs(out[k, b] / UNITS * 0.5 - expected).max() < 0.02


@pytest.mark.parametrize(("outputs", "classes"), [(1, False), (1, True), (3, True)])
def test_one_record_moves_the_sums_by_no_more_than_the_clip(outputs: int, classes: bool) -> None:
    """Neither the order of the records nor where the added one stands changes what the others add."""
    for seed in range(20):
        codes, scores, target = problem(outputs, classes=classes, n=67, seed=seed)
        step, shift = np.zeros((3, 5, outputs)), np.zeros(outputs)

        def sums(rows: Any, given: Any = (codes, scores, target, step, shift)) -> tuple[Any, int]:
            codes, scores, target, step, shift = given
            loss = Loss.of(outputs, 0.3, UNITS, classes=classes)
            part = np.ascontiguousarray(codes[:, rows])
            return ebm_sums.advance(part, scores[:, rows].copy(), target[rows], Moves(step, shift), loss)

        full, curved = sums(np.arange(67))
        assert (sums(np.arange(67)[::-1])[0] == full).all()
        for dropped in (0, 3, 31, 66):
            less, flatter = sums(np.delete(np.arange(67), dropped))
            change = full - less
            assert (np.count_nonzero(change.any(axis=2), axis=1) <= 1).all()
            assert (np.sum(change.astype(object) ** 2, axis=(1, 2)) <= UNITS**2).all()
            assert 0 <= curved - flatter <= UNITS // 2


def test_a_record_counts_once_on_each_level_of_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact counts before the noise move by one per level, even where trees are refined."""
    domain = Domain({"x": Integer(0, 999), "job": Category(("a", "b"), missing=True)})
    grids = public_grids(domain, None)
    rng = np.random.default_rng(0)
    seen: list[Any] = []

    def spy(self: FineNoise, sums: Any, randomness: Any) -> Any:
        seen.append(sums // self.units)
        return np.where(sums > 0, 1000.0, -1000.0)

    through(monkeypatch, spy)
    released = []
    x = rng.integers(0, 1000, 300).astype(float)
    for n in (300, 299):
        seen.clear()
        frame = pl.DataFrame({"x": x[:n], "job": ["a"] * n})
        bin_axes(
            read_cells(read_checked(frame, domain), grids),
            grids,
            1.0,
        )
        released.append([array.copy() for array in seen])
    levels = sum(len(grid.sizes) for grid in grids)
    same = [a for a, b in zip(*released, strict=False) if len(a) == len(b)]
    change = sum(int(np.abs(a - b).sum()) for a, b in zip(*released, strict=False) if len(a) == len(b))
    assert len(same) >= 2
    assert change <= levels


def test_the_base_counts_each_record_once(monkeypatch: pytest.MonkeyPatch) -> None:
    caught: list[Any] = []
    original = honest

    def spy(self: FineNoise, sums: Any, randomness: Any) -> Any:
        caught.append((sums.copy(), self.l2_sensitivity))
        return original(self, sums, randomness)

    through(monkeypatch, spy)
    numbers = np.array([-1.0, 0.5, 1.0])
    for n in (3, 2):
        target = Target(classes=None, bounds=(0.0, 1.0), name="y")
        oracle = oracle_of(Given(values=numbers[:n]))
        release_base(target, oracle, oracle.whole)
    change = (caught[0][0] - caught[1][0]).astype(float)
    assert 0 < np.linalg.norm(change) <= caught[0][1]


def frame_of(n: int = 4000) -> tuple[pl.DataFrame, npt.NDArray[np.float64], Domain]:
    """Return some records, a number from 0 to 1, and their domain."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.random(n), "b": rng.random(n), "c": rng.integers(0, 5, n)})
    domain = Domain({"a": Real(0.0, 1.0), "b": Real(0.0, 1.0), "c": Integer(0, 4)})
    return frame, frame["a"].to_numpy() * 0.5, domain


def by_google(events: Any, delta: float) -> float:
    """Return the epsilon that Google's accountant computes from the events' noise multipliers."""
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for event in events:
        # k runs at one multiplier are one run at that multiplier over the root of k.
        multiplier = event.sigma / event.l2_sensitivity / math.sqrt(event.count)
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
    return float(accountant.get_epsilon(delta))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("algorithm", ["penalized", "boosting"])
def test_the_certificate_agrees_with_two_accountants(algorithm: str, epsilon: float) -> None:
    frame, y, domain = frame_of()
    for mode in ACCOUNTINGS if algorithm == "boosting" else ("gdp",):
        model = PrivateEBMRegressor(
            epsilon=epsilon,
            delta=1e-6,
            domain=domain,
            algorithm=algorithm,
            accounting=mode,
            target_range=(0, 1),
            random_state=0,
        ).fit(frame, y)
        events = model.certificate_.events
        ours = accounting.epsilon(events, 1e-6)
        assert ours <= epsilon
        assert by_google(events, 1e-6) == pytest.approx(ours, rel=2e-3)
        assert accounting.delta(events, epsilon) <= 1e-6
        if algorithm != "boosting":
            assert ours >= epsilon * (1 - 1e-5) - 1e-6, "nothing of the budget is left over"
            assert sum(getattr(event, "share", 0.0) for event in events) == pytest.approx(1.0)
        elif mode == "classic":
            assert ours < 0.8 * epsilon


def ratios(sigma: float, at: Any) -> npt.NDArray[np.float64]:
    """Logarithms of the probability that normal noise rounds to a number, over that of the discrete one."""
    u = np.linspace(-0.5, 0.5, 2001)
    parts = np.exp(-(u**2) / (2 * sigma**2)) * np.cosh(np.asarray(at)[:, None] * u / sigma**2)
    return np.asarray(np.log(parts.mean(axis=1)))


def test_the_slack_of_discrete_noise_bounds_the_ratio_of_densities() -> None:
    """For few values: each within 128 standard deviations. For many: as far as their squares add up together."""
    for sigma in (FINE_SIGMA, 10 * FINE_SIGMA):
        far = ratios(sigma, sigma * np.array([0.0, 0.5, 1.0, 8.0, 64.0, 128.0]))
        assert far.max() - far.min() <= slack_of(1, sigma)
        rng = np.random.default_rng(0)
        for values in (3, 10**4, 10**6):
            # The squares of all noises are at most this together, but for a probability of exp(-8190).
            most = 4 * 8190 + 1.4 * values
            drawn = rng.normal(0, 1, min(values, 10**4))
            assert (drawn**2).sum() * values / len(drawn) < most
            spread = np.sqrt(most / values) * sigma
            assert values * float(ratios(sigma, [spread])[0] - far.min()) <= slack_of(values, sigma)


@pytest.mark.parametrize("sigma", [FINE_SIGMA, 50 * FINE_SIGMA])
def test_squares_of_rounded_noise_have_the_moment_that_the_slack_rests_on(sigma: float) -> None:
    z = np.linspace(-40, 40, 800_001)
    weights = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    moment = float((weights * np.exp((np.abs(z) + 0.5 / sigma) ** 2 / 4)).sum())
    assert math.log(2) / 2 < math.log(moment) < 0.35


def test_the_accountant_knows_fine_noise() -> None:
    fine = accounting.DiscreteGaussianNoise(name="sums", l2_sensitivity=1.0 * 2**26, sigma=2.0**28, values=1000)
    coarse = accounting.DiscreteGaussianNoise(name="sums", l2_sensitivity=1.0 * 2**26, sigma=2.0**28)
    smooth = accounting.GaussianNoise(name="sums", l2_sensitivity=0.25, sigma=1.0)
    tight, loose, ideal = (accounting.epsilon([event], 1e-6) for event in (fine, coarse, smooth))
    assert ideal < tight < ideal * (1 + 1e-6)
    assert loose > 1.05 * ideal
    with pytest.raises(ValueError, match="values"):
        accounting.DiscreteGaussianNoise(name="sums", l2_sensitivity=1.0, sigma=10.0, values=3)
    with pytest.raises(ValueError, match="values"):
        accounting.DiscreteGaussianNoise(name="sums", l2_sensitivity=1.0, sigma=1e4, values=-1)


# ---- verification: two neighbors each, an honest learner and a planted twin ----


def named_category(dataset: Any, seed: int | None, *, declared: bool) -> Any:
    """Return a classifier's model of records whose job one person alone may have."""
    frame, y = dataset
    jobs = Category(("baker", "clerk", "pope")) if declared else Category(tuple(sorted(set(frame["job"]))))
    domain = Domain({"job": jobs, "x": Integer(0, 1)})
    return (
        PrivateEBMClassifier(epsilon=1.0, delta=1e-6, domain=domain, classes=(0, 1), random_state=seed)
        .fit(frame, y)
        .model_
    )


def pope_shows(model: Any) -> float:
    """Return how much of a bin of its own the rare category has."""
    for term in model.terms:
        for bins in term.bins:
            if bins.attribute == "job" and ("pope",) in bins.groups:
                return 1.0 + float(term.scores[bins.groups.index(("pope",)), 0])
    return 0.0


def job_neighbors() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"job": rng.choice(["baker", "clerk"], 60).tolist(), "x": rng.integers(0, 2, 60)})
    y = rng.integers(0, 2, 60)
    more = pl.concat([frame, pl.DataFrame({"job": ["pope"], "x": [1]})])
    return (frame, y), (more, np.append(y, 1))


@pytest.mark.slow
def test_a_category_that_one_person_has_does_not_show() -> None:
    d0, d1 = job_neighbors()
    honest = lower_bound(
        lambda data, seed: named_category(data, seed, declared=True),
        d0,
        d1,
        Claim(epsilon=1.0, delta=1e-6),
        score=pope_shows,
        runs=Runs(200, seed=1),
    )
    assert not honest.violated


@pytest.mark.slow
def test_names_taken_from_the_data_are_found() -> None:
    def leaking(dataset: Any, seed: int | None) -> float:
        frame, y = dataset
        domain = Domain({"job": Category(tuple(sorted(set(frame["job"])))), "x": Integer(0, 1)})
        model = PrivateEBMClassifier(epsilon=1.0, delta=1e-6, domain=domain, classes=(0, 1), random_state=seed).fit(
            frame, y
        )
        return float("pope" in model.domain_["job"].values)  # type: ignore[union-attr]  # a category

    d0, d1 = job_neighbors()
    assert lower_bound(leaking, d0, d1, Claim(epsilon=1.0, delta=1e-6), score=float, runs=Runs(200, seed=1)).violated
    with pytest.warns(PrivacyLeakWarning):
        model = PrivateEBMClassifier(epsilon=1.0, random_state=0).fit(*d1)
    assert any("domain inferred" in caveat for caveat in model.certificate_.caveats)


def far_neighbors() -> tuple[Any, Any]:
    """Return targets in [99, 100], all records alike, and one more."""
    x = pl.DataFrame({"x": [0] * 200 + [1] * 200})
    y = np.full(400, 99.5)
    return (x, y), (pl.concat([x, pl.DataFrame({"x": [1]})]), np.append(y, 100.0))


def far_regression(algorithm: str) -> Callable[[Any, int | None], float]:
    domain = Domain({"x": Integer(0, 1)})

    def run(dataset: Any, seed: int | None) -> float:
        frame, y = dataset
        model = PrivateEBMRegressor(
            epsilon=1.0,
            delta=1e-6,
            domain=domain,
            algorithm=algorithm,
            bins={"x": [0]},
            target_range=(99, 100),
            random_state=seed,
        ).fit(frame, y)
        found = model.model_
        return float(found.intercept[0] + (found.terms[0].scores[1, 0] if found.terms else 0.0))

    return run


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["penalized", pytest.param("boosting", marks=pytest.mark.slow)])
def test_regression_far_from_zero_keeps_its_claim(algorithm: str) -> None:
    d0, d1 = far_neighbors()
    assert not lower_bound(
        far_regression(algorithm), d0, d1, Claim(epsilon=1.0, delta=1e-6), score=float, runs=Runs(120, seed=1)
    ).violated


@pytest.mark.slow
def test_residuals_without_centre_and_clip_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin counts residuals from zero and does not clip them: its noise is that of the range alone."""
    caught: list[float] = []
    original = honest

    def unclipped(codes: Any, scores: Any, target: Any, moves: Any, loss: Loss) -> tuple[Any, int]:
        residual = target + 199.0 - scores[0]
        out = np.zeros(moves.step.shape, dtype=np.int64)
        # One term is a group of its own.
        for k, row in enumerate(codes.codes):
            np.add.at(out[k, :, 0], row, np.rint(residual / loss.clip * loss.units).astype(np.int64))
        return out, len(target) * loss.units // 2

    def spy(self: FineNoise, sums: Any, randomness: Any) -> Any:
        noisy = original(self, sums, randomness)
        caught.append(float(noisy[min(1, len(noisy) - 1)]))
        return noisy

    monkeypatch.setattr(sealed_residuals, "advance", unclipped)
    through(monkeypatch, spy)
    run = far_regression("penalized")

    def first_sum(dataset: Any, seed: int | None) -> float:
        caught.clear()
        run(dataset, seed)
        # First the base, then the counts of the two bins, then the first round.
        return caught[2]

    d0, d1 = far_neighbors()
    found = lower_bound(first_sum, d0, d1, Claim(epsilon=1.0, delta=1e-6), score=float, runs=Runs(240, seed=1))
    assert found.violated
    assert ebm_targets.SMALLEST_SPREAD > 0
