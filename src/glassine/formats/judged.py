"""What an audit judges of a file or an object: one model, or several trees together."""

from __future__ import annotations

import os
from dataclasses import dataclass

from glassine.domain import Domain
from glassine.errors import GlassineError, UnsupportedModelError
from glassine.exports import Displayed
from glassine.files import read_bytes
from glassine.formats.canonical import FileForm
from glassine.formats.format import Content, PublishedModel
from glassine.formats.loading import ModelFile, load_file, opened
from glassine.formats.registry import recognized
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
    found = obj if isinstance(obj, TreeEnsemble) else _together(obj, "object", domain)
    if found is None:
        raise UnsupportedModelError(
            f"got {type(obj).__name__}, which is no ensemble of trees that is read.", remedy="See the page on formats."
        )
    return found


def _together(content: object, kind: Content, domain: Domain | None) -> TreeEnsemble | None:
    """Return the trees of a content as an ensemble; None where it holds one model."""
    form = None if isinstance(content, PublishedModel) else recognized(content, kind)
    return None if form is None or form.read_ensemble is None else form.read_ensemble(content, domain)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleFile(Displayed):
    """An ensemble of trees that was read from a file: the file itself is what is released.

    Attributes
    ----------
    model : TreeEnsemble
        The ensemble.
    form : FileForm
        The file, of which there is no copy.
    """

    model: TreeEnsemble
    form: FileForm


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
                found = _together(content, kind, domain)
            except UnsupportedModelError as error:
                # What is no ensemble can be a model of another kind, such as an additive one that was exported.
                return _alone(path, domain, trust_pickle, error)
            form = recognized(content, kind) if found is not None else None
        if found is not None and form is not None:
            size = len(read_bytes(path))
            return EnsembleFile(model=found, form=FileForm(format=form.name, n_bytes=size, canonical=False))
    return load_file(path, domain, trust_pickle=trust_pickle, tree=tree)


def _alone(
    path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool, error: UnsupportedModelError
) -> ModelFile:
    """Return the one model of a file that is no ensemble, for this error; raise it where there is none."""
    try:
        return load_file(path, domain, trust_pickle=trust_pickle)
    except GlassineError:
        raise error from None
