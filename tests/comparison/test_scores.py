"""Scores against scikit-learn's."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import metrics

from glassine.comparison.seeded_splits import full_probabilities
from glassine.models.quality import auroc, log_loss


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_usual_ones(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, n_classes, 200)
    given = np.round(rng.dirichlet(np.ones(n_classes), 200), 1) + 0.01  # rounded, so that ties occur
    given /= given.sum(axis=1, keepdims=True)
    expected = metrics.roc_auc_score(truth, given[:, 1] if n_classes == 2 else given, multi_class="ovr")
    assert auroc(truth, given) == pytest.approx(expected, abs=1e-12)
    assert log_loss(truth, given) == pytest.approx(metrics.log_loss(truth, given), abs=1e-12)


def test_there_is_no_auroc_without_both_kinds() -> None:
    given = np.full((3, 3), 1 / 3)
    assert auroc(np.array([0, 0, 1]), given) is None
    assert auroc(np.array([0, 0, 0]), np.full((3, 2), 0.5)) is None


def test_what_is_not_finite_has_no_score() -> None:
    given = np.array([[0.5, 0.5], [np.nan, np.nan]])
    assert auroc(np.array([0, 1]), given) is None
    assert log_loss(np.array([0, 1]), given) is None


def test_classes_that_a_model_has_not_seen_have_probability_0() -> None:
    model = SimpleNamespace(classes_=np.array([0, 2]))
    assert full_probabilities(model, np.array([[0.25, 0.75]]), 3).tolist() == [[0.25, 0.0, 0.75]]
