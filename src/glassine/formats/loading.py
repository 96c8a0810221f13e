"""Any supported object or file, read as a model; and models written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, overload

from glassine.domain import Domain
from glassine.errors import GlassineError, InvalidModelError, UnreadableFileError, UnsupportedModelError
from glassine.files import FileContent, read_bytes, write_bytes, write_text
from glassine.formats.boosted.ubjson import beside_ubjson, is_ubjson
from glassine.formats.builder import place_of
from glassine.formats.conditions import conformed
from glassine.formats.contents import (
    LONGEST_NAME,
    FileContents,
    FittedValues,
    OtherContent,
    beside_json,
    long_texts,
    merged,
    merged_values,
    tracked,
    unread,
    without_unused,
)
from glassine.formats.registry import Content, Format, PublishedModel, formats, recognized, writer
from glassine.formats.unwrapping import READABLE, estimator_in, is_pickle, unwrapped
from glassine.models.additive import AdditiveModel
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree, Forest

P = TypeVar("P", bound=PublishedModel)


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
    return _one(obj, "object", domain, None)


def tree_or_rules(model: PublishedModel) -> DecisionTree | RuleList:
    """Return a tree or a rule list unchanged; raise for other models.

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
    with _opened(path, trust_pickle) as (kind, content):
        return _one(content, kind, domain, tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A model that was read from a file, with an account of everything in the file.

    Attributes
    ----------
    model : DecisionTree, RuleList or AdditiveModel
        The model.
    contents : FileContents
        What the file holds beside it.
    estimator : object
        The fitted estimator of a skops file or a pickle; None of other files.
    """

    model: PublishedModel
    contents: FileContents
    estimator: Any = None


def load_file(
    path: str | os.PathLike[str], domain: Domain | None = None, *, trust_pickle: bool = False, tree: int | None = None
) -> ModelFile:
    r"""Read a model from a file, and account for everything else that the file holds.

    An audit of the result judges the file, not the model alone.

    Parameters
    ----------
    path, domain, trust_pickle, tree
        As for :func:`load_model`. A trusted pickle runs once more, because it is compared with a new one.

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
    >>> [(other.kind, other.n_bytes) for other in load_file(path).contents.others]
    [('comment', 14)]
    """
    with _opened(path, trust_pickle) as (kind, content):
        data = read_bytes(path)
        model = _one(content, kind, domain, tree)
        form = recognized(content, kind)
        try:
            parts = [*_beside_container(data, kind, content), *_beside(form, content, kind, domain, tree)]
        except Exception:
            # What cannot be accounted for is not the model's.
            parts = [OtherContent("the file, which could not be taken apart", "bytes", len(data))]
        parts += long_texts(model, domain)
    return ModelFile(
        model=model,
        contents=FileContents(
            form="Glassine" if form is None else form.name,
            n_bytes=len(data),
            others=merged(part for part in parts if isinstance(part, OtherContent)),
            fitted=merged_values(part for part in parts if isinstance(part, FittedValues)),
        ),
        estimator=content if kind == "object" else None,
    )


def write_clean(
    file: ModelFile, path: str | os.PathLike[str], *, to: str | None = None, domain: Domain | None = None
) -> str:
    """Write a copy of a file that holds the model and nothing else, and return the name of its format.

    The copy is read again before it is written: it is refused if it holds anything else. It is as private as the model
    is, no more: audit it. Attributes that the model does not use are left out where their names are too many.

    Parameters
    ----------
    file : ModelFile
        What was read.
    path : path
        The file to write.
    to : str, optional
        The format of the copy, as for :func:`write_model`. By default that of the file where it can hold the same model
        and nothing else, and JSON otherwise.
    domain : Domain, optional
        The public domain, which some formats need to spell values.

    Raises
    ------
    InvalidModelError
        If a copy would hold more than the model, such as names that are too long to be names.
    UnsupportedModelError, InvalidParameterError
        As for :func:`write_model`.
    """
    model = without_unused(file.model, domain)
    if len(model.source or "") > LONGEST_NAME:
        model = replace(model, source="")
    own = next((one.to for one in formats() if one.to and one.write is not None and one.name == file.contents.form), "")
    for form in [to] if to is not None else [name for name in (own, "json") if name]:
        copy = _clean(model, Path(path), form, domain, exact=to is None and form != "json")
        if copy is not None:
            write_bytes(copy, path)
            return form
    raise InvalidModelError(
        "a copy of the model would hold more than a model needs.",
        remedy=f"Shorten the names of its attributes and classes to {LONGEST_NAME} characters, leave out classes "
        "that no record has, and write it as JSON.",
    )


def _clean(model: PublishedModel, path: Path, to: str, domain: Domain | None, *, exact: bool) -> bytes | None:
    """Return a model in a format; None where that holds more than the model, or, if ``exact``, another model."""
    try:
        form = writer(to, model)
        options = {"extension": path.suffix} if to == "sklearn" else {}
        written: str | bytes = b"" if form.write is None else form.write(model, domain, **options)
        data = written if isinstance(written, bytes) else (written.rstrip("\n") + "\n").encode()
        if form.read is None and to != "sklearn":  # code that is only written has no room but for what is written
            return data
        again = load_file(FileContent(path=path, data=data), domain, trust_pickle=True)
    except GlassineError:
        if exact:
            return None
        raise
    if again.contents.others or any(entry.n_private != 0 for entry in again.contents.fitted):
        return None
    same = replace(again.model, source="") == replace(model, source="")
    return data if same or not exact else None


def _beside_container(data: bytes, kind: Content, content: object) -> Iterable[OtherContent]:
    """Return what the wrapping of a content holds: an archive, a pickle, or the text of JSON."""
    if kind == "object":
        # Here and below: what only stored objects need is imported for them alone.
        from glassine.formats.skops import beside_archive, beside_pickle

        return beside_archive(data, content) if data.startswith(b"PK") else beside_pickle(data, content)
    if kind == "values" and not is_ubjson(data):
        return beside_json(data.decode("utf-8-sig"), content)
    return beside_ubjson(data) if kind == "values" else ()


def _beside(
    form: Format | None, content: object, kind: Content, domain: Domain | None, tree: int | None
) -> Iterable[OtherContent | FittedValues]:
    """Return what a content holds beside the model, as its format says; of JSON values what was not asked for."""
    if isinstance(content, DecisionTree | RuleList | AdditiveModel) or form is None:
        return ()
    if form.beside is not None and kind != "values":
        return form.beside(content, domain, tree)
    if kind == "values":
        noted = tracked(content)
        _one(noted, kind, domain, tree)
        return unread(noted, form.bookkeeping)
    if kind == "object":
        from glassine.formats.sklearn.contents import beside_object

        return beside_object(content, lambda obj: _one(obj, kind, domain, tree))
    n = len(content) if isinstance(content, str | bytes) else 1
    return [OtherContent("the file, of a format that is not accounted for", "bytes", n)]


def carried_by(obj: object, domain: Domain | None = None) -> tuple[OtherContent, ...]:
    """Return what a saved estimator would contain that its model does not need."""
    form = None if isinstance(obj, DecisionTree | RuleList | AdditiveModel | Forest) else recognized(obj, "object")
    if form is None:
        return ()
    try:
        parts = list(_beside(form, obj, "object", domain, None))
    except Exception:
        return ()
    return merged(part for part in parts if isinstance(part, OtherContent))


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
    with _opened(path, trust_pickle) as (kind, content):
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
        raise UnreadableFileError(
            f"{name} is empty.", remedy="Give a skops file, or a pickle that you trust.", path=path
        )
    if not data.startswith(b"PK") and not is_pickle(data):
        raise UnsupportedModelError(
            f"{name} holds no fitted estimator.", remedy="Give a skops file, or a pickle that you trust."
        )
    return estimator_in(data, path, trust_pickle)


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
    what = f"the class {content.__name__}, not an instance of it" if isinstance(content, type) else ""
    return UnsupportedModelError(
        f"got {what or type(content).__name__}; supported are fitted trees and rule lists, additive models such as "
        "EBMs, and pipelines or searches that end with one.",
        remedy="Give one of its trees." if isinstance(content, Forest) else "See the page on formats.",
    )


@contextmanager
def _opened(path: str | os.PathLike[str], trust_pickle: bool) -> Iterator[tuple[Content, object]]:
    """Yield the kind of content that a file has, and the content; errors inside name the file."""
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
    except UnreadableFileError:
        raise
    except GlassineError as error:
        if error.remedy is None and type(error) in REMEDIES:
            # What a part of a format raises says what is wrong; what to do is the same for all of a kind.
            error.advise(REMEDIES[type(error)])
        raise error.within(os.fspath(path)) from None


REMEDIES: dict[type[GlassineError], str] = {
    UnsupportedModelError: "Save the model in a form that is read: the page on model formats lists them.",
    InvalidModelError: "Export the model again with the tool that made it, or correct the domain if it is too narrow.",
}
"""What to do about a file of a model, where the error itself does not say so."""
