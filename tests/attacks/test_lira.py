"""Likelihood ratio attack with shadow models."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from glassine.attacks import Failed, Measured, NotApplicable, Shadows, lira
from glassine.attacks.membership.likelihood_ratios import MIN_SD, _fit
from glassine.attacks.membership.shadows import _draw
from glassine.data import Sample
from glassine.errors import InvalidParameterError, PrivacyLeakWarning, worded
from glassine.learners import PrivateTreeClassifier
from tests.attacks.sides import sides


def measured(outcome: object) -> Any:
    assert isinstance(outcome, Measured), outcome
    return outcome.value


Data = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


def sample(n: int, seed: int, flip: float = 0.2) -> Data:
    """Return records whose class follows from the first attribute but for some, half of them members."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 3))
    y = ((X[:, 0] > 0) ^ (rng.random(2 * n) < flip)).astype(int)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("mode", ["online", "offline"])
@pytest.mark.parametrize("variance", ["auto", "per-record"])
def test_an_overfit_tree_is_caught_and_hard_records_most_of_all(mode: Any, variance: Any) -> None:
    data = sample(150, 0)
    learner = DecisionTreeClassifier(min_samples_leaf=2)
    found = measured(
        lira(learner.fit(*data[:2]), *sides(*data), Shadows(learner, mode=mode, variance=variance), random_state=0)
    )
    assert found.detected
    assert found.gap is not None
    assert found.auc.value > found.gap.value
    assert f"{mode} likelihood-ratio attack" == found.attack


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_a_model_of_other_data_gives_nothing_away(mode: Any) -> None:
    data, other = sample(150, 1), sample(150, 2)
    learner = DecisionTreeClassifier(random_state=0)
    found = measured(
        lira(learner.fit(*other[:2]), *sides(*data), Shadows(learner, mode=mode), random_state=0, confidence=0.999)
    )
    assert found.advantage.low <= 0 <= found.advantage.high
    assert found.auc.low <= 0.5 <= found.auc.high


def test_degenerate_confidences_are_held_and_reported() -> None:
    data = sample(60, 3)
    learner = DecisionTreeClassifier()
    found = measured(lira(learner.fit(*data[:2]), *sides(*data), Shadows(learner, n_shadows=8), random_state=0))
    assert any("100% of the model's probabilities are 0 or 1" in note for note in found.notes)
    assert all(np.isfinite(found.roc.thresholds[1:]))


def test_each_record_is_seen_equally_often() -> None:
    seen = _draw(50, 0.7, 10, np.random.default_rng(0))
    assert seen.sum(axis=1).tolist() == [7] * 50
    assert len({tuple(row) for row in seen}) > 20
    assert _draw(5, 0.99, 10, np.random.default_rng(0)).sum(axis=1).tolist() == [8] * 5


def test_scores_are_those_of_the_normal_laws() -> None:
    rng = np.random.default_rng(0)
    shadows, seen = rng.normal(size=(4, 12)), _draw(4, 0.5, 12, rng)
    fits, observed = _fit(shadows, seen, pooled=False), np.array([0.3, -1.0, 2.0, 0.0])
    for i in range(4):
        inside, outside = shadows[i, seen[i]], shadows[i, ~seen[i]]
        expected = norm.logpdf(observed[i], inside.mean(), inside.std(ddof=1)) - norm.logpdf(
            observed[i], outside.mean(), outside.std(ddof=1)
        )
        assert fits.ratio(observed)[i] == pytest.approx(expected)
        z = (observed[i] - outside.mean()) / outside.std(ddof=1)
        assert fits.surprise(observed)[i] == pytest.approx(z)
    pooled = _fit(shadows, seen, pooled=True)
    assert np.ptp(pooled.sd_in) == 0
    assert pooled.sd_in[0] ** 2 == pytest.approx(np.mean([shadows[i, seen[i]].var(ddof=1) for i in range(4)]))
    assert _fit(np.zeros((4, 12)), seen, pooled=True).sd_in.tolist() == [MIN_SD] * 4


@pytest.mark.slow
def test_learners_frames_and_seeds() -> None:
    X_in, y_in, X_out, y_out = sample(60, 4)
    frames = [
        pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(y=pl.Series(np.where(y, "yes", "no")))
        for X, y in ((X_in, y_in), (X_out, y_out))
    ]
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    model = learner.fit(frames[0].drop("y"), frames[0]["y"])
    steps: list[tuple[int, int]] = []
    results = [
        measured(
            lira(
                model,
                Sample(frames[0], "y"),
                Sample(frames[1], "y"),
                Shadows(learner, n_shadows=6),
                random_state=5,
                progress=lambda done, total: steps.append((done, total)),
            )
        )
        for _ in range(2)
    ]
    assert results[0] == results[1]
    assert steps[:6] == [(i, 6) for i in range(1, 7)]


def test_a_private_learner_does_not_warn_of_its_shadows() -> None:
    X_in, y_in, X_out, y_out = sample(40, 5)
    binary = [(X > 0).astype(int) for X in (X_in, X_out)]
    learner = PrivateTreeClassifier(max_depth=2, epsilon=1.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        model = learner.fit(binary[0], y_in)
    found = measured(
        lira(model, Sample(binary[0], y_in), Sample(binary[1], y_out), Shadows(learner, n_shadows=4), random_state=0)
    )
    assert found.n_members == 40


class Refusing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A learner that cannot learn."""

    def fit(self, X: object, y: object) -> None:
        raise RuntimeError("no")


def test_what_cannot_be_attacked() -> None:
    data = sample(20, 6)
    tree = DecisionTreeClassifier().fit(*data[:2])
    outcome = lira(tree, *sides(*data), None)
    assert isinstance(outcome, NotApplicable)
    assert "shadows=" in outcome.reason
    failed = lira(tree, *sides(*data), Shadows(Refusing()))
    assert isinstance(failed, Failed)
    assert failed.reason == "the learner could not fit a shadow model: RuntimeError: no"
    assert isinstance(lira(tree, *sides(*data), Shadows(LinearSVC())), NotApplicable)


@pytest.mark.parametrize(
    "options",
    [{"n_shadows": 3}, {"n_shadows": 4.5}, {"mode": "both"}, {"variance": "none"}, {"learner": "tree"}],
)
def test_bad_parameters_are_refused(options: dict[str, Any]) -> None:
    data = sample(20, 7)
    tree = DecisionTreeClassifier().fit(*data[:2])
    with pytest.raises(InvalidParameterError):
        lira(tree, *sides(*data), Shadows(**{"learner": tree, **options}))


def test_shadow_models_of_another_size_are_named() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(440, 2)), rng.integers(0, 2, 440)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:40], y[:40])
    few = lira(
        tree,
        Sample(X[:40], y[:40]),
        Sample(X[40:], y[40:]),
        Shadows(DecisionTreeClassifier(), n_shadows=4),
        random_state=0,
    )
    assert isinstance(few, Measured)
    assert "trained on 5.5 times as many records" in few.value.verdict
    tree = DecisionTreeClassifier(random_state=0).fit(X[:220], y[:220])
    same = lira(
        tree,
        Sample(X[:220], y[:220]),
        Sample(X[220:], y[220:]),
        Shadows(DecisionTreeClassifier(), n_shadows=4),
        random_state=0,
    )
    assert isinstance(same, Measured)
    assert "times as many records" not in same.value.verdict
    alone = lira(tree, Sample(X[:220], y[:220]), Sample(X[220:], y[220:]), None)
    assert isinstance(alone, NotApplicable)
    assert alone.reason == "shadow models need a learner like the model's: pass shadows=."
    assert worded(alone.reason, {"shadows": "--shadows"}).endswith("pass --shadows.")
