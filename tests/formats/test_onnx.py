"""ONNX: what a runtime predicts is what the model predicts, and what comes back is the same model."""

from __future__ import annotations

import importlib
import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import parse_rules
from glassine.domain import Between, Binary, Category, Domain, OneOf, Real
from glassine.errors import GlassineError, InvalidModelError, UnsupportedModelError
from glassine.formats import as_model, to_onnx, tree_from_onnx
from glassine.learners.publishing import probabilities
from glassine.models import AdditiveModel, Branch, CategoryBins, DecisionTree, Evidence, Node, Term
from glassine.models.evidence import cell_probabilities
from tests.models.fuzzing import read_or_refused
from tests.models.test_scikit import NAMES, make_data
from tests.models.test_scikit_writer import answered
from tests.models.writing import cases, stump

onnxruntime: Any = importlib.import_module("onnxruntime")
skl2onnx: Any = importlib.import_module("skl2onnx")
WIDE = Domain({name: Real(-9, 9) for name in NAMES})


def session(data: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def run(data: bytes, columns: dict[str, npt.NDArray[Any]]) -> list[Any]:
    """Return what the runtime answers to records."""
    runtime = session(data)
    fed = {}
    for entry in runtime.get_inputs():
        values = columns[entry.name]
        if "string" in entry.type:
            fed[entry.name] = np.array([["" if v is None else v] for v in values], dtype=object)
        else:
            # A single leaf is given an attribute that it never looks at.
            fed[entry.name] = (np.zeros(len(values)) if values.dtype == object else values).astype(np.float32)[:, None]
    return list(runtime.run(None, fed))


def in_single_precision(columns: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Return numbers as the decimals that identify them in single precision, which is how records hold them."""
    return {
        name: values.astype(np.float32).astype(str).astype(float) if values.dtype.kind == "f" else values
        for name, values in columns.items()
    }


@pytest.mark.slow
@settings(max_examples=40)
@given(case=cases(predicts=True))
def test_the_runtime_predicts_what_the_model_predicts(case: Any) -> None:
    model, domain, columns = case
    columns = in_single_precision(answered(model, columns))
    n = len(next(iter(columns.values())))
    try:
        data = to_onnx(model, domain)
    except UnsupportedModelError:
        return
    if not n:
        return
    columns = answered(model, columns)
    expected = model.predict(columns).tolist()
    if not expected:
        return
    found = run(data, columns)
    if model.classes is None:
        assert found[0][:, 0].tolist() == [float(np.float32(value)) for value in expected]
        return
    assert found[0].tolist() == expected
    assert np.abs(found[1].sum(axis=1) - 1).max() < 1e-5, "the probabilities of all classes"
    if all(shares is not None for shares in cell_probabilities(model)):
        # A leaf without records may have no class of its own: its label is made the likeliest.
        assert np.abs(found[1] - probabilities(model)[model.apply(columns)]).max() < 1e-6


@pytest.mark.slow
@settings(max_examples=40)
@given(case=cases(predicts=True, lists=False))
def test_what_is_written_reads_back_and_goes_the_same_way(case: Any) -> None:
    model, domain, columns = case
    columns = answered(model, in_single_precision(columns))
    try:
        back = tree_from_onnx(to_onnx(model, domain), domain)
    except UnsupportedModelError:
        return
    expected = model.predict(columns).tolist()
    if model.classes is None:
        expected = [float(np.float32(value)) for value in expected]
    assert back.predict(columns).tolist() == expected


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("zipmap", [True, False, "columns"])
@pytest.mark.parametrize("opset", [5, 9, 17])
def test_a_converted_tree_is_the_tree(classes: int, zipmap: bool | str, opset: int) -> None:
    frame, target = make_data(classes=classes)
    frame = frame.astype(np.float32)
    fitted = DecisionTreeClassifier(max_depth=5, random_state=0).fit(frame.to_numpy(), target)
    options, opsets = {id(fitted): {"zipmap": zipmap}}, {"": opset, "ai.onnx.ml": 1}
    converted = skl2onnx.to_onnx(fitted, frame.to_numpy()[:1], options=options, target_opset=opsets)
    data = converted.SerializeToString()
    read, true = tree_from_onnx(data, WIDE), as_model(fitted, WIDE)
    columns = {name: frame[name].to_numpy().astype(float) for name in NAMES}
    assert read.apply(columns).tolist() == true.apply(columns).tolist()
    assert read.predict(columns).tolist() == fitted.predict(frame.to_numpy()).tolist()
    if opset > 5:  # before, no runtime has its casts
        assert session(data).run(None, {"X": frame.to_numpy()})[0].tolist() == read.predict(columns).tolist()
    for ours, theirs in zip(read.cells, true.cells, strict=True):
        assert ours.evidence.counts is None
        counts = theirs.evidence.counts
        assert counts is not None
        assert ours.evidence.error_rate == pytest.approx(1 - max(counts) / sum(counts), abs=1e-6)


@pytest.mark.parametrize("bounds", [([0], [2], [1], [1]), ([1], [0], [1], [-1]), ([0], [1], [0], [1])])
def test_a_slice_behind_the_tree_that_is_no_column_is_refused(bounds: tuple[list[int], ...]) -> None:
    frame, target = make_data()
    fitted = DecisionTreeClassifier(max_depth=2).fit(frame.to_numpy().astype(np.float32), target)
    options = {id(fitted): {"zipmap": "columns"}}
    model = skl2onnx.to_onnx(fitted, frame.to_numpy()[:1].astype(np.float32), options=options)
    first = next(node for node in model.graph.node if node.op_type == "Slice")
    names = [f"bound{place}" for place in range(4)]
    del first.input[1:]
    first.input.extend(names)
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.array(bound), name) for name, bound in zip(names, bounds, strict=True)
    )
    with pytest.raises(UnsupportedModelError, match="'Slice' stands behind the tree"):
        tree_from_onnx(model.SerializeToString())


def test_casts_of_every_opset_are_read_and_numbers_in_another_file_are_not() -> None:
    frame, target = make_data()
    bins = KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf")
    pipeline = make_pipeline(bins, DecisionTreeClassifier(max_depth=2))
    numbers = frame.to_numpy().astype(np.float32)
    for opset in (5, 17):
        opsets = {"": opset, "ai.onnx.ml": 1}
        model = skl2onnx.to_onnx(pipeline.fit(numbers, target), numbers[:1], target_opset=opsets)
        read = tree_from_onnx(model.SerializeToString())
        columns = {f"x{i}": numbers[:, i].astype(float) for i in range(4)}
        assert read.predict(columns).tolist() == pipeline.predict(numbers).tolist()
        tensor = model.graph.initializer[0]
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="numbers.bin")
        tensor.ClearField("raw_data")
        with pytest.raises(UnsupportedModelError, match="in another file"):
            tree_from_onnx(model.SerializeToString())


def test_a_converted_regression_and_texts_as_classes() -> None:
    frame, target = make_data()
    numbers = frame.to_numpy().astype(np.float32)
    fitted = DecisionTreeRegressor(max_depth=4, random_state=0).fit(numbers, target * 1.5)
    read = tree_from_onnx(skl2onnx.to_onnx(fitted, numbers[:1]).SerializeToString())
    assert read.attributes == ("x0", "x1", "x2", "x3")
    columns = {f"x{i}": numbers[:, i].astype(float) for i in range(4)}
    assert read.predict(columns).astype(float) == pytest.approx(fitted.predict(numbers), abs=1e-6)
    named = DecisionTreeClassifier(max_depth=2).fit(numbers, np.where(target > 0, "ill", "well"))
    assert tree_from_onnx(skl2onnx.to_onnx(named, numbers[:1]).SerializeToString()).classes == ("ill", "well")


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
FAR = [math.nan, 0.0, -0.0, 0.1, 1.0, 3.4e38, -3.4e38]


def by_hand(mode: str, bound: float, tracks: int, **changes: Any) -> onnx.ModelProto:
    """Make a stump on two columns of one input."""
    attributes: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [1, 0, 0],
        "nodes_modes": [mode, "LEAF", "LEAF"],
        "nodes_values": [bound, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "nodes_missing_value_tracks_true": [tracks, 0, 0],
        "class_treeids": [0, 0],
        "class_nodeids": [1, 2],
        "class_ids": [0, 0],
        "class_weights": [0.75, 0.25],
        "classlabels_int64s": [0, 1],
        "post_transform": "NONE",
    }
    attributes |= changes
    kept = {name: value for name, value in attributes.items() if value is not None}
    kind = "TreeEnsembleClassifier" if "class_ids" in kept else "TreeEnsembleRegressor"
    outputs = ["label", "scores"] if kind == "TreeEnsembleClassifier" else ["value"]
    node = helper.make_node(kind, ["X"], outputs, domain="ai.onnx.ml", **kept)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    if kind == "TreeEnsembleClassifier":
        infos[0] = helper.make_tensor_value_info("label", TensorProto.INT64, None)
    wide = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 2])
    graph = helper.make_graph([node], "g", [wide], infos)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@settings(max_examples=80)
@given(
    mode=st.sampled_from(MODES),
    bound=st.floats(width=32, allow_nan=False, allow_infinity=False),
    tracks=st.integers(0, 1),
    near=st.lists(st.floats(width=32), max_size=3),
)
@example(mode="BRANCH_NEQ", bound=0.0, tracks=0, near=[])
@example(mode="BRANCH_LT", bound=1.4e-45, tracks=1, near=[])
def test_every_mode_goes_where_the_runtime_goes(mode: str, bound: float, tracks: int, near: list[float]) -> None:
    data = by_hand(mode, bound, tracks).SerializeToString()
    single = np.float32(bound)
    with np.errstate(over="ignore"):
        around = [float(np.nextafter(single, np.float32(way))) for way in (-np.inf, np.inf)]
    values = np.array([*FAR, *near, bound, *around], dtype=np.float32)
    values = values[~np.isinf(values)]
    records = np.stack([np.zeros_like(values), values], axis=1)
    domain = Domain({"a": Real(-9, 9), "b": Real(-9, 9, missing=True)})
    found = session(data).run(None, {"X": records})[0].tolist()
    columns = {"a": records[:, 0].astype(float), "b": records[:, 1].astype(float)}
    assert tree_from_onnx(data, domain).predict(columns).tolist() == found


BOTH = {"class_treeids": [0] * 4, "class_nodeids": [1, 1, 2, 2], "class_ids": [0, 1, 0, 1]}


@pytest.mark.parametrize("weights", [[0.5, 0.4], [-1.0, 2.0], [0.0, 3.0], [-0.1, 0.4]])
@pytest.mark.parametrize("both", [False, True])
def test_the_class_of_a_leaf_is_the_one_that_the_runtime_gives(weights: list[float], both: bool) -> None:
    changes: dict[str, Any] = {"class_weights": weights}
    if both:
        changes = BOTH | {"class_weights": [0.3, 0.7, 1.0, 0.0]}
    data = by_hand("BRANCH_LEQ", 0.0, 0, **changes).SerializeToString()
    found = session(data).run(None, {"X": np.array([[0, -1], [0, 1]], dtype=np.float32)})[0].tolist()
    read = tree_from_onnx(data)
    assert [read.classes[cell.evidence.label] for cell in read.cells] == found  # type: ignore[index]


def test_a_label_that_ties_or_goes_without_shares_survives() -> None:
    for classes in ((0, 1), (0, 1, 2)):
        counts = (4, 4, 0)[: len(classes)]
        tree = DecisionTree(
            (
                Node(branches=(Branch(Between("x", hi=0.1), 1), Branch(Between("x", lo=0.1), 2))),
                Node(evidence=Evidence(counts=counts, label=1)),
                Node(evidence=Evidence(label=0)),
            ),
            ("x",),
            classes,
        )
        # The tenth itself, as single precision has it, satisfies x <= 0.1.
        above = float(np.nextafter(np.float32(0.1), np.float32(1)))
        assert run(to_onnx(tree), {"x": np.array([0.0, 0.1, above, 0.5])})[0].tolist() == [1, 1, 0, 0]
        assert [cell.evidence.label for cell in tree_from_onnx(to_onnx(tree)).cells] == [1, 0]


def test_lists_of_texts_and_gaps() -> None:
    domain = Domain({"colour": Category(("red", "sky blue", "green"), missing=True), "smoker": Binary()})
    rules = parse_rules(
        "if [colour in {red, sky blue} or missing] and [smoker] then [ill] (3 examples)\n"
        "else if [colour not in {green}] then [well] (2 examples)\nelse [ill] (1 examples)",
        domain,
    )
    columns: dict[str, npt.NDArray[Any]] = {
        "colour": np.array(["red", None, "green", "sky blue", "green", None], dtype=object),
        "smoker": np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
    }
    assert run(to_onnx(rules, domain), columns)[0].tolist() == rules.predict(columns).tolist()


def test_a_single_input_keeps_its_name_if_it_has_one() -> None:
    tree = DecisionTree(
        (
            Node(branches=(Branch(Between("X", hi=1.0), 1), Branch(Between("X", lo=1.0), 2))),
            Node(evidence=Evidence(label=0)),
            Node(evidence=Evidence(label=1)),
        ),
        ("X",),
        (0, 1),
    )
    data = to_onnx(tree)
    assert tree_from_onnx(data).attributes == ("X",)
    assert tree_from_onnx(data.replace(b"glassine", b"someone!")).attributes == ("x0",)
    assert tree_from_onnx(data.replace(b"glassine", b"someone!"), Domain({"a": Real(0, 2)})).attributes == ("a",)


def test_names_of_the_outputs_give_way_to_attributes() -> None:
    tree = stump("label", "a", ("no", "yes"))
    columns: dict[str, npt.NDArray[Any]] = {"label": np.array(["a", "b"], dtype=object)}
    assert run(to_onnx(tree), columns)[0].tolist() == ["no", "yes"]


REFUSED: dict[str, tuple[onnx.ModelProto, str]] = {
    "two trees": (by_hand("BRANCH_LEQ", 0.0, 0, nodes_treeids=[0, 0, 1]), "holds 2 trees"),
    "mode": (by_hand("BRANCH_MEMBER", 0.0, 0), "branch mode"),
    "NaN": (by_hand("BRANCH_LEQ", math.nan, 0), "finite number"),
    "feature": (by_hand("BRANCH_LEQ", 0.0, 0, nodes_featureids=[7, 0, 0]), "tests column 7"),
    "negative feature": (by_hand("BRANCH_LEQ", 0.0, 0, nodes_featureids=[-1, 0, 0]), "tests column -1"),
    "child": (by_hand("BRANCH_LEQ", 0.0, 0, nodes_truenodeids=[9, 0, 0]), "node 9"),
    "cycle": (by_hand("BRANCH_LEQ", 0.0, 0, nodes_truenodeids=[0, 0, 0]), "child of two"),
    "apart": (by_hand("LEAF", 0.0, 0), "stand apart"),
    "twice": (by_hand("BRANCH_LEQ", 0.0, 0, nodes_nodeids=[0, 1, 1], class_nodeids=[1, 1]), "two weights"),
    "listed twice": (
        by_hand("BRANCH_LEQ", 0.0, 0, nodes_nodeids=[0, 1, 1], class_nodeids=[1], class_ids=[0], class_weights=[1.0]),
        "twice",
    ),
    "both of two": (by_hand("BRANCH_LEQ", 0.0, 0, **BOTH, class_weights=[0.3, 0.7, 0.8, 0.2]), "one weight a leaf"),
    "lengths": (by_hand("BRANCH_LEQ", 0.0, 0, nodes_modes=["LEAF"]), "entries where 3"),
    "values": (by_hand("BRANCH_LEQ", 0.0, 0, nodes_values=[0.0]), "3 numbers"),
    "lost weights": (by_hand("BRANCH_LEQ", 0.0, 0, class_nodeids=[0, 2]), "no leaf"),
    "infinite weights": (by_hand("BRANCH_LEQ", 0.0, 0, class_weights=[math.inf, 0.0]), "not finite"),
    "class": (by_hand("BRANCH_LEQ", 0.0, 0, class_ids=[0, 5]), "beyond the 2"),
    "base values": (by_hand("BRANCH_LEQ", 0.0, 0, base_values=[0.5]), "base_values"),
    "transform": (by_hand("BRANCH_LEQ", 0.0, 0, post_transform="PROBIT"), "post_transform"),
    "nothing": (helper.make_model(helper.make_graph([], "g", [], [])), "holds nothing"),
}


@pytest.mark.parametrize(("model", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(model: onnx.ModelProto, message: str) -> None:
    with pytest.raises(GlassineError, match=message):
        tree_from_onnx(model.SerializeToString())


def test_what_stands_around_the_tree_is_refused_by_name() -> None:
    before = by_hand("BRANCH_LEQ", 0.0, 0)
    before.graph.node[0].input[0] = "scaled"
    before.graph.node.insert(0, helper.make_node("Normalizer", ["X"], ["scaled"], domain="ai.onnx.ml"))
    after = by_hand("BRANCH_LEQ", 0.0, 0)
    after.graph.node.append(helper.make_node("Not", ["label"], ["other"]))
    for model, kind in ((before, "Normalizer"), (after, "Not")):
        with pytest.raises(UnsupportedModelError, match=kind):
            tree_from_onnx(model.SerializeToString())


ONE_COLUMN: dict[str, Any] = {"offset": [1.0], "scale": [2.0]}
BEFORE: dict[str, tuple[Any, str]] = {
    "falling": (helper.make_node("Scaler", ["X"], ["new"], offset=[1.0], scale=[-2.0]), "larger values are not larger"),
    "wide": (helper.make_node("Scaler", ["X"], ["new"], offset=[1.0, 2.0, 3.0], scale=[2.0]), "must hold . finite"),
    "infinite": (helper.make_node("Scaler", ["X"], ["new"], offset=[math.inf], scale=[2.0]), "must hold . finite"),
    "a mark": (
        helper.make_node("Imputer", ["X"], ["new"], imputed_value_floats=[1.0], replaced_value_float=-9.0),
        "mark gaps as NaN",
    ),
    "two columns": (helper.make_node("Add", ["X", "X"], ["new"]), "computes with two columns"),
    "a cycle": (helper.make_node("Scaler", ["new"], ["new"], **ONE_COLUMN), "nothing makes before it"),
    "nothing": (helper.make_node("Scaler", [], ["new"], **ONE_COLUMN), "is not read"),
    "a type": (helper.make_node("Cast", ["X"], ["new"], to=onnx.TensorProto.FLOAT16), "turns values into type 10"),
    "computed places": (helper.make_node("Gather", ["X", "X"], ["new"], axis=1), "picks computed columns"),
    "a choice": (helper.make_node("Where", ["X", "X", "X"], ["new"]), "chooses between columns"),
    "no code": (helper.make_node("LabelEncoder", ["X"], ["new"], keys_int64s=[1]), "encodes other than one input"),
    "no category": (helper.make_node("OneHotEncoder", ["X"], ["new"]), "one column of texts or of whole"),
}


@pytest.mark.parametrize(("node", "message"), BEFORE.values(), ids=BEFORE)
def test_what_cannot_be_read_before_the_tree_is_refused(node: Any, message: str) -> None:
    model = by_hand("BRANCH_LEQ", 0.0, 0)
    model.graph.node[0].input[0] = "new"
    model.graph.node.insert(0, node)
    with pytest.raises(GlassineError, match=message):
        tree_from_onnx(model.SerializeToString())


@pytest.mark.parametrize(("kind", "given"), [("Add", "c"), ("Concat", None)])
def test_long_chains_before_the_tree_are_refused(kind: str, given: str | None) -> None:
    model = by_hand("BRANCH_LEQ", 0.0, 0)
    model.graph.node[0].input[0] = "v300"
    model.graph.initializer.append(helper.make_tensor("c", onnx.TensorProto.FLOAT, [1], [1.0]))
    names = ["X", *(f"v{i}" for i in range(1, 301))]
    for i, (name, new) in enumerate(itertools.pairwise(names)):
        extra = {"axis": 1} if kind == "Concat" else {}
        model.graph.node.insert(
            i, helper.make_node(kind, [name, given or name], [new], None, None, None, None, **extra)
        )
    with pytest.raises(UnsupportedModelError, match="more than 100"):
        tree_from_onnx(model.SerializeToString())


def test_numbers_in_another_file_are_not_read() -> None:
    model = by_hand("BRANCH_LEQ", 0.0, 0, nodes_values=None)
    tensor = TensorProto(data_type=TensorProto.DOUBLE, dims=[3], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="/etc/passwd")
    model.graph.node[0].attribute.append(helper.make_attribute("nodes_values_as_tensor", tensor))
    with pytest.raises(UnsupportedModelError, match="another file"):
        tree_from_onnx(model.SerializeToString())


def test_what_cannot_be_written() -> None:
    with pytest.raises(UnsupportedModelError, match="predicts nothing"):
        to_onnx(DecisionTree((Node(),), ("x",), (0, 1)))
    with pytest.raises(UnsupportedModelError, match="texts or whole numbers"):
        to_onnx(stump("x", "a", (0.5, 1)))
    tenth = OneOf("x", (0.1, 2))
    nodes = (
        Node(branches=(Branch(tenth, 1), Branch(tenth.negate(), 2))),
        *[Node(evidence=Evidence(label=i)) for i in (0, 1)],
    )
    with pytest.raises(UnsupportedModelError, match="single precision does not hold"):
        to_onnx(DecisionTree(nodes, ("x",), (0, 1)))
    with pytest.raises(InvalidModelError, match="domain lacks"):
        to_onnx(stump("x", "a", (0, 1)), WIDE)
    leaf = (Node(evidence=Evidence(label=0)),)
    with pytest.raises(UnsupportedModelError, match="one class that is a text"):
        to_onnx(DecisionTree(leaf, ("x",), ("only",)))
    # One whole number, which the runtime takes.
    assert tree_from_onnx(to_onnx(DecisionTree(leaf, ("x",), (7,)))).classes == (7,)


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    for call in (lambda: tree_from_onnx(b"\x08\x08"), lambda: to_onnx(stump("x", "a", (0, 1)))):
        with pytest.raises(UnsupportedModelError, match=r"glassine\[formats\]"):
            call()


DATA = by_hand("BRANCH_LEQ", 0.5, 1).SerializeToString()


@settings(max_examples=150)
@given(st.integers(0, len(DATA) - 1), st.binary(max_size=4), st.integers(0, 6))
def test_damaged_files_raise_only_our_errors(at: int, put: bytes, cut: int) -> None:
    read_or_refused(lambda: tree_from_onnx(DATA[:at] + put + DATA[at + cut :]))


def test_half_a_character_pair_is_refused_wherever_it_is() -> None:
    """A value of a category raised a UnicodeEncodeError of the library that writes the file."""
    with pytest.raises(InvalidModelError, match="half a character pair"):
        to_onnx(stump("ward", "w\ud800", ("no", "yes")))
    groups = CategoryBins("ward", (("A",), ("w\ud800",)))
    term = Term(bins=(groups,), scores=np.array([[0.1], [0.2], [0.0]]), weights=None, name="ward")
    model = AdditiveModel(attributes=("ward",), terms=(term,), intercept=(0.0,), link="logit", classes=("no", "yes"))
    with pytest.raises(InvalidModelError, match="half a character pair"):
        to_onnx(model)
