"""Which groups the records form: MDAV in a kd-tree, over all records, or with groups of variable size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.counting.slices import Progress
from glassine.microaggregation import kd_search, scan, variable
from glassine.microaggregation.closest import central_codes
from glassine.microaggregation.kd_tree import build
from glassine.microaggregation.metric import Metric
from glassine.microaggregation.sums import group_means, on_grid, word_bits

__all__ = ["Points", "search_method"]

FloatArray: TypeAlias = npt.NDArray[np.float64]
CodeArray: TypeAlias = npt.NDArray[np.int32]
IntArray: TypeAlias = npt.NDArray[np.int64]

WORK_PER_CALL = 2 * 10**8
"""About how many numbers are read between two reports of progress."""


def search_method(n: int, k: int, p: int) -> str:
    """Return how the nearest and farthest records are found: in a "kd-tree", or by a "scan" of all that remain.

    Both give the same groups. The tree pays where many groups are to be formed of few attributes: from
    ``max(4000, 16 p^3 k^0.4)`` records on, as measured on normal records of 1 to 50 attributes.

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
class Points:
    """Scaled records, the codes of their categories, and what means are computed with.

    Attributes
    ----------
    rows : ndarray of float64, shape (n, p)
        The scaled numbers, rounded to the unit of their column.
    codes : ndarray of int32, shape (n, q)
        The categories.
    metric : Metric
        The distance.
    factors : ndarray of float64, shape (p,)
        What brings each column to whole words.
    bits : int
        Bits of a word.
    """

    rows: FloatArray
    codes: CodeArray
    metric: Metric
    factors: FloatArray
    bits: int

    @classmethod
    def scaled(cls, numbers: FloatArray, codes: CodeArray, metric: Metric) -> Points:
        """Return records as the metric sees them."""
        bits = word_bits(len(numbers))
        rows, factors = on_grid(metric.scaled(numbers), bits)
        return cls(rows=rows, codes=np.ascontiguousarray(codes), metric=metric, factors=factors, bits=bits)

    def centers(self, labels: IntArray) -> tuple[FloatArray, CodeArray]:
        """Return the means (p, g) and central categories (q, g) of groups; a label below 0 is no group."""
        order = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
        ends = np.cumsum(np.bincount(labels[labels >= 0]))
        means = np.empty((len(ends), self.rows.shape[1]))
        group_means(self.rows, order, ends, self.factors, self.bits, means)
        codes = np.zeros((self.codes.shape[1], len(ends)), dtype=np.int32)
        for j in range(len(codes)):
            central_codes(np.ascontiguousarray(self.codes[:, j]), order, ends, self.metric.tables[j], codes[j])
        return np.ascontiguousarray(means.T), codes

    def mdav(self, k: int, progress: Progress | None, method: str | None = None) -> IntArray:
        """Return the group of each record by MDAV; a search that is named is kept to the end."""
        n, p = self.rows.shape
        labels, groups = np.full(n, -1, dtype=np.int64), 0
        if self.metric.squared and (method or search_method(n, k, p)) == "kd-tree":
            stop = 0 if method else int(_fewest_in_tree(k, p))
            labels, groups = self._in_tree(k, stop, progress)
        left = np.flatnonzero(labels < 0)
        state = self._remaining(left)
        steps = self._steps(len(left), 3)
        while state.cursor[0]:
            scan.advance(state, k, steps)
            _report(progress, n - int(state.cursor[0]), n)
        labels[left] = state.labels + groups
        return labels

    def v_mdav(self, k: int, gamma: float, progress: Progress | None) -> IntArray:
        """Return the group of each record by V-MDAV."""
        n, metric = len(self.rows), self.metric
        state = self._remaining(np.arange(n))
        middle, kinds = self.centers(np.zeros(n, dtype=np.int64))
        factor = gamma * gamma if metric.squared else gamma
        gaps, steps, more = np.empty(n), self._steps(n, k + 2), True
        arrays = (self.rows, self.codes, np.ascontiguousarray(middle[:, 0]), np.ascontiguousarray(kinds[:, 0]))
        while more:
            more = variable.advance(state, *arrays, k, factor, gaps, steps)
            _report(progress, n - int(state.cursor[0]), n)
        labels = state.labels
        if (labels < 0).any():
            sizes = np.bincount(labels[labels >= 0])
            variable.join_rest(
                self.rows, self.codes, *self.centers(labels), metric.tables, metric.squared, k, sizes, labels
            )
            _report(progress, n, n)
        return labels

    def _in_tree(self, k: int, stop: int, progress: Progress | None) -> tuple[IntArray, int]:
        """Return the groups until too few records are left (-1) for a tree to pay, and the number of groups."""
        n = len(self.rows)
        tree = build(self.rows, self.factors, self.bits)
        more = True
        while more:
            more = kd_search.advance(tree, k, max(1, n // (100 * k)), stop)
            _report(progress, n - int(tree.cursor[0]), n)
        return tree.labels, int(tree.cursor[1])

    def _remaining(self, left: IntArray) -> scan.Remaining:
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
