"""Files of every format, and copies of them in which records are hidden at every place that the format has."""

from __future__ import annotations

import copy
import importlib
import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import skops.io
from imodels import GreedyRuleListClassifier, HSTreeClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, export_text

from glassine.formats import as_model, parse_rules, to_onnx, to_pmml, to_text
from glassine.formats.json import write_json_model
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from tests.formats.test_optimal_trees import TREE as DL85
from tests.formats.test_optimal_trees import DL85Classifier
from tests.models.test_corels import RULES as CORELS
from tests.models.test_corels import TEXT as CORELS_TEXT
from tests.models.test_corels import CorelsClassifier
from tests.models.test_interpret_ebm import jsonable, machine

FILES = Path(__file__).parent / "files"
MARK = "Ada Lovelace, 1815, ward 7, ill; "
"""What is hidden: the start of a record."""
N = 40
HIDDEN = MARK * N
"""Records enough to be of interest, 1,320 bytes."""
RECORDS = [[MARK, float(i)] for i in range(N)]

Plant = Callable[[bytes], bytes]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A good file of a format, and where records can be hidden in it.

    Attributes
    ----------
    make : callable
        Returns the good file.
    plants : mapping of str to callable
        By place, how the file becomes one in which records are hidden there.
    tree : int or None
        The tree that is read.
    """

    make: Callable[[], bytes]
    plants: Mapping[str, Plant]
    tree: int | None = None


def file(name: str) -> Callable[[], bytes]:
    return (FILES / name).read_bytes


# JSON: a key in every object, spacing and digits.


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every object of JSON values, of those in a list the first."""
    if isinstance(value, dict):
        yield path
        for key, part in value.items():
            yield from objects(part, (*path, key))
    elif isinstance(value, list):
        first = next((i for i, part in enumerate(value) if isinstance(part, dict | list)), None)
        if first is not None:
            yield from objects(value[first], (*path, first))


def with_key(data: bytes, path: tuple[Any, ...]) -> bytes:
    value = json.loads(data)
    part = value
    for step in path:
        part = part[step]
    part["notes"] = HIDDEN
    return json.dumps(value).encode()


def in_json(make: Callable[[], bytes]) -> dict[str, Plant]:
    value = json.loads(make())
    plants: dict[str, Plant] = {
        f"key in {'.'.join(map(str, path)) or 'the root'}": lambda data, path=path: with_key(data, path)  # type: ignore[misc]
        for path in objects(value)
    }
    plants["spacing behind the end"] = lambda data: data + b" \t" * 600
    plants["spacing before a value"] = lambda data: data.replace(b":", b":" + b" \t" * 600, 1)
    return plants


# Objects in files of skops and in pickles.


def attribute(name: str = "notes_") -> Callable[[Any], Any]:
    def plant(obj: Any) -> Any:
        changed = copy.deepcopy(obj)
        setattr(changed, name, RECORDS)
        return changed

    return plant


def stored(make: Callable[[], Any], change: Callable[[Any], Any]) -> Plant:
    return lambda data: pickle.dumps(change(make()))


def archived(make: Callable[[], Any], change: Callable[[Any], Any]) -> Plant:
    return lambda data: skops.io.dumps(change(make()))


def member(data: bytes) -> bytes:
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("notes.csv", HIDDEN)
    return out.getvalue()


def archive_comment(data: bytes) -> bytes:
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive:
        archive.comment = HIDDEN.encode()
    return out.getvalue()


def rewritten(data: bytes, change: Callable[[zipfile.ZipInfo, bytes], bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w") as after:
        for entry in before.infolist():
            fresh = zipfile.ZipInfo(entry.filename)
            after.writestr(fresh, change(fresh, before.read(entry)))
    return out.getvalue()


def member_comment(data: bytes) -> bytes:
    def change(entry: zipfile.ZipInfo, held: bytes) -> bytes:
        entry.comment = HIDDEN.encode()
        return held

    return rewritten(data, change)


def member_extra(data: bytes) -> bytes:
    def change(entry: zipfile.ZipInfo, held: bytes) -> bytes:
        entry.extra = b"\xfe\xca" + len(HIDDEN).to_bytes(2, "little") + HIDDEN.encode()
        return held

    return rewritten(data, change)


def schema_key(data: bytes) -> bytes:
    def change(entry: zipfile.ZipInfo, held: bytes) -> bytes:
        return with_key(held, ()) if entry.filename == "schema.json" else held

    return rewritten(data, change)


def array_header(data: bytes) -> bytes:
    """Make the padding of the header of an array longer, and hide records in it."""

    def change(entry: zipfile.ZipInfo, held: bytes) -> bytes:
        if not entry.filename.endswith(".npy") or change_once:
            return held
        change_once.append(1)
        n = int.from_bytes(held[8:10], "little")
        text = held[10 : 10 + n].rstrip(b"\n ")
        text = text + b" " * 1400 + b"\n"
        return held[:8] + len(text).to_bytes(2, "little") + text + held[10 + n :]

    change_once: list[int] = []
    return rewritten(data, change)


def between_nodes(data: bytes) -> bytes:
    """Hide records between the fields of the nodes of a tree, seven bytes a node."""

    def change(entry: zipfile.ZipInfo, held: bytes) -> bytes:
        if not entry.filename.endswith(".npy"):
            return held
        array = np.load(io.BytesIO(held))
        if array.dtype.names is None:
            return held
        raw = bytearray(held)
        start = len(held) - array.nbytes
        for i in range(len(array)):
            raw[start + 64 * i + 57 : start + 64 * i + 64] = b"Ada, 36"
        return bytes(raw)

    return rewritten(data, change)


def of_leaves(obj: Any, field: str) -> Any:
    """Hide values in the tests of leaves, which have none."""
    changed = copy.deepcopy(obj)
    tree = changed.steps[-1][1] if hasattr(changed, "steps") else changed
    state = tree.tree_.__getstate__()
    nodes = state["nodes"].copy()
    leaf = nodes["left_child"] == -1
    nodes[field][leaf] = np.arange(leaf.sum()) + 12
    state["nodes"] = nodes
    tree.tree_.__setstate__(state)
    return changed


FRAME = pd.DataFrame({"age": np.arange(120) % 60 + 20, "dose": (np.arange(120) * 7) % 50 / 10.0})
TARGET = ((FRAME["age"] > 45) ^ (FRAME["dose"] > 2.05)).astype(int).to_numpy()
NAMES = np.array(["no", "yes"], dtype=object)[TARGET]


def fitted_tree(target: Any = TARGET) -> Any:
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(FRAME, target)


def fitted_pipeline() -> Any:
    return make_pipeline(FunctionTransformer(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(FRAME, TARGET)


def fitted_regression() -> Any:
    return LogisticRegression().fit(FRAME, TARGET)


def in_step(obj: Any) -> Any:
    changed = copy.deepcopy(obj)
    changed.steps[0][1].notes_ = RECORDS
    return changed


def parameter(obj: Any) -> Any:
    changed = copy.deepcopy(obj)
    changed.random_state = HIDDEN
    return changed


def attached(obj: Any) -> Any:
    """Hide records in the type of an array."""
    changed = copy.deepcopy(obj)
    kind = np.dtype(changed.classes_.dtype, metadata={"notes": HIDDEN})
    changed.classes_ = changed.classes_.astype(kind)
    return changed


IN_ARCHIVES: dict[str, Plant] = {
    "member": member,
    "comment of the archive": archive_comment,
    "comments of members": member_comment,
    "extra fields of members": member_extra,
    "key of the schema": schema_key,
    "header of an array": array_header,
    "padding of nodes": between_nodes,
    "bytes before the archive": lambda data: HIDDEN.encode() + data,
    "bytes behind the archive": lambda data: data + HIDDEN.encode(),
}


def skops_sample(make: Callable[[], Any]) -> Sample:
    plants = {
        "attribute": archived(make, attribute()),
        "tests of leaves": archived(make, lambda obj: of_leaves(obj, "threshold")),
    }
    return Sample(make=lambda: skops.io.dumps(make()), plants=plants | IN_ARCHIVES)


def pickle_sample(make: Callable[[], Any], *, tree: int | None = None) -> Sample:
    plants: dict[str, Plant] = {
        "attribute": stored(make, attribute()),
        "attribute of joblib": lambda data: dumped(attribute()(make())),
        "bytes behind the end": lambda data: data + HIDDEN.encode(),
        "value that is dropped": lambda data: dropped(data),
    }
    return Sample(make=lambda: pickle.dumps(make()), plants=plants, tree=tree)


def dumped(obj: Any, compress: Any = 0) -> bytes:
    out = io.BytesIO()
    importlib.import_module("joblib").dump(obj, out, compress=compress)
    return out.getvalue()


def in_nodes(data: bytes) -> bytes:
    """Hide records between the fields of the nodes of a tree that pickle or joblib wrote, seven bytes a node."""
    nodes = fitted_tree().tree_.__getstate__()["nodes"]
    raw, size = bytearray(data), nodes.dtype.itemsize
    start = data.index(nodes[:1].tobytes()[:57])
    for i in range(len(nodes)):
        raw[start + size * i + 57 : start + size * i + size] = b"Ada, 36"
    return bytes(raw)


def before_arrays(data: bytes) -> bytes:
    """Hide records in the gaps by which joblib lets each array start at a round place."""

    def filled(gap: re.Match[bytes]) -> bytes:
        return b"ub" + gap[1] + bytes(next(text) for _ in gap[2]) if gap[1][0] == len(gap[2]) else gap[0]

    text = iter(HIDDEN.encode())
    return re.sub(rb"ub([\x01-\x10])(\xff+)", filled, data)


def in_objects(data: bytes) -> bytes:
    """Hide one record in the pickle of an array of objects, which joblib writes inside its own."""
    start = data.index(b"ub\x80") + 2
    return data[:start] + dropped(data[start:], MARK)


def dropped(data: bytes, hidden: str = HIDDEN) -> bytes:
    """Put a text into a pickle of protocol 2 or later that is taken off the stack again: BINUNICODE, POP."""
    assert data[:1] == b"\x80"
    at = 11 if data[2:3] == b"\x95" else 2  # behind the protocol and the frame
    text = hidden.encode()
    body = b"X" + len(text).to_bytes(4, "little") + text + b"0" + data[at:]
    return data[:2] + body


# Texts: a line before, in the middle and behind, spacing at the end of lines.


def in_text(*, before: str = "# {}\n", behind: str = "\n# {}\n", inside: str = "") -> dict[str, Plant]:
    plants: dict[str, Plant] = {
        "trailing spacing": lambda data: data.rstrip(b"\n") + b" \t" * 600 + b"\n",
    }
    if before:
        plants["line before"] = lambda data: before.format(HIDDEN).encode() + data
    if behind:
        plants["line behind"] = lambda data: data + behind.format(HIDDEN).encode()
    if inside:
        plants["line inside"] = lambda data: inserted(data, inside)
    return plants


def inserted(data: bytes, line: str) -> bytes:
    lines = data.splitlines(keepends=True)
    middle = len(lines) // 2
    return b"".join([*lines[:middle], line.format(HIDDEN).encode() + b"\n", *lines[middle:]])


# ONNX and PMML.


def onnx_file() -> bytes:
    return to_onnx(as_model(fitted_tree()))


def in_onnx() -> dict[str, Plant]:
    def changed(change: Callable[[Any], None]) -> Plant:
        def plant(data: bytes) -> bytes:
            model = onnx.load_model_from_string(data)
            change(model)
            return bytes(model.SerializeToString())

        return plant

    def metadata(model: Any) -> None:
        entry = model.metadata_props.add()
        entry.key, entry.value = "notes", HIDDEN

    def initializer(model: Any) -> None:
        model.graph.initializer.append(onnx.helper.make_tensor("notes", onnx.TensorProto.FLOAT, [300], [18.15] * 300))

    def extra_node(model: Any) -> None:
        node = onnx.helper.make_node("Constant", [], ["notes"], value_string=HIDDEN)
        model.graph.node.insert(0, node)

    def function(model: Any) -> None:
        model.functions.add().doc_string = HIDDEN

    def of_leaf(model: Any) -> None:
        (node,) = [node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier"]
        held = {entry.name: entry for entry in node.attribute}
        for i, mode in enumerate(held["nodes_modes"].strings):
            if mode == b"LEAF":
                held["nodes_values"].floats[i] = 1815.0 + i

    def extra_attribute(model: Any) -> None:
        model.graph.node[-1].attribute.append(onnx.helper.make_attribute("notes", HIDDEN))

    def both(model: Any) -> None:
        model.graph.node[-1].attribute[0].strings.append(HIDDEN.encode())

    places: dict[str, Callable[[Any], None]] = {
        "metadata_props": metadata,
        "initializer": initializer,
        "operator": extra_node,
        "function": function,
        "tests of leaves": of_leaf,
        "attribute of an operator": extra_attribute,
        "second value of an attribute": both,
        "doc_string of the model": lambda model: setattr(model, "doc_string", HIDDEN),
        "doc_string of the graph": lambda model: setattr(model.graph, "doc_string", HIDDEN),
        "doc_string of an operator": lambda model: setattr(model.graph.node[-1], "doc_string", HIDDEN),
        "doc_string of an input": lambda model: setattr(model.graph.input[0], "doc_string", HIDDEN),
        "producer": lambda model: setattr(model, "producer_version", HIDDEN),
        "name of the graph": lambda model: setattr(model.graph, "name", HIDDEN),
        "value_info": lambda model: setattr(model.graph.value_info.add(), "name", HIDDEN),
    }
    plants = {place: changed(change) for place, change in places.items()}
    n = len(HIDDEN)
    head = bytes([0xFA, 0x3E, n & 0x7F | 0x80, n >> 7])  # field 1007, of a length
    plants["unknown field"] = lambda data: data + head + HIDDEN.encode()
    plants["field that is written twice"] = lambda data: overwritten(data)
    return plants


def overwritten(data: bytes) -> bytes:
    """Write the producer twice: parsers keep the last one."""
    text = HIDDEN.encode()
    return data[:2] + b"\x12" + bytes([len(text) & 0x7F | 0x80, len(text) >> 7]) + text + data[2:]


def pmml_file() -> bytes:
    return to_pmml(as_model(fitted_tree())).encode()


def in_pmml() -> dict[str, Plant]:
    def before(tag: str, text: str) -> Plant:
        return lambda data: data.replace(tag.encode(), text.format(HIDDEN).encode() + tag.encode(), 1)

    return {
        "Extension": before("<DataDictionary", '<Extension name="notes" value="{}"/>'),
        "Extension in a node": before("<True/>", "<Extension>{}</Extension>"),
        "comment": before("<DataDictionary", "<!-- {} -->"),
        "processing instruction": before("<DataDictionary", "<?notes {}?>"),
        "text between elements": before("<DataDictionary", "{}"),
        "unknown element": before("<MiningSchema", "<Notes>{}</Notes>"),
        "statistics": before("<MiningSchema", '<ModelStats><UnivariateStats field="{}"/></ModelStats>'),
        "interval of a field": lambda data: data.replace(
            b'dataType="double"/>', f'dataType="double"><Interval leftMargin="{HIDDEN}"/></DataField>'.encode(), 1
        ),
        "unknown attribute": lambda data: data.replace(b"<TreeModel", f'<TreeModel notes="{HIDDEN}"'.encode(), 1),
        "name of the model": lambda data: data.replace(b"<TreeModel", f'<TreeModel modelName="{HIDDEN}"'.encode(), 1),
        "identifier of a node": lambda data: data.replace(b'<Node id="1"', f'<Node id="{HIDDEN}"'.encode(), 1),
        "header": lambda data: data.replace(b"<Header>", f'<Header description="{HIDDEN}">'.encode(), 1),
        "annotation": before("<Application", "<Annotation>{}</Annotation>"),
        "comment behind the end": lambda data: data + f"<!-- {HIDDEN} -->".encode(),
        "spacing": lambda data: data + b" \t" * 600,
        "spacing within a tag": lambda data: data.replace(b"<TreeModel ", b"<TreeModel " + b" \t" * 600, 1),
        "namespace": lambda data: data.replace(b"<Header>", f'<Header xmlns:n="{HIDDEN}">'.encode(), 1),
    }


def rules() -> Any:
    return parse_rules("classes: [ill] [well]\nif [a] then [ill] ([3 ; 1] examples)\nelse [well] ([0 ; 4] examples)\n")


def ebm_file() -> bytes:
    return json.dumps(jsonable(machine("binary"))).encode()


def multiway() -> Any:
    return MultiwayTreeClassifier(max_depth=2).fit(FRAME, TARGET)


def lightgbm_key(data: bytes) -> bytes:
    return data.replace(b"num_leaves=", f"notes={HIDDEN}\nnum_leaves=".encode(), 1)


SAMPLES: dict[str, dict[str, Sample]] = {
    "Glassine": {
        "JSON": Sample(
            make=lambda: write_json_model(as_model(fitted_tree())).encode(),
            plants={
                "spacing behind the end": lambda data: data + b" \t" * 600,
                "spacing before a value": lambda data: data.replace(b":", b":" + b" \t" * 600, 1),
                "digits": lambda data: data.replace(b"2.0", b"2.0" + b"0" * 1200 + b"1815", 1),
                "source": lambda data: data.replace(b'"source": "', f'"source": "{HIDDEN}'.encode(), 1),
            },
        )
    },
    "a Glassine estimator": {"pickle": pickle_sample(multiway)},
    "scikit-learn tree": {
        "skops": skops_sample(fitted_tree),
        "skops of a pipeline": Sample(
            make=lambda: skops.io.dumps(fitted_pipeline()),
            plants={
                "attribute": archived(fitted_pipeline, attribute()),
                "attribute of a step": archived(fitted_pipeline, in_step),
                "tests of leaves": archived(fitted_pipeline, lambda obj: of_leaves(obj, "feature")),
            },
        ),
        "pickle": Sample(
            make=lambda: pickle.dumps(fitted_tree()),
            plants={
                **pickle_sample(fitted_tree).plants,
                "parameter": stored(fitted_tree, parameter),
                "type of an array": stored(fitted_tree, attached),
                "padding of nodes": in_nodes,
                "padding of nodes of joblib": lambda data: in_nodes(dumped(fitted_tree())),
                "gaps before arrays": lambda data: before_arrays(dumped(fitted_tree())),
                "array of objects": lambda data: in_objects(dumped(fitted_tree(NAMES))),
                "behind a packed stream": lambda data: dumped(fitted_tree(), 3) + HIDDEN.encode(),
                "behind a stream of gzip": lambda data: dumped(fitted_tree(), ("gzip", 3)) + HIDDEN.encode(),
            },
        ),
    },
    "scikit-learn forest": {
        "pickle": pickle_sample(
            lambda: RandomForestClassifier(3, max_depth=2, random_state=0).fit(FRAME, TARGET),
            tree=0,
        )
    },
    "scikit-learn linear model": {
        "skops": Sample(
            make=lambda: skops.io.dumps(fitted_regression()),
            plants={"attribute": archived(fitted_regression, attribute())}
            | {place: plant for place, plant in IN_ARCHIVES.items() if place != "padding of nodes"},
        ),
        "pickle": pickle_sample(fitted_regression),
    },
    "scikit-learn search": {
        "pickle": pickle_sample(
            lambda: GridSearchCV(MultiwayTreeClassifier(), {"max_depth": [1, 2]}, cv=2).fit(FRAME, TARGET)
        )
    },
    "imodels": {"pickle": pickle_sample(lambda: GreedyRuleListClassifier(max_depth=3).fit(FRAME, TARGET))},
    "imodels tree": {"pickle": pickle_sample(lambda: HSTreeClassifier(max_leaf_nodes=4).fit(FRAME, TARGET))},
    "pydl8.5": {"pickle": pickle_sample(lambda: DL85Classifier(DL85))},
    "CORELS": {
        "pickle": pickle_sample(lambda: CorelsClassifier(CORELS)),
        "JSON": Sample(
            make=lambda: json.dumps({"rules": CORELS, "features": ["a", "b", "c"]}).encode(),
            plants=in_json(lambda: json.dumps({"rules": CORELS, "features": ["a", "b", "c"]}).encode()),
        ),
    },
    "interpret": {"JSON": Sample(make=ebm_file, plants=in_json(ebm_file))},
    "ONNX": {
        "file": Sample(make=onnx_file, plants=in_onnx()),
        "forest": Sample(make=file("forest.onnx"), plants={}, tree=0),
    },
    "PMML": {
        "file": Sample(make=pmml_file, plants=in_pmml()),
        "with surrogates": Sample(make=file("tree.pmml"), plants={}),
    },
    "XGBoost": {
        "JSON": Sample(make=file("xgboost.json"), plants=in_json(file("xgboost.json"))),
    },
    "treelite": {"JSON": Sample(make=file("treelite_shares.json"), plants=in_json(file("treelite_shares.json")))},
    "LightGBM": {
        "text": Sample(
            make=file("lightgbm.txt"),
            plants={
                "key of a tree": lightgbm_key,
                "parameter": lambda data: data.replace(
                    b"\nparameters:", f"\nparameters:\n[notes: {HIDDEN}]".encode(), 1
                ),
                "line behind": lambda data: data + f"\n{HIDDEN}\n".encode(),
                "spacing": lambda data: data + b" \t" * 600,
            },
        )
    },
    "rpart": {
        "text": Sample(make=file("rpart.txt"), plants=in_text(inside="# {}")),
        "prompt": Sample(
            make=file("rpart.txt"), plants={"next prompt": lambda data: data + f"\n> {HIDDEN}\n".encode()}
        ),
        "regression": Sample(make=file("rpart_regression.txt"), plants={}),
        "tree": Sample(make=file("r_tree.txt"), plants=in_text()),
    },
    "C4.5": {
        "text": Sample(make=file("j48.txt"), plants=in_text(inside="# {}")),
        "ctree": Sample(make=file("ctree.txt"), plants=in_text(before="{}\n", behind="\n> {}\n")),
        "c45": Sample(make=file("c45.txt"), plants=in_text(before="{}\n", behind="")),
    },
    "R regression": {"text": Sample(make=file("../regressions/r_lm.txt"), plants=in_text(before="{}\n"))},
    "R coeftest": {"text": Sample(make=file("../regressions/coeftest.txt"), plants=in_text(before="{}\n"))},
    "statsmodels summary": {"text": Sample(make=file("../regressions/sm_ols.txt"), plants=in_text(before=""))},
    "table of coefficients": {
        "CSV": Sample(make=file("../regressions/broom_logit.csv"), plants=in_text(before="{}\n", behind=""))
    },
    "randomForest": {"table": Sample(make=file("gettree.txt"), plants=in_text(before="{}\n", behind="\n> {}\n"))},
    "export_text": {
        "text": Sample(
            make=lambda: export_text(fitted_tree(), feature_names=["age", "dose"], show_weights=True).encode(),
            plants=in_text(before="", behind=""),
        )
    },
    "export_graphviz": {
        "graph": Sample(make=file("tree.dot"), plants=in_text(before="", behind="\n// {}\n", inside="// {}")),
        "label": Sample(
            make=file("tree.dot"),
            plants={
                "figure": lambda data: data.replace(b"\\nsamples", f"\\nnotes = {HIDDEN}\\nsamples".encode(), 1),
                "attribute": lambda data: data.replace(b'"] ;', f'", tooltip="{HIDDEN}"] ;'.encode(), 1),
            },
        ),
    },
    "a rule list": {
        "text": Sample(
            make=lambda: (
                b"classes: [ill] [well]\nif [a] then [ill] ([3 ; 1] examples)\nelse [well] ([0 ; 4] examples)\n"
            ),
            plants={
                **in_text(inside="# {}"),
                "comment in a line": lambda data: data.replace(b"examples)\n", f"examples) # {HIDDEN}\n".encode(), 1),
            },
        )
    },
    "text of an additive model": {
        "text": Sample(
            make=lambda: to_text(as_model(machine("binary"))).encode(),
            plants={
                **in_text(before="{}\n", behind="\n{}\n", inside="# {}"),
                "spacing": lambda data: data + b" \t" * 600,
            },
        )
    },
    "the text of imodels": {"text": Sample(make=file("imodels.txt"), plants=in_text(before="{}\n", behind="\n{}\n"))},
    "the text of CORELS": {
        "text": Sample(
            make=lambda: CORELS_TEXT.encode(),
            plants={
                "trailing spacing": in_text()["trailing spacing"],
                "name of the target": lambda data: data.replace(b"Has a dirty computer", HIDDEN.encode(), 1),
            },
        )
    },
    "the program of CORELS": {
        "text": Sample(make=file("corels_program.txt"), plants=in_text(before="{}\n", behind="\n{}\n")),
        "model file": Sample(make=file("corels_model.txt"), plants={"spacing": lambda data: data + b" \t" * 600}),
    },
}
"""By format, its samples. Every format that is read has one that hides records."""
