"""Figures that scripts keep beside themselves: the page of benchmarks prints what is stored, and its sentences, too."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from papers.common.results import Row, read
from tests.conftest import ROOT

SCRIPTS = ("greedy", "joint", "learners", "people", "persons")

stored: Any = importlib.import_module("benchmarks.kept_rows")


def module(name: str) -> Any:
    """Return a script."""
    return importlib.import_module(f"benchmarks.{name}")


def rows(name: str) -> list[Row]:
    """Return what a script keeps."""
    return read(ROOT / "benchmarks" / f"{name}.csv")


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_page_prints_the_stored_rows(name: str) -> None:
    text, tables = stored.PAGE.read_text(), module(name).tables
    assert stored.filled(text, tables(rows(name))) == text, f"run benchmarks/{name}.py --page"
    figures = ("accuracies", "by person", "lower", "shared rows")
    changed = [{key: "0.5" if key in figures else value for key, value in row.items()} for row in rows(name)]
    assert stored.filled(text, tables(changed)) != text


def test_every_row_that_a_script_asks_for_is_stored_once() -> None:
    joint, learners = module("joint"), module("learners")
    asked: dict[str, list[Mapping[str, str]]] = {
        "greedy": module("greedy").KEYS,
        "joint": [joint.key_of(setting) for setting in joint.SETTINGS],
        "learners": learners.keys(),
        "people": module("people").KEYS,
        "persons": module("persons").KEYS,
    }
    for name, keys in asked.items():
        assert [tuple(row[part] for part in keys[0]) for row in rows(name)] == [tuple(key.values()) for key in keys]


def test_accuracies_are_of_all_splits() -> None:
    for name in ("greedy", "learners"):
        counts = {len(row["accuracies"].split()) for row in rows(name)}
        assert counts == {module(name).SPLITS}
        assert all(0.2 < float(value) < 1 for row in rows(name) for value in row["accuracies"].split())


def test_the_sentences_on_the_page_are_those_of_the_rows() -> None:
    text, learners, persons = stored.PAGE.read_text(), module("learners"), module("persons")
    found = persons.compared(rows("persons"))
    counts = f"{found['better']} of {sum(found.values())} comparisons, tied in {found['tied']}, worse in "
    assert f"{counts}{found['worse'] or 'none'}." in text
    assert f"has {learners.mean(rows('learners'), learners.WIDE, learners.CART):.3f} on Adult's literals" in text


@pytest.mark.parametrize(("gap", "word"), [(0.01, "better"), (-0.01, "worse"), (0.0, "tied")])
def test_equal_weights_are_judged_by_an_interval_over_the_draws(gap: float, word: str) -> None:
    persons = module("persons")
    made = [
        {**key, "by record": "0.8", "by person": str(0.8 + gap + 0.002 * (int(key["seed"]) % 3 - 1))}
        for key in persons.KEYS
    ]
    assert persons.compared(made)[word] == len(persons.KEYS) // persons.SEEDS * 4 // 5


def test_rows_are_measured_once_and_the_page_is_written(tmp_path: Path) -> None:
    script, page, asked = tmp_path / "made.py", tmp_path / "page.md", []
    page.write_text("<!--table: made-->\n<!--end-->\n")

    def measure(key: Mapping[str, str]) -> dict[str, object]:
        asked.append(key["k"])
        return {"figure": 0.25}

    def run(*arguments: str) -> int:
        given: Any = (str(script), "", [{"k": "1"}, {"k": "2"}], measure, lambda found: {"made": str(len(found))})
        return int(stored.kept(*given, arguments, others={"speed": lambda: asked.append("speed")}, page=page))

    assert [run(), run("--page"), run(), run("speed")] == [0] * 4
    assert asked == ["1", "2", "speed"]
    assert page.read_text() == "<!--table: made-->\n2\n<!--end-->\n"
    assert read(script.with_suffix(".csv")) == [{"k": "1", "figure": "0.25"}, {"k": "2", "figure": "0.25"}]
