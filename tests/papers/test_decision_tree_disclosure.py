"""The reproduction of the disclosure paper: its scripts run, and its results hold together."""

from __future__ import annotations

import csv
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "papers" / "decision-tree-disclosure"
RESULTS = FOLDER / "results"
MODULES = (
    "settings", "study", "figures", "claims", "constraint_counts", "example_1", "readers", "posteriors",
    "identified", "disclosure",
)  # fmt: skip

Rows = list[dict[str, str]]


def read(name: str, folder: Path = RESULTS) -> Rows:
    with (folder / f"{name}.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def one(rows: Rows, **values: str) -> dict[str, str]:
    found = [row for row in rows if all(row[name] == value for name, value in values.items())]
    assert len(found) == 1, values
    return found[0]


def reader(tree: str, leaves: str, internal: str, rows: Rows | None = None) -> dict[str, str]:
    return one(rows or read("readers"), **{"tree": tree, "leaves": leaves, "internal nodes": internal})


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import a module of the folder anew: other papers have modules of the same names."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.syspath_prepend(str(FOLDER))
    for known in MODULES:
        monkeypatch.delitem(sys.modules, known, raising=False)
    return importlib.import_module(name)


def run(script: str, folder: Path, *arguments: str) -> None:
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


def same(one: dict[str, str], other: dict[str, str], *, apart: tuple[str, ...] = ()) -> None:
    """Assert that two rows agree to six digits, but for what depends on the machine."""
    for name in one:
        if name in apart:
            continue
        try:
            assert float(one[name]) == pytest.approx(float(other[name]), rel=1e-5, abs=1e-8), name
        except ValueError:
            assert one[name] == other[name], name


@pytest.mark.slow
def test_example_1_needs_no_data_and_agrees_with_the_results(tmp_path: Path) -> None:
    run("example_1", tmp_path)
    rows = read("figure_5", tmp_path)
    for row, kept in zip(rows, read("figure_5"), strict=True):
        same(row, kept)
    found = {row["case"]: row for row in rows}
    assert float(found["leaves alone"]["D_overall"]) == pytest.approx(0.231, abs=5e-4)
    assert float(found["leaves alone"]["D_individual q2"]) == pytest.approx(0.693, abs=5e-4)
    for criterion, end in (("Gini", 0.7247), ("information gain", 0.8155)):
        assert float(found[f"leaves and internal nodes, {criterion}"]["q2 <=50K"]) == pytest.approx(0.5)
        whole = found[f"whole people, {criterion}"]
        assert (whole["q2 <=50K"], whole["q3 <=50K"], whole["D_overall"]) == ("1", "0", "0")
        assert float(found[f"end of the constraint, {criterion}"]["q3 <=50K"]) == pytest.approx(end, abs=5e-5)


def test_the_printed_figures_of_figure_7_add_up() -> None:
    rows = {(row["quantity"], row["case"]): float(row["value"]) for row in read("published", FOLDER)}
    printed = (1.492, 1.371, 1.305, 1.304, 1.262, 1.247, 1.197, 1.195, 1.191, 1.144)
    for rank, change in enumerate(printed, start=1):
        # Rank 6 is off by one in the last digit, as printed.
        found = rows["figure 7 without", str(rank)] - rows["figure 7 with", str(rank)]
        assert found == pytest.approx(change, abs=0.0015)


def test_readers_of_leaves_lose_as_much_entropy_as_they_gain_truth() -> None:
    alone = [row for row in read("readers") if row["internal nodes"] == "no"]
    truths = {round(float(row["entropy"]) - float(row["d_overall"]), 4) for row in alone}
    assert len(alone) >= 19
    assert max(truths) - min(truths) < 2e-4


def test_constraints_are_counted_as_the_paper_counts_them() -> None:
    for row in read("readers"):
        assert int(row["label"]) == 15 * int(row["number of leaves"])
        assert row["leaves"] == "labels_only" or row["rate"] == row["number of leaves"]
    counts = read("constraint_counts")
    by_size = one(counts, criterion="gini", rule="records of the node", depth="")
    assert int(by_size["binding"]) <= int(by_size["dividing"]) <= int(by_size["unused"])
    assert int(by_size["unused with the chosen one"]) == int(by_size["unused"]) + int(by_size["internal nodes"])
    nearest = min(counts, key=lambda row: abs(int(row["unused with the chosen one"]) - 1_097))
    assert (nearest["criterion"], nearest["unused with the chosen one"]) == ("gini", "1096")


def test_every_optimum_has_its_certificate() -> None:
    for row in read("readers"):
        assert row["status"] == "local" or float(row["gap"]) < 1e-6, row
        assert row["status"] == "optimal" or row["leaves"] == "error_rates"


def test_every_tree_was_read_in_every_way_and_the_page_says_how_long_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    readers: Any = module("readers", monkeypatch)
    rows, former = read("readers"), read("earlier_optima", FOLDER)
    leaves, internal = readers.SEARCH
    keys = [tuple(row[name] for name in readers.NAMES) for row in rows]
    assert sorted(keys) == sorted(tuple(key.values()) for key in readers.cells())
    convex = {row["tree"]: row for row in former if row["search"] == "convex-concave"}
    now = {tree: reader(tree, leaves, internal, rows) for tree in convex}
    seconds = [round(sum(float(row["seconds"]) for row in each.values())) for each in (now, convex)]
    text = (ROOT / "docs" / "papers" / "decision-tree-disclosure.md").read_text()
    assert f"took {seconds[0]} CPU seconds instead of {seconds[1]:,}" in text
    for row in former:
        # No search that is known ended higher, but for the last digits.
        assert float(row["entropy"]) < float(reader(row["tree"], leaves, internal, rows)["entropy"]) + 1e-4
    binary = reader("gini-binary", leaves, internal, rows)
    assert f"Of {int(binary['internal']):,} internal constraints {binary['active']} shape its optimum" in text


def test_chains_ran_on_every_tree_and_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, posteriors = read("posterior"), module("posteriors", monkeypatch)
    assert [(row["tree"], int(row["draws"])) for row in rows] == list(posteriors.RUNS)
    differ = {row["tree"]: row["people who differ"] for row in rows}
    text = (ROOT / "docs" / "papers" / "decision-tree-disclosure.md").read_text()
    assert f"all but {differ['gini']} people with the Gini tree, and for all but {differ['entropy']} of 30,162" in text
    assert f"differ for {differ['income']} of {int(one(rows, tree='income')['people']):,} people" in text
    for row in rows:
        assert float(row["R-hat"]) < 1.05, row["tree"]
        assert float(row["smallest effective size"]) > 100
        assert float(row["entropy posterior"]) <= float(row["entropy relaxation"]) + 1e-4


def test_the_page_says_what_every_table_says() -> None:
    (row,) = read("identified")
    text = (ROOT / "docs" / "papers" / "decision-tree-disclosure.md").read_text()
    sure, half, estimated = (row[f"at least {name}"] for name in ("0.99", "0.5", "0.99 by maximum entropy"))
    assert f"at least 0.99 for {sure} people in every table, and of at least 0.5 for {int(half):,}" in text
    assert f"gives 0.99 to the same number, {estimated}." in text
    assert int(sure) <= int(estimated)
    assert f"Of {int(row['bounds']):,} bounds {int(row['exact']):,} are attained" in text
    assert int(row["bounds"]) == 2 * 16 * int(row["quasi-identifiers"])


@pytest.mark.data
@pytest.mark.slow
def test_the_quick_form_agrees_with_the_results(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSINE_DATA", str(data_dir))
    run("run_all", tmp_path, "--quick")
    machine = ("seconds", "peak MB", "peak MB before")
    rows = read("readers", tmp_path)
    assert len(rows) == 4
    for row in rows:
        same(row, reader(row["tree"], row["leaves"], row["internal nodes"]), apart=(*machine, "gap"))
    for row in read("constraint_counts", tmp_path):
        same(row, one(read("constraint_counts"), criterion=row["criterion"], rule=row["rule"], depth=row["depth"]))
    chain = read("posterior", tmp_path)[0]
    assert float(chain["R-hat"]) < 1.2
    assert float(chain["d_overall posterior"]) == pytest.approx(
        float(one(read("posterior"), tree="gini")["d_overall posterior"]), abs=0.005
    )


@pytest.mark.data
def test_the_counted_constraints_are_those_of_the_attack(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSINE_DATA", str(data_dir))
    counting: Any = module("constraint_counts", monkeypatch)
    settings: Any = importlib.import_module("settings")
    found = counting.count(settings.TREES["gini"].make(), settings.codes())
    row = reader("gini", "leaf_counts", "yes")
    assert (found["leaves"], found["dividing"]) == (int(row["number of leaves"]), int(row["internal"]))
    assert settings.distinct() == 4_480
