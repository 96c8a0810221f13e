"""Comparisons of small records, from end to end."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from glassine import Binary, Category, Domain, Integer
from glassine.comparison import CANDIDATES, Comparison, Shape, Task, candidates, compare
from glassine.comparison.comparison_runs import measure
from glassine.comparison.seeded_splits import CLASSES_INFERRED, DOMAIN_INFERRED
from glassine.errors import GlassineError, InvalidDataError, InvalidParameterError, UnreadableFileError
from tests.comparison.builders import domain, records

QUICK = ("tree", "cart", "constant")
TASK = Task(epsilons=(1.0,), models=QUICK, n_splits=2)


def found(frame: Any = None, *, task: Task = TASK, **options: Any) -> Comparison:
    return compare(records() if frame is None else frame, "ill", **{"domain": domain(), "task": task, **options})


@pytest.mark.slow
def test_every_learner_is_measured() -> None:
    task = Task(epsilons=(2.0, 0.5), n_splits=1, max_depth=2, max_rules=2)
    result = found(task=task)
    assert [(row.model, row.epsilon) for row in result.rows] == [
        (name, epsilon)
        for name, candidate in CANDIDATES.items()
        if "classes" in candidate.predicts
        for epsilon in ((0.5, 2.0) if candidate.private else (None,))
    ]
    for row in result.rows:
        assert row.status == "measured", row
        assert row.accuracy is not None
        assert row.vulnerability is not None
        assert row.gap is not None
        assert row.auroc is not None
        assert 0 <= row.auroc.value <= 1
        assert 0.5 <= row.vulnerability.value <= 1
        sums = ("additive", "scorecard", "plain-additive", "plain-scorecard", "logistic", "boosting")
        tree_or_list = row.model not in sums
        assert (row.bits is not None) == tree_or_list, row
    bits = {row.model: row.bits.value for row in result.rows if row.bits is not None}
    assert bits["constant"] == 0
    assert bits["deep-cart"] > bits["cart"] > 0
    deep, constant = result.row("deep-cart"), result.row("constant")
    assert deep is not None
    assert constant is not None
    assert deep.gap is not None
    assert constant.accuracy is not None
    assert deep.gap.value > 0.05  # it knows its noisy labels by heart
    assert result.row("optimal-tree") == result.row("optimal-tree", None)


@pytest.mark.slow
def test_a_seed_fixes_everything_and_what_else_is_compared_changes_nothing() -> None:
    first, again = found(), found()
    assert first == again
    wider = found(task=Task(epsilons=(0.5, 1.0), models=(*QUICK, "multiway-tree"), n_splits=2))
    assert all(row in wider.rows for row in first.rows)
    assert found(task=Task(epsilons=(1.0,), models=QUICK, n_splits=2, seed=1)) != first


@pytest.mark.slow
def test_frames_of_other_libraries_give_the_same() -> None:
    frame = records()
    task = Task(epsilons=(1.0,), models=("tree", "cart"), n_splits=1)
    same = found(frame, task=task)
    for other in (frame.to_pandas(), frame.to_arrow(), frame.lazy(), frame.with_columns(number=1)):
        assert found(other, task=task) == same


@pytest.mark.slow
def test_a_folder_keeps_results_and_only_the_missing_are_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[tuple[str, float | None, int]] = []

    def counting(name: str, epsilon: float | None, sides: Any, shape: Shape, seed: int) -> Any:
        fitted.append((name, epsilon, sides.number))
        if len(fitted) == 4:
            raise KeyboardInterrupt
        return measure(name, epsilon, sides, shape, seed)

    monkeypatch.setattr("glassine.comparison.comparison_runs.measure", counting)
    with pytest.raises(KeyboardInterrupt):
        found(folder=tmp_path)
    assert len(fitted) == 4
    steps: list[tuple[int, int]] = []
    result = found(folder=tmp_path, progress=lambda done, total: steps.append((done, total)))
    # One result is measured again, to see that the records are the same.
    assert fitted[4] == ("cart", None, 0)
    assert len(fitted) == 4 + 1 + 6 - 3
    assert steps[-1] == (6, 6)
    assert found(folder=tmp_path) == result == found()
    assert len(fitted) == 4 + 1 + 6 - 3 + 1 + 6
    more = found(folder=tmp_path, task=Task(epsilons=(0.5, 1.0), models=QUICK, n_splits=3))
    assert len(more.rows) == 4


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"frame": records(401)}, "records"),
        ({"task": Task(epsilons=(1.0,), models=("constant",), n_splits=2, seed=1)}, "options"),
        ({"task": Task(epsilons=(1.0,), models=("constant",), n_splits=2, max_depth=2)}, "options"),
        ({"domain": Domain({"age": Integer(18, 91), "ill": Category(("no", "yes"))})}, "domain"),
        ({"domain": Domain({**{n: domain()[n] for n in domain()}, "ill": Category(("no", "yes", "x"))})}, "classes"),
    ],
)
def test_results_of_other_data_or_options_are_refused(tmp_path: Path, changed: dict[str, Any], name: str) -> None:
    task = Task(epsilons=(1.0,), models=("constant",), n_splits=2)
    found(folder=tmp_path, task=task)
    with pytest.raises(UnreadableFileError, match=f"another comparison: {name} differ"):
        found(**{"folder": tmp_path, "task": task, **changed})


CHANGED = {
    "another order": records()[::-1],
    "another column": records().with_columns(age=pl.col("age").shuffle(seed=1)),
    "one other label": records().with_columns(
        ill=pl.when(pl.int_range(pl.len()) == 7)
        .then(pl.when(pl.col("ill") == "yes").then(pl.lit("no")).otherwise(pl.lit("yes")))
        .otherwise(pl.col("ill"))
    ),
}


@pytest.mark.parametrize("changed", CHANGED)
def test_results_of_other_records_are_refused_by_what_comes_out(tmp_path: Path, changed: str) -> None:
    task = Task(epsilons=(1.0,), models=("tree", "logistic"), n_splits=1)
    before = found(folder=tmp_path, task=task)
    with pytest.raises(
        UnreadableFileError, match="results of other records: logistic on split 1 comes out differently"
    ):
        found(CHANGED[changed], folder=tmp_path, task=task)
    assert found(folder=tmp_path, task=task) == before


def test_a_folder_holds_no_digest_of_the_records(tmp_path: Path) -> None:
    """Two datasets of one size give the same identity: what tells them apart is in the results alone."""
    task = Task(epsilons=(1.0,), models=("constant",), n_splits=1)
    found(folder=tmp_path / "a", task=task)
    found(records().with_columns(smoker=1 - pl.col("smoker")), folder=tmp_path / "b", task=task)
    written = [(tmp_path / name / "comparison.json").read_bytes() for name in "ab"]
    assert written[0] == written[1]
    assert not re.search(rb"[0-9a-f]{32}", written[0])


def test_a_folder_holds_no_value_of_a_domain_that_was_taken_from_the_records(tmp_path: Path) -> None:
    task = Task(epsilons=(1.0,), models=("constant",), n_splits=1)
    some = records().with_columns(pl.Series("score", [0.123456, *[0.5] * 399]), pl.Series("town", ["X", *["Y"] * 399]))
    before = found(some, folder=tmp_path, task=task, domain=None)
    written = (tmp_path / "comparison.json").read_text()
    assert '"score"' in written
    assert "0.123456" not in written
    assert '"X"' not in written
    assert found(some, folder=tmp_path, task=task, domain=None) == before


@pytest.mark.slow
def test_several_classes_are_measured_too() -> None:
    classes = ("a", "b", "c")
    task = Task(epsilons=(1.0,), models=("tree", "greedy-rule-list", "additive", "boosting", "constant"), n_splits=1)
    result = found(records(classes=classes), domain=domain(classes=classes), task=task)
    for row in result.rows:
        assert row.status == "measured", row
        assert row.auroc is not None
    constant = result.row("constant")
    assert constant is not None
    assert constant.auroc is not None
    assert constant.auroc.value == 0.5


def test_a_class_too_large_is_left_out_with_its_reason() -> None:
    task = Task(epsilons=(1.0,), models=("tree", "constant"), n_splits=1, time_limit=1e-9)
    row = found(task=task).row("tree", 1.0)
    assert row is not None
    assert row.status == "not applicable"
    assert "time_limit" in row.reason


def test_a_learner_that_breaks_does_not_end_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def fit(self, X: Any, y: Any) -> None:
            raise ZeroDivisionError("by zero\nmore")

    broken = candidates.Candidate(name="cart", title="x", private=False, make=lambda shape, epsilon, seed: Broken())
    monkeypatch.setitem(CANDIDATES, "cart", broken)
    result = found()
    cart, tree = result.row("cart"), result.row("tree", 1.0)
    assert cart is not None
    assert tree is not None
    assert (cart.status, cart.reason, tree.status) == ("failed", "ZeroDivisionError: by zero", "measured")


@pytest.mark.slow
def test_gaps_and_unknown_values_are_taken_as_the_domain_says() -> None:
    frame = records().with_columns(
        age=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col("age")),
        job=pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise(pl.col("job")),
    )
    public = domain()
    holed = Domain(
        {
            **{name: public[name] for name in public},
            "age": Integer(18, 90, thresholds=(30, 50, 70), missing=True),
            "job": Category(("baker", "clerk", "pilot"), missing=True),
        }
    )
    task = Task(epsilons=(1.0,), n_splits=1, max_depth=2, max_rules=2)
    result = found(frame, domain=holed, task=task)
    assert [row.status for row in result.rows] == ["measured"] * len(result.rows), result.rows
    with pytest.raises(GlassineError):
        found(frame)


@pytest.mark.parametrize("kind", ["bool", "int", "text"])
def test_classes_of_every_kind_give_the_same_figures(kind: str) -> None:
    truth = (records()["ill"] == "yes").to_numpy()
    column: dict[str, Sequence[Any]] = {
        "bool": truth.tolist(),
        "int": truth.astype(int).tolist(),
        "text": np.where(truth, "b", "a").tolist(),
    }
    bare, task = domain().restrict(["age", "smoker", "job"]), Task(epsilons=(1.0,), models=("tree",), n_splits=1)
    other = found(records().with_columns(ill=pl.Series(column[kind])), domain=bare, task=task)
    assert [row.accuracy for row in other.rows] == [row.accuracy for row in found(task=task).rows]
    assert other.caveats == (() if kind == "bool" else (CLASSES_INFERRED,))


def test_what_is_taken_from_the_data_is_owned_up_to() -> None:
    task = Task(epsilons=(1.0,), models=("tree",), n_splits=1)
    assert found(domain=None, task=task).caveats == (DOMAIN_INFERRED, CLASSES_INFERRED)
    assert found(domain=None, classes=("no", "yes"), task=task).caveats == (DOMAIN_INFERRED,)
    assert found(task=task).caveats == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ill": pl.lit("no")}, "two classes must have two records each"),
        ({"ill": pl.lit(None, dtype=pl.String)}, "missing value"),
        ({"ill": pl.lit("maybe")}, "not one of the declared classes"),
        ({"ill": pl.col("ill").replace("no", "maybe")}, "not one of the declared classes"),
    ],
)
def test_a_target_without_usable_classes_is_refused(change: dict[str, pl.Expr], message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        found(records().with_columns(**change))


def test_a_class_that_is_no_number_is_refused() -> None:
    frame = records()
    with pytest.raises(InvalidDataError, match="NaN"):
        compare(frame.with_columns(ill=pl.lit(math.nan)), "ill", domain=Domain({"smoker": Binary()}))


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InvalidDataError, match="lack the target column 'ill'"):
        found(records().drop("ill"))
    with pytest.raises(InvalidDataError, match="lack the column 'job' of the domain"):
        found(records().drop("job"))
    with pytest.raises(InvalidDataError, match="at least one record"):
        found(records()[:0])
    with pytest.raises(GlassineError, match="no attribute but the target"):
        found(domain=Domain({"ill": Category(("no", "yes"))}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilons": ()}, "epsilons must be positive numbers"),
        ({"epsilons": (0.1, math.nan)}, "epsilons must be positive numbers"),
        ({"epsilons": (0.0,)}, "epsilons must be positive numbers"),
        ({"epsilons": (math.inf,)}, "epsilons must be positive numbers"),
        ({"models": ("forest",)}, "got 'forest'"),
        ({"models": ()}, "models must be some of tree"),
        ({"n_splits": 0}, "n_splits must be a whole number"),
        ({"n_splits": True}, "n_splits must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"max_depth": 9}, "max_depth must be a whole number"),
        ({"test_share": 1.0}, "test_share must be a number above 0 and below 1"),
        ({"test_share": math.nan}, "test_share must be"),
        ({"delta": 0.0}, "delta must be"),
        ({"time_limit": math.inf}, "time_limit must be"),
    ],
)
def test_options_outside_their_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Task(**options)


def test_repeated_epsilons_and_models_count_once() -> None:
    task = Task(epsilons=(1.0, 0.1, 1.0), models=("tree", "constant", "tree"), n_splits=1)
    assert task.steps == [(0, "tree", 0.1), (0, "tree", 1.0), (0, "constant", None)]


def test_a_frame_is_never_changed() -> None:
    frame = records().to_pandas()
    before = frame.copy()
    found(frame, task=Task(epsilons=(1.0,), models=("cart",), n_splits=1))
    assert frame.equals(before)
    assert nw.from_native(frame).columns == ["age", "smoker", "job", "ill"]


def test_excluded_columns_are_seen_by_no_learner() -> None:
    task = Task(epsilons=(1.0,), models=("tree", "deep-cart"), n_splits=1)
    never = found(records().drop("job"), domain=domain().restrict(["age", "smoker", "ill"]), task=task)
    excluded = replace(task, exclude=("job",))
    assert found(task=excluded) == never != found(task=task)
    inferred = found(records().with_columns(id=pl.Series(range(400))), domain=None, task=replace(task, exclude=("id",)))
    assert inferred == found(domain=None, task=task)
    for name, said in (("ill", "which is the target"), ("jbo", "not a column")):
        with pytest.raises(InvalidParameterError, match=f"exclude names {name!r}, which is .*{said.split()[-1]}"):
            found(task=replace(task, exclude=(name,)))
