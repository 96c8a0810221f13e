"""Files: read whole with a clear error, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassine.errors import UnreadableFileError

__all__ = [
    "MAX_BYTES",
    "FileContent",
    "parse_json",
    "read_bytes",
    "read_json",
    "read_once",
    "read_text",
    "write_bytes",
    "write_json",
    "write_text",
]

MAX_BYTES = 200_000_000
"""Most bytes of a model, a domain or a policy."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FileContent(os.PathLike[str]):
    """A file that was read once, so that what is parsed and what is hashed are the same bytes.

    It stands for its path: :func:`read_bytes`, :func:`read_text` and :func:`read_json` return what was read.

    Attributes
    ----------
    path : Path
        Where it was read.
    data : bytes
        What was read.
    """

    path: Path
    data: bytes

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes, hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


def read_once(path: str | os.PathLike[str], *, most: int = MAX_BYTES) -> FileContent:
    """Read a file that is to be parsed and hashed.

    Parameters
    ----------
    path : path
        The file.
    most : int, default=200,000,000
        Most bytes that are read.

    Raises
    ------
    UnreadableFileError
        If the file cannot be opened, or is larger.
    """
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {os.fspath(path)}: {error.strerror or error}.", path=path) from None
    if len(data) > most:
        raise UnreadableFileError(
            f"{os.fspath(path)} is larger than {most:,} bytes, which is the most that is read. Give a smaller file.",
            path=path,
        )
    return FileContent(path=Path(path), data=data)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return a file's bytes, of one that was read once those that were read.

    Raises
    ------
    UnreadableFileError
        If the file cannot be opened.
    """
    if isinstance(path, FileContent):
        return path.data
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"cannot read {os.fspath(path)}: {error.strerror or error}.", path=path) from None


def read_text(path: str | os.PathLike[str]) -> str:
    """Return a file's text, UTF-8.

    Raises
    ------
    UnreadableFileError
        If the file cannot be opened or is not UTF-8 text.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFileError(
            f"{os.fspath(path)} is not UTF-8 text. Give a JSON, text or skops file.", path=path
        ) from None


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
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UnreadableFileError(f"{os.fspath(path)} is not valid JSON: {reason}.", path=path) from None


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return the value of a JSON file."""
    return parse_json(read_text(path), path=path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text file through a temporary neighbour, so that readers see the old file or the whole new one."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise UnreadableFileError(f"cannot write {os.fspath(path)}: {error}.", path=path) from None
    write_bytes(data, path)


def write_bytes(data: bytes, path: str | os.PathLike[str]) -> None:
    """Write a binary file, whole or not at all, as :func:`write_text` does."""
    target = Path(path)
    if target.exists() and not target.is_file():
        raise UnreadableFileError(f"cannot write {target}: it is not a regular file. Name another.", path=path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise UnreadableFileError(f"cannot write {target}: {error.strerror or error}.", path=path) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise UnreadableFileError(f"cannot write {target}: {error.strerror or error}.", path=path) from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(value: Any, path: str | os.PathLike[str]) -> None:
    """Write plain values as an indented JSON file, whole or not at all."""
    write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", path)
