"""SQL gives what the model predicts, in three engines."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassine import parse_rules
from glassine.domain import Between, OneOf
from glassine.errors import InvalidModelError, InvalidParameterError, UnsupportedModelError
from glassine.formats import to_sql
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule, RuleList
from tests.models.writing import HOSTILE, cases, chain, stump

DUCK = duckdb.connect(config={"threads": "1"})
Rows = list[dict[str, Any]]


def frame_of(columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
    """Return records as a table whose missing values are NULL."""
    return pl.DataFrame(
        {
            name: pl.Series(values.tolist(), dtype=pl.String)
            if values.dtype.kind == "O"
            else pl.Series([None if v != v else v for v in values.tolist()], dtype=pl.Float64)
            for name, values in columns.items()
        }
    )


def in_duckdb(query: str, frame: pl.DataFrame) -> Rows:
    DUCK.register("records", frame.to_arrow())
    found = DUCK.execute(query)
    names = [entry[0] for entry in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def in_polars(query: str, frame: pl.DataFrame) -> Rows:
    return pl.SQLContext(records=frame).execute(query, eager=True).to_dicts()


def in_sqlite(query: str, frame: pl.DataFrame) -> Rows:
    with sqlite3.connect(":memory:") as connection:
        kinds = {name: "TEXT" if kind == pl.String else "REAL" for name, kind in frame.schema.items()}
        quoted = {name: '"{}"'.format(name.replace('"', '""')) for name in kinds}
        columns = ", ".join(f"{quoted[name]} {kind}" for name, kind in kinds.items())
        connection.execute(f"CREATE TABLE records ({columns})")
        marks = ", ".join("?" for _ in kinds)
        connection.executemany(f"INSERT INTO records VALUES ({marks})", frame.rows())  # noqa: S608, question marks
        found = connection.execute(query)
        names = [entry[0] for entry in found.description]
        return [dict(zip(names, row, strict=True)) for row in found]


ENGINES: dict[str, Callable[[str, pl.DataFrame], Rows]] = {
    "duckdb": in_duckdb,
    "polars": in_polars,
    "sqlite": in_sqlite,
}


def outcome_or_none(model: DecisionTree | RuleList, columns: dict[str, npt.NDArray[Any]]) -> list[Any]:
    """Predictions one by one; None where a record satisfies no branch, as SQL gives NULL there."""
    out = []
    for row in range(len(next(iter(columns.values())))):
        try:
            out.append(model.predict({name: values[row : row + 1] for name, values in columns.items()})[0])
        except ValueError:
            out.append(None)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=120)
@given(case=cases())
def test_sql_predicts_what_the_model_predicts(engine: str, case: Any) -> None:
    model, _, columns = case
    rows = ENGINES[engine](to_sql(model, "records"), frame_of(columns))
    assert [row["prediction"] for row in rows] == outcome_or_none(model, columns)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40)
@given(case=cases(multiway=False))
def test_sql_gives_the_published_shares(engine: str, case: Any) -> None:
    model, _, columns = case
    if model.classes is None:
        with pytest.raises(InvalidModelError, match="a regression has no probabilities"):
            to_sql(model, "records", probabilities=True)
        return
    rows = ENGINES[engine](to_sql(model, "records", probabilities=True), frame_of(columns))
    found = [[row[f"probability_{label}"] for label in model.classes] for row in rows]
    expected = model.predict_proba(columns)
    assert np.allclose(np.array(found, dtype=float), expected, rtol=1e-12, atol=0, equal_nan=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_bare_expression_is_the_same(engine: str) -> None:
    text = "if [18 < age <= 40.5] then [ill] (3 examples)\nelse if [sex = f] then [?]\nelse [well] (5 examples)"
    rules = parse_rules(text)
    frame = pl.DataFrame({"age": [20.0, None, 50.0], "sex": ["f", "f", None]})
    rows = ENGINES[engine](f"SELECT {to_sql(rules)} AS p FROM records", frame)  # noqa: S608, what is tested
    assert [row["p"] for row in rows] == ["ill", None, "well"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_names(engine: str, text: str) -> None:
    model = stump(f"x{text}", text, (text, "other"))
    frame = pl.DataFrame({f"x{text}": [text, "no", None]})
    query = to_sql(model, "records", prediction=f"p{text}", probabilities=True, dialect=engine)
    rows = ENGINES[engine](query, frame)
    assert [row[f"p{text}"] for row in rows] == [text, "other", "other"]
    assert [row[f"probability_{text}"] for row in rows] == [0.75, 1 / 6, 1 / 6]


BREAKING = ["\\", "a\\", "a\\\\", "\\' OR 1=1 --", "\\n", "it's \\"]
"""Texts that end in a backslash or hold one: engines that read escapes go on reading behind their end."""


@pytest.mark.parametrize("text", BREAKING)
@pytest.mark.parametrize("kind", ["value", "class", "column", "prediction"])
def test_a_backslash_is_refused_where_the_engine_is_not_known(kind: str, text: str) -> None:
    column, value, label, predicted = (
        text if kind == one else "x" for one in ("column", "value", "class", "prediction")
    )
    model = stump(column, value, (label, "other"))
    with pytest.raises(InvalidModelError, match="holds a backslash"):
        to_sql(model, "records", prediction=predicted)


def test_an_engine_that_is_not_tested_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="must be one of duckdb, polars, spark, sqlite"):
        to_sql(stump("x", "a", ("no", "yes")), dialect="snow")


@pytest.mark.spark
@pytest.mark.parametrize("text", [*HOSTILE, *BREAKING])
def test_hostile_names_stay_names_in_spark(text: str, spark: Any) -> None:
    # Spark has no columns with two of these, whatever their quotes; texts are what breaks out.
    name = "x" if {*text} & set(" ,;{}()\n\t=.") else f"x{text}"
    model = stump(name, text, (text, "other"))
    frame = spark.createDataFrame([(text,), ("no",), (None,)], f"`{name.replace('`', '``')}` string")
    frame.createOrReplaceTempView("records")
    rows = spark.sql(to_sql(model, "records", dialect="spark")).collect()
    assert [row["prediction"] for row in rows] == [text, "other", "other"]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    builder = import_module("pyspark.sql").SparkSession.builder.master("local[1]").appName("glassine")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


def test_a_column_that_is_not_there_is_an_error_not_a_text() -> None:
    """SQLite reads an unknown name in double quotes as a text unless the table qualifies it."""
    rules = parse_rules("if [age <= 40.5] then [ill] (3 examples)\nelse [well] (5 examples)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        in_sqlite(to_sql(rules, "records"), pl.DataFrame({"weight": [1.0]}))


@pytest.mark.parametrize("engine", ENGINES)
def test_deep_trees_run(engine: str) -> None:
    model = chain(150)
    frame = pl.DataFrame({"x": [-1.0, 70.5, 1000.0, None]})
    rows = ENGINES[engine](to_sql(model, "records"), frame)
    assert [row["prediction"] for row in rows] == model.predict({"x": np.array([-1.0, 70.5, 1000.0, np.nan])}).tolist()


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=60)
@given(bound=st.floats(-1e12, 1e12, allow_subnormal=False))
@example(bound=0.1 + 0.2)
def test_thresholds_of_any_digits_are_compared_as_doubles(engine: str, bound: float) -> None:
    first = Rule(antecedent=(Between("x", hi=bound),), evidence=Evidence(label=1))
    rules = RuleList((first, Rule(evidence=Evidence(label=0))), ("x",), (0, 1))
    values = [bound - 1, bound, float(np.nextafter(bound, np.inf))]
    rows = ENGINES[engine](to_sql(rules, "records"), pl.DataFrame({"x": values}))
    assert [row["prediction"] for row in rows] == [1, 1, 0]


def test_what_a_column_cannot_hold_is_refused() -> None:
    mixed = RuleList((Rule(antecedent=(OneOf("x", ("a", 1)),)), Rule()), ("x",), (0, 1))
    with pytest.raises(UnsupportedModelError, match="the values of 'x' are of kinds number and text"):
        to_sql(mixed)
    classes = RuleList((Rule(evidence=Evidence(label=0)),), ("x",), (0, "a"))
    assert to_sql(classes) == "0"
    both = stump("x", "a", (0, "a"))
    with pytest.raises(UnsupportedModelError, match="the classes are of kinds"):
        to_sql(both)
    with pytest.raises(InvalidModelError, match="null or half"):
        to_sql(stump("x", "a\0b", ("no", "yes")))
    with pytest.raises(InvalidModelError, match="half a character pair"):
        to_sql(stump("x\ud800", "a", ("no", "yes")))
    with pytest.raises(InvalidModelError, match="at least one character"):
        to_sql(stump("", "a", ("no", "yes")))
    with pytest.raises(InvalidModelError, match="Give the table"):
        to_sql(stump("x", "a", ("no", "yes")), probabilities=True)
    wrong: Any = "model.json"
    with pytest.raises(UnsupportedModelError, match="got str, not a model"):
        to_sql(wrong)


def test_a_qualified_table() -> None:
    model = replace(stump("x", "a", ("no", "yes")), source="x")
    assert to_sql(model, ("main", "my table")).endswith('FROM "main"."my table" AS r')


def test_branches_on_presence_only() -> None:
    for literal in (Between("x"), Between("x", missing=True), OneOf("x", ()), OneOf("x", (), negated=True)):
        nodes = (
            Node(branches=(Branch(literal, 1), Branch(literal.negate(), 2))),
            Node(evidence=Evidence(label=0)),
            Node(evidence=Evidence(label=1)),
        )
        model = DecisionTree(nodes, ("x",), (0, 1))
        rows = in_duckdb(to_sql(model, "records"), pl.DataFrame({"x": [1.0, None]}))
        assert [row["prediction"] for row in rows] == model.predict({"x": np.array([1.0, np.nan])}).tolist()
