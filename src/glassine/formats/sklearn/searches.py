"""A fitted search of scikit-learn around an estimator of another program: the model that it chose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glassine.domain import Domain
from glassine.errors import UnsupportedModelError
from glassine.formats.format import BY_START, PublishedModel, of_object
from glassine.formats.registry import recognized
from glassine.formats.sklearn.pipelines import sklearn_names
from glassine.formats.sklearn.tree import is_sklearn_tree

CHOSEN_BY_SCORES = "the settings were chosen by scores of the records, which carry no noise"
"""Caveat of a private model that was chosen so."""


def is_search(obj: object) -> bool:
    """Return whether an object is a fitted search whose best estimator is none of scikit-learn's own."""
    best = getattr(obj, "best_estimator_", None) if "BaseSearchCV" in sklearn_names(obj) else None
    return best is not None and (is_search(best) or not is_sklearn_tree(best))


def model_of_search(search: Any, domain: Domain | None = None) -> PublishedModel:
    """Return the model of the best estimator; a guarantee is void, as it does not cover the choice."""
    best = search.best_estimator_
    format = recognized(best, "object")
    if format is None or format.read is None:
        kinds = f"{type(search).__name__} of {type(best).__name__}"
        raise UnsupportedModelError(f"{kinds} is not supported.", remedy="Search over trees, rule lists or EBMs.")
    model: PublishedModel = format.read(best, domain)
    if model.guarantee is None:
        return model
    guarantee = replace(model.guarantee, caveats=tuple(dict.fromkeys((*model.guarantee.caveats, CHOSEN_BY_SCORES))))
    return replace(model, guarantee=guarantee)


FORMAT = of_object(
    name="scikit-learn search",
    again="skops.io.dump(search.best_estimator_, 'model.skops')",
    reads="fitted search of scikit-learn over an estimator of another row",
    reveals="the model that was chosen",
    sniff=is_search,
    rank=BY_START,
    read=model_of_search,
)
