"""Additive models as values: what they refuse, equality, copies, scores, predictions, explanations."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.errors import InvalidDataError, InvalidModelError
from glassine.models import AdditiveModel, CategoryBins, Edit, Guarantee, NumericBins, Term
from glassine.models.additive import released_terms
from glassine.models.additive_scores import bin_indices
from tests.models.additive_models import additive_models, income_model, records_for, simple_model

X = NumericBins("x", (1.0,))


def test_arrays_cannot_be_changed_and_inputs_are_not_kept() -> None:
    given_scores = np.array([1.0, 2.0, 3.0])
    term = Term(bins=(X,), scores=given_scores, errors=given_scores, weights=given_scores)
    given_scores[:] = 9
    for array in (term.scores, term.errors, term.weights):
        assert array is not None
        assert array.ravel().tolist() == [1.0, 2.0, 3.0]
        assert array.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True


@pytest.mark.slow
@given(additive_models())
def test_copies_are_equal_and_read_only(model: AdditiveModel) -> None:
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert twin == model
        assert hash(twin) == hash(model)
        assert not any(term.scores.flags.writeable for term in twin.terms)


def test_equality_is_by_value() -> None:
    term = Term(bins=(X,), scores=np.array([0.0, 1.0, 2.0]))
    assert term == Term(bins=(X,), scores=np.array([[-0.0], [1.0], [2.0]]))
    assert term != replace(term, scores=np.array([0.0, 1.0, 2.5]))
    assert term != replace(term, weights=np.ones(3))
    assert term != replace(term, name="other")
    assert term != replace(term, bins=(replace(X, closed="left"),))
    assert term != "x"
    assert math.copysign(1, Term(bins=(X,), scores=np.array([-0.0, 1.0, 2.0])).scores[0, 0]) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bins": ()}, "one attribute or of two"),
        ({"bins": (X, X, X)}, "one attribute or of two"),
        ({"bins": X}, "one attribute or of two"),
        ({"bins": ("x",)}, "one attribute or of two"),
        ({"bins": (X, X), "scores": np.zeros((3, 3))}, "two different attributes"),
        ({"name": 3}, "must be a text"),
        ({"scores": np.zeros(2)}, "must have shape"),
        ({"scores": np.zeros((3, 0))}, "must have shape"),
        ({"scores": np.zeros((3, 2, 2))}, "must have shape"),
        ({"scores": np.float64(3)}, "must have shape"),
        ({"scores": np.array([0, 1, np.nan])}, "finite"),
        ({"scores": np.array([0, 1, np.inf])}, "finite"),
        ({"scores": np.array([0, 1, 1e301])}, "finite"),
        ({"scores": ["a", "b", "c"]}, "must be numbers"),
        ({"scores": [[1], [2, 3], [4]]}, "must be numbers"),
        ({"scores": None}, "must be numbers"),
        ({"scores": np.array([True, False, True])}, "must be numbers"),
        ({"scores": np.array([1j, 0, 0])}, "must be numbers"),
        ({"errors": np.array([0, 1, -1])}, "at least 0"),
        ({"errors": np.zeros(2)}, "shape"),
        ({"errors": np.array([0, 1, np.nan])}, "finite"),
        ({"weights": np.zeros(2)}, "must have shape"),
        ({"weights": np.zeros((3, 1))}, "must have shape"),
        ({"weights": np.array([0, 1, np.nan])}, "finite"),
    ],
)
def test_a_term_refuses(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        Term(**{"bins": (X,), "scores": np.zeros(3), **given})


EDIT = Edit(number=1, action="set", term="x", cells=(0,), before=(1.0,), after=(0.0,))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"attributes": ("y",)}, "reads 'x'"),
        ({"attributes": ("x", "x")}, "each named once"),
        ({"attributes": "x"}, "must be a list"),
        ({"attributes": ("x", "")}, "non-empty"),
        ({"terms": ("x",)}, "must be Term"),
        ({"terms": (Term(bins=(X,), scores=np.zeros(3)),) * 2}, "two terms are named"),
        ({"terms": (Term(bins=(X,), scores=np.zeros((3, 2))),)}, "2 scores per bin"),
        ({"intercept": ()}, "1 values"),
        ({"intercept": (1.0, 2.0)}, "1 values"),
        ({"intercept": (math.nan,)}, "finite"),
        ({"intercept": 0.5}, "must be a list"),
        ({"link": "probit"}, "must be one of"),
        ({"link": "log", "classes": (0, 1)}, "needs no classes"),
        ({"link": "logit"}, "needs classes"),
        ({"classes": (0, 1)}, "needs no classes"),
        ({"link": "logit", "classes": (0, 1, 2)}, "two classes"),
        ({"link": "logit", "classes": (0, 0)}, "must differ"),
        ({"link": "logit", "classes": (0, math.nan)}, "finite numbers"),
        ({"link": "softmax", "classes": ()}, "at least one class"),
        ({"link": "softmax", "classes": (0, 1)}, "2 values"),
        ({"target_bounds": (1, 0)}, "in order"),
        ({"link": "logit", "classes": (0, 1), "target_bounds": (0, 1)}, "regression"),
        ({"target": None}, "must be a text"),
        ({"source": 3}, "must be a text"),
        ({"guarantee": 1.0}, "must be a Guarantee"),
        ({"edits": (replace(EDIT, number=2),)}, "numbered 1, 2"),
        ({"edits": ("set",)}, "numbered 1, 2"),
        ({"edits": (replace(EDIT, term="y"),)}, "which the model lacks"),
        ({"edits": (replace(EDIT, cells=(3,)),)}, "out of range"),
        ({"edits": (replace(EDIT, after=(0.5,)),)}, "does not lead"),
        ({"edits": (EDIT, replace(EDIT, number=2))}, "does not lead"),
    ],
)
def test_a_model_refuses(given: dict[str, Any], message: str) -> None:
    good = {"attributes": ("x",), "terms": (Term(bins=(X,), scores=np.zeros(3)),), "intercept": (0.0,)}
    with pytest.raises(InvalidModelError, match=message):
        AdditiveModel(**{**good, "link": "identity", **given})


def test_an_attribute_is_a_number_or_a_category_not_both() -> None:
    other = Term(bins=(CategoryBins("x", ((0,),)),), scores=np.zeros(2), name="again")
    with pytest.raises(InvalidModelError, match="as a number and as a category"):
        simple_model([0, 1, 2], terms=(*simple_model([0, 1, 2]).terms, other))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"number": 0}, "numbered from 1"),
        ({"number": True}, "numbered from 1"),
        ({"action": "delete"}, "must be one of"),
        ({"term": None}, "must be a text"),
        ({"reason": 3}, "must be a text"),
        ({"parameters": (("a",),)}, "pairs"),
        ({"parameters": (("a", 1), ("a", 2))}, "twice"),
        ({"parameters": (("a", True),)}, "text or a finite number"),
        ({"parameters": (("a", math.nan),)}, "text or a finite number"),
        ({"cells": (-1,)}, "increasing"),
        ({"cells": (0.5,)}, "increasing"),
        ({"cells": (1, 0), "before": (0, 0), "after": (0, 0)}, "increasing"),
        ({"before": ()}, "one score before"),
        ({"after": (1.0, 2.0)}, "one score after"),
        ({"after": (math.inf,)}, "finite"),
        ({"after": (True,)}, "finite"),
    ],
)
def test_an_edit_refuses(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        replace(EDIT, **given)


def test_released_terms_take_edits_back() -> None:
    second = Edit(number=2, action="set", term="x", cells=(0, 2), before=(0.0, 2.0), after=(7.0, 8.0))
    model = simple_model([7.0, 1.0, 8.0], edits=(EDIT, second))
    assert released_terms(model)[0].scores[:, 0].tolist() == [1.0, 1.0, 2.0]
    assert released_terms(model, 1)[0].scores[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert released_terms(model, 2) == model.terms


def oracle(model: AdditiveModel, records: dict[str, npt.NDArray[Any]], row: int) -> list[float]:
    """Scores of one record, value by value."""
    total = list(model.intercept)
    for term in model.terms:
        cell: Any = term.scores
        for bins in term.bins:
            value = records[bins.attribute][row]
            if isinstance(bins, NumericBins) and (value is None or value != value):
                cell = cell[bins.n_bins - 1]
            elif isinstance(bins, NumericBins):
                passed = [value > cut if bins.closed == "right" else value >= cut for cut in bins.cuts]
                cell = cell[sum(passed)]
            else:
                cell = cell[next((i for i, group in enumerate(bins.groups) if value in group), bins.n_bins - 1)]
        total = [a + float(b) for a, b in zip(total, cell, strict=True)]
    return total


@pytest.mark.slow
@given(additive_models(), st.integers(0, 2**32 - 1))
def test_scores_agree_with_the_definition(model: AdditiveModel, seed: int) -> None:
    records = records_for(model, np.random.default_rng(seed), 12)
    found = model.scores(records)
    for row in range(12):
        assert found[row].tolist() == oracle(model, records, row)


@pytest.mark.slow
@given(additive_models(), st.integers(0, 2**32 - 1))
def test_contributions_add_up_to_the_score_exactly(model: AdditiveModel, seed: int) -> None:
    records = records_for(model, np.random.default_rng(seed), 9)
    local = model.contributions(records)
    total = np.tile(local.intercept, (9, 1))
    for k in range(len(model.terms)):
        total = total + local.added[:, k]
    assert np.array_equal(total, local.scores)
    assert np.array_equal(total, model.scores(records))
    assert [index.tolist() for index in bin_indices(model, records)] == local.bins.T.tolist()
    for name, label, value in local.record(0):
        k = local.terms.index(name)
        assert (label, value) == (local.labels[k][local.bins[0, k]], local.added[0, k, 0])


@pytest.mark.slow
@given(additive_models(), st.integers(0, 2**32 - 1))
def test_predictions_follow_from_scores(model: AdditiveModel, seed: int) -> None:
    records = records_for(model, np.random.default_rng(seed), 9)
    found, predicted = model.scores(records), model.predict(records)
    if model.classes is None:
        low, high = model.target_bounds or (-math.inf, math.inf)
        assert predicted.tolist() == [min(max(score, low), high) for score in found[:, 0].tolist()]
        with pytest.raises(InvalidModelError, match="no probabilities"):
            model.predict_proba(records)
        return
    shares = model.predict_proba(records)
    assert shares.shape == (9, len(model.classes))
    assert np.allclose(shares.sum(axis=1), 1)
    assert ((shares >= 0) & (shares <= 1)).all()
    if model.link == "logit":
        expected = [model.classes[score > 0] for score in found[:, 0].tolist()]
        clear = np.abs(found[:, 0]) < 30
        assert np.allclose(np.log(shares[clear, 1] / shares[clear, 0]), found[clear, 0])
    else:
        expected = [model.classes[row.index(max(row))] for row in found.tolist()]
    assert predicted.tolist() == expected


def test_two_classes_tie_on_the_first_and_extremes_do_not_overflow() -> None:
    model = simple_model([-1e300, 0.0, 1e300, 0.0], link="logit", classes=("no", "yes"))
    data = {"x": np.array([0.0, 1.5, 3.0])}
    assert model.predict(data).tolist() == ["no", "no", "yes"]
    assert model.predict_proba(data).tolist() == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]


FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda data: pl.DataFrame(data).lazy(),
    "arrow": lambda data: pl.DataFrame(data).to_arrow(),
    "arrays": lambda data: {name: np.array(values, dtype=object) for name, values in data.items()},
}
PEOPLE: dict[str, list[Any]] = {
    "age": [17, 20, 21, 90, None],
    "hours": [40.0, 20.0, 38.0, 99.0, 1.0],
    "gain": [0, 1, 99999, 5000, 0],
    "job": ["clerk", "sales", "pope", None, "other"],
    "married": [0, 1, 1, 0, 0],
    "unused": ["u"] * 5,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_kind_are_read_alike(kind: str) -> None:
    model = income_model()
    bins = bin_indices(model, FRAMES[kind](PEOPLE))
    assert bins[0].tolist() == [0, 0, 1, 20, 21]
    assert bins[3].tolist() == [2, 2, 5, 5, 4]
    assert bins[5].tolist() == [9, 1, 7, 18, 0]


def test_an_array_has_the_attributes_in_order() -> None:
    model = simple_model([1.0, 2.0, 3.0], attributes=("w", "x"))
    assert model.scores(np.array([[9.0, 0.0], [9.0, 5.0], [9.0, np.nan]]))[:, 0].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(InvalidDataError, match=r"shape \(n, 2\)"):
        model.scores(np.zeros((3, 1)))


def test_whole_numbers_booleans_and_infinities_are_numbers() -> None:
    model = simple_model([1.0, 2.0, 3.0])
    assert model.scores({"x": np.array([1, 2])})[:, 0].tolist() == [1.0, 2.0]
    assert model.scores({"x": np.array([False, True])})[:, 0].tolist() == [1.0, 1.0]
    assert model.scores({"x": np.array([-np.inf, np.inf, np.nan])})[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert model.scores({"x": np.array([10**400, -(10**400), None], dtype=object)})[:, 0].tolist() == [2.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"y": np.zeros(2)}, "lack the column 'x'"),
        ({"x": np.array(["a", "b"])}, "must hold numbers"),
        ({"x": np.zeros((2, 2))}, "shape"),
        (None, "must be a data frame"),
    ],
)
def test_data_that_cannot_be_read(data: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        simple_model([1.0, 2.0, 3.0]).predict(data)


def test_a_model_without_terms_says_the_intercept() -> None:
    model = AdditiveModel(attributes=("x",), terms=(), intercept=(0.5,), link="identity")
    assert model.predict({"x": np.zeros(3)}).tolist() == [0.5] * 3
    assert model.predict(pl.DataFrame({"x": ["a", "b"]})).tolist() == [0.5] * 2
    assert model.contributions(np.zeros((2, 1))).added.shape == (2, 0, 1)
    with pytest.raises(InvalidDataError, match="need a length"):
        model.predict(3)


def test_no_record_gives_no_score() -> None:
    assert simple_model([1.0, 2.0, 3.0]).scores({"x": np.zeros(0)}).shape == (0, 1)


def test_terms_may_group_one_category_in_two_ways() -> None:
    fine = Term(bins=(CategoryBins("c", (("a",), ("b",), ("z",))),), scores=np.array([1.0, 2.0, 4.0, 8.0]))
    coarse = Term(bins=(CategoryBins("c", (("b", "a"),)),), scores=np.array([16.0, 32.0]), name="again")
    model = AdditiveModel(attributes=("c",), terms=(fine, coarse), intercept=(0.0,), link="identity")
    data = {"c": np.array(["a", "b", "z", None, "q"], dtype=object)}
    assert model.scores(data)[:, 0].tolist() == [17.0, 18.0, 36.0, 40.0, 40.0]


def test_weights_are_exact_unless_the_guarantee_says_noise() -> None:
    assert simple_model([0, 1, 2]).counts_are_exact
    assert simple_model([0, 1, 2], guarantee=Guarantee(epsilon=1.0)).counts_are_exact
    assert not simple_model([0, 1, 2], guarantee=Guarantee(epsilon=1.0, count_scale=2.0)).counts_are_exact


def test_texts_name_what_there_is() -> None:
    model = income_model()
    assert repr(model) == "<additive model of 6 terms on 6 attributes>"
    assert model.tested == ("age", "hours", "gain", "job", "married")
    assert [term.name for term in model.terms][-1] == "hours & married"
    assert repr(model.terms[-1]) == "<term hours & married of 8 x 3 cells>"
    with pytest.raises(InvalidModelError, match="no term 'agee'"):
        model.term("agee")
