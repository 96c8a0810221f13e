"""Remedies against disclosure, measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from glassine import Category, Domain, Integer, MultiwayTreeClassifier
from glassine.attacks.disclosure import Adversary, SearchError, infer_sensitive
from glassine.attacks.disclosure.merging import merge_leaves
from glassine.attacks.disclosure.remedies import RemedyTable, _level, _noisy, class_tables, measure_remedies
from glassine.errors import InvalidDataError, InvalidParameterError

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
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    return measure_remedies(tree, frame, y, domain=DOMAIN, epsilons=(10.0,), max_depth=2)


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
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    found = infer_sensitive(tree, frame)
    assert table.rows[0].d_overall == pytest.approx(found.d_overall(y), abs=1e-9)
    assert table.rows[0].entropy == pytest.approx(found.entropy, abs=1e-9)
    assert table.rows[0].accuracy == pytest.approx(float((tree.predict(frame) == y).mean()))


def test_the_table_is_a_frame(table: RemedyTable) -> None:
    frame = table.to_frame()
    assert frame.height == len(table.rows)
    assert frame["d_overall"].dtype == pl.Float64
    assert frame["name"][0] == "class counts of the leaves"


def test_merged_leaves_are_neither_small_nor_pure() -> None:
    frame, y = records()
    tree = MultiwayTreeClassifier(min_samples_split=4).fit(frame, y)
    found = infer_sensitive(tree, frame)
    tables = class_tables(found, y)
    for below, purity in ((15, 1.0), (0, 0.9)):
        merged = merge_leaves(tree.model_, tables, below, purity)
        assert 1 < len(merged.cells) < len(tree.model_.cells)
        for cell in merged.cells:
            counts = cell.evidence.counts or ()
            assert sum(counts) == 0 or sum(counts) >= below
            assert sum(counts) == 0 or max(counts) <= purity * sum(counts)
        assert merged.n_records == len(y)
    same = merge_leaves(tree.model_, tables, 0, 1.0)
    assert [str(cell) for cell in same.cells] == [str(cell) for cell in tree.model_.cells]
    assert [cell.evidence for cell in same.cells] == [cell.evidence for cell in tree.model_.cells]


@pytest.mark.parametrize(("counts", "step"), [((7, 0, 1), 5), ((12, 3, 3, 2), 4), ((1, 0), 20), ((0, 9), 2)])
def test_rounded_counts_leave_the_most_entropy_within_their_bounds(counts: tuple[int, ...], step: int) -> None:
    shares = _level(np.array(counts), step)
    n = sum(counts)
    rounded = [(c + step // 2) // step * step for c in counts]
    bounds = [(max(r - step // 2, 0), min(r + step - 1 - step // 2, n)) for r in rounded]
    for low, high in bounds:
        # The bounds are those of the whole numbers that round to the same.
        assert all((c + step // 2) // step * step in rounded for c in (low, high) if c < n)
    for share, count, (low, high) in zip(shares, counts, bounds, strict=True):
        assert low <= count <= high
        assert low - 1e-9 <= share * n <= high + 1e-9
    assert shares.sum() == pytest.approx(1)

    def negative_entropy(x: np.ndarray[Any, Any]) -> float:
        p = np.maximum(x, 1e-12) / n
        return float((p * np.log(p)).sum())

    best = minimize(
        negative_entropy,
        np.array(counts, dtype=float),
        bounds=bounds,
        constraints=[{"type": "eq", "fun": lambda x: x.sum() - n}],
    )
    assert negative_entropy(shares * n) == pytest.approx(float(best.fun), abs=1e-4)


def test_noisy_counts_exclude_no_class() -> None:
    for noisy, width, n in (((50, -3), 2.0, 40), ((-10, -20), 1.0, 5), ((900, 10), 5.0, 3), ((0, 0), 1.0, 0)):
        shares = _noisy(noisy, width, n)
        assert (shares > 0).all()
        assert shares.sum() == pytest.approx(1)
        assert math.isfinite(float(np.log(shares).sum()))


def test_without_a_domain_there_is_no_private_tree() -> None:
    frame, y = records(60)
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    last = measure_remedies(tree, frame, y, **{**NONE, "epsilons": [1.0]}).rows[-1]
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
        measure_remedies(tree, frame, y, **{**NONE, **options})


def test_another_truth_is_refused() -> None:
    frame, y = records(60)
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    with pytest.raises(InvalidDataError, match="other class counts"):
        measure_remedies(tree, frame, y[::-1], **NONE)


def test_where_a_search_leads_nowhere_the_leaves_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, y = records(60)
    tree = MultiwayTreeClassifier(min_samples_split=20).fit(frame, y)
    told: list[bool] = []

    def fails(model: Any, people: Any, *, adversary: Adversary) -> Any:
        told.append(adversary.internal_nodes)
        if adversary.leaves != "leaf_counts" and adversary.internal_nodes:
            raise SearchError("nothing found at age <= 27.5", clashes=())
        return infer_sensitive(model, people, adversary=adversary)

    monkeypatch.setattr("glassine.attacks.disclosure.remedies.infer_sensitive", fails)
    rows = measure_remedies(tree, frame, y, **NONE).rows
    assert told.count(False) == 2
    for row in rows[1:]:
        assert row.d_overall is not None
        assert not row.internal_nodes
        # A threshold between two records must not reach the report.
        assert row.reason is not None
        assert "27.5" not in row.reason
