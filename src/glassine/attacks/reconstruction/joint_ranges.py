"""How many records each cell holds over all datasets that meet the counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations
from typing import TypeAlias

import numpy as np
from scipy import sparse

from glassine.attacks.reconstruction.joint_cells import JointCells, System
from glassine.attacks.reconstruction.joint_flows import Graph, feasible_table, improve_ranges
from glassine.attacks.reconstruction.joint_programs import Settled, graph_of, real_range
from glassine.attacks.reconstruction.joint_published import CountedModel
from glassine.attacks.reconstruction.joint_result import CellRanges, SharedGroup
from glassine.domain.attributes import Scalar
from glassine.models import DecisionTree
from glassine.records.arrays import Array, Bools, Indices, Ints

EVERY_EDGE = 30_000
"""Free options of two models up to which the range of each is computed; beyond, of those that may be small groups."""
MOST_PROGRAMS = 100
"""Cells of three models or more whose range is computed; two linear programs each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Possible:
    """Which cells and classes can hold records."""

    cells: Bools  # Whether a cell can; shape (cells,)
    # Whether a cell can hold records of a class; one column where classes are not published; shape (cells, classes).
    classes: Bools


def cell_ranges(
    cells: JointCells, settled: Sequence[Settled], expected: Array, table: Ints | None, *, finite: bool, at_most: int
) -> tuple[CellRanges, Possible]:
    """Return the range of every cell's number of records, exact at least for small groups of two models."""
    # Where some model has classes and another does not, settled holds the system of cells and classes and that of the
    # cells alone. Class counts of one of two models do not bound the cells then: its parts' sizes do, and every table
    # of the cells can be labelled. expected holds the expected records of each cell, table some table of the first
    # system's options. Cells without a volume may turn out to be empty: then no range is called exact.
    system = settled[0].system
    n = len(cells)
    if len(system.counts) <= 2:
        alone = settled[-1]
        low, high, exact = _of_cells(n, alone.system, *_two(alone, at_most))
    else:
        low, high, exact = _many(n, system, expected, table, at_most)
    if not all(cells.measures):
        exact = np.zeros(n, dtype=bool)
    width = max(1, int(system.classes.max(initial=-1)) + 1)
    classes = np.zeros((n, width), dtype=bool)
    able = system.fixed != 0
    classes[system.cells[able], np.maximum(system.classes[able], 0)] = True
    ranges = CellRanges(
        leaves=cells.leaves,
        worlds=tuple(int(m) if finite else None for m in cells.measures),
        low=low,
        high=high,
        exact=exact,
        expected=expected,
    )
    return ranges, Possible(cells=high > 0, classes=classes)


def _two(settled: Settled, at_most: int) -> tuple[Ints, Ints, Bools]:
    """Return the range of every option of one or two models."""
    system = settled.system
    low, high = _outer(system)
    exact = system.fixed >= 0
    free = system.free
    if len(free) and settled.table is not None:
        least, most, settles = edge_ranges(graph_of(system), settled.table[free], at_most)
        low[free[settles]], high[free[settles]] = least[settles], most[settles]
        exact[free[settles]] = True
    return low, high, exact


def edge_ranges(graph: Graph, table: Ints, at_most: int) -> tuple[Ints, Ints, Bools]:
    """Return the ranges of edges, and which are exact: all of a small graph, of a large one those of small groups."""
    if len(table) <= EVERY_EDGE:
        return improve_ranges(graph, table, np.arange(len(table)), at_most=None)
    return improve_ranges(graph, table, np.flatnonzero((table > 0) & (table <= at_most)), at_most=at_most)


def _outer(system: System) -> tuple[Ints, Ints]:
    """Return bounds from each part alone: its count, less the most that its other options can take."""
    high = system.fixed.copy()
    low = np.maximum(system.fixed, 0)
    free = system.free
    left = [system.left(i) for i in range(len(system.counts))]
    high[free] = np.min([count[system.parts[free, i]] for i, count in enumerate(left)], axis=0) if len(free) else 0
    for i, count in enumerate(left):
        most = np.bincount(system.parts[free, i], high[free], minlength=len(count)).astype(np.int64)
        low[free] = np.maximum(low[free], (count - most)[system.parts[free, i]] + high[free])
    return low, high


def _of_cells(n: int, system: System, low: Ints, high: Ints, exact: Bools) -> tuple[Ints, Ints, Bools]:
    """Add the ranges of a cell's classes, which do not constrain each other where all models reveal classes."""
    below = np.bincount(system.cells, low, minlength=n).astype(np.int64)
    above = np.bincount(system.cells, high, minlength=n).astype(np.int64)
    open_ = np.bincount(system.cells, ~exact, minlength=n) > 0
    return below, above, ~open_


def _many(n: int, system: System, expected: Array, table: Ints | None, at_most: int) -> tuple[Ints, Ints, Bools]:
    """Return the ranges of the cells of three models or more: by linear programs for those that may be small groups."""
    low, high, exact = _of_cells(n, system, *_outer(system), system.fixed >= 0)
    free = system.free
    if not len(free):
        return low, high, exact
    in_free = np.bincount(system.cells[free], minlength=n) > 0
    sizes = np.ones(n) if table is None else np.bincount(system.cells, table, minlength=n)
    wanted = np.flatnonzero(in_free & (sizes >= 1) & (sizes <= at_most))
    wanted = wanted[np.argsort(-expected[wanted])[:MOST_PROGRAMS]]
    left = tuple(system.left(i) for i in range(len(system.counts)))
    for cell in wanted.tolist():
        mine = np.flatnonzero(system.cells[free] == cell)
        fixed = int(np.maximum(system.fixed[system.cells == cell], 0).sum())
        least, most = real_range(system.parts[free], left, mine)
        low[cell], high[cell] = max(low[cell], fixed + least), min(high[cell], fixed + most)
    return low, high, exact


# Groups that several models pin down together and no single one does.


Members: TypeAlias = Indices
Found: TypeAlias = tuple[Members, SharedGroup]

MOST_PAIRS = 20_000
MOST_PAIRS_OF_MODELS = 45


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedModels:
    """The models, and what is known of their cells."""

    published: list[CountedModel]  # The models
    ranges: CellRanges  # The cells
    possible: Possible  # Which cells and classes can hold records
    classes: tuple[Scalar, ...] | None  # The classes; None where they are not published

    def label(self, members: Members) -> Scalar | None:
        """Return the only class that some cells can hold."""
        if self.classes is None:
            return None
        able = np.flatnonzero(self.possible.classes[members].any(axis=0))
        return self.classes[int(able[0])] if len(able) == 1 else None

    def hidden(self, members: Members) -> int:
        """Return the records among which the best single model hides those of some cells: its parts that they touch."""
        leaves = self.ranges.leaves[members]
        return min(int(t.sizes[np.unique(leaves[:, i])].sum()) for i, t in enumerate(self.published))

    def worlds(self, members: Members) -> int | None:
        """Return the number of possible records of some cells; None over a continuum."""
        counts = [self.ranges.worlds[cell] for cell in members.tolist()]
        return None if None in counts else sum(count or 0 for count in counts)

    def rule(self, model: int, part: int) -> str:
        """Return the condition of a leaf; of a rule with its number, which says what it leaves to others."""
        published = self.published[model]
        cell = published.model.cells[part]
        text = str(cell) if isinstance(published.model, DecisionTree) else f"rule {part + 1} ({cell})"
        return f"{published.name}: {text}"

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
            cells=tuple(members.tolist()),
        )


def small_groups(shared: SharedModels, at_most: int) -> tuple[SharedGroup, ...]:
    """Return the groups that certainly hold between one and ``at_most`` records, which no model alone sets apart."""
    result: dict[frozenset[int], SharedGroup] = {}
    for members, group in [*_cells(shared), *_pairs(shared, at_most), *_differences(shared, at_most)]:
        if group.low >= 1 and group.high <= at_most < group.alone:
            result.setdefault(frozenset(members.tolist()), group)
    return tuple(sorted(result.values(), key=lambda group: (group.high, group.low, group.worlds or 0, group.where)))


def certain_labels(shared: SharedModels) -> tuple[SharedGroup, ...]:
    """Return cells with records, certainly of one class, that no model alone reveals."""
    if shared.classes is None:
        return ()
    result: dict[frozenset[int], SharedGroup] = {}
    for members, group in _cells(shared):
        if group.label is not None and not _is_pure(shared, members):
            result.setdefault(frozenset(members.tolist()), group)
    return tuple(sorted(result.values(), key=lambda group: (-group.low, -group.high, group.where)))


def _is_pure(shared: SharedModels, members: Members) -> bool:
    """Return whether a single model puts the cells into parts of one class."""
    for i, t in enumerate(shared.published):
        if t.classes is not None and (t.counts[shared.ranges.leaves[members, i]].sum(axis=0) > 0).sum() == 1:
            return True
    return False


def _cells(shared: SharedModels) -> Iterator[Found]:
    """Yield the cells that certainly hold records."""
    everything = tuple(range(len(shared.published)))
    for cell in np.flatnonzero(shared.ranges.low >= 1).tolist():
        members = np.array([cell])
        yield members, shared.cell(members, everything, int(shared.ranges.low[cell]), int(shared.ranges.high[cell]))


def _pairs(shared: SharedModels, at_most: int) -> Iterator[Found]:
    """Yield of three models or more the common parts of two that hold so few records by the counts of these two."""
    if len(shared.published) < 3:
        return
    cells = np.flatnonzero(shared.possible.cells)
    leaves = shared.ranges.leaves[cells]
    for first, second in islice(combinations(range(len(shared.published)), 2), MOST_PAIRS_OF_MODELS):
        pairs, edge = np.unique(leaves[:, [first, second]].astype(np.intp), axis=0, return_inverse=True)
        sizes = [shared.published[model].sizes for model in (first, second)]
        graph = Graph(pairs[:, 0], pairs[:, 1], len(sizes[0]), len(sizes[1]))
        table = feasible_table(graph, *sizes)
        if table is None:
            continue
        low, high, exact = edge_ranges(graph, table, at_most)
        for place in np.flatnonzero(exact & (low >= 1)).tolist():
            members = cells[edge.ravel() == place]
            yield members, shared.cell(members, (first, second), int(low[place]), int(high[place]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Section:
    """A union of parts of one model with a known count: a leaf, an inner node, or the first rules together."""

    where: str
    parts: Members


def _sections(shared: SharedModels, model: int) -> list[_Section]:
    """Return the unions of parts whose counts the model's structure determines."""
    published = shared.published[model]
    leaves = [_Section(where=shared.rule(model, i), parts=np.array([i])) for i in range(len(published.counts))]
    tree = published.model
    if not isinstance(tree, DecisionTree):
        several = range(2, len(published.counts))
        return leaves + [_Section(where=f"{published.name}: rules 1 to {i}", parts=np.arange(i)) for i in several]
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
            where = f"{published.name}: {' and '.join(paths[node])}"
            inner.append(_Section(where=where, parts=np.array(below[node])))
    return leaves + inner


def _differences(shared: SharedModels, at_most: int) -> Iterator[Found]:
    """Yield what sections of one model hold beyond sections of another that lie inside them."""
    cells = np.flatnonzero(shared.possible.cells)
    sections = [_sections(shared, model) for model in range(len(shared.published))]
    inside, sizes = [], []
    for i, t in enumerate(shared.published):
        rows = np.repeat(np.arange(len(sections[i])), [len(section.parts) for section in sections[i]])
        columns = np.concatenate([section.parts for section in sections[i]])
        shape = (len(sections[i]), len(t.counts))
        of_part = sparse.csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)
        inside.append(of_part[:, shared.ranges.leaves[cells, i]].tocsr())
        sizes.append(of_part @ t.sizes)
    pairs = 0
    for outer, inner in permutations(range(len(shared.published)), 2):
        common = (inside[inner] @ inside[outer].T).toarray()
        more = sizes[outer][None, :] - sizes[inner][:, None]
        whole = np.asarray(inside[inner].sum(axis=1)).reshape(-1, 1)
        nested = (common == whole) & (more >= 1) & (more <= at_most) & (sizes[inner][:, None] > 0)
        for small, large in np.argwhere(nested).tolist():
            pairs += 1
            if pairs > MOST_PAIRS:
                return
            beyond = np.setdiff1d(inside[outer][large].indices, inside[inner][small].indices)
            members = cells[beyond]
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
                    cells=tuple(members.tolist()),
                ),
            )
