"""Each reader says where sizes come from: a limit on records does not pass by sums of weights alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text

from glassine import AuditSettings, Domain, Integer, Real, audit
from glassine.auditing.statements import Statements
from glassine.errors import InvalidParameterError
from glassine.formats import load_model, to_pmml, to_sklearn, to_text, write_model
from glassine.models import AdditiveModel, DecisionTree, NumericBins, RuleList
from glassine.models.terms import Term
from tests.formats.reading import read_cells
from tests.policies import NORM

FILES = Path(__file__).parent.parent / "formats" / "files"
ORIGINS = {
    "boosted": ("xgboost.json", "derived"),
    "weighed categories": ("xgboost_categories.ubj", "derived"),
    "LightGBM": ("lightgbm.txt", "stored"),
    "treelite of shares": ("treelite_shares.json", "stored"),
    "rpart": ("rpart.txt", "stored"),
    "rpart regression": ("rpart_regression.txt", "stored"),
    "tree of R": ("r_tree.txt", "derived"),
    "partykit": ("ctree.txt", "derived"),
    "C4.5": ("c45.txt", "derived"),
    "C5.0": ("c50.txt", "derived"),
    "J48": ("j48.txt", "derived"),
    "PMML": ("tree.pmml", "derived"),
    "graphviz": ("tree.dot", "stored"),
}
ROWS = pd.DataFrame({"a": np.repeat([1.0, 9.0], [6, 7])})
TARGET = np.repeat([0, 1], [6, 7])
FITTED = DecisionTreeClassifier(max_depth=1).fit(ROWS, TARGET, sample_weight=np.full(13, 2.0))


@pytest.mark.parametrize("name", ORIGINS)
def test_a_file_says_where_its_sizes_come_from(name: str) -> None:
    file, origin = ORIGINS[name]
    assert read_cells(FILES / file).sizes == origin


def of_weights(form: str, folder: Path) -> Path:
    """Return a file of a tree of 6 and 7 people of weight 2, whose sums of weights are 12 and 14."""
    weights = {"0": [12.0, 0.0], "1": [0.0, 14.0]}
    path = folder / f"tree.{form}"
    pmml = (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary><DataField name="a" '
        'optype="continuous" dataType="double"/><DataField name="y" optype="categorical" dataType="string"/>'
        '</DataDictionary><TreeModel functionName="classification"><MiningSchema><MiningField name="a"/><MiningField '
        'name="y" usageType="target"/></MiningSchema><Node score="1" recordCount="26"><True/><Node score="0" '
        'recordCount="12"><SimplePredicate field="a" operator="lessOrEqual" value="5"/></Node><Node score="1" '
        'recordCount="14"><SimplePredicate field="a" operator="greaterThan" value="5"/></Node></Node></TreeModel>'
        "</PMML>"
    )
    texts = {
        "txt": export_text(FITTED, feature_names=["a"], show_weights=True),
        "pmml": pmml,
        "c45": f"a <= 5: 0 ({weights['0'][0]})\na > 5: 1 ({weights['1'][1]})\n",
    }
    path.write_text(texts[form])
    return path


def smallest(subject: Any, **options: Any) -> tuple[str, str]:
    """Return the status of the check of the smallest leaf, and what it means."""
    findings = audit(subject, domain=Domain({"a": Real(0, 10)}), **{"policy": NORM, **options})
    (check,) = [check for check in findings.checks if check.rule == "smallest_leaf"]
    return check.status, str(check.meaning)


@pytest.mark.parametrize("form", ["txt", "pmml", "c45"])
def test_sums_of_weights_pass_by_a_statement_or_by_matching_data(form: str, tmp_path: Path) -> None:
    model = read_cells(of_weights(form, tmp_path))
    assert model.n_records == 26
    status, meaning = smallest(model)
    assert (status, "sums of weights" in meaning) == ("unknown", True)
    stated = AuditSettings(statements=Statements(unweighted=True))
    assert smallest(model, settings=stated)[0] == "pass"
    twice = pd.concat([ROWS, ROWS])
    assert smallest(model, data=twice)[0] == "pass"
    # The 13 people themselves do not have these sizes.
    assert smallest(model, data=ROWS)[0] != "pass"


def test_sizes_that_are_too_small_fail_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    path.write_text(
        "|--- a <= 5.00\n|   |--- weights: [2.00, 1.00] class: 0\n"
        "|--- a >  5.00\n|   |--- weights: [0.00, 40.00] class: 1\n"
    )
    assert smallest(read_cells(path))[0] == "fail"


def test_rows_are_stored_whatever_their_weights() -> None:
    assert smallest(FITTED)[0] == "fail"
    assert [c.evidence.size for c in read_cells_of(FITTED).cells] == [6, 7]


def read_cells_of(estimator: Any) -> DecisionTree | RuleList:
    from glassine.formats import as_model

    model = as_model(estimator)
    assert isinstance(model, DecisionTree | RuleList)
    return model


def test_no_export_makes_counts_of_sums(tmp_path: Path) -> None:
    model = read_cells(of_weights("txt", tmp_path))
    write_model(model, tmp_path / "model.json", overwrite=True)
    assert json.loads((tmp_path / "model.json").read_text())["sizes"] == "derived"
    (tmp_path / "again.pmml").write_bytes(to_pmml(model).encode())
    (tmp_path / "again.skops").write_bytes(skops.io.dumps(to_sklearn(model)))
    (tmp_path / "again.txt").write_text(to_text(model))
    for name in ("model.json", "again.pmml", "again.skops", "again.txt"):
        back = load_model(tmp_path / name)
        assert smallest(back)[0] == "unknown", name
        stated = AuditSettings(statements=Statements(unweighted=True))
        assert smallest(back, settings=stated)[0] == ("pass" if name in ("model.json", "again.pmml") else "unknown"), (
            name
        )
    # What is stored stays so.
    stored = read_cells_of(DecisionTreeClassifier(max_depth=1).fit(pd.concat([ROWS, ROWS]), np.tile(TARGET, 2)))
    (tmp_path / "stored.pmml").write_bytes(to_pmml(stored).encode())
    assert smallest(load_model(tmp_path / "stored.pmml"))[0] == "pass"
    assert export_graphviz(FITTED).count("samples = 13") == 1


GRID = Domain({"a": Integer(0, 9, thresholds=(5,))})


def of_bins(weights: tuple[int, ...], sizes: Any = "derived") -> AdditiveModel:
    """Return an additive model of two bins, as interpret writes one of weighted records."""
    scores, sums = np.array([-0.5, 0.5, 0.0]), np.array(weights, dtype=float)
    term = Term(bins=(NumericBins("a", (5,), "left"),), scores=scores, weights=sums)
    return AdditiveModel(
        attributes=("a",), terms=(term,), intercept=(0.0,), link="logit", classes=(0, 1), sizes=sizes, target="y"
    )


@pytest.mark.parametrize("rule", ["smallest_leaf", "largest_advantage"])
def test_bins_of_sums_of_weights_pass_by_a_statement_or_by_matching_data(rule: str) -> None:
    # Of 6 and 7 people whose whole weights have no factor in common: 400 records they are not.
    def status(model: AdditiveModel, **options: Any) -> str:
        findings = audit(model, domain=GRID, policy=NORM, **options)
        return next(check.status for check in findings.checks if check.rule == rule)

    stated = AuditSettings(statements=Statements(unweighted=True))
    model = of_bins((197, 203, 0))
    records = pd.DataFrame({"a": np.repeat([1, 9], [197, 203])})
    assert status(of_bins((197, 203, 0), "stored")) == "pass"
    assert status(model) == "unknown"
    assert status(model, settings=stated) == "pass"
    assert status(model, data=records) == "pass"
    assert status(model, data=ROWS.astype(int)) == "unknown"
    assert status(of_bins((3, 4, 0))) == "fail"
    with pytest.raises(InvalidParameterError, match="contradicts the file: its sizes are multiples of 1,500"):
        status(of_bins((4500, 10500, 0)), settings=stated)


def test_sums_of_weights_do_not_hide_whom_a_cut_names() -> None:
    domain = Domain({"a": Real(0, 9, 0.001)})

    def named(model: AdditiveModel) -> Any:
        return next(c.measured for c in audit(model, domain=domain).checks if c.rule == "named_by_thresholds")

    assert named(of_bins((10**6 + 3, 10**6, 0))) == named(of_bins((6, 7, 0)))
