"""The process of a command: its standard streams, and the signals that end it.

This module is imported before all others, so that an early Ctrl-C finds a handler: it imports next to nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  # As in the room of exports
if TYPE_CHECKING:
    from typing import Any

SAID = {signal.SIGINT: b"glassine: interrupted.\n", signal.SIGTERM: b"glassine: terminated.\n"}
"""Signals that end a command, and what is said of them; the exit status is 128 and their number."""


SOON = 0.01
"""Seconds after which a signal is sent again."""

STANDING: list[str] = []
"""Sentences on what was done and stays, such as a charge; they are printed if the command ends early."""


class Interrupted(SystemExit):
    """A signal ended the command."""


class _State:
    """Whether signals are held back, the one that came meanwhile, and how far the command is."""

    depth = 0
    pending: int | None = None
    printing = False
    done = False


def begin() -> None:
    """Open the standard streams that are missing, and let Ctrl-C and SIGTERM end the process in an orderly way."""
    _State.depth, _State.pending, _State.printing, _State.done = 0, None, False, False
    STANDING.clear()
    for number in SAID:
        signal.signal(number, _end)
    sys.unraisablehook = _unraisable
    open_missing_streams()


def _unraisable(raised: sys.UnraisableHookArgs) -> None:
    """Act again, and soon, on a signal that came where nothing can be raised, such as while an object is taken away."""
    if isinstance(raised.exc_value, Interrupted):
        # Here nothing can be raised either: another thread sends the signal when this is over.
        again = threading.Timer(SOON, os.kill, (os.getpid(), int(str(raised.exc_value.code)) - 128))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(raised)


def open_missing_streams() -> None:
    """Open the null device as each of descriptors 0 to 2 that is closed, and a stream on it.

    A process can be started without them (``2>&-``). The next file that it opens would become descriptor 2: what is
    said of errors would be written into it.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free descriptor is this one, as those below it are open.
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)
        if getattr(sys, name) is None:
            mode = "w" if descriptor else "r"
            # Closing the stream leaves the descriptor open, as Python does with its own.
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))


def _end(number: int, _frame: Any = None) -> None:
    """End the process, unless its work is done."""
    if _State.done:
        return
    if _State.depth or (_State.printing and _State.pending is None):
        _State.pending = number
        return
    # The stream may be in use where the signal arrives: its file is not.
    with suppress(OSError):
        os.write(2, SAID[signal.Signals(number)])
    raise Interrupted(128 + number)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals back until the block is done; the last one that came is then acted on."""
    # A mask of the thread would not do: another thread may take the signal, and the handler runs in this one.
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
        if not _State.depth and _State.pending is not None:
            number, _State.pending = _State.pending, None
            _end(number)


@contextmanager
def concluding() -> Iterator[None]:
    """Print the result as the last act: a signal during it changes no status, the second one ends it."""
    # A reader may never take the result, so that the second must end it.
    _State.printing = True
    try:
        yield
        conclude()
    finally:
        _State.printing = False


def conclude() -> None:
    """Act on no signal from now on: the work is done, or has failed, and its status is known."""
    _State.done = True
    # A handler of ours is taken away while Python ends: the default one would end the process with another status.
    if threading.current_thread() is threading.main_thread():
        for number in SAID:
            signal.signal(number, signal.SIG_IGN)
