"""Scrubbing reaches the limit on the advantage that counts imply, and says what it costs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import DecisionTree, Domain, Integer, as_model, audit, parse_rules, scrub
from glassine.cli.naming import as_command
from glassine.errors import InvalidModelError
from glassine.scrubbing.scrub import accuracy
from tests.policies import NORM

DOMAIN = Domain({name: Integer(0, 99) for name in "ab"})


def grown(n: int = 1500) -> tuple[DecisionTree, pl.DataFrame]:
    """Return a tree of small leaves, and its records."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.integers(0, 100, n) for name in "ab"})
    y = (frame["a"].to_numpy() > 50) ^ (rng.random(n) < 0.3)
    tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0).fit(frame.to_pandas(), y.astype(int))
    model = as_model(tree)
    assert isinstance(model, DecisionTree)
    return model, frame.with_columns(y=pl.Series(y.astype(int)))


@pytest.mark.parametrize("limit", [0.07, 0.04])
def test_a_copy_within_the_limit_is_what_was_asked_for(limit: float) -> None:
    model, _ = grown()
    before = {check.rule: check for check in audit(model, domain=DOMAIN).checks}["largest_advantage"]
    assert before.status == "fail"
    copy = scrub(model, DOMAIN, counts="keep", largest_advantage=limit)
    assert 1 < len(copy.model.cells) < len(model.cells)
    counts = np.array([cell.evidence.counts for cell in copy.model.cells], dtype=float)
    shares = counts / counts.sum()
    assert np.sqrt(shares * (1 - shares) / (2 * np.pi * counts.sum())).sum() <= limit


def test_the_data_are_counted_where_thresholds_move_and_accuracy_is_lost() -> None:
    model, frame = grown()
    copy = scrub(model, DOMAIN, counts="remove", largest_advantage=0.07, data=frame[["a", "b"]])
    checks = {check.rule: check for check in audit(copy.model, frame, "y", domain=DOMAIN, policy=NORM).checks}
    assert checks["largest_advantage"].status == "pass"
    assert checks["smallest_leaf"].status == "pass"
    assert 0.6 < accuracy(copy.model, frame, "y") <= accuracy(model, frame, "y")


def test_the_advice_is_the_step_that_reaches_the_limit() -> None:
    model, _ = grown()
    advised = [entry for entry in audit(model, domain=DOMAIN).advice if "largest_advantage" in entry.parameters]
    advice = advised[0]
    # Its thresholds can name people as well, and one copy is for both.
    assert [dict(entry.parameters) for entry in advised] == [{"largest_advantage": 0.07}] * 2
    assert dict(advice.parameters) == {"largest_advantage": 0.07}
    assert "glassine scrub --largest-advantage 0.07" in as_command(advice).text


@pytest.mark.parametrize("wrong", [0.0, -0.1, 1.5, float("nan")])
def test_impossible_limits_are_refused(wrong: float) -> None:
    with pytest.raises(InvalidModelError, match="must lie in"):
        scrub(grown(200)[0], DOMAIN, largest_advantage=wrong)


def test_rule_lists_are_not_merged() -> None:
    rules = parse_rules("if [a <= 5] then [true] ([14 ; 31] examples)\nelse [false] ([52 ; 9] examples)")
    with pytest.raises(InvalidModelError, match="only a tree's leaves"):
        scrub(rules, DOMAIN, largest_advantage=0.1)
