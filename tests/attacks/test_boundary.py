"""The boundary attack: exact distances equal the least over every record of small domains."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import as_model, parse_rules
from glassine.attacks import Measured, NotApplicable, boundary_attack, boundary_distances
from glassine.attacks.membership import boundary
from glassine.data import Sample
from glassine.models import DecisionTree, RuleList

LISTS = (
    "if [a] and [b] then [true] ([1 ; 2] examples)\n"
    "else if [c] and [not a] then [false] ([2 ; 1] examples)\n"
    "else if [b] and [c] then [true] ([0 ; 1] examples)\nelse [false] ([3 ; 1] examples)",
    "if [a] then [true] ([1 ; 2] examples)\nelse [true] ([0 ; 1] examples)",
    "if [x <= 3] and [a] then [true] ([1 ; 2] examples)\n"
    "else if [x > 1] and [x <= 5] then [false] ([2 ; 1] examples)\nelse [true] ([0 ; 1] examples)",
)


def least(model: Any, columns: dict[str, Any], values: dict[str, list[float]], numbers: set[str]) -> Any:
    """Return the least distance to a record of another class over all records of some values."""
    names = list(values)
    every = np.array(list(product(*values.values())), dtype=float)
    kinds = np.asarray(model.predict(dict(zip(names, every.T, strict=True))))
    own = np.asarray(model.predict(columns))
    spans = {name: float(np.ptp(columns[name])) for name in numbers}
    out = np.full(len(own), float(len(names) + 1))
    for i in range(len(own)):
        gaps = [
            np.abs(every[:, k] - columns[name][i]) / spans[name]
            if name in numbers
            else (every[:, k] != columns[name][i]).astype(float)
            for k, name in enumerate(names)
        ]
        others = kinds != own[i]
        if others.any():
            out[i] = np.sum(gaps, axis=0)[others].min()
    return out


@pytest.mark.parametrize("text", LISTS)
def test_distances_of_lists_are_the_least_over_all_records(text: str) -> None:
    model = parse_rules(text)
    numbers = {"x"} & set(model.attributes)
    around = [v for t in (1.0, 3.0, 5.0) for v in (t, float(np.nextafter(t, 9.0)), t + 0.5)]
    values = {name: [0.0, 6.0, *around] if name in numbers else [0.0, 1.0] for name in model.attributes}
    rng = np.random.default_rng(0)
    columns = {n: rng.uniform(0, 6, 40) if n in numbers else rng.integers(0, 2, 40).astype(float) for n in values}
    assert boundary_distances(model, columns) == pytest.approx(least(model, columns, values, numbers), abs=1e-12)


def test_distances_of_trees_with_numbers_are_the_least_over_all_cells() -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 6, 80), rng.normal(size=80).round(1), rng.integers(0, 2, 80)]).astype(float)
    tree = as_model(DecisionTreeClassifier(max_leaf_nodes=9, random_state=0).fit(X, rng.integers(0, 3, 80)))
    assert isinstance(tree, DecisionTree)
    values = {}
    for k, name in enumerate(tree.attributes):
        bounds = sorted({float(x.hi) for x in tree.literals if x.attribute == name and np.isfinite(x.hi)})  # type: ignore[union-attr]
        values[name] = sorted({*X[:, k], *bounds, *(float(np.nextafter(b, 1e9)) for b in bounds)})
    columns = dict(zip(tree.attributes, X.T, strict=True))
    found = boundary_distances(tree, columns)
    assert found == pytest.approx(least(tree, columns, values, set(tree.attributes)), abs=1e-12)
    assert (found > 0).any()


def test_a_missing_value_counts_as_a_category_does() -> None:
    model = parse_rules("if [colour = red] then [true] ([1 ; 2] examples)\nelse [false] ([0 ; 1] examples)")
    columns = {"colour": np.array(["red", "blue", None], dtype=object)}
    assert boundary_distances(model, columns).tolist() == [1.0, 1.0, 1.0]


def test_an_overfit_tree_is_caught_and_others_are_told_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    frames = [pd.DataFrame(part, columns=["a", "b", "c"]) for part in (X[:150], X[150:])]
    sides = [Sample(frame, of) for frame, of in zip(frames, (y[:150], y[150:]), strict=True)]
    learner = DecisionTreeClassifier(random_state=0).fit(frames[0], y[:150])
    for model in (learner, as_model(learner)):
        found = boundary_attack(model, *sides, random_state=0)
        assert isinstance(found, Measured)
        assert found.value.detected
    number = as_model(DecisionTreeRegressor(max_depth=2).fit(frames[0], y[:150]))
    assert isinstance(boundary_attack(number, *sides), NotApplicable)
    binary = [Sample(pl.DataFrame(rng.integers(0, 2, (9, 3)), schema=["a", "b", "c"]), np.arange(9) % 2 == 1)] * 2
    monkeypatch.setattr(boundary, "MOST_BOXES", 2)
    long = parse_rules(LISTS[0])
    assert isinstance(long, RuleList)
    refused = boundary_attack(long, *binary)
    assert isinstance(refused, NotApplicable)
    assert "more than 2 boxes" in refused.reason
