"""The suite of membership attacks."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import Failed, Measured, NotApplicable, RuleList
from glassine.attacks import attack_membership
from glassine.errors import InvalidDataError, InvalidParameterError


def test_every_attack_on_breast_cancer_records() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X_in, X_out, y_in, y_out = train_test_split(X, y, test_size=0.3, random_state=0)
    tree = DecisionTreeClassifier(random_state=0).fit(X_in, y_in)
    steps: list[tuple[int, int]] = []
    found = attack_membership(
        tree,
        X_in,
        y_in,
        X_out,
        y_out,
        learner=DecisionTreeClassifier(),
        n_shadows=8,
        random_state=0,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert (found.n_members, found.n_nonmembers, found.confidence) == (398, 171, 0.95)
    assert [result.attack for result in found.results] == [
        "gap attack",
        "best-loss threshold",
        "black-box attack",
        "online likelihood ratio attack",
        "offline likelihood ratio attack",
    ]
    for result in found.results:
        name, value = result.baseline
        assert result.below_baseline == (result.balanced_accuracy.value < value - 1e-12)
        assert (f"less than its naive baseline, {name}" in result.verdict) == result.below_baseline
        assert result.shift is not None
        assert not result.shift.shifted
        assert result.low_rates[1].resolved is False
    assert isinstance(found.midpoint, Measured)
    assert found.midpoint.value.precision is not None
    assert found.midpoint.value.precision.value == 1.0
    assert isinstance(found.vulnerability, Measured)
    assert found.vulnerability.value.over == "leaves"
    assert found.strongest is not None
    assert found.strongest.advantage.low == max(result.advantage.low for result in found.results)
    assert steps == [(i + 1, 22) for i in range(22)]
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["gap"]["value"]["roc_log_log"][-1] == [1.0, 1.0]
    assert told["shift"]["status"] == "measured"
    assert "gap attack" in repr(found)


def test_a_rule_list_without_a_learner() -> None:
    rng = np.random.default_rng(0)
    rules = RuleList.from_text("if [a] then [true] ([10 ; 30] examples)\nelse [false] ([30 ; 10] examples)")
    frame = pl.DataFrame({"a": rng.integers(0, 2, 160), "y": rng.integers(0, 2, 160)})
    found = attack_membership(rules, frame[:80], "y", frame[80:].to_pandas(), "y", random_state=0)
    assert isinstance(found.lira_online, NotApplicable)
    assert isinstance(found.midpoint, NotApplicable)
    assert found.to_dict()["lira_online"]["status"] == "not applicable"
    assert len(found.results) == 3
    again = attack_membership(rules, frame[:80], "y", frame[80:], "y", random_state=0)
    assert again.to_dict() == found.to_dict()


def test_a_regression_has_no_attack() -> None:
    X = np.arange(40.0)[:, None]
    found = attack_membership(DecisionTreeRegressor().fit(X[:20], X[:20, 0]), X[:20], X[:20, 0], X[20:], X[20:, 0])
    assert found.results == ()
    assert found.strongest is None
    assert isinstance(found.gap, NotApplicable)
    assert isinstance(found.vulnerability, NotApplicable)
    assert "none detected" in repr(found)


def test_a_model_that_raises_fails_each_attack_and_not_the_suite() -> None:
    class Broken:
        classes_ = np.array([0, 1])

        def predict(self, X: object) -> None:
            raise RuntimeError("out of order")

    X, y = np.arange(40.0)[:, None], np.array([0, 1] * 20)
    found = attack_membership(Broken(), X[:20], y[:20], X[20:], y[20:], random_state=0)
    assert isinstance(found.gap, Failed)
    assert isinstance(found.vulnerability, Failed)
    assert isinstance(found.midpoint, NotApplicable)
    assert isinstance(found.shift, Measured)


def test_other_candidates() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:100], y[:100])
    found = attack_membership(tree, X[:100], y[:100], X[100:], y[100:], candidates=X[:50], random_state=0)
    assert isinstance(found.midpoint, Measured)
    assert found.midpoint.value.n_candidates == 50
    assert found.midpoint.value.precision is None


def test_bad_parameters_are_refused_at_once() -> None:
    X, y = np.arange(40.0)[:, None], np.array([0, 1] * 20)
    tree = DecisionTreeClassifier().fit(X, y)
    data = X[:20], y[:20], X[20:], y[20:]
    with pytest.raises(InvalidParameterError, match="confidence"):
        attack_membership(tree, *data, confidence=95)
    with pytest.raises(InvalidParameterError, match="n_shadows"):
        attack_membership(tree, *data, n_shadows=1)
    with pytest.raises(InvalidParameterError, match="progress"):
        attack_membership(tree, *data, progress=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidDataError, match="non-members"):
        attack_membership(tree, X, y, [], [])
