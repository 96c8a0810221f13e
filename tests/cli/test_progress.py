"""Progress: shown on a terminal once some time has passed, and nowhere else."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from pathlib import Path

import numba
import pytest
from rich.console import Console

from glassine import compiling
from glassine.cli import progress as module
from glassine.cli.progress import announce_compilation, progress, stages
from glassine.compiling import listening


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(
    monkeypatch: pytest.MonkeyPatch,
    delay: float,
    *,
    quiet: bool = False,
    work: Sequence[tuple[int, int]] = ((1, 3), (3, 3), (1, 3)),
) -> str:
    """Return what a piece of work with three stages shows."""
    monkeypatch.setattr(module, "DELAY", delay)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, color_system=None)
    with progress(quiet=quiet, console=console) as display:
        pause = 0.0 if quiet or delay > 1 else 0.15
        display.stage("reading")
        time.sleep(2 * pause)
        display.stage("compiling, once", "counting", "summing")
        for done, total in work:
            display(done, total)
            time.sleep(pause)
    return stream.getvalue()


@pytest.mark.parametrize("work", [((1, 3), (3, 3), (1, 3)), ((1, 3), (3, 3), (40, 90))])
def test_stages_follow_the_work(monkeypatch: pytest.MonkeyPatch, work: Sequence[tuple[int, int]]) -> None:
    text = shown(monkeypatch, 0.0, work=work)
    at = [text.find(word) for word in ("reading", "counting", "summing")]
    assert -1 not in at
    assert at == sorted(at)


def test_what_is_done_at_once_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "reading" not in shown(monkeypatch, 60.0)


def test_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 0.0, quiet=True) == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_shows_progress(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(module, "DELAY", 0.0)
    with stages() as show:
        show("counting regions")
        time.sleep(0.3)
    assert ("counting regions" in stream.getvalue()) == terminal


def successor(number: int) -> int:
    return number + 1


def test_a_compilation_is_said_once_and_what_is_read_from_disk_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(listening, "HEARERS", [])
    said = []
    for argument in (1, 1.5, 1):
        announce_compilation()
        kernel = compiling.compiled(successor)
        assert [kernel(argument), kernel(argument)] == [argument + 1] * 2
        said.append(capsys.readouterr().err)
        listening.HEARERS.clear()
    compiled, other_type, kept = said
    assert compiled.startswith("glassine: compiling for this machine")
    assert str(tmp_path) in compiled
    assert compiled.count("\n") == other_type.count("\n") == 1
    assert kept == ""
