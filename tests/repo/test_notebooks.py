"""Every notebook of the documentation runs from top to bottom, and is kept without outputs.

A cell's metadata may name the text that it must show: ``"expected"``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.repo.code_blocks import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def run_cells(notebook: dict[str, Any]) -> None:
    """Run the code cells as the pages of the documentation do."""
    page: Any = importlib.import_module("docs.notebook_pages")
    for cell, value in page.executed(notebook["cells"]):
        if value is not None:
            check(cell, repr(value))


def check(cell: dict[str, Any], shown: str) -> None:
    expected = cell.get("metadata", {}).get("expected", shown)
    assert shown == expected


def kernel_is_here() -> bool:
    return all(importlib.util.find_spec(name) for name in ("nbclient", "nbformat", "ipykernel"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text())
    assert notebook["nbformat"] == 4
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if kernel_is_here():
        read = importlib.import_module("nbformat").read(path, as_version=4)
        done = importlib.import_module("nbclient").NotebookClient(read, timeout=600).execute()
        for cell in done["cells"]:
            for output in cell.get("outputs", []):
                check(cell, output.get("data", {}).get("text/plain", ""))
    else:
        run_cells(json.loads(path.read_text()))


@pytest.mark.parametrize("source", ["1 / 0", "x = 1\nmissing", "assert False", "1 + 2"])
def test_a_failing_cell_is_found(source: str) -> None:
    with pytest.raises((ArithmeticError, NameError, AssertionError)):
        run_cells({"cells": [{"cell_type": "code", "metadata": {"expected": "4"}, "source": [source]}]})
