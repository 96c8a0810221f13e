"""Trees of scikit-learn: conditions, counts, refusals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from glassine.domain import Between, Binary, Domain, OneOf, Real
from glassine.domain.single import single_bound
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import as_model, load_model, to_sklearn, to_text, tree_from_sklearn, write_model
from glassine.formats.sklearn.forest import forest_from_sklearn
from glassine.models import DecisionTree

NAMES = ("age", "dose", "weight", "steps")


def make_data(n: int = 300, classes: int = 2, gaps: float = 0.0, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    # Multiples of 1/64 are exact in single precision, in which scikit-learn compares.
    values = np.round(rng.normal(size=(n, len(NAMES))) * 64) / 64
    score = values[:, 0] + 0.5 * values[:, 1] ** 2 + rng.normal(scale=0.5, size=n)
    target = np.clip(np.digitize(score, np.linspace(-0.5, 1, classes - 1)), 0, classes - 1)
    values[rng.random(values.shape) < gaps] = np.nan
    return pd.DataFrame(values, columns=list(NAMES)), target


def columns_of(frame: Any) -> dict[str, Any]:
    return {name: frame[name].to_numpy() for name in frame.columns}


def true_counts(estimator: Any, frame: Any, target: Any) -> Any:
    passed = estimator.decision_path(frame).toarray()
    return np.array([[int(passed[target == c, i].sum()) for c in estimator.classes_] for i in range(passed.shape[1])])


def assert_same_leaves(model: DecisionTree, estimator: Any, frame: Any) -> None:
    nodes = np.array([cell.node for cell in model.cells])
    assert np.array_equal(nodes[model.apply(columns_of(frame))], estimator.apply(frame))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weight", [None, "balanced", {0: 1.0, 1: 7.5}, {0: 1, 1: 3}, {1: 0.1}])
def test_counts_are_those_of_the_training_data(criterion: str, classes: int, weight: Any) -> None:
    frame, target = make_data(classes=classes)
    fitted = DecisionTreeClassifier(criterion=criterion, max_depth=5, class_weight=weight, random_state=0)
    fitted.fit(frame, target)
    model = tree_from_sklearn(fitted)
    counts = [node.evidence.counts for node in model.nodes]
    assert counts == [tuple(row) for row in true_counts(fitted, frame, target)]
    assert model.n_records == len(frame)
    assert model.attributes == NAMES
    assert_same_leaves(model, fitted, frame)


def test_string_classes_and_labels() -> None:
    frame, target = make_data()
    names = np.array(["no", "yes"])[target]
    fitted = DecisionTreeClassifier(max_depth=4, class_weight={"no": 2.0}, random_state=0).fit(frame, names)
    model = tree_from_sklearn(fitted)
    assert model.classes == ("no", "yes")
    assert all(type(name) is str for name in model.classes)
    assert [node.evidence.counts for node in model.nodes] == [tuple(r) for r in true_counts(fitted, frame, names)]
    labels = fitted.tree_.value[:, 0, :].argmax(axis=1).tolist()
    assert [node.evidence.label for node in model.nodes] == labels


def test_sample_weight_tells_totals_and_pure_nodes_only() -> None:
    frame, target = make_data()
    weight = np.random.default_rng(1).random(len(frame)) + 0.1
    fitted = DecisionTreeClassifier(max_depth=6, random_state=0).fit(frame, target, sample_weight=weight)
    truth = true_counts(fitted, frame, target)
    evidence = [node.evidence for node in tree_from_sklearn(fitted).nodes]
    assert [e.size for e in evidence] == truth.sum(axis=1).tolist()
    for entry, row in zip(evidence, truth, strict=True):
        assert entry.counts == (tuple(row) if (row > 0).sum() == 1 else None)


def test_equal_sample_weights_do_not_hide_counts() -> None:
    frame, target = make_data()
    fitted = DecisionTreeClassifier(max_depth=5, random_state=0).fit(frame, target, sample_weight=np.full(300, 2.5))
    counts = [node.evidence.counts for node in tree_from_sklearn(fitted).nodes]
    assert counts == [tuple(row) for row in true_counts(fitted, frame, target)]


def test_class_and_sample_weight_together_claim_nothing_false() -> None:
    frame, target = make_data()
    weight = np.random.default_rng(1).integers(1, 4, size=len(frame))
    fitted = DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0)
    fitted.fit(frame, target, sample_weight=weight)
    truth = true_counts(fitted, frame, target)
    for node, row in zip(tree_from_sklearn(fitted).nodes, truth, strict=True):
        assert node.evidence.counts in (None, tuple(row))
        assert node.evidence.size == row.sum()


def test_a_stump_of_balanced_classes_does_not_determine_its_counts() -> None:
    fitted = DecisionTreeClassifier(max_depth=1, class_weight="balanced", min_samples_leaf=10, random_state=0)
    fitted.fit(*make_data())
    pruned = DecisionTreeClassifier(max_depth=1, class_weight="balanced", min_samples_leaf=300).fit(*make_data())
    assert tree_from_sklearn(pruned).nodes[0].evidence.counts is None
    assert tree_from_sklearn(pruned).nodes[0].evidence.total == 300


def test_a_bootstrapped_tree_tells_distinct_records() -> None:
    frame, target = make_data()
    forest = RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0).fit(frame.to_numpy(), target)
    for member in forest.estimators_:
        model = tree_from_sklearn(member)
        assert model.n_records == int(member.tree_.n_node_samples[0])
        assert model.nodes[0].evidence.counts is None
        assert model.attributes == ("x0", "x1", "x2", "x3")


def test_regression() -> None:
    frame, target = make_data()
    fitted = DecisionTreeRegressor(max_depth=3, random_state=0).fit(frame, target * 1.5)
    model = tree_from_sklearn(fitted)
    assert model.classes is None
    assert [node.evidence.value for node in model.nodes] == pytest.approx(fitted.tree_.value.ravel().tolist())
    assert [node.evidence.total for node in model.nodes] == fitted.tree_.n_node_samples.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_missing_values_take_the_branch_that_scikit_learn_gives_them(seed: int) -> None:
    frame, target = make_data(gaps=0.2, seed=seed)
    domain = Domain({name: Real(-9, 9, missing=True) for name in NAMES})
    fitted = DecisionTreeClassifier(max_depth=6, random_state=0).fit(frame, target)
    model = tree_from_sklearn(fitted, domain)
    assert_same_leaves(model, fitted, frame)
    assert_same_leaves(model, fitted, make_data(gaps=0.5, seed=seed + 100)[0])
    assert [node.evidence.counts for node in model.nodes] == [tuple(r) for r in true_counts(fitted, frame, target)]
    assert_same_leaves(tree_from_sklearn(fitted), fitted, frame)


def test_a_split_on_being_missing() -> None:
    frame = pd.DataFrame({"a": [np.nan] * 10 + [1.0, 2.0] * 5})
    fitted = DecisionTreeClassifier().fit(frame, [0] * 10 + [1] * 10)
    model = tree_from_sklearn(fitted)
    assert [str(cell) for cell in model.cells] == ["a is not missing", "a is missing"]
    assert_same_leaves(model, fitted, frame)


def test_where_a_domain_has_no_gaps_no_branch_speaks_of_them() -> None:
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(*make_data())
    full = Domain({name: Real(-9, 9) for name in NAMES})
    assert not any(literal.missing for literal in tree_from_sklearn(fitted, full).literals)


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("gaps", [0.0, 0.02, 0.1])
def test_the_stored_direction_is_kept_whether_or_not_values_were_missing_in_training(depth: int, gaps: float) -> None:
    for seed in range(10):
        fitted = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(*make_data(gaps=gaps, seed=seed))
        model = tree_from_sklearn(fitted)
        assert all(
            sum(branch.literal.missing for branch in node.branches) == 1 for node in model.nodes if node.branches
        )
        queries = make_data(gaps=0.3, seed=seed + 100)[0]
        assert_same_leaves(model, fitted, queries)
        whole = Domain({name: Real(-9, 9, missing=True) for name in NAMES})
        assert tree_from_sklearn(fitted, whole) == model
        written = to_sklearn(model, whole)
        assert np.array_equal(written.predict(queries), fitted.predict(queries))
        assert [cell.inside for cell in as_model(written, whole).cells] == [cell.inside for cell in model.cells]


def test_the_direction_survives_json_and_text(tmp_path: Path) -> None:
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(*make_data(gaps=0.1))
    model = tree_from_sklearn(fitted)
    queries = make_data(gaps=0.3, seed=7)[0]
    write_model(model, tmp_path / "tree.json", overwrite=True)
    (tmp_path / "tree.txt").write_text(to_text(model))
    for name in ("tree.json", "tree.txt"):
        back = load_model(tmp_path / name)
        assert isinstance(back, DecisionTree)
        assert [cell.inside for cell in back.cells] == [cell.inside for cell in model.cells]
        assert np.array_equal(back.apply(columns_of(queries)), model.apply(columns_of(queries)))


def test_a_binary_attribute_is_named_by_its_value() -> None:
    fitted = DecisionTreeClassifier().fit(pd.DataFrame({"Age>=30": [0, 0, 1]}), [0, 0, 1])
    model = tree_from_sklearn(fitted, Domain.binary(["Age>=30"]))
    assert model.literals == (OneOf("Age>=30", (1,), negated=True), OneOf("Age>=30", (1,)))
    bound = single_bound(0.5)
    below = Between("Age>=30", hi=bound, missing=True)
    assert tree_from_sklearn(fitted).literals == (below, Between("Age>=30", lo=bound))
    assert str(below) == "Age>=30 <= 0.5 or missing"


def test_extra_trees_and_searches_are_read() -> None:
    frame, target = make_data()
    extra = ExtraTreeClassifier(max_depth=3, random_state=0).fit(frame, target)
    assert_same_leaves(tree_from_sklearn(extra), extra, frame)
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}, cv=2).fit(frame, target)
    assert as_model(search) == tree_from_sklearn(search.best_estimator_)


def test_names_come_from_the_domain_where_the_count_agrees() -> None:
    fitted = DecisionTreeClassifier().fit(np.array([[0.0, 1.0], [1.0, 1.0]]), [0, 1])
    assert tree_from_sklearn(fitted, Domain.binary(["p", "q"])).attributes == ("p", "q")
    with pytest.raises(InvalidModelError, match="does not name its 2 features, and the domain has 1"):
        tree_from_sklearn(fitted, Domain.binary(["p"]))


def test_a_feature_that_the_domain_lacks_is_named() -> None:
    fitted = DecisionTreeClassifier().fit(pd.DataFrame({"smoker": [0, 1], "b": [1, 1]}), [0, 1])
    with pytest.raises(InvalidModelError, match=r"'smoker', which the domain lacks\. Did you mean 'smokes'"):
        tree_from_sklearn(fitted, Domain({"smokes": Binary(), "b": Binary()}))


@pytest.mark.parametrize("forest", [False, True])
def test_a_search_that_kept_no_model_asks_for_refit(forest: bool) -> None:
    base = RandomForestClassifier(2, random_state=0) if forest else DecisionTreeClassifier()
    search = GridSearchCV(base, {"max_depth": [1]}, cv=2, refit=False).fit([[0], [1]] * 4, [0, 1] * 4)
    with pytest.raises(InvalidModelError, match="refit=False") as caught:
        (forest_from_sklearn if forest else tree_from_sklearn)(search)
    assert caught.value.remedy == "Fit it with refit=True."


@pytest.mark.parametrize(
    ("estimator", "text"),
    [
        (DecisionTreeClassifier(), "DecisionTreeClassifier is not fitted"),
        (Pipeline([("tree", DecisionTreeClassifier())]), "not fitted"),
        (Pipeline([("model", SVC())]), "must end with a decision tree"),
        (GridSearchCV(DecisionTreeClassifier(), {}), "not fitted"),
        (RandomForestClassifier(), "is an ensemble"),
        (GradientBoostingClassifier(), "is an ensemble"),
        (HistGradientBoostingClassifier(), "is an ensemble"),
        (Pipeline([("model", GradientBoostingClassifier())]), "GradientBoostingClassifier is an ensemble"),
        (Pipeline([("model", RandomForestClassifier())]), "Audit one of its trees"),
        (SVC(), "got SVC; supported are"),
        (DecisionTreeClassifier, "got the class DecisionTreeClassifier"),
        ("tree.json", "load_model(path)"),
        (None, "got NoneType"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(estimator: Any, text: str) -> None:
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=re.escape(text)) as caught:
        as_model(estimator)
    assert "\n" not in str(caught.value)


def test_several_outputs_are_refused() -> None:
    frame, target = make_data()
    fitted = DecisionTreeClassifier(max_depth=2).fit(frame, np.column_stack([target, target]))
    with pytest.raises(UnsupportedModelError, match="2 outputs"):
        tree_from_sklearn(fitted)


@pytest.mark.parametrize(
    ("field", "node", "value", "text"),
    [
        ("left_child", 0, 10**6, "leads to node 1000000"),
        ("left_child", 0, 0, "leads to node 0"),
        ("right_child", 0, -1, "one child"),
        ("left_child", 1, 0, "leads to node 0"),
        ("right_child", 0, 1, "the child of"),
        ("feature", 0, 99, "tests feature 99"),
        ("threshold", 0, np.nan, "threshold nan"),
        ("n_node_samples", 0, -5, "holds -5 records"),
        ("weighted_n_node_samples", 0, np.nan, "weight nan"),
    ],
)
def test_damaged_arrays_are_refused(field: str, node: int, value: float, text: str) -> None:
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*make_data())
    state = fitted.tree_.__getstate__()
    state["nodes"][field][node] = value
    fitted.tree_.__setstate__(state)
    with pytest.raises(InvalidModelError, match=text):
        tree_from_sklearn(fitted)
