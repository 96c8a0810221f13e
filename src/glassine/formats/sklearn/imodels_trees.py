"""Trees of imodels: sums of trees (FIGS), and scikit-learn's trees after hierarchical shrinkage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import TreeBuilder, feature_names, place_of, source_of, whole_counts
from glassine.formats.conditions import at_most, class_names, kinds_of, not_fitted
from glassine.formats.format import of_object
from glassine.formats.sklearn.tree import tree_from_sklearn
from glassine.models.evidence import Evidence
from glassine.models.transform import rewritten
from glassine.models.tree import DecisionTree, Forest, Node

FIGS, SHRUNKEN = "FIGS", "HSTree"


def is_imodels_tree(obj: object) -> bool:
    """Return whether an object is a FIGS model or a shrunken tree, by the names of its classes."""
    return bool({FIGS, SHRUNKEN} & set(kinds_of(obj, "imodels")))


def _names(obj: Any, domain: Domain | None) -> tuple[str, ...]:
    own = getattr(obj, "feature_names_", None)
    names = None if own is None else tuple(str(name) for name in own)
    # Names that imodels made up for a bare array are those of the domain in order.
    made_up = names == tuple(f"X{i}" for i in range(len(names or ())))
    return feature_names(
        None if made_up and domain is not None else names, int(obj.n_features_in_), domain, "the model"
    )


def tree_from_imodels(obj: Any, domain: Domain | None = None, tree: int | None = None) -> DecisionTree:
    """Return a shrunken tree, or one tree of a FIGS model, as a plain value.

    Shrinkage moves each leaf's shares towards those above it: they are not shares of its records, so that a leaf has
    its number of records and its label, or its value. The leaf of one of several trees of a FIGS model has its part of
    the value, or of the probability of the second of two classes.

    Raises
    ------
    UnsupportedModelError
        If it is of several trees and none is asked for, or one of several trees adds to more than two classes.
    InvalidModelError
        If it is not fitted, or does not fit the domain.
    """
    if SHRUNKEN in kinds_of(obj, "imodels"):
        place_of(1, tree, "the model")
        return _shrunken(obj, domain)
    trees = getattr(obj, "trees_", None)
    if trees is None:
        raise not_fitted(obj, "trees_")
    return _figs(obj, trees, place_of(len(trees), tree, "the FIGS model"), domain)


def forest_from_imodels(obj: Any, domain: Domain | None = None) -> Forest:
    """Return all trees of a FIGS model, whose values add up; each was trained on every record."""
    n_trees = len(obj.trees_) if FIGS in kinds_of(obj, "imodels") and hasattr(obj, "trees_") else 1
    return Forest(trees=tuple(tree_from_imodels(obj, domain, place) for place in range(n_trees)), source="imodels")


def _shrunken(obj: Any, domain: Domain | None) -> DecisionTree:
    if not hasattr(getattr(obj, "estimator_", None), "tree_"):
        raise UnsupportedModelError(
            f"the {type(obj).__name__} holds no fitted tree: of shrunken models single trees are read.",
            remedy="Fit it first, or give one of the trees of its ensemble.",
        )
    read = tree_from_sklearn(obj.estimator_, domain)
    classes = class_names(obj) if read.classes is not None else None
    whole = rewritten(read, evidence=lambda place, own: Evidence(total=own.size, label=own.prediction, value=own.value))
    names = dict(zip(read.attributes, _names(obj, domain), strict=True))
    nodes = tuple(
        Node(
            branches=tuple(
                replace(branch, literal=replace(branch.literal, attribute=names[branch.literal.attribute]))
                for branch in node.branches
            ),
            evidence=node.evidence,
        )
        for node in whole.nodes
    )
    source = f"imodels {type(obj).__name__}"
    return DecisionTree(nodes, tuple(names.values()), classes or read.classes, source=source)


def _figs(obj: Any, trees: list[Any], place: int, domain: Domain | None) -> DecisionTree:
    builder: TreeBuilder[int] = TreeBuilder("the FIGS tree", domain, _names(obj, domain), silent=True)
    alone, classes = len(trees) == 1, class_names(obj) or None
    if not alone and classes is not None and len(classes) > 2:
        raise UnsupportedModelError(
            f"each of the {len(trees)} trees of the FIGS model adds to {len(classes)} classes; two are read.",
            remedy="Fit it with max_trees=1, or one model for each class.",
        )
    labels = classes if alone else None
    stack, made = [(trees[place], 0)], 1
    while stack:
        node, key = stack.pop()
        evidence = _evidence(node, classes, alone)
        if node.left is None or node.right is None:
            builder.leaf(key, evidence)
            continue
        name = builder.feature(int(node.feature), key)
        builder.split(key, at_most(name, float(node.threshold), domain), (made, made + 1), evidence)
        stack += [(node.left, made), (node.right, made + 1)]
        made += 2
    # Before nodes stored their numbers of records, these were sums of weights.
    stored = hasattr(trees[place], "n_samples_")
    source = source_of(f"imodels {type(obj).__name__}", place, len(trees))
    return builder.tree(0, labels, source, sizes="stored" if stored else "derived")


def _evidence(node: Any, classes: tuple[Scalar, ...] | None, alone: bool) -> Evidence:
    values = np.ravel(np.asarray(node.value, dtype=float))
    if node.left is not None and not np.isfinite(values).all():
        return Evidence()  # a node that was split need have no value
    if not len(values) or not np.isfinite(values).all():
        raise InvalidModelError("a node of the FIGS model has no finite value.", remedy="Fit it again.")
    masses = np.ravel(np.asarray(getattr(node, "value_sklearn", ()), dtype=float))
    stated = getattr(node, "n_samples_", None)
    total = (
        int(stated) if stated is not None else int(masses.sum()) if classes is not None and len(masses) > 1 else None
    )
    if classes is None or not alone:
        return Evidence(total=total, value=float(values[-1]))
    label = int(values.argmax()) if len(values) > 1 else int(values[0] > 0.5)
    counts = None
    if total is not None and len(masses) == len(classes):
        counts = whole_counts(masses.tolist(), total, lambda value: 1e-9)
    return Evidence(counts=counts, label=label) if counts is not None else Evidence(total=total, label=label)


FORMAT = of_object(
    name="imodels tree",
    reads="FIGS model of imodels, or a tree that it shrank",
    reveals="conditions; class counts or values of FIGS, numbers of records of shrunken trees",
    leaves_out="where missing values go in FIGS; class counts of shrunken trees",
    sniff=is_imodels_tree,
    read=tree_from_imodels,
    read_all=forest_from_imodels,
)
