"""Workers of the desk: each runs one command of Glassine in another process and folder, with limits."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEMORY = 4_000_000_000
"""Bytes of address space; libraries reserve far more than they use."""
SECONDS = 120
"""Processor seconds."""
WALL = 300.0
"""Seconds that a worker may take."""
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


@dataclass(slots=True)
class Job:
    """One run of a module: its words, the files it reads by name, and the files it writes."""

    words: Sequence[str]
    reads: Mapping[str, Path]  # Files to copy into its folder, with the hash that the copy must have
    digests: Mapping[str, str] = field(default_factory=dict)
    writes: Sequence[str] = ()
    module: str = "glassine"  # What is run; the command line by default
    process: asyncio.subprocess.Process | None = None
    stopped: str = ""  # Why it was ended; empty if it was not

    def cancel(self) -> None:
        """End it, by its process alone."""
        self.stopped = "it was cancelled."
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGKILL)


async def run(job: Job) -> Done:
    """Run a command and return how it ended; nothing that it left stays."""
    folder = Path(tempfile.mkdtemp(prefix="glassine-desk-"))
    try:
        return await _run(job, folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _run(job: Job, folder: Path) -> Done:
    for name, source in job.reads.items():
        digest = await asyncio.to_thread(_copy, source, folder / name)
        if digest != job.digests.get(name, digest):
            return Done(status=-1, out="", message=f"{name} changed while it was being read.")
    if job.stopped:
        return Done(status=-1, out="", message=job.stopped)
    # -P: the worker's folder, which holds files of others, is no place to import from.
    command = [sys.executable, "-P", "-m", "glassine.desk.confined", str(MEMORY), str(SECONDS), job.module, *job.words]
    with (folder / ".out").open("wb") as out, (folder / ".err").open("wb") as said:
        job.process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env={**ENVIRONMENT, "HOME": str(folder), "PATH": os.defpath},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=said,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(WALL):
                status = await job.process.wait()
        except TimeoutError:
            job.cancel()
            job.stopped = f"it took more than {WALL:g} seconds."
            await job.process.wait()
            status = -1
        except asyncio.CancelledError:
            job.cancel()
            await job.process.wait()
            raise
    errors = _read(folder / ".err").decode(errors="replace").strip().splitlines()
    message = errors[-1].removeprefix("glassine: ") if errors else ""
    if status < 0:
        message = job.stopped or f"it took more than {SECONDS} seconds or too much memory."
    written = {name: _read(folder / name) for name in job.writes if (folder / name).is_file()}
    return Done(status=status, out=_read(folder / ".out").decode(errors="replace"), message=message, files=written)


def _copy(source: Path, target: Path) -> str:
    sha = hashlib.sha256()
    with source.open("rb") as stream, target.open("xb") as out:
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
