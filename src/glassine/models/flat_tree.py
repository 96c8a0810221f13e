"""A binary tree as arrays: few records at each of many nodes go down level by level, all nodes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from glassine.domain import Literal
from glassine.domain.literals import Between
from glassine.models.records import Records, truths_of
from glassine.records.arrays import Array, Bools, Indices
from glassine.records.columns import values_of

Splits: TypeAlias = Sequence[Sequence[tuple[Literal, int]]]
"""Of each node its branches, each a literal and the node that it leads to; none of a leaf."""

FEW = 400
"""Records of a node below which the time goes to the node, and not to its records."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlatTree:
    """The splits of a binary tree, by node; entry b of a pair is that of branch b.

    Shapes: ``attribute`` (nodes,), the place of the tested attribute in ``names``; ``children`` (nodes, 2); ``leaf``
    (nodes,), the number of the leaf, -1 of a split; ``low``, ``high``, ``negated``, ``missing`` (nodes, 2), of literals
    on numbers; ``condition`` (nodes, 2), the place of other literals in ``literals``.
    """

    names: tuple[str, ...]
    literals: tuple[Literal, ...]
    attribute: Indices
    children: Indices
    leaf: Indices
    low: Array
    high: Array
    negated: Bools
    missing: Bools
    condition: Indices

    @classmethod
    def of(cls, splits: Splits, leaves: Sequence[int]) -> Self | None:
        """Return the arrays of a tree, given the nodes that are leaves; None of one with splits into more than two."""
        n, names, others = len(splits), dict[str, int](), dict[Literal, int]()
        attribute, leaf = np.zeros(n, dtype=np.intp), np.full(n, -1)
        children, condition = (np.zeros((n, 2), dtype=np.intp) for _ in range(2))
        (low, high), (negated, missing) = np.zeros((2, n, 2)), np.zeros((2, n, 2), dtype=bool)
        leaf[list(leaves)] = np.arange(len(leaves))
        for i, branches in enumerate(splits):
            if not branches:
                continue
            if len(branches) != 2 or branches[0][0].attribute != branches[1][0].attribute:
                return None
            attribute[i] = names.setdefault(branches[0][0].attribute, len(names))
            for b, (literal, child) in enumerate(branches):
                children[i, b] = child
                if isinstance(literal, Between):
                    low[i, b], high[i, b] = literal.lo, literal.hi
                    negated[i, b], missing[i, b] = literal.negated, literal.missing
                condition[i, b] = others.setdefault(literal, len(others))
        return cls(
            names=tuple(names),
            literals=tuple(others),
            attribute=attribute,
            children=children,
            leaf=leaf,
            low=low,
            high=high,
            negated=negated,
            missing=missing,
            condition=condition,
        )

    def suits(self, records: Records) -> bool:
        """Return whether records can be asked at many nodes together: they are columns, and numbers meet bounds."""
        columns = records.columns
        return columns is not None and all(
            isinstance(one, Between) or one.attribute not in columns.numbers for one in self.literals
        )

    def follow(self, records: Records, starts: Sequence[tuple[int, Indices]], *, last: bool) -> Indices:
        """Return the leaf of records that start at some nodes, one after the other; -1 where no branch is taken.

        With ``last``, what satisfies no branch takes the second.
        """
        rows = np.concatenate([own for _, own in starts])
        asked = _Asked.of(self, records, rows)
        out = np.full(len(rows), -1, dtype=np.intp)
        node = np.repeat([index for index, _ in starts], [len(own) for _, own in starts])
        place = np.arange(len(rows))
        while len(place):
            first = asked.holds(node, 0, place)
            below = np.where(first, self.children[node, 0], self.children[node, 1])
            if not last:
                taken = first | asked.holds(node, 1, place)
                below, place = below[taken], place[taken]
            leaf = self.leaf[below]
            done = leaf >= 0
            out[place[done]] = leaf[done]
            node, place = below[~done], place[~done]
        return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    """Some records as the splits of a tree ask for them: numbers, and categories by the truths of their literals."""

    tree: FlatTree
    numeric: Bools  # Whether each attribute is a number; shape (a,)
    numbers: Array  # Of each attribute and record, 0 of a category; shape (a, m)
    codes: Indices  # Of each attribute and record the place of the value, 0 of a number; shape (a, m)
    truths: Bools  # By value, one literal after the other
    starts: Indices  # Where the truths of each literal begin; shape (literals,)

    @classmethod
    def of(cls, tree: FlatTree, records: Records, rows: Indices) -> Self:
        columns = records.columns
        if columns is None:
            raise ValueError("records without columns cannot be asked at many nodes together")
        numeric = np.array([name in columns.numbers for name in tree.names], dtype=bool)
        numbers, codes = np.zeros((len(numeric), len(rows))), np.zeros((len(numeric), len(rows)), dtype=np.intp)
        n_values: dict[str, int] = {}
        for i, name in enumerate(tree.names):
            cells = columns.array(name)[rows]
            if numeric[i]:
                numbers[i] = cells
                continue
            # The last two truths are those of another value, of code -2, and of a missing one, of code -1.
            n_values[name] = len(values_of(columns.attributes[name])) + 2
            codes[i] = np.where(cells < 0, n_values[name] + cells.astype(np.intp), cells)
        truths = [
            truths_of(literal, values_of(columns.attributes[literal.attribute]))
            if literal.attribute in n_values
            else np.zeros(0, dtype=bool)
            for literal in tree.literals
        ]
        starts = np.cumsum([0, *map(len, truths)], dtype=np.intp)[:-1]
        return cls(
            tree=tree,
            numeric=numeric,
            numbers=numbers,
            codes=codes,
            truths=np.concatenate([*truths, np.zeros(1, dtype=bool)]),
            starts=starts,
        )

    def holds(self, node: Indices, branch: int, place: Indices) -> Bools:
        """Return where records at nodes satisfy the literal of a branch, shape (m,)."""
        of = self.tree.attribute[node]
        values = self.numbers[of, place]
        inside: Bools = (values > self.tree.low[node, branch]) & (values <= self.tree.high[node, branch])
        inside ^= self.tree.negated[node, branch]
        gaps = np.flatnonzero(np.isnan(values))
        inside[gaps] = self.tree.missing[node[gaps], branch]
        if not self.numeric.all():
            listed = np.flatnonzero(~self.numeric[of])
            at = self.starts[self.tree.condition[node[listed], branch]] + self.codes[of[listed], place[listed]]
            inside[listed] = self.truths[at]
        return inside
