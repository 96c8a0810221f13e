"""The JSON that ``Booster.save_model`` of XGBoost writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassine.domain import Domain, Literal
from glassine.domain.single import single
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.boosted.ensemble import (
    MOST_CODES,
    boosted_forest,
    boosted_leaf,
    consistent_totals,
    exponential,
    numbers,
    picked,
    spelled,
    whole_numbers,
)
from glassine.formats.boosted.xgboost_counts import binary_counts
from glassine.formats.boosted.xgboost_parts import COUNTING, SEVERAL, Shared, check_spelling, shared_parts
from glassine.formats.builder import TreeBuilder, place_of, sides, source_of
from glassine.formats.conditions import damaged
from glassine.formats.ensembles import MULTIPLES, common_weight, sizes_of_leaves, together
from glassine.formats.format import of_values
from glassine.models.ensemble import Scoring, TreeEnsemble
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree, Forest

WHOLE = 1e-4
"""By how much of itself a cover may miss a whole number, in single precision."""
PENALTIES = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Values of lambda that people choose."""
FEWEST_ROWS, CLOSE = 5, 1e-3
"""Splits above two leaves that determine a learning rate, and how close it must come, in single precision."""
REMEDY = "Of a Booster, booster[:1].save_model('tree.json') writes the first round alone."


def tree_from_xgboost(data: object, domain: Domain | None = None, tree: int | None = None) -> DecisionTree:
    """Read one tree of an XGBoost model from plain JSON values.

    Parameters
    ----------
    data : dict
        What ``Booster.save_model("model.json")`` wrote, or ``model.ubj`` in plain values.
    domain : Domain, optional
        The public domain; it names the features of a model that does not.
    tree : int, optional
        The place of the tree, from 0, where there are several.

    Returns
    -------
    DecisionTree
        A leaf of the first tree has the class on whose side its score lies, base score included, or the predicted
        value. The scores of other trees are values, which add up over the trees. The sums of
        second derivatives, divided by the one of a record, are taken as numbers of records if every node's is whole
        and splits are the sums of their children; with sample weights they need not be, and the file does not say so.
        For a logistic objective, weights and gains of the first tree determine the class counts, which are read if
        they come out whole in every node. Records and thresholds are compared in single precision.

    Raises
    ------
    UnsupportedModelError
        If the model has several trees and none is asked for, is linear, or has an objective that is not read.
    InvalidModelError
        If lists contradict each other or do not fit the domain.
    InvalidParameterError
        If the model has no such tree.
    """
    shared = shared_parts(data, domain)
    place = place_of(len(shared.trees), tree, "the XGBoost model", REMEDY)
    return _tree(shared, place, domain, as_model=place == 0 and shared.first == len(shared.base[:1]))


def forest_from_xgboost(data: object, domain: Domain | None = None) -> Forest:
    """Read all trees of an XGBoost model from plain JSON values; scores add up."""
    shared = shared_parts(data, domain)
    if len(shared.trees) <= 1:
        return Forest(trees=(tree_from_xgboost(data, domain),), source="XGBoost")
    trees = [_tree(shared, i, domain, as_model=False) for i in range(len(shared.trees))]
    return boosted_forest(trees, "XGBoost")


def ensemble_from_xgboost(data: object, domain: Domain | None = None) -> TreeEnsemble | None:
    """Read all trees of an XGBoost model as an ensemble; None of a single one.

    Its covers give away the number of training records, and that of positives, where both come out whole; or that
    records had weights.
    """
    shared = shared_parts(data, domain)
    if len(shared.trees) <= 1:
        return None
    trees = [_tree(shared, i, domain, as_model=False) for i in range(len(shared.trees))]
    forest, several = Forest(trees=tuple(trees), source="XGBoost"), shared.objective in SEVERAL
    parallel = max(1, shared.first // len(shared.base))
    link: Any = "logit" if shared.binary else "softmax" if several else "log" if shared.exponential else "identity"
    scored = parallel == 1 or len(shared.base) == 1
    scoring = Scoring(forest=forest, link=link, base=tuple(shared.base)) if scored else None
    n, ones, weights = _people(shared, trees)
    published = []
    if n is not None:
        published.append(f"The covers of the first tree give the number of training records, {n:,}.")
    if ones is not None and n is not None:
        published.append(f"With the scores of its leaves they give the number of positive outcomes, {ones:,}.")
    rounds = shared.best
    if rounds is not None and 0 < rounds * shared.first < len(shared.trees):
        published.append(
            f"XGBoost's scikit-learn wrapper predicts with the first {rounds:,} rounds alone, after which training "
            f"stopped early. This audit reads all. To release those alone, save booster[:{rounds}]."
        )
    return together(
        forest,
        scoring,
        combined="sum",
        learner="XGBoost",
        classes=(0, 1) if shared.binary else tuple(range(len(shared.base))) if several else None,
        placed="values",
        outputs=len(shared.base),
        # Weights that trees got later hide the rate.
        rate=_rate([_lists(tree) for tree in shared.trees], shared.trees) if shared.drops is None else None,
        n_records=n,
        base_rate=ones / n if n and ones is not None else None,
        weights=weights,
        special=(
            *(("several trees in a round",) if parallel > 1 else ()),
            *(() if shared.drops is None else ("trees that are dropped",)),
        ),
        published=tuple(published),
    )


def _people(shared: Shared, trees: Sequence[DecisionTree]) -> tuple[int | None, int | None, str]:
    """Return the records of the first tree, those of the second class, and why they had weights, as its figures say.

    Covers are sums of weights. Those of many leaves that are all multiples of a number, whole or of one class, are of
    records that each weigh as much.
    """
    first, n = shared.trees[0], trees[0].n_records
    if shared.weighted:
        return None, None, "it gives the records of the second class a weight of their own"
    if n is None:
        # Of other objectives, the second derivative of a record depends on its outcome or on settings of the library.
        silent = not (shared.binary or shared.objective in COUNTING) or "sum_hessian" not in first
        return None, None, "" if silent else "the covers of its first tree are not those of whole records"
    lists = _lists(first)
    leaves = [i for i, left in enumerate(lists.left) if left == -1]
    totals = _totals(shared, first, 0, lists, vector=False)
    counts = _counts(shared, first, lists, totals) if shared.binary else None
    of_classes = [[[counts[i][k] for i in leaves]] for k in (0, 1) if counts is not None]
    for listed in (sizes_of_leaves(trees), *of_classes):
        if (common := common_weight(listed)) > 1:
            return None, None, MULTIPLES.format(common)
    if counts is not None:
        ones = counts[0][1]
    else:
        ones = round(n * shared.chance)
        # A base score that was chosen, and not estimated, gives a whole number by chance alone.
        if not shared.binary or not shared.estimated or abs(n * shared.chance - ones) > WHOLE * max(1.0, n / 100):
            return n, None, ""
    return n, ones if 0 < ones < n else None, ""


def _rate(every: Sequence[_Lists], trees: Sequence[Any]) -> float | None:
    """Return the learning rate by which leaves were shrunk; None where the weights of nodes do not determine it."""
    # A split keeps its full weight, -G / (H + lambda), a leaf that times the rate; gradients of children add up.
    rows: list[tuple[float, ...]] = []
    for lists, tree in zip(every, trees, strict=True):
        n = len(lists.left)
        if not {"base_weights", "sum_hessian"} <= set(tree):
            return None
        weights, hessians = numbers(tree["base_weights"], n, "base_weights"), numbers(tree["sum_hessian"], n, "covers")
        for node, pair in enumerate(lists.children):
            if pair and all(0 <= child < n and lists.left[child] == -1 for child in pair):
                below = [(lists.bounds[child], hessians[child]) for child in pair]
                rows.append((weights[node], hessians[node], *below[0], *below[1]))
    if len(rows) < FEWEST_ROWS:
        return None
    w, h, a, ha, b, hb = np.array(rows).T
    best: tuple[float, float] = (math.inf, 1.0)
    for penalty in PENALTIES:
        own, leaves = w * (h + penalty), a * (ha + penalty) + b * (hb + penalty)
        scale = float(own @ own)
        rate = float(own @ leaves) / scale if scale > 0 else 0.0
        error = float(np.median(np.abs(leaves - rate * own) / (np.abs(rate * own) + 1e-6))) if rate > 0 else math.inf
        best = min(best, (error, rate))
    return best[1] if best[0] < CLOSE and 0 < best[1] <= 1 + CLOSE else None


@dataclass(frozen=True, slots=True)
class _Lists:
    """The lists of one tree."""

    left: list[int]
    right: list[int]
    indices: list[int]
    bounds: list[float]
    defaults: list[int]
    types: list[int]
    chosen: dict[int, list[int]]

    @property
    def children(self) -> list[tuple[int, ...]]:
        """The children of each node."""
        return [(a, b) if a != -1 else () for a, b in zip(self.left, self.right, strict=True)]


def _lists(tree: object) -> _Lists:
    if not isinstance(tree, dict):
        raise damaged("a tree of the XGBoost model must be an object.")
    left = whole_numbers(tree.get("left_children"), None, "left_children")
    n = len(left)
    return _Lists(
        left,
        whole_numbers(tree.get("right_children"), n, "right_children"),
        whole_numbers(tree.get("split_indices"), n, "split_indices"),
        numbers(tree.get("split_conditions"), n, "split_conditions"),
        whole_numbers(tree.get("default_left"), n, "default_left"),
        whole_numbers(tree.get("split_type", [0] * n), n, "split_type"),
        _chosen(tree),
    )


def _chosen(tree: dict[str, Any]) -> dict[int, list[int]]:
    """Return the codes that each split on categories sends to the right."""
    nodes = whole_numbers(tree.get("categories_nodes", []), None, "categories_nodes")
    starts = whole_numbers(tree.get("categories_segments", []), len(nodes), "categories_segments")
    sizes = whole_numbers(tree.get("categories_sizes", []), len(nodes), "categories_sizes")
    codes = whole_numbers(tree.get("categories", []), None, "categories")
    out: dict[int, list[int]] = {}
    used = 0
    for node, start, size in zip(nodes, starts, sizes, strict=True):
        if node in out or not 0 <= start <= start + size <= len(codes):
            raise damaged(f"the categories of node {node} do not fit the list of them.")
        used += size
        if used > len(codes):
            raise damaged("the XGBoost tree lists a category for two nodes.")
        out[node] = codes[start : start + size]
    if any(not 0 <= code < MOST_CODES for code in codes):
        raise damaged(f"codes of categories must be from 0 to {MOST_CODES - 1}.")
    return out


def _tree(shared: Shared, place: int, domain: Domain | None, *, as_model: bool) -> DecisionTree:
    """Return a tree: a separate model, or one whose scores add to those of others."""
    tree = shared.trees[place]
    lists = _lists(tree)
    vector = tree.get("tree_param")
    width = str(vector.get("size_leaf_vector", "1")) if isinstance(vector, dict) else "1"
    if width not in ("0", "1") and (width != str(len(shared.base)) or shared.objective not in SEVERAL):
        raise UnsupportedModelError("the leaves of the XGBoost tree hold several outputs, which are no classes.")
    if width not in ("0", "1") and place:
        raise UnsupportedModelError(
            "XGBoost trees that hold scores of several classes are not read together.",
            remedy="Read the first with load_model(..., tree=0).",
        )
    evidence, classes = _evidence(shared, tree, place, lists, as_model=as_model, vector=width not in ("0", "1"))
    builder: TreeBuilder[int] = TreeBuilder("the XGBoost tree", domain, shared.names, spare=True)
    for i, (left, right) in enumerate(zip(lists.left, lists.right, strict=True)):
        if left == -1:
            builder.leaf(i, evidence[i])
        else:
            builder.split(i, _pair(shared, lists, i, builder), (left, right), evidence[i])
    return builder.tree(0, classes, source_of("XGBoost", place, len(shared.trees)), sizes="derived")


def _pair(shared: Shared, lists: _Lists, i: int, builder: TreeBuilder[int]) -> tuple[Literal, Literal]:
    """Return the conditions of the left and the right branch of a node."""
    feature, domain = lists.indices[i], builder.domain
    name = builder.feature(feature, i)
    gaps = builder.gaps(name, bool(lists.defaults[i]))
    if lists.types[i]:
        if i not in lists.chosen:
            raise InvalidModelError(f"node {i} splits on categories, but the tree lists none for it.")
        values = spelled(name, lists.chosen[i], shared.categories[feature], domain, "the XGBoost model")
        check_spelling(values, name, domain)
        right, left = picked(name, values, domain, (gaps[1], gaps[0]), shared.categories[feature])
        return left, right
    if shared.categories[feature] is not None:
        raise damaged(f"node {i} puts a threshold on the categories of {name!r:.60}.")
    return sides(name, "<", single(lists.bounds[i]), domain, gaps, single=True)


def _evidence(
    shared: Shared, tree: dict[str, Any], place: int, lists: _Lists, *, as_model: bool, vector: bool
) -> tuple[list[Evidence], tuple[int, ...] | None]:
    """Return what each node publishes, and the classes."""
    totals = _totals(shared, tree, place, lists, vector)
    if vector:
        return _shares(shared, tree, lists, totals), tuple(range(len(shared.base)))
    out: list[Evidence] = []
    counts = _counts(shared, tree, lists, totals) if as_model and shared.binary else None
    weight = 1.0 if shared.drops is None else shared.drops[place]
    for i, (own, total) in enumerate(zip(lists.bounds, totals, strict=True)):
        score = own * weight
        if lists.left[i] != -1:
            out.append(Evidence(counts=counts[i]) if counts is not None else Evidence(total=total))
        elif not as_model:
            out.append(Evidence(total=total, value=score))
        elif shared.exponential:
            out.append(Evidence(total=total, value=exponential(score + shared.base[0])))
        else:
            leaf = boosted_leaf(score + shared.base[0], shared.binary, total)
            out.append(Evidence(counts=counts[i], label=leaf.label) if counts is not None else leaf)
    return out, (0, 1) if as_model and shared.binary else None


def _shares(shared: Shared, tree: dict[str, Any], lists: _Lists, totals: Sequence[int | None]) -> list[Evidence]:
    """Return what the nodes of a tree with one score a class publish; its leaves are numbered by their right child."""
    width = len(shared.base)
    leaves = [i for i, child in enumerate(lists.left) if child == -1]
    if "leaf_weights" not in tree:
        raise UnsupportedModelError("this XGBoost tree of several classes was written by a version that is not read.")
    scores = numbers(tree["leaf_weights"], width * len(leaves), "leaf_weights")
    out = [Evidence(total=total) for total in totals]
    for i in leaves:
        row = lists.right[i]
        if not 0 <= row < len(leaves):
            raise InvalidModelError(f"leaf {i} has the scores of row {row}, but there are {len(leaves)}.")
        sums = [a + b for a, b in zip(scores[row * width : (row + 1) * width], shared.base, strict=True)]
        out[i] = Evidence(total=totals[i], label=sums.index(max(sums)))
    return out


def _totals(shared: Shared, tree: dict[str, Any], place: int, lists: _Lists, vector: bool) -> list[int | None]:
    """Return the number of records of each node, as far as the sums of second derivatives reveal it."""
    unknown: list[int | None] = [None] * len(lists.left)
    each = shared.each
    if "sum_hessian" not in tree or each is None or (place >= shared.first and shared.objective not in COUNTING):
        return unknown
    sums = numbers(tree["sum_hessian"], len(lists.left), "sum_hessian")
    one = sum(each) if vector else each[place % len(each)]
    if not one > 0:
        return unknown
    mean = [total / one for total in sums]
    if any(not 0 <= total < 2**53 or abs(total - round(total)) > WHOLE * max(1.0, total) for total in mean):
        return unknown
    totals: list[int | None] = [round(total) for total in mean]
    below = lists.children
    inside = all(0 <= child < len(below) for pair in below for child in pair)
    return totals if inside and consistent_totals(totals, below) else unknown


def _counts(
    shared: Shared, tree: dict[str, Any], lists: _Lists, totals: Sequence[int | None]
) -> list[tuple[int, int]] | None:
    """Return the class counts of every node of a logistic tree, where its figures determine them."""
    sizes = [total for total in totals if total is not None]
    if len(sizes) < len(totals) or not {"base_weights", "loss_changes"} <= set(tree):
        return None
    below = [child for pair in lists.children for child in pair]
    if len(set(below)) < len(below) or 0 in below:  # no tree
        return None
    n = len(sizes)
    weights = numbers(tree["base_weights"], n, "base_weights")
    weights = [
        score if left == -1 else weight for score, weight, left in zip(lists.bounds, weights, lists.left, strict=True)
    ]
    gains = numbers(tree["loss_changes"], n, "loss_changes")
    hessians = numbers(tree["sum_hessian"], n, "sum_hessian")
    if any(max(abs(w), abs(g), abs(h)) > 1e50 for w, g, h in zip(weights, gains, hessians, strict=True)):
        return None
    return binary_counts(shared.chance, sizes, hessians, weights, gains, lists.children)


FORMAT = of_values(
    name="XGBoost",
    again="booster.save_model('model.json')",
    reads="XGBoost's JSON or UBJSON",
    reveals="conditions, scores as classes or values, often numbers of records and class counts",
    leaves_out="sample weights; numbers of records where its sums do not determine them",
    extensions=(".json", ".ubj"),
    sniff=lambda data: isinstance(data, dict) and "learner" in data and "schema" not in data,
    read=tree_from_xgboost,
    read_all=forest_from_xgboost,
    read_ensemble=ensemble_from_xgboost,
)
