from __future__ import annotations

import importlib
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from glassine.domain import Category, Domain, Integer, Real
from glassine.errors import BlackBoxError, GlassineError, InvalidParameterError, UnreadableFileError
from glassine.surrogates import BlackBox, SurrogateExplainer, load_black_box
from glassine.surrogates.query_input import open_records
from tests.surrogates.scenes import numbers, ring


@pytest.fixture(scope="module")
def network() -> Any:
    X = numbers(200)
    return MLPClassifier((5,), max_iter=2000, solver="lbfgs", random_state=0).fit(X, ring(X))


def test_an_estimator_is_read_from_skops(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    X = numbers(50)
    fitted = LogisticRegression().fit(X, ring(X))
    skops.dump(fitted, tmp_path / "a.bin")
    assert load_black_box(tmp_path / "a.bin").predict(X).tolist() == fitted.predict(X).tolist()


@pytest.mark.slow
def test_a_neural_network_is_read_from_skops(network: Any, tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    X = numbers(100, seed=1)
    skops.dump(network, tmp_path / "a.bin")
    sgd = MLPClassifier((3,), max_iter=400, solver="sgd", tol=1.0, random_state=0).fit(X, ring(X))
    skops.dump(sgd, tmp_path / "b.bin")
    for name, fitted in (("a.bin", network), ("b.bin", sgd)):
        assert load_black_box(tmp_path / name).predict(X).tolist() == fitted.predict(X).tolist()


@pytest.mark.slow
def test_a_neural_network_is_read_from_onnx(network: Any, tmp_path: Path) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    X = numbers(100, seed=1)
    (tmp_path / "a.bin").write_bytes(skl2onnx.to_onnx(network, X[:1].astype(np.float32)).SerializeToString())
    box = load_black_box(tmp_path / "a.bin")
    assert box.predict(X).tolist() == network.predict(X).tolist()
    assert SurrogateExplainer(box, 25).fit(X).fidelity(X) > 0.9


@pytest.mark.slow
def test_an_onnx_model_with_named_inputs_takes_a_frame(tmp_path: Path) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    kinds: Any = importlib.import_module("skl2onnx.common.data_types")
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    data = pd.DataFrame(numbers(80, 2), columns=["a", "b"])
    steps = ColumnTransformer([("all", "passthrough", ["a", "b"])])
    fitted = make_pipeline(steps, LogisticRegression()).fit(data, data["b"] > 0)
    inputs = [(name, kinds.FloatTensorType([None, 1])) for name in data]
    (tmp_path / "c.onnx").write_bytes(skl2onnx.to_onnx(fitted, initial_types=inputs).SerializeToString())
    box = load_black_box(tmp_path / "c.onnx")
    assert (box.predict(data[["b", "a"]]) == fitted.predict(data)).all()
    assert (box.predict(data.to_numpy()) == fitted.predict(data)).all()
    for odd in (data[["a"]], data.to_numpy()[:, :1]):
        with pytest.raises(BlackBoxError):
            box.predict(odd)


class Payload:
    """What a hostile pickle does when it is read."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("the pickle was read",))


def test_a_pickle_is_refused_whatever_its_name(tmp_path: Path) -> None:
    for content in (pickle.dumps(LogisticRegression()), pickle.dumps(Payload()), pickle.dumps(Payload(), protocol=0)):
        (tmp_path / "model.onnx").write_bytes(content)
        with pytest.raises(UnreadableFileError, match="pickle"):
            load_black_box(tmp_path / "model.onnx")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", b"\x08\x07garbage", b"\x00" * 100])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(GlassineError):
        load_black_box(tmp_path / "model")
    with pytest.raises(UnreadableFileError, match="cannot read"):
        load_black_box(tmp_path / "absent")


@pytest.mark.parametrize("box", [None, 3, "predict", LogisticRegression, object()])
def test_what_cannot_be_asked_is_refused(box: Any) -> None:
    with pytest.raises(InvalidParameterError, match="black box must be"):
        BlackBox(box)


def test_labels_become_plain_values() -> None:
    for given, plain in (
        (np.array([1.0, 2.0]), [1, 2]),
        (np.array([True, False]), [True, False]),
        (np.array(["a", "b"]), ["a", "b"]),
        (pd.Series([1, 2]), [1, 2]),
        (pd.Categorical(["u", "v"]), ["u", "v"]),
        ([0.5, 1.5], [0.5, 1.5]),
    ):
        found = BlackBox(lambda X, given=given: given)(np.zeros((2, 1)), 2).tolist()
        assert found == plain
        assert [type(v) for v in found] == [type(v) for v in plain]


def test_a_black_box_gets_rows_of_numbers_as_doubles_whatever_stands_among_them() -> None:
    domain = Domain({"a": Integer(0, 9), "b": Real(0.0, 1.0, missing=True)})
    rows: list[list[Any]] = [[1, 0.5], [2, 1]]
    for odd in (None, "0.5", "nan", True):
        _, given, _ = open_records([*rows, [3, odd]], domain)
        assert given.dtype == np.float64
        assert given[:2].tolist() == [[1.0, 0.5], [2.0, 1.0]]
    # Where the domain declares a text, values stay what they are.
    words = Domain({"a": Integer(0, 9), "b": Category(("u", "1", 1))})
    _, given, _ = open_records([[1, "u"], [2, 1], [3, "1"]], words)
    assert given.tolist() == [[1, "u"], [2, 1], [3, "1"]]


@pytest.mark.parametrize("form", ["array", "words", "pandas", "polars"])
def test_records_that_were_asked_about_are_not_asked_about_again(form: str) -> None:
    seen: list[tuple[Any, ...]] = []

    def box(X: Any) -> Any:
        rows = X.tolist() if isinstance(X, np.ndarray) else [tuple(row) for row in X.to_numpy().tolist()]
        seen.extend(tuple(None if v != v else v for v in row) for row in rows)
        return ["a" if row[0] == 1 else "b" for row in rows]

    values = {"u": [1.0, 2.0, 1.0, math.nan, math.nan, 3.0], "v": [0.0, 0.0, 0.0, 5.0, 5.0, 1.0]}
    records: Any = np.column_stack(list(values.values()))
    if form == "words":
        records = np.array([[1, "x"], [2, "x"], [1, "x"], [None, "y"], [None, "y"], [3, "z"]], dtype=object)
    elif form != "array":
        records = pd.DataFrame(values) if form == "pandas" else pl.DataFrame(values)
    asked = BlackBox(box)
    answers = ["a", "b", "a", "b", "b", "b"]
    assert asked.ask_once(records, 6).tolist() == answers
    assert (asked.n_queries, asked.n_calls, len(seen)) == (4, 1, 4)
    assert len(set(seen)) == 4
    assert asked.ask_once(records[:3], 3).tolist() == answers[:3]
    assert asked.ask_once(records, 6).tolist() == answers
    assert len(seen) == 4
    # A call asks anew.
    assert asked(records, 6).tolist() == answers
    assert asked.n_queries == len(seen) == 10
    with pytest.raises(InvalidParameterError, match="may be asked on 3 records"):
        BlackBox(box, max_queries=3).ask_once(records, 6)


@pytest.mark.parametrize("gap", ["Int64", "string", "float"])
def test_gaps_of_any_type_are_equal_values(gap: str) -> None:
    """A gap equals no value, not even itself: asked by values, it must not be asked again, nor fail."""
    column = ["1", None, None, "2"] if gap == "string" else [1, None, None, 2]
    records = pd.DataFrame({"a": pd.Series(column, dtype=gap), "b": [0, 1, 1, 2]})
    asked: list[int] = []

    def box(rows: Any) -> Any:
        asked.append(len(rows))
        return rows["b"].to_numpy()

    black_box = BlackBox(box)
    for _ in range(2):
        assert black_box.ask_once(records, 4).tolist() == [0, 1, 1, 2]
    assert asked == [3]


def test_one_answer_of_another_type_changes_no_other() -> None:
    asked = BlackBox(lambda X: [1, "x", 2.5, np.float64(3.0)])
    assert asked(np.zeros((4, 1)), 4).tolist() == [1, "x", 2.5, 3]
