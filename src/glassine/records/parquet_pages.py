"""The footer of a Parquet file and the headers of its pages: what they unpack to, and which columns are texts."""

from __future__ import annotations

from collections.abc import Iterator
from os import SEEK_END
from pathlib import Path
from typing import Any

from glassine.errors import UnreadableFileError

TAIL = 8
"""Bytes behind the footer: its length and a mark."""
ENCRYPTION = 8
"""The field of the footer that says how columns are encrypted."""
DEEPEST = 16
"""How far structures of a footer lie in one another, at most; the format has six levels."""
BOOLEANS, BYTE, WHOLE, DOUBLE, TEXT, LISTS, MAP, STRUCTURE, UUID = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 11, 12, 13
SIZES = {BYTE: 1, DOUBLE: 8, UUID: 16}
"""Kinds of values in Thrift's compact protocol, and the bytes of those of one size."""
SCHEMA = 2
"""Field of a footer: its columns."""
DAMAGES = (IndexError, KeyError, TypeError, ValueError)
"""What reading of bytes that are no footer ends in."""
TEXTS = {(6, 0): 20 << 1, (10, 0x1C): 0xDC}
"""What declares a column as text, by field and byte of its value, and what declares it as bytes in its place (BSON)."""


def unpacked(data: bytes, path: Path) -> tuple[int, int]:
    """Return how many rows a file has, and to how many bytes the pages of its flat columns unpack.

    A dictionary of one long text is a page like others, however few bytes it is packed into.

    Raises
    ------
    UnreadableFileError
        If the footer, or the header of a page, is none.
    """
    end = len(data) - TAIL
    try:
        footer, _ = _structure(data, end - int.from_bytes(data[end : end + 4], "little"), 0)
        encrypted, groups = ENCRYPTION in footer, () if ENCRYPTION in footer else footer[4]
        chunks = (chunk[3] for group in groups for chunk in group[1])
        # The path of a column in lists or structures has several names.
        pages = (page for chunk in chunks if len(chunk[3]) == 1 for page in _pages(data, chunk))
        size = sum(group[3] for group in groups), sum(pages)
    except DAMAGES:
        raise _damaged(path) from None
    if encrypted:
        raise _encrypted(path)
    return size


def texts_as_bytes(data: bytes) -> bytes:
    """Return a file in whose footer texts are declared as bytes: an engine refuses a whole file for a text of none.

    Raises
    ------
    IndexError, ValueError
        If the footer is none.
    """
    end, out = len(data) - TAIL, bytearray(data)
    begin = end - int.from_bytes(data[end : end + 4], "little")
    for number, start in _fields(data, begin):
        if number == SCHEMA:
            length, at = data[start] >> 4, start + 1
            if length == 15:
                length, at = _number(data, at)
            for _ in range(length):
                for field, place in _fields(data, at):
                    if (field, data[place]) in TEXTS:
                        out[place] = TEXTS[field, data[place]]
                _, at = _structure(data, at, 0)
    # What an engine stores of its own types would declare them as texts again.
    out[begin:end] = bytes(out[begin:end]).replace(b"ARROW:schema", b"ARROW:hidden")
    return bytes(out)


def _fields(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the fields of a structure, and where their values start."""
    field = 0
    while head := data[at]:
        kind, step, at = head & 15, head >> 4, at + 1
        if step:
            field += step
        else:
            number, at = _number(data, at)
            field = number >> 1
        yield field, at
        at = at if kind in BOOLEANS else _value(data, at, kind, 0)[1]


def check_plain(path: Path) -> None:
    """Raise UnreadableFileError if columns of a file are encrypted, or its footer is none; no page is read."""
    with path.open("rb") as stream:
        end = stream.seek(-TAIL, SEEK_END)
        stream.seek(end - int.from_bytes(stream.read(4), "little"))
        try:
            footer, _ = _structure(stream.read(end - stream.tell()), 0, 0)
        except DAMAGES:
            raise _damaged(path) from None
    if ENCRYPTION in footer:
        raise _encrypted(path)


def _damaged(path: Path) -> UnreadableFileError:
    return UnreadableFileError(
        f"the footer of {path}, or the header of a page, cannot be read.", remedy="Write it again.", path=path
    )


def _encrypted(path: Path) -> UnreadableFileError:
    return UnreadableFileError(f"columns of {path} are encrypted.", remedy="Write it without encryption.", path=path)


def _pages(data: bytes, chunk: dict[int, Any]) -> Iterator[int]:
    """Yield to how many bytes each page of a column unpacks."""
    at = chunk.get(11) or chunk[9]  # the dictionary, where there is one, comes before what refers to it
    end = at + chunk[7]
    while at < end:
        header, at = _structure(data, at, 0)
        if min(header[2], header[3]) < 0:
            raise ValueError("a page has a size below zero")
        yield header[2]
        at += header[3]


def _structure(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """Return the whole numbers, lists and structures of a structure by their numbers, and where it ends."""
    if depth > DEEPEST:
        raise ValueError("structures lie too deep in one another")
    out: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        kind, step, at = head & 15, head >> 4, at + 1
        if step:
            field += step
        else:
            number, at = _number(data, at)
            field = number >> 1
        # As _value and _number, for most values of tens of thousands of columns without a call.
        if kind in WHOLE:
            byte, at, shift = data[at], at + 1, 7
            number = byte & 127
            while byte > 127:
                byte, at = data[at], at + 1
                number |= (byte & 127) << shift
                shift += 7
            out[field] = number >> 1 ^ -(number & 1)
        elif kind == TEXT and data[at] < 128:
            at += data[at] + 1
        elif kind == STRUCTURE:
            out[field], at = _structure(data, at, depth + 1)
        elif kind not in BOOLEANS:
            out[field], at = _value(data, at, kind, depth)
    return out, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind == STRUCTURE:
        return _structure(data, at, depth + 1)
    if kind == TEXT:
        length, at = _number(data, at)
        return None, at + length
    if kind in LISTS:
        head, at = data[at], at + 1
        length, kind = head >> 4, head & 15
        if length == 15:
            length, at = _number(data, at)
        return _several(data, at, (BYTE if kind in BOOLEANS else kind,) * length, depth)
    if kind == MAP:
        length, at = _number(data, at)
        kinds = (data[at] >> 4, data[at] & 15) if length else (BYTE, BYTE)
        return _several(data, at + bool(length), kinds * length, depth)
    if kind in SIZES:
        return None, at + SIZES[kind]
    if kind not in WHOLE:
        raise ValueError(f"no kind of value has the number {kind}")
    number, at = _number(data, at)
    return number >> 1 ^ -(number & 1), at


def _several(data: bytes, at: int, kinds: tuple[int, ...], depth: int) -> tuple[list[Any], int]:
    if len(kinds) > len(data) or depth > DEEPEST:
        raise ValueError("a list is longer than the file")
    out = []
    for kind in kinds:
        one, at = _structure(data, at, depth + 1) if kind == STRUCTURE else _value(data, at, kind, depth + 1)
        out.append(one)
    return out, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a whole number of seven bits a byte, and where it ends."""
    number, shift = data[at] & 127, 7
    while data[at] & 128:
        at += 1
        number |= (data[at] & 127) << shift
        shift += 7
    return number, at + 1
