"""Every private learner and mechanism of the package is run against its claim; a planted bug in a learner is caught."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from glassine import Domain
from glassine.learners import PrivateTreeClassifier, PrivateTreeRegressor
from glassine.sealed import draws
from glassine.verification import Claim, Runs, lower_bound
from glassine.verification.scores import Distinguisher

# One test in ten thousand of an honest subject may fail by chance; the seeds make the outcome repeatable.
CONFIDENCE = 0.9999

benchmark: Any = importlib.import_module("benchmarks.verification")
MECHANISMS = {subject.name: subject for subject in benchmark.mechanisms()}
LEARNERS = {subject.name: subject for subject in benchmark.learners()}
PUBLISHED = {subject.name: subject for subject in benchmark.published()}


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_no_mechanism_is_accused(name: str) -> None:
    _, bound = MECHANISMS[name].verify(2000, confidence=CONFIDENCE)
    assert not bound.violated, str(bound)
    if name in {"laplace", "discrete_laplace", "gaussian, mu = 1"}:
        # The test has teeth: it comes near the claim.
        assert bound.value > 0.25 * bound.claim


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_no_private_learner_is_accused(name: str) -> None:
    _, bound = LEARNERS[name].verify(500, confidence=CONFIDENCE)
    assert not bound.violated, str(bound)


@pytest.mark.slow
def test_a_mechanism_of_the_paper_is_accused_as_published() -> None:
    _, bound = PUBLISHED["greedy, global-laplace, as published"].verify(4000, confidence=0.99)
    assert bound.violated, str(bound)


def test_every_private_learner_is_among_them() -> None:
    names = " ".join(LEARNERS)
    assert {type(subject.learner).__name__ for subject in LEARNERS.values()} == {
        "PrivateTreeClassifier",
        "PrivateTreeRegressor",
        "PrivateRuleListClassifier",
        "PrivateGreedyRuleListClassifier",
    }
    by_default = {type(subject.learner).__name__ for subject in benchmark.defaults()}
    assert by_default == {type(s.learner).__name__ for s in LEARNERS.values()} | {
        "PrivateEBMClassifier",
        "PrivateEBMRegressor",
        "PrivateScorecardClassifier",
    }
    for mechanism in (*benchmark.MECHANISMS, "counted-gini"):
        assert f"{mechanism}, strict" in names


X = np.zeros((4, 1), dtype=int)
Y = np.array([0, 0, 1, 1])
ONE_MORE = np.zeros((5, 1), dtype=int)
HONEST = draws.laplace


def half_noise(exact: Any, scale: Any, randomness: Any) -> Any:
    """Return counts with half of the noise that their event states."""
    return HONEST(exact, scale / 2, randomness)


# A split is all but forbidden, so that one count carries nearly all of the budget.
LEAF: dict[str, Any] = {"epsilon": 1.0, "domain": Domain.binary(["p"]), "leaf_counts_share": 0.9, "split_weight": 1e-6}


# Of numbers one half of the parts is noise alone, so that the added record stands out in the other.
ZEROS = np.zeros(4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tree", "before", "after", "telling"),
    [
        (PrivateTreeClassifier(1, classes=(0, 1), **LEAF), Y, np.append(Y, 1), "count 1"),
        (PrivateTreeRegressor(1, target_range=(0, 1), **LEAF), ZEROS, np.append(ZEROS, 1), "value"),
    ],
    ids=["classes", "numbers"],
)
def test_a_whole_learner_with_half_the_noise_is_caught_within_2000_runs(
    tree: Any, before: Any, after: Any, telling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = (X, before), (ONE_MORE, after)
    options: dict[str, Any] = {
        "runs": Runs(2000),
        "claim": Claim(epsilon=1.0),
        "score": Distinguisher(models=(), train_share=0.3),
    }
    assert not lower_bound(tree, *pair, **options).violated
    # Planted: the certificate does not know of it.
    monkeypatch.setattr(draws, "laplace", half_noise)
    assert tree.fit(*pair[0]).certificate_.epsilon == 1.0
    planted = lower_bound(tree, *pair, **options)
    assert planted.violated, str(planted)
    assert telling in planted.event
