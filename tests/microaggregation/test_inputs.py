from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from glassine.domain import Category, Domain, Integer
from glassine.errors import GlassineError, InvalidDataError, InvalidParameterError
from glassine.microaggregation import Microaggregation, microaggregate

X = np.arange(20.0).reshape(10, 2)


@pytest.mark.parametrize("k", [0, -1, 11, 2.0, "2", None, True, np.nan, [2]])
def test_k_must_be_a_whole_number_up_to_n(k: Any) -> None:
    with pytest.raises(InvalidParameterError, match="k must be"):
        microaggregate(X, k)


@pytest.mark.parametrize("k", [1, 10, np.int64(3), np.uint8(4)])
def test_k_of_any_whole_type(k: Any) -> None:
    assert microaggregate(X, k).k == int(k)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": "cart"}, "gamma must be"),
        ({"scaling": "robust"}, "scaling must be"),
        ({"distance": "cosine"}, "distance must be"),
        ({"distance": np.array([1, 2])}, "distance must be"),
        ({"distance": "gower", "scaling": "none"}, "goes with distance='euclidean' only"),
        ({"gamma": -0.1}, "gamma must be"),
        ({"gamma": np.nan}, "gamma must be"),
        ({"gamma": np.inf}, "gamma must be"),
        ({"gamma": "0.2"}, "gamma must be"),
        ({"gamma": True}, "gamma must be"),
        ({"progress": 3}, "progress must be"),
        ({"domain": {"a": 1}}, "domain must be"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GlassineError, match=message):
        microaggregate(X, 2, **options)


def test_a_misspelt_option_is_an_error() -> None:
    with pytest.raises(TypeError):
        microaggregate(X, 2, scale="none")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.empty((0, 3)), "at least one record"),
        (np.empty((3, 0)), "at least one record and one attribute"),
        (np.arange(5.0), "got 1 dimension"),
        (np.zeros((2, 2, 2)), "got 3 dimension"),
        ([[1.0, 2.0], [1.0]], "as many values"),
        ([[1.0, np.inf], [1.0, 2.0]], "infinity"),
        ([[1.0, 2e300], [1.0, 2.0]], "beyond 1e300"),
        ([["a", "b"], ["c", "d"]], "numbers"),
        (np.array([[1, "a"], [2, "b"]], dtype=object), "'x1' holds something else than numbers"),
        (np.array([[10**400], [1]], dtype=object), "beyond 1e300"),
        (np.array([[1j], [2j]]), "numbers"),
        (np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"), "numbers"),
        (sparse.csr_matrix(np.eye(3)), "dense"),
        (np.ma.masked_array(np.eye(3), mask=np.eye(3) > 0), "masked"),
        (None, "table of shape"),
        ("records", "table of shape"),
        (pl.DataFrame(), "at least one"),
        (pl.DataFrame({"a": []}), "at least one"),
        (pl.DataFrame({"a": ["x", "y"]}), "needs numbers"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "once"),
        (pd.DataFrame({"a": [1, 2], 3: [1, 2]}), "named by strings"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"])}), "needs numbers"),
        (pd.Series([1.0, 2.0]), "table of shape|data frame|cannot be read|dimension"),
    ],
)
def test_records_that_cannot_be_read_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        microaggregate(given, 1, distance="euclidean")


def test_the_default_distance_takes_categories() -> None:
    rng = np.random.default_rng(0)
    jobs = rng.choice(["mason", "nurse"], 60)
    mixed = pd.DataFrame({"age": rng.integers(18, 91, 60), "job": jobs})
    declared = Domain({"age": Integer(18, 90), "job": Category(("mason", "nurse"))})
    tables: Any = ((mixed, None), (mixed.to_numpy(dtype=object).tolist(), None), (mixed, declared))
    for X, domain in tables:
        found = microaggregate(X, 10, domain=domain)
        assert found.metric.distance == "gower"
        assert found.labels.tolist() == microaggregate(X, 10, domain=domain, distance="gower").labels.tolist()
    # Numbers, texts of numbers and truth values are none.
    plain: Any = (
        mixed[["age"]],
        mixed[["age"]].astype(str),
        mixed.assign(job=jobs == "mason"),
        [[1.0, 2], [3, 4]] * 20,
    )
    for X in plain:
        assert microaggregate(X, 10).metric.distance == "euclidean"
    with pytest.raises(InvalidDataError, match="as many values"):
        microaggregate([["a", 1], ["b"]], 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pl.DataFrame({"a": [[1], [2]]}), "no text, number or truth value"),
        (pd.DataFrame({"a": ["x", 1]}), "both text and numbers"),
        (pl.DataFrame({"a": [f"id{i}" for i in range(1001)]}), "1001 different values"),
    ],
)
def test_categories_that_cannot_be_read_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        microaggregate(given, 1, distance="gower")


def test_numbers_beside_text_stay_numbers() -> None:
    found = microaggregate([[1, "a"], [2, "b"], [9, "a"]], 3, distance="gower")
    assert found.representatives.tolist() == [[4.0, "a"]]
    flags = np.array([[np.True_, 1.0], [np.False_, 2.0], [np.True_, 3.0]], dtype=object)
    assert microaggregate(flags, 3, distance="gower").representatives.tolist() == [[True, 2.0]]


def test_no_value_is_told() -> None:
    with pytest.raises(InvalidDataError) as caught:
        microaggregate(pl.DataFrame({"a": ["secret", "other"]}), 1, distance="euclidean")
    assert "secret" not in str(caught.value)


def test_large_numbers_are_scaled_before_they_are_squared() -> None:
    large = X * 5e298
    assert microaggregate(large, 2).labels.tolist() == microaggregate(X, 2).labels.tolist()
    assert np.isfinite(microaggregate(large, 2).representatives).all()
    with pytest.raises(InvalidDataError, match="1e150"):
        microaggregate(large, 2, scaling="none")
    tiny = X * 2.0**-1000
    assert (
        microaggregate(tiny, 2, scaling="none").labels.tolist() == microaggregate(X, 2, scaling="none").labels.tolist()
    )
    assert microaggregate(tiny, 2).labels.tolist() == microaggregate(X, 2).labels.tolist()


def test_constant_records_are_grouped_by_number() -> None:
    found = microaggregate(np.full((11, 3), 0.1), 3)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2]
    assert found.representatives.tolist() == [[0.1, 0.1, 0.1]] * 3
    assert (found.sse, found.information_loss) == (0.0, 0.0)


def test_booleans_are_numbers_or_categories() -> None:
    frame = pl.DataFrame({"a": [True, True, False, True], "b": [1, 2, 3, 4]})
    assert microaggregate(frame, 4).representatives.tolist() == [[0.75, 2.5]]
    assert microaggregate(frame, 4, distance="gower").representatives.tolist() == [[True, 2.5]]


def test_the_input_is_left_as_it_was() -> None:
    given = np.random.default_rng(0).normal(size=(50, 3))
    before = given.copy()
    microaggregate(given, 3)
    microaggregate(given, 3, scaling="none")
    assert np.array_equal(given, before)


def test_a_result_is_a_value_with_a_short_face() -> None:
    found = microaggregate(X, 3)
    assert repr(found) == "<Microaggregation of 10 records into 3 groups of 3 to 4 records, information loss 0.1091>"
    assert repr(found.metric) == "<Metric: euclidean, 2 attributes>"
    assert isinstance(found, Microaggregation)
    with pytest.raises(AttributeError):
        found.k = 3  # type: ignore[misc]
