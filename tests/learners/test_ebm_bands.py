"""Bands of the released scores: over the noise, nominal 90 % hold the mean score in 87 to 93 % of the cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Domain, Real
from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor
from glassine.models.shapes import bands

RUNS = 60
NAMES = tuple(f"x{i}" for i in range(5))


def released(kind: str, epsilon: float) -> tuple[Any, Any, Any]:
    """Return scores, lower and upper ends of bands of all bins in many runs on the same records, shape (runs, bins)."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.random(20_000) for name in NAMES})
    x = [frame[name].to_numpy() for name in NAMES]
    truth = 2 * x[0] + np.sin(6 * x[1]) + (x[2] > 0.7) + 0.5 * x[3] - np.abs(x[4] - 0.5)
    domain = Domain({name: Real(0.0, 1.0) for name in NAMES})
    common: dict[str, Any] = {"domain": domain, "bins": {name: (np.arange(1, 10) / 10).tolist() for name in NAMES}}
    scores, low, high = [], [], []
    for run in range(RUNS):
        if kind == "numbers":
            learner = PrivateEBMRegressor(epsilon=epsilon, target_range=(-4, 8), random_state=run, **common)
            model = learner.fit(frame, truth + _scatter(20_000)).model_
        else:
            y = (truth - 2 + _scatter(20_000) * 1.8 > 0).astype(int)
            model = (
                PrivateEBMClassifier(epsilon=epsilon, classes=(0, 1), random_state=run, **common).fit(frame, y).model_
            )
        row: list[list[float]] = [[], [], []]
        for name in NAMES:
            term = model.term(name)
            band = bands(term, 0.9)
            assert band is not None
            for part, values in zip(row, (term.scores, *band), strict=True):
                part += values[:-1, 0].tolist()
        scores.append(row[0])
        low.append(row[1])
        high.append(row[2])
    return np.array(scores), np.array(low), np.array(high)


def _scatter(n: int) -> Any:
    return np.random.default_rng(5).normal(size=n)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [
        ("numbers", 1.0),
        pytest.param("numbers", 4.0, marks=pytest.mark.slow),
        pytest.param("classes", 1.0, marks=pytest.mark.slow),
    ],
)
def test_bands_cover_the_mean_score(kind: str, epsilon: float) -> None:
    """3,000 cases; within a run they depend on each other, so that the standard error is near 0.01."""
    scores, low, high = released(kind, epsilon)
    mean = scores.mean(axis=0)
    covered = ((low <= mean) & (mean <= high)).mean()
    assert 0.87 <= covered <= 0.93
    # Half the errors would be found.
    middle, half = (low + high) / 2, (high - low) / 4
    assert ((middle - half <= mean) & (mean <= middle + half)).mean() < 0.75
