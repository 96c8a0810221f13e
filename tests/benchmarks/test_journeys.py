"""Three people walk the README on public data, and no command that the tool proposes is refused."""

from __future__ import annotations

import shlex
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import run as run
from tests.cli.running import Run


@pytest.fixture
def journeys(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load the script, which reads the datasets."""
    monkeypatch.setattr(import_module("benchmarks.public_data"), "DATA", data_dir)
    return import_module("benchmarks.journeys")


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["analyst", "checker", "engineer"])
def test_no_command_that_is_proposed_is_refused(name: str, journeys: Any, tmp_path: Path, run: Run) -> None:
    log = list[str]()

    def run_in(command: str, folder: Path) -> tuple[int, str]:
        words = shlex.split(command)
        if words[0] != "glassine":
            subprocess.run(["bash", "-c", command], cwd=folder, check=True)
            return 0, ""
        done = run(*words[1:], cwd=folder)
        return done.status, done.out + done.err

    person, walk = journeys.people(tmp_path, log.append, run_in)[name]
    person.folder.mkdir()
    walk(person)
    (tmp_path / "journeys.log").write_text("".join(log))
    assert not person.faults, "\n".join([*person.faults, f"The log is {tmp_path / 'journeys.log'}."])
    assert sum(step.proposed for step in person.steps) >= 10


def test_a_refused_proposal_and_a_copy_that_fails_are_faults(journeys: Any, tmp_path: Path) -> None:
    said = {
        "glassine audit a.json": "What to do\n  1. Merge leaves: `glassine scrub a.json -o b.json`.\n",
        "glassine scrub a.json -o b.json": "What to do\n  1. Pass them:\n     `--data FILE`, `--target COLUMN`.\n",
    }

    def run_in(command: str, folder: Path) -> tuple[int, str]:
        if "scrub" in command:
            (folder / "b.json").write_text("{}")
        return (2, "refused") if "--data" in command else (1, said.get(command, ""))

    person = journeys.Person("x", tmp_path, {}, {"--data": "r.csv", "--target": "y"}, lambda text: None, run_in)
    person.walk("glassine audit a.json")
    assert [step.command for step in person.steps if step.proposed] == [
        "glassine scrub a.json -o b.json",
        "glassine scrub a.json -o b.json --data r.csv --target y",
    ]
    assert any("refused" in one for one in person.faults)
    assert any("the copy" in one for one in person.faults)
