"""Fitted estimators from files, as they are: for attacks that need more than a model's plain value."""

from __future__ import annotations

import os
from typing import Any

from glassine.errors import UnreadableFileError, UnsupportedModelError
from glassine.files import read_bytes
from glassine.formats.loading import _is_pickle, _skops_archive, _unpickled
from glassine.formats.skops import read_skops

__all__ = ["load_estimator"]


def load_estimator(path: str | os.PathLike[str], *, trust_pickle: bool = False) -> Any:
    """Return the fitted estimator of a skops file, or of a pickle that is trusted.

    Parameters
    ----------
    path : path
        A skops, pickle or joblib file.
    trust_pickle : bool, default=False
        Whether to unpickle. A pickle is code: whoever wrote the file can do with your computer what you can.

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
        raise UnreadableFileError(f"{name} is empty. Give a skops file, or a pickle that you trust.", path=path)
    if data.startswith(b"PK"):
        return read_skops(_skops_archive(data, path), path)
    if _is_pickle(data):
        return _unpickled(data, path, trust_pickle)
    raise UnsupportedModelError(f"{name} holds no fitted estimator. Give a skops file, or a pickle that you trust.")
