"""Additive models as SQL, Python and text give what the model gives."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.files import FileContent
from glassine.formats import load_model, to_python, to_sql, to_text
from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.models.editing import monotone, zero
from tests.models.additive_models import additive_models, income_model, records_for, simple_model
from tests.models.test_sql import frame_of, in_duckdb, in_sqlite
from tests.models.writing import HOSTILE

COLUMNS = ("x", "y z", "w")


def sql_records(model: AdditiveModel, seed: int) -> dict[str, Any]:
    """Return records as columns of numbers or of texts."""
    records = records_for(model, np.random.default_rng(seed), 12)
    for name, values in records.items():
        kinds = {type(v) for v in values.tolist()} - {type(None)}
        if kinds == {int}:
            records[name] = np.array([math.nan if v is None else v for v in values], dtype=float)
    return records


@pytest.mark.slow
@settings(max_examples=60)
@given(additive_models(plain=True), st.integers(0, 2**32 - 1))
def test_sql_adds_to_the_last_digit(model: AdditiveModel, seed: int) -> None:
    records = sql_records(model, seed)
    frame = frame_of(records)
    expected, predicted = model.scores(records), model.predict(records)
    rows = in_duckdb(to_sql(model, "records", probabilities=model.classes is not None), frame)
    assert [row["prediction"] for row in rows] == predicted.tolist()
    names = ["prediction_score"]
    if model.link == "softmax":
        names = [f"prediction_score_{label}" for label in model.classes or ()]
    assert [[row[name] for name in names] for row in rows] == expected.tolist()
    if model.classes is not None:
        found = [[row[f"probability_{label}"] for label in model.classes] for row in rows]
        assert np.allclose(found, model.predict_proba(records), atol=1e-12)
    if model.link != "softmax":
        alone = in_duckdb(f"SELECT {to_sql(model)} AS p FROM records", frame)  # noqa: S608, the expression is tested
        assert [row["p"] for row in alone] == predicted.tolist()


@pytest.mark.slow
@settings(max_examples=30)
@given(additive_models(plain=True), st.integers(0, 2**32 - 1))
def test_sqlite_agrees(model: AdditiveModel, seed: int) -> None:
    records = sql_records(model, seed)
    expected = model.scores(records)
    name = "prediction_score" if model.link != "softmax" else f"prediction_score_{(model.classes or ())[-1]}"
    rows = in_sqlite(to_sql(model, "records"), frame_of(records))
    assert np.allclose([row[name] for row in rows], expected[:, -1], rtol=1e-12, atol=1e-300)


def test_sql_refuses_what_it_cannot_say() -> None:
    model = simple_model([1.0, 2.0, 3.0])
    with pytest.raises(InvalidModelError, match="Give the table"):
        to_sql(model, probabilities=True)
    with pytest.raises(InvalidModelError, match="regression has no probabilities"):
        to_sql(model, "t", probabilities=True)
    term = Term(bins=(CategoryBins("x", ((1, "1"),)),), scores=np.zeros(2))
    with pytest.raises(UnsupportedModelError, match="kinds number and text"):
        to_sql(simple_model([1.0, 2.0, 3.0], terms=(term,)))
    several = simple_model(
        [1.0, 2.0, 3.0],
        terms=(Term(bins=model.terms[0].bins, scores=np.zeros((3, 3))),),
        link="softmax",
        classes=("a", "b", "c"),
        intercept=(0.0, 0.0, 0.0),
    )
    with pytest.raises(InvalidModelError, match="Give the table"):
        to_sql(several)


@pytest.mark.parametrize("name", [text for text in HOSTILE if text.lower() != "a b"])
def test_names_and_values_cannot_break_out(name: str) -> None:
    term = Term(bins=(CategoryBins(name, ((f"{name}!",),)),), scores=np.array([1.5, -0.25]))
    model = AdditiveModel(
        attributes=(name,), terms=(term,), intercept=(0.5,), link="logit", classes=("no", name), target=name
    )
    columns = {name: np.array([f"{name}!", "other", None], dtype=object)}
    if "\\" in name:
        with pytest.raises(InvalidModelError, match="holds a backslash"):
            to_sql(model, "records")
    rows = in_duckdb(to_sql(model, "records", dialect="duckdb"), frame_of(columns))
    assert [row["prediction_score"] for row in rows] == [2.0, 0.25, 0.25]
    assert [row["prediction"] for row in rows] == [name] * 3
    space = run(model)
    assert space["scores"]({name: f"{name}!"}) == [2.0]
    assert space["predict"]({name: None}) == name
    lines = to_text(model).splitlines()
    assert len(lines) == 10
    assert read_text(to_text(model)).terms == model.terms


def run(model: AdditiveModel) -> dict[str, Any]:
    """Return the functions of the written source, which is of ASCII characters and imports nothing."""
    source = to_python(model)
    source.encode("ascii")
    tree = ast.parse(source)
    assert {type(node) for node in tree.body[1:]} <= {ast.Assign, ast.FunctionDef}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    space: dict[str, Any] = {}
    exec(compile(source, "model.py", "exec"), space)  # noqa: S102, the source is what is tested
    return space


@pytest.mark.slow
@given(additive_models(), st.integers(0, 2**32 - 1))
def test_python_adds_to_the_last_digit(model: AdditiveModel, seed: int) -> None:
    records = records_for(model, np.random.default_rng(seed), 8)
    space = run(model)
    expected, predicted = model.scores(records), model.predict(records).tolist()
    for row in range(8):
        record = {name: values[row] for name, values in records.items()}
        assert space["scores"](record) == expected[row].tolist()
        assert space["predict"](record) == predicted[row]
        if model.classes is not None:
            shares = space["predict_proba"](record)
            assert list(shares) == list(model.classes)
            one = {name: values[row : row + 1] for name, values in records.items()}
            assert np.allclose(list(shares.values()), model.predict_proba(one)[0], rtol=1e-9, atol=1e-12)


def read_text(text: str) -> AdditiveModel:
    model = load_model(FileContent(path=Path("model.txt"), data=text.encode()))
    assert isinstance(model, AdditiveModel)
    return model


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(additive_models(), st.integers(0, 2**32 - 1), st.booleans())
def test_the_text_of_every_additive_model_reads_back(model: AdditiveModel, seed: int, edited: bool) -> None:
    if edited and model.terms:
        model = zero(model, model.terms[0].name, reason='a "reason" of two\n\nparagraphs')
    text = to_text(model)
    read = read_text(text)
    assert to_text(read) == text
    records = records_for(model, np.random.default_rng(seed))
    assert np.array_equal(read.scores(records), model.scores(records))
    parts = ("attributes", "classes", "link", "target", "target_bounds", "edits")
    assert [getattr(read, part) for part in parts] == [getattr(model, part) for part in parts]


def test_the_text_of_a_term_says_its_side_and_its_name() -> None:
    bins = (NumericBins("a & b", (-2.5, 1e-9), closed="left"), CategoryBins('say "x"', (("other", "", 1), (None, "<"))))
    term = Term(bins=bins, scores=np.arange(12.0).reshape(4, 3), name="both, of them")
    attributes = tuple(entry.attribute for entry in bins)
    model = AdditiveModel(attributes=attributes, terms=(term,), intercept=(0.5,), link="identity")
    assert read_text(to_text(model)).terms == (term,)


CHANGES = (("0.5", "0.50"), ("<= 1", "<= 1 "), ("term ", "note\n\nterm "), ("identity", "probit"), ("missing", "gone"))


@pytest.mark.parametrize("change", CHANGES)
def test_a_text_that_was_changed_in_more_than_blanks_is_refused(change: tuple[str, str]) -> None:
    text = to_text(simple_model([0.5, 2.0, 0.0]))
    changed = text.replace(*change, 1)
    assert text != changed
    if change[1].split() == change[0].split():
        assert to_text(read_text(changed)) == text
        return
    with pytest.raises(UnsupportedModelError, match="something was added or changed"):
        read_text(changed)


def test_text_tells_every_score_and_edit() -> None:
    model = monotone(income_model(), "hours", reason="trade\nlore")
    text = to_text(model)
    for term in model.terms:
        for value in term.scores.ravel().tolist():
            assert repr(value) in text or f"{value:g}" in text
    assert '"1. monotone hours, first 0, last 6, direction increasing: 2 scores (trade\\nlore)"' in text
    assert 'classes: "<=50K", ">50K"' in text
