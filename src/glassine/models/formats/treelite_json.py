"""The JSON that ``Model.dump_as_json`` of treelite writes, of a model with one tree."""

from __future__ import annotations

import math
from typing import Any

from glassine.domain import Domain
from glassine.domain.attributes import LARGEST
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.evidence import Evidence
from glassine.models.formats.assembling import (
    Part,
    assembled,
    can_be_missing,
    feature_names,
    from_shares,
    one_tree,
    sides,
)
from glassine.models.formats.boosted import MOST_RECORDS, boosted_leaf, numbers
from glassine.models.formats.conditions import require
from glassine.models.tree import DecisionTree

__all__ = ["is_treelite_json", "tree_from_treelite"]

SHARES = ("identity", "identity_multiclass")
OPERATORS = ("<", "<=", ">", ">=", "==")
WHOLE = 1e-5
MOST_CLASSES = 10_000
REMEDY = "Import a model with one tree, such as one member of the forest."


def is_treelite_json(data: Any) -> bool:
    """Return whether plain JSON values are a model of treelite."""
    return isinstance(data, dict) and "trees" in data and "num_feature" in data and "schema" not in data


def tree_from_treelite(data: Any, domain: Domain | None = None) -> DecisionTree:
    """Read the one tree of a treelite model from plain JSON values.

    Parameters
    ----------
    data : dict
        What ``Model.dump_as_json()`` wrote, of version 4 or later.
    domain : Domain, optional
        The public domain; treelite keeps no names, so that its attributes are the features in order.

    Returns
    -------
    DecisionTree
        Nodes tell their number of records where the file does. Leaves with a share of each class tell class counts
        where the shares of their records are whole numbers, else an error rate; other leaves tell the class on whose
        side their score lies, or a value. With class or sample weights the shares are not those of the records, and
        the file does not say so.

    Raises
    ------
    UnsupportedModelError
        If the model has more than one tree, splits on categories, or has a form of output that is not read.
    InvalidModelError
        If parts contradict each other or do not fit the domain.
    """
    trees = data.get("trees")
    one_tree(len(trees) if isinstance(trees, list) else 0, "the treelite model", REMEDY)
    listed = trees[0].get("nodes") if isinstance(trees, list) and isinstance(trees[0], dict) else None
    if not isinstance(listed, list) or not listed or not all(isinstance(node, dict) for node in listed):
        raise InvalidModelError("the tree of the treelite model must be a list of objects, 'nodes'.")
    width = data.get("num_feature")
    names = feature_names(None, width if type(width) is int else -1, domain, "the treelite model")
    classes, base = _outputs(data)
    parts: dict[Any, Part[Any]] = {}
    for node in listed:
        key = node.get("node_id")
        if type(key) is not int or key in parts:
            raise InvalidModelError(f"a node of the treelite model has the number {key!r:.40}; each needs its own.")
        size = node.get("data_count")
        total = size if type(size) is int and 0 <= size <= MOST_RECORDS else None
        if "leaf_value" in node:
            parts[key] = ((), _leaf(node["leaf_value"], base, classes, total))
        else:
            parts[key] = (_branches(node, names, domain), Evidence(total=total))
    return DecisionTree(assembled(listed[0]["node_id"], parts), names, classes, source="treelite")


def _outputs(data: dict[str, Any]) -> tuple[tuple[int, ...] | None, list[float]]:
    """Return the classes and the scores that every record starts with."""
    task, after = data.get("task_type"), data.get("postprocessor")
    listed = data.get("num_class")
    if data.get("num_target", 1) != 1 or not isinstance(listed, list) or len(listed) != 1:
        raise UnsupportedModelError("the treelite model predicts several outputs at once; one is supported.")
    width = listed[0]
    if type(width) is not int or not 1 <= width <= MOST_CLASSES:
        raise InvalidModelError(f"num_class must hold a number from 1 to {MOST_CLASSES}, got {width!r:.40}.")
    base = numbers(data.get("base_scores", [0.0] * width), width, "base_scores")
    if task == "kRegressor" and width == 1 and after == "identity":
        return None, base
    if task == "kBinaryClf" and width == 1 and after == "sigmoid":
        return (0, 1), base
    if task in ("kBinaryClf", "kMultiClf") and width > 1 and after in SHARES:
        return tuple(range(width)), base
    raise UnsupportedModelError(
        f"the task {task!r:.40} with the output {after!r:.40} is not read: scores must be shares, one class's, or a "
        "value."
    )


def _leaf(value: Any, base: list[float], classes: tuple[int, ...] | None, total: int | None) -> Evidence:
    scores = numbers(value if isinstance(value, list) else [value], len(base), "a leaf_value")
    scores = [score + start for score, start in zip(scores, base, strict=True)]
    if len(scores) == 1:
        return boosted_leaf(scores[0], classes is not None, total)
    label = scores.index(max(scores))
    counts = [score * total for score in scores] if total is not None else []
    whole = [round(count) for count in counts]
    near = all(abs(a - b) <= WHOLE * max(1, b) and b >= 0 for a, b in zip(counts, whole, strict=True))
    if total is not None and near and sum(whole) == total:
        return Evidence(counts=tuple(whole), label=label)
    return from_shares(scores, label, total)


def _branches(node: dict[str, Any], names: tuple[str, ...], domain: Domain | None) -> tuple[Any, ...]:
    operator, feature, bound = node.get("comparison_op"), node.get("split_feature_id"), node.get("threshold")
    if node.get("node_type") != "numerical_test_node" or operator not in OPERATORS:
        raise UnsupportedModelError("the treelite tree splits on categories. Learn it on one-hot columns.")
    if type(feature) is not int or not 0 <= feature < len(names):
        raise InvalidModelError(f"a node tests feature {feature!r:.40}, but the model has {len(names)}.")
    if isinstance(bound, bool) or not isinstance(bound, int | float) or bound != bound:
        raise InvalidModelError(f"a threshold must be a number, got {bound!r:.40}.")
    if abs(bound) > LARGEST:  # no bound
        bound = math.inf if bound > 0 else -math.inf
    name = names[feature]
    require(name, domain, "the treelite tree tests")
    missing, to_left = can_be_missing(name, domain, False), node.get("default_left") is True
    pair = sides(name, operator, float(bound), domain, (missing and to_left, missing and not to_left))
    children = node.get("left_child"), node.get("right_child")
    if not all(type(child) is int for child in children):
        raise InvalidModelError(f"a node leads to {children!r:.60}; nodes are numbered.")
    return tuple(zip(pair, children, strict=True))
