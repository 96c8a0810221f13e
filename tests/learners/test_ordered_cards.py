"""Scorecards in order, and scorecards of a number, ordinary and private."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import LinearConstraint, minimize

from glassine import Domain, Integer, load_model, write_model
from glassine.domain import Category
from glassine.errors import InvalidModelError, InvalidParameterError
from glassine.learners import (
    EBMClassifier,
    EBMRegressor,
    PrivateEBMClassifier,
    PrivateScorecardClassifier,
    PrivateScorecardRegressor,
    ScorecardClassifier,
    ScorecardRegressor,
)
from glassine.learners.additive.grids import public_grids
from glassine.learners.additive.ridge import RIDGE, Design, fit_cells
from glassine.learners.additive.targets import Target
from glassine.models import AdditiveModel, NumericBins, Term
from glassine.models.scorecard import points_of
from glassine.records.undeclared import read_checked
from glassine.report.card_page import render_card
from glassine.sealed.binned import read_cells

DOMAIN = Domain(
    {
        "age": Integer(18, 90, thresholds=(25, 35, 45, 55, 65, 75), codes={99: "hidden"}),
        "visits": Integer(0, 30, thresholds=(1, 3, 6, 12)),
        "ward": Category(("A", "B", "C")),
    }
)


def people(n: int = 3000, seed: int = 1) -> tuple[pl.DataFrame, Any, Any]:
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(n) < 0.1, 99, rng.integers(18, 91, n))
    visits, ward = rng.integers(0, 31, n), rng.integers(0, 3, n)
    # Between 45 and 55 the risk falls, against the trend.
    odds = np.where(age == 99, 2.0, 0.04 * (age - 50) - 1.2 * ((age > 45) & (age <= 55))) - 0.05 * visits + 0.4 * ward
    frame = pl.DataFrame({"age": age, "visits": visits, "ward": np.array(["A", "B", "C"])[ward]})
    y = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    return frame, y, 100.0 + 10 * odds + rng.normal(0, 2, n)


X, Y, Z = people()
UP = {"age": "increasing", "visits": "decreasing"}


def plain_scores(term: Term) -> Any:
    bins = term.bins[0]
    assert isinstance(bins, NumericBins)
    return term.scores[[i for i in range(bins.n_bins - 1) if i not in bins.coded], 0]


def assert_in_order(model: AdditiveModel, directions: dict[str, str]) -> None:
    for term in model.terms:
        if term.name in directions:
            steps = np.diff(plain_scores(term))
            assert ((steps >= 0) if directions[term.name] == "increasing" else (steps <= 0)).all(), term.name


def test_points_are_in_order_and_cost_little() -> None:
    free = ScorecardClassifier(domain=DOMAIN, classes=(0, 1)).fit(X, Y)
    card = ScorecardClassifier(domain=DOMAIN, classes=(0, 1), monotone=UP).fit(X, Y)
    with pytest.raises(AssertionError):
        assert_in_order(free.model_, UP)
    assert_in_order(card.model_, UP)
    assert card.score(X, Y) > free.score(X, Y) - 0.02
    other = ScorecardClassifier(domain=DOMAIN, classes=(0, 1), monotone={"age": "decreasing"}).fit(X, Y)
    assert_in_order(other.model_, {"age": "decreasing"})


@pytest.mark.parametrize("classes", [True, False])
def test_scores_in_order_are_nearly_the_least_loss_of_all_in_order(classes: bool) -> None:
    data, y, z = people(400, seed=3)
    values = y.astype(float) if classes else z - z.mean()
    domain = DOMAIN.restrict(["age", "visits"])
    grids = public_grids(domain, {"age": [25, 35, 45, 55, 65, 75], "visits": [1, 3, 6, 12]})
    cells = read_cells(read_checked(data[["age", "visits"]], domain), grids)
    target = Target(classes=(0, 1) if classes else None, bounds=None if classes else (-100.0, 100.0), name="")
    terms, intercept = fit_cells(Design.of(cells, grids, np.ones(len(values))), values, domain, target, UP)
    sizes = [grid.n_cells + 1 for grid in grids]
    design = np.zeros((len(values), 1 + sum(sizes)))
    design[:, 0] = 1
    design[np.arange(len(values)), 1 + cells[0]] = 1
    design[np.arange(len(values)), 1 + sizes[0] + cells[1]] = 1

    # The ridge of pooled cells counts once, so that losses are compared without it.
    def loss(at: Any, ridge: float) -> float:
        s = design @ at
        each = np.logaddexp(0, s) - values * s if classes else (values - s) ** 2 / 2
        return float(each.sum() + ridge / 2 * (at[1:] ** 2).sum())

    rows = []
    for start, size, sign, coded in ((1, 7, 1, {7}), (1 + sizes[0], 5, -1, set())):
        plain = [start + i for i in range(size) if i not in coded]
        for low, high in pairwise(plain):
            row = np.zeros(design.shape[1])
            row[high], row[low] = sign, -sign
            rows.append(row)
    ridge = RIDGE * (0.25 if classes else 1.0)
    best = minimize(
        lambda at: loss(at, ridge), np.zeros(design.shape[1]), method="SLSQP", constraints=LinearConstraint(rows, 0)
    )
    ours = np.concatenate([[intercept], *(term.scores[:, 0] for term in terms)])
    assert loss(ours, 0.0) <= loss(best.x, 0.0) * 1.01
    for term, name in zip(terms, ("age", "visits"), strict=True):
        steps = np.diff(plain_scores(term))
        assert ((steps >= -1e-9) if UP[name] == "increasing" else (steps <= 1e-9)).all()


@pytest.mark.parametrize("learner", [ScorecardClassifier, EBMClassifier])
def test_the_records_vote_for_directions(learner: Any) -> None:
    model = learner(domain=DOMAIN, classes=(0, 1), monotone="auto").fit(X, Y).model_
    assert_in_order(model, UP)


def test_numbers_vote_as_well() -> None:
    assert_in_order(ScorecardRegressor(domain=DOMAIN, monotone="auto").fit(X, Z).model_, UP)
    assert_in_order(EBMRegressor(domain=DOMAIN, monotone="auto").fit(X, Z).model_, UP)


def test_a_private_fit_does_not_let_the_records_vote() -> None:
    for learner in (PrivateEBMClassifier, PrivateScorecardClassifier):
        with pytest.raises(InvalidParameterError, match="must not"):
            learner(epsilon=1.0, domain=DOMAIN, classes=(0, 1), monotone="auto").fit(X, Y)  # type: ignore[arg-type]
    three = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    with pytest.raises(InvalidParameterError, match="several classes"):
        EBMClassifier(domain=DOMAIN, monotone="auto").fit(X, three)


CARDS: dict[str, Any] = {
    "ordinary": lambda: ScorecardRegressor(domain=DOMAIN, target_range=(0, 200), max_points=8),
    "private": lambda: PrivateScorecardRegressor(
        epsilon=2.0, domain=DOMAIN, target_range=(0, 200), max_points=8, random_state=0, monotone=UP
    ),
}


@pytest.mark.parametrize("kind", CARDS)
def test_points_add_up_to_a_number(kind: str, tmp_path: Path) -> None:
    card = CARDS[kind]().fit(X, Z)
    model = card.model_
    assert model.scorecard is not None
    assert model.scorecard.risks == ()
    total = np.zeros(len(X))
    for term in model.terms:
        worth = points_of(term, model.scorecard.unit)
        assert np.abs(worth).max() <= 8
        bins: Any = term.bins[0]
        column = X[term.name]
        total += worth[
            bins.find(column.to_list()) if term.name == "ward" else bins.index(column.cast(float).to_numpy())
        ]
    assert np.allclose(card.predict(X), model.intercept[0] + model.scorecard.unit * total, rtol=1e-12)
    spread = float(((Z - Z.mean()) ** 2).mean())
    assert 1 - float(((Z - card.predict(X)) ** 2).mean()) / spread > 0.85
    write_model(model, tmp_path / "card.json")
    assert load_model(tmp_path / "card.json") == model
    write_model(model, tmp_path / "card.txt", to="text")
    text = (tmp_path / "card.txt").read_text()
    assert "a point adds" in text
    again = load_model(tmp_path / "card.txt")
    assert np.array_equal(again.predict(X), model.predict(X))
    for to, ending in (("pmml", "pmml"), ("onnx", "onnx")):
        write_model(model, tmp_path / f"card.{ending}", to=to)
        assert np.allclose(load_model(tmp_path / f"card.{ending}").predict(X), card.predict(X), rtol=1e-5)
    page = render_card(model)
    assert "one point adds" in page
    assert "Risk" not in page


def test_an_ordinary_card_has_the_line_of_least_squares() -> None:
    card = CARDS["ordinary"]().fit(X, Z)
    total = np.rint((card.model_.scores(X)[:, 0] - card.model_.intercept[0]) / card.model_.scorecard.unit)
    slope, start = np.polyfit(total, Z, 1)
    assert card.model_.scorecard.unit == pytest.approx(slope, rel=1e-4)
    assert card.model_.intercept[0] == pytest.approx(start, rel=1e-3)


def test_a_private_card_of_a_number_states_what_the_additive_model_spends() -> None:
    card = CARDS["private"]().fit(X, Z)
    assert card.certificate_.epsilon == 2.0
    assert card.certificate_.caveats == ("seeded: not private",)
    assert_in_order(card.model_, UP)
    assert not any("total" in event.name for event in card.certificate_.events)
    assert card.certificate_.public["items"] == 10


def test_limits_and_other_models_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="max_items"):
        ScorecardRegressor(domain=DOMAIN, max_items=0).fit(X, Z)
    three = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    with pytest.raises(InvalidModelError, match="two classes or of a number"):
        EBMClassifier(domain=DOMAIN).fit(X, three).model_.to_scorecard()
