"""Additive models in ONNX: one regression tree for each term, whose sum is the score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import UnsupportedModelError
from glassine.formats.conditions import as_written, fresh_name, readable
from glassine.formats.json import KEY, claim_of, without_counts
from glassine.formats.onnx import OURS, onnx_module, stated_guarantee
from glassine.formats.onnx_columns import array_of
from glassine.models.additive import AdditiveModel
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.guarantee import Guarantee
from glassine.models.terms import Term

GRAPH, JOINT = "additive_model", "joint_additive_model"
"""Names of the graph, by which the file is known; the second where all scores were fitted together."""
OPSET, ML_OPSET, IR_VERSION = 17, 4, 8
"""The versions that encoders of texts and of missing numbers need, known to every runtime since 2022."""
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class _Axis:
    """One attribute of a term as a runtime sees it: a column of numbers, cut at bounds."""

    column: int
    bounds: tuple[float, ...]  # Increasing numbers of single precision; a value on a bound is below it
    cells: tuple[int, ...]  # Bin of each interval
    gap: int | None  # Bin of NaN; None where the column has none


def additive_to_onnx(model: AdditiveModel) -> bytes:
    """Return an additive model as the bytes of an ONNX file, see :func:`glassine.formats.to_onnx`."""
    onnx = onnx_module()
    if model.link == "log":
        raise UnsupportedModelError(
            "the graphs that are written have no logarithm of a mean.", remedy="Write it as JSON, SQL or Python."
        )
    if not model.terms:
        raise UnsupportedModelError("an ONNX graph needs a term, and the model has none.", remedy="Write it as JSON.")
    readable([*model.tested, *map(str, model.classes or ())], "the name")
    values = _values_of(model)
    readable([value for name in values.values() for value in name if isinstance(value, str)], "the value")
    kinds, describe, node = onnx.TensorProto, onnx.helper.make_tensor_value_info, onnx.helper.make_node
    names = model.tested
    inputs, columns, nodes = [], [], []
    for name in names:
        words = any(isinstance(value, str) for value in values.get(name, ()))
        inputs.append(describe(name, kinds.STRING if words else kinds.FLOAT, [None, 1]))
        columns.append(name)
        if name in values:
            columns[-1] = fresh_name(f"codes_{len(columns) - 1}", names)
            nodes.append(_encoder(onnx, name, columns[-1], values[name], words))
    joined, scores = fresh_name("columns", names), fresh_name("scores", names)
    nodes.append(node("Concat", columns, [joined], axis=1))
    bounded = model.classes is None and model.target_bounds is not None
    value = fresh_name("value", names)
    output = scores if bounded or model.classes is not None else value
    nodes.append(node("TreeEnsembleRegressor", [joined], [output], domain="ai.onnx.ml", **_ensemble(model, values)))
    constants = []
    if model.classes is not None:
        outputs = _classified(onnx, model.classes, scores, names, nodes)
    else:
        outputs = [describe(value, kinds.FLOAT, [None, 1])]
        if model.target_bounds is not None:
            limits = [fresh_name("least", names), fresh_name("most", names)]
            for limit, bound in zip(limits, model.target_bounds, strict=True):
                constants.append(onnx.helper.make_tensor(limit, kinds.FLOAT, [], [_single(bound, "target_bounds")]))
            nodes.append(node("Clip", [scores, *limits], [value]))
    graph = onnx.helper.make_graph(nodes, JOINT if model.joint else GRAPH, inputs, outputs, initializer=constants)
    return serialized(onnx, graph, ML_OPSET, without_counts(model.guarantee))


def serialized(onnx: ModuleType, graph: Any, ml_opset: int, guarantee: Guarantee | None) -> bytes:
    """Return a graph as the bytes of a file, whose metadata state a guarantee."""
    opsets = [onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", ml_opset)]
    built = onnx.helper.make_model(graph, producer_name=OURS, opset_imports=opsets, ir_version=IR_VERSION)
    if guarantee is not None:
        onnx.helper.set_model_props(built, {KEY: claim_of(guarantee)})
    onnx.checker.check_model(built)
    return bytes(built.SerializeToString(deterministic=True))


def _single(value: float, what: str) -> float:
    """Return a number in single precision, or raise UnsupportedModelError where it is too large."""
    if not abs(value) <= LARGEST:
        raise UnsupportedModelError(
            f"{what} has the number {value!r}, which is too large for single precision.",
            remedy="Write it as JSON or SQL.",
        )
    return float(np.float32(value))


def _values_of(model: AdditiveModel) -> dict[str, tuple[Scalar, ...]]:
    """Return the values that the terms name of each category; their places are its codes."""
    values_of_category: dict[str, dict[Scalar, None]] = {}
    for term in model.terms:
        for bins in term.bins:
            if isinstance(bins, CategoryBins):
                values_of_category.setdefault(bins.attribute, {}).update(dict.fromkeys(bins.values))
    for name, values in values_of_category.items():
        kinds = {isinstance(value, str) for value in values}
        single = all(isinstance(value, str) or float(np.float32(value)) == value for value in values)
        if len(kinds) > 1 or "" in values or not single:
            raise UnsupportedModelError(
                f"the values of {name!r} are neither texts, none of them empty, nor numbers of single precision.",
                remedy="Recode them.",
            )
    return {name: tuple(values) for name, values in values_of_category.items()}


def _encoder(onnx: Any, name: str, column: str, values: Sequence[Scalar], words: bool) -> Any:
    """Return the operator that gives values the codes 0, 1, ..., missing ones the next and all others one more."""
    keys: list[Any] = [*map(str, values), ""] if words else [*map(float, values), math.nan]
    return encoder_node(onnx, name, column, keys, range(len(values) + 1), len(values) + 1)


def encoder_node(
    onnx: ModuleType, name: str, column: str, keys: Sequence[Any], codes: Iterable[float], other: float
) -> Any:
    """Return the operator that gives keys, all of them texts or all numbers, their codes, and others one more."""
    kind = "keys_strings" if isinstance(keys[0], str) else "keys_floats"
    node, listed = onnx.helper.make_node, {kind: list(keys), "values_floats": list(map(float, codes))}
    return node("LabelEncoder", [name], [column], domain="ai.onnx.ml", default_float=float(other), **listed)


def label_lists(classes: Sequence[Scalar], name: str) -> dict[str, Any]:
    """Return the attribute that lists classes: all of them texts, or all whole numbers."""
    if all(isinstance(one, str) for one in classes):
        return {f"{name}_strings": list(classes)}
    if all(isinstance(one, int) and abs(one) < 2**63 for one in classes):
        return {f"{name}_int64s": [int(one) for one in classes]}
    raise UnsupportedModelError(
        f"ONNX names classes by texts or whole numbers, got {list(classes)!r:.80}.", remedy="Rename them."
    )


def _classified(onnx: Any, classes: Sequence[Scalar], scores: str, names: Sequence[str], nodes: list[Any]) -> list[Any]:
    """Add the operators from scores to a label and probabilities; return the outputs."""
    kinds, describe, node = onnx.TensorProto, onnx.helper.make_tensor_value_info, onnx.helper.make_node
    label, shares, place = fresh_name("label", names), fresh_name("probabilities", names), fresh_name("place", names)
    listed = label_lists(classes, "values")
    # The first of equal scores, as the model answers.
    nodes += [
        node("Softmax", [scores], [shares], axis=1),
        node("ArgMax", [scores], [place], axis=1, keepdims=0),
        node("LabelEncoder", [place], [label], domain="ai.onnx.ml", keys_int64s=list(range(len(classes))), **listed),
    ]
    return [
        describe(label, kinds.STRING if isinstance(classes[0], str) else kinds.INT64, [None]),
        describe(shares, kinds.FLOAT, [None, len(classes)]),
    ]


def _axis(bins: Bins, column: int, values: Mapping[str, tuple[Scalar, ...]]) -> _Axis:
    """Return how a runtime cuts one attribute of a term."""
    if isinstance(bins, CategoryBins):
        declared = values[bins.attribute]
        cells = (*bins.find(declared).tolist(), bins.missing, bins.n_bins - 1)
        return _Axis(column, tuple(code + 0.5 for code in range(len(declared) + 1)), cells, None)
    bounds: list[float] = []
    kept = [0]
    for place, cut in enumerate(bins.cuts, start=1):
        near = np.float32(_single(cut, f"the cuts of {bins.attribute!r}"))
        # The largest number of single precision on the lower side: every such number goes where the model sends it.
        if float(near) > cut or (float(near) == cut and bins.closed == "left"):
            near = np.nextafter(near, np.float32(-np.inf))
        if bounds and float(near) == bounds[-1]:
            kept[-1] = place  # no number of single precision lies between
            continue
        bounds.append(float(near))
        kept.append(place)
    return _Axis(column, tuple(bounds), tuple(kept), bins.n_bins - 1)


NODES = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
TARGETS = ("treeids", "nodeids", "ids", "weights")


class _Trees:
    """The lists of an ensemble, which grow tree by tree."""

    def __init__(self, targets: Sequence[int]) -> None:
        self.targets = targets
        self.nodes: list[list[Any]] = []  # Of each node what NODES lists
        self.weights: list[tuple[Any, ...]] = []  # Of each leaf and output what TARGETS lists
        self.tree = -1

    def add(self, term: Term, axes: Sequence[_Axis]) -> None:
        """Add the tree of a term."""
        self.tree += 1
        self.first = len(self.nodes)
        self.term, self.axes = term, axes
        self._grow(())

    def _node(self, column: int, mode: str, bound: float) -> int:
        place = len(self.nodes) - self.first
        self.nodes.append([self.tree, place, column, mode, bound, 0, 0])
        return place

    def _join(self, place: int, low: int, high: int) -> int:
        self.nodes[self.first + place][-2:] = low, high
        return place

    def _grow(self, cells: tuple[int, ...]) -> int:
        """Add the nodes below what the first axes decide, and return the first of them."""
        if len(cells) == len(self.axes):
            place = self._node(0, "LEAF", 0.0)
            for target, score in zip(self.targets, self.term.scores[cells].tolist(), strict=True):
                self.weights.append((self.tree, place, target, _single(score, f"term {self.term.name!r}")))
            return place
        axis = self.axes[len(cells)]
        if axis.gap is None:
            return self._between(cells, 0, len(axis.bounds))
        # Every number is at most infinity, and NaN is not.
        place = self._node(axis.column, "BRANCH_LEQ", math.inf)
        return self._join(place, self._between(cells, 0, len(axis.bounds)), self._grow((*cells, axis.gap)))

    def _between(self, cells: tuple[int, ...], start: int, end: int) -> int:
        """Add the nodes of some intervals of the next axis, halved again and again: few levels, however many bins."""
        axis = self.axes[len(cells)]
        if end == start:
            return self._grow((*cells, axis.cells[start]))
        middle = (start + end) // 2
        place = self._node(axis.column, "BRANCH_LEQ", axis.bounds[middle])
        return self._join(place, self._between(cells, start, middle), self._between(cells, middle + 1, end))


def _ensemble(model: AdditiveModel, values: Mapping[str, tuple[Scalar, ...]]) -> dict[str, Any]:
    """Return the lists that describe the trees."""
    trees = _Trees([1] if model.link == "logit" else range(model.n_outputs))
    for term in model.terms:
        trees.add(term, [_axis(bins, model.tested.index(bins.attribute), values) for bins in term.bins])
    base = [_single(value, "the intercept") for value in model.intercept]
    return {
        **{f"nodes_{name}": [node[i] for node in trees.nodes] for i, name in enumerate(NODES)},
        **{f"target_{name}": [row[i] for row in trees.weights] for i, name in enumerate(TARGETS)},
        "n_targets": len(model.classes or (0,)),
        "base_values": [0.0, *base] if model.link == "logit" else base,
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }


def holds_additive(data: bytes) -> bool:
    """Return whether bytes are an ONNX file in which an additive model was written."""
    onnx = onnx_module()
    try:
        model = onnx.load_model_from_string(data)
    except Exception:
        return False
    return bool(model.producer_name == OURS and model.graph.name in (GRAPH, JOINT))


def additive_from_onnx(data: bytes, domain: Domain | None = None) -> AdditiveModel:
    """Read an additive model from an ONNX file that Glassine wrote."""
    # Every byte is accounted for: the model is written again, and a file that differs is refused.
    onnx = onnx_module()
    return as_written(
        data,
        domain,
        form="ONNX",
        read=lambda: _parsed(onnx, onnx.load_model_from_string(data)),
        write=additive_to_onnx,
        refused=(Exception,),  # protocol buffers check types, not what lists hold
    )


def _attributes(onnx: ModuleType, node: Any) -> dict[str, Any]:
    return {str(entry.name): onnx.helper.get_attribute_value(entry) for entry in node.attribute}


def _parsed(onnx: ModuleType, model: Any) -> AdditiveModel:
    """Return the model of a graph; what the graph holds beside it is not looked at."""
    graph = model.graph
    makers = {str(output): node for node in graph.node for output in node.output}
    (ensemble,) = [node for node in graph.node if node.op_type == "TreeEnsembleRegressor"]
    names, values = [], dict[int, list[Scalar]]()
    for column in makers[ensemble.input[0]].input:
        encoder = makers.get(column)
        names.append(str(column if encoder is None else encoder.input[0]))
        if encoder is not None:
            listed = _attributes(onnx, encoder)
            texts = listed.get("keys_strings")
            keys: list[Any] = [key.decode() for key in texts] if texts is not None else list(listed["keys_floats"])
            values[len(names) - 1] = [int(k) if isinstance(k, float) and k.is_integer() else k for k in keys[:-1]]
    lists = _attributes(onnx, ensemble)
    classes: tuple[Scalar, ...] | None = None
    for node in graph.node:
        named = _attributes(onnx, node) if node.op_type == "LabelEncoder" else {}
        if "keys_int64s" in named:
            texts = named.get("values_strings")
            classes = tuple(text.decode() for text in texts) if texts is not None else tuple(named["values_int64s"])
    link = "identity" if classes is None else "logit" if set(lists["target_ids"]) == {1} else "softmax"
    terms = [_term(lists, tree, names, values) for tree in range(max(lists["nodes_treeids"]) + 1)]
    bounds = [float(array_of(onnx, entry)) for entry in graph.initializer]
    return AdditiveModel(
        attributes=tuple(names),
        terms=tuple(terms),
        intercept=tuple(lists["base_values"][1:] if link == "logit" else lists["base_values"]),
        link=link,
        classes=classes,
        target_bounds=(bounds[0], bounds[1]) if bounds else None,
        source="ONNX",
        guarantee=stated_guarantee(model),
        joint=graph.name == JOINT,
    )


def _term(lists: Mapping[str, Any], tree: int, names: Sequence[str], values: Mapping[int, Sequence[Scalar]]) -> Term:
    """Return the term of one tree: its cells have the scores to which their values lead."""
    mine = [i for i, owner in enumerate(lists["nodes_treeids"]) if owner == tree]
    scores: dict[int, list[float]] = {}
    for owner, node, weight in zip(
        lists["target_treeids"], lists["target_nodeids"], lists["target_weights"], strict=True
    ):
        if owner == tree:
            scores.setdefault(node, []).append(weight)
    inner = [i for i in mine if lists["nodes_modes"][i] != b"LEAF"]
    bins: list[Bins] = []
    points: list[list[tuple[int, float]]] = []
    for column in dict.fromkeys(lists["nodes_featureids"][i] for i in inner):
        if column in values:
            codes = len(values[column]) + 2
            bins.append(CategoryBins(names[column], (*((value,) for value in values[column]), (None,))))
            points.append([(column, float(code)) for code in range(codes)])
            continue
        cuts = sorted({lists["nodes_values"][i] for i in inner if lists["nodes_featureids"][i] == column} - {math.inf})
        bins.append(NumericBins(names[column], tuple(cuts)))
        points.append([(column, value) for value in (*cuts, math.inf, math.nan)])

    def walked(record: Mapping[int, float]) -> list[float]:
        place = 0
        for _ in mine:
            i = mine[place]
            if lists["nodes_modes"][i] == b"LEAF":
                break
            low = record[lists["nodes_featureids"][i]] <= lists["nodes_values"][i]
            place = lists["nodes_truenodeids" if low else "nodes_falsenodeids"][i]
        return scores[place]

    cells = np.array([walked(dict(cell)) for cell in product(*points)])
    return Term(bins=tuple(bins), scores=cells.reshape(*(len(part) for part in points), -1))
