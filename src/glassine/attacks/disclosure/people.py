"""The people of a training set as the reader sees them: distinct quasi-identifiers, and their way through the tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain.attributes import Scalar
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, parameter
from glassine.models import DecisionTree
from glassine.models.records import read_records
from glassine.records.arrays import AnyArray, Indices, Ints

CLOSEST = 1e-7
"""scikit-learn puts no threshold between values that differ by no more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeopleColumn:
    """One attribute of the distinct quasi-identifiers."""

    codes: npt.NDArray[np.int32]  # Index into ``values``; -1 where the value is missing; shape (q,)
    values: AnyArray  # The different values, numbers in order; shape (v,)
    # Of numbers, between which a threshold can stand only where the level differs: learners compare in single
    # precision, and take values within 1e-7 for equal. None for a category; shape (v,), or None.
    levels: npt.NDArray[np.int32] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeopleSplit:
    """An internal node that people reach."""

    node: int  # Its index in the tree
    attribute: str  # The attribute by which it splits
    members: npt.NDArray[np.int32]  # The quasi-identifiers that reach it; shape (m,)
    branch: npt.NDArray[np.int32]  # The branch that each of them takes; shape (m,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class People:
    """The distinct quasi-identifiers of a training set, and where they are in the tree."""

    person: Indices  # The quasi-identifier of each person; shape (n,)
    sizes: Ints  # Number of people of each quasi-identifier; shape (q,)
    first: Indices  # The first person of each; shape (q,)
    columns: Mapping[str, PeopleColumn]  # The attributes of the tree that the reader knows
    leaf: Indices  # The leaf of each quasi-identifier, among those that hold people; shape (q,)
    leaf_nodes: tuple[int, ...]  # The node of each such leaf, depth first
    splits: tuple[PeopleSplit, ...]  # The internal nodes that people reach, parents first

    @property
    def n_people(self) -> int:
        """Number of people n."""
        return len(self.person)

    @property
    def leaf_sizes(self) -> Ints:
        """Number of people in each leaf, shape (l,)."""
        return np.bincount(self.leaf, weights=self.sizes, minlength=len(self.leaf_nodes)).astype(np.int64)


def read_people(
    model: DecisionTree, data: Mapping[str, AnyArray], *, categories: Sequence[str] = (), superset: bool = False
) -> People:
    """Return the people of a training set as the reader of a tree sees them."""
    # People with the same values of the tree's attributes are one quasi-identifier: no constraint distinguishes them.
    # Shapes: data (n,).
    tested = {literal.attribute for literal in model.literals}
    for name in model.attributes:
        if name in tested and name not in data:
            raise InvalidDataError(
                f"the quasi-identifiers lack the column {name!r}, which the tree tests.",
                remedy="Add it: the reader is taken to know everyone's way through the tree.",
            )
    names = [name for name in model.attributes if name in data]
    if not names:
        raise InvalidDataError(
            "the quasi-identifiers hold no attribute of the tree.", remedy="Give the columns it was fitted on."
        )
    for name in categories:
        if name not in names:
            raise InvalidDataError(
                f"{parameter('categories')} names {name!r}, which is no column of the tree's attributes.",
                remedy="Drop it.",
            )
    listed = {branch.literal.attribute for node in model.nodes for branch in node.branches if _lists(branch.literal)}
    columns = {name: _column(data[name], name in listed or name in categories) for name in names}
    first, person, sizes = _distinct([columns[name].codes for name in names])
    own = {name: data[name][first] for name in names}
    leaf, leaf_nodes, splits = _descend(model, own, first, superset)
    kept = {
        name: PeopleColumn(codes=column.codes[first], values=column.values, levels=column.levels)
        for name, column in columns.items()
    }
    return People(
        person=person, sizes=sizes, first=first, columns=kept, leaf=leaf, leaf_nodes=leaf_nodes, splits=splits
    )


def true_table(people: People, classes: Sequence[Scalar], truth: npt.ArrayLike) -> Ints:
    """Return the people of each quasi-identifier and class, shape (q, c)."""
    # Shapes: truth (n,).
    out = np.zeros((len(people.sizes), len(classes)), dtype=np.int64)
    np.add.at(out, (people.person, true_codes(people, classes, truth)), 1)
    return out


def true_codes(people: People, classes: Sequence[Scalar], truth: npt.ArrayLike) -> Indices:
    """Return the place of each person's class among the classes, shape (n,)."""
    # Parameters and errors are those above.
    values = np.asarray(truth)
    if values.shape != (people.n_people,):
        raise InvalidDataError(
            f"{parameter('truth')} must hold one class for each of the {people.n_people} people, got the shape "
            f"{values.shape}.",
            remedy="Give them in the order of the quasi-identifiers.",
        )
    if is_missing(values).any():
        raise InvalidDataError("truth holds a missing value.", remedy="Give the class of each person.")
    place = {name: i for i, name in enumerate(classes)}
    codes = np.fromiter((place.get(value, -1) for value in values.tolist()), dtype=np.intp, count=len(values))
    if (codes < 0).any():
        raise InvalidDataError(
            f"truth holds a value, in row {int(np.argmin(codes))}, that is not one of the tree's {len(classes)} "
            "classes.",
            remedy="Recode it.",
        )
    return codes


def _lists(literal: object) -> bool:
    """Return whether a literal names a category's values; 0 and 1 can also be numbers."""
    return not set(getattr(literal, "values", ())) <= {0, 1}


def _column(values: AnyArray, category: bool) -> PeopleColumn:
    """Return a column of all people, coded."""
    gaps = is_missing(values)
    codes = np.full(len(values), -1, dtype=np.int32)
    present = values[~gaps]
    levels: npt.NDArray[np.int32] | None = None
    if values.dtype.kind in "iufb":
        distinct_values, inverse = np.unique(present, return_inverse=True)
        if not category:
            with np.errstate(over="ignore", invalid="ignore"):
                distinct = np.diff(distinct_values.astype(np.float32)) > CLOSEST
            levels = np.concatenate([[0], np.cumsum(distinct)])[: len(distinct_values)].astype(np.int32)
    else:
        index: dict[Any, int] = {}
        inverse = np.fromiter((index.setdefault(value, len(index)) for value in present.tolist()), dtype=np.intp)
        distinct_values = np.empty(len(index), dtype=object)
        distinct_values[:] = list(index)
    codes[~gaps] = inverse
    return PeopleColumn(codes=codes, values=distinct_values, levels=levels)


def _distinct(columns: Sequence[npt.NDArray[np.int32]]) -> tuple[Indices, Indices, Ints]:
    """Return the first row of each distinct combination, the combination of each row, and how often each occurs."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        span = int(codes.max(initial=-1)) + 2
        _, key = np.unique(key * span + codes + 1, return_inverse=True)
    _, first, person, sizes = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return first.astype(np.intp), person.astype(np.intp), sizes.astype(np.int64)


def _descend(
    model: DecisionTree, columns: Mapping[str, AnyArray], rows: Indices, superset: bool
) -> tuple[Indices, tuple[int, ...], tuple[PeopleSplit, ...]]:
    """Return the leaf of each record, the leaves that hold any, and the splits on the way, parents first."""
    leaf = np.empty(len(rows), dtype=np.intp)
    leaf_nodes: list[int] = []
    splits: list[PeopleSplit] = []

    def name(node: int) -> str:
        return model.nodes[node].branches[0].literal.attribute

    def astray(node: int, row: int) -> InvalidDataError:
        remedy = "Give the people of the training set, values as in training."
        if superset:
            remedy = "Leave it out: a person in no leaf was not in the sample."
        return InvalidDataError(
            f"row {rows[row]} of the quasi-identifiers is in no leaf: it satisfies no branch of node {node} on "
            f"{name(node)!r}. {remedy}"
        )

    records = read_records(columns, model.attributes, model.literals)
    for visit in model.walk(len(rows), records.holds, astray):
        if not model.nodes[visit.node].branches:
            leaf[visit.rows] = len(leaf_nodes)
            leaf_nodes.append(visit.node)
            continue
        members, branch = visit.rows.astype(np.int32), visit.branch.astype(np.int32)
        splits.append(PeopleSplit(node=visit.node, attribute=name(visit.node), members=members, branch=branch))
    return leaf, tuple(leaf_nodes), tuple(splits)
