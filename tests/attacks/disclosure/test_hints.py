from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import Binary, Domain
from glassine.attacks.disclosure.adversary import NOT_STATED, Hints, read_hints
from glassine.learners import OptimalTreeClassifier


@pytest.mark.parametrize(
    ("options", "criterion", "why"),
    [
        ({}, "gini", ""),
        ({"criterion": "log_loss"}, "entropy", ""),
        ({"splitter": "random"}, "gini", "splitter"),
        ({"class_weight": "balanced"}, "gini", "class_weight"),
        ({"max_features": 1}, "gini", "max_features"),
    ],
)
def test_an_estimator_states_how_its_splits_were_selected(options: dict[str, Any], criterion: str, why: str) -> None:
    X, y = np.arange(40.0).reshape(-1, 2), [0, 1] * 10
    for model in (
        DecisionTreeClassifier(max_depth=2, **options),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, **options)),
    ):
        for hints in (read_hints(model), read_hints(model.fit(X, y))):
            assert hints.criterion == criterion
            assert (why in hints.reason) if why else hints.reason == ""
        assert (read_hints(model).columns is None) == bool(why)


def test_what_selects_no_splits_by_a_criterion_states_nothing() -> None:
    domain = Domain({"a": Binary()})
    optimal = OptimalTreeClassifier(max_depth=1, domain=domain).fit(np.array([[0], [1]]), [0, 1])
    for model in (object(), optimal, optimal.model_, DecisionTreeRegressor().fit([[0], [1]], [0.0, 1.0])):
        assert read_hints(model) == Hints(NOT_STATED)
