"""Workers of the desk: each runs one command of Glassine in another process and folder, with limits."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glassine.desk.confined import WALL
from glassine.desk.folder import open_regular
from glassine.desk.rooms import PREFIX, JobRoom, clear_rooms
from glassine.errors import PLAIN, DeskError, GlassineError, quoted

MEMORY = 4_000_000_000
"""Bytes of address space; libraries reserve far more than they use."""
SECONDS = 120
"""Processor seconds."""
NAMED = re.compile(r"^(glassine|glassine\.errors\.\w+): ")
"""What stands before an error: the command, or its class."""
LOOK = 0.1
"""Seconds between two looks at what a job that is watched has written."""
LONGEST_OUTPUT = 64_000_000
"""Bytes of a result that is read."""

ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1"),
}
"""All that a worker's environment holds; numerical libraries reserve memory by their threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended."""

    status: int  # Exit status; negative if a signal or the desk ended it
    out: str
    message: str  # What it said of an error, one line
    files: dict[str, bytes] = field(default_factory=dict)  # What it wrote, by name


@dataclass(slots=True, kw_only=True)
class Job:
    """One run of a module: its words, the files it reads by name, and the files it writes.

    Raises
    ------
    DeskError
        If a file has a name of several components, or one that is read could be taken for one that is written.
    """

    words: Sequence[str]
    reads: Mapping[str, Path]  # Files to copy into its folder, with the hash that the copy must have
    digests: Mapping[str, str] = field(default_factory=dict)
    gives: Mapping[str, bytes] = field(default_factory=dict)  # Files to write into its folder, by their content
    writes: Sequence[str] = ()
    module: str = "glassine"  # What is run; the command line by default
    # A folder inside its own, in which it runs and has what it reads: names that others chose are there alone, and
    # what it writes lies above, where no name is theirs.
    inside: str = ""
    # Whether the process may be forked from one that has imported an audit. Not for noise: generators of random
    # numbers that were seeded before a fork would give the same ones in two processes.
    forked: bool = True
    watch: Callable[[Path], None] | None = None  # Called with the folder now and then while it runs, and at its end
    # Descriptors of files that are read in place, by name: the folder has a link to each. A path could lead to another
    # file by the time that a reader opens it.
    opens: Mapping[str, int] = field(default_factory=dict)
    said: str = ""  # What it does, for the list of what runs

    def __post_init__(self) -> None:
        own = () if self.inside else (".out", ".err", *(name.casefold() for name in self.writes))
        for name, path in (*self.reads.items(), *((name, Path(name)) for name in (*self.opens, *self.gives))):
            if os.path.basename(name) != name or name in ("", ".", "..") or name.casefold() in own:
                raise DeskError(
                    f"a job cannot read a file of the name {quoted(name)}.", remedy="Rename the file.", path=path
                )


@dataclass(slots=True)
class RunningJob:
    """A job that runs, for the list of what runs."""

    said: str
    task: asyncio.Task[Done]
    began: float  # Seconds of the loop's clock
    stopped: bool = False  # Whether a person ended it


class StoppedJobError(GlassineError):
    """A person ended the job."""


class _ServerEndedError(Exception):
    """The process that others are forked from ended, and the end of its jobs cannot be learned."""


Begin = Callable[[Job, Path], Coroutine[Any, Any, int]]
"""Starts a job in its folder, and returns its exit status."""


class Workers:
    """Processes that run jobs; what they read are copies in a folder that is deleted when they end."""

    def __init__(self) -> None:
        self._server: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._ready = False
        self._ended: dict[int, asyncio.Future[int]] = {}
        self._pids: dict[int, int] = {}
        self._count = self._n_jobs = 0
        self._room: JobRoom | None = None
        self.running: dict[int, RunningJob] = {}  # Jobs that have words for people, by number

    async def start(self) -> None:
        """Remove what desks left that were killed, and start the process that others are forked from."""
        await asyncio.to_thread(clear_rooms)
        self._room = JobRoom()
        self._server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "glassine.desk.forking", str(MEMORY), str(SECONDS)),
            cwd=self._room.path,
            env={**ENVIRONMENT, "PATH": os.defpath},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        self._listening = asyncio.create_task(self._listen(self._server))

    async def stop(self) -> None:
        """End the process that others are forked from, and remove the folder of the jobs."""
        if self._server is not None and self._listening is not None:
            with contextlib.suppress(ProcessLookupError):
                self._server.kill()
            await self._listening
            await self._server.wait()
            self._server = None
        if self._room is not None:
            self._room.close()
            self._room = None

    async def run(self, job: Job) -> Done:
        """Run a job and return how it ended; nothing that it left stays.

        Raises
        ------
        DeskError
            If a file to read is not the one that the job names by its hash.
        StoppedJobError
            If a person ended the job.
        """
        if not job.said:
            return await self._run_any(job)
        self._n_jobs += 1
        number, loop = self._n_jobs, asyncio.get_running_loop()
        running = RunningJob(job.said, loop.create_task(self._run_any(job)), loop.time())
        self.running[number] = running
        try:
            return await running.task
        except asyncio.CancelledError:
            if not running.stopped:
                raise
            raise StoppedJobError("it was stopped before it ended.") from None
        finally:
            del self.running[number]

    def end(self, number: int) -> bool:
        """End a job by its number, and return whether it was running."""
        running = self.running.get(number)
        if running is None:
            return False
        running.stopped = True
        running.task.cancel()
        return True

    async def _run_any(self, job: Job) -> Done:
        if job.forked and self._ready and not job.opens:
            # Its end is none of this job, which runs again in a process of its own.
            with contextlib.suppress(_ServerEndedError):
                return await self._in_folder(job, self._forked)
        return await self._in_folder(job, self._started)

    async def _in_folder(self, job: Job, begin: Begin) -> Done:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=None if self._room is None else self._room.path))
        try:
            return await self._run(job, folder, begin)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _listen(self, server: asyncio.subprocess.Process) -> None:
        """Take in what the process says that others are forked from, until it ends."""
        while server.stdout is not None and (line := await server.stdout.readline()):
            said = json.loads(line)
            if "ready" in said:
                self._ready = True
            elif "pid" in said:
                self._pids[said["id"]] = said["pid"]
            elif (ended := self._ended.get(said["id"])) is not None and not ended.done():
                ended.set_result(said["status"])
        # The end of these jobs cannot be learned any more; the next ones start a process of their own.
        self._ready = False
        for number, ended in self._ended.items():
            if not ended.done():
                _kill(self._pids.get(number))
                ended.set_exception(_ServerEndedError())

    async def _run(self, job: Job, folder: Path, begin: Begin) -> Done:
        place = folder / job.inside
        place.mkdir(exist_ok=True)
        for name, source in job.reads.items():
            digest = await asyncio.to_thread(_copy, source, place / name)
            if digest != job.digests.get(name, digest):
                raise DeskError(f"{name} changed while it was being read.", remedy="Look at it again.", path=source)
        for name, data in job.gives.items():
            await asyncio.to_thread((place / name).write_bytes, data)
        for name, handle in job.opens.items():
            (place / name).symlink_to(f"/dev/fd/{handle}")
        stopped = f"it took more than {SECONDS} seconds or too much memory."
        waiting = asyncio.create_task(begin(job, folder))
        try:
            async with asyncio.timeout(WALL):
                while not waiting.done():
                    await asyncio.wait({waiting}, timeout=None if job.watch is None else LOOK)
                    if job.watch is not None:
                        job.watch(folder)
            status = waiting.result()
        except TimeoutError:
            status, stopped = -1, f"it took more than {WALL:g} seconds."
        finally:
            waiting.cancel()
            await asyncio.wait({waiting})
        errors = _read(folder / ".err").decode(errors="replace").replace(f"{folder}/", "").strip().splitlines()
        # What the parser of the command line says, in words.
        message = PLAIN.spelled(NAMED.sub("", errors[-1])) if errors else ""
        written = {name: _read(folder / name) for name in job.writes if (folder / name).is_file()}
        return Done(
            status=status,
            out=_read(folder / ".out").decode(errors="replace"),
            message=stopped if status < 0 else message,
            files=written,
        )

    async def _forked(self, job: Job, folder: Path) -> int:
        """Have a process forked, and return its exit status; it ends with this task."""
        if not self._ready:
            raise _ServerEndedError
        self._count += 1
        number = self._count
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ended[number] = ended
        line = {
            "id": number,
            "folder": str(folder),
            "inside": job.inside,
            "module": job.module,
            "words": list(job.words),
        }
        try:
            if self._server is not None and self._server.stdin is not None:
                self._server.stdin.write(json.dumps(line).encode() + b"\n")
            return await ended
        finally:
            if ended.cancelled() or not ended.done():
                # Its process is known a moment after the line was written.
                while number not in self._pids and self._ready:
                    await asyncio.sleep(0.005)
                _kill(self._pids.get(number))
            self._ended.pop(number, None)
            self._pids.pop(number, None)

    async def _started(self, job: Job, folder: Path) -> int:
        """Start a new process, and return its exit status; it ends with this task."""
        # -P: the worker's folder, which holds files of others, is no place to import from.
        limits = (str(MEMORY), str(SECONDS), str(os.getpid()))
        command = [sys.executable, "-P", "-m", "glassine.desk.confined", *limits, job.module, *job.words]
        with (folder / ".out").open("wb") as out, (folder / ".err").open("wb") as said:
            starting = asyncio.ensure_future(
                asyncio.create_subprocess_exec(
                    *command,
                    cwd=folder / job.inside,
                    env={**ENVIRONMENT, "HOME": str(folder), "PATH": os.defpath},
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out,
                    stderr=said,
                    start_new_session=True,
                    pass_fds=tuple(job.opens.values()),
                )
            )
            try:
                # A start that is cancelled half way can wait for ever: it is ended when it has started.
                process = await asyncio.shield(starting)
                return await process.wait()
            except asyncio.CancelledError:
                process = await starting
                _kill(process.pid)
                await process.wait()
                raise


def _kill(number: int | None) -> None:
    """End a process and those that it started."""
    if number is None:
        return
    try:
        os.killpg(number, signal.SIGKILL)
    except ProcessLookupError:
        # It was forked, and leads no group yet.
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _copy(source: Path, target: Path) -> str:
    # As the folder opens its files: no link is followed, and no pipe is waited for.
    sha = hashlib.sha256()
    with os.fdopen(open_regular(source), "rb") as stream, target.open("xb") as out:
        while part := stream.read(1 << 20):
            sha.update(part)
            out.write(part)
    return sha.hexdigest()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(LONGEST_OUTPUT)
    except OSError:
        return b""
