"""The small tree of each group: restricted to the public grid and without counts, or as the paper has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.data.conform import Columns
from glassine.data.persons import Persons
from glassine.domain import Between, Category, Domain, Integer, Literal, OneOf, Real
from glassine.domain.attributes import LARGEST, Scalar
from glassine.domain.grid import log_grid, public_grid, with_cuts
from glassine.errors import InvalidDataError
from glassine.formats.sklearn.tree import tree_from_sklearn
from glassine.models import Branch, DecisionTree, Evidence, Node
from glassine.models.transform import merge_leaves

__all__ = ["Growth", "grow_trees", "where_trees_split"]

SINGLE = 3.4e38
"""Largest number of exact trees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How group trees are grown.

    Attributes
    ----------
    on_grid : bool
        Whether thresholds are those that the domain declares (:func:`where_trees_split`), and leaves with the same
        decision are joined.
    counts : bool
        Whether nodes publish class counts; else leaves publish a label.
    max_depth : int or None
        Largest number of splits on a path; None for no limit.
    min_samples_leaf : int
        Fewest training records of a leaf.
    seed : int
        Seed of the choice among equally good splits.
    """

    on_grid: bool
    counts: bool
    max_depth: int | None
    min_samples_leaf: int
    seed: int


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
    """Return a domain that declares as thresholds where restricted trees may split: its own, or both public grids.

    Groups are local, and an amount that is mostly small hardly varies in steps of its bound: the cut points of
    :func:`~glassine.domain.grid.log_grid` tell small amounts apart, those of
    :func:`~glassine.domain.grid.public_grid` the others. Nothing is read from records.
    """
    return with_cuts(domain, lambda attribute: tuple(sorted({*public_grid(attribute), *log_grid(attribute)})))


def _design(columns: Columns, on_grid: bool) -> tuple[npt.NDArray[np.float64], list[_Part]]:
    """Return the matrix that CART sees, shape (n, p), and what its columns are."""
    parts: list[_Part] = []
    arrays: list[npt.NDArray[np.float64]] = []
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
    columns: Columns,
    targets: npt.NDArray[np.int64],
    groups: npt.NDArray[np.int64],
    n_groups: int,
    *,
    domain: Domain,
    classes: Sequence[Scalar],
    growth: Growth,
    persons: Persons | None = None,
) -> tuple[DecisionTree, ...]:
    """Return one tree a group.

    No privacy guarantee: trees follow from the records. :mod:`glassine.surrogates.private_trees` draws private ones.

    Parameters
    ----------
    columns : Columns
        The training records, n of them.
    targets : ndarray of int, shape (n,)
        Index of the class that a tree is to give each record.
    groups : ndarray of int, shape (n,)
        Group of each record, from 0 to ``n_groups - 1``. A group without any gets the most frequent label.
    n_groups : int
        Number of groups.
    domain : Domain
        Domain of the attributes; its thresholds are used in the restricted form.
    classes : sequence of scalars
        The classes.
    growth : Growth
        How trees are grown.
    persons : Persons, optional
        Whose the records are: splits with a leaf of fewer people than ``min_samples_leaf`` are undone.

    Raises
    ------
    InvalidDataError
        If a number is beyond what single precision holds, without a grid.
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
    common = int(np.bincount(targets, minlength=len(classes)).argmax())
    trees = []
    for group in range(n_groups):
        rows = order[bounds[group] : bounds[group + 1]]
        counted = np.bincount(targets[rows], minlength=len(classes))
        if np.count_nonzero(counted) < 2:
            trees.append(_constant(counted, common, domain, tuple(classes), growth))
            continue
        grown = tree_from_sklearn(_cart(matrix[rows], targets[rows], growth), seen)
        if persons is not None:
            grown = _of_enough_people(grown, matrix[rows], persons.take(rows), growth.min_samples_leaf)
        trees.append(_published(grown, parts, domain, tuple(classes), growth))
    return tuple(trees)


def _of_enough_people(
    tree: DecisionTree, matrix: npt.NDArray[np.float64], persons: Persons, least: int
) -> DecisionTree:
    """Return a tree whose leaves hold the records of at least so many people, splits undone from below."""
    records: dict[str, npt.NDArray[Any]] = {f"x{j}": matrix[:, j] for j in range(matrix.shape[1])}
    while True:
        held = persons.counts(tree.apply(records), len(tree.cells)).tolist()
        merged = merge_leaves(tree, {cell.node: size for cell, size in zip(tree.cells, held, strict=True)}, least)
        # A person in two leaves is one in both together: what was merged is counted again.
        if len(merged.cells) == len(tree.cells):
            return tree
        tree = merged


def _constant(
    counted: npt.NDArray[np.int64], common: int, domain: Domain, classes: tuple[Scalar, ...], growth: Growth
) -> DecisionTree:
    """Return the tree of a group of one class, or of no record at all: a leaf."""
    label = int(counted.argmax()) if counted.any() else common
    counts = tuple(int(count) for count in counted) if growth.counts else None
    return DecisionTree((Node(evidence=Evidence(counts=counts, label=label)),), domain.names, classes, _source(growth))


def _source(growth: Growth) -> str:
    return "surrogate tree on the public grid" if growth.on_grid else "surrogate tree"


def _cart(matrix: npt.NDArray[np.float64], targets: npt.NDArray[np.int64], growth: Growth) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(
        max_depth=growth.max_depth, min_samples_leaf=growth.min_samples_leaf, random_state=growth.seed
    )
    return tree.fit(matrix, targets)


def _published(
    tree: DecisionTree, parts: Sequence[_Part], domain: Domain, classes: tuple[Scalar, ...], growth: Growth
) -> DecisionTree:
    """Return a tree over the columns as one over the attributes, that publishes no more than it should."""
    own = [int(name) for name in tree.classes or ()]
    by_name = {f"x{j}": part for j, part in enumerate(parts)}

    def literal(seen: Literal) -> Literal:
        if not isinstance(seen, Between):
            return replace(seen, attribute=by_name[seen.attribute].attribute)
        return by_name[seen.attribute].literal(seen)

    def evidence(seen: Evidence) -> Evidence:
        label = None if seen.prediction is None else own[seen.prediction]
        if not growth.counts:
            return Evidence(label=label)
        counts = [0] * len(classes)
        for at, count in zip(own, seen.counts or (), strict=False):
            counts[at] = count
        return Evidence(counts=tuple(counts), label=label)

    nodes = tuple(
        Node(
            branches=tuple(Branch(literal(b.literal), b.child) for b in node.branches),
            evidence=evidence(node.evidence),
        )
        for node in tree.nodes
    )
    if growth.on_grid:
        nodes = _joined(nodes)
    if not growth.counts:
        nodes = tuple(replace(node, evidence=Evidence()) if node.branches else node for node in nodes)
    return DecisionTree(nodes, domain.names, classes, source=_source(growth))


def _joined(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes with every split undone whose branches end in leaves of one label."""
    order, stack = [], [0]
    while stack:
        index = stack.pop()
        order.append(index)
        stack += [branch.child for branch in reversed(nodes[index].branches)]
    new = dict(enumerate(nodes))
    for index in reversed(order):
        below = [new[branch.child] for branch in new[index].branches]
        if below and not any(node.branches for node in below):
            labels = {node.evidence.prediction for node in below}
            if len(labels) == 1:
                new[index] = Node(evidence=replace(new[index].evidence, label=labels.pop()))
    kept, stack = [], [0]
    while stack:
        index = stack.pop()
        kept.append(index)
        stack += [branch.child for branch in reversed(new[index].branches)]
    where = {index: i for i, index in enumerate(kept)}
    return tuple(
        replace(new[i], branches=tuple(Branch(b.literal, where[b.child]) for b in new[i].branches)) for i in kept
    )
