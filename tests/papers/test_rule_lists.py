"""The reproduction of the rule-list paper: its scripts run end to end, and its records, rules and order are kept."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glassine import Domain, parse_rules
from glassine.privacy.sensitivity import local_gini, smooth_gini
from papers.common.judging import CONFIRMED, REFUTED, verdict
from papers.common.tables import place
from tests.conftest import ROOT

FOLDER = ROOT / "papers" / "smooth-sensitivity-rule-lists"
RESULTS = FOLDER / "results"
SCRIPTS = (
    "figure_1",
    "pools",
    "figure_2",
    "figure_3",
    "figure_4",
    "figure_6",
    "table_1",
    "table_2",
    "table_3",
    "trees",
    "lists",
    "lengths",
    "variations",
)

Rows = list[dict[str, str]]


def read(path: Path) -> Rows:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def run(script: str, folder: Path, *arguments: str) -> str:
    command = [sys.executable, str(FOLDER / f"{script}.py"), "--results", str(folder), "--images", str(folder)]
    done = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def module(name: str, monkeypatch: pytest.MonkeyPatch, data: Path | None = None) -> ModuleType:
    """Import a module of the folder anew: where the data are is read at import."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    if data is not None:
        monkeypatch.setenv("GLASSINE_DATA", str(data))
    for path in FOLDER.glob("*.py"):
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
    monkeypatch.delitem(sys.modules, "public_data", raising=False)
    return importlib.import_module(name)


@pytest.mark.slow
def test_the_scripts_run_end_to_end_without_the_data(tmp_path: Path) -> None:
    run("run_all", tmp_path, "--settings", "toy", "--seeds", "2", "--grid", "1", "10")
    assert {path.stem for path in tmp_path.glob("*.csv")} >= set(SCRIPTS)
    assert (tmp_path / "figure-4-toy.svg").stat().st_size < 60_000
    accuracies = {(row["method"], row["epsilon"]): float(row["test"]) for row in read(tmp_path / "figure_4.csv")}
    assert len(accuracies) == 1 + 2 * 7
    assert accuracies["exponential rule list", "10"] > 0.8 > accuracies["gl-Exponential", "10"]
    again = run("figure_4", tmp_path, "--settings", "toy", "--seeds", "2", "--grid", "1", "10")
    assert "all" not in [line.split()[-1] for line in again.splitlines()], "a finished cell was measured again"


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = module("study", monkeypatch)
    path, asked = tmp_path / "runs.csv", []

    def work(name: str, seeds: int, fails: bool = False) -> tuple[tuple[str, ...], int, object]:
        def measure() -> dict[str, float]:
            if fails:
                raise KeyboardInterrupt
            asked.append((name, seeds))
            return {"mean": float(seeds)}

        return (name,), seeds, measure

    with pytest.raises(KeyboardInterrupt):
        study.run(path, ("name",), [work("a", 5), work("b", 5, fails=True)])
    rows = study.run(path, ("name",), [work("a", 5), work("b", 5)])
    assert asked == [("a", 5), ("b", 5)]
    assert [row["name"] for row in rows] == ["a", "b"]
    rows = study.run(path, ("name",), [work("a", 3), work("b", 9)])
    assert asked[2:] == [("b", 9)], "only a cell that needs more seeds is measured again"
    assert read(path) == rows
    assert [row["seeds"] for row in rows] == ["5", "9"]


@pytest.mark.parametrize(("closed", "expected"), [("right", [0, 0, 1, 2]), ("left", [0, 1, 2, 2])])
def test_quantile_bins_are_closed_where_they_say(
    closed: str, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = module("settings", monkeypatch)
    bins = settings.quantile_bins("x", [0.0, 1.0, 2.0, 3.0], 3, closed=closed)
    matrix = np.column_stack(list(bins.values()))
    assert matrix.sum(axis=1).tolist() == [1] * 4
    assert matrix.argmax(axis=1).tolist() == expected


def test_equal_quantiles_make_one_bin(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = module("settings", monkeypatch)
    bins = settings.quantile_bins("x", [0.0] * 8 + [1.0, 5.0], 5)
    assert list(bins) == ["x in [0, 0.2]", "x in (0.2, 5]"]
    assert [int(column.sum()) for column in bins.values()] == [8, 2]


def test_the_ceiling_is_that_of_the_majority_of_each_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    fitting, settings = module("fitting", monkeypatch), importlib.import_module("settings")
    cells = fitting.Cells.of(settings.SETTINGS["toy"]())
    columns = np.column_stack(list(cells.setting.columns.values())).astype(int)
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, label in zip(columns.tolist(), cells.setting.labels.tolist(), strict=True):
        groups.setdefault(tuple(row), []).append(label)
    right = sum(max(labels.count(0), labels.count(1)) for labels in groups.values())
    assert cells.ceiling() == pytest.approx(right / cells.setting.n_records)


def test_the_range_of_ties_holds_the_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = module("pools", monkeypatch)
    setting = importlib.import_module("settings").SETTINGS["toy"]()
    fitting = importlib.import_module("fitting")
    cells = fitting.Cells.of(setting)
    low, high = pools.tie_range(setting, cells)
    everything = np.bincount(cells.index, minlength=len(cells.labels))
    table = cells.table(everything, tied=False)
    model = fitting.METHODS["GreedyRL"].make(setting, None, 0).fit(table, "class of the record").model_
    assert low - 1e-12 <= fitting.accuracy(model, cells, everything) <= high + 1e-12


def test_the_theorem_is_judged_by_all_datasets_of_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    figure_1: Any = module("figure_1", monkeypatch)
    claims: Any = module("claims", monkeypatch)
    for n in range(1, 11):
        # Of one record the impurity changes by none that is removed, and by a half if one is added.
        assert figure_1.largest_change(n) == pytest.approx(local_gini(max(1, n - 1)))
        assert figure_1.enumerated(n) == pytest.approx(smooth_gini(n, figure_1.BETA), rel=1e-9)
    found = claims.evidence(RESULTS)
    as_printed = [row | {"enumerated": row["enumerated"] and row["smooth"]} for row in found.noise]
    judged = [claims.theorem(each) for each in (found, dataclasses.replace(found, noise=as_printed))]
    assert [verdict(each.rule, each.comparisons) for each in judged] == [REFUTED, CONFIRMED]


def test_committed_results_are_whole() -> None:
    rows = read(RESULTS / "figure_4.csv")
    assert {row["setting"] for row in rows} == {"german", "compas", "adult", "adult-pairs"}
    few = {row["method"] for row in rows if int(row["seeds"]) < 100}
    assert few <= {"exponential rule list"}
    for row in read(RESULTS / "figure_1.csv"):
        assert float(row["smooth"]) == pytest.approx(float(row["brute_force"]), rel=1e-5)


def test_operations_compose_as_randomized_responses_do(monkeypatch: pytest.MonkeyPatch) -> None:
    composed = module("future_work", monkeypatch).composed
    assert composed(0.1, 14, 0.0) == pytest.approx(1.4)
    # Two operations: only two true answers exceed a total above 0.
    true = 1 / (1 + math.exp(-0.5))
    assert composed(0.5, 2, 0.01) == pytest.approx(1.0 + math.log1p(-0.01 / true**2))
    for each, operations, delta in ((0.1, 1_000, 1e-6), (0.01, 14, 1e-6), (0.5, 40, 1e-3)):
        advanced = math.sqrt(2 * operations * math.log(1 / delta)) * each + operations * each * math.expm1(each)
        assert 0 <= composed(each, operations, delta) <= min(each * operations, advanced)


def test_the_lists_of_each_length_are_at_most_that_long() -> None:
    rows = read(RESULTS / "lengths.csv")
    assert {row["K"] for row in rows} == {"2", "3", "4", "5", "6", "7"}
    assert len({(row["setting"], row["method"], row["epsilon"], row["K"]) for row in rows}) == len(rows) == 198
    known = {(row["setting"], row["method"], row["epsilon"]): row["test"] for row in read(RESULTS / "figure_4.csv")}
    for row in rows:
        assert float(row["rules"]) <= int(row["K"])
        if row["K"] == "5":
            assert row["test"] == known[row["setting"], row["method"], row["epsilon"]]


LENGTHS: dict[str, tuple[Callable[..., Any], int]] = {
    "counted": (lambda choosing, *counts: choosing.counted_lengths(*counts), 1),
    "smooth": (lambda choosing, *counts: choosing.smooth_lengths(*counts, 0.1), 2**20 + 2),
    "pairs": (lambda choosing, *counts: choosing.pair_lengths(*counts, 50), 1),
}
MASKS = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]])


@pytest.mark.parametrize("name", LENGTHS)
def test_a_record_moves_the_length_of_a_candidate_by_at_most_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    choosing = module("choosing", monkeypatch)
    lengths, most = LENGTHS[name]
    rng = np.random.default_rng(0)
    steps = []
    for _ in range(200):
        records = rng.integers(0, rng.choice([3, 30, 300]), size=(4, 2))
        before = np.array(lengths(choosing, MASKS @ records, records.sum(axis=0)))
        assert before.min() == 0
        for cell in np.ndindex(4, 2):
            more = records.copy()
            more[cell] += 1
            after = np.array(lengths(choosing, MASKS @ more, more.sum(axis=0)))
            steps.append(np.abs(after - before).max())
            # So one record never makes a candidate the best whose length is two or more.
            assert not ((before >= 2 * most) & (after == 0)).any()
    assert max(steps) <= most
    assert max(steps) > most * 0.6, "the bound is far from reached"


def test_a_halved_reach_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    choosing = module("choosing", monkeypatch)
    monkeypatch.setattr(choosing, "REACH", choosing.REACH // 2)
    rng, steps = np.random.default_rng(0), []
    for _ in range(200):
        records = rng.integers(0, 30, size=(4, 2))
        before = choosing.counted_lengths(MASKS @ records, records.sum(axis=0))
        for cell in np.ndindex(4, 2):
            more = records.copy()
            more[cell] += 1
            after = choosing.counted_lengths(MASKS @ more, more.sum(axis=0))
            steps.append(max(abs(one - other) for one, other in zip(before, after, strict=True)))
    assert max(steps) > 1


def test_no_length_exceeds_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    choosing = module("choosing", monkeypatch)
    rng, seen = np.random.default_rng(1), set()
    for _ in range(15):
        records = rng.integers(0, 6, size=(4, 2))
        level = {1: {tuple(records.ravel().tolist())}}
        reached: dict[int, int] = {}
        for changes in range(3):
            for flat in level[changes + 1]:
                held = np.array(flat).reshape(4, 2)
                impurities = choosing.counted_levels(MASKS @ held, held.sum(axis=0))
                for i in np.flatnonzero(np.array(impurities) == min(impurities)).tolist():
                    reached.setdefault(i, changes)
            level[changes + 2] = {
                (*flat[:i], flat[i] + step, *flat[i + 1 :])
                for flat in level[changes + 1]
                for i in range(8)
                for step in (-1, 1)
                if flat[i] + step >= 0
            }
        found = choosing.pair_lengths(MASKS @ records, records.sum(axis=0), 50)
        assert all(found[i] <= changes for i, changes in reached.items())
        seen |= {found[i] for i in reached}
    assert {0, 1} <= seen


def test_lengths_of_pairs_are_longer_where_parts_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    choosing = module("choosing", monkeypatch)
    # Classes are as frequent among what either captures as elsewhere, up to a few records.
    captured, totals = np.array([[620, 400], [500, 500]]), np.array([1000, 1000])
    assert choosing.counted_lengths(captured, totals)[1] < choosing.pair_lengths(captured, totals, 10**4)[1] / 2


def test_lists_of_the_future_work_find_what_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    lists, settings = module("lists", monkeypatch), module("settings", monkeypatch)
    cells = lists.cells_of("toy")
    counts = np.bincount(cells.index, minlength=len(cells.labels))
    split = SimpleNamespace(train=counts, test=counts)
    usual = max(np.mean(settings.toy().labels == label) for label in (0, 1))
    for choice in lists.CHOICES.values():
        labels = lists.listed(cells, split, choice, 1000.0, 0)
        assert counts[labels == cells.labels].sum() / counts.sum() > usual + 0.1


def test_trees_of_the_future_work_find_what_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    trees, settings = module("trees", monkeypatch), module("settings", monkeypatch)
    cells = trees.Cells.of(settings.toy())
    counts = np.bincount(cells.index, minlength=len(cells.labels))
    split = SimpleNamespace(train=counts, test=counts)
    usual = max(np.mean(settings.toy().labels == label) for label in (0, 1))
    for choice in trees.CHOICES.values():
        labels = trees.grown(cells, split, choice, 1000.0, 0)
        assert counts[labels == cells.labels].sum() / counts.sum() > usual + 0.1


def published(quantity: str) -> dict[tuple[str, str], float]:
    return {
        (row["setting"], row["method"]): float(row["value"])
        for row in read(FOLDER / "published.csv")
        if row["quantity"] == quantity
    }


@pytest.mark.parametrize("setting", ["compas", "german", "adult-pairs"])
def test_committed_accuracies_are_near_the_published_ones(setting: str) -> None:
    printed = published("test accuracy")
    epsilon = "1" if setting == "adult-pairs" else "10"
    rows = [
        row
        for row in read(RESULTS / "figure_4.csv")
        if row["setting"] == setting and row["epsilon"] in ("", epsilon) and (setting, row["method"]) in printed
    ]
    assert len(rows) > 1
    for row in rows:
        # The page says that this one difference is not explained.
        limit = 0.016 if (setting, row["method"]) == ("german", "sm-Laplace") else 0.01
        assert abs(float(row["test"]) - printed[setting, row["method"]]) < limit, row


@pytest.mark.data
@pytest.mark.slow
def test_records_and_rules_are_those_of_the_paper(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = module("settings", monkeypatch, data_dir)
    sizes = {name: make() for name, make in settings.SETTINGS.items()}
    assert {name: (s.n_records, len(s.rules)) for name, s in sizes.items() if name != "toy"} == {
        "german": (1_000, 49),
        "compas": (6_172, 18),
        "adult": (48_842, 47),
        "adult-pairs": (48_842, 382),
    }
    assert not [name for name in sizes["compas"].columns if name.startswith("race")]
    assert not [name for name in sizes["german"].columns if name.startswith("age")]
    assert not [name for name in sizes["adult-pairs"].columns if name.startswith(("age", "gender"))]


@pytest.mark.data
@pytest.mark.slow
def test_the_quick_form_keeps_accuracies_and_order(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSINE_DATA", str(data_dir))
    run("figure_4", tmp_path, "--quick", "--grid", "1", "10", "--settings", "german", "compas", "adult-pairs")
    rows = {
        (row["setting"], row["method"], row["epsilon"]): float(row["test"]) for row in read(tmp_path / "figure_4.csv")
    }
    for setting, expected in (("german", 0.711), ("compas", 0.660), ("adult-pairs", 0.791)):
        # Ten splits: the mean on German has a standard error of 0.008.
        assert abs(rows[setting, "GreedyRL", ""] - expected) < (0.03 if setting == "german" else 0.013)
    for setting in ("compas", "adult-pairs"):
        best = max(rows[setting, method, "10"] for method in ("gl-Laplace", "gl-Gaussian", "gl-Exponential"))
        assert rows[setting, "sm-Laplace", "10"] > best + 0.01
        assert rows[setting, "sm-Laplace", "10"] > rows[setting, "sm-Cauchy", "10"] + 0.01
        for epsilon in ("1", "10"):
            assert rows[setting, "counted-gini, strict", epsilon] > best + 0.01
    assert abs(rows["compas", "sm-Laplace", "10"] - 0.658) < 0.015
    assert abs(rows["adult-pairs", "sm-Laplace", "1"] - 0.787) < 0.01


def test_the_page_holds_the_areas_of_all_attacks() -> None:
    text = (ROOT / "docs" / "papers" / f"{FOLDER.name}.md").read_text()
    areas = [float(row["auc"]) for row in read(RESULTS / "figure_6.csv")]
    assert f"between {min(areas):.3f} and {max(areas):.3f}" in text


@pytest.mark.slow
def test_the_control_attacks_a_list_that_never_saw_the_split(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = module("figure_6", monkeypatch)
    rules = "if [x0] then [1] ([1 ; 2] examples)\nelse [0] ([2 ; 1] examples)"
    fitted = SimpleNamespace(model_=parse_rules(rules, Domain.binary([f"x{i}" for i in range(6)])))
    asked: list[int] = []

    def fit(name: str, method: object, epsilon: float | None, seed: int) -> SimpleNamespace:
        asked.append(seed)
        return fitted

    monkeypatch.setattr(figure, "fit", fit)
    for attack in figure.ATTACKS:
        figure.attacked("toy", "GreedyRL", attack, 3)
    assert asked == [*[3] * (len(figure.ATTACKS) - 1), 3 + figure.OTHER]


class Stopped(Exception):
    """A script has said what it would measure."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["figure_4", "figure_6", "lists", "pools", "table_1", "table_2", "table_3", "trees"])
def test_a_repeated_run_measures_nothing_that_is_stored(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise rows on more splits than the pages name would take the place of theirs."""
    shutil.copytree(RESULTS, tmp_path / "results")
    script, asked = module(name, monkeypatch), {}

    def run(path: Path, names: Sequence[str], work: Iterable[tuple[tuple[str, ...], int, object]]) -> None:
        stored = {tuple(row[each] for each in names): int(row["seeds"]) for row in read(RESULTS / path.name)}
        asked.update({key: (seeds, stored.get(key)) for key, seeds, _ in work})
        raise Stopped

    monkeypatch.setattr(script, "run", run)
    with pytest.raises(Stopped):
        script.main(["--results", str(tmp_path / "results"), "--images", str(tmp_path / "images")])
    assert asked
    assert {key: found for key, found in asked.items() if found[1] is None or found[1] < found[0]} == {}


def test_the_page_counts_the_budgets_that_the_comparisons_count() -> None:
    text = (ROOT / "docs" / "papers" / "smooth-sensitivity-rule-lists.md").read_text()
    found: dict[tuple[str, str], dict[str, int]] = {}
    rivals: dict[str, list[dict[str, int]]] = {}
    for row in read(RESULTS / "evidence.csv"):
        counts = {name: int(row[name]) for name in ("better", "tied", "worse")}
        whole = found.setdefault((row["judge"], row["name"].split(",")[0].split(":")[0]), dict.fromkeys(counts, 0))
        for name, count in counts.items():
            whole[name] += count
        if row["judge"] == "consistently":
            rivals.setdefault(row["name"].split(":")[0], []).append(counts)
    compas, adult, german = (rivals[name] for name in ("COMPAS", "Adult", "German"))
    assert {sum(each.values()) for each in (*compas, *adult, *german)} == {13}
    least = [min(each["better"] for each in data) for data in (compas, adult)]
    assert "at {} or more of 13 budgets on COMPAS, and at {} or more on Adult".format(*least) in text
    assert [each["better"] for each in german] == [0] * 4
    assert sorted(each["worse"] for each in german) == [0, 0, 1, 1]
    assert "better than no form at any of 13 budgets, and worse than two at one each" in text
    kinds = [counts for (judge, _), counts in found.items() if judge == "inverse"]
    better, tied, worse = (sum(counts[name] for counts in kinds) for name in ("better", "tied", "worse"))
    assert f"against Cauchy noise {better} better, {tied} tied, {worse} worse" in text
    rows = [row for row in read(RESULTS / "evidence.csv") if row["judge"] == "any_length"]
    better_at = {data: {int(row["better"]) for row in rows if row["name"].startswith(data)} for data in NAMED}
    assert "sm-Laplace beats global forms at every K on COMPAS and Adult, at none on German" in text
    assert better_at == {"COMPAS": {12}, "Adult": {12}, "German": {0}}


NAMED = ("COMPAS", "Adult", "German")


def test_the_page_shows_the_vulnerability_of_every_stored_list(monkeypatch: pytest.MonkeyPatch) -> None:
    table_2: Any = module("table_2", monkeypatch)
    text = (ROOT / "docs" / "papers" / "smooth-sensitivity-rule-lists.md").read_text()
    shown = table_2.shown(read(RESULTS / "table_2.csv"))
    assert place(text, "vulnerability", shown) == text, "run table_2.py"
    assert shown.count("counted-gini, strict") == 4


def test_the_support_check_of_a_third_is_the_printed_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {(row["setting"], row["method"], row["epsilon"]): row for row in read(RESULTS / "variations.csv")}
    printed = {(row["setting"], row["method"], row["epsilon"]): row for row in read(RESULTS / "figure_4.csv")}
    for setting in ("german", "compas", "adult"):
        for epsilon in ("0.1", "1"):
            ours, theirs = (
                table[setting, name, epsilon]
                for table, name in ((rows, "support check, a third"), (printed, "sm-Laplace"))
            )
            error = float(ours["test_error"]) + float(theirs["test_error"])
            assert abs(float(ours["test"]) - float(theirs["test"])) < 3 * error
    variations: Any = module("variations", monkeypatch)
    settings: Any = importlib.import_module("settings")
    fitting: Any = importlib.import_module("fitting")
    cells = fitting.Cells.of(settings.SETTINGS["toy"]())
    train, test = cells.split(0)
    split = fitting.Split(train=train, test=test, tables={})
    found = variations.listed(cells, split, 1e6, 1 / 3, 0)
    assert (train[found == cells.labels].sum() / train.sum()) > 0.7
    exact = variations.forest(cells, split, None, 0)
    assert set(exact.tolist()) <= {0, 1}
    noisy = variations.forest(cells, split, 1e-9, 0)
    assert train[exact == cells.labels].sum() > train[noisy == cells.labels].sum()
