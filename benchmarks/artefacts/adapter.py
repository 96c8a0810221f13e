"""The few calls that need more than the public names: here, and nowhere else in the window.

A name that moves is added in front of the old ones, so that the code on both sides of a move can be drawn.
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any

FRESH_COUNT = ("glassine.privacy.release:fresh_count", "glassine.privacy.spending:fresh_count")
"""Where the count of the fits of a process begins anew, by module and name, the newest first."""

COUNT_NOISE = ("glassine.attacks:CountNoise", "glassine:CountNoise")
RENDER_EDITOR = ("glassine.report:render_editor", "glassine:render_editor")
SUGGESTED_DEPTH = ("glassine.learners:suggested_depth", "glassine:suggested_depth")
SUMMARIZE_MODEL = ("glassine:summarize_model", "glassine:explain_global")


def inner(places: tuple[str, ...]) -> Any:
    """Return the first of some names that there is."""
    for place in places:
        module, name = place.split(":")
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(import_module(module), name)
    raise ImportError(f"none of {', '.join(places)} is there: add its new name in {__file__}")


def fresh_count() -> AbstractContextManager[None]:
    """Count private fits inside as those of a process of their own."""
    counting: AbstractContextManager[None] = inner(FRESH_COUNT)()
    return counting


@contextlib.contextmanager
def quiet_process(folder: Path) -> Iterator[None]:
    """Work in a folder, and leave the process as it was: working directory, modules, handlers, arguments."""
    before = Path.cwd(), list(sys.path), set(sys.modules), list(sys.argv), signal.getsignal(signal.SIGINT)
    environment = {name: os.environ.get(name) for name in ("COLUMNS", "TERM", "NO_COLOR")}
    os.environ.update(COLUMNS="120", TERM="dumb", NO_COLOR="1")
    os.chdir(folder)
    try:
        with warnings.catch_warnings(), fresh_count():
            # As in a process of its own, whatever the one that runs this was told.
            warnings.resetwarnings()
            for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                warnings.simplefilter("ignore", category)
            yield
    finally:
        os.chdir(before[0])
        sys.path[:], sys.argv[:] = before[1], before[3]
        # Modules of the scratch folder are read anew by the next run.
        for name in set(sys.modules) - before[2]:
            place = getattr(sys.modules[name], "__file__", None)
            if place is not None and Path(place).parent == folder:
                del sys.modules[name]
        signal.signal(signal.SIGINT, before[4])
        for name, value in environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def command_line(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Run ``python -m glassine`` in this process, and return its exit status and what it printed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    status: Any = 0
    with quiet_process(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv[:] = ["glassine", *arguments]
        # The command line takes its place among the warnings of a process, and this one is not its own.
        show = warnings.showwarning
        try:
            runpy.run_module("glassine", run_name="__main__")
        except SystemExit as ended:
            status = ended.code
        finally:
            warnings.showwarning = show
    texts = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]
    return int(status or 0), texts[0], texts[1]
