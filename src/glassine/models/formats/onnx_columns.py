"""The columns that an ONNX tree is given, traced back to the inputs of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from glassine.domain import Domain
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.formats.assembling import feature_names
from glassine.models.formats.encodings import Coded, Column, Number

__all__ = ["NamedColumn", "columns_of"]

SAME = ("Cast", "Identity")
WIDEST = 10**5
NAMELESS = ("X", "input", "float_input")
"""Names that converters give to the one input of any model."""


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column and the attribute that it is made of."""

    name: str
    column: Column


def columns_of(
    onnx: ModuleType, graph: Any, ensemble: Any, domain: Domain | None, needed: int, *, named: bool
) -> tuple[NamedColumn, ...]:
    """Return the columns of the first input of a tree.

    Raises
    ------
    UnsupportedModelError
        If an operator between the inputs and the tree is not understood.
    InvalidModelError
        If the graph contradicts itself or does not fit the domain.
    """
    makers = {str(output): node for node in graph.node for output in node.output}
    inputs = {str(entry.name): entry for entry in graph.input}
    # Depth first, in the order of the columns: each entry is a value of the graph and the encoder behind it.
    stack: list[tuple[str, Any]] = [(str(ensemble.input[0]), None)]
    found: list[tuple[str, Any]] = []
    for _ in range(WIDEST):
        if not stack:
            break
        name, encoder = stack.pop()
        if name in inputs:
            found.append((name, encoder))
            continue
        node = makers.get(name)
        if node is not None and node.op_type in SAME and node.input:
            stack.append((str(node.input[0]), encoder))
        elif node is not None and node.op_type == "LabelEncoder" and encoder is None and node.input:
            stack.append((str(node.input[0]), node))
        elif node is not None and node.op_type == "Concat" and encoder is None:
            stack += [(str(part), None) for part in reversed(node.input)]
        else:
            kind = "a constant" if node is None else f"{node.op_type!r:.40}"
            raise UnsupportedModelError(f"{kind} stands before the tree and is not read. Export the tree alone.")
    if stack:
        raise UnsupportedModelError(f"more than {WIDEST} steps stand before the tree, or they form a cycle.")
    if not found:
        raise InvalidModelError("the tree is given no input.")
    if len(found) == 1 and found[0][1] is None:
        width = _width(inputs[found[0][0]])
        if width != 1:
            names = feature_names(None, needed if width is None else width, domain, "the ONNX graph")
            return tuple(NamedColumn(name, Number(name)) for name in names)
        single = found[0][0]
        if not named and (domain is not None or single in NAMELESS) and (domain is None or single not in domain):
            single = feature_names(None, 1, domain, "the ONNX graph")[0]
        return (NamedColumn(single, Number(single)),)
    for name, _ in found:
        if _width(inputs[name]) != 1:
            raise UnsupportedModelError(f"the input {name!r:.60} is one of several, but has not one column. Name each.")
    return tuple(NamedColumn(name, _coded(onnx, name, encoder)) for name, encoder in found)


def _width(entry: Any) -> int | None:
    """Return the number of columns that an input declares, None if it declares none."""
    dims = entry.type.tensor_type.shape.dim
    return int(dims[1].dim_value) or None if len(dims) == 2 else 1 if len(dims) == 1 else None


def _coded(onnx: ModuleType, name: str, encoder: Any) -> Column:
    """Return a column of texts or numbers behind a LabelEncoder, or of numbers as they are."""
    if encoder is None:
        return Number(name)
    given: Mapping[str, Any] = {str(a.name): onnx.helper.get_attribute_value(a) for a in encoder.attribute}
    texts = given.get("keys_strings")
    keys = [key.decode() for key in texts] if texts is not None else given.get("keys_int64s", given.get("keys_floats"))
    values = given.get("values_floats", given.get("values_int64s"))
    if keys is None or values is None or len(keys) != len(values):
        raise UnsupportedModelError(f"the LabelEncoder of {name!r:.60} is not one from texts or numbers to numbers.")
    other = float(given.get("default_float", given.get("default_int64", -1)) if "values_floats" in given else -1)
    codes = [(key, float(code)) for key, code in zip(keys, values, strict=True)]
    gaps = [code for key, code in codes if key == "" or key != key]
    plain = tuple((key, code) for key, code in codes if key != "" and key == key)
    return Coded(name, plain, gaps[0] if gaps else other, other)
