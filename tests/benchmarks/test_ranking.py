"""How trees and cards rank: the page prints what is stored, and marks what misses a target."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Binary, Domain

ranking: Any = importlib.import_module("benchmarks.ranking")


def test_the_page_prints_the_stored_rows() -> None:
    text = ranking.PAGE.read_text()
    stored, deep = ranking.read(ranking.RESULTS), ranking.read(ranking.DEEP)
    assert ranking.filled(text, stored, deep) == text, "run benchmarks/ranking.py --page"
    note = ranking.NOTE.read_text()
    assert ranking.place(note, "losses", ranking.losses(stored)) == note, "run benchmarks/ranking.py --page"
    changed = [{**row, "AUROC": "0.1"} if row["model"] == ranking.TREE else row for row in stored]
    worse = ranking.filled(text, changed, deep)
    assert worse.count("0.100 (0.86)") == 1
    assert "0.100 (0.86)" not in text


def test_every_model_has_a_row_for_each_budget_and_split() -> None:
    stored = ranking.read(ranking.RESULTS)
    for data in ranking.DATA:
        names = {row["model"] for row in ranking.select(stored, data=data)}
        assert names == {ranking.TREE, ranking.CART, ranking.CONSTANT} | (
            set() if data == ranking.NUMBERS else {ranking.ERRORS, ranking.CARD}
        )
        for name in names:
            budgets = ranking.EPSILONS if name in ranking.PRIVATE else ("",)
            rows = ranking.select(stored, data=data, model=name)
            keys = {(row["epsilon"], row["split"]) for row in rows}
            assert len(rows) == len(keys) == len(budgets) * ranking.SPLITS
            assert all(row["RMSE"] if data == ranking.NUMBERS else row["AUROC"] for row in rows)


def test_log_loss_is_below_that_of_errors_alone_at_every_budget() -> None:
    stored = ranking.read(ranking.RESULTS)
    for data in ranking.CLASSES:
        for epsilon in ranking.EPSILONS:
            own, other = (
                ranking.mean(stored, "log loss", data=data, model=model, epsilon=epsilon)
                for model in (ranking.TREE, ranking.ERRORS)
            )
            assert own < other, (data, epsilon)


@pytest.mark.parametrize("n_draws", [1, 3])
def test_quality_is_the_mean_over_draws_on_held_out_records(n_draws: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 200)
    data = ranking.Benchmark(
        name="made", frame=pl.DataFrame({"x": x}), labels=x, domain=Domain({"x": Binary()}), classes=(0, 1)
    )
    seeds = []

    class Known:
        classes_ = np.array([0, 1])

        def __init__(self, seed: int) -> None:
            seeds.append(seed)
            self.sure = seed % 2 == 0

        def fit(self, X: pl.DataFrame, y: np.ndarray[Any, Any]) -> Known:
            assert len(X) == len(y) == 160
            return self

        def predict(self, X: pl.DataFrame) -> np.ndarray[Any, Any]:
            own = X["x"].to_numpy()
            return own if self.sure else 1 - own

        def predict_proba(self, X: pl.DataFrame) -> np.ndarray[Any, Any]:
            one = self.predict(X) * 0.8 + 0.1
            return np.column_stack([1 - one, one])

    found = ranking.quality(data, Known, 2, n_draws)
    assert seeds == [2000, 2001, 2002][:n_draws]
    right = {1: 1.0, 3: 2 / 3}[n_draws]
    assert (found["AUROC"], found["accuracy"]) == (pytest.approx(right), pytest.approx(right))
    assert found["log loss"] == pytest.approx(-(right * np.log(0.9) + (1 - right) * np.log(0.1)))
    assert found["RMSE"] is None
