"""Sums of attributes that lose no bit, in any order of adding and removing records.

A float sum depends on its order, so a mean that is updated as records leave would drift from a new one,
and ties would be decided by the drift. Here each number is a whole number of tiny units, summed in two 64-bit words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glassine.compiling import AnyArray, compiled

SMALLEST_EXPONENT = -980
"""Below it, the factors to whole words would not be finite."""


def word_bits(n_records: int) -> int:
    """Return how many bits of each word a record may use, so that the sum of all records fits."""
    return min(42, 62 - int(n_records).bit_length())


def on_grid(matrix: npt.NDArray[np.float64], bits: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
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
