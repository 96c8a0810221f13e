"""One tree of an ensemble in ONNX, cut out of the lists that hold them all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from glassine.errors import InvalidModelError, UnsupportedModelError

__all__ = ["cut_out"]

NEAR = 1e-4


def _masked(given: Mapping[str, Any], prefix: str, tree: int) -> dict[str, Any]:
    """Return the lists of a prefix with the entries of one tree."""
    owners = given.get(f"{prefix}_treeids", [])
    if not isinstance(owners, list):
        raise InvalidModelError(f"{prefix}_treeids must be a list. Export the ensemble anew.")
    kept = [i for i, owner in enumerate(owners) if owner == tree]
    out: dict[str, Any] = {}
    for name, value in given.items():
        if not name.startswith(f"{prefix}_"):
            continue
        entries = np.asarray(value).ravel().tolist() if isinstance(value, np.ndarray) else value
        if isinstance(entries, list) and len(entries) == len(owners):
            out[name] = [entries[i] for i in kept]
            out[name] = np.asarray(out[name]) if isinstance(value, np.ndarray) else out[name]
        elif isinstance(entries, list) and entries:
            raise InvalidModelError(f"{name} has {len(entries)} entries where {len(owners)} are expected.")
    return out


def _share_like(given: Mapping[str, Any], n_trees: int) -> bool:
    """Return whether trees add up shares of classes, each leaf its part of 1, as forests do."""
    weights = given.get("class_weights") or np.ravel(given.get("class_weights_as_tensor", ())).tolist()
    owners, nodes = given.get("class_treeids", []), given.get("class_nodeids", [])
    based = np.ravel(np.asarray(given.get("base_values", given.get("base_values_as_tensor", ())), dtype=float))
    if given.get("post_transform", "NONE") != "NONE" or based.any() or not weights or len(owners) != len(weights):
        return False
    sums: dict[tuple[Any, Any], float] = {}
    for owner, node, weight in zip(owners, nodes, weights, strict=True):
        if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            return False
        sums[owner, node] = sums.get((owner, node), 0.0) + weight
    return max(sums.values()) <= 1 / n_trees + NEAR


def cut_out(given: Mapping[str, Any], tree: int, n_trees: int, kind: str) -> tuple[dict[str, Any], str]:
    """Return the attributes of an ensemble with one tree left, and the kind of operator that it then is.

    The tree of a forest gets its shares back, multiplied by the number of trees; one of other ensembles becomes a
    regression of the scores that it adds.

    Raises
    ------
    UnsupportedModelError
        If a leaf adds scores of several classes.
    InvalidModelError
        If lists contradict each other.
    """
    prefix = "class" if kind == "TreeEnsembleClassifier" else "target"
    out = {name: value for name, value in given.items() if not name.startswith((f"{prefix}_", "nodes_"))}
    out |= _masked(given, "nodes", tree)
    own = _masked(given, prefix, tree)
    out |= {name: value for name, value in given.items() if name.startswith("classlabels")}
    if prefix == "target":
        out.pop("base_values", None)
        out.pop("base_values_as_tensor", None)
        return out | own, kind
    if _share_like(given, n_trees):
        for name in ("class_weights", "class_weights_as_tensor"):
            if name in own:
                own[name] = (np.asarray(own[name], dtype=float) * n_trees).tolist()
        if "class_weights_as_tensor" in own:
            own["class_weights_as_tensor"] = np.asarray(own["class_weights_as_tensor"])
        return out | own, kind
    if len(set(own.get("class_ids", []))) > 1:
        raise UnsupportedModelError("the trees of the ONNX graph add scores of several classes in one leaf.")
    renamed = {name.replace("class_", "target_", 1): value for name, value in own.items()}
    renamed["target_ids"] = [0] * len(renamed.get("target_ids", []))
    plain = {name: value for name, value in out.items() if name not in ("post_transform", "base_values")}
    plain.pop("base_values_as_tensor", None)
    return plain | renamed, "TreeEnsembleRegressor"
