"""Records with missing values: how far they lie apart, which groups they form, and what stands for a group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glassine.domain import Category, Domain, Integer, Real
from glassine.errors import InvalidDataError
from glassine.microaggregation import SemanticDistance, microaggregate
from glassine.microaggregation.dissimilarity import metric_of, read_records
from glassine.microaggregation.mdav import ScaledRecords
from tests.microaggregation.cases import FloatArray, cases
from tests.microaggregation.reference import mdav, v_mdav

JOBS = {"any": {"manual": ["mason", "joiner"], "office": ["clerk"]}}


def with_gaps(X: FloatArray, seed: int) -> FloatArray:
    """Return records with some values missing, of some attributes nearly all."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < rng.choice([0.0, 0.2, 0.6, 0.95], X.shape[1]), np.nan, X)


def test_groups_with_missing_values_are_those_of_plain_numpy() -> None:
    for i, (_, X, k) in enumerate(cases(16, seed=5, largest=40)):
        table, _ = read_records(with_gaps(X, i), "euclidean", None)
        metric = metric_of(table, scaling="standard", distance="euclidean", domain=None)
        points = ScaledRecords.scaled(table.numbers, table.codes, metric)
        assert points.mdav(k, None).tolist() == mdav(points.rows, k).tolist()
        assert points.v_mdav(k, 0.2, None).tolist() == v_mdav(points.rows, k, 0.2).tolist()


def test_many_records_with_a_missing_value_form_groups_of_at_least_k() -> None:
    X = np.random.default_rng(0).normal(size=(4500, 2))
    X[7, 0] = np.nan
    sizes = microaggregate(X, 60).sizes
    assert sizes.min() >= 60
    assert sizes.max() < 120


@pytest.mark.parametrize("distance", ["euclidean", "gower"])
def test_means_are_of_at_least_k_values_and_of_half_of_the_group(distance: str) -> None:
    for i, (_, X, k) in enumerate(cases(16, seed=6, largest=40)):
        X = with_gaps(X, i)
        found = microaggregate(X, k, distance=distance)
        assert found.sizes.min() >= k
        assert 0 <= found.information_loss <= 1
        for group, own in enumerate(found.representatives):
            for column, value in zip(X[found.labels == group].T, own, strict=True):
                present = column[~np.isnan(column)]
                if len(present) < max(k, len(column) / 2):
                    assert math.isnan(value)
                else:
                    assert value == pytest.approx(present.mean(), rel=1e-9, abs=1e-12)


def test_a_missing_value_lies_as_far_from_values_as_documented() -> None:
    ages = np.array([[0.0], [0.0], [10.0], [10.0], [np.nan], [np.nan]])
    euclidean = microaggregate(ages, 2)
    assert sorted(np.nan_to_num(euclidean.representatives[:, 0], nan=-1).tolist()) == [-1.0, 0.0, 10.0]
    assert euclidean.nearest([[np.nan]], 3)[1].tolist() == [[0.0, math.sqrt(2), math.sqrt(2)]]
    assert microaggregate(ages, 2, distance="gower").nearest([[np.nan]], 3)[1].tolist() == [[0.0, 1.0, 1.0]]
    frame = pl.DataFrame({"job": ["mason", "mason", "clerk", "clerk", None, None]})
    for distance in ("gower", SemanticDistance({"job": JOBS})):
        found = microaggregate(frame, 2, distance=distance)
        assert sorted(found.representatives[:, 0].tolist(), key=str) == [None, "clerk", "mason"]
        assert sorted(found.nearest(pl.DataFrame({"job": ["mason"]}), 3)[1][0].tolist())[2] == 1.0
        assert found.nearest(pl.DataFrame({"job": [None]}, schema={"job": pl.String}))[1].tolist() == [[0.0]]


@pytest.mark.parametrize("given", [None, np.nan, pd.NA])
def test_missing_values_are_read_in_every_form(given: Any) -> None:
    whole = microaggregate(np.array([[1.0], [2.0], [9.0], [np.nan]]), 2)
    objects = microaggregate(np.array([[1], [2], [9], [given]], dtype=object), 2)
    framed = microaggregate(pd.DataFrame({"x0": pd.array([1, 2, 9, given], dtype="Float64")}), 2)
    assert whole.labels.tolist() == objects.labels.tolist() == framed.labels.tolist()
    flags = microaggregate(pd.DataFrame({"f": [True, True, given, given]}, dtype=object), 2, distance="gower")
    assert sorted(flags.representatives[:, 0].tolist(), key=str) == [None, True]


def test_an_attribute_without_any_value_moves_no_record() -> None:
    X = np.random.default_rng(1).normal(size=(30, 2))
    with_nothing = np.column_stack([X, np.full(30, np.nan)])
    assert microaggregate(with_nothing, 4).labels.tolist() == microaggregate(X, 4).labels.tolist()
    assert np.isnan(microaggregate(with_nothing, 4).representatives[:, 2]).all()


def test_missing_values_that_are_not_declared_or_have_no_distance_are_refused() -> None:
    frame = pl.DataFrame({"age": [30.0, None, 50.0], "job": ["mason", "clerk", None]})
    for missing in ("age", "job"):
        domain = Domain(
            {
                "age": Real(0.0, 90.0, missing=missing != "age"),
                "job": Category(("clerk", "mason"), missing=missing != "job"),
            }
        )
        with pytest.raises(InvalidDataError, match=f"{missing}.*missing|missing.*{missing}"):
            microaggregate(frame, 2, distance="gower", domain=domain)
    with pytest.raises(InvalidDataError, match="no unit in which a missing value"):
        microaggregate(frame.select("age"), 2, scaling="none")
    whole = microaggregate(pl.DataFrame({"job": ["mason", "clerk", "clerk"]}), 2, distance="gower")
    with pytest.raises(InvalidDataError, match="no record of the groups lacks"):
        whole.nearest(frame.select("job"))
    declared = Domain({"age": Integer(0, 90, missing=True)})
    assert (
        microaggregate(pl.DataFrame({"age": [30, 31]}), 2, domain=declared).nearest(frame.select("age"))[0].any() == 0
    )
