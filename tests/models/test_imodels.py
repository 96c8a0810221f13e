"""Greedy rule lists of imodels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from imodels import GreedyRuleListClassifier, OneRClassifier

from glassine.domain import Domain, Integer, OneOf
from glassine.errors import InvalidModelError
from glassine.formats import as_model, tree_or_rules
from glassine.models import RuleList
from tests.models.test_scikit import columns_of, make_data


@pytest.mark.parametrize("depth", [1, 3, 6])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [GreedyRuleListClassifier, OneRClassifier])
def test_rules_and_counts(kind: Any, depth: int, seed: int) -> None:
    frame, target = make_data(seed=seed)
    names = np.array(["no", "yes"])[target]
    fitted = kind(max_depth=depth).fit(frame, names)
    model = as_model(fitted)
    assert isinstance(model, RuleList)
    assert model.classes == ("no", "yes")
    assert model.attributes == tuple(frame.columns)
    captured = model.apply(columns_of(frame))
    for i, rule in enumerate(model.rules):
        inside = target[captured == i]
        assert rule.evidence.counts == (int((inside == 0).sum()), int((inside == 1).sum()))
    labels = np.array([model.classes[rule.evidence.prediction or 0] for rule in model.rules])
    assert np.array_equal(labels[captured], fitted.predict(frame))


def test_binary_and_whole_attributes() -> None:
    frame, target = make_data()
    table = frame.assign(age=(frame["age"] > 0).astype(int), dose=np.round(frame["dose"]).astype(int))[["age", "dose"]]
    fitted = GreedyRuleListClassifier(max_depth=4).fit(table, target)
    domain = Domain({"age": Integer(0, 1), "dose": Integer(-9, 9)})
    model = as_model(fitted, domain)
    assert all(bound.is_integer() for lit in model.literals for bound in (lit.lo, lit.hi) if np.isfinite(bound))
    assert np.array_equal(model.apply(columns_of(table)), as_model(fitted).apply(columns_of(table)))
    bits = table[["age"]]
    one = as_model(GreedyRuleListClassifier(max_depth=1).fit(bits, target), Domain.binary(["age"]))
    assert isinstance(one.literals[0], OneOf)


SPLIT = {
    "col": "a",
    "index_col": 0,
    "cutoff": 0.5,
    "val": 0.2,
    "flip": False,
    "val_right": 0.75,
    "num_pts": 14,
    "num_pts_right": 4,
}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([SPLIT, {"val": 0.2, "num_pts": 9}], "but 10 are left"),
        ([SPLIT | {"cutoff": float("nan")}, {"val": 0.2, "num_pts": 10}], "not a finite number"),
        ([SPLIT | {"val_right": 1.5}, {"val": 0.2, "num_pts": 10}], "not a share"),
        ([SPLIT | {"num_pts_right": -1}, {"val": 0.2, "num_pts": 10}], "whole number"),
        ([{"val": 1, "num_pts": 1}, {"val": 0.2, "num_pts": 10}], "lacks 'col'"),
    ],
)
def test_bad_lists(rules: Any, message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        as_model(SimpleNamespace(rules_=rules))


def test_a_plain_look_alike_is_read() -> None:
    model = tree_or_rules(as_model(SimpleNamespace(rules_=[SPLIT, {"val": 0.2, "num_pts": 10}])))
    assert [cell.evidence.counts for cell in model.cells] == [(1, 3), (8, 2)]


def test_a_list_without_default_rule_tells_the_rest() -> None:
    model = tree_or_rules(as_model(SimpleNamespace(rules_=[SPLIT, SPLIT | {"num_pts": 10}])))
    assert model.cells[-1].evidence.size == 10
    assert model.cells[-1].evidence.prediction is None


def test_an_unfitted_list_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="not fitted"):
        as_model(GreedyRuleListClassifier())
    fitted = GreedyRuleListClassifier().fit(*make_data())
    with pytest.raises(InvalidModelError, match="which the domain lacks"):
        as_model(fitted, Domain.binary(["nothing"]))
