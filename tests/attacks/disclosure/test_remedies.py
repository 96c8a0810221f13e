"""Remedies against disclosure, measured."""

from __future__ import annotations

import math
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from glassine import Category, Domain, Integer
from glassine.attacks.disclosure import Adversary, SearchError, dual, infer_sensitive
from glassine.attacks.disclosure import remedies as module
from glassine.attacks.disclosure.dual import TimeLimitError
from glassine.attacks.disclosure.remedies import Remedies, measure_remedies
from glassine.attacks.remedy_table import RemedyTable
from glassine.errors import InvalidDataError, InvalidParameterError, UnreadableFileError
from glassine.learners import MultiwayTreeClassifier

NONE: dict[str, Any] = {"merge_below": [], "purities": [], "round_to": [], "epsilons": []}
DOMAIN = Domain({"age": Integer(18, 60, thresholds=(30, 40)), "town": Category(("a", "b", "c"))})


def records(n: int = 400) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    """Return people and their classes."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(18, 60, n), "town": rng.choice(["a", "b", "c"], n)})
    high = (frame["age"].to_numpy() > 40) ^ (frame["town"].to_numpy() == "a") ^ (rng.random(n) < 0.15)
    return frame, np.where(high, "high", "low")


@pytest.fixture(scope="module")
def table() -> RemedyTable:
    """Measure every remedy once."""
    frame, y = records()
    tree = MultiwayTreeClassifier(min_samples_split=60).fit(frame, y)
    return measure_remedies(
        tree, frame, y, remedies=Remedies(domain=DOMAIN, epsilons=(10.0,), max_depth=2, round_to=(5,))
    )


@pytest.mark.slow
def test_every_remedy_is_measured_and_none_discloses_more(table: RemedyTable) -> None:
    assert {row.kind for row in table.rows} == {"none", "suppress", "merge", "round", "private"}
    assert all(row.reason is None for row in table.rows)
    base = table.rows[0]
    for row in table.rows[1:]:
        assert row.d_overall is not None
        assert base.d_overall is not None
        assert row.accuracy is not None
        assert base.accuracy is not None
        # Two classes: an error rate tells the counts.
        assert row.d_overall >= base.d_overall - 1e-9
        if row.kind != "private":
            assert row.accuracy <= base.accuracy + 1e-12


def test_the_first_row_is_the_estimate(table: RemedyTable) -> None:
    frame, y = records()
    tree = MultiwayTreeClassifier(min_samples_split=60).fit(frame, y)
    found = infer_sensitive(tree, frame)
    assert table.rows[0].d_overall == pytest.approx(found.d_overall(y), abs=1e-9)
    assert table.rows[0].entropy == pytest.approx(found.entropy, abs=1e-9)
    assert table.rows[0].accuracy == pytest.approx(float((tree.predict(frame) == y).mean()))
    chances, true = tree.predict_proba(frame), y == "low"
    assert table.rows[0].auroc == pytest.approx(roc_auc_score(true, chances[:, 1]))
    assert table.rows[0].log_loss == pytest.approx(-np.log(chances[np.arange(400), true.astype(int)].clip(1e-6)).mean())


def test_ranking_is_measured_by_what_each_remedy_publishes(table: RemedyTable) -> None:
    rows = {row.name: row for row in table.rows}
    counts, labels = rows["class counts of the leaves"], rows["labels alone"]
    # Of two classes an error rate gives both probabilities; a label gives none.
    rates = rows["error rates instead of counts"]
    assert rates.auroc == pytest.approx(counts.auroc)
    assert rates.log_loss == pytest.approx(counts.log_loss)
    assert (labels.accuracy, labels.auroc, labels.log_loss) == (counts.accuracy, None, None)
    assert counts.auroc is not None
    assert 0.5 < counts.auroc < 1
    base = table.baseline
    assert base is not None
    assert base.log_loss is not None
    _, y = records()
    high = (y == "high").mean()
    assert base.accuracy == pytest.approx(max(high, 1 - high))
    assert base.log_loss == pytest.approx(-high * np.log(high) - (1 - high) * np.log(1 - high))
    assert counts.log_loss is not None
    assert counts.log_loss < base.log_loss
    assert table.to_frame()["auroc"].null_count() == sum(row.auroc is None for row in table.rows)


def test_the_table_is_a_frame(table: RemedyTable) -> None:
    frame = table.to_frame()
    assert frame.height == len(table.rows)
    assert frame["d_overall"].dtype == pl.Float64
    assert frame["name"][0] == "class counts of the leaves"


def test_a_reader_of_rounded_counts_uses_the_internal_nodes(table: RemedyTable) -> None:
    frame, y = records()
    tree = MultiwayTreeClassifier(min_samples_split=60).fit(frame, y)
    remedies = Remedies(**{**NONE, "round_to": [5]})
    alone = measure_remedies(tree, frame, y, adversary=Adversary(internal_nodes=False), remedies=remedies).rows[-1]
    row = next(row for row in table.rows if row.name == "counts rounded to 5")
    assert row.internal_nodes
    assert not alone.internal_nodes
    assert row.entropy is not None
    assert alone.entropy is not None
    assert row.entropy <= alone.entropy + 1e-9


@pytest.mark.slow
def test_a_private_reader_learns_more_with_a_larger_epsilon() -> None:
    frame, y = records()
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    rows = measure_remedies(
        tree, frame, y, remedies=Remedies(domain=DOMAIN, max_depth=2, **{**NONE, "epsilons": [0.05, 50.0]})
    ).rows[-2:]
    assert all(row.d_overall is not None and math.isfinite(row.d_overall) for row in rows)
    assert rows[0].d_overall > rows[1].d_overall  # type: ignore[operator]


def test_accuracy_is_measured_on_held_out_records_too() -> None:
    frame, y = records()
    other, truth = records(150)
    other = other.with_columns(town=pl.when(pl.int_range(pl.len()) < 10).then(pl.lit("nowhere")).otherwise("town"))
    tree = MultiwayTreeClassifier(min_samples_split=60).fit(frame, y)
    some: dict[str, Any] = {**NONE, "merge_below": [20], "epsilons": [10.0]}
    table = measure_remedies(
        tree, frame, y, evaluation=(other, truth), remedies=Remedies(domain=DOMAIN, max_depth=2, **some)
    )
    assert all(row.holdout_accuracy is not None for row in table.rows)
    known = np.arange(150) >= 10
    right = (tree.predict(other.filter(known)) == truth[known]).sum() / 150
    # Of ten records the tree does not know the town; it may not have looked at it.
    assert right <= (table.rows[0].holdout_accuracy or 0) <= right + 10 / 150
    assert table.to_frame()["holdout_accuracy"].null_count() == 0
    assert measure_remedies(tree, frame, y, remedies=Remedies(**NONE)).to_frame()["holdout_accuracy"].null_count() == 3


@pytest.mark.parametrize(
    ("evaluation", "said"),
    [
        ("frame", "must be a pair"),
        ((pl.DataFrame({"age": [20], "town": ["a"]}), ["low", "high"]), "one class for each"),
        ((pl.DataFrame({"age": [20]}), ["low"]), "lack the column 'town'"),
        ((pl.DataFrame({"age": [20], "town": ["a"]}), [None]), "missing value"),
        ((pl.DataFrame({"age": [20], "town": ["a"]}), ["medium"]), "class of the tree"),
        ((pl.DataFrame({"age": [], "town": []}), []), "record"),
    ],
)
def test_bad_held_out_records_are_refused(evaluation: Any, said: str) -> None:
    frame, y = records(60)
    tree = MultiwayTreeClassifier(min_samples_split=5).fit(frame, y)
    with pytest.raises((InvalidDataError, InvalidParameterError), match=said):
        measure_remedies(tree, frame, y, evaluation=evaluation, remedies=Remedies(**NONE))


def test_remedies_are_those_of_the_publisher() -> None:
    frame, y = records(60)
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    with pytest.raises(InvalidParameterError, match="publisher"):
        measure_remedies(tree, frame, y, adversary=Adversary(training="sample"), remedies=Remedies(**NONE))


def test_without_a_domain_there_is_no_private_tree() -> None:
    frame, y = records(60)
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    last = measure_remedies(tree, frame, y, remedies=Remedies(**{**NONE, "epsilons": [1.0]})).rows[-1]
    assert last.status == "not measured"
    assert last.d_overall is None
    assert "domain" in (last.reason or "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"merge_below": [1]}, "merge_below"),
        ({"round_to": [0]}, "round_to"),
        ({"purities": [math.nan]}, "purities"),
        ({"purities": [1.0]}, "purities"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    frame, y = records(60)
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    with pytest.raises(InvalidParameterError, match=said):
        measure_remedies(tree, frame, y, remedies=Remedies(**{**NONE, **options}))


def test_another_truth_is_refused() -> None:
    frame, y = records(60)
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    with pytest.raises(InvalidDataError, match="other class counts"):
        measure_remedies(tree, frame, y[::-1], remedies=Remedies(**NONE))


def test_where_a_search_leads_nowhere_the_leaves_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, y = records(60)
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    told: list[bool] = []

    def fails(model: Any, people: Any, *, adversary: Adversary | None, **more: Any) -> Any:
        told.append(adversary is None or adversary.internal_nodes)
        if adversary is not None and adversary.leaves != "leaf_counts" and adversary.internal_nodes:
            raise SearchError("nothing found at age <= 27.5", clashes=())
        return infer_sensitive(model, people, adversary=adversary)

    monkeypatch.setattr("glassine.attacks.disclosure.remedies.infer_sensitive", fails)
    rows = measure_remedies(tree, frame, y, remedies=Remedies(**NONE)).rows
    assert told.count(False) == 2
    for row in rows[1:]:
        assert row.d_overall is not None
        assert not row.internal_nodes
        # A threshold between two records must not reach the report.
        assert row.reason is not None
        assert "27.5" not in row.reason


SOME = Remedies(**{**NONE, "merge_below": [20, 60]})


def test_a_search_ends_when_its_time_is_over() -> None:
    frame, y = records(150)
    tree = MultiwayTreeClassifier(min_samples_split=30).fit(frame, y)
    tried = Remedies(**{**NONE, "merge_below": [20], "epsilons": [10.0]}, domain=DOMAIN, max_depth=1, time_limit=1e-9)
    for row in measure_remedies(tree, frame, y, remedies=tried).rows:
        assert (row.status, row.reason, row.d_overall) == ("not measured", "not measured in 1e-09 s.", None)
    with pytest.raises(InvalidParameterError, match="time_limit must be above 0"):
        Remedies(time_limit=0)


def slow_of_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the search of the reader of labels alone go on until its time is over; for all others no time passes."""
    start, passed = time.monotonic(), 0
    monkeypatch.setattr(dual, "time", SimpleNamespace(monotonic=lambda: start + passed))

    def search(model: Any, frame: Any, *, adversary: Adversary | None, **options: Any) -> Any:
        nonlocal passed
        while adversary is not None and adversary.leaves == "labels_only":
            passed += 1
            try:
                options["starts"].limit.check()
            except TimeLimitError:
                passed = 0
                raise
        return infer_sensitive(model, frame, adversary=adversary, **options)

    monkeypatch.setattr(module, "infer_sensitive", search)


@pytest.mark.slow
def test_a_slow_row_holds_no_other_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, y = records(150)
    tree = MultiwayTreeClassifier(min_samples_split=30).fit(frame, y)
    whole = measure_remedies(tree, frame, y, remedies=SOME)
    with monkeypatch.context() as patched:
        slow_of_labels(patched)
        limited = Remedies(**{**NONE, "merge_below": [20, 60], "time_limit": 0.4})
        rows = measure_remedies(tree, frame, y, remedies=limited, folder=tmp_path).rows
    assert [row.name for row in rows if row.reason] == ["labels alone"]
    assert rows[2].reason == "not measured in 0.4 s."
    asked: list[str] = []
    again = measure_remedies(tree, frame, y, remedies=SOME, progress=asked.append, folder=tmp_path)
    assert again == whole
    assert asked == ["class counts of the leaves", "labels alone"]


@pytest.mark.slow
def test_a_killed_run_keeps_the_rows_that_are_done(tmp_path: Path) -> None:
    frame, y = records(150)
    tree = MultiwayTreeClassifier(min_samples_split=30).fit(frame, y)

    def killed(stage: str) -> None:
        if stage == "leaves below 60 people merged":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_remedies(tree, frame, y, remedies=SOME, progress=killed, folder=tmp_path)
    asked: list[str] = []
    again = measure_remedies(tree, frame, y, remedies=SOME, progress=asked.append, folder=tmp_path)
    assert asked == ["class counts of the leaves", "leaves below 60 people merged"]
    assert again == measure_remedies(tree, frame, y, remedies=SOME)
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == len(again.rows)


def test_rows_of_another_tree_or_of_other_records_are_refused(tmp_path: Path) -> None:
    frame, y = records(150)
    towns, few = frame.select("town"), Remedies(**NONE)
    tree = MultiwayTreeClassifier().fit(towns, y)
    measure_remedies(tree, towns, y, remedies=few, folder=tmp_path)
    other = MultiwayTreeClassifier(min_samples_split=30).fit(frame, y)
    with pytest.raises(UnreadableFileError, match="the results of another table of remedies: attributes, nodes differ"):
        measure_remedies(other, frame, y, remedies=few, folder=tmp_path)
    sharper = np.where(towns["town"].to_numpy() == "a", "high", "low")
    sharper[:3] = "high"
    changed = MultiwayTreeClassifier().fit(towns, sharper)
    assert len(changed.model_.nodes) == len(tree.model_.nodes)
    with pytest.raises(UnreadableFileError, match="the remedies of other records"):
        measure_remedies(changed, towns, sharper, remedies=few, folder=tmp_path)
