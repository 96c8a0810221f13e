"""Explainable boosting machines of interpret, as objects and as JSON."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassine.domain import Category, Domain
from glassine.errors import GlassineError, InvalidModelError, UnsupportedModelError
from glassine.formats import as_model, load_model
from glassine.formats.sklearn.interpret import additive_from_interpret
from glassine.models import AdditiveModel, CategoryBins, NumericBins

glassbox = pytest.importorskip("interpret.glassbox")
private = pytest.importorskip("interpret.privacy")

TYPES = ["continuous", "nominal", "nominal", "nominal", "ordinal", "continuous"]
FEW: dict[str, Any] = {"outer_bags": 2, "max_rounds": 25, "n_jobs": 1, "random_state": 0}


def records(n: int = 300, *, gaps: bool = True) -> tuple[pd.DataFrame, npt.NDArray[Any]]:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n).round(1),
            "text": rng.choice(["a", "b", "c"], n),
            "flag": rng.integers(0, 2, n),
            "truth": rng.random(n) < 0.4,
            "grade": rng.choice([1.0, 2.5, 3.0], n),
            "age": rng.integers(18, 30, n),
        }
    )
    if gaps:
        frame.loc[::7, "number"] = np.nan
        frame.loc[::11, "text"] = None
    y = (frame["number"].fillna(0.5) + (frame["text"] == "a") + rng.normal(size=n) > 0.5).to_numpy().astype(int)
    return frame, y


@functools.cache
def machine(kind: str) -> Any:
    X, y = records(gaps=kind != "no gaps")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "regression":
            return glassbox.ExplainableBoostingRegressor(interactions=3, feature_types=TYPES, **FEW).fit(
                X, y + X["age"]
            )
        target = np.array(["x", "y", "z"])[(y + X["age"]) % 3] if kind == "several" else y
        found = glassbox.ExplainableBoostingClassifier(interactions=3, feature_types=TYPES, **FEW)
        return found.fit(X, target)


def read(source: Any, domain: Domain | None = None) -> AdditiveModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return additive_from_interpret(source, domain)


def jsonable(ebm: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(json.dumps(ebm.to_jsonable()))


def truth(ebm: Any, X: pd.DataFrame) -> npt.NDArray[np.float64]:
    found = np.asarray(ebm.decision_function(X) if hasattr(ebm, "decision_function") else ebm.predict(X))
    return found.reshape(len(X), -1)


@pytest.mark.parametrize("kind", ["binary", "several", "regression", "no gaps"])
@pytest.mark.parametrize("form", ["object", "json"])
def test_scores_are_those_of_interpret(kind: str, form: str) -> None:
    ebm = machine(kind)
    X, _ = records(gaps=kind != "no gaps")
    model = read(ebm if form == "object" else jsonable(ebm))
    np.testing.assert_allclose(model.scores(X), truth(ebm, X), atol=1e-12, rtol=0)
    assert {len(term.bins) for term in model.terms} == {1, 2}
    assert {type(bins) for term in model.terms for bins in term.bins} == {NumericBins, CategoryBins}
    if kind != "regression":
        np.testing.assert_allclose(model.predict_proba(X), ebm.predict_proba(X), atol=1e-12, rtol=0)


def test_values_on_a_cut_and_beyond_the_range_score_as_in_interpret() -> None:
    ebm = machine("binary")
    X, _ = records()
    cuts = np.array(ebm.bins_[0][0])
    probes = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), [-1e9, 1e9, np.nan]])
    many = X.iloc[[1]].loc[lambda frame: frame.index.repeat(len(probes))].assign(number=probes)
    np.testing.assert_allclose(read(ebm).scores(many), truth(ebm, many), atol=1e-12, rtol=0)


def test_values_never_seen_score_as_in_interpret() -> None:
    ebm = machine("no gaps")
    X, _ = records(gaps=False)
    X["text"] = "never seen"
    X["grade"] = 7.25
    np.testing.assert_allclose(read(ebm).scores(X), truth(ebm, X), atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", ["binary", "several"])
def test_missing_and_unseen_values_score_apart_as_in_interpret(kind: str) -> None:
    ebm = machine(kind)
    X, _ = records()
    model = additive_from_interpret(ebm)
    alike = truth(ebm, X.assign(text="never seen")) == truth(ebm, X.assign(text=None))
    assert not alike.all()
    for value in (None, "never seen"):
        frame = X.assign(text=value)
        np.testing.assert_allclose(model.scores(frame), truth(ebm, frame), atol=1e-12, rtol=0)
    labels = {b.labels[-2:] for t in model.terms for b in t.bins if b.attribute == "text"}
    assert labels == {("missing", "other")}
    same = additive_from_interpret(machine("no gaps"))
    assert {b.labels[-1] for t in same.terms for b in t.bins if b.attribute == "text"} == {"missing or other"}


def test_categories_are_the_values_of_the_data() -> None:
    model = read(machine("binary"))
    groups = {b.attribute: b.values for t in model.terms for b in t.bins if isinstance(b, CategoryBins)}
    assert groups["text"] == ("a", "b", "c")
    assert set(groups["flag"]) == {0, 1} == set(groups["truth"])
    assert set(groups["grade"]) == {1, 2.5, 3}
    domain = Domain({"flag": Category(("0", "1"))})
    told = read(machine("binary"), domain)
    assert {b.values for t in told.terms for b in t.bins if b.attribute == "flag" and isinstance(b, CategoryBins)} == {
        ("0", "1")
    }


def test_weights_are_sums_and_deviations_are_not_noise() -> None:
    model = read(machine("binary"))
    assert all(term.weights is not None and term.weights.sum() == 300 and term.errors is None for term in model.terms)
    assert model.guarantee is None
    assert model.sizes == "derived"
    assert not model.counts_are_exact


def test_a_private_machine_keeps_its_claim_and_gets_caveats() -> None:
    X, y = records(gaps=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ebm = private.DPExplainableBoostingClassifier(
            epsilon=2.0, delta=1e-6, feature_types=TYPES, max_rounds=5, random_state=1
        ).fit(X, y)
    model = read(ebm)
    np.testing.assert_allclose(model.scores(X), truth(ebm, X), atol=1e-12, rtol=0)
    claim = model.guarantee
    assert claim is not None
    assert (claim.epsilon, claim.delta) == (2.0, 1e-6)
    assert claim.count_scale == pytest.approx(ebm.noise_scale_binning_)
    assert not claim.holds
    assert any("named by the data" in caveat for caveat in claim.caveats)
    assert any("ranges" in caveat for caveat in claim.caveats)
    assert not model.counts_are_exact


def test_files_and_objects_are_dispatched(tmp_path: Path) -> None:
    ebm = machine("no gaps")
    path = tmp_path / "ebm.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ebm.to_json(str(path))
    assert load_model(path) == as_model(ebm) == additive_from_interpret(ebm)
    with pytest.raises(UnsupportedModelError, match="the class"):
        as_model(type(ebm))


def test_every_detail_of_the_json_reads() -> None:
    for detail in ("minimal", "interpretable", "mergeable", "all"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = json.loads(json.dumps(machine("no gaps").to_jsonable(detail=detail)))
        X, _ = records(gaps=False)
        np.testing.assert_allclose(read(data).scores(X), truth(machine("no gaps"), X), atol=1e-12, rtol=0)


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="not fitted"):
        additive_from_interpret(glassbox.ExplainableBoostingClassifier())
    data = jsonable(machine("binary"))
    logs = copy.deepcopy(data)
    logs["ebm"]["outputs"][0]["link"] = "log"
    with pytest.raises(UnsupportedModelError, match="link 'log'"):
        additive_from_interpret(logs)
    triple = copy.deepcopy(data)
    triple["ebm"]["terms"][-1]["term_features"] = ["number", "text", "flag"]
    with pytest.raises(UnsupportedModelError, match="3 attributes"):
        additive_from_interpret(triple)
    short = copy.deepcopy(data)
    short["ebm"]["terms"][0]["scores"].pop()
    with pytest.raises(InvalidModelError, match="by its bins"):
        additive_from_interpret(short)


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just([]), st.just({}), st.just([[]]),
    st.just([1, [2]]), st.just(["a", 1]), st.just(10**400), st.just([float("nan")]), st.just([["a", ["a"]]]),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value, of long lists only of the first two."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, entry in value.items():
            found += places(entry, (*path, key))
    elif isinstance(value, list):
        for i, entry in enumerate(value[:2]):
            found += places(entry, (*path, i))
    return found


@pytest.mark.slow
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_hostile_json_gets_our_errors_only(data: st.DataObject) -> None:
    whole = copy.deepcopy(small_json())
    where = places(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(where))
        at = whole
        try:
            for step in path[:-1]:
                at = at[step]
            if data.draw(st.booleans()):
                at[path[-1]] = data.draw(JUNK)
            else:
                del at[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(GlassineError):
            additive_from_interpret(whole)


@functools.cache
def small_json() -> Any:
    X, y = records(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ebm = glassbox.ExplainableBoostingClassifier(
            interactions=1, max_bins=4, max_interaction_bins=3, feature_types=TYPES, **FEW
        )
        return json.loads(json.dumps(ebm.fit(X, y).to_jsonable()))


@pytest.mark.parametrize(
    "objective", ["poisson_deviance", "gamma_deviance", "tweedie_deviance:variance_power=1.5", "rmse_log"]
)
def test_predictions_of_a_log_link_are_exponentials_of_scores(objective: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    fitted = glassbox.ExplainableBoostingRegressor(objective=objective, **FEW).fit(X, np.exp(X[:, 0]) + 0.1)
    model = as_model(fitted)
    assert isinstance(model, AdditiveModel)
    assert model.link == "log"
    np.testing.assert_allclose(model.predict(X), fitted.predict(X))


def test_features_that_are_excluded_from_all_terms() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    options = FEW | {"exclude": [0, (0, 1), (0, 2)]}
    fitted = glassbox.ExplainableBoostingRegressor(**options).fit(X, X[:, 1] + X[:, 2])
    data = jsonable(fitted)
    assert "feature_0000" not in {name for term in data["ebm"]["terms"] for name in term["term_features"]}
    for feature in data["ebm"]["features"][:1]:
        feature["cuts"] = []  # as machines of other versions write it
    for read in (as_model(fitted), additive_from_interpret(data)):
        assert isinstance(read, AdditiveModel)
        np.testing.assert_allclose(read.predict(X), fitted.predict(X))
