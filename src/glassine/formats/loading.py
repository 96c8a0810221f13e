"""Any supported object or file, read as a model."""

from __future__ import annotations

import importlib
import io
import os
import pickletools
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from glassine.domain import Domain
from glassine.errors import GlassineError, UnreadableFileError, UnsupportedModelError
from glassine.files import MAX_BYTES, decoded, read_bytes
from glassine.formats.boosted.ubjson import is_ubjson, parse_ubjson
from glassine.formats.conditions import conformed
from glassine.formats.onnx import is_onnx
from glassine.formats.pmml import is_xml
from glassine.formats.registry import FILES, ONE, SEVERAL, json_kind, text_kind
from glassine.formats.several import alone, place_of, source_of
from glassine.formats.sklearn.corels import is_corels, rules_from_corels
from glassine.formats.sklearn.forest import forest_from_sklearn, is_sklearn_forest
from glassine.formats.sklearn.imodels import is_imodels_list, rules_from_imodels
from glassine.formats.sklearn.interpret import additive_from_interpret, is_interpret_ebm
from glassine.formats.sklearn.optimal_trees import is_dl85, is_streed, tree_from_dl85, tree_from_streed
from glassine.formats.sklearn.tree import is_sklearn_tree, tree_from_sklearn
from glassine.formats.skops import read_skops
from glassine.models.additive import AdditiveModel
from glassine.models.forest import Forest
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

__all__ = [
    "MAX_BYTES",
    "as_any",
    "as_model",
    "is_additive",
    "load_additive",
    "load_any",
    "load_forest",
    "load_model",
]

Read = TypeVar("Read")

OBJECT = "an object"
SUPPORTED = (
    "a scikit-learn decision tree or a pipeline that ends with one, a tree of pystreed or pydl8.5, a CORELS rule list, "
    "a greedy rule list of imodels, or a Glassine model"
)
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x5d\x00\x00", b"\x04\x22\x4d\x18")
ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


def as_model(obj: Any, domain: Domain | None = None) -> DecisionTree | RuleList:
    """Return a fitted estimator or a model object as a plain value.

    Parameters
    ----------
    obj : object
        A fitted scikit-learn decision tree, a pipeline or a search that ends with one, a tree of pystreed or pydl8.5, a
        CORELS or imodels rule list, or a model, which is returned as it is.
    domain : Domain, optional
        The public domain. It names the features of estimators that were fitted on bare arrays, and says which
        attributes are binary, whole or can be missing; the model must speak of nothing else. Where an attribute cannot
        be missing, conditions lose their ``or missing``.

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
    if isinstance(obj, DecisionTree | RuleList):
        model: DecisionTree | RuleList = obj
    elif is_sklearn_tree(obj):
        model = tree_from_sklearn(obj, domain)
    elif is_streed(obj):
        model = tree_from_streed(obj, domain)
    elif is_dl85(obj):
        model = tree_from_dl85(obj, domain)
    elif is_corels(obj):
        model = rules_from_corels(obj, domain)
    elif is_imodels_list(obj):
        model = rules_from_imodels(obj, domain)
    else:
        kind = f"the class {obj.__name__}, not an instance of it" if isinstance(obj, type) else type(obj).__name__
        hint = " Give the path to load_model." if isinstance(obj, str | os.PathLike) else ""
        hint = " It is an additive model: read it with as_any." if is_additive(obj) else hint
        hint = " Give one of its trees." if isinstance(obj, Forest) else hint
        raise UnsupportedModelError(f"got {kind}; supported is {SUPPORTED}.{hint}")
    return conformed(model, domain)


def is_additive(obj: Any) -> bool:
    """Return whether :func:`as_any` reads an object as an additive model."""
    if isinstance(obj, type):
        return False
    released = getattr(obj, "model_", None)
    return isinstance(obj, AdditiveModel) or isinstance(released, AdditiveModel) or is_interpret_ebm(obj)


def as_any(obj: Any, domain: Domain | None = None) -> DecisionTree | RuleList | AdditiveModel:
    """Return a fitted estimator or a model object of any kind as a plain value.

    Parameters
    ----------
    obj : object
        As for :func:`as_model`; or an additive model, a fitted estimator of Glassine with one, or an explainable
        boosting machine of interpret.
    domain : Domain, optional
        As for :func:`as_model`; of an additive model it only tells how categories are spelled.

    Raises
    ------
    UnsupportedModelError
        If the object is none of these.
    InvalidModelError
        If the estimator is not fitted, or does not fit the domain.
    """
    if isinstance(obj, AdditiveModel):
        return obj
    if not is_additive(obj):
        return as_model(obj, domain)
    released = getattr(obj, "model_", None)
    return released if isinstance(released, AdditiveModel) else additive_from_interpret(obj, domain)


def load_model(
    path: str | os.PathLike[str],
    domain: Domain | None = None,
    *,
    trust_pickle: bool = False,
    tree: int | None = None,
) -> DecisionTree | RuleList:
    """Read a model from a file; what it is, its content tells, not its name.

    Parameters
    ----------
    path : path
        Glassine's JSON; a skops, ONNX or PMML file; one tree of XGBoost's JSON or UBJSON, LightGBM's text or
        treelite's JSON; the text of ``sklearn.tree.export_text``, of rpart or C4.5, or of a rule list; what CORELS
        prints; a pickle or joblib file only if it is trusted.
    domain : Domain, optional
        As for :func:`as_model`.
    trust_pickle : bool, default=False
        Whether to unpickle. A pickle is code: whoever wrote the file can do with your computer what you can.
    tree : int, optional
        The place, from 0, of the tree to read from a file that holds several: a boosted model or a forest.

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
    model = load_any(path, domain, trust_pickle=trust_pickle, tree=tree)
    if isinstance(model, AdditiveModel):
        raise UnsupportedModelError(f"{os.fspath(path)} is an {model}. Read it with load_additive.")
    return model


def load_any(
    path: str | os.PathLike[str],
    domain: Domain | None = None,
    *,
    trust_pickle: bool = False,
    tree: int | None = None,
) -> DecisionTree | RuleList | AdditiveModel:
    """Read a model of any kind from a file, as :func:`load_model` and :func:`load_additive` do."""
    with _naming(path):
        model = _one(_held(path, trust_pickle), domain, tree, path)
        return model if isinstance(model, AdditiveModel) else conformed(model, domain)


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
        kind, held = _held(path, trust_pickle)
        if kind in SEVERAL:
            forest = SEVERAL[kind][1](held, domain)
        elif kind == OBJECT and is_sklearn_forest(held):
            forest = _guarded(lambda: forest_from_sklearn(held, domain, use_seeds=use_seeds), held, path)
        else:
            model = _one((kind, held), domain, None, path)
            if not isinstance(model, DecisionTree):
                raise UnsupportedModelError(f"this is a {model}, not trees. Read it with load_any.")
            forest = Forest(trees=(model,), source=model.source)
        trees = tuple(conformed(tree, domain) for tree in forest.trees)
    return forest if all(a is b for a, b in zip(trees, forest.trees, strict=True)) else replace(forest, trees=trees)


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of the file before what is wrong with it."""
    try:
        yield
    except UnreadableFileError:
        raise
    except GlassineError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from None


def load_additive(path: str | os.PathLike[str]) -> AdditiveModel:
    """Read an additive model from Glassine's JSON, its log of edits included, or from the JSON of interpret.

    Nothing in the file is trusted: bins, shapes and numbers are checked, and the edits must lead from the scores as
    released to the scores of the file.

    Parameters
    ----------
    path : path
        The file.

    Raises
    ------
    UnreadableFileError
        If the file is missing, larger than 200 MB or damaged.
    UnsupportedModelError
        If it is a model of another kind, or none.
    InvalidModelError
        If the model contradicts itself.
    """
    model = load_any(path)
    if not isinstance(model, AdditiveModel):
        raise UnsupportedModelError(f"{os.fspath(path)} is a {model}, not an additive model. Read it with load_model.")
    return model


def _text_of(data: bytes, path: str | os.PathLike[str]) -> str:
    try:
        text = decoded(data, path=path)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UnreadableFileError(
            f"{os.fspath(path)} is binary, and not a skops or ONNX file. Give {FILES}.", path=path
        )
    return text


def _held(path: str | os.PathLike[str], trust_pickle: bool) -> tuple[str, Any]:
    """Return what a file holds: the kind, which names its readers, and the content as they take it."""
    data = read_bytes(path)
    if not data.strip():
        raise UnreadableFileError(f"{os.fspath(path)} is empty. Give {FILES}.", path=path)
    if data.startswith(b"PK"):
        return OBJECT, read_skops(_skops_archive(data, path), path)
    if is_onnx(data):
        return "ONNX", data
    if is_xml(data):
        return "PMML", data
    if is_ubjson(data):
        return json_kind(parse_ubjson(data, path=os.fspath(path)))
    if _is_pickle(data):
        return OBJECT, _unpickled(data, path, trust_pickle)
    return text_kind(_text_of(data, path), path)


def _one(
    held: tuple[str, Any], domain: Domain | None, tree: int | None, path: str | os.PathLike[str]
) -> DecisionTree | RuleList | AdditiveModel:
    """Return the one model that a file holds, or the one of its trees that is asked for."""
    kind, content = held
    if kind in SEVERAL:
        return SEVERAL[kind][0](content, domain, tree)
    if kind == OBJECT and is_sklearn_forest(content) and tree is not None:
        members = _guarded(lambda: forest_from_sklearn(content, domain).trees, content, path)
        place = place_of(len(members), tree, "the forest")
        source = source_of(members[place].source, place, len(members))
        return replace(members[place], source=source)
    alone(tree, "the file")
    return _guarded(lambda: as_any(content, domain), content, path) if kind == OBJECT else ONE[kind](content, domain)


def _guarded(read: Callable[[], Read], obj: Any, path: str | os.PathLike[str]) -> Read:
    """Return a stored object as a model; whatever its damaged parts raise becomes one error."""
    try:
        return read()
    except GlassineError:
        raise
    except Exception as error:
        raise UnreadableFileError(
            f"{os.fspath(path)} holds a damaged {type(obj).__name__}: {type(error).__name__}.", path=path
        ) from None


def _skops_archive(data: bytes, path: str | os.PathLike[str]) -> bytes:
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "schema.json" in archive.namelist():
                return data
    except Exception:
        raise UnreadableFileError(f"{name} is a damaged or truncated zip archive. Copy it again.", path=path) from None
    raise UnreadableFileError(f"{name} is a zip archive without the schema of a skops file. Give {FILES}.", path=path)


def _is_pickle(data: bytes) -> bool:
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


def _unpickled(data: bytes, path: str | os.PathLike[str], trusted: bool) -> Any:
    name = os.fspath(path)
    if not trusted:
        raise UnreadableFileError(
            f"{name} is a pickle, or compressed like one, and a pickle is code that runs when it is read. "
            "Save the model with skops or as JSON; if you made the file yourself, allow it with trust_pickle "
            "(--trust-pickle).",
            path=path,
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("joblib").load(io.BytesIO(data))
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableFileError(f"{name} cannot be unpickled: {reason[:200]}.", path=path) from None
