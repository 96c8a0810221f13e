"""Forests as plain values, and scikit-learn's forests read as such."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from glassine.domain import Domain, Real
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import tree_from_sklearn
from glassine.formats.sklearn.forest import forest_from_sklearn, is_sklearn_forest
from glassine.models import DecisionTree, Evidence, Node
from glassine.models.tree import Forest

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(RNG.normal(size=(60, 4)).round(2), columns=NAMES)
LABELS = np.where(FRAME["a"] + FRAME["b"] ** 2 > 0.5, "yes", "no")
DOMAIN = Domain({name: Real(-9.0, 9.0, 0.01) for name in NAMES})


def forest(kind: Any = RandomForestClassifier, **options: Any) -> Any:
    return kind(5, random_state=0, **options).fit(FRAME, LABELS)


def counted(tree: DecisionTree, columns: dict[str, Any], labels: Any) -> list[tuple[int, ...]]:
    cells = tree.apply(columns)
    assert tree.classes is not None
    return [
        tuple(int(((cells == i) & (labels == name)).sum()) for name in tree.classes) for i in range(len(tree.cells))
    ]


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("wrapped", ["alone", "pipeline", "search"])
def test_trees_tell_the_records_of_their_leaves(kind: Any, wrapped: str) -> None:
    fitted = kind(5, random_state=0, bootstrap=False)
    if wrapped == "pipeline":
        fitted = make_pipeline(StandardScaler(), fitted)
    elif wrapped == "search":
        fitted = GridSearchCV(fitted, {"max_depth": [3]}, cv=2)
    fitted.fit(FRAME, LABELS)
    assert is_sklearn_forest(fitted)
    read = forest_from_sklearn(fitted, DOMAIN)
    assert (len(read.trees), read.n_records, read.bootstrap) == (5, 60, False)
    assert read.attributes == ("a", "b", "c", "d")
    assert read.classes == ("no", "yes")
    columns = {name: FRAME[name].to_numpy() for name in NAMES}
    for tree in read.trees:
        assert [cell.evidence.counts for cell in tree.cells] == counted(tree, columns, LABELS)


@pytest.mark.parametrize("weight", ["balanced", {"no": 2.0, "yes": 0.5}])
def test_class_weights_do_not_hide_counts(weight: Any) -> None:
    read = forest_from_sklearn(forest(bootstrap=False, class_weight=weight))
    assert all(cell.evidence.counts is not None for tree in read.trees for cell in tree.cells)


def test_bootstrap_tells_draws_and_different_records() -> None:
    fitted = forest(max_depth=3)
    read = forest_from_sklearn(fitted)
    assert read.bootstrap
    assert read.n_records == 60
    assert read.drawn is not None
    assert read.multiplicities is not None
    columns = {name: FRAME[name].to_numpy() for name in NAMES}
    for tree, drawn, times, rows in zip(
        read.trees, read.drawn, read.multiplicities, fitted.estimators_samples_, strict=True
    ):
        assert np.array_equal(np.bincount(rows, minlength=60), times)
        picked = {name: column[rows] for name, column in columns.items()}
        assert list(drawn) == counted(tree, picked, LABELS[rows])
        different = np.bincount(tree.apply(columns)[np.unique(rows)], minlength=len(tree.cells))
        assert [cell.evidence.total for cell in tree.cells] == different.tolist()
    assert forest_from_sklearn(fitted, use_seeds=False).multiplicities is None


def test_seeds_that_do_not_fit_are_not_used() -> None:
    fitted = forest(max_depth=3)
    fitted.estimators_[2].random_state += 1
    assert forest_from_sklearn(fitted).multiplicities is None
    fitted.estimators_[2].random_state = None
    assert forest_from_sklearn(fitted).multiplicities is None


def test_fewer_draws_than_records() -> None:
    fitted = forest(max_samples=20)
    read = forest_from_sklearn(fitted)
    assert read.n_records == 60
    assert read.multiplicities is not None
    assert {sum(row) for row in read.multiplicities} == {20}
    del fitted._n_samples
    assert forest_from_sklearn(fitted).n_records is None


def test_weights_hide_draws() -> None:
    read = forest_from_sklearn(forest(class_weight="balanced_subsample"))
    assert read.bootstrap
    assert read.drawn is None
    # Whether weights are drawn by or counted, the seeds alone do not give the draws.
    assert forest_from_sklearn(forest(class_weight={"no": 0.3, "yes": 1.7})).multiplicities is None


def test_regression_forests_tell_sizes() -> None:
    fitted = RandomForestRegressor(3, random_state=0, bootstrap=False, max_depth=2).fit(FRAME, FRAME["a"])
    read = forest_from_sklearn(fitted)
    assert read.classes is None
    assert [tree.n_records for tree in read.trees] == [60, 60, 60]
    drawn = forest_from_sklearn(RandomForestRegressor(3, random_state=0, max_depth=2).fit(FRAME, FRAME["a"])).drawn
    assert drawn is not None
    assert all(sum(row[0] for row in table) == 60 for table in drawn)


def test_what_is_no_forest_is_refused() -> None:
    tree = DecisionTreeClassifier().fit(FRAME, LABELS)
    for other in (tree, GradientBoostingClassifier(n_estimators=2).fit(FRAME, LABELS), RandomForestClassifier, 3):
        assert not is_sklearn_forest(other)
        with pytest.raises(UnsupportedModelError, match="random forest"):
            forest_from_sklearn(other)
    for unfitted in (RandomForestClassifier(), GridSearchCV(RandomForestClassifier(), {"max_depth": [1]})):
        with pytest.raises(InvalidModelError, match="not fitted"):
            forest_from_sklearn(unfitted)
    both = RandomForestClassifier(2, random_state=0).fit(FRAME, np.column_stack([LABELS == "no", FRAME["c"] > 0]))
    with pytest.raises(UnsupportedModelError, match="2 outputs"):
        forest_from_sklearn(both)
    with pytest.raises(InvalidModelError, match="'d'"):
        forest_from_sklearn(forest(), DOMAIN.restrict(["a", "b", "c"]))


def test_a_forest_that_contradicts_itself_is_refused() -> None:
    read = forest_from_sklearn(forest(max_depth=2))
    assert read.drawn is not None
    assert read.multiplicities is not None
    stump = DecisionTree((Node(evidence=Evidence(counts=(1, 1))),), ("z",), (0, 1))
    with pytest.raises(InvalidModelError, match="at least one tree"):
        Forest(trees=())
    with pytest.raises(InvalidModelError, match="other attributes or classes"):
        Forest(trees=(read.trees[0], stump))
    with pytest.raises(InvalidModelError, match="without bootstrap draws nothing"):
        replace(read, bootstrap=False)
    with pytest.raises(InvalidModelError, match="draws of 4 trees"):
        replace(read, drawn=read.drawn[:4])
    first = ((10**6, 0), *read.drawn[0][1:])
    with pytest.raises(InvalidModelError, match="multiplicities"):
        replace(read, drawn=(first, *read.drawn[1:]))
    with pytest.raises(InvalidModelError, match="rows of 2"):
        replace(read, drawn=(read.drawn[0][1:], *read.drawn[1:]))
    with pytest.raises(InvalidModelError, match="multiplicities"):
        replace(read, multiplicities=((60, *[0] * 59), *read.multiplicities[1:]))
    with pytest.raises(InvalidModelError, match="n_records"):
        replace(read, n_records=-1, multiplicities=None)
    given: Any = tree_from_sklearn(DecisionTreeClassifier().fit(FRAME, LABELS)), 3
    with pytest.raises(InvalidModelError, match="holds decision trees"):
        Forest(trees=given)
