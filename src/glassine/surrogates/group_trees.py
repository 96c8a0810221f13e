"""The small tree of each group: restricted to the public grid and without counts, or as the paper has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.data.person_counts import Persons
from glassine.domain import Between, Category, Domain, Integer, Literal, OneOf, Real
from glassine.domain.attributes import LARGEST, Scalar
from glassine.domain.grid import log_grid, public_grid, with_cuts
from glassine.errors import InvalidDataError
from glassine.formats.sklearn.tree import tree_from_sklearn
from glassine.models import Branch, DecisionTree, Evidence, Node
from glassine.models.transform import merge_leaves, renumbered, rewritten
from glassine.records.arrays import AnyArray, Array, Ints
from glassine.records.columns import ConformedColumns
from glassine.surrogates.answers import Answers, NumericAnswer, distinct_records

SINGLE = 3.4e38
"""Largest number of exact trees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeGrowth:
    """How group trees are grown."""

    # Whether thresholds are those that the domain declares (:func:`where_trees_split`), and leaves with the same answer
    # are joined.
    on_grid: bool
    counts: bool  # Whether nodes publish class counts; else leaves publish a label
    max_depth: int | None  # Largest number of splits on a path; None for no limit
    min_samples_leaf: int  # Fewest training records of a leaf
    seed: int  # Seed of the choice among equally good splits


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A column that CART sees: a number or its place on the grid, or whether an attribute has a value."""

    attribute: str
    values: tuple[Scalar, ...] = ()
    grid: tuple[float, ...] | None = None

    def literal(self, seen: Between) -> Literal:
        """Return a condition on the column as one on the attribute."""
        if self.values:
            return OneOf(self.attribute, self.values, negated=seen.hi < math.inf, missing=seen.missing)
        lo, hi = self._bound(seen.lo), self._bound(seen.hi)
        return Between(self.attribute, lo, hi, missing=seen.missing)

    def _bound(self, bound: float) -> float:
        return bound if self.grid is None or math.isinf(bound) else self.grid[math.floor(bound)]


def where_trees_split(domain: Domain) -> Domain:
    """Return a domain that declares as thresholds where restricted trees may split: its own, or both public grids."""
    # Groups are local, and an amount that is mostly small hardly varies in steps of its bound: the cut points of
    # log_grid distinguish small amounts, those of public_grid the others. Nothing is read from records.
    return with_cuts(domain, lambda attribute: tuple(sorted({*public_grid(attribute), *log_grid(attribute)})))


def _design(columns: ConformedColumns, on_grid: bool) -> tuple[Array, list[_Part]]:
    """Return the matrix that CART sees, shape (n, p), and what its columns are."""
    parts: list[_Part] = []
    arrays: list[Array] = []
    for name, attribute in columns.attributes.items():
        values = np.asarray(columns.array(name), dtype=float)
        if isinstance(attribute, Integer | Real):
            grid = public_grid(attribute) if on_grid else None
            if grid is not None:
                # A place on the grid is the number of cut points below the value, so that `value <= grid[i]` is
                # `place <= i`.
                values = np.where(np.isnan(values), np.nan, np.searchsorted(np.array(grid), values, side="left"))
            parts.append(_Part(attribute=name, grid=grid))
            arrays.append(values)
            continue
        for code, value in enumerate(attribute.values) if isinstance(attribute, Category) else [(1, 1)]:
            parts.append(_Part(attribute=name, values=(value,)))
            arrays.append(np.where(values < 0, np.nan, values == code))
    return np.column_stack(arrays), parts


def grow_trees(
    columns: ConformedColumns,
    targets: Ints,
    groups: Ints,
    n_groups: int,
    *,
    domain: Domain,
    answers: Answers,
    growth: TreeGrowth,
    persons: Persons | None = None,
) -> tuple[DecisionTree, ...]:
    """Return one tree a group.

    A leaf of numbers holds their mean over its people, each by the mean of their own, or over its distinct records; it
    is a mean of at least ``min_samples_leaf`` distinct records, or of all those of the group.

    No privacy guarantee: trees follow from the records. :mod:`glassine.surrogates.private_trees` draws private ones.

    Shapes: ``targets`` (n,); ``groups`` (n,).
    """
    matrix, parts = _design(columns, growth.on_grid)
    # Written so that gaps pass: scikit-learn takes NaN, and no number that single precision does not hold.
    if (np.abs(matrix) > SINGLE).any():
        raise InvalidDataError(
            f"exact trees are grown in single precision, and a number is beyond {SINGLE:g}.",
            remedy='Divide the attribute by a power of ten, or use form="restricted".',
        )
    seen = Domain(
        {f"x{j}": Real(-LARGEST, LARGEST, missing=domain[part.attribute].missing) for j, part in enumerate(parts)}
    )
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(n_groups + 1))
    # Each is counted: a mean over ten people who gave one record is the answer to it.
    units = [] if persons is None else [persons]
    numeric = answers if isinstance(answers, NumericAnswer) else None
    if numeric is not None:
        units.append(distinct_records(columns))
    labels, often = np.unique(targets, return_counts=True)
    common = int(labels[often.argmax()])
    trees = []
    for group in range(n_groups):
        rows = order[bounds[group] : bounds[group + 1]]
        own = targets[rows]
        if len(np.unique(own)) < 2:
            trees.append(_constant(own, common, domain, answers, growth))
            continue
        records: dict[str, AnyArray] = {f"x{j}": matrix[rows, j] for j in range(matrix.shape[1])}
        grown = tree_from_sklearn(_cart(matrix[rows], own, growth, answers), seen)
        behind = [unit.take(rows) for unit in units]
        grown = _of_enough(grown, records, behind, growth.min_samples_leaf)
        if numeric is None:
            grown = _with_classes(grown, answers.tree_classes or (), growth)
        else:
            grown = _with_means(grown, records, own, behind[0], numeric)
        if growth.on_grid:
            grown = replace(grown, nodes=_joined(grown.nodes))
        if numeric is not None:
            # The mean of a person in two leaves that were joined is one of all their records there.
            grown = _with_means(grown, records, own, behind[0], numeric)
        trees.append(_published(grown, parts, domain, growth))
    return tuple(trees)


def _of_enough(tree: DecisionTree, records: dict[str, AnyArray], behind: Sequence[Persons], least: int) -> DecisionTree:
    """Return a tree whose leaves hold at least so many of each kind of unit, splits undone from below."""
    while behind:
        at = tree.apply(records)
        fewest = np.min([units.counts(at, len(tree.cells)) for units in behind], axis=0).tolist()
        merged = merge_leaves(tree, {cell.node: size for cell, size in zip(tree.cells, fewest, strict=True)}, least)
        # A person in two leaves is one in both together: what was merged is counted again.
        if len(merged.cells) == len(tree.cells):
            break
        tree = merged
    return tree


def _constant(own: Ints, common: int, domain: Domain, answers: Answers, growth: TreeGrowth) -> DecisionTree:
    """Return the tree of a group of one answer, or of no record at all: a leaf."""
    place, classes = int(own[0]) if len(own) else common, answers.tree_classes
    if classes is None:
        evidence = Evidence(value=float(answers.value(place)))
    else:
        counts = tuple(np.bincount(own, minlength=len(classes)).tolist()) if growth.counts else None
        evidence = Evidence(counts=counts, label=place)
    return DecisionTree((Node(evidence=evidence),), domain.names, classes, _source(growth))


def _source(growth: TreeGrowth) -> str:
    return "surrogate tree on the public grid" if growth.on_grid else "surrogate tree"


def _cart(matrix: Array, targets: Ints, growth: TreeGrowth, answers: Answers) -> Any:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeRegressor if isinstance(answers, NumericAnswer) else DecisionTreeClassifier
    tree = kind(max_depth=growth.max_depth, min_samples_leaf=growth.min_samples_leaf, random_state=growth.seed)
    return tree.fit(matrix, targets)


def _with_classes(tree: DecisionTree, classes: tuple[Scalar, ...], growth: TreeGrowth) -> DecisionTree:
    """Return a tree of the classes of one group as one of all classes, with counts or without."""
    own = [int(name) for name in tree.classes or ()]

    def evidence(seen: Evidence) -> Evidence:
        label = None if seen.prediction is None else own[seen.prediction]
        if not growth.counts:
            return Evidence(label=label)
        counts = [0] * len(classes)
        for at, count in zip(own, seen.counts or (), strict=False):
            counts[at] = count
        return Evidence(counts=tuple(counts), label=label)

    nodes = tuple(replace(node, evidence=evidence(node.evidence)) for node in tree.nodes)
    return replace(tree, nodes=nodes, classes=classes)


def _with_means(
    tree: DecisionTree, records: dict[str, AnyArray], targets: Ints, whose: Persons, answer: NumericAnswer
) -> DecisionTree:
    """Return a tree whose leaves hold means on a step of the range, and whose other nodes hold nothing."""
    at, means = tree.apply(records), dict[int, float]()
    for place, cell in enumerate(tree.cells):
        rows = np.flatnonzero(at == place)
        means[cell.node] = float(answer.mean(targets[rows], whose.take(rows)))
    return rewritten(tree, evidence=lambda place, _: Evidence(value=means.get(place)))


def _published(tree: DecisionTree, parts: Sequence[_Part], domain: Domain, growth: TreeGrowth) -> DecisionTree:
    """Return a tree over the columns as one over the attributes, that publishes no more than it should."""
    by_name = {f"x{j}": part for j, part in enumerate(parts)}

    def literal(seen: Literal) -> Literal:
        if not isinstance(seen, Between):
            return replace(seen, attribute=by_name[seen.attribute].attribute)
        return by_name[seen.attribute].literal(seen)

    nodes = tuple(
        replace(node, branches=tuple(Branch(literal(b.literal), b.child) for b in node.branches)) for node in tree.nodes
    )
    if not growth.counts:
        nodes = tuple(replace(node, evidence=Evidence()) if node.branches else node for node in nodes)
    return DecisionTree(nodes, domain.names, tree.classes, source=_source(growth))


def _joined(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes with every split undone whose branches end in leaves of one answer."""
    new = dict(enumerate(nodes))
    # From below: as CART grows a tree, children stand behind their parents.
    for index in reversed(range(len(nodes))):
        below = [new[branch.child] for branch in new[index].branches]
        if below and not any(node.branches for node in below):
            answers = {(node.evidence.prediction, node.evidence.value) for node in below}
            if len(answers) == 1:
                label, value = answers.pop()
                new[index] = Node(evidence=replace(new[index].evidence, label=label, value=value))
    return renumbered(new, 0)
