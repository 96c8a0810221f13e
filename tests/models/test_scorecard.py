"""Scorecards as values: rounding a published model, items, risks, edits, files, and every place that a model goes."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import glassine
from glassine import Category, Domain, Integer
from glassine.errors import InvalidModelError, InvalidParameterError
from glassine.formats import to_python, to_sql, to_text
from glassine.formats.json import from_dict, to_dict
from glassine.models import AdditiveModel, CategoryBins, Guarantee, NumericBins, Term, editing
from glassine.models.scorecard import Item, bin_points, card_items, risk_table
from glassine.report import render_html

AGE = NumericBins("age", (20, 30, 40, 50, 60), bounds=(0, 99))
JOB = CategoryBins("job", (("clerk",), ("baker",), ("cook",)))
DOMAIN = Domain({"age": Integer(0, 99, thresholds=(20, 30, 40, 50, 60)), "job": Category(("clerk", "baker", "cook"))})


def model(**more: Any) -> AdditiveModel:
    """Return an additive model of two terms, with counts and errors."""
    terms = (
        Term(
            bins=(AGE,),
            scores=np.array([-2.0, -1.1, -0.1, 0.0, 0.95, 2.1, 0.0], dtype=np.float64),
            errors=np.array([0.1] * 7, dtype=np.float64),
            weights=np.array([100, 100, 200, 300, 150, 100, 0], dtype=np.float64),
        ),
        Term(
            bins=(JOB,),
            scores=np.array([0.0, 1.0, -0.05, 0.0], dtype=np.float64),
            errors=np.array([0.1] * 4, dtype=np.float64),
            weights=np.array([500, 250, 200, 0], dtype=np.float64),
        ),
    )
    usual: dict[str, Any] = {
        "attributes": ("age", "job"),
        "terms": terms,
        "intercept": (-1.0,),
        "link": "logit",
        "classes": ("no", "yes"),
        "target": "ill",
        "guarantee": Guarantee(epsilon=1.0, delta=1e-6, count_scale=3.0),
    }
    return AdditiveModel(**(usual | more))


def records(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame({"age": rng.integers(0, 100, n), "job": rng.choice(["clerk", "baker", "cook"], n)})


def test_a_card_has_at_most_so_many_items_of_at_most_so_many_points() -> None:
    for most, points in ((1, 5), (3, 2), (10, 5)):
        card = model().to_scorecard(max_items=most, max_points=points)
        items = card_items(card)
        assert 0 < len(items) <= most
        assert all(0 < abs(item.points) <= points for item in items)


def test_the_risk_in_the_table_is_the_probability_that_the_card_predicts() -> None:
    card, frame = model().to_scorecard(), records()
    assert card.scorecard is not None
    points = np.rint((card.scores(frame)[:, 0] - card.intercept[0]) / card.scorecard.unit).astype(int)
    table = {row.points: row.risk for row in card.scorecard.risks}
    assert np.allclose([table[total] for total in points], card.predict_proba(frame)[:, 1], atol=1e-9)


def test_adding_up_the_printed_items_gives_the_total() -> None:
    card = model().to_scorecard()
    assert card.scorecard is not None
    item = next(item for item in card_items(card) if item.condition == "baker")
    at = card.scores({"age": np.array([35]), "job": np.array(["baker"])})[0, 0]
    other = card.scores({"age": np.array([35]), "job": np.array(["clerk"])})[0, 0]
    assert round((at - other) / card.scorecard.unit) == item.points


def test_rounding_loses_little_of_a_model_that_is_nearly_in_points() -> None:
    card, frame = model().to_scorecard(), records(2000)
    assert np.abs(card.predict_proba(frame) - model().predict_proba(frame)).mean() < 0.02


def test_rounding_reads_the_published_model_alone_and_is_the_same_each_time() -> None:
    assert model().to_scorecard() == from_dict(to_dict(model())).to_scorecard()  # type: ignore[union-attr]  # additive


def test_a_card_keeps_the_guarantee_of_its_model() -> None:
    assert model().to_scorecard().guarantee == model().guarantee


def test_more_noise_in_the_scores_means_wider_intervals() -> None:
    quiet = model().to_scorecard().scorecard
    terms = tuple(replace(term, errors=3 * term.errors) for term in model().terms if term.errors is not None)
    loud = model(terms=terms).to_scorecard().scorecard
    assert quiet is not None
    assert loud is not None
    for a, b in zip(quiet.risks, loud.risks, strict=True):
        assert b.high is not None
        assert a.high is not None
        assert b.low is not None
        assert a.low is not None
        assert b.high - b.low > a.high - a.low


def test_a_model_without_counts_and_errors_has_risks_without_intervals() -> None:
    bare = model(terms=tuple(replace(term, errors=None, weights=None) for term in model().terms))
    card = bare.to_scorecard().scorecard
    assert card is not None
    assert {row.low for row in card.risks} == {None}


def test_what_cannot_be_a_card_is_refused_with_a_remedy() -> None:
    scores = np.zeros((AGE.n_bins, 3))
    with pytest.raises(InvalidModelError, match="two classes"):
        model(
            link="softmax",
            classes=("a", "b", "c"),
            intercept=(0.0, 0.0, 0.0),
            terms=(Term(bins=(AGE,), scores=scores),),
        ).to_scorecard()
    pair = Term(bins=(AGE, JOB), scores=np.zeros((7, 4)))
    with pytest.raises(InvalidModelError, match="without pairs"):
        model(terms=(pair,)).to_scorecard()
    with pytest.raises(InvalidParameterError, match="max_items"):
        model().to_scorecard(max_items=0)


def test_a_file_whose_risks_are_not_those_of_its_points_is_refused() -> None:
    plain = to_dict(model().to_scorecard())
    assert from_dict(plain) == model().to_scorecard()
    plain["scorecard"]["risks"][0]["risk"] = plain["scorecard"]["risks"][0]["high"]
    with pytest.raises(InvalidModelError, match="not that of the model's score"):
        from_dict(plain)


def test_a_file_whose_scores_are_not_whole_points_is_refused() -> None:
    plain = to_dict(model().to_scorecard())
    plain["terms"][0]["scores"][0] += 0.01
    with pytest.raises(InvalidModelError, match="whole points"):
        from_dict(plain)


def test_an_edit_moves_points_and_drops_the_intervals_until_it_is_taken_back() -> None:
    card = model().to_scorecard()
    assert card.scorecard is not None
    edited = editing.shift(card, "job", "baker", card.scorecard.unit)
    assert [row.low for row in risk_table(edited, True)] == [None] * len(risk_table(edited, True))
    assert editing.revert(edited) == card
    with pytest.raises(InvalidModelError, match="whole points"):
        editing.shift(card, "job", "baker", card.scorecard.unit / 3)


def test_sql_and_python_predict_what_the_card_predicts() -> None:
    card, frame = model().to_scorecard(), records(60)
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE people (age INTEGER, job TEXT)")
        base.executemany("INSERT INTO people VALUES (?, ?)", frame.rows())
        queried = [row[-1] for row in base.execute(to_sql(card, table="people")).fetchall()]
    space: dict[str, Any] = {}
    exec(to_python(card), space)  # noqa: S102 - the text under test
    expected = card.predict(frame).tolist()
    assert queried == expected
    assert [space["predict"](row) for row in frame.to_dicts()] == expected


def test_the_text_of_a_card_lists_items_and_risks() -> None:
    card = model().to_scorecard()
    text = to_text(card)
    assert card.scorecard is not None
    for item in card_items(card):
        assert any(item.condition in line and line.endswith(f"{item.points:+d}") for line in text.splitlines())
    assert f"{card.scorecard.risks[0].risk:.4f}" in text


def test_a_scrubbed_card_is_a_card() -> None:
    card = model().to_scorecard()
    clean = glassine.scrub(card, DOMAIN, smallest_leaf=50, data=records()).model
    assert isinstance(clean, AdditiveModel)
    assert clean.scorecard is not None
    assert card_items(clean)


def test_a_card_is_audited_as_an_additive_model() -> None:
    findings = glassine.audit(model().to_scorecard(), domain=DOMAIN)
    assert "this scorecard has" in render_html(findings)
    assert findings.to_dict() == glassine.audit(model().to_scorecard(), domain=DOMAIN).to_dict()


def test_merged_bins_have_the_points_of_the_bins_they_were_merged_of() -> None:
    whole, card = model(), model().to_scorecard()
    assert card.scorecard is not None
    for term in card.terms:
        points = bin_points(whole.term(term.name), term, card.scorecard.unit)
        middle: dict[str, list[Any]] = {"age": [10, 25, 35, 45, 55, 80], "job": ["clerk", "baker", "cook"]}
        for value, worth in zip(middle[term.name], points, strict=False):
            bins = term.bins[0]
            at = bins.index(np.array([value])) if isinstance(bins, NumericBins) else bins.find([value])
            assert round(float(term.scores[at[0], 0]) / card.scorecard.unit) == worth


def test_a_constant_model_gives_a_card_without_items() -> None:
    flat = model(
        terms=(
            Term(
                bins=(JOB,),
                scores=np.array([0.0] * 4, dtype=np.float64),
                weights=np.array([5, 5, 5, 0], dtype=np.float64),
            ),
        )
    ).to_scorecard()
    assert card_items(flat) == ()
    assert flat.scorecard is not None
    assert len(flat.scorecard.risks) == 1


def test_items_say_which_values_they_are_of() -> None:
    items = card_items(model().to_scorecard(max_items=2, max_points=2))
    assert all(isinstance(item, Item) for item in items)
    assert {item.attribute for item in items} <= {"age", "job"}


def test_scores_as_large_as_noise_can_be_are_rounded_without_a_warning() -> None:
    """A warning about an overflow, on the standard error of a private fit, depends on what the noise came to."""
    scores, sizes = np.array([-2000.0, 2000.0, 0.0]), np.array([60.0, 40.0, 0.0])
    far = Term(bins=(NumericBins("age", (40,)),), scores=scores, weights=sizes)
    card = model(terms=(far,)).to_scorecard()
    assert card.scorecard is not None
    assert [row.risk for row in card.scorecard.risks][:: len(card.scorecard.risks) - 1] == pytest.approx(
        [0, 1], abs=1e-6
    )


@pytest.mark.parametrize("noise", [1e4, 1e6, -1e9])
def test_noise_in_a_bin_without_records_leaves_a_number_its_points(noise: float) -> None:
    # No prediction leaves the bounds: a unit that reached a score beyond them would leave no other bin a point.
    scores, sizes = np.array([-20.0, 0.0, 20.0, noise, 0.0]), np.array([40.0, 40.0, 40.0, 0.5, 0.0])
    term = Term(bins=(NumericBins("age", (20, 40, 60)),), scores=scores, weights=sizes)
    fitted = AdditiveModel(
        attributes=("age",), terms=(term,), intercept=(50.0,), link="identity", target_bounds=(0.0, 100.0)
    )
    card = fitted.to_scorecard(max_items=3)
    ages = pl.DataFrame({"age": [10, 30, 50]})
    assert card.predict(ages) == pytest.approx(fitted.predict(ages), abs=8)
