"""What is called when a kernel is compiled, which takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from glassine.compiling.disk import LOADED

HEARERS: list[Callable[[str | None], None]] = []
"""What is called, once, when a kernel is compiled."""


def on_compilation(hear: Callable[[str | None], None]) -> None:
    """Call a function once, before the first kernel is compiled that is not on disk."""
    HEARERS.append(hear)


@cache
def listen() -> None:
    """Ask Numba for its compilations; what it reads from disk is none."""
    from numba.core import event

    class Start(event.Listener):
        def on_start(self, started: Any) -> None:
            while HEARERS and not LOADED.get():
                HEARERS.pop()(started.data["dispatcher"].stats.cache_path)

        def on_end(self, ended: object) -> None:
            """Ignore the end."""

    register: Any = event.register
    register("numba:compile", Start())
