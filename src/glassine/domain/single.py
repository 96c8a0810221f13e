"""Numbers of single precision: where the rounding of a double to one of them crosses a threshold."""

from __future__ import annotations

import math
import struct
from functools import lru_cache

import numpy as np

WHOLE = 2**24
"""Every whole number up to it is one of single precision, so that rounding changes none."""
ABOVE_ALL = 2.0**128
"""What stands behind the largest number of single precision where a double is rounded."""
DIGITS_SAVED = 4
"""By so many letters a decimal is shorter than a double's own for the double to be named by it: of those that are no
bound of single precision, about one in 2^28 is taken for one, and no short decimal is."""


def single(value: float) -> float:
    """Return the number of single precision next to a double, as rounding gives it."""
    try:  # four times as fast as NumPy
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _after(value: float) -> float:
    """Return the next larger number of single precision."""
    if value == 0:
        return 2.0**-149
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    return float(struct.unpack("<f", struct.pack("<i", bits + 1 if bits > 0 else bits - 1))[0])


@lru_cache(maxsize=65536)
def single_bound(threshold: float, *, below: bool = False) -> float:
    """Return the largest double whose rounding to single precision is at most a threshold, or is below it.

    A library that compares in single precision sends a double to one side of the threshold exactly where it is at most
    this bound. Infinite where every number is on one side.

    Examples
    --------
    >>> single_bound(3.5), single_bound(3.5, below=True)
    (3.5000001192092896, 3.49999988079071)
    """
    near = single(threshold)
    if near > threshold or (below and near == threshold):
        near = -_after(-near) if math.isfinite(near) else near if near < 0 else float(np.finfo(np.float32).max)
    if math.isinf(near):
        return near
    # Half the sum of two neighbors is a double; it is rounded to the one that is even.
    middle = near / 2 + min(_after(near), ABOVE_ALL) / 2
    return middle if single(middle) == near else math.nextafter(middle, -math.inf)


def rounded_to(number: float) -> tuple[float, float]:
    """Return the first double that is rounded to a number of single precision, and the first beyond it that is not.

    Examples
    --------
    >>> first, stop = rounded_to(3.5)
    >>> single(math.nextafter(first, 0)) < single(first) == 3.5 < single(stop)
    True
    """
    return math.nextafter(single_bound(number, below=True), math.inf), math.nextafter(single_bound(number), math.inf)


@lru_cache(maxsize=65536)
def single_sides(bound: float) -> tuple[float, float] | None:
    """Return the neighbors in single precision between which a bound divides; None where it is no such bound."""
    near, above = single(bound), single(math.nextafter(bound, math.inf))
    return (near, above) if near < above else None


def single_threshold(bound: float) -> float:
    """Return the threshold of single precision that stands for a bound in a file of that precision.

    Values that round to different numbers on both sides of the bound stay apart. Of values that round to one number,
    the decimal that names it goes where the bound sends it: in ``x <= 0.1`` the tenth itself, in ``x < 0.7`` what is
    below.

    Examples
    --------
    >>> single_threshold(0.1) == single(0.1), single_threshold(math.nextafter(0.7, 0)) < single(0.7)
    (True, True)
    """
    near = single(bound)
    if math.isinf(near) or near < single(math.nextafter(bound, math.inf)) or float(str(np.float32(near))) <= bound:
        return near
    return -_after(-near)


def side_text(sides: tuple[float, float]) -> tuple[str, bool]:
    """Return the shortest decimal that names a bound of single precision, and whether the bound lies below it.

    Of the two numbers that it divides, the one with fewer digits identifies it: ``x <= 3.5``, but ``x < 1.8``.
    """
    texts = [
        str(int(side)) if side.is_integer() and abs(side) < 1e15 else str(np.float32(side))
        for side in sides
        if math.isfinite(side)
    ]
    below = len(texts) > 1 and len(texts[1]) < len(texts[0])
    return texts[below], below


def is_bound_of(bound: float, threshold: float) -> bool:
    """Return whether a bound is a threshold, or where rounding to single precision crosses it."""
    return bound == threshold or bound in bounds_of(threshold)


def bounds_of(threshold: float) -> tuple[float, float]:
    """Return where rounding to single precision crosses a threshold: above it, and below its nearest number."""
    return single_bound(threshold), single_bound(single(threshold), below=True)


@lru_cache(maxsize=65536)
def shortened(bound: float) -> tuple[str, bool] | None:
    """Return :func:`side_text` of a bound that is written shorter so, None for plain doubles.

    Examples
    --------
    >>> shortened(single_bound(3.5)), shortened(single_bound(single(1.8), below=True)), shortened(1.8)
    (('3.5', False), ('1.8', True), None)
    """
    length = len(repr(bound))
    sides = single_sides(bound) if length > DIGITS_SAVED and math.isfinite(bound) else None
    if sides is None:
        return None
    text, below = side_text(sides)
    return (text, below) if len(text) + DIGITS_SAVED <= length else None


def nominal(bound: float) -> float:
    """Return the number by which a bound is named.

    Examples
    --------
    >>> nominal(single_bound(3.5)), nominal(3.5)
    (3.5, 3.5)
    """
    side = shortened(bound)
    return bound if side is None else float(side[0])
