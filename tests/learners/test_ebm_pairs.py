"""Terms of two attributes: what they say, what they cost, and planted twins that pay too little."""

from __future__ import annotations

import json
import math
from typing import Any

import dp_accounting  # type: ignore[import-untyped]  # ships no types
import numpy as np
import polars as pl
import pytest
from dp_accounting.pld import PLDAccountant  # type: ignore[import-untyped]  # ships no types

from glassine import Category, Domain, Integer, Real
from glassine.errors import InvalidParameterError
from glassine.formats import to_python
from glassine.formats.json import from_dict, to_dict
from glassine.learners.additive.boosting import check_interactions
from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor
from glassine.learners.additive.grids import Axis, public_grids
from glassine.learners.additive.pairs import SCORE, Pair, cells_of_pair, coarser, release_counts, release_gains
from glassine.models import editing as applying
from glassine.privacy import accounting
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.randomness import Randomness
from glassine.sealed import residuals as sealed_residuals
from glassine.sealed.binned import codes_of
from glassine.sealed.gains import gain
from glassine.sealed.released_bins import Terms
from glassine.sealed.residuals import GainsOfPairs
from glassine.verification import Claim, Runs, lower_bound

from .sums import Given, oracle_of, released, through

UNITS = 1 << 20
DOMAIN = Domain(
    {"x": Real(0.0, 1.0), "z": Real(0.0, 1.0, missing=True), "k": Category(("a", "b", "c")), "w": Integer(0, 9)}
)


def crossed(n: int = 6000, seed: int = 0) -> tuple[pl.DataFrame, Any]:
    """Return records whose target depends on x and z together, on neither alone, and on k."""
    rng = np.random.default_rng(seed)
    x, z = rng.random(n), rng.random(n)
    k = rng.choice(["a", "b", "c"], n)
    y = 2.0 * np.sign((x - 0.5) * (z - 0.5)) + (k == "b") + rng.normal(0, 0.5, n)
    z = np.where(rng.random(n) < 0.02, np.nan, z)
    return pl.DataFrame({"x": x, "z": z, "k": k, "w": rng.integers(0, 10, n)}), y


def regressor(**more: Any) -> PrivateEBMRegressor:
    settings: dict[str, Any] = {"domain": DOMAIN, "target_range": (-5, 5), "random_state": 0, **more}
    return PrivateEBMRegressor(epsilon=4.0, delta=1e-6, **settings)


def classifier(**more: Any) -> PrivateEBMClassifier:
    settings: dict[str, Any] = {"domain": DOMAIN, "classes": (0, 1), "random_state": 0, **more}
    return PrivateEBMClassifier(epsilon=4.0, delta=1e-6, **settings)


def pairs_of(model: Any) -> list[set[str]]:
    return [set(term.attributes) for term in model.terms if len(term.bins) == 2]


@pytest.fixture(scope="module")
def fitted() -> Any:
    frame, y = crossed()
    return regressor(interactions="auto").fit(frame, y)


@pytest.mark.slow
def test_the_rule_finds_the_pair_and_nothing_else(fitted: Any) -> None:
    frame, y = crossed(seed=1)
    assert pairs_of(fitted.model_) == [{"x", "z"}]
    assert np.sqrt(np.mean((fitted.predict(frame) - y) ** 2)) < 1.0
    alone = regressor().fit(*crossed())
    assert np.sqrt(np.mean((alone.predict(frame) - y) ** 2)) > 1.8


@pytest.mark.slow
def test_the_rule_takes_no_pair_where_attributes_only_add_up() -> None:
    frame, _ = crossed()
    y = frame["x"].to_numpy() * 4 + frame["w"].to_numpy() / 3 - 2
    model = regressor(interactions="auto").fit(frame, y + np.random.default_rng(3).normal(0, 0.3, len(y)))
    assert pairs_of(model.model_) == []
    assert sum(getattr(event, "share", 0.0) for event in model.certificate_.events) == pytest.approx(1.0)


@pytest.mark.parametrize("make", [pytest.param(regressor, marks=pytest.mark.slow), classifier])
def test_named_pairs_and_numbers_of_pairs(make: Any) -> None:
    frame, y = crossed(2500)
    target = y if make is regressor else (y > 0.3).astype(int)
    named = make(interactions=[("k", "w"), ("z", "x")]).fit(frame, target)
    assert sorted(map(sorted, pairs_of(named.model_))) == [["k", "w"], ["x", "z"]]
    assert not any("gains" in event.name for event in named.certificate_.events)
    two = make(interactions=2).fit(frame, target)
    assert len(pairs_of(two.model_)) == 2
    assert {"x", "z"} in pairs_of(two.model_)
    assert named.score(frame, target) > make().fit(frame, target).score(frame, target) + 0.2
    assert named.certificate_.public["interactions"] == [["k", "w"], ["z", "x"]]


@pytest.mark.slow
def test_more_pairs_than_there_are_and_several_classes() -> None:
    frame, y = crossed(1500)
    model = classifier(classes=(0, 1, 2), interactions=30).fit(frame, np.digitize(y, [-1, 1]))
    assert len(pairs_of(model.model_)) == 6
    assert model.predict_proba(frame).shape == (1500, 3)


def test_a_pair_averages_to_zero_along_either_attribute() -> None:
    frame, y = crossed(3000)
    fit = regressor(interactions=[("x", "w")], bins={"x": [0.3, 0.6]}).fit(frame, y)
    pair, x = fit.model_.term("x & w"), fit.model_.term("x")
    assert x.weights is not None
    shares = np.maximum(x.weights[:-1], 1.0) / np.maximum(x.weights[:-1], 1.0).sum()
    assert np.abs(shares @ pair.scores[:3, :-1, 0]).max() < 1e-9


def test_what_is_published_of_pairs_reads_like_any_term(fitted: Any) -> None:
    frame, _ = crossed(400, seed=2)
    model = fitted.model_
    shapes = fitted.summarize_model()
    pair = next(shape for shape in shapes if len(shape.term.bins) == 2)
    assert pair.importance > 1.5
    assert pair.low is not None
    assert (pair.low <= pair.released).all()
    assert (pair.term.errors > 0).any()
    local = fitted.contributions(frame)
    assert np.allclose(local.intercept + local.added.sum(axis=1), local.scores, atol=1e-12)
    assert (model.contributions(frame).scores == model.scores(frame)).all()
    assert from_dict(json.loads(json.dumps(to_dict(model)))) == model
    space: dict[str, Any] = {}
    exec(to_python(model), space)  # noqa: S102 - the source is what the test is about
    row = frame.row(0, named=True)
    assert space["predict"](row) == pytest.approx(float(fitted.predict(frame.head(1))[0]), abs=1e-9)
    name = pair.term.name
    flat = applying.zero(model, name)
    assert not flat.term(name).scores.any()
    assert applying.revert(flat) == model


@pytest.mark.parametrize(
    "given",
    [
        -1,
        31,
        True,
        2.0,
        "all",
        None,
        [("x",)],
        [("x", "x")],
        [("x", "y")],
        [("x", "z"), ("z", "x")],
        ["xz"],
        {"x": "z"},
    ],
)
def test_bad_wishes_are_refused(given: Any) -> None:
    with pytest.raises(InvalidParameterError, match="interactions"):
        check_interactions(given, DOMAIN)


def test_orders_and_boosting_have_no_pairs() -> None:
    frame, y = crossed(800)
    with pytest.raises(InvalidParameterError, match="in order"):
        regressor(interactions=[("x", "z")], monotone={"x": "increasing"}).fit(frame, y)
    with pytest.raises(InvalidParameterError, match="boosting"):
        regressor(interactions=1, algorithm="boosting").fit(frame, y)
    model = regressor(interactions=3, monotone={"x": "increasing"}).fit(frame, y).model_
    assert not any("x" in names for names in pairs_of(model))


def test_tiny_data_and_lone_attributes() -> None:
    for n in (1, 2, 9):
        frame, y = crossed(n)
        assert len(regressor(interactions="auto").fit(frame, y).predict(frame)) == n
        regressor(interactions=[("x", "k")]).fit(frame, y)
    one = PrivateEBMRegressor(epsilon=1.0, domain=Domain({"x": Real(0, 1)}), target_range=(-5, 5), interactions=1)
    frame, y = crossed(300)
    assert pairs_of(one.fit(frame.select("x"), y).model_) == []


# ---- what it costs ----


def axis_of(name: str, counts: list[float]) -> Axis:
    grid = next(grid for grid in public_grids(DOMAIN, None) if grid.attribute == name)
    size = grid.n_cells
    bin_of = np.minimum(np.arange(size + 1) * len(counts) // size, len(counts) - 1)
    return Axis(grid=grid, bin_of=bin_of, counts=np.array(counts), variances=np.ones(len(counts)))


def test_coarser_bins_are_runs_of_about_equal_count() -> None:
    axis, groups = coarser(axis_of("x", [900.0, 10, 20, 30, 20, 10, 5, 5]), 4)
    assert groups.tolist() == sorted(groups.tolist())
    assert axis.counts[0] == 900
    assert axis.n_bins == 4
    assert axis.counts.sum() == 1000
    same, kept = coarser(axis_of("w", [-5.0, 0.0, 3.0]), 4)
    assert kept.tolist() == [0, 1, 2]
    assert same.counts.tolist() == [-5.0, 0.0, 3.0]
    for most in (1, 2, 3):
        assert coarser(axis_of("x", [0.0] * 9), most)[0].n_bins <= most


def test_cells_are_those_of_both_bins() -> None:
    axes = [axis_of("x", [50.0, 20, 30]), axis_of("w", [10.0, 90.0])]
    pair = Pair.of(axes, 0, 1, 8)
    codes = np.array([[0, 1, 2, 2], [1, 0, 1, 0]], dtype=np.uint8)
    assert codes_of([pair], codes).tolist() == [[1, 2, 5, 4]]
    cells = cells_of_pair(pair, np.ones(6))
    for covariance in cells.covariances:
        assert covariance is not None
        assert np.trace(covariance) == pytest.approx(6)
        grid = covariance.reshape(3, 2, 6)
        assert np.abs(np.tensordot(pair.shares[0], grid, axes=1)).max() < 1e-9


def naive_gain(residuals: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> float:
    """Return the gain by trying many scores for each bin."""
    tried = np.linspace(-SCORE, SCORE, 4001)

    def explained(groups: Any) -> float:
        best = 0.0
        for group in np.unique(groups):
            mine = residuals[groups == group]
            best += float((2 * mine.sum() * tried - len(mine) * tried**2).max())
        return best

    return explained(rows * shape[1] + columns) - max(explained(rows), explained(columns))


def tables_of(residuals: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    sums, counts = np.zeros((*shape, 1), dtype=np.int64), np.zeros(shape, dtype=np.int64)
    np.add.at(sums[..., 0], (rows, columns), np.rint(residuals * UNITS).astype(np.int64))
    np.add.at(counts, (rows, columns), 1)
    return sums, counts


def test_the_gain_agrees_with_a_naive_oracle_and_moves_by_four_scores_at_most() -> None:
    rng = np.random.default_rng(0)
    largest = 0.0
    for trial in range(400):
        shape, n = (3, 2), int(rng.integers(1, 30))
        rows, columns = rng.integers(0, 3, n), rng.integers(0, 2, n)
        residuals = np.clip(rng.normal(rng.choice([-1, 0, 1], (3, 2))[rows, columns], 0.4), -1, 1)
        full = gain(*tables_of(residuals, rows, columns, shape), UNITS, SCORE)
        if trial < 40:
            assert full == pytest.approx(naive_gain(residuals, rows, columns, shape), abs=1e-4)
        less = gain(*tables_of(residuals[1:], rows[1:], columns[1:], shape), UNITS, SCORE)
        largest = max(largest, float(abs(full - less)))
    assert 2 * SCORE < largest <= 4 * SCORE * (1 + 1e-5)


def by_google(events: Any, delta: float) -> float:
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for event in events:
        multiplier = event.sigma / event.l2_sensitivity / math.sqrt(event.count)
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
    return float(accountant.get_epsilon(delta))


@pytest.mark.slow
@pytest.mark.parametrize(
    "wish",
    ["auto", pytest.param(2, marks=pytest.mark.slow), pytest.param([("x", "z"), ("k", "w")], marks=pytest.mark.slow)],
)
def test_the_certificate_agrees_with_two_accountants(wish: Any) -> None:
    frame, y = crossed(2000)
    for make, target in ((regressor, y), (classifier, (y > 0.3).astype(int))):
        events = make(interactions=wish).fit(frame, target).certificate_.events
        ours = accounting.epsilon(events, 1e-6)
        assert 4 * (1 - 1e-5) <= ours <= 4
        assert by_google(events, 1e-6) == pytest.approx(ours, rel=2e-3)
        assert sum(getattr(event, "share", 0.0) for event in events) == pytest.approx(1.0)


def test_rounds_with_pairs_pay_for_every_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact sums of two datasets that differ by a record are as near as the noise was made for."""
    caught: list[Any] = []

    def spy(self: FineNoise, sums: Any, randomness: Any) -> Any:
        caught.append((np.asarray(sums).copy(), self.l2_sensitivity))
        return np.zeros(np.shape(sums)) if len(caught) > 2 else released(self, sums, randomness)

    through(monkeypatch, spy)
    frame, y = crossed(500)
    fixed = {"x": [0.5], "z": [0.5], "w": [4]}
    domain = Domain({name: DOMAIN[name] for name in ("x", "z", "w")})
    seen = []
    for n in (500, 499):
        caught.clear()
        PrivateEBMRegressor(
            # So little that one record changes no number of rounds.
            epsilon=4.0,
            domain=domain,
            target_range=(-3, 3),
            bins=fixed,
            interactions=[("x", "z"), ("x", "w")],
            random_state=0,
        ).fit(frame.select("x", "z", "w")[:n], y[:n])
        seen.append(list(caught))
    late = [(a, b, l2) for (a, l2), (b, _) in zip(*seen, strict=True) if len(a) > 14]
    counts = [(a, b, l2) for (a, l2), (b, _) in zip(*seen, strict=True) if len(a) == 10]
    assert len(late) >= 18
    for a, b, l2 in (*late, *counts):
        assert 0 < np.linalg.norm((a - b).astype(float)) <= l2


# ---- verification ----


def worst_neighbors() -> tuple[Any, Any]:
    """Return records (row, column, residual) whose gains differ by nearly as much as one of them can do."""
    rows, columns = np.repeat([0, 0, 1, 1], 50), np.tile(np.repeat([0, 1], 50), 2)
    records = np.column_stack([rows, columns, np.where(rows == columns, -1.0, 1.0)])
    return records, np.vstack([records, [0, 0, 1.0]])


def noisy_gain(records: Any, seed: int | None) -> float:
    pair = Pair.of([axis_of("x", [9.0, 9.0]), axis_of("w", [9.0, 9.0])], 0, 1, 8)
    sums, counts = tables_of(records[:, 2], records[:, 0].astype(int), records[:, 1].astype(int), (2, 2))
    question = GainsOfPairs(
        terms=Terms(grids=(), axes=()), start=np.zeros(1), pairs=(pair,), classes=False, clip=1.0, score=SCORE
    )
    oracle = oracle_of(Given(), randomness=Randomness.of(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GainsOfPairs, "_coarse", lambda *_: [(sums, counts)])
        patch.setattr(sealed_residuals, "PAIR_UNITS", UNITS)
        return float(release_gains(oracle, oracle.whole, question).values[0])


@pytest.mark.slow
def test_gains_keep_their_claim() -> None:
    assert not lower_bound(noisy_gain, *worst_neighbors(), Claim(mu=1.0), score=float, runs=Runs(500, seed=1)).violated


@pytest.mark.slow
@pytest.mark.parametrize("planted", ["a choice that is not paid", "the sensitivity of a smaller score"])
def test_gains_that_pay_too_little_are_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:

    def free(self: FineNoise, sums: Any, randomness: Any) -> Any:
        return sums / self.units + 1e-3 * (released(self, sums, randomness) - sums / self.units)

    if planted.startswith("a choice"):
        through(monkeypatch, free)
    else:
        original = gain
        monkeypatch.setattr(sealed_residuals, "gain", lambda *given: 5 * original(*given))
    assert lower_bound(noisy_gain, *worst_neighbors(), Claim(mu=1.0), score=float, runs=Runs(500, seed=1)).violated


def test_counts_of_pairs_that_pay_too_little_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin makes a fifth of the noise; the honest release of the same records passes."""
    rows = np.array([0] * 30), np.array([0] * 31)
    pair = Pair.of([axis_of("x", [9.0, 9.0]), axis_of("w", [9.0, 9.0])], 0, 1, 8)

    def run(codes: Any, seed: int | None) -> float:
        both = Given(codes=np.stack([codes, codes]).astype(np.uint8), values=np.zeros(len(codes)))
        oracle = oracle_of(both, randomness=Randomness.of(seed))
        terms = Terms(grids=(), axes=pair.axes)
        counts, _ = release_counts(oracle, oracle.whole, terms, (pair,), 1)
        return float(counts[0][0])

    assert not lower_bound(run, *rows, Claim(mu=1.0), score=float, runs=Runs(400, seed=1)).violated
    honest = FineNoise.of
    monkeypatch.setattr(FineNoise, "of", classmethod(lambda cls, mu, square: honest(5 * mu, square)))
    assert lower_bound(run, *rows, Claim(mu=1.0), score=float, runs=Runs(400, seed=1)).violated


@pytest.mark.slow
def test_a_whole_fit_with_a_chosen_pair_keeps_its_claim() -> None:
    frame = pl.DataFrame({"x": [0.2, 0.8] * 100, "w": [1, 1, 8, 8] * 50})
    more = pl.concat([frame, pl.DataFrame({"x": [0.2], "w": [1]})])
    domain = Domain({"x": Real(0.0, 1.0), "w": Integer(0, 9)})

    def run(dataset: Any, seed: int | None) -> float:
        records, y = dataset
        model = PrivateEBMRegressor(
            epsilon=1.0,
            delta=1e-6,
            domain=domain,
            bins={"x": [0.5], "w": [4]},
            target_range=(99, 100),
            interactions=1,
            random_state=seed,
        ).fit(records, y)
        return float(model.predict(records.head(1))[0])

    d0, d1 = (frame, np.full(200, 99.5)), (more, np.append(np.full(200, 99.5), 100.0))
    assert not lower_bound(run, d0, d1, Claim(epsilon=1.0, delta=1e-6), score=float, runs=Runs(120, seed=1)).violated
