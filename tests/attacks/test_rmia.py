"""RMIA with shadow models."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine.attacks import Measured, NotApplicable, Shadows, attack_membership, lira, rmia
from glassine.attacks.membership.likelihood_ratios import OFFLINE, rank, typical_probability
from glassine.data import Sample

Floats = npt.NDArray[np.float64]


def ratios_of_pairs(
    target: Floats, references: Floats, seen: npt.NDArray[np.bool_], others: tuple[Floats, Floats], *, online: bool
) -> Floats:
    """Return the paper's score of each record, pair by pair; no reference model saw the population, ``others``."""
    scores = []
    for p, row, saw in zip(target, references, seen, strict=True):
        out = row[~saw].mean()
        mean_x = (row[saw].mean() + out) / 2 if online else (1 + OFFLINE) / 2 * out + (1 - OFFLINE) / 2
        beaten = []
        for q, of_z in zip(*others, strict=True):
            mean_z = (1 + OFFLINE) / 2 * of_z.mean() + (1 - OFFLINE) / 2
            beaten.append((p / mean_x) / (q / mean_z) > 1)
        scores.append(np.mean(beaten))
    return np.array(scores)


@pytest.mark.parametrize("online", [True, False])
def test_scores_are_those_of_the_paper_on_the_same_reference_models(online: bool) -> None:
    rng = np.random.default_rng(0)
    target, references, z, of_z = rng.random(40), rng.random((40, 8)), rng.random(30), rng.random((30, 8))
    seen = rng.permuted(np.tile(np.arange(8) < 3, (40, 1)), axis=1)
    ratios = target / typical_probability(references, seen, "online" if online else "offline")
    population = z / typical_probability(of_z, np.zeros(of_z.shape, dtype=bool), "offline")
    expected = ratios_of_pairs(target, references, seen, (z, of_z), online=online)
    assert rank(ratios, population) == pytest.approx(expected)
    assert np.ptp(expected) > 0


def test_a_recorded_score() -> None:
    # Out 0.2, in 0.6: offline 0.65 * 0.2 + 0.35 = 0.48; online (0.2 + 0.6) / 2 = 0.4.
    references, seen = np.array([[0.6, 0.1, 0.3]]), np.array([[True, False, False]])
    assert typical_probability(references, seen, "offline") == pytest.approx([0.48])
    assert typical_probability(references, seen, "online") == pytest.approx([0.4])
    assert rank(np.array([0.6 / 0.48]), np.array([1.0, 1.2, 1.25, 1.3])).tolist() == [0.5]
    assert np.isfinite(1 / typical_probability(np.zeros((1, 3)), seen, "online")).all()


def deep_tree(seed: int, flip: float = 0.3, n: int = 150) -> tuple[DecisionTreeClassifier, Sample, Sample]:
    """Return a tree that memorizes its records, with members and non-members."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 3))
    y = ((X[:, 0] > 0) ^ (rng.random(2 * n) < flip)).astype(int)
    return DecisionTreeClassifier(random_state=0).fit(X[:n], y[:n]), Sample(X[:n], y[:n]), Sample(X[n:], y[n:])


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_a_tree_that_memorizes_is_attacked_and_one_of_other_records_is_not(mode: Any) -> None:
    tree, members, others = deep_tree(0)
    shadows = Shadows(DecisionTreeClassifier(), 16, mode=mode)
    found = rmia(tree, members, others, shadows, random_state=0)
    assert isinstance(found, Measured)
    assert found.value.attack == f"{mode} RMIA"
    assert found.value.detected
    assert found.value.gap is not None
    assert found.value.auc.value > found.value.gap.value
    unrelated = rmia(deep_tree(1)[0], members, others, shadows, random_state=0, confidence=0.999)
    assert isinstance(unrelated, Measured)
    assert unrelated.value.auc.low <= 0.5 <= unrelated.value.auc.high


def test_without_shadow_models_it_does_not_apply() -> None:
    assert isinstance(rmia(*deep_tree(0), None), NotApplicable)


@pytest.mark.slow
def test_both_attacks_of_a_suite_score_the_same_shadow_models() -> None:
    trained = []

    class Counting(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn ships no types
        def fit(self, X: Any, y: Any) -> Any:
            trained.append(len(y))
            return super().fit(X, y)

    tree, members, others = deep_tree(0, n=40)
    found = attack_membership(tree, members, holdout=others, shadows=Shadows(Counting(), 4), random_state=0)
    assert len(trained) == 4
    assert all(isinstance(one, Measured) for one in (found.lira_online, found.rmia_online, found.rmia_offline))
    alone = lira(tree, members, others, Shadows(DecisionTreeClassifier(), 4), random_state=0)
    assert isinstance(alone, Measured)
