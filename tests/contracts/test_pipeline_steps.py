"""Every documented step of a pipeline is read from every documented container, as the fitted pipeline predicts."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skops.io
from onnx import TensorProto
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold, f_classif, mutual_info_classif
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree

from glassine import parse_rules
from glassine.domain import Between, Domain, Real
from glassine.errors import UnreadableFileError, UnsupportedModelError
from glassine.formats import as_model, load_forest, load_model, write_model
from glassine.formats.onnx import tree_from_onnx

RNG = np.random.default_rng(0)
GAPS = pd.DataFrame(np.round(RNG.normal(size=(200, 3)), 2), columns=["a", "b", "c"]).mask(RNG.random((200, 3)) < 0.1)
WHOLE = GAPS.fillna(0.0)
MIXED = pd.DataFrame(
    {"job": RNG.choice(["p", "q", "r"], 200), "town": RNG.choice(["u", "v"], 200), "n": WHOLE["a"].to_numpy()}
)
ADULT = MIXED.assign(job=MIXED["job"].replace("r", "?"))
"""A text that files use for a gap, as a category that the encoder knows."""
TARGET = ((WHOLE["b"] > 0).to_numpy() ^ (MIXED["job"] == "p").to_numpy()).astype(int)
ONE_HOT = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
STEPS: dict[str, tuple[Any, pd.DataFrame]] = {
    "SimpleImputer": (SimpleImputer(), GAPS),
    "SimpleImputer with indicators": (SimpleImputer(strategy="median", add_indicator=True), GAPS),
    "MissingIndicator": (FeatureUnion([("a", SimpleImputer()), ("b", MissingIndicator())]), GAPS),
    "StandardScaler": (StandardScaler(), WHOLE),
    "MinMaxScaler": (MinMaxScaler(clip=True), WHOLE),
    "MaxAbsScaler": (MaxAbsScaler(), WHOLE),
    "RobustScaler": (RobustScaler(), WHOLE),
    "KBinsDiscretizer": (KBinsDiscretizer(4, encode="ordinal"), WHOLE),
    "KBinsDiscretizer one-hot": (KBinsDiscretizer(4, encode="onehot-dense"), WHOLE),
    "Binarizer": (Binarizer(), WHOLE),
    "FunctionTransformer": (FunctionTransformer(), WHOLE),
    "SelectKBest": (SelectKBest(f_classif, k=2), WHOLE),
    "SelectKBest by information": (SelectKBest(mutual_info_classif, k=2), WHOLE),
    "SelectFromModel": (SelectFromModel(DecisionTreeClassifier(max_depth=2, random_state=0)), WHOLE),
    "VarianceThreshold": (VarianceThreshold(), WHOLE),
    "OneHotEncoder": (make_column_transformer((ONE_HOT, ["job", "town"]), remainder="passthrough"), MIXED),
    "OrdinalEncoder": (make_column_transformer((OrdinalEncoder(), ["job", "town"]), remainder="passthrough"), MIXED),
    "ColumnTransformer": (
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="most_frequent"), ONE_HOT), ["job"]),
            ("drop", ["town"]),
            (StandardScaler(), ["n"]),
        ),
        MIXED,
    ),
    "question mark": (make_column_transformer((ONE_HOT, ["job", "town"]), remainder="passthrough"), ADULT),
    "question mark, first left out": (
        make_column_transformer((OneHotEncoder(drop="first"), ["job", "town"]), remainder="passthrough"),
        ADULT,
    ),
    "question mark imputed": (
        make_column_transformer(
            (make_pipeline(SimpleImputer(missing_values="?", strategy="most_frequent"), ONE_HOT), ["job"]),
            remainder="passthrough",
        ),
        ADULT[["job", "n"]],
    ),
    "weights": (
        ColumnTransformer(
            [("a", StandardScaler(), ["a"]), ("b", KBinsDiscretizer(4, encode="ordinal"), ["b", "c"])],
            transformer_weights={"a": 3.0, "b": -2.0},
        ),
        WHOLE,
    ),
    "selected by a function": (ColumnTransformer([("a", MaxAbsScaler(), make_column_selector("a|b"))]), WHOLE),
    "FeatureUnion of parts": (
        FeatureUnion([("a", "drop"), ("b", MinMaxScaler()), ("c", "passthrough")], transformer_weights={"b": 5}),
        WHOLE,
    ),
    "bins of bins": (make_pipeline(KBinsDiscretizer(6, encode="ordinal"), OneHotEncoder(sparse_output=False)), WHOLE),
    "bins of scales": (make_pipeline(StandardScaler(), KBinsDiscretizer(4, encode="ordinal")), WHOLE),
    "bins of codes": (
        make_column_transformer((make_pipeline(OrdinalEncoder(), Binarizer(threshold=0.5)), ["job", "town"])),
        ADULT,
    ),
}


def saved(fitted: Any, container: str, folder: Path) -> Path:
    path = folder / f"model.{container}"
    if container == "skops":
        path.write_bytes(skops.io.dumps(fitted))
    elif container == "joblib":
        joblib.dump(fitted, path, compress=3)
    elif container == "pickle":
        path.write_bytes(pickle.dumps(fitted))
    else:
        write_model(as_model(fitted), path, to=container, overwrite=True)
    return path


@pytest.mark.parametrize("container", ["skops", "joblib", "pickle", "onnx", "pmml"])
@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_read_from_a_container(name: str, container: str, tmp_path: Path) -> None:
    step, frame = STEPS[name]
    fitted = make_pipeline(step, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(frame, TARGET)
    model = load_model(saved(fitted, container, tmp_path), trust_pickle=container in ("joblib", "pickle"))
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(frame))


MARKED = Domain({name: Real(-9, 9, resolution=0.01, codes={-99: "no answer"}) for name in map(str, WHOLE)})


@pytest.mark.parametrize("indicators", [False, True])
@pytest.mark.parametrize("container", ["skops", "onnx", "pmml"])
def test_a_mark_that_an_imputer_replaces_is_read(container: str, indicators: bool, tmp_path: Path) -> None:
    frame = GAPS.fillna(-99.0)
    imputer = SimpleImputer(missing_values=-99, add_indicator=indicators)
    fitted = make_pipeline(imputer, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(frame, TARGET)
    if container == "skops":
        # Values below the mark are possible without a domain: they go with other values, not with it.
        with pytest.raises(UnsupportedModelError, match="-99 was replaced"):
            as_model(fitted)
    path = tmp_path / f"model.{container}"
    path.write_bytes(skops.io.dumps(fitted))
    if container != "skops":
        write_model(as_model(fitted, MARKED), path, to=container, overwrite=True)
    model = load_model(path, MARKED)
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(frame))


def test_a_negative_weight_is_refused() -> None:
    step = FeatureUnion([("a", StandardScaler())], transformer_weights={"a": -1.0})
    fitted = make_pipeline(step, DecisionTreeClassifier(max_depth=2)).fit(WHOLE, TARGET)
    with pytest.raises(UnsupportedModelError, match="the weight -1"):
        as_model(fitted)


class Squared(StandardScaler):  # type: ignore[misc]  # scikit-learn has no types
    def transform(self, X: Any, copy: Any = None) -> Any:
        return np.asarray(super().transform(X, copy)) ** 2


def test_a_step_from_elsewhere_that_transforms_otherwise_is_refused() -> None:
    fitted = make_pipeline(Squared(), DecisionTreeClassifier(max_depth=2)).fit(WHOLE, TARGET)
    with pytest.raises(UnsupportedModelError, match="is a Squared"):
        as_model(fitted)


@pytest.mark.parametrize("container", ["skops", "onnx"])
@pytest.mark.parametrize("bound", [0.1, 0.7, 40.1, -0.3, 1e-3])
def test_a_decimal_stays_on_its_side_of_a_threshold_in_single_precision(
    bound: float, container: str, tmp_path: Path
) -> None:
    for operator in ("<=", "<"):
        rules = parse_rules(f"if [a {operator} {bound}] then [yes] (5 examples)\nelse [no] (5 examples)")
        write_model(rules, tmp_path / f"m.{container}", to="sklearn" if container == "skops" else container)
        frame = pd.DataFrame({"a": [bound]})
        if container == "onnx":
            session = onnxruntime.InferenceSession((tmp_path / "m.onnx").read_bytes())
            (said,) = session.run(["label"], {"a": frame.to_numpy(np.float32)})[0]
        else:
            (said,) = skops.io.load(tmp_path / "m.skops", trusted=["sklearn.tree._tree.Tree"]).predict(frame)
        assert said == rules.predict(frame)[0]
        (tmp_path / f"m.{container}").unlink()


# Files of skl2onnx hold the steps as operators of the graph, in single or in double precision.

CODES = pd.DataFrame(RNG.integers(0, 4, size=(200, 3)).astype(float), columns=["a", "b", "c"])
TEXTS = ("OneHotEncoder", "OrdinalEncoder")
CONVERTED: dict[str, tuple[Any, pd.DataFrame]] = {
    **{name: STEPS[name] for name in ("SimpleImputer", "StandardScaler", "MinMaxScaler", "MaxAbsScaler")},
    **{name: STEPS[name] for name in ("RobustScaler", "Binarizer", "FunctionTransformer", "SelectKBest", *TEXTS)},
    "KBinsDiscretizer": (KBinsDiscretizer(4, encode="ordinal"), WHOLE),
    "KBinsDiscretizer one-hot": (KBinsDiscretizer(4, encode="onehot-dense"), WHOLE),
    "imputed bins": (make_pipeline(SimpleImputer(), KBinsDiscretizer([2, 3, 4], encode="ordinal")), GAPS),
    "StandardScaler without shift": (StandardScaler(with_mean=False), GAPS),
    "MinMaxScaler of gaps": (MinMaxScaler(clip=True), GAPS),
    "imputed and scaled": (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), GAPS),
    "imputed and binarized": (make_pipeline(SimpleImputer(), Binarizer(threshold=0.3)), GAPS),
    "scaled twice": (make_pipeline(RobustScaler(), MinMaxScaler((-3, 7))), WHOLE),
    "scaled and binarized": (make_pipeline(StandardScaler(), Binarizer(threshold=0.1)), WHOLE),
    "FeatureUnion": (FeatureUnion([("a", StandardScaler()), ("b", Binarizer())]), WHOLE),
    "ColumnTransformer": (make_column_transformer((StandardScaler(), [2, 0]), remainder="passthrough"), WHOLE),
    "OneHotEncoder of numbers": (OneHotEncoder(handle_unknown="ignore", sparse_output=False), CODES),
    "OrdinalEncoder of numbers": (OrdinalEncoder(), CODES),
}
NOT_OF_DOUBLES = {
    (name, np.float64) for name in ("SimpleImputer", "imputed and scaled", "imputed and binarized", "imputed bins")
}
"""An Imputer of doubles is one that the runtime does not know."""
BINARIZED = ("Binarizer", "scaled and binarized", "FeatureUnion")
BINNED = ("KBinsDiscretizer", "KBinsDiscretizer one-hot", "OneHotEncoder of numbers")
NO_GAPS = {(name, kind) for name in BINNED for kind in (np.float32, np.float64)}
NO_GAPS |= {(name, np.float32) for name in BINARIZED}
"""The runtime's Binarizer refuses NaN; which whole number it makes of NaN for a OneHotEncoder, and which
bin, depends on the machine.
Of doubles, a Less stands in the place of the Binarizer, which takes NaN."""


def beside_thresholds(models: list[Any], frame: pd.DataFrame) -> pd.DataFrame:
    """Return records at each threshold of models, and one step of single and of double precision beside it."""
    literals = [literal for model in models for literal in model.literals if isinstance(literal, Between)]
    ends = {(one.attribute, end) for one in literals for end in (one.lo, one.hi) if np.isfinite(end)}
    rows: list[dict[Any, Any]] = []
    for name, end in sorted(ends):
        near = np.float32(end)
        singles = [near, *(np.nextafter(near, np.float32(way)) for way in (-np.inf, np.inf))]
        for value in (*singles, end, *(np.nextafter(end, way) for way in (-np.inf, np.inf))):
            rows.append({**frame.iloc[len(rows) % len(frame)].to_dict(), name: float(value)})
    return pd.DataFrame(rows, columns=frame.columns)


def runtime(data: bytes, frame: pd.DataFrame, kind: Any) -> Any:
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()
    if len(inputs) == 1:
        return session.run(None, {inputs[0].name: frame.to_numpy(kind)})[0]
    given = {name: frame[[name]].to_numpy(object if frame[name].dtype.kind in "OUT" else kind) for name in frame}
    return session.run(None, given)[0]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", CONVERTED)
def test_a_step_is_read_as_the_runtime_computes_it(name: str, kind: Any) -> None:
    step, frame = CONVERTED[name]
    training: Any = frame if name in TEXTS else frame.to_numpy(kind)
    fitted = make_pipeline(step, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(training, TARGET)
    example = frame[:1] if name in TEXTS else training[:1]
    if name in TEXTS:
        example = example.astype({"n": kind})
    converted = to_onnx(fitted, example, options={"zipmap": False})
    # Shares are declared as doubles, which the runtime refuses: they are of single precision in every graph.
    converted.graph.output[1].type.tensor_type.elem_type = TensorProto.FLOAT
    data = converted.SerializeToString()
    if (name, kind) in NOT_OF_DOUBLES:
        with pytest.raises(UnsupportedModelError, match="with inputs of floats"):
            tree_from_onnx(data)
        return
    named = frame if name in TEXTS else frame.set_axis(["x0", "x1", "x2"], axis=1)
    gaps = None if name in TEXTS else Domain({c: Real(-9, 9, missing=True) for c in map(str, named)})
    if (name, kind) in NO_GAPS:
        with pytest.raises(UnsupportedModelError, match="can be missing"):
            tree_from_onnx(data, gaps)
        gaps = None
    model = tree_from_onnx(data, gaps)
    records = pd.concat([named, beside_thresholds([model, as_model(fitted)], named)])
    if gaps is not None:
        records = pd.concat([records, named.mask(np.random.default_rng(1).random(named.shape) < 0.3)])
    np.testing.assert_array_equal(model.predict(records), runtime(data, records, kind))


# Trees of scikit-learn 0.24 to 1.2: nodes without a way for missing values, and weights in place of shares.


def of_old(tree: Tree) -> tuple[Any, ...]:
    """Return what an older scikit-learn stored of a tree."""
    make, arguments, state = tree.__reduce__()
    nodes = state["nodes"]
    names = [name for name in nodes.dtype.names if name != "missing_go_to_left"]
    old = np.zeros(len(nodes), dtype=[(name, nodes.dtype[name]) for name in names])
    for name in names:
        old[name] = nodes[name]
    weights = nodes["weighted_n_node_samples"][:, None, None] if state["values"].shape[2] > 1 else 1.0
    return make, arguments, {**state, "nodes": old, "values": state["values"] * weights}


class OldPickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        return of_old(obj) if isinstance(obj, Tree) else NotImplemented


class OldJoblib(joblib.numpy_pickle.NumpyPickler):  # type: ignore[misc]  # joblib has no types
    def reducer_override(self, obj: Any) -> Any:
        return of_old(obj) if isinstance(obj, Tree) else NotImplemented

    def save(self, obj: Any) -> Any:
        return self.save_reduce(*of_old(obj), obj=obj) if isinstance(obj, Tree) else super().save(obj)


def old_bytes(fitted: Any, trees: list[Tree], container: str) -> bytes:
    out = io.BytesIO()
    if container == "pickle":
        OldPickler(out).dump(fitted)
    elif container == "joblib":
        OldJoblib(out).dump(fitted)
    else:
        olds = {
            _content(part): old
            for tree in trees
            for part, old in zip(*map(_parts, (tree.__reduce__(), of_old(tree))), strict=True)
        }
        with zipfile.ZipFile(io.BytesIO(skops.io.dumps(fitted))) as archive, zipfile.ZipFile(out, "w") as copy:
            for name in archive.namelist():
                data = archive.read(name)
                if name.endswith(".npy"):
                    array = np.load(io.BytesIO(data))
                    plain = io.BytesIO()
                    np.save(plain, olds.get(_content(array), array))
                    data = plain.getvalue()
                copy.writestr(name, data)
    return out.getvalue()


def _content(array: Any) -> str:
    # The bytes between the fields of a node are arbitrary.
    return repr(array.tolist())


def _parts(reduced: Any) -> tuple[Any, Any]:
    return reduced[2]["nodes"], reduced[2]["values"]


@pytest.mark.parametrize("container", ["skops", "joblib", "pickle"])
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_trees_of_older_versions_are_read(kind: Any, container: str, tmp_path: Path) -> None:
    fitted = kind(max_depth=3, random_state=0).fit(WHOLE, TARGET)
    path = tmp_path / "old"
    path.write_bytes(old_bytes(fitted, [fitted.tree_], container))
    read, true = load_model(path, trust_pickle=container != "skops"), as_model(fitted)
    np.testing.assert_array_equal(read.predict(WHOLE), fitted.predict(WHOLE))
    assert [cell.evidence for cell in read.cells] == [cell.evidence for cell in true.cells]  # type: ignore[union-attr]
    # Such trees took no missing value, so that no branch speaks of one.
    assert "missing" not in " ".join(str(cell) for cell in read.cells)  # type: ignore[union-attr]


@pytest.mark.parametrize("container", ["skops", "joblib", "pickle"])
def test_forests_of_older_versions_are_read(container: str, tmp_path: Path) -> None:
    fitted = RandomForestClassifier(3, max_depth=2, random_state=0).fit(WHOLE, TARGET)
    path = tmp_path / "old"
    path.write_bytes(old_bytes(fitted, [tree.tree_ for tree in fitted.estimators_], container))
    assert len(load_forest(path, trust_pickle=container != "skops").trees) == 3


def test_a_pickle_that_cannot_be_read_says_which_version_wrote_it(tmp_path: Path) -> None:
    data = pickle.dumps(DecisionTreeClassifier(max_depth=1).fit(WHOLE, TARGET))
    (tmp_path / "m.pkl").write_bytes(data.replace(b"sklearn.tree._classes", b"sklearn.tree._clashes"))
    with pytest.raises(UnreadableFileError, match=r"scikit-learn [0-9.]+ wrote it.*where scikit-learn .*export_text"):
        load_model(tmp_path / "m.pkl", trust_pickle=True)
