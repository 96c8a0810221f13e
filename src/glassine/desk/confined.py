"""Run a module with limits of memory and processor time: what a worker of the desk starts."""

from __future__ import annotations

import sys


def main() -> None:
    """Limit this process as its first two arguments say, bytes and seconds, and run a module with the rest."""
    memory, seconds, module, *words = sys.argv[1:]
    try:
        import resource
    except ImportError:
        # Windows has no such limits; the time that the desk waits for a worker holds everywhere.
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.argv = ["glassine", *words]
    import runpy

    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
