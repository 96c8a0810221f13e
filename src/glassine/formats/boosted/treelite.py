"""The JSON that ``Model.dump_as_json`` of treelite writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from glassine.domain import Domain, Literal
from glassine.domain.attributes import LARGEST
from glassine.domain.single import single as to_single
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.boosted.ensemble import (
    MOST_RECORDS,
    boosted_forest,
    boosted_leaf,
    exponential,
    numbers,
    picked,
    spelled,
    whole_numbers,
)
from glassine.formats.builder import (
    TreeBuilder,
    feature_names,
    from_shares,
    place_of,
    sides,
    source_of,
    whole_counts,
    without_sizes,
)
from glassine.formats.conditions import damaged
from glassine.formats.ensembles import together
from glassine.formats.format import of_values
from glassine.models.ensemble import Scoring, TreeEnsemble
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree, Forest, Table

SHARES, EXPONENTIAL = ("identity", "identity_multiclass"), "exponential"
OPERATORS = ("<", "<=", ">", ">=", "==")
WHOLE = 1e-5
MOST_CLASSES = 10_000
REMEDY = "Import a model with one tree, such as one member of the forest."


def tree_from_treelite(data: Any, domain: Domain | None = None, tree: int | None = None) -> DecisionTree:
    """Read one tree of a treelite model from plain JSON values.

    Parameters
    ----------
    data : dict
        What ``Model.dump_as_json()`` wrote, of version 4 or later.
    domain : Domain, optional
        The public domain; treelite keeps no names, so that its attributes are the features in order.
    tree : int, optional
        The place of the tree, from 0, where there are several.

    Returns
    -------
    DecisionTree
        Nodes have their number of records where the file does. Leaves with a share of each class have class counts
        where the shares of their records are whole numbers and their weight is their number, else an error rate; other
        leaves have the class of the largest score, or a value. The scores of one of several boosted trees are values,
        which add up. With class or sample weights the shares are not those of the records; a file without the
        sums of the weights does not say so. Lists of categories are lists of codes.

    Raises
    ------
    UnsupportedModelError
        If the model has several trees and none is asked for, or has a form of output that is not read.
    InvalidModelError
        If parts contradict each other or do not fit the domain.
    InvalidParameterError
        If the model has no such tree.
    """
    trees = data.get("trees")
    n = len(trees) if isinstance(trees, list) else 0
    place = place_of(n, tree, "the treelite model", REMEDY)
    listed = trees[place].get("nodes") if isinstance(trees[place], dict) else None
    if not isinstance(listed, list) or not listed or not all(isinstance(node, dict) for node in listed):
        raise InvalidModelError("the tree of the treelite model must be a list of objects, 'nodes'.")
    width = data.get("num_feature")
    names = feature_names(None, width if type(width) is int else -1, domain, "the treelite model")
    classes, base, shares = _outputs(data)
    vector = isinstance(listed[-1].get("leaf_value"), list) or any(
        isinstance(node.get("leaf_value"), list) for node in listed
    )
    if (n > 1 and not shares) or (len(base) > 1 and not vector):
        if vector:
            raise UnsupportedModelError("the leaves of the treelite trees hold several scores, which add up.")
        classes, base = None, [0.0]
    builder: TreeBuilder[int] = TreeBuilder("the treelite tree", domain, names)
    single = data.get("threshold_type") == "float32"
    for node in listed:
        key = node.get("node_id")
        if type(key) is not int or key in builder:
            raise InvalidModelError(f"a node of the treelite model has the number {key!r:.40}; each needs its own.")
        size = node.get("data_count")
        total = size if type(size) is int and 0 <= size <= MOST_RECORDS else None
        if "leaf_value" in node:
            weighted = node.get("sum_hess", size) != size
            evidence = _leaf(node["leaf_value"], base, classes, total, shares, weighted)
            if data.get("postprocessor") == EXPONENTIAL and n == 1 and evidence.value is not None:
                evidence = Evidence(total=total, value=exponential(evidence.value))
            builder.leaf(key, evidence)
        else:
            builder.split(key, *_branches(node, builder, single), Evidence(total=total))
    source = source_of("treelite", place, n)
    # Numbers of rows are stored; shares are by weight, and only sums of weights show whether rows were weighted.
    unweighed = shares and any("sum_hess" not in node for node in listed)
    return builder.tree(listed[0]["node_id"], classes, source, sizes="derived" if unweighed else "stored")


def forest_from_treelite(data: Any, domain: Domain | None = None) -> Forest:
    """Read all trees of a treelite model from plain JSON values."""
    # For a forest of shares, the weights of the leaves show whether its records were drawn with replacement, and then
    # how many draws of each class a leaf captured. For boosted trees, the file does not say whether they were trained
    # on samples of the records, so that numbers of records are not read.
    listed = data.get("trees")
    n = len(listed) if isinstance(listed, list) else 0
    trees = tuple(tree_from_treelite(data, domain, place) for place in range(n)) or (tree_from_treelite(data, domain),)
    if n == 1:
        return Forest(trees=trees, bootstrap=_weighs(listed[0]) is True, source="treelite")
    if data.get("average_tree_output") is not True or data.get("postprocessor") not in SHARES:
        return Forest(trees=tuple(without_sizes(tree) for tree in trees), source="treelite")
    weighs = [_weighs(entry) for entry in listed]
    if not any(weight is not False for weight in weighs):
        return boosted_forest(trees, "treelite")
    if any(weight is None for weight in weighs):
        return Forest(trees=tuple(without_sizes(tree) for tree in trees), bootstrap=True, source="treelite")
    return Forest(trees=trees, bootstrap=True, drawn=_drawn(listed, trees), source="treelite")


def ensemble_from_treelite(data: Any, domain: Domain | None = None) -> TreeEnsemble | None:
    """Read all trees of a treelite model as an ensemble; None of a single one."""
    listed = data.get("trees")
    if not isinstance(listed, list) or len(listed) <= 1:
        return None
    classes, base, shares = _outputs(data)
    trees = tuple(tree_from_treelite(data, domain, place) for place in range(len(listed)))
    forest = Forest(trees=trees, source="treelite")
    mean = data.get("average_tree_output") is True
    link: Any = "shares" if shares else "logit" if classes is not None and len(base) == 1 else "identity"
    if data.get("postprocessor") == EXPONENTIAL:
        link = "log"
    if classes is not None and not shares and len(base) > 1:
        link = "softmax"
    counts = [tree.n_records for tree in trees]
    drawn = shares and any(_weighs(entry) for entry in listed)
    n = sum(node.get("sum_hess", 0) for node in listed[0]["nodes"] if "leaf_value" in node) if drawn else counts[0]
    whole = n is not None and float(n).is_integer() and (not drawn or len(set(counts)) > 1)
    return together(
        forest,
        Scoring(forest=forest, link=link, base=(0.0,) if shares else tuple(base), mean=mean and not shares),
        combined="mean" if mean or shares else "sum",
        learner="forest" if mean or shares else "boosted trees",
        classes=classes,
        placed="unknown",
        outputs=1 if shares else len(base),
        n_records=int(n) if whole and n is not None else None,
        whole=mean or shares,
    )


def _weighs(tree: Any) -> bool | None:
    """Return whether records of a tree weigh other than 1, as drawn ones do; None where the file does not say."""
    nodes = [node for node in tree["nodes"] if "sum_hess" in node and "data_count" in node]
    if not nodes:
        return None
    return any(node["sum_hess"] != node["data_count"] for node in nodes)


def _drawn(listed: Any, trees: Sequence[DecisionTree]) -> tuple[Table, ...] | None:
    """Return how many draws of each class each leaf captured; None where weights are no numbers of draws."""
    out: list[Table] = []
    for entry, tree in zip(listed, trees, strict=True):
        leaves = [node for node in _in_order(entry["nodes"]) if "leaf_value" in node]
        rows: list[tuple[int, ...]] = []
        for node, cell in zip(leaves, tree.cells, strict=True):
            weight = node.get("sum_hess")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= MOST_RECORDS:
                return None
            shares = [float(weight)]
            if tree.classes is not None:
                shares = [share * weight for share in numbers(node["leaf_value"], None, "a leaf_value")]
            row = tuple(round(share) for share in shares)
            near = all(abs(a - b) <= WHOLE * max(1, b) and b >= 0 for a, b in zip(shares, row, strict=True))
            size = cell.evidence.size or 0
            if not near or sum(row) != weight or not sum(1 for draws in row if draws) <= size <= sum(row):
                return None
            rows.append(row)
        out.append(tuple(rows))
    draws = {sum(map(sum, table)) for table in out}
    return tuple(out) if len(draws) == 1 else None


def _in_order(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the nodes of a tree that has been read, depth first."""
    by_key = {node["node_id"]: node for node in nodes}
    out, stack = [], [nodes[0]["node_id"]]
    while stack:
        node = by_key[stack.pop()]
        out.append(node)
        if "leaf_value" not in node:
            stack += [node["right_child"], node["left_child"]]
    return out


def _outputs(data: dict[str, Any]) -> tuple[tuple[int, ...] | None, list[float], bool]:
    """Return the classes, the scores that every record starts with, and whether leaves hold shares."""
    task, after = data.get("task_type"), data.get("postprocessor")
    listed = data.get("num_class")
    if data.get("num_target", 1) != 1 or not isinstance(listed, list) or len(listed) != 1:
        raise UnsupportedModelError("the treelite model predicts several outputs at once; one is supported.")
    width = listed[0]
    if type(width) is not int or not 1 <= width <= MOST_CLASSES:
        raise InvalidModelError(f"num_class must hold a number from 1 to {MOST_CLASSES}, got {width!r:.40}.")
    base = numbers(data.get("base_scores", [0.0] * width), width, "base_scores")
    if task == "kRegressor" and width == 1 and after in ("identity", EXPONENTIAL):
        return None, base, False
    # Scores that stay scores decide between two classes all the same.
    if task == "kBinaryClf" and width == 1 and after in ("sigmoid", "identity"):
        return (0, 1), base, False
    if task in ("kBinaryClf", "kMultiClf") and width > 1 and after in (*SHARES, "softmax"):
        return tuple(range(width)), base, after in SHARES
    raise UnsupportedModelError(
        f"the task {task!r:.40} with the output {after!r:.40} is not read: scores must be shares, one class's, or a "
        "value."
    )


def _leaf(
    value: object, base: list[float], classes: tuple[int, ...] | None, total: int | None, shares: bool, weighted: bool
) -> Evidence:
    scores = numbers(value if isinstance(value, list) else [value], len(base), "a leaf_value")
    scores = [score + start for score, start in zip(scores, base, strict=True)]
    if len(scores) == 1:
        return boosted_leaf(scores[0], classes is not None, total)
    label = scores.index(max(scores))
    if not shares:
        return Evidence(total=total, label=label)
    if weighted:
        # The shares of weighted records reveal a class alone, if there is only one.
        if total is not None and sorted(scores)[:-1] == [0.0] * (len(scores) - 1):
            return Evidence(counts=tuple(total if i == label else 0 for i in range(len(scores))), label=label)
        return from_shares(scores, label, total, weighted=True)
    counts = None
    if total is not None:
        counts = whole_counts([score * total for score in scores], total, lambda count: WHOLE * max(1, count))
    return from_shares(scores, label, total) if counts is None else Evidence(counts=counts, label=label)


def _branches(
    node: dict[str, Any], builder: TreeBuilder[int], single: bool
) -> tuple[tuple[Literal, Literal], list[int]]:
    """Return the conditions of the two branches of a node, and the numbers of its children."""
    operator, kind, domain = node.get("comparison_op"), node.get("node_type"), builder.domain
    name = builder.feature(node.get("split_feature_id"))
    gaps = builder.gaps(name, node.get("default_left") is True)
    if kind == "categorical_test_node":
        codes = whole_numbers(node.get("category_list"), None, "category_list")
        if any(not 0 <= code < 2**32 for code in codes):
            raise damaged("category_list must hold codes from 0 to 2^32 - 1.")
        values = spelled(name, codes, None, domain, "the treelite model")
        right = node.get("category_list_right_child") is True
        pair = picked(name, values, domain, gaps[::-1] if right else gaps)
        pair = pair[::-1] if right else pair
    elif kind == "numerical_test_node" and operator in OPERATORS:
        bound = _bound(node.get("threshold"))
        pair = sides(name, operator, to_single(bound) if single else bound, domain, gaps, single=single)
    else:
        raise UnsupportedModelError(f"a node of the kind {kind!r:.40} that compares by {operator!r:.40} is not read.")
    children = [child for child in (node.get("left_child"), node.get("right_child")) if type(child) is int]
    if len(children) < 2:
        raise InvalidModelError("a node leads to a child that has no number; nodes are numbered.")
    return pair, children


def _bound(bound: object) -> float:
    if isinstance(bound, bool) or not isinstance(bound, int | float) or bound != bound:
        raise InvalidModelError(f"a threshold must be a number, got {bound!r:.40}.")
    if abs(bound) > LARGEST:  # no bound
        return math.inf if bound > 0 else -math.inf
    return float(bound)


FORMAT = of_values(
    name="treelite",
    again="model.dump_as_json() of treelite 4",
    reads="JSON of treelite's `dump_as_json`",
    reveals="conditions, shares or scores as classes or values, often numbers of records and class counts",
    leaves_out="names of attributes and categories; whether boosted trees saw samples of the records",
    sniff=lambda data: isinstance(data, dict) and {"trees", "num_feature"} <= set(data) and "schema" not in data,
    read=tree_from_treelite,
    read_all=forest_from_treelite,
    read_ensemble=ensemble_from_treelite,
)
