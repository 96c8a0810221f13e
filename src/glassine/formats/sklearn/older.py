"""Trees of scikit-learn 0.24 to 1.2, whose nodes do not say where missing values go, for the scikit-learn that runs."""

from __future__ import annotations

import importlib
import io
import pickle
import re
from typing import Any

import numpy as np
import numpy.typing as npt

ROUTE = "missing_go_to_left"
"""The field of a node that scikit-learn has since 1.3."""
UNROUTED = 2
"""Its value in trees that take no missing value."""
VERSION = re.compile(rb"_sklearn_version[^0-9]{1,12}([0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9a-z]{1,8}){0,2})")


def with_routes(nodes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the nodes of a tree with the field that older versions lack, as they were if they have it."""
    names = nodes.dtype.names
    if names is None or ROUTE in names or "left_child" not in names:
        return nodes
    module = importlib.import_module("sklearn.tree._tree")
    due: np.dtype[Any] = module.NODE_DTYPE
    out = np.zeros(len(nodes), dtype=due)
    for name in names:
        out[name] = nodes[name]
    out[ROUTE] = UNROUTED
    return out


def as_shares(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values of a tree of classes, which older versions store as weights, as shares."""
    sums = values.sum(axis=2, keepdims=True)
    return np.asarray(values / np.where(sums > 0, sums, 1.0)) if values.shape[2] > 1 else values


def upgraded(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a tree as the scikit-learn that runs has it."""
    nodes = state["nodes"]
    routed = with_routes(nodes)
    return state if routed is nodes else {**state, "nodes": routed, "values": as_shares(np.asarray(state["values"]))}


def unpickled(plain: bytes) -> Any:
    """Return the object of a trusted pickle or joblib file, its trees as the scikit-learn that runs has them."""
    joblib: Any = importlib.import_module("joblib.numpy_pickle")

    def build(unpickler: Any) -> None:
        if type(unpickler.stack[-2]).__name__ == "Tree" and isinstance(unpickler.stack[-1], dict):
            unpickler.stack[-1] = upgraded(unpickler.stack[-1])
        joblib.NumpyUnpickler.load_build(unpickler)

    dispatch = {**joblib.NumpyUnpickler.dispatch, pickle.BUILD[0]: build}
    reader: Any = type("Reader", (joblib.NumpyUnpickler,), {"dispatch": dispatch})
    return reader("", io.BytesIO(plain), True).load()


def stated_version(plain: bytes) -> str:
    """Return the version of scikit-learn that a pickle states; empty if it states none."""
    match = VERSION.search(plain)
    return match[1].decode() if match else ""
