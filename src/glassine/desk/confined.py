"""Run a module with limits of memory and processor time: what a worker of the desk starts."""

from __future__ import annotations

import sys


def limit(memory: int, seconds: int) -> None:
    """Limit this process: bytes of address space, and processor seconds."""
    try:
        import resource
    except ImportError:
        # Windows has no such limits; the time that the desk waits for a worker holds everywhere.
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    # Of this process alone: a forked one starts at zero.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Limit this process as its first two arguments say, bytes and seconds, and run a module with the rest."""
    memory, seconds, module, *words = sys.argv[1:]
    limit(int(memory), int(seconds))
    sys.argv = ["glassine", *words]
    import runpy

    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
