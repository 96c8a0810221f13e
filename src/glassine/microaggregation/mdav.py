"""Which groups the records form: MDAV in a kd-tree, over all records, or with groups of variable size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.compiling import compiled
from glassine.compiling.slices import Progress
from glassine.microaggregation import kd_tree as kd_search
from glassine.microaggregation import scan
from glassine.microaggregation.dissimilarity import Metric
from glassine.microaggregation.kd_tree import build
from glassine.microaggregation.record_encoding import Unscaled
from glassine.microaggregation.scan import (
    Ungrouped,
    farthest,
    fill,
    form_group,
    group_means,
    measure,
    on_grid,
    push,
    remove,
    replace_top,
    word_bits,
)
from glassine.records.arrays import AnyArray, Array, Ints

# V-MDAV: groups that take further records in, up to 2k - 1, as long as these are closer to them than to others.


class Mixed(NamedTuple):
    """Records, one point or many centers: scaled numbers and codes of categories."""

    numbers: AnyArray
    codes: AnyArray


@compiled
def _lowest(distances: AnyArray, numbers: AnyArray, n: int) -> int:
    """Return the place of the smallest distance, the lowest record of equal ones."""
    # distances, numbers: (n,), of the places that remain.
    place = 0
    for i in range(1, n):
        if distances[i] <= distances[place] and (distances[i] < distances[place] or numbers[i] < numbers[place]):
            place = i
    return place


@compiled
def _extend(state: Ungrouped, records: Mixed, members: AnyArray, k: int, factor: float, gaps: AnyArray) -> None:
    """Take the record nearest to any of the group in, while it is ``factor`` times closer to it than to the others."""
    # records: (n, p) and (n, q); gaps: room of shape (n,), the distance of each remaining place to the nearest member.
    # Members k and later are compared with the whole group, those that joined included.
    rows, kinds = records
    group, n = state.labels[members[0]], state.cursor[0]
    gaps[:n] = np.inf
    for i in range(k):
        measure(state, rows[members[i]], kinds[members[i]])
        for t in range(n):
            gaps[t] = min(gaps[t], state.distances[t])
    for _ in range(k - 1):
        n = state.cursor[0]
        if n == 0:
            return
        place = _lowest(gaps, state.numbers, n)
        record = state.numbers[place]
        measure(state, rows[record], kinds[record])
        others = np.inf
        for t in range(n):
            if t != place:
                others = min(others, state.distances[t])
        # The last one that remains has no others to be closer to, and joins.
        if n > 1 and not gaps[place] < factor * others:
            return
        for t in range(n):
            gaps[t] = min(gaps[t], state.distances[t])
        gaps[place] = gaps[n - 1]
        remove(state, place, group)


@compiled
def advance(state: Ungrouped, records: Mixed, middle: Mixed, k: int, factor: float, gaps: AnyArray, steps: int) -> bool:
    """Form a group a step around the record farthest from the middle; return False once fewer than k remain."""
    # middle: (p,) and (q,), the center of all records, which V-MDAV never computes anew.
    for _ in range(steps):
        if state.cursor[0] < k:
            return False
        measure(state, middle.numbers, middle.codes)
        members = form_group(state, farthest(state.distances, state.numbers, state.cursor[0]), k)
        _extend(state, records, members, k, factor, gaps)
    return True


@compiled
def join_rest(
    records: Mixed, centers: Mixed, tables: AnyArray, squared: bool, k: int, sizes: AnyArray, labels: AnyArray
) -> None:
    """Put each record without a group into the closest one of fewer than 2k - 1, or the closest one if all are full."""
    # centers: (p, g) and (q, g); sizes: (g,), and labels: (n,), are changed in place, record by record in their order:
    # a group that fills up is closed to those that follow.
    n_groups = centers.numbers.shape[1]
    distances = np.empty(n_groups)
    for record in range(len(labels)):
        if labels[record] >= 0:
            continue
        point, kinds = records.numbers[record], records.codes[record]
        fill(centers.numbers, centers.codes, tables, squared, n_groups, point, kinds, distances)
        chosen, roomy = -1, -1
        for g in range(n_groups):
            if chosen < 0 or distances[g] < distances[chosen]:
                chosen = g
            if sizes[g] < 2 * k - 1 and (roomy < 0 or distances[g] < distances[roomy]):
                roomy = g
        labels[record] = roomy if roomy >= 0 else chosen
        sizes[labels[record]] += 1


# The representatives that are closest to a record, and what stands for a group.


def closest(metric: Metric, table: Unscaled, centers: Mixed, count: int) -> tuple[Ints, Array]:
    """Return the closest groups of each record, the closest first, and their distances."""
    numbers = metric.scaled(table.numbers)
    out = np.empty((len(numbers), count), dtype=np.int64)
    distances = np.empty((len(numbers), count))
    _closest(numbers, table.codes, centers, metric.tables, metric.squared, out, distances)
    if metric.squared:
        return out, np.sqrt(distances) * metric.unit
    return out, distances / len(metric.names)


@compiled
def _closest(
    numbers: AnyArray,
    codes: AnyArray,
    centers: Mixed,
    tables: AnyArray,
    squared: bool,
    out: AnyArray,
    distances: AnyArray,
) -> None:
    # out, distances: (n, count), the closest group first. A heap of the closest so far, its top the farthest of them,
    # is emptied from the last place on.
    count, n = out.shape[1], centers.numbers.shape[1]
    gaps, places = np.empty(n), np.empty(count, dtype=np.int64)
    for i in range(len(numbers)):
        fill(centers.numbers, centers.codes, tables, squared, n, numbers[i], codes[i], gaps)
        heap = np.empty(count)
        numbered = np.empty(count, dtype=np.int64)
        for g in range(count):
            push(heap, numbered, places, g, gaps[g], g, g)
        for g in range(count, n):
            if gaps[g] < heap[0]:
                replace_top(heap, numbered, places, count, gaps[g], g, g)
        for last in range(count - 1, -1, -1):
            out[i, last], distances[i, last] = numbered[0], heap[0]
            replace_top(heap, numbered, places, last, heap[last], numbered[last], places[last])


@compiled
def central_codes(codes: AnyArray, order: AnyArray, ends: AnyArray, table: AnyArray, out: AnyArray) -> None:
    """Write for each group the value with the least sum of squared dissimilarities, the first of equal ones."""
    # codes: (n,); order, ends: as of groups; table: (c, c); out: (g,). Counts are cleared value by value, so that a
    # group costs no more than the values that it holds.
    size = len(table)
    counts = np.zeros(size, dtype=np.int64)
    present = np.empty(size, dtype=np.int64)
    first = 0
    for g in range(len(ends)):
        for i in range(first, ends[g]):
            counts[codes[order[i]]] += 1
        n_present = 0
        for b in range(size):
            if counts[b] > 0:
                present[n_present] = b
                n_present += 1
        least = np.inf
        for a in range(size):
            total = 0.0
            for b in present[:n_present]:
                total += counts[b] * (table[a, b] * table[a, b])
            if total < least:
                least, out[g] = total, a
        for b in present[:n_present]:
            counts[b] = 0
        first = ends[g]


CodeArray: TypeAlias = npt.NDArray[np.int32]

WORK_PER_CALL = 2 * 10**8
"""About how many numbers are read between two reports of progress."""


def search_method(n: int, k: int, p: int) -> str:
    """Return how the nearest and farthest records are found: in a "kd-tree", or by a "scan" of all that remain.

    Both give the same groups. The tree pays where many groups are to be formed of few attributes: from
    ``max(4000, 16 p^3 k^0.4)`` records on, as measured on normal records of 1 to 50 attributes. Records with missing
    values are always scanned.

    Parameters
    ----------
    n, k, p : int
        Number of records, size of a group, and number of attributes.

    Examples
    --------
    >>> search_method(20_000, 20, 10), search_method(1_000_000, 100, 10), search_method(1_000_000, 100, 50)
    ('scan', 'kd-tree', 'scan')
    """
    return "kd-tree" if n >= _fewest_in_tree(k, p) else "scan"


def _fewest_in_tree(k: int, p: int) -> float:
    return float(max(4000.0, 16.0 * p**3 * k**0.4))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScaledRecords:
    """Scaled records, the codes of their categories, and what means are computed with."""

    rows: Array  # The scaled numbers, rounded to the unit of their column; shape (n, p)
    codes: CodeArray  # The categories; shape (n, q)
    metric: Metric  # The distance
    factors: Array  # What brings each column to whole words; shape (p,)
    bits: int  # Bits of a word

    @classmethod
    def scaled(cls, numbers: Array, codes: CodeArray, metric: Metric) -> ScaledRecords:
        """Return records as the metric sees them."""
        bits = word_bits(len(numbers))
        rows, factors = on_grid(metric.scaled(numbers), bits)
        return cls(rows=rows, codes=np.ascontiguousarray(codes), metric=metric, factors=factors, bits=bits)

    def centers(self, labels: Ints) -> Mixed:
        """Return the means (p, g) and central categories (q, g) of groups; a label below 0 is no group."""
        # Stable, so that within a group the records keep their order.
        order = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
        ends = np.cumsum(np.bincount(labels[labels >= 0]))
        means = np.empty((len(ends), self.rows.shape[1]))
        group_means(self.rows, order, ends, self.factors, self.bits, means)
        codes = np.zeros((self.codes.shape[1], len(ends)), dtype=np.int32)
        for j in range(len(codes)):
            central_codes(np.ascontiguousarray(self.codes[:, j]), order, ends, self.metric.tables[j], codes[j])
        return Mixed(np.ascontiguousarray(means.T), codes)

    def mdav(self, k: int, progress: Progress | None, method: str | None = None) -> Ints:
        """Return the group of each record by MDAV; a search that is named is kept to the end."""
        n, p = self.rows.shape
        labels, groups = np.full(n, -1, dtype=np.int64), 0
        if self.metric.squared and not np.isnan(self.rows).any() and (method or search_method(n, k, p)) == "kd-tree":
            stop = 0 if method else int(_fewest_in_tree(k, p))
            labels, groups = self._in_tree(k, stop, progress)
        # The scan goes on where the tree stopped; both give the same groups.
        left = np.flatnonzero(labels < 0)
        state = self._remaining(left)
        steps = self._steps(len(left), 3)
        while state.cursor[0]:
            scan.advance(state, k, steps)
            _report(progress, n - int(state.cursor[0]), n)
        labels[left] = state.labels + groups
        return labels

    def v_mdav(self, k: int, gamma: float, progress: Progress | None) -> Ints:
        """Return the group of each record by V-MDAV."""
        n, metric = len(self.rows), self.metric
        state = self._remaining(np.arange(n))
        middle, kinds = self.centers(np.zeros(n, dtype=np.int64))
        # Squared distances are compared with a squared factor: no roots are drawn.
        factor = gamma * gamma if metric.squared else gamma
        gaps, steps, more = np.empty(n), self._steps(n, k + 2), True
        records = Mixed(self.rows, self.codes)
        center = Mixed(np.ascontiguousarray(middle[:, 0]), np.ascontiguousarray(kinds[:, 0]))
        while more:
            more = advance(state, records, center, k, factor, gaps, steps)
            _report(progress, n - int(state.cursor[0]), n)
        labels = state.labels
        if (labels < 0).any():
            sizes = np.bincount(labels[labels >= 0])
            join_rest(records, self.centers(labels), metric.tables, metric.squared, k, sizes, labels)
            _report(progress, n, n)
        return labels

    def _in_tree(self, k: int, stop: int, progress: Progress | None) -> tuple[Ints, int]:
        """Return the groups until too few records are left (-1) for a tree to pay, and the number of groups."""
        n = len(self.rows)
        tree = build(self.rows, self.factors, self.bits)
        more = True
        while more:
            more = kd_search.advance(tree, k, max(1, n // (100 * k)), stop)
            _report(progress, n - int(tree.cursor[0]), n)
        return tree.labels, int(tree.cursor[1])

    def _remaining(self, left: Ints) -> Ungrouped:
        return scan.remaining(
            np.ascontiguousarray(self.rows[left].T),
            np.ascontiguousarray(self.codes[left].T),
            self.metric.tables,
            self.factors,
            self.bits,
            squared=self.metric.squared,
        )

    def _steps(self, n: int, passes: int) -> int:
        return max(1, WORK_PER_CALL // (passes * max(1, n) * len(self.metric.names)))


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
