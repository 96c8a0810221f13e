"""A copy of the package, to which an example of the documentation is added."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.repo.code_blocks import ROOT, read_blocks

PACKAGE = ROOT / "src" / "glassine"


def copied_package(folder: Path) -> Path:
    """Copy the package into a folder, and return the copy."""
    # What is compiled is copied too, but for what another process is about to write.
    shutil.copytree(PACKAGE, folder / "glassine", ignore=shutil.ignore_patterns("*.pyc.*", "*.tmp.*"))
    return folder / "glassine"


def examples(*words: str) -> list[str]:
    """Return the blocks of the page for contributors that hold one of some words."""
    blocks = read_blocks((ROOT / "docs" / "contributing.md").read_text(), "contributing.md")
    return [block.text for block in blocks if any(word in block.text for word in words)]


def touched(copy: Path) -> list[str]:
    """Return the modules of a copy that are new or differ from those of the package."""
    files = sorted(path.relative_to(copy) for path in copy.rglob("*.py"))
    return [
        str(file)
        for file in files
        if not (PACKAGE / file).exists() or (PACKAGE / file).read_bytes() != (copy / file).read_bytes()
    ]
