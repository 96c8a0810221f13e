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
    assert ranking.noted(note, stored) == note, "run benchmarks/ranking.py --page"
    changed = [{**row, "AUROC": "0.1"} if row["model"] == ranking.TREE else row for row in stored]
    worse = ranking.filled(text, changed, deep)
    assert worse.count("0.100 (0.86)") == 1
    assert "0.100 (0.86)" not in text


def test_every_model_has_a_row_for_each_budget_and_split() -> None:
    stored = ranking.read(ranking.RESULTS)
    for data in ranking.DATA:
        names = {row["model"] for row in ranking.select(stored, data=data)}
        assert names == {ranking.TREE, ranking.CART, ranking.CONSTANT} | (
            set() if data == ranking.NUMBERS else {ranking.ERRORS, ranking.CARD, ranking.PLAIN}
        ), "of FasterRisk no rows are stored yet"
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


def test_the_sentences_on_cards_and_the_default_loss_are_those_of_the_rows() -> None:
    text, stored = ranking.NOTE.read_text(), ranking.read(ranking.RESULTS)
    *others, german = ranking.CLASSES
    errors = (ranking.card_error(stored, others), ranking.card_error(stored, [german]))
    assert "at most {:.3f}; on German credit up to {:.3f}".format(*errors) in text

    def lost(data: str, measure: str, model: str, beside: str, epsilon: str) -> float:
        own = ranking.mean(stored, measure, data=data, model=model, epsilon=epsilon)
        which = {"epsilon": epsilon} if beside in ranking.PRIVATE else {}
        return float(ranking.mean(stored, measure, data=data, model=beside, **which) - own)

    within = [
        max(lost(data, "AUROC", ranking.CARD, ranking.PLAIN, epsilon) for data in of for epsilon in ("1", "4"))
        for of in ([german], others)
    ]
    assert "within {:.3f} of an ordinary one, on German credit; within {:.3f} on the others".format(*within) in text
    right = {
        epsilon: max(lost(data, "accuracy", ranking.TREE, ranking.ERRORS, epsilon) for data in ranking.CLASSES)
        for epsilon in ranking.EPSILONS
    }
    low, rest = right.pop("0.1"), max(right.values())
    assert f"up to {low:.3f} of accuracy at epsilon 0.1, and at most {rest:.3f} from 0.5" in text


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
