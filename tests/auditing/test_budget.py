"""An audit or a scrubbing that its budget ends says so: an unknown check, and no verdict that the rest would give."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from glassine import Binary, Domain, Integer, as_model, audit, scrub, write_model
from glassine.attacks.outcome import OutOfBudget
from glassine.errors import CostLimitError
from glassine.formats.printed.rules import parse_rules
from glassine.resources import Budget
from tests.cli.running import one_after_another

DOMAIN = Domain({"age": Integer(0, 99), "sex": Binary()})
RULES = "classes: [no] [yes]\nif [age <= 40] then [no] ([400; 20] examples)\nelse [yes] ([30; 600] examples)\n"


def records(n: int = 2000) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, n)
    return pl.DataFrame({"age": age, "sex": rng.integers(0, 2, n), "ill": (rng.random(n) < age / 100).astype(int)})


def _tree() -> Any:
    frame = records()
    return DecisionTreeClassifier(min_samples_leaf=100).fit(frame.drop("ill").to_pandas(), frame["ill"].to_numpy())


def _logit() -> Any:
    frame = records()
    return LogisticRegression().fit(frame.drop("ill").to_pandas(), frame["ill"].to_numpy())


@pytest.mark.parametrize("make", [_tree, _logit, lambda: parse_rules(RULES)], ids=["tree", "regression", "rules"])
@pytest.mark.parametrize("with_data", [False, True])
def test_what_the_budget_ends_is_an_unknown_check(make: Callable[[], Any], with_data: bool) -> None:
    model, frame = make(), records() if with_data else None
    before = audit(model, frame, "ill" if with_data else None, domain=DOMAIN)
    assert "cpu_limit" not in [check.rule for check in before.checks]
    with Budget(seconds=1e-9).applied():
        ended = audit(model, frame, "ill" if with_data else None, domain=DOMAIN)
    (check,) = (check for check in ended.checks if check.rule == "cpu_limit")
    assert check.status == "unknown"
    assert check.limit == 1e-9
    assert "the audit takes more than cpu_limit=1e-09 s of processor time" in check.meaning
    assert ended.verdict != "within policy"
    assert all(policy.verdict != "within policy" for policy in ended.policies)
    left_out = [outcome for outcome in ended.measured.values() if isinstance(outcome, OutOfBudget)]
    assert left_out
    assert json.dumps(ended.to_dict())


def test_scrubbing_asks_for_time() -> None:
    model = as_model(_tree(), DOMAIN)
    assert scrub(model, DOMAIN).model.cells
    for one in (model, parse_rules(RULES)):
        with Budget(seconds=1e-9).applied(), pytest.raises(CostLimitError, match=r"takes more than cpu_limit=1e-09 s"):
            scrub(one, DOMAIN)


def test_a_command_that_allows_no_copy_shows_what_is_known_and_writes_none(tmp_path: Path) -> None:
    write_model(as_model(_tree(), DOMAIN), tmp_path / "tree.json")
    DOMAIN.to_json(tmp_path / "domain.json")
    copy = tmp_path / "copy.json"
    with one_after_another() as run:
        words = ["scrub", str(tmp_path / "tree.json"), "--domain", str(tmp_path / "domain.json"), "--output", str(copy)]
        assert run(*words, "--cpu-limit", "0.000001", "--json", cwd=tmp_path) == 3
        assert not copy.exists()
        # The report that was asked for is on the model, and the text says so.
        report = tmp_path / "report.json"
        assert run(*words, "--cpu-limit", "0.000001", "--report", str(report), cwd=tmp_path) == 3
        assert not copy.exists()
        written = json.loads(report.read_text())
        assert [check["status"] for check in written["checks"] if check["rule"] == "cpu_limit"] == ["unknown"]
        assert [file["name"] for file in written["inputs"]] == ["tree.json", "domain.json"]
        assert run(*words, cwd=tmp_path) in (0, 3)
        assert copy.exists()
