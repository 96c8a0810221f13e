"""MDAV over all remaining records at each step, in blocks that stay in the processor's cache.

Records stand column by column, and one that joins a group changes places with the last of those that remain.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from glassine.compiling import compiled
from glassine.microaggregation.dissimilarity import GAP, SQUARED_GAP
from glassine.records.arrays import AnyArray, Array, Ints

# Sums of attributes that lose no bit, in any order of adding and removing records. A float sum depends on its order, so
# that a mean which is updated as records leave would drift from a new one, and the drift would decide ties. Here each
# number is a whole number of tiny units, summed in two 64-bit words.

SMALLEST_EXPONENT = -980
"""Below it, the factors to whole words would not be finite."""


def word_bits(n_records: int) -> int:
    """Return how many bits of each word a record may use, so that the sum of all records fits."""
    return min(42, 62 - int(n_records).bit_length())


def on_grid(matrix: Array, bits: int) -> tuple[Array, Array]:
    """Return numbers rounded to the unit of their column, and the factor that brings each column to whole words.

    The unit is ``2 ** (-2 * bits)`` of the power of two above the column's largest magnitude: of 42 bits, only numbers
    below a two-billionth of the largest lose anything.
    """
    # A missing value stays one, and is no magnitude.
    largest = np.fmax.reduce(np.abs(matrix), axis=0, initial=0.0)
    exponents = np.maximum(np.frexp(largest)[1], SMALLEST_EXPONENT)
    units = np.ldexp(1.0, exponents - 2 * bits)
    rounded = matrix / units
    np.rint(rounded, out=rounded)
    rounded *= units
    return rounded, np.ldexp(1.0, bits - exponents)


@compiled
def add(sums: AnyArray, point: AnyArray, factors: AnyArray, bits: int, sign: int) -> None:
    """Add a record to the sum of each column, or take it away; a missing value (NaN) adds nothing."""
    # sums: (3, p); point, factors: (p,). Whole units in one word, the rest in units of 2^-bits in the next: both exact,
    # for records on the grid of their column. The last row counts the values.
    word = 2.0**bits
    for j in range(len(point)):
        if np.isnan(point[j]):
            continue
        scaled = point[j] * factors[j]
        whole = np.rint(scaled)
        sums[0, j] += sign * np.int64(whole)
        sums[1, j] += sign * np.int64((scaled - whole) * word)
        sums[2, j] += sign


@compiled
def means(sums: AnyArray, factors: AnyArray, bits: int, count: int, out: AnyArray) -> None:
    """Write the correctly rounded sum of each column, divided by the number of values; NaN where most have none."""
    # The lower word may hold more than ``bits`` bits, or be negative: the shift carries, the mask keeps what remains.
    mask = (np.int64(1) << bits) - np.int64(1)
    unit = 0.5**bits
    for j in range(len(out)):
        if 2 * sums[2, j] < count:
            out[j] = np.nan
            continue
        whole = sums[0, j] + (sums[1, j] >> bits)
        top = np.float64(whole)
        # What the conversion lost and the lower word fit into one double, so that the sum is rounded once.
        left = np.float64(whole - np.int64(top)) + np.float64(sums[1, j] & mask) * unit
        out[j] = (top + left) / sums[2, j] / factors[j]


@compiled
def group_means(rows: AnyArray, order: AnyArray, ends: AnyArray, factors: AnyArray, bits: int, out: AnyArray) -> None:
    """Write the mean of each group; the records of group g are ``order[ends[g - 1]:ends[g]]``."""
    # rows: (n, p); order: (n,), the records group by group; ends: (g,); out: (g, p).
    p = rows.shape[1]
    sums = np.zeros((3, p), dtype=np.int64)
    first = 0
    for g in range(len(ends)):
        sums[:] = 0
        for i in range(first, ends[g]):
            add(sums, rows[order[i]], factors, bits, 1)
        means(sums, factors, bits, ends[g] - first, out[g])
        first = ends[g]


# The nearest records so far: a heap whose top is the farthest of them, ties by the record's number.


@compiled
def push(
    distances: AnyArray, numbers: AnyArray, places: AnyArray, size: int, distance: float, number: int, place: int
) -> None:
    """Add a record to a heap that holds ``size`` of them."""
    # Upwards from the new leaf: parents that are nearer, or as near and of a lower number, come down. Ties go by
    # number, so that groups do not depend on places.
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if distances[parent] > distance or (distances[parent] == distance and numbers[parent] > number):
            break
        distances[at], numbers[at], places[at] = distances[parent], numbers[parent], places[parent]
        at = parent
    distances[at], numbers[at], places[at] = distance, number, place


@compiled
def replace_top(
    distances: AnyArray, numbers: AnyArray, places: AnyArray, size: int, distance: float, number: int, place: int
) -> None:
    """Put a record in the place of the farthest one."""
    # Downwards: the farther of two children comes up until the new record is farther than both.
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            distances[other] > distances[child]
            or (distances[other] == distances[child] and numbers[other] > numbers[child])
        ):
            child = other
        if distance > distances[child] or (distance == distances[child] and number > numbers[child]):
            break
        distances[at], numbers[at], places[at] = distances[child], numbers[child], places[child]
        at = child
    distances[at], numbers[at], places[at] = distance, number, place


# Distances of so many places, 4 KB, stay in the first-level cache while all attributes are added to them.
BLOCK = 512


class Ungrouped(NamedTuple):
    """Records that are in no group yet: the first ``cursor[0]`` places of each array; ``cursor[1]`` groups are formed.

    Numbers of shape (p, n) and codes of shape (q, n) with their tables of dissimilarities, shape (q, c, c); ``numbers``
    says which record stands in a place; ``sums`` (3, p) and ``counts`` are the sums of what remains. Missing numbers
    are NaN.
    """

    columns: Array
    codes: npt.NDArray[np.int32]
    tables: Array
    squared: bool
    factors: Array
    bits: int
    numbers: Ints
    labels: Ints
    distances: Array
    sums: Ints
    counts: Ints
    cursor: Ints


def remaining(
    columns: Array, codes: npt.NDArray[np.int32], tables: Array, factors: Array, bits: int, *, squared: bool
) -> Ungrouped:
    """Return all records as remaining; the arrays are taken over and changed."""
    n = columns.shape[1]
    q, size = len(tables), tables.shape[1]
    counts = np.zeros((q, size), dtype=np.int64)
    for j in range(q):
        counts[j] = np.bincount(codes[j], minlength=size)
    out = Ungrouped(
        columns=columns,
        codes=codes,
        tables=tables,
        squared=squared,
        factors=factors,
        bits=bits,
        numbers=np.arange(n, dtype=np.int64),
        labels=np.full(n, -1, dtype=np.int64),
        distances=np.empty(n),
        sums=np.zeros((3, len(columns)), dtype=np.int64),
        counts=counts,
        cursor=np.array([n, 0], dtype=np.int64),
    )
    _add_all(out)
    return out


@compiled
def _add_all(state: Ungrouped) -> None:
    for i in range(state.columns.shape[1]):
        add(state.sums, state.columns[:, i], state.factors, state.bits, 1)


@compiled
def fill(
    columns: AnyArray,
    codes: AnyArray,
    tables: AnyArray,
    squared: bool,
    n: int,
    point: AnyArray,
    kinds: AnyArray,
    out: AnyArray,
) -> None:
    """Write the dissimilarity of the first n records to a point, added up attribute by attribute in their order."""
    # columns: (p, n); codes: (q, n); tables: (q, c, c); point: (p,); kinds: (q,); out: (n,). Attributes are added in
    # one order whatever the place of a record, so that equal records have equal distances. A difference is no number
    # where one of the two is missing.
    gap = SQUARED_GAP if squared else GAP
    for first in range(0, n, BLOCK):
        last = min(n, first + BLOCK)
        size = last - first
        block = out[first:last]
        block[:] = 0.0
        for j in range(columns.shape[0]):
            column, at = columns[j, first:last], point[j]
            if np.isnan(at):
                for t in range(size):
                    block[t] += 0.0 if np.isnan(column[t]) else gap
            elif squared:
                for t in range(size):
                    difference = column[t] - at
                    block[t] += gap if np.isnan(difference) else difference * difference
            else:
                for t in range(size):
                    difference = abs(column[t] - at)
                    block[t] += gap if np.isnan(difference) else difference
        for j in range(codes.shape[0]):
            column_codes, row = codes[j, first:last], tables[j, kinds[j]]
            for t in range(size):
                block[t] += row[column_codes[t]]


@compiled
def farthest(distances: AnyArray, numbers: AnyArray, n: int) -> int:
    """Return the place of the largest distance, the lowest record of equal ones."""
    place = 0
    most, number = distances[0], numbers[0]
    for i in range(1, n):
        if distances[i] >= most and (distances[i] > most or numbers[i] < number):
            place, most, number = i, distances[i], numbers[i]
    return place


@compiled
def _nearest(distances: AnyArray, numbers: AnyArray, n: int, count: int) -> Any:
    """Return the places of the ``count`` smallest distances, the lowest records of equal ones, in increasing order."""
    # distances, numbers: (n,). The first ``count`` fill the heap; each later one replaces the farthest where it is
    # nearer. Sorted places, so that the caller can take them from the last down.
    heap, heap_numbers = np.empty(count), np.empty(count, dtype=np.int64)
    places = np.empty(count, dtype=np.int64)
    for i in range(count):
        push(heap, heap_numbers, places, i, distances[i], numbers[i], i)
    if count > 0:
        for i in range(count, n):
            if distances[i] <= heap[0] and (distances[i] < heap[0] or numbers[i] < heap_numbers[0]):
                replace_top(heap, heap_numbers, places, count, distances[i], numbers[i], i)
    return np.sort(places)


@compiled
def center(state: Ungrouped, point: AnyArray, kinds: AnyArray) -> None:
    """Write the mean of what remains, and of each category attribute the closest value, the first of equal ones."""
    # point: (p,); kinds: (q,). From the exact sums, not from the records: the center costs no pass.
    means(state.sums, state.factors, state.bits, state.cursor[0], point)
    size = state.tables.shape[1]
    for j in range(len(kinds)):
        least = np.inf
        for a in range(size):
            total = 0.0
            for b in np.flatnonzero(state.counts[j]):
                total += state.counts[j, b] * (state.tables[j, a, b] * state.tables[j, a, b])
            if total < least:
                least, kinds[j] = total, a


@compiled
def measure(state: Ungrouped, point: AnyArray, kinds: AnyArray) -> None:
    """Write how far what remains lies from a point."""
    fill(state.columns, state.codes, state.tables, state.squared, state.cursor[0], point, kinds, state.distances)


@compiled
def remove(state: Ungrouped, place: int, group: int) -> None:
    """Put the record of a place into a group; the last one that remains takes its place."""
    # What leaves the sums is exactly what entered them: they never drift.
    add(state.sums, state.columns[:, place], state.factors, state.bits, -1)
    last = state.cursor[0] - 1
    state.labels[state.numbers[place]] = group
    for j in range(state.columns.shape[0]):
        state.columns[j, place] = state.columns[j, last]
    for j in range(state.codes.shape[0]):
        state.counts[j, state.codes[j, place]] -= 1
        state.codes[j, place] = state.codes[j, last]
    state.numbers[place] = state.numbers[last]
    state.distances[place] = state.distances[last]
    state.cursor[0] = last


@compiled
def form_group(state: Ungrouped, seed: int, k: int) -> Any:
    """Put a record and the k - 1 nearest others into a new group; distances from it are left for those that remain."""
    # Returns the numbers of the group's records.
    members = np.empty(k, dtype=np.int64)
    members[0] = state.numbers[seed]
    point, kinds = state.columns[:, seed].copy(), state.codes[:, seed].copy()
    group = state.cursor[1]
    state.cursor[1] += 1
    remove(state, seed, group)
    measure(state, point, kinds)
    places = _nearest(state.distances, state.numbers, state.cursor[0], k - 1)
    # From the last place down, so that no place that is still to be removed changes.
    for i in range(k - 2, -1, -1):
        members[i + 1] = state.numbers[places[i]]
        remove(state, places[i], group)
    return members


@compiled
def _label_rest(state: Ungrouped) -> None:
    """Put all that remain into one new group."""
    for i in range(state.cursor[0]):
        state.labels[state.numbers[i]] = state.cursor[1]
    state.cursor[0] = 0
    state.cursor[1] += 1


@compiled
def advance(state: Ungrouped, k: int, steps: int) -> None:
    """Form two groups a step, until none remains or the steps are done."""
    point = np.empty(state.columns.shape[0])
    kinds = np.zeros(state.codes.shape[0], dtype=np.int32)
    for _ in range(steps):
        n = state.cursor[0]
        if n == 0:
            return
        # MDAV: fewer than 2k form the last group. From 3k on, a second group forms around the record farthest from
        # the first; with less the two could not both have k.
        if n < 2 * k:
            _label_rest(state)
            return
        center(state, point, kinds)
        measure(state, point, kinds)
        form_group(state, farthest(state.distances, state.numbers, n), k)
        if n >= 3 * k:
            form_group(state, farthest(state.distances, state.numbers, n - k), k)
