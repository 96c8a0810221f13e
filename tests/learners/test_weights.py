"""Weights of ordinary learners: what a row counts as, in objectives, limits and published sums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from glassine import Category, Domain, Integer, Policy, Real, audit
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.formats import format_rules, load_model, to_pmml, to_text, write_model
from glassine.formats.json import to_dict
from glassine.learners import (
    EBMClassifier,
    EBMRegressor,
    GreedyRuleListClassifier,
    MultiwayTreeClassifier,
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    ScorecardClassifier,
    ScorecardRegressor,
)
from glassine.learners.estimator import OrdinaryLearner
from glassine.learners.training_data import MOST_PARTS, weights_of
from glassine.models import AdditiveModel, RuleList

N = 240
RANDOM = np.random.default_rng(0)
X = RANDOM.integers(0, 5, (N, 3)).astype(float)
Y = ((X[:, 0] + X[:, 1] + RANDOM.integers(0, 4, N)) > 5).astype(int)
NUMBERS = 2 * X[:, 0] + X[:, 1] + RANDOM.normal(size=N).clip(-3, 3)
TIMES = np.concatenate([[1, 3, 5, 0, 2], RANDOM.integers(0, 7, N - 5)])
COPIES = np.repeat(np.arange(N), TIMES)
RANGE = (-4.0, 16.0)
COUNTS = np.rint(NUMBERS).clip(0, 12)

LEARNERS: dict[str, Any] = {
    "tree": OptimalTreeClassifier(2),
    "ranking tree": OptimalTreeClassifier(2, accuracy_share=0.3, penalty=0.01),
    "list": OptimalRuleListClassifier(2),
    "greedy list": GreedyRuleListClassifier(3),
    "multiway tree": MultiwayTreeClassifier(3, criterion="gain_ratio"),
    "additive": EBMClassifier(monotone="auto"),
    "boosting": EBMClassifier(algorithm="boosting"),
    "pairs": EBMClassifier(interactions=1),
    "card": ScorecardClassifier(),
    "regression tree": OptimalTreeRegressor(2, target_range=RANGE),
    "additive regression": EBMRegressor(target_range=RANGE, interactions="auto"),
    "boosting of numbers": EBMRegressor(target_range=RANGE, algorithm="boosting"),
    "card of numbers": ScorecardRegressor(target_range=RANGE),
    "events": EBMRegressor(target_range=(0, 12), objective="poisson"),
}
EVERY = pytest.mark.parametrize("kind", LEARNERS)


def target_of(kind: str) -> Any:
    """Return what a learner is to predict."""
    learner = LEARNERS[kind]
    return COUNTS if kind == "events" else NUMBERS if hasattr(learner, "target_range") else Y


def fitted(kind: str, rows: Any, weights: Any) -> Any:
    """Return a learner fitted to some rows, each with a weight."""
    return clone(LEARNERS[kind]).fit(X[rows], target_of(kind)[rows], sample_weight=weights)


def said(estimator: Any) -> Any:
    """Return what a model says of all records: predictions, and probabilities or scores."""
    out = [estimator.predict(X).astype(float)]
    if hasattr(estimator, "predict_proba"):
        out.append(estimator.predict_proba(X)[:, 1])
    return np.array(out)


def test_every_ordinary_learner_is_here() -> None:
    def below(one: Any) -> set[Any]:
        return {one, *(own for child in one.__subclasses__() for own in below(child))}

    kinds = {one for one in below(OrdinaryLearner) if not one.__name__.startswith("_") and one.__name__ != "Optimal"}
    assert {type(learner) for learner in LEARNERS.values()} == kinds - {OrdinaryLearner}


@EVERY
def test_a_row_counts_as_so_many_copies_of_a_part(kind: str) -> None:
    weighted, copied = fitted(kind, np.arange(N), TIMES / 4), fitted(kind, COPIES, np.full(len(COPIES), 0.25))
    assert weighted.model_.sizes == copied.model_.sizes == "derived"
    if isinstance(weighted.model_, AdditiveModel):
        assert to_dict(weighted.model_) == to_dict(copied.model_)
    np.testing.assert_allclose(said(weighted), said(copied), rtol=0, atol=1e-12)


@EVERY
def test_parts_that_make_whole_records_give_the_same_model(kind: str) -> None:
    twice = np.concatenate([np.arange(N), np.arange(N)])
    parts, whole = fitted(kind, twice, np.tile(TIMES / 2, 2)), fitted(kind, np.arange(N), TIMES)
    # Whole weights may be those of a sample as well: one row of weight 300 is no 300 people.
    assert (parts.model_.sizes, whole.model_.sizes) == ("derived", "derived")
    assert fitted(kind, COPIES, np.ones(len(COPIES))).model_.sizes == "stored"
    # Probabilities of a greedy list, and all else, come from the same sums.
    np.testing.assert_allclose(said(parts), said(whole), rtol=0, atol=1e-12)
    assert to_dict(fitted(kind, np.arange(N), TIMES.astype(float)).model_) == to_dict(whole.model_)


@EVERY
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(N, -0.5), "must hold numbers of at least 0"),
        (np.full(N, np.nan), "must hold numbers of at least 0"),
        (np.full(N, np.inf), "must add up to less than"),
        (np.full(N, 1e300), "must add up to less than"),
        (np.full(N, 2.0**24 + 0.5), "must add up to less than 2\\^31 records"),
        (np.full(N, 1e-12), "must add up to more than 2\\^-20 records"),
        (np.zeros(N), "must not be zero for every record"),
        (np.full(N, "much"), "must hold numbers of at least 0"),
    ],
)
def test_weights_that_are_none_are_refused(kind: str, weights: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        fitted(kind, np.arange(N), weights)


@EVERY
def test_weights_of_another_length_are_refused(kind: str) -> None:
    with pytest.raises(InvalidDataError, match=r"sample_weight"):
        fitted(kind, np.arange(N), np.full(N - 1, 0.5))


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_rounded_as_little_as_they_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 3000))
    weights = rng.lognormal(0, 3, n) * 10.0 ** rng.integers(-3, 3)
    parts, per_record = weights_of(weights, n)
    assert (parts > 0).all()
    assert int(parts.sum()) < 2 * MOST_PARTS
    assert np.abs(parts / per_record - weights).max() <= n / 2**31 * weights.mean()


@pytest.mark.parametrize("halvings", [1, 2, 10])
def test_sums_of_binary_fractions_are_exact(halvings: int) -> None:
    weights = np.append(RANDOM.integers(0, 5000, 50), 1) / 2.0**halvings
    parts, per_record = weights_of(weights, 51)
    assert per_record == 2**halvings
    assert (parts / per_record == weights).all()


# Independent computations.


def binary(rng: np.random.Generator, n: int, p: int) -> tuple[Any, Domain]:
    """Return records of 0 and 1, and their domain."""
    rows = (rng.random((n, p)) < 0.5).astype(float)
    return rows, Domain.binary([f"x{i}" for i in range(p)])


def best_cost(rows: Any, y: Any, weights: Any, depth: int, least: int) -> float:
    """Return the least weight of errors of a tree whose leaves hold some rows at least, by trying all."""
    if len(y) < least:
        return np.inf
    best = min(float(weights[y == 0].sum()), float(weights[y == 1].sum()))
    for column in rows.T if depth else ():
        sides = [column == side for side in (0, 1)]
        best = min(best, sum(best_cost(rows[s], y[s], weights[s], depth - 1, least) for s in sides))
    return best


def test_trees_have_the_least_weight_of_errors_among_those_with_enough_rows() -> None:
    bound = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows, domain = binary(rng, 40, 4)
        y, weights = rng.integers(0, 2, 40), rng.integers(1, 64, 40) / 8
        # One row outweighs all others, and is one row all the same.
        weights[seed] = 300.25
        for depth, least in ((1, 1), (2, 1), (2, 8), (3, 4)):
            tree = OptimalTreeClassifier(depth, domain=domain, min_samples_leaf=least)
            tree.fit(rows, y, sample_weight=weights)
            best = best_cost(rows, y, weights, depth, least)
            assert tree.objective_ * weights.sum() == pytest.approx(best, abs=1e-9)
            assert weights[tree.predict(rows) != y].sum() == pytest.approx(best, abs=1e-9)
            assert np.bincount(tree.apply(rows)).min() >= least
            bound += best > best_cost(rows, y, weights, depth, 1)
    assert bound >= 5


@pytest.mark.parametrize("kind", [OptimalTreeClassifier, OptimalRuleListClassifier, OptimalTreeRegressor])
@pytest.mark.parametrize("least", [12, 0.3])
def test_fractional_weights_fill_no_leaf(kind: Any, least: float) -> None:
    rows, domain = binary(np.random.default_rng(1), 40, 2)
    y, weights = (rows[:, 0] + rows[:, 1] > 1).astype(int), np.full(40, 300.5)
    fit = kind(2, domain=domain, min_samples_leaf=least).fit(rows, y, sample_weight=weights)
    assert np.bincount(fit.apply(rows)).min() >= (12 if least == 0.3 else least)
    with pytest.raises(InvalidParameterError, match="there are 40 training records"):
        kind(2, domain=domain, min_samples_leaf=41).fit(rows, y, sample_weight=weights)


def test_other_limits_on_records_count_rows_as_well() -> None:
    rows, domain = binary(np.random.default_rng(2), 30, 1)
    rows[:, 0] = np.arange(30) < 2
    y, weights = rows[:, 0].astype(int), np.where(rows[:, 0] == 1, 99.5, 1.0)
    # By weight half of the records and more, by rows a fifteenth.
    greedy = GreedyRuleListClassifier(1, domain=domain, min_support=0.1).fit(rows, y, sample_weight=weights)
    assert np.bincount(greedy.apply(rows)).tolist() == [28, 2]
    assert np.bincount(clone(greedy).fit(rows, y, sample_weight=np.rint(weights)).apply(rows)).tolist() == [2, 28]
    tree = MultiwayTreeClassifier(min_samples_split=31, domain=domain).fit(rows, y, sample_weight=weights)
    assert len(tree.model_.cells) == 1
    assert len(clone(tree).fit(rows, y, sample_weight=np.rint(weights)).model_.cells) == 2


@pytest.mark.parametrize("seed", range(4))
def test_regression_trees_agree_with_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, domain = binary(rng, 80, 4)
    target = rows @ np.array([4.0, 2, 1, 0]) + rng.normal(size=80)
    weights = rng.random(80) * 3
    one = OptimalTreeRegressor(1, domain=domain, target_range=(-5, 15)).fit(rows, target, sample_weight=weights)
    other = DecisionTreeRegressor(max_depth=1).fit(rows, target, sample_weight=weights)
    np.testing.assert_allclose(one.predict(rows), other.predict(rows), atol=1e-5)
    two = OptimalTreeRegressor(2, domain=domain, target_range=(-5, 15)).fit(rows, target, sample_weight=weights)
    greedy = DecisionTreeRegressor(max_depth=2).fit(rows, target, sample_weight=weights)
    errors = np.average((greedy.predict(rows) - target) ** 2, weights=weights) / 400
    assert two.objective_ <= errors + (1 / 128) ** 2


@pytest.mark.parametrize("make", [EBMRegressor, ScorecardRegressor])
def test_additive_numbers_are_weighted_means(make: Any) -> None:
    rng = np.random.default_rng(3)
    group, weights = rng.integers(0, 2, 4000), rng.random(4000) * 2
    target = np.where(group == 1, 6.0, 2.0) + rng.normal(size=4000).clip(-2, 2)
    # Heavy rows lie higher, so that means without weights are others.
    target[weights > 1] += 1
    domain = Domain({"group": Category(("a", "b"))})
    frame = pl.DataFrame({"group": np.array(["a", "b"])[group]})
    model = make(domain=domain, target_range=(-1, 11)).fit(frame, target, sample_weight=weights)
    means = [np.average(target[group == g], weights=weights[group == g]) for g in (0, 1)]
    np.testing.assert_allclose(np.unique(model.predict(frame)), means, atol=0.02)
    assert abs(means[0] - target[group == 0].mean()) > 0.1
    term = model.model_.terms[0]
    np.testing.assert_allclose(np.sort(term.weights)[-2:].sum(), weights.sum(), rtol=1e-6)


def test_rates_of_events_are_weighted_with_their_exposures() -> None:
    rng = np.random.default_rng(4)
    group, years, weights = rng.integers(0, 2, 3000), rng.uniform(0.5, 4, 3000), rng.random(3000) + 0.1
    counts = rng.poisson(np.where(group == 1, 1.0, 0.3) * years * np.where(weights > 0.6, 1.5, 1)).clip(0, 20)
    domain = Domain({"group": Category(("a", "b")), "years": Real(0.5, 4)})
    frame = pl.DataFrame({"group": np.array(["a", "b"])[group], "years": years})
    model = EBMRegressor(domain=domain, target_range=(0, 20), objective="poisson", exposure="years")
    rates = np.unique(model.fit(frame, counts, sample_weight=weights).predict(frame.drop("years")))
    own = [(weights * counts)[group == g].sum() / (weights * years)[group == g].sum() for g in (0, 1)]
    np.testing.assert_allclose(rates, own, rtol=0.04)
    assert own[0] > 1.1 * counts[group == 0].sum() / years[group == 0].sum()


def test_a_common_factor_changes_no_tree_and_no_mean_loss() -> None:
    weights = RANDOM.random(N) * 2
    for kind in ("tree", "ranking tree", "list", "regression tree"):
        one, other = (fitted(kind, np.arange(N), weights * factor) for factor in (1, 2.0**-6))
        np.testing.assert_allclose(said(one), said(other), atol=1e-6)
        assert one.objective_ == pytest.approx(other.objective_, abs=1e-6)


# What an audit makes of sums of weights.

DOMAIN = Domain({f"x{i}": Integer(0, 4, thresholds=(1, 3)) for i in range(3)})
FRAME = pl.DataFrame({f"x{i}": X[:, i].astype(int) for i in range(3)})


@pytest.mark.parametrize(
    "kind", ["tree", "list", "greedy list", "multiway tree", "regression tree", "additive", "card"]
)
def test_no_limit_on_records_is_passed_by_a_sum_of_weights(kind: str, tmp_path: Path) -> None:
    # Halves of odd numbers; of the additive model every bin's sum is whole.
    weights = np.full(N, 1000.5)
    learner = clone(LEARNERS[kind]).set_params(domain=DOMAIN).fit(FRAME, target_of(kind), sample_weight=weights)
    path = tmp_path / "model.json"
    write_model(learner.model_, path)
    read: Any = load_model(path, DOMAIN)
    assert read == learner.model_
    policy = Policy(smallest_leaf=10)
    texts = [] if isinstance(read, RuleList) else [to_pmml(read, DOMAIN)]
    others = []
    for text in (*texts, format_rules(read) if isinstance(read, RuleList) else to_text(read, DOMAIN)):
        (tmp_path / "text").write_text(text)
        others.append(load_model(tmp_path / "text", DOMAIN))
    for one in (learner, read, *others):
        findings = audit(one, domain=DOMAIN, policy=policy)
        (check,) = [each for each in findings.checks if each.rule == "smallest_leaf"]
        assert check.status == "unknown"
    data, target = FRAME.with_columns(y=pl.Series(target_of(kind))), "y"
    findings = audit(read, domain=DOMAIN, policy=Policy(smallest_leaf=N), data=data, target=target)
    (check,) = [each for each in findings.checks if each.rule == "smallest_leaf"]
    assert check.status == "fail"


def test_sums_that_happen_to_be_whole_are_no_counts() -> None:
    halves = EBMClassifier(domain=DOMAIN).fit(
        pl.concat([FRAME, FRAME]), np.tile(Y, 2), sample_weight=np.full(2 * N, 0.5)
    )
    sums = np.concatenate([np.zeros(0) if term.weights is None else term.weights for term in halves.model_.terms])
    assert len(sums)
    assert (sums == np.rint(sums)).all()
    findings = audit(halves.model_, domain=DOMAIN, policy=Policy(smallest_leaf=1))
    assert [each.status for each in findings.checks if each.rule == "smallest_leaf"] == ["unknown"]


@pytest.mark.parametrize("weight", [300, 300.5])
def test_no_audit_takes_the_weight_of_a_few_for_many(weight: float) -> None:
    rows = np.array([[1]] * 3 + [[0]] * 57)
    weights = np.where(rows[:, 0] == 1, weight, 3)
    learner = OptimalTreeClassifier(1, domain=Domain.binary(["rare"]), min_samples_leaf=3)
    model = learner.fit(rows, rows[:, 0], sample_weight=weights).model_
    checks = {check.rule: check.status for check in audit(model, policy=Policy(smallest_leaf=10)).checks}
    assert checks["smallest_leaf"] == "unknown"
    whole = learner.fit(np.repeat(rows, 20, axis=0), np.repeat(rows[:, 0], 20)).model_
    checks = {check.rule: check.status for check in audit(whole, policy=Policy(smallest_leaf=10)).checks}
    assert checks["smallest_leaf"] == "pass"
