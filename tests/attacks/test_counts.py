"""Membership by an additive model's published counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine.attacks import Measured, MembershipResult, NotApplicable, attack_membership, count_attack
from glassine.attacks.membership.counts import LEAST, PublishedCounts, _folds
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.data import Sample
from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.models.additive_scores import bin_indices

N = 60
NAMES = tuple(f"x{i}" for i in range(40))


def people(n: int, seed: int) -> dict[str, npt.NDArray[Any]]:
    """Return records of independent attributes."""
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=n) for name in NAMES}


def model_of(records: dict[str, npt.NDArray[Any]], *, scale: float = 1.0, weights: bool = True) -> AdditiveModel:
    """Return a model of no use that publishes how many records its bins hold."""
    bins = [NumericBins(name, (-1.0, -0.5, 0.0, 0.5, 1.0)) for name in NAMES]
    terms = [Term(bins=(one,), scores=np.linspace(-0.1, 0.1, 7)) for one in bins]
    bare = AdditiveModel(attributes=NAMES, terms=tuple(terms), intercept=(0.0,), link="logit", classes=(0, 1))
    if not weights:
        return bare
    counted = [
        np.asarray(np.bincount(found, minlength=7) * scale, dtype=np.float64) for found in bin_indices(bare, records)
    ]
    terms = [
        Term(bins=(one,), scores=term.scores, weights=held)
        for one, term, held in zip(bins, terms, counted, strict=True)
    ]
    return AdditiveModel(attributes=NAMES, terms=tuple(terms), intercept=(0.0,), link="logit", classes=(0, 1))


def sample(records: dict[str, npt.NDArray[Any]], seed: int) -> Sample:
    X = np.column_stack(list(records.values()))
    return Sample(X, np.random.default_rng(seed).integers(0, 2, len(X)))


def by_solving(counts: npt.NDArray[Any], population: npt.NDArray[Any], n: float, noise: float) -> npt.NDArray[Any]:
    """Return the log-likelihood ratios of two normal laws, the covariance solved as it stands."""
    p = np.bincount(population, minlength=len(counts)) + 0.5
    p = p / p.sum()
    covariance = n * (np.diag(p) - np.outer(p, p)) + (noise**2 + LEAST) * np.eye(len(p))
    shift = np.eye(len(p)) - p
    surprise = (counts - n * p)[None, :] - shift / 2
    return np.asarray((shift * np.linalg.solve(covariance, surprise.T).T).sum(axis=1))


@pytest.mark.parametrize("noise", [0.0, 3.0, 200.0])
def test_ratios_are_those_of_two_normal_laws(noise: float) -> None:
    rng = np.random.default_rng(0)
    population = rng.integers(0, 9, 400)
    counts = rng.multinomial(100, np.full(10, 0.1)) + rng.normal(size=10) * noise
    found = PublishedCounts(counts=counts, noise=noise, n_records=100).ratios(population)
    assert found == pytest.approx(by_solving(counts, population, 100, noise), rel=1e-5, abs=1e-7)


def test_counts_of_members_are_likelier_with_them() -> None:
    rng, n = np.random.default_rng(0), 500
    population = np.repeat(np.arange(3), [5_000, 3_000, 2_000])
    inside, outside = [], []
    for _ in range(2_000):
        members, others = (rng.choice(3, n, p=[0.5, 0.3, 0.2]) for _ in range(2))
        counts = np.bincount(members, minlength=3).astype(float)
        ratios = PublishedCounts(counts=counts, noise=0.0, n_records=n).ratios(population)
        inside.append(ratios[members].mean())
        outside.append(ratios[others].mean())
    # Of k bins the ratio is 1 / (2 n) for each but one with a record, and as much below zero without it.
    assert np.mean(inside) == pytest.approx(2 / (2 * n), rel=0.2)
    assert np.mean(outside) == pytest.approx(-2 / (2 * n), rel=0.2)
    loud = PublishedCounts(counts=np.array([300.0, 100.0, 100.0]), noise=1e4, n_records=n)
    assert np.abs(loud.ratios(population)).max() < 1e-3, "noise hides what the counts would say"


def test_exact_counts_give_members_away_and_those_of_other_records_do_not() -> None:
    members, others, strangers = people(N, 0), people(N, 1), people(N, 2)
    sides = sample(members, 3), sample(others, 4)
    for population in (None, sample(people(2_000, 5), 6)):
        found = count_attack(model_of(members), *sides, population=population, random_state=0)
        assert isinstance(found, Measured)
        assert found.value.detected
        assert found.value.auc.value > 0.65
        control = count_attack(model_of(strangers), *sides, population=population, random_state=0, confidence=0.999)
        assert isinstance(control, Measured)
        assert control.value.auc.low < 0.5 < control.value.auc.high


def test_the_holdout_as_population_favors_neither_side() -> None:
    # Non-members judged by shares to which they contributed would look unlike members: an area far above 0.5.
    areas = []
    for seed in range(12):
        sides = sample(people(N, 3 * seed), 0), sample(people(N, 3 * seed + 1), 1)
        found = count_attack(model_of(people(N, 3 * seed + 2)), *sides, random_state=seed)
        assert isinstance(found, Measured)
        areas.append(found.value.auc.value)
    assert abs(np.mean(areas) - 0.5) < 0.04


def test_all_records_of_a_person_are_in_one_fold() -> None:
    records = LabelledRecords.read(
        Sample(np.zeros((20, 1)), np.zeros(20), persons=np.repeat(np.arange(10), 2)), "members"
    )
    folds = _folds(records, 5, np.random.default_rng(0))
    assert (folds[::2] == folds[1::2]).all()
    assert np.bincount(folds).tolist() == [4] * 5


def test_what_publishes_no_counts_cannot_be_attacked() -> None:
    sides = sample(people(N, 0), 3), sample(people(N, 1), 4)
    tree = DecisionTreeClassifier(max_depth=2).fit(sides[0].data, sides[0].target)
    for model in (model_of({}, weights=False), tree, object()):
        found = count_attack(model, *sides, random_state=0)
        assert isinstance(found, NotApplicable)
        assert "no counts" in found.reason
    few = count_attack(model_of(people(N, 0)), sides[0], sample(people(4, 1), 4), random_state=0)
    assert isinstance(few, NotApplicable)


@pytest.mark.slow
def test_the_suite_attacks_an_additive_model_by_its_answers_and_its_counts() -> None:
    members = people(N, 0)
    found = attack_membership(model_of(members), sample(members, 3), holdout=sample(people(N, 1), 4), random_state=0)
    assert isinstance(found.strongest, MembershipResult)
    assert found.strongest.attack == "published-counts attack"
    for outcome in (found.gap, found.best_loss, found.black_box, found.label_only, found.vulnerability):
        assert isinstance(outcome, Measured)
    assert isinstance(found.lira_online, NotApplicable)
    assert isinstance(found.midpoint, NotApplicable)


@pytest.mark.slow
def test_the_suite_attacks_models_that_take_text() -> None:
    rng = np.random.default_rng(0)
    jobs = CategoryBins("job", (("clerk",), ("baker",)))
    term = Term(bins=(jobs,), scores=np.array([1.0, -1.0, 0.0]), weights=np.array([30.0, 30.0, 0.0]))
    model = AdditiveModel(attributes=("job",), terms=(term,), intercept=(0.0,), link="logit", classes=("no", "yes"))
    sides = [
        Sample(pl.DataFrame({"job": rng.choice(["clerk", "baker"], N), "y": rng.choice(["no", "yes"], N)}), "y")
        for _ in range(2)
    ]
    found = attack_membership(model, sides[0], holdout=sides[1], random_state=0)
    assert isinstance(found.counts, Measured)
    assert isinstance(found.midpoint, NotApplicable)
    assert "cut points need not be midpoints" in found.midpoint.reason
