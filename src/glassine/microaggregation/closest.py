"""The representatives that are closest to a record, and what stands for a group."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting.compiling import compiled
from glassine.microaggregation.heap import push, replace_top
from glassine.microaggregation.metric import Metric
from glassine.microaggregation.reading import Table
from glassine.microaggregation.scan import fill

__all__ = ["central_codes", "closest"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def closest(
    metric: Metric, table: Table, centers: tuple[FloatArray, npt.NDArray[np.int32]], count: int
) -> tuple[IntArray, FloatArray]:
    """Return the closest groups of each record, the closest first, and their distances."""
    numbers = metric.scaled(table.numbers)
    out = np.empty((len(numbers), count), dtype=np.int64)
    distances = np.empty((len(numbers), count))
    _closest(numbers, table.codes, *centers, metric.tables, metric.squared, out, distances)
    if metric.squared:
        return out, np.sqrt(distances) * metric.unit
    return out, distances / len(metric.names)


@compiled
def _closest(
    numbers: Any, codes: Any, centers: Any, center_codes: Any, tables: Any, squared: bool, out: Any, distances: Any
) -> None:
    count, n = out.shape[1], centers.shape[1]
    found, places = np.empty(n), np.empty(count, dtype=np.int64)
    for i in range(len(numbers)):
        fill(centers, center_codes, tables, squared, n, numbers[i], codes[i], found)
        heap = np.empty(count)
        numbered = np.empty(count, dtype=np.int64)
        for g in range(count):
            push(heap, numbered, places, g, found[g], g, g)
        for g in range(count, n):
            if found[g] < heap[0]:
                replace_top(heap, numbered, places, count, found[g], g, g)
        for last in range(count - 1, -1, -1):
            out[i, last], distances[i, last] = numbered[0], heap[0]
            replace_top(heap, numbered, places, last, heap[last], numbered[last], places[last])


@compiled
def central_codes(codes: Any, order: Any, ends: Any, table: Any, out: Any) -> None:
    """Write for each group the value with the least sum of squared dissimilarities, the first of equal ones."""
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
