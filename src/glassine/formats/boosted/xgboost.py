"""The JSON that ``Booster.save_model`` of XGBoost writes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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
from glassine.formats.boosted.xgboost_parts import COUNTING, SEVERAL, Shared, check_spelling, shared_parts
from glassine.formats.builder import TreeBuilder, place_of, sides, source_of
from glassine.formats.conditions import damaged
from glassine.formats.ensembles import together
from glassine.formats.format import of_values
from glassine.models.ensemble import Scoring, TreeEnsemble
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree, Forest

# How many records of each class a leaf of XGBoost holds: what its published figures determine.
#
# In the first tree of a logistic model every record has the second derivative p (1 - p). A node of n records, k of
# them of the second class, has the sum of gradients G = n p - k and the weight -G / (H + lambda); the weight of a
# leaf is multiplied by the learning rate. Neither the rate nor lambda is in the file, but gradients add up over the
# branches of each split, and its gain is the sum of G^2 / (H + lambda) over its branches less that of the split
# itself: two equations for each split. Where a penalty or a bound on the steps was in force besides, they do not
# hold.

USUAL = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
WIDEST = 1e4
NEAR = 1e-4
WHOLE_COUNT = 1e-3
NONE = 1e-5


def binary_counts(
    chance: float,
    totals: Sequence[int],
    hessians: Sequence[float],
    weights: Sequence[float],
    gains: Sequence[float],
    children: Sequence[tuple[int, ...]],
) -> list[tuple[int, int]] | None:
    """Return the class counts of every node; None where the figures do not determine whole numbers that agree."""
    reached, stack = [], [0]
    while stack:
        reached.append(stack.pop())
        stack += children[reached[-1]]
    # An L1 penalty brings every gradient closer to 0 by as much, which shows only where three are none of them 0.
    visible = any(min(abs(weights[i]) for i in (node, *children[node])) > NONE for node in reached if children[node])
    if not visible or not 0 < chance < 1:
        return None
    system = _System(reached, hessians, weights, gains, children)
    sizes = np.array(totals)[reached]
    consistent: list[tuple[int, int]] | None = None
    for penalty in dict.fromkeys((*USUAL, *system.penalties())):
        gradients = system.gradients(penalty)
        if gradients is None:
            continue
        exact = sizes * chance - gradients
        ones = np.rint(exact)
        near = np.abs(exact - ones) <= np.minimum(0.1, WHOLE_COUNT + 2e-6 * sizes)
        if not (near & (ones >= 0) & (ones <= sizes)).all():
            continue
        counts = [(0, 0)] * len(totals)
        for node, k in zip(reached, ones.astype(int).tolist(), strict=True):
            counts[node] = (totals[node] - k, k)
        if consistent is not None and counts != consistent:
            return None
        consistent = counts
    return consistent


class _System:
    """The equations of a tree: arrays over the nodes that the root leads to, the root first."""

    def __init__(
        self,
        reached: Sequence[int],
        hessians: Sequence[float],
        weights: Sequence[float],
        gains: Sequence[float],
        children: Sequence[tuple[int, ...]],
    ) -> None:
        place = {node: i for i, node in enumerate(reached)}
        self.hessians, self.weights, self.gains = (np.array(all_)[reached] for all_ in (hessians, weights, gains))
        self.leaf = np.array([not children[node] for node in reached])
        # The places of the two children of each split, shape (splits, 2).
        self.below = np.array([[place[child] for child in children[node]] for node in reached if children[node]])

    def rate(self, penalty: float) -> float | None:
        """Return the learning rate under which the gains add up to those of the leaves."""
        own = self.weights**2 * (self.hessians + penalty)
        top, below = float(own[self.leaf].sum()), float(self.gains[~self.leaf].sum() + own[0])
        rate = math.sqrt(top / below) if below > 0 and top > 0 else 0.0
        return rate if 0 < rate <= 10 else None

    def _excess(self, penalty: float) -> float:
        """Return by how much the gradient of the root exceeds the sum of those of the leaves, up to a factor."""
        rate = self.rate(penalty)
        own = self.weights * (self.hessians + penalty)
        return math.nan if rate is None else float(own[0] * rate - own[self.leaf].sum())

    def penalties(self) -> list[float]:
        """Return values of lambda under which gradients add up, rounded as people choose them."""
        steps = [0.0, *(10 ** (k / 10) for k in range(-30, 41))]
        signs = [(step, self._excess(step)) for step in steps]
        out: list[float] = []
        for (low, before), (high, after) in itertools.pairwise(signs):
            if before * after >= 0 or not math.isfinite(before * after):
                continue
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if self._excess(middle) * before > 0 else (low, middle)
            out += [float(f"{low:.{digits}g}") for digits in (1, 2, 3)]
        return [value for value in out if value <= WIDEST]

    def gradients(self, penalty: float) -> npt.NDArray[np.float64] | None:
        """Return the sum of gradients of each node; None where an equation does not hold."""
        rate, curves = self.rate(penalty), self.hessians + penalty
        if rate is None or (curves <= 0).any():
            return None
        with np.errstate(all="ignore"):  # what is not finite fits no equation
            out = -self.weights * curves / np.where(self.leaf, rate, 1.0)
            part = out**2 / curves
            own, below, split = out[~self.leaf], out[self.below], part[~self.leaf]
            fits = np.abs(own - below.sum(axis=1)) <= NEAR * (np.abs(below).sum(axis=1) + np.abs(own) + 1)
            gains = part[self.below].sum(axis=1)
            error = np.abs(gains - split - self.gains[~self.leaf])
            fits &= error <= 10 * NEAR * (gains + split + 0.1)
        return out if fits.all() else None


WHOLE = 1e-4
HALF = 0.5
"""The base score of versions that estimate none."""
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

    Its covers give away the number of training records, and that of positives, where both come out whole.
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
    n, chance = trees[0].n_records, shared.chance
    positives = None if n is None or not shared.binary else round(n * chance)
    # A base score that was chosen, and not estimated, gives a whole number by chance alone.
    whole = n is not None and positives is not None and abs(n * chance - positives) <= WHOLE * max(1.0, n / 100)
    published = []
    if n is not None:
        published.append(f"The covers of the first tree give the number of training records, {n:,}.")
    if whole and positives is not None and n is not None and 0 < positives < n and chance != HALF:
        published.append(f"With the base score they give the number of positive outcomes, {positives:,}.")
    estimated = len(published) > 1
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
        base_rate=chance if estimated else None,
        special=(
            *(("several trees in a round",) if parallel > 1 else ()),
            *(() if shared.drops is None else ("trees that are dropped",)),
        ),
        published=tuple(published),
    )


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
