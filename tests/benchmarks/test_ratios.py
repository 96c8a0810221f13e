"""The comparison with peers: its sentences can fail, its tables say what was measured, and it runs."""

from __future__ import annotations

import importlib
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papers.common.results import read
from tests.conftest import ROOT

judging: Any = importlib.import_module("benchmarks.peers.judging")
growth: Any = importlib.import_module("benchmarks.peers.growth")


TWICE, GAINS = (2.0, 2.1, 1.9, 2.0, 2.2), (0.1, 0.12, 0.09, 0.1, 0.11)
"""Speeds and gains of five runs."""

SLOWER = {"diffprivlib", "pystreed", "pydl8.5", "imodels", "sacroml", "recursion"}
"""Peers that the page of benchmarks says are faster somewhere."""


def row(peer: str, **changes: Any) -> Any:
    """Return a row in which Glassine is twice as fast, and better, in five runs."""
    figures = {"ours_seconds": 1.0, "their_seconds": 2.0, "measure": "accuracy", "ours_quality": 0.8}
    runs = {"speeds": TWICE, "gains": GAINS, "their_quality": 0.7}
    return judging.Row(**{"peer": peer, "task": "task", "data": "data", **runs, **figures, **changes})


def verdicts(*rows: Any) -> list[bool | None]:
    """Return what becomes of each sentence."""
    return [judgement.holds for judgement in judging.judge(rows)]


def test_a_sentence_holds_only_if_every_row_bears_it_out() -> None:
    good = row("interpret", measure="AUROC")
    assert verdicts(good) == [True, True]
    assert verdicts(good, replace(good, speeds=(0.99,) * 5)) == [False, True]
    assert verdicts(good, replace(good, gains=(0.0,) * 5)) == [True, False]
    assert verdicts(replace(good, measure="RMSE")) == [True, True]


@pytest.mark.parametrize(
    ("speeds", "gains", "holds"),
    [
        (TWICE, GAINS, [True, True]),
        ((1.09,) * 5, (0.0049,) * 5, [False, False]),
        ((1.11,) * 5, (0.0051,) * 5, [True, True]),
        # An interval that includes both sides decides nothing; one that excludes the claim refutes it.
        ((9.0, 9.0, 9.0, 0.1, 0.1), (0.5, 0.5, 0.5, -0.4, -0.4), [None, None]),
        ((1.0, 1.01, 0.99, 1.0, 1.0), (0.0, 0.001, -0.001, 0.0, 0.0), [False, False]),
        ((1.12, 1.02, 1.16, 1.03, 1.04), (0.0051, 0.001, 0.008, 0.001, 0.002), [None, None]),
        (TWICE[:4], GAINS[:4], [None, None]),
        ((), (), [None, None]),
    ],
)
def test_faster_and_better_need_a_margin_and_an_interval_over_five_splits(
    speeds: tuple[float, ...], gains: tuple[float, ...], holds: list[bool | None]
) -> None:
    found = row("interpret", speeds=speeds, gains=gains)
    assert verdicts(found) == holds
    said = str(judging.judge([found])[0])
    assert said.startswith({True: "confirmed: ", False: "refuted: ", None: "not supported here: "}[holds[0]])
    assert ("fewer than 5 splits" in said) == (len(speeds) < 5)
    assert ("undecided on task, data" in said) == (holds[0] is None and len(speeds) == 5)


@pytest.mark.parametrize(("measure", "gain"), [("accuracy", 0.1), ("RMSE", math.log(0.7 / 0.8)), ("AUROC", 0.1)])
def test_of_an_error_less_is_better(measure: str, gain: float) -> None:
    assert judging.gain(measure, 0.8, 0.7) == pytest.approx(gain)
    assert math.isnan(judging.gain("RMSE", 0.0, 0.7))


def test_nan_and_equal_times_do_not_pass() -> None:
    assert verdicts(row("diffprivlib")) == [True]
    assert verdicts(row("diffprivlib", gains=(math.nan,) * 5)) == [None]
    good = row("recursion", agreement="equal")
    assert verdicts(good) == [True]
    assert verdicts(replace(good, speeds=(math.nan,) * 5)) == [None]
    assert verdicts(replace(good, speeds=(1.0,) * 5)) == [False]
    assert verdicts(replace(good, speeds=(), agreement="different")) == [False], "what fails is not open"


def test_the_page_names_the_versions_that_are_pinned() -> None:
    environments: Any = importlib.import_module("benchmarks.peers.environments")
    pins = {peer.name: peer.requirements[0].split("==") for peer in environments.EVERY_PEER if peer.requirements}
    text = (ROOT / "docs" / "explanation" / "benchmarks.md").read_text()
    for peer, name in {
        "diffprivlib": "diffprivlib",
        "pystreed": "pystreed",
        "pydl8.5": "pydl8.5",
        "corels": "CORELS",
        "sacroml": "SACRO-ML",
    }.items():
        assert f"{name} {pins[peer][1]}" in text


def test_what_was_not_measured_leaves_a_sentence_open_unless_another_row_fails() -> None:
    missing = judging.Row(peer="recursion", task="task", data="data", note="its environment cannot be made")
    good = row("recursion", agreement="equal")
    assert verdicts(missing) == [None]
    assert verdicts(good, missing) == [None]
    assert verdicts(replace(good, agreement="different"), missing) == [False]
    assert "cannot be made" in str(judging.judge([missing])[0])
    assert judging.judge([]) == []


def test_tasks_that_are_shown_but_not_judged() -> None:
    slow = row("recursion", agreement="equal", their_seconds=0.1, speeds=(0.1,) * 5)
    assert verdicts(slow) == [False]
    assert verdicts(row("recursion", agreement="equal"), replace(slow, judged=False)) == [True]


@pytest.mark.parametrize(
    ("speeds", "holds"),
    [
        ((0.21,) * 5, True),
        ((0.2,) * 5, False),
        ((0.19,) * 5, False),
        ((0.5, 0.5, 0.5, 0.1, 0.1), None),
        ((0.5,) * 4, None),
    ],
)
def test_an_optimal_tree_may_take_five_times_as_long(speeds: tuple[float, ...], holds: bool | None) -> None:
    assert verdicts(row("pystreed", speeds=speeds, agreement="equal")) == [holds, True]


@pytest.mark.parametrize(("speed", "holds"), [(0.34, True), (0.33, False)])
def test_an_audit_of_what_both_measure_may_take_three_times_as_long(speed: float, holds: bool) -> None:
    both = row("sacroml", task=f"audit, {judging.BOTH}", speeds=(speed,) * 5, agreement="equal")
    assert verdicts(both) == [holds]
    assert verdicts(replace(both, agreement="different")) == [False]
    assert verdicts(row("sacroml", task="audit with records", speeds=(0.01,) * 5)) == []


def test_a_peer_that_was_stopped_does_not_refute() -> None:
    stopped = row("pystreed", speeds=(0.1,) * 5, at_least=True, agreement="open", note="not proved within the limit")
    assert verdicts(stopped) == [None, True]
    assert verdicts(replace(stopped, speeds=(0.3,) * 5)) == [True, True]


def test_another_optimum_refutes_and_an_unproved_one_does_not() -> None:
    equal = row("pydl8.5", agreement="equal")
    assert verdicts(equal, replace(equal, agreement="open")) == [True]
    assert verdicts(equal, replace(equal, agreement="different")) == [False]
    assert verdicts(replace(equal, agreement="")) == [False]


def test_a_judgement_names_the_rows_on_which_it_fails() -> None:
    told = str(judging.judge([row("pystreed", task="depth 2", speeds=(0.01,) * 5, agreement="equal")])[0])
    assert told.startswith("refuted: ")
    assert "fails on depth 2, data" in told


def test_seconds_of_processors_take_the_place_of_those_on_the_clock() -> None:
    slow = row("interpret", ours_processor=1.0, their_processor=0.5, speeds_by_processor=(0.5,) * 5).by_processor()
    assert (slow.ratio, slow.faster(), slow.clock) == (0.5, False, "processor")
    assert slow.by_processor() is slow
    assert row("interpret").by_processor().ratio is None


def test_a_busy_machine_leaves_a_task_its_runs() -> None:
    """The budget is in seconds of processors: those on the clock do not end a task."""
    turns: Any = importlib.import_module("benchmarks.peers.turns")

    class Side:
        def run(self, seed: int) -> Any:
            return turns.Run(seconds=1000.0, processor=1.0, figures={"seed": seed})

    both = turns.in_turn((Side(), Side()), 5, 10.0)
    assert [[run.figures["seed"] for run in done] for done in both] == [[0, 1, 2, 3, 4]] * 2
    assert [len(done) for done in turns.in_turn((Side(), Side()), 5, 3.0)] == [2, 2]
    assert [len(done) for done in turns.in_turn((Side(), Side()), 5, 0.0)] == [1, 1]


def test_cells_and_tables() -> None:
    shown = judging.cells(row("pystreed", at_least=True, their_seconds=60.0, agreement="open"))
    assert shown[3:] == ("1", "> 60", "> 60", "accuracy, open", "0.8000", "0.7000")
    none = judging.cells(judging.Row(peer="a", task="b", data="c", note="reason"))
    assert none == ("b", "c", "a", "", "none", "", "", "", "")
    assert judging.markdown(("x", "y"), [("1", "a|b")]) == "| x | y |\n|---|---|\n| 1 | a\\|b |"
    assert judging.plain(("x", "long"), [("wide", "1")]) == "x     long\nwide  1"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00012345, "0.000123"), (1.0, "1"), (59.96, "60"), (1234.5, "1230"), (0.0, "0"), (math.nan, "nan")],
)
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert judging.figure(value) == text


def test_the_law_of_growth_is_fitted() -> None:
    powers = growth.Growth(task="t", size="n", values=(10, 100, 1000), seconds=(0.1, 10.0, 1000.0))
    assert powers.law() == "n^2.00"
    steps = growth.Growth(task="t", size="depth", values=(2, 3, 4), seconds=(0.1, 0.3, 0.9))
    assert steps.law() == "3 times with each"
    assert growth.cells(steps) == ("depth", "t", "2: 0.1, 3: 0.3, 4: 0.9", "3 times with each")
    assert growth.Growth(task="t", size="n", values=(1, 2), seconds=(), note="ended").law() == "none: ended"


def test_what_grows_is_stored_size_by_size() -> None:
    made = [
        growth.Growth(
            task=series.task, size=series.size, values=series.values, seconds=tuple(map(float, series.values))
        )
        for series in growth.SERIES
    ]
    rows = [{name: str(value) for name, value in row.items()} for row in growth.flat(made)]
    assert growth.stored(rows) == made
    assert [(row["size"], row["value"]) for row in read(ROOT / "benchmarks" / "growth.csv")] == [
        (row["size"], row["value"]) for row in rows
    ]


def test_every_task_has_a_peer_and_a_quick_run_has_tasks_of_each() -> None:
    pairs: Any = importlib.import_module("benchmarks.peers.pairs")
    made = pairs.pairs(standin=True)
    assert {pair.peer for pair in made} == set(pairs.PEERS) == {pair.peer for pair in made if pair.light}
    assert len({(pair.peer, pair.task, pair.data) for pair in made}) == len(made)


def test_without_data_the_command_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    ratios: Any = importlib.import_module("benchmarks.ratios")
    monkeypatch.setattr(ratios, "DATA", tmp_path / "nowhere")
    assert ratios.main(["--only", "imodels", "--quick"]) == 2
    assert "GLASSINE_DATA" in capsys.readouterr().err


def test_a_peer_that_cannot_be_made_is_named_and_leaves_its_sentence_open(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    ratios: Any = importlib.import_module("benchmarks.ratios")

    def prepare(peer: Any, folder: Path) -> Path:
        raise ratios.Missing(f"{peer.name} needs a compiler in {folder}")

    monkeypatch.setattr(ratios, "prepare", prepare)
    monkeypatch.setattr(ratios, "DATA", tmp_path)
    assert ratios.main(["--only", "corels", "--quick", "--into", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "corels needs a compiler" in printed.err
    assert "not supported here: no optimum differs" in printed.out
    assert str(tmp_path) not in printed.out


@pytest.mark.slow
def test_a_quick_run_counts_as_the_recursion_does(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ratios: Any = importlib.import_module("benchmarks.ratios")
    # Each size is a process of its own: two are enough for a law.
    monkeypatch.setattr(growth, "SERIES", tuple(replace(series, values=series.values[:2]) for series in growth.SERIES))
    file = tmp_path / "ratios.json"
    status = ratios.main(["--quick", "--only", "recursion", "growth", "--markdown", "--json", str(file)])
    found = json.loads(file.read_text())
    assert status == int(any(judgement["holds"] is False for judgement in found["judgements"]))
    assert len(found["rows"]) == 2
    for measured in found["rows"]:
        assert measured["agreement"] == "equal"
        assert measured["ratio"] == pytest.approx(measured["their_seconds"] / measured["ours_seconds"])
    assert [len(grown["seconds"]) for grown in found["growth"]] == [2, 2]
    out = capsys.readouterr().out
    assert "| task | data | peer |" in out
    assert str(tmp_path) not in out


def test_the_page_prints_the_stored_rows_and_their_judgements() -> None:
    ratios: Any = importlib.import_module("benchmarks.ratios")
    text, stored = ratios.PAGE.read_text(), ratios.stored()
    assert ratios.filled(text, stored) == text, "run benchmarks/ratios.py --page"
    assert ratios.filled(text, [replace(stored[0], their_seconds=99.0), *stored[1:]]) != text
    assert {(one.clock, one.ours_processor) for one in stored} == {("processor", None)}
    slow = {(one.peer, one.task) for one in stored if one.ratio < 1}
    assert {peer for peer, _ in slow} == SLOWER
    assert all("depth 3 against tree" in task for peer, task in slow if peer == "diffprivlib")
    optimal = {(one.task[-1], one.data, one.at_least) for one in stored if one.ratio < 1 and "py" in one.peer}
    assert optimal == {("2", "COMPAS", False), ("5", "Adult, 76 literals", True)}


def test_what_is_loaded_beside_the_first_runs_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: Any = importlib.import_module("benchmarks.peers.turns")
    made: list[Any] = []

    class Side:
        def __init__(self, python: Path, module: str, patience: float) -> None:
            self.runs: list[int] = []
            made.append(self)

        def ready(self, work: str, data: Path, settings: dict[str, Any]) -> None:
            assert work == "solve"

        def run(self, seed: int) -> Any:
            self.runs.append(seed)
            # Compiling goes on beside the first three runs.
            return turns.Run(seconds=0.1, processor=0.5 if len(self.runs) <= 3 else 0.1, figures={})

        def close(self) -> None:
            pass

    monkeypatch.setattr(turns, "Warm", Side)
    given: Any = ((Path("a"), Path("b")), (("a", "solve", {}), ("b", "solve", {})), Path("records"))
    found = turns.measured(*given, first={}, runs=2, budget=10.0, patience=1.0)
    assert [[run.processor for run in side] for side in found] == [[0.1, 0.1]] * 2
    assert all(side.runs == [*range(turns.WARM_RUNS), 0, 1] for side in made)
    monkeypatch.setattr(turns, "WARM_SECONDS", 1.2)
    made.clear()
    turns.measured(*given, first={}, runs=2, budget=10.0, patience=1.0)
    assert all(side.runs == [0, 1, 2, 0, 1] for side in made)


@pytest.mark.parametrize(
    ("speeds", "verdict"),
    [
        (TWICE, "confirmed"),
        # Equal up to chance is at least as fast; a mean below, or an interval that reaches beyond the margin, is not.
        ((1.0, 1.02, 0.98, 1.01, 1.0), "confirmed"),
        ((0.95,) * 5, "refuted"),
        ((4.0, 4.0, 4.0, 0.5, 0.5), "not supported here"),
        ((0.9, 1.05, 0.9, 0.9, 0.95), "not supported here"),
        ((math.nan,) * 5, "not supported here"),
        (TWICE[:4], "not supported here"),
    ],
)
def test_at_least_as_fast_as_corels_where_rules_are_dear(speeds: tuple[float, ...], verdict: str) -> None:
    dear = row("corels", task="optimal rule list, 0.03 for each rule", speeds=speeds, agreement="equal")
    found, _ = judging.judge([dear])
    assert "at least as fast as by CORELS" in found.sentence
    assert found.verdict == verdict
    cheap = replace(dear, task="optimal rule list, 0.003 for each rule", speeds=(0.1,) * 5)
    assert judging.judge([dear, cheap])[0].verdict == verdict
    assert len(judging.judge([cheap])) == 1


def test_a_row_is_stored_by_the_clock_that_it_names_and_only_if_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ratios: Any = importlib.import_module("benchmarks.ratios")
    monkeypatch.setattr(ratios, "RESULTS", tmp_path / "ratios.csv")
    known = importlib.import_module("benchmarks.peers.pairs").pairs(standin=False)[0]
    head = {"peer": known.peer, "task": known.task, "data": known.data}
    ratios.keep(row(**head, ours_processor=2.0, their_processor=3.0, speeds_by_processor=(1.5,) * 5))
    ratios.keep(judging.Row(**head, note="its environment cannot be made"))
    (kept,) = ratios.stored()
    assert (kept.ours_seconds, kept.their_seconds, kept.speeds, kept.clock) == (2.0, 3.0, (1.5,) * 5, "processor")
    assert "processor" not in (tmp_path / "ratios.csv").read_text().splitlines()[0]


def test_runs_of_a_solver_are_on_splits_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "peers"))
    warm, protocol = importlib.import_module("warm"), importlib.import_module("protocol")
    seen = []

    def solve(task: Any, limit: float) -> Any:
        seen.append(task.X[:, 0].tolist())
        return protocol.Answer(errors=1, size=2, seconds=0.0, processor=0.0, proved=True)

    settings = {"name": "a", "kind": "list", "room": 2, "penalty": 3, "limit": 1.0}
    work = warm.solving(solve)({"X": np.arange(50)[:, None], "y": np.zeros(50)}, settings)
    assert [work(seed)[1]["quality"] for seed in (0, 1, 0)] == [7, 7, 7]
    assert seen[0] == seen[2] != seen[1]
    assert {len(rows) for rows in seen} == {40}
    for name in ("warm", "protocol"):
        sys.modules.pop(name)
