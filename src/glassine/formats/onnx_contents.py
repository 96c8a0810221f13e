"""What an ONNX file holds beside the tree that was read: fields, nodes, tensors and entries that it does not need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from glassine.domain import Domain
from glassine.errors import UnsupportedModelError
from glassine.formats.builder import place_of
from glassine.formats.contents import (
    LONGEST_NAME,
    FittedValues,
    OtherContent,
    fitted_categories,
    named_values,
    shown_name,
)
from glassine.formats.json import KEY, is_claim
from glassine.formats.onnx import ENSEMBLES, OURS, onnx_module, tree_from_onnx
from glassine.models.tree import DecisionTree

PRODUCERS = (OURS, "skl2onnx", "onnxmltools", "OnnxMLTools", "hummingbird", "")
VERSION = re.compile(r"[0-9]{0,4}(\.[0-9]{1,4}){0,3}")
NAMED = re.compile(r"[A-Za-z0-9_]{0,40}(\([A-Za-z0-9_]{0,40}\))?")
"""What the name of a graph or an operator looks like, which nothing else refers to."""

Rule = Callable[[Any], bool]


def _always(value: object) -> bool:
    return True


def _small(value: int) -> bool:
    return 0 <= value < 2**16


def _short(value: str | bytes) -> bool:
    return len(value) <= LONGEST_NAME


FIELDS: Mapping[str, Mapping[str, Rule]] = {
    "ModelProto": {
        "ir_version": _small,
        "opset_import": _always,
        "producer_name": PRODUCERS.__contains__,
        "producer_version": lambda value: VERSION.fullmatch(value) is not None,
        "domain": lambda value: value in ("", "ai.onnx", "ai.onnx.ml"),
        "model_version": _small,
        "graph": _always,
        "metadata_props": lambda entry: entry.key == KEY and is_claim(entry.value),
    },
    "StringStringEntryProto": {"key": KEY.__eq__, "value": _always},
    "OperatorSetIdProto": {"domain": lambda value: value in ("", "ai.onnx", "ai.onnx.ml"), "version": _small},
    "GraphProto": {
        "node": _always,
        "name": lambda value: NAMED.fullmatch(value) is not None,
        "input": _always,
        "output": _always,
        "initializer": _always,
        "value_info": _always,
    },
    "NodeProto": {
        "input": _short,
        "output": _short,
        "name": lambda value: NAMED.fullmatch(value) is not None,
        "op_type": _short,
        "domain": lambda value: value in ("", "ai.onnx", "ai.onnx.ml"),
        "attribute": _always,
    },
    "AttributeProto": {
        "name": _short,
        "type": _always,
        **dict.fromkeys(("f", "i", "s", "t", "floats", "ints", "strings"), _always),
    },
    "TensorProto": {
        "dims": _always,
        "data_type": _small,
        "name": lambda value: NAMED.fullmatch(value) is not None,
        **dict.fromkeys(("float_data", "int32_data", "int64_data", "double_data", "raw_data", "string_data"), _always),
    },
    "ValueInfoProto": {"name": _short, "type": _always},
    "TypeProto": {"tensor_type": _always, "sequence_type": _always, "map_type": _always},
    "Tensor": {"elem_type": _small, "shape": _always},
    "Sequence": {"elem_type": _always},
    "Map": {"key_type": _small, "value_type": _always},
    "TensorShapeProto": {"dim": _always},
    "Dimension": {
        "dim_value": lambda value: 0 <= value < 2**24,
        "dim_param": lambda value: re.fullmatch(r"[A-Za-z_]{0,10}[0-9]{0,4}", value) is not None,
    },
}
"""By message, the fields of a model of trees, and what each may hold; any other field is other content."""
PAYLOADS: Mapping[int, str] = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
"""The one field that holds the value of an attribute, by its type."""
READ = re.compile(
    r"nodes_(treeids|nodeids|featureids|modes|truenodeids|falsenodeids|values(_as_tensor)?|missing_value_tracks_true)|"
    r"(class|target)_(treeids|nodeids|ids|weights(_as_tensor)?)|classlabels_(strings|int64s)|post_transform|"
    r"base_values(_as_tensor)?|n_targets"
)
"""Attributes of an ensemble that its reader asks for."""
ENCODER = re.compile(r"(keys|values)_(strings|int64s|floats)|default_(float|int64)")
PLAIN: Mapping[str, tuple[str, ...]] = {
    "Cast": ("to",),
    "Concat": ("axis",),
    "ZipMap": ("classlabels_strings", "classlabels_int64s"),
    "Reshape": ("allowzero",),
}
"""Attributes of the operators around the tree."""
MOST_SHAPE = 8
SPARE = (0, -1, -2)
"""What converters write where a leaf has nothing to say."""


def beside_onnx(data: bytes, domain: Domain | None, tree: int | None) -> Iterator[OtherContent | FittedValues]:
    """Yield what an ONNX file holds that the tree does not need."""
    onnx = onnx_module()
    model = onnx.load_model_from_string(data)
    n_bytes = model.ByteSize()
    yield OtherContent(
        "fields that are written twice, or longer than they need",
        "bytes",
        max(len(data) - n_bytes, int(len(model.SerializeToString()) != n_bytes)),
    )
    without_unknown = onnx.ModelProto()
    without_unknown.CopyFrom(model)
    without_unknown.DiscardUnknownFields()
    yield OtherContent("fields that ONNX does not have", "unknown field", n_bytes - without_unknown.ByteSize())
    yield from _beside_fields(model)
    yield from _beside_graph(onnx, model.graph, tree)
    read = tree_from_onnx(data, domain, tree)
    if read.guarantee is None:  # a claim beside several trees is of none
        n_bytes = sum(entry.ByteSize() for entry in model.metadata_props if entry.key == KEY)
        yield OtherContent("ModelProto.metadata_props", "metadata", n_bytes)
    yield from _values(onnx, model.graph, read, domain)


def _beside_fields(model: Any) -> Iterator[OtherContent]:
    """Yield every field of every message that no model of trees needs."""
    stack = [("ModelProto", model)]
    while stack:
        where, message = stack.pop()
        allowed = FIELDS.get(message.DESCRIPTOR.name, {})
        for field, value in message.ListFields():
            values = [value] if isinstance(value, str | bytes) or not hasattr(value, "__len__") else list(value)
            fine, bad = allowed.get(field.name), 0
            for entry in values:
                if fine is None or not fine(entry):
                    bad += entry.ByteSize() if hasattr(entry, "ByteSize") else _weight(entry)
                elif hasattr(entry, "ListFields"):
                    stack.append((f"{where}.{field.name}", entry))
            kind = "metadata" if field.name in ("metadata_props", "doc_string") else "field"
            yield OtherContent(f"{where}.{field.name}", kind, bad)
        if message.DESCRIPTOR.name == "AttributeProto":
            due = PAYLOADS.get(message.type)
            spare = sum(
                sum(map(_weight, value)) if hasattr(value, "__len__") and not isinstance(value, bytes) else 8
                for field, value in message.ListFields()
                if field.name in PAYLOADS.values() and field.name != due
            )
            yield OtherContent(f"{where}, values of another type", "field", spare)
        if message.DESCRIPTOR.name == "TensorProto":
            payloads = [field.name for field, _ in message.ListFields() if field.name.endswith("_data")]
            spare = message.ByteSize() if len(payloads) > 1 else 0
            yield OtherContent(f"{where}, a tensor with two values", "array", spare)


def _weight(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return 8


def _beside_graph(onnx: Any, graph: Any, tree: int | None) -> Iterator[OtherContent]:
    """Yield operators, inputs, tensors and entries of lists that the tree does not need."""
    nodes = list(graph.node)
    (at,) = [i for i, node in enumerate(nodes) if node.op_type in ENSEMBLES]
    ensemble = nodes[at]
    needed, names = _connected(nodes, at)
    for i, node in enumerate(nodes):
        if i not in needed:
            yield OtherContent("operators that the tree does not need", "operator", node.ByteSize())
            continue
        for attribute in node.attribute:
            name = attribute.name
            usual = node.op_type == "LabelEncoder" and ENCODER.fullmatch(name) is not None
            usual = usual or name in PLAIN.get(node.op_type, ())
            if i == at:
                usual = READ.fullmatch(name) is not None or (
                    name == "nodes_hitrates" and set(attribute.floats) <= {0.0, 1.0}
                )
            if node.op_type == "ZipMap":
                usual = usual and _labels(node) == _labels(ensemble)
            if not usual:
                where = f"{node.op_type}, attribute {shown_name(name)}"
                yield OtherContent(where, "attribute", attribute.ByteSize())
    for entry in graph.initializer:
        if entry.name not in names or len(onnx.numpy_helper.to_array(entry).ravel()) > MOST_SHAPE:
            yield OtherContent("tensors that the tree does not need", "tensor", entry.ByteSize())
    for entry in (*graph.input, *graph.output, *graph.value_info):
        if entry.name not in names:
            yield OtherContent("values that no operator gives or takes", "value", entry.ByteSize())
    yield from _beside_lists(onnx, ensemble, tree)


def _labels(node: Any) -> list[Any]:
    return [
        [*attribute.strings, *attribute.ints]
        for attribute in node.attribute
        if attribute.name.startswith("classlabels")
    ]


def _connected(nodes: Sequence[Any], ensemble: int) -> tuple[set[int], set[str]]:
    """Return the places of the operators before and behind the tree, and the names of the values between them."""
    needed, before, behind = {ensemble}, set(nodes[ensemble].input), set(nodes[ensemble].output)
    grown = True
    while grown:
        grown = False
        for i, node in enumerate(nodes):
            follows = bool(behind & set(node.input))
            if i in needed or not (follows or before & set(node.output)):
                continue
            needed.add(i)
            grown = True
            if follows:
                behind |= set(node.output)
            else:
                before |= set(node.input)
    return needed, {name for i in needed for name in (*nodes[i].input, *nodes[i].output)}


def _beside_lists(onnx: Any, ensemble: Any, tree: int | None) -> Iterator[OtherContent]:
    """Yield entries of the lists of an ensemble: those of other trees, and tests of leaves."""
    lists = {a.name: onnx.helper.get_attribute_value(a) for a in ensemble.attribute}
    owners = list(lists.get("nodes_treeids", ()))
    order = list(dict.fromkeys(owners))
    if not order:
        raise UnsupportedModelError("the ONNX graph names no tree.", remedy="Export it again.")
    mine = order[place_of(len(order), tree, "the ONNX graph")]
    others = 0
    for prefix in ("nodes", "class", "target"):
        listed = list(lists.get(f"{prefix}_treeids", ()))
        width = sum(name.startswith(f"{prefix}_") for name in lists)
        others += 8 * width * sum(owner != mine for owner in listed)
    yield OtherContent("trees that were not read", "array", others)
    modes, spare = list(lists.get("nodes_modes", ())), 0
    tensor = lists.get("nodes_values_as_tensor")
    bounds = list(lists.get("nodes_values", ())) if tensor is None else onnx.numpy_helper.to_array(tensor).tolist()
    if tensor is not None:
        yield OtherContent("tests that are given twice", "array", 8 * len(lists.get("nodes_values", ())))
    named = ("featureids", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    for entries in (*(lists.get(f"nodes_{name}", ()) for name in named), bounds):
        spare += sum(
            mode == b"LEAF" and owner == mine and entry not in SPARE
            for mode, owner, entry in zip(modes, owners, entries, strict=False)
        )
    yield OtherContent("tests of leaves", "array", 8 * spare)


def _values(onnx: Any, graph: Any, model: DecisionTree, domain: Domain | None) -> Iterator[FittedValues]:
    """Yield the categories of encoders that neither the tree nor a public domain names."""
    named = named_values(model)
    for node in graph.node:
        if node.op_type != "LabelEncoder" or not node.input:
            continue
        attribute = str(node.input[0])
        keys = [
            entry.decode(errors="replace") if isinstance(entry, bytes) else str(entry)
            for stated in node.attribute
            if stated.name.startswith("keys_")
            for entry in onnx.helper.get_attribute_value(stated)
        ]
        declared = named.get(attribute, set())
        more = [key for key in keys if key not in declared and key not in ("", "\x01", "nan", "inf")]
        more = [key for key in more if key.removesuffix(".0") not in declared]
        yield from fitted_categories("a LabelEncoder", attribute, more, domain)
