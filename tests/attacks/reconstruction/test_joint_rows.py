"""Rows that meet the counts of several models."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Domain, Integer, Real
from glassine.attacks.outcome import Failed, Measured, NotApplicable
from glassine.attacks.reconstruction.record_reconstruction import reconstruct_records
from glassine.attacks.reconstruction.row_result import model_is_met
from glassine.attacks.reconstruction.systems import Search
from glassine.domain import Between
from glassine.errors import InvalidParameterError
from glassine.models import Evidence, Rule, RuleList
from tests.attacks.reconstruction.test_joint import DOMAIN, stump
from tests.attacks.reconstruction.toys import toy
from tests.oracles.joint import data_sets


def test_rows_meet_the_counts_of_trees_and_rule_lists() -> None:
    for seed in (0, 3, 8):
        case = toy(seed, 3, n_records=4)
        found = reconstruct_records(case.models, case.domain, random_state=0, search=Search(time_limit=20, workers=1))
        assert isinstance(found, Measured)
        rows = found.value
        assert rows.n_records == 4
        assert all(model_is_met(model, rows.rows, None) for model in case.models)
        told = [m for m in case.models if all(c.evidence.counts is not None for c in m.cells)]
        if told:
            assert rows.labels is not None
            codes = np.array(rows.labels.tolist(), dtype=np.intp)
            assert all(model_is_met(model, rows.rows, codes) for model in told)
        labels = case.labels if told else [0] * 4
        sets = data_sets(case.models, case.domain, labels)
        kinds = {tuple(sorted(zip(s, labels, strict=True))) for s in sets}
        assert (rows.status == "unique") >= (len(kinds) == 1)


def test_a_rule_list_and_a_tree_of_the_same_records() -> None:
    first = stump("age", 40, (3, 0), (0, 4), classes=("no", "yes"))
    second = stump("age", 20, (1, 0), (2, 4), classes=("no", "yes"))
    small = Domain({"age": Integer(20, 41), "height": Integer(100, 100)})
    found = reconstruct_records([first, second], small, random_state=0)
    assert isinstance(found, Measured)
    assert found.value.status == "unique"
    assert sorted(found.value.rows["age"].tolist())[:1] == [20]
    assert sorted(found.value.labels.tolist()) == ["no"] * 3 + ["yes"] * 4 if found.value.labels is not None else False
    assert found.value.determined[:, 1].all()
    assert found.value.error_to(pl.DataFrame({"age": [20, 30, 35, 41, 41, 41, 41], "height": [100] * 7})).error < 0.2


def test_what_cannot_be_rebuilt_says_so() -> None:
    clash = reconstruct_records([stump("age", 40, 5, 5), stump("age", 40, 6, 4)], DOMAIN)
    assert isinstance(clash, Failed)
    assert "contradict" in clash.reason
    other = reconstruct_records([stump("age", 40, 5, 5), stump("age", 40, 6, 5)], DOMAIN)
    assert isinstance(other, Failed)
    rounded = reconstruct_records([stump("age", 40, 5, 5, approximate=True)], DOMAIN)
    assert isinstance(rounded, NotApplicable)
    many = reconstruct_records([stump("age", 40, 5, 5), stump("height", 150, 6, 4)], DOMAIN, search=Search(max_parts=2))
    assert isinstance(many, Failed)
    assert "more than 2 regions" in many.reason
    bad: list[dict[str, Any]] = [{"time_limit": float("nan")}, {"workers": 0}, {"max_parts": 2.5}]
    for wrong in bad:
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            reconstruct_records([stump("age", 40, 5, 5)], DOMAIN, search=Search(**wrong))


def test_nothing_is_certain_where_single_points_can_hold_records() -> None:
    domain = Domain({"age": Real(0.0, 1.0), "height": Real(0.0, 1.0)})
    rule = Rule(antecedent=(Between("age", 0.0), Between("height", hi=0.5)), evidence=Evidence(total=5))
    rules = RuleList((rule, Rule(evidence=Evidence(total=5))), ("age", "height"))
    found = reconstruct_records([rules, stump("height", 0.3, 4, 6)], domain, random_state=0, search=Search(workers=1))
    assert isinstance(found, Measured)
    assert found.value.certain is None
    assert found.value.status != "unique"
    needed = reconstruct_records([rules, stump("height", 0.5, 6, 4)], domain, random_state=0, search=Search(workers=1))
    assert isinstance(needed, Failed)
    assert "single points" in needed.reason
