"""skops files, scikit-learn estimators without pickle; and what an archive or a pickle holds that no part needs."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import json
import lzma
import os
import pickle
import re
import struct
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.errors import GlassineError, InvalidModelError, UnreadableFileError, UnsupportedModelError, installed
from glassine.files import MAX_BYTES, parse_json
from glassine.formats.contents import OtherContent, padding, shown_name, size_of
from glassine.formats.sklearn.older import upgraded

TREE = "sklearn.tree._tree.Tree"
SCORES = ("chi2", "f_classif", "f_oneway", "f_regression", "r_regression")
INERT = frozenset(
    (
        *("numpy.dtype", "sklearn.feature_selection._mutual_info.mutual_info_classif"),
        "sklearn.feature_selection._mutual_info.mutual_info_regression",
        *(f"sklearn.feature_selection._univariate_selection.{name}" for name in SCORES),
    )
)
"""What documented steps of pipelines hold beside NumPy's arrays and types that skops trusts: no loading calls it."""
MAX_UNPACKED = MAX_BYTES
"""Most bytes of the members of an archive, once they are unpacked."""
MAX_OBJECTS = 200_000
"""Most objects that a schema describes: for each, skops makes several that take 10 kB together."""
PIECE = 1 << 20


def _nodes(value: object) -> list[dict[str, Any]]:
    """Return every object of a schema, however deep."""
    out, stack = [], [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            out.append(part)
            stack += part.values()
        elif isinstance(part, list):
            stack += part
    return out


class _Schema:
    """The description of the objects in a skops file, and its arrays."""

    def __init__(self, archive: zipfile.ZipFile, path: str | os.PathLike[str]) -> None:
        self._archive = archive
        text = archive.read("schema.json").decode()
        if text.count("{") > MAX_OBJECTS:
            raise InvalidModelError(f"the schema of the skops file describes more than {MAX_OBJECTS:,} objects.")
        self.nodes = _nodes(parse_json(text, path=path))
        self._by_id = {node["__id__"]: node for node in self.nodes if "__id__" in node and node.get("content")}
        self._by_id |= {node["__id__"]: node for node in self.nodes if "__id__" in node and "file" in node}

    def _whole(self, node: Any) -> int:
        value = json.loads(node["content"]) if node.get("is_json") else None
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidModelError(f"a size of a tree in the skops file must be a whole number, got {value!r}.")
        return value

    def _file(self, node: Any) -> str:
        return str((node if "file" in node else self._by_id[node["__id__"]])["file"])

    def _array(self, node: Any) -> np.ndarray[Any, Any]:
        with self._archive.open(self._file(node)) as stream:
            return np.asarray(np.load(io.BytesIO(stream.read()), allow_pickle=False))

    def check_tree(self, node: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
        """Check that the sizes a tree claims are those of its arrays, before compiled code trusts them.

        Of a tree that an older scikit-learn wrote, return its arrays as they are now, each with its member.
        """
        n_features, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
        content = node["content"]["content"]
        outputs, nodes = self._whole(n_outputs), self._array(content["nodes"])
        classes, count = self._array(n_classes), self._whole(content["node_count"])
        if outputs != 1 or classes.shape != (1,) or classes.dtype.kind not in "iu":
            raise UnsupportedModelError("a tree of the skops file predicts several outputs at once; one is supported.")
        if not 0 < int(classes[0]) < 10**6 or not 0 < self._whole(n_features) < 10**9:
            raise InvalidModelError("a tree of the skops file has an impossible number of classes or features.")
        if nodes.ndim != 1 or nodes.dtype.names is None or not 0 < count <= len(nodes):
            raise InvalidModelError(f"a tree of the skops file claims {count} nodes, but holds {nodes.shape}.")
        values = self._array(content["values"])
        if values.shape != (len(nodes), 1, int(classes[0])):
            raise InvalidModelError(f"the values of a tree in the skops file have the wrong shape {values.shape}.")
        new = upgraded({"nodes": nodes, "values": values})
        return {} if new["nodes"] is nodes else {self._file(content[key]): new[key] for key in ("nodes", "values")}


def unpacked(data: bytes, path: str | os.PathLike[str]) -> bytes:
    """Return an archive whose members are not packed, so that none is larger than it claims."""
    # The sizes that an archive claims are checked first, and hold while it is unpacked: Python's reader unpacks all of
    # a member at once and ignores its claimed size.
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}.values()
        size = sum(entry.file_size for entry in archive.infolist())
        if size > MAX_UNPACKED:
            raise UnreadableFileError(
                f"{os.fspath(path)} unpacks to {size:,} bytes; at most {MAX_UNPACKED:,} are read.",
                remedy="Save the model alone.",
                path=path,
            )
        packings = {entry.compress_type for entry in entries}
        if packings == {zipfile.ZIP_STORED}:
            return data
        if not packings <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise UnreadableFileError(
                f"{os.fspath(path)} is packed by a method that is not read.",
                remedy="Write it with compression=ZIP_DEFLATED.",
                path=path,
            )
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as copy:
            for entry in entries:
                with archive.open(entry) as packed, copy.open(entry.filename, "w") as plain:
                    while piece := packed.read(PIECE):
                        plain.write(piece)
    return out.getvalue()


def _with_arrays(data: bytes, arrays: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """Return an archive with other arrays in some members."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w") as copy:
        for name in dict.fromkeys(archive.namelist()):
            if name in arrays:
                plain = io.BytesIO()
                np.save(plain, arrays[name], allow_pickle=False)
                copy.writestr(name, plain.getvalue())
            else:
                copy.writestr(name, archive.read(name))
    return out.getvalue()


def read_skops(data: bytes, path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Return the estimator that a skops file holds."""
    # No code of the file is run: skops builds only types that it trusts, which are those of scikit-learn and NumPy, and
    # the trees' sizes are compared with their arrays first. Names of further types can be given as trusted.
    skops = installed("skops.io", "reading skops files needs", "formats", UnsupportedModelError)
    try:
        data = unpacked(data, path)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            schema, replaced = _Schema(archive, path), {}
            for node in schema.nodes:
                if node.get("__loader__") == "TreeNode" or node.get("__class__") == "Tree":
                    replaced |= schema.check_tree(node)
        data = _with_arrays(data, replaced) if replaced else data
        foreign = sorted(set(skops.get_untrusted_types(data=data)) - {TREE, *INERT, *trusted})
        if foreign:
            raise UnsupportedModelError(
                f"{os.fspath(path)} holds the type {foreign[0]}, which is not trusted.",
                remedy="Save a pipeline of scikit-learn's own steps, or its tree.",
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return skops.loads(data, trusted=[TREE, *INERT, *trusted])
    except GlassineError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableFileError(
            f"{os.fspath(path)} is a damaged skops file: {reason[:200]}.", remedy="Save the model again.", path=path
        ) from None


def write_skops(estimator: object) -> bytes:
    """Return the bytes of a skops file of an estimator, the same at every time and in every process."""
    # skops names objects by their addresses, and its archive states when it was written.
    skops = installed("skops.io", "writing skops files needs", "formats", UnsupportedModelError)
    numbers: dict[int, int] = {}
    names: dict[str, str] = {}
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(skops.dumps(estimator))) as archive, zipfile.ZipFile(out, "w") as copy:
        schema = json.loads(archive.read("schema.json"))
        for node in _nodes(schema):
            if isinstance(node.get("__id__"), int):
                node["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
            if isinstance(node.get("file"), str):
                node["file"] = names.setdefault(node["file"], f"{len(names) + 1}{os.path.splitext(node['file'])[1]}")
        members = [(new, archive.read(old)) for old, new in names.items()]
        for name, data in (*members, ("schema.json", json.dumps(schema, indent=2).encode())):
            entry = zipfile.ZipInfo(name)
            entry.create_system = 3  # the number of one system, on all of them
            copy.writestr(entry, data)
    return out.getvalue()


LOCAL, LOCAL_SIZE = b"PK\x03\x04", 30
DESCRIPTORS = (0, 12, 16, 20, 24)
"""Bytes that may stand behind a member: none, or its sizes, in 32 or 64 bits, with or without a signature."""
VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}([a-z.]{1,6}[0-9]{1,3})?")
SLACK = 64
"""Bytes by which a pickle may be longer than the same object written again, by another version of the same program."""
VERSIONS = ("_sklearn_version", "_skops_version", "protocol")


def beside_archive(data: bytes, stored: object) -> Iterator[OtherContent]:
    """Yield what a skops file holds beside the object that it stores."""
    # The object is written again. Members, descriptions and arrays that the second file lacks, or holds with fewer
    # bytes, are not needed.
    yield from _beside_members(data)
    try:
        import skops.io

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = skops.io.dumps(stored)
        with zipfile.ZipFile(io.BytesIO(data)) as first, zipfile.ZipFile(io.BytesIO(again)) as second:
            yield from _beside_schema(first, second)
    except Exception:
        # What cannot be compared is not accounted for.
        yield OtherContent("the archive, which cannot be written again", "bytes", len(data))


def _beside_members(data: bytes) -> Iterator[OtherContent]:
    """Yield what stands in a zip archive outside of its members, and in their comments and extra fields."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries, comment, directory = archive.infolist(), archive.comment, archive.start_dir
    yield OtherContent("the comment of the archive", "comment", len(comment))
    names = Counter(entry.filename for entry in entries)
    spans = []
    for entry in entries:
        yield OtherContent("comments of members", "comment", len(entry.comment))
        yield OtherContent("extra fields of members", "extra field", len(entry.extra))
        if names[entry.filename] > 1:
            yield OtherContent("members of one name", "member", entry.file_size)
        head = data[entry.header_offset : entry.header_offset + LOCAL_SIZE]
        if len(head) < LOCAL_SIZE or not head.startswith(LOCAL):
            continue
        n_name, n_extra = struct.unpack("<HH", head[26:30])
        start = entry.header_offset + LOCAL_SIZE + n_name
        extra = data[start : start + n_extra]
        # The field of 64-bit sizes is usual.
        unusual = 0 if extra[:2] == b"\x01\x00" and len(extra) <= 20 else len(extra)
        yield OtherContent("extra fields of members", "extra field", unusual)
        spans.append((entry.header_offset, start + n_extra + entry.compress_size))
    at = 0
    for start, stop in [*sorted(spans), (directory, directory)]:
        gap = start - at
        allowed = DESCRIPTORS if at else (0,)
        if gap > 0 and gap not in allowed:
            yield OtherContent("between the members of the archive", "bytes", gap)
        at = max(at, stop)
    size = 22 + len(comment) + sum(46 + len(e.filename.encode()) + len(e.extra) + len(e.comment) for e in entries)
    behind = len(data) - directory - size
    if behind > 0 and behind != 76:  # records of the 64-bit form
        yield OtherContent("behind the archive", "trailing bytes", behind)


def _beside_schema(first: zipfile.ZipFile, second: zipfile.ZipFile) -> Iterator[OtherContent]:
    """Yield what a skops file holds beyond the same object written again."""
    text = first.read("schema.json").decode()
    one, two = json.loads(text), json.loads(second.read("schema.json"))
    # An object that stands in several places is described where it is first; the place of the others is its number.
    stack, files, where = [("schema.json", one, two)], {"schema.json"}, "schema.json"
    while stack:
        where, mine, due = stack.pop()
        if isinstance(mine, dict) and isinstance(due, dict):
            for key, value in mine.items():
                place = f"{where}.{key}" if key in VERSIONS else where
                if key == "file" and isinstance(value, str) and isinstance(due.get(key), str):
                    files.add(value)
                    extra = _array_excess(first.read(value), second.read(due[key]))
                    yield OtherContent("arrays of the archive", "bytes", extra)
                elif key not in due:
                    n = len(json.dumps(value)) + len(key)
                    yield OtherContent(f"{where}, {shown_name(key)}", "field", n)
                elif key != "__id__":
                    stack.append((place, value, due[key]))
        elif isinstance(mine, list) and isinstance(due, list):
            stack += [(where, a, b) for a, b in zip(mine, due, strict=False)]
            spare = mine[len(due) :]
            yield OtherContent(where, "entries", size_of(spare) if spare else 0)
        elif mine != due and not _alike(mine, due):
            yield OtherContent(where, "value", max(1, size_of(mine)))
    for entry in first.infolist():
        if entry.filename not in files:
            yield OtherContent("members that no object needs", "member", max(1, entry.file_size))
    widest = len(json.dumps(one, indent=2))
    if len(text) > max(len(json.dumps(one, separators=(",", ":"))), widest):
        yield OtherContent("schema.json", "spacing", len(text) - widest)


def _alike(mine: object, due: object) -> bool:
    """Return whether two values differ as versions of packages do, or as numbers that point to an object."""
    if isinstance(mine, str) and isinstance(due, str):
        a, b = mine.strip('"'), due.strip('"')
        return bool(VERSION.fullmatch(a) and VERSION.fullmatch(b))
    return isinstance(mine, int) and isinstance(due, int) and 0 <= mine < 10


def _array_excess(mine: bytes, due: bytes) -> int:
    """Return the bytes of a stored array that writing the same array again does not give."""
    # What is between the fields of records is not compared, as NumPy does not keep it: any of it but zeros counts.
    arrays = [np.load(io.BytesIO(raw), allow_pickle=False) for raw in (mine, due)]
    heads = [raw[: len(raw) - array.nbytes] for raw, array in zip((mine, due), arrays, strict=True)]
    first, second = arrays
    if heads[0] != heads[1]:
        return max(1, len(heads[0]) - len(heads[1]))
    if first.dtype.names is None:
        return sum(a != b for a, b in zip(mine, due, strict=True))
    odd = sum(int((first[name] != second[name]).sum()) * first[name].dtype.itemsize for name in first.dtype.names)
    return int(odd) + padding(np.frombuffer(mine[len(heads[0]) :], dtype=first.dtype))


# Pickles.


def expanded(data: bytes) -> tuple[bytes, int]:
    """Return what a pickle is once it is unpacked, and the bytes around the packed stream."""
    # joblib reads on behind the end of a stream until the memory is full; so streams are unpacked here.
    openers: tuple[tuple[bytes, Any], ...] = (
        (b"\x1f\x8b", lambda: zlib.decompressobj(31)),
        (b"BZh", bz2.BZ2Decompressor),
        (b"\xfd7zXZ\x00", lzma.LZMADecompressor),
        (b"\x5d\x00\x00", lzma.LZMADecompressor),
        (b"\x78", zlib.decompressobj),
    )
    for start, make in openers:
        if data.startswith(start):
            stream = make()
            plain = stream.decompress(data, MAX_BYTES + 1)
            if len(plain) > MAX_BYTES or not stream.eof:
                raise ValueError(f"it unpacks to more than {MAX_BYTES:,} bytes, or is cut short")
            return plain, len(stream.unused_data) + _gzip_head(data)
    return data, 0


def _gzip_head(data: bytes) -> int:
    """Return the bytes of names, comments and extra fields in the head of a gzip file."""
    if not data.startswith(b"\x1f\x8b") or not data[3] & 0b11100:
        return 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as plain:
        plain.read(1)
    flags, at = data[3], 10
    if flags & 4:
        at += 2 + struct.unpack("<H", data[at : at + 2])[0]
    for flag in (8, 16):
        if flags & flag:
            at = data.index(b"\0", at) + 1
    return at - 10


def beside_pickle(data: bytes, stored: object) -> Iterator[OtherContent]:
    """Yield what a pickle holds beside the object that it makes."""
    # The object is written again. Any text, bytes or number that the second pickle lacks is not needed.
    plain, behind = expanded(data)
    yield OtherContent("around the packed stream", "bytes", behind)
    try:
        again = _written(plain, stored)
        (pushed, end, between), (due, _, _) = _pushed(plain), _pushed(again)
    except Exception:
        # What cannot be compared is not accounted for.
        yield OtherContent("the pickle, which cannot be written again", "bytes", len(plain))
        return
    yield OtherContent("behind the end of the pickle", "trailing bytes", len(plain) - end)
    yield OtherContent("between the fields of arrays", "padding", between)
    spare = sum(map(_weight, pushed - due))
    excess = end - len(again) - SLACK
    yield OtherContent("values that the pickle drops", "bytes", max(spare, excess))


def _written(plain: bytes, stored: object) -> bytes:
    """Return an object as the program would have written it that wrote a pickle."""
    protocol = plain[1] if plain[:1] == b"\x80" else 0
    if b"NumpyArrayWrapper" not in plain:
        return pickle.dumps(stored, protocol=protocol)
    out = io.BytesIO()
    importlib.import_module("joblib").dump(stored, out, protocol=protocol)
    return out.getvalue()


def _pushed(plain: bytes) -> tuple[set[Any], int, int]:
    """Return the texts, bytes and numbers that a pickle makes, where it ends, and bytes between that are not due."""
    unpickler: Any = importlib.import_module("joblib.numpy_pickle").NumpyUnpickler
    pushed: set[Any] = set()
    arrays: dict[int, tuple[npt.NDArray[Any], int | None]] = {}

    def recording(load: Any) -> Any:
        def loaded(self: Any) -> None:
            start = source.tell()
            by_joblib = any(hasattr(part, "read_array") for part in self.stack[-2:])
            load(self)
            top: Any = self.stack[-1] if self.stack else None
            if type(top) in (str, bytes, int, float):
                pushed.add(_mark(top))
            elif isinstance(top, np.ndarray) and by_joblib:
                values, between = _stored(plain[start : source.tell()], top)
                pushed.update(values)
                arrays[id(top)] = top, between
            elif isinstance(top, np.ndarray) and top.dtype.names:
                arrays.setdefault(id(top), (top, None))

        return loaded

    dispatch = {code: recording(load) for code, load in unpickler.dispatch.items()}
    recorder: Any = type("Recorder", (unpickler,), {"dispatch": dispatch})
    source = io.BytesIO(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorder("", source, True).load()
    # Other arrays are made empty and filled later, so that they are looked at here.
    between = sum(padding(array) if n is None else n for array, n in arrays.values())
    return pushed, source.tell(), between


def _stored(raw: bytes, array: npt.NDArray[Any]) -> tuple[set[Any], int]:
    """Return what bytes in which joblib stored an array make on their way, and those that the array does not need."""
    # The array itself cannot be asked: joblib copies it field by field, and what stands between is of this process.
    if array.dtype.hasobject:
        values, _, between = _pushed(raw)
        return values, between
    head = raw[: len(raw) - array.nbytes]
    # The length of a gap of at most 16 bytes, and the gap: joblib 1.1 and older write neither.
    due = bytes([len(head) - 1]) + b"\xff" * (len(head) - 1) if 0 < len(head) <= 17 else b""
    odd = abs(len(head) - len(due)) + sum(a != b for a, b in zip(head, due, strict=False))
    if array.dtype.names is None:
        return set(), odd
    return set(), odd + padding(np.frombuffer(raw[len(head) :], dtype=array.dtype))


def _mark(value: str | bytes | float) -> Any:
    """Return a value in the form compared: NaN equals itself, and 1 is not 1.0."""
    return repr(value) if isinstance(value, float) else value


def _weight(mark: object) -> int:
    """Return the bytes of what a pickle drops."""
    if isinstance(mark, str):
        return len(mark.encode(errors="replace"))
    if isinstance(mark, bytes):
        return len(mark)
    return max(1, (int(mark).bit_length() + 7) // 8) if isinstance(mark, int) else 8
