"""Models as ONNX: one tree of thresholds, and an encoder for each list of values; of additive models a tree a term."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain, OneOf
from glassine.domain.attributes import Scalar
from glassine.domain.single import single_threshold
from glassine.errors import UnsupportedModelError
from glassine.formats.builder import place_of
from glassine.formats.conditions import check_predicts, compared_values, fresh_name, outcomes, readable
from glassine.formats.format import Format, PublishedModel
from glassine.formats.onnx import ensemble_from_onnx, forest_from_onnx, is_onnx, onnx_module, tree_from_onnx
from glassine.formats.onnx_additive import (
    ML_OPSET,
    additive_from_onnx,
    additive_to_onnx,
    encoder_node,
    holds_additive,
    label_lists,
    serialized,
)
from glassine.formats.sklearn.writer import BinaryTree, Encoder
from glassine.models.additive import AdditiveModel
from glassine.models.evidence import cell_probabilities
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

PLAIN_ML_OPSET = 3
HALF = np.float32(0.5)


def to_onnx(model: DecisionTree | RuleList | AdditiveModel, domain: Domain | None = None) -> bytes:
    r"""Return a model as the bytes of an ONNX file.

    Parameters
    ----------
    model : DecisionTree, RuleList or AdditiveModel
        The model. Every leaf or rule must predict something.
    domain : Domain, optional
        The public domain, which names binary attributes. Without it they are those compared with 0 and 1 only.

    Returns
    -------
    bytes
        One input of shape (n, 1) for each tested attribute: texts for attributes that are compared with texts, single
        precision for others. A missing number is NaN, a missing text is the empty one. The outputs are ``label`` and
        ``probabilities``, or ``value``. Probabilities are those of
        :func:`~glassine.models.evidence.cell_probabilities`; a leaf without any has probability 1 for its
        prediction.

    Raises
    ------
    UnsupportedModelError
        If onnx is not installed, it is not a model, a part predicts nothing, classes are neither all texts nor all
        whole numbers, its only class is a text, an additive model has no term, an attribute is
        compared with texts and numbers, or with a number that single precision does not
        hold, or the tree would need more than 100,000 nodes.
    InvalidModelError
        If the domain lacks an attribute or a value.

    Notes
    -----
    A threshold is rounded to single precision, so that every decimal of seven digits goes where the model sends it, as
    far as single precision distinguishes it from the threshold. A record that satisfies no branch takes the last one.
    The file carries no counts. A guarantee is the entry ``glassine.guarantee`` of its metadata. Scores of an additive
    model have single precision.

    Examples
    --------
    >>> from glassine.formats import tree_from_onnx
    >>> from glassine import parse_rules
    >>> rules = parse_rules("if [age <= 40.5] then [ill] (3 examples)\nelse [well] (5 examples)")
    >>> print(tree_from_onnx(to_onnx(rules)).cells[0])
    age <= 40.5
    """
    onnx = onnx_module()
    if isinstance(model, AdditiveModel):
        return additive_to_onnx(model)
    check_predicts(model, domain, "an ONNX tree")
    if len(model.classes or ()) == 1 and isinstance((model.classes or ("",))[0], str):
        # ONNX Runtime 1.31 looks for a second text, and ends the process.
        raise UnsupportedModelError(
            f"the only class is {model.classes!r}, and runtimes of ONNX fail with one class that is a text.",
            remedy="Write SQL or Python instead.",
        )
    encoder = Encoder(model, domain)
    names = encoder.names
    readable([*names, *map(str, model.classes or ())], "the name")
    if not names or not all(names):
        raise UnsupportedModelError("an ONNX tree needs an attribute with a name.", remedy="Name one.")
    readable(
        [value for name in compared_values(model).values() for value in name if isinstance(value, str)], "the value"
    )
    grown = BinaryTree(model, encoder)
    nodes = [*_inputs(onnx, encoder, names)]
    outputs = _outputs(onnx, model, names)
    order = list(grown.levels())
    attributes = {**_branches(grown, order), **_leaves(model, [grown.part[node] for node in order])}
    kind = "TreeEnsembleRegressor" if model.classes is None else "TreeEnsembleClassifier"
    output = nodes[-1].output[0]
    nodes.append(
        onnx.helper.make_node(kind, [output], [entry.name for entry in outputs], domain="ai.onnx.ml", **attributes)
    )
    inputs = [
        onnx.helper.make_tensor_value_info(
            name, onnx.TensorProto.STRING if name in encoder.words else onnx.TensorProto.FLOAT, [None, 1]
        )
        for name in names
    ]
    graph = onnx.helper.make_graph(nodes, "model", inputs, outputs)
    # Encoders that know NaN are of the later version.
    gaps = any(listed.missing and listed.attribute not in encoder.words for listed in encoder.lists)
    version = ML_OPSET if gaps else PLAIN_ML_OPSET
    return serialized(onnx, graph, version, model.guarantee)


def _inputs(onnx: Any, encoder: Encoder, names: Sequence[str]) -> list[Any]:
    """Return the operators that make one column of numbers a test, joined in order."""
    columns, nodes = [*encoder.numbers], []
    for i, listed in enumerate(encoder.lists):
        column = fresh_name(f"list_{i}", names)
        nodes.append(_encoder(onnx, listed, column, listed.attribute in encoder.words))
        columns.append(column)
    joined = fresh_name("columns", [*names, *columns])
    nodes.append(onnx.helper.make_node("Concat", columns or list(names[:1]), [joined], axis=1))
    return nodes


def _encoder(onnx: Any, listed: OneOf, column: str, words: bool) -> Any:
    """Return the operator that gives values of a list codes from 0 on, missing ones too if listed, and others -1."""
    keys: list[Scalar] = list(dict.fromkeys(listed.values))
    if words:
        if "" in keys:
            raise UnsupportedModelError(
                f"{listed.attribute!r} has the empty text as a value, which ONNX takes for none."
            )
        # An encoder needs a key; no text of a record is this one.
        named: list[Any] = [*map(str, keys), *([""] if listed.missing else [])] or ["\x01"]
    else:
        numbers = [float(key) for key in keys if not isinstance(key, str)]
        inexact = [number for number in numbers if float(np.float32(number)) != number]
        if inexact:
            raise UnsupportedModelError(
                f"{listed.attribute!r} is compared with {inexact[0]!r}, which single precision does not hold.",
                remedy="Recode it.",
            )
        named = [*numbers, *([math.nan] if listed.missing else [])] or [math.inf]
    codes = [float(i) for i in range(len(set(listed.values)))]
    codes += [float(len(codes) + 2)] if listed.missing else []
    return encoder_node(onnx, listed.attribute, column, named, codes or [-1.0], -1.0)


def _threshold(bound: float) -> float:
    """Return the number of single precision that stands for a bound, finite where the bound is."""
    return min(single_threshold(bound), bound if math.isinf(bound) else float(np.finfo(np.float32).max))


def _branches(grown: BinaryTree, order: Sequence[int]) -> dict[str, Any]:
    """Return the lists that describe the nodes, in an order of them."""
    number = {node: i for i, node in enumerate(order)} | {-1: -1}
    tests, n = [grown.tests[node] for node in order], len(order)
    children = [(number[left], number[right]) for left, right in (grown.children[node] for node in order)]
    return {
        "nodes_treeids": [0] * n,
        "nodes_nodeids": list(range(n)),
        "nodes_featureids": [0 if test is None else test.column for test in tests],
        "nodes_modes": ["LEAF" if test is None else "BRANCH_LEQ" for test in tests],
        "nodes_values": [0.0 if test is None else _threshold(test.bound) for test in tests],
        "nodes_truenodeids": [max(left, 0) for left, _ in children],
        "nodes_falsenodeids": [max(right, 0) for _, right in children],
        "nodes_missing_value_tracks_true": [int(test is not None and test.missing == "left") for test in tests],
    }


def _leaves(model: DecisionTree | RuleList, part: Sequence[int]) -> dict[str, Any]:
    """Return the lists that describe what the leaves predict."""
    leaves = [(node, index) for node, index in enumerate(part) if index >= 0]
    if model.classes is None:
        values = dict(zip((cell.node for cell in model.cells), outcomes(model), strict=True))
        return {
            "n_targets": 1,
            "post_transform": "NONE",
            "target_treeids": [0] * len(leaves),
            "target_nodeids": [node for node, _ in leaves],
            "target_ids": [0] * len(leaves),
            "target_weights": [float(values[index] or 0.0) for _, index in leaves],
        }
    classes = model.classes
    shares = dict(zip((cell.node for cell in model.cells), cell_probabilities(model), strict=True))
    labels = {cell.node: cell.evidence.prediction or 0 for cell in model.cells}
    rows = [_weights(shares[index], labels[index], len(classes)) for _, index in leaves]
    # Runtimes take one weight a leaf, of output 0, for that of the second of two classes; of output 1 they answer
    # the same classes, and 0 for the probability of the first.
    two = len(classes) == 2
    places = [1] if two else list(range(len(classes)))
    return {
        "post_transform": "NONE",
        **label_lists(classes, "classlabels"),
        "class_treeids": [0] * (len(leaves) * len(places)),
        "class_nodeids": [node for node, _ in leaves for _ in places],
        "class_ids": [0 if two else place for _ in leaves for place in places],
        "class_weights": [float(row[place]) for row in rows for place in places],
    }


def _weights(shares: Sequence[float] | None, label: int, n_classes: int) -> npt.NDArray[np.float32]:
    """Return the shares in single precision, that of the label the largest."""
    row = np.zeros(n_classes, dtype=np.float32)
    if shares is None:
        row[label] = 1
    else:
        row[:] = shares
    if n_classes == 2:
        if label == 1 and not row[1] > HALF:
            row[1] = np.nextafter(HALF, np.float32(1))
        elif label == 0 and row[1] > HALF:
            row[1] = HALF
        row[0] = 1 - row[1]
    elif int(row.argmax()) != label:
        row[label] = np.nextafter(row.max(), np.float32(2))
    return row


def _outputs(onnx: Any, model: DecisionTree | RuleList, names: Sequence[str]) -> list[Any]:
    """Return the declared outputs, under names that no input has."""
    kinds = onnx.TensorProto
    taken = [*names, "columns", *(f"list_{i}" for i in range(len(names)))]
    describe = onnx.helper.make_tensor_value_info
    if model.classes is None:
        return [describe(fresh_name("value", taken), kinds.FLOAT, [None, 1])]
    kind = kinds.STRING if any(isinstance(label, str) for label in model.classes) else kinds.INT64
    return [
        describe(fresh_name("label", taken), kind, [None]),
        describe(fresh_name("probabilities", taken), kinds.FLOAT, [None, len(model.classes)]),
    ]


def model_from_onnx(data: bytes, domain: Domain | None = None, tree: int | None = None) -> PublishedModel:
    """Read the tree of an ONNX file, or the additive model that was written in it."""
    if not holds_additive(data):
        return tree_from_onnx(data, domain, tree)
    place_of(1, tree, "the ONNX graph")
    return additive_from_onnx(data, domain)


FORMAT = Format(
    name="ONNX",
    again="skl2onnx, without steps before the tree",
    reads="ONNX tree, or an additive model that Glassine wrote; needs `pip install 'glassine[formats]'`",
    reveals="conditions and error rates; scores",
    leaves_out="counts, and the digits that single precision does not hold",
    leaves_out_of_additive="errors, weights, groups, names, edits, and the digits that single precision does not hold",
    extensions=(".onnx",),
    contents=("bytes",),
    sniff=is_onnx,
    read=model_from_onnx,
    read_all=forest_from_onnx,
    read_ensemble=ensemble_from_onnx,
    to="onnx",
    write=to_onnx,
    binary=True,
)
