"""What becomes of output that cannot be written: one line, a status, and nothing by halves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from glassine import as_model, write_model
from tests.cli.running import Run, listing, people, process

FULL = Path("/dev/full")
FIT = ("fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "0.5")


@pytest.fixture
def folder(folder: Path) -> Path:
    """Add a tree that tells much to the folder."""
    from sklearn.tree import DecisionTreeClassifier

    frame = people()
    tree = DecisionTreeClassifier(random_state=0).fit(frame.select("age", "smoker"), frame["ill"].to_numpy())
    write_model(as_model(tree), folder / "tree.json")
    return folder


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which ``glassine`` is the command, with the status of any part of a pipe."""
    program = f'glassine() {{ "{sys.executable}" -m glassine "$@"; }}; set -o pipefail; {line}'
    return subprocess.run(["bash", "-c", program], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_one_line(folder: Path) -> None:
    done = shell("glassine audit tree.json --domain domain.json -o report.html > /dev/full", folder)
    assert done.returncode == 2
    assert done.stderr.startswith("glassine: cannot write standard output: No space left on device.")
    assert done.stderr.count("\n") == 1
    assert (folder / "report.html").read_text().rstrip().endswith("</html>")


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_error_changes_no_status(folder: Path) -> None:
    assert shell("glassine audit none.json 2> /dev/full", folder).returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("glassine audit tree.json --domain domain.json | head -1 > /dev/null", 1),
        pytest.param("glassine audit tree.json --domain domain.json --json | true", 1, marks=pytest.mark.slow),
        pytest.param("glassine fit --help | true", 0, marks=pytest.mark.slow),
    ],
)
def test_a_reader_that_has_seen_enough_changes_no_status(folder: Path, line: str, status: int) -> None:
    done = shell(line, folder)
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("given", [(), ("domain",), ("no", "such"), ("audit", "tree.json", "--colour")])
def test_standard_output_stays_empty_where_nothing_was_done(folder: Path, run: Run, given: tuple[str, ...]) -> None:
    done = run(*given, cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert done.err


@pytest.mark.parametrize("output", [".", "..", "/", "none/x.json", "/dev/full", "people.csv"])
@pytest.mark.parametrize(
    "command",
    [
        (*FIT, "--overwrite"),
        ("scrub", "tree.json", "--domain", "domain.json", "--data", "people.csv"),
        ("domain", "infer", "people.csv", "--overwrite"),
        ("audit", "tree.json", "--only", "disclosure", "--data", "people.csv", "--sensitive", "ill"),
        ("compare", "people.csv", "--target", "ill", "--domain", "domain.json"),
    ],
    ids=lambda command: command[0],
)
def test_what_cannot_be_written_is_told_before_any_work(
    folder: Path, run: Run, command: tuple[str, ...], output: str
) -> None:
    before = listing(folder)
    done = run(*command, "-o", output, cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"glassine: cannot write {output}: ")
    assert done.err.count("\n") == 1
    assert listing(folder) == before


@pytest.mark.slow
def test_an_interrupt_is_one_line_and_leaves_nothing(folder: Path) -> None:
    before = listing(folder)
    code = (
        "import os, signal, glassine.data.inference as inference\n"
        "inference.remarks = lambda frame: os.kill(os.getpid(), signal.SIGINT)"
    )
    done = process(code, "domain", "infer", "people.csv", "-o", "draft.json", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "glassine: interrupted.\n")
    assert listing(folder) == before


def test_a_dash_is_no_file(folder: Path, run: Run) -> None:
    fit = ("fit", "tree", "people.csv", "--target", "ill", "--epsilon", "1", "--domain", "domain.json")
    for words in (("domain", "infer", "people.csv"), fit, ("demo",)):
        done = run(*words, "-o", "-", cwd=folder)
        assert done.status == 2
        assert "cannot write -: outputs are files, not standard output" in done.err
    assert not (folder / "-").exists()
