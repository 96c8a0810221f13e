"""Regressions of additive models: lines through published scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glassine.errors import InvalidModelError
from glassine.models import AdditiveModel, CategoryBins, Guarantee, NumericBins, Term

AGE = NumericBins("age", (30, 50, 70), bounds=(10, 90))
TOWN = CategoryBins("town", (("a",), ("b", "c")))


def model(scores: list[float], weights: list[float] | None = None, **more: object) -> AdditiveModel:
    counts = None if weights is None else np.array(weights)
    age = Term(bins=(AGE,), scores=np.array(scores), weights=counts)
    terms = (age, Term(bins=(TOWN,), scores=np.array([0.5, -0.5, 0.25])))
    own = AdditiveModel(attributes=("age", "town"), terms=terms, intercept=(1.0,), link="logit", classes=("no", "yes"))
    return replace(own, **more)  # type: ignore[arg-type]


def test_scores_on_a_line_are_kept_at_the_middles() -> None:
    line = model([-2.0, -1.0, 0.0, 1.0, 0.5]).to_linear()
    frame = {"age": np.array([20.0, 40.0, 60.0, 80.0]), "town": np.array(["a", "b", "c", "d"])}
    expected = 1.0 + np.array([-2.0, -1.0, 0.0, 1.0]) + np.array([0.5, -0.5, -0.5, 0.25])
    assert line.scores(frame)[:, 0] == pytest.approx(expected)


def test_a_missing_number_keeps_its_score() -> None:
    frame = {"age": np.array([np.nan]), "town": np.array(["a"])}
    assert model([-2.0, -1.0, 0.0, 1.0, 0.5]).to_linear().scores(frame)[0, 0] == pytest.approx(1.0 + 0.5 + 0.5)


def test_counts_weigh_the_line() -> None:
    scores = [0.0, 1.0, 0.0, 5.0, 0.0]
    even = model(scores).to_linear().effects[0].coefficients[0]
    first = model(scores, [100, 100, 0, -3.5, 0]).to_linear().effects[0].coefficients[0]
    assert first == pytest.approx(1.0 / 20)
    assert even > first


def test_the_guarantee_is_that_of_the_model() -> None:
    claim = Guarantee(epsilon=1.0, delta=0.0, neighboring="replace-one")
    assert model([0.0, 1.0, 2.0, 3.0, 0.0], guarantee=claim).to_linear().guarantee == claim


def test_several_classes_have_a_line_each() -> None:
    scores = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, -1.0], [3.0, -2.0], [0.0, 0.0]])
    own = AdditiveModel(
        attributes=("age",), terms=(Term(bins=(AGE,), scores=scores),), intercept=(0.0, 0.0), link="softmax",
        classes=("x", "y"),
    )  # fmt: skip
    assert own.to_linear().effects[0].coefficients == pytest.approx((0.05, -0.05))


def test_terms_of_two_attributes_have_no_line() -> None:
    pair = Term(bins=(AGE, TOWN), scores=np.zeros((5, 3)))
    with pytest.raises(InvalidModelError, match="of two attributes"):
        model([0.0] * 5, terms=(pair,)).to_linear()
    with pytest.raises(InvalidModelError, match="points"):
        model([0.0, 1.0, 2.0, 3.0, 0.0]).to_scorecard().to_linear()
