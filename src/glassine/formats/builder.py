"""Trees put together from the parts that a file lists in its own order, and which of several trees is read."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from glassine.domain import Between, Binary, Category, Domain, Integer, Literal, OneOf
from glassine.domain.attributes import LARGEST, Scalar, is_whole
from glassine.domain.single import WHOLE, single_bound
from glassine.errors import (
    InvalidModelError,
    InvalidParameterError,
    SeveralTreesError,
    UnnamedFeaturesError,
    UnsupportedModelError,
    parameter,
)
from glassine.formats.conditions import (
    all_but,
    at_least,
    at_most,
    attribute_of,
    binary,
    damaged,
    require,
    scalar,
    with_missing,
)
from glassine.models.evidence import Evidence, SizeOrigin
from glassine.models.transform import rewritten
from glassine.models.tree import Branch, DecisionTree, Node

Key = TypeVar("Key", bound=Hashable)

COMPLETE_RECORDS = (
    'if it was fitted on complete records, drop "missing" from the domain and leave records with gaps out of the data.'
)
"""The way out that every file without a word on missing values has."""

SWAPPED = {">": "<=", ">=": "<", "!=": "=="}
WIDEST = 100_000
WHOLE_SHARE = 1e-4
"""By how much the shares of a leaf, written in single precision or few digits, may miss 1."""


class TreeBuilder(Generic[Key]):
    """A tree that is put together from the parts that a file lists in its own order."""

    def __init__(
        self,
        what: str,
        domain: Domain | None,
        names: Sequence[str] | None = None,
        *,
        spare: bool = False,
        silent: bool = False,
        remedy: str = "",
    ) -> None:
        # what: the tree, for messages: "the LightGBM tree".
        # names: the features of the file by number; without them the attributes are those of the domain, or those
        # tested.
        # spare: whether parts that the root does not lead to are left out; otherwise they are an error.
        # silent: whether the file does not say where missing values go, so that no attribute that is tested may be
        # missing.
        # remedy: how to get a file that says it; empty where there is none.
        self.what, self.domain, self.names, self.spare = what, domain, names, spare
        self.silent, self.remedy = silent, remedy
        self._parts: dict[Key, tuple[tuple[tuple[Literal, Key], ...], Evidence]] = {}
        self._tested: dict[str, None] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._parts

    def __len__(self) -> int:
        return len(self._parts)

    def attribute(self, name: str) -> str:
        """Return the name of an attribute that the tree tests."""
        require(name, self.domain, f"{self.what} tests")
        if self.silent:
            refuse_gaps(name, self.domain, self.what, self.remedy)
        self._tested[name] = None
        return name

    def feature(self, number: object, node: object = "") -> str:
        """Return the name of the feature of a number that the tree tests."""
        names = self.names or ()
        if type(number) is not int or not 0 <= number < len(names):
            where = f"node {node}" if node != "" else "a node"
            raise InvalidModelError(f"{where} tests feature {number!r:.40}, but {self.what} has {len(names)}.")
        return self.attribute(names[number])

    def gaps(self, name: str, to_left: bool) -> tuple[bool, bool]:
        """Return whether a missing value takes the left and the right branch; neither if the attribute has none."""
        missing = can_be_missing(name, self.domain, False)
        return missing and to_left, missing and not to_left

    def leaf(self, key: Key, evidence: Evidence) -> None:
        """Add a leaf."""
        self._parts[key] = ((), evidence)

    def split(
        self, key: Key, literals: Iterable[Literal], children: Iterable[Key], evidence: Evidence | None = None
    ) -> None:
        """Add a node with a condition for each of its children."""
        branches = tuple(zip(literals, children, strict=True))
        self._parts[key] = (branches, evidence or Evidence())
        self._tested.update((literal.attribute, None) for literal, _ in branches)

    def tree(
        self, root: Key, classes: tuple[Scalar, ...] | None, source: str, *, sizes: SizeOrigin = "stored"
    ) -> DecisionTree:
        """Return the tree, its nodes in depth-first order, given where its sizes come from."""
        places: dict[Key, int] = {}
        stack = [root]
        while stack:
            key = stack.pop()
            if key not in self._parts:
                raise damaged(f"the tree leads to node {key!r:.60}, which the file does not hold.")
            if key in places:
                raise damaged(f"node {key!r:.60} is the child of two nodes, or of itself.")
            places[key] = len(places)
            stack += [child for _, child in reversed(self._parts[key][0])]
        if len(places) < len(self._parts) and not self.spare:
            raise InvalidModelError(f"{len(self._parts) - len(places)} nodes of the file stand apart from its tree.")
        nodes = tuple(
            Node(branches=tuple(Branch(literal, places[child]) for literal, child in branches), evidence=evidence)
            for branches, evidence in (self._parts[key] for key in places)
        )
        names = self.names if self.names is not None else self.domain.names if self.domain else self._tested
        return DecisionTree(nodes, tuple(names), classes, source=source, sizes=sizes)


def whole_counts(values: Sequence[float], total: int, near: Callable[[float], float]) -> tuple[int, ...] | None:
    """Return figures as the class counts of a node, None where they are not whole or do not add up to its records."""
    if not all(math.isfinite(value) for value in values):
        return None
    whole = tuple(round(value) for value in values)
    if any(count < 0 or abs(value - count) > near(count) for value, count in zip(values, whole, strict=True)):
        return None
    return whole if sum(whole) == total else None


def feature_names(
    names: Sequence[str] | None, width: int, domain: Domain | None, what: str, *, widest: int = WIDEST
) -> tuple[str, ...]:
    """Return the names of the features of a file: its own, those of the domain in order, or x0, x1, ..."""
    if names is not None:
        if len(set(names)) < len(names) or not all(names):
            raise InvalidModelError(f"{what} gives two features the same name, or one no name.", remedy="Rename them.")
        return tuple(names)
    if not 0 <= width <= widest:
        raise InvalidModelError(f"{what} claims {width} features; at most {widest:,} are read.")
    numbered = tuple(f"x{i}" for i in range(width))
    # A domain of some attributes under the names that stand for unnamed features says which these are.
    if domain is None or (len(domain) < width and set(domain.names) <= set(numbered)):
        return numbered
    if len(domain) != width:
        raise UnnamedFeaturesError(
            f"{what} does not name its {width} features, and the domain has {len(domain)} attributes.",
            remedy="Give a domain with one attribute a feature, in order; state the target if it is one of them.",
        )
    return domain.names


def can_be_missing(name: str, domain: Domain | None, stated: bool) -> bool:
    """Return whether an attribute can be missing, by the domain or else by the file."""
    return domain[name].missing if domain is not None and name in domain else stated


BY_ESTIMATOR = "Give the estimator itself, or a format that says it"


def refuse_gaps(name: str, domain: Domain | None, what: str, remedy: str = BY_ESTIMATOR) -> None:
    """Raise InvalidModelError if an attribute can be missing, for files that do not say where missing values go."""
    # remedy is how to get a file that says it; where there is none, it is empty.
    if can_be_missing(name, domain, False):
        ways = f"{remedy}; or, {COMPLETE_RECORDS}" if remedy else f"{COMPLETE_RECORDS[0].upper()}{COMPLETE_RECORDS[1:]}"
        raise InvalidModelError(
            f"{name!r} can be missing, but {what} does not say where missing values go.", remedy=ways
        )


def sides(
    name: str,
    operator: str,
    bound: float,
    domain: Domain | None,
    gaps: tuple[bool, bool] = (False, False),
    *,
    single: bool = False,
) -> tuple[Literal, Literal]:
    """Return the literal of a comparison and that of its opposite.

    ``single`` says that the library rounds values to single precision before it compares them with the bound, which is
    as the library holds it. The literals then compare with the double where that rounding crosses the bound.
    """
    if operator in SWAPPED:
        other, first = sides(name, SWAPPED[operator], bound, domain, (gaps[1], gaps[0]), single=single)
        return first, other
    if operator == "==" and single and _rounds(name, bound, domain):
        ends = single_bound(bound, below=True), single_bound(bound)
        near: Literal = Between(name, *ends) if ends[0] < ends[1] else all_but(name, False, none=True)
        pair: tuple[Literal, Literal] = near, dataclasses.replace(near, negated=not near.negated)
    elif operator == "==":
        value = scalar(bound, f"what {name!r} is compared with")
        named = domain is not None and name in domain and isinstance(domain[name], Binary)
        pair = OneOf(name, (value,)), OneOf(name, (value,), negated=True)
        if named and value == 0:
            pair = binary(name, False), binary(name, True)
    elif abs(bound) > LARGEST:
        pair = all_but(name, gaps[0], none=bound < 0), all_but(name, gaps[1], none=bound > 0)
    elif operator == "<":
        above, below = at_least(name, bound, domain, single=single)
        pair = below, above
    else:
        pair = at_most(name, bound, domain, single=single)
    return with_missing(pair[0], gaps[0]), with_missing(pair[1], gaps[1])


def _rounds(name: str, bound: float, domain: Domain | None) -> bool:
    """Return whether other values than a bound may be rounded to it in single precision."""
    attribute = attribute_of(name, domain)
    listed = isinstance(attribute, Binary | Category)
    return math.isfinite(bound) and not listed and not (isinstance(attribute, Integer) and abs(bound) <= WHOLE)


def from_shares(shares: Sequence[float], label: int, total: int | None = None, *, weighted: bool = False) -> Evidence:
    """Return the evidence of a leaf that publishes the share of each class; only the label where they add up to less.

    A share that prints or rounds beyond 0 or 1 is that bound. Shares of weighted records are no error rate. Of two
    classes, the error rate says both shares.
    """
    if not (all(share >= -WHOLE_SHARE for share in shares) and abs(sum(shares) - 1) <= WHOLE_SHARE):
        return Evidence(total=total, label=label, weighted=weighted)
    bounded = [min(1.0, max(0.0, share)) for share in shares]
    every = tuple(share / math.fsum(bounded) for share in bounded) if weighted or len(shares) != 2 else None
    rate = None if weighted else min(1.0, max(0.0, 1 - shares[label]))
    return Evidence(total=total, label=label, error_rate=rate, probabilities=every, weighted=weighted)


def classes_by_largest(rows: Sequence[tuple[Sequence[float] | None, Scalar | None]], what: str) -> tuple[Scalar, ...]:
    """Return the classes in the order of the weights of nodes, as far as their labels, each of the largest, say it."""
    labels = {label for _, label in rows if label is not None}
    widths = {len(weights) for weights, _ in rows if weights is not None}
    if len(widths) > 1:
        raise InvalidModelError(f"leaves of {what} list {min(widths)} and {max(widths)} weights.")
    (width,) = widths
    names: dict[int, Scalar] = {}
    # Weights that print alike may differ, so unique maxima come first.
    for tied in (False, True):
        for weights, label in rows:
            if weights is None or label is None:
                continue
            largest = max(weights)
            if (weights.count(largest) > 1) is not tied or (tied and label in names.values()):
                continue
            at = next((i for i, w in enumerate(weights) if w == largest and not (tied and i in names)), None)
            if at is not None and names.setdefault(at, label) != label:
                raise InvalidModelError(f"the label {label!r:.60} is not that of the largest weight of its leaf.")
    if len(set(names.values())) < len(names) or not labels <= set(names.values()):
        raise InvalidModelError(f"the labels of {what} are not those of the largest weights of its leaves.")
    whole = all(name == i and not isinstance(name, bool) for i, name in names.items())
    return tuple(names.get(i, i if whole else f"class {i}") for i in range(width))


# Files with several trees.

ONE_OF_SEVERAL = "In Python, load_model(..., tree=0) reads the first, and load_forest all of them."
"""What to do with several trees, as an error says it."""


def place_of(n_trees: int, tree: Any, what: str, remedy: str = "") -> int:
    """Return the place of the tree to read, from 0."""
    if tree is not None and not (is_whole(tree) and 0 <= tree < max(1, n_trees)):
        raise InvalidParameterError(
            f"{parameter('tree')} must be a whole number from 0 to {max(1, n_trees) - 1}, as {what} holds {n_trees}, "
            f"got {tree!r:.40}.",
            remedy="Leave it out." if n_trees < 2 else None,
        )
    if n_trees < 1:
        raise UnsupportedModelError(f"{what} holds {n_trees} trees.", remedy="Export a model that has been fitted.")
    if n_trees > 1 and tree is None:
        raise SeveralTreesError(
            f"{what} holds {n_trees} trees; one is read here. An audit judges them together.",
            remedy=f"{ONE_OF_SEVERAL} {remedy}".rstrip(),
        )
    return int(tree or 0)


def source_of(what: str, place: int, n_trees: int) -> str:
    """Return what a tree was read from: its place, of several.

    Examples
    --------
    >>> source_of("XGBoost", 0, 20), source_of("XGBoost", 0, 1)
    ('tree 0 of 20 of XGBoost', 'XGBoost')
    """
    return what if n_trees == 1 else f"tree {place} of {n_trees} of {what}"


def trees_beside(source: str) -> int:
    """Return how many trees a file holds beside the one that was read, given the source of that one.

    Examples
    --------
    >>> trees_beside("tree 0 of 20 of XGBoost"), trees_beside("XGBoost")
    (19, 0)
    """
    match = re.match(r"tree [0-9]{1,9} of ([0-9]{1,9}) of ", source)
    return 0 if match is None else max(int(match[1]) - 1, 0)


def not_judged(source: str) -> str:
    """Return how many trees of a file were left aside, given the source of the one that was read; empty if none.

    Examples
    --------
    >>> not_judged("tree 0 of 20 of XGBoost")
    'Tree 0 of 20; the other 19 were not judged.'
    """
    others = trees_beside(source)
    if not others:
        return ""
    text = f"the other {others} were not judged" if others > 1 else "the other was not judged"
    return f"Tree {int(source.split()[1])} of {others + 1}; {text}."


def unsized(evidence: Evidence) -> Evidence:
    """Return what a node predicts, without its numbers of records."""
    return Evidence(label=evidence.prediction, value=evidence.value)


def without_sizes(tree: DecisionTree) -> DecisionTree:
    """Return a tree without numbers of records, which may be those of a sample."""
    return rewritten(tree, evidence=lambda place, own: unsized(own))
