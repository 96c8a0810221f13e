"""Fitted scikit-learn trees, alone or at the end of a pipeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError, parameter
from glassine.formats.builder import feature_names
from glassine.formats.conditions import class_names, not_fitted, require, with_missing
from glassine.formats.sklearn.encodings import Column, Number
from glassine.formats.sklearn.older import UNROUTED
from glassine.formats.sklearn.pipelines import end_of, sklearn_names, steps_of, through
from glassine.models.evidence import Evidence
from glassine.models.tree import Branch, DecisionTree, Node

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

# Class counts of the nodes of a weighted tree: what the masses and the sizes of its nodes reveal.


TOLERANCE = 1e-6


def _whole(counts: Array, sizes: Ints) -> Ints | None:
    """Return counts as whole numbers if every row is whole, not negative and adds up to its node's size."""
    if not np.all(np.isfinite(counts)):
        return None
    rounded = np.round(counts)
    near = np.abs(counts - rounded) <= TOLERANCE * np.maximum(1, np.abs(counts) * 1e-3)
    if not near.all() or (rounded < 0).any() or not np.array_equal(rounded.sum(axis=1), sizes):
        return None
    return rounded.astype(np.int64)


def _divided(masses: Array, weights: Array) -> Array:
    """Return the counts that masses mean under class weights; a class without mass has none."""
    return np.divide(masses, weights, out=np.zeros_like(masses), where=masses > 0)


def _solved(masses: Array, sizes: Ints, leaves: Bools, spare: int) -> Ints | None:
    """Return counts for class weights that the leaves' sizes determine, with equations to spare as evidence."""
    used = masses.any(axis=0)
    system = masses[leaves][:, used]
    if len(np.unique(system, axis=0)) < system.shape[1] + spare or np.linalg.matrix_rank(system) < system.shape[1]:
        return None
    inverse = np.linalg.lstsq(system, sizes[leaves].astype(float), rcond=None)[0]
    if not (inverse > 0).all():
        return None
    counts = np.zeros_like(masses)
    counts[:, used] = masses[:, used] * inverse
    return _whole(counts, sizes)


def _balanced(masses: Array, sizes: Ints, leaves: Bools) -> Ints | None:
    """Return counts if they are those of weights inverse to the class frequencies, which put equal mass on each."""
    counts = _solved(masses, sizes, leaves, 0)
    if counts is None or not counts[0].all():
        return None
    weights = sizes[0] / (masses.shape[1] * counts[0])
    return _whole(_divided(masses, weights), sizes)


def class_counts(
    masses: Array,
    sizes: Ints,
    total_weights: Array,
    leaves: Bools,
    class_weight: str | Mapping[Any, float] | None,
    classes: list[Any],
) -> list[tuple[int, ...] | None]:
    """Return the class counts of each node where the published figures determine them, else None.

    A node publishes its size, and the mass of each class: the sum of the weights of the records. Without weights the
    masses are the counts. Class weights do not hide counts: at every leaf the masses divided by the weights add up to
    the size, which is linear in the inverse weights. What is found is accepted only if every node's counts are whole,
    add up to its size, and are the sum of its children's. A node with the mass of one class only holds just that class,
    with any weights. ``class_weight`` is the parameter of the estimator, whose keys are the classes.

    Shapes: ``masses`` (nodes, classes); ``sizes``, ``total_weights`` and ``leaves`` (nodes,).
    """
    counts: Ints | None = None
    unweighted = np.allclose(total_weights, sizes, rtol=1e-9, atol=1e-9)
    if unweighted and class_weight is None:
        counts = _whole(masses, sizes)
    elif isinstance(class_weight, Mapping):
        weights = np.array([float(class_weight.get(name, 1.0)) for name in classes])
        counts = _whole(_divided(masses, weights), sizes) if (weights > 0).all() else None
    elif class_weight == "balanced":
        counts = _balanced(masses, sizes, leaves)
    else:
        counts = _solved(masses, sizes, leaves, 2)
    if counts is not None:
        return [tuple(row) for row in counts.tolist()]
    pure = (masses > 0).sum(axis=1) == 1
    return [
        tuple(int(size) if mass > 0 else 0 for mass in row) if alone else None
        for row, size, alone in zip(masses, sizes, pure, strict=True)
    ]


TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor")
SEARCHES = ("BaseSearchCV",)
ENSEMBLES = ("BaseEnsemble", "BaseHistGradientBoosting", "_BaseVoting", "_BaseStacking", "BaseGradientBoosting")
MOST_COLUMNS = 10_000_000
"""More than a tree was ever fitted on, so that a number in a file does not fill the memory with names."""
ARRAYS = ("children_left", "children_right", "feature", "threshold", "n_node_samples", "weighted_n_node_samples")


def is_sklearn_tree(obj: object) -> bool:
    """Return whether an object is a scikit-learn tree, a pipeline, a search or an ensemble."""
    names = {*TREES, *SEARCHES, *ENSEMBLES, "Pipeline"}
    return not isinstance(obj, type) and not names.isdisjoint(sklearn_names(obj))


def _fitted(estimator: object, attribute: str) -> Any:
    try:
        return getattr(estimator, attribute)
    except (AttributeError, ValueError):
        raise not_fitted(estimator, repr(attribute)) from None


def best_of(search: object) -> Any:
    """Return the best estimator of a fitted search."""
    if hasattr(search, "best_estimator_"):
        return search.best_estimator_
    if hasattr(search, "best_params_") or hasattr(search, "cv_results_"):
        raise InvalidModelError(
            f"{type(search).__name__} has no model: it was fitted with refit=False.", remedy="Fit it with refit=True."
        )
    raise not_fitted(search, "'best_estimator_'")


def own_names(estimator: object, width: int, domain: Domain | None) -> tuple[str, ...]:
    """Return the names of an estimator's inputs."""
    own = getattr(estimator, "feature_names_in_", None)
    if own is not None:
        names = tuple(str(name) for name in own)
        if len(names) != width:
            raise InvalidModelError(f"the estimator names {len(names)} features, but was fitted on {width}.")
        return names
    return feature_names(None, width, domain, "the estimator", widest=MOST_COLUMNS)


def first_columns(estimator: Any, domain: Domain | None) -> list[Column]:
    """Return the columns that an estimator, or the first step of a pipeline, was fitted on."""
    first = estimator
    while parts := getattr(first, "steps", None) or getattr(first, "transformer_list", None):
        # Of a FeatureUnion or a pipeline, what is left out was fitted on nothing.
        first = next((step for _, step in parts if step is not None and not isinstance(step, str)), parts[-1][1])
    return [Number(name) for name in own_names(first, int(_fitted(first, "n_features_in_")), domain)]


def final_tree(estimator: Any, domain: Domain | None) -> tuple[Any, tuple[str, ...], list[Column]]:
    """Return the tree at the end, the names of the attributes, and the tree's columns as functions of them."""
    kinds = sklearn_names(estimator)
    if "Pipeline" not in kinds:
        names = own_names(estimator, int(_fitted(estimator, "n_features_in_")), domain)
        return estimator, names, [Number(name) for name in names]
    steps = steps_of(estimator)
    if not steps or not set(TREES) & set(sklearn_names(steps[-1][1])):
        last = type(steps[-1][1]).__name__ if steps else "nothing"
        raise UnsupportedModelError(
            f"a pipeline must end with a decision tree to be read, but ends with {last}.",
            remedy="The page on formats lists the rule lists and additive models that are read, without a pipeline.",
        )
    tree = steps[-1][1]
    _fitted(tree, "tree_")
    return tree, *piped(estimator, domain)


def piped(pipeline: Any, domain: Domain | None) -> tuple[tuple[str, ...], list[Column]]:
    """Return the names of the attributes of a pipeline, and the columns that its end gets as functions of them."""
    columns = first_columns(pipeline, domain)
    names = tuple(column.attribute for column in columns)
    for name, step in steps_of(pipeline)[:-1]:
        columns = through(step, columns, f"the pipeline step {name!r}")
    # Columns of an array have no names of their own, so that none can be left out.
    numbered = getattr(pipeline, "feature_names_in_", None) is None
    used = set(names) if numbered else {column.attribute for column in columns}
    return tuple(name for name in names if name in used), columns


class TreeArrays:
    """The arrays of a fitted tree, checked so that no index leaves them."""

    rounded = True  # Whether values are rounded to single precision before they are compared

    def __init__(self, estimator: object) -> None:
        tree = _fitted(estimator, "tree_")
        if int(getattr(estimator, "n_outputs_", 1)) != 1 or tree.n_outputs != 1:
            raise UnsupportedModelError(
                f"the tree predicts {tree.n_outputs} outputs at once; one is supported.",
                remedy="Fit one tree an output.",
            )
        if not 0 < tree.node_count <= tree.capacity:
            raise InvalidModelError(f"the tree claims {tree.node_count} nodes, but holds {tree.capacity}.")
        self.left, self.right, self.feature, self.threshold, self.sizes, self.weights = (
            np.asarray(getattr(tree, name)) for name in ARRAYS
        )
        self.value = np.asarray(tree.value, dtype=float)[:, 0, :]
        missing = getattr(tree, "missing_go_to_left", None)
        n = len(self.left)
        self.routes_gaps = missing is not None and not (np.asarray(missing) == UNROUTED).any()
        self.missing_left = np.zeros(n, dtype=bool) if missing is None else np.asarray(missing).astype(bool)
        self.leaf = self.left == -1
        if not np.array_equal(self.leaf, self.right == -1):
            raise InvalidModelError("a node of the tree has one child only; a split needs two.")
        faulty, texts = zip(*self._faults(n, int(tree.n_features)), strict=True)
        if len(nodes := np.flatnonzero(np.any(faulty, axis=0))):
            node = int(nodes[0])
            raise InvalidModelError(next(text(node) for where, text in zip(faulty, texts, strict=True) if where[node]))

    def _faults(self, n: int, width: int) -> Iterator[tuple[Bools, Callable[[int], str]]]:
        """Yield each fault that a node can have: the nodes that have it, shape (n,), and what is said of one."""
        yield (
            ~(self.sizes >= 0) | ~np.isfinite(self.weights),
            lambda node: f"node {node} holds {self.sizes[node]} records of weight {self.weights[node]}.",
        )
        yield (
            ~np.isfinite(self.value).all(axis=1),
            lambda node: f"node {node} predicts {self.value[node].tolist()}, which is not finite.",
        )
        inner = ~self.leaf
        for child in (self.left, self.right):

            def leads_out(node: int, to: npt.NDArray[np.intp] = child) -> str:
                return f"node {node} leads to node {to[node]}, but the tree has nodes 0 to {n - 1}."

            yield inner & ~((child > 0) & (child < n)), leads_out
        yield (
            inner & ~((self.feature >= 0) & (self.feature < width)),
            lambda node: f"node {node} tests feature {self.feature[node]}, but the tree has features 0 to {width - 1}.",
        )
        yield (
            inner & ~(self.threshold > -math.inf),
            lambda node: f"node {node} has the threshold {self.threshold[node]}, which is not a number.",
        )


def _evidence(tree: TreeArrays, estimator: Any, classes: tuple[Scalar, ...] | None) -> list[Evidence]:
    """Return what each node publishes."""
    # A tree that Glassine wrote of sums of weights holds no numbers of rows.
    sizes: list[int | None] = tree.sizes.tolist()
    sizes = [None] * len(sizes) if not tree.sizes.any() and tree.weights.any() else sizes
    if classes is None:
        # An impurity of zero is published too: every record of the node has the predicted value.
        alike = np.asarray(estimator.tree_.impurity) == 0
        return [
            Evidence(total=size, value=float(value[0]), error_rate=0.0 if same else None)
            for size, value, same in zip(sizes, tree.value, alike, strict=True)
        ]
    values = tree.value[:, : len(classes)]
    sums = values.sum(axis=1, keepdims=True)
    if values.shape[1] != len(classes) or (values < 0).any() or not (sums > 0).all():
        raise InvalidModelError(f"the tree's values are not weights of its {len(classes)} classes.")
    # Shares since scikit-learn 1.3, weights before: dividing by the sum makes shares of both.
    masses = values / sums * tree.weights[:, None]
    weight = getattr(estimator, "class_weight", None)
    counts = class_counts(
        masses, tree.sizes.astype(np.int64), tree.weights, tree.leaf, weight, list(estimator.classes_)
    )
    labels = values.argmax(axis=1).tolist()
    if None in sizes:
        return [Evidence(label=label, weighted=True) for label in labels]
    return [
        Evidence(counts=count, label=label) if count is not None else Evidence(total=size, label=label, weighted=True)
        for count, size, label in zip(counts, sizes, labels, strict=True)
    ]


def branches_of(tree: Any, columns: list[Column], domain: Domain | None) -> list[tuple[Branch, ...]]:
    """Return the branches of each node of a tree's arrays, which are those of :class:`TreeArrays`."""
    out: list[tuple[Branch, ...]] = []
    # Large trees make the same split in many places, above all on dummies.
    made: dict[tuple[int, float, bool], tuple[Literal, Literal]] = {}
    # An attribute whose gaps one column knows has them in its other columns, too.
    gaps = {column.attribute for column in columns if column.knows_gaps}
    arrays = (tree.feature, tree.threshold.astype(float), tree.missing_left, tree.left, tree.right, tree.leaf)
    rows = zip(*(array.tolist() for array in arrays), strict=True)
    for feature, bound, missing_left, left, right, leaf in rows:
        if leaf:
            out.append(())
            continue
        sides = made.get((feature, bound, missing_left))
        if sides is None:
            column = columns[feature]
            require(column.attribute, domain, "the estimator tests")
            sides = column.split(bound, missing_left, domain, rounded=tree.rounded)
            if domain is not None:
                possible = domain[column.attribute].missing
            else:
                possible = column.attribute in gaps or (tree.routes_gaps and isinstance(column, Number))
            if not possible:
                sides = with_missing(sides[0], False), with_missing(sides[1], False)
            made[feature, bound, missing_left] = sides
        out.append((Branch(sides[0], left), Branch(sides[1], right)))
    return out


def tree_from_sklearn(estimator: object, domain: Domain | None = None) -> DecisionTree:
    """Return a fitted scikit-learn tree as a plain value.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, DecisionTreeRegressor, ExtraTree or Pipeline
        A tree, or a pipeline that ends with one; a fitted search gives its best estimator. One-hot and ordinal codes,
        bins, scales and imputed values are mapped back to the original attributes.
    domain : Domain, optional
        The public domain; it must hold every attribute that the tree was given. Without it, the attributes are the
        columns of the training frame, or ``x0``, ``x1``, ...

    Returns
    -------
    DecisionTree
        Its nodes are in scikit-learn's order. Each has its class counts where the tree's figures determine them, and
        its number of records; see :func:`glassine.formats.sklearn.tree.class_counts`. The trees of a forest
        hold repeated records, of which only the number of different ones is read.

    Raises
    ------
    UnsupportedModelError
        If the estimator is an ensemble, has several outputs, or the pipeline holds a step that cannot be mapped back.
    InvalidModelError
        If the estimator is not fitted, its arrays contradict each other, or the domain lacks one of its features.

    Notes
    -----
    scikit-learn rounds records to single precision, and no thresholds: bounds lie where that rounding crosses them, and
    are named by the shortest decimal of single precision. Those on a scaled column are exact in the original unit.

    Each node stores where it sends missing values: where one was missing in training, to the better side, else to the
    larger one. The branches say so, unless the domain says that the attribute cannot be missing. A step of a pipeline
    that refuses missing values leaves nothing to say.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> fitted = DecisionTreeClassifier().fit([[1], [2], [5]], ["no", "no", "yes"])
    >>> [(str(cell), cell.evidence.counts) for cell in tree_from_sklearn(fitted).cells]
    [('x0 <= 3.5 or missing', (2, 0)), ('x0 > 3.5', (0, 1))]
    """
    kinds = sklearn_names(estimator)
    if set(SEARCHES) & set(kinds):
        return tree_from_sklearn(best_of(estimator), domain)
    end = end_of(estimator)
    ends = sklearn_names(end)
    if set(ENSEMBLES) & set(ends):
        instead = f"Explain it by small trees with {parameter('SurrogateExplainer')}, and audit those."
        if "BaseForest" in ends:
            all_trees = parameter("reconstruct_records")
            instead = (
                f"Audit one of its trees, {parameter('estimators_[0]')}, or rebuild records of all with {all_trees}."
            )
        raise UnsupportedModelError(
            f"{type(end).__name__} is an ensemble; one tree or rule list is read here. An audit judges it as a whole.",
            remedy=instead,
        )
    if "Pipeline" not in kinds and not set(TREES) & set(kinds):
        raise UnsupportedModelError(f"a decision tree or a pipeline that ends with one is expected, got {kinds[:1]}.")
    tree, names, columns = final_tree(estimator, domain)
    if len(set(names)) < len(names):
        raise InvalidModelError("the estimator was fitted on two columns of one name.", remedy="Rename one.")
    arrays = TreeArrays(tree)
    if int(tree.tree_.n_features) != len(columns):
        raise InvalidModelError(f"the tree has {tree.tree_.n_features} columns, but its pipeline gives {len(columns)}.")
    classes = class_names(tree) if "DecisionTreeClassifier" in sklearn_names(tree) else None
    evidence = _evidence(arrays, tree, classes)
    branches = branches_of(arrays, columns, domain)
    nodes = tuple(Node(branches=sides, evidence=entry) for sides, entry in zip(branches, evidence, strict=True))
    return DecisionTree(nodes, names, classes, source=f"scikit-learn {type(estimator).__name__}")
