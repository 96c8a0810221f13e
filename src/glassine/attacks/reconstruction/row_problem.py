"""Row reconstruction from a forest as a system of sums over the boxes into which its trees cut the domain.

A record is known to the trees only by the box in which it lies, so a dataset is a number of records for each box and
class. Every published count is a sum of these numbers. Unlike a variable for each record and attribute, they have no
symmetry between records; and a leaf without records of a class rules out all its boxes for that class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.attacks.reconstruction.row_boxes import Boxes, Packing, TooManyBoxesError, Words, leaf_boxes, refine
from glassine.counting import Space
from glassine.domain import Domain
from glassine.models.tree import Forest
from glassine.records.arrays import Array, Indices

UNKNOWN = -1


class InconsistentCountsError(Exception):
    """No dataset of the domain meets the published counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A published count: a sum of weighted numbers of records between two bounds."""

    options: Indices  # The options that are summed
    # low, high: the bounds, both included.
    low: int
    high: int
    weights: Indices | None = None  # Their weights; None for ones
    # Bits of likelihood that each unit above ``low`` adds, decreasing; empty where the count reveals no more.
    gains: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Options where records can lie, and what the counts say of the number of records of each."""

    packing: Packing  # The space
    rows: Words  # Packed box of each option
    # classes, records: class and, where records are distinguished, number of the record of each option; -1 where
    # unknown.
    classes: Indices
    records: Indices
    upper: Indices  # Largest number of records of each option
    bits: Array  # log2 of the measure of each option's box
    totals: tuple[Total, ...]  # The counts
    n_records: int  # Number of records

    @property
    def ordered(self) -> bool:
        """Whether options are those of numbered records."""
        return bool(len(self.records)) and bool(self.records[0] >= 0)


def leaf_counts(forest: Forest) -> list[Indices] | None:
    """Return for each tree the counts of its leaves, shape (leaves, classes)."""
    # They have one column where classes are not published. None where not even the numbers of records are published.
    cells = [[cell.evidence for cell in tree.cells] for tree in forest.trees]
    if forest.classes is not None and all(entry.counts is not None for tree in cells for entry in tree):
        return [np.array([entry.counts for entry in tree], dtype=np.intp) for tree in cells]
    if any(entry.size is None for tree in cells for entry in tree):
        return None
    return [np.array([[entry.size] for entry in tree], dtype=np.intp) for tree in cells]


def problem_of(forest: Forest, domain: Domain, *, max_boxes: int, deadline: float) -> Problem:
    """Return the system of a forest that publishes what is needed."""
    packing = Packing(Space(domain, forest.literals, domain_aware=True, by_shares=True))
    build = _Builder(forest, packing, max_boxes, deadline)
    if not forest.bootstrap:
        return build.counted()
    return build.drawn() if forest.multiplicities is None else build.numbered()


class _Builder:
    """The three systems of a forest; the options of each class, or record and class, are added in turn."""

    def __init__(self, forest: Forest, packing: Packing, max_boxes: int, deadline: float) -> None:
        self.forest, self.packing, self.max_boxes, self.deadline = forest, packing, max_boxes, deadline
        self.boxes = leaf_boxes(forest.trees, packing)
        self.parts: list[tuple[Boxes, int, int]] = []
        self.size = 0
        self.totals: list[Total] = []

    def add(self, allowed: Sequence[Sequence[bool] | None], klass: int, record: int = UNKNOWN) -> tuple[Boxes, int]:
        """Add the options of a class, and of a record; return their boxes and the first one's place."""
        boxes = refine(self.packing, self.boxes, allowed, max_boxes=self.max_boxes - self.size, deadline=self.deadline)
        return self.put(boxes, klass, record)

    def put(self, boxes: Boxes, klass: int, record: int = UNKNOWN) -> tuple[Boxes, int]:
        """Add boxes as options."""
        first = self.size
        self.size += len(boxes)
        if self.size > self.max_boxes:
            raise TooManyBoxesError
        self.parts.append((boxes, klass, record))
        return boxes, first

    def finish(self, upper: Sequence[Indices], n_records: int) -> Problem:
        """Return the system."""
        rows = np.concatenate([boxes.rows for boxes, _, _ in self.parts])
        sizes = [len(boxes) for boxes, _, _ in self.parts]
        return Problem(
            packing=self.packing,
            rows=rows,
            classes=np.repeat(np.array([klass for _, klass, _ in self.parts], dtype=np.intp), sizes),
            records=np.repeat(np.array([record for _, _, record in self.parts], dtype=np.intp), sizes),
            upper=np.concatenate(upper).astype(np.intp),
            bits=self.packing.log_sizes(rows),
            totals=tuple(self.totals),
            n_records=n_records,
        )

    def counted(self) -> Problem:
        """Every tree saw every record once."""
        counts = leaf_counts(self.forest)
        if counts is None:
            raise InconsistentCountsError("the forest does not publish how many records its leaves captured.")
        sums = [table.sum(axis=0).tolist() for table in counts]
        for tree, total in enumerate(sums):
            if total != sums[0]:
                raise InconsistentCountsError(
                    f"tree 0 counts {sums[0]} records of each class, tree {tree} counts {total}."
                )
        uppers = []
        for klass, total in enumerate(sums[0]):
            if not total:
                continue
            boxes, first = self.add([(table[:, klass] > 0).tolist() for table in counts], klass)
            upper = np.full(len(boxes), total, dtype=np.intp)
            for tree, table in enumerate(counts):
                np.minimum(upper, table[boxes.leaves[:, tree], klass], out=upper)
                for leaf, members in _by_leaf(boxes.leaves[:, tree], len(table)):
                    count = int(table[leaf, klass])
                    if count:
                        self.totals.append(Total(options=first + members, low=count, high=count))
            uppers.append(upper)
        return self.finish(uppers, int(sum(sums[0])))

    def numbered(self) -> Problem:
        """Each tree drew each record a known number of times."""
        drawn = [np.array(table, dtype=np.intp) for table in self.forest.drawn or ()]
        times = np.array(self.forest.multiplicities, dtype=np.intp)
        n_trees, n_records = times.shape
        width = drawn[0].shape[1]
        places: dict[tuple[int, int, int], list[tuple[Indices, int]]] = {}
        uppers = []
        for record in range(n_records):
            start = self.size
            for klass in range(width) if times[:, record].any() else (UNKNOWN,):
                allowed = [
                    (drawn[t][:, klass] >= times[t, record]).tolist() if times[t, record] else None
                    for t in range(n_trees)
                ]
                boxes, first = self.add(allowed, klass, record)
                uppers.append(np.ones(len(boxes), dtype=np.intp))
                for tree in np.flatnonzero(times[:, record]):
                    for leaf, members in _by_leaf(boxes.leaves[:, tree], len(drawn[tree])):
                        if len(members):
                            entry = (first + members, int(times[tree, record]))
                            places.setdefault((int(tree), leaf, klass), []).append(entry)
            self.totals.append(Total(options=np.arange(start, self.size), low=1, high=1))
        for place, table in enumerate(drawn):
            for leaf, row in enumerate(table.tolist()):
                entries = [places.get((place, leaf, klass), []) for klass in range(width)]
                for captured, draws in zip(entries, row, strict=True):
                    self._add_draws(captured, draws)
                size = self.forest.trees[place].cells[leaf].evidence.size
                if size is not None:
                    options = _joined([part for captured in entries for part, _ in captured])
                    self.totals.append(Total(options=options, low=size, high=size))
        return self.finish(uppers, n_records)

    def _add_draws(self, entries: list[tuple[Indices, int]], draws: int) -> None:
        weights = [np.full(len(part), times, dtype=np.intp) for part, times in entries]
        options = _joined([part for part, _ in entries])
        self.totals.append(Total(options=options, weights=_joined(weights), low=draws, high=draws))

    def drawn(self) -> Problem:
        """Each tree drew records unknown times: counts bound, the likelihood decides."""
        drawn = [np.array(table, dtype=np.intp) for table in self.forest.drawn or ()]
        n_records, width = self.forest.n_records or 0, drawn[0].shape[1]
        boxes = refine(
            self.packing,
            self.boxes,
            [[True] * len(table) for table in drawn],
            max_boxes=self.max_boxes // width,
            deadline=self.deadline,
        )
        firsts = [self.put(boxes, klass)[1] for klass in range(width)]
        uppers = [np.full(len(boxes), n_records, dtype=np.intp) for _ in range(width)]
        for tree, table in enumerate(drawn):
            sizes = [cell.evidence.size or 0 for cell in self.forest.trees[tree].cells]
            lows = np.array([_distinct(row.tolist(), size)[0] for row, size in zip(table, sizes, strict=True)])
            spare = n_records - int(lows.sum())
            if spare < 0:
                raise InconsistentCountsError(
                    f"tree {tree} drew more different records than the {n_records} there are."
                )
            for klass, upper in enumerate(uppers):
                np.minimum(upper, spare + lows[boxes.leaves[:, tree], klass], out=upper)
            for leaf, members in _by_leaf(boxes.leaves[:, tree], len(table)):
                self._add_bounds(members, firsts, table[leaf].tolist(), sizes[leaf], spare)
        everything = np.arange(self.size)
        self.totals.append(Total(options=everything, low=n_records, high=n_records))
        return self.finish(uppers, n_records)

    def _add_bounds(self, members: Indices, firsts: list[int], draws: list[int], size: int, spare: int) -> None:
        """Add what the draws of one leaf, and the number of different records among them, reveal."""
        lows, sizes = _distinct(draws, size)
        for first, drawn, low in zip(firsts, draws, lows, strict=True):
            if drawn:
                gains = (
                    _gain(low, count) if sizes else drawn * math.log2((count + 1) / count)
                    for count in range(low, low + spare)
                )
                self.totals.append(Total(options=first + members, low=low, high=low + spare, gains=tuple(gains)))
        if sum(lows) < size:
            both = np.concatenate([first + members for first in firsts])
            self.totals.append(Total(options=both, low=size, high=sum(lows) + spare + size))


def _gain(different: int, count: int) -> float:
    """Bits by which ``different`` records among the draws become likelier when there is one record more than ``count``.

    The chance that so many draws hold just d of C records is proportional to C (C - 1) ... (C - d + 1).
    """
    return -math.log2(1 - different / (count + 1))


def _distinct(draws: list[int], size: int) -> tuple[list[int], bool]:
    """Return the least number of different records of each class in a leaf, and whether it is the only possible one."""
    low = [1 if d else 0 for d in draws]
    high = list(draws)
    low = [max(a, size - sum(high) + b) for a, b in zip(low, high, strict=True)]
    high = [min(b, size - sum(low) + a) for a, b in zip(low, high, strict=True)]
    return low, low == high


def _by_leaf(leaves: npt.NDArray[np.int32], n_leaves: int) -> Iterator[tuple[int, Indices]]:
    """Yield each leaf with the places where it stands."""
    order = np.argsort(leaves, kind="stable")
    edges = np.searchsorted(leaves[order], np.arange(n_leaves + 1))
    for leaf in range(n_leaves):
        yield leaf, order[edges[leaf] : edges[leaf + 1]]


def _joined(parts: list[Indices]) -> Indices:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp)
