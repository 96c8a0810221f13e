"""Membership attacks on models that predict numbers: a small error tells a member."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from glassine import attack_membership
from glassine.attacks.membership.attack_model import compare_losses, errors_of, loss_attack, predicts_number
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.attacks.outcome import Failed, Measured, NotApplicable
from glassine.data.labels import Sample
from glassine.errors import InvalidDataError
from glassine.formats import as_model
from glassine.learners import EBMRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
Y = X[:, 0] + RNG.normal(size=600)
INSIDE, OUTSIDE = Sample(X[:300], Y[:300]), Sample(X[300:], Y[300:])


def tree(depth: int | None) -> DecisionTreeRegressor:
    return DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X[:300], Y[:300])


@pytest.mark.parametrize("published", [False, True])
def test_a_tree_that_knows_its_records_is_found_out(published: bool) -> None:
    model: Any = as_model(tree(None)) if published else tree(None)
    found = loss_attack(model, INSIDE, OUTSIDE, random_state=0)
    assert isinstance(found, Measured)
    assert found.value.advantage.low > 0.9
    assert found.value.gap is None
    assert found.value.detected
    losses = compare_losses(model, INSIDE, OUTSIDE)
    assert isinstance(losses, Measured)
    assert losses.value.p_value < 1e-9


@pytest.mark.parametrize("model", [LinearRegression().fit(X[:300], Y[:300]), tree(1)])
def test_a_model_that_fits_little_is_not(model: Any) -> None:
    found = loss_attack(model, INSIDE, OUTSIDE, random_state=0)
    assert isinstance(found, Measured)
    assert found.value.advantage.low < 0.1
    assert not found.value.detected


def test_the_suite_makes_the_attacks_that_there_are() -> None:
    found = attack_membership(tree(None), INSIDE, holdout=OUTSIDE, random_state=0)
    assert isinstance(found.gap, NotApplicable)
    assert [result.attack for result in found.results] == ["best-loss threshold", "leaf-outcome attack"]
    assert isinstance(found.vulnerability, NotApplicable)


def test_errors_are_absolute_and_those_of_a_person_are_their_mean() -> None:
    model = tree(2)
    records = LabelledRecords.read(INSIDE, "members")
    expected = np.abs(model.predict(X[:300]) - Y[:300])
    assert errors_of(model, records) == pytest.approx(expected)
    assert errors_of(as_model(model), records) == pytest.approx(expected)
    people = LabelledRecords.read(Sample(X[:300], Y[:300], persons=[i // 3 for i in range(300)]), "members")
    assert errors_of(model, people) == pytest.approx(expected.reshape(100, 3).mean(axis=1))


def test_additive_models_are_asked_too() -> None:
    frame = pl.DataFrame(X[:300], schema=["a", "b", "c"])
    fitted = EBMRegressor().fit(frame, Y[:300])
    records = LabelledRecords.read(Sample(frame, Y[:300]), "members")
    assert predicts_number(fitted.model_)
    assert errors_of(fitted.model_, records) == pytest.approx(errors_of(fitted, records))


def test_targets_without_numbers_and_answers_that_are_none_are_told() -> None:
    with pytest.raises(InvalidDataError, match="the target of the records holds none"):
        loss_attack(tree(1), Sample(X[:300], ["a"] * 300), Sample(X[300:], ["b"] * 300))

    class Odd(DecisionTreeRegressor):  # type: ignore[misc]  # scikit-learn ships no types
        def predict(self, X: Any) -> Any:
            return np.full(len(X), np.nan)

    found = loss_attack(Odd().fit(X[:300], Y[:300]), INSIDE, OUTSIDE)
    assert isinstance(found, Failed)
    assert "one finite number" in found.reason
