"""The board on which classes are swapped: every candidate's class counts, kept up to date in whole numbers.

A candidate split is a few cells, one for each branch, with the class counts of the people in it. Each cell has a
purity: n minus its impurity for Gini (the sum of squares over n) and misclassification (the largest count), minus its
impurity for entropy (the sum of m log m over the classes, minus n log n). Sums of squares are integers. Purities are
integers too, in steps of 2^-40 of a person (coarser above some 100,000 people): quotients are rounded to a step, and
n log n is tabulated and rounded to one. So a purity is a function of the counts alone, and nothing drifts however
many moves are made. It is off by at most one step a class and 2^-51 of itself, far below the adversary's tolerance.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.candidate_splits import CODES, MULTIWAY, ONE_VALUE, THRESHOLD
from glassine.attacks.disclosure.constraints import Constraints
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.learners.greedy.impurity import split_information
from glassine.records.arrays import Bools, Ints

OWN = 3
"""The kind of a chosen split, and of a node as a whole: their purities are kept, nothing competes in them."""

FINEST = 40
"""Bits of a step of purity, at most: sums over 100,000 people then still fit 64 bits."""


Records: TypeAlias = npt.NDArray[np.void]

FAMILY = np.dtype([("kind", "i8"), ("split", "i8"), ("first", "i8"), ("groups", "i8")])
"""A family: its kind, the split that it belongs to, its first cell and its number of groups.

Of kind MULTIWAY or OWN group g is cell ``first + g``; else candidate j has the cells ``first + 2 j`` (its side) and
``first + 2 j + 1`` (the others).
"""

SPLIT = np.dtype([("own", "i8"), ("whole", "i8"), ("allowance", "f8")])
"""A split: the families of the chosen one and of the whole node; by how much candidates may be better, in people."""

CELL = np.dtype([("size", "i8"), ("step", "f8"), ("ratio", "f8"), ("open", "?")], align=True)
"""A cell: its people; steps of a person over that; of its candidate the split information over that of the chosen
split, 1 without gain ratio, and whether it is allowed."""

LEAF = np.dtype([("path", "i8"), ("person", "i8"), ("label", "i8"), ("correct", "i8")])
"""A leaf: where its path and its people begin; its label and how many have it, -1 where they are not used."""

QUASI = np.dtype([("leaf", "i8"), ("groups", "i8")])
"""A quasi-identifier: its leaf, and where its groups begin, one for each family of the leaf's path."""


class Board(NamedTuple):
    """What stays the same while classes are swapped.

    Families are those of the constraints that hold an allowed candidate, then the chosen split of each node (kind
    :data:`OWN`, a cell a branch), then each node as a whole (one cell). What travels together is a record of one
    array: compiled functions hand few arrays along.
    """

    families: Records  # :data:`FAMILY`; shape (f,)
    splits: Records  # :data:`SPLIT`; shape (v,)
    cells: Records  # :data:`CELL`; shape (k,)
    leaves: Records  # :data:`LEAF`, and one more that says where the last one ends; shape (l + 1,)
    quasi: Records  # :data:`QUASI`; shape (q,)
    path: Ints  # The families of the nodes above each leaf, those that moves can change
    groups: npt.NDArray[np.int32]
    person: Ints  # Quasi-identifier of each person, people ordered by leaf; shape (n,)
    # First and last person (exclusive) of each node; of the root if there is no split; shape (v, 2).
    spans: Ints
    # low, high: bounds of the class counts of each leaf; shape (l, c).
    low: Ints
    high: Ints
    table: Ints  # n log n in steps; shape (n + 1,)
    scale: int  # Steps of a person, a power of two
    step: float  # A step in people
    criterion: int  # 0 Gini, 1 entropy, 2 misclassification
    # divides, free, tied: whether it is the gain ratio; whether the class counts of leaves are unknown; and whether
    # those of all people are known nevertheless.
    divides: bool
    free: bool
    tied: bool


class State(NamedTuple):
    """What changes."""

    classes: Ints  # Class of each person, in the order of the board; shape (n,)
    x: Ints  # The table; shape (q, c)
    leaf_counts: Ints  # Class counts of the leaves; shape (l, c)
    counts: npt.NDArray[np.int32]  # Class counts of the cells; shape (k, c)
    # squares, purity: sum of squares, and purity in steps, of each cell; shape (k,).
    squares: Ints
    purity: Ints
    values: Ints  # Purity of the whole family, kinds MULTIWAY and OWN; shape (f,)


class _Family(NamedTuple):
    kind: int
    split: int
    members: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    sizes: Ints
    compared: Bools


def _families(constraints: Constraints) -> list[_Family]:
    """Return the families that hold an allowed candidate, then the chosen splits and whole nodes that they need."""
    families, people = constraints.families, constraints.people
    out = []
    for f in range(len(families)):
        first, last = int(families.families[f]), int(families.families[f + 1])
        sizes = families.sizes[first:last]
        one = np.cumsum(sizes)[:-1] if families.kinds[f] == THRESHOLD else sizes
        learned = families.compared[first:last][: len(one)]
        least = np.minimum(one, sizes.sum() - one)
        if families.kinds[f] != MULTIWAY and not (learned & (least >= (constraints.smallest or 1))).any():
            continue
        group = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(families.groups[first : last + 1]))
        out.append(_Family(int(families.kinds[f]), int(families.splits[f]), families.members(f), group, sizes, learned))
    for v in sorted({family.split for family in out}):
        split = people.splits[v]
        sizes = np.bincount(split.branch, weights=people.sizes[split.members]).astype(np.int64)
        out.append(_Family(OWN, v, split.members, split.branch, sizes, sizes > 0))
        none = np.zeros(len(split.members), dtype=np.int32)
        out.append(_Family(OWN, v, split.members, none, sizes.sum(keepdims=True), sizes[:1] > 0))
    return out


def _cells(family: _Family, constraints: Constraints) -> tuple[Ints, Bools, list[float]]:
    """Return the sizes of a family's cells, which are of allowed candidates, and the ratios of their candidates."""
    sizes, divisor = family.sizes, constraints.divisors[family.split]
    if family.kind in (MULTIWAY, OWN):
        compared = constraints.divides and family.kind == MULTIWAY
        ratio = float(split_information(sizes)) / divisor if compared else 1.0
        return sizes, np.ones(len(sizes), dtype=bool), [ratio] * len(sizes)
    one = np.cumsum(sizes)[:-1] if family.kind == THRESHOLD else sizes
    both = np.stack([one, sizes.sum() - one], axis=1)
    ratios = split_information(both) / divisor if constraints.divides else np.ones(len(both))
    allowed = family.compared & (both.min(axis=1) >= (constraints.smallest or 1))
    return both.ravel(), np.repeat(allowed, 2), np.repeat(ratios, 2).tolist()


def _paths(
    families: list[_Family], disclosure: Disclosure, free: bool
) -> tuple[Ints, Ints, Ints, npt.NDArray[np.int32]]:
    """Return the families above each leaf, and each quasi-identifier's group in them."""
    people = disclosure.people
    paths: list[list[int]] = [[] for _ in people.leaf_nodes]
    slots = []
    for f, family in enumerate(families):
        slot = np.full(len(paths), -1, dtype=np.int64)
        # Swaps within a leaf change neither the chosen split's branches nor the node as a whole.
        for leaf in np.unique(people.leaf[family.members]) if free or family.kind != OWN else ():
            slot[leaf] = len(paths[leaf])
            paths[leaf].append(f)
        slots.append(slot)
    lengths = np.array([len(path) for path in paths], dtype=np.int64)
    group_starts = np.concatenate([[0], np.cumsum(lengths[people.leaf])]).astype(np.int64)
    groups = np.zeros(int(group_starts[-1]), dtype=np.int32)
    for family, slot in zip(families, slots, strict=True):
        at = slot[people.leaf[family.members]]
        if (at >= 0).all():
            groups[group_starts[family.members] + at] = family.group
    flat = np.array([f for path in paths for f in path], dtype=np.int64)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), flat, group_starts, groups


def records(dtype: np.dtype[np.void], *fields: npt.ArrayLike) -> Records:
    """Return the fields of some records as one array."""
    out = np.empty(len(np.asarray(fields[0])), dtype)
    for name, values in zip(dtype.names or (), fields, strict=True):
        out[name] = values
    return out


def lay_out(disclosure: Disclosure) -> Board:
    """Return the board of what an attacker knows."""
    people, constraints, leaves = disclosure.people, disclosure.constraints, disclosure.leaves
    families, free = _families(constraints), leaves.counts is None
    cells = [_cells(family, constraints) for family in families]
    own, whole = np.full((2, len(people.splits)), -1, dtype=np.int64)
    for f, family in enumerate(families):
        if family.kind == OWN:
            (own if own[family.split] < 0 else whole)[family.split] = f
    path_starts, path, group_starts, groups = _paths(families, disclosure, free)
    order = np.argsort(people.leaf, kind="stable")
    ends = np.cumsum(people.leaf_sizes)
    starts = np.concatenate([[0], ends]).astype(np.int64)
    reached = [np.unique(people.leaf[split.members]) for split in people.splits]
    spans = [(starts[own_groups[0]], ends[own_groups[-1]]) for own_groups in reached] or [(0, people.n_people)]
    n, n_leaves = people.n_people, len(people.leaf_nodes)
    steps = np.arange(1, n + 1)
    most = n * math.log(n) + n
    scale = 2 ** min(FINEST, 61 - math.ceil(math.log2(most + 1)))
    rounded = [0] + [round(value * scale) for value in (steps * np.log(steps)).tolist()]
    low, high = leaves.class_bounds()
    sizes = np.concatenate([np.zeros(0, np.int64), *(cell[0] for cell in cells)])
    return Board(
        families=records(
            FAMILY,
            [family.kind for family in families],
            [family.split for family in families],
            np.cumsum([0] + [len(cell[0]) for cell in cells])[:-1],
            [len(family.sizes) for family in families],
        ),
        splits=records(SPLIT, own, whole, constraints.tolerance * constraints.node_sizes),
        cells=records(
            CELL,
            sizes,
            scale / np.maximum(sizes, 1),
            [ratio for cell in cells for ratio in cell[2]],
            np.concatenate([np.zeros(0, bool), *(cell[1] for cell in cells)]),
        ),
        leaves=records(
            LEAF,
            path_starts,
            starts,
            *(
                np.append(np.full(n_leaves, -1) if array is None or not free else array, -1)
                for array in (leaves.labels, leaves.correct)
            ),
        ),
        quasi=records(QUASI, people.leaf, group_starts[:-1]),
        path=path,
        groups=groups,
        person=np.repeat(order, people.sizes[order]).astype(np.int64),
        spans=np.array(spans, dtype=np.int64),
        low=low.astype(np.int64),
        high=high.astype(np.int64),
        table=np.array(rounded, dtype=np.int64),
        scale=scale,
        step=1 / scale,
        criterion=CODES[constraints.criterion],
        divides=constraints.divides,
        free=free,
        tied=free and disclosure.class_totals is not None,
    )


def set_up(board: Board, constraints: Constraints, classes: Ints, n_classes: int) -> State:
    """Return the state in which every person has a class, in the order of the board."""
    # Shapes: classes (n,).
    x = np.zeros((len(board.quasi), n_classes), dtype=np.int64)
    np.add.at(x, (board.person, classes), 1)
    leaf_counts = np.zeros((len(board.low), n_classes), dtype=np.int64)
    np.add.at(leaf_counts, board.quasi["leaf"], x)
    counts = np.zeros((len(board.cells), n_classes), dtype=np.int32)
    for family, first in zip(_families(constraints), board.families["first"].tolist(), strict=True):
        sums = np.zeros((len(family.sizes), n_classes), dtype=np.int32)
        np.add.at(sums, family.group, x[family.members].astype(np.int32))
        if family.kind in (THRESHOLD, ONE_VALUE):
            one = np.cumsum(sums, axis=0, dtype=np.int32)[:-1] if family.kind == THRESHOLD else sums
            sums = np.stack([one, sums.sum(axis=0, dtype=np.int32) - one], axis=1).reshape(-1, n_classes)
        counts[first : first + len(sums)] = sums
    squares = (counts.astype(np.int64) ** 2).sum(axis=1)
    if board.criterion == 0:
        purity = (squares * board.cells["step"]).astype(np.int64)
    elif board.criterion == 1:
        purity = board.table[counts].sum(axis=1) - board.table[board.cells["size"]]
    else:
        purity = counts.max(axis=1, initial=0).astype(np.int64) * board.scale
    values = np.zeros(len(board.families), dtype=np.int64)
    for f in np.flatnonzero(np.isin(board.families["kind"], (MULTIWAY, OWN))):
        first, n = board.families[["first", "groups"]][f]
        values[f] = purity[first : first + n].sum()
    return State(classes.copy(), x, leaf_counts, counts, squares, purity, values)
