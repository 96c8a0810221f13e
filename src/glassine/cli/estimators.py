"""Models that commands take as plain values, or as the fitted forests that they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from glassine.cli.reading import load
from glassine.errors import SeveralTreesError, UnsupportedModelError

if TYPE_CHECKING:
    from glassine.domain import Domain

__all__ = ["load_published", "load_trees"]


def load_published(
    path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool, tree: int | None = None
) -> Any:
    """Return a model as a plain value, or a fitted forest as it is; of several trees, the one of this place."""
    from glassine.formats.loading import load_estimator
    from glassine.formats.sklearn.forest import is_sklearn_forest

    try:
        return load(path, domain, trust_pickle, tree)
    except UnsupportedModelError:
        try:
            estimator = load_estimator(path, trust_pickle=trust_pickle)
        except UnsupportedModelError:
            estimator = None
        if not is_sklearn_forest(estimator):
            raise
        return estimator


def load_trees(path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool) -> Any:
    """Return a model as :func:`load_published` does, and the trees of a file that holds several as a forest."""
    from glassine.formats import load_forest

    try:
        return load_published(path, domain, trust_pickle)
    except SeveralTreesError:
        return load_forest(path, domain, trust_pickle=trust_pickle)
