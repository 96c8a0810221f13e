"""Fitted optimal trees of pystreed and pydl8.5."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassine.domain import Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import BY_ESTIMATOR, TreeBuilder, feature_names, from_shares, sides
from glassine.formats.conditions import binary, class_names, scalar
from glassine.formats.format import of_object
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree

WHOLE = 1e-6
MOST_NODES = 10**6


def _class_names(obj: object) -> set[str]:
    return {kind.__name__ for kind in type(obj).__mro__}


def tree_from_streed(estimator: Any, domain: Domain | None = None) -> DecisionTree:
    """Return a fitted tree of pystreed as a plain value.

    Parameters
    ----------
    estimator : STreeDClassifier or STreeDRegressor
        The estimator. Thresholds and lists of categories that its binarizer made are mapped back.
    domain : Domain, optional
        The public domain; it names the features of a tree that was fitted on a bare array.

    Returns
    -------
    DecisionTree
        Leaves reveal their class counts, or of a regression their value.

    Raises
    ------
    UnsupportedModelError
        If it is of another task.
    InvalidModelError
        If it is not fitted, or does not fit the domain.
    """
    kinds = _class_names(estimator)
    if not {"STreeDClassifier", "STreeDRegressor"} & kinds:
        raise UnsupportedModelError(f"of pystreed classifiers and regressors are read, got {type(estimator).__name__}.")
    root = getattr(estimator, "tree_", None)
    if root is None:
        raise InvalidModelError(f"the {type(estimator).__name__} is not fitted.", remedy="Fit it first.")
    classes = class_names(estimator) if "STreeDClassifier" in kinds else None
    tests, names = _streed_tests(estimator, domain)
    builder: TreeBuilder[int] = TreeBuilder("the tree of pystreed", domain, names, silent=True, remedy=BY_ESTIMATOR)
    stack, numbers = [(0, root)], itertools.count(1)
    while stack:
        key, node = stack.pop()
        if node.is_leaf_node():
            builder.leaf(key, _streed_leaf(node, classes))
            continue
        if not 0 <= node.feature < len(tests):
            raise InvalidModelError(f"the tree tests binary feature {node.feature}, but has {len(tests)}.")
        builder.attribute(tests[node.feature][0].attribute)
        yes, no = next(numbers), next(numbers)
        builder.split(key, tests[node.feature], (yes, no))
        stack += [(no, node.left_child), (yes, node.right_child)]
    return builder.tree(0, classes, f"pystreed {type(estimator).__name__}")


def _streed_leaf(node: Any, classes: tuple[Scalar, ...] | None) -> Evidence:
    if classes is None:  # its numbers of instances are of different records only
        return Evidence(value=float(node.label))
    size, label = int(node.num_instances), int(node.label)
    if label not in classes:
        raise InvalidModelError(f"a leaf predicts {label}, which is none of the classes {list(classes)!r:.60}.")
    # Labels are whole numbers, and each is the place of its own count.
    listed = [int(count) for count in node.num_instances_per_class]
    counts = tuple(listed[int(name)] if 0 <= int(name) < len(listed) else 0 for name in classes)
    if sum(counts) == size:
        return Evidence(counts=counts, label=classes.index(label))
    return Evidence(total=size, label=classes.index(label))


def _streed_tests(estimator: Any, domain: Domain | None) -> tuple[list[tuple[Literal, Literal]], tuple[str, ...]]:
    """Return for each binary feature when it is 1 and when it is 0, and the names of the original attributes."""
    binarizer = getattr(estimator, "binarizer_", None)
    if binarizer is None:
        listed = getattr(estimator, "feature_names_in_", None)
        own = None if listed is None else [str(name) for name in listed]
        names = feature_names(own, int(estimator.n_features_in_), domain, "the tree of pystreed")
        return [_dummy(name, domain) for name in names], names
    columns = [*binarizer.binary_columns, *binarizer.categorical_columns, *binarizer.continuous_columns]
    width = 1 + max((c for c in columns if isinstance(c, int | np.integer)), default=-1)
    numbered = feature_names(None, int(width), domain, "the tree of pystreed") if width else ()
    named = {c: numbered[c] if isinstance(c, int | np.integer) else str(c) for c in columns}
    tests = [_dummy(named[c], domain) for c in binarizer.binary_columns]
    lists = binarizer.categorical_binarizer.categories_ if binarizer.categorical_columns else []
    for column, categories in zip(binarizer.categorical_columns, lists, strict=True):
        for value in categories:
            values = value if isinstance(value, list) else [value]
            literal = OneOf(named[column], tuple(scalar(v, f"a category of {named[column]!r}") for v in values))
            tests.append((literal, OneOf(literal.attribute, literal.values, negated=True)))
    bounds = binarizer.continuous_binarizer.thresholds_ if binarizer.continuous_columns else []
    for column, cuts in zip(binarizer.continuous_columns, bounds, strict=True):
        attributes = domain if domain is not None and named[column] in domain else None
        tests += [sides(named[column], "<=", float(cut), attributes) for cut in cuts]
    limiter = binarizer.binary_feature_limiter
    if limiter is not None:
        tests = _limited(tests, limiter, binarizer)
    # The binarizer goes through columns by kind; arrays hold them as they were in training.
    return tests, numbered or tuple(dict.fromkeys(named.values()))


def _limited(tests: list[Any], limiter: Any, binarizer: Any) -> list[Any]:
    """Return the binary features that a selection kept, in its order."""
    kept = list(limiter.select_features_)
    if all(isinstance(k, int | np.integer) for k in kept):
        return [tests[int(k)] for k in kept]
    made = [str(c) for c in binarizer.binary_columns]
    for part, present in (
        (binarizer.categorical_binarizer, binarizer.categorical_columns),
        (binarizer.continuous_binarizer, binarizer.continuous_columns),
    ):
        made += [name for names in part.column_names_ for name in names] if present else []
    places = {name: i for i, name in enumerate(made)}
    return [tests[places[str(name)]] for name in kept]


def _dummy(name: str, domain: Domain | None) -> tuple[Literal, Literal]:
    return binary(name, True), binary(name, False)


def tree_from_dl85(estimator: object, domain: Domain | None = None) -> DecisionTree:
    """Return a fitted tree of pydl8.5, whose features are all 0 or 1, as a plain value.

    Parameters
    ----------
    estimator : DL85Classifier
        The estimator.
    domain : Domain, optional
        The public domain, whose attributes are the features in order; without it they are ``x0``, ``x1``, ...

    Returns
    -------
    DecisionTree
        A leaf has its label. Where it stores the share of each class, it has its error rate, and its number of
        records if the number of its errors divided by that rate is whole.

    Raises
    ------
    InvalidModelError
        If it is not fitted, found no tree, or does not fit the domain.
    """
    root = getattr(estimator, "tree_", None)
    if not isinstance(root, dict):
        raise InvalidModelError(f"the {type(estimator).__name__} is not fitted, or found no tree.", remedy="Fit it.")
    n_features = getattr(estimator, "n_features_in_", None)
    # Releases that keep no number of features leave those behind the last tested one to the domain.
    width = max(_dl85_width(root), 0 if domain is None else len(domain)) if n_features is None else int(n_features)
    names = feature_names(None, width, domain, "the tree of pydl8.5")
    classes = class_names(estimator)
    if not classes:
        raise UnsupportedModelError("the tree of pydl8.5 names no classes; its classifier is read.")
    builder: TreeBuilder[int] = TreeBuilder("the tree of pydl8.5", domain, names, silent=True, remedy=BY_ESTIMATOR)
    stack: list[tuple[int, Any]] = [(0, root)]
    numbers = itertools.count(1)
    while stack:
        key, node = stack.pop()
        if len(builder) > MOST_NODES or not isinstance(node, dict):
            raise InvalidModelError("a node of pydl8.5 is no dictionary, or the tree has no end.")
        if "feat" not in node:
            builder.leaf(key, _dl85_leaf(node, classes))
            continue
        yes, no = next(numbers), next(numbers)
        builder.split(key, _dummy(builder.feature(node["feat"]), domain), (yes, no))
        stack += [(no, node.get("right")), (yes, node.get("left"))]
    return builder.tree(0, classes, "pydl8.5", sizes="derived")


def _dl85_width(root: dict[str, Any]) -> int:
    """Return the number of features up to the last tested one."""
    stack: list[Any] = [root]
    widest, seen = -1, 0
    while stack and seen <= MOST_NODES:
        node, seen = stack.pop(), seen + 1
        if isinstance(node, dict) and type(node.get("feat")) is int:
            widest = max(widest, node["feat"])
            stack += [node.get("left"), node.get("right")]
    return widest + 1


def _dl85_leaf(node: dict[str, Any], classes: Sequence[Scalar]) -> Evidence:
    value = scalar(node.get("value"), "the label of a leaf")
    if value not in classes:
        raise InvalidModelError(f"a leaf predicts {value!r:.40}, which is none of the classes.")
    label, shares = list(classes).index(value), node.get("proba")
    if not isinstance(shares, list | tuple) or len(shares) != len(classes):
        return Evidence(label=label)
    shares = [float(share) for share in shares]
    rate, errors = 1 - shares[label], node.get("error")
    if isinstance(errors, int | float) and errors > 0 and rate > 0 and math.isfinite(errors / rate):
        size = errors / rate
        if abs(size - round(size)) <= WHOLE * max(1.0, size):
            return from_shares(shares, label, round(size))
    return from_shares(shares, label)


FORMATS = (
    of_object(
        name="pystreed",
        reads="tree of pystreed",
        reveals="conditions; class counts of classifiers",
        leaves_out="where missing values go; numbers of records of a regression",
        sniff=lambda obj: not isinstance(obj, type) and "BaseSTreeDSolver" in _class_names(obj),
        read=tree_from_streed,
    ),
    of_object(
        name="pydl8.5",
        reads="tree of pydl8.5",
        reveals="conditions, and often error rates and numbers of records",
        leaves_out="where missing values go",
        sniff=lambda obj: not isinstance(obj, type) and bool({"DL85Classifier", "DL85Predictor"} & _class_names(obj)),
        read=tree_from_dl85,
    ),
)
