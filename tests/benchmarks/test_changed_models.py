"""Files that are changed consistently are judged or refused: a few are made again, the stored rows show no fault."""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any

import pytest

from benchmarks.kept_rows import results_of
from papers.common.results import read

changed_models: Any = import_module("benchmarks.changed_models")
ROWS = read(results_of(changed_models.__file__))


def test_stored_rows_show_no_fault_and_no_wrong_verdict() -> None:
    assert len(ROWS) >= 200
    assert {row["change"] for row in ROWS} == set(changed_models.CHANGES)
    assert all(row["fault"] == row["wrong"] == "0" for row in ROWS)
    for change in changed_models.CHANGES:
        assert sum(int(row["judged"]) for row in ROWS if row["change"] == change) > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["JSON of a tree", "skops", "ONNX", "tree.pmml", "xgboost.json", "lightgbm.txt"])
def test_changes_are_made_judged_and_not_wrong(name: str) -> None:
    stored = {row["change"]: row for row in ROWS if row["file"] == name}
    for change in changed_models.CHANGES[:4]:
        found = changed_models.judged(name, change)
        assert found["fault"] == found["wrong"] == 0, found["first"]
        assert (str(found["judged"]), str(found["refused"])) == (stored[change]["judged"], stored[change]["refused"])


def test_what_a_reader_overlooks_would_be_wrong() -> None:
    data = changed_models.files()["JSON of a tree"]
    (before, *_), seen = changed_models.changed(data, "thresholds", random.Random(0)), changed_models._seen
    assert not changed_models._wrong("thresholds", seen(data), seen(before))
    assert changed_models._wrong("thresholds", seen(data), seen(data))
    assert changed_models._wrong("names", seen(data), ("within policy", {}, set()))
    assert changed_models._wrong("a leaf of one", None, ("within policy", {}, set()))
    assert not changed_models._wrong("a leaf of one", None, ("outside policy", {}, set()))


def test_errors_that_are_not_ours_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes) -> Any:
        raise KeyError(data)

    monkeypatch.setattr(changed_models, "_models", broken)
    assert changed_models._seen(b"x").startswith("fault: KeyError")
