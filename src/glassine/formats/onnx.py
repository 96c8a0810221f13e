"""Decision trees in ONNX: one ``TreeEnsembleClassifier`` or ``TreeEnsembleRegressor``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import GlassineError, InvalidModelError, UnsupportedModelError, installed
from glassine.formats.builder import TreeBuilder, can_be_missing, from_shares, place_of, sides, source_of
from glassine.formats.conditions import damaged, with_missing
from glassine.formats.ensembles import together
from glassine.formats.json import KEY, guarantee_of
from glassine.formats.onnx_columns import array_of, columns_of
from glassine.formats.sklearn.encodings import Column, Number
from glassine.models.ensemble import Scoring, TreeEnsemble
from glassine.models.evidence import Evidence
from glassine.models.guarantee import Guarantee
from glassine.models.tree import DecisionTree, Forest

NEAR = 1e-4
"""Shares of single precision, added up over the trees, come this close to 1."""


def _base_of(attributes: Attributes) -> Any:
    return attributes.get("base_values", attributes.get("base_values_as_tensor", ()))


def _share_like(attributes: Attributes, n_trees: int) -> bool:
    """Return whether trees add up shares of classes, each leaf its part of 1, as forests do."""
    weights = attributes.get("class_weights") or np.ravel(attributes.get("class_weights_as_tensor", ())).tolist()
    owners, nodes = attributes.get("class_treeids", []), attributes.get("class_nodeids", [])
    base = np.asarray(_base_of(attributes), dtype=float)
    if attributes.get("post_transform", "NONE") != "NONE" or base.any() or not weights or len(owners) != len(weights):
        return False
    sums: dict[tuple[Any, Any], float] = {}
    for owner, node, weight in zip(owners, nodes, weights, strict=True):
        if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            return False
        sums[owner, node] = sums.get((owner, node), 0.0) + weight
    return max(sums.values()) <= 1 / n_trees + NEAR


Attributes: TypeAlias = Mapping[str, Any]
"""The attributes of an operator by name: lists, numbers, texts or arrays, as the file holds them."""

OURS = "glassine"
"""The producer whose single inputs are named after their attribute."""
ENSEMBLES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")
AFTER = ("Cast", "Identity", "ZipMap", "Reshape")
MODES = {
    "BRANCH_LEQ": "<=",
    "BRANCH_LT": "<",
    "BRANCH_GTE": ">=",
    "BRANCH_GT": ">",
    "BRANCH_EQ": "==",
    "BRANCH_NEQ": "!=",
}
REMEDY = "Or export a single tree."
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC")
TEXTS = ("nodes_modes", "classlabels_strings")
NODE_LISTS = ("nodeids", "treeids", "featureids", "modes", "truenodeids", "falsenodeids")


def onnx_module() -> ModuleType:
    """Return the package onnx."""
    installed("onnx.numpy_helper", "reading and writing ONNX needs", "formats", UnsupportedModelError)
    import onnx

    return onnx


def stated_guarantee(model: Any) -> Guarantee | None:
    """Return the guarantee that the metadata of an ONNX model state."""
    claims = [str(entry.value) for entry in model.metadata_props if entry.key == KEY]
    if len(claims) > 1:
        raise damaged("the ONNX file states two guarantees.")
    return guarantee_of(claims[0]) if claims else None


def is_onnx(data: bytes) -> bool:
    """Return whether bytes start as every ONNX file does: with the number of its version, in protocol buffers."""
    return len(data) > 2 and data[0] == 8 and 1 <= data[1] < 64


def tree_from_onnx(data: bytes, domain: Domain | None = None, tree: int | None = None) -> DecisionTree:
    """Read a decision tree from the bytes of an ONNX file.

    Parameters
    ----------
    data : bytes

    domain : Domain, optional
        The public domain. Inputs of one column name the attributes; the columns of one wide input are the attributes
        of the domain in order, or ``x0``, ``x1``, ...
    tree : int, optional
        The place of the tree, from 0, where there are several. One of a forest has its own shares, one of boosted
        trees the scores that it adds.

    Returns
    -------
    DecisionTree
        ONNX holds no counts. Leaves whose weights are shares that add up to one reveal their error rate; with class
        weights the shares are not those of the records, and the file does not say so. Records are compared in single
        precision, unless the graph is given numbers of double precision and does not round them.

    Raises
    ------
    UnsupportedModelError
        If onnx is not installed, the bytes are not ONNX, the graph holds something else, or several trees and none is
        asked for.
    InvalidModelError
        If the lists of the tree contradict each other or do not fit the domain.
    InvalidParameterError
        If the graph holds no such tree.
    """
    trees, _ = _read(data, domain, lambda n: [place_of(n, tree, "the ONNX graph", REMEDY)])
    return trees[0]


def forest_from_onnx(data: bytes, domain: Domain | None = None) -> Forest:
    """Read all trees of an ONNX file: those of a forest reveal error rates, others the scores that they add."""
    # The file does not say on which records each tree was trained, so that a forest of several counts as drawn.
    trees, shares = _read(data, domain, lambda n: range(n) if n else [place_of(n, None, "the ONNX graph")])
    return Forest(trees=tuple(trees), bootstrap=len(trees) > 1 and shares, source="ONNX")


def ensemble_from_onnx(data: bytes, domain: Domain | None = None) -> TreeEnsemble | None:
    """Read all trees of an ONNX file as an ensemble; None of a single one."""
    onnx = onnx_module()
    forest = forest_from_onnx(data, domain)
    if len(forest.trees) <= 1:
        return None
    attributes = _ensemble(onnx, onnx.load_model_from_string(data).graph)[1]
    shares = forest.classes is not None
    transform, base = attributes.get("post_transform", "NONE"), np.ravel(np.asarray(_base_of(attributes), dtype=float))
    labels = attributes.get("classlabels_int64s") or attributes.get("classlabels_strings") or ()
    ids = set(attributes.get("class_ids", ()) or attributes.get("target_ids", ()))
    average = attributes.get("aggregate_function", "SUM") == "AVERAGE"
    # Scores of one class of two, as boosted trees are written, or of a number.
    two, number = len(labels) == 2 and len(ids) == 1 and transform == "LOGISTIC", not labels and len(ids) == 1
    scoring = None
    if shares:
        scoring = Scoring(forest=forest, link="shares")
    elif two or (number and transform == "NONE"):
        start = float(base[-1]) if len(base) else 0.0
        scoring = Scoring(forest=forest, link="logit" if two else "identity", base=(start,), mean=average)
    mean = shares or average
    return together(
        forest,
        scoring,
        combined="mean" if mean else "sum",
        learner="forest" if mean else "boosted trees",
        classes=forest.classes if shares else tuple(labels) or None,
        placed="unknown",
        outputs=1 if shares else max(1, len(ids)),
    )


def _read(
    data: bytes, domain: Domain | None, places: Callable[[int], Iterable[int]]
) -> tuple[list[DecisionTree], bool]:
    """Return the trees at the places that are chosen, given their number; and whether they predict classes."""
    onnx = onnx_module()
    try:
        model = onnx.load_model_from_string(data)
    except Exception:
        raise UnsupportedModelError("the file is not ONNX, or it is truncated.", remedy="Export it again.") from None
    try:
        ensemble, attributes = _ensemble(onnx, model.graph)
        order = list(dict.fromkeys(_list(attributes, "nodes_treeids")))
        whole = _Whole.of(onnx, model, ensemble, attributes, order, domain)
        trees = [_tree(whole, place, domain) for place in places(len(order))]
        if len(order) == 1:  # of several, none is the model that the claim is about
            claim = stated_guarantee(model)
            trees = [replace(tree, guarantee=claim) for tree in trees]
        return trees, bool(trees) and trees[0].classes is not None
    except GlassineError:
        raise
    except Exception as error:  # protocol buffers check types, not what lists and tensors hold
        raise damaged(f"the ONNX graph is damaged: {type(error).__name__}.") from None


def _ensemble(onnx: ModuleType, graph: Any) -> tuple[Any, dict[str, Any]]:
    """Return the one operator that holds trees, and its attributes."""
    ensembles = [node for node in graph.node if node.op_type in ENSEMBLES]
    if len(ensembles) != 1:
        listed = ", ".join(dict.fromkeys(f"{node.op_type!r:.40}" for node in graph.node)) or "nothing"
        raise UnsupportedModelError(
            f"one {' or '.join(ENSEMBLES)} of ai.onnx.ml is read, but the graph holds {listed[:200]}.",
            remedy="Export one decision tree, with ai.onnx.ml at most version 3.",
        )
    return ensembles[0], {str(a.name): _plain(onnx, a) for a in ensembles[0].attribute}


@dataclass(frozen=True, kw_only=True)
class _Whole:
    """An operator of trees, with the lists of each tree by its number: lists of all are walked once."""

    kind: str
    order: Sequence[int]  # The numbers of the trees
    parts: Mapping[int, Attributes]  # The attributes of each tree
    columns: Sequence[Column]
    single: bool
    shares: bool  # Whether trees add up shares of classes

    @classmethod
    def of(
        cls,
        onnx: ModuleType,
        model: Any,
        ensemble: Any,
        attributes: Attributes,
        order: Sequence[int],
        domain: Domain | None,
    ) -> _Whole:
        """Return an operator of trees whose numbers stand in an order."""
        width = 1 + max(map(int, _list(attributes, "nodes_featureids")), default=-1)
        ours = model.producer_name == OURS
        columns = columns_of(onnx, model.graph, str(ensemble.input[0]), domain, width, named=ours, plain=_plain)
        _check_after(onnx, model.graph, ensemble)
        several = len(order) > 1
        return cls(
            kind=str(ensemble.op_type),
            order=order,
            parts=_parts(attributes, order) if several else dict.fromkeys(order, attributes),
            columns=columns.columns,
            single=columns.single,
            shares=several and _share_like(attributes, len(order)),
        )


def _parts(attributes: Attributes, order: Sequence[int]) -> dict[int, Attributes]:
    """Return the attributes of each tree: of lists with an entry for each node or weight of any tree, its own."""
    parts: dict[int, dict[str, Any]] = {number: dict(attributes) for number in order}
    for prefix in ("nodes", "class", "target"):
        owners = attributes.get(f"{prefix}_treeids")
        if not isinstance(owners, list):
            continue
        rows: dict[int, list[int]] = {number: [] for number in order}
        for i, owner in enumerate(owners):
            rows.setdefault(owner, []).append(i)
        for name, value in attributes.items():
            if not name.startswith(f"{prefix}_") or not isinstance(value, list | np.ndarray):
                continue
            entries = value if isinstance(value, list) else np.ravel(value).tolist()
            if len(entries) == len(owners):
                for number in order:
                    parts[number][name] = [entries[i] for i in rows[number]]
    return dict[int, Attributes](parts)


def _tree(whole: _Whole, place: int, domain: Domain | None) -> DecisionTree:
    """Return the tree at a place of an ensemble."""
    order, columns, single, attributes = whole.order, whole.columns, whole.single, whole.parts[whole.order[place]]
    lists = {name: _list(attributes, f"nodes_{name}") for name in NODE_LISTS}
    tracks = _list(attributes, "nodes_missing_value_tracks_true", len(lists["nodeids"]))
    bounds = _numbers(attributes, "nodes_values", len(lists["nodeids"]))
    mine = range(len(lists["treeids"]))
    leaves = {lists["nodeids"][i] for i in mine if lists["modes"][i] == "LEAF"}
    classes, evidence = _leaves(attributes, leaves, whole.kind, len(order) > 1, len(order) if whole.shares else 0)
    names = tuple(dict.fromkeys(column.attribute for column in columns))
    builder: TreeBuilder[int] = TreeBuilder("the ONNX tree", domain, names)
    gaps = {column.attribute for column in columns if column.knows_gaps}
    for i in mine:
        key = lists["nodeids"][i]
        if key in builder:
            raise damaged(f"the ONNX tree lists node {key} twice.")
        mode = lists["modes"][i]
        if mode == "LEAF":
            builder.leaf(key, evidence.get(key, Evidence()))
            continue
        if mode not in MODES:
            raise UnsupportedModelError(f"the branch mode {mode!r:.40} is not one of {', '.join(MODES)} or LEAF.")
        feature = lists["featureids"][i]
        if not 0 <= feature < len(columns):
            raise InvalidModelError(f"the ONNX tree tests column {feature}, but it is given {len(columns)}.")
        # Only a difference from NaN holds of NaN itself.
        taken = bool(tracks[i]) if tracks else False
        first = taken or mode == "BRANCH_NEQ"
        column = columns[feature]
        missing = can_be_missing(column.attribute, domain, any(tracks) or column.attribute in gaps)
        pair = _sides(column, MODES[mode], bounds[i], first, domain, missing=missing, single=single)
        builder.split(key, pair, (lists["truenodeids"][i], lists["falsenodeids"][i]))
    return builder.tree(lists["nodeids"][mine[0]], classes, source_of("ONNX", place, len(order)))


def _plain(onnx: ModuleType, attribute: object) -> Any:
    """Return the value of an attribute: a list, a number, a text, or an array of a tensor in the file."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return array_of(onnx, value)
    if isinstance(value, int | float):
        return value
    return [entry.decode() if isinstance(entry, bytes) else entry for entry in value]


def _list(attributes: Attributes, name: str, length: int | None = None) -> list[Any]:
    """Return a list of the tree; one of given length may be left out."""
    value = attributes.get(name, [])
    if not isinstance(value, list):
        raise InvalidModelError(f"{name} must be a list, got {type(value).__name__}.")
    if length is None:
        length = len(attributes.get("nodes_nodeids", ()))
        if not value:
            raise InvalidModelError(f"the ONNX tree lacks {name}.")
    elif not value:
        return []
    if len(value) != length:
        raise InvalidModelError(f"{name} has {len(value)} entries where {length} are expected.")
    kind = str if name in TEXTS else int
    if not all(isinstance(entry, kind) for entry in value):
        raise damaged(f"{name} must hold {'texts' if kind is str else 'whole numbers'}.")
    return value


def _numbers(attributes: Attributes, name: str, length: int) -> list[float]:
    """Return numbers that stand in a list of single precision or in a tensor of double precision."""
    tensor = attributes.get(f"{name}_as_tensor")
    value: Any = attributes.get(name, []) if tensor is None else np.asarray(tensor).ravel().tolist()
    if not isinstance(value, list) or len(value) != length or not all(isinstance(v, int | float) for v in value):
        raise InvalidModelError(f"{name} must hold {length} numbers.")
    return [float(v) for v in value]


def _sides(
    column: Column, operator: str, bound: float, gap_first: bool, domain: Domain | None, *, missing: bool, single: bool
) -> tuple[Any, Any]:
    """Return the conditions of the true and the false branch."""
    if isinstance(column, Number) and not column.steps and column.fill is None and column.mark is None:
        gaps = (gap_first and missing, not gap_first and missing)
        return sides(column.attribute, operator, bound, domain, gaps, single=single)
    if operator not in ("<=", ">"):
        raise UnsupportedModelError(
            f"codes or scaled values of {column.attribute!r} are compared with {operator}; <= and > are read."
        )
    if math.isnan(bound):
        raise InvalidModelError(f"a threshold on {column.attribute!r} is NaN.")
    left, right = column.split(bound, gap_first == (operator == "<="), domain, rounded=single)
    if not missing:
        left, right = with_missing(left, False), with_missing(right, False)
    return (left, right) if operator == "<=" else (right, left)


def _check_after(onnx: ModuleType, graph: Any, ensemble: Any) -> None:
    """Raise UnsupportedModelError if something behind the tree can change what it predicts."""
    outputs, constants = set(ensemble.output), {str(tensor.name): tensor for tensor in graph.initializer}

    def is_one_column(node: Any) -> bool:
        """Return whether a slice is the score of one class, as skl2onnx writes an output of each."""
        bounds = {str(a.name): _plain(onnx, a) for a in node.attribute}
        for name, value in zip(("starts", "ends", "axes", "steps"), list(node.input)[1:], strict=False):
            bounds[name] = array_of(onnx, constants[value]).tolist() if value in constants else None
        first = bounds.get("starts")
        one = isinstance(first, list) and len(first) == 1 and bounds.get("ends") == [first[0] + 1]
        return one and bounds.get("axes") == [1] and bounds.get("steps", [1]) == [1]

    for node in graph.node:
        if node is not ensemble and outputs & set(node.input):
            if node.op_type not in AFTER and not (node.op_type == "Slice" and is_one_column(node)):
                raise UnsupportedModelError(
                    f"{node.op_type!r:.40} stands behind the tree.",
                    remedy="Export it alone; with skl2onnx, where it is a classifier, with options={'zipmap': False}.",
                )
            outputs |= set(node.output)


def _leaves(
    attributes: Attributes, all_leaves: set[int], kind: str, several: bool, n_shares: int
) -> tuple[tuple[Scalar, ...] | None, dict[int, Evidence]]:
    """Return the classes, and what each leaf of a tree publishes."""
    # The leaves of a forest get their shares back, multiplied by the number of trees; those of other ensembles are
    # values of a regression, the scores that they add.
    prefix = "class" if kind == "TreeEnsembleClassifier" else "target"
    owners = attributes.get(f"{prefix}_treeids", [])
    if several and not isinstance(owners, list):
        raise damaged(f"{prefix}_treeids must be a list.")
    length = len(owners if several else attributes.get(f"{prefix}_nodeids", ()))
    nodes = _list(attributes, f"{prefix}_nodeids", length)
    ids = _list(attributes, f"{prefix}_ids", len(nodes))
    weights = _numbers(attributes, f"{prefix}_weights", len(nodes))
    base = [] if several else np.ravel(np.asarray(_base_of(attributes), dtype=float)).tolist()
    transform = attributes.get("post_transform", "NONE")
    if prefix == "class" and n_shares:
        weights = [weight * n_shares for weight in weights]
    elif several and prefix == "class":
        if len(set(ids)) > 1:
            raise UnsupportedModelError("the trees of the ONNX graph add scores of several classes in one leaf.")
        prefix, transform, ids = "target", "NONE", [0] * len(ids)
    if transform not in TRANSFORMS or (prefix == "target" and transform != "NONE"):
        raise UnsupportedModelError(f"the tree's post_transform is {transform!r:.40}, which is not read.")
    leaves: dict[int, dict[int, float]] = {}
    for node, place, weight in zip(nodes, ids, weights, strict=True):
        row = leaves.setdefault(node, {})
        if place in row or not math.isfinite(weight):
            raise InvalidModelError(f"leaf {node} has two weights of one output, or one that is not finite.")
        row[place] = weight
    lost = set(leaves) - all_leaves
    if lost:
        raise InvalidModelError(f"weights are given for node {min(lost)}, which is no leaf.")
    if prefix == "target":
        if attributes.get("n_targets", 1) != 1 or set(ids) - {0} or len(base) > 1:
            raise UnsupportedModelError("the tree predicts several outputs at once; one is supported.")
        start = base[0] if base else 0.0
        return None, {node: Evidence(value=start + row[0]) for node, row in leaves.items()}
    if any(base):
        raise UnsupportedModelError("the tree has base_values, as ensembles do.", remedy="Export one decision tree.")
    classes = tuple(_list(attributes, "classlabels_strings", len(attributes.get("classlabels_strings", ()))))
    classes = classes or tuple(_list(attributes, "classlabels_int64s", len(attributes.get("classlabels_int64s", ()))))
    if not classes or not all(0 <= place < len(classes) for place in ids):
        raise InvalidModelError(f"the tree weighs classes beyond the {len(classes)} that it names.")
    alone = len(classes) == 2 and len(set(ids)) == 1
    signed = any(weight < 0 for weight in weights)
    return classes, {
        node: _evidence(row, len(classes), alone, signed, transform == "NONE") for node, row in leaves.items()
    }


def _evidence(row: Mapping[int, float], n_classes: int, alone: bool, signed: bool, plain: bool) -> Evidence:
    """Return what a leaf publishes; of two classes, one weight alone is that of the second."""
    if alone:
        (weight,) = row.values()
        label = int(weight > (0 if signed else 0.5))
        return from_shares((1 - weight, weight), label) if plain and not signed else Evidence(label=label)
    shares = [row.get(i, 0.0) for i in range(n_classes)]
    label = shares.index(max(shares))
    if n_classes == 2 and label != (shares[1] > 0):
        # onnxruntime answers the second class wherever its weight is positive, which is not the larger weight.
        raise UnsupportedModelError(
            "a leaf weighs both of two classes, which runtimes answer differently.", remedy="Export one weight a leaf."
        )
    return from_shares(shares, label) if plain else Evidence(label=label)
