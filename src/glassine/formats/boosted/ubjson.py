"""Universal Binary JSON, in which XGBoost writes its models: bytes to plain values."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from glassine.errors import UnreadableFileError
from glassine.files import MAX_VALUES

NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
"""Markers of numbers, and how their bytes are to be read."""
CONSTANTS = {"Z": None, "T": True, "F": False}
DEEPEST = 64
NUMBER, TEXT, LIST, OBJECT = 40, 70, 80, 200
"""Bytes of memory that each takes, as in :data:`glassine.files.MARKS`."""


def is_ubjson(data: bytes) -> bool:
    """Return whether bytes start as an object whose first key has fewer than nine letters, or a long length."""
    return len(data) > 2 and data[:1] == b"{" and data[1:2] in b"UiIlL" and data[2] < 9


def parse_ubjson(data: bytes, *, path: object = "the file") -> Any:
    """Return the value of a file in Universal Binary JSON."""
    # Numbers of single precision become the shortest decimals that mean them, as in the JSON of the same model.
    try:
        parser = _Parser(data)
        value = parser.value(parser.marker(), 0)
        if parser.place != len(data):
            raise ValueError(f"{len(data) - parser.place} bytes stand behind its end")
        return value
    except (ValueError, IndexError, OverflowError, struct.error) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is cut short"
        raise UnreadableFileError(f"{path} is not valid UBJSON: {reason}.", path=path) from None


def _decimals(values: Any) -> list[float]:
    """Return numbers of single precision as their shortest decimals."""
    return [float(str(value)) for value in values]


class _Parser:
    """A place in the bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place, self.memory = data, 0, 0

    def take_memory(self, n: int) -> None:
        """Count the memory of what is about to be made."""
        self.memory += n
        if self.memory > MAX_VALUES:
            raise ValueError(f"its values would take more than {MAX_VALUES:,} bytes of memory")

    def take(self, n: int) -> bytes:
        if not 0 <= n <= len(self.data) - self.place:
            raise ValueError("it is cut short")
        self.place += n
        return self.data[self.place - n : self.place]

    def marker(self) -> str:
        mark = "N"
        while mark == "N":  # says nothing
            mark = self.take(1).decode("latin-1")
        return mark

    def peek(self) -> str:
        return self.data[self.place : self.place + 1].decode("latin-1")

    def whole(self) -> int:
        mark = self.marker()
        if mark not in "iUIlL":
            raise ValueError(f"a length is marked {mark!r}")
        return int(np.frombuffer(self.take(np.dtype(NUMBERS[mark]).itemsize), NUMBERS[mark])[0])

    def text(self) -> str:
        try:
            self.take_memory(TEXT)
            return self.take(self.whole()).decode()
        except UnicodeDecodeError:
            raise ValueError("a text in it is not UTF-8") from None

    def value(self, mark: str, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")
        if mark in NUMBERS:
            return self.numbers(mark, 1)[0]
        if mark in CONSTANTS:
            self.take_memory(NUMBER)
            return CONSTANTS[mark]
        if mark == "S":
            return self.text()
        if mark == "C":
            self.take_memory(TEXT)
            return self.take(1).decode("latin-1")
        if mark == "[":
            return self.array(depth)
        if mark == "{":
            return self.object(depth)
        raise ValueError(f"it has the marker {mark!r}")

    def numbers(self, mark: str, n: int) -> list[Any]:
        kind = np.dtype(NUMBERS[mark])
        self.take_memory(n * NUMBER)
        array = np.frombuffer(self.take(n * kind.itemsize), kind)
        return _decimals(array.astype(np.float32)) if mark == "d" else list(array.tolist())

    def header(self) -> tuple[str | None, int | None]:
        """Return the type and the number of the entries, where they are stated."""
        kind = None
        if self.peek() == "$":
            self.take(1)
            kind = self.take(1).decode("latin-1")
        if self.peek() != "#":
            if kind is not None:
                raise ValueError("it states a type without a number of entries")
            return None, None
        self.take(1)
        n = self.whole()
        # Entries without bytes of their own could claim any number.
        if not 0 <= n <= len(self.data) - self.place or (kind is not None and kind in "ZTFN"):
            raise ValueError(f"it claims {n} entries")
        return kind, n

    def array(self, depth: int) -> list[Any]:
        self.take_memory(LIST)
        kind, n = self.header()
        if kind is not None and n is not None and kind in NUMBERS:
            return self.numbers(kind, n)
        out: list[Any] = []
        while n is None or len(out) < n:
            mark = kind or self.marker()
            if n is None and mark == "]":
                break
            out.append(self.value(mark, depth + 1))
        return out

    def object(self, depth: int) -> dict[str, Any]:
        self.take_memory(OBJECT)
        kind, n = self.header()
        out: dict[str, Any] = {}
        while n is None or len(out) < n:
            if n is None and self.peek() == "}":
                self.take(1)
                break
            key = self.text()
            if key in out:
                raise ValueError(f"the key {key!r:.40} stands twice in one object")
            out[key] = self.value(kind or self.marker(), depth + 1)
        return out
