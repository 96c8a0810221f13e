"""Files with several trees: one of them, or all as a forest."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier

from glassine.attacks import reconstruct_records
from glassine.attacks.outcome import Measured, NotApplicable
from glassine.attacks.reconstruction.systems import Search
from glassine.domain import Domain, Integer, Real
from glassine.errors import InvalidModelError, InvalidParameterError, UnreadableFileError, UnsupportedModelError
from glassine.formats import load_forest, load_model, tree_from_treelite, tree_from_xgboost
from glassine.formats.boosted.lightgbm import forest_from_lightgbm
from glassine.formats.boosted.treelite import forest_from_treelite
from glassine.formats.boosted.xgboost import forest_from_xgboost
from glassine.formats.builder import not_judged
from glassine.formats.onnx import forest_from_onnx
from glassine.formats.sklearn.forest import forest_from_sklearn
from glassine.models import DecisionTree
from glassine.models.tree import Forest
from tests.formats.reading import read_cells

skl2onnx: Any = importlib.import_module("skl2onnx")
onnxruntime: Any = importlib.import_module("onnxruntime")
FILES = Path(__file__).parent / "files"
DOMAIN = Domain({"age": Integer(18, 90), "dose": Real(-9, 9)})


def rows(name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    with (FILES / name).open() as stream:
        found = list(csv.DictReader(stream))
    table = np.array([[float(row["age"]), float(row["dose"])] for row in found])
    return table, np.array([int(row["y"]) for row in found])


X, Y = rows("boosted.csv")
COLUMNS: dict[str, npt.NDArray[Any]] = {"age": X[:, 0], "dose": X[:, 1]}


def plain(name: str) -> Any:
    return json.loads((FILES / name).read_text())


@pytest.mark.parametrize("name", ["xgboost_three.json", "lightgbm_three.txt"])
def test_the_trees_of_a_boosted_model(name: str) -> None:
    forest = load_forest(FILES / name, DOMAIN)
    assert len(forest.trees) == 3
    assert forest.classes is None
    assert not forest.bootstrap
    for place, tree in enumerate(forest.trees[1:], start=1):
        assert load_model(FILES / name, DOMAIN, tree=place) == tree
        assert tree.source.startswith(f"tree {place} of ")
    first = read_cells(FILES / name, DOMAIN, tree=0)
    assert first.classes == (0, 1)
    assert [cell.inside for cell in first.cells] == [cell.inside for cell in forest.trees[0].cells]


def test_lightgbm_tells_how_many_records_every_leaf_holds() -> None:
    forest = load_forest(FILES / "lightgbm_three.txt")
    for tree in forest.trees:
        where = tree.apply(COLUMNS)
        assert [cell.evidence.total for cell in tree.cells] == np.bincount(where, minlength=len(tree.cells)).tolist()


def test_the_sizes_of_several_boosted_trees_rebuild_rows() -> None:
    pytest.importorskip("ortools")
    coarse = Domain({"age": Integer(18, 90), "dose": Real(-9, 9)})
    forest = load_forest(FILES / "lightgbm_three.txt")
    outcome = reconstruct_records(forest, coarse, random_state=0, search=Search(time_limit=20))
    assert isinstance(outcome, Measured)
    for tree in forest.trees:
        held = np.bincount(tree.apply(outcome.value.rows), minlength=len(tree.cells)).tolist()
        assert held == [cell.evidence.total for cell in tree.cells]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[bagging_freq: 0]", "[bagging_freq: 1]"),
        ("[boosting: gbdt]", "[boosting: rf]"),
        ("[data_sample_strategy: bagging]", "[data_sample_strategy: goss]"),
        ("[boosting: gbdt]\n", ""),
    ],
)
def test_trees_of_samples_are_no_forest_of_the_same_records(old: str, new: str) -> None:
    text = (FILES / "lightgbm_three.txt").read_text()
    assert old in text
    with pytest.raises(UnsupportedModelError, match=r"sample of the records.*tree=0"):
        forest_from_lightgbm(text.replace(old, new))


def test_xgboost_trees_of_different_sizes_are_refused() -> None:
    data = plain("xgboost_three.json")
    data["learner"]["objective"]["name"] = "reg:squarederror"
    trees = data["learner"]["gradient_booster"]["model"]["trees"]
    for tree, scale in zip(trees, (10, 10, 12), strict=True):
        # One leaf holds all but one record of its side.
        left, right = tree["left_children"], tree["right_children"]
        sums = [float(scale)] * len(left)
        for i in reversed(range(len(left))):
            if left[i] != -1:
                sums[i] = sums[left[i]] + sums[right[i]]
        tree["sum_hessian"] = sums
    assert tree_from_xgboost(data, tree=2).n_records == 12 * sum(left == -1 for left in trees[2]["left_children"])
    with pytest.raises(UnsupportedModelError, match="each was trained on a sample"):
        forest_from_xgboost(data)


def test_later_trees_of_a_logistic_model_tell_no_numbers_of_records() -> None:
    forest = load_forest(FILES / "xgboost_three.json")
    assert forest.trees[0].n_records == len(Y)
    assert all(tree.n_records is None for tree in forest.trees[1:])


def forest_of_treelite() -> tuple[Forest, RandomForestClassifier]:
    table, target = rows("categories.csv")
    fitted = RandomForestClassifier(3, max_depth=2, random_state=0).fit(table, target)
    return load_forest(FILES / "treelite_forest.json", DOMAIN), fitted


def test_treelite_gives_away_the_draws_of_a_forest() -> None:
    read, fitted = forest_of_treelite()
    ours = forest_from_sklearn(fitted, DOMAIN, use_seeds=False)
    assert read.bootstrap
    assert read.drawn == ours.drawn
    assert read.n_records is None
    for one, other in zip(read.trees, ours.trees, strict=True):
        assert [cell.evidence.size for cell in one.cells] == [cell.evidence.size for cell in other.cells]
        assert [cell.evidence.prediction for cell in one.cells] == [cell.evidence.prediction for cell in other.cells]
    assert dataclasses.replace(read, n_records=120).n_records == 120


def test_shares_of_draws_are_no_class_counts() -> None:
    table, target = rows("categories.csv")
    tree = tree_from_treelite(plain("treelite_forest.json"), DOMAIN, 1)
    assert table.shape[0] == len(target)
    told = [cell.evidence for cell in tree.cells]
    assert all(entry.counts is None or 0 in entry.counts for entry in told)
    assert any(entry.weighted for entry in told)
    assert all(entry.error_rate is None for entry in told)


def test_a_forest_of_treelite_without_weights_tells_no_sizes() -> None:
    data = plain("treelite_forest.json")
    for tree in data["trees"]:
        for node in tree["nodes"]:
            del node["sum_hess"]
    forest = forest_from_treelite(data)
    assert forest.bootstrap
    assert forest.drawn is None
    assert all(cell.evidence.size is None for tree in forest.trees for cell in tree.cells)


def test_a_forest_of_every_record_counts_classes() -> None:
    data = plain("treelite_shares.json")
    data["trees"] *= 2
    data["average_tree_output"] = True
    for node in data["trees"][0]["nodes"]:
        node["sum_hess"] = float(node["data_count"])
    forest = forest_from_treelite(data)
    assert not forest.bootstrap
    assert forest.n_records == len(Y)
    assert forest.trees[0].cells[0].evidence.counts is not None


@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingClassifier])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_trees_of_an_onnx_ensemble_add_up_to_what_a_runtime_answers(kind: Any, classes: int) -> None:
    target = np.digitize(X[:, 0], [40, 65][: classes - 1])
    fitted = kind(n_estimators=4, max_depth=3, random_state=0).fit(X, target)
    options = {"zipmap": False}
    data = skl2onnx.to_onnx(fitted, X[:1].astype(np.float32), options=options).SerializeToString()
    if kind is GradientBoostingClassifier and classes == 3:
        forest = forest_from_onnx(data, DOMAIN)
        assert len(forest.trees) == 12
        return
    forest = forest_from_onnx(data, DOMAIN)
    single = {name: column.astype(np.float32).astype(float) for name, column in COLUMNS.items()}
    answers = onnxruntime.InferenceSession(data).run(None, {"X": X.astype(np.float32)})[1]
    if kind is GradientBoostingClassifier:
        assert forest.classes is None
        start = fitted.init_.predict_proba(X[:1])[0, 1]
        sums = sum(tree.predict(single).astype(float) for tree in forest.trees) + np.log(start / (1 - start))
        assert np.allclose(1 / (1 + np.exp(-sums)), answers[:, 1], atol=1e-5)
        return
    assert forest.classes == tuple(range(classes))
    assert forest.bootstrap
    total = np.zeros(answers.shape)
    for member, tree in zip(fitted.estimators_, forest.trees, strict=True):
        shares = [cell.evidence.shares(2) for cell in tree.cells]
        assert (tree.predict(single) == member.predict(X.astype(np.float32))).all()
        if classes == 2:
            total += np.array([row or (0, 0) for row in shares])[tree.apply(single)] / 4
    if classes == 2:
        assert np.allclose(total, answers, atol=1e-5)


def test_a_forest_of_pmml_has_the_trees_without_their_counts() -> None:
    forest = load_forest(FILES / "forest.pmml")
    alone = load_model(FILES / "tree.pmml")
    assert isinstance(alone, DecisionTree)
    assert forest.bootstrap
    assert forest.classes == alone.classes
    for tree in forest.trees:
        assert [branch for node in tree.nodes for branch in node.branches] == [
            branch for node in alone.nodes for branch in node.branches
        ]
        assert [cell.evidence.label for cell in tree.cells] == [cell.evidence.prediction for cell in alone.cells]
        assert all(node.evidence.size is None for node in tree.nodes)
    outcome = reconstruct_records(load_forest(FILES / "forest.onnx", DOMAIN), DOMAIN)
    assert isinstance(outcome, NotApplicable)
    assert "how many records" in outcome.reason


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<Segment id="1"><True/>', '<Segment id="1"><False/>', "its own condition"),
        ("<TreeModel", "<RegressionModel", "segments that are trees"),
        ("<Segmentation ", "<Other ", "segments that are trees"),
    ],
)
def test_other_mining_models_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "model.pmml"
    text = (FILES / "forest.pmml").read_text().replace(old, new)
    path.write_text(text.replace("</TreeModel", "</RegressionModel") if "Regression" in new else text)
    if "Other" in new:
        path.write_text(text.replace("</Segmentation", "</Other"))
    with pytest.raises(UnsupportedModelError, match=message):
        load_forest(path)


def test_classes_that_only_some_trees_predict_are_classes_of_all(tmp_path: Path) -> None:
    text = (FILES / "forest.pmml").read_text()
    text = re.sub(r'<Value value="(ill|well)"/>', "", text)
    head, first, second = re.split(r"(?=<Segment id=)", text)
    for word in (' score="well"', 'value="well"'):
        assert word in first
    first = re.sub(r"\s*<ScoreDistribution[^>]*>", "", first).replace(' score="well"', ' score="ill"')
    path = tmp_path / "model.pmml"
    path.write_text(head + first + second)
    forest = load_forest(path)
    assert set(forest.classes or ()) == {"ill", "well"}


def test_a_forest_of_scikit_learn_in_a_file(tmp_path: Path) -> None:
    fitted = ExtraTreesClassifier(3, random_state=0).fit(X, Y)
    path = tmp_path / "forest.pkl"
    path.write_bytes(pickle.dumps(fitted))
    assert load_forest(path, DOMAIN, trust_pickle=True) == forest_from_sklearn(fitted, DOMAIN)
    third = load_model(path, DOMAIN, trust_pickle=True, tree=2)
    member = forest_from_sklearn(fitted, DOMAIN).trees[2]
    assert third == dataclasses.replace(member, source="tree 2 of 3 of scikit-learn ExtraTreeClassifier")
    with pytest.raises(UnsupportedModelError, match="is an ensemble"):
        load_model(path, DOMAIN, trust_pickle=True)
    with pytest.raises(UnreadableFileError, match="pickle is code"):
        load_forest(path, DOMAIN)


def test_one_tree_is_a_forest_of_one() -> None:
    forest = load_forest(FILES / "rpart.txt")
    assert forest.trees == (load_model(FILES / "rpart.txt"),)
    assert forest.n_records == 81


@pytest.mark.parametrize("tree", [3, -1, True, 1.0, "1"])
@pytest.mark.parametrize("name", ["xgboost_three.json", "lightgbm_three.txt", "treelite_forest.json", "rpart.txt"])
def test_a_tree_that_is_not_there_is_refused(name: str, tree: Any) -> None:
    with pytest.raises(InvalidParameterError, match="tree must be a whole number from 0 to"):
        load_model(FILES / name, tree=tree)


def test_what_is_no_tree_is_no_forest(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text("if [a] then [true]\nelse [false]\n")
    with pytest.raises(UnsupportedModelError, match="not trees"):
        load_forest(path)
    with pytest.raises(InvalidModelError, match="domain lacks"):
        load_forest(FILES / "xgboost_three.json", Domain({"age": Integer(0, 99)}))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("xgboost_three.json", "XGBoost"),
        ("lightgbm_three.txt", "LightGBM"),
        ("treelite_forest.json", "treelite"),
        ("forest.pmml", "PMML"),
    ],
)
def test_every_tree_of_several_says_which_it_is(name: str, what: str) -> None:
    n = len(load_forest(FILES / name).trees)
    assert n > 1
    for place in (0, n - 1):
        source = load_model(FILES / name, tree=place).source
        assert source == f"tree {place} of {n} of {what}"
        assert not_judged(source).startswith(f"Tree {place} of {n}; the other")
    assert not_judged(what) == not_judged("tree 0 of 1 of X") == ""
