"""Ensembles of trees as they are read: what their files say, and that they predict as their library does."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from skl2onnx import to_onnx
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Integer, Real, scrub
from glassine.errors import GlassineError, InvalidModelError, InvalidParameterError, UnsupportedModelError
from glassine.formats import EnsembleFile, ModelFile, as_ensemble, load_forest, load_judged, write_clean
from glassine.formats.boosted.lightgbm_parts import records_of_samples
from glassine.formats.boosted.xgboost import ensemble_from_xgboost
from glassine.models import TreeEnsemble

FILES = Path(__file__).parent / "ensembles"
TABLE = np.loadtxt(FILES / "records.csv", delimiter=",")
X, Y = TABLE[:, :3], TABLE[:, 3].astype(int)
N = 400
PREDICTED = np.loadtxt(FILES / "predicted.csv", delimiter=",")
COLUMNS = {"xgboost.json": (0, 2), "treelite.json": (0, 2), "xgboost_three.json": (2, 5)}
COLUMNS |= {"lightgbm.txt": (5, 7), "lightgbm_forest.txt": (7, 9), "lightgbm_three.txt": (9, 12)}


def read(name: str) -> TreeEnsemble:
    file = load_judged(FILES / name)
    assert isinstance(file, EnsembleFile)
    return file.model


@pytest.mark.parametrize("name", COLUMNS)
def test_trees_of_a_file_predict_as_their_library(name: str) -> None:
    first, last = COLUMNS[name]
    assert read(name).predict_proba(X[N:]) == pytest.approx(PREDICTED[:, first:last], abs=1e-6)


ANSWERED = sorted(path.name.removesuffix(".csv") for path in FILES.glob("*.*.csv"))
DRAWN = Domain({f"x{place}": Real(-10, 10) for place in range(3)})


@pytest.mark.parametrize("name", ANSWERED)
def test_files_and_their_clean_copies_predict_as_their_library(name: str, tmp_path: Path) -> None:
    answers = np.loadtxt(FILES / f"{name}.csv", delimiter=",", ndmin=2)
    file = load_judged(FILES / name)
    assert isinstance(file, EnsembleFile)
    assert file.model.answers
    write_clean(file, tmp_path / "copy.json")
    copy = load_judged(tmp_path / "copy.json")
    assert isinstance(copy, EnsembleFile)
    for model in (file.model, copy.model):
        records = {name: X[N:, int(name[-1])] for name in model.attributes}
        ours = model.predict(records)[:, None] if answers.shape[1] == 1 else model.predict_proba(records)
        assert ours == pytest.approx(answers, rel=1e-5, abs=1e-6)


def ensembles() -> dict[str, Any]:
    """Return the ensembles of all files, and fitted ones whose nodes hold numbers of records."""
    names = [path.name for path in FILES.iterdir() if path.suffix in (".json", ".txt", ".pmml")]
    fitted = (RandomForestClassifier(4, max_depth=4, random_state=0), GradientBoostingClassifier(n_estimators=4))
    return {
        **{name: load_judged(FILES / name).model for name in sorted(names)},
        **{type(one).__name__: as_ensemble(one.fit(X[:N], Y[:N])) for one in fitted},
    }


@pytest.mark.parametrize("counts", ["keep", "remove"])
def test_every_ensemble_has_a_copy_where_leaves_are_dropped(counts: Any) -> None:
    dropped, failed = 0, {}
    for name, ensemble in ensembles().items():
        # No value lies between bounds that the files have, so that leaves can no longer be reached.
        whole = Domain({attribute: Integer(-10, 10) for attribute in ensemble.attributes})
        try:
            done = scrub(ensemble, whole, counts=counts)
        except GlassineError as error:
            failed[name] = str(error)
            continue
        dropped += done.n_dropped
        assert done.model.n_trees == ensemble.n_trees
    assert failed == {}
    assert dropped > 50


def changed(name: str, folder: Path, *pairs: tuple[str, str]) -> TreeEnsemble:
    """Return the ensemble of a file of which parts were replaced."""
    text = (FILES / name).read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text)
    file = load_judged(folder / name, DRAWN)
    assert isinstance(file, EnsembleFile)
    return file.model


def test_trees_that_vote_count_alike(tmp_path: Path) -> None:
    voting = changed("forest.pmml", tmp_path, ('"average"', '"majorityVote"'))
    trees = load_forest(FILES / "forest.pmml", DRAWN).trees
    votes = np.mean([tree.predict(X[N:])[:, None] == np.arange(3) for tree in trees], axis=0)
    assert voting.predict_proba(X[N:]) == pytest.approx(votes)


def test_classes_in_the_other_order_swap_probabilities(tmp_path: Path) -> None:
    swap = (('targetCategory="1"', 'targetCategory="?"'), ('targetCategory="0"', 'targetCategory="1"'))
    turned = changed("boosted.pmml", tmp_path, *swap, ('targetCategory="?"', 'targetCategory="0"'))
    answers = np.loadtxt(FILES / "boosted.pmml.csv", delimiter=",")
    assert turned.predict_proba(X[N:]) == pytest.approx(answers[:, ::-1], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("boosted.pmml", 'normalizationMethod="logit"', 'normalizationMethod="cauchit"'),
        ("boosted.pmml", 'NumericPredictor name="decisionFunction(1)"', 'NumericPredictor name="x0"'),
        ("boosted_three.pmml", 'normalizationMethod="softmax"', 'normalizationMethod="simplemax"'),
        ("forest.pmml", '"average"', '"median"'),
        ("boosted_number.pmml", '"sum"', '"max"'),
    ],
)
def test_other_combinations_are_audited_without_predictions(name: str, old: str, new: str, tmp_path: Path) -> None:
    assert not changed(name, tmp_path, (old, new)).answers


def test_records_for_which_a_tree_predicts_nothing_are_refused() -> None:
    gaps = X[N:].copy()
    gaps[:, 0] = np.nan
    file = load_judged(FILES / "boosted.pmml", Domain({f"x{place}": Real(-10, 10, missing=True) for place in range(3)}))
    assert isinstance(file, EnsembleFile)
    with pytest.raises(UnsupportedModelError, match="predicts nothing for some of the records"):
        file.model.predict_proba(gaps)


def test_scores_that_are_rounded_after_the_sum_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match="rounds, bounds or fills"):
        changed("boosted_number.pmml", tmp_path, ("rescaleFactor=", 'castInteger="round" rescaleFactor='))


def test_xgboost_gives_away_records_positives_and_rate() -> None:
    ensemble = read("xgboost.json")
    assert (ensemble.n_records, ensemble.outputs, ensemble.placed) == (N, 1, "values")
    assert ensemble.rate == pytest.approx(0.2, rel=1e-3)
    assert ensemble.base_rate == pytest.approx(Y[:N].mean(), abs=1e-6)
    said = " ".join(ensemble.published)
    assert f"{N:,}" in said
    assert f"positive outcomes, {Y[:N].sum()}." in said
    assert read("xgboost_three.json").outputs == 3


@pytest.mark.parametrize("chosen", ["[4.123E-1]", "[2.5E-1]"])
def test_a_chosen_base_score_is_no_number_of_positives(chosen: str) -> None:
    data: dict[str, Any] = json.loads((FILES / "xgboost.json").read_text())
    data["learner"]["learner_model_param"] |= {"base_score": chosen, "boost_from_average": "0"}
    # Of other figures than these, the leaves do not give it either.
    for tree in data["learner"]["gradient_booster"]["model"]["trees"]:
        tree["sum_hessian"] = [
            round(total / 0.2376) * float(chosen[1:-1]) * (1 - float(chosen[1:-1])) for total in tree["sum_hessian"]
        ]
    ensemble = ensemble_from_xgboost(data)
    assert ensemble is not None
    assert ensemble.base_rate is None
    assert not any("positive" in text for text in ensemble.published)


def test_leaves_give_the_positives_beside_a_chosen_base_score() -> None:
    ensemble = read("xgboost_weights_none.json")
    assert ensemble.base_rate == pytest.approx(Y[:N].mean(), abs=1e-9)


WEIGHTED = {"drawn": "not those of whole records", "by_class": "multiples of 5", "stated": "a weight of their own"}
WEIGHTED |= {"halves": "not those of whole records"}


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_show_in_the_covers_of_xgboost(name: str) -> None:
    ensemble = read(f"xgboost_weights_{name}.json")
    assert WEIGHTED[name] in ensemble.weights
    assert (ensemble.n_records, ensemble.base_rate) == (None, None)
    assert not ensemble.published
    with pytest.raises(InvalidParameterError, match="contradicts the file"):
        ensemble.stated(unweighted=True)
    assert ensemble.stated(n=N, base_rate=0.3).base_rate == 0.3


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"n": N + 1}, "at most 400"),
        ({"n": N - 1, "unweighted": True}, "there are 400"),
        ({"n": 7}, "8 leaves, each of at least one"),
        ({"base_rate": 0.1}, "by which it is"),
        ({"n": N, "base_rate": 0.1, "unweighted": True}, "by which it is"),
    ],
)
def test_statements_that_the_covers_contradict_are_refused(stated: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        read("xgboost.json").stated(**stated)


def test_trees_that_were_trained_on_samples_are_of_the_records_that_are_given() -> None:
    ensemble = read("xgboost.json")
    assert ensemble.stated(n=N + 100, n_given=N + 100).n_records == N + 100
    with pytest.raises(InvalidParameterError, match="pass the records as well"):
        ensemble.stated(n=N + 100, n_given=N + 50)


def test_the_base_rate_of_weighted_records_is_that_of_weights() -> None:
    ensemble = read("xgboost.json")
    # By half as many records, covers are sums of weights, and so is what they give of positives.
    assert ensemble.stated(n=N // 2).base_rate is None
    assert ensemble.stated(n=N // 2, base_rate=0.1).base_rate == 0.1
    assert ensemble.stated(n=N, unweighted=True).base_rate == ensemble.base_rate


def test_altered_leaves_determine_no_rate() -> None:
    data: dict[str, Any] = json.loads((FILES / "xgboost.json").read_text())
    rng = np.random.default_rng(0)
    for tree in data["learner"]["gradient_booster"]["model"]["trees"]:
        factors = rng.uniform(0.2, 3, len(tree["base_weights"]))
        tree["base_weights"] = (np.array(tree["base_weights"]) * factors).tolist()
    ensemble = ensemble_from_xgboost(data)
    assert ensemble is not None
    assert ensemble.rate is None


def test_lightgbm_says_rate_records_and_spread() -> None:
    ensemble = read("lightgbm.txt")
    assert (ensemble.combined, ensemble.rate, ensemble.n_records) == ("sum", 0.1, N)
    share = Y[:N].mean()
    assert ensemble.base_rate == pytest.approx(min(share, 1 - share), abs=1e-4)
    forest = read("lightgbm_forest.txt")
    assert (forest.combined, forest.whole) == ("mean", False)
    assert forest.n_records == pytest.approx(N, rel=0.1)
    assert forest.special
    assert "samples of its trees" in forest.published[0]


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"bagging_fraction": "0.8", "bagging_freq": "1"}, (2_010, "about")),
        ({"bagging_fraction": "0.8", "bagging_freq": "20"}, (2_000, "about")),
        # Samples of each class have sizes of their own: of the shares together, 2,750 would follow.
        ({"bagging_fraction": "0.6", "pos_bagging_fraction": "0.5", "bagging_freq": "1"}, (1_650, "at least")),
        ({"bagging_fraction": "0.8", "bagging_freq": "0"}, (1_650, "about")),
        ({}, (1_650, "about")),
    ],
)
def test_samples_of_trees_give_about_as_many_records(stated: dict[str, str], expected: tuple[int, str]) -> None:
    sizes = [1_615, 1_604, 1_650, 1_588, 1_624, 1_591, 1_580, 1_609]
    assert records_of_samples(sizes, stated) == expected


def test_thresholds_of_lightgbm_are_midpoints_of_neighbours() -> None:
    for place, name in enumerate(read("lightgbm.txt").attributes):
        values = np.unique(X[:N, place])
        middles = (values[:-1] + values[1:]) / 2
        bounds = read("lightgbm.txt").thresholds.get(name, np.zeros(0))
        assert np.isin(bounds, middles).sum() >= 0.9 * len(bounds)


@pytest.mark.parametrize(
    "learner",
    [
        RandomForestClassifier(5, random_state=0),
        RandomForestClassifier(5, bootstrap=False, max_depth=3, random_state=0),
        ExtraTreesClassifier(5, min_samples_leaf=5, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        HistGradientBoostingClassifier(max_iter=5, early_stopping=False),
    ],
)
def test_arrays_of_scikit_learn_say_what_its_trees_hold(learner: Any, tmp_path: Path) -> None:
    fitted = learner.fit(X[:N], Y[:N])
    (tmp_path / "model.skops").write_bytes(skops.io.dumps(fitted))
    file = load_judged(tmp_path / "model.skops")
    assert isinstance(file, EnsembleFile)
    for ensemble in (as_ensemble(fitted), file.model):
        assert (ensemble.n_trees, ensemble.n_records) == (5, N)
        assert ensemble.base_rate == pytest.approx(Y[:N].mean(), abs=0.05)
        assert ensemble.sizes is not None
        assert len(ensemble.sizes) == ensemble.leaves.sum()
        assert ensemble.predict_proba(X[N:]) == pytest.approx(fitted.predict_proba(X[N:]))
        assert (ensemble.predict(X[N:]) == fitted.predict(X[N:])).all()
    if hasattr(fitted, "estimators_"):
        trees = [tree.tree_ for tree in np.ravel(fitted.estimators_)]
        assert ensemble.leaves.tolist() == [int(tree.n_leaves) for tree in trees]
        bounds = {float(t) for tree in trees for t in tree.threshold[tree.feature == 0]}
        assert set(ensemble.thresholds["x0"].tolist()) == bounds


def test_scaled_thresholds_are_in_the_unit_of_the_attribute() -> None:
    plain = as_ensemble(RandomForestClassifier(3, random_state=0).fit(X[:N], Y[:N]))
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(100 * X[:N], Y[:N])
    scaled = as_ensemble(pipeline, Domain({f"x{i}": Real(-1000, 1000) for i in range(3)}))
    assert scaled.thresholds["x0"].min() == pytest.approx(100 * plain.thresholds["x0"].min(), rel=0.3)


def test_a_node_that_leads_back_is_refused() -> None:
    fitted = HistGradientBoostingClassifier(max_iter=2, early_stopping=False).fit(X[:N], Y[:N])
    nodes = fitted._predictors[0][0].nodes
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    nodes["left"][inner[-1]] = inner[0]
    with pytest.raises(InvalidModelError, match="leads out of its tree, or back"):
        as_ensemble(fitted)
    nodes["left"][inner[-1]] = 10**6
    with pytest.raises(InvalidModelError, match="leads out of its tree, or back"):
        as_ensemble(fitted)


@pytest.mark.parametrize(
    "learner", [RandomForestClassifier(4, max_depth=3, random_state=0), GradientBoostingClassifier(n_estimators=4)]
)
def test_onnx_predicts_as_it_was_fitted(learner: Any, tmp_path: Path) -> None:
    given = X.astype(np.float32)
    fitted = learner.fit(given[:N], Y[:N])
    path = tmp_path / "model.onnx"
    path.write_bytes(to_onnx(fitted, given[:1], options={"zipmap": False}).SerializeToString())
    file = load_judged(path)
    assert isinstance(file, EnsembleFile)
    assert (file.model.combined == "mean") == isinstance(learner, RandomForestClassifier)
    assert file.model.n_records is None
    assert file.model.predict_proba(given[N:]) == pytest.approx(fitted.predict_proba(given[N:]), abs=1e-4)


def test_pmml_forests_are_read_together() -> None:
    file = load_judged(Path(__file__).parent / "files" / "forest.pmml")
    assert isinstance(file, EnsembleFile)
    assert file.model.n_trees == len(load_forest(Path(__file__).parent / "files" / "forest.pmml").trees)
    assert file.model.combined == "mean"


def test_one_tree_of_several_is_still_a_tree(tmp_path: Path) -> None:
    assert isinstance(load_judged(FILES / "lightgbm.txt", tree=0), ModelFile)
    (tmp_path / "tree.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier(max_depth=2).fit(X[:N], Y[:N])))
    assert isinstance(load_judged(tmp_path / "tree.pkl", trust_pickle=True), ModelFile)


def test_what_is_no_ensemble_of_trees_is_refused() -> None:
    for other in (DecisionTreeClassifier().fit(X, Y), AdaBoostClassifier(n_estimators=2).fit(X, Y)):
        with pytest.raises(UnsupportedModelError, match="no ensemble"):
            as_ensemble(other)
    with pytest.raises(InvalidModelError, match="not fitted"):
        as_ensemble(RandomForestClassifier())


def test_a_statement_that_contradicts_the_file_is_refused() -> None:
    ensemble = read("lightgbm.txt")
    assert ensemble.stated(n=N) is ensemble
    with pytest.raises(InvalidParameterError, match="contradicts the file"):
        ensemble.stated(n=N + 1)
    assert read("treelite.json").stated(n=N).n_records == N
