"""Standard streams that are missing or full change no status and no file, and what was done is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassine import Ledger
from tests.cli.running import process
from tests.cli.test_output import FULL, folder, shell

__all__ = ["folder"]

FORKED = """
import json, os, shutil, sys, traceback
from pathlib import Path
import polars, sklearn.tree
import glassine.auditing.api, glassine.auditing.criteria, glassine.cli.entry, glassine.report.page
import glassine.report.rendering, glassine.scrubbing.scrub
from glassine import cli
from glassine.formats import formats

formats()
glassine.cli.entry.announce_compilation = lambda: None
source, scratch, commands, streams = Path.cwd(), Path(sys.argv[1]), *map(json.loads, sys.argv[2:])

def run(command, stream):
    # As Python finds them when it starts: a closed descriptor has no stream.
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(os.open(scratch / f"{name}.txt", os.O_RDWR | os.O_CREAT), number)
        if stream == f"no {name}":
            os.close(number)
            setattr(sys, name, None)
        elif stream == f"full {name}":
            os.dup2(os.open("/dev/full", os.O_WRONLY), number)
    os.closerange(3, 20)
    sys.argv = ["glassine", *command]
    try:
        cli.main()
    except SystemExit as ended:
        os._exit(int(ended.code or 0))
    except BaseException:
        os._exit(99)

found = []
for command in commands:
    for stream in streams:
        here = scratch / f"{command[0]}-{stream}"
        shutil.copytree(source, here)
        os.chdir(here)
        before = {path.name for path in here.iterdir()}
        if not (child := os.fork()):
            run(command, stream)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = {name: (scratch / f"{name}.txt").read_text(errors="replace") for name in ("stdout", "stderr")}
        for name in ("stdin", "stdout", "stderr"):
            (scratch / f"{name}.txt").unlink()
        new = {path.name: path.stat().st_size for path in here.iterdir() if path.name not in before}
        found.append({"command": command[0], "stream": stream, "status": status, "new": new, **said})
        shutil.rmtree(here)
sys.stderr.write(json.dumps(found))
"""

COMMANDS = [
    ["audit", "tree.json", "--domain", "domain.json", "-o", "report.json"],
    ["scrub", "tree.json", "--domain", "domain.json", "-o", "copy.json"],
    ["domain", "check", "domain.json", "--data", "people.csv"],
    ["fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", "--not-private", "-o", "m.json"],
    [
        *("compare", "people.csv", "--target", "ill", "--domain", "domain.json", "--models", "optimal-tree"),
        *("--max-depth", "1", "--splits", "2", "-o", "comparison.json"),
    ],
    ["ledger", "charge", "budget.sqlite", "people", "0.1", "--note", "a table"],
    ["export", "tree.json", "--to", "sql"],
]
STREAMS = ["whole", "no stdin", "no stdout", "no stderr", "full stdout", "full stderr"]


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists() or not hasattr(sys.modules["os"], "fork"), reason="needs /dev/full and forks")
def test_a_missing_or_full_stream_changes_no_status_and_no_file(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(scratch), json.dumps(COMMANDS), json.dumps(STREAMS)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    runs: list[dict[str, Any]] = json.loads(done.stderr)
    assert len(runs) == len(COMMANDS) * len(STREAMS)
    for words, group in _groups(runs):
        whole = group["whole"]
        assert whole["status"] in (0, 1, 3), whole
        assert whole["stdout"], words
        for stream in STREAMS[1:]:
            run = group[stream]
            if stream == "full stdout":
                assert run["status"] == 2, run
                assert run["stderr"].startswith("glassine: cannot write standard output: No space left on device."), run
                for name in run["new"]:
                    assert name in run["stderr"], run
            else:
                assert run["status"] == whole["status"], run
            assert set(run["new"]) == set(whole["new"]), run
            if stream in ("no stdin", "no stderr", "full stderr"):
                assert len(run["stdout"]) == len(whole["stdout"]), run
    (charged,) = (run for run in runs if (run["command"], run["stream"]) == ("ledger", "full stdout"))
    assert "entry 1 of budget.sqlite stays charged: epsilon 0.1 is spent." in charged["stderr"]


def _groups(runs: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    for words in COMMANDS:
        yield words[0], {run["stream"]: run for run in runs if run["command"] == words[0]}


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_stream_that_the_shell_closes_changes_no_status(folder: Path, closed: str) -> None:
    done = shell(f"glassine ledger charge budget.sqlite people 0.1 --note table {closed}", folder)
    assert done.returncode == 0
    assert Ledger(folder / "budget.sqlite").spent("people") == 0.1
    assert shell(f"glassine audit none.json {closed}", folder).returncode == 2


@pytest.mark.slow
def test_no_output_file_becomes_a_standard_stream(folder: Path) -> None:
    code = (
        "import os, sys\nos.close(2)\nsys.stderr = None\n"
        "import glassine.cli\nfrom glassine.cli.process import begin\nbegin()\n"
        "handle = os.open('first.txt', os.O_CREAT | os.O_WRONLY)\nassert handle > 2, handle\n"
    )
    done = process(code, "audit", "none.json", cwd=folder)
    assert (done.returncode, (folder / "first.txt").read_bytes()) == (2, b"")


@pytest.mark.slow
def test_a_terminal_gets_the_verdict_in_brief_and_a_pipe_gets_all(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text(
        "classes: [x] [y]\nif [a] then [x] ([30 ; 4] examples)\nelse [y] ([3 ; 90] examples)\n"
    )
    command = [sys.executable, "-m", "glassine", "audit", "rules.txt"]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    leader, follower = os.openpty()
    shown = subprocess.run(command, cwd=tmp_path, stdout=follower, stderr=subprocess.DEVNULL)
    os.close(follower)
    told = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert shown.returncode == piped.returncode
    lines = [line for line in told.splitlines() if line.strip()]
    assert len(lines) <= 12 < len(piped.stdout.splitlines())
    assert "The policy" in told
    assert lines[-1] == "The whole report: the same command with `| less`, or with `-o report.html`."
