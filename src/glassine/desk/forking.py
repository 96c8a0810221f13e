"""The fork server of the desk's workers: it has imported what an audit needs, and forks a process for every job.

It reads no file of a job. Lines of JSON on its standard input start jobs; lines on its standard output say their
process and how they ended.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from glassine.desk.confined import limit, run_plainly

REHEARSED = "if [age <= 41.5] then [true] ([23 ; 41] examples)\nelse [false] ([520 ; 90] examples)\n"
"""A model whose audit imports what audits need."""
REHEARSAL = ("audit", "-o", "report.html", "--to", "plain", "page.json", "--json", "--", "./rules.txt")


def main() -> None:
    """Rehearse an audit, say that it is ready, and fork until the standard input ends; arguments: bytes and seconds."""
    memory, seconds = map(int, sys.argv[1:])
    asked, said, place = os.dup(0), os.dup(1), os.getcwd()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        Path(folder, "rules.txt").write_text(REHEARSED, encoding="utf-8")
        _streams(Path(folder))
        os.chdir(folder)
        _run("glassine", REHEARSAL)
        os.chdir(place)
    import_module("glassine.auditing.trying")
    ForkServer(asked, said, memory, seconds).serve()


class ForkServer:
    """Jobs that were forked, and the pipe that says how they ended.

    Parameters
    ----------
    asked, said : int
        Descriptors to read from and to write to.
    memory, seconds : int
        Limits of every job: bytes of address space, and processor seconds.
    """

    def __init__(self, asked: int, said: int, memory: int, seconds: int) -> None:
        self._asked, self._said = asked, said
        self._limits = memory, seconds
        self._ended, self._woken = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._ended, False)
        self._jobs: dict[int, int] = {}

    def serve(self) -> None:
        """Fork a process for each line that is read, until there are no more lines."""
        # A signal between a look and a wait would be lost: it writes to a pipe that is waited for too.
        signal.set_wakeup_fd(self._woken)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        gc.collect()
        gc.freeze()  # What was imported stays shared with the processes that are forked
        self._say({"ready": True})
        rest = b""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._asked, selectors.EVENT_READ)
            waiting.register(self._ended, selectors.EVENT_READ)
            while True:
                for key, _ in waiting.select():
                    if key.fd == self._ended:
                        with suppress(BlockingIOError):
                            os.read(self._ended, 4096)
                        self._reap()
                        continue
                    part = os.read(self._asked, 1 << 16)
                    if not part:
                        return self._end()
                    *lines, rest = (rest + part).split(b"\n")
                    for line in lines:
                        self._fork(json.loads(line))

    def _end(self) -> None:
        """End all jobs, and what they started: the desk that would take in their results is gone."""
        for number in self._jobs:
            for kill in (os.killpg, os.kill):  # A job that leads no group yet is ended itself
                with suppress(ProcessLookupError):
                    kill(number, signal.SIGKILL)

    def _fork(self, job: dict[str, Any]) -> None:
        server = os.getpid()
        number = os.fork()
        if number:
            self._jobs[number] = job["id"]
            self._say({"id": job["id"], "pid": number})
            return
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            os.chdir(Path(job["folder"], job["inside"]))
            os.environ["HOME"] = job["folder"]
            _streams(Path(job["folder"]))
            # All that a job says to the desk is what it writes into its folder.
            for descriptor in (self._said, self._asked, self._ended, self._woken):
                os.close(descriptor)
            limit(*self._limits, server)
            status = _run(job["module"], job["words"])
        finally:
            os._exit(status)

    def _reap(self) -> None:
        while self._jobs:
            number, status = os.waitpid(-1, os.WNOHANG)
            if not number:
                return
            self._say({"id": self._jobs.pop(number), "status": os.waitstatus_to_exitcode(status)})

    def _say(self, value: dict[str, Any]) -> None:
        os.write(self._said, json.dumps(value).encode() + b"\n")


def _streams(folder: Path) -> None:
    """Have the standard streams read nothing, and write to files of a folder."""
    for descriptor, name in ((0, os.devnull), (1, folder / ".out"), (2, folder / ".err")):
        handle = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(handle, descriptor)
        os.close(handle)


def _run(module: str, words: Sequence[str]) -> int:
    """Run a module as a program, and return its exit status."""
    sys.argv = ["glassine", *words]
    try:
        run_plainly(module)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
    return 0


if __name__ == "__main__":
    main()
