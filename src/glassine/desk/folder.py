"""The folder of a desk: its files by one component, opened without following links, copied with their hash."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from glassine.errors import DeskError, RefusedActionError, quoted
from glassine.files import PICKLES

OWN = ".glassine"
"""Folder of the desk's own files."""

PIECE = 1 << 20
LONGEST_NAME = 200
LARGEST_MODEL = 256_000_000
"""Bytes of the largest file that is audited, or dropped onto the page as a model."""
LARGEST_RECORDS = 4_000_000_000
RECORDS = (".csv", ".tsv", ".parquet", ".pq")
LARGEST_OWN = 1_000_000_000
"""Bytes of the largest file of the desk itself that is read, such as a stored audit."""
KEEP_FREE = 64_000_000
"""Bytes of the disk that an upload leaves free."""

IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
SCHEMA = re.compile(rb'"schema"\s*:\s*"glassine\.([a-z_-]+)/')
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
HEAD = 4096

ENTRIES = {
    stat.S_IFREG: "",
    stat.S_IFLNK: "it is a link, and links are not followed",
    stat.S_IFDIR: "it is a folder, and the desk looks at the files beside it alone",
}
"""Why an entry of the folder is no file, by its type."""

NOT_FOLLOWED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """A regular file of the folder, as the directory has it."""

    name: str
    size: int
    changed: int  # Nanoseconds
    touched: int  # Nanoseconds of its last change of any kind, which no account can set
    inode: int
    owner: int  # Number of the account


def open_regular(path: str | os.PathLike[str], place: int | None = None) -> int:
    """Open a regular file for reading, in a folder that is open if one is given, and return its descriptor.

    Raises
    ------
    OSError
        If there is none, or it is a link, a pipe or a device: none of these is followed or waited for.
    """
    try:
        handle = os.open(path, os.O_RDONLY | NOT_FOLLOWED, dir_fd=place)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link", os.fspath(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
    return handle


def read_own(path: Path, most: int = LARGEST_OWN) -> bytes:
    """Return the content of a file beside the record, where other accounts can also write.

    Raises
    ------
    OSError
        As :func:`open_regular`, or if it is larger.
    """
    with os.fdopen(open_regular(path), "rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", os.fspath(path))
    return data


def one_component(name: str) -> bool:
    """Return whether a name is one component that a file of the folder can have."""
    return not name_fault(name)


def name_fault(name: str) -> str:
    """Return why no file of the folder can have a name; empty if one can."""
    try:
        size = len(name.encode(errors="surrogateescape"))
    except UnicodeEncodeError:
        return "its name is no text"
    if size > LONGEST_NAME:
        return f"its name has {size} bytes, and {LONGEST_NAME} are the most"
    if name.startswith("."):
        return "its name begins with a dot"
    if any(char in name for char in "/\\\0"):
        return "its name has a slash"
    return "" if name and name != "checksums" else "its name is kept for the folder of checksums"


class Folder:
    """A folder that was opened once.

    Guarantee: none. Links, pipes and devices are not opened; names are one component, resolved in the opened folder.

    Parameters
    ----------
    path : path-like
        The folder.

    Attributes
    ----------
    handle : int
        Its descriptor.

    Raises
    ------
    DeskError
        If it is no folder, or cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise DeskError(
                "this system cannot open files without following links, so that the desk does not run on it.",
                remedy="Open it on Linux or macOS, or under Windows in the Windows Subsystem for Linux.",
                path=self.path,
            )
        try:
            self.handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        except OSError as error:
            raise DeskError(
                f"cannot open the folder {self.path}: {error.strerror}.", remedy="Name a folder.", path=self.path
            ) from None

    def close(self) -> None:
        """Close it."""
        with suppress(OSError):
            os.close(self.handle)

    def files(self) -> list[FolderFile]:
        """Return the regular files directly in the folder, sorted by name; links are none."""
        return self.listing()[0]

    def listing(self) -> tuple[list[FolderFile], dict[str, str]]:
        """Return the files, and why each other entry is none of them, both by name.

        The desk's own folder and ACRO's of checksums are in neither.
        """
        files_in_folder, left_out = [], {}
        for name in sorted(os.listdir(self.handle)):
            try:
                status = os.stat(name, dir_fd=self.handle, follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                left_out[name] = f"the system cannot read it: {error.strerror}"
                continue
            if stat.S_ISDIR(status.st_mode) and name in (OWN, "checksums"):
                continue
            fault = name_fault(name) or ENTRIES.get(stat.S_IFMT(status.st_mode), "it is no file")
            if fault:
                left_out[name] = fault
                continue
            files_in_folder.append(
                FolderFile(
                    name=name,
                    size=status.st_size,
                    changed=status.st_mtime_ns,
                    touched=status.st_ctime_ns,
                    inode=status.st_ino,
                    owner=status.st_uid,
                )
            )
        return files_in_folder, left_out

    @contextmanager
    def inside(self, *names: str) -> Iterator[int]:
        """Open a folder below this one, name by name and through no link, and return its descriptor.

        Raises
        ------
        OSError
            If one of them is no folder, or a link.
        """
        handle = os.dup(self.handle)
        try:
            for name in names:
                outer, handle = handle, os.open(name, os.O_RDONLY | os.O_DIRECTORY | NOT_FOLLOWED, dir_fd=handle)
                os.close(outer)
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def opened(self, name: str, under: str = "") -> Iterator[int]:
        """Open a regular file for reading, and return its descriptor.

        Raises
        ------
        DeskError
            If there is none by this name, or it is a link, a pipe or a device.
        """
        if not one_component(name):
            raise DeskError(f"a file must have a name of one component, got {quoted(name)}.", path=self.path)
        try:
            with self.inside(*filter(None, (under,))) as place:
                handle = open_regular(name, place)
        except OSError as error:
            raise DeskError(f"cannot open {quoted(name)}: {error.strerror}.", path=self.path / name) from None
        try:
            yield handle
        finally:
            os.close(handle)

    def read(self, name: str, most: int, under: str = "") -> bytes:
        """Return the first bytes of a file, at most so many."""
        with self.opened(name, under) as handle:
            parts, left = [], most
            while left and (part := os.read(handle, min(left, PIECE))):
                parts.append(part)
                left -= len(part)
            return b"".join(parts)

    def digest(self, name: str) -> tuple[str, int]:
        """Return the SHA-256 of a file, hexadecimal, and its size in bytes."""
        sha, size = hashlib.sha256(), 0
        with self.opened(name) as handle:
            while part := os.read(handle, PIECE):
                sha.update(part)
                size += len(part)
        return sha.hexdigest(), size

    def checked(self, name: str, most: int, sha256: str) -> bytes:
        """Return the first bytes of a file, at most so many, of which the whole has a SHA-256.

        Raises
        ------
        RefusedActionError
            If the file is another one.
        """
        sha, head = hashlib.sha256(), bytearray()
        with self.opened(name) as handle:
            while part := os.read(handle, PIECE):
                sha.update(part)
                head += part[: most - len(head)]
        if sha.hexdigest() != sha256:
            raise RefusedActionError(
                f"{quoted(name)} in the folder is not the file that the desk recorded: it changed since.",
                remedy="Wait until the desk has seen the new one, then look at that.",
                stale=True,
            )
        return bytes(head)

    def copy(self, name: str, target: Path) -> str:
        """Copy a file to a new file, and return the SHA-256 of the bytes that were copied."""
        sha = hashlib.sha256()
        with self.opened(name) as handle, target.open("xb") as stream:
            while part := os.read(handle, PIECE):
                sha.update(part)
                stream.write(part)
            stream.flush()
            os.fsync(stream.fileno())
        return sha.hexdigest()

    async def receive(self, name: str, body: AsyncIterator[bytes]) -> str:
        """Write a new file from a stream, and return its name; a file that exists is never replaced.

        Raises
        ------
        RefusedActionError
            If the name is no component or is taken, or the disk has too little room.
        """
        if not one_component(name) or not name.isprintable() or name.startswith(("-", "release-", "checkers-")):
            raise RefusedActionError(
                f"a file must have a name of one component, without control characters, got {quoted(name)}."
            )
        temporary = f"{OWN}/upload-{os.urandom(8).hex()}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOT_FOLLOWED, 0o640, dir_fd=self.handle)
        try:
            with os.fdopen(handle, "wb") as stream:
                async for part in body:
                    if shutil.disk_usage(self.path).free < KEEP_FREE + len(part):
                        raise RefusedActionError("the disk is full.", remedy="Make room, then drop the file again.")
                    stream.write(part)
                stream.flush()
                os.fsync(stream.fileno())
            try:
                # A link fails where the name exists; a rename would replace it.
                os.link(temporary, name, src_dir_fd=self.handle, dst_dir_fd=self.handle, follow_symlinks=False)
            except FileExistsError:
                raise RefusedActionError(
                    f"the folder has a file {quoted(name)} already.", remedy="Rename the new one."
                ) from None
        finally:
            os.unlink(temporary, dir_fd=self.handle)
        return name

    async def write_new(self, stem: str, ending: str, data: bytes) -> str:
        """Write a new file under a name that none has, and return the name."""

        async def parts() -> AsyncIterator[bytes]:
            yield data

        return await self.receive(self.free_name(stem, ending), parts())

    def in_place(self, name: str) -> tuple[str, dict[str, int]]:
        """Return where a job opens a file that it changes, in the folder as it was opened, and what the job is given.

        SQLite opens a file by its name, and keeps its journal beside it: no descriptor of the file would do.
        """
        if sys.platform != "linux":  # Descriptors of folders lead into them there alone
            return str(self.path / name), {}
        return f"folder/{name}", {"folder": self.handle}

    def free_name(self, stem: str, ending: str) -> str:
        """Return a name that no file of the folder has."""
        taken = set(os.listdir(self.handle))
        names = (f"{stem}{'' if number == 1 else f'-{number}'}{ending}" for number in range(1, 10_000))
        return next(name for name in names if name not in taken)


def kind_of(name: str, head: bytes, size: int) -> str:
    """Return what a file is by its name and first bytes, without reading it.

    ``model`` is what an audit may be able to read; ``pickle``, ``image``, ``table``, ``page`` and ``large`` are not
    audited; the name of a schema of Glassine, such as ``domain``, is a file that goes with a model.
    """
    ending = os.path.splitext(name)[1].lower()
    zipped = head.startswith(b"PK\x03\x04") and ending not in (".skops", ".zip")
    if ending in PICKLES or head[:1] == b"\x80" or (zipped and ending in (".npz", ".npy", "")):
        return "pickle"
    if any(head.startswith(magic) for magic in IMAGES) or head.startswith(b"%PDF") or ending == ".svg":
        return "image"
    if ending in RECORDS or ending in (".xlsx", ".xls", ".ods"):
        return "table"
    if ending in (".html", ".htm"):
        return "page"
    if head.startswith(b"SQLite format 3\0"):
        return "database"
    if size > LARGEST_MODEL:
        return "large"
    schema = _schema(head[:HEAD])
    return "model" if schema in ("model", "summary", "surrogates", "signed-release") else schema


def _schema(head: bytes) -> str:
    """Return the schema that the object itself states at the top, ``model`` if none: those of its parts say nothing."""
    depth = 0
    for token in TOKEN.finditer(head if head.lstrip().startswith(b"{") else b""):
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and (match := SCHEMA.match(head, token.start())):
            return match[1].decode()
    return "model"
