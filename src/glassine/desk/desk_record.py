"""The record of a desk: its own folder, its settings, and its log, folded to one state."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from glassine.desk.events import DeskEvent, DeskLog, Person
from glassine.desk.folder import OWN, Folder
from glassine.desk.locking import locked
from glassine.desk.settings import DeskSettings, read_settings
from glassine.desk.state import DeskState, FileState, InvalidEventError, folded
from glassine.errors import DeskError, RefusedActionError
from glassine.privacy.chained_file import ChainedFile

WAIT = 15.0
"""Seconds to wait for another desk that writes."""
TRAINED = "trained"
"""Folder with one for each private training: its worker writes there what was paid for."""
RESETTLED = "the settings of this desk changed since it was opened. Nothing is decided under the earlier ones."
UNDER_SETTINGS = frozenset(
    ("asked", "answered", "accepted", "voted", "reopened", "returned", "withdrawn", "signed", "released", "exported")
)
"""Kinds of events that people decide on under the settings of the desk; what else happens does not depend on them."""
SHARED = ("audits", "held", TRAINED)
"""Folders of the desk's own, which every account of the desk writes to."""


def utc_now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


class DeskRecord:
    """What was decided in one folder: see :class:`~glassine.desk.desk.Desk`, which adds what people may do."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        person: Person,
        *,
        clock: Callable[[], datetime] = utc_now,
        key: str | os.PathLike[str] | None = None,
    ) -> None:
        self.folder = Folder(path)
        self.person = person
        self.key = key
        self._clock = clock
        self.own = self.folder.path / OWN
        self._make_own()
        self.settings: DeskSettings = read_settings(self.own)
        self._file = ChainedFile(self.own / "desk.db", WAIT, DeskLog)
        if not os.path.lexists(self._file.path):
            self._file.create()
            self._share(self._file.path)
        if person.role == "checker" and not self.settings.lets_check(person.account):
            raise DeskError(
                f"the account {person.account!r} is not one of the checkers of this desk.",
                remedy="Open it with --analyst, or add the account to checkers in .glassine/desk.toml.",
                path=self.own,
            )
        self._stamp: tuple[int, ...] = ()
        # The watch over the folder and the presses run on two threads.
        self._lock = threading.RLock()
        self._state = DeskState()
        self.head = self._identity = ""
        self.refresh()
        if self._state.settings != self.settings.body():
            self.record("settled", self.settings.body())

    # Reading

    @property
    def state(self) -> DeskState:
        """What the record comes to, as of the last :meth:`refresh`."""
        return self._state

    def refresh(self) -> DeskState:
        """Read the record if it changed, checked whole."""
        with self._lock:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                with self._file.transaction(write=False) as log:
                    self._take(log)
                self._stamp = stamp
            return self._state

    @property
    def identity(self) -> str:
        """64 hexadecimal digits that no other desk's record has."""
        return self._identity

    @property
    def title(self) -> str:
        """Title of the desk: that of its settings, or the name of the folder."""
        return self.settings.title or self.folder.path.name

    def file(self, identity: str) -> FileState:
        """Return a file by its id.

        Raises
        ------
        RefusedActionError
            If no file has it.
        """
        file = self._state.files.get(identity)
        if file is None:
            raise RefusedActionError("there is no such file.", remedy="Look at the list again.")
        return file

    # Writing

    @contextmanager
    def writing(self) -> Iterator[DeskLog]:
        """Open the record for one transaction; one desk writes at a time."""
        # SQLite's locks do not hold on every network share; a file that is made exclusively does.
        with self._lock, locked(self.own, self.person.account, WAIT):
            with self._file.transaction(write=True) as log:
                self._take(log)
                yield log
            self._take(log)
            # Before another desk can write: its events would be taken for read.
            self._stamp = self._stamp_now()

    def record(self, kind: str, body: Mapping[str, Any]) -> DeskEvent:
        """Append one event that needs no check."""
        with self.writing() as log:
            return self.append(log, kind, body)

    def append(self, log: DeskLog, kind: str, body: Mapping[str, Any]) -> DeskEvent:
        """Append one event in a transaction that :meth:`writing` opened; the caller has checked that it is allowed.

        Raises
        ------
        RefusedActionError
            If it is decided under the settings of the desk, and these are others by now.
        """
        if kind in UNDER_SETTINGS:
            self.check_settings()
        return log.append(kind, self.person, self.now(), body)

    def check_settings(self) -> None:
        """Raise if the settings on the disk, or those that the record states last, are not those of this desk.

        Raises
        ------
        RefusedActionError
            If they are others, or cannot be read.
        """
        if self.resettled:
            raise RefusedActionError(
                RESETTLED, remedy="Close the desk, and start glassine desk again. What was decided stays."
            )

    @property
    def resettled(self) -> bool:
        """Whether the settings on the disk, or those that the record states last, are not those of this desk."""
        mine = self.settings.body()
        try:
            return not read_settings(self.own).body() == mine == self._state.settings
        except DeskError:
            return True  # The desk that is opened next says what is wrong with them

    def now(self) -> str:
        """Return the time as events have it: UTC, to the second."""
        return self._clock().astimezone(UTC).isoformat(timespec="seconds")

    # Inside

    def _take(self, log: DeskLog) -> None:
        """Fold a record, unless its head is that of the present state, and put the new state in its place."""
        # Never into the present one: another thread may be reading it, and a record that was replaced by a longer one
        # does not continue it.
        if (log.head, log.identity) != (self.head, self._identity):
            try:
                self._state = folded(log.events)
            except InvalidEventError as error:
                raise log.unknown(error.args[0]) from None
            self.head, self._identity = log.head, log.identity

    def _stamp_now(self) -> tuple[int, ...]:
        status = self._file.path.lstat()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _make_own(self) -> None:
        try:
            for path in (self.own, *(self.own / name for name in SHARED)):
                # Before anything is made in it: a link leads to a folder of another place.
                if path.is_symlink():
                    raise DeskError(f"{path} is a link.", remedy="Remove it.", path=path)
                if not path.is_dir():
                    path.mkdir()
                    self._share(path)
        except OSError as error:
            raise DeskError(
                f"cannot write to {self.own}, where the desk keeps its record: {error.strerror}.",
                remedy="Have your account given the right to write to the folder, or open a copy of it.",
                path=self.own,
            ) from None

    def _share(self, path: Path) -> None:
        """Let the group that can write to the folder also write to the desk's own files."""
        status = self.folder.path.stat()
        mode = stat.S_IMODE(path.stat().st_mode) & 0o700
        group = status.st_mode & 0o070
        # What one account paid for, no other one moves away.
        mode |= stat.S_ISVTX if path.name == TRAINED else 0
        with suppress(OSError):
            os.chown(path, -1, status.st_gid)
            path.chmod(mode | (group if path.is_dir() else group & 0o060))
