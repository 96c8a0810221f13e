"""Fitted scikit-learn ensembles of trees: forests, extra trees, gradient boosting and histogram boosting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import class_names, not_fitted, require
from glassine.formats.sklearn.encodings import Column, Number
from glassine.formats.sklearn.pipelines import end_of, sklearn_names
from glassine.formats.sklearn.tree import best_of, own_names, piped
from glassine.models.ensemble import TreeEnsemble
from glassine.models.implied import unseen
from glassine.records.arrays import Array, Bools, Ints

FOREST, BOOSTED, HISTOGRAM = "BaseForest", "BaseGradientBoosting", "BaseHistGradientBoosting"
LEARNERS = {
    "ExtraTreesClassifier": "extra trees",
    "ExtraTreesRegressor": "extra trees",
    "ForestClassifier": "random forest",
    "ForestRegressor": "random forest",
    BOOSTED: "gradient boosting",
    HISTOGRAM: "histogram boosting",
}


def is_sklearn_ensemble(obj: object) -> bool:
    """Return whether an object is an ensemble of scikit-learn that is audited, or a pipeline that ends with one."""
    return not isinstance(obj, type) and not {FOREST, BOOSTED, HISTOGRAM}.isdisjoint(sklearn_names(end_of(obj)))


def ensemble_from_sklearn(estimator: Any, domain: Domain | None = None) -> TreeEnsemble:
    """Return a fitted ensemble of scikit-learn, alone or at the end of a pipeline or search, by its arrays.

    Parameters
    ----------
    estimator : estimator
        A random forest, extra trees, gradient boosting or histogram boosting.
    domain : Domain, optional
        The public domain; it names the columns of an estimator that was fitted on an array.

    Returns
    -------
    TreeEnsemble
        Thresholds are those of the trees, in the unit of the attribute where a pipeline scales it. Numbers of records
        are those of the trees' nodes: with bootstrap, of different records.

    Raises
    ------
    UnsupportedModelError
        If it is another estimator, has several outputs, or the pipeline holds a step that cannot be mapped back.
    InvalidModelError
        If it is not fitted, or the domain lacks one of its columns.
    """
    if "BaseSearchCV" in sklearn_names(estimator):
        return ensemble_from_sklearn(best_of(estimator), domain)
    end = end_of(estimator)
    kinds = sklearn_names(end)
    learner = next((learner for kind, learner in LEARNERS.items() if kind in kinds), None)
    if learner is None:
        raise UnsupportedModelError(f"an ensemble of trees is expected, got {type(end).__name__}.")
    if int(getattr(end, "n_outputs_", 1)) != 1:
        raise UnsupportedModelError(
            f"the ensemble predicts {end.n_outputs_} outputs at once; one is supported.", remedy="Fit one an output."
        )
    classes = class_names(end) if hasattr(end, "classes_") else None
    if not hasattr(end, "n_features_in_"):
        raise not_fitted(end, "trees")
    names, columns = columns_of(estimator, end, domain)
    histogram = HISTOGRAM in kinds
    build = _histogram if histogram else _boosted if BOOSTED in kinds else _forest
    trees, own = build(end, classes, len(columns))
    return TreeEnsemble(
        learner=learner,
        attributes=names,
        classes=classes,
        leaves=np.array([int(tree.leaf.sum()) for tree in trees]),
        thresholds=_by_attribute(
            trees, own_columns(end, columns) if histogram else columns, domain, rounded=not histogram
        ),
        sizes=np.concatenate([tree.sizes[tree.leaf] for tree in trees]),
        source=f"scikit-learn {type(end).__name__}",
        estimator=estimator,
        **own,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """The nodes of a tree, as arrays of shape (nodes,)."""

    leaf: Bools
    feature: Ints  # The column that a node tests
    threshold: Array
    sizes: Ints  # Training records
    by_threshold: Bools  # Which nodes split by their threshold


def columns_of(estimator: Any, end: Any, domain: Domain | None) -> tuple[tuple[str, ...], list[Column]]:
    """Return the attributes, and the columns that the trees get as functions of them."""
    if "Pipeline" in sklearn_names(estimator):
        return piped(estimator, domain)
    names = own_names(end, int(end.n_features_in_), domain)
    return names, [Number(name) for name in names]


def own_columns(model: Any, columns: list[Column]) -> list[Column]:
    """Return the columns in the order of the trees of histogram boosting: its encoder puts categories first."""
    listed = getattr(model, "is_categorical_", None)
    if getattr(model, "_preprocessor", None) is None or listed is None:
        return columns
    order = np.argsort(~np.asarray(listed, dtype=bool), kind="stable")
    return [columns[place] for place in order.tolist()]


def _by_attribute(
    trees: Sequence[_Tree], columns: list[Column], domain: Domain | None, *, rounded: bool
) -> dict[str, Array]:
    """Return the distinct thresholds on each attribute, in its own unit, increasing; ``rounded`` as in splits."""
    every = np.concatenate([tree.feature[tree.by_threshold] for tree in trees])
    values = np.concatenate([tree.threshold[tree.by_threshold] for tree in trees])
    thresholds: dict[str, list[Array]] = {}
    for place in np.unique(every).tolist():
        column = columns[place]
        require(column.attribute, domain, "the estimator tests")
        if not isinstance(column, Number):
            continue
        own = np.unique(values[every == place])
        own = own[np.isfinite(own)]
        if column.steps:
            own = np.array([column.pulled_back(bound, rounded=rounded) for bound in own.tolist()])
        thresholds.setdefault(column.attribute, []).append(own[np.isfinite(own)])
    return {name: np.unique(np.concatenate(parts)) for name, parts in thresholds.items() if sum(map(len, parts))}


def _checked(left: Ints, right: Ints, tree: _Tree, width: int) -> _Tree:
    """Return a tree; raise InvalidModelError where compiled code would leave its arrays, or never end in it."""
    inner = np.flatnonzero(~tree.leaf)
    for child in (left, right):
        # Every learner numbers children after their parent.
        if ((child[inner] <= inner) | (child[inner] >= len(tree.leaf))).any():
            raise InvalidModelError("a node of the ensemble leads out of its tree, or back.")
    if ((tree.feature[inner] < 0) | (tree.feature[inner] >= width)).any():
        raise InvalidModelError(f"a node of the ensemble tests a feature that is none of its {width} columns.")
    return tree


def _of_nodes(nodes: Any, width: int) -> _Tree:
    """Return a tree of histogram boosting."""
    leaf = nodes["is_leaf"].astype(bool)
    return _checked(
        nodes["left"].astype(np.int64),
        nodes["right"].astype(np.int64),
        _Tree(
            leaf=leaf,
            feature=nodes["feature_idx"].astype(np.int64),
            threshold=nodes["num_threshold"].astype(float),
            sizes=nodes["count"].astype(np.int64),
            by_threshold=~leaf & ~nodes["is_categorical"].astype(bool),
        ),
        width,
    )


def _of_tree(tree: Any, width: int) -> _Tree:
    """Return any other tree of scikit-learn."""
    left = np.asarray(tree.children_left)
    leaf = np.asarray(left == -1)
    return _checked(
        left,
        np.asarray(tree.children_right),
        _Tree(
            leaf=leaf,
            feature=np.asarray(tree.feature),
            threshold=np.asarray(tree.threshold, dtype=float),
            sizes=np.asarray(tree.n_node_samples, dtype=np.int64),
            by_threshold=~leaf,
        ),
        width,
    )


Built: TypeAlias = tuple[list[_Tree], dict[str, Any]]
"""The trees of an ensemble, and what else is known of it by the fields of :class:`TreeEnsemble`."""


def _forest(forest: Any, classes: tuple[Scalar, ...] | None, width: int) -> Built:
    members = getattr(forest, "estimators_", None)
    if not members:
        raise not_fitted(forest, "trees")
    trees = [_of_tree(member.tree_, width) for member in members]
    worst, masses = 0, []
    for member, tree in zip(members, trees, strict=True):
        if classes is not None:
            values = np.asarray(member.tree_.value, dtype=float)[:, 0, :]
            sizes, pure = tree.sizes[tree.leaf], (values[tree.leaf] > 0).sum(axis=1) == 1
            worst = max(worst, int(np.minimum(sizes[pure], unseen(len(sizes))).sum()))
            masses.append(values[0] / values[0].sum())
    root = float(np.asarray(members[0].tree_.weighted_n_node_samples)[0])
    n = getattr(forest, "_n_samples", None)
    if not isinstance(n, int | np.integer) and getattr(forest, "max_samples", None) is None:
        # The weight of the root is the number of draws, unless records were weighted.
        n = round(root) if forest.bootstrap else int(trees[0].sizes[0])
    two = classes is not None and len(classes) == 2 and getattr(forest, "class_weight", None) is None
    return trees, {
        "combined": "mean",
        "placed": "random" if any("ExtraTrees" in kind for kind in sklearn_names(forest)) else "at nodes",
        "n_records": None if n is None else int(n),
        "base_rate": float(np.mean(masses, axis=0)[1]) if two else None,
        # Of all training records: which of them a bootstrap drew is another matter.
        "certain": (worst, int(n)) if classes is not None and n is not None else None,
    }


def _boosted(model: Any, classes: tuple[Scalar, ...] | None, width: int) -> Built:
    members = getattr(model, "estimators_", None)
    if members is None or not np.size(members):
        raise not_fitted(model, "trees")
    trees = [_of_tree(member.tree_, width) for member in np.ravel(members).tolist()]
    share = float(getattr(model, "subsample", 1.0))
    n = int(trees[0].sizes[0])
    n = n if share == 1 else round(n / share)
    held_back = getattr(model, "n_iter_no_change", None) is not None
    if held_back:
        n = round(n / (1 - model.validation_fraction))
    special = (("subsampling", share != 1), ("early stopping", held_back))
    prior = getattr(getattr(model, "init_", None), "class_prior_", None)
    return trees, {
        "combined": "sum",
        "placed": "at nodes",
        "outputs": int(np.shape(members)[1]) if np.ndim(members) > 1 else 1,
        "rate": float(model.learning_rate),
        "n_records": n,
        "whole": share == 1 and not held_back,
        "base_rate": float(prior[1]) if prior is not None and len(prior) == 2 else None,
        "special": tuple(name for name, there in special if there),
    }


def _histogram(model: Any, classes: tuple[Scalar, ...] | None, width: int) -> Built:
    rounds = getattr(model, "_predictors", None)
    if not rounds:
        raise not_fitted(model, "trees")
    trees = [_of_nodes(np.asarray(tree.nodes), width) for each in rounds for tree in each]
    n = int(trees[0].sizes[0])
    held_back = bool(getattr(model, "do_early_stopping_", False)) and model.validation_fraction is not None
    if held_back:
        share = model.validation_fraction
        n = n + int(share) if share >= 1 else round(n / (1 - share))
    base = getattr(model, "_baseline_prediction", None)
    weighted = getattr(model, "class_weight", None) is not None
    two = classes is not None and len(classes) == 2 and base is not None and not weighted
    return trees, {
        "combined": "sum",
        # Halfway between two values of few, else on one at a quantile.
        "placed": "values",
        "outputs": len(rounds[0]),
        "rate": float(model.learning_rate),
        "n_records": n,
        "whole": not held_back,
        "base_rate": 1 / (1 + math.exp(-float(np.ravel(base)[0]))) if two and base is not None else None,
        "special": ("early stopping",) if held_back else (),
    }
