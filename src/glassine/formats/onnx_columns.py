"""The columns that an ONNX tree is given, as functions of the inputs of the graph."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from glassine.domain import Binary, Category, Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import feature_names
from glassine.formats.conditions import attribute_of, damaged
from glassine.formats.sklearn.encodings import Coded, Column, Number, Step, Stepped, run
from glassine.records.arrays import AnyArray

WIDEST = 10**5
"""Columns and steps that are read: more than any graph of one tree has."""
MOST_STEPS, MOST_CATEGORIES = 100, 3000
"""Operations on one column, and categories of one encoder, that are read."""
NAMELESS = ("X", "input", "float_input")
"""Names that converters give to the one input of any model."""
FLOAT, INT32, INT64, TEXT, BOOL, DOUBLE = 1, 6, 7, 8, 9, 11
"""Types of values, as ONNX numbers them."""
SPELLED = {"FLOAT": FLOAT, "INT32": INT32, "INT64": INT64, "STRING": TEXT, "DOUBLE": DOUBLE}
"""The same, as graphs before opset 6 name them."""
WHOLE_NUMBERS = (INT32, INT64)
REMEDY = "Give the fitted pipeline itself or its skops file, or export the tree alone."
ROUND: Step = ("single", 0.0)
ARITHMETIC = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"}


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the graph: one column or several."""

    columns: tuple[Column, ...]
    # Its type in ONNX; a number without steps counts as rounded where that is not DOUBLE.
    kind: int

    @property
    def single(self) -> bool:
        """Whether numbers are rounded to single precision."""
        return self.kind != DOUBLE


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the graph, with what it is given."""

    kind: str
    attributes: dict[str, Any]
    values: Sequence[Value | None]  # None where an input is a constant
    constants: Sequence[Any]  # Arrays; None where an input is no constant
    domain: Domain | None

    @property
    def value(self) -> Value:
        """The one value that is no constant."""
        if not self.values or self.values[0] is None:
            raise self.unsupported("is given a constant")
        return self.values[0]

    def unsupported(self, what: str, remedy: str = REMEDY) -> UnsupportedModelError:
        """Return an error that says why the operator is not read."""
        return UnsupportedModelError(f"{self.kind!r} before the tree {what}, which is not read.", remedy=remedy)

    def numbers(self, values: Any, what: str, *, positive: bool = False, spread: bool = False) -> list[float]:
        """Return one finite number a column; ``spread`` allows several for one column."""
        width = len(self.value.columns)
        flat = [] if values is None else np.ravel(values).tolist()
        flat = flat * width if len(flat) == 1 else flat
        width = len(flat) if width == 1 and spread else width
        if len(flat) != width or not all(isinstance(v, int | float) and math.isfinite(v) for v in flat):
            raise InvalidModelError(f"{self.kind!r} before the tree must hold {width} finite numbers as {what}.")
        if positive and not min(flat) > 0:
            raise self.unsupported(f"has {what} {min(flat)}, so that larger values are not larger afterwards")
        return [float(v) for v in flat]

    def then(self, steps: Sequence[tuple[Step, ...]], kind: int) -> Value:
        """Return the columns after arithmetic, of which each step but bounds is rounded where numbers are."""
        if self.value.kind not in (FLOAT, DOUBLE):
            raise self.unsupported(
                "computes with whole numbers or texts", "Convert the pipeline with inputs of floats."
            )
        out = []
        for column, own in zip(self.value.columns, steps, strict=True):
            if isinstance(column, Number) and len(column.steps) > MOST_STEPS:
                raise self.unsupported(f"is one of more than {MOST_STEPS} steps of one column")
            rounded = [part for step in own for part in (step, ROUND)] if self.value.single else own
            out.append((settled(column) if self.value.single else column).then(*rounded))
        return Value(tuple(out), kind)


def settled(column: Column) -> Column:
    """Return a column with its rounding to single precision as one of its steps."""
    return column.then(ROUND) if not (isinstance(column, Number) and column.steps[-1:] == (ROUND,)) else column


def _scaled(node: Operator) -> Value:
    if node.value.kind != FLOAT:
        raise node.unsupported("is not given floats", "Convert the pipeline with inputs of floats.")
    offsets = node.numbers(node.attributes.get("offset"), "offset")
    scales = node.numbers(node.attributes.get("scale"), "scale", positive=True)
    return node.then([(("sub", b), ("mul", a)) for a, b in zip(scales, offsets, strict=True)], FLOAT)


def _computed(node: Operator) -> Value:
    step = ARITHMETIC[node.kind]
    if node.constants[1] is None:
        raise node.unsupported("computes with two columns")
    if step == "mul" and not np.any(node.constants[1]) and node.value.kind in (FLOAT, DOUBLE):
        # Nothing is left of the column but its gaps.
        flat = [
            (c.stepped((math.inf,), (0.0,), c.gap_code) if isinstance(c, Number) else c) for c in node.value.columns
        ]
        return Value(tuple(column.mapped(lambda code: 0.0 * code) for column in flat), node.value.kind)
    constants = node.numbers(node.constants[1], "constants", positive=step in ("mul", "div"))
    return node.then([((step, constant),) for constant in constants], node.value.kind)


def _compared(node: Operator) -> Value:
    """Return what says of each number whether it is below a constant; NaN is not."""
    if node.constants[1] is None or node.value.kind not in (FLOAT, DOUBLE):
        raise node.unsupported("compares other than numbers with a constant")
    single, bounds = node.value.single, node.numbers(node.constants[1], "constants", spread=True)
    columns = node.value.columns * (len(bounds) if len(node.value.columns) == 1 else 1)
    out: list[Column] = []
    for column, bound in zip(columns, bounds, strict=True):

        def below(code: float, bound: float = bound) -> float:
            return float(code < bound)

        if isinstance(column, Number):
            ends = (column.pulled_back(bound, rounded=single, below=True), math.inf)
            out.append(column.stepped(ends, (1.0, 0.0), below(column.gap_code)))
        else:
            out.append(column.mapped(below))
    return Value(tuple(out), BOOL)


def _largest(node: Operator) -> Value:
    """Return the place of the largest of several bins of one input, of equal ones the first; others are constant."""
    bins = [column for column in node.value.columns if isinstance(column, Stepped)]
    names = list(dict.fromkeys(column.attribute for column in bins if len(set(column.codes)) > 1))
    last = node.attributes.get("select_last_index", 0) or node.attributes.get("axis", 0) not in (1, -1)
    if last or len(bins) < len(node.value.columns) or len(names) > 1 or not bins:
        raise node.unsupported("compares columns")
    name = names[0] if names else bins[0].attribute
    gaps = [column.gap_code if column.attribute == name else column.codes[0] for column in bins]
    for column in bins:
        attribute = attribute_of(column.attribute, node.domain)
        if math.isnan(column.gap_code) and attribute is not None and attribute.missing:
            raise node.unsupported(f"encodes {column.attribute!r:.60}, which can be missing", "Impute it before.")
    tops = sorted({top for column in bins for top in column.tops})
    table = np.array([[column.codes[bisect_left(column.tops, top)] for top in tops] for column in bins])
    if np.isnan(table).any():
        raise InvalidModelError(f"{node.kind!r} before the tree compares what is no number.")
    missing = None if any(map(math.isnan, gaps)) else float(np.argmax(gaps))
    codes = tuple(float(place) for place in table.argmax(axis=0))
    return Value((Stepped(name, tuple(tops), codes, missing),), INT64)


def _chosen(node: Operator) -> Value:
    """Return one of two constants for each truth value."""
    if node.value.kind != BOOL or len(node.constants) != 3 or any(constant is None for constant in node.constants[1:]):
        raise node.unsupported("chooses between columns")
    pairs = list(zip(*(node.numbers(constant, "constants") for constant in node.constants[1:]), strict=True))
    kind = DOUBLE if node.constants[1].dtype == np.float64 else FLOAT
    out: list[Column] = []
    for column, (yes, no) in zip(node.value.columns, pairs, strict=True):

        def choice(code: float, yes: float = yes, no: float = no) -> float:
            return yes if code else no

        if isinstance(column, Number):
            raise node.unsupported("chooses by an input")
        out.append(column.mapped(choice))
    return Value(tuple(out), kind)


def _clipped(node: Operator) -> Value:
    bounds = [*node.constants[1:], None, None][:2]
    if any(value is not None for value in node.values[1:]):
        raise node.unsupported("has computed bounds")
    steps: tuple[Step, ...] = tuple(
        (name, node.numbers(bound, "bounds")[0])
        for name, bound in zip(("at least", "at most"), bounds, strict=True)
        if bound is not None
    )
    return node.then([steps] * len(node.value.columns), node.value.kind)


def _imputed(node: Operator) -> Value:
    replaced = node.attributes.get("replaced_value_float")
    if node.value.kind != FLOAT or replaced is None:
        raise node.unsupported(
            f"replaces {replaced} of its values, not numbers of floats", "Convert the pipeline with inputs of floats."
        )
    fills = node.numbers(node.attributes.get("imputed_value_floats"), "imputed_value_floats")
    filled = zip(node.value.columns, fills, strict=True)
    return Value(tuple(c.filled(v) if math.isnan(replaced) else c.replaced(replaced, v) for c, v in filled), FLOAT)


def _filled_code(node: Operator, column: Number, change: Callable[[float], float]) -> float | None:
    """Return the code of what missing values have become; None where they are still missing, so that runtimes fail."""
    attribute = attribute_of(column.attribute, node.domain)
    if column.fill is None and attribute is not None and attribute.missing:
        raise node.unsupported(f"encodes {column.attribute!r:.60}, which can be missing", "Impute it before.")
    return None if column.fill is None else change(column.gap_code)


def _binarized(node: Operator) -> Value:
    if node.value.kind != FLOAT:
        raise node.unsupported("is not given floats", "Convert the pipeline with inputs of floats.")
    threshold = float(node.attributes.get("threshold", 0.0))
    if not math.isfinite(threshold):
        raise InvalidModelError(f"'Binarizer' before the tree has the threshold {threshold}.")

    def above(code: float) -> float:
        return float(code > threshold)

    out: list[Column] = []
    for column in node.value.columns:
        if isinstance(column, Number):
            ends = (column.pulled_back(threshold), math.inf)
            out.append(column.stepped(ends, (0.0, 1.0), _filled_code(node, column, above)))
        else:
            out.append(column.mapped(above))
    return Value(tuple(out), FLOAT)


def _one_hot(node: Operator) -> Value:
    texts, whole = node.attributes.get("cats_strings"), node.attributes.get("cats_int64s")
    other = 0.0 if node.attributes.get("zeros", 1) else None
    if len(node.value.columns) != 1 or (texts is None) == (node.value.kind == TEXT) or (texts or whole) is None:
        raise node.unsupported("does not encode one column of texts or of whole numbers")
    column, listed = node.value.columns[0], list(texts or whole or ())
    if len(listed) > MOST_CATEGORIES or len(set(listed)) < len(listed):
        raise InvalidModelError("'OneHotEncoder' before the tree lists a category twice, or more than 3000.")
    out: list[Column] = []
    for category in listed:

        def dummy(code: float, wanted: Any = category) -> float:
            return float(math.isfinite(code) and math.trunc(code) == wanted)

        if texts is not None:
            if not isinstance(column, Number) or column.fill is not None:
                raise node.unsupported("encodes a column that was encoded")
            pairs = tuple((text, float(text == category)) for text in texts if text)
            gap = float(category == "") if "" in texts else other
            out.append(Coded(column.attribute, pairs, gap, other, "" in texts))
        elif isinstance(column, Number):
            out.append(_whole_dummy(node, column, category, dummy))
        else:
            out.append(column.mapped(dummy))
    return Value(tuple(out), FLOAT)


def _whole_dummy(node: Operator, column: Number, category: int, dummy: Callable[[float], float]) -> Column:
    """Return the dummy of a category, of a number that loses what it has behind the point."""
    attribute = attribute_of(column.attribute, node.domain)
    gap = _filled_code(node, column, dummy)
    if isinstance(attribute, Category | Binary):
        values: Sequence[Scalar] = (0, 1) if isinstance(attribute, Binary) else attribute.values
        if not all(isinstance(value, int | float) for value in values):
            raise InvalidModelError(f"{column.attribute!r:.60} is encoded as a number, but the domain has texts.")
        codes = tuple((value, dummy(run(column.code_of(float(value)), (ROUND,)))) for value in values)
        return Coded(column.attribute, codes, gap, None, column.fill is not None)
    cut = column.then(("whole", 0.0))
    rounded = node.value.kind != DOUBLE
    ends = (*(cut.pulled_back(category, rounded=rounded, below=below) for below in (True, False)), math.inf)
    return column.stepped(ends, (0.0, 1.0, 0.0), gap)


def _labelled(node: Operator) -> Value:
    """Return a column of texts or numbers behind a LabelEncoder."""
    column, attributes = node.value.columns[0], node.attributes
    if len(node.value.columns) != 1 or not isinstance(column, Number) or column.steps:
        raise node.unsupported("encodes other than one input")
    keys = attributes.get("keys_strings", attributes.get("keys_int64s", attributes.get("keys_floats")))
    values = attributes.get("values_floats", attributes.get("values_int64s"))
    if keys is None or values is None or len(keys) != len(values):
        raise UnsupportedModelError(
            f"the LabelEncoder of {column.attribute!r:.60} is not one from texts or numbers to numbers.", remedy=REMEDY
        )
    floats = "values_floats" in attributes
    other = float(attributes.get("default_float", attributes.get("default_int64", -1)) if floats else -1)
    codes = [(key, float(code)) for key, code in zip(keys, values, strict=True)]
    gaps = [code for key, code in codes if key == "" or key != key]
    plain = tuple((key, code) for key, code in codes if key != "" and key == key)
    missing = gaps[0] if gaps else other
    if column.fill is not None:
        missing = dict(plain).get(column.fill, other)
    return Value((Coded(column.attribute, plain, missing, other),), FLOAT if floats else INT64)


def _cast(node: Operator) -> Value:
    value, to = node.value, node.attributes.get("to")
    if node.kind == "CastLike":
        to = None if node.values[1] is None else node.values[1].kind
    to = SPELLED.get(str(to), to)
    if to is None or node.kind == "Identity" or to == value.kind:
        return value
    if to not in (FLOAT, INT32, INT64, TEXT, DOUBLE):
        raise node.unsupported(f"turns values into type {to}")
    columns = value.columns
    if to in WHOLE_NUMBERS and value.kind in (FLOAT, DOUBLE):
        cut = [settled(c) if value.single and isinstance(c, Number) else c for c in columns]
        return Value(tuple(c.then(("whole", 0.0)) for c in cut), to)
    if (value.kind, to) == (FLOAT, DOUBLE):
        return Value(tuple(settled(c) if isinstance(c, Number) else c for c in columns), to)
    if to == FLOAT:  # a number without steps is rounded where it is compared or computed with
        return Value(tuple(settled(c) if not isinstance(c, Number) or c.steps else c for c in columns), to)
    return Value(columns, to)


def _joined(node: Operator) -> Value:
    parts = [value for value in node.values if value is not None]
    if len(parts) < len(node.values):
        raise node.unsupported("joins constants")
    kind = FLOAT if node.kind == "FeatureVectorizer" else parts[0].kind
    own = [_cast(replace(node, kind="Cast", attributes={"to": kind}, values=[part])) for part in parts]
    return Value(tuple(column for part in own for column in part.columns), kind)


def _picked(node: Operator) -> Value:
    if node.constants[1] is None:
        raise node.unsupported("picks computed columns")
    places = np.ravel(node.constants[1]).tolist()
    n = len(node.value.columns)
    if node.kind == "Gather" and node.attributes.get("axis", 0) not in (1, -1):
        raise node.unsupported("picks records")
    if not all(isinstance(place, int) and 0 <= place < n for place in places):
        raise InvalidModelError(f"{node.kind!r} before the tree picks column {places[0]}, but it is given {n}.")
    return Value(tuple(node.value.columns[place] for place in places), node.value.kind)


def _reshaped(node: Operator) -> Value:
    shape = np.ravel(node.constants[1]).tolist() if node.constants[1] is not None else []
    if len(shape) != 2 or shape[0] != -1 or shape[1] != len(node.value.columns):
        raise node.unsupported("changes what is one record")
    return node.value


OPERATORS: dict[str, Callable[[Operator], Value]] = {
    "Cast": _cast,
    "CastLike": _cast,
    "Identity": _cast,
    "Concat": _joined,
    "FeatureVectorizer": _joined,
    "LabelEncoder": _labelled,
    "OneHotEncoder": _one_hot,
    "Scaler": _scaled,
    "Imputer": _imputed,
    "Binarizer": _binarized,
    "Clip": _clipped,
    "Less": _compared,
    "ArgMax": _largest,
    "Where": _chosen,
    "ArrayFeatureExtractor": _picked,
    "Gather": _picked,
    "Reshape": _reshaped,
    **dict.fromkeys(ARITHMETIC, _computed),
}


def array_of(onnx: ModuleType, tensor: Any) -> AnyArray:
    """Return the numbers of a tensor, or raise UnsupportedModelError where another file holds them."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise UnsupportedModelError(
            "the ONNX graph keeps numbers in another file, which is not read.", remedy="Save one file."
        )
    array: AnyArray = onnx.numpy_helper.to_array(tensor)
    return array


def _needed(graph: Any, end: str) -> set[str]:
    """Return the names of all values that one is computed from."""
    makers = {str(output): node for node in graph.node for output in node.output}
    needed, stack = {end}, [end]
    while stack:
        node = makers.get(stack.pop())
        fresh = {str(name) for name in node.input} - needed if node is not None else set()
        needed |= fresh
        stack += fresh
    return needed


def _inputs(graph: Any, needed: set[str], domain: Domain | None, width: int, *, named: bool) -> dict[str, Value]:
    """Return the values of the inputs of the graph: those of one input alone may have other names than it."""
    constant = {str(tensor.name) for tensor in graph.initializer}
    entries = {str(e.name): e for e in graph.input if str(e.name) in needed and str(e.name) not in constant}
    out: dict[str, Value] = {}
    for name, entry in entries.items():
        own, kind = _width(entry), int(entry.type.tensor_type.elem_type)
        if own != 1 and len(entries) > 1:
            raise UnsupportedModelError(
                f"the input {name!r:.60} is one of several, but has not one column.", remedy="Name each."
            )
        names: tuple[str, ...] = (name,)
        if own != 1:
            names = feature_names(None, width if own is None else own, domain, "the ONNX graph")
        elif len(entries) == 1 and not named and (name in NAMELESS if domain is None else name not in domain):
            names = feature_names(None, 1, domain, "the ONNX graph")
        out[name] = Value(tuple(Number(column) for column in names), kind)
    return out


def _width(entry: Any) -> int | None:
    """Return the number of columns that an input declares, None if it declares none."""
    dims = entry.type.tensor_type.shape.dim
    return int(dims[1].dim_value) or None if len(dims) == 2 else 1 if len(dims) == 1 else None


def columns_of(
    onnx: ModuleType,
    graph: Any,
    end: str,
    domain: Domain | None,
    width: int,
    *,
    named: bool,
    plain: Callable[[ModuleType, Any], Any],
) -> Value:
    """Return the columns of a value of the graph.

    ``width`` is the number of columns that the tree needs, for inputs that declare none; ``named`` says that single
    inputs are named after their attribute; ``plain`` returns the value of an attribute.
    """
    needed = _needed(graph, end)
    made = _inputs(graph, needed, domain, width, named=named)
    constants = {str(tensor.name): tensor for tensor in graph.initializer if str(tensor.name) in needed}
    n_columns = 0
    for node in graph.node:
        if not needed.intersection(map(str, node.output)):
            continue
        kind, names = str(node.op_type), [str(name) for name in node.input]
        if kind not in OPERATORS or not names:
            raise UnsupportedModelError(f"{kind!r:.40} stands before the tree and is not read.", remedy=REMEDY)
        lost = [name for name in names if name and name not in made and name not in constants]
        if lost:
            raise damaged(f"{kind!r:.40} before the tree is given {lost[0]!r:.60}, which nothing makes before it.")
        arrays = [array_of(onnx, constants[name]) if name in constants else None for name in names]
        own = {str(a.name): plain(onnx, a) for a in node.attribute}
        values = [made.get(name) for name in names]
        n_columns += sum(len(value.columns) for value in values if value is not None)
        if n_columns > WIDEST:
            raise UnsupportedModelError(f"more than {WIDEST} columns stand before the tree.", remedy=REMEDY)
        made[str(node.output[0])] = OPERATORS[kind](Operator(kind, own, values, arrays, domain))
    if end not in made:
        raise UnsupportedModelError("a constant stands before the tree and is not read.", remedy=REMEDY)
    if not made[end].columns:
        raise InvalidModelError("the tree is given no input.")
    return made[end]
