"""Sums of attributes that lose no bit, whatever the order in which records are added and taken away.

A float sum depends on its order, so a mean that is updated as records leave would drift from one that is computed anew,
and ties would be decided by the drift. Here each number is a whole number of tiny units, summed in two 64-bit words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glassine.compiling import AnyArray, compiled

__all__ = ["add", "group_means", "means", "on_grid", "word_bits"]

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
    largest = np.max(np.abs(matrix), axis=0, initial=0.0)
    exponents = np.maximum(np.frexp(largest)[1], SMALLEST_EXPONENT)
    units = np.ldexp(1.0, exponents - 2 * bits)
    rounded = matrix / units
    np.rint(rounded, out=rounded)
    rounded *= units
    return rounded, np.ldexp(1.0, bits - exponents)


@compiled
def add(high: AnyArray, low: AnyArray, point: AnyArray, factors: AnyArray, bits: int, sign: int) -> None:
    """Add a record to the two words of each column's sum, or take it away."""
    # high, low, point, factors: (p,). Whole units in one word, the rest in units of 2^-bits in the other: both exact,
    # for records on the grid of their column.
    word = 2.0**bits
    for j in range(len(point)):
        scaled = point[j] * factors[j]
        whole = np.rint(scaled)
        high[j] += sign * np.int64(whole)
        low[j] += sign * np.int64((scaled - whole) * word)


@compiled
def means(high: AnyArray, low: AnyArray, factors: AnyArray, bits: int, count: int, out: AnyArray) -> None:
    """Write the correctly rounded sum of each column, divided by the number of records."""
    # The lower word may hold more than ``bits`` bits, or be negative: the shift carries, the mask keeps what remains.
    mask = (np.int64(1) << bits) - np.int64(1)
    unit = 0.5**bits
    for j in range(len(out)):
        whole = high[j] + (low[j] >> bits)
        top = np.float64(whole)
        # What the conversion lost and the lower word fit into one double, so that the sum is rounded once.
        left = np.float64(whole - np.int64(top)) + np.float64(low[j] & mask) * unit
        out[j] = (top + left) / count / factors[j]


@compiled
def group_means(rows: AnyArray, order: AnyArray, ends: AnyArray, factors: AnyArray, bits: int, out: AnyArray) -> None:
    """Write the mean of each group; the records of group g are ``order[ends[g - 1]:ends[g]]``."""
    # rows: (n, p); order: (n,), the records group by group; ends: (g,); out: (g, p).
    p = rows.shape[1]
    high, low = np.zeros(p, dtype=np.int64), np.zeros(p, dtype=np.int64)
    first = 0
    for g in range(len(ends)):
        high[:] = 0
        low[:] = 0
        for i in range(first, ends[g]):
            add(high, low, rows[order[i]], factors, bits, 1)
        means(high, low, factors, bits, ends[g] - first, out[g])
        first = ends[g]
