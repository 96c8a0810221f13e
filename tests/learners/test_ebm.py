"""The additive estimators: scikit-learn's contracts, release surface, frames of every library, bad input."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from glassine import Binary, Category, Domain, GlassineError, Integer, Ledger, Real
from glassine.data import CountTable
from glassine.errors import BudgetExceededError, InvalidDataError, InvalidParameterError, PrivacyLeakWarning
from glassine.formats import fingerprint
from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor

DOMAIN = Domain(
    {
        "age": Integer(18, 90),
        "income": Real(0.0, 100_000.0, missing=True),
        "job": Category(("clerk", "baker", "pilot", "pope"), missing=True),
        "smoker": Binary(),
    }
)
ALGORITHMS = ("penalized", "boosting")
KINDS: tuple[Any, ...] = (PrivateEBMClassifier, PrivateEBMRegressor)


def people(n: int = 3000, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    """Return records, and a number from 0 to 10 that rises with age, and with smoking."""
    rng = np.random.default_rng(seed)
    income = rng.gamma(2.0, 10_000.0, n)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "income": [None if gap else float(value) for gap, value in zip(rng.random(n) < 0.1, income, strict=True)],
            "job": rng.choice(np.array(["clerk", "baker", "pilot", None], dtype=object), n).tolist(),
            "smoker": rng.integers(0, 2, n),
        }
    )
    y = 4.0 + (frame["age"].to_numpy() - 54) / 18 + frame["smoker"].to_numpy() + rng.normal(0, 0.5, n)
    return frame, np.clip(y, 0, 10)


def learner(kind: Any, **more: Any) -> Any:
    """Return a seeded learner with everything public declared."""
    public = {"classes": ("no", "yes")} if kind is PrivateEBMClassifier else {"target_range": (0, 10)}
    return kind(**({"epsilon": 2.0, "domain": DOMAIN, "random_state": 0} | public | more))


def target(kind: Any, y: Any) -> Any:
    """Return the target of a kind of learner."""
    return np.where(y > 4.5, "yes", "no") if kind is PrivateEBMClassifier else y


@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [PrivateEBMClassifier(epsilon=1e3, random_state=0), PrivateEBMRegressor(epsilon=1e3, random_state=0)]
)
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    """No check is exempted; the learners run at an epsilon that leaves no noise to speak of."""
    check(estimator)
    assert not hasattr(estimator, "model_"), "checks work on clones"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_and_keeps_the_release_surface_only(kind: Any, algorithm: str) -> None:
    frame, y = people()
    model = learner(kind, algorithm=algorithm).fit(frame, target(kind, y))
    assert model.score(frame, target(kind, y)) > (0.85 if kind is PrivateEBMClassifier else 0.6)
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted == model.released
    assert model.certificate_.epsilon == 2.0
    assert model.certificate_.delta == 1e-6
    assert model.certificate_.model == fingerprint(model.model_)
    assert model.model_.source == f"glassine.{kind.__name__}"
    back = pickle.loads(pickle.dumps(model))
    assert back.model_ == model.model_
    assert back.predict(frame).tolist() == model.predict(frame).tolist()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pickle_does_not_grow_with_the_records(algorithm: str) -> None:
    sizes = []
    cuts = {"age": [30, 50, 70], "income": [10_000, 20_000]}
    for n in (500, 20_000):
        frame, y = people(n)
        sizes.append(len(pickle.dumps(learner(PrivateEBMRegressor, algorithm=algorithm, bins=cuts).fit(frame, y))))
    assert sizes[1] < sizes[0] + 2000


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_frame_gives_the_same_model(kind: Any) -> None:
    frame, y = people()
    expected = learner(kind).fit(frame, target(kind, y))
    both = frame.with_columns(pl.Series("y", target(kind, y)))
    for given in (frame.to_pandas(), frame.to_arrow()):
        assert learner(kind).fit(given, target(kind, y)).model_ == expected.model_
    named = learner(kind).fit(both, "y")
    assert named.model_.terms == expected.model_.terms == learner(kind).fit(both.lazy(), "y").model_.terms
    assert named.model_.target == "y"
    assert named.predict(both.drop("y")).tolist() == expected.predict(frame).tolist()


def test_the_domain_may_declare_the_target() -> None:
    frame, y = people()
    declared = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "y": Real(0.0, 10.0)})
    both = frame.with_columns(pl.Series("y", y))
    model = learner(PrivateEBMRegressor, domain=declared, target_range=None).fit(both, "y")
    assert model.model_.target_bounds == (0.0, 10.0)
    assert model.certificate_.caveats == ("seeded: not private",)
    with pytest.raises(InvalidDataError, match="not a number"):
        learner(
            PrivateEBMRegressor, domain=Domain({"age": Integer(18, 90), "smoker": Binary()}), target_range=None
        ).fit(frame.select("age", "smoker"), "smoker")


def test_what_is_taken_from_the_data_is_said() -> None:
    frame, y = people()
    numbers = frame.select("age", "smoker")
    with pytest.warns(PrivacyLeakWarning):
        model = PrivateEBMRegressor(epsilon=1.0, random_state=0).fit(numbers, y)
    assert any("range of the target" in caveat for caveat in model.certificate_.caveats)
    assert any("domain inferred" in caveat for caveat in model.certificate_.caveats)
    assert not model.certificate_.holds
    unseeded = learner(PrivateEBMRegressor, random_state=None).fit(frame, y)
    assert unseeded.certificate_.holds


@pytest.mark.slow
def test_three_classes() -> None:
    frame, y = people(6000)
    classes = np.where(y < 3.5, "low", np.where(y < 5.5, "middle", "high"))
    for algorithm in ALGORITHMS:
        model = learner(PrivateEBMClassifier, classes=("low", "middle", "high"), algorithm=algorithm)
        model.fit(frame, classes)
        assert model.score(frame, classes) > 0.7
        assert model.decision_function(frame).shape == (6000, 3)
        assert np.allclose(model.predict_proba(frame).sum(axis=1), 1)
        assert (model.classes_[model.predict_proba(frame).argmax(axis=1)] == model.predict(frame)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_explanations_add_up(kind: Any) -> None:
    frame, y = people()
    model = learner(kind).fit(frame, target(kind, y))
    local = model.contributions(frame)
    total = np.tile(local.intercept, (len(frame), 1))
    for k in range(local.added.shape[1]):
        total = total + local.added[:, k]
    assert (total == local.scores).all()
    importances = [shape.importance for shape in model.summarize_model()]
    assert importances == sorted(importances, reverse=True)
    assert model.summarize_model()[0].name == "age"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
def test_monotone_terms(algorithm: str, direction: str) -> None:
    frame, y = people()
    model = learner(PrivateEBMRegressor, algorithm=algorithm, monotone={"age": direction}).fit(frame, y)
    steps = np.diff(model.model_.term("age").scores[:-1, 0])
    assert (steps >= 0).all() if direction == "increasing" else (steps <= 0).all()
    assert model.certificate_.public["monotone"] == {"age": direction}


def test_bins_of_the_user_are_kept() -> None:
    frame, y = people()
    groups = [["clerk", "pope"], ["baker", "pilot"]]
    model = learner(PrivateEBMRegressor, bins={"age": [30, 50], "job": groups}).fit(frame, y).model_
    assert model.term("age").bins[0].cuts == (30.0, 50.0)
    if "job" in [term.name for term in model.terms]:
        assert model.term("job").bins[0].groups == (("clerk", "pope"), ("baker", "pilot"), (None,))
    for wrong in ({"age": [50, 30]}, {"age": [1000]}, {"age": "x"}, {"job": [["clerk"]]}, {"height": [1]}, [1]):
        with pytest.raises(InvalidParameterError):
            learner(PrivateEBMRegressor, bins=wrong).fit(frame, y)


@pytest.mark.slow
def test_missing_values_have_a_bin_of_their_own() -> None:
    rng = np.random.default_rng(0)
    gap = rng.random(4000) < 0.3
    frame = pl.DataFrame({"x": np.where(gap, np.nan, rng.random(4000)), "z": rng.random(4000)})
    domain = Domain({"x": Real(0.0, 1.0, missing=True), "z": Real(0.0, 1.0)})
    spreads = []
    for seed in range(8):
        model = PrivateEBMRegressor(epsilon=4.0, domain=domain, target_range=(0, 1), random_state=seed)
        scores = model.fit(frame, gap.astype(float)).model_.term("x").scores[:, 0]
        assert scores[-1] > 0.4
        spreads.append(np.abs(scores[:-1] - scores[0]).max())
    # The largest of up to 128 bins; with a gap for the numbers it would be 0.4 or more.
    assert np.mean(spreads) < 0.25
    strict = Domain({"x": Real(0.0, 1.0), "z": Real(0.0, 1.0)})
    model = PrivateEBMRegressor(epsilon=1.0, domain=strict, target_range=(0, 1), random_state=0).fit(
        frame, gap.astype(float)
    )
    # A gap that is not allowed is the lower bound, in fit and predict alike.
    lowest = pl.DataFrame({"x": [0.0], "z": [0.5]})
    assert model.predict(pl.DataFrame({"x": [np.nan], "z": [0.5]})) == model.predict(lowest)


def test_count_tables_are_read_with_their_multiplicities() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 2, 500), "b": rng.integers(0, 2, 500)})
    frame = frame.with_columns(y=frame["a"])
    domain = Domain.binary(["a", "b", "y"])
    table = CountTable.from_frame(frame, domain)
    model = PrivateEBMClassifier(epsilon=20.0, domain=domain, random_state=0).fit(table, "y")
    weights = model.model_.term("a").weights
    assert weights is not None
    assert abs(float(weights.sum()) - 500) < 60
    assert model.score(frame.drop("y"), frame["y"].to_numpy()) == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"epsilon": 1e5},
        {"delta": 0},
        {"delta": float("nan")},
        {"delta": 1},
        {"algorithm": "magic"},
        {"algorithm": 3},
        {"accounting": "none"},
        {"monotone": {"job": "increasing"}},
        {"monotone": {"age": "up"}},
        {"monotone": "age"},
        {"domain": 3},
        {"progress": 3},
        {"ledger": "x.sqlite"},
        {"random_state": -1},
    ],
    ids=str,
)
def test_parameters_out_of_range(kind: Any, wrong: dict[str, Any]) -> None:
    frame, y = people(200)
    with pytest.raises(GlassineError):
        learner(kind, **wrong).fit(frame, target(kind, y))


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0), (0, float("nan")), 3, (0, 1, 2), ("a", "b"), (0, float("inf"))])
def test_ranges_that_are_none(bounds: Any) -> None:
    frame, y = people(200)
    with pytest.raises(InvalidParameterError):
        learner(PrivateEBMRegressor, target_range=bounds).fit(frame, y)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_on_no_record_is_a_fit(kind: Any) -> None:
    frame, y = people(200)
    fitted = learner(kind).fit(frame.head(0), target(kind, y)[:0])
    assert fitted.certificate_.caveats == learner(kind).fit(frame, target(kind, y)).certificate_.caveats
    assert len(fitted.predict(frame)) == 200


@pytest.mark.parametrize("kind", KINDS)
def test_bad_data(kind: Any) -> None:
    frame, y = people(200)
    good = target(kind, y)
    with pytest.raises(TypeError, match="sample_weight"):
        learner(kind).fit(frame, good, sample_weight=np.ones(200))
    with pytest.raises(TypeError, match="unexpected"):
        learner(kind).fit(frame, good, colour=1)
    for X, wrong in ((frame.drop("age"), good), (frame, good[:-1]), (frame, None)):
        with pytest.raises(ValueError, match=r".+"):
            learner(kind).fit(X, wrong)
    with pytest.raises(InvalidDataError, match="NaN"):
        learner(PrivateEBMRegressor, target_range=None).fit(frame, np.where(y > 5, np.nan, y))
    with pytest.raises(InvalidParameterError, match="two classes"):
        learner(PrivateEBMClassifier, classes=("yes",)).fit(frame, ["yes"] * 200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", ["penalized", "boosting"])
def test_tiny_and_constant_data(kind: Any, algorithm: str) -> None:
    for n in (1, 2, 7):
        frame, y = people(n)
        model = learner(kind, algorithm=algorithm).fit(frame, target(kind, y))
        assert len(model.predict(frame)) == n
    frame, _ = people(500)
    same = np.full(500, 4.0)
    predicted = learner(kind, algorithm=algorithm).fit(frame, target(kind, same)).predict(frame)
    assert (predicted == "no").mean() > 0.95 if kind is PrivateEBMClassifier else np.abs(predicted - 4).max() < 2


def test_values_outside_the_domain_are_brought_into_it() -> None:
    frame, y = people()
    model = learner(PrivateEBMRegressor).fit(frame, y)
    odd = pl.DataFrame(
        {"age": [18, 5], "income": [0.0, -7.0], "job": ["druid", "astronaut"], "smoker": [1, 1]},
        schema_overrides={"job": pl.String},
    )
    first, second = model.predict(odd).tolist()
    assert first == second


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kind", KINDS)
def test_missing_categories_are_learnt_apart_from_undeclared_ones(kind: Any, algorithm: str) -> None:
    frame, y = people(4000)
    y = np.where(frame["job"].is_null().to_numpy(), 8.0, 3.0) + y / 10
    model = learner(kind, algorithm=algorithm, epsilon=8.0).fit(frame, target(kind, y)).model_
    term = model.term("job")
    groups = term.bins[0]
    assert groups.missing < groups.n_bins - 1, "missing values are in a group"
    assert groups.labels[-1] == "other"
    assert set(groups.groups[groups.missing]) <= {None, "pope"}
    assert abs(term.weights[groups.missing] - 1000) < 200
    rows = frame[:2].with_columns(job=pl.Series([None, "astronaut"], dtype=pl.String))
    chosen = model.scores(rows.with_columns(age=pl.lit(50), smoker=pl.lit(0), income=pl.lit(100.0)))[:, 0]
    others = [term.scores[i, 0] for i, group in enumerate(groups.groups) if "clerk" in group]
    assert term.scores[groups.missing, 0] > max(others) + 0.5
    # A bin as good as empty is merged with another where bins must hold a share of the records.
    assert chosen[0] > chosen[1] or algorithm != "penalized"


def test_ledger_and_progress(tmp_path: Path) -> None:
    frame, y = people(500)
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", epsilon=3, delta=2e-6)
    seen: list[tuple[int, int]] = []
    settings = {"ledger": book, "dataset": "people", "progress": lambda done, total: seen.append((done, total))}
    learner(PrivateEBMRegressor, **settings).fit(frame, y)
    assert book.spent("people") == 2.0
    assert float(book.account("people").remaining_delta) == 1e-6
    assert seen[-1][0] == seen[-1][1]
    second = learner(PrivateEBMRegressor, **settings)
    with pytest.raises(BudgetExceededError):
        second.fit(frame, y)
    assert not hasattr(second, "model_")


def test_in_pipelines_and_searches() -> None:
    frame, y = people()
    assert (
        cross_val_score(learner(PrivateEBMClassifier), frame.to_pandas(), target(PrivateEBMClassifier, y), cv=3).mean()
        > 0.8
    )
    again = clone(learner(PrivateEBMRegressor, monotone={"age": "increasing"}))
    assert again.get_params()["monotone"] == {"age": "increasing"}
    assert isinstance(frame.to_pandas(), pd.DataFrame)
