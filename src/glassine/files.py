"""Files: read whole with a clear error, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassine.errors import GlassineError, UnreadableFileError, parameter

MAX_BYTES = 200_000_000
"""Most bytes of a model, a domain or a policy."""
WIDEST = 4
"""Most bytes that a character of a text takes in memory."""
MAX_VALUES = 250_000_000
"""Most bytes of memory that the values of a JSON file may take, beside the file and its text: together below 1 GB."""
MARKS = {"{": 200, "[": 80, ",": 40, ":": 30, '"': 15}
"""What each mark of a JSON text costs, in bytes: an object of one key, a list of one entry, a number and its place,
what a key takes more than a text, and half a text. Python takes 184, 88, 40, 16 and 29; its parser takes some more."""
PIECE = 1 << 16
PICKLES = (".pkl", ".pickle", ".joblib")
"""Usual ends of the names of pickles, which run code when they are loaded."""
MOST_LINKS = 40
"""Most links on a path that are followed, as on Linux."""
_RECORDED: ContextVar[list[tuple[Path, tuple[int, int]]] | None] = ContextVar("recorded", default=None)
"""Files that are being written, or were, where someone asks for them: path and identity."""
HIDDEN = ".glassine."
"""Start of the name of a file that is being written; one whose process was killed can be deleted."""
FAILING_DISK = "Try again; if it persists, check the disk."
"""What to do about an input/output error: the file may be whole."""
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FileContent(os.PathLike[str]):
    """A file that was read once, so that what is parsed and what is hashed are the same bytes.

    It stands for its path: :func:`read_bytes`, :func:`read_text` and :func:`read_json` return what was read.
    """

    path: Path  # Where it was read
    data: bytes  # What was read

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes, hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


def read_once(path: str | os.PathLike[str], *, most: int | None = None) -> FileContent:
    """Read a file that is to be parsed and hashed."""
    return FileContent(path=Path(path), data=read_bytes(path, most=most))


def read_bytes(path: str | os.PathLike[str], *, most: int | None = None) -> bytes:
    """Return a file's bytes, at most :data:`MAX_BYTES` by default; of one that was read once those that were read."""
    most = MAX_BYTES if most is None else most
    # The bound holds while reading: a device has no size, and a file can grow after it was asked for its own.
    if isinstance(path, FileContent):
        data, size = path.data, len(path.data)
    else:
        try:
            with Path(path).open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                # As much memory is taken as is asked for, so that first no more than the size is.
                data = b"" if size > most else stream.read(size + 1)
                data += stream.read(most + 1 - len(data)) if len(data) > size else b""
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            remedies: dict[type[Exception], str] = {
                IsADirectoryError: "Name a file in it.",
                FileNotFoundError: "Check the path.",
            }
            remedy = remedies.get(type(error), FAILING_DISK if getattr(error, "errno", 0) == errno.EIO else "")
            raise UnreadableFileError(f"cannot read {os.fspath(path)}: {reason}.", remedy=remedy, path=path) from None
    if max(size, len(data)) > most:
        raise UnreadableFileError(
            f"{os.fspath(path)} is larger than {most:,} bytes, which is the most that is read.",
            remedy="Give a smaller file.",
            path=path,
        )
    return data


def read_text(path: str | os.PathLike[str]) -> str:
    """Return a file's text, UTF-8."""
    data = read_bytes(path)
    try:
        return decoded(data, path=path)
    except UnicodeDecodeError:
        raise UnreadableFileError(
            f"{os.fspath(path)} is not UTF-8 text.", remedy="Give a JSON, text or skops file.", path=path
        ) from None


def decoded(data: bytes, *, path: str | os.PathLike[str]) -> str:
    """Return bytes as text, UTF-8, if it takes no more memory than the largest file."""
    if len(data) * WIDEST > MAX_BYTES and not data.isascii():
        width = 4 if _holds(data, range(0xF0, 0x100)) else 2 if _holds(data, range(0xC4, 0x100)) else 1
        if width * len(data.translate(None, bytes(range(0x80, 0xC0)))) > MAX_BYTES:
            raise UnreadableFileError(
                f"the text of {os.fspath(path)} takes more than {MAX_BYTES:,} bytes of memory, as some of its "
                "characters are not Latin.",
                remedy="Give a smaller file.",
                path=path,
            )
    return data.decode("utf-8-sig")


def _holds(data: bytes, codes: range) -> bool:
    return len(data.translate(None, bytes(codes))) < len(data)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"the number {name} is not JSON; numbers must be finite")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"the key {key!r} stands twice in one object")
        out[key] = value
    return out


def parse_json(text: str, *, path: str | os.PathLike[str]) -> Any:
    """Return the value of a JSON text; NaN, infinities and repeated keys are errors."""
    _check_values(text, path)
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
        if SURROGATE.search(text):
            # Part by part: the whole text again would take as much memory as the file.
            for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
                part.encode()
        return value
    except (ValueError, RecursionError) as error:
        reason, cut = "it is nested too deeply" if isinstance(error, RecursionError) else str(error), False
        if isinstance(error, json.JSONDecodeError):
            cut = error.msg.startswith("Unterminated string") or not error.doc[error.pos :].strip()
            reason = "it breaks off" if cut else f"it is wrong at line {error.lineno}, column {error.colno}"
        raise UnreadableFileError(
            f"{os.fspath(path)} is not valid JSON: {reason}.",
            remedy="The file ends too early: copy it whole." if cut else "",
            path=path,
        ) from None


def _check_values(text: str, path: str | os.PathLike[str]) -> None:
    """Refuse a JSON text whose values would take too much memory."""
    if _memory({mark: text.count(mark) for mark in MARKS}) <= MAX_VALUES:
        return
    # Marks within quoted texts cost nothing, so that only the others count, and the quotes.
    counts, quoted, escape = dict.fromkeys(MARKS, 0), False, ""
    for start in range(0, len(text), PIECE):
        piece = escape + text[start : start + PIECE]
        escape = "\\" if (len(piece) - len(piece.rstrip("\\"))) % 2 else ""
        parts = piece.removesuffix(escape).replace("\\\\", "").replace('\\"', "").split('"')
        outside = "".join(parts[quoted::2])
        quoted ^= len(parts) % 2 == 0
        counts['"'] += len(parts) - 1
        for mark in MARKS.keys() - {'"'}:
            counts[mark] += outside.count(mark)
        if _memory(counts) > MAX_VALUES:
            raise UnreadableFileError(
                f"{os.fspath(path)} holds too many values: they would take more than {MAX_VALUES:,} bytes of memory.",
                remedy="Give a smaller file.",
                path=path,
            )


def check_readable(data: bytes, path: str | os.PathLike[str]) -> None:
    """Raise UnreadableFileError if a model's file would be larger than what is read, before it is written."""
    try:
        read_bytes(FileContent(path=Path(path), data=data))
        if data[:1] in (b"{", b"["):
            _check_values(data.decode(), path)
    except UnreadableFileError as error:
        raise unreadable_again(path, error) from None


def unreadable_again(path: str | os.PathLike[str], error: GlassineError) -> UnreadableFileError:
    """Return the error for a file that is not written, as reading it would raise an error."""
    return UnreadableFileError(
        f"cannot write {os.fspath(path)}, as it could not be read again: {error}",
        remedy="Write a smaller model, or another format.",
        path=path,
    )


def _memory(counts: dict[str, int]) -> int:
    return sum(MARKS[mark] * count for mark, count in counts.items())


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return the value of a JSON file."""
    return parse_json(read_text(path), path=path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text file through a temporary neighbour, so that readers see the old file or the whole new one."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        # Only halves of a pair cannot be written; what stands around one may be a record's.
        half = ascii(text[error.start])
        raise UnreadableFileError(
            f"cannot write {os.fspath(path)}: a name or value holds {half}, which is half a character pair.",
            remedy="Rename it.",
            path=path,
        ) from None
    write_bytes(data, path)


def unwritable(path: str | os.PathLike[str], error: OSError) -> UnreadableFileError:
    """Return the error of a file that cannot be written."""
    advice = "Name a file in a folder that exists and that you may write to, with room for it."
    return UnreadableFileError(
        f"cannot write {os.fspath(path)}: {error.strerror or error}.",
        remedy=FAILING_DISK if error.errno == errno.EIO else advice,
        path=path,
    )


def write_bytes(data: bytes, path: str | os.PathLike[str], *, replaces: bool = True) -> None:
    """Write a binary file, whole or not at all, as :func:`write_text` does; an old mode is kept.

    A file that exists is replaced, or an error where ``replaces`` is false. A link is followed, but for one of another
    user in a folder that all may write to, such as /tmp: it could lead to any file of this user.
    """
    try:
        target, mode, masked = followed(path), 0o666, True
        with contextlib.suppress(FileNotFoundError):
            old = target.stat()
            if not stat.S_ISREG(old.st_mode):
                raise UnreadableFileError(
                    f"cannot write {os.fspath(path)}: it is not a regular file.", remedy="Name another.", path=path
                )
            # Who can read what replaces another user's file is not for that user to choose.
            masked = hasattr(os, "geteuid") and old.st_uid != os.geteuid()
            mode = stat.S_IMODE(old.st_mode) & (0o666 if masked else 0o7777)
        if not _put_nameless(data, target, mode, masked=masked, replaces=replaces):
            _put_named(data, target, mode, masked=masked, replaces=replaces)
    except FileExistsError:
        raise UnreadableFileError(
            f"cannot write {os.fspath(path)}: it exists.",
            remedy=f"Name another file, or set {parameter('overwrite')}.",
            path=path,
        ) from None
    except OSError as error:
        raise unwritable(path, error) from None


@contextlib.contextmanager
def recorded() -> Iterator[Callable[[], list[Path]]]:
    """Yield a function that returns the files that were written whole in the block so far, in order."""
    files: list[tuple[Path, tuple[int, int]]] = []
    token = _RECORDED.set(files)

    def written() -> list[Path]:
        paths: dict[Path, None] = {}
        for path, identity in files:
            with contextlib.suppress(OSError):
                status = path.stat()
                if (status.st_dev, status.st_ino) == identity:
                    paths[path] = None
        return list(paths)

    try:
        yield written
    finally:
        _RECORDED.reset(token)


def _record(path: Path, handle: int) -> None:
    """Note a file before it gets its name: a signal may come between the two, so that its identity decides later."""
    if (files := _RECORDED.get()) is not None:
        status = os.fstat(handle)
        files.append((path, (status.st_dev, status.st_ino)))


def followed(path: str | os.PathLike[str]) -> Path:
    """Return where a path leads; raise if a link on it is another user's, in a folder that all may write to."""
    # As Linux does where fs.protected_symlinks is set, which not every system has.
    shared = stat.S_ISVTX | stat.S_IWOTH
    at, *parts = map(Path, Path(path).absolute().parts)
    links = 0
    while parts:
        part, folder = parts.pop(0), at
        at = at.parent if part.name == ".." else at / part
        if not at.is_symlink():
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        of_folder, owner = folder.stat(), at.lstat().st_uid
        if of_folder.st_mode & shared == shared and owner not in (os.geteuid(), of_folder.st_uid):
            raise UnreadableFileError(
                f"cannot write {os.fspath(path)}: {at} is another user's link in a folder that all users may write to.",
                remedy="Name a file in a folder of your own.",
                path=path,
            )
        to = Path(os.readlink(at))
        at, parts = (
            (Path(to.anchor) if to.is_absolute() else folder),
            [*map(Path, to.relative_to(to.anchor).parts), *parts],
        )
    return at


def write_secret(data: bytes, path: str | os.PathLike[str]) -> None:
    """Write a new file that its owner alone can read, whole or not at all; one that exists is not replaced."""
    try:
        if not _put_nameless(data, Path(path), 0o600, masked=False, replaces=False):
            _put_named(data, Path(path), 0o600, masked=False, replaces=False)
    except OSError as error:
        raise unwritable(path, error) from None


def _put_nameless(data: bytes, target: Path, mode: int, *, masked: bool, replaces: bool) -> bool:
    """Write a file that has no name until it is whole; return False where the system has none such."""
    # masked: whether the umask takes rights away from the mode. The system applies it: to look it up is to change it,
    # meanwhile for all threads.
    # A process that is killed leaves nothing, but for the moment in which an old file is replaced.
    try:
        handle = os.open(target.parent, os.O_WRONLY | os.O_TMPFILE, mode if masked else 0o600)
    except (AttributeError, OSError):
        return False
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        if not masked:
            os.fchmod(handle, mode)
        os.fsync(handle)
        _record(target, handle)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            # With a folder, the call follows the link from the number of the file to the file.
            os.link(f"/proc/self/fd/{handle}", target.name, dst_dir_fd=folder)
        except FileExistsError:
            if not replaces:
                raise
            temporary = f"{HIDDEN}{secrets.token_hex(8)}"
            os.link(f"/proc/self/fd/{handle}", temporary, dst_dir_fd=folder)
            try:
                os.replace(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(temporary, dir_fd=folder)
                raise
        except OSError:
            return False
        finally:
            os.close(folder)
    return True


def _put_named(data: bytes, target: Path, mode: int, *, masked: bool, replaces: bool) -> None:
    """Write a file by way of a hidden neighbor."""
    temporary, reserved = target.parent / f"{HIDDEN}{secrets.token_hex(8)}", False
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    handle = os.open(temporary, flags | getattr(os, "O_BINARY", 0), mode if masked else 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
            _record(target, stream.fileno())
        if not masked:
            os.chmod(temporary, mode)
        if not replaces:
            os.close(os.open(target, flags, 0o600))
            reserved = True
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        if reserved:
            target.unlink(missing_ok=True)
        raise


def json_text(value: object) -> str:
    """Return plain values as the text of an indented JSON file."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(value: object, path: str | os.PathLike[str]) -> None:
    """Write plain values as an indented JSON file, whole or not at all."""
    write_text(json_text(value), path)
