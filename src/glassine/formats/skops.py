"""skops files: scikit-learn estimators without pickle."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from glassine.errors import GlassineError, InvalidModelError, UnreadableFileError, UnsupportedModelError, installed
from glassine.files import MAX_BYTES, parse_json
from glassine.formats.sklearn.older import upgraded

TREE = "sklearn.tree._tree.Tree"
SCORES = ("chi2", "f_classif", "f_oneway", "f_regression", "r_regression")
INERT = frozenset(
    (
        *("numpy.dtype", "sklearn.feature_selection._mutual_info.mutual_info_classif"),
        "sklearn.feature_selection._mutual_info.mutual_info_regression",
        # A ColumnTransformer keeps the columns that it selected beside it.
        "sklearn.compose._column_transformer.make_column_selector",
        # A record of arrays, which the reader of ensembles checks before compiled code follows them.
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        # In which voting and stacking keep their estimators.
        "sklearn.utils._bunch.Bunch",
        *(f"sklearn.feature_selection._univariate_selection.{name}" for name in SCORES),
    )
)
"""What documented steps of pipelines hold beside NumPy's arrays and types that skops trusts: no loading calls it."""
MAX_UNPACKED = MAX_BYTES
"""Most bytes of the members of an archive, once they are unpacked."""
MAX_OBJECTS = 200_000
"""Most objects that a schema describes: for each, skops makes several that take 10 kB together."""
PIECE = 1 << 20


class SkopsNotInstalledError(UnsupportedModelError):
    """The package that reads skops files is not installed."""


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
            raise UnsupportedModelError(
                f"the schema of the skops file describes more than {MAX_OBJECTS:,} objects: about 2,600 trees of a "
                "boosted model, or 3,200 of a forest.",
                remedy="In Python, write the ensemble with write_model(as_ensemble(estimator), 'model.json'), and give "
                "that file.",
            )
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
    skops = installed("skops.io", "reading skops files needs", "formats", SkopsNotInstalledError)
    try:
        data = unpacked(data, path)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            schema = _Schema(archive, path)
            replaced: dict[str, np.ndarray[Any, Any]] = {}
            for node in schema.nodes:
                if node.get("__loader__") == "TreeNode" or node.get("__class__") == "Tree":
                    replaced |= schema.check_tree(node)
        data = _with_arrays(data, replaced) if replaced else data
        foreign = sorted(set(skops.get_untrusted_types(data=data)) - {TREE, *INERT, *trusted})
        if foreign:
            raise UnsupportedModelError(
                f"{os.fspath(path)} holds the type {foreign[0]}, which is not trusted.",
                remedy="Save a pipeline of scikit-learn's own steps, or its tree; of a search, search.best_estimator_.",
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


VERSION = re.compile(r'"?[0-9]{1,4}(\.[0-9]{1,4}){1,3}([a-z.]{1,6}[0-9]{1,3})?"?')
VERSIONS = ("_skops_version", "_sklearn_version", "protocol")
"""Where a schema states the versions of libraries, and that of its form."""


def stated_versions(data: bytes) -> dict[str, Any]:
    """Return the versions that a skops file states, as far as they have the form of one; none of another file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            schema = json.loads(archive.read("schema.json"))
    except (zipfile.BadZipFile, KeyError, ValueError):
        return {}
    out: dict[str, Any] = {}
    for node, key in _versioned(schema):
        if VERSION.fullmatch(str(node[key])) or (type(node[key]) is int and 0 <= node[key] < 10):
            out[key if key in VERSIONS else VERSIONS[1]] = node[key]
    return out


def _versioned(schema: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return every object of a schema that states a version, with the key that holds it."""
    states = [node["_sklearn_version"] for node in _nodes(schema) if isinstance(node.get("_sklearn_version"), dict)]
    return [
        *((schema, key) for key in VERSIONS if key in schema),
        *((node, "content") for node in states if "content" in node),
    ]


def write_skops(
    estimator: object, versions: Mapping[str, Any] = MappingProxyType({}), *, by_object: bool = False
) -> bytes:
    """Return the bytes of a skops file of an estimator, the same at every time and in every process.

    It states ``versions`` where they are given, and those of the libraries that wrote it otherwise. Files of earlier
    versions number equal texts ``by_object``: whether they are one depends on where they come from.
    """
    # skops names objects by their addresses, and its archive states when it was written.
    skops = installed("skops.io", "writing skops files needs", "formats", UnsupportedModelError)
    numbers: dict[object, int] = {}
    names: dict[str, str] = {}
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(skops.dumps(estimator))) as archive, zipfile.ZipFile(out, "w") as copy:
        schema = json.loads(archive.read("schema.json"))
        for node in _nodes(schema):
            if isinstance(node.get("__id__"), int):
                alike = node.get("is_json") is True and not by_object
                same = (node.get("__class__"), node["content"]) if alike else node["__id__"]
                node["__id__"] = numbers.setdefault(same, len(numbers) + 1)
            if isinstance(node.get("file"), str):
                node["file"] = names.setdefault(node["file"], f"{len(names) + 1}{os.path.splitext(node['file'])[1]}")
        for node, key in _versioned(schema):
            node[key] = versions.get(key if key in VERSIONS else VERSIONS[1], node[key])
        members = [(new, archive.read(old)) for old, new in names.items()]
        for name, data in (*members, ("schema.json", json.dumps(schema, indent=2).encode())):
            entry = zipfile.ZipInfo(name)
            entry.create_system = 3  # the number of one system, on all of them
            copy.writestr(entry, data)
    return out.getvalue()


# Pickles.


def expanded(data: bytes) -> bytes:
    """Return what a pickle is once it is unpacked."""
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
            return bytes(plain)
    return data
