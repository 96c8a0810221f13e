"""An import stands inside a function where some start is shorter for it, or for a reason that is named here."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

starts: Any = importlib.import_module("benchmarks.starts")

REASONS = {
    "glassine.cli.main": "an early Ctrl-C finds its handler before the commands are imported",
    "glassine.data.results_folder": "fcntl is missing on Windows",
    "glassine.exports": "the command line acts on Ctrl-C before the stub is read",
}


def test_an_import_that_spares_no_flow_anything_is_found(tmp_path: Path) -> None:
    files = {
        "__init__.py": "",
        "user.py": "def f():\n    import csv\n    from pkg.deep import name\n",
        "deep.py": "name = 1\n",
        "unused.py": "def f():\n    import csv\n",
    }
    (tmp_path / "pkg").mkdir()
    for path, text in files.items():
        (tmp_path / "pkg" / path).write_text(text)
    flows = {"a": {"pkg.user", "pkg.deep", "csv"}, "b": {"pkg.user", "pkg.deep"}, "c": {"csv"}}
    assert starts.idle(tmp_path / "pkg", flows) == ["pkg.user:3"]
    assert starts.idle(tmp_path / "pkg", {"a": flows["a"]}) == ["pkg.user:2", "pkg.user:3"]


@pytest.mark.slow
def test_imports_inside_functions_spare_a_command_or_call_some_time(tmp_path: Path) -> None:
    starts.write_files(tmp_path)
    flows = {flow: modules for flow, _, modules in starts.loaded(tmp_path)}
    assert len(flows) > 40
    found = starts.idle(starts.ROOT / "src" / "glassine", flows)
    assert {place.partition(":")[0] for place in found} == set(REASONS), found
