from __future__ import annotations

from typing import Any

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from glassine.attacks.disclosure.hints import read_hints


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, ("gini", True, "all_attributes")),
        ({"criterion": "log_loss"}, ("entropy", True, "all_attributes")),
        ({"splitter": "random"}, ("gini", False, "all_attributes")),
        ({"class_weight": "balanced"}, ("gini", False, "all_attributes")),
        ({"max_features": 1}, ("gini", True, "same_attribute")),
    ],
)
def test_an_estimator_tells_how_it_was_built(options: dict[str, Any], told: tuple[str, bool, str]) -> None:
    for model in (
        DecisionTreeClassifier(**options),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(**options)),
    ):
        hints = read_hints(model)
        assert (hints.criterion, hints.best, hints.candidates) == told


def test_a_plain_value_tells_nothing() -> None:
    hints = read_hints(object())
    assert (hints.criterion, hints.best, hints.candidates) == (None, True, "all_attributes")
