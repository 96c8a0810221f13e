"""The text that ``Booster.save_model`` of LightGBM writes."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassine.domain import Category, Domain
from glassine.domain.attributes import Scalar
from glassine.domain.single import single
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.boosted.ensemble import (
    boosted_forest,
    boosted_leaf,
    exponential,
    numbers,
    picked,
    spelled,
)
from glassine.formats.boosted.lightgbm_parts import (
    base_rate,
    binary_counts,
    columns_of_categories,
    learning_rate,
    records_of_samples,
)
from glassine.formats.builder import TreeBuilder, feature_names, place_of, sides, source_of
from glassine.formats.conditions import attribute_of, damaged, float_of
from glassine.formats.ensembles import together
from glassine.formats.format import BY_START, of_text
from glassine.models.ensemble import Scoring, TreeEnsemble
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree, Forest

REGRESSIONS = ("regression", "regression_l2", "regression_l1", "huber", "fair", "quantile", "mape")
POSITIVE = ("poisson", "gamma", "tweedie")
"""Objectives whose value is the exponential of the score."""
EVERY_RECORD = {"boosting": ("gbdt", "dart"), "data_sample_strategy": ("bagging", None), "bagging_freq": ("0",)}
"""Parameters under which every tree sees every record, and their values."""
REMEDY = "Write the first tree alone with booster.save_model('tree.txt', num_iteration=1)."
WORDS = re.compile(r"\s*+(?:-?[0-9]{1,15}(?:\s++|$))*+")
"""Whole numbers, each so small that a double holds it, between blanks."""
MAX_NUMBERS = 3_000_000
"""Most numbers in the lists of all trees."""
MAX_CATEGORIES = 1_000_000
"""Most categories in the lists of all trees: a word of ten digits lists up to 32."""
NEXT_TO_ZERO = single(1e-35)
"""Records lose smaller values than this before they are compared: kZeroThreshold, a number of single precision."""
CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2
NONE, ZERO, NAN = 0, 1, 2


def is_lightgbm_text(text: str) -> bool:
    """Return whether a text starts as LightGBM's do."""
    return re.match(r"tree[ \t\r]*\n[ \t]*version=", text.lstrip()[:200]) is not None


def tree_from_lightgbm(text: str, domain: Domain | None = None, tree: int | None = None) -> DecisionTree:
    """Read one tree of a LightGBM model.

    Parameters
    ----------
    text : str
        What ``Booster.save_model("model.txt")`` wrote.
    domain : Domain, optional
        The public domain.
    tree : int, optional
        The place of the tree, from 0, where there are several.

    Returns
    -------
    DecisionTree
        Every node has its number of records. A leaf of the first tree has the class on whose side its score lies, or
        the predicted value. The scores of other trees are values, which add up over the trees. For a binary objective,
        scores, second derivatives and the parameters at the end of the file determine how many records of each class a
        leaf of the first tree holds. These counts are read if they come out whole in every leaf. Lists of categories
        are those of the data frame, where the file keeps them, else their codes.

    Raises
    ------
    UnsupportedModelError
        If the model has several trees and none is asked for, takes zeros for missing values, or has linear leaves or
        an objective that is not read, or its lists hold more than 3,000,000 numbers or 1,000,000 categories.
    InvalidModelError
        If lists contradict each other or do not fit the domain.
    InvalidParameterError
        If the model has no such tree.
    """
    return tree_of_file(described(*sections(text), domain), domain, tree)


def tree_of_file(file: _File, domain: Domain | None, tree: int | None) -> DecisionTree:
    """Read one tree of the parts of a file, as :func:`tree_from_lightgbm` does."""
    place = place_of(len(file.trees), tree, "the LightGBM model", REMEDY)
    return _tree(file, place, domain, as_model=place == 0 and file.alone)


def forest_from_lightgbm(text: str, domain: Domain | None = None) -> Forest:
    """Read all trees of a LightGBM model: scores, which add up, and node sizes."""
    file = described(*sections(text), domain)
    if len(file.trees) <= 1:
        return Forest(trees=(tree_of_file(file, domain, None),), source="LightGBM")
    if any(file.parameters.get(name) not in allowed for name, allowed in EVERY_RECORD.items()):
        raise UnsupportedModelError(
            "the parameters of the LightGBM model say that each tree may be trained on a sample of the records, or "
            "are not in the file.",
            remedy="Read one tree with load_model(..., tree=0).",
        )
    trees = [_tree(file, i, domain, as_model=False) for i in range(len(file.trees))]
    return boosted_forest(trees, "LightGBM")


def ensemble_from_lightgbm(text: str, domain: Domain | None = None) -> TreeEnsemble | None:
    """Read all trees of a LightGBM model as an ensemble, those trained on samples of the records too; None of one."""
    file = described(*sections(text), domain)
    if len(file.trees) <= 1:
        return None
    trees = [_tree(file, i, domain, as_model=False) for i in range(len(file.trees))]
    forest, kind, outputs = Forest(trees=tuple(trees), source="LightGBM"), file.objective[0], 1
    classes: tuple[int, ...] | None = (0, 1) if file.binary else None
    if kind == "multiclass":
        outputs = max(2, int(file.head["num_class"])) if file.head.get("num_class", "").isdigit() else len(trees)
        classes = tuple(range(outputs))
    mean = "average_output" in file.head or file.parameters.get("boosting") == "rf"
    plain = file.binary and file.objective in (["binary", "sigmoid:1"], ["binary"])
    link: Any = "logit" if plain else "softmax" if kind == "multiclass" else "log" if kind in POSITIVE else "identity"
    scored = plain or kind in (*REGRESSIONS, *POSITIVE, "multiclass")
    scoring = Scoring(forest=forest, link=link, base=(0.0,) * outputs, mean=mean) if scored else None
    sampled = any(file.parameters.get(name) not in allowed for name, allowed in EVERY_RECORD.items())
    n, published = trees[0].n_records, tuple[str, ...]()
    sizes = [tree.n_records for tree in trees if tree.n_records is not None]
    if sampled and len(sizes) == len(trees):
        n, about = records_of_samples(sizes, file.parameters)
        published = (f"The sizes of the samples of its trees give the number of training records, {about} {n:,}.",)
    return together(
        forest,
        scoring,
        combined="mean" if mean else "sum",
        learner="LightGBM",
        classes=classes,
        placed="midpoints",
        outputs=outputs,
        rate=learning_rate(file.parameters),
        n_records=n,
        whole=not sampled,
        base_rate=base_rate(file.trees[0], n, file.parameters) if file.binary and not sampled else None,
        special=(
            *(("samples of records for each tree",) if sampled else ()),
            *(("trees that are dropped",) if file.parameters.get("boosting") == "dart" else ()),
        ),
        published=published,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """The parts of a file that all trees share."""

    head: dict[str, str]
    trees: list[dict[str, str]]
    parameters: dict[str, str]
    objective: list[str]
    names: tuple[str, ...]
    categories: list[tuple[Scalar, ...] | None]

    @property
    def binary(self) -> bool:
        """Whether a score decides between two classes."""
        return self.objective[0] == "binary"

    @property
    def alone(self) -> bool:
        """Whether the first tree is what the model of one round would be."""
        one = self.head.get("num_tree_per_iteration", "1") == "1" and self.objective[0] != "multiclass"
        return one and (len(self.trees) == 1 or self.parameters.get("boosting", "gbdt") != "rf")


def described(
    head: dict[str, str],
    trees: list[dict[str, str]],
    parameters: dict[str, str],
    categories: str,
    domain: Domain | None,
) -> _File:
    """Return the parts that all trees share, given the lines of a file."""
    _check_sizes(trees)
    objective = head.get("objective", "").split()
    kind = objective[0] if objective else ""
    if kind not in (*REGRESSIONS, *POSITIVE, "binary", "multiclass") or "sqrt" in objective:
        raise UnsupportedModelError(
            f"the objective {' '.join(objective)!r:.60} is not read: its scores are neither a value nor a class.",
            remedy="Train it with the objective 'multiclass'." if kind == "multiclassova" else None,
        )
    listed = head.get("feature_names", "").split(" ")
    names = feature_names(listed if listed != [""] else [], len(listed), domain, "the LightGBM model")
    split = parameters.get("categorical_feature")
    named = columns_of_categories(categories, head.get("feature_infos", "").split(), split, names, domain)
    return _File(head=head, trees=trees, parameters=parameters, objective=objective, names=names, categories=named)


def _tree(file: _File, place: int, domain: Domain | None, *, as_model: bool) -> DecisionTree:
    """Return a tree: a separate model, or one whose scores add to those of others."""
    tree = file.trees[place]
    if tree.get("is_linear", "0") != "0":
        raise UnsupportedModelError("the LightGBM tree has linear leaves, which are not read.")
    leaves = _floats(tree, "leaf_value", None)
    n = len(leaves)
    sizes = _wholes(tree, "leaf_count", n) if tree.get("leaf_count") else None
    if sizes == [0] and n == 1:  # a tree without a split does not count
        sizes = None
    binary = as_model and file.binary
    counts = None
    if binary and sizes is not None:
        counts = binary_counts(leaves, sizes, tree, file.parameters, file.objective, _below_lists(tree, n))
    builder: TreeBuilder[int] = TreeBuilder("the LightGBM tree", domain, file.names)
    for i, score in enumerate(leaves):
        size = None if sizes is None else sizes[i]
        value = exponential(score) if as_model and file.objective[0] in POSITIVE else score
        evidence = boosted_leaf(value, binary, size)
        if counts is not None:
            evidence = Evidence(counts=counts[i], label=evidence.label)
        builder.leaf(~i, evidence)
    if n > 1:
        _add_splits(builder, tree, n - 1, file)
    source = source_of("LightGBM", place, len(file.trees))
    return builder.tree(0 if n > 1 else ~0, (0, 1) if binary else None, source)


def _add_splits(builder: TreeBuilder[int], tree: dict[str, str], n: int, file: _File) -> None:
    """Add the n splits of a tree, whose lists hold one entry each."""
    domain = builder.domain
    features, types = _wholes(tree, "split_feature", n), _wholes(tree, "decision_type", n)
    bounds = _floats(tree, "threshold", n)
    left, right = _wholes(tree, "left_child", n), _wholes(tree, "right_child", n)
    sizes = _wholes(tree, "internal_count", n) if tree.get("internal_count") else [None] * n
    chosen = _chosen(tree)
    for i, (feature, kind, bound) in enumerate(zip(features, types, bounds, strict=True)):
        name, codes = builder.feature(feature, i), file.categories[feature]
        missing_type = kind >> MISSING_SHIFT
        if kind < 0 or missing_type not in (NONE, ZERO, NAN):
            raise UnsupportedModelError(f"the decision type {kind} of node {i} is not read.")
        # Where no value was missing in training, LightGBM takes a missing one for zero.
        to_left = bool(kind & DEFAULT_LEFT) if missing_type == NAN else bound >= 0
        gaps = builder.gaps(name, to_left)
        if kind & CATEGORICAL:
            if not (bound.is_integer() and 0 <= bound < len(chosen)):
                raise InvalidModelError(f"node {i} splits on list {bound:g} of categories, of {len(chosen)}.")
            values = spelled(name, chosen[int(bound)], codes, domain, "the LightGBM model")
            pair = picked(name, values, domain, (False, any(gaps)), codes)
        elif missing_type == ZERO:
            raise UnsupportedModelError("the LightGBM tree takes zeros for missing values, which is not read.")
        elif codes is not None:  # categories in order: a threshold on their codes
            below = min(len(codes), max(0, math.floor(max(-1.0, min(float(len(codes)), bound))) + 1))
            pair = picked(name, codes[:below], domain, gaps, codes)
            attribute = attribute_of(name, domain)
            if to_left and not (isinstance(attribute, Category) and set(attribute.values) <= set(codes)):
                # A category that the file does not name is a missing value to LightGBM: those of the right are listed.
                pair = picked(name, codes[below:], domain, gaps[::-1], codes)[::-1]
        else:
            pair = sides(name, "<=", _beside_zero(bound), domain, gaps)
        builder.split(i, pair, (left[i], right[i]), Evidence(total=sizes[i]))


def _beside_zero(bound: float) -> float:
    """Return the bound that a threshold means where values next to zero are taken for zero, as LightGBM does."""
    if not -NEXT_TO_ZERO <= bound < NEXT_TO_ZERO:
        return bound
    return NEXT_TO_ZERO if bound >= 0 else math.nextafter(-NEXT_TO_ZERO, -math.inf)


def _below_lists(tree: dict[str, str], n_leaves: int) -> list[bool]:
    """Return which leaves lie right below a split on categories."""
    n = n_leaves - 1
    kinds = _wholes(tree, "decision_type", n) if n else []
    children = zip(_wholes(tree, "left_child", n), _wholes(tree, "right_child", n), strict=True) if n else ()
    below = {child for kind, pair in zip(kinds, children, strict=True) if kind & CATEGORICAL for child in pair}
    return [~i in below for i in range(n_leaves)]


def _chosen(tree: dict[str, str]) -> list[list[int]]:
    """Return the codes that each split on categories sends to the left: the bits that are set in its words."""
    text = tree.get("num_cat", "0")
    n = int(text) if re.fullmatch(r"[0-9]{1,7}", text) else -1
    if n < 1:
        if n < 0:
            raise InvalidModelError(f"num_cat must be a whole number, got {text!r:.40}.")
        return []
    ends = _wholes(tree, "cat_boundaries", n + 1)
    words = _wholes(tree, "cat_threshold", ends[-1])
    if ends[0] != 0 or sorted(ends) != ends or (words and not 0 <= min(words) <= max(words) < 2**32):
        raise damaged("the LightGBM tree's lists of categories contradict each other.")
    # One bit a category, the lowest of a word first: bytes in that order are unpacked in it.
    bits = np.unpackbits(np.array(words, dtype="<u4").view(np.uint8), bitorder="little")
    return [np.flatnonzero(bits[32 * a : 32 * b]).tolist() for a, b in itertools.pairwise(ends)]


def _check_sizes(trees: list[dict[str, str]]) -> None:
    """Refuse lists that are too long, before any becomes numbers."""
    if sum(text.count(" ") + text.count("\t") for tree in trees for text in dict.values(tree)) > MAX_NUMBERS:
        raise UnsupportedModelError(f"the trees of the LightGBM model list more than {MAX_NUMBERS:,} numbers.")
    lists = [dict.get(tree, "cat_threshold", "") for tree in trees]
    # A word that is none is refused where it is read.
    words = (map(int, text.split()) for text in lists if WORDS.fullmatch(text))
    if sum(sum(map(int.bit_count, each)) for each in words) > MAX_CATEGORIES:
        raise UnsupportedModelError(
            f"the splits of the LightGBM model list more than {MAX_CATEGORIES:,} categories.",
            remedy="Group rare ones first.",
        )


def sections(text: str) -> tuple[dict[str, str], list[dict[str, str]], dict[str, str], str]:
    """Return the lines ``key=value`` of the head and of each tree, the parameters, and the categories in JSON."""
    head: dict[str, str] = {}
    trees: list[dict[str, str]] = []
    parameters: dict[str, str] = {}
    current, ended, categories = head, False, ""
    for raw in text.splitlines():
        line = raw.strip()
        match = re.fullmatch(r"\[([a-z0-9_]+): (.*)\]", line)
        if match and ended:
            parameters[match[1]] = match[2]
        if ended and line.startswith("pandas_categorical:"):
            categories = line.partition(":")[2]
        ended = ended or line == "end of trees"
        key, equals, value = line.partition("=")
        if not equals or ended:
            if line == "average_output" and not trees:
                head[line] = ""
            continue
        if key == "Tree":
            current = {}
            trees.append(current)
        if key in current:
            raise damaged(f"the LightGBM model says {key!r:.40} twice.")
        current[key] = value.strip()
    if not ended:
        raise InvalidModelError("the LightGBM model ends before its 'end of trees'.", remedy="Give all of it.")
    return head, trees, parameters, categories


def _floats(tree: dict[str, str], key: str, length: int | None) -> list[float]:
    values: list[Any] = []
    for value in map(float_of, tree.get(key, "").split()):
        # The largest double stands for no bound.
        values.append(max(-1e300, min(1e300, value)) * (1 + 1e-9) if abs(value) > 1e300 else value)
    if key == "threshold":
        if len(values) != length or any(math.isnan(value) for value in values):
            raise InvalidModelError(f"{key} must be a list of {length} numbers.")
        return values
    return numbers(values, length, key) if values else numbers(None, length, key)


def _wholes(tree: dict[str, str], key: str, length: int) -> list[int]:
    text = tree.get(key, "")
    if WORDS.fullmatch(text) is None:
        raise InvalidModelError(f"{key} must be a list of whole numbers.")
    listed = list(map(int, text.split()))
    if len(listed) != length:
        raise InvalidModelError(f"{key} must be a list of {length} whole numbers.")
    return listed


FORMAT = of_text(
    name="LightGBM",
    again="booster.save_model('model.txt')",
    copied=False,
    reads="text of LightGBM's `save_model`",
    reveals="conditions, scores as classes or values, numbers of records, often class counts",
    leaves_out="sample weights; class counts that its figures do not determine",
    sniff=is_lightgbm_text,
    rank=BY_START,
    read=tree_from_lightgbm,
    read_all=forest_from_lightgbm,
    read_ensemble=ensemble_from_lightgbm,
)
