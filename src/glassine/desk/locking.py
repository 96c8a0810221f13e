"""The lock of a desk's record: a file that names its owner, and that appears whole under its name."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from glassine.desk.folder import read_own
from glassine.desk.rooms import try_lock
from glassine.errors import DeskError

LOCK = "desk.lock"
NEW = f"{LOCK}-"
"""How the name of a lock begins until it has its own."""


@contextmanager
def locked(folder: Path, account: str, wait: float) -> Iterator[None]:
    """Hold the lock in a folder; one desk does at a time.

    A process that is killed at any step leaves no lock, or one that names it, which the next desk removes.

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
    # Written before it has its name: a lock without words would name no process that could be looked for.
    new = folder / f"{NEW}{os.urandom(8).hex()}"
    with _as_words(path):
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        try:
            os.write(handle, f"{socket.gethostname()} {os.getpid()} {account}\n{_began(os.getpid())}".encode())
        finally:
            os.close(handle)
        with _as_words(path):
            _take(new, path, wait)
    finally:
        new.unlink(missing_ok=True)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            path.unlink()


@contextmanager
def _as_words(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DeskError(
            f"Nothing can be recorded in the folder: {error.strerror}.",
            remedy="Bring it back, or have its rights restored; what was recorded stays.",
            path=path,
        ) from None


def _take(new: Path, path: Path, wait: float) -> None:
    """Give a lock its name as soon as no other one has it."""
    deadline = time.monotonic() + wait
    while True:
        try:
            # A link fails where the name exists, on network shares too; a rename would replace the other lock.
            os.link(new, path)
            return
        except FileExistsError:
            pass
        if _clear(path):
            continue
        if time.monotonic() > deadline:
            raise DeskError(
                f"another desk has been writing for {wait:g} seconds: {_words(path) or 'it does not say which'}.",
                remedy=f"Close it; if it is gone, delete {path}.",
                path=path,
            )
        time.sleep(0.005)


def _clear(path: Path) -> bool:
    """Remove what killed desks left, if it is the lock, and return whether it was."""
    # Two desks that find the same lock: the second must not remove the one that the first makes then.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        if not try_lock(folder) or not _left_behind(path):
            return False
        with suppress(FileNotFoundError):
            path.unlink()
        for other in path.parent.glob(f"{NEW}*"):
            if _left_behind(other):
                other.unlink(missing_ok=True)
        return True
    finally:
        os.close(folder)


def _left_behind(path: Path) -> bool:
    """Return whether a lock is of a process of this computer that has ended."""
    try:
        words, _, began = read_own(path).decode(errors="replace").partition("\n")
    except OSError:
        return False  # It is gone, or no file that a desk writes
    if not words and path.name == LOCK:
        return True  # Of a version that was killed before it wrote: this one gives no name to a lock without words
    host, _, rest = words.partition(" ")
    number = rest.partition(" ")[0]
    if host != socket.gethostname() or not (number.isascii() and number.isdigit()):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    # Another process can have the number by now: in a container, the desk that is started again has it.
    now = _began(int(number))
    return bool(began and now and began != now)


def _began(number: int) -> str:
    """Return when a process began, in ticks of the system; empty where the system does not say it."""
    with suppress(OSError, IndexError):
        # Behind the name of the program, which can hold anything.
        return Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    return ""


def _words(path: Path) -> str:
    with suppress(OSError):
        return read_own(path).decode(errors="replace").partition("\n")[0][:200]
    return ""
