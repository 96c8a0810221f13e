"""The folder in which the jobs of one desk have theirs; what a desk that was killed left is removed by the next."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "glassine-desk-"
HELD = ".held"
"""File of a room whose lock its desk holds until it ends, however it ends."""


class JobRoom:
    """A new folder that no other account can read; its lock says that its desk is running."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Locked before it has its name, so that no other desk finds it unlocked.
        new = self.path / ".new"
        self._lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try_lock(self._lock)
        new.rename(self.path / HELD)

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def clear_rooms() -> int:
    """Remove the rooms of this account whose desks have ended, and return how many there were."""
    n_removed = 0
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            lock = os.open(path / HELD, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if try_lock(lock):
                    shutil.rmtree(path, ignore_errors=True)
                    n_removed += 1
            finally:
                os.close(lock)
    return n_removed


def try_lock(handle: int) -> bool:
    """Lock a file or folder for this descriptor if no other one has it locked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
