"""Models that commands take as plain values, or as the fitted forests that they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.reading import load
from glassine.errors import UnsupportedModelError

if TYPE_CHECKING:
    from glassine.domain import Domain

__all__ = ["load_published"]


def load_published(path: Path, domain: Domain | None, trust_pickle: bool) -> Any:
    """Return a model as a plain value, or a fitted forest as it is."""
    from glassine.models.formats.estimators import load_estimator
    from glassine.models.formats.scikit_forest import is_sklearn_forest

    try:
        return load(path, domain, trust_pickle)
    except UnsupportedModelError:
        try:
            estimator = load_estimator(path, trust_pickle=trust_pickle)
        except UnsupportedModelError:
            estimator = None
        if not is_sklearn_forest(estimator):
            raise
        return estimator
