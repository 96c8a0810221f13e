"""Near-optimal trees of summaries against true ones: the page prints what is stored, and true figures are true."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from glassine.learners import PrivateSummary
from glassine.records.reading import read_settled
from tests.summaries.people import DOMAIN, people

near_optimal: Any = importlib.import_module("benchmarks.near_optimal")


def test_the_page_prints_the_stored_rows() -> None:
    text, stored = near_optimal.PAGE.read_text(), near_optimal.read(near_optimal.RESULTS)
    assert near_optimal.filled(text, stored) == text, "run benchmarks/near_optimal.py --page"
    changed = [{**row, "value": "7"} if row["figure"] == "2 trees, lower" else row for row in stored]
    assert near_optimal.filled(text, changed) != text
    held, leaves = (round(sum(near_optimal.values(stored, f))) for f in ("leaves whose bounds hold", "leaves"))
    assert f"{held} of {leaves} for leaves" in text


def test_stored_figures_are_whole_and_within_their_ranges() -> None:
    stored = near_optimal.read(near_optimal.RESULTS)
    assert sorted(stored, key=near_optimal.key) == stored
    places = [(*near_optimal.key(row), row["figure"]) for row in stored]
    assert len(set(places)) == len(places)
    for name, epsilon in near_optimal.settings(stored):

        def figure(text: str, name: str = name, epsilon: str = epsilon) -> Any:
            return np.array(near_optimal.values(stored, text, data=name, epsilon=epsilon))

        assert (figure("trees within 1 point") <= figure("trees within 2 points")).all()
        assert (figure("intervals that hold both ends") <= figure("attributes")).all()
        assert (figure("the same without replicates") <= figure("intervals that hold both ends")).all()
        assert (figure("decided differently, low") <= figure("decided differently, summary")).all()
        assert (figure("indispensable, both") <= figure("indispensable, records")).all()
    for n in near_optimal.TOGETHER:
        lower, upper = (near_optimal.values(stored, f"{n} trees, {end}") for end in ("lower", "upper"))
        assert 0 < len(lower) == len(upper)
        assert all(0 < low <= high for low, high in zip(lower, upper, strict=True))


@pytest.mark.slow
def test_true_trees_are_those_of_the_records_and_ordinary_ones_state_their_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame, y = people(3000)
    data = near_optimal.Additive(name="people", frame=frame, target=y, domain=DOMAIN, classes=(0, 1))
    summary = PrivateSummary(epsilon=4.0, domain=DOMAIN, classes=(0, 1), random_state=0).fit(frame, y)
    columns = read_settled(frame, DOMAIN, keep_undeclared=True)
    figures, truth = near_optimal.compare(summary, columns, y)
    best = near_optimal.ordinary(truth.trees.best(), data)
    predicted = best.predict(columns)
    assert (predicted != y).mean() == pytest.approx(figures["lowest errors, records"], abs=1e-9)
    leaves = best.apply(columns)
    for leaf, counts in enumerate(cell.evidence.counts for cell in best.cells):
        assert counts == tuple(np.bincount(y[leaves == leaf], minlength=2))
    assert 0 <= figures["decided differently, low"] <= figures["decided differently, high"] <= 1
    monkeypatch.setattr(near_optimal, "TOGETHER", (1, 2))
    bits = near_optimal.together(truth, data, 0)
    assert 0 < bits["1 trees, lower"] <= bits["1 trees, upper"] + 1e-9
    # What a second tree adds is at least nothing.
    assert bits["2 trees, upper"] >= bits["1 trees, lower"]
