"""Run a module with limits of memory, time and files: what a worker of the desk starts."""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
from contextlib import suppress

WALL = 300.0
"""Seconds that a worker may take."""
LATER = 10
"""Seconds after the time limit at which a worker ends that the desk did not end."""
LARGEST_WRITTEN = 256_000_000
"""Bytes of the largest file that a worker may write."""
WITH_PARENT = 1
"""``PR_SET_PDEATHSIG`` of Linux."""


def limit(memory: int, seconds: int, parent: int) -> None:
    """Limit this process: bytes of address space, and processor seconds; it ends with the process that started it."""
    _end_with(parent)
    try:
        import resource
    except ImportError:
        # Windows has no such limits; the time that the desk waits for a worker holds everywhere.
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    # Of this process alone: a forked one starts at zero.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_WRITTEN, LARGEST_WRITTEN))
    # A job that waits uses no processor time: where the system does not end it with its parent, the clock does.
    signal.alarm(int(WALL) + LATER)


def _end_with(parent: int) -> None:
    """Have the system end this process with the one that started it, or end it now if that one is gone."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(WITH_PARENT, signal.SIGKILL)
    # Afterwards: what ended before could not be bound to, and what this one makes or charges would be lost.
    if sys.platform != "win32" and os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)


def run_plainly(module: str) -> None:
    """Run a module as a program whose texts are for people without a shell; what it refuses is its last line."""
    from glassine.errors import PLAIN, GlassineError, spoken_by

    with spoken_by(PLAIN):
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except GlassineError as error:
            sys.stderr.write(f"glassine: {error.word(PLAIN)}\n")
            sys.exit(2)


def main() -> None:
    """Limit this process as its first arguments say, bytes, seconds and its parent, and run a module with the rest."""
    memory, seconds, parent, module, *words = sys.argv[1:]
    limit(int(memory), int(seconds), int(parent))
    sys.argv = ["glassine", *words]
    run_plainly(module)


if __name__ == "__main__":
    main()
