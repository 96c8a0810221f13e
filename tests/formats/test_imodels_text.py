"""Rule lists as imodels prints them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from glassine.domain import Domain, Integer, Real
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import as_model, load_model
from glassine.formats.sklearn.imodels import rules_from_imodels_text
from glassine.models import RuleList
from tests.models.fuzzing import damaged, read_or_refused

FILES = Path(__file__).parent / "files"
TEXT = (FILES / "imodels.txt").read_text()


def test_percents_tell_counts_of_small_rules() -> None:
    rules = load_model(FILES / "imodels.txt", Domain({"age in years": Integer(0, 120), "b": Real(-1e6, 1e6)}))
    assert isinstance(rules, RuleList)
    assert rules.classes == ("ill", "well")
    assert [str(cell.inside[-1]) for cell in rules.cells[:-1]] == [
        "age in years <= 50",
        f"b > {np.nextafter(-7652, -np.inf)}",
        f"b <= {np.nextafter(-147963, -np.inf)}",
        "age in years <= 56",
    ]
    assert [cell.evidence.counts for cell in rules.cells] == [(0, 82), (44, 16), (6, 2), (4, 2), None]
    assert rules.cells[-1].evidence.total == 1044


@pytest.mark.parametrize("name", ["GreedyRuleListClassifier", "OneRClassifier"])
def test_what_imodels_prints_is_what_it_holds(name: str) -> None:
    imodels: Any = pytest.importorskip("imodels")
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(18, 90, 90), rng.integers(0, 50, 90)]).astype(float)
    target = np.where((table[:, 0] > 50) & (rng.random(90) < 0.8), "ill", "well")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = getattr(imodels, name)(max_depth=3).fit(table, target, feature_names=["age in years", "b"])
        printed = str(fitted)
    if "→" not in printed:
        pytest.skip("this version of imodels prints another text")
    read, held = rules_from_imodels_text(printed), as_model(fitted)
    columns: dict[str, Any] = {"age in years": table[:, 0], "b": table[:, 1]}
    assert read.classes == held.classes
    assert read.apply(columns).tolist() == held.apply(columns).tolist()
    assert [cell.evidence.counts for cell in read.cells] == [cell.evidence.counts for cell in held.cells]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  ELSE       ", "  THEN       ", "one ELSE"),
        ("b ≥ -7,652", "b is -7,652", "line 7"),
        ("classes: ill, well", "classes: ill, well, dead", "two classes"),
        ("50.5", "5e999", "finite"),
    ],
)
def test_bad_texts_are_refused(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=message):
        rules_from_imodels_text(TEXT.replace(old, new))


def test_attributes_that_can_be_missing_are_refused() -> None:
    domain = Domain({"age in years": Integer(0, 120, missing=True), "b": Real(-1e6, 1e6)})
    with pytest.raises(InvalidModelError, match="where missing values go"):
        rules_from_imodels_text(TEXT, domain)


@settings(max_examples=60)
@given(damaged(TEXT))
def test_damaged_lists_raise_only_our_errors(text: str) -> None:
    read_or_refused(lambda: rules_from_imodels_text(text))
