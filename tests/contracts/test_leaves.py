"""Every reader sends a record to the leaf to which the library sends it, at each threshold and one step beside it."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    export_graphviz,
    export_text,
)

from glassine.domain import Between, Domain, Real
from glassine.domain.single import single, single_bound
from glassine.formats import as_model, to_onnx, to_pmml, to_python, to_text, write_model
from glassine.formats.conditions import in_single_precision
from glassine.models import DecisionTree, RuleList
from tests.formats.reading import read_cells

STORED: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("leaves.json").read_text())
"""Files of boosted trees, made by ``benchmarks/leaves.py``, with records and the leaves that the libraries answer."""
DOMAIN = Domain({"a": Real(-1e9, 1e9), "b": Real(-1e9, 1e9)})
RNG = np.random.default_rng(0)
VALUES = np.round(RNG.normal(0, 1, (300, 2)), 1)
FRAME = pd.DataFrame(VALUES, columns=["a", "b"])
TARGET = (VALUES[:, 0] + VALUES[:, 1] ** 2 > 0.5).astype(int)


def saved(data: str | bytes, path: Path) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def same_parts(ours: Any, theirs: Any) -> bool:
    """Return whether two lists of leaves part the records alike, whatever they number the leaves by."""
    pairs = set(zip(np.ravel(ours).tolist(), np.ravel(theirs).tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def bounds_of(model: DecisionTree | RuleList) -> list[list[float]]:
    """Return the bounds on each attribute."""
    between = [literal for literal in model.literals if isinstance(literal, Between)]
    return [
        sorted({end for one in between if one.attribute == name for end in (one.lo, one.hi) if math.isfinite(end)})
        for name in ("a", "b")
    ]


def beside(bounds: list[float]) -> list[float]:
    out: set[float] = set()
    for bound in bounds:
        near = np.float32(bound)
        for at in (bound, *(float(np.nextafter(near, np.float32(way))) for way in (-np.inf, np.inf)), float(near)):
            out |= {at, math.nextafter(at, -math.inf), math.nextafter(at, math.inf)}
            out |= {float(f"{at:.{digits}g}") for digits in (2, 3, 6, 8)}
            out.add(single_bound(single(at)))
            out.add(math.nextafter(single_bound(single(at)), math.inf))
    return sorted(out) or [0.0]


def records_at(model: DecisionTree | RuleList) -> np.ndarray[Any, Any]:
    """Return records beside each threshold of a model, against several values of the other attribute."""
    columns = [beside(bounds) for bounds in bounds_of(model)]
    rows = [[a, b] for a in columns[0] for b in columns[1][:: max(1, len(columns[1]) // 6)]]
    return np.array(rows + [[a, b] for b in columns[1] for a in columns[0][:: max(1, len(columns[0]) // 6)]])


def as_columns(rows: Any) -> dict[str, Any]:
    return {"a": rows[:, 0], "b": rows[:, 1]}


@pytest.mark.parametrize("name", STORED)
def test_a_file_of_a_library_has_its_leaves(name: str, tmp_path: Path) -> None:
    entry = STORED[name]
    path = saved(base64.b64decode(entry["file"]), tmp_path / f"model{entry['suffix']}")
    rows = np.array([[float.fromhex(value) for value in row] for row in entry["records"]])
    model = read_cells(path, DOMAIN)
    assert len(set(entry["leaves"])) > 3
    assert same_parts(model.apply(as_columns(rows)), entry["leaves"])
    # The same holds of whatever is exported of it; ONNX compares in single precision, as not every library does.
    rounded = in_single_precision(model)
    assert rounded == ("XGBoost" in name)
    for form, write in EXPORTS.items():
        if form == "onnx" and not rounded:
            continue
        back = read_cells(saved(write(model, tmp_path), tmp_path / f"again.{form}"), DOMAIN)
        assert same_parts(back.apply(as_columns(rows)), entry["leaves"]), form


def as_json(model: Any, folder: Path) -> bytes:
    write_model(model, folder / "model.json", overwrite=True)
    return (folder / "model.json").read_bytes()


EXPORTS: dict[str, Callable[[Any, Path], str | bytes]] = {
    "json": as_json,
    "txt": lambda model, folder: to_text(model),
    "pmml": lambda model, folder: to_pmml(model),
    "onnx": lambda model, folder: to_onnx(model),
}


def fitted(made: Any) -> Any:
    return made.fit(FRAME, TARGET)


TREES = {
    "classifier": fitted(DecisionTreeClassifier(max_depth=4, random_state=0)),
    "regressor": fitted(DecisionTreeRegressor(max_depth=4, random_state=0)),
    "extra": fitted(ExtraTreeClassifier(max_depth=4, random_state=0)),
    "scaled": fitted(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0))),
    "scaled twice": fitted(
        make_pipeline(MinMaxScaler(), StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0))
    ),
    "columns": fitted(
        make_pipeline(
            ColumnTransformer([("scaled", StandardScaler(), ["b"]), ("plain", "passthrough", ["a"])]),
            DecisionTreeClassifier(max_depth=4, random_state=0),
        )
    ),
}


def leaves_of(estimator: Any, rows: Any) -> Any:
    """Return the leaves that scikit-learn answers."""
    frame = pd.DataFrame(rows, columns=["a", "b"])
    if hasattr(estimator, "steps"):
        return estimator[-1].apply(estimator[:-1].transform(frame))
    return estimator.apply(frame)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("domain", [None, DOMAIN], ids=["no domain", "domain"])
def test_an_estimator_of_scikit_learn_has_its_leaves(name: str, domain: Domain | None, tmp_path: Path) -> None:
    estimator = TREES[name]
    direct = as_model(estimator, domain)
    assert isinstance(direct, DecisionTree)
    from_file = read_cells(saved(skops.io.dumps(estimator), tmp_path / "model.skops"), domain)
    rows = records_at(direct)
    for model in (direct, from_file):
        assert same_parts(model.apply(as_columns(rows)), leaves_of(estimator, rows))


@pytest.mark.parametrize("name", ["classifier", "regressor", "extra"])
@pytest.mark.parametrize("form", ["export_text", "export_graphviz", "text", "python"])
def test_a_text_of_a_tree_has_its_leaves(name: str, form: str, tmp_path: Path) -> None:
    estimator = TREES[name]
    if form == "export_graphviz":  # it rounds, which changes the last digits of most thresholds
        estimator = clone(estimator).fit(np.round(FRAME * 8) / 8, TARGET)
    direct = as_model(estimator, DOMAIN)
    rows = records_at(direct)
    if form == "python":
        scope: dict[str, Any] = {}
        exec(to_python(direct), scope)  # noqa: S102
        ours: Any = [scope["part"]({"a": a, "b": b}) for a, b in rows.tolist()]
    else:
        texts: dict[str, Callable[[], Any]] = {
            "export_text": lambda: export_text(estimator, feature_names=["a", "b"], decimals=20),
            "export_graphviz": lambda: export_graphviz(estimator, feature_names=["a", "b"], precision=20),
            "text": lambda: to_text(direct),
        }
        ours = read_cells(saved(texts[form](), tmp_path / "tree.txt"), DOMAIN).apply(as_columns(rows))
    assert same_parts(ours, leaves_of(estimator, rows))


@pytest.mark.parametrize("double", [False, True])
def test_a_tree_in_onnx_has_the_leaves_of_the_runtime(double: bool, tmp_path: Path) -> None:
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    # Each leaf answers a class of its own, so that answers are leaves.
    estimator = DecisionTreeClassifier(max_depth=4, random_state=0).fit(FRAME, TREES["classifier"].apply(FRAME))
    graph = onnx.load_model_from_string(to_onnx(as_model(estimator)))
    for entry in graph.graph.input:
        entry.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT
    model = read_cells(saved(graph.SerializeToString(), tmp_path / "tree.onnx"), DOMAIN)
    assert in_single_precision(model) is not double
    rows = records_at(model)
    fed = {name: column.reshape(-1, 1).astype("f8" if double else "f4") for name, column in as_columns(rows).items()}
    answers = runtime.InferenceSession(graph.SerializeToString()).run(None, fed)[0]
    assert len(set(answers.tolist())) > 3
    assert (model.predict(as_columns(rows)) == answers).all()


def test_a_threshold_is_named_by_its_shortest_decimal(tmp_path: Path) -> None:
    for name, entry in STORED.items():
        model = read_cells(saved(base64.b64decode(entry["file"]), tmp_path / f"model{entry['suffix']}"), DOMAIN)
        texts = [str(literal) for literal in model.literals]
        if "XGBoost" in name:
            assert all(len(text.split()[-1].lstrip("-")) <= 11 for text in texts), name


def test_histogram_boosting_compares_doubles() -> None:
    boosted = HistGradientBoostingRegressor(max_iter=1, max_depth=3).fit(VALUES, TARGET)
    bound = next(node["num_threshold"] for node in boosted._predictors[0][0].nodes if not node["is_leaf"])
    at = np.array([[bound, 0.0], [math.nextafter(bound, math.inf), 0.0]])
    assert len(set(boosted.predict(at).tolist())) == 2


FLOAT_FIELD = (
    '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
    '<DataField name="a" optype="continuous" dataType="{declared}"/><DataField name="b" optype="continuous" '
    'dataType="double"/><DataField name="y" optype="continuous" dataType="double"/></DataDictionary>'
    '<TreeModel functionName="regression" splitCharacteristic="binarySplit"><MiningSchema><MiningField name="a"/>'
    '<MiningField name="b"/><MiningField name="y" usageType="target"/></MiningSchema><LocalTransformations>'
    '<DerivedField name="float(a)" optype="continuous" dataType="float"><FieldRef field="a"/></DerivedField>'
    '<DerivedField name="double(float(a))" optype="continuous" dataType="double"><FieldRef field="float(a)"/>'
    '</DerivedField></LocalTransformations><Node score="0"><True/>'
    '<Node score="1"><SimplePredicate field="{tested}" operator="{operator}" value="{value}"/></Node>'
    '<Node score="2"><True/></Node></Node></TreeModel></PMML>'
)


@pytest.mark.parametrize("operator", ["lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual", "equal", "notEqual"])
@pytest.mark.parametrize(
    ("declared", "tested", "rounds"),
    [
        ("float", "a", (True, True)),
        ("double", "float(a)", (True, True)),
        ("double", "double(float(a))", (True, False)),
        ("double", "a", (False, False)),
    ],
)
def test_a_field_of_pmml_is_compared_in_its_precision(
    operator: str, declared: str, tested: str, rounds: tuple[bool, bool], tmp_path: Path
) -> None:
    compare = {
        "lessThan": np.less,
        "lessOrEqual": np.less_equal,
        "greaterThan": np.greater,
        "greaterOrEqual": np.greater_equal,
        "equal": np.equal,
        "notEqual": np.not_equal,
    }[operator]
    for value in (1.8, -0.35, 3.0, 0.35000000894069666):
        text = FLOAT_FIELD.format(declared=declared, tested=tested, operator=operator, value=value)
        model = read_cells(saved(text, tmp_path / "tree.pmml"))
        rows = np.array([[at, 0.0] for at in beside([value])])
        records = rows[:, 0].astype(np.float32).astype(float) if rounds[0] else rows[:, 0]
        first = compare(records, single(value) if rounds[1] else value)
        assert (model.predict(as_columns(rows)) == np.where(first, 1.0, 2.0)).all(), value
