"""Pipelines: the tree that is mapped back sends every original record to the same leaf."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from glassine.domain import Between, Category, Domain, Integer, OneOf, Real
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import tree_from_sklearn
from glassine.models import DecisionTree

COLOURS = ["red", "green", "blue", "black"]
NUMBERS = ["age", "dose"]
WORDS = ["colour", "children"]


def make_frame(seed: int, n: int = 120, *, gaps: bool = False, rare: bool = False) -> Any:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 60, size=n),
            # Quarters are exact in single precision, in which scikit-learn compares.
            "dose": np.round(rng.normal(3, 2, size=n) * 4) / 4,
            "colour": np.array([*COLOURS, "odd"] if rare else COLOURS, dtype=object)[rng.integers(0, 4 + rare, size=n)],
            "children": rng.integers(0, 4, size=n),
        }
    )
    if gaps:
        frame["dose"] = frame["dose"].mask(rng.random(n) < 0.2)
        frame["colour"] = frame["colour"].astype(object).where(rng.random(n) > 0.2, None)
    return frame


def target_of(frame: Any, seed: int) -> Any:
    noise = np.random.default_rng(seed).random(len(frame))
    return ((frame["age"] > 35) ^ (frame["colour"] == "red") ^ (frame["children"] == 2) ^ (noise < 0.1)).to_numpy(int)


def assert_same_leaves(model: DecisionTree, pipeline: Any, frame: Any) -> None:
    columns = {name: frame[name].to_numpy(dtype=object if name == "colour" else None) for name in frame.columns}
    nodes = np.array([cell.node for cell in model.cells])
    expected = pipeline[-1].apply(pipeline[:-1].transform(frame))
    assert np.array_equal(nodes[model.apply(columns)], expected)


def mixed(words: Any, numbers: Any, **kwargs: Any) -> ColumnTransformer:
    return ColumnTransformer([("words", words, WORDS), ("numbers", numbers, NUMBERS)], **kwargs)


ONE_HOT: dict[str, dict[str, Any]] = {
    "plain": {},
    "drop first": {"drop": "first"},
    "drop if binary": {"drop": "if_binary"},
    "ignore unknown": {"handle_unknown": "ignore"},
    "ignore and drop": {"handle_unknown": "ignore", "drop": "first"},
    "infrequent": {"min_frequency": 30, "handle_unknown": "infrequent_if_exist"},
    "infrequent, dropped": {"max_categories": 3, "drop": "first", "handle_unknown": "infrequent_if_exist"},
    "infrequent, ignored": {"max_categories": 2, "handle_unknown": "ignore"},
}
ORDINAL: dict[str, dict[str, Any]] = {
    "plain": {},
    "unknown": {"handle_unknown": "use_encoded_value", "unknown_value": -1},
    "unknown above": {"handle_unknown": "use_encoded_value", "unknown_value": 99},
    "unknown is NaN": {"handle_unknown": "use_encoded_value", "unknown_value": np.nan},
    "infrequent": {"min_frequency": 30, "handle_unknown": "use_encoded_value", "unknown_value": -1},
    "gaps": {"encoded_missing_value": -2},
}
SCALERS = {
    "standard": StandardScaler(),
    "standard, no mean": StandardScaler(with_mean=False),
    "standard, no scale": StandardScaler(with_std=False),
    "min-max": MinMaxScaler(),
    "min-max, clipped": MinMaxScaler((-1, 3), clip=True),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, bare": RobustScaler(with_centering=False, with_scaling=False),
    "two": make_pipeline(StandardScaler(), MinMaxScaler((0, 10))),
    "nothing": "passthrough",
    "identity": FunctionTransformer(),
    "bins": KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
    "dummies of bins": KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
    "binarized": Binarizer(threshold=30),
    "selected": make_pipeline(VarianceThreshold(), StandardScaler()),
    "union": FeatureUnion([("a", StandardScaler()), ("b", "passthrough"), ("c", "drop")]),
}


def fitted(front: Any, frame: Any, seed: int, depth: int = 7) -> Any:
    tree = DecisionTreeClassifier(max_depth=depth, random_state=seed)
    return Pipeline([("front", front), ("tree", tree)]).fit(frame, target_of(frame, seed))


@pytest.mark.parametrize("options", ONE_HOT.values(), ids=ONE_HOT)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8)
def test_one_hot(options: dict[str, Any], seed: int) -> None:
    frame = make_frame(seed)
    pipeline = fitted(mixed(OneHotEncoder(**options), "passthrough"), frame, seed)
    model = tree_from_sklearn(pipeline)
    assert_same_leaves(model, pipeline, frame)
    unknown = options.get("handle_unknown", "error") != "error" and options.get("drop") is None
    assert_same_leaves(model, pipeline, make_frame(seed + 1, rare=unknown))


@pytest.mark.parametrize("options", ORDINAL.values(), ids=ORDINAL)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8)
def test_ordinal(options: dict[str, Any], seed: int) -> None:
    frame = make_frame(seed)
    pipeline = fitted(mixed(OrdinalEncoder(**options), "passthrough"), frame, seed)
    # That unknown values become NaN is seen at prediction only; the domain says that gaps are possible.
    domain = Domain(
        {
            "age": Integer(0, 99),
            "dose": Real(-99, 99),
            "colour": Category((*COLOURS, "odd"), missing=True),
            "children": Integer(0, 9),
        }
    )
    unknown = "handle_unknown" in options
    model = tree_from_sklearn(pipeline, domain)
    assert_same_leaves(model, pipeline, frame)
    assert_same_leaves(model, pipeline, make_frame(seed + 1, rare=unknown))


@pytest.mark.parametrize("scaler", SCALERS.values(), ids=SCALERS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8)
def test_numbers(scaler: Any, seed: int) -> None:
    frame = make_frame(seed)
    pipeline = fitted(mixed(OneHotEncoder(), scaler), frame, seed)
    model = tree_from_sklearn(pipeline)
    assert_same_leaves(model, pipeline, frame)
    assert_same_leaves(model, pipeline, make_frame(seed + 1))


@pytest.mark.parametrize("strategy", ["mean", "median", "constant"])
@pytest.mark.parametrize("indicator", [False, True])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=5)
def test_missing_values(strategy: str, indicator: bool, seed: int) -> None:
    frame = make_frame(seed, gaps=True)
    numbers = make_pipeline(SimpleImputer(strategy=strategy, add_indicator=indicator), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="gap", missing_values=None), OneHotEncoder(min_frequency=10)
    )
    front = ColumnTransformer(
        [("w", words, ["colour"]), ("n", numbers, NUMBERS), ("rest", "passthrough", ["children"])]
    )
    pipeline = fitted(front, frame, seed)
    model = tree_from_sklearn(pipeline)
    assert_same_leaves(model, pipeline, frame)
    assert_same_leaves(model, pipeline, make_frame(seed + 1, gaps=True))


@pytest.mark.parametrize(
    "words",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first"),
        OrdinalEncoder(),
        OrdinalEncoder(encoded_missing_value=-1),
        make_pipeline(OrdinalEncoder(), SimpleImputer(strategy="constant", fill_value=7), StandardScaler()),
        make_pipeline(SimpleImputer(strategy="most_frequent", missing_values=None), OrdinalEncoder()),
    ],
)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=5)
def test_missing_categories(words: Any, seed: int) -> None:
    frame = make_frame(seed, gaps=True)
    front = ColumnTransformer([("w", words, ["colour"]), ("i", MissingIndicator(), ["dose"])], remainder="passthrough")
    pipeline = fitted(front, frame, seed)
    domain = Domain(
        {
            "age": Integer(0, 99),
            "dose": Real(-99, 99, missing=True),
            "colour": Category(COLOURS, missing=True),  # type: ignore[arg-type]
            "children": Integer(0, 9),
        }
    )
    assert_same_leaves(tree_from_sklearn(pipeline, domain), pipeline, frame)
    assert_same_leaves(tree_from_sklearn(pipeline, domain), pipeline, make_frame(seed + 1, gaps=True))


def test_one_hot_conditions_name_the_category() -> None:
    frame = pd.DataFrame({"colour": ["red", "green", "blue"] * 4})
    pipeline = make_pipeline(OneHotEncoder(), DecisionTreeClassifier()).fit(frame, [1, 0, 0] * 4)
    model = tree_from_sklearn(pipeline, Domain({"colour": Category(("red", "green", "blue"))}))
    assert set(model.literals) == {OneOf("colour", ("red",)), OneOf("colour", ("red",), negated=True)}
    assert model.attributes == ("colour",)


def test_ordinal_thresholds_list_the_categories_below() -> None:
    frame = pd.DataFrame({"size": ["L", "M", "S"] * 4})
    encoder = OrdinalEncoder(categories=[["S", "M", "L"]])
    pipeline = make_pipeline(encoder, DecisionTreeClassifier()).fit(frame, [1, 1, 0] * 4)
    assert [str(cell) for cell in tree_from_sklearn(pipeline).cells] == ["size = S", "size != S"]


def test_scaled_thresholds_come_back_in_the_original_unit() -> None:
    frame = pd.DataFrame({"age": [20, 30, 41, 42, 60, 77]})
    domain = Domain({"age": Integer(0, 99)})
    for scaler in (StandardScaler(), MinMaxScaler(), RobustScaler()):
        pipeline = make_pipeline(scaler, DecisionTreeClassifier()).fit(frame, [0, 0, 0, 1, 1, 1])
        assert [str(cell) for cell in tree_from_sklearn(pipeline, domain).cells] == ["age <= 41.5", "age > 41.5"]
        (literal, *_) = tree_from_sklearn(pipeline).literals
        assert isinstance(literal, Between)
        assert literal.hi == pytest.approx(41.5)
        sides = pd.DataFrame({"age": [literal.hi, math.nextafter(literal.hi, math.inf)]})
        assert pipeline.predict(sides).tolist() == [0, 1]


def test_columns_that_are_dropped_are_no_attributes() -> None:
    frame = make_frame(0)
    front = ColumnTransformer([("n", "passthrough", NUMBERS), ("c", "drop", ["colour"])])
    assert tree_from_sklearn(fitted(front, frame, 0)).attributes == ("age", "dose")


@pytest.mark.parametrize(
    "selection", [["age", "dose"], [0, 1], slice(0, 2), slice("age", "dose"), [True, True, False, False]]
)
def test_columns_are_selected_in_every_way(selection: Any) -> None:
    frame = make_frame(0)
    front = ColumnTransformer([("n", StandardScaler(), selection)])
    pipeline = fitted(front, frame, 0)
    assert_same_leaves(tree_from_sklearn(pipeline), pipeline, frame)


def test_columns_that_a_function_selects_are_read() -> None:
    frame = make_frame(0)
    front = ColumnTransformer([("n", StandardScaler(), lambda f: ["dose", "age"])])
    pipeline = fitted(front, frame, 0)
    assert_same_leaves(tree_from_sklearn(pipeline), pipeline, frame)


@pytest.mark.parametrize(
    ("front", "text"),
    [
        (mixed(OneHotEncoder(), PCA()), "'numbers' is a PCA"),
        (mixed(OneHotEncoder(), PolynomialFeatures()), "'numbers' is a PolynomialFeatures"),
        (mixed(OneHotEncoder(), FunctionTransformer(np.abs)), "applies 'absolute'"),
        (mixed(OneHotEncoder(), SimpleImputer(missing_values=30)), "30 was replaced"),
    ],
)
def test_steps_that_cannot_be_mapped_back_are_named(front: Any, text: str) -> None:
    with pytest.raises(UnsupportedModelError, match=text):
        tree_from_sklearn(fitted(front, make_frame(0), 0))


def test_a_front_of_another_width_is_refused() -> None:
    frame = make_frame(0)
    pipeline = fitted(mixed(OneHotEncoder(), "passthrough"), frame, 0)
    other = fitted(mixed("drop", StandardScaler()), frame, 0)
    broken = Pipeline([("front", other[0]), ("tree", pipeline[-1])])
    with pytest.raises(InvalidModelError, match="its pipeline gives 2"):
        tree_from_sklearn(broken)
