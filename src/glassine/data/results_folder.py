"""A folder of results: each is appended once it is there, and none is taken for that of another run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Generic, TypeVar

from glassine.codec import Codec, decoded
from glassine.errors import GlassineError, UnreadableFileError
from glassine.files import parse_json, read_bytes, read_json, unwritable, write_json

RESULTS = "results.jsonl"

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultKind(Generic[R]):
    """What a folder holds the results of."""

    name: str  # In words, such as "comparison"
    identity: str  # Name of the file that holds what results must agree on
    schema: str  # Name and version of the form of the results
    codec: Codec[R]  # Of a result
    key: Callable[[R], Hashable]  # Returns by what a result is known


class RunStore(Generic[R]):
    """The results of one run in a folder, to be used in a ``with`` block.

    A run that was killed while it wrote leaves half a line at the end, which is dropped. Anything else that is not as
    it was written is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], kind: ResultKind[R], identity: Mapping[str, Any]) -> None:
        # folder: the folder; it is made if it does not exist.
        # kind: what they are the results of.
        # identity: what results must agree on: number of records, domain, options, versions. It is written to the
        # folder, so that it holds no digest of records.
        # Raises UnreadableFileError if the folder holds something else, results of another run, or damaged ones; or
        # cannot be used.
        self.folder = Path(folder)
        self.kind = kind
        self.identity = json.loads(json.dumps({"schema": kind.schema, **identity}, allow_nan=False))
        self._seal = hashlib.sha256(_canonical(self.identity)).hexdigest()
        self.results: dict[Hashable, R] = {}
        self._stream: BinaryIO | None = None

    def __enter__(self) -> RunStore[R]:
        try:
            self.folder.mkdir(exist_ok=True)
            files = sorted(path.name for path in self.folder.iterdir())
        except OSError as error:
            raise UnreadableFileError(
                f"cannot use the folder {self.folder}: {error.strerror or error}.",
                remedy="Name another.",
                path=self.folder,
            ) from None
        if self.kind.identity in files:
            self._check_identity()
        elif files:
            raise UnreadableFileError(
                f"{self.folder} is not a folder of results: it holds {files[0]!r} but no {self.kind.identity}.",
                remedy="Name an empty or a new folder.",
                path=self.folder,
            )
        else:
            write_json(self.identity, self.folder / self.kind.identity)
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def add(self, result: R) -> None:
        """Append a result; it is on the disk when this returns."""
        self.results[self.kind.key(result)] = result
        if self._stream is None:
            raise UnreadableFileError(f"{self.folder} is not open.", remedy="Use it in a with block.", path=self.folder)
        plain = self.kind.codec.encode(result)
        line = json.dumps({"result": plain, "sum": self._sum(plain)}, ensure_ascii=True, allow_nan=False) + "\n"
        try:
            self._stream.write(line.encode())
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise unwritable(self.folder / RESULTS, error) from None

    def _check_identity(self) -> None:
        path = self.folder / self.kind.identity
        stored = read_json(path)
        if stored == self.identity:
            return
        other = stored if isinstance(stored, dict) else {}
        changed = sorted(name for name in {*other, *self.identity} if other.get(name) != self.identity.get(name))
        raise UnreadableFileError(
            f"{self.folder} holds the results of another {self.kind.name}: {', '.join(changed) or 'its form'} differ.",
            remedy="Name another folder, or repeat what it was made for.",
            path=path,
        )

    def _open(self) -> None:
        path = self.folder / RESULTS
        try:
            # A link can lead to a file that holds no results, which would be cut off after its last line.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            self._stream = os.fdopen(os.open(path, flags, 0o666), "ab")
        except OSError as error:
            raise unwritable(path, error) from None
        try:
            _lock(self._stream, self.folder)
            data = read_bytes(path)
            whole = data.rfind(b"\n") + 1
            for number, line in enumerate(data[:whole].splitlines(), start=1):
                self._take(line, number, path)
            self._stream.truncate(whole)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def _take(self, line: bytes, number: int, path: Path) -> None:
        damaged = UnreadableFileError(
            f"line {number} of {path} is not as it was written.",
            remedy="Delete the line, or the folder; what is missing is measured again.",
            path=path,
        )
        try:
            entry = parse_json(line.decode(), path=path)
            plain = entry["result"]
            if entry["sum"] != self._sum(plain):
                raise damaged
            result = decoded(self.kind.codec, plain, "the result", GlassineError)
        except (UnicodeDecodeError, GlassineError, KeyError, TypeError):
            raise damaged from None
        if self.results.setdefault(self.kind.key(result), result) != result:
            raise damaged

    def _sum(self, plain: Mapping[str, Any]) -> str:
        return hashlib.sha256(self._seal.encode() + _canonical(plain)).hexdigest()[:32]


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def _lock(stream: BinaryIO, folder: Path) -> None:
    """Refuse a folder that another run writes to, where the system has such locks."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - not on Windows
        return
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UnreadableFileError(
            f"another run writes to {folder}.", remedy="Wait until it has ended, or name another folder.", path=folder
        ) from None
