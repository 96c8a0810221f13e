"""The text that ``Booster.save_model`` of LightGBM writes, of a model with one tree."""

from __future__ import annotations

import math
import re
from typing import Any

from glassine.domain import Domain
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.evidence import Evidence
from glassine.models.formats.assembling import Part, assembled, can_be_missing, feature_names, one_tree, sides
from glassine.models.formats.boosted import boosted_leaf, numbers, whole_numbers
from glassine.models.formats.conditions import require
from glassine.models.formats.lightgbm_counts import binary_counts
from glassine.models.tree import DecisionTree

__all__ = ["is_lightgbm_text", "tree_from_lightgbm"]

REGRESSIONS = ("regression", "regression_l2", "regression_l1", "huber", "fair", "quantile", "mape")
REMEDY = "Write the first tree alone with booster.save_model('tree.txt', num_iteration=1)."
CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2
NONE, ZERO, NAN = 0, 1, 2


def is_lightgbm_text(text: str) -> bool:
    """Return whether a text starts as LightGBM's do."""
    return re.match(r"tree[ \t\r]*\n[ \t]*version=", text.lstrip()[:200]) is not None


def tree_from_lightgbm(text: str, domain: Domain | None = None) -> DecisionTree:
    """Read the one tree of a LightGBM model.

    Parameters
    ----------
    text : str
        What ``Booster.save_model("model.txt")`` wrote.
    domain : Domain, optional
        The public domain.

    Returns
    -------
    DecisionTree
        Every node tells its number of records. A leaf tells the class on whose side its score lies, or the predicted
        value. Of a binary objective, scores, second derivatives and the parameters at the end of the file determine
        how many records of each class a leaf holds: these counts are told where they come out whole in every leaf.

    Raises
    ------
    UnsupportedModelError
        If the model has more than one tree, splits on categories, takes zeros for missing values, or has linear leaves
        or an objective that is not read.
    InvalidModelError
        If lists contradict each other or do not fit the domain.
    """
    head, trees, parameters = _sections(text)
    one_tree(len(trees), "the LightGBM model", REMEDY)
    tree = trees[0]
    objective = head.get("objective", "").split()
    kind = objective[0] if objective else ""
    if kind not in (*REGRESSIONS, "binary") or "sqrt" in objective:
        raise UnsupportedModelError(
            f"the objective {' '.join(objective)!r:.60} is not read: its scores are neither a value nor a class of two."
        )
    if tree.get("num_cat", "0") != "0" or tree.get("is_linear", "0") != "0":
        raise UnsupportedModelError("the LightGBM tree splits on categories or has linear leaves, which are not read.")
    listed = head.get("feature_names", "").split(" ")
    names = feature_names(listed if listed != [""] else [], len(listed), domain, "the LightGBM model")
    binary = kind == "binary"
    leaves = _floats(tree, "leaf_value", None)
    n = len(leaves)
    sizes = _wholes(tree, "leaf_count", n) if tree.get("leaf_count") else None
    counts = binary_counts(leaves, sizes, tree, parameters, objective) if binary and sizes is not None else None
    parts: dict[int, Part[int]] = {}
    for i, value in enumerate(leaves):
        size = None if sizes is None else sizes[i]
        evidence = boosted_leaf(value, binary, size)
        if counts is not None:
            evidence = Evidence(counts=counts[i], label=evidence.label)
        parts[~i] = ((), evidence)
    splits = _splits(tree, n, names, domain)
    parts.update(enumerate(splits))
    nodes = assembled(0 if splits else ~0, parts)
    return DecisionTree(nodes, names, (0, 1) if binary else None, source="LightGBM")


def _splits(tree: dict[str, str], n_leaves: int, names: tuple[str, ...], domain: Domain | None) -> list[Part[int]]:
    n = n_leaves - 1
    if not n:
        return []
    features, types = _wholes(tree, "split_feature", n), _wholes(tree, "decision_type", n)
    bounds = _floats(tree, "threshold", n)
    left, right = _wholes(tree, "left_child", n), _wholes(tree, "right_child", n)
    sizes = _wholes(tree, "internal_count", n) if tree.get("internal_count") else [None] * n
    out: list[Part[int]] = []
    for i, (feature, kind, bound) in enumerate(zip(features, types, bounds, strict=True)):
        if not 0 <= feature < len(names):
            raise InvalidModelError(f"node {i} tests feature {feature}, but the model has {len(names)}.")
        name = names[feature]
        require(name, domain, "the LightGBM tree tests")
        missing_type = kind >> MISSING_SHIFT
        if kind < 0 or kind & CATEGORICAL or missing_type not in (NONE, ZERO, NAN):
            raise UnsupportedModelError(f"the decision type {kind} of node {i} is not read.")
        if missing_type == ZERO:
            raise UnsupportedModelError("the LightGBM tree takes zeros for missing values, which is not read.")
        missing = can_be_missing(name, domain, False)
        # Where no value was missing in training, LightGBM takes a missing one for zero.
        to_left = bool(kind & DEFAULT_LEFT) if missing_type == NAN else bound >= 0
        pair = sides(name, "<=", bound, domain, (missing and to_left, missing and not to_left))
        out.append((tuple(zip(pair, (left[i], right[i]), strict=True)), Evidence(total=sizes[i])))
    return out


def _sections(text: str) -> tuple[dict[str, str], list[dict[str, str]], dict[str, str]]:
    """Return the lines ``key=value`` of the head and of each tree, and the parameters ``[key: value]``."""
    head: dict[str, str] = {}
    trees: list[dict[str, str]] = []
    parameters: dict[str, str] = {}
    current, ended = head, False
    for raw in text.splitlines():
        line = raw.strip()
        found = re.fullmatch(r"\[([a-z0-9_]+): (.*)\]", line)
        if found and ended:
            parameters[found[1]] = found[2]
        ended = ended or line == "end of trees"
        key, equals, value = line.partition("=")
        if not equals or ended:
            continue
        if key == "Tree":
            current = {}
            trees.append(current)
        if key in current:
            raise InvalidModelError(f"the LightGBM model says {key!r:.40} twice. Export it anew.")
        current[key] = value.strip()
    if not ended:
        raise InvalidModelError("the LightGBM model ends before its 'end of trees'. Give all of it.")
    return head, trees, parameters


def _floats(tree: dict[str, str], key: str, length: int | None) -> list[float]:
    values: list[Any] = []
    for entry in tree.get(key, "").split():
        try:
            value = float(entry)
        except ValueError:
            value = math.nan
        # The largest double stands for no bound.
        values.append(max(-1e300, min(1e300, value)) * (1 + 1e-9) if abs(value) > 1e300 else value)
    if key == "threshold":
        if len(values) != length or any(math.isnan(value) for value in values):
            raise InvalidModelError(f"{key} must be a list of {length} numbers.")
        return values
    return numbers(values, length, key) if values else numbers(None, length, key)


def _wholes(tree: dict[str, str], key: str, length: int) -> list[int]:
    listed = tree.get(key, "").split()
    if not all(re.fullmatch(r"-?[0-9]{1,15}", entry) for entry in listed):
        raise InvalidModelError(f"{key} must be a list of whole numbers.")
    return whole_numbers([int(entry) for entry in listed], length, key)
