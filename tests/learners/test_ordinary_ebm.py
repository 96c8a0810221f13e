"""Ordinary additive models: the private algorithms with exact sums, which nothing can certify."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from glassine import audit
from glassine.auditing.policy import Policy
from glassine.data import CountTable
from glassine.domain import Category, Domain, Integer, Real
from glassine.errors import InvalidCertificateError
from glassine.learners import EBMClassifier, EBMRegressor, PrivateEBMClassifier, PrivateEBMRegressor
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.additive_fit import AdditivePlan, Ordinary, fit_model
from glassine.learners.additive.boosting import BestSplits, Boosting, boost
from glassine.learners.additive.grids import Axis, public_grids
from glassine.learners.additive.targets import read_classes
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import Paid
from glassine.sealed.gaussian import ExactSumsOracle
from glassine.sealed.noisy_sums import ExactSums
from glassine.sealed.released_bins import Terms
from tests.learners.sums import Given
from tests.learners.test_ebm import ALGORITHMS, DOMAIN, people
from tests.policies import NORM

KINDS: tuple[Any, ...] = (EBMClassifier, EBMRegressor)


def learner(kind: Any, **more: Any) -> Any:
    """Return a learner with everything declared."""
    declared = {"classes": ("no", "yes")} if kind is EBMClassifier else {"target_range": (0, 10)}
    return kind(**({"domain": DOMAIN} | declared | more))


def target(kind: Any, y: Any) -> Any:
    return np.where(y > 4.5, "yes", "no") if kind is EBMClassifier else y


@parametrize_with_checks([EBMClassifier(), EBMRegressor()])  # type: ignore[untyped-decorator]  # scikit-learn ships no types
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    """No check is exempted."""
    check(estimator)
    assert not hasattr(estimator, "model_"), "checks work on clones"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_fit_keeps_its_model_and_claims_nothing(kind: Any, algorithm: str) -> None:
    frame, y = people(1500)
    model = learner(kind, algorithm=algorithm).fit(frame, target(kind, y))
    assert model.score(frame, target(kind, y)) > (0.85 if kind is EBMClassifier else 0.8)
    assert {name for name in vars(model) if name.endswith("_")} == model.released
    assert model.model_.guarantee is None
    assert (model.certificate_.holds, model.certificate_.events) == (False, ())
    assert model.certificate_.epsilon == np.inf
    assert all(term.errors is None for term in model.model_.terms)
    assert all(shape.low is None for shape in model.summarize_model())
    ages = frame["age"].to_numpy()
    cuts = model.model_.term("age").bins[0].cuts
    weights = model.model_.term("age").weights
    assert weights[:-1].tolist() == np.bincount(np.searchsorted(cuts, ages), minlength=len(cuts) + 1).tolist()
    assert pickle.loads(pickle.dumps(model)).model_ == model.model_


@pytest.mark.parametrize("kind", KINDS)
def test_weights_equal_duplication_and_every_frame_gives_the_same_model(kind: Any) -> None:
    frame, y = people(600)
    labels = target(kind, y)
    expected = learner(kind).fit(frame, labels)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = learner(kind).fit(frame, labels, sample_weight=weights)
    assert (
        replace(weighted.model_, sizes="stored")
        == learner(kind).fit(frame[rows], labels[rows]).model_
        != expected.model_
    )
    both = frame.with_columns(pl.Series("y", labels))
    assert learner(kind).fit(frame.to_pandas(), labels).model_ == expected.model_
    assert learner(kind).fit(both, "y").model_.terms == expected.model_.terms
    if kind is EBMClassifier:
        numbers = frame.select("age", "smoker").with_columns(y=pl.Series(labels))
        small = Domain({name: DOMAIN[name] for name in ("age", "smoker")})
        declared = Domain({**{name: small[name] for name in small}, "y": Category(("no", "yes"))})
        table = CountTable.from_frame(numbers, declared)
        counted = learner(kind, domain=None).fit(table, "y")
        assert counted.model_.terms == learner(kind, domain=small).fit(numbers, "y").model_.terms


def test_an_ordinary_fit_has_no_event_from_which_a_certificate_could_follow() -> None:
    frame, y = people(300)
    labels = target(EBMClassifier, y)
    records, training = read_classes(
        learner(EBMClassifier), frame, labels, domain=DOMAIN, classes=("no", "yes"), private=False
    )
    plan = AdditivePlan.of(training, algorithm="penalized", accounting="gdp", bins=None, monotone=None, interactions=1)
    oracle = ExactSumsOracle.of(records)
    model = fit_model(training, plan, Ordinary(oracle), source="test", progress=None)
    assert model.terms
    assert not hasattr(oracle, "events")
    assert model.guarantee is None


@pytest.mark.parametrize("events", [[], ()])
def test_a_fit_without_events_is_not_certified(events: Any) -> None:
    """Exact sums state no event: what is left of them must not pass for a fit that spent nothing."""
    frame, y = people(300)
    model = learner(EBMClassifier).fit(frame, target(EBMClassifier, y)).model_
    with pytest.raises(InvalidCertificateError, match="without events"):
        GaussianBudget.of(1.0, 1e-6).certify(events, model, paid=Paid(randomness=Randomness.of(None)), public={})


@pytest.mark.parametrize("interactions", [0, 1])
def test_the_exact_counts_of_a_model_are_whole_and_fail_the_smallest_leaf_without_data(interactions: int) -> None:
    rng = np.random.default_rng(0)
    ages = np.append(rng.integers(18, 80, 299), 107)
    frame, domain = (
        pl.DataFrame({"age": ages, "size": rng.integers(0, 9, 300)}),
        Domain({"age": Integer(0, 120), "size": Integer(0, 9)}),
    )
    model = (
        EBMClassifier(domain=domain, classes=(0, 1), interactions=interactions)
        .fit(frame, (ages > 50).astype(int))
        .model_
    )
    for term in model.terms:
        assert term.weights is not None
        assert (term.weights == np.rint(term.weights)).all()
    checks = {check.rule: check for check in audit(model, domain=domain, policy=NORM).checks}
    assert checks["smallest_leaf"].status == "fail"


def test_exact_sums_are_the_sums() -> None:
    sums = ExactSums()
    whole = np.array([-3, 0, 2**32], dtype=np.int64)
    assert (sums.release(whole * sums.units) == whole).all()
    assert sums.deviation == 0.0
    assert not sums.draw((2, 3)).any()


def axes_of(codes: npt.NDArray[Any], n_bins: int) -> list[Axis]:
    grids = public_grids(
        Domain({f"x{k}": Integer(0, n_bins - 1) for k in range(len(codes))}),
        {f"x{k}": [b + 0.5 for b in range(n_bins - 1)] for k in range(len(codes))},
    )
    counts = [np.bincount(row, minlength=n_bins).astype(float) for row in codes]
    return [
        Axis(grid=grid, bin_of=np.append(np.arange(n_bins), n_bins - 1), counts=count, variances=np.zeros(n_bins))
        for grid, count in zip(grids, counts, strict=True)
    ]


def best_cut(means: npt.NDArray[Any], counts: npt.NDArray[Any], runs: list[tuple[int, int]]) -> tuple[float, int, int]:
    """Return gain, run and place of the best cut, by sums of squares of what is left, from their definition."""

    def left(start: int, end: int) -> float:
        inside = counts[start:end].sum()
        mean = (means[start:end] * counts[start:end]).sum() / max(inside, 1.0)
        return float((counts[start:end] * (means[start:end] - mean) ** 2).sum())

    return max(
        (left(a, b) - left(a, cut) - left(cut, b), r, cut) for r, (a, b) in enumerate(runs) for cut in range(a + 1, b)
    )


@pytest.mark.parametrize("classes", [0, 2])
def test_boosting_is_algorithm_1_of_the_paper(classes: int) -> None:
    """An oracle that keeps residuals as lists and finds the best splits by the squares that they leave."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 6, (2, 80)).astype(np.uint8)
    y = rng.integers(0, 2, 80).astype(float) if classes else rng.uniform(-0.9, 0.9, 80)
    axes = axes_of(codes, 6)
    oracle = ExactSumsOracle.of(Given(codes=codes, values=y))
    shapes = boost(
        oracle,
        oracle.whole,
        Terms(grids=(), axes=tuple(axes)),
        n_classes=classes,
        boosting=Boosting(epochs=12, rate=0.2, clip=2.0),
        splits=BestSplits(),
        progress=None,
    )
    score, total = np.zeros(80), np.zeros((2, 6))
    for _ in range(12):
        for k in range(2):
            residual = y - (1 / (1 + np.exp(-score)) if classes else score)
            counts = np.bincount(codes[k], minlength=6).astype(float)
            means = np.bincount(codes[k], residual, 6) / np.maximum(counts, 1)
            runs = [(0, 6)]
            for _ in range(2):
                _, r, cut = best_cut(means, counts, runs)
                runs[r : r + 1] = [(runs[r][0], cut), (cut, runs[r][1])]
            for a, b in runs:
                inside = (codes[k] >= a) & (codes[k] < b)
                total[k, a:b] += 0.2 * residual[inside].mean()
            score = sum(total[j][codes[j]] for j in range(2))
    for k in range(2):
        assert np.abs((shapes.scores[k][:, 0] - shapes.scores[k][0, 0]) - (total[k] - total[k, 0])).max() < 2e-3


@pytest.mark.slow
def test_an_ordinary_fit_is_at_least_as_good_as_a_private_one_with_hardly_any_noise() -> None:
    frame, y = people(3000)
    test, truth = people(3000, seed=1)
    for kind, private, public in (
        (EBMClassifier, PrivateEBMClassifier, {"classes": ("no", "yes")}),
        (EBMRegressor, PrivateEBMRegressor, {"target_range": (0, 10)}),
    ):
        labels, others = target(kind, y), target(kind, truth)
        noisy = private(epsilon=1.0, domain=DOMAIN, random_state=0, **public).fit(frame, labels)
        plain = learner(kind).fit(frame, labels)
        assert plain.score(test, others) > noisy.score(test, others)
        named = learner(kind, interactions=[("age", "smoker")], monotone={"income": "increasing"}).fit(frame, labels)
        assert named.model_.terms[-1].name == "age & smoker"
        assert (np.diff(named.model_.term("income").scores[:-1, 0]) >= 0).all()


def test_the_mean_prediction_is_the_base_rate_and_classes_may_be_many() -> None:
    frame, y = people(2000)
    rare = np.where(y > 6.6, "yes", "no")
    model = learner(EBMClassifier).fit(frame, rare)
    assert abs(model.predict_proba(frame)[:, 1].mean() - (rare == "yes").mean()) < 0.005
    several = np.where(y < 3.5, "low", np.where(y < 5.5, "middle", "high"))
    three = EBMClassifier(domain=DOMAIN).fit(frame, several)
    assert three.score(frame, several) > 0.75
    assert three.model_.link == "softmax"


def test_a_card_of_an_ordinary_model_has_no_guarantee_either() -> None:
    frame, y = people(800)
    card = learner(EBMClassifier).fit(frame, target(EBMClassifier, y)).to_scorecard(max_items=4)
    assert card.model_.scorecard is not None
    assert not card.certificate_.holds


@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_fit_has_as_fine_bins_as_a_private_one_of_large_budget(kind: Any) -> None:
    # Most records have none, as of capital gains: quantiles would leave a single bin for the others.
    rng = np.random.default_rng(4)
    amounts = np.where(rng.random(3000) < 0.95, 0, rng.integers(1, 100, 3000))
    domain = Domain({"amount": Integer(0, 100)})
    y = amounts // 10 % 2 * 9.0
    frame, labels = pl.DataFrame({"amount": amounts}), target(kind, y)
    own = learner(kind, domain=domain).fit(frame, labels)
    private = PrivateEBMClassifier if kind is EBMClassifier else PrivateEBMRegressor
    declared = {"classes": ("no", "yes")} if kind is EBMClassifier else {"target_range": (0, 10)}
    beside = private(epsilon=100.0, domain=domain, random_state=0, **declared).fit(frame, labels)
    sizes = [len(model.model_.term("amount").scores) - 1 for model in (own, beside)]
    assert sizes[0] >= sizes[1] > 50
    assert sizes[0] == len(np.unique(amounts))
    assert own.score(frame, labels) >= beside.score(frame, labels)


@pytest.mark.parametrize("algorithm", ["penalized", "boosting"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_fit_cuts_at_declared_thresholds_alone(kind: Any, algorithm: str) -> None:
    frame, y = people(800)
    ages = tuple(range(20, 60, 10))
    domain = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "age": Integer(18, 90, thresholds=ages)})
    labels = pl.Series("answer", target(kind, y))
    fitted = learner(kind, domain=domain, algorithm=algorithm).fit(frame, labels)
    stated = learner(kind, algorithm=algorithm, bins={"age": ages}).fit(frame, labels)
    assert [bins.cuts for bins in fitted.model_.term("age").bins] == [ages]
    assert fitted.model_.term("age") == stated.model_.term("age")
    # An auditor without the records finds no cut of that number that follows from them, nor a range of the target.
    alone = learner(kind, domain=domain.restrict(["age"]), algorithm=algorithm).fit(frame.select("age"), labels)
    public = Domain({**{name: domain[name] for name in domain}, "answer": Integer(0, 10)})
    for model, status in ((alone, "pass"), (learner(kind, algorithm=algorithm).fit(frame, labels), "fail")):
        found = audit(model.model_, domain=public, policy=Policy(thresholds_off_grid=0))
        assert next(check.status for check in found.checks if check.rule == "thresholds_off_grid") == status
    # What the user fixes comes first; so many thresholds that no byte holds their bins are thinned.
    own = learner(kind, domain=domain, algorithm=algorithm, bins={"age": [40]}).fit(frame, labels)
    assert own.model_.term("age").bins[0].cuts == (40,)
    many = Domain({"x": Real(0, 1, thresholds=np.linspace(0.001, 0.999, 500).tolist())})
    numbers = np.random.default_rng(0).random(2000)
    dense = learner(kind, domain=many, algorithm=algorithm).fit(pl.DataFrame({"x": numbers}), target(kind, numbers * 9))
    assert len(dense.model_.term("x").bins[0].cuts) == 127
