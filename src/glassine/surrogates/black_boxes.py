"""Black boxes: counted and checked queries; readers of ONNX and skops files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import is_regressor

from glassine.domain.attributes import Scalar
from glassine.errors import (
    BlackBoxError,
    GlassineError,
    InvalidParameterError,
    UnreadableFileError,
    UnsupportedModelError,
    installed,
)
from glassine.files import read_bytes
from glassine.formats.skops import read_skops
from glassine.records.arrays import AnyArray
from glassine.surrogates.answers import plain_label

MAX_BYTES = 500_000_000

OPTIMIZERS = tuple(
    f"sklearn.neural_network._stochastic_optimizers.{name}" for name in ("AdamOptimizer", "SGDOptimizer")
)
"""What a neural network of scikit-learn keeps besides what skops trusts."""


class BlackBox:
    """Query access to a black box.

    Parameters
    ----------
    predict : callable or estimator
        Maps records to one label or number each; an object with a method ``predict`` is asked by it.
    max_queries : int, optional
        Most records on which it may be asked; None for no limit.

    Attributes
    ----------
    n_queries : int
        Records on which it was asked.
    n_calls : int
        How often it was called.

    Examples
    --------
    >>> box = BlackBox(lambda X: X[:, 0] > 1)
    >>> box(np.array([[0.0], [2.0]]), 2).tolist(), box.n_queries
    ([False, True], 2)
    """

    def __init__(self, predict: object, *, max_queries: int | None = None) -> None:
        method = getattr(predict, "predict", None)
        call = method if callable(method) and not isinstance(predict, type) else predict
        if not callable(call) or isinstance(predict, type):
            kind = type(predict).__name__
            if isinstance(predict, type):
                kind = f"the class {predict.__name__}, not an instance"
            raise InvalidParameterError(
                f"a black box must be a function of records, or an estimator with predict, got {kind}."
            )
        self._call: Callable[[Any], Any] = call
        self.max_queries = max_queries
        self._answers: dict[tuple[Any, ...], Scalar] = {}
        self.n_queries = 0
        self.n_calls = 0

    def __call__(self, records: object, n_records: int, *, lenient: bool = False) -> AnyArray:
        """Return the labels of records as an array of plain scalars, shape (n,).

        An answer that is no label is refused, or None where that is ``lenient``. No refusal states a number of records.
        """
        if self.max_queries is not None and not self.n_queries + n_records <= self.max_queries:
            raise InvalidParameterError(
                f"the black box may be asked on {self.max_queries} records, {self.n_queries} were, and {n_records} "
                "more are wanted.",
                remedy="Raise the budget or ask less.",
            )
        self.n_queries += n_records
        self.n_calls += 1
        # A black box that writes into its argument must not write into the caller's records.
        copy = getattr(records, "copy", None)
        own = copy() if callable(copy) else records
        try:
            answer = self._call(own)
        except GlassineError:
            raise
        except Exception as error:
            raise BlackBoxError(
                f"the black box raised {type(error).__name__}.", remedy="Call it on these records to see."
            ) from None
        return _labels(answer, n_records, lenient=lenient)

    def ask_once(self, records: object, n_records: int, *, lenient: bool = False) -> AnyArray:
        """Return the labels of records as a call does, asking only on records that this method never saw.

        Equal records get one label. Records and labels are kept in memory for that.
        """
        keys = _values_of(records)
        first: dict[tuple[Any, ...], int] = {}
        for row, key in enumerate(keys):
            if key not in self._answers:
                first.setdefault(key, row)
        if first:
            new = records if len(first) == n_records else _taken(records, list(first.values()))
            self._answers.update(zip(first, self(new, len(first), lenient=lenient).tolist(), strict=True))
        out = np.empty(n_records, dtype=object)
        out[:] = [self._answers[key] for key in keys]
        return out

    def predict(self, records: Any) -> AnyArray:
        """Return the labels of records as many as they are long, so that a counted black box is one itself."""
        return self(records, len(records))

    def __repr__(self) -> str:
        return f"<BlackBox asked on {self.n_queries} records>"


def _values_of(records: Any) -> list[tuple[Any, ...]]:
    """Return the values of each record of a frame or an array, in order, so that equal records have equal values."""
    rows = records.tolist() if isinstance(records, np.ndarray) else nw.from_native(records, eager_only=True).rows()
    return [tuple(map(_comparable, row)) for row in rows]


def _comparable(value: Any) -> Any:
    """Return a value, or for NaN and pandas' NA, which do not equal themselves, what stands for their type."""
    same = value == value
    return value if isinstance(same, bool | np.bool_) and same else (_comparable, type(value).__name__)


def _taken(records: Any, rows: list[int]) -> Any:
    """Return some records in the form in which they are."""
    if isinstance(records, np.ndarray):
        return records[rows]
    return nw.from_native(records, eager_only=True)[rows, :].to_native()


def _labels(answer: object, n_records: int, *, lenient: bool) -> AnyArray:
    try:
        # Of a list each answer keeps its type: one text among numbers would make texts of all.
        listed = object if isinstance(answer, list | tuple) else None
        array = np.asarray(answer.to_numpy() if hasattr(answer, "to_numpy") else answer, dtype=listed)
    except Exception as error:
        raise BlackBoxError(
            f"the black box's answer is no array ({type(error).__name__}).", remedy="Return labels."
        ) from None
    if array.shape != (n_records,):
        raise BlackBoxError(
            "the black box must answer with one label a record, an array of their number and of one dimension.",
            remedy="Return labels, not probabilities.",
        )
    out = np.empty(n_records, dtype=object)
    for i, value in enumerate(array.tolist()):
        out[i] = plain_label(value)
        if out[i] is None and not lenient:
            raise BlackBoxError(
                f"the black box must answer with texts, finite numbers or Booleans, but an answer is a "
                f"{type(value.item() if isinstance(value, np.generic) else value).__name__} that is none of these.",
                remedy="Label every record.",
            )
    return out


def is_regression(predict: object) -> bool:
    """Return whether a black box is an estimator that predicts numbers, or its method."""
    asked = getattr(predict, "__self__", predict)
    asked = getattr(asked, "__wrapped__", asked)
    try:
        return bool(is_regressor(asked))
    except (AttributeError, TypeError):  # scikit-learn asks for tags that other objects lack
        return False


def class_order(labels: set[Scalar]) -> tuple[Scalar, ...]:
    """Return different labels in order: numbers by size, then texts."""
    return tuple(sorted(labels, key=lambda v: (isinstance(v, str), v if isinstance(v, str) else float(v))))


class _Onnx:
    """A model in ONNX, run by onnxruntime on the processor."""

    def __init__(self, session: Any, path: str) -> None:
        self._session = session
        self._path = path
        self._inputs = session.get_inputs()
        self._label = session.get_outputs()[0].name

    def predict(self, X: Any) -> AnyArray:
        names = [entry.name for entry in self._inputs]
        if len(names) == 1:
            feed = {names[0]: _typed(np.asarray(X), self._inputs[0].type)}
        else:
            columns = _columns(X, names)
            feed = {
                entry.name: _typed(np.asarray(column).reshape(-1, 1), entry.type)
                for entry, column in zip(self._inputs, columns, strict=True)
            }
        answer = np.asarray(self._session.run([self._label], feed)[0])
        return answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer


def _columns(X: Any, names: list[str]) -> list[Any]:
    if isinstance(X, np.ndarray):
        if X.shape[1] != len(names):
            raise BlackBoxError(
                f"the ONNX model has {len(names)} inputs, got {X.shape[1]} columns.",
                remedy="Pass the columns that it was trained on, in their order.",
            )
        return list(X.T)
    absent = [name for name in names if name not in X.columns]
    if absent:
        raise BlackBoxError(f"the ONNX model's input {absent[0]!r} is not an attribute.", remedy="Rename it.")
    return [X[name].to_numpy() for name in names]


def _typed(array: AnyArray, kind: str) -> AnyArray:
    kinds: dict[str, Any] = {
        "tensor(float)": np.float32,
        "tensor(double)": np.float64,
        "tensor(int64)": np.int64,
        "tensor(int32)": np.int32,
        "tensor(bool)": np.bool_,
    }
    if kind == "tensor(string)":
        return np.asarray(array, dtype=object).astype(str).astype(object)
    if kind not in kinds:
        raise UnsupportedModelError(
            f"an ONNX input of type {kind} is not supported.", remedy="Use tensors of numbers or text."
        )
    return np.asarray(array, dtype=kinds[kind])


def load_black_box(path: str | os.PathLike[str]) -> Any:
    """Return a black box from a file: an ONNX model, or an estimator in a skops file.

    No code of the file is run: skops builds only types that it trusts and the optimizers of scikit-learn, which hold
    numbers alone; and ONNX is a graph of fixed operations. A pickle is refused under any name.

    Parameters
    ----------
    path : path
        The file; its content states what it is, not its name.

    Returns
    -------
    object
        An object with ``predict``. An ONNX model with one input gets the attributes in order as one tensor; one with
        several gets each by its name.

    Raises
    ------
    UnreadableFileError
        If the file is missing, empty, larger than 500 MB, damaged, or a pickle.
    UnsupportedModelError
        If it holds something else, or the package that reads it is not installed.
    """
    name = os.fspath(path)
    data = read_bytes(path, most=MAX_BYTES)
    if not data:
        raise UnreadableFileError(f"{name} is empty.", remedy="Give an ONNX or a skops file.", path=path)
    # Imported here: who asks a black box in memory needs no reader of files.
    from glassine.formats.unwrapping import is_pickle

    if data.startswith(b"PK"):
        estimator = read_skops(data, path, trusted=OPTIMIZERS)
        if not callable(getattr(estimator, "predict", None)):
            raise UnsupportedModelError(
                f"{name} holds a {type(estimator).__name__}, which does not predict.",
                remedy="Save the fitted classifier or pipeline.",
            )
        return estimator
    if is_pickle(data):
        raise UnreadableFileError(
            f"{name} is a pickle, and a pickle is code that runs when it is read.",
            remedy="Use skops or ONNX.",
            path=path,
        )
    return _read_onnx(data, name)


def _read_onnx(data: bytes, name: str) -> _Onnx:
    onnxruntime = installed("onnxruntime", "reading ONNX files needs", "formats", UnsupportedModelError)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise UnreadableFileError(
            f"{name} is neither an ONNX model that can be run nor a skops file ({type(error).__name__}).",
            remedy="Save the model with skops, or export it to ONNX again.",
            path=name,
        ) from None
    return _Onnx(session, name)
