"""Private and ordinary scorecards: what they spend, release and predict; and what the base rate of a fit is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from glassine import Binary, Category, Domain, Integer, Ledger, Real
from glassine.data import CountTable
from glassine.errors import InvalidParameterError
from glassine.formats import fingerprint
from glassine.learners import (
    OptimalTreeClassifier,
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateScorecardClassifier,
    PrivateTreeClassifier,
    ScorecardClassifier,
)
from glassine.learners.additive.calibration import calibrate
from glassine.learners.additive.choices import LEVELS_OF_DECLARED, choices, strength
from glassine.learners.additive.published_scores import matched
from glassine.learners.additive.targets import second_look
from glassine.models import AdditiveModel, NumericBins, Term
from glassine.models.scorecard import card_items
from glassine.privacy.accounting import DiscreteGaussianNoise

DOMAIN = Domain(
    {
        "age": Integer(0, 99, thresholds=(20, 40, 60, 80)),
        "job": Category(("clerk", "baker", "cook")),
        "size": Real(0, 1, thresholds=(0.25, 0.5, 0.75)),
    }
)


def people(n: int, seed: int = 0, rate: float = -2.0) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """Return records whose risk rises with age, and is higher for bakers."""
    rng = np.random.default_rng(seed)
    age, job, size = rng.integers(0, 100, n), rng.choice(["clerk", "baker", "cook"], n), rng.random(n)
    odds = rate + 0.04 * (age - 50) + 1.0 * (job == "baker")
    frame = pl.DataFrame({"age": age, "job": job, "size": size})
    return frame, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def private(epsilon: float = 1.0, **more: Any) -> PrivateScorecardClassifier:
    return PrivateScorecardClassifier(epsilon=epsilon, domain=DOMAIN, classes=(0, 1), random_state=0, **more)


def test_a_private_card_ranks_and_its_events_are_within_the_claim() -> None:
    frame, y = people(4000)
    card = private().fit(frame, y)
    assert roc_auc_score(y, card.predict_proba(frame)[:, 1]) > 0.78
    names = [event.name for event in card.certificate_.events]
    assert "numbers of records at each total of points" in names
    assert card.certificate_.epsilon == 1.0
    assert card.certificate_.public["items"] == 10
    assert card.model_.scorecard is not None
    assert card.model_.scorecard.calibrated == "counts"


def test_a_card_without_a_share_for_calibration_counts_no_totals() -> None:
    frame, y = people(2000)
    card = private(calibration_share=0.0).fit(frame, y)
    assert not any("total" in event.name for event in card.certificate_.events)
    assert card.model_.scorecard is not None
    assert card.model_.scorecard.calibrated == "scores"


def test_a_fitted_additive_model_becomes_a_card_with_its_certificate() -> None:
    frame, y = people(2000)
    fitted = PrivateEBMClassifier(epsilon=1.0, domain=DOMAIN, classes=(0, 1), random_state=0).fit(frame, y)
    card = fitted.to_scorecard(max_items=4)
    assert len(card_items(card.model_)) <= 4
    assert card.certificate_.epsilon == 1.0
    assert card.certificate_.events == fitted.certificate_.events
    assert card.certificate_.model == fingerprint(card.model_)
    assert fitted.model_.scorecard is None


def test_the_fit_of_a_card_is_charged_once(tmp_path: Path) -> None:
    frame, y = people(500)
    ledger = Ledger(tmp_path / "ledger.json")
    ledger.budget("people", 2.0, 1e-5)
    PrivateScorecardClassifier(epsilon=1.0, domain=DOMAIN, classes=(0, 1), ledger=ledger, dataset="people").fit(
        frame, y
    )
    assert ledger.spent("people") == 1.0


def test_parameters_of_a_card_are_checked_before_anything_is_spent() -> None:
    frame, y = people(100)
    for name, value in (("max_items", 0), ("max_points", 1.5), ("calibration_share", 0.6)):
        with pytest.raises(InvalidParameterError, match=name):
            clone(private()).set_params(**{name: value}).fit(frame, y)
    with pytest.raises(InvalidParameterError, match="two classes"):
        PrivateScorecardClassifier(epsilon=1.0, domain=DOMAIN, classes=(0, 1, 2)).fit(frame, y)


def test_an_ordinary_card_has_few_items_and_predicts_the_base_rate() -> None:
    frame, y = people(3000)
    card = ScorecardClassifier(max_items=5, max_points=5, domain=DOMAIN).fit(frame, y)
    assert len(card_items(card.model_)) <= 5
    assert roc_auc_score(y, card.predict_proba(frame)[:, 1]) > 0.77
    assert abs(card.predict_proba(frame)[:, 1].mean() - y.mean()) < 0.005
    assert card.certificate_.epsilon == float("inf")


def test_a_weight_is_worth_as_many_copies_of_its_row() -> None:
    rng = np.random.default_rng(2)
    X, weights = rng.gamma(2.0, 1.0, (300, 2)), rng.integers(0, 5, 300)
    y = (X[:, 0] > 2).astype(int)
    card = ScorecardClassifier(domain=ScorecardClassifier().fit(X, y).domain_)
    weighted = clone(card).fit(X, y, sample_weight=weights)
    assert (
        replace(weighted.model_, sizes="stored")
        == card.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).model_
    )


def test_a_lazy_frame_and_a_table_of_counts_give_the_card_of_the_rows() -> None:
    rng = np.random.default_rng(3)
    ages = rng.gamma(2.0, 8.0, 400).clip(0, 60).astype(int)
    rows = pl.DataFrame({"age": ages, "y": ages > 20})
    domain = Domain({"age": Integer(0, 60)})
    table = CountTable.from_frame(rows, Domain({"age": Integer(0, 60), "y": Binary()}))
    cards = [ScorecardClassifier(domain=domain).fit(records, "y").model_ for records in (rows, rows.lazy())]
    cards.append(ScorecardClassifier(classes=(False, True)).fit(table, "y").model_)
    assert [card.terms for card in cards] == [cards[0].terms] * 3


@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [ScorecardClassifier(max_items=2), PrivateScorecardClassifier(epsilon=1e3, max_items=2, random_state=0)]
)
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_class_weight_is_refused_with_the_loss_that_serves() -> None:
    kinds: tuple[Any, ...] = (PrivateTreeClassifier, OptimalTreeClassifier, PrivateEBMClassifier, ScorecardClassifier)
    for kind in kinds:
        with pytest.raises(TypeError, match="accuracy_share"):
            kind(class_weight="balanced")
    frame, y = people(50)
    with pytest.raises(TypeError, match="accuracy_share"):
        private().fit(frame, y, class_weight={0: 1, 1: 5})


def _line(risks: npt.NDArray[np.float64], n: int, seed: int) -> tuple[AdditiveModel, npt.NDArray[np.float64]]:
    """Return a card of 0 to 8 points, and noisy counts at each total of records with such risks."""
    rng = np.random.default_rng(seed)
    scores = np.append(np.arange(9) * 0.5, 0.0)
    term = Term(
        bins=(NumericBins("x", tuple(range(8))),), scores=scores, weights=np.array([n // 9] * 9 + [0], dtype=np.float64)
    )
    card = AdditiveModel(attributes=("x",), terms=(term,), intercept=(-2.0,), link="logit", classes=(0, 1))
    ill = rng.binomial(n // 9, risks)
    noisy = np.column_stack([n // 9 - ill, ill]) + rng.normal(0, 15, (9, 2))
    return card.to_scorecard(max_items=8, max_points=8), noisy


@pytest.mark.slow
def test_nine_in_ten_intervals_of_a_calibrated_card_hold_the_risk() -> None:
    held = []
    for seed in range(30):
        card, _ = _line(np.full(9, 0.5), 900, seed)
        assert card.scorecard is not None
        totals = np.array([row.points for row in card.scorecard.risks])
        truth = 1 / (1 + np.exp(-(-1.8 + 0.45 * (totals - totals.min()))))
        card, noisy = _line(truth, 4500, seed)
        out = calibrate(card, noisy, 15.0).scorecard
        assert out is not None
        held += [row.low <= risk <= row.high for row, risk in zip(out.risks, truth, strict=True)]
    # Thirty tables of nine: the totals of one table err together, so that the share scatters by about 4 %.
    assert 0.8 <= float(np.mean(held)) <= 0.98


# The base rate of private additive models.


def test_the_mean_prediction_is_within_a_hundredth_of_the_base_rate_of_a_rare_class() -> None:
    frame, y = people(5000, seed=3, rate=-3.2)
    fitted = PrivateEBMClassifier(epsilon=1.0, domain=DOMAIN, classes=(0, 1), random_state=2).fit(frame, y)
    assert abs(fitted.predict_proba(frame)[:, 1].mean() - y.mean()) < 0.01


def test_matching_finds_the_intercept_that_independent_scores_need() -> None:
    term = Term(
        bins=(NumericBins("x", (0,)),),
        scores=np.array([-1.0, 1.0, 0.0], dtype=np.float64),
        weights=np.array([500, 500, 0], dtype=np.float64),
    )
    model = AdditiveModel(attributes=("x",), terms=(term,), intercept=(0.3,), link="logit", classes=(0, 1))
    now = (1 / (1 + np.exp(-(0.3 + np.array([-1.0, 1.0]))))).mean()
    # A residual without noise decides; one that is all noise leaves it to the released share.
    for share, lack, deviation in ((0.9, 0.2 - now, 1e-6), (0.2, 0.3, 1e6)):
        out = matched(model, share=share, error=0.01, lack=lack, deviation=deviation)
        shifted = 1 / (1 + np.exp(-(out.intercept[0] + np.array([-1.0, 1.0]))))
        assert abs(shifted.mean() - 0.2) < 0.01


def test_the_second_look_costs_more_where_records_times_mu_are_few() -> None:
    shares = [second_look(n, 0.2) for n in (100, 1000, 10_000, 1_000_000)]
    assert shares == sorted(shares, reverse=True)
    assert (second_look(50, 0.2), shares[-1]) == (0.25, 0.0)


def test_at_small_strength_there_are_few_rounds_and_declared_thresholds_are_the_bins() -> None:
    # 377 of records times mu over the root of attributes: faint, as measured.
    assert LEVELS_OF_DECLARED.whole(strength(n_terms=1, n_records=3770, mu=0.1)) == 2
    assert choices(classes=True, n_terms=1, n_records=3770, mu=0.1).rounds == 12
    frame, y = people(300)
    fitted = PrivateEBMClassifier(epsilon=0.1, domain=DOMAIN, classes=(0, 1), random_state=1).fit(frame, y)
    for term in fitted.model_.terms:
        bins = term.bins[0]
        if isinstance(bins, NumericBins):
            assert set(bins.cuts) <= {20, 40, 60, 80, 0.25, 0.5, 0.75}


def test_the_choice_of_pairs_by_the_rule_costs_little_where_none_stands_out() -> None:
    frame, y = people(2000)
    parts: dict[str, Any] = {"domain": DOMAIN, "classes": (0, 1), "random_state": 0, "interactions": "auto"}
    fitted = PrivateEBMClassifier(epsilon=0.4, **parts).fit(frame, y)
    (chosen,) = (event for event in fitted.certificate_.events if "pairs" in event.name)
    assert isinstance(chosen, DiscreteGaussianNoise)
    assert chosen.share is not None
    assert chosen.share <= 0.001
    assert not any(len(term.bins) == 2 for term in fitted.model_.terms)
    assert any("pairs" in e.name for e in PrivateEBMClassifier(epsilon=0.5, **parts).fit(frame, y).certificate_.events)


@pytest.mark.slow
def test_the_base_rate_of_a_thousand_records_is_stable_at_epsilon_a_tenth() -> None:
    frame, y = people(1000, seed=1, rate=-1.2)
    means = []
    for seed in range(20):
        fitted = PrivateEBMClassifier(epsilon=0.1, domain=DOMAIN, classes=(0, 1), random_state=seed).fit(frame, y)
        means.append(fitted.predict_proba(frame)[:, 1].mean())
    assert sum(abs(mean - y.mean()) < 0.15 for mean in means) >= 18


def test_values_outside_the_domain_are_no_item_of_a_private_card() -> None:
    """Noise alone sets their scores, as the domain allows neither missing values nor others."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"b{i}": rng.integers(0, 2, 3000) for i in range(6)})
    y = (rng.random(3000) < 0.2 + 0.5 * frame["b0"].to_numpy()).astype(np.int64)
    domain = Domain.binary(frame.columns)
    for seed in range(3):
        card = PrivateScorecardClassifier(epsilon=0.3, domain=domain, classes=(0, 1), random_state=seed).fit(frame, y)
        assert {item.condition for item in card_items(card.model_)} <= {"0", "1"}
        assert card_items(card.model_)


def test_values_outside_the_domain_that_the_noisy_counts_show_are_an_item_of_a_private_card() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"job": rng.choice(["cook", "clerk", "judge"], 3000)})
    y = (rng.random(3000) < np.where(frame["job"] == "judge", 0.9, 0.1)).astype(np.int64)
    domain = Domain({"job": Category(("cook", "clerk"))})
    fitted = PrivateScorecardClassifier(epsilon=2.0, domain=domain, classes=(0, 1), random_state=0).fit(frame, y)
    assert fitted.score(frame, y) > 0.85
    assert len(card_items(fitted.model_)) == 1


def test_an_undeclared_category_without_records_has_no_score_in_a_private_additive_model() -> None:
    """Its sum is noise, and divided by a noisy count near 0 it had any size, beyond the range of the target."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"smoker": rng.integers(0, 2, 3000)})
    y = 4000.0 + 1500 * frame["smoker"].to_numpy() + rng.normal(0, 500, 3000)
    for seed in range(5):
        fitted = PrivateEBMRegressor(
            epsilon=1.0, domain=Domain.binary(["smoker"]), target_range=(0, 20_000), random_state=seed
        )
        (term,) = fitted.fit(frame, y).model_.terms
        assert term.scores[-1, 0] == 0
        assert term.scores[0, 0] < 0 < term.scores[1, 0]
