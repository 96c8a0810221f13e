"""Faults that are put into good files: of bytes, of numbers, of the structure of JSON and of archives."""

from __future__ import annotations

import io
import json
import random
import re
import struct
import warnings
import zipfile
import zlib
from typing import Any

__all__ = ["grown", "mutated"]

NUMBERS = (
    *(
        "0",
        "-1",
        "-0",
        "1e999",
        "-1e999",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e-400",
        "0.1",
        "9" * 400,
        "9" * 5000,
        "-" + "9" * 30,
    ),
    *("9007199254740993", "2147483648", "-2147483649", "18446744073709551616", "1e308", "0x10", "1_0", "٣", "true"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 10**400, -(10**400), 0.5, -0.0, 1e308, 5e-324, 1e300, "", "x"),
    *(
        "NaN",
        "\0",
        "\ud800",
        "a" * 5000,
        [],
        {},
        [[]],
        [None],
        {"a": None},
        [0, 1],
        ["0"],
        "age",
        "1e5",
        [1e308, -1e308],
    ),
)
PIECES = (
    *(
        b"\0",
        b"\xff",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\n",
        b"\r",
        b"\t",
        b" " * 400,
        b"\n" * 400,
        b"(",
        b")",
        b"[",
        b"]",
    ),
    *(
        b"{",
        b"}",
        b'"',
        b"\\",
        b"<",
        b">",
        b"&",
        b"=",
        b":",
        b"|   ",
        b"|",
        b"*",
        b"/",
        b",",
        b";",
        b"=" * 400,
        b"<" * 400,
    ),
    *(
        b"((((((((" * 40,
        b"[" * 3000,
        b"{" * 3000,
        b"| " * 300,
        b"<a>" * 3000,
        b"not " * 200,
        b" or missing" * 60,
        b"\x80",
    ),
    *(
        "\u2028".encode(),
        "٣".encode(),
        "é".encode("latin-1"),
        "x".encode("utf-16"),
        b"1e999",
        b"-",
        b"nan",
        b"inf",
        b"%s",
    ),
)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return a file with a few faults: of bytes, of numbers, of the structure of its JSON or of its archive."""
    if data.startswith(b"PK") and rng.random() < 0.7:
        try:
            return _archive(data, rng)
        except (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, EOFError, struct.error, RuntimeError):
            pass  # it is damaged already
    if data.lstrip()[:1] in (b"{", b"[") and rng.random() < 0.7:
        try:
            return _json(json.loads(data), rng)
        except (ValueError, RecursionError):
            pass
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        data = _bytes(data, rng)
    return data


def _bytes(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    to = min(len(data), at + rng.choice((1, 1, 2, 5, 20, 100)))
    kind = rng.randrange(10)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + rng.choice(PIECES) + data[at:]
    if kind == 2:
        return data[:at] + data[to:]
    if kind == 3:
        return data[:at] + data[at:to] * rng.choice((2, 3, 50)) + data[to:]
    if kind == 4:
        other = rng.randrange(len(data) + 1)
        return data[:at] + data[other : other + to - at] + data[to:]
    if kind == 5:
        return _number(data, rng)
    if kind == 6:
        lines = data.split(b"\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[i], lines[j] = (lines[j], lines[i]) if rng.random() < 0.5 else (lines[j], lines[j])
        return b"\n".join(lines)
    if kind == 7:
        return _encoded(data, rng)
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if out:
            place = rng.randrange(len(out))
            out[place] = rng.choice((rng.randrange(256), out[place] ^ (1 << rng.randrange(8))))
    return bytes(out)


def _number(data: bytes, rng: random.Random) -> bytes:
    found = list(re.finditer(rb"-?[0-9]+(?:\.[0-9]+)?", data[:100_000]))
    if not found:
        return data
    one = rng.choice(found)
    return data[: one.start()] + rng.choice(NUMBERS).encode() + data[one.end() :]


def _encoded(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-32", "latin-1", "utf-8-sig", "cp037")), "replace")


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in plain JSON values: its container and its key."""
    out: list[tuple[Any, Any]] = []
    stack = [value]
    while stack and len(out) < 20_000:
        part = stack.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        out += [(part, key) for key in keys]
        stack += [part[key] for key in keys]
    return out


def _json(value: Any, rng: random.Random) -> bytes:
    try:
        return _changed(value, rng)
    except RecursionError:
        return b'{"a": ' * 3000


def _changed(value: Any, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = _places(value)
        if not places:
            break
        holder, key = rng.choice(places)
        kind = rng.randrange(7)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            other, name = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[name])) if name in _keys(other) else None
        elif kind == 2 and isinstance(holder, dict):
            holder[rng.choice(("x", "schema", "nodes", "rules", "", str(key)[::-1], "é"))] = holder.pop(key)
        elif kind == 3 and isinstance(holder, list):
            holder.insert(key, rng.choice(VALUES))
        elif kind == 4 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = rng.choice(
                (holder[key] + 1, -holder[key], holder[key] * 10**9, str(holder[key]), [holder[key]])
            )
        elif kind == 5:
            for _ in range(rng.choice((1, 50, 900, 2000))):
                holder[key] = [holder[key]]
        else:
            holder[key] = rng.choice(VALUES)
    text = json.dumps(value)
    if rng.random() < 0.1:  # a key twice
        text = re.sub(r'\{("[^"]*": )', r"{\g<1>0, \g<1>", text, count=1)
    data = text.encode("utf-8", "replace")
    return _number(data, rng) if rng.random() < 0.3 else data


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def _archive(data: bytes, rng: random.Random) -> bytes:
    """Return a zip archive with a damaged, lying, repeated, foreign or hugely inflating member."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    if not members:
        raise ValueError("the archive is empty")
    name = rng.choice(list(members))
    kind = rng.randrange(12)
    if kind == 0:
        members[name] = b" " * (30 * 2**20) + members[name]
    elif kind == 1:
        members["../../" + name] = members[name]
    elif kind == 2:
        del members[name]
    elif kind == 3 and name.endswith(".npy"):
        shape = rng.choice((b"(99999999999,)", b"(1, 99999)", b"(-1,)", b"()", b"(0,)"))
        members[name] = re.sub(rb"\([0-9, ]*\), *\}", shape + b", }", members[name])
    elif name == "schema.json":
        members[name] = _json(json.loads(members[name]), rng)
    else:
        members[name] = _bytes(members[name], rng)
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as new:
            for member, content in members.items():
                new.writestr(member, content)
                if rng.random() < 0.03:
                    new.writestr(member, content[::-1])
    made = out.getvalue()
    return _bytes(made, rng) if rng.random() < 0.2 else made


def grown(data: bytes, rng: random.Random, size: int) -> bytes:
    """Return a good file with one piece of it repeated up to a size: a line, an entry, or any part."""
    mark = rng.choice((b"\n", b",", b" ", b"<", b"]", b"[", b'"', b""))
    places = [found.start() for found in re.finditer(re.escape(mark), data)] if mark else []
    if len(places) < 2:
        places = [rng.randrange(len(data)), rng.randrange(len(data))]
    first = rng.randrange(len(places))
    start, end = sorted((places[first], places[min(len(places) - 1, first + rng.choice((1, 1, 1, 2, 5)))]))
    piece = data[start:end] or data[start : start + 1]
    return data[:start] + piece * max(2, (size - len(data)) // len(piece)) + data[end:]
