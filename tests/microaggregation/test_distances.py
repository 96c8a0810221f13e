from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glassine.domain import Category, Domain, Integer
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.microaggregation import SemanticDistance, microaggregate
from tests.microaggregation.cases import cases
from tests.microaggregation.reference import FloatArray, mixed_mdav, squared, standardized

JOBS = {"any": {"manual": ["mason", "joiner", "baker"], "office": {"law": ["judge", "clerk"], "care": ["nurse"]}}}
VALUES = ["mason", "joiner", "baker", "judge", "clerk", "nurse"]


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "job": rng.choice(VALUES, n),
            "income": np.round(rng.lognormal(7, 1, n), -2),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def coded(frame: pl.DataFrame, name: str, values: list[str]) -> list[int]:
    return [values.index(value) for value in frame[name].to_list()]


def ranged(frame: pl.DataFrame) -> FloatArray:
    numbers = frame.select("age", "income").to_numpy().astype(float)
    return np.asarray((numbers - numbers.min(axis=0)) / np.ptp(numbers, axis=0))


@pytest.mark.parametrize("k", [1, 3, 7, 40])
def test_gower_agrees_with_plain_numpy(k: int) -> None:
    for seed in range(4):
        frame = people(90, seed)
        codes = np.column_stack([coded(frame, "job", sorted(VALUES)), coded(frame, "sex", ["f", "m"])])
        labels, centers = mixed_mdav(ranged(frame), codes, [1 - np.eye(6), 1 - np.eye(2)], k)
        found = microaggregate(frame, k, distance="gower")
        assert found.labels.tolist() == labels.tolist()
        assert found.names == ("age", "job", "income", "sex")
        assert found.representatives[:, 1].tolist() == [sorted(VALUES)[kinds[0]] for _, kinds in centers]
        assert found.representatives[:, 3].tolist() == ["fm"[kinds[1]] for _, kinds in centers]
        for group, (row, kept) in enumerate(zip(found.representatives, found.sizes, strict=True)):
            members = frame.filter(pl.Series(found.labels == group))
            assert len(members) == kept
            assert row[0] == pytest.approx(sum(members["age"].to_list()) / kept)


def semantic_table() -> tuple[list[str], FloatArray]:
    above = {
        "any": ["any"],
        "manual": ["any", "manual"],
        "office": ["any", "office"],
        "law": ["any", "office", "law"],
        "care": ["any", "office", "care"],
    }
    for job in ("mason", "joiner", "baker"):
        above[job] = ["any", "manual", job]
    for job in ("judge", "clerk"):
        above[job] = ["any", "office", "law", job]
    above["nurse"] = ["any", "office", "care", "nurse"]
    order = ["any", "manual", "mason", "joiner", "baker", "office", "law", "judge", "clerk", "care", "nurse"]
    table = [[len(set(above[a]) ^ set(above[b])) / len(set(above[a]) | set(above[b])) for b in order] for a in order]
    return order, np.log2(1 + np.array(table))


@pytest.mark.parametrize("k", [2, 5, 20])
def test_a_taxonomy_agrees_with_plain_numpy(k: int) -> None:
    order, table = semantic_table()
    frame = people(80, 5).select("age", "job", "income")
    codes = np.array(coded(frame, "job", order))[:, None]
    labels, centers = mixed_mdav(ranged(frame), codes, [table], k)
    found = microaggregate(frame, k, distance=SemanticDistance({"job": JOBS}))
    assert found.labels.tolist() == labels.tolist()
    assert found.representatives[:, 1].tolist() == [order[kinds[0]] for _, kinds in centers]


def test_a_taxonomy_has_distances_that_a_reader_can_check() -> None:
    jobs = SemanticDistance({"job": JOBS})
    assert jobs.between("job", "mason", "mason") == 0
    assert jobs.between("job", "mason", "joiner") == pytest.approx(math.log2(1 + 2 / 4))
    assert jobs.between("job", "mason", "nurse") == pytest.approx(math.log2(1 + 5 / 6))
    assert jobs.between("job", "nurse", "mason") == jobs.between("job", "mason", "nurse")
    roots = SemanticDistance({"job": ["cook", "clerk"]})
    assert roots.taxonomy("job").values == ("*", "cook", "clerk")
    assert roots.between("job", "cook", "clerk") == pytest.approx(math.log2(1 + 2 / 3))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({}, "at least one value"),
        ({"any": {"a": ["x"], "b": ["x"]}}, "twice"),
        ("any", "nested mappings"),
        ({"any": 3}, "nested mappings"),
        ({"any": [["x"]]}, "strings, numbers"),
        (None, "nested mappings"),
    ],
)
def test_a_tree_that_makes_no_sense_is_refused(tree: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        SemanticDistance({"job": tree})


def test_taxonomies_must_fit_the_data() -> None:
    frame = people(30, 0)
    with pytest.raises(InvalidDataError, match=r"'job' holds values that its taxonomy.*do not have: \d+ records"):
        microaggregate(frame, 3, distance=SemanticDistance({"job": {"any": ["mason"]}}))
    with pytest.raises(InvalidDataError, match="lack the column 'work'"):
        microaggregate(frame, 3, distance=SemanticDistance({"work": JOBS}))
    with pytest.raises(InvalidParameterError, match="must map"):
        SemanticDistance(["job"])  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="no value 'pope'"):
        SemanticDistance({"job": JOBS}).between("job", "pope", "nurse")


@pytest.mark.parametrize("distance", ["euclidean", "gower"])
def test_the_nearest_representatives(distance: str) -> None:
    for _, X, k in cases(24, seed=3):
        found = microaggregate(X, k, distance=distance)
        n_closest = min(3, found.n_groups)
        groups, distances = found.nearest(X, n_closest)
        queries, centers = found.metric.scaled(X), found.centers[0].T
        for query, row, far in zip(queries, groups, distances, strict=True):
            each = squared(centers, query)
            if distance == "gower":
                each = np.zeros(len(centers))
                for j in range(X.shape[1]):
                    each = each + np.abs(centers[:, j] - query[j])
            assert row.tolist() == np.argsort(each, kind="stable")[:n_closest].tolist()
            expected = np.sort(each)[:n_closest]
            assert far == pytest.approx(np.sqrt(expected) if distance == "euclidean" else expected / X.shape[1])


def test_distances_without_scaling_are_in_the_units_of_the_data() -> None:
    X = np.array([[0.0, 0.0], [30.0, 40.0]])
    found = microaggregate(X, 1, scaling="none")
    groups, distances = found.nearest([[3.0, 4.0]], 2)
    assert sorted(distances[0].tolist()) == [5.0, 45.0]
    assert groups[0, 0] == found.labels[0]
    assert microaggregate(X, 2, scaling="none").sse == 2 * 25.0**2


def test_nearest_reads_frames_by_name() -> None:
    frame = people(60, 1)
    found = microaggregate(frame, 5, distance="gower")
    turned = frame.select("sex", "income", "job", "age")
    assert found.nearest(turned, 2)[0].tolist() == found.nearest(frame, 2)[0].tolist()
    assert found.nearest(frame.to_pandas(), 2)[0].tolist() == found.nearest(frame, 2)[0].tolist()
    with pytest.raises(InvalidDataError, match="lack the column 'sex'"):
        found.nearest(frame.rename({"sex": "gender"}))
    with pytest.raises(InvalidDataError, match="lack the column 'sex'"):
        found.nearest(frame.drop("sex"))
    with pytest.raises(InvalidDataError, match="4 attributes, got 5"):
        found.nearest(frame.with_columns(more=pl.lit(1)))
    with pytest.raises(InvalidDataError, match="do not have"):
        found.nearest(frame.with_columns(job=pl.lit("pope")))
    for wrong in (0, found.n_groups + 1, True, 1.0, "1"):
        with pytest.raises(InvalidParameterError, match="n_closest must be a whole number"):
            found.nearest(frame, wrong)  # type: ignore[arg-type]


def test_information_loss_lies_between_nothing_and_everything() -> None:
    for _, X, k in cases(32, seed=9):
        for distance in ("euclidean", "gower"):
            found = microaggregate(X, k, distance=distance)
            assert 0 <= found.information_loss <= 1
            assert microaggregate(X, 1, distance=distance).information_loss < 1e-12
            spread = len(np.unique(X, axis=0)) > 1
            assert microaggregate(X, len(X), distance=distance).information_loss == (1.0 if spread else 0.0)


def test_sse_is_what_its_definition_says() -> None:
    X = np.random.default_rng(4).normal(size=(150, 3)) * [1.0, 50.0, 0.01]
    found = microaggregate(X, 6)
    Z = standardized(X)
    centers = np.array([Z[found.labels == g].mean(axis=0) for g in range(found.n_groups)])
    assert found.sse == pytest.approx(((Z - centers[found.labels]) ** 2).sum())
    assert found.information_loss == pytest.approx(found.sse / (150 * 3))
    frame = people(50, 2)
    mixed = microaggregate(frame, 4, distance="gower")
    differing = frame["job"].to_numpy() != mixed.representatives[mixed.labels, 1]
    differing_sex = frame["sex"].to_numpy() != mixed.representatives[mixed.labels, 3]
    own = (mixed.representatives[mixed.labels][:, [0, 2]] - frame.select("age", "income").to_numpy()).astype(float)
    own = own / np.ptp(frame.select("age", "income").to_numpy(), axis=0)
    assert mixed.sse == pytest.approx((own**2).sum() + differing.sum() + differing_sex.sum())


def test_representatives_are_means_within_their_group() -> None:
    X = np.array([[0.1, 1e300, -1e-310], [0.1, 9e299, 0.0], [0.1, 8e299, 1e-310]])
    found = microaggregate(X, 3)
    assert found.representatives[0].tolist() == [0.1, pytest.approx(9e299), 0.0]
    assert found.information_loss == 1.0


def test_a_domain_gives_the_ranges_and_the_order_of_values() -> None:
    domain = Domain({"age": Integer(0, 100), "job": Category(tuple(VALUES))})
    frame = pl.DataFrame({"age": [10, 20, 200], "job": ["nurse", "mason", "mason"]})
    found = microaggregate(frame, 3, distance="gower", domain=domain)
    assert found.metric.scales.tolist() == [100.0]
    assert found.representatives.tolist() == [[pytest.approx(130 / 3), "mason"]]
    tied = microaggregate(frame[:2], 2, distance="gower", domain=domain)
    assert tied.representatives[0, 1] == "mason"
    with pytest.raises(InvalidDataError, match="undeclared"):
        microaggregate(frame.with_columns(job=pl.lit("pope")), 2, distance="gower", domain=domain)
    with pytest.raises(InvalidDataError, match="is a category"):
        microaggregate(frame, 2, distance="euclidean", domain=domain)


def test_frames_of_every_kind_give_the_same_groups() -> None:
    import duckdb
    import pyarrow as pa

    frame = people(70, 3)
    kinds: list[Any] = [
        frame,
        frame.lazy(),
        frame.to_pandas(),
        frame.to_arrow(),
        frame.with_columns(pl.col("job", "sex").cast(pl.Categorical)),
    ]
    arrow = frame.to_arrow()
    assert isinstance(arrow, pa.Table)
    kinds.append(duckdb.sql("select * from arrow"))
    kinds.append(frame.to_pandas().astype({"job": "category", "sex": "object"}))
    expected = microaggregate(frame, 4, distance="gower")
    for given in kinds:
        found = microaggregate(given, 4, distance="gower")
        assert found.labels.tolist() == expected.labels.tolist()
        assert found.representatives.tolist() == expected.representatives.tolist()
    numbers = frame.select("age", "income")
    plain = microaggregate(numbers.to_numpy(), 4)
    assert microaggregate(numbers, 4).labels.tolist() == plain.labels.tolist()
    assert microaggregate(pd.DataFrame(numbers.to_numpy()), 4).names == ("x0", "x1")
    objects = frame.to_pandas().to_numpy(dtype=object)
    assert microaggregate(objects, 4, distance="gower").labels.tolist() == expected.labels.tolist()
    assert microaggregate(objects.tolist(), 4, distance="gower").labels.tolist() == expected.labels.tolist()
    assert expected.nearest(objects, 3)[0].tolist() == expected.nearest(frame, 3)[0].tolist()
