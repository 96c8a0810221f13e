"""Standard streams that are missing or full change no status and no file, and what was done is said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassine import Domain, Ledger
from glassine.cli import entry
from tests.cli.running import attributes, process
from tests.cli.test_exchange import STATEMENTS
from tests.cli.test_output import FULL, folder, shell
from tests.server.test_running import folder as release_folder

__all__ = ["folder", "release_folder"]

FORKED = """
import importlib, json, os, pkgutil, shutil, sys
from pathlib import Path
import glassine
from glassine import cli
from glassine.formats import formats

# Once for all commands: each would import the same in a process of its own.
for module in pkgutil.walk_packages(glassine.__path__, "glassine."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
formats()
glassine.cli.entry.announce_compilation = lambda: None
source, scratch, commands = Path.cwd(), Path(sys.argv[1]), json.loads(sys.argv[2])

def run(words, stream):
    # As Python finds them when it starts: a closed descriptor has no stream.
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(os.open(scratch / f"{name}.txt", os.O_RDWR | os.O_CREAT), number)
        if stream in (f"no {name}", "none"):
            os.close(number)
            setattr(sys, name, None)
        elif stream == f"full {name}":
            os.dup2(os.open("/dev/full", os.O_WRONLY), number)
    os.closerange(3, 20)
    sys.argv = ["glassine", *words]
    try:
        cli.main()
    except SystemExit as ended:
        os._exit(int(ended.code or 0))
    except BaseException:
        os._exit(99)

found = []
for name, words, streams in commands:
    for stream in streams:
        here = scratch / f"{name}-{stream}"
        shutil.copytree(source, here)
        os.chdir(here)
        before = {path.name for path in here.iterdir()}
        if not (child := os.fork()):
            run(words, stream)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = {name: (scratch / f"{name}.txt").read_text(errors="replace") for name in ("stdout", "stderr")}
        for each in ("stdin", "stdout", "stderr"):
            (scratch / f"{each}.txt").unlink()
        new = [path for path in here.iterdir() if path.name not in before]
        found.append({"command": name, "stream": stream, "status": status, "new": [one.name for one in new], **said})
        if stream == streams[-1]:
            for path in new:  # what later commands read
                if path.is_file():
                    shutil.copy(path, source)
        shutil.rmtree(here)
sys.stderr.write(json.dumps(found))
"""

DATA = ["people.csv", "--target", "ill", "--domain", "domain.json"]
PRIVATE = [*DATA, "--epsilon", "1"]
EXAMPLES = {
    "audit": ["tree.json", "--domain", "domain.json", "-o", "report.json"],
    "scrub": ["tree.json", "--domain", "domain.json", "-o", "copy.json"],
    "fit tree": [*PRIVATE, "--max-depth", "1", "-o", "private.json", "--report", "private.html"],
    "fit rule-list": [*PRIVATE, "--max-rules", "1", "-o", "list.json"],
    "fit greedy-rule-list": [*PRIVATE, "-o", "greedy.json"],
    "fit additive": [*PRIVATE, "-o", "additive.json"],
    "fit scorecard": [*PRIVATE, "-o", "card.json"],
    "edit": ["additive.json", "--zero", "smoker", "-o", "edited.json"],
    "merge": ["additive.json", "additive.json", "--disjoint-persons", "-o", "merged.json"],
    "summarize": [*PRIVATE, "-o", "summary.json"],
    "sample": ["summary.json", "--n-rows", "20", "-o", "drawn.csv"],
    "compare": [*DATA, "--models", "optimal-tree", "--max-depth", "1", "--splits", "2", "-o", "comparison.json"],
    "rebuild": ["tree.json", "--domain", "domain.json", "-o", "rebuilt.csv"],
    "export": ["tree.json", "--to", "sql", "-o", "tree.sql"],
    "domain infer": ["people.csv", "-o", "draft.json"],
    "domain new": ["--model", "tree.json", "-o", "form.toml"],
    "domain check": ["domain.json", "--data", "people.csv"],
    "ledger show": ["budget.sqlite"],
    "ledger budget": ["budget.sqlite", "people", "2"],
    "ledger charge": ["budget.sqlite", "people", "0.1", "--note", "a table"],
    "ledger verify": ["budget.sqlite"],
    "evidence": ["private.certificate.json", "--for", "edpb", "-o", "evidence.json"],
    "certificate verify": ["private.json", "private.certificate.json"],
    "certificate keys": ["private.pem", "public.pem"],
    "certificate sign": ["private.certificate.json", "--key", "private.pem", "-o", "signed.json"],
    "certificate tie": ["private.json", "people.csv", "--tie-key", "tie.txt", "-o", "tie.json"],
    "certificate registry": ["private.certificate.json", "--statements", "said.toml", "-o", "registry.json"],
    "explain make": [
        "rows.csv",
        "--domain",
        "rows.json",
        "--black-box",
        "box:decide",
        "-k",
        "30",
        "-o",
        "release.json",
    ],
    "explain answer": ["release.json", "--query", '{"age": 40, "smoker": 1}', "--decision", "yes"],
    "explain keys": ["secret.pem", "open.pem"],
    "explain sign": ["release.json", "--key", "secret.pem", "-o", "release.signed.json"],
    "explain verify": ["release.signed.json", "--public-key", "open.pem"],
    "demo": [],
}
"""A run of each command, in an order in which later ones read what earlier ones wrote."""

SERVING = {"explain serve", "desk"}
"""Commands that end by a signal alone."""

LONG = {
    "compare",
    "demo",
    "explain make",
    "sample",
    "summarize",
    *(name for name in EXAMPLES if name.startswith("fit")),
}
"""Commands that take a second: their output is compared with all streams missing, and with a full one."""

STREAMS = ["none", "no stdin", "no stdout", "no stderr", "full stdout", "full stderr", "whole"]


def streams_of(name: str) -> list[str]:
    """Return the streams with which a command is run, the whole ones last."""
    return ["none", "full stdout", "whole"] if name in LONG else STREAMS


def test_every_command_has_a_run_with_missing_and_full_streams() -> None:
    assert {*EXAMPLES, *SERVING} == {name for name, *_ in entry.COMMANDS}


@pytest.fixture
def inputs(folder: Path) -> Path:
    """Add to the folder what some command reads and none writes."""
    rows = pl.read_csv(folder / "people.csv").select("age", "smoker")
    rows.write_csv(folder / "rows.csv")
    Domain({name: attributes()[name] for name in rows.columns}).to_json(folder / "rows.json")
    box = "def decide(rows):\n    return ['yes' if row[0] > 60 else 'no' for row in rows.iter_rows()]\n"
    (folder / "box.py").write_text(box)
    (folder / "tie.txt").write_text("0" * 64)
    (folder / "said.toml").write_text(STATEMENTS)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists() or not hasattr(sys.modules["os"], "fork"), reason="needs /dev/full and forks")
def test_a_missing_or_full_stream_changes_no_status_and_no_file(
    inputs: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    commands = [[name, [*name.split(), *words], streams_of(name)] for name, words in EXAMPLES.items()]
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(scratch), json.dumps(commands)],
        cwd=inputs,
        # Otherwise the first run that imports the black box, and it alone, leaves a folder of compiled code.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    runs: list[dict[str, Any]] = json.loads(done.stderr)
    assert [run["command"] for run in runs] == [name for name in EXAMPLES for _ in streams_of(name)]
    for name in EXAMPLES:
        group = {run["stream"]: run for run in runs if run["command"] == name}
        whole = group.pop("whole")
        assert whole["status"] in (0, 1, 3), whole
        for stream, run in group.items():
            assert set(run["new"]) == set(whole["new"]), run
            if stream == "full stdout" and whole["stdout"]:
                # An early end lists every file that was written.
                assert run["status"] == 2, run
                assert "glassine: cannot write standard output: No space left on device." in run["stderr"], run
                for written in run["new"]:
                    assert written in run["stderr"].partition("already written: ")[2], run
            else:
                assert run["status"] == whole["status"], run
            assert "Traceback" not in run["stderr"], run
            if stream in ("no stdin", "no stderr", "full stderr"):
                assert len(run["stdout"]) == len(whole["stdout"]), run
    (charged,) = (run for run in runs if (run["command"], run["stream"]) == ("ledger charge", "full stdout"))
    assert "entry 1 of budget.sqlite stays charged: epsilon 0.1 is spent." in charged["stderr"]


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("redirected", ["", "0<&-", "1>&-", "2>&-", "1>/dev/full", "2>/dev/full", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize("name", sorted(SERVING))
def test_a_command_that_serves_ends_by_a_signal_whatever_its_streams(
    name: str, redirected: str, release_folder: Path
) -> None:
    words = {
        "desk": "desk study --name Okafor --no-open-browser",
        "explain serve": "explain serve signed.json --port 0",
    }
    (release_folder / "study").mkdir()
    (release_folder / "study" / "rules.txt").write_text(
        "if [a] then [x] ([30 ; 4] examples)\nelse [y] ([3 ; 9] examples)"
    )
    line = f'exec "{sys.executable}" -m glassine {words[name]} {redirected}'
    telling, full = "stderr" if name == "desk" else "stdout", (name, redirected) == ("explain serve", "1>/dev/full")
    with subprocess.Popen(
        ["bash", "-c", line], cwd=release_folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        silent = str(("stdout", "stderr").index(telling) + 1) in redirected
        first = "" if silent else getattr(running, telling).readline()
        if silent:
            # A full stream of answers ends the service; else nothing says when it has started.
            with suppress(subprocess.TimeoutExpired):
                running.wait(60 if full else 3)
        running.terminate()
        rest, errors = running.communicate(timeout=60)
    assert silent or "http://127.0.0.1:" in first
    assert "Traceback" not in errors + rest
    assert "never retrieved" not in errors
    assert running.returncode == (2 if full else 143), errors


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", sorted(SERVING))
def test_a_command_that_serves_ends_by_a_signal_at_every_moment_of_its_start(
    name: str, number: signal.Signals, release_folder: Path
) -> None:
    """Also while the loop is made, before the server listens for signals, and by the second one while it ends."""
    (release_folder / "study").mkdir()
    words = {"desk": "desk study --no-open-browser", "explain serve": "explain serve signed.json --port 0"}[name]
    for moment in (0, 0.002, 0.01, 0.03, 0.1):
        with subprocess.Popen(
            [sys.executable, "-m", "glassine", *words.split()],
            cwd=release_folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            first = getattr(running, "stderr" if name == "desk" else "stdout").readline()
            time.sleep(moment)
            running.send_signal(number)
            time.sleep(moment)
            running.send_signal(number)
            _, errors = running.communicate(timeout=60)
        assert "http://127.0.0.1:" in first
        assert "Traceback" not in errors
        assert "never" not in errors
        # A second signal while Python ends is the system's matter; a shell says the same of both.
        assert running.returncode in (128 + number, -number), errors


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
