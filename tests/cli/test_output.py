"""What becomes of output that cannot be written: one line, a status, and nothing by halves."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from glassine import Ledger, as_model, write_model
from glassine.cli.writing import check_outputs
from glassine.errors import UnreadableFileError
from glassine.files import write_bytes, write_secret
from glassine.privacy.receipt import make_tie_key
from glassine.privacy.signing import make_keys
from tests.cli.running import Run, listing, people, process

FULL = Path("/dev/full")
FIT = ("fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "0.5")


@pytest.fixture
def folder(folder: Path) -> Path:
    """Add a tree that tells much to the folder."""
    from sklearn.tree import DecisionTreeClassifier

    frame = people()
    tree = DecisionTreeClassifier(random_state=0).fit(frame.select("age", "smoker"), frame["ill"].to_numpy())
    write_model(as_model(tree), folder / "tree.json", overwrite=True)
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
    assert done.stderr == (
        "glassine: cannot write standard output: No space left on device.\n"
        f"glassine: already written: {folder / 'report.html'}.\n"
    )
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
        ("compare", "people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "0.1,1"),
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
        "import os, signal, glassine.data.remarks as data\n"
        "data.remarks = lambda frame: os.kill(os.getpid(), signal.SIGINT)"
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


KILLED = """
import json, os, signal, sys
from pathlib import Path
# Imported once, as forks share it.
import polars, skops.io, sklearn.compose, sklearn.pipeline, sklearn.tree
import glassine.auditing.api, glassine.auditing.criteria, glassine.cli.entry, glassine.cli.scrub, glassine.cli.export
import glassine.report.page, glassine.report.rendering, glassine.scrubbing.scrub
from glassine import cli, files
from glassine.formats import formats

formats()
folder, nameless, commands = Path.cwd(), sys.argv[1] == "nameless", json.loads(sys.argv[2])
if not nameless:
    del os.O_TMPFILE

def listed():
    return {path.name: path.read_bytes() for path in folder.iterdir()}

def run(command, last):
    seen = 0
    def event():
        nonlocal seen
        seen += 1
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)
    def hook(name, given):
        if name == "open":
            # Another event is each call that opens something of the folder, but for reading.
            if isinstance(given[0], str) and str(folder) in os.path.abspath(given[0]) and given[2] & 3:
                event()
        elif name in ("os.link", "os.rename", "os.remove", "os.chmod"):
            event()
    flush = os.fsync
    def synced(handle):
        event()
        flush(handle)
        event()
    os.fsync = synced
    sys.addaudithook(hook)
    if command[0] == "secret":
        files.write_secret(b"key", command[1])
        os._exit(0)
    sys.argv = ["glassine", *command]
    try:
        cli.main()
    except SystemExit as ended:
        os._exit(int(ended.code or 0))

found, before = [], listed()
for command in commands:
    for last in range(1, 100):
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            run(command, last)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        after = listed()
        changed = {name: len(data) for name, data in after.items() if before.get(name) != data}
        lost = sorted(set(before) - set(after))
        found.append({"command": command[0], "output": command[-1], "status": status, "changed": changed, "lost": lost})
        for name in changed:
            (folder / name).unlink()
        for name in {*changed, *lost} & set(before):
            (folder / name).write_bytes(before[name])
        if status >= 0:
            break
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
@pytest.mark.parametrize("way", ["nameless", "named"])
def test_a_kill_at_any_file_event_leaves_the_old_file_or_the_new_one(folder: Path, way: str) -> None:
    for name in ("old.json", "old.skops", "old.html"):
        (folder / name).write_bytes(b"old")
    scrub = ("scrub", "tree.json", "--domain", "domain.json", "--overwrite")
    commands = [
        [*scrub, "--report", "old.html", "-o", "old.json"],
        ["export", "tree.json", "--to", "sklearn", "-o", "new.skops"],
        ["export", "tree.json", "--to", "sklearn", "--overwrite", "-o", "old.skops"],
        ["secret", "key.txt"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, way, json.dumps(commands)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    runs = json.loads(done.stdout)
    whole = {run["output"]: run["changed"] for run in runs if run["status"] >= 0}
    assert set(whole) == {command[-1] for command in commands}
    assert whole["key.txt"] == {"key.txt": 3}
    assert len(runs) > 15
    hidden = 0
    for run in runs:
        assert run["status"] in (0, 3, -signal.SIGKILL), run
        assert run["lost"] == [], run
        for name, size in run["changed"].items():
            hidden += name.startswith(".glassine.")
            # The empty file of a key holds its name, for a moment, where no file can be without one.
            empty = way == "named" and (name, size) == ("key.txt", 0)
            assert name.startswith(".glassine.") or empty or size == whole[run["output"]][name], run
    # An old file is replaced by one with a name: in the moment between, that is left.
    assert hidden <= 3 or way == "named"


@pytest.mark.parametrize("nameless", [True, False])
def test_a_link_is_followed_and_the_mode_of_an_old_file_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    vault, out = tmp_path / "vault", tmp_path / "out"
    vault.mkdir()
    out.mkdir()
    (vault / "m.json").write_bytes(b"old")
    (vault / "m.json").chmod(0o600)
    (out / "m.json").symlink_to(vault / "m.json")
    write_bytes(b"new", out / "m.json")
    assert (out / "m.json").is_symlink()
    assert (vault / "m.json").read_bytes() == b"new"
    assert (vault / "m.json").stat().st_mode & 0o777 == 0o600
    write_bytes(b"first", vault / "n.json")
    (vault / "plain").touch()
    assert (vault / "n.json").stat().st_mode == (vault / "plain").stat().st_mode
    write_secret(b"key", vault / "key")
    assert (vault / "key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UnreadableFileError, match=r"cannot write .*: File exists"):
        write_secret(b"other", vault / "key")
    assert listing(tmp_path) == {"m.json": b"new", "n.json": b"first", "plain": b"", "key": b"key"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives links to other users")
@pytest.mark.parametrize("which", ["file", "folder", "link behind a link"])
def test_links_of_other_users_in_shared_folders_are_not_followed(tmp_path: Path, which: str) -> None:
    shared, private = tmp_path / "shared", tmp_path / "private"
    shared.mkdir()
    shared.chmod(0o1777)
    private.mkdir()
    (private / "m.json").write_bytes(b"old")
    link, path = shared / "link", shared / "link"
    link.symlink_to(private / "m.json" if which != "folder" else private)
    if which == "folder":
        path = link / "m.json"
    elif which == "link behind a link":
        path = private / "own.json"
        path.symlink_to("../shared/link")
    os.lchown(link, 65534, 65534)
    with pytest.raises(UnreadableFileError, match=rf"^cannot write {path}: .*link is another user's link"):
        write_bytes(b"new", path)
    assert (private / "m.json").read_bytes() == b"old"
    with pytest.raises(UnreadableFileError, match=rf"^cannot write {path}: .*link is another user's link"):
        check_outputs([path], [], overwrite=True)  # before a ledger is charged
    # One's own link, that of the owner of the folder, and any in a folder that not all may write to.
    for owner, of_folder, mode in ((0, 65534, 0o1777), (65534, 65534, 0o1777), (65534, 0, 0o755)):
        os.lchown(link, owner, owner)
        os.chown(shared, of_folder, of_folder)
        shared.chmod(mode)
        write_bytes(b"new", path)
        assert (private / "m.json").read_bytes() == b"new"
        write_bytes(b"old", path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")
def test_another_user_does_not_choose_who_can_read_what_replaces_the_file(tmp_path: Path) -> None:
    path, old = tmp_path / "m.json", os.umask(0o077)
    try:
        for owner, kept in ((65534, 0o600), (0, 0o666)):
            path.write_bytes(b"old")
            path.chmod(0o666)
            os.chown(path, owner, owner)
            write_bytes(b"new", path)
            assert (path.stat().st_mode & 0o777, path.stat().st_uid) == (kept, 0)
    finally:
        os.umask(old)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives links to other users")
def test_a_link_of_another_user_is_refused_before_the_charge(folder: Path, run: Run) -> None:
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "m.json").symlink_to(folder / "taken.json")
    os.lchown(shared / "m.json", 65534, 65534)
    spent = ("--ledger", "budget.sqlite", "--dataset", "people", "--epsilon", "0.1", "--max-depth", "1")
    files = ("-o", "shared/m.json", "--certificate", "c.json", "--overwrite")
    done = run("fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", *spent, *files, cwd=folder)
    assert done.status == 2
    assert "another user's link" in done.err
    assert Ledger(folder / "budget.sqlite").spent("people") == 0


@pytest.mark.parametrize("nameless", [True, False])
def test_a_new_file_follows_the_umask_which_no_other_thread_sees_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    def changed(_mask: int) -> int:
        raise AssertionError("meanwhile, files of other threads would be open to all")

    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    old = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", changed)
            write_bytes(b"model", tmp_path / "m.json")
    finally:
        os.umask(old)
    assert (tmp_path / "m.json").stat().st_mode & 0o777 == 0o640


def test_without_a_umask_secrets_and_ledgers_are_still_their_owners(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        write_bytes(b"model", tmp_path / "m.json")
        make_keys(tmp_path / "private.pem", tmp_path / "public.pem")
        make_tie_key(tmp_path / "tie.key")
        ledger = Ledger(tmp_path / "budget.sqlite")
        ledger.budget("people", 1)
        with suppress(RuntimeError), ledger._file.transaction(write=True) as log:
            log._connection.execute("CREATE TABLE more (x)")
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
            raise RuntimeError
    finally:
        os.umask(old)
    assert "budget.sqlite-journal" in modes
    assert modes.pop("m.json") == modes.pop("public.pem") == 0o666
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to itself", "link to a device"])
def test_what_is_no_regular_file_is_not_written(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "m.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("m.json" if "itself" in kind else "/dev/null")
    with pytest.raises(UnreadableFileError, match=rf"^cannot write {path}: "):
        write_bytes(b"new", path)
    with pytest.raises(UnreadableFileError, match=rf"^cannot write {path}: File exists"):
        write_secret(b"new", path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.json"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Return a folder with room for 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("mounting is not permitted")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs mount")
def test_a_full_disk_keeps_the_old_file(small: Path, folder: Path, run: Run) -> None:
    (small / "old.skops").write_bytes(b"old")
    (small / "filler").write_bytes(bytes(40_000))
    before = listing(small)
    call = ("export", "tree.json", "--to", "sklearn", "-o")
    for name in ("old.skops", "new.skops"):
        done = run(*call, str(small / name), "--overwrite", cwd=folder)
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert done.err.startswith(f"glassine: cannot write {small / name}: No space left on device.")
        assert listing(small) == before


def test_a_key_that_cannot_be_moved_into_place_leaves_its_name_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "forced")

    with monkeypatch.context() as patch:
        # Where files without a name are not to be had, a neighbor is moved.
        patch.delattr("os.O_TMPFILE", raising=False)
        patch.setattr("os.replace", refused)
        with pytest.raises(UnreadableFileError):
            write_secret(b"key", tmp_path / "key")
    assert list(tmp_path.iterdir()) == []
    write_secret(b"key", tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == b"key"
