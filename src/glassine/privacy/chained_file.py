"""The file of a chained log: made whole, opened by one name only, locked, and its errors explained."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from glassine.errors import LogError
from glassine.files import FAILING_DISK
from glassine.privacy.chained_log import ChainedLog

LARGEST_ROW = 2**23
"""Bytes of the longest entry; SQLite refuses longer ones before it makes room for them."""

SETTINGS = ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = EXTRA")
"""How SQLite reads and writes a log. EXTRA also flushes the folder, so that a power cut undoes no entry."""

BETWEEN_TRIES = 0.002
"""Seconds between two tries for the write lock: about what a process needs to open the file again."""
LONGEST_WAIT = 2**31 - 1
"""Milliseconds that SQLite can wait."""

# The layout of SQLite's rollback journal (sqlite.org/fileformat2.html, section 3): a header padded to a sector, then
# page numbers, each with the page as it was. ``user_version`` stands at byte 60 of page 1.
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
JOURNAL_HEADER = 28
VERSION_PLACE = 60

OPEN_FILES = "/dev/fd"
"""Folder that lists the descriptors of the process that looks at it."""


LogT = TypeVar("LogT", bound=ChainedLog[Any])


@dataclass(frozen=True, slots=True)
class ChainedFile(Generic[LogT]):
    """The file of a log on the disk."""

    path: Path  # Absolute path
    timeout: float  # Seconds to wait for other processes
    log: type[LogT]  # The kind of log

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[LogT]:
        """Open and check the file, and commit what is done inside or, on any error, nothing of it."""
        try:
            identity = self._check_names()
            self._check_neighbors()
            # Without mode=rw a file that was moved away would start anew, its entries forgotten.
            with closing(self._connect("mode=rw")) as connection:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ROW)
                for setting in SETTINGS:
                    connection.execute(f"PRAGMA {setting}")
                try:
                    self._begin(connection, write=write)
                    log = self.log(connection, self.path)
                    # Another name, or another file under this one, could have come before the lock.
                    self._check_same(identity, opened=True)
                    yield log
                    connection.execute("COMMIT")
                except BaseException as error:
                    # A failed COMMIT may have ended the transaction.
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    if _looks_damaged(error, self.log.form.damage):
                        self._check_disk(connection)
                    raise
            if write:
                self._check_same(identity)
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise self._explained(error) from error

    def _begin(self, connection: sqlite3.Connection, *, write: bool) -> None:
        """Begin a transaction; to write, wait for the lock and try often."""
        # SQLite waits up to 0.1 s between two tries, in which a process that charges over and over takes the lock
        # again: others would wait until their time is over.
        if not write:
            connection.execute("BEGIN")
            return
        deadline = time.monotonic() + self.timeout
        connection.execute("PRAGMA busy_timeout = 0")
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise
                time.sleep(BETWEEN_TRIES)
        # The commit waits for readers.
        connection.execute(f"PRAGMA busy_timeout = {min(round(1000 * self.timeout), LONGEST_WAIT)}")

    def create(self) -> None:
        """Make an empty log beside the path and link it there whole, unless another process was first."""
        # A process that is killed here leaves a file beside the path, or a second name of the file. The next one that
        # opens it removes that name.
        try:
            handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=self._prefix())
            os.close(handle)
            try:
                with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                    connection.execute("PRAGMA synchronous = EXTRA")
                    connection.execute("BEGIN IMMEDIATE")
                    self.log.create(connection)
                    connection.execute("COMMIT")
                with suppress(FileExistsError):
                    os.link(temporary, self.path)
            finally:
                # Another process may have removed the name when it opened the file.
                with suppress(FileNotFoundError):
                    os.unlink(temporary)
            _flush_folder(self.path.parent)
        except (sqlite3.Error, OSError) as error:
            raise self._explained(error) from error

    def _connect(self, options: str) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.as_uri()}?{options}", uri=True, timeout=self.timeout, isolation_level=None)

    def _prefix(self) -> str:
        return f".{self.path.name}.new-"

    def _check_names(self) -> tuple[int, int]:
        """Check that the path is the one name of a file, and return the file's identity."""
        form = self.log.form
        # Never by opening the file: closing it would drop the locks that SQLite holds on it in other threads.
        try:
            status = os.lstat(self.path)
            if status.st_nlink > 1:
                self._finish_creation(status)
                status = os.lstat(self.path)
        except FileNotFoundError:
            raise form.error(f"there is no {form.noun} at {self.path}.", path=self.path, remedy=form.absent) from None
        if stat.S_ISLNK(status.st_mode):
            raise form.error(
                f"a {form.noun} must not be a symbolic link, and {self.path} is one.",
                remedy="Give the file that it points to.",
                path=self.path,
            )
        if not stat.S_ISREG(status.st_mode):
            raise form.error(
                f"a {form.noun} must be a file, and {self.path} is none.", remedy="Give another path.", path=self.path
            )
        if status.st_nlink > 1:
            raise form.error(
                f"a {form.noun} must have one name, and {self.path} is a file with {status.st_nlink} (hard links). "
                "What one name records can be lost under another.",
                remedy="Release nothing; remove the other names, or copy the file.",
                path=self.path,
            )
        return status.st_dev, status.st_ino

    def _check_same(self, identity: tuple[int, int], *, opened: bool = False) -> None:
        form = self.log.form
        with suppress(FileNotFoundError):
            status = os.lstat(self.path)
            if status.st_nlink == 1 and (status.st_dev, status.st_ino) == identity and (not opened or _has(identity)):
                return
        raise form.error(
            f"the {form.noun} {self.path} was moved, or got a second name, while it was in use.",
            remedy="Release nothing, and look for the file that was moved.",
            path=self.path,
        )

    def _finish_creation(self, status: os.stat_result) -> None:
        """Remove the second name that a process killed in :meth:`create` left."""
        for other in self.path.parent.iterdir():
            if other.name.startswith(self._prefix()):
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.lstat(other), status):
                        os.unlink(other)

    def _check_neighbors(self) -> None:
        """Refuse what lies beside the file and would change it when SQLite opens it, unless a killed charge left it."""
        form = self.log.form
        for end in ("-wal", "-shm"):
            if os.path.lexists(f"{self.path}{end}"):
                raise form.damage(
                    f"a {form.noun} never has a file {self.path.name}{end} beside it: another program opened "
                    f"{self.path}, or the file is of another database.",
                    remedy=f"Release nothing. Restore the {form.noun} from a copy.",
                    path=self.path,
                )
        journal = f"{self.path}-journal"
        with suppress(FileNotFoundError):
            # A pipe would be waited for without end, and a link leads to what another may change.
            if not stat.S_ISREG(os.lstat(journal).st_mode):
                raise form.damage(
                    f"{self.path.name}-journal beside the {form.noun} {self.path} is a link, a pipe or a folder, "
                    "and no file of it.",
                    remedy="Release nothing. Move it away.",
                    path=self.path,
                )
        before = self._journal()
        if before is None:
            return
        with closing(self._connect("mode=ro&immutable=1")) as connection:
            try:
                ((entries,),) = connection.execute("PRAGMA user_version").fetchall()
            except sqlite3.DatabaseError:
                # A commit that was cut short, which the journal undoes; the log is checked afterwards. If the disk
                # failed instead, nothing may be undone.
                self._check_disk(connection)
                return
        # A journal belongs to the present entries or, if its commit was cut short, to those before the last.
        if before == self._journal() and before[1] not in (entries, entries - 1):
            raise form.damage(
                f"the file {self.path.name}-journal beside the {form.noun} {self.path} is older than the {form.noun}, "
                f"and would undo {form.entries}.",
                remedy="Release nothing. Move that file away.",
                path=self.path,
            )

    def _journal(self) -> tuple[bytes, int | None] | None:
        """Return the header of a journal that SQLite would undo, and the number of entries that it goes back to."""
        try:
            with open(f"{self.path}-journal", "rb") as stream:
                header = stream.read(JOURNAL_HEADER)
                sector = int.from_bytes(header[20:24])
                stream.seek(sector)
                first = stream.read(4 + VERSION_PLACE + 4)
        except FileNotFoundError:
            return None
        if header[:8] != JOURNAL_MAGIC or len(first) < 4 + VERSION_PLACE + 4:
            return None
        # ChainedLog writes the first page first. A journal that begins otherwise is not of a log.
        of_first_page = int.from_bytes(first[:4]) == 1
        return header, int.from_bytes(first[-4:]) if of_first_page else None

    def _check_disk(self, connection: sqlite3.Connection) -> None:
        """Raise if what looks damaged does so because the disk fails, now or just before: the file may be whole."""
        # SQLite reports an input/output error of a read as damage: as code 11 of a statement, as a line of
        # integrity_check. A backup reads every page, and returns the error as what it is. Python's own reading would
        # not do: closing the file drops the locks that SQLite holds on it.
        with closing(sqlite3.connect(":memory:")) as copy:
            try:
                copy.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ROW)
                connection.backup(copy)
                for setting in SETTINGS:
                    copy.execute(f"PRAGMA {setting}")
                self.log(copy, self.path, journal="memory")
            except (sqlite3.Error, LogError, UnicodeDecodeError) as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_IOERR:
                    return
        raise self._failing_disk()

    def _failing_disk(self) -> LogError:
        return self.log.form.error(
            f"cannot use the {self.log.form.noun} {self.path}: the disk reported an input/output error.",
            remedy=f"Release nothing. {FAILING_DISK}",
            path=self.path,
        )

    def _explained(self, error: Exception) -> LogError:
        """Return the error that says what to do about one of SQLite or the operating system."""
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        form = self.log.form
        kind: type[LogError] = form.error
        if isinstance(error, OSError) and error.errno == errno.EIO:
            return self._failing_disk()
        if isinstance(error, OSError):
            reason = f"{error.strerror or error}"
        elif code in LOCK_FAILURES or (
            primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and not _can_lock(self.path.parent)
        ):
            reason = "its file system cannot lock files. Move it to a local disk"
        elif primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            reason = f"another process held it for more than {self.timeout} s. Try again, or raise the timeout"
        elif primary == sqlite3.SQLITE_NOTADB:
            reason = "it is not a database, or its first page is damaged. Give another path, or restore it from a copy"
        elif primary == sqlite3.SQLITE_FULL:
            reason = "the disk is full. Make room"
        elif code == sqlite3.SQLITE_READONLY_DBMOVED:
            reason = "it was moved while it was in use. Look for the file that was moved"
        elif primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            reason = "it is read-only. Make it and its folder writable"
        elif primary == sqlite3.SQLITE_IOERR:
            return self._failing_disk()
        elif primary in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT):
            reason = str(error)
        else:
            kind, reason = form.damage, f"it is damaged. {form.restore.rstrip('.')}"
        return kind(f"cannot use the {form.noun} {self.path}: {reason}. Release nothing.", path=self.path)


def _has(identity: tuple[int, int]) -> bool:
    """Return whether this process has a file open: another could have been under its name when SQLite opened that."""
    if not os.path.isdir(OPEN_FILES):
        return True
    for name in os.listdir(OPEN_FILES):
        with suppress(OSError):
            status = os.fstat(int(name))
            if (status.st_dev, status.st_ino) == identity:
                return True
    return False


def _looks_damaged(error: BaseException, damage: type[LogError]) -> bool:
    """Return whether an error says that a log is not as it was written."""
    codes = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    if isinstance(error, sqlite3.Error):
        return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in codes
    return isinstance(error, (damage, UnicodeDecodeError))


LOCK_FAILURES = (
    sqlite3.SQLITE_IOERR_LOCK,
    sqlite3.SQLITE_IOERR_RDLOCK,
    sqlite3.SQLITE_IOERR_UNLOCK,
    sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
)


def _can_lock(folder: Path) -> bool:
    """Return whether a file in a folder can be locked: SQLite reports that it cannot as a lock of another process."""
    if os.name != "posix":
        return True

    try:
        with tempfile.TemporaryFile(dir=folder) as stream:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
    return True


def _flush_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
