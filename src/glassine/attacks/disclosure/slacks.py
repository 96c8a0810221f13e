"""The inner loop over candidate splits: the least slack of each family of them."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from glassine.counting.compiling import compiled
from glassine.learners.impurity import Criterion

__all__ = ["MULTIWAY", "ONE_VALUE", "THRESHOLD", "worst_slacks"]

MULTIWAY, THRESHOLD, ONE_VALUE = 0, 1, 2
GINI, ENTROPY, MISCLASSIFICATION = 0, 1, 2
CODES: dict[Criterion, int] = {
    "gini": GINI,
    "entropy": ENTROPY,
    "gain_ratio": ENTROPY,
    "misclassification": MISCLASSIFICATION,
}


class Layout(Protocol):
    """The flat arrays of candidates."""

    @property
    def order(self) -> npt.NDArray[np.int32]: ...
    @property
    def groups(self) -> npt.NDArray[np.int64]: ...
    @property
    def families(self) -> npt.NDArray[np.int64]: ...
    @property
    def kinds(self) -> npt.NDArray[np.int64]: ...
    @property
    def splits(self) -> npt.NDArray[np.int64]: ...


@compiled
def _impurity(m: Any, n: float, criterion: int) -> float:
    if n <= 0:
        return 0.0
    if criterion == 0:
        squares = 0.0
        for c in range(len(m)):
            squares += m[c] * m[c]
        return n - squares / n
    if criterion == 2:
        largest = 0.0
        for c in range(len(m)):
            largest = max(largest, m[c])
        return n - largest
    total = 0.0
    for c in range(len(m)):
        if m[c] > 0:
            total -= m[c] * math.log(m[c] / n)
    return total


@compiled
def _log_term(part: float, whole: float) -> float:
    return -part / whole * math.log(part / whole) if part > 0 else 0.0


@compiled
def _scan(
    x: Any, order: Any, groups: Any, families: Any, sizes: Any, kinds: Any, splits: Any, chosen: Any, whole: Any,
    divisors: Any, criterion: int, divides: bool, allowed: Any, slack: Any, at: Any,
) -> None:  # fmt: skip
    n_classes = x.shape[1]
    widest = 1
    for f in range(len(kinds)):
        widest = max(widest, families[f + 1] - families[f])
    sums = np.empty((widest, n_classes))
    total, one, other = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for f in range(len(kinds)):
        first, last, v = families[f], families[f + 1], splits[f]
        n = 0.0
        total[:] = 0.0
        for g in range(first, last):
            row = sums[g - first]
            row[:] = 0.0
            for t in range(groups[g], groups[g + 1]):
                q = order[t]
                for c in range(n_classes):
                    row[c] += x[q, c]
            n += sizes[g]
            for c in range(n_classes):
                total[c] += row[c]
        target = chosen[v]
        slack[f], at[f] = np.inf, -1
        if kinds[f] == 0:
            left, information = 0.0, 0.0
            for g in range(first, last):
                left += _impurity(sums[g - first], sizes[g], criterion)
                information += _log_term(sizes[g], n)
            slack[f], at[f] = left - target, 0
            if divides:
                slack[f] = left - whole[v] + information / divisors[v] * (whole[v] - target)
            continue
        one[:] = 0.0
        part = 0.0
        for g in range(first, last - 1 if kinds[f] == 1 else last):
            row = sums[g - first]
            if kinds[f] == 2:
                one[:] = 0.0
                part = 0.0
            part += sizes[g]
            for c in range(n_classes):
                one[c] += row[c]
                other[c] = max(total[c] - one[c], 0.0)
            if not allowed[g]:
                continue
            left = _impurity(one, part, criterion) + _impurity(other, n - part, criterion)
            value = left - target
            if divides:
                information = _log_term(part, n) + _log_term(n - part, n)
                value = left - whole[v] + information / divisors[v] * (whole[v] - target)
            if value < slack[f]:
                slack[f], at[f] = value, g - first


def worst_slacks(
    x: npt.NDArray[np.float64],
    layout: Layout,
    chosen: npt.NDArray[np.float64],
    whole: npt.NDArray[np.float64],
    divisors: npt.NDArray[np.float64],
    criterion: Criterion,
    allowed: npt.NDArray[np.bool_],
    sizes: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the least slack of each family of candidates, and at which of them it is.

    Parameters
    ----------
    x : ndarray, shape (q, c)
        People of each quasi-identifier and class.
    layout : Families
        The candidates.
    chosen, whole, divisors : ndarray, shape (v,)
        E(T), H and the split information of each split.
    criterion : str
        The measure.
    allowed : ndarray of bool, shape (g,)
        Whether the candidate at each group takes part; of families of thresholds and single values.
    sizes : ndarray, shape (g,)
        People of each group: those of the table.
    """
    slack = np.empty(len(layout.kinds))
    at = np.empty(len(layout.kinds), dtype=np.int64)
    if len(layout.kinds):
        _scan(
            x, layout.order, layout.groups, layout.families, sizes, layout.kinds, layout.splits, chosen, whole,
            divisors, CODES[criterion], criterion == "gain_ratio", allowed, slack, at,
        )  # fmt: skip
    return slack, at
