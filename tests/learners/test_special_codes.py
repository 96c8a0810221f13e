"""Special codes in learners: a condition or a bin of their own, beside the numbers in their order."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from glassine import Domain, Integer, load_model, scrub, write_model
from glassine.domain import Between, OneOf
from glassine.learners import (
    EBMClassifier,
    MultiwayTreeClassifier,
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    PrivateEBMClassifier,
    PrivateGreedyRuleListClassifier,
    PrivateScorecardClassifier,
    PrivateSummary,
    PrivateTreeClassifier,
    ScorecardClassifier,
)
from glassine.models import AdditiveModel, NumericBins
from glassine.models.editing import monotone, smooth
from glassine.models.scorecard import card_items
from glassine.models.shapes import draw_shape

CODES = {-9: "refused", -8: "unknown", 98: "other"}
DOMAIN = Domain(
    {
        "income": Integer(0, 120, codes=CODES, thresholds=(20, 50, 80)),
        "age": Integer(18, 90, codes={99: "hidden"}, missing=True),
    }
)
FIT: dict[str, Any] = {"domain": DOMAIN, "classes": (0, 1)}
PRIVATE: dict[str, Any] = {**FIT, "epsilon": 4.0, "random_state": 0}
FINE = Domain({"income": Integer(0, 120, codes=CODES), "age": Integer(18, 90, codes={99: "hidden"}, missing=True)})


def labels(model: AdditiveModel) -> list[str]:
    """Return the texts of the bins of special codes."""
    bins = model.term("income").bins[0]
    return list(bins.coded.values()) if isinstance(bins, NumericBins) else []


def people(n: int = 6000, seed: int = 0) -> tuple[pl.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    income, age = rng.integers(0, 121, n), rng.integers(18, 91, n).astype(float)
    odds = 0.03 * (income - 60) + 0.01 * (age - 50)
    for code, odd in zip(CODES, (2.0, -2.5, 1.5), strict=True):
        there = rng.random(n) < 0.1
        income, odds = np.where(there, code, income), np.where(there, odd, odds)
    age = np.where(rng.random(n) < 0.1, 99, age)
    gap = rng.random(n) < 0.05
    frame = pl.DataFrame({"income": income, "age": np.where(gap, np.nan, age)}, nan_to_null=True)
    return frame, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


X, Y = people()
EVERY = pl.DataFrame({"income": [*range(121), -9, -8, 98] * 2, "age": [*([30] * 124), *([99] * 122), None, 18]})

ADDITIVE: dict[str, Any] = {
    "EBM": lambda: EBMClassifier(**FIT),
    "boosted EBM": lambda: EBMClassifier(**FIT, algorithm="boosting"),
    "scorecard": lambda: ScorecardClassifier(**FIT, max_items=20),
    "private EBM": lambda: PrivateEBMClassifier(**PRIVATE, monotone={"income": "increasing"}),
    "fine private EBM": lambda: PrivateEBMClassifier(**{**PRIVATE, "domain": FINE}, monotone={"income": "increasing"}),
    "private pairs": lambda: PrivateEBMClassifier(**PRIVATE, interactions=[("income", "age")]),
    "private boosting": lambda: PrivateEBMClassifier(**PRIVATE, algorithm="boosting"),
    "private scorecard": lambda: PrivateScorecardClassifier(**PRIVATE, max_items=20),
}
MODELS: dict[str, Any] = {}


def fitted(name: str) -> Any:
    if name not in MODELS:
        MODELS[name] = ADDITIVE[name]().fit(X, Y)
    return MODELS[name]


@pytest.mark.parametrize("name", ADDITIVE)
def test_each_code_has_a_bin_with_its_records(name: str) -> None:
    model = fitted(name).model_
    exact, numbers = "private" not in name, {name: one for name in DOMAIN if isinstance(one := DOMAIN[name], Integer)}
    for attribute, codes in (("income", CODES), ("age", {99: "hidden"})):
        term = next((t for t in model.terms if len(t.bins) == 1 and t.bins[0].attribute == attribute), None)
        if term is None:
            assert "scorecard" in name  # a card leaves out an attribute of little use
            assert attribute == "age"
            continue
        bins = term.bins[0]
        assert isinstance(bins, NumericBins)
        assert dict(bins.codes) == codes
        for place, code in zip(bins.coded, codes, strict=True):
            values = np.array([*range(-20, 130)], dtype=float)
            alone = [v for v in values[bins.index(values) == place].tolist() if numbers[attribute].measure(v - 1, v)]
            assert alone == [code]
            count = int((X[attribute] == code).sum())
            assert term.weights is not None
            assert term.weights[place] == pytest.approx(count, abs=0 if exact else 60)
        assert term.weights.sum() == pytest.approx(len(X), abs=0 if exact else 300)


@pytest.mark.parametrize("name", ["private EBM", "fine private EBM"])
def test_a_monotone_term_leaves_codes_out(name: str) -> None:
    term = fitted(name).model_.term("income")
    bins = term.bins[0]
    plain = [i for i in range(bins.n_bins - 1) if i not in bins.coded]
    scores = term.scores[plain, 0]
    assert (np.diff(scores) >= 0).all()
    refused, unknown, _ = (float(term.scores[i, 0]) for i in bins.coded)
    # The first two stand below all numbers: in order, they could not be that far apart this way.
    assert refused > scores[-1] - 0.5 > unknown + 2


def test_a_card_ranks_as_one_with_cuts_by_hand_does() -> None:
    narrow = Domain({"income": Integer(0, 120, codes={-9: "refused", -8: "unknown"}, thresholds=(20, 50, 80))})
    declared = ScorecardClassifier(domain=narrow, classes=(0, 1), max_items=20).fit(X[["income"]], Y)
    wide = Domain({"income": Integer(-9, 120)})
    bins = {"income": [-8.5, -7.5, 20, 50, 80]}
    by_hand = ScorecardClassifier(domain=wide, classes=(0, 1), bins=bins, max_items=20).fit(X[["income"]], Y)
    risks = [card.predict_proba(X[["income"]])[:, 1] for card in (declared, by_hand)]
    ours, theirs = (float(roc_auc_score(Y, risk)) for risk in risks)
    assert ours == pytest.approx(theirs, abs=0.002)
    assert len(np.unique(risks[0])) == 6
    items = [one.condition for one in card_items(declared.model_)]
    assert any("refused (-9)" in text for text in items)
    assert any("unknown (-8)" in text for text in items)


TREES: dict[str, Any] = {
    "optimal tree": lambda: OptimalTreeClassifier(**{**FIT, "domain": DOMAIN.restrict(["income"])}, max_depth=3),
    "optimal list": lambda: OptimalRuleListClassifier(**{**FIT, "domain": DOMAIN.restrict(["income"])}, max_rules=4),
    "private tree": lambda: PrivateTreeClassifier(**PRIVATE, max_depth=3),
    "greedy list": lambda: PrivateGreedyRuleListClassifier(**PRIVATE),
    "summary tree": lambda: PrivateSummary(**PRIVATE).fit(X, Y),
}


@pytest.mark.parametrize("name", TREES)
def test_trees_and_lists_ask_for_codes(name: str) -> None:
    if name == "summary tree":
        model: Any = TREES[name]().tree(max_depth=4)
    else:
        model = TREES[name]().fit(X[["income"]] if "optimal" in name else X, Y).model_
    asked = {literal for literal in model.literals if isinstance(literal, OneOf) and literal.attribute == "income"}
    assert {value for literal in asked for value in literal.values} & {-9, -8, 98}
    assert any(isinstance(literal, Between) for literal in model.literals)
    for code, expected in ((-9, 1), (-8, 0), (98, 1)):
        (predicted,) = model.predict(pl.DataFrame({"income": [code], "age": [40]}))
        assert predicted == expected, (name, code)


def test_a_multiway_tree_splits_off_a_code_in_the_middle() -> None:
    domain = Domain({"x": Integer(0, 9, codes={5: "refused"})})
    data = pl.DataFrame({"x": [*range(10)] * 20})
    tree = MultiwayTreeClassifier(domain=domain, max_depth=1).fit(data, (data["x"] == 5).cast(int).to_numpy())
    assert [str(branch.literal) for branch in tree.model_.nodes[0].branches] == ["x = 5", "x != 5"]
    assert tree.score(data, (data["x"] == 5).cast(int).to_numpy()) == 1.0


@pytest.mark.parametrize("name", ["EBM", "private scorecard"])
@pytest.mark.parametrize("to", ["json", "pmml", "onnx", "text"])
def test_files_predict_alike(name: str, to: str, tmp_path: Path) -> None:
    model = fitted(name).model_
    path = tmp_path / f"model.{ {'text': 'txt'}.get(to, to) }"
    write_model(model, path, to=to)
    again = load_model(path, domain=DOMAIN if to == "text" else None)
    assert isinstance(again, AdditiveModel)
    assert np.allclose(again.predict_proba(EVERY), model.predict_proba(EVERY), atol=1e-6)
    if to == "json":
        assert again == model
        assert again.term("income").labels[0] == "refused (-9)"


def test_edits_of_an_order_leave_codes_out() -> None:
    model = fitted("EBM").model_
    bins = model.term("income").bins[0]
    for edited in (monotone(model, "income", "decreasing"), smooth(model, "income", strength=1.0)):
        before, after = model.term("income").scores[:, 0], edited.term("income").scores[:, 0]
        assert (before[[*bins.coded]] == after[[*bins.coded]]).all()
        assert not np.array_equal(before, after)


def test_a_clean_copy_keeps_the_bins_of_codes() -> None:
    copy = scrub(fitted("EBM").model_, domain=DOMAIN).model
    assert isinstance(copy, AdditiveModel)
    assert labels(copy) == [f"{label} ({code})" for code, label in CODES.items()]
    assert (copy.predict(EVERY) == fitted("EBM").predict(EVERY)).mean() > 0.95


def test_a_summary_with_codes_is_written_and_read(tmp_path: Path) -> None:
    summary = PrivateSummary(**{**PRIVATE, "domain": FINE}).fit(X, Y)
    summary.write(tmp_path / "summary.json")
    again = PrivateSummary.read(tmp_path / "summary.json")
    term = again.additive().term("income")
    assert labels(again.additive()) == [f"{label} ({code})" for code, label in CODES.items()]
    assert np.array_equal(term.scores, summary.additive().term("income").scores)
    assert summary.certificate_.model == again.certificate_.model


@pytest.mark.parametrize("lazy", [False, True])
def test_private_quantiles_are_those_of_the_numbers_that_are_no_codes(lazy: bool) -> None:
    rng = np.random.default_rng(2)
    income = np.where(rng.random(8000) < 0.7, -9, rng.integers(0, 121, 8000))
    income = np.where(rng.random(8000) < 0.1, 98, income)
    frame = pl.DataFrame({"income": income, "y": (income > 60).astype(int)})
    domain = FINE.restrict(["income"])
    parts: dict[str, Any] = {"domain": domain, "classes": (0, 1), "random_state": 0, "literals": "quantiles"}
    tree = PrivateTreeClassifier(2, epsilon=50.0, n_quantiles=3, **parts).fit(frame.lazy() if lazy else frame, "y")
    conditions = PrivateTreeClassifier(2, **parts)._conditions(domain)
    question = conditions.query()
    assert question is not None
    assert dict(question.special) == {"income": ((-math.inf, -8.5), (-8.5, -7.5), (97.5, 98.5))}
    plain = income[~np.isin(income, list(CODES))]
    wanted = np.quantile(plain, (0.25, 0.5, 0.75))
    for condition in tree.model_.literals:
        if isinstance(condition, Between):
            point = condition.lo if math.isinf(condition.hi) else condition.hi
            assert np.abs(wanted - point).min() < 4
    assert any(isinstance(condition, Between) for condition in tree.model_.literals)


def test_a_chart_names_the_bins_of_codes_beside_the_numbers() -> None:
    frame, y = people()
    fitted = EBMClassifier(**FIT).fit(frame, y)
    (shape,) = (one for one in fitted.summarize_model() if one.name == "income")
    drawn = str(draw_shape(shape))
    marks = re.findall(r'<text class="tick" x="([\d.]+)"[^>]*>([^<]*)</text>', drawn)
    places = {text: float(x) for x, text in marks}
    assert set(CODES.values()) <= set(places)
    named = [places[text] for text in CODES.values()]
    numbers = [x for text, x in places.items() if text in ("0", "20", "40", "60", "80", "100", "120") and x > 50]
    assert min(named) > max(numbers)
    (line,) = re.findall(r'<path class="line" d="([^"]*)"', drawn)
    # One run for the numbers on either side of 98, and one for each code.
    assert line.count("M") == 2 + len(CODES) + int("missing" in places)
