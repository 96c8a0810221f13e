"""FIGS and hierarchically shrunken trees of imodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from imodels import FIGSClassifier, FIGSRegressor, HSTreeClassifier, HSTreeRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine.domain import Domain, Real
from glassine.errors import SeveralTreesError, UnsupportedModelError
from glassine.formats import as_model
from glassine.formats.sklearn.imodels_trees import forest_from_imodels
from glassine.models import DecisionTree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
TWO = np.array(["no", "yes"])[((X[:, 0] > 0) ^ (X[:, 1] > 0.5)).astype(int)]
THREE = (X[:, 0] > 0) + (X[:, 1] > 0).astype(int)
SUM = X[:, 0] * 2 + (X[:, 1] > 0)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (FIGSClassifier(max_rules=5, max_trees=1), TWO),
        (FIGSClassifier(max_rules=5, max_trees=1), THREE),
        (FIGSRegressor(max_rules=5, max_trees=1), SUM),
        (HSTreeClassifier(estimator_=DecisionTreeClassifier(max_depth=3)), TWO),
        (HSTreeRegressor(estimator_=DecisionTreeRegressor(max_depth=3)), SUM),
    ],
)
def test_one_tree_predicts_as_its_library(model: Any, target: Any) -> None:
    fitted = model.fit(X, target)
    for domain in (None, Domain({name: Real(-9, 9) for name in "abc"})):
        read = as_model(fitted, domain)
        assert isinstance(read, DecisionTree)
        assert read.predict(X).tolist() == fitted.predict(X).tolist()
        assert read.n_records == 300
        assert np.bincount(read.apply(X)).tolist() == [cell.evidence.size for cell in read.cells]


def test_counts_of_figs_are_read_and_shrunken_shares_are_none() -> None:
    figs = as_model(FIGSClassifier(max_rules=3, max_trees=1).fit(X, TWO))
    assert all(cell.evidence.counts for cell in figs.cells)
    shrunken = as_model(HSTreeClassifier(estimator_=DecisionTreeClassifier(max_depth=3)).fit(X, TWO))
    assert not any(cell.evidence.counts for cell in shrunken.cells)


def test_values_of_several_trees_add_up() -> None:
    fitted = FIGSRegressor(max_rules=6).fit(X, SUM)
    forest = forest_from_imodels(fitted)
    assert len(forest.trees) > 1
    np.testing.assert_allclose(sum(tree.predict(X) for tree in forest.trees), fitted.predict(X))
    with pytest.raises(SeveralTreesError):
        as_model(fitted)


def test_a_shrunken_ensemble_is_refused() -> None:
    fitted = HSTreeRegressor(estimator_=RandomForestRegressor(3)).fit(X, SUM)
    with pytest.raises(UnsupportedModelError, match="single trees are read"):
        as_model(fitted)
