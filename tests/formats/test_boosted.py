"""Single trees of XGBoost, LightGBM and treelite: files that they wrote, and the records that they learnt from."""

from __future__ import annotations

import copy
import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from glassine import as_model
from glassine.domain import Category, Domain, Integer, OneOf, Real
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import load_model, to_python, to_sql, tree_from_lightgbm, tree_from_treelite, tree_from_xgboost
from glassine.formats.boosted.ensemble import picked
from glassine.formats.boosted.xgboost import ensemble_from_xgboost
from glassine.models import DecisionTree
from glassine.models.evidence import Evidence
from glassine.models.tree import Branch, Node
from tests.formats.reading import read_cells
from tests.models.fuzzing import damaged, read_or_refused

FILES = Path(__file__).parent / "files"
DOMAIN = Domain({"age": Integer(18, 90), "dose": Real(-9, 9)})
GAPS = Domain({"age": Integer(18, 90, missing=True), "dose": Real(-9, 9, missing=True)})


def records() -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[np.int64]]:
    with (FILES / "boosted.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    columns: dict[str, npt.NDArray[Any]] = {
        name: np.array([float(row[name]) for row in rows]) for name in ("age", "dose")
    }
    return columns, np.array([int(row["y"]) for row in rows])


COLUMNS, TARGET = records()


def categories() -> dict[str, npt.NDArray[Any]]:
    with (FILES / "categories.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    numbers = {name: np.array([float(row[name]) for row in rows]) for name in ("age", "dose", "y", "z")}
    return {**numbers, "colour": np.array([row["colour"] for row in rows], dtype=object)}


LISTED = categories()
COLOURS = ("red", "sky blue", "green")
CATEGORIES = Domain({"age": Integer(18, 90), "dose": Real(-9, 9), "colour": Category(COLOURS)})


def counts_of(tree: DecisionTree, target: str, n_classes: int) -> list[tuple[int, ...]]:
    where = tree.apply(LISTED)
    return [
        tuple(int((LISTED[target][where == i] == label).sum()) for label in range(n_classes))
        for i in range(len(tree.cells))
    ]


def true_counts(tree: DecisionTree) -> list[tuple[int, int]]:
    where = tree.apply(COLUMNS)
    return [
        (int((TARGET[where == i] == 0).sum()), int((TARGET[where == i] == 1).sum())) for i in range(len(tree.cells))
    ]


def plain(name: str) -> Any:
    return json.loads((FILES / name).read_text())


def test_xgboost_tells_how_many_records_a_node_holds() -> None:
    tree = load_model(FILES / "xgboost.json")
    assert isinstance(tree, DecisionTree)
    assert tree.attributes == ("age", "dose")
    assert str(tree.cells[0]) == "age < 48"
    assert [cell.evidence.size for cell in tree.cells] == [sum(pair) for pair in true_counts(tree)]
    assert [cell.evidence.label for cell in tree.cells] == [0, 0, 1]
    assert tree.n_records == len(TARGET) == tree.nodes[0].evidence.size


def test_xgboost_gives_away_the_class_counts() -> None:
    tree = load_model(FILES / "xgboost.json")
    assert isinstance(tree, DecisionTree)
    assert [cell.evidence.counts for cell in tree.cells] == true_counts(tree)
    for name in ("xgboost_categories.json", "xgboost_categories.ubj"):
        listed = load_model(FILES / name, CATEGORIES)
        assert isinstance(listed, DecisionTree)
        assert [cell.evidence.counts for cell in listed.cells] == counts_of(listed, "y", 2)


def test_the_base_score_of_raw_scores_is_a_score() -> None:
    data = plain("xgboost.json")
    learner = data["learner"]
    learner["objective"]["name"] = "binary:logitraw"
    learner["learner_model_param"]["base_score"] = "[0]"
    even = tree_from_xgboost(data)
    learner["objective"]["name"] = "binary:logistic"
    learner["learner_model_param"]["base_score"] = "[5E-1]"
    assert [cell.evidence for cell in tree_from_xgboost(data).cells] == [cell.evidence for cell in even.cells]
    learner["objective"]["name"] = "binary:logitraw"
    learner["learner_model_param"]["base_score"] = "[-5]"
    assert {cell.evidence.label for cell in tree_from_xgboost(data).cells} == {0}


def test_a_logistic_regression_of_shares_is_no_model_of_classes() -> None:
    data = plain("xgboost.json")
    data["learner"]["objective"]["name"] = "reg:logistic"
    for read in (tree_from_xgboost, ensemble_from_xgboost):
        with pytest.raises(UnsupportedModelError, match=r"classes or shares.*'binary:logistic'"):
            read(data)


def test_an_objective_that_is_not_read_names_one_that_is() -> None:
    data = plain("xgboost.json")
    data["learner"]["objective"]["name"] = "binary:hinge"
    with pytest.raises(UnsupportedModelError, match=r"not read.* 'binary:logistic'"):
        tree_from_xgboost(data)
    text = re.sub(
        r"(?m)^objective=.*$", "objective=multiclassova num_class:3 sigmoid:1", (FILES / "lightgbm.txt").read_text()
    )
    with pytest.raises(UnsupportedModelError, match=r"not read.* 'multiclass'"):
        tree_from_lightgbm(text)


def test_a_model_for_each_class_is_audited_one_by_one() -> None:
    several = OneVsRestClassifier(DecisionTreeClassifier(max_depth=1)).fit(np.arange(9)[:, None], np.arange(9) // 3)
    with pytest.raises(UnsupportedModelError, match=r"Audit each of its estimators_"):
        as_model(several)
    assert all(isinstance(as_model(one), DecisionTree) for one in several.estimators_)


def test_a_booster_of_one_class_says_so() -> None:
    data = plain("xgboost.json")
    data["learner"]["learner_model_param"]["base_score"] = "[0E0]"
    with pytest.raises(InvalidModelError, match=r"records of one class.*base_score=0\.5"):
        tree_from_xgboost(data)


@pytest.mark.parametrize(("best", "said"), [("0", "booster[:1]"), ("99", None), ("-1", None)])
def test_rounds_behind_the_best_one_are_named(best: str, said: str | None) -> None:
    data = plain("xgboost_three.json")
    data["learner"]["attributes"] = {"best_iteration": best}
    ensemble = ensemble_from_xgboost(data)
    assert ensemble is not None
    lines = [line for line in ensemble.published if "stopped early" in line]
    assert len(lines) == (said is not None)
    assert said is None or said in lines[0]


@pytest.mark.parametrize("change", ["gain", "weight", "leaf", "L1"])
def test_where_xgboosts_figures_do_not_agree_only_sizes_are_told(change: str) -> None:
    data = plain("xgboost.json")
    tree = data["learner"]["gradient_booster"]["model"]["trees"][0]
    inner = tree["left_children"].index(-1, tree["left_children"].index(-1) + 1)
    if change == "gain":
        tree["loss_changes"][0] *= 1.01
    elif change == "weight":
        tree["base_weights"][next(i for i, left in enumerate(tree["left_children"]) if left != -1 and i)] *= 1.02
    elif change == "leaf":
        tree["split_conditions"][inner] *= 1.03
    else:  # every gradient closer to 0 by one, as under an L1 penalty
        hessians, lefts = tree["sum_hessian"], tree["left_children"]
        for name in ("base_weights", "split_conditions"):
            for i, left in enumerate(lefts):
                if name == "base_weights" or left == -1:
                    weight = tree[name][i]
                    rate = 0.3 if left == -1 else 1.0
                    tree[name][i] = weight - (1 if weight > 0 else -1) * rate / (hessians[i] + 1)
    read = tree_from_xgboost(data)
    assert all(cell.evidence.counts is None for cell in read.cells)
    assert [cell.evidence.size for cell in read.cells] == [sum(pair) for pair in true_counts(read)]


def test_a_weight_of_the_second_class_hides_the_numbers_of_xgboost() -> None:
    data = plain("xgboost.json")
    data["learner"]["objective"]["reg_loss_param"] = {"scale_pos_weight": "2"}
    assert all(cell.evidence.size is None for cell in tree_from_xgboost(data).cells)


@pytest.mark.parametrize("name", ["xgboost_categories.json", "lightgbm_categories.txt"])
def test_splits_on_categories_speak_of_the_names(name: str) -> None:
    tree = load_model(FILES / name, CATEGORIES)
    assert isinstance(tree, DecisionTree)
    listed = [literal for literal in tree.literals if isinstance(literal, OneOf)]
    assert listed
    assert {value for literal in listed for value in literal.values} <= {"red", "sky blue", "green"}
    assert [cell.evidence.counts for cell in tree.cells] == counts_of(tree, "y", 2)
    gap = {"age": np.array([np.nan]), "dose": np.array([np.nan]), "colour": np.array([None], dtype=object)}
    open_domain = Domain(
        {
            "age": Integer(18, 90, missing=True),
            "dose": Real(-9, 9, missing=True),
            "colour": Category(COLOURS, missing=True),
        }
    )
    reread = read_cells(FILES / name, open_domain)
    assert reread.apply(gap).shape == (1,)
    without = Domain({"age": Integer(18, 90), "dose": Real(-9, 9), "colour": Category(("blue", "grey"))})
    with pytest.raises(InvalidModelError, match="not a value of its domain"):
        load_model(FILES / name, without)


@pytest.mark.parametrize("name", ["xgboost_categories.json", "lightgbm_categories.txt"])
def test_lists_of_categories_are_written_as_sql_and_python(name: str) -> None:
    domain = Domain(
        {
            "age": Integer(18, 90, missing=True),
            "dose": Real(-9, 9, missing=True),
            "colour": Category(COLOURS, missing=True),
        }
    )
    tree = read_cells(FILES / name, domain)
    gaps: dict[str, Any] = {key: LISTED[key].astype(object) for key in ("age", "dose", "colour")}
    for i, key in enumerate(gaps):
        gaps[key][i::7] = None
    expected = tree.predict(gaps).tolist()
    frame = pl.DataFrame({key: values.tolist() for key, values in gaps.items()})
    with duckdb.connect() as connection:
        connection.register("records", frame.to_arrow())
        found = [row[-1] for row in connection.execute(to_sql(tree, "records")).fetchall()]
    space: dict[str, Any] = {}
    exec(to_python(tree), space)  # noqa: S102 - our own source
    assert found == expected
    assert [space["predict"](row) for row in frame.iter_rows(named=True)] == expected


@pytest.mark.parametrize("size", [1e60, 1e200])
def test_figures_of_any_size_are_read(size: float) -> None:
    data = plain("xgboost.json")
    tree = data["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["base_weights"][0] = size
    tree["loss_changes"][0] = size
    assert all(cell.evidence.counts is None for cell in tree_from_xgboost(data).cells)


def test_treelite_keeps_the_codes_of_categories() -> None:
    named = read_cells(FILES / "lightgbm_categories.txt", CATEGORIES)
    codes = Domain({"age": Integer(18, 90), "dose": Real(-9, 9), "colour": Category((0, 1, 2))})
    coded = read_cells(FILES / "treelite_categories.json", codes)
    order = sorted(COLOURS)
    columns = {**LISTED, "colour": np.array([order.index(value) for value in LISTED["colour"]])}
    assert coded.apply(columns).tolist() == named.apply(LISTED).tolist()
    assert coded.cells[0].evidence.size == named.cells[0].evidence.size
    with pytest.raises(InvalidModelError, match=r"codes of 'colour'.*Declare the codes"):
        load_model(FILES / "treelite_categories.json", CATEGORIES)


def test_a_tree_with_a_score_for_each_class_tells_the_largest_and_the_records() -> None:
    tree = load_model(FILES / "xgboost_classes.json")
    assert isinstance(tree, DecisionTree)
    assert tree.classes == (0, 1, 2)
    counts = counts_of(tree, "z", 3)
    assert [cell.evidence.total for cell in tree.cells] == [sum(row) for row in counts]
    assert [cell.evidence.label for cell in tree.cells] == [row.index(max(row)) for row in counts]


def test_ordered_categories_are_split_by_name_where_the_columns_are_known() -> None:
    text = (FILES / "lightgbm_categories.txt").read_text()
    extra = text.replace('pandas_categorical:[["green"', 'pandas_categorical:[["x", "y"], ["green"')
    assert extra != text
    with pytest.raises(UnsupportedModelError, match="categories of 2 columns, but not which"):
        tree_from_lightgbm(extra, CATEGORIES)
    numbered = re.sub(r"(?m)^decision_type=.*$", "decision_type=2 2 2", text)
    numbered = re.sub(r"(?m)^split_feature=.*$", "split_feature=2 0 0", numbered)
    numbered = re.sub(r"(?m)^threshold=.*$", "threshold=0.5 40 50", numbered)
    tree = tree_from_lightgbm(numbered, CATEGORIES)
    assert OneOf("colour", ("green",)) in tree.literals
    # A value that is no category of the file is missing to LightGBM, which takes it for the first category here.
    unnamed = Domain({"age": Integer(18, 90), "dose": Real(-9, 9), "colour": Category((*COLOURS, "pink"))})
    assert OneOf("colour", ("red", "sky blue"), negated=True) in tree_from_lightgbm(numbered, unnamed).literals


def test_names_that_xgboost_cuts_are_refused() -> None:
    data = plain("xgboost_categories.json")
    names = data["learner"]["gradient_booster"]["model"]["cats"]["enc"][2]
    places = [i for i, letter in enumerate(names["values"]) if letter == ord("e")]
    for place in places:
        names["values"][place] = -61
    with pytest.raises(UnsupportedModelError, match="not ASCII"):
        tree_from_xgboost(data)


@pytest.mark.parametrize(("objective", "base"), [("count:poisson", "2"), ("reg:gamma", "2"), ("reg:tweedie", "2")])
def test_values_on_the_scale_of_logarithms(objective: str, base: str) -> None:
    data = plain("xgboost.json")
    data["learner"]["objective"] = {"name": objective}
    data["learner"]["learner_model_param"]["base_score"] = base
    tree = tree_from_xgboost(data)
    scores = data["learner"]["gradient_booster"]["model"]["trees"][0]["split_conditions"]
    assert tree.classes is None
    assert tree.cells[0].evidence.value == pytest.approx(2 * math.exp(scores[1]))


def test_xgboost_sums_that_are_no_counts_are_not_taken() -> None:
    weighted = plain("xgboost.json")
    tree = weighted["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["sum_hessian"] = [value * 1.07 for value in tree["sum_hessian"]]
    assert all(cell.evidence.total is None for cell in tree_from_xgboost(weighted).cells)
    apart = plain("xgboost.json")
    apart["learner"]["gradient_booster"]["model"]["trees"][0]["sum_hessian"][0] += 0.25
    assert all(cell.evidence.total is None for cell in tree_from_xgboost(apart).cells)


def test_xgboost_sends_missing_values_where_the_file_says() -> None:
    data = plain("xgboost.json")
    for left, expected in ((1, 0), (0, 2)):
        data["learner"]["gradient_booster"]["model"]["trees"][0]["default_left"] = [left] * 5
        gap = {"age": np.array([np.nan]), "dose": np.array([np.nan])}
        assert tree_from_xgboost(data, GAPS).apply(gap).tolist() == [expected]


def test_the_base_score_moves_the_border_between_classes() -> None:
    data = plain("xgboost.json")
    data["learner"]["learner_model_param"]["base_score"] = "[9.9E-1]"
    assert {cell.evidence.label for cell in tree_from_xgboost(data).cells} == {1}


def test_lightgbm_gives_away_the_class_counts() -> None:
    tree = load_model(FILES / "lightgbm.txt", DOMAIN)
    assert isinstance(tree, DecisionTree)
    assert [cell.evidence.counts for cell in tree.cells] == true_counts(tree)
    assert tree.nodes[0].evidence.total == len(TARGET)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[lambda_l1: 0]", "[lambda_l1: 0.5]"),
        ("[scale_pos_weight: 1]", "[scale_pos_weight: 3]"),
        ("[learning_rate: 0.1]", "[learning_rate: 0.2]"),
        ("[lambda_l2: 0]", "[lambda_l2: 2]"),
        ("leaf_weight=5.6875", "leaf_weight=5.1875"),
        ("objective=binary sigmoid:1", "objective=binary sigmoid:2"),
    ],
)
def test_where_lightgbms_figures_do_not_agree_only_sizes_are_told(old: str, new: str) -> None:
    text = (FILES / "lightgbm.txt").read_text()
    assert old in text
    tree = tree_from_lightgbm(text.replace(old, new))
    assert all(cell.evidence.counts is None for cell in tree.cells)
    assert [cell.evidence.total for cell in tree.cells] == [sum(pair) for pair in true_counts(tree)]


def test_lightgbm_sends_missing_values_where_zero_goes_if_it_saw_none() -> None:
    text = (FILES / "lightgbm.txt").read_text()
    gap = {"age": np.array([np.nan]), "dose": np.array([np.nan])}
    zero = {"age": np.array([0.0]), "dose": np.array([0.0])}
    tree = tree_from_lightgbm(text, GAPS)
    assert tree.apply(gap).tolist() == tree.apply(zero).tolist() == [0]
    # 8 says that missing values were seen, 2 that they go left.
    for kind, expected in (("8", 3), ("10", 0)):
        seen = text.replace("decision_type=2 2 2", f"decision_type={kind} {kind} {kind}")
        assert tree_from_lightgbm(seen, GAPS).apply(gap).tolist() == [expected]


def test_treelite() -> None:
    tree = load_model(FILES / "treelite_shares.json", DOMAIN)
    assert isinstance(tree, DecisionTree)
    assert [cell.evidence.counts for cell in tree.cells] == true_counts(tree)
    boosted = tree_from_treelite(plain("treelite_boosted.json"), DOMAIN)
    assert boosted.apply(COLUMNS).tolist() == read_cells(FILES / "xgboost.json").apply(COLUMNS).tolist()
    assert [cell.evidence.label for cell in boosted.cells] == [0, 0, 1]


@pytest.mark.parametrize(
    ("name", "remedy"), [("xgboost_three.json", r"booster\[:1\]"), ("lightgbm_three.txt", "num_iteration=1")]
)
def test_several_trees_are_refused_with_the_way_out(name: str, remedy: str) -> None:
    with pytest.raises(UnsupportedModelError, match=rf"3 trees.*{remedy}"):
        load_model(FILES / name)


def changed(data: Any, place: list[Any], value: Any) -> Any:
    out = copy.deepcopy(data)
    part = out
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return out


TREE = ["learner", "gradient_booster", "model", "trees", 0]
BAD: list[tuple[list[Any], Any, str]] = [
    (["learner"], [], "lacks 'learner'"),
    (["learner", "gradient_booster", "name"], "dart", "gbtree"),
    (["learner", "gradient_booster", "name"], "gblinear", "gbtree"),
    (["learner", "objective", "name"], "survival:cox", "objective"),
    (["learner", "learner_model_param", "base_score"], "[nan]", "base_score"),
    (["learner", "learner_model_param", "base_score"], "1", "base_score"),
    (["learner", "feature_names"], ["age", "age"], "the same name"),
    ([*TREE, "left_children"], [1, -1, 3, -1], "5|4"),
    ([*TREE, "left_children"], [1, -1, 99, -1, -1], "node 99"),
    ([*TREE, "left_children"], [0, -1, 3, -1, -1], "child of two"),
    ([*TREE, "split_indices"], [7, 0, 1, 0, 0], "feature 7"),
    ([*TREE, "split_conditions"], [1e400, 0, 0, 0, 0], "finite"),
    ([*TREE, "split_type"], [1, 0, 0, 0, 0], "lists none"),
    ([*TREE, "categories_nodes"], [0], "categories_segments"),
    ([*TREE, "loss_changes"], [1], "loss_changes"),
    ([*TREE, "default_left"], "x", "default_left"),
    ([*TREE, "tree_param", "size_leaf_vector"], "3", "several outputs"),
]


@pytest.mark.parametrize(("place", "value", "message"), BAD)
def test_bad_xgboost_is_refused(place: list[Any], value: Any, message: str) -> None:
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=message):
        tree_from_xgboost(changed(plain("xgboost.json"), place, value))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("end of trees", "", "ends before"),
        ("objective=binary sigmoid:1", "objective=lambdarank", "objective"),
        ("num_cat=0", "num_cat=1", "cat_boundaries"),
        ("num_cat=0", "num_cat=x", "num_cat"),
        ("is_linear=0", "is_linear=1", "linear"),
        ("decision_type=2 2 2", "decision_type=3 2 2", "list 43.5 of categories, of 0"),
        ("decision_type=2 2 2", "decision_type=6 2 2", "zeros"),
        ("left_child=-1 2 -2", "left_child=0 2 -2", "child of two"),
        ("left_child=-1 2 -2", "left_child=-1 2 -9", "node -9"),
        ("split_feature=0 1 1", "split_feature=5 1 1", "feature 5"),
        ("leaf_count=25 7 19 9", "leaf_count=25 7 19", "4 whole numbers"),
        ("leaf_count=25 7 19 9", "leaf_count=25 7 19 x", "whole numbers"),
        ("leaf_value=-0.77", "leaf_value=nan -0.77", "finite numbers"),
        ("num_leaves=4", "num_leaves=4\nnum_leaves=4", "twice"),
        ("leaf_count=25", "leaf_count=26", "records, but its branches"),
    ],
)
def test_bad_lightgbm_is_refused(old: str, new: str, message: str) -> None:
    text = (FILES / "lightgbm.txt").read_text()
    assert old in text
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=message):
        tree_from_lightgbm(text.replace(old, new))


NODE = ["trees", 0, "nodes", 0]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["trees"], [], "holds 0 trees"),
        (["trees", 0], None, "list of objects"),
        (["num_target"], 2, "several outputs"),
        (["num_class"], [0], "num_class"),
        (["postprocessor"], "exponential", "is not read"),
        (["num_feature"], True, "claims -1 features"),
        ([*NODE, "node_type"], "categorical_test_node", "category_list"),
        ([*NODE, "node_type"], "x", "kind 'x'"),
        ([*NODE, "comparison_op"], "~", "compares by '~'"),
        ([*NODE, "split_feature_id"], 2, "feature 2"),
        ([*NODE, "threshold"], "x", "threshold"),
        ([*NODE, "left_child"], [1], "leads to"),
        ([*NODE, "left_child"], 9, "node 9"),
        (["trees", 0, "nodes", 1, "node_id"], 0, "number 0"),
        (["trees", 0, "nodes", 1, "leaf_value"], [1.0], "2 numbers"),
    ],
)
def test_bad_treelite_is_refused(place: list[Any], value: Any, message: str) -> None:
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=message):
        tree_from_treelite(changed(plain("treelite_shares.json"), place, value))


def test_a_domain_of_another_width_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="domain has 1 attributes"):
        tree_from_treelite(plain("treelite_shares.json"), Domain({"age": Integer(0, 9)}))
    with pytest.raises(InvalidModelError, match="domain lacks"):
        tree_from_xgboost(plain("xgboost.json"), Domain({"age": Integer(0, 9)}))


LIGHTGBM = (FILES / "lightgbm.txt").read_text()
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
READERS: dict[str, Callable[[Any], DecisionTree]] = {
    "xgboost.json": tree_from_xgboost,
    "xgboost_categories.json": tree_from_xgboost,
    "xgboost_classes.json": tree_from_xgboost,
    "treelite_categories.json": tree_from_treelite,
    "treelite_shares.json": tree_from_treelite,
    "treelite_boosted.json": tree_from_treelite,
}


@settings(max_examples=60)
@given(damaged(LIGHTGBM))
def test_damaged_text_raises_only_our_errors(text: str) -> None:
    read_or_refused(lambda: tree_from_lightgbm(text))


@pytest.mark.slow
@settings(max_examples=100)
@given(st.sampled_from(sorted(READERS)), st.data())
def test_damaged_json_raises_only_our_errors(name: str, data: st.DataObject) -> None:
    value = plain(name)
    part: Any = {"": value}
    key: Any = ""
    while True:
        part = part[key]
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(part[key], dict | list) or not part[key] or data.draw(st.integers(0, 4)) == 0:
            break
    part[key] = data.draw(ANY)
    read_or_refused(lambda: READERS[name](value))


@pytest.mark.parametrize("to_listed", [None, False, True])
def test_a_category_that_reads_as_missing_goes_where_the_file_sends_it(to_listed: bool | None) -> None:
    names = ("p", "q", "?", "NA")
    gaps = (bool(to_listed), to_listed is False)
    for listed in (("p",), ("p", "?"), ("q", "NA"), ("?", "NA")):
        first, second = picked("town", listed, None, gaps, names)
        tree = DecisionTree(
            (
                Node(branches=(Branch(first, 1), Branch(second, 2))),
                Node(evidence=Evidence(label=1)),
                Node(evidence=Evidence(label=0)),
            ),
            ("town",),
            ("no", "yes"),
        )
        said = tree.predict(pl.DataFrame({"town": list(names)})).tolist()
        assert said == ["yes" if name in listed else "no" for name in names]
        if to_listed is not None:
            assert tree.predict(pl.DataFrame({"town": ["p", None]})).tolist()[1] == ("yes" if to_listed else "no")
