"""Workers of the desk: forked or started, limited, ended with their task, and unable to speak to the desk."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from glassine.desk import workers
from glassine.desk.confined import LARGEST_WRITTEN
from glassine.desk.folder import Folder
from glassine.desk.rooms import PREFIX, JobRoom
from glassine.desk.workers import Done, Job, StoppedJobError, Workers
from glassine.errors import DeskError
from glassine.privacy import Ledger
from tests.desk.desks import RULES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")]


def with_workers(work: Callable[[Workers], Awaitable[Any]]) -> Any:
    """Return what a piece of work comes to, with the process that others are forked from."""

    async def main() -> Any:
        made = Workers()
        await made.start()
        try:
            while not made._ready:
                await asyncio.sleep(0.02)
            return await work(made)
        finally:
            await made.stop()

    return asyncio.run(asyncio.wait_for(main(), 60))


def endless(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """Return a job that does not end by itself."""
    (folder / "waiting.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setattr(workers, "ENVIRONMENT", {**workers.ENVIRONMENT, "PYTHONPATH": str(folder)})
    return Job(words=(), reads={}, module="waiting")


PROBE = """
import json, os, resource
opened = {}
for name in os.listdir("/proc/self/fd"):
    try:
        opened[name] = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        pass
print(json.dumps([opened, os.environ.copy(), os.getsid(0) == os.getpid(), os.getcwd(),
    resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CPU)[0],
    resource.getrlimit(resource.RLIMIT_FSIZE)[0]]))
"""


@pytest.mark.parametrize("forked", [True, False])
def test_a_job_says_how_it_ended_and_leaves_nothing(tmp_path: Path, forked: bool) -> None:
    (tmp_path / "rules.txt").write_text(RULES)
    folders: list[Path] = []
    job = Job(
        words=("audit", "--json", "--", "./rules.txt"),
        reads={"rules.txt": tmp_path / "rules.txt"},
        forked=forked,
        watch=folders.append,
    )
    refused = Job(words=("audit", "--", "./none.txt"), reads={}, forked=forked)

    async def work(made: Workers) -> list[Done]:
        return [await made.run(job), await made.run(refused)]

    done, missing = with_workers(work)
    assert (done.status in (0, 1, 3), '"verdict"' in done.out) == (True, True)
    assert missing.status == 2
    assert missing.message.startswith("cannot read")
    assert folders
    assert not folders[0].exists()


def test_a_cancelled_job_ends_and_one_whose_fork_server_is_killed_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = endless(tmp_path, monkeypatch)

    async def started(made: Workers) -> tuple[asyncio.Task[Done], int]:
        task = asyncio.create_task(made.run(waiting))
        while not made._pids:
            await asyncio.sleep(0.02)
        return task, next(iter(made._pids.values()))

    async def work(made: Workers) -> tuple[int, int, Done, Done]:
        task, first = await started(made)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not made._pids
        task, second = await started(made)
        assert made._server is not None
        (tmp_path / "waiting.py").write_text("print('again')\n")
        made._server.send_signal(signal.SIGKILL)
        ended = await task
        # Without it, jobs start a process of their own.
        return first, second, ended, await made.run(Job(words=("--version",), reads={}))

    first, second, ended, after = with_workers(work)
    for number in (first, second):
        gone = not Path(f"/proc/{number}").exists() or "Z" in Path(f"/proc/{number}/stat").read_text().split()[2]
        assert gone
    # Its end was none of the job's own.
    assert (ended.status, ended.out) == (0, "again\n")
    assert (after.status, after.out[:8]) == (0, "glassine")


def test_a_job_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WALL", 0.5)
    job = endless(tmp_path, monkeypatch)
    for forked in (True, False):
        job.forked = forked
        done = with_workers(lambda made: made.run(job))
        assert (done.status, done.message) == (-1, "it took more than 0.5 seconds.")


def test_a_forked_job_has_no_pipe_to_the_desk_and_the_limits_of_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "probe.py").write_text(PROBE)
    monkeypatch.setattr(workers, "ENVIRONMENT", {**workers.ENVIRONMENT, "PYTHONPATH": str(tmp_path)})
    done = with_workers(lambda made: made.run(Job(words=(), reads={}, module="probe")))
    opened, environment, leads, place, memory, seconds, written = json.loads(done.out)
    assert not any(target.startswith(("pipe:", "socket:")) for target in opened.values())
    assert {target.rpartition("/")[2] for name, target in opened.items() if name in "012"} == {"null", ".out", ".err"}
    assert not {*environment} - {*workers.ENVIRONMENT, "HOME", "PATH", "PYTHONPATH", "LC_CTYPE"}
    assert (leads, Path(place).name[:14]) == (True, "glassine-desk-")
    assert environment["HOME"] == place
    assert (memory, seconds, written) == (workers.MEMORY, workers.SECONDS, LARGEST_WRITTEN)


@pytest.mark.parametrize("killed", [False, True])
def test_the_end_of_the_desk_ends_its_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool) -> None:
    job = endless(tmp_path, monkeypatch)

    async def work(made: Workers) -> None:
        task = asyncio.create_task(made.run(job))
        while not made._pids:
            await asyncio.sleep(0.02)
        place = Path(f"/proc/{next(iter(made._pids.values()))}/stat")
        while os.getsid(int(place.parent.name)) != int(place.parent.name):
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        made._ended.clear()  # As if nobody listened
        assert made._server is not None
        assert made._server.stdin is not None
        if killed:
            made._server.kill()
        else:
            made._server.stdin.close()
        await made._server.wait()
        async with asyncio.timeout(10):
            while place.exists() and place.read_text().split()[2] != "Z":
                await asyncio.sleep(0.02)
        task.cancel()

    with_workers(work)


ORPHANED = """
import ctypes, os, runpy, signal, subprocess, sys, time
step, parent = sys.argv.pop(1), os.getppid()
if len(sys.argv) == 1:
    again = [sys.executable, "-P", "-c", os.environ["CODE"], step, "4000000000", "20", str(os.getpid()), "job"]
    sys.exit(subprocess.Popen(again).wait())
from glassine.desk import confined
look = os.getppid
def run(*given, **more):
    time.sleep(0.5)
    os.write(1, b"it ran")
runpy.run_module = run
if step != "none":
    owner, _, name = step.rpartition(".")
    owner = {"os": os, "ctypes": ctypes, "runpy": runpy, "confined": confined}[owner]
    true = getattr(owner, name)
    def orphaned(*given, **more):
        os.kill(parent, signal.SIGKILL)
        while look() == parent:
            time.sleep(0.001)
        return true(*given, **more)
    setattr(owner, name, orphaned)
confined.main()
"""
"""Starts a worker whose desk is killed before one step of its start."""


@pytest.mark.parametrize("step", ["none", "confined.limit", "ctypes.CDLL", "os.getppid", "runpy.run_module"])
def test_a_worker_whose_desk_is_killed_at_any_step_of_its_start_runs_nothing(step: str) -> None:
    # The worker has the pipe as well: it is read until both have ended.
    done = subprocess.run(
        [sys.executable, "-P", "-c", ORPHANED, step],
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, "CODE": ORPHANED},
    )
    assert (done.stdout, done.returncode) == ((b"it ran", 0) if step == "none" else (b"", -signal.SIGKILL)), done.stderr


def test_no_file_that_is_read_has_the_name_of_one_that_is_written(tmp_path: Path) -> None:
    for name in ("page.json", "Page.JSON", ".out", "../page.json"):
        with pytest.raises(DeskError, match="Rename the file"):
            Job(words=(), reads={name: tmp_path}, writes=("page.json",))


def test_a_file_that_changed_is_no_end_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text(RULES)
    job = Job(words=(), reads={"rules.txt": tmp_path / "rules.txt"}, digests={"rules.txt": "0" * 64})
    with pytest.raises(DeskError, match="changed while it was being read"):
        asyncio.run(Workers().run(job))


def test_somebody_ends_a_job_that_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = endless(tmp_path, monkeypatch)
    job.said = "Waiting"

    async def work(made: Workers) -> None:
        task = asyncio.create_task(made.run(job))
        while not made._pids:
            await asyncio.sleep(0.02)
        ((number, running),) = made.running.items()
        assert running.said == "Waiting"
        assert made.end(number)
        with pytest.raises(StoppedJobError, match="stopped before it ended"):
            await task
        assert not made.running
        assert not made.end(number)
        assert not made._pids

    with_workers(work)


def test_what_a_killed_desk_left_is_removed_by_the_next_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, running, other = JobRoom(), JobRoom(), tmp_path / f"{PREFIX}other"
    os.close(left._lock)  # As the end of its process does
    other.mkdir()  # No desk made it
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    (left.path / "copy.csv").write_text("age\n41\n")

    async def work(made: Workers) -> None:
        assert made._room is not None
        assert {path.name for path in tmp_path.iterdir()} == {
            *(one.name for one in (running.path, other, made._room.path)),
            f"{PREFIX}link",
        }

    with_workers(work)
    assert not left.path.exists()
    assert running.path.exists()
    running.close()
    assert {path.name for path in tmp_path.iterdir()} == {other.name, f"{PREFIX}link"}


def test_a_job_reads_the_file_that_was_opened_and_no_other_of_its_name(tmp_path: Path) -> None:
    place = tmp_path / "records.csv"
    place.write_text("age\n" + "41\n" * 30)
    folder = Folder(tmp_path)
    with folder.opened("records.csv") as handle:
        place.unlink()
        place.write_text("age\n" + "77\n" * 30)
        words = ("domain", "infer", "./records.csv", "-o", "inferred.json")
        job = Job(words=words, reads={}, opens={"records.csv": handle}, writes=("inferred.json",))
        done = with_workers(lambda made: made.run(job))
    assert done.status == 0, done.message
    assert (b"41" in done.files["inferred.json"], b"77" in done.files["inferred.json"]) == (True, False)
    assert place.read_text().endswith("77\n")
    with pytest.raises(DeskError, match="cannot read a file of the name"):
        Job(words=(), reads={}, opens={"../records.csv": 3})


def test_a_ledger_is_opened_in_the_folder_that_was_opened_and_not_through_a_link(tmp_path: Path) -> None:
    place = tmp_path / "study"
    place.mkdir()
    for parent in (place, tmp_path):
        Ledger(parent / "budget.sqlite").budget("study" if parent == place else "other", 3)
    folder = Folder(place)
    # Another folder has its name by the time that the job runs.
    place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path)
    path, opens = folder.in_place("budget.sqlite")

    def shown() -> Done:
        job = Job(words=("ledger", "show", path, "--json"), reads={}, opens=opens)
        done: Done = with_workers(lambda made: made.run(job))
        return done

    done = shown()
    assert [one["dataset"] for one in json.loads(done.out)["datasets"]] == ["study"]
    (tmp_path / "moved" / "budget.sqlite").unlink()
    (tmp_path / "moved" / "budget.sqlite").symlink_to(tmp_path / "budget.sqlite")
    done = shown()
    assert done.status == 2
    assert "a ledger must not be a symbolic link, and folder/budget.sqlite is one" in done.message
    assert str(tmp_path) not in done.message
