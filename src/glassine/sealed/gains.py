"""What the cells of two attributes would explain beyond either, in whole numbers, and how far one record moves it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidMechanismError
from glassine.privacy.exact import Number, decimal
from glassine.records.arrays import Ints

STEPS = 2**80
"""Parts of one in which gains are reckoned: rounding of all cells together stays below 2^-60."""

Whole: TypeAlias = "Ints | npt.NDArray[np.object_]"


def gain(sums: Whole, counts: Whole, units: int, score: Number) -> Fraction:
    """Return the squared error that the cells of a pair explain beyond either attribute, in squares of the clip."""
    # What bins with sums S and counts N explain is the sum over them of the largest 2 S s - N s s over scores s of at
    # most ``score`` in size. It is reckoned in whole numbers, so that its error, below 2^-60, does not grow with the
    # number of records.
    # Shapes: sums (bins, bins, outputs); counts (bins, bins).
    sums, counts = sums.astype(object), counts.astype(object)
    alone = max(_explained(sums.sum(axis=axis), counts.sum(axis=axis), units, score) for axis in (0, 1))
    return Fraction(_explained(sums, counts, units, score) - alone, STEPS)


def _explained(sums: Whole, counts: Whole, units: int, score: Number) -> int:
    """Return what bins explain, each rounded down to 1 / ``STEPS``."""
    top, bottom = decimal(score, "the largest score of a cell").as_integer_ratio()
    total, one = 0, units * STEPS
    for vector, count in zip(sums.reshape(-1, sums.shape[-1]), counts.reshape(-1), strict=True):
        # The length of the sums, in parts of a unit.
        size = math.isqrt(sum(int(part) ** 2 for part in vector) * STEPS**2)
        if size * bottom <= top * count * one:
            total += size * size * STEPS // (max(count, 1) * one * one)
        else:
            total += (2 * top * bottom * size * STEPS - top * top * count * one * STEPS) // (bottom * bottom * one)
    return total


def gain_reach(score: Number) -> Fraction:
    """Return how far one record moves a gain at most, where scores are at most so large in size.

    Guarantee
    ---------
    none: four times the score, which ``penalized.md`` proves for scores of at most 1.
    """
    largest = decimal(score, "the largest score of a cell")
    if not 0 < largest <= 1:
        raise InvalidMechanismError(
            f"the largest score of a cell must be in (0, 1], got {score}. The bound is proved for these."
        )
    return 4 * largest
