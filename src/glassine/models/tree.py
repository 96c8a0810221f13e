"""Decision trees, and forests of several trees of the same records, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Literal as OneOfTexts
from typing import Self, TypeAlias

import numpy as np

from glassine.domain import Literal
from glassine.domain.attributes import Scalar, is_whole
from glassine.domain.literals import are_disjoint
from glassine.errors import GlassineError, InvalidDataError, InvalidModelError, check_whole, parameter
from glassine.exports import Displayed
from glassine.models.evidence import Cell, Evidence, Model, SizeOrigin, check_classes, check_guarantee
from glassine.models.flat_tree import FEW, FlatTree
from glassine.models.guarantee import Guarantee
from glassine.models.records import Holds, Records, read_records
from glassine.records.arrays import Indices

Unmatched: TypeAlias = OneOfTexts["last branch", "left out"] | Callable[[int, int], GlassineError]
"""What becomes of a record that satisfies no branch of a split: it takes the last one, it is left out, or an error is
raised, which is made of the node and the row."""


FEW_NODES = 100
"""Nodes up to which a tree is followed node by node, however few records there are."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One outcome of a split.

    Attributes
    ----------
    literal : Literal
        The condition under which a record takes the branch.
    child : int
        Index of the node that it leads to.
    """

    literal: Literal
    child: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node: a leaf, or a split with two or more branches.

    Attributes
    ----------
    branches : tuple of Branch
        The outcomes, none for a leaf. A record takes the first branch whose literal it satisfies.
    evidence : Evidence
        What is published about the training records that reached the node.
    """

    branches: tuple[Branch, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Visit:
    """A node, and the records that reach it.

    Attributes
    ----------
    node : int
        Its index in the tree.
    rows : ndarray of intp, shape (m,)
        The records, in increasing order.
    parts : tuple of ndarray of intp
        Those of them that take each branch, in order; none in a leaf.
    """

    node: int
    rows: Indices
    parts: tuple[Indices, ...]

    @property
    def branch(self) -> Indices:
        """The branch that each of the records takes, shape (m,); -1 in a leaf, and where a record is left out."""
        out = np.full(len(self.rows), -1, dtype=np.intp)
        for i, part in enumerate(self.parts):
            out[np.searchsorted(self.rows, part)] = i
        return out


@dataclass(frozen=True, repr=False)
class DecisionTree(Displayed, Model):
    """A published decision tree with binary or multiway splits.

    Parameters
    ----------
    nodes : tuple of Node
        The nodes; the first is the root, and each other is the child of exactly one.
    attributes : tuple of str
        The attributes that the tree was given, in order.
    classes : tuple of scalars, optional
        Names of the classes; None for a regression.
    source : str, optional
        Where the tree came from.
    approximate : bool, default=False
        Whether counts were rounded before publication, so that they need not add up.
    guarantee : Guarantee, optional
        The differential privacy that the publisher claims. With a ``count_scale``, counts are noisy: they need not add
        up.
    sizes : {"stored", "derived", "stated"}, default="stored"
        Where numbers of records and class counts come from; derived ones are sums of weights.

    Raises
    ------
    InvalidModelError
        If the nodes do not form a tree, a split names an unknown attribute, or counts do not add up.

    Examples
    --------
    >>> from glassine.domain import Between
    >>> tree = DecisionTree(
    ...     nodes=(
    ...         Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
    ...         Node(evidence=Evidence(counts=(3, 0))),
    ...         Node(evidence=Evidence(counts=(1, 5))),
    ...     ),
    ...     attributes=("age",),
    ...     classes=("no", "yes"),
    ... )
    >>> [str(cell) for cell in tree.cells], tree.n_records
    (['age <= 40', 'age > 40'], 9)
    """

    nodes: tuple[Node, ...]
    attributes: tuple[str, ...]
    classes: tuple[Scalar, ...] | None = None
    source: str = ""
    approximate: bool = False
    guarantee: Guarantee | None = None
    sizes: SizeOrigin = "stored"

    def __post_init__(self) -> None:
        for name in ("nodes", "attributes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
        if not self.nodes:
            raise InvalidModelError(
                "a decision tree needs at least one node, got none.", remedy="Pass its nodes, the root first."
            )
        check_classes(self.classes, [node.evidence for node in self.nodes], "decision tree")
        self._check_shape()
        check_guarantee(self.guarantee)
        if self.counts_are_exact:
            self._check_counts()

    def with_nodes(self, nodes: Sequence[Node]) -> Self:
        """Return the tree with other nodes of the same shape, attributes and evidence, which are not checked again."""
        tree = object.__new__(type(self))
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        for name, value in {**own, "nodes": tuple(nodes)}.items():
            object.__setattr__(tree, name, value)
        return tree

    def _check_shape(self) -> None:
        names = set(self.attributes)
        if len(names) < len(self.attributes):
            raise InvalidModelError("a decision tree names an attribute twice.", remedy="Name each once.")
        parents = [0] * len(self.nodes)
        for i, node in enumerate(self.nodes):
            if len(node.branches) == 1:
                raise InvalidModelError(f"node {i} has one branch; a split needs at least two.")
            for branch in node.branches:
                if branch.literal.attribute not in names:
                    raise InvalidModelError(
                        f"node {i} tests {branch.literal.attribute!r}, not an attribute of the tree."
                    )
                if not (type(branch.child) is int or is_whole(branch.child)) or not 0 < branch.child < len(parents):
                    raise InvalidModelError(
                        f"node {i} leads to node {branch.child!r}, but the tree has nodes 0 to {len(self.nodes) - 1} "
                        "and nothing leads back to the root."
                    )
                parents[branch.child] += 1
        for i, count in enumerate(parents[1:], start=1):
            if count != 1:
                raise InvalidModelError(f"node {i} is the child of {count} nodes; every node but the root needs one.")
        seen, stack = 0, [0]
        while stack:
            seen += 1
            stack += [branch.child for branch in self.nodes[stack.pop()].branches]
        if seen < len(self.nodes):
            raise InvalidModelError("some nodes cannot be reached from the root: they form a cycle.")

    def _check_counts(self) -> None:
        for i, node in enumerate(self.nodes):
            if not node.branches:
                continue
            children = [self.nodes[branch.child].evidence for branch in node.branches]
            own, counts = node.evidence, [child.counts for child in children]
            if own.counts is not None and None not in counts:
                sums = tuple(map(sum, zip(*(each for each in counts if each), strict=True)))
                if sums != own.counts:
                    raise InvalidModelError(
                        f"the counts of node {i}, {list(own.counts)}, are not the sum of its branches', {list(sums)}."
                    )
            elif own.size is not None and all(c.size is not None for c in children):
                total = sum(c.size or 0 for c in children)
                if total != own.size:
                    raise InvalidModelError(f"node {i} holds {own.size} records, but its branches hold {total}.")

    def _walk(self) -> Iterator[Cell]:
        stack: list[tuple[int, tuple[Literal, ...]]] = [(0, ())]
        while stack:
            index, path = stack.pop()
            node = self.nodes[index]
            if not node.branches:
                yield Cell(path, (), node.evidence, index)
                continue
            literals = [branch.literal for branch in node.branches]
            negations: dict[int, Literal] = {}  # each is made once, as a node of n branches lists n² / 2 of them
            for i in range(len(literals) - 1, -1, -1):
                own = literals[i]
                met = [j for j in range(i) if not are_disjoint(literals[j], own)]
                if met:
                    negations |= {j: literals[j].negate() for j in met if j not in negations}
                    path_there = (*path, *map(negations.__getitem__, met), own)
                else:
                    path_there = (*path, own)
                stack.append((node.branches[i].child, path_there))

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The leaves, depth first, branches in order."""
        return tuple(self._walk())

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """Every literal of the tree, each once."""
        return tuple(dict.fromkeys(branch.literal for node in self.nodes for branch in node.branches))

    @cached_property
    def _flat(self) -> FlatTree | None:
        """The splits as arrays; None where some have more than two branches."""
        splits = [[(branch.literal, branch.child) for branch in node.branches] for node in self.nodes]
        return FlatTree.of(splits, [cell.node for cell in self.cells])

    @property
    def n_records(self) -> int | None:
        """Number of training records, if published; a sum of noisy counts where they are noisy."""
        sizes = [cell.evidence.size for cell in self.cells]
        if any(size is None for size in sizes):
            return self.nodes[0].evidence.size
        return sum(size or 0 for size in sizes)

    @property
    def depth(self) -> int:
        """Largest number of splits on a path."""
        return max(len(cell.inside) for cell in self.cells)

    def apply(self, data: object) -> Indices:
        """Return for each record the index of its leaf among :attr:`cells`, shape (n,)."""
        records = read_records(data, self.attributes, self.literals)
        if records.lacks is None:
            return self.cells_of(records, "last branch")
        out = self.cells_of(records, "left out")
        if (out < 0).any():
            for visit in self.walk(len(out), records.holds, "left out"):
                lost = visit.rows[visit.branch < 0]
                if len(lost) and (branches := self.nodes[visit.node].branches):
                    name = branches[0].literal.attribute
                    raise _astray(len(lost), name, missing=records.lacks(name, int(lost[0])))
        return out

    def cells_of(self, records: Records, unmatched: OneOfTexts["last branch", "left out"]) -> Indices:
        """Return for each record the index of its leaf among :attr:`cells`, -1 if left out; see :meth:`walk`."""
        where = {cell.node: i for i, cell in enumerate(self.cells)}
        out = np.full(records.n_records, -1, dtype=np.intp)
        flat = self._flat if len(self.nodes) > FEW_NODES else None
        if flat is not None and not flat.suits(records):
            flat = None
        few: list[tuple[int, Indices]] = []
        for visit in self.walk(records.n_records, records.holds, unmatched, least=0 if flat is None else FEW):
            if visit.node in where:
                out[visit.rows] = where[visit.node]
            elif not visit.parts:
                few.append((visit.node, visit.rows))
        if flat is not None and few:
            out[np.concatenate([rows for _, rows in few])] = flat.follow(records, few, last=unmatched == "last branch")
        return out

    def walk(self, n_records: int, holds: Holds, unmatched: Unmatched, *, least: int = 0) -> Iterator[Visit]:
        """Follow records from the root to their leaves: yield each node that some reach, parents first.

        Parameters
        ----------
        n_records : int
            Number of records.
        holds : callable
            Given a literal and the indices of some records, returns which of them satisfy it.
        unmatched : {"last branch", "left out"} or callable
            What becomes of a record that satisfies no branch of a split. A callable is given the node and the record,
            and returns the error to raise.
        least : int, default=0
            Number of records of a node from which they are followed; of fewer, their visit has no parts.

        Raises
        ------
        GlassineError
            What ``unmatched`` returns.
        """
        stack = [(0, np.arange(n_records))]
        while stack:
            index, rows = stack.pop()
            if not len(rows):
                continue
            branches = self.nodes[index].branches if len(rows) >= least else ()
            # The records that have satisfied no branch so far: the first that one satisfies counts.
            free, parts = rows, []
            for i, way in enumerate(branches):
                if unmatched == "last branch" and i == len(branches) - 1:
                    parts.append(free)
                    free = free[:0]
                    break
                taken = holds(way.literal, free)
                parts.append(free[taken])
                free = free[~taken]
            if callable(unmatched) and branches and len(free):
                raise unmatched(index, int(free[0]))
            yield Visit(node=index, rows=rows, parts=tuple(parts))
            stack += [(way.child, part) for way, part in zip(reversed(branches), reversed(parts), strict=True)]

    def __str__(self) -> str:
        kind = "regression tree" if self.classes is None else "decision tree"
        leaves = "1 leaf" if len(self.cells) == 1 else f"{len(self.cells)} leaves"
        return f"{kind} with {leaves}, depth {self.depth}"


def _astray(number: int, name: str, *, missing: bool) -> InvalidDataError:
    """Return the error for records that satisfy no branch on an attribute, where the first of them may lack a value."""
    records = f"{number:,} records satisfy" if number != 1 else "1 record satisfies"
    if missing:
        return InvalidDataError(
            f"{records} no branch on {name!r}: a value is missing there. Either the domain does not declare that, "
            "or the model does not say where such records go.",
            remedy=f"Declare it: missing = true of {name!r} in the domain. Or leave these records out.",
        )
    return InvalidDataError(
        f"{records} no branch on {name!r}: the model does not know the value there.",
        remedy="Clip or recode it, to what the domain declares.",
    )


Table: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, repr=False, kw_only=True)
class Forest(Displayed):
    """Decision trees that were trained on the same records.

    Parameters
    ----------
    trees : tuple of DecisionTree
        The trees, over the same attributes and classes. The size of a leaf counts different records.
    bootstrap : bool, default=False
        Whether each tree was trained on records drawn with replacement; otherwise every tree saw every record.
    n_records : int, optional
        Number of training records; taken from the first tree where every tree saw every record.
    drawn : tuple of (tuple of tuple of int), optional
        With bootstrap, for each tree and each of its cells, in order, how many draws of each class it captured; of a
        regression, how many draws.
    multiplicities : tuple of tuple of int, optional
        With bootstrap, how often each tree drew each record: known where the seeds of the draws are published.
    source : str, optional
        Where the forest came from.

    Raises
    ------
    InvalidModelError
        If there is no tree, trees differ in their attributes or classes, or the draws do not fit the trees.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from glassine.formats.sklearn.forest import forest_from_sklearn
    >>> fitted = RandomForestClassifier(3, bootstrap=False, random_state=0).fit([[1], [2], [5]], ["no", "no", "yes"])
    >>> forest_from_sklearn(fitted)
    <forest of 3 trees, 3 records>
    """

    trees: tuple[DecisionTree, ...]
    bootstrap: bool = False
    n_records: int | None = None
    drawn: tuple[Table, ...] | None = None
    multiplicities: Table | None = None
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trees", tuple(self.trees))
        if not self.trees:
            raise InvalidModelError("a forest needs at least one tree, got none.", remedy="Pass its trees.")
        for i, tree in enumerate(self.trees):
            member: object = tree
            if not isinstance(member, DecisionTree):
                raise InvalidModelError(f"a forest holds decision trees, got {type(member).__name__} at place {i}.")
            if (tree.attributes, tree.classes) != (self.attributes, self.classes):
                raise InvalidModelError(f"tree {i} of the forest has other attributes or classes than the first tree.")
        if not self.bootstrap and (self.drawn is not None or self.multiplicities is not None):
            raise InvalidModelError(
                "a forest without bootstrap draws nothing.", remedy="Say that it has bootstrap, or drop them."
            )
        if self.n_records is None and not self.bootstrap:
            object.__setattr__(self, "n_records", self.trees[0].n_records)
        if self.n_records is not None:
            check_whole(self.n_records, "n_records", 0, kind=InvalidModelError)
        if self.drawn is not None:
            self._check_drawn(self.drawn)
        if self.multiplicities is not None:
            self._check_multiplicities(self.multiplicities)

    def _check_drawn(self, drawn: tuple[Table, ...]) -> None:
        width = 1 if self.classes is None else len(self.classes)
        if len(drawn) != len(self.trees):
            raise InvalidModelError(
                f"{parameter('draws')} of {len(drawn)} trees are given for a forest of {len(self.trees)}."
            )
        for i, (tree, table) in enumerate(zip(self.trees, drawn, strict=True)):
            if len(table) != len(tree.cells) or any(len(row) != width for row in table):
                raise InvalidModelError(f"the draws of tree {i} must be {len(tree.cells)} rows of {width} numbers.")
            for cell, row in zip(tree.cells, table, strict=True):
                if not all(is_whole(draws) and draws >= 0 for draws in row):
                    raise InvalidModelError(
                        f"{parameter('draws')} must be whole numbers of at least 0, got {row!r} in tree {i}."
                    )
                size = cell.evidence.size
                if size is not None and not sum(1 for draws in row if draws) <= size <= sum(row):
                    raise InvalidModelError(f"a leaf of tree {i} holds {size} records, but {sum(row)} draws.")

    def _check_multiplicities(self, table: Table) -> None:
        if self.drawn is None or len(table) != len(self.trees) or any(len(row) != self.n_records for row in table):
            raise InvalidModelError(
                f"multiplicities need the draws, and {self.n_records} numbers for each of the {len(self.trees)} trees."
            )
        for i, (tree, row, drawn) in enumerate(zip(self.trees, table, self.drawn, strict=True)):
            if not all(is_whole(times) and times >= 0 for times in row):
                raise InvalidModelError(
                    f"{parameter('multiplicities')} must be whole numbers of at least 0; those of tree {i} are not."
                )
            different, draws = sum(1 for times in row if times), int(np.sum(drawn))
            if sum(row) != draws or tree.n_records not in (None, different):
                raise InvalidModelError(
                    f"tree {i} holds {tree.n_records} records in {draws} draws, but its multiplicities are of "
                    f"{different} records in {sum(row)} draws."
                )

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes that the trees were given, in order."""
        return self.trees[0].attributes

    @property
    def classes(self) -> tuple[Scalar, ...] | None:
        """Names of the classes; None for a regression."""
        return self.trees[0].classes

    @property
    def literals(self) -> tuple[Literal, ...]:
        """Every literal of the trees, each once."""
        return tuple(dict.fromkeys(literal for tree in self.trees for literal in tree.literals))

    @property
    def counts_are_exact(self) -> bool:
        """Whether counts, where published, are those of the records: neither rounded nor noisy."""
        return all(tree.counts_are_exact for tree in self.trees)

    def __str__(self) -> str:
        size = "an unknown number of" if self.n_records is None else self.n_records
        drawn = ", bootstrap" if self.bootstrap else ""
        return f"forest of {len(self.trees)} trees, {size} records{drawn}"

    def __repr__(self) -> str:
        return f"<{self}>"
