"""The page on bounds from the size of a model: its rows meet their bounds, its tables are those of the rows."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from papers.common.results import read
from tests.repo.code_blocks import ROOT

HERE = ROOT / "papers" / "capacity"
ROWS = read(HERE / "results" / "models.csv")


@pytest.fixture
def module() -> Iterator[object]:
    """Return how to import a module of the folder anew: other papers have modules of the same names."""
    before = dict(sys.modules)
    sys.path.insert(0, str(HERE))

    def load(name: str) -> ModuleType:
        for own in HERE.glob("*.py"):
            sys.modules.pop(own.stem, None)
        return importlib.import_module(name)

    yield load
    sys.path.remove(str(HERE))
    for own in HERE.glob("*.py"):
        sys.modules.pop(own.stem, None)
        if own.stem in before:
            sys.modules[own.stem] = before[own.stem]


def test_a_hundred_models_meet_their_bounds(module) -> None:  # type: ignore[no-untyped-def]
    assert len(ROWS) >= 100
    assert len({(row["dataset"], row["model"]) for row in ROWS}) == len(ROWS)
    module("run_all").check(ROWS)
    broken = {**ROWS[0], "lower": "1.5"}
    with pytest.raises(AssertionError, match="understand this attack"):
        module("run_all").check([broken])


def test_the_tables_of_the_page_are_those_of_the_rows(module) -> None:  # type: ignore[no-untyped-def]
    page = (ROOT / "docs" / "papers" / "capacity.md").read_text()
    assert module("table").fill(page, ROWS) == page
    assert Path(ROOT / "docs" / "images" / "papers" / "capacity" / "bounds.svg").is_file()


def test_a_small_frame_is_measured_again(module) -> None:  # type: ignore[no-untyped-def]
    run, questions, models = module("run_all"), sys.modules["questions"], sys.modules["models"]
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 2, (400, 5)).astype(np.uint8)
    frame = questions.Frame("drawn", answers, (answers[:, 0] ^ (rng.random(400) < 0.2)).astype(np.uint8))
    kinds = [kind for kind in models.KINDS if kind.name.startswith(("CART 2", "CART unpruned"))]
    for kind in kinds:
        runs = run.trained(kind, frame, 4, seed=0)
        batch = [model for model, _ in run.trained(kind, frame, 25, seed=1)] if kind.quick else []
        row = run.measure(kind, frame, runs, batch)
        assert float(row["lower"]) <= float(row["design"]) <= 1
        assert float(row["fresh"]) <= float(row["design"])
    assert len(kinds) == 3


def test_rounding_of_sums_gives_members_away_where_whole_numbers_do_not(module) -> None:  # type: ignore[no-untyped-def]
    # A constant model reveals nothing. Subtracting it from a sum of floats leaves other roundings to members.
    attacks, models, questions = module("attacks"), sys.modules["models"], sys.modules["questions"]
    rng, size, halves = np.random.default_rng(0), 400, 15
    frame = questions.Frame("equal", np.zeros((size, 1), dtype=np.uint8), np.zeros(size, dtype=np.uint8))
    model = models.Trained(np.zeros(size, dtype=np.int64), np.zeros(1, dtype=np.int64), ())
    members = np.array([rng.permutation(size) < size // 2 for _ in range(halves)])
    runs = [(model, drawn) for drawn in members]
    assert max(map(abs, attacks.likelihood_ratio(frame, runs, counts=False))) == 0
    confidence = np.full((halves, size), 0.1)
    total_in, total_out = (confidence * members).sum(axis=0), (confidence * ~members).sum(axis=0)
    worst = 0.0
    for t, drawn in enumerate(members):
        rest_in, rest_out = total_in - confidence[t] * drawn, total_out - confidence[t] * ~drawn
        n_in = np.maximum(members.sum(axis=0) - drawn, 1)
        n_out = np.maximum((~members).sum(axis=0) - ~drawn, 1)
        nearer = np.abs(confidence[t] - rest_in / n_in) < np.abs(confidence[t] - rest_out / n_out)
        worst = max(worst, abs(attacks.advantage(nearer, drawn)))
    assert worst > 0.05
