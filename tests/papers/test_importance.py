"""Permutation importance and its preservation."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.inspection import permutation_importance as theirs
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from glassine import parse_rules
from glassine.attacks import Measured, NotApplicable
from glassine.errors import InvalidDataError, InvalidParameterError
from tests.conftest import ROOT


def _module() -> Any:
    """Return the module of the paper's folder, whose name is no name of a package."""
    path = ROOT / "papers" / "smooth-sensitivity-rule-lists" / "importance.py"
    spec = importlib.util.spec_from_file_location("paper_importance", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


IMPORTANCE = _module()
importance_preservation, permutation_importance = (
    IMPORTANCE.importance_preservation,
    IMPORTANCE.permutation_importance,
)


def measured(outcome: object) -> Any:
    assert isinstance(outcome, Measured), outcome
    return outcome.value


def importances(means: list[float]) -> Any:
    return IMPORTANCE.Importances(
        attributes=tuple(f"x{i}" for i in range(len(means))),
        means=tuple(means),
        sds=(0.0,) * len(means),
        accuracy=1.0,
        n_records=10,
        n_repeats=1,
    )


def top_sets(means: list[int], k: int) -> list[set[int]]:
    """Every set of k attributes that is a top k under some way to break ties."""
    return [
        set(chosen)
        for chosen in itertools.combinations(range(len(means)), k)
        if min(means[i] for i in chosen) >= max([means[i] for i in range(len(means)) if i not in chosen], default=-1)
    ]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6), st.data())
def test_ties_are_broken_in_every_way(means: list[tuple[int, int]], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(means)))
    first, second = [a for a, _ in means], [b for _, b in means]
    common = [len(a & b) / k for a in top_sets(first, k) for b in top_sets(second, k)]
    found = IMPORTANCE._compare(importances([float(a) for a in first]), importances([float(b) for b in second]), k)
    assert found.value == pytest.approx(np.mean(common))
    assert (found.low, found.high) == (min(common), max(common))
    assert found.low <= found.in_column_order <= found.high
    assert found.chance == k / len(means)


@pytest.mark.slow
def test_importance_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    ours = measured(permutation_importance(model, X, y, n_repeats=60, random_state=0))
    expected = theirs(model, X, y, n_repeats=60, random_state=1)
    assert ours.means == pytest.approx(expected.importances_mean.tolist(), abs=0.01)
    assert ours.sds == pytest.approx(expected.importances_std.tolist(), abs=0.005)
    assert ours.accuracy == model.score(X, y)


@pytest.mark.slow
def test_an_attribute_that_is_not_used_has_importance_zero_in_every_kind_of_frame() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"used": rng.normal(size=90), "idle": rng.normal(size=90)}, index=rng.permutation(90))
    y = np.where(frame["used"] > 0, "yes", "no")
    tree = DecisionTreeClassifier(max_depth=1).fit(frame, y)
    expected = measured(permutation_importance(tree, frame, y, random_state=0))
    assert expected.means[1] == 0.0
    assert expected.means[0] > 0.4
    assert expected.top(1) == (("used",), ())
    given = pl.DataFrame({"used": frame["used"].to_numpy(), "idle": frame["idle"].to_numpy(), "kind": y})
    for records in (given, given.to_arrow(), given.lazy(), given.to_pandas().convert_dtypes()):
        assert measured(permutation_importance(tree, records, "kind", random_state=0)) == expected


@pytest.mark.slow
def test_a_model_keeps_its_own_importance_but_for_ties() -> None:
    rules = parse_rules("if [a] then [true] ([0 ; 2] examples)\nelse if [b] then [true]\nelse [false]")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 5))
    y = X[:, 0] | X[:, 1]
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d", "e"])
    two = measured(importance_preservation(rules, rules, frame, y, k=2, random_state=0))
    assert (two.value, two.low, two.high, two.n_tied) == (1.0, 1.0, 1.0, (0, 0))
    assert two.verdict == "I_2 is 1.000; unrelated models would have 0.400."
    three = measured(importance_preservation(rules, rules, frame, y, k=3, random_state=0))
    assert (three.low, three.high, three.in_column_order, three.n_tied) == (2 / 3, 1.0, 1.0, (3, 3))
    assert three.value == pytest.approx((2 + 1 / 3) / 3)
    assert "between 0.667 and 1.000 as ties are broken" in three.verdict
    other = parse_rules("if [c] then [true]\nelse [false]")
    both = (X[:, 0] + X[:, 1] + 2 * X[:, 2] >= 2).astype(int)
    assert measured(importance_preservation(rules, other, frame, both, k=1, random_state=0)).value == 0.0


def test_seeds_repeat_and_matter() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    first, again, other = (measured(permutation_importance(tree, X, y, random_state=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    once = measured(permutation_importance(tree, X, y, n_repeats=1, random_state=0))
    assert once.sds == (0.0, 0.0)


def test_bad_input() -> None:
    X, y = np.arange(10.0)[:, None], np.array([0, 1] * 5)
    tree = DecisionTreeClassifier().fit(X, y)
    assert isinstance(permutation_importance(LinearRegression().fit(X, y), X, y), NotApplicable)
    options: dict[str, Any]
    for options in ({"k": 2}, {"k": 0}, {"k": 1.5}, {"k": 1, "n_repeats": 0}):
        with pytest.raises(InvalidParameterError):
            importance_preservation(tree, tree, X, y, **options)
    with pytest.raises(InvalidDataError):
        permutation_importance(tree, X, y[:3])
