"""An early end names what stands; after finished work the status is that of the work; no end is a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Run, process
from tests.cli.test_output import KILLED, folder

__all__ = ["folder"]

FIT = (
    *(
        "fit",
        "tree",
        "people.csv",
        "--target",
        "ill",
        "--domain",
        "domain.json",
        "--epsilon",
        "0.5",
        "--max-depth",
        "1",
    ),
    *("--ledger", "budget.sqlite", "--dataset", "people", "-o", "m.json", "--report", "r.html"),
)


@pytest.mark.slow
def test_an_interrupt_during_the_report_names_the_model_the_certificate_and_the_charge(folder: Path) -> None:
    code = (
        "import os, signal, glassine.cli.fitting as fitting\n"
        "fitting.report_on = lambda *given: os.kill(os.getpid(), signal.SIGINT)"
    )
    done = process(code, *FIT, cwd=folder)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-3:] == [
        "glassine: interrupted.",
        "glassine: entry 1 of budget.sqlite stays charged: epsilon 0.5 is spent.",
        f"glassine: already written: {folder / 'm.json'}, {folder / 'm.certificate.json'}.",
    ]


@pytest.mark.slow
def test_a_signal_where_nothing_can_be_raised_ends_the_command_all_the_same(folder: Path) -> None:
    code = (
        "import os, signal, time, glassine.cli.fitting as fitting\n"
        "class Last:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(0)\n"
        "def report_on(*given):\n"
        "    Last()\n"
        "    time.sleep(5)\n"
        "fitting.report_on = report_on"
    )
    done = process(code, *FIT, cwd=folder)
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    assert f"glassine: already written: {folder / 'm.json'}, {folder / 'm.certificate.json'}." in done.stderr


def test_an_error_after_a_file_names_the_file(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_given: object, **_more: object) -> None:
        raise OSError(5, "Input/output error", "somewhere")

    monkeypatch.setattr("glassine.cli.domains.say", failing)
    done = run("domain", "infer", "people.csv", "-o", "d.json", cwd=folder)
    assert done.status == 2
    assert done.err.splitlines()[-2:] == [
        "glassine: cannot go on: somewhere: Input/output error.",
        f"glassine: already written: {folder / 'd.json'}.",
    ]


# The signal comes at each file event, and at each piece of output.
INTERRUPTED = (
    KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", "os.kill(os.getpid(), signal.SIGINT)")
    .replace(
        "            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n",
        "            os.dup2(os.open(errors / 'out', os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 1)\n"
        "            os.dup2(os.open(errors / 'err', os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 2)\n",
    )
    .replace("formats()\nfolder", "errors = Path(sys.argv[3])\nformats()\nfolder")
    .replace(
        '"lost": lost}',
        '"lost": lost, "out": (errors / "out").read_text(), "err": (errors / "err").read_text()}',
    )
    .replace(
        "        if status >= 0:\n            break", "        if not (status == 130 or last < 12):\n            break"
    )
)


@pytest.mark.slow
def test_an_interrupt_at_any_file_event_names_what_is_written_and_nothing_else(
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    commands = [
        ["scrub", "tree.json", "--domain", "domain.json", "--report", "new.html", "-o", "new.json"],
        ["export", "tree.json", "--to", "sklearn", "-o", "new.skops"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "nameless", json.dumps(commands), str(tmp_path_factory.mktemp("errors"))],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    runs: list[dict[str, Any]] = json.loads(done.stdout)
    assert {run["status"] for run in runs} == {0, 3, 130}
    ended = [run for run in runs if run["status"] == 130]
    assert len(ended) >= 6
    for run in runs:
        assert "Traceback" not in run["err"], run
        if run["status"] == 130:
            listed = run["err"].partition("already written: ")[2]
            assert {Path(name.strip(" .\n")).name for name in listed.split(",")} - {""} == set(run["changed"]), run
        else:
            assert "written before" not in run["err"], run


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    ["glassine.exports", "glassine.cli", "glassine.cli.process", "typer", "glassine.cli.entry", "glassine.files"],
)
def test_an_interrupt_before_the_commands_are_loaded_is_one_line(folder: Path, module: str) -> None:
    code = (
        # As a shell in the foreground starts it.
        "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Killer:\n"
        f"    def find_spec(self, name, *more):\n        if name == {module!r}:\n"
        "            sys.meta_path.remove(self)\n            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['bin/glassine', 'audit', 'none.json']\nsys.meta_path.insert(0, Killer())\n"
        "from glassine.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "glassine: interrupted.\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patch", "status"),
    [
        # While the result is printed, once it is printed, and when the process ends.
        ("typer.echo = lambda text, **more: (os.kill(os.getpid(), signal.SIGINT), echo(text, **more))", 0),
        ("typer.echo = lambda text, **more: (echo(text, **more), os.kill(os.getpid(), signal.SIGINT))", 0),
        ("atexit.register(lambda: os.kill(os.getpid(), signal.SIGTERM))", 0),
        ("typer.echo = lambda text, **more: (hit(), time.sleep(0.2), hit(), time.sleep(5))", 130),
    ],
)
def test_after_finished_work_the_status_is_that_of_the_work(folder: Path, patch: str, status: int) -> None:
    code = (
        "import atexit, os, signal, time, typer\necho = typer.echo\n"
        f"hit = lambda: os.kill(os.getpid(), signal.SIGINT)\n{patch}"
    )
    done = process(code, "ledger", "show", "budget.sqlite", cwd=folder)
    assert done.returncode == status, done
    assert ("0 of 1 spent" in done.stdout) == (status == 0)
