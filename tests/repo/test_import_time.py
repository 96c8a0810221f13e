"""`import glassine` loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ["matplotlib", "torch", "fastapi", "sklearn", "polars", "pandas", "jinja2", "typer"]


def loaded_after(statement: str, folder: Path) -> list[str]:
    """Heavy packages that a fresh interpreter has loaded after the statement."""
    code = f"{statement}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_import_loads_nothing_heavy(tmp_path: Path) -> None:
    assert loaded_after("import glassine", tmp_path) == []


def test_a_planted_import_is_found(tmp_path: Path) -> None:
    assert loaded_after("import jinja2", tmp_path) == ["jinja2"]
