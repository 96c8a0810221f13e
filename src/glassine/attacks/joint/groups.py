"""Groups that several models pin down together and no single one does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice, permutations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from glassine.attacks.joint.flows import Graph, feasible_table
from glassine.attacks.joint.published import Published
from glassine.attacks.joint.ranges import Possible, edge_ranges
from glassine.attacks.joint.result import CellRanges, SharedGroup
from glassine.domain.attributes import Scalar
from glassine.models import DecisionTree

__all__ = ["Shared", "certain_labels", "small_groups"]

Members: TypeAlias = npt.NDArray[np.intp]
Found: TypeAlias = tuple[Members, SharedGroup]

MOST_PAIRS = 20_000
MOST_PAIRS_OF_MODELS = 45


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shared:
    """The models, and what is known of their cells.

    Attributes
    ----------
    told : list of Published
        The models.
    ranges : CellRanges
        The cells.
    possible : Possible
        Which cells and classes can hold records.
    classes : tuple of scalars or None
        The classes; None where they are not told.
    """

    told: list[Published]
    ranges: CellRanges
    possible: Possible
    classes: tuple[Scalar, ...] | None

    def label(self, members: Members) -> Scalar | None:
        """Return the only class that some cells can hold."""
        if self.classes is None:
            return None
        able = np.flatnonzero(self.possible.classes[members].any(axis=0))
        return self.classes[int(able[0])] if len(able) == 1 else None

    def hidden(self, members: Members) -> int:
        """Return the records among which the best single model hides those of some cells: its parts that they touch."""
        leaves = self.ranges.leaves[members]
        return min(int(t.sizes[np.unique(leaves[:, i])].sum()) for i, t in enumerate(self.told))

    def worlds(self, members: Members) -> int | None:
        """Return the number of possible records of some cells; None over a continuum."""
        counts = [self.ranges.worlds[cell] for cell in members.tolist()]
        return None if None in counts else sum(count or 0 for count in counts)

    def rule(self, model: int, part: int) -> str:
        """Return the condition of a leaf; of a rule with its number, which says what it leaves to others."""
        told = self.told[model]
        cell = told.model.cells[part]
        text = str(cell) if isinstance(told.model, DecisionTree) else f"rule {part + 1} ({cell})"
        return f"{told.name}: {text}"

    def cell(self, members: Members, models: tuple[int, ...], low: int, high: int) -> SharedGroup:
        """Return the common part of one part of each of some models as a group."""
        leaves = self.ranges.leaves[members[0]].tolist()
        return SharedGroup(
            kind="cell",
            where="; ".join(self.rule(model, leaves[model]) for model in models),
            low=low,
            high=high,
            label=self.label(members),
            worlds=self.worlds(members),
            alone=self.hidden(members),
        )


def small_groups(shared: Shared, at_most: int) -> tuple[SharedGroup, ...]:
    """Return the groups that certainly hold between one and ``at_most`` records, which no model alone sets apart."""
    found: dict[frozenset[int], SharedGroup] = {}
    for members, group in [*_cells(shared), *_pairs(shared, at_most), *_differences(shared, at_most)]:
        if group.low >= 1 and group.high <= at_most < group.alone:
            found.setdefault(frozenset(members.tolist()), group)
    return tuple(sorted(found.values(), key=lambda group: (group.high, group.low, group.worlds or 0, group.where)))


def certain_labels(shared: Shared) -> tuple[SharedGroup, ...]:
    """Return the cells with records, all certainly of one class, which no model alone tells."""
    if shared.classes is None:
        return ()
    found: dict[frozenset[int], SharedGroup] = {}
    for members, group in _cells(shared):
        if group.label is not None and not _is_pure(shared, members):
            found.setdefault(frozenset(members.tolist()), group)
    return tuple(sorted(found.values(), key=lambda group: (-group.low, -group.high, group.where)))


def _is_pure(shared: Shared, members: Members) -> bool:
    """Return whether a single model puts the cells into parts of one class."""
    for i, t in enumerate(shared.told):
        if t.classes is not None and (t.counts[shared.ranges.leaves[members, i]].sum(axis=0) > 0).sum() == 1:
            return True
    return False


def _cells(shared: Shared) -> Iterator[Found]:
    """Yield the cells that certainly hold records."""
    everything = tuple(range(len(shared.told)))
    for cell in np.flatnonzero(shared.ranges.low >= 1).tolist():
        members = np.array([cell])
        yield members, shared.cell(members, everything, int(shared.ranges.low[cell]), int(shared.ranges.high[cell]))


def _pairs(shared: Shared, at_most: int) -> Iterator[Found]:
    """Yield of three models or more the common parts of two that hold so few records by the counts of these two."""
    if len(shared.told) < 3:
        return
    held = np.flatnonzero(shared.possible.cells)
    leaves = shared.ranges.leaves[held]
    for first, second in islice(combinations(range(len(shared.told)), 2), MOST_PAIRS_OF_MODELS):
        pairs, edge = np.unique(leaves[:, [first, second]].astype(np.intp), axis=0, return_inverse=True)
        sizes = [shared.told[model].sizes for model in (first, second)]
        graph = Graph(pairs[:, 0], pairs[:, 1], len(sizes[0]), len(sizes[1]))
        table = feasible_table(graph, *sizes)
        if table is None:
            continue
        low, high, exact = edge_ranges(graph, table, at_most)
        for place in np.flatnonzero(exact & (low >= 1)).tolist():
            members = held[edge.ravel() == place]
            yield members, shared.cell(members, (first, second), int(low[place]), int(high[place]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Section:
    """A union of parts of one model with a known count: a leaf, an inner node, or the first rules together."""

    where: str
    parts: Members


def _sections(shared: Shared, model: int) -> list[_Section]:
    """Return the unions of parts whose counts the model's structure tells."""
    told = shared.told[model]
    leaves = [_Section(where=shared.rule(model, i), parts=np.array([i])) for i in range(len(told.counts))]
    tree = told.model
    if not isinstance(tree, DecisionTree):
        several = range(2, len(told.counts))
        return leaves + [_Section(where=f"{told.name}: rules 1 to {i}", parts=np.arange(i)) for i in several]
    below: dict[int, list[int]] = {cell.node: [i] for i, cell in enumerate(tree.cells)}
    paths: dict[int, tuple[str, ...]] = {0: ()}
    order = [0]
    for node in order:
        for branch in tree.nodes[node].branches:
            paths[branch.child] = (*paths[node], str(branch.literal))
            order.append(branch.child)
    inner = []
    for node in reversed(order):
        branches = tree.nodes[node].branches
        if branches:
            below[node] = [leaf for branch in branches for leaf in below[branch.child]]
        if branches and node:
            where = f"{told.name}: {' and '.join(paths[node])}"
            inner.append(_Section(where=where, parts=np.array(below[node])))
    return leaves + inner


def _differences(shared: Shared, at_most: int) -> Iterator[Found]:
    """Yield what sections of one model hold beyond sections of another that lie inside them."""
    held = np.flatnonzero(shared.possible.cells)
    sections = [_sections(shared, model) for model in range(len(shared.told))]
    inside, sizes = [], []
    for i, t in enumerate(shared.told):
        rows = np.repeat(np.arange(len(sections[i])), [len(section.parts) for section in sections[i]])
        columns = np.concatenate([section.parts for section in sections[i]])
        shape = (len(sections[i]), len(t.counts))
        of_part = sparse.csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)
        inside.append(of_part[:, shared.ranges.leaves[held, i]].tocsr())
        sizes.append(of_part @ t.sizes)
    pairs = 0
    for outer, inner in permutations(range(len(shared.told)), 2):
        common = (inside[inner] @ inside[outer].T).toarray()
        more = sizes[outer][None, :] - sizes[inner][:, None]
        whole = np.asarray(inside[inner].sum(axis=1)).reshape(-1, 1)
        nested = (common == whole) & (more >= 1) & (more <= at_most) & (sizes[inner][:, None] > 0)
        for small, large in np.argwhere(nested).tolist():
            pairs += 1
            if pairs > MOST_PAIRS:
                return
            beyond = np.setdiff1d(inside[outer][large].indices, inside[inner][small].indices)
            members = held[beyond]
            count = int(more[small, large])
            yield (
                members,
                SharedGroup(
                    kind="difference",
                    where=f"{sections[outer][large].where}; not {sections[inner][small].where}",
                    low=count,
                    high=count,
                    label=shared.label(members),
                    worlds=shared.worlds(members),
                    alone=shared.hidden(members),
                ),
            )
