"""Passes over the records of an additive learner: cells, counts, and sums of clipped residuals in whole units."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting.compiling import compiled
from glassine.learners.ebm_packing import Packed, gathered, spread

__all__ = [
    "advance",
    "apply_bins",
    "binary_units",
    "class_units",
    "count_cells",
    "exponential_table",
    "grid_cells",
    "logistic_table",
    "number_units",
    "start_scores",
]

CHUNK = 2048
"""Records that are worked on at once, so that what is read stays in the cache."""

STEPS = 4096
"""Steps of the table of the logistic function for each unit of the score."""

REACH = 16
"""Scores beyond it count as certain."""

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]


def logistic_table() -> Array:
    """Return the logistic function on a fine grid."""
    return _table(1)


def exponential_table() -> Array:
    """Return the exponential function of what is at most 0 on a fine grid."""
    return _table(2)


@lru_cache(maxsize=2)
def _table(outputs: int) -> Array:
    """Return the logistic function, or with several outputs the exponential one, on a fine grid.

    A table, so that one record's residual never depends on how the loop over all records was compiled.
    """
    if outputs == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-np.arange(-REACH * STEPS, REACH * STEPS + 1) / STEPS)))
    return np.asarray(np.exp(np.arange(-2 * REACH * STEPS, 1) / STEPS))


@compiled
def _cells(values: Any, cuts: Any, out: Any) -> None:
    n = len(cuts)
    scale = (n - 1) / (cuts[n - 1] - cuts[0]) if n > 1 else 0.0
    for i in range(len(values)):
        value = values[i]
        if np.isnan(value):
            out[i] = n + 1
            continue
        at = 0
        if value > cuts[n - 1]:
            at = n
        elif value > cuts[0]:
            at = min(max(int((value - cuts[0]) * scale), 0), n - 1)
            while at < n and value > cuts[at]:
                at += 1
            while at > 0 and value <= cuts[at - 1]:
                at -= 1
        out[i] = at


def grid_cells(values: Array, cuts: Array, out: npt.NDArray[np.uint16]) -> None:
    """Write the cell of each number: how many cut points lie below it; NaN is the last cell."""
    if len(cuts):
        _cells(values, cuts, out)
    else:
        out[:] = np.isnan(values)


@compiled
def _counts(codes: Any, out: Any) -> None:
    for k in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            out[k, codes[k, i]] += 1


def count_cells(codes: npt.NDArray[np.uint16], sizes: Sequence[int]) -> list[Ints]:
    """Return the exact number of records in each cell of each attribute."""
    out = np.zeros((len(sizes), max(sizes)), dtype=np.int64)
    _counts(codes, out)
    return [row[:size] for row, size in zip(out, sizes, strict=True)]


@compiled
def _apply(codes: Any, lookup: Any, out: Any) -> None:
    for i in range(len(codes)):
        out[i] = lookup[codes[i]]


def apply_bins(codes: npt.NDArray[np.uint16], kept: Sequence[int], lookups: Sequence[Ints]) -> npt.NDArray[np.uint16]:
    """Return the bins of the records for the attributes that are kept, shape (terms, n)."""
    widest = max((int(lookup.max()) for lookup in lookups), default=0)
    out = np.empty((len(kept), codes.shape[1]), dtype=np.uint8 if widest < 256 else np.uint16)
    for row, k, lookup in zip(out, kept, lookups, strict=True):
        _apply(codes[k], lookup.astype(out.dtype), row)
    return out


def start_scores(n: int, intercept: Array) -> Array:
    """Return the scores of n records before any term, shape (outputs, n)."""
    return np.repeat(np.asarray(intercept, dtype=np.float64)[:, None], n, axis=1)


@compiled
def _sum_units(codes: Any, units: Any, first: int, out: Any) -> None:
    """Add the units of some records to the bins of every term; ``out`` is (terms, bins, outputs)."""
    last = first + units.shape[1]
    for k in range(codes.shape[0]):
        row, sums = codes[k, first:last], out[k]
        for c in range(units.shape[0]):
            part = units[c]
            for i in range(len(row)):
                sums[row[i], c] += part[i]


@compiled
def _add_scores(codes: Any, step: Any, shift: Any, first: int, last: int, scores: Any) -> None:
    """Add to the scores of some records what changed in every term, and in the intercept."""
    for c in range(scores.shape[0]):
        part = scores[c, first:last]
        for i in range(len(part)):
            part[i] += shift[c]
        for k in range(codes.shape[0]):
            row, change = codes[k, first:last], step[k]
            for i in range(len(row)):
                part[i] += change[row[i], c]


@compiled
def number_units(scores: Any, target: Any, clip: float, units: int, out: Any) -> int:
    """Write the residual of a number, clipped, in whole units of ``clip / units``; return half the curvature's sum."""
    factor, most = units / clip, float(units)
    curvature = 0
    for i in range(scores.shape[1]):
        residual = (target[i] - scores[0, i]) * factor
        if -most <= residual <= most:
            curvature += units // 2
        out[0, i] = int(np.rint(min(max(residual, -most), most)))
    return curvature


@compiled
def binary_units(scores: Any, target: Any, clip: float, units: int, table: Any, out: Any) -> int:
    """Write the residual of two classes, clipped, in whole units of ``clip / units``; return the curvature's sum.

    A record's curvature is that of its loss, four times the variance of its class, at most 1; here it counts half.
    """
    factor, most = units / clip, float(units)
    curvature = 0
    for i in range(scores.shape[1]):
        score = min(max(scores[0, i], -16.0), 16.0)
        chance = table[int(score * 4096.0 + 65536.5)]
        residual = (target[i] - chance) * factor
        if -most <= residual <= most:
            curvature += min(int(2.0 * chance * (1.0 - chance) * units), units // 2)
        out[0, i] = int(np.rint(min(max(residual, -most), most)))
    return curvature


@compiled
def class_units(scores: Any, target: Any, clip: float, units: int, table: Any, out: Any) -> int:
    """Write the residuals of several classes, their l2 norm clipped, in whole units of ``clip / units``.

    Rounding is towards zero, and a vector that were still too long is dropped, so that no record exceeds the clip.
    Returned is the sum of the curvatures, here the variances of the classes together, at most 1; it counts half.
    """
    n_classes = scores.shape[0]
    curvature = 0
    work = np.empty(n_classes)
    for i in range(scores.shape[1]):
        top = scores[0, i]
        for c in range(1, n_classes):
            top = max(top, scores[c, i])
        total = 0.0
        for c in range(n_classes):
            work[c] = table[int(max(scores[c, i] - top, -32.0) * 4096.0 + 131072.5)]
            total += work[c]
        square, variance = 0.0, 0.0
        for c in range(n_classes):
            variance += work[c] / total * (1.0 - work[c] / total)
            work[c] = (1.0 if target[i] == c else 0.0) - work[c] / total
            square += work[c] * work[c]
        factor = units * (1.0 - 1e-9) / max(clip, np.sqrt(square))
        whole = 0.0
        for c in range(n_classes):
            out[c, i] = int(work[c] * factor)
            whole += float(out[c, i]) * float(out[c, i])
        if square <= clip * clip:
            curvature += min(max(int(0.5 * variance * units), 0), units // 2)
        if not whole <= float(units) * float(units):
            for c in range(n_classes):
                out[c, i] = 0
    return curvature


@compiled
def _advance_numbers(
    codes: Any, scores: Any, target: Any, step: Any, shift: Any, clip: float, units: int, out: Any
) -> int:
    n, curvature = scores.shape[1], 0
    room = np.zeros((1, 2048), dtype=np.int64)
    for first in range(0, n, 2048):
        last = min(first + 2048, n)
        _add_scores(codes, step, shift, first, last, scores)
        part = room[:, : last - first]
        curvature += number_units(scores[:, first:last], target[first:last], clip, units, part)
        _sum_units(codes, part, first, out)
    return curvature


@compiled
def _advance_classes(
    codes: Any, scores: Any, target: Any, step: Any, shift: Any, clip: float, units: int, table: Any, out: Any
) -> int:
    n, n_classes, curvature = scores.shape[1], scores.shape[0], 0
    room = np.zeros((n_classes, 2048), dtype=np.int64)
    for first in range(0, n, 2048):
        last = min(first + 2048, n)
        _add_scores(codes, step, shift, first, last, scores)
        part = room[:, : last - first]
        if n_classes == 1:
            curvature += binary_units(scores[:, first:last], target[first:last], clip, units, table, part)
        else:
            curvature += class_units(scores[:, first:last], target[first:last], clip, units, table, part)
        _sum_units(codes, part, first, out)
    return curvature


def advance(
    codes: npt.NDArray[Any] | Packed,
    scores: Array,
    target: npt.NDArray[Any],
    step: Array,
    shift: Array,
    *,
    classes: bool,
    clip: float,
    units: int,
) -> tuple[Ints, int]:
    """Move the scores of all records by a step, and return the sums of their clipped residuals in each bin.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (terms, n), or Packed
        Bin of each record in each term; packed terms take less time.
    scores : ndarray, shape (outputs, n)
        Scores of the records; changed in place.
    target : ndarray, shape (n,)
        Target in [-1, 1], or the class.
    step : ndarray, shape (terms, bins, outputs)
        What is added to the score of each bin.
    shift : ndarray, shape (outputs,)
        What is added to the intercept.
    classes : bool
        Whether the target is a class.
    clip : float
        Largest size of a residual; of the vector of residuals, where there are several outputs.
    units : int
        Whole units to which a residual of that size is rounded.

    Returns
    -------
    ndarray of int64, shape (terms, bins, outputs)
        Each record adds to one bin of each term, a vector of at most ``units`` in length.
    int
        Sum of the records' curvatures, each at most ``units // 2``.
    """
    if isinstance(codes, Packed):
        sums, curvature = advance(
            codes.codes, scores, target, spread(step, codes), shift, classes=classes, clip=clip, units=units
        )
        return gathered(sums, codes, step.shape[1]), curvature
    out = np.zeros(step.shape, dtype=np.int64)
    if classes:
        table = _table(min(len(scores), 2))
        curvature = _advance_classes(codes, scores, target, step, shift, clip, units, table, out)
    else:
        curvature = _advance_numbers(codes, scores, target, step, shift, clip, units, out)
    return out, int(curvature)
