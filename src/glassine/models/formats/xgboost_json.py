"""The JSON that ``Booster.save_model`` of XGBoost writes, of a model with one tree."""

from __future__ import annotations

import math
from typing import Any

from glassine.domain import Domain
from glassine.domain.attributes import LARGEST
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.evidence import Evidence
from glassine.models.formats.assembling import Part, assembled, can_be_missing, feature_names, one_tree, sides
from glassine.models.formats.boosted import boosted_leaf, consistent_totals, numbers, whole_numbers
from glassine.models.formats.conditions import require
from glassine.models.tree import DecisionTree

__all__ = ["is_xgboost_json", "tree_from_xgboost"]

REGRESSIONS = ("reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror")
BINARY = ("binary:logistic", "binary:logitraw", "reg:logistic")
WHOLE = 1e-4
REMEDY = "Of a Booster, booster[:1].save_model('tree.json') writes the first tree alone."


def is_xgboost_json(data: Any) -> bool:
    """Return whether plain JSON values are a model of XGBoost."""
    return isinstance(data, dict) and "learner" in data and "schema" not in data


def tree_from_xgboost(data: Any, domain: Domain | None = None) -> DecisionTree:
    """Read the one tree of an XGBoost model from plain JSON values.

    Parameters
    ----------
    data : dict
        What ``Booster.save_model("model.json")`` wrote.
    domain : Domain, optional
        The public domain; it names the features of a model that does not.

    Returns
    -------
    DecisionTree
        A leaf tells the class on whose side its score lies, base score included, or the predicted value. The sums of
        second derivatives, divided by the one of a record, are taken as numbers of records if every node's is whole
        and splits are the sums of their children; with sample weights they need not be, and the file does not say so.
        Thresholds are as printed, which are the decimals of single precision.

    Raises
    ------
    UnsupportedModelError
        If the model has more than one tree, is linear, splits on categories, or has an objective that is not read.
    InvalidModelError
        If lists contradict each other or do not fit the domain.
    """
    learner = _part(data, "learner")
    booster = _part(learner, "gradient_booster")
    if booster.get("name") != "gbtree":
        raise UnsupportedModelError(f"a booster of kind gbtree is read, got {booster.get('name')!r:.40}.")
    trees = _part(booster, "model").get("trees")
    one_tree(len(trees) if isinstance(trees, list) else 0, "the XGBoost model", REMEDY)
    tree: dict[str, Any] = trees[0] if isinstance(trees, list) and isinstance(trees[0], dict) else {}
    vector = tree.get("tree_param")
    if isinstance(vector, dict) and vector.get("size_leaf_vector", "1") not in ("0", "1"):
        raise UnsupportedModelError("the leaves of the XGBoost tree hold several outputs; one is supported.")
    objective = _part(learner, "objective").get("name")
    if objective not in (*REGRESSIONS, *BINARY):
        raise UnsupportedModelError(
            f"the objective {objective!r:.40} is not read: its scores are neither a value nor a class of two."
        )
    parameters = _part(learner, "learner_model_param")
    names = _names(learner, parameters, domain)
    listed = learner.get("feature_types")
    kinds = listed if isinstance(listed, list) else []
    base = _base(parameters.get("base_score"), objective in BINARY)
    left = whole_numbers(tree.get("left_children"), None, "left_children")
    n = len(left)
    right = whole_numbers(tree.get("right_children"), n, "right_children")
    indices = whole_numbers(tree.get("split_indices"), n, "split_indices")
    bounds = numbers(tree.get("split_conditions"), n, "split_conditions")
    defaults = whole_numbers(tree.get("default_left"), n, "default_left")
    if any(whole_numbers(tree.get("split_type", [0] * n), n, "split_type")):
        raise UnsupportedModelError("the XGBoost tree splits on categories. Learn it on one-hot columns.")
    totals = _totals(tree, left, right, base, objective)
    parts: dict[int, Part[int]] = {}
    for i in range(n):
        if left[i] == -1:
            parts[i] = ((), boosted_leaf(bounds[i] + base, objective in BINARY, totals[i]))
            continue
        if not 0 <= indices[i] < len(names):
            raise InvalidModelError(f"node {i} tests feature {indices[i]}, but the model has {len(names)}.")
        name = names[indices[i]]
        require(name, domain, "the XGBoost tree tests")
        missing, to_left = can_be_missing(name, domain, False), bool(defaults[i])
        whole = indices[i] < len(kinds) and kinds[indices[i]] in ("int", "i")
        test = ("<=", math.ceil(bounds[i]) - 1.0) if whole else ("<", bounds[i])
        pair = sides(name, *test, domain, (missing and to_left, missing and not to_left))
        parts[i] = (tuple(zip(pair, (left[i], right[i]), strict=True)), Evidence(total=totals[i]))
    classes = (0, 1) if objective in BINARY else None
    return DecisionTree(assembled(0, parts, spare=True), names, classes, source="XGBoost")


def _part(entry: Any, key: str) -> dict[str, Any]:
    value = entry.get(key)
    if not isinstance(value, dict):
        raise InvalidModelError(f"the XGBoost model lacks the object {key!r}. Write it with save_model('model.json').")
    return value


def _names(learner: dict[str, Any], parameters: dict[str, Any], domain: Domain | None) -> tuple[str, ...]:
    listed = learner.get("feature_names")
    if isinstance(listed, list) and listed:
        if not all(isinstance(name, str) for name in listed):
            raise InvalidModelError("the XGBoost model must name features by texts.")
        return feature_names(listed, len(listed), domain, "the XGBoost model")
    text = str(parameters.get("num_feature"))
    width = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1
    return feature_names(None, width, domain, "the XGBoost model")


def _base(text: Any, binary: bool) -> float:
    """Return the score that every record starts with; the file holds the probability that it means."""
    try:
        base = float(str(text).strip("[]"))
    except ValueError:
        base = math.nan
    if not abs(base) <= LARGEST or (binary and not 0 < base < 1):
        raise InvalidModelError(
            f"base_score must be one finite number, and a probability of classes, got {text!r:.40}."
        )
    return math.log(base / (1 - base)) if binary else base


def _totals(tree: dict[str, Any], left: list[int], right: list[int], base: float, objective: str) -> list[int | None]:
    """Return the number of records of each node, as far as the sums of second derivatives tell it."""
    unknown: list[int | None] = [None] * len(left)
    if "sum_hessian" not in tree:
        return unknown
    sums = numbers(tree["sum_hessian"], len(left), "sum_hessian")
    chance = 1 / (1 + math.exp(-base)) if objective in BINARY and abs(base) < 300 else 0.5
    each = chance * (1 - chance) if objective in BINARY else 1.0 if objective in REGRESSIONS[:2] else 0.0
    if not each > 0:
        return unknown
    found = [total / each for total in sums]
    if any(total < 0 or abs(total - round(total)) > WHOLE * max(1.0, total) for total in found):
        return unknown
    totals: list[int | None] = [round(total) for total in found]
    below = [(a, b) if a != -1 else () for a, b in zip(left, right, strict=True)]
    inside = all(0 <= child < len(left) for pair in below for child in pair)
    return totals if inside and consistent_totals(totals, below) else unknown
