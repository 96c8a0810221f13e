"""Targets that are numbers: parts of records at levels, sums that one record moves by one, and the models of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassine import Domain, Integer, Real, audit
from glassine.comparison.from_summary import compare_models
from glassine.domain import Between
from glassine.errors import InvalidModelError, InvalidParameterError
from glassine.learners import PrivateSummary
from glassine.learners.summaries import estimates
from glassine.learners.summaries.estimates import replicates
from glassine.privacy import accounting
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked
from glassine.sealed.binned import Binned, parts_of
from glassine.sealed.released_bins import PARTS
from glassine.sealed.residuals import _distance
from tests.learners.sums import residual_sums
from tests.summaries.people import DOMAIN, RANGE, people, summary

ENDS, UNITS = np.array([0, 3, 5]), 2**20


@pytest.mark.parametrize("n_levels", range(2, 7))
def test_a_record_of_any_number_is_at_two_levels_by_parts_that_make_one(n_levels: int) -> None:
    values = np.append(np.linspace(-1, 1, 997), np.linspace(-1, 1, n_levels))
    (lower, below), (upper, above) = parts_of(values, n_levels)
    assert below is not None
    assert above is not None
    assert ((below >= 0) & (above >= 0) & (below + above == PARTS)).all(), "l1 norm of one"
    assert (below**2 + above**2 <= PARTS**2).all(), "l2 norm of at most one"
    assert (upper == lower + 1).all()
    assert (lower >= 0).all()
    assert (upper < n_levels).all()
    levels = np.linspace(-1, 1, n_levels)
    means = (levels[lower] * below + levels[upper] * above) / PARTS
    assert np.abs(means - values).max() <= 1 / (PARTS * (n_levels - 1)) + 1e-12


def test_one_record_moves_the_score_of_a_pair_by_at_most_one() -> None:
    rng = np.random.default_rng(0)
    worst = 0
    for _ in range(100):
        table, model = rng.integers(0, 4 * PARTS, (2, 2, 3)), rng.random((2, 2, 3)) * 4
        base = _distance(table, model, UNITS, PARTS)
        for value in rng.uniform(-1, 1, 20):
            more = table.copy()
            for labels, parts in parts_of(np.array([value]), 3):
                assert parts is not None
                more[0, 1, labels[0]] += parts[0]
            worst = max(worst, abs(_distance(more, model, UNITS, PARTS) - base))
    assert 0.9 * UNITS < worst <= UNITS


def largest_move(clip: float, units: int = UNITS) -> float:
    """Return the largest squared l2 distance of sums of residuals that a record makes, for noise on ``UNITS``."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for scale in (0.1, 3.0):
        scores = rng.normal(0.0, scale, (6, 1))
        codes = np.stack([rng.integers(0, 3, 50), rng.integers(0, 2, 50)]).astype(np.uint8)
        values = rng.uniform(-1, 1, 50)
        before = residual_sums(Binned(codes=codes, values=values), None, scores, ENDS, clip, units, numbers=True)
        for kind in np.ndindex(3, 2):
            for value in (-1.0, 0.2, 1.0):
                own = np.column_stack([codes, np.array(kind, dtype=np.uint8)])
                more = Binned(codes=own, values=np.append(values, value))
                after = residual_sums(more, None, scores, ENDS, clip, units, numbers=True)
                worst = max(worst, float((((after - before) / UNITS) ** 2).sum()))
    return worst


@pytest.mark.parametrize("clip", [0.1, 1.0])
def test_a_record_moves_the_sums_of_residuals_by_one_for_each_attribute_and_a_fault_is_found(clip: float) -> None:
    n_attributes = len(ENDS) - 1
    assert 0.9 * n_attributes < largest_move(clip) <= n_attributes
    assert largest_move(clip, 2 * UNITS) > 2 * n_attributes, "units of half of what the noise is for"


def test_events_spend_the_budget_and_no_more() -> None:
    events = summary(classes=None).certificate_.events
    assert 0.99 * 4.0 < accounting.epsilon(events, 1e-6) <= 4.0
    assert sum(getattr(event, "share", 0.0) for event in events) == pytest.approx(1.0)
    assert [getattr(event, "count", 0) for event in events] == [1, 1, 1, 1, 1, 2], (
        "bins, tables, squares, scores, edges, and two rounds"
    )


# Models.


def truth(seed: int = 1) -> tuple[Any, np.ndarray]:
    """Return records, and their numbers within the range."""
    frame, y = people(classes=None, seed=seed)
    kept = np.isfinite(y)
    return read_settled(frame.filter(kept), DOMAIN), np.clip(y[kept], *RANGE)


def error(model: Any, columns: Any, y: Any) -> float:
    return float(np.sqrt(((model.predict(columns) - y) ** 2).mean()))


def test_trees_lists_and_additive_models_predict_the_number() -> None:
    fitted, (columns, y) = summary(classes=None), truth()
    models = fitted.additive(), fitted.tree(4), fitted.rule_list(8)
    errors = [error(model, columns, y) for model in models]
    spread = float(y.std())
    # Noise of 5 remains, which no model explains.
    assert errors[0] < 0.55 * spread
    assert errors[1] < 0.6 * spread
    assert errors[2] < 0.8 * spread
    for model in models:
        assert model.guarantee is not None
        assert fitted.certify(model).epsilon == 4.0
        assert model.predict(columns).min() >= RANGE[0]
        assert audit(model, domain=DOMAIN).guarantee is not None
    findings = audit(fitted)
    assert findings.guarantee is not None
    assert not [note for note in findings.notes if "estimator" in note]
    rising = fitted.additive(monotone={"age": "increasing"}).term("age")
    assert (np.diff(rising.scores[:-1, 0]) >= 0).all()


def test_means_of_regions_and_errors_are_close_to_the_records() -> None:
    fitted, (columns, y) = summary(classes=None), truth()
    for literals in ([], [Between("age", hi=44)]):
        inside = np.ones(len(y), dtype=bool)
        for literal in literals:
            inside &= columns.holds(literal)
        found = fitted.count(literals)
        assert found["records"] == pytest.approx(inside.sum(), abs=120)
        assert found["mean"] == pytest.approx(y[inside].mean(), abs=1.5)
    tree = fitted.tree(4)
    found = fitted.reported(tree, bootstrap=3)
    assert found.error == pytest.approx(error(tree, columns, y), rel=0.2)
    assert 0 < found.error_spread < 2
    assert math.isnan(found.accuracy)
    rows = compare_models(fitted, max_depth=2, max_rules=1, bootstrap=2)
    assert {row.model for row in rows} == {"tree", "rule-list", "additive"}
    errors = [row.estimate.error for row in rows if row.estimate is not None]
    assert len(errors) == len(rows)
    assert errors == sorted(errors)
    assert rows[0].to_dict()["expected_correct"] is None


def test_replicates_have_the_noise_of_the_squares_and_a_wide_spread_is_refused() -> None:
    fitted = summary(classes=None)
    sum_of_squares, deviation = fitted.released_.squares
    again = [one.squares[0] for one in replicates(fitted.released_, 60) if one.squares]
    assert np.std(again) == pytest.approx(deviation, rel=0.35)
    assert np.mean(again) == pytest.approx(sum_of_squares, abs=deviation)
    assert fitted.reported(fitted.tree(0), bootstrap=5).error_spread > 0
    noisy = copy(fitted)
    noisy.released_ = replace(fitted.released_, squares=(sum_of_squares, 0.5 * sum_of_squares))
    with pytest.raises(InvalidParameterError, match="too strong for an estimate of the error"):
        noisy.reported(fitted.tree(1), bootstrap=5)


def test_a_model_without_an_estimate_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = summary(classes=None)
    whole = compare_models(fitted, ("tree",), max_depth=3, bootstrap=3)
    shares = [row.estimate.error_spread / row.estimate.error for row in whole if row.estimate is not None]
    monkeypatch.setattr(estimates, "MOST_SPREAD", (min(shares) + max(shares)) / 2)
    rows = compare_models(fitted, ("tree",), max_depth=3, bootstrap=3)
    refused = [row for row in rows if row.estimate is None]
    assert 0 < len(refused) < len(rows) == 3
    assert rows[-len(refused) :] == tuple(refused)
    assert all("too strong for an estimate of the error" in row.refusal for row in refused)
    assert [row.refusal for row in rows[: -len(refused)]] == [""] * (3 - len(refused))
    assert (refused[0].to_dict()["expected_error"], refused[0].to_dict()["refusal"]) == (None, refused[0].refusal)
    monkeypatch.setattr(estimates, "MOST_SPREAD", 0.0)
    with pytest.raises(InvalidParameterError, match="too strong for an estimate of the error"):
        compare_models(fitted, ("tree",), bootstrap=3)


def test_what_needs_classes_is_refused() -> None:
    fitted = summary(classes=None)
    with pytest.raises(InvalidModelError, match="two classes: the interval at a total needs the variance there"):
        fitted.scorecard()
    with pytest.raises(InvalidParameterError, match="measure must be one of squared_error, got 'gini'"):
        fitted.tree(2, "gini")
    with pytest.raises(InvalidParameterError, match="measure must be one of additive, gini, errors"):
        summary().tree(2, "squared_error")
    both = PrivateSummary(epsilon=1.0, domain=DOMAIN, classes=(0, 1), target_range=RANGE)
    with pytest.raises(InvalidParameterError, match="classes and target_range contradict each other"):
        both.fit(*people(200))


def test_the_range_may_stand_in_the_domain() -> None:
    frame, y = people(600, classes=None)
    domain = Domain({name: DOMAIN[name] for name in DOMAIN} | {"fee": Real(*RANGE)})
    fitted = PrivateSummary(epsilon=4.0, domain=domain, random_state=0).fit(frame.with_columns(fee=y), "fee")
    assert (fitted.target_range_, fitted.target_) == (RANGE, "fee")
    assert "classes_" not in vars(fitted)
    assert fitted.additive().target_bounds == RANGE


def test_records_without_any_signal_give_the_mean() -> None:
    rng = np.random.default_rng(0)
    domain = Domain({"x": Integer(0, 9)})
    learner = PrivateSummary(epsilon=4.0, domain=domain, target_range=(0, 10), random_state=0)
    fitted = learner.fit(rng.integers(0, 10, (900, 1)), rng.uniform(2, 6, 900))
    columns = read_checked({"x": np.arange(10)}, domain)
    for model in (fitted.tree(2), fitted.rule_list(2), fitted.additive()):
        assert model.predict(columns) == pytest.approx(np.full(10, 4.0), abs=0.3)


# Files.


def test_a_file_gives_the_same_models_and_one_that_was_changed_is_refused(tmp_path: Path) -> None:
    fitted, path = summary(classes=None), tmp_path / "s.json"
    fitted.write(path)
    back = PrivateSummary.read(path)
    assert back.target_range_ == RANGE
    assert [back.tree(3), back.additive(), back.rule_list(2)] == [
        fitted.tree(3),
        fitted.additive(),
        fitted.rule_list(2),
    ]
    assert back.reported(back.tree(2), bootstrap=2).error == fitted.reported(fitted.tree(2), bootstrap=2).error
    text = path.read_text()
    damages: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
        (lambda v: v.update(target_range=[0, 1]), "not the one that its certificate is of"),
        (lambda v: v.update(target_range=[1, 0]), "the range of the summary's target cannot be read"),
        (lambda v: v.update(target_range=None), "at least two classes or a range"),
        (lambda v: v["released"].pop("squares"), "must have squares if its target is a number"),
        (lambda v: v["released"].update(squares=[3.0, 0.0]), "standard deviations of the summary must be positive"),
        (lambda v: v.update(classes=[0, 1]), "'classes'"),
    ]
    for damage, said in damages:
        values = json.loads(text)
        damage(values)
        path.write_text(json.dumps(values))
        with pytest.raises(InvalidModelError, match=said):
            PrivateSummary.read(path)


def test_squares_belong_to_numbers() -> None:
    fitted = summary()
    assert fitted.released_.levels is None
    assert replace(fitted.released_, squares=(1.0, 1.0)).levels is not None
