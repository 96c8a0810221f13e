"""Figures that scripts keep beside themselves: the pages print what is stored, in their tables and sentences."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from papers.common.results import Row, read
from tests.conftest import ROOT

SCRIPTS = sorted(
    path.stem
    for path in (ROOT / "benchmarks").glob("*.py")
    if path.stem != "kept_rows" and "from benchmarks.kept_rows import kept" in path.read_text()
)
PAGE = ROOT / "docs" / "explanation" / "benchmarks.md"

stored: Any = importlib.import_module("benchmarks.kept_rows")


def keys(name: str) -> Sequence[Mapping[str, str]]:
    """Return what names each row that a script asks for."""
    script = module(name)
    if name == "joint":
        return [script.key_of(setting) for setting in script.SETTINGS]
    return list(script.KEYS if hasattr(script, "KEYS") else script.keys())


def changed(text: str) -> str:
    """Return figures of a row, each larger by half of it or more."""
    try:
        return " ".join(str(2 * int(part) + 1 if part.isdigit() else 1.5 * float(part)) for part in text.split())
    except ValueError:
        return text


def module(name: str) -> Any:
    """Return a script."""
    return importlib.import_module(f"benchmarks.{name}")


def rows(name: str) -> list[Row]:
    """Return what a script keeps."""
    return read(ROOT / "benchmarks" / f"{name}.csv")


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_pages_print_the_stored_rows(name: str) -> None:
    pages = stored.filled(module(name).tables(rows(name)))
    assert pages
    for page, text in pages.items():
        assert page.read_text() == text, f"run benchmarks/{name}.py --page"
    figures = rows(name)[0].keys() - keys(name)[0].keys()
    others = [{key: changed(value) if key in figures else value for key, value in row.items()} for row in rows(name)]
    shown, otherwise = module(name).tables(rows(name)), module(name).tables(others)
    assert {table for table in shown if shown[table] == otherwise[table]} <= FROM_ELSEWHERE


FROM_ELSEWHERE = {"explanations", "guided loss", "people behind trees"}
"""Tables of rows that a paper's scripts store."""


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_row_that_a_script_asks_for_is_stored_once(name: str) -> None:
    asked = keys(name)
    assert [tuple(row[part] for part in asked[0]) for row in rows(name)] == [tuple(key.values()) for key in asked]


def test_accuracies_are_of_all_splits() -> None:
    for name in ("greedy", "learners"):
        counts = {len(row["accuracies"].split()) for row in rows(name)}
        assert counts == {module(name).SPLITS}
        assert all(0.2 < float(value) < 1 for row in rows(name) for value in row["accuracies"].split())


def test_the_sentences_on_the_page_are_those_of_the_rows() -> None:
    text, learners, persons = PAGE.read_text(), module("learners"), module("persons")
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
    script, page, asked = tmp_path / "made.py", tmp_path / "docs" / "page.md", []
    page.parent.mkdir()
    page.write_text("<!--table: made-->\n<!--end-->\n")

    def measure(key: Mapping[str, str]) -> dict[str, object]:
        asked.append(key["k"])
        return {"figure": 0.25}

    def run(*arguments: str) -> int:
        given: Any = (str(script), "", [{"k": "1"}, {"k": "2"}], measure, lambda found: {"made": str(len(found))})
        return int(stored.kept(*given, arguments, others={"speed": lambda: asked.append("speed")}, docs=page.parent))

    assert [run(), run("--page"), run(), run("speed")] == [0] * 4
    assert asked == ["1", "2", "speed"]
    assert page.read_text() == "<!--table: made-->\n2\n<!--end-->\n"
    assert read(script.with_suffix(".csv")) == [{"k": "1", "figure": "0.25"}, {"k": "2", "figure": "0.25"}]
    page.write_text("")
    with pytest.raises(LookupError, match="0 pages have a place for the table 'made'"):
        run("--page")
