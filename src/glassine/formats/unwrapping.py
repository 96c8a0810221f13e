"""What a file holds, out of what wraps it: a skops archive, a pickle, JSON or its binary form."""

from __future__ import annotations

import io
import itertools
import os
import pickletools
import re
import warnings
import zipfile
import zlib
from typing import Any

from glassine.errors import UnreadableFileError, parameter
from glassine.files import decoded, parse_json, read_bytes
from glassine.formats.boosted.ubjson import is_ubjson, parse_ubjson
from glassine.formats.format import BEFORE_JSON, Content
from glassine.formats.near_misses import refuse_near_miss
from glassine.formats.registry import formats, recognized
from glassine.formats.sklearn.older import stated_version, unpickled
from glassine.formats.skops import expanded, read_skops

MAX_LINES = 250_000
"""Most lines of a model in text: each becomes a node or more, which takes a thousand bytes and some 50 microseconds."""
READABLE = "JSON of Glassine, a skops file, or a text or file of another supported program (see the page on formats)"
"""What files are read, as an error lists them."""
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x5d\x00\x00", b"\x04\x22\x4d\x18")
SAVED_BY_R = (b"RDX", b"RDA", b"X\n", b"A\n")
ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")

FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^`]{0,200}\r?\n?")
MOST_FENCES = 20
QUOTED = re.compile(r"[ \t]*(##|#>|>)[ \t]?(?![>#])")
"""What knitr, reprex and mail put before each line of an answer."""
OWN_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*"glassine\.model/')
"""Start of a model as Glassine writes it. No other format is asked: their import takes longer than an audit."""


def unwrapped(path: str | os.PathLike[str], trust_pickle: bool) -> tuple[Content, object]:
    """Return what a file holds, out of what wraps it: a skops archive, a pickle, JSON or its binary form."""
    name, data = os.fspath(path), read_bytes(path)
    if not data.strip():
        raise UnreadableFileError(f"{name} is empty.", remedy=f"Give {READABLE}.", path=path)
    if data.startswith(b"PK"):
        return "object", estimator_in(data, path, trust_pickle)
    own = OWN_JSON.match(data) is not None
    if not own:
        if recognized(data, "bytes") is not None:
            return "bytes", data
        if is_ubjson(data):
            return "values", parse_ubjson(data, path=name)
        if is_pickle(data):
            return "object", estimator_in(data, path, trust_pickle)
    try:
        text = decoded(data, path=path)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        refuse_near_miss(data, "bytes")
        raise UnreadableFileError(
            f"{name} is binary, and no such file that is read.", remedy=f"Give {READABLE}.", path=path
        )
    text = text if own else unpasted(text)
    start = text.lstrip()
    before = () if own else (one for one in formats() if one.rank == BEFORE_JSON and "text" in one.contents)
    if start.startswith(("{", "[")) and not any(one.sniff(start) for one in before):
        refuse_near_miss(start, "text")
        return "values", parse_json(start, path=path)
    if start.count("\n") + start.count("\r") > MAX_LINES:
        raise UnreadableFileError(f"{name} has more than {MAX_LINES:,} lines.", remedy="Give a smaller one.", path=path)
    return "text", text


def unpasted(text: str) -> str:
    """Return a text out of the fences and the marks before its lines with which it was pasted, on the same lines.

    Of several fenced parts it is the first that is a model; a text that is a model as it stands is left so.
    """
    few = text.count("\n") <= MAX_LINES
    lines = text.splitlines(keepends=True) if few and ("```" in text or "~~~" in text) else []
    fences = [at for at, line in enumerate(lines) if FENCE.fullmatch(line)]
    for at, stop in itertools.pairwise([*fences[:MOST_FENCES], len(lines)] if fences else []):
        inside = unpasted("\n" * (at + 1) + "".join(lines[at + 1 : stop]))
        if inside.lstrip().startswith("{") or recognized(inside, "text") is not None:
            return inside
    start = text.lstrip()
    if not few or not (start.startswith(("##", "#>", ">")) or "\n##" in text or "\n#>" in text):
        return text
    lines = text.splitlines(keepends=True)
    marks = [QUOTED.match(line) for line in lines]
    pairs = list(zip(marks, lines, strict=True))
    answer = "".join(line[mark.end() :] if mark else "\n" for mark, line in pairs)
    if all(mark or not line.strip() for mark, line in pairs):
        return answer
    rest = "".join("\n" if mark else line for mark, line in pairs)
    return answer if recognized(rest, "text") is None and recognized(answer, "text") is not None else text


def estimator_in(data: bytes, path: str | os.PathLike[str], trust_pickle: bool) -> Any:
    """Return the object in a skops archive, or in a pickle that is trusted."""
    name = os.fspath(path)
    if data.startswith(b"PK"):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                is_skops = "schema.json" in archive.namelist()
        except Exception:
            raise UnreadableFileError(
                f"{name} is a damaged or truncated zip archive.", remedy="Copy it again.", path=path
            ) from None
        if not is_skops:
            raise UnreadableFileError(
                f"{name} is a zip archive without the schema of a skops file.", remedy=f"Give {READABLE}.", path=path
            )

        return read_skops(data, path)
    if _saved_by_r(data):
        raise UnreadableFileError(
            f"{name} was saved by R, whose objects are not read.",
            remedy="Print the tree in R, and save the text: the page on formats lists the printed trees that are read.",
            path=path,
        )
    if not trust_pickle:
        raise UnreadableFileError(
            f"{name} is a pickle, or compressed like one, and a pickle is code that runs when it is read.",
            remedy="Save the model with skops or as JSON, or ask its publisher to; if you made the file yourself, "
            f"allow it with {parameter('trust_pickle')}.",
            path=path,
        )

    version = ""
    try:
        plain = expanded(data)
        version = stated_version(plain)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return unpickled(plain)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableFileError(
            f"{name} cannot be unpickled: {reason[:200]}." + (f" scikit-learn {version} wrote it." if version else ""),
            remedy=f"Read it where {f'scikit-learn {version}' if version else 'what wrote it'} is installed, and save "
            "the model there as text: export_text(model, show_weights=True, decimals=17), with feature_names.",
            path=path,
        ) from None


def _saved_by_r(data: bytes) -> bool:
    """Return whether bytes are packed as R packs what it saves."""
    if not data.startswith(COMPRESSED[0]):
        return False
    try:
        return zlib.decompressobj(31).decompress(data, 3).startswith(SAVED_BY_R)
    except zlib.error:
        return False


def is_pickle(data: bytes) -> bool:
    """Return whether bytes are a pickle of any protocol, or compressed as joblib compresses pickles."""
    if data.startswith((*COMPRESSED, *ZLIB)) or (
        data[0] == 0x80 and 1 <= data[1:2][0] <= 9 if len(data) > 1 else False
    ):
        return True
    if not data.rstrip().endswith(b".") or data[:1] in (b"|", b"{", b"#"):
        return False
    try:
        return sum(1 for _ in pickletools.genops(data)) > 1
    except Exception:
        return False
