"""The private scorecard is run against its claim: honest it passes, with each planted fault it is caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glassine import Domain, Integer
from glassine.learners import PrivateScorecardClassifier
from glassine.learners.additive import additive_fit
from glassine.learners.additive.calibration import release_totals
from glassine.models.scorecard import Scorecard
from glassine.privacy.conversions import mu_from_epsilon
from glassine.privacy.randomness import Randomness
from glassine.sealed.released_bins import Terms
from glassine.sealed.residuals import Totals
from glassine.verification import Claim, Runs, lower_bound
from glassine.verification.scores import Distinguisher
from tests.learners.sums import Given, oracle_of, through

DOMAIN = Domain({"x": Integer(0, 1, thresholds=(0,))})
# Half of the records at each value and class; the neighbor has one more, which is alone of its kind.
X = np.repeat([[0], [1]], 60, axis=0)
Y = np.repeat([0, 1], 60)
D0, D1 = (X, Y), (np.append(X, [[1]], axis=0), np.append(Y, 0))
MANY: dict[str, Any] = {"runs": Runs(1000), "claim": Claim(epsilon=1.0, delta=1e-6)}
OPTIONS: dict[str, Any] = {"runs": Runs(120), "claim": Claim(epsilon=1.0, delta=1e-6)}


def learner() -> PrivateScorecardClassifier:
    return PrivateScorecardClassifier(epsilon=1.0, domain=DOMAIN, classes=(0, 1), calibration_share=0.5)


def risks(fitted: Any) -> dict[str, float]:
    """Return what a card says: log-odds at no points and of a point, and the width of the widest interval."""
    card: Scorecard = fitted.model_.scorecard
    widest = max((row.high or 0.0) - (row.low or 0.0) for row in card.risks)
    return {"intercept": fitted.model_.intercept[0], "unit": card.unit, "widest": widest}


def bound() -> Any:
    return lower_bound(learner(), D0, D1, score=Distinguisher(features=risks, models=()), **OPTIONS)


@pytest.mark.slow
def test_an_honest_card_is_not_accused() -> None:
    out = bound()
    assert not out.violated, str(out)


def totals(dataset: Any, seed: int | None, noise: float = 1.0) -> float:
    """Release the counts at two totals of a card that is public; return that of the record that may be there."""
    x, y = dataset
    # Planted where noise is below 1: the event is that of the honest release.
    mu = mu_from_epsilon(1.0, 1e-6) / noise
    records = Given(codes=x.T.astype(np.uint8), values=y.astype(float))
    question = Totals(terms=Terms(grids=(), axes=()), points=(np.array([0, 1]),), first=0, size=2)
    oracle = oracle_of(records, mu, Randomness.of(seed))
    return float(release_totals(oracle, oracle.whole, question)[0][1, 0])


@pytest.mark.slow
def test_released_totals_are_not_accused_and_with_an_eighth_of_the_noise_they_are() -> None:
    score = Distinguisher(models=())
    assert not lower_bound(totals, D0, D1, score=score, **MANY).violated
    planted = lower_bound(lambda dataset, seed: totals(dataset, seed, 0.125), D0, D1, score=score, **MANY)
    assert planted.violated, str(planted)


@pytest.mark.slow
def test_items_chosen_without_noise_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def exact(noise: Any, sums: Any, randomness: Any) -> Any:
        return np.asarray(sums, dtype=float) / noise.units

    # Planted: neither base, bins nor scores carry noise, and the events say that they do. The totals are left aside.
    through(monkeypatch, exact)
    monkeypatch.setattr(additive_fit, "calibrate", lambda card, noisy, deviation: card)
    out = bound()
    assert out.violated, str(out)


@pytest.mark.slow
def test_rounding_after_a_look_at_the_records_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = additive_fit._Run.carded

    def looked(run: Any, model: Any, terms: Any) -> Any:
        # Planted: the point's worth follows from the exact number of records.
        card = honest(run, model, terms)
        n = len(run.privacy.oracle._GaussianOracle__stores[0].records.values)
        return replace(card, intercept=card.intercept, source=f"{n}") if card.scorecard is None else _with_unit(card, n)

    monkeypatch.setattr(additive_fit._Run, "carded", looked)
    out = bound()
    assert out.violated, str(out)


def _with_unit(card: Any, n: int) -> Any:
    from glassine.models.scorecard import card_of, repointed

    unit = n * 2.0**-7
    terms = repointed(card.terms, card.scorecard.unit, unit)
    rows = card_of(terms, card.intercept[0], unit).risks
    wide = tuple(replace(row, low=0.0, high=1.0) for row in rows)
    return replace(card, terms=terms, scorecard=Scorecard(unit=unit, risks=wide))
