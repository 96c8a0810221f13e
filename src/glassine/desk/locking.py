"""The lock of a desk's record: a file that names who holds it, made exclusively."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from glassine.desk.folder import read_own
from glassine.errors import DeskError

LOCK = "desk.lock"


@contextmanager
def locked(folder: Path, account: str, wait: float) -> Iterator[None]:
    """Hold the lock in a folder; one desk does at a time.

    Parameters
    ----------
    folder : Path
        The desk's own folder.
    account : str
        Who holds it, for others to read.
    wait : float
        Seconds to wait for another desk.

    Raises
    ------
    DeskError
        If another desk holds it for longer.
    """
    path = folder / LOCK
    mine = f"{socket.gethostname()} {os.getpid()} {account}"
    deadline, handle = time.monotonic() + wait, -1
    while handle < 0:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            if _left_behind(path):
                with suppress(FileNotFoundError):
                    path.unlink()
            elif time.monotonic() > deadline:
                raise DeskError(
                    f"another desk has been writing for {wait:g} seconds: {_words(path) or 'it does not say which'}.",
                    remedy=f"Close it; if it is gone, delete {path}.",
                    path=path,
                ) from None
            else:
                time.sleep(0.005)
        except OSError as error:
            raise DeskError(
                f"Nothing can be recorded in the folder: {error.strerror}.",
                remedy="Bring it back, or have its rights restored; what was recorded stays.",
                path=path,
            ) from None
    try:
        try:
            os.write(handle, mine.encode())
        finally:
            os.close(handle)
        yield
    finally:
        with suppress(FileNotFoundError):
            path.unlink()


def _left_behind(path: Path) -> bool:
    """Return whether a lock is of a process of this computer that has ended."""
    host, _, rest = _words(path).partition(" ")
    number = rest.partition(" ")[0]
    if host != socket.gethostname() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _words(path: Path) -> str:
    with suppress(OSError):
        return read_own(path).decode(errors="replace")[:200]
    return ""
