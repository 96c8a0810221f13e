"""Kernels over the records of an additive learner: cells, counts, and sums of clipped residuals in whole units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from glassine.compiling import compiled
from glassine.records.arrays import AnyArray, Array, Ints

# Terms with few bins packed together: one cell of several terms at once, so that a pass reads fewer numbers.


ROOM = 2048
"""Most cells of several terms together, over all outputs: their sums stay in the fastest cache."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Packed:
    """The bins of the records in groups of terms."""

    # Cell of each record in each group: the bins of its terms as the digits of one number; shape (groups, n).
    codes: AnyArray
    # Group of each term, number of its bins, cells of the digits below it, and cells of the whole group; shape (terms,
    # 4).
    places: Ints

    @property
    def n_cells(self) -> int:
        """Cells of the largest group."""
        return int(self.places[:, 3].max())

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.codes)


def pack(codes: AnyArray, sizes: Sequence[int], outputs: int) -> Packed:
    """Return the bins of the records, terms with few bins packed together."""
    # The groups follow from the numbers of bins alone: were they to depend on the records, so would the rounding of
    # scores.
    # Shapes: codes (terms, n).
    # The largest first: first fit then fills the groups well.
    room, groups = ROOM // outputs, list[list[int]]()
    cells: list[int] = []
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        at = next((g for g, size in enumerate(cells) if size * sizes[k] <= room), len(groups))
        if at == len(groups):
            groups.append([])
            cells.append(1)
        groups[at].append(k)
        cells[at] *= sizes[k]
    places = np.zeros((len(sizes), 4), dtype=np.int64)
    for g, members in enumerate(groups):
        below = 1
        for k in members:
            places[k] = g, sizes[k], below, cells[g]
            below *= sizes[k]
    # Nothing was joined, so that the bins are the cells.
    if len(groups) == len(sizes):
        places[:, 0] = np.arange(len(sizes))
        return Packed(codes=codes, places=places)
    joint = np.zeros((len(groups), codes.shape[1]), dtype=np.uint16)
    _join(codes, places, joint)
    return Packed(codes=joint, places=places)


@compiled
def _join(codes: AnyArray, places: AnyArray, out: AnyArray) -> None:
    for k in range(len(places)):
        # codes: (terms, n); places: (terms, 4), as in Packed; out: (groups, n). The bin of a term is one digit of the
        # cell.
        row, below = out[places[k, 0]], places[k, 2]
        for i in range(len(row)):
            row[i] += codes[k, i] * below


@compiled
def _spread(step: AnyArray, places: AnyArray, out: AnyArray) -> None:
    for k in range(len(places)):
        # step: (terms, bins, outputs); out: (groups, cells, outputs). Cell high * size * below + b * below + low is
        # in bin b.
        group, size, below, cells = places[k, 0], places[k, 1], places[k, 2], places[k, 3]
        for high in range(cells // (size * below)):
            for b in range(size):
                first = (high * size + b) * below
                for i in range(first, first + below):
                    for c in range(step.shape[2]):
                        out[group, i, c] += step[k, b, c]


@compiled
def _gather(sums: AnyArray, places: AnyArray, out: AnyArray) -> None:
    for k in range(len(places)):
        group, size, below, cells = places[k, 0], places[k, 1], places[k, 2], places[k, 3]
        for high in range(cells // (size * below)):
            for b in range(size):
                first = (high * size + b) * below
                for i in range(first, first + below):
                    for c in range(out.shape[2]):
                        out[k, b, c] += sums[group, i, c]


def spread(step: Array, packed: Packed) -> Array:
    """Return numbers of the terms' bins, shape (terms, bins, outputs), added up in the cells of the groups."""
    out = np.zeros((packed.n_groups, packed.n_cells, step.shape[2]))
    _spread(step, packed.places, out)
    return out


def gathered(sums: Ints, packed: Packed, bins: int) -> Ints:
    """Return sums over the groups' cells as sums over the terms' bins, shape (terms, bins, outputs)."""
    out = np.zeros((len(packed.places), bins, sums.shape[2]), dtype=np.int64)
    _gather(sums, packed.places, out)
    return out


STEPS = 4096
"""Steps of the table of the logistic function for each unit of the score: a probability is off by at most 1 / 32768."""

REACH = 16
"""Scores beyond it count as certain: exp(-16) is about 1e-7. The kernels write both numbers out, as constants."""


class Loss(NamedTuple):
    """What residuals are formed with: the clip, the units that it makes, and a table of the link, empty for numbers.

    A table, so that one record's residual never depends on how the loop over all records was compiled.
    """

    clip: float
    units: int
    table: Array
    curved: float  # Largest curvature that counts in full, of a count of events; 0 of numbers and classes

    @classmethod
    def of(cls, outputs: int, clip: float, units: int, *, classes: bool, curved: float = 0.0) -> Loss:
        """Return the loss of numbers, of two classes (one output), or of more; or, if curved, of counts of events."""
        table = _table(2) if curved else _table(min(outputs, 2)) if classes else np.zeros(0)
        return cls(clip, units, table, curved)


@lru_cache(maxsize=2)
def _table(outputs: int) -> Array:
    """Return the logistic function, or with several outputs the exponential one, on a fine grid."""
    if outputs == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-np.arange(-REACH * STEPS, REACH * STEPS + 1) / STEPS)))
    return np.asarray(np.exp(np.arange(-2 * REACH * STEPS, 1) / STEPS))


@compiled
def _cells(values: AnyArray, cuts: AnyArray, out: AnyArray) -> None:
    # values: (n,); cuts: (k,), increasing. The cell is guessed as if cuts were evenly spaced, as most are, and then
    # moved to where it belongs: exact whatever they are.
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
def _counts(codes: AnyArray, out: AnyArray) -> None:
    for k in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            # codes: (terms, n); out: (terms, cells).
            out[k, codes[k, i]] += 1


def count_cells(codes: npt.NDArray[np.uint16], sizes: Sequence[int]) -> list[Ints]:
    """Return the exact number of records in each cell of each attribute."""
    out = np.zeros((len(sizes), max(sizes)), dtype=np.int64)
    _counts(codes, out)
    return [row[:size] for row, size in zip(out, sizes, strict=True)]


@compiled
def _apply(codes: AnyArray, lookup: AnyArray, out: AnyArray) -> None:
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
def _sum_units(codes: AnyArray, units: AnyArray, first: int, out: AnyArray) -> None:
    """Add the units of some records to the bins of every term; ``out`` is (terms, bins, outputs)."""
    # Term by term, so that the sums of one stay in the cache. Whole numbers: the order does not matter, and wrapping
    # around modulo 2^64 is undone by what follows (``privacy/fine_gaussian.md``).
    last = first + units.shape[1]
    for k in range(codes.shape[0]):
        row, sums = codes[k, first:last], out[k]
        for c in range(units.shape[0]):
            part = units[c]
            for i in range(len(row)):
                sums[row[i], c] += part[i]


@compiled
def _add_scores(codes: AnyArray, step: AnyArray, shift: AnyArray, first: int, last: int, scores: AnyArray) -> None:
    """Add to the scores of some records what changed in every term, and in the intercept."""
    # Terms in one order: a record's score is the same sum, rounded in one way, beside any other records.
    for c in range(scores.shape[0]):
        part = scores[c, first:last]
        for i in range(len(part)):
            part[i] += shift[c]
        for k in range(codes.shape[0]):
            row, change = codes[k, first:last], step[k]
            for i in range(len(row)):
                part[i] += change[row[i], c]


@compiled
def number_units(scores: AnyArray, target: AnyArray, clip: float, units: int, out: AnyArray) -> int:
    """Write the residual of a number, clipped, in whole units of ``clip / units``; return half the curvature's sum."""
    # scores, out: (outputs, n); target: (n,). A clipped residual does not move with its score: it has no curvature.
    factor, most = units / clip, float(units)
    curvature = 0
    for i in range(scores.shape[1]):
        residual = (target[i] - scores[0, i]) * factor
        if -most <= residual <= most:
            curvature += units // 2
        out[0, i] = int(np.rint(min(max(residual, -most), most)))
    return curvature


@compiled
def binary_units(scores: AnyArray, target: AnyArray, clip: float, units: int, table: AnyArray, out: AnyArray) -> int:
    """Write the residual of two classes, clipped, in whole units of ``clip / units``; return the curvature's sum."""
    # A record's curvature is that of its loss, four times the variance of its class, at most 1; here it counts half.
    factor, most = units / clip, float(units)
    curvature = 0
    for i in range(scores.shape[1]):
        score = min(max(scores[0, i], -16.0), 16.0)
        # STEPS a unit of the score; REACH * STEPS lie below zero, and a half rounds.
        chance = table[int(score * 4096.0 + 65536.5)]
        residual = (target[i] - chance) * factor
        if -most <= residual <= most:
            curvature += min(int(2.0 * chance * (1.0 - chance) * units), units // 2)
        out[0, i] = int(np.rint(min(max(residual, -most), most)))
    return curvature


@compiled
def class_units(scores: AnyArray, target: AnyArray, clip: float, units: int, table: AnyArray, out: AnyArray) -> int:
    """Write the residuals of several classes, their l2 norm clipped, in whole units of ``clip / units``."""
    # Rounding is towards zero, and a vector that were still too long is dropped, so that no record exceeds the clip.
    # Returned is the sum of the curvatures, here the variances of the classes together, at most 1; it counts half.
    n_classes = scores.shape[0]
    curvature = 0
    work = np.empty(n_classes)
    for i in range(scores.shape[1]):
        top = scores[0, i]
        for c in range(1, n_classes):
            top = max(top, scores[c, i])
        total = 0.0
        for c in range(n_classes):
            # As above, from -2 * REACH to 0: less than the largest score, so that nothing overflows.
            work[c] = table[int(max(scores[c, i] - top, -32.0) * 4096.0 + 131072.5)]
            total += work[c]
        square, variance = 0.0, 0.0
        for c in range(n_classes):
            variance += work[c] / total * (1.0 - work[c] / total)
            work[c] = (1.0 if target[i] == c else 0.0) - work[c] / total
            square += work[c] * work[c]
        # The margin is more than the rounding of the root and of the quotient together.
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
def count_units(scores: AnyArray, target: AnyArray, loss: Loss, out: AnyArray) -> int:
    """Write the residual of a count of events, clipped, in whole units of the clip; return the curvature's sum."""
    # target: in [0, 1]. The mean is the exponential of the score, at most 1, and it is the curvature as well, of which
    # so much as `curved` counts in full; here it counts half.
    factor, most = loss.units / loss.clip, float(loss.units)
    curvature = 0
    for i in range(scores.shape[1]):
        # As for several classes, from -2 * REACH to 0.
        mean = loss.table[int(max(min(scores[0, i], 0.0), -32.0) * 4096.0 + 131072.5)]
        residual = (target[i] - mean) * factor
        if -most <= residual <= most:
            curvature += min(int(0.5 * min(mean / loss.curved, 1.0) * loss.units), loss.units // 2)
        out[0, i] = int(np.rint(min(max(residual, -most), most)))
    return curvature


@compiled
def residuals(scores: AnyArray, target: AnyArray, loss: Loss, out: AnyArray) -> Any:
    """Write the residuals of numbers, counts, two classes or more, and return the sum of the curvatures."""
    if loss.curved > 0:
        return count_units(scores, target, loss, out)
    if len(loss.table) == 0:
        return number_units(scores, target, loss.clip, loss.units, out)
    if len(scores) == 1:
        return binary_units(scores, target, loss.clip, loss.units, loss.table, out)
    return class_units(scores, target, loss.clip, loss.units, loss.table, out)


class Moves(NamedTuple):
    """What scores are moved by: ``step`` (terms, bins, outputs) and ``shift`` (outputs,), released numbers."""

    step: AnyArray
    shift: AnyArray


@compiled
def _advance(
    codes: AnyArray, scores: AnyArray, target: AnyArray, times: AnyArray, moves: Moves, loss: Loss, out: AnyArray
) -> Any:
    # codes: (terms, n); scores: (outputs, n), changed in place; times: (n,), or (0,) where each record is one; out:
    # (terms, bins, outputs). A chunk is moved, its residuals formed and added up before the next, so that its scores
    # are read from memory once. The curvatures are not multiplied.
    step, shift = moves
    n, curvature = scores.shape[1], 0
    room = np.zeros((len(scores), 2048), dtype=np.int64)
    for first in range(0, n, 2048):
        last = min(first + 2048, n)
        _add_scores(codes, step, shift, first, last, scores)
        part = room[:, : last - first]
        curvature += residuals(scores[:, first:last], target[first:last], loss, part)
        if len(times):
            for c in range(len(part)):
                for i in range(last - first):
                    part[c, i] *= times[first + i]
        _sum_units(codes, part, first, out)
    return curvature


ONCE: Ints = np.zeros(0, dtype=np.int64)
"""How often records occur that are each one."""


def advance(
    codes: AnyArray | Packed, scores: Array, target: AnyArray, moves: Moves, loss: Loss, times: Ints = ONCE
) -> tuple[Ints, int]:
    """Move the scores of all records by a step, and return the sums of their clipped residuals in each bin."""
    # Shapes: codes (terms, n), or Packed; scores (outputs, n); target (n,); the result (terms, bins, outputs).
    if isinstance(codes, Packed):
        moved = moves._replace(step=spread(moves.step, codes))
        sums, curvature = advance(codes.codes, scores, target, moved, loss, times)
        return gathered(sums, codes, moves.step.shape[1]), curvature
    out = np.zeros(moves.step.shape, dtype=np.int64)
    return out, int(_advance(codes, scores, target, times, moves, loss, out))


class Leaves(NamedTuple):
    """The trees of some terms: the leaf of each bin, (terms, bins), and of each leaf its records and its noise.

    ``sizes`` (terms, leaves) are the released numbers of records, ``noise`` (terms, leaves, outputs) is in whole units.
    """

    of_bin: AnyArray
    sizes: AnyArray
    noise: AnyArray


@compiled
def visit(
    codes: AnyArray, scores: AnyArray, target: AnyArray, leaves: Leaves, factor: float, loss: Loss, out: AnyArray
) -> None:
    """Visit each term once: sum the residuals of its leaves, add noise, and move scores by what was released."""
    # codes: (terms, n); scores, room: (outputs, n); target: (n,); out: (terms, leaves, outputs). Residuals are formed
    # anew for each term, from scores that earlier terms moved: cyclic, as published. Sums are whole numbers, so that
    # the order of the records does not matter.
    leaf_of, sizes, noise = leaves
    outputs, n = scores.shape
    room = np.zeros((outputs, n), dtype=np.int64)
    step = np.zeros((leaf_of.shape[1], outputs))
    for k in range(codes.shape[0]):
        residuals(scores, target, loss, room)
        out[k] = noise[k]
        for c in range(outputs):
            for i in range(n):
                out[k, leaf_of[k, codes[k, i]], c] += room[c, i]
        for b in range(leaf_of.shape[1]):
            leaf = leaf_of[k, b]
            for c in range(outputs):
                step[b, c] = factor * out[k, leaf, c] / max(sizes[k, leaf], 1.0)
        for c in range(outputs):
            for i in range(n):
                scores[c, i] += step[codes[k, i], c]


@compiled
def cross(left: AnyArray, right: AnyArray, ours: AnyArray, others: AnyArray, width: int, out: AnyArray) -> None:
    """Write the cell of each record in a pair of terms, from its bins in both and their coarse bins."""
    for i in range(len(left)):
        out[i] = ours[left[i]] * width + others[right[i]]
