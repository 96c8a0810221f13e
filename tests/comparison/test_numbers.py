"""Comparisons of learners that predict numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Binary, Domain, Integer, Real
from glassine.comparison import CANDIDATES, Comparison, Task, compare, recommend
from glassine.comparison.seeded_splits import RANGE_INFERRED, NumberTarget
from glassine.errors import InvalidDataError, InvalidParameterError, UnreadableFileError
from tests.comparison.builders import comparison, numeric_row

PUBLIC = Domain({"age": Integer(18, 90, thresholds=(30, 50, 70)), "smoker": Binary(), "cost": Real(0.0, 200.0)})
TASK = Task(epsilons=(1.0,), models=("tree", "cart", "constant"), n_splits=2)
CONSTANT = numeric_row("constant", None, (90.0, 90.0, 90.0), bits=0.0)


def costs(n: int = 600) -> pl.DataFrame:
    """Return records whose cost rises with age and smoking."""
    rng = np.random.default_rng(0)
    age, smoker = rng.integers(18, 90, n), rng.integers(0, 2, n)
    cost = 40.0 + 60.0 * (age > 50) + 30.0 * smoker + rng.normal(0, 10, n)
    return pl.DataFrame({"age": age, "smoker": smoker, "cost": cost.clip(0, 200)})


def found(
    frame: pl.DataFrame | None = None, *, target_range: Any = None, task: Task = TASK, **options: Any
) -> Comparison:
    task = replace(task, target_range=target_range)
    return compare(costs() if frame is None else frame, "cost", **{"domain": PUBLIC, "task": task, **options})


@pytest.mark.slow
def test_every_learner_of_numbers_is_measured() -> None:
    result = found(task=Task(epsilons=(0.5, 2.0), n_splits=1))
    assert [(row.model, row.epsilon) for row in result.rows] == [
        (name, epsilon)
        for name, candidate in CANDIDATES.items()
        if "number" in candidate.predicts
        for epsilon in ((0.5, 2.0) if candidate.private else (None,))
    ]
    assert (result.classes, result.largest_class, result.target_range) == ((), None, (0.0, 200.0))
    for row in result.rows:
        assert row.status == "measured", row
        assert row.accuracy is None
        assert row.rmse is not None
        assert row.mae is not None
        assert row.r2 is not None
        assert row.seconds is not None
        assert 0 < row.mae.value <= row.rmse.value
        assert row.gap is not None
    by_name = {row.model: row for row in result.rows}
    assert by_name["constant"].r2 is not None
    assert abs(by_name["constant"].r2.value) < 0.05
    # The noise has a standard deviation of 10: the step at 50 and the smokers are all there is to learn.
    for name in ("tree", "additive", "optimal-tree", "plain-additive", "cart"):
        rmse = by_name[name].rmse
        assert rmse is not None
        assert 8 < rmse.value < 20, name
    deep = by_name["deep-cart"]
    assert deep.gap is not None
    assert deep.gap.value > 0.1  # it knows many of its records by heart
    assert deep.bits is not None
    assert by_name["cart"].bits is not None
    assert deep.bits.value > by_name["cart"].bits.value > 0


def test_scores_are_those_of_the_definition() -> None:
    class Fixed:
        def predict(self, records: Any) -> Any:
            return np.array([1.0, 2.0, 3.0, 4.0])

    truth = np.array([1.0, 4.0, 3.0, 0.0])
    scores = NumberTarget(0.0, 4.0).scores(Fixed(), None, truth)
    assert scores == pytest.approx({"rmse": math.sqrt(20 / 4), "mae": 6 / 4, "r2": 1 - 20 / 10})
    assert NumberTarget(0.0, 4.0).scores(Fixed(), None, np.full(4, 0.1))["r2"] is None
    large = NumberTarget(0.0, 4e300).scores(Fixed(), None, 1e300 * truth)
    assert large["rmse"] == pytest.approx(1e300 * math.sqrt((1 + 16 + 9 + 0) / 4))


@pytest.mark.slow
def test_a_seed_fixes_all_but_the_seconds_and_a_folder_keeps_them(tmp_path: Path) -> None:
    first = found(folder=tmp_path)
    assert found(folder=tmp_path) == first == found()
    with pytest.raises(UnreadableFileError, match="comes out differently"):
        found(costs().with_columns(cost=pl.col("cost").shuffle(seed=1)), folder=tmp_path)
    narrow = Domain({**{name: PUBLIC[name] for name in PUBLIC}, "cost": Real(0.0, 150.0)})
    with pytest.raises(UnreadableFileError, match="another comparison: range differ"):
        found(domain=narrow, folder=tmp_path)


@pytest.mark.slow
def test_the_range_is_declared_stated_or_owned_up_to() -> None:
    bare = PUBLIC.restrict(["age", "smoker"])
    declared, stated = found(), found(domain=bare, target_range=(0, 200))
    assert stated.rows == declared.rows
    assert stated.caveats == declared.caveats == ()
    taken = found(domain=bare)
    assert taken.caveats == (RANGE_INFERRED,)
    assert taken.target_range == (costs()["cost"].min(), costs()["cost"].max())


@pytest.mark.parametrize("unit", [1e-200, 1e277])
def test_figures_follow_the_unit(unit: float) -> None:
    frame = costs(120).with_columns(cost=pl.col("cost") * unit)
    bare = PUBLIC.restrict(["age", "smoker"])
    task = Task(epsilons=(1.0,), models=("tree", "linear", "constant"), n_splits=2)
    for row, same in zip(
        found(frame, domain=bare, target_range=(0, 200 * unit), task=task).rows,
        found(costs(120), task=task).rows,
        strict=True,
    ):
        assert row.rmse is not None
        assert same.rmse is not None
        assert row.rmse.value / unit == pytest.approx(same.rmse.value)
        assert row.rmse.error is not None
        assert row.rmse.error / unit == pytest.approx(same.rmse.error)


def test_a_target_of_one_possible_number_is_compared() -> None:
    domain = Domain({"age": PUBLIC["age"], "cost": Integer(3, 3)})
    result = found(costs().with_columns(cost=pl.lit(3)), domain=domain)
    assert result.target_range == (2.5, 3.5)
    assert [row.status for row in result.rows] == ["measured"] * 3


def test_people_stand_on_one_side() -> None:
    frame = costs().with_columns(who=pl.int_range(pl.len()) // 3)
    result = found(frame, persons="who", task=Task(epsilons=(1.0,), models=("tree",), n_splits=1, records_per_person=3))
    assert result.n_people == 200
    assert result.rows[0].status == "measured", result.rows[0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"classes": ("a", "b")}, InvalidParameterError, "declares the target 'cost' as a number"),
        ({"target_range": (0, 1)}, InvalidParameterError, "nor the domain declares"),
        ({"domain": PUBLIC.restrict(["age"]), "target_range": (1, 1)}, InvalidParameterError, "lo < hi"),
        ({"domain": PUBLIC.restrict(["age"]), "target_range": (0, math.inf)}, InvalidParameterError, "highest target"),
        ({"domain": PUBLIC.restrict(["age"]), "target_range": ("a", 1)}, InvalidParameterError, "lowest target"),
        ({"domain": PUBLIC.restrict(["age"]), "target_range": (0, 1, 2)}, InvalidParameterError, "a lowest and"),
        ({"task": Task(models=("rule-list",))}, InvalidParameterError, "predicts classes, and the target is a number"),
        ({"frame": costs().with_columns(cost=pl.lit("x"))}, InvalidDataError, "holds no numbers"),
        ({"frame": costs().with_columns(cost=pl.lit(math.nan))}, InvalidDataError, "NaN"),
        ({"frame": costs()[:1]}, InvalidDataError, "Give more records"),
    ],
)
def test_what_contradicts_a_number_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        found(**options)


def test_learners_of_numbers_are_refused_for_classes() -> None:
    frame = costs().with_columns(cost=(pl.col("cost") > 80).cast(int))
    with pytest.raises(InvalidParameterError, match="predicts a number, and the target is of classes"):
        compare(frame, "cost", classes=(0, 1), task=Task(models=("linear",)))


def test_errors_rank_the_smallest_first() -> None:
    good, bad = numeric_row("tree", 1.0, (50.0, 51.0, 52.0)), numeric_row("additive", 1.0, (60.0, 61.0, 62.0))
    advice = recommend(comparison(bad, good, CONSTANT, target_range=(0, 200)))
    assert (advice.measure, advice.best, advice.chosen) == ("rmse", good, good)
    assert advice.floor == pytest.approx(51 + 1 / math.sqrt(3))
    worse = numeric_row("tree", 1.0, (95.0, 96.0, 97.0))
    assert recommend(comparison(worse, CONSTANT, target_range=(0, 200))).chosen is None
    for measure in ("mae", "r2"):
        assert recommend(comparison(bad, good, CONSTANT, target_range=(0, 200)), measure).chosen is good
    with pytest.raises(InvalidParameterError, match="one of rmse, mae, r2 for numbers"):
        recommend(comparison(good, target_range=(0, 200)), "accuracy")
