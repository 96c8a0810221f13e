"""Signals that end a command: held back while a charge is noted or outputs are written, else acted on at once."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["install", "uninterrupted"]

SAID = {signal.SIGINT: b"glassine: interrupted.\n", signal.SIGTERM: b"glassine: terminated.\n"}
"""Signals that end a command, and what is said of them; the exit status is 128 and their number."""


class _State:
    """Whether signals are held back, and the one that came meanwhile."""

    held = 0
    pending: int | None = None


def install() -> None:
    """Let Ctrl-C and SIGTERM end the process in an orderly way: what is open is closed, and what is spent is said."""
    for number in SAID:
        signal.signal(number, _end)


def _end(number: int, _frame: Any = None) -> None:
    if _State.held:
        _State.pending = number
        return
    # The stream may be in use where the signal arrives: its file is not.
    with contextlib.suppress(OSError):
        os.write(2, SAID[signal.Signals(number)])
    sys.exit(128 + number)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals back until the block is done; the last one that came is then acted on."""
    # A mask of the thread would not do: another thread may take the signal, and the handler runs in this one.
    _State.held += 1
    try:
        yield
    finally:
        _State.held -= 1
        if not _State.held and _State.pending is not None:
            number, _State.pending = _State.pending, None
            _end(number)
