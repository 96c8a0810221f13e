"""The README shows commands that exist, and a quick start of exactly two."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.repo.code_blocks import ROOT, glassine_command, make_targets, read_blocks

README = (ROOT / "README.md").read_text()
COMMANDS = [
    command
    for block in read_blocks(README, "README.md")
    if block.language == "console" and "not run" not in block.notes
    for command in block.commands()
]


def test_quick_start_is_two_commands() -> None:
    section = re.search(r"^## Quick start\n(.*?)(?=^## |\Z)", README, flags=re.MULTILINE | re.DOTALL)
    assert section, "README.md must have a section '## Quick start'."
    commands = [command for block in read_blocks(section[1], "README.md") for command in block.commands()]
    assert commands == ["make demo", "make test"]


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_command_exists(command: str) -> None:
    program, *words = command.split()
    assert program in {"make", "glassine"}, (
        f"README.md shows {command!r}: show make targets and glassine commands only."
    )
    assert words, f"README.md shows {command!r} without a target or subcommand."
    if program == "make":
        assert words[0] in make_targets()
    else:
        help_text = subprocess.run(
            [glassine_command(), words[0], "--help"], capture_output=True, text=True, check=False
        )
        assert help_text.returncode == 0, help_text.stderr


def test_pictures_and_links_into_the_repository_exist() -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|(?:src|srcset|href)=\"([^\"#]+)", README)
    local = [one or other for one, other in targets if "://" not in (one or other)]
    missing = [target for target in local if not (ROOT / target).exists()]
    assert not missing
