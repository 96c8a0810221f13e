"""A record reads as what it is, whatever stands beside it: in every container, as attribute, target and query."""

from __future__ import annotations

import collections
import csv
import datetime
import math
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassine import Domain
from glassine.data.labels import class_codes
from glassine.data.sources import read_table
from glassine.domain import Attribute, Binary, Category, Integer, Real
from glassine.errors import InvalidDataError
from glassine.formats.json import to_dict
from glassine.learners import (
    OptimalTreeClassifier,
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)
from glassine.learners.intake import read_records, read_training
from glassine.records.headers import RecordsFile
from glassine.records.identifiers import identifier
from glassine.records.purpose import Purpose
from glassine.records.reading import read_settled
from glassine.surrogates import SurrogateExplainer

BIG = 2**53
ODD: tuple[Any, ...] = (
    *(0, 1, 2, 3, 7, -1, BIG, BIG + 1, 2**62, 2**63, 2**64, 10**400),
    *(0.0, -0.0, 0.5, 1.0, 2.0, float(BIG), 1e300, math.nan, math.inf, -math.inf),
    *(
        "x",
        "1",
        "1.0",
        "01",
        "2",
        " 2 ",
        "0.5",
        "true",
        "",
        "?",
        "NA",
        "nan",
        "inf",
        "1e400",
        "a\0b",
        "é",
        str(BIG + 1),
    ),
    *(str(BIG + 1), True, False, None, b"1", b"\xff", datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 12)),
    *(np.int64(1), np.float32(0.5), np.bool_(True), np.datetime64("2020-01-01"), np.timedelta64(1, "D")),
    *(Decimal(1), Decimal("sNaN"), 1j, pd.NA, pd.NaT, pd.Timestamp("2020-01-01")),
)
ATTRIBUTES: dict[str, Attribute] = {
    "numbers": Category((1, 2, 3)),
    "big": Category((BIG, BIG + 1, 7), missing=True),
    "texts": Category(("x", "1", "01")),
    "both": Category((1, "1", "x", 0.5), missing=True),
    "truths": Category((True, False)),
    "binary": Binary(),
    "gap": Binary(missing=True),
    "integer": Integer(0, 9),
    "wide": Integer(-(2**64), 2**64, missing=True),
    "real": Real(-1.0, 1.0, missing=True),
}
DOMAIN = Domain(ATTRIBUTES)
LARGE = (2**62, 2**63, 2**64, 10**400, BIG, BIG + 1)
Rows = list[tuple[Any, ...]]
from_pandas: Any = dd.from_pandas


def as_objects(rows: Rows) -> Any:
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            out[i, j] = value
    return out


def as_columns(rows: Rows) -> dict[str, list[Any]]:
    return {name: [row[j] for row in rows] for j, name in enumerate(ATTRIBUTES)}


def as_structured(rows: Rows) -> Any:
    return np.array([tuple(row) for row in rows], dtype=[(name, object) for name in ATTRIBUTES])


ANYTHING: dict[str, Callable[[Rows], Any]] = {
    "list": lambda rows: [list(row) for row in rows],
    "tuple": lambda rows: tuple(rows),
    "list of mappings": lambda rows: [dict(zip(ATTRIBUTES, row, strict=True)) for row in rows],
    "object array": as_objects,
    "structured array": as_structured,
    "pandas objects": lambda rows: pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in as_columns(rows).items()}),
    "pandas as it infers": lambda rows: pd.DataFrame(as_columns(rows)),
    "pandas without names": lambda rows: pd.DataFrame([list(row) for row in rows], dtype=object),
    "polars objects": lambda rows: pl.DataFrame(
        {n: pl.Series(n, c, dtype=pl.Object) for n, c in as_columns(rows).items()}
    ),
}
"""Containers of Python values."""


def records_read(data: Any) -> list[tuple[Any, ...]]:
    """Return the codes and numbers of records as a private fit reads them."""
    estimator = PrivateTreeClassifier(domain=DOMAIN)
    n = len(data)
    intake = read_training(estimator, data, [0] * n, domain=DOMAIN, classes=(0, 1), private=True)
    return row_values(intake.columns)


def row_values(columns: Any) -> list[tuple[Any, ...]]:
    arrays = [columns.array(name).tolist() for name in columns.names]
    return [tuple("gap" if v != v else v for v in row) for row in zip(*arrays, strict=True)]


records = st.lists(st.tuples(*(st.sampled_from(ODD) for _ in ATTRIBUTES)), min_size=2, max_size=6)
COMMON = [(1,) * len(ATTRIBUTES), (2,) * len(ATTRIBUTES)]


N_EXAMPLES = 40
"""Drawn examples, beside those that are named."""


@pytest.mark.slow
@pytest.mark.parametrize("container", ANYTHING)
def test_no_record_changes_how_another_is_read(container: str) -> None:
    make = ANYTHING[container]

    @settings(max_examples=N_EXAMPLES, deadline=None)
    @given(rows=records, place=st.integers(0, 5))
    @example(rows=[*COMMON, ("x",) * len(ATTRIBUTES)], place=2)
    @example(rows=[*COMMON, (0.5,) * len(ATTRIBUTES)], place=2)
    @example(rows=[(BIG + 1,) * len(ATTRIBUTES), (0.5,) * len(ATTRIBUTES)], place=1)
    @example(rows=[*[("3",) * len(ATTRIBUTES)] * 100, *[(3,) * len(ATTRIBUTES)] * 3], place=0)
    def check(rows: Rows, place: int) -> None:
        if container == "pandas as it infers":
            # What pandas itself rounds or converts before anything of ours sees it is out of reach.
            rows = [tuple(v if type(v) in (str, int) and v not in LARGE else None for v in row) for row in rows]
        everything = records_read(make(rows))
        i = place % len(rows)
        assert records_read(make(rows[:i] + rows[i + 1 :])) == everything[:i] + everything[i + 1 :]
        # Of different containers too: a list is the definition.
        assert everything == [row for one in rows for row in records_read([list(one)])]

    check()


@pytest.mark.parametrize("odd", [np.timedelta64(1), np.timedelta64(1, "D"), np.timedelta64("NaT")], ids=repr)
def test_a_duration_is_no_number_and_nobody(odd: Any) -> None:
    # NumPy cannot hash one without a unit, and takes all of them for whole numbers.
    rows: Rows = [*COMMON, (odd,) * len(ATTRIBUTES)]
    assert records_read([list(row) for row in rows])[:2] == records_read([list(row) for row in COMMON])
    assert class_codes([1, odd, 0.5], LABELS).tolist()[::2] == [2, 5]
    assert identifier(odd) is None


@pytest.mark.parametrize("container", [name for name in ANYTHING if name != "pandas as it infers"])
def test_half_a_surrogate_pair_is_a_text_like_any_other(container: str) -> None:
    rows: Rows = [*COMMON, ("\ud800",) * len(ATTRIBUTES)]
    make = ANYTHING[container]
    assert records_read(make(rows)) == records_read(make([*COMMON, ("x?",) * len(ATTRIBUTES)]))


def test_one_complex_number_in_a_column_of_pandas_changes_no_other_record() -> None:
    names = ["numbers", "both", "gap", "integer", "real"]
    odd: dict[str, list[Any]] = {name: [1, 0.5, None, 1j] for name in names}
    frame = pd.DataFrame(odd)
    assert {kind.kind for kind in frame.dtypes} == {"c"}, "all numbers of the column became complex"
    domain = DOMAIN.restrict(names)
    read = read_settled(frame, domain)
    alone = read_settled(pd.DataFrame(odd, dtype=object), domain)
    assert row_values(read) == row_values(alone)
    assert row_values(read)[0] != row_values(read)[3]
    assert class_codes(frame["numbers"], (1, 0.5)).tolist() == [0, 1, -1, -2]
    assert [identifier(value) for value in frame["numbers"].tolist()] == [*map(identifier, [1, 0.5]), None, None]


@pytest.mark.slow
def test_no_row_of_a_file_changes_how_another_is_read(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"

    def read(some: Sequence[tuple[str, ...]]) -> list[tuple[Any, ...]]:
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([tuple(ATTRIBUTES), *some])
        return records_read(read_table(RecordsFile(path=path), Purpose.PRIVATE, DOMAIN).frame.to_native())

    @settings(max_examples=N_EXAMPLES, deadline=None)
    @given(rows=records, place=st.integers(0, 5))
    @example(rows=[*COMMON, ("x",) * len(ATTRIBUTES)], place=2)
    @example(rows=[(BIG + 1,) * len(ATTRIBUTES), (0.5,) * len(ATTRIBUTES)], place=1)
    @example(rows=[("inf",) * len(ATTRIBUTES), ("x",) * len(ATTRIBUTES)], place=1)
    def check(rows: Rows, place: int) -> None:
        texts = [tuple("" if value is None else str(value).replace("\0", "") for value in row) for row in rows]
        everything = read(texts)
        i = place % len(texts)
        assert read(texts[:i] + texts[i + 1 :]) == everything[:i] + everything[i + 1 :]
        assert everything == records_read([list(row) for row in texts])

    check()


TYPED: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "polars": lambda frame, _: frame,
    "polars lazy": lambda frame, _: frame.lazy(),
    "arrow": lambda frame, _: frame.to_arrow(),
    "duckdb": lambda frame, _: duckdb.connect().from_arrow(frame.to_arrow()),
    "pandas nullable": lambda frame, _: frame.to_pandas().convert_dtypes(),
    "pandas category": lambda frame, _: frame.to_pandas().astype("category"),
    "pandas arrow": lambda frame, _: frame.to_pandas(use_pyarrow_extension_array=True),
    "dask": lambda frame, _: from_pandas(frame.to_pandas(), npartitions=2),
    "parquet": lambda frame, folder: written(frame, folder),
}
"""Containers whose columns have a type before they have records."""

TYPES: dict[str, tuple[Any, Attribute, tuple[Any, ...]]] = {
    "whole": (pl.Int64, Category((1, 2, BIG, BIG + 1)), (1, 2, BIG, BIG + 1, 5, -1, None)),
    "fraction": (pl.Float64, Category((0.5, 1, 2)), (0.5, 1.0, 2.0, math.nan, math.inf, -0.0, None)),
    "text": (pl.String, Category(("a", "1", "")), ("a", "1", "", "?", "nan", "b", None)),
    "truth": (pl.Boolean, Binary(), (True, False, None)),
    "number": (pl.Float64, Real(0.0, 1.0), (0.5, 7.0, math.nan, math.inf, -math.inf, None)),
    "number with gaps": (pl.Int64, Integer(0, 5, missing=True), (1, 9, 2**62, None)),
}


def written(frame: pl.DataFrame, folder: Path) -> pl.DataFrame:
    frame.write_parquet(folder / "records.parquet")
    return pl.DataFrame(read_table(RecordsFile(path=folder / "records.parquet"), Purpose.PRIVATE).frame.to_native())


@pytest.mark.slow
@pytest.mark.parametrize(
    "container", [pytest.param(name, marks=pytest.mark.slow) if name == "dask" else name for name in TYPED]
)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_no_record_of_a_typed_column_changes_another(
    tmp_path_factory: Any, container: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("typed")
    n = data.draw(st.integers(2, 5))
    columns = {
        name: data.draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
        for name, (_, _, values) in TYPES.items()
    }
    frame = pl.DataFrame({name: pl.Series(name, columns[name], dtype=TYPES[name][0]) for name in TYPES})
    domain = Domain({name: attribute for name, (_, attribute, _) in TYPES.items()})

    def read(some: pl.DataFrame) -> list[tuple[Any, ...]]:
        given = TYPED[container](some, folder)
        return row_values(read_settled(given, domain))

    if container == "pandas nullable" or container == "pandas category" or container == "dask":
        # Conversions of whole numbers with gaps round them before anything of ours sees them.
        frame = frame.with_columns(pl.when(pl.col("whole") < 9).then("whole"), number_with=pl.lit(0)).drop(
            "number_with"
        )
    if container == "dask":
        # Dask writes truth values beside a gap as text.
        frame = frame.with_columns(pl.col("truth").fill_null(False))
    everything = read(frame)
    i = data.draw(st.integers(0, n - 1))
    rest = frame.filter(pl.int_range(pl.len()) != i)
    assert read(rest) == everything[:i] + everything[i + 1 :]
    assert everything == row_values(read_settled({name: frame[name].to_list() for name in TYPES}, domain))


LABELS = ("x", "1", 1, BIG, BIG + 1, 0.5)
TARGETS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "object array": lambda labels: as_objects([(label,) for label in labels])[:, 0],
    "pandas objects": lambda labels: pd.Series(labels, dtype=object),
    "polars objects": lambda labels: pl.Series("y", labels, dtype=pl.Object),
}


@pytest.mark.parametrize("container", TARGETS)
@settings(max_examples=60, deadline=None)
@given(labels=st.lists(st.sampled_from(ODD), min_size=2, max_size=6), place=st.integers(0, 5))
@example(labels=[1, "1", "x"], place=2)
@example(labels=[BIG, BIG + 1, 0.5], place=2)
def test_no_label_changes_how_another_is_read(container: str, labels: list[Any], place: int) -> None:
    make = TARGETS[container]
    everything = class_codes(make(labels), LABELS).tolist()
    i = place % len(labels)
    assert class_codes(make(labels[:i] + labels[i + 1 :]), LABELS).tolist() == everything[:i] + everything[i + 1 :]
    assert everything == [class_codes([label], LABELS)[0] for label in labels]


ONE = Domain({"a": Category((1, 2, 3))})
PRIVATE: dict[str, Callable[[], Any]] = {
    "tree": lambda: PrivateTreeClassifier(1, epsilon=1.0, domain=ONE, classes=(0, 1), random_state=0),
    "rule list": lambda: PrivateRuleListClassifier(1, epsilon=1.0, domain=ONE, classes=(0, 1), random_state=0),
    "greedy list": lambda: PrivateGreedyRuleListClassifier(1, epsilon=1.0, domain=ONE, classes=(0, 1), random_state=0),
    "regression tree": lambda: PrivateTreeRegressor(1, epsilon=1.0, domain=ONE, target_range=(0, 1), random_state=0),
    "additive": lambda: PrivateEBMClassifier(epsilon=1.0, domain=ONE, classes=(0, 1), random_state=0),
    "additive regression": lambda: PrivateEBMRegressor(epsilon=1.0, domain=ONE, target_range=(0, 1), random_state=0),
}


@pytest.mark.parametrize("learner", PRIVATE)
def test_a_text_among_whole_numbers_is_one_undeclared_record(learner: str) -> None:
    X, y = [[1]] * 50 + [[2]] * 50, [0] * 50 + [1] * 50
    with_text = PRIVATE[learner]().fit([*X, ["x"]], [*y, 0])
    # The same model as of any other value that is not declared.
    assert to_dict(with_text.model_) == to_dict(PRIVATE[learner]().fit([*X, [9]], [*y, 0]).model_)
    alone = with_text.predict([[1], [2]])
    assert alone.tolist() == with_text.predict([[1], [2], ["x"]])[:2].tolist()


def decide(records: Any) -> Any:
    """Decide for each record by itself, and only where the domain of ONE describes it."""
    values = [value for (value,) in (records if isinstance(records, np.ndarray) else records.to_numpy()).tolist()]
    if not all(value in (1, 2, 3) for value in values):
        raise ValueError("asked on a record that the domain does not describe")
    return [int(value > 1) for value in values]


def explainer(**more: Any) -> SurrogateExplainer:
    usual: dict[str, Any] = {"domain": ONE, "classes": (0, 1), "epsilon": 1.0, "partition": "public", "n_cells": 3}
    return SurrogateExplainer(
        decide, fixed_black_box=True, distance="gower", max_depth=1, random_state=0, **(usual | more)
    )


@pytest.mark.parametrize("container", ["list", "tuple", "list of mappings", "object array", "structured array"])
@pytest.mark.parametrize("odd", ["x", None, 0.5, math.nan, math.inf, b"1", 2**64, datetime.date(2020, 1, 1), [1]])
def test_an_odd_record_changes_no_surrogate_tree_of_others(container: str, odd: Any) -> None:
    def rows(values: list[Any]) -> Any:
        if container == "list of mappings":
            return [{"a": value} for value in values]
        if container == "object array":
            return as_objects([(value,) for value in values])
        if container == "structured array":
            return np.array([(value,) for value in values], dtype=[("a", object)])
        return [[v] for v in values] if container == "list" else tuple((v,) for v in values)

    X = [1, 2, 3] * 20
    plain = explainer().fit(rows(X)).release()
    # The black box is not asked on it, and without an answer it is in no tree.
    assert explainer().fit(rows([*X, odd])).release().trees == plain.trees
    y = [0, 1, 1] * 20
    labelled = explainer(labels="true").fit(rows(X), y).release()
    assert explainer(labels="true").fit(rows([*X, 1]), [*y, odd]).release() == labelled
    # With a label it counts as one of the values that are not declared.
    other = explainer(labels="true").fit(rows([*X, 9]), [*y, 0]).release()
    assert explainer(labels="true").fit(rows([*X, odd]), [*y, 0]).release() == other


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_black_box_gets_columns_whose_types_follow_from_the_domain(make: Any) -> None:
    domain = Domain(
        {
            "n": Integer(0, 9),
            "w": Category(("u", "v"), missing=True),
            "b": Binary(),
            "m": Category(("u", 1), missing=True),
        }
    )
    seen: list[list[str]] = []

    def note(frame: Any) -> list[int]:
        types = frame.schema.types if isinstance(frame, pa.Table) else list(frame.dtypes)
        seen.append([str(kind) for kind in types])
        return [0] * len(frame)

    whole = make({"n": [1, 2], "w": ["u", "v"], "b": [0, 1], "m": ["u", "1"]})
    odd = make({"n": ["1", "x"], "w": [None, "u"], "b": ["1", "0.5"], "m": [None, "v"]})
    for records in (whole, odd):
        SurrogateExplainer(
            note, domain=domain, classes=(0, 1), epsilon=1.0, partition="public", distance="gower", n_cells=2,
            random_state=0,
        ).fit(records)  # fmt: skip
    assert len(seen) == 2
    assert seen[0] == seen[1]


def test_labels_alone_that_are_private_may_be_odd() -> None:
    X, y = [[float(i % 10)] for i in range(60)], [i % 2 for i in range(60)]
    domain = Domain({"a": Real(0.0, 9.0)})

    def fitted(labels: list[Any]) -> Any:
        made = SurrogateExplainer(
            lambda X: (X[:, 0] > 4).astype(int), 20, domain=domain, classes=(0, 1), epsilon=1.0, labels="true",
            max_depth=1, random_state=0,
        )  # fmt: skip
        return made.fit(X, labels).release()

    first = fitted([None, *y[1:]])
    for odd in ("x", math.nan, 0.5, 7, b"1"):
        assert fitted([odd, *y[1:]]) == first


def test_texts_and_numbers_in_one_row_lose_nothing() -> None:
    domain = Domain({"a": Category((1, 2)), "b": Category(("u", "v"))})
    X, y = [[1, "u"], [2, "u"]] * 40, [0, 1] * 40
    tree = PrivateTreeClassifier(1, epsilon=20.0, domain=domain, classes=(0, 1), random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0


@pytest.mark.parametrize("odd", ["x", None, 0.5, math.nan, b"1", datetime.date(2020, 1, 1)])
def test_a_record_with_an_odd_target_is_left_out(odd: Any) -> None:
    X, y = [[1], [2], [3]] * 20, [1, "1", "x"] * 20
    learner = PrivateTreeClassifier(1, epsilon=1.0, domain=ONE, classes=(1, "1", "x"), random_state=0)
    assert learner.fit([*X, [1]], [*y, odd if odd != "x" else "y"]).model_ == learner.fit(X, y).model_
    certificate = learner.fit([*X, [1]], [*y, b"?"]).certificate_
    assert certificate == learner.fit(X, y).certificate_


def test_a_regression_leaves_out_records_without_a_number() -> None:
    X, y = [[1], [2], [3]] * 40, [0.0, 0.5, 1.0] * 40
    learner = PrivateEBMRegressor(epsilon=1.0, domain=ONE, target_range=(0, 1), random_state=0)
    wanted = to_dict(learner.fit(X, y).model_)
    for odd in (None, math.nan, "many", b"1", datetime.date(2020, 1, 1)):
        assert to_dict(learner.fit([*X, [1]], [*y, odd]).model_) == wanted


TEXTS_OF_NUMBERS: dict[str, Attribute] = {
    "zeros": Category(("01", "02")),
    "truths": Category(("true", "false"), missing=True),
    "decimals": Category(("1.0", "2.0")),
    "some": Category(("1", "2", "x")),
    "numbers": Category((0, 1, 2), missing=True),
    "words": Category(("a", "b"), missing=True),
}


@pytest.mark.parametrize("cell", ["1", "01", "1.0", "True", "inf", "-inf", "1e999", "9" * 400, "nan", "NaN", "", "a"])
@pytest.mark.parametrize("beside", ["2", "0.5", "x", "inf", "True", ""])
def test_a_cell_that_pandas_infers_a_type_for_reads_as_itself(cell: str, beside: str, tmp_path: Path) -> None:
    domain = Domain(TEXTS_OF_NUMBERS)

    def read(cells: list[str], through: Callable[[Path], Any]) -> list[tuple[Any, ...]]:
        path = tmp_path / "records.csv"
        rows = [",".join([value] * len(domain)) for value in cells]
        path.write_text("\n".join([",".join(domain), *rows]) + "\n")
        return row_values(read_settled(through(path), domain, keep_undeclared=True))

    for through in (
        lambda path: pd.read_csv(path),
        lambda path: read_table(RecordsFile(path=path), Purpose.PRIVATE, domain).frame,
    ):
        (alone,) = read([cell] if cell else [cell, cell], through)[:1]
        assert read([cell, cell, beside], through)[0] == alone


def test_labels_and_rows_of_any_sequence_are_read_one_by_one() -> None:
    assert class_codes([[0], [0], 1], (0, 1)).tolist() == class_codes([[0], [0], [1]], (0, 1)).tolist() == [0, 0, 1]
    assert class_codes([np.array([0]), 1], (0, 1)).tolist() == [0, 1]
    domain = Domain({"a": Category(("1", "2")), "b": Integer(0, 9)})
    rows = [collections.deque([1.0, 5.0]), collections.deque([1.0, 7.0])]
    alone = read_settled(rows, domain).codes["a"].tolist()
    assert read_settled([*rows, collections.deque(["x", 3.0])], domain).codes["a"].tolist()[:2] == alone
    masked = np.ma.MaskedArray([[1, 5], [2, 6]], mask=[[False, True], [False, False]])
    assert read_settled(masked, domain).numbers["b"].tolist() == [0.0, 6.0]


def test_what_cannot_be_hashed_changes_no_other_value() -> None:
    domain = Domain({"a": Category((0, 1))})
    first = read_settled([[1 + 0j], [0]], domain).codes["a"].tolist()[0]
    assert read_settled([[1 + 0j], [[3]]], domain).codes["a"].tolist()[0] == first


@pytest.mark.parametrize("container", ["list", "object array", "pandas objects", "list of mappings"])
def test_queries_are_read_as_records_are(container: str) -> None:
    tree = PrivateTreeClassifier(1, epsilon=0.1, domain=DOMAIN, classes=(0, 1), random_state=0)
    rows: Rows = [tuple(value for _ in ATTRIBUTES) for value in ODD]
    tree.fit(ANYTHING[container](rows), [0] * len(rows))
    read = row_values(read_records(tree, ANYTHING[container](rows), DOMAIN))
    assert read == records_read(ANYTHING["list"](rows))


@pytest.mark.parametrize(
    ("rows", "same"),
    [
        ([[1, 0], [1], [], None, [0, 1, 2]], [[1, 0], [1, None], [None, None], [None, None], [0, 1]]),
        ([{"a": 1}, {"b": 0}, {"a": 1, "b": 0, "c": 2}], [[1, None], [None, 0], [1, 0]]),
    ],
    ids=["rows", "mappings"],
)
def test_a_row_of_a_private_fit_has_gaps_for_what_it_lacks_and_no_more_than_is_declared(
    rows: list[Any], same: list[Any]
) -> None:
    """A refusal would tell of one record."""
    domain = Domain({"a": Binary(missing=True), "b": Binary(missing=True)})

    def model(records: list[Any]) -> dict[str, Any]:
        tree = PrivateTreeClassifier(1, epsilon=1e3, domain=domain, classes=(0, 1), random_state=0)
        labels = [place % 2 for place in range(len(records) * 9)]
        return to_dict(tree.fit(records * 9, labels).model_)

    assert model(rows) == model(same)
    assert model(rows) != model([[0, 0] for _ in rows])


def test_rows_of_different_lengths_are_refused_by_an_ordinary_fit() -> None:
    tree = OptimalTreeClassifier(1, domain=ONE, classes=(1, 0))
    with pytest.raises(InvalidDataError, match="one length"):
        tree.fit([[1], [1, 2]], [0, 1])


def test_an_arrow_dictionary_of_numbers_is_read_by_value() -> None:
    column = pa.array([1, 2, 3, None]).dictionary_encode()
    codes = read_settled(pa.table({"a": column}), ONE).codes["a"]
    assert codes.tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize("odd", [None, "1", "x", b"1", Decimal(1)])
def test_one_odd_value_makes_no_others_be_converted_one_by_one(odd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running time would show that it is there: fourteen times that of a column of numbers alone."""
    double = Mock(return_value=1.0)
    monkeypatch.setattr("glassine.records.cells.double", double)
    values = np.array([*range(100), odd], dtype=object)
    read_settled({"a": values}, Domain({"a": Integer(0, 100, missing=True)}))
    assert double.call_count <= 1


@pytest.mark.parametrize("make", [list, np.asarray, pd.Series, lambda x: pd.Series(x).astype("category"), pa.array])
def test_a_mapping_of_columns_is_fitted_as_the_frame_of_them(make: Any) -> None:
    rng = np.random.default_rng(0)
    columns = {"n": rng.integers(0, 101, 60).tolist(), "c": rng.choice(["p", "q"], 60).tolist()}
    domain = Domain({"n": Integer(0, 100), "c": Category(("p", "q"))})
    y = [int(n > 50) for n in columns["n"]]
    held = {name: make(column) for name, column in columns.items()}
    for learner in (
        OptimalTreeClassifier(1, domain=domain),
        PrivateTreeClassifier(1, epsilon=1.0, domain=domain, literals="coarse", classes=(0, 1), random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            framed = learner.fit(pd.DataFrame(columns), y).model_
            assert learner.fit(held, y).model_ == framed
            with pytest.raises(InvalidDataError, match="one length"):
                learner.fit({**held, "c": make(columns["c"][:9])}, y)
