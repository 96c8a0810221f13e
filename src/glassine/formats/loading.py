"""Any supported object or file, read as a model; and models written."""

from __future__ import annotations

import importlib
import io
import os
import pickletools
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, overload

from glassine.domain import Domain
from glassine.errors import GlassineError, UnreadableFileError, UnsupportedModelError, parameter
from glassine.files import MAX_BYTES, decoded, parse_json, read_bytes, write_bytes, write_text
from glassine.formats.boosted.ubjson import is_ubjson, parse_ubjson
from glassine.formats.builder import place_of
from glassine.formats.conditions import conformed
from glassine.formats.registry import (
    BEFORE_JSON,
    Content,
    Format,
    PublishedModel,
    first_line,
    formats,
    recognized,
    writer,
)
from glassine.formats.skops import read_skops
from glassine.models.additive import AdditiveModel
from glassine.models.forest import Forest
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

__all__ = [
    "MAX_BYTES",
    "as_model",
    "is_pickle",
    "load_estimator",
    "load_forest",
    "load_model",
    "tree_or_rules",
    "write_model",
]

MAX_LINES = 250_000
"""Most lines of a model in text: each becomes a node or more, which takes a thousand bytes and some 50 microseconds."""
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x5d\x00\x00", b"\x04\x22\x4d\x18")
ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


@overload
def as_model(obj: DecisionTree, domain: Domain | None = None) -> DecisionTree: ...
@overload
def as_model(obj: RuleList, domain: Domain | None = None) -> RuleList: ...
@overload
def as_model(obj: AdditiveModel, domain: Domain | None = None) -> AdditiveModel: ...
@overload
def as_model(obj: object, domain: Domain | None = None) -> PublishedModel: ...
def as_model(obj: object, domain: Domain | None = None) -> PublishedModel:
    """Return a fitted estimator or a model object as a plain value.

    Parameters
    ----------
    obj : object
        A fitted scikit-learn decision tree, a pipeline or a search that ends with one, a tree of pystreed or pydl8.5, a
        CORELS or imodels rule list, an explainable boosting machine of interpret, a fitted estimator of Glassine; or a
        model, which is returned as it is.
    domain : Domain, optional
        The public domain. It names the features of estimators that were fitted on bare arrays, and says which
        attributes are binary, whole or can be missing; a tree or rule list must speak of nothing else. Where an
        attribute cannot be missing, conditions lose their ``or missing``. Of an additive model it only tells how
        categories are spelled.

    Raises
    ------
    UnsupportedModelError
        If the object is none of these; the message says what it is and what is supported.
    InvalidModelError
        If the estimator is not fitted, or does not fit the domain.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = as_model(DecisionTreeClassifier().fit([[1], [2], [5]], [0, 0, 1]))
    >>> model.n_records
    3
    """
    return _one(obj, "object", domain, None)


def tree_or_rules(model: PublishedModel) -> DecisionTree | RuleList:
    """Return a tree or a rule list as it is: what has leaves or rules, each with its condition and its records.

    Raises
    ------
    UnsupportedModelError
        If it is an additive model.
    """
    if isinstance(model, AdditiveModel):
        raise UnsupportedModelError(
            "got an additive model, which has no leaves or rules.", remedy="Give a tree or a rule list."
        )
    return model


def load_model(
    path: str | os.PathLike[str],
    domain: Domain | None = None,
    *,
    trust_pickle: bool = False,
    tree: int | None = None,
) -> PublishedModel:
    """Read a model from a file; what it is, its content tells, not its name.

    Nothing in the file is trusted. Of an additive model the edits must lead from the scores as released to those of the
    file.

    Parameters
    ----------
    path : path
        A file of any format that :func:`glassine.formats.registry.formats` lists, of several trees one; a pickle or
        joblib file only if it is trusted.
    domain : Domain, optional
        As for :func:`as_model`.
    trust_pickle : bool, default=False
        Whether to unpickle. A pickle is code: whoever wrote the file can do with your computer what you can.
    tree : int, optional
        The place, from 0, of the tree to read from a file that holds several: a boosted model or a forest.

    Returns
    -------
    DecisionTree, RuleList or AdditiveModel

    Raises
    ------
    UnreadableFileError
        If the file is missing, empty, larger than 200 MB, damaged, or a pickle that is not trusted.
    UnsupportedModelError
        If it holds something else than a model, or several trees and none is asked for.
    InvalidModelError
        If the model contradicts itself or does not fit the domain.
    InvalidParameterError
        If there is no such tree.
    """
    with _naming(path):
        kind, content = _content(path, trust_pickle)
        with _guarded(kind, content, path):
            return _one(content, kind, domain, tree)


def load_forest(
    path: str | os.PathLike[str], domain: Domain | None = None, *, trust_pickle: bool = False, use_seeds: bool = True
) -> Forest:
    """Read all trees of a file: a forest of scikit-learn, or the trees of XGBoost, LightGBM, treelite, ONNX or PMML.

    Trees of a boosted model tell scores, which add up. What a leaf tells of its size counts different records of the
    training data; where a format does not say from which of them each tree was learnt, sizes are not told.

    Parameters
    ----------
    path : path
        The file; one that holds a single decision tree gives a forest of one.
    domain : Domain, optional
        As for :func:`as_model`.
    trust_pickle : bool, default=False
        As for :func:`load_model`.
    use_seeds : bool, default=True
        As for :func:`glassine.formats.sklearn.forest.forest_from_sklearn`.

    Raises
    ------
    UnreadableFileError
        As for :func:`load_model`.
    UnsupportedModelError
        If it holds something else than trees, or trees that are known to have been learnt from unknown samples.
    InvalidModelError
        If a tree contradicts itself or does not fit the domain.
    """
    with _naming(path):
        kind, content = _content(path, trust_pickle)
        with _guarded(kind, content, path):
            several = recognized(content, kind)
            if several is not None and several.read_all is not None:
                forest = several.read_all(content, domain)
            else:
                model = _one(content, kind, domain, None)
                if not isinstance(model, DecisionTree):
                    raise UnsupportedModelError(f"this is a {model}, not trees.", remedy="Read it with load_model.")
                forest = Forest(trees=(model,), source=model.source)
        trees = tuple(conformed(tree, domain) for tree in forest.trees)
    if not use_seeds:
        forest = replace(forest, multiplicities=None)
    return forest if all(a is b for a, b in zip(trees, forest.trees, strict=True)) else replace(forest, trees=trees)


def load_estimator(path: str | os.PathLike[str], *, trust_pickle: bool = False) -> Any:
    """Return the fitted estimator of a skops file, or of a pickle that is trusted, as it is.

    Some attacks need more than a model's plain value.

    Parameters
    ----------
    path : path
        A skops, pickle or joblib file.
    trust_pickle : bool, default=False
        As for :func:`load_model`.

    Raises
    ------
    UnreadableFileError
        If the file is missing, empty, larger than 200 MB, damaged, or a pickle that is not trusted.
    UnsupportedModelError
        If it is neither, or holds a type that skops does not trust.
    """
    name = os.fspath(path)
    data = read_bytes(path)
    if not data:
        raise UnreadableFileError(
            f"{name} is empty.", remedy="Give a skops file, or a pickle that you trust.", path=path
        )
    if not data.startswith(b"PK") and not is_pickle(data):
        raise UnsupportedModelError(
            f"{name} holds no fitted estimator.", remedy="Give a skops file, or a pickle that you trust."
        )
    return _estimator(data, path, trust_pickle)


def write_model(
    model: PublishedModel, path: str | os.PathLike[str], *, to: str = "json", domain: Domain | None = None
) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : DecisionTree, RuleList or AdditiveModel
        The model.
    path : path
        The file.
    to : str, default="json"
        The format, by its name for ``glassine export``. JSON alone keeps all of the model.
    domain : Domain, optional
        The public domain, which some formats need to spell values.

    Raises
    ------
    UnsupportedModelError
        If it is not a model, which fitted estimators become by :func:`glassine.as_model`; or the format does not hold
        models of its kind.
    InvalidParameterError
        If there is no such format.
    """
    write = writer(to, model).write
    written = b"" if write is None else write(model, domain)
    if isinstance(written, bytes):
        write_bytes(written, path)
    else:
        write_text(written.rstrip("\n") + "\n", path)


def _one(content: object, kind: Content, domain: Domain | None, tree: int | None) -> PublishedModel:
    """Return the one model of a content, or the one of its trees that is asked for."""
    if isinstance(content, DecisionTree | RuleList | AdditiveModel):
        model: PublishedModel = content
    else:
        format = recognized(content, kind)
        if format is None or format.read is None:
            raise _unsupported(content, kind)
        if format.read_all is not None:
            model = format.read(content, domain, tree)
        else:
            if tree is not None:  # one model has one place
                place_of(1, tree, "the file")
            model = format.read(content, domain)
    return model if isinstance(model, AdditiveModel) else conformed(model, domain)


def _unsupported(content: object, kind: Content) -> UnsupportedModelError:
    """Return the error that says what an object or a text is, and what is supported."""
    if kind == "text":
        return UnsupportedModelError(
            f"the file starts with {first_line(str(content).lstrip())[:60]!r}, which is no model.",
            remedy=f"Give {_listed()}.",
        )
    what = f"the class {content.__name__}, not an instance of it" if isinstance(content, type) else ""
    hint = " Give the path to load_model." if isinstance(content, str | os.PathLike) else ""
    hint = " Give one of its trees." if isinstance(content, Forest) else hint
    supported = "; ".join(one.reads for one in formats() if "object" in one.contents and one.reads)
    return UnsupportedModelError(
        f"got {what or type(content).__name__}; supported is a Glassine model, or: {supported}.{hint}"
    )


def _listed() -> str:
    """Return what files are read, as an error lists them."""
    names = [one.name for one in formats() if one.read is not None and set(one.contents) != {"object"}]
    return f"a skops file, or one of {', '.join(names[:-1])} or {names[-1]}"


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of the file before what is wrong with it."""
    try:
        yield
    except UnreadableFileError:
        raise
    except GlassineError as error:
        raise error.within(os.fspath(path)) from None


@contextmanager
def _guarded(kind: Content, content: object, path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever the damaged parts of a stored object raise into one error."""
    try:
        yield
    except GlassineError:
        raise
    except Exception as error:
        if kind != "object":
            raise
        raise UnreadableFileError(
            f"{os.fspath(path)} holds a damaged {type(content).__name__}: {type(error).__name__}.", path=path
        ) from None


def _content(path: str | os.PathLike[str], trust_pickle: bool) -> tuple[Content, object]:
    """Return what a file holds, out of what wraps it: a skops archive, a pickle, JSON or its binary form."""
    name, data = os.fspath(path), read_bytes(path)
    if not data.strip():
        raise UnreadableFileError(f"{name} is empty.", remedy=f"Give {_listed()}.", path=path)
    if data.startswith(b"PK"):
        return "object", _estimator(data, path, trust_pickle)
    if recognized(data, "bytes") is not None:
        return "bytes", data
    if is_ubjson(data):
        return "values", parse_ubjson(data, path=name)
    if is_pickle(data):
        return "object", _estimator(data, path, trust_pickle)
    try:
        text = decoded(data, path=path)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UnreadableFileError(
            f"{name} is binary, and no such file that is read.", remedy=f"Give {_listed()}.", path=path
        )
    start = text.lstrip()
    if start.startswith(("{", "[")) and not any(one.sniff(start) for one in _before_json()):
        return "values", parse_json(start, path=path)
    if start.count("\n") + start.count("\r") > MAX_LINES:
        raise UnreadableFileError(
            f"{name} has more than {MAX_LINES:,} lines.", remedy="Give a smaller model.", path=path
        )
    return "text", text


def _before_json() -> Iterator[Format]:
    return (one for one in formats() if one.rank == BEFORE_JSON and "text" in one.contents)


def _estimator(data: bytes, path: str | os.PathLike[str], trust_pickle: bool) -> Any:
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
                f"{name} is a zip archive without the schema of a skops file.", remedy=f"Give {_listed()}.", path=path
            )
        return read_skops(data, path)
    if not trust_pickle:
        raise UnreadableFileError(
            f"{name} is a pickle, or compressed like one, and a pickle is code that runs when it is read.",
            remedy="Save the model with skops or as JSON; if you made the file yourself, allow it with "
            f"{parameter('trust_pickle')}.",
            path=path,
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("joblib").load(io.BytesIO(data))
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableFileError(f"{name} cannot be unpickled: {reason[:200]}.", path=path) from None


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
