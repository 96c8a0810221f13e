"""Models whose conditions name prefixes: one prediction, whatever the model is written as."""

from __future__ import annotations

import json
import runpy
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glassine
from glassine.domain import Binary, Category, Domain, OneOf, Prefix
from glassine.domain.prefixes import GAP_TEXTS
from glassine.errors import GlassineError, UnsupportedModelError
from glassine.formats import format_rules, to_onnx, to_pmml, to_python, to_sklearn, to_sql, to_text, write_model
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule, RuleList

CODES = Category(("F05", Prefix("E"), Prefix("E1"), Prefix("F"), Prefix("N")), missing=True)
DOMAIN = Domain({"icd": CODES, "b": Binary()})
ICD = [*(f"{letter}{number:02d}" for letter in "EFNX" for number in range(20)), "NA", "e10", "", "E", None]


def records() -> pl.DataFrame:
    return pl.DataFrame({"icd": [*ICD, *ICD], "b": [0] * len(ICD) + [1] * len(ICD)})


def tree(literal: OneOf) -> DecisionTree:
    sides = (Branch(literal, 1), Branch(literal.negate(), 2))
    leaves = (Node(evidence=Evidence(counts=(3, 1))), Node(evidence=Evidence(counts=(1, 3))))
    return DecisionTree((Node(branches=sides), *leaves), ("icd", "b"), ("well", "ill"))


LITERALS = [
    OneOf("icd", (value,), negated=negated, missing=missing)
    for value in CODES.values
    for negated in (False, True)
    for missing in (False, True)
] + [OneOf("icd", ("F05", Prefix("E"), Prefix("")), negated=negated, missing=True) for negated in (False, True)]


@pytest.mark.parametrize("literal", LITERALS, ids=str)
def test_every_export_predicts_what_the_model_predicts(literal: OneOf, tmp_path: Path) -> None:
    # Texts that stand for a gap are missing to a model; an export leaves it to its caller to make NULL of them.
    model, frame = tree(literal), records().filter(~pl.col("icd").is_in(GAP_TEXTS) | pl.col("icd").is_null())
    expected = model.predict(frame).tolist()
    assert len(frame) > 20
    (tmp_path / "model.py").write_text(to_python(model))
    space = runpy.run_path(str(tmp_path / "model.py"))
    assert [space["predict"](row) for row in frame.to_dicts()] == expected
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t (icd TEXT, b INTEGER)")
    base.executemany("INSERT INTO t VALUES (?, ?)", frame.rows())
    assert [row[-1] for row in base.execute(to_sql(model, "t"))] == expected
    duckdb = pytest.importorskip("duckdb")
    duckdb.register("t", frame.to_arrow())
    assert [row[-1] for row in duckdb.sql(to_sql(model, "t")).fetchall()] == expected
    assert pl.SQLContext(t=frame).execute(to_sql(model, "t"), eager=True)["prediction"].to_list() == expected


def test_a_model_is_the_same_after_json(tmp_path: Path) -> None:
    for literal in LITERALS:
        path = tmp_path / "model.json"
        write_model(tree(literal), path, overwrite=True)
        assert glassine.load_model(path) == tree(literal)


@pytest.mark.parametrize("write", [to_text, to_pmml, to_onnx, to_sklearn])
def test_a_format_that_cannot_name_a_prefix_refuses_it(write: Any) -> None:
    if write is to_onnx:
        pytest.importorskip("onnx")
    with pytest.raises(UnsupportedModelError, match="texts of the prefix"):
        write(tree(OneOf("icd", (Prefix("E"),))))


def test_the_text_of_a_rule_list_is_refused_as_it_would_read_back_as_another_model() -> None:
    first = Rule(antecedent=(OneOf("icd", (Prefix("E"),)),), evidence=Evidence(label=1))
    rules = RuleList(rules=(first, Rule(evidence=Evidence(label=0))), attributes=("icd",), classes=("well", "ill"))
    with pytest.raises(UnsupportedModelError, match="texts of the prefix"):
        format_rules(rules)


def test_a_model_that_names_part_of_a_declared_prefix_is_not_audited() -> None:
    with pytest.raises(GlassineError, match="not a value of its domain"):
        glassine.audit(tree(OneOf("icd", ("E11",))), domain=DOMAIN)


@pytest.mark.parametrize(
    "fit",
    [
        glassine.learners.PrivateTreeClassifier(
            epsilon=8.0, max_depth=2, domain=DOMAIN, classes=("ill", "well"), random_state=0
        ),
        glassine.learners.PrivateRuleListClassifier(
            epsilon=8.0, max_rules=3, domain=DOMAIN, classes=("ill", "well"), random_state=0
        ),
        glassine.learners.OptimalTreeClassifier(max_depth=2, domain=DOMAIN),
        glassine.learners.OptimalRuleListClassifier(max_rules=2, domain=DOMAIN),
    ],
    ids=lambda fit: type(fit).__name__,
)
def test_a_fitted_model_predicts_raw_codes_and_is_audited(fit: Any) -> None:
    rng = np.random.default_rng(0)
    codes = rng.choice([code for code in ICD if code not in (None, "", "NA")], 600)
    frame = pl.DataFrame({"icd": codes.tolist(), "b": rng.integers(0, 2, 600)})
    y = np.where(np.char.startswith(codes.astype(str), "E1") | (codes == "F05"), "ill", "well")
    fit.fit(frame, y)
    model = fit.model_
    assert any(isinstance(value, Prefix) for literal in model.literals for value in getattr(literal, "values", ()))
    predicted = model.predict(frame)
    assert (predicted == y).mean() > 0.97
    assert predicted.tolist() == fit.predict(frame).tolist() == model.predict(frame.to_pandas()).tolist()
    findings = glassine.audit(model, frame.with_columns(y=pl.Series(y.tolist())), "y", domain=DOMAIN)
    assert "E1*" in json.dumps(findings.to_dict())


def test_records_that_stay_with_an_engine_give_the_same_private_model() -> None:
    duckdb = pytest.importorskip("duckdb")
    domain = Domain({"icd": CODES, "b": Binary(), "y": Category(("ill", "well"))})
    frame = records().with_columns(y=pl.Series(["ill", "well"] * len(ICD)))
    found = []
    for data in (frame, frame.lazy(), duckdb.from_arrow(frame.to_arrow())):
        fit = glassine.learners.PrivateTreeClassifier(epsilon=8.0, max_depth=2, domain=domain, random_state=1)
        found.append(fit.fit(data, "y").model_)
    assert found[0] == found[1] == found[2]
