"""What whole fits release of pairs in their rounds: the honest one keeps its claim, one that does not pay is found."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from glassine import Domain, Integer
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.estimators import PrivateEBMRegressor
from glassine.privacy.fine_gaussian import FineNoise
from glassine.sealed import gaussian
from glassine.verification import Claim, Runs, lower_bound

from .sums import released, through

NAMES = tuple("abcdef")
PAIRS = tuple(combinations(NAMES, 2))
EPSILON, DELTA = 8.0, 1e-6
PLACES = np.array([2 * k for k in range(len(NAMES))] + [2 * len(NAMES) + 4 * p for p in range(len(PAIRS))])
"""Where the sums of a round have the bins and cells of a record whose attributes are all 0."""


def neighbors() -> tuple[Any, Any]:
    """Return every combination of six attributes with both extremes as targets, and the same with one record more."""
    rows = np.array([(*row, y) for row in product((0, 1), repeat=len(NAMES)) for y in (-1.0, 1.0)] * 10)
    more = np.vstack([rows, [0] * len(NAMES) + [1.0]])
    first, second = (
        (pl.DataFrame({name: part[:, k].astype(int) for k, name in enumerate(NAMES)}), part[:, -1])
        for part in (rows, more)
    )
    return first, second


def fit(dataset: Any, seed: int | None) -> None:
    domain = Domain({name: Integer(0, 1) for name in NAMES})
    frame, y = dataset
    PrivateEBMRegressor(
        epsilon=EPSILON,
        delta=DELTA,
        domain=domain,
        bins={name: [0] for name in NAMES},
        target_range=(-1, 1),
        interactions=PAIRS,
        random_state=seed,
    ).fit(frame, y)


def spied(monkeypatch: pytest.MonkeyPatch, *, noise: bool) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any], float]]:
    """Return a list that each fit fills with what its rounds with pairs sum, release, and take one record to add.

    Without ``noise`` rounds release zeros.
    """
    caught: list[tuple[npt.NDArray[Any], npt.NDArray[Any], float]] = []

    def release(self: FineNoise, sums: Any, randomness: Any) -> Any:
        noisy = released(self, sums, randomness)
        if len(sums) == 2 * len(NAMES) + 4 * len(PAIRS) + 1:
            caught.append((np.asarray(sums).copy(), noisy, self.l2_sensitivity))
        # Rounds alone have an odd number of values: without them scores stay where they start.
        return noisy if noise or len(sums) % 2 == 0 or len(sums) == 3 else np.zeros(len(sums))

    through(monkeypatch, release)
    return caught


def let_pairs_be_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant the bug: noise is made for the terms of one attribute, as if cells of pairs cost nothing."""

    class Cheap(FineNoise):
        @classmethod
        def of(cls, mu: float, squared_sensitivity: float) -> FineNoise:
            paid = squared_sensitivity - len(PAIRS) * (squared_sensitivity > len(PAIRS) + 1)
            return FineNoise.of(mu, paid)

    monkeypatch.setattr(gaussian, "FineNoise", Cheap)


def excess(monkeypatch: pytest.MonkeyPatch) -> float:
    """Return by how much the exact sums of the first round with pairs move, relative to what the noise is made for."""
    caught = spied(monkeypatch, noise=False)
    first = []
    for dataset in neighbors():
        caught.clear()
        fit(dataset, 0)
        first.append(caught[0])
    (less, _, l2), (more, _, _) = first
    return float(np.linalg.norm((more - less)[PLACES].astype(float))) / l2


def test_one_record_moves_the_sums_of_terms_and_pairs_by_what_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All targets are so far out that each residual is clipped: a record adds the most that it can."""
    honest = excess(monkeypatch)
    assert 0.95 < honest <= 1.0


def test_pairs_that_are_not_paid_for_exceed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    let_pairs_be_free(monkeypatch)
    assert excess(monkeypatch) > 1.5


@pytest.mark.slow
@pytest.mark.parametrize("planted", [False, True])
def test_the_verification_tells_whether_whole_fits_pay_for_pairs(
    planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best statistic of all rounds with pairs: what is released of the record's bins and cells, added up."""
    if planted:
        let_pairs_be_free(monkeypatch)
    caught = spied(monkeypatch, noise=True)

    def run(dataset: Any, seed: int | None) -> float:
        caught.clear()
        fit(dataset, seed)
        return float(np.mean([noisy[PLACES].sum() for _, noisy, _ in caught]))

    mu = GaussianBudget.of(EPSILON, DELTA).mu
    assert math.isfinite(mu)
    found = lower_bound(run, *neighbors(), Claim(mu=mu), score=float, runs=Runs(300 if planted else 100, seed=1))
    assert found.violated == planted
