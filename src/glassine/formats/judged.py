"""What an audit judges of a file or an object: one model, or several trees together."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from glassine.domain import Domain
from glassine.errors import GlassineError, UnsupportedModelError
from glassine.exports import Displayed
from glassine.files import read_bytes, write_bytes
from glassine.formats.canonical import FileForm, as_written, bounded, described, written
from glassine.formats.format import Content, Format, PublishedModel
from glassine.formats.loading import ModelFile, file_of, load_file, one_model, opened
from glassine.formats.registry import recognized, writer
from glassine.models.ensemble import TreeEnsemble


def as_ensemble(obj: object, domain: Domain | None = None) -> TreeEnsemble:
    """Return a fitted ensemble of trees as what an audit asks of it.

    Parameters
    ----------
    obj : object
        A fitted random forest, extra trees, gradient boosting or histogram boosting of scikit-learn, or a pipeline or
        search that ends with one.
    domain : Domain, optional
        As for :func:`as_model`.

    Raises
    ------
    UnsupportedModelError
        If it is something else.
    InvalidModelError
        If it is not fitted, or does not fit the domain.
    """
    ensemble = ensemble_in(obj, domain)
    if ensemble is None:
        raise UnsupportedModelError(
            f"got {type(obj).__name__}, which is no ensemble of trees that is read.", remedy="See the page on formats."
        )
    return ensemble


def ensemble_in(obj: object, domain: Domain | None = None) -> TreeEnsemble | None:
    """Return an object as an ensemble of trees; None where it is none."""
    return obj if isinstance(obj, TreeEnsemble) else _together(obj, "object", domain)


def _together(content: object, kind: Content, domain: Domain | None) -> TreeEnsemble | None:
    """Return the trees of a content as an ensemble; None where it holds one model."""
    form = None if isinstance(content, PublishedModel) else recognized(content, kind)
    return None if form is None or form.read_ensemble is None else form.read_ensemble(content, domain)


@dataclass(frozen=True, kw_only=True)  # Without slots: a copy is made when it is asked for
class EnsembleFile(Displayed):
    """An ensemble of trees that was read from a file, and what of the file may be released.

    Attributes
    ----------
    model : TreeEnsemble
        The ensemble.
    form : FileForm
        Whether Glassine wrote the file. The copy is described once it is written, by ``write_clean``.
    data : bytes
        The file.
    domain : Domain or None
        The domain in which it was read.
    """

    model: TreeEnsemble
    form: FileForm
    data: bytes = field(repr=False)
    domain: Domain | None = field(default=None, repr=False)

    @cached_property
    def copy(self) -> bytes:
        """What may be released: the file where Glassine wrote it, else the same trees as Glassine's JSON.

        Raises
        ------
        UnsupportedModelError
            If it is not known how the trees of the file predict together.
        """
        if self.form.canonical:
            return self.data
        ensemble = bounded(as_written(self.model, self.domain), self.domain)
        return written(ensemble, writer("json", ensemble))


F = TypeVar("F", bound="ModelFile | EnsembleFile")


def write_clean(file: F, path: str | os.PathLike[str]) -> F:
    """Write what may be released of a file, and return the file with the name of the copy.

    Of a file that Glassine wrote, that is the file itself.

    Parameters
    ----------
    file : ModelFile or EnsembleFile
        What was read.
    path : path
        The file to write.

    Raises
    ------
    UnsupportedModelError
        If it is not known how the trees of an ensemble predict together.
    """
    copy = file.copy
    write_bytes(copy, path)
    if file.form.canonical:
        return file
    clean = file.form.clean_copy or described(copy, writer("json", file.model))
    return replace(file, form=replace(file.form, clean_copy=replace(clean, name=Path(path).name)))


def load_judged(
    path: str | os.PathLike[str], domain: Domain | None = None, *, trust_pickle: bool = False, tree: int | None = None
) -> ModelFile | EnsembleFile:
    """Read what an audit judges from a file: several trees as one ensemble, unless one of them is asked for.

    Parameters
    ----------
    path, domain, trust_pickle, tree
        As for :func:`load_file`.

    Raises
    ------
    UnreadableFileError, UnsupportedModelError, InvalidModelError, InvalidParameterError
        As for :func:`load_file`.
    """
    if tree is None:
        with opened(path, trust_pickle) as (kind, content):
            try:
                ensemble = _together(content, kind, domain)
            except UnsupportedModelError as error:
                # What is no ensemble can be a model of another kind, such as an additive one that was exported.
                return _alone(path, domain, trust_pickle, error)
            form = recognized(content, kind) if ensemble is not None else None
            model = one_model(content, kind, domain, None) if form is None else None
        if ensemble is not None and form is not None:
            return _whole(ensemble, form, read_bytes(path), content, domain)
        if model is not None:
            return file_of(model, path, kind, content, domain)
    return load_file(path, domain, trust_pickle=trust_pickle, tree=tree)


def just_written(model: PublishedModel, path: str | os.PathLike[str], wrote: bytes, domain: Domain) -> ModelFile:
    """Return what :func:`load_judged` reads of the JSON file that was just written of a model in the terms of a domain.

    JSON holds all of a model, so that nothing is read again but the bytes, which are compared with what was written.
    """
    data = read_bytes(path)
    if data != wrote or bounded(model, domain) is not model:
        return load_file(path, domain)
    form = FileForm(format=writer("json", model).name, n_bytes=len(data), canonical=True)
    return ModelFile(model=model, form=form, copy=data)


def _whole(ensemble: TreeEnsemble, form: Format, data: bytes, content: object, domain: Domain | None) -> EnsembleFile:
    """Return an ensemble with its file."""
    own = None
    if form.to == "json":
        # What a domain says of missing values is no part of the file.
        own = ensemble if domain is None else form.read_ensemble(content) if form.read_ensemble else None
    canonical = own is not None and bounded(own, domain) is own and written(own, form) == data
    why = "" if ensemble.answers else "How the trees of this file predict together is not read."
    described = FileForm(format=form.name, n_bytes=len(data), canonical=canonical, uncopied=why)
    return EnsembleFile(model=ensemble, form=described, data=data, domain=domain)


def _alone(
    path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool, error: UnsupportedModelError
) -> ModelFile:
    """Return the one model of a file that is no ensemble, for this error; raise it where there is none."""
    try:
        return load_file(path, domain, trust_pickle=trust_pickle)
    except GlassineError:
        raise error from None
