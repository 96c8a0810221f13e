"""skops files: scikit-learn estimators without pickle."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from typing import Any

import numpy as np

from glassine.errors import GlassineError, InvalidModelError, UnreadableFileError, UnsupportedModelError, not_installed
from glassine.files import MAX_BYTES, parse_json

__all__ = ["read_skops", "unpacked"]

TREE = "sklearn.tree._tree.Tree"
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

    def _array(self, node: Any) -> np.ndarray[Any, Any]:
        node = node if "file" in node else self._by_id[node["__id__"]]
        with self._archive.open(node["file"]) as stream:
            return np.asarray(np.load(io.BytesIO(stream.read()), allow_pickle=False))

    def check_tree(self, node: dict[str, Any]) -> None:
        """Check that the sizes a tree claims are those of its arrays, before compiled code trusts them."""
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


def unpacked(data: bytes, path: str | os.PathLike[str], *, most: int = MAX_UNPACKED) -> bytes:
    """Return an archive whose members are not packed, so that none is larger than it claims.

    The sizes that an archive claims are checked first, and hold while it is unpacked: Python's reader unpacks all of
    a member at once and ignores its claimed size.

    Parameters
    ----------
    data : bytes
        A zip archive.
    path : path
        Its name, for messages.
    most : int, default=200,000,000
        Most bytes of all members together.

    Raises
    ------
    UnreadableFileError
        If the members are larger, or packed otherwise than by deflation.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}.values()
        size = sum(entry.file_size for entry in archive.infolist())
        if size > most:
            raise UnreadableFileError(
                f"{os.fspath(path)} unpacks to {size:,} bytes; at most {most:,} are read.", path=path
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


def read_skops(data: bytes, path: str | os.PathLike[str]) -> Any:
    """Return the estimator that a skops file holds.

    No code of the file is run: skops builds only types that it trusts, which are those of scikit-learn and NumPy, and
    the trees' sizes are compared with their arrays first.

    Parameters
    ----------
    data : bytes
        The file.
    path : path
        Its name, for messages.

    Raises
    ------
    UnreadableFileError
        If the archive is damaged, or its members unpack to more than 200 MB.
    UnsupportedModelError
        If skops is not installed, or the file holds a type that it does not trust; the message names it.
    InvalidModelError
        If a tree's sizes are not those of its arrays, or the schema describes too many objects.
    """
    try:
        import skops.io
    except ImportError:
        raise not_installed(UnsupportedModelError, "reading skops files needs", "skops", "formats") from None
    try:
        data = unpacked(data, path)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            schema = _Schema(archive, path)
            for node in schema.nodes:
                if node.get("__loader__") == "TreeNode" or node.get("__class__") == "Tree":
                    schema.check_tree(node)
        foreign = sorted(set(skops.io.get_untrusted_types(data=data)) - {TREE})
        if foreign:
            raise UnsupportedModelError(
                f"{os.fspath(path)} holds the type {foreign[0]}, which is not trusted.",
                remedy="Save a pipeline of scikit-learn's own steps, or its tree.",
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return skops.io.loads(data, trusted=[TREE])
    except GlassineError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableFileError(f"{os.fspath(path)} is a damaged skops file: {reason[:200]}.", path=path) from None
