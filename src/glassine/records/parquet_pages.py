"""The footer of a Parquet file and the headers of its pages: what they unpack to, and which columns are texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from mmap import mmap
from os import SEEK_END
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

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
Form: TypeAlias = "dict[int, Form] | list[dict[int, Form]] | None"
"""What is wanted of a value: fields of a structure, of each structure of a list, or a whole number."""
CHUNK: dict[int, Form] = {3: {3: [], 7: None, 9: None, 11: None}}
"""Of a column in a row group: its path, its bytes, and where its pages and its dictionary begin."""
FOOTER: dict[int, Form] = {4: [{1: [CHUNK], 3: None}], ENCRYPTION: {}}
"""Of a footer: the row groups, with their columns and numbers of rows, and how columns are encrypted."""
PAGE: dict[int, Form] = {2: None, 3: None, 4: None}
"""Of the header of a page: to how many bytes it unpacks, how many it takes, and their checksum, where there is one."""
CHECKSUM = 4
"""Field of the header of a page: what CRC-32 makes of its bytes, as a signed number."""
DAMAGES = (IndexError, KeyError, OverflowError, TypeError, ValueError)
"""What reading of bytes that are no footer ends in."""
TEXTS = {(6, 0): 20 << 1, (10, 0x1C): 0xDC}
"""What declares a column as text, by field and byte of its value, and what declares it as bytes in its place (BSON)."""


def _heads(*kinds: int) -> bytes:
    """Return a set of a regular expression: how fields of some kinds begin that follow the one before."""
    return b"[%s]" % b"".join(rb"\x%02x" % (step << 4 | kind) for step in range(1, 16) for kind in kinds)


RUN = re.compile(
    rb"(?:%s[\x80-\xff]*+[\x00-\x7f]|%s|%s(?:%s))*+"
    % (_heads(*WHOLE), _heads(*BOOLEANS), _heads(TEXT), b"|".join(rb"\x%02x.{%d}" % (n, n) for n in range(17))),
    flags=re.DOTALL,
)
"""Fields of a structure that are whole numbers, truth values or short texts, one behind another: most of all."""


def unpacked(data: bytes | mmap, path: Path) -> tuple[int, int]:
    """Return how many rows a file has, and to how many bytes the pages of its flat columns unpack.

    A dictionary of one long text is a page like others, however few bytes it is packed into.

    Raises
    ------
    UnreadableFileError
        If the footer, or the header of a page, is none; if a page has a checksum that its bytes have not.
    """
    end = len(data) - TAIL
    try:
        footer, _ = _structure(data, end - int.from_bytes(data[end : end + 4], "little"), FOOTER)
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
            length, _, at = _list(data, start)
            for _ in range(length):
                for field, place in _fields(data, at):
                    if (field, data[place]) in TEXTS:
                        out[place] = TEXTS[field, data[place]]
                at = _behind(data, at, STRUCTURE, 0)
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
        at = _behind(data, at, kind, 0)


def check_plain(path: Path) -> None:
    """Raise UnreadableFileError if columns of a file are encrypted, or its footer is none; no page is read."""
    with path.open("rb") as stream:
        end = stream.seek(-TAIL, SEEK_END)
        stream.seek(end - int.from_bytes(stream.read(4), "little"))
        try:
            footer, _ = _structure(stream.read(end - stream.tell()), 0, FOOTER)
        except DAMAGES:
            raise _damaged(path) from None
    if ENCRYPTION in footer:
        raise _encrypted(path)


def _damaged(path: Path) -> UnreadableFileError:
    return UnreadableFileError(f"the footer of {path}, or a page, is damaged.", remedy="Write it again.", path=path)


def _encrypted(path: Path) -> UnreadableFileError:
    return UnreadableFileError(f"columns of {path} are encrypted.", remedy="Write it without encryption.", path=path)


def _pages(data: bytes | mmap, chunk: Mapping[int, Any]) -> Iterator[int]:
    """Yield to how many bytes each page of a column unpacks."""
    at = chunk.get(11) or chunk[9]  # the dictionary, where there is one, comes before what refers to it
    end = at + chunk[7]
    while at < end:
        header, at = _structure(data, at, PAGE)
        if min(header[2], header[3]) < 0:
            raise ValueError("a page has a size below zero")
        yield header[2]
        start, at = at, at + header[3]
        if at > len(data):
            raise ValueError("a page ends behind the file")
        if CHECKSUM in header and crc32(data[start:at]) != header[CHECKSUM] % 2**32:
            raise ValueError("a page has another checksum")


def _structure(data: bytes | mmap, at: int, form: Mapping[int, Form]) -> tuple[dict[int, Any], int]:
    """Return the fields of a structure that a form names, by their numbers, and where it ends."""
    out: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        kind, step, at = head & 15, head >> 4, at + 1
        if step:
            field += step
        else:
            number, at = _number(data, at)
            field = number >> 1
        if field not in form:
            # Most fields of tens of thousands of columns are whole numbers, texts of a few bytes and structures.
            if kind in WHOLE and data[at] < 128:
                at += 1
            else:
                at = _behind(data, at, kind, 0)
            continue
        wanted = form[field]
        if kind in WHOLE and wanted is None:
            number, at = (data[at], at + 1) if data[at] < 128 else _number(data, at)
            out[field] = number >> 1 ^ -(number & 1)
        elif kind == STRUCTURE and isinstance(wanted, dict):
            out[field], at = _structure(data, at, wanted)
        elif kind in LISTS and isinstance(wanted, list):
            length, inner, at = _list(data, at)
            several: list[Any] = []
            for _ in range(length):
                if inner == STRUCTURE and wanted:
                    one, at = _structure(data, at, wanted[0])
                    several.append(one)
                else:
                    at = _behind(data, at, inner, 0)
                    several.append(None)
            out[field] = several
        else:
            raise ValueError(f"field {field} is not of its kind")
    return out, at + 1


def _behind(data: bytes | mmap, at: int, kind: int, depth: int) -> int:
    """Return where a value ends."""
    if kind == TEXT:
        length, at = (data[at], at + 1) if data[at] < 128 else _number(data, at)
        return at + length
    if kind == STRUCTURE:
        if depth > DEEPEST:
            raise ValueError("structures lie too deep in one another")
        while head := data[at := RUN.match(data, at).end()]:  # type: ignore[union-attr]  # it matches no bytes, too
            at += 1
            if not head >> 4:
                _, at = _number(data, at)
            at = _behind(data, at, head & 15, depth + 1)
        return at + 1
    if kind in WHOLE:
        return _number(data, at)[1]
    if kind in BOOLEANS:
        return at
    if kind in SIZES:
        return at + SIZES[kind]
    if kind in LISTS:
        length, inner, at = _list(data, at)
        kinds: tuple[int, ...] = (BYTE if inner in BOOLEANS else inner,)
    elif kind == MAP:
        length, at = _number(data, at)
        kinds = (data[at] >> 4, data[at] & 15) if length else ()
        kinds, at = tuple(BYTE if one in BOOLEANS else one for one in kinds), at + bool(length)
    else:
        raise ValueError(f"no kind of value has the number {kind}")
    if length > len(data) or depth > DEEPEST:
        raise ValueError("a list is longer than the file")
    for _ in range(length):
        for one in kinds:
            at = _behind(data, at, one, depth + 1)
    return at


def _list(data: bytes | mmap, at: int) -> tuple[int, int, int]:
    """Return how many values a list has, their kind, and where the first begins."""
    length, kind, at = data[at] >> 4, data[at] & 15, at + 1
    if length == 15:
        length, at = _number(data, at)
    if length > len(data):
        raise ValueError("a list is longer than the file")
    return length, kind, at


def _number(data: bytes | mmap, at: int) -> tuple[int, int]:
    """Return a whole number of seven bits a byte, and where it ends."""
    number, shift = data[at] & 127, 7
    while data[at] & 128:
        at += 1
        number |= (data[at] & 127) << shift
        shift += 7
    return number, at + 1
