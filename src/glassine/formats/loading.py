"""Any supported object or file, read as a model; and models written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, overload

from glassine.domain import Domain
from glassine.errors import (
    GlassineError,
    InvalidModelError,
    UnnamedFeaturesError,
    UnreadableFileError,
    UnsupportedModelError,
)
from glassine.exports import Displayed
from glassine.files import FileContent, check_readable, read_bytes, unreadable_again, write_bytes
from glassine.formats.builder import place_of
from glassine.formats.canonical import FileForm, as_written, clean_copy, described, is_canonical, writer_of, written
from glassine.formats.conditions import conformed
from glassine.formats.format import Content, Format, PublishedModel
from glassine.formats.near_misses import refuse_near_miss
from glassine.formats.registry import recognized, writer
from glassine.formats.unwrapping import READABLE, estimator_in, is_pickle, unwrapped
from glassine.models.additive import AdditiveModel
from glassine.models.ensemble import TreeEnsemble
from glassine.models.regression import RegressionModel
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree, Forest

P = TypeVar("P", bound=PublishedModel)
Read = TypeVar("Read")


@overload
def as_model(obj: P, domain: Domain | None = None) -> P: ...
@overload
def as_model(obj: object, domain: Domain | None = None) -> PublishedModel: ...
def as_model(obj: object, domain: Domain | None = None) -> PublishedModel:
    """Return a fitted estimator or a model object as a plain value.

    Parameters
    ----------
    obj : object
        A fitted scikit-learn decision tree, a pipeline or a search that ends with one, a tree of pystreed or pydl8.5, a
        CORELS or imodels rule list, an explainable boosting machine of interpret, a fitted estimator of Glassine; or a
        model, which is returned unchanged.
    domain : Domain, optional
        The public domain. It names the features of estimators that were fitted on bare arrays, and says which
        attributes are binary, whole or can be missing; a tree or rule list must speak of nothing else. Where an
        attribute cannot be missing, conditions lose their ``or missing``. For an additive model it only states how
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
    return one_model(obj, "object", domain, None)


def beside_target(read: Callable[[Domain | None], Read], domain: Domain | None, target: str | None) -> Read:
    """Return what is read with a domain, without its target where the domain names the features by their order."""
    try:
        return read(domain)
    except UnnamedFeaturesError:
        rest = [name for name in domain or () if name != target]
        if domain is None or not 0 < len(rest) < len(domain):
            raise
        return read(domain.restrict(rest))


def tree_or_rules(model: PublishedModel) -> DecisionTree | RuleList:
    """Return a tree or a rule list unchanged; raise for other models.

    Raises
    ------
    UnsupportedModelError
        If it is an additive model or a regression.
    """
    if isinstance(model, AdditiveModel | RegressionModel):
        raise UnsupportedModelError(
            f"got {'a regression' if isinstance(model, RegressionModel) else 'an additive model'}, which has no leaves "
            "or rules.",
            remedy="Give a tree or a rule list.",
        )
    return model


ONE_EACH = ("OneVsRestClassifier", "OneVsOneClassifier", "MultiOutputClassifier", "MultiOutputRegressor")
"""Estimators of scikit-learn that hold one model for each class, pair of classes or output."""


def load_model(
    path: str | os.PathLike[str], domain: Domain | None = None, *, trust_pickle: bool = False, tree: int | None = None
) -> PublishedModel:
    """Read a model from a file; its content decides its format, not its name.

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
        Whether to unpickle. Loading a pickle runs code: a malicious file can do anything your account can do.
    tree : int, optional
        The place, from 0, of the tree to read from a file that holds several: a boosted model or a forest.

    Returns
    -------
    DecisionTree, RuleList, AdditiveModel or RegressionModel

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
    with opened(path, trust_pickle) as (kind, content):
        return one_model(content, kind, domain, tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile(Displayed):
    """A model that was read from a file, and what of the file may be released.

    Attributes
    ----------
    model : DecisionTree, RuleList or AdditiveModel
        The model.
    form : FileForm
        Whether Glassine wrote the file; if not, which copy may be released in its place.
    copy : bytes
        That copy; the bytes of the file where it may be released itself.
    estimator : object
        The fitted estimator of a skops file or a pickle; None of other files.
    """

    model: PublishedModel
    form: FileForm
    copy: bytes = field(repr=False)
    estimator: Any = None


def load_file(
    path: str | os.PathLike[str], domain: Domain | None = None, *, trust_pickle: bool = False, tree: int | None = None
) -> ModelFile:
    r"""Read a model from a file, and say what of the file may be released: itself, or a clean copy.

    A file may be released unchanged if its bytes are those that Glassine writes of the model in it. Any other file can
    hold records in a comment, in metadata or between its values. An audit of the result judges the model; what may be
    released is the copy alone.

    Parameters
    ----------
    path, domain, trust_pickle, tree
        As for :func:`load_model`.

    Returns
    -------
    ModelFile

    Raises
    ------
    UnreadableFileError, UnsupportedModelError, InvalidModelError, InvalidParameterError
        As for :func:`load_model`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rules.txt"
    >>> _ = path.write_text("# Ada, 36, ill\nif [a] then [true]\nelse [false]\n")
    >>> file = load_file(path)
    >>> file.form.canonical
    False
    >>> print(file.copy.decode(), end="")
    attributes: [a]
    classes: [false] [true]
    if [a] then [true]
    else [false]
    """
    with opened(path, trust_pickle) as (kind, content):
        model = one_model(content, kind, domain, tree)
    return file_of(model, path, kind, content, domain, tree)


def file_of(
    model: PublishedModel,
    path: str | os.PathLike[str],
    kind: Content,
    content: object,
    domain: Domain | None = None,
    tree: int | None = None,
) -> ModelFile:
    """Return a model with what of its file may be released; the content is that of the file, and its kind."""
    data, form = read_bytes(path), recognized(content, kind)
    name, own = "Glassine" if form is None else form.name, writer_of(form, kind, model)
    estimator = content if kind == "object" else None
    ours = tree is None and (own is None or kind != "object" or own.makes(content))
    if ours and (is_canonical(data, model, own, domain) or _written_without(data, content, kind, domain)):
        itself = FileForm(format=name, n_bytes=len(data), canonical=True)
        return ModelFile(model=model, form=itself, copy=data, estimator=estimator)
    if kind == "object" and not data.startswith(b"PK"):
        own = None  # a pickle is code that runs when it is read

    def read(copy: bytes) -> PublishedModel:
        return load_model(FileContent(path=Path("copy"), data=copy), domain)

    copy, to = clean_copy(model, own, domain, read)
    clean = described(copy, to)
    return ModelFile(
        model=model,
        form=FileForm(format=name, n_bytes=len(data), canonical=False, clean_copy=clean),
        copy=copy,
        estimator=estimator,
    )


def _written_without(data: bytes, content: object, kind: Content, domain: Domain | None) -> bool:
    """Return whether a file that is read in a domain was written without one."""
    try:
        model = None if domain is None else one_model(content, kind, None, None)
    except GlassineError:
        model = None
    return model is not None and is_canonical(data, model, writer_of(recognized(content, kind), kind, model))


def is_estimator(obj: object) -> bool:
    """Return whether an object is a fitted estimator that is read, and no model or file of one."""
    plain = isinstance(obj, PublishedModel | Forest | ModelFile)
    return not plain and recognized(obj, "object") is not None


def load_forest(
    path: str | os.PathLike[str], domain: Domain | None = None, *, trust_pickle: bool = False, use_seeds: bool = True
) -> Forest:
    """Read all trees of a file: a forest of scikit-learn, or the trees of XGBoost, LightGBM, treelite, ONNX or PMML.

    Trees of a boosted model have scores, which add up. The size of a leaf counts different records of the training
    data. If a format does not say on which of them each tree was trained, sizes are not read.

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
        If it holds something else than trees, or trees that were trained on unknown samples.
    InvalidModelError
        If a tree contradicts itself or does not fit the domain.
    """
    with opened(path, trust_pickle) as (kind, content):
        several = recognized(content, kind)
        if several is not None and several.read_all is not None:
            forest = several.read_all(content, domain)
        else:
            model = one_model(content, kind, domain, None)
            if not isinstance(model, DecisionTree):
                raise UnsupportedModelError(f"this is a {model}, not trees.", remedy="Read it with load_model.")
            forest = Forest(trees=(model,), source=model.source)
        trees = tuple(conformed(tree, domain) for tree in forest.trees)
    if not use_seeds:
        forest = replace(forest, multiplicities=None)
    return forest if all(a is b for a, b in zip(trees, forest.trees, strict=True)) else replace(forest, trees=trees)


def load_estimator(path: str | os.PathLike[str], *, trust_pickle: bool = False) -> Any:
    """Return the fitted estimator of a skops file or a trusted pickle, unchanged.

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
        raise UnreadableFileError(f"{name} is empty.", remedy="Give a skops file, or a pickle you trust.", path=path)
    if not data.startswith(b"PK") and not is_pickle(data):
        raise UnsupportedModelError(
            f"{name} holds no fitted estimator.", remedy="Give a skops file, or a pickle that you trust."
        )
    return estimator_in(data, path, trust_pickle)


def write_model(
    model: PublishedModel | TreeEnsemble,
    path: str | os.PathLike[str],
    *,
    to: str = "json",
    domain: Domain | None = None,
    overwrite: bool = False,
) -> bytes:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : DecisionTree, RuleList, AdditiveModel, RegressionModel or TreeEnsemble
        The model.
    path : path
        The file.
    to : str, default="json"
        The format, by its name for ``glassine export``. JSON alone keeps all of the model.
    domain : Domain, optional
        The public domain, which some formats need to spell values.
    overwrite : bool, default=False
        Whether a file that exists is replaced.

    Returns
    -------
    bytes
        What was written.

    Raises
    ------
    UnsupportedModelError
        If it is not a model, which fitted estimators become by :func:`glassine.as_model`; the format does not hold
        models of its kind; or it is not known how trees predict together.
    InvalidParameterError
        If there is no such format.
    UnreadableFileError
        If the file cannot be written, exists and is not to be replaced, or is larger than what :func:`load_model`
        reads.
    """
    form = writer(to, model)
    model = as_written(model, domain) if isinstance(model, TreeEnsemble) else model
    data = written(model, form, domain)
    check_written(data, path, form, model, domain)
    write_bytes(data, path, replaces=overwrite)
    return data


NOT_READ_BACK = ("json", "sql", "python")
"""Formats of which :func:`check_written` reads nothing back."""


def check_written(
    data: bytes,
    path: str | os.PathLike[str],
    form: Format,
    model: PublishedModel | TreeEnsemble,
    domain: Domain | None = None,
) -> None:
    """Raise UnreadableFileError if the bytes of a model in a format could not be read again, before they are written.

    They are read: each reader has its limits, on lines, objects, elements or rules. Of JSON those on bytes and
    values are all there are. SQL and Python have no reader, and pickles are code.
    """
    check_readable(data, path)
    if form.to in NOT_READ_BACK or is_pickle(data):
        return
    file = FileContent(path=Path(path), data=data)
    try:
        if isinstance(model, TreeEnsemble):
            load_forest(file, domain)
        else:
            load_model(file, domain)
    except GlassineError as error:
        raise unreadable_again(path, error) from None


def one_model(content: object, kind: Content, domain: Domain | None, tree: int | None) -> PublishedModel:
    """Return the one model of a content, or the one of its trees that is asked for."""
    if isinstance(content, PublishedModel):
        model: PublishedModel = content
    else:
        refuse_near_miss(content, kind)
        format = recognized(content, kind)
        if format is None or format.read is None:
            raise _unsupported(content, kind)
        if format.read_all is not None:
            model = format.read(content, domain, tree)
        else:
            place_of(1, tree, "the file")  # one model has one place
            model = format.read(content, domain)
    return model if isinstance(model, AdditiveModel | RegressionModel) else conformed(model, domain)


def _unsupported(content: object, kind: Content) -> UnsupportedModelError:
    """Return the error that says what an object is, and what is supported; a text, maybe a record, is not quoted."""
    if kind == "text":
        return UnsupportedModelError(
            "it is a text, in no supported model format.",
            remedy=f"Give {READABLE}. If it holds records, pass it as the data of a model.",
        )
    if isinstance(content, str | os.PathLike):
        return UnsupportedModelError(
            f"got a {'text' if isinstance(content, str) else 'path'}, not a model.",
            remedy="Read a file first: load_file(path) to audit all that it holds, load_model(path) for the model "
            "alone. Read rules with parse_rules(text).",
        )
    if type(content).__name__ in ONE_EACH:
        return UnsupportedModelError(
            f"{type(content).__name__} holds a model for each class or output.",
            remedy="Audit each of its estimators_; all were trained on the same records.",
        )
    what = f"the class {content.__name__}, not an instance of it" if isinstance(content, type) else ""
    return UnsupportedModelError(
        f"got {what or type(content).__name__}; supported are fitted trees and rule lists, additive models such as "
        "EBMs, regressions, and pipelines or searches that end with one.",
        remedy="Give one of its trees." if isinstance(content, Forest) else "See the page on formats.",
    )


@contextmanager
def opened(path: str | os.PathLike[str], trust_pickle: bool) -> Iterator[tuple[Content, object]]:
    """Yield the kind of content that a file has, and the content; errors inside name the file."""
    kind: Content = "bytes"
    content: object = None
    try:
        kind, content = unwrapped(path, trust_pickle)
        try:
            yield kind, content
        except Exception as error:
            if kind != "object" or isinstance(error, GlassineError):
                raise
            # All errors that the damaged parts of a stored object raise become one.
            raise UnreadableFileError(
                f"{os.fspath(path)} holds a damaged {type(content).__name__}: {type(error).__name__}.", path=path
            ) from None
    except UnreadableFileError as error:
        if not error.remedy:
            error.advise("Copy it again: it is damaged or cut short.")
        raise
    except GlassineError as error:
        if error.remedy is None and isinstance(error, UnsupportedModelError | InvalidModelError):
            # What a part of a format raises says what is wrong; what to do is the same for all of a format.
            error.advise(_remedy(error, recognized(content, kind) if content is not None else None))
        raise error.within(os.fspath(path)) from None


def _remedy(error: GlassineError, form: Format | None) -> str:
    """Return what to do about a file of a model, where the error itself does not say so."""
    again = "" if form is None else form.again
    if isinstance(error, UnsupportedModelError):
        if form is not None and again and form.copied:
            return f"Write it with {again}. Or give another form: the page on model formats lists them."
        # The same call would write the same again.
        what = "a model" if form is None else "a model without it, or the model"
        return f"Give {what} in a form that is read: the page on model formats lists them."
    step = f"Write it again with {again}" if again else "Export the model again with the tool that made it"
    return f"{step}, or correct the domain if it is too narrow."
