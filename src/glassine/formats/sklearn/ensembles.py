"""Fitted scikit-learn ensembles of trees: forests, extra trees, gradient boosting and histogram boosting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

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
    build = _histogram if HISTOGRAM in kinds else _boosted if BOOSTED in kinds else _forest
    # What several kinds share; each adds what is its own.
    return build(end, learner, classes, estimator, domain)


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
    features: Sequence[Ints],
    bounds: Sequence[Array],
    columns: Sequence[Column],
    domain: Domain | None,
    *,
    rounded: bool = True,
) -> dict[str, Array]:
    """Return the distinct thresholds on each attribute, in its own unit, increasing; ``rounded`` as in splits."""
    every = np.concatenate([*features, np.zeros(0, dtype=np.int64)])
    values = np.concatenate([*bounds, np.zeros(0)])
    if every.size and not (every.min() >= 0 and every.max() < len(columns)):
        raise InvalidModelError(f"a tree tests feature {every.max()}, but there are {len(columns)} columns.")
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


def _check(left: Ints, right: Ints, leaf: Bools, feature: Ints, width: int) -> None:
    """Raise InvalidModelError where compiled code would leave the arrays of a tree, or never end in it."""
    inner = np.flatnonzero(~leaf)
    for child in (left, right):
        # Every learner numbers children after their parent.
        if ((child[inner] <= inner) | (child[inner] >= len(leaf))).any():
            raise InvalidModelError("a node of the ensemble leads out of its tree, or back.")
    if ((feature[inner] < 0) | (feature[inner] >= width)).any():
        raise InvalidModelError(f"a node of the ensemble tests a feature that is none of its {width} columns.")


def _leaves(tree: Any, width: int) -> Bools:
    """Return which nodes of a tree are leaves, shape (nodes,)."""
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    leaf = np.asarray(left == -1)
    _check(left, right, leaf, np.asarray(tree.feature), width)
    return leaf


def _certain(sizes: Ints, pure: Bools) -> int:
    """Return how many outcomes pure leaves of a tree make certain only for members."""
    return int(np.minimum(sizes[pure], unseen(len(sizes))).sum())


def _trees(members: Iterable[Any]) -> list[Any]:
    trees = [member.tree_ for member in members]
    if not trees:
        raise InvalidModelError("the ensemble holds no tree.", remedy="Fit it.")
    return trees


def _forest(
    forest: Any, learner: str, classes: tuple[Scalar, ...] | None, estimator: Any, domain: Domain | None
) -> TreeEnsemble:
    members = getattr(forest, "estimators_", None)
    if not members:
        raise not_fitted(forest, "trees")
    names, columns = columns_of(estimator, forest, domain)
    features, bounds, sizes, leaves, masses, worst = [], [], [], [], [], 0
    for tree in _trees(members):
        leaf = _leaves(tree, len(columns))
        features.append(np.asarray(tree.feature)[~leaf])
        bounds.append(np.asarray(tree.threshold, dtype=float)[~leaf])
        own = np.asarray(tree.n_node_samples, dtype=np.int64)
        sizes.append(own[leaf])
        leaves.append(int(leaf.sum()))
        values = np.asarray(tree.value, dtype=float)[:, 0, :]
        if classes is not None:
            pure = (values[leaf] > 0).sum(axis=1) == 1
            worst = max(worst, _certain(own[leaf], pure))
            masses.append(values[0] / values[0].sum())
    root = float(np.asarray(members[0].tree_.weighted_n_node_samples)[0])
    n = getattr(forest, "_n_samples", None)
    if not isinstance(n, int | np.integer) and getattr(forest, "max_samples", None) is None:
        # The weight of the root is the number of draws, unless records were weighted.
        n = round(root) if forest.bootstrap else int(members[0].tree_.n_node_samples[0])
    two = classes is not None and len(classes) == 2 and getattr(forest, "class_weight", None) is None
    return TreeEnsemble(
        combined="mean",
        learner=learner,
        attributes=names,
        classes=classes,
        leaves=np.array(leaves),
        thresholds=_by_attribute(features, bounds, columns, domain),
        placed="random" if learner == "extra trees" else "at nodes",
        n_records=None if n is None else int(n),
        base_rate=float(np.mean(masses, axis=0)[1]) if two else None,
        sizes=np.concatenate(sizes),
        # Of all training records: which of them a bootstrap drew is another matter.
        certain=(worst, int(n)) if classes is not None and n is not None else None,
        source=f"scikit-learn {type(forest).__name__}",
        estimator=estimator,
    )


def _boosted(
    model: Any, learner: str, classes: tuple[Scalar, ...] | None, estimator: Any, domain: Domain | None
) -> TreeEnsemble:
    members = getattr(model, "estimators_", None)
    if members is None or not np.size(members):
        raise not_fitted(model, "trees")
    names, columns = columns_of(estimator, model, domain)
    trees = _trees(np.ravel(members).tolist())
    leaf = [_leaves(tree, len(columns)) for tree in trees]
    share = float(getattr(model, "subsample", 1.0))
    n = int(trees[0].n_node_samples[0])
    prior = getattr(getattr(model, "init_", None), "class_prior_", None)
    return TreeEnsemble(
        combined="sum",
        learner=learner,
        attributes=names,
        classes=classes,
        leaves=np.array([int(own.sum()) for own in leaf]),
        thresholds=_by_attribute(
            [np.asarray(tree.feature)[~own] for tree, own in zip(trees, leaf, strict=True)],
            [np.asarray(tree.threshold, dtype=float)[~own] for tree, own in zip(trees, leaf, strict=True)],
            columns,
            domain,
        ),
        placed="at nodes",
        outputs=int(np.shape(members)[1]) if np.ndim(members) > 1 else 1,
        rate=float(model.learning_rate),
        n_records=n if share == 1 else round(n / share),
        whole=share == 1,
        base_rate=float(prior[1]) if prior is not None and len(prior) == 2 else None,
        sizes=np.concatenate(
            [np.asarray(tree.n_node_samples, dtype=np.int64)[own] for tree, own in zip(trees, leaf, strict=True)]
        ),
        special=() if share == 1 else ("subsampling",),
        source=f"scikit-learn {type(model).__name__}",
        estimator=estimator,
    )


def _histogram(
    model: Any, learner: str, classes: tuple[Scalar, ...] | None, estimator: Any, domain: Domain | None
) -> TreeEnsemble:
    rounds = getattr(model, "_predictors", None)
    if not rounds:
        raise not_fitted(model, "trees")
    names, columns = columns_of(estimator, model, domain)
    nodes = [np.asarray(tree.nodes) for each in rounds for tree in each]
    leaf = [own["is_leaf"].astype(bool) for own in nodes]
    for own, last in zip(nodes, leaf, strict=True):
        left, right = own["left"].astype(np.int64), own["right"].astype(np.int64)
        _check(left, right, last, own["feature_idx"].astype(np.int64), len(columns))
    columns = own_columns(model, columns)
    split = [~own & ~nodes[i]["is_categorical"].astype(bool) for i, own in enumerate(leaf)]
    n = int(nodes[0]["count"][0])
    held_back = bool(getattr(model, "do_early_stopping_", False)) and model.validation_fraction is not None
    if held_back:
        share = model.validation_fraction
        n = n + int(share) if share >= 1 else round(n / (1 - share))
    base = getattr(model, "_baseline_prediction", None)
    weighted = getattr(model, "class_weight", None) is not None
    two = classes is not None and len(classes) == 2 and base is not None and not weighted
    return TreeEnsemble(
        combined="sum",
        learner=learner,
        attributes=names,
        classes=classes,
        leaves=np.array([int(own.sum()) for own in leaf]),
        thresholds=_by_attribute(
            [nodes[i]["feature_idx"][own].astype(np.int64) for i, own in enumerate(split)],
            [nodes[i]["num_threshold"][own].astype(float) for i, own in enumerate(split)],
            columns,
            domain,
            rounded=False,
        ),
        # Halfway between two values of few, else on one at a quantile.
        placed="values",
        outputs=len(rounds[0]),
        rate=float(model.learning_rate),
        n_records=n,
        whole=not held_back,
        base_rate=1 / (1 + math.exp(-float(np.ravel(base)[0]))) if two and base is not None else None,
        sizes=np.concatenate([nodes[i]["count"][own].astype(np.int64) for i, own in enumerate(leaf)]),
        special=("early stopping",) if held_back else (),
        source=f"scikit-learn {type(model).__name__}",
        estimator=estimator,
    )
