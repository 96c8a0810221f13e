"""Clean and scrubbed copies of ensembles: the same trees and nothing else, read again and predicting the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from glassine import Category, Domain, Integer, Real, scrub
from glassine.domain.grid import on_grid
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import EnsembleFile, as_ensemble, load_forest, load_judged, load_model, write_clean, write_model
from glassine.formats.canonical import as_written
from glassine.formats.json import to_dict
from glassine.models import TreeEnsemble
from tests.formats.test_ensembles import COLUMNS, FILES, N, X

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"a": RNG.normal(size=400), "b": RNG.integers(0, 50, 400), "c": RNG.choice(["u", "v", "w", "z"], 400)}
)
NUMBERS = FRAME[["a", "b"]]
CODED = FRAME.assign(c=FRAME["c"].astype("category"))
GAPS = CODED.assign(a=CODED["a"].where(np.arange(400) % 7 > 0), c=CODED["c"].where(np.arange(400) % 11 > 0))
TWO = np.where(FRAME["a"] + (FRAME["c"] == "u") + RNG.normal(size=400) > 0, "yes", "no")
THREE = np.where(FRAME["a"] > 0.5, "p", np.where(FRAME["b"] > 25, "q", "r"))
VALUE = (3 * FRAME["a"] + FRAME["b"] + RNG.normal(size=400)).to_numpy()
DOMAIN = Domain({"a": Real(-5, 5), "b": Integer(0, 60), "c": Category(("u", "v", "w", "z"))})


def one_hot(end: Any) -> Any:
    return make_pipeline(make_column_transformer((OneHotEncoder(), ["c"]), (StandardScaler(), ["a", "b"])), end)


def ordinal(end: Any) -> Any:
    return make_pipeline(make_column_transformer((OrdinalEncoder(), ["c"]), remainder="passthrough"), end)


SIZE: dict[str, Any] = {"random_state": 0}
KINDS: dict[str, tuple[Callable[[], Any], pd.DataFrame, Any]] = {
    "forest": (lambda: RandomForestClassifier(5, min_samples_leaf=5, **SIZE), NUMBERS, TWO),
    "forest of three classes": (lambda: one_hot(RandomForestClassifier(5, **SIZE)), FRAME, THREE),
    "forest of numbers": (lambda: RandomForestRegressor(5, min_samples_leaf=5, **SIZE), NUMBERS, VALUE),
    "extra trees": (lambda: ExtraTreesClassifier(5, min_samples_leaf=5, **SIZE), NUMBERS, TWO),
    "boosting": (lambda: GradientBoostingClassifier(n_estimators=5, **SIZE), NUMBERS, TWO),
    "exponential loss": (
        lambda: GradientBoostingClassifier(n_estimators=5, loss="exponential", **SIZE),
        NUMBERS,
        TWO,
    ),
    "boosting of three classes": (lambda: one_hot(GradientBoostingClassifier(n_estimators=5, **SIZE)), FRAME, THREE),
    "boosting of numbers": (lambda: GradientBoostingRegressor(n_estimators=5, **SIZE), NUMBERS, VALUE),
    "histogram": (lambda: HistGradientBoostingClassifier(max_iter=5, **SIZE), NUMBERS, TWO),
    "histogram of categories": (
        lambda: HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype", **SIZE),
        GAPS,
        TWO,
    ),
    "histogram of codes": (
        lambda: ordinal(HistGradientBoostingClassifier(max_iter=5, categorical_features=[0], **SIZE)),
        FRAME,
        THREE,
    ),
    "histogram of numbers": (lambda: HistGradientBoostingRegressor(max_iter=5, **SIZE), NUMBERS, VALUE),
    "histogram behind a scaler": (
        lambda: make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=5, **SIZE)),
        NUMBERS,
        TWO,
    ),
}


def outputs(model: Any, data: Any) -> Any:
    numbers = getattr(model, "classes", None) is None and not hasattr(model, "predict_proba")
    return model.predict(data) if numbers or getattr(model, "classes", ()) is None else model.predict_proba(data)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_an_estimator_predicts_the_same_and_is_read_again(kind: str, tmp_path: Path) -> None:
    make, data, outcome = KINDS[kind]
    fitted = make().fit(data, outcome)
    whole = as_ensemble(fitted)
    plain = as_written(whole)
    assert plain.estimator is None
    assert outputs(plain, data) == pytest.approx(outputs(fitted, data), abs=1e-9)
    write_model(plain, tmp_path / "copy.json")
    again = load_judged(tmp_path / "copy.json")
    assert isinstance(again, EnsembleFile)
    assert again.form.canonical
    read = again.model
    assert outputs(read, data) == pytest.approx(outputs(fitted, data), abs=1e-9)
    for name in ("combined", "learner", "classes", "rate", "n_records", "whole", "base_rate", "certain", "special"):
        assert getattr(read, name) == getattr(whole, name), name
    assert read.leaves.tolist() == whole.leaves.tolist()
    assert read.sizes is not None
    assert whole.sizes is not None
    assert read.sizes.tolist() == whole.sizes.tolist()
    assert {n: len(own) for n, own in read.thresholds.items()} == {n: len(own) for n, own in whole.thresholds.items()}
    # In a domain missing values may go without saying, which makes it no other file.
    assert load_judged(tmp_path / "copy.json", replace_missing(DOMAIN.restrict(read.attributes), data)).form.canonical


@pytest.mark.parametrize("name", COLUMNS)
def test_a_copy_of_a_file_holds_its_trees_alone(name: str, tmp_path: Path) -> None:
    file = load_judged(FILES / name)
    assert isinstance(file, EnsembleFile)
    assert not file.form.canonical
    done = write_clean(file, tmp_path / "clean.json")
    assert done.form.clean_copy is not None
    assert done.form.clean_copy.name == "clean.json"
    assert done.form.clean_copy.n_bytes == len((tmp_path / "clean.json").read_bytes())
    again = load_judged(tmp_path / "clean.json")
    assert isinstance(again, EnsembleFile)
    assert again.form.canonical
    assert outputs(again.model, X[N:]) == pytest.approx(outputs(file.model, X[N:]), abs=1e-12)
    assert not again.model.published
    for attribute, bounds in file.model.thresholds.items():
        assert again.model.thresholds[attribute].tolist() == bounds.tolist()
    assert write_clean(again, tmp_path / "same.json").form.canonical
    assert (tmp_path / "same.json").read_bytes() == (tmp_path / "clean.json").read_bytes()


def test_what_is_smuggled_into_a_copy_makes_it_no_copy(tmp_path: Path) -> None:
    write_model(as_written(as_ensemble(KINDS["forest"][0]().fit(NUMBERS, TWO))), tmp_path / "copy.json")
    text = (tmp_path / "copy.json").read_text()
    (tmp_path / "blank.json").write_text(text.replace("{", "{ ", 1))
    assert not load_judged(tmp_path / "blank.json").form.canonical
    plain = json.loads(text)
    (tmp_path / "more.json").write_text(json.dumps({**plain, "records": [[1, 2]]}))
    with pytest.raises(InvalidModelError, match="unknown key 'records'"):
        load_judged(tmp_path / "more.json")
    (tmp_path / "link.json").write_text(json.dumps({**plain, "base": [0.0, 0.0, 0.0]}))
    with pytest.raises(InvalidModelError, match="outputs"):
        load_judged(tmp_path / "link.json")
    many = {**plain, "attributes": [*plain["attributes"], *(f"name of person {i}" for i in range(300))]}
    write_model(load_any(many, tmp_path), tmp_path / "many.json")
    found = load_judged(tmp_path / "many.json")
    assert not found.form.canonical
    assert b"name of person" not in found.copy


def load_any(plain: dict[str, Any], folder: Path) -> TreeEnsemble:
    (folder / "any.json").write_text(json.dumps(plain))
    found = load_judged(folder / "any.json").model
    assert isinstance(found, TreeEnsemble)
    return found


def test_one_tree_of_a_copy_is_read_and_all_of_them(tmp_path: Path) -> None:
    write_model(as_written(as_ensemble(KINDS["forest"][0]().fit(NUMBERS, TWO))), tmp_path / "copy.json")
    assert len(load_forest(tmp_path / "copy.json").trees) == 5
    assert load_model(tmp_path / "copy.json", tree=3).source == "tree 3 of 5 of an ensemble"
    with pytest.raises(UnsupportedModelError, match="holds 5 trees"):
        load_model(tmp_path / "copy.json")


@pytest.mark.parametrize(
    "kind", ["forest of three classes", "boosting", "histogram of categories", "forest of numbers"]
)
def test_a_scrubbed_copy_has_public_cut_points_and_no_sizes(kind: str, tmp_path: Path) -> None:
    make, data, outcome = KINDS[kind]
    fitted = make().fit(data, outcome)
    whole = as_ensemble(fitted)
    domain = replace_missing(DOMAIN.restrict(list(data.columns)), data)
    done = scrub(fitted, domain)
    copy = done.model
    assert isinstance(copy, TreeEnsemble)
    assert copy.sizes is None
    assert copy.n_records == whole.n_records
    assert done.n_rounded > 0
    bounds = [(name, bound) for name, own in copy.thresholds.items() for bound in own.tolist()]
    assert bounds
    assert all(on_grid(domain[name], bound) for name, bound in bounds)
    assert copy.scoring is not None
    shares = [cell.evidence.probabilities for tree in copy.scoring.forest.trees for cell in tree.cells]
    if copy.scoring.link == "shares":
        assert all(own is not None and min(own) >= 0.01 and sum(own) == pytest.approx(1) for own in shares)
    before, after = (outputs(model, data) for model in (fitted, copy))
    assert np.corrcoef(np.ravel(before), np.ravel(after))[0, 1] > 0.9
    write_model(copy, tmp_path / "copy.json")
    assert load_judged(tmp_path / "copy.json").form.canonical
    kept = scrub(fitted, domain, counts="keep").model
    assert kept.sizes is not None


def replace_missing(domain: Domain, data: pd.DataFrame) -> Domain:
    return Domain({name: replace(domain[name], missing=bool(data[name].isna().any())) for name in domain})


def test_leaves_of_an_ensemble_are_not_merged() -> None:
    fitted = KINDS["forest"][0]().fit(NUMBERS, TWO)
    with pytest.raises(InvalidModelError, match="training it again"):
        scrub(fitted, DOMAIN.restrict(["a", "b"]), smallest_leaf=10)


def test_boosting_that_begins_with_another_model_has_no_copy(tmp_path: Path) -> None:
    start = GradientBoostingClassifier(n_estimators=3, init=LogisticRegression(), random_state=0)
    whole = as_ensemble(start.fit(NUMBERS, TWO))
    with pytest.raises(UnsupportedModelError, match="begins with another model"):
        as_written(whole)


def test_a_skops_file_has_a_copy_in_json(tmp_path: Path) -> None:
    skops.io.dump(KINDS["histogram"][0]().fit(NUMBERS, TWO), tmp_path / "model.skops")
    file = write_clean(load_judged(tmp_path / "model.skops"), tmp_path / "clean.json")
    assert file.form.clean_copy is not None
    assert file.form.clean_copy.format == "Glassine"
    assert load_judged(tmp_path / "clean.json").form.canonical


@pytest.mark.parametrize("kind", KINDS)
def test_a_fitted_ensemble_is_written_as_it_stands(kind: str, tmp_path: Path) -> None:
    """What its estimator predicts is made plain: nobody has to know of the step."""
    make, records, target = KINDS[kind]
    whole = as_ensemble(make().fit(records, target))
    data = write_model(whole, tmp_path / "copy.json")
    assert data == write_model(as_written(whole), tmp_path / "other.json")
    with pytest.raises(UnsupportedModelError, match="write_model"):
        to_dict(whole)
